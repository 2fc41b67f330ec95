//! What an order takes through an exchange that runs, from a client's write to its
//! report, by how it is kept: not at all, in a journal, in three memories, on three
//! disks; by the native gateway, and by FIX; beside a bare round trip over TCP. In
//! turns, one order at a time.
//!
//! `cargo bench -p tapeline-exchange --bench order_path -- [ROUNDS] [ORDERS]`. The
//! journals are in a folder of the system's for temporary files (`TMPDIR`): what a
//! disk costs is that disk's.

mod orders;

use std::env;
use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tapeline_fix::{Credentials, Initiator, Store, Verdict, Writer, tag};
use tapeline_layout::Text;
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Frames, Message};
use tapeline_time::Time;
use tempfile::TempDir;

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
        let args = if has_journal { &["--journal", "journal"][..] } else { &[] };
        let (process, at) = start(dir.path(), "", ("one", door), args)?;
        let client: Box<dyn Client> = match door {
            "fix" => Box::new(wait_for("a logon", || Fix::log_on(&at))?),
            _ => Box::new(wait_for("a logon", || Native::log_on(&at))?),
        };
        Ok(Self { name, processes: vec![process], client, _dir: dir, sent: 0 })
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
            let args = ["--replica", number, "--journal", number];
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
        .args(["run", "--any-port", "--log", "error", "--ready-file", &ready])
        .args(args)
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

/// A bare round trip: an order's bytes to a thread that answers with a report's.
fn floor(count: usize, times: &mut Vec<u64>) -> Result<(), Failed> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut here = TcpStream::connect(listener.local_addr()?)?;
    let (mut there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    let echo = thread::spawn(move || {
        let mut order = [0; 125];
        while there.read_exact(&mut order).is_ok() && there.write_all(&[7; 155]).is_ok() {}
    });
    let mut report = [0; 155];
    for _ in 0..count {
        let begun = Instant::now();
        here.write_all(&[7; 125])?;
        here.read_exact(&mut report)?;
        times.push(begun.elapsed().as_nanos() as u64);
    }
    drop(here);
    echo.join().map_err(|_| "the echo failed")?;
    Ok(())
}

/// A part of all times, sorted, in microseconds.
fn part(times: &[u64], part: f64) -> f64 {
    times[((times.len() - 1) as f64 * part) as usize] as f64 / 1e3
}

fn main() -> Result<(), Failed> {
    let mut numbers = env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let (rounds, count) = (numbers.next().unwrap_or(9), numbers.next().unwrap_or(500));
    let mut all = [
        Exchange::alone("no journal", "orders", false)?,
        Exchange::alone("no journal, by FIX", "fix", false)?,
        Exchange::alone("a journal", "orders", true)?,
        Exchange::of_three("three replicas, `memory`", "memory")?,
        Exchange::of_three("three replicas, `disk`", "disk")?,
    ];
    let mut floors = Vec::new();
    let mut times = [const { Vec::new() }; 5];
    let mut ratios = [const { Vec::new() }; 5];
    // The first round warms up.
    for round in 0..=rounds {
        let mut medians = [0.0; 5];
        let mut bare = Vec::with_capacity(count);
        floor(count, &mut bare)?;
        for (at, exchange) in all.iter_mut().enumerate() {
            let mut own = Vec::with_capacity(count);
            exchange.orders(count, &mut own)?;
            own.sort_unstable();
            medians[at] = part(&own, 0.5);
            if round > 0 {
                times[at].append(&mut own);
            }
        }
        if round > 0 {
            floors.append(&mut bare);
            for (ratio, median) in ratios.iter_mut().zip(medians) {
                ratio.push(median / medians[PLAIN]);
            }
        }
    }
    println!(
        "{rounds} rounds of {count} orders in turns, one at a time; µs from write to report\n"
    );
    println!("| | p50 | p99 | p99.9 | max | × no journal | least, most of a round |");
    println!("|---|---|---|---|---|---|---|");
    floors.sort_unstable();
    let row = |name: &str, times: &[u64]| {
        let [p50, p99, p999, most] = [0.5, 0.99, 0.999, 1.0].map(|at| part(times, at));
        print!("| {name} | {p50:.1} | {p99:.1} | {p999:.1} | {most:.0} |");
    };
    row("bare round trip over TCP", &floors);
    println!(" | |");
    for (at, exchange) in all.iter().enumerate() {
        times[at].sort_unstable();
        ratios[at].sort_unstable_by(f64::total_cmp);
        row(exchange.name, &times[at]);
        let [least, middle, most] = [0, ratios[at].len() / 2, ratios[at].len() - 1];
        let ratio = |place: usize| ratios[at][place];
        println!(" {:.2} | {:.2}, {:.2} |", ratio(middle), ratio(least), ratio(most));
    }
    for (path, us) in PUBLISHED {
        println!("| published, {path}, parts in processes of their own (2019) | {us} | | | | | |");
    }
    Ok(())
}
