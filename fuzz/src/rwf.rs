//! Data for the targets of `tapeline-rwf`.
//!
//! Every input of `rwf_data` and `rwf_rewrite` begins with the type code of the
//! data that follows.

use tapeline_rwf::{
    DataType, ElementListHead, EncodeError, Encoded, Encoder, FieldListHead, Map, MapHead, Msg,
    MsgHeader, MsgView, Primitive, Slot, check,
};

/// A type for every field id, so that every decoder is met.
pub fn field_type(field_id: i16) -> DataType {
    const TYPES: [u8; 24] = [
        8, 14, 4, 19, 3, 5, 6, 9, 10, 11, 12, 13, 15, 16, 17, 18, 132, 133, 135, 136, 137, 138,
        141, 130,
    ];
    DataType(TYPES[field_id.rem_euclid(TYPES.len() as i16) as usize])
}

/// Everything that can be asked of data without changing it.
pub fn decode(data: &Encoded<'_>) {
    let header = MsgHeader::decode(data.bytes());
    let msg = Msg::decode(data.bytes());
    if let (Ok(header), Ok(msg)) = (&header, &msg) {
        assert_eq!(header.class, msg.class());
        assert_eq!(header.stream_id, msg.stream_id());
        assert_eq!(header.payload_start, data.bytes().len() - msg.payload().bytes().len());
    }
    assert!(header.is_ok() || msg.is_err(), "a message needs a header");
    if let Ok(view) = MsgView::decode(data.bytes()) {
        let parts = (view.update_type(), view.seq_num(), view.key());
        if let Ok(msg) = &msg {
            assert_eq!((parts.1, parts.2), (Ok(msg.seq_num()), Ok(msg.key().copied())));
        }
        assert_eq!(view.msg(), msg);
    }
    if let Err(error) = check(data, field_type) {
        assert!(error.offset as usize <= data.bytes().len(), "{error}");
        assert!(!error.to_string().is_empty());
    }
}

/// Writes what a decoder reads again, and reads that: both must be the same.
/// Lists, maps and messages are taken apart and put together; what is inside
/// values goes as it is.
pub fn write_again(data: &Encoded<'_>) {
    let mut first = vec![0; 2 * data.bytes().len() + 64];
    let Some(len) = rewritten(data, &mut first) else { return };
    let mut second = vec![0; first.len()];
    let again = Encoded::new(data.data_type(), &first[..len]);
    let len_again = rewritten(&again, &mut second).expect("its own encoding decodes");
    assert_eq!(first[..len], second[..len_again], "writing is settled after once");
}

fn rewritten(data: &Encoded<'_>, buffer: &mut [u8]) -> Option<usize> {
    let mut encoder = Encoder::new(buffer);
    match data.data_type() {
        DataType::MSG => encoder.message(&data.msg().ok()?).ok()?,
        DataType::MAP => {
            let map = data.map().ok()?;
            map.iter().collect::<Result<Vec<_>, _>>().ok()?;
            copy_map(&map, encoder.container(DataType::MAP)).ok()?;
        }
        DataType::FIELD_LIST => {
            let list = data.field_list().ok()?;
            let mut writer = encoder
                .container(DataType::FIELD_LIST)
                .field_list(&FieldListHead::STANDARD)
                .ok()?;
            for entry in &list {
                let entry = entry.ok()?;
                let value = entry.primitive(field_type(entry.field_id)).ok()?;
                writer.put(entry.field_id, value).ok()?;
            }
            writer.finish().ok()?;
        }
        DataType::ELEMENT_LIST => {
            let list = data.element_list().ok()?;
            let mut writer = encoder
                .container(DataType::ELEMENT_LIST)
                .element_list(&ElementListHead::STANDARD)
                .ok()?;
            for entry in &list {
                let entry = entry.ok()?;
                let value = entry.value;
                match value.primitive().ok()? {
                    Primitive::Other(data_type, bytes) => {
                        writer.bytes(entry.name, data_type, bytes).ok()?;
                    }
                    value => writer.put(entry.name, value).ok()?,
                }
            }
            writer.finish().ok()?;
        }
        _ => encoder.container(data.data_type()).primitive(data.primitive().ok()?).ok()?,
    }
    Some(encoder.finish().expect("twice the room is enough"))
}

fn copy_map(map: &Map<'_>, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
    let mut writer = slot.map(&MapHead {
        key_type: map.key_type(),
        container_type: map.container_type(),
        key_field_id: map.key_field_id(),
        set_defs: map.local_set_defs(),
        total_count_hint: map.total_count_hint(),
    })?;
    if let Some(summary) = map.summary() {
        writer.summary()?.encoded(&summary)?;
    }
    for entry in map.iter().flatten() {
        // A key that decodes to no value of its type is blank.
        let key = entry.key.primitive().unwrap_or(Primitive::Blank(map.key_type().base()));
        match writer.bare_entry(entry.action, key, entry.perm_data) {
            Ok(()) => {}
            Err(_) => writer.entry(entry.action, key, entry.perm_data)?.encoded(&entry.data)?,
        }
    }
    writer.finish()
}
