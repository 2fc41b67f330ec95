//! Filter lists, vectors, series and maps: one entry a line, its data below.

use tapeline_rwf::{DataType, Encoded, LocalSetDefs, SetDefs};

use super::primitive::{primitive_text, short_hex};
use super::{Ink, Print, Printed, deeper};
use crate::names::{latin1, type_name};

impl Print<'_> {
    fn container_head(&mut self, data_type: DataType, of: DataType, hint: Option<u32>) {
        self.ink(Ink::Head, type_name(data_type));
        self.piece(Ink::Aside, format_args!("of {}", type_name(of)));
        if let Some(hint) = hint {
            self.piece(Ink::Aside, format_args!("about {hint} in all"));
        }
    }

    /// Set definitions and summary data, in front of the entries.
    fn body<'a>(
        &mut self,
        local: Option<LocalSetDefs<'a>>,
        summary: Option<Encoded<'a>>,
        around: &SetDefs<'a>,
    ) -> Result<SetDefs<'a>, crate::InspectError> {
        if let Some(local) = &local {
            for id in local.ids() {
                self.count()?;
                let text = self.definition_text(local, id);
                self.part(&format!("set definition {id}"), text);
            }
        }
        let defs = SetDefs { local, global: around.global };
        if let Some(summary) = summary {
            self.begin_line();
            self.ink(Ink::Name, "summary");
            self.out.push(' ');
            self.data(&summary, &defs)?;
        }
        Ok(defs)
    }

    fn definition_text(&self, defs: &LocalSetDefs<'_>, id: u16) -> String {
        let fields = defs.field_set(id).into_iter().flat_map(|def| def.entries());
        let fields = fields.map(|(fid, data_type)| {
            let name = self.fields.acronym(fid).map_or_else(|| fid.to_string(), str::to_owned);
            format!("{name} {}", type_name(data_type))
        });
        let elements = defs.element_set(id).into_iter().flat_map(|def| def.entries());
        let elements =
            elements.map(|(name, data_type)| format!("{} {}", latin1(name), type_name(data_type)));
        fields.chain(elements).collect::<Vec<_>>().join(", ")
    }

    fn perm_data(&mut self, perm_data: Option<&[u8]>) {
        if let Some(bytes) = perm_data {
            self.piece(Ink::Aside, format_args!("permission data {}", short_hex(bytes)));
        }
    }

    /// Ends the line of an entry: with its data, if the entry has any.
    fn entry_data<'a>(&mut self, data: &Encoded<'a>, is_bare: bool, defs: &SetDefs<'a>) -> Printed {
        if is_bare || data.data_type() == DataType::NO_DATA {
            self.end_line();
            return Ok(());
        }
        self.out.push(' ');
        self.data(data, defs)
    }

    pub(super) fn filter_list<'a>(&mut self, data: &Encoded<'a>, defs: &SetDefs<'a>) -> Printed {
        let list = data.filter_list()?;
        let hint = list.total_count_hint().map(u32::from);
        self.container_head(DataType::FILTER_LIST, list.container_type(), hint);
        self.end_line();
        self.inside(|print| {
            for entry in &list {
                let entry = entry?;
                print.count()?;
                print.begin_line();
                print.ink(Ink::Name, entry.action);
                print.piece(Ink::Value, format_args!("filter {}", entry.id));
                print.perm_data(entry.perm_data);
                let is_bare = entry.action == tapeline_rwf::FilterAction::CLEAR;
                print.entry_data(&entry.data, is_bare, &deeper(defs))?;
            }
            Ok(())
        })
    }

    pub(super) fn vector<'a>(&mut self, data: &Encoded<'a>, defs: &SetDefs<'a>) -> Printed {
        use tapeline_rwf::{VectorAction, VectorFlags};
        let vector = data.vector()?;
        self.container_head(DataType::VECTOR, vector.container_type(), vector.total_count_hint());
        if vector.flags().contains(VectorFlags::SUPPORTS_SORTING) {
            self.piece(Ink::Aside, "sortable");
        }
        self.end_line();
        self.inside(|print| {
            let defs = print.body(vector.local_set_defs(), vector.summary(), defs)?;
            for entry in &vector {
                let entry = entry?;
                print.count()?;
                print.begin_line();
                print.ink(Ink::Name, entry.action);
                print.piece(Ink::Value, format_args!("[{}]", entry.index));
                print.perm_data(entry.perm_data);
                let is_bare = matches!(entry.action, VectorAction::CLEAR | VectorAction::DELETE);
                print.entry_data(&entry.data, is_bare, &defs)?;
            }
            Ok(())
        })
    }

    pub(super) fn series<'a>(&mut self, data: &Encoded<'a>, defs: &SetDefs<'a>) -> Printed {
        let series = data.series()?;
        self.container_head(DataType::SERIES, series.container_type(), series.total_count_hint());
        self.end_line();
        self.inside(|print| {
            let defs = print.body(series.local_set_defs(), series.summary(), defs)?;
            for (at, entry) in series.iter().enumerate() {
                let entry = entry?;
                print.count()?;
                print.begin_line();
                print.ink(Ink::Aside, format_args!("[{at}]"));
                print.entry_data(&entry, false, &defs)?;
            }
            Ok(())
        })
    }

    pub(super) fn map<'a>(&mut self, data: &Encoded<'a>, defs: &SetDefs<'a>) -> Printed {
        let map = data.map()?;
        self.container_head(DataType::MAP, map.container_type(), map.total_count_hint());
        self.piece(Ink::Aside, format_args!("by {}", type_name(map.key_type())));
        if let Some(field_id) = map.key_field_id() {
            let name = self.fields.acronym(field_id).unwrap_or("?");
            let text = format!("{name} {field_id}");
            self.piece(Ink::Aside, text);
        }
        self.end_line();
        self.inside(|print| {
            let defs = print.body(map.local_set_defs(), map.summary(), defs)?;
            for entry in &map {
                let entry = entry?;
                print.count()?;
                print.begin_line();
                print.ink(Ink::Name, entry.action);
                print.piece(Ink::Value, primitive_text(&entry.key.primitive()?)?);
                print.perm_data(entry.perm_data);
                let is_bare = entry.action == tapeline_rwf::MapAction::DELETE;
                print.entry_data(&entry.data, is_bare, &defs)?;
            }
            Ok(())
        })
    }
}
