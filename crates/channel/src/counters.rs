//! What a reactor and its sessions have done so far.

use std::ops::{AddAssign, Sub};

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

impl Sub for Traffic {
    type Output = Self;

    /// What came after `earlier`.
    fn sub(self, earlier: Self) -> Self {
        Self {
            bytes_received: self.bytes_received - earlier.bytes_received,
            bytes_sent: self.bytes_sent - earlier.bytes_sent,
            messages_received: self.messages_received - earlier.messages_received,
            messages_sent: self.messages_sent - earlier.messages_sent,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
        }
    }
}

/// One session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounters {
    /// What went over it, handshakes included.
    pub traffic: Traffic,
    /// Bytes that wait for its socket now.
    pub backlog_bytes: usize,
    /// The most that ever waited when it was to be written to, and now.
    pub backlog_bytes_most: usize,
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

tapeline_counters::counts! {
    /// The sockets of a hub or a server. What went over a session counts from when
    /// it was last read from or written to.
    pub struct ChannelCounters = "channel" {
        /// Bytes from sockets.
        bytes_received: u64 = total(bytes);
        /// Bytes taken by sockets.
        bytes_sent: u64 = total(bytes);
        /// Messages delivered.
        messages_received: u64 = total;
        /// Messages queued.
        messages_sent: u64 = total;
        /// Successful reads from sockets.
        reads: u64 = total;
        /// Successful writes to sockets.
        writes: u64 = total;
        /// Bytes that wait for all sockets.
        backlog_bytes: usize = now(bytes);
        /// The most that ever waited for all open sessions together.
        backlog_bytes_most: usize = most(bytes);
        /// Connections accepted.
        accepted: u64 = total;
        /// Clients refused because their listener was full.
        refused: u64 = total;
        /// Connections dropped at once because even the refusals were too many.
        dropped: u64 = total;
        /// Connections closed for others before they were admitted.
        made_room: u64 = total;
        /// Connections dropped because the descriptors left are for others.
        no_descriptors: u64 = total;
        /// Requests of web pages that may not connect, answered 403.
        origins_refused: u64 = total;
        /// Sessions opened, accepted and connected ones.
        opened: u64 = total;
        /// Sessions and attempts to connect that were closed.
        closed: u64 = total;
        /// Times that messages of a session, or sessions, had to wait for the next
        /// poll because one delivers no more.
        postponed: u64 = total;
        /// Plain HTTP requests answered.
        pages: u64 = total;
        /// Failed accepts; the usual one is too many open files.
        accept_errors: u64 = total;
        /// Failed waits for readiness.
        poll_errors: u64 = total;
    }
}

impl ChannelCounters {
    pub(crate) const fn new(all: &ReactorCounters) -> Self {
        let traffic = all.traffic;
        Self {
            bytes_received: traffic.bytes_received,
            bytes_sent: traffic.bytes_sent,
            messages_received: traffic.messages_received,
            messages_sent: traffic.messages_sent,
            reads: traffic.reads,
            writes: traffic.writes,
            backlog_bytes: all.backlog_bytes,
            backlog_bytes_most: all.backlog_bytes_most,
            accepted: all.accepted,
            refused: all.refused,
            dropped: all.dropped,
            made_room: all.made_room,
            no_descriptors: all.no_descriptors,
            origins_refused: all.origins_refused,
            opened: all.opened,
            closed: all.closed,
            postponed: all.postponed,
            pages: all.pages,
            accept_errors: all.accept_errors,
            poll_errors: all.poll_errors,
        }
    }
}
