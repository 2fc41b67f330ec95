//! One RSSL session, followed from outside: both directions' bytes in, frames
//! and messages out.

use tapeline_rssl::follow::{
    Body, ChunkLimits, Dechunker, FrameHeader, FrameReceiver, frame_length,
};
use tapeline_rssl::{CloseReason, Compression, Limits, ProtocolError, Version, websocket};

use super::frame::Frame;

/// The longest HTTP head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The longest WebSocket frame, in bytes.
const MAX_WEBSOCKET_BYTES: u64 = 16 << 20;
/// The longest message in fragments, or in a text, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// Bytes announced by all messages in fragments together.
const MAX_FRAGMENTED_BYTES: usize = 256 << 20;
/// Messages in fragments at one time.
const MAX_FRAGMENTED: usize = 64;
/// The longest size line of a chunk, in bytes.
const CHUNKS: ChunkLimits = ChunkLimits { line_bytes: 64 };
/// What a zlib stream begins with.
const ZLIB_START: u8 = 0x78;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Who opened the connection.
    Client,
    /// Who was called.
    Server,
}

impl Side {
    /// The direction of what this side sends, as the vectors name it.
    pub const fn direction(self) -> &'static str {
        match self {
            Self::Client => "client->server",
            Self::Server => "server->client",
        }
    }
}

/// A frame that was seen, and what became complete with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The frame; `None` for bytes that are none.
    pub frame: Option<Frame>,
    /// Its length in bytes, without what is wrapped around it.
    pub length: usize,
    /// Messages, in order.
    pub messages: Vec<Vec<u8>>,
    /// What is wrong with it. After some faults the rest of the direction
    /// cannot be read.
    pub fault: Option<String>,
}

/// How frames are wrapped.
enum Carrier {
    /// Not known yet: nothing came.
    Unknown,
    Bare,
    WebSocket,
    Tunnel(Dechunker),
}

/// What one side sends.
struct Direction {
    carrier: Carrier,
    /// Bytes as they came.
    raw: Vec<u8>,
    /// Bytes without chunk framing.
    clear: Vec<u8>,
    is_opening: bool,
    is_lost: bool,
    /// Made for the first data frame.
    receiver: Option<FrameReceiver>,
    /// What the receiver was told of compression.
    compression: Option<Compression>,
    /// A text in several WebSocket frames, as far as it has come.
    text: Option<Vec<u8>>,
}

impl Direction {
    fn new() -> Self {
        Self {
            carrier: Carrier::Unknown,
            raw: Vec::new(),
            clear: Vec::new(),
            is_opening: true,
            is_lost: false,
            receiver: None,
            compression: None,
            text: None,
        }
    }
}

/// What both sides agreed on, as far as it was seen.
#[derive(Clone, Copy)]
struct Agreed {
    version: Version,
    compression: Option<Compression>,
}

/// Follows both directions of a connection.
///
/// Bytes may come in pieces of any size. A capture that begins in the middle
/// of a session is followed too, if it begins with a whole frame; the newest
/// generation is then assumed.
pub struct Session {
    client: Direction,
    server: Direction,
    agreed: Agreed,
    is_foreign: bool,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A session of which nothing was seen.
    pub fn new() -> Self {
        let agreed = Agreed { version: Version::V14, compression: None };
        let (client, server) = (Direction::new(), Direction::new());
        Self { client, server, agreed, is_foreign: false }
    }

    /// Whether the session turned out to be ordinary HTTP, which is not
    /// followed.
    pub const fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Takes bytes that a side sent; returns the frames that became complete.
    pub fn feed(&mut self, side: Side, bytes: &[u8]) -> Vec<Seen> {
        let direction = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let mut seen = Vec::new();
        if direction.is_lost || self.is_foreign {
            return seen;
        }
        direction.raw.extend_from_slice(bytes);
        let is_foreign = &mut self.is_foreign;
        let agreed = &mut self.agreed;
        let mut follow = Follow { direction, agreed, is_foreign, seen: &mut seen };
        if let Err(fault) = follow.all() {
            direction.is_lost = true;
            let length = direction.raw.len() + direction.clear.len();
            direction.raw = Vec::new();
            direction.clear = Vec::new();
            let fault = Some(format!("{fault}; the rest of this direction cannot be read"));
            seen.push(Seen { frame: None, length, messages: Vec::new(), fault });
        }
        seen
    }

    /// Takes note that bytes of a side are missing: what follows them cannot
    /// be read.
    pub fn lose(&mut self, side: Side, count: u64) -> Vec<Seen> {
        let direction = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        if direction.is_lost {
            return Vec::new();
        }
        direction.is_lost = true;
        let fault = format!(
            "{count} bytes are missing in the capture; the rest of this direction cannot be read"
        );
        vec![Seen { frame: None, length: 0, messages: Vec::new(), fault: Some(fault) }]
    }

    /// Bytes of a side that wait for the rest of their frame.
    pub fn waiting_bytes(&self, side: Side) -> usize {
        let direction = match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        };
        direction.raw.len() + direction.clear.len()
    }
}

/// One step through one direction.
struct Follow<'s> {
    direction: &'s mut Direction,
    agreed: &'s mut Agreed,
    is_foreign: &'s mut bool,
    seen: &'s mut Vec<Seen>,
}

type Followed = Result<(), String>;

impl Follow<'_> {
    fn all(&mut self) -> Followed {
        if matches!(self.direction.carrier, Carrier::Unknown) && !self.begin()? {
            return Ok(());
        }
        match &mut self.direction.carrier {
            Carrier::Unknown => Ok(()),
            Carrier::WebSocket => self.websocket_frames(),
            Carrier::Bare => {
                let raw = &mut self.direction.raw;
                self.direction.clear.append(raw);
                self.bare_frames()
            }
            Carrier::Tunnel(chunks) => {
                let (raw, clear) = (&mut self.direction.raw, &mut self.direction.clear);
                let cut = cut_chunks(chunks, raw, clear);
                self.bare_frames().and(cut)
            }
        }
    }

    /// Finds out what carries the frames; false while bytes are missing.
    fn begin(&mut self) -> Result<bool, String> {
        const OPENINGS: [&[u8]; 3] = [b"GET ", b"POST ", b"HTTP/"];
        let raw = &self.direction.raw;
        let is_http = OPENINGS.iter().any(|opening| raw.starts_with(opening));
        if !is_http {
            if OPENINGS.iter().any(|opening| opening.starts_with(raw)) {
                return Ok(false);
            }
            self.direction.carrier = Carrier::Bare;
            return Ok(true);
        }
        let Some(end) = raw.windows(4).position(|end| end == b"\r\n\r\n") else {
            return match raw.len() > MAX_HEAD_BYTES {
                true => Err("the HTTP head does not end".to_owned()),
                false => Ok(false),
            };
        };
        let head = String::from_utf8_lossy(&raw[..end]).into_owned();
        let line = head.lines().next().unwrap_or_default().to_owned();
        if !opens_a_session(&head) {
            *self.is_foreign = true;
            self.direction.raw = Vec::new();
            return Ok(false);
        }
        self.direction.carrier = if line.starts_with("GET") || line.contains(" 101 ") {
            Carrier::WebSocket
        } else if line.starts_with("HTTP") {
            Carrier::Tunnel(Dechunker::default())
        } else {
            Carrier::Bare
        };
        self.direction.raw.drain(..end + 4);
        self.push(Frame::HttpHead(line), end + 4, Vec::new(), None);
        Ok(true)
    }

    fn push(&mut self, frame: Frame, length: usize, messages: Vec<Vec<u8>>, fault: Option<String>) {
        self.seen.push(Seen { frame: Some(frame), length, messages, fault });
    }

    fn bare_frames(&mut self) -> Followed {
        let clear = std::mem::take(&mut self.direction.clear);
        let mut rest = clear.as_slice();
        while let Some(length) = frame_length(rest).map_err(|error| error.to_string())? {
            let Some((frame, behind)) = rest.split_at_checked(length) else { break };
            rest = behind;
            self.frame(frame)?;
        }
        self.direction.clear = rest.to_vec();
        Ok(())
    }

    fn websocket_frames(&mut self) -> Followed {
        while let Some((header, header_len)) = websocket::FrameHeader::parse(&self.direction.raw) {
            if header.payload > MAX_WEBSOCKET_BYTES {
                return Err("a WebSocket frame above 16 MiB".to_owned());
            }
            let end = header_len + header.payload as usize;
            if self.direction.raw.len() < end {
                break;
            }
            let mut payload: Vec<u8> = self.direction.raw.drain(..end).skip(header_len).collect();
            if let Some(mask) = header.mask {
                websocket::apply_mask(&mut payload, mask);
            }
            match header.opcode {
                websocket::BINARY => {
                    self.direction.clear.append(&mut payload);
                    self.bare_frames()?;
                }
                websocket::TEXT if header.reserved == 0 => {
                    self.direction.text = Some(payload);
                    self.text(header.fin)?;
                }
                websocket::CONTINUATION if self.direction.text.is_some() => {
                    self.direction.text.get_or_insert_default().append(&mut payload);
                    self.text(header.fin)?;
                }
                opcode => {
                    self.push(Frame::WebSocket { opcode }, payload.len(), Vec::new(), None);
                }
            }
        }
        Ok(())
    }

    /// A text has grown, perhaps to its end.
    fn text(&mut self, is_complete: bool) -> Followed {
        let Some(text) = self.direction.text.take() else { return Ok(()) };
        if text.len() > MAX_MESSAGE_BYTES {
            return Err("a text above 64 MiB".to_owned());
        }
        if is_complete {
            let length = text.len();
            let text = String::from_utf8_lossy(&text).into_owned();
            self.push(Frame::Text(text), length, Vec::new(), None);
        } else {
            self.direction.text = Some(text);
        }
        Ok(())
    }

    /// One whole frame.
    fn frame(&mut self, bytes: &[u8]) -> Followed {
        let frame = match Frame::parse(bytes, self.direction.is_opening, self.agreed.version) {
            Ok(frame) => frame,
            Err(error) if is_out_of_step(&error) => return Err(error.to_string()),
            Err(error) => {
                let fault = Some(error.to_string());
                let length = bytes.len();
                self.seen.push(Seen { frame: None, length, messages: Vec::new(), fault });
                return Ok(());
            }
        };
        match &frame {
            Frame::ConnectRequest(request) => self.agreed.version = request.version,
            Frame::ConnectAck(ack) => {
                self.agreed.version = ack.version;
                self.agreed.compression = Some(ack.compression);
            }
            Frame::Ping => self.direction.is_opening = false,
            Frame::Data(header) => {
                self.direction.is_opening = false;
                let (messages, fault) = self.content(*header, bytes);
                self.push(frame, bytes.len(), messages, fault);
                return Ok(());
            }
            _ => {}
        }
        self.push(frame, bytes.len(), Vec::new(), None);
        Ok(())
    }

    /// The messages that a frame completes, and what is wrong with it.
    fn content(&mut self, header: FrameHeader, frame: &[u8]) -> (Vec<Vec<u8>>, Option<String>) {
        let Direction { receiver, compression, .. } = &mut *self.direction;
        let receiver = receiver.get_or_insert_with(|| {
            FrameReceiver::new(self.agreed.version, Compression::None, &limits())
        });
        if header.is_compressed() && compression.is_none() {
            // In a capture that begins in the middle the body itself tells.
            let is_zlib = frame.get(header.length) == Some(&ZLIB_START);
            let told = if is_zlib { Compression::Zlib } else { Compression::Lz4 };
            let told = self.agreed.compression.unwrap_or(told);
            receiver.expect(told);
            *compression = Some(told);
        }
        // A connection drops such a fragment; who looks on wants to know.
        let is_headless = matches!(header.body, Body::Next { id } if !receiver.is_reassembling(id));
        let mut messages = Vec::new();
        let fault = match receiver.frame(frame, |message| messages.push(message.to_vec())) {
            Ok(()) if is_headless => {
                Some("a fragment of a message whose start was not seen".to_owned())
            }
            Ok(()) => None,
            Err(CloseReason::Protocol(error @ ProtocolError::Decompress(_)))
                if self.agreed.compression.is_none() =>
            {
                Some(format!("{error}; the capture may begin after its stream"))
            }
            Err(CloseReason::Protocol(error)) => Some(error.to_string()),
            Err(reason) => Some(reason.to_string()),
        };
        (messages, fault)
    }
}

fn limits() -> Limits {
    Limits {
        message_bytes: MAX_MESSAGE_BYTES,
        reassembly_bytes: MAX_FRAGMENTED_BYTES,
        reassembly_count: MAX_FRAGMENTED,
        ..Limits::default()
    }
}

/// Whether a frame's error means that its length cannot be trusted either. A
/// request or an answer that its reader would refuse is out of order alone.
const fn is_out_of_step(error: &ProtocolError) -> bool {
    matches!(error, ProtocolError::UnexpectedFrame { .. } | ProtocolError::ShortFrame { .. })
}

/// Moves payload from `raw` to `clear` as far as it goes.
fn cut_chunks(dechunker: &mut Dechunker, raw: &mut Vec<u8>, clear: &mut Vec<u8>) -> Followed {
    let mut at = 0;
    let cut = loop {
        let rest = &raw[at..];
        match dechunker.step(rest, CHUNKS) {
            Ok(Some(step)) if !rest.is_empty() => {
                clear.extend_from_slice(&rest[step.skip..step.skip + step.payload]);
                at += step.skip + step.payload;
            }
            Ok(_) => break Ok(()),
            Err(reason) => break Err(reason.to_string()),
        }
    };
    raw.drain(..at);
    cut
}

/// Whether an HTTP head opens a session of the RSSL family: a WebSocket of one
/// of its subprotocols, or the tunnel. Answers are taken as they come.
fn opens_a_session(head: &str) -> bool {
    let head = head.to_ascii_lowercase();
    let has = |text: &str| head.contains(text);
    if head.starts_with("get ") {
        return has("sec-websocket-protocol:") && (has("rssl") || has("tr_json") || has("rwf"));
    }
    !head.starts_with("post ") || has("octet-stream")
}
