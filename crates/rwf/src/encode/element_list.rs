//! Element lists.

use crate::decode::ElementSetDefEntries;
use crate::encode::list::{List, SetHead, list_flags};
use crate::encode::slot::Close;
use crate::encode::{Encoder, Slot};
use crate::error::EncodeError;
use crate::{DataType, ElementListInfo, ElementSetDef, Primitive};

/// What an element list begins with.
#[derive(Clone, Copy, Debug)]
pub struct ElementListHead<'a> {
    /// Template of the list.
    pub info: Option<ElementListInfo>,
    /// Set-defined data, if there is to be any.
    pub set: Option<SetHead<ElementSetDef<'a>>>,
    /// Whether standard data follows: entries with names and types of their own.
    pub standard: bool,
}

impl ElementListHead<'_> {
    /// Standard data without an info.
    pub const STANDARD: Self = Self { info: None, set: None, standard: true };
}

impl<'a> ElementListHead<'a> {
    /// Only data of set 0.
    pub const fn set_defined(def: ElementSetDef<'a>) -> Self {
        let set = Some(SetHead { id: None, def: Some(def) });
        Self { info: None, set, standard: false }
    }
}

/// Writes the entries of an element list: first the set-defined ones in the
/// order of their definition, then standard ones in any order.
///
/// Layout: see [`ElementList`](crate::ElementList).
#[derive(Debug)]
#[must_use = "a list wants to be finished"]
pub struct ElementListWriter<'e, 'b> {
    list: List<'e, 'b, ElementSetDefEntries<'e>>,
}

impl<'e, 'b> ElementListWriter<'e, 'b> {
    #[inline]
    pub(crate) fn begin(
        encoder: &'e mut Encoder<'b>,
        head: &ElementListHead<'e>,
        close: Close,
    ) -> Result<Self, EncodeError> {
        encoder.u8(list_flags(head.info.is_some(), head.set.as_ref(), head.standard).bits());
        if let Some(info) = head.info {
            let [high, low] = info.list_number.to_be_bytes();
            encoder.chunk([2, high, low]);
        }
        let set = head.set.map(|set| (set.id, set.def.map(|def| def.entries())));
        let list = List::begin(encoder, close, set, head.standard)?;
        Ok(Self { list })
    }

    /// Writes one element. While set-defined values are missing it must be the
    /// next one of the definition, by name and type.
    #[inline]
    pub fn put<'v>(
        &mut self,
        name: impl AsRef<[u8]>,
        value: impl Into<Primitive<'v>>,
    ) -> Result<(), EncodeError> {
        let (name, value) = (name.as_ref(), value.into());
        if self.list.in_set()? {
            let data_type = self.next_of_set(name)?;
            return self.list.put_set(data_type, &value);
        }
        match value {
            Primitive::Blank(DataType::NO_DATA) => self.bytes(name, DataType::NO_DATA, &[]),
            Primitive::Other(data_type, bytes) => self.bytes(name, data_type, bytes),
            value => self.list.standard(|encoder| {
                begin_element(encoder, name, value.data_type())?;
                encoder.primitive16(&value)
            }),
        }
    }

    /// Writes a standard element whose value is encoded already, or that is of
    /// type `NO_DATA` and has none.
    pub fn bytes(
        &mut self,
        name: &[u8],
        data_type: DataType,
        value: &[u8],
    ) -> Result<(), EncodeError> {
        if self.list.in_set()? {
            return Err(EncodeError::Order { what: "standard data before set data" });
        }
        if data_type == DataType::NO_DATA && !value.is_empty() {
            return Err(EncodeError::OutOfRange { what: "data of type NO_DATA" });
        }
        self.list.standard(|encoder| {
            begin_element(encoder, name, data_type)?;
            match data_type {
                DataType::NO_DATA => Ok(()),
                _ => encoder.buf16(value, "element value"),
            }
        })
    }

    /// Begins an element that holds a container or an array.
    pub fn slot(
        &mut self,
        name: impl AsRef<[u8]>,
        data_type: DataType,
    ) -> Result<Slot<'_, 'b>, EncodeError> {
        let name = name.as_ref();
        if self.list.in_set()? {
            let expected = self.next_of_set(name)?;
            return self.list.set_slot(expected, data_type);
        }
        if data_type == DataType::NO_DATA {
            return Err(EncodeError::OutOfRange { what: "data of type NO_DATA" });
        }
        self.list.standard(|encoder| begin_element(encoder, name, data_type))?;
        Ok(self.list.slot(data_type))
    }

    /// Writes the whole set data as bytes that are encoded already.
    pub fn set_data(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.list.set_data(bytes)
    }

    fn next_of_set(&self, name: &[u8]) -> Result<DataType, EncodeError> {
        match self.list.next_def() {
            Some((expected, data_type)) if expected == name => Ok(data_type),
            _ => Err(EncodeError::Order { what: "an element out of the order of its set" }),
        }
    }

    /// Fills in the count.
    ///
    /// Errors: set-defined values are missing, or a container inside was
    /// dropped unfinished.
    #[inline]
    pub fn finish(self) -> Result<(), EncodeError> {
        self.list.finish()
    }
}

#[inline]
fn begin_element(
    encoder: &mut Encoder<'_>,
    name: &[u8],
    data_type: DataType,
) -> Result<(), EncodeError> {
    if data_type.base() != data_type {
        // Set-only forms have no length, entries of a list do.
        return Err(EncodeError::WrongType { expected: data_type.base(), found: data_type });
    }
    encoder.buf15(name, "element name")?;
    encoder.u8(data_type.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encoded;

    #[test]
    fn an_element_of_no_data_ends_with_its_type() {
        let mut buffer = [0; 32];
        let mut encoder = Encoder::new(&mut buffer);
        let slot = encoder.container(DataType::ELEMENT_LIST);
        let mut list = slot.element_list(&ElementListHead::STANDARD).expect("a list begins");
        list.put("A", Primitive::Blank(DataType::NO_DATA)).expect("no value is right");
        list.put("B", 5_u64).expect("a value");
        list.put("C", Primitive::Other(DataType::NO_DATA, b"x")).expect_err("a value is not");
        list.finish().expect("complete");
        let bytes = encoder.finish_bytes().expect("room");
        assert_eq!(bytes, [8, 0, 2, 1, b'A', 128, 1, b'B', 4, 1, 5]);
        let read = Encoded::new(DataType::ELEMENT_LIST, bytes).element_list().expect("well-formed");
        assert_eq!(read.iter().flatten().count(), 2);
    }
}
