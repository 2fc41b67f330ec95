//! The files of the usage journal: one for each month, in UTC.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tapeline_entitle::{Journal, day_of};

use crate::EdgeError;
use crate::policy_file::unix_ms;

/// Appends records to the file of the month.
#[derive(Debug)]
pub(crate) struct JournalFile {
    folder: PathBuf,
    name: String,
    path: PathBuf,
    file: File,
}

impl JournalFile {
    /// Opens the file of this month in a folder, which is made if there is none.
    /// A torn record at its end, of a process that was killed, is cut off.
    pub(crate) fn open(folder: PathBuf, name: String) -> Result<Self, EdgeError> {
        fs::create_dir_all(&folder).map_err(EdgeError::file(&folder))?;
        let path = path_of(&folder, &name, unix_ms());
        let file = open(&path)?;
        Ok(Self { folder, name, path, file })
    }

    /// Appends records that came together.
    pub(crate) fn append(&mut self, records: &[u8]) -> Result<(), EdgeError> {
        let path = path_of(&self.folder, &self.name, unix_ms());
        if path != self.path {
            self.file = open(&path)?;
            self.path = path;
        }
        self.file.write_all(records).map_err(EdgeError::file(&self.path))
    }
}

fn path_of(folder: &Path, name: &str, unix_ms: u64) -> PathBuf {
    let day = day_of(unix_ms);
    folder.join(format!("{name}-{}-{:02}.journal", day.year(), u8::from(day.month())))
}

fn open(path: &Path) -> Result<File, EdgeError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path).map_err(EdgeError::file(path))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(EdgeError::file(path))?;
    let mut journal = Journal::new(&bytes);
    journal.by_ref().for_each(drop);
    let (good, torn) = (journal.good_bytes() as u64, journal.left_bytes());
    if torn > 0 {
        tracing::warn!(path = %path.display(), torn, "the journal ends in a torn record; it is cut");
        file.set_len(good).map_err(EdgeError::file(path))?;
    }
    file.seek(SeekFrom::Start(good)).map_err(EdgeError::file(path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use tapeline_entitle::{Kind, Usage};

    use super::*;

    fn record(user: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let usage = Usage {
            kind: Kind::Login,
            time_ms: 1,
            user,
            position: "",
            application: "",
            service: "",
            item: "",
            lock: &[],
        };
        usage.encode(&mut bytes);
        bytes
    }

    #[test]
    fn what_a_killed_process_left_is_gone_on_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || JournalFile::open(folder.path().to_owned(), "server".to_owned());
        let mut journal = open().expect("it can be made");
        journal.append(&record("ann")).expect("room");
        let torn = record("bob");
        journal.append(&torn[..torn.len() - 1]).expect("room");
        drop(journal);
        let mut journal = open().expect("it is there");
        journal.append(&record("cid")).expect("room");
        let bytes = fs::read(&journal.path).expect("it is there");
        let users: Vec<_> = Journal::new(&bytes).map(|usage| usage.user.to_owned()).collect();
        assert_eq!(users, ["ann", "cid"]);
    }

    #[test]
    fn each_month_has_a_file() {
        let path = |ms| path_of(Path::new("/u"), "s", ms).display().to_string();
        assert_eq!(path(1_795_564_800_000), "/u/s-2026-11.journal");
        assert_eq!(path(1_796_083_200_000), "/u/s-2026-12.journal");
    }
}
