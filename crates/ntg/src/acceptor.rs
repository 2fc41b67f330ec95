//! The exchange's end of a session, real-time or of recovery.
//!
//! ```text
//!  accepted ──▶ Waiting ──logon──▶ Active ──logout, silence, throttle──▶ Leaving ──▶ Closed
//!                  │ 2 intervals      │ the client closes                 │ 1 s
//!                  └──────────────────┴───────────────────────────────────┴────────▶ Closed
//! ```
//!
//! Where who decides is in another process, a logon is Asked on its way from Waiting to
//! Active, and the time that Waiting has goes on.
//!
//! ```text
//!  Waiting ──logon──▶ Asked ──granted──▶ Active
//!     ▲                 │ refused
//!     └─────────────────┘
//! ```

use std::time::Duration;

use tapeline_layout::Text;
use tapeline_time::Time;

use crate::check::{self, Fault, INVALID, MISSING};
use crate::client::{Cancel, CancelReplace, MassCancel, NewOrder, NewQuote};
use crate::frame::{Frames, HEAD, Message};
use crate::session::{Heartbeat, Logon, LogonReply, Logout, MissedMessageRequest, Reject};

/// How long things take, and how much there may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// After so long without a message of one's own, a heartbeat.
    pub heartbeat: Duration,
    /// After so many intervals without one of the other's, the end.
    pub silent_intervals: u32,
    /// Messages a second of one user, heartbeats included.
    pub throttle_per_s: u32,
    /// Who sends more for so many seconds in a row is logged out.
    pub throttle_seconds: u32,
}

impl Default for Limits {
    /// Three seconds, five intervals, a thousand messages, five seconds.
    fn default() -> Self {
        let heartbeat = Duration::from_secs(3);
        Self { heartbeat, silent_intervals: 5, throttle_per_s: 1000, throttle_seconds: 5 }
    }
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Orders and their reports.
    RealTime,
    /// Reports that a client missed.
    Recovery,
}

/// Whether a user comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It does; its password is good for so many days.
    Granted {
        /// Days.
        password_days: u32,
    },
    /// Wrong name or password: closed without a word.
    Silent,
    /// Refused with a code: 2 already logged in, 3 the new password will not do,
    /// 8 locked, 9 expired, 11 unauthorised.
    Refused(i32),
    /// Somebody else says so later, by [`Acceptor::decided`]; until then nothing but the
    /// logon is there.
    Later,
}

/// A request of the client that is for the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "lives on the stack for a moment")]
pub enum Input {
    /// An order comes.
    New(NewOrder),
    /// Both sides of a quote, or one of them.
    Quote(NewQuote),
    /// An order changes.
    Replace(CancelReplace),
    /// An order goes.
    Cancel(Cancel),
    /// Many orders go.
    MassCancel(MassCancel),
    /// Reports that were missed, on the recovery channel.
    Missed(MissedMessageRequest),
}

/// What a session does.
pub trait Outputs {
    /// Who logs on, and whether it may.
    fn admit(&mut self, logon: &Logon) -> Admission;

    /// A request is for the exchange; its frame, for who keeps it as it came.
    fn request(&mut self, input: &Input, frame: &[u8]);

    /// Bytes go out.
    fn send(&mut self, bytes: &[u8]);
}

/// Whether a session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Open,
    /// The connection is to be closed when what was sent is out.
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting {
        until: Time,
    },
    /// The logon is somebody else's to decide.
    Asked {
        until: Time,
    },
    Active,
    /// Logged out by the exchange: the client has a second to close.
    Leaving {
        until: Time,
    },
    Closed,
}

/// How long a client has to close after it was logged out.
const TO_CLOSE: Duration = Duration::from_secs(1);

/// Our code for what comes before a logon.
const NOT_LOGGED_ON: i32 = 20_100;

/// Our code for more messages than may be.
const THROTTLED: i32 = 20_101;

/// Our code for requests for quotes, and all else that is not offered.
const NOT_OFFERED: i32 = 20_102;

/// Messages of one user, counted by the second.
#[derive(Clone, Copy, Debug, Default)]
struct Throttle {
    second: u64,
    count: u32,
    /// Seconds in a row with too many.
    strikes: u32,
}

/// The exchange's end of a session.
#[derive(Clone, Debug)]
pub struct Acceptor {
    channel: Channel,
    limits: Limits,
    state: State,
    frames: Frames,
    heard: Time,
    said: Time,
    throttle: Throttle,
    scratch: Vec<u8>,
}

impl Acceptor {
    /// A connection for orders has been accepted.
    pub fn new(now: Time, limits: Limits) -> Self {
        Self::of(Channel::RealTime, now, limits)
    }

    /// A connection of a channel has been accepted.
    pub fn of(channel: Channel, now: Time, limits: Limits) -> Self {
        Self {
            channel,
            limits,
            state: State::Waiting { until: now.after(limits.heartbeat * 2) },
            frames: Frames::default(),
            heard: now,
            said: now,
            throttle: Throttle::default(),
            scratch: Vec::with_capacity(256),
        }
    }

    /// Whether a user is in.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// Bytes have come.
    pub fn received(&mut self, now: Time, bytes: &[u8], out: &mut impl Outputs) -> Verdict {
        self.heard = now;
        let mut frames = std::mem::take(&mut self.frames);
        let read = frames.read(bytes, |frame| {
            self.frame(now, frame, out);
            self.state != State::Closed
        });
        self.frames = frames;
        if let Err(error) = read {
            self.log_out(now, &error.to_string(), out);
            self.state = State::Closed;
        }
        self.verdict()
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub fn deadline(&self) -> Time {
        match self.state {
            State::Waiting { until } | State::Asked { until } | State::Leaving { until } => until,
            State::Active => {
                let beat = self.said.after(self.limits.heartbeat);
                beat.min(self.silent_at())
            }
            State::Closed => self.said,
        }
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, out: &mut impl Outputs) -> Verdict {
        match self.state {
            State::Waiting { until } | State::Asked { until } | State::Leaving { until }
                if now >= until =>
            {
                self.state = State::Closed;
            }
            State::Active if now >= self.silent_at() => {
                self.log_out(now, "no heartbeat", out);
                self.state = State::Closed;
            }
            State::Active if now >= self.said.after(self.limits.heartbeat) => {
                self.send(now, &Message::Heartbeat(Heartbeat {}), out);
            }
            _ => {}
        }
        self.verdict()
    }

    /// Something went out beside it, at that moment.
    pub fn spoke(&mut self, at: Time) {
        self.said = self.said.max(at);
    }

    /// Sends a report of the exchange.
    pub fn send(&mut self, now: Time, message: &Message, out: &mut impl Outputs) {
        self.said = now;
        self.scratch.clear();
        message.append(&mut self.scratch);
        out.send(&self.scratch);
    }

    /// Ends the session; a client that does not close is closed after a second.
    pub fn log_out(&mut self, now: Time, reason: &str, out: &mut impl Outputs) {
        self.send(now, &Message::Logout(Logout { reason: Text::new(reason) }), out);
        self.state = State::Leaving { until: now.after(TO_CLOSE) };
    }

    fn silent_at(&self) -> Time {
        self.heard.after(self.limits.heartbeat * self.limits.silent_intervals)
    }

    fn verdict(&self) -> Verdict {
        if self.state == State::Closed { Verdict::Close } else { Verdict::Open }
    }

    fn frame(&mut self, now: Time, frame: &[u8], out: &mut impl Outputs) {
        if matches!(self.state, State::Leaving { .. }) || self.is_throttled(now, frame, out) {
            return;
        }
        let kind = frame[HEAD - 1];
        let Some(message) = Message::read(frame) else {
            let fault = match Message::len_of(kind) {
                Some(_) => Fault { code: INVALID, field: "MsgLength" },
                None if kind.is_ascii_lowercase() => Fault { code: NOT_OFFERED, field: "MsgType" },
                None => Fault { code: INVALID, field: "MsgType" },
            };
            return self.reject(now, kind, fault, Text::default(), out);
        };
        match (&message, self.state) {
            (Message::Logon(logon), State::Waiting { .. }) => self.log_on(now, logon, out),
            (Message::Logon(_), _) => self.reply(now, 2, 0, out),
            (_, State::Waiting { .. } | State::Asked { .. }) => {
                let fault = Fault { code: NOT_LOGGED_ON, field: "Logon" };
                self.reject(now, kind, fault, cl_ord_id(&message), out);
            }
            (Message::Heartbeat(_), _) => {}
            (Message::Logout(_), _) => {
                self.log_out(now, "", out);
            }
            _ => self.request(now, (&message, frame), out),
        }
    }

    fn log_on(&mut self, now: Time, logon: &Logon, out: &mut impl Outputs) {
        let fault = match () {
            () if logon.user.is_empty() => Fault { code: MISSING, field: "UserName" },
            () if logon.password.is_empty() => Fault { code: MISSING, field: "Password" },
            () if logon.version != 1 => Fault { code: INVALID, field: "MessageVersion" },
            () => return self.admit(now, logon, out),
        };
        self.reject(now, b'A', fault, Text::default(), out);
    }

    fn admit(&mut self, now: Time, logon: &Logon, out: &mut impl Outputs) {
        let admission = out.admit(logon);
        self.admitted(now, admission, out);
    }

    /// What was to be decided [later](Admission::Later) is.
    pub fn decided(&mut self, now: Time, admission: Admission, out: &mut impl Outputs) -> Verdict {
        if let State::Asked { until } = self.state {
            self.state = State::Waiting { until };
            self.admitted(now, admission, out);
        }
        self.verdict()
    }

    fn admitted(&mut self, now: Time, admission: Admission, out: &mut impl Outputs) {
        match (admission, self.state) {
            (Admission::Granted { password_days }, _) => {
                self.state = State::Active;
                self.reply(now, 0, password_days, out);
            }
            (Admission::Silent, _) => self.state = State::Closed,
            (Admission::Refused(code), _) => self.reply(now, code, 0, out),
            (Admission::Later, State::Waiting { until }) => self.state = State::Asked { until },
            (Admission::Later, _) => {}
        }
    }

    fn reply(&mut self, now: Time, reject_code: i32, days: u32, out: &mut impl Outputs) {
        let password_expiry_days = Text::new(&days.to_string());
        let reply = LogonReply { reject_code, password_expiry_days };
        self.send(now, &Message::LogonReply(reply), out);
    }

    fn request(&mut self, now: Time, (message, frame): (&Message, &[u8]), out: &mut impl Outputs) {
        let fault = match check::check(message) {
            Err(fault) => fault,
            Ok(()) => match input(self.channel, message) {
                Some(input) => return out.request(&input, frame),
                None => Fault { code: NOT_OFFERED, field: "MsgType" },
            },
        };
        let is_named = !matches!(fault.field, "ClOrdID" | "MsgType");
        let name = if is_named { cl_ord_id(message) } else { Text::default() };
        self.reject(now, message.kind(), fault, name, out);
    }

    fn reject(
        &mut self,
        now: Time,
        rejected_type: u8,
        fault: Fault,
        cl_ord_id: Text<20>,
        out: &mut impl Outputs,
    ) {
        let (code, reason) = (fault.code, Text::new(fault.field));
        let reject = Reject { code, reason, rejected_type, cl_ord_id };
        self.send(now, &Message::Reject(reject), out);
    }

    /// Counts a message; one too many is rejected, and who goes on is logged out.
    fn is_throttled(&mut self, now: Time, frame: &[u8], out: &mut impl Outputs) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        let throttle = &mut self.throttle;
        if second != throttle.second {
            let was_over = throttle.count > self.limits.throttle_per_s;
            let is_next = second == throttle.second + 1;
            throttle.strikes = if was_over && is_next { throttle.strikes + 1 } else { 0 };
            (throttle.second, throttle.count) = (second, 0);
        }
        throttle.count = throttle.count.saturating_add(1);
        if throttle.count <= self.limits.throttle_per_s {
            return false;
        }
        if throttle.strikes >= self.limits.throttle_seconds {
            self.log_out(now, "message rate exceeded", out);
            return true;
        }
        let name = Message::read(frame).map_or_else(Text::default, |message| cl_ord_id(&message));
        let fault = Fault { code: THROTTLED, field: "message rate exceeded" };
        self.reject(now, frame[HEAD - 1], fault, name, out);
        true
    }
}

/// What a message asks for, where its channel has that.
fn input(channel: Channel, message: &Message) -> Option<Input> {
    Some(match (channel, message) {
        (Channel::RealTime, Message::NewOrder(order)) => Input::New(*order),
        (Channel::RealTime, Message::NewQuote(quote)) => Input::Quote(*quote),
        (Channel::RealTime, Message::CancelReplace(replace)) => Input::Replace(*replace),
        (Channel::RealTime, Message::Cancel(cancel)) => Input::Cancel(*cancel),
        (Channel::RealTime, Message::MassCancel(cancel)) => Input::MassCancel(*cancel),
        (Channel::Recovery, Message::MissedMessageRequest(request)) => Input::Missed(*request),
        _ => return None,
    })
}

/// The client's name for a request.
fn cl_ord_id(message: &Message) -> Text<20> {
    match message {
        Message::NewOrder(order) => order.cl_ord_id,
        Message::NewQuote(quote) => quote.cl_ord_id,
        Message::CancelReplace(replace) => replace.cl_ord_id,
        Message::Cancel(cancel) => cancel.cl_ord_id,
        Message::MassCancel(cancel) => cancel.cl_ord_id,
        _ => Text::default(),
    }
}
