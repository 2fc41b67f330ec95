//! The golden vectors of the JSON form, by the rules of their README: JSON and
//! RWF are compared by meaning.

use crate::common::{Converters, Given, Json, json};
use serde_json::Value;
use tapeline_golden::{unhex, vectors};
use tapeline_json::Options;

fn text<'v>(record: &'v Value, key: &str) -> Option<&'v str> {
    record.get(key).and_then(Value::as_str)
}

fn name(record: &Value) -> String {
    text(record, "name").expect("a name").to_owned()
}

/// The options of a vector: those of the vendor's converter where it says none.
fn options(record: &Value) -> (Options, bool) {
    let given = |key: &str| record["options"].get(key).and_then(Value::as_bool);
    let mut options = Options { expand_enums: false, ..Options::default() };
    options.expand_enums = given("expand_enum_fields").unwrap_or(false);
    options.catch_unknown_keys = given("catch_unknown_json_keys").unwrap_or(false);
    options.catch_unknown_fields = given("catch_unknown_json_fids").unwrap_or(true);
    options.allow_enum_displays = given("allow_enum_display_strings").unwrap_or(true);
    options.default_dynamic_qos = given("use_default_dynamic_qos").unwrap_or(false);
    options.default_service =
        record["options"].get("default_service_id").and_then(Value::as_u64).map(|id| id as u16);
    (options, given("service_names_in_json").unwrap_or(false))
}

fn check_to_json(converters: &Converters, record: &Value, expected: &str) -> Result<(), String> {
    let (options, names) = options(record);
    let rwf = unhex(text(record, "rwf_hex").expect("bytes"));
    let written = converters.to_json(options, names, &rwf)?;
    if json(&written)? == json(expected)? {
        return Ok(());
    }
    Err(format!("to JSON\n  is     {written}\n  wanted {expected}"))
}

fn check_to_rwf(converters: &Converters, record: &Value) -> Result<(), String> {
    let source = text(record, "json_text").expect("a text");
    let rwf = converters.rwf(options(record).0, source)?;
    let meaning = converters.meaning(&rwf);
    let wanted: Vec<Value> = ["rwf_hex", "rwf_hex_back"]
        .iter()
        .filter_map(|key| text(record, key))
        .map(|hex| converters.meaning(&unhex(hex)))
        .collect();
    if wanted.contains(&meaning) {
        return Ok(());
    }
    Err(format!("to RWF of {source}\n  is     {meaning}\n  wanted {}", wanted[0]))
}

/// Fails with every vector that fails, apart from those named in `exempt`,
/// which have to fail: an exemption that is no longer needed is told too.
fn all_pass(
    records: &[Value],
    exempt: &[&str],
    check: impl Fn(&Value) -> Result<(), String>,
) -> usize {
    let mut failures = Vec::new();
    let mut passed = 0;
    for record in records {
        let name = name(record);
        match (check(record), exempt.contains(&name.as_str())) {
            (Ok(()), false) => passed += 1,
            (Err(_), true) => {}
            (Ok(()), true) => failures.push(format!("{name}: passes although exempt")),
            (Err(error), false) => failures.push(format!("{name}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    passed
}

/// The vendor's converter writes each byte over 127 of a state's text as a
/// character of its own, from FF80 on; it takes them back in the same way.
const TEXT_TORN: &str = "rwf/head/state-text-utf8";

/// Digits that it writes although fewer say the same number.
const NOT_SHORTEST: [(&str, &str); 2] =
    [("rwf/double/4.9E-324", "5e-324"), ("rwf/float/1.4E-45", "1e-45")];

#[test]
fn vectors_of_both_directions_pass_to_json() {
    let converters = Converters::new();
    let exempt = [TEXT_TORN, NOT_SHORTEST[0].0, NOT_SHORTEST[1].0];
    let records = vectors("json-rwf");
    let passed = all_pass(&records, &exempt, |record| {
        check_to_json(&converters, record, text(record, "json_text").expect("a text"))
    });
    assert_eq!(passed, 864 - 3);
}

#[test]
fn numbers_with_fewer_digits_are_the_same_numbers() {
    let converters = Converters::new();
    for record in vectors("json-rwf") {
        let Some((_, number)) = NOT_SHORTEST.iter().find(|(known, _)| *known == name(&record))
        else {
            continue;
        };
        let rwf = unhex(text(&record, "rwf_hex").expect("bytes"));
        let written = converters.to_json(Options::default(), false, &rwf).expect("well-formed");
        assert!(written.contains(&format!(":{number}}}")), "{written}");
        let back = converters.rwf(Options::default(), &written).expect("well-formed");
        assert_eq!(converters.meaning(&back), converters.meaning(&rwf));
    }
}

#[test]
fn vectors_of_both_directions_pass_to_rwf() {
    let converters = Converters::new();
    let passed =
        all_pass(&vectors("json-rwf"), &[TEXT_TORN], |record| check_to_rwf(&converters, record));
    assert_eq!(passed, 864 - 1);
}

/// What the vendor's converter loses on the way to RWF: `Dynamic`,
/// `Discardable`, a whole number for a double, nulls in an array.
const LOST: [&str; 4] = [
    "request/qos-dynamic#alt",
    "update/discardable#alt",
    "field/double-int-input#alt",
    "field/array-with-null#alt",
];

#[test]
fn vectors_of_one_direction_pass() {
    let converters = Converters::new();
    let passed = all_pass(&vectors("json-rwf-oneway"), &LOST, |record| {
        match text(record, "dir").expect("a direction") {
            "rwf_to_json" => {
                check_to_json(&converters, record, text(record, "json_text").expect("a text"))
            }
            _ => check_to_rwf(&converters, record),
        }
    });
    assert_eq!(passed, 380 - LOST.len());
}

#[test]
fn what_the_vendors_converter_loses_is_kept() {
    let converters = Converters::new();
    for record in vectors("json-rwf-oneway") {
        if !LOST.contains(&name(&record).as_str()) {
            continue;
        }
        let source = json(text(&record, "json_text").expect("a text")).expect("JSON");
        let (options, names) = options(&record);
        let rwf = converters.rwf(options, text(&record, "json_text").expect("a text"));
        let written = converters.to_json(options, names, &rwf.expect("taken")).expect("written");
        let written = json(&written).expect("JSON");
        let (Json::Object(source), Json::Object(written)) = (source, written) else {
            panic!("{}: an object", record["name"])
        };
        for (key, value) in source {
            assert_eq!(written.get(&key), Some(&value), "{}: {key}", record["name"]);
        }
    }
}

#[test]
fn defects_of_the_vendors_converter_are_not_copied() {
    let converters = Converters::new();
    let passed = all_pass(&vectors("json-rwf-quirks"), &[], |record| {
        let Some(hex) = text(record, "rwf_hex") else {
            let source = text(record, "json_text").expect("a text");
            return converters.rwf(Options::default(), source).map(drop);
        };
        if let Some(expected) = text(record, "should_be") {
            return check_to_json(&converters, record, expected);
        }
        let (options, names) = options(record);
        let written = converters.to_json(options, names, &unhex(hex))?;
        json(&written).map(drop)
    });
    assert_eq!(passed, 42);
}

#[test]
fn bad_input_gets_an_error_of_the_right_shape() {
    let converters = Converters::new();
    let mut refused = 0;
    for record in vectors("json-errors") {
        let source = text(&record, "json_text").expect("a text");
        for given in converters.given(options(&record).0, source) {
            let Given::Failed(error, text) = given else { continue };
            let mut out = Vec::new();
            error.push_message(&text, &mut out);
            let message: Value = serde_json::from_slice(&out).expect("an Error is JSON");
            assert_eq!(message["Type"], "Error", "{}", record["name"]);
            assert_eq!(message["ID"], error.id);
            assert!(message["Text"].as_str().is_some_and(|text| text.starts_with("JSON ")));
            let repeated = message["Debug"]["Message"].as_str().expect("a text");
            assert!(source.contains(repeated) && !repeated.is_empty(), "{}", record["name"]);
            if let Some(id) = record["stream_id"].as_i64().filter(|id| *id > 0) {
                assert_eq!(message["ID"], id, "{}", record["name"]);
            }
            refused += 1;
        }
    }
    assert!(refused > 80, "{refused}");
}

/// Inputs that the vendor's Java converter takes by mistake.
const TAKEN_BY_MISTAKE: [&str; 7] = [
    "key-array",
    "service-too-big",
    "time-bad",
    "two-containers",
    "two-objects",
    "nak-unknown",
    "enum-float",
];
/// Inputs that it refuses without need.
const REFUSED_WITHOUT_NEED: [&str; 5] =
    ["fields-null", "element-null", "leading-zero", "view-unknown-name", "fid-number-with-nine"];

#[test]
fn inputs_are_refused_or_taken_as_by_the_vendor_but_for_its_mistakes() {
    let converters = Converters::new();
    let mut differing = Vec::new();
    for record in vectors("json-errors") {
        let source = text(&record, "json_text").expect("a text");
        let given = converters.given(options(&record).0, source);
        let is_taken = !given.iter().any(|given| matches!(given, Given::Failed(..)));
        if is_taken != (record["accepted"] == true) {
            differing.push(name(&record));
        }
    }
    let mut known: Vec<&str> = [&TAKEN_BY_MISTAKE[..], &REFUSED_WITHOUT_NEED].concat();
    known.sort_unstable();
    differing.sort_unstable();
    assert_eq!(differing, known);
}

#[test]
fn every_message_of_the_vendors_encoder_becomes_json_and_rwf_again() {
    let converters = Converters::new();
    let options = Options { catch_unknown_keys: true, ..Options::default() };
    let (mut converted, mut failures) = (0, Vec::new());
    for record in ["messages", "rdm_messages"].into_iter().flat_map(vectors) {
        if record["kind"] != "message" {
            continue;
        }
        let rwf = unhex(text(&record, "hex").expect("bytes"));
        let written = converters.to_json(options, true, &rwf).expect("well-formed");
        json(&written).expect("JSON");
        match converters.rwf(options, &written) {
            Ok(_) => converted += 1,
            Err(error) => failures.push(format!("{}: {error}", record["name"])),
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(converted > 400, "{converted}");
}
