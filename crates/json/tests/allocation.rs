//! Writing JSON allocates nothing once the buffer has grown.

use std::sync::Arc;

use allocation_counter::measure;
use tapeline_golden::{unhex, vectors};
use tapeline_json::{NoServices, Options, ToJson, Vocabulary};
use tapeline_omm::dictionary::FieldDictionary;

#[test]
fn writing_a_message_allocates_nothing_after_the_first_time() {
    let (fields, enums) = tapeline_golden::json_dictionary();
    let dictionary =
        FieldDictionary::parse(fields.as_bytes(), enums.as_bytes()).expect("a dictionary");
    let vocabulary = Arc::new(Vocabulary::new(&dictionary));
    let mut to_json = ToJson::new(vocabulary, Options::default());
    let messages: Vec<Vec<u8>> = vectors("json-rwf")
        .iter()
        .map(|record| unhex(record["rwf_hex"].as_str().expect("bytes")))
        .collect();
    let mut text = Vec::new();
    let mut write_all = || {
        for rwf in &messages {
            text.clear();
            to_json.message(rwf, &NoServices, &mut text).expect("well-formed");
        }
    };
    write_all();
    let counted = measure(write_all);
    assert_eq!(counted.count_total, 0);
}
