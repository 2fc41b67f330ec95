//! What the usage journal appends to: a file for each month, in UTC, or several.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use tapeline_entitle::{MAX_RECORD_BYTES, ReportMonth, Usage};

use crate::EdgeError;
use crate::closed::{Files, compress};
use crate::policy_file::unix_ms;

/// Who used what is for nobody but the user that the process runs as.
pub(crate) const MODE: u32 = 0o600;

/// So much is read of a journal at a time. A record fits.
const CHUNK_BYTES: usize = 2 * MAX_RECORD_BYTES;

/// Where the usage journal is.
#[derive(Clone, Debug)]
pub struct JournalConfig {
    /// The folder of its files.
    pub folder: PathBuf,
    /// What their names begin with.
    pub name: String,
    /// A file that has so many bytes is closed, and another one begun; 0: none is.
    pub max_bytes: u64,
    /// Whether closed files are compressed.
    pub is_compressed: bool,
}

/// Appends records to the file of their month.
#[derive(Debug)]
pub(crate) struct JournalFile {
    files: Files,
    max_bytes: u64,
    is_compressed: bool,
    month: ReportMonth,
    path: PathBuf,
    file: Appended<File>,
    /// With so many bytes it is full.
    full_at_bytes: u64,
    run_before: u64,
    /// Who compresses what was closed.
    compressing: Option<JoinHandle<()>>,
}

impl JournalFile {
    /// Opens the file of this month in a folder, which is made if there is none.
    /// A torn record at its end, of a process that was killed, is cut off.
    pub(crate) fn open(config: JournalConfig) -> Result<Self, EdgeError> {
        let JournalConfig { folder, name, max_bytes, is_compressed } = config;
        fs::create_dir_all(&folder).map_err(EdgeError::file(&folder))?;
        let month = ReportMonth::of(unix_ms()).ok_or_else(|| {
            EdgeError::file(&folder)(io::Error::other("the clock of this host shows no date"))
        })?;
        let files = Files::new(folder, name);
        let path = files.path_of(month);
        let (file, last_run) = open(&path)?;
        let run_before = match last_run {
            0 => last_run_before(&files, &path)?,
            run => run,
        };
        let mut journal = Self {
            files,
            max_bytes,
            is_compressed,
            month,
            path,
            file,
            full_at_bytes: max_bytes,
            run_before,
            compressing: None,
        };
        journal.compress_closed();
        Ok(journal)
    }

    /// The last life of a process that is in the journal; 0 if there is none.
    pub(crate) const fn run_before(&self) -> u64 {
        self.run_before
    }

    /// Appends records that came together, each to the file of its month. What
    /// comes late is with those of the month that has begun. A file that is full
    /// afterwards is closed.
    ///
    /// Errors: some could not be written. The file ends with a whole record.
    pub(crate) fn append(&mut self, records: &[u8]) -> Result<(), EdgeError> {
        let mut rest = records;
        while !rest.is_empty() {
            let (month, bytes) = self.of_one_month(rest);
            let (part, behind) = rest.split_at(bytes);
            if month != self.month {
                let path = self.files.path_of(month);
                (self.file, _) = open(&path)?;
                (self.month, self.path) = (month, path);
                self.full_at_bytes = self.max_bytes;
                self.compress_closed();
            }
            self.file.append(part).map_err(EdgeError::file(&self.path))?;
            rest = behind;
            if self.max_bytes > 0 && self.file.good_bytes >= self.full_at_bytes {
                self.close_full();
            }
        }
        Ok(())
    }

    /// Goes on in another file. Where that cannot be, it goes on in this one, and tries
    /// again when as much is in it once more.
    fn close_full(&mut self) {
        let closed = self.files.close(self.month).map_err(EdgeError::file(&self.path));
        match closed.and_then(|()| open(&self.path)) {
            Ok((file, _)) => {
                self.file = file;
                self.full_at_bytes = self.max_bytes;
                self.compress_closed();
            }
            Err(error) => {
                self.full_at_bytes = self.file.good_bytes.saturating_add(self.max_bytes);
                tracing::warn!(%error, "a file of the journal is full, and not closed");
            }
        }
    }

    /// Has closed files be compressed on a thread of its own, which is the only one.
    /// What is closed while it is at work is left to the next time.
    fn compress_closed(&mut self) {
        let is_at_work = self.compressing.as_ref().is_some_and(|it| !it.is_finished());
        if !self.is_compressed || is_at_work {
            return;
        }
        let closed = match self.files.to_compress(&self.path) {
            Ok(closed) if closed.is_empty() => return,
            Ok(closed) => closed,
            Err(error) => {
                let folder = self.files.folder().display();
                return tracing::warn!(%folder, %error, "closed files of the journal are not found");
            }
        };
        let work = move || {
            for path in closed {
                let done = compress(&path);
                let path = path.display();
                match done {
                    Ok(()) => tracing::info!(%path, "a file of the journal is compressed"),
                    Err(error) => {
                        tracing::warn!(%path, %error, "a file of the journal is not compressed");
                    }
                }
            }
        };
        match thread::Builder::new().name("journal".to_owned()).spawn(work) {
            Ok(handle) => self.compressing = Some(handle),
            Err(error) => tracing::warn!(%error, "closed files of the journal are not compressed"),
        }
    }

    /// The month of the first of some records, and how many bytes those have that
    /// are of the same one.
    fn of_one_month(&self, records: &[u8]) -> (ReportMonth, usize) {
        let mut first = None;
        let mut at = 0;
        while let Some((usage, len)) = Usage::decode(&records[at..]) {
            let month = ReportMonth::of(usage.time_ms).unwrap_or(self.month).max(self.month);
            if *first.get_or_insert(month) != month {
                break;
            }
            at += len;
        }
        debug_assert!(at > 0, "what was recorded is whole");
        (first.unwrap_or(self.month), if at == 0 { records.len() } else { at })
    }
}

/// What an [`Appended`] is in.
trait Storage: Write {
    /// Has it end after so many bytes, where the next are written.
    fn end_at(&mut self, bytes: u64) -> io::Result<()>;
}

impl Storage for File {
    fn end_at(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)?;
        self.seek(SeekFrom::Start(bytes)).map(drop)
    }
}

/// A file to which is only appended, whole pieces or nothing of them.
#[derive(Debug)]
struct Appended<S> {
    storage: S,
    /// Where the last piece ends.
    good_bytes: u64,
    /// There may be a part of a piece behind it.
    is_torn: bool,
}

impl<S: Storage> Appended<S> {
    fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.cut()?;
        }
        let Err(error) = self.storage.write_all(piece) else {
            self.good_bytes += piece.len() as u64;
            return Ok(());
        };
        self.is_torn = true;
        // If it cannot be cut now, it is before the next piece.
        let _ = self.cut();
        Err(error)
    }

    fn cut(&mut self) -> io::Result<()> {
        self.storage.end_at(self.good_bytes)?;
        self.is_torn = false;
        Ok(())
    }
}

/// Opens a file of the journal behind its last record; and the run of that.
fn open(path: &Path) -> Result<(Appended<File>, u64), EdgeError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(MODE);
    let mut file = options.open(path).map_err(EdgeError::file(path))?;
    let End { good_bytes, all_bytes, run } = end_of(&mut file).map_err(EdgeError::file(path))?;
    let torn = all_bytes - good_bytes;
    if torn > 0 {
        tracing::warn!(path = %path.display(), torn, "the journal ends in a torn record; it is cut");
    }
    let mut file = Appended { storage: file, good_bytes, is_torn: true };
    file.cut().map_err(EdgeError::file(path))?;
    Ok((file, run))
}

/// The end of a journal.
#[derive(Debug, Default, PartialEq, Eq)]
struct End {
    /// Where the last whole record ends.
    good_bytes: u64,
    all_bytes: u64,
    /// The last run that there is a record of; 0 if there is none.
    run: u64,
}

/// Reads a journal to its end, a chunk at a time. Damage between records is
/// passed over: what is behind it is good.
fn end_of(journal: &mut impl Read) -> io::Result<End> {
    let mut end = End::default();
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    loop {
        let room = (CHUNK_BYTES - chunk.len()) as u64;
        let read = journal.by_ref().take(room).read_to_end(&mut chunk)?;
        let is_last = (read as u64) < room;
        let mut at = 0;
        // What might go on in the next chunk waits for it.
        while at < chunk.len() && (is_last || chunk.len() - at >= MAX_RECORD_BYTES) {
            match Usage::decode(&chunk[at..]) {
                Some((usage, len)) => {
                    at += len;
                    end.good_bytes = end.all_bytes + at as u64;
                    end.run = if usage.run == 0 { end.run } else { usage.run };
                }
                None => at += 1,
            }
        }
        end.all_bytes += at as u64;
        chunk.drain(..at);
        if is_last {
            return Ok(end);
        }
    }
}

/// The last run that the files beside this one have a record of, the latest first; 0 if
/// there is none.
fn last_run_before(files: &Files, path: &Path) -> Result<u64, EdgeError> {
    let all = files.all().map_err(EdgeError::file(files.folder()))?;
    let before = all.iter().rev().filter(|it| it.path != path);
    for listed in before {
        let end = listed.open().and_then(|mut records| end_of(&mut records));
        match end.map_err(EdgeError::file(&listed.path))?.run {
            0 => {}
            run => return Ok(run),
        }
    }
    Ok(0)
}

/// A number that no other run of a process has.
pub(crate) fn new_run() -> u64 {
    // Its keys are of the system's randomness.
    RandomState::new().build_hasher().finish().max(1)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tapeline_entitle::{Journal, Kind};

    use super::*;

    fn record(user: &str) -> Vec<u8> {
        record_at(unix_ms(), user, 1)
    }

    fn record_at(time_ms: u64, user: &str, run: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        Usage { user, run, ..Usage::of(Kind::Login, time_ms) }.encode(&mut bytes);
        bytes
    }

    fn config(folder: &tempfile::TempDir) -> JournalConfig {
        let (folder, name) = (folder.path().to_owned(), "server".to_owned());
        JournalConfig { folder, name, max_bytes: 0, is_compressed: false }
    }

    fn open_in(folder: &tempfile::TempDir) -> JournalFile {
        JournalFile::open(config(folder)).expect("it can be made")
    }

    fn users(path: &Path) -> Vec<String> {
        let bytes = fs::read(path).expect("it is there");
        Journal::new(&bytes).map(|usage| usage.user.to_owned()).collect()
    }

    #[test]
    fn what_a_killed_process_left_is_gone_on_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut journal = open_in(&folder);
        journal.append(&record("ann")).expect("room");
        let torn = record("bob");
        journal.file.append(&torn[..torn.len() - 1]).expect("room");
        drop(journal);
        let mut journal = open_in(&folder);
        assert_eq!(journal.run_before(), 1);
        journal.append(&record("cid")).expect("room");
        let bytes = fs::read(&journal.path).expect("it is there");
        assert_eq!(bytes, [record_like(&bytes, "ann"), record_like(&bytes, "cid")].concat());
        assert_eq!(users(&journal.path), ["ann", "cid"]);
    }

    /// The record of a user as it is in a journal.
    fn record_like(journal: &[u8], user: &str) -> Vec<u8> {
        let usage = Journal::new(journal).find(|usage| usage.user == user).expect("it is there");
        record_at(usage.time_ms, user, usage.run)
    }

    #[test]
    fn what_is_behind_damage_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut journal = open_in(&folder);
        for user in ["ann", "bob", "cid"] {
            journal.append(&record(user)).expect("room");
        }
        let path = journal.path.clone();
        drop(journal);
        let mut bytes = fs::read(&path).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).expect("room");
        let mut journal = open_in(&folder);
        journal.append(&record("dora")).expect("room");
        assert_eq!(users(&path), ["ann", "cid", "dora"]);
    }

    #[test]
    fn a_journal_is_for_nobody_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = open_in(&folder);
        let mode = fs::metadata(&journal.path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn each_month_has_a_file() {
        let path = |ms| {
            let month = ReportMonth::of(ms).expect("a month");
            Files::new("/u".into(), "s".to_owned()).path_of(month).display().to_string()
        };
        assert_eq!(path(1_795_564_800_000), "/u/s-2026-11.journal");
        assert_eq!(path(1_796_083_200_000), "/u/s-2026-12.journal");
    }

    #[test]
    fn records_that_came_together_go_to_the_files_of_their_months() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut journal = open_in(&folder);
        let this = journal.path.clone();
        let next_ms = journal.month.end_ms().expect("it ends");
        let at = |time_ms, user| record_at(time_ms, user, 5);
        let both = [at(next_ms - 1, "ann"), at(next_ms, "bob"), at(next_ms - 1, "late")].concat();
        journal.append(&both).expect("room");
        assert_eq!(
            (users(&this), users(&journal.path)),
            (vec!["ann".to_owned()], vec!["bob".to_owned(), "late".to_owned()])
        );
    }

    #[test]
    fn the_run_before_is_found_in_the_file_of_a_month_before() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(open_in(&folder).run_before(), 0);
        for (file, run) in [("server-2020-01", 3), ("server-2020-12", 4), ("other-2021-01", 5)] {
            let path = folder.path().join(format!("{file}.journal"));
            fs::write(path, record_at(1, "ann", run)).expect("room");
        }
        assert_eq!(open_in(&folder).run_before(), 4);
    }

    /// The users in all files of a folder, in their order, a list for each file.
    fn users_of_all(journal: &JournalFile) -> Vec<Vec<String>> {
        let all = journal.files.all().expect("they can be read");
        let users = all.iter().map(|listed| {
            let mut bytes = Vec::new();
            listed.open().expect("it is there").read_to_end(&mut bytes).expect("it is whole");
            Journal::new(&bytes).map(|usage| usage.user.to_owned()).collect()
        });
        users.collect()
    }

    #[test]
    fn a_file_that_is_full_is_closed_and_nothing_of_it_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let max_bytes = 2 * record("ann").len() as u64;
        let config = JournalConfig { max_bytes, ..config(&folder) };
        let mut journal = JournalFile::open(config.clone()).expect("it can be made");
        for user in ["ann", "bob", "cid", "dan", "eve"] {
            journal.append(&record(user)).expect("room");
        }
        let expected = [vec!["ann", "bob"], vec!["cid", "dan"], vec!["eve"]];
        assert_eq!(users_of_all(&journal), expected);
        // Another life of the process goes on behind them; and finds the one before, also
        // where nothing is in the file that is open.
        drop(journal);
        let mut journal = JournalFile::open(config.clone()).expect("it is there");
        journal.append(&record("fay")).expect("room");
        assert_eq!(users(&journal.path), [""; 0]);
        drop(journal);
        let journal = JournalFile::open(config).expect("it is there");
        assert_eq!(journal.run_before(), 1);
        assert_eq!(users_of_all(&journal)[2], ["eve", "fay"]);
    }

    #[test]
    fn closed_files_are_compressed_and_the_open_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let max_bytes = record("ann").len() as u64;
        let config = JournalConfig { max_bytes, ..config(&folder) };
        let mut journal = JournalFile::open(config.clone()).expect("it can be made");
        journal.append(&record("ann")).expect("room");
        journal.append(&record("bob")).expect("room");
        drop(journal);
        let compressed = JournalConfig { max_bytes: 0, is_compressed: true, ..config };
        let mut journal = JournalFile::open(compressed).expect("it is there");
        assert_eq!(journal.run_before(), 1);
        journal.append(&record("cid")).expect("room");
        let work = journal.compressing.take().expect("there was something closed");
        work.join().expect("it ends");
        assert_eq!(users_of_all(&journal), [["ann"], ["bob"], ["cid"]]);
        let all = journal.files.all().expect("they can be read");
        let is_compressed = all.iter().map(|it| it.path.extension().is_some_and(|it| it == "zst"));
        assert_eq!(is_compressed.collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(all[2].path, journal.path);
    }

    /// A disk with room for so many bytes.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        is_stuck: bool,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.bytes.len());
            self.bytes.extend_from_slice(&bytes[..count]);
            if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Storage for Disk {
        fn end_at(&mut self, bytes: u64) -> io::Result<()> {
            if self.is_stuck {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.truncate(bytes as usize);
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_was_full_has_whole_records_before_and_behind() {
        let (ann, bob) = (record("ann"), record("bob"));
        for is_stuck in [false, true] {
            let storage = Disk { bytes: Vec::new(), room: ann.len() + 9, is_stuck };
            let mut file = Appended { storage, good_bytes: 0, is_torn: false };
            file.append(&ann).expect("room");
            file.append(&bob).expect_err("there is none");
            file.append(&bob).expect_err("there is none still");
            file.storage.room = 1 << 20;
            file.storage.is_stuck = false;
            file.append(&bob).expect("room");
            assert_eq!(file.storage.bytes, [ann.clone(), bob.clone()].concat());
        }
    }

    #[test]
    fn the_end_of_a_long_journal_is_found_a_chunk_at_a_time() {
        let long = "x".repeat(60_000);
        let mut bytes: Vec<u8> = Vec::new();
        while bytes.len() < 3 * CHUNK_BYTES {
            bytes.extend(record_at(1, &long, 6));
            bytes.extend(record_at(1, "ann", 7));
        }
        let good_bytes = bytes.len() as u64;
        bytes.extend(&record_at(1, &long, 8)[..50_000]);
        let all_bytes = bytes.len() as u64;
        let end = end_of(&mut bytes.as_slice()).expect("it can be read");
        assert_eq!(end, End { good_bytes, all_bytes, run: 7 });
    }
}
