//! The content of merged updates, by container type.

use tapeline_rwf::{DataType, Encoded, SetDefs};

use crate::data::{self, Change};
use crate::fields::FieldContent;
use crate::filter::FilterContent;
use crate::map::MapContent;
use crate::series::SeriesContent;
use crate::vector_log::VectorLog;
use crate::{CacheError, Limits};

/// The content of merged updates, by container type.
#[derive(Clone, Debug)]
pub(crate) enum Changes {
    Nothing,
    Fields(Box<FieldContent>),
    Elements(Vec<u8>),
    Filter(Box<FilterContent>),
    Map(Box<MapContent>),
    Vector(Box<VectorLog>),
    Series(Box<SeriesContent>),
}

impl Changes {
    /// Gets ready for updates of this container type, with the buffers of
    /// earlier ones if they fit. `None` for a type that cannot be merged.
    pub(crate) fn begin(&mut self, container_type: DataType) -> Option<()> {
        if self.container_type() == container_type {
            self.clear();
            return Some(());
        }
        *self = match container_type {
            DataType::NO_DATA => Self::Nothing,
            DataType::FIELD_LIST => Self::Fields(Box::default()),
            DataType::ELEMENT_LIST => Self::Elements(Vec::new()),
            DataType::FILTER_LIST => Self::Filter(Box::new(FilterContent::new())),
            DataType::MAP => Self::Map(Box::new(MapContent::new())),
            DataType::VECTOR => Self::Vector(Box::new(VectorLog::new())),
            DataType::SERIES => Self::Series(Box::new(SeriesContent::new())),
            _ => return None,
        };
        Some(())
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Self::Nothing => {}
            Self::Fields(content) => content.clear(),
            Self::Elements(buffer) => buffer.clear(),
            Self::Filter(content) => content.clear(),
            Self::Map(content) => content.clear(),
            Self::Vector(content) => content.clear(),
            Self::Series(content) => content.clear(),
        }
    }

    pub(crate) fn container_type(&self) -> DataType {
        match self {
            Self::Nothing => DataType::NO_DATA,
            Self::Fields(_) => DataType::FIELD_LIST,
            Self::Elements(_) => DataType::ELEMENT_LIST,
            Self::Filter(_) => DataType::FILTER_LIST,
            Self::Map(_) => DataType::MAP,
            Self::Vector(_) => DataType::VECTOR,
            Self::Series(_) => DataType::SERIES,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Fields(content) => content.bytes().len(),
            Self::Elements(buffer) => buffer.len(),
            Self::Filter(content) => content.bytes(),
            Self::Map(content) => content.bytes(),
            Self::Vector(content) => content.bytes(),
            Self::Series(content) => content.bytes(),
        }
    }

    /// Merges the payload of one update. After an error it may be merged in
    /// part, which does no harm when it is sent as a whole afterwards: entries
    /// in a row are taken back, and setting a value twice is setting it once.
    pub(crate) fn merge(&mut self, data: &Encoded<'_>, limits: Limits) -> Result<(), CacheError> {
        let limit = limits.max_bytes;
        if self.bytes() + data.bytes().len() > limit as usize {
            return Err(CacheError::TooManyBytes { limit });
        }
        let change = Change { keep: data::Keep::Changes, rules: None, ripple: false, limits };
        match self {
            Self::Nothing => Ok(()),
            Self::Fields(_) if data.is_empty() => Ok(()),
            Self::Fields(content) => content.merge(&data.field_list()?, &change),
            Self::Elements(buffer) => data::merge(buffer, 0, data, &SetDefs::NONE, &change),
            Self::Filter(content) => content.apply(&data.filter_list()?, &change),
            Self::Map(content) => content.apply(&data.map()?, &change),
            Self::Vector(content) => content.apply(&data.vector()?, &change),
            Self::Series(content) => content.apply(&data.series()?, &change),
        }
    }

    /// The content as it goes on the wire, in `buffer` where it does not lie in
    /// one piece.
    pub(crate) fn encoded<'c>(&'c self, buffer: &'c mut Vec<u8>) -> &'c [u8] {
        match self {
            Self::Nothing => &[],
            Self::Fields(content) => content.bytes(),
            Self::Elements(bytes) => bytes,
            _ => {
                buffer.clear();
                self.write(buffer);
                buffer
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Nothing => {}
            Self::Fields(content) => out.extend_from_slice(content.bytes()),
            Self::Elements(buffer) => out.extend_from_slice(buffer),
            Self::Filter(content) => content.write(out),
            Self::Map(content) => {
                content.write_part(0, usize::MAX, out);
            }
            Self::Vector(content) => content.write(out),
            Self::Series(content) => {
                content.write_part(0, usize::MAX, out);
            }
        }
    }
}
