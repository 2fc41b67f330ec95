//! One market, with everybody who is connected to it, as decisions without I/O.
//!
//! ```text
//!  bytes of clients ─▶ sessions ─▶ orders ─┐
//!  (native gateway)     (ntg)              ├─▶ sequencer ─▶ entry ─▶ (journal)
//!  the clock ─▶ day ─▶ sessions, ticks ────┘                           │
//!                                                                      ▼ committed
//!      clients, and the order cache for who missed some ◀─ reports ◀─ engine
//!                                       units of MITCH ◀─ distribution ◀─┘
//!  bytes of readers ─▶ services ─▶ replay, snapshot, a slice at a time
//! ```
//!
//! | room | holds |
//! |---|---|
//! | [`Exchange`] | who is connected, and what is due when |
//! | `gate` | commands on their way to the sequencer, entries on their way back |
//! | `apply` | one entry after another: what comes of it, to whom it is told |
//! | `floor` | the state that entries change, and what a gateway answers by itself |
//! | `users` | who may come in, and where each is |
//! | `ledger` | what the engine does not know of an order: its owner's name for it |
//! | `quotes` | which orders are the sides of whose quote |
//! | `requests`, `reports` | from the gateway's messages to commands, from events to its messages |
//! | `gateways` | gateways in processes of their own: links, and who is there |
//! | `distributors` | distributions in processes of their own: links, and who publishes |
//! | `sending` | whether market data goes out from here, and what is said again |
//! | `tail` | the last entries, for who is a little behind |
//! | `fix` | the same messages in FIX, and the sessions of who speaks it |
//! | `cache` | the last reports, for the recovery channel |
//! | `settling` | trades behind the match: confirmed, cancelled |
//! | `operate` | what operators do: halts and pauses, their ends, orders and trades cancelled |
//! | `sponsors` | who answers for firms, and stops their users when it is gone |
//! | `standing` | one among replicas: it follows, or it leads |
//! | `state` | all of it as bytes, for a start that does not do everything again |
//! | `answers` | replay, snapshot and recovery, in slices |
//! | `day` | the sessions of the day by the clock |
//!
//! An order costs no allocation: tables have their room from the start, and a report
//! is written once, into the cache and from there to its owner.

mod answers;
mod apply;
mod cache;
mod config;
mod counts;
mod day;
mod distributors;
mod fix;
mod floor;
mod gate;
mod gateways;
mod ledger;
mod operate;
mod outputs;
mod quotes;
mod refusals;
mod reports;
mod requests;
mod sending;
mod settling;
mod sponsors;
mod standing;
mod state;
mod tail;
mod trades;
mod users;

use std::time::Duration;

use tapeline_mitch::{Service, ServiceOutputs};
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Acceptor, Admission, Channel, Input, Verdict};
use tapeline_sequence::{EventHash, Kind};
use tapeline_time::Time;

pub use config::{
    DistributionTerms, ExchangeConfig, FirmConfig, GatewayTerms, ReaderConfig, UserConfig,
};
pub use counts::ExchangeCounts;
pub use day::Plan;
pub use operate::{Operation, Scope};
pub use outputs::{Door, Keeping, Outputs, Past, SessionId, Stage};

pub(crate) use fix::{
    About, LOGONS_CLOSED, MAX_UNKEPT, NOTED_EVERY, Note, Numbers, OTHER, Progress, as_native,
    is_reject, msg_type, native_logon, request, write,
};
pub use floor::Differs;
pub(crate) use refusals::{
    DOWN, ELSEWHERE, TOO_SLOW, down, down_as, instrument_of, request_kind, unknown,
};
pub(crate) use standing::Nobody;
pub(crate) use tail::Tail;

use answers::Answer;
use day::Day;
use distributors::Uplink;
use fix::{CancelAsked, FixTalk};
use floor::Floor;
use gate::Gate;
use gateways::{Link, Member};
use standing::Standing;

/// How often the market looks at the time.
const TICK: Duration = Duration::from_millis(10);

/// Bytes of entries that wait to be kept; with more, clients are not read.
const MAX_PENDING_BYTES: usize = 8 << 20;

/// A reader's login is refused: what it wants is not there.
const UNAVAILABLE: u8 = b'c';

/// Who is at a connection.
#[derive(Debug)]
enum Seat {
    Client { acceptor: Acceptor, channel: Channel, answer: Option<Answer> },
    Reader { service: Service, door: Door, answer: Option<Answer> },
    Fix { acceptor: Box<tapeline_fix::Acceptor>, door: Door, answer: Option<Answer> },
    Link(Box<Link>),
    Member(Member),
    Distributor(Box<Uplink>),
}

/// One market in one thread.
///
/// A shell gives it connections, bytes and the time; the same calls give the same
/// outputs.
#[derive(Debug)]
pub struct Exchange {
    floor: Floor,
    gate: Gate,
    seats: Vec<Option<Seat>>,
    /// Behind the last seat that is taken: a tick looks no further.
    taken: usize,
    ticked: Time,
    standing: Standing,
}

impl Exchange {
    /// A market whose clock shows `epoch_ns`, in nanoseconds since 1970 UTC, at
    /// [`Time::ZERO`]. Nothing is published before [`open`](Self::open).
    pub fn new(config: &ExchangeConfig, epoch_ns: u64) -> Self {
        let seats = (0..config.max_sessions).map(|_| None).collect();
        let day = Day::new(&config.plan, epoch_ns, config.utc_offset_s, config.seed);
        let gate = Gate::new(config.sequencer, day);
        let (ticked, standing) = (Time::ZERO, Standing::Alone);
        Self { floor: Floor::new(config, epoch_ns), gate, seats, taken: 0, ticked, standing }
    }

    /// Takes up the state of another one of the same configuration, which has been
    /// restored; keeps its own clock.
    pub(crate) fn take_up(&mut self, mut restored: Self) {
        restored.floor.epoch_ns = self.floor.epoch_ns;
        *self = restored;
    }

    /// Publishes what is traded, and begins the day; behind a journal, goes on with
    /// it.
    pub fn open(&mut self, now: Time, out: &mut impl Outputs) {
        if self.floor.users.is_open() {
            tracing::warn!("no user is configured: everybody is let in, each as a firm of its own");
        }
        self.ticked = now;
        self.floor.counts = ExchangeCounts::default();
        self.floor.published = now;
        self.floor.expect_distributors(now);
        match self.gate.index() {
            0 => self.gate.open(now),
            _ => {
                for user in self.floor.forsaken() {
                    self.gate.disconnect(now, user);
                }
                self.floor.expect_gateways(now);
            }
        }
        self.gate.turn(now, self.floor.ns(now));
        self.cycle(now, out);
    }

    /// Puts all that has come since into one order, as one entry, and does it when
    /// it is kept: the end of a turn of a shell.
    pub fn cycle(&mut self, now: Time, out: &mut impl Outputs) {
        self.see_off(now);
        while let Some((index, entry)) = self.gate.sequence(self.floor.ns(now)) {
            self.floor.counts.entries += 1;
            out.reached(Stage::Sequenced);
            match out.keep(index, entry) {
                Keeping::Done => self.committed(now, index, out),
                Keeping::UnderWay => {}
            }
        }
        if self.floor.distributors.are_there() {
            self.distribute(out);
            self.close_slow(now, out);
            self.floor.choose_publisher(now, out);
            self.floor.has_more_to_send = self.floor.send_again(out);
        }
        self.close_slow(now, out);
    }

    /// Everything up to an entry is kept: it is done, and told.
    pub fn committed(&mut self, now: Time, index: u64, out: &mut impl Outputs) {
        self.gate.commit(index);
        if !self.tells() {
            while self.apply_quietly(now, index) {}
            return;
        }
        while let Some(entry) = self.gate.next(index) {
            self.floor.distributors.note(&entry);
            self.floor.apply(now, &entry, out);
            let checkpoint = self.floor.checkpoint;
            if checkpoint.index == self.floor.applied && self.has_clock() {
                let hash = EventHash(checkpoint.hash);
                self.gate.check(now, checkpoint.index, hash);
                out.checked(checkpoint.index, hash);
            }
        }
        self.floor.gateways.tell(out);
        self.look_at_waiting(now, out);
        self.let_in_decided(now, out);
        self.open_if_decided(now);
        self.close_slow(now, out);
    }

    /// Entries cannot be kept any more: nothing is taken from now on. What is not
    /// done yet is refused if it is known that it is kept nowhere, which is so for
    /// entries behind `maybe`; what became of the others, nobody says.
    pub fn halt(&mut self, now: Time, maybe: u64, out: &mut impl Outputs) {
        let floor = &mut self.floor;
        self.gate.halt(maybe, |command| {
            if gateways::gateway_of(command.source) != 0 {
                floor.gateways.refuse(command, out);
            } else if command.kind == Kind::NUMBERS {
                floor.desks.not_kept(command.user, command.payload);
            } else if let Some(name) = refusals::asked_as(command.payload) {
                floor.refuse_down(now, command.user, name, out);
            } else if command.kind == Kind::CANCEL_TRADE
                && let Some(asked) = CancelAsked::read(command.payload)
                && let Some(session) = floor.users.get(command.user).and_then(|user| user.session)
            {
                floor.refuse_cancel(now, (command.user, session), &asked, out);
            }
        });
        self.let_in_decided(now, out);
    }

    /// Who has logged on by FIX is told so, when the journal has that its session begins.
    fn let_in_decided(&mut self, now: Time, out: &mut impl Outputs) {
        while let Some((session, admission)) = self.floor.desks.next_decided() {
            let (floor, gate) = (&mut self.floor, &mut self.gate);
            let seat = self.seats.get_mut(session.0 as usize).and_then(Option::as_mut);
            let Some(Seat::Fix { acceptor, door, answer }) = seat else { continue };
            let goes_on = FixTalk { floor, gate, now, session, door: *door, answer, out }
                .decided(acceptor, admission);
            if !goes_on {
                self.leave(now, session, out);
            }
        }
    }

    /// Whether too much waits to be kept to take more from clients.
    pub fn is_backed_up(&self) -> bool {
        self.gate.pending_bytes() > MAX_PENDING_BYTES
    }

    /// The last entry that was made, the last that is done, and what all events up
    /// to it come to.
    pub fn position(&self) -> (u64, u64, EventHash) {
        (self.gate.index(), self.floor.applied, self.floor.hash)
    }

    /// A connection has come through a door. `None`: there are too many.
    pub fn accepted(&mut self, now: Time, door: Door) -> Option<SessionId> {
        let native = |channel| {
            let acceptor = Acceptor::of(channel, now, self.floor.limits);
            Seat::Client { acceptor, channel, answer: None }
        };
        let seat = match door {
            Door::Orders => native(Channel::RealTime),
            Door::Recovery => native(Channel::Recovery),
            Door::Replay | Door::Snapshot => {
                let service = Service::new(now, self.floor.group);
                Seat::Reader { service, door, answer: None }
            }
            Door::Fix | Door::PostTrade => {
                let limits = self.floor.config.fix;
                let acceptor = tapeline_fix::Acceptor::new(now, door.comp_id(), limits);
                Seat::Fix { acceptor: Box::new(acceptor), door, answer: None }
            }
            Door::Gateways => Seat::Link(Box::new(Link::new(now))),
            Door::Distribution => Seat::Distributor(Box::new(Uplink::new(now))),
        };
        self.sit_down(now, seat)
    }

    /// A connection has a place from now on, if there is one.
    fn sit_down(&mut self, now: Time, seat: Seat) -> Option<SessionId> {
        let Some(place) = self.seats.iter().position(Option::is_none) else {
            self.floor.counts.turned_away += 1;
            return None;
        };
        self.seats[place] = Some(seat);
        self.taken = self.taken.max(place + 1);
        self.floor.said[place] = now;
        self.floor.counts.connections += 1;
        Some(SessionId(place as u32))
    }

    /// Bytes of a connection have come; what they ask for waits for
    /// [`cycle`](Self::cycle).
    pub fn received(
        &mut self,
        now: Time,
        session: SessionId,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) {
        let Self { floor, gate, seats, .. } = self;
        let Some(Some(seat)) = seats.get_mut(session.0 as usize) else { return };
        out.reached(Stage::Read);
        let goes_on = match seat {
            Seat::Client { acceptor, channel, answer } => {
                let channel = *channel;
                let mut talk = Talk { floor, gate, now, session, channel, answer, out };
                let verdict = acceptor.received(now, bytes, &mut talk);
                acceptor.spoke(self.floor.said[session.0 as usize]);
                verdict == Verdict::Open
            }
            Seat::Reader { service, .. } => {
                service.received(now, bytes, &mut Reading { floor, session, out })
            }
            Seat::Fix { acceptor, door, answer } => {
                FixTalk { floor, gate, now, session, door: *door, answer, out }
                    .received(acceptor, bytes)
            }
            Seat::Link(_) => self.link_received(now, session, bytes, out),
            Seat::Member(_) => true,
            Seat::Distributor(_) => self.distributor_received(now, session, bytes, out),
        };
        out.reached(Stage::Asked);
        match goes_on {
            true => self.answer(now, session, out),
            false => self.leave(now, session, out),
        }
    }

    /// A connection has ended.
    pub fn closed(&mut self, now: Time, session: SessionId) {
        self.end(now, session);
    }

    /// Lets go of a connection.
    fn leave(&mut self, now: Time, session: SessionId, out: &mut impl Outputs) {
        if self.end(now, session) {
            out.close(session);
        }
    }

    fn end(&mut self, now: Time, session: SessionId) -> bool {
        let seat = self.seats.get_mut(session.0 as usize).and_then(Option::take);
        while self.taken > 0 && self.seats[self.taken - 1].is_none() {
            self.taken -= 1;
        }
        match &seat {
            None => return false,
            Some(Seat::Client { .. } | Seat::Fix { .. }) => {
                if let Some(user) = self.floor.users.left(session) {
                    self.floor.desks.left(user, session);
                    self.gate.disconnect(now, user);
                }
            }
            Some(Seat::Reader { .. }) => self.floor.readers.left(session),
            Some(Seat::Link(link)) => self.end_link(now, session, link),
            Some(Seat::Member(_)) => {}
            Some(Seat::Distributor(_)) => self.end_distributor(session),
        }
        true
    }

    /// Goes on with what a connection asked for, as far as it takes it.
    fn answer(&mut self, now: Time, session: SessionId, out: &mut impl Outputs) {
        let Some(Some(seat)) = self.seats.get_mut(session.0 as usize) else { return };
        match seat {
            Seat::Client { answer, .. } => self.floor.recover(now, session, answer, out),
            Seat::Reader { service, door, answer } => {
                self.floor.serve(now, session, (service, *door), answer, out);
            }
            Seat::Fix { door, answer, .. } => {
                let (floor, gate) = (&mut self.floor, &mut self.gate);
                FixTalk { floor, gate, now, session, door: *door, answer, out }.answer();
            }
            Seat::Member(_) => self.answer_member(now, session, out),
            Seat::Link(_) | Seat::Distributor(_) => {}
        }
    }

    /// Ends sessions of clients that do not read.
    fn close_slow(&mut self, now: Time, out: &mut impl Outputs) {
        while let Some(session) = self.floor.slow.pop() {
            self.floor.counts.slow_clients += 1;
            let (floor, gate) = (&mut self.floor, &mut self.gate);
            match self.seats.get_mut(session.0 as usize).and_then(Option::as_mut) {
                Some(Seat::Client { acceptor, channel, answer }) => {
                    let channel = *channel;
                    let mut talk = Talk { floor, gate, now, session, channel, answer, out };
                    acceptor.log_out(now, TOO_SLOW, &mut talk);
                }
                Some(Seat::Fix { acceptor, door, answer }) => {
                    FixTalk { floor, gate, now, session, door: *door, answer, out }
                        .log_out(acceptor, TOO_SLOW);
                }
                // Its gateway does not read.
                Some(Seat::Member(member)) => {
                    let link = member.link();
                    self.leave(now, link, out);
                    continue;
                }
                Some(Seat::Link(_) | Seat::Distributor(_)) => {}
                Some(Seat::Reader { .. }) | None => continue,
            }
            self.leave(now, session, out);
        }
    }

    /// When [`timeout`](Self::timeout) is to be called at the latest.
    pub fn deadline(&self) -> Time {
        match self.floor.has_more_to_send {
            true => self.ticked,
            false => self.ticked.after(TICK),
        }
    }

    /// Time has passed: sessions of the day begin, orders expire, who is silent is
    /// let go, answers go on. What comes of it for orders waits for
    /// [`cycle`](Self::cycle).
    pub fn timeout(&mut self, now: Time, out: &mut impl Outputs) {
        if now < self.deadline() {
            return;
        }
        self.ticked = now;
        if self.has_clock() {
            self.gate.turn(now, self.floor.ns(now));
            if self.floor.is_due(now) {
                self.gate.tick(now);
            }
            self.floor.sponsors.look(now, &self.floor.users, &mut self.gate);
            self.floor.beat(now, out);
            self.give_up_gateways(now);
            self.look_at_waiting(now, out);
        }
        for place in 0..self.taken {
            let session = SessionId(place as u32);
            let Self { floor, gate, seats, .. } = self;
            let goes_on = match &mut seats[place] {
                None => continue,
                Some(Seat::Client { acceptor, channel, answer }) => {
                    acceptor.spoke(floor.said[place]);
                    let channel = *channel;
                    let mut talk = Talk { floor, gate, now, session, channel, answer, out };
                    acceptor.timeout(now, &mut talk) == Verdict::Open
                }
                Some(Seat::Reader { service, .. }) => !service.is_over(now),
                Some(Seat::Fix { acceptor, door, answer }) => {
                    FixTalk { floor, gate, now, session, door: *door, answer, out }
                        .timeout(acceptor)
                }
                Some(Seat::Member(_)) => true,
                Some(Seat::Link(_)) => self.link_timeout(now, session, out),
                Some(Seat::Distributor(_)) => self.distributor_timeout(now, session, out),
            };
            match goes_on {
                true => self.answer(now, session, out),
                false => self.leave(now, session, out),
            }
        }
    }

    /// What it has counted.
    pub fn counts(&self) -> ExchangeCounts {
        ExchangeCounts {
            doubles: self.gate.doubles(),
            pending_bytes: self.gate.pending_bytes(),
            down: usize::from(self.gate.is_halted()),
            ..self.floor.counts()
        }
    }

    /// The engine, for whoever compares books with it.
    pub const fn engine(&self) -> &tapeline_matching::Engine {
        self.floor.market.engine()
    }
}

/// What a client's session does.
struct Talk<'t, O> {
    floor: &'t mut Floor,
    gate: &'t mut Gate,
    now: Time,
    session: SessionId,
    channel: Channel,
    answer: &'t mut Option<Answer>,
    out: &'t mut O,
}

impl<O: Outputs> tapeline_ntg::Outputs for Talk<'_, O> {
    fn admit(&mut self, logon: &Logon) -> Admission {
        let known = self.floor.users.len();
        let door = match self.channel {
            Channel::RealTime => Door::Orders,
            Channel::Recovery => Door::Recovery,
        };
        let admission = self.floor.admit(self.session, door, logon);
        if self.floor.users.len() > known {
            self.gate.introduce(self.now, known as u16, logon.user);
        }
        admission
    }

    fn request(&mut self, input: &Input, frame: &[u8]) {
        match input {
            Input::Missed(request) => {
                *self.answer = self.floor.missed(self.session, request, self.out);
            }
            _ => ask(self.floor, self.gate, (self.now, self.session), (input, frame), self.out),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.floor.counts.note_rejected(bytes);
        self.out.send(self.session, bytes);
    }
}

/// What a client asks for, as it was read and as the native gateway's frame, waits for
/// its turn, unless there is no such instrument or it cannot be kept.
fn ask(
    floor: &mut Floor,
    gate: &mut Gate,
    (now, session): (Time, SessionId),
    (input, frame): (&Input, &[u8]),
    out: &mut impl Outputs,
) {
    let Some(user) = floor.check(now, session, input, out) else { return };
    if gate.ask(now, (session, user), input, frame).is_err() {
        let (name, about) = About::of(input);
        floor.refuse_down(now, user, (name, about.request), out);
    }
}

/// What a reader's connection does.
struct Reading<'t, O> {
    floor: &'t mut Floor,
    session: SessionId,
    out: &'t mut O,
}

impl<O: Outputs> ServiceOutputs for Reading<'_, O> {
    fn admit(&mut self, login: &tapeline_mitch::LoginRequest) -> tapeline_mitch::Admission {
        match self.floor.has_books {
            true => self.floor.readers.admit(self.session, login),
            false => tapeline_mitch::Admission::Refused(UNAVAILABLE),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.out.send(self.session, bytes);
    }
}
