//! The world: who is in it, what happens to them, and what must hold.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::Server as Address;
use tapeline_backbone::Incarnation;
use tapeline_backbone::sim::Network as Backbone;
use tapeline_channel::sim::Network;
use tapeline_time::Time;

use crate::log::{Log, Trace};
use crate::member::{HubMember, Member, ServerMember};
use crate::model::{Item, Phase, Truth};
use crate::plan::{Action, Plan, Shape};
use crate::planted::Planted;
use crate::random::Random;
use crate::source::Source;
use crate::watcher::Watcher;

/// The longest that nobody is asked whether there is something to do: parties
/// have timers that they do not tell.
const LONGEST_TURN: Duration = Duration::from_millis(20);

/// The tables of hubs and servers are compared in one turn of so many.
const CHECKED_TURNS: u64 = 8;

/// Within this, consumers are told that nobody is left who has their items, if
/// nothing else is wrong.
const TOLD_WITHIN: Duration = Duration::from_secs(8);

/// Within this each request is answered, if only with a state, as long as
/// nothing is broken that keeps it from being.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// How long a world without faults may take until all is as it should be.
const PATIENCE: Duration = Duration::from_secs(180);

/// What ends by itself, or begins.
#[derive(Clone, Copy, Debug)]
enum Later {
    Change(Item),
    StartHub(usize),
    StartServer(usize),
    StartSource(usize),
    Join(Incarnation, Incarnation),
    Unstick(Incarnation),
    Mend(Incarnation),
    Heal(SocketAddr),
    ServiceUp(usize, usize),
    Restore(usize, usize),
}

pub(crate) struct World {
    shape: Shape,
    random: Random,
    pub(crate) network: Network,
    backbone: Backbone,
    pub(crate) log: Log,
    sources: Vec<Source>,
    hubs: Vec<HubMember>,
    servers: Vec<ServerMember>,
    watchers: Vec<Watcher>,
    truth: Truth,
    later: BTreeMap<(Time, u64), Later>,
    serial: u64,
    turns: u64,
    /// Until when something else is broken than parties that are gone, or has
    /// its effect.
    troubled_until: Time,
    violations: Vec<String>,
}

fn at(kind: u8, index: usize, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, kind, index as u8 + 1], port))
}

fn listeners(server: usize) -> [SocketAddr; 2] {
    [at(2, server, 14002), at(2, server, 15000)]
}

impl World {
    pub(crate) fn new(plan: &Plan, planted: Planted, trace: Trace) -> Self {
        let shape = plan.shape.clone();
        let mut random = Random::new(plan.chance);
        let network = Network::new(random.next());
        network.set_delay(shape.socket_delay);
        network.set_jitter(shape.socket_jitter);
        network.set_segment_bytes(shape.segment_bytes);
        let backbone = Backbone::new(random.next());
        backbone.set_delay(shape.backbone_delay);
        let sources = (0..shape.sources)
            .map(|index| Source::new(index, at(1, index, 14002), shape.services, planted))
            .collect();
        let watcher = |(index, is_json): (usize, &bool)| {
            let protocol = usize::from(*is_json);
            // Half of them try the servers in the other order.
            let servers = (0..shape.servers).map(|server| (server + index) % shape.servers);
            let servers = servers.map(|server| {
                let at = listeners(server)[protocol];
                network.set_window(at, shape.window_bytes);
                Address::new(at.ip().to_string(), at.port())
            });
            let chance = (random.next(), planted);
            Watcher::new(index, servers.collect(), *is_json, &network, chance)
        };
        let watchers = shape.consumers.iter().enumerate().map(watcher).collect();
        let mut world = Self {
            hubs: (0..shape.hubs).map(Member::new).collect(),
            servers: (0..shape.servers).map(Member::new).collect(),
            sources,
            watchers,
            shape,
            random,
            network,
            backbone,
            log: Log::new(trace),
            truth: Truth::new(),
            later: BTreeMap::new(),
            serial: 0,
            turns: 0,
            troubled_until: Time::ZERO,
            violations: Vec::new(),
        };
        world.log.note(format_args!("{:?}", world.shape));
        (0..world.sources.len()).for_each(|index| world.begin(Later::StartSource(index)));
        (0..world.hubs.len()).for_each(|index| world.begin(Later::StartHub(index)));
        (0..world.servers.len()).for_each(|index| world.begin(Later::StartServer(index)));
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
            self.act(*action);
        }
        self.calm()?;
        self.until_right("all is healed", Self::what_lacks)?;
        self.close_all();
        self.until_right("all is closed", Self::what_is_left)
    }

    fn until_right(
        &mut self,
        when: &str,
        wrong: impl Fn(&Self) -> Option<String>,
    ) -> Result<(), String> {
        let deadline = self.now().after(PATIENCE);
        loop {
            let Some(what) = wrong(self) else { return Ok(()) };
            if self.now() > deadline {
                let (when, s) = (when, PATIENCE.as_secs());
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
        let mut work = 0;
        for source in &mut self.sources {
            work += source.turn(now, &self.truth, &mut self.log);
        }
        for hub in &mut self.hubs {
            work += hub.running(now).map_or(0, |hub| hub.duty_cycle(now));
        }
        for server in &mut self.servers {
            work += server.running(now).map_or(0, |server| server.duty_cycle(now));
        }
        for watcher in &mut self.watchers {
            work += watcher.turn(now, &self.truth, &mut self.log, &mut self.violations);
        }
        self.turns += 1;
        self.check_stale();
        self.check_answered();
        if self.turns.is_multiple_of(CHECKED_TURNS) {
            self.check_tables();
        }
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
        let hubs = self.hubs.iter().filter(|hub| now >= hub.stalled_until);
        let of_hubs = hubs.filter_map(|hub| hub.party.as_ref()?.next_deadline());
        let servers = self.servers.iter().filter(|server| now >= server.stalled_until);
        let of_servers = servers.filter_map(|server| server.party.as_ref()?.next_deadline());
        let of_later = self.later.keys().next().map(|(at, _)| *at);
        let moments = arrivals.chain(of_hubs).chain(of_servers).chain(of_later).chain(until);
        let wait = moments.map(|at| at.since(now)).min().unwrap_or(LONGEST_TURN);
        wait.clamp(least, LONGEST_TURN)
    }

    fn check_tables(&self) {
        for hub in &self.hubs {
            if let Some(hub) = &hub.party {
                hub.check();
            }
        }
        for server in &self.servers {
            if let Some(server) = &server.party {
                server.check();
            }
        }
    }

    /// Something is broken for a while that may keep others from being told.
    fn trouble(&mut self, action: Action) {
        if let Some(ms) = action.trouble_ms() {
            let until = self.now().after(Duration::from_millis(ms));
            self.troubled_until = self.troubled_until.max(until);
        }
    }

    /// Whether consumers know that all sources, or all hubs, are gone.
    fn check_stale(&mut self) {
        let later = |latest: Time, since: Option<Time>| Some(latest.max(since?));
        let sources = self.sources.iter().map(Source::gone_since).try_fold(Time::ZERO, later);
        let hubs = self.hubs.iter().map(HubMember::gone_since).try_fold(Time::ZERO, later);
        let Some(gone) = [sources, hubs].into_iter().flatten().min() else { return };
        let told_by = gone.max(self.troubled_until).after(TOLD_WITHIN);
        if self.now() <= told_by {
            return;
        }
        for watcher in &self.watchers {
            if let Some(seen) = watcher.seen.iter().find(|seen| seen.phase == Phase::Ok) {
                let (index, item, s) = (watcher.index, seen.item, TOLD_WITHIN.as_secs());
                self.violations.push(format!(
                    "consumer {index}: {item} is still OK {s} s after the last that had it was gone"
                ));
            }
        }
    }

    /// Whether each request has an answer, if only that it waits.
    fn check_answered(&mut self) {
        let asked_by = self.now().since(Time::ZERO).checked_sub(ANSWERED_WITHIN);
        let Some(asked_by) = asked_by.map(|before| Time::ZERO.after(before)) else { return };
        if self.troubled_until > asked_by {
            return;
        }
        for watcher in &self.watchers {
            let is_late = |since: Time| since < asked_by;
            if let Some(seen) =
                watcher.seen.iter().find(|it| it.unanswered_since.is_some_and(is_late))
            {
                let (index, item, s) = (watcher.index, seen.item, ANSWERED_WITHIN.as_secs());
                self.violations.push(format!("consumer {index}: {item} has no answer after {s} s"));
            }
        }
    }

    fn later(&mut self, wait_ms: u64, what: Later) {
        self.serial += 1;
        let moment = self.now().after(Duration::from_millis(wait_ms));
        self.later.insert((moment, self.serial), what);
    }

    fn begin(&mut self, what: Later) {
        if !matches!(what, Later::Change(_)) {
            self.log.note(format_args!("{what:?}"));
        }
        let seed = self.random.next();
        let nets = (&self.network, &self.backbone);
        match what {
            Later::Change(item) => self.change(item),
            Later::StartHub(index) if self.hubs[index].party.is_none() => {
                let sources: Vec<_> = self.sources.iter().map(|source| source.at).collect();
                self.hubs[index].start(&self.shape, &sources, nets, seed);
            }
            Later::StartServer(index) if self.servers[index].party.is_none() => {
                self.servers[index].start(&self.shape, listeners(index), nets, seed);
            }
            Later::StartSource(index) if !self.sources[index].is_up() => {
                self.sources[index].start(&self.network, seed);
            }
            Later::StartHub(_) | Later::StartServer(_) | Later::StartSource(_) => {}
            Later::Join(one, other) => self.backbone.join(one, other),
            Later::Unstick(member) => self.backbone.set_stuck(member, false),
            Later::Mend(member) => self.backbone.mend_port(member),
            Later::Heal(address) => self.network.heal(address),
            Later::ServiceUp(source, service) => self.sources[source].set_service(service, true),
            Later::Restore(source, service) => self.sources[source].withdraw(service, false),
        }
    }

    fn change(&mut self, item: Item) {
        let now = self.now();
        let seq = self.truth.entry(item).or_default();
        *seq += 1;
        for source in &mut self.sources {
            source.change(now, item, *seq);
        }
    }

    fn item(&self, number: usize) -> Item {
        let (services, items) = (self.shape.services, self.shape.items);
        Item { service: number % services, name: number / services % items }
    }

    fn act(&mut self, action: Action) {
        self.log.now = self.now();
        self.log.note(format_args!("{action:?}"));
        match action {
            Action::Update { item, count, apart_ms } => {
                let item = self.item(item);
                for number in 0..count {
                    self.later(number as u64 * apart_ms, Later::Change(item));
                }
            }
            Action::Open { consumer, item, view, paused } => {
                let item = self.item(item);
                let (watcher, log) = self.watcher(consumer);
                watcher.open(item, view, paused, log);
            }
            Action::Close { consumer, open } => {
                let (watcher, log) = self.watcher(consumer);
                watcher.close(open, log);
            }
            Action::Pause { consumer, open } => {
                let (watcher, log) = self.watcher(consumer);
                watcher.pause(open, true, log);
            }
            Action::Resume { consumer, open } => {
                let (watcher, log) = self.watcher(consumer);
                watcher.pause(open, false, log);
            }
            Action::Change { consumer, open, view } => {
                let (watcher, log) = self.watcher(consumer);
                watcher.change(open, view, log);
            }
            Action::Batch { consumer, service } => {
                let service = service % self.shape.services;
                let all = 0..self.shape.items;
                let items: Vec<_> = all.map(|name| Item { service, name }).collect();
                let (watcher, log) = self.watcher(consumer);
                watcher.open_batch(&items, log);
            }
            Action::Snapshot { consumer, item } => {
                let item = self.item(item);
                let (watcher, log) = self.watcher(consumer);
                watcher.snapshot(item, log);
            }
            Action::Rank { consumer, open, class } => {
                let (watcher, log) = self.watcher(consumer);
                watcher.rank(open, class, log);
            }
            Action::Post { consumer, open } => {
                let (watcher, log) = self.watcher(consumer);
                watcher.post(open, log);
            }
            fault => self.fault(fault),
        }
    }

    fn watcher(&mut self, number: usize) -> (&mut Watcher, &mut Log) {
        let index = number % self.watchers.len();
        (&mut self.watchers[index], &mut self.log)
    }

    fn fault(&mut self, action: Action) {
        self.trouble(action);
        let (hubs, servers) = (self.hubs.len(), self.servers.len());
        let sources = self.sources.len();
        let until = |ms: u64| self.network.now().after(Duration::from_millis(ms));
        match action {
            Action::CrashHub { hub, ms } => {
                let now = self.now();
                self.hubs[hub % hubs].crash(now);
                self.later(ms, Later::StartHub(hub % hubs));
            }
            Action::CrashServer { server, ms } => {
                self.servers[server % servers].party = None;
                self.later(ms, Later::StartServer(server % servers));
            }
            Action::CrashSource { source, ms } => {
                let now = self.now();
                self.sources[source % sources].crash(now);
                self.later(ms, Later::StartSource(source % sources));
            }
            Action::StallHub { hub, ms } => self.hubs[hub % hubs].stalled_until = until(ms),
            Action::StallServer { server, ms } => {
                self.servers[server % servers].stalled_until = until(ms);
            }
            Action::StallSource { source, ms } => {
                self.sources[source % sources].stalled_until = until(ms);
            }
            Action::StallConsumer { consumer, ms } => {
                let count = self.watchers.len();
                self.watchers[consumer % count].stalled_until = until(ms);
            }
            Action::ResetServer { server } => {
                for address in listeners(server % servers) {
                    self.network.reset(address);
                }
            }
            Action::ResetSource { source } => {
                self.network.reset(self.sources[source % sources].at);
            }
            Action::EndItem { source, item } => {
                let item = self.item(item);
                self.sources[source % sources].end_item(item);
            }
            Action::ServiceDown { source, service, ms } => {
                self.sources[source % sources].set_service(service, false);
                self.later(ms, Later::ServiceUp(source % sources, service));
            }
            Action::Withdraw { source, service, ms } => {
                self.sources[source % sources].withdraw(service, true);
                self.later(ms, Later::Restore(source % sources, service));
            }
            Action::CutServer { server, ms } => {
                for address in listeners(server % servers) {
                    self.network.cut(address);
                    self.later(ms, Later::Heal(address));
                }
            }
            Action::CutSource { source, ms } => {
                let address = self.sources[source % sources].at;
                self.network.cut(address);
                self.later(ms, Later::Heal(address));
            }
            fault => self.fault_of_backbone(fault),
        }
    }

    fn fault_of_backbone(&mut self, action: Action) {
        let hub_at = |hub: usize| self.hubs[hub % self.hubs.len()].incarnation;
        let server_at = |server: usize| self.servers[server % self.servers.len()].incarnation;
        let (ms, later) = match action {
            Action::Cut { hub, server, ways, ms } => {
                let (hub, server) = (hub_at(hub), server_at(server));
                if ways & 1 > 0 {
                    self.backbone.cut(hub, server);
                }
                if ways & 2 > 0 {
                    self.backbone.cut(server, hub);
                }
                (ms, Later::Join(hub, server))
            }
            Action::Lose { hub, server, per_million, ms } => {
                let (hub, server) = (hub_at(hub), server_at(server));
                self.backbone.set_loss(hub, server, per_million);
                self.backbone.set_loss(server, hub, per_million);
                (ms, Later::Join(hub, server))
            }
            Action::StickHub { hub, ms } => {
                self.backbone.set_stuck(hub_at(hub), true);
                (ms, Later::Unstick(hub_at(hub)))
            }
            Action::StickServer { server, ms } => {
                self.backbone.set_stuck(server_at(server), true);
                (ms, Later::Unstick(server_at(server)))
            }
            Action::BreakHub { hub, ms } => {
                self.backbone.break_port(hub_at(hub));
                (ms, Later::Mend(hub_at(hub)))
            }
            Action::BreakServer { server, ms } => {
                self.backbone.break_port(server_at(server));
                (ms, Later::Mend(server_at(server)))
            }
            _ => return,
        };
        self.later(ms, later);
    }

    /// Has all end that is broken, and everybody want everything.
    fn calm(&mut self) -> Result<(), String> {
        self.log.note(format_args!("all is healed"));
        let now = self.now();
        for (_, later) in std::mem::take(&mut self.later) {
            self.begin(later);
        }
        self.sources.iter_mut().for_each(|source| source.stalled_until = now);
        self.hubs.iter_mut().for_each(|hub| hub.stalled_until = now);
        self.servers.iter_mut().for_each(|server| server.stalled_until = now);
        for watcher in &mut self.watchers {
            watcher.stalled_until = now;
        }
        self.want_all();
        // What a fault has still to bring about has come by then.
        let settled = now.after(Duration::from_secs(5));
        while self.now() < settled {
            self.turn(None)?;
        }
        self.want_all();
        Ok(())
    }

    fn want_all(&mut self) {
        for number in 0..self.shape.services * self.shape.items {
            let item = self.item(number);
            for watcher in &mut self.watchers {
                watcher.open(item, false, false, &mut self.log);
            }
        }
        for watcher in &mut self.watchers {
            for open in 0..watcher.seen.len() {
                watcher.pause(open, false, &mut self.log);
            }
        }
    }

    fn what_lacks(&self) -> Option<String> {
        let all = self.shape.services * self.shape.items;
        for watcher in &self.watchers {
            let lacks = watcher.seen.iter().find_map(|seen| seen.lacks(&self.truth));
            let count = watcher.seen.iter().filter(|seen| !seen.is_snapshot).count();
            let missing = || (count < all).then(|| format!("only {count} items of {all} are open"));
            let posts = watcher.unanswered_posts();
            let unanswered = || (posts > 0).then(|| format!("{posts} posts have no answer"));
            if let Some(what) = lacks.or_else(missing).or_else(unanswered) {
                return Some(format!("consumer {}: {what}", watcher.index));
            }
        }
        None
    }

    fn close_all(&mut self) {
        for watcher in &mut self.watchers {
            while !watcher.seen.is_empty() {
                watcher.close(0, &mut self.log);
            }
        }
    }

    fn what_is_left(&self) -> Option<String> {
        let of_server = |server: &ServerMember| {
            let has = server.party.as_ref()?.statistics();
            let count = has.items + has.backlog + has.merged_bytes + has.closes_waiting;
            (count > 0).then(|| format!("server {} has {has:?}", server.index))
        };
        let of_hub = |hub: &HubMember| {
            let has = hub.party.as_ref()?.counters();
            let count = has.items + has.backlog;
            (count > 0).then(|| format!("hub {} has {has:?}", hub.index))
        };
        let of_source = |source: &Source| {
            let count = source.open_streams();
            (count > 0).then(|| format!("source {} has {count} streams", source.index))
        };
        let at_servers = self.servers.iter().find_map(of_server);
        let at_hubs = || self.hubs.iter().find_map(of_hub);
        at_servers.or_else(at_hubs).or_else(|| self.sources.iter().find_map(of_source))
    }
}
