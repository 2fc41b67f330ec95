//! WebSocket framing (RFC 6455), as far as RSSL and its JSON sibling use it.
//!
//! ```text
//!  bit 7   6..4   3..0      7      6..0
//! +-----+------+--------+------+---------+-------------------+----------+---------
//! | FIN | RSV  | opcode | MASK | length  | u16 if 126,       | mask (4) | payload
//! |     |      |        |      | 0..=125 | u64 if 127        | if MASK  |
//! +-----+------+--------+------+---------+-------------------+----------+---------
//! ```
//!
//! Clients mask, servers do not. The subprotocol `rssl.rwf` puts exactly one
//! RIPC frame into each binary frame and uses no continuation frames.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use crate::error::ProtocolError;
use crate::http::{Upgrade, head_length};

/// The subprotocol of RSSL over WebSocket.
pub const RSSL_SUBPROTOCOL: &str = "rssl.rwf";

/// Stands for no WebSocket at all: what a plain `GET` offers, to those who list
/// it in [`ServerConfig::other_subprotocols`](crate::ServerConfig).
pub const PLAIN_HTTP: &str = "http/1.1";

/// Opcode of a continuation frame.
pub const CONTINUATION: u8 = 0;
/// Opcode of a text frame.
pub const TEXT: u8 = 1;
/// Opcode of a binary frame.
pub const BINARY: u8 = 2;
/// Opcode of a close frame.
pub const CLOSE: u8 = 8;
/// Opcode of a ping frame.
pub const PING: u8 = 9;
/// Opcode of a pong frame.
pub const PONG: u8 = 10;

/// The most bytes that a control frame carries.
pub const CONTROL_PAYLOAD_BYTES: usize = 125;

/// The most bytes that a frame header takes.
pub const HEADER_BYTES: usize = 14;

/// A WebSocket frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Last (or only) frame of a message.
    pub fin: bool,
    /// The three reserved bits, 0..=7; 4 is RSV1, "compressed".
    pub reserved: u8,
    /// Opcode, 0..=15.
    pub opcode: u8,
    /// The mask of a masked frame.
    pub mask: Option<[u8; 4]>,
    /// Bytes of payload.
    pub payload: u64,
}

impl FrameHeader {
    /// Reads the header at the start of `bytes`: the header and its own
    /// length in bytes, or `None` while bytes are missing.
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let [first, second] = *bytes.first_chunk::<2>()?;
        let (payload, length) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?)), 4),
            127 => (u64::from_be_bytes(*bytes.get(2..)?.first_chunk()?), 10),
            short => (u64::from(short), 2),
        };
        let (mask, length) = if second & 0x80 == 0 {
            (None, length)
        } else {
            (Some(*bytes.get(length..)?.first_chunk()?), length + 4)
        };
        let header = Self {
            fin: first & 0x80 != 0,
            reserved: first >> 4 & 7,
            opcode: first & 0x0f,
            mask,
            payload,
        };
        Some((header, length))
    }

    /// The header's bytes, in its shortest form, and how many they are.
    pub fn encode(&self) -> ([u8; HEADER_BYTES], usize) {
        let mut out = [0; HEADER_BYTES];
        out[0] = u8::from(self.fin) << 7 | (self.reserved & 7) << 4 | self.opcode & 0x0f;
        let mut length = match self.payload {
            0..126 => {
                out[1] = self.payload as u8;
                2
            }
            126..=0xffff => {
                out[1] = 126;
                out[2..4].copy_from_slice(&(self.payload as u16).to_be_bytes());
                4
            }
            _ => {
                out[1] = 127;
                out[2..10].copy_from_slice(&self.payload.to_be_bytes());
                10
            }
        };
        if let Some(mask) = self.mask {
            out[1] |= 0x80;
            out[length..length + 4].copy_from_slice(&mask);
            length += 4;
        }
        (out, length)
    }

    /// Whether this is a close, ping or pong.
    pub const fn is_control(&self) -> bool {
        self.opcode & 8 != 0
    }

    /// Checks what every frame of an RSSL connection must be: masked exactly
    /// when it comes from a client, no reserved bit, a whole message, and a
    /// control frame only of the known kinds and sizes.
    pub(crate) fn check(&self, from_client: bool) -> Result<(), ProtocolError> {
        let wrong = |what| Err(ProtocolError::WebSocket(what));
        if self.mask.is_some() != from_client {
            return wrong(if from_client {
                "a client's frame is not masked"
            } else {
                "a server's frame is masked"
            });
        }
        if self.reserved != 0 {
            return wrong("a reserved bit is set, no extension applies to rssl.rwf");
        }
        if !self.fin || self.opcode == CONTINUATION {
            return wrong("a fragmented message; rssl.rwf puts one RIPC frame into one frame");
        }
        if self.is_control() && self.payload > CONTROL_PAYLOAD_BYTES as u64 {
            return wrong("a control frame of more than 125 bytes");
        }
        match self.opcode {
            BINARY | CLOSE | PING | PONG => Ok(()),
            TEXT => wrong("a text frame; rssl.rwf is binary"),
            _ => wrong("an unknown opcode"),
        }
    }
}

/// Masks or unmasks `payload`, which starts at the first byte of its frame's
/// payload.
pub fn apply_mask(payload: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut words = payload.chunks_exact_mut(8);
    for word in &mut words {
        if let Some(bytes) = word.first_chunk_mut::<8>() {
            *bytes = (u64::from_ne_bytes(*bytes) ^ wide).to_ne_bytes();
        }
    }
    for (byte, key) in words.into_remainder().iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}

/// The answer to a client's opening, which grants `subprotocol`, and the length
/// of the opening's head: for the machine that goes on after
/// [`Event::OtherSubprotocol`](crate::Event::OtherSubprotocol). `None` when
/// `bytes` do not begin with such an opening.
pub fn accept_opening(bytes: &[u8], subprotocol: &str) -> Option<(String, usize)> {
    let length = head_length(bytes, bytes.len()).ok()??;
    let upgrade = Upgrade::parse(&bytes[..length]).ok()?;
    Some((upgrade.accept_as(subprotocol, ""), length))
}

/// The `Sec-WebSocket-Accept` that answers a `Sec-WebSocket-Key`.
///
/// ```
/// use tapeline_rssl::websocket::accept_key;
/// // The example of RFC 6455, section 1.3.
/// assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
/// ```
pub fn accept_key(key: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(key.as_bytes());
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(hash.finalize())
}

/// A `Sec-WebSocket-Key` of 16 random bytes.
pub fn opening_key(random: [u8; 16]) -> String {
    STANDARD.encode(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(payload: u64, mask: Option<[u8; 4]>) -> FrameHeader {
        FrameHeader { fin: true, reserved: 0, opcode: BINARY, mask, payload }
    }

    #[test]
    fn headers_of_every_length_come_back() {
        for payload in [0, 1, 125, 126, 0xffff, 0x1_0000, u64::MAX] {
            for mask in [None, Some([1, 2, 3, 4])] {
                let header = header(payload, mask);
                let (bytes, length) = header.encode();
                assert_eq!(FrameHeader::parse(&bytes[..length]), Some((header, length)));
                for cut in 0..length {
                    assert_eq!(FrameHeader::parse(&bytes[..cut]), None);
                }
            }
        }
    }

    #[test]
    fn an_opening_is_answered_for_another_machine() {
        let opening = b"GET //WebSocket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
            Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
            Sec-WebSocket-Protocol: tr_json2\r\n\r\nrest";
        let (answer, length) = accept_opening(opening, "tr_json2").unwrap();
        assert_eq!(&opening[length..], b"rest");
        assert_eq!(
            answer,
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\
             Sec-WebSocket-Protocol: tr_json2\r\n\r\n"
        );
        assert_eq!(accept_opening(&opening[..60], "tr_json2"), None);
    }

    #[test]
    fn masking_twice_changes_nothing() {
        for length in 0..40 {
            let original: Vec<u8> = (0..length).collect();
            let mut bytes = original.clone();
            apply_mask(&mut bytes, [9, 200, 7, 1]);
            for (at, byte) in bytes.iter().enumerate() {
                assert_eq!(*byte, original[at] ^ [9, 200, 7, 1][at % 4]);
            }
            apply_mask(&mut bytes, [9, 200, 7, 1]);
            assert_eq!(bytes, original);
        }
    }

    #[test]
    fn what_rssl_does_not_use_is_refused() {
        let good = header(5, Some([0; 4]));
        assert_eq!(good.check(true), Ok(()));
        assert!(good.check(false).is_err());
        assert!(header(5, None).check(true).is_err());
        assert!(FrameHeader { reserved: 4, ..good }.check(true).is_err());
        assert!(FrameHeader { fin: false, ..good }.check(true).is_err());
        for opcode in [CONTINUATION, TEXT, 3, 11] {
            assert!(FrameHeader { opcode, ..good }.check(true).is_err());
        }
        assert!(FrameHeader { opcode: PING, payload: 126, ..good }.check(true).is_err());
    }
}
