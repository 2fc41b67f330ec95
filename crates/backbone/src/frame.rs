//! The header in front of everything on the backbone.

use bitflags::bitflags;

/// The identity of one run of a hub or a server: random, never zero. A peer
/// that restarts is another peer, so an incarnation is also the epoch of
/// everything it said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u32);

impl Incarnation {
    /// As a target: every peer.
    pub const ALL: Self = Self(0);
}

/// What a frame is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A peer is alive.
    Presence = 1,
    /// Hub to server: services, as an RWF directory message.
    Directory = 2,
    /// Hub to server: a request got a hub item id.
    Accept = 3,
    /// Hub to server: a message of an item.
    Item = 4,
    /// Hub to server: a request was refused.
    Refuse = 5,
    /// Hub to server: the answer to a post.
    Ack = 6,
    /// Server to hub: interest in an item.
    Open = 16,
    /// Server to hub: no more interest.
    Close = 17,
    /// Server to hub: a change of an open item.
    Reissue = 18,
    /// Server to hub: a post.
    Post = 19,
    /// Server to hub: a generic message.
    Generic = 20,
    /// Server to hub: which items may have been hit by a hole.
    Resync = 21,
    /// Server to hub: the whole directory is wanted.
    DirectoryRequest = 22,
}

impl Kind {
    /// The kind with this number on the wire.
    pub const fn from_wire(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Presence,
            2 => Self::Directory,
            3 => Self::Accept,
            4 => Self::Item,
            5 => Self::Refuse,
            6 => Self::Ack,
            16 => Self::Open,
            17 => Self::Close,
            18 => Self::Reissue,
            19 => Self::Post,
            20 => Self::Generic,
            21 => Self::Resync,
            22 => Self::DirectoryRequest,
            _ => return None,
        })
    }
}

bitflags! {
    /// Properties of a frame.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct FrameFlags: u8 {
        /// An image or a part of one.
        const IMAGE = 0x01;
        /// The item is over for every server.
        const LAST = 0x02;
        /// Of a request for a snapshot.
        const SNAPSHOT = 0x04;
        /// Of a private stream.
        const PRIVATE = 0x08;
        /// A post on the login stream.
        const OFF_STREAM = 0x10;
    }
}

/// The header of a frame.
///
/// ```text
///  0      1       2          4          8          12       16           20           24
///  | kind | flags | reserved |  sender  |  target  |  item  |  item seq  | stream seq | body
///    u8     u8      u16        u32        u32        u32      u32          u32          little endian
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// What the frame is about.
    pub kind: Kind,
    /// Properties.
    pub flags: FrameFlags,
    /// Who sent it. The port writes it.
    pub sender: Incarnation,
    /// For whom it is.
    pub target: Incarnation,
    /// Item id, request reference or post reference, by kind.
    pub item: u32,
    /// Position in the item's stream of messages to all servers.
    pub item_seq: u32,
    /// Position in the sender's stream of frames. The port writes it.
    pub stream_seq: u32,
}

impl FrameHeader {
    /// Its length, in bytes.
    pub const BYTES: usize = 24;

    /// A frame to `target`; the port adds who sends it and its place.
    pub const fn new(kind: Kind, target: Incarnation, item: u32) -> Self {
        Self {
            kind,
            flags: FrameFlags::empty(),
            sender: Incarnation(0),
            target,
            item,
            item_seq: 0,
            stream_seq: 0,
        }
    }

    /// The bytes on the wire.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.kind as u8;
        bytes[1] = self.flags.bits();
        let words = [self.sender.0, self.target.0, self.item, self.item_seq, self.stream_seq];
        for (place, word) in bytes[4..].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The header of a frame and its body; `None` if it is too short or of an
    /// unknown kind.
    pub fn decode(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (head, body) = frame.split_first_chunk::<{ Self::BYTES }>()?;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let header = Self {
            kind: Kind::from_wire(head[0])?,
            flags: FrameFlags::from_bits_retain(head[1]),
            sender: Incarnation(word(4)),
            target: Incarnation(word(8)),
            item: word(12),
            item_seq: word(16),
            stream_seq: word(20),
        };
        Some((header, body))
    }
}

/// Something that a port found on the backbone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusEvent<'a> {
    /// A peer of the other role is there.
    PeerUp {
        /// Which run of it.
        peer: Incarnation,
        /// Its name in the configuration.
        name: &'a str,
    },
    /// A peer is gone: it said so, or was silent for too long.
    PeerDown {
        /// Which one.
        peer: Incarnation,
    },
    /// Frames of a peer were lost for good.
    Gap {
        /// Whose.
        peer: Incarnation,
    },
    /// A frame for this port.
    Frame {
        /// Its header.
        header: FrameHeader,
        /// What follows it, valid during the call.
        body: &'a [u8],
    },
}
