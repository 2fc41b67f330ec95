//! A connected socket and the RSSL connection on it.

mod output;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_rssl::Version;
use tapeline_time::Time;
use tapeline_websocket::close_code;

use crate::dial::Dial;
use crate::link::Link;
use crate::stream::Stream;
use crate::system::System;
use crate::timers::NEVER;
use crate::{CloseReason, ListenerId, SessionCounters, SessionId, SessionOptions, Traffic, Via};

/// What is written of one session before it is the next one's turn: a long
/// backlog, to a peer that reads as fast as it is written to, would keep all
/// others waiting.
const WRITE_BYTES: usize = 64 * 1024;

/// What was read is acknowledged when nothing followed for so long, should the
/// peer wait for it.
const MAX_ACK_DELAY: Duration = Duration::from_micros(50);

/// Who a session belongs to.
pub(crate) enum Origin<S: System> {
    Listener(ListenerId),
    /// Over the listener's number: gets a nak.
    Refused(ListenerId),
    /// The way back, for another try with an older generation.
    Connect(Box<Dial<S>>),
}

impl<S: System> Origin<S> {
    /// The listener that it came in at.
    pub(crate) const fn listener(&self) -> Option<ListenerId> {
        match self {
            Self::Listener(listener) | Self::Refused(listener) => Some(*listener),
            Self::Connect(_) => None,
        }
    }

    pub(crate) const fn via(&self) -> Via {
        match self {
            Self::Listener(listener) | Self::Refused(listener) => Via::Listener(*listener),
            Self::Connect(_) => Via::Connect,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Handshake,
    Open,
    /// The program knows that it is over. What is queued is still sent.
    Closing,
}

/// What a read came to.
pub(crate) enum Read {
    Bytes(usize),
    Blocked,
    End,
    Failed(io::Error),
}

#[allow(clippy::struct_excessive_bools, reason = "independent facts, in any combination")]
pub(crate) struct Live<S: System> {
    pub(crate) id: SessionId,
    pub(crate) connection: Link,
    pub(crate) stage: Stage,
    pub(crate) peer: SocketAddr,
    pub(crate) origin: Origin<S>,
    pub(crate) options: SessionOptions,
    /// The longest message, whatever waits.
    pub(crate) message_limit: usize,
    /// Since when it waits to be admitted; `None`: it is.
    pub(crate) stranger_since: Option<Time>,
    /// How much more than its bound the backlog may be for now.
    pub(crate) allowance_bytes: usize,
    /// What the backlog is beyond its bound by as a long message was let in: it
    /// does not count for those behind it.
    pub(crate) excess_bytes: usize,
    stream: Stream<S::Socket>,
    /// Reading may give bytes. Stays true until the socket is known empty.
    pub(crate) is_readable: bool,
    /// Messages have come that are not delivered yet.
    pub(crate) has_undelivered: bool,
    /// The program wants none of its messages for now.
    pub(crate) is_held: bool,
    /// Writing may take bytes.
    pub(crate) is_writable: bool,
    /// The peer's end is announced: read on until it comes.
    pub(crate) expects_end: bool,
    /// In the list of sessions to be read.
    pub(crate) is_listed: bool,
    /// In the list of sessions that talk.
    pub(crate) is_active: bool,
    /// When bytes last came.
    pub(crate) heard_at: Time,
    /// It is read because it talks, in a busy loop.
    pub(crate) is_expected: bool,
    /// In the list of sessions to be flushed.
    pub(crate) is_dirty: bool,
    pub(crate) is_slow: bool,
    /// With so much it has drained.
    ok_bytes: usize,
    /// What of its output is counted among that of all sessions.
    pub(crate) counted_bytes: usize,
    /// The most that waited when it was to be flushed.
    pub(crate) most_bytes: usize,
    /// What of its traffic is counted among that of all sessions.
    counted_traffic: Traffic,
    /// It had its share of writing, and may have more to write.
    pub(crate) has_more: bool,
    /// Bytes of texts that may be queued with no need to look at thresholds, flags
    /// and lists again: see [`grant`](Self::grant). An RSSL connection has its own.
    text_credit: usize,
    /// The generation to try again with, on a new socket.
    pub(crate) redial: Option<Version>,
    /// The socket takes no more output.
    pub(crate) broken: Option<io::Error>,
    /// Nothing comes any more.
    ended: bool,
    /// Our end is sent.
    said_end: bool,
    /// What a text session is closed with.
    pub(crate) close_code: u16,
    /// When a closing session's socket is given up, unless it takes something
    /// before.
    close_at: Time,
    /// When it is given up whatever it takes.
    close_by: Time,
    /// See [`Timers`](crate::timers::Timers).
    pub(crate) armed: Time,
    reads: u64,
    writes: u64,
    slow_count: u64,
    full_count: u64,
}

impl<S: System> Live<S> {
    pub(crate) fn new(
        id: SessionId,
        stream: Stream<S::Socket>,
        connection: Link,
        peer: SocketAddr,
        origin: Origin<S>,
        (options, message_limit): (SessionOptions, usize),
    ) -> Self {
        Self {
            id,
            connection,
            stage: Stage::Handshake,
            peer,
            origin,
            options,
            message_limit,
            stranger_since: None,
            allowance_bytes: 0,
            excess_bytes: 0,
            stream,
            is_readable: true,
            has_undelivered: false,
            is_held: false,
            is_writable: true,
            expects_end: false,
            is_listed: false,
            is_active: false,
            heard_at: Time::ZERO,
            is_expected: false,
            is_dirty: false,
            is_slow: false,
            ok_bytes: 0,
            counted_bytes: 0,
            most_bytes: 0,
            counted_traffic: Traffic::default(),
            has_more: false,
            text_credit: 0,
            redial: None,
            broken: None,
            ended: false,
            said_end: false,
            close_code: close_code::NORMAL,
            close_at: NEVER,
            close_by: NEVER,
            armed: NEVER,
            reads: 0,
            writes: 0,
            slow_count: 0,
            full_count: 0,
        }
    }

    /// Reads once into the connection.
    pub(crate) fn read(&mut self, now: Time) -> Read {
        let room = self.connection.recv_buffer();
        let wanted = room.len();
        // An end is behind what has no ACK yet, and hidden by that.
        let is_late =
            self.is_expected && !self.expects_end && now.since(self.heard_at) < MAX_ACK_DELAY;
        let read = self.stream.read(room, is_late);
        if let Ok(count) = read {
            self.connection.received(count, now);
            self.heard_at = now;
        }
        self.after_read(read, wanted)
    }

    /// Sends the delayed ACK of what was read.
    pub(crate) fn acknowledge(&mut self) {
        self.stream.acknowledge();
    }

    /// Reads what a closed session's peer still sends, for nobody.
    pub(crate) fn read_away(&mut self, scratch: &mut [u8]) -> Read {
        let read = self.stream.read(scratch, false);
        self.after_read(read, scratch.len())
    }

    fn after_read(&mut self, read: io::Result<usize>, wanted: usize) -> Read {
        if self.stream.is_pending() {
            // An answer of the layer below met a full socket.
            self.is_writable = false;
        }
        match read {
            Ok(0) if wanted > 0 => {
                self.is_readable = false;
                self.ended = true;
                Read::End
            }
            Ok(count) => {
                self.reads += 1;
                self.is_readable =
                    count == wanted || self.expects_end || !self.stream.short_read_empties();
                Read::Bytes(count)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_readable = false;
                Read::Blocked
            }
            Err(error) => {
                self.is_readable = false;
                self.ended = true;
                Read::Failed(error)
            }
        }
    }

    /// Whether it is to be read, or has something to deliver. One that is held
    /// waits with both, until it closes.
    pub(crate) fn has_to_be_read(&self) -> bool {
        let is_held = self.is_held && self.stage != Stage::Closing;
        !is_held && (self.is_readable || self.has_undelivered)
    }

    /// Writes what is queued, as far as the socket takes it.
    pub(crate) fn flush(&mut self, now: Time) {
        // The next message has to put the session on the list of the dirty.
        self.revoke();
        if !self.is_writable || self.broken.is_some() {
            return;
        }
        match self.stage {
            Stage::Closing => self.flush_last(now),
            _ => self.write_queued(now),
        }
    }

    /// Writes what a closed session has left. As long as the peer reads it, it
    /// is not given up.
    #[cold]
    fn flush_last(&mut self, now: Time) {
        let before = self.backlog_bytes();
        self.write_queued(now);
        if self.backlog_bytes() < before {
            self.close_at = now.after(self.close_wait()).min(self.close_by);
        }
    }

    const fn close_wait(&self) -> Duration {
        Duration::from_millis(self.options.close_ms as u64)
    }

    fn write_queued(&mut self, now: Time) {
        self.connection.flush();
        self.has_more = false;
        let mut left = WRITE_BYTES;
        while left > 0
            && let Some(transmit) = self.connection.poll_transmit()
        {
            match self.stream.write(&transmit) {
                Ok(count) => {
                    self.connection.sent(count, now);
                    self.writes += 1;
                    left = left.saturating_sub(count.max(1));
                    self.has_more = left == 0;
                }
                Err(error) => return self.write_failed(error),
            }
        }
        if let Err(error) = self.stream.flush() {
            self.write_failed(error);
        }
    }

    #[cold]
    fn write_failed(&mut self, error: io::Error) {
        self.is_writable = false;
        self.has_more = false;
        if error.kind() != io::ErrorKind::WouldBlock {
            // Read to the end: the peer's last words may be there.
            self.is_readable = true;
            self.broken = Some(error);
        }
    }

    /// Starts the end: from here on only what is queued goes out.
    pub(crate) fn start_closing(&mut self, now: Time, reason: &CloseReason) {
        self.stage = Stage::Closing;
        self.revoke();
        let most = Duration::from_millis(u64::from(self.options.close_max_ms));
        self.close_by = now.after(most.max(self.close_wait()));
        self.close_at = now.after(self.close_wait());
        match reason {
            CloseReason::Application(text) if self.is_slow && self.full_count > 0 => {
                self.connection.close(close_code::TRY_AGAIN_LATER, text);
            }
            CloseReason::Application(text) => self.connection.close(self.close_code, text),
            _ => self.connection.close(close_code::NORMAL, ""),
        }
    }

    /// Its socket goes at once, last words or not.
    pub(crate) const fn give_up(&mut self) {
        self.close_at = Time::ZERO;
    }

    /// Whether a closing session's socket can go: all sent and the peer's end
    /// seen, or no hope. Closing a socket with unread bytes would take the
    /// last bytes sent from the peer.
    pub(crate) fn is_over(&mut self, now: Time) -> bool {
        if self.broken.is_some() || now >= self.close_at || !self.connection.is_closed() {
            return true;
        }
        if self.connection.is_finished() && !self.stream.is_pending() && !self.said_end {
            self.said_end = true;
            self.stream.end();
        }
        self.said_end && self.ended
    }

    pub(crate) fn next_deadline(&self) -> Time {
        match self.stage {
            Stage::Closing => self.close_at,
            _ => self.connection.next_deadline().unwrap_or(NEVER),
        }
    }

    pub(crate) fn traffic(&self) -> Traffic {
        let counters = self.connection.counters();
        Traffic {
            bytes_received: counters.bytes_received,
            bytes_sent: counters.bytes_sent,
            messages_received: counters.messages_received,
            messages_sent: counters.messages_sent,
            reads: self.reads,
            writes: self.writes,
        }
    }

    /// It is another kind of session from here on, which counts from the
    /// beginning.
    pub(crate) fn go_on_as(&mut self, connection: Link) {
        self.connection = connection;
        let Traffic { reads, writes, .. } = self.counted_traffic;
        self.counted_traffic = Traffic { reads, writes, ..Traffic::default() };
    }

    /// What went over it since this was last asked.
    pub(crate) fn take_traffic(&mut self) -> Traffic {
        let traffic = self.traffic();
        traffic - std::mem::replace(&mut self.counted_traffic, traffic)
    }

    /// The same without an end to it.
    pub(crate) fn traffic_since(&self) -> Traffic {
        self.traffic() - self.counted_traffic
    }

    pub(crate) fn counters(&self) -> SessionCounters {
        let backlog_bytes = self.backlog_bytes();
        SessionCounters {
            traffic: self.traffic(),
            backlog_bytes,
            backlog_bytes_most: self.most_bytes.max(backlog_bytes),
            is_slow: self.is_slow,
            slow_count: self.slow_count,
            full_count: self.full_count,
        }
    }
}
