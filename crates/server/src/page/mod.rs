//! The page that a WebSocket port shows to a browser: quotes as they tick.
//!
//! It is a consumer like any other: it mounts the port it came from, in the
//! JSON protocol, and gets what that protocol gives to everybody.
//!
//! | file | holds |
//! |---|---|
//! | `page.html`, `page.css` | what is seen |
//! | `page.js` | which part tells which |
//! | `mount.js` | the protocol; knows nothing of the page |
//! | `board.js`, `fields.js` | the items, and all fields of the chosen one |
//! | `book.js`, `book.css` | the book of the chosen one, where its service has market by price |
//! | `cell.js` | a value that shows when it changes |
//! | `gauges.js` | rates and delays, and their lines |
//!
//! The files are plain modules without a build step, and in the program
//! itself. What a provider or a user wrote reaches the page as text alone,
//! never as markup.

use std::sync::Arc;

use tapeline_channel::{Page, Pages};

/// Path, media type and content of each file. Paths are relative in the files
/// themselves, so that the page works behind a proxy under any path.
const FILES: [(&str, &str, &str); 11] = [
    ("/", "text/html; charset=utf-8", include_str!("page.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/book.css", "text/css; charset=utf-8", include_str!("book.css")),
    ("/icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("/page.js", SCRIPT, include_str!("page.js")),
    ("/mount.js", SCRIPT, include_str!("mount.js")),
    ("/board.js", SCRIPT, include_str!("board.js")),
    ("/fields.js", SCRIPT, include_str!("fields.js")),
    ("/book.js", SCRIPT, include_str!("book.js")),
    ("/cell.js", SCRIPT, include_str!("cell.js")),
    ("/gauges.js", SCRIPT, include_str!("gauges.js")),
];

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page at `/` and what belongs to it, for
/// [`ServerConfig::pages`](crate::ServerConfig::pages).
#[must_use]
pub fn pages() -> Pages {
    let page = |(path, content_type, body): (&str, &str, &str)| Page {
        path: path.to_owned(),
        content_type: content_type.to_owned(),
        body: Arc::from(body.as_bytes()),
    };
    Pages::new(FILES.into_iter().map(page).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands between `before` and the next `"`, wherever it does.
    fn quoted<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
        text.split(before).skip(1).filter_map(|rest| rest.split('"').next())
    }

    #[test]
    fn everything_that_a_file_names_is_served() {
        let mut names = Vec::new();
        for (_, _, body) in FILES {
            for before in ["from \"./", "href=\"", "src=\""] {
                names.extend(quoted(body, before));
            }
        }
        for name in &names {
            let path = format!("/{name}");
            assert!(FILES.iter().any(|(served, ..)| *served == path), "{name} is not served");
        }
        for (path, ..) in FILES.into_iter().skip(1) {
            assert!(names.contains(&&path[1..]), "nothing names {path}");
        }
    }

    /// The ways by which a text becomes markup or code. The policy that is sent
    /// with the pages forbids inline scripts and styles as well.
    #[test]
    fn nothing_that_a_peer_wrote_becomes_markup() {
        let ways = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("];
        for (path, _, body) in FILES {
            for way in ways {
                assert!(!body.contains(way), "{path} has {way}");
            }
            assert!(!body.contains(" style=\"") && !body.contains("<script>"), "{path}");
        }
    }
}
