//! Element lists: values by name, each with its type.

use crate::decode::{
    ElementSetDef, ElementSetDefEntries, ListFlags, Reader, SetDefs, SetPart, read_set_value,
};
use crate::error::{DecodeError, Level};
use crate::{DataType, Encoded};

/// What an element list says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ElementListInfo {
    /// The template of the list.
    pub list_number: u16,
}

/// Values by name, each with its type.
///
/// ```text
/// ┌──────────┐┌───────────────────┐┌───────────────┐┌──────────────┐
/// │ u8 flags ││ u8 len,           ││ u15_rb set id ││ set data     │
/// │          ││ u16 list number   ││               ││ (u15_rb len) │
/// └──────────┘└───────────────────┘└───────────────┘└──────────────┘
///               HAS_INFO             HAS_SET_ID       HAS_SET_DATA
/// ┌───────────┐┌──────────────────────┬──────────────┬──────────────┐
/// │ u16 count ││ u15_rb len, name     │ u8 data type │ u16_ob len,  │ …
/// └───────────┘│                      │              │ value        │
///               └──────────────────────┴──────────────┴──────────────┘
///   HAS_STANDARD_DATA
/// ```
///
/// An element of type `NO_DATA` ends with its type.
#[derive(Clone, Copy, Debug)]
pub struct ElementList<'a> {
    flags: ListFlags,
    info: Option<ElementListInfo>,
    set: Option<SetPart<'a, ElementSetDef<'a>>>,
    standard: Reader<'a>,
    standard_count: u16,
}

impl<'a> ElementList<'a> {
    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>, defs: &SetDefs<'a>) -> Result<Self, DecodeError> {
        let mut reader = Reader::enter(data, Level::ElementList)?;
        if reader.is_empty() {
            let flags = ListFlags::empty();
            return Ok(Self { flags, info: None, set: None, standard: reader, standard_count: 0 });
        }
        let flags = ListFlags::from_bits_retain(reader.u8("element list flags")?);
        let info = match flags.contains(ListFlags::HAS_INFO) {
            true => Some(Self::read_info(&mut reader)?),
            false => None,
        };
        let set = match flags.contains(ListFlags::HAS_SET_DATA) {
            true => Some(SetPart::read(&mut reader, flags, |id| defs.element_set(id))?),
            false => None,
        };
        let standard_count = match flags.contains(ListFlags::HAS_STANDARD_DATA) {
            true => reader.u16("element count")?,
            false => 0,
        };
        Ok(Self { flags, info, set, standard: reader, standard_count })
    }

    #[inline]
    fn read_info(reader: &mut Reader<'a>) -> Result<ElementListInfo, DecodeError> {
        let len = reader.u8("element list info")?;
        let mut info = reader.split(len as usize, "element list info")?;
        Ok(ElementListInfo { list_number: info.u16("element list number")? })
    }

    /// The template, if given.
    pub const fn info(&self) -> Option<ElementListInfo> {
        self.info
    }

    list_accessors!(ElementSetDef);

    /// The entries in order, set-defined ones first. After an error there are
    /// no more.
    #[inline]
    pub fn iter(&self) -> ElementEntries<'a> {
        let (set, defs) = match &self.set {
            Some(SetPart { data, def: Some(def), .. }) => (data.reader(), def.entries()),
            _ => (Reader::EMPTY, ElementSetDefEntries::none()),
        };
        ElementEntries { standard: self.standard, standard_left: self.standard_count, defs, set }
    }

    /// The first entry with this name. Errors before it are returned.
    pub fn element(&self, name: &str) -> Result<Option<ElementEntry<'a>>, DecodeError> {
        for entry in self.iter() {
            let entry = entry?;
            if entry.name == name.as_bytes() {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

impl<'a> IntoIterator for &ElementList<'a> {
    type Item = Result<ElementEntry<'a>, DecodeError>;
    type IntoIter = ElementEntries<'a>;

    #[inline]
    fn into_iter(self) -> ElementEntries<'a> {
        self.iter()
    }
}

/// One element: its name and its value.
#[derive(Clone, Copy, Debug)]
pub struct ElementEntry<'a> {
    /// Name, at most 32767 bytes, ASCII by custom.
    pub name: &'a [u8],
    /// The value, its type known.
    pub value: Encoded<'a>,
    /// Whether the value is set-defined.
    pub is_set_defined: bool,
}

/// Iterator over the entries of an [`ElementList`].
#[derive(Clone, Debug)]
pub struct ElementEntries<'a> {
    standard: Reader<'a>,
    standard_left: u16,
    defs: ElementSetDefEntries<'a>,
    set: Reader<'a>,
}

impl<'a> ElementEntries<'a> {
    #[inline]
    fn next_standard(&mut self) -> Result<ElementEntry<'a>, DecodeError> {
        let name = self.standard.buf15("element name")?;
        let data_type = DataType(self.standard.u8("element type")?);
        let value = match data_type {
            DataType::NO_DATA => self.standard.data(0, data_type, "element value")?,
            _ => self.standard.data16(data_type, "element value")?,
        };
        Ok(ElementEntry { name, value, is_set_defined: false })
    }
}

impl<'a> Iterator for ElementEntries<'a> {
    type Item = Result<ElementEntry<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let entry = match self.defs.next() {
            Some((name, data_type)) => read_set_value(&mut self.set, data_type)
                .map(|value| ElementEntry { name, value, is_set_defined: true }),
            None => {
                self.standard_left = self.standard_left.checked_sub(1)?;
                self.next_standard()
            }
        };
        if entry.is_err() {
            self.defs = ElementSetDefEntries::none();
            self.standard_left = 0;
        }
        Some(entry)
    }
}
