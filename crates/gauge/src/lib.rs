//! Tools that judge a host, with one notion of time, one record and, called by
//! their names, the output of the classic tools:
//!
//! | tool | what is found | drop-in for |
//! |---|---|---|
//! | [`pingpong`] | round trips over every transport, by message size | sfnt-pingpong |
//! | [`jitter`] | what a core does by itself: the floor of every tail | sysjitter |
//! | [`compare`] | two results side by side, with a verdict | |
//!
//! What decides (options, sizes, statistics) does no I/O. Sockets are plain
//! calls of the C library, so that a stack that takes these over is what is
//! measured.

mod arguments;
pub mod compare;
mod control;
mod error;
pub mod jitter;
mod mux;
pub mod pingpong;
mod sizes;
pub mod statistics;
mod wire;

pub use error::GaugeError;
pub use mux::{Idle, Muxer};
pub use wire::Transport;
