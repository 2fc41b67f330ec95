//! Hubs and servers in this process: one thread, and what carries frames between
//! them.

mod counts;
mod flags;
mod health;
mod meeting;
mod rest;
mod settings;
mod shards;

pub(crate) use flags::{Common, HubFlags, ServerFlags};
pub(crate) use meeting::Place;
pub(crate) use rest::PARK_MICROS;
pub(crate) use shards::Shards;

use counts::{Counts, Tally};
use health::{Gate, Health, Note, TurnedAway};
use rest::{Rest, Rooms};

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tapeline_backbone::{Backbone, BackbonePort, Bus, Carrier, Counters, Role};
use tapeline_channel::Idle;
use tapeline_hub::Hub;
use tapeline_server::{AcceptAll, Door, Server};
use tapeline_time::{MonotonicClock, Time};

use crate::addresses::Addresses;
use crate::config::{IdleWhen, Settings};
use crate::descriptors;
use crate::failure::Failure;
use tapeline_ending::Stop;

/// How long the last bytes may take to leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long the backbone may fail at the start. Later it is waited for as long
/// as it takes.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// What runs in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) is_hub: bool,
    pub(crate) is_server: bool,
}

/// A hub, a server, or both, with the backbone between them.
pub(crate) struct Node {
    // Ports close before the backbone: hub and server come first.
    hub: Option<Hub<BackbonePort>>,
    server: Option<Server<BackbonePort>>,
    backbone: Backbone,
    carrier: Carrier,
    clock: MonotonicClock,
    rest: Rest,
    health: Health,
    hub_gate: Gate,
    server_gate: Gate,
    counts: Counts,
    hub_tally: Tally,
    server_tally: Tally,
}

impl Node {
    /// Starts what the settings say. Everything listens when it is there; the
    /// backbone [comes later](Self::await_backbone).
    pub(crate) fn start(settings: &Settings, roles: Roles) -> Result<Self, Failure> {
        let carrier = meeting::carrier(settings, roles)?;
        meeting::check(settings, &carrier, roles)?;
        let backbone = Backbone::start(&carrier, settings::engine_settings(settings)?)?;
        Self::start_on(backbone, settings, &carrier, roles)
    }

    /// Starts a server on the backbone of another thread.
    pub(crate) fn start_shard(settings: &Settings, place: &Place) -> Result<Self, Failure> {
        let (carrier, backbone) = match place {
            Place::Rings(network) => (Carrier::LOCAL, network.clone().into()),
            Place::Driver(carrier, directory) => {
                let engine = settings::shard_engine_settings(settings, directory)?;
                (carrier.clone(), Backbone::start(carrier, engine)?)
            }
        };
        Self::start_on(backbone, settings, &carrier, Roles { is_hub: false, is_server: true })
    }

    fn start_on(
        mut backbone: Backbone,
        settings: &Settings,
        carrier: &Carrier,
        roles: Roles,
    ) -> Result<Self, Failure> {
        let max_descriptor = descriptors::max_accepted(settings, descriptors::raise());
        if let Some(shortfall) = backbone.shortfall().filter(|_| carrier.is_network()) {
            tracing::warn!("{shortfall}");
        }
        let hub = match roles.is_hub {
            true => {
                let port = settings::port_settings(settings, Role::Hub)?;
                let port = backbone.port(port)?;
                let mut config = settings::hub_config(settings)?;
                config.reactor.max_accepted_descriptor = Some(max_descriptor);
                let mut hub = Hub::new(config, port)?;
                hub.set_field_rules(settings::field_rules(settings)?);
                Some(hub)
            }
            false => None,
        };
        let server = match roles.is_server {
            true => {
                let port = settings::port_settings(settings, Role::Server)?;
                let port = backbone.port(port)?;
                let policy = Box::new(AcceptAll);
                let mut config = settings::server_config(settings)?;
                config.max_accepted_descriptor = Some(max_descriptor);
                Some(Server::new(config, policy, port)?)
            }
            false => None,
        };
        let idle = match settings.profile.idle {
            IdleWhen::Spin => Idle::Spin,
            IdleWhen::Yield => Idle::Yield,
            IdleWhen::Park => Idle::Park { micros: PARK_MICROS },
        };
        let channel = carrier.to_string();
        match backbone.directory().map(|directory| directory.display().to_string()) {
            Some(directory) => tracing::info!(channel, directory, "backbone"),
            None => tracing::info!(channel, "backbone"),
        }
        let rest = Rest::new(idle);
        let (clock, health) = (MonotonicClock::start(), Health::default());
        let (hub_gate, server_gate) = (Gate::default(), Gate::default());
        let mut node = Self {
            hub,
            server,
            backbone,
            carrier: carrier.clone(),
            clock,
            rest,
            health,
            hub_gate,
            server_gate,
            counts: Counts::every(settings.log.counters_interval_s),
            hub_tally: Tally::of(&settings.hub.name),
            server_tally: Tally::of(&settings.server.name),
        };
        if meeting::is_woken(settings, carrier, roles) {
            let (rest, rooms) = node.resting();
            rest.wake_on_all(&rooms).map_err(tapeline_server::ServerError::from)?;
        }
        Ok(node)
    }

    /// Where consumers mount.
    pub(crate) fn rssl_address(&self) -> Option<SocketAddr> {
        self.server.as_ref().and_then(|server| server.listening().first().copied())
    }

    /// Where consumers mount in this way.
    pub(crate) fn address_at(&self, door: Door) -> Option<SocketAddr> {
        self.server.as_ref().and_then(|server| server.listening_at(door).first().copied())
    }

    /// Where non-interactive providers mount.
    pub(crate) fn ni_address(&self) -> Option<SocketAddr> {
        self.hub.as_ref().and_then(|hub| hub.listening().first().copied())
    }

    /// Where other threads of this process meet it; `None` if they cannot.
    pub(crate) fn place(&self) -> Option<Place> {
        let of_driver =
            |directory: &Path| Place::Driver(self.carrier.clone(), directory.to_owned());
        let rings = self.backbone.network().map(Place::Rings);
        rings.or_else(|| self.backbone.directory().map(of_driver))
    }

    /// Says what listens where, also in the ready file.
    pub(crate) fn announce(&self, ready_file: Option<&Path>) -> Result<(), Failure> {
        let mut all = Addresses::default();
        let addresses = [
            ("rssl", self.rssl_address()),
            ("rssl-tls", self.address_at(Door::RsslTls)),
            ("ws", self.address_at(Door::WebSocket)),
            ("wss", self.address_at(Door::WebSocketTls)),
            ("ni", self.ni_address()),
        ];
        for (name, address) in addresses {
            if let Some(address) = address {
                all.add(name, address);
            }
        }
        if let Some(path) = ready_file {
            all.write(path)?;
        }
        tracing::info!("ready");
        Ok(())
    }

    /// Works until it is time to stop.
    pub(crate) fn run(&mut self, stop: &Stop) -> Result<(), Failure> {
        self.await_backbone(|| !stop.is_asked())?;
        self.run_while(|| !stop.is_asked());
        self.leave();
        Ok(())
    }

    /// Works until it is on the backbone in both directions, as long as `go_on`
    /// says so. What fails is tried again for some seconds: an interface may
    /// come late, and the hub whose media driver is used be about to start.
    pub(crate) fn await_backbone(
        &mut self,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<(), Failure> {
        while !self.is_on_backbone() && go_on() {
            self.step();
            if let Some(failure) = self.failure()
                && self.clock.now().since(Time::ZERO) > START_PATIENCE
            {
                return Err(Failure::Backbone(failure.to_owned()));
            }
        }
        Ok(())
    }

    /// Works while `go_on` says so.
    pub(crate) fn run_while(&mut self, mut go_on: impl FnMut() -> bool) {
        while go_on() {
            self.step();
        }
    }

    /// One turn, and the rest after it.
    fn step(&mut self) {
        let now = self.clock.now();
        let work = self.turn(now);
        self.tell(now);
        self.rest(now, work);
    }

    /// Whether frames of this process can leave and arrive.
    fn is_on_backbone(&self) -> bool {
        self.hub.as_ref().is_none_or(|hub| hub.bus().is_ready())
            && self.server.as_ref().is_none_or(|server| server.bus().is_ready())
    }

    /// Why it is not on the backbone, if something failed.
    fn failure(&self) -> Option<&str> {
        let of_hub = || self.hub.as_ref().and_then(|hub| hub.bus().failure());
        let of_server = || self.server.as_ref().and_then(|server| server.bus().failure());
        self.backbone.failure().or_else(of_hub).or_else(of_server)
    }

    /// Says in the log what became of the backbone.
    fn tell(&mut self, now: Time) {
        if let Some(report) = self.backbone.take_report()
            && let Some(count) = self.health.note_report(now)
        {
            tracing::warn!(report, count, "the media driver or its client reports");
        }
        let mut health = std::mem::take(&mut self.health);
        match health.note(now, self.failure()) {
            None => {}
            Some(Note::Away(after)) => {
                let reason = self.failure().unwrap_or_default();
                let after_s = after.as_secs();
                tracing::warn!(reason, after_s, "the backbone is away; trying again");
            }
            Some(Note::Back(after)) => {
                let after_ms = after.as_millis();
                tracing::info!(after_ms, "the backbone is back");
                self.rest.look_again(now);
            }
        }
        self.health = health;
        if let Some(hub) = &self.hub {
            tell_turned_away(now, hub.bus(), &mut self.hub_gate);
        }
        if let Some(server) = &self.server {
            tell_turned_away(now, server.bus(), &mut self.server_gate);
        }
        if self.counts.are_due(now) {
            self.tell_counts();
        }
    }

    /// Says in the log what hub and server count, as far as it is new.
    fn tell_counts(&mut self) {
        let of_hub = self.hub.as_ref().map(|hub| hub.counters().named());
        if let Some((hub, counts)) = of_hub.and_then(|counts| self.hub_tally.news(&counts)) {
            tracing::info!(hub, counts, "counters");
        }
        let of_server = self.server.as_ref().map(|server| server.statistics().named());
        let news = of_server.and_then(|counts| self.server_tally.news(&counts));
        if let Some((server, counts)) = news {
            tracing::info!(server, counts, "counters");
        }
    }

    /// The backbone's work is behind the hub's, which it sends, and before the
    /// server's, which it receives.
    fn turn(&mut self, now: Time) -> usize {
        let mut work = self.hub.as_mut().map_or(0, |hub| hub.duty_cycle(now));
        work += self.backbone.work(now);
        if let Some(server) = &mut self.server {
            work += server.duty_cycle(now);
        }
        work
    }

    /// What follows a turn that did `work`.
    fn rest(&mut self, now: Time, work: usize) {
        let (rest, rooms) = self.resting();
        rest.rest(now, work, rooms);
    }

    fn resting(&mut self) -> (&mut Rest, Rooms<'_>) {
        let Self { hub, server, backbone, rest, .. } = self;
        (rest, Rooms { hub: hub.as_mut(), server: server.as_mut(), backbone })
    }

    /// Says goodbye to everybody.
    pub(crate) fn leave(&mut self) {
        self.tell_counts();
        let now = self.clock.now();
        if let Some(hub) = &mut self.hub {
            hub.shutdown(now);
        }
        if let Some(server) = &mut self.server {
            server.shutdown(now);
        }
        let began = self.clock.now();
        loop {
            let now = self.clock.now();
            let work = self.turn(now);
            let is_done = self.hub.as_ref().is_none_or(|hub| hub.session_count() == 0)
                && self.server.as_ref().is_none_or(Server::is_idle);
            if is_done || now.since(began) >= FAREWELL {
                break;
            }
            self.rest(now, work);
        }
        tracing::info!("ended");
    }
}

/// Says in the log who is on the channel and not heard.
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
