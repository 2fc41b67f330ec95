//! What every message has in front.

use crate::message::{Field, Message};
use crate::value::unsigned;

/// The highest number that a message may have: far above what a day sees, and far
/// below what a u32 holds.
pub(crate) const MAX_NUMBER: u32 = 999_999_999;

/// What a session asks of the header of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Header<'m> {
    /// 49.
    pub(crate) sender: &'m [u8],
    /// 56.
    pub(crate) target: &'m [u8],
    /// 34; `None` where it is not there, or no number.
    pub(crate) number: Option<u32>,
    /// 43.
    pub(crate) is_dup: bool,
    /// 52.
    pub(crate) has_sending_time: bool,
    /// 122.
    pub(crate) has_orig_sending_time: bool,
}

impl<'m> Header<'m> {
    /// Of a message whose other fields are nobody's concern.
    pub(crate) fn of(message: &Message<'m>) -> Self {
        let mut header = Self::default();
        for field in message.fields() {
            header.note(&field);
        }
        header
    }

    #[inline]
    pub(crate) fn note(&mut self, field: &Field<'m>) {
        match field.tag {
            49 => self.sender = field.value,
            56 => self.target = field.value,
            34 => self.number = sequence_number(field.value),
            43 => self.is_dup = field.value == b"Y",
            52 => self.has_sending_time = !field.value.is_empty(),
            122 => self.has_orig_sending_time = !field.value.is_empty(),
            _ => {}
        }
    }
}

/// A number of a message, from 1 to [`MAX_NUMBER`].
pub(crate) fn sequence_number(value: &[u8]) -> Option<u32> {
    let number = u32::try_from(unsigned(value)?).ok()?;
    (1..=MAX_NUMBER).contains(&number).then_some(number)
}
