//! An `rmds.cnf` as TOML, so that a site can leave the old file behind.

use std::fmt::Write as _;

use super::classic::Origin;
use super::section::Section;
use super::{Profile, ServerPort, ServerUser, Service, Settings, Source};

/// Keys that differ from their defaults, each with the line that it comes from; lines
/// that mean nothing here are comments at the end.
pub(crate) fn import(settings: &Settings) -> String {
    let mut text = String::new();
    let default = without_keys(settings);
    for (section, default) in settings.sections().into_iter().zip(default.sections()) {
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

/// What the settings are that only have a profile.
fn without_keys(settings: &Settings) -> Settings {
    let mut without = Settings { profile: settings.profile.clone(), ..Settings::default() };
    without.apply_profile();
    // What it is called is to be told, too.
    Settings { profile: Profile::default(), ..without }
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

    use super::super::{INSTANCE, differences, show};
    use super::*;

    const CLASSIC: &str = "*p2ps*portList : 14002 14012\n*p2ps*flushInterval : 20\n\
                           *p2ps*14012*pingTimeout : 30\n*ads*ann*itemLimit : 10\n\
                           *adh*routeList : R1\n*R1.route*hostList : a, b\n*RRCP*ndata : 7\n";

    /// The published files, each with the profile that it is.
    const SAMPLES: [(&str, &str); 3] = [
        ("rmds-throughput", include_str!("samples/rmds-throughput.cnf")),
        ("rmds-latency", include_str!("samples/rmds-latency.cnf")),
        ("rmds-latency-1600", include_str!("samples/rmds-latency-1600.cnf")),
    ];

    fn read(name: &str, text: &str) -> Settings {
        Settings::parse(Path::new(name), text, INSTANCE).expect("good")
    }

    /// Imports a file, shows it and imports it again: whatever it goes through, it has the
    /// same effect. Returns what was imported.
    fn imported(classic: &Settings) -> String {
        let text = import(classic);
        let first = read("site.toml", &text);
        assert_eq!(differences(classic, &first), [], "{text}");
        let shown = show(&first);
        let second = read("shown.toml", &shown);
        assert_eq!(differences(classic, &second), [], "{shown}");
        assert_eq!(show(&second), shown);
        let again = import(&second);
        assert_eq!(again, import(&first));
        assert_eq!(import(&read("again.toml", &again)), again);
        text
    }

    #[test]
    fn what_is_imported_has_the_same_effect_and_names_its_lines() {
        let text = imported(&read("rmds.cnf", CLASSIC));
        for line in [
            "flush-interval-ms = 20  # line 2: *p2ps*flushInterval : 20",
            "max-ping-timeout-s = 30  # line 3: *p2ps*14012*pingTimeout : 30",
            "item-limit = 10  # line 4: *ads*ann*itemLimit : 10",
            "hosts = [\"a\", \"b\"]  # line 6: *R1.route*hostList : a, b",
            "#   line 7: `ndata` changes nothing: it says how the classic programs are built",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn published_files_and_the_profiles_of_their_names_are_imported() {
        for (name, text) in SAMPLES {
            let classic = read("rmds.cnf", text);
            let unknown = classic.remarks.nothing.iter().find(|it| it.text.contains("unknown"));
            assert_eq!(unknown, None);
            imported(&classic);
            imported(&read("site.toml", &format!("[profile]\nname = \"{name}\"\n")));
        }
    }

    #[test]
    fn a_key_that_a_profile_would_decide_otherwise_is_imported() {
        let own = "[profile]\nname = \"throughput\"\n[server]\nflush-interval-ms = 0\n";
        assert!(imported(&read("site.toml", own)).contains("flush-interval-ms = 0\n"));
    }

    #[test]
    fn a_profile_has_the_effect_of_the_published_file_of_its_name() {
        for (name, text) in SAMPLES {
            let file = read("rmds.cnf", text);
            let profile = read("site.toml", &format!("[profile]\nname = \"{name}\"\n"));
            let found = differences(&profile, &file).into_iter().map(|it| it.key);
            // What is of a site: its ports, its service and its sources, and limits.
            let own = ["profile.name", "hub.source", "service ", "server.port", "server.rssl-port"];
            let own = |key: &String| own.iter().any(|begin| key.starts_with(begin));
            let found: Vec<String> = found.filter(|key| !own(key)).collect();
            let expected: &[&str] = match name {
                "rmds-throughput" => &["backbone.socket-send-buffer-bytes"],
                // There each service says it.
                "rmds-latency" => &["backbone.socket-send-buffer-bytes", "server.cache"],
                _ => &[
                    "server.item-limit",
                    "server.open-window",
                    "server.compression",
                    "server.ping-interval-s",
                ],
            };
            assert_eq!(found, expected, "{name}");
        }
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
        let classic = read("rmds.cnf", &text);
        assert_eq!(classic.sources.len(), 50);
        assert_eq!(classic.services.len(), 500);
        assert_eq!(classic.remarks.nothing, []);
        imported(&classic);
    }
}
