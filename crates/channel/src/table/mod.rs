//! All sessions of a reactor, and the lists of those that want something.

mod admit;
mod flush;
mod send;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_rssl::Limits;
use tapeline_time::Time;

use crate::active::ActiveSessions;
use crate::deferred::Deferred;
use crate::dial::Dial;
use crate::live::{Live, Origin, Stage};
use crate::pool::OutputPool;
use crate::strangers::Strangers;
use crate::system::{Readiness, System};
use crate::timers::Timers;
use crate::{
    Admission, CloseReason, ConnectConfig, ListenerId, Pages, ReactorConfig, ReactorCounters,
    SessionId, SessionOptions, StrangerLimits, TextConfig,
};

/// Room for a message on its way into fragments, kept when not in use.
const RETAINED_SCRATCH_BYTES: usize = 256 * 1024;

/// What a slot of the table holds.
pub(crate) enum Occupant<S: System> {
    Free,
    Dialing(Box<Dial<S>>),
    Live(Box<Live<S>>),
    /// Its session is being worked on.
    Out,
}

struct Slot<S: System> {
    generation: u32,
    occupant: Occupant<S>,
}

/// What is to be told to the program next.
pub(crate) enum Notice {
    Drained(SessionId),
    Closed(SessionId, CloseReason),
    Rejected(ListenerId, SocketAddr, CloseReason),
    AcceptFailed(ListenerId, String),
}

/// The connections of a listener.
#[derive(Default)]
pub(crate) struct Occupancy {
    /// Those that are admitted.
    pub(crate) sessions: usize,
    pub(crate) refusals: usize,
    pub(crate) strangers: Strangers,
}

/// What a listener has for its clients.
pub(crate) struct ListenRules {
    pub(crate) text: Option<TextConfig>,
    pub(crate) pages: Option<Arc<Pages>>,
    pub(crate) admission: Admission,
    pub(crate) max_sessions: usize,
    /// What holds before a session is admitted.
    pub(crate) strangers: StrangerLimits,
    /// What holds for one that is.
    pub(crate) session: SessionOptions,
    pub(crate) limits: Limits,
}

impl ListenRules {
    /// Most bytes of a message to an admitted client.
    fn send_bytes(&self, is_text: bool) -> usize {
        if is_text { usize::MAX } else { self.limits.send_bytes }
    }

    /// What text sessions are told before they are admitted.
    pub(crate) fn text_of_strangers(&self) -> Option<TextConfig> {
        let mut text = self.text.clone()?;
        if self.admission == Admission::Program {
            text.max_message_bytes = text.max_message_bytes.min(self.strangers.message_bytes);
        }
        Some(text)
    }
}

pub(crate) struct Table<S: System> {
    slots: Vec<Slot<S>>,
    free: Vec<u32>,
    /// Places of sessions with output to flush.
    dirty: Vec<u32>,
    /// Some of them do not wait for the next flush: their sockets take more of
    /// what waited before.
    is_unfinished: bool,
    /// Places of sessions to read from.
    pub(crate) ready: VecDeque<u32>,
    /// Attempts to connect that wait for their next step.
    pub(crate) dials: VecDeque<SessionId>,
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) timers: Timers,
    active: ActiveSessions,
    pub(crate) deferred: Deferred,
    /// By listener.
    pub(crate) occupancy: Vec<Occupancy>,
    /// By listener.
    pub(crate) rules: Vec<ListenRules>,
    pub(crate) counters: ReactorCounters,
    flush_bytes: usize,
    writes_per_flush: usize,
    flush_time: Duration,
    clock: S::Clock,
    pub(crate) pool: OutputPool,
    /// Messages that may still be delivered in this poll,
    pub(crate) left: usize,
    /// and of the session whose turn it is.
    pub(crate) left_of_session: usize,
    /// The program wants no more of this poll.
    pub(crate) has_enough: bool,
    /// What is left, divided among the sessions that may have messages; 0 where
    /// there is no bound to divide.
    pub(crate) share: usize,
    pub(crate) now: Time,
    scratch: Vec<u8>,
}

/// To read a session counts for so many messages,
pub(crate) const READ_COST: usize = 4;
/// and to tell of its end for so many.
pub(crate) const END_COST: usize = 8;

impl<S: System> Table<S> {
    pub(crate) fn new(config: &ReactorConfig, clock: S::Clock) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            dirty: Vec::new(),
            is_unfinished: false,
            ready: VecDeque::new(),
            dials: VecDeque::new(),
            notices: VecDeque::new(),
            timers: Timers::default(),
            active: ActiveSessions::new(config.max_direct_reads),
            deferred: Deferred::default(),
            occupancy: Vec::new(),
            rules: Vec::new(),
            counters: ReactorCounters::default(),
            flush_bytes: config.flush_bytes,
            writes_per_flush: config.writes_per_flush,
            flush_time: config.flush_time,
            clock,
            pool: OutputPool::new(config.output_pool_bytes),
            left: 0,
            left_of_session: 0,
            has_enough: false,
            share: 0,
            now: Time::ZERO,
            scratch: Vec::new(),
        }
    }

    /// Gives a slot to what `make` makes of its id.
    pub(crate) fn insert(&mut self, make: impl FnOnce(SessionId) -> Occupant<S>) -> SessionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, occupant: Occupant::Free });
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        let id = SessionId { index, generation: slot.generation };
        slot.occupant = make(id);
        id
    }

    /// Frees a slot. One that had 2^32 users is not used again.
    pub(crate) fn free(&mut self, id: SessionId) {
        let slot = &mut self.slots[id.index as usize];
        slot.occupant = Occupant::Free;
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(id.index);
        }
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.slots.iter().enumerate().filter_map(|(index, slot)| match slot.occupant {
            Occupant::Free => None,
            _ => Some(SessionId { index: index as u32, generation: slot.generation }),
        })
    }

    pub(crate) fn occupant(&mut self, id: SessionId) -> Option<&mut Occupant<S>> {
        let slot = self.slots.get_mut(id.index as usize)?;
        (slot.generation == id.generation).then_some(&mut slot.occupant)
    }

    pub(crate) fn live(&self, id: SessionId) -> Option<&Live<S>> {
        let slot = self.slots.get(id.index as usize)?;
        match &slot.occupant {
            Occupant::Live(live) if slot.generation == id.generation => Some(live),
            _ => None,
        }
    }

    pub(crate) fn dial_mut(&mut self, id: SessionId) -> Option<&mut Dial<S>> {
        match self.occupant(id) {
            Some(Occupant::Dialing(dial)) => Some(dial),
            _ => None,
        }
    }

    /// Takes a session out, to be worked on; [`settle`](Self::settle) puts it
    /// back.
    pub(crate) fn take(&mut self, index: u32) -> Option<Box<Live<S>>> {
        let occupant = &mut self.slots.get_mut(index as usize)?.occupant;
        if !matches!(occupant, Occupant::Live(_)) {
            return None;
        }
        match std::mem::replace(occupant, Occupant::Out) {
            Occupant::Live(live) => Some(live),
            _ => None,
        }
    }

    /// Puts a session back with all that it wants noted, or lets it go.
    pub(crate) fn settle(&mut self, mut live: Box<Live<S>>) {
        if live.stage != Stage::Open {
            // Handshakes and last words do not wait for company.
            live.flush(self.now);
        }
        if live.stage == Stage::Closing && live.is_over(self.now) {
            self.let_go(&mut live);
            return;
        }
        self.counters.traffic += live.take_traffic();
        // One that closes is on its way out: nobody else is to go for it.
        let is_open = live.stage == Stage::Open;
        let backlog_bytes = if is_open { live.backlog_bytes() } else { 0 };
        self.pool.change(&mut live.counted_bytes, backlog_bytes);
        self.want_read(&mut live);
        if !live.is_dirty && live.is_writable && live.connection.queued_bytes() > 0 {
            live.is_dirty = true;
            self.dirty.push(live.id.index);
        }
        self.is_unfinished |= live.is_dirty && live.has_more;
        if live.has_drained() {
            self.notices.push_back(Notice::Drained(live.id));
        }
        let deadline = live.next_deadline();
        self.timers.arm(live.id, &mut live.armed, deadline);
        self.put_back(live);
    }

    /// Takes note of what the kernel tells about the socket in a slot.
    pub(crate) fn note_ready(&mut self, index: u32, readiness: &Readiness) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let live = match &mut slot.occupant {
            Occupant::Live(live) => live,
            Occupant::Dialing(_) => {
                self.dials.push_back(SessionId { index, generation: slot.generation });
                return;
            }
            Occupant::Free | Occupant::Out => return,
        };
        live.is_readable |= readiness.readable;
        live.expects_end |= readiness.ends;
        if live.has_to_be_read() && !live.is_listed {
            live.is_listed = true;
            self.ready.push_back(index);
        }
        if readiness.writable && !live.is_writable && live.broken.is_none() {
            live.is_writable = true;
            // A read would find a layer below with output left, and take the
            // socket for full. All others have their turns: a thousand may have
            // begun to read at the same time.
            if live.stage != Stage::Open || live.is_pending() {
                return self.flush_one(index);
            }
            if !live.is_dirty {
                live.is_dirty = true;
                self.dirty.push(index);
            }
            self.is_unfinished = true;
        }
    }

    /// Notes that bytes came of a session that is out of the table.
    #[inline]
    pub(crate) fn note_active(&mut self, live: &mut Live<S>) {
        if !live.is_active {
            live.is_active = self.active.add(live.id);
        }
    }

    /// Whether those who talk are so few that they can be read without asking
    /// who has something.
    pub(crate) fn has_few_talkers(&self) -> bool {
        self.active.few().is_some()
    }

    /// Lists the sessions that talk to be read, if they are few.
    pub(crate) fn expect_talkers(&mut self) {
        for id in self.active.few().unwrap_or_default() {
            let Some(slot) = self.slots.get_mut(id.index as usize) else { continue };
            let Occupant::Live(live) = &mut slot.occupant else { continue };
            if live.id != *id || live.stage != Stage::Open {
                continue;
            }
            live.is_readable = true;
            live.is_expected = true;
            if !live.is_listed {
                live.is_listed = true;
                self.ready.push_back(id.index);
            }
        }
    }

    /// Sends the delayed ACK of what was read, as nobody can tell when the next poll
    /// will be.
    pub(crate) fn acknowledge_talkers(&mut self) {
        for id in self.active.all() {
            if let Some(Slot { occupant: Occupant::Live(live), .. }) =
                self.slots.get_mut(id.index as usize)
            {
                live.acknowledge();
            }
        }
    }

    /// Has one session that fell silent talk no more.
    pub(crate) fn forget_silent(&mut self) {
        let slots = &self.slots;
        let heard_at = |id: SessionId| match &slots.get(id.index as usize)?.occupant {
            Occupant::Live(live) if live.id == id => Some(live.heard_at),
            _ => None,
        };
        if let Some(id) = self.active.look(self.now, heard_at)
            && let Some(Occupant::Live(live)) = self.occupant(id)
        {
            live.is_active = false;
        }
    }

    /// Puts a session back as it was.
    pub(crate) fn put_back(&mut self, live: Box<Live<S>>) {
        let index = live.id.index as usize;
        self.slots[index].occupant = Occupant::Live(live);
    }

    fn want_read(&mut self, live: &mut Live<S>) {
        if live.has_to_be_read() && !live.is_listed {
            live.is_listed = true;
            self.ready.push_back(live.id.index);
        }
    }

    /// Grants a session its share of the messages of this poll: what is left,
    /// divided among those that wait, but not less than its own bound says.
    pub(crate) fn grant(&mut self, live: &Live<S>) {
        self.left_of_session = live.options.messages_per_poll.max(self.share).min(self.left);
        self.left = self.left.saturating_sub(READ_COST);
    }

    /// Counts a message that was delivered of the session whose turn it is.
    /// Whether it may have another one.
    pub(crate) fn count_delivery(&mut self, cost: usize) -> bool {
        self.left = self.left.saturating_sub(cost);
        self.left_of_session = self.left_of_session.saturating_sub(cost);
        self.left_of_session > 0
    }

    /// Has this poll deliver no more messages.
    pub(crate) const fn end_poll(&mut self) {
        (self.left, self.left_of_session) = (0, 0);
        self.has_enough = true;
    }

    /// Delivers no messages of a session for now, or again.
    pub(crate) fn hold(&mut self, id: SessionId, is_held: bool) {
        if self.deferred.is_for(id) {
            self.deferred.hold = Some(is_held);
        } else if let Some(Occupant::Live(live)) = self.occupant(id) {
            live.is_held = is_held;
            if live.has_to_be_read() && !live.is_listed {
                live.is_listed = true;
                self.ready.push_back(id.index);
            }
        }
    }

    fn let_go(&mut self, live: &mut Live<S>) {
        self.pool.change(&mut live.counted_bytes, 0);
        self.counters.traffic += live.take_traffic();
        self.leave(live);
        self.free(live.id);
    }

    /// Ends a session: tells the program, once, and starts closing.
    pub(crate) fn end(&mut self, live: &mut Live<S>, reason: CloseReason) {
        if live.stage == Stage::Closing {
            return;
        }
        let stage = live.stage;
        live.start_closing(self.now, &reason);
        self.counters.origins_refused += u64::from(reason.is_origin());
        self.notices.push_back(match (&live.origin, stage) {
            (Origin::Listener(listener), Stage::Handshake) | (Origin::Refused(listener), _) => {
                Notice::Rejected(*listener, live.peer, reason)
            }
            _ => Notice::Closed(live.id, reason),
        });
    }

    /// Starts an attempt to connect.
    pub(crate) fn connect(&mut self, host: &str, port: u16, config: &ConnectConfig) -> SessionId {
        let dial = Dial::new(host, port, config);
        let usable = dial.check();
        let id = self.insert(|_| Occupant::Dialing(Box::new(dial)));
        match usable {
            Ok(()) => self.dials.push_back(id),
            Err(reason) => self.give_up(id, reason),
        }
        id
    }

    /// Ends an attempt to connect.
    pub(crate) fn give_up(&mut self, id: SessionId, reason: CloseReason) {
        self.notices.push_back(Notice::Closed(id, reason));
        self.free(id);
    }

    /// Another generation is to be tried on a new socket.
    #[allow(clippy::boxed_local, reason = "it is boxed already, and large")]
    pub(crate) fn redial(&mut self, mut live: Box<Live<S>>, version: tapeline_rssl::Version) {
        self.counters.traffic += live.take_traffic();
        let Live { id, peer, origin, .. } = *live;
        let Origin::Connect(mut dial) = origin else { return };
        dial.fall_back(peer, version);
        self.slots[id.index as usize].occupant = Occupant::Dialing(dial);
        self.dials.push_back(id);
    }

    /// Closes a session from this side; a text session with this code.
    pub(crate) fn close(&mut self, id: SessionId, code: u16, text: &str) {
        if self.deferred.is_for(id) {
            return self.deferred.close(code, text);
        }
        let reason = || CloseReason::Application(text.to_owned());
        match self.occupant(id) {
            Some(Occupant::Dialing(_)) => self.give_up(id, reason()),
            Some(Occupant::Live(live)) if live.stage != Stage::Closing => {
                if let Some(mut live) = self.take(id.index) {
                    live.close_code = code;
                    self.end(&mut live, reason());
                    self.settle(live);
                }
            }
            _ => {}
        }
    }

    /// What is known without a look at each session: all but what was queued for
    /// them since they were last served.
    pub(crate) fn totals_so_far(&self) -> ReactorCounters {
        let (backlog_bytes, backlog_bytes_most) = (self.pool.bytes(), self.pool.most());
        ReactorCounters { backlog_bytes, backlog_bytes_most, ..self.counters }
    }

    /// The same as it is at this moment, with a look at each session.
    pub(crate) fn totals(&self) -> ReactorCounters {
        let mut totals = ReactorCounters { backlog_bytes: 0, ..self.totals_so_far() };
        for slot in &self.slots {
            if let Occupant::Live(live) = &slot.occupant {
                totals.traffic += live.traffic_since();
                totals.backlog_bytes += live.backlog_bytes();
            }
        }
        totals
    }
}
