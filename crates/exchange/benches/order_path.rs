//! What an order takes through an exchange that runs, from a client's write to its
//! report, by how it is kept: not at all, in a journal, in three memories, on three
//! disks; by the native gateway and by FIX, with gateways in processes of their own, and
//! by processes that poll; beside bare round trips over TCP and the engine alone. In
//! turns, one order at a time: the next one is sent when the market data of the last one
//! has come on both lines, which is timed, too.
//!
//! `cargo bench -p tapeline-exchange --bench order_path -- [--with PROGRAM] [ROUNDS]
//! [ORDERS]`: with an echo on [Aeron Cluster](cluster::Cluster), if there is a program
//! for it. The journals are in a folder of the system's for temporary files (`TMPDIR`):
//! what a disk costs is that disk's.

mod clients;
mod cluster;
mod orders;

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_exchange::Market;
use tapeline_instrument::{Cause, Instrument, Price, Session, Side, TickTable};
use tapeline_matching::{
    Command as Asked, Config, Event, Kind, NewOrder, Owner, OwnerType, Passive, SelfMatch,
    TimeInForce,
};
use tempfile::TempDir;

use crate::clients::{Client, Fix, Native};
use crate::cluster::Cluster;

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

/// Those by FIX, and whose gateways are processes of their own, waiting and polling.
const FIX: usize = 1;
const APART: usize = 2;
const FIX_APART: usize = 3;
const POLLING: usize = 4;
const APART_POLLING: usize = 5;

/// The one that is beside clusters.
const IN_MEMORIES: usize = 7;

/// How many exchanges there are.
const EXCHANGES: usize = 9;

/// So long behind something that came those poll that do.
const BUSY_POLL: &str = "busy-poll-us = 200\n";

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
    lines: Lines,
    _dir: TempDir,
    sent: u64,
}

/// Who listens to both lines of market data.
struct Lines([UdpSocket; 2]);

impl Lines {
    fn bind() -> Result<Self, Failed> {
        let lines = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
        for line in &lines {
            line.set_read_timeout(Some(PATIENCE))?;
        }
        Ok(Self(lines))
    }

    /// What a market's file says of them.
    fn section(&self) -> Result<String, Failed> {
        let [a, b] = self.0.each_ref().map(UdpSocket::local_addr);
        Ok(format!("[market-data]\nline-a = \"{}\"\nline-b = \"{}\"\n", a?, b?))
    }

    /// Waits for the market data of an order. Returns when it has come on line A.
    fn tick(&self) -> Result<Instant, Failed> {
        let [a, b] = &self.0;
        let come = application(a).map(|()| Instant::now())?;
        application(b)?;
        Ok(come)
    }
}

/// Waits for a unit with messages of the market in it: no heartbeat, no time alone.
fn application(line: &UdpSocket) -> Result<(), Failed> {
    let mut unit = [0; 2048];
    loop {
        let len = line.recv(&mut unit)?;
        // Bytes 2 and 9: how many messages, and the type of the first.
        if len > 9 && (unit[2] > 1 || unit[2] == 1 && unit[9] != b'T') {
            return Ok(());
        }
    }
}

/// How each exchange of a run is.
#[derive(Clone, Copy)]
struct Layout {
    name: &'static str,
    /// The door that the client comes through.
    door: &'static str,
    /// What there is in the section of the gateway.
    gateway: &'static str,
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
    fn alone(layout: Layout, has_journal: bool) -> Result<Self, Failed> {
        let (dir, lines) = (tempfile::tempdir()?, Lines::bind()?);
        let args = if has_journal { &["run", "--journal", "journal"][..] } else { &["run"] };
        let sections = layout.sections("", &lines)?;
        let (process, at) = start(dir.path(), &sections, ("one", layout.door), args)?;
        Self::of(layout, vec![process], &at, (dir, lines))
    }

    /// A market, and a gateway in a process of its own.
    fn of_parts(layout: Layout) -> Result<Self, Failed> {
        let (dir, lines) = (tempfile::tempdir()?, Lines::bind()?);
        // The system chooses, and the market binds what it chose.
        let market = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let gateways = format!(
            "[gateways]\nmarkets = [\"{market}\"]\n[[gateways.apart]]\nnumber = 1\n\
             orders-port = 1\nrecovery-port = 2\nfix-port = 3\n"
        );
        let sections = layout.sections(&gateways, &lines)?;
        let (market, _) = start(dir.path(), &sections, ("market", "orders"), &["run"])?;
        let apart = ("gateway", layout.door);
        let (gateway, at) = start(dir.path(), &sections, apart, &["gateway"])?;
        Self::of(layout, vec![gateway, market], &at, (dir, lines))
    }

    /// Logs on.
    fn of(
        layout: Layout,
        processes: Vec<Child>,
        door: &str,
        (dir, lines): (TempDir, Lines),
    ) -> Result<Self, Failed> {
        let client: Box<dyn Client> = match layout.door {
            "fix" => Box::new(wait_for("a logon", || Fix::log_on(door))?),
            _ => Box::new(wait_for("a logon", || Native::log_on(door))?),
        };
        Ok(Self { name: layout.name, processes, client, lines, _dir: dir, sent: 0 })
    }

    /// Three replicas.
    fn of_three(name: &'static str, commit: &str) -> Result<Self, Failed> {
        let (dir, lines) = (tempfile::tempdir()?, Lines::bind()?);
        // The system chooses, and the replicas bind what it chose.
        let chosen =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
        let members = chosen
            .iter()
            .map(|it| it.local_addr().map(|at| at.to_string()))
            .collect::<Result<Vec<_>, _>>()?;
        drop(chosen);
        let replicas = format!(
            "[replicas]\nmembers = {members:?}\ncommit = \"{commit}\"\nelection-ms = 2000\n"
        );
        let layout = Layout { name, door: "orders", gateway: "" };
        let section = layout.sections(&replicas, &lines)?;
        let (mut processes, mut doors) = (Vec::new(), Vec::new());
        for number in ["1", "2", "3"] {
            let args = ["run", "--replica", number, "--journal", number];
            let (process, orders) = start(dir.path(), &section, (number, "orders"), &args)?;
            processes.push(process);
            doors.push(orders);
        }
        let client = wait_for("a leader", || doors.iter().find_map(|door| Native::log_on(door)))?;
        Ok(Self { name, processes, client: Box::new(client), lines, _dir: dir, sent: 0 })
    }

    /// Nanoseconds from each order to its report, and to its market data.
    fn orders(&mut self, count: usize, times: &mut Times) -> Result<(), Failed> {
        for _ in 0..count {
            self.sent += 1;
            let sent = self.client.round_trip(self.sent)?;
            times.to_ack.push(sent.elapsed().as_nanos() as u64);
            times.to_tick.push((self.lines.tick()? - sent).as_nanos() as u64);
        }
        Ok(())
    }
}

impl Layout {
    /// What is in the file of its processes.
    fn sections(&self, more: &str, lines: &Lines) -> Result<String, Failed> {
        let Self { gateway, .. } = self;
        Ok(format!("[gateway]\nthrottle-per-s = 1000000\n{gateway}{}{more}", lines.section()?))
    }
}

/// How long orders took, in nanoseconds.
#[derive(Clone, Default)]
struct Times {
    to_ack: Vec<u64>,
    to_tick: Vec<u64>,
}

impl Times {
    fn sort(&mut self) {
        self.to_ack.sort_unstable();
        self.to_tick.sort_unstable();
    }

    fn append(&mut self, other: &mut Self) {
        self.to_ack.append(&mut other.to_ack);
        self.to_tick.append(&mut other.to_tick);
    }
}

/// Starts a process in a folder. Returns where one of its doors is, too.
fn start(
    dir: &Path,
    sections: &str,
    (name, door): (&str, &str),
    args: &[&str],
) -> Result<(Child, String), Failed> {
    let text = format!(
        "{sections}[[instrument]]\nid = 7\nname = \"VOD.L\"\ntick = \"0.01\"\n\
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

/// Bare round trips: so many bytes to a thread that answers with so many. Both ends wait
/// in the system for what comes, or poll for it.
fn floor(
    count: usize,
    (asked, told): (usize, usize),
    polls: bool,
    times: &mut Vec<u64>,
) -> Result<(), Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut here = TcpStream::connect(listener.local_addr()?)?;
    let (mut there, _) = listener.accept()?;
    for end in [&here, &there] {
        end.set_nodelay(true)?;
        end.set_nonblocking(polls)?;
    }
    let echo = thread::spawn(move || {
        let (mut order, report) = (vec![0; asked], vec![7; told]);
        while take(&mut there, &mut order).is_ok() && there.write_all(&report).is_ok() {}
    });
    let (order, mut report) = (vec![7; asked], vec![0; told]);
    for _ in 0..count {
        let begun = Instant::now();
        here.write_all(&order)?;
        take(&mut here, &mut report)?;
        times.push(begun.elapsed().as_nanos() as u64);
    }
    drop(here);
    echo.join().map_err(|_| "the echo failed")?;
    Ok(())
}

/// Reads as much as there is room for.
fn take(stream: &mut TcpStream, room: &mut [u8]) -> io::Result<()> {
    let mut at = 0;
    while at < room.len() {
        match stream.read(&mut room[at..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => at += len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
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
            owner_type: OwnerType::Any,
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
    times: [Times; EXCHANGES],
    /// The hops of those that wait, of those that poll, and the engine alone.
    beside: [Vec<u64>; 5],
    /// Of each round: medians of exchanges by each other, or by what is beside them.
    ratios: Vec<[f64; RATIOS.len()]>,
}

/// What of the medians and what is beside them is told as ratios, and what it may be.
const RATIOS: [(&str, Option<f64>); 6] = [
    ("FIX by native", Some(1.3)),
    ("FIX by native, gateways apart", Some(1.3)),
    ("gateway apart, by its hops and the engine", Some(GOALS[0])),
    ("gateway apart, polling, by the same hops", Some(GOALS[0])),
    ("gateway apart, polling, by hops that poll", Some(GOALS[0])),
    ("polling by waiting, one process", None),
];

/// The ratios of one round, or of all.
fn ratios(times: &[Times; EXCHANGES], beside: &[Vec<u64>; 5]) -> [f64; RATIOS.len()] {
    let of = |at: usize| part(&times[at].to_ack, 0.5);
    let [client, link, client_polls, link_polls, engine] =
        beside.each_ref().map(|times| part(times, 0.5));
    let (hops, hops_poll) = (client + link + engine, client_polls + link_polls + engine);
    [
        of(FIX) / of(PLAIN),
        of(FIX_APART) / of(APART),
        of(APART) / hops,
        of(APART_POLLING) / hops,
        of(APART_POLLING) / hops_poll,
        of(POLLING) / of(PLAIN),
    ]
}

impl Measured {
    fn round(
        &mut self,
        all: &mut [Exchange; EXCHANGES],
        clusters: &mut [Cluster],
        count: usize,
        is_warm: bool,
    ) -> Result<(), Failed> {
        let mut beside = [const { Vec::new() }; 5];
        for (at, times) in beside[..4].iter_mut().enumerate() {
            let (_, asked, told) = HOPS[at % 2];
            floor(count, (asked, told), at >= 2, times)?;
        }
        engine(count, &mut beside[4])?;
        let mut times = [const { Times { to_ack: Vec::new(), to_tick: Vec::new() } }; EXCHANGES];
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
        beside.iter_mut().chain(&mut echoes).for_each(|times| times.sort_unstable());
        times.iter_mut().for_each(Times::sort);
        for (cluster, echoes) in clusters.iter_mut().zip(echoes) {
            cluster.compare(echoes, &times[IN_MEMORIES].to_ack);
        }
        self.ratios.push(ratios(&times, &beside));
        self.times.iter_mut().zip(&mut times).for_each(|(all, times)| all.append(times));
        self.beside.iter_mut().zip(&mut beside).for_each(|(all, times)| all.append(times));
        Ok(())
    }

    fn sort(&mut self) {
        self.times.iter_mut().for_each(Times::sort);
        self.beside.iter_mut().for_each(|times| times.sort_unstable());
    }

    /// The ratios, beside their goals.
    fn tell(&self) {
        println!("\n| p50 of all rounds | ratio | least, median, most of a round | goal |");
        println!("|---|--:|---|---|");
        let whole = ratios(&self.times, &self.beside);
        for (at, (name, goal)) in RATIOS.into_iter().enumerate() {
            let mut rounds: Vec<f64> = self.ratios.iter().map(|ratios| ratios[at]).collect();
            rounds.sort_unstable_by(f64::total_cmp);
            let [least, median, most] = spread(&rounds);
            let is_met = goal.map(|goal| (goal, if whole[at] <= goal { "met" } else { "missed" }));
            let goal = is_met.map_or_else(String::new, |(goal, is)| format!("{goal}: {is}"));
            println!("| {name} | {:.2} | {least:.2}, {median:.2}, {most:.2} | {goal} |", whole[at]);
        }
        let hops: f64 = [0, 1, 4].into_iter().map(|at| part(&self.beside[at], 0.99)).sum();
        for (name, at) in [("waiting", APART), ("polling", APART_POLLING)] {
            let ratio = part(&self.times[at].to_ack, 0.99) / hops;
            let is = if ratio <= GOALS[1] { "met" } else { "missed" };
            println!("| gateway apart, {name}, p99 | {ratio:.2} | | {}: {is} |", GOALS[1]);
        }
    }
}

/// The least, the middle and the most of some that are sorted.
fn spread(ratios: &[f64]) -> [f64; 3] {
    [0, ratios.len() / 2, ratios.len() - 1].map(|at| ratios[at])
}

fn row(name: &str, times: &[u64], to_tick: &[u64]) {
    let [p50, p99, p999, most] = [0.5, 0.99, 0.999, 1.0].map(|at| part(times, at));
    print!("| {name} | {p50:.1} | {p99:.1} | {p999:.1} | {most:.0} |");
    match to_tick {
        [] => println!(" | |"),
        _ => println!(" {:.1} | {:.1} |", part(to_tick, 0.5), part(to_tick, 0.99)),
    }
}

/// The program after `--with`.
fn with() -> Option<PathBuf> {
    env::args_os().skip_while(|arg| arg != "--with").nth(1).map(PathBuf::from)
}

/// The exchanges of a run.
fn exchanges() -> Result<[Exchange; EXCHANGES], Failed> {
    let of = |name, door, gateway| Layout { name, door, gateway };
    Ok([
        Exchange::alone(of("no journal", "orders", ""), false)?,
        Exchange::alone(of("the same by FIX", "fix", ""), false)?,
        Exchange::of_parts(of("the gateway a process of its own", "orders", ""))?,
        Exchange::of_parts(of("the same by FIX", "fix", ""))?,
        Exchange::alone(of("no journal, polling", "orders", BUSY_POLL), false)?,
        Exchange::of_parts(of("the gateway a process of its own, polling", "orders", BUSY_POLL))?,
        Exchange::alone(of("a journal", "orders", ""), true)?,
        Exchange::of_three("three replicas, `memory`", "memory")?,
        Exchange::of_three("three replicas, `disk`", "disk")?,
    ])
}

fn main() -> Result<(), Failed> {
    let mut numbers = env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let (rounds, count) = (numbers.next().unwrap_or(9), numbers.next().unwrap_or(500));
    let count = (count / 2).max(1) * 2;
    // First, as it takes longer than an exchange waits for a client that says nothing.
    let mut clusters = with().map_or_else(Vec::new, |program| Cluster::all(&program));
    let mut all = exchanges()?;
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
    println!("| | p50 | p99 | p99.9 | max | to tick p50 | p99 |");
    println!("|---|---|---|---|---|---|---|");
    for (at, times) in measured.beside[..4].iter().enumerate() {
        let how = if at < 2 { "" } else { ", polling" };
        row(&format!("{}{how}", HOPS[at % 2].0), times, &[]);
    }
    row("the engine and market data alone", &measured.beside[4], &[]);
    for (exchange, times) in all.iter().zip(&measured.times) {
        row(exchange.name, &times.to_ack, &times.to_tick);
    }
    for cluster in &clusters {
        row(&cluster.name, &cluster.times, &[]);
    }
    for (path, us) in PUBLISHED {
        println!("| published, {path}, parts in processes of their own (2019) | {us} | | | | | |");
    }
    measured.tell();
    clusters.iter().for_each(Cluster::tell);
    Ok(())
}
