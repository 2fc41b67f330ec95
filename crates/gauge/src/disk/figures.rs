//! Figures of an interval of operations.

/// What is told of an interval, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) count: u64,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
    pub(super) mean_ns: f64,
    /// Mean of the fastest 90 %, and of the others.
    pub(super) fast_mean_ns: f64,
    pub(super) slow_mean_ns: f64,
    /// How many took longer than the bound.
    pub(super) exceeded: u64,
}

/// Sums up operations, which are sorted afterwards; `None` of none.
pub(super) fn told(nanos: &mut [u64], bound_ns: Option<u64>) -> Option<Told> {
    nanos.sort_unstable();
    let (min_ns, max_ns) = (*nanos.first()?, *nanos.last()?);
    let mean = |of: &[u64]| match of.len() {
        0 => 0.0,
        count => of.iter().map(|nanos| *nanos as f64).sum::<f64>() / count as f64,
    };
    let (fast, slow) = nanos.split_at((nanos.len() * 9).div_ceil(10));
    Some(Told {
        count: nanos.len() as u64,
        min_ns,
        max_ns,
        mean_ns: mean(nanos),
        fast_mean_ns: mean(fast),
        slow_mean_ns: mean(slow),
        exceeded: bound_ns.map_or(0, |bound| {
            (nanos.len() - nanos.partition_point(|nanos| *nanos <= bound)) as u64
        }),
    })
}

/// The classic tool's columns.
pub(super) const CLASSIC_HEAD: &str = "Time\tEOF\tMax (us)\tMin (us)\tAvg (us)\tExceed(count)\t\
MB/s\tFile\tFreq Distribution\n";

/// Time, ends, max, min, avg, exceeded, MiB/s, file, and the means of the
/// fastest 90 % and of the others; a tab between.
pub(super) fn classic_line(
    time: &str,
    ends: u64,
    of: &Told,
    bound_ns: Option<u64>,
    mib_per_s: f64,
    file: &str,
) -> String {
    let exceeded = bound_ns.map_or("-".to_owned(), |_| of.exceeded.to_string());
    format!(
        "{time}\t{ends}\t{}\t{}\t{:.4}\t{exceeded}\t{mib_per_s:.4}\t{file}\tAvg - {:.6}(90%) - \
         {:.6}(10%)\n",
        of.max_ns / 1000,
        of.min_ns / 1000,
        of.mean_ns / 1000.0,
        of.fast_mean_ns / 1000.0,
        of.slow_mean_ns / 1000.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_tenths_are_the_fastest_rounded_up() {
        let mut all: Vec<u64> = (1..=11).rev().map(|n| n * 1_000).collect();
        let of = told(&mut all, Some(9_000)).unwrap();
        assert_eq!((of.count, of.min_ns, of.max_ns, of.exceeded), (11, 1_000, 11_000, 2));
        // ⌈9.9⌉ = 10 of 11.
        assert_eq!((of.mean_ns, of.fast_mean_ns, of.slow_mean_ns), (6_000.0, 5_500.0, 11_000.0));
        assert_eq!(told(&mut [5], None).map(|of| of.slow_mean_ns), Some(0.0));
        assert_eq!(told(&mut [], None), None);
    }

    #[test]
    fn the_classic_line_has_their_columns() {
        let of = Told {
            min_ns: 5_400,
            max_ns: 36_900,
            mean_ns: 7_010.0,
            fast_mean_ns: 6_409.759,
            slow_mean_ns: 11_062.791,
            ..Told::default()
        };
        let expected = "051502.484\t0\t36\t5\t7.0100\t-\t39.0593\t/x01/test\tAvg - \
                        6.409759(90%) - 11.062791(10%)\n";
        assert_eq!(classic_line("051502.484", 0, &of, None, 39.0593, "/x01/test"), expected);
        assert_eq!(CLASSIC_HEAD.split('\t').count(), expected.split('\t').count());
        // Each published line is read by these columns.
        let text = include_str!("../../published/dtool-write.csv");
        for row in text.lines().skip(1) {
            let figures: Vec<f64> =
                row.split(',').skip(1).map(|word| word.parse().unwrap()).collect();
            let [ends, max, min, avg, mb, fast, slow] = figures[..] else { panic!("{row}") };
            assert!(
                ends.abs() < 1e-9
                    && min <= avg
                    && avg <= max
                    && fast < avg
                    && avg < slow
                    && mb < 39.1
            );
        }
    }
}
