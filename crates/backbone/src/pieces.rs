//! Frames that are longer than the network carries at once.
//!
//! A port cuts such a frame into *pieces*, each a frame with the same header
//! and the next number in the sender's stream, and the port that receives puts
//! them together:
//!
//! ```text
//!  first    MORE              | length of the body u32 | beginning of the body |
//!  ...      MORE | CONTINUED  | more of it                                     |
//!  last            CONTINUED  | the end of it                                  |
//! ```
//!
//! Nothing else of a sender comes between them, so one that is missing is seen
//! by the number of the next: the frame is given up, and the hole is told as
//! any other.

use std::ops::Range;

use crate::frame::{FrameFlags, FrameHeader, Incarnation};

/// The longest body of a frame, in bytes: a message of 64 MiB with what hubs
/// and servers add to its header.
pub const MAX_BODY_BYTES: usize = (64 << 20) + (64 << 10);

/// The longest frame that goes whole, in bytes, where the network carries as
/// much. Short enough for peers to see a sign of life between two pieces on a
/// slow network.
pub(crate) const WHOLE_BYTES: usize = 256 << 10;

/// What the pieces of all peers may take while their frames are not complete,
/// in bytes.
pub(crate) const MAX_PARTIAL_BYTES: usize = 4 * MAX_BODY_BYTES;

const LENGTH_BYTES: usize = size_of::<u32>();

/// One piece of a body: which part of it, how the piece is flagged, and the
/// length of the whole in front of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) range: Range<usize>,
    pub(crate) flags: FrameFlags,
    pub(crate) length: Option<[u8; LENGTH_BYTES]>,
}

/// Cuts a body for frames of at most `frame_bytes`, header included.
pub(crate) fn cut(body_bytes: usize, frame_bytes: usize) -> impl Iterator<Item = Piece> {
    debug_assert!(body_bytes <= MAX_BODY_BYTES, "the port refuses longer ones");
    let room = frame_bytes.saturating_sub(FrameHeader::BYTES + LENGTH_BYTES).max(1);
    (0..body_bytes).step_by(room).map(move |start| {
        let end = (start + room).min(body_bytes);
        let mut flags = FrameFlags::empty();
        flags.set(FrameFlags::MORE, end < body_bytes);
        flags.set(FrameFlags::CONTINUED, start > 0);
        let length = (start == 0).then(|| (body_bytes as u32).to_le_bytes());
        Piece { range: start..end, flags, length }
    })
}

/// The slices that make up `range` of the concatenation of `parts`.
pub(crate) fn slices<'a>(parts: &[&'a [u8]], range: &Range<usize>, out: &mut Vec<&'a [u8]>) {
    let mut start = 0;
    for part in parts {
        let (from, to) = (range.start.max(start), range.end.min(start + part.len()));
        if from < to {
            out.push(&part[from - start..to - start]);
        }
        start += part.len();
    }
}

/// Frames of peers that came in part.
#[derive(Debug)]
pub(crate) struct Partials {
    table: Vec<Partial>,
    max_bytes: usize,
}

#[derive(Debug)]
struct Partial {
    peer: Incarnation,
    /// The number of the piece that comes next.
    next_seq: u32,
    total: usize,
    bytes: Vec<u8>,
}

/// What a piece came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// More pieces are to come.
    Waits,
    /// This is the body.
    Whole(Vec<u8>),
    /// It continues a frame that was given up, or of which nothing was read.
    Late,
    /// It does not fit what came before, or is longer than anything may be.
    Malformed,
    /// The frame is given up: there is no room for it.
    Crowded,
}

impl Partials {
    pub(crate) const fn new(max_bytes: usize) -> Self {
        Self { table: Vec::new(), max_bytes }
    }

    /// Bytes that wait for the rest of their frames.
    pub(crate) fn bytes(&self) -> usize {
        self.table.iter().map(|partial| partial.bytes.capacity()).sum()
    }

    /// Gives up what came in part from a peer. Whether there was something.
    pub(crate) fn forget(&mut self, peer: Incarnation) -> bool {
        self.take(peer).is_some()
    }

    /// Adds a piece that is to be read.
    pub(crate) fn join(&mut self, header: &FrameHeader, body: &[u8]) -> Joined {
        if !header.flags.contains(FrameFlags::CONTINUED) {
            return self.begin(header, body);
        }
        let Some(mut partial) = self.take(header.sender) else { return Joined::Late };
        if partial.next_seq != header.stream_seq {
            return Joined::Late;
        }
        if !self.has_room(partial.grown(body.len())) {
            return Joined::Crowded;
        }
        partial.add(body);
        self.after(header, partial)
    }

    fn begin(&mut self, header: &FrameHeader, body: &[u8]) -> Joined {
        self.forget(header.sender);
        let Some((length, body)) = body.split_first_chunk::<LENGTH_BYTES>() else {
            return Joined::Malformed;
        };
        let total = u32::from_le_bytes(*length) as usize;
        if total > MAX_BODY_BYTES {
            return Joined::Malformed;
        }
        let mut partial =
            Partial { peer: header.sender, next_seq: header.stream_seq, total, bytes: Vec::new() };
        if !self.has_room(partial.grown(body.len())) {
            return Joined::Crowded;
        }
        partial.add(body);
        self.after(header, partial)
    }

    fn after(&mut self, header: &FrameHeader, partial: Partial) -> Joined {
        let has_more = header.flags.contains(FrameFlags::MORE);
        match partial.bytes.len().cmp(&partial.total) {
            std::cmp::Ordering::Equal if !has_more => Joined::Whole(partial.bytes),
            std::cmp::Ordering::Less if has_more => {
                self.table.push(partial);
                Joined::Waits
            }
            _ => Joined::Malformed,
        }
    }

    /// Whether a partial frame that is not in the table may take `bytes`.
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes() + bytes <= self.max_bytes
    }

    fn take(&mut self, peer: Incarnation) -> Option<Partial> {
        let at = self.table.iter().position(|partial| partial.peer == peer)?;
        Some(self.table.swap_remove(at))
    }
}

impl Partial {
    /// The memory it takes with `more` bytes. It grows with what came, never
    /// by what was announced.
    fn grown(&self, more: usize) -> usize {
        let needed = self.bytes.len() + more;
        match needed <= self.bytes.capacity() {
            true => self.bytes.capacity(),
            false => (2 * self.bytes.capacity()).clamp(needed, self.total.max(needed)),
        }
    }

    fn add(&mut self, body: &[u8]) {
        self.bytes.reserve_exact(self.grown(body.len()) - self.bytes.len());
        self.bytes.extend_from_slice(body);
        self.next_seq = self.next_seq.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests;
