//! What tools found of hosts: their own sections, never among latencies of
//! market data.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use tapeline_measure::record::{Setting, Tool};

use super::axis::Axis;
use super::figures::{curve, figure};
use super::format::{escape, whole};
use super::heat::{Heat, HeatMap};
use super::plot::{Line, Marker, Plot, Point};
use super::table::{Cell, table};
use super::{flow, verdict, versus};
use crate::published::{self, PingPong};
use crate::record::from_hdr;

/// Lines that can be told from each other.
const MAX_LINES: usize = 6;

/// What a tool measured, and in which file it stood.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfHost {
    pub(super) file: String,
    pub(super) tool: Tool,
}

/// The style of these sections; reports without them have none of it.
pub(super) const STYLE: &str = include_str!("hosts.css");

/// All sections, in their order.
pub(super) fn sections(all: &[OfHost], settings: &[Setting]) -> String {
    [
        verdict::verdict(all, settings),
        versus::comparison(all),
        matrix(all),
        pingpong(all),
        flow::flows(all),
        multicast(all),
        disk(all),
        noise(all),
        tuning(settings),
    ]
    .concat()
}

/// What one tool found.
pub(super) fn of_tool<'a>(all: &'a [OfHost], tool: &str) -> Vec<&'a OfHost> {
    all.iter().filter(|of| of.tool.tool == tool).collect()
}

/// A section, if there is something in it.
pub(super) fn section(id: &str, name: &str, inner: &str) -> String {
    match inner.is_empty() {
        true => String::new(),
        false => format!("<section id=\"{id}\"><h2>{}</h2>\n{inner}</section>\n", escape(name)),
    }
}

/// A transport in a file: one map, one line.
fn series<'a>(all: &[&'a OfHost]) -> BTreeMap<String, Vec<&'a OfHost>> {
    let files: BTreeSet<&str> = all.iter().map(|of| of.file.as_str()).collect();
    let mut by_name: BTreeMap<String, Vec<&OfHost>> = BTreeMap::new();
    for of in all {
        let name = match files.len() {
            1 => of.tool.transport.clone(),
            _ => format!("{}, {}", of.file, of.tool.transport),
        };
        by_name.entry(name).or_default().push(of);
    }
    by_name
}

fn per_second(tool: &Tool, name: &str) -> Option<f64> {
    tool.per_second.get(name).map(|nanos| nanos / 1e3).filter(|_| tool.valid)
}

fn matrix(all: &[OfHost]) -> String {
    let cells = of_tool(all, "nwtool");
    let mut text = String::new();
    for (name, cells) in series(&cells) {
        for (of, figure_name) in [("avg", "mean_mean"), ("max", "max_max")] {
            let map = HeatMap {
                name: format!("{of} of {name}, µs"),
                x_label: "messages/s".to_owned(),
                y_label: "bytes".to_owned(),
                cells: cells.iter().filter_map(|cell| heat(&cell.tool, figure_name)).collect(),
            };
            let told = "Round trips from send, in µs. The line is the edge where it melts: beyond \
                        it a cell is not within its bounds, or does not count (✕).";
            let told = if of == "avg" { told } else { "" };
            let inner = map.responsive();
            if !inner.is_empty() {
                text.push_str(&figure(&format!("{name}, {of}"), told, &inner));
            }
        }
        text.push_str(&melting_words(&name, &cells));
        text.push_str(&against_rate(&name, &cells));
    }
    text.push_str(&percentiles(&cells));
    section("matrix", "Matrix", &text)
}

fn heat(tool: &Tool, figure: &str) -> Option<Heat> {
    let (x, y) = (tool.rate_per_s?, tool.size_bytes?);
    let value = per_second(tool, figure);
    let verdict = tool.verdict.clone().or(tool.why_invalid.clone()).unwrap_or_default();
    let is_good = is_good(tool);
    let told = value.map_or("-".to_owned(), |value| format!("{value:.1} µs"));
    Some(Heat { x, y, value, is_good, title: format!("{x}/s of {y} bytes: {told} {verdict}") })
}

fn is_good(tool: &Tool) -> bool {
    tool.valid && tool.verdict.as_deref().is_none_or(|verdict| verdict == "good")
}

/// The first cell, by rate and then by size, that is not good: its rate, its
/// size.
pub(super) fn melting<'a>(cells: &[&'a Tool]) -> Option<(u64, u64, &'a Tool)> {
    let of = |tool: &&'a Tool| Some((tool.rate_per_s?, tool.size_bytes?, *tool));
    let bad = cells.iter().filter(|tool| !is_good(tool)).filter_map(of);
    bad.min_by_key(|(rate, size, _)| (*rate, *size))
}

/// The verdict: where a transport melts, why, and what it does before that.
fn melting_words(name: &str, cells: &[&OfHost]) -> String {
    let mut all: Vec<(u64, u64, &Tool)> = cells
        .iter()
        .filter_map(|cell| Some((cell.tool.rate_per_s?, cell.tool.size_bytes?, &cell.tool)))
        .collect();
    all.sort_by_key(|(rate, size, _)| (*rate, *size));
    let melts = all.iter().position(|(_, _, tool)| !is_good(tool));
    let before = &all[..melts.unwrap_or(all.len())];
    let means: Vec<f64> =
        before.iter().filter_map(|(_, _, tool)| per_second(tool, "mean_mean")).collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(0.0, f64::max);
    let takes = match means.is_empty() {
        true => String::new(),
        false => format!(" Before that a round trip takes {least:.1} to {most:.1} µs in the mean."),
    };
    let told = match melts.map(|at| all[at]) {
        None if all.is_empty() => return String::new(),
        None => format!(
            "{name} melts at none of these rates: a round trip takes {least:.1} to {most:.1} µs in \
             the mean."
        ),
        Some((rate, size, tool)) => {
            let why = tool.why_invalid.as_deref().or(tool.verdict.as_deref()).unwrap_or_default();
            format!("{name} melts at {}/s of {size} bytes: {why}.{takes}", whole(rate as f64))
        }
    };
    format!("<p>{}</p>\n", escape(&told))
}

/// Mean against rate, a line a size.
fn against_rate(name: &str, cells: &[&OfHost]) -> String {
    let sizes: BTreeSet<u64> = cells.iter().filter_map(|cell| cell.tool.size_bytes).collect();
    let mut lines = Vec::new();
    for (at, size) in sizes.into_iter().enumerate().take(MAX_LINES) {
        let of_size = cells.iter().filter(|cell| cell.tool.size_bytes == Some(size));
        let mut points: Vec<Point> = of_size
            .filter_map(|cell| {
                let (x, y) = (cell.tool.rate_per_s? as f64, per_second(&cell.tool, "mean_mean")?);
                Some(Point { x, y, title: format!("{}/s: {y:.1} µs", whole(x)) })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        lines.push(line(format!("{size} bytes"), at, points));
    }
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() {
        return String::new();
    }
    let x = Axis::log("messages/s (logarithmic)", values(&lines, |point| point.x));
    let plot = of_lines(format!("avg of {name} against rate"), x, lines);
    figure(&format!("{name}, avg against rate"), "", &plot.responsive())
}

fn values(lines: &[Line], of: fn(&Point) -> f64) -> Vec<f64> {
    lines.iter().flat_map(|line| &line.points).map(of).collect()
}

/// Lines of times in microseconds, which are far apart.
fn of_lines(name: String, x: Axis, lines: Vec<Line>) -> Plot {
    Plot {
        name,
        x,
        y: Axis::log("µs (logarithmic)", values(&lines, |point| point.y)),
        bands: Vec::new(),
        class: String::new(),
        columns: Vec::new(),
        lines,
    }
}

fn line(name: String, at: usize, points: Vec<Point>) -> Line {
    Line {
        name,
        class: format!("s{}", at % MAX_LINES),
        marker: Marker::ALL[at % Marker::ALL.len()],
        points,
    }
}

/// A cell that has its distribution.
type Measured<'a> = (&'a OfHost, Histogram<u64>);

/// Curves over each other at the cell that most have in common.
pub(super) fn percentiles(cells: &[&OfHost]) -> String {
    let mut common: BTreeMap<(u64, u64), Vec<Measured<'_>>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.tool.valid) {
        let nanos = cell.tool.hdr.as_deref().and_then(from_hdr);
        let key = (cell.tool.rate_per_s.unwrap_or(0), cell.tool.size_bytes.unwrap_or(0));
        common.entry(key).or_default().extend(nanos.map(|nanos| (*cell, nanos)));
    }
    // Of those with most lines, the one with most messages.
    let count = |all: &[Measured<'_>]| all.iter().map(|(_, nanos)| nanos.len()).sum::<u64>();
    let chosen = common.iter().max_by_key(|(_, all)| (all.len(), count(all)));
    let Some(((rate, size), all)) = chosen else { return String::new() };
    let files: BTreeSet<&str> = all.iter().map(|(of, _)| of.file.as_str()).collect();
    let lines: Vec<Line> = all
        .iter()
        .take(MAX_LINES)
        .enumerate()
        .map(|(at, (of, nanos))| {
            let name = match files.len() {
                1 => of.tool.transport.clone(),
                _ => format!("{}, {}", of.file, of.tool.transport),
            };
            line(name, at, curve(nanos))
        })
        .collect();
    let most = all.iter().map(|(_, nanos)| nanos.len()).max().unwrap_or_default();
    let what = match rate {
        0 => format!("{size} bytes"),
        rate => format!("{}/s of {size} bytes", whole(*rate as f64)),
    };
    let x = Axis::nines("share of messages that were not slower", most);
    let plot = of_lines(format!("Percentiles at {what}"), x, lines);
    let told = "How slow the slowest 10 %, 1 %, 0.1 % are, from send.";
    figure(&format!("Percentiles at {what}"), told, &plot.responsive())
}

fn classic(tool: &Tool, name: &str) -> Option<f64> {
    tool.classic.get(name).map(|nanos| *nanos as f64 / 1e3).filter(|_| tool.valid)
}

fn pingpong(all: &[OfHost]) -> String {
    let cells = of_tool(all, "pingpong");
    let mut text = String::new();
    for (figure_name, words) in [("mean", "Latency"), ("stddev", "Standard deviation")] {
        let mut lines = Vec::new();
        for (at, (name, cells)) in series(&cells).into_iter().enumerate().take(MAX_LINES) {
            let points = cells.iter().filter_map(|cell| {
                let (x, y) = (cell.tool.size_bytes? as f64, classic(&cell.tool, figure_name)?);
                let title = format!("{name}, {x} bytes: {y:.2} µs");
                (x > 0.0 && y > 0.0).then_some(Point { x, y, title })
            });
            lines.push(line(name.clone(), at, points.collect()));
        }
        lines.retain(|line| line.points.len() > 1);
        if lines.is_empty() {
            continue;
        }
        if cells.iter().any(|cell| cell.tool.transport == "tcp") {
            lines.extend(published_pingpong(figure_name));
        }
        let x = Axis::log("bytes (logarithmic)", values(&lines, |point| point.x));
        let plot = of_lines(format!("{words} against size"), x, lines);
        let told = "Half round trips. Thin lines were published in 2019: TCP between two hosts \
                    with a bypass stack, on bare machines and in guests.";
        text.push_str(&figure(&format!("{words} against size"), told, &plot.responsive()));
    }
    text.push_str(&percentiles(&cells));
    section("pingpong", "Ping-pong", &text)
}

/// What of a group's messages arrived, and each receiver's seconds.
fn multicast(all: &[OfHost]) -> String {
    let cells = of_tool(all, "mcast");
    let receivers: Vec<&&OfHost> = cells.iter().filter(|of| of.tool.role == "receive").collect();
    let rows: Vec<Vec<Cell>> = cells
        .iter()
        .map(|cell| {
            let tool = &cell.tool;
            let count =
                |name: &str| Cell::maybe(tool.counts.get(name).map(|count| whole(*count as f64)));
            let port = tool.options.get("port").cloned().unwrap_or_default();
            vec![
                Cell::text(format!("{} {port}", tool.role)),
                Cell::maybe(tool.size_bytes.map(|size| size.to_string())),
                Cell::maybe(tool.achieved_per_s.map(whole)),
                Cell::maybe(per_second(tool, "jitter_mean").map(|us| format!("{us:.1}"))),
                count("lost"),
                count("own_queue"),
                count("reordered"),
                count("duplicated"),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns = [
        ("port", false),
        ("bytes", true),
        ("messages/s", true),
        ("jitter µs", true),
        ("lost", true),
        ("of own queue", true),
        ("reordered", true),
        ("duplicated", true),
    ];
    let words = receivers.iter().map(|of| of.tool.counts.clone());
    let sum = |name: &str| words.clone().filter_map(|of| of.get(name).copied()).sum::<u64>();
    let (received, lost, own) = (sum("received"), sum("lost"), sum("own_queue"));
    let verdict = match (received, lost) {
        (0, _) => String::new(),
        (_, 0) => format!("<p>Nothing of {} messages was lost.</p>", whole(received as f64)),
        _ => format!(
            "<p>{:.3} % was lost; {} of {} in the receiver's own queue, which is loss of the host \
             and not of the network.</p>",
            lost as f64 * 100.0 / (received + lost) as f64,
            whole(own.min(lost) as f64),
            whole(lost as f64)
        ),
    };
    let inner = table("Multicast", &columns, &rows) + &verdict + &seconds(&receivers);
    section("multicast", "Multicast", &inner)
}

/// Jitter of each second of each receiver.
fn seconds(receivers: &[&&OfHost]) -> String {
    let mut lines = Vec::new();
    for (at, of) in receivers.iter().enumerate().take(MAX_LINES) {
        let port = of.tool.options.get("port").cloned().unwrap_or_default();
        let point = |[second, count, _, jitter, gap]: &[u64; 5]| Point {
            x: *second as f64 + 1.0,
            y: (*jitter as f64 / 1e3).max(0.01),
            title: format!(
                "second {}: {} messages, jitter {:.1} µs, longest gap {:.1} µs",
                second + 1,
                whole(*count as f64),
                *jitter as f64 / 1e3,
                *gap as f64 / 1e3
            ),
        };
        lines.push(line(format!("port {port}"), at, of.tool.series.iter().map(point).collect()));
    }
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() {
        return String::new();
    }
    let seconds = values(&lines, |point| point.x).into_iter().fold(0.0, f64::max);
    let plot = of_lines("Jitter of each second".to_owned(), Axis::from_zero("s", seconds), lines);
    figure("Jitter of each second", "The mean of |D| of neighbouring messages.", &plot.responsive())
}

/// A published system's name, for a label beside its line.
fn short(system: &str) -> String {
    let short = system.replace(" bare metal,", ",").replace(" VM (KVM, passthrough)", ", guest");
    short.replace("ultra-low-latency", "low-latency").replace(" on 10G cable", ", 10G cable")
}

/// Published systems as lines beside ours; of TCP.
fn published_pingpong(figure: &str) -> Vec<Line> {
    let line = |(at, system): (usize, PingPong)| {
        let points = system.rows.iter().filter_map(|(bytes, mean_ns, stddev_ns)| {
            let nanos = if figure == "stddev" { *stddev_ns } else { *mean_ns };
            let (x, y) = (*bytes, nanos / 1e3);
            let title = format!("{}, {x} bytes: {y:.2} µs", system.name);
            (x > 0.0 && y > 0.0).then_some(Point { x, y, title })
        });
        Line {
            class: "published".to_owned(),
            marker: Marker::ALL[at % Marker::ALL.len()],
            points: points.collect(),
            name: short(&system.name),
        }
    };
    published::pingpong().into_iter().enumerate().map(line).collect()
}

fn disk(all: &[OfHost]) -> String {
    let cells = of_tool(all, "disk");
    let rows: Vec<Vec<Cell>> = cells
        .iter()
        .map(|cell| {
            let tool = &cell.tool;
            let us =
                |of: Option<u64>| Cell::maybe(of.map(|nanos| format!("{:.1}", nanos as f64 / 1e3)));
            let of = tool.from_send;
            vec![
                Cell::text(format!("{} {}", tool.role, tool.transport)),
                Cell::text(tool.medium.clone().unwrap_or_default()),
                Cell::maybe(tool.rate_per_s.map(|rate| whole(rate as f64))),
                Cell::maybe(tool.achieved_per_s.map(whole)),
                us(of.map(|of| of.p50_ns)),
                us(of.map(|of| of.p99_ns)),
                us(of.map(|of| of.p999_ns)),
                us(of.map(|of| of.max_ns)),
            ]
        })
        .collect();
    let columns = [
        ("operation", false),
        ("medium", false),
        ("rate", true),
        ("achieved", true),
        ("p50 µs", true),
        ("p99 µs", true),
        ("p99.9 µs", true),
        ("max µs", true),
    ];
    let inner = if rows.is_empty() { String::new() } else { table("Disk", &columns, &rows) };
    section("disk", "Disk", &inner)
}

/// Gaps of spinning threads, and late timers.
fn noise(all: &[OfHost]) -> String {
    let cells = of_tool(all, "jitter");
    let rows: Vec<Vec<Cell>> = cells
        .iter()
        .map(|cell| {
            let tool = &cell.tool;
            let us =
                |of: Option<u64>| Cell::maybe(of.map(|nanos| format!("{:.1}", nanos as f64 / 1e3)));
            let count =
                |name: &str| Cell::maybe(tool.counts.get(name).map(|count| whole(*count as f64)));
            let lost = tool.counts.get("total_ns").filter(|_| tool.role == "spin");
            let lost =
                lost.map(|nanos| format!("{:.3}", *nanos as f64 / 1e7 / tool.seconds.max(1e-9)));
            vec![
                Cell::text(tool.options.get("core").cloned().unwrap_or_default()),
                Cell::text(tool.role.clone()),
                Cell::maybe(lost),
                us(tool.from_send.map(|of| of.p50_ns)),
                us(tool.from_send.map(|of| of.p99_ns)),
                us(tool.from_send.map(|of| of.max_ns)),
                count("interrupts"),
                count("switches"),
            ]
        })
        .collect();
    let columns = [
        ("core", false),
        ("method", false),
        ("lost %", true),
        ("p50 µs", true),
        ("p99 µs", true),
        ("max µs", true),
        ("interrupts", true),
        ("switches", true),
    ];
    let inner = if rows.is_empty() { String::new() } else { table("Noise", &columns, &rows) };
    section("noise", "Noise of the host", &inner)
}

fn tuning(settings: &[Setting]) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<Cell>> = settings
        .iter()
        .map(|of| {
            let state = match of.state.as_str() {
                "ok" => Cell::Good(of.state.clone()),
                "differs" => Cell::Bad(of.state.clone()),
                _ => Cell::text(of.state.clone()),
            };
            let texts = [&of.id, &of.present, &of.wanted].map(|text| Cell::text(text.clone()));
            texts.into_iter().chain([state, Cell::text(of.source.clone())]).collect()
        })
        .collect();
    let columns = [
        ("setting", false),
        ("present", false),
        ("wanted", false),
        ("state", false),
        ("source", false),
    ];
    let differs = settings.iter().filter(|of| of.state == "differs").count();
    let inner = format!(
        "<details><summary>{differs} of {} settings differ</summary>{}</details>\n",
        settings.len(),
        table("Settings", &columns, &rows)
    );
    section("settings", "Settings", &inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::to_hdr;

    fn cell(transport: &str, rate: u64, mean_us: f64, verdict: &str) -> OfHost {
        let mut nanos = Histogram::new(3).unwrap();
        (1..=100).for_each(|n| nanos.record(n * 1000).unwrap());
        let tool = Tool {
            tool: "nwtool".to_owned(),
            transport: transport.to_owned(),
            size_bytes: Some(100),
            rate_per_s: Some(rate),
            valid: true,
            verdict: Some(verdict.to_owned()),
            per_second: [("mean_mean", mean_us), ("max_max", mean_us * 9.0)]
                .map(|(name, us)| (name.to_owned(), us * 1e3))
                .into(),
            hdr: to_hdr(&nanos),
            ..Tool::default()
        };
        OfHost { file: "a.jsonl".to_owned(), tool }
    }

    #[test]
    fn a_matrix_has_maps_with_an_edge_lines_and_curves_over_each_other() {
        let all = [
            cell("tcp", 100, 2.0, "good"),
            cell("tcp", 1_000, 9.0, "max of avg 9 > 7"),
            cell("aeron", 100, 1.0, "good"),
            cell("aeron", 1_000, 1.0, "good"),
        ];
        let html = sections(&all, &[]);
        assert!(html.contains("</section>\n<section id=\"matrix\">"), "{html}");
        // tcp's two maps, each for two widths.
        assert_eq!(html.matches("class=\"melt\"").count(), 4);
        assert!(html.contains("Percentiles at 1,000/s of 100 bytes"), "{html}");
        assert!(html.contains("max of avg 9 &gt; 7"), "{html}");
        let melts = "<p>tcp melts at 1,000/s of 100 bytes: max of avg 9 &gt; 7. Before that a round \
                     trip takes 2.0 to 2.0 µs in the mean.</p>";
        assert!(html.contains(melts), "{html}");
        assert!(html.contains("<p>aeron melts at none of these rates"), "{html}");
    }

    #[test]
    fn there_is_nothing_of_nothing() {
        assert_eq!(sections(&[], &[]), "");
    }
}
