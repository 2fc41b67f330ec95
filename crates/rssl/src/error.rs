use thiserror::Error;

use crate::{Limit, Version};

/// Why a connection ended. Its text says what happened and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CloseReason {
    /// [`Connection::close`](crate::Connection::close) was called.
    #[error("closed by this side")]
    Local,
    /// The peer closed an active connection, or said goodbye over WebSocket.
    #[error("closed by the peer; connect again if its data is still wanted")]
    PeerClosed,
    /// The peer hung up in the middle of the handshake after it had answered,
    /// or before it had sent a request.
    #[error("the peer hung up during the handshake; check that it speaks RSSL on this port")]
    HandshakeCut,
    /// The server hung up instead of answering the connect request, which is
    /// how an old server refuses a new generation.
    #[error("the server hung up without an answer to RIPC {}; {}", asked.number(), advice(*next))]
    NoAnswer {
        /// The generation that was asked for.
        asked: Version,
        /// What to ask for on a new connection; `None`: all were tried.
        next: Option<Version>,
    },
    /// The server answered with a connect nak.
    #[error("refused by the server: {text:?}; do not try again unchanged")]
    Refused {
        /// The server's words.
        text: String,
    },
    /// This server answered with a connect nak.
    #[error("refused the client: {text}")]
    RefusedClient {
        /// The words sent to the client.
        text: String,
    },
    /// The handshake was not over in time.
    #[error("handshake not finished after {limit_ms} ms; check that the peer speaks RSSL")]
    HandshakeTimeout {
        /// [`Limits::handshake_ms`](crate::Limits::handshake_ms).
        limit_ms: u32,
    },
    /// Nothing came from the peer for the negotiated ping timeout.
    #[error("nothing received for {timeout_s} s, the negotiated ping timeout; the peer is dead")]
    PingTimeout {
        /// The negotiated ping timeout in seconds.
        timeout_s: u8,
    },
    /// The peer sent something that the protocol does not allow.
    #[error("protocol error: {0}")]
    Protocol(#[from] ProtocolError),
    /// The peer went over a bound.
    #[error("limit exceeded: {value} of at most {max} {limit}")]
    Limit {
        /// Which bound.
        limit: Limit,
        /// What the peer sent or announced.
        value: u64,
        /// What is allowed.
        max: u64,
    },
    /// The compressor gave more bytes than its worst case, so a frame was lost
    /// and the stream with it.
    #[error("compressor overran its worst case; report it and connect without compression")]
    Compressor,
}

fn advice(next: Option<Version>) -> String {
    match next {
        Some(version) => format!("connect again with RIPC {}", version.number()),
        None => "no older generation is left to try".to_owned(),
    }
}

impl CloseReason {
    /// The generation to ask for on a new connection, when that is the remedy.
    pub const fn fallback(&self) -> Option<Version> {
        match self {
            Self::NoAnswer { next, .. } => *next,
            _ => None,
        }
    }

    pub(crate) fn limit(limit: Limit, value: usize, max: usize) -> Self {
        Self::Limit { limit, value: value as u64, max: max as u64 }
    }
}

/// What a peer did against the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// A frame's length is less than its header.
    #[error("frame length {length} is less than the {header} bytes of its header")]
    ShortFrame {
        /// The frame's length field.
        length: usize,
        /// The bytes its kind needs.
        header: usize,
    },
    /// The flag bytes name no frame that may come now.
    #[error("unexpected frame with flags {flags:#04x}, extended flags {extended:#04x}")]
    UnexpectedFrame {
        /// Flag byte.
        flags: u8,
        /// Extended flag byte, 0 when there is none.
        extended: u8,
    },
    /// A compressed body without agreed compression.
    #[error("compressed frame on a connection without compression")]
    NotCompressed,
    /// A body that the agreed compression cannot expand.
    #[error("compressed body does not decompress as {0}")]
    Decompress(&'static str),
    /// The compressed frame after a split body is not its second part.
    #[error("flags {flags:#04x} where the rest of a split compressed body (0x04) is due")]
    BrokenSplit {
        /// Flag byte of the frame.
        flags: u8,
    },
    /// A message in a packed body reaches beyond the body.
    #[error("packed message of {length} bytes where {left} are left")]
    PackedOverrun {
        /// The message's length prefix.
        length: usize,
        /// Bytes left in the body.
        left: usize,
    },
    /// Fragments hold more than the first one announced.
    #[error("fragments of message {id} hold {got} bytes, announced were {total}")]
    FragmentOverrun {
        /// Fragment id.
        id: u16,
        /// Bytes received.
        got: usize,
        /// Bytes announced.
        total: usize,
    },
    /// A connect request that does not add up.
    #[error("malformed connect request: {0}")]
    Request(&'static str),
    /// A connection version that this server does not know.
    #[error("connect request with unknown connection version {0:#x}")]
    UnknownVersion(u32),
    /// A connect ack that does not add up.
    #[error("malformed connect ack: {0}")]
    Ack(&'static str),
    /// The ack is of another generation than the request.
    #[error("connect ack with RIPC version {got}, expected {expected}")]
    AckVersion {
        /// The ack's RIPC version.
        got: u32,
        /// The one paired with the request.
        expected: u32,
    },
    /// The ack names a compression type above 2.
    #[error("connect ack with unknown compression type {0}")]
    AckCompression(u16),
    /// The ack's fragment size leaves no room for a message.
    #[error("connect ack with fragment size {0}; at least 16 is needed")]
    AckFragmentSize(u16),
    /// A connect nak or client key that does not add up.
    #[error("malformed {0}")]
    Handshake(&'static str),
    /// An HTTP head that is none, or lacks what is needed.
    #[error("HTTP opening: {0}")]
    Http(&'static str),
    /// A browser asked for a web page that may not connect.
    #[error("a web page of {origin:?} may not connect; allow its origin if it should")]
    Origin {
        /// What the browser named, cut if it is long.
        origin: String,
    },
    /// The server's HTTP answer has another status.
    #[error("HTTP opening answered with status {0}")]
    HttpStatus(u16),
    /// No common WebSocket subprotocol.
    #[error("WebSocket subprotocol {offered:?} is not spoken here; use rssl.rwf")]
    Subprotocol {
        /// What the peer named.
        offered: String,
    },
    /// WebSocket framing that RFC 6455 or the subprotocol forbids.
    #[error("WebSocket: {0}")]
    WebSocket(&'static str),
    /// Tunnel or chunk framing that does not add up.
    #[error("HTTP tunnel: {0}")]
    Tunnel(&'static str),
}

/// Why a message was not taken for sending. Nothing of it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// The handshake is not over, or the connection is closed.
    #[error("connection is not active; wait for Connected, or connect again")]
    NotActive,
    /// A message of no bytes has no form on the wire.
    #[error("an empty message cannot be sent")]
    Empty,
    /// Longer than this way of sending allows.
    #[error("message of {length} bytes, at most {max} can be sent this way")]
    TooLong {
        /// The message's bytes.
        length: usize,
        /// The bound: [`pack_limit`](crate::Connection::pack_limit) or
        /// [`Limits::message_bytes`](crate::Limits::message_bytes).
        max: usize,
    },
    /// The peer does not take its data fast enough.
    #[error("{queued} bytes are queued, at most {max} may be; send less, conflate or close")]
    OutputFull {
        /// Bytes waiting.
        queued: usize,
        /// [`Limits::output_bytes`](crate::Limits::output_bytes).
        max: usize,
    },
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The connect request must stay under 256 bytes.
    #[error(
        "host name, address and component version make a connect request of {0} bytes; \
         shorten them to stay under 256"
    )]
    RequestTooLong(usize),
    /// The fragment size is out of range.
    #[error("fragment size {0} is out of range; use 16 to 65,532 bytes")]
    FragmentSize(u16),
    /// A component version is at most 253 bytes.
    #[error("component version of {0} bytes; at most 253 fit")]
    ComponentVersion(usize),
    /// The zlib level is out of range.
    #[error("compression level {0} is out of range; use 0 to 9")]
    CompressionLevel(u8),
    /// A ping timeout range is empty or holds 0.
    #[error("ping timeout {min}..={max} s is no range of at least 1 s")]
    PingTimeout {
        /// Smallest, seconds.
        min: u8,
        /// Largest, seconds.
        max: u8,
    },
    /// A flush order is 1 to 32 letters of H, M, L with at least an H and an M.
    #[error("flush order {0:?}; use at most 32 of H, M, L with at least one H and one M")]
    FlushOrder(String),
    /// Host and path go into an HTTP head and cannot hold control characters
    /// or spaces.
    #[error("{0:?} cannot be part of an HTTP head; use visible ASCII without spaces")]
    HttpText(String),
    /// An origin is what a browser names.
    #[error("{0:?} is no origin; write scheme://host or scheme://host:port, without a path")]
    Origin(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_happened_and_what_to_do() {
        let texts = [
            CloseReason::PeerClosed.to_string(),
            CloseReason::NoAnswer { asked: Version::V11, next: None }.to_string(),
            CloseReason::Refused { text: "full".to_owned() }.to_string(),
            CloseReason::PingTimeout { timeout_s: 30 }.to_string(),
            CloseReason::limit(Limit::Frame, 7000, 6147).to_string(),
            CloseReason::from(ProtocolError::UnknownVersion(0x30)).to_string(),
            CloseReason::from(ProtocolError::UnexpectedFrame { flags: 1, extended: 2 }).to_string(),
            SendError::TooLong { length: 7000, max: 6142 }.to_string(),
            ConfigError::FlushOrder("HL".to_owned()).to_string(),
        ];
        let expected = [
            "closed by the peer; connect again if its data is still wanted",
            "the server hung up without an answer to RIPC 11; no older generation is left to try",
            "refused by the server: \"full\"; do not try again unchanged",
            "nothing received for 30 s, the negotiated ping timeout; the peer is dead",
            "limit exceeded: 7000 of at most 6147 bytes of a frame (negotiated fragment size + 3)",
            "protocol error: connect request with unknown connection version 0x30",
            "protocol error: unexpected frame with flags 0x01, extended flags 0x02",
            "message of 7000 bytes, at most 6142 can be sent this way",
            "flush order \"HL\"; use at most 32 of H, M, L with at least one H and one M",
        ];
        assert_eq!(texts, expected);
    }
}
