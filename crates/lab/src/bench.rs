//! `tapeline-lab bench`, which `tapeline bench` starts.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tapeline_bench::{
    Affinity, Between, ClientKind, Options, Output, Pacing, Procedure, Profile, Row, Setup,
    Topology, Tuning, Value,
    peers::{self, Peer},
    quick_options,
};
use tapeline_channel::Idle;

use tapeline_ending::Stop;

use crate::failure::{Failure, Verdict, warn};

/// What a thread that parks waits at most, in microseconds, as `tapeline` has it.
const PARK_MICROS: u32 = 50;

/// Measure as the published tests do, beside what this machine does without us
///
/// Source and clients are one thread of this process; hub and server are
/// another, or processes of their own (--topology). Every update carries when
/// it was due and when it was sent, so latency is told from both. A run whose
/// source missed its schedule, or that lost anything, is marked invalid and
/// has no figures.
///
/// Exit status: 0 when all was measured, 1 when an aim of `quick` or `peers` is
/// not met, a row of `quick` was disturbed by other work or a run is invalid
/// (of a sweep, which ends with one that is: when all are), 2 when nothing can
/// be measured, or on SIGTERM or SIGINT.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// What this machine does without us: bare TCP, bare fan-out, bare Aeron
    Floor(Measuring),
    /// Latency from source to client at set rates, every field decoded
    Latency(Box<LatencyArgs>),
    /// The highest rate of one source to one client that loses nothing
    Throughput(Measuring),
    /// Producer 50/50: the highest rate to many clients, half of the updates to all
    Fanout(Measuring),
    /// Bytes of memory for each mount, item and watcher
    Memory(Measuring),
    /// The rates behind which updates come late here: for `[profile] knee`
    Knee(KneeArgs),
    /// Every aim of the project in one table, in some minutes
    Quick(QuickArgs),
    /// One page of tables and figures from files of results
    Report(ReportArgs),
    /// Other systems at the same work, in turns
    Peers(PeersArgs),
    /// All procedures, one after the other
    All(Measuring),
}

#[derive(clap::Args)]
struct ReportArgs {
    /// Files that --json or `quick` has written
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the page is written
    #[arg(long, value_name = "FILE", default_value = "target/bench/report.html")]
    out: PathBuf,
}

#[derive(clap::Args)]
struct PeersArgs {
    /// Fewer and shorter runs: some two minutes
    #[arg(long)]
    quick: bool,
    /// The systems, as `nats` or `java-park`; without it, all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    peer: Vec<Peer>,
    /// Where bench/peers/run.sh has built the others
    #[arg(long, value_name = "FOLDER", default_value = "target/bench/peers")]
    folder: PathBuf,
    /// Turns of all systems
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Updates a second that reach clients, all of them together
    #[arg(long, value_name = "N", value_delimiter = ',')]
    rate_out: Vec<u64>,
    /// How long each run is measured, in seconds
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// Where the rows of the comparison are written
    #[arg(long, value_name = "FILE", default_value = "target/bench/peers.json")]
    out: PathBuf,
    /// Write the result of every run as JSON, one a line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(clap::Args)]
struct KneeArgs {
    /// The file that a hub or a server is given as `[profile] knee`
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

#[derive(clap::Args)]
struct LatencyArgs {
    /// All rates of the published tests, until one does not hold
    #[arg(long, conflicts_with = "rate")]
    sweep: bool,
    #[command(flatten)]
    measuring: Measuring,
}

#[derive(clap::Args)]
struct QuickArgs {
    /// Where the rows are written
    #[arg(long, value_name = "FILE", default_value = "target/bench/quick.json")]
    out: PathBuf,
    /// Where bench/peers/run.sh has built the other systems
    #[arg(long, value_name = "FOLDER", default_value = "target/bench/peers")]
    folder: PathBuf,
    /// Leave the other systems out
    #[arg(long)]
    no_peers: bool,
    /// Only rows with this text in their name
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Options of every procedure.
#[derive(clap::Args)]
struct Measuring {
    /// Updates a second of the latency procedure, or where a search begins
    #[arg(long, value_name = "N", value_delimiter = ',')]
    rate: Vec<u64>,
    /// How long each run is measured, in seconds
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
    /// For how long the rate must have been reached to 1 % before, in seconds
    #[arg(long, value_name = "S")]
    warm_up: Option<f64>,
    /// How long each trial of a search is measured, in seconds
    #[arg(long, value_name = "S")]
    probe: Option<f64>,
    /// Turns of floor and measurement
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Items of the client
    #[arg(long, value_name = "N")]
    items: Option<usize>,
    /// Client connections of the fan-out
    #[arg(long, value_name = "N")]
    mounts: Option<usize>,
    /// Items of each client of the fan-out: this many that all have, and again that it alone has
    #[arg(long, value_name = "N")]
    items_per_mount: Option<usize>,
    /// Clients of the fan-out: lean ones, which cost little, or api, as applications have them
    #[arg(long, value_name = "KIND", default_value = "lean")]
    clients: ClientKind,
    /// Where hub and server run: thread, ipc, multicast, namespaces
    #[arg(long, value_name = "NAME", default_value = "thread")]
    topology: Topology,
    /// What is between hub and server of one thread: aeron:ipc or local
    #[arg(long, value_name = "CHANNEL", default_value = "aeron:ipc")]
    backbone: Between,
    /// Servers beside one hub, over shared memory
    #[arg(long, value_name = "N", default_value_t = 1)]
    servers: usize,
    /// Datagrams of the backbone that are lost, in percent (namespaces only)
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    loss: f64,
    /// How updates are spread: even, `ticks:N` a second, bursts (10 ms at 20 times the rate)
    #[arg(long, value_name = "HOW", default_value = "even")]
    pacing: Pacing,
    /// Settings of hub and server: latency or throughput
    #[arg(long, value_name = "NAME", default_value = "latency")]
    profile: Profile,
    /// How long the server may gather output, in ms, whatever the profile says
    #[arg(long, value_name = "MS")]
    flush_interval_ms: Option<u32>,
    /// Whether the kernel sends small writes at once, whatever the profile says
    #[arg(long, value_name = "BOOL")]
    tcp_no_delay: Option<bool>,
    /// The kernel's send buffer of each mount
    #[arg(long, value_name = "BYTES")]
    tcp_send_buffer_bytes: Option<u32>,
    /// Most bytes of messages that are packed into one frame
    #[arg(long, value_name = "BYTES")]
    fragment_bytes: Option<u16>,
    /// Hub and server keep images
    #[arg(long)]
    cache: bool,
    /// What hub and server do when there is nothing to do: spin, yield or park
    #[arg(long, value_name = "HOW", value_parser = idle)]
    idle: Option<Idle>,
    /// Cores of source and clients; of hub and server, as `0;1`; `none` leaves it to the kernel
    #[arg(long, value_name = "A;B", value_parser = cores)]
    affinity: Option<Cores>,
    /// Write results as JSON, one a line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a log of histograms for each latency run into this folder
    #[arg(long, value_name = "FOLDER")]
    hdr: Option<PathBuf>,
}

/// Cores that were named, or that none are.
#[derive(Clone, Debug)]
struct Cores(Option<Affinity>);

fn cores(text: &str) -> Result<Cores, String> {
    match text {
        "none" => Ok(Cores(None)),
        _ => {
            let affinity: Affinity = text.parse()?;
            affinity.check().map_err(|error| error.to_string())?;
            Ok(Cores(Some(affinity)))
        }
    }
}

fn idle(text: &str) -> Result<Idle, String> {
    match text {
        "spin" => Ok(Idle::Spin),
        "yield" => Ok(Idle::Yield),
        "park" => Ok(Idle::Park { micros: PARK_MICROS }),
        _ => Err(format!("`{text}` is nothing to do; give spin, yield or park")),
    }
}

fn seconds(given: Option<f64>, default: Duration) -> Result<Duration, Failure> {
    let Some(seconds) = given else { return Ok(default) };
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or_else(|| {
        Failure::Setting(format!("{seconds} seconds cannot be measured; give a time above 0"))
    })
}

impl Measuring {
    fn options(&self) -> Result<Options, Failure> {
        let defaults = Options::default();
        let mut options = Options {
            setup: self.setup()?,
            pacing: self.pacing,
            time: seconds(self.seconds, defaults.time)?,
            warm_up: seconds(self.warm_up, defaults.warm_up)?,
            probe: seconds(self.probe, defaults.probe)?,
            rounds: self.rounds.unwrap_or(defaults.rounds),
            mounts: self.mounts.unwrap_or(defaults.mounts),
            clients: self.clients,
            hdr_folder: self.hdr.clone(),
            ..defaults
        };
        if let Some(first) = self.rate.first() {
            options.search_from = Some(*first);
            options.rates.clone_from(&self.rate);
        }
        if let Some(items) = self.items {
            (options.items, options.latency_items) = (items, items);
        }
        if let Some(items) = self.items_per_mount {
            (options.common_items, options.own_items) = (items, items);
        }
        let counts = [options.items, options.mounts, options.common_items];
        if counts.contains(&0) || self.rate.contains(&0) || self.servers == 0 {
            let text = "rates, items, mounts and servers are counted from 1";
            return Err(Failure::Setting(text.to_owned()));
        }
        Ok(options)
    }

    fn setup(&self) -> Result<Setup, Failure> {
        if !(0.0..=50.0).contains(&self.loss) {
            return Err(Failure::Setting(format!("--loss is {}; give 0 to 50", self.loss)));
        }
        if self.loss > 0.0 && self.topology != Topology::Namespaces {
            let text = "--loss needs a network to lose on: --topology namespaces";
            return Err(Failure::Setting(text.to_owned()));
        }
        if self.backbone == Between::Local && (self.topology, self.servers) != (Topology::Thread, 1)
        {
            let text = "--backbone local is for one thread: --topology thread and one server";
            return Err(Failure::Setting(text.to_owned()));
        }
        let defaults = Setup::default();
        Ok(Setup {
            topology: self.topology,
            between: self.backbone,
            servers: self.servers,
            tuning: Tuning {
                profile: self.profile,
                flush_interval_ms: self.flush_interval_ms,
                tcp_no_delay: self.tcp_no_delay,
                tcp_send_buffer_bytes: self.tcp_send_buffer_bytes,
                fragment_bytes: self.fragment_bytes,
            },
            stamps: true,
            websocket: false,
            cache: self.cache,
            idle: self.idle,
            affinity: match &self.affinity {
                Some(Cores(affinity)) => affinity.clone(),
                None => defaults.affinity,
            },
            loss_percent: self.loss,
            program: None,
        })
    }
}

/// Tables to standard output, progress to a terminal, results to a file.
struct Terminal {
    json: Option<(PathBuf, BufWriter<File>)>,
    shows_progress: bool,
    /// Results that count, and those that do not.
    good: usize,
    bad: usize,
}

impl Terminal {
    fn new(json: Option<&Path>) -> Result<Self, Failure> {
        let create = |path: &Path| {
            let file = File::create(path).map_err(Failure::creating(path))?;
            Ok::<_, Failure>((path.to_owned(), BufWriter::new(file)))
        };
        Ok(Self {
            json: json.map(create).transpose()?,
            shows_progress: io::stderr().is_terminal(),
            good: 0,
            bad: 0,
        })
    }

    /// Removes what the progress left on the line.
    fn clear(&self) {
        if self.shows_progress {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Output for Terminal {
    fn table(&mut self, text: &str) {
        self.clear();
        // That nobody reads it is no reason to stop: results go on.
        let _ = writeln!(io::stdout(), "{text}");
    }

    fn progress(&mut self, text: &str) {
        if self.shows_progress {
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }

    fn result(&mut self, result: &Value) {
        // A floor is no run that could fail an aim, and always counts.
        if result["bench"] == "result" && result["procedure"] != "floor" {
            let count = if result["valid"] == true { &mut self.good } else { &mut self.bad };
            *count += 1;
        }
        if let Some((path, json)) = &mut self.json
            && let Err(error) = writeln!(json, "{result}").and_then(|()| json.flush())
        {
            warn(&format!("cannot write {}: {error}; results go on without it", path.display()));
            self.json = None;
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    // Processes and networks of a run go with it: it comes back and ends them.
    let stop = Stop::on_signals(None).map_err(Failure::Signals)?;
    tapeline_bench::interrupt_when(stop.flag());
    match &args.what {
        What::Floor(measuring) => measure(&[Procedure::Floor], measuring),
        What::Latency(args) => {
            let options = Options { is_sweep: args.sweep, ..args.measuring.options()? };
            measure_with(&[Procedure::Latency], &options, args.measuring.json.as_deref())
        }
        What::Throughput(measuring) => measure(&[Procedure::Throughput], measuring),
        What::Fanout(measuring) => measure(&[Procedure::Fanout], measuring),
        What::Memory(measuring) => measure(&[Procedure::Memory], measuring),
        What::All(measuring) => measure(&Procedure::ALL, measuring),
        What::Knee(args) => knee(args),
        What::Quick(args) => quick(args),
        What::Report(args) => report(args),
        What::Peers(args) => compare(args),
    }
}

fn measure(procedures: &[Procedure], measuring: &Measuring) -> Result<Verdict, Failure> {
    measure_with(procedures, &measuring.options()?, measuring.json.as_deref())
}

fn measure_with(
    procedures: &[Procedure],
    options: &Options,
    json: Option<&Path>,
) -> Result<Verdict, Failure> {
    let mut out = Terminal::new(json)?;
    tapeline_bench::run(procedures, options, &mut out)?;
    out.clear();
    Ok(Verdict::of(is_bad(options.is_sweep, out.good, out.bad)))
}

fn knee(args: &KneeArgs) -> Result<Verdict, Failure> {
    let mut out = Terminal::new(args.measuring.json.as_deref())?;
    let knee = tapeline_bench::knee(&args.measuring.options()?, &mut out)?;
    out.clear();
    match &args.write {
        Some(path) => write_file(path, &knee.to_json())?,
        None => print!("{}", knee.to_json()),
    }
    Ok(Verdict::Good)
}

/// A sweep goes on until a rate does not hold: it is bad if none did.
const fn is_bad(is_sweep: bool, good: usize, bad: usize) -> bool {
    if is_sweep { good == 0 } else { bad > 0 }
}

fn quick(args: &QuickArgs) -> Result<Verdict, Failure> {
    let given = &args.measuring;
    let (asked, quick) = (given.options()?, quick_options());
    let options = Options {
        time: seconds(given.seconds, quick.time)?,
        warm_up: seconds(given.warm_up, quick.warm_up)?,
        probe: seconds(given.probe, quick.probe)?,
        rounds: given.rounds.unwrap_or(quick.rounds),
        max_probes: quick.max_probes,
        ..asked
    };
    let others = peers::Options {
        folder: args.folder.clone(),
        affinity: options.setup.affinity.clone(),
        ..peers::Options::brief()
    };
    let others = (!args.no_peers).then_some(&others);
    let mut out = Terminal::new(given.json.as_deref())?;
    let rows = tapeline_bench::quick(&options, args.only.as_deref(), others, &mut out)?;
    out.clear();
    write_rows(&args.out, &rows)?;
    Ok(Verdict::of(rows.iter().any(|row| row.met == Some(false) || row.is_disturbed)))
}

/// Rows as a JSON list.
fn write_rows(path: &Path, rows: &[Row]) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(rows).map_err(io::Error::from)?;
    write_file(path, &(text + "\n"))
}

/// A file in a folder that need not be there yet.
fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Failure::creating(folder))?;
    }
    fs::write(path, text).map_err(Failure::creating(path))
}

fn report(args: &ReportArgs) -> Result<Verdict, Failure> {
    write_file(&args.out, &tapeline_bench::report::from_files(&args.files)?)?;
    writeln!(io::stdout(), "{}", args.out.display())?;
    Ok(Verdict::Good)
}

fn compare(args: &PeersArgs) -> Result<Verdict, Failure> {
    let defaults = if args.quick { peers::Options::quick() } else { peers::Options::default() };
    let mut options = peers::Options {
        folder: args.folder.clone(),
        rounds: args.rounds.unwrap_or(defaults.rounds),
        time: seconds(args.seconds, defaults.time)?,
        ..defaults
    };
    if !args.peer.is_empty() {
        options.peers.clone_from(&args.peer);
    }
    if !args.rate_out.is_empty() {
        options.rates_out.clone_from(&args.rate_out);
    }
    let mut out = Terminal::new(args.json.as_deref())?;
    let rows = peers::run(&options, &mut out)?;
    out.clear();
    write_rows(&args.out, &rows)?;
    Ok(Verdict::of(rows.iter().any(|row| row.met == Some(false))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_good_though_it_ends_with_a_rate_that_does_not_hold() {
        assert!(!is_bad(true, 3, 1) && is_bad(true, 0, 1));
        assert!(!is_bad(false, 3, 0) && is_bad(false, 3, 1));
    }

    #[test]
    fn floors_and_machines_are_no_runs() {
        let mut out = Terminal { json: None, shows_progress: false, good: 0, bad: 0 };
        for result in [
            serde_json::json!({"bench": "environment"}),
            serde_json::json!({"bench": "result", "procedure": "floor", "valid": true}),
            serde_json::json!({"bench": "result", "procedure": "latency", "valid": true}),
            serde_json::json!({"bench": "result", "procedure": "latency", "valid": false}),
        ] {
            out.result(&result);
        }
        assert_eq!((out.good, out.bad), (1, 1));
    }
}
