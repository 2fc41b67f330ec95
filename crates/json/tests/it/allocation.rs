//! Converting allocates nothing once the buffers have grown.

use crate::common::{Converters, KnownServices};
use allocation_counter::measure;
use serde_json::Value;
use tapeline_golden::{unhex, vectors};
use tapeline_json::{FromJson, Incoming, Options, ToJson};

const SERVICES: KnownServices = KnownServices { written_as_names: false };

fn text<'v>(record: &'v Value, key: &str) -> &'v str {
    record[key].as_str().expect("a text")
}

#[test]
fn writing_a_message_allocates_nothing_after_the_first_time() {
    let mut to_json = ToJson::new(Converters::new().vocabulary, Options::default());
    let messages: Vec<Vec<u8>> =
        vectors("json-rwf").iter().map(|record| unhex(text(record, "rwf_hex"))).collect();
    let mut text = Vec::new();
    let mut write_all = || {
        for rwf in &messages {
            text.clear();
            to_json.message(rwf, &SERVICES, &mut text).expect("well-formed");
        }
    };
    write_all();
    let counted = measure(write_all);
    assert_eq!(counted.count_total, 0);
}

/// Texts with escapes, and those that are longer or shorter in RWF than in
/// UTF-8, are put together first.
#[test]
fn reading_a_message_without_escapes_allocates_nothing_after_the_first_time() {
    let mut from_json = FromJson::new(Converters::new().vocabulary, Options::default());
    let records = vectors("json-rwf");
    let frames: Vec<&str> = records
        .iter()
        .map(|record| text(record, "json_text"))
        .filter(|frame| frame.is_ascii() && !frame.contains('\\'))
        .collect();
    assert!(frames.len() > 700, "{}", frames.len());
    let mut read = |frame: &str| {
        from_json.frame(frame, &SERVICES, |incoming| {
            assert!(matches!(incoming, Incoming::Message(_)), "{frame}: {incoming:?}");
        });
    };
    for frame in &frames {
        read(frame);
        assert_eq!(measure(|| read(frame)).count_total, 0, "{frame}");
    }
}
