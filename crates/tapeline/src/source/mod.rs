//! A source of data, in four kinds:
//!
//! | data | listens, publishes what is asked for | connects, publishes all it has |
//! |---|---|---|
//! | templates, at a set pace | [`Publishing`] | [`Broadcasting`] |
//! | a recording, at its own pace | [`Replaying`] | [`Rebroadcasting`] |

mod broadcasting;
mod commands;
mod drive;
mod publishing;
mod rebroadcasting;
mod replay;
mod replaying;
mod sample;
mod stamps;
mod stock;
mod turns;

pub(crate) use broadcasting::Broadcasting;
pub(crate) use commands::{Commands, Order};
pub(crate) use drive::{Interactive, NonInteractive, Playing, publish, rest, serve};
pub(crate) use publishing::Publishing;
pub(crate) use rebroadcasting::Rebroadcasting;
pub(crate) use replay::{Replay, Speed};
pub(crate) use replaying::Replaying;
pub(crate) use stamps::Stamps;
pub(crate) use stock::Stock;

/// What a source has done, and how it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Items that are updated.
    pub(crate) open_items: u64,
    /// Updates a second that are wanted.
    pub(crate) rate: u64,
    /// Updates a second of those that are to carry the time.
    pub(crate) stamp_rate: u64,
    /// Images sent since the start.
    pub(crate) images: u64,
    /// Updates sent since the start.
    pub(crate) updates: u64,
    /// Those of them that carry the time.
    pub(crate) stamped: u64,
    /// Posts since the start.
    pub(crate) posts: u64,
    /// Bursts that came so late that the next one was due as well.
    pub(crate) missed: u64,
}
