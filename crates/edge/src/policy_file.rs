//! The file of a policy: read whole, and again when it is another one.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tapeline_entitle::{Policy, PolicyChange, changed_users};

use crate::EdgeError;

/// By what a file is known to be the one that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let Ok(metadata) = fs::metadata(path) else { return Self::default() };
        Self { modified: metadata.modified().ok(), bytes: metadata.len() }
    }
}

/// What was handed to hubs and servers. To free a large policy takes longer than
/// one of their turns may: whoever has it last is to be the edge.
#[derive(Debug)]
struct Lent<T>(Vec<Arc<T>>);

impl<T> Lent<T> {
    /// Frees what nobody else has any more.
    fn free(&mut self) {
        self.0.retain(|it| Arc::strong_count(it) > 1);
    }
}

/// The policy in force and its file.
#[derive(Debug)]
pub(crate) struct PolicyFile {
    path: PathBuf,
    stamp: Stamp,
    /// As it was at the last look, where that was another one.
    seen: Option<Stamp>,
    policy: Arc<Policy>,
    /// Those that were in force before.
    before: Lent<Policy>,
    /// The users that changes named.
    changed: Lent<HashSet<String>>,
}

impl PolicyFile {
    /// Reads it for the first time.
    pub(crate) fn open(path: PathBuf) -> Result<Self, EdgeError> {
        let stamp = Stamp::of(&path);
        let policy = read(&path)?;
        let (before, changed) = (Lent(Vec::new()), Lent(Vec::new()));
        Ok(Self { path, stamp, seen: None, policy, before, changed })
    }

    /// What a hub or server begins with.
    pub(crate) fn first(&self) -> PolicyChange {
        PolicyChange { policy: Arc::clone(&self.policy), changed: None, unix_ms: unix_ms() }
    }

    /// Looks at the file. Whether it is not the one that was read last, and is the same at
    /// two looks in a row: half of a file that is being written may be a policy, too.
    pub(crate) fn is_another(&mut self) -> bool {
        let now = Stamp::of(&self.path);
        let seen = self.seen.replace(now);
        now != self.stamp && seen == Some(now)
    }

    /// Reads it again, however it is. The policy before stays if there is an error.
    pub(crate) fn read_again(&mut self) -> Result<PolicyChange, EdgeError> {
        self.stamp = Stamp::of(&self.path);
        let policy = read(&self.path)?;
        let before = std::mem::replace(&mut self.policy, policy);
        let users = changed_users(&before, &self.policy);
        let changed: HashSet<String> = users.into_iter().map(|user| user.name).collect();
        let changed = Arc::new(changed);
        self.before.0.push(before);
        self.changed.0.push(Arc::clone(&changed));
        Ok(PolicyChange { changed: Some(changed), ..self.first() })
    }

    /// Frees what no hub and no server has any more of the policies before.
    pub(crate) fn free(&mut self) {
        self.before.free();
        self.changed.free();
    }
}

fn read(path: &Path) -> Result<Arc<Policy>, EdgeError> {
    let text = fs::read_to_string(path).map_err(EdgeError::file(path))?;
    let policy = Policy::parse(&path.display().to_string(), &text).map_err(EdgeError::Policy)?;
    let policy = Arc::new(policy);
    let failed = policy.run_tests();
    if failed.is_empty() { Ok(policy) } else { Err(EdgeError::Policy(failed)) }
}

/// The time of day, in milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_being_written_is_not_read_before_it_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("policy.toml");
        let users = |count: usize| {
            let user = |number| format!("[[user]]\nname = \"user{number}\"\n");
            (0..count).map(user).fold("version = 1\n".to_owned(), |text, user| text + &user)
        };
        fs::write(&path, users(3)).expect("room");
        let mut file = PolicyFile::open(path.clone()).expect("it is good");
        assert!(!file.is_another() && !file.is_another());
        // Each piece is a policy, with fewer users than there are to be.
        for count in [1, 2, 4] {
            fs::write(&path, users(count)).expect("room");
            assert!(!file.is_another(), "{count}");
        }
        assert!(file.is_another());
        let change = file.read_again().expect("it is good");
        assert!(change.policy.profile_of("user3").is_some());
        assert!(!file.is_another() && !file.is_another());
    }
}
