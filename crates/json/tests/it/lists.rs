//! Field lists in which something is unusual: each field is written once, with
//! its last value, and what is left out is counted once.

use std::sync::Arc;

use tapeline_json::{NoServices, Options, ToJson, Vocabulary};
use tapeline_omm::dictionary::FieldDictionary;

/// In the dictionary: a number, another one, and a field list.
const FIELDS: &[u8] = b"ONE \"One\" 1 NULL INTEGER 5 UINT64 8\n\
                        TWO \"Two\" 2 NULL INTEGER 5 UINT64 8\n\
                        LIST \"List\" 3 NULL NONE 0 FIELD_LIST 255";
/// Not in it.
const UNKNOWN: u8 = 9;

/// A field list of these ids and values.
fn list(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![8, 0, fields.len() as u8];
    for (field_id, value) in fields {
        bytes.extend([0, *field_id, value.len() as u8]);
        bytes.extend_from_slice(value);
    }
    bytes
}

/// The fields in JSON, and how much was left out. Everything is converted
/// twice with one converter, since nothing may stay from the first time.
fn written(fields: &[(u8, &[u8])]) -> (String, u64) {
    let dictionary = FieldDictionary::parse(FIELDS, b"").expect("a dictionary");
    let vocabulary = Arc::new(Vocabulary::new(&dictionary));
    let mut to_json = ToJson::new(vocabulary, Options::default());
    let update_head = [0, 9, 4, 6, 0, 0, 0, 5, 0, 4, 0];
    let rwf = [&update_head[..], &list(fields)].concat();
    let convert = |to_json: &mut ToJson| {
        let mut text = Vec::new();
        to_json.message(&rwf, &NoServices, &mut text).expect("well-formed");
        String::from_utf8(text).expect("JSON is UTF-8")
    };
    let text = convert(&mut to_json);
    let left_out = to_json.left_out();
    assert_eq!(convert(&mut to_json), text);
    assert_eq!(to_json.left_out(), 2 * left_out);
    let (_, fields) = text.split_once(r#""Fields":"#).expect("fields");
    (fields.strip_suffix('}').expect("an end").to_owned(), left_out)
}

#[test]
fn the_last_value_of_a_field_counts() {
    let fields: [(u8, &[u8]); 3] = [(1, &[10]), (2, &[20]), (1, &[11])];
    assert_eq!(written(&fields), (r#"{"TWO":20,"ONE":11}"#.to_owned(), 0));
}

#[test]
fn what_is_left_out_is_counted_once_whatever_follows() {
    let unknown: (u8, &[u8]) = (UNKNOWN, &[7]);
    let too_long: (u8, &[u8]) = (2, &[0; 9]);
    assert_eq!(written(&[unknown, (1, &[10])]), (r#"{"ONE":10}"#.to_owned(), 1));
    assert_eq!(written(&[unknown, (1, &[10]), (1, &[11])]), (r#"{"ONE":11}"#.to_owned(), 1));
    assert_eq!(written(&[unknown, too_long, (1, &[10])]), (r#"{"ONE":10}"#.to_owned(), 2));
    let empty = list(&[]);
    let expected = (r#"{"LIST":{},"ONE":10}"#.to_owned(), 1);
    assert_eq!(written(&[unknown, (3, &empty), (1, &[10])]), expected);
}

#[test]
fn a_list_in_a_list_has_field_ids_of_its_own() {
    let inner = list(&[(1, &[30]), (2, &[40])]);
    let expected = r#"{"ONE":10,"LIST":{"ONE":30,"TWO":40},"TWO":20}"#;
    assert_eq!(written(&[(1, &[10]), (3, &inner), (2, &[20])]), (expected.to_owned(), 0));

    let expected = r#"{"LIST":{"ONE":30,"TWO":40},"ONE":11}"#;
    assert_eq!(written(&[(1, &[10]), (3, &inner), (1, &[11])]), (expected.to_owned(), 0));

    let repeating = list(&[(UNKNOWN, &[0]), (2, &[1]), (2, &[2])]);
    let expected = r#"{"TWO":20,"LIST":{"TWO":2},"ONE":10}"#;
    assert_eq!(written(&[(2, &[20]), (3, &repeating), (1, &[10])]), (expected.to_owned(), 1));
}
