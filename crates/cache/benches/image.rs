//! What one update costs an image, and what merging one costs.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tapeline_cache::{Conflation, Image, Limits};
use tapeline_rwf::{
    DataType, Domain, Encoded, Encoder, FieldListHead, MapAction, MapHead, Primitive, Real,
    RefreshFlags, RefreshMsg, UpdateMsg,
};

fn encode(write: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 20];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder);
    encoder.finish_bytes().expect("room").to_vec()
}

fn fields(ids: impl Iterator<Item = i16>, price: i64) -> Vec<u8> {
    encode(|encoder| {
        let slot = encoder.container(DataType::FIELD_LIST);
        let mut list = slot.field_list(&FieldListHead::STANDARD).expect("begins");
        for id in ids {
            list.put(id, Real::decimal(price, 2)).expect("a field");
        }
        list.finish().expect("ends");
    })
}

fn map(keys: impl Iterator<Item = u32>, action: MapAction) -> Vec<u8> {
    encode(|encoder| {
        let slot = encoder.container(DataType::MAP);
        let head = MapHead::new(DataType::BUFFER, DataType::FIELD_LIST);
        let mut map = slot.map(&head).expect("begins");
        for key in keys {
            let key = key.to_be_bytes();
            let row = map.entry(action, Primitive::Buffer(&key), None).expect("a row");
            let mut list = row.field_list(&FieldListHead::STANDARD).expect("begins");
            for id in 3427..3432 {
                list.put(id, Real::decimal(451_234, 2)).expect("a field");
            }
            list.finish().expect("ends");
        }
        map.finish().expect("ends");
    })
}

fn image_of(container_type: DataType, payload: &[u8]) -> Image {
    let mut image = Image::new(Limits::default());
    let mut refresh = RefreshMsg::new(Domain::MARKET_PRICE, 5);
    refresh.flags = RefreshFlags::REFRESH_COMPLETE;
    refresh.payload = Encoded::new(container_type, payload);
    image.refresh(&refresh).expect("well-formed");
    image
}

fn update(container_type: DataType, payload: &[u8]) -> UpdateMsg<'_> {
    let payload = Encoded::new(container_type, payload);
    UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_PRICE, 5) }
}

fn updates(criterion: &mut Criterion) {
    let list = DataType::FIELD_LIST;
    let thirty = fields(1..=30, 451_234);
    let in_order = fields([2, 5, 6, 10, 15, 22, 25, 30].into_iter(), 451_235);
    let shuffled = fields([22, 25, 6, 30, 2, 15, 5, 10].into_iter(), 451_235);
    for (name, payload) in [("in order", &in_order), ("shuffled", &shuffled)] {
        let mut image = image_of(list, &thirty);
        let update = update(list, payload);
        criterion.bench_function(&format!("8 of 30 fields, {name}"), |bencher| {
            bencher.iter(|| image.update(black_box(&update), None));
        });
    }
    criterion.bench_function("image of 30 fields", |bencher| {
        bencher.iter(|| image_of(list, black_box(&thirty)));
    });
    let mut image = image_of(DataType::MAP, &map(0..10_000, MapAction::ADD));
    let change = map([7777].into_iter(), MapAction::UPDATE);
    let change = update(DataType::MAP, &change);
    criterion.bench_function("one of 10,000 orders", |bencher| {
        bencher.iter(|| image.update(black_box(&change), None));
    });
    let mut conflation = Conflation::new(Limits::CONFLATION);
    let merged = update(list, &in_order);
    criterion.bench_function("8 fields merged", |bencher| {
        bencher.iter(|| conflation.merge(0, black_box(&merged)));
    });
}

criterion_group!(benches, updates);
criterion_main!(benches);
