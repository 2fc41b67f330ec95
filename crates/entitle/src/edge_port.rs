//! Between a hub or a server and the edge of its process: the thread that reads
//! files.
//!
//! Nobody waits for the other. Policies come through a queue that is looked at
//! once in a turn, and what is written down of usage leaves in pieces through
//! another; what does not fit is counted.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

use crate::identity::{LoginAnswer, LoginQuestion};
use crate::policy::Policy;
use crate::usage::{Kind, Usage};

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

/// Where a hub or server puts what is written down of usage.
#[derive(Debug)]
pub struct UsagePort {
    /// Where pieces go to.
    pub pieces: SyncSender<UsagePiece>,
    /// The life of this process, by a number that no other has; not 0.
    pub run: u64,
    /// The life before it, whose watches are over; 0 if there is none.
    pub run_before: u64,
    /// The number of the port among those of the process.
    pub number: u32,
    /// Records that could not be written.
    pub lost: Arc<AtomicU64>,
}

impl UsagePort {
    /// As the journal has it: mounts of all ports and lives are told apart.
    fn stamped<'a>(&self, usage: &Usage<'a>) -> Usage<'a> {
        let mount = match usage.kind {
            Kind::ServerStart => self.run_before,
            _ => u64::from(self.number) << 32 | usage.mount & u64::from(u32::MAX),
        };
        Usage { run: self.run, mount, ..*usage }
    }
}

/// Records that are handed over together.
#[derive(Debug)]
pub struct UsagePiece {
    /// Whole records.
    pub records: Vec<u8>,
    /// How many they are.
    pub count: u64,
    /// Where it is counted if they cannot be written.
    pub lost: Arc<AtomicU64>,
}

impl UsagePiece {
    /// They could not be written.
    pub fn lose(&self) {
        self.lost.fetch_add(self.count, Ordering::Relaxed);
    }
}

/// The end of a hub or a server.
#[derive(Debug)]
pub struct EdgePort {
    policies: Receiver<Arc<PolicyChange>>,
    usage: Option<UsagePort>,
    /// Records that were not handed over yet, and how many they are.
    pending: (Vec<u8>, u64),
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
    pub fn new(policies: Receiver<Arc<PolicyChange>>, usage: Option<UsagePort>) -> Self {
        Self { policies, usage, pending: (Vec::new(), 0), lost: 0, logins: None }
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

    /// Whether records go anywhere.
    pub const fn keeps_records(&self) -> bool {
        self.usage.is_some()
    }

    /// Takes a record, to be handed over at the end of the turn. Run and mount of it
    /// become those that the journal has.
    pub fn record(&mut self, usage: &Usage<'_>) {
        let Some(port) = &self.usage else { return };
        let (records, count) = &mut self.pending;
        if records.len() < MAX_PENDING_BYTES {
            port.stamped(usage).encode(records);
            *count += 1;
        } else {
            self.lost += 1;
        }
    }

    /// Hands over what was recorded.
    pub fn flush(&mut self) {
        if self.pending.0.is_empty() {
            return;
        }
        let Some(usage) = &self.usage else { return };
        let (records, count) = std::mem::take(&mut self.pending);
        let piece = UsagePiece { records, count, lost: Arc::clone(&usage.lost) };
        match usage.pieces.try_send(piece) {
            Ok(()) => {}
            Err(TrySendError::Full(piece)) => self.pending = (piece.records, piece.count),
            Err(TrySendError::Disconnected(piece)) => self.lost += piece.count,
        }
    }

    /// Records that were lost: there was no room for them, or they could not be
    /// written.
    pub fn lost(&self) -> u64 {
        let unwritten = self.usage.as_ref().map_or(0, |usage| usage.lost.load(Ordering::Relaxed));
        self.lost + unwritten
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, sync_channel};

    use super::*;
    use crate::{Credential, Journal, Person};

    const USAGE: Usage<'static> = Usage { user: "ann", mount: 7, ..Usage::of(Kind::Login, 1) };

    fn usage_port(pieces: SyncSender<UsagePiece>) -> UsagePort {
        UsagePort { pieces, run: 9, run_before: 8, number: 3, lost: Arc::default() }
    }

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
        let person = Person::of("ann");
        answer.send(LoginAnswer { number: 7, who: Ok(person) }).expect("room");
        assert_eq!(port.answer().map(|answer| answer.number), Some(7));
        drop(asked);
        assert!(!port.ask(question), "nobody is there");
    }

    #[test]
    fn records_wait_for_room_and_are_counted_when_there_is_none() {
        let (_policies, policies) = channel();
        let (pieces, receiver) = sync_channel(1);
        let mut port = EdgePort::new(policies, Some(usage_port(pieces)));
        for _ in 0..2 {
            port.record(&USAGE);
            port.flush();
        }
        let piece = receiver.recv().expect("a piece");
        assert_eq!((Journal::new(&piece.records).count(), piece.count), (1, 1));
        while port.lost() == 0 {
            port.record(&USAGE);
        }
        port.flush();
        let waited = receiver.recv().expect("what waited");
        assert!(waited.count > 1 && waited.records.len() <= MAX_PENDING_BYTES + 200);
        assert_eq!(Journal::new(&waited.records).count() as u64, waited.count);
        waited.lose();
        assert_eq!(port.lost(), 1 + waited.count, "what could not be written is lost as well");
    }

    #[test]
    fn mounts_of_all_ports_are_told_apart() {
        let (_policies, policies) = channel();
        let (pieces, receiver) = sync_channel(1);
        let mut port = EdgePort::new(policies, Some(usage_port(pieces)));
        port.record(&USAGE);
        port.record(&Usage::of(Kind::ServerStart, 2));
        port.flush();
        let piece = receiver.recv().expect("a piece");
        let marks: Vec<_> = Journal::new(&piece.records).map(|it| (it.run, it.mount)).collect();
        assert_eq!(marks, [(9, 3 << 32 | 7), (9, 8)]);
    }
}
