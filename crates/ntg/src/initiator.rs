//! The client's end of a session, for who trades, and for tests.

use tapeline_layout::Text;
use tapeline_time::Time;

use crate::acceptor::Limits;
use crate::error::NtgError;
use crate::frame::{Frames, Message};
use crate::session::{Heartbeat, Logon, Logout};

/// The client's end of a session.
///
/// It says that it is there when it has been silent, answers a logout, and gives all
/// else that comes to whoever uses it.
#[derive(Clone, Debug)]
pub struct Initiator {
    limits: Limits,
    frames: Frames,
    heard: Time,
    said: Time,
    is_active: bool,
    is_over: bool,
    scratch: Vec<u8>,
}

impl Initiator {
    /// A connection is there.
    pub fn new(now: Time, limits: Limits) -> Self {
        Self {
            limits,
            frames: Frames::default(),
            heard: now,
            said: now,
            is_active: false,
            is_over: false,
            scratch: Vec::with_capacity(256),
        }
    }

    /// Asks to come in.
    pub fn log_on(&mut self, now: Time, user: &str, password: &str, send: &mut impl FnMut(&[u8])) {
        let (user, password) = (Text::new(user), Text::new(password));
        let logon = Logon { user, password, version: 1, ..Logon::default() };
        self.send(now, &Message::Logon(logon), send);
    }

    /// Whether the logon was accepted.
    pub const fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether the connection is to be closed.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Bytes have come; `each` gets every message.
    ///
    /// # Errors
    /// They are no messages; nothing behind them can be understood.
    pub fn received(
        &mut self,
        now: Time,
        bytes: &[u8],
        send: &mut impl FnMut(&[u8]),
        mut each: impl FnMut(&Message),
    ) -> Result<(), NtgError> {
        self.heard = now;
        let mut frames = std::mem::take(&mut self.frames);
        let read = frames.read(bytes, |frame| {
            if let Some(message) = Message::read(frame) {
                self.message(now, &message, send);
                each(&message);
            }
            true
        });
        self.frames = frames;
        read
    }

    fn message(&mut self, now: Time, message: &Message, send: &mut impl FnMut(&[u8])) {
        match message {
            Message::LogonReply(reply) => self.is_active = reply.reject_code == 0,
            Message::Logout(_) => {
                if self.is_active {
                    self.log_out(now, "", send);
                }
                self.is_over = true;
            }
            _ => {}
        }
    }

    /// Sends a request.
    pub fn send(&mut self, now: Time, message: &Message, send: &mut impl FnMut(&[u8])) {
        self.said = now;
        self.scratch.clear();
        message.append(&mut self.scratch);
        send(&self.scratch);
    }

    /// Ends the session.
    pub fn log_out(&mut self, now: Time, reason: &str, send: &mut impl FnMut(&[u8])) {
        self.send(now, &Message::Logout(Logout { reason: Text::new(reason) }), send);
        self.is_active = false;
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub fn deadline(&self) -> Time {
        let silent = self.limits.heartbeat * self.limits.silent_intervals;
        self.said.after(self.limits.heartbeat).min(self.heard.after(silent))
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, send: &mut impl FnMut(&[u8])) {
        let silent = self.limits.heartbeat * self.limits.silent_intervals;
        if now >= self.heard.after(silent) {
            self.is_over = true;
        } else if self.is_active && now >= self.said.after(self.limits.heartbeat) {
            self.send(now, &Message::Heartbeat(Heartbeat {}), send);
        }
    }
}
