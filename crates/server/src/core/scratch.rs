//! The buffer that messages are built in.

use tapeline_omm::view::ProjectError;
use tapeline_rwf::{EncodeError, Encoder, Msg};

/// A buffer that grows to the message that is built in it.
#[derive(Debug)]
pub(super) struct Scratch {
    buffer: Vec<u8>,
    max_bytes: usize,
}

impl Scratch {
    const INITIAL_BYTES: usize = 16 << 10;
    /// What a long message takes beyond this is given back with the next one.
    const RETAINED_BYTES: usize = 1 << 20;

    pub(super) fn new(max_bytes: usize) -> Self {
        Self { buffer: vec![0; Self::INITIAL_BYTES.min(max_bytes)], max_bytes }
    }

    /// Builds a message with an encoder. `None` when it cannot be written, or
    /// is larger than the limit.
    pub(super) fn build(
        &mut self,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
    ) -> Option<&[u8]> {
        let len = self.fill(|buffer| {
            let mut encoder = Encoder::new(buffer);
            write(&mut encoder)?;
            encoder.finish()
        })?;
        self.buffer.get(..len)
    }

    /// Writes a whole message.
    pub(super) fn message(&mut self, msg: &Msg<'_>) -> Option<&[u8]> {
        self.build(|encoder| encoder.message(msg))
    }

    /// Writes a message in a form. `None` also when there is nothing to send.
    pub(super) fn project(
        &mut self,
        write: impl Fn(&mut [u8]) -> Result<Option<usize>, ProjectError>,
    ) -> Option<&[u8]> {
        let len = self.fill(|buffer| match write(buffer) {
            Ok(len) => Ok(len.unwrap_or_default()),
            Err(ProjectError::Encode(error)) => Err(error),
            Err(ProjectError::Decode(_)) => Ok(0),
        })?;
        self.buffer.get(..len).filter(|bytes| !bytes.is_empty())
    }

    /// Fills the buffer with what `write` writes, again after growing if there
    /// was too little room.
    fn fill(&mut self, write: impl Fn(&mut [u8]) -> Result<usize, EncodeError>) -> Option<usize> {
        if self.buffer.len() > Self::RETAINED_BYTES {
            self.buffer.truncate(Self::RETAINED_BYTES);
            self.buffer.shrink_to_fit();
        }
        loop {
            match write(&mut self.buffer) {
                Ok(len) => return Some(len),
                Err(EncodeError::BufferTooSmall { missing }) => {
                    let needed = self.buffer.len().saturating_add(missing);
                    if needed > self.max_bytes {
                        return None;
                    }
                    let is_long = needed > Self::RETAINED_BYTES;
                    let room = if is_long { needed } else { needed.next_power_of_two() };
                    self.buffer.resize(room.min(self.max_bytes), 0);
                }
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{DataType, Domain, Encoded, UpdateMsg};

    #[test]
    fn it_grows_to_what_is_needed_and_no_further_than_its_limit() {
        let payload = vec![7; 100_000];
        let update = UpdateMsg {
            payload: Encoded::new(DataType::OPAQUE, &payload),
            ..UpdateMsg::new(Domain::MARKET_PRICE, 1)
        };
        let mut scratch = Scratch::new(8 << 20);
        let len = scratch.message(&update.into()).map(<[u8]>::len);
        assert!(len.is_some_and(|len| len > 100_000));
        let long = vec![7; 5_000_000];
        let long = UpdateMsg { payload: Encoded::new(DataType::OPAQUE, &long), ..update };
        assert!(scratch.message(&long.into()).is_some_and(|bytes| bytes.len() > 5_000_000));
        assert!(scratch.message(&update.into()).is_some());
        assert!(scratch.buffer.capacity() <= Scratch::RETAINED_BYTES);
        assert_eq!(Scratch::new(50_000).message(&update.into()), None);
    }
}
