//! How many times one figure is another, and whether that says anything.

/// Draws of the bootstrap.
const DRAWS: usize = 2000;

/// B over A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) value: f64,
    /// Nothing speaks against both being the same: the ratio is exactly 1, or
    /// rounds on both sides scatter around it.
    pub(super) is_equal: bool,
}

/// The ratio of the means over the rounds of each side. With several rounds on
/// both, 95 % of the ratios of redrawn rounds are looked at.
pub(super) fn ratio(a: &[f64], b: &[f64]) -> Option<Ratio> {
    let value = mean(b)? / mean(a)?;
    if !value.is_finite() || value <= 0.0 {
        return None;
    }
    let is_one = (value - 1.0).abs() < 1e-12;
    let scatters = || {
        let (least, most) = interval(a, b);
        least <= 1.0 && most >= 1.0
    };
    Some(Ratio { value, is_equal: is_one || (a.len() > 1 && b.len() > 1 && scatters()) })
}

pub(super) fn geometric_mean(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = ratios.map(f64::ln).collect();
    mean(&logarithms).map(f64::exp)
}

fn mean(of: &[f64]) -> Option<f64> {
    (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64)
}

/// Bounds of the middle 95 % of redrawn ratios. The same rounds have the same.
fn interval(a: &[f64], b: &[f64]) -> (f64, f64) {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut draw = |from: &[f64]| {
        let sum: f64 = (0..from.len())
            .map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                from[(random % from.len() as u64) as usize]
            })
            .sum();
        sum / from.len() as f64
    };
    let mut ratios: Vec<f64> = (0..DRAWS).map(|_| draw(b) / draw(a)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    (ratios[DRAWS / 40], ratios[DRAWS - 1 - DRAWS / 40])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_round_is_equal_only_to_itself() {
        let of = |a, b| ratio(&[a], &[b]).unwrap();
        assert_eq!(of(5.0, 5.0), Ratio { value: 1.0, is_equal: true });
        assert_eq!(of(4.0, 5.0), Ratio { value: 1.25, is_equal: false });
        assert_eq!((ratio(&[], &[1.0]), ratio(&[0.0], &[1.0])), (None, None));
    }

    #[test]
    fn rounds_that_scatter_are_equal_and_rounds_apart_are_not() {
        let a = [100.0, 104.0, 98.0, 101.0, 99.0];
        assert!(ratio(&a, &[101.0, 97.0, 103.0, 100.0, 102.0]).unwrap().is_equal);
        let apart = ratio(&a, &[110.0, 114.0, 108.0, 111.0, 109.0]).unwrap();
        assert!(!apart.is_equal && (1.09..1.11).contains(&apart.value), "{apart:?}");
    }

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        let mean = geometric_mean([4.0, 0.25].into_iter()).unwrap();
        assert!((mean - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(std::iter::empty()), None);
    }
}
