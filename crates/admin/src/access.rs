//! Who may ask.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tapeline_rssl::Origins;

use crate::serve::Asked;

/// What browsers ask a person by.
const CHALLENGE: &str = "Basic realm=\"tapeline admin: any user, the token as password\"";

/// Lets a request through, or answers it 403 or 401.
pub(crate) async fn check(
    State(asked): State<Arc<Asked>>,
    request: Request,
    next: Next,
) -> Response {
    let has_tls = asked.config.tls.is_some();
    if let Some(why) = refusal(&asked.config.origins, has_tls, request.headers()) {
        return (StatusCode::FORBIDDEN, format!("{why}\n")).into_response();
    }
    if let Some(token) = &asked.config.token
        && !shows(request.headers(), token)
    {
        let challenge = [(header::WWW_AUTHENTICATE, CHALLENGE)];
        let why = "give the token of [admin] token-file as a bearer token\n";
        return (StatusCode::UNAUTHORIZED, challenge, why).into_response();
    }
    next.run(request).await
}

/// Whether a request shows the token: as bearer, or as the password of a user.
fn shows(headers: &HeaderMap, token: &str) -> bool {
    let Some(said) = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok()) else {
        return false;
    };
    match said.split_once(' ') {
        Some((scheme, shown)) if scheme.eq_ignore_ascii_case("bearer") => {
            is_same(shown.trim().as_bytes(), token.as_bytes())
        }
        Some((scheme, shown)) if scheme.eq_ignore_ascii_case("basic") => {
            let decoded = BASE64_STANDARD.decode(shown.trim()).unwrap_or_default();
            let colon = decoded.iter().position(|byte| *byte == b':');
            colon.is_some_and(|colon| is_same(&decoded[colon + 1..], token.as_bytes()))
        }
        _ => false,
    }
}

/// In a time that says nothing of where they differ.
fn is_same(shown: &[u8], token: &[u8]) -> bool {
    let differing = shown.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b));
    shown.len() == token.len() && differing == 0
}

/// Why a request is refused, if it is. With TLS the certificate says whose name it is
/// that was asked for.
fn refusal(origins: &Origins, has_tls: bool, headers: &HeaderMap) -> Option<&'static str> {
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    if !has_tls && !host.is_some_and(is_own_name) {
        return Some(
            "ask for 127.0.0.1 or localhost: another name may be a page's that leads here",
        );
    }
    let origin = headers.get(header::ORIGIN)?;
    let is_allowed = origins.allow(origin.as_bytes(), host);
    (!is_allowed).then_some("this page may not ask; see allowed-origins in [admin]")
}

/// Whether a `Host` can only be this host's own name.
fn is_own_name(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).expect("good"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).expect("good"));
        }
        let origins = Origins::new(["https://ops.example.com"]).expect("an origin");
        refusal(&origins, false, &headers).is_some()
    }

    #[test]
    fn a_token_is_shown_as_bearer_or_as_a_password() {
        let is_let_in = |said: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_str(said).expect("good"));
            shows(&headers, "s3cret")
        };
        assert!(is_let_in("Bearer s3cret") && is_let_in("bearer s3cret"));
        // `ops:s3cret` and `ops:other`.
        assert!(is_let_in("Basic b3BzOnMzY3JldA==") && !is_let_in("Basic b3BzOm90aGVy"));
        for wrong in ["Bearer s3cre", "Bearer s3cret2", "Bearer", "s3cret", "Basic !", "Basic "] {
            assert!(!is_let_in(wrong), "{wrong}");
        }
        assert!(!shows(&HeaderMap::new(), "s3cret"));
    }

    #[test]
    fn programs_and_the_own_page_may_ask() {
        for host in ["127.0.0.1:9400", "localhost:9400", "LOCALHOST", "[::1]:9400"] {
            assert!(!is_refused(host, None), "{host}");
            assert!(!is_refused(host, Some(&format!("http://{host}"))), "{host}");
        }
        assert!(!is_refused("127.0.0.1:9400", Some("https://ops.example.com")));
    }

    #[test]
    fn pages_of_others_and_names_that_lead_here_may_not() {
        assert!(is_refused("127.0.0.1:9400", Some("https://evil.example.com")));
        assert!(is_refused("127.0.0.1:9400", Some("null")));
        assert!(is_refused("evil.example.com:9400", Some("http://evil.example.com:9400")));
        assert!(is_refused("127.0.0.1.evil.example.com", None));
        assert!(refusal(&Origins::default(), false, &HeaderMap::new()).is_some(), "no host at all");
    }

    #[test]
    fn with_tls_this_host_has_any_name_that_is_in_its_certificate() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("mds1.example.com:9400"));
        assert_eq!(refusal(&Origins::default(), true, &headers), None);
        headers.insert(header::ORIGIN, HeaderValue::from_static("https://evil.example.com"));
        assert!(refusal(&Origins::default(), true, &headers).is_some());
    }
}
