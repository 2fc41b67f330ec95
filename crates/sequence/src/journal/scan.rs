//! Reading a journal back: which entries are there, and what the bytes behind the
//! last one mean.

use crate::entry::{Entry, EntryFault, HEAD};
use crate::journal::segment::{Head, Identity, SEGMENT_HEAD};
use crate::journal::storage::Storage;
use crate::journal::{JournalError, io_error};

/// What is known of what was committed, besides what entries say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) committed: u64,
}

/// Where the entries of a segment end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Here, with nothing behind.
    At(u64),
    /// Here, with bytes of an entry behind that nobody was told of.
    Torn { offset: u64, bytes: u64 },
    /// The segment was made and never used.
    Unborn,
}

/// Goes through segments in their order.
#[derive(Debug)]
pub(super) struct Scan {
    identity: Identity,
    known: Known,
    /// The index, term and time of the last entry.
    last: u64,
    term: u32,
    time_ns: u64,
    entries: u64,
}

/// The first byte that is no entry, and why.
struct Break<'b> {
    offset: usize,
    fault: String,
    behind: &'b [u8],
}

impl Scan {
    pub(super) const fn new(identity: Identity, known: Known) -> Self {
        Self { identity, known, last: 0, term: 0, time_ns: 0, entries: 0 }
    }

    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    pub(super) const fn entries(&self) -> u64 {
        self.entries
    }

    /// Reads a segment.
    pub(super) fn segment<E: From<JournalError>>(
        &mut self,
        name: &str,
        first: u64,
        bytes: &[u8],
        is_last: bool,
        each: &mut impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<End, E> {
        let file = || name.to_owned();
        match self.identity.reads(first, bytes) {
            Head::Ours => {}
            // Nothing can have been committed there, and nothing behind it.
            Head::Unborn if is_last && first > self.known.committed => return Ok(End::Unborn),
            Head::Other => return Err(JournalError::OtherMarket { file: file() }.into()),
            Head::Unborn | Head::None => {
                return Err(JournalError::NoSegment { file: file() }.into());
            }
        }
        if self.entries > 0 && first != self.last + 1 {
            return Err(self.damaged(name, 0, &format!("it begins with {first}")).into());
        }
        if self.entries == 0 {
            self.last = first - 1;
        }
        let broken = self.read(bytes, each)?;
        let Break { offset, fault, behind } = broken;
        let used = behind.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        if used == 0 {
            return Ok(End::At(offset as u64));
        }
        if self.was_committed(behind) {
            return Err(self.damaged(name, offset, &fault).into());
        }
        Ok(End::Torn { offset: offset as u64, bytes: used as u64 })
    }

    /// Reads entries up to the first bytes that are none.
    fn read<'b, E: From<JournalError>>(
        &mut self,
        bytes: &'b [u8],
        each: &mut impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<Break<'b>, E> {
        let mut rest = bytes.get(SEGMENT_HEAD..).unwrap_or_default();
        loop {
            let fault = match Entry::read(rest) {
                Ok((entry, behind)) => match self.follows(&entry) {
                    Ok(()) => {
                        each(&entry)?;
                        rest = behind;
                        continue;
                    }
                    Err(fault) => fault,
                },
                Err(fault) => fault.to_string(),
            };
            return Ok(Break { offset: bytes.len() - rest.len(), fault, behind: rest });
        }
    }

    /// Whether an entry is the next one.
    fn follows(&mut self, entry: &Entry<'_>) -> Result<(), String> {
        let head = entry.head();
        if head.index != self.last + 1 {
            return Err(format!("entry {} is there", head.index));
        }
        if head.term < self.term || head.time_ns < self.time_ns {
            return Err("its term or its time is before that of the last entry".to_owned());
        }
        self.known.committed = self.known.committed.max(head.committed);
        (self.last, self.term, self.time_ns) = (head.index, head.term, head.time_ns);
        self.entries += 1;
        Ok(())
    }

    /// Whether the entry that should be next was committed: somebody says so, or an
    /// entry behind it does.
    fn was_committed(&self, behind: &[u8]) -> bool {
        let next = self.last + 1;
        self.known.committed >= next || committed_by(behind) >= next
    }

    /// Looks into the segments behind a torn entry.
    pub(super) fn nothing_behind<S: Storage>(
        &self,
        storage: &S,
        segments: &[u64],
    ) -> Result<(), JournalError> {
        for first in segments.iter().copied() {
            let bytes =
                storage.read(first).map_err(|error| io_error(storage, "read", first, error))?;
            let behind = bytes.get(SEGMENT_HEAD..).unwrap_or_default();
            if self.was_committed(behind) {
                let fault = "an entry before it is missing";
                return Err(self.damaged(&storage.name(first), 0, fault));
            }
        }
        Ok(())
    }

    /// All segments are read: nothing that was committed is missing at the end.
    pub(super) fn finish<S: Storage>(
        &self,
        storage: &S,
        place: Option<(u64, u64)>,
    ) -> Result<(), JournalError> {
        if self.known.committed <= self.last {
            return Ok(());
        }
        let (first, offset) = place.unwrap_or_default();
        let fault = EntryFault::Empty.to_string();
        Err(self.damaged(&storage.name(first), offset as usize, &fault))
    }

    fn damaged(&self, name: &str, offset: usize, fault: &str) -> JournalError {
        JournalError::Damaged {
            file: name.to_owned(),
            offset: offset as u64,
            index: self.last + 1,
            fault: fault.to_owned(),
        }
    }
}

/// The highest index that any entry in some bytes says was committed. They can
/// begin anywhere that is a multiple of 8 from the first.
fn committed_by(bytes: &[u8]) -> u64 {
    let (mut at, mut committed) = (0, 0);
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEAD) {
        match Entry::read(rest) {
            Ok((entry, behind)) => {
                committed = committed.max(entry.head().committed);
                at = bytes.len() - behind.len();
            }
            Err(_) => at += 8,
        }
    }
    committed
}
