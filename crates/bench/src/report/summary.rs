//! Every measurement in one line, and what stands by itself: aims, floors,
//! memory.

use super::format::{escape, micros, ratio, three_digits, whole};
use super::runs::{Kind, Rounds, of_kind, series};
use super::table::{Cell, Column, table};
use crate::quick::Row;
use crate::record::{Measurement, Record};

const COLUMNS: [Column<'_>; 7] = [
    ("procedure", false),
    ("arrangement", false),
    ("updates/s", true),
    ("result", true),
    ("floor", true),
    ("ratio", true),
    ("counts", false),
];

/// The table of all; rounds of the same are in one line, as their median.
pub(super) fn section(records: &[Record]) -> String {
    let mut rows = Vec::new();
    for series in series(&of_kind(records, Kind::Latency)) {
        for (rate, rounds) in &series.rates {
            rows.push(latency(&series.name, *rate, rounds));
        }
    }
    for kind in [Kind::Throughput, Kind::Fanout] {
        rows.extend(of_kind(records, kind).into_iter().map(peak));
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"summary\"><h2>Summary</h2>\n<p>The floor is what this machine does \
         without us, measured in the same run: half a round trip of bare TCP, and large writes to \
         as many sockets.</p>\n{}</section>\n",
        table("Summary", &COLUMNS, &rows)
    )
}

fn latency(name: &str, rate: u64, rounds: &Rounds<'_>) -> Vec<Cell> {
    let mut cells = vec![Cell::text("latency"), Cell::text(name)];
    cells.push(Cell::Figure(whole(rate as f64)));
    let (valid, all) = (rounds.valid().count(), rounds.all.len());
    let medians = rounds.schedule_ns(|figures| figures.p50_ns as f64);
    let Some((p50, p99)) = medians.zip(rounds.schedule_ns(|figures| figures.p99_ns as f64)) else {
        let why = rounds.all.iter().find_map(|run| run.why_invalid.clone());
        cells.push(Cell::Invalid(4, why.unwrap_or_else(|| "no latencies".to_owned())));
        return cells;
    };
    let floor = rounds.floor_ns(|figures| figures.p50_ns as f64);
    let floor_p99 = rounds.floor_ns(|figures| figures.p99_ns as f64);
    let pair = |of: f64, at: f64| format!("p50 {} µs, p99 {} µs", micros(of), micros(at));
    let ratios = floor
        .zip(floor_p99)
        .map(|(floor, floor_p99)| format!("{}, {}", ratio(p50, floor), ratio(p99, floor_p99)));
    cells.push(Cell::Figure(pair(p50, p99)));
    cells.push(Cell::maybe(floor.zip(floor_p99).map(|(p50, p99)| pair(p50, p99))));
    cells.push(Cell::maybe(ratios));
    cells.push(verdict(valid, all));
    cells
}

fn verdict(valid: usize, all: usize) -> Cell {
    match (valid, all) {
        (1, 1) => Cell::Good("valid".to_owned()),
        _ if valid == all => Cell::Good(format!("{valid} of {all} runs")),
        _ => Cell::Bad(format!("{valid} of {all} runs")),
    }
}

fn peak(run: &Measurement) -> Vec<Cell> {
    let clients = match run.mounts {
        None => String::new(),
        Some(1) => ", 1 client".to_owned(),
        Some(count) => format!(", {} clients", whole(count as f64)),
    };
    let mut cells =
        vec![Cell::text(&run.procedure), Cell::text(format!("{}{clients}", run.topology))];
    let Some(out) = run.updates_out_per_s.filter(|_| run.valid) else {
        let why = run.why_invalid.clone().unwrap_or_else(|| "no rate held".to_owned());
        cells.extend([Cell::maybe(None), Cell::Invalid(4, why)]);
        return cells;
    };
    cells.push(Cell::maybe(run.achieved_per_s.map(whole)));
    cells.push(Cell::Figure(format!("{} out/s", whole(out))));
    cells.push(Cell::maybe(run.floor_out_per_s.map(|floor| format!("{} out/s", whole(floor)))));
    cells.push(Cell::maybe(run.floor_out_per_s.map(|floor| ratio(out, floor))));
    cells.push(Cell::Good("valid".to_owned()));
    cells
}

/// Figures beside what they are to be, a table for each file.
pub(super) fn aims(lists: &[(String, Vec<Row>)]) -> String {
    if lists.iter().all(|(_, rows)| rows.is_empty()) {
        return String::new();
    }
    let columns = [
        ("what", false),
        ("value", true),
        ("unit", false),
        ("floor", true),
        ("ratio", true),
        ("aim", false),
        ("met", false),
        ("note", false),
    ];
    let cells = |row: &Row| {
        let figure = |figure: Option<f64>| Cell::maybe(figure.map(three_digits));
        vec![
            Cell::text(&row.row),
            figure(row.value),
            Cell::text(&row.unit),
            figure(row.floor),
            Cell::maybe(row.ratio.map(|ratio| format!("{} ×", three_digits(ratio)))),
            Cell::text(&row.aim),
            match row.met {
                _ if row.is_disturbed => Cell::text("disturbed"),
                _ if row.value.is_none() => Cell::text("not measured"),
                Some(true) => Cell::Good("met".to_owned()),
                Some(false) => Cell::Bad("not met".to_owned()),
                None => Cell::text(""),
            },
            Cell::text(row.reason.clone().unwrap_or_default()),
        ]
    };
    let tables = lists.iter().map(|(file, rows)| {
        let rows: Vec<Vec<Cell>> = rows.iter().map(cells).collect();
        let caption = format!("Aims, {file}");
        format!("<h3>{}</h3>\n{}", escape(file), table(&caption, &columns, &rows))
    });
    let tables: String = tables.collect();
    format!("<section id=\"aims\"><h2>Aims</h2>\n{tables}</section>\n")
}

/// What the machine does without us.
pub(super) fn floors(records: &[Record]) -> String {
    let runs = of_kind(records, Kind::Floor);
    if runs.is_empty() {
        return String::new();
    }
    let columns = [
        ("what", false),
        ("mean µs", true),
        ("std dev µs", true),
        ("max µs", true),
        ("min µs", true),
        ("samples", true),
        ("median µs", true),
        ("p99 µs", true),
        ("p99.9 µs", true),
        ("MB/s", true),
    ];
    let row = |run: &&Measurement| {
        let mut cells = vec![Cell::text(&run.topology)];
        if !run.valid {
            let why = run.why_invalid.clone().unwrap_or_else(|| "no figures".to_owned());
            cells.push(Cell::Invalid(9, why));
            return cells;
        }
        let figures = run.floor.as_ref();
        let nanos = |ns: Option<f64>| Cell::maybe(ns.map(micros));
        cells.push(nanos(figures.map(|of| of.mean_ns)));
        cells.push(nanos(figures.map(|of| of.stddev_ns)));
        cells.push(nanos(figures.map(|of| of.max_ns as f64)));
        cells.push(nanos(figures.map(|of| of.min_ns as f64)));
        cells.push(Cell::maybe(figures.map(|of| whole(of.count as f64))));
        cells.push(nanos(figures.map(|of| of.p50_ns as f64)));
        cells.push(nanos(figures.map(|of| of.p99_ns as f64)));
        cells.push(nanos(figures.map(|of| of.p999_ns as f64)));
        cells.push(Cell::maybe(run.bytes.get("per second").map(|bytes| whole(bytes / 1e6))));
        cells
    };
    let rows: Vec<Vec<Cell>> = runs.iter().map(row).collect();
    let table = table("The floor", &columns, &rows);
    format!(
        "<section id=\"floor\"><h2>The floor</h2>\n<p>What this machine does without us: half \
         round trips, and writes to many sockets.</p>\n{table}</section>\n"
    )
}

/// Bytes of memory.
pub(super) fn memory(records: &[Record]) -> String {
    let runs = of_kind(records, Kind::Memory);
    let of_run = |run: &&Measurement| {
        let topology = run.topology.clone();
        let row = move |(what, bytes): (&String, &f64)| {
            vec![Cell::text(&topology), Cell::text(what), Cell::Figure(whole(*bytes))]
        };
        run.bytes.iter().map(row).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<Cell>> = runs.iter().filter(|run| run.valid).flat_map(of_run).collect();
    if rows.is_empty() {
        return String::new();
    }
    let table = table("Memory", &[("topology", false), ("what", false), ("bytes", true)], &rows);
    format!("<section id=\"memory\"><h2>Memory</h2>\n{table}</section>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Distribution;

    fn run(p50_ns: u64, valid: bool) -> Record {
        Record::from(Measurement {
            procedure: "latency".to_owned(),
            topology: "thread".to_owned(),
            rate_per_s: Some(50_000),
            valid,
            why_invalid: (!valid).then(|| "the source sent 90.0 % of what was due".to_owned()),
            from_schedule: Some(Distribution { p50_ns, p99_ns: 40_000, ..Default::default() }),
            floor: Some(Distribution { p50_ns: 4_000, p99_ns: 20_000, ..Default::default() }),
            ..Measurement::default()
        })
    }

    #[test]
    fn rounds_are_one_line_with_their_ratio_to_the_floor() {
        let html =
            section(&[run(8_000, true), run(10_000, true), run(12_000, true), run(1, false)]);
        assert!(html.contains("p50 10.0 µs, p99 40.0 µs"), "{html}");
        assert!(html.contains("2.50 ×, 2.00 ×") && html.contains("3 of 4 runs"), "{html}");
    }

    #[test]
    fn what_does_not_count_is_no_number() {
        let html = section(&[run(8_000, false)]);
        assert!(html.contains("✕ invalid: the source sent 90.0 % of what was due"), "{html}");
        assert!(!html.contains("8.00") && !html.contains("2.00 ×"), "{html}");
    }

    #[test]
    fn aims_say_whether_they_are_met() {
        let row = Row {
            row: "fan-out".to_owned(),
            value: Some(11.5),
            met: Some(false),
            ..Row::default()
        };
        let missing = Row { reason: Some("no Java".to_owned()), ..Row::default() };
        let disturbed = Row { is_disturbed: true, ..Row::default() };
        let html = aims(&[("quick.json".to_owned(), vec![row, missing, disturbed])]);
        assert!(html.contains(">disturbed<"), "{html}");
        assert!(html.contains("11.5") && html.contains("✕ not met"), "{html}");
        assert!(html.contains("not measured") && html.contains("no Java"), "{html}");
    }

    #[test]
    fn floors_and_memory_have_tables() {
        let floor = Measurement {
            procedure: "floor".to_owned(),
            topology: "bare TCP".to_owned(),
            valid: true,
            floor: Some(Distribution { p50_ns: 4_321, ..Distribution::default() }),
            ..Measurement::default()
        };
        assert!(floors(&[floor.clone().into()]).contains("4.32"));
        let memory_run = Measurement {
            procedure: "memory".to_owned(),
            bytes: [("per mount".to_owned(), 61_234.0)].into(),
            valid: true,
            ..Measurement::default()
        };
        let html = memory(&[floor.into(), memory_run.into()]);
        assert!(html.contains("per mount") && html.contains("61,234"), "{html}");
    }
}
