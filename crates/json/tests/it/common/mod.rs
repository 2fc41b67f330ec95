//! Comparing by meaning: JSON as decimals and members, RWF as decoded values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use tapeline_inspect::Inspector;
use tapeline_json::{FromJson, Incoming, JsonError, Options, Services, ToJson, Vocabulary};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Encoded};

/// The services that the vectors know, written as names or as numbers.
pub(crate) struct KnownServices {
    pub(crate) written_as_names: bool,
}

impl Services for KnownServices {
    fn name(&self, id: u16) -> Option<&str> {
        match id {
            1 if self.written_as_names => Some("ELEKTRON_DD"),
            257 if self.written_as_names => Some("SVC_257"),
            _ => None,
        }
    }

    fn id(&self, name: &str) -> Option<u16> {
        match name {
            "ELEKTRON_DD" => Some(1),
            "SVC_257" => Some(257),
            _ => None,
        }
    }
}

pub(crate) struct Converters {
    pub(crate) dictionary: FieldDictionary,
    pub(crate) vocabulary: Arc<Vocabulary>,
}

impl Converters {
    pub(crate) fn new() -> Self {
        let (fields, enums) = tapeline_golden::json_dictionary();
        let dictionary =
            FieldDictionary::parse(fields.as_bytes(), enums.as_bytes()).expect("a dictionary");
        let vocabulary = Arc::new(Vocabulary::new(&dictionary));
        Self { dictionary, vocabulary }
    }

    pub(crate) fn to_json(
        &self,
        options: Options,
        names: bool,
        rwf: &[u8],
    ) -> Result<String, String> {
        let services = KnownServices { written_as_names: names };
        let mut text = Vec::new();
        ToJson::new(Arc::clone(&self.vocabulary), options)
            .message(rwf, &services, &mut text)
            .map_err(|error| error.to_string())?;
        String::from_utf8(text).map_err(|error| error.to_string())
    }

    /// What one frame gives.
    pub(crate) fn given(&self, options: Options, text: &str) -> Vec<Given> {
        let services = KnownServices { written_as_names: false };
        let mut given = Vec::new();
        FromJson::new(Arc::clone(&self.vocabulary), options).frame(text, &services, |incoming| {
            given.push(match incoming {
                Incoming::Message(rwf) => Given::Rwf(rwf.to_vec()),
                Incoming::Failed { error, text } => Given::Failed(error, text.to_owned()),
                Incoming::Ping | Incoming::Pong | Incoming::Error { .. } => Given::Other,
            });
        });
        given
    }

    /// The RWF of a frame with one message.
    pub(crate) fn rwf(&self, options: Options, text: &str) -> Result<Vec<u8>, String> {
        match self.given(options, text).pop() {
            Some(Given::Rwf(rwf)) => Ok(rwf),
            other => Err(format!("{other:?}")),
        }
    }

    /// The meaning of a message: what is left when spellings are taken away.
    pub(crate) fn meaning(&self, rwf: &[u8]) -> Value {
        let inspector = Inspector::new(&self.dictionary);
        let mut value = inspector
            .to_value(&Encoded::new(DataType::MSG, rwf), None)
            .unwrap_or_else(|error| panic!("{error}: {rwf:02x?}"));
        normalise(&mut value);
        value
    }
}

#[derive(Debug)]
pub(crate) enum Given {
    Rwf(Vec<u8>),
    Failed(JsonError, String),
    Other,
}

fn normalise(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(object) => {
            match object.get("type").and_then(Value::as_str) {
                Some("REAL") => normalise_real(object),
                Some("TIME" | "DATETIME") => drop(object.remove("len")),
                Some("ARRAY") => drop(object.remove("itemLength")),
                Some("FILTER_LIST") => normalise_filter_list(object),
                _ => {}
            }
            object.values_mut().for_each(normalise);
        }
        _ => {}
    }
}

/// An entry may say its container type although it is that of the list.
fn normalise_filter_list(list: &mut serde_json::Map<String, Value>) {
    let of_list = list.remove("containerType");
    for entry in list.get_mut("entries").and_then(Value::as_array_mut).into_iter().flatten() {
        let own = entry["containerType"].take();
        let flags = entry["flags"].as_u64().expect("flags");
        entry["flags"] = (flags & !2).into();
        entry["containerType"] = match (entry["action"].as_u64(), own) {
            (Some(3), _) => Value::Null,
            (_, Value::Null) => of_list.clone().unwrap_or_default(),
            (_, own) => own,
        };
    }
}

fn normalise_real(real: &mut serde_json::Map<String, Value>) {
    let (Some(hint), Some(v)) = (real.get("hint").and_then(Value::as_i64), real.get("v")) else {
        return;
    };
    let mantissa: i128 = v.as_str().and_then(|v| v.parse().ok()).expect("a mantissa");
    let (mantissa, exponent) = match hint {
        0..=21 => (mantissa, hint - 14),
        _ => (mantissa * 5_i128.pow(hint as u32 - 22), 22 - hint),
    };
    let decimal = Decimal::new(mantissa < 0, &mantissa.unsigned_abs().to_string(), exponent);
    real.clear();
    real.insert("decimal".into(), Value::String(format!("{decimal:?}")));
}

/// A number by its value, whatever zeros it is written with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn new(is_negative: bool, digits: &str, exponent: i64) -> Self {
        let significant = digits.trim_start_matches('0');
        let trimmed = significant.trim_end_matches('0');
        if trimmed.is_empty() {
            return Self { is_negative: false, digits: String::new(), exponent: 0 };
        }
        let exponent = exponent + (significant.len() - trimmed.len()) as i64;
        Self { is_negative, digits: trimmed.to_owned(), exponent }
    }

    fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let digits = mantissa.trim_start_matches('-');
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent: i64 = exponent.parse().expect("an exponent");
        let exponent = exponent - decimals.len() as i64;
        Self::new(mantissa.starts_with('-'), &format!("{whole}{decimals}"), exponent)
    }
}

/// JSON with numbers as decimals. A `"Text":""` is as good as none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Object(BTreeMap<String, Json>),
    Array(Vec<Json>),
    String(String),
    Number(Decimal),
    Word(String),
}

pub(crate) fn json(text: &str) -> Result<Json, String> {
    // A parser that somebody else wrote says whether the text is JSON at all.
    serde_json::from_str::<Value>(text).map_err(|error| format!("{error}: {text}"))?;
    let (value, rest) = read(text);
    assert_eq!(rest.trim(), "");
    Ok(value)
}

fn read(text: &str) -> (Json, &str) {
    let text = text.trim_start();
    match text.as_bytes()[0] {
        b'{' => {
            let mut members = BTreeMap::new();
            let mut rest = text[1..].trim_start();
            while !rest.starts_with('}') {
                let (key, behind) = read(rest.trim_start_matches(','));
                let (value, behind) = read(behind.trim_start().strip_prefix(':').expect("a colon"));
                let Json::String(key) = key else { panic!("a key") };
                members.insert(key, value);
                rest = behind.trim_start();
            }
            if members.contains_key("Stream")
                && members.get("Text") == Some(&Json::String(String::new()))
            {
                members.remove("Text");
            }
            (Json::Object(members), &rest[1..])
        }
        b'[' => {
            let mut items = Vec::new();
            let mut rest = text[1..].trim_start();
            while !rest.starts_with(']') {
                let (item, behind) = read(rest.trim_start_matches(','));
                items.push(item);
                rest = behind.trim_start();
            }
            (Json::Array(items), &rest[1..])
        }
        b'"' => {
            let mut escaped = false;
            let end = text[1..].find(|c: char| {
                let is_end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                is_end
            });
            let (string, rest) = text.split_at(end.expect("an end") + 2);
            (Json::String(serde_json::from_str(string).expect("a string")), rest)
        }
        _ => {
            let end = text.find([',', '}', ']', ' ', '\n']).unwrap_or(text.len());
            let (word, rest) = text.split_at(end);
            match word {
                "true" | "false" | "null" => (Json::Word(word.into()), rest),
                _ => (Json::Number(Decimal::parse(word)), rest),
            }
        }
    }
}
