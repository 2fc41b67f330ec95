//! Maps and what is in their rows, one rule at a time.

use tapeline_cache::{Applied, CacheError, Image, Limits};
use tapeline_rwf::{
    DataType, Domain, Encoded, Encoder, FieldListHead, FilterAction, FilterListHead,
    LocalSetDefsBuf, Map, MapAction, MapHead, Primitive, Real, RefreshFlags, RefreshMsg, Slot,
    UpdateMsg,
};

const ADD: MapAction = MapAction::ADD;
const UPDATE: MapAction = MapAction::UPDATE;
const DELETE: MapAction = MapAction::DELETE;

fn encode(container_type: DataType, write: impl FnOnce(Slot<'_, '_>)) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 16];
    let mut encoder = Encoder::new(&mut buffer);
    write(encoder.container(container_type));
    encoder.finish_bytes().expect("room").to_vec()
}

fn write_fields(slot: Slot<'_, '_>, fields: &[(i16, u64)]) {
    let mut list = slot.field_list(&FieldListHead::STANDARD).expect("begins");
    for (field_id, value) in fields {
        list.put(*field_id, *value).expect("a field");
    }
    list.finish().expect("ends");
}

type Row<'a> = (MapAction, &'a str, &'a [(i16, u64)]);

fn write_rows(slot: Slot<'_, '_>, head: &MapHead<'_>, rows: &[Row<'_>]) {
    let mut map = slot.map(head).expect("begins");
    for (action, key, fields) in rows {
        let key = Primitive::ascii(key);
        if *action == DELETE || head.container_type == DataType::NO_DATA {
            map.bare_entry(*action, key, None).expect("a row");
        } else {
            write_fields(map.entry(*action, key, None).expect("a row"), fields);
        }
    }
    map.finish().expect("ends");
}

const HEAD: MapHead<'static> = MapHead::new(DataType::ASCII_STRING, DataType::FIELD_LIST);

fn rows(rows: &[Row<'_>]) -> Vec<u8> {
    encode(DataType::MAP, |slot| write_rows(slot, &HEAD, rows))
}

fn image_of(container_type: DataType, payload: &[u8]) -> Image {
    let mut image = Image::new(Limits::default());
    let mut refresh = RefreshMsg::new(Domain::MARKET_BY_PRICE, 5);
    refresh.flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    refresh.payload = Encoded::new(container_type, payload);
    image.refresh(&refresh).expect("well-formed");
    image
}

fn update(
    image: &mut Image,
    container_type: DataType,
    payload: &[u8],
) -> Result<Applied, CacheError> {
    let payload = Encoded::new(container_type, payload);
    image.update(&UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_BY_PRICE, 5) }, None)
}

fn payload_of(image: &Image) -> Vec<u8> {
    let mut payload = Vec::new();
    image.payload(&mut payload).expect("one part");
    payload
}

/// Keys and fields of the rows, in order.
fn rows_of(map: &Map<'_>) -> Vec<(String, Vec<(i16, u64)>)> {
    map.iter()
        .map(|entry| {
            let entry = entry.expect("well-formed");
            assert_eq!(entry.action, ADD);
            let fields = entry.data.field_list().expect("well-formed");
            let value = |data: Encoded<'_>| data.typed(DataType::UINT).uint().expect("a number");
            let fields = fields.iter().flatten();
            let fields = fields.map(|e| (e.field_id, value(e.value).unwrap_or_default()));
            (String::from_utf8_lossy(entry.key.bytes()).into_owned(), fields.collect())
        })
        .collect()
}

fn assert_rows(image: &Image, expected: &[(&str, &[(i16, u64)])]) {
    let payload = payload_of(image);
    let data = Encoded::new(DataType::MAP, &payload);
    let expected: Vec<_> =
        expected.iter().map(|(key, fields)| ((*key).to_owned(), fields.to_vec())).collect();
    assert_eq!(rows_of(&data.map().expect("well-formed")), expected);
}

#[test]
fn rows_stay_in_the_order_they_came_in() {
    let first = rows(&[(ADD, "c", &[(1, 1)]), (ADD, "a", &[(1, 2)]), (ADD, "b", &[(1, 3)])]);
    let mut image = image_of(DataType::MAP, &first);
    let change = rows(&[
        (DELETE, "c", &[]),
        (UPDATE, "b", &[(2, 5)]),
        (ADD, "a", &[(7, 7)]),
        (ADD, "c", &[(1, 9)]),
        (UPDATE, "new", &[(1, 4)]),
        (DELETE, "unknown", &[]),
    ]);
    assert_eq!(update(&mut image, DataType::MAP, &change), Ok(Applied::Content));
    let expected: [(&str, &[(i16, u64)]); 4] =
        [("a", &[(7, 7)]), ("b", &[(1, 3), (2, 5)]), ("c", &[(1, 9)]), ("new", &[(1, 4)])];
    assert_rows(&image, &expected);
    assert_eq!(image.entry_count(), 4);
}

#[test]
fn the_key_field_is_kept_and_the_hint_is_in_the_first_of_several_parts() {
    let head = MapHead { key_field_id: Some(3426), ..HEAD };
    let fields = [(1, u64::MAX); 1];
    let list = [(ADD, "a", &fields[..]), (ADD, "b", &fields), (ADD, "c", &fields)];
    let first = encode(DataType::MAP, |slot| write_rows(slot, &head, &list));
    let image = image_of(DataType::MAP, &first);
    for (max_bytes, expected) in [(1000, vec![(3, None)]), (50, vec![(2, Some(3)), (1, None)])] {
        let mut parts = image.parts(max_bytes);
        let mut seen = Vec::new();
        let mut payload = Vec::new();
        while parts.next_part(&mut payload).is_some() {
            assert!(payload.len() <= max_bytes);
            let data = Encoded::new(DataType::MAP, &payload);
            let map = data.map().expect("well-formed");
            assert_eq!((map.key_field_id(), map.key_type()), (Some(3426), DataType::ASCII_STRING));
            seen.push((map.len(), map.total_count_hint()));
            payload.clear();
        }
        assert_eq!(seen, expected);
    }
}

#[test]
fn names_alone_may_get_fields_later() {
    let names = MapHead::new(DataType::ASCII_STRING, DataType::NO_DATA);
    let list = [(ADD, "a", &[][..]), (ADD, "b", &[])];
    let first = encode(DataType::MAP, |slot| write_rows(slot, &names, &list));
    let mut image = image_of(DataType::MAP, &first);
    assert_eq!(payload_of(&image), first);
    let gone = encode(DataType::MAP, |slot| write_rows(slot, &names, &[(DELETE, "a", &[])]));
    assert_eq!(update(&mut image, DataType::MAP, &gone), Ok(Applied::Content));
    let more = rows(&[(ADD, "c", &[(1, 1)])]);
    assert_eq!(update(&mut image, DataType::MAP, &more), Ok(Applied::Content));
    assert_eq!(update(&mut image, DataType::MAP, &gone), Ok(Applied::Content));
    let expected: [(&str, &[(i16, u64)]); 2] = [("b", &[]), ("c", &[(1, 1)])];
    assert_rows(&image, &expected);
}

#[test]
fn keys_of_another_type_are_an_error() {
    let mut image = image_of(DataType::MAP, &rows(&[(ADD, "a", &[(1, 1)])]));
    let other = MapHead::new(DataType::BUFFER, DataType::FIELD_LIST);
    let other = encode(DataType::MAP, |slot| write_rows(slot, &other, &[]));
    let error = update(&mut image, DataType::MAP, &other).expect_err("not applicable");
    assert!(matches!(error, CacheError::NotApplicable { .. }), "{error}");
    assert!(!image.is_complete());
}

#[test]
fn a_map_inside_of_a_row_is_merged() {
    let levels = |rows: &[Row<'_>]| {
        encode(DataType::MAP, |slot| {
            let head = MapHead::new(DataType::ASCII_STRING, DataType::MAP);
            let mut map = slot.map(&head).expect("begins");
            let level = map.entry(UPDATE, Primitive::ascii("10.25B"), None).expect("a row");
            write_rows(level, &HEAD, rows);
            map.finish().expect("ends");
        })
    };
    let makers = [(ADD, "M1", &[(1, 1)][..]), (ADD, "M2", &[(1, 2)])];
    let mut image = image_of(DataType::MAP, &levels(&makers));
    let change = levels(&[(UPDATE, "M2", &[(2, 3)]), (DELETE, "M1", &[])]);
    assert_eq!(update(&mut image, DataType::MAP, &change), Ok(Applied::Content));
    let payload = payload_of(&image);
    let data = Encoded::new(DataType::MAP, &payload);
    let map = data.map().expect("well-formed");
    let level = map.iter().next().expect("one level").expect("well-formed");
    let makers = rows_of(&level.data.map().expect("well-formed"));
    assert_eq!(makers, [("M2".to_owned(), vec![(1, 2), (2, 3)])]);
}

#[test]
fn a_filter_keeps_its_own_container_type() {
    let filters = |write: &dyn Fn(&mut tapeline_rwf::FilterListWriter<'_, '_>)| {
        encode(DataType::FILTER_LIST, |slot| {
            let head = FilterListHead::new(DataType::FIELD_LIST);
            let mut list = slot.filter_list(&head).expect("begins");
            write(&mut list);
            list.finish().expect("ends");
        })
    };
    let map = Some(DataType::MAP);
    let first = filters(&|list| {
        let slot = list.entry(FilterAction::SET, 1, None, None).expect("an entry");
        write_fields(slot, &[(1, 1)]);
        let slot = list.entry(FilterAction::SET, 6, map, None).expect("an entry");
        write_rows(slot, &HEAD, &[(ADD, "a", &[(1, 1)])]);
    });
    let mut image = image_of(DataType::FILTER_LIST, &first);
    assert_eq!(payload_of(&image), first);
    let change = filters(&|list| {
        list.bare_entry(FilterAction::CLEAR, 1, None, None).expect("an entry");
        let slot = list.entry(FilterAction::UPDATE, 6, map, None).expect("an entry");
        write_rows(slot, &HEAD, &[(ADD, "b", &[(1, 2)])]);
    });
    assert_eq!(update(&mut image, DataType::FILTER_LIST, &change), Ok(Applied::Content));
    let payload = payload_of(&image);
    let data = Encoded::new(DataType::FILTER_LIST, &payload);
    let list = data.filter_list().expect("well-formed");
    let entry = list.iter().next().expect("one entry").expect("well-formed");
    assert_eq!((list.len(), entry.id), (1, 6));
    assert_eq!(rows_of(&entry.data.map().expect("well-formed")).len(), 2);
}

#[test]
fn more_rows_than_the_limit_are_an_error() {
    let limits = Limits { max_entries: 2, ..Limits::default() };
    let mut image = Image::new(limits);
    let payload = rows(&[(ADD, "a", &[]), (ADD, "b", &[]), (ADD, "c", &[])]);
    let mut refresh = RefreshMsg::new(Domain::MARKET_BY_PRICE, 5);
    refresh.flags = RefreshFlags::REFRESH_COMPLETE;
    refresh.payload = Encoded::new(DataType::MAP, &payload);
    assert_eq!(image.refresh(&refresh), Err(CacheError::TooManyEntries { limit: 2 }));
    assert!(!image.is_complete());
}

#[test]
fn set_defined_data_becomes_standard_data_in_its_shortest_form() {
    let set = [(1, DataType::UINT_4), (22, DataType::REAL_4RB)];
    let definitions = LocalSetDefsBuf::fields(&[(0, &set)]).expect("valid definitions");
    let payload = encode(DataType::MAP, |slot| {
        let head = MapHead { set_defs: Some(definitions.defs()), ..HEAD };
        let mut map = slot.map(&head).expect("begins");
        let row = map.entry(ADD, Primitive::ascii("a"), None).expect("a row");
        let set = definitions.defs().field_set(0).expect("defined");
        let mut list = row.field_list(&FieldListHead::set_defined(set)).expect("begins");
        list.put(1, 7_u64).expect("the first of the set");
        list.put(22, Real::decimal(4512, 2)).expect("the second of the set");
        list.finish().expect("ends");
        map.finish().expect("ends");
    });
    let expected = [
        &[0, 17, 4, 0, 1][..],
        &[2, 1, b'a', 13],
        &[8, 0, 2, 0, 1, 1, 7, 0, 22, 3, 0x0C, 0x11, 0xA0],
    ];
    assert_eq!(payload_of(&image_of(DataType::MAP, &payload)), expected.concat());
}
