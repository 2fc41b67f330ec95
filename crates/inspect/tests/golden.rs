//! Every golden vector decodes to its value and is written back from it.

use std::collections::HashMap;

use serde_json::Value;
use tapeline_golden::{field_types, hex, unhex, vectors};
use tapeline_inspect::{Context, InspectError, Inspector, to_bytes};
use tapeline_rwf::{DataType, Encoded};

fn fields() -> HashMap<i16, DataType> {
    let known = |(fid, name): (i16, String)| (fid, DataType::from_name(&name).expect("a type"));
    field_types().into_iter().map(known).collect()
}

/// The value of the bytes of a vector.
fn decoded(vector: &Value) -> Result<Value, InspectError> {
    let context = match vector.get("context") {
        Some(context) => Context::from_value(context).expect("a well-formed context"),
        None => Context::default(),
    };
    let data_type = DataType::from_name(text(vector, "type")).expect("a type");
    let bytes = unhex(text(vector, "hex"));
    let fields = fields();
    Inspector::new(&fields)
        .with_global_set_defs(context.global())
        .to_value(&Encoded::new(data_type, &bytes), context.local())
}

fn text<'v>(vector: &'v Value, key: &str) -> &'v str {
    vector[key].as_str().unwrap_or_else(|| panic!("{key} is a string: {vector}"))
}

/// What is wrong with a vector that should decode and read back.
fn fault(vector: &Value) -> Option<String> {
    let name = text(vector, "name");
    // As text, since the order of the keys counts too.
    let text_of = Value::to_string;
    match decoded(vector) {
        Ok(value) if text_of(&value) == text_of(&vector["value"]) => {}
        Ok(value) => return Some(format!("{name}\n  got  {value}\n  want {}", vector["value"])),
        Err(error) => return Some(format!("{name}: {error}")),
    }
    let want = vector.get("canonical_hex").or(vector.get("hex")).and_then(Value::as_str);
    match to_bytes(&vector["value"]) {
        // Bytes that only a bug of the vendor's encoder makes: they read as the
        // value, and so must what is written for it.
        Ok(bytes) if vector["eta_encoder_bug"] == true => {
            let rewritten = serde_json::json!({"type": vector["type"], "hex": hex(&bytes)});
            (decoded(&rewritten).ok().as_ref() != Some(&vector["value"]))
                .then(|| format!("{name}: {}", hex(&bytes)))
        }
        Ok(bytes) if Some(hex(&bytes).as_str()) == want => None,
        Ok(bytes) => {
            Some(format!("{name}\n  got  {}\n  want {}", hex(&bytes), want.unwrap_or("?")))
        }
        Err(error) => Some(format!("{name}: {error}")),
    }
}

fn check(file: &str, count: usize) {
    let vectors = vectors(file);
    assert_eq!(vectors.len(), count);
    let faults: Vec<String> = vectors.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn primitives_read_and_write_back() {
    check("primitives", 457);
}

#[test]
fn containers_read_and_write_back() {
    check("containers", 397);
}

#[test]
fn messages_read_and_write_back() {
    check("messages", 325);
}

#[test]
fn domain_messages_read_and_write_back() {
    check("rdm_messages", 117);
}

#[test]
fn malformed_data_is_refused_with_a_place_or_read_as_by_the_reference() {
    let mut refused = 0;
    for vector in vectors("malformed") {
        let name = text(&vector, "name");
        let is_accepted = text(&vector, "eta_result") == "accepted"
            && matches!(vector["right_result"].as_str(), None | Some("accepted"));
        match decoded(&vector) {
            Ok(value) => {
                assert!(is_accepted, "{name} should be refused");
                assert_eq!(value, vector["value"], "{name}");
            }
            Err(error) => {
                assert!(!is_accepted, "{name}: {error}");
                let told = error.to_string();
                assert!(told.contains("(byte ") && told.contains(", in "), "{name}: {told}");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 227);
}
