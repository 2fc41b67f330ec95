//! The header in front of everything on the backbone.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;

use bitflags::bitflags;

/// The identity of one run of a hub or a server: random, never zero. A peer
/// that restarts is another peer, so an incarnation is also the epoch of
/// everything it said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u32);

impl Incarnation {
    /// As a target: every peer.
    pub const ALL: Self = Self(0);

    /// A new one: the standard library's per-process hash keys are the source
    /// of randomness, so two hosts that start at the same moment differ too.
    pub fn random() -> Self {
        loop {
            let number = RandomState::new().hash_one(std::process::id()) as u32;
            if number != 0 {
                return Self(number);
            }
        }
    }

    /// Another one, which looks as random: of a port that begins anew.
    pub(crate) const fn successor(self) -> Self {
        // A bijection, so that no identity has two predecessors: the finish of
        // MurmurHash3 behind a step.
        let mut number = self.0.wrapping_add(0x9e37_79b9);
        number = (number ^ (number >> 16)).wrapping_mul(0x85eb_ca6b);
        number = (number ^ (number >> 13)).wrapping_mul(0xc2b2_ae35);
        number ^= number >> 16;
        if number == 0 { Self(0).successor() } else { Self(number) }
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// Which side of the backbone a port is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Gets data from sources and publishes it.
    Hub,
    /// Gets data from hubs and fans it out to mounts.
    Server,
}

impl Role {
    /// The side that this one talks to.
    pub const fn other(self) -> Self {
        match self {
            Self::Hub => Self::Server,
            Self::Server => Self::Hub,
        }
    }

    pub(crate) const fn from_wire(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Hub),
            2 => Some(Self::Server),
            _ => None,
        }
    }

    pub(crate) const fn to_wire(self) -> u8 {
        match self {
            Self::Hub => 1,
            Self::Server => 2,
        }
    }
}

/// What a frame is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A peer is alive.
    Presence = 1,
    /// Hub to server: services, as an RWF directory message.
    Directory = 2,
    /// Hub to server: a request got a hub item id. As with `Refuse` and `Defer`,
    /// `item_seq` is that of the `Open` which is answered.
    Accept = 3,
    /// Hub to server: a message of an item.
    Item = 4,
    /// Hub to server: a request was refused.
    Refuse = 5,
    /// Hub to server: the answer to a post.
    Ack = 6,
    /// Hub to server: what it wants is to be listed (see [`repair`](crate::repair)).
    WantedRequest = 7,
    /// Hub to server: a page of what the hub holds for it.
    Held = 8,
    /// Hub to server: a request waits for the end of an image that is coming.
    Defer = 9,
    /// Hub to server: a message of an item behind its [`Stamps`](crate::Stamps).
    Stamped = 10,
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
    /// Server to hub: what the hub holds for it is to be listed.
    HeldRequest = 21,
    /// Server to hub: the whole directory is wanted.
    DirectoryRequest = 22,
    /// Server to hub: a page of what it wants.
    Wanted = 23,
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
            7 => Self::WantedRequest,
            8 => Self::Held,
            9 => Self::Defer,
            10 => Self::Stamped,
            16 => Self::Open,
            17 => Self::Close,
            18 => Self::Reissue,
            19 => Self::Post,
            20 => Self::Generic,
            21 => Self::HeldRequest,
            22 => Self::DirectoryRequest,
            23 => Self::Wanted,
            _ => return None,
        })
    }

    /// Who sends such frames; both sides send [`Kind::Presence`].
    pub const fn sender(self) -> Option<Role> {
        match self as u8 {
            1 => None,
            2..=15 => Some(Role::Hub),
            _ => Some(Role::Server),
        }
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
        /// Presence: the sender leaves.
        const BYE = 0x20;
        /// A piece of a frame: more of it follow. The port's own.
        const MORE = 0x40;
        /// A piece of a frame that continues the one before. The port's own.
        const CONTINUED = 0x80;
    }
}

/// The header of a frame.
///
/// ```text
///  0      1       2      3      4          8          12       16           20           24
///  | kind | flags | link | echo |  sender  |  target  |  item  |  item seq  | stream seq | body
///    u8     u8      u8     u8     u32        u32        u32      u32          u32          little endian
/// ```
///
/// `link` and `echo` are the port's own: in a frame with a target they say
/// which meeting of the two peers it belongs to (see the crate's front page),
/// in a frame to all they are 0.
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
    /// Item id, request reference, post reference or round, by kind.
    pub item: u32,
    /// Position in the item's stream of messages to all servers. In frames of
    /// servers: the serial of a request, which tells it from an earlier one with
    /// the same reference.
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
        self.encode_linked(Links::NONE)
    }

    /// Whether it is of a piece of a frame.
    pub(crate) const fn is_piece(&self) -> bool {
        self.flags.intersects(FrameFlags::MORE.union(FrameFlags::CONTINUED))
    }

    pub(crate) fn encode_linked(&self, links: Links) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.kind as u8;
        bytes[1] = self.flags.bits();
        bytes[2] = links.link;
        bytes[3] = links.echo;
        let words = [self.sender.0, self.target.0, self.item, self.item_seq, self.stream_seq];
        for (place, word) in bytes[4..].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The header of a frame and its body; `None` if it is too short or of an
    /// unknown kind.
    pub fn decode(frame: &[u8]) -> Option<(Self, &[u8])> {
        Self::decode_linked(frame).map(|(header, _, body)| (header, body))
    }

    pub(crate) fn decode_linked(frame: &[u8]) -> Option<(Self, Links, &[u8])> {
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
        Some((header, Links { link: head[2], echo: head[3] }, body))
    }
}

/// Which meeting of two peers a targeted frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// The sender's number of the meeting.
    pub(crate) link: u8,
    /// The target's number of it, as far as the sender knows.
    pub(crate) echo: u8,
}

impl Links {
    pub(crate) const NONE: Self = Self { link: 0, echo: 0 };
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
        /// Its name in the configuration.
        name: &'a str,
        /// How many, as far as it can be told; 0 if it cannot.
        lost: u32,
    },
    /// A frame for this port.
    Frame {
        /// Its header.
        header: FrameHeader,
        /// What follows it, valid during the call.
        body: &'a [u8],
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> FrameHeader {
        FrameHeader {
            kind: Kind::Item,
            flags: FrameFlags::IMAGE | FrameFlags::LAST,
            sender: Incarnation(0x0403_0201),
            target: Incarnation(0x0807_0605),
            item: 0x0c0b_0a09,
            item_seq: 0x100f_0e0d,
            stream_seq: 0x1413_1211,
        }
    }

    #[test]
    fn every_field_has_its_place() {
        let bytes = header().encode_linked(Links { link: 0xaa, echo: 0xbb });
        assert_eq!(bytes[..4], [4, 0x03, 0xaa, 0xbb]);
        assert_eq!(bytes[4..], (1..=20).collect::<Vec<u8>>());
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let mut frame = header().encode_linked(Links { link: 7, echo: 9 }).to_vec();
        frame.extend_from_slice(b"body");
        assert_eq!(FrameHeader::decode(&frame), Some((header(), &b"body"[..])));
        let (_, links, _) = FrameHeader::decode_linked(&frame).unwrap();
        assert_eq!(links, Links { link: 7, echo: 9 });
    }

    #[test]
    fn every_kind_survives_the_wire_and_no_other_number_is_a_kind() {
        let known = (0..=255).filter(|&number| Kind::from_wire(number).is_some());
        let known: Vec<u8> = known.collect();
        assert_eq!(known, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 19, 20, 21, 22, 23]);
        for number in known {
            let kind = Kind::from_wire(number).unwrap();
            assert_eq!(kind as u8, number);
            let side = (number > 1).then_some(if number < 16 { Role::Hub } else { Role::Server });
            assert_eq!(kind.sender(), side);
        }
    }

    #[test]
    fn a_short_frame_and_an_unknown_kind_are_nothing() {
        let frame = header().encode();
        for length in 0..FrameHeader::BYTES {
            assert_eq!(FrameHeader::decode(&frame[..length]), None);
        }
        let mut unknown = frame;
        unknown[0] = 99;
        assert_eq!(FrameHeader::decode(&unknown), None);
    }

    #[test]
    fn every_flag_is_kept() {
        for bits in 0..=u8::MAX {
            let mut frame = header().encode();
            frame[1] = bits;
            let (header, _) = FrameHeader::decode(&frame).unwrap();
            assert_eq!(header.encode()[1], bits);
            assert_eq!(header.is_piece(), bits >= 0x40);
        }
    }

    #[test]
    fn successors_differ_and_are_never_nobody() {
        // The one whose successor would be 0.
        let before_nobody = Incarnation(0_u32.wrapping_sub(0x9e37_79b9));
        assert_eq!(before_nobody.successor(), Incarnation(0).successor());
        let mut seen = std::collections::BTreeSet::from([Incarnation::ALL]);
        let mut one = Incarnation(1);
        for _ in 0..1_000 {
            assert!(seen.insert(one));
            one = one.successor();
        }
    }

    #[test]
    fn an_incarnation_is_never_nobody() {
        let drawn: std::collections::BTreeSet<_> = (0..64).map(|_| Incarnation::random()).collect();
        assert!(drawn.len() > 60 && !drawn.contains(&Incarnation::ALL));
    }
}
