//! Field lists and element lists.

use std::collections::HashMap;

use tapeline_rwf::{DataType, ElementEntry, Encoded, FieldEntry, FieldList, SetDefs};

use super::Writer;
use super::text::push_header;
use crate::error::WriteError;

impl Writer<'_> {
    /// The fields as an object, and the comma.
    pub(super) fn field_list(
        &mut self,
        data: &Encoded<'_>,
        defs: &SetDefs<'_>,
    ) -> Result<(), WriteError> {
        let list = data.field_list_with(defs)?;
        let (before, left_out) = (self.out.len(), *self.left_out);
        self.out.push(b'{');
        if !self.usual_fields(&list) {
            // From the start again, for whatever it is.
            self.out.truncate(before + 1);
            *self.left_out = left_out;
            match self.repeats_a_field(&list)? {
                false => {
                    for entry in &list {
                        self.field(&entry?)?;
                    }
                }
                true => self.last_of_each_field(&list)?,
            }
        }
        self.close(b'}');
        Ok(())
    }

    /// Writes the fields in one pass if none comes twice, is a container or is
    /// malformed; else returns `false`, with some of them written.
    ///
    /// Lists inside the list are left to the slower way, since which ids have
    /// been seen is known for one list at a time.
    fn usual_fields(&mut self, list: &FieldList<'_>) -> bool {
        let is_usual = list.iter().all(|entry| match entry {
            Ok(entry) => self.scratch.is_new(entry.field_id) && self.usual_field(&entry),
            Err(_) => false,
        });
        self.scratch.forget();
        is_usual
    }

    #[inline]
    fn usual_field(&mut self, entry: &FieldEntry<'_>) -> bool {
        let Some((data_type, name)) = self.vocabulary.written(entry.field_id) else {
            *self.left_out += 1;
            return true;
        };
        name.push_to(self.out);
        let value = entry.typed(data_type);
        !value.data_type().is_container() && self.field_primitive(entry.field_id, &value).is_ok()
    }

    /// Whether a field id comes twice, which an object cannot say.
    fn repeats_a_field(&mut self, list: &FieldList<'_>) -> Result<bool, WriteError> {
        let (mut repeats, mut error) = (false, None);
        for entry in list {
            match entry {
                Ok(entry) => repeats |= !self.scratch.is_new(entry.field_id),
                Err(found) => error = Some(found),
            }
        }
        self.scratch.forget();
        error.map_or(Ok(repeats), |error| Err(error.into()))
    }

    /// Rare, and therefore plain: the last value of each field counts.
    #[cold]
    fn last_of_each_field(&mut self, list: &FieldList<'_>) -> Result<(), WriteError> {
        let mut last = HashMap::new();
        for (at, entry) in list.iter().enumerate() {
            last.insert(entry?.field_id, at);
        }
        for (at, entry) in list.iter().enumerate() {
            let entry = entry?;
            if last.get(&entry.field_id) == Some(&at) {
                self.field(&entry)?;
            }
        }
        Ok(())
    }

    fn field(&mut self, entry: &FieldEntry<'_>) -> Result<(), WriteError> {
        let Some((data_type, name)) = self.vocabulary.written(entry.field_id) else {
            *self.left_out += 1;
            return Ok(());
        };
        let value = entry.typed(data_type);
        self.or_leave_out(|writer| {
            name.push_to(writer.out);
            match value.data_type().is_container() {
                true => writer.container(&value, &SetDefs::NONE),
                false => writer.field_primitive(entry.field_id, &value),
            }
        })
    }

    /// The elements as an object, and the comma.
    pub(super) fn element_list(
        &mut self,
        data: &Encoded<'_>,
        defs: &SetDefs<'_>,
    ) -> Result<(), WriteError> {
        self.out.push(b'{');
        for entry in &data.element_list_with(defs)? {
            let entry = entry?;
            self.or_leave_out(|writer| writer.element(&entry))?;
        }
        self.close(b'}');
        Ok(())
    }

    fn element(&mut self, entry: &ElementEntry<'_>) -> Result<(), WriteError> {
        self.out.push(b'"');
        push_header(self.out, entry.name);
        self.raw(b"\":");
        let data_type = entry.value.data_type().base();
        let bare = matches!(data_type, DataType::UINT | DataType::ASCII_STRING);
        if bare && !entry.value.is_empty() {
            return self.primitive(&entry.value);
        }
        self.out.push(b'{');
        self.type_name(data_type);
        self.raw(b"\"Data\":");
        match data_type.is_container() {
            true => self.container(&entry.value, &SetDefs::NONE)?,
            false => self.primitive(&entry.value)?,
        }
        self.close(b'}');
        Ok(())
    }
}
