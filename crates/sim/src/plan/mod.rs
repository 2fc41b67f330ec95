//! What a seed stands for: a world, and what happens in it.

mod action;
mod shape;
mod stories;

use std::time::Duration;

pub(crate) use action::{Action, Saying};
pub use shape::Parties;
use shape::RECEIVER_BYTES;
pub(crate) use shape::{Images, MirrorWay, Shape};

use crate::random::Random;

/// A world and its story.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) shape: Shape,
    /// What happens, and when.
    pub(crate) actions: Vec<(Duration, Action)>,
    /// For all that is left to chance on the way.
    pub(crate) chance: u64,
}

/// What kind of a world it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// Few parties, to which much happens.
    Small,
    /// Dozens of mounts.
    Crowded,
    /// Thousands of items.
    Wide,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let size = match random.below(400) {
            0 => Size::Wide,
            1..8 => Size::Crowded,
            _ => Size::Small,
        };
        let shape = shape(&mut random, size);
        let count = match size {
            Size::Small => random.between(20, 160),
            Size::Crowded => random.between(40, 200),
            Size::Wide => random.between(10, 40),
        };
        // Some worlds are quiet and have much traffic, in others all breaks.
        let faults_percent = [0, 5, 15, 40][random.below(4)];
        let mut at = Duration::from_millis(random.between(0, 2000));
        let mut actions = Vec::new();
        for _ in 0..count {
            actions.push((at, action(&mut random, faults_percent, size)));
            // Much at once, and then nothing for a while.
            at += match random.percent(60) {
                true => random.millis(0, 20),
                false => random.millis(0, 1500),
            };
        }
        let mut plan = Self { shape, actions, chance: random.next() };
        plan.add_more(seed, size);
        plan.shape.filters = Random::new(seed ^ FILTERS).percent(20);
        add_roles(&mut Random::new(seed ^ ROLES), &plan.shape, &mut plan.actions);
        plan.shape.mirror_way = one(&mut Random::new(seed ^ MIRROR_WAYS), MirrorWay::ALL);
        plan.add_story(seed, size);
        plan.shape.receiver_bytes = receiver_bytes(&mut Random::new(seed ^ RECEIVERS));
        plan.shape.grouped = !plan.shape.mirrored && Random::new(seed ^ GROUPS).percent(15);
        plan.add_burdens(&mut Random::new(seed ^ BURDENS));
        plan
    }
}

impl Plan {
    /// What was thought of later, so that the rest of each seed stays what it was.
    fn add_more(&mut self, seed: u64, size: Size) {
        let mut random = Random::new(!seed);
        if random.percent(10) {
            self.shape.server_window = one(&mut random, [1, 2, 5]);
        }
        self.shape.forger = random.percent(5);
        if random.percent(8) && size != Size::Crowded {
            self.shape.queue_bytes = self.shape.queue_bytes.min(1 << 10);
            self.add_rush(&mut random);
        }
    }

    /// Has some worlds' hubs balance what is open between sources, which say now and then
    /// how loaded they are.
    fn add_burdens(&mut self, random: &mut Random) {
        let Some((end, _)) = self.actions.last().copied() else { return };
        let has_several = self.shape.sources > 1 && !self.shape.mirrored;
        if !has_several || !random.percent(30) {
            return;
        }
        self.shape.balanced = true;
        for _ in 0..random.between(1, 12) {
            let at = Duration::from_micros(random.between(0, end.as_micros() as u64));
            let percent = one(random, [0, 20, 25, 80]);
            let (source, service) = (random.below(4), random.below(4));
            self.actions.push((at, Action::Burden { source, service, percent }));
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }

    /// Much is closed and opened again while a server can say nothing of it.
    fn add_rush(&mut self, random: &mut Random) {
        let last = self.actions.last().map_or(Duration::ZERO, |(at, _)| *at);
        let mut at = last.mul_f64(random.below(100) as f64 / 100.0);
        let (consumer, server) = (random.below(64), random.below(2));
        let mut add = |at: Duration, action| self.actions.push((at, action));
        for service in 0..4 {
            add(at, Action::Batch { consumer, service });
        }
        for _ in 0..=random.below(4) {
            at += random.millis(0, 8000);
            let ms = one(random, [5, 100, 1500]);
            add(at, Action::StickServer { server, ms });
            add(at + random.millis(0, 4), Action::CloseAll { consumer });
            for service in 0..4 {
                at += random.millis(0, ms / 2);
                add(at, Action::Batch { consumer, service });
            }
        }
        add(at + Duration::from_secs(2), Action::UpdateAll);
        self.actions.sort_by_key(|(at, _)| *at);
    }
}

/// What consumers say of roles is left to a chance of its own: worlds without it
/// are what they were before there was any.
const ROLES: u64 = 0x0057_414e_4442_5953;

/// The same of what they say of types of updates.
const FILTERS: u64 = 0x5345_5059_5445_4854;

/// The same of what sources call their services.
const GROUPS: u64 = 0x5350_554f_5247_5453;

/// How loaded they say that they are.
const BURDENS: u64 = 0x4255_5244_454e_5321;

/// How sources mirror each other.
const MIRROR_WAYS: u64 = 0x4d49_5252_4f52_5359;

/// The same of what members of the backbone have room for.
const RECEIVERS: u64 = 0x5345_5649_4543_4552;

fn receiver_bytes(random: &mut Random) -> usize {
    if random.percent(10) { one(random, [64 << 10, 256 << 10]) } else { RECEIVER_BYTES }
}

/// Has some worlds' consumers take their data from elsewhere now and then.
fn add_roles(random: &mut Random, shape: &Shape, actions: &mut Vec<(Duration, Action)>) {
    // Of an image in parts without numbers nobody could say whether its end is of
    // before or after.
    let images = &shape.images;
    let is_told_apart = images.most_parts == 1 || images.numbered_percent == 100;
    let Some((end, _)) = actions.last().copied() else { return };
    if !is_told_apart || !random.percent(20) {
        return;
    }
    for _ in 0..random.between(1, 12) {
        let at = Duration::from_micros(random.between(0, end.as_micros() as u64));
        let ms = one(random, [0, 5, 200, 1500, 8000]);
        actions.push((at, Action::StandBy { consumer: random.below(64), ms }));
    }
    actions.sort_by_key(|(at, _)| *at);
}

/// One of these.
fn one<T: Copy, const N: usize>(random: &mut Random, of: [T; N]) -> T {
    of[random.below(N)]
}

fn shape(random: &mut Random, size: Size) -> Shape {
    let (sources, hubs) = (1 + random.below(2), 1 + random.below(2));
    let (items, consumers) = match size {
        Size::Small => (1 + random.below(5), 1 + random.below(4)),
        Size::Crowded => (1 + random.below(8), 12 + random.below(30)),
        Size::Wide => (300 + random.below(1200), 1 + random.below(5)),
    };
    let has_published = random.percent(30);
    let (publishers, published) = match has_published {
        true => (1 + random.below(2), 1 + random.below(2)),
        false => (0, 0),
    };
    let images = images(random, size);
    // A long image in small pieces takes for ever.
    let is_long = images.padding_bytes > 0 || size == Size::Wide;
    let least_bytes = if is_long { 64 << 10 } else { 0 };
    let is_limited = random.percent(20);
    Shape {
        hubs,
        servers: 1 + random.below(2),
        sources,
        services: 1 + random.below(2),
        publishers,
        published,
        items,
        books: if random.percent(30) { 1 + random.below(3) } else { 0 },
        consumers: (0..consumers).map(|_| random.percent(35)).collect(),
        hub_cache: random.percent(50),
        server_cache: random.percent(70),
        pause_upstream: random.percent(30),
        own_sources: hubs == sources && random.percent(40),
        groups: random.percent(40),
        images,
        open_window: if is_limited { one(random, [1, 2, 50]) } else { 0 },
        open_limit: if is_limited && size == Size::Small { one(random, [0, 2, 4]) } else { 0 },
        socket_delay: Duration::from_micros(one(random, [0, 100, 3000, 40_000])),
        socket_jitter: Duration::from_micros(one(random, [0, 50, 2000])),
        segment_bytes: one(random, [usize::MAX, 1460, 200, 7]).max(least_bytes / 16),
        window_bytes: one(random, [256 << 10, 16 << 10, 2 << 10]).max(least_bytes),
        provider_window_bytes: one(random, [0, 0, 16 << 10, 2 << 10]).max(least_bytes),
        backbone_delay: Duration::from_micros(one(random, [0, 20, 1000, 30_000])),
        output_bytes: one(random, [5_000 * 6_144, 32 << 10, 6 << 10]),
        provider_output_bytes: one(random, [0, 0, 64 << 10]) * if is_long { 1000 } else { 1 },
        merged_bytes: one(random, [0, 0, 0, 400]),
        queue_bytes: one(random, [4 << 20, 64 << 10, 4 << 10]),
        receiver_bytes: RECEIVER_BYTES,
        server_window: 0,
        strangers: random.percent(10),
        forger: false,
        mirrored: false,
        mirror_way: MirrorWay::Images,
        balanced: false,
        locks: false,
        filters: false,
        grouped: false,
        look_at_clock: Duration::from_micros(one(random, [0, 0, 5, 250])),
        longest_turn: Duration::from_millis(one(random, [50, 200])),
    }
}

fn images(random: &mut Random, size: Size) -> Images {
    if size == Size::Wide || random.percent(50) {
        return Images::WHOLE;
    }
    Images {
        most_parts: one(random, [1, 2, 3, 4]),
        apart_ms: one(random, [0, 5, 300, 2500]),
        numbered_percent: one(random, [100, 60, 0]),
        endless_percent: one(random, [0, 0, 10, 40]),
        padding_bytes: one(random, [0, 0, 0, 0, 3_000, 90_000]),
    }
}

fn action(random: &mut Random, faults_percent: u64, size: Size) -> Action {
    match random.percent(faults_percent) {
        true if random.percent(40) => word(random),
        true => fault(random),
        false if size == Size::Wide && random.percent(50) => many(random),
        false => deed(random),
    }
}

/// What applications do with thousands of items.
fn many(random: &mut Random) -> Action {
    let consumer = random.below(64);
    match random.below(6) {
        0..3 => Action::Batch { consumer, service: random.below(4) },
        3 | 4 => Action::UpdateAll,
        _ => Action::CloseAll { consumer },
    }
}

/// What applications do.
fn deed(random: &mut Random) -> Action {
    let (consumer, open, item) = (random.below(64), random.below(64), random.below(64));
    match random.below(34) {
        0..10 => Action::Update {
            item,
            count: one(random, [1, 1, 2, 5, 60, 400]),
            apart_ms: one(random, [0, 0, 1, 7, 100]),
        },
        10..14 => {
            Action::Open { consumer, item, view: random.percent(25), paused: random.percent(5) }
        }
        14..16 => Action::Close { consumer, open },
        16 => Action::Pause { consumer, open },
        17 => Action::Resume { consumer, open },
        18 | 19 => {
            let view = one(random, [None, Some(true), Some(false)]);
            Action::Change { consumer, open, view }
        }
        20 => Action::Batch { consumer, service: random.below(4) },
        21 => Action::Snapshot { consumer, item },
        22 => Action::Rank { consumer, open, class: 1 + random.below(5) as u8 },
        23 | 24 => Action::Post { consumer, open },
        25 => Action::PostAside { consumer, item },
        26 | 27 => Action::Generic { consumer, open },
        28 => Action::Private { consumer, item },
        29 => Action::CloseAll { consumer },
        30 | 31 => Action::Unasked { source: random.below(2), item },
        32 if random.percent(30) => Action::Look,
        32 => Action::UpdateAll,
        _ => Action::StallConsumer { consumer, ms: random.between(10, 5000) },
    }
}

/// For how long something is the matter.
fn while_ms(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.between(0, 50),
        1 => random.between(0, 700),
        2 => random.between(400, 3000),
        _ => random.between(1000, 30_000),
    }
}

/// What providers say that changes what becomes of their items.
fn word(random: &mut Random) -> Action {
    let (source, service, item) = (random.below(2), random.below(2), random.below(64));
    let ms = while_ms(random);
    match random.below(12) {
        0..2 => Action::EndItem { source, item },
        2 => Action::EndForGood { source, item },
        3 => Action::ServiceDown { source, service, ms },
        4 => Action::Withdraw { source, service, ms },
        5 => Action::Refuse { source, service, ms },
        6 => {
            let (window, limit) = (one(random, [0, 1, 2, 10]), one(random, [0, 0, 1, 3]));
            Action::Load { source, service, window, limit }
        }
        7 | 8 => Action::Mute { source, ms },
        9 => Action::Republish { publisher: random.below(2), item, ms },
        _ => {
            use Saying::{Closed, Merged, ServiceClosed, ServiceSuspect, Suspect};
            let saying = one(random, [Suspect, Closed, Merged, ServiceSuspect, ServiceClosed]);
            Action::Group { source, service, group: random.below(2), saying, ms }
        }
    }
}

/// What the world does to them.
fn fault(random: &mut Random) -> Action {
    let one_of_two = random.below(2);
    let (hub, server, source) = (one_of_two, random.below(2), one_of_two);
    let ms = while_ms(random);
    match random.below(33) {
        0 => Action::CrashHub { hub, ms },
        1 => Action::CrashServer { server, ms },
        2 | 31 => Action::CrashSource { source, ms },
        3 => Action::StallHub { hub, ms },
        4 => Action::StallServer { server, ms },
        5 => Action::StallSource { source, ms },
        6..9 => Action::StallConsumer { consumer: random.below(64), ms },
        9 | 10 => Action::Cut { hub, server, ways: 1 + random.below(3) as u8, ms },
        11..14 => {
            let per_million = one(random, [1000, 50_000, 500_000]);
            Action::Lose { hub, server, per_million, ms }
        }
        14 => Action::StickHub { hub, ms },
        15..17 => Action::StickServer { server, ms },
        17 => Action::BreakHub { hub, ms },
        18 => Action::BreakServer { server, ms },
        19 => Action::ResetServer { server },
        20 => Action::ResetSource { source },
        21 => Action::CutServer { server, ms },
        22 => Action::CrashPublisher { publisher: one_of_two, ms },
        23 => Action::ResetPublishers { hub },
        24 => Action::CutPublishers { hub, ms },
        25 | 26 => Action::CrashConsumer { consumer: random.below(64) },
        27 => Action::StopHub { hub, ms },
        28 => Action::StopServer { server, ms },
        29 => Action::Suspend { ms },
        30 => Action::Junk { bytes: random.below(200) },
        _ => Action::CutSource { source, ms },
    }
}
