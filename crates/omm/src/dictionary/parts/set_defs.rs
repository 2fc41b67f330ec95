//! Global set definitions as a message: the layouts that field lists or element
//! lists of all domains may refer to by ids from 16 up. Rare in practice.
//!
//! ```text
//! VECTOR of ELEMENT_LIST
//! ├ set definition 0     NUMENTRIES INT, FIDS or NAMES ARRAY, TYPES ARRAY
//! ├ summary              type 8, version, dictionary id
//! └ entries              SET, at the id of the set
//! ```

use std::collections::BTreeMap;
use std::sync::LazyLock;

use tapeline_rwf::{
    DataType, ElementList, ElementListHead, EncodeError, Encoded, GlobalSetDefs, LocalSetDefsBuf,
    Primitive, SetHead, Slot, VectorAction, VectorHead,
};

use super::enums::write_array;
use super::read::{PartError, find};
use crate::dictionary::{Tags, text};

/// `Type` of a dictionary of set definitions; the vendor's encoder writes the
/// same for both kinds.
const TYPE_CODE: u64 = 8;

/// The lowest id of a global set: lower ones are local to a container.
const LOWEST_ID: u16 = 16;
/// The highest id that a list can refer to.
const HIGHEST_ID: u16 = 0x7FFF;
/// The most entries of one set.
const MAX_ENTRIES: usize = 255;

const NUMENTRIES: &str = "NUMENTRIES";
const FIDS: &str = "FIDS";
const NAMES: &str = "NAMES";
const TYPES: &str = "TYPES";

static FIELD_SET_DEF: LazyLock<LocalSetDefsBuf> = LazyLock::new(|| set_def(FIDS));
static ELEMENT_SET_DEF: LazyLock<LocalSetDefsBuf> = LazyLock::new(|| set_def(NAMES));

fn set_def(keys: &str) -> LocalSetDefsBuf {
    let entries = [(NUMENTRIES, DataType::INT), (keys, DataType::ARRAY), (TYPES, DataType::ARRAY)];
    LocalSetDefsBuf::elements(&[(0, &entries)]).expect("a constant definition is valid")
}

/// A dictionary of global set definitions, all for one kind of list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetDefDictionary {
    /// The dictionary that the definitions belong to.
    pub dictionary_id: u64,
    /// Version of the definitions.
    pub version: Box<str>,
    /// The definitions.
    pub sets: SetDefTable,
}

/// Set definitions by id, 16 to 32767, with at most 255 entries each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetDefTable {
    /// For field lists: field id and type.
    Fields(BTreeMap<u16, Vec<(i16, DataType)>>),
    /// For element lists: name and type.
    Elements(BTreeMap<u16, Vec<(Box<str>, DataType)>>),
}

impl SetDefDictionary {
    /// Writes the payload into its place in a message, a `VECTOR`.
    ///
    /// # Errors
    /// The buffer is too small.
    pub fn write(&self, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
        let set_defs = match &self.sets {
            SetDefTable::Fields(_) => FIELD_SET_DEF.defs(),
            SetDefTable::Elements(_) => ELEMENT_SET_DEF.defs(),
        };
        let mut vector = slot.vector(&VectorHead {
            set_defs: Some(set_defs),
            ..VectorHead::new(DataType::ELEMENT_LIST)
        })?;
        let mut summary = vector.summary()?.element_list(&ElementListHead::STANDARD)?;
        summary.put(Tags::TYPE, TYPE_CODE)?;
        summary.put(Tags::VERSION, Primitive::Buffer(self.version.as_bytes()))?;
        summary.put(Tags::DICTIONARY_ID, self.dictionary_id)?;
        summary.finish()?;
        let set = Some(SetHead { id: Some(0), def: set_defs.element_set(0) });
        let head = ElementListHead { info: None, set, standard: false };
        match &self.sets {
            SetDefTable::Fields(sets) => {
                for (id, entries) in sets {
                    let slot = vector.entry(VectorAction::SET, (*id).into(), None)?;
                    let fids = entries.iter().map(|(fid, _)| Primitive::Int(i64::from(*fid)));
                    write_set(slot, &head, (FIDS, DataType::INT), fids, entries)?;
                }
            }
            SetDefTable::Elements(sets) => {
                for (id, entries) in sets {
                    let slot = vector.entry(VectorAction::SET, (*id).into(), None)?;
                    let names = entries.iter().map(|(name, _)| Primitive::Buffer(name.as_bytes()));
                    write_set(slot, &head, (NAMES, DataType::BUFFER), names, entries)?;
                }
            }
        }
        vector.finish()
    }

    /// Reads the payload of a message. Entries with another action than `SET`
    /// define nothing.
    ///
    /// # Errors
    /// The payload is not well-formed, or mixes both kinds of definitions.
    pub fn read(payload: &Encoded<'_>) -> Result<Self, PartError> {
        let vector = payload.vector()?;
        let (mut dictionary_id, mut version) = (0, Box::default());
        if let Some(summary) = vector.summary() {
            let [code, id, name] = find(
                &summary.element_list()?,
                [&[Tags::TYPE], &[Tags::DICTIONARY_ID], &[Tags::VERSION]],
            )?;
            if let Some(found) = code.number()?.filter(|code| *code != TYPE_CODE as i64) {
                return Err(PartError::Type { wanted: TYPE_CODE as i64, found });
            }
            dictionary_id = id.number()?.unwrap_or(0);
            version = text::text(name.text()?.unwrap_or_default()).into();
        }
        let (mut fields, mut elements) = (BTreeMap::new(), BTreeMap::new());
        for entry in &vector {
            let entry = entry?;
            if entry.action == VectorAction::SET {
                let id = set_id(entry.index)?;
                let list = entry.data.element_list_with(&vector.set_defs())?;
                read_set(&list, id, &mut fields, &mut elements)?;
            }
        }
        let sets = match (fields.is_empty(), elements.is_empty()) {
            (_, true) => SetDefTable::Fields(fields),
            (true, false) => SetDefTable::Elements(elements),
            (false, false) => return Err(PartError::Missing(FIDS)),
        };
        Ok(Self { dictionary_id, version, sets })
    }

    /// Adds the definitions to those that lists are decoded with.
    ///
    /// # Errors
    /// A set is larger than the wire can say; those before it have been added.
    pub fn define(&self, global: &mut GlobalSetDefs) -> Result<(), EncodeError> {
        match &self.sets {
            SetDefTable::Fields(sets) => {
                for (id, entries) in sets {
                    global.insert_field_set(*id, entries);
                }
            }
            SetDefTable::Elements(sets) => {
                for (id, entries) in sets {
                    let entries: Vec<_> = entries.iter().map(|(name, of)| (&**name, *of)).collect();
                    global.insert_element_set(*id, &entries)?;
                }
            }
        }
        Ok(())
    }
}

fn write_set<'v, K>(
    slot: Slot<'_, '_>,
    head: &ElementListHead<'_>,
    (keys_name, keys_type): (&str, DataType),
    keys: impl Iterator<Item = Primitive<'v>>,
    entries: &[(K, DataType)],
) -> Result<(), EncodeError> {
    let mut list = slot.element_list(head)?;
    list.put(NUMENTRIES, entries.len() as i64)?;
    write_array(&mut list, keys_name, (keys_type, 0), keys)?;
    let types = entries.iter().map(|(_, data_type)| Primitive::Int(i64::from(data_type.0)));
    write_array(&mut list, TYPES, (DataType::INT, 0), types)?;
    list.finish()
}

fn read_set(
    list: &ElementList<'_>,
    id: u16,
    fields: &mut BTreeMap<u16, Vec<(i16, DataType)>>,
    elements: &mut BTreeMap<u16, Vec<(Box<str>, DataType)>>,
) -> Result<(), PartError> {
    let [fids, names, types] = find(list, [&[FIDS], &[NAMES], &[TYPES]])?;
    let types: Vec<u8> = types.required_numbers()?;
    let count = types.len();
    if count > MAX_ENTRIES {
        return Err(PartError::OutOfRange { element: NUMENTRIES, number: count as i128 });
    }
    let types = types.into_iter().map(DataType);
    if names.is_missing() {
        let fids: Vec<i16> = fids.required_numbers()?;
        check_equal(fids.len(), count)?;
        fields.insert(id, fids.into_iter().zip(types).collect());
    } else {
        let names = names.required_texts()?;
        check_equal(names.len(), count)?;
        let names = names.iter().map(|name| text::text(name).into());
        elements.insert(id, names.zip(types).collect());
    }
    Ok(())
}

fn check_equal(keys: usize, types: usize) -> Result<(), PartError> {
    if keys == types { Ok(()) } else { Err(PartError::Unequal { keys, values: types }) }
}

fn set_id(index: u32) -> Result<u16, PartError> {
    u16::try_from(index)
        .ok()
        .filter(|id| (LOWEST_ID..=HIGHEST_ID).contains(id))
        .ok_or(PartError::OutOfRange { element: "the id of a set", number: index.into() })
}
