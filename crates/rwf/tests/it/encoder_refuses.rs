//! What cannot be written is an error, one row a cause; what was written before
//! and what comes after is not touched by it.

use tapeline_rwf::{
    DataState, DataType, Date, Domain, ElementListHead, EncodeError, Encoded, Encoder,
    FieldListHead, FieldListInfo, FilterAction, FilterListHead, LocalSetDefsBuf, MapAction,
    MapHead, Msg, MsgKey, Primitive, Qos, RequestMsg, Series, SeriesHead, SetHead, State,
    StateCode, StatusMsg, StreamState, Time, UpdateFlags, UpdateMsg, VectorAction, VectorHead,
    check,
};

/// Encodes with `write` into ample room; its error, or that of the end.
fn refused(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> EncodeError {
    let mut buffer = vec![0; 1 << 20];
    let mut encoder = Encoder::new(&mut buffer);
    match write(&mut encoder) {
        Err(error) => error,
        Ok(()) => encoder.finish().expect_err("something was to be refused"),
    }
}

fn is_order(error: &EncodeError) -> bool {
    matches!(error, EncodeError::Order { .. })
}

fn is_range(error: &EncodeError) -> bool {
    matches!(error, EncodeError::OutOfRange { .. })
}

fn is_type(error: &EncodeError) -> bool {
    matches!(error, EncodeError::WrongType { .. })
}

fn is_long(error: &EncodeError) -> bool {
    matches!(error, EncodeError::TooLong { .. })
}

fn is_many(error: &EncodeError) -> bool {
    matches!(error, EncodeError::TooMany { .. })
}

/// What a row of the tables does, and the kind of error it must give.
type Row =
    (&'static str, fn(&mut Encoder<'_>) -> Result<(), EncodeError>, fn(&EncodeError) -> bool);

fn check_rows(rows: &[Row]) {
    for (what, write, is_right) in rows {
        let error = refused(write);
        assert!(is_right(&error), "{what}: {error}");
    }
}

const UPDATE: UpdateMsg<'_> = UpdateMsg::new(Domain::MARKET_PRICE, 5);

fn begin_map<'e, 'b>(
    encoder: &'e mut Encoder<'b>,
    head: &MapHead<'_>,
) -> Result<tapeline_rwf::MapWriter<'e, 'b>, EncodeError> {
    encoder.container(DataType::MAP).map(head)
}

#[test]
fn counts_have_a_limit() {
    check_rows(&[
        (
            "fields",
            |e| {
                let mut list =
                    e.container(DataType::FIELD_LIST).field_list(&FieldListHead::STANDARD)?;
                (0..=65_535).try_for_each(|_| list.blank(1))?;
                list.finish()
            },
            is_many,
        ),
        (
            "map entries",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::UINT, DataType::NO_DATA))?;
                (0..=65_535_u64).try_for_each(|n| map.bare_entry(MapAction::ADD, n, None))?;
                map.finish()
            },
            is_many,
        ),
        (
            "array items",
            |e| {
                let mut array = e.container(DataType::ARRAY).array(DataType::UINT, 1)?;
                (0..=65_535).try_for_each(|_| array.put(1_u64))?;
                array.finish()
            },
            is_many,
        ),
        (
            "filter list entries",
            |e| {
                let head = FilterListHead::new(DataType::NO_DATA);
                let mut list = e.container(DataType::FILTER_LIST).filter_list(&head)?;
                (0..=255).try_for_each(|_| list.bare_entry(FilterAction::SET, 1, None, None))?;
                list.finish()
            },
            is_many,
        ),
        (
            "containers inside each other",
            |e| nested_series(e, 17),
            |error| *error == EncodeError::Depth,
        ),
    ]);
}

/// Series inside series, as many as `depth`.
fn nested_series(encoder: &mut Encoder<'_>, depth: usize) -> Result<(), EncodeError> {
    fn inside(slot: tapeline_rwf::Slot<'_, '_>, depth: usize) -> Result<(), EncodeError> {
        let mut series = slot.series(&SeriesHead::new(DataType::SERIES))?;
        match depth {
            1 => series.entry()?.empty()?,
            _ => inside(series.entry()?, depth - 1)?,
        }
        series.finish()
    }
    inside(encoder.container(DataType::SERIES), depth)
}

#[test]
fn what_is_as_deep_as_allowed_decodes() {
    let mut buffer = vec![0; 1000];
    let mut encoder = Encoder::new(&mut buffer);
    nested_series(&mut encoder, 16).expect("16 levels");
    let bytes = encoder.finish_bytes().expect("room");
    check(&Encoded::new(DataType::SERIES, bytes), |_| DataType::UNKNOWN).expect("16 levels");
    let outer: Series<'_> = Encoded::new(DataType::SERIES, bytes).series().expect("a series");
    assert_eq!(outer.len(), 1);
}

#[test]
fn lengths_have_a_limit() {
    static LONG: [u8; 70_000] = [b'x'; 70_000];
    check_rows(&[
        ("a key name", |e| key(e, |key| key.name = Some(&LONG[..256])), is_long),
        (
            "attributes",
            |e| key(e, |key| key.attrib = Some(Encoded::new(DataType::OPAQUE, &LONG[..32_768]))),
            is_long,
        ),
        (
            "a whole key",
            |e| {
                key(e, |key| {
                    key.name = Some(&LONG[..200]);
                    key.attrib = Some(Encoded::new(DataType::OPAQUE, &LONG[..32_760]));
                })
            },
            is_long,
        ),
        (
            "permission data",
            |e| update(e, |update| update.perm_data = Some(&LONG[..32_768])),
            is_long,
        ),
        (
            "an extended header",
            |e| update(e, |update| update.extended_header = Some(&LONG[..256])),
            is_long,
        ),
        (
            "a whole header",
            |e| {
                update(e, |update| {
                    update.perm_data = Some(&LONG[..32_767]);
                    update.key = Some(MsgKey {
                        attrib: Some(Encoded::new(DataType::OPAQUE, &LONG[..32_755])),
                        ..MsgKey::EMPTY
                    });
                })
            },
            is_long,
        ),
        (
            "entry data",
            |e| {
                let mut series =
                    e.container(DataType::SERIES).series(&SeriesHead::new(DataType::OPAQUE))?;
                series.entry()?.bytes(&LONG[..65_536])
            },
            is_long,
        ),
        (
            "a map key",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::BUFFER, DataType::NO_DATA))?;
                map.bare_entry(MapAction::ADD, Primitive::Buffer(&LONG[..32_768]), None)
            },
            is_long,
        ),
        (
            "set data in front of standard data",
            |e| {
                let defs =
                    LocalSetDefsBuf::fields(&[(0, &[(1, DataType::BUFFER)])]).expect("valid");
                let defs = defs.defs();
                let set = Some(SetHead { id: None, def: defs.field_set(0) });
                let head = FieldListHead { info: None, set, standard: true };
                let mut list = e.container(DataType::FIELD_LIST).field_list(&head)?;
                list.put(1, Primitive::Buffer(&LONG[..32_767]))
            },
            is_long,
        ),
        (
            "set definitions",
            |_| {
                let name = "n".repeat(30_000);
                let entries = [(name.as_str(), DataType::UINT)];
                LocalSetDefsBuf::elements(&[(0, &entries), (1, &entries)]).map(drop)
            },
            is_long,
        ),
    ]);
}

fn key(
    encoder: &mut Encoder<'_>,
    change: impl FnOnce(&mut MsgKey<'static>),
) -> Result<(), EncodeError> {
    let mut request = RequestMsg::new(Domain::MARKET_PRICE, 5);
    change(&mut request.key);
    encoder.message(&request.into())
}

fn update(
    encoder: &mut Encoder<'_>,
    change: impl FnOnce(&mut UpdateMsg<'static>),
) -> Result<(), EncodeError> {
    let mut update = UPDATE;
    change(&mut update);
    encoder.message(&update.into())
}

#[test]
fn values_have_a_range() {
    check_rows(&[
        (
            "message flags",
            |e| update(e, |update| update.flags = UpdateFlags::from_bits_retain(0x8000)),
            is_range,
        ),
        (
            "a payload that is no container",
            |e| e.begin(&UPDATE.into(), DataType::UINT).map(drop),
            is_range,
        ),
        (
            "content of no data",
            |e| e.begin(&UPDATE.into(), DataType::NO_DATA)?.bytes(b"x"),
            is_range,
        ),
        (
            "a dictionary id",
            |e| {
                let info = FieldListInfo { dictionary_id: 0x8000, list_number: 0 };
                let head = FieldListHead::with_info(info);
                e.container(DataType::FIELD_LIST).field_list(&head).map(drop)
            },
            is_range,
        ),
        (
            "a vector index",
            |e| {
                let head = VectorHead::new(DataType::NO_DATA);
                let mut vector = e.container(DataType::VECTOR).vector(&head)?;
                vector.bare_entry(VectorAction::SET, 1 << 30, None)
            },
            is_range,
        ),
        (
            "an action",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::UINT, DataType::OPAQUE))?;
                map.entry(MapAction(0x13), 1_u64, None).map(drop)
            },
            is_range,
        ),
        (
            "a key type",
            |e| begin_map(e, &MapHead::new(DataType::ARRAY, DataType::OPAQUE)).map(drop),
            is_range,
        ),
        ("an array of arrays", |e| array(e, DataType::ARRAY, 0), is_range),
        ("a length of an enumeration", |e| array(e, DataType::ENUM, 4), is_range),
        ("a length of reals", |e| array(e, DataType::REAL, 4), is_range),
        (
            "a blank of a fixed length",
            |e| {
                let mut array = e.container(DataType::ARRAY).array(DataType::ASCII_STRING, 3)?;
                array.put(Primitive::Blank(DataType::ASCII_STRING))
            },
            is_range,
        ),
        (
            "an integer of a fixed length",
            |e| {
                let mut array = e.container(DataType::ARRAY).array(DataType::INT, 1)?;
                array.put(128_i64)
            },
            is_range,
        ),
        ("a stream state", |e| status(e, StreamState(33), DataState::OK), is_range),
        ("a data state", |e| status(e, StreamState::OPEN, DataState(9)), is_range),
        ("a date", |e| value(e, Date::new(2025, 20, 40)), is_range),
        ("a time", |e| value(e, Time::new(1, 2, 3).with_subseconds(4, 5000, 6)), is_range),
        (
            "a quality of service",
            |e| {
                let qos = Qos { rate: tapeline_rwf::Rate(17), ..Qos::REALTIME_TICK_BY_TICK };
                value(e, qos)
            },
            is_range,
        ),
        (
            "a set of states",
            |_| LocalSetDefsBuf::fields(&[(0, &[(1, DataType::STATE)])]).map(drop),
            is_range,
        ),
        (
            "field definitions for element lists",
            |e| {
                let defs = LocalSetDefsBuf::fields(&[(0, &[])]).expect("valid");
                let set_defs = Some(defs.defs());
                let head = SeriesHead { set_defs, ..SeriesHead::new(DataType::ELEMENT_LIST) };
                e.container(DataType::SERIES).series(&head).map(drop)
            },
            is_range,
        ),
    ]);
}

fn array(encoder: &mut Encoder<'_>, item_type: DataType, len: u16) -> Result<(), EncodeError> {
    encoder.container(DataType::ARRAY).array(item_type, len).map(drop)
}

fn value<'v>(
    encoder: &mut Encoder<'_>,
    value: impl Into<Primitive<'v>>,
) -> Result<(), EncodeError> {
    let slot = encoder.container(DataType::FIELD_LIST);
    slot.field_list(&FieldListHead::STANDARD)?.put(1, value)
}

fn status(
    encoder: &mut Encoder<'_>,
    stream: StreamState,
    data: DataState,
) -> Result<(), EncodeError> {
    let mut status = StatusMsg::new(Domain::MARKET_PRICE, 5);
    status.state = Some(State::new(stream, data, StateCode::NONE, ""));
    encoder.message(&status.into())
}

#[test]
fn places_have_a_type() {
    check_rows(&[
        (
            "a list in the place of a map",
            |e| e.container(DataType::MAP).field_list(&FieldListHead::STANDARD).map(drop),
            is_type,
        ),
        (
            "data of another type",
            |e| e.container(DataType::MAP).encoded(&Encoded::new(DataType::XML, b"")),
            is_type,
        ),
        (
            "a key of another type",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::UINT, DataType::NO_DATA))?;
                map.bare_entry(MapAction::ADD, 1_i64, None)
            },
            is_type,
        ),
        (
            "an item of another type",
            |e| e.container(DataType::ARRAY).array(DataType::UINT, 0)?.put(1_i64),
            is_type,
        ),
        (
            "an element of a set-only form",
            |e| {
                let slot = e.container(DataType::ELEMENT_LIST);
                let mut list = slot.element_list(&ElementListHead::STANDARD)?;
                list.bytes(b"A", DataType::UINT_2, &[0, 1])
            },
            is_type,
        ),
    ]);
}

#[test]
fn parts_have_an_order() {
    check_rows(&[
        (
            "summary data after an entry",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::UINT, DataType::OPAQUE))?;
                map.entry(MapAction::ADD, 1_u64, None)?.bytes(b"x")?;
                map.summary().map(drop)
            },
            is_order,
        ),
        (
            "summary data twice",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::UINT, DataType::OPAQUE))?;
                map.summary()?.bytes(b"x")?;
                map.summary().map(drop)
            },
            is_order,
        ),
        (
            "data of a deleted entry",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::UINT, DataType::OPAQUE))?;
                map.entry(MapAction::DELETE, 1_u64, None).map(drop)
            },
            is_order,
        ),
        (
            "an entry without its data",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::UINT, DataType::OPAQUE))?;
                map.bare_entry(MapAction::ADD, 1_u64, None)
            },
            is_order,
        ),
        (
            "standard data that was not announced",
            |e| {
                let head = FieldListHead { info: None, set: None, standard: false };
                e.container(DataType::FIELD_LIST).field_list(&head)?.put(1, 1_u64)
            },
            is_order,
        ),
        (
            "attributes without a key",
            |e| {
                let close = tapeline_rwf::CloseMsg::new(Domain::MARKET_PRICE, 5).into();
                let (none, opaque) = (DataType::NO_DATA, DataType::OPAQUE);
                e.begin_with_attrib(&close, none, opaque, |slot| slot.bytes(b"")).map(drop)
            },
            is_order,
        ),
    ]);
}

#[test]
fn what_is_begun_is_to_be_finished() {
    let unfinished = |error: &EncodeError| *error == EncodeError::Unfinished;
    check_rows(&[
        (
            "a list dropped",
            |e| e.container(DataType::FIELD_LIST).field_list(&FieldListHead::STANDARD).map(drop),
            unfinished,
        ),
        (
            "a slot behind a length dropped",
            |e| {
                let mut map = begin_map(e, &MapHead::new(DataType::UINT, DataType::OPAQUE))?;
                drop(map.entry(MapAction::ADD, 1_u64, None)?);
                map.finish()
            },
            unfinished,
        ),
        (
            "a message behind a dropped list",
            |e| {
                let slot = e.container(DataType::FIELD_LIST);
                drop(slot.field_list(&FieldListHead::STANDARD)?);
                e.message(&UPDATE.into())
            },
            unfinished,
        ),
    ]);
}

#[test]
fn what_fails_leaves_the_rest_as_it_was() {
    let mut buffer = vec![0; 1000];
    let mut encoder = Encoder::new(&mut buffer);
    let mut request = RequestMsg::new(Domain::MARKET_PRICE, 5);
    let long = "x".repeat(300);
    request.key = MsgKey::item(1, &long);
    encoder.message(&request.into()).expect_err("a name of 300 bytes");
    assert_eq!(encoder.position(), 0);
    let slot = encoder.begin(&UPDATE.into(), DataType::MAP).expect("a good header");
    let head =
        MapHead { total_count_hint: Some(2), ..MapHead::new(DataType::UINT, DataType::OPAQUE) };
    let mut map = slot.map(&head).expect("a map begins");
    map.entry(MapAction(16), 1_u64, None).expect_err("an action of five bits");
    map.entry(MapAction::ADD, 1_i64, None).expect_err("a key of another type");
    map.summary().expect("no entry was written").bytes(b"s").expect("bytes");
    map.entry(MapAction::ADD, 1_u64, None).expect("right").bytes(b"x").expect("bytes");
    map.finish().expect("complete");
    let bytes = encoder.finish_bytes().expect("room");
    let msg = Msg::decode(bytes).expect("a message");
    let map = msg.payload().map().expect("a map");
    let summary = map.summary().map(|summary| summary.bytes());
    assert_eq!((map.len(), summary, map.total_count_hint()), (1, Some(&b"s"[..]), Some(2)));
    assert_eq!(map.iter().flatten().map(|entry| entry.data.bytes()).collect::<Vec<_>>(), [b"x"]);
}

#[test]
fn a_buffer_one_byte_short_says_one_byte() {
    let mut buffer = [0; 11];
    let mut encoder = Encoder::new(&mut buffer);
    let slot = encoder.begin(&UPDATE.into(), DataType::FIELD_LIST).expect("counts on");
    slot.bytes(b"x").expect("counts on");
    assert_eq!(encoder.finish(), Err(EncodeError::BufferTooSmall { missing: 1 }));
}
