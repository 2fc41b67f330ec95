//! Results as one HTML file that needs nothing else: no network, no script.
//!
//! ```text
//!  result files          records            sections             page
//!  ┌────────────┐ read ┌──────────┐ runs ┌─────────────────┐ ┌─────────────┐
//!  │ JSON lines │ ───▶ │ result … │ ───▶ │ tables, figures │▶│ HTML with   │
//!  └────────────┘      └──────────┘      │ (SVG)           │ │ style and   │
//!    published systems ────────────────▶ └─────────────────┘ │ figures in it│
//!                                                            └─────────────┘
//! ```
//!
//! The output is well-formed XML as well, follows the reader's choice of a
//! light or a dark theme, can be printed, and works with a keyboard and on a
//! telephone. Whatever stands in a record is text to it, never markup.
//!
//! A run that is not valid is named with its reason; none of its figures is
//! shown.

mod axis;
mod bars;
mod environment;
mod figures;
mod flow;
mod format;
mod heat;
mod hosts;
mod latency;
mod page;
mod peak;
mod plot;
mod read;
mod runs;
mod stack;
mod summary;
mod table;
mod verdict;
mod versus;

use std::path::Path;

use crate::BenchError;
use crate::record::Record;
use read::Input;

/// A report of records, in the order in which they were written.
///
/// ```
/// use tapeline_bench::record::{Measurement, Record};
///
/// let result = Measurement { procedure: "latency".to_owned(), ..Measurement::default() };
/// let html = tapeline_bench::report::html(&[Record::from(result)]);
/// assert!(html.starts_with("<!doctype html>"));
/// ```
pub fn html(records: &[Record]) -> String {
    page::page(&Input { records: runs::with_origins(records.to_vec()), ..Input::default() })
}

/// The verdict on the host that a result file is of, in sentences, as its page
/// has it; first of all whether it had other work meanwhile.
///
/// Errors: as of [`from_files`].
pub fn verdict(path: &Path) -> Result<Vec<String>, BenchError> {
    let mut input = Input::default();
    input.add_file(path)?;
    let sentences = verdict::sentences(&input.tools, &input.settings);
    let disturbance = verdict::disturbance(&input.tools);
    Ok(disturbance.into_iter().chain(sentences.into_iter().map(|(_, text)| text)).collect())
}

/// A report of result files: JSON lines of [`Record`]s, or the list of rows
/// that `tapeline bench quick` writes. What is neither is left out, and the
/// report says so.
///
/// Errors: a file cannot be read, or is larger than 1 GiB.
pub fn from_files<P: AsRef<Path>>(paths: &[P]) -> Result<String, BenchError> {
    let mut input = Input::default();
    for path in paths {
        input.add_file(path.as_ref())?;
    }
    Ok(page::page(&input))
}
