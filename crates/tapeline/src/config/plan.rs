//! What is different between two configurations, and what it takes to go from one
//! to the other.

use std::fmt::Write as _;

use super::Settings;
use super::section::{Class, Section};

/// A key that has another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The section and the key, as `server.max-mounts`; of a source `hub.source NAME`
    /// and the key.
    pub(crate) key: String,
    /// The value before, as TOML; empty for none.
    pub(crate) before: String,
    /// The value after.
    pub(crate) after: String,
    /// What it takes.
    pub(crate) class: Class,
}

/// All that is different, in the order of the reference.
pub(crate) fn differences(before: &Settings, after: &Settings) -> Vec<Difference> {
    let mut all = Vec::new();
    for (before_section, after_section) in before.sections().into_iter().zip(after.sections()) {
        let name = before_section.name();
        compare(&mut all, name, before_section, after_section);
        compare_tables(&mut all, &before.tables(name), &after.tables(name));
    }
    all
}

fn compare(all: &mut Vec<Difference>, name: &str, before: &dyn Section, after: &dyn Section) {
    let values = before.values().into_iter().zip(after.values());
    for (key, ((_, before), (_, after))) in before.keys().into_iter().zip(values) {
        if before != after {
            let (key, class) = (format!("{name}.{}", key.name), key.class);
            all.push(Difference { key, before, after, class });
        }
    }
}

/// A table below a section by its name: that of the section, and the value of its first
/// key.
pub(super) fn named(table: &&dyn Section) -> String {
    // A source need not have a name: then its hosts are.
    let values = table.values().into_iter().map(|(_, value)| value);
    let name = values.into_iter().find(|value| !value.is_empty()).unwrap_or_default();
    format!("{} {}", table.name(), name.trim_matches('"'))
}

/// Tables below a section are the same by the values of their first keys: the name, or
/// the port.
fn compare_tables(all: &mut Vec<Difference>, before: &[&dyn Section], after: &[&dyn Section]) {
    let whole = |table: &dyn Section, key: String, before: &str, after: &str| Difference {
        key,
        before: before.to_owned(),
        after: after.to_owned(),
        class: table.keys().iter().map(|key| key.class).max().unwrap_or(Class::Restart),
    };
    for table in before {
        let key = named(table);
        match after.iter().find(|known| named(known) == key) {
            Some(known) => compare(all, &key, *table, *known),
            None => all.push(whole(*table, key, "there", "")),
        }
    }
    for table in after {
        let key = named(table);
        if !before.iter().any(|known| named(known) == key) {
            all.push(whole(*table, key, "", "there"));
        }
    }
}

/// The differences as lines, aligned.
pub(crate) fn lines(differences: &[Difference]) -> String {
    let shown = |value: &str| if value.is_empty() { "none".to_owned() } else { value.to_owned() };
    let width = |of: fn(&Difference) -> usize| differences.iter().map(of).max().unwrap_or(0);
    let key_width = width(|it| it.key.len());
    let class_width = width(|it| it.class.word().len());
    let mut text = String::new();
    for Difference { key, before, after, class } in differences {
        let (before, after, class) = (shown(before), shown(after), class.word());
        let _ = writeln!(text, "{class:class_width$}  {key:key_width$}  {before} -> {after}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    #[test]
    fn what_is_different_is_told_with_what_it_takes() {
        let before = Settings::default();
        let mut after = Settings::default();
        assert!(differences(&before, &after).is_empty());
        after.server.max_mounts = 200;
        after.server.tls_key = Some("a.pem".into());
        after.server.shards = 2;
        let found = differences(&before, &after);
        assert_eq!(
            lines(&found),
            "reconnect  server.tls-key     none -> \"a.pem\"\n\
             restart    server.shards      1 -> 2\n\
             live       server.max-mounts  100 -> 200\n"
        );
    }

    #[test]
    fn sources_are_known_by_their_names_and_not_by_their_order() {
        let source = |name: &str, port| Source {
            name: Some(name.to_owned()),
            hosts: vec!["h".to_owned()],
            port,
            ..Source::default()
        };
        let with = |sources| Settings { sources, ..Settings::default() };
        let before = with(vec![source("a", 1), source("b", 2)]);
        let after = with(vec![source("c", 3), source("b", 9)]);
        let keys = |it: Vec<Difference>| it.into_iter().map(|it| it.key).collect::<Vec<_>>();
        let found = differences(&before, &after);
        assert_eq!(keys(found), ["hub.source a", "hub.source b.port", "hub.source c"]);
        let turned = with(vec![source("b", 2), source("a", 1)]);
        assert!(differences(&before, &turned).is_empty());
    }
}
