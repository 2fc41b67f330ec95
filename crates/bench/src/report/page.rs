//! The page.

use super::environment::{processor, program, runs};
use super::format::escape;
use super::read::Input;
use super::runs::{Kind, of_kind};
use super::{environment, hosts, latency, peak, summary};
use crate::published::SOURCES;

const STYLE: &str = include_str!("report.css");

/// Sections by their anchor, for the table of contents.
const SECTIONS: [(&str, &str); 18] = [
    ("aims", "Aims"),
    ("summary", "Summary"),
    ("latency", "Latency"),
    ("throughput", "Throughput"),
    ("fanout", "Fan-out"),
    ("floor", "Floor"),
    ("memory", "Memory"),
    ("verdict", "Verdict"),
    ("comparison", "Comparison"),
    ("matrix", "Matrix"),
    ("pingpong", "Ping-pong"),
    ("flow", "Application flows"),
    ("multicast", "Multicast"),
    ("disk", "Disk"),
    ("noise", "Noise"),
    ("settings", "Settings"),
    ("environment", "Environment"),
    ("sources", "Sources"),
];

/// All of it.
pub(super) fn page(input: &Input) -> String {
    let records = &input.records;
    let of_hosts = hosts::sections(&input.tools, &input.settings);
    let style = if of_hosts.is_empty() { "" } else { hosts::STYLE };
    let sections = [
        summary::aims(&input.rows),
        summary::section(records),
        latency::section(records),
        peak::throughput(records),
        peak::fanout(records),
        summary::floors(records),
        summary::memory(records),
        of_hosts,
        environment::section(records),
        sources(input),
    ]
    .concat();
    let nothing = match sections.is_empty() {
        true => "<p>Nothing was measured.</p>\n",
        false => "",
    };
    let is_there = |id: &str| sections.contains(&format!("<section id=\"{id}\">"));
    let there = SECTIONS.iter().filter(|(id, _)| is_there(id));
    let links = there.map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>\n"));
    let contents = links.collect::<Vec<_>>().concat();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>Tapeline: measurements</title>\n<style>\n{STYLE}{style}{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the results</a>\n<header>\n<h1>Measurements</h1>\n{}\
         <nav aria-label=\"Sections\">{contents}</nav>\n</header>\n<main id=\"main\">\n\
         {}{nothing}{sections}</main>\n</body>\n</html>\n",
        latency::choice_style(),
        about(input),
        left_out(input),
    )
}

/// What was measured, when and on what, in a few lines.
fn about(input: &Input) -> String {
    let runs = runs(&input.records);
    let Some(first) = runs.first() else { return String::new() };
    let kernel = first.kernel.clone().unwrap_or_default();
    let debug = match runs.iter().any(|run| run.is_debug_build) {
        true => "<p class=\"warning\">Measured with a debug build: no figure means anything.</p>\n",
        false => "",
    };
    format!(
        "<p class=\"about\">Tapeline {}<br/>{}<br/>{}<br/>{}</p>\n{debug}",
        escape(&program(first)),
        escape(&first.started_utc),
        escape(&processor(first)),
        escape(&kernel),
    )
}

fn left_out(input: &Input) -> String {
    if input.left_out.is_empty() {
        return String::new();
    }
    let lines = input.left_out.iter().map(|line| format!("<li>{}</li>\n", escape(line)));
    format!(
        "<div class=\"warning\"><p>Left out, since it is no result:</p><ul>{}</ul></div>\n",
        lines.collect::<String>()
    )
}

/// Where overlays come from; nothing if none is in the report.
fn sources(input: &Input) -> String {
    let kinds = [Kind::Latency, Kind::Throughput, Kind::Fanout];
    if kinds.iter().all(|kind| of_kind(&input.records, *kind).is_empty()) {
        return String::new();
    }
    let rows = SOURCES
        .iter()
        .map(|(name, text)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(text)));
    format!(
        "<section id=\"sources\"><h2>Sources of the published figures</h2>\n<p>They were measured \
         on the hardware of their time, over a network between hosts, with latency from the \
         moment of sending. They show what the procedure has given before, not what that system \
         would do here.</p>\n<dl>{}</dl></section>\n",
        rows.collect::<String>()
    )
}
