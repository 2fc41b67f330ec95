//! The page at the WebSocket port.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::support::Running;

const ANY_PORTS: [&str; 7] = ["run", "--rssl-port", "0", "--ni-port", "off", "--ws-port", "0"];

/// The answer to a plain request, head and body.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text, and an end");
    answer
}

#[test]
fn a_browser_gets_a_page_and_what_belongs_to_it() {
    let node = Running::start(&ANY_PORTS);
    let address = node.address("ws");
    for (path, content_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/?item=SAMPLE/TAPE1.X", "text/html; charset=utf-8"),
        ("/page.css", "text/css; charset=utf-8"),
        ("/page.js", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let answer = get(address, path);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n");
        assert!(answer.starts_with(&head), "{path}: {answer}");
        assert!(answer.contains("\r\nContent-Security-Policy: default-src 'self';"), "{path}");
    }
    assert!(get(address, "/other").starts_with("HTTP/1.1 404 "));
}

#[test]
fn the_page_can_be_switched_off() {
    let node = Running::start(&[&ANY_PORTS[..], &["--ws-page", "false"]].concat());
    let answer = get(node.address("ws"), "/");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}
