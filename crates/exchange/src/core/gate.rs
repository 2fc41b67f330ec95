//! What the market asks its sequencer for, and entries that are not committed yet.

use tapeline_instrument::{Cause, Session};
use tapeline_layout::{Sections, Text, append_section, message};
use tapeline_ntg::Input;
use tapeline_sequence::{Command, Entry, EventHash, Kind, Limits, NotTaken, Sequencer, Source};
use tapeline_time::Time;

use super::SessionId;
use super::day::Day;
use super::gateways::Place;

/// The gateways of this process.
const GATEWAYS: Source = Source(1);

message! {
    /// A session of the day begins: which, and when the next one does.
    Turned: 32, fill 0 {
        /// Its character.
        0 => session: u8,
        /// Why: the reason of Symbol Status.
        1 => cause: u8,
        /// The next turn of the day.
        4 => next: u32,
        /// When this day began, in nanoseconds since 1970 UTC.
        8 => began_ns: u64,
        /// When the next session begins.
        16 => due_ns: u64,
        /// The state of the generator that draws such times.
        24 => random: u64,
    }
}

message! {
    /// What all events up to an entry come to.
    Checked: 16, fill 0 {
        /// The entry.
        0 => index: u64,
        /// The hash.
        8 => hash: u64,
    }
}

/// Has a sequencer and a day go on behind an entry.
fn resume(sequencer: &mut Sequencer, day: &mut Day, entry: &Entry<'_>) {
    sequencer.resume(entry);
    for command in entry.commands().filter(|command| command.kind == Kind::SESSION) {
        if let Some(turned) = Turned::read(command.payload) {
            day.resume(&turned);
        }
    }
}

impl Turned {
    /// Which session, and why.
    pub(super) fn begins(&self) -> Option<(Session, Cause)> {
        let cause = match self.cause {
            0 => Cause::Scheduled,
            _ => Cause::Operator,
        };
        Some((Session::from_status(self.session)?, cause))
    }
}

/// Commands on their way to the sequencer, and entries on their way back.
#[derive(Debug)]
pub(super) struct Gate {
    sequencer: Sequencer,
    pub(super) day: Day,
    /// Entries that were made and are not committed.
    pending: Vec<u8>,
    /// So many bytes of them are.
    done: usize,
    payload: Vec<u8>,
    /// Nothing is taken any more: what is asked for could not be kept.
    is_halted: bool,
    /// Entries come from a leader.
    is_following: bool,
}

impl Gate {
    pub(super) fn new(limits: Limits, day: Day) -> Self {
        Self {
            sequencer: Sequencer::new(limits),
            day,
            pending: Vec::with_capacity(64 << 10),
            done: 0,
            payload: Vec::with_capacity(tapeline_sequence::MAX_PAYLOAD),
            is_halted: false,
            is_following: false,
        }
    }

    /// A client's request waits for its turn, as it came.
    pub(super) fn ask(
        &mut self,
        now: Time,
        (session, user): (SessionId, u16),
        input: &Input,
        frame: &[u8],
    ) -> Result<(), NotTaken> {
        let kind = match input {
            Input::New(_) => Kind::NEW,
            Input::Quote(_) => Kind::QUOTE,
            Input::Replace(_) => Kind::REPLACE,
            Input::Cancel(_) => Kind::CANCEL,
            Input::MassCancel(_) => Kind::MASS_CANCEL,
            Input::Missed(_) => return Ok(()),
        };
        self.payload.clear();
        self.payload.extend_from_slice(frame);
        self.offer(now, GATEWAYS, kind, (user, session.0))
    }

    /// Who settles a trade wants it cancelled.
    pub(super) fn cancel_trade(
        &mut self,
        now: Time,
        (session, user): (SessionId, u16),
        asked: &[u8],
    ) -> Result<(), NotTaken> {
        self.payload.clear();
        self.payload.extend_from_slice(asked);
        self.offer(now, GATEWAYS, Kind::CANCEL_TRADE, (user, session.0))
    }

    /// Operators want something done.
    pub(super) fn operate(&mut self, now: Time, asked: &[u8]) -> Result<(), NotTaken> {
        self.payload.clear();
        self.payload.extend_from_slice(asked);
        self.offer(now, GATEWAYS, Kind::OPERATE, (0, 0))
    }

    /// A sponsor is gone for too long, or back.
    pub(super) fn sponsor(&mut self, now: Time, user: u16, says: u8) -> Result<(), NotTaken> {
        self.payload.clear();
        self.payload.push(says);
        self.offer(now, GATEWAYS, Kind::SPONSOR, (user, 0))
    }

    /// The session of a user has ended.
    pub(super) fn disconnect(&mut self, now: Time, user: u16) {
        self.payload.clear();
        let _ = self.offer(now, GATEWAYS, Kind::DISCONNECT, (user, 0));
    }

    /// A user is known from now on.
    pub(super) fn introduce(&mut self, now: Time, user: u16, name: Text<25>) {
        self.payload.clear();
        self.payload.extend_from_slice(name.as_bytes());
        let _ = self.offer(now, GATEWAYS, Kind::USER, (user, 0));
    }

    /// Where the session of a user begins, or how far it is.
    pub(super) fn note(&mut self, now: Time, user: u16, numbers: &[u8]) -> Result<(), NotTaken> {
        self.payload.clear();
        self.payload.extend_from_slice(numbers);
        self.offer(now, GATEWAYS, Kind::NUMBERS, (user, 0))
    }

    /// The market opens.
    pub(super) fn open(&mut self, now: Time) {
        self.payload.clear();
        let _ = self.offer(now, Source::OWN, Kind::OPEN, (0, 0));
    }

    /// Time has passed, and something is due in the market.
    pub(super) fn tick(&mut self, now: Time) {
        self.payload.clear();
        let _ = self.offer(now, Source::OWN, Kind::TICK, (0, 0));
    }

    /// Sessions begin by now.
    pub(super) fn turn(&mut self, now: Time, now_ns: u64) {
        let mut has_turned = false;
        while let Some((session, cause)) = self.day.due(now_ns) {
            let turned = self.day.turned(session, cause);
            self.payload.clear();
            self.payload.extend_from_slice(&turned.to_bytes());
            let _ = self.offer(now, Source::OWN, Kind::SESSION, (0, 0));
            has_turned = true;
        }
        if has_turned {
            self.tick(now);
        }
    }

    /// What all events so far come to, for whoever replays them.
    pub(super) fn check(&mut self, now: Time, index: u64, hash: EventHash) {
        self.payload.clear();
        self.payload.extend_from_slice(&Checked { index, hash: hash.0 }.to_bytes());
        let _ = self.offer(now, Source::OWN, Kind::CHECK, (0, 0));
    }

    /// The session of a user is at a gateway in a process of its own.
    pub(super) fn seat(&mut self, now: Time, user: u16, gateway: u16) {
        self.payload.clear();
        self.payload.extend_from_slice(&Place { gateway, user }.to_bytes());
        let _ = self.offer(now, GATEWAYS, Kind::GATEWAY, (user, 0));
    }

    /// A command that has its number waits for its turn.
    pub(super) fn take(&mut self, command: &Command<'_>) -> Result<(), NotTaken> {
        match self.is_halted {
            true => Err(NotTaken::Full),
            false => self.sequencer.offer(command),
        }
    }

    /// The number of the last command of a stream.
    pub(super) fn last_number(&self, source: Source) -> u64 {
        self.sequencer.last_number(source)
    }

    fn offer(
        &mut self,
        now: Time,
        source: Source,
        kind: Kind,
        (user, session): (u16, u32),
    ) -> Result<(), NotTaken> {
        if self.is_halted {
            return Err(NotTaken::Full);
        }
        let number = self.sequencer.last_number(source) + 1;
        let (sent_ns, payload) = (now.as_nanos(), &self.payload[..]);
        self.sequencer.offer(&Command { kind, source, user, session, number, sent_ns, payload })
    }

    /// Makes an entry of what waits. Returns its number and its bytes.
    pub(super) fn sequence(&mut self, now_ns: u64) -> Option<(u64, &[u8])> {
        if self.done == self.pending.len() {
            self.pending.clear();
            self.done = 0;
        }
        let start = self.pending.len();
        let index = self.sequencer.sequence(now_ns, &mut self.pending)?;
        Some((index, &self.pending[start..]))
    }

    /// Everything up to an entry is committed.
    pub(super) fn commit(&mut self, index: u64) {
        self.sequencer.commit(index);
    }

    /// The next entry up to this one that is committed and not taken yet.
    pub(super) fn next(&mut self, upto: u64) -> Option<Entry<'_>> {
        let entry = Entry::own(&self.pending[self.done..])?;
        if entry.head().index > upto {
            return None;
        }
        self.done += entry.bytes().len();
        if self.is_following {
            resume(&mut self.sequencer, &mut self.day, &entry);
        }
        Some(entry)
    }

    /// Takes up after an entry that was made before.
    pub(super) fn resume(&mut self, entry: &Entry<'_>) {
        resume(&mut self.sequencer, &mut self.day, entry);
    }

    /// Entries of a leader wait to be committed.
    pub(super) fn follow(&mut self, entries: &[u8]) {
        self.is_following = true;
        if self.done == self.pending.len() {
            self.pending.clear();
            self.done = 0;
        } else if self.done > self.pending.len() / 2 {
            self.pending.drain(..self.done);
            self.done = 0;
        }
        self.pending.extend_from_slice(entries);
    }

    /// Entries behind this one were never committed.
    pub(super) fn forget_behind(&mut self, last: u64) {
        let mut end = self.done;
        while let Some(entry) = Entry::own(&self.pending[end..])
            && entry.head().index <= last
        {
            end += entry.bytes().len();
        }
        self.pending.truncate(end);
    }

    /// This one leads from now on: behind all that waits, its term begins with an
    /// entry. In a new market, this one opens it.
    pub(super) fn lead(&mut self, now: Time, term: u32) {
        let Self { sequencer, day, pending, done, .. } = self;
        let mut rest = &pending[*done..];
        while let Some(entry) = Entry::own(rest) {
            resume(sequencer, day, &entry);
            rest = &rest[entry.bytes().len()..];
        }
        self.is_following = false;
        let is_new = self.sequencer.index() == 0;
        self.sequencer.set_term(term);
        self.payload.clear();
        let _ = self.offer(now, Source::OWN, Kind::LEAD, (0, 0));
        if is_new {
            self.open(now);
        }
    }

    /// Appends the state of the sequencer and of the day.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        self.sequencer.save(out);
        append_section(out, [self.day.turned(Session::default(), Cause::default())]);
    }

    /// Takes up such a state.
    pub(super) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        self.sequencer.restore(sections)?;
        let turned: Turned = sections.record()?;
        self.day.resume(&turned);
        Some(())
    }

    /// Nothing is taken any more. Entries behind `maybe` are not kept anywhere: what
    /// they ask for comes back, to be refused.
    pub(super) fn halt(&mut self, maybe: u64, mut refused: impl FnMut(&Command<'_>)) {
        self.is_halted = true;
        while let Some(entry) = self.next(u64::MAX) {
            if entry.head().index > maybe {
                entry.commands().for_each(|command| refused(&command));
            }
        }
    }

    pub(super) const fn is_halted(&self) -> bool {
        self.is_halted
    }

    /// Commands that no entry has yet.
    pub(super) const fn waiting(&self) -> usize {
        self.sequencer.waiting()
    }

    /// Bytes of entries that are not committed.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len() - self.done
    }

    /// The last entry.
    pub(super) const fn index(&self) -> u64 {
        self.sequencer.index()
    }

    /// Commands that were dropped since they had been taken before.
    pub(super) const fn doubles(&self) -> u64 {
        self.sequencer.doubles()
    }
}
