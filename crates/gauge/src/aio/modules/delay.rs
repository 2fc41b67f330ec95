//! A network that is late, loses, doubles and reorders, as it was told to.

use std::collections::VecDeque;

use super::{Came, Module, Outlet, share_of};
use crate::GaugeError;
use crate::aio::flow::DelaySpec;

/// The most messages that are kept: beyond, the oldest go too early.
const MAX_KEPT: usize = 1 << 20;

struct Kept {
    due_ns: u64,
    came: Came,
    bytes: Vec<u8>,
}

/// Passes messages on after a time, both ways.
pub(in crate::aio) struct Delay {
    spec: DelaySpec,
    count: u64,
    /// In the order in which they are due.
    kept: VecDeque<Kept>,
    spare: Vec<Vec<u8>>,
}

impl Delay {
    pub(in crate::aio) fn new(spec: &DelaySpec) -> Self {
        Self { spec: spec.clone(), count: 0, kept: VecDeque::new(), spare: Vec::new() }
    }

    /// A share by the number of the message: the same in each run.
    fn share(&self, of: u64) -> f64 {
        share_of(self.spec.seed.rotate_left(32) ^ self.count.wrapping_mul(8) ^ of)
    }

    fn keep(&mut self, due_ns: u64, came: Came, message: &[u8]) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(message);
        let at = self.kept.partition_point(|kept| kept.due_ns <= due_ns);
        self.kept.insert(at, Kept { due_ns, came, bytes });
    }

    fn pass(&mut self, outlet: &mut dyn Outlet) {
        let Some(Kept { came, mut bytes, .. }) = self.kept.pop_front() else { return };
        match came.is_answer {
            true => outlet.answer(Came { port: 0, is_answer: false, ..came }, &mut bytes),
            false => outlet.send_over(0, came.connection, &mut bytes),
        }
        self.spare.push(bytes);
    }
}

impl Module for Delay {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        self.count += 1;
        if self.share(1) < self.spec.loss {
            return;
        }
        let late_us = self.spec.us + self.share(2) * self.spec.jitter_us;
        // One that is reordered is overtaken by those of the time it takes itself.
        let again_us = if self.share(3) < self.spec.reorder { late_us.max(100.0) } else { 0.0 };
        let mut due_ns = came.at_ns + ((late_us + again_us) * 1e3) as u64;
        if self.spec.reorder == 0.0 {
            // Jitter alone changes no order: a queue is between.
            due_ns = due_ns.max(self.kept.back().map_or(0, |last| last.due_ns));
        }
        self.keep(due_ns, came, message);
        if self.share(4) < self.spec.duplicate {
            self.keep(due_ns, came, message);
        }
        while self.kept.len() > MAX_KEPT {
            self.pass(outlet);
        }
    }

    fn turn(&mut self, now_ns: u64, outlet: &mut dyn Outlet) -> Result<u64, GaugeError> {
        while self.kept.front().is_some_and(|kept| kept.due_ns <= now_ns) {
            self.pass(outlet);
        }
        Ok(self.kept.front().map_or(u64::MAX, |kept| kept.due_ns))
    }

    fn is_clear(&self) -> bool {
        self.kept.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Gone, message};
    use super::*;

    const US: u64 = 1_000;

    /// 100 µs apart, and a turn whenever one is wanted.
    fn played(spec: &DelaySpec, count: u64) -> Vec<(u64, u64)> {
        let (mut delay, mut out) = (Delay::new(spec), Vec::new());
        let mut next = u64::MAX;
        let mut turns = |delay: &mut Delay, until: u64, next: &mut u64| {
            while *next <= until {
                let (at, mut gone) = (*next, Gone::default());
                *next = delay.turn(at, &mut gone).unwrap();
                out.extend(gone.seqs().into_iter().map(|seq| (seq, at)));
            }
        };
        for seq in 0..count {
            let now = seq * 100 * US;
            turns(&mut delay, now, &mut next);
            let came = Came { at_ns: now, ..Came::default() };
            delay.message(came, &mut message(1, seq, 64), &mut Gone::default());
            next = delay.turn(now, &mut Gone::default()).unwrap();
        }
        turns(&mut delay, u64::MAX - 1, &mut next);
        assert!(delay.is_clear());
        out
    }

    #[test]
    fn each_message_is_late_by_so_much() {
        let out = played(&DelaySpec { us: 1000.0, ..DelaySpec::default() }, 50);
        assert!(
            out.iter()
                .enumerate()
                .all(|(n, (seq, at))| { *seq == n as u64 && *at == (n as u64 * 100 + 1000) * US })
        );
        let out = played(&DelaySpec { us: 1000.0, jitter_us: 500.0, ..DelaySpec::default() }, 500);
        let late = |(seq, at): &(u64, u64)| (at - seq * 100 * US) / US;
        assert!(out.iter().all(|of| (1000..=1500).contains(&late(of))), "{out:?}");
        assert!(out.windows(2).all(|pair| pair[0].0 < pair[1].0), "jitter changes no order");
    }

    #[test]
    fn shares_are_lost_doubled_and_reordered_the_same_in_each_run() {
        let spec = DelaySpec {
            us: 200.0,
            loss: 0.01,
            duplicate: 0.02,
            reorder: 0.05,
            jitter_us: 0.0,
            seed: 7,
        };
        let out = played(&spec, 20_000);
        assert_eq!(out, played(&spec, 20_000));
        assert_ne!(out, played(&DelaySpec { seed: 8, ..spec }, 20_000));
        let mut seqs: Vec<u64> = out.iter().map(|(seq, _)| *seq).collect();
        let overtaken = seqs.windows(2).filter(|pair| pair[1] < pair[0]).count();
        seqs.sort_unstable();
        let doubled = seqs.windows(2).filter(|pair| pair[0] == pair[1]).count();
        seqs.dedup();
        let lost = 20_000 - seqs.len();
        // 200, 400 and 1,000, within four standard deviations.
        assert!((144..256).contains(&lost), "{lost} lost");
        assert!((320..480).contains(&doubled), "{doubled} doubled");
        assert!((800..1_200).contains(&overtaken), "{overtaken} overtaken");
    }

    #[test]
    fn answers_are_late_too_and_keep_their_connection() {
        let mut delay = Delay::new(&DelaySpec { us: 5.0, ..DelaySpec::default() });
        let mut gone = Gone::default();
        for is_answer in [false, true] {
            let came = Came { connection: 3, is_answer, at_ns: 0, port: 0 };
            delay.message(came, &mut message(1, 0, 64), &mut gone);
        }
        assert_eq!(delay.turn(5 * US, &mut gone).unwrap(), u64::MAX);
        assert_eq!(gone.places(), ["out 0.3", "back 0.3"]);
    }
}
