//! What an order takes through an exchange that runs, from a client's write to its
//! report, by how it is kept: not at all, in a journal, in three memories, on three
//! disks; beside a bare round trip over TCP. In turns, one order at a time.
//!
//! `cargo bench -p tapeline-exchange --bench order_path -- [ROUNDS] [ORDERS]`. The
//! journals are in a folder of the system's for temporary files (`TMPDIR`): what a
//! disk costs is that disk's.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_layout::Text;
use tapeline_ntg::client::NewOrder;
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Frames, Message};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tapeline-exchange");

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

type Failed = Box<dyn Error>;

/// The native path of the fifth seed: gateway 20, sequencer 11, matching 60,
/// distribution 10, hops 4 × 4 µs.
const PUBLISHED_US: u32 = 117;

/// An exchange as processes, and a client of it.
struct Exchange {
    name: &'static str,
    processes: Vec<Child>,
    client: Client,
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
    fn alone(name: &'static str, has_journal: bool) -> Result<Self, Failed> {
        let dir = tempfile::tempdir()?;
        let args = if has_journal { &["--journal", "journal"][..] } else { &[] };
        let (process, orders) = start(dir.path(), "", "one", args)?;
        let client = wait_for("a logon", || Client::log_on(&orders))?;
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
            let (process, orders) = start(dir.path(), &section, number, &args)?;
            processes.push(process);
            doors.push(orders);
        }
        let client = wait_for("a leader", || doors.iter().find_map(|door| Client::log_on(door)))?;
        Ok(Self { name, processes, client, _dir: dir, sent: 0 })
    }

    /// Nanoseconds from each order to its report.
    fn orders(&mut self, count: usize, times: &mut Vec<u64>) -> Result<(), Failed> {
        for _ in 0..count {
            self.sent += 1;
            let name = Text::new(&format!("N{}", self.sent));
            // Each second one trades with the one before.
            let order = NewOrder {
                cl_ord_id: name,
                clearing_account: 1,
                instrument_id: 7,
                order_type: 2,
                side: 1 + (self.sent % 2) as u8,
                quantity: 1,
                display: 1,
                limit: 1_000_000_000,
                capacity: 2,
                ..NewOrder::default()
            };
            times.push(self.client.round_trip(&order)?);
        }
        Ok(())
    }
}

/// Starts a process in a folder. Returns its door for orders, too.
fn start(dir: &Path, section: &str, name: &str, args: &[&str]) -> Result<(Child, String), Failed> {
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
    let orders = text.lines().find_map(|line| line.strip_prefix("orders="));
    Ok((process, orders.ok_or("no door for orders")?.to_owned()))
}

struct Client {
    stream: TcpStream,
    frames: Frames,
    bytes: Vec<u8>,
}

impl Client {
    fn log_on(door: &str) -> Option<Self> {
        let stream = TcpStream::connect(door).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
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

    fn round_trip(&mut self, order: &NewOrder) -> Result<u64, Failed> {
        let begun = Instant::now();
        self.say(&Message::NewOrder(*order))?;
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
        Exchange::alone("no journal", false)?,
        Exchange::alone("a journal", true)?,
        Exchange::of_three("three replicas, `memory`", "memory")?,
        Exchange::of_three("three replicas, `disk`", "disk")?,
    ];
    let mut floors = Vec::new();
    let mut times = [const { Vec::new() }; 4];
    let mut ratios = [const { Vec::new() }; 4];
    // The first round warms up.
    for round in 0..=rounds {
        let mut medians = [0.0; 4];
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
                ratio.push(median / medians[0]);
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
    println!(
        "| published, native path, parts in processes of their own (2019) | {PUBLISHED_US} | | | | | |"
    );
    Ok(())
}
