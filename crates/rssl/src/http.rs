//! The HTTP heads that open a WebSocket or a tunnel, both ways.

use httparse::{EMPTY_HEADER, Header, Request, Response, Status};

use crate::error::{CloseReason, ProtocolError};
use crate::websocket::{PLAIN_HTTP, RSSL_SUBPROTOCOL, accept_key};
use crate::{Limit, Origins};

/// Header lines in one head.
const HEADER_LINES: usize = 64;

/// Most characters of an origin that are told.
const ORIGIN_CHARS: usize = 200;

const DEFLATE: &str = "permessage-deflate;server_no_context_takeover";

/// Length of the whole head at the start of `bytes`, its empty line included;
/// `None` while it is not complete.
pub(crate) fn head_length(bytes: &[u8], max: usize) -> Result<Option<usize>, CloseReason> {
    let looked_at = &bytes[..bytes.len().min(max)];
    match looked_at.windows(4).position(|end| end == b"\r\n\r\n") {
        Some(at) => Ok(Some(at + 4)),
        None if bytes.len() > max => Err(CloseReason::limit(Limit::HttpHead, max + 1, max)),
        None => Ok(None),
    }
}

fn header<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok().map(str::trim)
}

fn has_token(headers: &[Header<'_>], name: &str, token: &str) -> bool {
    headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name)).any(|header| {
        header
            .value
            .split(|byte| *byte == b',' || *byte == b';')
            .any(|part| part.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
    })
}

/// Errors: the request is of a web page that may not connect. `origins` are
/// those that may; `None`: there are none, not even the host's own.
fn check_page(headers: &[Header<'_>], origins: Option<&Origins>) -> Result<(), ProtocolError> {
    let is = |header: &&Header<'_>, name: &str| header.name.eq_ignore_ascii_case(name);
    let host = headers.iter().find(|header| is(header, "Host")).map(|host| host.value);
    let pages = headers.iter().filter(|header| is(header, "Origin"));
    for Header { value, .. } in pages {
        if !origins.is_some_and(|origins| origins.allow(value, host)) {
            let origin = String::from_utf8_lossy(value).chars().take(ORIGIN_CHARS).collect();
            return Err(ProtocolError::Origin { origin });
        }
    }
    Ok(())
}

/// Errors: the request with this head is of a web page that may not connect.
pub(crate) fn check_origin(head: &[u8], origins: &Origins) -> Result<(), ProtocolError> {
    let mut lines = [EMPTY_HEADER; HEADER_LINES];
    let mut request = Request::new(&mut lines);
    match request.parse(head) {
        Ok(Status::Complete(_)) => check_page(request.headers, Some(origins)),
        _ => Err(ProtocolError::Http("the request is no HTTP/1.1 head of at most 64 lines")),
    }
}

/// The WebSocket request of a client, laid out as the vendor's.
pub(crate) fn websocket_request(host: &str, path: &str, key: &str, deflate: bool) -> String {
    upgrade_request(host, path, key, RSSL_SUBPROTOCOL, extension_line(deflate).as_str())
}

/// The same for any subprotocols, separated by commas.
pub(crate) fn upgrade_request(
    host: &str,
    path: &str,
    key: &str,
    subprotocols: &str,
    extension: &str,
) -> String {
    format!(
        "GET {path} HTTP/1.1\r\n\
         Sec-WebSocket-Key: {key}\r\n\
         Connection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\n\
         Host: {host}\r\n\
         Upgrade: websocket\r\n\
         Sec-WebSocket-Protocol: {subprotocols}\r\n\
         {extension}\r\n"
    )
}

/// The vendor's peers name permessage-deflate whenever zlib is configured, and
/// never use it with `rssl.rwf`. So do we: a peer may insist on its name.
fn extension_line(deflate: bool) -> String {
    if deflate { format!("Sec-WebSocket-Extensions: {DEFLATE}\r\n") } else { String::new() }
}

/// What a server takes from a client's WebSocket request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Upgrade {
    key: String,
    /// Subprotocols in the client's order.
    pub(crate) subprotocols: Vec<String>,
    offers_deflate: bool,
}

impl Upgrade {
    pub(crate) fn parse(head: &[u8]) -> Result<Self, ProtocolError> {
        let wrong = |what| Err(ProtocolError::Http(what));
        let mut lines = [EMPTY_HEADER; HEADER_LINES];
        let mut request = Request::new(&mut lines);
        let Ok(Status::Complete(_)) = request.parse(head) else {
            return wrong("the request is no HTTP/1.1 head of at most 64 lines");
        };
        let path = request.path.unwrap_or_default();
        let headers = &*request.headers;
        let asks_for = |name| header(headers, name).is_some();
        let is_websocket = asks_for("Upgrade") || asks_for("Sec-WebSocket-Key");
        if request.method == Some("GET") && !is_websocket {
            return Ok(Self::plain());
        }
        if request.method != Some("GET") || !path.to_ascii_lowercase().contains("websocket") {
            return wrong("the request's path does not contain \"websocket\"");
        }
        if !has_token(headers, "Upgrade", "websocket")
            || !has_token(headers, "Connection", "Upgrade")
        {
            return wrong("the request asks for no upgrade to WebSocket");
        }
        if header(headers, "Sec-WebSocket-Version") != Some("13") {
            return wrong("the WebSocket version is not 13");
        }
        let Some(key) = header(headers, "Sec-WebSocket-Key").filter(|key| !key.is_empty()) else {
            return wrong("the request has no Sec-WebSocket-Key");
        };
        let subprotocols = header(headers, "Sec-WebSocket-Protocol")
            .unwrap_or_default()
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        Ok(Self {
            key: key.to_owned(),
            subprotocols,
            offers_deflate: has_token(headers, "Sec-WebSocket-Extensions", "permessage-deflate"),
        })
    }

    /// A request for a page, by who wants no WebSocket.
    fn plain() -> Self {
        Self {
            key: String::new(),
            subprotocols: vec![PLAIN_HTTP.to_owned()],
            offers_deflate: false,
        }
    }

    /// The answer that opens `rssl.rwf`.
    pub(crate) fn accept(&self, zlib_is_configured: bool) -> String {
        let extension = extension_line(zlib_is_configured && self.offers_deflate);
        self.accept_as(RSSL_SUBPROTOCOL, &extension)
    }

    /// The answer that opens a subprotocol.
    pub(crate) fn accept_as(&self, subprotocol: &str, extension: &str) -> String {
        let accept = accept_key(&self.key);
        format!(
            "HTTP/1.1 101 Switching Protocols\r\n\
             Connection: Upgrade\r\n\
             Upgrade: websocket\r\n\
             Sec-WebSocket-Accept: {accept}\r\n\
             Sec-WebSocket-Protocol: {subprotocol}\r\n\
             {extension}\r\n"
        )
    }
}

/// The answer to a request that opens nothing.
pub(crate) fn refusal(why: &ProtocolError) -> String {
    let status = match why {
        ProtocolError::Origin { .. } => "403 Forbidden",
        _ => "400 Bad Request",
    };
    // The reason may quote the peer's own words; it goes out as plain text.
    let body: String =
        why.to_string().chars().filter(|c| !c.is_control() && !"<>&".contains(*c)).collect();
    format!(
        "HTTP/1.1 {status}\r\n\
         Content-Type: text/html\r\n\
         Content-Length: {}\r\n\
         Connection: close\r\n\
         \r\n\
         {body}",
        body.len()
    )
}

fn parse_answer<'a, 'b>(
    head: &'a [u8],
    lines: &'b mut [Header<'a>; HEADER_LINES],
    expected: u16,
) -> Result<&'b [Header<'a>], ProtocolError> {
    let mut response = Response::new(lines);
    let Ok(Status::Complete(_)) = response.parse(head) else {
        return Err(ProtocolError::Http("the answer is no HTTP/1.1 head of at most 64 lines"));
    };
    match response.code {
        Some(code) if code == expected => Ok(&*response.headers),
        code => Err(ProtocolError::HttpStatus(code.unwrap_or(0))),
    }
}

/// Checks a server's answer to our WebSocket request with `key`.
pub(crate) fn check_upgraded(head: &[u8], key: &str) -> Result<(), ProtocolError> {
    match upgraded_to(head, key)? {
        granted if granted == RSSL_SUBPROTOCOL => Ok(()),
        offered => Err(ProtocolError::Subprotocol { offered }),
    }
}

/// The subprotocol that a server grants in its answer to our WebSocket request
/// with `key`; empty if it names none.
pub(crate) fn upgraded_to(head: &[u8], key: &str) -> Result<String, ProtocolError> {
    let mut lines = [EMPTY_HEADER; HEADER_LINES];
    let headers = parse_answer(head, &mut lines, 101)?;
    if !has_token(headers, "Upgrade", "websocket") || !has_token(headers, "Connection", "Upgrade") {
        return Err(ProtocolError::Http("the answer upgrades to something else"));
    }
    if header(headers, "Sec-WebSocket-Accept") != Some(accept_key(key).as_str()) {
        return Err(ProtocolError::Http("Sec-WebSocket-Accept does not answer our key"));
    }
    Ok(header(headers, "Sec-WebSocket-Protocol").unwrap_or_default().to_owned())
}

/// The tunnel request of a client, laid out as the vendor's. The length is
/// only a promise to keep proxies waiting; the body never ends.
pub(crate) fn tunnel_request(host: &str, path: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\n\
         Accept: application/octet-stream\r\n\
         User-Agent: ETA/Java\r\n\
         Host: {host}\r\n\
         Content-Length: 2147473647\r\n\
         Cache-Control: no-cache\r\n\
         \r\n"
    )
}

pub(crate) fn check_tunnel_request(head: &[u8]) -> Result<(), ProtocolError> {
    let mut lines = [EMPTY_HEADER; HEADER_LINES];
    let mut request = Request::new(&mut lines);
    match request.parse(head) {
        // No page needs a tunnel; the vendor's clients send no origin.
        Ok(Status::Complete(_)) if request.method == Some("POST") => {
            check_page(request.headers, None)
        }
        _ => Err(ProtocolError::Http("the request is no HTTP/1.1 POST of at most 64 lines")),
    }
}

pub(crate) const TUNNEL_ANSWER: &str = "HTTP/1.1 200 OK\r\n\
    Transfer-Encoding: chunked\r\n\
    Content-Type: application/octet-stream\r\n\
    \r\n";

pub(crate) fn check_tunnel_answer(head: &[u8]) -> Result<(), ProtocolError> {
    let mut lines = [EMPTY_HEADER; HEADER_LINES];
    let headers = parse_answer(head, &mut lines, 200)?;
    if has_token(headers, "Transfer-Encoding", "chunked") {
        Ok(())
    } else {
        Err(ProtocolError::Http("the tunnel's answer is not chunked"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_opening_is_accepted_by_both_sides() {
        for deflate in [false, true] {
            let request = websocket_request("h:1", "/WebSocket", "abc", deflate);
            let upgrade = Upgrade::parse(request.as_bytes()).unwrap();
            assert_eq!(upgrade.subprotocols, ["rssl.rwf"]);
            assert_eq!(upgrade.offers_deflate, deflate);
            let answer = upgrade.accept(true);
            assert_eq!(answer.contains("permessage-deflate"), deflate);
            assert_eq!(check_upgraded(answer.as_bytes(), "abc"), Ok(()));
            assert!(check_upgraded(answer.as_bytes(), "abd").is_err());
        }
    }

    #[test]
    fn each_missing_part_of_a_request_is_noticed() {
        let good = websocket_request("h:1", "/WebSocket", "abc", false);
        for line in good.lines().filter(|line| line.contains(": ")) {
            let without = good.replace(&format!("{line}\r\n"), "");
            let optional = line.starts_with("Host") || line.contains("Protocol");
            assert_eq!(Upgrade::parse(without.as_bytes()).is_ok(), optional, "{line}");
        }
        let elsewhere = good.replace("/WebSocket", "/");
        assert!(Upgrade::parse(elsewhere.as_bytes()).is_err());
        let older = good.replace("Version: 13", "Version: 8");
        assert!(Upgrade::parse(older.as_bytes()).is_err());
    }

    #[test]
    fn a_head_without_an_end_is_a_limit() {
        assert_eq!(head_length(b"GET / HTTP/1.1\r\n\r\nrest", 100), Ok(Some(18)));
        assert_eq!(head_length(b"GET / HTTP/1.1\r\n", 100), Ok(None));
        assert!(matches!(
            head_length(&[b'x'; 101], 100),
            Err(CloseReason::Limit { limit: Limit::HttpHead, value: 101, max: 100 })
        ));
    }

    #[test]
    fn a_refusal_quotes_nothing_dangerous() {
        let offered = "<script>\r\n".to_owned();
        let answer = refusal(&ProtocolError::Subprotocol { offered });
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n"));
        assert!(!answer.contains("<script>"));
    }
}
