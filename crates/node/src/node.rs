//! Hubs and servers of one thread.

use std::sync::Arc;
use std::time::Duration;

use tapeline_backbone::local::Network;
use tapeline_backbone::{
    Backbone, BackbonePort, Bus, Carrier, Counters, Driver, DriverFiles, EngineSettings,
    PortSettings, Role,
};
use tapeline_channel::{Kernel, Wait};
use tapeline_counters::{Registry, Writer};
use tapeline_hub::{Hub, HubError};
use tapeline_server::{Server, ServerError};
use tapeline_time::{MonotonicClock, Time};

use crate::changes::{Change, Helm, Step};
use crate::counts::{Counts, Growth, Growths, Tally};
use crate::desk::Desk;
use crate::headroom::{Headroom, Level, Traffic, Word};
use crate::health::{Gate, Health, Note, TurnedAway};
use crate::memory::MemoryWatch;
use crate::meter::{Load, Meter, Metered, PUBLISH_INTERVAL, ThreadCounters};
use crate::rest::Rest;
use crate::{Agent, HubPart, NodeConfig, NodeError, ServerPart};

/// How long the last bytes may take to leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long the backbone may fail at the start. Later it is waited for as long
/// as it takes.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// Hubs and servers of one thread, with the backbone between them.
///
/// It stays on the thread that made it.
pub struct Node {
    // Ports close before the backbone: hubs and servers come first.
    hubs: Vec<Member<Hub<BackbonePort>>>,
    servers: Vec<Member<Server<BackbonePort>>>,
    backbone: Backbone,
    carrier: Carrier,
    engine: EngineSettings,
    clock: MonotonicClock,
    rest: Rest,
    health: Health,
    counts: Counts,
    load: Load,
    meter: Writer<ThreadCounters>,
    desk: Desk,
    helm: Helm,
    headroom: Headroom,
    memory: MemoryWatch,
    /// When counts were published.
    published: Time,
}

/// An agent, where its counts go, and what of it was told in the log.
struct Member<A: Metered> {
    agent: A,
    meter: Meter<A::Own>,
    gate: Gate,
    /// Networks of which the log says that nothing comes over them.
    silent_networks: usize,
    tally: Tally,
    growths: Growths,
}

impl<A: Metered> Member<A> {
    fn new(agent: A, port: &PortSettings, registry: &Registry) -> Result<Self, NodeError> {
        let meter = Meter::enter(&agent, port, registry)?;
        Ok(Self {
            tally: Tally::of(agent.name()),
            agent,
            meter,
            gate: Gate::default(),
            silent_networks: 0,
            growths: Growths::default(),
        })
    }

    /// Says in the log what grew that should not, or seldom does.
    fn tell_growths(&mut self, now: Time) {
        if !self.growths.are_due(now) {
            return;
        }
        let at = self.agent.name();
        for Growth { what, count, is_odd } in self.growths.take(now, &self.agent.counts()) {
            match is_odd {
                true => tracing::warn!(at, count, "{what}"),
                false => tracing::info!(at, count, "{what}"),
            }
        }
    }

    /// Publishes what it counted. Returns its updates.
    fn publish(&mut self) -> Traffic {
        self.meter.publish(&self.agent)
    }

    /// Says in the log what it counted, as far as it is new.
    fn tell_counts(&mut self) {
        let role = self.agent.role();
        let Some((name, counts)) = self.tally.news(&self.agent.counts()) else { return };
        match role {
            Role::Hub => tracing::info!(hub = name, counts, "counters"),
            Role::Server => tracing::info!(server = name, counts, "counters"),
        }
    }
}

/// What hubs and servers of other threads meet on.
#[derive(Clone)]
pub(crate) enum MeetingPoint {
    /// Rings in memory that the threads share.
    Rings(Network),
    /// A media driver.
    Driver(Carrier, Box<EngineSettings>),
}

impl Node {
    /// Starts what the configuration says. Everything listens when this returns;
    /// the backbone [comes later](Self::await_backbone).
    ///
    /// Errors: the backbone cannot be used, a setting cannot be, or an address
    /// cannot be listened on.
    pub fn start(config: NodeConfig) -> Result<Self, NodeError> {
        config.placement.apply(0)?;
        let backbone = Backbone::start(&config.carrier, config.engine.clone())?;
        Self::start_on(backbone, config)
    }

    /// Starts it on the backbone of another thread, as the one with this number.
    pub(crate) fn start_at(
        point: &MeetingPoint,
        number: usize,
        config: NodeConfig,
    ) -> Result<Self, NodeError> {
        config.placement.apply(number)?;
        let backbone = match point {
            MeetingPoint::Rings(network) => network.clone().into(),
            MeetingPoint::Driver(carrier, engine) => {
                Backbone::start(carrier, EngineSettings::clone(engine))?
            }
        };
        Self::start_on(backbone, config)
    }

    fn start_on(mut backbone: Backbone, config: NodeConfig) -> Result<Self, NodeError> {
        let is_woken = config.is_woken();
        let NodeConfig { carrier, engine, hubs, servers, idle, counters_interval, knee, .. } =
            config;
        let (registry, changes) = (config.registry, config.changes);
        if let Some(shortfall) = backbone.shortfall().filter(|_| carrier.is_network()) {
            tracing::warn!("{shortfall}");
        }
        let hubs = hubs.into_iter().map(|part| {
            let port = part.port.clone();
            Member::new(hub(part, &mut backbone)?, &port, &registry)
        });
        let hubs = hubs.collect::<Result<Vec<_>, NodeError>>()?;
        let servers = servers.into_iter().map(|part| {
            let port = part.port.clone();
            Member::new(server(part, &mut backbone)?, &port, &registry)
        });
        let servers = servers.collect::<Result<Vec<_>, NodeError>>()?;
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("main");
        let (meter, desk) = (registry.enter(name, &[])?, Desk::new(registry.open_queue(name)?));
        let channel = carrier.to_string();
        match backbone.directory() {
            Some(directory) => {
                registry.show(DriverFiles::at(directory))?;
                let directory = directory.display().to_string();
                tracing::info!(channel, directory, "backbone");
            }
            None => tracing::info!(channel, "backbone"),
        }
        let mut rest = Rest::new(idle);
        if is_woken {
            let wait = Wait::new().map_err(ServerError::from)?;
            for hub in &hubs {
                hub.agent.watch(&wait).map_err(HubError::from)?;
            }
            for server in &servers {
                server.agent.watch(&wait).map_err(ServerError::from)?;
            }
            rest.wake_by(wait);
        }
        Ok(Self {
            hubs,
            servers,
            backbone,
            carrier,
            engine,
            clock: MonotonicClock::start(),
            rest,
            health: Health::default(),
            counts: Counts::every(counters_interval),
            load: Load::default(),
            meter,
            desk,
            helm: changes.enter(name),
            headroom: Headroom::beside(knee),
            memory: MemoryWatch::default(),
            published: Time::ZERO,
        })
    }

    /// The hubs, in the order of the configuration.
    pub fn hubs(&self) -> impl ExactSizeIterator<Item = &Hub<BackbonePort>> {
        self.hubs.iter().map(|member| &member.agent)
    }

    /// The servers, in the order of the configuration.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &Server<BackbonePort>> {
        self.servers.iter().map(|member| &member.agent)
    }

    /// Time that its turns with something to do took so far.
    pub const fn busy(&self) -> Duration {
        self.load.busy()
    }

    /// Time since it started.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Where other threads of this process meet it.
    pub(crate) fn meeting_point(&self) -> Option<MeetingPoint> {
        if let Some(network) = self.backbone.network() {
            return Some(MeetingPoint::Rings(network));
        }
        let directory = self.backbone.directory()?.to_owned();
        let driver = match self.engine.driver {
            Driver::Embedded { directory: None } => Driver::Neighbour { directory },
            _ => Driver::External { directory },
        };
        let engine = EngineSettings { driver, ..self.engine.clone() };
        Some(MeetingPoint::Driver(self.carrier.clone(), Box::new(engine)))
    }

    /// Works while `go_on` says so, then says goodbye to everybody.
    ///
    /// Errors: it did not get onto the backbone.
    pub fn run(&mut self, mut go_on: impl FnMut() -> bool) -> Result<(), NodeError> {
        self.await_backbone(&mut go_on)?;
        self.run_while(|_| go_on());
        self.leave();
        Ok(())
    }

    /// Works until it is on the backbone in both directions, as long as `go_on`
    /// says so. What fails is tried again for some seconds: an interface may
    /// come late, and the hub whose media driver is used be about to start.
    ///
    /// Errors: it failed for longer.
    pub fn await_backbone(&mut self, mut go_on: impl FnMut() -> bool) -> Result<(), NodeError> {
        while !self.is_on_backbone() && go_on() {
            self.step();
            if let Some(failure) = self.failure()
                && self.clock.now().since(Time::ZERO) > START_PATIENCE
            {
                return Err(NodeError::Away(failure.to_owned()));
            }
        }
        Ok(())
    }

    /// Works while `go_on` says so.
    pub fn run_while(&mut self, mut go_on: impl FnMut(&Self) -> bool) {
        while go_on(self) {
            self.step();
        }
    }

    /// One turn, and the rest after it.
    fn step(&mut self) {
        let now = self.clock.now();
        let work = self.step_at(now);
        self.rest(now, work);
    }

    /// One turn at `now` with all that goes with it, but for the rest: answers to who
    /// looks, counts, the log. Returns how much was done.
    pub fn step_at(&mut self, now: Time) -> usize {
        let mut work = self.turn(now);
        if self.desk.is_due(now, work) {
            if let Some(step) = self.helm.look() {
                self.steer(step);
                work += 1;
            }
            if self.desk.has_question(now) {
                self.answer(now);
                work += 1;
            }
        }
        if work > 0 {
            self.load.note(self.clock.now().since(now));
        }
        let is_due = now.since(self.published) >= PUBLISH_INTERVAL;
        // Always before a rest, which must wait for the sockets that are there. A busy
        // turn is spared it: what is done in each of them is a cost of every update.
        if work == 0 || is_due {
            self.tell_health(now);
        }
        if is_due {
            self.tell(now);
            self.publish(now);
            self.watch_memory(now);
        }
        work
    }

    /// Does a slice of what other threads ask.
    fn answer(&mut self, now: Time) {
        let Self { hubs, servers, desk, clock, load, .. } = self;
        let mut agents: Vec<&mut dyn Agent> = agents(hubs, servers).collect();
        desk.work(now, &mut agents, || clock.now());
        load.note_slice();
    }

    /// Takes a step of a change of the configuration.
    fn steer(&mut self, step: Step) {
        match step {
            Step::Prepare(request) => {
                let prepared = self.prepare(&request.change);
                match &prepared {
                    Ok(()) => self.helm.is_prepared(Arc::clone(&request.change)),
                    Err(_) => self.abandon(),
                }
                request.answer(prepared.map_err(|error| error.to_string()));
            }
            Step::Adopt(change) => self.adopt(&change),
            Step::Abandon => self.abandon(),
        }
    }

    fn prepare(&mut self, change: &Change) -> Result<(), NodeError> {
        let Change { before, after, .. } = change;
        for (member, (before, after)) in
            self.hubs.iter_mut().zip(before.hubs.iter().zip(&after.hubs))
        {
            member.agent.prepare(before, after)?;
        }
        let servers = before.servers.iter().zip(&after.servers);
        for (member, (before, after)) in self.servers.iter_mut().zip(servers) {
            member.agent.prepare(before, after)?;
        }
        Ok(())
    }

    fn adopt(&mut self, change: &Change) {
        for (member, config) in self.hubs.iter_mut().zip(&change.after.hubs) {
            member.agent.adopt(config);
            member.meter.set_limits(&member.agent);
        }
        for (member, config) in self.servers.iter_mut().zip(&change.after.servers) {
            member.agent.adopt(config);
            member.meter.set_limits(&member.agent);
        }
        self.counts.set_interval(change.after.counters_interval);
        self.load.note_epoch(change.epoch);
        tracing::info!(epoch = change.epoch, "another configuration holds");
    }

    fn abandon(&mut self) {
        self.hubs.iter_mut().for_each(|member| member.agent.abandon());
        self.servers.iter_mut().for_each(|member| member.agent.abandon());
    }

    /// Tells servers that have a bound of it how much memory the process has.
    fn watch_memory(&mut self, now: Time) {
        let watch = |member: &Member<Server<BackbonePort>>| member.agent.watches_memory();
        if self.servers.iter().any(watch)
            && let Some(resident_bytes) = self.memory.look(now)
        {
            for server in &mut self.servers {
                server.agent.note_memory(now, resident_bytes);
            }
        }
    }

    /// Shows what all have counted to whoever reads the registry.
    fn publish(&mut self, now: Time) {
        self.published = now;
        self.hubs.iter_mut().for_each(|member| member.tell_growths(now));
        self.servers.iter_mut().for_each(|member| member.tell_growths(now));
        let (mut at_hubs, mut traffic) = (0, Traffic::default());
        for hub in &mut self.hubs {
            at_hubs += hub.publish().updates_in;
        }
        for server in &mut self.servers {
            let of_server = server.publish();
            traffic.updates_in += of_server.updates_in;
            traffic.updates_out += of_server.updates_out;
        }
        // An update that goes through both is one.
        traffic.updates_in = traffic.updates_in.max(at_hubs);
        if let Some(Word { level, percent }) = self.headroom.note(now, traffic) {
            tell_headroom(level, percent);
        }
        self.load.note_knee(self.headroom.percent());
        let is_on_backbone = self.is_on_backbone();
        self.meter.publish(&self.load.counters(now, is_on_backbone));
    }

    /// Whether frames of this thread can leave and arrive.
    pub fn is_on_backbone(&self) -> bool {
        self.ports().all(Bus::is_ready)
    }

    /// Why it is not on the backbone, if something failed.
    pub fn failure(&self) -> Option<&str> {
        self.backbone.failure().or_else(|| self.ports().find_map(Bus::failure))
    }

    fn ports(&self) -> impl Iterator<Item = &BackbonePort> {
        self.hubs().map(Hub::bus).chain(self.servers().map(Server::bus))
    }

    /// Says in the log whether the backbone is away.
    fn tell_health(&mut self, now: Time) {
        if self.failure().is_none() && self.health.is_quiet() {
            return;
        }
        let mut health = std::mem::take(&mut self.health);
        match health.note(now, self.failure()) {
            None => {}
            Some(Note::Away(after)) => {
                let reason = self.failure().unwrap_or_default();
                let after_s = after.as_secs();
                match self.is_on_backbone() {
                    true => tracing::warn!(
                        reason,
                        after_s,
                        "a way to the backbone is away; trying again"
                    ),
                    false => tracing::warn!(reason, after_s, "the backbone is away; trying again"),
                }
            }
            Some(Note::Back(after)) => {
                let after_ms = after.as_millis();
                tracing::info!(after_ms, "the backbone is back");
                self.rest.look_again(now);
            }
        }
        self.health = health;
    }

    /// Says in the log what else became of the backbone, and now and then how much
    /// was done.
    fn tell(&mut self, now: Time) {
        if let Some(report) = self.backbone.take_report()
            && let Some(count) = self.health.note_report(now)
        {
            tracing::warn!(report, count, "the media driver or its client reports");
        }
        for Member { agent, gate, silent_networks, .. } in &mut self.hubs {
            tell_turned_away(now, agent.bus(), gate);
            tell_networks(agent.bus(), silent_networks);
        }
        for Member { agent, gate, silent_networks, .. } in &mut self.servers {
            tell_turned_away(now, agent.bus(), gate);
            tell_networks(agent.bus(), silent_networks);
        }
        if self.counts.are_due(now) {
            self.tell_counts();
        }
    }

    fn tell_counts(&mut self) {
        self.hubs.iter_mut().for_each(Member::tell_counts);
        self.servers.iter_mut().for_each(Member::tell_counts);
    }

    /// One turn at `now`, without a rest. Returns how much was done.
    pub fn turn(&mut self, now: Time) -> usize {
        self.turn_by(now, |agent| agent.duty_cycle(now))
    }

    /// The same, where `turn` has each agent do its part, to measure it for
    /// example.
    ///
    /// The backbone's work is behind that of the hubs, which send, and before
    /// that of the servers, which receive.
    pub fn turn_by(&mut self, now: Time, mut turn: impl FnMut(&mut dyn Agent) -> usize) -> usize {
        let mut work = 0;
        for hub in &mut self.hubs {
            work += turn(&mut hub.agent);
        }
        work += self.backbone.work(now);
        for server in &mut self.servers {
            work += turn(&mut server.agent);
        }
        work
    }

    /// What follows a turn that did `work`.
    fn rest(&mut self, now: Time, work: usize) {
        let Self { hubs, servers, backbone, rest, .. } = self;
        rest.rest(now, work, backbone, agents(hubs, servers));
    }

    /// Says goodbye to everybody: works for as long as the last bytes take, at
    /// most a second.
    pub fn leave(&mut self) {
        self.tell_counts();
        let began = self.clock.now();
        agents(&mut self.hubs, &mut self.servers).for_each(|agent| agent.shutdown(began));
        loop {
            let now = self.clock.now();
            let work = self.turn(now);
            let is_over = agents(&mut self.hubs, &mut self.servers).all(|agent| agent.is_over());
            if is_over || now.since(began) >= FAREWELL {
                break;
            }
            self.rest(now, work);
        }
        tracing::info!("ended");
    }
}

fn agents<'a>(
    hubs: &'a mut [Member<Hub<BackbonePort>>],
    servers: &'a mut [Member<Server<BackbonePort>>],
) -> impl Iterator<Item = &'a mut dyn Agent> {
    let hubs = hubs.iter_mut().map(|member| &mut member.agent as &mut dyn Agent);
    hubs.chain(servers.iter_mut().map(|member| &mut member.agent as &mut dyn Agent))
}

fn hub(part: HubPart, backbone: &mut Backbone) -> Result<Hub<BackbonePort>, NodeError> {
    let port = backbone.port(part.port.clone())?;
    Ok(part.start(port, Kernel::new().map_err(HubError::from)?)?)
}

fn server(part: ServerPart, backbone: &mut Backbone) -> Result<Server<BackbonePort>, NodeError> {
    let port = backbone.port(part.port.clone())?;
    Ok(part.start(port, Kernel::new().map_err(ServerError::from)?)?)
}

/// Says in the log how near the thread is to what it can do.
fn tell_headroom(level: Level, percent: u64) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("main");
    match level {
        Level::Full => tracing::error!(
            thread,
            percent,
            "updates come late soon: the busiest 10 ms of a second took nearly all that this thread can do"
        ),
        Level::Near => tracing::warn!(
            thread,
            percent,
            "the busiest 10 ms of a second took much of what this thread can do"
        ),
        Level::Calm => tracing::info!(thread, percent, "there is room again"),
    }
}

/// Says in the log who is on the channel and not heard.
/// Says in the log that nothing comes over one of several networks, or again.
fn tell_networks(port: &BackbonePort, told: &mut usize) {
    let silent = port.counters().paths_silent;
    let before = std::mem::replace(told, silent);
    let at = port.name();
    if silent > before {
        tracing::warn!(at, silent, "a network of the backbone is silent; others carry on");
    } else if silent < before {
        tracing::info!(at, silent, "a network of the backbone is back");
    }
}

fn tell_turned_away(now: Time, port: &BackbonePort, gate: &mut Gate) {
    let Counters { crowded, strangers, unproved, .. } = port.counters();
    let Some(new) = gate.note(now, TurnedAway { crowded, strangers, unproved }) else { return };
    let last = port.last_stranger();
    if new.strangers > 0 {
        let frames = new.strangers;
        tracing::warn!(frames, last, "another system is on this channel; it is not heard");
    }
    if new.unproved > 0 {
        let frames = new.unproved;
        tracing::warn!(frames, last, "somebody without the system's key is not heard");
    }
    if new.crowded > 0 {
        let frames = new.crowded;
        tracing::warn!(frames, "peers beyond the bound are not heard; see max-servers of the hub");
    }
}
