//! Containers.

use tapeline_rwf::{
    DataType, FilterAction, FilterListHead, MapAction, MapHead, SeriesHead, Slot, VectorAction,
    VectorHead,
};

use super::code::{code, int_member, object, required_int, switch, wrong_kind};
use super::primitive::{Place, primitive_type};
use super::text::{ascii_bytes, base64, base64_member, string};
use super::{Outcome, Reader, Refusal, shortened};
use crate::error::{Fault, TokenKind};
use crate::names;
use crate::tape::{Kind, Value};

const ENTRY_KEYS: [&str; 5] = ["ID", "Index", "Action", "Key", "PermData"];

/// The container that a key stands for; entries and summaries have two more
/// names.
fn container_type(key: &Value<'_>) -> Option<DataType> {
    let code = match &*key.string()? {
        "FieldList" => DataType::FIELD_LIST.0,
        "ElementList" => DataType::ELEMENT_LIST.0,
        name => names::container::code(name)?,
    };
    Some(DataType(code))
}

/// The one container of a message, an entry or a summary.
pub(super) fn content(value: Value<'_>) -> Result<Option<(DataType, Value<'_>)>, Refusal> {
    let mut found = None;
    for (key, value) in value.members() {
        if let Some(data_type) = container_type(&key) {
            if found.is_some() {
                return Err(Refusal::at(&key, Fault::UnexpectedKey { key: key.raw().to_owned() }));
            }
            found = Some((data_type, value));
        }
    }
    Ok(found)
}

/// Summary and entries of a map, vector or series.
struct Body<'t> {
    entries: Option<Value<'t>>,
    summary: Option<(DataType, Value<'t>)>,
    container_type: DataType,
    total_count_hint: Option<u32>,
}

impl<'t> Body<'t> {
    fn read(container: Value<'t>) -> Result<Self, Refusal> {
        let entries = container.get("Entries").filter(|entries| !entries.is_null());
        if let Some(entries) = entries
            && entries.kind() != Kind::Array
        {
            return Err(wrong_kind(&entries, "Entries", TokenKind::Array));
        }
        let summary = match container.get("Summary") {
            Some(summary) => content(object(summary, "Summary")?)?,
            None => None,
        };
        let mut container_type = summary.map(|(data_type, _)| data_type);
        for entry in entries.iter().flat_map(Value::items) {
            let content = content(object(entry, "Entries")?)?;
            container_type = container_type.or(content.map(|(data_type, _)| data_type));
        }
        Ok(Self {
            entries,
            summary,
            container_type: container_type.unwrap_or(DataType::NO_DATA),
            total_count_hint: int_member(container, "CountHint")?,
        })
    }

    fn entries(&self) -> impl Iterator<Item = Value<'t>> + use<'t> {
        self.entries.into_iter().flat_map(|entries| entries.items())
    }
}

impl Reader<'_> {
    /// A container of the type that the slot wants.
    pub(super) fn container(&self, value: Value<'_>, slot: Slot<'_, '_>) -> Outcome {
        let data_type = slot.data_type();
        match data_type {
            DataType::FIELD_LIST => return self.field_list(value, slot),
            DataType::ELEMENT_LIST => return self.element_list(value, slot),
            _ if value.is_null() => return Ok(slot.empty()?),
            _ => {}
        }
        let key = names::container::name(data_type.0).unwrap_or("Data");
        match data_type {
            DataType::FILTER_LIST => self.filter_list(object(value, key)?, slot),
            DataType::VECTOR => self.vector(object(value, key)?, slot),
            DataType::MAP => self.map(object(value, key)?, slot),
            DataType::SERIES => self.series(object(value, key)?, slot),
            DataType::MSG => self.inner_message(object(value, key)?, slot),
            DataType::OPAQUE => Ok(slot.bytes(&base64(value, key)?)?),
            DataType::XML => Ok(slot.bytes(string(value, key)?.as_bytes())?),
            DataType::ANSI_PAGE => Ok(slot.bytes(&ascii_bytes(&string(value, key)?))?),
            DataType::JSON => match value.kind() {
                Kind::Object | Kind::Array => Ok(slot.bytes(value.raw().as_bytes())?),
                _ => Err(wrong_kind(&value, key, TokenKind::Object)),
            },
            _ => {
                let name = shortened(key);
                Err(Refusal::at(&value, Fault::InvalidContainer { name }))
            }
        }
    }

    fn inner_message(&self, value: Value<'_>, slot: Slot<'_, '_>) -> Outcome {
        let mut slot = Some(slot);
        self.with_msg(value, &mut |msg, payload| {
            let Some(slot) = slot.take() else { return Ok(()) };
            // The error of the closure is kept aside: the encoder has its own.
            let mut refused = Ok(());
            let written = slot.message_with(msg, payload.container_type(), |slot| {
                refused = self.payload(payload, slot);
                Ok(())
            });
            refused?;
            Ok(written?)
        })
    }

    fn filter_list(&self, value: Value<'_>, slot: Slot<'_, '_>) -> Outcome {
        self.check_keys(value, &["CountHint", "Entries"])?;
        let entries = value.get("Entries").filter(|entries| !entries.is_null());
        if let Some(entries) = entries
            && entries.kind() != Kind::Array
        {
            return Err(wrong_kind(&entries, "Entries", TokenKind::Array));
        }
        let mut head = FilterListHead::new(DataType::ELEMENT_LIST);
        for entry in entries.iter().flat_map(Value::items) {
            if let Some((data_type, _)) = content(object(entry, "Entries")?)? {
                head.container_type = data_type;
                break;
            }
        }
        head.total_count_hint = int_member(value, "CountHint")?;
        let mut list = slot.filter_list(&head)?;
        for entry in entries.iter().flat_map(Value::items) {
            self.check_entry_keys(object(entry, "Entries")?)?;
            let id = required_int(entry, "ID", "FilterList")?;
            let action = FilterAction(action(entry, "FilterList", names::filter_action::code)?);
            let perm_data = base64_member(entry, "PermData")?;
            let content = content(entry)?.filter(|_| action != FilterAction::CLEAR);
            let own_type = match (content, action) {
                (_, FilterAction::CLEAR) => None,
                (Some((data_type, _)), _) => Some(data_type),
                (None, _) => Some(DataType::NO_DATA),
            }
            .filter(|own| *own != head.container_type);
            match content {
                Some((_, data)) => {
                    let slot = list.entry(action, id, own_type, perm_data.as_deref())?;
                    self.container(data, slot)?;
                }
                None => list.bare_entry(action, id, own_type, perm_data.as_deref())?,
            }
        }
        Ok(list.finish()?)
    }

    fn map(&self, value: Value<'_>, slot: Slot<'_, '_>) -> Outcome {
        self.check_keys(value, &["KeyType", "Summary", "CountHint", "KeyFieldID", "Entries"])?;
        let key_type = value.get("KeyType").ok_or(Refusal::missing("KeyType", Some("Map")))?;
        let key_type = primitive_type(key_type)?;
        let body = Body::read(value)?;
        let mut head = MapHead::new(key_type, body.container_type);
        head.total_count_hint = body.total_count_hint;
        head.key_field_id = int_member(value, "KeyFieldID")?;
        let mut map = slot.map(&head)?;
        if let Some(summary) = body.summary {
            self.content(summary, map.summary()?)?;
        }
        for entry in body.entries() {
            self.check_entry_keys(entry)?;
            let key = entry.get("Key").ok_or(Refusal::missing("Key", Some("Map")))?;
            let action = MapAction(action(entry, "Map", names::map_action::code)?);
            let perm_data = base64_member(entry, "PermData")?;
            let content = content(entry)?;
            let is_bare = action == MapAction::DELETE || body.container_type == DataType::NO_DATA;
            let place = Place { key: "Key", field_id: None };
            self.primitive(key, key_type, place, &mut |key| {
                if is_bare {
                    return Ok(map.bare_entry(action, key, perm_data.as_deref())?);
                }
                let slot = map.entry(action, key, perm_data.as_deref())?;
                match content {
                    Some(content) => self.content(content, slot),
                    None => Ok(slot.empty()?),
                }
            })?;
        }
        Ok(map.finish()?)
    }

    fn vector(&self, value: Value<'_>, slot: Slot<'_, '_>) -> Outcome {
        self.check_keys(value, &["Summary", "CountHint", "SupportSorting", "Entries"])?;
        let body = Body::read(value)?;
        let mut head = VectorHead::new(body.container_type);
        head.total_count_hint = body.total_count_hint;
        head.supports_sorting = switch(value, "SupportSorting", false)?;
        let mut vector = slot.vector(&head)?;
        if let Some(summary) = body.summary {
            self.content(summary, vector.summary()?)?;
        }
        for entry in body.entries() {
            self.check_entry_keys(entry)?;
            let index = required_int(entry, "Index", "Vector")?;
            let action = VectorAction(action(entry, "Vector", names::vector_action::code)?);
            let perm_data = base64_member(entry, "PermData")?;
            let is_bare = matches!(action, VectorAction::CLEAR | VectorAction::DELETE)
                || body.container_type == DataType::NO_DATA;
            if is_bare {
                vector.bare_entry(action, index, perm_data.as_deref())?;
                continue;
            }
            let slot = vector.entry(action, index, perm_data.as_deref())?;
            match content(entry)? {
                Some(content) => self.content(content, slot)?,
                None => slot.empty()?,
            }
        }
        Ok(vector.finish()?)
    }

    fn series(&self, value: Value<'_>, slot: Slot<'_, '_>) -> Outcome {
        self.check_keys(value, &["Summary", "CountHint", "Entries"])?;
        let body = Body::read(value)?;
        let mut head = SeriesHead::new(body.container_type);
        head.total_count_hint = body.total_count_hint;
        let mut series = slot.series(&head)?;
        if let Some(summary) = body.summary {
            self.content(summary, series.summary()?)?;
        }
        for entry in body.entries() {
            self.check_entry_keys(entry)?;
            match content(entry)? {
                Some(content) => self.content(content, series.entry()?)?,
                None if body.container_type == DataType::NO_DATA => series.bare_entry()?,
                None => series.entry()?.empty()?,
            }
        }
        Ok(series.finish()?)
    }

    /// The content of an entry or a summary, all of which have one type.
    fn content(&self, content: (DataType, Value<'_>), slot: Slot<'_, '_>) -> Outcome {
        let (found, value) = content;
        let expected = slot.data_type();
        if found != expected {
            let error = tapeline_rwf::EncodeError::WrongType { expected, found };
            return Err(Refusal::at(&value, Fault::Conversion(error)));
        }
        self.container(value, slot)
    }

    fn check_entry_keys(&self, entry: Value<'_>) -> Outcome {
        if !self.options.catch_unknown_keys {
            return Ok(());
        }
        for (key, _) in entry.members() {
            if container_type(&key).is_none() && !ENTRY_KEYS.iter().any(|known| key.is(known)) {
                return Err(Refusal::at(&key, Fault::UnexpectedKey { key: key.raw().to_owned() }));
            }
        }
        Ok(())
    }
}

fn action(
    entry: Value<'_>,
    parent: &'static str,
    by_name: impl Fn(&str) -> Option<u8>,
) -> Result<u8, Refusal> {
    let value = entry.get("Action").ok_or(Refusal::missing("Action", Some(parent)))?;
    match code(value, "Action", by_name)? {
        action @ 0..=15 => Ok(action),
        _ => Err(Refusal::unexpected(&value, "Action")),
    }
}
