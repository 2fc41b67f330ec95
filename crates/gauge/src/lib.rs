//! Tools that judge a host, with one notion of time, one record and, called by
//! their names, the output of the classic tools:
//!
//! | tool | what is found | drop-in for |
//! |---|---|---|
//! | [`pingpong`] | round trips over every transport, by message size | sfnt-pingpong |
//! | [`nwtool`] | what a chain of hosts carries at a rate, and where it melts | `NwTool`, sfnt-stream |
//! | [`mcast`] | what of a group's messages arrives | `MCastNwTool` |
//! | [`aio`] | what a flow of messages takes through an application's parts | `AIO` |
//! | [`disk`] | what writes and reads of a file take at a rate | `DTool` |
//! | [`mod@env`] | what the machine is, for the record | |
//! | [`tune`] | settings beside what measured systems had; sets them and sets them back | |
//! | [`jitter`] | what a core does by itself: the floor of every tail | sysjitter |
//! | [`compare`] | two results side by side, with a verdict | |
//!
//! What decides (options, sizes, statistics) does no I/O. Sockets are plain
//! calls of the C library, so that a stack that takes these over is what is
//! measured.

pub mod aio;
mod arguments;
mod classic;
pub mod compare;
mod control;
pub mod disk;
pub mod env;
mod error;
mod ethtool;
mod hdr_log;
mod intervals;
pub mod jitter;
mod link;
mod local;
mod local_clock;
pub mod mcast;
mod message;
mod mux;
pub mod nwtool;
mod output;
pub mod pingpong;
mod records;
mod sequence;
mod setup;
mod sizes;
pub mod statistics;
pub mod tune;
mod wire;

pub use error::GaugeError;
pub use intervals::{Interval, Intervals, PerSecond};
pub use local::StartProcess;
pub use mux::{Idle, Muxer};
pub use output::Output;
pub use sequence::{Arrivals, Sequence};
pub use wire::Transport;
