//! An echo on Aeron Cluster, in processes of its own: what three replicas in memory are
//! measured beside.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io;
use rustix::process::{Pid, Signal, kill_process_group};

/// What the cluster's threads do that have nothing to do. The exchange's wait in the
/// system; Aeron has no such way, and the nearest to it is its own choice, the first.
const IDLE: [&str; 2] = ["backoff", "yield"];

/// What three replicas in memory may take of the echo, at the median and at p99.
const GOALS: [f64; 2] = [1.0, 1.0];

/// How long its processes may take to end when their input does.
const TO_END: Duration = Duration::from_secs(10);

type Failed = Box<dyn Error>;

/// Three members and a client, and what was measured of them.
pub(crate) struct Cluster {
    pub(crate) name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Of all rounds.
    pub(crate) times: Vec<u64>,
    /// Of each round: the replicas' median and p99 by those of the cluster.
    ratios: [Vec<f64>; 2],
}

impl Cluster {
    /// One for each way to idle, by a program; none of those that do not start.
    pub(crate) fn all(program: &Path) -> Vec<Self> {
        let started = IDLE.iter().map(|idle| Self::start(program, idle));
        let told = started.map(|it| it.inspect_err(|why| eprintln!("Aeron Cluster: {why}")));
        told.filter_map(Result::ok).collect()
    }

    fn start(program: &Path, idle: &str) -> Result<Self, Failed> {
        let mut child = Command::new(program)
            .arg(idle)
            // A group of its own, which is stopped and goes on as a whole.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| format!("cannot start {}: {why}", program.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for")
        };
        let mut cluster = Self {
            name: format!("an echo on Aeron Cluster, three members, `{idle}`"),
            child,
            input: Some(input),
            output: BufReader::new(output),
            times: Vec::new(),
            ratios: [const { Vec::new() }; 2],
        };
        // It answers when it has a leader and is warm.
        cluster.turn(1)?;
        Ok(cluster)
    }

    /// Nanoseconds of each of so many orders, one at a time. Its threads poll, which would
    /// cost the others' turns: it is stopped between its own.
    pub(crate) fn turn(&mut self, count: usize) -> Result<Vec<u64>, Failed> {
        let ended = || "the cluster has ended; its messages are above";
        self.signal(Signal::CONT)?;
        writeln!(self.input.as_mut().ok_or_else(ended)?, "{count}")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let times =
            answer.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if times.len() != count {
            return Err(ended().into());
        }
        self.signal(Signal::STOP)?;
        Ok(times)
    }

    /// A round, of sorted times: these, beside the replicas'.
    pub(crate) fn compare(&mut self, mut own: Vec<u64>, replicas: &[u64]) {
        for (ratios, at) in self.ratios.iter_mut().zip([0.5, 0.99]) {
            ratios.push(crate::part(replicas, at) / crate::part(&own, at));
        }
        self.times.append(&mut own);
    }

    pub(crate) fn sort(&mut self) {
        self.times.sort_unstable();
        self.ratios.iter_mut().for_each(|ratios| ratios.sort_unstable_by(f64::total_cmp));
    }

    /// How three replicas in memory stand to it.
    pub(crate) fn tell(&self) {
        println!("\nthree replicas, `memory`, by {}:", self.name);
        for ((name, ratios), goal) in ["p50", "p99"].iter().zip(&self.ratios).zip(GOALS) {
            let [least, median, most] = crate::spread(ratios);
            let is_met = if median <= goal { "met" } else { "not met" };
            println!("{name} {median:.2} (rounds {least:.2} to {most:.2}; goal {goal}: {is_met})");
        }
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Pid::from_raw(self.child.id() as i32)
            .map_or(Err(io::Errno::SRCH), |group| kill_process_group(group, signal))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The end of its input is its end, once it runs again.
        drop(self.input.take());
        let _ = self.signal(Signal::CONT);
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < TO_END {
            thread::park_timeout(Duration::from_millis(5));
        }
        // Whoever is left of the group; nobody, as a rule.
        let _ = self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}
