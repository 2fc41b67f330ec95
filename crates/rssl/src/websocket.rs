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

use crate::config::check_http_text;
use crate::error::{CloseReason, ConfigError, ProtocolError};
use crate::http::{Upgrade, head_length, upgrade_request, upgraded_to};
use crate::random::Random;

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

/// The opening of a client that offers `subprotocols`, for a machine of another
/// subprotocol than RSSL's. `host` is the value of the `Host` header,
/// `name:port`.
///
/// Errors: something of it cannot be part of an HTTP head.
pub fn request_opening(
    host: &str,
    path: &str,
    key: &str,
    subprotocols: &[String],
) -> Result<String, ConfigError> {
    for text in [host, path].into_iter().chain(subprotocols.iter().map(String::as_str)) {
        check_http_text(text)?;
    }
    Ok(upgrade_request(host, path, key, &subprotocols.join(", "), ""))
}

/// What a server answers to such an opening with `key`: the subprotocol that it
/// grants, which is one of those offered, and the length of the answer's head.
/// `None` while the head is not complete; it has at most `max_head_bytes`.
pub fn check_answer(
    bytes: &[u8],
    key: &str,
    subprotocols: &[String],
    max_head_bytes: usize,
) -> Result<Option<(String, usize)>, CloseReason> {
    let Some(length) = head_length(bytes, max_head_bytes)? else { return Ok(None) };
    let granted = upgraded_to(&bytes[..length], key)?;
    match subprotocols.contains(&granted) {
        true => Ok(Some((granted, length))),
        false => {
            Err(ProtocolError::Http("the answer grants no subprotocol that was offered").into())
        }
    }
}

/// Where the keys and masks of a client come from: numbers that look like
/// chance and can be had again from the same seed. They hide nothing; they
/// keep what is between client and server from taking messages for HTTP.
#[derive(Clone, Debug)]
pub struct Masks(Random);

impl Masks {
    /// The keys and masks of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// A `Sec-WebSocket-Key`.
    pub fn opening_key(&mut self) -> String {
        opening_key(self.0.next_bytes16())
    }

    /// The mask of the next frame.
    pub fn mask(&mut self) -> [u8; 4] {
        self.0.next_bytes4()
    }
}

/// The cookies that the head of a client's opening has, as `a=1; b=2`: its
/// `Cookie` headers one behind the other. Those that are not UTF-8 are left
/// out.
pub fn cookies(head: &[u8]) -> String {
    let lines = head.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    let headers = lines.filter_map(|line| line.split_once(':'));
    let cookies = headers.filter(|(name, _)| name.eq_ignore_ascii_case("Cookie"));
    cookies.map(|(_, value)| value.trim()).collect::<Vec<_>>().join("; ")
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
    fn an_opening_and_its_answer_fit_each_other() {
        let subprotocols = ["tr_json2", "rssl.json.v2"].map(str::to_owned);
        let key = Masks::new(7).opening_key();
        let request = request_opening("mds1:15000", "/WebSocket", &key, &subprotocols).unwrap();
        assert!(
            request.contains("Sec-WebSocket-Protocol: tr_json2, rssl.json.v2\r\n"),
            "{request}"
        );
        let (answer, _) = accept_opening(request.as_bytes(), "rssl.json.v2").unwrap();
        let bytes = [answer.as_bytes(), b"rest"].concat();
        let check = |bytes: &[u8]| check_answer(bytes, &key, &subprotocols, 1000);
        assert_eq!(check(&bytes), Ok(Some(("rssl.json.v2".to_owned(), answer.len()))));
        assert_eq!(check(&bytes[..answer.len() - 1]), Ok(None));
        assert!(check(&[b'x'; 1001]).is_err());
        let both = answer.replace("rssl.json.v2", "tr_json2, rssl.json.v2");
        assert!(check(both.as_bytes()).is_err(), "several are granted");
        assert!(check_answer(&bytes, "abc", &subprotocols, 1000).is_err(), "another key");
        assert!(request_opening("a b:1", "/WebSocket", &key, &subprotocols).is_err());
    }

    #[test]
    fn cookies_are_found_whatever_their_headers_are_called() {
        let head = b"GET /cookie: HTTP/1.1\r\nHost: a\r\ncookie: a=1; b=2\r\nX-Cookie: no\r\n\
            COOKIE:c=3 \r\nCookie: \xFF\r\n\r\n";
        assert_eq!(cookies(head), "a=1; b=2; c=3");
        assert_eq!(cookies(b"GET / HTTP/1.1\r\n\r\n"), "");
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
