//! The highest rate that holds.

/// How to look for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// Where it begins.
    pub(crate) from: u64,
    /// Lower rates are not tried, 1 or more.
    pub(crate) least: u64,
    /// It ends when the rate is known to this share of it.
    pub(crate) step: f64,
    /// So many short trials at most.
    pub(crate) max_trials: usize,
    /// So many trials of the whole length at most, unless none of them held.
    pub(crate) max_whole: usize,
}

/// How long a rate is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Long enough to see whether it is worth a whole trial.
    Short,
    /// As long as is measured.
    Whole,
}

/// Whole trials go up and down from where the short ones ended by this share,
/// and by twice as much each time.
const MOVED: f64 = 0.05;

/// The most by which a rate is lowered at once, and raised.
const MOST_LOWERED: f64 = 0.5;
const MOST_RAISED: f64 = 3.0;

/// Short trials need not know the rate better than this.
const OUTLINE_STEP: f64 = 0.08;

impl Search {
    /// The highest rate that held for the whole length: short trials find where
    /// it must be; whole ones go up or down from there, since a machine that has
    /// other work to do lets one or the other kind fail, and then halve the gap.
    /// `None` when no rate held, not even the least.
    ///
    /// Errors: those of `holds`.
    pub(crate) fn run<E>(
        self,
        mut holds: impl FnMut(u64, Length) -> Result<bool, E>,
    ) -> Result<Option<u64>, E> {
        let best = self.outline(|rate| holds(rate, Length::Short))?;
        self.confirm(best.unwrap_or(self.least), |rate| holds(rate, Length::Whole))
    }

    /// The highest rate that holds in a short trial: rates double as long as
    /// they hold, or halve until one does; then the gap between one that holds
    /// and one that does not is halved (as a ratio).
    fn outline<E>(self, mut holds: impl FnMut(u64) -> Result<bool, E>) -> Result<Option<u64>, E> {
        let (mut good, mut bad) = (None, None);
        let mut rate = self.from.max(1);
        for _ in 0..self.max_trials {
            match holds(rate)? {
                true => good = Some(rate),
                false => bad = Some(rate),
            }
            rate = match (good, bad) {
                (Some(good), None) => good.saturating_mul(2),
                (None, Some(bad)) if bad > self.least => (bad / 2).max(self.least),
                (Some(good), Some(bad)) if is_near(good, bad, OUTLINE_STEP) => break,
                (Some(good), Some(bad)) => between(good, bad),
                (None, _) => break,
            };
            if bad == Some(rate) {
                break;
            }
        }
        // Where all were too high, the next one down may hold.
        Ok(good.or(bad.map(|bad| (bad / 2).max(self.least))))
    }

    fn confirm<E>(
        self,
        from: u64,
        mut holds: impl FnMut(u64) -> Result<bool, E>,
    ) -> Result<Option<u64>, E> {
        let (mut good, mut bad) = (None, None);
        let (mut rate, mut moved, mut tried) = (from, MOVED, 0);
        loop {
            match holds(rate)? {
                true => good = Some(rate),
                false => bad = Some(rate),
            }
            tried += 1;
            rate = match (good, bad) {
                (Some(_), _) if tried >= self.max_whole => break,
                (Some(good), Some(bad)) if is_near(good, bad, self.step) => break,
                (Some(good), Some(bad)) => between(good, bad),
                (Some(good), None) => raised(good, moved.min(MOST_RAISED)),
                (None, Some(bad)) if bad <= self.least => break,
                (None, _) => lowered(rate, moved.min(MOST_LOWERED)).max(self.least),
            };
            if bad == Some(rate) {
                break;
            }
            moved *= 2.0;
        }
        Ok(good)
    }
}

fn is_near(good: u64, bad: u64, step: f64) -> bool {
    bad as f64 <= good as f64 * (1.0 + step)
}

fn lowered(rate: u64, by: f64) -> u64 {
    (rate as f64 * (1.0 - by)) as u64
}

fn raised(rate: u64, by: f64) -> u64 {
    ((rate as f64 * (1.0 + by)) as u64).max(rate.saturating_add(1))
}

/// The middle of two rates, as a ratio.
fn between(good: u64, bad: u64) -> u64 {
    ((good as f64 * bad as f64).sqrt() as u64).max(good + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Search =
        Search { from: 10_000, least: 1, step: 0.03, max_trials: 40, max_whole: 8 };

    /// What is found, and the rates that were tried, with two limits: one for
    /// short trials and one for whole ones.
    fn search(search: Search, short: u64, whole: u64) -> (Option<u64>, Vec<(u64, Length)>) {
        let mut trials = Vec::new();
        let found = search.run(|rate, length| {
            trials.push((rate, length));
            Ok::<_, ()>(rate <= if length == Length::Short { short } else { whole })
        });
        (found.unwrap(), trials)
    }

    fn count(trials: &[(u64, Length)], length: Length) -> usize {
        trials.iter().filter(|trial| trial.1 == length).count()
    }

    #[test]
    fn the_highest_rate_is_found_to_the_step() {
        for limit in [3, 1_000, 9_999, 10_000, 123_456, 9_999_999_u64] {
            let (found, trials) = search(SEARCH, limit, limit);
            let found = found.unwrap();
            assert!(found <= limit && found as f64 >= limit as f64 * 0.97 - 1.0, "{found} {limit}");
            assert!(count(&trials, Length::Short) <= 22, "{trials:?} for {limit}");
            assert!(count(&trials, Length::Whole) <= 8, "{trials:?} for {limit}");
        }
    }

    #[test]
    fn what_is_found_always_held_for_the_whole_length() {
        for (short, whole) in
            [(100_000, 97_000), (100_000, 80_000), (100_000, 9_000), (100_000, 40), (1_000, 1)]
        {
            let (found, trials) = search(SEARCH, short, whole);
            let found = found.unwrap();
            assert!(found <= whole, "{found} of {whole}");
            assert!(trials.contains(&(found, Length::Whole)), "{found} was not tried: {trials:?}");
            assert!(found as f64 >= whole as f64 * 0.49, "{found} of {whole}");
            assert!(count(&trials, Length::Whole) <= 30, "{trials:?}");
        }
    }

    #[test]
    fn a_little_less_is_found_to_the_step() {
        for whole in [99_000, 96_000, 93_000, 88_000, 80_000] {
            let (found, _) = search(SEARCH, 100_000, whole);
            let found = found.unwrap();
            assert!(found <= whole && found as f64 > whole as f64 * 0.965, "{found} of {whole}");
        }
    }

    #[test]
    fn short_trials_that_all_fail_are_no_reason_to_give_up() {
        // A machine that was busy for a while: they end at 1,250.
        let (found, _) = search(Search { max_trials: 3, ..SEARCH }, 0, 20_000);
        assert!(found.is_some_and(|found| found > 10_000 && found <= 20_000), "{found:?}");
    }

    #[test]
    fn nothing_below_the_least_is_tried() {
        let (found, trials) = search(Search { least: 100, ..SEARCH }, 50, 50);
        assert_eq!(found, None);
        assert!(trials.iter().all(|trial| trial.0 >= 100), "{trials:?}");
        let (found, _) = search(Search { least: 100, ..SEARCH }, 50, 100);
        assert_eq!(found, Some(100));
    }

    #[test]
    fn it_ends_after_the_trials_that_it_has() {
        let few = Search { max_trials: 5, max_whole: 3, ..SEARCH };
        let (found, trials) = search(few, u64::MAX, u64::MAX);
        // 160,000 in the last short trial, then 5 % more and 10 % more.
        assert_eq!((found, trials.len()), (Some(184_800), 8));
        let (found, _) = search(Search { max_whole: 1, ..few }, 123_456, u64::MAX);
        assert_eq!(found, Some(80_000));
        let (found, trials) = search(few, 0, 0);
        assert_eq!(found, None);
        assert!(trials.len() < 20, "{trials:?}");
        let bounded = Search { max_whole: 5, step: 0.0, ..SEARCH };
        let (_, trials) = search(bounded, 100_000, 90_000);
        assert_eq!(count(&trials, Length::Whole), 5, "{trials:?}");
    }
}
