//! Which cells are good, where a transport melts, and who comes first.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tapeline_measure::record::Tool;

/// A size at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellKey {
    /// Messages a second. Cells are ordered by it.
    pub rate_per_s: u64,
    /// Bytes of a message.
    pub bytes: u64,
}

impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s at {} bytes", self.rate_per_s, self.bytes)
    }
}

/// What a good cell keeps within, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Of the least mean of a second.
    pub mean_min: f64,
    /// Of the greatest mean of a second.
    pub mean_max: f64,
    /// Of the least maximum of a second.
    pub max_min: f64,
    /// Of the greatest maximum.
    pub max_max: f64,
}

impl Default for Bounds {
    /// Those of the published study: 5, 7, 75 and 100 µs.
    fn default() -> Self {
        Self { mean_min: 5e3, mean_max: 7e3, max_min: 75e3, max_max: 100e3 }
    }
}

impl FromStr for Bounds {
    type Err = String;

    /// Four figures in µs.
    fn from_str(text: &str) -> Result<Self, String> {
        let figures: Option<Vec<f64>> = text
            .split(',')
            .map(|figure| figure.trim().parse().ok().filter(|us: &f64| *us > 0.0))
            .map(|us| us.map(|us| us * 1000.0))
            .collect();
        match figures.as_deref() {
            Some([mean_min, mean_max, max_min, max_max]) => Ok(Self {
                mean_min: *mean_min,
                mean_max: *mean_max,
                max_min: *max_min,
                max_max: *max_max,
            }),
            _ => Err("give four figures in µs, as 5,7,75,100, or none".to_owned()),
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |nanos: f64| nanos / 1000.0;
        let (a, b, c, d) = (self.mean_min, self.mean_max, self.max_min, self.max_max);
        write!(f, "avg {}..{}, max {}..{} µs", us(a), us(b), us(c), us(d))
    }
}

/// What is made of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It counts and is within its bounds.
    Good,
    /// What is too much.
    Bad(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.write_str("good"),
            Self::Bad(why) => f.write_str(why),
        }
    }
}

/// A figure of the seconds of a cell, in nanoseconds.
pub(super) fn figure(cell: &Tool, name: &str) -> Option<f64> {
    cell.per_second.get(name).copied().filter(|_| cell.valid)
}

fn micros(nanos: f64) -> String {
    let us = nanos / 1000.0;
    if us >= 100.0 { format!("{us:.0}") } else { format!("{us:.1}") }
}

/// Holds a cell against bounds.
pub(super) fn verdict(cell: &Tool, bounds: &Bounds) -> Verdict {
    if !cell.valid {
        return Verdict::Bad(cell.why_invalid.clone().unwrap_or_else(|| "not valid".to_owned()));
    }
    let held = [
        ("mean_min", "min of avg", bounds.mean_min),
        ("mean_max", "max of avg", bounds.mean_max),
        ("max_min", "min of max", bounds.max_min),
        ("max_max", "max of max", bounds.max_max),
    ];
    let broken = held.iter().find_map(|(name, words, bound)| {
        let figure = figure(cell, name)?;
        (figure > *bound).then(|| format!("{words} {} > {}", micros(figure), bound / 1000.0))
    });
    broken.map_or(Verdict::Good, Verdict::Bad)
}

/// A transport's cells, in the order in which it is looked where it melts.
pub(super) type Cells<'a> = BTreeMap<CellKey, &'a Tool>;

/// The first cell that is not good; by rate, then by size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Melting {
    /// Which.
    pub at: CellKey,
    /// Why it is not good.
    pub why: String,
}

pub(super) fn melting(cells: &Cells<'_>, bounds: &Bounds) -> Option<Melting> {
    cells.iter().find_map(|(at, cell)| match verdict(cell, bounds) {
        Verdict::Good => None,
        Verdict::Bad(why) => Some(Melting { at: *at, why }),
    })
}

/// Where a transport leaves what it does itself when it has little to do: a
/// cell that does not count, a mean above `factors.0` or a max 99.5 % above
/// `factors.1` times that of the same size at the lowest rate.
pub(super) fn own_melting(cells: &Cells<'_>, factors: (f64, f64)) -> Option<Melting> {
    let mut quiet: BTreeMap<u64, &Tool> = BTreeMap::new();
    for (key, cell) in cells {
        quiet.entry(key.bytes).or_insert(cell);
    }
    cells.iter().find_map(|(at, cell)| {
        if !cell.valid {
            let why = cell.why_invalid.clone().unwrap_or_default();
            return Some(Melting { at: *at, why });
        }
        let base = quiet.get(&at.bytes)?;
        let beyond = |name: &str, words: &str, factor: f64| {
            let (now, then) = (figure(cell, name)?, figure(base, name)?);
            let is_beyond = then > 0.0 && now > factor * then;
            is_beyond.then(|| Melting {
                at: *at,
                why: format!(
                    "{words} {} is {:.1} times that of a quiet link",
                    micros(now),
                    now / then
                ),
            })
        };
        beyond("mean_mean", "avg", factors.0)
            .or_else(|| beyond("max_p99_5", "max 99.5 %", factors.1))
    })
}

/// A transport's place in the summary: `Highest`, `High`, `Medium`, `Low` or
/// `Lowest`, as in the published one.
pub(super) fn rank(place: usize, of: usize) -> &'static str {
    match (place, of) {
        (0, _) => "Highest",
        (place, of) if place + 1 == of => "Lowest",
        (1, _) => "High",
        (place, of) if place + 2 == of => "Low",
        _ => "Medium",
    }
}

/// Transports by latency, jitter and scalability: the place of each.
pub(super) fn places<'a>(
    all: &[(&'a str, Cells<'_>)],
    bounds: &Bounds,
) -> Vec<(&'a str, [Option<usize>; 3])> {
    let is_good = |cells: &Cells<'_>, key: &CellKey| {
        cells.get(key).is_some_and(|cell| verdict(cell, bounds) == Verdict::Good)
    };
    let is_valid = |cells: &Cells<'_>, key: &CellKey| cells.get(key).is_some_and(|cell| cell.valid);
    let keys: Vec<CellKey> =
        all.first().map(|(_, cells)| cells.keys().copied().collect()).unwrap_or_default();
    let in_all = |of: &dyn Fn(&Cells<'_>, &CellKey) -> bool| -> Vec<CellKey> {
        keys.iter().copied().filter(|key| all.iter().all(|(_, cells)| of(cells, key))).collect()
    };
    let mut common = in_all(&is_good);
    if common.is_empty() {
        // Where nobody is good, those that count are compared.
        common = in_all(&is_valid);
    }
    let mean = |cells: &Cells<'_>, of: &dyn Fn(&Tool) -> Option<f64>| {
        let figures: Vec<f64> =
            common.iter().filter_map(|key| cells.get(key).and_then(|cell| of(cell))).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    };
    let latency = |cells: &Cells<'_>| mean(cells, &|cell| figure(cell, "mean_mean"));
    let jitter = |cells: &Cells<'_>| {
        mean(cells, &|cell| Some(figure(cell, "max_p99_5")? - figure(cell, "min")?))
    };
    let beyond = CellKey { rate_per_s: u64::MAX, bytes: u64::MAX };
    // Who melts later scales better: the smaller figure is the better one.
    let scale = |cells: &Cells<'_>| {
        let at = melting(cells, bounds).map_or(beyond, |melting| melting.at);
        Some(-(at.rate_per_s as f64) - (at.bytes as f64) / (1u64 << 21) as f64)
    };
    let placed = |of: &dyn Fn(&Cells<'_>) -> Option<f64>| -> Vec<Option<usize>> {
        let figures: Vec<Option<f64>> = all.iter().map(|(_, cells)| of(cells)).collect();
        let place = |mine: f64| figures.iter().flatten().filter(|other| **other < mine).count();
        figures.iter().map(|mine| mine.map(place)).collect()
    };
    let (latency, jitter, scale) = (placed(&latency), placed(&jitter), placed(&scale));
    let of = |at: usize| [latency[at], jitter[at], scale[at]];
    all.iter().enumerate().map(|(at, (name, _))| (*name, of(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean_us: f64, max_us: f64) -> Tool {
        let figures = [
            ("min", 1.0),
            ("mean_mean", mean_us),
            ("mean_min", mean_us),
            ("mean_max", mean_us),
            ("max_min", max_us),
            ("max_p99_5", max_us),
            ("max_max", max_us),
        ];
        Tool {
            valid: true,
            per_second: figures.map(|(name, us)| (name.to_owned(), us * 1000.0)).into(),
            ..Tool::default()
        }
    }

    fn key(rate_per_s: u64, bytes: u64) -> CellKey {
        CellKey { rate_per_s, bytes }
    }

    /// The published rows over InfiniBand: rate, size, min, avg, max and so on.
    #[test]
    fn the_published_cells_are_within_the_published_bounds() {
        let text = include_str!("../../../published/nwtool-infiniband.csv");
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(rows.len(), 9);
        for row in rows {
            let figures: Vec<f64> =
                row.split(',').skip(1).map(|figure| figure.parse().unwrap()).collect();
            let [_, _, min, avg, max, p90, p95, p99_5] = figures[..] else { panic!("{row}") };
            assert!(min <= avg && avg <= max && p90 <= p95 && p95 <= p99_5 && p99_5 <= max);
            assert_eq!(verdict(&cell(avg, max), &Bounds::default()), Verdict::Good, "{row}");
        }
        let bounds = include_str!("../../../published/nwtool-bounds.csv");
        let figures: Vec<&str> =
            bounds.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
        assert_eq!(figures.join(",").parse(), Ok(Bounds::default()));
    }

    #[test]
    fn what_is_too_much_is_told() {
        let of = |cell: &Tool| verdict(cell, &Bounds::default()).to_string();
        assert_eq!(of(&cell(5.0, 75.0)), "good");
        assert_eq!(of(&cell(6.0, 70.0)), "min of avg 6.0 > 5");
        assert_eq!(of(&cell(2.0, 412.0)), "min of max 412 > 75");
        let invalid = Tool { why_invalid: Some("sent 5 %".to_owned()), ..Tool::default() };
        assert_eq!(of(&invalid), "sent 5 %");
    }

    #[test]
    fn the_first_bad_cell_by_rate_then_size_is_where_it_melts() {
        let (good, bad) = (cell(2.0, 10.0), cell(2.0, 500.0));
        let cells: Cells<'_> = [
            (key(1_000, 100), &good),
            (key(5_000, 100), &good),
            (key(5_000, 500), &bad),
            (key(1_000, 500), &good),
            (key(9_000, 100), &bad),
        ]
        .into();
        let melted = melting(&cells, &Bounds::default()).unwrap();
        assert_eq!((melted.at, &melted.why[..]), (key(5_000, 500), "min of max 500 > 75"));
        let own = own_melting(&cells, (2.0, 10.0)).unwrap();
        assert_eq!(own.at, key(5_000, 500));
        assert_eq!(own.why, "max 99.5 % 500 is 50.0 times that of a quiet link");
        assert_eq!(own_melting(&cells, (2.0, 100.0)), None);
    }

    #[test]
    fn transports_have_places_as_in_the_published_summary() {
        let (fast, slow, bad) = (cell(2.0, 9.0), cell(4.0, 60.0), cell(9.0, 900.0));
        let all: Vec<(&str, Cells<'_>)> = vec![
            ("tcp", [(key(1, 100), &slow), (key(5, 100), &bad)].into()),
            ("aeron", [(key(1, 100), &fast), (key(5, 100), &fast)].into()),
            ("udp", [(key(1, 100), &slow), (key(5, 100), &slow)].into()),
        ];
        let places = places(&all, &Bounds::default());
        let of = |name: &str| places.iter().find(|(is, _)| *is == name).unwrap().1;
        assert_eq!(of("aeron"), [Some(0), Some(0), Some(0)]);
        assert_eq!((of("tcp"), of("udp")[2]), ([Some(1), Some(1), Some(2)], Some(0)));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|place| rank(place, 5)),
            ["Highest", "High", "Medium", "Low", "Lowest"]
        );
    }

    #[test]
    fn bounds_are_four_figures() {
        assert!("1,2,3".parse::<Bounds>().is_err() && "a,2,3,4".parse::<Bounds>().is_err());
        assert_eq!("1, 2,3,4".parse::<Bounds>().unwrap().to_string(), "avg 1..2, max 3..4 µs");
    }
}
