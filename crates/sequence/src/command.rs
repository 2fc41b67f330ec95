//! One command, as it is in an entry.

use tapeline_layout::message;

/// Bytes in front of a command's own.
pub(crate) const HEAD: usize = 32;

/// A command's own bytes are at most so many.
pub const MAX_PAYLOAD: usize = 128;

/// Where a command comes from: a gateway's stream. The sequencer's own is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(pub u16);

impl Source {
    /// The sequencer itself: its clock, its draws.
    pub const OWN: Self = Self(0);
}

/// What a command is; the payload is read by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind(pub u8);

impl Kind {
    /// An order comes.
    pub const NEW: Self = Self(1);
    /// An order changes.
    pub const REPLACE: Self = Self(2);
    /// An order goes.
    pub const CANCEL: Self = Self(3);
    /// Many orders go.
    pub const MASS_CANCEL: Self = Self(4);
    /// A quote comes, or changes.
    pub const QUOTE: Self = Self(5);
    /// The session of a user has ended.
    pub const DISCONNECT: Self = Self(6);
    /// A session of the day begins; the next one is drawn.
    pub const SESSION: Self = Self(7);
    /// Time has passed.
    pub const TICK: Self = Self(8);
    /// The market opens, with its instruments.
    pub const OPEN: Self = Self(10);
    /// A user is known from now on.
    pub const USER: Self = Self(11);
    /// What all events up to an entry come to.
    pub const CHECK: Self = Self(12);
    /// Another replica leads: whoever was connected to the one before is not any more.
    pub const LEAD: Self = Self(13);
    /// The session of a user has numbers of its own: where it begins, or how far it is.
    pub const NUMBERS: Self = Self(14);
    /// Who settles one side of a trade wants it cancelled.
    pub const CANCEL_TRADE: Self = Self(15);
    /// Who answers for others is gone for too long, or back.
    pub const SPONSOR: Self = Self(16);
    /// Operators want something done: a halt, its end, orders or a trade cancelled.
    pub const OPERATE: Self = Self(17);
    /// The session of a user is at a gateway in a process of its own.
    pub const GATEWAY: Self = Self(18);
}

/// One command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command<'p> {
    /// What it is.
    pub kind: Kind,
    /// Whose stream it was in.
    pub source: Source,
    /// Who asks, by a number that the gateways agree on.
    pub user: u16,
    /// The connection it came by, by the gateway's number.
    pub session: u32,
    /// Its number in its stream: one that is not above the last is a double.
    pub number: u64,
    /// When the gateway sent it, in nanoseconds of a clock of the gateway's.
    pub sent_ns: u64,
    /// What it says.
    pub payload: &'p [u8],
}

message! {
    /// What is in front of a command's payload.
    CommandHead: 32, fill 0 {
        /// What it is.
        0 => kind: u8,
        /// How long its payload is.
        1 => payload_len: u8,
        /// Whose stream.
        2 => source: u16,
        /// Who asks.
        4 => user: u16,
        /// By which connection.
        8 => session: u32,
        /// In its stream.
        16 => number: u64,
        /// When it was sent.
        24 => sent_ns: u64,
    }
}

/// A command with a payload of so many bytes takes so many in an entry.
pub(crate) const fn len_with(payload: usize) -> usize {
    (HEAD + payload).next_multiple_of(8)
}

impl<'p> Command<'p> {
    /// How many bytes it takes in an entry.
    pub(crate) const fn len(&self) -> usize {
        len_with(self.payload.len())
    }

    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        let head = CommandHead {
            kind: self.kind.0,
            payload_len: self.payload.len() as u8,
            source: self.source.0,
            user: self.user,
            session: self.session,
            number: self.number,
            sent_ns: self.sent_ns,
        };
        let end = out.len() + self.len();
        out.extend_from_slice(&head.to_bytes());
        out.extend_from_slice(self.payload);
        out.resize(end, 0);
    }

    /// The first command of some bytes, and what is behind it. `None` if it is not
    /// whole.
    pub(crate) fn read(bytes: &'p [u8]) -> Option<(Self, &'p [u8])> {
        let head = CommandHead::read(bytes.get(..HEAD)?)?;
        let payload_len = usize::from(head.payload_len);
        let (own, behind) = bytes.split_at_checked(len_with(payload_len))?;
        let command = Self {
            kind: Kind(head.kind),
            source: Source(head.source),
            user: head.user,
            session: head.session,
            number: head.number,
            sent_ns: head.sent_ns,
            payload: &own[HEAD..HEAD + payload_len],
        };
        Some((command, behind))
    }
}
