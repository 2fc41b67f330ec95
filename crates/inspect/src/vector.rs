//! Golden vectors: bytes with the value that they must decode to.

use serde_json::Value;
use thiserror::Error;

use tapeline_rwf::{DataType, Encoded, rmtes};

use crate::names::{hex, type_from_name, unhex};
use crate::{BuildError, Context, Fields, InspectError, Inspector, Palette, to_bytes};

/// Why a vector cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VectorError {
    /// The line is no JSON object.
    #[error("the line is not a JSON object: {0}")]
    NotJson(String),
    /// The vector is a captured transport frame and no RWF.
    #[error("transport frames are no codec vectors; decode them as a capture")]
    Transport,
    /// A key is missing or of another kind.
    #[error("the key {key:?} is not {expected}")]
    Key {
        /// The key.
        key: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// The context is malformed.
    #[error(transparent)]
    Context(#[from] BuildError),
    /// The bytes do not decode.
    #[error(transparent)]
    Inspect(#[from] InspectError),
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As the vector says.
    Passed,
    /// Not so: what is different.
    Failed(String),
    /// Not a codec vector.
    Skipped,
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Passed)
    }
}

/// One line of a vector file.
#[derive(Clone, Debug)]
pub struct Vector {
    record: Value,
}

impl Vector {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Self, VectorError> {
        match serde_json::from_str(line) {
            Ok(record @ Value::Object(_)) => Ok(Self { record }),
            Ok(_) => Err(VectorError::NotJson("another kind of value".to_owned())),
            Err(error) => Err(VectorError::NotJson(error.to_string())),
        }
    }

    /// The vector's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.record.get("name")?.as_str()
    }

    fn text(&self, key: &'static str, expected: &'static str) -> Result<&str, VectorError> {
        let text = self.record.get(key).and_then(Value::as_str);
        text.ok_or(VectorError::Key { key, expected })
    }

    fn hex(&self, key: &'static str) -> Result<Vec<u8>, VectorError> {
        let expected = "a string of pairs of hexadecimal digits";
        unhex(self.text(key, expected)?).ok_or(VectorError::Key { key, expected })
    }

    fn is_transport(&self) -> bool {
        self.record.get("kind").is_some_and(|kind| kind == "transport")
    }

    fn is(&self, key: &str) -> bool {
        self.record.get(key).is_some_and(|mark| mark == true)
    }

    /// The type of the data; `kind` is enough for a message.
    fn data_type(&self) -> Result<DataType, VectorError> {
        if self.record.get("type").is_none()
            && self.record.get("kind").is_some_and(|k| k == "message")
        {
            return Ok(DataType::MSG);
        }
        let expected = "the name of a data type";
        let name = self.text("type", expected)?;
        type_from_name(name).ok_or(VectorError::Key { key: "type", expected })
    }

    /// Hands type, bytes and context to `show`.
    fn decode<T>(
        &self,
        fields: &dyn Fields,
        show: impl FnOnce(&Inspector<'_>, &Encoded<'_>, &Context) -> Result<T, InspectError>,
    ) -> Result<T, VectorError> {
        if self.is_transport() {
            return Err(VectorError::Transport);
        }
        let bytes = self.hex("hex")?;
        let data = Encoded::new(self.data_type()?, &bytes);
        let context = match self.record.get("context") {
            Some(context) if !context.is_null() => Context::from_value(context)?,
            _ => Context::default(),
        };
        let inspector = Inspector::new(fields).with_global_set_defs(context.global());
        Ok(show(&inspector, &data, &context)?)
    }

    /// The bytes as a `value`.
    pub fn to_value(&self, fields: &dyn Fields) -> Result<Value, VectorError> {
        self.decode(fields, |inspector, data, context| inspector.to_value(data, context.local()))
    }

    /// The bytes as indented text, appended to `out`.
    pub fn print(
        &self,
        fields: &dyn Fields,
        (palette, indent): (Palette, usize),
        out: &mut String,
    ) -> Result<(), VectorError> {
        self.decode(fields, |inspector, data, context| {
            inspector.print(data, context.local(), (palette, indent), out)
        })
    }

    /// Decodes, compares with `value`, encodes, compares with `canonical_hex`
    /// or else `hex`.
    ///
    /// A malformed vector must be refused, unless the reference accepts it
    /// and its `right_result` says nothing else. RMTES vectors apply their
    /// steps, or go through their table.
    pub fn check(&self, fields: &dyn Fields) -> Outcome {
        if self.is_transport() {
            return Outcome::Skipped;
        }
        let value = self.record.get("value");
        if let Some(steps) = value.and_then(|value| value.get("steps")) {
            return check_steps(steps).into();
        }
        if value.is_some_and(|value| value.get("rows").or(value.get("chars")).is_some()) {
            return self.check_table().into();
        }
        if self.is("malformed") {
            return self.check_malformed(fields).into();
        }
        self.check_both_ways(fields).into()
    }

    fn check_value(&self, fields: &dyn Fields) -> Result<(), String> {
        let value = self.to_value(fields).map_err(|error| error.to_string())?;
        let want = self.record.get("value").unwrap_or(&Value::Null);
        if value == *want {
            return Ok(());
        }
        Err(difference(&value, want, "value"))
    }

    fn check_both_ways(&self, fields: &dyn Fields) -> Result<(), String> {
        self.check_value(fields)?;
        let value = self.record.get("value").unwrap_or(&Value::Null);
        let written = to_bytes(value).map_err(|error| format!("cannot be written: {error}"))?;
        if self.is("eta_encoder_bug") {
            return self.check_rewritten(fields, &written, value);
        }
        let key = if self.record.get("canonical_hex").is_some() { "canonical_hex" } else { "hex" };
        let want = self.hex(key).map_err(|error| error.to_string())?;
        if written == want {
            return Ok(());
        }
        let at = written.iter().zip(&want).take_while(|(written, want)| written == want).count();
        Err(format!(
            "written bytes differ from {key} at byte {at}: {} instead of {}",
            around(&written, at),
            around(&want, at)
        ))
    }

    /// Bytes that only a fault of the vendor's encoder makes cannot be written
    /// again; what is written must read as the same value.
    fn check_rewritten(
        &self,
        fields: &dyn Fields,
        written: &[u8],
        value: &Value,
    ) -> Result<(), String> {
        let data_type = self.data_type().map_err(|error| error.to_string())?;
        let read = Inspector::new(fields).to_value(&Encoded::new(data_type, written), None);
        let read = read.map_err(|error| format!("what is written does not read: {error}"))?;
        if read == *value { Ok(()) } else { Err(difference(&read, value, "value")) }
    }

    fn check_malformed(&self, fields: &dyn Fields) -> Result<(), String> {
        let result = |key| self.record.get(key).and_then(Value::as_str);
        let is_accepted = result("eta_result") == Some("accepted")
            && matches!(result("right_result"), None | Some("accepted"));
        if is_accepted {
            return self.check_value(fields);
        }
        match self.to_value(fields) {
            Err(VectorError::Inspect(_)) => Ok(()),
            Err(other) => Err(other.to_string()),
            Ok(value) => Err(format!("should be refused, decodes as {value}")),
        }
    }

    fn check_table(&self) -> Result<(), String> {
        let select = self.hex("hex").map_err(|error| error.to_string())?;
        let value = self.record.get("value").unwrap_or(&Value::Null);
        let check = |code: &[u8], want: &str| {
            let got = converted(&[&select, code].concat());
            match got {
                Ok(got) if got == want => Ok(()),
                other => Err(format!("{} is {other:?} instead of {want:?}", hex(code))),
            }
        };
        if let Some(rows) = value.get("rows") {
            return check_rows(rows, check);
        }
        let first = value.get("first").and_then(Value::as_u64).unwrap_or(0x100);
        let chars = filled_list(value.get("chars"), "chars")?;
        let last = first.saturating_add(chars.len() as u64 - 1);
        if last > 0xFF {
            return Err(format!("{} chars from {first} on are more than there are", chars.len()));
        }
        for (code, want) in (first..=last).zip(chars) {
            match want {
                Value::String(want) => check(&[code as u8], want)?,
                // A character that the reference cannot convert has no text.
                Value::Null => {}
                other => return Err(format!("the text of {code} is {}", short(other))),
            }
        }
        Ok(())
    }
}

/// A list that has something to check.
fn filled_list<'v>(list: Option<&'v Value>, name: &str) -> Result<&'v [Value], String> {
    match list.and_then(Value::as_array) {
        Some(list) if !list.is_empty() => Ok(list),
        _ => Err(format!("{name} is not a list with something to check in it")),
    }
}

/// Checks the characters of two bytes, a row for each first byte.
fn check_rows(
    rows: &Value,
    check: impl Fn(&[u8], &str) -> Result<(), String>,
) -> Result<(), String> {
    const CODES: std::ops::RangeInclusive<u8> = 0x21..=0x7E;
    let size = CODES.len();
    let rows = filled_list(Some(rows), "rows")?;
    if rows.len() != size {
        return Err(format!("{} rows, there must be {size}", rows.len()));
    }
    for (a, row) in CODES.zip(rows) {
        let row = row.as_str().ok_or(format!("the row of {a:02x} is no string"))?;
        let count = row.chars().count();
        if count != size {
            return Err(format!("the row of {a:02x} has {count} characters, not {size}"));
        }
        for (b, want) in CODES.zip(row.chars()) {
            check(&[a, b], want.encode_utf8(&mut [0; 4]))?;
        }
    }
    Ok(())
}

fn converted(bytes: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    rmtes::decode_into(bytes, &mut text).map(|()| text).map_err(|error| error.to_string())
}

/// Applies one field value after the other to a cached one.
fn check_steps(steps: &Value) -> Result<(), String> {
    let steps = filled_list(Some(steps), "steps")?;
    let mut cache = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let text = |key| step.get(key).and_then(Value::as_str).unwrap_or_default();
        let field = unhex(text("field_hex")).ok_or(format!("step {at}: field_hex is no hex"))?;
        let applied = rmtes::apply(&mut cache, &field, rmtes::DEFAULT_MAX_CACHE_LEN);
        if applied.is_ok() != (text("apply") == "SUCCESS") {
            return Err(format!("step {at}: apply gives {applied:?}, not {}", text("apply")));
        }
        if hex(&cache) != text("cache_hex") {
            let (got, want) = (hex(&cache), text("cache_hex"));
            return Err(format!("step {at}: the cached value is {got} instead of {want}"));
        }
        let utf8 = converted(&cache);
        let want = text("convert");
        let is_same = match want {
            "SUCCESS" => utf8.as_ref().is_ok_and(|got| hex(got.as_bytes()) == text("utf8_hex")),
            "FAILURE" => utf8.is_err(),
            _ => cache.is_empty(),
        };
        if !is_same {
            let want = if want == "SUCCESS" { text("utf8_hex") } else { want };
            return Err(format!("step {at}: the text is {utf8:?} instead of {want}"));
        }
    }
    Ok(())
}

/// Some bytes from `at` on.
fn around(bytes: &[u8], at: usize) -> String {
    const SHOWN: usize = 8;
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.len() {
        0 => "the end".to_owned(),
        1..=SHOWN => hex(rest),
        _ => format!("{}…", hex(&rest[..SHOWN])),
    }
}

/// The first place where two values differ, in words.
fn difference(got: &Value, want: &Value, path: &str) -> String {
    match (got, want) {
        (Value::Object(got), Value::Object(want)) => {
            for (key, want) in want {
                let path = format!("{path}.{key}");
                match got.get(key) {
                    Some(got) if got == want => {}
                    Some(got) => return difference(got, want, &path),
                    None => return format!("{path} is missing, it should be {}", short(want)),
                }
            }
            let more = got.iter().find(|(key, _)| !want.contains_key(*key));
            more.map_or(path.to_owned(), |(key, value)| {
                format!("{path}.{key} is {}, it should not be there", short(value))
            })
        }
        (Value::Array(got), Value::Array(want)) if got.len() == want.len() => {
            let differs = got.iter().zip(want).position(|(got, want)| got != want);
            differs.map_or(path.to_owned(), |at| {
                difference(&got[at], &want[at], &format!("{path}[{at}]"))
            })
        }
        _ => format!("{path} is {} instead of {}", short(got), short(want)),
    }
}

fn short(value: &Value) -> String {
    const SHOWN: usize = 120;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoFields;

    fn outcome(line: &str) -> Outcome {
        Vector::parse(line).expect("JSON").check(&NoFields)
    }

    fn fault(line: &str) -> String {
        match outcome(line) {
            Outcome::Failed(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_difference_names_its_place() {
        let text = fault(r#"{"type":"INT","hex":"05","value":{"type":"INT","v":"6"}}"#);
        assert_eq!(text, r#"value.v is "5" instead of "6""#);
        let text = fault(r#"{"type":"INT","hex":"05","value":{"type":"INT","v":"5","x":1}}"#);
        assert_eq!(text, "value.x is missing, it should be 1");
        let text = fault(r#"{"type":"INT","hex":"05","value":{"type":"INT"}}"#);
        assert_eq!(text, r#"value.v is "5", it should not be there"#);
        let text = fault(r#"{"type":"INT","hex":"0005","value":{"type":"INT","v":"5"}}"#);
        assert_eq!(text, "written bytes differ from hex at byte 0: 05 instead of 0005");
    }

    #[test]
    fn malformed_vectors_must_be_refused_unless_the_reference_is_right() {
        let accepted = r#"{"type":"INT","hex":"05","malformed":true,"eta_result":"accepted""#;
        let value = r#""value":{"type":"INT","v":"5"}}"#;
        assert_eq!(outcome(&format!("{accepted},{value}")), Outcome::Passed);
        let refused = format!(r#"{accepted},"right_result":"error",{value}"#);
        assert!(fault(&refused).starts_with("should be refused"));
        let bad = r#"{"type":"INT","hex":"","malformed":true,"eta_result":"INCOMPLETE_DATA"}"#;
        assert!(fault(bad).starts_with("should be refused"));
        let cut = r#"{"type":"QOS","hex":"62","malformed":true,"eta_result":"INCOMPLETE_DATA"}"#;
        assert_eq!(outcome(cut), Outcome::Passed);
        let no_hex = r#"{"type":"QOS","hex":"6","malformed":true,"eta_result":"INCOMPLETE_DATA"}"#;
        assert_eq!(
            fault(no_hex),
            r#"the key "hex" is not a string of pairs of hexadecimal digits"#
        );
    }

    #[test]
    fn transport_frames_are_skipped() {
        let line = r#"{"kind":"transport","hex":"000302"}"#;
        assert_eq!(outcome(line), Outcome::Skipped);
        let vector = Vector::parse(line).expect("JSON");
        assert_eq!(vector.to_value(&NoFields), Err(VectorError::Transport));
    }

    #[test]
    fn what_checks_nothing_does_not_pass() {
        let table = |value: &str| {
            fault(&format!(r#"{{"type":"RMTES_STRING","hex":"1b2842","value":{{{value}}}}}"#))
        };
        let nothing = |name| format!("{name} is not a list with something to check in it");
        for (name, values) in
            [("steps", ["[]", "7"]), ("rows", ["[]", "{}"]), ("chars", ["7", "[]"])]
        {
            for value in values {
                assert_eq!(table(&format!(r#""first":33,"{name}":{value}"#)), nothing(name));
            }
        }
        assert_eq!(table(r#""rows":["!"]"#), "1 rows, there must be 94");
        let rows = vec![r#""!""#; 94].join(",");
        let told = table(&format!(r#""rows":[{rows}]"#));
        assert_eq!(told, "the row of 21 has 1 characters, not 94");
        let told = table(r#""first":255,"chars":["a","b"]"#);
        assert_eq!(told, "2 chars from 255 on are more than there are");
        assert_eq!(table(r#""first":33,"chars":[7]"#), "the text of 33 is 7");
    }

    #[test]
    fn steps_stop_at_the_first_difference() {
        let step = |cache: &str| {
            format!(
                r#"{{"type":"RMTES_STRING","hex":"41","value":{{"steps":[{{"field_hex":"41",
                "apply":"SUCCESS","cache_hex":"{cache}","convert":"SUCCESS","utf8_hex":"41"}}]}}}}"#
            )
        };
        assert_eq!(outcome(&step("41")), Outcome::Passed);
        assert_eq!(fault(&step("42")), "step 0: the cached value is 41 instead of 42");
    }
}
