//! What an order takes through an exchange that runs, from a client's write to its
//! report, by how it is kept: not at all, in a journal, in three memories, on three
//! disks; by the native gateway, by FIX, and by a native gateway in a process of its own;
//! beside bare round trips over TCP and the engine alone. In turns, one order at a time.
//!
//! `cargo bench -p tapeline-exchange --bench order_path -- [--with PROGRAM] [ROUNDS]
//! [ORDERS]`: with an echo on [Aeron Cluster](cluster::Cluster), if there is a program
//! for it. The journals are in a folder of the system's for temporary files (`TMPDIR`):
//! what a disk costs is that disk's.

mod cluster;
mod orders;

use std::env;
use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tapeline_exchange::Market;
use tapeline_fix::{Credentials, Initiator, Store, Verdict, Writer, tag};
use tapeline_instrument::{Cause, Instrument, Price, Session, Side, TickTable};
use tapeline_layout::Text;
use tapeline_matching::{
    Command as Asked, Config, Event, Kind, NewOrder, Owner, Passive, SelfMatch, TimeInForce,
};
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Frames, Message};
use tapeline_time::Time;
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::orders::native_order;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tapeline-exchange");

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

type Failed = Box<dyn Error>;

/// What was published of parts in processes of their own, 2019: gateway 20, sequencer
/// 11, matching 60, distribution 10, hops 4 × 4 µs; by FIX a gateway of 70, 20 of a part
/// that is not explained, and a hop more.
const PUBLISHED: [(&str, u32); 2] = [("native", 117), ("FIX", 191)];

/// Of which the others are told as multiples.
const PLAIN: usize = 0;

/// The one whose gateway is a process of its own.
const APART: usize = 2;

/// The one that is beside clusters.
const IN_MEMORIES: usize = 4;

/// Bytes of an order and of a report, as a client has them, and on the link between a
/// gateway and its market: with the head of a word, and what is in front of a request.
const HOPS: [(&str, usize, usize); 2] = [
    ("bare round trip over TCP, as of a client", 125, 155),
    ("the same, as of a gateway and its market", 8 + 24 + 125, 8 + 155),
];

/// What the path with one process per part may take of the hops and the engine alone, at
/// the median and at p99.
const GOALS: [f64; 2] = [1.5, 3.0];

/// An exchange as processes, and a client of it.
struct Exchange {
    name: &'static str,
    processes: Vec<Child>,
    client: Box<dyn Client>,
    _dir: TempDir,
    sent: u64,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Waits for something.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, Failed> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(found) = look() {
            return Ok(found);
        }
        thread::park_timeout(Duration::from_millis(5));
    }
    Err(format!("waited in vain for {what}").into())
}

impl Exchange {
    /// One process, with a journal or without.
    fn alone(name: &'static str, door: &str, has_journal: bool) -> Result<Self, Failed> {
        let dir = tempfile::tempdir()?;
        let args = if has_journal { &["run", "--journal", "journal"][..] } else { &["run"] };
        let (process, at) = start(dir.path(), "", ("one", door), args)?;
        let client: Box<dyn Client> = match door {
            "fix" => Box::new(wait_for("a logon", || Fix::log_on(&at))?),
            _ => Box::new(wait_for("a logon", || Native::log_on(&at))?),
        };
        Ok(Self { name, processes: vec![process], client, _dir: dir, sent: 0 })
    }

    /// A market, and a gateway in a process of its own.
    fn of_parts(name: &'static str) -> Result<Self, Failed> {
        let dir = tempfile::tempdir()?;
        // The system chooses, and the market binds what it chose.
        let market = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let section = format!(
            "[gateways]\nmarkets = [\"{market}\"]\n\
             [[gateways.apart]]\nnumber = 1\norders-port = 1\nrecovery-port = 2\n"
        );
        let (market, _) = start(dir.path(), &section, ("market", "orders"), &["run"])?;
        let (gateway, at) = start(dir.path(), &section, ("gateway", "orders"), &["gateway"])?;
        let client = Box::new(wait_for("a logon", || Native::log_on(&at))?);
        Ok(Self { name, processes: vec![gateway, market], client, _dir: dir, sent: 0 })
    }

    /// Three replicas.
    fn of_three(name: &'static str, commit: &str) -> Result<Self, Failed> {
        let dir = tempfile::tempdir()?;
        // The system chooses, and the replicas bind what it chose.
        let chosen =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
        let members = chosen
            .iter()
            .map(|it| it.local_addr().map(|at| at.to_string()))
            .collect::<Result<Vec<_>, _>>()?;
        drop(chosen);
        let section = format!(
            "[replicas]\nmembers = {members:?}\ncommit = \"{commit}\"\nelection-ms = 2000\n"
        );
        let (mut processes, mut doors) = (Vec::new(), Vec::new());
        for number in ["1", "2", "3"] {
            let args = ["run", "--replica", number, "--journal", number];
            let (process, orders) = start(dir.path(), &section, (number, "orders"), &args)?;
            processes.push(process);
            doors.push(orders);
        }
        let client = wait_for("a leader", || doors.iter().find_map(|door| Native::log_on(door)))?;
        Ok(Self { name, processes, client: Box::new(client), _dir: dir, sent: 0 })
    }

    /// Nanoseconds from each order to its report.
    fn orders(&mut self, count: usize, times: &mut Vec<u64>) -> Result<(), Failed> {
        for _ in 0..count {
            self.sent += 1;
            times.push(self.client.round_trip(self.sent)?);
        }
        Ok(())
    }
}

/// Starts a process in a folder. Returns where one of its doors is, too.
fn start(
    dir: &Path,
    section: &str,
    (name, door): (&str, &str),
    args: &[&str],
) -> Result<(Child, String), Failed> {
    let text = format!(
        "{section}[gateway]\nthrottle-per-s = 1000000\n\
         [market-data]\nline-a = \"127.0.0.1:9\"\n\
         [[instrument]]\nid = 7\nname = \"VOD.L\"\ntick = \"0.01\"\n\
         [[user]]\nname = \"ANN\"\npassword = \"a-secret1\"\nfirm = 1\n"
    );
    fs::write(dir.join("market.toml"), text)?;
    let ready = format!("ready-{name}");
    let process = Command::new(PROGRAM)
        .current_dir(dir)
        .args(args)
        .args(["--any-port", "--log", "error", "--ready-file", &ready])
        .arg("market.toml")
        .stdout(Stdio::null())
        .spawn()?;
    let text = wait_for("the exchange to listen", || fs::read_to_string(dir.join(&ready)).ok())?;
    let mut doors = text.lines().filter_map(|line| line.split_once('='));
    let at = doors.find_map(|(name, at)| (name == door).then(|| at.to_owned()));
    Ok((process, at.ok_or("there is no such door")?))
}

/// Whoever sends orders, one at a time.
trait Client {
    /// Sends an order and waits for its report. Each second one trades with the one
    /// before. Returns how long it took, in nanoseconds.
    fn round_trip(&mut self, number: u64) -> Result<u64, Failed>;
}

fn connect(door: &str) -> Option<TcpStream> {
    let stream = TcpStream::connect(door).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    Some(stream)
}

/// By the native gateway.
struct Native {
    stream: TcpStream,
    frames: Frames,
    bytes: Vec<u8>,
}

impl Native {
    fn log_on(door: &str) -> Option<Self> {
        let stream = connect(door)?;
        let mut client = Self { stream, frames: Frames::default(), bytes: Vec::new() };
        let (user, password) = (Text::new("ANN"), Text::new("a-secret1"));
        client
            .say(&Message::Logon(Logon { user, password, version: 1, ..Logon::default() }))
            .ok()?;
        let mut is_in = None;
        while is_in.is_none() {
            client
                .hear(|message| {
                    if let Message::LogonReply(reply) = message {
                        is_in = Some(reply.reject_code == 0);
                    }
                })
                .ok()?;
        }
        (is_in == Some(true)).then_some(client)
    }

    fn say(&mut self, message: &Message) -> Result<(), Failed> {
        self.bytes.clear();
        message.append(&mut self.bytes);
        Ok(self.stream.write_all(&self.bytes)?)
    }

    /// Waits for something to come, and looks at it.
    fn hear(&mut self, mut each: impl FnMut(Message)) -> Result<(), Failed> {
        let mut room = [0; 4096];
        let len = self.stream.read(&mut room)?;
        if len == 0 {
            return Err("the exchange closed the connection".into());
        }
        let read = self.frames.read(&room[..len], |frame| {
            Message::read(frame).into_iter().for_each(&mut each);
            true
        });
        read.map_err(|_| "what came are no messages")?;
        Ok(())
    }
}

impl Client for Native {
    fn round_trip(&mut self, number: u64) -> Result<u64, Failed> {
        let order = native_order(number);
        let begun = Instant::now();
        self.say(&Message::NewOrder(order))?;
        let mut is_there = false;
        while !is_there {
            self.hear(|message| {
                if let Message::ExecutionReport(report) = message {
                    is_there |= report.cl_ord_id == order.cl_ord_id;
                }
            })?;
        }
        Ok(begun.elapsed().as_nanos() as u64)
    }
}

/// By FIX.
struct Fix {
    stream: TcpStream,
    initiator: Initiator,
    store: Store,
    bytes: Vec<u8>,
}

impl Fix {
    fn log_on(door: &str) -> Option<Self> {
        let initiator = Initiator::new(Time::ZERO, b"ANN", b"FGW", 60);
        let (store, bytes) = (Store::new(1_000), Vec::new());
        let mut client = Self { stream: connect(door)?, initiator, store, bytes };
        let credentials = Credentials { password: b"a-secret1", ..Credentials::default() };
        let Self { initiator, store, bytes, .. } = &mut client;
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        initiator.log_on(Time::ZERO, now_ns(), &credentials, store, send);
        client.write().ok()?;
        while !client.initiator.is_active() {
            client.hear(|_| {}).ok()?;
        }
        Some(client)
    }

    fn write(&mut self) -> Result<(), Failed> {
        self.stream.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    fn hear(&mut self, each: impl FnMut(&tapeline_fix::Message<'_>)) -> Result<(), Failed> {
        let mut room = [0; 4096];
        let len = self.stream.read(&mut room)?;
        let Self { initiator, store, bytes, .. } = self;
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        match initiator.received(Time::ZERO, now_ns(), &room[..len], store, send, each) {
            Verdict::Open if len > 0 => self.write(),
            _ => Err("the exchange closed the connection".into()),
        }
    }
}

impl Client for Fix {
    fn round_trip(&mut self, number: u64) -> Result<u64, Failed> {
        let name = format!("N{number}");
        let side = b'1' + (number % 2) as u8;
        let begun = Instant::now();
        let order = |fields: &mut Writer<'_>| {
            fields.text(tag::CL_ORD_ID, name.as_bytes());
            fields.byte(tag::SECURITY_ID, b'7').byte(tag::SECURITY_ID_SOURCE, b'8');
            fields.byte(tag::ORD_TYPE, b'2').byte(tag::SIDE, side).byte(tag::ORDER_QTY, b'1');
            fields.byte(tag::DISPLAY_QTY, b'1').decimal(tag::PRICE, 1_000_000_000);
            fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, b"DESK");
            fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, 76);
            fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
            fields.time(tag::TRANSACT_TIME, now_ns());
        };
        let Self { initiator, store, bytes, .. } = self;
        let send = |sent: &[u8]| bytes.extend_from_slice(sent);
        initiator.send(Time::ZERO, now_ns(), b"D", order, store, send);
        self.write()?;
        let mut is_there = false;
        while !is_there {
            self.hear(|message| is_there |= message.get(tag::CL_ORD_ID) == Some(name.as_bytes()))?;
        }
        Ok(begun.elapsed().as_nanos() as u64)
    }
}

/// Nanoseconds since 1970 UTC.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Bare round trips: so many bytes to a thread that answers with so many.
fn floor(count: usize, (asked, told): (usize, usize), times: &mut Vec<u64>) -> Result<(), Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut here = TcpStream::connect(listener.local_addr()?)?;
    let (mut there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    let echo = thread::spawn(move || {
        let (mut order, report) = (vec![0; asked], vec![7; told]);
        while there.read_exact(&mut order).is_ok() && there.write_all(&report).is_ok() {}
    });
    let (order, mut report) = (vec![7; asked], vec![0; told]);
    for _ in 0..count {
        let begun = Instant::now();
        here.write_all(&order)?;
        here.read_exact(&mut report)?;
        times.push(begun.elapsed().as_nanos() as u64);
    }
    drop(here);
    echo.join().map_err(|_| "the echo failed")?;
    Ok(())
}

/// The engine and its market data alone, for the orders that the clients send.
fn engine(count: usize, times: &mut Vec<u64>) -> Result<(), Failed> {
    let mut market = Market::new(&Config::default(), b'A');
    let instrument = Instrument::new(7, "VOD.L", TickTable::flat(Price(1_000_000))?);
    let book = market.add(0, instrument, &mut |_| {});
    for session in [Session::OpeningCall, Session::Regular] {
        let cause = Cause::Scheduled;
        market.handle(0, &Asked::Session { book, session, cause }, &mut |_| {});
    }
    let mut trades = 0;
    for number in 0..count {
        let order = NewOrder {
            book,
            owner: Owner { firm: 1, user: 0 },
            side: if number % 2 == 0 { Side::Buy } else { Side::Sell },
            kind: Kind::Limit(Price(1_000_000_000)),
            quantity: 1,
            display: 1,
            time_in_force: TimeInForce::Day,
            passive: Passive::No,
            self_match: SelfMatch::Allowed,
            group: 0,
            is_named: false,
            is_random_peak: false,
            is_quote: false,
        };
        let begun = Instant::now();
        let events = market.handle(1 + number as u64, &Asked::New(order), &mut |_| {});
        times.push(begun.elapsed().as_nanos() as u64);
        trades += events.iter().filter(|event| matches!(event, Event::Traded { .. })).count();
    }
    match trades == count / 2 {
        true => Ok(()),
        false => Err(format!("{trades} trades of {count} orders").into()),
    }
}

/// A part of all times, sorted, in microseconds.
fn part(times: &[u64], part: f64) -> f64 {
    times[((times.len() - 1) as f64 * part) as usize] as f64 / 1e3
}

/// What was measured, in rounds.
#[derive(Default)]
struct Measured {
    /// Of each exchange, and of what is beside them: the hops, and the engine alone.
    times: [Vec<u64>; 6],
    beside: [Vec<u64>; 3],
    /// Of each round: each exchange's median by the plain one's, and that of the one in
    /// parts by what is beside it.
    ratios: [Vec<f64>; 6],
    in_parts: Vec<f64>,
}

impl Measured {
    fn round(
        &mut self,
        all: &mut [Exchange; 6],
        clusters: &mut [Cluster],
        count: usize,
        is_warm: bool,
    ) -> Result<(), Failed> {
        let mut beside = [const { Vec::new() }; 3];
        for ((_, asked, told), times) in HOPS.iter().zip(&mut beside) {
            floor(count, (*asked, *told), times)?;
        }
        engine(count, &mut beside[2])?;
        let mut times = [const { Vec::new() }; 6];
        let mut echoes = Vec::new();
        for (at, (exchange, times)) in all.iter_mut().zip(&mut times).enumerate() {
            exchange.orders(count, times)?;
            if at == IN_MEMORIES {
                for cluster in &mut *clusters {
                    echoes.push(cluster.turn(count)?);
                }
            }
        }
        if !is_warm {
            return Ok(());
        }
        for times in &mut echoes {
            times.sort_unstable();
        }
        beside.iter_mut().chain(&mut times).for_each(|times| times.sort_unstable());
        let medians = times.each_ref().map(|times| part(times, 0.5));
        for (ratio, median) in self.ratios.iter_mut().zip(medians) {
            ratio.push(median / medians[PLAIN]);
        }
        for (cluster, echoes) in clusters.iter_mut().zip(echoes) {
            cluster.compare(echoes, &times[IN_MEMORIES]);
        }
        let parts: f64 = beside.iter().map(|times| part(times, 0.5)).sum();
        self.in_parts.push(medians[APART] / parts);
        self.times.iter_mut().zip(&mut times).for_each(|(all, times)| all.append(times));
        self.beside.iter_mut().zip(&mut beside).for_each(|(all, times)| all.append(times));
        Ok(())
    }

    fn sort(&mut self) {
        self.times.iter_mut().chain(&mut self.beside).for_each(|times| times.sort_unstable());
        let ratios = self.ratios.iter_mut().chain([&mut self.in_parts]);
        ratios.for_each(|ratios| ratios.sort_unstable_by(f64::total_cmp));
    }

    /// How the path with one process per part stands to its hops and the engine.
    fn tell_in_parts(&self) {
        let of = |at: f64| self.beside.iter().map(|times| part(times, at)).sum::<f64>();
        let (p50, p99) = (of(0.5), of(0.99));
        let whole = &self.times[APART];
        let [least, median, most] = spread(&self.in_parts);
        let [goal, goal_99] = GOALS;
        println!(
            "\nnative path, one process per part, by its hops and the engine alone ({p50:.1} and \
             {p99:.1} µs):\np50 {median:.2} (rounds {least:.2} to {most:.2}; goal {goal}), p99 \
             {:.2} (goal {goal_99})",
            part(whole, 0.99) / p99
        );
    }
}

/// The least, the middle and the most of some that are sorted.
fn spread(ratios: &[f64]) -> [f64; 3] {
    [0, ratios.len() / 2, ratios.len() - 1].map(|at| ratios[at])
}

fn row(name: &str, times: &[u64]) {
    let [p50, p99, p999, most] = [0.5, 0.99, 0.999, 1.0].map(|at| part(times, at));
    print!("| {name} | {p50:.1} | {p99:.1} | {p999:.1} | {most:.0} |");
}

/// The program after `--with`.
fn with() -> Option<PathBuf> {
    env::args_os().skip_while(|arg| arg != "--with").nth(1).map(PathBuf::from)
}

fn main() -> Result<(), Failed> {
    let mut numbers = env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let (rounds, count) = (numbers.next().unwrap_or(9), numbers.next().unwrap_or(500));
    let count = (count / 2).max(1) * 2;
    // First, as it takes longer than an exchange waits for a client that says nothing.
    let mut clusters = with().map_or_else(Vec::new, |program| Cluster::all(&program));
    let mut all = [
        Exchange::alone("no journal", "orders", false)?,
        Exchange::alone("no journal, by FIX", "fix", false)?,
        Exchange::of_parts("no journal, the gateway in a process of its own")?,
        Exchange::alone("a journal", "orders", true)?,
        Exchange::of_three("three replicas, `memory`", "memory")?,
        Exchange::of_three("three replicas, `disk`", "disk")?,
    ];
    let mut measured = Measured::default();
    // The first round warms up.
    for round in 0..=rounds {
        measured.round(&mut all, &mut clusters, count, round > 0)?;
    }
    measured.sort();
    clusters.iter_mut().for_each(Cluster::sort);
    println!(
        "{rounds} rounds of {count} orders in turns, one at a time; µs from write to report\n"
    );
    println!("| | p50 | p99 | p99.9 | max | × no journal | least, most of a round |");
    println!("|---|---|---|---|---|---|---|");
    let hops = HOPS.iter().map(|(name, ..)| *name);
    for (name, times) in hops.chain(["the engine and market data alone"]).zip(&measured.beside) {
        row(name, times);
        println!(" | |");
    }
    for (at, exchange) in all.iter().enumerate() {
        row(exchange.name, &measured.times[at]);
        let [least, median, most] = spread(&measured.ratios[at]);
        println!(" {median:.2} | {least:.2}, {most:.2} |");
    }
    for cluster in &clusters {
        row(&cluster.name, &cluster.times);
        println!(" | |");
    }
    for (path, us) in PUBLISHED {
        println!("| published, {path}, parts in processes of their own (2019) | {us} | | | | | |");
    }
    measured.tell_in_parts();
    clusters.iter().for_each(Cluster::tell);
    Ok(())
}
