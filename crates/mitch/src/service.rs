//! The exchange's end of a connection for what was missed: replay or snapshot.
//!
//! ```text
//!  accepted ──▶ Waiting ──login──▶ In ──requests, one after another──▶ …
//!                  │ 5 s            │ 5 s without one, logout, a second login
//!                  └────────────────┴──────▶ Closed
//! ```
//!
//! It has no heartbeats. What comes before the login is passed over.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_time::Time;

use crate::frames::Frames;
use crate::message::{LoginRequest, LoginResponse, Message, ReplayRequest, SnapshotRequest};
use crate::unit::{self, Unit};

/// How long a login, and then each request, may take to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Requests that wait while another one is answered.
const MAX_WAITING: usize = 64;

/// What is asked for on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Messages again.
    Replay(ReplayRequest),
    /// All orders.
    Snapshot(SnapshotRequest),
}

/// Whether somebody comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It does.
    Granted,
    /// Not known, or already in: closed without a word.
    Silent,
    /// The code of the answer: `a` locked, `b` login limit, `c` unavailable, `d`
    /// concurrent limit, `e` other.
    Refused(u8),
}

/// What a connection does.
pub trait ServiceOutputs {
    /// Who logs in, and whether it may.
    fn admit(&mut self, login: &LoginRequest) -> Admission;

    /// Bytes go out.
    fn send(&mut self, bytes: &[u8]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    In,
    Closed,
}

/// The exchange's end of a connection.
#[derive(Debug)]
pub struct Service {
    group: u8,
    state: State,
    frames: Frames,
    until: Time,
    waiting: VecDeque<Request>,
    /// A request is being answered.
    is_answering: bool,
}

impl Service {
    /// A connection for a group has been accepted.
    pub fn new(now: Time, group: u8) -> Self {
        Self {
            group,
            state: State::Waiting,
            frames: Frames::default(),
            until: now.after(PATIENCE),
            waiting: VecDeque::new(),
            is_answering: false,
        }
    }

    /// Bytes have come. Returns whether the connection goes on.
    pub fn received(&mut self, now: Time, bytes: &[u8], out: &mut impl ServiceOutputs) -> bool {
        let mut frames = std::mem::take(&mut self.frames);
        let is_whole = frames.read(bytes, |bytes| {
            for message in messages(bytes) {
                self.message(now, &message, out);
            }
            self.state != State::Closed
        });
        self.frames = frames;
        if !is_whole {
            self.state = State::Closed;
        }
        self.state != State::Closed
    }

    fn message(&mut self, now: Time, message: &Message, out: &mut impl ServiceOutputs) {
        match (message, self.state) {
            (Message::LoginRequest(login), State::Waiting) => self.log_in(now, login, out),
            (Message::LoginRequest(_) | Message::LogoutRequest(_), State::In) => {
                self.state = State::Closed;
            }
            (Message::ReplayRequest(request), State::In) => self.wait(Request::Replay(*request)),
            (Message::SnapshotRequest(request), State::In) => {
                self.wait(Request::Snapshot(*request));
            }
            _ => {}
        }
    }

    fn log_in(&mut self, now: Time, login: &LoginRequest, out: &mut impl ServiceOutputs) {
        let status = match out.admit(login) {
            Admission::Granted => {
                self.state = State::In;
                self.until = now.after(PATIENCE);
                b'A'
            }
            Admission::Silent => {
                self.state = State::Closed;
                return;
            }
            Admission::Refused(code) => {
                self.state = State::Closed;
                code
            }
        };
        let mut bytes = Vec::with_capacity(unit::HEAD + LoginResponse::LEN);
        unit::append_unnumbered(&mut bytes, self.group, &[LoginResponse { status }.into()]);
        out.send(&bytes);
    }

    fn wait(&mut self, request: Request) {
        match self.waiting.len() < MAX_WAITING {
            true => self.waiting.push_back(request),
            false => self.state = State::Closed,
        }
    }

    /// Whether somebody is in.
    pub fn is_in(&self) -> bool {
        self.state == State::In
    }

    /// The next request, if the last one is answered.
    pub fn next_request(&mut self) -> Option<Request> {
        let next = if self.is_answering { None } else { self.waiting.pop_front() };
        self.is_answering |= next.is_some();
        next
    }

    /// The request has been answered.
    pub fn answered(&mut self, now: Time) {
        self.is_answering = false;
        self.until = now.after(PATIENCE);
    }

    /// Whether the time to close has come.
    pub fn is_over(&self, now: Time) -> bool {
        let is_idle = !self.is_answering && self.waiting.is_empty();
        self.state == State::Closed || is_idle && now >= self.until
    }
}

/// The messages of a unit that came over a stream.
fn messages(bytes: &[u8]) -> impl Iterator<Item = Message> {
    let unit = Unit::read(bytes).ok();
    let bytes = unit.into_iter().flat_map(|unit| unit.messages());
    bytes.filter_map(|(_, bytes)| Message::read(bytes))
}
