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

    /// The flags as they are on the wire.
    pub const fn flags(&self) -> SeriesFlags {
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

    /// How many entries the series says it has.
    pub const fn len(&self) -> usize {
        self.head.count as usize
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.head.count == 0
    }

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

impl<'a> IntoIterator for &Series<'a> {
    type Item = Result<Encoded<'a>, DecodeError>;
    type IntoIter = SeriesEntries<'a>;

    #[inline]
    fn into_iter(self) -> SeriesEntries<'a> {
        self.iter()
    }
}

/// Iterator over the entries of a [`Series`].
#[derive(Clone, Debug)]
pub struct SeriesEntries<'a> {
    reader: Reader<'a>,
    left: u16,
    container_type: DataType,
}

impl<'a> Iterator for SeriesEntries<'a> {
    type Item = Result<Encoded<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let entry = match self.container_type {
            DataType::NO_DATA => self.reader.data(0, DataType::NO_DATA, "series entry"),
            container_type => self.reader.data16(container_type, "series entry"),
        };
        if entry.is_err() {
            self.left = 0;
        }
        Some(entry)
    }
}
