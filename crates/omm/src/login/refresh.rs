//! The acceptance of a login.

use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, KeyFlags, MsgKey, RefreshFlags, RefreshMsg, Slot, State,
};

use super::{ConnectionConfig, LoginFeatures, LoginRequest};
use crate::{ModelError, StateBuf, Text};

/// A login is accepted, or a change of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRefresh {
    /// Stream of the login.
    pub stream_id: i32,
    /// Whether it answers a request.
    pub solicited: bool,
    /// Whether what was known of the connection before is void.
    pub clear_cache: bool,
    /// State of the login.
    pub state: StateBuf,
    /// User name as in the request.
    pub user_name: Option<Text>,
    /// Name type as in the request.
    pub name_type: Option<u8>,
    /// What the provider can do.
    pub features: LoginFeatures,
    /// Standby servers, where the request asked for them.
    pub connection_config: Option<ConnectionConfig>,
}

impl LoginRefresh {
    const MODEL: &'static str = "login refresh";

    /// The answer that accepts a request: open and ok, with name, type and what
    /// the application said about itself repeated.
    pub fn accept(request: &LoginRequest, text: &str) -> Self {
        let said = &request.attributes;
        Self {
            stream_id: request.stream_id,
            solicited: true,
            clear_cache: false,
            state: State::open_ok(text).into(),
            user_name: Some(request.user_name.clone()),
            name_type: request.name_type,
            features: LoginFeatures {
                application_id: said.application_id.clone(),
                application_name: said.application_name.clone(),
                position: said.position.clone(),
                provide_permission_profile: Some(said.wants_permission_profile()),
                provide_permission_expressions: Some(said.wants_permission_expressions()),
                single_open: Some(said.wants_single_open()),
                allow_suspect_data: Some(said.allows_suspect_data()),
                ..LoginFeatures::default()
            },
            connection_config: None,
        }
    }

    /// Reads a refresh.
    ///
    /// Errors: it is one of several parts, which no client takes; a known
    /// element has another wire type; the connection configuration lacks what
    /// it must have.
    pub fn decode(msg: &RefreshMsg<'_>) -> Result<Self, ModelError> {
        if !msg.flags.contains(RefreshFlags::REFRESH_COMPLETE) {
            return Err(ModelError::rule(Self::MODEL, "message", "must be of one part"));
        }
        let key = msg.key.unwrap_or(MsgKey::EMPTY);
        Ok(Self {
            stream_id: msg.stream_id,
            solicited: msg.flags.contains(RefreshFlags::SOLICITED),
            clear_cache: msg.flags.contains(RefreshFlags::CLEAR_CACHE),
            state: msg.state.into(),
            user_name: key.name.map(Text::from),
            name_type: key.name_type,
            features: match &key.attrib {
                Some(attrib) => LoginFeatures::read(attrib)?,
                None => LoginFeatures::default(),
            },
            connection_config: match msg.payload.data_type() {
                DataType::ELEMENT_LIST => ConnectionConfig::read(&msg.payload)?,
                _ => None,
            },
        })
    }

    /// Writes the refresh.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let mut flags = RefreshFlags::REFRESH_COMPLETE;
        flags.set(RefreshFlags::SOLICITED, self.solicited);
        flags.set(RefreshFlags::CLEAR_CACHE, self.clear_cache);
        let key = MsgKey {
            flags: KeyFlags::empty(),
            name: self.user_name.as_deref(),
            name_type: self.name_type.filter(|_| self.user_name.is_some()),
            ..MsgKey::EMPTY
        };
        let has_key = self.user_name.is_some() || !self.features.is_empty();
        let msg = RefreshMsg {
            flags,
            state: self.state.as_state(),
            key: has_key.then_some(key),
            ..RefreshMsg::new(Domain::LOGIN, self.stream_id)
        };
        let payload_type = match self.connection_config {
            Some(_) => DataType::ELEMENT_LIST,
            None => DataType::NO_DATA,
        };
        let write = |slot: Slot<'_, '_>| self.features.write(slot);
        let payload = match self.features.is_empty() {
            true => encoder.begin(&msg.into(), payload_type)?,
            false => encoder.begin_with_attrib(
                &msg.into(),
                payload_type,
                DataType::ELEMENT_LIST,
                write,
            )?,
        };
        match &self.connection_config {
            Some(config) => config.write(payload),
            None => payload.empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_of_several_parts_is_refused() {
        let msg = RefreshMsg::new(Domain::LOGIN, 1);
        assert_eq!(
            LoginRefresh::decode(&msg).unwrap_err().to_string(),
            "login refresh: message must be of one part"
        );
    }

    #[test]
    fn an_acceptance_repeats_the_request() {
        let mut request = LoginRequest::new(7, "user");
        request.name_type = Some(super::super::user_name_type::NAME);
        request.attributes.position = Some("127.0.0.1/net".into());
        request.attributes.single_open = Some(false);
        let refresh = LoginRefresh::accept(&request, "Login accepted by host test.");
        assert_eq!(refresh.stream_id, 7);
        assert_eq!(refresh.state.to_string(), "Open / Ok / None / 'Login accepted by host test.'");
        assert_eq!(refresh.user_name.as_ref(), Some(&request.user_name));
        assert!(!refresh.features.is_single_open());
        assert_eq!(refresh.features.position, request.attributes.position);
    }
}
