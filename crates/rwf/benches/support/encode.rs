//! Encoding as a provider does it: from plain values into a buffer that is
//! used again.

use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, FieldListHead, MapAction, MapHead, Msg, Qos,
    RefreshFlags, RefreshMsg, Slot, State, UpdateMsg, UpdateType,
};

use super::load::{Book, Class, Fields, Header, Message, Payload};

/// Writes the message to the front of the buffer and gives its length.
pub(super) fn message(message: &Message, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let mut encoder = Encoder::new(buffer);
    let header = header(&message.header);
    match &message.payload {
        Payload::FieldList { info, fields } => {
            let head = FieldListHead { info: *info, ..FieldListHead::STANDARD };
            field_list(encoder.begin(&header, DataType::FIELD_LIST)?, &head, fields)?;
        }
        Payload::Book(content) => book(encoder.begin(&header, DataType::MAP)?, content)?,
    }
    encoder.finish()
}

fn header(header: &Header) -> Msg<'static> {
    let (domain, stream_id) = (Domain(header.domain), header.stream_id);
    match header.class {
        Class::Update { update_type } => Msg::Update(UpdateMsg {
            update_type: UpdateType(update_type),
            seq_num: Some(header.seq_num),
            key: header.key,
            ..UpdateMsg::new(domain, stream_id)
        }),
        Class::Refresh { state_text, group_id, perm_data } => Msg::Refresh(RefreshMsg {
            flags: RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE,
            seq_num: Some(header.seq_num),
            state: State::open_ok(state_text),
            group_id,
            perm_data: Some(perm_data),
            qos: Some(Qos::REALTIME_TICK_BY_TICK),
            key: header.key,
            ..RefreshMsg::new(domain, stream_id)
        }),
    }
}

fn field_list<'e>(
    slot: Slot<'e, '_>,
    head: &FieldListHead<'e>,
    fields: &Fields,
) -> Result<(), EncodeError> {
    let mut list = slot.field_list(head)?;
    for (field_id, value) in fields {
        list.put(*field_id, *value)?;
    }
    list.finish()
}

fn book(slot: Slot<'_, '_>, book: &Book) -> Result<(), EncodeError> {
    let set_defs = book.set_defs.as_ref().map(|defs| defs.defs());
    let row_head = match set_defs.and_then(|defs| defs.field_set(0)) {
        Some(set) => FieldListHead::set_defined(set),
        None => FieldListHead::STANDARD,
    };
    let mut map = slot.map(&MapHead {
        key_field_id: Some(book.key_field_id),
        set_defs,
        total_count_hint: Some(book.rows.len() as u32),
        ..MapHead::new(DataType::RMTES_STRING, DataType::FIELD_LIST)
    })?;
    field_list(map.summary()?, &FieldListHead::STANDARD, &book.summary)?;
    for (key, fields) in &book.rows {
        field_list(map.entry(MapAction::ADD, *key, None)?, &row_head, fields)?;
    }
    map.finish()
}
