//! Stream and data state.

use std::borrow::Cow;

use crate::decode::Reader;
use crate::error::DecodeError;
use crate::{DataState, Encoded, StateCode, StreamState};

/// The state of a stream and of its data, with a code and a text.
///
/// ```text
///   7      3 2    0
/// ┌─────────┬──────┐┌─────────┐┌──────────────────┐
/// │ stream  │ data ││ u8 code ││ u15_rb len, text │
/// └─────────┴──────┘└─────────┘└──────────────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<'a> {
    /// Whether the stream goes on.
    pub stream: StreamState,
    /// Whether its data can be trusted.
    pub data: DataState,
    /// Why.
    pub code: StateCode,
    /// Why, in words; at most 32767 bytes, ASCII by custom.
    pub text: &'a [u8],
}

impl<'a> State<'a> {
    /// A state with a text.
    pub const fn new(stream: StreamState, data: DataState, code: StateCode, text: &'a str) -> Self {
        Self { stream, data, code, text: text.as_bytes() }
    }

    /// Open and current.
    pub const fn open_ok(text: &'a str) -> Self {
        Self::new(StreamState::OPEN, DataState::OK, StateCode::NONE, text)
    }

    /// The text, with U+FFFD where it is not UTF-8.
    pub fn text_lossy(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.text)
    }

    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>) -> Result<Option<Self>, DecodeError> {
        if data.bytes.is_empty() {
            return Ok(None);
        }
        Self::read(&mut data.reader()).map(Some)
    }

    #[inline]
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let bits = reader.u8("state")?;
        Ok(Self {
            stream: StreamState(bits >> 3),
            data: DataState(bits & 0x07),
            code: StateCode(reader.u8("state code")?),
            text: reader.buf15("state text")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataType;

    #[test]
    fn bits_code_and_text_are_read() {
        let data = Encoded::new(DataType::STATE, &[0x22, 0x01, 0x02, b'n', b'o']);
        let state = data.state().expect("well-formed").expect("not blank");
        assert_eq!(state.stream, StreamState::CLOSED);
        assert_eq!(state.data, DataState::SUSPECT);
        assert_eq!(state.code, StateCode::NOT_FOUND);
        assert_eq!(state.text_lossy(), "no");
    }

    #[test]
    fn a_text_past_the_end_is_an_error() {
        let error = Encoded::new(DataType::STATE, &[0x08, 0x00, 0x0A, b'A']).state().unwrap_err();
        assert_eq!(
            error.to_string(),
            "state text needs 10 bytes, 1 are left (byte 3, in the outermost data)"
        );
    }
}
