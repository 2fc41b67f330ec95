//! JSON to RWF.

mod code;
mod container;
mod list;
mod msg;
mod number;
mod object;
mod parts;
mod primitive;
mod spare;
mod text;
mod time;

use std::borrow::Cow;
use std::sync::Arc;

use tapeline_rwf::{EncodeError, Encoder};

use object::{Member, Object};
use spare::Spare;

use crate::error::{Fault, JsonError};
use crate::tape::{Kind, Tape, Value};
use crate::{Limits, Options, Services, Vocabulary};

/// One message of a frame.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// The other side asks for a pong.
    Ping,
    /// The answer to a ping.
    Pong,
    /// The other side could not do something with what it was sent.
    Error {
        /// The message's `ID`.
        id: i32,
        /// What it says.
        text: Cow<'a, str>,
    },
    /// A message, in RWF.
    Message(&'a [u8]),
    /// A message that cannot be converted; the rest of the frame goes on.
    Failed {
        /// What is wrong with it.
        error: JsonError,
        /// The message as it came; the whole frame if that is no JSON.
        text: &'a str,
    },
}

/// Converts JSON frames to RWF messages.
///
/// ```
/// use std::sync::Arc;
/// use tapeline_json::{FromJson, Incoming, NoServices, Options, Vocabulary};
/// use tapeline_omm::dictionary::FieldDictionary;
/// use tapeline_rwf::Msg;
///
/// let vocabulary = Arc::new(Vocabulary::new(FieldDictionary::builtin()));
/// let mut from_json = FromJson::new(vocabulary, Options::default());
/// let frame = r#"[{"ID":5,"Key":{"Name":"TRI.N"}},{"Type":"Ping"}]"#;
/// let mut seen = Vec::new();
/// from_json.frame(frame, &NoServices, |incoming| match incoming {
///     Incoming::Message(rwf) => {
///         let msg = Msg::decode(rwf).expect("what is converted is well-formed");
///         assert_eq!(msg.key().and_then(|key| key.name), Some(&b"TRI.N"[..]));
///         seen.push(msg.stream_id());
///     }
///     Incoming::Ping => seen.push(0),
///     other => panic!("not sent: {other:?}"),
/// });
/// assert_eq!(seen, [5, 0]);
/// ```
#[derive(Debug)]
pub struct FromJson {
    vocabulary: Arc<Vocabulary>,
    options: Options,
    tape: Tape,
    buffer: Vec<u8>,
    spare: Spare,
}

impl FromJson {
    /// A converter with the fields of a vocabulary.
    pub fn new(vocabulary: Arc<Vocabulary>, options: Options) -> Self {
        let (tape, buffer, spare) = (Tape::default(), Vec::new(), Spare::default());
        Self { vocabulary, options, tape, buffer, spare }
    }

    /// Gives each message of a frame in order: an object, or an array of them,
    /// which may itself hold arrays.
    pub fn frame(
        &mut self,
        text: &str,
        services: &dyn Services,
        mut each: impl FnMut(Incoming<'_>),
    ) {
        let limits = self.options.limits;
        let max = limits.text_bytes.min(Limits::MOST_TEXT_BYTES);
        if text.len() > max {
            let fault = Fault::TooLong { len: text.len(), max };
            let error = JsonError { id: 0, fault, offset: None };
            return each(Incoming::Failed { error, text });
        }
        match self.tape.parse(text, limits.depth) {
            Ok(document) => {
                let reader = Reader {
                    vocabulary: &self.vocabulary,
                    options: &self.options,
                    services,
                    spare: &self.spare,
                    is_in_attributes: false,
                };
                reader.messages(document.root(), &mut self.buffer, &mut each);
            }
            Err(fault) => each(Incoming::Failed { error: JsonError::syntax(fault), text }),
        }
        self.tape.clear();
    }
}

/// A fault and where it is; on the heap, so that results which are rarely this
/// stay in registers.
#[derive(Debug)]
struct Refusal(Box<Refused>);

#[derive(Debug)]
struct Refused {
    fault: Fault,
    offset: Option<u32>,
}

impl From<EncodeError> for Refusal {
    #[cold]
    fn from(error: EncodeError) -> Self {
        Self::of(error.into())
    }
}

impl Refusal {
    /// A fault that is in no one place.
    #[cold]
    fn of(fault: Fault) -> Self {
        Self(Box::new(Refused { fault, offset: None }))
    }

    #[cold]
    fn at(value: &Value<'_>, fault: Fault) -> Self {
        Self(Box::new(Refused { fault, offset: Some(value.offset()) }))
    }

    #[cold]
    fn unexpected(value: &Value<'_>, key: &str) -> Self {
        let text = shortened(value.raw());
        Self::at(value, Fault::UnexpectedValue { value: text, key: shortened(key) })
    }

    fn missing(key: &'static str, parent: Option<&'static str>) -> Self {
        Self::of(Fault::MissingKey { key, parent })
    }
}

/// A text of the sender's for an error, not longer than an error should be.
fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    text.chars().take(MAX_CHARS).collect()
}

type Outcome = Result<(), Refusal>;

/// What a conversion looks things up in.
#[derive(Clone, Copy)]
struct Reader<'r> {
    vocabulary: &'r Vocabulary,
    options: &'r Options,
    services: &'r dyn Services,
    spare: &'r Spare,
    is_in_attributes: bool,
}

impl Reader<'_> {
    /// The depth of arrays of arrays is that of the tape, which is bounded.
    fn messages(&self, value: Value<'_>, buffer: &mut Vec<u8>, each: &mut dyn FnMut(Incoming<'_>)) {
        match value.kind() {
            Kind::Array => value.items().for_each(|item| self.messages(item, buffer, each)),
            Kind::Object => {
                let object = Object::new(value);
                match self.incoming(&object, buffer) {
                    Ok(incoming) => each(incoming),
                    Err(Refusal(refused)) => {
                        let Refused { fault, offset } = *refused;
                        let error = JsonError { id: id(&object), fault, offset };
                        each(Incoming::Failed { error, text: value.raw() });
                    }
                }
            }
            _ => {
                let fault = Fault::Syntax { code: -2 };
                let error = JsonError { id: 0, fault, offset: Some(value.offset()) };
                each(Incoming::Failed { error, text: value.raw() });
            }
        }
    }

    fn incoming<'a>(
        &self,
        object: &Object<'a>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Incoming<'a>, Refusal> {
        if let Some(name) = object.get(Member::Type) {
            if name.is("Ping") {
                return Ok(Incoming::Ping);
            }
            if name.is("Pong") {
                return Ok(Incoming::Pong);
            }
            if name.is("Error") {
                let text = object.get(Member::Text).and_then(|text| text.string());
                return Ok(Incoming::Error { id: id(object), text: text.unwrap_or_default() });
            }
        }
        let max = self.options.limits.rwf_bytes;
        let len = encode(buffer, max, |encoder| self.message(object, encoder))?;
        Ok(Incoming::Message(buffer.get(..len).unwrap_or_default()))
    }
}

/// The `ID` of a message that is not converted, 0 if it has none.
fn id(message: &Object<'_>) -> i32 {
    message.get(Member::Id).and_then(|id| number::int(id.number()?)?.try_into().ok()).unwrap_or(0)
}

/// Encodes into a buffer that grows as needed up to `max` bytes; returns the
/// length.
fn encode(
    buffer: &mut Vec<u8>,
    max: usize,
    mut write: impl FnMut(&mut Encoder<'_>) -> Outcome,
) -> Result<usize, Refusal> {
    const START_LEN: usize = 1024;
    if buffer.len() < START_LEN {
        buffer.resize(START_LEN.min(max), 0);
    }
    loop {
        let mut encoder = Encoder::new(buffer);
        write(&mut encoder)?;
        match encoder.finish() {
            Ok(len) => return Ok(len),
            Err(EncodeError::BufferTooSmall { missing }) => {
                let needed = buffer.len() + missing;
                if needed > max {
                    return Err(Refusal::of(Fault::RwfTooLong { max }));
                }
                buffer.resize(needed, 0);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tapeline_omm::dictionary::FieldDictionary;

    use super::*;
    use crate::NoServices;

    fn from_json() -> FromJson {
        let dictionary = FieldDictionary::parse(b"", b"").expect("a dictionary");
        FromJson::new(Arc::new(Vocabulary::new(&dictionary)), Options::default())
    }

    /// What is said of a frame that fails.
    fn error(from_json: &mut FromJson, frame: &str) -> JsonError {
        let mut errors = Vec::new();
        from_json.frame(frame, &NoServices, |incoming| match incoming {
            Incoming::Failed { error, .. } => errors.push(error),
            other => panic!("{other:?}"),
        });
        errors.swap_remove(0)
    }

    #[test]
    fn the_room_of_a_large_frame_is_given_back() {
        let mut from_json = from_json();
        from_json.frame(r#"{"Type":"Ping"}"#, &NoServices, |_| {});
        let usual = from_json.tape.capacity();
        assert!(usual > 0);
        for end in ["]", "}"] {
            let frame = format!("[{}{end}", "[],".repeat(400_000) + "[]");
            from_json.frame(&frame, &NoServices, |_| {});
            let kept = from_json.tape.capacity();
            assert!((usual..=40_000).contains(&kept), "{kept}");
        }
    }

    #[test]
    fn a_byte_order_mark_counts_in_positions() {
        let mut from_json = from_json();
        for frame in ["[1]", "{\"a\" 1}", "{\"Type\":\"Nothing\"}"] {
            let offset = error(&mut from_json, frame).offset.expect("a position");
            let marked = format!("\u{FEFF}{frame}");
            let offset_behind_mark = error(&mut from_json, &marked).offset;
            assert_eq!(offset_behind_mark, Some(offset + 3), "{frame}");
        }
        // In front of the frame, and only once.
        assert_eq!(error(&mut from_json, "\u{FEFF}\u{FEFF}{}").offset, Some(3));
    }
}
