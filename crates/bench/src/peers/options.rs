//! What is compared, and how long.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tapeline_measure::processor::Affinity;

use crate::subject::beside;

/// A system in one of its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Tapeline, hub and server in one process, which sleeps when there is
    /// nothing to do.
    TapelineParked,
    /// The same, which goes on at once.
    TapelineSpinning,
    /// The same in the throughput profile: it gathers output for 20 ms.
    TapelineThroughput,
    /// The vendor's Java provider, which sleeps until the next update is due.
    JavaParked,
    /// The same, which goes on at once.
    JavaSpinning,
    /// The same, which gathers output for 20 ms and sleeps meanwhile.
    JavaThroughput,
    /// nats-server, which waits for its sockets.
    Nats,
    /// A proxy of `ZeroMQ`'s sockets, which waits for them.
    ZeroMq,
    /// Aeron's shared memory without any server, both sides spinning.
    Aeron,
}

impl Peer {
    /// All, in the order of their turns.
    pub const ALL: [Self; 9] = [
        Self::TapelineParked,
        Self::JavaParked,
        Self::Nats,
        Self::ZeroMq,
        Self::TapelineSpinning,
        Self::JavaSpinning,
        Self::TapelineThroughput,
        Self::JavaThroughput,
        Self::Aeron,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TapelineParked => "tapeline-park",
            Self::TapelineSpinning => "tapeline-spin",
            Self::TapelineThroughput => "tapeline-throughput",
            Self::JavaParked => "java-park",
            Self::JavaSpinning => "java-spin",
            Self::JavaThroughput => "java-throughput",
            Self::Nats => "nats",
            Self::ZeroMq => "zeromq",
            Self::Aeron => "aeron",
        }
    }

    /// What it does when there is nothing to do, where that can be told.
    pub(super) const fn setting(self) -> Setting {
        match self {
            Self::TapelineSpinning | Self::JavaSpinning | Self::Aeron => Setting::Spin,
            Self::TapelineThroughput | Self::JavaThroughput => Setting::Throughput,
            Self::TapelineParked | Self::JavaParked | Self::Nats | Self::ZeroMq => Setting::Park,
        }
    }

    /// Whether it is looked for its highest rate. Between parking and spinning
    /// there is no difference then.
    pub(super) fn is_searched(self) -> bool {
        self.setting() != Setting::Spin || self == Self::Aeron
    }
}

/// What a server does when it has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    /// It sleeps, or waits for its sockets.
    Park,
    /// It goes on at once.
    Spin,
    /// It sleeps, and what it has to send leaves every 20 ms.
    Throughput,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|peer| peer.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is no peer; there are {names}")
        })
    }
}

/// What to compare. The defaults are those of a run of some ten minutes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The systems. Default: all.
    pub peers: Vec<Peer>,
    /// The program `tapeline`. Default: the one beside the running program, or
    /// in the path.
    pub tapeline: PathBuf,
    /// Where `bench/peers/run.sh` builds the others. Default:
    /// `target/bench/peers`.
    pub folder: PathBuf,
    /// Updates a second that reach clients, all of them together. Default
    /// 100,000, 300,000 and 500,000.
    pub rates_out: Vec<u64>,
    /// Turns of all systems. Default 5.
    pub rounds: u32,
    /// How long each run is measured. Default 3 s.
    pub time: Duration,
    /// How long each run goes on before it is measured. Default 0.5 s.
    pub warm_up: Duration,
    /// How long a virtual machine that compiles while it runs goes on before
    /// its first run. Default 5 s.
    pub compile: Duration,
    /// How long each trial of the search for the highest rate takes; zero
    /// leaves the search out. Default 1 s.
    pub search: Duration,
    /// Client connections. Default 100.
    pub clients: usize,
    /// Items, updated in turn. Default 1,000.
    pub items: usize,
    /// Clients that watch each item. Default 50.
    pub watchers: usize,
    /// Cores of publisher and clients, and of the server. Default: the first,
    /// and the others.
    pub affinity: Option<Affinity>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            peers: Peer::ALL.to_vec(),
            tapeline: beside(),
            folder: "target/bench/peers".into(),
            rates_out: vec![100_000, 300_000, 500_000],
            rounds: 5,
            time: Duration::from_secs(3),
            warm_up: Duration::from_millis(500),
            compile: Duration::from_secs(5),
            search: Duration::from_secs(1),
            clients: 100,
            items: 1_000,
            watchers: 50,
            affinity: Affinity::of_machine(),
        }
    }
}

impl Options {
    /// What `tapeline bench quick` measures beside its own rows, in some 80 s:
    /// everybody in the setting that costs least when there is little to do, and
    /// with output gathered where that can be had.
    pub fn brief() -> Self {
        let peers = [
            Peer::TapelineParked,
            Peer::JavaParked,
            Peer::Nats,
            Peer::ZeroMq,
            Peer::TapelineThroughput,
            Peer::JavaThroughput,
        ];
        Self { peers: peers.to_vec(), ..Self::quick() }
    }

    /// What `--quick` measures, in some two minutes.
    pub fn quick() -> Self {
        Self {
            rates_out: vec![100_000, 300_000],
            rounds: 2,
            time: Duration::from_secs(1),
            warm_up: Duration::from_millis(200),
            compile: Duration::from_secs(3),
            search: Duration::from_millis(400),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_found_by_their_names() {
        for peer in Peer::ALL {
            assert_eq!(peer.name().parse(), Ok(peer));
        }
        let error = "kafka".parse::<Peer>().unwrap_err();
        assert!(error.starts_with("`kafka` is no peer; there are tapeline-park, "), "{error}");
    }
}
