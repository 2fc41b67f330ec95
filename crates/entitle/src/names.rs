//! Sets of item names: exact ones, patterns, expressions.

use std::collections::HashSet;

use regex::RegexSet;

/// Names and patterns. Exact names and those that only end in `*` are looked
/// up by hash, however many there are; the rest are tried in one pass.
#[derive(Clone, Debug, Default)]
pub struct Names {
    exact: HashSet<Box<str>>,
    prefixes: HashSet<Box<str>>,
    /// The lengths that prefixes have, ascending.
    lengths: Vec<usize>,
    others: RegexSet,
}

impl Names {
    /// The names of these patterns: `*` is any text, `?` one character, and
    /// `re:` begins an expression.
    ///
    /// Errors: an expression that is none, in words.
    pub fn of<'p>(patterns: impl Iterator<Item = &'p str>) -> Result<Self, String> {
        let mut names = Self::default();
        let mut others = Vec::new();
        for pattern in patterns {
            let stem = pattern.strip_suffix('*').unwrap_or(pattern);
            if let Some(expression) = pattern.strip_prefix("re:") {
                others.push(expression.to_owned());
            } else if stem.contains(['*', '?']) {
                others.push(expression_of(pattern));
            } else if stem.len() < pattern.len() {
                names.prefixes.insert(stem.into());
            } else {
                names.exact.insert(pattern.into());
            }
        }
        names.lengths = names.prefixes.iter().map(|prefix| prefix.len()).collect();
        names.lengths.sort_unstable();
        names.lengths.dedup();
        names.others = RegexSet::new(&others).map_err(|error| error.to_string())?;
        Ok(names)
    }

    /// Whether a name is among them.
    pub fn contains(&self, name: &str) -> bool {
        let is_prefixed = |length: &usize| {
            name.get(..*length).is_some_and(|prefix| self.prefixes.contains(prefix))
        };
        self.exact.contains(name)
            || self.lengths.iter().any(is_prefixed)
            || !self.others.is_empty() && self.others.is_match(name)
    }
}

fn expression_of(pattern: &str) -> String {
    let mut expression = "(?s)^".to_owned();
    for character in pattern.chars() {
        match character {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            other => expression.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    expression.push('$');
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_patterns_and_expressions_match_what_they_say() {
        let patterns = ["VOD.L", "EUR*", "*.N", "A?C", "re:^[A-Z]{3}=$", "1.+*"];
        let names = Names::of(patterns.into_iter()).expect("they are good");
        for name in ["VOD.L", "EUR", "EURGBP=R", "IBM.N", ".N", "ABC", "GBP=", "1.+x"] {
            assert!(names.contains(name), "{name}");
        }
        for name in ["VOD.LL", "VOD_L", "aEUR", "IBM.NN", "AC", "gbp=", "GBP=R", "", "É", "1xx"] {
            assert!(!names.contains(name), "{name}");
        }
        assert!(Names::of(["*"].into_iter()).expect("good").contains(""));
        assert!(Names::of(["re:("].into_iter()).is_err());
    }
}
