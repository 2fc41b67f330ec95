//! The world: who is in it, and how time passes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::Server as Address;
use tapeline_backbone::sim::Network as Backbone;
use tapeline_channel::sim::Network;
use tapeline_time::Time;

use crate::acts::Later;
use crate::item::{Item, Truth};
use crate::log::{Log, Trace};
use crate::member::{HubMember, Member, ServerMember};
use crate::model::Wish;
use crate::plan::{Action, Plan, Shape};
use crate::planted::Planted;
use crate::publisher::Publisher;
use crate::random::Random;
use crate::rights::{ALL_RIGHTS, Policies};
use crate::source::Source;
use crate::strangers::Strangers;
use crate::switch::Switch;
use crate::watcher::Watcher;

/// How long a world without faults may take until all is as it should be, beside
/// what requests wait for places of windows.
const PATIENCE: Duration = Duration::from_secs(180);

/// The number of the publisher that is none of the system.
const FORGER: usize = 9;

pub(crate) struct World {
    pub(crate) shape: Shape,
    pub(crate) random: Random,
    pub(crate) network: Network,
    pub(crate) backbone: Backbone,
    pub(crate) log: Log,
    pub(crate) sources: Vec<Source>,
    pub(crate) publishers: Vec<Publisher>,
    pub(crate) hubs: Vec<HubMember>,
    pub(crate) servers: Vec<ServerMember>,
    pub(crate) watchers: Vec<Watcher>,
    pub(crate) strangers: Strangers,
    pub(crate) truth: Truth,
    pub(crate) later: BTreeMap<(Time, u64), Later>,
    pub(crate) serial: u64,
    pub(crate) turns: u64,
    pub(crate) generics: u64,
    /// Providers do all that they are asked for.
    pub(crate) is_calm: bool,
    /// Until when something else is broken than parties that are gone, or has
    /// its effect.
    pub(crate) troubled_until: Time,
    /// The same of what keeps consumers from servers that are there.
    pub(crate) barred_until: Time,
    /// The same of sources that take few requests at a time, and their time.
    pub(crate) held_up_until: Time,
    pub(crate) policies: Policies,
    /// When something last happened after which others may be asked for items, or
    /// consumers told of them: anything but changes, and the loss of a mirror.
    pub(crate) stirred_at: Time,
    /// A source is lost that others mirror.
    pub(crate) switch: Option<Switch>,
    /// When a publisher ended an item for the last time, or, in trouble, when that was over.
    pub(crate) ended_at: BTreeMap<Item, Time>,
    pub(crate) violations: Vec<String>,
}

pub(crate) fn at(kind: u8, index: usize, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, kind, index as u8 + 1], port))
}

pub(crate) fn listeners(server: usize) -> [SocketAddr; 2] {
    [at(2, server, 14002), at(2, server, 15000)]
}

/// Where a hub takes non-interactive providers.
pub(crate) fn for_publishers(hub: usize) -> SocketAddr {
    at(4, hub, 14003)
}

/// All of these, in an order that begins elsewhere for each who asks.
fn from(index: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |number| (number + index) % count)
}

fn address(at: SocketAddr) -> Address {
    Address::new(at.ip().to_string(), at.port())
}

fn network(shape: &Shape, random: &mut Random) -> (Network, Backbone) {
    let network = Network::new(random.next());
    network.set_delay(shape.socket_delay);
    network.set_jitter(shape.socket_jitter);
    network.set_segment_bytes(shape.segment_bytes);
    network.set_look_at_clock(shape.look_at_clock);
    let servers = (0..shape.servers).flat_map(listeners);
    servers.for_each(|at| network.set_window(at, shape.window_bytes));
    if shape.provider_window_bytes > 0 {
        let sources = (0..shape.sources).map(|index| at(1, index, 14002));
        let providers = sources.chain((0..shape.hubs).map(for_publishers));
        providers.for_each(|at| network.set_window(at, shape.provider_window_bytes));
    }
    let backbone = Backbone::new(random.next());
    backbone.set_delay(shape.backbone_delay);
    backbone.set_window_bytes(shape.receiver_bytes);
    (network, backbone)
}

impl World {
    pub(crate) fn new(plan: &Plan, planted: Planted, trace: Trace) -> Self {
        let shape = plan.shape.clone();
        let mut random = Random::new(plan.chance);
        // What providers leave to chance is apart from the rest, so that stories
        // of before stay what they were.
        let mut of_providers = Random::new(!plan.chance);
        let mut chance = || (planted, Random::new(of_providers.next()));
        let (network, backbone) = network(&shape, &mut random);
        let source = |index| Source::new(index, at(1, index, 14002), &shape, chance());
        let sources = (0..shape.sources).map(source).collect();
        let publisher = |index| {
            let hubs = from(index, shape.hubs).map(|hub| address(for_publishers(hub)));
            let published = shape.services..shape.all_services();
            Publisher::new(index, hubs.collect(), published, &shape, chance())
        };
        let publishers = (0..shape.publishers).map(publisher).collect();
        let forger = || {
            let hubs = (0..shape.hubs).map(|hub| address(for_publishers(hub)));
            let chance = (Planted::Nothing, Random::new(plan.chance));
            Publisher::new(FORGER, hubs.collect(), 0..shape.services, &shape, chance)
        };
        let forger = shape.forger.then(forger);
        let watcher = |(index, is_json): (usize, &bool)| {
            // Half of them try the servers in the other order.
            let known = if planted == Planted::LoneServer { 1 } else { shape.servers };
            let servers = from(index, shape.servers).take(known);
            let servers = servers.map(|server| address(listeners(server)[usize::from(*is_json)]));
            let chance = (random.next(), planted);
            let says = (*is_json, shape.filters && index % 2 == 0);
            Watcher::new(index, servers.collect(), says, &network, chance)
        };
        let watchers = shape.consumers.iter().enumerate().map(watcher).collect();
        let mut world = Self {
            hubs: (0..shape.hubs).map(Member::new).collect(),
            servers: (0..shape.servers).map(Member::new).collect(),
            sources,
            publishers,
            watchers,
            strangers: Strangers::new(&shape, (&network, &backbone), forger),
            shape,
            random,
            network,
            backbone,
            log: Log::new(trace),
            truth: Truth::default(),
            later: BTreeMap::new(),
            serial: 0,
            turns: 0,
            generics: 0,
            is_calm: false,
            troubled_until: Time::ZERO,
            barred_until: Time::ZERO,
            held_up_until: Time::ZERO,
            policies: Policies::new(&plan.shape),
            stirred_at: Time::ZERO,
            switch: None,
            ended_at: BTreeMap::new(),
            violations: Vec::new(),
        };
        world.log.note(format_args!("chance {:#018x}, {:?}", plan.chance, world.shape));
        (0..world.sources.len()).for_each(|index| world.begin(Later::StartSource(index)));
        (0..world.hubs.len()).for_each(|index| world.begin(Later::StartHub(index)));
        (0..world.servers.len()).for_each(|index| world.begin(Later::StartServer(index)));
        (0..world.publishers.len()).for_each(|index| world.begin(Later::StartPublisher(index)));
        world
    }

    pub(crate) fn now(&self) -> Time {
        self.network.now()
    }

    pub(crate) fn heard(&self) -> u64 {
        self.watchers.iter().map(|watcher| watcher.heard).sum()
    }

    /// Lets all of a plan happen.
    ///
    /// Errors: what does not hold.
    pub(crate) fn run(&mut self, actions: &[(Duration, Action)]) -> Result<(), String> {
        for (moment, action) in actions {
            let moment = Time::ZERO.after(*moment);
            while self.now() < moment {
                self.turn(Some(moment))?;
            }
            match action {
                Action::Look => self.look()?,
                action => self.act(*action),
            }
        }
        self.calm()?;
        self.until_right("all is healed", Self::what_lacks)?;
        self.until_right("all is open", Self::what_is_amiss)?;
        self.watchers.iter_mut().for_each(|watcher| watcher.close_all(&mut self.log));
        self.until_right("all is closed", Self::what_is_left)
    }

    /// Waits until all that is open is as it should be.
    fn look(&mut self) -> Result<(), String> {
        self.log.note(format_args!("nothing happens for a while"));
        while !self.later.is_empty() || self.now() <= self.troubled_until {
            self.turn(None)?;
        }
        self.until_right("nothing happened any more", |world| {
            world.what_of_open_lacks().or_else(|| world.what_is_amiss())
        })
    }

    fn until_right(
        &mut self,
        when: &str,
        wrong: impl Fn(&Self) -> Option<String>,
    ) -> Result<(), String> {
        let patience = PATIENCE + self.windows_take();
        let deadline = self.now().after(patience);
        loop {
            let Some(what) = wrong(self) else { return Ok(()) };
            if self.now() > deadline {
                let s = patience.as_secs();
                return Err(format!("{s} s after {when}: {what}"));
            }
            self.turn(None)?;
        }
    }

    fn turn(&mut self, until: Option<Time>) -> Result<(), String> {
        let now = self.now();
        self.log.now = now;
        while let Some(first) = self.later.first_entry().filter(|first| first.key().0 <= now) {
            let later = first.remove();
            self.begin(later);
        }
        let Self { truth, log, violations, .. } = self;
        let mut work = 0;
        for source in &mut self.sources {
            work += source.turn(now, truth, log, violations);
        }
        for publisher in &mut self.publishers {
            work += publisher.turn(now, truth, log);
        }
        work += self.hubs.iter_mut().map(|hub| hub.turn(now)).sum::<usize>();
        work += self.servers.iter_mut().map(|server| server.turn(now)).sum::<usize>();
        for watcher in &mut self.watchers {
            work += watcher.turn(now, truth, log, violations);
        }
        self.strangers.turn(now, log);
        self.turns += 1;
        self.check();
        if let Some(violation) = self.violations.first() {
            return Err(violation.clone());
        }
        let wait = self.pause(work, until);
        self.network.advance(wait);
        Ok(())
    }

    /// How long it takes until the next turn.
    fn pause(&mut self, work: usize, until: Option<Time>) -> Duration {
        let now = self.now();
        // No party comes back sooner, as each takes its time.
        let least = Duration::from_micros(self.random.between(20, 1000));
        let arrivals = [self.network.next_arrival(), self.backbone.next_arrival()];
        // What has arrived and is not read is for somebody who stands still.
        let arrivals = arrivals.into_iter().flatten().filter(|at| work > 0 || *at > now);
        let of_hubs = self.hubs.iter().filter_map(|hub| hub.deadline(now));
        let of_servers = self.servers.iter().filter_map(|server| server.deadline(now));
        let sources = self.sources.iter().filter(|source| now >= source.stalled_until);
        let of_sources = sources.filter_map(Source::deadline);
        let of_publishers = self.publishers.iter().filter_map(Publisher::deadline);
        let of_later = self.later.keys().next().map(|(at, _)| *at);
        let of_providers = of_sources.chain(of_publishers);
        let moments = arrivals.chain(of_hubs).chain(of_servers).chain(of_providers);
        let wait = moments.chain(of_later).chain(until).map(|at| at.since(now)).min();
        let longest = self.shape.longest_turn;
        wait.unwrap_or(longest).clamp(least, longest)
    }

    /// Has all end that is broken, and everybody want everything.
    fn calm(&mut self) -> Result<(), String> {
        self.log.note(format_args!("all is healed"));
        self.is_calm = true;
        let now = self.now();
        for (_, later) in std::mem::take(&mut self.later) {
            self.begin(later);
        }
        for source in &mut self.sources {
            source.stalled_until = now;
            source.calm(now, &self.truth);
        }
        self.publishers.iter_mut().for_each(|publisher| publisher.calm(now));
        self.hubs.iter_mut().for_each(|hub| hub.stalled_until = now);
        self.servers.iter_mut().for_each(|server| server.stalled_until = now);
        for watcher in &mut self.watchers {
            watcher.stalled_until = now;
        }
        self.switch = None;
        (0..self.watchers.len()).for_each(|consumer| self.set_rights(consumer, ALL_RIGHTS));
        self.want_all();
        // What a fault has still to bring about has come by then.
        let is_late = self.shape.locks || !self.shape.is_fast();
        let settled = now.after(Duration::from_secs(if is_late { 20 } else { 5 }));
        while self.now() < settled {
            self.turn(None)?;
        }
        for publisher in &mut self.publishers {
            publisher.send_all(self.network.now(), &self.truth);
        }
        self.want_all();
        Ok(())
    }

    fn want_all(&mut self) {
        for number in 0..self.shape.all_items() {
            let item = self.shape.item(number);
            for watcher in &mut self.watchers {
                watcher.open(item, Wish::default(), &mut self.log);
            }
        }
        for watcher in &mut self.watchers {
            for open in 0..watcher.seen.len() {
                watcher.pause(open, false, &mut self.log);
            }
        }
    }
}
