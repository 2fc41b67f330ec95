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
        let (set, defs) = match &self.set {
            Some(SetPart { data, def: Some(def), .. }) => (data.reader(), def.entries()),
            _ => (Reader::EMPTY, FieldSetDefEntries::none()),
        };
        FieldEntries { standard: self.standard, standard_left: self.standard_count, defs, set }
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
        self.value.data_type != DataType::UNKNOWN
    }

    /// The value with the type that a field dictionary gives, unless a set
    /// definition has given one.
    #[inline]
    pub fn typed(&self, dictionary_type: DataType) -> Encoded<'a> {
        if self.is_set_defined() { self.value } else { self.value.typed(dictionary_type) }
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
    standard: Reader<'a>,
    standard_left: u16,
    defs: FieldSetDefEntries<'a>,
    set: Reader<'a>,
}

impl<'a> FieldEntries<'a> {
    #[inline]
    fn next_standard(&mut self) -> Result<FieldEntry<'a>, DecodeError> {
        let field_id = self.standard.u16("field id")? as i16;
        let value = self.standard.data16(DataType::UNKNOWN, "field value")?;
        Ok(FieldEntry { field_id, value })
    }
}

impl<'a> Iterator for FieldEntries<'a> {
    type Item = Result<FieldEntry<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let entry = match self.defs.next() {
            Some((field_id, data_type)) => {
                read_set_value(&mut self.set, data_type).map(|value| FieldEntry { field_id, value })
            }
            None => {
                self.standard_left = self.standard_left.checked_sub(1)?;
                self.next_standard()
            }
        };
        if entry.is_err() {
            self.defs = FieldSetDefEntries::none();
            self.standard_left = 0;
        }
        Some(entry)
    }
}
