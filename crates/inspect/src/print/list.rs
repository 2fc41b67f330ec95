//! Field lists and element lists: a table of names and values.

use tapeline_rwf::{DataType, Encoded, SetDefs};

use super::primitive::short_hex;
use super::{Ink, Print, Printed, deeper};
use crate::names::{latin1, type_name};

/// Columns wider than this are not waited for.
const MAX_COLUMN: usize = 40;

fn widest(columns: impl Iterator<Item = usize>) -> usize {
    columns.filter(|width| *width <= MAX_COLUMN).max().unwrap_or(0)
}

impl Print<'_> {
    fn column(&mut self, ink: Ink, text: &str, width: usize) {
        self.ink(ink, format_args!("{text:width$}"));
        self.out.push_str("  ");
    }

    fn list_head(&mut self, data_type: DataType, asides: &[Option<String>]) {
        self.ink(Ink::Head, type_name(data_type));
        for aside in asides.iter().flatten() {
            self.piece(Ink::Aside, aside);
        }
        self.end_line();
    }

    fn field_name(&self, field_id: i16) -> String {
        self.fields.acronym(field_id).unwrap_or("?").to_owned()
    }

    pub(super) fn field_list<'a>(&mut self, data: &Encoded<'a>, defs: &SetDefs<'a>) -> Printed {
        let list = data.field_list_with(defs)?;
        self.list_head(
            DataType::FIELD_LIST,
            &[
                list.info().map(|info| format!("dictionary {}", info.dictionary_id)),
                list.info().map(|info| format!("template {}", info.list_number)),
                list.set_id().map(|id| format!("set {id}")),
            ],
        );
        let known = || list.iter().map_while(Result::ok);
        let name_width = widest(known().map(|entry| self.field_name(entry.field_id).len()));
        let fid_width = widest(known().map(|entry| entry.field_id.to_string().len()));
        self.inside(|print| {
            if let Some(skipped) = list.skipped_set_data() {
                print.part("set data without definition", short_hex(skipped.bytes()));
            }
            for entry in &list {
                let entry = entry?;
                print.count()?;
                let fid = entry.field_id;
                print.begin_line();
                print.column(Ink::Name, &print.field_name(fid), name_width);
                print.column(Ink::Aside, &format!("{fid:>fid_width$}"), fid_width);
                let data_type = print.fields.data_type(fid).unwrap_or(DataType::BUFFER);
                let value = entry.typed(data_type);
                if value.data_type().is_container() {
                    print.data(&value, &deeper(defs))?;
                } else {
                    print.primitive_line(&value, Some(fid))?;
                }
            }
            Ok(())
        })
    }

    pub(super) fn element_list<'a>(&mut self, data: &Encoded<'a>, defs: &SetDefs<'a>) -> Printed {
        let list = data.element_list_with(defs)?;
        self.list_head(
            DataType::ELEMENT_LIST,
            &[
                list.info().map(|info| format!("template {}", info.list_number)),
                list.set_id().map(|id| format!("set {id}")),
            ],
        );
        let known = || list.iter().map_while(Result::ok);
        let name_width = widest(known().map(|entry| entry.name.len()));
        let is_primitive = |data_type: &DataType| !data_type.is_container();
        let types = known().map(|entry| entry.value.data_type()).filter(is_primitive);
        let type_width = widest(types.map(|data_type| type_name(data_type).len()));
        self.inside(|print| {
            if let Some(skipped) = list.skipped_set_data() {
                print.part("set data without definition", short_hex(skipped.bytes()));
            }
            for entry in &list {
                let entry = entry?;
                print.count()?;
                print.begin_line();
                print.column(Ink::Name, &latin1(entry.name), name_width);
                let data_type = entry.value.data_type();
                if data_type.is_container() {
                    print.data(&entry.value, &deeper(defs))?;
                } else {
                    print.column(Ink::Aside, &type_name(data_type), type_width);
                    print.primitive_line(&entry.value, None)?;
                }
            }
            Ok(())
        })
    }
}
