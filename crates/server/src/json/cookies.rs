//! Logins by cookies: a client whose handshake has a token is logged in
//! without asking.

use tapeline_omm::Credential;
use tapeline_omm::login::{AUTHN_TOKEN_NAME, LoginRequest, user_name_type};

use crate::core::UNASKED_LOGIN_STREAM;

/// Names of the cookies, as the vendor's servers have them by default.
const TOKEN: &str = "AuthToken";
const POSITION: &str = "position";
const APPLICATION_ID: &str = "applicationId";

/// The login that cookies stand for: the value of a `Cookie` header.
pub(super) fn login_of(cookies: &str) -> Option<LoginRequest> {
    let value = |name: &str| {
        let pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        let value = pairs.into_iter().find(|(key, _)| *key == name)?.1;
        let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        Some(bare.unwrap_or(value)).filter(|value| !value.is_empty())
    };
    let mut request = LoginRequest::new(UNASKED_LOGIN_STREAM, AUTHN_TOKEN_NAME);
    request.name_type = Some(user_name_type::AUTHN_TOKEN);
    let said = &mut request.attributes;
    said.authentication_token = Some(Credential::Ascii(value(TOKEN)?.into()));
    said.position = value(POSITION).map(Into::into);
    said.application_id = value(APPLICATION_ID).map(Into::into);
    Some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_among_cookies_is_a_login_and_other_cookies_are_none() {
        let login = login_of("a=b; position=\"127.0.0.1/net\";AuthToken=eyJ.x=; applicationId=256")
            .expect("a token");
        assert_eq!(login.stream_id, -1);
        let said = &login.attributes;
        assert_eq!(said.authentication_token, Some(Credential::Ascii("eyJ.x=".into())));
        assert_eq!(said.position, Some("127.0.0.1/net".into()));
        assert_eq!(said.application_id, Some("256".into()));
        for none in
            ["", "AuthToken", "AuthToken=", "AuthToken=\"\"", "xAuthToken=1", "a=AuthToken=1"]
        {
            assert_eq!(login_of(none), None, "{none}");
        }
    }
}
