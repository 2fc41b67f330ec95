//! Between a hub or a server and the edge of its process: the thread that reads
//! files.
//!
//! Nobody waits for the other. Policies come through a queue that is looked at
//! once in a turn, and what is written down of usage leaves in pieces through
//! another; what does not fit is counted.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};

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
}

impl EdgePort {
    /// The first of `policies` is to be there already. What is recorded goes to
    /// `usage`, some records in a piece.
    pub fn new(policies: Receiver<Arc<PolicyChange>>, usage: Option<SyncSender<Vec<u8>>>) -> Self {
        Self { policies, usage, pending: Vec::new(), lost: 0 }
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
    use crate::{Journal, Kind};

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
