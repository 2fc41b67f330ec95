//! The head of a segment.

use tapeline_layout::{Text, message};

/// Bytes in front of the first entry of a segment.
pub const SEGMENT_HEAD: usize = 64;

const MAGIC: &str = "TAPEJRNL";

/// Another layout of segments, entries or commands is another version.
const VERSION: u32 = 1;

/// Whose journal it is: a digest of all that decides what entries lead to, so that
/// nobody replays them into another market.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity(pub [u8; 32]);

message! {
    /// What a segment begins with.
    SegmentHead: 64, fill 0 {
        /// That it is one.
        0 => magic: Text<8>,
        /// Of the layout.
        8 => version: u32,
        /// CRC32C of all behind it.
        12 => checksum: u32,
        /// The index of its first entry.
        16 => first: u64,
        /// The market's identity, in four parts.
        24 => identity_0: u64,
        32 => identity_1: u64,
        40 => identity_2: u64,
        48 => identity_3: u64,
    }
}

/// What the head of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// It is a segment of this market.
    Ours,
    /// Of another.
    Other,
    /// It was made and never written to, or not all of it.
    Unborn,
    /// It is no segment.
    None,
}

impl Identity {
    /// What a segment of this market begins with.
    pub(super) fn segment_head(self, first: u64) -> [u8; SEGMENT_HEAD] {
        let part = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&self.0[at * 8..][..8]);
            u64::from_le_bytes(bytes)
        };
        let head = SegmentHead {
            magic: Text::new(MAGIC),
            version: VERSION,
            checksum: 0,
            first,
            identity_0: part(0),
            identity_1: part(1),
            identity_2: part(2),
            identity_3: part(3),
        };
        let mut bytes = head.to_bytes();
        let checksum = crc32c::crc32c(&bytes[16..]);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// What the head of a segment says that should begin with this index.
    pub(super) fn reads(self, first: u64, segment: &[u8]) -> Head {
        let Some(found) = segment.get(..SEGMENT_HEAD) else { return Head::Unborn };
        if found == self.segment_head(first) {
            return Head::Ours;
        }
        if segment.iter().all(|byte| *byte == 0) {
            return Head::Unborn;
        }
        let Some(head) = SegmentHead::read(found) else { return Head::None };
        let is_one = head.magic == Text::new(MAGIC)
            && head.version == VERSION
            && head.checksum == crc32c::crc32c(&found[16..])
            && head.first == first;
        if is_one { Head::Other } else { Head::None }
    }
}
