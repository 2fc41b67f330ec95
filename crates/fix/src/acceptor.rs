//! The exchange's end of a session.
//!
//! ```text
//!  accepted ──▶ Waiting ──logon──▶ Active ──logout, throttle──▶ Leaving ──▶ Closed
//!                  │                  │                            │ logout, 5 s
//!                  │ anything else,   │ silence, numbers, damage   │
//!                  │ too late         │                            │
//!                  └──────────────────┴────────────────────────────┴───────▶ Closed
//! ```

use std::time::Duration;

use tapeline_time::Time;

use crate::dictionary::{self, Fault};
use crate::frame::{Frames, MAX_MESSAGE};
use crate::header::Header;
use crate::limits::Limits;
use crate::link::{COMPLETE, Link, Now, OTHER, Silence, Taken, too_low_text};
use crate::message::Message;
use crate::outputs::{Admission, Logon, Outputs, Rejection, Verdict};
use crate::store::{CompIds, MAX_COMP_ID, Stamp};
use crate::tag;
use crate::throttle::{Rate, Throttle};
use crate::value::unsigned;

/// How long a client has to close after it was logged out.
const TO_CLOSE: Duration = Duration::from_secs(5);

/// So many refusals of logons, at most, are taken to have been counted by the client.
const MAX_PASSED_OVER: u32 = 100;

/// Bytes that wait at most until it is decided whether a client is let in.
const MAX_EARLY: usize = 4 * MAX_MESSAGE;

/// Status of a logout (1409): the logon was no logon of ours.
const FAILURE: u16 = 101;

/// Status of a logout: by who runs the exchange.
const BY_OPERATIONS: u16 = 102;

/// Status of a logon: the new password was refused.
const OLD_PASSWORD: u16 = 3;

/// Reason of a reject (373): other.
const OTHER_REASON: u16 = 99;

/// Reasons of a business reject (380).
const BUSINESS_OTHER: u16 = 0;
const NOT_OFFERED: u16 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting {
        until: Time,
    },
    /// Its logon is to be decided.
    Asked {
        until: Time,
    },
    Active,
    Leaving {
        until: Time,
    },
    Closed,
}

/// What a logon says of the session that it begins.
#[derive(Clone, Copy, Debug)]
struct Begins {
    heartbeat_s: u32,
    resets: bool,
}

/// The exchange's end of a session.
#[derive(Clone, Debug)]
pub struct Acceptor {
    limits: Limits,
    state: State,
    frames: Frames,
    link: Link,
    throttle: Throttle,
    /// What came before it was decided whether it is let in: the logon, and what is
    /// behind it.
    early: Vec<u8>,
    /// When the client is asked next what it has, and of how many messages it was asked
    /// whether it has them.
    confirms_at: Time,
    asked: Option<u64>,
}

impl Acceptor {
    /// A connection has been accepted by `own`.
    pub fn new(now: Time, own: &[u8], limits: Limits) -> Self {
        let ids = CompIds::new(own, b"");
        Self {
            limits,
            state: State::Waiting { until: now.after(limits.logon_within) },
            frames: Frames::default(),
            link: Link::new(now, ids, limits.silent_intervals),
            throttle: Throttle::default(),
            early: Vec::new(),
            confirms_at: Time::ZERO,
            asked: None,
        }
    }

    /// Bytes have come.
    pub fn received(
        &mut self,
        now: Time,
        now_ns: u64,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) -> Verdict {
        // Of who was not let in there is no store to ask for.
        if self.state == State::Closed {
            return Verdict::Close;
        }
        let now = Now { time: now, wall_ns: now_ns };
        let mut frames = std::mem::take(&mut self.frames);
        let read = frames.read(bytes, |message| {
            self.message(now, message, out);
            self.state != State::Closed
        });
        self.frames = frames;
        if let Err(error) = read {
            if self.state == State::Active {
                self.link.log_out(now, OTHER, &error.to_string(), out);
            }
            self.state = State::Closed;
        }
        self.verdict()
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, now_ns: u64, out: &mut impl Outputs) -> Verdict {
        let at = Now { time: now, wall_ns: now_ns };
        if self.state == State::Active && now >= self.confirms_at {
            self.confirm(at, out);
        }
        match self.state {
            State::Waiting { until } | State::Asked { until } | State::Leaving { until }
                if now >= until =>
            {
                self.state = State::Closed;
            }
            State::Active if self.link.timeout(at, out) == Silence::Long => {
                self.link.log_out(at, OTHER, "nothing was heard for too long", out);
                self.state = State::Closed;
            }
            _ => {}
        }
        self.verdict()
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub fn deadline(&self) -> Time {
        match self.state {
            State::Waiting { until } | State::Asked { until } | State::Leaving { until } => until,
            State::Active => self.link.deadline().min(self.confirms_at),
            State::Closed => Time::ZERO,
        }
    }

    /// Something went out beside it, at that moment: reports of [`Store::write`].
    ///
    /// [`Store::write`]: crate::Store::write
    pub fn spoke(&mut self, at: Time) {
        self.link.spoke(at);
    }

    /// Asks the client whether it has what it was sent, before its interval is over: what
    /// it may not have is to be held until then. Nothing while an answer is awaited.
    pub fn ask_early(&mut self, now: Time, now_ns: u64, out: &mut impl Outputs) {
        if self.state == State::Active && self.asked.is_none() {
            self.confirm(Now { time: now, wall_ns: now_ns }, out);
        }
    }

    /// Ends the session with a status (1409): 4 complete, 100 other, 101 failure, 102 by
    /// operations. A client that does not close is closed after five seconds; one that
    /// has not logged on is, at once.
    pub fn log_out(
        &mut self,
        now: Time,
        now_ns: u64,
        status: u16,
        text: &str,
        out: &mut impl Outputs,
    ) {
        self.leave(Now { time: now, wall_ns: now_ns }, status, text, out);
    }

    /// Whether a user is in.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// The names of both sides; the client's is empty before its logon.
    pub const fn comp_ids(&self) -> CompIds {
        self.link.comp_ids
    }

    /// How many messages were passed over because they were damaged.
    pub const fn garbled(&self) -> u64 {
        self.frames.garbled()
    }

    fn verdict(&self) -> Verdict {
        if self.state == State::Closed { Verdict::Close } else { Verdict::Open }
    }

    fn leave(&mut self, now: Now, status: u16, text: &str, out: &mut impl Outputs) {
        match self.state {
            State::Waiting { .. } | State::Asked { .. } => self.state = State::Closed,
            State::Active => {
                self.link.log_out(now, status, text, out);
                self.state = State::Leaving { until: now.time.after(TO_CLOSE) };
            }
            State::Leaving { .. } | State::Closed => {}
        }
    }

    fn message(&mut self, now: Now, message: &Message<'_>, out: &mut impl Outputs) {
        self.link.heard(now.time);
        let (header, fault) = dictionary::check(message);
        if fault == Some(Fault::Doubled) {
            self.state = State::Closed;
        } else if matches!(self.state, State::Waiting { .. }) {
            self.log_on(now, message, &header, out);
        } else if matches!(self.state, State::Asked { .. }) {
            self.wait(message);
        } else {
            match self.link.take(now, message, &header, out) {
                Taken::Done => self.note_confirmed(message, out),
                Taken::Over => self.state = State::Closed,
                Taken::InSequence => self.in_sequence(now, (message, &header), fault, out),
            }
        }
    }

    fn log_on(
        &mut self,
        now: Now,
        message: &Message<'_>,
        header: &Header<'_>,
        out: &mut impl Outputs,
    ) {
        let own = self.link.comp_ids.own;
        let is_known = header.target == own.as_bytes()
            && (1..=MAX_COMP_ID).contains(&header.sender.len())
            && header.number.is_some();
        if message.msg_type() != b"A" || !is_known {
            self.state = State::Closed;
            return;
        }
        self.link.comp_ids = CompIds::new(own.as_bytes(), header.sender);
        let heartbeat_s = match self.heartbeat_s(message) {
            Ok(heartbeat_s) => heartbeat_s,
            Err(text) => return self.refuse(now, FAILURE, text, out),
        };
        let text = |tag: u32| message.get(tag).unwrap_or_default();
        let logon = Logon {
            sender: header.sender,
            target: header.target,
            user: text(tag::USERNAME),
            password: text(tag::PASSWORD),
            new_password: text(tag::NEW_PASSWORD),
            heartbeat_s,
            resets: text(tag::RESET_SEQ_NUM_FLAG) == b"Y",
        };
        let begins = Begins { heartbeat_s, resets: logon.resets };
        match (out.admit(&logon), self.state) {
            (Admission::Later, State::Waiting { until }) => {
                self.state = State::Asked { until };
                self.wait(message);
            }
            (admission, _) => self.admitted(now, admission, begins, header, out),
        }
    }

    fn admitted(
        &mut self,
        now: Now,
        admission: Admission,
        begins: Begins,
        header: &Header<'_>,
        out: &mut impl Outputs,
    ) {
        match admission {
            Admission::Granted => self.begin(now, begins, header, 0, out),
            Admission::OldPassword => self.begin(now, begins, header, OLD_PASSWORD, out),
            Admission::Silent | Admission::Later => self.state = State::Closed,
            Admission::Refused { status, text } => self.refuse(now, status, text, out),
        }
    }

    /// A message waits until it is decided whether the client is let in.
    fn wait(&mut self, message: &Message<'_>) {
        self.early.extend_from_slice(message.frame());
        if self.early.len() > MAX_EARLY {
            self.state = State::Closed;
        }
    }

    /// What was to be decided [later](Admission::Later) is.
    pub fn decided(
        &mut self,
        now: Time,
        now_ns: u64,
        admission: Admission,
        out: &mut impl Outputs,
    ) -> Verdict {
        let State::Asked { until } = self.state else { return self.verdict() };
        let at = Now { time: now, wall_ns: now_ns };
        let early = std::mem::take(&mut self.early);
        self.state = State::Waiting { until };
        let read = Frames::default().read(&early, |message| {
            match self.state {
                State::Waiting { .. } => self.let_in(at, admission, message, out),
                _ => self.message(at, message, out),
            }
            self.state != State::Closed
        });
        debug_assert!(read.is_ok(), "it was read before");
        self.verdict()
    }

    /// A logon that waited.
    fn let_in(
        &mut self,
        now: Now,
        admission: Admission,
        message: &Message<'_>,
        out: &mut impl Outputs,
    ) {
        let (header, _) = dictionary::check(message);
        let Ok(heartbeat_s) = self.heartbeat_s(message) else { return };
        let resets = message.get(tag::RESET_SEQ_NUM_FLAG) == Some(b"Y");
        self.admitted(now, admission, Begins { heartbeat_s, resets }, &header, out);
    }

    /// Asks the client whether it has what it was sent, which nothing else says: reports
    /// are not acknowledged.
    fn confirm(&mut self, now: Now, out: &mut impl Outputs) {
        self.confirms_at = now.time.after(self.link.heartbeat);
        let Some(messages) = out.unconfirmed() else { return };
        self.asked = Some(messages);
        self.link.say(now, b"1", out, |body| {
            body.number(tag::TEST_REQ_ID, messages as i64);
        });
    }

    /// What comes behind something that is missing is not answered, so whoever answers
    /// has all that was sent before.
    fn note_confirmed(&mut self, message: &Message<'_>, out: &mut impl Outputs) {
        let answered = message.get(tag::TEST_REQ_ID).filter(|_| message.msg_type() == b"0");
        if let Some(messages) = self.asked
            && answered.and_then(unsigned) == Some(messages)
        {
            self.asked = None;
            out.confirmed(messages);
        }
    }

    /// The interval that a logon asks for, if all else that it says about the session
    /// can be, too.
    fn heartbeat_s(&self, message: &Message<'_>) -> Result<u32, &'static str> {
        if message.get(tag::ENCRYPT_METHOD) != Some(b"0") {
            return Err("EncryptMethod (98) must be 0");
        }
        if message.get(tag::DEFAULT_APPL_VER_ID) != Some(b"9") {
            return Err("DefaultApplVerID (1137) must be 9");
        }
        let asked_s = message.get(tag::HEART_BT_INT).and_then(unsigned).unwrap_or(0);
        if asked_s == 0 {
            return Err("HeartBtInt (108) must be above 0");
        }
        let (shortest, longest) = (self.limits.shortest_heartbeat, self.limits.longest_heartbeat);
        if (shortest..=longest).contains(&Duration::from_secs(asked_s)) {
            u32::try_from(asked_s).map_err(|_| "HeartBtInt (108) is out of bounds")
        } else {
            Err("HeartBtInt (108) is out of bounds")
        }
    }

    /// No session: neither side's number is used up.
    fn refuse(&mut self, now: Now, status: u16, text: &str, out: &mut impl Outputs) {
        let stamp = Stamp::new(1, now.wall_ns);
        self.link.say_as(now, &stamp, b"5", out, |body| {
            body.text(tag::TEXT, text.as_bytes()).number(tag::SESSION_STATUS, status.into());
        });
        self.state = State::Closed;
    }

    fn begin(
        &mut self,
        now: Now,
        Begins { heartbeat_s, resets }: Begins,
        header: &Header<'_>,
        status: u16,
        out: &mut impl Outputs,
    ) {
        if resets {
            out.store().restart(1);
        }
        let number = header.number.unwrap_or(0);
        // Logons that were refused, here or at another process, have used up none of the
        // exchange's numbers. Who counts the refusals all the same has used numbers of
        // its own for these logons, by which it is told; others hear of the numbers
        // that are passed over by a gap fill.
        let missed = number.saturating_sub(out.store().next_in());
        if out.store().next_in() > 0 {
            out.store().pass_over(missed.min(MAX_PASSED_OVER));
        }
        if let Err(expected) = self.link.begin(header, out) {
            self.link.log_out(now, OTHER, &too_low_text(expected, number), out);
            self.state = State::Closed;
            return;
        }
        self.state = State::Active;
        self.link.heartbeat = Duration::from_secs(heartbeat_s.into());
        self.confirms_at = now.time.after(self.link.heartbeat);
        self.link.say(now, b"A", out, |body| {
            body.number(tag::ENCRYPT_METHOD, 0);
            body.number(tag::HEART_BT_INT, heartbeat_s.into());
            if resets {
                body.byte(tag::RESET_SEQ_NUM_FLAG, b'Y');
            }
            body.number(tag::DEFAULT_APPL_VER_ID, 9);
            body.number(tag::SESSION_STATUS, status.into());
        });
        self.link.ask(now, number, out);
        self.link.send_waiting(now, out);
    }

    fn in_sequence(
        &mut self,
        now: Now,
        this: (&Message<'_>, &Header<'_>),
        fault: Option<Fault>,
        out: &mut impl Outputs,
    ) {
        let (message, _) = this;
        match message.msg_type() {
            b"5" if self.is_active() => self.leave(now, COMPLETE, "", out),
            b"5" => self.state = State::Closed,
            b"A" => self.link.reject(now, this, (OTHER_REASON, 0), "already logged on", out),
            // An answer to a reject would be answered, and so on.
            b"3" | b"j" => {}
            _ => self.request(now, this, fault, out),
        }
    }

    fn request(
        &mut self,
        now: Now,
        this: (&Message<'_>, &Header<'_>),
        fault: Option<Fault>,
        out: &mut impl Outputs,
    ) {
        if !self.is_active() {
            // Nothing goes out behind a logout: the client hears of it when it is back.
            return self.refuse_request(now, this, (BUSINESS_OTHER, 0), "the session ended", out);
        }
        match self.throttle.count(now.time, &self.limits) {
            Rate::Fine => {}
            Rate::Exceeded => {
                let text = "Message rate exceeded";
                return self.refuse_request(now, this, (BUSINESS_OTHER, 0), text, out);
            }
            Rate::Lasting => return self.leave(now, BY_OPERATIONS, "Message rate exceeded", out),
        }
        match fault {
            Some(Fault::Rejected { reason, tag, text }) => {
                return self.link.reject(now, this, (reason, tag), text, out);
            }
            Some(Fault::NotOffered | Fault::Doubled) => {
                let text = "this type of message is not offered";
                return self.refuse_request(now, this, (NOT_OFFERED, 0), text, out);
            }
            None => {}
        }
        match out.request(this.0) {
            Ok(()) => {}
            Err(Rejection::Reject { reason, tag, text }) => {
                self.link.reject(now, this, (reason, tag), text, out);
            }
            Err(Rejection::Business { reason, tag, text }) => {
                self.refuse_request(now, this, (reason, tag), text, out);
            }
        }
    }

    /// A `BusinessMessageReject`, which is kept like every message of the application.
    fn refuse_request(
        &mut self,
        now: Now,
        (message, header): (&Message<'_>, &Header<'_>),
        (reason, ref_tag): (u16, u32),
        text: &str,
        out: &mut impl Outputs,
    ) {
        let is_absent = !self.is_active();
        self.link.write(now, b"j", is_absent, out, |body| {
            body.number(tag::REF_SEQ_NUM, header.number.unwrap_or(0).into());
            body.text(tag::TEXT, text.as_bytes());
            if ref_tag != 0 {
                body.number(tag::REF_TAG_ID, ref_tag.into());
            }
            body.text(tag::REF_MSG_TYPE, message.msg_type());
            let name = message.get(tag::CL_ORD_ID).unwrap_or_default();
            body.text(tag::BUSINESS_REJECT_REF_ID, name);
            body.number(tag::BUSINESS_REJECT_REASON, reason.into());
        });
    }
}
