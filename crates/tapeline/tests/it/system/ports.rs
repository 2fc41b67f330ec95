//! What keeps a process off the backbone, and who is not heard on it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::wait_until;

use super::faults::{backbone, free_port, hub, server_arguments};
use super::program::{TAPELINE, tapeline};

/// Runs one that is to end by itself, with status 2; what it said.
fn fails(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!said.contains("msg=ready"), "{said}");
    said
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(TAPELINE);
    command.args(arguments);
    command
}

#[test]
fn an_interface_that_no_host_has_is_said_and_nothing_is_ready() {
    let channel = "aeron:udp?endpoint=239.77.1.3:40466|interface=192.0.2.9";
    for role in ["hub", "server"] {
        let port = if role == "hub" { "--ni-port" } else { "--rssl-port" };
        let said = fails(&mut command(&[role, "--backbone", channel, port, "0"]));
        assert!(said.contains("no way onto the backbone: "), "{said}");
        assert!(said.contains("192.0.2.9"), "{said}");
        // One for each direction, however often it was tried.
        assert!(said.matches("backbone is away").count() <= 2, "{said}");
    }
}

#[test]
fn a_second_hub_on_a_unicast_port_is_told_so_and_ends() {
    let port = free_port() & !1;
    let channel = format!("aeron:udp?control=127.0.0.1:{port}|interface=127.0.0.1");
    let source = Source::start(&Tape::new(1), loopback());
    let first = hub(&channel, source.address);
    let said = fails(&mut command(&["hub", "--backbone", &channel, "--ni-port", "0"]));
    assert!(said.contains("Address already in use"), "{said}");
    assert!(first.is_running());
}

#[test]
fn a_folder_has_one_driver() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("room in memory");
    let driver = folder.path().join("driver");
    let driver = driver.to_str().expect("a plain path");
    let arguments = ["hub", "--backbone", "aeron:ipc", "--backbone-dir", driver, "--ni-port", "0"];
    let first = tapeline(&arguments);
    let said = fails(&mut command(&arguments));
    assert!(said.contains("the media driver of another process is there"), "{said}");
    assert!(first.is_running());
    first.kill();
    assert!(tapeline(&arguments).end().success(), "what it left is no owner");
}

/// A configuration with a system, and a key if there is one.
fn member(folder: &tempfile::TempDir, system: &str, key: Option<&str>) -> PathBuf {
    let name = format!("{system}-{}.toml", key.unwrap_or("none"));
    let key_file = key.map_or(String::new(), |key| {
        let path = folder.path().join(key);
        fs::write(&path, format!("{key}{key}\n")).expect("room");
        format!("key-file = \"{}\"\n", path.display())
    });
    let text = format!("[backbone]\nsystem = \"{system}\"\n{key_file}");
    let path = folder.path().join(name);
    fs::write(&path, text).expect("room");
    path
}

#[test]
fn other_systems_on_the_same_group_are_not_heard() {
    const KEY: Option<&str> = Some("0123456789");
    let folder = tempfile::tempdir().expect("a folder");
    let channel = backbone();
    let (ours, theirs) = (Tape::new(5), Tape::new(5));
    let source = Source::start(&ours, loopback());
    let other = Source::start(&theirs, loopback());
    let hub_of = |system: &str, key: Option<&str>, source: &Source| {
        let config = member(&folder, system, key);
        let (config, source) = (config.to_str().expect("a plain path"), source.address.to_string());
        let start = ["hub", "--config", config, "--backbone", &channel, "--ni-port", "0"];
        tapeline(&[&start[..], &["--source", &source]].concat())
    };
    // Both hubs that are none of ours have the service, and are there first.
    let test_hub = hub_of("test", KEY, &other);
    let guess = hub_of("live", Some("9876543210"), &other);
    let config = member(&folder, "live", KEY);
    let mut arguments = server_arguments(&channel, 0);
    arguments.extend(["--config".to_owned(), config.display().to_string()]);
    let server = tapeline(&arguments);
    let watcher = Watcher::start(&ours, &[server.address("rssl")]);
    wait_until("the strangers to be seen", || {
        let log = server.log();
        log.contains("another system is on this channel")
            && log.contains("without the system's key")
    });
    let hub = hub_of("live", KEY, &source);
    watcher.wait_fresh();
    ours.publish(1_000, 10_000);
    watcher.wait_all_of(&ours);
    assert_eq!(theirs.streams(), 0, "nothing was asked of the strangers");
    // A machine that is busy may lose the hub and find it again.
    let log = server.log();
    let met = log.lines().filter(|line| line.contains("a hub is there"));
    let met: BTreeSet<_> = met.filter_map(|line| line.split("incarnation=").nth(1)).collect();
    assert_eq!(met.len(), 1, "{log}");
    for program in [test_hub, guess, hub, server] {
        assert!(program.end().success());
    }
}
