//! NATS: a server in Go, and its text protocol.
//!
//! ```text
//! publisher ── PUB I000042 85\r\n update \r\n ──▶ nats-server
//! client    ◀─ MSG I000042 1 85\r\n update \r\n ─
//! ```

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::error::PeerError;
use super::process::{PATIENCE, Process};
use super::streams::{Broker, Wire, connect, read_until};
use super::workload::Workload;
use crate::source::item_name;
use crate::stamp::{Stamp, UPDATE_BYTES};

/// Connections without a word for long are no matter here; a publisher may be
/// ahead of the server by all of this.
const SETTINGS: &str = "\
ping_interval: \"10m\"
write_deadline: \"60s\"
max_pending: 1073741824
max_control_line: 4096
";

const CONNECT: &str = "CONNECT {\"verbose\":false,\"pedantic\":false,\"tls_required\":false,\
                       \"lang\":\"rust\",\"version\":\"1\",\"protocol\":1,\"echo\":false}\r\n";

/// nats-server with publisher and clients.
pub(super) fn start(
    program: &Path,
    folder: &Path,
    workload: Workload,
    cores: Option<&[usize]>,
) -> Result<Broker<Protocol>, PeerError> {
    let (process, address) = start_server(program, folder, cores)?;
    let mut clients = Vec::new();
    for client in 0..workload.clients {
        clients.push(subscribe(address, &workload, client)?);
    }
    let mut publisher = connect(address)?;
    open(&mut publisher, CONNECT)?;
    Broker::new(process, publisher, clients, workload)
}

fn start_server(
    program: &Path,
    folder: &Path,
    cores: Option<&[usize]>,
) -> Result<(Process, SocketAddr), PeerError> {
    let settings = folder.join("nats.conf");
    std::fs::write(&settings, SETTINGS).map_err(PeerError::socket("write nats.conf"))?;
    // It cannot be asked for its port when it chose one itself.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let address = port.map_err(PeerError::socket("find a free port"))?;
    let mut command = Command::new(program);
    command.arg("-c").arg(settings).args(["-a", "127.0.0.1", "-p", &address.port().to_string()]);
    command.arg("-l").arg(folder.join("nats.log")).stderr(Stdio::inherit());
    if let Some(cores) = cores {
        // One thread at a time for each core that it may use.
        command.env("GOMAXPROCS", cores.len().to_string());
    }
    let mut process = Process::start("nats-server", &mut command, cores)?;
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        if process.is_over() || began.elapsed() > PATIENCE {
            return Err(process.fault("does not listen; see nats.log"));
        }
        std::thread::yield_now();
    }
    Ok((process, address))
}

/// Says these words and waits until the server has worked them off.
fn open(stream: &mut TcpStream, words: &str) -> Result<Vec<u8>, PeerError> {
    let words = format!("{words}PING\r\n");
    stream.write_all(words.as_bytes()).map_err(PeerError::socket("open a connection"))?;
    read_until(stream, Vec::new(), |bytes| {
        bytes.windows(6).position(|window| window == b"PONG\r\n").map(|at| at + 6)
    })
}

fn subscribe(
    address: SocketAddr,
    workload: &Workload,
    client: usize,
) -> Result<(TcpStream, Vec<u8>), PeerError> {
    let mut stream = connect(address)?;
    let mut words = CONNECT.to_owned();
    for item in workload.watchlist(client) {
        // Each subscription has a number of its own at its connection.
        words.extend(["SUB ", &item_name(item), &format!(" {item}\r\n")]);
    }
    let early = open(&mut stream, &words)?;
    Ok((stream, early))
}

/// The text protocol.
pub(super) struct Protocol;

impl Wire for Protocol {
    const TAIL_BYTES: usize = 2;

    fn message(item: &str) -> Vec<u8> {
        let head = format!("PUB {item} {UPDATE_BYTES}\r\n");
        [head.as_bytes(), &[0; UPDATE_BYTES], b"\r\n"].concat()
    }

    fn take(bytes: &[u8], mut each: impl FnMut(Option<Stamp>)) -> Result<usize, PeerError> {
        let mut done = 0;
        while let Some(length) = bytes[done..].iter().position(|byte| *byte == b'\n') {
            let line = &bytes[done..done + length];
            if !line.starts_with(b"MSG ") {
                if line.starts_with(b"-ERR") {
                    let what = String::from_utf8_lossy(line).trim().to_owned();
                    return Err(PeerError::Protocol { protocol: "nats", what });
                }
                done += length + 1;
                continue;
            }
            let start = done + length + 1;
            let size = payload_bytes(line).ok_or_else(|| PeerError::Protocol {
                protocol: "nats",
                what: format!("`{}` has no size", String::from_utf8_lossy(line).trim()),
            })?;
            let end = start.saturating_add(size);
            if bytes.len() < end.saturating_add(2) {
                break;
            }
            each(Stamp::read_plain(&bytes[start..end]));
            done = end + 2;
        }
        Ok(done)
    }
}

/// The last word of `MSG subject sid size\r`.
#[inline]
fn payload_bytes(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\r")?;
    let digits = &line[line.iter().rposition(|byte| *byte == b' ')? + 1..];
    if digits.is_empty() || digits.len() > 7 {
        return None;
    }
    digits.iter().try_fold(0, |size, digit| {
        digit.is_ascii_digit().then(|| size * 10 + usize::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::streams::tests::assert_takes_from_any_split;

    #[test]
    fn messages_are_taken_whole_from_any_split() {
        let mut update = [0; UPDATE_BYTES];
        let stamps: Vec<_> = (0..3).map(|number| Stamp { due_ns: 10, number }).collect();
        let mut bytes = b"+OK\r\n".to_vec();
        for stamp in &stamps {
            stamp.write_plain(&mut update);
            bytes.extend_from_slice(b"MSG I000001 1 85\r\n");
            bytes.extend_from_slice(&update);
            bytes.extend_from_slice(b"\r\nPING\r\n");
        }
        assert_takes_from_any_split::<Protocol>(&bytes, &stamps);
    }

    #[test]
    fn a_complaint_of_the_server_is_an_error() {
        let error = Protocol::take(b"-ERR 'Slow Consumer'\r\n", |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "nats: -ERR 'Slow Consumer'");
        for line in ["MSG a 1 x\r\n", "MSG a 1 99999999999\r\n", "MSG \r\n"] {
            let error = Protocol::take(line.as_bytes(), |_| {}).unwrap_err();
            assert!(error.to_string().ends_with("has no size"), "{error}");
        }
    }
}
