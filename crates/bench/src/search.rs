//! The highest rate that holds.

/// The highest rate at which `holds` is true, to about `step` of it, from
/// below: rates rise by half as long as they hold, then the gap is halved.
/// `None` when not even `from` holds.
///
/// Errors: those of `holds`.
pub(crate) fn highest_rate<E>(
    from: u64,
    step: f64,
    mut holds: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let mut good = None;
    let mut rate = from;
    while holds(rate)? {
        good = Some(rate);
        rate = rate + rate / 2;
    }
    let Some(mut good) = good else { return Ok(None) };
    let mut bad = rate;
    while (bad - good) as f64 > good as f64 * step {
        let middle = good.midpoint(bad);
        match holds(middle)? {
            true => good = middle,
            false => bad = middle,
        }
    }
    Ok(Some(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_is_found_from_below() {
        for limit in [1_000, 1_001, 123_456, 9_999_999_u64] {
            let mut above = 0;
            let found = highest_rate(1_000, 0.05, |rate| {
                above += u64::from(rate > limit);
                Ok::<_, ()>(rate <= limit)
            });
            let found = found.unwrap().unwrap();
            assert!(found <= limit && found as f64 >= limit as f64 * 0.95, "{found} of {limit}");
            assert!(above <= 5, "{above} trials beyond what holds");
        }
        assert_eq!(highest_rate(1_000, 0.05, |_| Ok::<_, ()>(false)), Ok(None));
    }
}
