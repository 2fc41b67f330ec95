//! RMTES against the reference: partial updates, conversion, and every
//! character of the seven character sets.

use proptest::prelude::*;
use serde_json::Value;
use tapeline_golden::{unhex, vectors};
use tapeline_rwf::rmtes::{self, DEFAULT_MAX_CACHE_LEN, RmtesError};

fn decoded(value: &[u8]) -> Result<String, RmtesError> {
    let mut text = String::new();
    rmtes::decode_into(value, &mut text).map(|()| text)
}

/// The vectors whose name begins, or does not begin, with `rmtes/table/`.
fn records(tables: bool) -> Vec<(String, Value)> {
    vectors("rmtes")
        .into_iter()
        .map(|record| (record["name"].as_str().expect("a name").to_owned(), record))
        .filter(|(name, _)| name.starts_with("rmtes/table/") == tables)
        .collect()
}

fn bytes(value: &Value) -> Vec<u8> {
    unhex(value.as_str().expect("hexadecimal text"))
}

#[test]
fn values_are_applied_and_converted_as_by_the_reference() {
    let records = records(false);
    assert_eq!(records.len(), 41);
    for (name, record) in records {
        let mut cache = Vec::new();
        for step in record["value"]["steps"].as_array().expect("steps") {
            let field = bytes(&step["field_hex"]);
            let applied = rmtes::apply(&mut cache, &field, DEFAULT_MAX_CACHE_LEN);
            assert_eq!(applied.is_ok(), step["apply"] == "SUCCESS", "{name}: {applied:?}");
            assert_eq!(cache, bytes(&step["cache_hex"]), "{name}");
            if applied.is_ok() {
                assert_eq!(rmtes::has_cursor_command(&field), step["partial"] == true, "{name}");
            }
            match step["convert"].as_str() {
                Some("SUCCESS") => {
                    let text = decoded(&cache).unwrap_or_else(|e| panic!("{name}: {e}"));
                    assert_eq!(text.as_bytes(), bytes(&step["utf8_hex"]), "{name}");
                }
                Some("FAILURE") => assert!(decoded(&cache).is_err(), "{name}"),
                other => assert_eq!((other, cache.as_slice()), (Some("NO_DATA"), &[][..])),
            }
        }
    }
}

#[test]
fn every_character_of_every_set_is_that_of_the_reference() {
    let records = records(true);
    assert_eq!(records.len(), 7);
    for (name, record) in records {
        let select = bytes(&record["hex"]);
        let show = |tail: &[u8]| decoded(&[select.as_slice(), tail].concat());
        if let Some(rows) = record["value"]["rows"].as_array() {
            assert_eq!(rows.len(), 94, "{name}");
            for (a, row) in (0x21..).zip(rows) {
                let row: Vec<char> = row.as_str().expect("a row").chars().collect();
                assert_eq!(row.len(), 94, "{name}");
                for (b, want) in (0x21..).zip(row) {
                    assert_eq!(show(&[a, b]).unwrap(), String::from(want), "{name} {a:x} {b:x}");
                }
            }
        } else {
            let first = record["value"]["first"].as_u64().expect("a byte");
            let characters = record["value"]["chars"].as_array().expect("characters");
            for (byte, want) in (first as u8..=0xFF).zip(characters) {
                assert_eq!(show(&[byte]).unwrap(), want.as_str().unwrap(), "{name} {byte:x}");
            }
        }
    }
}

#[test]
fn error_texts_name_the_place_and_the_consequence() {
    let mut cache = vec![b'x'; 3];
    let texts = [
        rmtes::apply(&mut cache, b"A\x1b[3", 100).unwrap_err().to_string(),
        rmtes::apply(&mut cache, b"\x1b[100`A", 100).unwrap_err().to_string(),
        decoded(b"A\x1bZ").unwrap_err().to_string(),
        decoded(b"\xa0").unwrap_err().to_string(),
    ];
    assert_eq!(
        texts,
        [
            "RMTES value ends inside a cursor command at byte 1; the cached value is kept",
            "RMTES value asks for 101 cached bytes, the limit is 100; the cached value is kept",
            "RMTES text has an unknown or cut-off escape sequence at byte 1",
            "RMTES text has byte 0xa0 at byte 0, which is in no character set",
        ]
    );
}

/// Bytes that are likely to form commands and escape sequences.
fn likely_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => any::<u8>().prop_map(|byte| vec![byte]),
        2 => (0_u32..80, prop_oneof![Just('`'), Just('b')])
            .prop_map(|(n, command)| format!("\x1b[{n}{command}").into_bytes()),
        2 => proptest::sample::select(vec![
            &b"\x1b"[..], b"\x1b[", b"\x1b$(G", b"\x1b$)H", b"\x1b&@\x1b$B", b"\x1b(I", b"\x1b)1",
            b"\x1b%0", b"\x1b}", b"\x1b|", b"\x1bo", b"\x8e", b"\x8f", b"\x0e", b"\x0f",
        ])
        .prop_map(<[u8]>::to_vec),
        2 => "[ -~]{0,6}".prop_map(String::into_bytes),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_update_keeps_the_limit_and_a_failed_one_keeps_the_cache(
        cache in likely_bytes(), value in likely_bytes(), limit in 0_usize..100,
    ) {
        let mut updated = cache.clone();
        if rmtes::apply(&mut updated, &value, limit).is_ok() {
            prop_assert!(updated.len() <= limit.max(cache.len()));
        } else {
            prop_assert_eq!(&updated, &cache);
        }
    }

    #[test]
    fn an_update_in_pieces_equals_the_whole_value(
        whole in "[A-Z]{1,40}", at in 0_usize..40, len in 0_usize..40,
    ) {
        let at = at.min(whole.len());
        let end = (at + len).min(whole.len());
        let mut cache = whole.clone().into_bytes();
        cache[at..end].fill(b'?');
        let update = format!("\x1b[{at}`{}", &whole[at..end]);
        rmtes::apply(&mut cache, update.as_bytes(), whole.len()).unwrap();
        prop_assert_eq!(cache, whole.into_bytes());
    }

    #[test]
    fn both_conversions_agree_on_any_bytes(value in likely_bytes()) {
        let characters: Result<String, _> = rmtes::chars(&value).collect();
        prop_assert_eq!(&decoded(&value), &characters);
        if let Some(plain) = rmtes::plain_text(&value) {
            prop_assert_eq!(Ok(plain.to_owned()), characters);
        }
    }

    #[test]
    fn text_after_the_utf8_switch_is_unchanged(text in any::<String>()) {
        prop_assert_eq!(decoded(&[b"\x1b%0", text.as_bytes()].concat()), Ok(text));
    }
}
