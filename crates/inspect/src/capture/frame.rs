//! One RSSL frame, as far as it can be told without the frames before it.

use core::fmt;

use tapeline_rssl::follow::{
    Body, ConnectAck, ConnectRequest, FrameHeader, Handshake, frame_length,
};
use tapeline_rssl::{Compression, ProtocolError, Version};

/// What a frame is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The head of an HTTP request or response: its first line.
    HttpHead(String),
    /// A control frame of the WebSocket.
    WebSocket {
        /// Its opcode.
        opcode: u8,
    },
    /// Text of a WebSocket session that speaks JSON.
    Text(String),
    /// Opens an HTTP tunnel, or answers that.
    Tunnel,
    /// A client's first frame.
    ConnectRequest(ConnectRequest),
    /// A server's agreement.
    ConnectAck(ConnectAck),
    /// A server's refusal, with its words.
    ConnectNak(String),
    /// The client's half of the key exchange.
    ClientKey,
    /// A sign of life.
    Ping,
    /// Messages, or a part of one.
    Data(FrameHeader),
}

impl From<Handshake> for Frame {
    fn from(handshake: Handshake) -> Self {
        match handshake {
            Handshake::Tunnel => Self::Tunnel,
            Handshake::Request(request) => Self::ConnectRequest(request),
            Handshake::Ack(ack) => Self::ConnectAck(ack),
            Handshake::Nak(text) => Self::ConnectNak(text),
            Handshake::ClientKey(_) => Self::ClientKey,
        }
    }
}

impl Frame {
    /// Reads a whole frame. `is_opening` tells that the side has sent no
    /// content yet.
    pub(super) fn parse(
        frame: &[u8],
        is_opening: bool,
        version: Version,
    ) -> Result<Self, ProtocolError> {
        if is_opening && let Some(handshake) = Handshake::parse(frame)? {
            return Ok(handshake.into());
        }
        let header = FrameHeader::parse(frame, version)?;
        Ok(if header.is_ping(frame.len()) { Self::Ping } else { Self::Data(header) })
    }
}

/// Whether bytes could be the start of a client's first frame or head.
pub(super) fn starts_like_a_client(bytes: &[u8]) -> bool {
    let version = bytes.get(3..7).and_then(|code| code.first_chunk()).copied();
    let is_request = bytes.get(2) == Some(&0)
        && version
            .is_some_and(|code| Version::from_request_code(u32::from_be_bytes(code)).is_some());
    is_request || bytes.starts_with(b"GET ") || bytes.starts_with(b"POST ")
}

/// Whether bytes could be the start of a server's first frame or head.
pub(super) fn starts_like_a_server(bytes: &[u8]) -> bool {
    let is_answer = matches!(bytes.get(2..4), Some([0x01 | 0x81, 0x01 | 0x02]));
    is_answer || bytes.starts_with(b"HTTP/1.")
}

/// Whether bytes are whole frames from the first to the last, or to where the
/// last is cut off.
pub fn is_frame_stream(bytes: &[u8]) -> bool {
    if starts_like_a_client(bytes) && bytes.first().is_some_and(u8::is_ascii_uppercase) {
        return true;
    }
    let mut rest = bytes;
    let mut is_opening = true;
    while let Ok(Some(length)) = frame_length(rest) {
        let Some((frame, behind)) = rest.split_at_checked(length) else { return false };
        match Frame::parse(frame, is_opening, Version::V14) {
            Err(_) => return false,
            Ok(Frame::Data(_) | Frame::Ping) => is_opening = false,
            Ok(_) => {}
        }
        rest = behind;
    }
    rest.is_empty() && !bytes.is_empty()
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HttpHead(line) => write!(f, "HTTP {line}"),
            Self::WebSocket { opcode: 8 } => f.write_str("WebSocket close"),
            Self::WebSocket { opcode: 9 } => f.write_str("WebSocket ping"),
            Self::WebSocket { opcode: 10 } => f.write_str("WebSocket pong"),
            Self::WebSocket { opcode } => write!(f, "WebSocket frame, opcode {opcode}"),
            Self::Text(_) => f.write_str("text"),
            Self::Tunnel => f.write_str("tunnel opening"),
            Self::ConnectRequest(request) => write_request(request, f),
            Self::ConnectAck(ack) => write_ack(ack, f),
            Self::ConnectNak(text) => write!(f, "connect nak {text:?}"),
            Self::ClientKey => f.write_str("client key"),
            Self::Ping => f.write_str("ping"),
            Self::Data(header) => write_data(header, f),
        }
    }
}

fn write_request(request: &ConnectRequest, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let compression = match request.compression_bitmap {
        0 => "none",
        1 => "zlib",
        2 => "LZ4",
        _ => "several",
    };
    write!(
        f,
        "connect request RIPC {}, compression {compression}, ping timeout {} s, host {:?}",
        request.version.number(),
        request.ping_timeout_s,
        request.host_name
    )?;
    if !request.component_version.is_empty() {
        write!(f, ", version {:?}", request.component_version)?;
    }
    Ok(())
}

fn write_ack(ack: &ConnectAck, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let compression = match ack.compression {
        Compression::None => "none",
        Compression::Zlib => "zlib",
        Compression::Lz4 => "LZ4",
    };
    write!(
        f,
        "connect ack RIPC {}, compression {compression}, ping timeout {} s, fragments of {} bytes",
        ack.version.number(),
        ack.ping_timeout_s,
        ack.fragment_bytes
    )
}

fn write_data(header: &FrameHeader, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match header.body {
        Body::Message => f.write_str("data")?,
        Body::Packed => f.write_str("packed data")?,
        Body::First { id, total } => {
            write!(f, "first fragment of message {id}, {total} bytes in all")?;
        }
        Body::Next { id } => write!(f, "next fragment of message {id}")?,
    }
    if header.is_compressed() {
        f.write_str(", compressed")?;
    }
    if header.is_split() {
        f.write_str(", to be continued")?;
    }
    Ok(())
}
