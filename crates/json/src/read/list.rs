//! Field lists and element lists.

use tapeline_rwf::{
    DataType, ElementListHead, ElementListWriter, FieldListHead, FieldListWriter, Primitive, Slot,
};

use super::code::wrong_kind;
use super::object::{Member, Object, object};
use super::primitive::{Place, put_usual};
use super::text::string;
use super::{Outcome, Reader, Refusal, shortened};
use crate::error::{Fault, TokenKind};
use crate::names;
use crate::tape::{Kind, Value};

impl Reader<'_> {
    /// Values by field name or number; null is a list without fields.
    pub(super) fn field_list(&self, value: Value<'_>, slot: Slot<'_, '_>) -> Outcome {
        require_members(&value, "Fields")?;
        let mut list = slot.field_list(&FieldListHead::STANDARD)?;
        for (key, value) in value.members() {
            self.field(key, value, &mut list)?;
        }
        Ok(list.finish()?)
    }

    #[inline]
    fn field(
        &self,
        key: Value<'_>,
        value: Value<'_>,
        list: &mut FieldListWriter<'_, '_>,
    ) -> Outcome {
        if let Some(name) = key.short_name()
            && let Some((field_id, data_type)) = self.vocabulary.named(name)
            && let Some(written) = put_usual(&value, data_type, |value| list.put(field_id, value))
        {
            return Ok(written?);
        }
        self.any_field(key, value, list)
    }

    #[inline(never)]
    fn any_field(
        &self,
        key: Value<'_>,
        value: Value<'_>,
        list: &mut FieldListWriter<'_, '_>,
    ) -> Outcome {
        let name = string(key, "Fields")?;
        let known = self
            .field_id(&name)
            .and_then(|field_id| Some((field_id, self.vocabulary.data_type(field_id)?)));
        let Some((field_id, data_type)) = known else {
            if self.options.catch_unknown_fields {
                let field = shortened(&name);
                return Err(Refusal::at(&key, Fault::UnexpectedField { field }));
            }
            return Ok(());
        };
        if data_type == DataType::ARRAY {
            return self.array(value, &name, list.slot(field_id, data_type)?);
        }
        if data_type.is_container() {
            return self.container(value, list.slot(field_id, data_type)?);
        }
        let place = Place { key: &name, field_id: Some(field_id) };
        self.primitive(value, data_type, place, &mut |value| Ok(list.put(field_id, value)?))
    }

    /// The field of a name, or of a number in quotes.
    pub(super) fn field_id(&self, name: &str) -> Option<i16> {
        self.vocabulary.fid(name).or_else(|| {
            let is_number = name.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            is_number.then(|| name.parse().ok())?
        })
    }

    /// Values by name, each with its type or of one that can be told by its
    /// look; null is a list without elements.
    pub(super) fn element_list(&self, value: Value<'_>, slot: Slot<'_, '_>) -> Outcome {
        require_members(&value, "Elements")?;
        let mut list = slot.element_list(&ElementListHead::STANDARD)?;
        for (key, value) in value.members() {
            self.element(key, value, &mut list)?;
        }
        Ok(list.finish()?)
    }

    #[inline]
    fn element(
        &self,
        key: Value<'_>,
        value: Value<'_>,
        list: &mut ElementListWriter<'_, '_>,
    ) -> Outcome {
        let data_type = match value.kind() {
            Kind::Number => DataType::UINT,
            _ => DataType::ASCII_STRING,
        };
        if let Some(name) = key.plain()
            && let Some(written) = put_usual(&value, data_type, |value| list.put(name, value))
        {
            return Ok(written?);
        }
        self.any_element(&string(key, "Elements")?, value, list)
    }

    #[inline(never)]
    fn any_element(
        &self,
        name: &str,
        value: Value<'_>,
        list: &mut ElementListWriter<'_, '_>,
    ) -> Outcome {
        let (data_type, data) = match value.kind() {
            Kind::Number => (DataType::UINT, value),
            Kind::String | Kind::Null => (DataType::ASCII_STRING, value),
            Kind::Object => self.typed(value)?,
            _ => return Err(wrong_kind(&value, name, TokenKind::Object)),
        };
        match data_type {
            DataType::NO_DATA => Ok(list.put(name, Primitive::Blank(data_type))?),
            DataType::ARRAY => self.array(data, name, list.slot(name, data_type)?),
            container if container.is_container() => {
                self.container(data, list.slot(name, data_type)?)
            }
            _ => {
                let place = Place { key: name, field_id: None };
                self.primitive(data, data_type, place, &mut |value| Ok(list.put(name, value)?))
            }
        }
    }

    /// `{"Type":..,"Data":..}`.
    fn typed<'t>(&self, value: Value<'t>) -> Result<(DataType, Value<'t>), Refusal> {
        const PARENT: Option<&str> = Some("Elements");
        let typed = Object::new(object(value, "Elements")?);
        self.check_members(&typed, |member| matches!(member, Member::Type | Member::Data))?;
        let name = typed.required(Member::Type, PARENT)?;
        let code = name.string().and_then(|name| names::data_type::code(&name));
        let Some(code) = code else {
            let name_text = shortened(name.raw());
            return Err(Refusal::at(&name, Fault::InvalidContainer { name: name_text }));
        };
        Ok((DataType(code), typed.required(Member::Data, PARENT)?))
    }
}

/// A list is an object or null.
fn require_members(value: &Value<'_>, key: &str) -> Outcome {
    match value.kind() {
        Kind::Object | Kind::Null => Ok(()),
        _ => Err(wrong_kind(value, key, TokenKind::Object)),
    }
}
