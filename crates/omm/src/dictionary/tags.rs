//! The `!tag` lines of a dictionary file: which file it is, of what version.

/// The tags of one dictionary file, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags {
    pairs: Vec<(Box<str>, Box<str>)>,
}

impl Tags {
    /// File name of the dictionary at its author.
    pub const FILENAME: &'static str = "Filename";
    /// A line about the dictionary.
    pub const DESC: &'static str = "Desc";
    /// What the file is: the code of a
    /// [`DictionaryType`](super::DictionaryType).
    pub const TYPE: &'static str = "Type";
    /// Version of a field dictionary.
    pub const VERSION: &'static str = "Version";
    /// Version of the record templates an enumeration file belongs to.
    pub const RT_VERSION: &'static str = "RT_Version";
    /// Version of an enumeration file's display templates.
    pub const DT_VERSION: &'static str = "DT_Version";
    /// Build number.
    pub const BUILD: &'static str = "Build";
    /// Day of the build.
    pub const DATE: &'static str = "Date";
    /// Number that field lists name their dictionary by.
    pub const DICTIONARY_ID: &'static str = "DictionaryId";

    /// The value of a tag; names are compared exactly.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| &**known == name).map(|(_, value)| &**value)
    }

    /// Sets a tag, in place of the value that it may have.
    pub fn set(&mut self, name: &str, value: &str) {
        match self.pairs.iter_mut().find(|(known, _)| &**known == name) {
            Some((_, old)) => *old = value.into(),
            None => self.pairs.push((name.into(), value.into())),
        }
    }

    /// All tags as name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (&**name, &**value))
    }

    /// `Version` of a field dictionary, empty if it has none.
    pub fn version(&self) -> &str {
        self.get(Self::VERSION).unwrap_or_default()
    }

    /// `RT_Version` of enumeration tables, empty if they have none.
    pub fn rt_version(&self) -> &str {
        self.get(Self::RT_VERSION).unwrap_or_default()
    }

    /// `DT_Version` of enumeration tables, or `Version`, which some providers
    /// send alone; empty if they have neither.
    pub fn dt_version(&self) -> &str {
        self.get(Self::DT_VERSION).or_else(|| self.get(Self::VERSION)).unwrap_or_default()
    }

    /// `DictionaryId`, 0 if the file has none.
    pub fn dictionary_id(&self) -> i64 {
        self.get(Self::DICTIONARY_ID).and_then(|id| id.parse().ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_one_value_and_keeps_its_place() {
        let mut tags = Tags::default();
        tags.set(Tags::VERSION, "1.0");
        tags.set(Tags::DICTIONARY_ID, "7");
        tags.set(Tags::VERSION, "1.1");
        let pairs: Vec<_> = tags.iter().collect();
        assert_eq!(pairs, [("Version", "1.1"), ("DictionaryId", "7")]);
        assert_eq!((tags.version(), tags.dictionary_id(), tags.dt_version()), ("1.1", 7, "1.1"));
        tags.set(Tags::DT_VERSION, "2.0");
        assert_eq!((tags.dt_version(), tags.rt_version()), ("2.0", ""));
    }
}
