//! Merged updates of a vector.

use tapeline_rwf::{DataType, EntryFlags, Vector, VectorAction, VectorEntry, VectorFlags};

use crate::CacheError;
use crate::data::{self, Change};
use crate::keyed::check_len;
use crate::lengths::{MAX_COUNT, push_bytes15, push_bytes16, push_u30, set_count};
use crate::summary::Summary;

/// Merged updates of a vector: all their entries in order, since an entry that
/// is inserted or deleted changes what the indexes behind it mean.
#[derive(Clone, Debug)]
pub(crate) struct VectorLog {
    container_type: DataType,
    supports_sorting: bool,
    has_perm_data: bool,
    summary: Summary,
    entries: Vec<u8>,
    count: u32,
    scratch: Vec<u8>,
}

impl VectorLog {
    pub(crate) fn new() -> Self {
        Self {
            container_type: DataType::NO_DATA,
            supports_sorting: false,
            has_perm_data: false,
            summary: Summary::default(),
            entries: Vec::new(),
            count: 0,
            scratch: Vec::new(),
        }
    }

    /// Appends the entries of one update: all of them, or none and an error.
    pub(crate) fn apply(
        &mut self,
        vector: &Vector<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        if self.count == 0 {
            self.container_type = vector.container_type();
        }
        if self.container_type != vector.container_type() {
            return Err(CacheError::NotApplicable { what: "a vector of other entries" });
        }
        let limit = change.limits.max_entries.min(MAX_COUNT);
        if self.count as usize + vector.len() > limit as usize {
            return Err(CacheError::TooManyEntries { limit });
        }
        self.supports_sorting |= vector.flags().contains(VectorFlags::SUPPORTS_SORTING);
        let defs = vector.set_defs();
        if let Some(summary) = vector.summary() {
            self.summary.merge(&summary, &defs, change)?;
        }
        let before = self.entries.len();
        let pushed = vector.iter().try_for_each(|entry| {
            let entry = entry?;
            data::store(&mut self.scratch, 0, &entry.data, &defs, change)?;
            check_len(self.scratch.len())?;
            self.push(&entry);
            Ok(())
        });
        match pushed {
            Ok(()) => self.count += vector.len() as u32,
            Err(_) => self.entries.truncate(before),
        }
        pushed
    }

    /// Appends an entry, its data being in the scratch buffer.
    fn push(&mut self, entry: &VectorEntry<'_>) {
        let out = &mut self.entries;
        let mut flags = EntryFlags::empty();
        flags.set(EntryFlags::HAS_PERM_DATA, entry.perm_data.is_some());
        out.push(flags.bits() << 4 | entry.action.0);
        push_u30(out, entry.index);
        if let Some(perm_data) = entry.perm_data {
            push_bytes15(out, perm_data);
            self.has_perm_data = true;
        }
        let is_bare = matches!(entry.action, VectorAction::CLEAR | VectorAction::DELETE)
            || self.container_type == DataType::NO_DATA;
        if !is_bare {
            push_bytes16(out, &self.scratch);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() + self.summary.bytes()
    }

    pub(crate) fn clear(&mut self) {
        self.summary.clear();
        self.entries.clear();
        self.count = 0;
        self.supports_sorting = false;
        self.has_perm_data = false;
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let summary = self.summary.data();
        let mut flags = VectorFlags::empty();
        flags.set(VectorFlags::HAS_SUMMARY_DATA, summary.is_some());
        flags.set(VectorFlags::HAS_PER_ENTRY_PERM_DATA, self.has_perm_data);
        flags.set(VectorFlags::SUPPORTS_SORTING, self.supports_sorting);
        out.extend_from_slice(&[flags.bits(), self.container_type.0 & 0x7F]);
        if let Some(summary) = summary {
            push_bytes15(out, summary);
        }
        let count_at = out.len();
        out.extend_from_slice(&[0, 0]);
        set_count(out, count_at, self.count as u16);
        out.extend_from_slice(&self.entries);
    }
}
