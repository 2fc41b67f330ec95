//! The part of the header that all classes share, for those who only forward.

use core::fmt;

use crate::decode::Reader;
use crate::error::{DecodeError, DecodeErrorKind, Level};
use crate::{DataType, Domain, Encoded};

/// The class of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MsgClass {
    /// Opens or changes a stream.
    Request = 1,
    /// An image.
    Refresh = 2,
    /// A change of state.
    Status = 3,
    /// A change of data.
    Update = 4,
    /// Ends a stream.
    Close = 5,
    /// Answers a post or a close.
    Ack = 6,
    /// Anything else.
    Generic = 7,
    /// Content from a consumer.
    Post = 8,
}

impl MsgClass {
    /// All classes, in the order of their codes.
    pub const ALL: [Self; 8] = [
        Self::Request,
        Self::Refresh,
        Self::Status,
        Self::Update,
        Self::Close,
        Self::Ack,
        Self::Generic,
        Self::Post,
    ];

    /// The class of a wire code, whose high three bits do not count.
    #[inline]
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code & 0x1F {
            1 => Self::Request,
            2 => Self::Refresh,
            3 => Self::Status,
            4 => Self::Update,
            5 => Self::Close,
            6 => Self::Ack,
            7 => Self::Generic,
            8 => Self::Post,
            _ => return None,
        })
    }

    /// The wire code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name in the field's own spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "REQUEST",
            Self::Refresh => "REFRESH",
            Self::Status => "STATUS",
            Self::Update => "UPDATE",
            Self::Close => "CLOSE",
            Self::Ack => "ACK",
            Self::Generic => "GENERIC",
            Self::Post => "POST",
        }
    }

    /// The class of a name as [`name`](Self::name) gives it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

impl fmt::Display for MsgClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Offset of the stream id, which is the same in every message.
const STREAM_ID_AT: usize = 4;

/// What every message begins with, read without its optional parts: enough to
/// route a message.
///
/// ```text
/// byte 0          2        3         4              8
/// ┌───────────────┬────────┬─────────┬──────────────┬───────┬───────────┐
/// │ header size   │ class  │ domain  │ stream id    │ flags │ container │
/// └───────────────┴────────┴─────────┴──────────────┴───────┴───────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MsgHeader {
    /// Class.
    pub class: MsgClass,
    /// Domain.
    pub domain: Domain,
    /// Stream.
    pub stream_id: i32,
    /// Flags; their meaning depends on the class.
    pub flags: u16,
    /// Container type of the payload.
    pub container_type: DataType,
    /// Where the payload begins, in bytes from the start of the message.
    pub payload_start: usize,
}

impl MsgHeader {
    /// Reads the header of a message.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        match Self::decode_short(bytes) {
            Some(header) => Ok(header),
            None => Self::decode_any(bytes),
        }
    }

    /// Reads a header with one byte of flags, as nearly all have it, in one
    /// look. `None` for all others, and for what is wrong.
    #[inline]
    fn decode_short(bytes: &[u8]) -> Option<Self> {
        let (start, rest) = bytes.split_first_chunk::<10>()?;
        let [s0, s1, code, domain, i0, i1, i2, i3, flags, container] = *start;
        let header_size = usize::from(u16::from_be_bytes([s0, s1]));
        if flags >= 0x80 || header_size < 8 || header_size - 8 > rest.len() {
            return None;
        }
        Some(Self {
            class: MsgClass::from_code(code)?,
            domain: Domain(domain),
            stream_id: i32::from_be_bytes([i0, i1, i2, i3]),
            flags: flags as u16,
            container_type: DataType::from_container_code(container),
            payload_start: 2 + header_size,
        })
    }

    #[inline(never)]
    fn decode_any(bytes: &[u8]) -> Result<Self, DecodeError> {
        let data = Encoded::new(DataType::MSG, bytes);
        let (header, _, _) = Self::read(Reader::enter(&data, Level::Msg)?)?;
        Ok(header)
    }

    /// Reads the shared part; returns it with readers over the parts of the
    /// class and over the payload.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: see the reader")]
    pub(super) fn read(
        mut reader: Reader<'_>,
    ) -> Result<(Self, Reader<'_>, Reader<'_>), DecodeError> {
        let header_size = reader.u16("message header size")? as usize;
        let mut header = reader.split(header_size, "message header")?;
        let payload = reader;
        let [code, domain, stream_id @ ..] = header.chunk::<6>("start of the message header")?;
        let Some(class) = MsgClass::from_code(code) else {
            return Err(header.error_back(6, DecodeErrorKind::MsgClass(code & 0x1F)));
        };
        let shared = Self {
            class,
            domain: Domain(domain),
            stream_id: i32::from_be_bytes(stream_id),
            flags: header.u15_rb("message flags")?,
            container_type: DataType::from_container_code(header.u8("container type")?),
            payload_start: 2 + header_size,
        };
        Ok((shared, header, payload))
    }
}

/// Writes a stream id into an encoded message, in place.
///
/// Errors: the bytes are too few to be a message. Nothing else is looked at.
#[inline]
pub fn patch_stream_id(message: &mut [u8], stream_id: i32) -> Result<(), DecodeError> {
    match message.get_mut(STREAM_ID_AT..STREAM_ID_AT + 4) {
        Some(place) => {
            place.copy_from_slice(&stream_id.to_be_bytes());
            Ok(())
        }
        None => Err(Encoded::new(DataType::MSG, message).error(DecodeErrorKind::Truncated {
            what: "stream id",
            needed: (STREAM_ID_AT + 4) as u32,
            left: message.len() as u32,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPDATE: [u8; 12] = [0, 9, 4, 6, 0, 0, 0, 5, 0, 4, 1, 8];

    #[test]
    fn routing_needs_only_the_shared_part() {
        let header = MsgHeader::decode(&UPDATE).expect("well-formed");
        assert_eq!(header.class, MsgClass::Update);
        assert_eq!(header.domain, Domain::MARKET_PRICE);
        assert_eq!(header.stream_id, 5);
        assert_eq!(header.container_type, DataType::FIELD_LIST);
        assert_eq!(header.payload_start, 11);
    }

    #[test]
    fn the_short_way_is_only_shorter() {
        let mut short = 0;
        for (place, value) in (0..UPDATE.len()).flat_map(|p| (0..=255).map(move |v| (p, v))) {
            let mut message = UPDATE;
            message[place] = value;
            for length in 0..=message.len() {
                let decoded = MsgHeader::decode(&message[..length]);
                assert_eq!(decoded, MsgHeader::decode_any(&message[..length]));
                short += u32::from(MsgHeader::decode_short(&message[..length]).is_some());
            }
        }
        assert!(short > 2_000, "{short}");
    }

    #[test]
    fn the_stream_id_is_patched_in_place() {
        let mut message = UPDATE;
        patch_stream_id(&mut message, -7).expect("long enough");
        assert_eq!(MsgHeader::decode(&message).map(|h| h.stream_id), Ok(-7));
        assert!(patch_stream_id(&mut message[..7], 1).is_err());
    }

    #[test]
    fn a_header_size_past_the_end_and_an_unknown_class_are_errors() {
        let mut message = UPDATE;
        message[1] = 11;
        let error = MsgHeader::decode(&message).unwrap_err();
        assert_eq!(
            error.to_string(),
            "message header needs 11 bytes, 10 are left (byte 2, in MSG)"
        );
        message = UPDATE;
        message[2] = 9;
        let error = MsgHeader::decode(&message).unwrap_err();
        assert_eq!((error.kind, error.offset), (DecodeErrorKind::MsgClass(9), 2));
    }
}
