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
fn what_an_rmds_cnf_and_a_toml_file_do_otherwise_is_told() {
    let folder = folder();
    let classic = "*p2ps*flushInterval : 20\n*FEED*serviceId : 7\n*RRCP*PacketTTL : 5\n";
    let classic = file(&folder, "rmds.cnf", classic);
    let imported = run(&["config", "import", arg(&classic)]);
    assert_eq!(imported.status, Some(0), "{}", imported.err);
    let same = file(&folder, "site.toml", &imported.out);
    let done = run(&["config", "diff", arg(&classic), arg(&same)]);
    assert_eq!((done.status, done.out.as_str()), (Some(0), ""), "{}", done.err);

    let text = imported.out.replace("flush-interval-ms = 20", "flush-interval-ms = 5");
    let other = file(&folder, "other.toml", &text.replace("id = 7", "id = 8"));
    let done = run(&["config", "diff", arg(&classic), arg(&other)]);
    assert_eq!(
        done.out,
        "live     server.flush-interval-ms  20 -> 5\n\
         restart  service FEED.id           7 -> 8\n"
    );
    assert_eq!(done.status, Some(1));

    let done = run(&["config", "diff", arg(&classic), arg(&folder.path().join("none.toml"))]);
    assert_eq!(done.status, Some(2), "{}", done.out);
    assert!(done.err.contains("none.toml"), "{}", done.err);
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
