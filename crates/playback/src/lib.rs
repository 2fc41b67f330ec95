//! Sources of data: what `tapeline source` and the demonstration publish, for
//! tests and programs that need a market. Four kinds:
//!
//! | data | listens, publishes what is asked for | connects, publishes all it has |
//! |---|---|---|
//! | templates, at a set pace | [`Publishing`] | [`Broadcasting`] |
//! | a recording, at its own pace | [`Replaying`] | [`Rebroadcasting`] |
//!
//! An [`Interactive`] one is driven by [`serve`], a [`NonInteractive`] one by
//! [`publish`], a slice at a time; [`rest`] waits until the next update is due.
//! Updates carry the time if wanted ([`Stamps`]), by which whoever gets them
//! knows their age ([`age_us`]).

mod broadcasting;
mod commands;
mod drive;
mod pace;
mod publishing;
mod rebroadcasting;
mod replay;
mod replaying;
mod sample;
mod stamps;
mod stock;
mod turns;

pub use broadcasting::Broadcasting;
pub use commands::{Commands, Order};
pub use drive::{Interactive, NonInteractive, Playing, publish, rest, serve};
pub use pace::Pace;
pub use publishing::Publishing;
pub use rebroadcasting::Rebroadcasting;
pub use replay::{Replay, Speed};
pub use replaying::Replaying;
pub use stamps::{Stamps, age_us, now_us};
pub use stock::Stock;

/// What a source has done, and how it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Items that are updated.
    pub open_items: u64,
    /// Updates a second that are wanted.
    pub rate: u64,
    /// Updates a second of those that are to carry the time.
    pub stamp_rate: u64,
    /// Images sent since the start.
    pub images: u64,
    /// Updates sent since the start.
    pub updates: u64,
    /// Those of them that carry the time.
    pub stamped: u64,
    /// Posts since the start.
    pub posts: u64,
    /// Bursts that came so late that the next one was due as well.
    pub missed: u64,
}
