//! What is to be measured, and how long.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tapeline_measure::schedule::Pacing;

use crate::clients::Reading;
use crate::setup::Setup;

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
    /// Bytes of memory for each mount, item and watcher.
    Memory,
}

impl Procedure {
    /// All, in the order in which they run.
    pub const ALL: [Self; 5] =
        [Self::Floor, Self::Latency, Self::Throughput, Self::Fanout, Self::Memory];
}

/// Clients of the fan-out procedure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientKind {
    /// They cost little: updates are counted where the kernel has put them.
    #[default]
    Lean,
    /// As applications have them, over the API.
    Api,
}

impl FromStr for ClientKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "lean" => Ok(Self::Lean),
            "api" => Ok(Self::Api),
            _ => Err(format!("`{text}` are no clients; give lean or api")),
        }
    }
}

impl ClientKind {
    pub(crate) const fn reading(self) -> Reading {
        match self {
            Self::Lean => Reading::InPlace,
            Self::Api => Reading::Headers,
        }
    }
}

/// How to measure. The defaults are those of a run of some minutes; published
/// figures take longer ones.
#[derive(Clone, Debug)]
pub struct Options {
    /// The system that is measured.
    pub setup: Setup,
    /// Updates a second of the latency procedure. Default 50,000 and 500,000.
    pub rates: Vec<u64>,
    /// Whether the latency procedure goes through the rates of the published
    /// tests instead, until one does not hold.
    pub is_sweep: bool,
    /// How updates are spread over time.
    pub pacing: Pacing,
    /// Where the searches of the highest rate begin, in updates a second.
    /// Default 400,000 for throughput and 40,000 for fan-out.
    pub search_from: Option<u64>,
    /// How long each run is measured. Default 5 s.
    pub time: Duration,
    /// For how long the set rate must have been reached to within 1 % before
    /// anything is measured. Default 2 s.
    pub warm_up: Duration,
    /// How long each trial of a search is measured. Default 0.7 s.
    pub probe: Duration,
    /// Most trials of a search. Default 16.
    pub max_probes: usize,
    /// Turns of floor and measurement. Default 2.
    pub rounds: u32,
    /// Items of the latency procedure. Default 1,000; published tests have
    /// 100,000.
    pub latency_items: usize,
    /// Items of the throughput procedure. Default 100,000.
    pub items: usize,
    /// Client connections of the fan-out procedure. Default 100.
    pub mounts: usize,
    /// What the clients of the fan-out procedure are.
    pub clients: ClientKind,
    /// Items that all mounts have. Default 500.
    pub common_items: usize,
    /// Items that each mount has for itself. Default 500.
    pub own_items: usize,
    /// How long a system may take to get its images. Default 60 s.
    pub patience: Duration,
    /// A folder for a log of histograms of each latency run.
    pub hdr_folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            setup: Setup::default(),
            rates: vec![50_000, 500_000],
            is_sweep: false,
            pacing: Pacing::Even,
            search_from: None,
            time: Duration::from_secs(5),
            warm_up: Duration::from_secs(2),
            probe: Duration::from_millis(700),
            max_probes: 16,
            rounds: 2,
            latency_items: 1_000,
            items: 100_000,
            mounts: 100,
            clients: ClientKind::default(),
            common_items: 500,
            own_items: 500,
            patience: Duration::from_secs(60),
            hdr_folder: None,
        }
    }
}

/// The rates of the published latency sweep up to `highest`: 1, 5 and 10 to
/// 100 thousand in steps of ten, then to a million in steps of 50, then of
/// 100 thousand.
pub fn sweep_rates(highest: u64) -> Vec<u64> {
    let thousands = [1, 5].into_iter();
    let all = thousands
        .chain((10..=100).step_by(10))
        .chain((150..=1000).step_by(50))
        .chain((1100..).step_by(100));
    all.map(|rate| rate * 1000).take_while(|rate| *rate <= highest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_has_the_published_rates() {
        let rates = sweep_rates(1_250_000);
        assert_eq!(rates[..4], [1_000, 5_000, 10_000, 20_000]);
        assert_eq!(rates[11..15], [100_000, 150_000, 200_000, 250_000]);
        assert_eq!(rates[rates.len() - 3..], [1_000_000, 1_100_000, 1_200_000]);
    }
}
