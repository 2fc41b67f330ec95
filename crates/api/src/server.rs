//! Where servers are, and who logs in there.

use core::fmt;
use core::str::FromStr;

use tapeline_omm::Text;
use tapeline_omm::login::{LoginAttributes, LoginRequest};
use thiserror::Error;

/// A server by host and port, written `host:port`; an IPv6 address is in
/// brackets.
///
/// ```
/// let server: tapeline_api::Server = "mds1:14002".parse()?;
/// assert_eq!((server.host.as_str(), server.port), ("mds1", 14002));
/// # Ok::<(), tapeline_api::ServerError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// A text that names no server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no server: write host:port")]
pub struct ServerError(pub String);

impl Server {
    /// A server.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }
}

impl FromStr for Server {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Self, ServerError> {
        let refusal = || ServerError(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(refusal)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bare {
            Some(address) => address,
            None if host.contains(':') => return Err(refusal()),
            None => host,
        };
        if host.is_empty() {
            return Err(refusal());
        }
        Ok(Self::new(host, port.parse().map_err(|_| refusal())?))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Who logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Name of the user, or what stands for it by the name type.
    pub user: Text,
    /// What the name is, of
    /// [`user_name_type`](tapeline_omm::login::user_name_type); a plain name
    /// when absent.
    pub name_type: Option<u8>,
    /// What the user and the application say about themselves: application id,
    /// position, who recovers items.
    pub attributes: LoginAttributes,
}

impl Login {
    /// A user by name, application 256, at a position `a.b.c.d/net` that says
    /// nothing.
    pub fn new(user: impl Into<Text>) -> Self {
        let attributes = LoginAttributes {
            application_id: Some("256".into()),
            application_name: Some("tapeline".into()),
            position: Some("127.0.0.1/net".into()),
            ..LoginAttributes::default()
        };
        Self { user: user.into(), name_type: None, attributes }
    }

    pub(crate) fn request(&self, stream_id: i32) -> LoginRequest {
        LoginRequest {
            name_type: self.name_type,
            attributes: self.attributes.clone(),
            ..LoginRequest::new(stream_id, self.user.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_they_are_written() {
        for text in ["mds1:14002", "10.0.0.1:1", "[::1]:14003"] {
            assert_eq!(text.parse::<Server>().expect("valid").to_string(), text);
        }
        for text in ["mds1", ":14002", "mds1:", "mds1:70000", "::1", "a:b:1"] {
            let error = text.parse::<Server>().expect_err("no server");
            assert_eq!(error.to_string(), format!("`{text}` is no server: write host:port"));
        }
    }
}
