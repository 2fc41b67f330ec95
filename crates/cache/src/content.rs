//! The content of an image, by container type.

use tapeline_rwf::{DataType, Encoded, FieldListInfo, SetDefs};

use crate::data::{self, Change};
use crate::fields::FieldContent;
use crate::filter::FilterContent;
use crate::image::Applied;
use crate::lengths::MAX_COUNT;
use crate::map::MapContent;
use crate::series::SeriesContent;
use crate::vector::VectorContent;
use crate::{CacheError, Limits, elements, fields};

/// The content of an image, by container type.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// None was given.
    Nothing,
    Fields(Box<FieldContent>),
    Elements(Vec<u8>),
    Filter(Box<FilterContent>),
    Map(Box<MapContent>),
    Vector(Box<VectorContent>),
    Series(Box<SeriesContent>),
    Opaque(Box<OpaqueContent>),
}

/// Content that cannot be applied, as the last refresh gave it.
#[derive(Clone, Debug)]
pub(crate) struct OpaqueContent {
    container_type: DataType,
    /// One payload for each part of the refresh.
    parts: Vec<Box<[u8]>>,
    bytes: usize,
}

impl Content {
    /// Gets ready for the first part of a refresh, which merges into what is
    /// there unless it is `from_scratch`, or is of a kind that is never merged.
    pub(crate) fn begin_refresh(&mut self, from_scratch: bool, container_type: DataType) {
        let is_merged = !matches!(self, Self::Series(_) | Self::Opaque(_))
            && self.container_type() == container_type;
        if from_scratch || !is_merged {
            *self = Self::Nothing;
        }
    }

    /// Applies the payload of a refresh, or of a part of one.
    pub(crate) fn refresh(&mut self, data: &Encoded<'_>, limits: Limits) -> Result<(), CacheError> {
        let is_first = matches!(self, Self::Nothing);
        if is_first {
            *self = Self::empty(data.data_type());
        }
        match self.merge(data, &Change::plain(limits)) {
            Err(CacheError::NotApplicable { .. }) if is_first => {
                let opaque = OpaqueContent::new(data.data_type());
                *self = Self::Opaque(Box::new(opaque));
                self.merge(data, &Change::plain(limits))
            }
            merged => merged,
        }
    }

    /// Applies the payload of an update.
    pub(crate) fn update(
        &mut self,
        data: &Encoded<'_>,
        change: &Change<'_>,
    ) -> Result<Applied, CacheError> {
        if matches!(self, Self::Nothing) {
            *self = Self::empty(data.data_type());
        }
        if matches!(self, Self::Opaque(_)) {
            return Ok(Applied::HeadOnly);
        }
        self.merge(data, change)?;
        Ok(Applied::Content)
    }

    fn empty(container_type: DataType) -> Self {
        match container_type {
            DataType::FIELD_LIST => Self::Fields(Box::default()),
            DataType::ELEMENT_LIST => Self::Elements(Vec::new()),
            DataType::FILTER_LIST => Self::Filter(Box::new(FilterContent::new())),
            DataType::MAP => Self::Map(Box::new(MapContent::new())),
            DataType::VECTOR => Self::Vector(Box::new(VectorContent::new())),
            DataType::SERIES => Self::Series(Box::new(SeriesContent::new())),
            other => Self::Opaque(Box::new(OpaqueContent::new(other))),
        }
    }

    #[inline]
    fn merge(&mut self, data: &Encoded<'_>, change: &Change<'_>) -> Result<(), CacheError> {
        let (expected, found) = (self.container_type(), data.data_type());
        if expected != found {
            return Err(CacheError::WrongContainer { expected, found });
        }
        match self {
            Self::Nothing => {}
            Self::Fields(_) if data.is_empty() => {}
            Self::Fields(content) => content.merge(&data.field_list()?, change)?,
            Self::Elements(buffer) => data::merge(buffer, 0, data, &SetDefs::NONE, change)?,
            Self::Filter(content) => content.apply(&data.filter_list()?, change)?,
            Self::Map(content) => content.apply(&data.map()?, change)?,
            Self::Vector(content) => content.apply(&data.vector()?, change)?,
            Self::Series(content) => content.apply(&data.series()?, change)?,
            Self::Opaque(content) => content.push(data.bytes()),
        }
        let limit = change.limits.max_bytes;
        if self.bytes() > limit as usize {
            return Err(CacheError::TooManyBytes { limit });
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn container_type(&self) -> DataType {
        match self {
            Self::Nothing => DataType::NO_DATA,
            Self::Fields(_) => DataType::FIELD_LIST,
            Self::Elements(_) => DataType::ELEMENT_LIST,
            Self::Filter(_) => DataType::FILTER_LIST,
            Self::Map(_) => DataType::MAP,
            Self::Vector(_) => DataType::VECTOR,
            Self::Series(_) => DataType::SERIES,
            Self::Opaque(content) => content.container_type,
        }
    }

    pub(crate) fn field_list_info(&self) -> Option<FieldListInfo> {
        match self {
            Self::Fields(content) => fields::info(content.bytes(), 0),
            _ => None,
        }
    }

    pub(crate) fn entry_count(&self) -> usize {
        match self {
            Self::Nothing | Self::Opaque(_) => 0,
            Self::Fields(content) => fields::count(content.bytes(), 0),
            Self::Elements(buffer) => elements::count(buffer, 0),
            Self::Filter(content) => content.len(),
            Self::Map(content) => content.len(),
            Self::Vector(content) => content.len(),
            Self::Series(content) => content.len(),
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Fields(content) => content.bytes().len(),
            Self::Elements(buffer) => buffer.len(),
            Self::Filter(content) => content.bytes(),
            Self::Map(content) => content.bytes(),
            Self::Vector(content) => content.bytes(),
            Self::Series(content) => content.bytes(),
            Self::Opaque(content) => content.bytes,
        }
    }

    /// Appends the whole content to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), CacheError> {
        let needs_parts = match self {
            Self::Opaque(content) => content.parts.len() > 1,
            _ => self.entry_count() > MAX_COUNT as usize,
        };
        if needs_parts {
            return Err(CacheError::NeedsParts);
        }
        self.write_part(0, usize::MAX, out);
        Ok(())
    }

    /// Appends one part, which begins at `start`: 0, or what the last call
    /// returned. `None` when all is written.
    pub(crate) fn write_part(
        &self,
        start: usize,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Fields(content) => {
                out.extend_from_slice(content.bytes());
                None
            }
            Self::Elements(buffer) => {
                out.extend_from_slice(buffer);
                None
            }
            Self::Filter(content) => {
                content.write(out);
                None
            }
            Self::Map(content) => content.write_part(start, max_bytes, out),
            Self::Vector(content) => content.write_part(start, max_bytes, out),
            Self::Series(content) => content.write_part(start, max_bytes, out),
            Self::Opaque(content) => content.write_part(start, out),
        }
    }
}

impl OpaqueContent {
    fn new(container_type: DataType) -> Self {
        Self { container_type, parts: Vec::new(), bytes: 0 }
    }

    fn push(&mut self, part: &[u8]) {
        self.parts.push(part.into());
        self.bytes += part.len();
    }

    fn write_part(&self, start: usize, out: &mut Vec<u8>) -> Option<usize> {
        out.extend_from_slice(self.parts.get(start)?);
        let next = start + 1;
        (next < self.parts.len()).then_some(next)
    }
}
