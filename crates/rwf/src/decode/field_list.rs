//! Field lists: values by field id.

use crate::decode::{
    FieldSetDef, FieldSetDefEntries, ListFlags, Reader, SetDefs, SetPart, read_set_value,
};
use crate::error::{DecodeError, Level};
use crate::{DataType, Encoded, Primitive};

/// What a field list says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FieldListInfo {
    /// The dictionary that gives names and types to the field ids.
    pub dictionary_id: u16,
    /// The record template.
    pub list_number: u16,
}

/// Values by field id; ids may repeat and come in any order.
///
/// ```text
/// ┌──────────┐┌──────────────────────────────┐┌───────────────┐┌──────────────┐
/// │ u8 flags ││ u8 len, u15_rb dictionary,   ││ u15_rb set id ││ set data     │
/// │          ││ u16 list number              ││               ││ (u15_rb len) │
/// └──────────┘└──────────────────────────────┘└───────────────┘└──────────────┘
///               HAS_INFO                        HAS_SET_ID       HAS_SET_DATA
/// ┌───────────┐┌─────────────────────────────┐
/// │ u16 count ││ i16 field id, u16_ob length │ …
/// └───────────┘│ value                       │
///               └─────────────────────────────┘
///   HAS_STANDARD_DATA
/// ```
///
/// The length of the set data is there only if standard data follows. The type
/// of a standard value is not on the wire: it comes from a field dictionary.
#[derive(Clone, Copy, Debug)]
pub struct FieldList<'a> {
    flags: ListFlags,
    info: Option<FieldListInfo>,
    set: Option<SetPart<'a, FieldSetDef<'a>>>,
    standard: Reader<'a>,
    standard_count: u16,
}

impl<'a> FieldList<'a> {
    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>, defs: &SetDefs<'a>) -> Result<Self, DecodeError> {
        let mut reader = Reader::enter(data, Level::FieldList)?;
        if reader.is_empty() {
            let flags = ListFlags::empty();
            return Ok(Self { flags, info: None, set: None, standard: reader, standard_count: 0 });
        }
        let flags = ListFlags::from_bits_retain(reader.u8("field list flags")?);
        let info = match flags.contains(ListFlags::HAS_INFO) {
            true => Some(Self::read_info(&mut reader)?),
            false => None,
        };
        let set = match flags.contains(ListFlags::HAS_SET_DATA) {
            true => Some(SetPart::read(&mut reader, flags, |id| defs.field_set(id))?),
            false => None,
        };
        let standard_count = match flags.contains(ListFlags::HAS_STANDARD_DATA) {
            true => reader.u16("field count")?,
            false => 0,
        };
        Ok(Self { flags, info, set, standard: reader, standard_count })
    }

    #[inline]
    fn read_info(reader: &mut Reader<'a>) -> Result<FieldListInfo, DecodeError> {
        let len = reader.u8("field list info")?;
        let mut info = reader.split(len as usize, "field list info")?;
        Ok(FieldListInfo {
            dictionary_id: info.u15_rb("dictionary id")?,
            list_number: info.u16("field list number")?,
        })
    }

    /// Dictionary and record template, if given.
    pub const fn info(&self) -> Option<FieldListInfo> {
        self.info
    }

    list_accessors!(FieldSetDef);

    /// The entries in order, set-defined ones first. After an error there are
    /// no more.
    #[inline]
    pub fn iter(&self) -> FieldEntries<'a> {
        let standard = self.standard;
        let (reader, defs) = match &self.set {
            Some(SetPart { data, def: Some(def), .. }) if !def.is_empty() => {
                (data.reader(), def.entries())
            }
            _ => (standard, FieldSetDefEntries::none()),
        };
        FieldEntries { reader, defs, standard, standard_left: self.standard_count }
    }

    /// The first entry with this field id. Errors before it are returned.
    pub fn field(&self, field_id: i16) -> Result<Option<FieldEntry<'a>>, DecodeError> {
        for entry in self.iter() {
            let entry = entry?;
            if entry.field_id == field_id {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

impl<'a> IntoIterator for &FieldList<'a> {
    type Item = Result<FieldEntry<'a>, DecodeError>;
    type IntoIter = FieldEntries<'a>;

    #[inline]
    fn into_iter(self) -> FieldEntries<'a> {
        self.iter()
    }
}

/// One field: its id and its value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FieldEntry<'a> {
    /// Field id; negative ids are the user's.
    pub field_id: i16,
    /// The value. Its type is the one of the set definition, or
    /// [`DataType::UNKNOWN`] for standard data.
    pub value: Encoded<'a>,
}

impl<'a> FieldEntry<'a> {
    /// Whether the value is set-defined, its type therefore known.
    #[inline]
    pub fn is_set_defined(&self) -> bool {
        self.value.data_type() != DataType::UNKNOWN
    }

    /// The value with the type that a field dictionary gives, unless a set
    /// definition has given one.
    #[inline]
    pub fn typed(&self, dictionary_type: DataType) -> Encoded<'a> {
        let set_type = self.value.data_type();
        self.value.typed(if self.is_set_defined() { set_type } else { dictionary_type })
    }

    /// The value decoded as the type that a field dictionary gives, unless a
    /// set definition has given one.
    #[inline]
    pub fn primitive(&self, dictionary_type: DataType) -> Result<Primitive<'a>, DecodeError> {
        self.typed(dictionary_type).primitive()
    }
}

/// Iterator over the entries of a [`FieldList`].
#[derive(Clone, Debug)]
pub struct FieldEntries<'a> {
    /// Over the set-defined data as long as there are definitions left, then
    /// over the standard data: one cursor for both is one that stays in
    /// registers.
    reader: Reader<'a>,
    defs: FieldSetDefEntries<'a>,
    standard: Reader<'a>,
    standard_left: u16,
}

impl<'a> Iterator for FieldEntries<'a> {
    type Item = Result<FieldEntry<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // Parts by name and matches instead of `map`: an entry that is handed on
        // whole goes through memory (measured: 5 % more instructions).
        let entry = match self.defs.next() {
            Some((field_id, data_type)) => {
                let value = read_set_value(&mut self.reader, data_type);
                if self.defs.len() == 0 {
                    self.reader = self.standard;
                }
                match value {
                    Ok(Encoded { bytes, path, type_code, offset }) => {
                        let value = Encoded { bytes, path, type_code, offset };
                        Ok(FieldEntry { field_id, value })
                    }
                    Err(error) => Err(error),
                }
            }
            None => {
                self.standard_left = self.standard_left.checked_sub(1)?;
                match self.reader.field() {
                    Ok((field_id, bytes)) => {
                        let value = self.reader.just_read(bytes, DataType::UNKNOWN);
                        Ok(FieldEntry { field_id, value })
                    }
                    Err(error) => Err(error),
                }
            }
        };
        if entry.is_err() {
            self.defs = FieldSetDefEntries::none();
            self.standard_left = 0;
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalSetDefsBuf;
    use crate::error::DecodeErrorKind;

    /// Field id, offset and bytes, or where which part is cut.
    type Field = Result<(i16, u32, Vec<u8>), (u32, &'static str)>;

    fn read(bytes: &[u8], defs: &SetDefs<'_>) -> Vec<Field> {
        let list = Encoded::new(DataType::FIELD_LIST, bytes).field_list_with(defs);
        let entry = |entry: Result<FieldEntry<'_>, DecodeError>| match entry {
            Ok(entry) => Ok((entry.field_id, entry.value.offset(), entry.value.bytes().to_vec())),
            Err(DecodeError { kind: DecodeErrorKind::Truncated { what, .. }, offset, .. }) => {
                Err((offset, what))
            }
            Err(other) => Err((other.offset, "not truncated")),
        };
        list.expect("a head").iter().map(entry).collect()
    }

    #[test]
    fn both_forms_of_a_length_read_alike() {
        let short = [8, 0, 2, 0, 22, 1, 7, 0xFF, 0xFE, 0];
        let expected = [Ok((22, 6, vec![7])), Ok((-2, 10, vec![]))];
        assert_eq!(read(&short, &SetDefs::NONE), expected);
        let long = [8, 0, 2, 0, 22, 0xFE, 0, 1, 7, 0xFF, 0xFE, 0xFE, 0, 0];
        let expected = [Ok((22, 8, vec![7])), Ok((-2, 14, vec![]))];
        assert_eq!(read(&long, &SetDefs::NONE), expected);
    }

    #[test]
    fn a_field_that_is_cut_says_where_and_ends_the_list() {
        let bytes = [8, 0, 3, 0, 22, 2, 7, 8, 0, 25, 0xFE, 0, 1, 9];
        let first = Ok((22, 6, vec![7, 8]));
        for (len, error) in [
            (8, (8, "field id")),
            (9, (8, "field id")),
            (10, (10, "field value")),
            (11, (11, "field value")),
            (12, (11, "field value")),
            (13, (13, "field value")),
        ] {
            assert_eq!(read(&bytes[..len], &SetDefs::NONE), [first.clone(), Err(error)], "{len}");
        }
        assert_eq!(read(&bytes[..7], &SetDefs::NONE), [Err((6, "field value"))]);
        let reserved = [8, 0, 1, 0, 22, 0xFF, 0];
        assert_eq!(read(&reserved, &SetDefs::NONE), [Err((5, "not truncated"))]);
    }

    #[test]
    fn standard_data_follows_set_data_of_any_definition() {
        let buf = LocalSetDefsBuf::fields(&[(0, &[(1, DataType::UINT_1)]), (1, &[])]);
        let buf = buf.expect("valid definitions");
        let defs = SetDefs::local(buf.defs());
        let one = [0x0A, 1, 5, 0, 1, 0, 22, 1, 7];
        assert_eq!(read(&one, &defs), [Ok((1, 2, vec![5])), Ok((22, 8, vec![7]))]);
        let none = [0x0E, 1, 0, 0, 1, 0, 22, 1, 7];
        assert_eq!(read(&none, &defs), [Ok((22, 8, vec![7]))]);
        // The last value of the set is cut: nothing behind it is read.
        let cut = [0x0A, 0, 0, 1, 0, 22, 1, 7];
        assert_eq!(read(&cut, &defs), [Err((2, "set-defined value"))]);
    }
}
