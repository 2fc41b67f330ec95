//! The client's end of a session, for who trades, and for tests.

use std::time::Duration;

use tapeline_time::Time;

use crate::frame::Frames;
use crate::header::Header;
use crate::link::{COMPLETE, Link, Now, OTHER, Silence, Taken, too_low_text};
use crate::message::Message;
use crate::outputs::{Admission, Logon, Outputs, Rejection, Verdict};
use crate::store::{CompIds, Store};
use crate::tag;
use crate::writer::Writer;

/// Intervals without a message of the exchange, after which it is gone.
const SILENT_INTERVALS: u32 = 3;

/// What a client logs on with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'c> {
    /// 553; empty to leave it out.
    pub user: &'c [u8],
    /// 554; empty to leave it out.
    pub password: &'c [u8],
    /// 925; empty to leave it out.
    pub new_password: &'c [u8],
    /// 141: numbers begin at 1 again.
    pub resets: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not logged on, or not yet answered.
    Outside,
    Active,
    /// It has logged out, and waits for the answer.
    Leaving,
    Over,
}

/// The client's end of a session.
///
/// It keeps the numbers, asks for what is missing and sends again what is asked for,
/// says that it is there when it has been silent, and answers a logout.
#[derive(Clone, Debug)]
pub struct Initiator {
    heartbeat_s: u32,
    state: State,
    frames: Frames,
    link: Link,
}

impl Initiator {
    /// A connection of `own` to `peer` is there.
    pub fn new(now: Time, own: &[u8], peer: &[u8], heartbeat_s: u32) -> Self {
        let mut link = Link::new(now, CompIds::new(own, peer), SILENT_INTERVALS);
        link.heartbeat = Duration::from_secs(heartbeat_s.max(1).into());
        Self { heartbeat_s, state: State::Outside, frames: Frames::default(), link }
    }

    /// Asks to come in.
    pub fn log_on(
        &mut self,
        now: Time,
        now_ns: u64,
        credentials: &Credentials<'_>,
        store: &mut Store,
        send: impl FnMut(&[u8]),
    ) {
        if credentials.resets {
            store.restart(1);
        }
        let heartbeat_s = self.heartbeat_s;
        let out = &mut Client { store, send, each: |_: &Message<'_>| {} };
        self.link.say(Now { time: now, wall_ns: now_ns }, b"A", out, |body| {
            body.number(tag::ENCRYPT_METHOD, 0).number(tag::HEART_BT_INT, heartbeat_s.into());
            if credentials.resets {
                body.byte(tag::RESET_SEQ_NUM_FLAG, b'Y');
            }
            body.text(tag::USERNAME, credentials.user).text(tag::PASSWORD, credentials.password);
            body.text(tag::NEW_PASSWORD, credentials.new_password);
            body.number(tag::DEFAULT_APPL_VER_ID, 9);
        });
    }

    /// Bytes have come; `each` gets every message of the application in sequence, and
    /// the logon, logout and rejects of the exchange.
    pub fn received(
        &mut self,
        now: Time,
        now_ns: u64,
        bytes: &[u8],
        store: &mut Store,
        send: impl FnMut(&[u8]),
        each: impl FnMut(&Message<'_>),
    ) -> Verdict {
        if self.state == State::Over {
            return Verdict::Close;
        }
        let now = Now { time: now, wall_ns: now_ns };
        let out = &mut Client { store, send, each };
        let mut frames = std::mem::take(&mut self.frames);
        let read = frames.read(bytes, |message| {
            self.message(now, message, out);
            self.state != State::Over
        });
        self.frames = frames;
        if read.is_err() {
            self.state = State::Over;
        }
        self.verdict()
    }

    /// Sends a request.
    pub fn send(
        &mut self,
        now: Time,
        now_ns: u64,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
        store: &mut Store,
        send: impl FnMut(&[u8]),
    ) {
        let out = &mut Client { store, send, each: |_: &Message<'_>| {} };
        self.link.write(Now { time: now, wall_ns: now_ns }, msg_type, false, out, body);
    }

    /// Ends the session: a logout, that the exchange answers.
    pub fn log_out(
        &mut self,
        now: Time,
        now_ns: u64,
        text: &str,
        store: &mut Store,
        send: impl FnMut(&[u8]),
    ) {
        let out = &mut Client { store, send, each: |_: &Message<'_>| {} };
        self.link.log_out(Now { time: now, wall_ns: now_ns }, COMPLETE, text, out);
        self.state = State::Leaving;
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub fn deadline(&self) -> Time {
        match self.state {
            State::Active | State::Leaving => self.link.deadline(),
            State::Outside | State::Over => self.link.silent_at(),
        }
    }

    /// Time has passed.
    pub fn timeout(
        &mut self,
        now: Time,
        now_ns: u64,
        store: &mut Store,
        send: impl FnMut(&[u8]),
    ) -> Verdict {
        let now = Now { time: now, wall_ns: now_ns };
        let out = &mut Client { store, send, each: |_: &Message<'_>| {} };
        let silence = match self.state {
            State::Active | State::Leaving => self.link.timeout(now, out),
            State::Outside | State::Over => self.link.silence(now),
        };
        if silence == Silence::Long {
            self.state = State::Over;
        }
        self.verdict()
    }

    /// Whether the logon was accepted.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// The names of both sides.
    pub const fn comp_ids(&self) -> CompIds {
        self.link.comp_ids
    }

    fn verdict(&self) -> Verdict {
        if self.state == State::Over { Verdict::Close } else { Verdict::Open }
    }

    fn message(&mut self, now: Now, message: &Message<'_>, out: &mut impl Outputs) {
        self.link.heard(now.time);
        let header = Header::of(message);
        if self.state == State::Outside {
            return self.answer(now, message, &header, out);
        }
        match self.link.take(now, message, &header, out) {
            Taken::Done => return,
            Taken::Over => {
                self.state = State::Over;
                return;
            }
            Taken::InSequence => {}
        }
        if message.msg_type() == b"5" {
            if self.state == State::Active {
                self.link.log_out(now, COMPLETE, "", out);
            }
            self.state = State::Over;
        }
        tell(message, out);
    }

    /// The exchange's answer to the logon.
    fn answer(
        &mut self,
        now: Now,
        message: &Message<'_>,
        header: &Header<'_>,
        out: &mut impl Outputs,
    ) {
        let (b"A", Some(number)) = (message.msg_type(), header.number) else {
            self.state = State::Over;
            // A logout instead of it uses up no number. All else will come again: the
            // logon itself was damaged on its way.
            if message.msg_type() == b"5" {
                tell(message, out);
            }
            return;
        };
        if message.get(tag::RESET_SEQ_NUM_FLAG) == Some(b"Y") {
            out.store().set_next_in(number);
        }
        if let Err(expected) = self.link.begin(header, out) {
            self.link.log_out(now, OTHER, &too_low_text(expected, number), out);
            self.state = State::Over;
            return;
        }
        self.state = State::Active;
        self.link.ask(now, number, out);
        tell(message, out);
    }
}

/// Gives a message to whoever uses the session.
fn tell(message: &Message<'_>, out: &mut impl Outputs) {
    // Nothing of an exchange is rejected.
    let _: Result<(), Rejection> = out.request(message);
}

/// A client as both ends see who has them.
struct Client<'s, S, E> {
    store: &'s mut Store,
    send: S,
    each: E,
}

impl<S: FnMut(&[u8]), E: FnMut(&Message<'_>)> Outputs for Client<'_, S, E> {
    /// Nobody logs on to a client.
    fn admit(&mut self, _: &Logon<'_>) -> Admission {
        Admission::Silent
    }

    fn store(&mut self) -> &mut Store {
        self.store
    }

    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection> {
        (self.each)(message);
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) {
        (self.send)(bytes);
    }
}
