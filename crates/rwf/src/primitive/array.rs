//! Arrays of one primitive type.

use core::fmt;

use crate::decode::Reader;
use crate::error::{DecodeError, Path};
use crate::{DataType, Encoded};

/// Items of one primitive type. Arrays hold no arrays and no containers.
///
/// ```text
/// ┌──────────────┬────────────────────┬───────────┐┌───────┐
/// │ u8 item type │ u16_ob item length │ u16 count ││ items │ …
/// └──────────────┴────────────────────┴───────────┘└───────┘
/// ```
///
/// With an item length of 0 each item has its own `u16_ob` length; otherwise
/// all items have that many bytes, strings being padded with zero bytes.
#[derive(Clone, Copy)]
pub struct Array<'a> {
    encoded: Encoded<'a>,
    /// Where the first item is, in `encoded`.
    items_at: u8,
    item_type: DataType,
    item_len: u16,
    count: u16,
}

impl<'a> Array<'a> {
    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>) -> Result<Option<Self>, DecodeError> {
        if data.bytes.is_empty() {
            return Ok(None);
        }
        Self::read(data.bytes, data.offset, data.path).map(Some)
    }

    #[inline(never)]
    fn read(bytes: &'a [u8], offset: u32, path: Path) -> Result<Self, DecodeError> {
        let encoded = Encoded::inside(bytes, DataType::ARRAY, offset, path);
        let mut reader = encoded.reader();
        let item_type = DataType(reader.u8("array item type")?);
        let item_len = reader.u16_ob("array item length")?;
        let count = reader.u16("array count")?;
        let items_at = (bytes.len() - reader.len()) as u8;
        Ok(Self { encoded, items_at, item_type, item_len, count })
    }

    /// The type of all items.
    pub const fn item_type(&self) -> DataType {
        self.item_type
    }

    /// The length of each item in bytes; 0 when each has its own.
    pub const fn item_len(&self) -> u16 {
        self.item_len
    }

    /// How many items the array says it has.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The whole array as it is in the input.
    pub const fn encoded(&self) -> Encoded<'a> {
        self.encoded
    }

    /// The items in order, each with the array's item type. After an error
    /// there are no more.
    pub fn iter(&self) -> ArrayItems<'a> {
        let mut reader = self.encoded.reader();
        // Never past the end: the head was read when the view was made.
        let _ = reader.bytes(self.items_at.into(), "array");
        ArrayItems { reader, left: self.count, item_type: self.item_type, item_len: self.item_len }
    }
}

impl PartialEq for Array<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.encoded == other.encoded
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("item_type", &self.item_type)
            .field("item_len", &self.item_len)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl<'a> IntoIterator for &Array<'a> {
    type Item = Result<Encoded<'a>, DecodeError>;
    type IntoIter = ArrayItems<'a>;

    fn into_iter(self) -> ArrayItems<'a> {
        self.iter()
    }
}

/// Iterator over the items of an [`Array`].
#[derive(Clone, Debug)]
pub struct ArrayItems<'a> {
    reader: Reader<'a>,
    left: u16,
    item_type: DataType,
    item_len: u16,
}

impl<'a> Iterator for ArrayItems<'a> {
    type Item = Result<Encoded<'a>, DecodeError>;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: an item is little more than the call")]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let item = match self.item_len {
            0 => self.reader.data16(self.item_type, "array item"),
            len => self.reader.data(len as usize, self.item_type, "array item"),
        };
        if item.is_err() {
            self.left = 0;
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(bytes: &[u8]) -> Array<'_> {
        Encoded::new(DataType::ARRAY, bytes).array().expect("well-formed").expect("not blank")
    }

    #[test]
    fn items_of_one_length_have_none_of_their_own() {
        let array = array(&[4, 2, 0, 3, 0, 1, 0, 2, 0, 3]);
        let items: Result<Vec<_>, _> = array.iter().map(|item| item?.uint()).collect();
        assert_eq!(items, Ok(vec![Some(1), Some(2), Some(3)]));
    }

    #[test]
    fn items_with_their_own_length_may_be_blank() {
        let array = array(&[17, 0, 0, 2, 2, b'O', b'K', 0]);
        let items: Vec<_> = array.iter().map(|item| item.map(|i| i.bytes().len())).collect();
        assert_eq!(items, [Ok(2), Ok(0)]);
    }

    #[test]
    fn an_array_that_promises_more_ends_with_one_error() {
        let array = array(&[4, 2, 0, 3, 0, 1]);
        let items: Vec<_> = array.iter().collect();
        assert_eq!(items.len(), 2);
        assert!(items[1].is_err());
    }
}
