//! What an entry does to the row of its key, in images and in merged updates.

use tapeline_rwf::{Encoded, MapAction, SetDefs};

use crate::CacheError;
use crate::data::{self, Change, Keep};
use crate::lengths::MAX_U16;
use crate::rows::Rows;

/// One entry of a map or a filter list. The codes of their actions agree:
/// `UPDATE` 1, `ADD` or `SET` 2, `DELETE` or `CLEAR` 3.
#[derive(Clone, Copy)]
pub(crate) struct KeyedEntry<'a> {
    pub(crate) action: MapAction,
    pub(crate) key: &'a [u8],
    /// The code of the entry's own container type, 0 if it has none.
    pub(crate) own_type: u8,
    pub(crate) perm_data: Option<&'a [u8]>,
    pub(crate) data: Encoded<'a>,
}

/// Applies one entry. Unknown actions change nothing in an image, and are not
/// merged.
pub(crate) fn apply(
    rows: &mut Rows,
    entry: &KeyedEntry<'_>,
    defs: &SetDefs<'_>,
    change: &Change<'_>,
) -> Result<(), CacheError> {
    let keep = change.keep;
    let known = rows.find(entry.key);
    match entry.action {
        MapAction::DELETE => match (keep, known) {
            (Keep::Image, Some(id)) => rows.remove(id),
            (Keep::Image, None) => {}
            (Keep::Changes, _) => {
                let id = row(rows, known, entry.key, change)?;
                rows.change(id, |row| {
                    row.cell.begin(entry.key);
                    row.cell.set_perm_data(entry.perm_data);
                    row.action = MapAction::DELETE.0;
                    row.own_type = entry.own_type;
                });
            }
        },
        MapAction::ADD => set(rows, known, MapAction::ADD, entry, defs, change)?,
        MapAction::UPDATE => match known {
            Some(id) if can_merge(rows, id, entry) => merge(rows, id, entry, defs, change)?,
            Some(_) => set(rows, known, MapAction::ADD, entry, defs, change)?,
            None if keep == Keep::Image => set(rows, None, MapAction::ADD, entry, defs, change)?,
            None => set(rows, None, MapAction::UPDATE, entry, defs, change)?,
        },
        _ if keep == Keep::Changes => {
            return Err(CacheError::NotApplicable { what: "an entry of an unknown action" });
        }
        _ => {}
    }
    Ok(())
}

/// Whether an update merges into a row, or begins it anew because the row was
/// deleted or is of another type.
fn can_merge(rows: &Rows, id: u32, entry: &KeyedEntry<'_>) -> bool {
    let row = rows.row(id);
    row.action != MapAction::DELETE.0 && row.own_type == entry.own_type
}

/// The row of a key, a new one if it has none.
fn row(
    rows: &mut Rows,
    known: Option<u32>,
    key: &[u8],
    change: &Change<'_>,
) -> Result<u32, CacheError> {
    let limit = change.limits.max_entries;
    match known {
        Some(id) => Ok(id),
        None if rows.len() >= limit as usize => Err(CacheError::TooManyEntries { limit }),
        None => Ok(rows.push(key)),
    }
}

/// Puts an entry in place of the row of its key.
fn set(
    rows: &mut Rows,
    known: Option<u32>,
    action: MapAction,
    entry: &KeyedEntry<'_>,
    defs: &SetDefs<'_>,
    change: &Change<'_>,
) -> Result<(), CacheError> {
    let id = row(rows, known, entry.key, change)?;
    rows.change(id, |row| {
        row.action = action.0;
        row.own_type = entry.own_type;
        row.cell.begin(entry.key);
        row.cell.set_perm_data(entry.perm_data);
        let base = row.cell.data_at();
        data::store(&mut row.cell.bytes, base, &entry.data, defs, change)?;
        check_len(row.cell.data().len())
    })
}

/// Merges an entry into the row of its key.
fn merge(
    rows: &mut Rows,
    id: u32,
    entry: &KeyedEntry<'_>,
    defs: &SetDefs<'_>,
    change: &Change<'_>,
) -> Result<(), CacheError> {
    rows.change(id, |row| {
        if entry.perm_data.is_some() {
            row.cell.set_perm_data(entry.perm_data);
        }
        let base = row.cell.data_at();
        data::merge(&mut row.cell.bytes, base, &entry.data, defs, change)?;
        check_len(row.cell.data().len())
    })
}

/// Data of an entry has a 16-bit length.
pub(crate) fn check_len(len: usize) -> Result<(), CacheError> {
    if len > MAX_U16 {
        return Err(CacheError::TooLong { what: "an entry", len, max: MAX_U16 });
    }
    Ok(())
}
