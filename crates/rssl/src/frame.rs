//! The header of a data frame.

use crate::Version;
use crate::error::ProtocolError;

pub(crate) const EXTENDED: u8 = 0x01;
pub(crate) const DATA: u8 = 0x02;
pub(crate) const COMPRESSED: u8 = 0x04;
pub(crate) const SPLIT: u8 = 0x08;
pub(crate) const PACKED: u8 = 0x10;
pub(crate) const NEXT_FRAGMENT: u8 = 0x04;
pub(crate) const FIRST_FRAGMENT: u8 = 0x08;

/// Bytes of the header of a frame without fragment fields.
pub(crate) const HEADER_BYTES: usize = 3;

/// What is in a frame's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// One message.
    Message,
    /// Length-prefixed messages.
    Packed,
    /// The start of a message of `total` bytes.
    First {
        /// The message's fragment id.
        id: u16,
        /// The message's length in bytes.
        total: usize,
    },
    /// A later part of a message.
    Next {
        /// The message's fragment id.
        id: u16,
    },
}

/// A data frame's header.
///
/// ```text
///  0      2       3          3                        body
/// +------+-------+----------+------------------------+--------
/// | u16  | u8    | u8 ext   | first: u32 total, id   |
/// | len  | flags | if 0x01  | next:  id              |
/// +------+-------+----------+------------------------+--------
///  0x01 EXTENDED   0x02 DATA   0x04 COMPRESSED   0x08 COMP_FRAGMENT   0x10 PACKED
///  ext: 0x04 next fragment, 0x08 first fragment; id: u16, up to RIPC 12 u8
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Flag byte.
    pub flags: u8,
    /// What is in the body.
    pub body: Body,
    /// Bytes before the body.
    pub length: usize,
}

impl FrameHeader {
    /// Reads the header of a whole frame of a generation.
    pub fn parse(frame: &[u8], version: Version) -> Result<Self, ProtocolError> {
        let id_bytes = version.fragment_id_bytes();
        let short = ProtocolError::ShortFrame { length: frame.len(), header: HEADER_BYTES };
        let flags = *frame.get(2).ok_or(short)?;
        let extended = if flags & EXTENDED == 0 {
            0
        } else {
            let short = ProtocolError::ShortFrame { length: frame.len(), header: 4 };
            *frame.get(3).ok_or(short)?
        };
        let unexpected = || ProtocolError::UnexpectedFrame { flags, extended };
        let known = EXTENDED | DATA | COMPRESSED | SPLIT | PACKED;
        let is_data = flags & (DATA | COMPRESSED) != 0;
        let split_of_nothing = flags & SPLIT != 0 && flags & COMPRESSED == 0;
        if flags & !known != 0 || !is_data || split_of_nothing {
            return Err(unexpected());
        }
        if flags & EXTENDED == 0 {
            let body = if flags & PACKED == 0 { Body::Message } else { Body::Packed };
            return Ok(Self { flags, body, length: HEADER_BYTES });
        }
        if flags & PACKED != 0 {
            return Err(unexpected());
        }
        let (is_first, length) = match extended {
            FIRST_FRAGMENT => (true, 8 + id_bytes),
            NEXT_FRAGMENT => (false, 4 + id_bytes),
            _ => return Err(unexpected()),
        };
        let fields = frame
            .get(4..length)
            .ok_or(ProtocolError::ShortFrame { length: frame.len(), header: length })?;
        let id = fields[fields.len() - id_bytes..].iter().fold(0, |id, b| id << 8 | u16::from(*b));
        let body = match fields.first_chunk::<4>() {
            Some(total) if is_first => {
                Body::First { id, total: u32::from_be_bytes(*total) as usize }
            }
            _ => Body::Next { id },
        };
        Ok(Self { flags, body, length })
    }

    /// Whether the body, of a fragment its payload, is compressed.
    pub const fn is_compressed(&self) -> bool {
        self.flags & COMPRESSED != 0
    }

    /// Whether the compressed body goes on in the next compressed frame.
    pub const fn is_split(&self) -> bool {
        self.flags & SPLIT != 0
    }

    /// Whether a frame of `frame_length` bytes with this header is a ping.
    pub const fn is_ping(&self, frame_length: usize) -> bool {
        frame_length == HEADER_BYTES && matches!(self.body, Body::Message) && !self.is_compressed()
    }
}

/// The length of the frame at the front of `bytes`, which need not all be
/// there; `None` while its two length bytes are missing.
pub fn frame_length(bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
    let Some(prefix) = bytes.first_chunk::<2>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes(*prefix));
    if length < HEADER_BYTES {
        return Err(ProtocolError::ShortFrame { length, header: HEADER_BYTES });
    }
    Ok(Some(length))
}

/// Bytes before the payload of a first fragment.
pub(crate) const fn first_fragment_header_bytes(id_bytes: usize) -> usize {
    8 + id_bytes
}

/// Bytes before the payload of a later fragment.
pub(crate) const fn next_fragment_header_bytes(id_bytes: usize) -> usize {
    4 + id_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_data_frame_is_told_apart() {
        let parse =
            |frame: &[u8]| FrameHeader::parse(frame, Version::V14).map(|h| (h.body, h.length));
        assert_eq!(parse(&[0, 4, 2, 9]), Ok((Body::Message, 3)));
        assert_eq!(parse(&[0, 4, 4, 9]), Ok((Body::Message, 3)));
        assert_eq!(parse(&[0, 4, 0x14, 9]), Ok((Body::Packed, 3)));
        let first = [0, 10, 3, 8, 0, 0, 0x2c, 0xbd, 0, 3];
        assert_eq!(parse(&first), Ok((Body::First { id: 3, total: 11453 }, 10)));
        assert_eq!(parse(&[0, 6, 0x0d, 4, 1, 2]), Ok((Body::Next { id: 0x102 }, 6)));
        let old = FrameHeader::parse(&[0, 5, 3, 4, 0x23], Version::V12).unwrap();
        assert_eq!((old.body, old.length), (Body::Next { id: 0x23 }, 5));
    }

    #[test]
    fn other_frames_are_refused() {
        for frame in [
            &[0, 3, 0][..],
            &[0, 3, 0x10],
            &[0, 3, 0x22],
            &[0, 3, 0x0a],
            &[0, 4, 1, 1],
            &[0, 4, 3, 0],
            &[0, 4, 3, 0x0c],
            &[0, 6, 0x13, 4, 0, 0],
        ] {
            let result = FrameHeader::parse(frame, Version::V14);
            assert!(
                matches!(result, Err(ProtocolError::UnexpectedFrame { .. })),
                "{frame:?} {result:?}"
            );
        }
        for frame in [&[0, 2][..], &[0, 3, 3], &[0, 5, 3, 4, 0], &[0, 9, 3, 8, 0, 0, 0, 1, 0]] {
            let result = FrameHeader::parse(frame, Version::V14);
            assert!(matches!(result, Err(ProtocolError::ShortFrame { .. })), "{frame:?}");
        }
    }
}
