//! Latency at set rates.

use std::fmt::Write as _;

use super::figures::{against_rate, histograms, overlays, per_second, percentiles};
use super::format::{escape, micros, ratio, three_digits, whole};
use super::runs::{Kind, Series, of_kind, series};
use super::table::{Cell, Column, table};
use crate::record::{Distribution, Measurement, Record};

/// The columns of the published tests in their order, then ours.
const COLUMNS: [Column<'_>; 17] = [
    ("updates/s", true),
    ("mean µs", true),
    ("std dev µs", true),
    ("max µs", true),
    ("min µs", true),
    ("samples", true),
    ("median µs", true),
    ("p99 µs", true),
    ("p99.9 µs", true),
    ("p99.99 µs", true),
    ("median / floor", true),
    ("p99 / floor", true),
    ("achieved/s", true),
    ("CPU s", false),
    ("lost", true),
    ("gaps", true),
    ("conflated", true),
];

/// The section; nothing without runs.
pub(super) fn section(records: &[Record]) -> String {
    let runs = of_kind(records, Kind::Latency);
    if runs.is_empty() {
        return String::new();
    }
    let all = series(&runs);
    let tables: String = all.iter().map(tables).collect();
    [
        "<section id=\"latency\"><h2>Latency at set rates</h2>\n<p>From the source through hub \
         and server to the client's callback, all fields decoded. <b>From schedule</b> counts \
         from the moment at which an update was due at the set rate, so that what waited behind \
         a stall has its wait counted; <b>from send</b> counts from the moment at which it was \
         sent, as the published figures do.</p>\n",
        &choice(),
        &against_rate(&all),
        &percentiles(&all),
        &histograms(&all),
        &per_second(&all),
        &tables,
        "</section>\n",
    ]
    .concat()
}

/// Check boxes that show and hide overlays by the style sheet alone.
fn choice() -> String {
    let box_of = |class: &str, name: &str, is_shown: bool| {
        let checked = if is_shown { " checked=\"checked\"" } else { "" };
        let name = escape(name);
        format!("<label><input type=\"checkbox\" id=\"show-{class}\"{checked}/> {name}</label>\n")
    };
    let boxes = overlays();
    let boxes =
        boxes.iter().map(|overlay| box_of(&overlay.class, &overlay.name(), overlay.is_shown));
    format!(
        "<fieldset class=\"choice\"><legend>Beside them in the next three figures</legend>\n\
         {}{}</fieldset>\n",
        box_of("from-send", "ours, from send", false),
        boxes.collect::<String>()
    )
}

/// Style rules for [`choice`].
pub(super) fn choice_style() -> String {
    let classes = overlays().into_iter().map(|overlay| overlay.class);
    let rule =
        |class: String| format!("body:has(#show-{class}:not(:checked)) .{class}{{display:none}}\n");
    classes.chain(["from-send".to_owned()]).map(rule).collect()
}

fn tables(series: &Series<'_>) -> String {
    let rounds = || {
        series
            .rates
            .iter()
            .flat_map(|(rate, rounds)| rounds.all.iter().map(move |run| (*rate, *run)))
    };
    let rows = |figures: fn(&Measurement) -> Option<Distribution>| {
        rounds().map(|(rate, run)| row(rate, run, figures(run))).collect::<Vec<_>>()
    };
    let Some((_, first)) = rounds().next() else { return String::new() };
    let name = &series.name;
    let (schedule, send) = (format!("{name}, from schedule"), format!("{name}, from send"));
    format!(
        "<h3>{}</h3>\n<p>{}</p>\n{}<details><summary>From send</summary>{}</details>\n",
        escape(&schedule),
        escape(&arrangement(series, first)),
        table(&schedule, &COLUMNS, &rows(|run| run.from_schedule)),
        table(&send, &COLUMNS, &rows(|run| run.from_send)),
    )
}

/// What was run, and what its highest rate is.
fn arrangement(series: &Series<'_>, run: &Measurement) -> String {
    let mut texts = vec![format!("Topology {}", run.topology)];
    texts.extend((!run.pacing.is_empty()).then(|| format!("{} pacing", run.pacing)));
    texts.extend((!run.profile.is_empty()).then(|| format!("profile {}", run.profile)));
    texts.extend(run.items.map(|items| format!("{} items", whole(items as f64))));
    texts.extend(run.mounts.map(|mounts| match mounts {
        1 => "1 client".to_owned(),
        _ => format!("{} clients", whole(mounts as f64)),
    }));
    texts.push(format!("{} s measured of each run", three_digits(run.seconds)));
    let mut text = format!("{}.", texts.join(", "));
    if series.rates.len() > 2 {
        let sustained = series.sustained_per_s().map_or("none".to_owned(), |r| whole(r as f64));
        let then = series.stopped_by().map_or(String::new(), |why| format!("; then: {why}"));
        let _ = write!(text, " Highest sustained rate: {sustained} updates/s{then}.");
    }
    text
}

fn row(rate: u64, run: &Measurement, figures: Option<Distribution>) -> Vec<Cell> {
    let figure = Cell::Figure;
    let count = |count: u64| Cell::Figure(whole(count as f64));
    let told = |told: Option<u64>| Cell::maybe(told.map(|told| whole(told as f64)));
    let mut cells = vec![count(rate)];
    match figures.filter(|_| run.valid) {
        Some(of) => {
            cells.extend([of.mean_ns, of.stddev_ns].map(|ns| figure(micros(ns))));
            cells.extend([of.max_ns, of.min_ns].map(|ns| figure(micros(ns as f64))));
            cells.push(count(of.count));
            let shares = [of.p50_ns, of.p99_ns, of.p999_ns, of.p9999_ns];
            cells.extend(shares.map(|ns| figure(micros(ns as f64))));
            let floor = run.floor.unwrap_or_default();
            for (ours, floor) in [(of.p50_ns, floor.p50_ns), (of.p99_ns, floor.p99_ns)] {
                cells.push(figure(ratio(ours as f64, floor as f64)));
            }
            cells.push(Cell::maybe(run.achieved_per_s.map(whole)));
            cells.push(Cell::text(cpu(run)));
        }
        None => {
            let why = run.why_invalid.clone().unwrap_or_else(|| "no latencies".to_owned());
            cells.push(Cell::Invalid(COLUMNS.len() - 4, why));
        }
    }
    cells.extend([Some(run.lost), run.gaps, run.conflated].map(told));
    cells
}

/// Seconds on a processor by part.
pub(super) fn cpu(run: &Measurement) -> String {
    let parts = run.cpu_seconds.iter().map(|(part, s)| format!("{part} {s:.2}"));
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(valid: bool) -> Measurement {
        let figures = Distribution {
            count: 250_000,
            mean_ns: 12_345.0,
            p50_ns: 11_000,
            p99_ns: 90_000,
            ..Distribution::default()
        };
        Measurement {
            procedure: "latency".to_owned(),
            rate_per_s: Some(50_000),
            valid,
            why_invalid: (!valid).then(|| "7 updates were lost".to_owned()),
            from_schedule: Some(figures),
            floor: Some(Distribution { p50_ns: 5_000, p99_ns: 30_000, ..figures }),
            ..Measurement::default()
        }
    }

    #[test]
    fn columns_are_in_the_published_order() {
        let cells = row(50_000, &run(true), run(true).from_schedule);
        assert_eq!(cells.len(), COLUMNS.len());
        let expected = ["50,000", "12.3", "0.00", "0.00", "0.00", "250,000", "11.0", "90.0"];
        assert_eq!(cells[..8], expected.map(|text| Cell::Figure(text.to_owned())));
        assert_eq!(cells[10..12], ["2.20 ×", "3.00 ×"].map(|text| Cell::Figure(text.to_owned())));
    }

    #[test]
    fn a_run_that_does_not_count_has_its_reason_in_place_of_figures() {
        let cells = row(50_000, &run(false), run(false).from_schedule);
        let invalid = Cell::Invalid(13, "7 updates were lost".to_owned());
        assert_eq!(cells.len() + 12, COLUMNS.len());
        assert_eq!(cells[..2], [Cell::Figure("50,000".to_owned()), invalid]);
        let html = section(&[run(false).into()]);
        assert!(html.contains("✕ invalid: 7 updates were lost"), "{html}");
        assert!(!html.contains(">12.3<") && !html.contains("12.3 µs"), "{html}");
    }

    #[test]
    fn every_overlay_can_be_hidden() {
        let (choice, style) = (choice(), choice_style());
        for overlay in overlays() {
            assert!(choice.contains(&format!("id=\"show-{}\"", overlay.class)), "{choice}");
            assert!(style.contains(&format!("#show-{}:not(:checked)", overlay.class)), "{style}");
        }
        assert_eq!(choice.matches("checked=").count(), 3);
    }
}
