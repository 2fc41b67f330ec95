//! Reads the keys of `rmds.cnf` files.
//!
//! ```text
//! ! a comment, as is a line with #
//! [host]*program*[object*…]parameter : value
//! *P2PS*14002*pingTimeout            : 30
//! {node}*Src_Dist*feed1.route*hostList : mds1, mds2
//! ```
//!
//! Names are compared without regard to case, and of several keys for one thing
//! that counts which is the most exact ([`precedence`](super::precedence)). A key
//! that begins with the name of another host is skipped. What there is not, or
//! means nothing here, is told and stops nothing.

use std::ops::Range;
use std::path::Path;

use toml::de::DeValue;

use super::Settings;
use super::fault::{Fault, nearest};
use super::precedence::{Component, components, exactness};
use super::section::Section;
use super::sections::Source;
use super::value::Setting;

/// Bytes of one output buffer of the classic server.
const BUFFER_BYTES: u64 = 6144;

/// The instance of the classic programs that this is.
const INSTANCE: &str = "1";

/// Where consumers connect if the file does not say it.
const DEFAULT_PORT: &str = "14002";

/// The programs that a key may be for, with all their names.
const PROGRAMS: [(&str, Program); 5] = [
    ("src_dist", Program::Hub),
    ("adh", Program::Hub),
    ("p2ps", Program::Server),
    ("ads", Program::Server),
    ("rrcp", Program::Backbone),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Hub,
    Server,
    Backbone,
}

/// How a classic value becomes one of ours.
#[derive(Clone, Copy)]
enum How {
    /// As it is.
    Same,
    /// A number of buffers as bytes.
    Buffers,
    /// The first port of a list.
    Port,
    /// 0 none; 1 zlib and 2 LZ4 leave the choice to the client.
    Compression,
    /// `False` switches the key off; `True` changes nothing.
    OffUnless(&'static str),
}

/// Classic parameters with a counterpart: program, parameter, section, key.
const KNOWN: [(Program, &str, &str, &str, How); 18] = [
    (Program::Server, "sslPort", "server", "rssl-port", How::Port),
    (Program::Server, "portList", "server", "rssl-port", How::Port),
    (Program::Server, "allowRSSLConnections", "server", "rssl-port", How::OffUnless("\"off\"")),
    (Program::Server, "allowCompMode", "server", "compression", How::Same),
    (Program::Server, "compressionType", "server", "compression", How::Compression),
    (Program::Server, "flushInterval", "server", "flush-interval-ms", How::Same),
    (Program::Server, "tcpNoDelay", "server", "tcp-no-delay", How::Same),
    (Program::Server, "tcpSendBufSize", "server", "tcp-send-buffer-bytes", How::Same),
    (Program::Server, "maxOutputBuffers", "server", "output-max-bytes", How::Buffers),
    (Program::Server, "outputThresholdBreach", "server", "output-threshold-breach", How::Same),
    (Program::Server, "outputThresholdOK", "server", "output-threshold-ok", How::Same),
    (Program::Server, "itemLimit", "server", "item-limit", How::Same),
    (Program::Server, "aggregateItemLimit", "server", "item-limit", How::Same),
    (Program::Server, "itemLimitPerMount", "server", "item-limit-per-mount", How::Same),
    (Program::Server, "maxMounts", "server", "max-mounts", How::Same),
    (Program::Server, "minimumOpenWindow", "server", "open-window", How::Same),
    (Program::Server, "enableCache", "server", "cache", How::Same),
    (Program::Server, "pingTimeout", "server", "max-ping-timeout-s", How::Same),
];

/// Parameters of routes: they make sources.
const ROUTE: [&str; 3] = ["hostList", "port", "serviceList"];

/// Parameters that say how the classic programs are built inside. They are
/// accepted, so that a site's file can be used, and change nothing.
const WITHOUT_EFFECT: [&str; 41] = [
    "allowSSLConnections",
    "cacheLocation",
    "cacheType",
    "clientToServerPings",
    "dataType",
    "disableHostLookup",
    "DisconnectOnGap",
    "guaranteedOutputBuffers",
    "hashTableSize",
    "HsmInterface",
    "HsmInterval",
    "HsmMultAddress",
    "HsmPort",
    "inputBias",
    "maxPktPoolSize",
    "ndata",
    "nmissing",
    "nrreq",
    "numInputBuffers",
    "numIpcInputBuffers",
    "numIpcOutputBuffers",
    "PacketTTL",
    "pingInterval",
    "pktPoolLimitHigh",
    "pktPoolLimitLow",
    "poolSize",
    "rrmpFlushInterval",
    "rrmpProtocols",
    "rsslMsgPacking",
    "serverToClientPings",
    "sessionStatsWindow",
    "sslMountVersion",
    "sslMsgPacking",
    "switchReorderFixEnabled",
    "tcpControlPort",
    "timedWrites",
    "udpRecvBufSize",
    "udpSendBufSize",
    "usePointToPointData",
    "userQLimit",
    "serverType",
];

/// One line: the components of its key, and its value.
struct Line<'t> {
    span: Range<usize>,
    key: Vec<Component<'t>>,
    value: &'t str,
}

impl Line<'_> {
    /// The host that it is for, if it names one.
    fn host(&self) -> Option<&str> {
        let first = self.key.first().filter(|first| first.is_tight && first.name != "?");
        first.map(|first| first.name).filter(|_| self.key.len() > 1)
    }

    /// The components between the host and the parameter.
    fn objects(&self) -> impl Iterator<Item = &str> + Clone {
        let from = usize::from(self.host().is_some());
        self.key[from..].iter().rev().skip(1).rev().map(|object| object.name)
    }

    fn parameter(&self) -> &str {
        self.key.last().map_or("", |last| last.name)
    }
}

/// Sets what a file says; all values that are wrong in it are told at once. `host`
/// is the name of this host. Returns lines that change nothing, with why.
pub(super) fn read(
    settings: &mut Settings,
    path: &Path,
    text: &str,
    host: &str,
) -> Result<Vec<Fault>, Vec<Fault>> {
    let (mut faults, mut remarks) = (Vec::new(), Vec::new());
    let at = |line: &Line<'_>, what| Fault::at(path, text, line.span.clone(), what);
    let mut lines = Vec::new();
    let mut start = 0;
    for raw in text.split_inclusive('\n') {
        let span = start..start + raw.len();
        start = span.end;
        match parse(raw, span.clone()) {
            Ok(line) => lines.extend(line),
            Err(what) => faults.push(Fault::at(path, text, span, what)),
        }
    }
    lines.retain(|line| line.host().is_none_or(|named| named.eq_ignore_ascii_case(host)));
    let port = port(&lines, host);
    for line in &lines {
        match Meaning::of(line, host, &port) {
            Meaning::Route => {
                let objects: Vec<&str> = line.objects().collect();
                if let Err(what) = set_route(settings, &objects, line.parameter(), line.value) {
                    faults.push(at(line, what));
                }
            }
            Meaning::Known => {}
            Meaning::Nothing(what) => remarks.push(at(line, what)),
        }
    }
    for known in &KNOWN {
        let Some(line) = best(known, &lines, host, &port) else { continue };
        if let Err(what) = set(settings, known, line.value) {
            faults.push(at(line, what));
        }
    }
    if faults.is_empty() { Ok(remarks) } else { Err(faults) }
}

/// A line; `None` for one that says nothing.
fn parse(raw: &str, span: Range<usize>) -> Result<Option<Line<'_>>, String> {
    let line = raw.trim();
    if line.is_empty() || line.starts_with(['!', '#']) {
        return Ok(None);
    }
    let Some((key, value)) = line.split_once([':', '=']) else {
        return Err(format!("`{line}` has no value; write key : value"));
    };
    let key = components(key);
    if key.is_empty() {
        return Err("the line has no key; write key : value".to_owned());
    }
    Ok(Some(Line { span, key, value: value.trim() }))
}

/// What a line is for.
enum Meaning {
    /// A source.
    Route,
    /// A setting of ours.
    Known,
    /// Nothing here, for this reason.
    Nothing(String),
}

impl Meaning {
    fn of(line: &Line<'_>, host: &str, port: &str) -> Self {
        let parameter = line.parameter();
        let is_it = |name: &str| name.eq_ignore_ascii_case(parameter);
        let program = line.objects().find_map(program);
        let is_route = line.objects().any(|object| object.eq_ignore_ascii_case("route"));
        if program == Some(Program::Hub) && is_route && ROUTE.iter().any(|name| is_it(name)) {
            return Self::Route;
        }
        let mut known = KNOWN.iter().filter(|known| is_it(known.1)).peekable();
        if known.peek().is_some() {
            if known.any(|known| exactness(&line.key, &name_of(known, host, port)).is_some()) {
                return Self::Known;
            }
            let objects: Vec<_> = line.objects().collect();
            let text = format!(
                "`{parameter}` of `{}` changes nothing: there are settings for all, and for port {port}",
                objects.join("*")
            );
            return Self::Nothing(text);
        }
        if WITHOUT_EFFECT.iter().any(|name| is_it(name)) {
            let text = format!(
                "`{parameter}` changes nothing: it says how the classic programs are built"
            );
            return Self::Nothing(text);
        }
        let all = KNOWN.iter().map(|(_, name, ..)| *name).chain(ROUTE).chain(WITHOUT_EFFECT);
        Self::Nothing(format!("unknown key `{parameter}`{}", nearest(parameter, all)))
    }
}

/// A row of [`KNOWN`].
type Known = (Program, &'static str, &'static str, &'static str, How);

/// The full name of a parameter, each component with all its names.
fn name_of<'n>(known: &'n Known, host: &'n str, port: &'n str) -> [Vec<&'n str>; 5] {
    let (owner, parameter, ..) = known;
    let programs = PROGRAMS.iter().filter(|(_, program)| program == owner);
    let programs = programs.map(|(name, _)| *name).collect();
    [vec![host], vec![INSTANCE], programs, vec![port], vec![*parameter]]
}

/// The line that counts for a parameter: the most exact one, and of those the last.
fn best<'l, 't>(
    known: &Known,
    lines: &'l [Line<'t>],
    host: &str,
    port: &str,
) -> Option<&'l Line<'t>> {
    let name = name_of(known, host, port);
    let fitting = lines.iter().filter_map(|line| Some((exactness(&line.key, &name)?, line)));
    // Of equals the last.
    fitting.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, line)| line)
}

/// The port that keys may be for: the one that consumers connect to.
fn port(lines: &[Line<'_>], host: &str) -> String {
    let of_port = KNOWN.iter().filter(|known| matches!(known.4, How::Port));
    let said = of_port.filter_map(|known| best(known, lines, host, ""));
    let said = said.reduce(|_, last| last).map(|line| line.value.to_owned());
    said.unwrap_or_else(|| DEFAULT_PORT.to_owned())
}

fn set(settings: &mut Settings, known: &Known, value: &str) -> Result<(), String> {
    let (_, parameter, section, key, how) = *known;
    let (Some(section), Some(value)) = (settings.section(section), how.convert(value)?) else {
        return Ok(());
    };
    set_key(section, key, &value).map_err(|what| format!("`{parameter}` {what}"))
}

fn program(name: &str) -> Option<Program> {
    PROGRAMS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|found| found.1)
}

/// Sets a parameter of a route, which becomes a source of the same name.
fn set_route(
    settings: &mut Settings,
    objects: &[&str],
    parameter: &str,
    value: &str,
) -> Result<(), String> {
    let is_name = |name: &&&str| !name.eq_ignore_ascii_case("route") && program(name).is_none();
    let name = objects.iter().find(is_name).map_or("route", |name| *name);
    let at = settings.sources.iter().position(|source| source.name.as_deref() == Some(name));
    let at = at.unwrap_or_else(|| {
        settings.sources.push(Source { name: Some(name.to_owned()), ..Source::default() });
        settings.sources.len() - 1
    });
    let source = &mut settings.sources[at];
    let (key, value) = match parameter.to_ascii_lowercase().as_str() {
        "hostlist" => ("hosts", list(value).show()),
        "servicelist" => ("services", list(value).show()),
        _ => ("port", value.to_owned()),
    };
    set_key(source, key, &value).map_err(|what| format!("`{parameter}` {what}"))
}

/// Sets a key from the text of a TOML value.
fn set_key(section: &mut dyn Section, key: &str, value: &str) -> Result<(), String> {
    let quoted = value.to_owned().show();
    let value = DeValue::parse(value).or_else(|_| DeValue::parse(&quoted));
    let value = value.map_err(|error| error.message().to_owned())?;
    section.set(key, value.get_ref()).unwrap_or_else(|| Err("has no counterpart".to_owned()))
}

/// A list separated by blanks or commas.
fn list(value: &str) -> Vec<String> {
    let names = value.split([' ', '\t', ',']).filter(|name| !name.is_empty());
    names.map(ToOwned::to_owned).collect()
}

fn flag(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

impl How {
    /// The value as TOML; `None` if it changes nothing.
    fn convert(self, value: &str) -> Result<Option<String>, String> {
        Ok(Some(match self {
            Self::Same => match flag(value) {
                Some(flag) => flag.to_string(),
                None => value.to_owned(),
            },
            Self::Buffers => match value.parse::<u64>() {
                Ok(count) => count.saturating_mul(BUFFER_BYTES).to_string(),
                Err(_) => return Err(format!("`{value}` is no number of buffers")),
            },
            Self::Port => match list(value).as_slice() {
                [port] => port.clone(),
                _ => return Err(format!("`{value}`: give one port")),
            },
            Self::Compression => match value {
                "0" => "false".to_owned(),
                "1" | "2" => "true".to_owned(),
                _ => return Err(format!("compression `{value}`: give 0 none, 1 zlib or 2 LZ4")),
            },
            Self::OffUnless(off) => match flag(value) {
                Some(true) => return Ok(None),
                Some(false) => off.to_owned(),
                None => return Err(format!("`{value}`: give True or False")),
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Port;
    use super::*;

    fn read_text(text: &str) -> Result<Settings, Vec<String>> {
        let mut settings = Settings::default();
        match read(&mut settings, Path::new("rmds.cnf"), text, "me") {
            Ok(_) => Ok(settings),
            Err(faults) => Err(faults.iter().map(ToString::to_string).collect()),
        }
    }

    #[test]
    fn keys_of_a_site_are_understood() {
        let settings = read_text(
            "! a site\n*p2ps*flushInterval : 20\n*ADS*tcpNoDelay = False\n*P2PS*sslPort : 14002\n\
             *P2PS*maxOutputBuffers : 400\n*P2PS*14002*pingTimeout : 30\n\
             *P2PS*enableCache : False\n*p2ps*compressionType : 0\n*RRCP*userQLimit : 32768\n\
             me*Src_Dist*feed1.route*hostList : mds1, mds2\nme*Src_Dist*feed1.route*port : 14005\n",
        )
        .expect("good keys");
        assert_eq!(settings.server.flush_interval_ms, 20);
        assert!(!settings.server.tcp_no_delay && !settings.server.cache);
        assert_eq!(settings.server.rssl_port, Port::At(14002));
        assert_eq!(settings.server.output_max_bytes, 400 * 6144);
        assert_eq!(settings.server.max_ping_timeout_s, 30);
        assert!(!settings.server.compression);
        assert_eq!(settings.sources.len(), 1);
        assert_eq!(settings.sources[0].hosts, ["mds1", "mds2"]);
        assert_eq!(settings.sources[0].port, 14005);
    }

    fn remarks(text: &str) -> Vec<String> {
        let read = read(&mut Settings::default(), Path::new("rmds.cnf"), text, "me");
        read.expect("good values").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn more_exact_keys_count_and_other_hosts_are_skipped() {
        let settings = read_text(
            "*p2ps*14005*itemLimit : 7\n*p2ps*itemLimit : 5\nother*p2ps*14005*itemLimit : 9\n\
             me*p2ps*maxMounts : 2\n*p2ps*maxMounts : 1\n*p2ps*sslPort : 14005\n",
        )
        .expect("good keys");
        assert_eq!((settings.server.item_limit, settings.server.max_mounts), (7, 2));
    }

    #[test]
    fn what_is_one_users_is_not_everybodys() {
        let text = "*ads*BIGUSER*itemLimit : 10\n*ads*itemLimit : 500\n";
        assert_eq!(read_text(text).expect("good").server.item_limit, 500);
        assert_eq!(
            remarks(text),
            ["rmds.cnf:1:1: `itemLimit` of `ads*BIGUSER` changes nothing: there are settings for \
              all, and for port 14002"]
        );
    }

    #[test]
    fn what_means_nothing_here_is_told_a_line_each_and_stops_nothing() {
        let text = "*p2ps*flushIntervall : 20\n*RRCP*userQLimit : 32768\n*p2ps*flushInterval : 5\n";
        assert_eq!(
            remarks(text),
            [
                "rmds.cnf:1:1: unknown key `flushIntervall`; did you mean `flushInterval`?",
                "rmds.cnf:2:1: `userQLimit` changes nothing: it says how the classic programs are \
                 built",
            ]
        );
        assert_eq!(read_text(text).expect("good").server.flush_interval_ms, 5);
    }

    #[test]
    fn wrong_values_name_their_line() {
        let cases = [
            (
                "*p2ps*flushInterval\n",
                "rmds.cnf:1:1: `*p2ps*flushInterval` has no value; write key : value",
            ),
            (
                "*p2ps*flushInterval : soon\n",
                "rmds.cnf:1:1: `flushInterval` is a string; give an integer",
            ),
            (
                "*p2ps*compressionType : 7\n",
                "rmds.cnf:1:1: compression `7`: give 0 none, 1 zlib or 2 LZ4",
            ),
        ];
        for (text, fault) in cases {
            assert_eq!(read_text(text), Err(vec![fault.to_owned()]), "{text}");
        }
    }
}
