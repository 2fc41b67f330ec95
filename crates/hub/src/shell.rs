//! The hub with its sockets and its port on the backbone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_backbone::{Bus, FrameHeader, Incarnation, Kind, Publish, Published};
use tapeline_cache::FieldRules;
use tapeline_channel::{
    ChannelError, Clock, ConnectionLog, Kernel, ListenerId, Outbox, Reactor, ReactorConfig, Sent,
    SessionEvent, SessionId, System, TimeSlice, Via, Wait,
};
use tapeline_entitle::{EdgePort, LoginQuestion};
use tapeline_time::Time;
use thiserror::Error;

use crate::change::Prepared;
use crate::dialled::Dialled;
use crate::door::{Door, listen_config};
use crate::hold::{Hold, Turn};
use crate::log;
use crate::restraint::{Restraint, Spell};
use crate::sampler::Sampler;
use crate::view::Guest;
use crate::{Core, Counters, Endpoint, Event, HubConfig, Outputs};

/// Frames of the backbone that are read in one turn,
const FRAMES_PER_TURN: usize = 512;

/// and before the clock is looked at. An item that is opened or closed takes up
/// to ten microseconds.
const FRAMES_PER_LOOK: usize = 32;

/// Messages of all providers that are read in one turn,
const MESSAGES_PER_TURN: usize = 2_048;

/// and before the clock is looked at. An image takes a few microseconds, an
/// update a part of one.
const MESSAGES_PER_LOOK: usize = 16;

/// After so long a turn begins nothing new. Each thing it does has a share of
/// the turn, however long the others took: what comes before the first look at
/// the clock, and one slice of what is due.
const TURN_TIME: Duration = Duration::from_micros(700);

/// Parts of a body that may have stamps in front of them.
const MAX_PARTS: usize = 4;

/// Slices of long work that are done in one turn.
const SLICES_PER_TURN: usize = 4;

/// From so much of the queue to the backbone on, in percent, hardly anything is read:
/// what remains is for what cannot be merged.
const NEARLY_FULL_PERCENT: u8 = 80;

/// A turn counts as no more of that time: while this thread stood still, a
/// server on the same thread could not read either.
const MAX_HOLD_STEP: Duration = Duration::from_millis(1);

/// Why a hub could not be started.
#[derive(Debug, Error)]
pub enum HubError {
    /// The sockets.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A route leads nowhere.
    #[error("route {route:?} has no endpoint; give it at least one host and port")]
    NoEndpoint {
        /// Its name.
        route: String,
    },
    /// Providers are to connect over TLS, and there is nothing to show them.
    #[error("TLS needs a certificate and its private key; give both, or no port for TLS")]
    NoCertificate,
}

/// A hub: its core, its sockets, its port on the backbone.
///
/// It runs on the thread of whoever calls [`duty_cycle`](Self::duty_cycle):
///
/// ```no_run
/// # fn run(mut hub: tapeline_hub::Hub<impl tapeline_backbone::Bus>) {
/// let clock = tapeline_time::MonotonicClock::start();
/// let mut idle = tapeline_channel::Idle::Park { micros: 50 };
/// loop {
///     let work = hub.duty_cycle(clock.now());
///     idle.idle(work);
/// }
/// # }
/// ```
pub struct Hub<B, S: System = Kernel> {
    pub(crate) core: Core,
    pub(crate) bus: B,
    pub(crate) reactor: Reactor<S>,
    pub(crate) clock: S::Clock,
    pub(crate) routes: Vec<Dialled>,
    /// Providers that have connected.
    pub(crate) guests: Vec<Guest>,
    /// For non-interactive providers, in the order of [`Door::ALL`].
    pub(crate) listeners: [Option<ListenerId>; 2],
    /// Another configuration that may hold soon.
    pub(crate) prepared: Option<Prepared>,
    /// Routes that the core wants connected.
    pub(crate) wanted: Vec<usize>,
    hold: Hold,
    /// How much of non-interactive providers is read under pressure,
    restraint: Restraint,
    /// and what the log says of that pressure.
    spell: Spell,
    /// Servers that are there, by name.
    pub(crate) servers: Vec<(Incarnation, String)>,
    pub(crate) last_turn: Time,
    is_leaving: bool,
    log: ConnectionLog,
    /// Where policies come from.
    pub(crate) edge: Option<EdgePort>,
    pub(crate) sampler: Sampler,
}

/// The outputs of the core, inside of one turn.
pub(crate) struct Shell<'a, 'o, P, S: System> {
    pub(crate) outbox: &'a mut Outbox<'o, S>,
    pub(crate) port: &'a mut P,
    pub(crate) wanted: &'a mut Vec<usize>,
    pub(crate) edge: Option<&'a EdgePort>,
    pub(crate) sampler: &'a mut Sampler,
    pub(crate) clock: &'a S::Clock,
}

impl<P: Publish, S: System> Shell<'_, '_, P, S> {
    /// Publishes a message of an item with stamps in front of it.
    #[cold]
    fn publish_stamped(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        let mut all: [&[u8]; MAX_PARTS + 1] = [&[]; MAX_PARTS + 1];
        let stamps = self.sampler.take(|| self.clock.host_now());
        let Some(stamps) = stamps.filter(|_| parts.len() <= MAX_PARTS) else {
            return self.port.publish(header, parts);
        };
        let stamps = stamps.encode();
        all[0] = &stamps;
        all[1..=parts.len()].copy_from_slice(parts);
        let header = FrameHeader { kind: Kind::Stamped, ..header };
        self.port.publish(header, &all[..=parts.len()])
    }
}

impl<P: Publish, S: System> Outputs for Shell<'_, '_, P, S> {
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        self.outbox.send(session, message)
    }

    fn connect(&mut self, route: usize) {
        self.wanted.push(route);
    }

    fn admit(&mut self, session: SessionId) {
        self.outbox.admit(session);
    }

    fn ask_login(&mut self, question: LoginQuestion) -> bool {
        self.edge.is_some_and(|edge| edge.ask(question))
    }

    fn close(&mut self, session: SessionId, reason: &str) {
        tracing::debug!(%session, reason, "closing the session of a provider");
        self.outbox.close(session, reason);
    }

    fn warn(&mut self, session: SessionId, what: &str) {
        tracing::warn!(%session, what, "a provider is refused something");
    }

    #[inline]
    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        let published = match header.kind == Kind::Item && self.sampler.is_due() {
            false => self.port.publish(header, parts),
            true => self.publish_stamped(header, parts),
        };
        if published == Published::TooLarge {
            tracing::error!(item = header.item, "a message is too long for the backbone");
        }
        published
    }

    fn is_congested(&self) -> bool {
        self.port.is_congested()
    }

    #[inline]
    fn queue_percent(&self) -> u8 {
        self.port.queue_percent()
    }
}

impl<B: Bus> Hub<B> {
    /// A hub that listens, and connects its routes in its first turn.
    ///
    /// # Errors
    /// The system gives no sockets, the address for providers cannot be
    /// listened on, or a route has no endpoint.
    pub fn new(config: HubConfig, bus: B) -> Result<Self, HubError> {
        Self::with_system(config, bus, Kernel::new()?)
    }

    /// Has `wait` end when a provider says something.
    pub fn watch(&self, wait: &Wait) -> Result<(), ChannelError> {
        wait.watch(&self.reactor)
    }
}

impl<B: Bus, S: System> Hub<B, S> {
    /// The same with sockets of another system.
    ///
    /// # Errors
    /// As of [`new`](Hub::new).
    pub fn with_system(config: HubConfig, bus: B, system: S) -> Result<Self, HubError> {
        let messages_per_poll = config.reactor.messages_per_poll.min(MESSAGES_PER_TURN);
        let sockets = ReactorConfig { messages_per_poll, ..config.reactor.clone() };
        let clock = system.clock();
        let mut reactor = Reactor::with_system(sockets, system);
        let mut listeners = [None; 2];
        for (door, listener) in Door::ALL.into_iter().zip(&mut listeners) {
            if let Some(address) = door.address(&config) {
                *listener = Some(reactor.listen(address, &listen_config(&config, door)?)?);
            }
        }
        let routes = config
            .routes
            .iter()
            .map(|route| Dialled::new(route, &config))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            sampler: Sampler::new(config.stamp_every),
            core: Core::new(config),
            bus,
            reactor,
            clock,
            routes,
            guests: Vec::new(),
            listeners,
            prepared: None,
            wanted: Vec::new(),
            hold: Hold::default(),
            restraint: Restraint::default(),
            spell: Spell::default(),
            servers: Vec::new(),
            last_turn: Time::ZERO,
            is_leaving: false,
            log: ConnectionLog::new(),
            edge: None,
        })
    }

    /// The field dictionary by which kept images ripple. Without one they do
    /// not.
    pub fn set_field_rules(&mut self, rules: Arc<dyn FieldRules + Send + Sync>) {
        self.core.set_field_rules(rules);
    }

    /// Has a policy say which non-interactive providers may log in and publish
    /// what. To be called before the first turn.
    pub fn meet_edge(&mut self, edge: EdgePort) {
        if edge.identifies() {
            self.core.identify_logins();
        }
        self.edge = Some(edge);
        self.take_policies(Time::ZERO);
    }

    /// Takes over the policies that came, and who it is that logs in.
    fn take_policies(&mut self, now: Time) -> usize {
        let mut count = 0;
        while let Some(change) = self.edge.as_ref().and_then(EdgePort::policy) {
            self.tell(now, Event::Policy(&change));
            count += 1;
        }
        while let Some(answer) = self.edge.as_ref().and_then(EdgePort::answer) {
            self.tell(now, Event::Identified(&answer));
            count += 1;
        }
        count
    }

    /// Tells the core something that came from the edge.
    fn tell(&mut self, now: Time, event: Event<'_>) {
        let Self { core, bus, reactor, wanted, edge, sampler, clock, .. } = self;
        let (outbox, edge, port) = (&mut reactor.outbox(), edge.as_ref(), bus.outbound());
        core.handle(now, event, &mut Shell { outbox, port, wanted, edge, sampler, clock });
    }

    /// Where non-interactive providers connect, with the port that the system
    /// chose if the configuration left that to it.
    pub fn listening(&self) -> Vec<SocketAddr> {
        self.listening_at(Door::Clear)
    }

    /// The same over TLS.
    pub fn listening_tls(&self) -> Vec<SocketAddr> {
        self.listening_at(Door::Tls)
    }

    fn listening_at(&self, door: Door) -> Vec<SocketAddr> {
        let listener = self.listeners[door as usize];
        listener.and_then(|listener| self.reactor.local_addr(listener)).into_iter().collect()
    }

    /// What the hub has done so far, and what it holds now.
    pub fn counters(&self) -> Counters {
        let (holds, held) = self.hold.totals();
        let publishers_held = self.restraint.times();
        let held_ms = held.as_millis() as u64;
        let without_login = self.reactor.strangers() as u64;
        Counters { without_login, holds, held_ms, publishers_held, ..self.core.counters() }
    }

    /// The limits of what it has, by the names of its [`Counters`].
    pub const fn limits(&self) -> [(&'static str, u64); 8] {
        let HubConfig { limits, pressure, .. } = self.core.config();
        [
            ("items", limits.max_items as u64),
            ("services", limits.max_services as u64),
            ("servers", limits.max_servers as u64),
            ("merged_bytes", pressure.merged_bytes as u64),
            ("providers", limits.max_providers as u64),
            ("provider_items", limits.max_items_per_provider as u64),
            ("without_login", limits.max_without_login as u64),
            ("posts_waiting", limits.max_posts as u64),
        ]
    }

    /// For tests, between two turns: [`Core::check`].
    ///
    /// # Panics
    /// Two tables contradict each other.
    pub fn check(&self) {
        self.core.check();
    }

    /// For tests: items of non-interactive providers that are kept, counted by
    /// looking at all items.
    pub fn published_items(&self) -> usize {
        self.core.published_items()
    }

    /// The port on the backbone.
    pub fn bus(&self) -> &B {
        &self.bus
    }

    /// The sockets.
    pub fn reactor(&self) -> &Reactor<S> {
        &self.reactor
    }

    /// Does everything there is to do now, without waiting: frames of servers,
    /// messages of providers, timers, output. Returns how much that was; after
    /// a turn with nothing the caller may idle.
    pub fn duty_cycle(&mut self, now: Time) -> usize {
        let policies = if self.edge.is_some() { self.take_policies(now) } else { 0 };
        let work = policies + self.serve(now) + self.dial();
        if self.log.deadline().is_some_and(|deadline| deadline <= now) {
            self.log.report(now, log::write);
        }
        work + self.bus.work(now)
    }

    /// When the next turn has something to do although nothing comes, but for
    /// the backbone, which tells how long it can wait.
    pub fn next_deadline(&self) -> Option<Time> {
        let deadlines =
            [self.core.next_deadline(), self.reactor.next_deadline(), self.log.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// Whether the providers have nothing to say now. To be asked before a wait.
    pub fn is_quiet(&mut self) -> bool {
        self.reactor.is_quiet()
    }

    /// Says goodbye to servers and closes all sessions. A few more turns send
    /// what is queued; [`session_count`](Self::session_count) tells when.
    pub fn shutdown(&mut self, now: Time) {
        self.is_leaving = true;
        for listener in &mut self.listeners {
            if let Some(listener) = listener.take() {
                self.reactor.stop_listening(listener);
            }
        }
        self.reactor.close_all("hub shuts down");
        self.reactor.flush(now);
        self.bus.leave(now);
    }

    /// Sessions with providers, and attempts at them.
    pub fn session_count(&self) -> usize {
        self.reactor.session_count()
    }

    /// Whether sources are not read for now, so that the backbone can catch up.
    fn is_held(&mut self, now: Time) -> bool {
        let step = now.since(self.last_turn).min(MAX_HOLD_STEP);
        self.last_turn = now;
        if !self.bus.is_congested() {
            self.hold.end();
            return false;
        }
        let counters = self.bus.counters();
        self.hold.goes_on(&Turn {
            step,
            sent: counters.sent,
            is_long_image: counters.long_queue_bytes > 0,
            is_nearly_full: self.bus.outbound().queue_percent() >= NEARLY_FULL_PERCENT,
        })
    }

    /// Under pressure, has non-interactive providers read no faster than frames go out.
    fn restrain(&mut self, now: Time) {
        self.spell.tell(now, &self.core);
        let is_on = self.core.is_pressed() && self.core.config().pressure.read;
        if !is_on && !self.restraint.is_on() {
            return;
        }
        let sent = self.bus.counters().sent;
        let is_held = self.restraint.turn(now, is_on.then_some(sent));
        let mut outbox = self.reactor.outbox();
        for guest in &self.guests {
            outbox.hold(guest.session, is_held);
        }
    }

    /// Does what is due, then reads servers and providers, until the turn has
    /// taken its time.
    fn serve(&mut self, now: Time) -> usize {
        let is_held = self.is_held(now);
        self.restrain(now);
        let may_hold = !self.bus.is_congested();
        let Self {
            restraint,
            core,
            bus,
            reactor,
            clock,
            wanted,
            servers,
            routes,
            guests,
            log,
            edge,
            ..
        } = self;
        let edge = edge.as_ref();
        let (clock, sampler) = (&*clock, &mut self.sampler);
        sampler.begin_turn(|| clock.host_now());
        let mut time = TimeSlice::new(clock, TURN_TIME);
        let mut outbox = reactor.outbox();
        let mut work = 0;
        while work < SLICES_PER_TURN
            && core.next_deadline().is_some_and(|deadline| deadline <= now)
            && (!time.is_over() || work == 0)
        {
            let outbox = &mut outbox;
            let port = bus.outbound();
            core.handle_timeout(now, &mut Shell { outbox, port, wanted, edge, sampler, clock });
            work += 1;
        }
        for _ in 0..FRAMES_PER_TURN / FRAMES_PER_LOOK {
            let came = bus.poll(now, FRAMES_PER_LOOK, |event, port| {
                log::server(&event, core, servers);
                let outbox = &mut outbox;
                let mut out = Shell { outbox, port, wanted, edge, sampler, clock };
                core.handle(now, Event::Bus(event), &mut out);
            });
            work += came;
            if came < FRAMES_PER_LOOK || time.is_over() {
                break;
            }
        }
        let port = bus.outbound();
        core.look_at_backbone(
            now,
            &mut Shell { outbox: &mut outbox, port, wanted, edge, sampler, clock },
        );
        if is_held {
            return work;
        }
        let mut messages = 0;
        work + reactor.poll(now, Some(Duration::ZERO), |event, outbox| {
            messages += 1;
            if messages % MESSAGES_PER_LOOK == 0 {
                let mut out = Shell { outbox, port, wanted, edge, sampler, clock };
                core.look_at_backbone(now, &mut out);
                if time.is_over() || may_hold && port.is_congested() {
                    outbox.end_poll();
                }
            }
            restraint.count(&event, guests);
            let Some(event) = translated(now, &event, (&mut *routes, &mut *guests), log) else {
                return;
            };
            core.handle(now, event, &mut Shell { outbox, port, wanted, edge, sampler, clock });
        })
    }

    fn dial(&mut self) -> usize {
        if self.is_leaving {
            self.wanted.clear();
        }
        let count = self.wanted.len();
        for index in self.wanted.drain(..) {
            let Some(route) = self.routes.get_mut(index) else { continue };
            let Some(Endpoint { host, port }) = route.endpoints.get(route.next) else { continue };
            tracing::debug!(route = route.name, host, port, "connecting");
            route.is_open = false;
            route.session = Some(self.reactor.connect(host, *port, &route.connect));
            route.next = (route.next + 1) % route.endpoints.len();
        }
        count
    }
}

/// What an event of a session means to the core.
fn translated<'a>(
    now: Time,
    event: &SessionEvent<'a>,
    (routes, guests): (&mut [Dialled], &mut Vec<Guest>),
    log: &mut ConnectionLog,
) -> Option<Event<'a>> {
    Some(match event {
        SessionEvent::Message { session, bytes } => Event::Message { session: *session, bytes },
        SessionEvent::TooLong { session, head, length, max } => {
            tracing::warn!(%session, length, max, "a message of a provider is too long");
            Event::TooLong { session: *session, head, length: *length, max: *max }
        }
        SessionEvent::Drained { session } => Event::Drained { session: *session },
        SessionEvent::Opened { session, via: Via::Connect, peer, .. } => {
            let route = routes.iter().position(|route| route.session == Some(*session))?;
            routes[route].is_open = true;
            routes[route].past.opened(now);
            tracing::info!(route = routes[route].name, %peer, "connected");
            Event::RouteOpened { route, session: *session }
        }
        SessionEvent::Opened { session, via: Via::Listener(_), peer, .. } => {
            log.note(now, event, log::write);
            guests.push(Guest { session: *session, peer: *peer, opened_at: now });
            Event::ProviderOpened { session: *session, peer: *peer }
        }
        SessionEvent::Closed { session, reason } => {
            let route = routes.iter().position(|route| route.session == Some(*session));
            let Some(route) = route else {
                log.note(now, event, log::write);
                guests.retain(|guest| guest.session != *session);
                return Some(Event::Closed { session: *session });
            };
            let was_open = routes[route].is_open;
            routes[route].session = None;
            routes[route].is_open = false;
            routes[route].past.closed(now, reason.to_string());
            tracing::warn!(route = routes[route].name, %reason, "route is down");
            match was_open {
                true => Event::Closed { session: *session },
                false => Event::RouteFailed { route },
            }
        }
        SessionEvent::Rejected { .. } | SessionEvent::AcceptFailed { .. } => {
            log.note(now, event, log::write);
            return None;
        }
        // Its listener has none.
        SessionEvent::Text(_) => return None,
    })
}

impl<B, S: System> std::fmt::Debug for Hub<B, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("core", &self.core).finish_non_exhaustive()
    }
}
