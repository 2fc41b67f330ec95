//! Field lists and element lists.

use std::collections::HashMap;

use tapeline_rwf::{DataType, ElementEntry, Encoded, FieldEntry, FieldList, SetDefs};

use super::text::push_header;
use super::{Scratch, Writer};
use crate::error::WriteError;

impl Writer<'_> {
    /// The fields as an object, and the comma.
    pub(super) fn field_list(
        &mut self,
        data: &Encoded<'_>,
        defs: &SetDefs<'_>,
    ) -> Result<(), WriteError> {
        let list = data.field_list_with(defs)?;
        self.out.push(b'{');
        match self.repeats_a_field(&list)? {
            false => {
                for entry in &list {
                    self.field(&entry?)?;
                }
            }
            true => self.last_of_each_field(&list)?,
        }
        self.close(b'}');
        Ok(())
    }

    /// Whether a field id comes twice, which an object cannot say.
    fn repeats_a_field(&mut self, list: &FieldList<'_>) -> Result<bool, WriteError> {
        let Scratch { seen, touched, .. } = &mut *self.scratch;
        let (mut repeats, mut error) = (false, None);
        for entry in list {
            match entry {
                Ok(entry) => {
                    let fid = usize::from(entry.field_id as u16);
                    let (word, bit) = (fid / 64, 1_u64 << (fid % 64));
                    if seen[word] == 0 {
                        touched.push(word as u16);
                    }
                    repeats |= seen[word] & bit != 0;
                    seen[word] |= bit;
                }
                Err(found) => error = Some(found),
            }
        }
        touched.drain(..).for_each(|word| seen[usize::from(word)] = 0);
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

    #[inline]
    fn field(&mut self, entry: &FieldEntry<'_>) -> Result<(), WriteError> {
        let Some((data_type, name)) = self.vocabulary.written(entry.field_id) else {
            *self.left_out += 1;
            return Ok(());
        };
        let value = entry.typed(data_type);
        self.or_leave_out(|writer| {
            writer.raw(name);
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
            return self.primitive(&entry.value.primitive()?);
        }
        self.out.push(b'{');
        self.type_name(data_type);
        self.raw(b"\"Data\":");
        match data_type.is_container() {
            true => self.container(&entry.value, &SetDefs::NONE)?,
            false => self.primitive(&entry.value.primitive()?)?,
        }
        self.close(b'}');
        Ok(())
    }
}
