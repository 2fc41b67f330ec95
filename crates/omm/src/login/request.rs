//! Login requests and the rules for changing a login.

use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, KeyFlags, MsgKey, RequestFlags, RequestMsg,
};

use super::{LoginAttributes, user_name_type};
use crate::{ModelError, Text};

/// A user logs in; on an open login stream, changes its login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRequest {
    /// Stream, chosen by the requester.
    pub stream_id: i32,
    /// Name of the user, or what stands for it by the name type.
    pub user_name: Text,
    /// What the name is, of [`user_name_type`]; a plain name when absent.
    pub name_type: Option<u8>,
    /// All item streams of the user are to be paused. The vendor's library
    /// leaves this out of the first request.
    pub pause: bool,
    /// No answer is wanted.
    pub no_refresh: bool,
    /// What the user and the application say about themselves.
    pub attributes: LoginAttributes,
}

impl LoginRequest {
    const MODEL: &'static str = "login request";

    /// A request of a user by name, with the attributes left out.
    pub fn new(stream_id: i32, user_name: impl Into<Text>) -> Self {
        Self {
            stream_id,
            user_name: user_name.into(),
            name_type: None,
            pause: false,
            no_refresh: false,
            attributes: LoginAttributes::default(),
        }
    }

    /// Reads a request.
    ///
    /// Errors: it is not streaming; it has no user name; a known attribute has
    /// another wire type.
    pub fn decode(msg: &RequestMsg<'_>) -> Result<Self, ModelError> {
        if !msg.flags.contains(RequestFlags::STREAMING) {
            return Err(ModelError::rule(Self::MODEL, "message", "must be streaming"));
        }
        let name = msg.key.name.ok_or(ModelError::missing(Self::MODEL, "user name"))?;
        Ok(Self {
            stream_id: msg.stream_id,
            user_name: name.into(),
            name_type: msg.key.name_type,
            pause: msg.flags.contains(RequestFlags::PAUSE),
            no_refresh: msg.flags.contains(RequestFlags::NO_REFRESH),
            attributes: match &msg.key.attrib {
                Some(attrib) => LoginAttributes::read(attrib)?,
                None => LoginAttributes::default(),
            },
        })
    }

    /// Writes the request.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let mut flags = RequestFlags::STREAMING;
        flags.set(RequestFlags::PAUSE, self.pause);
        flags.set(RequestFlags::NO_REFRESH, self.no_refresh);
        let key = MsgKey {
            flags: KeyFlags::empty(),
            name: Some(&self.user_name),
            name_type: self.name_type,
            ..MsgKey::EMPTY
        };
        let msg = RequestMsg { flags, key, ..RequestMsg::new(Domain::LOGIN, self.stream_id) };
        if self.attributes.is_empty() {
            return encoder.message(&msg.into());
        }
        let write = |slot: tapeline_rwf::Slot<'_, '_>| self.attributes.write(slot);
        encoder
            .begin_with_attrib(&msg.into(), DataType::NO_DATA, DataType::ELEMENT_LIST, write)?
            .empty()
    }

    /// What the name is, when absent a plain name.
    pub fn effective_name_type(&self) -> u8 {
        self.name_type.unwrap_or(user_name_type::NAME)
    }

    /// Whether `reissue` may follow this request on the same stream.
    ///
    /// The user name may change only where it is a token; role, name type,
    /// application, position, instance, password and what was asked for must
    /// stay. An attribute that the reissue leaves out stays as it was.
    pub fn check_reissue(&self, reissue: &Self) -> Result<(), ModelError> {
        const MODEL: &str = "login reissue";
        let changed = |part| Err(ModelError::rule(MODEL, part, "must not change"));
        if reissue.effective_name_type() != self.effective_name_type() {
            return changed("name type");
        }
        let is_token = matches!(
            self.effective_name_type(),
            user_name_type::TOKEN | user_name_type::AUTHN_TOKEN
        );
        if !is_token && reissue.user_name != self.user_name {
            return changed("user name");
        }
        let (old, new) = (&self.attributes, &reissue.attributes);
        let kept = |new: Option<bool>, old: bool| new.is_none_or(|new| new == old);
        for (part, stays) in [
            ("Role", new.role.is_none_or(|role| role == old.role.unwrap_or_default())),
            ("InstanceId", same(new.instance_id.as_ref(), old.instance_id.as_ref())),
            ("Password", same(new.password.as_ref(), old.password.as_ref())),
            ("ApplicationId", same(new.application_id.as_ref(), old.application_id.as_ref())),
            ("ApplicationName", same(new.application_name.as_ref(), old.application_name.as_ref())),
            ("Position", same(new.position.as_ref(), old.position.as_ref())),
            ("SingleOpen", kept(new.single_open, old.wants_single_open())),
            ("AllowSuspectData", kept(new.allow_suspect_data, old.allows_suspect_data())),
            ("DownloadConnectionConfig", {
                kept(new.download_connection_config, old.wants_connection_config())
            }),
            ("ProvidePermissionProfile", {
                kept(new.provide_permission_profile, old.wants_permission_profile())
            }),
            ("ProvidePermissionExpressions", {
                kept(new.provide_permission_expressions, old.wants_permission_expressions())
            }),
        ] {
            if !stays {
                return changed(part);
            }
        }
        Ok(())
    }
}

/// Whether an attribute stays as it was: a reissue may leave it out.
fn same<T: PartialEq>(new: Option<&T>, old: Option<&T>) -> bool {
    new.is_none() || new == old
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Credential;
    use tapeline_rwf::Msg;

    fn login(name_type: u8, user_name: &str) -> LoginRequest {
        LoginRequest { name_type: Some(name_type), ..LoginRequest::new(1, user_name) }
    }

    #[test]
    fn a_login_must_be_streaming_and_have_a_name() {
        let mut msg = RequestMsg::new(Domain::LOGIN, 1);
        let text = |msg: &RequestMsg<'_>| LoginRequest::decode(msg).unwrap_err().to_string();
        assert_eq!(text(&msg), "login request: message must be streaming");
        msg.flags = RequestFlags::STREAMING;
        assert_eq!(text(&msg), "login request: user name is missing");
    }

    #[test]
    fn a_known_attribute_of_another_type_makes_the_login_invalid() {
        let mut buffer = [0; 256];
        let mut encoder = Encoder::new(&mut buffer);
        let flags = RequestFlags::STREAMING;
        let key = MsgKey { name: Some(b"user"), ..MsgKey::EMPTY };
        let msg = RequestMsg { flags, key, ..RequestMsg::new(Domain::LOGIN, 1) };
        encoder
            .begin_with_attrib(&msg.into(), DataType::NO_DATA, DataType::ELEMENT_LIST, |slot| {
                let mut list = slot.element_list(&tapeline_rwf::ElementListHead::STANDARD)?;
                list.put("Unknown", 1_i64)?;
                list.put("SingleOpen", tapeline_rwf::Primitive::ascii("1"))?;
                list.finish()
            })
            .and_then(tapeline_rwf::Slot::empty)
            .expect("the buffer is large enough");
        let bytes = encoder.finish_bytes().expect("the buffer is large enough");
        let Ok(Msg::Request(request)) = Msg::decode(bytes) else { panic!("a request") };
        assert_eq!(
            LoginRequest::decode(&request).unwrap_err().to_string(),
            "login request: SingleOpen is ASCII_STRING, UINT is needed"
        );
    }

    #[test]
    fn only_tokens_may_change_their_name() {
        use user_name_type::{AUTHN_TOKEN, COOKIE, EMAIL, NAME, TOKEN};
        for (name_type, may) in
            [(NAME, false), (EMAIL, false), (TOKEN, true), (COOKIE, false), (AUTHN_TOKEN, true)]
        {
            let result = login(name_type, "old").check_reissue(&login(name_type, "new"));
            assert_eq!(result.is_ok(), may, "name type {name_type}");
        }
        let error = login(NAME, "a").check_reissue(&login(EMAIL, "a")).unwrap_err();
        assert_eq!(error.to_string(), "login reissue: name type must not change");
        assert_eq!(LoginRequest::new(1, "a").check_reissue(&login(NAME, "a")), Ok(()));
    }

    type Change = fn(&mut LoginAttributes);

    #[test]
    fn a_reissue_may_leave_out_and_repeat_but_not_change() {
        let mut old = LoginRequest::new(1, "user");
        old.attributes.position = Some("127.0.0.1/net".into());
        old.attributes.role = Some(LoginAttributes::CONSUMER);
        let same = old.clone();
        assert_eq!(old.check_reissue(&same), Ok(()));
        assert_eq!(old.check_reissue(&LoginRequest::new(1, "user")), Ok(()));
        let mut new = same.clone();
        new.attributes.authentication_token = Some(Credential::Ascii("t2".into()));
        new.attributes.single_open = Some(true);
        new.pause = true;
        assert_eq!(old.check_reissue(&new), Ok(()));
        let changes: [(&str, Change); 4] = [
            ("Position", |a| a.position = Some("127.0.0.2/net".into())),
            ("Role", |a| a.role = Some(LoginAttributes::PROVIDER)),
            ("SingleOpen", |a| a.single_open = Some(false)),
            ("Password", |a| a.password = Some("secret".into())),
        ];
        for (part, change) in changes {
            let mut new = same.clone();
            change(&mut new.attributes);
            let error = old.check_reissue(&new).unwrap_err();
            assert_eq!(error.to_string(), format!("login reissue: {part} must not change"));
        }
    }
}
