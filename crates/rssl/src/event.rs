use crate::{CloseReason, Negotiated};

/// What a connection tells its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The handshake is over: messages may be sent, and will come.
    Connected(&'a Negotiated),
    /// A message, in the order in which the peer sent it (within its
    /// priority). Its bytes lie in the connection's buffers.
    Message(&'a [u8]),
    /// A message is longer than this side takes
    /// ([`Limits::message_bytes`](crate::Limits), or what is left of
    /// [`Limits::reassembly_bytes`](crate::Limits)). It is passed over; the
    /// connection goes on.
    TooLong {
        /// Its beginning: what its first fragment brought, the header of the
        /// message mostly among it.
        head: &'a [u8],
        /// Its length in bytes, as announced.
        length: usize,
        /// The bound that it exceeds.
        max: usize,
    },
    /// A WebSocket client chose one of
    /// [`ServerConfig::other_subprotocols`](crate::ServerConfig). Nothing was
    /// answered; [`Connection::unread`](crate::Connection::unread) is what the
    /// machine for that subprotocol starts with. This one does nothing more.
    OtherSubprotocol(&'a str),
    /// The connection is closed.
    Closed(CloseReason),
}

/// Totals of one connection since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes from the socket.
    pub bytes_received: u64,
    /// Messages delivered.
    pub messages_received: u64,
    /// Messages that were passed over, as they were too long.
    pub messages_too_long: u64,
    /// Pings received.
    pub pings_received: u64,
    /// Bytes taken by the socket.
    pub bytes_sent: u64,
    /// Messages accepted for sending.
    pub messages_sent: u64,
    /// Frames queued, handshake and pings included.
    pub frames_sent: u64,
    /// Pings queued.
    pub pings_sent: u64,
}
