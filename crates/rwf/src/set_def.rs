//! Set definitions that are owned: those of dictionaries, and those that an
//! encoder gives to its containers.

use std::collections::BTreeMap;

use crate::DataType;
use crate::decode::{ElementSetDef, FieldSetDef, LocalSetDefs, Reader, SetDefKind};
use crate::error::{EncodeError, Path};

/// Set definitions from dictionaries, by id. Field and element definitions are
/// separate; ids are 16 and up.
#[derive(Clone, Debug, Default)]
pub struct GlobalSetDefs {
    fields: BTreeMap<u16, Vec<[u8; 3]>>,
    elements: BTreeMap<u16, (u8, Vec<u8>)>,
}

impl GlobalSetDefs {
    /// No definitions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Defines a field set, in place of an earlier one with this id.
    pub fn insert_field_set(&mut self, id: u16, entries: &[(i16, DataType)]) {
        let entries = entries.iter().map(|(fid, data_type)| field_entry(*fid, *data_type));
        self.fields.insert(id, entries.collect());
    }

    /// Defines an element set, in place of an earlier one with this id.
    /// Errors: a name above 32767 bytes, more than 255 entries.
    pub fn insert_element_set<N: AsRef<[u8]>>(
        &mut self,
        id: u16,
        entries: &[(N, DataType)],
    ) -> Result<(), EncodeError> {
        let mut bytes = Vec::new();
        for (name, data_type) in entries {
            push_element_entry(&mut bytes, name.as_ref(), *data_type)?;
        }
        self.elements.insert(id, (entry_count(entries.len())?, bytes));
        Ok(())
    }

    /// The definition of a field set.
    #[inline]
    pub fn field_set(&self, id: u16) -> Option<FieldSetDef<'_>> {
        self.fields.get(&id).map(|entries| FieldSetDef::new(entries))
    }

    /// The definition of an element set.
    #[inline]
    pub fn element_set(&self, id: u16) -> Option<ElementSetDef<'_>> {
        let (count, bytes) = self.elements.get(&id)?;
        Some(ElementSetDef::new(Reader::new(bytes, 0, Path::ROOT), *count))
    }
}

/// Local set definitions in wire form, made once and given to as many maps,
/// vectors or series as are encoded.
///
/// ```
/// use tapeline_rwf::{DataType, LocalSetDefsBuf};
///
/// let rows = LocalSetDefsBuf::fields(&[(0, &[(3427, DataType::REAL), (3428, DataType::ENUM)])])?;
/// assert_eq!(rows.defs().field_set(0).map(|set| set.len()), Some(2));
/// # Ok::<(), tapeline_rwf::EncodeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSetDefsBuf {
    kind: SetDefKind,
    bytes: Vec<u8>,
}

impl LocalSetDefsBuf {
    /// Definitions for field lists: (set id, entries). Errors: more than 15
    /// definitions, an id above 15 or twice, more than 255 entries in one, a
    /// type that cannot be set-defined, more than 32767 bytes in all.
    ///
    /// The vendor's Java library finds field sets only under id 0, and writes
    /// and reads `REAL_4RB` and `REAL_8RB` wrongly: avoid both where it reads.
    pub fn fields(defs: &[(u16, &[(i16, DataType)])]) -> Result<Self, EncodeError> {
        Self::build(SetDefKind::Field, defs, |bytes, (fid, data_type)| {
            check_type(*data_type)?;
            bytes.extend(field_entry(*fid, *data_type));
            Ok(())
        })
    }

    /// Definitions for element lists: (set id, entries). Errors as for
    /// [`fields`](Self::fields), and a name above 32767 bytes.
    pub fn elements<N: AsRef<[u8]>>(defs: &[(u16, &[(N, DataType)])]) -> Result<Self, EncodeError> {
        Self::build(SetDefKind::Element, defs, |bytes, (name, data_type)| {
            push_element_entry(bytes, name.as_ref(), *data_type)
        })
    }

    fn build<E>(
        kind: SetDefKind,
        defs: &[(u16, &[E])],
        push: impl Fn(&mut Vec<u8>, &E) -> Result<(), EncodeError>,
    ) -> Result<Self, EncodeError> {
        if defs.len() > 15 {
            return Err(EncodeError::TooMany { what: "a set of set definitions", max: 15 });
        }
        let mut bytes = vec![0, defs.len() as u8];
        for (at, (id, entries)) in defs.iter().enumerate() {
            if *id > 15 || defs[..at].iter().any(|(earlier, _)| earlier == id) {
                return Err(EncodeError::OutOfRange { what: "id of a set definition" });
            }
            bytes.extend([*id as u8, entry_count(entries.len())?]);
            for entry in *entries {
                push(&mut bytes, entry)?;
            }
        }
        if bytes.len() > 0x7FFF {
            let len = bytes.len();
            return Err(EncodeError::TooLong { what: "set definitions", len, max: 0x7FFF });
        }
        Ok(Self { kind, bytes })
    }

    /// The definitions as a decoder sees them.
    ///
    /// # Panics
    /// Never: what was built here is well-formed.
    pub fn defs(&self) -> LocalSetDefs<'_> {
        let block = Reader::new(&self.bytes, 0, Path::ROOT);
        LocalSetDefs::parse(block, self.kind).expect("definitions built here are well-formed")
    }
}

fn check_type(data_type: DataType) -> Result<(), EncodeError> {
    if data_type.can_be_set_defined() {
        return Ok(());
    }
    Err(EncodeError::OutOfRange { what: "a type in a set definition" })
}

fn field_entry(fid: i16, data_type: DataType) -> [u8; 3] {
    let [high, low] = fid.to_be_bytes();
    [high, low, data_type.0]
}

fn entry_count(count: usize) -> Result<u8, EncodeError> {
    u8::try_from(count).map_err(|_| EncodeError::TooMany { what: "a set definition", max: 255 })
}

fn push_element_entry(
    bytes: &mut Vec<u8>,
    name: &[u8],
    data_type: DataType,
) -> Result<(), EncodeError> {
    const MAX: usize = 0x7FFF;
    check_type(data_type)?;
    match name.len() {
        len @ 0..0x80 => bytes.push(len as u8),
        len @ 0x80..=MAX => bytes.extend((len as u16 | 0x8000).to_be_bytes()),
        len => return Err(EncodeError::TooLong { what: "element name", len, max: MAX }),
    }
    bytes.extend(name);
    bytes.push(data_type.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_definitions_read_back() {
        let long = "n".repeat(200);
        let entries = [("A", DataType::UINT), (long.as_str(), DataType::INT_2)];
        let built = LocalSetDefsBuf::elements(&[(3, &entries)]).expect("valid");
        let defs = built.defs();
        let read: Vec<_> = defs.element_set(3).expect("defined").entries().collect();
        assert_eq!(read, [(&b"A"[..], DataType::UINT), (long.as_bytes(), DataType::INT_2)]);
    }

    #[test]
    fn ids_that_cannot_be_local_are_refused() {
        assert!(LocalSetDefsBuf::fields(&[(16, &[])]).is_err());
        assert!(LocalSetDefsBuf::fields(&[(1, &[]), (1, &[])]).is_err());
        let many: Vec<(u16, &[(i16, DataType)])> = (0..16).map(|id| (id, &[][..])).collect();
        assert!(LocalSetDefsBuf::fields(&many).is_err());
    }

    #[test]
    fn global_definitions_are_kept_by_kind() {
        let mut global = GlobalSetDefs::new();
        global.insert_field_set(16, &[(22, DataType::REAL)]);
        global.insert_element_set(300, &[("A", DataType::UINT_4)]).expect("short name");
        assert_eq!(global.field_set(16).map(|set| set.len()), Some(1));
        assert!(global.element_set(16).is_none());
        let names: Vec<_> = global.element_set(300).expect("defined").entries().collect();
        assert_eq!(names, [(&b"A"[..], DataType::UINT_4)]);
    }
}
