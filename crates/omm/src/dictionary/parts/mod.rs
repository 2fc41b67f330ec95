//! Dictionaries as messages: the payload of dictionary refreshes.
//!
//! A dictionary is a series of element lists, one for each field or table,
//! whose values are set-defined. It is sent in as many parts as its size asks
//! for, each the payload of one refresh of domain `DICTIONARY`.
//!
//! ```text
//! SERIES of ELEMENT_LIST
//! ├ set definition 0     names and types of the elements; not for Verbosity::Info
//! ├ summary              type, dictionary id, versions
//! ├ total count hint     number of fields
//! └ entries              one field or one enumeration table each
//! ```
//!
//! Summary and hint of fields are in the first part only, the summary of
//! enumeration tables is in every part.

mod enums;
mod fields;
mod read;
mod set_defs;

use std::ops::Range;

use tapeline_rwf::{
    DataType, ElementListHead, EncodeError, Encoder, LocalSetDefsBuf, SeriesHead, Slot,
};

use super::{DictionaryType, FieldDictionary};

pub use read::PartError;
pub use set_defs::{SetDefDictionary, SetDefTable};

/// The size of field dictionary parts that the vendor's providers use by
/// default, in bytes.
pub const FIELD_PART_LEN: usize = 8_192;

/// The size of enumeration table parts that the vendor's providers use by
/// default, in bytes.
pub const ENUM_PART_LEN: usize = 12_800;

/// The most entries that a series can have.
const MAX_ENTRIES: usize = 0xFFFF;

/// How much of a dictionary is asked for: the filter in the key of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verbosity {
    /// The summary alone, to compare versions.
    Info,
    /// What is needed to decode.
    Minimal,
    /// Names and display lengths too.
    Normal,
    /// All there is, which is no more than [`Normal`](Self::Normal).
    Verbose,
}

impl Verbosity {
    /// The filter that stands for it.
    pub const fn filter(self) -> u32 {
        match self {
            Self::Info => 0x0,
            Self::Minimal => 0x3,
            Self::Normal => 0x7,
            Self::Verbose => 0xF,
        }
    }

    /// The least that has all of what a filter asks for.
    pub const fn from_filter(filter: u32) -> Self {
        match filter {
            0x0 => Self::Info,
            0x1..=0x3 => Self::Minimal,
            0x4..=0x7 => Self::Normal,
            _ => Self::Verbose,
        }
    }
}

impl FieldDictionary {
    /// The dictionary cut into parts of at most `max_len` bytes each; see
    /// [`FIELD_PART_LEN`] and [`ENUM_PART_LEN`]. There is always at least one
    /// part. An entry that does not fit makes a part of its own that is larger
    /// than `max_len`.
    pub fn parts(
        &self,
        dictionary_type: DictionaryType,
        verbosity: Verbosity,
        max_len: usize,
    ) -> Parts<'_> {
        let set_def = match (verbosity, dictionary_type) {
            (Verbosity::Info, _) => None,
            (Verbosity::Minimal, DictionaryType::Fields) => Some(&*fields::MINIMAL_SET_DEF),
            (_, DictionaryType::Fields) => Some(&*fields::NORMAL_SET_DEF),
            (_, DictionaryType::Enums) => Some(&*enums::SET_DEF),
        };
        let entries = match dictionary_type {
            _ if set_def.is_none() => 0,
            DictionaryType::Fields => self.fields.len(),
            DictionaryType::Enums => self.tables.len(),
        };
        let selection = Selection { dictionary: self, dictionary_type, set_def, entries };
        Parts { selection, max_len, next: Some(0) }
    }
}

/// What all parts of one dictionary have in common.
#[derive(Debug, Clone, Copy)]
struct Selection<'d> {
    dictionary: &'d FieldDictionary,
    dictionary_type: DictionaryType,
    set_def: Option<&'static LocalSetDefsBuf>,
    /// Entries in all parts together.
    entries: usize,
}

impl Selection<'_> {
    /// Writes the series of some of the entries.
    fn write(&self, slot: Slot<'_, '_>, entries: Range<usize>) -> Result<(), EncodeError> {
        let is_first = entries.start == 0;
        let hint = self.dictionary.fields.len() as u32;
        // The reference gives no hint for tables.
        let has_hint = is_first && self.dictionary_type == DictionaryType::Fields;
        let mut series = slot.series(&SeriesHead {
            container_type: DataType::ELEMENT_LIST,
            set_defs: self.set_def.map(LocalSetDefsBuf::defs),
            total_count_hint: has_hint.then_some(hint),
        })?;
        match self.dictionary_type {
            DictionaryType::Fields if is_first => {
                fields::write_summary(series.summary()?, &self.dictionary.field_tags)?;
            }
            DictionaryType::Fields => {}
            DictionaryType::Enums => {
                enums::write_summary(series.summary()?, &self.dictionary.enum_tags)?;
            }
        }
        for index in entries {
            self.write_entry(series.entry()?, index)?;
        }
        series.finish()
    }

    fn write_entry(&self, slot: Slot<'_, '_>, index: usize) -> Result<(), EncodeError> {
        let Some(def) = self.set_def.and_then(|defs| defs.defs().element_set(0)) else {
            return slot.empty();
        };
        match self.dictionary_type {
            DictionaryType::Fields => {
                let list = slot.element_list(&ElementListHead::set_defined(def))?;
                fields::write_entry(list, &self.dictionary.fields[index], def)
            }
            DictionaryType::Enums => enums::write_entry(slot, &self.dictionary.tables[index], def),
        }
    }

    /// Bytes of a series without entries.
    fn head_len(&self, start: usize) -> usize {
        written_len(DataType::SERIES, |slot| self.write(slot, start..start))
    }

    /// Bytes of an entry of the series, its length included.
    fn entry_len(&self, index: usize) -> usize {
        let len = written_len(DataType::ELEMENT_LIST, |slot| self.write_entry(slot, index));
        if len < 0xFE { 1 + len } else { 3 + len }
    }
}

/// How many bytes `write` writes. An error of it comes again when the bytes
/// are really written.
fn written_len(
    container_type: DataType,
    write: impl FnOnce(Slot<'_, '_>) -> Result<(), EncodeError>,
) -> usize {
    let mut encoder = Encoder::new(&mut []);
    let _ = write(encoder.container(container_type));
    encoder.position()
}

/// The parts of a dictionary, in the order they are to be sent.
#[derive(Debug, Clone)]
pub struct Parts<'d> {
    selection: Selection<'d>,
    max_len: usize,
    /// First entry of the next part.
    next: Option<usize>,
}

impl<'d> Iterator for Parts<'d> {
    type Item = Part<'d>;

    fn next(&mut self) -> Option<Part<'d>> {
        let start = self.next?;
        let mut len = self.selection.head_len(start);
        let mut end = start;
        while end < self.selection.entries && end - start < MAX_ENTRIES {
            let entry_len = self.selection.entry_len(end);
            if len + entry_len > self.max_len && end > start {
                break;
            }
            len += entry_len;
            end += 1;
        }
        self.next = (end < self.selection.entries).then_some(end);
        Some(Part { selection: self.selection, entries: start..end, len })
    }
}

/// The payload of one dictionary refresh.
#[derive(Debug, Clone)]
pub struct Part<'d> {
    selection: Selection<'d>,
    entries: Range<usize>,
    len: usize,
}

impl Part<'_> {
    /// Whether the dictionary is complete with this part.
    pub const fn is_last(&self) -> bool {
        self.entries.end == self.selection.entries
    }

    /// The size of the payload in bytes.
    pub const fn byte_len(&self) -> usize {
        self.len
    }

    /// Writes the payload into its place in a message, a `SERIES`.
    ///
    /// # Errors
    /// The buffer is too small; a table or a text is larger than RWF can say.
    pub fn write(&self, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
        self.selection.write(slot, self.entries.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_gives_at_least_what_it_asks_for() {
        for verbosity in
            [Verbosity::Info, Verbosity::Minimal, Verbosity::Normal, Verbosity::Verbose]
        {
            assert_eq!(Verbosity::from_filter(verbosity.filter()), verbosity);
        }
        assert_eq!(Verbosity::from_filter(0x4), Verbosity::Normal);
        assert_eq!(Verbosity::from_filter(u32::MAX), Verbosity::Verbose);
    }
}
