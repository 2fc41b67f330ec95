//! What only the program `ethtool` tells of a network card, and sets.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;

/// Settings by the name that `ethtool` sets them by: the option that tells and
/// the one that sets, and what the line is called that tells it.
const SETTINGS: [(&str, &str, &str, &str); 6] = [
    ("tso", "-k", "-K", "tcp-segmentation-offload"),
    ("gso", "-k", "-K", "generic-segmentation-offload"),
    ("gro", "-k", "-K", "generic-receive-offload"),
    ("lro", "-k", "-K", "large-receive-offload"),
    ("rx-usecs", "-c", "-C", "rx-usecs"),
    ("adaptive-rx", "-c", "-C", "Adaptive RX"),
];

fn output(option: &str, interface: &str) -> Option<String> {
    let told = Command::new("ethtool").args([option, interface]).output().ok()?;
    told.status.success().then(|| String::from_utf8_lossy(&told.stdout).into_owned())
}

/// Its lines of a name and a value. Of `name: value [fixed]`, and of several
/// values in a line, the first word counts; what is not available is left out.
fn values(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (name, value) = line.trim().split_once(':')?;
        let word = value.split_whitespace().next()?;
        (word != "n/a").then(|| (name.to_owned(), word.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// A setting of a card; `None` if there is no such program, card or setting.
pub(crate) fn read(interface: &str, setting: &str) -> Option<String> {
    let (_, tells, _, name) = SETTINGS.iter().find(|(known, ..)| *known == setting)?;
    values(&output(tells, interface)?).remove(*name)
}

/// The command that sets it.
pub(crate) fn command(interface: &str, setting: &str, value: &str) -> String {
    let sets = SETTINGS.iter().find(|(known, ..)| *known == setting).map_or("-K", |of| of.2);
    format!("ethtool {sets} {interface} {setting} {value}")
}

/// Sets it. Errors: what the program says.
pub(crate) fn write(interface: &str, setting: &str, value: &str) -> io::Result<()> {
    let line = command(interface, setting, value);
    let done = Command::new("ethtool").args(line.split(' ').skip(1)).output()?;
    match done.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            let last = said.trim().lines().next_back().unwrap_or("it says nothing").to_owned();
            Err(io::Error::other(format!("{line}: {last}")))
        }
    }
}

/// What the record of a machine has of a card beside its settings: driver and
/// firmware, lengths of its rings, and all of [`SETTINGS`].
pub(crate) fn facts(interface: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let driver = values(&output("-i", interface).unwrap_or_default());
    for (ours, theirs) in [("driver_version", "version"), ("firmware", "firmware-version")] {
        all.extend(driver.get(theirs).map(|value| (ours.to_owned(), value.clone())));
    }
    // The largest that can be set come first, under the same names.
    let rings = output("-g", interface).unwrap_or_default();
    let present = rings.split_once("Current hardware settings").map(|(_, present)| values(present));
    for (ours, theirs) in [("ring_rx", "RX"), ("ring_tx", "TX")] {
        let value = present.as_ref().and_then(|present| present.get(theirs));
        all.extend(value.map(|value| (ours.to_owned(), value.clone())));
    }
    for (tells, settings) in [("-k", &SETTINGS[..4]), ("-c", &SETTINGS[4..])] {
        let told = values(&output(tells, interface).unwrap_or_default());
        let of = |(setting, _, _, name): &(&str, &str, &str, &str)| {
            Some(((*setting).to_owned(), told.get(*name)?.clone()))
        };
        all.extend(settings.iter().filter_map(of));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_program_writes_them() {
        let features = "Features for eth0:\nrx-checksumming: on [fixed]\n\ttx-checksum-ipv4: off \
                        [fixed]\ngeneric-receive-offload: on\nlarge-receive-offload: off [fixed]\n";
        let of = values(features);
        assert_eq!(of["generic-receive-offload"], "on");
        assert_eq!(
            (of["large-receive-offload"].as_str(), of["tx-checksum-ipv4"].as_str()),
            ("off", "off")
        );
        let coalescing = "Coalesce parameters for eth0:\nAdaptive RX: off  TX: n/a\n\nrx-usecs: 0\n\
                          rx-usecs-irq: n/a\n";
        let of = values(coalescing);
        assert_eq!(
            (of["Adaptive RX"].as_str(), of["rx-usecs"].as_str(), of.len()),
            ("off", "0", 2)
        );
    }

    #[test]
    fn settings_have_their_command() {
        assert_eq!(command("eth0", "gro", "off"), "ethtool -K eth0 gro off");
        assert_eq!(command("eth0", "adaptive-rx", "off"), "ethtool -C eth0 adaptive-rx off");
    }

    #[test]
    fn a_card_that_is_not_there_has_nothing() {
        assert_eq!(read("no-such-card", "gro"), None);
        assert_eq!(read("lo", "no-such-setting"), None);
        assert!(facts("no-such-card").is_empty());
        assert!(write("no-such-card", "gro", "off").is_err());
    }
}
