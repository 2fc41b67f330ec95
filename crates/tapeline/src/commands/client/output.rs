//! Events of items as text or JSON.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use tapeline_inspect::{Ink, Inspector, Palette};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Encoded, FieldList, Primitive, State, rmtes};

/// How events look.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) palette: Palette,
    pub(super) is_json: bool,
    /// Events, and not counts alone.
    pub(super) shows_data: bool,
}

/// Where events go.
pub(super) struct Output<'o> {
    out: &'o mut dyn Write,
    form: Form,
    text: String,
    /// The first error of writing; after it nothing is written.
    error: Option<io::Error>,
}

/// One event of an item.
pub(super) struct Shown<'e> {
    pub(super) event: &'static str,
    pub(super) service: &'e str,
    pub(super) item: &'e str,
    pub(super) state: Option<State<'e>>,
    /// What kind of event it is, as QUOTE.
    pub(super) detail: Option<String>,
    pub(super) payload: Option<Encoded<'e>>,
}

impl<'o> Output<'o> {
    pub(super) fn new(out: &'o mut dyn Write, form: Form) -> Self {
        Self { out, form, text: String::new(), error: None }
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// Shows an event, if events are wanted.
    pub(super) fn show(&mut self, shown: &Shown<'_>, dictionary: &FieldDictionary) {
        if !self.form.shows_data {
            return;
        }
        self.text.clear();
        if self.form.is_json {
            let object = object(shown, dictionary);
            self.text.push_str(&object.to_string());
            self.text.push('\n');
        } else {
            self.describe(shown, dictionary);
        }
        self.write();
    }

    fn describe(&mut self, shown: &Shown<'_>, dictionary: &FieldDictionary) {
        let palette = self.form.palette;
        palette.paint(&mut self.text, Ink::Head, shown.item);
        for (ink, piece) in [(Ink::Value, shown.service), (Ink::Name, shown.event)] {
            self.text.push(' ');
            palette.paint(&mut self.text, ink, piece);
        }
        let state = shown.state.as_ref().map(state_text);
        for piece in [shown.detail.clone(), state].into_iter().flatten() {
            self.text.push(' ');
            palette.paint(&mut self.text, Ink::Aside, &piece);
        }
        self.text.push('\n');
        let Some(payload) = shown.payload.filter(|data| data.data_type() != DataType::NO_DATA)
        else {
            return;
        };
        let inspector = Inspector::new(dictionary);
        if let Err(error) = inspector.print(&payload, None, (palette, 1), &mut self.text) {
            self.text.push_str("  ");
            palette.paint(&mut self.text, Ink::Fault, &format!("fault: {error}"));
            self.text.push('\n');
        }
    }

    /// Writes a line as it is.
    pub(super) fn line(&mut self, line: &str) {
        self.text.clear();
        self.text.push_str(line);
        self.text.push('\n');
        self.write();
    }

    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(self.text.as_bytes()).err();
        }
    }

    /// Hands on what was written.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

/// A state as one line.
fn state_text(state: &State<'_>) -> String {
    let text = String::from_utf8_lossy(state.text);
    format!("{} {} {} {text:?}", state.stream, state.data, state.code)
}

fn object(shown: &Shown<'_>, dictionary: &FieldDictionary) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("event", shown.event.into());
    put("service", shown.service.into());
    put("item", shown.item.into());
    if let Some(detail) = &shown.detail {
        put("detail", detail.as_str().into());
    }
    if let Some(state) = &shown.state {
        let text = String::from_utf8_lossy(state.text);
        put(
            "state",
            json!({
                "stream": state.stream.to_string(),
                "data": state.data.to_string(),
                "code": state.code.to_string(),
                "text": text,
            }),
        );
    }
    if let Some(payload) = shown.payload.filter(|data| data.data_type() != DataType::NO_DATA) {
        match payload.field_list() {
            Ok(list) if payload.data_type() == DataType::FIELD_LIST => {
                put("fields", fields(&list, dictionary));
            }
            _ => match Inspector::new(dictionary).to_value(&payload, None) {
                Ok(value) => drop(put("payload", value)),
                Err(error) => drop(put("error", error.to_string().into())),
            },
        }
    }
    object.into()
}

/// Fields by name; numbers as texts, so that no digit is lost.
fn fields(list: &FieldList<'_>, dictionary: &FieldDictionary) -> Value {
    let mut object = Map::new();
    for entry in list.iter() {
        let Ok(entry) = entry else {
            object.insert("fault".to_owned(), "the rest cannot be read".into());
            break;
        };
        let field = dictionary.field(entry.field_id);
        let name = field.map_or_else(|| entry.field_id.to_string(), |f| f.acronym.to_string());
        let data_type = field.map_or(DataType::BUFFER, |field| field.rwf_type);
        let value = match entry.primitive(data_type) {
            Ok(value) => value_text(&value).map_or(Value::Null, Value::from),
            Err(error) => json!({ "fault": error.to_string() }),
        };
        object.insert(name, value);
    }
    object.into()
}

/// A value as a text; `None` for a blank.
pub(crate) fn value_text(value: &Primitive<'_>) -> Option<String> {
    Some(match *value {
        Primitive::Blank(_) => return None,
        Primitive::Int(v) => v.to_string(),
        Primitive::Uint(v) => v.to_string(),
        Primitive::Enum(v) => v.to_string(),
        Primitive::Float(v) => v.to_string(),
        Primitive::Double(v) => v.to_string(),
        Primitive::Real(v) => v.to_string(),
        Primitive::Date(v) => v.to_string(),
        Primitive::Time(v) => v.to_string(),
        Primitive::DateTime(v) => v.to_string(),
        Primitive::Rmtes(bytes) => {
            let mut text = String::new();
            match rmtes::decode_into(bytes, &mut text) {
                Ok(()) => text,
                Err(_) => String::from_utf8_lossy(bytes).into_owned(),
            }
        }
        Primitive::Ascii(bytes) | Primitive::Utf8(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        Primitive::Buffer(bytes) | Primitive::Other(_, bytes) => tapeline_inspect::hex(bytes),
        Primitive::Qos(v) => format!("{v:?}"),
        Primitive::State(v) => state_text(&v),
        Primitive::Array(v) => format!("{} values", v.len()),
    })
}
