//! The settings as a file.

use std::fmt::Write as _;

use super::Settings;
use super::section::Section;

/// The settings as TOML, every key included; one that has no value is a
/// comment.
pub(crate) fn show(settings: &Settings) -> String {
    let mut text = String::new();
    for section in settings.sections() {
        let name = section.name();
        let _ = writeln!(text, "[{name}]");
        keys(&mut text, section);
        for table in settings.tables(name) {
            let _ = writeln!(text, "[[{}]]", table.name());
            keys(&mut text, table);
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn keys(text: &mut String, section: &dyn Section) {
    let values = section.values();
    let width = values.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, value) in values {
        let _ = match value.as_str() {
            "" => writeln!(text, "# {key} ="),
            value => writeln!(text, "{key:width$} = {value}"),
        };
    }
    text.push('\n');
}
