//! A distribution in a process of its own, as decisions without I/O: the market's entries
//! come in, market data goes out, and who missed some is answered.
//!
//! | room | holds |
//! |---|---|
//! | [`Distributor`] | the market as its entries have it, the link to who leads, who publishes |
//! | `words` | what both say on the link |
//!
//! It does what entries ask for as a replica that follows does, and tells readers of
//! market data alone. What it and the market promise each other is said with the market's
//! side, in `core::distributors`.
//!
//! An entry costs what it costs a market, once more, and no allocation once buffers have
//! grown.

mod counts;
#[cfg(test)]
mod no_allocation;
#[cfg(test)]
mod twin;
mod uplink;
mod words;

pub use counts::DistributionCounts;
pub(crate) use words::{Greeting, Hello, Position, Sent, Welcome, Word, Words};

use std::time::Duration;

use tapeline_sequence::Identity;
use tapeline_time::Time;

use crate::core::{Door, Exchange, ExchangeConfig, Outputs, SessionId};
use crate::error::ExchangeError;
use crate::identity;
use uplink::Uplink;

/// What a distribution is made of.
#[derive(Clone, Debug)]
pub struct DistributorConfig {
    /// Its number, above 0.
    pub number: u16,
    /// Another one for each process.
    pub instance: u64,
    /// The digest of its market.
    identity: Identity,
    /// The market.
    exchange: ExchangeConfig,
    /// A link on which nothing comes for so long is broken.
    pub silence: Duration,
    /// Nanoseconds since 1970 UTC at [`Time::ZERO`].
    pub epoch_ns: u64,
}

impl DistributorConfig {
    /// A distribution of a market.
    pub fn of(market: &ExchangeConfig, number: u16, epoch_ns: u64) -> Self {
        Self {
            number,
            instance: epoch_ns,
            identity: identity::of(market),
            // It has links to nobody but its market.
            exchange: ExchangeConfig { gateways: None, distribution: None, ..market.clone() },
            silence: Duration::from_secs(1),
            epoch_ns,
        }
    }

    /// Connections of readers at once.
    pub const fn max_sessions(&self) -> usize {
        self.exchange.max_sessions
    }
}

/// What a distribution does: what a market does for readers, and what it says to its
/// market.
pub trait DistributorOutputs: Outputs {
    /// Bytes go to the market.
    fn say(&mut self, bytes: &[u8]);
}

/// A distribution in a process of its own.
///
/// A shell gives it the link, connections of readers, bytes and the time; the same calls
/// give the same outputs.
#[derive(Debug)]
pub struct Distributor {
    config: DistributorConfig,
    exchange: Exchange,
    /// The last entry that is done, and its checksum; `None` behind a state.
    last: Option<(u64, u32)>,
    /// The last message that is known to be out.
    sent: u32,
    /// It is the one that publishes.
    publishes: bool,
    uplink: Uplink,
    counts: DistributionCounts,
    trouble: Option<ExchangeError>,
    scratch: Vec<u8>,
}

impl Distributor {
    /// One that has nothing yet.
    pub fn new(config: DistributorConfig) -> Self {
        let mut exchange = Exchange::new(&config.exchange, config.epoch_ns);
        exchange.stand_aside();
        Self {
            config,
            exchange,
            last: None,
            sent: 0,
            publishes: false,
            uplink: Uplink::default(),
            counts: DistributionCounts::default(),
            trouble: None,
            scratch: Vec::with_capacity(128),
        }
    }

    /// A reader has come through a door. `None`: there are too many, or it is none of the
    /// doors that there are here.
    pub fn accepted(&mut self, now: Time, door: Door) -> Option<SessionId> {
        match door {
            Door::Replay | Door::Snapshot => self.exchange.accepted(now, door),
            _ => None,
        }
    }

    /// Bytes of a reader have come.
    pub fn received(
        &mut self,
        now: Time,
        session: SessionId,
        bytes: &[u8],
        out: &mut impl DistributorOutputs,
    ) {
        self.exchange.received(now, session, bytes, out);
    }

    /// A reader's connection has ended.
    pub fn closed(&mut self, now: Time, session: SessionId) {
        self.exchange.closed(now, session);
    }

    /// When [`timeout`](Self::timeout) is to be called at the latest.
    pub fn deadline(&self) -> Time {
        self.exchange.deadline()
    }

    /// Time has passed: answers go on, who is silent is let go.
    pub fn timeout(&mut self, now: Time, out: &mut impl DistributorOutputs) {
        self.exchange.timeout(now, out);
        // What it has may be long over.
        if self.uplink.is_lost(now, self.config.silence) {
            self.exchange.set_has_books(false);
        }
    }

    /// The end of a turn: what is said again goes on, and the market hears how far this one
    /// is. Market data of the turn has to be out before that.
    pub fn cycle(&mut self, now: Time, out: &mut impl DistributorOutputs) {
        if self.publishes {
            self.exchange.go_on_publishing(now, out);
            self.sent = self.sent.max(self.exchange.sent());
        }
        self.tell_position(now, out);
    }

    /// The market, as far as it is known.
    pub const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Whether it is the one that publishes.
    pub const fn publishes(&self) -> bool {
        self.publishes
    }

    /// Why it cannot go on, if it cannot.
    pub fn trouble(&mut self) -> Option<ExchangeError> {
        self.trouble.take()
    }

    /// What it has counted.
    pub fn counts(&self) -> DistributionCounts {
        let exchange = self.exchange.counts();
        let (_, applied, _) = self.exchange.position();
        DistributionCounts {
            linked: usize::from(self.uplink.is_up()),
            in_step: usize::from(self.uplink.is_in_step()),
            publishes: usize::from(self.publishes),
            applied,
            sent: u64::from(self.sent),
            messages_again: exchange.messages_again,
            connections: exchange.connections,
            turned_away: exchange.turned_away,
            replays: exchange.replays,
            replays_refused: exchange.replays_refused,
            snapshots: exchange.snapshots,
            orders: exchange.orders,
            ..self.counts
        }
    }

    /// What it has is of no use any more.
    fn begin_anew(&mut self, now: Time, out: &mut impl DistributorOutputs) {
        self.exchange.send_away(now, out);
        self.exchange = Exchange::new(&self.config.exchange, self.config.epoch_ns);
        self.exchange.stand_aside();
        (self.last, self.sent, self.publishes) = (None, 0, false);
        self.counts.begun_anew += 1;
    }
}
