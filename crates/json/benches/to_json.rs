//! What it costs to write one update as JSON.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tapeline_json::{FromJson, NoServices, Options, ToJson, Vocabulary};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{
    DataType, Domain, Encoder, FieldListHead, Primitive, Real, Time, UpdateMsg, UpdateType,
};

/// A quote of eight fields, as a busy item has several of in a second.
fn quote() -> Vec<u8> {
    let mut buffer = [0; 256];
    let mut encoder = Encoder::new(&mut buffer);
    let mut update = UpdateMsg::new(Domain::MARKET_PRICE, 5);
    update.update_type = UpdateType::QUOTE;
    update.seq_num = Some(40_000);
    let slot = encoder.begin(&update.into(), DataType::FIELD_LIST).expect("begins");
    let mut fields = slot.field_list(&FieldListHead::STANDARD).expect("begins");
    fields.put(22, Real::decimal(39_815, 2)).expect("BID");
    fields.put(25, Real::decimal(39_817, 2)).expect("ASK");
    fields.put(30, Real::decimal(12, 0)).expect("BIDSIZE");
    fields.put(31, Real::decimal(7, 0)).expect("ASKSIZE");
    fields.put(1025, Time::new(14, 40, 32)).expect("QUOTIM");
    fields.put(115, Primitive::Enum(1)).expect("BID_TICK_1");
    fields.put(3, Primitive::rmtes("TRIPLE CORP")).expect("DSPLY_NAME");
    fields.put(1, 6560_u64).expect("PROD_PERM");
    fields.finish().expect("ends");
    encoder.finish_bytes().expect("room").to_vec()
}

fn conversion(criterion: &mut Criterion) {
    let (fields, enums) = tapeline_golden::json_dictionary();
    let dictionary =
        FieldDictionary::parse(fields.as_bytes(), enums.as_bytes()).expect("a dictionary");
    let vocabulary = Arc::new(Vocabulary::new(&dictionary));
    let mut to_json = ToJson::new(Arc::clone(&vocabulary), Options::default());
    let rwf = quote();
    let mut text = Vec::new();
    to_json.message(&rwf, &NoServices, &mut text).expect("well-formed");
    let json = String::from_utf8(text.clone()).expect("UTF-8");
    assert_eq!((to_json.left_out(), json.matches(':').count()), (0, 5 + 8 + 2), "{json}");

    let mut group = criterion.benchmark_group("update of 8 fields");
    group.throughput(Throughput::Elements(1));
    group.bench_function("RWF to JSON", |bencher| {
        bencher.iter(|| {
            text.clear();
            to_json.message(black_box(&rwf), &NoServices, &mut text).expect("well-formed");
            black_box(&text);
        });
    });
    let mut from_json = FromJson::new(vocabulary, Options::default());
    group.bench_function("JSON to RWF", |bencher| {
        bencher.iter(|| {
            from_json.frame(black_box(&json), &NoServices, |incoming| {
                black_box(incoming);
            });
        });
    });
    group.finish();
}

criterion_group!(benches, conversion);
criterion_main!(benches);
