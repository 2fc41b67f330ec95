//! Tables of a policy file, read key by key; all that is wrong in them is told
//! at once.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::{Fault, Lines, nearest};

/// A value, and the line it stands on.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) line: usize,
}

/// The file that is read, and what was found wrong in it.
pub(crate) struct Reader<'f> {
    file: &'f str,
    lines: Lines,
    pub(crate) faults: Vec<Fault>,
}

impl<'f> Reader<'f> {
    pub(crate) fn new(file: &'f str, text: &str) -> Self {
        Self { file, lines: Lines::of(text), faults: Vec::new() }
    }

    pub(crate) fn line(&self, span: &Range<usize>) -> usize {
        self.lines.line(span)
    }

    pub(crate) fn fault(&mut self, line: usize, text: impl Into<String>) {
        self.faults.push(Fault { file: self.file.to_owned(), line, text: text.into() });
    }

    pub(crate) fn fault_at(&mut self, span: &Range<usize>, text: impl Into<String>) {
        self.fault(self.line(span), text);
    }
}

/// One table of the file. Whoever has taken all the keys that there are calls
/// [`Table::end`], which tells of the others.
pub(crate) struct Table<'t, 'r, 'f> {
    name: &'t str,
    entries: &'t DeTable<'t>,
    keys: Vec<&'static str>,
    pub(crate) line: usize,
    pub(crate) reader: &'r mut Reader<'f>,
}

impl<'t, 'r, 'f> Table<'t, 'r, 'f> {
    pub(crate) fn new(
        name: &'t str,
        entries: &'t DeTable<'t>,
        line: usize,
        reader: &'r mut Reader<'f>,
    ) -> Self {
        Self { name, entries, keys: Vec::new(), line, reader }
    }

    fn value(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.keys.push(key);
        self.entries.get(key)
    }

    fn wrong(&mut self, key: &str, value: &Spanned<DeValue<'_>>, give: &str) {
        self.reader
            .fault_at(&value.span(), format!("`{key}` in [{}] is wrong; give {give}", self.name));
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Option<At<String>> {
        let value = self.value(key)?;
        let line = self.reader.line(&value.span());
        let text = value.get_ref().as_str().map(|text| At { value: text.to_owned(), line });
        if text.is_none() {
            self.wrong(key, value, "a text");
        }
        text
    }

    /// A text that has to be there; the table is of no use without.
    pub(crate) fn needed(&mut self, key: &'static str) -> Option<At<String>> {
        if !self.entries.contains_key(key) {
            self.reader.fault(self.line, format!("[{}] needs `{key}`", self.name));
        }
        self.text(key)
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let what = format!("`{key}` is `{}`; give one of {}", text.value, known.join(", "));
            self.reader.fault(text.line, what);
        }
        found.map(|(_, value)| *value)
    }

    pub(crate) fn flag(&mut self, key: &'static str) -> bool {
        let Some(value) = self.value(key) else { return false };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.wrong(key, value, "true or false");
            false
        })
    }

    pub(crate) fn number(&mut self, key: &'static str, range: &RangeInclusive<u32>) -> Option<u32> {
        let value = self.value(key)?;
        let number = number_of(value.get_ref()).filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(key, value, &format!("a number from {} to {}", range.start(), range.end()));
        }
        number
    }

    /// A list; each entry is read by `read`, which says what to give instead.
    pub(crate) fn list<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<Vec<At<T>>> {
        let value = self.value(key)?;
        let Some(entries) = value.get_ref().as_array() else {
            self.wrong(key, value, "a list");
            return None;
        };
        let mut list = Vec::with_capacity(entries.len());
        for entry in entries.iter() {
            let line = self.reader.line(&entry.span());
            match read(entry.get_ref()) {
                Ok(value) => list.push(At { value, line }),
                Err(what) => self.reader.fault(line, format!("`{key}` in [{}]: {what}", self.name)),
            }
        }
        Some(list)
    }

    pub(crate) fn texts(&mut self, key: &'static str) -> Option<Vec<At<String>>> {
        self.list(key, text_of)
    }

    /// The tables of a list, each read by `read`.
    pub(crate) fn tables(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&mut Table<'_, '_, 'f>),
    ) {
        let Some(value) = self.value(key) else { return };
        let tables: Option<Vec<_>> = value.get_ref().as_array().and_then(|entries| {
            entries.iter().map(|entry| Some((entry.span(), entry.get_ref().as_table()?))).collect()
        });
        let Some(tables) = tables else {
            return self.wrong(key, value, "tables");
        };
        for (span, entries) in tables {
            let line = self.reader.line(&span);
            let mut table = Table::new(key, entries, line, self.reader);
            read(&mut table);
            table.end();
        }
    }

    /// A table that is there once.
    pub(crate) fn table(&mut self, key: &'static str, read: impl FnOnce(&mut Table<'_, '_, 'f>)) {
        let Some(value) = self.value(key) else { return };
        let Some(entries) = value.get_ref().as_table() else {
            return self.wrong(key, value, "a table");
        };
        let line = self.reader.line(&value.span());
        let mut table = Table::new(key, entries, line, self.reader);
        read(&mut table);
        table.end();
    }

    /// Tells of the keys that nobody asked for.
    pub(crate) fn end(&mut self) {
        for (name, _) in self.entries {
            let key = name.get_ref().as_ref();
            if !self.keys.contains(&key) {
                let hint = nearest(key, self.keys.iter().copied());
                let what = match self.name {
                    "" => format!("unknown table or key `{key}`{hint}"),
                    table => format!("unknown key `{key}` in [{table}]{hint}"),
                };
                self.reader.fault_at(&name.span(), what);
            }
        }
    }
}

/// A whole number, if it is one of those that `T` has.
pub(crate) fn number_of<T: TryFrom<i64>>(value: &DeValue<'_>) -> Option<T> {
    let integer = value.as_integer()?;
    let number = i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()?;
    T::try_from(number).ok()
}

pub(crate) fn text_of(value: &DeValue<'_>) -> Result<String, String> {
    value.as_str().map(ToOwned::to_owned).ok_or_else(|| "give texts".to_owned())
}
