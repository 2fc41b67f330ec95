//! The reference of all keys, as Markdown.

use std::fmt::Write as _;

use super::Settings;
use super::section::Section;
use super::sections::Source;
use super::services::Service;
use super::tables::{ServerPort, ServerUser};

const HEAD: &str = "\
# Configuration

All of Tapeline is configured in one TOML file, given with `--config FILE`; every key has a default, so the file says only what differs. Flags override the file. A key that does not exist is an error that names the line and the nearest key that does; `tapeline config check FILE` looks for such errors, `tapeline config show` prints what is in effect.

A file whose name does not end in `.toml` is read as an `rmds.cnf`: lines of `*program*parameter : value` with the names and units that sites have. Parameters with a counterpart here set it, the most exact key first, by the rules of X resources; the others change nothing, and each is told in a line with the nearest key. `tapeline config check --strict` takes them for errors.

Most keys can be changed while a process runs, by SIGHUP or with `tapeline config apply` ([how](operators.md#change-without-a-restart)). The column *change* says what that takes: `live` holds at once, `reconnect` for who connects from then on, `restart` wants the process to be started again.

This page is printed by `tapeline config reference`.
";

/// The whole reference.
pub(crate) fn reference() -> String {
    let mut text = HEAD.to_owned();
    for section in Settings::default().sections() {
        describe(&mut text, section, &format!("[{}]", section.name()));
        let tables: &[&dyn Section] = match section.name() {
            "hub" => &[&Source::default()],
            "server" => &[&ServerPort::default(), &ServerUser::default()],
            _ => &[],
        };
        for table in tables {
            describe(&mut text, *table, &format!("[[{}]]", table.name()));
        }
        if section.name() == "server" {
            describe(&mut text, &Service::default(), "[[service]]");
        }
    }
    text
}

fn describe(text: &mut String, section: &dyn Section, title: &str) {
    let _ = writeln!(text, "\n## {title}\n\n{}\n", joined(section.about()));
    text.push_str("| key | value | default | change | meaning |\n|---|---|---|---|---|\n");
    for key in section.keys() {
        let default = match key.default.as_str() {
            "" => "none".to_owned(),
            default => format!("`{default}`"),
        };
        let about = joined(key.about).replace('|', "\\|");
        let (name, form, class) = (key.name, key.form, key.class.word());
        let _ = writeln!(text, "| `{name}` | {form} | {default} | {class} | {about} |");
    }
}

/// The lines of a doc comment as one.
fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ")
}
