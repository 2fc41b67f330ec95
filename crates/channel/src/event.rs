//! What a reactor tells the program.

use std::net::SocketAddr;

use tapeline_rssl::Negotiated;

use crate::{CloseReason, SessionId};

/// One listener of a reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(crate) u32);

impl ListenerId {
    /// Listeners are numbered from 0 in the order of their making.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a session came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A client connected to this listener.
    Listener(ListenerId),
    /// [`Reactor::connect`](crate::Reactor::connect) was called.
    Connect,
}

/// What happened to a session.
///
/// ```text
///  accepted:   Rejected (no session)   or   Opened, (Message | TooLong | Drained)*, Closed
///  connect():  Closed                  or   Opened, (Message | TooLong | Drained)*, Closed
/// ```
///
/// There is exactly one `Closed`, also for a session that the program closed
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent<'a> {
    /// The handshake is over: messages may be sent, and will come.
    Opened {
        /// The new session; at a client the one that `connect` returned.
        session: SessionId,
        /// Where it came from.
        via: Via,
        /// The other end of its socket.
        peer: SocketAddr,
        /// What both sides agreed on.
        negotiated: &'a Negotiated,
    },
    /// A message. Its bytes lie in the session's own buffers.
    Message {
        /// The session.
        session: SessionId,
        /// The message.
        bytes: &'a [u8],
    },
    /// A message of an RSSL session was longer than it takes, and was passed
    /// over.
    TooLong {
        /// The session.
        session: SessionId,
        /// Its beginning, mostly with the whole header.
        head: &'a [u8],
        /// Its length in bytes, as announced.
        length: usize,
        /// The bound that it exceeds.
        max: usize,
    },
    /// The backlog of a slow session fell to the OK threshold.
    Drained {
        /// The session.
        session: SessionId,
    },
    /// Something of a text session. There are some only with
    /// [`ListenConfig::text`](crate::ListenConfig) or
    /// [`ConnectConfig::text`](crate::ConnectConfig).
    Text(TextEvent<'a>),
    /// The session is over.
    Closed {
        /// The session; sending to it gives `Gone` from here on.
        session: SessionId,
        /// Why.
        reason: &'a CloseReason,
    },
    /// The operating system gives no more connections; accepting goes on after a
    /// tenth of a second.
    AcceptFailed {
        /// Where they wait.
        listener: ListenerId,
        /// What it says.
        text: &'a str,
    },
    /// An accepted connection did not become a session.
    Rejected {
        /// Where it came in.
        listener: ListenerId,
        /// The other end.
        peer: SocketAddr,
        /// Why.
        reason: &'a CloseReason,
    },
}

/// What happened to a text session, other than `Drained` and `Closed`, which
/// all sessions have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextEvent<'a> {
    /// A WebSocket with one of the subprotocols is open: messages may be sent,
    /// and will come.
    Opened {
        /// The new session; at a client the one that `connect` returned.
        session: SessionId,
        /// Where it came from.
        via: Via,
        /// The other end of its socket.
        peer: SocketAddr,
        /// The subprotocol.
        subprotocol: &'a str,
        /// The `Cookie` headers of its handshake, joined by `; `; empty
        /// without any, and at a client.
        cookies: &'a str,
    },
    /// A frame with one or more messages, as the peer sent it.
    Frame {
        /// The session.
        session: SessionId,
        /// The frame.
        text: &'a str,
    },
}
