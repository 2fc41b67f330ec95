//! Updates of known fields and rows allocate nothing.

use allocation_counter::measure;
use tapeline_cache::{Conflation, Image, Limits, Merged};
use tapeline_rwf::{
    DataType, Domain, Encoded, Encoder, FieldListHead, MapAction, MapHead, Primitive, Real,
    RefreshFlags, RefreshMsg, Slot, UpdateMsg,
};

/// Fields whose values have this many digits.
fn write_fields(slot: Slot<'_, '_>, digits: u32) {
    let mut list = slot.field_list(&FieldListHead::STANDARD).expect("begins");
    for id in 1..=20 {
        list.put(id, Real::decimal(10_i64.pow(digits) - 1, 2)).expect("a field");
    }
    list.finish().expect("ends");
}

fn payload(container_type: DataType, write: impl FnOnce(Slot<'_, '_>)) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    write(encoder.container(container_type));
    encoder.finish_bytes().expect("room").to_vec()
}

fn fields(digits: u32) -> Vec<u8> {
    payload(DataType::FIELD_LIST, |slot| write_fields(slot, digits))
}

/// Rows of these actions and keys.
fn rows(rows: &[(MapAction, u8)], digits: u32) -> Vec<u8> {
    payload(DataType::MAP, |slot| {
        let head = MapHead::new(DataType::BUFFER, DataType::FIELD_LIST);
        let mut map = slot.map(&head).expect("begins");
        for (action, key) in rows {
            let key = [*key];
            if *action == MapAction::DELETE {
                map.bare_entry(*action, Primitive::Buffer(&key), None).expect("a row");
            } else {
                let slot = map.entry(*action, Primitive::Buffer(&key), None).expect("a row");
                write_fields(slot, digits);
            }
        }
        map.finish().expect("ends");
    })
}

fn update(container_type: DataType, payload: &[u8]) -> UpdateMsg<'_> {
    let payload = Encoded::new(container_type, payload);
    UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_PRICE, 5) }
}

fn image_of(container_type: DataType, payload: &[u8]) -> Image {
    let mut image = Image::new(Limits::default());
    let mut refresh = RefreshMsg::new(Domain::MARKET_PRICE, 5);
    refresh.flags = RefreshFlags::REFRESH_COMPLETE;
    refresh.payload = Encoded::new(container_type, payload);
    image.refresh(&refresh).expect("well-formed");
    image
}

/// Applies updates in turn, several rounds, and counts from the second on.
fn allocations(image: &mut Image, updates: &[UpdateMsg<'_>]) -> u64 {
    let mut round = || {
        for update in updates {
            image.update(update, None).expect("well-formed");
        }
    };
    round();
    measure(|| (0..3).for_each(|_| round())).count_total
}

#[test]
fn updates_of_fields_allocate_nothing() {
    let (short, long) = (fields(4), fields(9));
    let updates = [&short, &long].map(|payload| update(DataType::FIELD_LIST, payload));
    assert_eq!(allocations(&mut image_of(DataType::FIELD_LIST, &short), &updates), 0);
}

#[test]
fn updates_of_rows_allocate_nothing_even_when_rows_come_and_go() {
    use MapAction as Act;
    let first = rows(&[(Act::ADD, 1), (Act::ADD, 2)], 4);
    let payloads = [
        rows(&[(Act::UPDATE, 1), (Act::DELETE, 2)], 9),
        rows(&[(Act::ADD, 3), (Act::UPDATE, 1)], 4),
        rows(&[(Act::DELETE, 3), (Act::ADD, 2)], 9),
    ];
    let updates = payloads.each_ref().map(|payload| update(DataType::MAP, payload));
    assert_eq!(allocations(&mut image_of(DataType::MAP, &first), &updates), 0);
}

#[test]
fn merging_and_taking_allocates_nothing() {
    let payloads = [
        rows(&[(MapAction::ADD, 1), (MapAction::DELETE, 2)], 4),
        rows(&[(MapAction::UPDATE, 1), (MapAction::UPDATE, 2)], 9),
    ];
    let updates = payloads.each_ref().map(|payload| update(DataType::MAP, payload));
    let mut conflation = Conflation::new(Limits::CONFLATION);
    let mut out = Vec::new();
    let mut round = || {
        for update in &updates {
            assert_eq!(conflation.merge(0, update), Merged::Yes);
        }
        out.clear();
        assert!(conflation.take(5, None, true, &mut out));
    };
    round();
    round();
    assert_eq!(measure(|| (0..3).for_each(|_| round())).count_total, 0);
}
