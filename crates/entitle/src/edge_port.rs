//! Between a hub or a server and the edge of its process: the thread that reads
//! files.
//!
//! Nobody waits for the other. Policies come through a queue that is looked at
//! once in a turn, and what is written down of usage leaves in pieces through
//! another; what does not fit is counted.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

use crate::identity::{LoginAnswer, LoginQuestion};
use crate::journal::Usage;
use crate::policy::Policy;

/// So much waits here for room in the queue.
const MAX_PENDING_BYTES: usize = 1 << 20;

/// A policy that is in force from now on.
#[derive(Clone, Debug)]
pub struct PolicyChange {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The users who may have other rights than by the one before; `None` for
    /// everybody.
    pub changed: Option<Arc<HashSet<String>>>,
    /// The time of day, in milliseconds since 1970: by it a user's last day is
    /// known, and records have their time.
    pub unix_ms: u64,
}

/// The end of a hub or a server.
#[derive(Debug)]
pub struct EdgePort {
    policies: Receiver<Arc<PolicyChange>>,
    usage: Option<SyncSender<Vec<u8>>>,
    /// Records that were not handed over yet.
    pending: Vec<u8>,
    /// Records that were lost, as the queue was full for too long.
    lost: u64,
    /// Where it is asked who logs in.
    logins: Option<LoginPort>,
}

/// Queues of questions and answers about logins.
#[derive(Debug)]
pub struct LoginPort {
    /// Where questions go to.
    pub questions: SyncSender<LoginQuestion>,
    /// Where answers come from.
    pub answers: Receiver<LoginAnswer>,
}

impl EdgePort {
    /// The first of `policies` is to be there already. What is recorded goes to
    /// `usage`, some records in a piece.
    pub fn new(policies: Receiver<Arc<PolicyChange>>, usage: Option<SyncSender<Vec<u8>>>) -> Self {
        Self { policies, usage, pending: Vec::new(), lost: 0, logins: None }
    }

    /// Has it be asked who logs in.
    #[must_use]
    pub fn with_logins(mut self, logins: LoginPort) -> Self {
        self.logins = Some(logins);
        self
    }

    /// Whether it is to be asked who logs in.
    pub const fn identifies(&self) -> bool {
        self.logins.is_some()
    }

    /// Asks who logs in. False: too much is asked already, or nobody is there.
    pub fn ask(&self, question: LoginQuestion) -> bool {
        self.logins.as_ref().is_some_and(|logins| logins.questions.try_send(question).is_ok())
    }

    /// The next answer, if one came.
    pub fn answer(&self) -> Option<LoginAnswer> {
        self.logins.as_ref()?.answers.try_recv().ok()
    }

    /// The next policy, if one came.
    pub fn policy(&self) -> Option<Arc<PolicyChange>> {
        self.policies.try_recv().ok()
    }

    /// Takes a record, to be handed over at the end of the turn.
    pub fn record(&mut self, usage: &Usage<'_>) {
        if self.usage.is_none() {
            return;
        }
        match self.pending.len() < MAX_PENDING_BYTES {
            true => usage.encode(&mut self.pending),
            false => self.lost += 1,
        }
    }

    /// Hands over what was recorded.
    pub fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let Some(usage) = &self.usage else { return };
        let piece = std::mem::take(&mut self.pending);
        if let Err(TrySendError::Full(piece)) = usage.try_send(piece) {
            self.pending = piece;
        }
    }

    /// Records that were lost.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, sync_channel};

    use super::*;
    use crate::{Credential, Journal, Kind, Person};

    const USAGE: Usage<'static> = Usage {
        kind: Kind::Login,
        time_ms: 1,
        user: "ann",
        position: "",
        application: "",
        service: "",
        item: "",
        lock: &[],
    };

    #[test]
    fn questions_beyond_the_queue_are_not_taken() {
        let (_policies, policies) = channel();
        let (questions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let port = EdgePort::new(policies, None).with_logins(LoginPort { questions, answers });
        let question = LoginQuestion {
            number: 7,
            credential: Credential::Name { name: "ann".to_owned(), password: None },
            application: String::new(),
            position: String::new(),
            peer: [127, 0, 0, 1].into(),
            is_provider: false,
            is_reissue: false,
        };
        assert!(port.ask(question.clone()) && !port.ask(question.clone()));
        assert_eq!(asked.recv(), Ok(question.clone()));
        assert_eq!(port.answer(), None);
        let person = Person { user: "ann".to_owned(), roles: None, ends: None };
        answer.send(LoginAnswer { number: 7, who: Ok(person) }).expect("room");
        assert_eq!(port.answer().map(|answer| answer.number), Some(7));
        drop(asked);
        assert!(!port.ask(question), "nobody is there");
    }

    #[test]
    fn records_wait_for_room_and_are_counted_when_there_is_none() {
        let (_policies, policies) = channel();
        let (sender, receiver) = sync_channel(1);
        let mut port = EdgePort::new(policies, Some(sender));
        for _ in 0..2 {
            port.record(&USAGE);
            port.flush();
        }
        assert_eq!(Journal::new(&receiver.recv().expect("a piece")).count(), 1);
        while port.lost() == 0 {
            port.record(&USAGE);
        }
        port.flush();
        let piece = receiver.recv().expect("what waited");
        assert!(Journal::new(&piece).count() > 1 && piece.len() <= MAX_PENDING_BYTES + 100);
    }
}
