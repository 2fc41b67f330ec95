//! The loop body that moves bytes, time and events.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_rssl::Negotiated;
use tapeline_time::Time;
use tapeline_websocket::close_code;

use crate::deliver::{self, Handler};
use crate::dial::Step;
use crate::listener::Listener;
use crate::live::{Live, Origin};
use crate::system::{Answer, Socket, System};
use crate::table::{END_COST, Occupant, Table};
use crate::timers::NEVER;
use crate::{
    ChannelCounters, ChannelError, CloseReason, ConnectConfig, Kernel, ListenConfig, ListenerId,
    Outbox, ReactorConfig, ReactorCounters, SessionCounters, SessionEvent, SessionId, Wakeup,
};

/// A loop that polls more often than this is busy, and reads the sessions that
/// talk, if they are few.
const BUSY_INTERVAL: Duration = Duration::from_micros(40);

/// A busy loop asks what else is ready when so much time went by,
const ASK_INTERVAL: Duration = Duration::from_micros(20);
/// and it polled so often.
const POLLS_PER_ASK: u32 = 4;

/// Listeners have the tokens from here on, sessions those below.
const FIRST_LISTENER: usize = 1 << (usize::BITS - 2);

/// Sockets, and the RSSL sessions on them, of one thread.
///
/// The [crate's front page](crate) has an example.
pub struct Reactor<S: System = Kernel> {
    system: S,
    /// The system holds what ended the last wait.
    woken: bool,
    listeners: Vec<Option<Listener<S>>>,
    /// Names that are looked up. One whose session was given up still counts
    /// until it is answered.
    lookups: usize,
    table: Table<S>,
    config: ReactorConfig,
    seeds: u64,
    is_reading: bool,
    /// When the kernel was last asked what is ready.
    asked_at: Time,
    polls_since: u32,
    polled_at: Time,
    /// When the flush interval ends.
    flush_at: Time,
}

impl Reactor {
    /// A reactor without any sockets.
    pub fn new(config: ReactorConfig) -> Result<Self, ChannelError> {
        Kernel::new().map(|kernel| Self::with_system(config, kernel))
    }

    /// To end waits from other threads.
    pub fn wakeup(&self) -> Wakeup {
        self.system.wakeup()
    }
}

impl<S: System> Reactor<S> {
    /// A reactor without any sockets, which has them from `system`.
    pub fn with_system(config: ReactorConfig, system: S) -> Self {
        let table = Table::new(&config, system.clock());
        Self {
            system,
            woken: false,
            lookups: 0,
            listeners: Vec::new(),
            table,
            seeds: config.seed,
            config,
            is_reading: true,
            asked_at: Time::ZERO,
            polls_since: 0,
            polled_at: Time::ZERO,
            flush_at: Time::ZERO,
        }
    }

    /// What its sockets are of.
    pub const fn system(&self) -> &S {
        &self.system
    }

    /// Listens on `address`; port 0 lets the system choose one.
    pub fn listen(
        &mut self,
        address: SocketAddr,
        config: &ListenConfig,
    ) -> Result<ListenerId, ChannelError> {
        let id = ListenerId(self.listeners.len() as u32);
        let token = FIRST_LISTENER + id.index();
        let listener = Listener::new(&mut self.system, (id, token), address, config)?;
        self.table.rules.push(listener.rules());
        self.listeners.push(Some(listener));
        self.table.occupancy.push(crate::table::Occupancy::default());
        Ok(id)
    }

    /// Has other settings for those who connect to a listener from now on. Sessions
    /// that are there keep theirs, and the address, `reuse_port` and `backlog` are
    /// those of the listener's beginning.
    ///
    /// Errors: the settings cannot be; those before stay.
    pub fn grant(
        &mut self,
        listener: ListenerId,
        config: &ListenConfig,
    ) -> Result<(), ChannelError> {
        if let Some(Some(known)) = self.listeners.get_mut(listener.index()) {
            known.grant(config)?;
            self.table.rules[listener.index()] = known.rules();
        }
        Ok(())
    }

    /// Has other bounds from now on: the flush interval, the pool of output,
    /// messages in a poll, descriptors of accepted connections. The rest of the
    /// configuration is of the beginning.
    pub fn adopt(&mut self, config: &ReactorConfig) {
        let ReactorConfig {
            flush_interval_ms,
            output_pool_bytes,
            messages_per_poll,
            max_accepted_descriptor,
            ..
        } = *config;
        self.config = ReactorConfig {
            flush_interval_ms,
            output_pool_bytes,
            messages_per_poll,
            max_accepted_descriptor,
            ..self.config.clone()
        };
        self.table.pool.set_limit(output_pool_bytes);
    }

    /// The address that is listened on; `None` when it is no longer.
    pub fn local_addr(&self, listener: ListenerId) -> Option<SocketAddr> {
        self.listeners.get(listener.index())?.as_ref().map(Listener::address)
    }

    /// Closes a listening socket. Its sessions stay.
    pub fn stop_listening(&mut self, listener: ListenerId) {
        if let Some(listener) = self.listeners.get_mut(listener.index()) {
            *listener = None;
        }
    }

    /// Connects to `host`, a name or an address. How it went comes as
    /// `Opened` or `Closed`.
    ///
    /// A name is resolved by a thread of its own, and its addresses are tried
    /// one after the other.
    pub fn connect(&mut self, host: &str, port: u16, config: &ConnectConfig) -> SessionId {
        self.table.connect(host, port, config)
    }

    /// Does all there is to do at `now`, then waits.
    ///
    /// Sessions are read, their events handed to `handler`, timers run and
    /// output is flushed. If there was nothing of all that, up to `wait` is
    /// spent in waiting for a socket or a deadline (`None`: as long as it
    /// takes). What ends the wait is left for the next call, so that it is
    /// handled at a `now` read after it: **call this in a loop**.
    ///
    /// Returns the number of things done, among them the end of a wait; 0
    /// means that the loop may idle.
    pub fn poll(
        &mut self,
        now: Time,
        wait: Option<Duration>,
        mut handler: impl FnMut(SessionEvent<'_>, &mut Outbox<'_, S>),
    ) -> usize {
        self.table.now = now;
        if !std::mem::take(&mut self.woken) {
            self.expect(now);
        }
        let mut work = self.take_readiness();
        work += self.take_answers();
        work += self.dial();
        work += self.accept();
        work += self.read(&mut handler);
        work += self.run_timers(&mut handler);
        let most_notices = (self.config.messages_per_poll / END_COST).max(1);
        work += deliver::notices(&mut self.table, most_notices, &mut handler);
        work += self.flush_when_due();
        if work > 0 || wait == Some(Duration::ZERO) {
            return work;
        }
        self.table.acknowledge_talkers();
        self.wait(self.longest_wait(wait));
        self.woken = self.system.has_ready();
        usize::from(self.woken)
    }

    /// Whether there is nothing to do before a byte comes or a deadline passes:
    /// the kernel is asked. The thread may then [`wait`](crate::Wait::wait)
    /// elsewhere.
    pub fn is_quiet(&mut self) -> bool {
        if !self.woken {
            self.table.acknowledge_talkers();
            self.wait(Some(Duration::ZERO));
            self.woken = self.system.has_ready();
        }
        !self.woken && self.next_deadline().is_none_or(|deadline| deadline > self.table.now)
    }

    /// To send or close outside of a poll.
    pub fn outbox(&mut self) -> Outbox<'_, S> {
        Outbox::new(&mut self.table)
    }

    /// Writes all output now, whatever the flush interval.
    pub fn flush(&mut self, now: Time) {
        self.table.now = now;
        self.flush_at = now.after(self.flush_interval());
        self.table.flush();
    }

    /// Stops reading from all sessions, or goes on: for a program that cannot
    /// pass on what it reads. Peers are held back by TCP; all else goes on. A
    /// stop must be shorter than the ping timeout, lest the peers' pings are
    /// missed.
    pub fn set_reading(&mut self, is_reading: bool) {
        self.is_reading = is_reading;
    }

    /// Closes every session and attempt to connect; listeners stay.
    pub fn close_all(&mut self, reason: &str) {
        let ids: Vec<_> = self.table.ids().collect();
        for id in ids {
            self.table.close(id, close_code::GOING_AWAY, reason);
        }
    }

    /// Sockets in use and attempts to connect; sessions that still send their
    /// last bytes are counted.
    pub fn session_count(&self) -> usize {
        self.table.ids().count()
    }

    /// What a session has done so far; `None` when it is gone.
    pub fn session_counters(&self, session: SessionId) -> Option<SessionCounters> {
        self.table.live(session).map(Live::counters)
    }

    /// The bytes that wait for the socket of a session: of its counters, what is asked of
    /// all sessions to find the one with most.
    pub fn backlog_bytes(&self, session: SessionId) -> Option<usize> {
        self.table.live(session).map(Live::backlog_bytes)
    }

    /// What the two sides of a session agreed on; `None` unless it is open.
    pub fn negotiated(&self, session: SessionId) -> Option<&Negotiated> {
        self.table.live(session)?.connection.negotiated()
    }

    /// What the reactor has done so far.
    pub fn counters(&self) -> ReactorCounters {
        self.table.totals()
    }

    /// The same for who publishes it often: without a look at each session, so
    /// that what was queued for one since it was last served is not in it.
    pub fn counters_so_far(&self) -> ChannelCounters {
        ChannelCounters::new(&self.table.totals_so_far())
    }

    /// The open session with the most output, if more waits for all of them
    /// together than [may](ReactorConfig::output_pool_bytes): it is to be
    /// closed.
    pub fn beyond_pool(&self) -> Option<SessionId> {
        self.table.beyond_pool()
    }

    /// Has the bound of the pool hold for this reactor and others together, for
    /// the sessions of which so many bytes wait; `pools` counts this one, too.
    /// Those in whose pool is less than the share of one need not give way.
    pub fn share_pool(&mut self, bytes_elsewhere: usize, pools: usize) {
        self.table.pool.share(bytes_elsewhere, pools);
    }

    /// Bytes that wait for all open sessions, and the most that ever did.
    pub fn output_bytes(&self) -> (usize, usize) {
        (self.table.pool.bytes(), self.table.pool.most())
    }

    /// Connections that are accepted and not admitted yet, at the port that has most
    /// of them.
    pub fn strangers(&self) -> usize {
        self.table.occupancy.iter().map(|of_port| of_port.strangers.len()).max().unwrap_or(0)
    }

    /// When the next poll has something to do without any byte coming; `None`:
    /// never. A moment past means at once.
    pub fn next_deadline(&self) -> Option<Time> {
        let table = &self.table;
        let is_ready = |listener: &Listener<S>| listener.is_ready;
        if self.is_reading && !table.ready.is_empty()
            || !(table.dials.is_empty() && table.notices.is_empty())
            || self.listeners.iter().flatten().any(is_ready)
        {
            return Some(table.now);
        }
        let flush_at = if table.is_unfinished() { table.now } else { self.flush_at };
        let flush = table.has_output().then_some(flush_at);
        let accept = self.listeners.iter().flatten().filter_map(Listener::retry_at).min();
        [table.timers.next(), flush, accept].into_iter().flatten().min()
    }

    /// Notes who may have something to read: in a busy loop those who talk, and
    /// whoever the kernel names. That also tells of connections and of room to
    /// write.
    fn expect(&mut self, now: Time) {
        let is_busy = now.since(self.polled_at) < BUSY_INTERVAL && self.table.has_few_talkers();
        self.polled_at = now;
        self.polls_since += 1;
        let is_time = self.polls_since >= POLLS_PER_ASK && now.since(self.asked_at) >= ASK_INTERVAL;
        if !is_busy || is_time {
            self.wait(Some(Duration::ZERO));
            (self.asked_at, self.polls_since) = (now, 0);
            self.table.forget_silent();
        }
        match is_busy {
            true => self.table.expect_talkers(),
            false => self.table.acknowledge_talkers(),
        }
    }

    fn longest_wait(&self, wait: Option<Duration>) -> Option<Duration> {
        let until = self.next_deadline().map(|deadline| deadline.since(self.table.now));
        match (wait, until) {
            (Some(wait), Some(until)) => Some(wait.min(until)),
            (wait, until) => wait.or(until),
        }
    }

    fn wait(&mut self, most: Option<Duration>) {
        if let Err(error) = self.system.wait(most) {
            let is_signal = error.kind() == std::io::ErrorKind::Interrupted;
            self.table.counters.poll_errors += u64::from(!is_signal);
        }
    }

    /// Notes which sockets are ready for what.
    fn take_readiness(&mut self) -> usize {
        let Self { system, table, listeners, .. } = self;
        system.take_ready(|token, readiness| match token.checked_sub(FIRST_LISTENER) {
            Some(index) => {
                if let Some(Some(listener)) = listeners.get_mut(index) {
                    listener.is_ready = true;
                }
            }
            None => table.note_ready(token as u32, readiness),
        })
    }

    fn take_answers(&mut self) -> usize {
        let mut count = 0;
        while self.lookups > 0
            && let Some(Answer { session, addresses }) = self.system.next_answer()
        {
            self.lookups -= 1;
            count += 1;
            let Some(dial) = self.table.dial_mut(session) else { continue };
            match addresses {
                Ok(addresses) => {
                    dial.resolved(addresses);
                    self.connect_next(session, None);
                }
                Err(text) => {
                    let host = dial.host.clone();
                    self.table.give_up(session, CloseReason::Lookup { host, text });
                }
            }
        }
        count
    }

    /// Takes attempts to connect one step further.
    fn dial(&mut self) -> usize {
        let count = self.table.dials.len();
        for _ in 0..count {
            let Some(id) = self.table.dials.pop_front() else { break };
            let Some(dial) = self.table.dial_mut(id) else { continue };
            let has_addresses = dial.has_addresses();
            match &mut dial.step {
                Step::New if has_addresses => self.connect_next(id, None),
                Step::New => self.look_up(id),
                Step::Lookup => {}
                Step::Connecting { address, stream } => match stream.socket().connected() {
                    Ok(Some(peer)) => self.start_client(id, peer),
                    Ok(None) => {}
                    Err(error) => {
                        let failure =
                            CloseReason::Connect { address: *address, text: error.to_string() };
                        self.connect_next(id, Some(failure));
                    }
                },
            }
        }
        count
    }

    fn look_up(&mut self, id: SessionId) {
        let now = self.table.now;
        let max = self.config.max_lookups;
        let Some(Occupant::Dialing(dial)) = self.table.occupant(id) else { return };
        if self.lookups >= max {
            return self.table.give_up(id, CloseReason::TooManyLookups { max });
        }
        if let Err(error) = self.system.look_up(id, &dial.host, dial.port) {
            let (host, text) = (dial.host.clone(), error.to_string());
            return self.table.give_up(id, CloseReason::Lookup { host, text });
        }
        self.lookups += 1;
        dial.await_lookup(now);
        self.arm_dial(id);
    }

    fn connect_next(&mut self, id: SessionId, failure: Option<CloseReason>) {
        let now = self.table.now;
        let Some(dial) = self.table.dial_mut(id) else { return };
        match dial.connect_next(&mut self.system, id.index as usize, now, failure) {
            Ok(()) => self.arm_dial(id),
            Err(reason) => self.table.give_up(id, reason),
        }
    }

    fn arm_dial(&mut self, id: SessionId) {
        let Some(dial) = self.table.dial_mut(id) else { return };
        let (mut armed, deadline) = (dial.armed, dial.deadline);
        self.table.timers.arm(id, &mut armed, deadline);
        if let Some(dial) = self.table.dial_mut(id) {
            dial.armed = armed;
        }
    }

    /// The socket is connected: its protocol begins.
    fn start_client(&mut self, id: SessionId, peer: SocketAddr) {
        let seed = next_seed(&mut self.seeds);
        let now = self.table.now;
        let Some(occupant) = self.table.occupant(id) else { return };
        let Occupant::Dialing(mut dial) = std::mem::replace(occupant, Occupant::Out) else {
            return;
        };
        let Step::Connecting { stream, .. } = std::mem::replace(&mut dial.step, Step::New) else {
            return;
        };
        let secured = match &dial.config.tls {
            None => Ok(stream),
            Some(tls) => stream.secured(tls, &dial.host),
        };
        let secured = secured.map_err(|error| CloseReason::Config(error.to_string()));
        match secured.and_then(|stream| Ok((stream, dial.protocol(seed, now)?))) {
            Ok((stream, connection)) => {
                let sizes = (dial.config.session, dial.send_bytes());
                let armed = dial.armed;
                let origin = Origin::Connect(dial);
                let mut live = Live::new(id, stream, connection, peer, origin, sizes);
                live.armed = armed;
                self.table.settle(Box::new(live));
            }
            Err(reason) => self.table.give_up(id, reason),
        }
    }

    fn accept(&mut self) -> usize {
        let (table, system, seeds) = (&mut self.table, &mut self.system, &mut self.seeds);
        let most = self.config.accepts_per_poll;
        let max_descriptor = self.config.max_accepted_descriptor;
        let accepted = self.listeners.iter_mut().flatten();
        accepted.map(|l| l.accept(table, system, (most, max_descriptor), || next_seed(seeds))).sum()
    }

    /// Reads every session that may have bytes, once around; the number of
    /// those that had something.
    fn read(&mut self, handler: &mut impl Handler<S>) -> usize {
        let listed = if self.is_reading { self.table.ready.len() } else { 0 };
        let mut count = 0;
        let is_bounded = self.config.messages_per_poll != usize::MAX;
        self.table.left = self.config.messages_per_poll;
        self.table.has_enough = false;
        for waiting in (1..=listed).rev() {
            self.table.share = if is_bounded { self.table.left / waiting } else { 0 };
            if self.table.left == 0 {
                // Those that are left are the first of the next poll.
                self.table.counters.postponed += 1;
                break;
            }
            let Some(index) = self.table.ready.pop_front() else { break };
            let Some(mut live) = self.table.take(index) else { continue };
            if !std::mem::take(&mut live.is_listed) {
                self.table.put_back(live);
                continue;
            }
            if deliver::read(&mut self.table, &mut live, handler) {
                count += 1;
                self.settle(live);
            } else {
                self.table.put_back(live);
            }
        }
        count
    }

    fn settle(&mut self, mut live: Box<Live<S>>) {
        match live.redial.take() {
            Some(version) => self.table.redial(live, version),
            None => self.table.settle(live),
        }
    }

    fn run_timers(&mut self, handler: &mut impl Handler<S>) -> usize {
        let mut count = 0;
        while let Some((time, id)) = self.table.timers.pop_due(self.table.now) {
            count += 1;
            if self.table.dial_mut(id).is_some() {
                self.dial_due(id, time);
            } else if self.table.live(id).is_some_and(|live| live.armed == time)
                && let Some(mut live) = self.table.take(id.index)
            {
                live.armed = NEVER;
                deliver::timeout(&mut self.table, &mut live, handler);
                self.settle(live);
            }
        }
        count
    }

    fn dial_due(&mut self, id: SessionId, time: Time) {
        let now = self.table.now;
        let Some(dial) = self.table.dial_mut(id) else { return };
        if dial.armed != time {
            return;
        }
        dial.armed = NEVER;
        if dial.deadline > now {
            self.arm_dial(id);
        } else {
            let failure = dial.timed_out();
            self.connect_next(id, Some(failure));
        }
    }

    fn flush_interval(&self) -> Duration {
        Duration::from_millis(u64::from(self.config.flush_interval_ms))
    }

    fn flush_when_due(&mut self) -> usize {
        let now = self.table.now;
        if !self.table.has_output() || now < self.flush_at && !self.table.is_unfinished() {
            return 0;
        }
        self.flush_at = now.after(self.flush_interval());
        self.table.flush()
    }
}

/// The kernel's readiness queue, for a [`Wait`](crate::Wait).
impl std::os::fd::AsRawFd for Reactor {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.system.as_raw_fd()
    }
}

impl<S: System> std::fmt::Debug for Reactor<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listeners = self.listeners.iter().flatten().count();
        write!(f, "Reactor({listeners} listeners, {} sessions)", self.session_count())
    }
}

/// The golden ratio makes neighbours of the counter look nothing alike.
fn next_seed(seeds: &mut u64) -> u64 {
    *seeds = seeds.wrapping_add(0x9E37_79B9_7F4A_7C15);
    *seeds
}
