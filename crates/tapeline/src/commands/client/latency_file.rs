//! The latency file: each latency as it was measured.
//!
//! ```text
//! a name of any kind      a name that ends in .csv
//! 118                     received_us,item,latency_us
//! 97                      5120334417,RTRSY.O,118
//!                         5120434398,RTRSY.O,97
//! ```
//!
//! All numbers are microseconds; moments are those of the host's monotonic
//! clock.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file that latencies are written into.
pub(super) struct LatencyFile {
    path: PathBuf,
    lines: Lines<BufWriter<File>>,
    /// The first error of writing; after it nothing is written.
    error: Option<io::Error>,
}

impl LatencyFile {
    /// Creates the file, in place of one that was there.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let failure = |error| Failure::LatencyFile { path: path.to_owned(), error };
        let is_csv =
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        let out = BufWriter::new(File::create(path).map_err(failure)?);
        let lines = Lines::new(out, is_csv).map_err(failure)?;
        Ok(Self { path: path.to_owned(), lines, error: None })
    }

    /// Adds one latency.
    pub(super) fn add(&mut self, received_us: u64, item: &str, latency_us: u64) {
        if self.error.is_none() {
            self.error = self.lines.add(received_us, item, latency_us).err();
        }
    }

    /// Hands on what was added.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        let done = match self.error.take() {
            Some(error) => Err(error),
            None => self.lines.out.flush(),
        };
        done.map_err(|error| Failure::LatencyFile { path: self.path.clone(), error })
    }
}

/// The lines of the file.
struct Lines<W> {
    out: W,
    is_csv: bool,
}

impl<W: Write> Lines<W> {
    fn new(mut out: W, is_csv: bool) -> io::Result<Self> {
        if is_csv {
            writeln!(out, "received_us,item,latency_us")?;
        }
        Ok(Self { out, is_csv })
    }

    fn add(&mut self, received_us: u64, item: &str, latency_us: u64) -> io::Result<()> {
        match self.is_csv {
            true => writeln!(self.out, "{received_us},{},{latency_us}", csv(item)),
            false => writeln!(self.out, "{latency_us}"),
        }
    }
}

/// A text as a value of a CSV file (RFC 4180).
fn csv(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(is_csv: bool) -> String {
        let mut lines = Lines::new(Vec::new(), is_csv).expect("memory takes all");
        lines.add(1000, "A.X", 118).expect("memory takes all");
        lines.add(2000, "a,\"b\"", 97).expect("memory takes all");
        String::from_utf8(lines.out).expect("text")
    }

    #[test]
    fn a_line_is_a_latency_in_microseconds() {
        assert_eq!(lines(false), "118\n97\n");
    }

    #[test]
    fn a_csv_file_says_what_its_columns_are() {
        let expected = "received_us,item,latency_us\n1000,A.X,118\n2000,\"a,\"\"b\"\"\",97\n";
        assert_eq!(lines(true), expected);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let failure = LatencyFile::create(Path::new("/nowhere/out")).err().expect("no such folder");
        let text = failure.to_string();
        assert!(text.starts_with("cannot write the latency file /nowhere/out: "), "{text}");
    }
}
