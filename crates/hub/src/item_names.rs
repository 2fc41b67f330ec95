//! The items that are taken from a source.

use std::sync::Arc;

use tapeline_entitle::Names;

/// Names and patterns of items: `*` is any text, `?` one character, `re:` begins
/// an expression.
///
/// ```
/// use tapeline_hub::ItemNames;
///
/// let names = ItemNames::of(["EUR*".to_owned(), "re:^[A-Z]{3}=$".to_owned()])?;
/// assert!(names.contains(b"EURGBP") && names.contains(b"JPY=") && !names.contains(b"VOD.L"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct ItemNames {
    patterns: Vec<String>,
    names: Arc<Names>,
}

impl ItemNames {
    /// The names of these patterns.
    ///
    /// Errors: an expression that is none, in words.
    pub fn of(patterns: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let patterns: Vec<_> = patterns.into_iter().collect();
        let names = Arc::new(Names::of(patterns.iter().map(String::as_str))?);
        Ok(Self { patterns, names })
    }

    /// Whether a name, as it is in a key, is among them. One that is no text is
    /// not.
    pub fn contains(&self, name: &[u8]) -> bool {
        str::from_utf8(name).is_ok_and(|name| self.names.contains(name))
    }
}

impl PartialEq for ItemNames {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Eq for ItemNames {}
