//! A journal in a folder: a file for each segment, a small one for the mark.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use tapeline_sequence::Storage;

use crate::error::ExchangeError;

const SUFFIX: &str = ".journal";
const MARK: &str = "committed";
const LOCK: &str = "lock";

/// The file of a segment.
pub(super) fn path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:020}{SUFFIX}"))
}

/// The segments of a folder, by their first entries, in order.
pub(super) fn segments(dir: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let first = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        found.extend(first.and_then(|first| first.parse::<u64>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// A folder with a journal, which one process at a time has.
#[derive(Debug)]
pub(crate) struct Files {
    dir: PathBuf,
    open: BTreeMap<u64, File>,
    mark: File,
    /// Held for as long as this is there.
    _lock: File,
}

impl Files {
    /// The journal in a folder, which is made if there is none.
    ///
    /// # Errors
    /// The folder cannot be used, or another process has it.
    pub(crate) fn open(dir: &Path) -> Result<Self, ExchangeError> {
        let failed = |error| ExchangeError::JournalDir { dir: dir.to_owned(), error };
        fs::create_dir_all(dir).map_err(failed)?;
        let file = |name: &str| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(dir.join(name))
        };
        let lock = file(LOCK).map_err(failed)?;
        if let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            return Err(match error {
                rustix::io::Errno::WOULDBLOCK => {
                    ExchangeError::JournalInUse { dir: dir.to_owned() }
                }
                other => failed(other.into()),
            });
        }
        let mark = file(MARK).map_err(failed)?;
        Ok(Self { dir: dir.to_owned(), open: BTreeMap::new(), mark, _lock: lock })
    }

    fn path(&self, first: u64) -> PathBuf {
        path(&self.dir, first)
    }

    /// The file of a segment, opened once.
    fn file(&mut self, first: u64) -> io::Result<&File> {
        let path = self.path(first);
        match self.open.entry(first) {
            std::collections::btree_map::Entry::Occupied(found) => Ok(found.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) => {
                let file = OpenOptions::new().read(true).write(true).open(path)?;
                Ok(place.insert(file))
            }
        }
    }

    /// Names in the folder are on stable storage.
    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }
}

impl Storage for Files {
    fn segments(&self) -> io::Result<Vec<u64>> {
        segments(&self.dir)
    }

    fn name(&self, first: u64) -> String {
        let path = if first == 0 { self.dir.clone() } else { self.path(first) };
        path.display().to_string()
    }

    fn create(&mut self, first: u64, bytes: u64) -> io::Result<()> {
        let path = self.path(first);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let made = fallocate(&file, FallocateFlags::empty(), 0, bytes)
            .map_err(io::Error::from)
            .and_then(|()| file.sync_all())
            .and_then(|()| self.sync_dir());
        if let Err(error) = made {
            // Room that is not there is not half taken either.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        // Those before it are written to no more.
        self.open.clear();
        self.open.insert(first, file);
        Ok(())
    }

    fn read(&self, first: u64) -> io::Result<Vec<u8>> {
        fs::read(self.path(first))
    }

    fn write(&mut self, first: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file(first)?.write_all_at(bytes, offset)
    }

    fn sync(&mut self, first: u64) -> io::Result<()> {
        self.file(first)?.sync_data()
    }

    fn cut(&mut self, first: u64, offset: u64, bytes: u64) -> io::Result<()> {
        let file = self.file(first)?;
        file.set_len(offset)?;
        fallocate(file, FallocateFlags::empty(), 0, bytes)?;
        file.sync_all()
    }

    fn remove(&mut self, first: u64) -> io::Result<()> {
        self.open.remove(&first);
        fs::remove_file(self.path(first))?;
        self.sync_dir()
    }

    fn set_mark(&mut self, committed: u64) -> io::Result<()> {
        // Twice, so that half of it is seen to be none.
        let bytes = [committed.to_le_bytes(), (!committed).to_le_bytes()].concat();
        self.mark.write_all_at(&bytes, 0)?;
        self.mark.sync_data()
    }

    fn mark(&self) -> u64 {
        let mut bytes = [0; 16];
        if self.mark.read_exact_at(&mut bytes, 0).is_err() {
            return 0;
        }
        let [committed, inverted] = [&bytes[..8], &bytes[8..]].map(|half| {
            let mut own = [0; 8];
            own.copy_from_slice(half);
            u64::from_le_bytes(own)
        });
        if inverted == !committed { committed } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_segments_and_the_mark() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut files = Files::open(dir.path()).expect("a journal");
        assert_eq!((files.segments().expect("none"), files.mark()), (vec![], 0));
        for first in [1, 900] {
            files.create(first, 10_000).expect("room");
            files.write(first, 9_996, b"last").expect("room");
            files.sync(first).expect("a disk");
        }
        files.set_mark(77).expect("room");
        assert!(matches!(Files::open(dir.path()), Err(ExchangeError::JournalInUse { .. })));
        drop(files);
        let mut files = Files::open(dir.path()).expect("a journal");
        assert_eq!((files.segments().expect("two"), files.mark()), (vec![1, 900], 77));
        files.cut(900, 9_998, 12_000).expect("room");
        let read = files.read(900).expect("a segment");
        assert_eq!((read.len(), &read[9_995..10_001]), (12_000, &b"\0la\0\0\0"[..]));
        files.remove(1).expect("it is there");
        assert_eq!(files.segments().expect("one"), [900]);
        assert!(files.name(900).ends_with("00000000000000000900.journal"));
        fs::write(dir.path().join(MARK), [1; 16]).expect("room");
        assert_eq!(files.mark(), 0, "half a mark is none");
    }
}
