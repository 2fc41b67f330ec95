//! From the text of a flow file to a flow.
//!
//! ```text
//! file     = name, [unit], vars?, link*, part*
//! vars     = { NAME = integer | float | text | bool }           # ≤ 256
//! link     = [[link]]  name, via, …                             # ≤ 1,024
//! part     = [[part]]  name, thread+                            # a process; ≤ 64
//! thread   = [[part.thread]]  name, wrapper+ | module+          # ≤ 256 in all
//! wrapper  = [[part.thread.wrapper]]  name?, module+            # in the tree only
//! module   = [[part.thread.module]] or […wrapper.module]  type, name, in*, out*, parameters
//! ```

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use tapeline_measure::histogram::from_hdr;
use tapeline_measure::schedule::Pacing;
use toml::de::DeTable;

use super::document::{Reader, Table, Value, nearest};
use super::flow::{
    DelaySpec, Flow, JournalSpec, Kind, LinkSpec, ModuleSpec, Origin, PartSpec, Reply, Route,
    ThreadSpec, Via, WorkBy, WorkTime,
};
use super::tracked::LEAST_BYTES;
use super::{MAX_CONNECTIONS, check};
use crate::disk::Mode;
use crate::link::{Group, LinkOptions};
use crate::message::{HEAD_BYTES, MAX_BYTES};
use crate::{GaugeError, Transport, nwtool};

const MAX_LINKS: usize = 1024;
const MAX_PARTS: usize = 64;
const MAX_THREADS: usize = 256;

/// Reads a flow. `typed`: variables in place of the file's.
///
/// Errors: all that is wrong, each with the file and the line.
pub(super) fn read(file: &str, text: &str, typed: &[(String, Value)]) -> Result<Flow, GaugeError> {
    let mut reader = Reader::new(file, text);
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let line = reader.line(&error.span().unwrap_or_default());
            reader.fault(line, error.message().trim_end().replace('\n', "; "));
            return Err(reader
                .done()
                .err()
                .unwrap_or_else(|| GaugeError::Usage(format!("{file} is no TOML"))));
        }
    };
    let document = document.into_inner();
    reader.set_variables(document.get("vars"), typed);
    let reader = &reader;
    let table = Table::new(reader, &document, 1, "the file");
    let _ = table.entry("vars");
    let _: () = table.word("unit", &[("us", ()), ("µs", ())]);
    let mut of =
        Reading { flow: empty(table.needed("name").unwrap_or_default()), ends: Ends::default() };
    table.tables("link", "a link", |table| of.link(table));
    table.tables("part", "a part", |table| of.part(table));
    table.end();
    let Reading { mut flow, ends } = of;
    ends.join(&mut flow, reader);
    check::check(&mut flow, reader);
    reader.done()?;
    Ok(flow)
}

fn empty(name: String) -> Flow {
    Flow {
        name,
        links: Vec::new(),
        parts: Vec::new(),
        threads: Vec::new(),
        modules: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The names of links that modules have, and where they stand.
#[derive(Default)]
struct Ends {
    /// Module, whether it takes from the link, name and line.
    all: Vec<(usize, bool, String, usize)>,
}

impl Ends {
    /// Gives links and modules each other's numbers.
    fn join(self, flow: &mut Flow, reader: &Reader<'_>) {
        let mut numbers = BTreeMap::new();
        for (number, link) in flow.links.iter().enumerate() {
            if numbers.insert(link.name.clone(), number).is_some() {
                reader.fault(link.line, format!("there is a link `{}` already", link.name));
            }
        }
        for (module, takes, name, line) in self.all {
            let Some(number) = numbers.get(&name).copied() else {
                let near = nearest(&name, numbers.keys().map(String::as_str));
                reader.fault(line, format!("there is no link `{name}`{near}"));
                continue;
            };
            let link = &mut flow.links[number];
            let end = if takes { &mut link.to } else { &mut link.from };
            if let Some(other) = end.replace(module) {
                let (other, what) =
                    (&flow.modules[other].name, if takes { "taken from" } else { "sent on" });
                reader.fault(line, format!("link `{name}` is {what} by `{other}` already"));
            }
            let module = &mut flow.modules[module];
            if takes { &mut module.inputs } else { &mut module.outputs }.push(number);
        }
    }
}

struct Reading {
    flow: Flow,
    ends: Ends,
}

impl Reading {
    fn link(&mut self, table: Table<'_, '_>) {
        if self.flow.links.len() == MAX_LINKS {
            return table.reader.fault(table.line, format!("at most {MAX_LINKS} links"));
        }
        let name = table.needed("name").unwrap_or_default();
        let via = via(&table);
        let address = table.parsed("address", |text| {
            text.parse::<IpAddr>().map_err(|_| format!("`{text}` is no address"))
        });
        let group = (via == Via::Mcast).then(|| group(&table));
        self.flow.links.push(LinkSpec {
            line: table.line,
            via,
            address: address.unwrap_or(Ipv4Addr::LOCALHOST.into()),
            port: table.whole("port", 0, 0..=u64::from(u16::MAX)) as u16,
            connections: table.whole("connections", 1, 1..=MAX_CONNECTIONS as u64) as usize,
            capacity: (table.whole("capacity", 65_536, 1..=1 << 20) as usize).next_power_of_two(),
            options: LinkOptions {
                nodelay: table.flag("nodelay", true),
                busy_poll_us: table.whole("busy_poll_us", 0, 0..=1_000_000) as u32,
                send_buffer_bytes: table.whole("sndbuf", 0, 0..=1 << 30) as usize,
                receive_buffer_bytes: table.whole("rcvbuf", 0, 0..=1 << 30) as usize,
                group,
            },
            from: None,
            to: None,
            name,
        });
        table.end();
    }

    fn part(&mut self, table: Table<'_, '_>) {
        if self.flow.parts.len() == MAX_PARTS {
            return table.reader.fault(table.line, format!("at most {MAX_PARTS} parts"));
        }
        let name = table.needed("name").unwrap_or_default();
        if self.flow.parts.iter().any(|part| part.name == name) {
            table.reader.fault(table.line, format!("there is a part `{name}` already"));
        }
        let part = self.flow.parts.len();
        self.flow.parts.push(PartSpec { name });
        let had = self.flow.threads.len();
        table.tables("thread", "a thread", |table| self.thread(part, table));
        if self.flow.threads.len() == had {
            table.reader.fault(table.line, "a part has a thread at least");
        }
        table.end();
    }

    fn thread(&mut self, part: usize, table: Table<'_, '_>) {
        if self.flow.threads.len() == MAX_THREADS {
            return table.reader.fault(table.line, format!("at most {MAX_THREADS} threads"));
        }
        let thread = self.flow.threads.len();
        self.flow.threads.push(ThreadSpec {
            name: table.needed("name").unwrap_or_default(),
            part,
            is_polling: table.flag("polling", false),
            core: table.whole_or_none("cpu", 0..=4095).map(|core| core as usize),
            priority: table.whole_or_none("priority", 1..=99).map(|level| level as u8),
            pool: table.whole("pool", 65_536, 1..=1 << 24),
            interval_s: table.number("interval_s", 1.0, 0.1..=3600.0),
            statistics_file: table
                .text("stat_file")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
        });
        let had = self.flow.modules.len();
        let mut wrappers = 0;
        table.tables("wrapper", "a wrapper", |table| {
            wrappers += 1;
            let name = table.text("name").unwrap_or_else(|| format!("Wrapper {wrappers}"));
            table.tables("module", "a module", |table| self.module(thread, &name, table));
            table.end();
        });
        if wrappers > 0 && table.has("module") {
            table.reader.fault(table.line, "a thread has wrappers or modules, not both");
        }
        table.tables("module", "a module", |table| self.module(thread, "Wrapper 1", table));
        if self.flow.modules.len() == had {
            table.reader.fault(table.line, "a thread has a module at least");
        }
        table.end();
    }

    fn module(&mut self, thread: usize, wrapper: &str, table: Table<'_, '_>) {
        let number = self.flow.modules.len();
        let Some(kind) = kind(&table) else { return };
        let name = table.needed("name").unwrap_or_default();
        if self.flow.modules.iter().any(|module| module.name == name) {
            table.reader.fault(table.line, format!("there is a module `{name}` already"));
        }
        for (key, takes) in [("in", true), ("out", false)] {
            let names = table.texts(key).into_iter();
            self.ends.all.extend(names.map(|(name, line)| (number, takes, name, line)));
        }
        self.flow.modules.push(ModuleSpec {
            name,
            line: table.line,
            thread,
            wrapper: wrapper.to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            kind,
        });
        table.end();
    }
}

/// The group of a link, and where it is joined.
fn group(table: &Table<'_, '_>) -> Group {
    let address = table.parsed("group", |text| {
        let address = text.parse::<Ipv4Addr>().ok().filter(Ipv4Addr::is_multicast);
        address.ok_or_else(|| format!("`{text}` is no address of a group: give one as 239.1.1.1"))
    });
    Group {
        address: address.unwrap_or(Ipv4Addr::new(239, 1, 1, 1)),
        interface: table.text("interface").filter(|name| !name.is_empty()),
    }
}

fn via(table: &Table<'_, '_>) -> Via {
    table.word(
        "via",
        &[
            ("ring", Via::Ring),
            ("call", Via::Call),
            ("pipe", Via::Link(Transport::Pipe)),
            ("unix_stream", Via::Link(Transport::UnixStream)),
            ("unix_datagram", Via::Link(Transport::UnixDatagram)),
            ("tcp", Via::Link(Transport::Tcp)),
            ("udp", Via::Link(Transport::Udp)),
            ("mcast", Via::Mcast),
            ("aeron", Via::Link(Transport::Aeron)),
            ("rssl", Via::Link(Transport::Rssl)),
            ("raw", Via::Raw),
            // As the published test calls it.
            ("Eth", Via::Link(Transport::Tcp)),
        ],
    )
}

/// What a module does; `None` if its type is not known, and nothing else of it
/// can be read.
fn kind(table: &Table<'_, '_>) -> Option<Kind> {
    const TYPES: [&str; 13] = [
        "client",
        "server",
        "source",
        "sink",
        "forward",
        "work",
        "sequencer",
        "match",
        "fanout",
        "route",
        "merge",
        "delay",
        "journal",
    ];
    let name = table.needed("type")?;
    Some(match name.as_str() {
        "client" => Kind::Client(origin(table)),
        "source" => Kind::Source(origin(table)),
        "server" => server(table),
        "sink" => Kind::Sink,
        "forward" => Kind::Forward { acknowledges: table.flag("ack", false) },
        "work" => work(table),
        "sequencer" => Kind::Sequencer {
            in_turn: table.word("policy", &[("arrival", false), ("round_robin", true)]),
        },
        "match" => Kind::Match {
            share: table.number("share", 1.0, 0.0..=1.0),
            copies: table.whole("copies", 1, 1..=64) as u32,
        },
        "fanout" => Kind::Fanout,
        "route" => Kind::Route(table.word(
            "by",
            &[("id", Route::Id), ("round_robin", Route::RoundRobin), ("hash", Route::Hash)],
        )),
        "merge" => Kind::Merge,
        "delay" => Kind::Delay(DelaySpec {
            us: table.number("us", 0.0, 0.0..=10_000_000.0),
            jitter_us: table.number("jitter_us", 0.0, 0.0..=10_000_000.0),
            loss: table.number("loss", 0.0, 0.0..=1.0),
            duplicate: table.number("duplicate", 0.0, 0.0..=1.0),
            reorder: table.number("reorder", 0.0, 0.0..=1.0),
            seed: table.whole("seed", 1, 0..=u64::MAX),
        }),
        "journal" => journal(table),
        other => {
            let near = nearest(other, TYPES.into_iter());
            let what = format!("there is no module type `{other}`{near}");
            table.reader.fault(table.line, what);
            return None;
        }
    })
}

fn origin(table: &Table<'_, '_>) -> Origin {
    let most_rate = nwtool::MAX_RATE_PER_S as f64;
    let _ = table.flag("echo", false);
    Origin {
        rate_per_s: table.number("rate", 1000.0, 0.001..=most_rate),
        pacing: table.parsed("pacing", str::parse::<Pacing>).unwrap_or_default(),
        bytes: table.whole("size", 200, LEAST_BYTES as u64..=MAX_BYTES as u64) as usize,
        at_once: table.whole("count", 1, 1..=10_000),
        clients: table.whole("clients", 1, 1..=10_000),
        start_id: table.whole("start_id", 1, 0..=u64::from(u32::MAX)),
        delta_rate: table.number("delta_rate", 1.0, 0.001..=1000.0),
        window: table.whole("window", 65_536, 1..=1 << 24),
        messages: table.whole("messages", 0, 0..=u64::MAX),
        tracks: table.flag("track_origin", true),
        sample: table.whole("sample", 1, 1..=1 << 30),
    }
}

fn server(table: &Table<'_, '_>) -> Kind {
    let reply =
        table.word("reply", &[("full", Reply::Full), ("ack", Reply::Ack), ("none", Reply::None)]);
    let reply = if table.flag("echo", true) { reply } else { Reply::None };
    let bytes = table.whole("reply_size", 0, 0..=MAX_BYTES as u64);
    if bytes > 0 && bytes < HEAD_BYTES as u64 {
        table
            .reader
            .fault(table.line, format!("`reply_size` is 0 (the same) or {HEAD_BYTES} at least"));
    }
    Kind::Server { reply, reply_bytes: bytes as usize }
}

fn work(table: &Table<'_, '_>) -> Kind {
    const MOST_NS: u64 = 10_000_000_000;
    let fixed = table.whole("ns", 0, 0..=MOST_NS);
    let time = table.parsed("dist", distribution);
    if time.is_some() && table.has("ns") {
        table.reader.fault(table.line, "work has `ns` or `dist`, not both");
    }
    let by = table.word(
        "kind",
        &[("spin", WorkBy::Spin), ("memory", WorkBy::Memory { kib: 0 }), ("hash", WorkBy::Hash)],
    );
    let kib = table.whole("kib", 1024, 1..=1 << 20) as usize;
    let by = if by == (WorkBy::Memory { kib: 0 }) { WorkBy::Memory { kib } } else { by };
    Kind::Work { time: time.unwrap_or(WorkTime::Fixed(fixed)), by }
}

/// `uniform:A,B`, `exponential:M`, `lognormal:M,S`, `file:HISTOGRAM`.
fn distribution(text: &str) -> Result<WorkTime, String> {
    let wrong = || {
        "give uniform:A,B exponential:M lognormal:M,S (nanoseconds) or file:HISTOGRAM".to_owned()
    };
    let (name, of) = text.split_once(':').ok_or_else(wrong)?;
    if name == "file" {
        return measured(of);
    }
    let numbers: Vec<f64> = of
        .split(',')
        .map(|word| word.trim().parse().ok())
        .collect::<Option<_>>()
        .ok_or_else(wrong)?;
    if numbers.iter().any(|number| !(0.0..=1e10).contains(number)) {
        return Err(wrong());
    }
    match (name, &numbers[..]) {
        ("uniform", [least, most]) if least <= most => Ok(WorkTime::Uniform(*least, *most)),
        ("exponential", [mean]) => Ok(WorkTime::Exponential(*mean)),
        ("lognormal", [mean, stddev]) if *mean > 0.0 => Ok(WorkTime::LogNormal(*mean, *stddev)),
        _ => Err(wrong()),
    }
}

/// Times of a file that has a histogram as records have it.
fn measured(file: &str) -> Result<WorkTime, String> {
    /// So many times stand for all.
    const TIMES: u32 = 1024;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let nanos = from_hdr(text.trim())
        .ok_or_else(|| format!("{file} is no histogram: give the text of a record's `hdr`"))?;
    let at = |n: u32| nanos.value_at_quantile((f64::from(n) + 0.5) / f64::from(TIMES));
    Ok(WorkTime::Measured((0..TIMES).map(at).collect()))
}

fn journal(table: &Table<'_, '_>) -> Kind {
    Kind::Journal(JournalSpec {
        file: PathBuf::from(table.needed("file").unwrap_or_default()),
        mode: table.word("mode", &Mode::ALL.map(|mode| (mode.name(), mode))),
        sync_every: table.whole("sync_every", 0, 0..=u64::MAX),
        group_us: table.whole("group_us", 0, 0..=10_000_000),
        before: table.flag("before", true),
    })
}
