//! Options of sfnt-stream.

use std::time::Duration;

use tapeline_measure::processor::{NoSuchCore, allowed_cores, cores};

use super::super::options::{most_bytes, transport};
use crate::arguments::{Arguments, Known, flag, value};
use crate::link::LinkOptions;
use crate::message::SHORT_HEAD_BYTES;
use crate::{GaugeError, Transport};

/// The port of sfnt-stream.
const PORT: u16 = 2049;

pub(super) const KNOWN: [Known; 50] = [
    value("msgsize", "bytes of a message, 24 and more (24)"),
    value("rates", "messages a second: a,b lo-hi+step (50000-100000000+50000)"),
    value("millisec", "milliseconds of a rate (2000)"),
    value("samples", "answered messages of a rate (0: one a millisecond)"),
    value("stop", "ends below this percentage of a rate (90)"),
    value("maxburst", "who is later than so many messages starts anew (100)"),
    value("port", "control port of the server (2049)"),
    value("rtt-iter", "round trips of the quiet link (100000)"),
    value("affinity", "cores: sender,receiver;server").by_side(),
    flag("spin", "poll instead of sleeping").by_side(),
    flag("nodelay", "no Nagle").by_side(),
    value("busy-poll", "SO_BUSY_POLL, microseconds (0)").by_side(),
    flag("rtt", "tell whole round trips, nothing taken away"),
    value("percentile", "the percentile of the %ile column (99)"),
    value("raw", "write every sample to PREFIX-RATE.dat"),
    value("bind", "local address").by_side(),
    flag("quiet", "no header (-q)"),
    flag("verbose", "accepted (-v)"),
    flag("help", "this text (-?)"),
    flag("version", "the version"),
    value("json", "write records to this file, one a line"),
    value("noise", "seconds of spin noise measured before (1; 0: none)"),
    flag("hostname", "tell the host's name in the header"),
    flag("keep", "a server serves on after its client"),
    flag("debug", "accepted, without effect"),
    flag("forkboth", "accepted, without effect"),
    value("muxer", "none; others are not available in a stream").by_side(),
    value("timeout", "not available in a stream").by_side(),
    flag("connect", "accepted: sockets are always connected").by_side(),
    flag("more", "not available in a stream").by_side(),
    value("mcast", "not available in a stream: see `tapeline mcast`"),
    value("mcastintf", "not available in a stream: see `tapeline mcast`").by_side(),
    flag("mcastloop", "not available in a stream: see `tapeline mcast`").by_side(),
    value("ttl", "of multicast: not available in a stream").by_side(),
    value("bindtodev", "not available in a stream").by_side(),
    flag("ipv4", "accepted: a host is what its name says"),
    flag("ipv6", "accepted: a host is what its name says"),
    flag("v6only", "accepted, without effect").by_side(),
    value("n-pipe", "not available in a stream").by_side(),
    value("n-unix-d", "not available in a stream").by_side(),
    value("n-unix-s", "not available in a stream").by_side(),
    value("n-udp", "not available in a stream").by_side(),
    value("n-tcpc", "not available in a stream").by_side(),
    value("n-tcpl", "not available in a stream").by_side(),
    value("tcpc-serv", "not available in a stream"),
    value("priority", "fifo:N, rr:N or nice:N"),
    flag("lock-memory", "mlockall"),
    value("cpu-latency-us", "holds /dev/cpu_dma_latency at this"),
    value("format", "human or classic: a stream's output is classic"),
    flag("check", "print what would be done"),
];

/// What is refused unless it is what is done anyway.
const REFUSED: [(&str, &str); 14] = [
    ("muxer", "none"),
    ("timeout", "0"),
    ("more", "0"),
    ("mcast", ""),
    ("mcastintf", ""),
    ("mcastloop", "0"),
    ("ttl", "1"),
    ("bindtodev", ""),
    ("n-pipe", "0"),
    ("n-unix-d", "0"),
    ("n-unix-s", "0"),
    ("n-udp", "0"),
    ("n-tcpc", "0"),
    ("n-tcpl", "0"),
];

pub(super) struct StreamOptions {
    pub(super) given: Arguments,
    pub(super) transport: Option<Transport>,
    pub(super) server: Option<(String, u16)>,
    pub(super) port: u16,
    pub(super) bytes: usize,
    pub(super) rates: Rates,
    pub(super) time: Duration,
    pub(super) samples: u64,
    pub(super) stop_percent: f64,
    pub(super) max_burst: u64,
    pub(super) round_trips: u64,
    pub(super) spins: [bool; 2],
    /// Of the sender, the receiver and the server.
    pub(super) cores: [Option<Vec<usize>>; 3],
    pub(super) link: LinkOptions,
    pub(super) is_whole: bool,
    pub(super) percentile: f64,
    pub(super) noise: Duration,
}

/// Rates as they are asked for: a list, or from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rates(Vec<(u64, u64, u64)>);

impl Rates {
    fn read(text: &str) -> Result<Self, GaugeError> {
        let wrong = || GaugeError::option("rates", text, "give a,b or lo-hi+step, 1 to 1000000000");
        let number = |text: &str| {
            text.trim().parse::<u64>().ok().filter(|n| (1..=1_000_000_000).contains(n))
        };
        let part = |part: &str| {
            let Some((low, rest)) = part.split_once('-') else {
                return number(part).map(|rate| (rate, rate, 1));
            };
            let (high, step) = rest.split_once('+').unwrap_or((rest, "1"));
            let (low, high, step) = (number(low)?, number(high)?, number(step)?);
            (low <= high).then_some((low, high, step))
        };
        text.split(',').map(|text| part(text).ok_or_else(wrong)).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|(low, high, step)| (*low..=*high).step_by(*step as usize))
    }
}

impl StreamOptions {
    pub(super) fn read(typed: &[String]) -> Result<Self, GaugeError> {
        let given = Arguments::read(&KNOWN, typed)?;
        for (name, usual) in REFUSED {
            if let Some(text) = given.text(name).filter(|text| *text != usual) {
                return Err(GaugeError::option(name, text, "not available in a stream"));
            }
        }
        let port = given.number("port", PORT, 0, u16::MAX)?;
        let (transport, server) = match &given.positional[..] {
            [] => (None, None),
            [name] => (Some(transport(name)?), None),
            [name, host] => {
                let (host, port) = match host.rsplit_once(':') {
                    Some((host, text)) if !host.contains(':') => {
                        let wrong = |_| GaugeError::Usage(format!("`{text}` is no port"));
                        (host, text.parse().map_err(wrong)?)
                    }
                    _ => (host.as_str(), port),
                };
                (Some(transport(name)?), Some((host.to_owned(), port)))
            }
            [_, _, more, ..] => {
                return Err(GaugeError::Usage(format!(
                    "`{more}` is too much: TRANSPORT [HOST[:PORT]]"
                )));
            }
        };
        let most = transport.map_or(usize::MAX, most_bytes);
        let spins = [given.side_flag("spin", 0)?, given.side_flag("spin", 1)?];
        let cores = cores_of(&given, server.is_none(), spins[1])?;
        Ok(Self {
            transport,
            server,
            port,
            bytes: given.number("msgsize", SHORT_HEAD_BYTES, SHORT_HEAD_BYTES, most)?,
            rates: Rates::read(given.text("rates").unwrap_or("50000-100000000+50000"))?,
            time: Duration::from_millis(given.number("millisec", 2000, 1, 86_400_000)?),
            samples: given.number("samples", 0, 0, 10_000_000)?,
            stop_percent: given.number("stop", 90.0, 0.0, 100.0)?,
            max_burst: given.number("maxburst", 100, 1, 1_000_000)?,
            round_trips: given.number("rtt-iter", 100_000, 1, 10_000_000)?,
            spins,
            cores,
            link: LinkOptions {
                nodelay: given.side_flag("nodelay", 0)?,
                busy_poll_us: given.side_number("busy-poll", 0, 0, 1_000_000)?,
                ..LinkOptions::default()
            },
            is_whole: given.is_set("rtt")?,
            percentile: given.number("percentile", 99.0, 0.0, 100.0)?,
            noise: Duration::from_secs_f64(given.number("noise", 1.0, 0.0, 3600.0)?),
            given,
        })
    }
}

/// `1,2;1` where these are there, else the last that are.
fn cores_of(
    given: &Arguments,
    is_local: bool,
    server_spins: bool,
) -> Result<[Option<Vec<usize>>; 3], GaugeError> {
    let allowed = allowed_cores();
    let Some(client) = given.side("affinity", 0) else {
        let wanted = [1, 2, if is_local && server_spins { 3 } else { 1 }];
        let is_there = wanted.iter().all(|core| allowed.contains(core));
        let last = |back: usize| allowed.iter().rev().nth(back).copied();
        return Ok(match is_there {
            true => wanted.map(|core| Some(vec![core])),
            false => [last(0), last(0), last(1)].map(|core| core.map(|core| vec![core])),
        });
    };
    let read = |text: &str| match text {
        "" | "any" => Ok(None),
        text => {
            let what = "give sender,receiver;server, as 1,2;1, or any";
            cores(text).map(Some).ok_or_else(|| GaugeError::option("affinity", text, what))
        }
    };
    let server = match given.text("affinity").is_some_and(|text| text.contains(';')) {
        true => read(given.side("affinity", 1).unwrap_or_default())?,
        false => None,
    };
    let (sender, receiver) = client.split_once(',').unwrap_or((client, client));
    let all = [read(sender)?, read(receiver)?, server];
    let here = if is_local { &all[..] } else { &all[..2] };
    match here.iter().flatten().flatten().find(|core| !allowed.contains(core)) {
        Some(core) => Err(GaugeError::Core(NoSuchCore { core: *core, cores: allowed })),
        None => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<StreamOptions, GaugeError> {
        let typed: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        StreamOptions::read(&typed)
    }

    #[test]
    fn the_defaults_are_theirs() {
        let options = read("udp").unwrap();
        assert_eq!((options.bytes, options.port, options.max_burst), (24, 2049, 100));
        assert_eq!((options.time.as_millis(), options.samples), (2000, 0));
        assert_eq!(options.rates.iter().take(3).collect::<Vec<_>>(), [50_000, 100_000, 150_000]);
        assert_eq!(options.rates.iter().last(), Some(100_000_000));
        assert!((options.stop_percent - 90.0).abs() < 1e-9);
    }

    #[test]
    fn rates_are_lists_and_ranges() {
        let of = |text| Rates::read(text).map(|rates| rates.iter().collect::<Vec<_>>());
        assert_eq!(of("5,10-30+10").unwrap(), [5, 10, 20, 30]);
        for wrong in ["", "0", "9-1", "1-9+0", "x"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_there_is_refused_unless_it_is_the_default() {
        let error = |line| read(line).err().unwrap().to_string();
        assert_eq!(error("--muxer=epoll udp"), "--muxer epoll: not available in a stream");
        assert!(read("--muxer=none --n-udp=0 --ttl=1 --debug udp").is_ok());
        assert!(error("--msgsize=23 udp").contains("24 to"));
        assert!(error("--msgsze=24 udp").contains("did you mean --msgsize?"));
    }
}
