//! A piece of the input that is not decoded yet.

use crate::decode::Reader;
use crate::error::{DecodeError, DecodeErrorKind, Path};
use crate::{
    Array, DataType, Date, DateTime, ElementList, FieldList, FilterList, Map, Msg, Primitive, Qos,
    Real, Series, SetDefs, State, Time, Vector, primitive,
};

/// Bytes of one value or container inside the input: the value of a field, the
/// data of a map entry, the payload of a message.
///
/// It borrows from the input and knows its type where the wire tells it, and
/// where in the input it is, so that errors can say so. Nothing is decoded
/// until one of the methods is called; decoding twice costs twice.
///
/// Every method for a primitive returns `None` for a blank, which is what zero
/// bytes mean for every primitive type (and some spelled-out values of dates
/// and times). The type is checked only where it is known: a field value needs
/// a dictionary, see [`FieldEntry::typed`](crate::FieldEntry::typed).
// In this order and without padding it is copied in pieces that are those it was
// written in; others make a processor wait until the writes have left its store
// queue, which costs an update 8 ns.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Encoded<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) path: Path,
    /// The data type, in the width that leaves no padding.
    pub(super) type_code: u32,
    pub(crate) offset: u32,
}

impl<'a> Encoded<'a> {
    /// Bytes of a type that are the outermost data.
    #[inline]
    pub const fn new(data_type: DataType, bytes: &'a [u8]) -> Self {
        Self::inside(bytes, data_type, 0, Path::ROOT)
    }

    /// Bytes of a type that are `offset` bytes into the outermost data.
    #[inline]
    pub(crate) const fn inside(
        bytes: &'a [u8],
        data_type: DataType,
        offset: u32,
        path: Path,
    ) -> Self {
        Self { bytes, path, type_code: data_type.0 as u32, offset }
    }

    /// The bytes as they are in the input, without their length.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The type, [`DataType::UNKNOWN`] where the wire does not tell it.
    #[inline]
    pub const fn data_type(&self) -> DataType {
        DataType(self.type_code as u8)
    }

    /// The position of the first byte, from the start of the outermost data.
    #[inline]
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// The containers around the data.
    #[inline]
    pub const fn path(&self) -> Path {
        self.path
    }

    /// Whether there are no bytes: a blank primitive, an empty container.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The same bytes as data of a type that is known from elsewhere.
    #[inline]
    pub const fn typed(self, data_type: DataType) -> Self {
        Self { type_code: data_type.0 as u32, ..self }
    }

    /// A reader over the bytes, for what is no container of its own.
    #[inline]
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader::new(self.bytes, self.offset, self.path)
    }

    #[inline]
    pub(crate) fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(kind, self.offset, self.path)
    }

    #[inline]
    pub(crate) fn length_error(&self, data_type: DataType) -> DecodeError {
        let len = self.bytes.len() as u32;
        self.error(DecodeErrorKind::PrimitiveLength { data_type, len })
    }

    #[inline]
    fn expect(&self, expected: DataType) -> Result<(), DecodeError> {
        let found = self.data_type().base();
        if found == expected || found == DataType::UNKNOWN {
            return Ok(());
        }
        Err(self.error(DecodeErrorKind::WrongType { expected, found }))
    }

    /// An `INT`: 1 to 8 bytes, two's complement.
    #[inline]
    pub fn int(&self) -> Result<Option<i64>, DecodeError> {
        self.expect(DataType::INT)?;
        primitive::int::decode_signed(self)
    }

    /// A `UINT`: 1 to 8 bytes.
    #[inline]
    pub fn uint(&self) -> Result<Option<u64>, DecodeError> {
        self.expect(DataType::UINT)?;
        primitive::int::decode_unsigned(self)
    }

    /// An `ENUM`: 1 or 2 bytes.
    #[inline]
    pub fn enumeration(&self) -> Result<Option<u16>, DecodeError> {
        self.expect(DataType::ENUM)?;
        primitive::int::decode_enum(self)
    }

    /// A `FLOAT`: 4 bytes.
    #[inline]
    pub fn float(&self) -> Result<Option<f32>, DecodeError> {
        self.expect(DataType::FLOAT)?;
        primitive::int::decode_float(self)
    }

    /// A `DOUBLE`: 8 bytes.
    #[inline]
    pub fn double(&self) -> Result<Option<f64>, DecodeError> {
        self.expect(DataType::DOUBLE)?;
        primitive::int::decode_double(self)
    }

    /// A `REAL`: a hint byte and up to 8 value bytes.
    #[inline]
    pub fn real(&self) -> Result<Option<Real>, DecodeError> {
        self.expect(DataType::REAL)?;
        Real::decode(self)
    }

    /// A `DATE`: 4 bytes.
    #[inline]
    pub fn date(&self) -> Result<Option<Date>, DecodeError> {
        self.expect(DataType::DATE)?;
        Date::decode(self)
    }

    /// A `TIME`: 2, 3, 5, 7 or 8 bytes.
    #[inline]
    pub fn time(&self) -> Result<Option<Time>, DecodeError> {
        self.expect(DataType::TIME)?;
        Time::decode(self)
    }

    /// A `DATETIME`: 6, 7, 9, 11 or 12 bytes.
    #[inline]
    pub fn date_time(&self) -> Result<Option<DateTime>, DecodeError> {
        self.expect(DataType::DATETIME)?;
        DateTime::decode(self)
    }

    /// A `QOS`: 1, 3 or 5 bytes.
    #[inline]
    pub fn qos(&self) -> Result<Option<Qos>, DecodeError> {
        self.expect(DataType::QOS)?;
        Qos::decode(self)
    }

    /// A `STATE`: 3 bytes and its text.
    #[inline]
    pub fn state(&self) -> Result<Option<State<'a>>, DecodeError> {
        self.expect(DataType::STATE)?;
        State::decode(self)
    }

    /// An `ARRAY`.
    #[inline]
    pub fn array(&self) -> Result<Option<Array<'a>>, DecodeError> {
        self.expect(DataType::ARRAY)?;
        Array::decode(self)
    }

    /// The value of any primitive type, by the type of the data; bytes for a
    /// type that is no known primitive.
    #[inline]
    pub fn primitive(&self) -> Result<Primitive<'a>, DecodeError> {
        Primitive::decode(self)
    }

    /// A field list without set-defined data, or whose set-defined data may be
    /// skipped.
    #[inline]
    pub fn field_list(&self) -> Result<FieldList<'a>, DecodeError> {
        self.field_list_with(&SetDefs::NONE)
    }

    /// A field list, with the set definitions that are around it.
    #[inline]
    pub fn field_list_with(&self, defs: &SetDefs<'a>) -> Result<FieldList<'a>, DecodeError> {
        self.expect(DataType::FIELD_LIST)?;
        FieldList::decode(self, defs)
    }

    /// An element list without set-defined data, or whose set-defined data may
    /// be skipped.
    #[inline]
    pub fn element_list(&self) -> Result<ElementList<'a>, DecodeError> {
        self.element_list_with(&SetDefs::NONE)
    }

    /// An element list, with the set definitions that are around it.
    #[inline]
    pub fn element_list_with(&self, defs: &SetDefs<'a>) -> Result<ElementList<'a>, DecodeError> {
        self.expect(DataType::ELEMENT_LIST)?;
        ElementList::decode(self, defs)
    }

    /// A filter list.
    #[inline]
    pub fn filter_list(&self) -> Result<FilterList<'a>, DecodeError> {
        self.expect(DataType::FILTER_LIST)?;
        FilterList::decode(self)
    }

    /// A vector.
    #[inline]
    pub fn vector(&self) -> Result<Vector<'a>, DecodeError> {
        self.expect(DataType::VECTOR)?;
        Vector::decode(self)
    }

    /// A series.
    #[inline]
    pub fn series(&self) -> Result<Series<'a>, DecodeError> {
        self.expect(DataType::SERIES)?;
        Series::decode(self)
    }

    /// A map.
    #[inline]
    pub fn map(&self) -> Result<Map<'a>, DecodeError> {
        self.expect(DataType::MAP)?;
        Map::decode(self)
    }

    /// A message.
    #[inline]
    pub fn msg(&self) -> Result<Msg<'a>, DecodeError> {
        self.expect(DataType::MSG)?;
        Msg::decode_data(self)
    }
}

/// Equal when the bytes and the type are; where in the input they are does not
/// count.
impl PartialEq for Encoded<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.type_code == other.type_code && self.bytes == other.bytes
    }
}

impl Eq for Encoded<'_> {}
