//! The buffer that messages are encoded in before they are sent.

use tapeline_rwf::{EncodeError, Encoder};

/// The longest message that is encoded, in bytes.
pub const MAX_MESSAGE_BYTES: usize = (64 << 20) + (128 << 10);

/// What a long message takes beyond this is given back with the next one.
const RETAINED_BYTES: usize = 16 << 20;

/// A buffer that grows to the largest message, and keeps what is usual.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Vec<u8>);

impl Scratch {
    /// Writes a message. `write` is called a second time when the first one
    /// showed that the buffer is too small.
    #[inline]
    pub(crate) fn encode(
        &mut self,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
    ) -> Result<&mut [u8], EncodeError> {
        let len = encode_into(&mut self.0, write)?;
        Ok(&mut self.0[..len])
    }
}

/// Writes a message to the front of `buffer`, which is made larger if it has
/// to be, up to [`MAX_MESSAGE_BYTES`]; returns the length of the message.
#[inline]
pub(crate) fn encode_into(
    buffer: &mut Vec<u8>,
    write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
) -> Result<usize, EncodeError> {
    if buffer.len() > RETAINED_BYTES {
        buffer.truncate(RETAINED_BYTES);
        buffer.shrink_to_fit();
    }
    loop {
        let mut encoder = Encoder::new(buffer);
        write(&mut encoder)?;
        match encoder.finish() {
            Err(EncodeError::BufferTooSmall { missing })
                if buffer.len() + missing <= MAX_MESSAGE_BYTES =>
            {
                let len = buffer.len() + missing;
                let is_long = len > RETAINED_BYTES;
                buffer.resize(if is_long { len } else { len.next_power_of_two().max(1024) }, 0);
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{DataType, Domain, Encoded, UpdateMsg};

    fn encode(scratch: &mut Scratch, payload_len: usize) -> Result<usize, EncodeError> {
        let payload = vec![7; payload_len];
        let payload = Encoded::new(DataType::OPAQUE, &payload);
        let msg = UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_PRICE, 5) };
        scratch.encode(|encoder| encoder.message(&msg.into())).map(|bytes| bytes.len())
    }

    #[test]
    fn the_buffer_grows_to_the_message_up_to_a_limit() {
        let mut scratch = Scratch::default();
        assert_eq!(encode(&mut scratch, 5), Ok(11 + 5));
        assert_eq!(encode(&mut scratch, 70_000), Ok(11 + 70_000));
        assert_eq!(encode(&mut scratch, MAX_MESSAGE_BYTES - 11), Ok(MAX_MESSAGE_BYTES));
        assert!(encode(&mut scratch, MAX_MESSAGE_BYTES - 10).is_err());
        assert_eq!(encode(&mut scratch, 5), Ok(11 + 5));
    }
}
