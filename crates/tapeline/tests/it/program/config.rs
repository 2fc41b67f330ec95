//! `tapeline config`, and what the other commands say to a bad file.

use super::support::{arg, file, folder, run};

#[test]
fn a_good_file_is_called_so() {
    let folder = folder();
    let path = file(&folder, "a.toml", "[server]\nrssl-port = 14005\n");
    let done = run(&["config", "check", arg(&path)]);
    assert_eq!((done.status, done.out), (Some(0), format!("{}: good\n", path.display())));
}

#[test]
fn every_fault_of_a_file_is_told_with_its_place() {
    let folder = folder();
    let path = file(&folder, "a.toml", "[server]\nrssl-prot = 14005\n[hub]\ncache = 1\n");
    let done = run(&["config", "check", arg(&path)]);
    let name = path.display();
    assert_eq!(
        done.out,
        format!(
            "{name}:2:1: unknown key `rssl-prot` in [server]; did you mean `rssl-port`?\n\
             {name}:4:9: `cache` is an integer; give true or false\n"
        )
    );
    assert_eq!(done.status, Some(1));
}

#[test]
fn what_is_shown_has_the_files_values_and_the_defaults() {
    let folder = folder();
    let path = file(&folder, "a.toml", "[server]\nrssl-port = 14005\n");
    let done = run(&["config", "show", arg(&path)]);
    assert_eq!(done.status, Some(0));
    let line = |key: &str| {
        let found = done.out.lines().find(|line| line.starts_with(key)).unwrap_or(key);
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("rssl-port"), "rssl-port = 14005");
    assert_eq!(line("ni-port"), "ni-port = 14003");
    // What is shown is a good file itself.
    let shown = file(&folder, "b.toml", &done.out);
    assert_eq!(run(&["config", "check", arg(&shown)]).status, Some(0));
}

#[test]
fn a_server_does_not_start_with_a_bad_file() {
    let folder = folder();
    let path = file(&folder, "a.toml", "[servr]\n");
    let done = run(&["run", "--config", arg(&path)]);
    let name = path.display();
    assert_eq!(
        done.err,
        format!("tapeline: {name}:1:2: unknown section [servr]; did you mean `server`?\n")
    );
    assert_eq!(done.status, Some(2));
}

#[test]
fn a_site_file_of_the_classic_system_is_read() {
    let folder = folder();
    let path = file(&folder, "rmds.cnf", "*p2ps*flushInterval : 20\n");
    let done = run(&["config", "show", arg(&path)]);
    let expected = done.out.lines().any(|line| {
        line.split_whitespace().collect::<Vec<_>>() == ["flush-interval-ms", "=", "20"]
    });
    assert!(expected, "{}", done.out);
    let path = file(&folder, "odd.cnf", "*p2ps*flushIntervall : 20\n");
    let name = path.display();
    let remark =
        format!("{name}:1:1: unknown key `flushIntervall`; did you mean `flushInterval`?\n");
    let done = run(&["config", "check", arg(&path)]);
    assert_eq!((done.status, done.out), (Some(0), format!("{remark}{name}: good\n")));
    let done = run(&["config", "check", "--strict", arg(&path)]);
    assert_eq!((done.status, done.out), (Some(1), remark));
}
