//! The tables of a matrix.

use std::fmt::Write as _;

use tapeline_measure::record::Tool;
use tapeline_measure::table::Table;

use super::judge::{
    Bounds, CellKey, Cells, Verdict, figure, melting, own_melting, places, rank, verdict,
};

/// The columns, for lines that come one by one.
const HEAD: [&str; 11] = [
    "rate",
    "size",
    "min",
    "avg",
    "max",
    "max90",
    "max95",
    "max99.5",
    "sched p99",
    "achieved",
    "verdict",
];

pub(super) fn head() -> String {
    let of = |(at, name): (usize, &&str)| {
        if at == 10 { format!("  {name}") } else { format!("{name:>10}") }
    };
    let cells: String = HEAD.iter().enumerate().map(of).collect();
    format!("{cells}\n")
}

pub(super) fn row(key: CellKey, cell: &Tool, bounds: Option<&Bounds>) -> String {
    let us =
        |nanos: Option<f64>| nanos.map_or("-".to_owned(), |nanos| format!("{:.1}", nanos / 1000.0));
    let of = |name: &str| us(figure(cell, name));
    let said = match (bounds, &cell.why_invalid) {
        (Some(bounds), _) => verdict(cell, bounds).to_string(),
        (None, Some(why)) => why.clone(),
        (None, None) => String::new(),
    };
    let is_noise = cell
        .noise
        .zip(figure(cell, "max_max"))
        .is_some_and(|(noise, max)| noise.max_ns as f64 * 2.0 >= max);
    let max = format!("{}{}", if is_noise { "~" } else { "" }, of("max_max"));
    let schedule = us(cell.from_schedule.map(|of| of.p99_ns as f64));
    let cells = [
        key.rate_per_s.to_string(),
        key.bytes.to_string(),
        of("min"),
        of("mean_mean"),
        max,
        of("max_p90"),
        of("max_p95"),
        of("max_p99_5"),
        schedule,
        format!("{:.0}", cell.achieved_per_s.unwrap_or_default()),
    ];
    let mut line = String::new();
    for cell in cells {
        let _ = write!(line, "{cell:>10}");
    }
    format!("{line}  {said}").trim_end().to_owned() + "\n"
}

/// Where each melts, by the bounds and by itself, and the summary.
pub(super) fn summary(
    all: &[(&str, Cells<'_>)],
    bounds: Option<&Bounds>,
    factors: (f64, f64),
) -> String {
    let mut text = String::new();
    if let Some(bounds) = bounds {
        let melted: Vec<(&str, _)> =
            all.iter().map(|(name, cells)| (*name, melting(cells, bounds))).collect();
        let good: Vec<&str> =
            melted.iter().filter(|(_, at)| at.is_none()).map(|(name, _)| *name).collect();
        let good = if good.is_empty() { "none".to_owned() } else { good.join(", ") };
        let points: Vec<String> = melted
            .iter()
            .filter_map(|(name, melted)| melted.as_ref().map(|of| format!("{name} {}", of.at)))
            .collect();
        let points = if points.is_empty() { "none".to_owned() } else { points.join(", ") };
        let _ = writeln!(text, "good in the full range: {good}; melting points: {points}");
    }
    let own = all.iter().map(|(name, cells)| match own_melting(cells, factors) {
        Some(melted) => format!("{name} {}", melted.at),
        None => format!("{name} none"),
    });
    let _ = writeln!(text, "own melting points: {}", own.collect::<Vec<_>>().join(", "));
    let mut table = Table::new(&["", "latency", "jitter", "scalability"]);
    let bounds = bounds.copied().unwrap_or_default();
    for (name, places) in places(all, &bounds) {
        let cell =
            |place: Option<usize>| place.map_or("-", |place| rank(place, all.len())).to_owned();
        table.row(vec![name.to_owned(), cell(places[0]), cell(places[1]), cell(places[2])]);
    }
    text.push_str(&table.to_string());
    text
}

/// Whether a cell is good, for its record.
pub(super) fn word(cell: &Tool, bounds: &Bounds) -> String {
    match verdict(cell, bounds) {
        Verdict::Good => "good".to_owned(),
        Verdict::Bad(why) => why,
    }
}

#[cfg(test)]
mod tests {
    use tapeline_measure::histogram::Distribution;

    use super::*;

    fn cell() -> Tool {
        let figures = [
            ("min", 2_000.0),
            ("mean_mean", 2_040.0),
            ("mean_min", 2_000.0),
            ("mean_max", 2_100.0),
            ("max_min", 3_000.0),
            ("max_p90", 3_000.0),
            ("max_p95", 3_000.0),
            ("max_p99_5", 3_000.0),
            ("max_max", 3_000.0),
        ];
        Tool {
            valid: true,
            achieved_per_s: Some(100.0),
            per_second: figures.map(|(name, nanos)| (name.to_owned(), nanos)).into(),
            from_schedule: Some(Distribution { p99_ns: 61_000, ..Distribution::default() }),
            ..Tool::default()
        }
    }

    #[test]
    fn a_row_has_the_published_columns_and_what_was_due() {
        let key = CellKey { rate_per_s: 100, bytes: 100 };
        let bounds = Bounds::default();
        let words: Vec<String> =
            row(key, &cell(), Some(&bounds)).split_whitespace().map(str::to_owned).collect();
        let expected =
            ["100", "100", "2.0", "2.0", "3.0", "3.0", "3.0", "3.0", "61.0", "100", "good"];
        assert_eq!(words, expected);
        assert_eq!(head().split_whitespace().count(), 12);
        let invalid = Tool { why_invalid: Some("sent 5.0 %".to_owned()), ..Tool::default() };
        assert!(row(key, &invalid, None).ends_with("-         0  sent 5.0 %\n"));
    }

    #[test]
    fn the_summary_ranks_and_tells_melting_points() {
        let good = cell();
        let bad = Tool::default();
        let key = |rate_per_s| CellKey { rate_per_s, bytes: 100 };
        let all: Vec<(&str, Cells<'_>)> = vec![
            ("tcp", [(key(100), &good), (key(500), &bad)].into()),
            ("aeron", [(key(100), &good), (key(500), &good)].into()),
        ];
        let text = summary(&all, Some(&Bounds::default()), (2.0, 10.0));
        assert!(
            text.starts_with(
                "good in the full range: aeron; melting points: tcp 500/s at 100 bytes\n\
             own melting points: tcp 500/s at 100 bytes, aeron none\n"
            ),
            "{text}"
        );
        assert!(text.contains("aeron  Highest  Highest      Highest"), "{text}");
        assert!(text.contains("tcp    Highest  Highest       Lowest"), "{text}");
    }
}
