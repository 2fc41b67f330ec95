//! NATS: a server in Go, and its text protocol.
//!
//! ```text
//! publisher ── PUB I000042. 85\r\n update \r\n ──▶ nats-server
//! client    ◀─ MSG I000042. 1 85\r\n update \r\n ─
//! ```

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::error::PeerError;
use super::process::{PATIENCE, Process};
use super::stamp::{Stamp, UPDATE_BYTES};
use super::streams::{Readers, Wire, Writer, connect, read_until};
use super::tally::Tally;
use super::way::Way;
use super::workload::{Workload, topic};

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

/// Publisher, nats-server, clients.
pub(super) struct Nats {
    readers: Readers,
    writer: Writer,
    workload: Workload,
    /// The line in front of an update of each item.
    heads: Vec<String>,
    update: [u8; UPDATE_BYTES],
    process: Process,
}

impl Nats {
    pub(super) fn start(
        program: &Path,
        folder: &Path,
        workload: Workload,
        cores: Option<&[usize]>,
    ) -> Result<Self, PeerError> {
        let (process, address) = start_server(program, folder, cores)?;
        let mut streams = Vec::new();
        for client in 0..workload.clients {
            streams.push(subscribe(address, &workload, client)?);
        }
        let mut stream = connect(address)?;
        open(&mut stream, CONNECT)?;
        Ok(Self {
            readers: Readers::new(streams)?,
            writer: Writer::new(stream)?,
            workload,
            heads: (0..workload.items).map(head).collect(),
            update: [0; UPDATE_BYTES],
            process,
        })
    }
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

fn head(item: usize) -> String {
    // A subject does not end with a dot.
    format!("PUB {} {UPDATE_BYTES}\r\n", topic(item).trim_end_matches('.'))
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
        words.extend(["SUB ", topic(item).trim_end_matches('.'), &format!(" {item}\r\n")]);
    }
    let early = open(&mut stream, &words)?;
    Ok((stream, early))
}

impl Way for Nats {
    fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        self.readers.poll::<Protocol>(tally)
    }

    #[inline]
    fn send(&mut self, stamp: Stamp) -> Result<(), PeerError> {
        let head = &self.heads[self.workload.item_of(stamp.number)];
        stamp.write_plain(&mut self.update);
        self.writer.send(&[head.as_bytes(), &self.update, b"\r\n"]);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.writer.flush()
    }

    fn is_behind(&self) -> bool {
        self.writer.is_behind()
    }

    fn server_seconds(&self) -> Option<f64> {
        Some(self.process.seconds())
    }
}

/// What clients receive.
struct Protocol;

impl Wire for Protocol {
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
        for split in 0..=bytes.len() {
            let mut taken = Vec::new();
            let first = Protocol::take(&bytes[..split], |stamp| taken.extend(stamp)).unwrap();
            let rest = Protocol::take(&bytes[first..], |stamp| taken.extend(stamp)).unwrap();
            assert_eq!(first + rest, bytes.len(), "split at {split}");
            assert_eq!(taken, stamps, "split at {split}");
        }
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
