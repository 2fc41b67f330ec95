//! Every golden vector passes its check, which decodes it to its value and
//! writes it back; and what the check leaves open: the order of keys, the
//! places of faults, nothing behind the end.

use serde_json::Value;
use tapeline_golden::{field_types, vectors};
use tapeline_inspect::{Fields, Inspector, Outcome, Vector, VectorError};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Encoded};

/// The files, and how many vectors each has: 1593 in all.
const FILES: [(&str, usize); 6] = [
    ("primitives", 457),
    ("containers", 397),
    ("messages", 325),
    ("rdm_messages", 117),
    ("malformed", 249),
    ("rmtes", 48),
];

/// Those whose bytes are right.
const WELL_FORMED: [&str; 4] = ["primitives", "containers", "messages", "rdm_messages"];

fn vector(record: &Value) -> Vector {
    Vector::parse(&record.to_string()).expect("an object")
}

fn decoded(record: &Value) -> Result<Value, VectorError> {
    vector(record).to_value(FieldDictionary::builtin())
}

#[test]
fn every_vector_passes_its_check() {
    let mut count = 0;
    for (file, expected) in FILES {
        let records = vectors(file);
        assert_eq!(records.len(), expected, "{file}");
        for record in &records {
            let outcome = vector(record).check(FieldDictionary::builtin());
            assert_eq!(outcome, Outcome::Passed, "{}", record["name"]);
        }
        count += records.len();
    }
    assert_eq!(count, 1593);
}

#[test]
fn keys_have_the_order_of_the_value_form() {
    for record in WELL_FORMED.into_iter().flat_map(vectors) {
        // As text: objects are equal whatever the order of their keys.
        let text = decoded(&record).map(|value| value.to_string());
        assert_eq!(text, Ok(record["value"].to_string()), "{}", record["name"]);
    }
}

#[test]
fn faults_are_told_with_their_place() {
    let mut refused = 0;
    for record in vectors("malformed") {
        let Err(error) = decoded(&record) else { continue };
        let told = error.to_string();
        assert!(told.contains("(byte ") && told.contains(", in "), "{}: {told}", record["name"]);
        refused += 1;
    }
    assert_eq!(refused, 227);
}

#[test]
fn what_the_vendors_encoder_writes_ends_where_it_says() {
    for record in ["messages", "rdm_messages"].into_iter().flat_map(vectors) {
        let bytes = tapeline_golden::unhex(record["hex"].as_str().expect("bytes"));
        let surplus = Inspector::new(FieldDictionary::builtin())
            .surplus(&Encoded::new(DataType::MSG, &bytes), None);
        assert_eq!(surplus, None, "{}", record["name"]);
    }
}

#[test]
fn the_builtin_dictionary_has_the_types_of_the_vectors_fields() {
    for (fid, name) in field_types() {
        let known = FieldDictionary::builtin().data_type(fid).map(|known| known.to_string());
        assert_eq!(known.as_deref(), Some(name.as_str()), "field {fid}");
    }
}
