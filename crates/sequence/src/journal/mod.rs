//! The journal: every entry, on stable storage, before anybody hears of what it
//! led to.
//!
//! ```text
//!  segment     | head, 64 bytes | entry | entry | … | zeros to its end
//!  its head    | magic | version | checksum | first index | identity of the market |
//! ```
//!
//! Segments have their size from the start, so that writing one changes no file's
//! length, and each is named after the index of its first entry. What is there after
//! a crash is read back entry by entry. Where the last bytes are none, they are what
//! a crash left of an entry that nobody was told of, and are cut off; bytes that
//! were damaged later are not, and the difference is found by what was committed:
//! each entry says up to where everything was when it was made, and a mark says so
//! when nothing follows for a while.

mod memory;
mod scan;
mod segment;
mod storage;

use std::io;

use thiserror::Error;

use crate::entry::{Entry, EntryHead};

pub use memory::Memory;
pub use segment::{Identity, SEGMENT_HEAD};
pub use storage::Storage;

use scan::{End, Known, Scan};

/// How a journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalConfig {
    /// Bytes of a segment, its head included.
    pub segment_bytes: u64,
    /// Segments at once; with all of them full, nothing is taken any more.
    pub max_segments: usize,
}

impl Default for JournalConfig {
    /// 64 segments of 64 MiB.
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, max_segments: 64 }
    }
}

/// Why a journal cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The system does not do what it is asked for.
    #[error("the journal cannot {what} {file}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A file is no segment of a journal.
    #[error(
        "{file} is no segment of a journal of this version; take it away, or give another folder"
    )]
    NoSegment {
        /// The file.
        file: String,
    },
    /// A journal belongs to another market.
    #[error(
        "{file} is the journal of a market with other instruments, users or limits; start with \
         the configuration that it was made with, or give another folder"
    )]
    OtherMarket {
        /// The file.
        file: String,
    },
    /// What was committed is not there any more.
    #[error(
        "{file} is damaged at byte {offset}: entry {index} cannot be read ({fault}), and it was \
         committed, so orders would be lost; restore the file from a copy"
    )]
    Damaged {
        /// The file.
        file: String,
        /// Where in it.
        offset: u64,
        /// Which entry should be there.
        index: u64,
        /// What is wrong.
        fault: String,
    },
    /// The journal begins too late.
    #[error(
        "{file} is the first segment, and no snapshot has what entries {from} to {first} led to; \
         restore the files that are missing from a copy"
    )]
    Missing {
        /// The first segment.
        file: String,
        /// The first entry that is needed.
        from: u64,
        /// The first that is there.
        first: u64,
    },
    /// A bound is too small for one entry.
    #[error("a segment of the journal has {bytes} bytes; give at least {least}")]
    SegmentBytes {
        /// What was given.
        bytes: u64,
        /// What is needed.
        least: u64,
    },
}

/// Why entries were not kept.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct AppendError {
    /// What happened.
    pub error: AppendFault,
    /// Entries up to this one may be on the disk nevertheless, those behind it are
    /// not.
    pub maybe: u64,
}

/// What happened when entries were not kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AppendFault {
    /// All segments are full.
    #[error("all {0} segments of the journal are full; raise max-segments, or take a new folder")]
    Full(usize),
    /// The system refused.
    #[error("the journal cannot {what} {file}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// Entries that were not committed cannot be taken away.
    #[error("{0}")]
    Cut(String),
}

/// What was found in a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Entries.
    pub entries: u64,
    /// The last of them.
    pub last: u64,
    /// Bytes of an entry that was being written when the writer died: they are cut
    /// off.
    pub torn_bytes: u64,
}

/// Keeps entries in segments.
#[derive(Debug)]
pub struct Journal<S> {
    storage: S,
    config: JournalConfig,
    identity: Identity,
    /// The segment that is written, by its first index.
    segment: Option<u64>,
    segments: usize,
    /// Where the next entry goes in it.
    offset: u64,
    /// The last entry that is written, and the last that is on stable storage.
    written: u64,
    synced: u64,
}

impl<S: Storage> Journal<S> {
    /// Opens what is there and gives all its entries behind `after` to `each`, in
    /// their order.
    ///
    /// # Errors
    /// The files cannot be read, belong to another market, or miss what was
    /// committed; `each` refuses.
    pub fn open<E: From<JournalError>>(
        mut storage: S,
        config: JournalConfig,
        identity: Identity,
        after: u64,
        mut each: impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(Self, Recovered), E> {
        let least = (SEGMENT_HEAD + crate::entry::MAX_ENTRY) as u64;
        if config.segment_bytes < least {
            let bytes = config.segment_bytes;
            return Err(JournalError::SegmentBytes { bytes, least }.into());
        }
        // Whoever has the state behind an entry had it committed.
        let mut scan = Scan::new(identity, Known { committed: storage.mark().max(after) });
        let segments = storage.segments().map_err(|error| io_error(&storage, "list", 0, error))?;
        if let Some(first) = segments.first().copied().filter(|first| *first > after + 1) {
            let file = storage.name(first);
            return Err(JournalError::Missing { file, from: after + 1, first }.into());
        }
        let mut each = |entry: &Entry<'_>| match entry.head().index > after {
            true => each(entry),
            false => Ok(()),
        };
        let mut found = Recovered::default();
        let mut kept = 0;
        let mut place = None;
        for (at, first) in segments.iter().copied().enumerate() {
            let is_last = at + 1 == segments.len();
            let bytes =
                storage.read(first).map_err(|error| io_error(&storage, "read", first, error))?;
            let name = storage.name(first);
            let end = scan.segment(&name, first, &bytes, is_last, &mut each)?;
            match end {
                End::At(offset) => {
                    kept += 1;
                    place = Some((first, offset));
                    // Somebody may have copied it without its zeros.
                    if is_last && (bytes.len() as u64) < config.segment_bytes {
                        let cut = storage.cut(first, offset, config.segment_bytes);
                        cut.map_err(|error| io_error(&storage, "lengthen", first, error))?;
                    }
                }
                End::Torn { offset, bytes: torn_bytes } => {
                    kept += 1;
                    place = Some((first, offset));
                    found.torn_bytes += torn_bytes;
                    // What was written behind a torn entry was not committed either.
                    scan.nothing_behind(&storage, &segments[at + 1..])?;
                    remove_all(&mut storage, &segments[at + 1..])?;
                    let length = config.segment_bytes.max(bytes.len() as u64);
                    let cut = storage.cut(first, offset, length);
                    cut.map_err(|error| io_error(&storage, "cut", first, error))?;
                    break;
                }
                End::Unborn => remove_all(&mut storage, &segments[at..])?,
            }
        }
        scan.finish(&storage, place)?;
        (found.entries, found.last) = (scan.entries(), scan.last());
        let (segment, offset) = place.unzip();
        let journal = Self {
            storage,
            config,
            identity,
            segment,
            segments: kept,
            offset: offset.unwrap_or(0),
            written: found.last,
            synced: found.last,
        };
        Ok((journal, found))
    }

    /// Writes whole entries, and has them on stable storage when this returns. They
    /// follow the last ones. If there is room for the first of them only, these are
    /// kept, as [`synced`](Self::synced) says.
    pub fn append(&mut self, entries: &[u8]) -> Result<u64, AppendError> {
        let mut rest = entries;
        while !rest.is_empty() {
            let room = self.room(rest)?;
            let (run, last) = run(rest, room);
            debug_assert!(!run.is_empty(), "an entry fits into an empty segment");
            let segment = self.segment.unwrap_or_default();
            let written = self.storage.write(segment, self.offset, run);
            written.map_err(|error| self.failed("write to", last, error))?;
            self.offset += run.len() as u64;
            self.written = last;
            rest = &rest[run.len()..];
        }
        self.sync()?;
        Ok(self.synced)
    }

    /// Room in the segment for at least the first of some entries; a new segment if
    /// there is none.
    fn room(&mut self, entries: &[u8]) -> Result<u64, AppendError> {
        let head = head_of(entries);
        let room = self.config.segment_bytes.saturating_sub(self.offset);
        if self.segment.is_some() && room >= u64::from(head.length) {
            return Ok(room);
        }
        // Entries of the segment before are safe first: a crash leaves no hole, and if
        // there is no room for more, what there was room for is kept.
        self.sync()?;
        if self.segments >= self.config.max_segments {
            let error = AppendFault::Full(self.config.max_segments);
            return Err(AppendError { error, maybe: self.written });
        }
        let first = head.index;
        let made = self.storage.create(first, self.config.segment_bytes);
        made.map_err(|error| self.failed_for(first, "make", error))?;
        let bytes = self.identity.segment_head(first);
        let written = self.storage.write(first, 0, &bytes);
        written.map_err(|error| self.failed_for(first, "write to", error))?;
        // A segment whose head is not there would be taken for somebody else's.
        self.storage.sync(first).map_err(|error| self.failed_for(first, "sync", error))?;
        (self.segment, self.offset) = (Some(first), SEGMENT_HEAD as u64);
        self.segments += 1;
        Ok(self.config.segment_bytes - self.offset)
    }

    fn failed_for(&self, first: u64, what: &'static str, error: io::Error) -> AppendError {
        let file = self.storage.name(first);
        AppendError { error: AppendFault::Io { what, file, error }, maybe: self.written }
    }

    fn failed(&self, what: &'static str, maybe: u64, error: io::Error) -> AppendError {
        let file = self.storage.name(self.segment.unwrap_or_default());
        AppendError { error: AppendFault::Io { what, file, error }, maybe }
    }

    fn sync(&mut self) -> Result<(), AppendError> {
        if let Some(segment) = self.segment
            && self.synced < self.written
        {
            let synced = self.storage.sync(segment);
            synced.map_err(|error| self.failed("sync", self.written, error))?;
            self.synced = self.written;
        }
        Ok(())
    }

    /// Notes that everything up to an entry was committed, where it is found even if
    /// no entry follows.
    pub fn mark(&mut self, committed: u64) -> io::Result<()> {
        self.storage.set_mark(committed.min(self.synced))
    }

    /// Takes entries behind one away: they were never committed, and others take their
    /// place.
    pub fn cut(&mut self, last: u64) -> Result<(), JournalError> {
        if last >= self.written {
            return Ok(());
        }
        let storage = &mut self.storage;
        let all = storage.segments().map_err(|error| io_error(storage, "list", 0, error))?;
        let kept = all.iter().filter(|first| **first <= last + 1).count();
        remove_all(storage, &all[kept..])?;
        self.segments = kept;
        (self.written, self.synced) = (last, last);
        self.segment = all[..kept].last().copied();
        let Some(first) = self.segment else { return Ok(()) };
        let bytes = storage.read(first).map_err(|error| io_error(storage, "read", first, error))?;
        let mut offset = SEGMENT_HEAD;
        let next = |offset: usize| bytes.get(offset..).and_then(Entry::own);
        while let Some(entry) = next(offset).filter(|entry| entry.head().index <= last) {
            offset += entry.bytes().len();
        }
        self.offset = offset as u64;
        let cut = storage.cut(first, self.offset, self.config.segment_bytes);
        cut.map_err(|error| io_error(storage, "cut", first, error))
    }

    /// Takes segments away that hold nothing behind an entry. Returns how many.
    pub fn trim(&mut self, upto: u64) -> Result<usize, JournalError> {
        let storage = &mut self.storage;
        let all = storage.segments().map_err(|error| io_error(storage, "list", 0, error))?;
        let next = all.iter().skip(1);
        let old: Vec<u64> = all
            .iter()
            .zip(next)
            .filter(|(_, next)| **next <= upto + 1)
            .map(|(first, _)| *first)
            .collect();
        remove_all(storage, &old)?;
        self.segments -= old.len();
        Ok(old.len())
    }

    /// The last entry that is on stable storage.
    pub const fn synced(&self) -> u64 {
        self.synced
    }

    /// Segments that there are.
    pub const fn segments(&self) -> usize {
        self.segments
    }

    /// What it is kept on.
    pub const fn storage(&self) -> &S {
        &self.storage
    }

    /// Gives back what it was kept on.
    pub fn into_storage(self) -> S {
        self.storage
    }
}

fn remove_all<S: Storage>(storage: &mut S, segments: &[u64]) -> Result<(), JournalError> {
    for first in segments {
        let removed = storage.remove(*first);
        removed.map_err(|error| io_error(storage, "remove", *first, error))?;
    }
    Ok(())
}

fn io_error<S: Storage>(
    storage: &S,
    what: &'static str,
    first: u64,
    error: io::Error,
) -> JournalError {
    JournalError::Io { what, file: storage.name(first), error }
}

/// The head of the first of some entries that this process made.
fn head_of(entries: &[u8]) -> EntryHead {
    entries.get(..crate::entry::HEAD).and_then(EntryHead::read).unwrap_or_default()
}

/// As many of some entries as there is room for, and the index of the last of them.
fn run(entries: &[u8], room: u64) -> (&[u8], u64) {
    let (mut len, mut last) = (0, 0);
    while let Some(head) = entries.get(len..).map(head_of).filter(|head| head.length > 0) {
        let end = len + head.length as usize;
        if end as u64 > room || end > entries.len() {
            break;
        }
        (len, last) = (end, head.index);
    }
    (&entries[..len], last)
}
