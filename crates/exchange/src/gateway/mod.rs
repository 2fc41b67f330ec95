//! A gateway in a process of its own, as decisions without I/O: the sessions of its
//! clients, and what it has to say to its market.
//!
//! | room | holds |
//! |---|---|
//! | [`Gateway`] | clients and their sessions; when requests are held, refused, said again |
//! | `fix` | those that speak FIX, and what outlives their connections |
//! | `requests` | what the market has not decided yet |
//! | `words` | what both say on the link |
//!
//! It checks what needs no market: that a session is one, how much a client sends, what
//! the fields of a message are, whether there is such an instrument. What the market
//! decides, it waits for. What each of them promises is said with the market's side, in
//! `core::gateways`.
//!
//! An order costs no allocation once buffers have grown.

mod clients;
mod counts;
mod fix;
#[cfg(test)]
mod no_allocation;
mod requests;
#[cfg(test)]
mod twin;
mod uplink;
mod words;

pub use clients::{Gateway, GatewayOutputs};
pub use counts::GatewayCounts;
pub(crate) use words::{
    Asked, Decision, FixAsked, FixBegun, FixReport, FixResume, Greeting, Hello, Resume, Verdict,
    Welcome, Word, Words,
};

use std::time::Duration;

use tapeline_ntg::Limits;
use tapeline_sequence::Identity;

use crate::core::ExchangeConfig;
use crate::identity;

/// What a gateway is made of.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Its number, above 0.
    pub number: u16,
    /// Another one for each process.
    pub instance: u64,
    /// The digest of its market.
    identity: Identity,
    /// What is traded there.
    instruments: Vec<u32>,
    limits: Limits,
    fix: tapeline_fix::Limits,
    /// Messages that each session of FIX keeps, to send them again.
    fix_messages: usize,
    /// Connections of its clients at once.
    pub max_sessions: usize,
    max_output_bytes: usize,
    /// Requests that are not decided; more are refused.
    pub max_undecided: usize,
    /// Without a leader for so long, requests are refused.
    pub failover: Duration,
    /// A link on which nothing comes for so long is broken.
    pub silence: Duration,
    /// Nanoseconds since 1970 UTC at [`Time::ZERO`](tapeline_time::Time::ZERO).
    pub epoch_ns: u64,
}

impl GatewayConfig {
    /// A gateway of a market.
    pub fn of(market: &ExchangeConfig, number: u16, epoch_ns: u64) -> Self {
        Self {
            number,
            instance: epoch_ns,
            identity: identity::of(market),
            instruments: market.instruments.iter().map(|instrument| instrument.id.0).collect(),
            limits: market.limits,
            fix: market.fix,
            fix_messages: market.fix_messages,
            max_sessions: market.max_sessions,
            max_output_bytes: market.max_output_bytes,
            max_undecided: 10_000,
            failover: Duration::from_secs(1),
            silence: Duration::from_secs(2),
            epoch_ns,
        }
    }
}
