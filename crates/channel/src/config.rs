//! What a reactor, a listener and an outgoing connection are told.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tapeline_rssl::{ClientConfig, Limits, ServerConfig};

use crate::{ChannelError, Pages, TextClient, TextConfig, Tls, TlsClient};

/// Bytes in one output buffer of the vendor's servers.
const BUFFER_BYTES: usize = 6144;

/// What holds for all sessions of a reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReactorConfig {
    /// Milliseconds that output may wait for company before it is written;
    /// 0 (default): it is written at the end of each poll. The vendor's
    /// `flushInterval` with `timedWrites`.
    pub flush_interval_ms: u32,
    /// A session whose backlog reaches this many bytes is written to at once,
    /// without waiting for the flush. Default 65,536.
    pub flush_bytes: usize,
    /// Bytes of output that may wait for all sessions together. Above half of
    /// it whoever has more than a fair share is slow; beyond it
    /// [`Reactor::beyond_pool`](crate::Reactor::beyond_pool) says who has the
    /// most. Default: no bound.
    pub output_pool_bytes: usize,
    /// What is written in one flush, so that it ends in time however many sessions
    /// have output: to write to a session counts for 1, and 1 more for each 8 KiB
    /// that its socket takes. The others are written to in the next, which is due
    /// at once; until then what is sent to them goes into the same write. Default:
    /// no bound.
    pub writes_per_flush: usize,
    /// The same in time: after so long no other session is begun with. Default:
    /// no bound.
    pub flush_time: Duration,
    /// Connections accepted per listener in one poll; the rest wait for the
    /// next. Default 64.
    pub accepts_per_poll: usize,
    /// Messages of all sessions that are delivered in one poll, so that it ends
    /// in time however many have something to say; the sessions that are left
    /// come first in the next. A long message counts for one in each 512 bytes,
    /// a text in each 128; to read a session for 4, to tell of its end for 8.
    /// Default: no bound.
    pub messages_per_poll: usize,
    /// As long as no more sessions than these sent anything in the last 50 ms, a
    /// loop that polls more often than every 40 µs reads those without asking
    /// the kernel first whether they have anything, and has small messages
    /// acknowledged behind their delivery: a system call and a packet less on
    /// the way of a message. Of all others it asks every 20 µs, but not before
    /// every fourth poll. Over TLS nothing waits for its acknowledgement.
    /// Default 4; 0: the kernel is always asked.
    pub max_direct_reads: usize,
    /// Accepted connections have descriptors below this number; one that would
    /// not is dropped, so that those above are left for connections to others.
    /// Default: there is no such number.
    pub max_accepted_descriptor: Option<u32>,
    /// Host names that may be resolved at one time, each by a thread of its
    /// own. A `connect` beyond it fails. Default 32.
    pub max_lookups: usize,
    /// Feeds the key exchange, WebSocket keys and masks of all sessions,
    /// together with a counter. Default 0, which makes runs repeatable; use
    /// [`random_seed`] in production.
    pub seed: u64,
}

impl Default for ReactorConfig {
    fn default() -> Self {
        Self {
            flush_interval_ms: 0,
            flush_bytes: 64 * 1024,
            output_pool_bytes: usize::MAX,
            writes_per_flush: usize::MAX,
            flush_time: Duration::MAX,
            accepts_per_poll: 64,
            messages_per_poll: usize::MAX,
            max_direct_reads: 4,
            max_accepted_descriptor: None,
            max_lookups: 32,
            seed: 0,
        }
    }
}

/// A number that no one can foretell, from the randomness with which the
/// standard library seeds its hash maps.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Options of a TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// Send small segments at once (`TCP_NODELAY`). Default true; false trades
    /// latency for fewer segments. The vendor's `tcpNoDelay`.
    pub nodelay: bool,
    /// Bytes of the kernel's send buffer (`SO_SNDBUF`). Default `None`: the
    /// kernel tunes it. The vendor's `tcpSendBufSize`.
    pub send_buffer_bytes: Option<usize>,
    /// Bytes of the kernel's receive buffer (`SO_RCVBUF`). Default `None`: the
    /// kernel tunes it. The vendor's `tcpRecvBufSize`.
    pub recv_buffer_bytes: Option<usize>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { nodelay: true, send_buffer_bytes: None, recv_buffer_bytes: None }
    }
}

/// How much output of one session may wait for its peer, in bytes behind the
/// kernel's send buffer.
///
/// ```text
///   0 ........ ok ................ breach ................................ max
///              |  <- Drained          |  Sent::Slow from here on            |  Sent::Full
/// ```
///
/// A session that reached `breach_bytes` is slow until it fell to `ok_bytes`.
/// The vendor's servers count buffers of 6 KiB; these are the values of a
/// published tuning of theirs: `maxOutputBuffers` 1600,
/// `outputThresholdBreach` 30 %, `outputThresholdOK` 10 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// At this backlog the session becomes slow. Default 2,949,120: 30 % of
    /// `max_bytes`.
    pub breach_bytes: usize,
    /// At this backlog a slow session has drained. Default 983,040: 10 % of
    /// `max_bytes`.
    pub ok_bytes: usize,
    /// No message is queued that makes the backlog larger than this; but one
    /// that is longer by itself is taken where the backlog is below
    /// `breach_bytes`. Default 9,830,400: 1,600 buffers of 6,144 bytes.
    pub max_bytes: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self::from_buffers(1600, 30, 10)
    }
}

impl OutputLimits {
    /// The limits in the vendor's terms: a number of 6 KiB buffers, and the
    /// thresholds in percent of it.
    pub const fn from_buffers(buffers: usize, breach_percent: u8, ok_percent: u8) -> Self {
        let max_bytes = buffers * BUFFER_BYTES;
        Self {
            breach_bytes: max_bytes / 100 * breach_percent as usize,
            ok_bytes: max_bytes / 100 * ok_percent as usize,
            max_bytes,
        }
    }

    /// What the RSSL connection may queue: more than the reactor lets it have,
    /// for the framing. `send_bytes` is the longest message.
    pub(crate) const fn connection_bytes(&self, send_bytes: usize) -> usize {
        let most = self.max_bytes.saturating_add(send_bytes.saturating_mul(2));
        most.saturating_mul(2).saturating_add(1 << 20)
    }

    /// Whether a message of `length` bytes may join a backlog, which may be
    /// larger than usual by an allowance.
    pub(crate) const fn admits(&self, backlog: usize, length: usize, allowance: usize) -> bool {
        backlog + length <= self.max_bytes.saturating_add(allowance)
            || length > self.max_bytes && backlog < self.breach_bytes
    }

    /// What of a backlog does not count for messages to come, when one of `length`
    /// bytes is added; `before` is what it was at the last one. A message that is
    /// longer than the bound leaves the usual room behind it, also before any of
    /// it is sent.
    pub(crate) fn excess(&self, before: usize, backlog: usize, length: usize) -> usize {
        match length > self.max_bytes {
            true => backlog + length,
            false => before.min(backlog).max((backlog + length).saturating_sub(self.max_bytes)),
        }
    }

    /// Takes a message of `length` bytes into a backlog if it may join that: one
    /// with an allowance by that, any other one beside what does not count.
    /// Returns what does not count from then on; those with an allowance leave
    /// the usual room behind them, however many there are.
    pub(crate) fn admit(
        &self,
        before: usize,
        backlog: usize,
        (length, allowance): (usize, usize),
    ) -> Option<usize> {
        let excess = self.excess(before, backlog, 0);
        let is_allowed = allowance > 0;
        if !self.admits(backlog, length, if is_allowed { allowance } else { excess }) {
            return None;
        }
        match is_allowed && backlog + length > self.max_bytes {
            true => Some(backlog + length),
            false => Some(self.excess(excess, backlog, length)),
        }
    }

    pub(crate) const fn check(&self) -> Result<(), ChannelError> {
        let Self { breach_bytes, ok_bytes, max_bytes } = *self;
        if ok_bytes < breach_bytes && breach_bytes <= max_bytes {
            Ok(())
        } else {
            Err(ChannelError::OutputLimits { breach_bytes, ok_bytes, max_bytes })
        }
    }
}

/// A message counts for one for each of so many bytes that it has begun.
pub(crate) const DELIVERY_BYTES: usize = 512;

/// A text may have a message in each of so many bytes.
pub(crate) const TEXT_DELIVERY_BYTES: usize = 128;

/// What holds for one session, accepted or connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// Options of its socket.
    pub socket: SocketOptions,
    /// How much may wait for its peer.
    pub output: OutputLimits,
    /// Put messages that are sent together into one frame. Default true; the
    /// vendor's `rsslMsgPacking`.
    pub packing: bool,
    /// Bytes taken from its socket in one poll, so that a loud peer cannot
    /// starve the others. Default 131,072; the last read may go over it.
    pub read_bytes_per_poll: usize,
    /// Messages of it that are delivered in one poll while other sessions wait;
    /// the others come with the next. It has more where its equal share of
    /// [`ReactorConfig::messages_per_poll`], as which they count, is more.
    /// Default: no bound.
    pub messages_per_poll: usize,
    /// Milliseconds that a closed session's socket is kept to send what is
    /// queued and to see the peer's end, from the last bytes on that it took.
    /// Default 2,000.
    pub close_ms: u32,
    /// Milliseconds after which it is given up even though the peer goes on
    /// reading. Default 60,000.
    pub close_max_ms: u32,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            socket: SocketOptions::default(),
            output: OutputLimits::default(),
            packing: true,
            read_bytes_per_poll: 128 * 1024,
            messages_per_poll: usize::MAX,
            close_ms: 2_000,
            close_max_ms: 60_000,
        }
    }
}

/// What makes an accepted connection one of the
/// [`max_sessions`](ListenConfig::max_sessions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// The end of its handshake.
    #[default]
    Handshake,
    /// The program, with [`Outbox::admit`](crate::Outbox::admit): for one that
    /// has its clients log in. Until then the bytes of [`StrangerLimits`] hold.
    Program,
}

/// Bounds on connections that are not admitted yet.
///
/// They have no part in [`max_sessions`](ListenConfig::max_sessions). Where
/// there are too many, the oldest of the address that has most is closed for
/// each that comes; so nobody keeps others out by being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrangerLimits {
    /// Connections at one time. Default 2,048.
    pub max_connections: usize,
    /// Connections of one address (of IPv6: of one network of 64 bits). Default
    /// 512.
    pub max_per_address: usize,
    /// Milliseconds that a connection is not closed for others. When all are
    /// younger than that, the next ones wait in the kernel's queue, or are let in
    /// although their address has too many. Default 250.
    pub min_stay_ms: u32,
    /// Bytes of a message, and of all messages in reassembly. Default 65,536.
    pub message_bytes: usize,
    /// Bytes of output that may wait. Default 65,536.
    pub output_bytes: usize,
}

impl Default for StrangerLimits {
    fn default() -> Self {
        Self {
            max_connections: 2048,
            max_per_address: 512,
            min_stay_ms: 250,
            message_bytes: 64 * 1024,
            output_bytes: 64 * 1024,
        }
    }
}

impl StrangerLimits {
    /// Messages in reassembly at one time: the vendor's peers use one of each
    /// priority.
    const REASSEMBLY_COUNT: usize = 3;

    pub(crate) const fn min_stay(&self) -> Duration {
        Duration::from_millis(self.min_stay_ms as u64)
    }

    /// The bounds of a session before it is admitted.
    pub(crate) fn session(&self, admitted: &SessionOptions) -> SessionOptions {
        let max_bytes = admitted.output.max_bytes.min(self.output_bytes.max(1));
        let output = OutputLimits { breach_bytes: max_bytes, ok_bytes: max_bytes / 2, max_bytes };
        SessionOptions { output, ..*admitted }
    }

    /// The bounds of its connection.
    pub(crate) fn rssl(&self, admitted: &Limits) -> Limits {
        Limits {
            message_bytes: admitted.message_bytes.min(self.message_bytes),
            send_bytes: admitted.send_bytes.min(self.output_bytes),
            reassembly_bytes: admitted.reassembly_bytes.min(self.message_bytes),
            reassembly_count: admitted.reassembly_count.min(Self::REASSEMBLY_COUNT),
            ..admitted.clone()
        }
    }
}

/// A listener, and what it grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenConfig {
    /// What its RSSL connections agree to. `limits.output_bytes` is set by
    /// the reactor, so that [`OutputLimits::max_bytes`] is what counts.
    pub rssl: ServerConfig,
    /// WebSocket clients may choose text sessions instead. Default `None`: they
    /// may not. Their subprotocols go into `rssl.other_subprotocols`.
    pub text: Option<TextConfig>,
    /// All of it goes through TLS. Default `None`: nothing does.
    pub tls: Option<Tls>,
    /// What a plain `GET` gets; without pages it is answered 400.
    pub pages: Option<Arc<Pages>>,
    /// Its sessions.
    pub session: SessionOptions,
    /// Admitted sessions at one time. A client beyond it is refused with a
    /// connect nak. Default 1,024; the vendor's `maxMounts`.
    pub max_sessions: usize,
    /// What admits a connection. Default: the end of its handshake.
    pub admission: Admission,
    /// What connections may take before they are admitted.
    pub strangers: StrangerLimits,
    /// Clients that may be in the course of being refused. A connection
    /// beyond it is dropped. Default 64.
    pub max_refusals: usize,
    /// Let several sockets listen on the same port, the kernel spreading the
    /// clients (`SO_REUSEPORT`). Default false; without effect outside Unix.
    pub reuse_port: bool,
    /// Connections that the kernel holds until they are accepted.
    /// Default 1,024.
    pub backlog: u16,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self {
            rssl: ServerConfig::default(),
            text: None,
            tls: None,
            pages: None,
            session: SessionOptions::default(),
            max_sessions: 1024,
            admission: Admission::default(),
            strangers: StrangerLimits::default(),
            max_refusals: 64,
            reuse_port: false,
            backlog: 1024,
        }
    }
}

/// An outgoing connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectConfig {
    /// What its RSSL connection asks for. `limits.output_bytes` is set by the
    /// reactor, so that [`OutputLimits::max_bytes`] is what counts.
    pub rssl: ClientConfig,
    /// It is a text session in place of an RSSL connection, and is told of by
    /// [`SessionEvent::Text`](crate::SessionEvent). Default `None`.
    pub text: Option<TextClient>,
    /// All of it goes through TLS, or nothing goes: a server without TLS, or whose
    /// certificate is not believed, is not spoken to. Default `None`: nothing does.
    pub tls: Option<TlsClient>,
    /// Its session.
    pub session: SessionOptions,
    /// Milliseconds for the name to be resolved, and again for each of its
    /// addresses to answer. Default 10,000.
    pub connect_ms: u32,
    /// Connect again with the next older generation of RSSL when the server
    /// hangs up instead of answering. Default true.
    pub fallback: bool,
}

impl Default for ConnectConfig {
    fn default() -> Self {
        Self {
            rssl: ClientConfig::default(),
            text: None,
            tls: None,
            session: SessionOptions::default(),
            connect_ms: 10_000,
            fallback: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_thresholds_are_the_documented_ones() {
        let limits = OutputLimits::default();
        let values = (limits.breach_bytes, limits.ok_bytes, limits.max_bytes);
        assert_eq!(values, (2_949_120, 983_040, 9_830_400));
        assert!(limits.check().is_ok());
    }

    #[test]
    fn behind_a_message_longer_than_the_bound_is_the_usual_room_before_any_of_it_is_sent() {
        let limits = OutputLimits { breach_bytes: 30, ok_bytes: 10, max_bytes: 100 };
        let excess = limits.excess(0, 0, 1000);
        assert!(limits.admits(1000, 100, excess) && !limits.admits(1000, 101, excess));
        let excess = limits.excess(excess, 400, 0);
        assert!(limits.admits(400, 100, excess) && !limits.admits(400, 101, excess));
        // What was let in piece by piece beyond the bound leaves none.
        let excess = limits.excess(0, 350, 50);
        assert!(!limits.admits(400, 1, excess));
    }

    #[test]
    fn behind_many_short_messages_with_an_allowance_is_the_usual_room_too() {
        let limits = OutputLimits { breach_bytes: 30, ok_bytes: 10, max_bytes: 100 };
        let (mut backlog, mut excess) = (90, 0);
        while let Some(after) = limits.admit(excess, backlog, (20, 1000)) {
            (backlog, excess) = (backlog + 20, after);
        }
        assert_eq!(backlog, 1090, "no more than the bound and the allowance");
        let after = limits.admit(excess, backlog, (60, 0)).expect("room");
        assert_eq!(limits.admit(after, backlog + 60, (41, 0)), None);
        assert!(limits.admit(after, backlog + 60, (40, 0)).is_some());
        // It counts again as it is sent.
        assert!(limits.admit(after, 160, (1, 0)).is_some());
        assert_eq!(limits.admit(60, 160, (1, 0)), None);
    }

    #[test]
    fn a_stranger_has_no_more_than_who_is_admitted() {
        let strangers = StrangerLimits::default();
        let session = strangers.session(&SessionOptions::default());
        assert_eq!(session.output.max_bytes, 65_536);
        assert!(session.output.check().is_ok());
        assert_eq!(session.close_ms, SessionOptions::default().close_ms);
        let small = OutputLimits { breach_bytes: 3, ok_bytes: 1, max_bytes: 4 };
        let small = SessionOptions { output: small, ..SessionOptions::default() };
        assert_eq!(strangers.session(&small).output.max_bytes, 4);
        let limits = strangers.rssl(&Limits::default());
        assert!(limits.receive_memory_bytes(6144) < 400_000, "{limits:?}");
        let few = Limits { message_bytes: 5, ..Limits::default() };
        assert_eq!(strangers.rssl(&few).message_bytes, 5);
    }

    #[test]
    fn thresholds_out_of_order_are_told() {
        for (ok_bytes, breach_bytes, max_bytes) in [(10, 10, 20), (5, 30, 20), (0, 0, 0)] {
            let limits = OutputLimits { breach_bytes, ok_bytes, max_bytes };
            assert!(limits.check().is_err(), "{limits:?}");
        }
    }
}
