//! One stream of messages out of two lossy lines.
//!
//! ```text
//!  Cold ──▶ Live ──a hole, not filled by the other line──▶ Asking ──all there──▶ Live
//!            │ ▲                                             │ unanswered, or too far
//!            │ └─────────── resume, or go on without ─────── Lost ◀──── joined late
//!            └──the end of the session──▶ Ended ──another session──▶ Live
//! ```
//!
//! Whichever line brings a packet first is taken. What comes behind a hole waits, up
//! to a bound; a while later, in which the other line may fill it, the hole is asked
//! for: one request at a time, the next one when its messages are there, the same one
//! again when they do not come, and so often that it ends.
//!
//! The reader of `tapeline-mitch` is another one on purpose: its replay is a
//! connection that brings all or nothing, its snapshot has a number for each
//! instrument and comes between messages, it waits for no other line, and it has no
//! sessions. All that both could share is a map of what came too early.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_time::Time;

use crate::error::MoldError;
use crate::mold::{Packet, PacketHead, SessionName};

/// What a reader does.
pub trait Outputs {
    /// The next message, in order, and its number.
    fn message(&mut self, number: u64, bytes: &[u8]);

    /// Messages are to be asked for again.
    fn request(&mut self, request: &PacketHead);

    /// What messages have said may not be so from now on, or is again.
    fn set_stale(&mut self, is_stale: bool);

    /// A session begins, with its first message: what another one said is void.
    fn begin(&mut self, session: SessionName);

    /// The messages before `until` cannot be had. All that was said is void;
    /// [`Reader::resume`] or [`Reader::go_on`] is to follow.
    fn lose(&mut self, until: u64);

    /// All messages of the session have been read.
    fn end(&mut self);
}

/// How a reader goes about what is missing.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long the other line has to fill a hole.
    pub hold: Duration,
    /// How long an answer may take before the request is sent again.
    pub patience: Duration,
    /// So often in a row without a message of the answer.
    pub attempts: u32,
    /// Messages of one request.
    pub request_messages: u16,
    /// The longest hole that is asked for.
    pub max_hole_messages: u64,
    /// Packets that wait for what is before them.
    pub max_early_packets: usize,
    /// How long a session must be silent before another one takes its place without
    /// its end.
    pub session_silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hold: Duration::from_millis(2),
            patience: Duration::from_millis(100),
            attempts: 10,
            request_messages: 1_000,
            max_hole_messages: 1_000_000,
            max_early_packets: 65_536,
            session_silence: Duration::from_secs(10),
        }
    }
}

/// What a reader is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has come.
    Cold,
    /// All that is known of has been read.
    Live,
    /// Messages are missing: they are waited for, or asked for.
    Asking,
    /// They cannot be had.
    Lost,
    /// The session is over, and all of it has been read.
    Ended,
}

/// What a reader has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderCounts {
    /// Messages read, in order.
    pub messages: u64,
    /// Packets that were damaged, or of other sessions.
    pub ignored: u64,
    /// Holes that no line filled in time.
    pub holes: u64,
    /// Requests for messages, the repeated ones too.
    pub requests: u64,
    /// Times that messages could not be had.
    pub losses: u64,
}

/// A hole that is looked after.
#[derive(Clone, Copy, Debug)]
struct Hole {
    /// Its first message, when something was last done about it.
    first: u64,
    /// When something is to be done again.
    due: Time,
    /// Requests since a message has come of them.
    attempts: u32,
    /// The number behind what has been asked for; 0 if nothing has.
    asked: u64,
}

/// Reads one stream.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    session: SessionName,
    state: State,
    /// The number of the next message.
    next: u64,
    /// The number behind the last message that is known to exist.
    horizon: u64,
    /// Packets that came too early, by the number of their first message.
    early: BTreeMap<u64, Vec<u8>>,
    hole: Option<Hole>,
    /// Where the session ends, once that is known.
    end: Option<u64>,
    heard: Time,
    is_stale: bool,
    /// Messages were passed over in this session.
    is_partial: bool,
    counts: ReaderCounts,
}

impl Reader {
    /// Nothing has come. The first session that does is read.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            session: SessionName::default(),
            state: State::Cold,
            next: 1,
            horizon: 1,
            early: BTreeMap::new(),
            hole: None,
            end: None,
            heard: Time::ZERO,
            is_stale: false,
            is_partial: false,
            counts: ReaderCounts::default(),
        }
    }

    /// What it is about.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The session that it reads.
    pub const fn session(&self) -> SessionName {
        self.session
    }

    /// The number of the message that it waits for.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// What it has counted.
    pub const fn counts(&self) -> ReaderCounts {
        self.counts
    }

    /// A packet has come, by either line or as an answer.
    ///
    /// # Errors
    /// It is damaged; nothing of it is taken.
    pub fn packet(
        &mut self,
        now: Time,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) -> Result<(), MoldError> {
        let packet = Packet::read(bytes).inspect_err(|_| self.counts.ignored += 1)?;
        if !self.is_of_session(now, &packet, out) {
            self.counts.ignored += 1;
            return Ok(());
        }
        self.heard = now;
        self.horizon = self.horizon.max(packet.next());
        if packet.is_end() {
            self.end = Some(packet.first());
        }
        if packet.next() > self.next {
            if packet.first() <= self.next && self.state != State::Lost {
                self.deliver(&packet, out);
            } else if packet.count() > 0 {
                self.keep(&packet, bytes, out);
            }
        }
        self.settle(now, out);
        Ok(())
    }

    /// Whether a packet is to be read; another session may begin with it.
    fn is_of_session(&mut self, now: Time, packet: &Packet<'_>, out: &mut impl Outputs) -> bool {
        if self.state != State::Cold && packet.session() == self.session {
            return true;
        }
        let is_over = match self.state {
            State::Cold | State::Ended => true,
            _ => now.since(self.heard) >= self.limits.session_silence,
        };
        // The end of a session that is not read is nothing to begin with.
        if !is_over || packet.is_end() && self.state != State::Cold {
            return false;
        }
        (self.session, self.state) = (packet.session(), State::Live);
        (self.next, self.horizon, self.end, self.hole) = (1, 1, None, None);
        self.is_partial = false;
        self.early.clear();
        out.begin(self.session);
        true
    }

    fn deliver(&mut self, packet: &Packet<'_>, out: &mut impl Outputs) {
        for (number, message) in packet.messages().filter(|(number, _)| *number >= self.next) {
            out.message(number, message);
            self.counts.messages += 1;
        }
        self.next = self.next.max(packet.next());
    }

    fn keep(&mut self, packet: &Packet<'_>, bytes: &[u8], out: &mut impl Outputs) {
        let is_known =
            self.early.get(&packet.first()).is_some_and(|known| known.len() >= bytes.len());
        if is_known {
            return;
        }
        if self.early.len() >= self.limits.max_early_packets {
            self.lose(out);
            // Of no use any more: what follows begins behind it.
            self.early.pop_first();
        }
        self.early.insert(packet.first(), bytes.to_vec());
    }

    /// Reads what has waited, as far as it goes.
    fn drain(&mut self, out: &mut impl Outputs) {
        while let Some(entry) = self.early.first_entry() {
            if *entry.key() > self.next {
                return;
            }
            let bytes = entry.remove();
            // It was whole when it came.
            if let Ok(packet) = Packet::read(&bytes) {
                self.deliver(&packet, out);
            }
        }
    }

    /// Where the hole before the next message that is there ends.
    fn hole_end(&self) -> u64 {
        self.early.keys().next().copied().unwrap_or(self.horizon)
    }

    /// Sees what there is, and what is missing.
    fn settle(&mut self, now: Time, out: &mut impl Outputs) {
        if matches!(self.state, State::Lost | State::Cold) {
            return;
        }
        self.drain(out);
        if self.next >= self.horizon {
            return self.complete(out);
        }
        self.state = State::Asking;
        let (first, due) = (self.next, now.after(self.limits.hold));
        match &mut self.hole {
            None => self.hole = Some(Hole { first, due, attempts: 0, asked: 0 }),
            // An answer: the next request, at once if this one is answered in full, else
            // when no more comes, as a server may send no more than fits one packet.
            Some(hole) if first > hole.first => {
                let due = if hole.asked > 0 && first >= hole.asked { now } else { due };
                *hole = Hole { first, due, attempts: 0, asked: hole.asked };
            }
            Some(_) => {}
        }
        self.timeout(now, out);
    }

    fn complete(&mut self, out: &mut impl Outputs) {
        self.hole = None;
        if self.is_stale && !self.is_partial {
            self.is_stale = false;
            out.set_stale(false);
        }
        let is_end = self.end.is_some_and(|end| self.next >= end);
        let was_end = self.state == State::Ended;
        self.state = if is_end { State::Ended } else { State::Live };
        if is_end && !was_end {
            out.end();
        }
    }

    /// When [`timeout`](Self::timeout) is to be called, if nothing comes before.
    pub fn deadline(&self) -> Option<Time> {
        self.hole.map(|hole| hole.due)
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, out: &mut impl Outputs) {
        if self.hole.is_some_and(|hole| now >= hole.due) {
            self.ask(now, out);
        }
    }

    fn ask(&mut self, now: Time, out: &mut impl Outputs) {
        let Some(hole) = self.hole else { return };
        let (first, missing) = (self.next, self.hole_end() - self.next);
        if missing > self.limits.max_hole_messages || hole.attempts >= self.limits.attempts {
            return self.lose(out);
        }
        let count = missing.min(self.limits.request_messages.into()) as u16;
        self.counts.holes += u64::from(hole.asked == 0);
        self.counts.requests += 1;
        self.hole = Some(Hole {
            first,
            due: now.after(self.limits.patience),
            attempts: hole.attempts + 1,
            asked: first + u64::from(count),
        });
        self.stale(out);
        out.request(&PacketHead { session: self.session, first, count });
    }

    fn stale(&mut self, out: &mut impl Outputs) {
        if !self.is_stale {
            self.is_stale = true;
            out.set_stale(true);
        }
    }

    fn lose(&mut self, out: &mut impl Outputs) {
        if self.state == State::Lost {
            return;
        }
        (self.state, self.hole) = (State::Lost, None);
        self.counts.losses += 1;
        self.stale(out);
        out.lose(self.hole_end());
    }

    /// A snapshot has brought all that messages before `next` said.
    pub fn resume(&mut self, now: Time, next: u64, out: &mut impl Outputs) {
        if self.state != State::Lost {
            return;
        }
        (self.state, self.is_partial) = (State::Live, false);
        self.pass_to(next, now, out);
    }

    /// There is no snapshot: goes on behind what is lost, which makes what follows
    /// stale until another session begins.
    pub fn go_on(&mut self, now: Time, out: &mut impl Outputs) {
        if self.state != State::Lost {
            return;
        }
        (self.state, self.is_partial) = (State::Live, true);
        // Packets that were kept while it was lost may begin before what has been read.
        self.pass_to(self.hole_end().max(self.next), now, out);
    }

    fn pass_to(&mut self, next: u64, now: Time, out: &mut impl Outputs) {
        self.next = next;
        self.horizon = self.horizon.max(next);
        self.settle(now, out);
    }
}
