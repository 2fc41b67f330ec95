//! Refusals, logouts and remarks on the login stream.

use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, KeyFlags, MsgKey, State, StatusFlags, StatusMsg,
};

use crate::element::element_model;
use crate::{ModelError, StateBuf, Text};

/// The state of a login changes: refused, ended, or with something to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginStatus {
    /// Stream of the login.
    pub stream_id: i32,
    /// Whether what was known of the connection before is void.
    pub clear_cache: bool,
    /// New state. Closed ends everything on the connection; closed with
    /// recovery makes the client reconnect.
    pub state: Option<StateBuf>,
    /// User name as in the request.
    pub user_name: Option<Text>,
    /// Name type as in the request.
    pub name_type: Option<u8>,
    /// What the authenticator says.
    pub error: LoginErrorAttributes,
}

element_model! {
    /// What an authenticator says about a login that it refused.
    pub LoginErrorAttributes of "login status" {
        /// Why; 0 when it did not refuse.
        authentication_error_code: u64 = "AuthenticationErrorCode",
        /// The same in words.
        authentication_error_text: Text = "AuthenticationErrorText",
    }
}

impl LoginStatus {
    /// A status of this state, without a key.
    pub fn new(stream_id: i32, state: &State<'_>) -> Self {
        Self {
            stream_id,
            clear_cache: false,
            state: Some((*state).into()),
            user_name: None,
            name_type: None,
            error: LoginErrorAttributes::default(),
        }
    }

    /// Reads a status. Errors: a known element has another wire type.
    pub fn decode(msg: &StatusMsg<'_>) -> Result<Self, ModelError> {
        let key = msg.key.unwrap_or(MsgKey::EMPTY);
        Ok(Self {
            stream_id: msg.stream_id,
            clear_cache: msg.flags.contains(StatusFlags::CLEAR_CACHE),
            state: msg.state.map(StateBuf::from),
            user_name: key.name.map(Text::from),
            name_type: key.name_type,
            error: match &key.attrib {
                Some(attrib) => LoginErrorAttributes::read(attrib)?,
                None => LoginErrorAttributes::default(),
            },
        })
    }

    /// Writes the status.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let mut flags = StatusFlags::empty();
        flags.set(StatusFlags::CLEAR_CACHE, self.clear_cache);
        let key = MsgKey {
            flags: KeyFlags::empty(),
            name: self.user_name.as_deref(),
            name_type: self.name_type.filter(|_| self.user_name.is_some()),
            ..MsgKey::EMPTY
        };
        let has_key = self.user_name.is_some() || !self.error.is_empty();
        let msg = StatusMsg {
            flags,
            state: self.state.as_ref().map(StateBuf::as_state),
            key: has_key.then_some(key),
            ..StatusMsg::new(Domain::LOGIN, self.stream_id)
        };
        if self.error.is_empty() {
            return encoder.message(&msg.into());
        }
        let write = |slot: tapeline_rwf::Slot<'_, '_>| self.error.write(slot);
        encoder
            .begin_with_attrib(&msg.into(), DataType::NO_DATA, DataType::ELEMENT_LIST, write)?
            .empty()
    }
}
