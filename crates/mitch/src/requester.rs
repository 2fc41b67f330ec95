//! The reader's end of a connection for what was missed: one connection, one
//! request.
//!
//! ```text
//!  Idle ──ask──▶ Wanted ──connected──▶ LoggingIn ──A──▶ Answering ──all there──▶ Idle
//!   ▲                                      │ refused, closed, 5 s  │
//!   └──────────────────────────────────────┴───────────────────────┘
//! ```
//!
//! What failed is asked for again by whoever asked: a snapshot of which a part came
//! begins anew. The next connection is not tried before a pause.

use std::time::Duration;

use tapeline_layout::Text;
use tapeline_time::Time;

use crate::frames::Frames;
use crate::message::{LoginRequest, LogoutRequest, Message, ReplayRequest, SnapshotRequest};
use crate::service::Request;
use crate::unit::{self, Unit};

/// How long an answer may pause.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long after a failure the next connection is tried.
const PAUSE: Duration = Duration::from_millis(200);

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is asked for, or the answer goes on.
    Going,
    /// All of it has come; the connection is to be closed.
    Done,
    /// It was refused, or ended early; the connection is to be closed.
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// To be connected, from a moment on.
    Wanted(Time),
    Connecting(Time),
    LoggingIn(Time),
    Answering(Time),
}

/// Asks for what was missed.
#[derive(Debug)]
pub struct Requester {
    group: u8,
    login: LoginRequest,
    state: State,
    request: Option<Request>,
    frames: Frames,
    /// After a failure.
    not_before: Time,
}

impl Requester {
    /// Nothing is asked for yet.
    pub fn new(group: u8, user: &str, password: &str) -> Self {
        let login = LoginRequest { user: Text::new(user), password: Text::new(password) };
        Self {
            group,
            login,
            state: State::Idle,
            request: None,
            frames: Frames::default(),
            not_before: Time::ZERO,
        }
    }

    /// Asks for messages again. What was asked for before is forgotten; a connection
    /// that there is is to be closed if this returns true.
    pub fn ask_replay(&mut self, now: Time, first: u32, count: u16) -> bool {
        self.ask(now, Request::Replay(ReplayRequest { group: self.group, first, count }))
    }

    /// Asks for the orders of a segment.
    pub fn ask_snapshot(&mut self, now: Time, segment: &str) -> bool {
        let segment = Text::new(segment);
        self.ask(now, Request::Snapshot(SnapshotRequest { segment, ..SnapshotRequest::default() }))
    }

    fn ask(&mut self, now: Time, request: Request) -> bool {
        let is_connected = !matches!(self.state, State::Idle | State::Wanted(_));
        self.request = Some(request);
        self.state = State::Wanted(now.max(self.not_before));
        is_connected
    }

    /// Whether something is asked for.
    pub fn is_asking(&self) -> bool {
        self.state != State::Idle
    }

    /// Whether to connect now; the connection is under way from then on.
    pub fn connects(&mut self, now: Time) -> bool {
        let is_due = matches!(self.state, State::Wanted(from) if now >= from);
        if is_due {
            self.frames = Frames::default();
            self.state = State::Connecting(now.after(PATIENCE));
        }
        is_due
    }

    /// The connection is there; `send` gets what goes out.
    pub fn connected(&mut self, now: Time, send: &mut impl FnMut(&[u8])) {
        self.state = State::LoggingIn(now.after(PATIENCE));
        self.say(self.login, send);
    }

    fn say(&self, message: impl Into<Message>, send: &mut impl FnMut(&[u8])) {
        let mut bytes = Vec::new();
        unit::append_unnumbered(&mut bytes, self.group, &[message.into()]);
        send(&bytes);
    }

    /// Bytes have come; `each` gets units for the reader.
    pub fn received(
        &mut self,
        now: Time,
        bytes: &[u8],
        send: &mut impl FnMut(&[u8]),
        mut each: impl FnMut(&[u8]),
    ) -> Progress {
        let mut frames = std::mem::take(&mut self.frames);
        let mut progress = Progress::Going;
        let is_whole = frames.read(bytes, |unit| {
            progress = self.unit(now, unit, send, &mut each);
            progress == Progress::Going
        });
        self.frames = frames;
        if !is_whole {
            progress = Progress::Failed;
        }
        self.end(now, progress)
    }

    fn unit(
        &mut self,
        now: Time,
        bytes: &[u8],
        send: &mut impl FnMut(&[u8]),
        each: &mut impl FnMut(&[u8]),
    ) -> Progress {
        let Ok(unit) = Unit::read(bytes) else { return Progress::Failed };
        let first = unit.messages().next().and_then(|(_, bytes)| Message::read(bytes));
        match (self.state, first) {
            (State::LoggingIn(_), Some(Message::LoginResponse(response))) => {
                if response.status != b'A' {
                    return Progress::Failed;
                }
                self.state = State::Answering(now.after(PATIENCE));
                match self.request {
                    Some(Request::Replay(request)) => self.say(request, send),
                    Some(Request::Snapshot(request)) => self.say(request, send),
                    None => return Progress::Failed,
                }
                Progress::Going
            }
            (State::Answering(_), Some(Message::ReplayResponse(response))) => {
                if response.status == b'A' { Progress::Going } else { Progress::Failed }
            }
            (State::Answering(_), Some(Message::SnapshotResponse(response)))
                if response.status != b'A' =>
            {
                Progress::Failed
            }
            (State::Answering(_), first) => {
                self.state = State::Answering(now.after(PATIENCE));
                each(bytes);
                let is_end = match (self.request, first) {
                    (Some(Request::Replay(asked)), _) => {
                        let end = asked.first.wrapping_add(u32::from(asked.count));
                        unit.head.sequence.wrapping_add(u32::from(unit.head.count)) >= end
                    }
                    (_, Some(Message::SnapshotComplete(complete))) => !complete.segment.is_empty(),
                    _ => false,
                };
                if !is_end {
                    return Progress::Going;
                }
                self.say(LogoutRequest {}, send);
                Progress::Done
            }
            _ => Progress::Going,
        }
    }

    /// The connection has ended, or could not be made.
    pub fn closed(&mut self, now: Time) -> Progress {
        let is_under_way = !matches!(self.state, State::Idle | State::Wanted(_));
        if is_under_way { self.end(now, Progress::Failed) } else { Progress::Going }
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time) -> Progress {
        let is_over = match self.state {
            State::Connecting(until) | State::LoggingIn(until) | State::Answering(until) => {
                now >= until
            }
            State::Idle | State::Wanted(_) => false,
        };
        if is_over { self.end(now, Progress::Failed) } else { Progress::Going }
    }

    fn end(&mut self, now: Time, progress: Progress) -> Progress {
        if progress != Progress::Going {
            self.state = State::Idle;
            self.request = None;
        }
        if progress == Progress::Failed {
            self.not_before = now.after(PAUSE);
        }
        progress
    }
}
