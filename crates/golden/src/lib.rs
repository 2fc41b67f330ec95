//! The golden vectors: bytes and captures made with the vendor's own SDK,
//! unpacked and parsed for the tests of every crate.
//!
//! One file is one gzip of JSON lines below `vectors/`; `vectors/README.md`
//! describes the records. A missing or damaged file is a broken checkout, so
//! these functions panic with the file's name instead of returning errors.
//!
//! ```
//! let primitives = tapeline_golden::vectors("primitives");
//! assert_eq!(primitives.len(), 457);
//! assert!(primitives[0]["hex"].is_string());
//! ```

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde_json::Value;

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// The records of one vector file, in file order; `name` is the file's name
/// without `.jsonl.gz`, for example `"primitives"`.
///
/// # Panics
/// When the file is missing, is no gzip, or has a line that is no JSON.
pub fn vectors(name: &str) -> Vec<Value> {
    text(name)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {e}: {line}")))
        .collect()
}

/// The unpacked text of one vector file: one JSON object a line.
///
/// # Panics
/// When the file is missing or is no gzip.
pub fn text(name: &str) -> String {
    let path = directory().join(format!("{name}.jsonl.gz"));
    let packed = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut text = String::new();
    GzDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text
}

/// The names of all transport captures, sorted: one recorded session each.
///
/// # Panics
/// When the vector folder is missing.
pub fn transport_captures() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory())
        .expect("the vectors folder is part of the repository")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| Some(file.strip_suffix(".jsonl.gz")?.to_owned()))
        .filter(|name| name.starts_with("transport_"))
        .collect();
    names.sort();
    names
}

/// The texts of the field dictionary and the enumeration file that the vectors
/// of the JSON form (`json-*`) were made with.
///
/// # Panics
/// When a file is missing or is not UTF-8.
pub fn json_dictionary() -> (String, String) {
    let text = |name: &str| {
        let path = directory().join(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    (text("json-fields.dict"), text("json-enums.def"))
}

/// The data type of each field that the vectors use, by field id, as written
/// in `fields.json`.
///
/// # Panics
/// When the file is missing or malformed.
pub fn field_types() -> Vec<(i16, String)> {
    let path = directory().join("fields.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let parsed: Value = serde_json::from_str(&text).expect("fields.json is JSON");
    parsed["fields"]
        .as_array()
        .expect("fields.json has a list of fields")
        .iter()
        .map(|field| {
            let fid = field["fid"].as_i64().and_then(|fid| i16::try_from(fid).ok());
            let data_type = field["type"].as_str();
            (fid.expect("a 16-bit fid"), data_type.expect("a type name").to_owned())
        })
        .collect()
}

/// The bytes of a hexadecimal string.
///
/// # Panics
/// When the text has an odd length or a character that is no hexadecimal digit.
pub fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "odd number of hexadecimal digits: {text}");
    (0..text.len())
        .step_by(2)
        .map(|at| {
            u8::from_str_radix(&text[at..at + 2], 16).unwrap_or_else(|e| panic!("{text}: {e}"))
        })
        .collect()
}

/// Lower-case hexadecimal text of bytes.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
