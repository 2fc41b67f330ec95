//! `tapeline admin trace`: one item, message by message.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::client::{Client, part};
use super::rows::cell;
use crate::failure::{Failure, Verdict};

/// How often it is looked what came.
const INTERVAL: Duration = Duration::from_millis(100);

/// Which item is traced, and for how long.
#[derive(clap::Args)]
pub(crate) struct TraceArgs {
    /// The item
    item: String,
    /// Its service; without it, any
    #[arg(long, short = 'S', value_name = "NAME", default_value = "")]
    service: String,
    /// For how long, up to ten minutes: 10s, 500ms, 2m
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = span)]
    span: Duration,
}

/// A time as it is written: 10s, 500ms, 2m; seconds where there is no unit.
fn span(text: &str) -> Result<Duration, String> {
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let per_ms = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        _ => return Err(format!("'{unit}' is no unit; there are ms, s and m")),
    };
    let number: u64 = number.parse().map_err(|_| "it begins with a number: 10s".to_owned())?;
    match number.checked_mul(per_ms) {
        Some(ms @ 1..=600_000) => Ok(Duration::from_millis(ms)),
        _ => Err("from 1ms to 10m".to_owned()),
    }
}

/// Runs it.
pub(super) fn run(client: &Client, args: &TraceArgs) -> Result<Verdict, Failure> {
    let TraceArgs { item, service, span } = args;
    let (mut out, for_ms) = (io::stdout().lock(), span.as_millis());
    let path = format!("/v1/items/{}/trace?service={}&for_ms={for_ms}", part(item), part(service));
    if client.act(&path)? == 0 {
        writeln!(out, "no server is here, and only servers trace; ask the admin port of one")?;
        return Ok(Verdict::Bad);
    }
    let began = Instant::now();
    let mut seen = Seen::default();
    loop {
        // The last look is behind the end, so that all is seen.
        let is_last = began.elapsed() >= *span;
        for row in client.rows("trace")? {
            if let Some(line) = seen.line(&row) {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()?;
        if is_last {
            break;
        }
        std::thread::sleep(INTERVAL.min(span.saturating_sub(began.elapsed())));
    }
    if seen.messages == 0 {
        writeln!(
            out,
            "nothing came of {item} in {for_ms} ms; `tapeline admin get items --filter {item}` says \
             whether it is open"
        )?;
        return Ok(Verdict::Bad);
    }
    writeln!(out, "{} messages, {} more left out", seen.messages, seen.left_out)?;
    Ok(Verdict::Good)
}

/// What was printed so far.
#[derive(Default)]
struct Seen {
    /// By server, the number of the row that comes next.
    next: std::collections::BTreeMap<String, u64>,
    messages: u64,
    left_out: u64,
}

impl Seen {
    /// The line of a row, if it is new.
    fn line(&mut self, row: &Json) -> Option<String> {
        let at = row["at"].as_str().unwrap_or_default();
        let number = row["number"].as_u64()?;
        let next = self.next.entry(at.to_owned()).or_default();
        if number < *next {
            return None;
        }
        // The server keeps so many, and drops the oldest.
        let overtaken = number - *next;
        *next = number + 1;
        let left_out = row["leftOut"].as_u64().unwrap_or(0) + overtaken;
        self.messages += 1;
        self.left_out += left_out;
        let mut line = format!(
            "{:>10.3} ms  {at}  {}  {}  seq {}  {} bytes  to {} mounts",
            row["afterUs"].as_u64().unwrap_or(0) as f64 / 1_000.0,
            cell(&row["service"]),
            cell(&row["message"]),
            row["sequence"],
            row["bytes"],
            row["watchers"],
        );
        for (column, name) in [("hubNs", "hub"), ("backboneNs", "backbone")] {
            if let Some(ns) = row[column].as_u64() {
                let _ = write!(line, "  {name} {:.1} us", ns as f64 / 1_000.0);
            }
        }
        if left_out > 0 {
            let _ = write!(line, "  ({left_out} before it left out)");
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_have_units() {
        let ms = |text| span(text).map(|span| span.as_millis());
        assert_eq!(
            ["10s", "500ms", "2m", "7"].map(|text| ms(text).ok()),
            [10_000, 500, 120_000, 7_000].map(Some)
        );
        for odd in ["", "s", "10h", "0s", "11m", "1.5s"] {
            assert!(ms(odd).is_err(), "{odd}");
        }
    }

    fn row(number: u64, left_out: u64) -> Json {
        json!({
            "at": "server", "number": number, "afterUs": 12_345, "service": "FEED", "name": "A",
            "message": "update", "sequence": 7, "bytes": 80, "watchers": 3,
            "hubNs": 1_500, "backboneNs": null, "leftOut": left_out,
        })
    }

    #[test]
    fn a_row_is_printed_once_with_what_was_left_out() {
        let mut seen = Seen::default();
        let line = "    12.345 ms  server  FEED  update  seq 7  80 bytes  to 3 mounts  hub 1.5 us";
        assert_eq!(seen.line(&row(0, 0)).as_deref(), Some(line));
        assert_eq!(seen.line(&row(0, 0)), None);
        let after = seen.line(&row(3, 5)).expect("new");
        assert_eq!(after, format!("{line}  (7 before it left out)"));
        assert_eq!((seen.messages, seen.left_out), (2, 7));
    }
}
