//! One RSSL frame, as far as it can be told without the frames before it.

use core::fmt;

use tapeline_rssl::{Compression, Version};

const EXTENDED: u8 = 0x01;
const DATA: u8 = 0x02;
const COMPRESSED: u8 = 0x04;
const SPLIT: u8 = 0x08;
const PACKED: u8 = 0x10;
const FORCED: u8 = 0x80;
const ACK: u8 = 0x01;
const NAK: u8 = 0x02;
const NEXT_FRAGMENT: u8 = 0x04;
const FIRST_FRAGMENT: u8 = 0x08;
const CLIENT_KEY: u8 = 0x08;
const TUNNEL: u8 = 0x80;

/// Bytes of a frame's length and flags.
pub(super) const HEADER_BYTES: usize = 3;

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
    Data(DataFrame),
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// Generation.
    pub version: Version,
    /// Compression types that the client can do, one bit each.
    pub compression_bitmap: u8,
    /// Seconds between signs of life.
    pub ping_timeout_s: u8,
    /// The client's name for its host.
    pub host_name: String,
    /// The client's component version; empty before RIPC 13.
    pub component_version: String,
}

/// What a server agrees to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectAck {
    /// Generation.
    pub version: Version,
    /// Longest body of a frame in bytes.
    pub fragment_bytes: u16,
    /// Seconds between signs of life.
    pub ping_timeout_s: u8,
    /// Compression in both directions.
    pub compression: Compression,
}

/// A frame with content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFrame {
    /// Whether the body is compressed.
    pub is_compressed: bool,
    /// Whether the body goes on in the next frame.
    pub is_split: bool,
    /// What is in the body.
    pub content: Content,
    /// Where the body begins.
    pub(super) body_at: usize,
}

/// What is in the body of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// One message.
    Message,
    /// Messages, each behind its length.
    Packed,
    /// The start of a long message.
    FirstFragment {
        /// The message's number.
        id: u16,
        /// Its length in bytes.
        total: u32,
    },
    /// A later part of a long message.
    NextFragment {
        /// The message's number.
        id: u16,
    },
}

/// Reads the fields of a frame; `None` past its end.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn number(&mut self, len: usize) -> Option<u32> {
        Some(self.bytes(len)?.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    fn text(&mut self) -> Option<String> {
        let len = self.u8()?;
        self.bytes(len.into()).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

impl ConnectRequest {
    /// Reads a whole frame.
    pub(super) fn parse(frame: &[u8]) -> Option<Self> {
        let mut fields = Fields(frame);
        let (_length, flags) = (fields.number(2)?, fields.u8()?);
        let version = Version::from_request_code(fields.number(4)?).filter(|_| flags == 0)?;
        let (_key, _header_length) = (fields.u8()?, fields.u8()?);
        let bitmap_len = fields.u8()?;
        let compression_bitmap = fields.bytes(bitmap_len.into())?.first().copied().unwrap_or(0);
        let (ping_timeout_s, _session) = (fields.u8()?, fields.u8()?);
        let protocol_bytes = if version == Version::V11 { 2 } else { 3 };
        fields.bytes(protocol_bytes)?;
        let host_name = fields.text()?;
        let _address = fields.text()?;
        let component_version = match fields.u8() {
            Some(1..) => fields.text().unwrap_or_default(),
            _ => String::new(),
        };
        Some(Self { version, compression_bitmap, ping_timeout_s, host_name, component_version })
    }
}

impl ConnectAck {
    fn parse(frame: &[u8]) -> Option<Self> {
        let mut fields = Fields(frame);
        let flags = fields.bytes(6)?[2];
        let code = fields.number(4)?;
        let versions = [Version::V11, Version::V12, Version::V13, Version::V14];
        let version = versions.into_iter().find(|version| version.ack_code() == code)?;
        let fragment_bytes = fields.number(2)? as u16;
        let (_session, ping_timeout_s) = (fields.u8()?, fields.u8()?);
        fields.bytes(2)?;
        let compression = match fields.number(2)? {
            0 if flags & FORCED == 0 => Compression::None,
            0 | 1 => Compression::Zlib,
            2 => Compression::Lz4,
            _ => return None,
        };
        Some(Self { version, fragment_bytes, ping_timeout_s, compression })
    }
}

fn nak_text(frame: &[u8]) -> Option<String> {
    let mut fields = Fields(frame);
    fields.bytes(6)?;
    let len = fields.number(2)? as usize;
    let text = fields.bytes(len)?.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(text).into_owned())
}

impl Frame {
    /// Reads a whole frame of at least three bytes. `is_opening` tells that
    /// the side has sent no content yet, `id_bytes` how long fragment ids are.
    pub(super) fn parse(frame: &[u8], is_opening: bool, id_bytes: usize) -> Option<Self> {
        let flags = *frame.get(2)?;
        let extended = frame.get(3).copied().unwrap_or(0);
        if is_opening {
            match (flags & !FORCED, extended) {
                (EXTENDED, ACK) => return ConnectAck::parse(frame).map(Self::ConnectAck),
                (EXTENDED, NAK) => return nak_text(frame).map(Self::ConnectNak),
                _ => {}
            }
            match (flags, frame.len()) {
                (0, 7) | (TUNNEL, 13) => return Some(Self::Tunnel),
                (0, _) => return ConnectRequest::parse(frame).map(Self::ConnectRequest),
                (CLIENT_KEY, 4 | 12) => return Some(Self::ClientKey),
                _ => {}
            }
        }
        if flags == DATA && frame.len() == HEADER_BYTES {
            return Some(Self::Ping);
        }
        DataFrame::parse(frame, id_bytes).map(Self::Data)
    }
}

impl DataFrame {
    fn parse(frame: &[u8], id_bytes: usize) -> Option<Self> {
        let mut fields = Fields(frame);
        let flags = fields.bytes(HEADER_BYTES)?[2];
        let known = EXTENDED | DATA | COMPRESSED | SPLIT | PACKED;
        let is_compressed = flags & COMPRESSED != 0;
        let is_split = flags & SPLIT != 0;
        if flags & !known != 0 || flags & (DATA | COMPRESSED) == 0 || is_split && !is_compressed {
            return None;
        }
        let content = if flags & EXTENDED == 0 {
            if flags & PACKED == 0 { Content::Message } else { Content::Packed }
        } else {
            match fields.u8()? {
                FIRST_FRAGMENT => {
                    let total = fields.number(4)?;
                    Content::FirstFragment { id: fields.number(id_bytes)? as u16, total }
                }
                NEXT_FRAGMENT => Content::NextFragment { id: fields.number(id_bytes)? as u16 },
                _ => return None,
            }
        };
        Some(Self { is_compressed, is_split, content, body_at: frame.len() - fields.0.len() })
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
    let is_answer = matches!(bytes.get(2..4), Some([0x01 | 0x81, ACK | NAK]));
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
    while let Some(length) = rest.first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length));
        let Some((frame, behind)) = rest.split_at_checked(length) else { return false };
        match Frame::parse(frame, is_opening, 2) {
            None => return false,
            Some(Frame::Data(_) | Frame::Ping) => is_opening = false,
            Some(_) => {}
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
            Self::ConnectRequest(request) => write!(f, "{request}"),
            Self::ConnectAck(ack) => write!(f, "{ack}"),
            Self::ConnectNak(text) => write!(f, "connect nak {text:?}"),
            Self::ClientKey => f.write_str("client key"),
            Self::Ping => f.write_str("ping"),
            Self::Data(data) => write!(f, "{data}"),
        }
    }
}

impl fmt::Display for ConnectRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compression = match self.compression_bitmap {
            0 => "none",
            1 => "zlib",
            2 => "LZ4",
            _ => "several",
        };
        write!(
            f,
            "connect request RIPC {}, compression {compression}, ping timeout {} s, host {:?}",
            self.version.number(),
            self.ping_timeout_s,
            self.host_name
        )?;
        if !self.component_version.is_empty() {
            write!(f, ", version {:?}", self.component_version)?;
        }
        Ok(())
    }
}

impl fmt::Display for ConnectAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compression = match self.compression {
            Compression::None => "none",
            Compression::Zlib => "zlib",
            Compression::Lz4 => "LZ4",
        };
        write!(
            f,
            "connect ack RIPC {}, compression {compression}, ping timeout {} s, fragments of {} \
             bytes",
            self.version.number(),
            self.ping_timeout_s,
            self.fragment_bytes
        )
    }
}

impl fmt::Display for DataFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content {
            Content::Message => f.write_str("data")?,
            Content::Packed => f.write_str("packed data")?,
            Content::FirstFragment { id, total } => {
                write!(f, "first fragment of message {id}, {total} bytes in all")?;
            }
            Content::NextFragment { id } => write!(f, "next fragment of message {id}")?,
        }
        if self.is_compressed {
            f.write_str(", compressed")?;
        }
        if self.is_split {
            f.write_str(", to be continued")?;
        }
        Ok(())
    }
}
