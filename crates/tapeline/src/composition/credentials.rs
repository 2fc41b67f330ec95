//! The certificates of a process, and its secrets towards others: read once for whoever
//! needs them, and read again when their files are others.
//!
//! Whoever renews a certificate writes two files, or has a link lead elsewhere. A look
//! in between would find a pair that does not belong together, so files are read when
//! they are the same at two looks. What cannot be used changes nothing: the log says
//! why, and sessions begin with what was there before.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tapeline_channel::{ChannelError, Tls, TlsClient, TlsClientFiles, TlsFiles};
use tapeline_hub::RouteSecret;

use crate::failure::Failure;

/// All of them. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials(Arc<Mutex<Vec<Known>>>);

/// What was read, and of which files.
#[derive(Debug)]
struct Known {
    kind: Kind,
    /// The files as they were when they were read last, in vain or not.
    read: Vec<Mark>,
    /// As they were at the last look.
    seen: Vec<Mark>,
}

#[derive(Debug)]
enum Kind {
    Server(TlsFiles, Tls),
    Client(TlsClientFiles, TlsClient),
    Secret(PathBuf, RouteSecret),
}

/// By what a file is known: which one it is, how long, and when it was written.
type Mark = Option<(u64, u64, i64, i64)>;

impl Credentials {
    /// What a listener shows.
    ///
    /// Errors: as of [`Tls::from_files`].
    pub(crate) fn server(&self, files: TlsFiles) -> Result<Tls, ChannelError> {
        let mut all = self.lock();
        let known = all.iter().find_map(|known| match &known.kind {
            Kind::Server(its, tls) if *its == files => Some(tls.clone()),
            _ => None,
        });
        if let Some(tls) = known {
            return Ok(tls);
        }
        let tls = Tls::from_files(files.clone())?;
        all.push(Known::of(Kind::Server(files, tls.clone())));
        Ok(tls)
    }

    /// What others are believed by, and shown.
    ///
    /// Errors: as of [`TlsClient::from_files`].
    pub(crate) fn client(&self, files: TlsClientFiles) -> Result<TlsClient, ChannelError> {
        let mut all = self.lock();
        let known = all.iter().find_map(|known| match &known.kind {
            Kind::Client(its, tls) if *its == files => Some(tls.clone()),
            _ => None,
        });
        if let Some(tls) = known {
            return Ok(tls);
        }
        let tls = TlsClient::from_files(files.clone())?;
        all.push(Known::of(Kind::Client(files, tls.clone())));
        Ok(tls)
    }

    /// A secret: what is on the first line of a file.
    pub(crate) fn secret(&self, path: &Path) -> Result<RouteSecret, Failure> {
        let mut all = self.lock();
        let known = all.iter().find_map(|known| match &known.kind {
            Kind::Secret(its, secret) if its == path => Some(secret.clone()),
            _ => None,
        });
        if let Some(secret) = known {
            return Ok(secret);
        }
        let secret = RouteSecret::new(first_line(path)?);
        all.push(Known::of(Kind::Secret(path.to_owned(), secret.clone())));
        Ok(secret)
    }

    /// Reads all files again, as they are now.
    pub(crate) fn reload(&self) {
        for known in self.lock().iter_mut() {
            known.seen = known.marks();
            known.reload();
        }
    }

    /// Reads those again that have changed since they were read, and not since the look
    /// before this one.
    pub(crate) fn look(&self) {
        for known in self.lock().iter_mut() {
            let now = known.marks();
            let is_still = std::mem::replace(&mut known.seen, now) == known.seen;
            if is_still && known.seen != known.read {
                known.reload();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Known>> {
        // What is behind a poisoned lock is whole: nothing in here panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn of(kind: Kind) -> Self {
        let mut known = Self { kind, read: Vec::new(), seen: Vec::new() };
        known.read = known.marks();
        known.seen.clone_from(&known.read);
        known
    }

    fn files(&self) -> Vec<&PathBuf> {
        match &self.kind {
            Kind::Server(files, _) => {
                let pair = [&files.certificates, &files.key];
                pair.into_iter().chain(&files.client_ca).collect()
            }
            Kind::Client(files, _) => {
                let identity = files.identity.iter().flat_map(|(chain, key)| [chain, key]);
                [&files.ca].into_iter().chain(identity).collect()
            }
            Kind::Secret(file, _) => vec![file],
        }
    }

    fn marks(&self) -> Vec<Mark> {
        self.files().into_iter().map(|file| mark(file)).collect()
    }

    fn reload(&mut self) {
        let reloaded = match &self.kind {
            Kind::Server(_, tls) => tls.reload().map_err(|error| error.to_string()),
            Kind::Client(_, tls) => tls.reload().map_err(|error| error.to_string()),
            Kind::Secret(file, secret) => {
                first_line(file).map(|line| secret.set(line)).map_err(|error| error.to_string())
            }
        };
        self.read.clone_from(&self.seen);
        let what = match self.kind {
            Kind::Server(..) | Kind::Client(..) => "certificates",
            Kind::Secret(..) => "secrets",
        };
        let file = self.files().first().map(|file| file.display().to_string());
        match reloaded {
            Ok(()) => tracing::info!(file, "{what} are read again, for sessions that begin"),
            Err(error) => tracing::error!(%error, file, "the {what} before stay in use"),
        }
    }
}

fn first_line(path: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(Failure::read(path))?;
    match text.lines().next().map(str::trim_end) {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(Failure::Setting(format!("{}: its first line is empty", path.display()))),
    }
}

fn mark(file: &Path) -> Mark {
    let data = fs::metadata(file).ok()?;
    Some((data.ino(), data.len(), data.mtime(), data.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> TlsFiles {
        TlsFiles {
            certificates: folder.join("server.pem"),
            key: folder.join("server.key"),
            client_ca: None,
        }
    }

    /// A certificate of its own authority, and its key, as PEM.
    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn write(files: &TlsFiles, (certificate, key): &(String, String)) {
        fs::write(&files.certificates, certificate).expect("room");
        fs::write(&files.key, key).expect("room");
    }

    #[test]
    fn the_same_files_are_the_same_certificates() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path());
        write(&files, &pair());
        let all = Credentials::default();
        let one = all.server(files.clone()).expect("good");
        assert!(
            all.server(files.clone()).expect("good") == one,
            "a source would be connected anew"
        );
        let other = TlsFiles { key: folder.path().join("none"), ..files };
        assert!(all.server(other).is_err());
    }

    #[test]
    fn a_secret_is_another_one_when_its_file_has_changed_and_is_of_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("password");
        fs::write(&file, "one\nmore\n").expect("room");
        let all = Credentials::default();
        let secret = all.secret(&file).expect("good");
        assert_eq!((all.secret(&file).expect("good"), &*secret.reveal()), (secret.clone(), "one"));
        fs::write(&file, "").expect("room");
        all.reload();
        assert_eq!(secret.reveal(), "one", "an empty one is none");
        fs::write(&file, "two\n").expect("room");
        all.look();
        assert_eq!(secret.reveal(), "one", "it may be half of one");
        all.look();
        assert_eq!(secret.reveal(), "two");
        assert!(all.secret(&folder.path().join("none")).is_err());
    }

    #[test]
    fn files_are_read_when_they_have_changed_and_stand_still() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path());
        write(&files, &pair());
        let all = Credentials::default();
        all.server(files.clone()).expect("good");
        let is_read = || {
            let all = all.lock();
            all[0].read == all[0].marks()
        };
        all.look();
        assert!(is_read());
        let next = pair();
        fs::write(&files.certificates, &next.0).expect("room");
        all.look();
        assert!(!is_read(), "it may be half of a pair");
        fs::write(&files.key, &next.1).expect("room");
        all.look();
        assert!(!is_read());
        all.look();
        assert!(is_read());
        // One that is gone is looked at once, not each time.
        fs::remove_file(&files.key).expect("it was there");
        all.look();
        all.look();
        assert!(is_read());
        write(&files, &pair());
        all.reload();
        assert!(is_read());
    }
}
