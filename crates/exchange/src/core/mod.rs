//! One market, with everybody who is connected to it, as decisions without I/O.
//!
//! ```text
//!  bytes of clients ─▶ sessions ─▶ orders ─▶ engine ─▶ reports ─▶ clients
//!  (native gateway)     (ntg)      (names,      │       (and the order cache,
//!                                   users)      │        for who missed some)
//!  the clock ─▶ day ─────────── sessions ──────▶│
//!                                               └─▶ distribution ─▶ units of MITCH
//!  bytes of readers ─▶ services ─▶ replay, snapshot, a slice at a time
//! ```
//!
//! | room | holds |
//! |---|---|
//! | [`Exchange`] | who is connected, and what is due when |
//! | `floor` | one command after another: what comes of it, to whom it is told |
//! | `users` | who may come in, and where each is |
//! | `ledger` | what the engine does not know of an order: its owner's name for it |
//! | `requests`, `reports` | from the gateway's messages to commands, from events to its messages |
//! | `cache` | the last reports, for the recovery channel |
//! | `answers` | replay, snapshot and recovery, in slices |
//! | `day` | the sessions of the day by the clock |
//!
//! An order costs no allocation: tables have their room from the start, and a report
//! is written once, into the cache and from there to its owner.

mod answers;
mod cache;
mod config;
mod counts;
mod day;
mod floor;
mod ledger;
mod reports;
mod requests;
mod users;

use std::time::Duration;

use tapeline_mitch::{Service, ServiceOutputs};
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Acceptor, Admission, Channel, Input, Verdict};
use tapeline_time::Time;

pub use config::{ExchangeConfig, ReaderConfig, UserConfig};
pub use counts::ExchangeCounts;
pub use day::Plan;

use answers::Answer;
use floor::Floor;

/// How often the market looks at the time.
const TICK: Duration = Duration::from_millis(10);

/// A connection, by its place among those that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u32);

/// What a connection has come for: each has a port of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Door {
    /// Orders, by the native gateway.
    Orders,
    /// Reports that a client missed.
    Recovery,
    /// Messages of market data again.
    Replay,
    /// All orders that are shown.
    Snapshot,
}

impl Door {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Orders, Self::Recovery, Self::Replay, Self::Snapshot];

    /// Its name in the log and in the ready file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Recovery => "recovery",
            Self::Replay => "replay",
            Self::Snapshot => "snapshot",
        }
    }
}

/// What an exchange does.
pub trait Outputs {
    /// Bytes go to a connection.
    fn send(&mut self, session: SessionId, bytes: &[u8]);

    /// A connection is closed when what was sent is out; it is not heard of again.
    fn close(&mut self, session: SessionId);

    /// A unit of market data goes out, on all lines.
    fn publish(&mut self, unit: &[u8]);

    /// How many bytes of a connection have not gone out yet.
    fn queued(&self, session: SessionId) -> usize;
}

/// Who is at a connection.
#[derive(Debug)]
enum Seat {
    Client { acceptor: Acceptor, channel: Channel, answer: Option<Answer> },
    Reader { service: Service, door: Door, answer: Option<Answer> },
}

/// One market in one thread.
///
/// A shell gives it connections, bytes and the time; the same calls give the same
/// outputs.
#[derive(Debug)]
pub struct Exchange {
    floor: Floor,
    seats: Vec<Option<Seat>>,
    ticked: Time,
}

impl Exchange {
    /// A market whose clock shows `epoch_ns`, in nanoseconds since 1970 UTC, at
    /// [`Time::ZERO`]. Nothing is published before [`open`](Self::open).
    pub fn new(config: &ExchangeConfig, epoch_ns: u64) -> Self {
        let seats = (0..config.max_sessions).map(|_| None).collect();
        Self { floor: Floor::new(config, epoch_ns), seats, ticked: Time::ZERO }
    }

    /// Publishes what is traded, and begins the day.
    pub fn open(&mut self, now: Time, out: &mut impl Outputs) {
        self.floor.open(now, out);
        self.ticked = now;
    }

    /// A connection has come through a door. `None`: there are too many.
    pub fn accepted(&mut self, now: Time, door: Door) -> Option<SessionId> {
        let Some(place) = self.seats.iter().position(Option::is_none) else {
            self.floor.counts.turned_away += 1;
            return None;
        };
        let channel = match door {
            Door::Orders => Some(Channel::RealTime),
            Door::Recovery => Some(Channel::Recovery),
            Door::Replay | Door::Snapshot => None,
        };
        let seat = match channel {
            Some(channel) => {
                let acceptor = Acceptor::of(channel, now, self.floor.limits);
                Seat::Client { acceptor, channel, answer: None }
            }
            None => {
                let service = Service::new(now, self.floor.group);
                Seat::Reader { service, door, answer: None }
            }
        };
        self.seats[place] = Some(seat);
        self.floor.said[place] = now;
        self.floor.counts.connections += 1;
        Some(SessionId(place as u32))
    }

    /// Bytes of a connection have come.
    pub fn received(
        &mut self,
        now: Time,
        session: SessionId,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) {
        let Self { floor, seats, .. } = self;
        let Some(Some(seat)) = seats.get_mut(session.0 as usize) else { return };
        let goes_on = match seat {
            Seat::Client { acceptor, channel, answer } => {
                let mut talk = Talk { floor, now, session, channel: *channel, answer, out };
                let verdict = acceptor.received(now, bytes, &mut talk);
                acceptor.spoke(self.floor.said[session.0 as usize]);
                verdict == Verdict::Open
            }
            Seat::Reader { service, .. } => {
                service.received(now, bytes, &mut Reading { floor, session, out })
            }
        };
        match goes_on {
            true => self.answer(now, session, out),
            false => self.leave(now, session, Some(out)),
        }
        self.close_slow(now, out);
    }

    /// A connection has ended.
    pub fn closed(&mut self, now: Time, session: SessionId, out: &mut impl Outputs) {
        self.end(now, session, out);
    }

    /// Lets go of a connection.
    fn leave(&mut self, now: Time, session: SessionId, out: Option<&mut impl Outputs>) {
        if let Some(out) = out
            && self.end(now, session, out)
        {
            out.close(session);
        }
    }

    fn end(&mut self, now: Time, session: SessionId, out: &mut impl Outputs) -> bool {
        let seat = self.seats.get_mut(session.0 as usize).and_then(Option::take);
        match &seat {
            None => return false,
            Some(Seat::Client { .. }) => self.floor.client_left(now, session, out),
            Some(Seat::Reader { .. }) => self.floor.readers.left(session),
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
        }
    }

    /// Ends sessions of clients that do not read.
    fn close_slow(&mut self, now: Time, out: &mut impl Outputs) {
        while let Some(session) = self.floor.slow.pop() {
            self.floor.counts.slow_clients += 1;
            if let Some(Some(Seat::Client { acceptor, channel, answer })) =
                self.seats.get_mut(session.0 as usize)
            {
                let floor = &mut self.floor;
                let mut talk = Talk { floor, now, session, channel: *channel, answer, out };
                acceptor.log_out(now, "too slow", &mut talk);
                self.leave(now, session, Some(out));
            }
        }
    }

    /// When [`timeout`](Self::timeout) is to be called at the latest.
    pub fn deadline(&self) -> Time {
        self.ticked.after(TICK)
    }

    /// Time has passed: sessions of the day begin, orders expire, who is silent is
    /// let go, answers go on.
    pub fn timeout(&mut self, now: Time, out: &mut impl Outputs) {
        if now < self.deadline() {
            return;
        }
        self.ticked = now;
        self.floor.tick(now, out);
        for place in 0..self.seats.len() {
            let session = SessionId(place as u32);
            let Self { floor, seats, .. } = self;
            let goes_on = match &mut seats[place] {
                None => continue,
                Some(Seat::Client { acceptor, channel, answer }) => {
                    acceptor.spoke(floor.said[place]);
                    let mut talk = Talk { floor, now, session, channel: *channel, answer, out };
                    acceptor.timeout(now, &mut talk) == Verdict::Open
                }
                Some(Seat::Reader { service, .. }) => !service.is_over(now),
            };
            match goes_on {
                true => self.answer(now, session, out),
                false => self.leave(now, session, Some(out)),
            }
        }
        self.close_slow(now, out);
    }

    /// What it has counted.
    pub fn counts(&self) -> ExchangeCounts {
        self.floor.counts()
    }

    /// The engine, for whoever compares books with it.
    pub const fn engine(&self) -> &tapeline_matching::Engine {
        self.floor.market.engine()
    }
}

/// What a client's session does.
struct Talk<'t, O> {
    floor: &'t mut Floor,
    now: Time,
    session: SessionId,
    channel: Channel,
    answer: &'t mut Option<Answer>,
    out: &'t mut O,
}

impl<O: Outputs> tapeline_ntg::Outputs for Talk<'_, O> {
    fn admit(&mut self, logon: &Logon) -> Admission {
        self.floor.admit(self.session, self.channel, logon)
    }

    fn request(&mut self, input: &Input) {
        match input {
            Input::Missed(request) => {
                *self.answer = self.floor.missed(self.session, request, self.out);
            }
            _ => self.floor.request(self.now, self.session, input, self.out),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.floor.counts.note_rejected(bytes);
        self.out.send(self.session, bytes);
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
        self.floor.readers.admit(self.session, login)
    }

    fn send(&mut self, bytes: &[u8]) {
        self.out.send(self.session, bytes);
    }
}
