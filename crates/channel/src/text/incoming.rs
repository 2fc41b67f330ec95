//! The input of a text session: WebSocket frames from a client.

use core::ops::Range;

use tapeline_rssl::websocket::{
    BINARY, CLOSE, CONTINUATION, CONTROL_PAYLOAD_BYTES, FrameHeader, HEADER_BYTES, PING, PONG,
    TEXT, apply_mask,
};
use tapeline_rssl::{CloseReason, ProtocolError};

use super::close_code;

/// Room that there always is for the next read.
const READ_BYTES: usize = 2048;

/// What a client did wrong, and the close code to say so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) reason: CloseReason,
    pub(super) code: u16,
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
pub(super) enum Taken {
    /// The end of a text message; [`Incoming::text`] has it.
    Text(Place),
    /// A control ping, with its payload.
    Ping(Range<usize>),
    /// A part of a message, or a pong.
    Nothing,
    /// The client says goodbye, with this code.
    Close(u16),
}

/// Where a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
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
pub(super) struct Incoming {
    bytes: Vec<u8>,
    head: usize,
    tail: usize,
    /// Bytes that the frame at the head takes, as far as it is known.
    needed: usize,
    /// A message that comes in parts; `None` between messages.
    parts: Vec<u8>,
    in_parts: bool,
    max_message_bytes: usize,
}

impl Incoming {
    pub(super) fn new(max_message_bytes: usize) -> Self {
        let (bytes, parts) = (Vec::new(), Vec::new());
        Self { bytes, head: 0, tail: 0, needed: 0, parts, in_parts: false, max_message_bytes }
    }

    /// Takes over bytes that were received by another machine.
    pub(super) fn take_over(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.tail = self.bytes.len();
    }

    /// Room for received bytes.
    pub(super) fn spare(&mut self) -> &mut [u8] {
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
    pub(super) fn filled(&mut self, count: usize) {
        self.tail = (self.tail + count).min(self.bytes.len());
    }

    /// Takes the next frame; `None` while it is not complete.
    pub(super) fn next(&mut self) -> Result<Option<Taken>, Fault> {
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
        apply_mask(&mut self.bytes[payload.clone()], mask);
        self.head += end;
        self.needed = 0;
        Ok(Some(self.take(&header, payload)))
    }

    /// The mask of a frame that may come.
    fn check(&self, header: &FrameHeader) -> Result<[u8; 4], Fault> {
        let wrong = |what| Err(Fault::new(close_code::PROTOCOL_ERROR, what));
        let Some(mask) = header.mask else { return wrong("a client's frame is not masked") };
        if header.reserved != 0 {
            return wrong("a reserved bit is set; no extension was agreed");
        }
        let is_first = header.opcode == TEXT;
        match header.opcode {
            CLOSE | PING | PONG if !header.fin => return wrong("a control frame in parts"),
            CLOSE | PING | PONG if header.payload > CONTROL_PAYLOAD_BYTES as u64 => {
                return wrong("a control frame of more than 125 bytes");
            }
            CLOSE | PING | PONG => return Ok(mask),
            BINARY => {
                let what = "a binary frame; this subprotocol is of text";
                return Err(Fault::new(close_code::UNSUPPORTED_DATA, what));
            }
            TEXT | CONTINUATION if is_first != self.in_parts => {}
            TEXT => return wrong("a message begins inside another one"),
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
            _ if header.fin && !self.in_parts => Taken::Text(Place::Buffer(payload)),
            opcode => {
                if opcode == TEXT {
                    self.parts.clear();
                }
                self.parts.extend_from_slice(&self.bytes[payload]);
                self.in_parts = !header.fin;
                if header.fin { Taken::Text(Place::Parts) } else { Taken::Nothing }
            }
        }
    }

    /// The bytes of a message or a ping, until more are received.
    pub(super) fn bytes(&self, place: &Place) -> &[u8] {
        match place {
            Place::Buffer(range) => self.bytes.get(range.clone()).unwrap_or_default(),
            Place::Parts => &self.parts,
        }
    }

    /// A message is done with.
    pub(super) fn done(&mut self) {
        if !self.in_parts {
            self.parts.clear();
        }
    }

    /// The text of a message.
    pub(super) fn text(&self, place: &Place) -> Result<&str, Fault> {
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
