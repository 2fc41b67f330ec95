//! Field lists.

use crate::decode::{FieldSetDefEntries, ListFlags};
use crate::encode::list::{List, SetHead};
use crate::encode::slot::Close;
use crate::encode::{Encoder, Slot};
use crate::error::EncodeError;
use crate::{DataType, FieldListInfo, FieldSetDef, Primitive};

/// What a field list begins with.
#[derive(Clone, Copy, Debug)]
pub struct FieldListHead<'a> {
    /// Dictionary and record template.
    pub info: Option<FieldListInfo>,
    /// Set-defined data, if there is to be any.
    pub set: Option<SetHead<FieldSetDef<'a>>>,
    /// Whether standard data follows: entries with field ids of their own.
    pub standard: bool,
}

impl FieldListHead<'_> {
    /// Standard data without an info.
    pub const STANDARD: Self = Self { info: None, set: None, standard: true };

    /// Standard data of a dictionary and a record template.
    pub const fn with_info(info: FieldListInfo) -> Self {
        Self { info: Some(info), set: None, standard: true }
    }
}

impl<'a> FieldListHead<'a> {
    /// Only data of set 0.
    pub const fn set_defined(def: FieldSetDef<'a>) -> Self {
        let set = Some(SetHead { id: None, def: Some(def) });
        Self { info: None, set, standard: false }
    }
}

/// Writes the entries of a field list: first the set-defined ones in the order
/// of their definition, then standard ones in any order.
///
/// Layout: see [`FieldList`](crate::FieldList).
#[derive(Debug)]
#[must_use = "a list wants to be finished"]
pub struct FieldListWriter<'e, 'b> {
    list: List<'e, 'b, FieldSetDefEntries<'e>>,
}

impl<'e, 'b> FieldListWriter<'e, 'b> {
    #[inline]
    pub(crate) fn begin(
        encoder: &'e mut Encoder<'b>,
        head: &FieldListHead<'e>,
        close: Close,
    ) -> Result<Self, EncodeError> {
        let flags_at = encoder.position();
        encoder.u8(0);
        let mut flags = ListFlags::empty();
        if let Some(info) = head.info {
            flags |= ListFlags::HAS_INFO;
            let at = encoder.reserve_len();
            encoder.u15_rb(info.dictionary_id, "dictionary id")?;
            encoder.u16(info.list_number);
            encoder.close_u8(at, "field list info")?;
        }
        let set = head.set.map(|set| (set.id, set.def.map(|def| def.entries())));
        let list = List::begin(encoder, close, (flags_at, flags), set, head.standard)?;
        Ok(Self { list })
    }

    /// Writes one field. While set-defined values are missing it must be the
    /// next one of the definition, by id and type.
    #[inline]
    pub fn put<'v>(
        &mut self,
        field_id: i16,
        value: impl Into<Primitive<'v>>,
    ) -> Result<(), EncodeError> {
        let value = value.into();
        if self.list.in_set()? {
            let data_type = self.next_of_set(field_id)?;
            return self.list.put_set(data_type, &value);
        }
        self.list.standard(|encoder| {
            encoder.u16(field_id as u16);
            encoder.primitive16(&value)
        })
    }

    /// Writes a blank field.
    pub fn blank(&mut self, field_id: i16) -> Result<(), EncodeError> {
        if self.list.in_set()? {
            let data_type = self.next_of_set(field_id)?;
            return self.list.put_set(data_type, &Primitive::Blank(data_type));
        }
        self.bytes(field_id, &[])
    }

    /// Writes a standard field whose value is encoded already.
    pub fn bytes(&mut self, field_id: i16, value: &[u8]) -> Result<(), EncodeError> {
        if self.list.in_set()? {
            return Err(EncodeError::Order { what: "standard data before set data" });
        }
        self.list.standard(|encoder| {
            encoder.u16(field_id as u16);
            encoder.buf16(value, "field value")
        })
    }

    /// Begins a field that holds a container or an array.
    pub fn slot(
        &mut self,
        field_id: i16,
        data_type: DataType,
    ) -> Result<Slot<'_, 'b>, EncodeError> {
        if self.list.in_set()? {
            let expected = self.next_of_set(field_id)?;
            return self.list.set_slot(expected, data_type);
        }
        self.list.standard(|encoder| {
            encoder.u16(field_id as u16);
            Ok(())
        })?;
        Ok(self.list.slot(data_type))
    }

    /// Writes the whole set data as bytes that are encoded already.
    pub fn set_data(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.list.set_data(bytes)
    }

    fn next_of_set(&mut self, field_id: i16) -> Result<DataType, EncodeError> {
        match self.list.next_def() {
            Some((expected, data_type)) if expected == field_id => Ok(data_type),
            _ => Err(EncodeError::Order { what: "a field out of the order of its set" }),
        }
    }

    /// Fills in the count.
    ///
    /// Errors: set-defined values are missing, or a container inside was
    /// dropped unfinished.
    #[inline]
    pub fn finish(self) -> Result<(), EncodeError> {
        self.list.finish()
    }
}
