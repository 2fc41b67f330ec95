//! Decoders: views that borrow from the input. Each has its mirror in
//! [`encode`](crate::encode).

/// What field lists and element lists tell about themselves alike.
macro_rules! list_accessors {
    ($def:ident) => {
        /// The flags as they are on the wire.
        pub const fn flags(&self) -> ListFlags {
            self.flags
        }

        /// The id of the set that the set-defined data belongs to, if it is there.
        pub fn set_id(&self) -> Option<u16> {
            self.set.as_ref().map(|set| set.id)
        }

        /// The definition of the set-defined data, if both are there.
        pub fn set_def(&self) -> Option<$def<'a>> {
            self.set.as_ref()?.def
        }

        /// The bytes of the set-defined data, if it is there but no definition of
        /// its set is known: the entries of [`iter`](Self::iter) leave it out.
        pub fn skipped_set_data(&self) -> Option<Encoded<'a>> {
            self.set.as_ref().filter(|set| set.def.is_none()).map(|set| set.data)
        }

        /// How many entries the list says it has, set-defined ones included.
        pub fn len(&self) -> usize {
            self.standard_count as usize + self.set_def().map_or(0, |def| def.len())
        }

        /// Whether it has none.
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }
    };
}

/// What vectors, series and maps tell about themselves alike.
macro_rules! head_accessors {
    ($flags:ident) => {
        /// The flags as they are on the wire.
        pub const fn flags(&self) -> $flags {
            self.flags
        }

        /// The container type of summary data and entries.
        pub const fn container_type(&self) -> DataType {
            self.container_type
        }

        /// Set definitions for summary data and entries, if given.
        pub const fn local_set_defs(&self) -> Option<LocalSetDefs<'a>> {
            self.head.set_defs
        }

        /// The same, as the list decoders want them.
        pub const fn set_defs(&self) -> SetDefs<'a> {
            SetDefs { local: self.head.set_defs, global: None }
        }

        /// Data that belongs to all entries, if given; an absent summary is not an
        /// empty one.
        pub const fn summary(&self) -> Option<Encoded<'a>> {
            self.head.summary
        }

        /// How many entries there will be in all parts together, if given.
        pub const fn total_count_hint(&self) -> Option<u32> {
            self.head.total_count_hint
        }

        /// How many entries there should be, by the count on the wire.
        pub const fn len(&self) -> usize {
            self.head.count as usize
        }

        /// Whether there should be none.
        pub const fn is_empty(&self) -> bool {
            self.head.count == 0
        }
    };
}

/// Iteration over as many entries as a count says, or up to the first error.
macro_rules! counted_entries {
    ($container:ident, $entries:ident, $entry:ident) => {
        impl<'a> IntoIterator for &$container<'a> {
            type Item = Result<$entry<'a>, DecodeError>;
            type IntoIter = $entries<'a>;

            #[inline]
            fn into_iter(self) -> $entries<'a> {
                self.iter()
            }
        }

        impl<'a> Iterator for $entries<'a> {
            type Item = Result<$entry<'a>, DecodeError>;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.left = self.left.checked_sub(1)?;
                let entry = self.entry();
                if entry.is_err() {
                    self.left = 0;
                }
                Some(entry)
            }
        }
    };
}

mod check;
mod element_list;
mod encoded;
mod field_list;
mod filter_list;
mod map;
mod reader;
mod series;
mod set_def;
mod vector;

pub use check::check;
pub use element_list::{ElementEntries, ElementEntry, ElementList, ElementListInfo};
pub use encoded::Encoded;
pub use field_list::{FieldEntries, FieldEntry, FieldList, FieldListInfo};
pub use filter_list::{FilterEntries, FilterEntry, FilterEntryFlags, FilterList, FilterListFlags};
pub use map::{Map, MapEntries, MapEntry, MapFlags};
pub use series::{Series, SeriesEntries, SeriesFlags};
pub use set_def::{
    ElementSetDef, ElementSetDefEntries, FieldSetDef, FieldSetDefEntries, LocalSetDefs, SetDefKind,
    SetDefs,
};
pub use vector::{EntryFlags, Vector, VectorEntries, VectorEntry, VectorFlags};

pub(crate) use reader::Reader;

use crate::DataType;
use crate::error::{DecodeError, DecodeErrorKind};

bitflags::bitflags! {
    /// Flags of a field list or an element list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct ListFlags: u8 {
        /// An info block is there.
        const HAS_INFO = 0x01;
        /// Set-defined data is there.
        const HAS_SET_DATA = 0x02;
        /// The id of the set definition is there; without it the id is 0.
        const HAS_SET_ID = 0x04;
        /// Standard data is there.
        const HAS_STANDARD_DATA = 0x08;
        const _ = !0;
    }
}

/// The head that vectors, series and maps share from the set definitions on.
///
/// ```text
/// ┌───────────────────────┐┌──────────────────────┐┌─────────────┐┌───────────┐
/// │ buf15 set definitions ││ buf15 summary data   ││ u30_rb hint ││ u16 count │
/// └───────────────────────┘└──────────────────────┘└─────────────┘└───────────┘
/// ```
#[derive(Clone, Copy, Debug)]
struct Head<'a> {
    set_defs: Option<LocalSetDefs<'a>>,
    summary: Option<Encoded<'a>>,
    total_count_hint: Option<u32>,
    count: u16,
}

impl<'a> Head<'a> {
    /// The head of an empty container: zero bytes.
    const EMPTY: Self = Self { set_defs: None, summary: None, total_count_hint: None, count: 0 };

    #[inline]
    fn read(
        reader: &mut Reader<'a>,
        container_type: DataType,
        has_set_defs: bool,
        has_summary: bool,
        has_hint: bool,
    ) -> Result<Self, DecodeError> {
        let set_defs = match has_set_defs {
            true => Some(LocalSetDefs::read(reader, container_type)?),
            false => None,
        };
        let summary = match has_summary {
            true => Some(reader.data15(container_type, "summary data")?),
            false => None,
        };
        let total_count_hint = match has_hint {
            true => Some(reader.u30_rb("total count hint")?),
            false => None,
        };
        Ok(Self { set_defs, summary, total_count_hint, count: reader.u16("entry count")? })
    }
}

/// The set-defined part of a field list or an element list, with the
/// definition if it is known.
#[derive(Clone, Copy, Debug)]
struct SetPart<'a, Def> {
    id: u16,
    data: Encoded<'a>,
    def: Option<Def>,
}

impl<'a, Def> SetPart<'a, Def> {
    #[inline]
    fn read(
        reader: &mut Reader<'a>,
        flags: ListFlags,
        find: impl FnOnce(u16) -> Option<Def>,
    ) -> Result<Self, DecodeError> {
        let id = match flags.contains(ListFlags::HAS_SET_ID) {
            true => reader.u15_rb("set id")?,
            false => 0,
        };
        let data = match flags.contains(ListFlags::HAS_STANDARD_DATA) {
            true => reader.data15(DataType::UNKNOWN, "set data")?,
            false => reader.rest(DataType::UNKNOWN),
        };
        Ok(Self { id, data, def: find(id) })
    }
}

/// Reads the value of one set-defined entry. Its length is given by the type,
/// by the format byte of a real, or by a length of one byte or `u16_ob`.
#[inline]
fn read_set_value<'a>(
    reader: &mut Reader<'a>,
    data_type: DataType,
) -> Result<Encoded<'a>, DecodeError> {
    const WHAT: &str = "set-defined value";
    match data_type {
        DataType::REAL_4RB | DataType::REAL_8RB => {
            let format = reader.peek_u8(WHAT)?;
            let step = if data_type == DataType::REAL_4RB { 1 } else { 2 };
            let value_len =
                if format & 0x20 != 0 { 0 } else { ((format >> 6) as usize + 1) * step };
            reader.data(1 + value_len, data_type, WHAT)
        }
        DataType::INT
        | DataType::UINT
        | DataType::FLOAT
        | DataType::DOUBLE
        | DataType::REAL
        | DataType::DATE
        | DataType::TIME
        | DataType::DATETIME
        | DataType::QOS => {
            let len = reader.u8(WHAT)?;
            reader.data(len as usize, data_type, WHAT)
        }
        DataType::ENUM
        | DataType::ARRAY
        | DataType::BUFFER
        | DataType::ASCII_STRING
        | DataType::UTF8_STRING
        | DataType::RMTES_STRING => reader.data16(data_type, WHAT),
        container if container.is_container() => reader.data16(data_type, WHAT),
        other => match other.set_size() {
            Some(size) => reader.data(size, data_type, WHAT),
            None => Err(reader.error(DecodeErrorKind::SetType(data_type))),
        },
    }
}
