//! `ZeroMQ`: a proxy of libzmq's sockets, and its wire protocol ZMTP 3.0.
//!
//! ```text
//!              both sides send first
//!  FF 8 zeros 7F  3 0  "NULL" 16 zeros  as-server  31 zeros
//!  0 is long: u64 length, else u8      flags: 1 more, 2 long, 4 command
//!  ┌───────┬────────┬──────┐
//!  │ flags │ length │ body │   command READY: 5 "READY" 11 "Socket-Type" u32 length, type
//!  └───────┴────────┴──────┘   message to XPUB: 1 and a topic subscribes
//! ```
//!
//! Publisher and clients are of this crate, so that they cost as little here
//! as with the other systems; the server is all libzmq.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use super::error::PeerError;
use super::process::Process;
use super::streams::{Broker, Wire, connect, read_until};
use super::workload::Workload;
use crate::source::item_name;
use crate::stamp::{Stamp, TOPIC_BYTES, UPDATE_BYTES};

const GREETING_BYTES: usize = 64;
const LONG: u8 = 2;
const COMMAND: u8 = 4;
const MAX_SHORT_BYTES: usize = 255;
/// Nobody here sends more.
const MAX_FRAME_BYTES: usize = 64 << 10;

/// The proxy with publisher and clients.
pub(super) fn start(
    program: &Path,
    workload: Workload,
    cores: Option<&[usize]>,
) -> Result<Broker<Protocol>, PeerError> {
    let process = Process::start("zeromq proxy", &mut Command::new(program), cores)?;
    let answer = process.answer("listening")?;
    let addresses = answer
        .split_once(' ')
        .and_then(|(publishers, clients)| Some((publishers.parse().ok()?, clients.parse().ok()?)));
    let Some((publishers, clients)): Option<(SocketAddr, SocketAddr)> = addresses else {
        return Err(process.fault(format!("says it listens on `{answer}`")));
    };
    let (mut publisher, mut early) = open(publishers, "PUB")?;
    let mut streams = Vec::new();
    for client in 0..workload.clients {
        streams.push(subscribe(clients, &workload, client)?);
        // The proxy passes on what clients ask for, in their order: when the
        // publisher is asked for the last, the proxy has them all.
        let last = frame_of(&[b"\x01", last_topic(client).as_bytes()].concat());
        early = read_until(&mut publisher, early, |bytes| {
            bytes.windows(last.len()).position(|window| window == last).map(|at| at + last.len())
        })?;
    }
    Broker::new(process, publisher, streams, workload)
}

/// The topic of an item: no other topic begins with it.
fn topic(item: &str) -> String {
    format!("{item}.")
}

/// A topic that only this client asks for.
fn last_topic(client: usize) -> String {
    format!("last-{client:06}")
}

fn greeting() -> [u8; GREETING_BYTES] {
    let mut bytes = [0; GREETING_BYTES];
    (bytes[0], bytes[9], bytes[10]) = (0xFF, 0x7F, 3);
    bytes[12..16].copy_from_slice(b"NULL");
    bytes
}

fn ready(socket_type: &str) -> Vec<u8> {
    let mut body = b"\x05READY\x0BSocket-Type".to_vec();
    body.extend((socket_type.len() as u32).to_be_bytes());
    body.extend(socket_type.as_bytes());
    let mut frame = vec![COMMAND, body.len() as u8];
    frame.append(&mut body);
    frame
}

/// A short message of one frame.
fn frame_of(body: &[u8]) -> Vec<u8> {
    debug_assert!(body.len() <= MAX_SHORT_BYTES);
    [&[0, body.len() as u8], body].concat()
}

/// A connection that may send and receive messages.
fn open(address: SocketAddr, socket_type: &str) -> Result<(TcpStream, Vec<u8>), PeerError> {
    let failed = PeerError::socket("open a connection");
    let mut stream = connect(address)?;
    stream.write_all(&greeting()).map_err(&failed)?;
    let early = read_until(&mut stream, Vec::new(), |bytes| {
        (bytes.len() >= GREETING_BYTES).then_some(GREETING_BYTES)
    })?;
    stream.write_all(&ready(socket_type)).map_err(&failed)?;
    let early = read_until(&mut stream, early, |bytes| {
        let (length, start) = frame(bytes).ok()??;
        (bytes.len() >= start + length).then_some(start + length)
    })?;
    Ok((stream, early))
}

fn subscribe(
    address: SocketAddr,
    workload: &Workload,
    client: usize,
) -> Result<(TcpStream, Vec<u8>), PeerError> {
    let (mut stream, early) = open(address, "SUB")?;
    let mut bytes = Vec::new();
    let topics = workload.watchlist(client).map(|item| topic(&item_name(item)));
    for topic in topics.chain([last_topic(client)]) {
        bytes.extend(frame_of(&[b"\x01", topic.as_bytes()].concat()));
    }
    stream.write_all(&bytes).map_err(PeerError::socket("subscribe"))?;
    Ok((stream, early))
}

/// The length of the body of the frame at the front, and where it starts.
/// `None` when the head is not there yet.
#[inline]
fn frame(bytes: &[u8]) -> Result<Option<(usize, usize)>, PeerError> {
    let Some(flags) = bytes.first() else { return Ok(None) };
    if flags & LONG == 0 {
        return Ok(bytes.get(1).map(|length| (usize::from(*length), 2)));
    }
    let Some(length) = bytes.get(1..9).and_then(|word| word.try_into().ok()) else {
        return Ok(None);
    };
    match usize::try_from(u64::from_be_bytes(length)) {
        Ok(length) if length <= MAX_FRAME_BYTES => Ok(Some((length, 9))),
        _ => Err(PeerError::Protocol {
            protocol: "zeromq",
            what: format!("a frame of {} bytes", u64::from_be_bytes(length)),
        }),
    }
}

/// ZMTP 3.0.
pub(super) struct Protocol;

impl Wire for Protocol {
    const TAIL_BYTES: usize = 0;

    fn message(item: &str) -> Vec<u8> {
        let mut update = [0; UPDATE_BYTES];
        update[..TOPIC_BYTES].copy_from_slice(topic(item).as_bytes());
        frame_of(&update)
    }

    fn take(bytes: &[u8], mut each: impl FnMut(Option<Stamp>)) -> Result<usize, PeerError> {
        let mut done = 0;
        while let Some((length, start)) = frame(&bytes[done..])? {
            let Some(body) = bytes[done..].get(start..start + length) else { break };
            if bytes[done] & COMMAND == 0 {
                each(Stamp::read_plain(body));
            }
            done += start + length;
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::streams::tests::assert_takes_from_any_split;

    #[test]
    fn messages_are_taken_whole_from_any_split() {
        let mut update = [0; UPDATE_BYTES];
        let stamps: Vec<_> = (0..3).map(|number| Stamp { due_ns: 10, number }).collect();
        let twice: Vec<_> = stamps.iter().flat_map(|stamp| [*stamp, *stamp]).collect();
        let mut bytes = ready("XPUB");
        for stamp in &stamps {
            stamp.write_plain(&mut update);
            bytes.extend(frame_of(&update));
            let long = [&[LONG, 0, 0, 0, 0, 0, 0, 0, UPDATE_BYTES as u8], &update[..]].concat();
            bytes.extend(long);
        }
        assert_takes_from_any_split::<Protocol>(&bytes, &twice);
    }

    #[test]
    fn a_length_that_nobody_sends_is_an_error() {
        let bytes = [LONG, 0, 0, 0, 1, 0, 0, 0, 0];
        let error = Protocol::take(&bytes, |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "zeromq: a frame of 4294967296 bytes");
    }

    #[test]
    fn the_greeting_asks_for_no_security() {
        let bytes = greeting();
        assert_eq!((bytes[0], bytes[9], bytes[10], bytes[11]), (0xFF, 0x7F, 3, 0));
        assert_eq!(&bytes[12..20], b"NULL\0\0\0\0");
        assert_eq!(ready("SUB")[..2], [COMMAND, 25]);
    }
}
