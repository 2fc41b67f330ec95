//! What a seed stands for: a world, and what happens in it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::random::Random;

/// The shape of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Shape {
    pub(crate) hubs: usize,
    pub(crate) servers: usize,
    pub(crate) sources: usize,
    pub(crate) services: usize,
    pub(crate) items: usize,
    /// For each consumer, whether it speaks JSON.
    pub(crate) consumers: Vec<bool>,
    pub(crate) hub_cache: bool,
    pub(crate) server_cache: bool,
    pub(crate) pause_upstream: bool,
    /// Whether each hub has a source of its own rather than all of them.
    pub(crate) own_sources: bool,
    pub(crate) socket_delay: Duration,
    pub(crate) socket_jitter: Duration,
    pub(crate) segment_bytes: usize,
    pub(crate) window_bytes: usize,
    pub(crate) backbone_delay: Duration,
    /// Most output that a server keeps for a mount.
    pub(crate) output_bytes: usize,
    /// Bytes that wait in a port of the backbone.
    pub(crate) queue_bytes: usize,
}

/// Something that happens to somebody. Numbers are taken modulo how many there
/// are, so that each action has a meaning whatever others were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The value of an item changes so many times, some milliseconds apart.
    Update {
        item: usize,
        count: usize,
        apart_ms: u64,
    },
    Open {
        consumer: usize,
        item: usize,
        view: bool,
        paused: bool,
    },
    Close {
        consumer: usize,
        open: usize,
    },
    Pause {
        consumer: usize,
        open: usize,
    },
    Resume {
        consumer: usize,
        open: usize,
    },
    /// Another view, or another image.
    Change {
        consumer: usize,
        open: usize,
        view: Option<bool>,
    },
    /// All items of a service that are not open, in one request.
    Batch {
        consumer: usize,
        service: usize,
    },
    /// An image and no updates.
    Snapshot {
        consumer: usize,
        item: usize,
    },
    /// Another priority.
    Rank {
        consumer: usize,
        open: usize,
        class: u8,
    },
    /// Something that is posted on the stream of an item.
    Post {
        consumer: usize,
        open: usize,
    },
    /// A source ends the streams of an item, which may be asked for again.
    EndItem {
        source: usize,
        item: usize,
    },
    /// A source says that a service is down, and after a while that it is up.
    ServiceDown {
        source: usize,
        service: usize,
        ms: u64,
    },
    /// A source takes a service away, and has it again after a while by another
    /// number.
    Withdraw {
        source: usize,
        service: usize,
        ms: u64,
    },
    /// Gone without a word, and back after a while.
    CrashHub {
        hub: usize,
        ms: u64,
    },
    CrashServer {
        server: usize,
        ms: u64,
    },
    CrashSource {
        source: usize,
        ms: u64,
    },
    /// Its thread does not run for a while.
    StallHub {
        hub: usize,
        ms: u64,
    },
    StallServer {
        server: usize,
        ms: u64,
    },
    StallSource {
        source: usize,
        ms: u64,
    },
    StallConsumer {
        consumer: usize,
        ms: u64,
    },
    /// The backbone carries nothing from a hub to a server, or back, or both.
    Cut {
        hub: usize,
        server: usize,
        ways: u8,
        ms: u64,
    },
    /// It loses some of the frames.
    Lose {
        hub: usize,
        server: usize,
        per_million: u32,
        ms: u64,
    },
    /// It takes no frames of a port.
    StickHub {
        hub: usize,
        ms: u64,
    },
    StickServer {
        server: usize,
        ms: u64,
    },
    /// A port is cut off, and comes back as somebody else.
    BreakHub {
        hub: usize,
        ms: u64,
    },
    BreakServer {
        server: usize,
        ms: u64,
    },
    /// Connections are reset.
    ResetServer {
        server: usize,
    },
    ResetSource {
        source: usize,
    },
    /// The way to a listener carries nothing.
    CutServer {
        server: usize,
        ms: u64,
    },
    CutSource {
        source: usize,
        ms: u64,
    },
}

impl Action {
    /// For how many milliseconds it may keep consumers from being told what
    /// they are to be told; none if it does not.
    pub(crate) const fn trouble_ms(self) -> Option<u64> {
        match self {
            Self::CrashServer { ms, .. }
            | Self::StallHub { ms, .. }
            | Self::StallServer { ms, .. }
            | Self::StallConsumer { ms, .. }
            | Self::StallSource { ms, .. }
            | Self::Cut { ms, .. }
            | Self::Lose { ms, .. }
            | Self::StickHub { ms, .. }
            | Self::StickServer { ms, .. }
            | Self::BreakHub { ms, .. }
            | Self::BreakServer { ms, .. }
            | Self::CutServer { ms, .. }
            | Self::CutSource { ms, .. } => Some(ms),
            Self::ResetServer { .. } => Some(0),
            _ => None,
        }
    }
}

/// The most that there are of each kind in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parties {
    /// Hubs.
    pub hubs: usize,
    /// Servers.
    pub servers: usize,
    /// Interactive providers.
    pub sources: usize,
    /// Consumers.
    pub consumers: usize,
    /// Services.
    pub services: usize,
    /// Items of each service.
    pub items: usize,
}

impl Parties {
    /// As many as the seed says.
    pub const ALL: Self = Self {
        hubs: usize::MAX,
        servers: usize::MAX,
        sources: usize::MAX,
        consumers: usize::MAX,
        services: usize::MAX,
        items: usize::MAX,
    };

    /// One fewer than there are of each kind, a kind at a time.
    pub(crate) fn fewer(shape: &Shape) -> impl Iterator<Item = Self> + use<> {
        let now = Self {
            hubs: shape.hubs,
            servers: shape.servers,
            sources: shape.sources,
            consumers: shape.consumers.len(),
            services: shape.services,
            items: shape.items,
        };
        let all = [
            (now.hubs, Self { hubs: now.hubs - 1, ..now }),
            (now.servers, Self { servers: now.servers - 1, ..now }),
            (now.sources, Self { sources: now.sources - 1, ..now }),
            (now.consumers, Self { consumers: now.consumers - 1, ..now }),
            (now.services, Self { services: now.services - 1, ..now }),
            (now.items, Self { items: now.items - 1, ..now }),
        ];
        all.into_iter().filter(|(count, _)| *count > 1).map(|(_, fewer)| fewer)
    }
}

impl fmt::Display for Parties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hubs, servers, sources, consumers, services, items } = self;
        write!(f, "{hubs},{servers},{sources},{consumers},{services},{items}")
    }
}

impl FromStr for Parties {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
        match numbers.as_deref() {
            Ok([hubs, servers, sources, consumers, services, items])
                if !text.split(',').any(|number| number == "0") =>
            {
                let (hubs, servers, sources) = (*hubs, *servers, *sources);
                let (consumers, services, items) = (*consumers, *services, *items);
                Ok(Self { hubs, servers, sources, consumers, services, items })
            }
            _ => Err("six numbers from 1 on: hubs, servers, sources, consumers, services, items"
                .to_owned()),
        }
    }
}

impl Shape {
    /// The same with no more than so many of each kind.
    pub(crate) fn limit(&mut self, most: &Parties) {
        self.hubs = self.hubs.min(most.hubs);
        self.servers = self.servers.min(most.servers);
        self.sources = self.sources.min(most.sources);
        self.consumers.truncate(most.consumers);
        self.services = self.services.min(most.services);
        self.items = self.items.min(most.items);
        // Each hub needs one.
        self.own_sources &= self.hubs == self.sources;
    }
}

/// A world and its story.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) shape: Shape,
    /// What happens, and when.
    pub(crate) actions: Vec<(Duration, Action)>,
    /// For all that is left to chance on the way.
    pub(crate) chance: u64,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let shape = shape(&mut random);
        let count = random.between(20, 160);
        // Some worlds are quiet and have much traffic, in others all breaks.
        let faults_percent = [0, 5, 15, 40][random.below(4)];
        let mut at = Duration::from_millis(random.between(0, 2000));
        let mut actions = Vec::new();
        for _ in 0..count {
            actions.push((at, action(&mut random, faults_percent)));
            // Much at once, and then nothing for a while.
            at += match random.percent(60) {
                true => random.millis(0, 20),
                false => random.millis(0, 1500),
            };
        }
        Self { shape, actions, chance: random.next() }
    }
}

fn shape(random: &mut Random) -> Shape {
    let sources = 1 + random.below(2);
    let hubs = 1 + random.below(2);
    let (small, large) = (random.below(3), random.below(3));
    Shape {
        hubs,
        servers: 1 + random.below(2),
        sources,
        services: 1 + random.below(2),
        items: 1 + random.below(5),
        consumers: (0..=random.below(4)).map(|_| random.percent(35)).collect(),
        hub_cache: random.percent(50),
        server_cache: random.percent(70),
        pause_upstream: random.percent(30),
        own_sources: hubs == sources && random.percent(40),
        socket_delay: Duration::from_micros([0, 100, 3000, 40_000][random.below(4)]),
        socket_jitter: Duration::from_micros([0, 50, 2000][random.below(3)]),
        segment_bytes: [usize::MAX, 1460, 200, 7][random.below(4)],
        window_bytes: [256 << 10, 16 << 10, 2 << 10][small],
        backbone_delay: Duration::from_micros([0, 20, 1000, 30_000][random.below(4)]),
        output_bytes: [5_000 * 6_144, 32 << 10, 6 << 10][large],
        queue_bytes: [4 << 20, 64 << 10, 4 << 10][random.below(3)],
    }
}

fn action(random: &mut Random, faults_percent: u64) -> Action {
    match random.percent(faults_percent) {
        true => fault(random),
        false => deed(random),
    }
}

/// What applications do.
fn deed(random: &mut Random) -> Action {
    let (consumer, open, item) = (random.below(64), random.below(64), random.below(64));
    match random.below(26) {
        0..10 => Action::Update {
            item,
            count: [1, 1, 2, 5, 60, 400][random.below(6)],
            apart_ms: [0, 0, 1, 7, 100][random.below(5)],
        },
        10..14 => {
            Action::Open { consumer, item, view: random.percent(25), paused: random.percent(5) }
        }
        14..16 => Action::Close { consumer, open },
        16 => Action::Pause { consumer, open },
        17 => Action::Resume { consumer, open },
        18 | 19 => {
            let view = [None, Some(true), Some(false)][random.below(3)];
            Action::Change { consumer, open, view }
        }
        20 => Action::Batch { consumer, service: random.below(2) },
        21 => Action::Snapshot { consumer, item },
        22 => Action::Rank { consumer, open, class: 1 + random.below(5) as u8 },
        23 | 24 => Action::Post { consumer, open },
        _ => Action::StallConsumer { consumer, ms: random.between(10, 5000) },
    }
}

/// What the world does to them.
fn fault(random: &mut Random) -> Action {
    let one = random.below(2);
    let (hub, server, source) = (one, random.below(2), one);
    let ms = match random.below(4) {
        0 => random.between(0, 50),
        1 => random.between(0, 700),
        2 => random.between(400, 3000),
        _ => random.between(1000, 30_000),
    };
    match random.below(26) {
        0 => Action::CrashHub { hub, ms },
        1 => Action::CrashServer { server, ms },
        2 => Action::CrashSource { source, ms },
        3 => Action::StallHub { hub, ms },
        4 => Action::StallServer { server, ms },
        5 => Action::StallSource { source, ms },
        6..9 => Action::StallConsumer { consumer: random.below(8), ms },
        9 | 10 => Action::Cut { hub, server, ways: 1 + random.below(3) as u8, ms },
        11..14 => {
            let per_million = [1000, 50_000, 500_000][random.below(3)];
            Action::Lose { hub, server, per_million, ms }
        }
        14 => Action::StickHub { hub, ms },
        15 => Action::StickServer { server, ms },
        16 => Action::BreakHub { hub, ms },
        17 => Action::BreakServer { server, ms },
        18 => Action::ResetServer { server },
        19 => Action::ResetSource { source },
        20 => Action::CutServer { server, ms },
        21 | 22 => Action::EndItem { source, item: random.below(64) },
        23 => Action::ServiceDown { source, service: random.below(2), ms },
        24 => Action::Withdraw { source, service: random.below(2), ms },
        _ => Action::CutSource { source, ms },
    }
}
