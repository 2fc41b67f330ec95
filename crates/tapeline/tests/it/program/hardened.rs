//! The program with as few rights as it needs, and its secrets.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use tapeline_chaos::program::wait_until;

use crate::system::faults::free_port;

use super::support::{Running, arg, file, folder, run, tapeline};

/// The unit for systemd that comes with the program.
const UNIT: &str = include_str!("../../../../../docs/systemd/tapeline@.service");

/// As systemd rates units: 0 for what is shut in wholly, 10 for what is not at all.
const MOST_EXPOSED: &str = "20";

/// What the unit shuts, a line each.
const SHUT: [&str; 20] = [
    "User=tapeline",
    "UMask=0077",
    "LimitCORE=0",
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=",
    "ProtectSystem=strict",
    "ProtectHome=yes",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "PrivateUsers=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectProc=invisible",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    "RestrictNamespaces=yes",
    "RestrictSUIDSGID=yes",
    "MemoryDenyWriteExecute=yes",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged @debug @mount",
];

/// Whether a program that others bring is there; says so if not.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// The unit as it would be of `tapeline run`, with the program that is tested.
fn instance(folder: &Path) -> PathBuf {
    let unit = UNIT
        .replace("/usr/local/bin/tapeline", env!("CARGO_BIN_EXE_tapeline"))
        .replace("%i", "run")
        .replace("=tapeline\nGroup", "=root\nGroup")
        .replace("Group=tapeline", "Group=root");
    let path = folder.join("tapeline-run.service");
    fs::write(&path, unit).expect("room");
    path
}

#[test]
fn the_unit_shuts_what_the_program_does_not_need() {
    for line in SHUT {
        assert!(UNIT.lines().any(|it| it == line), "{line}");
    }
    if !has("systemd-analyze") {
        return;
    }
    let folder = folder();
    let unit = instance(folder.path());
    let checked = Command::new("systemd-analyze").arg("verify").arg(&unit).output();
    let checked = checked.expect("it runs");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && !said.contains("Unknown"), "{said}");
    let threshold = format!("--threshold={MOST_EXPOSED}");
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=true", &threshold])
        .arg(&unit)
        .output()
        .expect("it runs");
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
}

/// The calls that the unit lets through, as this system's systemd has them.
fn allowed_calls() -> Option<Vec<String>> {
    let of = |set: &str| -> Option<Vec<String>> {
        let output = Command::new("systemd-analyze").args(["syscall-filter", set]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let mut calls = Vec::new();
        let lines = text.lines().skip(1).map(str::trim);
        calls.extend(lines.filter(|it| !it.is_empty() && !it.starts_with('#')).map(str::to_owned));
        Some(calls)
    };
    let mut todo = vec!["@system-service".to_owned(), "@default".to_owned()];
    let mut all = Vec::new();
    while let Some(set) = todo.pop() {
        for call in of(&set)? {
            if call.starts_with('@') { todo.push(call) } else { all.push(call) }
        }
    }
    let mut shut = vec!["@privileged".to_owned(), "@debug".to_owned(), "@mount".to_owned()];
    while let Some(set) = shut.pop() {
        for call in of(&set)? {
            if call.starts_with('@') { shut.push(call) } else { all.retain(|it| *it != call) }
        }
    }
    (!all.is_empty()).then_some(all)
}

#[test]
fn no_call_is_made_that_the_unit_shuts() {
    if !has("strace") || !has("systemd-analyze") {
        return;
    }
    let Some(allowed) = allowed_calls() else { return };
    let folder = folder();
    let trace = folder.path().join("calls");
    let channel = format!("aeron:udp?control=127.0.0.1:{}", free_port() & !1);
    let output = Command::new("strace")
        .args(["-f", "-c", "-U", "name", "-o", arg(&trace), env!("CARGO_BIN_EXE_tapeline")])
        .args(["run", "--rssl-port", "0", "--ni-port", "0", "--ws-port", "0", "--admin-port", "0"])
        .args(["--backbone", &channel, "--seconds", "2"])
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = fs::read_to_string(&trace).expect("what it called");
    let made: Vec<_> = calls
        .lines()
        .map(str::trim)
        .filter(|line| line.chars().all(|it| it.is_ascii_alphanumeric() || it == '_'))
        .filter(|line| !["syscall", "name", "total", "", "execve"].contains(line))
        .collect();
    assert!(made.len() > 10, "{calls}");
    let shut: Vec<_> = made.iter().filter(|it| !allowed.iter().any(|may| may == *it)).collect();
    assert!(shut.is_empty(), "the unit shuts {shut:?}");
}

/// Nobody.
const UID: u32 = 65_534;

#[test]
fn it_runs_as_another_user_without_rights_on_a_read_only_root() {
    if !geteuid().is_root() || !has("setpriv") || !has("unshare") {
        assert!(std::env::var_os("CI").is_none(), "root, setpriv and unshare are wanted");
        eprintln!("skipped: it needs root, setpriv and unshare");
        return;
    }
    let folder = folder();
    // What is mounted over the root is seen by this process alone.
    let program = folder.path().join("tapeline");
    fs::copy(env!("CARGO_BIN_EXE_tapeline"), &program).expect("room");
    let key = file(&folder, "key", "0123456789abcdef0123456789abcdef\n");
    let config = file(&folder, "run.toml", &format!("[backbone]\nkey-file = {:?}\n", arg(&key)));
    for path in [folder.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    for path in [&key, &config] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("ours");
    }
    let ready = tempfile::tempdir_in("/dev/shm").expect("room in memory");
    fs::set_permissions(ready.path(), fs::Permissions::from_mode(0o777)).expect("ours");
    let ready = ready.path().join("ready");
    let script = format!(
        "mount --make-rprivate / && mount -o remount,bind,ro / && ! touch {0}/written && \
         exec setpriv --reuid={UID} --regid={UID} --clear-groups --no-new-privs --bounding-set=-all \
         --inh-caps=-all {1} run --config {2} --backbone aeron:ipc --rssl-port 0 --ni-port 0 \
         --ready-file {3}",
        arg(folder.path()),
        arg(&program),
        arg(&config),
        arg(&ready)
    );
    let mut child = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_until("the program to be ready", || {
        if let Ok(Some(status)) = child.try_wait() {
            let mut said = String::new();
            let stderr = child.stderr.as_mut().expect("piped");
            let _ = std::io::Read::read_to_string(stderr, &mut said);
            panic!("{status}: {said}");
        }
        ready.exists()
    });
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let status = fs::read_to_string(proc.join("status")).expect("it runs");
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let user = UID.to_string();
    assert!(
        line("Uid:").is_some_and(|ids| ids.split_whitespace().all(|id| id == user)),
        "{status}"
    );
    assert_eq!(line("NoNewPrivs:"), Some("1"));
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(line(set), Some("0000000000000000"), "{set}");
    }
    // It holds a key: nobody of its own user looks into it, and there is no dump.
    let owner = fs::metadata(proc.join("environ")).expect("it runs").uid();
    assert_eq!(owner, 0, "what belongs to a process that can be dumped is its user's");
    let limits = fs::read_to_string(proc.join("limits")).expect("it runs");
    let core = limits.lines().find(|line| line.starts_with("Max core file size"));
    assert_eq!(core.and_then(|line| line.split_whitespace().nth(4)), Some("0"));
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it runs");
    assert!(child.wait().expect("it ends").success());
}

/// Words that are in no output of the program.
const SECRETS: [&str; 4] =
    ["backbone-key-4711-0815", "source-pass-4711-0815", "source-token-4711", "admin-token-4711"];

#[test]
fn secrets_are_in_no_log_view_or_configuration_that_is_shown() {
    let folder = folder();
    let [key, password, token, admin] =
        ["key", "password", "token", "admin"].map(|name| folder.path().join(name));
    for (path, secret) in [&key, &password, &token, &admin].into_iter().zip(SECRETS) {
        fs::write(path, format!("{secret}\n")).expect("room");
    }
    let text = format!(
        "[backbone]\nkey-file = {key:?}\n[admin]\nport = 0\ntoken-file = {admin:?}\n\
         [log]\nlevel = \"trace\"\n[server]\nrssl-port = 0\n[hub]\nni-port = 0\n\
         [[hub.source]]\nhosts = [\"127.0.0.1:1\"]\npassword-file = {password:?}\n\
         [[hub.source]]\nhosts = [\"127.0.0.1:2\"]\ntoken-file = {token:?}\n"
    );
    let config = file(&folder, "site.toml", &text);
    let shown = run(&["config", "show", arg(&config)]);
    assert_eq!(shown.status, Some(0), "{}", shown.err);
    let mut said = vec![shown.out, shown.err];
    let mut node = Running::start(&["run", "--config", arg(&config)]);
    said.push(node.log_until("route is down"));
    let address = node.address("admin").to_string();
    for view in ["services", "sources", "mounts", "users", "peers", "servers"] {
        let done =
            tapeline(&["admin", "--admin", &address, "--token-file", arg(&admin), "get", view])
                .output()
                .expect("it runs");
        said.push(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let with = ["--admin", &address, "--token-file", arg(&admin)];
    for command in [["config", "history"], ["backbone", "peers"]] {
        let done = tapeline(&[&command[..], &with[..]].concat()).output().expect("it runs");
        said.push(String::from_utf8_lossy(&done.stdout).into_owned());
        said.push(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    let (status, log) = node.terminate();
    assert_eq!(status, Some(0), "{log}");
    said.push(log);
    for secret in SECRETS {
        assert!(!said.iter().any(|text| text.contains(secret)), "{secret}: {said:?}");
    }
}
