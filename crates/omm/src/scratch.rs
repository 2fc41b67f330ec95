//! The buffer that messages are encoded in before they are sent.

use tapeline_rwf::{EncodeError, Encoder, Msg};

use crate::view::ProjectError;

/// A buffer for one message at a time. It grows to what is written in it, up
/// to a limit.
///
/// ```
/// use tapeline_omm::Scratch;
/// use tapeline_rwf::{Domain, UpdateMsg};
///
/// let mut scratch = Scratch::new(64 << 10);
/// let bytes = scratch.message(&UpdateMsg::new(Domain::MARKET_PRICE, 5).into())?;
/// assert_eq!(bytes.len(), 11);
/// # Ok::<(), tapeline_rwf::EncodeError>(())
/// ```
#[derive(Debug)]
pub struct Scratch {
    buffer: Vec<u8>,
    max_bytes: usize,
}

impl Scratch {
    /// What a long message takes beyond this is given back with the next one.
    pub const RETAINED_BYTES: usize = 1 << 20;

    /// A buffer for messages of at most `max_bytes`. It takes no memory before
    /// the first one.
    pub const fn new(max_bytes: usize) -> Self {
        Self { buffer: Vec::new(), max_bytes }
    }

    /// The buffer, to be put back: what is left behind has the same limit and
    /// no memory.
    #[must_use = "the memory is to be put back"]
    pub const fn take(&mut self) -> Self {
        core::mem::replace(self, Self::new(self.max_bytes))
    }

    /// Writes what `write` writes, which is called again when the buffer had
    /// to grow.
    ///
    /// Errors: those of `write`; [`EncodeError::BufferTooSmall`] when the
    /// message is longer than the limit.
    #[inline]
    pub fn encode(
        &mut self,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
    ) -> Result<&[u8], EncodeError> {
        let len = encode_into(&mut self.buffer, self.max_bytes, write)?;
        Ok(&self.buffer[..len])
    }

    /// Writes a whole message.
    ///
    /// Errors: as of [`encode`](Self::encode).
    pub fn message(&mut self, msg: &Msg<'_>) -> Result<&[u8], EncodeError> {
        self.encode(|encoder| encoder.message(msg))
    }

    /// Writes what is left of a message in a view. `write` is as
    /// [`View::project_msg`](crate::view::View::project_msg); there is `None`
    /// when nothing is left.
    ///
    /// Errors: those of `write`; [`EncodeError::BufferTooSmall`] in one when
    /// the message is longer than the limit.
    #[inline]
    pub fn project(
        &mut self,
        write: impl Fn(&mut [u8]) -> Result<Option<usize>, ProjectError>,
    ) -> Result<Option<&[u8]>, ProjectError> {
        let len = fill(&mut self.buffer, self.max_bytes, write, |error| match error {
            ProjectError::Encode(error) => missing(error),
            ProjectError::Decode(_) => None,
        })?;
        Ok(len.map(|len| &self.buffer[..len]))
    }
}

/// Writes to the front of `buffer` as [`Scratch::encode`] does, for those who
/// keep the bytes. Returns how many they are.
///
/// Errors: as of [`Scratch::encode`].
#[inline]
pub fn encode_into(
    buffer: &mut Vec<u8>,
    max_bytes: usize,
    write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
) -> Result<usize, EncodeError> {
    let encode = |buffer: &mut [u8]| {
        let mut encoder = Encoder::new(buffer);
        write(&mut encoder)?;
        encoder.finish()
    };
    fill(buffer, max_bytes, encode, missing)
}

/// Has `write` fill a buffer, again after growing if there was too little room.
#[inline]
fn fill<T, E>(
    buffer: &mut Vec<u8>,
    max_bytes: usize,
    write: impl Fn(&mut [u8]) -> Result<T, E>,
    missing: impl Fn(&E) -> Option<usize>,
) -> Result<T, E> {
    if buffer.len() > Scratch::RETAINED_BYTES {
        buffer.truncate(Scratch::RETAINED_BYTES);
        buffer.shrink_to_fit();
    }
    loop {
        match write(buffer) {
            Err(error) => match missing(&error) {
                Some(missing) if grow(buffer, missing, max_bytes) => {}
                _ => return Err(error),
            },
            done => return done,
        }
    }
}

/// How many bytes are missing, where this is the error.
const fn missing(error: &EncodeError) -> Option<usize> {
    match error {
        EncodeError::BufferTooSmall { missing } => Some(*missing),
        _ => None,
    }
}

/// Makes room for what is missing, where the limit allows it. A long message
/// gets just what it needs, and others a power of two, as more are to come.
#[cold]
fn grow(buffer: &mut Vec<u8>, missing: usize, max_bytes: usize) -> bool {
    const LEAST_BYTES: usize = 1 << 10;

    debug_assert!(missing > 0, "or it would be tried for ever");
    let needed = buffer.len().saturating_add(missing);
    if needed > max_bytes {
        return false;
    }
    let is_long = needed > Scratch::RETAINED_BYTES;
    let room = if is_long { needed } else { needed.next_power_of_two().max(LEAST_BYTES) };
    buffer.resize(room.min(max_bytes), 0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;
    use tapeline_rwf::{
        CloseMsg, DataType, Domain, Encoded, FieldListHead, MsgKey, RefreshMsg, UpdateMsg,
    };

    /// What an update has in front of its payload.
    const HEAD_BYTES: usize = 11;

    fn write(scratch: &mut Scratch, payload_bytes: usize) -> Result<usize, EncodeError> {
        let payload = vec![7; payload_bytes];
        let payload = Encoded::new(DataType::OPAQUE, &payload);
        let update = UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_PRICE, 5) };
        scratch.message(&update.into()).map(<[u8]>::len)
    }

    #[test]
    fn it_grows_to_the_message_and_no_further_than_its_limit() {
        const MAX_BYTES: usize = 3_000_000;
        let mut scratch = Scratch::new(MAX_BYTES);
        assert_eq!(scratch.buffer.capacity(), 0);
        for payload_bytes in [5, 70_000, MAX_BYTES - HEAD_BYTES, 5] {
            assert_eq!(write(&mut scratch, payload_bytes), Ok(HEAD_BYTES + payload_bytes));
            assert!(scratch.buffer.len() <= MAX_BYTES);
        }
        let refused = write(&mut scratch, MAX_BYTES - HEAD_BYTES + 1);
        assert!(matches!(refused, Err(EncodeError::BufferTooSmall { .. })), "{refused:?}");
        assert!(scratch.buffer.len() <= Scratch::RETAINED_BYTES, "nothing grew for it");
        assert_eq!(write(&mut scratch, 5), Ok(HEAD_BYTES + 5));
    }

    #[test]
    fn a_limit_that_is_no_power_of_two_is_the_limit() {
        let mut scratch = Scratch::new(1_500);
        assert_eq!(write(&mut scratch, 1_500 - HEAD_BYTES), Ok(1_500));
        assert_eq!(scratch.buffer.len(), 1_500);
    }

    #[test]
    fn what_a_long_message_took_is_given_back_with_the_next_one() {
        let mut scratch = Scratch::new(8 << 20);
        assert_eq!(write(&mut scratch, 5_000_000), Ok(HEAD_BYTES + 5_000_000));
        assert!(scratch.buffer.capacity() >= 5_000_000);
        assert_eq!(write(&mut scratch, 5), Ok(HEAD_BYTES + 5));
        assert!(scratch.buffer.capacity() <= Scratch::RETAINED_BYTES);
    }

    #[test]
    fn an_error_that_is_not_lack_of_room_is_the_callers() {
        let mut scratch = Scratch::new(1 << 20);
        let name = "x".repeat(300);
        let close = CloseMsg::new(Domain::MARKET_PRICE, 5);
        let refresh = RefreshMsg {
            key: Some(MsgKey::item(1, &name)),
            ..RefreshMsg::new(Domain::MARKET_PRICE, 5)
        };
        let refused = scratch.message(&refresh.into());
        assert!(matches!(refused, Err(EncodeError::TooLong { .. })), "{refused:?}");
        assert!(scratch.message(&close.into()).is_ok(), "it can be used again");
    }

    #[test]
    fn what_is_taken_leaves_one_behind_that_has_the_same_limit() {
        let mut scratch = Scratch::new(2_000);
        assert!(write(&mut scratch, 1_000).is_ok());
        let taken = scratch.take();
        assert!(taken.buffer.len() > 1_000);
        assert_eq!(scratch.buffer.capacity(), 0);
        assert!(write(&mut scratch, 1_000).is_ok());
        assert!(write(&mut scratch, 2_000).is_err());
    }

    #[test]
    fn a_view_is_written_as_a_message_is_and_may_leave_nothing() {
        let mut source = Scratch::new(1 << 20);
        let update = UpdateMsg::new(Domain::MARKET_PRICE, 5);
        let bytes = source.encode(|encoder| {
            let slot = encoder.begin(&update.into(), DataType::FIELD_LIST)?;
            let mut fields = slot.field_list(&FieldListHead::STANDARD)?;
            fields.put(22, 5_u64)?;
            fields.finish()
        });
        let msg = Msg::decode(bytes.expect("it can be written")).expect("it was written");
        let project = |max_bytes, field_id| {
            let view = View::of_fields([field_id]);
            let mut scratch = Scratch::new(max_bytes);
            let left = scratch.project(|buffer| view.project_msg(&msg, buffer));
            left.map(|left| left.map(<[u8]>::len))
        };
        assert!(matches!(project(1 << 10, 22), Ok(Some(len)) if len > HEAD_BYTES));
        assert_eq!(project(1 << 10, 25), Ok(None));
        assert!(matches!(
            project(HEAD_BYTES, 22),
            Err(ProjectError::Encode(EncodeError::BufferTooSmall { .. }))
        ));
    }
}
