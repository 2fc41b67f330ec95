//! Converters for the targets of `tapeline-json`.
//!
//! The first byte of every input chooses the options:
//!
//! ```text
//!  bit 7..6    5                 4             3             2               1               0
//! +----------+-----------------+-------------+-------------+---------------+---------------+--------------+
//! | (free)   | dynamic quality | no displays | a service   | unknown fields| unknown keys  | enumerations |
//! |          | by default      | are taken   | by default  | are skipped   | are errors    | are expanded |
//! +----------+-----------------+-------------+-------------+---------------+---------------+--------------+
//! ```

use std::sync::{Arc, LazyLock};

use tapeline_json::{FromJson, Incoming, JsonError, Limits, Options, Services, ToJson, Vocabulary};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Encoded, Msg, check};

/// Limits small enough to be reached by a short input, and so wide apart that
/// what was read can be written, and what was written can be read.
const LIMITS: Limits =
    Limits { text_bytes: 1 << 20, depth: 64, rwf_bytes: 64 << 10, json_bytes: 256 << 10 };

/// What an entry, a field or an element can add after the length was checked.
const MOST_BEHIND_LIMIT: usize = 512 << 10;

struct Known {
    dictionary: FieldDictionary,
    vocabulary: Arc<Vocabulary>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let (fields, enums) = tapeline_golden::json_dictionary();
    let dictionary = FieldDictionary::parse(fields.as_bytes(), enums.as_bytes());
    let dictionary = dictionary.expect("the dictionary of the vectors");
    let vocabulary = Arc::new(Vocabulary::new(&dictionary));
    Known { dictionary, vocabulary }
});

/// Two services, one of which is only a number when it is written.
struct TwoServices;

impl Services for TwoServices {
    fn name(&self, id: u16) -> Option<&str> {
        (id == 1).then_some("ELEKTRON_DD")
    }

    fn id(&self, name: &str) -> Option<u16> {
        match name {
            "ELEKTRON_DD" => Some(1),
            "SVC_257" => Some(257),
            _ => None,
        }
    }
}

/// The options that the first byte of an input chooses.
pub fn options(choice: u8) -> Options {
    let is = |bit: u8| choice & 1 << bit != 0;
    Options {
        expand_enums: is(0),
        catch_unknown_keys: is(1),
        catch_unknown_fields: !is(2),
        default_service: is(3).then_some(1),
        allow_enum_displays: !is(4),
        default_dynamic_qos: is(5),
        limits: LIMITS,
    }
}

/// Reads a frame, checks all that comes of it, and gives the messages.
pub fn read(options: Options, text: &str) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    let mut from_json = FromJson::new(Arc::clone(&KNOWN.vocabulary), options);
    from_json.frame(text, &TwoServices, |incoming| match incoming {
        Incoming::Message(rwf) => {
            assert!(rwf.len() <= LIMITS.rwf_bytes);
            let msg = Msg::decode(rwf).expect("what is converted is well-formed");
            assert_ne!(msg.domain().0, 0);
            let data = Encoded::new(DataType::MSG, rwf);
            let types = |fid| KNOWN.dictionary.field(fid).map_or(DataType::UNKNOWN, |f| f.rwf_type);
            check(&data, types).expect("and so is all that is in it");
            messages.push(rwf.to_vec());
        }
        Incoming::Failed { error, text: failed } => check_error(&error, failed, text),
        Incoming::Ping | Incoming::Pong | Incoming::Error { .. } => {}
    });
    messages
}

/// An Error is JSON, says something, and repeats what was sent.
fn check_error(error: &JsonError, failed: &str, frame: &str) {
    assert!(frame.contains(failed));
    assert!(error.offset.is_none_or(|offset| offset as usize <= frame.len()));
    let mut out = Vec::new();
    error.push_message(failed, &mut out);
    let message: serde_json::Value = serde_json::from_slice(&out).expect("an Error is JSON");
    assert_eq!(message["ID"], error.id);
    assert_eq!(message["Debug"]["Message"], failed);
    let said = message["Text"].as_str().expect("a text");
    assert!(said.starts_with("JSON ") && said.len() < 1000, "{said}");
}

/// Writes a message, if it can be written, and checks the text.
pub fn write(options: Options, rwf: &[u8]) -> Option<String> {
    const BEFORE: &[u8] = b"[";
    let mut out = BEFORE.to_vec();
    let mut to_json = ToJson::new(Arc::clone(&KNOWN.vocabulary), options);
    if let Err(error) = to_json.message(rwf, &TwoServices, &mut out) {
        assert_eq!(out, BEFORE, "with an error nothing is written");
        assert!(!error.to_string().is_empty());
        return None;
    }
    assert!(out.len() <= LIMITS.json_bytes + MOST_BEHIND_LIMIT, "{}", out.len());
    let text = String::from_utf8(out.split_off(BEFORE.len())).expect("JSON is UTF-8");
    // Payloads that are JSON go as they are, half a surrogate pair included.
    if !text.contains("\\u") {
        serde_json::from_str::<serde::de::IgnoredAny>(&text).expect("it is JSON");
    }
    Some(text)
}

/// What was read can be written, and from then on nothing changes any more.
pub fn settles(options: Options, text: &str) {
    // What is not asked for has to come back as well.
    let again = Options { default_service: None, default_dynamic_qos: false, ..options };
    for rwf in read(options, text) {
        let first = write(again, &rwf).expect("what was read can be written");
        let back = read(again, &first);
        let [back] = &back[..] else { panic!("{first}: {} messages", back.len()) };
        let second = write(again, back).expect("what was read can be written");
        assert_eq!(first, second);
        assert_eq!(read(again, &second), [back.as_slice()]);
    }
}
