//! Messages that go to many connections, each time with another stream id.
//!
//! [`Connection::pack`](crate::Connection::pack) copies one message to one
//! connection. Where many messages go to many connections it is cheaper to stay at
//! one connection for as long as there is something for it, since what has to be
//! looked at of a connection is then looked at once. [`Originals`] has the messages
//! meanwhile, as they lie in a packed frame; a [`CopyOf`] is eight bytes that say
//! what a connection gets of them; and
//! [`Connection::pack_copies`](crate::Connection::pack_copies) writes the copies one
//! behind the other.
//!
//! ```
//! use tapeline_rssl::{CopyOf, Originals};
//! let mut originals = Originals::default();
//! let update = originals.push(b"\x01\x04\0\0\0\0\0\0...").unwrap();
//! let copies = [CopyOf::new(update, 5), CopyOf::new(update, 9)];
//! # let _ = copies;
//! // connection.pack_copies(Priority::High, &originals, &copies);
//! ```
//!
//! Short messages are copied in blocks of a size that the compiler knows, whatever
//! their length: what is written behind the end of one is where the next one goes.

/// Where the stream id is in a message of RWF.
const STREAM_ID_AT: usize = 4;

/// Bytes of the length before a message.
const LENGTH_BYTES: usize = 2;

/// Where it is behind that length.
const STREAM_ID: core::ops::Range<usize> =
    LENGTH_BYTES + STREAM_ID_AT..LENGTH_BYTES + STREAM_ID_AT + 4;

/// No message is copied in blocks longer than this.
const LONGEST_BLOCK: usize = 128;

/// Messages begin at multiples of this, so that short ones are in few cache lines.
const ALIGNMENT: usize = 32;

/// In front of a message and its length, in the order of this machine: what a copy
/// takes.
const STEP_BYTES: usize = 2;

/// So many bytes of messages there may be: where one begins is a number of 16 bits.
const ROOM_BYTES: usize = 1 << 16;

/// Behind them a block may be read that is longer than the last of them.
type Room = [u8; ROOM_BYTES + STEP_BYTES + LONGEST_BLOCK];

/// Messages that are to be copied.
///
/// ```text
///   | ... | step | length | message | ... | step | length | message | ...
///         30     32                       126    128
/// ```
#[derive(Debug)]
pub struct Originals {
    /// None before there is any message.
    room: Option<Box<Room>>,
    end: usize,
    longest: usize,
    count: usize,
}

impl Default for Originals {
    fn default() -> Self {
        Self { room: None, end: FIRST, longest: 0, count: 0 }
    }
}

/// Where the first message is.
const FIRST: usize = ALIGNMENT - STEP_BYTES;

/// One message of [`Originals`], until these are cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original {
    at: u16,
    bytes: u16,
}

impl Original {
    /// What a copy takes of a packed frame.
    #[inline]
    pub const fn packed_bytes(self) -> usize {
        self.bytes as usize
    }
}

/// A copy of a message, with the stream id that it gets.
///
/// ```text
///   | where the original is: 16 | 0: 16 | stream id: 32 |
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyOf(u64);

impl CopyOf {
    /// A copy of this message.
    #[inline]
    pub const fn new(original: Original, stream_id: i32) -> Self {
        Self((original.at as u64) << 48 | stream_id as u32 as u64)
    }

    /// From its bits.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its bits.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    const fn at(self) -> usize {
        (self.0 >> 48) as usize
    }

    /// The stream id.
    #[inline]
    pub const fn stream_id(self) -> i32 {
        self.0 as i32
    }
}

impl Originals {
    /// Takes a message; `None` if there is no room for it, or it is too short to have
    /// a stream id.
    pub fn push(&mut self, message: &[u8]) -> Option<Original> {
        let at = self.end;
        let bytes = LENGTH_BYTES + message.len();
        let original = Original { at: u16::try_from(at).ok()?, bytes: bytes.try_into().ok()? };
        let start = at + STEP_BYTES;
        let end = start + bytes;
        if bytes < STREAM_ID.end || end > ROOM_BYTES {
            return None;
        }
        if self.room.is_none() {
            self.room = vec![0; size_of::<Room>()].into_boxed_slice().try_into().ok();
        }
        let room = self.room.as_deref_mut()?;
        room[at..start].copy_from_slice(&original.bytes.to_ne_bytes());
        let (prefix, body) = room[start..end].split_at_mut(LENGTH_BYTES);
        prefix.copy_from_slice(&(message.len() as u16).to_be_bytes());
        body.copy_from_slice(message);
        self.end = (end + STEP_BYTES).next_multiple_of(ALIGNMENT) - STEP_BYTES;
        self.longest = self.longest.max(bytes);
        self.count += 1;
        Some(original)
    }

    /// Forgets all messages.
    pub const fn clear(&mut self) {
        (self.end, self.longest, self.count) = (FIRST, 0, 0);
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of them all, with what is between them.
    pub const fn bytes(&self) -> usize {
        self.end - FIRST
    }

    /// A message, without its length.
    pub fn message(&self, copy: CopyOf) -> &[u8] {
        let packed = self.room.as_deref().and_then(|room| packed(room, copy));
        packed.and_then(|packed| packed.get(LENGTH_BYTES..)).unwrap_or_default()
    }

    /// Writes copies one behind the other, as many as there is place for; how many
    /// bytes, and how many copies, that is.
    pub(crate) fn copy_to(&self, copies: &[CopyOf], place: &mut [u8]) -> (usize, usize) {
        let Some(room) = self.room.as_deref() else { return (0, 0) };
        match self.longest {
            ..=64 => copy_blocks::<64>(room, copies, place),
            65..=96 => copy_blocks::<96>(room, copies, place),
            97..=LONGEST_BLOCK => copy_blocks::<LONGEST_BLOCK>(room, copies, place),
            _ => copy_exactly(room, copies, place, (0, 0)),
        }
    }
}

/// A message with its length in front.
fn packed(room: &Room, copy: CopyOf) -> Option<&[u8]> {
    let start = copy.at() + STEP_BYTES;
    let step = u16::from_ne_bytes([room[copy.at()], room[copy.at() + 1]]);
    room.get(start..start + usize::from(step))
}

/// Copies messages of which none is longer than `N` bytes.
fn copy_blocks<const N: usize>(room: &Room, copies: &[CopyOf], place: &mut [u8]) -> (usize, usize) {
    // In 32 bits, so that there is nothing to be said of an overflow.
    let mut end = 0_u32;
    let mut left = copies.iter();
    while let Some(copy) = left.next() {
        let at = copy.at();
        let start = end as usize;
        let Some(to) = place.get_mut(start..start + N) else {
            return copy_exactly(room, copies, place, (start, copies.len() - left.len() - 1));
        };
        to.copy_from_slice(&room[at + STEP_BYTES..at + STEP_BYTES + N]);
        to[STREAM_ID].copy_from_slice(&copy.stream_id().to_be_bytes());
        end += u32::from(u16::from_ne_bytes([room[at], room[at + 1]]));
    }
    (end as usize, copies.len())
}

/// Copies messages byte by byte when so many bytes, and so many copies, are there.
#[inline(never)]
fn copy_exactly(
    room: &Room,
    copies: &[CopyOf],
    place: &mut [u8],
    (mut end, mut count): (usize, usize),
) -> (usize, usize) {
    for copy in copies.iter().skip(count) {
        let Some(from) = packed(room, *copy) else { break };
        let Some(to) = place.get_mut(end..end + from.len()) else { break };
        to.copy_from_slice(from);
        to[STREAM_ID].copy_from_slice(&copy.stream_id().to_be_bytes());
        (end, count) = (end + from.len(), count + 1);
    }
    (end, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(messages: &[Vec<u8>], copies: &[(usize, i32)]) -> Vec<Vec<u8>> {
        let copy = |(index, stream_id): &(usize, i32)| {
            let mut bytes = (messages[*index].len() as u16).to_be_bytes().to_vec();
            bytes.extend_from_slice(&messages[*index]);
            bytes[STREAM_ID].copy_from_slice(&stream_id.to_be_bytes());
            bytes
        };
        copies.iter().map(copy).collect()
    }

    fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let lengths = prop_oneof![8..63_usize, 60..98_usize, 90..140_usize, 8..2_000_usize];
        lengths.prop_flat_map(|longest| {
            let message = prop::collection::vec(any::<u8>(), 8..=longest.max(8));
            prop::collection::vec(message, 1..8)
        })
    }

    proptest! {
        #[test]
        fn copies_are_what_they_are_of_but_for_the_stream_id(
            messages in messages(),
            copies in prop::collection::vec((any::<prop::sample::Index>(), any::<i32>()), 0..20),
            room_bytes in 0..4_000_usize,
        ) {
            let mut originals = Originals::default();
            // What was there before must not be seen.
            for message in &messages {
                originals.push(&[&message[..], &[7; 50]].concat());
            }
            originals.clear();
            let known: Vec<_> = messages.iter().map(|it| originals.push(it).unwrap()).collect();
            prop_assert_eq!(originals.len(), messages.len());
            let copies: Vec<_> =
                copies.iter().map(|(index, id)| (index.index(messages.len()), *id)).collect();
            let wanted: Vec<_> = copies.iter().map(|(at, id)| CopyOf::new(known[*at], *id)).collect();
            for (copy, (at, _)) in wanted.iter().zip(&copies) {
                prop_assert_eq!(originals.message(*copy), &messages[*at][..]);
            }
            let expected = expected(&messages, &copies);
            let mut fitting = 0;
            let mut bytes = 0;
            for copy in &expected {
                if bytes + copy.len() > room_bytes {
                    break;
                }
                (fitting, bytes) = (fitting + 1, bytes + copy.len());
            }
            let mut room = vec![0xAA; room_bytes];
            prop_assert_eq!(originals.copy_to(&wanted, &mut room), (bytes, fitting));
            prop_assert_eq!(&room[..bytes], &expected[..fitting].concat()[..]);
        }
    }

    #[test]
    fn what_cannot_be_packed_is_not_taken() {
        let mut originals = Originals::default();
        assert_eq!(originals.push(&[0; 7]), None, "there is no stream id in it");
        assert_eq!(originals.push(&vec![0; ROOM_BYTES]), None);
        assert!(originals.is_empty());
        assert_eq!(originals.push(&[0; 8]).map(Original::packed_bytes), Some(10));
        let message = vec![1; 20_000];
        let known: Vec<_> = (0..4).map(|_| originals.push(&message).is_some()).collect();
        assert_eq!(known, [true, true, true, false], "there is no room for four");
        originals.clear();
        assert!(originals.push(&message).is_some() && originals.len() == 1);
    }

    #[test]
    fn a_copy_is_eight_bytes() {
        assert_eq!(size_of::<CopyOf>(), 8);
    }
}
