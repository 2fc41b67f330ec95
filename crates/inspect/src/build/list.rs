//! Field lists and element lists.

use tapeline_rwf::{
    DataType, ElementListHead, ElementListInfo, FieldListHead, FieldListInfo, GlobalSetDefs,
    ListFlags, Primitive, SetHead,
};

use super::primitive::Setting;
use super::{Node, data, data_of, encoded, optional, primitive, with_flags};
use crate::BuildError;

/// Flags that change nothing when they are set: those without a name, and the
/// one of a set id without set data.
fn free_flags(has_set_data: bool) -> u16 {
    let named = ListFlags::HAS_INFO
        | ListFlags::HAS_SET_DATA
        | ListFlags::HAS_SET_ID
        | ListFlags::HAS_STANDARD_DATA;
    let bound = if has_set_data { named } else { named - ListFlags::HAS_SET_ID };
    0xFF & !u16::from(bound.bits())
}

/// A set-defined value.
enum SetValue {
    Primitive,
    Container(DataType, Vec<u8>),
}

impl SetValue {
    /// Reads what may be nested, before the list is written.
    fn read(data: &Node<'_, '_>, form: DataType) -> Result<Self, BuildError> {
        if form.is_container() {
            return Ok(Self::Container(form, data_of(data, form)?));
        }
        Ok(Self::Primitive)
    }

    fn setting(form: DataType) -> Setting {
        if form.set_size().is_some() { Setting::FixedSize } else { Setting::OwnLength }
    }
}

/// What both kinds of list have besides their entries.
struct Head {
    has_set: bool,
    set_id: Option<u16>,
    set_bytes: Option<Vec<u8>>,
    has_standard: bool,
}

impl Head {
    /// Set data is there if any of its keys is, or if the flags alone say so:
    /// an empty set.
    fn read(node: &Node<'_, '_>) -> Result<Self, BuildError> {
        let flags: Option<u8> = optional!(node, "flags", integer);
        let flags = ListFlags::from_bits_retain(flags.unwrap_or_default());
        let set_bytes = optional!(node, "setHex", hex);
        let has_set = flags.contains(ListFlags::HAS_SET_DATA)
            || set_bytes.is_some()
            || node.optional("set").is_some();
        let set_id = if has_set { optional!(node, "setId", integer) } else { None };
        Ok(Self { has_set, set_id, set_bytes, has_standard: node.optional("std").is_some() })
    }
}

pub(super) fn field_list(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let head = Head::read(node)?;
    let info = match node.optional("dictId") {
        Some(id) => Some(FieldListInfo {
            dictionary_id: id.integer()?,
            list_number: node.required("listNum")?.integer()?,
        }),
        None => None,
    };
    let (set, standard) = (node.optional("set"), node.optional("std"));
    let mut set_values = Vec::new();
    for entry in Node::optional_items(set.as_ref())? {
        let fid: i16 = entry.required("fid")?.integer()?;
        let form = entry.required("st")?.data_type()?;
        set_values.push((fid, form, SetValue::read(&entry.required("data")?, form)?));
    }
    let mut fields = Vec::new();
    for entry in Node::optional_items(standard.as_ref())? {
        fields.push((entry.required("fid")?.integer::<i16>()?, data(&entry.required("data")?)?));
    }
    let definition: Vec<_> = set_values.iter().map(|(fid, form, _)| (*fid, *form)).collect();
    let mut defs = GlobalSetDefs::new();
    defs.insert_field_set(0, &definition);
    let def = if head.set_bytes.is_some() { None } else { defs.field_set(0) };
    let list_head = FieldListHead {
        info,
        set: head.has_set.then_some(SetHead { id: head.set_id, def }),
        standard: head.has_standard,
    };
    let room = 64 + fields.iter().map(|(_, bytes)| bytes.len() + 5).sum::<usize>();
    let bytes = encoded(node, DataType::FIELD_LIST, room, |slot| {
        let mut list = node.checked(slot.field_list(&list_head))?;
        if let Some(bytes) = &head.set_bytes {
            node.checked(list.set_data(bytes))?;
        }
        let entries = Node::optional_items(set.as_ref())?;
        for (entry, (fid, form, value)) in entries.iter().zip(&set_values) {
            match value {
                SetValue::Container(data_type, bytes) => {
                    let slot = entry.checked(list.slot(*fid, *data_type))?;
                    entry.checked(slot.bytes(bytes))?;
                }
                SetValue::Primitive => {
                    with_set_value(entry, *form, |value| entry.checked(list.put(*fid, value)))?;
                }
            }
        }
        for (fid, bytes) in &fields {
            node.checked(list.bytes(*fid, bytes))?;
        }
        node.checked(list.finish())
    })?;
    with_flags(node, bytes, free_flags(head.has_set))
}

pub(super) fn element_list(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let head = Head::read(node)?;
    let list_number = optional!(node, "listNum", integer);
    let info = list_number.map(|list_number| ElementListInfo { list_number });
    let (set, standard) = (node.optional("set"), node.optional("std"));
    let mut set_values = Vec::new();
    for entry in Node::optional_items(set.as_ref())? {
        let name = entry.required("name")?.latin1()?;
        let form = entry.required("st")?.data_type()?;
        set_values.push((name, form, SetValue::read(&entry.required("data")?, form)?));
    }
    let mut elements = Vec::new();
    for entry in Node::optional_items(standard.as_ref())? {
        let value = entry.required("data")?;
        let data_type = value.required("type")?.data_type()?;
        elements.push((entry.required("name")?.latin1()?, data_type, data(&value)?));
    }
    let definition: Vec<_> =
        set_values.iter().map(|(name, form, _)| (name.as_slice(), *form)).collect();
    let mut defs = GlobalSetDefs::new();
    node.checked(defs.insert_element_set(0, &definition))?;
    let def = if head.set_bytes.is_some() { None } else { defs.element_set(0) };
    let list_head = ElementListHead {
        info,
        set: head.has_set.then_some(SetHead { id: head.set_id, def }),
        standard: head.has_standard,
    };
    let element_len = |(name, _, bytes): &(Vec<u8>, _, Vec<u8>)| name.len() + bytes.len() + 6;
    let room = 64 + elements.iter().map(element_len).sum::<usize>();
    let bytes = encoded(node, DataType::ELEMENT_LIST, room, |slot| {
        let mut list = node.checked(slot.element_list(&list_head))?;
        if let Some(bytes) = &head.set_bytes {
            node.checked(list.set_data(bytes))?;
        }
        let entries = Node::optional_items(set.as_ref())?;
        for (entry, (name, form, value)) in entries.iter().zip(&set_values) {
            match value {
                SetValue::Container(data_type, bytes) => {
                    let slot = entry.checked(list.slot(name, *data_type))?;
                    entry.checked(slot.bytes(bytes))?;
                }
                SetValue::Primitive => {
                    with_set_value(entry, *form, |value| entry.checked(list.put(name, value)))?;
                }
            }
        }
        for (name, data_type, bytes) in &elements {
            node.checked(list.bytes(name, *data_type, bytes))?;
        }
        node.checked(list.finish())
    })?;
    with_flags(node, bytes, free_flags(head.has_set))
}

/// Reads a set-defined primitive in the setting of its form.
fn with_set_value(
    entry: &Node<'_, '_>,
    form: DataType,
    put: impl FnOnce(Primitive<'_>) -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let mut scratch = Vec::new();
    let node = entry.required("data")?;
    put(primitive::read(&node, SetValue::setting(form), &mut scratch)?)
}
