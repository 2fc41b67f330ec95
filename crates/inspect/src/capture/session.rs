//! One RSSL session, followed from outside: both directions' bytes in, frames
//! and messages out.

use std::collections::BTreeMap;

use tapeline_rssl::{Compression, Version, websocket};

use super::chunks::Chunks;
use super::frame::{Content, DataFrame, Frame, HEADER_BYTES};
use super::inflate::Inflate;

/// The longest HTTP head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The longest WebSocket frame, in bytes.
const MAX_WEBSOCKET_BYTES: u64 = 16 << 20;
/// The longest message in fragments, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
/// Messages in fragments at one time.
const MAX_FRAGMENTED: usize = 64;

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
    Tunnel(Chunks),
}

/// A message in fragments.
struct Partial {
    total: usize,
    bytes: Vec<u8>,
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
    inflate: Inflate,
    split: Option<(Content, Vec<u8>)>,
    /// A text in several WebSocket frames, as far as it has come.
    text: Option<Vec<u8>>,
    partial: BTreeMap<u16, Partial>,
}

impl Direction {
    fn new() -> Self {
        Self {
            carrier: Carrier::Unknown,
            raw: Vec::new(),
            clear: Vec::new(),
            is_opening: true,
            is_lost: false,
            inflate: Inflate::new(),
            split: None,
            text: None,
            partial: BTreeMap::new(),
        }
    }
}

/// What both sides agreed on, as far as it was seen.
#[derive(Clone, Copy)]
struct Agreed {
    id_bytes: usize,
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
        let agreed = Agreed { id_bytes: 2, compression: None };
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

type Followed = Result<(), &'static str>;

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
                chunks.cut(&mut self.direction.raw, &mut self.direction.clear)?;
                self.bare_frames()
            }
        }
    }

    /// Finds out what carries the frames; false while bytes are missing.
    fn begin(&mut self) -> Result<bool, &'static str> {
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
            let is_endless = raw.len() > MAX_HEAD_BYTES;
            return if is_endless { Err("the HTTP head does not end") } else { Ok(false) };
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
            Carrier::Tunnel(Chunks::default())
        } else {
            Carrier::Bare
        };
        self.direction.raw.drain(..end + 4);
        self.push(Frame::HttpHead(line), end + 4, Vec::new(), None);
        Ok(true)
    }

    fn push(
        &mut self,
        frame: Frame,
        length: usize,
        messages: Vec<Vec<u8>>,
        fault: Option<&'static str>,
    ) {
        let fault = fault.map(str::to_owned);
        self.seen.push(Seen { frame: Some(frame), length, messages, fault });
    }

    fn bare_frames(&mut self) -> Followed {
        let clear = std::mem::take(&mut self.direction.clear);
        let mut rest = clear.as_slice();
        while let Some(length) = rest.first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length));
            if length < HEADER_BYTES {
                return Err("a frame length below 3 bytes");
            }
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
                return Err("a WebSocket frame above 16 MiB");
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
            return Err("a text above 64 MiB");
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
        let parsed = Frame::parse(bytes, self.direction.is_opening, self.agreed.id_bytes);
        let frame = parsed.ok_or("bytes that are no RSSL frame")?;
        let mut set_version = |version: Version| {
            self.agreed.id_bytes = if version.number() >= 13 { 2 } else { 1 };
        };
        match &frame {
            Frame::ConnectRequest(request) => set_version(request.version),
            Frame::ConnectAck(ack) => {
                set_version(ack.version);
                self.agreed.compression = Some(ack.compression);
            }
            Frame::Ping => self.direction.is_opening = false,
            Frame::Data(data) => {
                self.direction.is_opening = false;
                let data = *data;
                let (messages, fault) = match self.content(&data, &bytes[data.body_at..]) {
                    Ok(messages) => (messages, None),
                    Err(fault) => (Vec::new(), Some(fault)),
                };
                self.push(frame, bytes.len(), messages, fault);
                return Ok(());
            }
            _ => {}
        }
        self.push(frame, bytes.len(), Vec::new(), None);
        Ok(())
    }

    /// The messages that a frame's body completes.
    fn content(&mut self, frame: &DataFrame, body: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
        if !frame.is_compressed {
            return self.unpack(frame.content, body);
        }
        if let Some((content, mut start)) = self.direction.split.take() {
            start.extend_from_slice(body);
            let body = self.direction.inflate.expand(&start, self.agreed.compression)?;
            return self.unpack(content, &body);
        }
        if frame.is_split {
            self.direction.split = Some((frame.content, body.to_vec()));
            return Ok(Vec::new());
        }
        let body = self.direction.inflate.expand(body, self.agreed.compression)?;
        self.unpack(frame.content, &body)
    }

    fn unpack(&mut self, content: Content, body: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
        match content {
            Content::Message if body.is_empty() => Ok(Vec::new()),
            Content::Message => Ok(vec![body.to_vec()]),
            Content::Packed => unpack(body),
            Content::FirstFragment { id, total } => {
                let total = total as usize;
                self.direction.partial.remove(&id);
                if total > MAX_MESSAGE_BYTES {
                    return Err("a message in fragments above 64 MiB");
                }
                if self.direction.partial.len() >= MAX_FRAGMENTED {
                    return Err("more than 64 messages in fragments at one time");
                }
                self.direction.partial.insert(id, Partial { total, bytes: Vec::new() });
                self.add_fragment(id, body)
            }
            Content::NextFragment { id } => self.add_fragment(id, body),
        }
    }

    fn add_fragment(&mut self, id: u16, body: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
        let Some(partial) = self.direction.partial.get_mut(&id) else {
            return Err("a fragment of a message whose start was not seen");
        };
        partial.bytes.extend_from_slice(body);
        if partial.bytes.len() < partial.total {
            return Ok(Vec::new());
        }
        let is_exact = partial.bytes.len() == partial.total;
        let complete = self.direction.partial.remove(&id).map(|partial| partial.bytes);
        if !is_exact {
            return Err("fragments hold more than their message was announced to have");
        }
        Ok(complete.into_iter().collect())
    }
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

/// Takes a packed body apart.
fn unpack(body: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
    let mut messages = Vec::new();
    let mut rest = body;
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length));
        if length == 0 {
            break;
        }
        let fault = "a packed message reaches past the end of its frame";
        let (message, behind) = behind.split_at_checked(length).ok_or(fault)?;
        messages.push(message.to_vec());
        rest = behind;
    }
    Ok(messages)
}
