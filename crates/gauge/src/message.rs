//! The head of a message of a chain, and messages cut out of a stream of bytes.
//!
//! ```text
//!   0        4              8        16        24        32
//!   ├ magic ─┼─ kind│length ─┼── seq ──┼─ due_ns ┼ sent_ns ┤ filler …
//!     u32      u32, 12│20 bits   u64       u64       u64        little endian
//! ```
//!
//! Messages of a stream at rising rates have no time at which they were due,
//! and a head of 24 bytes: `sent_ns` stands in its place.
//!
//! Times are of the host's monotonic clock. `length` counts the head; of a
//! message that has a sender's number in its place ([`Kind::Group`]) the
//! datagram itself tells its length.

use std::io;

/// Bytes of a head, and of the shortest message.
pub(crate) const HEAD_BYTES: usize = 32;

/// Bytes of the head of a message that has no time at which it was due.
pub(crate) const SHORT_HEAD_BYTES: usize = 24;

/// Bytes that tell the length.
const FRONT_BYTES: usize = 8;

/// The longest message, in bytes: what fits in 20 bits.
pub(crate) const MAX_BYTES: usize = (1 << 20) - 1;

/// `TLNW`: a message of one of the tools.
const MAGIC: u32 = 0x574E_4C54;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// What is measured.
    Data = 1,
    /// The answer to one.
    Answer = 2,
    /// A socket without connections tells where it is.
    Hello = 3,
    /// Of a stream of which samples are answered: one that is.
    Sample = 4,
    /// To a group. The 20 bits are the sender's number.
    Group = 5,
    /// Of a stream of which samples are answered: one that is not.
    Streamed = 6,
    /// The answer to a sample.
    SampleAnswer = 7,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Data,
        Self::Answer,
        Self::Hello,
        Self::Sample,
        Self::Group,
        Self::Streamed,
        Self::SampleAnswer,
    ];

    /// Bytes of its head.
    pub(crate) const fn head_bytes(self) -> usize {
        match self {
            Self::Sample | Self::Streamed | Self::SampleAnswer => SHORT_HEAD_BYTES,
            _ => HEAD_BYTES,
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// What the first eight bytes say: the kind, and the length or number.
#[inline]
fn front(message: &[u8]) -> Option<(Kind, u32)> {
    let front: &[u8; FRONT_BYTES] = message.first_chunk()?;
    let word = u32_at(front, 4);
    let kind = Kind::ALL.into_iter().find(|kind| *kind as u32 == word >> 20)?;
    let length = word & MAX_BYTES as u32;
    let fits = kind == Kind::Group || length as usize >= kind.head_bytes();
    (u32_at(front, 0) == MAGIC && fits).then_some((kind, length))
}

/// The first 32 bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    /// Bytes of the whole message, or the sender's number: below 2^20.
    pub(crate) length: u32,
    pub(crate) seq: u64,
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: u64,
}

impl Head {
    /// Writes itself to the front of a message of 32 bytes at least.
    #[inline]
    pub(crate) fn write(&self, message: &mut [u8]) {
        debug_assert!(self.length <= MAX_BYTES as u32, "20 bits hold it");
        message[..4].copy_from_slice(&MAGIC.to_le_bytes());
        message[4..8].copy_from_slice(&((self.kind as u32) << 20 | self.length).to_le_bytes());
        message[8..16].copy_from_slice(&self.seq.to_le_bytes());
        if self.kind.head_bytes() == SHORT_HEAD_BYTES {
            message[16..24].copy_from_slice(&self.sent_ns.to_le_bytes());
            return;
        }
        message[16..24].copy_from_slice(&self.due_ns.to_le_bytes());
        message[24..32].copy_from_slice(&self.sent_ns.to_le_bytes());
    }

    /// `None` of what no tool has written.
    #[inline]
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let (kind, length) = front(message)?;
        let head = message.get(..kind.head_bytes())?;
        let u64_at =
            |at: usize| u64::from(u32_at(head, at)) | u64::from(u32_at(head, at + 4)) << 32;
        let due_ns = u64_at(16);
        let sent_ns = if head.len() == SHORT_HEAD_BYTES { due_ns } else { u64_at(24) };
        Some(Self { kind, length, seq: u64_at(8), due_ns, sent_ns })
    }
}

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Bytes of a stream on their way to being messages.
pub(crate) struct Framing {
    bytes: Vec<u8>,
    /// What is not handed over yet.
    from: usize,
    to: usize,
}

impl Framing {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; READ_BYTES], from: 0, to: 0 }
    }

    /// Where the next bytes go: never empty.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.from > 0 {
            self.bytes.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        if self.to == self.bytes.len() {
            // A message that is longer than all of it.
            self.bytes.resize(self.bytes.len() + MAX_BYTES, 0);
        }
        &mut self.bytes[self.to..]
    }

    /// So many were put there: hands over what is complete.
    ///
    /// Errors: `InvalidData` of bytes that are no message. Nothing that comes
    /// behind them can be one.
    pub(crate) fn came(&mut self, bytes: usize, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.to += bytes;
        while self.to - self.from >= FRONT_BYTES {
            let waiting = &self.bytes[self.from..self.to];
            let front = front(waiting).filter(|(kind, _)| *kind != Kind::Group);
            let (_, length) = front.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
            let Some(message) = waiting.get(..length as usize) else { break };
            each(message);
            self.from += message.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seq: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0xAB; length];
        let head =
            Head { kind: Kind::Data, length: length as u32, seq, due_ns: 7, sent_ns: u64::MAX };
        head.write(&mut bytes);
        assert_eq!(Head::read(&bytes), Some(head));
        bytes
    }

    #[test]
    fn a_head_is_32_bytes_as_drawn() {
        let bytes = message(0x0102, 300);
        assert_eq!(bytes[..8], [b'T', b'L', b'N', b'W', 0x2C, 0x01, 0x10, 0x00]);
        assert_eq!((bytes[8], bytes[9], bytes[16], bytes[24]), (2, 1, 7, 255));
    }

    #[test]
    fn a_message_of_a_stream_has_24_bytes_at_least() {
        let head = Head { kind: Kind::Sample, length: 24, seq: 5, due_ns: 9, sent_ns: 9 };
        let mut bytes = [0; 24];
        head.write(&mut bytes);
        assert_eq!((Head::read(&bytes), Head::read(&bytes[..23])), (Some(head), None));
    }

    #[test]
    fn what_is_no_head_is_refused() {
        let good = message(1, 64);
        assert_eq!(Head::read(&good[..31]), None);
        for (at, wrong) in [(0, 0), (6, 0x00), (6, 0xF0), (4, 31)] {
            let mut bad = good.clone();
            bad[at] = wrong;
            if at == 4 {
                bad[5] = 0;
            }
            assert_eq!(Head::read(&bad), None, "byte {at}");
        }
        let group = Head { kind: Kind::Group, length: 5, seq: 1, due_ns: 1, sent_ns: 1 };
        let mut bytes = good;
        group.write(&mut bytes);
        assert_eq!(Head::read(&bytes), Some(group));
    }

    /// Feeds bytes in pieces of some length; the numbers of what came out.
    fn cut(bytes: &[u8], piece: usize) -> io::Result<Vec<(u64, usize)>> {
        let (mut framing, mut came) = (Framing::new(), Vec::new());
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = framing.room();
            let (now, later) = rest.split_at(piece.min(room.len()).min(rest.len()));
            room[..now.len()].copy_from_slice(now);
            framing.came(now.len(), &mut |message| {
                came.push((Head::read(message).unwrap().seq, message.len()));
            })?;
            rest = later;
        }
        Ok(came)
    }

    #[test]
    fn messages_come_out_of_any_pieces() {
        let lengths = [32, 33, 1024, 32, 600_000, MAX_BYTES, 64];
        let all: Vec<u8> =
            lengths.iter().enumerate().flat_map(|(n, length)| message(n as u64, *length)).collect();
        let expected: Vec<(u64, usize)> = (0..).zip(lengths).collect();
        for piece in [997, 65_536, 200_001] {
            assert_eq!(cut(&all, piece).unwrap(), expected, "{piece}");
        }
        assert_eq!(cut(&all[..96], 1).unwrap(), [(0, 32), (1, 33)]);
    }

    #[test]
    fn garbage_ends_a_stream() {
        let mut all = message(1, 40);
        all.extend([0; 40]);
        assert_eq!(cut(&all, 13).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
