//! Filter lists as they are kept.

use tapeline_rwf::{
    DataType, FilterAction, FilterEntryFlags, FilterList, FilterListFlags, MapAction, SetDefs,
};

use crate::CacheError;
use crate::data::Change;
use crate::keyed::{self, KeyedEntry};
use crate::lengths::{push_bytes15, push_bytes16};
use crate::rows::{Row, Rows};

/// A filter list as it is kept; its rows have the filter id as their key. Ids
/// are one byte, so there are at most 256 rows, and the wire can say 255: an
/// image of them all leaves the last out.
#[derive(Clone, Debug)]
pub(crate) struct FilterContent {
    container_type: DataType,
    rows: Rows,
    has_perm_data: bool,
}

impl FilterContent {
    pub(crate) fn new() -> Self {
        Self { container_type: DataType::NO_DATA, rows: Rows::new(), has_perm_data: false }
    }

    pub(crate) fn apply(
        &mut self,
        list: &FilterList<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        if self.rows.len() == 0 {
            self.container_type = list.container_type();
        }
        for entry in list {
            let entry = entry?;
            self.has_perm_data |= entry.perm_data.is_some();
            let is_own = entry.data.data_type() != self.container_type;
            let entry = KeyedEntry {
                action: action(entry.action),
                key: &[entry.id],
                own_type: if is_own { entry.data.data_type().0 } else { 0 },
                perm_data: entry.perm_data,
                data: entry.data,
            };
            let defs = SetDefs::NONE;
            keyed::apply(&mut self.rows, &entry, &defs, change)?;
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.container_type = DataType::NO_DATA;
        self.has_perm_data = false;
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut flags = FilterListFlags::empty();
        flags.set(FilterListFlags::HAS_PER_ENTRY_PERM_DATA, self.has_perm_data);
        let count = self.rows.len().min(255) as u8;
        out.extend_from_slice(&[flags.bits(), self.container_type.0 & 0x7F, count]);
        for row in self.rows.iter().take(255) {
            self.write_row(row, out);
        }
    }

    fn write_row(&self, row: &Row, out: &mut Vec<u8>) {
        let mut flags = FilterEntryFlags::empty();
        flags.set(FilterEntryFlags::HAS_PERM_DATA, row.cell.perm_data().is_some());
        flags.set(FilterEntryFlags::HAS_CONTAINER_TYPE, row.own_type != 0);
        out.push(flags.bits() << 4 | row.action);
        out.extend_from_slice(row.cell.key());
        let mut container_type = self.container_type;
        if row.own_type != 0 {
            container_type = DataType(row.own_type);
            out.push(row.own_type & 0x7F);
        }
        if let Some(perm_data) = row.cell.perm_data() {
            push_bytes15(out, perm_data);
        }
        if row.action != FilterAction::CLEAR.0 && container_type != DataType::NO_DATA {
            push_bytes16(out, row.cell.data());
        }
    }
}

/// The map action that does the same to a row.
fn action(action: FilterAction) -> MapAction {
    MapAction(action.0)
}
