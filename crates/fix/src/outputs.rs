//! What a session asks of whoever has it, and tells it.

use crate::message::Message;
use crate::store::Store;

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
    /// That is told by [`Acceptor::decided`](crate::Acceptor::decided). What it says
    /// meanwhile waits.
    Later,
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

    /// An application message in sequence, whose tags are those of its type.
    ///
    /// # Errors
    /// What is wrong with it, which the client is told.
    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection>;

    /// How many messages it was given so far, if the client has not said that it has all
    /// of them: then it is asked, once an interval.
    fn unconfirmed(&mut self) -> Option<u64> {
        None
    }

    /// The client has this many of them, and says so.
    fn confirmed(&mut self, _: u64) {}

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
