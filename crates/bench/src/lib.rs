//! The market data procedures over the whole path, beside what the machine
//! does without us.
//!
//! ```text
//!  thread 1                            thread 2
//!  ┌────────┐  TCP   ┌─────┐  shared memory  ┌────────┐
//!  │ source │ ─────▶ │ hub │ ──────────────▶ │ server │
//!  └────────┘        └─────┘                 └────────┘
//!  ┌─────────┐               TCP                 │
//!  │ clients │ ◀──────────────────────────────────┘
//!  └─────────┘
//! ```
//!
//! | procedure | what is found |
//! |---|---|
//! | [`Procedure::Floor`] | half round trip of bare TCP, bare fan-out of large writes |
//! | [`Procedure::Latency`] | latency from source to client at set rates, all fields decoded |
//! | [`Procedure::Throughput`] | the highest rate from one source to one client |
//! | [`Procedure::Fanout`] | the highest rate to 100 mounts, half of the updates to all of them |
//!
//! Source and clients are in one thread, so that they share a clock
//! (`CLOCK_MONOTONIC`). Every update carries the moment at which it was due at
//! the set rate and the moment at which it was sent. Latency is told from both:
//! from the first, a source that was held up has its delay counted; from the
//! second, old figures can be compared. A run whose source sent less than 99 %
//! of what was due, or in which anything was lost, conflated or out of order,
//! is marked invalid.
//!
//! ```no_run
//! use tapeline_bench::{Options, Output, Procedure, run};
//!
//! struct Terminal;
//! impl Output for Terminal {
//!     fn table(&mut self, text: &str) {
//!         println!("{text}");
//!     }
//! }
//! run(&[Procedure::Latency], &Options::default(), &mut Terminal)?;
//! # Ok::<(), tapeline_bench::BenchError>(())
//! ```

mod clients;
mod clock;
mod count;
mod environment;
mod error;
mod floor;
mod latency_stats;
mod node;
mod options;
mod procedures;
mod schedule;
mod search;
mod source;
mod system;
mod table;
mod update;

pub use count::{Workload, count};
pub use error::BenchError;
pub use options::{Options, Procedure};
pub use serde_json::Value;

/// Where results go.
pub trait Output {
    /// A table for people, of several lines.
    fn table(&mut self, text: &str);

    /// What is being done now.
    fn progress(&mut self, text: &str) {
        let _ = text;
    }

    /// A result for programs: an object with `bench` and `what`.
    fn result(&mut self, result: &Value) {
        let _ = result;
    }
}

/// Runs procedures, one after the other.
///
/// Errors: the system cannot be started. That it is slow is a result.
pub fn run(
    procedures: &[Procedure],
    options: &Options,
    out: &mut dyn Output,
) -> Result<(), BenchError> {
    out.result(&environment::record());
    for procedure in procedures {
        match procedure {
            Procedure::Floor => procedures::floor(options, out)?,
            Procedure::Latency => procedures::latency(options, out)?,
            Procedure::Throughput => procedures::throughput(options, out)?,
            Procedure::Fanout => procedures::fanout(options, out)?,
        }
    }
    out.result(&environment::record());
    Ok(())
}
