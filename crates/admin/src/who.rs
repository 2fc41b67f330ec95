//! Who acts, for the line of the log.

use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::serve::IncomingStream;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::net::TcpListener;

use crate::tls::TlsListener;

/// What a client says of who sits at it.
const WHO: &str = "x-tapeline-who";

/// The most letters of it that are told.
const MAX_LETTERS: usize = 64;

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(SocketAddr);

impl Connected<IncomingStream<'_, TcpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self(*stream.remote_addr())
    }
}

impl Connected<IncomingStream<'_, TlsListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TlsListener>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// Who acts: by what the client says, or the name that a browser asked for, and the
/// address.
pub(crate) fn who(peer: Peer, headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let said = text(WHO).map(ToOwned::to_owned);
    let said = said.or_else(|| user(text(AUTHORIZATION.as_str())?));
    named(&said.unwrap_or_default(), peer)
}

/// The same of one who says in the request who it is; as [`who`] if it says nothing.
pub(crate) fn who_says(name: &str, peer: Peer, headers: &HeaderMap) -> String {
    if name.is_empty() { who(peer, headers) } else { named(name, peer) }
}

fn named(name: &str, Peer(address): Peer) -> String {
    if name.is_empty() {
        return address.to_string();
    }
    let letters = name.chars().filter(|letter| !letter.is_control());
    format!("{} at {address}", letters.take(MAX_LETTERS).collect::<String>())
}

/// The user in front of a password.
fn user(authorization: &str) -> Option<String> {
    let (scheme, shown) = authorization.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64_STANDARD.decode(shown.trim()).ok()?).ok()?;
    Some(decoded.split_once(':')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(headers: &[(&'static str, &str)]) -> String {
        let all = headers.iter().map(|(name, value)| {
            (axum::http::HeaderName::from_static(name), value.parse().expect("good"))
        });
        who(Peer(([127, 0, 0, 1], 4_711).into()), &all.collect())
    }

    #[test]
    fn a_name_in_the_request_counts_before_one_in_its_head() {
        let headers = [("x-tapeline-who", "ann")].map(|(name, value)| {
            (axum::http::HeaderName::from_static(name), value.parse().expect("good"))
        });
        let headers = headers.into_iter().collect();
        let peer = Peer(([127, 0, 0, 1], 4_711).into());
        assert_eq!(who_says("bob", peer, &headers), "bob at 127.0.0.1:4711");
        assert_eq!(who_says("", peer, &headers), "ann at 127.0.0.1:4711");
    }

    #[test]
    fn it_is_told_who_and_from_where() {
        assert_eq!(said(&[]), "127.0.0.1:4711");
        assert_eq!(said(&[("x-tapeline-who", "ann")]), "ann at 127.0.0.1:4711");
        let basic = format!("Basic {}", BASE64_STANDARD.encode("bob:s3cret"));
        assert_eq!(said(&[("authorization", &basic)]), "bob at 127.0.0.1:4711");
        assert_eq!(said(&[("authorization", "Bearer s3cret")]), "127.0.0.1:4711");
        let long = "x".repeat(100);
        assert_eq!(said(&[("x-tapeline-who", &long)]).split(' ').next().map(str::len), Some(64));
    }
}
