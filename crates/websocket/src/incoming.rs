//! The input of a text session: WebSocket frames, put together to messages.

use core::ops::Range;

use tapeline_rssl::websocket::{
    BINARY, CLOSE, CONTINUATION, CONTROL_PAYLOAD_BYTES, FrameHeader, HEADER_BYTES, PING, PONG,
    TEXT, apply_mask,
};
use tapeline_rssl::{CloseReason, ProtocolError};

use crate::close_code;

/// Room that there always is for the next read.
const READ_BYTES: usize = 2048;

/// What the peer did wrong, and the close code to say so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: CloseReason,
    pub(crate) code: u16,
}

impl Fault {
    fn new(code: u16, what: &'static str) -> Self {
        Self { reason: ProtocolError::WebSocket(what).into(), code }
    }

    fn too_long(value: u64, max: usize) -> Self {
        let limit = tapeline_rssl::Limit::Message;
        let reason = CloseReason::Limit { limit, value, max: max as u64 };
        Self { reason, code: close_code::TOO_BIG }
    }
}

/// A frame that was taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The end of a text message; [`Incoming::text`] has it.
    Text(Place),
    /// A control ping, with its payload.
    Ping(Range<usize>),
    /// A part of a message, or a pong.
    Nothing,
    /// The peer says goodbye, with this code.
    Close(u16),
}

/// Where a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the receive buffer.
    Buffer(Range<usize>),
    /// Put together from its parts.
    Parts,
}

/// The receive buffer. It grows to the longest frame, which is bounded.
///
/// ```text
///   | taken |  received  |  room for READ_BYTES at least |
///   0      head         tail                            len
/// ```
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    head: usize,
    tail: usize,
    /// Bytes that the frame at the head takes, as far as it is known.
    needed: usize,
    /// A message that comes in parts; `None` between messages.
    parts: Vec<u8>,
    in_parts: bool,
    /// The message is of binary frames.
    is_binary: bool,
    /// Whose frames these are: a client's are masked, and of text only.
    pub(crate) from_client: bool,
    pub(crate) max_message_bytes: usize,
}

impl Incoming {
    /// The frames of a client.
    pub(crate) fn new(max_message_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            head: 0,
            tail: 0,
            needed: 0,
            parts: Vec::new(),
            in_parts: false,
            is_binary: false,
            from_client: true,
            max_message_bytes,
        }
    }

    /// The frames of a server.
    pub(crate) fn from_server(max_message_bytes: usize) -> Self {
        Self { from_client: false, ..Self::new(max_message_bytes) }
    }

    /// What was received and is not taken yet.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.head..self.tail]
    }

    /// Takes the first bytes, which are no frame.
    pub(crate) fn skip(&mut self, count: usize) {
        self.head = (self.head + count).min(self.tail);
    }

    /// Takes over bytes that were received by another machine.
    pub(crate) fn take_over(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.tail = self.bytes.len();
    }

    /// Room for received bytes.
    pub(crate) fn spare(&mut self) -> &mut [u8] {
        if self.head > 0 {
            self.bytes.copy_within(self.head..self.tail, 0);
            self.tail -= self.head;
            self.head = 0;
        }
        let wanted = self.needed.max(self.tail + READ_BYTES);
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        &mut self.bytes[self.tail..]
    }

    /// Takes note of `count` bytes written into the spare room.
    pub(crate) fn filled(&mut self, count: usize) {
        self.tail = (self.tail + count).min(self.bytes.len());
    }

    /// Takes the next frame; `None` while it is not complete.
    pub(crate) fn next(&mut self) -> Result<Option<Taken>, Fault> {
        let ready = &self.bytes[self.head..self.tail];
        let Some((header, header_bytes)) = FrameHeader::parse(ready) else {
            self.needed = HEADER_BYTES;
            return Ok(None);
        };
        let mask = self.check(&header)?;
        let end = header_bytes + header.payload as usize;
        if ready.len() < end {
            self.needed = end;
            return Ok(None);
        }
        let payload = self.head + header_bytes..self.head + end;
        if let Some(mask) = mask {
            apply_mask(&mut self.bytes[payload.clone()], mask);
        }
        self.head += end;
        self.needed = 0;
        Ok(Some(self.take(&header, payload)))
    }

    /// The mask of a frame that may come.
    fn check(&self, header: &FrameHeader) -> Result<Option<[u8; 4]>, Fault> {
        let wrong = |what| Err(Fault::new(close_code::PROTOCOL_ERROR, what));
        let mask = header.mask;
        match (mask.is_some(), self.from_client) {
            (false, true) => return wrong("a client's frame is not masked"),
            (true, false) => return wrong("a server's frame is masked"),
            _ => {}
        }
        if header.reserved != 0 {
            return wrong("a reserved bit is set; no extension was agreed");
        }
        let is_first = header.opcode != CONTINUATION;
        match header.opcode {
            CLOSE | PING | PONG if !header.fin => return wrong("a control frame in parts"),
            CLOSE | PING | PONG if header.payload > CONTROL_PAYLOAD_BYTES as u64 => {
                return wrong("a control frame of more than 125 bytes");
            }
            CLOSE | PING | PONG => return Ok(mask),
            BINARY if self.from_client => {
                let what = "a binary frame; this subprotocol is of text";
                return Err(Fault::new(close_code::UNSUPPORTED_DATA, what));
            }
            TEXT | BINARY | CONTINUATION if is_first != self.in_parts => {}
            TEXT | BINARY => return wrong("a message begins inside another one"),
            CONTINUATION => return wrong("a continuation of nothing"),
            _ => return wrong("an unknown opcode"),
        }
        let length = header.payload.saturating_add(self.parts.len() as u64);
        match length > self.max_message_bytes as u64 {
            true => Err(Fault::too_long(length, self.max_message_bytes)),
            false => Ok(mask),
        }
    }

    fn take(&mut self, header: &FrameHeader, payload: Range<usize>) -> Taken {
        match header.opcode {
            PING => Taken::Ping(payload),
            PONG => Taken::Nothing,
            CLOSE => {
                let code = self.bytes[payload].first_chunk().map(|code| u16::from_be_bytes(*code));
                Taken::Close(code.unwrap_or(close_code::NORMAL))
            }
            opcode => {
                if opcode != CONTINUATION {
                    self.is_binary = opcode == BINARY;
                    self.parts.clear();
                }
                if header.fin && !self.in_parts {
                    return Taken::Text(Place::Buffer(payload));
                }
                self.parts.extend_from_slice(&self.bytes[payload]);
                self.in_parts = !header.fin;
                if header.fin { Taken::Text(Place::Parts) } else { Taken::Nothing }
            }
        }
    }

    /// The bytes of a message or a ping, until more are received.
    pub(crate) fn bytes(&self, place: &Place) -> &[u8] {
        match place {
            Place::Buffer(range) => self.bytes.get(range.clone()).unwrap_or_default(),
            Place::Parts => &self.parts,
        }
    }

    /// A message is done with.
    pub(crate) fn done(&mut self) {
        if !self.in_parts {
            self.parts.clear();
        }
    }

    /// Makes sure that a message is a text. Old servers sent binary frames, and
    /// in them what the first 256 characters of Unicode are, a byte each.
    pub(crate) fn check_text(&mut self, place: Place) -> Result<Place, Fault> {
        match self.text(&place) {
            Ok(_) => Ok(place),
            Err(_) if self.is_binary => {
                let text: String =
                    self.bytes(&place).iter().map(|byte| char::from(*byte)).collect();
                self.parts = text.into_bytes();
                Ok(Place::Parts)
            }
            Err(fault) => Err(fault),
        }
    }

    /// The text of a message.
    pub(crate) fn text(&self, place: &Place) -> Result<&str, Fault> {
        let what = "a text that is not UTF-8";
        str::from_utf8(self.bytes(place)).map_err(|_| Fault::new(close_code::INVALID_DATA, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(fin: bool, opcode: u8, payload: &[u8]) -> Vec<u8> {
        let mask = Some([1, 2, 3, 4]);
        let header = FrameHeader { fin, reserved: 0, opcode, mask, payload: payload.len() as u64 };
        let (bytes, length) = header.encode();
        let mut frame = bytes[..length].to_vec();
        let mut payload = payload.to_vec();
        apply_mask(&mut payload, [1, 2, 3, 4]);
        frame.extend(payload);
        frame
    }

    /// What comes of bytes that are received `step` at a time.
    fn read(bytes: &[u8], step: usize) -> Result<Vec<String>, u16> {
        let mut incoming = Incoming::new(100);
        let mut all = Vec::new();
        for part in bytes.chunks(step) {
            incoming.spare()[..part.len()].copy_from_slice(part);
            incoming.filled(part.len());
            while let Some(taken) = incoming.next().map_err(|fault| fault.code)? {
                match taken {
                    Taken::Text(place) => {
                        all.push(incoming.text(&place).map_err(|fault| fault.code)?.to_owned());
                        incoming.done();
                    }
                    Taken::Ping(place) => {
                        let payload = incoming.bytes(&Place::Buffer(place));
                        all.push(format!("ping {}", String::from_utf8_lossy(payload)));
                    }
                    Taken::Close(code) => all.push(format!("close {code}")),
                    Taken::Nothing => {}
                }
            }
        }
        Ok(all)
    }

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let bytes = [
            frame(true, TEXT, b"{1}"),
            frame(false, TEXT, b"{\"a"),
            frame(true, PING, b"p"),
            frame(false, CONTINUATION, b""),
            frame(true, CONTINUATION, b"\":2}"),
            frame(true, PONG, b""),
            frame(true, TEXT, "{\u{21e7}}".as_bytes()),
            frame(true, CLOSE, &1001_u16.to_be_bytes()),
        ]
        .concat();
        let expected = ["{1}", "ping p", "{\"a\":2}", "{\u{21e7}}", "close 1001"];
        for step in 1..bytes.len() {
            assert_eq!(read(&bytes, step).as_deref(), Ok(&expected.map(str::to_owned)[..]));
        }
    }

    #[test]
    fn each_fault_has_its_close_code() {
        let long = [b'x'; 101];
        let unmasked = b"\x81\x02{}".to_vec();
        let mut reserved = frame(true, TEXT, b"{}");
        reserved[0] |= 0x40;
        let halves = [frame(false, TEXT, &long[..60]), frame(true, CONTINUATION, &long[..60])];
        for (bytes, code) in [
            (unmasked, 1002),
            (reserved, 1002),
            (frame(true, 3, b""), 1002),
            (frame(false, PING, b""), 1002),
            (frame(true, PING, &[b'x'; 126]), 1002),
            (frame(true, CONTINUATION, b""), 1002),
            ([frame(false, TEXT, b"{"), frame(true, TEXT, b"{")].concat(), 1002),
            (frame(true, BINARY, b""), 1003),
            (frame(true, TEXT, b"\xFF"), 1007),
            (frame(true, TEXT, &long), 1009),
            (halves.concat(), 1009),
        ] {
            assert_eq!(read(&bytes, 7), Err(code), "{bytes:?}");
        }
        assert_eq!(read(&frame(true, TEXT, &long[..100]), 7).map(|all| all.len()), Ok(1));
    }

    #[test]
    fn a_server_masks_nothing_and_may_send_bytes() {
        let read = |bytes: &[u8]| {
            let mut incoming = Incoming::from_server(100);
            incoming.take_over(bytes);
            let mut all = Vec::new();
            while let Some(taken) = incoming.next().map_err(|fault| fault.code)? {
                if let Taken::Text(place) = taken {
                    let place = incoming.check_text(place).map_err(|fault| fault.code)?;
                    all.push(incoming.text(&place).unwrap().to_owned());
                    incoming.done();
                }
            }
            Ok(all.join(" "))
        };
        assert_eq!(read(b"\x81\x02{}").as_deref(), Ok("{}"));
        assert_eq!(read(b"\x82\x04{\xC3\xA9}\x82\x03{\xE9}").as_deref(), Ok("{é} {é}"));
        assert_eq!(read(b"\x02\x02{\xE9\x80\x01}\x81\x01x").as_deref(), Ok("{é} x"));
        assert_eq!(read(b"\x81\x03{\xE9}"), Err(1007), "a text has to be UTF-8");
        assert_eq!(read(b"\x81\x82\0\0\0\0{}"), Err(1002));
    }

    #[test]
    fn an_announced_length_takes_no_memory_beyond_the_limit() {
        let mut incoming = Incoming::new(1000);
        incoming.take_over(&[0x81, 0xFF, 0, 0, 0, 0xFF, 0, 0, 0, 0, 1, 2, 3, 4]);
        assert!(incoming.next().is_err());
        let mut incoming = Incoming::new(1000);
        incoming.take_over(&[0x81, 0xFE, 0x03, 0xE8, 1, 2, 3, 4]);
        assert_eq!(incoming.next(), Ok(None));
        assert!(incoming.spare().len() <= 1000 + READ_BYTES);
    }
}
