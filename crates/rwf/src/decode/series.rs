//! Series: containers in a row.

use crate::decode::{Head, LocalSetDefs, Reader, SetDefs};
use crate::error::{DecodeError, Level};
use crate::{DataType, Encoded};

bitflags::bitflags! {
    /// Flags of a series.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct SeriesFlags: u8 {
        /// Local set definitions are there.
        const HAS_SET_DEFS = 0x01;
        /// Summary data is there.
        const HAS_SUMMARY_DATA = 0x02;
        /// A total count hint is there.
        const HAS_TOTAL_COUNT_HINT = 0x04;
        const _ = !0;
    }
}

/// Containers in a row, without keys.
///
/// ```text
/// ┌──────────┬───────────────────────┐┌──────────────────────────────────────┐
/// │ u8 flags │ u8 container type−128 ││ set definitions, summary, hint, count│
/// └──────────┴───────────────────────┘└──────────────────────────────────────┘
/// ┌────────────┐
/// │ buf16 data │ …    no bytes at all if the container type is NO_DATA
/// └────────────┘
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    flags: SeriesFlags,
    container_type: DataType,
    head: Head<'a>,
    entries: Reader<'a>,
}

impl<'a> Series<'a> {
    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>) -> Result<Self, DecodeError> {
        let mut reader = Reader::enter(data, Level::Series)?;
        if reader.is_empty() {
            let (flags, container_type) = (SeriesFlags::empty(), DataType::NO_DATA);
            return Ok(Self { flags, container_type, head: Head::EMPTY, entries: reader });
        }
        let flags = SeriesFlags::from_bits_retain(reader.u8("series flags")?);
        let container_type = DataType::from_container_code(reader.u8("container type")?);
        let head = Head::read(
            &mut reader,
            container_type,
            flags.contains(SeriesFlags::HAS_SET_DEFS),
            flags.contains(SeriesFlags::HAS_SUMMARY_DATA),
            flags.contains(SeriesFlags::HAS_TOTAL_COUNT_HINT),
        )?;
        Ok(Self { flags, container_type, head, entries: reader })
    }

    head_accessors!(SeriesFlags);

    /// The entries in order. After an error there are no more.
    #[inline]
    pub fn iter(&self) -> SeriesEntries<'a> {
        SeriesEntries {
            reader: self.entries,
            left: self.head.count,
            container_type: self.container_type,
        }
    }
}

/// Iterator over the entries of a [`Series`].
#[derive(Clone, Debug)]
pub struct SeriesEntries<'a> {
    reader: Reader<'a>,
    left: u16,
    container_type: DataType,
}

impl<'a> SeriesEntries<'a> {
    #[inline]
    fn entry(&mut self) -> Result<Encoded<'a>, DecodeError> {
        match self.container_type {
            DataType::NO_DATA => self.reader.data(0, DataType::NO_DATA, "series entry"),
            container_type => self.reader.data16(container_type, "series entry"),
        }
    }
}

counted_entries!(Series, SeriesEntries, Encoded);
