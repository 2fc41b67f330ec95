//! What a reactor and its sessions have done so far.

use std::ops::AddAssign;

/// Totals of one session, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes from the socket.
    pub bytes_received: u64,
    /// Bytes taken by the socket.
    pub bytes_sent: u64,
    /// Messages delivered.
    pub messages_received: u64,
    /// Messages queued.
    pub messages_sent: u64,
    /// Successful reads from the socket.
    pub reads: u64,
    /// Successful writes to the socket.
    pub writes: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
        self.messages_received += other.messages_received;
        self.messages_sent += other.messages_sent;
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

/// One session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounters {
    /// What went over it, handshakes included.
    pub traffic: Traffic,
    /// Bytes that wait for its socket now.
    pub backlog_bytes: usize,
    /// Whether it has reached the breach threshold and not drained since.
    pub is_slow: bool,
    /// How often it became slow.
    pub slow_count: u64,
    /// Messages not queued because the backlog was at its maximum.
    pub full_count: u64,
}

/// A reactor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReactorCounters {
    /// What went over all sessions, closed ones included.
    pub traffic: Traffic,
    /// Bytes that wait for all sockets now.
    pub backlog_bytes: usize,
    /// The most that ever waited for all open sessions together.
    pub backlog_bytes_most: usize,
    /// Connections accepted.
    pub accepted: u64,
    /// Clients refused because their listener was full.
    pub refused: u64,
    /// Connections dropped at once because even the refusals were too many.
    pub dropped: u64,
    /// Connections closed for others before they were admitted.
    pub made_room: u64,
    /// Connections dropped because the descriptors left are for others.
    pub no_descriptors: u64,
    /// Requests of web pages that may not connect, answered 403.
    pub origins_refused: u64,
    /// Sessions opened, accepted and connected ones.
    pub opened: u64,
    /// Sessions and attempts to connect that were closed.
    pub closed: u64,
    /// Times that messages of a session, or sessions, had to wait for the next
    /// poll because one delivers no more.
    pub postponed: u64,
    /// Plain HTTP requests answered.
    pub pages: u64,
    /// Failed accepts; the usual one is too many open files.
    pub accept_errors: u64,
    /// Failed waits for readiness.
    pub poll_errors: u64,
}
