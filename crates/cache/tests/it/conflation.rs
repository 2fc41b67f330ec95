//! Which updates are merged, and what the header of the result says.

use tapeline_cache::{Conflation, Limits, Merged};
use tapeline_rwf::{
    DataType, Domain, Encoded, Msg, MsgKey, PostUserInfo, UpdateFlags, UpdateMsg, UpdateType,
};

/// Field 1 with one byte.
const FIELDS: &[u8] = &[8, 0, 1, 0, 1, 1, 7];

fn update() -> UpdateMsg<'static> {
    let payload = Encoded::new(DataType::FIELD_LIST, FIELDS);
    UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_PRICE, 5) }
}

fn waiting() -> Conflation {
    let mut conflation = Conflation::new(Limits::CONFLATION);
    assert_eq!(conflation.merge(1000, &update()), Merged::Yes);
    conflation
}

fn take<'b>(conflation: &mut Conflation, info: bool, out: &'b mut Vec<u8>) -> UpdateMsg<'b> {
    assert!(conflation.take(9, None, info, out));
    match Msg::decode(out).expect("well-formed") {
        Msg::Update(update) => update,
        other => panic!("not an update: {other:?}"),
    }
}

#[test]
fn one_update_comes_out_as_it_went_in() {
    let mut first = update();
    first.update_type = UpdateType::TRADE;
    first.seq_num = Some(4);
    first.perm_data = Some(b"lock");
    first.post_user_info = Some(PostUserInfo { address: 1, user_id: 2 });
    first.flags = UpdateFlags::DO_NOT_RIPPLE | UpdateFlags::DISCARDABLE;
    let mut conflation = Conflation::new(Limits::CONFLATION);
    assert_eq!(conflation.merge(0, &first), Merged::Yes);
    let mut out = Vec::new();
    let taken = take(&mut conflation, false, &mut out);
    let flags = taken.flags & first.flags;
    assert_eq!(UpdateMsg { stream_id: 5, flags, ..taken }, first);
    assert!(conflation.is_empty());
    assert!(!conflation.take(9, None, false, &mut Vec::new()));
}

#[test]
fn the_header_tells_of_all_updates() {
    let mut conflation = waiting();
    let mut second = update();
    second.update_type = UpdateType::QUOTE;
    second.seq_num = Some(8);
    second.conflation = Some(tapeline_rwf::Conflation { count: 3, time_ms: 20 });
    assert_eq!(conflation.merge(1250, &second), Merged::Yes);
    assert_eq!(conflation.count(), 4);
    let mut out = Vec::new();
    let taken = take(&mut conflation, true, &mut out);
    assert_eq!((taken.update_type, taken.seq_num), (UpdateType::MULTIPLE, Some(8)));
    let info = taken.conflation.expect("asked for");
    assert_eq!((info.count, info.time_ms), (4, 250));
}

#[test]
fn updates_of_another_kind_are_not_merged() {
    let other = [
        UpdateMsg { flags: UpdateFlags::DO_NOT_CONFLATE, ..update() },
        UpdateMsg { flags: UpdateFlags::DO_NOT_CACHE, ..update() },
        UpdateMsg { flags: UpdateFlags::DO_NOT_RIPPLE, ..update() },
        UpdateMsg { perm_data: Some(b"other"), ..update() },
        UpdateMsg { extended_header: Some(b"x"), ..update() },
        UpdateMsg { payload: Encoded::new(DataType::XML, b"<a/>"), ..update() },
        UpdateMsg { payload: Encoded::new(DataType::FIELD_LIST, &[8, 0, 1, 0]), ..update() },
    ];
    for update in other {
        let mut conflation = waiting();
        assert_eq!(conflation.merge(1001, &update), Merged::No, "{update:?}");
        let mut out = Vec::new();
        assert_eq!(take(&mut conflation, false, &mut out).payload.bytes(), FIELDS);
    }
}

#[test]
fn partial_updates_of_texts_are_not_merged() {
    let partial = [8, 0, 1, 0, 1, 5, 0x1B, b'[', b'3', b'`', b'x'];
    let partial = UpdateMsg { payload: Encoded::new(DataType::FIELD_LIST, &partial), ..update() };
    assert_eq!(waiting().merge(0, &partial), Merged::No);
    assert_eq!(Conflation::new(Limits::CONFLATION).merge(0, &partial), Merged::No);
}

#[test]
fn a_partial_update_of_a_text_among_many_fields_is_not_merged_either() {
    let mut many = vec![8, 0, 21];
    for fid in 1..=20 {
        many.extend_from_slice(&[0, fid, 1, 7]);
    }
    many.extend_from_slice(&[0, 21, 5, 0x1B, b'[', b'3', b'`', b'x']);
    let merged = |bytes: &[u8]| {
        let update = UpdateMsg { payload: Encoded::new(DataType::FIELD_LIST, bytes), ..update() };
        Conflation::new(Limits::CONFLATION).merge(0, &update)
    };
    assert_eq!(merged(&many), Merged::No);
    many.truncate(3 + 20 * 4);
    many[2] = 20;
    assert_eq!(merged(&many), Merged::Yes);
}

#[test]
fn updates_without_content_are_merged_into_one_without() {
    for (container_type, bytes) in [(DataType::NO_DATA, 0), (DataType::FIELD_LIST, FIELDS.len())] {
        let empty = UpdateMsg { payload: Encoded::new(container_type, &[]), ..update() };
        let first =
            UpdateMsg { payload: Encoded::new(container_type, &FIELDS[..bytes]), ..update() };
        let mut conflation = Conflation::new(Limits::CONFLATION);
        assert_eq!(conflation.merge(0, &first), Merged::Yes, "{container_type}");
        assert_eq!(conflation.merge(0, &empty), Merged::Yes, "{container_type}");
        let mut out = Vec::new();
        let taken = take(&mut conflation, false, &mut out);
        assert_eq!(taken.payload.bytes(), &FIELDS[..bytes], "{container_type}");
    }
}

/// A series of one-byte entries, each field 1 with this value; none for one
/// that says it has more.
fn series(values: &[Option<u8>]) -> Vec<u8> {
    let mut bytes = vec![0, 4, 0, values.len() as u8];
    for value in values {
        let fields = value.map_or(2, |_| 1);
        bytes.extend_from_slice(&[7, 8, 0, fields, 0, 1, 1, value.unwrap_or(0)]);
    }
    bytes
}

#[test]
fn a_series_that_fails_half_way_leaves_nothing_behind() {
    let update = |payload| UpdateMsg { payload, ..update() };
    let of = |bytes| Encoded::new(DataType::SERIES, bytes);
    let (first, bad) = (series(&[Some(1)]), series(&[Some(2), None]));
    let mut conflation = Conflation::new(Limits::CONFLATION);
    assert_eq!(conflation.merge(0, &update(of(&first))), Merged::Yes);
    // It is sent as it is, behind what waits: no entry twice.
    assert_eq!(conflation.merge(0, &update(of(&bad))), Merged::No);
    let mut out = Vec::new();
    assert_eq!(take(&mut conflation, false, &mut out).payload.bytes(), first);
    assert_eq!(conflation.merge(0, &update(of(&bad))), Merged::No);
    let last = series(&[Some(3), Some(4)]);
    assert_eq!(conflation.merge(0, &update(of(&last))), Merged::Yes);
    let mut out = Vec::new();
    assert_eq!(take(&mut conflation, false, &mut out).payload.bytes(), last);
}

#[test]
fn what_waits_stays_within_its_limit() {
    let limits = Limits { max_bytes: 10, ..Limits::CONFLATION };
    let mut conflation = Conflation::new(limits);
    assert_eq!(conflation.merge(0, &update()), Merged::Yes);
    assert_eq!(conflation.merge(0, &update()), Merged::TooMuch);
    let mut out = Vec::new();
    take(&mut conflation, false, &mut out);
    assert_eq!(conflation.merge(0, &update()), Merged::Yes);
}

#[test]
fn what_waits_may_be_as_much_as_its_limit() {
    let limits = Limits { max_bytes: 2 * FIELDS.len() as u32, ..Limits::CONFLATION };
    let mut conflation = Conflation::new(limits);
    assert_eq!(conflation.merge(0, &update()), Merged::Yes);
    assert_eq!(conflation.merge(0, &update()), Merged::Yes);
}

#[test]
fn a_key_is_written_when_it_is_wanted() {
    let name = "N".repeat(200);
    let key = MsgKey::item(3, &name);
    let mut out = vec![0xEE];
    assert!(waiting().take(9, Some(key), false, &mut out));
    let Ok(Msg::Update(taken)) = Msg::decode(&out[1..]) else { panic!("an update") };
    let taken_name = taken.key.and_then(|key| key.name);
    assert_eq!((taken_name, taken.stream_id), (Some(name.as_bytes()), 9));
    assert_eq!(taken.payload.bytes(), FIELDS);
}
