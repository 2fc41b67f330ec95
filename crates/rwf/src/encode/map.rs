//! Maps.

use crate::decode::{EntryFlags, MapFlags};
use crate::encode::slot::Close;
use crate::encode::{Body, Encoder, Ending, Slot, check_action, entry_perm_data};
use crate::error::EncodeError;
use crate::{DataType, LocalSetDefs, MapAction, Primitive};

/// What a map begins with.
#[derive(Clone, Copy, Debug)]
pub struct MapHead<'a> {
    /// Primitive type of the keys; no arrays. Keep keys below 128 bytes and not
    /// blank where the vendor's Java library is to read or write them again.
    pub key_type: DataType,
    /// Container type of summary data and entries.
    pub container_type: DataType,
    /// The field whose value the key is.
    pub key_field_id: Option<i16>,
    /// Set definitions for summary data and entries.
    pub set_defs: Option<LocalSetDefs<'a>>,
    /// How many entries there will be in all parts together, below 2^30.
    pub total_count_hint: Option<u32>,
}

impl MapHead<'_> {
    /// A map of keys and containers of one type each, without anything optional.
    pub const fn new(key_type: DataType, container_type: DataType) -> Self {
        Self {
            key_type,
            container_type,
            key_field_id: None,
            set_defs: None,
            total_count_hint: None,
        }
    }
}

/// Writes the summary data and the entries of a map.
///
/// Layout: see [`Map`](crate::Map).
#[derive(Debug)]
#[must_use = "a map wants to be finished"]
pub struct MapWriter<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    close: Close,
    body: Body,
    key_type: DataType,
}

impl<'e, 'b> MapWriter<'e, 'b> {
    pub(crate) fn begin(
        encoder: &'e mut Encoder<'b>,
        head: &MapHead<'_>,
        close: Close,
    ) -> Result<Self, EncodeError> {
        if !head.key_type.is_primitive() || head.key_type == DataType::ARRAY {
            return Err(EncodeError::OutOfRange { what: "the key type of a map" });
        }
        let flags_at = encoder.position();
        let mut flags = MapFlags::empty();
        flags.set(MapFlags::HAS_SET_DEFS, head.set_defs.is_some());
        flags.set(MapFlags::HAS_TOTAL_COUNT_HINT, head.total_count_hint.is_some());
        flags.set(MapFlags::HAS_KEY_FIELD_ID, head.key_field_id.is_some());
        encoder.chunk([flags.bits(), head.key_type.0, head.container_type.container_code()?]);
        if let Some(field_id) = head.key_field_id {
            encoder.u16(field_id as u16);
        }
        let set_defs = head.set_defs.as_ref();
        let body =
            Body::begin(encoder, flags_at, head.container_type, set_defs, head.total_count_hint)?;
        Ok(Self { encoder, close, body, key_type: head.key_type })
    }

    /// Begins the summary data, which comes before all entries.
    pub fn summary(&mut self) -> Result<Slot<'_, 'b>, EncodeError> {
        self.body.summary(self.encoder, MapFlags::HAS_SUMMARY_DATA.bits())
    }

    #[inline]
    fn head(
        &mut self,
        action: MapAction,
        key: &Primitive<'_>,
        perm_data: Option<&[u8]>,
    ) -> Result<(), EncodeError> {
        let found = key.data_type();
        if found != self.key_type {
            return Err(EncodeError::WrongType { expected: self.key_type, found });
        }
        let flag = MapFlags::HAS_PER_ENTRY_PERM_DATA.bits();
        check_action(action.0)?;
        self.body.entry(self.encoder, |encoder, flags_at| {
            let mut flags = EntryFlags::empty();
            flags.set(EntryFlags::HAS_PERM_DATA, perm_data.is_some());
            encoder.u8(flags.bits() << 4 | action.0 & 0x0F);
            entry_perm_data(encoder, perm_data, flags_at, flag)?;
            match *key {
                Primitive::Buffer(bytes)
                | Primitive::Ascii(bytes)
                | Primitive::Utf8(bytes)
                | Primitive::Rmtes(bytes) => encoder.buf15(bytes, "map key"),
                ref other => {
                    let at = encoder.reserve_len();
                    encoder.primitive(other)?;
                    encoder.close_u15(at, "map key")
                }
            }
        })
    }

    #[inline]
    fn is_bare(&self, action: MapAction) -> bool {
        action == MapAction::DELETE || self.body.container_type == DataType::NO_DATA
    }

    /// Begins an entry with data. Errors: the action or the type has no data.
    #[inline]
    pub fn entry<'k>(
        &mut self,
        action: MapAction,
        key: impl Into<Primitive<'k>>,
        perm_data: Option<&[u8]>,
    ) -> Result<Slot<'_, 'b>, EncodeError> {
        if self.is_bare(action) {
            return Err(EncodeError::Order { what: "data of an entry that has none" });
        }
        self.head(action, &key.into(), perm_data)?;
        let container_type = self.body.container_type;
        Ok(Slot::behind_len(self.encoder, container_type, Ending::Len16, "map entry data"))
    }

    /// Writes an entry without data. Errors: the action and the type want some.
    pub fn bare_entry<'k>(
        &mut self,
        action: MapAction,
        key: impl Into<Primitive<'k>>,
        perm_data: Option<&[u8]>,
    ) -> Result<(), EncodeError> {
        if !self.is_bare(action) {
            return Err(EncodeError::Order { what: "an entry without its data" });
        }
        self.head(action, &key.into(), perm_data)
    }

    /// Fills in the count.
    pub fn finish(self) -> Result<(), EncodeError> {
        self.body.finish(self.encoder)?;
        self.close.apply(self.encoder)
    }
}
