//! Reads a TOML file into the settings.

use std::borrow::Cow;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Settings;
use super::fault::{Fault, nearest};
use super::section::Section;
use super::services::Service;

/// The text of a file, and what was found wrong in it.
struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    faults: Vec<Fault>,
}

/// Sets what a file says; all that is wrong in it is told at once.
pub(super) fn read(settings: &mut Settings, path: &Path, text: &str) -> Result<(), Vec<Fault>> {
    let mut reader = Reader { path, text, faults: Vec::new() };
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let what = error.message().trim_end().replace('\n', "; ");
        reader.faults.push(Fault::at(path, text, error.span().unwrap_or_default(), what));
    }
    if !reader.faults.is_empty() {
        return Err(reader.faults);
    }
    let document = document.into_inner();
    reader.profile(settings, &document);
    reader.sections(settings, &document);
    reader.hub(settings, &document);
    reader.backbone(settings, &document);
    reader.entitle(settings, &document);
    reader.faults.sort_by_key(|fault| (fault.line, fault.column));
    if reader.faults.is_empty() { Ok(()) } else { Err(reader.faults) }
}

impl Reader<'_> {
    fn fault(&mut self, span: std::ops::Range<usize>, what: String) {
        self.faults.push(Fault::at(self.path, self.text, span, what));
    }

    /// The profile comes first, wherever it stands: it changes what the other
    /// keys are if the file does not have them.
    fn profile(&mut self, settings: &mut Settings, document: &DeTable<'_>) {
        if let Some(DeValue::Table(table)) = document.get("profile").map(Spanned::get_ref) {
            self.keys(&mut settings.profile, table, &[]);
            settings.apply_profile();
        }
    }

    fn sections(&mut self, settings: &mut Settings, document: &DeTable<'_>) {
        for (name, value) in document {
            let word = name.get_ref().as_ref();
            if word == "service" {
                self.services(settings, name, value);
                continue;
            }
            let DeValue::Table(table) = value.get_ref() else {
                let hint = nearest(word, names());
                self.fault(name.span(), format!("`{word}` is in no section{hint}"));
                continue;
            };
            match settings.section(word) {
                // Read already.
                Some(section) if section.name() == "profile" => {}
                Some(section) if section.name() == "hub" => self.keys(section, table, &["source"]),
                Some(section) if section.name() == "server" => {
                    self.keys(section, table, &["port", "user"]);
                }
                Some(section) => self.keys(section, table, &[]),
                None => {
                    let hint = nearest(word, names());
                    self.fault(name.span(), format!("unknown section [{word}]{hint}"));
                }
            }
            if word == "hub" {
                let of_source = ("source", "hosts");
                self.tables(table, of_source, &mut settings.sources, |it| it.hosts.is_empty());
            }
            if word == "server" {
                self.tables(table, ("port", "port"), &mut settings.ports, |it| it.port == 0);
                self.tables(table, ("user", "name"), &mut settings.users, |it| it.name.is_empty());
            }
        }
    }

    /// What keys of `[hub]` are to each other.
    fn hub(&mut self, settings: &Settings, document: &DeTable<'_>) {
        let Some(DeValue::Table(table)) = document.get("hub").map(Spanned::get_ref) else {
            return;
        };
        if let Some(span) = place(table, &["pressure-low", "pressure-high"])
            && let Err(what) = settings.hub.check_pressure()
        {
            self.fault(span, what);
        }
    }

    /// What keys of `[backbone]` are to each other.
    fn backbone(&mut self, settings: &Settings, document: &DeTable<'_>) {
        let Some(DeValue::Table(table)) = document.get("backbone").map(Spanned::get_ref) else {
            return;
        };
        let backbone = &settings.backbone;
        if let Some(span) = place(table, &["silence-ms", "presence-ms"])
            && let Err(what) = backbone.check_silence()
        {
            self.fault(span, what);
        }
        if let Some(span) = place(table, &["system"])
            && let Err(what) = backbone.check_system()
        {
            self.fault(span, what);
        }
    }

    fn entitle(&mut self, settings: &Settings, document: &DeTable<'_>) {
        let Some(DeValue::Table(table)) = document.get("entitle").map(Spanned::get_ref) else {
            return;
        };
        if let Some(span) = place(table, &["usage-dir"])
            && let Err(what) = settings.entitle.check_usage()
        {
            self.fault(span, what);
        }
    }

    /// `[[hub.source]]` and such, as often as there are any. `name` is that of the
    /// list, and the key without which an entry is none.
    fn tables<T: Section + Default>(
        &mut self,
        parent: &DeTable<'_>,
        (name, needed): (&str, &str),
        all: &mut Vec<T>,
        is_missing: impl Fn(&T) -> bool,
    ) {
        let Some((place, value)) = parent.get_key_value(name) else {
            return;
        };
        let whole = T::default().name();
        let DeValue::Array(entries) = value.get_ref() else {
            let what = format!("`{name}` is a list of tables; write [[{whole}]]");
            return self.fault(place.span(), what);
        };
        for entry in entries.iter() {
            let DeValue::Table(table) = entry.get_ref() else {
                let what = format!("a {name} is a table; write [[{whole}]]");
                self.fault(entry.span(), what);
                continue;
            };
            let mut section = T::default();
            self.keys(&mut section, table, &[]);
            if is_missing(&section) {
                self.fault(entry.span(), format!("a {name} needs `{needed}`"));
            }
            all.push(section);
        }
    }

    /// `[[service]]`, as often as there are services.
    fn services(
        &mut self,
        settings: &mut Settings,
        name: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let DeValue::Array(entries) = value.get_ref() else {
            let what = "`service` is a list of tables; write [[service]]".to_owned();
            return self.fault(name.span(), what);
        };
        for entry in entries.iter() {
            let DeValue::Table(table) = entry.get_ref() else {
                let what = "a service is a table; write [[service]]".to_owned();
                self.fault(entry.span(), what);
                continue;
            };
            let mut service = Service::default();
            self.keys(&mut service, table, &[]);
            if let Err(what) = service.check(&settings.services) {
                self.fault(entry.span(), what);
            }
            settings.services.push(service);
        }
    }

    /// The keys of one section; `tables` are read elsewhere.
    fn keys(&mut self, section: &mut dyn Section, table: &DeTable<'_>, tables: &[&str]) {
        for (name, value) in table {
            let key = name.get_ref().as_ref();
            if tables.contains(&key) {
                continue;
            }
            match section.set(key, value.get_ref()) {
                Some(Ok(())) => {}
                Some(Err(what)) => self.fault(value.span(), format!("`{key}` {what}")),
                None => {
                    let keys = section.keys();
                    let names = keys.iter().map(|key| key.name).chain(tables.iter().copied());
                    let hint = nearest(key, names);
                    let section = section.name();
                    self.fault(name.span(), format!("unknown key `{key}` in [{section}]{hint}"));
                }
            }
        }
    }
}

/// What may stand between brackets.
fn names() -> impl Iterator<Item = &'static str> {
    Settings::section_names().into_iter().chain(["service"])
}

/// Where the value of the first of these keys is that is there.
fn place(table: &DeTable<'_>, keys: &[&str]) -> Option<std::ops::Range<usize>> {
    keys.iter().find_map(|key| table.get(*key)).map(Spanned::span)
}
