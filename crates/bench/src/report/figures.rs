//! The figures of the latency procedure.

use hdrhistogram::Histogram;

use super::axis::Axis;
use super::format::{escape, micros, three_digits, whole};
use super::plot::{Band, Column, Line, Marker, Plot, Point, Size};
use super::runs::{Rounds, Series, chosen};
use crate::published::{self, System};
use crate::record::Distribution;

/// So many colours are in the style sheet.
const COLOURS: usize = 6;

/// Width of a column of a histogram, in microseconds: that of the published
/// ones.
const COLUMN_US: u64 = 10;

/// A histogram has at least this many columns.
const MIN_COLUMNS: u64 = 10;

/// A histogram has no more columns than this; the rest is told in words.
const MAX_COLUMNS: u64 = 80;

/// So many rates of a series have a histogram of their own.
const HISTOGRAMS: usize = 4;

/// So many rates of a series are in the percentile figure.
const CURVES: usize = 5;

/// Published systems that are shown before a reader chooses.
const SHOWN: [(&str, &str); 3] = [
    ("IBM 2011", "ADS 2.1 · 10 GbE"),
    ("STAC 2008", "SLERT 10 SP2 · InfiniBand"),
    ("Red Hat 2008", "three-node · RHEL 4.4 bound"),
];

/// The class of a series, or of a rate.
fn colour(at: usize) -> String {
    format!("s{}", at % COLOURS)
}

/// A published system among the overlays.
#[derive(Clone, Debug)]
pub(super) struct Overlay {
    pub(super) system: System,
    /// Class of its lines.
    pub(super) class: String,
    pub(super) is_shown: bool,
}

/// All published systems, those first that are shown from the start.
pub(super) fn overlays() -> Vec<Overlay> {
    let overlay = |(at, system): (usize, System)| Overlay {
        class: format!("o{at}"),
        is_shown: SHOWN.contains(&(system.source, system.name)),
        system,
    };
    let mut all: Vec<Overlay> = published::latency().into_iter().enumerate().map(overlay).collect();
    all.sort_by_key(|overlay| !overlay.is_shown);
    all
}

impl Overlay {
    pub(super) fn name(&self) -> String {
        format!("{} · {}", self.system.source, self.system.name)
    }
}

/// A figure of a distribution that is shown against the rate.
struct Against {
    name: &'static str,
    text: &'static str,
    ours: fn(&Distribution) -> f64,
    published: fn(&published::Point) -> f64,
}

const AGAINST_RATE: [Against; 3] = [
    Against {
        name: "Mean latency against rate",
        text: "Mean of the latencies of each rate. The floor is half a round trip of bare TCP on \
               this machine, in each of the three figures.",
        ours: |figures| figures.mean_ns,
        published: |point| point.mean_ns,
    },
    Against {
        name: "Largest latency against rate",
        text: "The one slowest update of each rate. It grows with the number of updates that \
               were measured.",
        ours: |figures| figures.max_ns as f64,
        published: |point| point.max_ns,
    },
    Against {
        name: "Standard deviation against rate",
        text: "How far latencies were from their mean.",
        ours: |figures| figures.stddev_ns,
        published: |point| point.stddev_ns,
    },
];

/// Mean, largest and standard deviation against the rate.
pub(super) fn against_rate(all: &[Series<'_>]) -> String {
    AGAINST_RATE.iter().map(|against| figure_against_rate(against, all)).collect()
}

fn figure_against_rate(against: &Against, all: &[Series<'_>]) -> String {
    let mut lines = Vec::new();
    for (at, series) in all.iter().enumerate() {
        let figure = |rounds: &Rounds<'_>| rounds.schedule_ns(against.ours);
        lines.push(our_line(at, series, "", figure, &series.name));
    }
    let floors = all.iter().flat_map(|series| series.rates.values());
    let floor = floors.filter_map(|rounds| rounds.floor_ns(against.ours)).next_back();
    lines.extend(overlays().iter().map(|overlay| published_line(overlay, against.published)));
    for (at, series) in all.iter().enumerate() {
        let figure = |rounds: &Rounds<'_>| rounds.send_ns(against.ours);
        let name = format!("{}, from send", series.name);
        lines.push(our_line(at, series, " from-send", figure, &name));
    }
    let rates: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|at| at.x).collect();
    let values = lines.iter().flat_map(|line| &line.points).map(|at| at.y);
    let x = Axis::log("updates a second (logarithmic)", rates.iter().copied());
    let y = Axis::log("µs (logarithmic)", values.chain(floor.map(|ns| ns / 1e3)));
    if let Some(floor) = floor {
        let at = |x: f64| Point { x, y: floor / 1e3, title: format!("{} µs", micros(floor)) };
        let ends = [f64::MIN_POSITIVE, f64::MAX];
        lines.insert(
            0,
            Line {
                name: "floor: bare TCP".to_owned(),
                class: "floor".to_owned(),
                marker: Marker::None,
                points: ends.map(at).into(),
            },
        );
    }
    lines.retain(|line| !line.points.is_empty());
    let plot = Plot {
        name: against.name.to_owned(),
        x,
        y,
        bands: Vec::new(),
        class: String::new(),
        columns: Vec::new(),
        lines,
    };
    figure(against.name, against.text, &plot.responsive())
}

fn our_line(
    at: usize,
    series: &Series<'_>,
    class: &str,
    figure: impl Fn(&Rounds<'_>) -> Option<f64>,
    name: &str,
) -> Line {
    let point = |(rate, rounds): (&u64, &Rounds<'_>)| {
        let (rate, ns) = (*rate as f64, figure(rounds)?);
        let title = format!("{name}, {}/s: {} µs", whole(rate), micros(ns));
        Some(Point { x: rate, y: ns / 1e3, title })
    };
    Line {
        name: name.to_owned(),
        class: format!("{}{class}", colour(at)),
        marker: Marker::ALL[at % Marker::ALL.len()],
        points: series.rates.iter().filter_map(point).collect(),
    }
}

fn published_line(overlay: &Overlay, figure: fn(&published::Point) -> f64) -> Line {
    let name = overlay.name();
    let point = |at: &published::Point| {
        let title = format!("{name}, {}/s: {} µs", whole(at.rate_per_s), micros(figure(at)));
        Point { x: at.rate_per_s, y: figure(at) / 1e3, title }
    };
    let marker = match overlay.system.source {
        "STAC 2008" => Marker::Triangle,
        "Red Hat 2008" => Marker::Square,
        _ => Marker::Diamond,
    };
    Line {
        class: format!("published {}", overlay.class),
        marker,
        points: overlay.system.points.iter().map(point).collect(),
        name,
    }
}

/// Histograms of the chosen rates of each series.
pub(super) fn histograms(all: &[Series<'_>]) -> String {
    let mut plots = String::new();
    for (at, series) in all.iter().enumerate() {
        for (rate, rounds) in chosen(series, HISTOGRAMS) {
            let Some(nanos) = rounds.histogram() else { continue };
            plots.push_str(&histogram(&series.name, &colour(at), rate, &nanos));
        }
    }
    if plots.is_empty() {
        return String::new();
    }
    let text = "Share of the latencies in each 10 µs, from schedule.";
    several("Latencies in 10 µs buckets", text, &plots)
}

fn histogram(series: &str, class: &str, rate: u64, nanos: &Histogram<u64>) -> String {
    let buckets = nanos.value_at_quantile(0.999) / 1000 / COLUMN_US + 1;
    let count = buckets.clamp(MIN_COLUMNS, MAX_COLUMNS);
    let mut columns = vec![0_u64; count as usize];
    let mut beyond = 0;
    for value in nanos.iter_recorded() {
        let bucket = value.value_iterated_to() / 1000 / COLUMN_US;
        match columns.get_mut(bucket as usize) {
            Some(column) => *column += value.count_at_value(),
            None => beyond += value.count_at_value(),
        }
    }
    let percent = |count: u64| count as f64 * 100.0 / nanos.len().max(1) as f64;
    let column = |(at, count): (usize, &u64)| {
        let from = (at as u64 * COLUMN_US) as f64;
        let to = from + COLUMN_US as f64;
        let y = percent(*count);
        Column { from, to, y, title: format!("{from} to {to} µs: {} %", three_digits(y)) }
    };
    let columns: Vec<Column> = columns.iter().enumerate().map(column).collect();
    let most = columns.iter().map(|column| column.y).fold(0.0, f64::max);
    let name = format!("{series}, {}/s", whole(rate as f64));
    let last = count * COLUMN_US;
    let beyond = format!(
        "{} latencies, {} of them above {last} µs, the largest {} µs",
        whole(nanos.len() as f64),
        whole(beyond as f64),
        micros(nanos.max() as f64)
    );
    let plot = Plot {
        name: format!("Latencies of {name}"),
        x: Axis::from_zero("µs", last as f64),
        y: Axis::from_zero("% of the latencies", most),
        bands: Vec::new(),
        class: class.to_owned(),
        columns,
        lines: Vec::new(),
    };
    small(&name, &beyond, &plot)
}

/// The percentile curves of the chosen rates, one figure for each series.
pub(super) fn percentiles(all: &[Series<'_>]) -> String {
    all.iter().map(percentiles_of).collect()
}

fn percentiles_of(series: &Series<'_>) -> String {
    let chosen = chosen(series, CURVES);
    let mut lines: Vec<Line> = Vec::new();
    let mut most = 0;
    for (at, (rate, rounds)) in chosen.iter().enumerate() {
        let Some(nanos) = rounds.histogram() else { continue };
        most = most.max(nanos.len());
        lines.push(Line {
            name: format!("{}/s", whole(*rate as f64)),
            class: colour(at),
            marker: Marker::ALL[at % Marker::ALL.len()],
            points: curve(&nanos),
        });
    }
    // The highest rate is the uppermost curve, and has the first label.
    lines.reverse();
    let floor = series.rates.values().rev().find_map(|rounds| rounds.valid().last()?.floor);
    lines.extend(floor.map(|figures| floor_curve(&figures)));
    if most == 0 {
        return String::new();
    }
    let values = lines.iter().flat_map(|line| &line.points).map(|point| point.y);
    let plot = Plot {
        name: format!("Percentiles of {}", series.name),
        y: Axis::log("µs (logarithmic)", values),
        x: Axis::nines("share of updates that were not slower", most),
        bands: Vec::new(),
        class: String::new(),
        columns: Vec::new(),
        lines,
    };
    let text = "How slow the slowest 10 %, 1 %, 0.1 % of the updates are, from schedule. \
                A level curve is a system whose outliers are no worse than its usual.";
    figure(&format!("Percentiles, {}", series.name), text, &plot.responsive())
}

/// Ten places of each nine, with a marker at the last.
pub(super) fn curve(nanos: &Histogram<u64>) -> Vec<Point> {
    let point = |tenth: i32| {
        let place = 10_f64.powf(f64::from(tenth) / 10.0);
        let share = 1.0 - 1.0 / place;
        let value = nanos.value_at_quantile(share) as f64;
        let title = match tenth % 10 {
            0 => format!("{} % within {} µs", share * 100.0, micros(value)),
            _ => String::new(),
        };
        Point { x: place, y: value / 1e3, title }
    };
    (0..90).map(point).take_while(|point| point.x <= nanos.len() as f64).collect()
}

/// Of the floor only the usual percentiles are known.
fn floor_curve(figures: &Distribution) -> Line {
    let known = [
        (2.0, figures.p50_ns),
        (10.0, figures.p90_ns),
        (100.0, figures.p99_ns),
        (1000.0, figures.p999_ns),
        (10_000.0, figures.p9999_ns),
    ];
    let point = |(x, nanos): (f64, u64)| {
        let title = format!("floor: {:.2} % within {} µs", 100.0 - 100.0 / x, micros(nanos as f64));
        Point { x, y: nanos as f64 / 1e3, title }
    };
    Line {
        name: "floor: bare TCP".to_owned(),
        class: "floor".to_owned(),
        marker: Marker::None,
        points: known.map(point).into(),
    }
}

/// Updates in each second of the chosen rates, with the warm-up shaded.
pub(super) fn per_second(all: &[Series<'_>]) -> String {
    let mut plots = String::new();
    for (at, series) in all.iter().enumerate() {
        for (rate, rounds) in chosen(series, HISTOGRAMS) {
            let Some(run) = rounds.valid().find(|run| run.series.len() > 1) else { continue };
            let name = format!("{}, {}/s", series.name, whole(rate as f64));
            plots.push_str(&seconds(&name, &colour(at), run.warm_up_dropped_s, &run.series));
        }
    }
    if plots.is_empty() {
        return String::new();
    }
    let text = "Updates that reached clients in each second. What is shaded was dropped: the \
                rate had not been within 1 % of the set one for long enough.";
    several("Updates in each second", text, &plots)
}

fn seconds(name: &str, class: &str, warm_up_s: f64, series: &[u64]) -> String {
    let column = |(at, count): (usize, &u64)| Column {
        from: at as f64,
        to: at as f64 + 1.0,
        y: *count as f64,
        title: format!("second {}: {}", at + 1, whole(*count as f64)),
    };
    let columns: Vec<Column> = series.iter().enumerate().map(column).collect();
    let most = columns.iter().map(|column| column.y).fold(0.0, f64::max);
    let band = Band { from: 0.0, to: warm_up_s, name: "warm-up".to_owned() };
    let plot = Plot {
        name: format!("Updates in each second of {name}"),
        x: Axis::from_zero("s", series.len() as f64),
        y: Axis::from_zero("updates", most),
        bands: if warm_up_s > 0.0 { vec![band] } else { Vec::new() },
        class: class.to_owned(),
        columns,
        lines: Vec::new(),
    };
    small(name, &format!("{} s of warm-up", three_digits(warm_up_s)), &plot)
}

/// A figure with its caption.
pub(super) fn figure(name: &str, text: &str, inner: &str) -> String {
    let (name, text) = (escape(name), escape(text));
    format!("<figure><figcaption><h3>{name}</h3><p>{text}</p></figcaption>{inner}</figure>\n")
}

/// Figures beside each other with a common caption.
fn several(name: &str, text: &str, plots: &str) -> String {
    let (name, text) = (escape(name), escape(text));
    format!("<h3>{name}</h3><p>{text}</p>\n<div class=\"several\">{plots}</div>\n")
}

fn small(name: &str, text: &str, plot: &Plot) -> String {
    let (name, text, svg) = (escape(name), escape(text), plot.svg(Size::SMALL));
    format!("<figure><figcaption><h4>{name}</h4></figcaption>{svg}<p>{text}</p></figure>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(micros: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut nanos = Histogram::new(3).unwrap();
        micros.into_iter().for_each(|us| nanos.record(us * 1000).unwrap());
        nanos
    }

    #[test]
    fn every_shown_system_is_published() {
        let overlays = overlays();
        assert_eq!(overlays.iter().filter(|overlay| overlay.is_shown).count(), SHOWN.len());
        assert!(overlays[..SHOWN.len()].iter().all(|overlay| overlay.is_shown));
    }

    #[test]
    fn a_bucket_has_ten_microseconds() {
        let html = histogram("x", "s0", 1000, &nanos([1, 2, 3, 4, 5, 6, 25, 26, 27, 5000]));
        assert!(html.contains("<title>0 to 10 µs: 60.0 %</title>"), "{html}");
        assert!(html.contains("<title>10 to 20 µs: 0.00 %</title>"), "{html}");
        assert!(html.contains("<title>20 to 30 µs: 30.0 %</title>"), "{html}");
        assert!(html.contains("10 latencies, 1 of them above 800 µs"), "{html}");
    }

    #[test]
    fn a_curve_ends_where_no_latency_is_left() {
        let points = curve(&nanos(1..=1000));
        let last = points.last().unwrap();
        assert!((last.x - 1000.0).abs() < 1e-6, "{last:?}");
        assert!((last.y - 1000.0).abs() < 2.0, "{last:?}");
        let median = points.iter().find(|point| point.x >= 1.99).unwrap();
        assert!((median.y - 500.0).abs() < 5.0, "{median:?}");
    }

    #[test]
    fn the_warm_up_is_shaded() {
        let html = seconds("x", "s0", 1.5, &[10, 20, 20, 20]);
        let width = format!("width=\"{:.1}\"", 1.5 / 4.0 * (360.0 - 44.0 - 12.0));
        assert!(html.contains(&format!("class=\"band\" x=\"44.0\" y=\"34\" {width}")), "{html}");
        assert!(html.contains("<title>second 4: 20</title>"), "{html}");
        assert!(!seconds("x", "s0", 0.0, &[1]).contains("band"));
    }
}
