//! Series as they are kept.

use tapeline_rwf::{DataType, Series, SeriesFlags};

use crate::CacheError;
use crate::data::{self, Change};
use crate::keyed::check_len;
use crate::lengths::{MAX_COUNT, count_at, push_bytes15, push_bytes16, push_u30, set_count};
use crate::summary::Summary;

/// A series as it is kept, of an image or of merged updates: entries in a row,
/// as they go on the wire.
#[derive(Clone, Debug)]
pub(crate) struct SeriesContent {
    container_type: DataType,
    summary: Summary,
    /// Every entry behind its `u16_ob` length; nothing for `NO_DATA`.
    entries: Vec<u8>,
    count: u32,
    scratch: Vec<u8>,
}

impl SeriesContent {
    pub(crate) fn new() -> Self {
        Self {
            container_type: DataType::NO_DATA,
            summary: Summary::default(),
            entries: Vec::new(),
            count: 0,
            scratch: Vec::new(),
        }
    }

    /// Appends the entries of a series: all of them, or none and an error.
    pub(crate) fn apply(
        &mut self,
        series: &Series<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        if self.count == 0 && self.summary.data().is_none() {
            self.container_type = series.container_type();
        }
        let has_content = !series.is_empty() || series.summary().is_some();
        if has_content && series.container_type() != self.container_type {
            return Err(CacheError::NotApplicable { what: "a series of other entries" });
        }
        let limit = change.limits.max_entries;
        if self.count as usize + series.len() > limit as usize {
            return Err(CacheError::TooManyEntries { limit });
        }
        let defs = series.set_defs();
        if let Some(summary) = series.summary() {
            self.summary.merge(&summary, &defs, change)?;
        }
        if self.container_type == DataType::NO_DATA {
            self.count += series.len() as u32;
            return Ok(());
        }
        let before = self.entries.len();
        let pushed = series.iter().try_for_each(|entry| {
            data::store(&mut self.scratch, 0, &entry?, &defs, change)?;
            check_len(self.scratch.len())?;
            push_bytes16(&mut self.entries, &self.scratch);
            Ok(())
        });
        match pushed {
            Ok(()) => self.count += series.len() as u32,
            Err(_) => self.entries.truncate(before),
        }
        pushed
    }

    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() + self.summary.bytes()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.summary.clear();
        self.count = 0;
        self.container_type = DataType::NO_DATA;
    }

    /// Writes entries from `start` on, as [`MapContent`](crate::map::MapContent)
    /// does. `start` is a position in the entries, or without data their number.
    pub(crate) fn write_part(
        &self,
        start: usize,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let begin = out.len();
        let count_at = self.write_head(start == 0, max_bytes, out);
        if self.container_type == DataType::NO_DATA {
            let left = self.len() - start;
            let count = left.min(MAX_COUNT as usize);
            set_count(out, count_at, count as u16);
            return (count < left).then_some(start + count);
        }
        let mut end = start;
        let mut count = 0;
        while end < self.entries.len() {
            let next = self.entry_end(end);
            let is_full = out.len() - begin + next - start > max_bytes || count >= MAX_COUNT;
            if count > 0 && is_full {
                break;
            }
            count += 1;
            end = next;
        }
        out.extend_from_slice(&self.entries[start..end]);
        set_count(out, count_at, count as u16);
        (end < self.entries.len()).then_some(end)
    }

    /// Where the entry ends that begins at `at`.
    fn entry_end(&self, at: usize) -> usize {
        match self.entries[at] {
            0xFE => at + 3 + usize::from(count_at(&self.entries, at + 1)),
            len => at + 1 + usize::from(len),
        }
    }

    fn write_head(&self, is_first: bool, max_bytes: usize, out: &mut Vec<u8>) -> usize {
        let summary = self.summary.data().filter(|_| is_first);
        let has_hint = is_first && (self.bytes() > max_bytes || self.count > MAX_COUNT);
        let mut flags = SeriesFlags::empty();
        flags.set(SeriesFlags::HAS_SUMMARY_DATA, summary.is_some());
        flags.set(SeriesFlags::HAS_TOTAL_COUNT_HINT, has_hint);
        out.extend_from_slice(&[flags.bits(), self.container_type.0 & 0x7F]);
        if let Some(summary) = summary {
            push_bytes15(out, summary);
        }
        if has_hint {
            push_u30(out, self.count.min((1 << 30) - 1));
        }
        out.extend_from_slice(&[0, 0]);
        out.len() - 2
    }
}
