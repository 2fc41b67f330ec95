//! Maps as they are kept.

use tapeline_rwf::{DataType, EntryFlags, Map, MapAction, MapFlags};

use crate::CacheError;
use crate::data::Change;
use crate::keyed::{self, KeyedEntry};
use crate::lengths::{MAX_COUNT, push_bytes15, push_bytes16, push_u30, set_count};
use crate::rows::{Row, Rows};
use crate::summary::Summary;

/// A map as it is kept: of an image, or of merged updates, whose rows say what
/// they do.
#[derive(Clone, Debug)]
pub(crate) struct MapContent {
    /// `UNKNOWN` until a map that is not empty tells it.
    key_type: DataType,
    container_type: DataType,
    key_field_id: Option<i16>,
    summary: Summary,
    rows: Rows,
    /// Whether any row ever had permission data.
    has_perm_data: bool,
}

impl MapContent {
    pub(crate) fn new() -> Self {
        Self {
            key_type: DataType::UNKNOWN,
            container_type: DataType::NO_DATA,
            key_field_id: None,
            summary: Summary::default(),
            rows: Rows::new(),
            has_perm_data: false,
        }
    }

    pub(crate) fn apply(&mut self, map: &Map<'_>, change: &Change<'_>) -> Result<(), CacheError> {
        self.adopt_head(map)?;
        let defs = map.set_defs();
        if let Some(summary) = map.summary() {
            self.summary.merge(&summary, &defs, change)?;
        }
        for entry in map {
            let entry = entry?;
            let action = entry.action;
            self.has_perm_data |= entry.perm_data.is_some();
            let (key, perm_data, data) = (entry.key.bytes(), entry.perm_data, entry.data);
            let entry = KeyedEntry { action, key, own_type: 0, perm_data, data };
            keyed::apply(&mut self.rows, &entry, &defs, change)?;
        }
        Ok(())
    }

    /// Takes over what the head says. A map that only deletes may have any
    /// container type, and one of names alone may later get data.
    fn adopt_head(&mut self, map: &Map<'_>) -> Result<(), CacheError> {
        if map.key_type() == DataType::UNKNOWN {
            return Ok(());
        }
        if self.key_type == DataType::UNKNOWN {
            self.key_type = map.key_type();
        }
        let (kept, new) = (self.container_type, map.container_type());
        if kept == DataType::NO_DATA {
            self.container_type = new;
        }
        let is_same = kept == new || kept == DataType::NO_DATA || new == DataType::NO_DATA;
        if self.key_type != map.key_type() || !is_same {
            return Err(CacheError::NotApplicable { what: "a map of other keys or entries" });
        }
        self.key_field_id = map.key_field_id().or(self.key_field_id);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes() + self.summary.bytes()
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.summary.clear();
        self.key_type = DataType::UNKNOWN;
        self.container_type = DataType::NO_DATA;
        self.key_field_id = None;
        self.has_perm_data = false;
    }

    /// Writes rows from `start` on, and the summary in front of the first, until
    /// about `max_bytes` are written. `start` is 0 or what the last call gave;
    /// `None` when all is written.
    pub(crate) fn write_part(
        &self,
        start: usize,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        if self.key_type == DataType::UNKNOWN {
            return None;
        }
        let begin = out.len();
        let count_at = self.write_head(start == 0, max_bytes, out);
        let mut next = match start {
            0 => self.rows.first(),
            id => Some(id as u32 - 1),
        };
        let mut count = 0;
        while let Some(id) = next {
            let before = out.len();
            self.write_row(self.rows.row(id), out);
            if count > 0 && (out.len() - begin > max_bytes || count >= MAX_COUNT) {
                out.truncate(before);
                break;
            }
            count += 1;
            next = self.rows.next(id);
        }
        set_count(out, count_at, count as u16);
        next.map(|id| id as usize + 1)
    }

    /// Writes all in front of the entries; returns where the count is.
    fn write_head(&self, is_first: bool, max_bytes: usize, out: &mut Vec<u8>) -> usize {
        let summary = self.summary.data().filter(|_| is_first);
        // The least a row needs besides: action, key length, data length.
        let least = self.bytes() + 3 * self.rows.len();
        let has_hint = is_first && (least > max_bytes || self.rows.len() > MAX_COUNT as usize);
        let mut flags = MapFlags::empty();
        flags.set(MapFlags::HAS_SUMMARY_DATA, summary.is_some());
        flags.set(MapFlags::HAS_PER_ENTRY_PERM_DATA, self.has_perm_data);
        flags.set(MapFlags::HAS_TOTAL_COUNT_HINT, has_hint);
        flags.set(MapFlags::HAS_KEY_FIELD_ID, self.key_field_id.is_some());
        out.extend_from_slice(&[flags.bits(), self.key_type.0, self.container_type.0 & 0x7F]);
        if let Some(fid) = self.key_field_id {
            out.extend_from_slice(&fid.to_be_bytes());
        }
        if let Some(summary) = summary {
            push_bytes15(out, summary);
        }
        if has_hint {
            push_u30(out, (self.rows.len() as u32).min((1 << 30) - 1));
        }
        out.extend_from_slice(&[0, 0]);
        out.len() - 2
    }

    fn write_row(&self, row: &Row, out: &mut Vec<u8>) {
        let mut flags = EntryFlags::empty();
        flags.set(EntryFlags::HAS_PERM_DATA, row.cell.perm_data().is_some());
        out.push(flags.bits() << 4 | row.action);
        if let Some(perm_data) = row.cell.perm_data() {
            push_bytes15(out, perm_data);
        }
        push_bytes15(out, row.cell.key());
        if row.action != MapAction::DELETE.0 && self.container_type != DataType::NO_DATA {
            push_bytes16(out, row.cell.data());
        }
    }
}
