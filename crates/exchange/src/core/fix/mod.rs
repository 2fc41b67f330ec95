//! The FIX gateway: the same orders and reports as the native gateway's, in FIX 5.0
//! SP2 over FIXT 1.1.
//!
//! ```text
//!  bytes ─▶ Acceptor (fix) ─▶ decode ─▶ Input, as the native gateway reads it ─▶ gate
//!  bytes ◀─ Store of its desk ◀─ encode ◀─ report, as the native gateway says it
//! ```
//!
//! A user who has logged on by FIX has a desk: the numbers of its session, and what
//! was sent, which outlive its connection. Reports that are made while the user is
//! away wait there. Where a session began is in the journal, so that whoever goes on
//! with it (after a restart, or as another replica) begins 5,000 above, which is more
//! than what the one before can have sent besides reports.

mod apart;
mod cancel;
mod confirm;
mod decode;
mod encode;
mod progress;
mod questions;
mod talk;
#[cfg(test)]
mod testing;

use tapeline_fix::{Admission, CompIds, Store, Writer};
use tapeline_layout::{Sections, Text, append_section, message};
use tapeline_ntg::{Input, Message};

use super::{ExchangeConfig, SessionId};

pub(super) use apart::Seated;
pub(super) use cancel::{CancelAsked, acknowledgement};
pub(super) use confirm::{Confirmed, TradesAsked, confirmation};
use decode::Fault;
pub(crate) use decode::request;
pub(super) use encode::news;
pub(crate) use encode::{About, msg_type, write};
pub(crate) use progress::Progress;
pub(super) use questions::OrdersAsked;
use questions::Question;
pub(super) use talk::FixTalk;
pub(crate) use talk::{LOGONS_CLOSED, OTHER, as_native, is_reject, native_logon};

/// How far the numbers of a session rise when another process goes on with it.
const TAKEN_OVER: u32 = 5_000;

/// So many numbers may be used for what is no report of the market before the journal
/// has a note of it: fewer than another process skips.
pub(crate) const MAX_UNKEPT: u32 = TAKEN_OVER - 1_000;

/// After so many messages that are no reports of the market, the journal is told of the
/// numbers again.
pub(crate) const NOTED_EVERY: u32 = TAKEN_OVER / 2;

message! {
    /// Where a session of FIX began, or is, as the journal has it.
    Numbers: 64, fill 0 {
        /// The exchange's name.
        0 => own: Text<20>,
        /// The client's.
        20 => peer: Text<20>,
        /// The number of the next message that goes out.
        40 => next_out: u32,
        /// The day, since 1970, where the exchange is.
        44 => day: u32,
        /// Reports of the market to its user until then.
        48 => told: u64,
        /// Whose session it is.
        56 => user: u16,
        /// What is noted: 0 numbers alone, 1 that it begins, 2 what its client has.
        58 => kind: u8,
        /// But for 0: so many of the reports its client may not have.
        60 => unsure: u32,
    }
}

/// What the journal is told of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// How far its numbers are.
    Numbers = 0,
    /// It begins.
    Begins = 1,
    /// Its client says what it has.
    Confirmed = 2,
}

/// The session of a user, whether or not it is here.
#[derive(Debug)]
pub(crate) struct Desk {
    ids: CompIds,
    store: Store,
    at: Option<SessionId>,
    /// Its connection takes reports: nothing goes out behind a logout.
    is_active: bool,
    /// The day of its last logon, since 1970.
    day: u32,
    /// Of the last note in the journal: the next number, and reports by then.
    noted: Progress,
    /// The same of the last note that is in the journal for sure.
    kept: Progress,
    /// So many of the reports its client has: it said so.
    had: u64,
    /// Beginnings that are on their way to the journal, and how its client is let in
    /// when that has them.
    beginnings: u32,
    admission: Option<Admission>,
    /// What the journal has of the session at another process: this one has not seen
    /// it since.
    before: Option<Numbers>,
    /// Its numbers are at a gateway in a process of its own, by this mark of their
    /// beginning there; 0 where they are not.
    apart: u64,
    frame: Vec<u8>,
}

impl Desk {
    fn new(messages: usize) -> Self {
        Self {
            ids: CompIds::default(),
            store: Store::new(messages),
            at: None,
            is_active: false,
            day: 0,
            noted: Progress::START,
            kept: Progress::START,
            had: 0,
            beginnings: 0,
            admission: None,
            before: None,
            apart: 0,
            frame: Vec::with_capacity(512),
        }
    }

    /// What the journal is to have of it.
    fn numbers(&self, note: Note, (user, told): (u16, u64)) -> Numbers {
        let CompIds { own, peer } = self.ids;
        // What waits goes out behind a logon at once.
        let waiting = if note == Note::Begins { self.store.waiting() as u32 } else { 0 };
        let next_out = self.store.next_out().saturating_add(waiting);
        let unsure = u32::try_from(told.saturating_sub(self.had)).unwrap_or(u32::MAX);
        Numbers { own, peer, next_out, day: self.day, told, user, kind: note as u8, unsure }
    }

    /// How far it is, with so many reports.
    const fn progress(&self, told: u64) -> Progress {
        Progress { next_out: self.store.next_out(), told }
    }

    /// Takes a report. Returns the bytes that go out, none if the user is away.
    pub(super) fn tell(&mut self, now_ns: u64, message: &Message, about: &About<'_>) -> &[u8] {
        match msg_type(message) {
            Some(kind) => self.write(now_ns, kind, |fields| write(message, about, fields)),
            None => &[],
        }
    }

    /// Takes a message that is kept. Returns the bytes that go out, none if the user is
    /// away.
    pub(super) fn write(
        &mut self,
        now_ns: u64,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> &[u8] {
        if self.apart != 0 {
            return self.hold(now_ns, msg_type, body);
        }
        let Self { ids, store, is_active, frame, .. } = self;
        store.write(ids, now_ns, msg_type, !*is_active, body, frame);
        frame
    }
}

/// The desks of all users who have logged on by FIX.
#[derive(Debug)]
pub(crate) struct Desks {
    all: Vec<Option<Box<Desk>>>,
    /// By user, reports of the market so far, by whichever door: the same in every
    /// process that has its entries.
    told: Vec<u64>,
    /// Messages that each keeps.
    messages: usize,
    /// Firms, and who gets copies of their reports.
    copies: Vec<(u16, u16)>,
    /// Firms, and who settles their trades.
    settles: Vec<(u16, u16)>,
    /// Who can be let in: that its session begins is in the journal.
    decided: Vec<u16>,
    /// A request, as the native gateway has it.
    request: Vec<u8>,
}

impl Desks {
    pub(super) fn new(config: &ExchangeConfig) -> Self {
        let users = (0..).zip(&config.users);
        let copies =
            users.clone().flat_map(|(user, it)| it.copies.iter().map(move |firm| (*firm, user)));
        let settles = users.flat_map(|(user, it)| it.settles.iter().map(move |firm| (*firm, user)));
        let messages = config.fix_messages;
        Self {
            all: Vec::new(),
            told: vec![0; config.max_users],
            messages,
            copies: copies.collect(),
            settles: settles.collect(),
            decided: Vec::new(),
            request: Vec::new(),
        }
    }

    /// The market has a report for a user.
    pub(super) fn count(&mut self, user: u16) {
        if let Some(told) = self.told.get_mut(usize::from(user)) {
            *told += 1;
        }
    }

    /// Of whom the market has a report for.
    fn next_report(&mut self, user: u16) -> &mut Desk {
        self.count(user);
        let told = self.told(user);
        let desk = self.desk(user);
        desk.store.set_report(told);
        desk
    }

    fn told(&self, user: u16) -> u64 {
        self.told.get(usize::from(user)).copied().unwrap_or_default()
    }

    /// Whether anybody gets copies.
    pub(super) const fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Whether a user gets copies, and does not trade.
    pub(super) fn is_copier(&self, user: u16) -> bool {
        self.copies.iter().any(|(_, copier)| *copier == user)
    }

    /// Whether a user gets copies of a firm's reports.
    pub(super) fn is_copier_of(&self, user: u16, firm: u16) -> bool {
        self.copies.contains(&(firm, user))
    }

    /// The first from a place on that gets copies, each once, and its place.
    pub(super) fn any_copier(&mut self, from: usize) -> Option<(usize, u16, &mut Desk)> {
        let is_first = |place: &usize| {
            let (before, user) = (&self.copies[..*place], self.copies[*place].1);
            before.iter().all(|(_, other)| *other != user)
        };
        let place = (from..self.copies.len()).find(is_first)?;
        let (_, user) = self.copies[place];
        Some((place, user, self.next_report(user)))
    }

    /// The first from a place on that gets a copy of a firm's report, and its place.
    pub(super) fn copier(&mut self, firm: u16, from: usize) -> Option<(usize, u16, &mut Desk)> {
        let (place, user) = first_of(&self.copies, firm, from)?;
        Some((place, user, self.next_report(user)))
    }

    /// Whether trades are confirmed to anybody.
    pub(super) const fn has_settlers(&self) -> bool {
        !self.settles.is_empty()
    }

    /// Whether a user settles, and does nothing else.
    pub(super) fn is_settler(&self, user: u16) -> bool {
        self.settles.iter().any(|(_, settler)| *settler == user)
    }

    /// Whether a user settles the trades of a firm.
    pub(super) fn is_settler_of(&self, user: u16, firm: u16) -> bool {
        self.settles.contains(&(firm, user))
    }

    /// Whether anybody settles the trades of a firm.
    pub(super) fn is_settled(&self, firm: u16) -> bool {
        self.settles.iter().any(|(of, _)| *of == firm)
    }

    /// Of who settles, for what only that user is to know.
    pub(super) fn settler_desk(&mut self, user: u16) -> &mut Desk {
        self.next_report(user)
    }

    /// The first from a place on that settles the trades of a firm, and its place.
    pub(super) fn settler(&mut self, firm: u16, from: usize) -> Option<(usize, u16, &mut Desk)> {
        let (place, user) = first_of(&self.settles, firm, from)?;
        Some((place, user, self.next_report(user)))
    }

    /// The desk that reports of a user go to: not where the user came by another door.
    pub(super) fn of(&mut self, user: u16, session: Option<SessionId>) -> Option<&mut Desk> {
        let desk = self.all.get_mut(usize::from(user))?.as_deref_mut()?;
        desk.store.set_report(self.told.get(usize::from(user)).copied().unwrap_or_default());
        (session.is_none() || desk.at == session).then_some(desk)
    }

    fn desk(&mut self, user: u16) -> &mut Desk {
        let place = usize::from(user);
        if self.all.len() <= place {
            self.all.resize_with(place + 1, || None);
        }
        let messages = self.messages;
        self.all[place].get_or_insert_with(|| Box::new(Desk::new(messages)))
    }

    /// A user comes in by FIX. Numbers begin again on each day, and where it wants so.
    pub(super) fn seat(
        &mut self,
        user: u16,
        session: SessionId,
        (ids, day, resets): (CompIds, u32, bool),
    ) {
        let told = self.told(user);
        let desk = self.desk(user);
        (desk.ids, desk.at, desk.admission, desk.apart) = (ids, Some(session), None, 0);
        let before = desk.before.take();
        let last = before.map_or(desk.day, |before| before.day);
        desk.day = day;
        if last != day || resets {
            // What went out under the numbers that end can be asked for no more.
            desk.store.take_back(desk.had);
            desk.store.restart(1);
        } else if let Some(before) = before {
            let since = told.saturating_sub(before.told) as u32;
            desk.store.restart(before.next_out.wrapping_add(since).wrapping_add(TAKEN_OVER));
        }
    }

    /// The store of who is there.
    pub(super) fn store(&mut self, user: u16) -> &mut Store {
        &mut self.desk(user).store
    }

    /// Whether a user can be told what is not kept: the journal knows nearly all numbers
    /// that were used.
    pub(super) fn may_answer(&mut self, user: u16) -> bool {
        let told = self.told(user);
        let desk = self.desk(user);
        desk.progress(told).unreported_since(desk.kept) < MAX_UNKEPT
    }

    /// An answer to a user who is there, which is not kept.
    pub(super) fn reply(
        &mut self,
        user: u16,
        now_ns: u64,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> &[u8] {
        let Desk { ids, store, frame, .. } = self.desk(user);
        store.write_once(ids, now_ns, msg_type, body, frame);
        frame
    }

    /// Whoever was at a connection is gone.
    pub(super) fn left(&mut self, user: u16, session: SessionId) {
        let desk = self.all.get_mut(usize::from(user)).and_then(Option::as_deref_mut);
        if let Some(desk) = desk.filter(|desk| desk.at == Some(session)) {
            (desk.at, desk.is_active, desk.admission) = (None, false, None);
        }
    }

    /// A user is let in so when the journal has that its session begins: whoever goes on
    /// with that uses none of the numbers that are used here from then on.
    pub(super) fn let_in_later(&mut self, user: u16, admission: Admission) {
        let desk = self.desk(user);
        desk.beginnings += 1;
        desk.admission = Some(admission);
    }

    /// That a session begins is in the journal, or never will be.
    fn begun(&mut self, user: u16) {
        let Some(desk) = self.all.get_mut(usize::from(user)).and_then(Option::as_deref_mut) else {
            return;
        };
        desk.beginnings = desk.beginnings.saturating_sub(1);
        if desk.beginnings == 0 && desk.admission.is_some() {
            self.decided.push(user);
        }
    }

    /// What was noted of a session will never be in the journal.
    pub(super) fn not_kept(&mut self, user: u16, payload: &[u8]) {
        if Numbers::read(payload).is_some_and(|numbers| numbers.kind == Note::Begins as u8) {
            self.begun(user);
        }
    }

    /// Somebody who can be let in now, where, and how.
    pub(super) fn next_decided(&mut self) -> Option<(SessionId, Admission)> {
        while let Some(user) = self.decided.pop() {
            let desk = self.desk(user);
            if let (Some(session), Some(admission)) = (desk.at, desk.admission.take()) {
                return Some((session, admission));
            }
        }
        None
    }

    /// How many reports a user was told of, if it may not have all of them.
    pub(super) fn unconfirmed(&mut self, user: u16) -> Option<u64> {
        let told = self.told(user);
        (self.desk(user).had < told).then_some(told)
    }

    /// A user has so many reports: it said so.
    pub(super) fn confirmed(&mut self, user: u16, had: u64) {
        let desk = self.desk(user);
        desk.had = desk.had.max(had);
    }

    /// Whether the session of a user is under way.
    pub(super) fn note_active(&mut self, user: u16, is_active: bool) {
        self.desk(user).is_active = is_active;
    }

    /// Reports that wait for users who are away, and those that made room for others.
    pub(super) fn waiting(&self) -> (usize, u64) {
        let stores = self.all.iter().flatten().map(|desk| &desk.store);
        stores
            .fold((0, 0), |(waiting, lost), store| (waiting + store.waiting(), lost + store.lost()))
    }

    /// What the journal is to be told of the session of a user. Of its numbers alone it is
    /// told when many were used of which it does not know.
    pub(super) fn take_note(&mut self, user: u16, note: Note) -> Option<Numbers> {
        let told = self.told(user);
        let desk = self.desk(user);
        if note == Note::Numbers && desk.progress(told).unreported_since(desk.noted) < NOTED_EVERY {
            return None;
        }
        let numbers = desk.numbers(note, (user, told));
        desk.noted = Progress { next_out: numbers.next_out, told };
        Some(numbers)
    }

    /// A session of FIX began, or is so far, here or at the process before.
    pub(super) fn note(&mut self, user: u16, payload: &[u8]) {
        let Some(numbers) = Numbers::read(payload) else { return };
        let told = self.told(user);
        let desk = self.desk(user);
        let is_own = desk.at.is_some()
            || desk.beginnings > 0
            || desk.before.is_none() && desk.store.next_out() > 1;
        if is_own && desk.apart == 0 {
            desk.kept = Progress { next_out: numbers.next_out, told: numbers.told };
            if numbers.kind == Note::Begins as u8 {
                self.begun(user);
            }
            return;
        }
        if numbers.kind == Note::Begins as u8 {
            // It may be one of before it went elsewhere.
            self.begun(user);
        }
        let desk = self.desk(user);
        debug_assert!(numbers.told <= told, "what was told by then is in entries before");
        if numbers.kind != Note::Numbers as u8 {
            // That it came back says nothing of what was on its way to it when it went.
            desk.had = numbers.told.saturating_sub(numbers.unsure.into());
            desk.store.forget(desk.had);
        }
        desk.ids = CompIds { own: numbers.own, peer: numbers.peer };
        desk.before = Some(numbers);
    }

    /// Appends what users have had, where sessions are, and what waits.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let told = (0..).zip(&self.told).filter(|(_, told)| **told > 0);
        append_section(out, told.map(|(user, told)| Told { told: *told, user }));
        let desks = (0..).zip(&self.all).filter_map(|(user, desk)| Some((user, desk.as_deref()?)));
        let numbers = |(user, desk): (u16, &Desk)| {
            desk.before.unwrap_or(desk.numbers(Note::Begins, (user, self.told(user))))
        };
        append_section(out, desks.clone().map(numbers));
        desks.for_each(|(_, desk)| desk.store.save_waiting(out));
    }

    /// Takes them up.
    pub(super) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let told: Vec<Told> = sections.records()?;
        for of in told {
            *self.told.get_mut(usize::from(of.user))? = of.told;
        }
        let numbers: Vec<Numbers> = sections.records()?;
        for numbers in numbers {
            let told = self.told(numbers.user);
            let desk = self.desk(numbers.user);
            desk.ids = CompIds { own: numbers.own, peer: numbers.peer };
            desk.before = Some(numbers);
            desk.had = match numbers.kind {
                0 => 0,
                _ => numbers.told.saturating_sub(numbers.unsure.into()),
            };
            desk.store.restore_waiting(sections, told)?;
        }
        Some(())
    }
}

/// The first user from a place on of a firm, and its place.
fn first_of(all: &[(u16, u16)], firm: u16, from: usize) -> Option<(usize, u16)> {
    let place = from + all.get(from..)?.iter().position(|(of, _)| *of == firm)?;
    Some((place, all[place].1))
}

message! {
    /// How many reports a user has had.
    Told: 16, fill 0 {
        0 => told: u64,
        8 => user: u16,
    }
}

impl About<'_> {
    /// What a request that goes no further is about, and the client's name for it.
    pub(crate) fn of(input: &Input) -> (Text<20>, Self) {
        let (name, orig, request, scope) = match input {
            Input::New(order) => (order.cl_ord_id, Text::default(), b'D', 0),
            Input::Quote(quote) => (quote.cl_ord_id, Text::default(), b'S', 0),
            Input::Replace(replace) => (replace.cl_ord_id, replace.orig_cl_ord_id, b'G', 0),
            Input::Cancel(cancel) => (cancel.cl_ord_id, cancel.orig_cl_ord_id, b'F', 0),
            Input::MassCancel(cancel) => (cancel.cl_ord_id, Text::default(), b'q', cancel.kind),
            Input::Missed(_) => (Text::default(), Text::default(), 0, 0),
        };
        // There is no such order.
        (name, Self { orig, request, scope, status: 8, ..Self::default() })
    }
}
