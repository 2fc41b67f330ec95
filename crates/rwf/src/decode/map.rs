//! Maps: containers by key.

use crate::decode::vector::EntryFlags;
use crate::decode::{Head, LocalSetDefs, Reader, SetDefs};
use crate::error::{DecodeError, Level};
use crate::{DataType, Encoded, MapAction};

bitflags::bitflags! {
    /// Flags of a map.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct MapFlags: u8 {
        /// Local set definitions are there.
        const HAS_SET_DEFS = 0x01;
        /// Summary data is there.
        const HAS_SUMMARY_DATA = 0x02;
        /// Entries may have permission data.
        const HAS_PER_ENTRY_PERM_DATA = 0x04;
        /// A total count hint is there.
        const HAS_TOTAL_COUNT_HINT = 0x08;
        /// The key is the value of a field, whose id is there.
        const HAS_KEY_FIELD_ID = 0x10;
        const _ = !0;
    }
}

/// Containers by key.
///
/// ```text
/// ┌──────────┬─────────────┬───────────────────────┐┌──────────────────┐
/// │ u8 flags │ u8 key type │ u8 container type−128 ││ i16 key field id │
/// └──────────┴─────────────┴───────────────────────┘└──────────────────┘
/// ┌──────────────────────────────────────┐
/// │ set definitions, summary, hint, count│
/// └──────────────────────────────────────┘
/// ┌─────────────────┐┌─────────────┐┌───────────┐┌────────────┐
/// │ flags<<4|action ││ buf15 perm  ││ buf15 key ││ buf16 data │ …
/// └─────────────────┘└─────────────┘└───────────┘└────────────┘
///                      both flags                   not for DELETE, NO_DATA
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    flags: MapFlags,
    key_type: DataType,
    container_type: DataType,
    key_field_id: Option<i16>,
    head: Head<'a>,
    entries: Reader<'a>,
}

impl<'a> Map<'a> {
    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>) -> Result<Self, DecodeError> {
        let mut reader = Reader::enter(data, Level::Map)?;
        if reader.is_empty() {
            return Ok(Self {
                flags: MapFlags::empty(),
                key_type: DataType::UNKNOWN,
                container_type: DataType::NO_DATA,
                key_field_id: None,
                head: Head::EMPTY,
                entries: reader,
            });
        }
        let flags = MapFlags::from_bits_retain(reader.u8("map flags")?);
        let key_type = DataType(reader.u8("map key type")?);
        let container_type = DataType::from_container_code(reader.u8("container type")?);
        let key_field_id = match flags.contains(MapFlags::HAS_KEY_FIELD_ID) {
            true => Some(reader.u16("key field id")? as i16),
            false => None,
        };
        let head = Head::read(
            &mut reader,
            container_type,
            flags.contains(MapFlags::HAS_SET_DEFS),
            flags.contains(MapFlags::HAS_SUMMARY_DATA),
            flags.contains(MapFlags::HAS_TOTAL_COUNT_HINT),
        )?;
        Ok(Self { flags, key_type, container_type, key_field_id, head, entries: reader })
    }

    /// The primitive type of the keys.
    pub const fn key_type(&self) -> DataType {
        self.key_type
    }

    /// The field whose value the key is, if given.
    pub const fn key_field_id(&self) -> Option<i16> {
        self.key_field_id
    }

    head_accessors!(MapFlags);

    /// The entries in order. After an error there are no more.
    #[inline]
    pub fn iter(&self) -> MapEntries<'a> {
        MapEntries {
            reader: self.entries,
            left: self.head.count,
            key_type: self.key_type,
            container_type: self.container_type,
            has_perm_data: self.flags.contains(MapFlags::HAS_PER_ENTRY_PERM_DATA),
        }
    }
}

/// One entry of a map.
#[derive(Clone, Copy, Debug)]
pub struct MapEntry<'a> {
    /// What the entry does.
    pub action: MapAction,
    /// Its flags as they are on the wire.
    pub flags: EntryFlags,
    /// Its key, of the map's key type; blank keys are accepted.
    pub key: Encoded<'a>,
    /// Permission data, if the map and the entry say that there is some.
    pub perm_data: Option<&'a [u8]>,
    /// The container. Empty where the action or the type has no data.
    pub data: Encoded<'a>,
}

/// Iterator over the entries of a [`Map`].
#[derive(Clone, Debug)]
pub struct MapEntries<'a> {
    reader: Reader<'a>,
    left: u16,
    key_type: DataType,
    container_type: DataType,
    has_perm_data: bool,
}

impl<'a> MapEntries<'a> {
    #[inline]
    fn entry(&mut self) -> Result<MapEntry<'a>, DecodeError> {
        let reader = &mut self.reader;
        let first = reader.u8("map entry")?;
        let action = MapAction(first & 0x0F);
        let flags = EntryFlags::from_bits_retain(first >> 4);
        let perm_data = match self.has_perm_data && flags.contains(EntryFlags::HAS_PERM_DATA) {
            true => Some(reader.buf15("permission data")?),
            false => None,
        };
        let key = reader.data15(self.key_type, "map key")?;
        let bare = action == MapAction::DELETE || self.container_type == DataType::NO_DATA;
        let data = match bare {
            true => reader.data(0, self.container_type, "map entry data")?,
            false => reader.data16(self.container_type, "map entry data")?,
        };
        Ok(MapEntry { action, flags, key, perm_data, data })
    }
}

counted_entries!(Map, MapEntries, MapEntry);
