//! Arrays.

use crate::encode::Encoder;
use crate::encode::slot::Close;
use crate::error::EncodeError;
use crate::{DataType, Primitive};

/// Writes the items of an array.
///
/// With an item length every item takes exactly that many bytes: integers are
/// extended, strings padded with zero bytes or cut. Which lengths the vendor's
/// encoder allows: `INT`, `UINT` 1, 2, 4, 8; `ENUM` 1, 2; `FLOAT` 4; `DOUBLE`
/// 8; `DATE` 4; `TIME` 3, 5; `DATETIME` 7, 9; strings and `BUFFER` any; `REAL`,
/// `QOS` and `STATE` only 0.
///
/// Layout: see [`Array`](crate::Array).
#[derive(Debug)]
#[must_use = "an array wants to be finished"]
pub struct ArrayWriter<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    close: Close,
    level: u32,
    item_type: DataType,
    item_len: u16,
    count_at: usize,
    count: u32,
}

impl<'e, 'b> ArrayWriter<'e, 'b> {
    pub(crate) fn begin(
        encoder: &'e mut Encoder<'b>,
        item_type: DataType,
        item_len: u16,
        close: Close,
    ) -> Result<Self, EncodeError> {
        if !item_type.is_primitive() || item_type == DataType::ARRAY {
            return Err(EncodeError::OutOfRange { what: "the item type of an array" });
        }
        if !allows_item_len(item_type, item_len) {
            return Err(EncodeError::OutOfRange { what: "the item length of an array" });
        }
        encoder.u8(item_type.0);
        encoder.u16_ob(item_len);
        let count_at = encoder.position();
        encoder.u16(0);
        let level = encoder.open();
        Ok(Self { encoder, close, level, item_type, item_len, count_at, count: 0 })
    }

    /// Writes one item, of the item type of the array.
    #[inline]
    pub fn put<'v>(&mut self, value: impl Into<Primitive<'v>>) -> Result<(), EncodeError> {
        let value = value.into();
        self.encoder.check(self.level)?;
        if value.data_type() != self.item_type {
            let found = value.data_type();
            return Err(EncodeError::WrongType { expected: self.item_type, found });
        }
        if self.count >= 0xFFFF {
            return Err(EncodeError::TooMany { what: "an array", max: 0xFFFF });
        }
        let item_len = self.item_len;
        self.encoder.attempt(|encoder| match item_len {
            0 => encoder.primitive16(&value),
            len => encoder.fixed(&value, len.into()),
        })?;
        self.count += 1;
        Ok(())
    }

    /// Fills in the count.
    pub fn finish(self) -> Result<(), EncodeError> {
        self.encoder.check(self.level)?;
        self.encoder.patch_u16(self.count_at, self.count as u16);
        self.encoder.close();
        self.close.apply(self.encoder)
    }
}

/// Which lengths items of a type may have; 0 is a length of each item's own.
const fn allows_item_len(item_type: DataType, item_len: u16) -> bool {
    match item_type {
        _ if item_len == 0 => true,
        DataType::INT | DataType::UINT => matches!(item_len, 1 | 2 | 4 | 8),
        DataType::ENUM => matches!(item_len, 1 | 2),
        DataType::FLOAT | DataType::DATE => item_len == 4,
        DataType::DOUBLE => item_len == 8,
        DataType::TIME => matches!(item_len, 3 | 5),
        DataType::DATETIME => matches!(item_len, 7 | 9),
        DataType::BUFFER
        | DataType::ASCII_STRING
        | DataType::UTF8_STRING
        | DataType::RMTES_STRING => true,
        _ => false,
    }
}
