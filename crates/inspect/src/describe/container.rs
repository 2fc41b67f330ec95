//! Filter lists, vectors, series and maps.

use serde_json::Value;

use tapeline_rwf::{
    DataType, Encoded, EntryFlags, FilterAction, FilterEntryFlags, LocalSetDefs, MapAction,
    SetDefs, VectorAction,
};

use super::{Describe, Object, inside, object, put, set_defs, typed};
use crate::InspectError;
use crate::names::{hex, type_name};

/// Ends a container with its entries.
fn with_entries(mut node: Object, entries: Vec<Value>) -> Value {
    node.insert("entries".to_owned(), entries.into());
    node.into()
}

impl Describe<'_> {
    /// What vectors, series and maps have between their own head and their
    /// entries; returns the definitions for what is inside.
    fn body<'a>(
        &mut self,
        node: &mut Object,
        local: Option<LocalSetDefs<'a>>,
        summary: Option<Encoded<'a>>,
        hint: Option<u32>,
        around: &SetDefs<'a>,
    ) -> Result<SetDefs<'a>, InspectError> {
        if let Some(local) = &local {
            for id in local.ids() {
                self.count()?;
                let fields = local.field_set(id).map_or(0, |def| def.len());
                let elements = local.element_set(id).map_or(0, |def| def.len());
                for _ in 0..fields + elements {
                    self.count()?;
                }
            }
        }
        put(node, "setDefs", local.as_ref().map(set_defs));
        let defs = SetDefs { local, global: around.global };
        if let Some(summary) = summary {
            node.insert("summary".to_owned(), self.data(&summary, &defs)?);
        }
        put(node, "hint", hint);
        Ok(defs)
    }

    pub(super) fn filter_list<'a>(
        &mut self,
        data: &Encoded<'a>,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        let list = data.filter_list()?;
        let mut node = typed(
            DataType::FILTER_LIST,
            [
                ("flags", list.flags().bits().into()),
                ("containerType", type_name(list.container_type()).into()),
            ],
        );
        put(&mut node, "hint", list.total_count_hint());
        let mut entries = Vec::new();
        for entry in &list {
            let entry = entry?;
            self.count()?;
            let mut item = object([
                ("action", entry.action.0.into()),
                ("flags", entry.flags.bits().into()),
                ("id", entry.id.into()),
            ]);
            let data_type = entry.data.data_type();
            let has_type = entry.flags.contains(FilterEntryFlags::HAS_CONTAINER_TYPE);
            put(&mut item, "containerType", has_type.then(|| type_name(data_type)));
            put(&mut item, "permHex", entry.perm_data.map(hex));
            if entry.action != FilterAction::CLEAR && data_type != DataType::NO_DATA {
                item.insert("data".to_owned(), self.data(&entry.data, &inside(defs))?);
            }
            entries.push(item.into());
        }
        Ok(with_entries(node, entries))
    }

    pub(super) fn vector<'a>(
        &mut self,
        data: &Encoded<'a>,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        let vector = data.vector()?;
        let mut node = typed(
            DataType::VECTOR,
            [
                ("flags", vector.flags().bits().into()),
                ("containerType", type_name(vector.container_type()).into()),
            ],
        );
        let (local, hint) = (vector.local_set_defs(), vector.total_count_hint());
        let defs = self.body(&mut node, local, vector.summary(), hint, defs)?;
        let mut entries = Vec::new();
        for entry in &vector {
            let entry = entry?;
            self.count()?;
            let mut item = keyed_entry(entry.action.0, entry.flags);
            item.insert("index".to_owned(), entry.index.into());
            put(&mut item, "permHex", entry.perm_data.map(hex));
            let is_bare = matches!(entry.action, VectorAction::CLEAR | VectorAction::DELETE)
                || vector.container_type() == DataType::NO_DATA;
            if !is_bare {
                item.insert("data".to_owned(), self.data(&entry.data, &defs)?);
            }
            entries.push(item.into());
        }
        Ok(with_entries(node, entries))
    }

    pub(super) fn series<'a>(
        &mut self,
        data: &Encoded<'a>,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        let series = data.series()?;
        let mut node = typed(
            DataType::SERIES,
            [
                ("flags", series.flags().bits().into()),
                ("containerType", type_name(series.container_type()).into()),
            ],
        );
        let (local, hint) = (series.local_set_defs(), series.total_count_hint());
        let defs = self.body(&mut node, local, series.summary(), hint, defs)?;
        let mut entries = Vec::new();
        for entry in &series {
            let entry = entry?;
            self.count()?;
            let mut item = Object::new();
            if series.container_type() != DataType::NO_DATA {
                item.insert("data".to_owned(), self.data(&entry, &defs)?);
            }
            entries.push(item.into());
        }
        Ok(with_entries(node, entries))
    }

    pub(super) fn map<'a>(
        &mut self,
        data: &Encoded<'a>,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        let map = data.map()?;
        let mut node = typed(
            DataType::MAP,
            [
                ("flags", map.flags().bits().into()),
                ("keyType", type_name(map.key_type()).into()),
                ("containerType", type_name(map.container_type()).into()),
            ],
        );
        put(&mut node, "keyFieldId", map.key_field_id());
        let (local, hint) = (map.local_set_defs(), map.total_count_hint());
        let defs = self.body(&mut node, local, map.summary(), hint, defs)?;
        let mut entries = Vec::new();
        for entry in &map {
            let entry = entry?;
            self.count()?;
            let mut item = keyed_entry(entry.action.0, entry.flags);
            put(&mut item, "permHex", entry.perm_data.map(hex));
            item.insert("key".to_owned(), self.map_key(&entry.key)?);
            let is_bare =
                entry.action == MapAction::DELETE || map.container_type() == DataType::NO_DATA;
            if !is_bare {
                item.insert("data".to_owned(), self.data(&entry.data, &defs)?);
            }
            entries.push(item.into());
        }
        Ok(with_entries(node, entries))
    }

    /// Keys are primitives; those of a type that is none are bytes.
    fn map_key(&mut self, key: &Encoded<'_>) -> Result<Value, InspectError> {
        self.count()?;
        match key.data_type() {
            data_type if data_type.is_container() => Ok(super::raw(data_type, key.bytes())),
            _ => self.primitive(key),
        }
    }
}

fn keyed_entry(action: u8, flags: EntryFlags) -> Object {
    object([("action", action.into()), ("flags", flags.bits().into())])
}
