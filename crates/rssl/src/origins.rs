//! Web pages that may open connections.
//!
//! A browser lets any page connect to any host, with the user's cookies, and
//! says in `Origin` which page it was. Programs send none, or name the host
//! that they connect to as if a page of it asked.

use crate::error::ConfigError;

/// The pages, beside those of the host itself, that may open a WebSocket: each
/// as a browser names it, `scheme://host` or `scheme://host:port`.
///
/// A page is the host's own if its origin has the name and port of the request's
/// `Host`. The HTTP tunnel is for no page.
///
/// ```
/// use tapeline_rssl::Origins;
///
/// assert!(Origins::new(["https://desk.example.com"]).is_ok());
/// let error = Origins::new(["desk.example.com/"]).unwrap_err();
/// assert!(error.to_string().contains("scheme://host:port"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Vec<String>);

impl Origins {
    /// These pages.
    ///
    /// Errors: one of them is no origin.
    pub fn new<T: AsRef<str>>(listed: impl IntoIterator<Item = T>) -> Result<Self, ConfigError> {
        let checked = listed.into_iter().map(|origin| {
            let origin = origin.as_ref();
            match split(origin) {
                Some(_) => Ok(origin.to_ascii_lowercase()),
                None => Err(ConfigError::Origin(origin.to_owned())),
            }
        });
        checked.collect::<Result<_, _>>().map(Self)
    }

    /// Whether a page of `origin` may connect to what it calls `host`.
    pub fn allow(&self, origin: &[u8], host: Option<&[u8]>) -> bool {
        let Some((scheme, authority)) = str::from_utf8(origin).ok().and_then(split) else {
            return false;
        };
        let host = host.and_then(|host| str::from_utf8(host.trim_ascii()).ok());
        let is_own = host.is_some_and(|host| {
            without_default_port(scheme, host)
                .eq_ignore_ascii_case(without_default_port(scheme, authority))
        });
        is_own
            || self.0.iter().filter_map(|listed| split(listed)).any(|listed| {
                listed.0.eq_ignore_ascii_case(scheme)
                    && without_default_port(listed.0, listed.1)
                        .eq_ignore_ascii_case(without_default_port(scheme, authority))
            })
    }
}

/// Scheme and authority of an origin. `null`, which stands for pages without
/// one, has neither.
fn split(origin: &str) -> Option<(&str, &str)> {
    let (scheme, authority) = origin.trim().split_once("://")?;
    let is_bare = |text: &str, also: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || also.as_bytes().contains(&b))
    };
    (is_bare(scheme, "+-.") && is_bare(authority, "-._:[]%")).then_some((scheme, authority))
}

/// A browser leaves out the port that goes with the scheme; programs may not.
fn without_default_port<'a>(scheme: &str, authority: &'a str) -> &'a str {
    let port = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        _ => return authority,
    };
    authority.strip_suffix(port).unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(listed: &[&str], origin: &str, host: Option<&str>) -> bool {
        Origins::new(listed).unwrap().allow(origin.as_bytes(), host.map(str::as_bytes))
    }

    #[test]
    fn a_page_of_the_host_itself_may_connect() {
        for (origin, host) in [
            ("http://mds1:15000", "mds1:15000"),
            ("http://MDS1:15000", "mds1:15000"),
            ("http://[::1]:15000", "[::1]:15000"),
            ("http://mds1", "mds1:80"),
            ("https://mds1:443", "mds1"),
            ("wss://mds1", "mds1:443"),
        ] {
            assert!(allows(&[], origin, Some(host)), "{origin} at {host}");
        }
    }

    #[test]
    fn no_other_page_may() {
        for (origin, host) in [
            ("http://evil.example", Some("mds1:15000")),
            ("http://mds1", Some("mds1:15000")),
            ("http://mds1:15001", Some("mds1:15000")),
            ("http://mds1:15000.evil.example", Some("mds1:15000")),
            ("http://evil.example#mds1:15000", Some("mds1:15000")),
            ("mds1:15000", Some("mds1:15000")),
            ("null", Some("null")),
            ("", Some("")),
            ("http://", Some("")),
            ("http://mds1:15000", None),
        ] {
            assert!(!allows(&[], origin, host), "{origin} at {host:?}");
        }
        assert!(!Origins::default().allow(b"http://\xFF", Some(b"\xFF")));
    }

    #[test]
    fn a_page_on_the_list_may_with_scheme_and_port() {
        let listed = ["https://Desk.example.com", "http://localhost:3000"];
        for origin in ["https://desk.example.com", "https://desk.example.com:443"] {
            assert!(allows(&listed, origin, Some("mds1:15000")), "{origin}");
        }
        assert!(allows(&listed, "http://localhost:3000", None));
        for origin in ["http://desk.example.com", "http://localhost", "https://localhost:3000"] {
            assert!(!allows(&listed, origin, Some("mds1:15000")), "{origin}");
        }
    }

    #[test]
    fn what_is_no_origin_cannot_be_listed() {
        for text in ["", "*", "desk", "https://", "https://desk/", "https://a b", "://desk"] {
            assert!(Origins::new([text]).is_err(), "{text}");
        }
    }
}
