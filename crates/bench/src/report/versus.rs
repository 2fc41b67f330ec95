//! Two hosts or more beside each other: the first file is the base.

use std::collections::BTreeMap;

use tapeline_measure::record::Tool;

use super::format::{escape, three_digits, whole};
use super::hosts::{OfHost, percentiles, section};
use super::table::{Cell, table};

/// So many rows are shown at once; the others are behind a click.
const SHOWN: usize = 24;

/// What two cells have to have in common.
type Key = (String, String, String, Option<u64>, Option<u64>, String);

fn key(tool: &Tool) -> Key {
    let core = tool.options.get("core").cloned().unwrap_or_default();
    (
        tool.tool.clone(),
        tool.transport.clone(),
        tool.role.clone(),
        tool.rate_per_s,
        tool.size_bytes,
        core,
    )
}

/// A cell that both hosts have.
struct Pair<'a> {
    base: &'a OfHost,
    other: &'a OfHost,
}

impl Pair<'_> {
    fn ratio(&self, of: fn(&Tool) -> Option<f64>) -> Option<f64> {
        let (base, other) = (of(&self.base.tool)?, of(&self.other.tool)?);
        (base > 0.0 && other > 0.0).then_some(other / base)
    }
}

fn p50(tool: &Tool) -> Option<f64> {
    tool.from_send.map(|of| of.p50_ns as f64)
}

fn p99(tool: &Tool) -> Option<f64> {
    tool.from_send.map(|of| of.p99_ns as f64)
}

/// The section; nothing with one file, or with nothing in common.
pub(super) fn comparison(all: &[OfHost]) -> String {
    let Some(base) = all.first().map(|of| of.file.as_str()) else { return String::new() };
    let mut others: Vec<&str> = Vec::new();
    for of in all {
        if of.file != base && !others.contains(&of.file.as_str()) {
            others.push(&of.file);
        }
    }
    let text: String = others.into_iter().map(|other| beside(all, base, other)).collect();
    section("comparison", "Comparison", &text)
}

fn beside(all: &[OfHost], base: &str, other: &str) -> String {
    let of_file = |file: &str| {
        let cells =
            all.iter().filter(|of| of.file == file && of.tool.valid && of.tool.from_send.is_some());
        cells.map(|of| (key(&of.tool), of)).collect::<BTreeMap<Key, &OfHost>>()
    };
    let (bases, others) = (of_file(base), of_file(other));
    let pairs: Vec<Pair<'_>> = bases
        .iter()
        .filter_map(|(key, base)| Some(Pair { base, other: others.get(key)? }))
        .collect();
    if pairs.is_empty() {
        return String::new();
    }
    let mut cells: Vec<&OfHost> = pairs.iter().flat_map(|pair| [pair.base, pair.other]).collect();
    // Curves of one tool only: those of different ones are of different things.
    let tool = cells.first().map(|of| of.tool.tool.clone()).unwrap_or_default();
    cells.retain(|of| of.tool.tool == tool);
    format!(
        "<h3>{} beside {}</h3>\n<p>{}</p>\n{}{}",
        escape(other),
        escape(base),
        escape(&words(&pairs, all, (base, other))),
        percentiles(&cells),
        rows(&pairs)
    )
}

fn rows(pairs: &[Pair<'_>]) -> String {
    let columns = [
        ("cell", false),
        ("p50 µs, A", true),
        ("B", true),
        ("ratio", true),
        ("p99 µs, A", true),
        ("B", true),
        ("ratio", true),
    ];
    let row = |pair: &Pair<'_>| {
        let tool = &pair.base.tool;
        let rate = tool.rate_per_s.map(|rate| format!(" {}/s", whole(rate as f64)));
        let size = tool.size_bytes.map(|size| format!(" {size} bytes"));
        let core = tool.options.get("core").map(|core| format!(" core {core}"));
        let name = [rate, size, core].into_iter().flatten().collect::<String>();
        let name = format!("{} {} {}{name}", tool.tool, tool.transport, tool.role);
        let mut cells = vec![Cell::text(name)];
        for of in [p50, p99] {
            let us = |tool: &Tool| Cell::maybe(of(tool).map(|nanos| three_digits(nanos / 1e3)));
            cells.extend([us(tool), us(&pair.other.tool)]);
            cells.push(Cell::maybe(pair.ratio(of).map(|ratio| format!("{ratio:.2}"))));
        }
        cells
    };
    let all: Vec<Vec<Cell>> = pairs.iter().map(row).collect();
    let (shown, rest) = all.split_at(all.len().min(SHOWN));
    let mut text = table("Cells of both", &columns, shown);
    if !rest.is_empty() {
        let more = table("More cells of both", &columns, rest);
        text.extend([
            "<details><summary>",
            &rest.len().to_string(),
            " more</summary>",
            &more,
            "</details>\n",
        ]);
    }
    text
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// The verdict in words, with the figures that it rests on.
fn words(pairs: &[Pair<'_>], all: &[OfHost], (base, other): (&str, &str)) -> String {
    let of = |figure: fn(&Tool) -> Option<f64>| {
        geometric_mean(pairs.iter().filter_map(|pair| pair.ratio(figure)))
    };
    let (Some(median), Some(tail)) = (of(p50), of(p99)) else { return String::new() };
    let is_alike = |ratio: f64| (0.95..1.05).contains(&ratio);
    let verdict = match (is_alike(median), is_alike(tail)) {
        (true, true) => format!("{other} is as fast as {base}"),
        (true, false) if tail > 1.0 => {
            format!("{other} is as fast as {base} in the median, and its tail is longer")
        }
        (true, false) => {
            format!("{other} is as fast as {base} in the median, and its tail is shorter")
        }
        // In the median they differ; the tail may say the contrary.
        _ => {
            let (word, agrees) = match median > 1.0 {
                true => ("slower", tail >= 0.95),
                false => ("faster", tail < 1.05),
            };
            let contrary = match (agrees, tail > 1.0) {
                (true, _) => "",
                (false, true) => " in the median, with a longer tail",
                (false, false) => " in the median, with a shorter tail",
            };
            format!("{other} is {word} than {base}{contrary}")
        }
    };
    let melts = melting_words(all, base, other);
    format!(
        "{verdict}: {median:.2} times as long in the median and {tail:.2} times at 99 %, geometric \
         means over {} cells.{melts} Of one round each, a ratio near 1 says nothing: tapeline \
         compare has intervals where there are several.",
        pairs.len()
    )
}

/// The first cell of a transport in a file that is not good, by rate and size.
fn melting_point(all: &[OfHost], file: &str, transport: &str) -> Option<(u64, u64)> {
    let cells = all.iter().filter(|of| of.file == file && of.tool.tool == "nwtool");
    let of = cells.filter(|of| of.tool.transport == transport).filter(|of| {
        !of.tool.valid || of.tool.verdict.as_deref().is_some_and(|verdict| verdict != "good")
    });
    of.filter_map(|of| Some((of.tool.rate_per_s?, of.tool.size_bytes?))).min()
}

fn melting_words(all: &[OfHost], base: &str, other: &str) -> String {
    let mut transports: Vec<&str> = all
        .iter()
        .filter(|of| of.tool.tool == "nwtool" && of.tool.role == "send")
        .map(|of| of.tool.transport.as_str())
        .collect();
    transports.sort_unstable();
    transports.dedup();
    let mut text = String::new();
    for transport in transports {
        let of = |file| melting_point(all, file, transport);
        let at = |(rate, size): (u64, u64)| format!("{}/s of {size} bytes", whole(rate as f64));
        let told = match (of(base), of(other)) {
            (None, None) => continue,
            (Some(a), None) => {
                format!(" {transport} melts at {} on {base}, and nowhere on {other}.", at(a))
            }
            (None, Some(b)) => {
                format!(" {transport} melts at {} on {other}, and nowhere on {base}.", at(b))
            }
            (Some(a), Some(b)) if a == b => format!(" {transport} melts at {} on both.", at(a)),
            (Some(a), Some(b)) => format!(
                " {transport} melts at {} on {base} and at {} on {other}: {} times the rate.",
                at(a),
                at(b),
                three_digits(b.0 as f64 / a.0 as f64)
            ),
        };
        text.push_str(&told);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_measure::histogram::Distribution;

    fn cell(file: &str, rate: u64, p50_us: u64, verdict: &str) -> OfHost {
        let tool = Tool {
            tool: "nwtool".to_owned(),
            transport: "tcp".to_owned(),
            role: "send".to_owned(),
            rate_per_s: Some(rate),
            size_bytes: Some(100),
            valid: true,
            verdict: Some(verdict.to_owned()),
            from_send: Some(Distribution {
                p50_ns: p50_us * 1000,
                p99_ns: p50_us * 3000,
                ..Distribution::default()
            }),
            ..Tool::default()
        };
        OfHost { file: file.to_owned(), tool }
    }

    #[test]
    fn a_second_host_is_told_by_its_ratios_and_where_it_melts() {
        let all = [
            cell("a", 100, 10, "good"),
            cell("a", 50_000, 20, "max of avg 9 > 7"),
            cell("b", 100, 5, "good"),
            cell("b", 50_000, 10, "good"),
            cell("b", 200_000, 90, "max of avg 9 > 7"),
        ];
        let html = comparison(&all);
        assert!(html.starts_with("<section id=\"comparison\">"), "{html}");
        for told in [
            "b is faster than a: 0.50 times as long in the median and 0.50 times at 99 %",
            "geometric means over 2 cells",
            "tcp melts at 50,000/s of 100 bytes on a and at 200,000/s of 100 bytes on b: 4.00 times",
        ] {
            assert!(html.contains(told), "{told} is not in {html}");
        }
        assert_eq!(html.matches("<td class=\"n\">0.50</td>").count(), 4);
    }

    #[test]
    fn one_host_or_nothing_in_common_is_no_comparison() {
        assert_eq!(comparison(&[]), "");
        assert_eq!(comparison(&[cell("a", 1, 1, "good"), cell("a", 2, 1, "good")]), "");
        assert_eq!(comparison(&[cell("a", 1, 1, "good"), cell("b", 2, 1, "good")]), "");
    }
}
