//! What is asked for: our options, and the letters of `NwTool`.

use std::net::IpAddr;
use std::time::Duration;

use tapeline_measure::schedule::Pacing;

use super::PORT;
use super::timetable::recorded;
use crate::arguments::{Arguments, Known, flag, value};
use crate::classic::Letter;
use crate::link::{AERON_MAX_BYTES, LinkOptions};
use crate::message::{HEAD_BYTES, MAX_BYTES};
use crate::setup::{self, Common};
use crate::{GaugeError, Transport};

/// The most messages a second.
pub(crate) const MAX_RATE_PER_S: u64 = 10_000_000;

/// The most connections.
const MAX_CONNECTIONS: usize = 10_000;

/// Letters of `NwTool`.
const LETTERS: [(char, Letter); 8] = [
    ('W', Letter::Words(&["send"])),
    ('p', Letter::Value("port")),
    ('s', Letter::Value("size")),
    ('r', Letter::Value("rate")),
    ('i', Letter::Value("interval")),
    ('t', Letter::Value("minutes")),
    ('L', Letter::Value("classic-spin")),
    ('P', Letter::Unknown),
];

const OWN: [Known; 28] = [
    value("port", "port of the control connection (23700)"),
    value("listen", "forward: port that side 3 connects to; it is waited for"),
    value("size", "bytes of a message, 32 to 1048575 (1024)"),
    value("rate", "messages a second, to 10000000 (10000)"),
    value("minutes", "how long is measured (1)"),
    value("seconds", "the same in seconds, in place of minutes"),
    flag("spin", "poll instead of sleeping").by_side(),
    value("classic-spin", "the letter L of NwTool: 1 spins"),
    value("transport", "tcp, udp, pipe, unix_stream, unix_datagram, aeron, rssl (tcp)"),
    value("ack", "bytes of an answer, or full (full)"),
    value("pacing", "even, ticks:N, bursts, poisson[:SEED] (even; ticks:10000 in classic)"),
    value("connections", "the rate over all of them, in turn (1)"),
    value("window", "the most messages without an answer (65536)"),
    value("playback", "a file of `seconds, bytes`, in place of rate and size"),
    value("bind", "local address"),
    value("nodelay", "no Nagle; 0 leaves it on (1)"),
    value("busy-poll", "SO_BUSY_POLL, microseconds (0)"),
    value("sndbuf", "SO_SNDBUF, bytes (0: the kernel's choice)"),
    value("rcvbuf", "SO_RCVBUF, bytes (0: the kernel's choice)"),
    flag("keep", "forward and receive serve on after a sender"),
    value("clocks-agree-within", "receive: nanoseconds by which two hosts' clocks differ at most"),
    value("transports", "matrix: a list (tcp)"),
    value("sizes", "matrix: bytes (100,500,800,1000)"),
    value("rates", "matrix: messages a second (100,500,… 1000000)"),
    value("bounds", "matrix: µs of avg and max, A,B,C,D, or none (5,7,75,100)"),
    value("own-factors", "matrix: of mean and max that is too much (2,10)"),
    flag("quick", "matrix: 3 s a cell, in place of 60"),
    value("resume", "matrix: leave out cells that this file of records has"),
];

/// What a side does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Send,
    /// Host and port of side 1; without them it serves whoever comes.
    Forward(Option<(String, u16)>),
    Receive(String, u16),
    /// Where the other side is; without it, here.
    Matrix(Option<(String, u16)>),
    Help,
}

/// Everything that was asked for.
pub(super) struct Options {
    pub(super) common: Common,
    pub(super) task: Task,
    pub(super) port: u16,
    pub(super) listen: Option<u16>,
    pub(super) bytes: usize,
    pub(super) rate_per_s: u64,
    pub(super) seconds: Duration,
    pub(super) spins: [bool; 2],
    pub(super) transport: Transport,
    pub(super) answer_bytes: u32,
    pub(super) pacing: Pacing,
    pub(super) connections: usize,
    pub(super) window: u64,
    pub(super) recorded: Option<Vec<(u64, u32)>>,
    pub(super) bind: Option<IpAddr>,
    pub(super) link: LinkOptions,
}

pub(super) fn known() -> Vec<Known> {
    setup::with_common(&OWN)
}

/// A transport that carries flows.
pub(super) fn transport(name: &str) -> Result<Transport, GaugeError> {
    const CARRIED: [Transport; 7] = [
        Transport::Tcp,
        Transport::Udp,
        Transport::Pipe,
        Transport::UnixStream,
        Transport::UnixDatagram,
        Transport::Aeron,
        Transport::Rssl,
    ];
    let found = CARRIED.into_iter().find(|transport| transport.name() == name);
    found.ok_or_else(|| {
        let what = "give tcp, udp, pipe, unix_stream, unix_datagram, aeron or rssl";
        GaugeError::option("transport", name, what)
    })
}

/// The longest message of a transport here.
pub(super) fn most_bytes(transport: Transport) -> usize {
    match transport {
        Transport::Udp | Transport::UnixDatagram => 65_507,
        Transport::Rssl => 65_535,
        Transport::Aeron => AERON_MAX_BYTES,
        _ => MAX_BYTES,
    }
}

fn host(text: &str, port: u16) -> Result<(String, u16), GaugeError> {
    match text.rsplit_once(':') {
        Some((host, text)) if !host.contains(':') => {
            let wrong = |_| GaugeError::Usage(format!("`{text}` is no port"));
            Ok((host.to_owned(), text.parse().map_err(wrong)?))
        }
        _ => Ok((text.trim_matches(['[', ']']).to_owned(), port)),
    }
}

impl Options {
    /// Reads a command line. `by_name`: the program was called by the classic
    /// name.
    pub(super) fn read(typed: &[String], by_name: bool) -> Result<Self, GaugeError> {
        let common = Common::read(&OWN, &LETTERS, typed, by_name)?;
        let given = &common.given;
        let port = given.number("port", PORT, 0, u16::MAX)?;
        let task = task(given, port)?;
        let transport = transport(given.text("transport").unwrap_or("tcp"))?;
        let bytes = given.number("size", 1024, HEAD_BYTES, MAX_BYTES)?;
        if bytes > most_bytes(transport) {
            let what = format!("{transport} carries {} bytes at most", most_bytes(transport));
            return Err(GaugeError::option("size", &bytes.to_string(), &what));
        }
        let recorded = match given.text("playback") {
            None => None,
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .map_err(GaugeError::io(format!("reading {file}")))?;
                Some(recorded(&text, file)?)
            }
        };
        let spins = match given.text("classic-spin") {
            Some("1") => [true; 2],
            _ => [given.side_flag("spin", 0)?, given.side_flag("spin", 1)?],
        };
        let answer_bytes = match given.text("ack") {
            None | Some("full") => 0,
            Some(_) => given.number("ack", 32, HEAD_BYTES as u32, MAX_BYTES as u32)?,
        };
        Ok(Self {
            task,
            port,
            listen: match given.has("listen") {
                true => Some(given.number("listen", 0, 0, u16::MAX)?),
                false => None,
            },
            bytes,
            rate_per_s: given.number("rate", 10_000, 1, MAX_RATE_PER_S)?,
            seconds: common.time()?.unwrap_or(Duration::from_secs(60)),
            spins,
            transport,
            answer_bytes,
            pacing: common.pacing(10_000)?,
            connections: given.number("connections", 1, 1, MAX_CONNECTIONS)?,
            window: given.number("window", 65_536, 1, 1 << 24)?,
            recorded,
            bind: common.address("bind")?,
            link: LinkOptions {
                nodelay: given.text("nodelay") != Some("0"),
                busy_poll_us: given.number("busy-poll", 0, 0, 1_000_000)?,
                send_buffer_bytes: given.number("sndbuf", 0, 0, 1 << 30)?,
                receive_buffer_bytes: given.number("rcvbuf", 0, 0, 1 << 30)?,
                group: None,
            },
            common,
        })
    }
}

fn task(given: &Arguments, port: u16) -> Result<Task, GaugeError> {
    if given.has("help") {
        return Ok(Task::Help);
    }
    let words: Vec<&str> = given.positional.iter().map(String::as_str).collect();
    match words[..] {
        ["send"] => Ok(Task::Send),
        ["forward"] => Ok(Task::Forward(None)),
        ["forward", at] => host(at, port).map(|at| Task::Forward(Some(at))),
        ["receive", at] => host(at, port).map(|(host, port)| Task::Receive(host, port)),
        ["receive"] => Err(GaugeError::Usage("receive needs the HOST[:PORT] of side 2".to_owned())),
        ["matrix"] => Ok(Task::Matrix(None)),
        ["matrix", at] => host(at, port).map(|at| Task::Matrix(Some(at))),
        [] => Err(GaugeError::Usage(
            "give send, forward [HOST], receive HOST, matrix [HOST] or stream; --help lists options"
                .to_owned(),
        )),
        [other, ..] => Err(GaugeError::Usage(format!(
            "`{other}` with what follows is no task; give send, forward [HOST], receive HOST, \
             matrix [HOST] or stream"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::words;

    fn read(line: &str) -> Result<Options, GaugeError> {
        Options::read(&words(line), false)
    }

    #[test]
    fn the_classic_line_is_a_sender_in_ticks() {
        let options = read("-W -p 5000 -s 100 -r 50000 -i 2 -t 5 -L 1").unwrap();
        assert_eq!(
            (options.task, options.common.is_classic, options.port),
            (Task::Send, true, 5000)
        );
        assert_eq!((options.bytes, options.rate_per_s), (100, 50_000));
        assert_eq!((options.seconds.as_secs(), options.common.interval.as_secs()), (300, 2));
        assert_eq!((options.spins, options.pacing), ([true, true], Pacing::Ticks(10_000)));
    }

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let options = read("send").unwrap();
        assert_eq!((options.bytes, options.rate_per_s, options.port), (1024, 10_000, PORT));
        assert_eq!(
            (options.pacing, options.window, options.connections),
            (Pacing::Even, 65_536, 1)
        );
        assert_eq!((options.seconds.as_secs(), options.answer_bytes), (60, 0));
        assert!(options.link.nodelay && !options.common.is_classic);
    }

    #[test]
    fn sides_are_named_with_their_hosts() {
        let task = |line| read(line).unwrap().task;
        assert_eq!(task("forward 10.0.0.1"), Task::Forward(Some(("10.0.0.1".to_owned(), PORT))));
        assert_eq!(task("forward"), Task::Forward(None));
        assert_eq!(task("receive b:9"), Task::Receive("b".to_owned(), 9));
        assert_eq!(task("matrix ::1"), Task::Matrix(Some(("::1".to_owned(), PORT))));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let error = |line| read(line).err().unwrap().to_string();
        assert!(error("send --size=31").contains("give a number of 32 to 1048575"));
        assert!(error("send --size=70000 --transport=udp").contains("udp carries 65507 bytes"));
        assert!(error("send --transport=ring").contains("give tcp, udp, pipe, unix_stream"));
        assert!(error("sned").contains("give send, forward"));
        assert!(error("send --rate=0").contains("give a number of 1 to 10000000"));
        assert!(error("send --pacing=odd").contains("give even, bursts"));
        assert!(error("send --winow=5").contains("did you mean --window?"));
        assert!(error("receive").contains("needs the HOST"));
    }
}
