//! Subcommands of other programs: found beside this one, or in the path.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::support::{Run, arg, folder, run};

/// A program that says what it was given, and ends with status 3.
fn says(folder: &Path, name: &str) {
    let text = folder.join("text");
    fs::write(&text, "#!/bin/sh\necho \"$0 $*\"\nexit 3\n").expect("a file can be written");
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).expect("its mode can be set");
    copy(&text, &folder.join(name));
}

/// Copies a program, in a process of its own: what this one writes is open in
/// whatever another test forks meanwhile, and cannot be run as long as it is
/// (`ETXTBSY`).
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").args([from, to]).status().expect("there is cp");
    assert!(done.success(), "{} cannot be copied", from.display());
}

/// A copy of this program in a folder.
fn copy_of_tapeline(folder: &Path) -> PathBuf {
    let to = folder.join("tapeline");
    copy(Path::new(env!("CARGO_BIN_EXE_tapeline")), &to);
    to
}

#[test]
fn a_subcommand_of_another_program_goes_there_with_all_its_arguments() {
    let elsewhere = folder();
    for (program, given, told) in [
        ("tapeline-lab", &["bench", "latency", "--rate", "5"][..], "bench latency --rate 5"),
        ("tapeline-lab", &["bench", "--help"], "bench --help"),
        ("tapeline-lab", &["pingpong", "--spin", "tcp"], "pingpong --spin tcp"),
        ("tapeline-own", &["own", "-x", "--", "y"], "-x -- y"),
    ] {
        says(elsewhere.path(), program);
        // Without the build's own programs beside it.
        let alone = folder();
        let mut command = Command::new(copy_of_tapeline(alone.path()));
        let done = Run::of(
            &command.args(given).env("PATH", with(elsewhere.path())).output().expect("it starts"),
        );
        let expected = format!("{} {told}", elsewhere.path().join(program).display());
        assert_eq!((done.status, done.out.trim()), (Some(3), &*expected), "{}", done.err);
    }
}

#[test]
fn a_link_by_a_classic_name_is_the_classic_tool() {
    let beside = folder();
    says(beside.path(), "tapeline-lab");
    copy_of_tapeline(beside.path());
    let link = beside.path().join("sfnt-pingpong");
    symlink("tapeline", &link).expect("a link");
    let mut command = Command::new(&link);
    let done = Run::of(&command.args(["--spin", "tcp"]).output().expect("it starts"));
    assert!(done.out.trim().ends_with("/tapeline-lab --spin tcp"), "{} {}", done.out, done.err);
    assert_eq!(done.status, Some(3));
}

#[test]
fn what_is_beside_the_program_goes_before_the_path() {
    let (beside, elsewhere) = (folder(), folder());
    for place in [&beside, &elsewhere] {
        says(place.path(), "tapeline-lab");
    }
    let tapeline = copy_of_tapeline(beside.path());
    let link = elsewhere.path().join("tapeline");
    symlink(&tapeline, &link).expect("a link");
    let mut command = Command::new(&link);
    let done = Run::of(
        &command.args(["bench"]).env("PATH", with(elsewhere.path())).output().expect("it starts"),
    );
    assert!(done.out.starts_with(arg(beside.path())), "{} {}", done.out, done.err);
}

#[test]
fn a_subcommand_that_nobody_has_is_told_with_the_nearest_one() {
    let done = run(&["hubb", "--config", "x"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("no subcommand `hubb`"), "{}", done.err);
    assert!(done.err.contains("did you mean `hub`?"), "{}", done.err);
}

/// The path with a folder in front.
fn with(folder: &Path) -> String {
    format!("{}:{}", arg(folder), std::env::var("PATH").unwrap_or_default())
}
