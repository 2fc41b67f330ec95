//! An `rmds.cnf` as TOML, so that a site can leave the old file behind.

use std::fmt::Write as _;

use super::classic::Origin;
use super::section::Section;
use super::{ServerPort, ServerUser, Service, Settings, Source};

/// Keys that differ from their defaults, each with the line that it comes from; lines
/// that mean nothing here are comments at the end.
pub(crate) fn import(settings: &Settings) -> String {
    let mut text = String::new();
    for (section, default) in settings.sections().into_iter().zip(Settings::default().sections()) {
        let name = section.name();
        let lines = keys(settings, section, default, name);
        if !lines.is_empty() {
            let _ = writeln!(text, "[{name}]\n{lines}");
        }
        for table in settings.tables(name) {
            let (whole, own) = (table.name(), super::plan::named(&table));
            let lines = keys(settings, table, &*default_of(whole), &own);
            let _ = writeln!(text, "[[{whole}]]\n{lines}");
        }
    }
    let nothing = &settings.remarks.nothing;
    if !nothing.is_empty() {
        text.push_str("# Without a counterpart:\n");
        for fault in nothing {
            let _ = writeln!(text, "#   line {}: {}", fault.line, fault.text);
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A table of a kind as it is without keys.
fn default_of(name: &str) -> Box<dyn Section> {
    match name {
        "server.port" => Box::new(ServerPort::default()),
        "server.user" => Box::new(ServerUser::default()),
        "service" => Box::new(Service::default()),
        _ => Box::new(Source::default()),
    }
}

/// The keys of a section that are not as in `default`, or that a line is for.
fn keys(settings: &Settings, section: &dyn Section, default: &dyn Section, name: &str) -> String {
    let mut text = String::new();
    for ((key, value), (_, default)) in section.values().into_iter().zip(default.values()) {
        let full = format!("{name}.{key}");
        let is_of = |origin: &&Origin| origin.key == full;
        let origins: Vec<_> = settings.remarks.origins.iter().filter(is_of).collect();
        if value == default && origins.is_empty() {
            continue;
        }
        let _ = write!(text, "{key} = {value}");
        for origin in origins {
            let _ = write!(text, "  # line {}: {}", origin.line, origin.text);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{INSTANCE, differences};
    use super::*;

    const CLASSIC: &str = "*p2ps*portList : 14002 14012\n*p2ps*flushInterval : 20\n\
                           *p2ps*14012*pingTimeout : 30\n*ads*ann*itemLimit : 10\n\
                           *adh*routeList : R1\n*R1.route*hostList : a, b\n*RRCP*ndata : 7\n";

    #[test]
    fn what_is_imported_has_the_same_effect_and_names_its_lines() {
        let read = |name: &str, text: &str| {
            Settings::parse(Path::new(name), text, INSTANCE).expect("good")
        };
        let classic = read("rmds.cnf", CLASSIC);
        let text = import(&classic);
        let imported = read("site.toml", &text);
        assert_eq!(differences(&classic, &imported), [], "{text}");
        for line in [
            "flush-interval-ms = 20  # line 2: *p2ps*flushInterval : 20",
            "max-ping-timeout-s = 30  # line 3: *p2ps*14012*pingTimeout : 30",
            "item-limit = 10  # line 4: *ads*ann*itemLimit : 10",
            "hosts = [\"a\", \"b\"]  # line 6: *R1.route*hostList : a, b",
            "#   line 7: `ndata` changes nothing: it says how the classic programs are built",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert_eq!(import(&imported), import(&read("again.toml", &import(&imported))));
    }

    #[test]
    fn five_hundred_services_of_a_generator_are_imported() {
        let mut text = "*adh*routeList : ".to_owned();
        let routes: Vec<String> = (0..50).map(|route| format!("R{route}")).collect();
        text.push_str(&routes.join(","));
        for route in 0..50 {
            let services: Vec<String> =
                (0..10).map(|place| format!("S{}", route * 10 + place)).collect();
            let _ = write!(
                text,
                "\n*R{route}.route*hostList : host{route}\n*R{route}.route*port : 14003\n\
                 *R{route}.route*serviceList : {}",
                services.join(",")
            );
        }
        for service in 0..500 {
            let _ = write!(text, "\n*S{service}*serviceId : {}\n", 5_000 + service);
            let _ = write!(text, "*S{service}*cacheType : sinkDriven");
        }
        let classic = Settings::parse(Path::new("rmds.cnf"), &text, INSTANCE).expect("good");
        assert_eq!(classic.sources.len(), 50);
        assert_eq!(classic.services.len(), 500);
        assert_eq!(classic.remarks.nothing.len(), 500);
        let imported = import(&classic);
        let again = Settings::parse(Path::new("a.toml"), &imported, INSTANCE).expect("good");
        assert_eq!(differences(&classic, &again), []);
    }
}
