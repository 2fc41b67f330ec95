//! The system that is measured: where its parts run and how they are tuned.

use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::str::FromStr;

use tapeline_channel::Idle;
use tapeline_measure::processor::Affinity;

/// Where hub and server run, and what is between them. Source and clients are
/// always one thread of the measuring process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// One thread of the measuring process; shared memory, or rings.
    #[default]
    Thread,
    /// A process each; shared memory, with the driver in the hub.
    Ipc,
    /// A process each, a driver each; UDP multicast over loopback.
    Multicast,
    /// The same on two hosts: network namespaces joined by a cable. Needs
    /// root.
    Namespaces,
}

impl Topology {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Thread, Self::Ipc, Self::Multicast, Self::Namespaces];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Ipc => "ipc",
            Self::Multicast => "multicast",
            Self::Namespaces => "namespaces",
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Topology {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|topology| topology.name() == text).ok_or_else(|| {
            format!("`{text}` is no topology; give thread, ipc, multicast or namespaces")
        })
    }
}

/// What is between hub and server of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    /// Aeron's shared memory, as between processes.
    #[default]
    Aeron,
    /// The rings of one process, as `tapeline run` has them.
    Local,
}

impl Between {
    /// The channel, as in a configuration.
    pub const fn channel(self) -> &'static str {
        match self {
            Self::Aeron => "aeron:ipc",
            Self::Local => "local",
        }
    }
}

impl FromStr for Between {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Aeron, Self::Local].into_iter().find(|known| known.channel() == text);
        known.ok_or_else(|| format!("`{text}` is not measured; give local or aeron:ipc"))
    }
}

/// A named set of settings of hub and server, as the published tests have two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Output leaves at once.
    #[default]
    Latency,
    /// Output is gathered for 20 ms, and the kernel may gather more.
    Throughput,
}

impl Profile {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Throughput => "throughput",
        }
    }

    const fn flush_interval_ms(self) -> u32 {
        match self {
            Self::Latency => 0,
            Self::Throughput => 20,
        }
    }

    const fn tcp_no_delay(self) -> bool {
        matches!(self, Self::Latency)
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "latency" => Ok(Self::Latency),
            "throughput" => Ok(Self::Throughput),
            _ => Err(format!("`{text}` is no profile; give latency or throughput")),
        }
    }
}

/// A profile and what is changed of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Where the other settings begin.
    pub profile: Profile,
    /// How long the server may gather output, in milliseconds; 0 for not at
    /// all ("timed writes off").
    pub flush_interval_ms: Option<u32>,
    /// Whether the kernel sends small writes of the server at once.
    pub tcp_no_delay: Option<bool>,
    /// The kernel's send buffer of each mount.
    pub tcp_send_buffer_bytes: Option<u32>,
    /// Most bytes of messages that the server packs into one frame.
    pub fragment_bytes: Option<u16>,
}

impl Tuning {
    /// The flush interval that holds.
    pub(crate) fn flush_interval_ms(self) -> u32 {
        self.flush_interval_ms.unwrap_or(self.profile.flush_interval_ms())
    }

    /// The kernel's part that holds.
    pub(crate) fn tcp_no_delay(self) -> bool {
        self.tcp_no_delay.unwrap_or(self.profile.tcp_no_delay())
    }
}

impl fmt::Display for Tuning {
    /// The profile's name, then what is different from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.profile.name())?;
        if let Some(ms) = self.flush_interval_ms {
            write!(f, " flush={ms}ms")?;
        }
        if let Some(no_delay) = self.tcp_no_delay {
            write!(f, " no-delay={no_delay}")?;
        }
        if let Some(bytes) = self.tcp_send_buffer_bytes {
            write!(f, " send-buffer={bytes}")?;
        }
        if let Some(bytes) = self.fragment_bytes {
            write!(f, " fragment={bytes}")?;
        }
        Ok(())
    }
}

/// The system that is measured.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where its parts run.
    pub topology: Topology,
    /// What is between them on one thread; elsewhere the topology says it.
    pub between: Between,
    /// Servers beside one hub; more than one are processes of their own over
    /// shared memory. Mounts are spread over them.
    pub servers: usize,
    /// Settings of the servers' output.
    pub tuning: Tuning,
    /// Whether hub and server keep images. Default false, as in the published
    /// tests.
    pub cache: bool,
    /// Whether the server listens for WebSocket clients too; on one thread. Default
    /// false.
    pub websocket: bool,
    /// Whether some messages carry stamps, as in a running process; on one thread.
    /// Default true.
    pub stamps: bool,
    /// What hub and server do in a turn with nothing to do. `None`: spin if
    /// each of their threads has a core of its own, or else yield.
    pub idle: Option<Idle>,
    /// Which cores are whose. `None`: the kernel decides.
    pub affinity: Option<Affinity>,
    /// Datagrams of the backbone that are lost, in percent; for
    /// [`Topology::Namespaces`] alone.
    pub loss_percent: f64,
    /// The program whose `hub` and `server` run as processes. `None`: the
    /// `tapeline` beside the one that runs now, or in the path.
    pub program: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            topology: Topology::Thread,
            between: Between::default(),
            servers: 1,
            tuning: Tuning::default(),
            cache: false,
            websocket: false,
            stamps: true,
            idle: None,
            affinity: Affinity::of_machine(),
            loss_percent: 0.0,
            program: None,
        }
    }
}

impl Setup {
    /// Threads of hub and servers.
    fn threads(&self) -> usize {
        match self.topology {
            Topology::Thread => 1,
            _ => 1 + self.servers,
        }
    }

    /// What hub and server do in a turn with nothing to do.
    pub(crate) fn idle(&self) -> Idle {
        let cores = self.affinity.as_ref().map_or(1, |affinity| affinity.theirs.len());
        self.idle.unwrap_or(if self.threads() <= cores { Idle::Spin } else { Idle::Yield })
    }

    /// Cores of source and clients.
    pub(crate) fn our_cores(&self) -> Option<&[usize]> {
        self.affinity.as_ref().map(|affinity| &affinity.ours[..])
    }

    /// Cores of hub and server.
    pub(crate) fn their_cores(&self) -> Option<&[usize]> {
        self.affinity.as_ref().map(|affinity| &affinity.theirs[..])
    }

    /// The name of the topology, with the rings, the number of servers and the
    /// loss if there are any.
    pub(crate) fn label(&self) -> String {
        let mut label = self.topology.to_string();
        if (self.topology, self.between) == (Topology::Thread, Between::Local) {
            label.push_str(" local");
        }
        if self.servers > 1 {
            let _ = write!(label, " {} servers", self.servers);
        }
        if self.loss_percent > 0.0 {
            let _ = write!(label, " {} % loss", self.loss_percent);
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_of_a_profile_can_be_changed() {
        let throughput = Tuning { profile: Profile::Throughput, ..Tuning::default() };
        assert_eq!((throughput.flush_interval_ms(), throughput.tcp_no_delay()), (20, false));
        let changed = Tuning { tcp_no_delay: Some(true), ..throughput };
        assert_eq!((changed.flush_interval_ms(), changed.tcp_no_delay()), (20, true));
        assert_eq!(changed.to_string(), "throughput no-delay=true");
        let latency = Tuning { flush_interval_ms: Some(5), ..Tuning::default() };
        assert_eq!((latency.flush_interval_ms(), latency.tcp_no_delay()), (5, true));
    }

    #[test]
    fn threads_that_share_a_core_do_not_spin() {
        let affinity = Some(Affinity { ours: vec![0], theirs: vec![1] });
        let mut setup = Setup { affinity, ..Setup::default() };
        assert_eq!(setup.idle(), Idle::Spin);
        setup.topology = Topology::Ipc;
        assert_eq!(setup.idle(), Idle::Yield);
        setup.affinity = Some(Affinity { ours: vec![0], theirs: vec![1, 2] });
        assert_eq!(setup.idle(), Idle::Spin);
    }
}
