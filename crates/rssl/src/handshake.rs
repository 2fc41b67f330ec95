//! The four handshake frames: connect request, connect ack, connect nak and
//! client key, as plain values with `encode` and `parse`.

use crate::Version;
use crate::compression::Compression;
use crate::error::{CloseReason, ProtocolError};
use crate::limits::MIN_FRAGMENT_BYTES;

const OFFERS_KEY: u8 = 0x08;
const ENCRYPTION_TYPE: u8 = 1;
const KEY_DATA_BYTES: u8 = 24;
pub(crate) const EXTENDED: u8 = 0x01;
pub(crate) const FORCED: u8 = 0x80;
pub(crate) const CONNECT_ACK: u8 = 0x01;
pub(crate) const CONNECT_NAK: u8 = 0x02;
pub(crate) const CLIENT_KEY: u8 = 0x08;
/// Where the key block of an ack begins.
const KEY_BLOCK_AT: usize = 19;
const PINGS_BOTH_WAYS: u8 = 3;

/// A connect request.
///
/// ```text
///  0 u16 length          8 u8 header length    ..  u8 protocol type (not v11)
///  2 u8  flags 0         9 u8 bitmap bytes n   ..  u8 major, u8 minor
///  3 u32 version code   10 n  bitmap           ..  u8 h, h bytes host name
///  7 u8  0x08 key offer .. u8 ping timeout s   ..  u8 a, a bytes address
///                       .. u8 session flags    ..  u8 c+1, u8 c, c bytes component version (v13, v14)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// Generation.
    pub version: Version,
    /// Whether the client offers the key exchange (RIPC 14).
    pub offers_key: bool,
    /// Compression types that the client can do: 0x01 zlib, 0x02 LZ4; 0 for an
    /// absent bitmap.
    pub compression_bitmap: u8,
    /// Seconds of silence after which the peer is dead.
    pub ping_timeout_s: u8,
    /// What the messages are, 0 for RWF; 0 before RIPC 12.
    pub protocol_type: u8,
    /// Major version of that protocol.
    pub major: u8,
    /// Minor version of that protocol.
    pub minor: u8,
    /// The client's name for its host.
    pub host_name: String,
    /// The client's text of its address.
    pub address: String,
    /// The client's component version; empty before RIPC 13.
    pub component_version: String,
}

impl ConnectRequest {
    /// The configuration check keeps the whole under 256 bytes, so every
    /// length fits its byte.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![0, 0, 0];
        out.extend(self.version.request_code().to_be_bytes());
        out.push(if self.offers_key && self.version.has_key_exchange() { OFFERS_KEY } else { 0 });
        out.push(0);
        if self.compression_bitmap == 0 {
            out.push(0);
        } else {
            out.extend([1, self.compression_bitmap]);
        }
        out.extend([self.ping_timeout_s, 0]);
        if self.version.has_protocol_type() {
            out.push(self.protocol_type);
        }
        out.extend([self.major, self.minor]);
        push_text(&mut out, &self.host_name);
        push_text(&mut out, &self.address);
        out[8] = out.len() as u8;
        if self.version.has_component_version() {
            push_container(&mut out, &self.component_version);
        }
        patch_length(&mut out);
        out
    }

    /// Reads a whole frame.
    pub fn parse(frame: &[u8]) -> Result<Self, ProtocolError> {
        let mut read = Reader { rest: frame, truncated: ProtocolError::Request("it is truncated") };
        let length = usize::from(read.u16()?);
        if read.u8()? != 0 {
            return Err(ProtocolError::Request("its flags are not 0"));
        }
        let code = read.u32()?;
        let version =
            Version::from_request_code(code).ok_or(ProtocolError::UnknownVersion(code))?;
        let connect_flags = read.u8()?;
        let header_length = usize::from(read.u8()?);
        let bitmap_bytes = usize::from(read.u8()?);
        let compression_bitmap = read.bytes(bitmap_bytes)?.first().copied().unwrap_or(0);
        let ping_timeout_s = read.u8()?;
        let _session_flags = read.u8()?;
        let protocol_type = if version.has_protocol_type() { read.u8()? } else { 0 };
        let (major, minor) = (read.u8()?, read.u8()?);
        let host_name = read.text()?;
        let address = read.text()?;
        let mut sum = header_length;
        let mut component_version = String::new();
        if version.has_component_version() {
            let container = read.u8()?;
            sum += usize::from(container) + 1;
            if container > 0 {
                component_version = read.text()?;
            }
        }
        // Known clients end a request with a line end that the header's
        // lengths do not count.
        if sum != length && !(sum + 2 == length && frame.ends_with(b"\r\n")) {
            return Err(ProtocolError::Request("its lengths do not add up"));
        }
        Ok(Self {
            version,
            offers_key: version.has_key_exchange() && connect_flags & OFFERS_KEY != 0,
            compression_bitmap,
            ping_timeout_s,
            protocol_type,
            major,
            minor,
            host_name,
            address,
            component_version,
        })
    }
}

/// What an ack says about the key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBlock {
    /// No key block: the request offered none.
    None,
    /// Encryption type 1.
    Known {
        /// P, a prime.
        modulus: u64,
        /// G.
        generator: u64,
        /// The server's half, G^s mod P.
        key: u64,
    },
    /// A type that this crate does not know; answered with an empty key.
    Unknown,
}

/// A connect ack.
///
/// ```text
///  0 u16 length              10 u16 M, largest message     16 u16 compression type
///  2 u8  0x01 or 0x81 forced 12 u8  session flags 3        18 u8  zlib level
///  3 u8  ext 0x01            13 u8  ping timeout s         19 27  key block (v14, if offered)
///  4 u8  header length 10    14 u8  major, 15 u8 minor     .. u8 c+1, u8 c, c bytes (v13, v14)
///  5 u8  0
///  6 u32 RIPC version        key block: u8 0x08, u8 type 1, u8 24, u64 P, u64 G, u64 G^s mod P
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectAck {
    /// Generation.
    pub version: Version,
    /// Whether the server forces the compression upon the client.
    pub forced: bool,
    /// M, the longest body of a frame in bytes; at least 16.
    pub fragment_bytes: u16,
    /// Seconds of silence after which the peer is dead; at least 1.
    pub ping_timeout_s: u8,
    /// Major version of the protocol of the messages.
    pub major: u8,
    /// Minor version of that protocol.
    pub minor: u8,
    /// Compression in both directions.
    pub compression: Compression,
    /// zlib level.
    pub compression_level: u8,
    /// The server's half of the key exchange.
    pub key: KeyBlock,
    /// The server's component version; empty before RIPC 13.
    pub component_version: String,
}

impl ConnectAck {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let flags = if self.forced { EXTENDED | FORCED } else { EXTENDED };
        let mut out = vec![0, 0, flags, CONNECT_ACK, 10, 0];
        out.extend(self.version.ack_code().to_be_bytes());
        out.extend(self.fragment_bytes.to_be_bytes());
        out.extend([PINGS_BOTH_WAYS, self.ping_timeout_s, self.major, self.minor]);
        out.extend(self.compression.code().to_be_bytes());
        out.push(self.compression_level);
        if let KeyBlock::Known { modulus, generator, key } = self.key {
            out.extend([OFFERS_KEY, ENCRYPTION_TYPE, KEY_DATA_BYTES]);
            for number in [modulus, generator, key] {
                out.extend(number.to_be_bytes());
            }
        }
        if self.version.has_component_version() {
            push_container(&mut out, &self.component_version);
        }
        patch_length(&mut out);
        out
    }

    /// Reads an ack whose request is not known. The generation is the ack's
    /// own. What follows the zlib level may begin with 8 as a key block or as
    /// a component version of 7 bytes; only the latter has a 7 next.
    pub fn parse_alone(frame: &[u8]) -> Result<Self, ProtocolError> {
        let mut read = Reader { rest: frame, truncated: ProtocolError::Ack("it is truncated") };
        read.bytes(6)?;
        let got = read.u32()?;
        let expected = Version::V14.ack_code();
        let version =
            Version::from_ack_code(got).ok_or(ProtocolError::AckVersion { got, expected })?;
        let rest = frame.get(KEY_BLOCK_AT..).unwrap_or_default();
        let is_key = matches!(rest, [OFFERS_KEY, second, ..] if *second != OFFERS_KEY - 1);
        Self::parse(frame, version, version.has_key_exchange() && is_key)
    }

    /// Reads the answer to a request of generation `version` that offered a
    /// key exchange or not.
    fn parse(frame: &[u8], version: Version, offered_key: bool) -> Result<Self, ProtocolError> {
        let mut read = Reader { rest: frame, truncated: ProtocolError::Ack("it is truncated") };
        let header = read.bytes(6)?;
        let forced = header[2] & FORCED != 0;
        let got = read.u32()?;
        if got != version.ack_code() {
            return Err(ProtocolError::AckVersion { got, expected: version.ack_code() });
        }
        let fragment_bytes = read.u16()?;
        if fragment_bytes < MIN_FRAGMENT_BYTES {
            return Err(ProtocolError::AckFragmentSize(fragment_bytes));
        }
        let _session_flags = read.u8()?;
        // A timeout of 0 would be over at once.
        let ping_timeout_s = read.u8()?.max(1);
        let (major, minor) = (read.u8()?, read.u8()?);
        let code = read.u16()?;
        let mut compression =
            Compression::from_code(code).ok_or(ProtocolError::AckCompression(code))?;
        if forced && compression == Compression::None {
            compression = Compression::Zlib;
        }
        let compression_level = read.u8()?;
        let key = if offered_key { read.key_block()? } else { KeyBlock::None };
        let component_version = if version.has_component_version() && !read.rest.is_empty() {
            if read.u8()? > 0 { read.text()? } else { String::new() }
        } else {
            String::new()
        };
        Ok(Self {
            version,
            forced,
            fragment_bytes,
            ping_timeout_s,
            major,
            minor,
            compression,
            compression_level,
            key,
            component_version,
        })
    }
}

/// The server's answer to a connect request.
pub(crate) enum Answer {
    Ack(ConnectAck),
    Nak { text: String },
}

impl Answer {
    pub(crate) fn parse(
        frame: &[u8],
        version: Version,
        offered_key: bool,
    ) -> Result<Self, CloseReason> {
        let flags = frame.get(2).copied().unwrap_or(0);
        let extended = frame.get(3).copied().unwrap_or(0);
        match (flags & !FORCED, extended) {
            (EXTENDED, CONNECT_ACK) => {
                Ok(Self::Ack(ConnectAck::parse(frame, version, offered_key)?))
            }
            (EXTENDED, CONNECT_NAK) => Ok(Self::Nak { text: parse_nak(frame)? }),
            _ => Err(ProtocolError::UnexpectedFrame { flags, extended }.into()),
        }
    }
}

/// A connect nak: `u16 length, 0x01, 0x02, u8 8, u8 0, u16 n, n bytes of text`,
/// the text ending in a NUL that n counts.
pub(crate) fn encode_nak(text: &str) -> Vec<u8> {
    let text = &text.as_bytes()[..text.len().min(NAK_TEXT_BYTES)];
    let mut out = vec![0, 0, EXTENDED, CONNECT_NAK, 8, 0];
    out.extend((text.len() as u16 + 1).to_be_bytes());
    out.extend_from_slice(text);
    out.push(0);
    patch_length(&mut out);
    out
}

/// Clients read a nak through the same small buffer as an ack.
const NAK_TEXT_BYTES: usize = 512;

pub(crate) fn parse_nak(frame: &[u8]) -> Result<String, ProtocolError> {
    let mut read = Reader { rest: frame, truncated: ProtocolError::Handshake("connect nak") };
    read.bytes(6)?;
    let length = usize::from(read.u16()?);
    let text = read.bytes(length)?;
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// The client key: `u16 length, 0x08, u8 n, n bytes`, n is 8, or 0 from a
/// client that does not know the encryption type.
pub(crate) fn encode_client_key(key: Option<u64>) -> Vec<u8> {
    let mut out = vec![0, 0, CLIENT_KEY];
    match key {
        Some(key) => {
            out.push(8);
            out.extend(key.to_be_bytes());
        }
        None => out.push(0),
    }
    patch_length(&mut out);
    out
}

pub(crate) fn parse_client_key(frame: &[u8]) -> Result<Option<u64>, ProtocolError> {
    let mut read = Reader { rest: frame, truncated: ProtocolError::Handshake("client key") };
    read.u16()?;
    let flags = read.u8()?;
    if flags != CLIENT_KEY {
        return Err(ProtocolError::UnexpectedFrame { flags, extended: 0 });
    }
    match read.u8()? {
        0 => Ok(None),
        8 => Ok(Some(read.u64()?)),
        _ => Err(ProtocolError::Handshake("client key")),
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

fn push_container(out: &mut Vec<u8>, component_version: &str) {
    out.push(component_version.len() as u8 + 1);
    push_text(out, component_version);
}

fn patch_length(frame: &mut [u8]) {
    let length = frame.len() as u16;
    frame[..2].copy_from_slice(&length.to_be_bytes());
}

struct Reader<'a> {
    rest: &'a [u8],
    truncated: ProtocolError,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], ProtocolError> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| self.truncated.clone())?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| self.truncated.clone())?;
        self.rest = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, ProtocolError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, ProtocolError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, ProtocolError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String, ProtocolError> {
        let length = usize::from(self.u8()?);
        Ok(String::from_utf8_lossy(self.bytes(length)?).into_owned())
    }

    fn key_block(&mut self) -> Result<KeyBlock, ProtocolError> {
        let _key_flags = self.u8()?;
        let encryption_type = self.u8()?;
        let length = self.u8()?;
        if (encryption_type, length) != (ENCRYPTION_TYPE, KEY_DATA_BYTES) {
            self.bytes(usize::from(length))?;
            return Ok(KeyBlock::Unknown);
        }
        Ok(KeyBlock::Known { modulus: self.u64()?, generator: self.u64()?, key: self.u64()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: Version) -> ConnectRequest {
        let with_container = version.has_component_version();
        ConnectRequest {
            version,
            offers_key: version == Version::V14,
            compression_bitmap: 0,
            ping_timeout_s: 60,
            protocol_type: 0,
            major: 14,
            minor: 1,
            host_name: "client1".to_owned(),
            address: "127.0.0.1".to_owned(),
            component_version: if with_container { "x1" } else { "" }.to_owned(),
        }
    }

    #[test]
    fn requests_of_every_generation_come_back() {
        for version in Version::NEWEST_FIRST {
            for compression_bitmap in [0, 1, 2] {
                let request = ConnectRequest { compression_bitmap, ..request(version) };
                let frame = request.encode();
                assert_eq!(ConnectRequest::parse(&frame), Ok(request));
                for cut in 0..frame.len() {
                    assert!(ConnectRequest::parse(&frame[..cut]).is_err());
                }
            }
        }
    }

    #[test]
    fn one_trailing_line_end_is_forgiven() {
        let mut frame = request(Version::V13).encode();
        frame.extend(b"\r\n");
        patch_length(&mut frame);
        assert_eq!(ConnectRequest::parse(&frame), Ok(request(Version::V13)));
        *frame.last_mut().unwrap() = b'x';
        assert_eq!(
            ConnectRequest::parse(&frame),
            Err(ProtocolError::Request("its lengths do not add up"))
        );
    }

    fn ack(key: KeyBlock) -> ConnectAck {
        ConnectAck {
            version: Version::V14,
            forced: false,
            fragment_bytes: 6144,
            ping_timeout_s: 30,
            major: 14,
            minor: 1,
            compression: Compression::Lz4,
            compression_level: 6,
            key,
            component_version: "server".to_owned(),
        }
    }

    fn parse_ack(frame: &[u8], offered_key: bool) -> Result<ConnectAck, CloseReason> {
        match Answer::parse(frame, Version::V14, offered_key)? {
            Answer::Ack(ack) => Ok(ack),
            Answer::Nak { text } => Err(CloseReason::Refused { text }),
        }
    }

    #[test]
    fn acks_come_back_with_and_without_a_key() {
        let known = KeyBlock::Known { modulus: 23, generator: 5, key: 9 };
        for key in [KeyBlock::None, known] {
            let frame = ack(key).encode();
            assert_eq!(parse_ack(&frame, key != KeyBlock::None), Ok(ack(key)));
            for component_version in ["", "server", "7 bytes"] {
                let ack =
                    ConnectAck { component_version: component_version.to_owned(), ..ack(key) };
                assert_eq!(ConnectAck::parse_alone(&ack.encode()), Ok(ack));
            }
        }
    }

    #[test]
    fn an_unknown_encryption_type_is_skipped() {
        let mut frame = ack(KeyBlock::Known { modulus: 23, generator: 5, key: 9 }).encode();
        frame[20] = 2;
        assert_eq!(parse_ack(&frame, true), Ok(ack(KeyBlock::Unknown)));
        assert_eq!(encode_client_key(None), [0, 4, 8, 0]);
    }

    #[test]
    fn forced_compression_without_a_type_is_zlib() {
        let frame =
            ConnectAck { forced: true, compression: Compression::None, ..ack(KeyBlock::None) }
                .encode();
        assert_eq!(frame[2], 0x81);
        assert_eq!(parse_ack(&frame, false).unwrap().compression, Compression::Zlib);
    }

    #[test]
    fn bad_acks_are_named() {
        let mut frame = ack(KeyBlock::None).encode();
        frame[17] = 3;
        assert_eq!(parse_ack(&frame, false), Err(ProtocolError::AckCompression(3).into()));
        frame[9] = 8;
        let wrong = ProtocolError::AckVersion { got: 8, expected: 9 };
        assert_eq!(parse_ack(&frame, false), Err(wrong.into()));
        let tiny = ConnectAck { fragment_bytes: 15, ..ack(KeyBlock::None) }.encode();
        assert_eq!(parse_ack(&tiny, false), Err(ProtocolError::AckFragmentSize(15).into()));
    }

    #[test]
    fn nak_text_is_read_with_and_without_nul() {
        let frame = encode_nak("Connection refused.");
        assert_eq!(frame.len(), 28);
        assert_eq!(parse_nak(&frame), Ok("Connection refused.".to_owned()));
        let bare = [0, 10, 1, 2, 8, 0, 0, 2, b'n', b'o'];
        assert_eq!(parse_nak(&bare), Ok("no".to_owned()));
        assert!(parse_nak(&[0, 10, 1, 2, 8, 0, 0, 3, b'n', b'o']).is_err());
    }

    #[test]
    fn client_keys_come_back() {
        assert_eq!(parse_client_key(&encode_client_key(Some(77))), Ok(Some(77)));
        assert_eq!(parse_client_key(&encode_client_key(None)), Ok(None));
        assert!(parse_client_key(&[0, 5, 8, 1, 0]).is_err());
        assert!(parse_client_key(&[0, 3, 2]).is_err());
    }
}
