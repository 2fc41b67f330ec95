//! Messages on their way through: written again where they must differ, in
//! pieces where only the stream id does.

use tapeline_rwf::{
    Domain, Encoded, GenericFlags, MsgClass, MsgHeader, MsgKey, RefreshFlags, State, StatusFlags,
    StatusMsg, UpdateFlags,
};

/// A message with stream id 0, as pieces: nothing is copied.
#[inline]
pub(crate) fn on_stream_zero(message: &[u8]) -> [&[u8]; 3] {
    let (head, rest) = message.split_at(message.len().min(4));
    [head, &[0; 4], rest.get(4..).unwrap_or_default()]
}

/// Whether an update or generic message has a key.
#[inline]
pub(crate) fn has_key(header: &MsgHeader) -> bool {
    header.flags
        & match header.class {
            MsgClass::Update => UpdateFlags::HAS_MSG_KEY.bits(),
            MsgClass::Refresh => RefreshFlags::HAS_MSG_KEY.bits(),
            MsgClass::Status => StatusFlags::HAS_MSG_KEY.bits(),
            MsgClass::Generic => GenericFlags::HAS_MSG_KEY.bits(),
            _ => 0,
        }
        != 0
}

/// A status of an item for servers.
pub(crate) fn status(domain: Domain, state: State<'_>) -> StatusMsg<'_> {
    StatusMsg { state: Some(state), ..StatusMsg::new(domain, 0) }
}

/// A key with another service id, if it has one.
pub(crate) fn at_service<'a>(key: &MsgKey<'a>, service_id: u16) -> MsgKey<'a> {
    MsgKey { service_id: key.service_id.map(|_| service_id), ..*key }
}

/// What of a request is kept beside its key, to be sent again.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    data_type: tapeline_rwf::DataType,
    bytes: Box<[u8]>,
}

impl Payload {
    /// Copies a payload; `None` for an empty one.
    pub(crate) fn keep(payload: &Encoded<'_>) -> Option<Self> {
        let (data_type, bytes) = (payload.data_type(), payload.bytes());
        (!bytes.is_empty()).then(|| Self { data_type, bytes: bytes.into() })
    }

    pub(crate) fn as_encoded(&self) -> Encoded<'_> {
        Encoded::new(self.data_type, &self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use tapeline_omm::Scratch;
    use tapeline_rwf::UpdateMsg;

    use super::*;

    #[test]
    fn the_pieces_of_a_message_are_the_message_on_stream_zero() {
        let mut scratch = Scratch::new(64);
        let bytes = scratch
            .message(&UpdateMsg::new(Domain::MARKET_PRICE, 77).into())
            .expect("an empty update can be written")
            .to_vec();
        let zero = on_stream_zero(&bytes).concat();
        assert_eq!(zero.len(), bytes.len());
        assert_eq!(MsgHeader::decode(&zero).map(|header| header.stream_id), Ok(0));
    }
}
