//! Element lists with names that a model knows.

use core::fmt;

use tapeline_rwf::{
    DataType, DecodeError, Domain, ElementListWriter, EncodeError, Encoded, Primitive, Qos, State,
};

use crate::error::{ModelError, ModelErrorKind};
use crate::{GroupId, StateBuf, Text};

/// A value that an element of a model can have.
pub(crate) trait ElementValue: Sized {
    /// The wire type that is written, and that errors name.
    const WIRE: DataType;

    /// Whether a wire type is accepted.
    fn accepts(found: DataType) -> bool {
        found == Self::WIRE
    }

    /// Reads a value of an accepted type; `None` for a blank, which counts as
    /// an element that is not there.
    fn read(value: &Encoded<'_>) -> Result<Option<Self>, ModelErrorKind>;

    /// Writes the element.
    fn write(
        &self,
        list: &mut ElementListWriter<'_, '_>,
        name: &'static str,
    ) -> Result<(), EncodeError>;
}

macro_rules! element_values {
    ($($type:ty, $wire:ident, $read:expr, $write:expr;)*) => {$(
        impl ElementValue for $type {
            const WIRE: DataType = DataType::$wire;

            fn read(value: &Encoded<'_>) -> Result<Option<Self>, ModelErrorKind> {
                $read(value)
            }

            fn write(
                &self,
                list: &mut ElementListWriter<'_, '_>,
                name: &'static str,
            ) -> Result<(), EncodeError> {
                list.put(name, $write(self))
            }
        }
    )*};
}

element_values! {
    u64, UINT, uint, |value: &u64| *value;
    bool, UINT, flag, |value: &bool| u64::from(*value);
    u16, ENUM, enumeration, |value: &u16| Primitive::Enum(*value);
    Text, ASCII_STRING, text, |value| Primitive::Ascii(as_bytes(value));
    Secret, ASCII_STRING, |value| text(value).map(|text| text.map(Secret)),
        |value| Primitive::Ascii(secret_bytes(value));
    GroupId, BUFFER, group, |value| Primitive::Buffer(group_bytes(value));
    StateBuf, STATE, state, |value| Primitive::State(as_state(value));
}

fn uint(value: &Encoded<'_>) -> Result<Option<u64>, ModelErrorKind> {
    Ok(value.uint()?)
}

fn enumeration(value: &Encoded<'_>) -> Result<Option<u16>, ModelErrorKind> {
    Ok(value.enumeration()?)
}

#[allow(clippy::unnecessary_wraps, reason = "as the other readers")]
fn text(value: &Encoded<'_>) -> Result<Option<Text>, ModelErrorKind> {
    Ok(Some(Text::from(value.bytes())))
}

fn group(value: &Encoded<'_>) -> Result<Option<GroupId>, ModelErrorKind> {
    let id = GroupId::try_from(value.bytes());
    id.map(Some).map_err(|_| ModelErrorKind::Rule("is longer than 255 bytes"))
}

fn state(value: &Encoded<'_>) -> Result<Option<StateBuf>, ModelErrorKind> {
    Ok(value.state()?.map(StateBuf::from))
}

fn flag(value: &Encoded<'_>) -> Result<Option<bool>, ModelErrorKind> {
    Ok(value.uint()?.map(|value| value != 0))
}

fn secret_bytes(secret: &Secret) -> &[u8] {
    secret.as_bytes()
}

fn as_bytes(text: &Text) -> &[u8] {
    text.as_bytes()
}

fn group_bytes(group: &GroupId) -> &[u8] {
    group.as_bytes()
}

fn as_state(state: &StateBuf) -> State<'_> {
    state.as_state()
}

/// A secret that is `ASCII_STRING` on the wire. It does not print: only its
/// length does.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(Text);

impl Secret {
    /// The secret itself.
    pub const fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<T: Into<Text>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.as_bytes().len())
    }
}

/// A secret or an answer to one: `ASCII_STRING` or `BUFFER` on the wire. It
/// does not print: only its length does.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Credential {
    /// As `ASCII_STRING`.
    Ascii(Text),
    /// As `BUFFER`.
    Buffer(Text),
}

impl Credential {
    /// The bytes, however they were sent.
    pub const fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Ascii(text) | Self::Buffer(text) => text.as_bytes(),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Ascii(_) => "Ascii",
            Self::Buffer(_) => "Buffer",
        };
        write!(f, "{kind}({} bytes)", self.as_bytes().len())
    }
}

impl ElementValue for Credential {
    const WIRE: DataType = DataType::ASCII_STRING;

    fn accepts(found: DataType) -> bool {
        matches!(found, DataType::ASCII_STRING | DataType::BUFFER)
    }

    fn read(value: &Encoded<'_>) -> Result<Option<Self>, ModelErrorKind> {
        let text = Text::from(value.bytes());
        Ok(Some(match value.data_type() {
            DataType::BUFFER => Self::Buffer(text),
            _ => Self::Ascii(text),
        }))
    }

    fn write(
        &self,
        list: &mut ElementListWriter<'_, '_>,
        name: &'static str,
    ) -> Result<(), EncodeError> {
        list.put(
            name,
            match self {
                Self::Ascii(text) => Primitive::Ascii(text),
                Self::Buffer(text) => Primitive::Buffer(text),
            },
        )
    }
}

/// Data of a type that the model leaves open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenData {
    /// Its type: a primitive or a container.
    pub data_type: DataType,
    /// Its bytes, at most 65535.
    pub bytes: Box<[u8]>,
}

impl OpenData {
    /// The data as decoders take it.
    pub const fn encoded(&self) -> Encoded<'_> {
        Encoded::new(self.data_type, &self.bytes)
    }
}

impl ElementValue for OpenData {
    const WIRE: DataType = DataType::UNKNOWN;

    fn accepts(_: DataType) -> bool {
        true
    }

    fn read(value: &Encoded<'_>) -> Result<Option<Self>, ModelErrorKind> {
        Ok(Some(Self { data_type: value.data_type(), bytes: value.bytes().into() }))
    }

    fn write(
        &self,
        list: &mut ElementListWriter<'_, '_>,
        name: &'static str,
    ) -> Result<(), EncodeError> {
        list.bytes(name.as_bytes(), self.data_type, &self.bytes)
    }
}

/// An item of an `ARRAY` element.
pub(crate) trait ArrayItem: Sized {
    const ITEM: DataType;

    /// Reads an item of this type; `None` for one that is left out.
    fn read(item: &Encoded<'_>) -> Result<Option<Self>, DecodeError>;

    fn primitive(&self) -> Primitive<'_>;
}

impl ArrayItem for Domain {
    const ITEM: DataType = DataType::UINT;

    /// A number that is no domain is left out.
    fn read(item: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        Ok(item.uint()?.and_then(|code| u8::try_from(code).ok()).map(Self))
    }

    fn primitive(&self) -> Primitive<'_> {
        Primitive::Uint(self.0.into())
    }
}

impl ArrayItem for Text {
    const ITEM: DataType = DataType::ASCII_STRING;

    fn read(item: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        Ok(Some(Self::from(item.bytes())))
    }

    fn primitive(&self) -> Primitive<'_> {
        Primitive::Ascii(self)
    }
}

impl ArrayItem for Qos {
    const ITEM: DataType = DataType::QOS;

    fn read(item: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        item.qos()
    }

    fn primitive(&self) -> Primitive<'_> {
        Primitive::Qos(*self)
    }
}

impl<T: ArrayItem> ElementValue for Vec<T> {
    const WIRE: DataType = DataType::ARRAY;

    /// A blank array counts as an empty one. Items of another type are an
    /// error.
    fn read(value: &Encoded<'_>) -> Result<Option<Self>, ModelErrorKind> {
        let Some(array) = value.array()? else {
            return Ok(Some(Self::new()));
        };
        let found = array.item_type().base();
        if found != T::ITEM {
            return Err(ModelErrorKind::WrongType { expected: T::ITEM, found });
        }
        let items = array.iter().filter_map(|item| match item {
            Ok(item) => T::read(&item).transpose(),
            Err(error) => Some(Err(error)),
        });
        Ok(Some(items.collect::<Result<_, _>>()?))
    }

    fn write(
        &self,
        list: &mut ElementListWriter<'_, '_>,
        name: &'static str,
    ) -> Result<(), EncodeError> {
        let mut array = list.slot(name, DataType::ARRAY)?.array(T::ITEM, 0)?;
        for item in self {
            array.put(item.primitive())?;
        }
        array.finish()
    }
}

/// Reads an element into its place, or says why it makes the model invalid.
pub(crate) fn read<T: ElementValue>(
    place: &mut Option<T>,
    model: &'static str,
    name: &'static str,
    value: &Encoded<'_>,
) -> Result<(), ModelError> {
    let found = value.data_type().base();
    if !T::accepts(found) {
        let kind = ModelErrorKind::WrongType { expected: T::WIRE, found };
        return Err(ModelError::new(model, name, kind));
    }
    *place = T::read(value).map_err(|kind| ModelError::new(model, name, kind))?;
    Ok(())
}

/// Defines a struct of optional elements: its fields in the order in which
/// they are written, each with its wire name.
macro_rules! element_model {
    (
        $(#[$meta:meta])*
        $vis:vis $name:ident of $model:literal {
            $( $(#[$field_meta:meta])* $field:ident: $type:ty = $element:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Default)]
        $vis struct $name {
            $(
                $(#[$field_meta])*
                #[doc = concat!("\n\nElement `", $element, "`.")]
                $vis $field: Option<$type>,
            )*
        }

        impl $name {
            /// Reads the elements that the model knows; others are ignored. A
            /// known one of another wire type makes the whole list invalid.
            pub(crate) fn read(
                data: &::tapeline_rwf::Encoded<'_>,
            ) -> Result<Self, $crate::ModelError> {
                let malformed = $crate::ModelError::in_part($model, "element list");
                $crate::error::expect_type(
                    $model,
                    "container",
                    ::tapeline_rwf::DataType::ELEMENT_LIST,
                    data.data_type(),
                )?;
                let mut read = Self::default();
                for entry in &data.element_list().map_err(malformed)? {
                    let entry = entry.map_err(malformed)?;
                    match entry.name {
                        $(
                            name if name == $element.as_bytes() => {
                                let place = &mut read.$field;
                                $crate::element::read(place, $model, $element, &entry.value)?;
                            }
                        )*
                        _ => {}
                    }
                }
                Ok(read)
            }

            /// Whether there is no element.
            #[allow(dead_code, reason = "not every model may be left out")]
            pub(crate) fn is_empty(&self) -> bool {
                $(self.$field.is_none())&&*
            }

            /// Takes over the elements that a later list has.
            #[allow(dead_code, reason = "not every model is kept and changed")]
            pub(crate) fn merge(&mut self, later: Self) {
                $(
                    if later.$field.is_some() {
                        self.$field = later.$field;
                    }
                )*
            }

            /// Writes the elements that are there.
            pub(crate) fn write(
                &self,
                slot: ::tapeline_rwf::Slot<'_, '_>,
            ) -> Result<(), ::tapeline_rwf::EncodeError> {
                let mut list = slot.element_list(&::tapeline_rwf::ElementListHead::STANDARD)?;
                $(
                    if let Some(value) = &self.$field {
                        $crate::element::ElementValue::write(value, &mut list, $element)?;
                    }
                )*
                list.finish()
            }
        }
    };
}

pub(crate) use element_model;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::{ServiceGroupInfo, ServiceInfo};
    use crate::login::LoginAttributes;
    use tapeline_rwf::{ElementListHead, Encoder};

    fn read<T>(
        write: impl FnOnce(&mut ElementListWriter<'_, '_>) -> Result<(), EncodeError>,
        read: impl FnOnce(&Encoded<'_>) -> Result<T, ModelError>,
    ) -> Result<T, String> {
        let mut buffer = [0; 1024];
        let mut encoder = Encoder::new(&mut buffer);
        let slot = encoder.container(DataType::ELEMENT_LIST);
        let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
        write(&mut list).and_then(|()| list.finish()).expect("room");
        let bytes = encoder.finish_bytes().expect("room");
        read(&Encoded::new(DataType::ELEMENT_LIST, bytes)).map_err(|error| error.to_string())
    }

    #[test]
    fn items_of_an_array_are_of_the_type_of_the_model() {
        let array = |name, item_type, item: Primitive<'static>| {
            let write = |list: &mut ElementListWriter<'_, '_>| {
                let mut array = list.slot(name, DataType::ARRAY)?.array(item_type, 0)?;
                array.put(item)?;
                array.finish()
            };
            read(write, ServiceInfo::read)
        };
        assert!(array("DictionariesUsed", DataType::ASCII_STRING, Primitive::ascii("X")).is_ok());
        assert_eq!(
            array("DictionariesUsed", DataType::UINT, Primitive::Uint(65)).unwrap_err(),
            "service info: DictionariesUsed is UINT, ASCII_STRING is needed"
        );
        assert_eq!(
            array("Capabilities", DataType::ASCII_STRING, Primitive::ascii("6")).unwrap_err(),
            "service info: Capabilities is ASCII_STRING, UINT is needed"
        );
    }

    #[test]
    fn a_group_id_has_its_length() {
        let group = |bytes: &[u8]| {
            read(|list| list.put("Group", Primitive::Buffer(bytes)), ServiceGroupInfo::read)
        };
        assert!(group(&[7; 255]).is_ok());
        assert_eq!(group(&[7; 256]).unwrap_err(), "service group: Group is longer than 255 bytes");
    }

    #[test]
    fn secrets_are_not_printed() {
        let attributes = LoginAttributes {
            password: Some("hunter2".into()),
            authentication_token: Some(Credential::Ascii("hunter2".into())),
            authentication_extended: Some(Credential::Buffer("hunter2".into())),
            ..LoginAttributes::default()
        };
        let printed = format!("{attributes:?}");
        assert!(!printed.contains("hunter2"), "{printed}");
        assert_eq!(printed.matches("(7 bytes)").count(), 3, "{printed}");
    }
}
