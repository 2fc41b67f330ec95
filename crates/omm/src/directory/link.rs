//! Filter 6: the ways a service gets its data.

use tapeline_rwf::{DataType, EncodeError, Encoded, MapAction, MapHead, Primitive, Slot};

use crate::element::element_model;
use crate::error::expect_type;
use crate::{ModelError, Text};

const MODEL: &str = "service link";

element_model! {
    /// One way a service gets its data.
    pub LinkInfo of "service link" {
        /// 1 interactive, 2 broadcast.
        link_type: u64 = "Type",
        /// Whether it is up; required.
        is_up: bool = "LinkState",
        /// 0 none, 1 ok, 2 recovery started, 3 recovery completed.
        code: u64 = "LinkCode",
        /// More in words.
        text: Text = "Text",
    }
}

/// A change of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEntry {
    /// Name of the link.
    pub name: Text,
    /// What changes.
    pub change: Link,
}

/// What happens to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// It is as given here: map action `ADD` or `UPDATE`.
    Set {
        /// The action on the wire.
        action: MapAction,
        /// How the link is.
        info: LinkInfo,
    },
    /// It is gone.
    Delete,
}

/// Filter 6: changes of the links of a service, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ServiceLinks(pub Vec<LinkEntry>);

impl LinkInfo {
    /// 1 for interactive, which is what counts when absent, 2 for broadcast.
    pub fn effective_type(&self) -> u64 {
        self.link_type.unwrap_or(1)
    }
}

impl ServiceLinks {
    pub(super) fn read(data: &Encoded<'_>) -> Result<Self, ModelError> {
        let malformed = ModelError::in_part(MODEL, "map");
        expect_type(MODEL, "container", DataType::MAP, data.data_type())?;
        let map = data.map().map_err(malformed)?;
        // Like other names, as text or as bytes.
        let key_type = map.key_type();
        if !data.is_empty() && key_type != DataType::BUFFER {
            expect_type(MODEL, "map key", DataType::ASCII_STRING, key_type)?;
        }
        let mut entries = Vec::new();
        for entry in &map {
            let entry = entry.map_err(malformed)?;
            let change = match entry.action {
                MapAction::DELETE => Link::Delete,
                action => {
                    let info = LinkInfo::read(&entry.data)?;
                    if info.is_up.is_none() {
                        return Err(ModelError::missing(MODEL, "LinkState"));
                    }
                    Link::Set { action, info }
                }
            };
            entries.push(LinkEntry { name: entry.key.bytes().into(), change });
        }
        Ok(Self(entries))
    }

    pub(super) fn write(&self, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
        let head = MapHead::new(DataType::ASCII_STRING, DataType::ELEMENT_LIST);
        let mut map = slot.map(&head)?;
        for entry in &self.0 {
            let key = Primitive::Ascii(&entry.name);
            match &entry.change {
                Link::Set { action, info } => info.write(map.entry(*action, key, None)?)?,
                Link::Delete => map.bare_entry(MapAction::DELETE, key, None)?,
            }
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::Encoder;

    #[test]
    fn links_are_named_by_text_or_bytes() {
        let read = |key_type, key: Primitive<'_>| {
            let mut buffer = [0; 64];
            let mut encoder = Encoder::new(&mut buffer);
            let head = MapHead::new(key_type, DataType::ELEMENT_LIST);
            let mut map = encoder.container(DataType::MAP).map(&head).expect("room");
            map.bare_entry(MapAction::DELETE, key, None).expect("room");
            map.finish().expect("room");
            let bytes = encoder.finish_bytes().expect("room");
            ServiceLinks::read(&Encoded::new(DataType::MAP, bytes)).map_err(|e| e.to_string())
        };
        assert!(read(DataType::ASCII_STRING, Primitive::ascii("a")).is_ok());
        assert!(read(DataType::BUFFER, Primitive::Buffer(b"a")).is_ok());
        assert_eq!(
            read(DataType::UINT, Primitive::Uint(65)).unwrap_err(),
            "service link: map key is UINT, ASCII_STRING is needed"
        );
    }
}
