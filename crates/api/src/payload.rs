//! What goes into a message: prepared bytes, values, or whatever writes itself.

use tapeline_rwf::{
    DataType, EncodeError, Encoded, FieldListHead, FieldListInfo, FieldListWriter, Primitive, Slot,
};

/// The content of a message.
///
/// | what | how |
/// |---|---|
/// | nothing | [`NoPayload`] |
/// | some fields | `&[(22, Real::decimal(4512, 2).into())][..]` |
/// | fields from code | [`fields`] |
/// | any container from code | [`container`] |
/// | bytes that are encoded already, or were received | [`Encoded`] |
pub trait Payload {
    /// Type of the container.
    fn data_type(&self) -> DataType;

    /// Writes the container into its place. It may be called again with a
    /// larger buffer, and is to write the same then.
    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError>;
}

impl<P: Payload + ?Sized> Payload for &P {
    #[inline]
    fn data_type(&self) -> DataType {
        (**self).data_type()
    }

    #[inline]
    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        (**self).write(place)
    }
}

impl Payload for Encoded<'_> {
    #[inline]
    fn data_type(&self) -> DataType {
        Encoded::data_type(self)
    }

    #[inline]
    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        place.encoded(self)
    }
}

/// No content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoPayload;

impl Payload for NoPayload {
    fn data_type(&self) -> DataType {
        DataType::NO_DATA
    }

    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        place.empty()
    }
}

/// A field list of these values.
impl Payload for [(i16, Primitive<'_>)] {
    #[inline]
    fn data_type(&self) -> DataType {
        DataType::FIELD_LIST
    }

    #[inline]
    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        let mut list = place.field_list(&FieldListHead::STANDARD)?;
        for (field_id, value) in self {
            list.put(*field_id, *value)?;
        }
        list.finish()
    }
}

/// The same as of a slice.
impl<const N: usize> Payload for [(i16, Primitive<'_>); N] {
    #[inline]
    fn data_type(&self) -> DataType {
        DataType::FIELD_LIST
    }

    #[inline]
    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        self[..].write(place)
    }
}

/// A field list that code writes.
///
/// ```
/// use tapeline_api::fields;
/// use tapeline_rwf::Real;
///
/// let (bid, ask) = (4512, 4515);
/// let quote = fields(|list| {
///     list.put(22, Real::decimal(bid, 2))?;
///     list.put(25, Real::decimal(ask, 2))
/// });
/// # use tapeline_api::Payload;
/// # assert_eq!(quote.data_type(), tapeline_rwf::DataType::FIELD_LIST);
/// ```
pub fn fields<F>(write: F) -> Fields<F>
where
    F: Fn(&mut FieldListWriter<'_, '_>) -> Result<(), EncodeError>,
{
    Fields { info: None, write }
}

/// What [`fields`] gives.
#[derive(Clone, Copy, Debug)]
pub struct Fields<F> {
    info: Option<FieldListInfo>,
    write: F,
}

impl<F> Fields<F> {
    /// The same with dictionary and template named, as images do.
    #[must_use]
    pub fn with_info(self, info: FieldListInfo) -> Self {
        Self { info: Some(info), ..self }
    }
}

impl<F> Payload for Fields<F>
where
    F: Fn(&mut FieldListWriter<'_, '_>) -> Result<(), EncodeError>,
{
    #[inline]
    fn data_type(&self) -> DataType {
        DataType::FIELD_LIST
    }

    #[inline]
    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        let head = self.info.map_or(FieldListHead::STANDARD, FieldListHead::with_info);
        let mut list = place.field_list(&head)?;
        (self.write)(&mut list)?;
        list.finish()
    }
}

/// A container of any type that code writes.
pub fn container<F>(data_type: DataType, write: F) -> Container<F>
where
    F: Fn(Slot<'_, '_>) -> Result<(), EncodeError>,
{
    Container { data_type, write }
}

/// What [`container`] gives.
#[derive(Clone, Copy, Debug)]
pub struct Container<F> {
    data_type: DataType,
    write: F,
}

impl<F> Payload for Container<F>
where
    F: Fn(Slot<'_, '_>) -> Result<(), EncodeError>,
{
    #[inline]
    fn data_type(&self) -> DataType {
        self.data_type
    }

    #[inline]
    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        (self.write)(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{Encoder, Real};

    fn written(payload: &impl Payload) -> Vec<u8> {
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        payload.write(encoder.container(payload.data_type())).expect("fits");
        encoder.finish_bytes().expect("fits").to_vec()
    }

    #[test]
    fn values_code_and_bytes_say_the_same() {
        let values = [(22, Real::decimal(4512, 2).into())];
        let bytes = written(&values);
        assert_eq!(bytes, written(&&values[..]));
        assert_eq!(bytes, written(&fields(|list| list.put(22, Real::decimal(4512, 2)))));
        assert_eq!(bytes, written(&Encoded::new(DataType::FIELD_LIST, &bytes)));
        let other = container(DataType::FIELD_LIST, |place| values.write(place));
        assert_eq!(bytes, written(&other));
        assert!(written(&NoPayload).is_empty());
    }

    #[test]
    fn an_image_can_name_its_dictionary() {
        let info = FieldListInfo { dictionary_id: 1, list_number: 79 };
        let bytes = written(&fields(|_| Ok(())).with_info(info));
        let data = Encoded::new(DataType::FIELD_LIST, &bytes);
        assert_eq!(data.field_list().expect("valid").info(), Some(info));
    }
}
