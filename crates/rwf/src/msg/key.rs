//! Message keys: what a message is about.

use crate::decode::Reader;
use crate::error::DecodeError;
use crate::msg::KeyFlags;
use crate::{DataType, Encoded};

/// What a message is about: in most domains a service and the name of an item.
///
/// ```text
/// ┌─────────────────┬──────────────┐┌───────────────────┐┌─────────────┐
/// │ u15_rb key size │ u15_rb flags ││ u16_ob service id ││ buf8 name   │
/// └─────────────────┴──────────────┘└───────────────────┘└─────────────┘
///                                     HAS_SERVICE_ID       HAS_NAME
/// ┌──────────────┐┌────────────┐┌────────────────┐┌───────────────────────────┐
/// │ u8 name type ││ u32 filter ││ i32 identifier ││ u8 container type − 128,  │
/// └──────────────┘└────────────┘└────────────────┘│ buf15 attributes          │
///  HAS_NAME_TYPE   HAS_FILTER    HAS_IDENTIFIER   └───────────────────────────┘
///  and HAS_NAME                                     HAS_ATTRIB
/// ```
///
/// Encoders write the key size in two bytes always. Attributes of type
/// `NO_DATA` have no length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MsgKey<'a> {
    /// Flags as they are on the wire. Those that say that a part is there
    /// follow from the parts when encoding.
    pub flags: KeyFlags,
    /// Service, by the number that the connection's directory gives it.
    pub service_id: Option<u16>,
    /// Name of the item or user, at most 255 bytes.
    pub name: Option<&'a [u8]>,
    /// What kind of name, by domain; on the wire only together with a name.
    pub name_type: Option<u8>,
    /// Which parts are wanted or given, by domain.
    pub filter: Option<u32>,
    /// A number, by domain.
    pub identifier: Option<i32>,
    /// A container, at most 32767 bytes.
    pub attrib: Option<Encoded<'a>>,
}

impl<'a> MsgKey<'a> {
    /// A key without any part.
    pub const EMPTY: Self = Self {
        flags: KeyFlags::empty(),
        service_id: None,
        name: None,
        name_type: None,
        filter: None,
        identifier: None,
        attrib: None,
    };

    /// The key of an item: service and name.
    pub const fn item(service_id: u16, name: &'a str) -> Self {
        Self { service_id: Some(service_id), name: Some(name.as_bytes()), ..Self::EMPTY }
    }

    /// Reads the key size and the key.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: see the reader")]
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let size = reader.u15_rb("message key size")?;
        let mut key = reader.split(size as usize, "message key")?;
        let flags = KeyFlags::from_bits_retain(key.u15_rb("message key flags")?);
        let mut read = Self { flags, ..Self::EMPTY };
        if flags.contains(KeyFlags::HAS_SERVICE_ID) {
            read.service_id = Some(key.u16_ob("service id")?);
        }
        if flags.contains(KeyFlags::HAS_NAME) {
            read.name = Some(key.buf8("name in the message key")?);
            if flags.contains(KeyFlags::HAS_NAME_TYPE) {
                read.name_type = Some(key.u8("name type")?);
            }
        }
        if flags.contains(KeyFlags::HAS_FILTER) {
            read.filter = Some(key.u32("filter")?);
        }
        if flags.contains(KeyFlags::HAS_IDENTIFIER) {
            read.identifier = Some(key.u32("identifier")? as i32);
        }
        if flags.contains(KeyFlags::HAS_ATTRIB) {
            let data_type = DataType::from_container_code(key.u8("type of the attributes")?);
            read.attrib = Some(match data_type {
                DataType::NO_DATA => key.data(0, data_type, "attributes")?,
                _ => key.data15(data_type, "attributes")?,
            });
        }
        Ok(read)
    }
}
