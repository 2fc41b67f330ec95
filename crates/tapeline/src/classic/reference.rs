//! The options as tables, for the screen and for the documentation.

use std::fmt::Write as _;

use super::options::{ClassicOption, Effect, Value};
use crate::console::{Align, Table};

impl ClassicOption {
    /// As it is written, with its value.
    fn usage(&self) -> String {
        match self.value {
            Value::Nothing => self.name.to_owned(),
            Value::Named(value) => format!("{} {value}", self.name),
            Value::Switch => format!("{} 0|1", self.name),
        }
    }

    /// What is the same here.
    const fn here(&self) -> &'static str {
        match self.effect {
            Effect::Is(long) => long,
            Effect::Always | Effect::Only(..) | Effect::Ignored(_) => "",
        }
    }
}

/// The table behind the options in `--help`.
pub(crate) fn help(options: &[ClassicOption]) -> String {
    let mut table = Table::new(&[("Classic options:", Align::Left), ("", Align::Left)]);
    for option in options {
        let mut meaning = match option.here() {
            "" => option.meaning.to_owned(),
            long => format!("{long}: {}", option.meaning),
        };
        if !option.default.is_empty() {
            let _ = write!(meaning, " [{}]", option.default);
        }
        table.row(vec![format!("  {}", option.usage()), meaning]);
    }
    table.lines().join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::{CLIENT, SOURCE};
    use super::*;

    /// The table of docs/classic-tools.md.
    fn markdown(options: &[ClassicOption]) -> String {
        let mut text =
            String::from("| option | meaning | default | long name |\n|---|---|---|---|\n");
        for option in options {
            let long = match option.effect {
                Effect::Is(long) => format!("`{long}`"),
                Effect::Always => "always so".to_owned(),
                Effect::Only(values, why) => {
                    format!("`{}`; others warn: {why}", values.join("`, `"))
                }
                Effect::Ignored(why) => format!("no effect, warns: {why}"),
            };
            let usage = option.usage().replace('|', "\\|");
            let _ =
                writeln!(text, "| `{usage}` | {} | {} | {long} |", option.meaning, option.default);
        }
        text
    }

    #[test]
    fn help_lists_every_option_with_its_long_name() {
        let text = help(&SOURCE);
        assert!(text.starts_with("Classic options:\n  -S NAME"), "{text}");
        for option in &SOURCE {
            let line = text.lines().find(|line| line.trim().starts_with(&option.usage()));
            let line = line.unwrap_or_else(|| panic!("{} is missing", option.name));
            assert!(line.contains(option.here()) && line.contains(option.meaning), "{line}");
        }
    }

    #[test]
    fn the_tables_in_the_docs_are_those_of_the_code() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/classic-tools.md");
        let page = fs::read_to_string(&path).unwrap_or_default();
        let tables = [markdown(&SOURCE), markdown(&CLIENT)];
        let missing: Vec<_> = tables.into_iter().filter(|table| !page.contains(table)).collect();
        assert!(missing.is_empty(), "docs/classic-tools.md needs:\n\n{}", missing.join("\n"));
    }
}
