//! Options of both sides, and the letters of `MCastNwTool`.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use tapeline_measure::schedule::Pacing;

use crate::arguments::{Known, flag, value};
use crate::classic::Letter;
use crate::message::HEAD_BYTES;
use crate::setup::{self, Common};
use crate::sizes::MAX_DATAGRAM_BYTES;
use crate::{GaugeError, nwtool};

/// The most threads, each with a port.
const MAX_THREADS: u16 = 64;

/// Bytes of a frame's IPv4 and UDP heads.
const HEADS_BYTES: usize = 28;

const LETTERS: [(char, Letter); 9] = [
    ('S', Letter::Words(&["receive"])),
    ('I', Letter::Value("group")),
    ('P', Letter::Value("port")),
    ('r', Letter::Value("rate")),
    ('s', Letter::Value("size")),
    ('t', Letter::Value("threads")),
    ('i', Letter::Value("interval")),
    ('K', Letter::Unknown),
    ('A', Letter::Unknown),
];

const OWN: [Known; 14] = [
    value("group", "a group, or an address for one-way UDP (239.1.1.1)"),
    value("port", "port of the first thread; thread k has port + k (42222)"),
    value("threads", "groups: a thread and a socket each (1)"),
    value("rate", "messages a second of each thread (10000)"),
    value("size", "bytes of a message, 32 to 65507 (1000)"),
    value("pacing", "even, ticks:N, bursts, poisson[:SEED] (even)"),
    value("interface", "name or address (by route)"),
    value("ttl", "hops (1)"),
    value("loop", "1: messages reach sockets of the sending host (1)"),
    value("source", "receive: only from this sender"),
    value("rcvbuf", "receive: SO_RCVBUF, bytes (0: the kernel's choice)"),
    value("minutes", "how long (sender: 1; receiver: no end)"),
    value("seconds", "the same in seconds, in place of minutes"),
    flag("spin", "poll instead of sleeping"),
];

pub(super) fn known() -> Vec<Known> {
    setup::with_common(&OWN)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Send,
    Receive,
    Help,
}

#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) common: Common,
    pub(super) task: Task,
    pub(super) group: IpAddr,
    pub(super) port: u16,
    pub(super) threads: u16,
    pub(super) rate_per_s: u64,
    pub(super) bytes: usize,
    pub(super) pacing: Pacing,
    pub(super) interface: Option<String>,
    pub(super) ttl: u32,
    pub(super) loops_back: bool,
    pub(super) source: Option<Ipv4Addr>,
    pub(super) receive_buffer_bytes: usize,
    /// `None`: until somebody ends it.
    pub(super) time: Option<Duration>,
    pub(super) is_spinning: bool,
}

impl Options {
    pub(super) fn read(typed: &[String], by_name: bool) -> Result<Self, GaugeError> {
        let mut common = Common::read(&OWN, &LETTERS, typed, by_name)?;
        let given = common.given.clone();
        let words: Vec<&str> = given.positional.iter().map(String::as_str).collect();
        let task = match words[..] {
            _ if given.has("help") => Task::Help,
            ["send"] => Task::Send,
            ["receive"] => Task::Receive,
            // The classic tool sends unless it is told to receive.
            [] if common.is_in_letters => Task::Send,
            _ => {
                return Err(GaugeError::Usage(
                    "give send or receive; --help lists options".to_owned(),
                ));
            }
        };
        let bytes = given.number("size", 1000, HEAD_BYTES, MAX_DATAGRAM_BYTES)?;
        if bytes > 1500 - HEADS_BYTES && task == Task::Send {
            common.warnings.push(format!(
                "{bytes} bytes are more than a frame of 1500 carries: each message goes in pieces, \
                 and is lost with any of them"
            ));
        }
        let source: Option<Ipv4Addr> = match given.text("source") {
            None => None,
            Some(text) => {
                let wrong = |_| GaugeError::option("source", text, "give an IPv4 address");
                Some(text.parse().map_err(wrong)?)
            }
        };
        let usual = (task == Task::Send).then_some(Duration::from_secs(60));
        let pacing = given.text("pacing").map_or(Ok(Pacing::Even), |text| {
            text.parse().map_err(|what: String| GaugeError::option("pacing", text, &what))
        })?;
        let options = Self {
            task,
            group: common.address("group")?.unwrap_or(Ipv4Addr::new(239, 1, 1, 1).into()),
            port: given.number("port", 42_222, 0, u16::MAX)?,
            threads: given.number("threads", 1, 1, MAX_THREADS)?,
            rate_per_s: given.number("rate", 10_000, 1, nwtool::MAX_RATE_PER_S)?,
            bytes,
            pacing,
            interface: given.text("interface").map(str::to_owned),
            ttl: given.number("ttl", 1, 0, 255)?,
            loops_back: given.text("loop") != Some("0"),
            source,
            receive_buffer_bytes: given.number("rcvbuf", 0, 0, 1 << 30)?,
            time: common.time()?.or(usual),
            is_spinning: given.is_set("spin")?,
            common,
        };
        if u32::from(options.port) + u32::from(options.threads) > 65_536 {
            return Err(GaugeError::option(
                "threads",
                &options.threads.to_string(),
                "ports end at 65535",
            ));
        }
        Ok(options)
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
    fn the_classic_line_is_a_receiver_of_two_groups() {
        let of = read("-S -K 1 -i 1 -I 239.1.1.1 -P 42222 -r 100000 -s 1000 -A 2 -t 2").unwrap();
        assert_eq!(
            (of.task, of.common.is_classic, of.threads, of.port),
            (Task::Receive, true, 2, 42222)
        );
        assert_eq!((of.rate_per_s, of.bytes, of.time), (100_000, 1000, None));
        assert_eq!(of.common.warnings.len(), 2);
        assert_eq!(read("-I 239.1.1.1 -r 5").unwrap().task, Task::Send);
    }

    #[test]
    fn what_cannot_be_is_told() {
        let error = |line| read(line).err().unwrap().to_string();
        assert!(error("").contains("give send or receive"));
        assert!(error("send --group=x").contains("give an address"));
        assert!(error("send --size=31").contains("32 to 65507"));
        assert!(error("send --port=65530 --threads=9").contains("ports end at 65535"));
        assert_eq!(read("send --size=2000").unwrap().common.warnings.len(), 1);
        assert_eq!(read("send").unwrap().time, Some(Duration::from_secs(60)));
    }
}
