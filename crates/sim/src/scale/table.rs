//! What phases cost, for people.

use std::fmt::Write as _;

use super::row::{ms, us};
use super::{Phase, Row};

/// A column: its head, and what it has of a row.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: [Column; 14] = [
    ("servers", |row| row.size.servers.to_string()),
    ("items", |row| short(row.size.items.into())),
    ("time, ms", |row| format!("{:.0}", ms(row.time))),
    ("hub sends", |row| short(row.from_hub.frames)),
    ("kB", |row| short(row.from_hub.bytes / 1000)),
    ("over unicast", |row| short(row.from_hub_to_each.frames)),
    ("servers send", |row| short(row.from_servers.frames)),
    ("for a server", |row| short(row.read_for_one.frames)),
    ("asked of source", |row| {
        let asked = row.asked;
        [asked.requests, asked.images, asked.changes].map(short).join(" / ")
    }),
    ("hub, ms", |row| format!("{:.1}", ms(row.hub.time))),
    ("longest, µs", |row| format!("{:.0}", us(row.hub.longest))),
    ("a server, ms", |row| format!("{:.1}", ms(row.server.time))),
    ("longest, µs", |row| format!("{:.0}", us(row.server.longest))),
    ("MB", |row| {
        let known = [row.hub_bytes, row.server_bytes].into_iter().flatten();
        let mega = known.map(|bytes| format!("{:.1}", bytes as f64 / 1e6));
        mega.collect::<Vec<_>>().join(" / ")
    }),
];

/// A number that is read at a glance.
fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{:.0}k", number as f64 / 1e3),
        _ => format!("{:.0}M", number as f64 / 1e6),
    }
}

/// Rows of one system as a table, aligned for a terminal, with their phases in front.
pub fn table(rows: &[Row]) -> String {
    let phase: Column = ("phase", |row| row.phase.to_string());
    aligned(&[&[phase][..], &COLUMNS[..]].concat(), rows, 1)
}

/// Rows of systems of several sizes as Markdown, a table for each phase.
pub fn by_phase(rows: &[Row]) -> String {
    let mut text = String::new();
    for phase in Phase::ALL {
        let rows: Vec<Row> = rows.iter().filter(|row| row.phase == phase).cloned().collect();
        let _ = write!(text, "### {}\n\n{}\n\n", phase.title(), phase.story());
        let _ = writeln!(text, "{}", aligned(&COLUMNS, &rows, 0));
    }
    text
}

/// A table of Markdown whose first columns, so many, are words.
fn aligned(columns: &[Column], rows: &[Row], words: usize) -> String {
    let head = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
    let body = rows.iter().map(|row| columns.iter().map(|(_, of)| of(row)).collect());
    let cells: Vec<Vec<String>> = std::iter::once(head).chain(body).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns.len()).filter_map(width).collect();
    let mut text = String::new();
    for (number, row) in cells.iter().enumerate() {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column < words {
                true => write!(text, "| {cell:<width$} "),
                false => write!(text, "| {cell:>width$} "),
            };
        }
        text.push_str("|\n");
        if number == 0 {
            for (column, width) in widths.iter().enumerate() {
                let end = if column < words { '-' } else { ':' };
                let _ = write!(text, "|{:-<1$}{end}", "", width + 1);
            }
            text.push_str("|\n");
        }
    }
    text
}
