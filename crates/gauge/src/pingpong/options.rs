//! What a ping-pong is asked to do: the options of sfnt-pingpong, and ours.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tapeline_measure::processor::{Affinity, allowed_cores, cores};

use crate::GaugeError;
use crate::arguments::{Arguments, Known, flag, value};
use crate::link::Channel;
use crate::mux::{Idle, Muxer};
use crate::sizes;
use crate::wire::Transport;

/// The port that sfnt-pingpong's server listens on, and ours.
pub const PORT: u16 = 2048;

/// Each takes a descriptor or two at both ends.
const MOST_SESSIONS: u32 = 1000;

const IDLE_KINDS: [&str; 6] = ["n-pipe", "n-unix-d", "n-unix-s", "n-udp", "n-tcpc", "n-tcpl"];

/// All options, in the order in which they are told.
pub(super) const KNOWN: [Known; 67] = [
    value("sizes", "message sizes: a,b lo-hi lo-hi+step lo-hixfactor"),
    value("minmsg", "least of the default sizes (0)"),
    value("maxmsg", "greatest of the default sizes (0: no bound)"),
    value("minms", "least milliseconds of a size (1000)"),
    value("maxms", "most milliseconds of a size (3000)"),
    value("miniter", "least iterations of a size, and those of a batch (1000)"),
    value("maxiter", "most iterations of a size (1000000)"),
    value("warmupiter", "least iterations of the warm-up (10000)"),
    value("warmupms", "least milliseconds of the warm-up (500)"),
    flag("spin", "poll instead of sleeping").by_side(),
    value("muxer", "none, select, poll, epoll, epoll_mod, epoll_adddel (none)").by_side(),
    value("timeout", "seconds to wait for a message (0: no end; 1 s for UDP pings)").by_side(),
    flag("nodelay", "no Nagle").by_side(),
    value("busy-poll", "SO_BUSY_POLL, microseconds (0)").by_side(),
    flag("connect", "connected UDP sockets").by_side(),
    flag("more", "MSG_MORE on all but the last message of an iteration").by_side(),
    value("n-pings", "messages to the server in an iteration (1)").by_side(),
    value("n-pongs", "messages back (1)"),
    value("sleep-gap", "microseconds of sleep between iterations (0)"),
    value("spin-gap", "microseconds of spinning between iterations (0)"),
    value("n-pipe", "idle pipes in the muxer's set (0)").by_side(),
    value("n-unix-d", "idle Unix datagram sockets in the set (0)").by_side(),
    value("n-unix-s", "idle Unix stream sockets in the set (0)").by_side(),
    value("n-udp", "idle UDP sockets in the set (0)").by_side(),
    value("n-tcpc", "idle TCP connections in the set (0)").by_side(),
    value("n-tcpl", "idle TCP listeners in the set (0)").by_side(),
    value("tcpc-serv", "HOST:PORT that idle TCP connections lead to"),
    value("port", "control port of the server (2048)"),
    value("bind", "local address").by_side(),
    value("bindtodev", "network interface to bind to").by_side(),
    flag("ipv4", "IPv4 only"),
    flag("ipv6", "IPv6 only"),
    flag("v6only", "IPV6_V6ONLY").by_side(),
    value("mcast", "multicast group (224.1.2.48, ff05::142)"),
    value("mcastintf", "multicast interface, by name or address").by_side(),
    flag("mcastloop", "multicast reaches sockets of the sending host").by_side(),
    value("ttl", "hops of multicast (1)").by_side(),
    value("affinity", "cores: a list as 0,2-3, or any").by_side(),
    flag("forkboth", "accepted, without effect; the server is always a process of its own"),
    flag("rtt", "tell whole round trips, not halves"),
    value("percentile", "the percentile of the %ile column (99)"),
    value("raw", "write every sample to PREFIX-SIZE.dat"),
    flag("quiet", "no header (-q)"),
    flag("verbose", "tell more on standard error (-v)"),
    flag("help", "this text (-?)"),
    flag("version", "the version"),
    value("seconds", "exact seconds of a size, in place of minms and maxms"),
    value("warm-up", "seconds of the warm-up, in place of warmupms"),
    value("rounds", "repeats of all sizes (1)"),
    value("priority", "fifo:N, rr:N or nice:N"),
    flag("lock-memory", "mlockall"),
    value("cpu-latency-us", "holds /dev/cpu_dma_latency at this"),
    value("clock", "auto, tsc, monotonic (auto)"),
    value("noise", "seconds of spin noise measured before (1; 0: none)"),
    value("format", "human or classic (human; classic under a classic name)"),
    value("json", "write records to this file, one a line"),
    flag("check", "print what would be done"),
    flag("threads", "a local server is a thread instead of a process"),
    flag("keep", "a server serves on after its client"),
    flag("hostname", "tell the host's name in the header"),
    value("interval", "accepted, without effect: a row is told when it is complete"),
    value("hdr", "write a log of HDR histograms to pingpong.hlog in this folder"),
    value("sessions", "TCP connections that talk, in turns (1)"),
    value("timestamps", "kernel: tells when kernel and card had a message, of tcp and udp"),
    value("channel", "of aeron, where each side hears: aeron:ipc, aeron:udp, aeron:udp?endpoint=…")
        .by_side(),
    flag("child", "serve the process that started this one"),
    flag("debug", "accepted, without effect"),
];

/// One side's settings.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct Side {
    pub(super) is_spinning: bool,
    pub(super) muxer: Muxer,
    pub(super) timeout_s: u32,
    pub(super) nodelay: bool,
    pub(super) busy_poll_us: u32,
    pub(super) connects: bool,
    pub(super) more: bool,
    pub(super) pings: u32,
    pub(super) idle: Idle,
    pub(super) bind: Option<IpAddr>,
    pub(super) device: Option<String>,
    pub(super) ipv6_only: bool,
    pub(super) interface: Option<String>,
    pub(super) loops_back: bool,
    pub(super) ttl: u32,
    pub(super) cores: Option<Vec<usize>>,
    /// Where it hears Aeron.
    pub(super) channel: Channel,
}

/// Which clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockChoice {
    Auto,
    Tsc,
    Monotonic,
}

/// Everything that was asked for.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct Options {
    pub(super) arguments: Arguments,
    /// Without one this is a server.
    pub(super) transport: Option<Transport>,
    /// Without one the server is local.
    pub(super) server: Option<(String, u16)>,
    pub(super) port: u16,
    pub(super) sides: [Side; 2],
    pub(super) pongs: u32,
    /// Connections that take turns.
    pub(super) sessions: u32,
    pub(super) sizes: Vec<usize>,
    pub(super) least: Duration,
    pub(super) most: Duration,
    pub(super) batch: u64,
    pub(super) most_iterations: u64,
    pub(super) warm_up: Duration,
    pub(super) warm_up_iterations: u64,
    pub(super) sleep_gap: Duration,
    pub(super) spin_gap: Duration,
    pub(super) is_whole: bool,
    pub(super) percentile: f64,
    pub(super) raw: Option<String>,
    pub(super) json: Option<PathBuf>,
    pub(super) rounds: u32,
    pub(super) clock: ClockChoice,
    pub(super) noise: Duration,
    pub(super) is_classic: bool,
    pub(super) group: Option<IpAddr>,
    pub(super) is_ipv6: bool,
    pub(super) is_ipv4: bool,
    /// Whether kernel and card are asked when they had a message.
    pub(super) has_stamps: bool,
    /// Whether the cores were named, and not chosen.
    pub(super) cores_named: bool,
    pub(super) warnings: Vec<String>,
}

impl Options {
    /// Reads a command line. `is_classic`: the program was called by a classic
    /// name.
    pub(super) fn read(arguments: &[String], is_classic: bool) -> Result<Self, GaugeError> {
        let given = Arguments::read(&KNOWN, arguments)?;
        let mut warnings = Vec::new();
        let (transport, server) = destination(&given)?;
        for name in ["forkboth", "debug", "interval"] {
            if given.has(name) && given.text(name) != Some("0") {
                warnings.push(format!("--{name} has no effect"));
            }
        }
        let least_ms = given.number("minms", 1000, 0, 86_400_000)?;
        let most_ms = given.number("maxms", 3000.max(least_ms), 0, 86_400_000)?.max(least_ms);
        let batch = given.number("miniter", 1000, 1, 10_000_000)?;
        let most_iterations = given.number("maxiter", 1_000_000, 1, 10_000_000)?.max(batch);
        let exact: Option<f64> = match given.has("seconds") {
            true => Some(given.number("seconds", 0.0, 0.001, 86_400.0)?),
            false => None,
        };
        let time = |ms| exact.map_or(Duration::from_millis(ms), Duration::from_secs_f64);
        let warm_up_ms = given.number("warmupms", 500, 0, 86_400_000)?;
        let warm_up = match given.has("warm-up") {
            true => Duration::from_secs_f64(given.number("warm-up", 0.5, 0.0, 86_400.0)?),
            false => Duration::from_millis(warm_up_ms),
        };
        let micros = |name| given.number(name, 0, 0, 60_000_000).map(Duration::from_micros);
        let is_local = transport.is_some() && server.is_none();
        let mut sides = [side(&given, 0)?, side(&given, 1)?];
        if transport.is_some_and(Transport::is_datagram) && sides.iter().any(|side| side.more) {
            warnings.push("--more has no effect: it would make one datagram of several".to_owned());
            for side in &mut sides {
                side.more = false;
            }
        }
        let cores_named = given.has("affinity");
        if !cores_named {
            let spins = sides.each_ref().map(|side| side.is_spinning);
            let chosen = chosen_cores(&allowed_cores(), is_local && (spins[0] || spins[1]));
            sides[0].cores.clone_from(&chosen[0]);
            sides[1].cores.clone_from(&chosen[1]);
        }
        let options = Self {
            transport,
            server,
            port: given.number("port", PORT, 0, u16::MAX)?,
            pongs: given.number("n-pongs", 1, 1, 10_000)?,
            sessions: given.number("sessions", 1, 1, MOST_SESSIONS)?,
            sizes: sizes_of(&given, transport)?,
            least: time(least_ms),
            most: time(most_ms),
            batch,
            most_iterations,
            warm_up,
            warm_up_iterations: given.number("warmupiter", 10_000, 0, 10_000_000)?,
            sleep_gap: micros("sleep-gap")?,
            spin_gap: micros("spin-gap")?,
            is_whole: given.is_set("rtt")?,
            percentile: given.number("percentile", 99.0, 0.0, 100.0)?,
            raw: given.text("raw").map(str::to_owned),
            json: given.text("json").map(PathBuf::from),
            rounds: given.number("rounds", 1, 1, 100)?,
            clock: clock(&given)?,
            noise: Duration::from_secs_f64(given.number("noise", 1.0, 0.0, 3600.0)?),
            is_classic: match given.text("format") {
                None => is_classic,
                Some("classic") => true,
                Some("human") => false,
                Some(other) => {
                    return Err(GaugeError::option("format", other, "give human or classic"));
                }
            },
            group: group(&given)?,
            is_ipv6: given.is_set("ipv6")?,
            is_ipv4: given.is_set("ipv4")?,
            has_stamps: match given.text("timestamps") {
                None => false,
                Some("kernel") => true,
                Some(other) => {
                    let what = "give kernel: the card's are told too, where it has them";
                    return Err(GaugeError::option("timestamps", other, what));
                }
            },
            sides,
            cores_named,
            warnings,
            arguments: given,
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<(), GaugeError> {
        if self.is_ipv4 && self.is_ipv6 {
            return Err(GaugeError::Usage("--ipv4 and --ipv6 exclude each other".to_owned()));
        }
        let Some(transport) = self.transport else { return Ok(()) };
        if self.sessions > 1 && transport != Transport::Tcp {
            let what = "sessions beside the first are connections of tcp";
            return Err(GaugeError::option("sessions", &self.sessions.to_string(), what));
        }
        if self.has_stamps && !matches!(transport, Transport::Tcp | Transport::Udp) {
            let what =
                format!("{transport} passes no network card; there are stamps of tcp and udp");
            return Err(GaugeError::option("timestamps", "kernel", &what));
        }
        self.check_channels(transport)?;
        let is_stream = !transport.is_datagram();
        if is_stream && self.sizes.contains(&0) && transport != Transport::Null {
            let what = format!("a message of {transport} has a byte at least");
            return Err(GaugeError::option("sizes", "0", &what));
        }
        let is_network = transport.is_network() || !self.sides[0].channel.is_ipc();
        if self.server.is_some() && !is_network {
            let what = format!("{transport} stays within a host; leave the host away");
            return Err(GaugeError::Usage(what));
        }
        if self.group.is_some() && transport != Transport::Udp {
            return Err(GaugeError::Usage("multicast goes over udp only".to_owned()));
        }
        let has_muxer = self.sides.iter().any(|side| side.muxer != Muxer::None);
        let has_none = matches!(
            transport,
            Transport::Ring | Transport::Rssl | Transport::Aeron | Transport::Null
        );
        if has_muxer && has_none {
            let what = format!("{transport} has no descriptor of its own to wait for");
            return Err(GaugeError::option("muxer", "", &what));
        }
        let cores = |side: usize| self.sides[side].cores.clone().unwrap_or_default();
        // The cores of a server on another host are told to it.
        let theirs = if self.server.is_some() { Vec::new() } else { cores(1) };
        let affinity = Affinity { ours: cores(0), theirs };
        affinity.check().map_err(GaugeError::Core)
    }

    fn check_channels(&self, transport: Transport) -> Result<(), GaugeError> {
        let Some(text) = self.arguments.text("channel") else { return Ok(()) };
        let wrong = |what: &str| Err(GaugeError::option("channel", text, what));
        if transport != Transport::Aeron {
            return wrong("channels are of aeron");
        }
        let [ours, theirs] = self.sides.each_ref().map(|side| side.channel.is_ipc());
        match ours == theirs {
            true => Ok(()),
            false => wrong("both sides have shared memory, or neither"),
        }
    }
}

/// The transport and where its server is.
type Destination = (Option<Transport>, Option<(String, u16)>);

fn destination(given: &Arguments) -> Result<Destination, GaugeError> {
    let (transport, host) = match &given.positional[..] {
        [] => return Ok((None, None)),
        [transport] => (transport, None),
        [transport, host] => (transport, Some(host)),
        [_, _, more, ..] => {
            return Err(GaugeError::Usage(format!(
                "`{more}` is too much: TRANSPORT [HOST[:PORT]]"
            )));
        }
    };
    let transport = transport.parse().map_err(GaugeError::Usage)?;
    let Some(host) = host else { return Ok((Some(transport), None)) };
    let port = given.number("port", PORT, 0, u16::MAX)?;
    let is_bare_v6 = host.matches(':').count() > 1 && !host.starts_with('[');
    let (name, port) = match host.rsplit_once(':') {
        Some((name, text)) if !is_bare_v6 && !text.ends_with(']') => {
            let port = text.parse();
            let wrong = || GaugeError::Usage(format!("`{text}` is no port"));
            (name, port.map_err(|_| wrong())?)
        }
        _ => (host.as_str(), port),
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    Ok((Some(transport), Some((name.to_owned(), port))))
}

fn sizes_of(given: &Arguments, transport: Option<Transport>) -> Result<Vec<usize>, GaugeError> {
    let Some(transport) = transport else { return Ok(Vec::new()) };
    let largest = transport.max_bytes();
    if let Some(list) = given.text("sizes") {
        return sizes::parse(list, largest);
    }
    let min = given.number("minmsg", 0, 0, largest)?;
    let max = given.number("maxmsg", 0, 0, largest)?;
    let mut all = sizes::defaults(!transport.is_datagram(), min, max);
    all.retain(|size| *size <= largest);
    Ok(all)
}

fn side(given: &Arguments, side: usize) -> Result<Side, GaugeError> {
    let address = |name: &str| match given.side(name, side) {
        None | Some("") => Ok(None),
        Some(text) => {
            let wrong = |_| GaugeError::option(name, text, "give an address");
            text.parse::<IpAddr>().map(Some).map_err(wrong)
        }
    };
    let text = |name| given.side(name, side).filter(|text| !text.is_empty()).map(str::to_owned);
    let mut counts = std::collections::HashMap::new();
    for kind in IDLE_KINDS {
        let count = given.side_number(kind, side, 0, 1024)?;
        if count > 0 {
            counts.insert(kind.to_owned(), count);
        }
    }
    let muxer = given.side("muxer", side).unwrap_or("none");
    let wrong = |what: String| GaugeError::option("muxer", muxer, &what);
    let named = match given.side("affinity", side) {
        None | Some("" | "any") => None,
        Some(list) => Some(cores(list).ok_or_else(|| {
            GaugeError::option("affinity", list, "give cores as 0 or 0,2-3, or any")
        })?),
    };
    let channel = given.side("channel", side).unwrap_or(Channel::IPC);
    let no_channel = |what: String| GaugeError::option("channel", channel, &what);
    Ok(Side {
        channel: channel.parse().map_err(no_channel)?,
        is_spinning: given.side_flag("spin", side)?,
        muxer: muxer.parse().map_err(wrong)?,
        timeout_s: given.side_number("timeout", side, 0, 3600)?,
        nodelay: given.side_flag("nodelay", side)?,
        busy_poll_us: given.side_number("busy-poll", side, 0, 1_000_000)?,
        connects: given.side_flag("connect", side)?,
        more: given.side_flag("more", side)?,
        pings: given.side_number("n-pings", 0, 1, 10_000)?.max(1),
        idle: Idle { counts, tcp_server: text("tcpc-serv") },
        bind: address("bind")?,
        device: text("bindtodev"),
        ipv6_only: given.side_flag("v6only", side)?,
        interface: text("mcastintf"),
        loops_back: given.side_flag("mcastloop", side)?,
        ttl: given.side_number("ttl", side, 1, 255)?,
        cores: named,
    })
}

/// The group that was named, or the usual one of an interface that was.
fn group(given: &Arguments) -> Result<Option<IpAddr>, GaugeError> {
    if let Some(text) = given.text("mcast") {
        let group = text.parse::<IpAddr>().ok().filter(IpAddr::is_multicast);
        let wrong = || GaugeError::option("mcast", text, "give an address of a group");
        return group.map(Some).ok_or_else(wrong);
    }
    let usual = if given.is_set("ipv6")? { "ff05::142" } else { "224.1.2.48" };
    Ok(given.has("mcastintf").then(|| usual.parse().ok()).flatten())
}

fn clock(given: &Arguments) -> Result<ClockChoice, GaugeError> {
    match given.text("clock") {
        None | Some("auto") => Ok(ClockChoice::Auto),
        Some("tsc") => Ok(ClockChoice::Tsc),
        Some("monotonic") => Ok(ClockChoice::Monotonic),
        Some(other) => Err(GaugeError::option("clock", other, "give auto, tsc or monotonic")),
    }
}

/// 1;1, or 1;2 where both sides would spin on one core; where these are not
/// there, the last two that are.
fn chosen_cores(allowed: &[usize], apart: bool) -> [Option<Vec<usize>>; 2] {
    let wanted = if apart { [1, 2] } else { [1, 1] };
    let is_there = wanted.iter().all(|core| allowed.contains(core));
    let chosen = match allowed {
        _ if is_there => wanted,
        [.., a, b] => [*a, *b],
        [only] => [*only, *only],
        [] => return [None, None],
    };
    chosen.map(|core| Some(vec![core]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, GaugeError> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::read(&arguments, false)
    }

    #[test]
    fn the_defaults_are_theirs() {
        let options = read("tcp").unwrap();
        assert_eq!((options.transport, options.server.clone()), (Some(Transport::Tcp), None));
        assert_eq!(
            (options.sizes.len(), options.batch, options.most_iterations),
            (17, 1000, 1_000_000)
        );
        assert_eq!(options.least + options.most, Duration::from_secs(4));
        assert_eq!((options.percentile, options.is_whole, options.port), (99.0, false, 2048));
        assert_eq!(read("udp").unwrap().sizes.len(), 19);
        assert!(read("").unwrap().transport.is_none());
    }

    #[test]
    fn every_option_of_sfnt_pingpong_is_read_in_each_form() {
        let line = "--sizes=1,2 --minmsg 0 --maxmsg=9 --minms=1 --maxms 2 --miniter=3 --maxiter=4 \
            --warmupiter=5 --warmupms=6 --spin=1;0 --muxer=poll;epoll --timeout=1;2 --nodelay \
            --busy-poll=1;2 --connect=1 --more=0;1 --n-pings=2;2 --n-pongs=3 --sleep-gap=1 \
            --spin-gap=2 --n-pipe=1 --n-unix-d=1;2 --n-unix-s=3 --n-udp=4 --n-tcpc=0 --n-tcpl=1 \
            --tcpc-serv=h:1 --port=9 --bind=127.0.0.1;127.0.0.2 --bindtodev=lo --ipv4 --v6only=0 \
            --mcast=224.9.9.9 --mcastintf=lo --mcastloop --ttl=3;4 --affinity 0;any --forkboth \
            --rtt --percentile=99.9 --raw=p -q -v udp 127.0.0.1:77";
        let options = read(line).unwrap();
        let [client, server] = &options.sides;
        assert_eq!((client.is_spinning, server.is_spinning), (true, false));
        assert_eq!((client.muxer, server.muxer), (Muxer::Poll, Muxer::Epoll));
        assert_eq!((client.timeout_s, server.timeout_s), (1, 2));
        assert_eq!((client.more, server.more, client.nodelay), (false, false, true));
        assert_eq!((client.idle.counts["n-unix-d"], server.idle.counts["n-unix-d"]), (1, 2));
        assert_eq!((client.cores.clone(), server.cores.clone()), (Some(vec![0]), None));
        assert_eq!((client.ttl, server.ttl), (3, 4));
        assert_eq!(options.server, Some(("127.0.0.1".to_owned(), 77)));
        assert_eq!((options.batch, options.most_iterations), (3, 4));
        assert_eq!(
            (options.sleep_gap, options.spin_gap.as_micros()),
            (Duration::from_micros(1), 2)
        );
        assert_eq!((options.pongs, client.pings, options.percentile), (3, 2, 99.9));
        assert_eq!(
            options.warnings,
            [
                "--forkboth has no effect",
                "--more has no effect: it would make one datagram of several"
            ]
        );
        let tcp = read("--more=0;1 tcp").unwrap();
        assert_eq!(tcp.sides.map(|side| side.more), [false, true]);
    }

    #[test]
    fn a_least_above_a_most_raises_it() {
        let options = read("--miniter=5000 --maxiter=10 --minms=4000 --maxms=10 tcp").unwrap();
        assert_eq!((options.most_iterations, options.most), (5000, Duration::from_secs(4)));
    }

    #[test]
    fn hosts_are_read_with_and_without_ports() {
        let server = |host: &str| read(&format!("tcp {host}")).unwrap().server.unwrap();
        assert_eq!(server("a"), ("a".to_owned(), 2048));
        assert_eq!(server("a:5"), ("a".to_owned(), 5));
        assert_eq!(server("::1"), ("::1".to_owned(), 2048));
        assert_eq!(server("[::1]:5"), ("::1".to_owned(), 5));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let error = |line| read(line).unwrap_err().to_string();
        assert!(error("--affinity 9999;0 tcp").contains("give cores"));
        let far = "--affinity 1000;0 tcp";
        assert!(error(far).starts_with("core 1000 is not there: this process may use ["));
        assert!(error("--sizes=0 tcp").contains("a byte at least"));
        assert!(error("pipe host").contains("stays within a host"));
        assert!(error("--muxer=poll ring").contains("no descriptor"));
        assert!(error("--mcast=10.0.0.1 udp").contains("give an address of a group"));
        assert!(error("--mcast=224.1.1.1 tcp").contains("udp only"));
        assert!(error("sctp").starts_with("there is no transport `sctp`"));
        assert!(error("--siezs=1 tcp").contains("did you mean --sizes?"));
        assert!(error("--sessions=4 udp").contains("connections of tcp"));
        assert!(error("--sessions=0 tcp").starts_with("--sessions"));
        assert!(read("--sessions=4 tcp").is_ok() && read("--sessions=1 udp").is_ok());
        assert!(error("--timestamps=kernel pipe").contains("passes no network card"));
        assert!(error("--timestamps=card tcp").contains("give kernel"));
        assert!(error("--channel=aeron:udp tcp").contains("channels are of aeron"));
        assert!(error("--channel=aeron:udp;aeron:ipc aeron").contains("or neither"));
        assert!(error("--channel=udp://a aeron").contains("aeron:udp?endpoint=HOST:PORT"));
        assert!(error("aeron host").contains("stays within a host"));
        assert!(error("--channel=aeron:ipc aeron host").contains("stays within a host"));
        assert!(read("--channel=aeron:udp aeron host").is_ok());
        assert!(error("tcp a b").contains("`b` is too much"));
    }

    #[test]
    fn cores_are_chosen_as_theirs_where_they_are_there() {
        let of = |allowed: &[usize], apart| {
            chosen_cores(allowed, apart).map(|cores| cores.map(|cores| cores[0]))
        };
        assert_eq!(of(&[0, 1, 2, 3], true), [Some(1), Some(2)]);
        assert_eq!(of(&[0, 1, 2, 3], false), [Some(1), Some(1)]);
        assert_eq!(of(&[0, 1], true), [Some(0), Some(1)]);
        assert_eq!((of(&[5], true), of(&[], true)), ([Some(5), Some(5)], [None, None]));
    }
}
