//! The jitter of cores from a command line to its rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tapeline_measure::environment::Environment;
use tapeline_measure::histogram::{Distribution, latencies};
use tapeline_measure::processor::{self, allowed_cores};
use tapeline_measure::record::{Tool, ToolLine};
use tapeline_measure::table::Table;
use tapeline_measure::ticks::TickClock;

use super::counts::Counts;
use super::{lateness, spin};
use crate::GaugeError;
use crate::arguments::{self, Arguments, Known, flag, value};
use crate::output::Output;
use crate::statistics::nearest_rank;

const KNOWN: [Known; 11] = [
    value("runtime", "seconds of each measurement (10; 70 as sysjitter)"),
    value("cores", "cores, as 0,2-3 (all that this process may use)"),
    value("mode", "spin, timer or both (both)"),
    value("period-us", "how often the timer wakes (1000)"),
    value("format", "human, sysjitter or cyclictest (human)"),
    value("json", "write records to this file, one a line"),
    value("raw", "write every gap to PREFIX.CORE"),
    value("priority", "fifo:N, rr:N or nice:N"),
    flag("sort", "sort the gaps that --raw writes"),
    flag("verbose", "accepted (-v)"),
    flag("help", "this text (-?)"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Human,
    Sysjitter,
    Cyclictest,
}

struct Options {
    threshold_ns: u64,
    runtime: Duration,
    cores: Vec<usize>,
    spins: bool,
    sleeps: bool,
    period: Duration,
    format: Format,
    /// Of FIFO or RR, as cyclictest tells it.
    level: u8,
}

/// What was found on a core by one method.
#[derive(Clone, Debug, Default)]
struct Found {
    core: usize,
    method: &'static str,
    runtime_ns: u64,
    /// In their order in time.
    in_order_ns: Vec<u64>,
    /// Gaps, or how late it woke; sorted.
    sorted_ns: Vec<u64>,
    /// The last in time.
    last_ns: u64,
    count: u64,
    total_ns: u64,
    counts: Counts,
    thread: i32,
}

/// Measures what cores do by themselves, as its command line has it.
///
/// Errors: the command line is wrong, or a file cannot be written.
pub fn run(
    command_line: &[String],
    is_classic: bool,
    out: &mut dyn Output,
) -> Result<(), GaugeError> {
    let given = Arguments::read(&KNOWN, command_line)?;
    if given.has("help") {
        let usage = "jitter [THRESHOLD_NSEC=200] [OPTIONS]\n\n";
        out.text(&format!("{usage}{}", arguments::help(&KNOWN)));
        return Ok(());
    }
    let options = Options::of(&given, is_classic)?;
    crate::setup::set_priority(&given)?;
    let clock = TickClock::best();
    let environment = Environment::read();
    let mut all = Vec::new();
    if options.spins {
        all.extend(on_all(&options, |core| spun(core, &options, &clock)));
    }
    if options.sleeps {
        all.extend(on_all(&options, |core| slept(core, &options)));
    }
    tapeline_measure::stop::check()?;
    if let Some(prefix) = given.text("raw") {
        for found in all.iter().filter(|found| found.method == "spin") {
            let values = match given.is_set("sort")? {
                true => &found.sorted_ns,
                false => &found.in_order_ns,
            };
            write_raw(&format!("{prefix}.{}", found.core), values)?;
        }
    }
    if let Some(path) = given.text("json") {
        write_records(Path::new(path), environment, &all, &clock)?;
    }
    out.text(&match options.format {
        Format::Human => format!("{}{}", human(&all), tracing_hint(&options)),
        Format::Sysjitter => sysjitter(&all, options.threshold_ns, clock.hz()),
        Format::Cyclictest => cyclictest(&all, options.period, options.level),
    });
    Ok(())
}

impl Options {
    fn of(given: &Arguments, is_classic: bool) -> Result<Self, GaugeError> {
        let threshold = match &given.positional[..] {
            [] => "200",
            [threshold] => threshold,
            [_, more, ..] => return Err(GaugeError::Usage(format!("`{more}` is too much"))),
        };
        let wrong = |_| GaugeError::Usage(format!("`{threshold}` is no threshold in nanoseconds"));
        let seconds = if is_classic { 70.0 } else { 10.0 };
        let allowed = allowed_cores();
        let cores = match given.text("cores") {
            None => allowed.clone(),
            Some(list) => processor::cores(list)
                .ok_or_else(|| GaugeError::option("cores", list, "give cores as 0 or 0,2-3"))?,
        };
        if let Some(core) = cores.iter().copied().find(|core| !allowed.contains(core)) {
            return Err(GaugeError::Core(processor::NoSuchCore { core, cores: allowed }));
        }
        let format = match given.text("format") {
            None if is_classic => Format::Sysjitter,
            None | Some("human") => Format::Human,
            Some("sysjitter" | "classic") => Format::Sysjitter,
            Some("cyclictest") => Format::Cyclictest,
            Some(other) => {
                let what = "give human, sysjitter or cyclictest";
                return Err(GaugeError::option("format", other, what));
            }
        };
        let usual = match format {
            Format::Human => "both",
            Format::Sysjitter => "spin",
            Format::Cyclictest => "timer",
        };
        let mode = given.text("mode").unwrap_or(usual);
        if !["spin", "timer", "both"].contains(&mode) {
            return Err(GaugeError::option("mode", mode, "give spin, timer or both"));
        }
        Ok(Self {
            threshold_ns: threshold.parse().map_err(wrong)?,
            runtime: Duration::from_secs_f64(given.number("runtime", seconds, 0.001, 86_400.0)?),
            cores,
            spins: mode != "timer",
            sleeps: mode != "spin",
            period: Duration::from_micros(given.number("period-us", 1000, 10, 10_000_000)?),
            format,
            level: crate::setup::real_time_level(given)?,
        })
    }
}

/// On all cores at once, a thread on each.
fn on_all(options: &Options, measure: impl Fn(usize) -> Found + Sync) -> Vec<Found> {
    let on_core = |core: usize| {
        processor::pin(Some(&[core]));
        let before = Counts::read(core);
        let found = measure(core);
        Found {
            counts: Counts::read(core).since(&before),
            thread: processor::thread_id(),
            core,
            ..found
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            options.cores.iter().map(|core| scope.spawn(|| on_core(*core))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

fn spun(_core: usize, options: &Options, clock: &TickClock) -> Found {
    let gaps = spin(clock, options.threshold_ns, options.runtime);
    let in_order_ns = gaps.gaps_ns;
    let mut sorted_ns = in_order_ns.clone();
    let last_ns = sorted_ns.last().copied().unwrap_or_default();
    sorted_ns.sort_unstable();
    Found {
        method: "spin",
        in_order_ns,
        runtime_ns: gaps.runtime_ns,
        last_ns,
        count: gaps.count,
        total_ns: gaps.total_ns,
        sorted_ns,
        ..Found::default()
    }
}

fn slept(_core: usize, options: &Options) -> Found {
    let mut sorted_ns = lateness(options.period, options.runtime);
    let last_ns = sorted_ns.last().copied().unwrap_or_default();
    sorted_ns.sort_unstable();
    let count = sorted_ns.len() as u64;
    Found {
        method: "timer",
        runtime_ns: count * options.period.as_nanos() as u64,
        last_ns,
        count,
        total_ns: sorted_ns.iter().sum(),
        sorted_ns,
        ..Found::default()
    }
}

impl Found {
    fn at(&self, percentile: f64) -> u64 {
        nearest_rank(&self.sorted_ns, percentile).unwrap_or_default()
    }

    fn max_ns(&self) -> u64 {
        self.sorted_ns.last().copied().unwrap_or_default()
    }

    fn mean_ns(&self) -> u64 {
        self.total_ns / self.count.max(1)
    }

    fn lost_percent(&self) -> f64 {
        self.total_ns as f64 * 100.0 / self.runtime_ns.max(1) as f64
    }

    fn per_second(&self) -> f64 {
        self.count as f64 * 1e9 / self.runtime_ns.max(1) as f64
    }

    /// Gaps that neither an interrupt nor a switch can have been.
    fn unexplained(&self) -> u64 {
        self.count.saturating_sub(self.counts.interrupt_count() + self.counts.switches)
    }
}

fn human(all: &[Found]) -> String {
    let head = [
        "core",
        "method",
        "lost %",
        "gaps/s",
        "p50",
        "p99",
        "p99.9",
        "max",
        "interrupts",
        "switches",
        "steal ms",
        "SMI",
        "unexplained",
    ];
    let mut table = Table::new(&head);
    for found in all {
        let micros = |nanos: u64| format!("{:.2}", nanos as f64 / 1000.0);
        let is_spin = found.method == "spin";
        let of_spin = |text: String| if is_spin { text } else { "-".to_owned() };
        table.row(vec![
            found.core.to_string(),
            found.method.to_owned(),
            of_spin(format!("{:.3}", found.lost_percent())),
            of_spin(format!("{:.1}", found.per_second())),
            micros(found.at(50.0)),
            micros(found.at(99.0)),
            micros(found.at(99.9)),
            micros(found.max_ns()),
            found.counts.interrupt_count().to_string(),
            found.counts.switches.to_string(),
            found.counts.steal_ms.to_string(),
            found.counts.smis.map_or("-".to_owned(), |count| count.to_string()),
            of_spin(found.unexplained().to_string()),
        ]);
    }
    let mut text = format!("{table}times in µs; unexplained: hypervisor, SMI, NMI\n");
    for found in all.iter().filter(|found| found.method == "spin") {
        let Counts { interrupts, softirqs, waited_ns, .. } = &found.counts;
        let core = found.core;
        for (what, counted) in [("interrupts", interrupts), ("softirqs", softirqs)] {
            if !counted.is_empty() {
                let _ = writeln!(text, "core {core}, {what}: {}", most(counted));
            }
        }
        if *waited_ns > 0 {
            let waited_ms = *waited_ns as f64 / 1e6;
            let _ = writeln!(text, "core {core}: others had it for {waited_ms:.2} ms meanwhile");
        }
    }
    let worst =
        all.iter().filter(|found| found.method == "spin").max_by_key(|found| found.max_ns());
    if let Some(worst) = worst {
        // Of messages evenly apart, as many meet a gap as its time is of all.
        let from = 100.0 - worst.lost_percent().min(100.0);
        text.push_str(&floor_line(worst, from));
    }
    text
}

/// The five largest counts.
fn most(counted: &BTreeMap<String, u64>) -> String {
    let mut lines: Vec<_> = counted.iter().collect();
    lines.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named: Vec<String> =
        lines.iter().take(5).map(|(name, count)| format!("{name} {count}")).collect();
    named.join(", ")
}

/// What tells the cause of each gap, where this kernel can.
fn tracing_hint(options: &Options) -> String {
    let tracers = std::fs::read_to_string("/sys/kernel/tracing/available_tracers");
    match tracers.is_ok_and(|all| all.split_whitespace().any(|tracer| tracer == "osnoise")) {
        false => String::new(),
        true => {
            let cores: Vec<String> = options.cores.iter().map(ToString::to_string).collect();
            let seconds = options.runtime.as_secs().max(1);
            format!("the cause of each: rtla osnoise top -c {} -d {seconds}s\n", cores.join(","))
        }
    }
}

fn floor_line(worst: &Found, from: f64) -> String {
    format!(
        "at 50,000/s on core {}, a tail beyond p{from:.3} is this host's: up to {:.0} µs\n",
        worst.core,
        worst.max_ns() as f64 / 1000.0
    )
}

/// A key, and its value on a core.
type Row<'a> = (&'a str, &'a dyn Fn(&Found) -> String);

/// `key: value…`, a core a column.
fn sysjitter(all: &[Found], threshold_ns: u64, hz: u64) -> String {
    let rows: [Row<'_>; 17] = [
        ("core_i", &|found| found.core.to_string()),
        ("threshold(ns)", &|_| threshold_ns.to_string()),
        ("cpu_mhz", &|_| (hz / 1_000_000).to_string()),
        ("runtime(ns)", &|found| found.runtime_ns.to_string()),
        ("runtime(s)", &|found| format!("{:.3}", found.runtime_ns as f64 / 1e9)),
        ("int_n", &|found| found.count.to_string()),
        ("int_n_per_sec", &|found| format!("{:.3}", found.per_second())),
        ("int_min(ns)", &|found| found.at(0.0).to_string()),
        ("int_median(ns)", &|found| found.at(50.0).to_string()),
        ("int_mean(ns)", &|found| found.mean_ns().to_string()),
        ("int_90(ns)", &|found| found.at(90.0).to_string()),
        ("int_99(ns)", &|found| found.at(99.0).to_string()),
        ("int_999(ns)", &|found| found.at(99.9).to_string()),
        ("int_9999(ns)", &|found| found.at(99.99).to_string()),
        ("int_99999(ns)", &|found| found.at(99.999).to_string()),
        ("int_max(ns)", &|found| found.max_ns().to_string()),
        ("int_total(ns)", &|found| found.total_ns.to_string()),
    ];
    let last: Row<'_> = ("int_total(%)", &|found| format!("{:.3}", found.lost_percent()));
    let spun: Vec<&Found> = all.iter().filter(|found| found.method == "spin").collect();
    let mut text = String::new();
    for (key, of) in rows.iter().chain([&last]) {
        let cells: Vec<String> = spun.iter().map(|found| of(found)).collect();
        text.extend([*key, ": ", &cells.join(" "), "\n"]);
    }
    text
}

/// A line a thread, in µs.
fn cyclictest(all: &[Found], period: Duration, level: u8) -> String {
    let micros = |nanos: u64| nanos / 1000;
    let slept = all.iter().filter(|found| found.method == "timer").enumerate();
    let line = |(number, found): (usize, &Found)| {
        format!(
            "T:{number:2} ({:5}) P:{level:2} I:{} C:{:7} Min:{:7} Act:{:5} Avg:{:5} Max:{:8}\n",
            found.thread,
            period.as_micros(),
            found.count,
            micros(found.at(0.0)),
            micros(found.last_ns),
            micros(found.mean_ns()),
            micros(found.max_ns()),
        )
    };
    slept.map(line).collect()
}

fn write_raw(path: &str, values: &[u64]) -> Result<(), GaugeError> {
    let text: String =
        values.iter().flat_map(|value| [value.to_string(), "\n".to_owned()]).collect();
    std::fs::write(path, text).map_err(GaugeError::io(format!("writing {path}")))
}

fn write_records(
    path: &Path,
    environment: Environment,
    all: &[Found],
    clock: &TickClock,
) -> Result<(), GaugeError> {
    let mut lines = vec![ToolLine::Environment(Box::new(environment.clone()))];
    lines.extend(all.iter().map(|found| ToolLine::Tool(Box::new(record(found, clock)))));
    lines.push(ToolLine::Environment(Box::new(environment.after())));
    let write = || {
        let mut file = File::create(path)?;
        lines.iter().try_for_each(|line| writeln!(file, "{}", line.to_value()))
    };
    write().map_err(GaugeError::io(format!("writing {}", path.display())))
}

fn record(found: &Found, clock: &TickClock) -> Tool {
    let mut nanos = latencies();
    for value in &found.sorted_ns {
        nanos.saturating_record(*value);
    }
    let softirqs = found.counts.softirqs.values().sum();
    let counts = [
        ("gaps", found.count),
        ("softirqs", softirqs),
        ("interrupts", found.counts.interrupt_count()),
        ("switches", found.counts.switches),
        ("steal_ms", found.counts.steal_ms),
        ("waited_ns", found.counts.waited_ns),
        ("total_ns", found.total_ns),
    ];
    Tool {
        tool: "jitter".to_owned(),
        role: found.method.to_owned(),
        unit: if found.method == "spin" { "gap" } else { "lateness" }.to_owned(),
        options: [("core".to_owned(), found.core.to_string())].into(),
        clock: if found.method == "spin" { clock.source().name() } else { "monotonic" }.to_owned(),
        round: 1,
        seconds: found.runtime_ns as f64 / 1e9,
        valid: true,
        from_send: Distribution::of(&nanos),
        counts: counts
            .into_iter()
            .chain(found.counts.smis.map(|count| ("smis", count)))
            .map(|(name, count)| (name.to_owned(), count))
            .collect(),
        ..Tool::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(core: usize, method: &'static str) -> Found {
        Found {
            core,
            method,
            runtime_ns: 2_000_000_000,
            sorted_ns: vec![1_000, 2_000, 3_000, 40_000],
            last_ns: 3_000,
            count: 4,
            total_ns: 46_000,
            counts: Counts {
                interrupts: [("LOC".to_owned(), 2)].into(),
                softirqs: [("TIMER".to_owned(), 3), ("SCHED".to_owned(), 4)].into(),
                switches: 1,
                waited_ns: 1_250_000,
                steal_ms: 30,
                smis: Some(6),
            },
            thread: 2613,
            ..Found::default()
        }
    }

    #[test]
    fn sysjitters_rows_have_a_core_a_column() {
        let text = sysjitter(&[found(0, "spin"), found(3, "spin")], 200, 2_100_000_000);
        let expected = "\
core_i: 0 3
threshold(ns): 200 200
cpu_mhz: 2100 2100
runtime(ns): 2000000000 2000000000
runtime(s): 2.000 2.000
int_n: 4 4
int_n_per_sec: 2.000 2.000
int_min(ns): 1000 1000
int_median(ns): 2000 2000
int_mean(ns): 11500 11500
int_90(ns): 40000 40000
int_99(ns): 40000 40000
int_999(ns): 40000 40000
int_9999(ns): 40000 40000
int_99999(ns): 40000 40000
int_max(ns): 40000 40000
int_total(ns): 46000 46000
int_total(%): 0.002 0.002
";
        assert_eq!(text, expected);
    }

    #[test]
    fn cyclictests_line_is_in_microseconds() {
        let text = cyclictest(&[found(0, "timer")], Duration::from_millis(1), 95);
        assert_eq!(
            text,
            "T: 0 ( 2613) P:95 I:1000 C:      4 Min:      1 Act:    3 Avg:   11 Max:      40\n"
        );
    }

    #[test]
    fn people_read_who_it_was() {
        let text = human(&[found(1, "spin"), found(1, "timer")]);
        assert!(text.contains("core 1, interrupts: LOC 2\n"), "{text}");
        assert!(text.contains("core 1, softirqs: SCHED 4, TIMER 3\n"), "{text}");
        assert!(text.contains("core 1: others had it for 1.25 ms meanwhile\n"), "{text}");
        let untold =
            Found { counts: Counts { smis: None, ..found(1, "spin").counts }, ..found(1, "spin") };
        let rows = human(&[untold]);
        assert_eq!(rows.lines().nth(1).unwrap().split_whitespace().nth_back(1), Some("-"));
        // Of four gaps, two interrupts and a switch explain three.
        let row: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        let expected = [
            "1", "spin", "0.002", "2.0", "2.00", "40.00", "40.00", "40.00", "2", "1", "30", "6",
            "1",
        ];
        assert_eq!(row, expected);
        let last = text.lines().last().unwrap();
        assert_eq!(
            last,
            "at 50,000/s on core 1, a tail beyond p99.998 is this host's: up to 40 µs"
        );
    }
}
