//! Series.

use crate::decode::SeriesFlags;
use crate::encode::slot::Close;
use crate::encode::{Body, Encoder, Ending, Slot};
use crate::error::EncodeError;
use crate::{DataType, LocalSetDefs};

/// What a series begins with.
#[derive(Clone, Copy, Debug)]
pub struct SeriesHead<'a> {
    /// Container type of summary data and entries.
    pub container_type: DataType,
    /// Set definitions for summary data and entries.
    pub set_defs: Option<LocalSetDefs<'a>>,
    /// How many entries there will be in all parts together, below 2^30.
    pub total_count_hint: Option<u32>,
}

impl SeriesHead<'_> {
    /// A series of containers of one type, without anything optional.
    pub const fn new(container_type: DataType) -> Self {
        Self { container_type, set_defs: None, total_count_hint: None }
    }
}

/// Writes the summary data and the entries of a series.
///
/// Layout: see [`Series`](crate::Series).
#[derive(Debug)]
#[must_use = "a series wants to be finished"]
pub struct SeriesWriter<'e, 'b> {
    encoder: &'e mut Encoder<'b>,
    close: Close,
    body: Body,
}

impl<'e, 'b> SeriesWriter<'e, 'b> {
    pub(crate) fn begin(
        encoder: &'e mut Encoder<'b>,
        head: &SeriesHead<'_>,
        close: Close,
    ) -> Result<Self, EncodeError> {
        let flags_at = encoder.position();
        let mut flags = SeriesFlags::empty();
        flags.set(SeriesFlags::HAS_SET_DEFS, head.set_defs.is_some());
        flags.set(SeriesFlags::HAS_TOTAL_COUNT_HINT, head.total_count_hint.is_some());
        encoder.chunk([flags.bits(), head.container_type.container_code()?]);
        let set_defs = head.set_defs.as_ref();
        let body =
            Body::begin(encoder, flags_at, head.container_type, set_defs, head.total_count_hint)?;
        Ok(Self { encoder, close, body })
    }

    /// Begins the summary data, which comes before all entries.
    pub fn summary(&mut self) -> Result<Slot<'_, 'b>, EncodeError> {
        self.body.summary(self.encoder, SeriesFlags::HAS_SUMMARY_DATA.bits())
    }

    /// Begins an entry. Errors: the container type is `NO_DATA`.
    pub fn entry(&mut self) -> Result<Slot<'_, 'b>, EncodeError> {
        let container_type = self.body.container_type;
        if container_type == DataType::NO_DATA {
            return Err(EncodeError::Order { what: "data of an entry that has none" });
        }
        self.body.entry(self.encoder, |_, _| Ok(()))?;
        Ok(Slot::behind_len(self.encoder, container_type, Ending::Len16, "series entry"))
    }

    /// Counts an entry without data. Errors: the container type is not `NO_DATA`.
    pub fn bare_entry(&mut self) -> Result<(), EncodeError> {
        if self.body.container_type != DataType::NO_DATA {
            return Err(EncodeError::Order { what: "an entry without its data" });
        }
        self.body.entry(self.encoder, |_, _| Ok(()))
    }

    /// Fills in the count.
    pub fn finish(self) -> Result<(), EncodeError> {
        self.body.finish(self.encoder)?;
        self.close.apply(self.encoder)
    }
}
