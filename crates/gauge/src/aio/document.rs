//! Tables of a flow file, read key by key; variables stand for their values,
//! and all that is wrong is told by its line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::GaugeError;

/// A value that variables stand for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Value {
    Integer(i64),
    Float(f64),
    Text(String),
    Flag(bool),
}

impl Value {
    fn of(value: &DeValue<'_>) -> Option<Self> {
        match value {
            DeValue::Integer(integer) => {
                i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(Self::Integer)
            }
            DeValue::Float(float) => float.as_str().parse().ok().map(Self::Float),
            DeValue::String(text) => Some(Self::Text(text.to_string())),
            DeValue::Boolean(flag) => Some(Self::Flag(*flag)),
            _ => None,
        }
    }

    /// As it was typed on a command line.
    pub(super) fn typed(text: &str) -> Self {
        match text {
            "true" => Self::Flag(true),
            "false" => Self::Flag(false),
            _ => text
                .parse()
                .map(Self::Integer)
                .or_else(|_| text.parse().map(Self::Float))
                .unwrap_or_else(|_| Self::Text(text.to_owned())),
        }
    }
}

/// The file that is read: its variables, and what was found wrong in it.
pub(super) struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    variables: BTreeMap<String, Value>,
    faults: RefCell<Vec<(usize, String)>>,
}

/// Of some names, the one that was meant, as the end of a sentence.
pub(super) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let near = |known: &&str| strsim::damerau_levenshtein(known, name);
    match names.min_by_key(near).filter(|known| near(known) <= 3) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => String::new(),
    }
}

impl<'t> Reader<'t> {
    pub(super) fn new(file: &'t str, text: &'t str) -> Self {
        Self { file, text, variables: BTreeMap::new(), faults: RefCell::default() }
    }

    /// The line of a place in the text, from 1.
    pub(super) fn line(&self, span: &std::ops::Range<usize>) -> usize {
        let before = self.text.get(..span.start.min(self.text.len())).unwrap_or_default();
        1 + before.matches('\n').count()
    }

    pub(super) fn fault(&self, line: usize, what: impl Into<String>) {
        self.faults.borrow_mut().push((line, what.into()));
    }

    /// The variables of the file, those that were typed in their place.
    pub(super) fn set_variables(
        &mut self,
        table: Option<&Spanned<DeValue<'_>>>,
        typed: &[(String, Value)],
    ) {
        /// The most variables.
        const MAX: usize = 256;
        if let Some(spanned) = table {
            let line = self.line(&spanned.span());
            let Some(table) = spanned.get_ref().as_table() else {
                return self.fault(line, "`vars` is a table: vars = { rate = 1000 }");
            };
            if table.len() > MAX {
                self.fault(line, format!("at most {MAX} variables"));
            }
            for (name, value) in table {
                match Value::of(value.get_ref()) {
                    Some(value) => {
                        self.variables.insert(name.get_ref().to_string(), value);
                    }
                    None => self.fault(
                        self.line(&value.span()),
                        "a variable is a number, a text, true or false",
                    ),
                }
            }
        }
        for (name, value) in typed {
            if self.variables.insert(name.clone(), value.clone()).is_none() {
                let near = nearest(
                    name,
                    self.variables.keys().map(String::as_str).filter(|of| of != name),
                );
                self.variables.remove(name);
                self.fault(0, format!("there is no variable @{name}{near}"));
            }
        }
    }

    /// A value, or what the variable that it names stands for.
    fn resolved(&self, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let plain = Value::of(value.get_ref())?;
        let Value::Text(text) = &plain else { return Some(plain) };
        let Some(name) = text.strip_prefix('$') else { return Some(plain) };
        let found = self.variables.get(name).cloned();
        if found.is_none() {
            let near = nearest(name, self.variables.keys().map(String::as_str));
            self.fault(self.line(&value.span()), format!("there is no variable ${name}{near}"));
        }
        found
    }

    /// All that is wrong, in the order of lines.
    pub(super) fn done(&self) -> Result<(), GaugeError> {
        let mut faults = self.faults.borrow_mut();
        if faults.is_empty() {
            return Ok(());
        }
        faults.sort();
        faults.dedup();
        let told = faults.iter().map(|(line, what)| match line {
            0 => format!("{}: {what}", self.file),
            line => format!("{}, line {line}: {what}", self.file),
        });
        Err(GaugeError::Usage(told.collect::<Vec<_>>().join("\n")))
    }
}

/// One table. Whoever has taken all the keys that there are calls
/// [`Table::end`], which tells of the others.
pub(super) struct Table<'r, 't> {
    pub(super) reader: &'r Reader<'t>,
    entries: &'r DeTable<'r>,
    pub(super) line: usize,
    /// What it is, in messages.
    what: &'static str,
    keys: RefCell<Vec<&'static str>>,
}

impl<'r, 't> Table<'r, 't> {
    pub(super) fn new(
        reader: &'r Reader<'t>,
        entries: &'r DeTable<'r>,
        line: usize,
        what: &'static str,
    ) -> Self {
        Self { reader, entries, line, what, keys: RefCell::default() }
    }

    pub(super) fn entry(&self, key: &'static str) -> Option<&'r Spanned<DeValue<'r>>> {
        self.keys.borrow_mut().push(key);
        self.entries.get(key)
    }

    /// A value that `read` takes, else it is told to give `give`.
    fn read<T>(
        &self,
        key: &'static str,
        give: impl Display,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let spanned = self.entry(key)?;
        let line = self.reader.line(&spanned.span());
        if Value::of(spanned.get_ref()).is_none() {
            self.reader.fault(line, format!("`{key}`: give {give}"));
            return None;
        }
        let value = self.reader.resolved(spanned)?;
        let taken = read(&value);
        if taken.is_none() {
            let is = match &value {
                Value::Text(text) => format!("`{text}`"),
                Value::Integer(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Flag(flag) => flag.to_string(),
            };
            self.reader.fault(line, format!("`{key}` is {is}; give {give}"));
        }
        taken
    }

    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.read(key, "a text", |value| match value {
            Value::Text(text) => Some(text.clone()),
            // A variable that was typed as a number may be meant as a text.
            Value::Integer(number) => Some(number.to_string()),
            _ => None,
        })
    }

    /// A text that has to be there.
    pub(super) fn needed(&self, key: &'static str) -> Option<String> {
        if !self.entries.contains_key(key) {
            self.reader.fault(self.line, format!("{} needs `{key}`", self.what));
        }
        self.text(key)
    }

    pub(super) fn flag(&self, key: &'static str, default: bool) -> bool {
        let read = self.read(key, "true or false", |value| match value {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        });
        read.unwrap_or(default)
    }

    pub(super) fn whole(&self, key: &'static str, default: u64, range: RangeInclusive<u64>) -> u64 {
        let give = format!("a whole number of {} to {}", range.start(), range.end());
        let read = self.read(key, give, |value| match value {
            Value::Integer(number) => u64::try_from(*number).ok().filter(|of| range.contains(of)),
            _ => None,
        });
        read.unwrap_or(default)
    }

    /// A whole number that may be −1, for none.
    pub(super) fn whole_or_none(
        &self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let give =
            format!("-1 for none, or a whole number of {} to {}", range.start(), range.end());
        let read = self.read(key, give, |value| match value {
            Value::Integer(-1) => Some(None),
            Value::Integer(number) => {
                u64::try_from(*number).ok().filter(|of| range.contains(of)).map(Some)
            }
            _ => None,
        });
        read.flatten()
    }

    pub(super) fn number(
        &self,
        key: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
    ) -> f64 {
        let give = format!("a number of {} to {}", range.start(), range.end());
        let read = self.read(key, give, |value| {
            let number = match value {
                Value::Integer(number) => *number as f64,
                Value::Float(number) => *number,
                _ => return None,
            };
            range.contains(&number).then_some(number)
        });
        read.unwrap_or(default)
    }

    /// One of some words, the first if there is none.
    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&'static str, T)]) -> T {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let read = self.read(key, format!("one of {}", names.join(", ")), |value| match value {
            Value::Text(text) => words.iter().find(|(name, _)| name == text).map(|(_, of)| *of),
            _ => None,
        });
        read.unwrap_or(words[0].1)
    }

    /// What a text stands for, as `parse` has it, whose error says what to give.
    pub(super) fn parsed<T>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(key)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(what) => {
                let line =
                    self.entries.get(key).map_or(self.line, |at| self.reader.line(&at.span()));
                self.reader.fault(line, format!("`{key}`: {what}"));
                None
            }
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &'static str) -> Vec<(String, usize)> {
        let Some(spanned) = self.entry(key) else { return Vec::new() };
        let line = self.reader.line(&spanned.span());
        let Some(array) = spanned.get_ref().as_array() else {
            self.reader.fault(line, format!("`{key}`: give a list of texts, as [\"in\"]"));
            return Vec::new();
        };
        let mut all = Vec::new();
        for value in array.iter() {
            let line = self.reader.line(&value.span());
            match self.reader.resolved(value) {
                Some(Value::Text(text)) => all.push((text, line)),
                Some(_) => self.reader.fault(line, format!("`{key}`: give texts")),
                None => {}
            }
        }
        all
    }

    /// The tables of a list, each with its line; none if there is no list.
    pub(super) fn tables(
        &self,
        key: &'static str,
        what: &'static str,
        mut each: impl FnMut(Table<'r, 't>),
    ) {
        let Some(spanned) = self.entry(key) else { return };
        let line = self.reader.line(&spanned.span());
        let Some(array) = spanned.get_ref().as_array() else {
            return self.reader.fault(line, format!("`{key}` is a list of tables"));
        };
        for value in array.iter() {
            let line = self.reader.line(&value.span());
            match value.get_ref().as_table() {
                Some(table) => each(Table::new(self.reader, table, line, what)),
                None => self.reader.fault(line, format!("`{key}` is a list of tables")),
            }
        }
    }

    pub(super) fn has(&self, key: &'static str) -> bool {
        self.entries.contains_key(key)
    }

    /// Tells of keys that nobody asked for.
    pub(super) fn end(self) {
        let keys = self.keys.borrow();
        for (name, _) in self.entries {
            let word = name.get_ref().as_ref();
            if !keys.contains(&word) {
                let near = nearest(word, keys.iter().copied());
                let line = self.reader.line(&name.span());
                self.reader.fault(line, format!("{} has no key `{word}`{near}", self.what));
            }
        }
    }
}
