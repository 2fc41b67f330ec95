//! Field lists and element lists.

use serde_json::Value;

use tapeline_rwf::{DataType, Encoded, ListFlags, SetDefs};

use super::{Describe, Object, inside, object, put, typed};
use crate::InspectError;
use crate::names::{hex, latin1, type_name};

/// The two kinds of entries of a list.
#[derive(Default)]
struct Entries {
    set: Vec<Value>,
    standard: Vec<Value>,
}

impl Entries {
    /// Ends a list: `set` if there are set-defined values, `std` if the list
    /// says that it has standard data.
    fn into_node(self, mut node: Object, has_standard: bool) -> Value {
        put(&mut node, "set", (!self.set.is_empty()).then_some(self.set));
        put(&mut node, "std", has_standard.then_some(self.standard));
        node.into()
    }
}

impl Describe<'_> {
    /// The value of an entry. Set-defined containers have their type as form.
    fn entry<'a>(
        &mut self,
        value: &Encoded<'a>,
        is_set_defined: bool,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        if is_set_defined && !value.data_type().is_container() {
            return self.set_value(value);
        }
        self.data(value, &inside(defs))
    }

    pub(super) fn field_list<'a>(
        &mut self,
        data: &Encoded<'a>,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        let list = data.field_list_with(defs)?;
        let flags = list.flags();
        let mut node = typed(DataType::FIELD_LIST, [("flags", flags.bits().into())]);
        put(&mut node, "dictId", list.info().map(|info| info.dictionary_id));
        put(&mut node, "listNum", list.info().map(|info| info.list_number));
        put(&mut node, "setId", list.set_id().filter(|_| flags.contains(ListFlags::HAS_SET_ID)));
        put(&mut node, "setHex", list.skipped_set_data().map(|data| hex(data.bytes())));
        let mut entries = Entries::default();
        for entry in &list {
            let entry = entry?;
            self.count()?;
            let fid = entry.field_id;
            if entry.is_set_defined() {
                let st = type_name(entry.value.data_type());
                let value = self.entry(&entry.value, true, defs)?;
                entries
                    .set
                    .push(object([("fid", fid.into()), ("st", st.into()), ("data", value)]).into());
            } else {
                let data_type = self.fields.data_type(fid).unwrap_or(DataType::BUFFER);
                let value = self.entry(&entry.typed(data_type), false, defs)?;
                entries.standard.push(object([("fid", fid.into()), ("data", value)]).into());
            }
        }
        Ok(entries.into_node(node, flags.contains(ListFlags::HAS_STANDARD_DATA)))
    }

    pub(super) fn element_list<'a>(
        &mut self,
        data: &Encoded<'a>,
        defs: &SetDefs<'a>,
    ) -> Result<Value, InspectError> {
        let list = data.element_list_with(defs)?;
        let flags = list.flags();
        let mut node = typed(DataType::ELEMENT_LIST, [("flags", flags.bits().into())]);
        put(&mut node, "listNum", list.info().map(|info| info.list_number));
        put(&mut node, "setId", list.set_id().filter(|_| flags.contains(ListFlags::HAS_SET_ID)));
        put(&mut node, "setHex", list.skipped_set_data().map(|data| hex(data.bytes())));
        let mut entries = Entries::default();
        for entry in &list {
            let entry = entry?;
            self.count()?;
            let name = latin1(entry.name);
            let value = self.entry(&entry.value, entry.is_set_defined, defs)?;
            if entry.is_set_defined {
                let st = type_name(entry.value.data_type());
                entries.set.push(
                    object([("name", name.into()), ("st", st.into()), ("data", value)]).into(),
                );
            } else {
                entries.standard.push(object([("name", name.into()), ("data", value)]).into());
            }
        }
        Ok(entries.into_node(node, flags.contains(ListFlags::HAS_STANDARD_DATA)))
    }
}
