//! Who may ask.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tapeline_rssl::Origins;

use crate::serve::Edge;

/// Lets a request through, or answers it 403.
pub(crate) async fn check(State(edge): State<Arc<Edge>>, request: Request, next: Next) -> Response {
    match refusal(&edge.config.origins, request.headers()) {
        None => next.run(request).await,
        Some(why) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
    }
}

/// Why a request is refused, if it is.
fn refusal(origins: &Origins, headers: &HeaderMap) -> Option<&'static str> {
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    if !host.is_some_and(is_own_name) {
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
        refusal(&origins, &headers).is_some()
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
        assert!(refusal(&Origins::default(), &HeaderMap::new()).is_some(), "no host at all");
    }
}
