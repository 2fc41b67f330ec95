use crate::{Compression, Version};

/// How the frames of a connection are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// Straight on the byte stream.
    Socket,
    /// In WebSocket frames.
    WebSocket,
    /// In an HTTP tunnel.
    HttpTunnel,
}

/// What both sides agreed on, and who the peer says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Generation of handshake and framing.
    pub version: Version,
    /// How frames are wrapped.
    pub carrier: Carrier,
    /// The fragment size M in bytes: the longest message that goes in one
    /// frame, in both directions.
    pub fragment_bytes: u16,
    /// Seconds of silence after which the peer is dead.
    pub ping_timeout_s: u8,
    /// Compression of both directions.
    pub compression: Compression,
    /// zlib level of both directions, 0..=9.
    pub compression_level: u8,
    /// The server compresses whether the client asked or not.
    pub compression_forced: bool,
    /// Protocol of the messages; 0 is RWF. A client finds its own here.
    pub protocol_type: u8,
    /// Major version of that protocol.
    pub major: u8,
    /// Minor version of that protocol.
    pub minor: u8,
    /// The peer's component version; empty before RIPC 13.
    pub peer_component_version: String,
    /// The client's own name for its host; empty at a client.
    pub peer_host_name: String,
    /// The client's own text of its address; empty at a client.
    pub peer_address: String,
    /// The key that both sides share after a key exchange. It protects
    /// nothing on the wire.
    pub shared_key: Option<u64>,
}
