//! Vectors: containers by index.

use crate::decode::{Head, LocalSetDefs, Reader, SetDefs};
use crate::error::{DecodeError, Level};
use crate::{DataType, Encoded, VectorAction};

bitflags::bitflags! {
    /// Flags of a vector.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct VectorFlags: u8 {
        /// Local set definitions are there.
        const HAS_SET_DEFS = 0x01;
        /// Summary data is there.
        const HAS_SUMMARY_DATA = 0x02;
        /// Entries may have permission data.
        const HAS_PER_ENTRY_PERM_DATA = 0x04;
        /// A total count hint is there.
        const HAS_TOTAL_COUNT_HINT = 0x08;
        /// Entries may be inserted and deleted, which moves those behind them.
        const SUPPORTS_SORTING = 0x10;
        const _ = !0;
    }

    /// Flags of a vector entry or a map entry: the upper half of its first byte.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct EntryFlags: u8 {
        /// The entry has permission data.
        const HAS_PERM_DATA = 0x01;
        const _ = !0;
    }
}

/// Containers by index.
///
/// ```text
/// ┌──────────┬───────────────────────┐┌──────────────────────────────────────┐
/// │ u8 flags │ u8 container type−128 ││ set definitions, summary, hint, count│
/// └──────────┴───────────────────────┘└──────────────────────────────────────┘
/// ┌─────────────────┬──────────────┐┌─────────────┐┌────────────┐
/// │ flags<<4|action │ u30_rb index ││ buf15 perm  ││ buf16 data │ …
/// └─────────────────┴──────────────┘└─────────────┘└────────────┘
///                                     both flags     not for CLEAR, DELETE, NO_DATA
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Vector<'a> {
    flags: VectorFlags,
    container_type: DataType,
    head: Head<'a>,
    entries: Reader<'a>,
}

impl<'a> Vector<'a> {
    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>) -> Result<Self, DecodeError> {
        let mut reader = Reader::enter(data, Level::Vector)?;
        if reader.is_empty() {
            let (flags, container_type) = (VectorFlags::empty(), DataType::NO_DATA);
            return Ok(Self { flags, container_type, head: Head::EMPTY, entries: reader });
        }
        let flags = VectorFlags::from_bits_retain(reader.u8("vector flags")?);
        let container_type = DataType::from_container_code(reader.u8("container type")?);
        let head = Head::read(
            &mut reader,
            container_type,
            flags.contains(VectorFlags::HAS_SET_DEFS),
            flags.contains(VectorFlags::HAS_SUMMARY_DATA),
            flags.contains(VectorFlags::HAS_TOTAL_COUNT_HINT),
        )?;
        Ok(Self { flags, container_type, head, entries: reader })
    }

    head_accessors!(VectorFlags);

    /// The entries in order. After an error there are no more.
    #[inline]
    pub fn iter(&self) -> VectorEntries<'a> {
        VectorEntries {
            reader: self.entries,
            left: self.head.count,
            container_type: self.container_type,
            has_perm_data: self.flags.contains(VectorFlags::HAS_PER_ENTRY_PERM_DATA),
        }
    }
}

/// One entry of a vector.
#[derive(Clone, Copy, Debug)]
pub struct VectorEntry<'a> {
    /// What the entry does.
    pub action: VectorAction,
    /// Its flags as they are on the wire.
    pub flags: EntryFlags,
    /// Its index, below 2^30.
    pub index: u32,
    /// Permission data, if the vector and the entry say that there is some.
    pub perm_data: Option<&'a [u8]>,
    /// The container. Empty where the action or the type has no data.
    pub data: Encoded<'a>,
}

/// Iterator over the entries of a [`Vector`].
#[derive(Clone, Debug)]
pub struct VectorEntries<'a> {
    reader: Reader<'a>,
    left: u16,
    container_type: DataType,
    has_perm_data: bool,
}

impl<'a> VectorEntries<'a> {
    #[inline]
    fn entry(&mut self) -> Result<VectorEntry<'a>, DecodeError> {
        let reader = &mut self.reader;
        let first = reader.u8("vector entry")?;
        let action = VectorAction(first & 0x0F);
        let flags = EntryFlags::from_bits_retain(first >> 4);
        let index = reader.u30_rb("vector index")?;
        let perm_data = match self.has_perm_data && flags.contains(EntryFlags::HAS_PERM_DATA) {
            true => Some(reader.buf15("permission data")?),
            false => None,
        };
        let bare = matches!(action, VectorAction::CLEAR | VectorAction::DELETE)
            || self.container_type == DataType::NO_DATA;
        let data = match bare {
            true => reader.data(0, self.container_type, "vector entry data")?,
            false => reader.data16(self.container_type, "vector entry data")?,
        };
        Ok(VectorEntry { action, flags, index, perm_data, data })
    }
}

counted_entries!(Vector, VectorEntries, VectorEntry);
