//! Containers.

use tapeline_rwf::{DataType, Encoded, SetDefs};

use super::Writer;
use super::number::push_int;
use super::text::{push_base64, push_latin1, push_utf8};
use crate::error::WriteError;
use crate::names;
use crate::tape::Kind;

impl Writer<'_> {
    /// `"Fields":{..}` and the like with the comma; nothing for `NO_DATA`.
    pub(super) fn keyed_container(
        &mut self,
        data: &Encoded<'_>,
        defs: &SetDefs<'_>,
    ) -> Result<(), WriteError> {
        let Some(name) = names::container::quoted(data.data_type().0) else {
            // A container of no known type has no key to stand under.
            *self.left_out += u64::from(data.data_type() != DataType::NO_DATA);
            return Ok(());
        };
        let before = self.out.len();
        name.push_to(self.out);
        self.out.push(b':');
        if data.data_type() == DataType::JSON && !self.is_json(data.bytes()) {
            self.out.truncate(before);
            *self.left_out += 1;
            return Ok(());
        }
        self.container(data, defs)
    }

    /// A container and the comma.
    pub(super) fn container(
        &mut self,
        data: &Encoded<'_>,
        defs: &SetDefs<'_>,
    ) -> Result<(), WriteError> {
        match data.data_type() {
            DataType::FIELD_LIST => return self.field_list(data, defs),
            DataType::ELEMENT_LIST => return self.element_list(data, defs),
            DataType::FILTER_LIST => return self.filter_list(data),
            DataType::VECTOR => return self.vector(data),
            DataType::MAP => return self.map(data),
            DataType::SERIES => return self.series(data),
            DataType::MSG if !data.is_empty() => self.msg(&data.msg()?)?,
            _ if data.is_empty() => self.raw(b"null"),
            DataType::XML => self.quoted(|out| push_utf8(out, data.bytes())),
            DataType::ANSI_PAGE => self.quoted(|out| push_latin1(out, data.bytes())),
            DataType::JSON if self.is_json(data.bytes()) => {
                self.out.extend_from_slice(data.bytes());
            }
            DataType::JSON => {
                self.raw(b"null");
                *self.left_out += 1;
            }
            _ => push_base64(self.out, data.bytes()),
        }
        self.comma();
        Ok(())
    }

    /// Whether a payload is JSON that can stand where an object or an array
    /// has to be.
    fn is_json(&mut self, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let document = self.scratch.tape.parse(text, self.options.limits.depth);
        document.is_ok_and(|document| {
            !document.is_lenient && matches!(document.root().kind(), Kind::Object | Kind::Array)
        })
    }

    fn filter_list(&mut self, data: &Encoded<'_>) -> Result<(), WriteError> {
        let list = data.filter_list()?;
        self.out.push(b'{');
        self.count_hint(list.total_count_hint().map(u32::from));
        self.begin_entries(list.is_empty());
        for entry in &list {
            let entry = entry?;
            self.uint(b"{\"ID\":", entry.id);
            let action = entry.action.0;
            self.named(b"\"Action\":", names::filter_action::quoted(action), action);
            self.base64(b"\"PermData\":", entry.perm_data);
            if action != tapeline_rwf::FilterAction::CLEAR.0 {
                self.keyed_container(&entry.data, &SetDefs::NONE)?;
            }
            self.close(b'}');
        }
        self.end_entries(list.is_empty());
        Ok(())
    }

    fn map(&mut self, data: &Encoded<'_>) -> Result<(), WriteError> {
        let map = data.map()?;
        let defs = map.set_defs();
        // A map of no bytes has no type of keys, but JSON has to name one.
        let key_type = if data.is_empty() { DataType::BUFFER } else { map.key_type() }.0;
        self.out.push(b'{');
        self.named(b"\"KeyType\":", names::data_type::quoted(key_type), key_type);
        self.summary(map.summary(), &defs)?;
        self.count_hint(map.total_count_hint());
        if let Some(field_id) = map.key_field_id() {
            self.raw(b"\"KeyFieldID\":");
            push_int(self.out, field_id.into());
            self.comma();
        }
        self.begin_entries(map.is_empty());
        for entry in &map {
            let entry = entry?;
            let action = entry.action.0;
            self.named(b"{\"Action\":", names::map_action::quoted(action), action);
            self.raw(b"\"Key\":");
            self.primitive(&entry.key)?;
            self.base64(b"\"PermData\":", entry.perm_data);
            if entry.action != tapeline_rwf::MapAction::DELETE {
                self.keyed_container(&entry.data, &defs)?;
            }
            self.close(b'}');
        }
        self.end_entries(map.is_empty());
        Ok(())
    }

    fn vector(&mut self, data: &Encoded<'_>) -> Result<(), WriteError> {
        use tapeline_rwf::{VectorAction, VectorFlags};

        let vector = data.vector()?;
        let defs = vector.set_defs();
        self.out.push(b'{');
        self.summary(vector.summary(), &defs)?;
        self.count_hint(vector.total_count_hint());
        let sorting = vector.flags().contains(VectorFlags::SUPPORTS_SORTING);
        self.flag(sorting, b"\"SupportSorting\":true");
        self.begin_entries(vector.is_empty());
        for entry in &vector {
            let entry = entry?;
            let action = entry.action.0;
            self.uint(b"{\"Index\":", entry.index);
            self.named(b"\"Action\":", names::vector_action::quoted(action), action);
            self.base64(b"\"PermData\":", entry.perm_data);
            if !matches!(entry.action, VectorAction::CLEAR | VectorAction::DELETE) {
                self.keyed_container(&entry.data, &defs)?;
            }
            self.close(b'}');
        }
        self.end_entries(vector.is_empty());
        Ok(())
    }

    fn series(&mut self, data: &Encoded<'_>) -> Result<(), WriteError> {
        let series = data.series()?;
        let defs = series.set_defs();
        self.out.push(b'{');
        self.summary(series.summary(), &defs)?;
        self.count_hint(series.total_count_hint());
        self.begin_entries(series.is_empty());
        for entry in &series {
            self.check_len()?;
            self.out.push(b'{');
            self.keyed_container(&entry?, &defs)?;
            self.close(b'}');
        }
        self.end_entries(series.is_empty());
        Ok(())
    }

    fn summary(
        &mut self,
        summary: Option<Encoded<'_>>,
        defs: &SetDefs<'_>,
    ) -> Result<(), WriteError> {
        if let Some(summary) = summary
            && summary.data_type() != DataType::NO_DATA
        {
            self.raw(b"\"Summary\":{");
            self.keyed_container(&summary, defs)?;
            self.close(b'}');
        }
        Ok(())
    }

    fn count_hint(&mut self, hint: Option<u32>) {
        if let Some(hint) = hint {
            self.uint(b"\"CountHint\":", hint);
        }
    }

    fn begin_entries(&mut self, is_empty: bool) {
        if !is_empty {
            self.raw(b"\"Entries\":[");
        }
    }

    /// Ends the entries and the container around them.
    fn end_entries(&mut self, is_empty: bool) {
        if !is_empty {
            self.close(b']');
        }
        self.close(b'}');
    }
}
