//! Vectors.

use crate::decode::{EntryFlags, VectorFlags};
use crate::encode::slot::Close;
use crate::encode::{Body, Encoder, Ending, Slot, check_action, entry_perm_data};
use crate::error::EncodeError;
use crate::{DataType, LocalSetDefs, VectorAction};

/// What a vector begins with.
#[derive(Clone, Copy, Debug)]
pub struct VectorHead<'a> {
    /// Container type of summary data and entries.
    pub container_type: DataType,
    /// Whether entries may be inserted and deleted.
    pub supports_sorting: bool,
    /// Set definitions for summary data and entries.
    pub set_defs: Option<LocalSetDefs<'a>>,
    /// How many entries there will be in all parts together, below 2^30.
    pub total_count_hint: Option<u32>,
}

impl VectorHead<'_> {
    /// A vector of containers of one type, without anything optional.
    pub const fn new(container_type: DataType) -> Self {
        Self { container_type, supports_sorting: false, set_defs: None, total_count_hint: None }
    }
}

/// Writes the summary data and the entries of a vector.
///
/// Layout: see [`Vector`](crate::Vector).
#[derive(Debug)]
#[must_use = "a vector wants to be finished"]
pub struct VectorWriter<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    close: Close,
    body: Body,
}

impl<'e, 'b> VectorWriter<'e, 'b> {
    pub(crate) fn begin(
        encoder: &'e mut Encoder<'b>,
        head: &VectorHead<'_>,
        close: Close,
    ) -> Result<Self, EncodeError> {
        let flags_at = encoder.position();
        let mut flags = VectorFlags::empty();
        flags.set(VectorFlags::HAS_SET_DEFS, head.set_defs.is_some());
        flags.set(VectorFlags::HAS_TOTAL_COUNT_HINT, head.total_count_hint.is_some());
        flags.set(VectorFlags::SUPPORTS_SORTING, head.supports_sorting);
        encoder.chunk([flags.bits(), head.container_type.container_code()?]);
        let set_defs = head.set_defs.as_ref();
        let body =
            Body::begin(encoder, flags_at, head.container_type, set_defs, head.total_count_hint)?;
        Ok(Self { encoder, close, body })
    }

    /// Begins the summary data, which comes before all entries.
    pub fn summary(&mut self) -> Result<Slot<'_, 'b>, EncodeError> {
        self.body.summary(self.encoder, VectorFlags::HAS_SUMMARY_DATA.bits())
    }

    fn head(
        &mut self,
        action: VectorAction,
        index: u32,
        perm_data: Option<&[u8]>,
    ) -> Result<(), EncodeError> {
        let flag = VectorFlags::HAS_PER_ENTRY_PERM_DATA.bits();
        check_action(action.0)?;
        self.body.entry(self.encoder, |encoder, flags_at| {
            let mut flags = EntryFlags::empty();
            flags.set(EntryFlags::HAS_PERM_DATA, perm_data.is_some());
            encoder.u8(flags.bits() << 4 | action.0 & 0x0F);
            encoder.u30_rb(index, "vector index")?;
            entry_perm_data(encoder, perm_data, flags_at, flag)
        })
    }

    fn is_bare(&self, action: VectorAction) -> bool {
        matches!(action, VectorAction::CLEAR | VectorAction::DELETE)
            || self.body.container_type == DataType::NO_DATA
    }

    /// Begins an entry with data; `index` is below 2^30. Errors: the action or
    /// the type has no data.
    pub fn entry(
        &mut self,
        action: VectorAction,
        index: u32,
        perm_data: Option<&[u8]>,
    ) -> Result<Slot<'_, 'b>, EncodeError> {
        if self.is_bare(action) {
            return Err(EncodeError::Order { what: "data of an entry that has none" });
        }
        self.head(action, index, perm_data)?;
        let container_type = self.body.container_type;
        Ok(Slot::behind_len(self.encoder, container_type, Ending::Len16, "vector entry data"))
    }

    /// Writes an entry without data. Errors: the action and the type want some.
    pub fn bare_entry(
        &mut self,
        action: VectorAction,
        index: u32,
        perm_data: Option<&[u8]>,
    ) -> Result<(), EncodeError> {
        if !self.is_bare(action) {
            return Err(EncodeError::Order { what: "an entry without its data" });
        }
        self.head(action, index, perm_data)
    }

    /// Fills in the count.
    pub fn finish(self) -> Result<(), EncodeError> {
        self.body.finish(self.encoder)?;
        self.close.apply(self.encoder)
    }
}
