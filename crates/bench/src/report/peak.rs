//! The highest rates: to one client, and to many.

use super::bars::{Bar, bars};
use super::figures::figure;
use super::format::{escape, ratio, three_digits, whole};
use super::latency::cpu;
use super::runs::{Kind, of_kind};
use super::table::{Cell, Column, table};
use crate::published::{FAN_OUT, THROUGHPUT};
use crate::record::{Measurement, Record};

const COLUMNS: [Column<'_>; 18] = [
    ("topology", false),
    ("items", true),
    ("clients", true),
    ("fan-out", true),
    ("in/s", true),
    ("out/s", true),
    ("MB/s out", true),
    ("floor out/s", true),
    ("out / floor", true),
    ("out per CPU s", true),
    ("floor, per CPU s", true),
    ("of it", true),
    ("full", false),
    ("CPU s", false),
    ("lost", true),
    ("gaps", true),
    ("conflated", true),
    ("stopped by", false),
];

/// One client that gets every update.
pub(super) fn throughput(records: &[Record]) -> String {
    let text = "The highest rate from the source to one client without loss, found by search.";
    let runs = of_kind(records, Kind::Throughput);
    section("throughput", "Throughput without fan-out", text, &runs, THROUGHPUT)
}

/// Many clients that get half of the updates each.
pub(super) fn fanout(records: &[Record]) -> String {
    let text = "Producer 50/50: an update is forwarded to half of the clients in the mean. The \
                highest rate without loss, found by search.";
    let runs = of_kind(records, Kind::Fanout);
    section("fanout", "Fan-out", text, &runs, FAN_OUT)
}

/// The section; nothing without runs.
fn section(
    id: &str,
    name: &str,
    text: &str,
    runs: &[&Measurement],
    published: (f64, &str),
) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<Cell>> = runs.iter().map(|run| row(run)).collect();
    let plot = bars(name, "updates a second to all clients together", &bars_of(runs, published));
    let caption = "Ours, the same bytes without us on this machine, and what was published.";
    format!(
        "<section id=\"{id}\"><h2>{name}</h2>\n<p>{}</p>\n{}{}</section>\n",
        escape(text),
        figure(&format!("{name}: updates out"), caption, &plot),
        table(name, &COLUMNS, &rows),
    )
}

fn bars_of(runs: &[&Measurement], published: (f64, &str)) -> Vec<Bar> {
    let mut all = Vec::new();
    for run in runs.iter().filter(|run| run.valid) {
        let label = |what: &str| match &*run.profile {
            "" => format!("{what}, {}", run.topology),
            profile => format!("{what}, {}, {profile}", run.topology),
        };
        let bar = |name: String, class: &'static str, value: f64| Bar {
            name,
            class,
            value,
            text: whole(value),
        };
        all.extend(run.updates_out_per_s.map(|value| bar(label("ours"), "s0", value)));
        let floor = |value| bar("floor: bare TCP, the same writes".to_owned(), "floor", value);
        all.extend(run.floor_out_per_s.map(floor));
    }
    let (value, name) = published;
    all.push(Bar { name: name.to_owned(), class: "published", value, text: whole(value) });
    all
}

fn row(run: &Measurement) -> Vec<Cell> {
    let count = |count: Option<u64>| Cell::maybe(count.map(|count| whole(count as f64)));
    let mut cells = vec![Cell::text(&run.topology), count(run.items), count(run.mounts)];
    cells.push(Cell::maybe(run.fan_out.map(three_digits)));
    if run.valid {
        let megabytes = run.updates_out_per_s.zip(run.update_bytes);
        let megabytes = megabytes.map(|(per_s, bytes)| whole(per_s * bytes as f64 / 1e6));
        let of_floor = run.updates_out_per_s.zip(run.floor_out_per_s);
        cells.push(Cell::maybe(run.achieved_per_s.map(whole)));
        cells.push(Cell::maybe(run.updates_out_per_s.map(whole)));
        cells.push(Cell::maybe(megabytes));
        cells.push(Cell::maybe(run.floor_out_per_s.map(whole)));
        cells.push(Cell::maybe(of_floor.map(|(ours, floor)| ratio(ours, floor))));
        let per_cpu_s = run.updates_per_busy_cpu_second.or(run.updates_per_cpu_second);
        let of_floor = per_cpu_s.zip(run.floor_per_busy_cpu_second);
        cells.push(Cell::maybe(per_cpu_s.map(whole)));
        cells.push(Cell::maybe(run.floor_per_busy_cpu_second.map(whole)));
        cells.push(Cell::maybe(of_floor.map(|(ours, floor)| ratio(ours, floor))));
        cells.push(Cell::text(run.full.clone().unwrap_or_default()));
        cells.push(Cell::text(cpu(run)));
    } else {
        let why = run.why_invalid.clone().unwrap_or_else(|| "no rate held".to_owned());
        cells.push(Cell::Invalid(10, why));
    }
    cells.extend([Some(run.lost), run.gaps, run.conflated].map(count));
    cells.push(Cell::text(run.stopped_by.clone().unwrap_or_default()));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Measurement {
        Measurement {
            procedure: "fanout".to_owned(),
            topology: "thread".to_owned(),
            achieved_per_s: Some(220_000.0),
            updates_out_per_s: Some(11_110_000.0),
            floor_out_per_s: Some(22_220_000.0),
            updates_per_busy_cpu_second: Some(9_000_000.0),
            floor_per_busy_cpu_second: Some(36_000_000.0),
            full: Some("hub+server".to_owned()),
            update_bytes: Some(100),
            valid: true,
            stopped_by: Some("3 updates were lost at 240 k/s".to_owned()),
            ..Measurement::default()
        }
    }

    #[test]
    fn rates_are_beside_the_floor_and_what_was_published() {
        let html = fanout(&[run().into()]);
        for text in ["11,110,000", "22,220,000", "0.50 ×", "1,111", "10,100,000", "240 k/s"] {
            assert!(html.contains(text), "{text} is not in {html}");
        }
        for text in ["9,000,000", "36,000,000", "0.25 ×", "hub+server"] {
            assert!(html.contains(text), "{text} is not in {html}");
        }
        assert_eq!(throughput(&[run().into()]), "");
    }

    #[test]
    fn rows_have_all_columns() {
        assert_eq!(row(&run()).len(), COLUMNS.len());
        let invalid = Measurement { valid: false, ..run() };
        assert_eq!(row(&invalid).len() + 9, COLUMNS.len());
        let html = fanout(&[invalid.into()]);
        assert!(!html.contains("11,110,000") && html.contains("no rate held"), "{html}");
    }
}
