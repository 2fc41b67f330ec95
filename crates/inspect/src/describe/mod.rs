//! From bytes to the `value` form. Its mirror is [`build`](crate::build).

mod container;
mod list;
mod msg;
mod primitive;

use serde_json::{Map, Value};

use tapeline_rwf::{DataType, Encoded, LocalSetDefs, SetDefKind, SetDefs};

use crate::names::{hex, printable, type_name};
use crate::{Fields, InspectError};

/// A JSON object in the making. The order of its keys is kept.
pub(crate) type Object = Map<String, Value>;

/// An object with the given keys.
pub(crate) fn object<const N: usize>(entries: [(&str, Value); N]) -> Object {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// An object that begins with its type.
pub(crate) fn typed<const N: usize>(data_type: DataType, entries: [(&str, Value); N]) -> Object {
    let mut node = object([("type", type_name(data_type).into())]);
    node.extend(object(entries));
    node
}

/// An empty container of any type.
pub(crate) fn empty(data_type: DataType) -> Value {
    typed(data_type, [("empty", true.into())]).into()
}

/// Bytes of no known form.
pub(crate) fn raw(data_type: DataType, bytes: &[u8]) -> Value {
    let mut node = typed(data_type, [("hex", hex(bytes).into())]);
    if let Some(text) = printable(bytes) {
        node.insert("text".to_owned(), text.into());
    }
    node.into()
}

/// Puts a key into an object if there is something to put.
pub(crate) fn put(node: &mut Object, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        node.insert(key.to_owned(), value.into());
    }
}

/// One walk through one piece of data.
pub(crate) struct Describe<'i> {
    pub(crate) fields: &'i dyn Fields,
    pub(crate) max_nodes: usize,
    pub(crate) nodes: usize,
}

impl Describe<'_> {
    /// Counts one more entry or value.
    fn count(&mut self) -> Result<(), InspectError> {
        self.nodes += 1;
        if self.nodes > self.max_nodes {
            return Err(InspectError::TooManyNodes { limit: self.max_nodes });
        }
        Ok(())
    }

    /// Any data by its type. `defs` are the set definitions around it; only
    /// the global ones reach what is inside.
    pub(crate) fn data<'a>(
        &mut self,
        data: &Encoded<'a>,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        self.count()?;
        let data_type = data.data_type();
        let is_root = data.path().depth() == 0;
        match data_type {
            DataType::NO_DATA => Ok(typed(data_type, []).into()),
            DataType::MSG if is_root || !data.is_empty() => self.msg(data, defs),
            _ if !data_type.is_container() => self.primitive(data),
            _ if data.is_empty() => Ok(empty(data_type)),
            DataType::FIELD_LIST => self.field_list(data, defs),
            DataType::ELEMENT_LIST => self.element_list(data, defs),
            DataType::FILTER_LIST => self.filter_list(data, defs),
            DataType::VECTOR => self.vector(data, defs),
            DataType::SERIES => self.series(data, defs),
            DataType::MAP => self.map(data, defs),
            _ => Ok(raw(data_type, data.bytes())),
        }
    }
}

/// What is left of set definitions one container further in.
fn inside<'a>(defs: &SetDefs<'a>) -> SetDefs<'a> {
    SetDefs { local: None, global: defs.global }
}

/// Set definitions of a container, as its `setDefs`.
fn set_defs(defs: &LocalSetDefs<'_>) -> Value {
    let entry_of_field = |(fid, data_type): (i16, DataType)| {
        Value::from(object([("fid", fid.into()), ("type", type_name(data_type).into())]))
    };
    let entry_of_element = |(name, data_type): (&[u8], DataType)| {
        let name = crate::names::latin1(name);
        Value::from(object([("name", name.into()), ("type", type_name(data_type).into())]))
    };
    let entries = |id| -> Vec<Value> {
        let fields = defs.field_set(id).map(|def| def.entries().map(entry_of_field).collect());
        fields.unwrap_or_else(|| {
            defs.element_set(id)
                .map_or(Vec::new(), |def| def.entries().map(entry_of_element).collect())
        })
    };
    let kind = match defs.kind() {
        SetDefKind::Field => "FIELD",
        SetDefKind::Element => "ELEMENT",
    };
    let defs: Vec<Value> = defs
        .ids()
        .map(|id| object([("id", id.into()), ("entries", entries(id).into())]).into())
        .collect();
    object([("kind", kind.into()), ("defs", defs.into())]).into()
}
