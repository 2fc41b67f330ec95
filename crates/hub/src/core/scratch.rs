//! The buffer that messages are written in.

use tapeline_rwf::{EncodeError, Encoder, Msg};

/// What a long message takes beyond this is given back with the next one.
const RETAINED_BYTES: usize = 1 << 20;

/// A buffer for messages that are written here.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Vec<u8>);

impl Scratch {
    /// Writes with `write`, a second time into a larger buffer if the first
    /// was too small. `None`: it cannot be written.
    pub(crate) fn write(
        &mut self,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
    ) -> Option<&[u8]> {
        if self.0.len() > RETAINED_BYTES {
            self.0.truncate(RETAINED_BYTES);
            self.0.shrink_to_fit();
        }
        for _ in 0..2 {
            let mut encoder = Encoder::new(&mut self.0);
            write(&mut encoder).ok()?;
            match encoder.finish() {
                Ok(len) => return Some(&self.0[..len]),
                Err(EncodeError::BufferTooSmall { missing }) => {
                    let needed = self.0.len() + missing;
                    let room =
                        if needed > RETAINED_BYTES { needed } else { needed.next_power_of_two() };
                    self.0.resize(room, 0);
                }
                Err(_) => return None,
            }
        }
        None
    }

    /// Writes a message.
    pub(crate) fn message(&mut self, msg: &Msg<'_>) -> Option<&[u8]> {
        self.write(|encoder| encoder.message(msg))
    }
}
