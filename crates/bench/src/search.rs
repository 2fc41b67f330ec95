//! The highest rate that holds.

/// How to look for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// Where it begins.
    pub(crate) from: u64,
    /// It ends when the rate is known to this share of it.
    pub(crate) step: f64,
    /// Or after so many trials.
    pub(crate) max_trials: usize,
}

impl Search {
    /// The highest rate at which `holds` is true: rates double as long as they
    /// hold, or halve until one does; then the gap between one that holds and
    /// one that does not is halved (as a ratio). `None` when no rate held.
    ///
    /// Errors: those of `holds`.
    pub(crate) fn run<E>(
        self,
        mut holds: impl FnMut(u64) -> Result<bool, E>,
    ) -> Result<Option<u64>, E> {
        let (mut good, mut bad) = (None, None);
        let mut rate = self.from.max(1);
        for _ in 0..self.max_trials {
            match holds(rate)? {
                true => good = Some(rate),
                false => bad = Some(rate),
            }
            rate = match (good, bad) {
                (Some(good), None) => good.saturating_mul(2),
                (None, Some(bad)) if bad > 1 => bad / 2,
                (Some(good), Some(bad)) if bad as f64 <= good as f64 * (1.0 + self.step) => break,
                (Some(good), Some(bad)) => ((good as f64 * bad as f64).sqrt() as u64).max(good + 1),
                (None, _) => break,
            };
            if bad == Some(rate) {
                break;
            }
        }
        Ok(good)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(limit: u64, max_trials: usize) -> (Option<u64>, usize) {
        let search = Search { from: 10_000, step: 0.03, max_trials };
        let mut trials = 0;
        let found = search.run(|rate| {
            trials += 1;
            Ok::<_, ()>(rate <= limit)
        });
        (found.unwrap(), trials)
    }

    #[test]
    fn the_highest_rate_is_found_to_the_step() {
        for limit in [3, 1_000, 9_999, 10_000, 123_456, 9_999_999_u64] {
            let (found, trials) = search(limit, 40);
            let found = found.unwrap();
            assert!(found <= limit && found as f64 >= limit as f64 * 0.97 - 1.0, "{found} {limit}");
            assert!(trials <= 22, "{trials} trials for {limit}");
        }
        assert_eq!(search(0, 40).0, None);
    }

    #[test]
    fn it_ends_after_the_trials_that_it_has() {
        assert_eq!(search(u64::MAX, 5), (Some(160_000), 5));
        assert_eq!(search(123_456, 6), (Some(113_137), 6));
        assert_eq!(search(0, 3), (None, 3));
    }
}
