//! Generic messages that no model of their domain knows.

use tapeline_rwf::{Domain, EncodeError, Encoder, GenericFlags, GenericMsg, MsgKey};

use crate::{OpenData, Text};

/// A generic message of an administrative stream that is between its two ends:
/// it is no error, and whoever does not know it leaves it alone. What is to be
/// passed on is the message itself, which may have more than is kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherGeneric {
    /// Stream.
    pub stream_id: i32,
    /// Name in the key: what the message is about.
    pub name: Option<Text>,
    /// Whether it is the last part of its content.
    pub is_complete: bool,
    /// Its content.
    pub payload: OpenData,
}

impl OtherGeneric {
    pub(crate) fn decode(msg: &GenericMsg<'_>) -> Self {
        Self {
            stream_id: msg.stream_id,
            name: msg.key.and_then(|key| key.name).map(Text::from),
            is_complete: msg.flags.contains(GenericFlags::MESSAGE_COMPLETE),
            payload: OpenData {
                data_type: msg.payload.data_type(),
                bytes: msg.payload.bytes().into(),
            },
        }
    }

    pub(crate) fn encode(
        &self,
        domain: Domain,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), EncodeError> {
        let name = self.name.as_ref().map(Text::as_bytes);
        let mut flags = GenericFlags::empty();
        flags.set(GenericFlags::MESSAGE_COMPLETE, self.is_complete);
        let msg = GenericMsg {
            flags,
            key: name.map(|name| MsgKey { name: Some(name), ..MsgKey::EMPTY }),
            payload: self.payload.encoded(),
            ..GenericMsg::new(domain, self.stream_id)
        };
        encoder.message(&msg.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::DirectoryMsg;
    use crate::login::LoginMsg;
    use tapeline_rwf::{DataType, Encoded, Msg};

    fn generic(domain: Domain) -> GenericMsg<'static> {
        GenericMsg {
            flags: GenericFlags::MESSAGE_COMPLETE,
            key: Some(MsgKey { name: Some(b"Application"), ..MsgKey::EMPTY }),
            payload: Encoded::new(DataType::OPAQUE, b"hello"),
            ..GenericMsg::new(domain, 1)
        }
    }

    fn rewritten(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
        let mut buffer = [0; 128];
        let mut encoder = Encoder::new(&mut buffer);
        write(&mut encoder).expect("room");
        encoder.finish_bytes().expect("room").to_vec()
    }

    #[test]
    fn generic_messages_of_applications_are_no_errors_of_login_and_directory() {
        for domain in [Domain::LOGIN, Domain::SOURCE] {
            let msg = generic(domain).into();
            let bytes = rewritten(|encoder| encoder.message(&msg));
            let (other, again) = if domain == Domain::LOGIN {
                let read = LoginMsg::decode(&msg).expect("allowed");
                let again = rewritten(|encoder| read.encode(encoder));
                let LoginMsg::Other(other) = read else { panic!("{read:?}") };
                (other, again)
            } else {
                let read = DirectoryMsg::decode(&msg).expect("allowed");
                let again = rewritten(|encoder| read.encode(encoder));
                let DirectoryMsg::Other(other) = read else { panic!("{read:?}") };
                (other, again)
            };
            assert_eq!(other.name, Some("Application".into()));
            assert_eq!(&*other.payload.bytes, b"hello");
            assert_eq!(again, bytes);
        }
    }

    #[test]
    fn a_known_name_is_held_to_its_model() {
        for (domain, name) in
            [(Domain::LOGIN, "ConsumerConnectionStatus"), (Domain::SOURCE, "ConsumerStatus")]
        {
            let key = Some(MsgKey { name: Some(name.as_bytes()), ..MsgKey::EMPTY });
            let msg: Msg<'_> = GenericMsg { key, ..generic(domain) }.into();
            assert!(LoginMsg::decode(&msg).is_err());
            assert!(DirectoryMsg::decode(&msg).is_err());
        }
    }

    #[test]
    fn an_empty_map_says_nothing_of_warm_standby() {
        let key = Some(MsgKey { name: Some(b"ConsumerConnectionStatus"), ..MsgKey::EMPTY });
        let payload = Encoded::new(DataType::MAP, &[]);
        let msg = GenericMsg { key, payload, ..generic(Domain::LOGIN) }.into();
        let read = LoginMsg::decode(&msg);
        let Ok(LoginMsg::ConsumerConnectionStatus(status)) = read else { panic!("{read:?}") };
        assert_eq!((status.action, status.mode), (None, None));
    }
}
