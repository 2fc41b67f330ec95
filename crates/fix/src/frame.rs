//! Messages out of a stream.

use crate::error::FixError;
use crate::message::Message;

/// What ends every field.
pub const SOH: u8 = 1;

/// The longest message that is read or written.
pub const MAX_MESSAGE: usize = 8192;

/// The length of the first whole message at the start of `bytes`; `None` if more of
/// it is to come.
pub fn frame_len(bytes: &[u8]) -> Result<Option<usize>, FixError> {
    let _ = bytes;
    todo!()
}

/// Cuts a stream of bytes, as it comes, into messages.
///
/// What is damaged (a wrong checksum, no type where it must be) is passed over and
/// counted. Of a stream half a message is kept, no more.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    part: Vec<u8>,
    garbled: u64,
}

impl Frames {
    /// Takes bytes; `each` gets every whole message, and says whether to go on. What
    /// is behind a message with which it stopped is dropped.
    pub fn read(
        &mut self,
        bytes: &[u8],
        each: impl FnMut(&Message<'_>) -> bool,
    ) -> Result<(), FixError> {
        let _ = (bytes, each, &mut self.part);
        todo!()
    }

    /// How many messages were passed over because they were damaged.
    pub const fn garbled(&self) -> u64 {
        self.garbled
    }
}
