//! Containers.

use tapeline_rwf::{
    DataType, FilterAction, FilterListHead, MapAction, MapHead, SeriesHead, Slot, VectorAction,
    VectorHead,
};

use super::code::{code, int_member, required_int, switch, wrong_kind};
use super::object::{Member, Object, object};
use super::primitive::{Place, primitive_type};
use super::text::{ascii_bytes, base64, base64_member, string};
use super::{Outcome, Reader, Refusal, shortened};
use crate::error::{Fault, TokenKind};
use crate::names;
use crate::tape::{Kind, Value};

/// The entries of a container; null is none.
fn entries<'t>(container: &Object<'t>) -> Result<Option<Value<'t>>, Refusal> {
    match container.get(Member::Entries) {
        Some(entries) if entries.kind() == Kind::Array => Ok(Some(entries)),
        Some(other) if !other.is_null() => Err(wrong_kind(&other, "Entries", TokenKind::Array)),
        _ => Ok(None),
    }
}

/// The type of what is in the first entry that has something in it.
fn entry_type(entries: Option<Value<'_>>) -> Result<Option<DataType>, Refusal> {
    for entry in entries.iter().flat_map(Value::items) {
        if let Some((data_type, _)) = Object::new(object(entry, "Entries")?).content()? {
            return Ok(Some(data_type));
        }
    }
    Ok(None)
}

/// Summary and entries of a map, vector or series.
struct Body<'t> {
    entries: Option<Value<'t>>,
    summary: Option<(DataType, Value<'t>)>,
    container_type: DataType,
    total_count_hint: Option<u32>,
}

impl<'t> Body<'t> {
    fn read(container: &Object<'t>) -> Result<Self, Refusal> {
        let entries = entries(container)?;
        let summary = match container.get(Member::Summary) {
            Some(summary) => Object::new(object(summary, "Summary")?).content()?,
            None => None,
        };
        let container_type = match summary {
            Some((data_type, _)) => Some(data_type),
            None => entry_type(entries)?,
        };
        Ok(Self {
            entries,
            summary,
            container_type: container_type.unwrap_or(DataType::NO_DATA),
            total_count_hint: int_member(container, Member::CountHint)?,
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
            DataType::FILTER_LIST => self.filter_list(&Object::new(object(value, key)?), slot),
            DataType::VECTOR => self.vector(&Object::new(object(value, key)?), slot),
            DataType::MAP => self.map(&Object::new(object(value, key)?), slot),
            DataType::SERIES => self.series(&Object::new(object(value, key)?), slot),
            DataType::MSG => self.inner_message(&Object::new(object(value, key)?), slot),
            DataType::OPAQUE => Ok(slot.bytes(&base64(value, key, self.spare)?)?),
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

    fn inner_message(&self, message: &Object<'_>, slot: Slot<'_, '_>) -> Outcome {
        let mut slot = Some(slot);
        self.with_msg(message, &mut |msg, payload| {
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

    fn filter_list(&self, value: &Object<'_>, slot: Slot<'_, '_>) -> Outcome {
        self.check_members(value, |member| matches!(member, Member::CountHint | Member::Entries))?;
        let entries = entries(value)?;
        let mut head = FilterListHead::new(entry_type(entries)?.unwrap_or(DataType::ELEMENT_LIST));
        head.total_count_hint = int_member(value, Member::CountHint)?;
        let mut list = slot.filter_list(&head)?;
        for entry in entries.iter().flat_map(Value::items) {
            let entry = Object::new(object(entry, "Entries")?);
            self.check_entry(&entry)?;
            let id = required_int(&entry, Member::Id, "FilterList")?;
            let action = FilterAction(action(&entry, "FilterList", names::filter_action::code)?);
            let perm_data = base64_member(&entry, Member::PermData, self.spare)?;
            let content = entry.content()?.filter(|_| action != FilterAction::CLEAR);
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

    fn map(&self, value: &Object<'_>, slot: Slot<'_, '_>) -> Outcome {
        use Member::{CountHint, Entries, Key, KeyFieldId, KeyType, Summary};

        self.check_members(value, |member| {
            matches!(member, KeyType | Summary | CountHint | KeyFieldId | Entries)
        })?;
        let key_type = primitive_type(value.required(KeyType, Some("Map"))?)?;
        let body = Body::read(value)?;
        let mut head = MapHead::new(key_type, body.container_type);
        head.total_count_hint = body.total_count_hint;
        head.key_field_id = int_member(value, KeyFieldId)?;
        let mut map = slot.map(&head)?;
        if let Some(summary) = body.summary {
            self.content(summary, map.summary()?)?;
        }
        for entry in body.entries() {
            let entry = Object::new(object(entry, "Entries")?);
            self.check_entry(&entry)?;
            let key = entry.required(Key, Some("Map"))?;
            let action = MapAction(action(&entry, "Map", names::map_action::code)?);
            let perm_data = base64_member(&entry, Member::PermData, self.spare)?;
            let content = entry.content()?;
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

    fn vector(&self, value: &Object<'_>, slot: Slot<'_, '_>) -> Outcome {
        use Member::{CountHint, Entries, Index, Summary, SupportSorting};

        self.check_members(value, |member| {
            matches!(member, Summary | CountHint | SupportSorting | Entries)
        })?;
        let body = Body::read(value)?;
        let mut head = VectorHead::new(body.container_type);
        head.total_count_hint = body.total_count_hint;
        head.supports_sorting = switch(value, SupportSorting, false)?;
        let mut vector = slot.vector(&head)?;
        if let Some(summary) = body.summary {
            self.content(summary, vector.summary()?)?;
        }
        for entry in body.entries() {
            let entry = Object::new(object(entry, "Entries")?);
            self.check_entry(&entry)?;
            let index = required_int(&entry, Index, "Vector")?;
            let action = VectorAction(action(&entry, "Vector", names::vector_action::code)?);
            let perm_data = base64_member(&entry, Member::PermData, self.spare)?;
            let content = entry.content()?;
            let is_bare = matches!(action, VectorAction::CLEAR | VectorAction::DELETE)
                || body.container_type == DataType::NO_DATA;
            if is_bare {
                vector.bare_entry(action, index, perm_data.as_deref())?;
                continue;
            }
            let slot = vector.entry(action, index, perm_data.as_deref())?;
            match content {
                Some(content) => self.content(content, slot)?,
                None => slot.empty()?,
            }
        }
        Ok(vector.finish()?)
    }

    fn series(&self, value: &Object<'_>, slot: Slot<'_, '_>) -> Outcome {
        use Member::{CountHint, Entries, Summary};

        self.check_members(value, |member| matches!(member, Summary | CountHint | Entries))?;
        let body = Body::read(value)?;
        let mut head = SeriesHead::new(body.container_type);
        head.total_count_hint = body.total_count_hint;
        let mut series = slot.series(&head)?;
        if let Some(summary) = body.summary {
            self.content(summary, series.summary()?)?;
        }
        for entry in body.entries() {
            let entry = Object::new(object(entry, "Entries")?);
            self.check_entry(&entry)?;
            match entry.content()? {
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

    #[inline]
    fn check_entry(&self, entry: &Object<'_>) -> Outcome {
        use Member::{Action, Id, Index, Key, PermData};

        self.check_members(entry, |member| {
            matches!(member, Id | Index | Action | Key | PermData)
                || member.container_type().is_some()
        })
    }
}

fn action(
    entry: &Object<'_>,
    parent: &'static str,
    by_name: impl Fn(&str) -> Option<u8>,
) -> Result<u8, Refusal> {
    let value = entry.required(Member::Action, Some(parent))?;
    match code(value, "Action", by_name)? {
        action @ 0..=15 => Ok(action),
        _ => Err(Refusal::unexpected(&value, "Action")),
    }
}
