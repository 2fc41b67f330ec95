//! The reference of all counts and views, as Markdown.

use std::fmt::Write as _;

use crate::describe::joined;
use crate::{Kind, Table, View};

const HEAD: &str = "\
# Counters and views

What a running hub or server counts, and a source or a client that is started with `--admin-port`, \
and the tables that can be looked at. The names are \
those of OpenMetrics; the log has the short ones, in parentheses. A counter that ends in `_total` \
only grows; one with a bound also has its high-water mark and the bound itself. All are published \
each 10 ms while there is something to do, and a high-water mark is the most that was published. \
Views are at `/v1/NAME` of the admin port ([operators.md](operators.md#watching-it)), a row with \
the name of its hub or server in front.

This page is printed by `tapeline config counters`.
";

/// The whole reference.
pub fn reference(tables: &[&Table], views: &[&View]) -> String {
    let mut text = HEAD.to_owned();
    for table in tables {
        count_table(&mut text, table);
    }
    for view in views {
        view_table(&mut text, view);
    }
    text
}

fn count_table(text: &mut String, table: &Table) {
    let _ = writeln!(text, "\n## Counters: {}\n\n{}\n", table.group, joined(table.about));
    text.push_str("| counter | kind | bound | meaning |\n|---|---|---|---|\n");
    for count in table.counts {
        let kind = match count.kind {
            Kind::Total => "counter",
            Kind::Now => "gauge",
            Kind::Most => "high-water mark",
        };
        let bound = count.bound.map_or(String::new(), |key| format!("`{key}`"));
        let (metric, about) = (count.metric(table.group), count.help().replace('|', "\\|"));
        let _ = writeln!(text, "| `{metric}` ({}) | {kind} | {bound} | {about} |", count.name);
    }
}

fn view_table(text: &mut String, view: &View) {
    let _ = writeln!(text, "\n## View: {}\n\n{}\n", view.name, joined(view.about));
    text.push_str("| column | unit | meaning |\n|---|---|---|\n");
    for column in view.columns {
        let unit = match column.unit {
            crate::Unit::Milliseconds => "ms",
            crate::Unit::Nanoseconds => "ns",
            unit => unit.suffix().unwrap_or_default(),
        };
        let about = joined(column.about).replace('|', "\\|");
        let _ = writeln!(text, "| `{}` | {unit} | {about} |", column.name);
    }
}
