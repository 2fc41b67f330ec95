//! The header of a data frame.
//!
//! ```text
//!  0      2       3          3                        body
//! +------+-------+----------+------------------------+--------
//! | u16  | u8    | u8 ext   | first: u32 total, id   |
//! | len  | flags | if 0x01  | next:  id              |
//! +------+-------+----------+------------------------+--------
//!  0x01 EXTENDED   0x02 DATA   0x04 COMPRESSED   0x08 COMP_FRAGMENT   0x10 PACKED
//!  ext: 0x04 next fragment, 0x08 first fragment; id: u16, up to RIPC 12 u8
//! ```

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
pub(crate) enum Body {
    /// One message.
    Message,
    /// Length-prefixed messages.
    Packed,
    /// The start of a message of `total` bytes.
    First { id: u16, total: usize },
    /// A later part of a message.
    Next { id: u16 },
}

/// A data frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) flags: u8,
    pub(crate) body: Body,
    /// Bytes before the body.
    pub(crate) length: usize,
}

impl FrameHeader {
    /// Reads the header of a whole frame of at least three bytes.
    pub(crate) fn parse(frame: &[u8], id_bytes: usize) -> Result<Self, ProtocolError> {
        let flags = frame[2];
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

    pub(crate) const fn is_compressed(&self) -> bool {
        self.flags & COMPRESSED != 0
    }

    pub(crate) const fn is_split(&self) -> bool {
        self.flags & SPLIT != 0
    }
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
        let parse = |frame: &[u8]| FrameHeader::parse(frame, 2).map(|h| (h.body, h.length));
        assert_eq!(parse(&[0, 4, 2, 9]), Ok((Body::Message, 3)));
        assert_eq!(parse(&[0, 4, 4, 9]), Ok((Body::Message, 3)));
        assert_eq!(parse(&[0, 4, 0x14, 9]), Ok((Body::Packed, 3)));
        let first = [0, 10, 3, 8, 0, 0, 0x2c, 0xbd, 0, 3];
        assert_eq!(parse(&first), Ok((Body::First { id: 3, total: 11453 }, 10)));
        assert_eq!(parse(&[0, 6, 0x0d, 4, 1, 2]), Ok((Body::Next { id: 0x102 }, 6)));
        let old = FrameHeader::parse(&[0, 5, 3, 4, 0x23], 1).unwrap();
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
            let result = FrameHeader::parse(frame, 2);
            assert!(
                matches!(result, Err(ProtocolError::UnexpectedFrame { .. })),
                "{frame:?} {result:?}"
            );
        }
        for frame in [&[0, 3, 3][..], &[0, 5, 3, 4, 0], &[0, 9, 3, 8, 0, 0, 0, 1, 0]] {
            let result = FrameHeader::parse(frame, 2);
            assert!(matches!(result, Err(ProtocolError::ShortFrame { .. })), "{frame:?}");
        }
    }
}
