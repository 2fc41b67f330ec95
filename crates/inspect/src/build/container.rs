//! Filter lists, vectors, series and maps.

use tapeline_rwf::{
    DataType, FilterAction, FilterListHead, LocalSetDefsBuf, MapAction, MapHead, SeriesHead,
    VectorAction, VectorFlags, VectorHead,
};

use super::primitive::{self, Setting};
use super::{Node, SetDefinitions, data_of, encoded, optional, with_flags};
use crate::BuildError;

/// Flag bit of an entry with permission data, in all kinds of entries.
const ENTRY_PERM_DATA: u16 = 0x01;
/// Flag bit of a filter entry with a container type of its own.
const ENTRY_CONTAINER_TYPE: u16 = 0x02;

/// What all entries have: how they act, their permission data, their data.
struct Entry {
    action: u8,
    perm_data: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
}

impl Entry {
    fn read(node: &Node<'_, '_>, data_type: DataType, flags: u16) -> Result<Self, BuildError> {
        let perm_data = optional!(node, "permHex", hex);
        let flags = flags | if perm_data.is_some() { ENTRY_PERM_DATA } else { 0 };
        node.check_flags(flags, 0)?;
        let data = match node.optional("data") {
            Some(data) => Some(data_of(&data, data_type)?),
            None => None,
        };
        Ok(Self { action: node.required("action")?.up_to(15)?, perm_data, data })
    }

    fn len(&self) -> usize {
        let len = |part: &Option<Vec<u8>>| part.as_ref().map_or(0, Vec::len);
        16 + len(&self.perm_data) + len(&self.data)
    }
}

/// What vectors, series and maps have besides their entries.
struct Body {
    container_type: DataType,
    set_defs: Option<LocalSetDefsBuf>,
    summary: Option<Vec<u8>>,
    hint: Option<u32>,
}

impl Body {
    fn read(node: &Node<'_, '_>) -> Result<Self, BuildError> {
        let container_type = node.required("containerType")?.data_type()?;
        let set_defs = match node.optional("setDefs") {
            Some(defs) => Some(SetDefinitions::read(&defs)?.to_local(&defs)?),
            None => None,
        };
        let summary = match node.optional("summary") {
            Some(summary) => Some(data_of(&summary, container_type)?),
            None => None,
        };
        Ok(Self { container_type, set_defs, summary, hint: optional!(node, "hint", integer) })
    }

    fn room(&self) -> usize {
        64 + self.summary.as_ref().map_or(0, Vec::len)
            + self.set_defs.as_ref().map_or(0, |defs| defs.defs().bytes().len())
    }
}

pub(super) fn filter_list(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let container_type = node.required("containerType")?.data_type()?;
    let head =
        FilterListHead { container_type, total_count_hint: optional!(node, "hint", integer) };
    let mut entries = Vec::new();
    for entry in node.required("entries")?.items()? {
        let own_type = optional!(entry, "containerType", data_type);
        let flags = if own_type.is_some() { ENTRY_CONTAINER_TYPE } else { 0 };
        let read = Entry::read(&entry, own_type.unwrap_or(container_type), flags)?;
        entries.push((entry.required("id")?.integer()?, own_type, read));
    }
    let room = 64 + entries.iter().map(|(_, _, entry)| entry.len()).sum::<usize>();
    let entries_node = node.required("entries")?;
    let bytes = encoded(node, DataType::FILTER_LIST, room, |slot| {
        let mut list = node.checked(slot.filter_list(&head))?;
        for (place, (id, own_type, entry)) in entries_node.items()?.zip(&entries) {
            let (action, perm_data) = (FilterAction(entry.action), entry.perm_data.as_deref());
            place.checked(match &entry.data {
                Some(data) => {
                    list.entry(action, *id, *own_type, perm_data).and_then(|slot| slot.bytes(data))
                }
                None => list.bare_entry(action, *id, *own_type, perm_data),
            })?;
        }
        node.checked(list.finish())
    })?;
    with_flags(node, bytes, 0xFF & !0x02)
}

pub(super) fn vector(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let body = Body::read(node)?;
    let flags: Option<u8> = optional!(node, "flags", integer);
    let flags = VectorFlags::from_bits_retain(flags.unwrap_or_default());
    let head = VectorHead {
        container_type: body.container_type,
        supports_sorting: flags.contains(VectorFlags::SUPPORTS_SORTING),
        set_defs: body.set_defs.as_ref().map(LocalSetDefsBuf::defs),
        total_count_hint: body.hint,
    };
    let mut entries = Vec::new();
    for entry in node.required("entries")?.items()? {
        let read = Entry::read(&entry, body.container_type, 0)?;
        entries.push((entry.required("index")?.integer()?, read));
    }
    let room = body.room() + entries.iter().map(|(_, entry)| entry.len()).sum::<usize>();
    let entries_node = node.required("entries")?;
    let bytes = encoded(node, DataType::VECTOR, room, |slot| {
        let mut vector = node.checked(slot.vector(&head))?;
        if let Some(summary) = &body.summary {
            node.checked(vector.summary().and_then(|slot| slot.bytes(summary)))?;
        }
        for (place, (index, entry)) in entries_node.items()?.zip(&entries) {
            let (action, perm_data) = (VectorAction(entry.action), entry.perm_data.as_deref());
            place.checked(match &entry.data {
                Some(data) => {
                    vector.entry(action, *index, perm_data).and_then(|slot| slot.bytes(data))
                }
                None => vector.bare_entry(action, *index, perm_data),
            })?;
        }
        node.checked(vector.finish())
    })?;
    with_flags(node, bytes, 0xE4)
}

pub(super) fn series(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let body = Body::read(node)?;
    let head = SeriesHead {
        container_type: body.container_type,
        set_defs: body.set_defs.as_ref().map(LocalSetDefsBuf::defs),
        total_count_hint: body.hint,
    };
    let mut entries = Vec::new();
    for entry in node.required("entries")?.items()? {
        entries.push(match entry.optional("data") {
            Some(data) => Some(data_of(&data, body.container_type)?),
            None => None,
        });
    }
    let data_len = |data: &Option<Vec<u8>>| data.as_ref().map_or(0, |data| data.len() + 3);
    let room = body.room() + entries.iter().map(data_len).sum::<usize>();
    let entries_node = node.required("entries")?;
    let bytes = encoded(node, DataType::SERIES, room, |slot| {
        let mut series = node.checked(slot.series(&head))?;
        if let Some(summary) = &body.summary {
            node.checked(series.summary().and_then(|slot| slot.bytes(summary)))?;
        }
        for (place, data) in entries_node.items()?.zip(&entries) {
            place.checked(match data {
                Some(data) => series.entry().and_then(|slot| slot.bytes(data)),
                None => series.bare_entry(),
            })?;
        }
        node.checked(series.finish())
    })?;
    with_flags(node, bytes, 0xF8)
}

pub(super) fn map(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let body = Body::read(node)?;
    let head = MapHead {
        key_type: node.required("keyType")?.data_type()?,
        container_type: body.container_type,
        key_field_id: optional!(node, "keyFieldId", integer),
        set_defs: body.set_defs.as_ref().map(LocalSetDefsBuf::defs),
        total_count_hint: body.hint,
    };
    let mut entries = Vec::new();
    for entry in node.required("entries")?.items()? {
        entries.push(Entry::read(&entry, body.container_type, 0)?);
    }
    let room = body.room() + entries.iter().map(|entry| entry.len() + 16).sum::<usize>();
    let entries_node = node.required("entries")?;
    let bytes = encoded(node, DataType::MAP, room, |slot| {
        let mut map = node.checked(slot.map(&head))?;
        if let Some(summary) = &body.summary {
            node.checked(map.summary().and_then(|slot| slot.bytes(summary)))?;
        }
        for (place, entry) in entries_node.items()?.zip(&entries) {
            let (action, perm_data) = (MapAction(entry.action), entry.perm_data.as_deref());
            let mut scratch = Vec::new();
            let key_node = place.required("key")?;
            let key = primitive::read(&key_node, Setting::OwnLength, &mut scratch)?;
            place.checked(match &entry.data {
                Some(data) => map.entry(action, key, perm_data).and_then(|slot| slot.bytes(data)),
                None => map.bare_entry(action, key, perm_data),
            })?;
        }
        node.checked(map.finish())
    })?;
    with_flags(node, bytes, 0xE4)
}
