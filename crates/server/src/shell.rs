//! The server with sockets and a place on the backbone.

mod outputs;

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_backbone::{Bus, BusEvent};
use tapeline_channel::{
    ChannelError, Clock, ConnectionLog, Kernel, ListenerId, Reactor, ReactorConfig, SessionEvent,
    SessionId, System, TextEvent, TimeSlice, Wait, join_freed,
};
use tapeline_entitle::EdgePort;
use tapeline_time::Time;
use thiserror::Error;

use self::outputs::Shell;
use crate::change::{self, Prepared};
use crate::hops::Hops;
use crate::log::{self, NoteLog};
use crate::mount_drain::MountDrain;
use crate::pace::{MOST_AT_ONCE, Pace};
use crate::siblings::{SharedCount, Siblings};
use crate::trace::{Trace, TraceWanted};
use crate::{
    ConfigError, Core, Event, Interpreter, JsonEvent, LoginPolicy, Outputs, ServerConfig,
    Statistics, When,
};

/// What is written in one flush of the output: see
/// [`ReactorConfig::writes_per_flush`].
const WRITES_PER_FLUSH: usize = 512;

/// After so long a turn begins nothing new but its output. Each thing it does
/// has a share of the turn, however long the others took: the messages of mounts
/// that come before the first look at the clock, and one slice of what is due.
const TURN_TIME: Duration = Duration::from_micros(600);

/// Most slices of long work that are done in one turn.
const SLICES_PER_TURN: usize = 16;

/// How long these go on in a turn in which updates came.
const TIME_BESIDE_UPDATES: Duration = Duration::from_micros(200);

/// Messages and ends of mounts before the clock is looked at. One may take tens
/// of microseconds.
const MESSAGES_PER_LOOK: usize = 8;

/// How long a flush goes on. There may be two in a turn that does not read much.
const FLUSH_TIME: Duration = Duration::from_micros(400);

/// How long mounts are left unread while the backbone takes no more. After
/// that they are read, and what does not fit is lost: hubs see the hole and ask
/// what it was.
const MAX_HOLD: Duration = Duration::from_millis(20);

/// A turn counts as no more of that time: while this thread stood still, a hub
/// on the same thread could not read either.
const MAX_HOLD_STEP: Duration = Duration::from_millis(1);

/// Why a server does not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A setting cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The sockets.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

/// How mounts connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// RSSL, also over WebSocket or HTTP.
    Rssl,
    /// The same over TLS.
    RsslTls,
    /// WebSocket, with JSON or RWF; RSSL too.
    WebSocket,
    /// The same over TLS.
    WebSocketTls,
}

/// A server: its core, its sockets, its port on the backbone.
///
/// It runs on the thread of whoever calls [`duty_cycle`](Self::duty_cycle):
///
/// ```no_run
/// # fn run(mut server: tapeline_server::Server<impl tapeline_backbone::Bus>) {
/// let clock = tapeline_time::MonotonicClock::start();
/// let mut idle = tapeline_channel::Idle::Park { micros: 50 };
/// loop {
///     let work = server.duty_cycle(clock.now());
///     idle.idle(work);
/// }
/// # }
/// ```
pub struct Server<B, S: System = Kernel> {
    pub(crate) interpreter: Interpreter,
    bus: B,
    pub(crate) reactor: Reactor<S>,
    clock: S::Clock,
    pub(crate) listeners: Vec<(Transport, ListenerId)>,
    /// Another configuration that may hold soon.
    pub(crate) prepared: Option<Prepared>,
    /// It gives its mounts away.
    pub(crate) drain: Option<MountDrain>,
    pub(crate) mounts_drained: u64,
    log: ConnectionLog,
    notes: NoteLog,
    pace: Pace,
    /// Output does not wait to be packed.
    pub(crate) is_eager: bool,
    /// For how long the backbone has taken no more.
    held: Duration,
    last_turn: Time,
    /// Where limits hold for several servers: who they are, and what of their
    /// output is this one's.
    siblings: Option<(Siblings, SharedCount)>,
    /// Where policies come from, and records go to.
    edge: Option<EdgePort>,
    pub(crate) hops: Hops,
    /// The item that an operator looks at, or did last.
    pub(crate) trace: Option<Box<Trace>>,
}

impl<B: Bus> Server<B> {
    /// A server that listens, and meets its hubs in its first turns.
    ///
    /// Errors: a setting that cannot be; the system gives no sockets; an
    /// address cannot be listened on.
    pub fn new(
        config: ServerConfig,
        policy: Box<dyn LoginPolicy>,
        bus: B,
    ) -> Result<Self, ServerError> {
        Self::with_system(config, policy, bus, Kernel::new()?)
    }

    /// Has `wait` end when a mount says something.
    pub fn watch(&self, wait: &Wait) -> Result<(), ChannelError> {
        wait.watch(&self.reactor)
    }
}

/// A bound as it is shown: 0 is none.
const fn bound_of(max: usize) -> u64 {
    if max == 0 { u64::MAX } else { max as u64 }
}

impl<B: Bus, S: System> Server<B, S> {
    /// The same with sockets of another system.
    ///
    /// Errors: as of [`new`](Server::new).
    pub fn with_system(
        config: ServerConfig,
        policy: Box<dyn LoginPolicy>,
        bus: B,
        system: S,
    ) -> Result<Self, ServerError> {
        config.check()?;
        let sockets = ReactorConfig {
            writes_per_flush: WRITES_PER_FLUSH,
            flush_time: FLUSH_TIME,
            seed: config.seed,
            ..change::sockets(&config)
        };
        let clock = system.clock();
        let mut reactor = Reactor::with_system(sockets, system);
        let mut listeners = Vec::new();
        for (transport, address) in change::addresses(&config) {
            let granted = change::grants(&config, transport, address.port());
            listeners.push((transport, reactor.listen(address, &granted)?));
        }
        let is_eager = config.flush_interval_ms == 0;
        Ok(Self {
            hops: Hops::new(config.has_clock_of_hubs),
            trace: None,
            interpreter: Interpreter::new(config, policy),
            bus,
            reactor,
            clock,
            listeners,
            prepared: None,
            drain: None,
            mounts_drained: 0,
            log: ConnectionLog::new(),
            notes: NoteLog::default(),
            pace: Pace::default(),
            is_eager,
            held: Duration::ZERO,
            last_turn: Time::ZERO,
            siblings: None,
            edge: None,
        })
    }

    /// Has the limits of the configuration hold for this server and its siblings
    /// together: mounts, those of a user, items, posts, bytes that are merged and
    /// output that waits. To be called before the first turn.
    pub fn share_limits(&mut self, siblings: &Siblings) {
        siblings.enter();
        self.interpreter.join_siblings(siblings);
        self.siblings = Some((siblings.clone(), siblings.output_bytes()));
    }

    /// Has a policy say who may log in and see what, and records of usage be
    /// kept. To be called before the first turn.
    pub fn meet_edge(&mut self, edge: EdgePort) {
        if edge.identifies() {
            self.interpreter.identify_logins();
        }
        self.edge = Some(edge);
        self.take_policies(Time::ZERO);
    }

    /// Takes over the policies that came, and who it is that logs in.
    fn take_policies(&mut self, now: Time) -> usize {
        let mut count = 0;
        while let Some(change) = self.edge.as_ref().and_then(EdgePort::policy) {
            self.handle_apart(now, Event::Policy(&change));
            count += 1;
        }
        while let Some(answer) = self.edge.as_ref().and_then(EdgePort::answer) {
            self.handle_apart(now, Event::Identified(&answer));
            count += 1;
        }
        count
    }

    /// Handles what comes neither from the backbone nor from a mount.
    pub(crate) fn handle_apart(&mut self, now: Time, event: Event<'_>) {
        let Self { interpreter, bus, reactor, edge, notes, .. } = self;
        let (mut outbox, port) = (reactor.outbox(), bus.outbound());
        let mut out = Shell { outbox: &mut outbox, port, edge, notes, now, copies: 0 };
        interpreter.handle(now, event, &mut out);
    }

    /// Where RSSL clients mount, with the ports that the system chose where the
    /// configuration left that to it.
    pub fn listening(&self) -> Vec<SocketAddr> {
        self.listening_at(Transport::Rssl)
    }

    /// Where clients mount in this way, with the ports that the system chose.
    pub fn listening_at(&self, transport: Transport) -> Vec<SocketAddr> {
        let of_transport = self.listeners.iter().filter(|(its, _)| *its == transport);
        of_transport.filter_map(|(_, id)| self.reactor.local_addr(*id)).collect()
    }

    /// One turn: reads the backbone and the mounts, does what is due, sends.
    /// Returns how much there was to do; 0 means that the caller may idle.
    pub fn duty_cycle(&mut self, now: Time) -> usize {
        if self.drain.as_ref().is_some_and(|drain| drain.deadline() <= now) {
            self.drain_some(now);
        }
        let is_held = self.is_held(now);
        let policies = if self.edge.is_some() { self.take_policies(now) } else { 0 };
        let Self { interpreter, bus, reactor, clock, log, notes, pace, siblings, edge, .. } = self;
        let hops = &mut self.hops;
        let mut trace = self.trace.as_deref_mut().filter(|trace| trace.goes_on(now));
        let mut time = TimeSlice::new(clock, TURN_TIME);
        let mut outbox = reactor.outbox();
        interpreter.gather();
        // What a page of a list brings about is not seen in what it sends: up to as many
        // requests as it has entries, and a state for each watcher of these.
        let most = if interpreter.core().awaits_lists() { 1 } else { MOST_AT_ONCE };
        let mut work = pace.turn(&mut time, most, |most| {
            let (mut copies, before) = (0, interpreter.core().work_done());
            let came = bus.poll(now, most, |event, port| {
                if let Some(trace) = &mut trace {
                    trace.note(now, &event, interpreter.core(), || clock.host_now());
                }
                let event = hops.without_stamps(event, clock);
                tell_of_peer(&event);
                let mut out = Shell { outbox: &mut outbox, port, edge, notes, now, copies: 0 };
                interpreter.handle(now, Event::Bus(event), &mut out);
                copies += out.copies;
            });
            (came, copies + (interpreter.core().work_done() - before) as usize)
        });
        let port = bus.outbound();
        let mut out = Shell { outbox: &mut outbox, port, edge, notes, now, copies: 0 };
        interpreter.spread(&mut out);
        // Where updates come, those of the next turn do not wait long for other work.
        let mut beside = (work > 0).then(|| TimeSlice::new(clock, TIME_BESIDE_UPDATES));
        work += policies;
        for slice in 0..SLICES_PER_TURN {
            if interpreter.next_deadline().is_none_or(|deadline| deadline > now) {
                break;
            }
            let is_over = beside.as_mut().is_some_and(TimeSlice::is_over) | time.is_over();
            if is_over && slice > 0 {
                break;
            }
            let port = bus.outbound();
            let mut out = Shell { outbox: &mut outbox, port, edge, notes, now, copies: 0 };
            interpreter.handle_timeout(now, &mut out);
            work += 1;
        }
        if work > 0 && self.is_eager && !pace.is_busy() {
            // What came is on its way before the kernel is asked for more. Where
            // there is much, it rather goes out in few writes.
            reactor.flush(now);
        }
        if is_held {
            reactor.flush(now);
            return work + bus.work(now);
        }
        let (mut has_heard, mut messages) = (pace.is_busy(), 0);
        work += reactor.poll(now, Some(Duration::ZERO), |event, outbox| {
            has_heard = true;
            messages += 1;
            if messages % MESSAGES_PER_LOOK == 0 && time.is_over() {
                outbox.end_poll();
            }
            let mut out = Shell { outbox, port: bus.outbound(), edge, notes, now, copies: 0 };
            log.note(now, &event, log::write);
            match event {
                SessionEvent::Text(event) => text_event(interpreter, now, &event, &mut out),
                _ => {
                    if let Some(event) = core_event(&event) {
                        interpreter.handle(now, event, &mut out);
                    }
                }
            }
        });
        if has_heard {
            join_freed();
        }
        if log.deadline().is_some_and(|deadline| deadline <= now) {
            log.report(now, log::write);
        }
        if notes.deadline().is_some_and(|deadline| deadline <= now) {
            notes.report(now);
        }
        if let Some((siblings, output)) = siblings {
            output.set(reactor.output_bytes().0);
            reactor.share_pool(output.total() - output.own(), siblings.servers());
        }
        if let Some(session) = reactor.beyond_pool() {
            let mut outbox = reactor.outbox();
            let port = bus.outbound();
            let mut out = Shell { outbox: &mut outbox, port, edge, notes, now, copies: 0 };
            interpreter.handle(now, Event::OutputBeyondPool { session }, &mut out);
        }
        if let Some(edge) = edge {
            edge.flush();
        }
        if hops.has_pending() {
            let core = interpreter.core();
            let clock_of = |hub| bus.clock_of(hub);
            hops.end_turn(clock.host_now(), clock_of, |hub, item| core.item_named(hub, item));
        }
        work + bus.work(now)
    }

    /// Whether mounts are not read for now, so that the backbone can catch up.
    fn is_held(&mut self, now: Time) -> bool {
        let step = now.since(self.last_turn).min(MAX_HOLD_STEP);
        self.last_turn = now;
        let is_congested = self.bus.is_congested();
        self.held = if is_congested { self.held + step } else { Duration::ZERO };
        is_congested && self.held < MAX_HOLD
    }

    /// When the next turn has something to do although nothing comes, but for
    /// the backbone, which tells how long it can wait.
    pub fn next_deadline(&self) -> Option<Time> {
        let logs = self.log.deadline().into_iter().chain(self.notes.deadline()).min();
        let drain = self.drain.as_ref().filter(|_| self.core().mount_count() > 0);
        let drain = drain.map(MountDrain::deadline);
        let deadlines =
            [self.interpreter.next_deadline(), self.reactor.next_deadline(), logs, drain];
        deadlines.into_iter().flatten().min()
    }

    /// Whether the mounts have nothing to say now. To be asked before a wait.
    pub fn is_quiet(&mut self) -> bool {
        self.reactor.is_quiet()
    }

    /// Ends all mounts and leaves the backbone. Some more turns send what is
    /// queued.
    pub fn shutdown(&mut self, now: Time) {
        let Self { interpreter, bus, reactor, listeners, notes, edge, .. } = self;
        for (_, listener) in listeners.drain(..) {
            reactor.stop_listening(listener);
        }
        let mut outbox = reactor.outbox();
        let port = bus.outbound();
        let mut out = Shell { outbox: &mut outbox, port, edge, notes, now, copies: 0 };
        interpreter.shut_down(now, "the server shuts down", &mut out);
        bus.leave(now);
        reactor.flush(now);
    }

    /// Whether all sessions have ended, after [`shutdown`](Self::shutdown).
    pub fn is_idle(&self) -> bool {
        self.reactor.session_count() == 0
    }

    /// When updates are copied mount by mount: for tests and measurements.
    pub fn copy_by_mount(&mut self, when: When) {
        self.interpreter.copy_by_mount(when);
    }

    /// For tests, between two turns: [`Core::check`](crate::Core::check).
    ///
    /// # Panics
    /// Two tables contradict each other.
    pub fn check(&self) {
        self.interpreter.check();
    }

    /// What the server has and did.
    pub fn statistics(&self) -> Statistics {
        let messages_postponed = self.reactor.counters_so_far().postponed;
        let (output_bytes, output_bytes_most) = self.reactor.output_bytes();
        let own = self.interpreter.statistics();
        Statistics {
            messages_postponed,
            output_bytes,
            output_bytes_most,
            without_login: self.reactor.strangers(),
            records_lost: self.edge.as_ref().map_or(0, EdgePort::lost),
            drain_per_s: self.drain.as_ref().map_or(0, |drain| drain.per_s().into()),
            mounts_drained: self.mounts_drained,
            ..own
        }
    }

    /// The limits of what it has, by the names of its [`Statistics`].
    pub const fn limits(&self) -> [(&'static str, u64); 9] {
        let limits = &self.interpreter.core().config().limits;
        [
            ("mounts", limits.max_mounts as u64),
            ("items", limits.max_items as u64),
            ("hubs", limits.max_hubs as u64),
            ("posts", limits.max_posts as u64),
            ("merged_bytes", limits.max_merged_bytes as u64),
            ("output_bytes", limits.max_output_bytes as u64),
            ("requests_open", limits.open_window as u64),
            ("without_login", limits.max_without_login as u64),
            ("memory_bytes", bound_of(limits.memory_max_bytes)),
        ]
    }

    /// Closes a mount because an operator wants it, by its session. Returns whether it
    /// was there.
    pub fn close_mount(&mut self, now: Time, session: &str, reason: &str) -> bool {
        let core = self.interpreter.core();
        let mut all = (0..core.mount_places()).filter_map(|number| core.mount_at(number));
        let found = all.find(|known| known.to_string() == session);
        self.close_sessions(now, found.as_slice(), reason);
        found.is_some()
    }

    /// Keeps what comes of an item, in place of the one before, because an operator wants
    /// to see it: as the view `trace`.
    pub fn trace(&mut self, now: Time, wanted: TraceWanted) {
        let has_one_clock = self.hops.has_one_clock();
        self.trace = Some(Box::new(Trace::new(now, wanted, has_one_clock)));
    }

    /// Ends the logins of a user because an operator wants it, in the turns that follow.
    /// Returns how many there were.
    pub fn log_out(&mut self, user: &str) -> usize {
        self.interpreter.log_out(user)
    }

    pub(crate) fn close_sessions(&mut self, now: Time, sessions: &[SessionId], reason: &str) {
        let Self { interpreter, bus, reactor, notes, edge, .. } = self;
        let mut outbox = reactor.outbox();
        let port = bus.outbound();
        let mut out = Shell { outbox: &mut outbox, port, edge, notes, now, copies: 0 };
        for session in sessions {
            interpreter.end_mount(*session, reason, &mut out);
        }
    }

    pub(crate) const fn core(&self) -> &Core {
        self.interpreter.core()
    }

    /// The sockets.
    pub const fn reactor(&self) -> &Reactor<S> {
        &self.reactor
    }

    /// The port on the backbone.
    pub const fn bus(&self) -> &B {
        &self.bus
    }
}

/// Says in the log what became of a hub.
#[inline]
fn tell_of_peer(event: &BusEvent<'_>) {
    match event {
        BusEvent::PeerUp { peer, name } => {
            tracing::info!(hub = name, incarnation = %peer, "a hub is there");
        }
        BusEvent::PeerDown { peer } => tracing::warn!(incarnation = %peer, "a hub is gone"),
        BusEvent::Gap { peer, name, lost } => {
            tracing::warn!(hub = name, incarnation = %peer, lost, "frames of a hub were lost; asking what they were of");
        }
        BusEvent::Frame { .. } => {}
    }
}

fn core_event<'a>(event: &SessionEvent<'a>) -> Option<Event<'a>> {
    Some(match *event {
        SessionEvent::Message { session, bytes } => Event::Message { session, bytes },
        SessionEvent::TooLong { session, head, length, max } => {
            tracing::info!(%session, length, max, "a message of a mount is too long");
            Event::TooLong { session, head, length, max }
        }
        SessionEvent::Drained { session } => Event::Drained { session },
        SessionEvent::Opened { session, peer, .. } => Event::Opened { session, peer },
        SessionEvent::Closed { session, .. } => Event::Closed { session },
        SessionEvent::Rejected { .. }
        | SessionEvent::AcceptFailed { .. }
        | SessionEvent::Text(_) => return None,
    })
}

/// Hands on what a session that speaks JSON did.
fn text_event<O: Outputs>(
    interpreter: &mut Interpreter,
    now: Time,
    event: &TextEvent<'_>,
    out: &mut O,
) {
    match *event {
        TextEvent::Frame { session, text } => {
            interpreter.handle_json(now, JsonEvent::Frame { session, text }, out);
        }
        TextEvent::Opened { session, peer, cookies, .. } => {
            interpreter.handle_json(now, JsonEvent::Opened { session, peer }, out);
            if !cookies.is_empty() {
                interpreter.handle_json(now, JsonEvent::Cookies { session, cookies }, out);
            }
        }
    }
}
