//! An application's flow: its parts predicted beside measured, and beside what
//! was published of an exchange.

use std::collections::BTreeMap;

use tapeline_measure::record::{Hop, Tool};

use super::figures::figure;
use super::format::{escape, whole};
use super::hosts::{OfHost, of_tool, percentiles, section};
use super::stack::{Part, Stack, stacks};
use super::table::{Cell, table};

/// What an order takes in each part of an exchange; one file for the tool and
/// for its report.
const ORDER_PATH: &str = include_str!("../../../gauge/published/order-path.csv");

/// Colours of parts; hops between them have one of their own.
const COLOURS: usize = 6;

/// Names of the published parts, in the order of the way, with ours.
const PUBLISHED: [(&str, &str); 6] = [
    ("NativeG", "gateway"),
    ("FIX", "FIX"),
    ("OC", "OC"),
    ("Seq", "sequencer"),
    ("ME", "matching"),
    ("DS", "distribution"),
];

/// The section of flows; nothing without any.
pub(super) fn flows(all: &[OfHost]) -> String {
    let runs = of_tool(all, "aio");
    let mut text = String::new();
    for run in &runs {
        text.push_str(&flow(&run.tool));
    }
    if runs.len() > 1 {
        text.push_str(&percentiles(&runs));
    }
    section("flow", "Application flows", &text)
}

fn micros(nanos: f64) -> String {
    format!("{:.1}", nanos / 1e3)
}

fn flow(tool: &Tool) -> String {
    let name = tool.options.get("flow").unwrap_or(&tool.transport);
    let name = format!("{name}, at {}", tool.role);
    if tool.hops.is_empty() || !tool.valid {
        let why = tool.why_invalid.clone().unwrap_or_else(|| "nothing was followed".to_owned());
        return format!("<h3>{}</h3><p>Not valid: {}</p>\n", escape(&name), escape(&why));
    }
    let classes = classes(&tool.hops);
    let mut bars: Vec<Stack> = published(&tool.transport, &classes).into_iter().collect();
    let total = tool.from_send.map_or(0, |of| of.p50_ns) as f64;
    let predicted: f64 = tool.hops.iter().map(|hop| hop.predicted_ns).sum();
    bars.push(stack("predicted here", predicted, &tool.hops, &classes, |hop| hop.predicted_ns));
    bars.push(stack("measured here, p50", total, &tool.hops, &classes, |hop| hop.p50_ns as f64));
    let told = format!(
        "{} messages a second of {} bytes, from send. Predicted: the work that was set, and half a \
         round trip of each link alone, measured just before. Measured: the median of each part; \
         medians of parts do not add up exactly to that of the whole.",
        whole(tool.rate_per_s.unwrap_or(0) as f64),
        tool.size_bytes.unwrap_or(0)
    );
    let inner = stacks(&name, "µs", &bars) + &parts(tool, predicted) + &words(tool, predicted);
    figure(&name, &told, &inner)
}

/// A class a part with work, by its name.
fn classes(hops: &[Hop]) -> BTreeMap<String, String> {
    let works = hops.iter().filter(|hop| !is_hop(hop));
    works.enumerate().map(|(at, hop)| (hop.name.clone(), format!("w{}", at % COLOURS))).collect()
}

/// Between two parts.
fn is_hop(hop: &Hop) -> bool {
    hop.name.contains('→')
}

fn stack(
    name: &str,
    total_ns: f64,
    hops: &[Hop],
    classes: &BTreeMap<String, String>,
    of: fn(&Hop) -> f64,
) -> Stack {
    let part = |hop: &Hop| Part {
        name: if is_hop(hop) { String::new() } else { hop.name.clone() },
        class: classes.get(&hop.name).cloned().unwrap_or_else(|| "hop".to_owned()),
        value: of(hop) / 1e3,
        title: format!("{}: {} µs", hop.name, micros(of(hop))),
    };
    let text = format!("{} µs", micros(total_ns));
    Stack { name: name.to_owned(), text, parts: hops.iter().map(part).collect() }
}

/// What was published of a way; `None` of one of which nothing was.
fn published(scenario: &str, classes: &BTreeMap<String, String>) -> Option<Stack> {
    let column = match scenario {
        "order-native" => 1,
        "order-fix" => 2,
        _ => return None,
    };
    let value = |name: &str| -> Option<f64> {
        let row = ORDER_PATH.lines().find(|row| row.starts_with(name))?;
        row.split(',').nth(column)?.parse().ok()
    };
    let works: Vec<(&str, f64)> =
        PUBLISHED.iter().filter_map(|(theirs, ours)| Some((*ours, value(theirs)?))).collect();
    let hop = value("NW Hops")? / works.len() as f64;
    let mut parts = Vec::new();
    for (name, us) in works {
        let class = classes.get(name).cloned().unwrap_or_else(|| "w0".to_owned());
        let title = format!("{name}: {us:.0} µs");
        parts.push(Part {
            name: String::new(),
            class: "hop".to_owned(),
            value: hop,
            title: format!("hop: {hop:.0} µs"),
        });
        parts.push(Part { name: name.to_owned(), class, value: us, title });
    }
    let text = format!("{:.0} µs", value("total")?);
    Some(Stack { name: "published, 2019".to_owned(), text, parts })
}

fn parts(tool: &Tool, predicted_ns: f64) -> String {
    let columns = [
        ("part", false),
        ("by", false),
        ("predicted µs", true),
        ("p50 µs", true),
        ("p99 µs", true),
        ("p99.9 µs", true),
    ];
    let row = |name: &str, kind: &str, figures: [f64; 4]| {
        let figures = figures.map(|nanos| Cell::maybe(Some(micros(nanos))));
        let texts = [name, kind].map(|text| Cell::text(text.to_owned()));
        texts.into_iter().chain(figures).collect::<Vec<Cell>>()
    };
    let of = |hop: &Hop| {
        let times = [hop.p50_ns, hop.p99_ns, hop.p999_ns].map(|nanos| nanos as f64);
        row(&hop.name, &hop.kind, [hop.predicted_ns, times[0], times[1], times[2]])
    };
    let mut rows: Vec<Vec<Cell>> = tool.hops.iter().map(of).collect();
    if let Some(all) = tool.from_send {
        let times = [all.p50_ns, all.p99_ns, all.p999_ns].map(|nanos| nanos as f64);
        rows.push(row("total", "", [predicted_ns, times[0], times[1], times[2]]));
    }
    table("Parts of the way", &columns, &rows)
}

/// The verdict: how good the prediction is, and where the difference lies.
fn words(tool: &Tool, predicted_ns: f64) -> String {
    let Some(all) = tool.from_send.filter(|_| predicted_ns > 0.0) else { return String::new() };
    let share = (all.p50_ns as f64 / predicted_ns - 1.0) * 100.0;
    let beside = if share < 0.0 { "below" } else { "above" };
    let over = |hop: &&Hop| hop.p50_ns as f64 - hop.predicted_ns;
    let worst = tool.hops.iter().max_by(|a, b| over(a).total_cmp(&over(b)));
    let worst = worst.map_or(String::new(), |hop| {
        let more = if over(&hop) >= 0.0 { "more" } else { "less" };
        format!("; most of the difference is {}, {} µs {more}", hop.name, micros(over(&hop).abs()))
    });
    let tail = all.p99_ns as f64 / all.p50_ns.max(1) as f64;
    format!(
        "<p>The median is {:.0} % {beside} what was predicted{}. The slowest hundredth takes {tail:.1} \
         times the median; {} of {} messages were lost.</p>\n",
        share.abs(),
        escape(&worst),
        whole(tool.counts.get("lost").copied().unwrap_or(0) as f64),
        whole(tool.counts.get("sent").copied().unwrap_or(0) as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_measure::histogram::Distribution;

    fn order(scenario: &str) -> OfHost {
        let hop = |name: &str, kind: &str, us: f64| Hop {
            name: name.to_owned(),
            kind: kind.to_owned(),
            predicted_ns: us * 1e3,
            p50_ns: (us * 1.1e3) as u64,
            ..Hop::default()
        };
        let tool = Tool {
            tool: "aio".to_owned(),
            transport: scenario.to_owned(),
            role: "executions".to_owned(),
            valid: true,
            hops: vec![
                hop("client→gateway", "tcp", 8.0),
                hop("gateway", "work", 20.0),
                hop("gateway→matching", "tcp", 8.0),
                hop("matching", "work", 60.0),
            ],
            from_send: Some(Distribution {
                p50_ns: 105_600,
                p99_ns: 211_200,
                ..Distribution::default()
            }),
            ..Tool::default()
        };
        OfHost { file: "a.jsonl".to_owned(), tool }
    }

    #[test]
    fn an_order_path_stands_beside_the_published_one() {
        let html = flows(&[order("order-native")]);
        assert!(html.starts_with("<section id=\"flow\">"), "{html}");
        for told in [
            "published, 2019 <tspan class=\"value\">117 µs",
            "predicted here <tspan \
                     class=\"value\">96.0 µs",
            "measured here, p50 <tspan class=\"value\">105.6 µs",
            "<title>matching: 60 µs</title>",
            "10 % above what was predicted",
            "most of the difference is matching, 6.0 µs more",
            "2.0 times the median",
        ] {
            assert!(html.contains(told), "{told} is not in {html}");
        }
        assert!(flows(&[order("order-fix")]).contains("191 µs"));
        assert!(!flows(&[order("mine.toml")]).contains("published"));
        assert_eq!(flows(&[]), "");
    }

    #[test]
    fn the_published_parts_add_up() {
        for (scenario, total) in [("order-native", 117.0), ("order-fix", 191.0)] {
            let stack = published(scenario, &BTreeMap::new()).unwrap();
            let sum: f64 = stack.parts.iter().map(|part| part.value).sum();
            assert!((sum - total).abs() < 1e-9, "{scenario}: {sum}");
        }
    }
}
