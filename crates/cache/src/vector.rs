//! Vectors as they are kept.

use tapeline_rwf::{DataType, EntryFlags, SetDefs, Vector, VectorAction, VectorEntry, VectorFlags};

use crate::CacheError;
use crate::cell::Cell;
use crate::data::{self, Change};
use crate::keyed::check_len;
use crate::lengths::{MAX_COUNT, push_bytes15, push_bytes16, push_u30, set_count};
use crate::summary::Summary;

/// The highest index that the wire can say.
const MAX_INDEX: u32 = (1 << 30) - 1;

/// A vector as an image keeps it: entries ascending by index, which may have
/// holes.
#[derive(Clone, Debug)]
pub(crate) struct VectorContent {
    container_type: DataType,
    supports_sorting: bool,
    summary: Summary,
    entries: Vec<(u32, Cell)>,
    has_perm_data: bool,
    bytes: usize,
}

impl VectorContent {
    pub(crate) fn new() -> Self {
        Self {
            container_type: DataType::NO_DATA,
            supports_sorting: false,
            summary: Summary::default(),
            entries: Vec::new(),
            has_perm_data: false,
            bytes: 0,
        }
    }

    pub(crate) fn apply(
        &mut self,
        vector: &Vector<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        self.supports_sorting |= vector.flags().contains(VectorFlags::SUPPORTS_SORTING);
        if self.container_type == DataType::NO_DATA {
            self.container_type = vector.container_type();
        }
        let defs = vector.set_defs();
        if let Some(summary) = vector.summary() {
            self.summary.merge(&summary, &defs, change)?;
        }
        for entry in vector {
            self.entry(&entry?, &defs, change)?;
        }
        Ok(())
    }

    /// Applies one entry. Unknown actions change nothing.
    fn entry(
        &mut self,
        entry: &VectorEntry<'_>,
        defs: &SetDefs<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        let is_other = entry.data.data_type() != self.container_type;
        if is_other && !entry.data.is_empty() {
            return Err(CacheError::NotApplicable { what: "a vector of other entries" });
        }
        self.has_perm_data |= entry.perm_data.is_some();
        let found = self.entries.binary_search_by_key(&entry.index, |(index, _)| *index);
        match (entry.action, found) {
            (VectorAction::INSERT, Ok(at) | Err(at)) => {
                self.shift_up(at)?;
                self.insert(at, entry, defs, change)
            }
            (VectorAction::DELETE, found) => {
                self.delete(found);
                Ok(())
            }
            (VectorAction::CLEAR, Ok(at)) => self.change(at, |cell| {
                cell.begin(&[]);
                cell.set_perm_data(entry.perm_data);
                Ok(())
            }),
            (VectorAction::UPDATE, Ok(at)) => self.change(at, |cell| {
                if entry.perm_data.is_some() {
                    cell.set_perm_data(entry.perm_data);
                }
                let base = cell.data_at();
                data::merge(&mut cell.bytes, base, &entry.data, defs, change)?;
                check_len(cell.data().len())
            }),
            (VectorAction::SET, Ok(at)) => self.set(at, entry, defs, change),
            (VectorAction::SET | VectorAction::UPDATE | VectorAction::CLEAR, Err(at)) => {
                self.insert(at, entry, defs, change)
            }
            _ => Ok(()),
        }
    }

    /// Changes an entry, and keeps the count of bytes.
    fn change(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut Cell) -> Result<(), CacheError>,
    ) -> Result<(), CacheError> {
        let cell = &mut self.entries[at].1;
        let before = cell.bytes.len();
        let result = change(cell);
        self.bytes = self.bytes - before + cell.bytes.len();
        result
    }

    fn set(
        &mut self,
        at: usize,
        entry: &VectorEntry<'_>,
        defs: &SetDefs<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        self.change(at, |cell| {
            cell.begin(&[]);
            cell.set_perm_data(entry.perm_data);
            let base = cell.data_at();
            data::store(&mut cell.bytes, base, &entry.data, defs, change)?;
            check_len(cell.data().len())
        })
    }

    fn insert(
        &mut self,
        at: usize,
        entry: &VectorEntry<'_>,
        defs: &SetDefs<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        let limit = change.limits.max_entries;
        if self.entries.len() >= limit as usize {
            return Err(CacheError::TooManyEntries { limit });
        }
        self.entries.insert(at, (entry.index, Cell::default()));
        self.set(at, entry, defs, change)
    }

    /// Makes room in front of an entry.
    fn shift_up(&mut self, at: usize) -> Result<(), CacheError> {
        if at < self.entries.len() && self.entries.last().is_some_and(|last| last.0 >= MAX_INDEX) {
            return Err(CacheError::NotApplicable { what: "an insert that pushes out the last" });
        }
        for (index, _) in &mut self.entries[at..] {
            *index += 1;
        }
        Ok(())
    }

    /// Removes an index, and the entry there if there is one.
    fn delete(&mut self, found: Result<usize, usize>) {
        if let Ok(at) = found {
            self.bytes -= self.entries.remove(at).1.bytes.len();
        }
        let (Ok(at) | Err(at)) = found;
        for (index, _) in &mut self.entries[at..] {
            *index -= 1;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.summary.bytes()
    }

    /// Writes entries from `start` on, as [`MapContent`](crate::map::MapContent)
    /// does.
    pub(crate) fn write_part(
        &self,
        start: usize,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let begin = out.len();
        let count_at = self.write_head(start == 0, max_bytes, out);
        let mut count = 0;
        for (index, cell) in self.entries.get(start..).unwrap_or_default() {
            let before = out.len();
            self.write_entry(*index, cell, out);
            if count > 0 && (out.len() - begin > max_bytes || count >= MAX_COUNT) {
                out.truncate(before);
                break;
            }
            count += 1;
        }
        set_count(out, count_at, count as u16);
        let next = start + count as usize;
        (next < self.entries.len()).then_some(next)
    }

    fn write_head(&self, is_first: bool, max_bytes: usize, out: &mut Vec<u8>) -> usize {
        let summary = self.summary.data().filter(|_| is_first);
        let has_hint =
            is_first && (self.bytes() > max_bytes || self.entries.len() > MAX_COUNT as usize);
        let mut flags = VectorFlags::empty();
        flags.set(VectorFlags::HAS_SUMMARY_DATA, summary.is_some());
        flags.set(VectorFlags::HAS_PER_ENTRY_PERM_DATA, self.has_perm_data);
        flags.set(VectorFlags::HAS_TOTAL_COUNT_HINT, has_hint);
        flags.set(VectorFlags::SUPPORTS_SORTING, self.supports_sorting);
        out.extend_from_slice(&[flags.bits(), self.container_type.0 & 0x7F]);
        if let Some(summary) = summary {
            push_bytes15(out, summary);
        }
        if has_hint {
            push_u30(out, (self.entries.len() as u32).min(MAX_INDEX));
        }
        out.extend_from_slice(&[0, 0]);
        out.len() - 2
    }

    fn write_entry(&self, index: u32, cell: &Cell, out: &mut Vec<u8>) {
        let mut flags = EntryFlags::empty();
        flags.set(EntryFlags::HAS_PERM_DATA, cell.perm_data().is_some());
        out.push(flags.bits() << 4 | VectorAction::SET.0);
        push_u30(out, index);
        if let Some(perm_data) = cell.perm_data() {
            push_bytes15(out, perm_data);
        }
        if self.container_type != DataType::NO_DATA {
            push_bytes16(out, cell.data());
        }
    }
}
