//! Entries: what the sequencer took in one turn.

use tapeline_layout::message;
use thiserror::Error;

use crate::command::Command;

/// Bytes in front of an entry's commands.
pub const HEAD: usize = 40;

/// The longest entry; the sequencer leaves what is more to the next one.
pub const MAX_ENTRY: usize = 1 << 20;

/// What the checksum does not cover: the length and itself.
const NOT_SUMMED: usize = 8;

message! {
    /// What is in front of an entry's commands.
    EntryHead: 40, fill 0 {
        /// Of the whole entry, in bytes: a multiple of 8.
        0 => length: u32,
        /// CRC32C of all that is behind it.
        4 => checksum: u32,
        /// Who leads: rises with each election.
        8 => term: u32,
        /// How many commands follow.
        12 => count: u32,
        /// One more than that of the entry before.
        16 => index: u64,
        /// In nanoseconds since 1970 UTC; never less than that of the entry before.
        24 => time_ns: u64,
        /// The last entry that was committed when this one was made.
        32 => committed: u64,
    }
}

/// Why some bytes are no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EntryFault {
    /// Nothing is there: zeros.
    #[error("there is no entry")]
    Empty,
    /// There are fewer bytes than it says, or it says what cannot be.
    #[error("the entry is cut off, or its length is wrong")]
    Length,
    /// A byte is not what was written.
    #[error("the checksum is wrong")]
    Checksum,
    /// The sum is right and the commands are not: another version wrote it.
    #[error("the entry has commands that cannot be read")]
    Commands,
}

/// All commands of a turn of the sequencer.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'b> {
    head: EntryHead,
    bytes: &'b [u8],
}

impl<'b> Entry<'b> {
    /// The first entry of some bytes, and what is behind it.
    pub fn read(bytes: &'b [u8]) -> Result<(Self, &'b [u8]), EntryFault> {
        let head = bytes.get(..HEAD).and_then(EntryHead::read);
        let head = head.ok_or(EntryFault::Length)?;
        if head.length == 0 {
            return Err(EntryFault::Empty);
        }
        let length = head.length as usize;
        if !(HEAD..=MAX_ENTRY).contains(&length) || !length.is_multiple_of(8) {
            return Err(EntryFault::Length);
        }
        let (bytes, behind) = bytes.split_at_checked(length).ok_or(EntryFault::Length)?;
        if crc32c::crc32c(&bytes[NOT_SUMMED..]) != head.checksum {
            return Err(EntryFault::Checksum);
        }
        let entry = Self { head, bytes };
        match entry.is_whole() {
            true => Ok((entry, behind)),
            false => Err(EntryFault::Commands),
        }
    }

    /// The first of some entries that this process made and nobody had meanwhile:
    /// they are not summed up again. `None` if there is none.
    pub fn own(bytes: &'b [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD).and_then(EntryHead::read)?;
        let bytes = bytes.get(..head.length as usize).filter(|bytes| bytes.len() >= HEAD)?;
        debug_assert!(Self::read(bytes).is_ok(), "a process makes what it can read");
        Some(Self { head, bytes })
    }

    fn is_whole(&self) -> bool {
        let mut rest = &self.bytes[HEAD..];
        for _ in 0..self.head.count {
            let Some((_, behind)) = Command::read(rest) else { return false };
            rest = behind;
        }
        rest.is_empty()
    }

    /// What is in front of its commands.
    pub const fn head(&self) -> &EntryHead {
        &self.head
    }

    /// All its bytes.
    pub const fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// Its commands, in their order.
    pub fn commands(&self) -> impl Iterator<Item = Command<'b>> + use<'b> {
        let mut rest = &self.bytes[HEAD..];
        std::iter::from_fn(move || {
            let (command, behind) = Command::read(rest)?;
            rest = behind;
            Some(command)
        })
    }
}

/// Makes room for a head; commands are appended behind it.
pub(crate) fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.resize(start + HEAD, 0);
    start
}

/// Writes the head of the entry that began at `start` and ends where the bytes do.
pub(crate) fn end(out: &mut [u8], start: usize, head: EntryHead) {
    let length = (out.len() - start) as u32;
    let entry = &mut out[start..];
    entry[..HEAD].copy_from_slice(&EntryHead { length, ..head }.to_bytes());
    let checksum = crc32c::crc32c(&entry[NOT_SUMMED..]);
    entry[4..8].copy_from_slice(&checksum.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Kind, Source};

    fn entry(payloads: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let start = begin(&mut bytes);
        for (payload, number) in payloads.iter().zip(1..) {
            let (kind, source) = (Kind::NEW, Source(3));
            Command { kind, source, number, payload, user: 5, session: 7, sent_ns: 9 }
                .append(&mut bytes);
        }
        let count = payloads.len() as u32;
        let head = EntryHead { term: 2, count, index: 11, time_ns: 13, ..EntryHead::default() };
        end(&mut bytes, start, head);
        bytes
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let mut bytes = entry(&[b"", b"123456789", &[7; 128]]);
        assert_eq!(bytes.len(), 40 + 32 + 48 + 160);
        bytes.extend_from_slice(b"behind");
        let (read, behind) = Entry::read(&bytes).expect("an entry");
        assert_eq!(behind, b"behind");
        assert_eq!((read.head().term, read.head().index, read.head().time_ns), (2, 11, 13));
        let found: Vec<_> = read.commands().map(|it| (it.number, it.payload.len())).collect();
        assert_eq!(found, [(1, 0), (2, 9), (3, 128)]);
        let first = read.commands().next().expect("a command");
        assert_eq!((first.source, first.user, first.session, first.sent_ns), (Source(3), 5, 7, 9));
    }

    #[test]
    fn an_entry_with_any_byte_changed_or_missing_is_none() {
        let whole = entry(&[b"123", b"4567890123"]);
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert!(Entry::read(&bytes).is_err(), "byte {at}, bit {bit}");
            }
            assert!(Entry::read(&whole[..at]).is_err(), "{at} bytes");
        }
        assert_eq!(Entry::read(&[0; 64]).err(), Some(EntryFault::Empty));
    }
}
