//! What every tool sets before it measures, and what it measures first: the
//! clock, the priority, memory that stays, cores that stay awake, and what the
//! core and the measuring itself cost.

use std::fs::File;
use std::io::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use rustix::mm::{MlockAllFlags, mlockall};
use tapeline_measure::clock::now_ns;
use tapeline_measure::disturbance::Watch;
use tapeline_measure::processor::{NoSuchCore, allowed_cores, cores};
use tapeline_measure::record::Noise;
use tapeline_measure::schedule::Pacing;
use tapeline_measure::ticks::TickClock;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use crate::GaugeError;
use crate::arguments::{Arguments, Known, flag, value};
use crate::classic::{Letter, translated};
use crate::jitter::spin;
use crate::message::{HEAD_BYTES, Head, Kind};
use crate::statistics::nearest_rank;

/// A gap of this length is noise, in nanoseconds.
const NOISE_THRESHOLD_NS: u64 = 200;

/// How often nothing is measured, for what that costs.
const OVERHEAD_ROUNDS: usize = 100_000;

/// Options that each of the tools with a rate has.
const COMMON: [Known; 14] = [
    value("warm-up", "seconds that are not measured, before (0.5)"),
    value("affinity", "cores by side: lists as 0,2-3, or any; A;B").by_side(),
    value("priority", "fifo:N, rr:N or nice:N"),
    flag("lock-memory", "mlockall"),
    value("cpu-latency-us", "holds /dev/cpu_dma_latency at this"),
    value("noise", "seconds of spin noise measured before (1; 0: none)"),
    value("interval", "seconds of a line while it runs (1)"),
    value("format", "human or classic (human; classic under a classic name)"),
    value("json", "write records to this file, one a line"),
    value("hdr", "write a log of HDR histograms to TOOL.hlog in this folder"),
    flag("check", "print what would be done, and how long it takes"),
    flag("help", "this text (-?)"),
    flag("quiet", "no lines while it runs (-q)"),
    flag("verbose", "accepted (-v)"),
];

/// What every tool with a rate was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) given: Arguments,
    pub(crate) is_classic: bool,
    pub(crate) warm_up: Duration,
    pub(crate) interval: Duration,
    pub(crate) noise: Duration,
    /// Of the side that measures, and of the other.
    pub(crate) cores: [Option<Vec<usize>>; 2],
    pub(crate) json: Option<PathBuf>,
    pub(crate) warnings: Vec<String>,
    /// It was typed in the letters of the classic tool, or called by its name.
    pub(crate) is_in_letters: bool,
}

impl Common {
    /// Reads a command line with the tool's own options and letters. `by_name`:
    /// the program was called by the classic name.
    pub(crate) fn read(
        own: &[Known],
        letters: &[(char, Letter)],
        typed: &[String],
        by_name: bool,
    ) -> Result<Self, GaugeError> {
        let (ours, warnings) = translated(letters, typed)?;
        let is_in_letters = by_name || ours != typed;
        let given = Arguments::read(&with_common(own), &ours)?;
        Ok(Self {
            is_classic: is_classic(&given, is_in_letters)?,
            warm_up: seconds(&given, "warm-up", 0.5, 0.0)?,
            interval: seconds(&given, "interval", 1.0, 0.1)?,
            noise: seconds(&given, "noise", 1.0, 0.0)?,
            cores: [cores_of(&given, 0)?, cores_of(&given, 1)?],
            json: given.text("json").map(PathBuf::from),
            warnings,
            is_in_letters,
            given,
        })
    }

    /// How messages or operations are spread over time; the classic tools tick
    /// `ticks` times a second.
    pub(crate) fn pacing(&self, ticks: u32) -> Result<Pacing, GaugeError> {
        let usual = if self.is_classic { Pacing::Ticks(ticks) } else { Pacing::Even };
        self.given.text("pacing").map_or(Ok(usual), |text| {
            text.parse().map_err(|what: String| GaugeError::option("pacing", text, &what))
        })
    }

    /// `--seconds`, or `--minutes`, if either is there.
    pub(crate) fn time(&self) -> Result<Option<Duration>, GaugeError> {
        let given = &self.given;
        let seconds = match (given.has("seconds"), given.has("minutes")) {
            (true, _) => Some(given.number("seconds", 1.0, 0.01, 86_400.0)?),
            (_, true) => Some(given.number("minutes", 1.0, 0.001, 1440.0)? * 60.0),
            _ => None,
        };
        Ok(seconds.map(Duration::from_secs_f64))
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.given.has("quiet")
    }

    /// An address, if there is one.
    pub(crate) fn address(&self, name: &str) -> Result<Option<IpAddr>, GaugeError> {
        let parsed = |text: &str| {
            text.parse().map_err(|_| GaugeError::option(name, text, "give an address"))
        };
        self.given.text(name).map(parsed).transpose()
    }
}

/// A tool's own options, and those of all.
pub(crate) fn with_common(own: &[Known]) -> Vec<Known> {
    own.iter().copied().chain(COMMON).collect()
}

/// The cores of a side; `None` is anywhere.
pub(crate) fn cores_of(given: &Arguments, side: usize) -> Result<Option<Vec<usize>>, GaugeError> {
    let list = match given.side("affinity", side) {
        None | Some("" | "any") => return Ok(None),
        Some(list) => list,
    };
    let wanted = cores(list)
        .ok_or_else(|| GaugeError::option("affinity", list, "give cores as 0 or 0,2-3, or any"))?;
    let allowed = allowed_cores();
    match wanted.iter().find(|core| !allowed.contains(core)) {
        Some(core) => Err(GaugeError::Core(NoSuchCore { core: *core, cores: allowed })),
        None => Ok(Some(wanted)),
    }
}

/// Cores as they are typed.
pub(crate) fn cores_text(cores: Option<&[usize]>) -> String {
    match cores {
        None => "any".to_owned(),
        Some(cores) => cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}

/// Whether the output is that of the classic tool.
pub(crate) fn is_classic(given: &Arguments, by_name: bool) -> Result<bool, GaugeError> {
    match given.text("format") {
        None => Ok(by_name),
        Some("classic") => Ok(true),
        Some("human") => Ok(false),
        Some(other) => Err(GaugeError::option("format", other, "give human or classic")),
    }
}

/// Reads seconds.
pub(crate) fn seconds(
    given: &Arguments,
    name: &str,
    default: f64,
    least: f64,
) -> Result<Duration, GaugeError> {
    given.number(name, default, least, 86_400.0).map(Duration::from_secs_f64)
}

/// What is held while a tool measures.
pub(crate) struct Held {
    _awake: Option<File>,
}

/// Priority, memory and cores as the options have them.
pub(crate) fn prepare(given: &Arguments) -> Result<Held, GaugeError> {
    set_priority(given)?;
    if given.is_set("lock-memory")? {
        lock_memory()?;
    }
    Ok(Held { _awake: hold_awake(given)? })
}

/// Keeps all memory of this process in memory.
pub(crate) fn lock_memory() -> Result<(), GaugeError> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(|error| {
        GaugeError::Unsupported(format!(
            "memory cannot be locked: {error}; raise RLIMIT_MEMLOCK (ulimit -l), or leave \
             --lock-memory away"
        ))
    })
}

/// Holds processors awake, for as long as the file is open.
fn hold_awake(given: &Arguments) -> Result<Option<File>, GaugeError> {
    if !given.has("cpu-latency-us") {
        return Ok(None);
    }
    let micros = given.number("cpu-latency-us", 0_i32, 0, 1_000_000)?;
    let path = "/dev/cpu_dma_latency";
    let held = File::options().write(true).open(path).and_then(|mut file| {
        file.write_all(&micros.to_ne_bytes())?;
        Ok(file)
    });
    held.map(Some).map_err(GaugeError::io(format!("holding {path} at {micros} µs (needs root)")))
}

/// What `--priority` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    Fifo(u8),
    RoundRobin(u8),
    Nice(i32),
}

impl Priority {
    fn read(text: &str) -> Result<Self, GaugeError> {
        let real = |text: &str| text.parse().ok().filter(|level| (1..=99).contains(level));
        let read = match text.split_once(':') {
            Some(("fifo", level)) => real(level).map(Self::Fifo),
            Some(("rr", level)) => real(level).map(Self::RoundRobin),
            Some(("nice", nice)) => {
                nice.parse().ok().filter(|nice| (-20..=19).contains(nice)).map(Self::Nice)
            }
            _ => None,
        };
        let what = "give fifo:N or rr:N (1 to 99), or nice:N (-20 to 19)";
        read.ok_or_else(|| GaugeError::option("priority", text, what))
    }

    /// Of the calling thread, and of those that it starts from now on.
    pub(crate) fn set(self) -> Result<(), String> {
        let (policy, level) = match self {
            Self::Nice(nice) => {
                return rustix::process::setpriority_process(None, nice)
                    .map_err(|error| format!("refused ({error}); see RLIMIT_NICE"));
            }
            Self::Fifo(level) => (RealtimeThreadSchedulePolicy::Fifo, level),
            Self::RoundRobin(level) => (RealtimeThreadSchedulePolicy::RoundRobin, level),
        };
        let priority = level.try_into().map_err(|error| format!("{error:?}"))?;
        let policy = ThreadSchedulePolicy::Realtime(policy);
        let priority = ThreadPriority::Crossplatform(priority);
        set_thread_priority_and_policy(thread_native_id(), priority, policy).map_err(|error| {
            format!(
                "refused ({error:?}); raise RLIMIT_RTPRIO (ulimit -r), or look at the cgroup's \
                 cpu.rt_runtime_us"
            )
        })
    }
}

/// Sets the priority that was asked for.
pub(crate) fn set_priority(given: &Arguments) -> Result<(), GaugeError> {
    let Some(text) = given.text("priority") else { return Ok(()) };
    Priority::read(text)?.set().map_err(|what| GaugeError::option("priority", text, &what))
}

/// The level of FIFO or RR that was asked for; 0 of neither.
pub(crate) fn real_time_level(given: &Arguments) -> Result<u8, GaugeError> {
    Ok(match given.text("priority").map(Priority::read).transpose()? {
        Some(Priority::Fifo(level) | Priority::RoundRobin(level)) => level,
        _ => 0,
    })
}

/// Looks at who else is at work from now on: on the cores of these sides, or on
/// all there are where a side may be anywhere.
///
/// All that takes part on these cores has to be this process or its child, else
/// it is told as somebody else.
pub(crate) fn watch(sides: &[Option<Vec<usize>>]) -> Watch {
    let named: Option<Vec<&[usize]>> = sides.iter().map(Option::as_deref).collect();
    Watch::start(&named.map(|cores| cores.concat()).unwrap_or_default())
}

/// What the calling thread's core does by itself; `None` if not asked for.
pub(crate) fn noise(clock: &TickClock, cores: Option<&[usize]>, time: Duration) -> Option<Noise> {
    if time.is_zero() {
        return None;
    }
    let gaps = spin(clock, NOISE_THRESHOLD_NS, time);
    let core = cores.and_then(|cores| cores.first()).copied().unwrap_or_default();
    Some(Noise { core: core as u32, lost_percent: gaps.lost_percent(), max_ns: gaps.max_ns })
}

/// The median of writing, stamping and reading a message that goes nowhere.
pub(crate) fn overhead_ns() -> u64 {
    let mut message = [0; HEAD_BYTES];
    let mut all: Vec<u64> = Vec::with_capacity(OVERHEAD_ROUNDS);
    for seq in 0..OVERHEAD_ROUNDS as u64 {
        let sent_ns = now_ns();
        let length = HEAD_BYTES as u32;
        Head { kind: Kind::Data, length, seq, due_ns: sent_ns, sent_ns }.write(&mut message);
        let back = Head::read(std::hint::black_box(&message)).map_or(0, |head| head.sent_ns);
        all.push(now_ns().saturating_sub(back));
    }
    all.sort_unstable();
    nearest_rank(&all, 50.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_read() {
        assert_eq!(Priority::read("fifo:95").unwrap(), Priority::Fifo(95));
        assert_eq!(Priority::read("rr:1").unwrap(), Priority::RoundRobin(1));
        assert_eq!(Priority::read("nice:-5").unwrap(), Priority::Nice(-5));
        for wrong in ["fifo:0", "fifo:100", "nice:20", "batch:1", "fifo"] {
            let error = Priority::read(wrong).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--priority {wrong}: give fifo:N")), "{error}");
        }
    }

    #[test]
    fn measuring_nothing_costs_something() {
        assert!((1..100_000).contains(&overhead_ns()));
    }
}
