//! What is wrong in a policy, and where.

use std::fmt;
use std::ops::Range;

/// Names that are further away from any known one than this are not taken for
/// a slip of the pen.
const LEAST_SIMILARITY: f64 = 0.6;

/// One thing that is wrong in a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// Where the lines of a text begin. A policy may have a million of them, so
/// that they are counted once.
#[derive(Debug)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line of a place in the text, from 1.
    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        self.0.partition_point(|newline| *newline < span.start) + 1
    }
}

/// The known name that is most like an unknown one, as the end of a sentence.
pub(crate) fn nearest<'n>(unknown: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let unknown = unknown.to_ascii_lowercase();
    let closest = known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&unknown, &name.to_ascii_lowercase()), name))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match closest {
        Some((similarity, name)) if similarity >= LEAST_SIMILARITY => {
            format!("; did you mean `{name}`?")
        }
        _ => String::new(),
    }
}
