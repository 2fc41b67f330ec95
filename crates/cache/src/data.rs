//! Content of one container inside a buffer: what map entries, summaries and
//! whole images of lists have in common.
//!
//! A container is kept as the bytes that go on the wire, at the end of a
//! buffer, from `base` on. Zero bytes are an empty container.

use tapeline_rwf::{DataType, EncodeError, Encoded, Encoder, SetDefs};

use crate::content::Content;
use crate::{CacheError, FieldRules, Limits, elements, fields};

/// What content is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// What there is: a deleted row is gone.
    Image,
    /// What changed: a deleted row is a row that says so.
    Changes,
}

/// How content is applied.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    /// What it is applied to.
    pub(crate) keep: Keep,
    /// What the dictionary says about fields.
    pub(crate) rules: Option<&'a dyn FieldRules>,
    /// Whether old values move on to the fields that the rules say.
    pub(crate) ripple: bool,
    /// How much may be kept.
    pub(crate) limits: Limits,
}

impl Change<'_> {
    /// A change without rules, as by a refresh.
    pub(crate) fn plain(limits: Limits) -> Self {
        Self { keep: Keep::Image, rules: None, ripple: false, limits }
    }
}

/// Puts a container in place of the one from `base` on.
pub(crate) fn store(
    buffer: &mut Vec<u8>,
    base: usize,
    data: &Encoded<'_>,
    defs: &SetDefs<'_>,
    change: &Change<'_>,
) -> Result<(), CacheError> {
    buffer.truncate(base);
    if data.is_empty() {
        return Ok(());
    }
    match data.data_type() {
        DataType::FIELD_LIST | DataType::ELEMENT_LIST => {
            merge(buffer, base, data, defs, &Change { ripple: false, ..*change })
        }
        _ => {
            buffer.extend_from_slice(data.bytes());
            Ok(())
        }
    }
}

/// Merges a container into the one from `base` on, which is of the same type.
pub(crate) fn merge(
    buffer: &mut Vec<u8>,
    base: usize,
    data: &Encoded<'_>,
    defs: &SetDefs<'_>,
    change: &Change<'_>,
) -> Result<(), CacheError> {
    if data.is_empty() {
        return Ok(());
    }
    match data.data_type() {
        DataType::FIELD_LIST => fields::merge(buffer, base, &data.field_list_with(defs)?, change),
        DataType::ELEMENT_LIST => {
            elements::merge(buffer, base, &data.element_list_with(defs)?, change.limits)
        }
        DataType::MAP | DataType::VECTOR | DataType::SERIES | DataType::FILTER_LIST => {
            merge_nested(buffer, base, data, change)
        }
        _ => store(buffer, base, data, defs, change),
    }
}

/// Merges by way of the decoded form. Containers of entries inside entries are
/// rare and small: a price level with its market makers.
fn merge_nested(
    buffer: &mut Vec<u8>,
    base: usize,
    data: &Encoded<'_>,
    change: &Change<'_>,
) -> Result<(), CacheError> {
    let mut content = Content::Nothing;
    let stored = Encoded::new(data.data_type(), &buffer[base..]);
    content.refresh(&stored, change.limits)?;
    content.update(data, change)?;
    buffer.truncate(base);
    content.write(buffer)
}

/// Whether values of a set-defined type are written differently in standard
/// data.
pub(crate) fn is_set_form(data_type: DataType) -> bool {
    data_type.base() != data_type
}

/// The bytes of a value in standard data, whatever its form in a set was.
pub(crate) struct Standard {
    bytes: [u8; 16],
    len: usize,
}

impl Standard {
    /// Of a value whose type is a set-only form; these have at most 12 bytes.
    pub(crate) fn of(value: &Encoded<'_>) -> Result<Self, CacheError> {
        let primitive = value.primitive()?;
        let mut bytes = [0; 16];
        let mut encoder = Encoder::new(&mut bytes);
        let written = encoder.container(value.data_type().base()).primitive(primitive);
        match written.and_then(|()| encoder.finish()) {
            Ok(len) => Ok(Self { bytes, len }),
            Err(error) => Err(not_standard(error)),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cold]
fn not_standard(_: EncodeError) -> CacheError {
    CacheError::NotApplicable { what: "a set-defined value that standard data cannot have" }
}
