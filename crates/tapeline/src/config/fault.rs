//! What is wrong in a configuration file, and where.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Names that are further away from any known one than this are not taken for
/// a slip of the pen.
const LEAST_SIMILARITY: f64 = 0.6;

/// One thing that is wrong in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The file.
    pub(crate) path: PathBuf,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
    /// What is wrong, and what would be right.
    pub(crate) text: String,
}

impl Fault {
    /// A fault at a place in the text of a file.
    pub(super) fn at(path: &Path, text: &str, span: Range<usize>, what: String) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Self { path: path.to_owned(), line, column, text: what }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path.display(), self.line, self.column, self.text)
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
