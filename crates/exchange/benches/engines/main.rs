//! The engine beside others: the same flows of orders, the same results, in turns.
//!
//! `cargo bench -p tapeline-exchange --bench engines -- [--with PROGRAM] FILE…`: beside
//! matchcore, and exchange-core in a [program](program::Program) if there is one; with `--count
//! ours|matchcore FILE` one of them runs once, for callgrind.

mod peer;
mod program;

use std::env;
use std::error::Error;
use std::hint::spin_loop;
use std::path::Path;
use std::slice;
use std::time::Instant;

use tapeline_exchange::{Flow, Message, Report, Runner, hash};

use peer::Peer;
use program::Program;

const TURNS: usize = 9;

/// Turns at a pace, and the pace in messages a second.
const PACED_TURNS: usize = 5;
const PACE_PER_S: u64 = 1_000_000;

/// Turns in which an engine that is compiled as it runs gets warm.
const WARM_UP: usize = 4;

/// How an engine did: messages a second, turn by turn, and the hash of its result.
struct Rates {
    name: &'static str,
    per_s: Vec<f64>,
    hash: String,
}

impl Rates {
    fn new(name: &'static str) -> Self {
        Self { name, per_s: Vec::new(), hash: String::new() }
    }

    fn median(&mut self) -> f64 {
        self.per_s.sort_by(f64::total_cmp);
        self.per_s[self.per_s.len() / 2]
    }

    /// Prints it beside ours.
    fn print(&mut self, own: f64, own_hash: &str) {
        let median = self.median();
        let (low, high) = (self.per_s[0], self.per_s[self.per_s.len() - 1]);
        let is_same = if self.hash == own_hash { "the same result" } else { "ANOTHER RESULT" };
        println!(
            "  {:<14} {:6.2} M/s  ({:.2} to {:.2})  ratio {:5.2}  {is_same}",
            self.name,
            median / 1e6,
            low / 1e6,
            high / 1e6,
            own / median,
        );
    }
}

/// One turn: messages a second, and the result.
fn ours(flow: &Flow) -> Result<(f64, Vec<Report>), Box<dyn Error>> {
    let mut runner = Runner::new(flow)?;
    let start = Instant::now();
    runner.run(flow.messages());
    Ok((flow.messages().len() as f64 / start.elapsed().as_secs_f64(), runner.into_reports()))
}

fn theirs(flow: &Flow) -> (f64, Vec<Report>) {
    let mut peer = Peer::new(flow);
    let start = Instant::now();
    peer.run(flow.messages());
    (flow.messages().len() as f64 / start.elapsed().as_secs_f64(), peer.reports)
}

/// Gives each message to an engine when it is due. Returns how long after that it was
/// done, in nanoseconds, in the middle and at the 99.9th percentile.
fn paced(flow: &Flow, mut take: impl FnMut(&[Message])) -> [u64; 2] {
    let mut late_ns = Vec::with_capacity(flow.messages().len());
    let begun = Instant::now();
    for (number, message) in flow.messages().iter().enumerate() {
        let due_ns = number as u64 * 1_000_000_000 / PACE_PER_S;
        while (begun.elapsed().as_nanos() as u64) < due_ns {
            spin_loop();
        }
        take(slice::from_ref(message));
        late_ns.push(begun.elapsed().as_nanos() as u64 - due_ns);
    }
    late_ns.sort_unstable();
    [late_ns[late_ns.len() / 2], late_ns[late_ns.len() * 999 / 1000]]
}

/// How late messages are done that come at a pace, engine by engine, in turns.
fn compare_paced(flow: &Flow, other: Option<&mut Program>) -> Result<(), Box<dyn Error>> {
    let mut program = other;
    let mut all = [const { Vec::new() }; 3];
    for _ in 0..PACED_TURNS {
        let mut runner = Runner::new(flow)?;
        all[0].push(paced(flow, |message| runner.run(message)));
        let mut peer = Peer::new(flow);
        all[1].push(paced(flow, |message| peer.run(message)));
        if let Some(program) = &mut program {
            all[2].push(program.paced(PACE_PER_S)?);
        }
    }
    println!("  at {PACE_PER_S} messages a second, done after its time:");
    for (name, turns) in ["tapeline", "matchcore", "exchange-core"].iter().zip(all) {
        let median = |which: usize| {
            let mut sorted: Vec<_> = turns.iter().map(|turn: &[u64; 2]| turn[which]).collect();
            sorted.sort_unstable();
            sorted.get(sorted.len() / 2).copied()
        };
        if let (Some(middle), Some(late)) = (median(0), median(1)) {
            println!("  {name:<14} p50 {middle:>8} ns  p99.9 {late:>10} ns");
        }
    }
    Ok(())
}

fn compare(path: &Path, with: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let flow = Flow::open(path)?;
    let count = flow.messages().len() as f64;
    let (mut own, mut peer) = (Rates::new("tapeline"), Rates::new("matchcore"));
    let mut other = match with {
        Some(program) => {
            let mut started = Program::start(program, path)?;
            for _ in 0..WARM_UP {
                started.turn(false)?;
            }
            Some((Rates::new("exchange-core"), started))
        }
        None => None,
    };
    for turn in 0..TURNS {
        let is_first = turn == 0;
        let (rate, mut reports) = ours(&flow)?;
        own.per_s.push(rate);
        let (rate, mut others) = theirs(&flow);
        peer.per_s.push(rate);
        if is_first {
            (own.hash, peer.hash) = (hash(&mut reports), hash(&mut others));
        }
        drop((reports, others));
        if let Some((rates, program)) = &mut other {
            let (seconds, hash) = program.turn(is_first)?;
            rates.per_s.push(count / seconds);
            if is_first {
                rates.hash = hash;
            }
        }
    }
    println!("{}", path.file_name().unwrap_or_default().to_string_lossy());
    println!("  sha256 {}", own.hash);
    let (median, hash) = (own.median(), own.hash.clone());
    let (others, mut program) = other.unzip();
    for mut rates in [own, peer].into_iter().chain(others) {
        rates.print(median, &hash);
    }
    compare_paced(&flow, program.as_mut())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--count", which, file] => {
            let flow = Flow::open(Path::new(file))?;
            let reports = if which == "ours" { ours(&flow)?.1 } else { theirs(&flow).1 };
            println!("{} messages, {} reports", flow.messages().len(), reports.len());
            Ok(())
        }
        [] => {
            println!("give files with flows of orders");
            Ok(())
        }
        ["--with", program, ref files @ ..] => {
            files.iter().try_for_each(|file| compare(Path::new(file), Some(Path::new(program))))
        }
        ref files => files.iter().try_for_each(|file| compare(Path::new(file), None)),
    }
}
