//! Golden vectors: shown, or checked.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::json;
use tapeline_inspect::{Ink, Outcome, Vector};

use super::input;
use super::output::Output;
use crate::failure::{Failure, Verdict};

/// The longest line, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Lines with their numbers, from 1. Memory is bounded whatever comes.
struct Lines<R> {
    reader: R,
    max_bytes: u64,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R, max_bytes: u64) -> Self {
        Self { reader, max_bytes, number: 0 }
    }

    /// The next line that is not blank, or why it is none that can be read.
    fn next(&mut self) -> io::Result<Option<(u64, Result<String, String>)>> {
        let mut line = Vec::new();
        loop {
            line.clear();
            self.number += 1;
            let mut bounded = self.reader.by_ref().take(self.max_bytes + 1);
            if bounded.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            if line.len() as u64 > self.max_bytes && line.last() != Some(&b'\n') {
                self.reader.skip_until(b'\n')?;
                let fault = format!("the line has more than {} bytes", self.max_bytes);
                return Ok(Some((self.number, Err(fault))));
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_start_matches('\u{FEFF}').trim();
            if !text.is_empty() {
                return Ok(Some((self.number, Ok(text.to_owned()))));
            }
        }
    }
}

/// Gives each vector, or what is wrong with its line, with its line's number.
fn for_each(
    path: &Path,
    mut take: impl FnMut(u64, Result<Vector, String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut lines = Lines::new(BufReader::new(input::open(path)?), MAX_LINE_BYTES);
    let shown = input::shown(path);
    while let Some((number, line)) = lines.next().map_err(Failure::read(&shown))? {
        let parse = |line: String| Vector::parse(&line).map_err(|error| error.to_string());
        take(number, line.and_then(parse))?;
    }
    Ok(())
}

/// What a vector without a name is called.
fn title(vector: &Vector, number: u64) -> String {
    vector.name().map_or_else(|| format!("line {number}"), str::to_owned)
}

/// Shows all vectors. What is wrong with one is part of the output, so that a
/// line of input has its object of output, and no reason to fail.
pub(super) fn show(path: &Path, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    for_each(path, |number, vector| match vector {
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
            output.text(&text)?;
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

/// Checks all vectors. To have checked none is no success.
pub(super) fn check(path: &Path, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let (mut passed, mut failed, mut skipped) = (0_u64, 0_u64, 0_u64);
    for_each(path, |number, vector| {
        let (title, outcome) = match vector {
            Ok(vector) => (title(&vector, number), vector.check(output.fields)),
            Err(error) => (format!("line {number}"), Outcome::Failed(error)),
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
    let is_idle = passed == 0 && failed == 0;
    if is_idle {
        let shown = input::shown(path);
        output.fault(0, &format!("{} holds no codec vector to check", shown.display()))?;
    }
    output.text(&format!("{passed} passed, {failed} failed\n"))?;
    Ok(Verdict::of(failed > 0 || is_idle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_above_the_limit_is_one_fault_and_keeps_its_number() {
        let text: &[u8] = b"\xEF\xBB\xBFabc\n0123456789\n\n  \nabcd\n01234\nend";
        let mut lines = Lines::new(BufReader::with_capacity(2, text), 4);
        let mut all = Vec::new();
        while let Some(line) = lines.next().expect("no fault of reading") {
            all.push(line);
        }
        let long = || Err("the line has more than 4 bytes".to_owned());
        let want = [
            (1, long()),
            (2, long()),
            (5, Ok("abcd".to_owned())),
            (6, long()),
            (7, Ok("end".to_owned())),
        ];
        assert_eq!(all, want);
        let mut lines = Lines::new(text, 9);
        assert_eq!(lines.next().expect("readable"), Some((1, Ok("abc".to_owned()))));
        assert_eq!(lines.next().expect("readable").map(|line| line.0), Some(2));
    }
}
