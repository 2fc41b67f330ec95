//! `SoupBinTCP` 3.00: numbered messages over a connection, both ends.
//!
//! ```text
//!  | 0 length u16, of what follows | 2 type | 3 …
//!
//!  client:  L login   R heartbeat   O logout   U a message without a number
//!  server:  A accepted, with session and the number of the next message
//!           J rejected   S the next message   U one without a number
//!           H heartbeat  Z end of the session
//!  both:    + text for people, which is passed over
//! ```
//!
//! Who has sent nothing for a second sends a heartbeat; who has heard nothing for 15
//! seconds takes the other end for dead. The first message of a session has the number
//! 1, and the number of a message is nowhere but in the order in which they come.

use std::time::Duration;

use tapeline_layout::message;
use tapeline_time::Time;

use crate::error::SoupError;
use crate::message::Alpha;
use crate::mold::SessionName;

/// A number as text, with spaces in front of it.
type Digits = Alpha<20>;

message! {
    /// Who wants which messages.
    LoginRequest: 46, big endian, fill b' ' {
        /// Who it is.
        0 => user: Alpha<6>,
        /// Its secret.
        6 => password: Alpha<10>,
        /// The session; empty for the one that is on.
        16 => session: SessionName,
        /// The number of the first message that is wanted; 0 for the next one.
        26 => first: Digits,
    }
}

message! {
    /// What a client gets.
    Accepted: 30, big endian, fill b' ' {
        0 => session: SessionName,
        10 => next: Digits,
    }
}

impl LoginRequest {
    /// Wants the messages of a session from a number on.
    pub fn new(user: &str, password: &str, session: &str, first: u64) -> Self {
        let (user, password) = (Alpha::new(user), Alpha::new(password));
        Self { user, password, session: Alpha::new(session), first: digits(first) }
    }

    /// The number of the first message that is wanted; `None` if it is none.
    pub fn first(&self) -> Option<u64> {
        number(&self.first)
    }
}

fn digits(number: u64) -> Digits {
    Alpha::new(&format!("{number:>20}"))
}

fn number(digits: &Digits) -> Option<u64> {
    digits.as_str().trim().parse().ok()
}

/// How long an end may be silent before it sends a heartbeat.
const BEAT: Duration = Duration::from_secs(1);

/// After so long without a byte the other end is dead.
const SILENCE: Duration = Duration::from_secs(15);

/// Appends a packet.
fn append(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    debug_assert!(payload.len() < usize::from(u16::MAX), "messages are shorter than that");
    out.extend_from_slice(&(payload.len() as u16 + 1).to_be_bytes());
    out.push(kind);
    out.extend_from_slice(payload);
}

/// Cuts a stream of bytes into packets.
#[derive(Clone, Debug, Default)]
struct Frames {
    /// A packet whose end has not come.
    part: Vec<u8>,
    /// So many bytes of it have been read.
    done: usize,
}

impl Frames {
    fn push(&mut self, bytes: &[u8]) {
        self.part.drain(..self.done);
        self.done = 0;
        self.part.extend_from_slice(bytes);
    }

    /// The next packet: its type, and what is behind it.
    fn next(&mut self) -> Result<Option<(u8, &[u8])>, SoupError> {
        let rest = &self.part[self.done..];
        let Some((len, behind)) = rest.split_first_chunk() else { return Ok(None) };
        let len = usize::from(u16::from_be_bytes(*len));
        let Some(packet) = behind.get(..len) else { return Ok(None) };
        self.done += 2 + len;
        let (kind, payload) = packet.split_first().ok_or(SoupError::Empty)?;
        Ok(Some((*kind, payload)))
    }
}

/// What keeps a connection alive, at either end.
#[derive(Clone, Copy, Debug)]
struct Pulse {
    heard: Time,
    said: Time,
}

impl Pulse {
    const fn begin(now: Time) -> Self {
        Self { heard: now, said: now }
    }

    /// When there is something to do, if nothing happens before.
    fn deadline(&self) -> Time {
        self.said.after(BEAT).min(self.heard.after(SILENCE))
    }

    /// Whether a heartbeat is due.
    fn is_due(&mut self, now: Time) -> Result<bool, SoupError> {
        if now.since(self.heard) >= SILENCE {
            return Err(SoupError::Silent);
        }
        let is_due = now.since(self.said) >= BEAT;
        if is_due {
            self.said = now;
        }
        Ok(is_due)
    }
}

/// What comes to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// It is let in, to a session; the number is that of the next message.
    Accepted(SessionName, u64),
    /// The next message, with its number.
    Message(u64, &'a [u8]),
    /// A message without one.
    Unnumbered(&'a [u8]),
    /// The session is over.
    End,
}

/// The client's end of a connection.
#[derive(Debug)]
pub struct Client {
    frames: Frames,
    pulse: Pulse,
    /// The number of the next message, once it is let in.
    next: Option<u64>,
}

impl Client {
    /// A connection is there: says who it is.
    pub fn new(now: Time, login: &LoginRequest, send: &mut impl FnMut(&[u8])) -> Self {
        say(b'L', &login.to_bytes(), send);
        Self { frames: Frames::default(), pulse: Pulse::begin(now), next: None }
    }

    /// Bytes have come; `each` gets what they say, and says whether to go on.
    ///
    /// # Errors
    /// It is not let in, or the other end does not speak the protocol: the connection is
    /// of no use.
    pub fn received(
        &mut self,
        now: Time,
        bytes: &[u8],
        mut each: impl FnMut(Heard<'_>) -> bool,
    ) -> Result<(), SoupError> {
        self.pulse.heard = now;
        self.frames.push(bytes);
        while let Some((kind, payload)) = self.frames.next()? {
            let heard = match (kind, &mut self.next) {
                (b'A', None) => {
                    let accepted = Accepted::read(payload).ok_or(SoupError::Login)?;
                    let next = number(&accepted.next).ok_or(SoupError::Login)?;
                    self.next = Some(next);
                    Heard::Accepted(accepted.session, next)
                }
                (b'J', None) => {
                    return Err(SoupError::Rejected(payload.first().copied().unwrap_or(b' ')));
                }
                (b'S', Some(next)) => {
                    let number = *next;
                    *next = number.saturating_add(1);
                    Heard::Message(number, payload)
                }
                (b'U', Some(_)) => Heard::Unnumbered(payload),
                (b'Z', Some(_)) => Heard::End,
                (b'H' | b'+', _) => continue,
                _ => return Err(SoupError::Unexpected(kind)),
            };
            if !each(heard) {
                break;
            }
        }
        Ok(())
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub fn deadline(&self) -> Time {
        self.pulse.deadline()
    }

    /// Time has passed.
    ///
    /// # Errors
    /// The other end has been silent for too long.
    pub fn timeout(&mut self, now: Time, send: &mut impl FnMut(&[u8])) -> Result<(), SoupError> {
        if self.pulse.is_due(now)? {
            say(b'R', &[], send);
        }
        Ok(())
    }

    /// Says that it leaves; the connection is to be closed.
    pub fn log_out(self, send: &mut impl FnMut(&[u8])) {
        say(b'O', &[], send);
    }
}

fn say(kind: u8, payload: &[u8], send: &mut impl FnMut(&[u8])) {
    let mut bytes = Vec::with_capacity(3 + payload.len());
    append(&mut bytes, kind, payload);
    send(&bytes);
}

/// What comes to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    /// A client wants to be let in: [`Server::accept`] or [`Server::reject`] is to follow.
    Login(LoginRequest),
    /// A message of the client's.
    Message(&'a [u8]),
    /// It leaves.
    Logout,
}

/// The server's end of a connection.
#[derive(Debug)]
pub struct Server {
    frames: Frames,
    pulse: Pulse,
    is_logged_in: bool,
}

impl Server {
    /// A connection is there.
    pub fn new(now: Time) -> Self {
        Self { frames: Frames::default(), pulse: Pulse::begin(now), is_logged_in: false }
    }

    /// Bytes have come; `each` gets what they say.
    ///
    /// # Errors
    /// The other end does not speak the protocol.
    pub fn received(
        &mut self,
        now: Time,
        bytes: &[u8],
        mut each: impl FnMut(Asked<'_>),
    ) -> Result<(), SoupError> {
        self.pulse.heard = now;
        self.frames.push(bytes);
        while let Some((kind, payload)) = self.frames.next()? {
            match kind {
                b'L' if !self.is_logged_in => {
                    self.is_logged_in = true;
                    each(Asked::Login(LoginRequest::read(payload).ok_or(SoupError::Login)?));
                }
                b'U' if self.is_logged_in => each(Asked::Message(payload)),
                b'O' => each(Asked::Logout),
                b'R' | b'+' => {}
                _ => return Err(SoupError::Unexpected(kind)),
            }
        }
        Ok(())
    }

    /// Lets the client in; the next message has this number.
    pub fn accept(
        &mut self,
        now: Time,
        (session, next): (&str, u64),
        send: &mut impl FnMut(&[u8]),
    ) {
        let accepted = Accepted { session: Alpha::new(session), next: digits(next) };
        self.say(now, b'A', &accepted.to_bytes(), send);
    }

    /// Does not: `A` for who it is, `S` for the session. The connection is to be closed.
    pub fn reject(self, reason: u8, send: &mut impl FnMut(&[u8])) {
        say(b'J', &[reason], send);
    }

    /// The next message of the session.
    pub fn message(&mut self, now: Time, message: &[u8], send: &mut impl FnMut(&[u8])) {
        self.say(now, b'S', message, send);
    }

    /// Nothing follows.
    pub fn end_of_session(&mut self, now: Time, send: &mut impl FnMut(&[u8])) {
        self.say(now, b'Z', &[], send);
    }

    fn say(&mut self, now: Time, kind: u8, payload: &[u8], send: &mut impl FnMut(&[u8])) {
        self.pulse.said = now;
        say(kind, payload, send);
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub fn deadline(&self) -> Time {
        self.pulse.deadline()
    }

    /// Time has passed.
    ///
    /// # Errors
    /// The other end has been silent for too long.
    pub fn timeout(&mut self, now: Time, send: &mut impl FnMut(&[u8])) -> Result<(), SoupError> {
        if self.pulse.is_due(now)? {
            say(b'H', &[], send);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A client of `USER`, which wants the session `DAY1` from 1 on.
    const LOGIN: &[u8] = b"\0\x2fLUSER  SECRET    DAY1                         1";
    const ACCEPTED: &[u8] = b"\0\x1fADAY1                         1";

    fn login() -> LoginRequest {
        LoginRequest::new("USER", "SECRET", "DAY1", 1)
    }

    fn client() -> Client {
        Client::new(Time::ZERO, &login(), &mut |_| {})
    }

    /// What a client hears, as text.
    fn hears(client: &mut Client, bytes: &[u8]) -> Result<Vec<String>, SoupError> {
        let mut heard = Vec::new();
        client.received(Time::ZERO, bytes, |one| {
            heard.push(match one {
                Heard::Accepted(session, next) => format!("{} from {next}", session.as_str()),
                Heard::Message(number, bytes) => format!("{number} {}", bytes.escape_ascii()),
                Heard::Unnumbered(bytes) => format!("- {}", bytes.escape_ascii()),
                Heard::End => "end".to_owned(),
            });
            true
        })?;
        Ok(heard)
    }

    #[test]
    fn both_ends_as_they_are_on_the_wire() {
        let mut sent = Vec::new();
        let client = Client::new(Time::ZERO, &login(), &mut |bytes| sent.extend_from_slice(bytes));
        assert_eq!(sent, LOGIN);
        let (mut server, mut asked) = (Server::new(Time::ZERO), Vec::new());
        server
            .received(Time::ZERO, &[LOGIN, b"\0\x03Uhi\0\x01R\0\x05+text\0\x01O"].concat(), |one| {
                asked.push(match one {
                    Asked::Login(request) => format!("{:?} {:?}", request, request.first()),
                    Asked::Message(bytes) => bytes.escape_ascii().to_string(),
                    Asked::Logout => "logout".to_owned(),
                });
            })
            .expect("the protocol");
        assert_eq!(asked, [format!("{:?} Some(1)", login()), "hi".to_owned(), "logout".to_owned()]);
        let mut said = Vec::new();
        let mut send = |bytes: &[u8]| said.extend_from_slice(bytes);
        server.accept(Time::ZERO, ("DAY1", 1), &mut send);
        server.message(Time::ZERO, b"one", &mut send);
        server.end_of_session(Time::ZERO, &mut send);
        Server::new(Time::ZERO).reject(b'S', &mut send);
        client.log_out(&mut send);
        assert_eq!(said, [ACCEPTED, b"\0\x04Sone\0\x01Z\0\x02JS\0\x01O"].concat());
    }

    #[test]
    fn messages_are_numbered_by_their_order_however_they_are_cut() {
        let all = [ACCEPTED, b"\0\x04Sone\0\x01H\0\x03Uhi\0\x04Stwo\0\x01Z"].concat();
        let wanted = ["DAY1 from 1", "1 one", "- hi", "2 two", "end"];
        assert_eq!(hears(&mut client(), &all).expect("the protocol"), wanted);
        for piece in [1, 2, 7, 33] {
            let mut client = client();
            let heard: Vec<String> = all
                .chunks(piece)
                .flat_map(|bytes| hears(&mut client, bytes).expect("the protocol"))
                .collect();
            assert_eq!(heard, wanted, "in pieces of {piece}");
        }
    }

    #[test]
    fn who_is_not_let_in_hears_why() {
        let error = |bytes: &[u8]| hears(&mut client(), bytes).expect_err("refused").to_string();
        assert!(error(b"\0\x02JA").starts_with("the login is rejected (A)"));
        assert!(error(b"\0\x02JS").contains("(S)"));
        assert_eq!(error(b"\0\x01S"), "a packet of type S is not due here");
        assert_eq!(error(b"\0\0"), "a packet has no type");
        assert!(error(b"\0\x03A12").starts_with("a login, or its answer"));
        let twice = [ACCEPTED, ACCEPTED].concat();
        assert_eq!(error(&twice), "a packet of type A is not due here");
    }

    #[test]
    fn each_end_says_that_it_is_there_and_hears_when_the_other_is_not() {
        let (mut client, mut server) = (client(), Server::new(Time::ZERO));
        let mut said = Vec::new();
        let at = |ms| Time::ZERO.after(Duration::from_millis(ms));
        for ms in [999, 1_000, 1_001, 2_000] {
            client.timeout(at(ms), &mut |bytes| said.extend_from_slice(bytes)).expect("alive");
            server.timeout(at(ms), &mut |bytes| said.extend_from_slice(bytes)).expect("alive");
        }
        assert_eq!(said, b"\0\x01R\0\x01H".repeat(2));
        assert_eq!(client.deadline(), at(3_000));
        client.received(at(5_000), b"\0\x01H", |_| true).expect("alive");
        assert!(client.timeout(at(19_999), &mut |_| {}).is_ok());
        assert_eq!(client.timeout(at(20_000), &mut |_| {}), Err(SoupError::Silent));
        assert_eq!(server.timeout(at(15_000), &mut |_| {}), Err(SoupError::Silent));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1..50_usize) {
            let (mut client, mut server) = (client(), Server::new(Time::ZERO));
            for bytes in [ACCEPTED, &bytes].concat().chunks(piece) {
                let _ = client.received(Time::ZERO, bytes, |_| true);
                let _ = server.received(Time::ZERO, bytes, |_| {});
            }
        }
    }
}
