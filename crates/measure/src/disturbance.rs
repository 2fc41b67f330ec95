//! Who else was at work on the cores that something was measured on.
//!
//! A figure of a machine that others use as well is theirs too. That cannot be
//! taken away from it, but it can be told beside it.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::processor::allowed_cores;

/// A share of other programs from which on it is told, in percent.
const OTHERS_TOLD_PERCENT: f64 = 2.0;

/// A share of the hypervisor from which on it is told, in percent.
const STOLEN_TOLD_PERCENT: f64 = 0.5;

/// The fewest ticks of all cores that shares are reckoned of: one of them is
/// 1 % then.
const LEAST_TICKS: u64 = 100;

/// What others had of the cores while something was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disturbance {
    /// Share of the cores' time that went to other programs, in percent.
    pub others_percent: f64,
    /// Share of the cores' time that the hypervisor gave to others, in percent.
    pub stolen_percent: f64,
}

impl Disturbance {
    /// Whether figures may be others' as well.
    pub fn is_worth_telling(&self) -> bool {
        self.others_percent >= OTHERS_TOLD_PERCENT || self.stolen_percent >= STOLEN_TOLD_PERCENT
    }

    /// The greater of each share.
    #[must_use]
    pub const fn worst(self, other: Self) -> Self {
        Self {
            others_percent: self.others_percent.max(other.others_percent),
            stolen_percent: self.stolen_percent.max(other.stolen_percent),
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { others_percent, stolen_percent } = self;
        write!(f, "other programs had {others_percent:.1} % of the cores")?;
        if *stolen_percent >= STOLEN_TOLD_PERCENT {
            write!(f, ", the hypervisor {stolen_percent:.1} %")?;
        }
        Ok(())
    }
}

/// Looks at cores from its start on.
#[derive(Clone, Debug)]
pub struct Watch {
    cores: Vec<usize>,
    before: Option<Spent>,
}

impl Watch {
    /// From now on, at these cores; at all that this process may use without
    /// any. Takes some 50 µs.
    pub fn start(cores: &[usize]) -> Self {
        let cores = if cores.is_empty() { allowed_cores() } else { cores.to_vec() };
        let before = Spent::now(&cores);
        Self { cores, before }
    }

    /// What others had until now; `None` where the kernel does not tell, or of
    /// less than a second of one core.
    pub fn ended(&self) -> Option<Disturbance> {
        Spent::now(&self.cores)?.since(self.before?)
    }
}

/// Ticks of the kernel, hundredths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spent {
    /// Of the cores.
    all: u64,
    /// In programs, and in the kernel on their behalf. Interrupts are left out:
    /// those of a loopback device are of what is measured.
    worked: u64,
    stolen: u64,
    /// Of this process and its children, wherever they ran.
    ours: u64,
}

impl Spent {
    fn now(cores: &[usize]) -> Option<Self> {
        let file = |path: &str| fs::read_to_string(path).ok();
        let of_cores = of_cores(&file("/proc/stat")?, cores)?;
        let own = of_process(&file("/proc/self/stat")?)?;
        let children =
            children().into_iter().filter_map(|id| of_process(&file(&format!("/proc/{id}/stat"))?));
        Some(Self { ours: own + children.sum::<u64>(), ..of_cores })
    }

    fn since(self, before: Self) -> Option<Disturbance> {
        let all = self.all.checked_sub(before.all).filter(|ticks| *ticks >= LEAST_TICKS)?;
        let percent = |ticks: u64| (ticks.min(all) * 1000 / all) as f64 / 10.0;
        let worked = self.worked.saturating_sub(before.worked);
        let others = worked.saturating_sub(self.ours.saturating_sub(before.ours));
        Some(Disturbance {
            others_percent: percent(others),
            stolen_percent: percent(self.stolen.saturating_sub(before.stolen)),
        })
    }
}

/// The lines of some cores in `/proc/stat`, added; `None` of none.
fn of_cores(stat: &str, cores: &[usize]) -> Option<Spent> {
    let mut sum = Spent::default();
    for line in stat.lines() {
        let mut words = line.split_whitespace();
        let core = words.next().and_then(|name| name.strip_prefix("cpu")?.parse::<usize>().ok());
        if !core.is_some_and(|core| cores.contains(&core)) {
            continue;
        }
        // user nice system idle iowait irq softirq steal; guests are in user.
        let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let [user, nice, system, .., steal] = ticks[..] else { return None };
        sum.all += ticks.iter().sum::<u64>();
        sum.worked += user + nice + system;
        sum.stolen += steal;
    }
    (sum.all > 0).then_some(sum)
}

/// Ticks of a process and of the children that it has waited for, in
/// `/proc/PID/stat`.
fn of_process(stat: &str) -> Option<u64> {
    // The name in parentheses may have blanks and parentheses of its own.
    let behind_name = stat.rsplit_once(')')?.1;
    // utime stime cutime cstime, fields 14 to 17 of all.
    let ticks = behind_name.split_whitespace().skip(11).take(4);
    let ticks: Vec<u64> = ticks.map_while(|word| word.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum())
}

/// Children of all threads of this process.
fn children() -> Vec<u32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().filter_map(Result::ok);
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers = |text: String| -> Vec<u32> {
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    texts.flat_map(numbers).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const STAT: &str = "\
cpu  300 30 90 4000 10 5 15 70 0 0
cpu0 100 10 30 2000 5 2 7 20 0 0
cpu1 200 20 60 2000 5 3 8 50 0 0
intr 1 2 3
";

    #[test]
    fn the_lines_of_the_cores_are_added() {
        let of = |cores: &[usize]| of_cores(STAT, cores).map(|of| (of.all, of.worked, of.stolen));
        assert_eq!(of(&[0]), Some((2174, 140, 20)));
        assert_eq!(of(&[0, 1]), Some((4520, 420, 70)));
        assert_eq!(of(&[7]), None);
    }

    #[test]
    fn a_process_has_its_own_ticks_and_those_of_children_that_ended() {
        let stat = "17 (a) b) S 1 17 17 0 -1 4194560 9 9 9 9 100 20 3 4 20 0 1 0 5";
        assert_eq!(of_process(stat), Some(127));
        assert_eq!(of_process("17 (x) S 1"), None);
    }

    #[test]
    fn what_is_not_ours_is_others() {
        let before = Spent { all: 1000, worked: 300, stolen: 5, ours: 50 };
        let after = Spent { all: 1200, worked: 420, stolen: 9, ours: 130 };
        let of = after.since(before).unwrap();
        assert_eq!(of, Disturbance { others_percent: 20.0, stolen_percent: 2.0 });
        assert!(of.is_worth_telling());
        assert_eq!(of.to_string(), "other programs had 20.0 % of the cores, the hypervisor 2.0 %");
        // Ticks are rounded, so that ours may be more than all.
        let quiet = Spent { ours: 400, stolen: 5, ..after }.since(before).unwrap();
        assert_eq!(quiet, Disturbance::default());
        assert!(!quiet.is_worth_telling());
        assert_eq!(Spent { all: 1050, ..after }.since(before), None, "too short to tell");
        let worst = of.worst(Disturbance { others_percent: 1.0, stolen_percent: 3.0 });
        assert_eq!(worst, Disturbance { others_percent: 20.0, stolen_percent: 3.0 });
    }

    /// A child that spins is ours, somebody else's is not: here the same
    /// process is looked at from both sides.
    #[test]
    fn this_machine_is_looked_at() {
        let Some(core) = allowed_cores().first().copied() else { return };
        let watch = Watch::start(&[core]);
        let until = Instant::now() + Duration::from_secs(30);
        let of = loop {
            if let Some(of) = watch.ended() {
                break of;
            }
            assert!(Instant::now() < until, "ticks do not grow");
            std::hint::spin_loop();
        };
        assert!((0.0..=100.0).contains(&of.others_percent), "{of:?}");
        assert!((0.0..=100.0).contains(&of.stolen_percent), "{of:?}");
    }
}
