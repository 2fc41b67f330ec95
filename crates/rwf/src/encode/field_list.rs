//! Field lists.

use crate::decode::FieldSetDefEntries;
use crate::encode::list::{List, SetHead, list_flags};
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
        if head.info.is_some_and(|info| info.dictionary_id > 0x7FFF) {
            return Err(EncodeError::OutOfRange { what: "dictionary id" });
        }
        encoder.u8(list_flags(head.info.is_some(), head.set.as_ref(), head.standard).bits());
        if let Some(info) = head.info {
            let at = encoder.reserve_len();
            encoder.u15_rb(info.dictionary_id, "dictionary id")?;
            encoder.u16(info.list_number);
            encoder.close_u8(at, "field list info")?;
        }
        let set = head.set.map(|set| (set.id, set.def.map(|def| def.entries())));
        let list = List::begin(encoder, close, set, head.standard)?;
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
        self.put_value(field_id, &value.into())
    }

    /// By reference: the conversion of a primitive into itself is a copy.
    #[inline]
    fn put_value(&mut self, field_id: i16, value: &Primitive<'_>) -> Result<(), EncodeError> {
        if self.list.in_set()? {
            let data_type = self.next_of_set(field_id)?;
            return self.list.put_set(data_type, value);
        }
        self.list.standard(|encoder| encoder.field(field_id, value))
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

    #[inline]
    fn next_of_set(&self, field_id: i16) -> Result<DataType, EncodeError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoded, LocalSetDefsBuf, Real, SetDefs};

    #[test]
    fn what_fails_is_left_out_and_the_rest_goes_on() {
        let rows = LocalSetDefsBuf::fields(&[(0, &[(1, DataType::UINT_1), (22, DataType::REAL)])]);
        let rows = rows.expect("valid definitions");
        let defs = rows.defs();
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        let slot = encoder.container(DataType::FIELD_LIST);
        let set = Some(SetHead { id: None, def: defs.field_set(0) });
        let head = FieldListHead { info: None, set, standard: true };
        let mut list = slot.field_list(&head).expect("a list begins");
        list.put(1, 256_u64).expect_err("does not fit a byte");
        list.put(22, Real::decimal(1, 0)).expect_err("not the next of the set");
        list.put(1, 255_u64).expect("fits a byte");
        list.put(22, 5_u64).expect_err("of the wrong type");
        list.blank(22).expect("any type may be blank");
        list.put(3, Primitive::Rmtes(&vec![b'x'; 65536])).expect_err("too long");
        list.put(3, Primitive::rmtes("x")).expect("short enough");
        list.finish().expect("complete");
        let bytes = encoder.finish_bytes().expect("room");
        let data = Encoded::new(DataType::FIELD_LIST, bytes);
        let list = data.field_list_with(&SetDefs::local(defs)).expect("well-formed");
        let read: Vec<_> = list.iter().flatten().map(|e| (e.field_id, e.value.bytes())).collect();
        assert_eq!(read, [(1, &[255][..]), (22, &[]), (3, b"x")]);
    }

    #[test]
    fn a_list_with_set_data_missing_cannot_be_finished() {
        let rows = LocalSetDefsBuf::fields(&[(0, &[(1, DataType::UINT)])]).expect("valid");
        let defs = rows.defs();
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        let head = FieldListHead::set_defined(defs.field_set(0).expect("defined"));
        let list = encoder.container(DataType::FIELD_LIST).field_list(&head).expect("begins");
        assert!(matches!(list.finish(), Err(EncodeError::Order { .. })));
        assert_eq!(encoder.finish(), Err(EncodeError::Unfinished));
    }
}
