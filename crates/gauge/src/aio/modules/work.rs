//! What an application does with a message, as far as time goes.

use std::hint::{black_box, spin_loop};

use tapeline_measure::clock::now_ns;

use super::{Came, Module, Outlet, mixed, relay, share_of};
use crate::aio::flow::{WorkBy, WorkTime};

/// Keeps the core busy for a time with each message.
pub(in crate::aio) struct Work {
    time: WorkTime,
    by: WorkBy,
    memory: Vec<u64>,
    count: u64,
}

impl Work {
    pub(in crate::aio) fn new(time: WorkTime, by: WorkBy) -> Self {
        let words = if let WorkBy::Memory { kib } = by { kib * 128 } else { 0 };
        Self { time, by, memory: vec![1; words], count: 0 }
    }

    /// How long the next message takes. The same in each run.
    fn next_ns(&mut self) -> u64 {
        self.count += 1;
        let share = share_of(self.count);
        match &self.time {
            WorkTime::Fixed(nanos) => *nanos,
            WorkTime::Uniform(least, most) => (least + share * (most - least)) as u64,
            WorkTime::Exponential(mean) => (-share.ln() * mean) as u64,
            WorkTime::LogNormal(mean, stddev) => {
                log_normal(*mean, *stddev, share, share_of(!self.count))
            }
            WorkTime::Measured(all) => {
                all.get((share * all.len() as f64) as usize).copied().unwrap_or_default()
            }
        }
    }

    fn until(&mut self, end_ns: u64, seed: u64) {
        let mut state = seed;
        while now_ns() < end_ns {
            match self.by {
                WorkBy::Spin => spin_loop(),
                // About as long as a look at the clock.
                WorkBy::Hash => (0..8).for_each(|_| state = mixed(state)),
                WorkBy::Memory { .. } => {
                    state = mixed(state);
                    let at = (state % self.memory.len().max(1) as u64) as usize;
                    if let Some(word) = self.memory.get_mut(at) {
                        *word = word.wrapping_add(state);
                    }
                }
            }
        }
        black_box(state);
    }
}

/// A time whose logarithm is normally distributed, by two shares (Box and
/// Muller).
fn log_normal(mean: f64, stddev: f64, first: f64, second: f64) -> u64 {
    let normal = (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos();
    let variance = (stddev / mean).powi(2).ln_1p();
    ((mean.ln() - variance / 2.0) + variance.sqrt() * normal).exp() as u64
}

impl Module for Work {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        if came.is_answer {
            return relay(came, message, outlet);
        }
        let nanos = self.next_ns();
        self.until(now_ns() + nanos, self.count);
        outlet.send(0, message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::given;
    use super::*;

    #[test]
    fn times_have_their_distribution() {
        let mean_and_stddev = |time: WorkTime| {
            let mut work = Work::new(time, WorkBy::Spin);
            let all: Vec<f64> = (0..200_000).map(|_| work.next_ns() as f64).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let squares = all.iter().map(|nanos| (nanos - mean).powi(2)).sum::<f64>();
            (mean, (squares / all.len() as f64).sqrt())
        };
        let near = |(mean, stddev): (f64, f64), of: (f64, f64)| {
            assert!((mean / of.0 - 1.0).abs() < 0.02, "{mean} is not {}", of.0);
            assert!((stddev - of.1).abs() < 0.04 * of.0, "{stddev} is not {}", of.1);
        };
        near(mean_and_stddev(WorkTime::Fixed(700)), (700.0, 0.0));
        near(mean_and_stddev(WorkTime::Uniform(1e4, 3e4)), (2e4, 2e4 / 12_f64.sqrt()));
        near(mean_and_stddev(WorkTime::Exponential(5e4)), (5e4, 5e4));
        near(mean_and_stddev(WorkTime::LogNormal(5e4, 2e4)), (5e4, 2e4));
        let measured = WorkTime::Measured((0..1024).collect());
        assert!((measured.mean_ns() - 511.5).abs() < 1e-9);
        near(mean_and_stddev(measured), (511.0, 1024.0 / 12_f64.sqrt()));
    }

    #[test]
    fn work_takes_at_least_its_time_whatever_is_done() {
        for by in [WorkBy::Spin, WorkBy::Hash, WorkBy::Memory { kib: 64 }] {
            let mut work = Work::new(WorkTime::Fixed(200_000), by);
            let began = now_ns();
            let gone = given(&mut work, &[(0, 1, 0), (0, 1, 1)]);
            assert!(now_ns() - began >= 400_000);
            assert_eq!(gone.seqs(), [0, 1]);
        }
    }

    #[test]
    fn work_is_exact_where_nobody_else_has_the_core() {
        // The best of many: whatever else runs only adds.
        let mut work = Work::new(WorkTime::Fixed(20_000), WorkBy::Spin);
        let once = |_| {
            let began = now_ns();
            work.until(began + 20_000, 1);
            now_ns() - began
        };
        let least = (0..2_000).map(once).min().unwrap();
        assert!((20_000..=20_200).contains(&least), "{least}");
    }
}
