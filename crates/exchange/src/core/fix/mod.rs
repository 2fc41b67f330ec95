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

mod decode;
mod encode;
mod talk;

use tapeline_fix::{CompIds, Store};
use tapeline_layout::{Sections, Text, append_section, message};
use tapeline_ntg::{Input, Message};

use super::{ExchangeConfig, SessionId};

use decode::{Fault, request};
pub(super) use encode::About;
pub(super) use talk::{FixTalk, GATEWAY};

/// How far the numbers of a session rise when another process goes on with it.
const TAKEN_OVER: u32 = 5_000;

message! {
    /// Where a session of FIX began, as the journal has it.
    Numbers: 64, fill 0 {
        /// The exchange's name.
        0 => own: Text<20>,
        /// The client's.
        20 => peer: Text<20>,
        /// The number of the next message that goes out.
        40 => next_out: u32,
        /// The day, since 1970, where the exchange is.
        44 => day: u32,
        /// Reports to its user until then.
        48 => told: u64,
        /// Whose session it is.
        56 => user: u16,
    }
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
    /// Reports so far.
    told: u64,
    /// Where the session began, at another process: this one has not seen it since.
    before: Option<Numbers>,
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
            told: 0,
            before: None,
            frame: Vec::with_capacity(512),
        }
    }

    fn numbers(&self, user: u16) -> Numbers {
        let CompIds { own, peer } = self.ids;
        let (next_out, day, told) = (self.store.next_out(), self.day, self.told);
        Numbers { own, peer, next_out, day, told, user }
    }

    /// Takes a report. Returns the bytes that go out, none if the user is away.
    pub(super) fn tell(&mut self, now_ns: u64, message: &Message, about: &About<'_>) -> &[u8] {
        let Self { ids, store, is_active, frame, .. } = self;
        frame.clear();
        if let Some(msg_type) = encode::msg_type(message) {
            self.told += 1;
            let is_absent = !*is_active;
            store.write(
                ids,
                now_ns,
                msg_type,
                is_absent,
                |fields| encode::write(message, about, fields),
                frame,
            );
        }
        frame
    }
}

/// The desks of all users who have logged on by FIX.
#[derive(Debug)]
pub(crate) struct Desks {
    all: Vec<Option<Box<Desk>>>,
    /// Messages that each keeps.
    messages: usize,
    /// Firms, and who gets copies of their reports.
    copies: Vec<(u16, u16)>,
    /// A request, as the native gateway has it.
    request: Vec<u8>,
}

impl Desks {
    pub(super) fn new(config: &ExchangeConfig) -> Self {
        let users = (0..).zip(&config.users);
        let copies = users.flat_map(|(user, it)| it.copies.iter().map(move |firm| (*firm, user)));
        let messages = config.fix_messages;
        Self { all: Vec::new(), messages, copies: copies.collect(), request: Vec::new() }
    }

    /// Whether anybody gets copies.
    pub(super) const fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Whether a user gets copies, and does not trade.
    pub(super) fn is_copier(&self, user: u16) -> bool {
        self.copies.iter().any(|(_, copier)| *copier == user)
    }

    /// The first from a place on that gets copies of a firm's reports, and its place.
    pub(super) fn copier(&mut self, firm: u16, from: usize) -> Option<(usize, u16, &mut Desk)> {
        let rest = self.copies.get(from..)?;
        let place = from + rest.iter().position(|(of, _)| *of == firm)?;
        let (_, user) = self.copies[place];
        Some((place, user, self.desk(user)))
    }

    /// The desk that reports of a user go to: not where the user came by another door.
    pub(super) fn of(&mut self, user: u16, session: Option<SessionId>) -> Option<&mut Desk> {
        let desk = self.all.get_mut(usize::from(user))?.as_deref_mut()?;
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

    /// A user comes in by FIX. Numbers begin again on each day.
    pub(super) fn seat(&mut self, user: u16, session: SessionId, (ids, day): (CompIds, u32)) {
        let desk = self.desk(user);
        (desk.ids, desk.at) = (ids, Some(session));
        let before = desk.before.take();
        let last = before.map_or(desk.day, |before| before.day);
        desk.day = day;
        if last != day {
            desk.store.restart(1);
        } else if let Some(before) = before {
            let since = (desk.told - before.told) as u32;
            desk.store.restart(before.next_out.wrapping_add(since).wrapping_add(TAKEN_OVER));
        }
    }

    /// The store of who is there.
    pub(super) fn store(&mut self, user: u16) -> &mut Store {
        &mut self.desk(user).store
    }

    /// Whoever was at a connection is gone.
    pub(super) fn left(&mut self, user: u16, session: SessionId) {
        let desk = self.all.get_mut(usize::from(user)).and_then(Option::as_deref_mut);
        if let Some(desk) = desk.filter(|desk| desk.at == Some(session)) {
            (desk.at, desk.is_active) = (None, false);
        }
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

    /// Where the session of a user begins, for the journal.
    pub(super) fn numbers(&mut self, user: u16) -> Numbers {
        let desk = self.desk(user);
        desk.numbers(user)
    }

    /// A session of FIX began here, or at the process before.
    pub(super) fn note(&mut self, user: u16, payload: &[u8]) {
        let Some(numbers) = Numbers::read(payload) else { return };
        let desk = self.desk(user);
        let is_own = desk.at.is_some() || desk.before.is_none() && desk.store.next_out() > 1;
        if is_own {
            return;
        }
        // What was told by then has arrived there.
        let waiting = desk.store.waiting() as u64;
        let since = desk.told.saturating_sub(numbers.told);
        desk.store.forget_waiting(waiting.saturating_sub(since) as usize);
        desk.ids = CompIds { own: numbers.own, peer: numbers.peer };
        desk.before = Some(numbers);
    }

    /// Appends where sessions began and what waits for their users.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let desks = (0..).zip(&self.all).filter_map(|(user, desk)| Some((user, desk.as_ref()?)));
        let numbers = desks.clone().map(|(user, desk)| desk.before.unwrap_or(desk.numbers(user)));
        append_section(out, numbers);
        append_section(out, desks.clone().map(|(user, desk)| Told { told: desk.told, user }));
        desks.for_each(|(_, desk)| desk.store.save_waiting(out));
    }

    /// Takes them up.
    pub(super) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let numbers: Vec<Numbers> = sections.records()?;
        let told: Vec<Told> = sections.records()?;
        for (numbers, told) in numbers.into_iter().zip(told) {
            let desk = self.desk(told.user);
            desk.ids = CompIds { own: numbers.own, peer: numbers.peer };
            (desk.told, desk.before) = (told.told, Some(numbers));
            desk.store.restore_waiting(sections)?;
        }
        Some(())
    }
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
    pub(super) fn of(input: &Input) -> (Text<20>, Self) {
        let (name, orig, request, scope) = match input {
            Input::New(order) => (order.cl_ord_id, Text::default(), b'D', 0),
            Input::Replace(replace) => (replace.cl_ord_id, replace.orig_cl_ord_id, b'G', 0),
            Input::Cancel(cancel) => (cancel.cl_ord_id, cancel.orig_cl_ord_id, b'F', 0),
            Input::MassCancel(cancel) => (cancel.cl_ord_id, Text::default(), b'q', cancel.kind),
            Input::Missed(_) => (Text::default(), Text::default(), 0, 0),
        };
        // There is no such order.
        (name, Self { orig, request, scope, status: 8, ..Self::default() })
    }
}
