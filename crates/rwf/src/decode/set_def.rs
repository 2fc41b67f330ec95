//! Set definitions: ids, names and types of values that are moved out of the
//! entries.

use crate::DataType;
use crate::decode::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::set_def::GlobalSetDefs;

/// How many local definitions one container may have.
const MAX_LOCAL: u8 = 15;

/// Which kind of list a set of definitions is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetDefKind {
    /// Field lists: entries are (field id, type).
    Field,
    /// Element lists: entries are (name, type).
    Element,
}

impl SetDefKind {
    /// The kind that containers of this type use.
    #[inline]
    pub fn of(container_type: DataType) -> Self {
        if container_type == DataType::ELEMENT_LIST { Self::Element } else { Self::Field }
    }
}

/// The definition of one set for field lists: field ids and types, in the
/// order of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSetDef<'a> {
    /// 3 bytes each: i16 field id, u8 type.
    entries: &'a [[u8; 3]],
}

impl<'a> FieldSetDef<'a> {
    pub(crate) const fn new(entries: &'a [[u8; 3]]) -> Self {
        Self { entries }
    }

    /// How many values the set has.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the set has no values.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries: field id and type.
    #[inline]
    pub fn entries(&self) -> FieldSetDefEntries<'a> {
        FieldSetDefEntries { entries: self.entries.iter() }
    }
}

/// Iterator over the entries of a [`FieldSetDef`].
#[derive(Clone, Debug)]
pub struct FieldSetDefEntries<'a> {
    entries: core::slice::Iter<'a, [u8; 3]>,
}

impl FieldSetDefEntries<'_> {
    pub(crate) fn none() -> Self {
        Self { entries: [].iter() }
    }
}

impl Iterator for FieldSetDefEntries<'_> {
    type Item = (i16, DataType);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let [high, low, data_type] = *self.entries.next()?;
        Some((i16::from_be_bytes([high, low]), DataType(data_type)))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl ExactSizeIterator for FieldSetDefEntries<'_> {}

/// The definition of one set for element lists: names and types, in the order
/// of the values.
#[derive(Clone, Copy, Debug)]
pub struct ElementSetDef<'a> {
    /// A `text15` name and a u8 type each; checked when the view was made.
    entries: Reader<'a>,
    count: u8,
}

impl<'a> ElementSetDef<'a> {
    pub(crate) const fn new(entries: Reader<'a>, count: u8) -> Self {
        Self { entries, count }
    }

    /// How many values the set has.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether the set has no values.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The entries: name and type.
    #[inline]
    pub fn entries(&self) -> ElementSetDefEntries<'a> {
        ElementSetDefEntries { reader: self.entries, left: self.count }
    }
}

/// Iterator over the entries of an [`ElementSetDef`].
#[derive(Clone, Debug)]
pub struct ElementSetDefEntries<'a> {
    reader: Reader<'a>,
    left: u8,
}

impl ElementSetDefEntries<'_> {
    pub(crate) fn none() -> Self {
        Self { reader: Reader::EMPTY, left: 0 }
    }
}

impl<'a> Iterator for ElementSetDefEntries<'a> {
    type Item = (&'a [u8], DataType);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        read_element_entry(&mut self.reader).ok()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.into(), Some(self.left.into()))
    }
}

impl ExactSizeIterator for ElementSetDefEntries<'_> {}

#[inline]
fn read_element_entry<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], DataType), DecodeError> {
    let name = reader.buf15("name in a set definition")?;
    Ok((name, DataType(reader.u8("type in a set definition")?)))
}

/// The definitions that a map, a vector or a series gives for its own entries
/// and summary data. Ids are 0 to 15.
///
/// ```text
/// ┌──────────┬──────────┐┌───────────────┬────────────┐┌─────────────────────────┐
/// │ u8 flags │ u8 count ││ u15_rb set id │ u8 entries ││ i16 fid | text15 name   │ …
/// └──────────┴──────────┘└───────────────┴────────────┘│ u8 type                 │
///                          per definition              └─────────────────────────┘
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LocalSetDefs<'a> {
    block: Reader<'a>,
    kind: SetDefKind,
    count: u8,
    /// Where in `block` the entry count of each id is; 0 where there is none.
    starts: [u16; 16],
}

impl<'a> LocalSetDefs<'a> {
    /// Reads the block with its length and checks every definition in it, so
    /// that using one later cannot fail.
    pub(crate) fn read(
        reader: &mut Reader<'a>,
        container_type: DataType,
    ) -> Result<Self, DecodeError> {
        let len = reader.u15_rb("set definitions")?;
        let block = reader.split(len as usize, "set definitions")?;
        Self::parse(block, SetDefKind::of(container_type))
    }

    pub(crate) fn parse(block: Reader<'a>, kind: SetDefKind) -> Result<Self, DecodeError> {
        let mut reader = block;
        reader.u8("flags of the set definitions")?;
        let count = reader.u8("count of the set definitions")?;
        if count > MAX_LOCAL {
            return Err(reader.error_back(1, DecodeErrorKind::TooManySetDefs(count)));
        }
        let mut starts = [0; 16];
        for _ in 0..count {
            let id = reader.u15_rb("id of a set definition")?;
            let start = (block.len() - reader.len()) as u16;
            match starts.get_mut(id as usize) {
                None => return Err(reader.error_back(1, DecodeErrorKind::SetDefId(id))),
                Some(0) => starts[id as usize] = start,
                Some(_) => return Err(reader.error_back(1, DecodeErrorKind::DuplicateSetDef(id))),
            }
            let entries = reader.u8("entry count of a set definition")?;
            match kind {
                SetDefKind::Field => {
                    reader.bytes(entries as usize * 3, "entries of a set definition")?;
                }
                SetDefKind::Element => {
                    for _ in 0..entries {
                        read_element_entry(&mut reader)?;
                    }
                }
            }
        }
        Ok(Self { block, kind, count, starts })
    }

    /// How many definitions there are, 0 to 15.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none, which is allowed and of no use.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Which kind of list they are for.
    pub const fn kind(&self) -> SetDefKind {
        self.kind
    }

    /// The ids that are defined, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u16> + '_ {
        (0..16).filter(|id| self.starts[*id as usize] != 0)
    }

    #[inline]
    fn entries(&self, id: u16, kind: SetDefKind) -> Option<(Reader<'a>, u8)> {
        let start = *self.starts.get(id as usize)?;
        if start == 0 || self.kind != kind {
            return None;
        }
        let mut reader = self.block;
        reader.bytes(start as usize, "").ok()?;
        let count = reader.u8("").ok()?;
        Some((reader, count))
    }

    /// The definition of a field set.
    #[inline]
    pub fn field_set(&self, id: u16) -> Option<FieldSetDef<'a>> {
        let (mut reader, count) = self.entries(id, SetDefKind::Field)?;
        let bytes = reader.bytes(count as usize * 3, "").ok()?;
        Some(FieldSetDef::new(bytes.as_chunks::<3>().0))
    }

    /// The definition of an element set.
    #[inline]
    pub fn element_set(&self, id: u16) -> Option<ElementSetDef<'a>> {
        let (reader, count) = self.entries(id, SetDefKind::Element)?;
        Some(ElementSetDef::new(reader, count))
    }

    /// The block as it is in the input, without its length.
    pub fn bytes(&self) -> &'a [u8] {
        self.block.remaining()
    }
}

/// Where the definition of a set is looked up: ids 0 to 15 in the container
/// around the list, 16 and up in the dictionaries.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetDefs<'a> {
    /// Definitions of the container around the list.
    pub local: Option<LocalSetDefs<'a>>,
    /// Definitions from dictionaries.
    pub global: Option<&'a GlobalSetDefs>,
}

impl<'a> SetDefs<'a> {
    /// No definitions: set-defined data is skipped.
    pub const NONE: Self = Self { local: None, global: None };

    /// The definitions of one container.
    pub const fn local(defs: LocalSetDefs<'a>) -> Self {
        Self { local: Some(defs), global: None }
    }

    /// The definition of a field set, if there is one.
    #[inline]
    pub fn field_set(&self, id: u16) -> Option<FieldSetDef<'a>> {
        match id {
            0..=15 => self.local.as_ref()?.field_set(id),
            _ => self.global?.field_set(id),
        }
    }

    /// The definition of an element set, if there is one.
    #[inline]
    pub fn element_set(&self, id: u16) -> Option<ElementSetDef<'a>> {
        match id {
            0..=15 => self.local.as_ref()?.element_set(id),
            _ => self.global?.element_set(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Path;

    fn parse(bytes: &[u8], kind: SetDefKind) -> Result<LocalSetDefs<'_>, DecodeErrorKind> {
        LocalSetDefs::parse(Reader::new(bytes, 0, Path::ROOT), kind).map_err(|e| e.kind)
    }

    #[test]
    fn definitions_are_found_by_id() {
        let block = [0, 2, 3, 1, 0, 22, 8, 0, 2, 0xFF, 0xFF, 66, 0, 25, 8];
        let defs = parse(&block, SetDefKind::Field).expect("well-formed");
        assert_eq!(defs.ids().collect::<Vec<_>>(), [0, 3]);
        let set: Vec<_> = defs.field_set(0).expect("defined").entries().collect();
        assert_eq!(set, [(-1, DataType::INT_2), (25, DataType::REAL)]);
        assert_eq!(defs.field_set(3).map(|set| set.len()), Some(1));
        assert!(defs.field_set(1).is_none());
        assert!(defs.field_set(99).is_none());
        assert!(defs.element_set(0).is_none());
    }

    #[test]
    fn element_definitions_have_names() {
        let block = [0, 1, 0, 2, 1, b'A', 4, 2, b'B', b'C', 17];
        let defs = parse(&block, SetDefKind::Element).expect("well-formed");
        let set: Vec<_> = defs.element_set(0).expect("defined").entries().collect();
        assert_eq!(set, [(&b"A"[..], DataType::UINT), (&b"BC"[..], DataType::ASCII_STRING)]);
    }

    #[test]
    fn wrong_blocks_say_what_is_wrong() {
        use DecodeErrorKind::{DuplicateSetDef, SetDefId, TooManySetDefs};
        let field = SetDefKind::Field;
        assert_eq!(parse(&[0, 16], field).err(), Some(TooManySetDefs(16)));
        assert_eq!(parse(&[0, 1, 16, 0], field).err(), Some(SetDefId(16)));
        assert_eq!(parse(&[0, 2, 1, 0, 1, 0], field).err(), Some(DuplicateSetDef(1)));
        assert!(parse(&[0, 1, 0, 2, 0, 22, 8], field).is_err());
        assert!(parse(&[0, 1, 0, 1, 3, b'A'], SetDefKind::Element).is_err());
        assert!(parse(&[0, 0], field).is_ok_and(|defs| defs.is_empty()));
    }
}
