//! Encoders: builders that write into a caller's buffer. Each has its mirror
//! in [`decode`](crate::decode).
//!
//! A builder borrows its parent until it is finished or dropped, so that
//! nothing can be written into the parent meanwhile. One that is dropped
//! without `finish` makes the next call on its parent fail with
//! [`EncodeError::Unfinished`]; so does a slot behind a length that is dropped
//! unused. The slot of a payload has no length: dropped, it is an empty one.
//!
//! A `put`, `bytes`, `entry` or `bare_entry` of a container that returns an
//! error has written nothing: the value can be left out and the rest goes on.
//! A [`Slot`] that fails leaves its parent unfinished.

mod array;
mod element_list;
mod encoder;
mod field_list;
mod filter_list;
mod list;
mod map;
mod series;
mod slot;
mod value;
mod vector;

pub use array::ArrayWriter;
pub use element_list::{ElementListHead, ElementListWriter};
pub use encoder::Encoder;
pub use field_list::{FieldListHead, FieldListWriter};
pub use filter_list::{FilterListHead, FilterListWriter};
pub use list::SetHead;
pub use map::{MapHead, MapWriter};
pub use series::{SeriesHead, SeriesWriter};
pub use slot::Slot;
pub use vector::{VectorHead, VectorWriter};

pub(crate) use slot::Ending;

use crate::error::EncodeError;
use crate::{DataType, LocalSetDefs, SetDefKind};

/// What vectors, series and maps share behind their own head: summary data,
/// hint and count, in this order on the wire.
///
/// The summary comes after the head and before the hint, so hint and count are
/// written when it is known that no summary will come.
#[derive(Debug)]
struct Body {
    flags_at: usize,
    level: u32,
    container_type: DataType,
    total_count_hint: Option<u32>,
    /// Where the count is, once it is written.
    count_at: Option<usize>,
    count: u32,
    has_summary: bool,
}

impl Body {
    /// Writes the set definitions and remembers what comes later.
    fn begin(
        encoder: &mut Encoder<'_>,
        flags_at: usize,
        container_type: DataType,
        set_defs: Option<&LocalSetDefs<'_>>,
        total_count_hint: Option<u32>,
    ) -> Result<Self, EncodeError> {
        if let Some(defs) = set_defs {
            if defs.kind() != SetDefKind::of(container_type) {
                return Err(EncodeError::OutOfRange { what: "the kind of the set definitions" });
            }
            encoder.buf15(defs.bytes(), "set definitions")?;
        }
        let level = encoder.open_container()?;
        Ok(Self {
            flags_at,
            level,
            container_type,
            total_count_hint,
            count_at: None,
            count: 0,
            has_summary: false,
        })
    }

    /// Begins the summary data; `flag` is its bit in the flags of the head.
    fn summary<'e, 'b>(
        &mut self,
        encoder: &'e mut Encoder<'b>,
        flag: u8,
    ) -> Result<Slot<'e, 'b>, EncodeError> {
        encoder.check(self.level)?;
        if self.count_at.is_some() {
            return Err(EncodeError::Order { what: "summary data after an entry" });
        }
        if self.has_summary {
            return Err(EncodeError::Order { what: "summary data twice" });
        }
        self.has_summary = true;
        encoder.or_u8(self.flags_at, flag);
        Ok(Slot::behind_len(encoder, self.container_type, Ending::Len15, "summary data"))
    }

    /// Writes and counts the head of one more entry, in front of its data; the
    /// first one writes hint and count before it. `write` gets the place of
    /// the flags.
    #[inline]
    fn entry<'b>(
        &mut self,
        encoder: &mut Encoder<'b>,
        write: impl FnOnce(&mut Encoder<'b>, usize) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        encoder.check(self.level)?;
        if self.count >= 0xFFFF {
            return Err(EncodeError::TooMany { what: "a map, vector or series", max: 0xFFFF });
        }
        let count_at = self.count_at;
        let flags_at = self.flags_at;
        let written = encoder.attempt(|encoder| {
            if count_at.is_none() {
                self.write_count(encoder)?;
            }
            write(encoder, flags_at)
        });
        match written {
            Ok(()) => self.count += 1,
            Err(_) => self.count_at = count_at,
        }
        written
    }

    fn write_count(&mut self, encoder: &mut Encoder<'_>) -> Result<usize, EncodeError> {
        if let Some(hint) = self.total_count_hint {
            encoder.u30_rb(hint, "total count hint")?;
        }
        let at = encoder.position();
        encoder.u16(0);
        self.count_at = Some(at);
        Ok(at)
    }

    fn finish(mut self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        encoder.check(self.level)?;
        let at = match self.count_at {
            Some(at) => at,
            None => self.write_count(encoder)?,
        };
        encoder.patch_u16(at, self.count as u16);
        encoder.close_container();
        Ok(())
    }
}

/// An action has four bits.
#[inline]
const fn check_action(action: u8) -> Result<(), EncodeError> {
    if action > 0x0F {
        return Err(EncodeError::OutOfRange { what: "the action of an entry" });
    }
    Ok(())
}

/// Writes the permission data of an entry, and the flag for it into the head.
#[inline]
fn entry_perm_data(
    encoder: &mut Encoder<'_>,
    perm_data: Option<&[u8]>,
    flags_at: usize,
    flag: u8,
) -> Result<(), EncodeError> {
    if let Some(bytes) = perm_data {
        encoder.buf15(bytes, "permission data")?;
        encoder.or_u8(flags_at, flag);
    }
    Ok(())
}
