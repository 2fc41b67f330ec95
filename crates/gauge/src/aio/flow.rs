//! A flow as its file has it: links, and parts of threads of modules.

use std::net::IpAddr;
use std::path::PathBuf;

use tapeline_measure::schedule::Pacing;

use crate::Transport;
use crate::disk::Mode;
use crate::link::LinkOptions;

/// An application's flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) links: Vec<LinkSpec>,
    pub(super) parts: Vec<PartSpec>,
    pub(super) threads: Vec<ThreadSpec>,
    pub(super) modules: Vec<ModuleSpec>,
    /// What is unusual and allowed.
    pub(super) warnings: Vec<String>,
}

/// What messages of a link go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// The other module is called, in the same thread.
    Call,
    /// A ring in memory, between threads of a part.
    Ring,
    /// Everything that [`crate::link`] carries.
    Link(Transport),
    /// A multicast group: one way.
    Mcast,
    /// A TCP connection whose bytes are passed on as they come: of any tool.
    Raw,
}

impl Via {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Ring => "ring",
            Self::Link(transport) => transport.name(),
            Self::Mcast => "mcast",
            Self::Raw => "raw",
        }
    }

    /// Whether messages may be lost on it.
    pub(super) const fn is_datagram(self) -> bool {
        matches!(self.transport(), Some(transport) if transport.is_datagram())
    }

    /// What of [`crate::link`] it is.
    pub(super) const fn transport(self) -> Option<Transport> {
        match self {
            Self::Call | Self::Ring => None,
            Self::Link(transport) => Some(transport),
            Self::Mcast => Some(Transport::Udp),
            Self::Raw => Some(Transport::Tcp),
        }
    }
}

/// A link, and the modules at its ends.
#[derive(Clone, Debug)]
pub(super) struct LinkSpec {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) via: Via,
    pub(super) address: IpAddr,
    /// 0: the system chooses one.
    pub(super) port: u16,
    pub(super) connections: usize,
    /// Messages of a ring.
    pub(super) capacity: usize,
    pub(super) options: LinkOptions,
    /// Who sends on it, and who takes from it.
    pub(super) from: Option<usize>,
    pub(super) to: Option<usize>,
}

/// A process.
#[derive(Clone, Debug)]
pub(super) struct PartSpec {
    pub(super) name: String,
}

#[derive(Clone, Debug)]
pub(super) struct ThreadSpec {
    pub(super) name: String,
    pub(super) part: usize,
    pub(super) is_polling: bool,
    pub(super) core: Option<usize>,
    pub(super) priority: Option<u8>,
    /// Messages for which there is room beforehand.
    pub(super) pool: u64,
    pub(super) interval_s: f64,
    pub(super) statistics_file: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub(super) struct ModuleSpec {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) thread: usize,
    /// The wrapper that it stands in, in the tree alone.
    pub(super) wrapper: String,
    /// Numbers of links.
    pub(super) inputs: Vec<usize>,
    pub(super) outputs: Vec<usize>,
    pub(super) kind: Kind,
}

/// What a module does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Client(Origin),
    Server { reply: Reply, reply_bytes: usize },
    Source(Origin),
    Sink,
    Forward { acknowledges: bool },
    Work { time: WorkTime, by: WorkBy },
    Sequencer { in_turn: bool },
    Match { share: f64, copies: u32 },
    Fanout,
    Route(Route),
    Merge,
    Delay(DelaySpec),
    Journal(JournalSpec),
}

impl Kind {
    /// As the file has it.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Client(_) => "client",
            Self::Server { .. } => "server",
            Self::Source(_) => "source",
            Self::Sink => "sink",
            Self::Forward { .. } => "forward",
            Self::Work { .. } => "work",
            Self::Sequencer { .. } => "sequencer",
            Self::Match { .. } => "match",
            Self::Fanout => "fanout",
            Self::Route(_) => "route",
            Self::Merge => "merge",
            Self::Delay(_) => "delay",
            Self::Journal(_) => "journal",
        }
    }

    /// As the classic tool calls it.
    pub(super) const fn classic_name(&self) -> &'static str {
        match self {
            Self::Client(_) => "P2PClientList",
            Self::Server { .. } => "P2PServer",
            _ => self.name(),
        }
    }

    pub(super) const fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Client(origin) | Self::Source(origin) => Some(origin),
            _ => None,
        }
    }

    /// What it is to take of each message, in nanoseconds.
    pub(super) fn predicted_ns(&self) -> f64 {
        match self {
            Self::Work { time, .. } => time.mean_ns(),
            Self::Delay(delay) => (delay.us + delay.jitter_us / 2.0) * 1e3,
            _ => 0.0,
        }
    }
}

/// What sends by itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Origin {
    pub(super) rate_per_s: f64,
    pub(super) pacing: Pacing,
    pub(super) bytes: usize,
    /// Messages that are sent when one is due.
    pub(super) at_once: u64,
    pub(super) clients: u64,
    pub(super) start_id: u64,
    /// Client k has the rate times this to the power of k.
    pub(super) delta_rate: f64,
    pub(super) window: u64,
    /// In all, of each client; 0: no end.
    pub(super) messages: u64,
    pub(super) tracks: bool,
    /// One in so many is tracked.
    pub(super) sample: u64,
}

impl Origin {
    /// Messages a second of all clients.
    pub(super) fn whole_rate_per_s(&self) -> f64 {
        let rates = (0..self.clients).map(|k| self.rate_of(k));
        rates.sum::<f64>() * self.at_once as f64
    }

    /// Messages a second of client k, each of which is sent `at_once` times.
    pub(super) fn rate_of(&self, k: u64) -> f64 {
        self.rate_per_s * self.delta_rate.powi(i32::try_from(k).unwrap_or(i32::MAX))
    }
}

/// How a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Full,
    /// 32 bytes.
    Ack,
    None,
}

/// How long a message is worked on.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WorkTime {
    Fixed(u64),
    Uniform(f64, f64),
    Exponential(f64),
    /// The mean and the standard deviation of the times.
    LogNormal(f64, f64),
    /// Times of a histogram, by their share.
    Measured(Vec<u64>),
}

impl WorkTime {
    pub(super) fn mean_ns(&self) -> f64 {
        match self {
            Self::Fixed(nanos) => *nanos as f64,
            Self::Uniform(least, most) => f64::midpoint(*least, *most),
            Self::Exponential(mean) | Self::LogNormal(mean, _) => *mean,
            Self::Measured(all) => {
                all.iter().map(|nanos| *nanos as f64).sum::<f64>() / all.len().max(1) as f64
            }
        }
    }
}

/// What is done in that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkBy {
    Spin,
    /// Reads and writes places of so much memory.
    Memory {
        kib: usize,
    },
    Hash,
}

/// By what an output is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Id,
    RoundRobin,
    Hash,
}

/// What becomes of messages on a bad network.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DelaySpec {
    pub(super) us: f64,
    pub(super) jitter_us: f64,
    pub(super) loss: f64,
    pub(super) duplicate: f64,
    pub(super) reorder: f64,
    pub(super) seed: u64,
}

/// A file that every message is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JournalSpec {
    pub(super) file: PathBuf,
    pub(super) mode: Mode,
    pub(super) sync_every: u64,
    /// One sync for all of so long.
    pub(super) group_us: u64,
    /// Messages are passed on when they are durable.
    pub(super) before: bool,
}

impl Flow {
    /// The bytes of the longest message.
    pub(super) fn most_bytes(&self) -> usize {
        let of = |module: &ModuleSpec| match &module.kind {
            Kind::Server { reply_bytes, .. } => *reply_bytes,
            kind => kind.origin().map_or(0, |origin| origin.bytes),
        };
        self.modules.iter().map(of).max().unwrap_or(0).max(super::tracked::LEAST_BYTES)
    }

    /// The flow as one part sees it that is alone on its host: the other ends of
    /// its links are outside.
    pub(super) fn only(mut self, part: usize) -> Self {
        for number in 0..self.links.len() {
            let LinkSpec { from, to, .. } = self.links[number];
            let is_here =
                |module| self.thread_of(module).is_some_and(|of| self.threads[of].part == part);
            let kept = [from, to].map(|module| module.filter(|_| is_here(module)));
            [self.links[number].from, self.links[number].to] = kept;
        }
        self
    }

    /// The thread of a module at an end of a link.
    pub(super) fn thread_of(&self, module: Option<usize>) -> Option<usize> {
        module.and_then(|module| self.modules.get(module)).map(|module| module.thread)
    }

    /// Modules of a thread, in their order.
    pub(super) fn modules_of(&self, thread: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.modules.len()).filter(move |module| self.modules[*module].thread == thread)
    }

    /// Threads of a part, in their order.
    pub(super) fn threads_of(&self, part: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.threads.len()).filter(move |thread| self.threads[*thread].part == part)
    }

    /// The link from a module to another; by answers if `is_back`.
    pub(super) fn link_between(&self, from: usize, to: usize) -> Option<&LinkSpec> {
        let forth = |link: &&LinkSpec| link.from == Some(from) && link.to == Some(to);
        let back = |link: &&LinkSpec| link.from == Some(to) && link.to == Some(from);
        self.links.iter().find(forth).or_else(|| self.links.iter().find(back))
    }
}
