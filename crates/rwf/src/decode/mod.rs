//! Decoders: views that borrow from the input. Each has its mirror in
//! [`encode`](crate::encode).

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
