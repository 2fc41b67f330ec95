//! The exchange's end of a session.

use std::time::Duration;

use tapeline_time::Time;

use crate::message::Message;
use crate::store::{CompIds, Store};

/// How long things take, and how much there may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The shortest interval between heartbeats that a client may ask for.
    pub shortest_heartbeat: Duration,
    /// The longest.
    pub longest_heartbeat: Duration,
    /// After so many intervals without a message of the other side, the end.
    pub silent_intervals: u32,
    /// Application messages a second of one user.
    pub throttle_per_s: u32,
    /// Who sends more for so many seconds in a row is logged out.
    pub throttle_seconds: u32,
    /// Who has not logged on then is closed.
    pub logon_within: Duration,
}

impl Default for Limits {
    /// Heartbeats each second to each minute, three intervals, a thousand messages,
    /// five seconds, ten seconds.
    fn default() -> Self {
        Self {
            shortest_heartbeat: Duration::from_secs(1),
            longest_heartbeat: Duration::from_secs(60),
            silent_intervals: 3,
            throttle_per_s: 1000,
            throttle_seconds: 5,
            logon_within: Duration::from_secs(10),
        }
    }
}

/// Who wants in.
#[derive(Clone, Copy, Debug)]
pub struct Logon<'m> {
    /// 49, who sends it.
    pub sender: &'m [u8],
    /// 56, for whom it is.
    pub target: &'m [u8],
    /// 553; empty where it is not there.
    pub user: &'m [u8],
    /// 554; empty where it is not there.
    pub password: &'m [u8],
    /// 925; empty where it is not there.
    pub new_password: &'m [u8],
    /// 108, in seconds.
    pub heartbeat_s: u32,
    /// 141: numbers begin at 1 again.
    pub resets: bool,
}

/// Whether a user comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It does.
    Granted,
    /// It does, but its new password is refused and the old one is kept: 1409 = 3.
    OldPassword,
    /// It is closed without a word: nobody of that name, or already here.
    Silent,
    /// It is told why not.
    Refused {
        /// 1409: 6 locked, 7 no logons now, 8 password, 100 other.
        status: u16,
        /// 58.
        text: &'static str,
    },
}

/// What is wrong with an application message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Its form: a session-level Reject, 3.
    Reject {
        /// 373: 1 a required tag is missing, 5 a value that there is not, 6 its form.
        reason: u16,
        /// 371; 0 for none.
        tag: u32,
        /// 58.
        text: &'static str,
    },
    /// What it asks for: a `BusinessMessageReject`, j.
    Business {
        /// 380: 0 other, 3 a type that is not offered, 4 the engine is not there.
        reason: u16,
        /// 371; 0 for none.
        tag: u32,
        /// 58.
        text: &'static str,
    },
}

/// What a session does.
pub trait Outputs {
    /// Who logs on, and whether it may.
    fn admit(&mut self, logon: &Logon<'_>) -> Admission;

    /// The store of who was admitted; asked for only then.
    fn store(&mut self) -> &mut Store;

    /// An application message, in sequence and of well-known fields.
    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection>;

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

/// The exchange's end of a session.
#[derive(Clone, Debug)]
pub struct Acceptor {
    comp_ids: CompIds,
    limits: Limits,
    said: Time,
    is_active: bool,
}

impl Acceptor {
    /// A connection has been accepted by `own`.
    pub fn new(now: Time, own: &[u8], limits: Limits) -> Self {
        Self { comp_ids: CompIds::new(own, b""), limits, said: now, is_active: false }
    }

    /// Bytes have come.
    pub fn received(
        &mut self,
        now: Time,
        now_ns: u64,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) -> Verdict {
        let _ = (now, now_ns, bytes, out, self.limits);
        todo!()
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, now_ns: u64, out: &mut impl Outputs) -> Verdict {
        let _ = (now, now_ns, out);
        todo!()
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub fn deadline(&self) -> Time {
        todo!()
    }

    /// Something went out beside it, at that moment: reports of [`Store::write`].
    pub fn spoke(&mut self, at: Time) {
        self.said = self.said.max(at);
    }

    /// Ends the session with a status (1409): 4 complete, 100 other, 101 failure, 102 by
    /// operations. A client that does not close is closed after five seconds.
    pub fn log_out(
        &mut self,
        now: Time,
        now_ns: u64,
        status: u16,
        text: &str,
        out: &mut impl Outputs,
    ) {
        let _ = (now, now_ns, status, text, out);
        todo!()
    }

    /// Whether a user is in.
    pub const fn is_active(&self) -> bool {
        self.is_active
    }

    /// The names of both sides; the client's is empty before its logon.
    pub const fn comp_ids(&self) -> CompIds {
        self.comp_ids
    }
}
