//! Too little memory for the media driver, as in a container, and what those
//! leave there that are killed.

use std::fs;
use std::path::Path;
use std::process::Command;

use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{Program, wait_until};

use super::program::tapeline;

/// A program with a `/dev/shm` of its own of so many MiB. `None`, with a line
/// that says why, where this machine lets the test make none; with `CI` set
/// that is a failure.
fn with_memory(mib: u32, arguments: &[&str]) -> Option<Command> {
    let can = Command::new("unshare").args(["--mount", "true"]).status();
    if !can.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "no mount namespaces");
        eprintln!("skipped: a small /dev/shm needs mount namespaces and root");
        return None;
    }
    let mut command = Command::new("unshare");
    let script = format!("mount -t tmpfs -o size={mib}m tmpfs /dev/shm && exec \"$@\"");
    command.args(["--mount", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_tapeline")]);
    command.args(arguments);
    Some(command)
}

const ANY_PORTS: [&str; 7] =
    ["run", "--backbone", "aeron:ipc", "--rssl-port", "0", "--ni-port", "0"];

#[test]
fn too_little_memory_is_said_at_the_start() {
    for mib in [5, 40, 64] {
        let Some(mut command) = with_memory(mib, &ANY_PORTS) else { return };
        let output = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{mib} MiB: {said}");
        assert!(said.contains("of memory are needed"), "{mib} MiB: {said}");
        assert!(said.contains("data-term-bytes"), "{mib} MiB: {said}");
        assert!(!said.contains("msg=ready"), "{mib} MiB: {said}");
    }
}

/// Hub and server of one process have no driver.
#[test]
fn one_process_needs_no_folder_in_memory() {
    let arguments = ["run", "--rssl-port", "0", "--ni-port", "0", "--seconds", "0"];
    let Some(mut command) = with_memory(1, &arguments) else { return };
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("channel=local") && said.contains("msg=ready"), "{said}");
}

/// The settings that docs/operators.md names for Docker's default.
#[test]
fn sixty_four_mebibytes_do_with_smaller_terms() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("small.toml");
    let text = "[backbone]\ndata-term-bytes = 8_388_608\nrequest-term-bytes = 1_048_576\n";
    fs::write(&config, text).expect("room");
    let tape = Tape::new(20);
    let source = Source::start(&tape, loopback());
    let source = source.address.to_string();
    let config = ["--config", config.to_str().expect("a plain path"), "--source", &source];
    let arguments = [&ANY_PORTS[..], &config].concat();
    let Some(command) = with_memory(64, &arguments) else { return };
    let program = Program::start(command, &[""; 0]);
    let watcher = Watcher::start(&tape, &[program.address("rssl")]);
    watcher.wait_fresh();
    // More than the log of the hub, so that every page of it is written to.
    tape.publish(250_000, 100_000);
    watcher.wait_all_of(&tape);
    assert!(program.is_running());
}

/// The folder that a program says it has.
fn driver_of(program: &Program) -> String {
    let log = program.log();
    let at = log.find(" directory=").expect("a line with the folder");
    log[at + " directory=".len()..].split_whitespace().next().expect("a path").to_owned()
}

#[test]
fn what_a_killed_process_left_is_gone_with_the_next_start() {
    let killed = tapeline(&ANY_PORTS);
    let driver = driver_of(&killed);
    assert!(Path::new(&driver).join("cnc.dat").exists());
    // What it leaves is removed by whoever starts next, here or in another test.
    killed.kill();
    let next = tapeline(&ANY_PORTS);
    assert!(!Path::new(&driver).exists(), "{driver}");
    let own = driver_of(&next);
    // A third one leaves the second alone.
    let third = tapeline(&ANY_PORTS);
    assert!(Path::new(&own).join("cnc.dat").exists());
    assert!(third.end().success() && next.end().success());
    wait_until("the folder to be gone", || !Path::new(&own).exists());
    assert!(!Path::new(&format!("{own}.lock")).exists());
}
