//! The place for one container.

use crate::encode::{
    ArrayWriter, ElementListHead, ElementListWriter, Encoder, FieldListHead, FieldListWriter,
    FilterListHead, FilterListWriter, MapHead, MapWriter, SeriesHead, SeriesWriter, VectorHead,
    VectorWriter,
};
use crate::error::EncodeError;
use crate::{DataType, Encoded, Msg, Primitive};

/// What closes a slot when its container is finished.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// Nothing: the end is known from outside.
    Open,
    /// A `u15_rb` length is filled in.
    Len15,
    /// A `u16_ob` length is filled in.
    Len16,
}

/// A place where exactly one container or value of a known type goes: the
/// payload of a message, the data of a map entry, the value of a field.
///
/// Every method uses the slot up. Those that begin a container return its
/// writer, whose `finish` fills in the slot's length. A slot behind a length
/// that is dropped unused makes the next call on its parent fail; a payload has
/// no length, and is empty then.
#[derive(Debug)]
#[must_use = "a slot wants a container"]
pub struct Slot<'e, 'b> {
    pub(crate) encoder: &'e mut Encoder<'b>,
    data_type: DataType,
    close: Close,
}

/// How to close a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Close {
    ending: Ending,
    at: usize,
    what: &'static str,
}

impl Close {
    #[inline]
    pub(crate) fn apply(self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        match self.ending {
            Ending::Open => return Ok(()),
            Ending::Len15 => encoder.close_u15(self.at, self.what)?,
            Ending::Len16 => encoder.close_u16(self.at, self.what)?,
        }
        encoder.close();
        Ok(())
    }
}

impl<'e, 'b> Slot<'e, 'b> {
    /// A slot whose end is known from outside.
    #[inline]
    pub(crate) fn unbounded(encoder: &'e mut Encoder<'b>, data_type: DataType) -> Self {
        let close = Close { ending: Ending::Open, at: 0, what: "" };
        Self { encoder, data_type, close }
    }

    /// A slot behind a length, which is reserved here.
    #[inline]
    pub(crate) fn behind_len(
        encoder: &'e mut Encoder<'b>,
        data_type: DataType,
        ending: Ending,
        what: &'static str,
    ) -> Self {
        let at = encoder.reserve_len();
        encoder.open();
        Self { encoder, data_type, close: Close { ending, at, what } }
    }

    /// The place for the attributes of a message key.
    pub(crate) fn attributes(encoder: &'e mut Encoder<'b>, data_type: DataType) -> Self {
        Self::behind_len(encoder, data_type, Ending::Len15, "attributes")
    }

    /// The type of the container or value that goes here.
    pub const fn data_type(&self) -> DataType {
        self.data_type
    }

    #[inline]
    fn take(self, found: DataType) -> Result<(&'e mut Encoder<'b>, Close), EncodeError> {
        if self.data_type == found {
            return Ok((self.encoder, self.close));
        }
        Err(EncodeError::WrongType { expected: self.data_type, found })
    }

    /// An empty container: zero bytes.
    pub fn empty(self) -> Result<(), EncodeError> {
        self.close.apply(self.encoder)
    }

    /// Bytes as they are, without looking at them.
    #[inline]
    pub fn bytes(self, bytes: &[u8]) -> Result<(), EncodeError> {
        if self.data_type == DataType::NO_DATA && !bytes.is_empty() {
            return Err(EncodeError::OutOfRange { what: "data of type NO_DATA" });
        }
        self.encoder.slice(bytes);
        self.close.apply(self.encoder)
    }

    /// Data of another message, of the same type, as it is.
    pub fn encoded(self, data: &Encoded<'_>) -> Result<(), EncodeError> {
        if self.data_type != data.data_type() && data.data_type() != DataType::UNKNOWN {
            return Err(EncodeError::WrongType {
                expected: self.data_type,
                found: data.data_type(),
            });
        }
        self.bytes(data.bytes())
    }

    /// A primitive of the slot's type; a blank is zero bytes.
    pub fn primitive<'v>(self, value: impl Into<Primitive<'v>>) -> Result<(), EncodeError> {
        let value = value.into();
        let (encoder, close) = self.take(value.data_type())?;
        encoder.primitive(&value)?;
        close.apply(encoder)
    }

    /// A complete message.
    pub fn message(self, msg: &Msg<'_>) -> Result<(), EncodeError> {
        let (encoder, close) = self.take(DataType::MSG)?;
        let payload = msg.payload();
        encoder.enter()?;
        encoder.begin_inside(msg, payload.data_type())?.encoded(&payload)?;
        encoder.leave();
        close.apply(encoder)
    }

    /// A message whose payload `write` writes, given the place for it, a
    /// container of `container_type`.
    pub fn message_with(
        self,
        msg: &Msg<'_>,
        container_type: DataType,
        write: impl FnOnce(Slot<'_, 'b>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let (encoder, close) = self.take(DataType::MSG)?;
        encoder.enter()?;
        write(encoder.begin_inside(msg, container_type)?)?;
        encoder.leave();
        close.apply(encoder)
    }

    /// Begins a field list.
    #[inline]
    pub fn field_list(
        self,
        head: &FieldListHead<'e>,
    ) -> Result<FieldListWriter<'e, 'b>, EncodeError> {
        let (encoder, close) = self.take(DataType::FIELD_LIST)?;
        FieldListWriter::begin(encoder, head, close)
    }

    /// Begins an element list.
    #[inline]
    pub fn element_list(
        self,
        head: &ElementListHead<'e>,
    ) -> Result<ElementListWriter<'e, 'b>, EncodeError> {
        let (encoder, close) = self.take(DataType::ELEMENT_LIST)?;
        ElementListWriter::begin(encoder, head, close)
    }

    /// Begins a filter list.
    pub fn filter_list(
        self,
        head: &FilterListHead,
    ) -> Result<FilterListWriter<'e, 'b>, EncodeError> {
        let (encoder, close) = self.take(DataType::FILTER_LIST)?;
        FilterListWriter::begin(encoder, head, close)
    }

    /// Begins a vector.
    pub fn vector(self, head: &VectorHead<'_>) -> Result<VectorWriter<'e, 'b>, EncodeError> {
        let (encoder, close) = self.take(DataType::VECTOR)?;
        VectorWriter::begin(encoder, head, close)
    }

    /// Begins a series.
    pub fn series(self, head: &SeriesHead<'_>) -> Result<SeriesWriter<'e, 'b>, EncodeError> {
        let (encoder, close) = self.take(DataType::SERIES)?;
        SeriesWriter::begin(encoder, head, close)
    }

    /// Begins a map.
    pub fn map(self, head: &MapHead<'_>) -> Result<MapWriter<'e, 'b>, EncodeError> {
        let (encoder, close) = self.take(DataType::MAP)?;
        MapWriter::begin(encoder, head, close)
    }

    /// Begins an array of items of one primitive type; an item length of 0
    /// gives each item its own.
    pub fn array(
        self,
        item_type: DataType,
        item_len: u16,
    ) -> Result<ArrayWriter<'e, 'b>, EncodeError> {
        let (encoder, close) = self.take(DataType::ARRAY)?;
        ArrayWriter::begin(encoder, item_type, item_len, close)
    }
}
