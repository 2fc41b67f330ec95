//! The other end: one stream of messages out of two lossy lines.
//!
//! ```text
//!          ┌──────── all there ───────┐
//!          ▼                          │
//!  Cold ──▶ Live ──a hole──▶ Replaying ──refused, or too far──▶ Snapshot ──▶ Live
//!    └──────────────── first unit is not the first ────────────────▲
//! ```
//!
//! Whichever line brings a unit first is taken. What comes behind a hole waits,
//! up to a bound; beyond it the reader begins anew with a snapshot.

use std::collections::{BTreeMap, HashMap};

use crate::error::MitchError;
use crate::message::Message;
use crate::publisher::REPLAY_MESSAGES;
use crate::unit::Unit;

/// What a reader does.
pub trait Outputs {
    /// The next message, in order, and its number; 0 in a snapshot.
    fn message(&mut self, number: u32, message: &Message);

    /// Messages are to be asked for again.
    fn ask_replay(&mut self, first: u32, count: u16);

    /// All orders are to be asked for.
    fn ask_snapshot(&mut self);

    /// The books may not be what they should from now on, or are again.
    fn set_stale(&mut self, is_stale: bool);

    /// All orders are void: a snapshot follows.
    fn restart(&mut self);
}

/// What a reader is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has come.
    Cold,
    /// All that was sent has been read.
    Live,
    /// Messages are asked for again, up to this number.
    Replaying {
        /// The first one that is there.
        until: u32,
    },
    /// All orders are asked for.
    Snapshot,
}

/// Reads one group.
#[derive(Debug)]
pub struct Reader {
    group: u8,
    state: State,
    /// The number of the next message.
    next: u32,
    /// Messages that came too early, by number.
    early: BTreeMap<u32, Message>,
    max_buffered: usize,
    /// What instruments of a snapshot are in step with.
    in_step: HashMap<u32, u32>,
    /// The instrument of each order of the snapshot.
    orders: HashMap<u64, u32>,
    /// Units that were for nobody: of other groups, or damaged.
    ignored: u64,
}

impl Reader {
    /// A reader of a group that keeps so many messages while it waits for others.
    pub fn new(group: u8, max_buffered: usize) -> Self {
        Self {
            group,
            state: State::Cold,
            next: 1,
            early: BTreeMap::new(),
            max_buffered,
            in_step: HashMap::new(),
            orders: HashMap::new(),
            ignored: 0,
        }
    }

    /// What it is about.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The number of the message that it waits for.
    pub const fn next(&self) -> u32 {
        self.next
    }

    /// Units that were for nobody: of other groups, or damaged.
    pub const fn ignored(&self) -> u64 {
        self.ignored
    }

    /// A unit has come, by either line or from the replay.
    ///
    /// # Errors
    /// It is damaged; nothing of it is taken.
    pub fn unit(&mut self, bytes: &[u8], out: &mut impl Outputs) -> Result<(), MitchError> {
        let unit = Unit::read(bytes).inspect_err(|_| self.ignored += 1)?;
        let first = unit.head.sequence;
        if unit.head.group != self.group || first == 0 {
            self.ignored += 1;
            return Ok(());
        }
        if self.state == State::Cold {
            self.state = State::Live;
            if first > 1 || unit.head.count == 0 && first != self.next {
                self.begin_snapshot(out);
            }
        }
        for (number, bytes) in unit.messages() {
            // A type that is not known is passed over; its number counts.
            let message = Message::read(bytes);
            self.numbered(number, message, out);
        }
        if unit.head.count == 0 && first > self.next && self.state == State::Live {
            self.hole(first, out);
        }
        self.drain(out);
        Ok(())
    }

    fn numbered(&mut self, number: u32, message: Option<Message>, out: &mut impl Outputs) {
        let is_due = number == self.next && self.state != State::Snapshot;
        if is_due {
            self.deliver(number, message.as_ref(), out);
        } else if number >= self.next {
            self.keep(number, message, out);
            if self.state == State::Live {
                self.hole(number, out);
            }
        }
    }

    fn deliver(&mut self, number: u32, message: Option<&Message>, out: &mut impl Outputs) {
        self.next = number.wrapping_add(1);
        if let Some(message) = message.filter(|message| !self.is_in_snapshot(number, message)) {
            out.message(number, message);
        }
    }

    /// Whether the last snapshot has what a message says already.
    fn is_in_snapshot(&self, number: u32, message: &Message) -> bool {
        if self.in_step.is_empty() {
            return false;
        }
        let by_order = || self.orders.get(&message.order()?).copied();
        let instrument = message.instrument().or_else(by_order);
        let in_step = instrument.and_then(|instrument| self.in_step.get(&instrument));
        in_step.is_some_and(|in_step| number <= *in_step)
    }

    fn keep(&mut self, number: u32, message: Option<Message>, out: &mut impl Outputs) {
        if self.early.len() >= self.max_buffered {
            self.early.clear();
            self.begin_snapshot(out);
        }
        // What is not known still fills its place.
        let unknown = Message::LogoutRequest(crate::LogoutRequest {});
        self.early.insert(number, message.unwrap_or(unknown));
    }

    /// Messages from the next one to before `until` are missing.
    fn hole(&mut self, until: u32, out: &mut impl Outputs) {
        let missing = until.wrapping_sub(self.next);
        out.set_stale(true);
        match u16::try_from(missing) {
            Ok(count) if missing as usize <= REPLAY_MESSAGES => {
                self.state = State::Replaying { until };
                out.ask_replay(self.next, count);
            }
            _ => self.begin_snapshot(out),
        }
    }

    fn begin_snapshot(&mut self, out: &mut impl Outputs) {
        if self.state != State::Snapshot {
            out.set_stale(true);
        }
        self.state = State::Snapshot;
        self.in_step.clear();
        self.orders.clear();
        out.restart();
        out.ask_snapshot();
    }

    fn drain(&mut self, out: &mut impl Outputs) {
        if self.state == State::Snapshot {
            return;
        }
        while let Some(message) = self.early.remove(&self.next) {
            self.deliver(self.next, Some(&message), out);
        }
        let next = self.next;
        self.early.retain(|number, _| *number >= next);
        match (self.state, self.early.keys().next().copied()) {
            (State::Replaying { until }, _) if next < until => {}
            (State::Replaying { .. }, Some(behind)) => self.hole(behind, out),
            (State::Replaying { .. }, None) => {
                self.state = State::Live;
                out.set_stale(false);
            }
            _ => {}
        }
    }

    /// The replay was refused, or ended early: it begins anew with a snapshot.
    pub fn replay_failed(&mut self, out: &mut impl Outputs) {
        if matches!(self.state, State::Replaying { .. }) {
            self.begin_snapshot(out);
        }
    }

    /// Time has passed without an answer: what is missing is asked for again.
    pub fn ask_again(&mut self, out: &mut impl Outputs) {
        match self.state {
            State::Replaying { until } => self.hole(until, out),
            State::Snapshot => self.begin_snapshot(out),
            State::Cold | State::Live => {}
        }
    }

    /// A unit of a snapshot has come.
    ///
    /// # Errors
    /// It is damaged; nothing of it is taken.
    pub fn snapshot_unit(
        &mut self,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) -> Result<(), MitchError> {
        let unit = Unit::read(bytes).inspect_err(|_| self.ignored += 1)?;
        if self.state != State::Snapshot {
            return Ok(());
        }
        for (_, bytes) in unit.messages() {
            match Message::read(bytes) {
                Some(Message::SnapshotComplete(complete)) if complete.segment.is_empty() => {
                    self.in_step.insert(complete.instrument, complete.sequence);
                }
                Some(Message::SnapshotComplete(_)) => self.snapshot_done(out),
                Some(Message::SnapshotResponse(_)) | None => {}
                Some(message) => {
                    if let (Some(order), Some(instrument)) = (message.order(), message.instrument())
                    {
                        self.orders.insert(order, instrument);
                    }
                    out.message(0, &message);
                }
            }
        }
        Ok(())
    }

    /// All orders are there: goes on behind the instrument that is the furthest
    /// behind.
    fn snapshot_done(&mut self, out: &mut impl Outputs) {
        let Some(oldest) = self.in_step.values().min().copied() else {
            // Nothing to be in step with: an empty market.
            return self.resume(self.early.keys().next().copied().unwrap_or(self.next), out);
        };
        self.resume(oldest.wrapping_add(1), out);
    }

    fn resume(&mut self, next: u32, out: &mut impl Outputs) {
        self.next = next;
        self.early.retain(|number, _| *number >= next);
        self.state = State::Live;
        match self.early.keys().next().copied() {
            Some(first) if first > next => self.hole(first, out),
            _ => {
                self.drain(out);
                match self.early.keys().next().copied() {
                    Some(behind) => self.hole(behind, out),
                    None => out.set_stale(false),
                }
            }
        }
    }
}
