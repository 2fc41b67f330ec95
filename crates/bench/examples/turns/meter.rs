//! How long turns take.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What the turns of one role took while something happened.
///
/// A turn is told by the wall and by the processor: while other work has the
/// core, the wall goes on and the thread's own time does not. On a shared host
/// the second is the one to compare.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    /// Calls of `duty_cycle`.
    pub(crate) turns: u64,
    /// The longest by the wall.
    pub(crate) longest_wall: Duration,
    /// The longest by the thread's own time.
    pub(crate) longest_cpu: Duration,
    /// Turns of more than a millisecond of the thread's own time.
    pub(crate) above_1_ms: u64,
    /// Turns of more than two.
    pub(crate) above_2_ms: u64,
    /// Of all turns together.
    pub(crate) cpu: Duration,
}

impl Meter {
    /// Measures one turn.
    pub(crate) fn turn<R>(&mut self, turn: impl FnOnce() -> R) -> R {
        let (wall_from, cpu_from) = (Instant::now(), thread_time());
        let result = turn();
        self.add(wall_from.elapsed(), thread_time().saturating_sub(cpu_from));
        result
    }

    fn add(&mut self, wall: Duration, cpu: Duration) {
        self.turns += 1;
        self.longest_wall = self.longest_wall.max(wall);
        self.longest_cpu = self.longest_cpu.max(cpu);
        self.above_1_ms += u64::from(cpu > Duration::from_millis(1));
        self.above_2_ms += u64::from(cpu > Duration::from_millis(2));
        self.cpu += cpu;
    }

    /// Of two runs of the same, the one with the shorter longest turn: what is
    /// longer in the other was the machine.
    pub(crate) fn better(self, other: Self) -> Self {
        match other.longest_cpu < self.longest_cpu {
            true => other,
            false => self,
        }
    }
}

/// For how long this thread has had a core.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What this process has touched of memory of its own, in bytes.
pub(crate) fn own_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
