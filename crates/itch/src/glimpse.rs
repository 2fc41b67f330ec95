//! A snapshot: all that there is, over a connection of its own, and where to go on.
//!
//! ```text
//!  Idle ──ask──▶ Wanted ──connected──▶ Reading ──G, the end──▶ Idle
//!                  ▲                     │ refused, closed, silent, unreadable
//!                  └────── a pause ──────┘
//! ```
//!
//! The messages are those of ITCH, by `SoupBinTCP` from number 1 on; the last one says
//! with which message of the lines to go on.
//!
//! ```text
//!  | 0 'G' | 1 the number, 20 digits with spaces in front
//! ```

use std::time::Duration;

use tapeline_time::Time;

use crate::error::SoupError;
use crate::soup::{Client, Heard, LoginRequest};

/// How long a connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long after a failure the next connection is tried: so long at first, twice as
/// long each time, and at most
const PAUSE: Duration = Duration::from_millis(200);

/// so long.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The last message of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOfSnapshot {
    /// The number of the message to go on with.
    pub next: u64,
}

impl EndOfSnapshot {
    const KIND: u8 = b'G';
    const LEN: usize = 21;

    /// Reads it; `None` if the message is another one, or damaged.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, digits) = bytes.split_first()?;
        if *kind != Self::KIND || bytes.len() != Self::LEN {
            return None;
        }
        let text = std::str::from_utf8(digits).ok()?;
        text.trim().parse().ok().filter(|next| *next > 0).map(|next| Self { next })
    }

    /// Appends it.
    pub fn append(self, out: &mut Vec<u8>) {
        out.push(Self::KIND);
        out.extend_from_slice(format!("{:>20}", self.next).as_bytes());
    }
}

/// What came of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It goes on, or none is asked for.
    Going,
    /// All of it has come: go on with this message. The connection is to be closed.
    Done(u64),
    /// It has failed, and is asked for again after a pause: what came of it is void. The
    /// connection is to be closed.
    Failed,
}

#[derive(Debug)]
enum State {
    Idle,
    /// To be connected, from a moment on.
    Wanted(Time),
    Connecting(Time),
    Reading(Client),
}

/// Asks for snapshots.
#[derive(Debug)]
pub struct Requester {
    login: LoginRequest,
    state: State,
    pause: Duration,
    /// Why it failed last.
    why: Option<SoupError>,
}

impl Requester {
    /// Nothing is asked for yet.
    pub fn new(user: &str, password: &str) -> Self {
        let login = LoginRequest::new(user, password, "", 1);
        Self { login, state: State::Idle, pause: PAUSE, why: None }
    }

    /// Asks for a snapshot, of the session that is on; one that is under way goes on.
    pub fn ask(&mut self, now: Time) {
        if matches!(self.state, State::Idle) {
            (self.state, self.pause) = (State::Wanted(now), PAUSE);
        }
    }

    /// Nothing is wanted any more. Whether there is a connection to be closed.
    pub fn forget(&mut self) -> bool {
        let is_connected = matches!(self.state, State::Connecting(_) | State::Reading(_));
        if self.is_asking() {
            self.state = State::Idle;
        }
        is_connected
    }

    /// Whether one is asked for.
    pub const fn is_asking(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// Why a snapshot failed last, if the other end said so or should have.
    pub const fn why(&self) -> Option<SoupError> {
        self.why
    }

    /// Whether to connect now; the connection is under way from then on.
    pub fn connects(&mut self, now: Time) -> bool {
        let is_due = matches!(self.state, State::Wanted(from) if now >= from);
        if is_due {
            self.state = State::Connecting(now.after(PATIENCE));
        }
        is_due
    }

    /// The connection is there; `send` gets what goes out.
    pub fn connected(&mut self, now: Time, send: &mut impl FnMut(&[u8])) {
        if matches!(self.state, State::Connecting(_)) {
            self.state = State::Reading(Client::new(now, &self.login, send));
        }
    }

    /// Bytes have come; `each` gets messages, but for the one that ends it.
    pub fn received(
        &mut self,
        now: Time,
        bytes: &[u8],
        send: &mut impl FnMut(&[u8]),
        mut each: impl FnMut(&[u8]),
    ) -> Progress {
        let State::Reading(client) = &mut self.state else { return Progress::Going };
        let (mut end, mut is_over) = (None, false);
        let read = client.received(now, bytes, |heard| {
            match heard {
                Heard::Message(_, message) => {
                    end = EndOfSnapshot::read(message);
                    if end.is_none() {
                        each(message);
                    }
                }
                Heard::End => is_over = true,
                Heard::Accepted(..) | Heard::Unnumbered(_) => {}
            }
            end.is_none() && !is_over
        });
        match (read, end) {
            (Err(why), _) => self.failed(now, Some(why)),
            (Ok(()), Some(end)) => {
                if let State::Reading(client) = std::mem::replace(&mut self.state, State::Idle) {
                    client.log_out(send);
                }
                Progress::Done(end.next)
            }
            (Ok(()), None) if is_over => self.failed(now, None),
            (Ok(()), None) => Progress::Going,
        }
    }

    /// The connection has ended, or could not be made.
    pub fn closed(&mut self, now: Time) -> Progress {
        match self.state {
            State::Connecting(_) | State::Reading(_) => self.failed(now, None),
            State::Idle | State::Wanted(_) => Progress::Going,
        }
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, send: &mut impl FnMut(&[u8])) -> Progress {
        match &mut self.state {
            State::Connecting(until) if now >= *until => self.failed(now, None),
            State::Reading(client) => match client.timeout(now, send) {
                Ok(()) => Progress::Going,
                Err(why) => self.failed(now, Some(why)),
            },
            _ => Progress::Going,
        }
    }

    /// When [`timeout`](Self::timeout) or [`connects`](Self::connects) is to be called.
    pub fn deadline(&self) -> Option<Time> {
        match &self.state {
            State::Idle => None,
            State::Wanted(at) | State::Connecting(at) => Some(*at),
            State::Reading(client) => Some(client.deadline()),
        }
    }

    fn failed(&mut self, now: Time, why: Option<SoupError>) -> Progress {
        self.why = why;
        self.state = State::Wanted(now.after(self.pause));
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Progress::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soup::{Asked, Server};

    const ORDERS: [&[u8]; 3] = [b"Aone", b"Atwo", b"Athree"];

    fn after(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    /// A snapshot as a server sends it, to go on with a message.
    fn snapshot(next: u64) -> Vec<u8> {
        let (mut server, mut sent) = (Server::new(Time::ZERO), Vec::new());
        let mut send = |bytes: &[u8]| sent.extend_from_slice(bytes);
        server.accept(Time::ZERO, ("DAY1", 1), &mut send);
        for order in ORDERS {
            server.message(Time::ZERO, order, &mut send);
        }
        let mut end = Vec::new();
        EndOfSnapshot { next }.append(&mut end);
        assert_eq!(end, b"G                 901");
        server.message(Time::ZERO, &end, &mut send);
        server.end_of_session(Time::ZERO, &mut send);
        sent
    }

    /// One whose connection is there.
    fn reading(requester: &mut Requester, now: Time) -> Vec<u8> {
        assert!(requester.connects(now) && !requester.connects(now));
        let mut sent = Vec::new();
        requester.connected(now, &mut |bytes| sent.extend_from_slice(bytes));
        sent
    }

    #[test]
    fn a_snapshot_is_read_to_its_end_in_pieces() {
        for piece in [1, 5, 1_000] {
            let mut requester = Requester::new("USER", "SECRET");
            assert!(!requester.is_asking() && requester.deadline().is_none());
            requester.ask(Time::ZERO);
            let (mut sent, mut found) = (reading(&mut requester, Time::ZERO), Vec::new());
            let (mut done, whole) = (Progress::Going, snapshot(901));
            for bytes in whole.chunks(piece) {
                if done == Progress::Going {
                    let send = &mut |bytes: &[u8]| sent.extend_from_slice(bytes);
                    done = requester.received(Time::ZERO, bytes, send, |message| {
                        found.push(message.to_vec());
                    });
                }
            }
            assert_eq!((done, requester.is_asking()), (Progress::Done(901), false));
            assert_eq!(found, ORDERS);
            let mut asked = Vec::new();
            let mut server = Server::new(Time::ZERO);
            let read = server.received(Time::ZERO, &sent, |one| match one {
                Asked::Login(login) => asked.push(login.first()),
                Asked::Logout => asked.push(None),
                Asked::Message(_) => unreachable!("a client of snapshots says nothing"),
            });
            assert_eq!((read, asked), (Ok(()), vec![Some(1), None]));
        }
    }

    #[test]
    fn what_fails_is_asked_for_again_after_pauses_that_grow() {
        let mut requester = Requester::new("USER", "SECRET");
        requester.ask(Time::ZERO);
        let mut now = Time::ZERO;
        let received = |requester: &mut Requester, now, bytes: &[u8]| {
            requester.received(now, bytes, &mut |_| {}, |_| {})
        };
        let mut pauses = Vec::new();
        for step in 0..8 {
            reading(&mut requester, now);
            let failed = match step {
                0 => received(&mut requester, now, b"\0\x02JA"),
                1 => requester.closed(now),
                2 => {
                    now = now.after(Duration::from_secs(15));
                    requester.timeout(now, &mut |_| {})
                }
                // Over, and no end of the snapshot.
                _ => received(&mut requester, now, &[&snapshot(901)[..33], b"\0\x01Z"].concat()),
            };
            assert_eq!(failed, Progress::Failed, "step {step}");
            let due = requester.deadline().expect("it is asked for again");
            pauses.push(due.since(now).as_millis());
            now = due;
        }
        assert_eq!(pauses, [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
        assert!(requester.connects(now));
        assert_eq!(requester.timeout(now.after(PATIENCE), &mut |_| {}), Progress::Failed);
        assert!(!requester.forget(), "it waits");
    }

    #[test]
    fn why_it_failed_is_known() {
        let mut requester = Requester::new("USER", "SECRET");
        requester.ask(after(1));
        reading(&mut requester, after(1));
        let failed = requester.received(after(1), b"\0\x02JA", &mut |_| {}, |_| {});
        assert_eq!((failed, requester.why()), (Progress::Failed, Some(SoupError::Rejected(b'A'))));
        let later = requester.deadline().expect("a pause");
        reading(&mut requester, later);
        assert!(requester.forget(), "there is a connection");
        assert_eq!(requester.closed(later), Progress::Going);
    }

    #[test]
    fn what_is_no_end_is_a_message() {
        for bytes in [&b"G"[..], b"G                   0", b"G                   x", b"A"] {
            assert_eq!(EndOfSnapshot::read(bytes), None);
        }
    }
}
