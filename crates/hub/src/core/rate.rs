//! How many requests a second a source is asked at most.
//!
//! ```text
//!   left   ┌── a tenth of a second's, one at least
//!     10 ──┤▇
//!          │ ▇   each request takes one,
//!      0 ──┤  ▇▇▇ ── none goes before one is there again
//! ```

/// What a source may be asked for at once, as a part of what it may be in a second.
const AT_ONCE: u64 = 10;

/// How seldom a source is looked at that has used it up, so that a few leave at a time.
const EACH_MS: u64 = 10;

/// What is left of a source's requests a second.
#[derive(Clone, Debug)]
pub(crate) struct RequestRate {
    per_s: u64,
    /// Below zero after requests that did not wait: those on streams that are open.
    left: i64,
    /// Until when what came back is counted, in microseconds: no fraction of a request is
    /// lost or won.
    counted_us: u64,
}

impl RequestRate {
    /// So many a second; 0 counts as 1.
    pub(crate) fn new(per_s: u32) -> Self {
        let per_s = u64::from(per_s).max(1);
        Self { per_s, left: Self::most(per_s), counted_us: 0 }
    }

    fn most(per_s: u64) -> i64 {
        (per_s / AT_ONCE).max(1).cast_signed()
    }

    /// How many a second.
    pub(crate) const fn per_s(&self) -> u64 {
        self.per_s
    }

    /// A request went.
    pub(crate) const fn take(&mut self) {
        self.left -= 1;
    }

    /// Whether the next one has to wait.
    pub(crate) const fn is_used_up(&self) -> bool {
        self.left <= 0
    }

    /// When there is one again, where there is none.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        if !self.is_used_up() {
            return None;
        }
        let lacking = (1 - self.left).cast_unsigned();
        let wait_us = (lacking * 1_000_000).div_ceil(self.per_s).max(EACH_MS * 1_000);
        Some((self.counted_us + wait_us).div_ceil(1_000))
    }

    /// Counts what came back until now. Whether there is one again where there was none.
    pub(crate) fn refill(&mut self, now_ms: u64) -> bool {
        let was_used_up = self.is_used_up();
        let most = Self::most(self.per_s);
        let now_us = now_ms * 1_000;
        let since_us = now_us.saturating_sub(self.counted_us);
        // More than it takes to be full again is not counted, however long ago it was.
        let lacking = (most - self.left).cast_unsigned();
        let back = (since_us.saturating_mul(self.per_s) / 1_000_000).min(lacking);
        self.left += back.cast_signed();
        let took_us = (back * 1_000_000).div_ceil(self.per_s);
        self.counted_us = if back == lacking { now_us } else { self.counted_us + took_us };
        was_used_up && !self.is_used_up()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks whenever it may from a moment on for so many milliseconds, looked at when it
    /// says so; when each went.
    fn asked(rate: &mut RequestRate, from_ms: u64, for_ms: u64) -> Vec<u64> {
        let mut went = Vec::new();
        let mut now_ms = from_ms;
        while now_ms < from_ms + for_ms {
            rate.refill(now_ms);
            while !rate.is_used_up() {
                rate.take();
                went.push(now_ms);
            }
            now_ms = rate.due_ms().expect("it is used up");
        }
        went
    }

    #[test]
    fn in_no_second_are_there_more_and_in_many_seconds_as_many() {
        for per_s in [1, 3, 7, 50, 999, 12_345] {
            let mut rate = RequestRate::new(per_s);
            let went = asked(&mut rate, 5_000, 20_000);
            let per_s = u64::from(per_s);
            let most = per_s + (per_s / AT_ONCE).max(1);
            for (at, ms) in went.iter().enumerate() {
                let in_second = went[at..].iter().take_while(|other| **other < ms + 1_000).count();
                assert!(in_second as u64 <= most, "{in_second} of {per_s} from {ms}");
            }
            let all = went.len() as u64;
            assert!((per_s * 19..=per_s * 20 + most).contains(&all), "{all} of {per_s} a second");
        }
    }

    #[test]
    fn what_was_not_used_is_not_saved() {
        let mut rate = RequestRate::new(100);
        assert_eq!(asked(&mut rate, 0, 1).len(), 10);
        assert_eq!(asked(&mut rate, 3_600_000, 1).len(), 10);
    }

    #[test]
    fn what_could_not_wait_is_waited_for_afterwards() {
        let mut rate = RequestRate::new(10);
        rate.refill(1_000);
        (0..6).for_each(|_| rate.take());
        assert_eq!(rate.due_ms(), Some(1_600));
        assert!(!rate.refill(1_500));
        assert!(rate.refill(1_600));
        assert!(!rate.is_used_up());
    }
}
