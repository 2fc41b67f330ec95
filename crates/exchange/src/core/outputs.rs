//! What a market does, where it is asked, and how far it is.

use tapeline_sequence::EventHash;

/// A connection, by its place among those that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u32);

/// What a connection has come for: each has a port of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Door {
    /// Orders, by the native gateway.
    Orders,
    /// Reports that a client missed.
    Recovery,
    /// Messages of market data again.
    Replay,
    /// All orders that are shown.
    Snapshot,
    /// Orders, and copies of reports, by FIX.
    Fix,
    /// Confirmations of trades, by FIX.
    PostTrade,
    /// Gateways in processes of their own.
    Gateways,
    /// Distributions in processes of their own.
    Distribution,
}

impl Door {
    /// All there are.
    pub const ALL: [Self; 8] = [
        Self::Orders,
        Self::Recovery,
        Self::Replay,
        Self::Snapshot,
        Self::Fix,
        Self::PostTrade,
        Self::Gateways,
        Self::Distribution,
    ];

    /// Its name in the log and in the ready file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Recovery => "recovery",
            Self::Replay => "replay",
            Self::Snapshot => "snapshot",
            Self::Fix => "fix",
            Self::PostTrade => "post-trade",
            Self::Gateways => "gateways",
            Self::Distribution => "distribution",
        }
    }

    /// What the exchange calls itself in FIX there.
    pub(crate) const fn comp_id(self) -> &'static [u8] {
        match self {
            Self::PostTrade => b"PTGW",
            _ => b"FGW",
        }
    }
}

/// How far an order is on its way through the market, for whoever measures: a core has
/// no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A client's bytes are there.
    Read,
    /// The gateway has looked at them; what they ask for waits for its turn.
    Asked,
    /// It is in an entry.
    Sequenced,
    /// The entry is kept, and is being done.
    Kept,
    /// The engine has done a command.
    Matched,
    /// Owners of orders were told.
    Told,
    /// Market data is out.
    Published,
}

impl Stage {
    /// All, in their order.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Asked,
        Self::Sequenced,
        Self::Kept,
        Self::Matched,
        Self::Told,
        Self::Published,
    ];
}

/// What an exchange does.
pub trait Outputs {
    /// Bytes go to a connection.
    fn send(&mut self, session: SessionId, bytes: &[u8]);

    /// A connection is closed when what was sent is out; it is not heard of again.
    fn close(&mut self, session: SessionId);

    /// A unit of market data goes out, on all lines.
    fn publish(&mut self, unit: &[u8]);

    /// How many bytes of a connection have not gone out yet.
    fn queued(&self, session: SessionId) -> usize;

    /// An entry is to be kept before anybody hears what it leads to. What keeps
    /// nothing has it at once.
    fn keep(&mut self, _index: u64, _entry: &[u8]) -> Keeping {
        Keeping::Done
    }

    /// What all events up to an entry come to.
    fn checked(&mut self, _index: u64, _hash: EventHash) {}

    /// What goes to this connection goes by the link of a gateway, to a client of it.
    fn route(&mut self, _session: SessionId, _link: SessionId, _client: u32) {}

    /// What was kept before, for a distribution that begins late; `None`: nothing was.
    fn past(&mut self) -> Option<&mut dyn Past> {
        None
    }

    /// Something has come so far. Who measures nothing pays nothing.
    #[inline]
    fn reached(&mut self, _stage: Stage) {}
}

/// What was kept: entries, and the states that some of them led to.
pub trait Past {
    /// The first entry that is there; `None`: there is none.
    fn oldest(&mut self) -> Option<u64>;

    /// Appends entries from one on, whole ones, not many more bytes than `most_bytes`, and
    /// none if they are not there yet. They need not be committed. Each reader goes on
    /// where it was.
    fn entries(&mut self, reader: SessionId, from: u64, most_bytes: usize, out: &mut Vec<u8>);

    /// The newest state before this entry.
    fn newest_state(&mut self, before: u64) -> Option<u64>;

    /// Appends a slice of a state. Returns whether that was the last one; `None` if it
    /// cannot be read.
    fn state(
        &mut self,
        index: u64,
        offset: u64,
        most_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<bool>;
}

/// Whether an entry is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// It is.
    Done,
    /// [`Exchange::committed`](super::Exchange::committed) will be called when it is.
    UnderWay,
}
