//! What every measurement needs, whatever it measures: one notion of time,
//! messages that are due at a set rate, latencies summed up, cores, the machine
//! for the record, tables, and an end when somebody asks for one.
//!
//! ```
//! use tapeline_measure::histogram::{Distribution, latencies};
//! use tapeline_measure::schedule::{Pacing, Schedule};
//!
//! // 1,000 a second from time 0; who comes round at 2 ms owes three.
//! let mut schedule = Schedule::new(0, 1_000, Pacing::Even);
//! let mut from_schedule = latencies();
//! while let Some(due_ns) = schedule.take(2_000_000) {
//!     from_schedule.record(2_005_000 - due_ns)?;
//! }
//! let figures = Distribution::of(&from_schedule).unwrap();
//! assert_eq!((figures.count, figures.min_ns), (3, 5_000));
//! # Ok::<(), hdrhistogram::RecordError>(())
//! ```
//!
//! Nothing here knows of sockets or of market data.

pub mod clock;
pub mod disturbance;
pub mod environment;
pub mod histogram;
pub mod processor;
pub mod record;
pub mod schedule;
pub mod stop;
pub mod table;
pub mod ticks;
