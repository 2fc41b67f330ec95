//! Filter lists: containers by filter id.

use crate::decode::Reader;
use crate::error::{DecodeError, Level};
use crate::{DataType, Encoded, FilterAction};

bitflags::bitflags! {
    /// Flags of a filter list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct FilterListFlags: u8 {
        /// Entries may have permission data.
        const HAS_PER_ENTRY_PERM_DATA = 0x01;
        /// A total count hint is there.
        const HAS_TOTAL_COUNT_HINT = 0x02;
        const _ = !0;
    }

    /// Flags of a filter list entry: the upper half of its first byte.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct FilterEntryFlags: u8 {
        /// The entry has permission data.
        const HAS_PERM_DATA = 0x01;
        /// The entry has a container type of its own.
        const HAS_CONTAINER_TYPE = 0x02;
        const _ = !0;
    }
}

/// Containers by filter id; a filter id of 1 to 32 has the bit (id − 1) in the
/// filter of a message key.
///
/// ```text
/// ┌──────────┬───────────────────────┐┌───────────────┐┌──────────┐
/// │ u8 flags │ u8 container type−128 ││ u8 total hint ││ u8 count │
/// └──────────┴───────────────────────┘└───────────────┘└──────────┘
/// ┌─────────────────┬──────┐┌────────────────┐┌─────────────┐┌────────────┐
/// │ flags<<4|action │ u8 id││ u8 cont. t.−128││ buf15 perm  ││ buf16 data │ …
/// └─────────────────┴──────┘└────────────────┘└─────────────┘└────────────┘
///                              entry flag 2      both flags     not for CLEAR, NO_DATA
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FilterList<'a> {
    flags: FilterListFlags,
    container_type: DataType,
    total_count_hint: Option<u8>,
    entries: Reader<'a>,
    count: u8,
}

impl<'a> FilterList<'a> {
    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>) -> Result<Self, DecodeError> {
        let mut reader = Reader::enter(data, Level::FilterList)?;
        if reader.is_empty() {
            return Ok(Self {
                flags: FilterListFlags::empty(),
                container_type: DataType::NO_DATA,
                total_count_hint: None,
                entries: reader,
                count: 0,
            });
        }
        let flags = FilterListFlags::from_bits_retain(reader.u8("filter list flags")?);
        let container_type = DataType::from_container_code(reader.u8("container type")?);
        let total_count_hint = match flags.contains(FilterListFlags::HAS_TOTAL_COUNT_HINT) {
            true => Some(reader.u8("total count hint")?),
            false => None,
        };
        let count = reader.u8("entry count")?;
        Ok(Self { flags, container_type, total_count_hint, entries: reader, count })
    }

    /// The flags as they are on the wire.
    pub const fn flags(&self) -> FilterListFlags {
        self.flags
    }

    /// The container type of entries that have none of their own.
    pub const fn container_type(&self) -> DataType {
        self.container_type
    }

    /// How many entries there will be in all parts together, if given.
    pub const fn total_count_hint(&self) -> Option<u8> {
        self.total_count_hint
    }

    /// How many entries the list says it has.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The entries in order. After an error there are no more.
    #[inline]
    pub fn iter(&self) -> FilterEntries<'a> {
        FilterEntries {
            reader: self.entries,
            left: self.count,
            container_type: self.container_type,
            has_perm_data: self.flags.contains(FilterListFlags::HAS_PER_ENTRY_PERM_DATA),
        }
    }
}

/// One entry of a filter list.
#[derive(Clone, Copy, Debug)]
pub struct FilterEntry<'a> {
    /// What the entry does.
    pub action: FilterAction,
    /// Its flags as they are on the wire.
    pub flags: FilterEntryFlags,
    /// Its filter id.
    pub id: u8,
    /// Permission data, if the list and the entry say that there is some.
    pub perm_data: Option<&'a [u8]>,
    /// The container, of the entry's own type or the list's. Empty where the
    /// action or the type has no data.
    pub data: Encoded<'a>,
}

/// Iterator over the entries of a [`FilterList`].
#[derive(Clone, Debug)]
pub struct FilterEntries<'a> {
    reader: Reader<'a>,
    left: u8,
    container_type: DataType,
    has_perm_data: bool,
}

impl<'a> FilterEntries<'a> {
    #[inline]
    fn entry(&mut self) -> Result<FilterEntry<'a>, DecodeError> {
        let reader = &mut self.reader;
        let first = reader.u8("filter entry")?;
        let action = FilterAction(first & 0x0F);
        let flags = FilterEntryFlags::from_bits_retain(first >> 4);
        let id = reader.u8("filter id")?;
        let container_type = match flags.contains(FilterEntryFlags::HAS_CONTAINER_TYPE) {
            true => DataType::from_container_code(reader.u8("container type")?),
            false => self.container_type,
        };
        let perm_data = match self.has_perm_data && flags.contains(FilterEntryFlags::HAS_PERM_DATA)
        {
            true => Some(reader.buf15("permission data")?),
            false => None,
        };
        let data = match action == FilterAction::CLEAR || container_type == DataType::NO_DATA {
            true => reader.data(0, container_type, "filter entry data")?,
            false => reader.data16(container_type, "filter entry data")?,
        };
        Ok(FilterEntry { action, flags, id, perm_data, data })
    }
}

counted_entries!(FilterList, FilterEntries, FilterEntry);
