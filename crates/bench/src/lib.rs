//! The market data procedures over the whole path, beside what the machine
//! does without us.
//!
//! ```text
//!  thread 1                            thread 2, or processes
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
//! | [`Procedure::Floor`] | half round trip of bare TCP and bare Aeron, bare fan-out of large writes |
//! | [`Procedure::Latency`] | latency from source to client at set rates, all fields decoded |
//! | [`Procedure::Throughput`] | the highest rate from one source to one client |
//! | [`Procedure::Fanout`] | the highest rate to 100 mounts, half of the updates to all of them |
//! | [`Procedure::Memory`] | bytes for each mount, item and watcher |
//! | [`knee()`] | the rates behind which updates come late on this machine |
//! | [`quick()`] | every aim of the project in one table |
//!
//! Source and clients are in one thread, so that they share a clock
//! (`CLOCK_MONOTONIC`). Every update carries the moment at which it was due at
//! the set rate and the moment at which it was sent. Latency is told from both:
//! from the first, a source that was held up has its delay counted; from the
//! second, old figures can be compared. A run whose source sent less than 99 %
//! of what was due, or in which anything was lost, conflated or out of order,
//! is marked invalid.
//!
//! Every run leaves a [`record`]; [`report`] makes one HTML file of many.
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

mod aeron;
mod busy;
mod child;
mod clients;
mod consumers;
mod count;
mod error;
mod floor;
mod lean;
mod options;
pub mod peers;
mod plan;
mod procedures;
mod published;
mod publisher;
mod quick;
pub mod record;
pub mod report;
mod run;
mod search;
mod setup;
mod share;
pub mod size;
mod source;
mod stamp;
mod subject;
mod system;
mod update;
mod warm_up;

pub use count::{Counted, Eyes, Workload, count};
pub use error::BenchError;
pub use options::{ClientKind, Options, Procedure, sweep_rates};
pub use quick::{Row, quick, quick_options};
pub use serde_json::Value;
pub use setup::{Between, Profile, Setup, Topology, Tuning};
pub use tapeline_measure::processor::Affinity;
pub use tapeline_measure::schedule::{MAX_RATE, Pacing};
pub use tapeline_measure::stop::interrupt_when;

use record::{Environment, Measurement, Record};

/// Where results go.
pub trait Output {
    /// A table for people, of several lines.
    fn table(&mut self, text: &str);

    /// What is being done now.
    fn progress(&mut self, text: &str) {
        let _ = text;
    }

    /// A line of a result file: a [`Record`] as JSON.
    fn result(&mut self, result: &Value) {
        let _ = result;
    }

    /// What was measured, as a line of a result file.
    fn record(&mut self, measurement: Measurement) {
        self.result(&Record::from(measurement).to_value());
    }
}

/// The rates behind which updates come late: what a server compares itself with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knee {
    /// Updates a second that come in, with one client.
    pub updates_in_per_s: u64,
    /// Updates a second that go out, with many.
    pub updates_out_per_s: u64,
}

impl Knee {
    /// As the configuration has it: `[profile] knee`.
    pub fn to_json(&self) -> String {
        let Self { updates_in_per_s, updates_out_per_s } = self;
        format!(
            "{{ \"updatesInPerS\": {updates_in_per_s}, \"updatesOutPerS\": {updates_out_per_s} }}\n"
        )
    }
}

/// Finds the knee of this machine.
///
/// Errors: the system cannot be started; no rate comes in time.
pub fn knee(options: &Options, out: &mut dyn Output) -> Result<Knee, BenchError> {
    if let Some(affinity) = &options.setup.affinity {
        affinity.check()?;
    }
    procedures::knee(options, out)
}

/// Runs procedures, one after the other.
///
/// Errors: the system cannot be started, or somebody wants the program to end.
/// That it is slow is a result.
pub fn run(
    procedures: &[Procedure],
    options: &Options,
    out: &mut dyn Output,
) -> Result<(), BenchError> {
    if let Some(affinity) = &options.setup.affinity {
        affinity.check()?;
    }
    let environment = Environment::read();
    out.result(&Record::from(environment.clone()).to_value());
    for procedure in procedures {
        match procedure {
            Procedure::Floor => procedures::floor(options, out)?,
            Procedure::Latency => procedures::latency(options, out)?,
            Procedure::Throughput => procedures::throughput(options, out)?,
            Procedure::Fanout => procedures::fanout(options, out)?,
            Procedure::Memory => procedures::memory(options, out)?,
        }
    }
    out.result(&Record::from(environment.after()).to_value());
    Ok(())
}
