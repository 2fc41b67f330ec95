//! What is to be measured, and how long.

use std::time::Duration;

use tapeline_channel::Idle;

/// A procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Procedure {
    /// What the machine does without us.
    Floor,
    /// Latency from source to client at set rates, in turns with the floor.
    Latency,
    /// The highest rate of one source to one client.
    Throughput,
    /// The highest rate to many mounts, half of the updates to all of them.
    Fanout,
}

impl Procedure {
    /// All, in the order in which they run.
    pub const ALL: [Self; 4] = [Self::Floor, Self::Latency, Self::Throughput, Self::Fanout];
}

/// How to measure. The defaults are those of a run of some minutes; published
/// figures take longer ones.
#[derive(Clone, Debug)]
pub struct Options {
    /// Updates a second of the latency procedure. Default 50,000 and 500,000.
    pub rates: Vec<u64>,
    /// Where the searches of the highest rate begin, in updates a second.
    /// Default 100,000 for throughput and 10,000 for fan-out.
    pub search_from: Option<u64>,
    /// How long each run is measured. Default 5 s.
    pub time: Duration,
    /// How long each run goes on before it is measured. Default 1 s.
    pub warm_up: Duration,
    /// Turns of floor and measurement. Default 2.
    pub rounds: u32,
    /// Items of the latency procedure. Default 1,000.
    pub latency_items: usize,
    /// Items of the throughput procedure. Default 100,000.
    pub items: usize,
    /// Client connections of the fan-out procedure. Default 100.
    pub mounts: usize,
    /// Items that all mounts have. Default 500.
    pub common_items: usize,
    /// Items that each mount has for itself. Default 500.
    pub own_items: usize,
    /// Whether hub and server keep images. Default false, as in the published
    /// tests.
    pub cache: bool,
    /// What hub and server do in a turn with nothing to do. Default: spin.
    pub idle: Idle,
    /// How long a system may take to get its images. Default 60 s.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rates: vec![50_000, 500_000],
            search_from: None,
            time: Duration::from_secs(5),
            warm_up: Duration::from_secs(1),
            rounds: 2,
            latency_items: 1_000,
            items: 100_000,
            mounts: 100,
            common_items: 500,
            own_items: 500,
            cache: false,
            idle: Idle::Spin,
            patience: Duration::from_secs(60),
        }
    }
}
