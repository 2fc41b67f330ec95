//! Filter lists.

use crate::decode::{FilterEntryFlags, FilterListFlags};
use crate::encode::slot::Close;
use crate::encode::{Encoder, Ending, Slot, check_action, entry_perm_data};
use crate::error::EncodeError;
use crate::{DataType, FilterAction};

/// What a filter list begins with.
#[derive(Clone, Copy, Debug)]
pub struct FilterListHead {
    /// Container type of entries that have none of their own.
    pub container_type: DataType,
    /// How many entries there will be in all parts together.
    pub total_count_hint: Option<u8>,
}

impl FilterListHead {
    /// A list of containers of one type, without a hint.
    pub const fn new(container_type: DataType) -> Self {
        Self { container_type, total_count_hint: None }
    }
}

/// Writes the entries of a filter list, at most 255.
///
/// Layout: see [`FilterList`](crate::FilterList).
#[derive(Debug)]
#[must_use = "a filter list wants to be finished"]
pub struct FilterListWriter<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    close: Close,
    level: u32,
    container_type: DataType,
    flags_at: usize,
    count_at: usize,
    count: u8,
}

impl<'e, 'b> FilterListWriter<'e, 'b> {
    pub(crate) fn begin(
        encoder: &'e mut Encoder<'b>,
        head: &FilterListHead,
        close: Close,
    ) -> Result<Self, EncodeError> {
        let flags_at = encoder.position();
        let mut flags = FilterListFlags::empty();
        flags.set(FilterListFlags::HAS_TOTAL_COUNT_HINT, head.total_count_hint.is_some());
        encoder.chunk([flags.bits(), head.container_type.container_code()?]);
        if let Some(hint) = head.total_count_hint {
            encoder.u8(hint);
        }
        let count_at = encoder.position();
        encoder.u8(0);
        let level = encoder.open_container()?;
        let container_type = head.container_type;
        Ok(Self { encoder, close, level, container_type, flags_at, count_at, count: 0 })
    }

    /// Writes the head of an entry. `own_type` is a container type of its own.
    fn head(
        &mut self,
        action: FilterAction,
        id: u8,
        own_type: Option<DataType>,
        perm_data: Option<&[u8]>,
    ) -> Result<(), EncodeError> {
        self.encoder.check(self.level)?;
        check_action(action.0)?;
        let Some(count) = self.count.checked_add(1) else {
            return Err(EncodeError::TooMany { what: "a filter list", max: 255 });
        };
        let mut flags = FilterEntryFlags::empty();
        flags.set(FilterEntryFlags::HAS_CONTAINER_TYPE, own_type.is_some());
        flags.set(FilterEntryFlags::HAS_PERM_DATA, perm_data.is_some());
        let flag = FilterListFlags::HAS_PER_ENTRY_PERM_DATA.bits();
        let flags_at = self.flags_at;
        self.encoder.attempt(|encoder| {
            encoder.chunk([flags.bits() << 4 | action.0 & 0x0F, id]);
            if let Some(own_type) = own_type {
                encoder.u8(own_type.container_code()?);
            }
            entry_perm_data(encoder, perm_data, flags_at, flag)
        })?;
        self.count = count;
        Ok(())
    }

    /// Begins an entry with data of the list's container type, or of
    /// `own_type`. Errors: the action or the type has no data.
    pub fn entry(
        &mut self,
        action: FilterAction,
        id: u8,
        own_type: Option<DataType>,
        perm_data: Option<&[u8]>,
    ) -> Result<Slot<'_, 'b>, EncodeError> {
        let data_type = own_type.unwrap_or(self.container_type);
        if action == FilterAction::CLEAR || data_type == DataType::NO_DATA {
            return Err(EncodeError::Order { what: "data of an entry that has none" });
        }
        self.head(action, id, own_type, perm_data)?;
        Ok(Slot::behind_len(self.encoder, data_type, Ending::Len16, "filter entry data"))
    }

    /// Writes an entry without data. Errors: the action and the type want some.
    pub fn bare_entry(
        &mut self,
        action: FilterAction,
        id: u8,
        own_type: Option<DataType>,
        perm_data: Option<&[u8]>,
    ) -> Result<(), EncodeError> {
        let data_type = own_type.unwrap_or(self.container_type);
        if action != FilterAction::CLEAR && data_type != DataType::NO_DATA {
            return Err(EncodeError::Order { what: "an entry without its data" });
        }
        self.head(action, id, own_type, perm_data)
    }

    /// Fills in the count.
    pub fn finish(self) -> Result<(), EncodeError> {
        self.encoder.check(self.level)?;
        self.encoder.patch_u8(self.count_at, self.count);
        self.encoder.close_container();
        self.close.apply(self.encoder)
    }
}
