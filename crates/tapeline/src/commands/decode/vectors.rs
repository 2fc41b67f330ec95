//! Golden vectors: shown, or checked.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::json;
use tapeline_inspect::{Ink, Outcome, Vector};

use super::output::Output;
use super::source;
use crate::failure::{Failure, Verdict};

/// The longest line, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Gives each line that is not blank with its number, from 1.
fn for_each_line(
    path: &Path,
    mut take: impl FnMut(u64, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut reader = BufReader::new(source::open(path)?);
    let shown = source::shown(path);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut bounded = reader.by_ref().take(MAX_LINE_BYTES);
        let count = bounded.read_until(b'\n', &mut line).map_err(Failure::read(&shown))?;
        if count == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            take(number, text.trim())?;
        }
    }
    Ok(())
}

/// What a vector without a name is called.
fn title(vector: &Vector, number: u64) -> String {
    vector.name().map_or_else(|| format!("line {number}"), str::to_owned)
}

pub(super) fn show(path: &Path, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    for_each_line(path, |number, line| match Vector::parse(line) {
        Ok(vector) if output.is_json => {
            let object = match vector.to_value(output.fields) {
                Ok(value) => json!({"name": vector.name(), "value": value}),
                Err(error) => json!({"name": vector.name(), "error": error.to_string()}),
            };
            Ok(output.object(&object)?)
        }
        Ok(vector) => {
            output.line(Ink::Aside, &title(&vector, number))?;
            let mut text = String::new();
            let printed = vector.print(output.fields, (output.palette, 1), &mut text);
            output.text(text.trim_end_matches(' '))?;
            Ok(printed.or_else(|error| output.fault(1, &format!("fault: {error}")))?)
        }
        Err(error) if output.is_json => {
            let error = format!("line {number}: {error}");
            Ok(output.object(&json!({"name": null, "error": error}))?)
        }
        Err(error) => Ok(output.fault(0, &format!("line {number}: {error}"))?),
    })?;
    Ok(Verdict::Good)
}

pub(super) fn check(path: &Path, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let (mut passed, mut failed, mut skipped) = (0_u64, 0_u64, 0_u64);
    for_each_line(path, |number, line| {
        let (title, outcome) = match Vector::parse(line) {
            Ok(vector) => (title(&vector, number), vector.check(output.fields)),
            Err(error) => (format!("line {number}"), Outcome::Failed(error.to_string())),
        };
        match outcome {
            Outcome::Passed => passed += 1,
            Outcome::Skipped => skipped += 1,
            Outcome::Failed(difference) => {
                failed += 1;
                output.fault(0, &format!("{title}: {difference}"))?;
            }
        }
        Ok(())
    })?;
    if skipped > 0 {
        output.text(&format!("{skipped} skipped: transport frames are no codec vectors\n"))?;
    }
    output.text(&format!("{passed} passed, {failed} failed\n"))?;
    Ok(Verdict::of(failed > 0))
}
