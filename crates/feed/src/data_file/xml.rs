//! The data files of the vendor's performance tools: `MsgData.xml`.
//!
//! ```text
//! msgFormat
//! └ marketPriceMsgList
//!   ├ refreshMsg   ─ dataBody ─ fieldList ─ fieldEntry fieldId dataType data
//!   ├ updateMsg …  ─ the same
//!   ├ postMsg …    ─ left out, with all that is in it
//!   └ genMsg …     ─ left out
//! ```

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use tapeline_rwf::{DataType, Domain, FieldListInfo, UpdateType};

use super::{Content, DEFAULT_STAMP_FIELD, Fault, Field, value};

/// The message that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Refresh,
    Update,
}

/// Reads a file's text.
pub(super) fn read(text: &str) -> Result<Content, Fault> {
    let mut file = File {
        inside: Inside::Nothing,
        image: None,
        content: Content {
            domain: Domain::MARKET_PRICE,
            info: None,
            stamp_field: DEFAULT_STAMP_FIELD,
            image: Vec::new(),
            updates: Vec::new(),
        },
    };
    let mut reader = Reader::from_str(text);
    loop {
        let no_xml = |error: quick_xml::Error| Fault::new("text", format!("no XML: {error}"));
        match reader.read_event().map_err(no_xml)? {
            Event::Start(start) if matches!(start.name().as_ref(), b"postMsg" | b"genMsg") => {
                reader.read_to_end(start.name()).map_err(no_xml)?;
            }
            Event::Start(start) => file.begin(&start)?,
            Event::Empty(start) => {
                file.begin(&start)?;
                file.end(start.name().as_ref());
            }
            Event::End(end) => file.end(end.name().as_ref()),
            Event::Eof => break,
            _ => {}
        }
    }
    match file.image {
        Some(image) => Ok(Content { image, ..file.content }),
        None => Err(Fault::new("refreshMsg", "there is none, one is needed")),
    }
}

/// What has been read.
struct File {
    inside: Inside,
    image: Option<Vec<Field>>,
    content: Content,
}

impl File {
    fn begin(&mut self, start: &BytesStart<'_>) -> Result<(), Fault> {
        match start.name().as_ref() {
            b"refreshMsg" => {
                self.inside = Inside::Refresh;
                self.image = Some(Vec::new());
            }
            b"updateMsg" => {
                self.inside = Inside::Update;
                self.content.updates.push((UpdateType::UNSPECIFIED, Vec::new()));
            }
            b"fieldListInfo" if self.inside == Inside::Refresh => self.info(start)?,
            b"fieldEntry" => {
                let place = self.place();
                let field = field(start, &place)?;
                match self.inside {
                    Inside::Refresh => self.image.get_or_insert_default().push(field),
                    Inside::Update => {
                        if let Some((_, fields)) = self.content.updates.last_mut() {
                            fields.push(field);
                        }
                    }
                    Inside::Nothing => {}
                }
            }
            b"mapEntry" | b"mapHeader" => {
                return Err(Fault::new(
                    self.place(),
                    "only field lists can be read, this is a map",
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &[u8]) {
        if matches!(name, b"refreshMsg" | b"updateMsg") {
            self.inside = Inside::Nothing;
        }
    }

    /// Record template and dictionary, where they are given.
    fn info(&mut self, start: &BytesStart<'_>) -> Result<(), Fault> {
        let number = |key| match attribute(start, key, "refreshMsg")? {
            Some(text) => match text.trim().parse::<u16>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(Fault::new("refreshMsg", format!("{key}=\"{text}\" is no number"))),
            },
            None => Ok(None),
        };
        let (dictionary_id, list_number) = (number("dictionaryId")?, number("fieldListNum")?);
        self.content.info = list_number.map(|list_number| {
            let dictionary_id = dictionary_id.unwrap_or(1);
            FieldListInfo { dictionary_id, list_number }
        });
        Ok(())
    }

    /// Where in the file this is.
    fn place(&self) -> String {
        match self.inside {
            Inside::Nothing => "outside of messages".to_owned(),
            Inside::Refresh => "refreshMsg".to_owned(),
            Inside::Update => format!("updateMsg {}", self.content.updates.len() - 1),
        }
    }
}

fn field(start: &BytesStart<'_>, place: &str) -> Result<Field, Fault> {
    let needed = |key| {
        attribute(start, key, place)?
            .ok_or_else(|| Fault::new(place, format!("a fieldEntry has no {key}")))
    };
    let (id, type_name, data) = (needed("fieldId")?, needed("dataType")?, needed("data")?);
    let fault = |fault| Fault::new(format!("{place}, field {id}"), fault);
    let number = id.trim().parse().map_err(|_| fault("the fieldId is no number".to_owned()))?;
    let name = type_name.trim_start_matches("RSSL_DT_").trim_start_matches("DataTypes.");
    let data_type = DataType::from_name(name)
        .ok_or_else(|| fault(format!("dataType {type_name} is not known")))?;
    let value = value::encode(data_type, &data).map_err(fault)?;
    Ok(Field { id: number, value })
}

/// The value of an attribute, if it is there.
fn attribute(start: &BytesStart<'_>, key: &str, place: &str) -> Result<Option<String>, Fault> {
    let fault = |error: String| Fault::new(place, format!("attribute {key}: {error}"));
    let found = start.try_get_attribute(key).map_err(|error| fault(error.to_string()))?;
    let Some(found) = found else { return Ok(None) };
    match found.normalized_value(XmlVersion::Implicit1_0) {
        Ok(value) => Ok(Some(value.into_owned())),
        Err(error) => Err(fault(error.to_string())),
    }
}
