//! Who somebody is: what hubs and servers ask of the edge at a login, and what it
//! answers. Names without proof are taken as they come where nobody is asked.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_omm::StateBuf;
use tapeline_omm::login::{LoginRequest, user_name_type};
use tapeline_rwf::{DataState, State, StreamState};

use crate::verdict::Denial;

/// What nobody is to read in a log.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// By what somebody asks to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A name, and a password if one was given.
    Name {
        /// The name.
        name: String,
        /// The password.
        password: Option<Hidden>,
    },
    /// A token in place of a name.
    Token {
        /// The token.
        token: Hidden,
        /// More for whoever judges it.
        extended: Option<Hidden>,
    },
}

impl Credential {
    /// What a login request has of it.
    pub fn of(request: &LoginRequest) -> Self {
        let hidden = |bytes: &[u8]| Hidden(text(bytes));
        let said = &request.attributes;
        let extended = said.authentication_extended.as_ref().map(|it| hidden(it.as_bytes()));
        match request.effective_name_type() {
            user_name_type::AUTHN_TOKEN => {
                let token = said.authentication_token.as_ref().map(|it| hidden(it.as_bytes()));
                Self::Token { token: token.unwrap_or_default(), extended }
            }
            user_name_type::TOKEN | user_name_type::COOKIE => {
                Self::Token { token: hidden(&request.user_name), extended }
            }
            _ => Self::Name {
                name: text(&request.user_name),
                password: said.password.as_ref().map(|it| hidden(it.as_bytes())),
            },
        }
    }

    /// Whether it is a token, and not the one that is known. What a reissue leaves
    /// out stays as it was.
    pub fn renews(&self, known: &Self) -> bool {
        let Self::Token { token: new, extended: more } = self else { return false };
        let is_same = match known {
            Self::Token { token, extended } => token == new && (more.is_none() || extended == more),
            Self::Name { .. } => false,
        };
        !new.0.is_empty() && !is_same
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Somebody asks to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginQuestion {
    /// The asker's number for the question; the answer has it.
    pub number: u64,
    /// By what the user is to be known.
    pub credential: Credential,
    /// Application id; empty if none was given.
    pub application: String,
    /// What the client calls its position; empty if it does not.
    pub position: String,
    /// Where the connection comes from.
    pub peer: IpAddr,
    /// It is a provider, and not a consumer.
    pub is_provider: bool,
    /// It is logged in, and changes its login.
    pub is_reissue: bool,
}

impl LoginQuestion {
    /// What a login request asks.
    pub fn of(number: u64, request: &LoginRequest, peer: IpAddr, is_reissue: bool) -> Self {
        let said = &request.attributes;
        Self {
            number,
            credential: Credential::of(request),
            application: said.application_id.as_ref().map(|it| text(it)).unwrap_or_default(),
            position: said.position.as_ref().map(|it| text(it)).unwrap_or_default(),
            peer: peer.to_canonical(),
            is_provider: said.is_provider(),
            is_reissue,
        }
    }
}

/// Who somebody is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The user's name.
    pub user: String,
    /// The user's roles, if whoever vouches for the name says them; else the
    /// policy does.
    pub roles: Option<Arc<[String]>>,
    /// When the login ends unless it is renewed.
    pub ends: Option<LoginEnd>,
    /// By which the authoriser's own log knows its decision, if it said.
    pub decision: Option<String>,
}

impl Person {
    /// Somebody of whom only the name is known.
    pub fn of(user: impl Into<String>) -> Self {
        Self { user: user.into(), roles: None, ends: None, decision: None }
    }
}

/// When a login ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginEnd {
    /// So long after the answer.
    pub after: Duration,
    /// When it is to be renewed, in seconds since 1970.
    pub renew_at_s: u64,
}

/// Why somebody is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unidentified {
    /// Code and text.
    pub denial: Denial,
    /// It is for a while only: the client is to try again.
    pub is_for_now: bool,
    /// What was wrong with the token, as clients know it.
    pub authentication: Option<AuthenticationError>,
    /// By which the authoriser's own log knows its decision, if it said.
    pub decision: Option<String>,
}

impl Unidentified {
    /// The state that tells a client why.
    pub fn state(&self) -> StateBuf {
        let stream = match self.is_for_now {
            true => StreamState::CLOSED_RECOVER,
            false => StreamState::CLOSED,
        };
        State::new(stream, DataState::SUSPECT, self.denial.code, &self.denial.text).into()
    }
}

/// What is wrong with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticationError {
    /// The number of the error; 0 is none.
    pub code: u64,
    /// What it is.
    pub text: String,
}

/// An answer to a [`LoginQuestion`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginAnswer {
    /// The number of the question.
    pub number: u64,
    /// Who it is, or why there is no login.
    pub who: Result<Person, Unidentified>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_not_shown() {
        let token = Credential::Token { token: Hidden::new("eyJ"), extended: None };
        assert_eq!(format!("{token:?}"), "Token { token: ***, extended: None }");
    }

    fn by_token(token: &str, extended: Option<&str>) -> Credential {
        let extended = extended.map(Hidden::new);
        Credential::Token { token: Hidden::new(token), extended }
    }

    #[test]
    fn a_token_is_renewed_by_another_and_by_more_beside_it() {
        let known = by_token("a", Some("x"));
        assert!(by_token("b", None).renews(&known) && by_token("a", Some("y")).renews(&known));
        for same in [by_token("a", None), by_token("a", Some("x")), by_token("", None)] {
            assert!(!same.renews(&known), "{same:?}");
        }
        let name = Credential::Name { name: "ann".to_owned(), password: None };
        assert!(!name.renews(&known) && known.renews(&name));
    }

    #[test]
    fn a_login_is_asked_about_by_what_it_has() {
        let mut request = LoginRequest::new(1, "ann");
        request.attributes.password = Some("secret".into());
        request.attributes.application_id = Some("256".into());
        let asked = LoginQuestion::of(7, &request, [127, 0, 0, 1].into(), false);
        let password = Some(Hidden::new("secret"));
        assert_eq!(asked.credential, Credential::Name { name: "ann".to_owned(), password });
        assert_eq!((asked.number, &*asked.application, &*asked.position), (7, "256", ""));
        request.name_type = Some(user_name_type::TOKEN);
        assert_eq!(Credential::of(&request), by_token("ann", None));
    }
}
