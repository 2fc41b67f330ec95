//! Plain HTTP on the WebSocket port: a few pages, held in memory.

use std::fmt::Write as _;
use std::sync::Arc;

/// Most bytes of a request's path that are looked at.
const PATH_BYTES: usize = 256;

/// What a browser lets a page do: load from this port and connect to it,
/// nothing else, and not inside of other pages.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its path, as `/` or `/app.js`.
    pub path: String,
    /// Its media type, as `text/html; charset=utf-8`.
    pub content_type: String,
    /// Its content.
    pub body: Arc<[u8]>,
}

/// The pages that a listener has for who asks for no WebSocket.
///
/// A `GET` of a path gets its page, any other 404, and the connection is closed
/// after the answer. A policy goes with each page: it loads from this port and
/// connects to it, to nothing else, and has no scripts or styles inside. What is
/// behind a `?` is not looked at. Of the request only the head is read, which is
/// bounded by
/// [`Limits::http_head_bytes`](tapeline_rssl::Limits).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    pages: Vec<Page>,
}

impl Pages {
    /// These pages. Of several with one path the first counts.
    pub const fn new(pages: Vec<Page>) -> Self {
        Self { pages }
    }

    /// The whole answer to a request that begins with `head`.
    pub(crate) fn answer(&self, head: &[u8]) -> Vec<u8> {
        let path = path(head);
        match self.pages.iter().find(|page| path == Some(page.path.as_bytes())) {
            Some(page) => answer("200 OK", &page.content_type, &page.body),
            None => {
                answer("404 Not Found", "text/plain; charset=utf-8", b"There is no such page.\n")
            }
        }
    }
}

/// The answer to a client for whom there is no room.
pub(crate) fn unavailable(text: &str) -> Vec<u8> {
    answer("503 Service Unavailable", "text/plain; charset=utf-8", text.as_bytes())
}

/// The path of a request, without what is behind a `?`.
fn path(head: &[u8]) -> Option<&[u8]> {
    let target = head.strip_prefix(b"GET ")?;
    let end = target.iter().take(PATH_BYTES).position(|byte| b" ?".contains(byte))?;
    Some(&target[..end])
}

fn answer(status: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let mut head = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        head,
        "HTTP/1.1 {status}\r\n\
         Content-Type: {content_type}\r\n\
         Content-Length: {}\r\n\
         Cache-Control: no-cache\r\n\
         Content-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\
         \r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_its_page_and_any_other_has_none() {
        let page = Page {
            path: "/".to_owned(),
            content_type: "text/html".to_owned(),
            body: Arc::from(&b"<p>"[..]),
        };
        let pages = Pages::new(vec![page]);
        let answer = |head: &str| String::from_utf8(pages.answer(head.as_bytes())).unwrap();
        for head in ["GET / HTTP/1.1\r\n\r\n", "GET /?x=/y HTTP/1.1\r\n\r\n"] {
            let answer = answer(head);
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"));
            assert!(answer.contains("Content-Length: 3\r\n"));
            assert!(answer.contains("\r\nContent-Security-Policy: default-src 'self';"));
            assert!(answer.ends_with("\r\n\r\n<p>"));
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(300));
        for head in ["GET /etc/passwd HTTP/1.1\r\n\r\n", "GET //", "", &long] {
            assert!(answer(head).starts_with("HTTP/1.1 404 "), "{head}");
        }
    }
}
