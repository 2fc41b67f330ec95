//! Messages without some of the entries of their payload.
//!
//! An entry of a map, a vector or a filter list can have permission data of its
//! own, beside those of the message: who may see the item may yet not see the
//! entry.

use tapeline_rwf::{
    DataType, EncodeError, Encoded, Encoder, FilterAction, FilterListFlags, FilterListHead,
    MapAction, MapFlags, MapHead, Msg, Primitive, Slot, VectorAction, VectorFlags, VectorHead,
};

use crate::view::ProjectError;

/// What decides about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its key in a map, its number in a filter list. Empty in a vector, whose
    /// entries have places that change.
    pub key: &'a [u8],
    /// Its own permission data.
    pub perm_data: Option<&'a [u8]>,
    /// Whether it takes the entry of this key away.
    pub is_delete: bool,
    /// Whether what was known of the key before is void.
    pub is_anew: bool,
}

/// Whether a payload says that its entries may have permission data of their own.
pub fn has_locked_entries(payload: &Encoded<'_>) -> bool {
    let Some(flags) = payload.bytes().first() else { return false };
    let bit = match payload.data_type() {
        DataType::MAP => MapFlags::HAS_PER_ENTRY_PERM_DATA.bits(),
        DataType::VECTOR => VectorFlags::HAS_PER_ENTRY_PERM_DATA.bits(),
        DataType::FILTER_LIST => FilterListFlags::HAS_PER_ENTRY_PERM_DATA.bits(),
        _ => return false,
    };
    flags & bit != 0
}

/// Shows each entry of a payload to `see`, in order. Other payloads have none.
///
/// Errors: the payload is malformed; the entries before were seen.
pub fn see_entries(
    payload: &Encoded<'_>,
    mut see: impl FnMut(Entry<'_>),
) -> Result<(), ProjectError> {
    match payload.data_type() {
        DataType::MAP => {
            for entry in &payload.map()? {
                let entry = entry?;
                see(of_map(entry.action, entry.key.bytes(), entry.perm_data));
            }
        }
        DataType::VECTOR => {
            for entry in &payload.vector()? {
                see(of_vector(entry?.perm_data));
            }
        }
        DataType::FILTER_LIST => {
            for entry in &payload.filter_list()? {
                let entry = entry?;
                see(of_filter(entry.action, &[entry.id], entry.perm_data));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Writes a message with those entries of its payload that `keep` keeps.
/// Returns the length in bytes. A hint how many entries there are is left out.
///
/// Errors: the payload is malformed; the buffer is too small.
pub fn write_some(
    msg: &Msg<'_>,
    mut keep: impl FnMut(Entry<'_>) -> bool,
    buffer: &mut [u8],
) -> Result<usize, ProjectError> {
    let payload = msg.payload();
    let mut encoder = Encoder::new(buffer);
    let slot = encoder.begin(msg, payload.data_type())?;
    match payload.data_type() {
        _ if payload.is_empty() => slot.empty()?,
        DataType::MAP => map(&payload, &mut keep, slot)?,
        DataType::VECTOR => vector(&payload, &mut keep, slot)?,
        DataType::FILTER_LIST => filter_list(&payload, &mut keep, slot)?,
        _ => slot.encoded(&payload)?,
    }
    Ok(encoder.finish()?)
}

fn of_map<'a>(action: MapAction, key: &'a [u8], perm_data: Option<&'a [u8]>) -> Entry<'a> {
    let (is_delete, is_anew) = (action == MapAction::DELETE, action == MapAction::ADD);
    Entry { key, perm_data, is_delete, is_anew }
}

fn of_vector(perm_data: Option<&[u8]>) -> Entry<'_> {
    Entry { key: &[], perm_data, is_delete: false, is_anew: false }
}

fn of_filter<'a>(action: FilterAction, id: &'a [u8], perm_data: Option<&'a [u8]>) -> Entry<'a> {
    let (is_delete, is_anew) = (action == FilterAction::CLEAR, action == FilterAction::SET);
    Entry { key: id, perm_data, is_delete, is_anew }
}

type Keep<'k> = dyn FnMut(Entry<'_>) -> bool + 'k;

fn map(payload: &Encoded<'_>, keep: &mut Keep<'_>, slot: Slot<'_, '_>) -> Result<(), ProjectError> {
    let map = payload.map()?;
    let mut writer = slot.map(&MapHead {
        key_type: map.key_type(),
        container_type: map.container_type(),
        key_field_id: map.key_field_id(),
        set_defs: map.local_set_defs(),
        total_count_hint: None,
    })?;
    if let Some(summary) = map.summary() {
        writer.summary()?.encoded(&summary)?;
    }
    for entry in &map {
        let entry = entry?;
        if !keep(of_map(entry.action, entry.key.bytes(), entry.perm_data)) {
            continue;
        }
        let key = Primitive::Other(map.key_type(), entry.key.bytes());
        match entry.action == MapAction::DELETE || map.container_type() == DataType::NO_DATA {
            true => writer.bare_entry(entry.action, key, entry.perm_data)?,
            false => write(writer.entry(entry.action, key, entry.perm_data)?, &entry.data)?,
        }
    }
    Ok(writer.finish()?)
}

fn vector(
    payload: &Encoded<'_>,
    keep: &mut Keep<'_>,
    slot: Slot<'_, '_>,
) -> Result<(), ProjectError> {
    let vector = payload.vector()?;
    let mut writer = slot.vector(&VectorHead {
        container_type: vector.container_type(),
        supports_sorting: vector.flags().contains(VectorFlags::SUPPORTS_SORTING),
        set_defs: vector.local_set_defs(),
        total_count_hint: None,
    })?;
    if let Some(summary) = vector.summary() {
        writer.summary()?.encoded(&summary)?;
    }
    for entry in &vector {
        let entry = entry?;
        if !keep(of_vector(entry.perm_data)) {
            continue;
        }
        let (action, index, perm_data) = (entry.action, entry.index, entry.perm_data);
        let is_bare = matches!(action, VectorAction::CLEAR | VectorAction::DELETE);
        match is_bare || vector.container_type() == DataType::NO_DATA {
            true => writer.bare_entry(action, index, perm_data)?,
            false => write(writer.entry(action, index, perm_data)?, &entry.data)?,
        }
    }
    Ok(writer.finish()?)
}

fn filter_list(
    payload: &Encoded<'_>,
    keep: &mut Keep<'_>,
    slot: Slot<'_, '_>,
) -> Result<(), ProjectError> {
    let list = payload.filter_list()?;
    let container_type = list.container_type();
    let mut writer =
        slot.filter_list(&FilterListHead { container_type, total_count_hint: None })?;
    for entry in &list {
        let entry = entry?;
        if !keep(of_filter(entry.action, &[entry.id], entry.perm_data)) {
            continue;
        }
        let own_type = Some(entry.data.data_type()).filter(|own| *own != container_type);
        let (action, id, perm_data) = (entry.action, entry.id, entry.perm_data);
        match action == FilterAction::CLEAR || entry.data.data_type() == DataType::NO_DATA {
            true => writer.bare_entry(action, id, None, perm_data)?,
            false => write(writer.entry(action, id, own_type, perm_data)?, &entry.data)?,
        }
    }
    Ok(writer.finish()?)
}

fn write(slot: Slot<'_, '_>, data: &Encoded<'_>) -> Result<(), EncodeError> {
    match data.is_empty() {
        true => slot.empty(),
        false => slot.encoded(data),
    }
}

#[cfg(test)]
mod tests {
    use tapeline_rwf::{Domain, FieldListHead, RefreshMsg, State};

    use super::*;

    const LOCK: Option<&[u8]> = Some(&[3, 1]);

    fn book(write: impl FnOnce(Slot<'_, '_>), data_type: DataType) -> Vec<u8> {
        let mut buffer = vec![0; 1000];
        let mut encoder = Encoder::new(&mut buffer);
        let state = State::open_ok("");
        let head = RefreshMsg { state, ..RefreshMsg::new(Domain::MARKET_BY_ORDER, 5) };
        write(encoder.begin(&head.into(), data_type).expect("room"));
        let len = encoder.finish().expect("room");
        buffer.truncate(len);
        buffer
    }

    fn fields(slot: Slot<'_, '_>, value: u64) {
        let mut list = slot.field_list(&FieldListHead::STANDARD).expect("room");
        list.put(1, value).expect("room");
        list.finish().expect("room");
    }

    fn orders(keys: &[(&[u8], Option<&[u8]>)]) -> Vec<u8> {
        let write = |slot: Slot<'_, '_>| {
            let head = MapHead::new(DataType::BUFFER, DataType::FIELD_LIST);
            let mut map = slot.map(&head).expect("room");
            fields(map.summary().expect("room"), 7);
            for (key, lock) in keys {
                let key = Primitive::Buffer(key);
                fields(map.entry(MapAction::ADD, key, *lock).expect("room"), 8);
            }
            map.finish().expect("room");
        };
        book(write, DataType::MAP)
    }

    fn without(bytes: &[u8], keep: impl FnMut(Entry<'_>) -> bool) -> Vec<u8> {
        let mut buffer = vec![0; 1000];
        let msg = Msg::decode(bytes).expect("a message");
        let len = write_some(&msg, keep, &mut buffer).expect("room");
        buffer.truncate(len);
        buffer
    }

    #[test]
    fn what_is_left_of_a_map_is_what_would_have_been_written() {
        let all = orders(&[(b"A", None), (b"B", LOCK), (b"C", None)]);
        let is_locked =
            |bytes: &[u8]| has_locked_entries(&Msg::decode(bytes).expect("a message").payload());
        assert!(is_locked(&all));
        let open = without(&all, |entry| entry.perm_data.is_none());
        assert_eq!(open, orders(&[(b"A", None), (b"C", None)]));
        assert!(!is_locked(&open));
        assert_eq!(without(&all, |_| true), all);
        assert_eq!(without(&all, |entry| entry.key == b"B"), orders(&[(b"B", LOCK)]));
    }

    #[test]
    fn vectors_and_filter_lists_lose_entries_as_well() {
        let vector = |locks: &[Option<&[u8]>]| {
            let write = |slot: Slot<'_, '_>| {
                let head = VectorHead::new(DataType::FIELD_LIST);
                let mut vector = slot.vector(&head).expect("room");
                for lock in locks {
                    fields(vector.entry(VectorAction::SET, 4, *lock).expect("room"), 8);
                }
                vector.finish().expect("room");
            };
            book(write, DataType::VECTOR)
        };
        let is_open = |entry: Entry<'_>| entry.perm_data.is_none();
        assert_eq!(without(&vector(&[None, LOCK]), is_open), vector(&[None]));
        let filters = |locks: &[Option<&[u8]>]| {
            let write = |slot: Slot<'_, '_>| {
                let head = FilterListHead::new(DataType::ELEMENT_LIST);
                let mut list = slot.filter_list(&head).expect("room");
                for (id, lock) in (1..).zip(locks) {
                    let own = Some(DataType::FIELD_LIST);
                    fields(list.entry(FilterAction::SET, id, own, *lock).expect("room"), 8);
                }
                list.finish().expect("room");
            };
            book(write, DataType::FILTER_LIST)
        };
        assert_eq!(without(&filters(&[None, LOCK]), is_open), filters(&[None]));
        let mut seen = Vec::new();
        let all = filters(&[None, LOCK]);
        let payload = Msg::decode(&all).expect("a message").payload();
        see_entries(&payload, |entry| seen.push((entry.key[0], entry.perm_data.is_some())))
            .expect("it can be read");
        assert_eq!(seen, [(1, false), (2, true)]);
    }
}
