//! Lists of item names.

use std::fs;
use std::path::Path;

use crate::FeedError;

/// Names of items, one a line; what is behind a `#` is a comment, blank lines
/// do not count.
///
/// ```
/// use tapeline_feed::ItemList;
///
/// let list = ItemList::parse("# indices\nDAX.X\n FTSE.X  # London\n\n");
/// assert_eq!(list.names(), ["DAX.X", "FTSE.X"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ItemList {
    names: Vec<String>,
}

impl ItemList {
    /// Reads a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FeedError> {
        let file = path.as_ref().display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) => Err(FeedError::Io { file, error }),
        }
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Self {
        let names = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        Self { names }
    }

    /// `count` names of a prefix and a number from 0: `RDT0`, `RDT1`.
    pub fn numbered(prefix: &str, count: usize) -> Self {
        Self { names: (0..count).map(|number| format!("{prefix}{number}")).collect() }
    }

    /// The names in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}
