//! The highest rate without loss, in a bounded number of trials.

/// A rate that holds is raised by this.
const RAISE: u64 = 2;
/// Trials upwards, and then between what holds and what does not.
const MAX_RAISES: usize = 10;
const HALVINGS: usize = 4;

/// What a search has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// The highest rate that held; `None` if none did.
    pub(super) rate: Option<u64>,
    /// Why the next did not; `None` when all did that were tried.
    pub(super) stopped_by: Option<String>,
}

/// Looks from `from` upwards, or from half of it downwards if that is too much
/// already. `flaw` makes a trial and says why it does not count. A trial that
/// fails is made once more, since the machine may have been busy elsewhere.
///
/// Errors: those of `flaw`.
pub(super) fn highest_rate<E>(
    from: u64,
    mut flaw: impl FnMut(u64) -> Result<Option<String>, E>,
) -> Result<Found, E> {
    let mut found = Found::default();
    let mut holds = |rate, found: &mut Found| {
        for _ in 0..2 {
            let Some(why) = flaw(rate)? else {
                found.rate = Some(rate);
                return Ok(true);
            };
            found.stopped_by = Some(why);
        }
        Ok(false)
    };
    let (mut rate, mut bad) = (from, None);
    for _ in 0..MAX_RAISES {
        if holds(rate, &mut found)? {
            if bad.is_some() {
                break;
            }
            rate = rate.saturating_mul(RAISE);
        } else {
            bad = Some(rate);
            if found.rate.is_some() {
                break;
            }
            rate /= 2;
        }
    }
    let (Some(mut good), Some(mut bad)) = (found.rate, bad) else { return Ok(found) };
    for _ in 0..HALVINGS {
        let middle = good.midpoint(bad);
        match holds(middle, &mut found)? {
            true => good = middle,
            false => bad = middle,
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(from: u64, limit: u64) -> (Found, usize) {
        let mut trials = 0;
        let found = highest_rate(from, |rate| {
            trials += 1;
            Ok::<_, ()>((rate > limit).then(|| format!("{rate} is too much")))
        });
        (found.unwrap(), trials)
    }

    #[test]
    fn the_highest_rate_is_found_from_below_and_from_above() {
        for limit in [1_000, 20_000, 123_456, 1_000_000] {
            let (found, trials) = search(100_000, limit);
            let rate = found.rate.unwrap();
            assert!(rate <= limit && rate as f64 > limit as f64 * 0.85, "{rate} of {limit}");
            assert!(trials <= 24, "{trials} trials for {limit}");
            assert!(found.stopped_by.unwrap().ends_with("is too much"));
        }
    }

    #[test]
    fn a_search_ends_when_everything_or_nothing_holds() {
        let (found, trials) = search(1_000, u64::MAX);
        assert_eq!((found.stopped_by, trials), (None, MAX_RAISES));
        assert!(found.rate > Some(1_000));
        let (found, trials) = search(1_000, 0);
        assert!(trials <= 2 * MAX_RAISES, "{trials}");
        assert!(found.stopped_by.is_some());
    }
}
