//! Disks and settings, as processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{arg, folder, lab, run};

const BRIEF: [&str; 4] = ["--rate=500", "--seconds=0.5", "--noise=0", "--interval=0.2"];

fn tool(json: &Path) -> serde_json::Value {
    let text = fs::read_to_string(json).unwrap();
    let line = text.lines().find(|line| line.contains(r#""tool":"disk""#));
    serde_json::from_str(line.unwrap_or_else(|| panic!("{text}"))).unwrap()
}

#[test]
fn a_disk_is_written_and_verified_in_each_mode_and_nothing_is_left() {
    let folder = folder();
    let (file, json) = (folder.path().join("file"), folder.path().join("out.jsonl"));
    for mode in ["buffered", "dsync", "direct", "direct+dsync"] {
        for task in ["write", "read"] {
            let mut args = vec!["disk", task, arg(&file), "--verify", "--json", arg(&json)];
            let mode = format!("--mode={mode}");
            args.extend(BRIEF);
            args.push(&mode);
            let done = run(&args);
            if done.err.contains("cannot be written directly") {
                eprintln!("left out: no direct writes in {}", folder.path().display());
                continue;
            }
            // A busy disk may be too late for figures that count.
            assert!(matches!(done.status, Some(0 | 1)), "{mode} {task}: {}", done.err);
            assert!(!done.out.contains("are not what was written"), "{}", done.out);
            let tool = tool(&json);
            assert_eq!((&tool["role"], &tool["counts"]["torn"]), (&task.into(), &0.into()));
            assert!(tool["counts"]["done"].as_u64().unwrap() > 0 && tool["medium"].is_string());
            // What the disk can do is told, and who it was if that was not enough.
            assert!(tool["counts"]["alone_per_s"].as_u64().unwrap() > 0, "{tool}");
            let names_who =
                |why: &serde_json::Value| why.as_str().unwrap().contains(" is the limit");
            assert!(tool["valid"] == true || names_who(&tool["why_invalid"]), "{tool}");
            assert!(
                done.out.contains(" % the disk waited for this program; one after"),
                "{}",
                done.out
            );
            assert!(!file.exists(), "our own file is removed");
        }
    }
}

#[test]
fn a_size_that_cannot_be_is_refused_before_there_is_a_file() {
    let folder = folder();
    let file = folder.path().join("file");
    let done = run(&["disk", "write", arg(&file), "--mode=direct", "--size=1000", "--seconds=0.1"]);
    assert_eq!(done.status, Some(2));
    let is_told =
        done.err.contains("1000 bytes cannot be written directly: this file system needs")
            || done.err.contains("cannot be written directly (O_DIRECT)");
    assert!(is_told && !file.exists(), "{}", done.err);
    let done = run(&["disk", "write", "/proc/tapeline", "--seconds=0.1"]);
    assert!(done.status == Some(2) && done.err.contains("these are no files"), "{}", done.err);
}

#[test]
fn an_existing_file_is_left_as_it_is() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "precious").unwrap();
    let done = run(&["disk", "write", arg(&file), "--seconds=0.1"]);
    assert!(done.status == Some(2) && done.err.contains("is there already"), "{}", done.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn memory_is_named_as_memory() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("left out: there is no /dev/shm");
        return;
    };
    let (file, json) = (folder.path().join("file"), folder.path().join("out.jsonl"));
    let mut args = vec!["disk", "write", arg(&file), "--json", arg(&json)];
    args.extend(BRIEF);
    let done = run(&args);
    assert!(done.err.contains("there is no disk in these figures"), "{}", done.err);
    assert_eq!(tool(&json)["medium"], "memory");
}

#[test]
fn a_signal_leaves_no_file() {
    let folder = folder();
    let file = folder.path().join("file");
    let mut child =
        lab(&["disk", "write", arg(&file), "--rate=100", "--noise=0", "--interval=0.1"])
            .args(["--seconds=60", "--file-size=4096000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.nth(2).is_some(), "it writes");
    assert!(file.exists());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(!file.exists());
}

#[test]
fn by_the_classic_name_a_disk_has_the_classic_lines() {
    let folder = folder();
    let (link, file) = (folder.path().join("DTool"), folder.path().join("file"));
    symlink(env!("CARGO_BIN_EXE_tapeline-lab"), &link).unwrap();
    let done = Command::new(&link)
        .args(["-W", "-f", arg(&file), "-r", "1000", "-s", "4096", "-t", "0.01", "-i", "0.2"])
        .arg("--noise=0")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.starts_with("System Tick = 100 usecs\nz_FileName = "), "{text}");
    assert!(text.contains("\ni_TicksPerIO = 10\ni_NumOfIOsPerSlot = 1\nTime\tEOF\t"), "{text}");
    let row = text.lines().nth(9).unwrap();
    let cells: Vec<&str> = row.split('\t').collect();
    assert_eq!((cells.len(), cells[5], cells[7]), (9, "-", arg(&file)), "{row}");
    assert!(cells[8].starts_with("Avg - ") && cells[8].ends_with("(10%)"), "{row}");
}

/// A tree of files in place of the machine.
fn tree(root: &Path) {
    for (path, text) in [
        ("proc/sys/net/core/rmem_max", "212992\n"),
        ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t33554432\n"),
        ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"),
        ("proc/sys/vm/swappiness", "60\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn files(root: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => all.push((arg(&path).to_owned(), fs::read_to_string(&path).unwrap())),
            }
        }
    }
    all.sort();
    all
}

#[test]
fn settings_of_a_tree_are_checked_applied_and_undone() {
    let folder = folder();
    tree(folder.path());
    let before = files(folder.path());
    let root = format!("--root={}", folder.path().display());
    let check = run(&["tune", "check", &root]);
    assert_eq!(check.status, Some(1), "{}", check.out);
    let row = |id: &str| check.out.lines().find(|line| line.starts_with(id)).unwrap().to_owned();
    let words = row("net.core.rmem_max").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.starts_with("net.core.rmem_max 212992 ≥ 16777216 differs S0 2.2.5"), "{words}");
    assert!(row("net.ipv4.tcp_rmem").contains(" ok "), "what is larger is never lowered");

    let dry = run(&["tune", "apply", &root, "--dry-run", "--host-wide"]);
    assert!(dry.out.contains("212992 -> 16777216"), "{}", dry.out);
    assert_eq!(files(folder.path()), before);

    let only = "--only=net.core.rmem_max,net.ipv4.tcp_wmem,vm.swappiness";
    let applied = run(&["tune", "apply", &root, only, "--host-wide"]);
    assert_eq!(applied.status, Some(0), "{}", applied.out);
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
    assert_eq!(read("proc/sys/net/ipv4/tcp_wmem"), "4096\t16384\t16777216\n");
    assert_eq!(run(&["tune", "check", &root, only]).status, Some(0));

    let undone = run(&["tune", "undo", &root]);
    assert_eq!((undone.status, &undone.out[..]), (Some(0), "3 set back, 0 left\n"));
    assert_eq!(files(folder.path()), before);
}

#[test]
fn each_setting_of_this_machine_is_told_without_root() {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    let done = run(&["tune", "check", "--json", arg(&json)]);
    assert!(matches!(done.status, Some(0 | 1)), "{}", done.err);
    let text = fs::read_to_string(&json).unwrap();
    assert!(text.lines().count() > 70, "{text}");
    assert!(
        text.starts_with(r#"{"bench":"setting","id":"net.core.rmem_max","present":""#),
        "{text}"
    );
    let wrong = run(&["tune", "check", "--only=net.core.rmem_mx"]);
    assert!(wrong.err.contains("did you mean net.core.rmem_max?"), "{}", wrong.err);
}

#[test]
fn threads_that_spin_on_one_core_are_in_each_others_way() {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    let spin = ["jitter", "--mode=spin", "--runtime=60", "--cores"];
    let core = tapeline_measure::processor::allowed_cores()[0].to_string();
    let mut spinning: Vec<_> =
        (0..2).map(|_| lab(&spin).arg(&core).stdout(Stdio::null()).spawn().unwrap()).collect();
    // Others may have all of the core for a while.
    let is_told = (0..20).any(|_| {
        let done = run(&["tune", "check", "--placement", "--json", arg(&json)]);
        done.status == Some(1)
            && done.out.contains("jitter ")
            && fs::read_to_string(&json).unwrap().contains(r#""profile":"placement""#)
    });
    for child in &mut spinning {
        kill_process(Pid::from_child(child), Signal::TERM).unwrap();
        child.wait().unwrap();
    }
    assert!(is_told);
    let done = run(&["tune", "check", "--placement", "--root", arg(folder.path())]);
    assert!(done.status == Some(2) && done.err.contains("--programs NAME"), "{}", done.err);
}

#[test]
fn a_machine_is_judged_by_one_command_on_one_page() {
    let folder = folder();
    let page = folder.path().join("machine.html");
    let planned = run(&["all", "--check"]);
    assert!(planned.out.lines().count() > 8, "{}", planned.out);
    let done = run(&["all", "--quick", "--out", arg(&page), "--disk", arg(folder.path())]);
    assert!(matches!(done.status, Some(0 | 1)), "{}", done.err);
    let html = fs::read_to_string(&page).unwrap();
    for id in [
        "verdict",
        "matrix",
        "pingpong",
        "multicast",
        "flow",
        "disk",
        "noise",
        "settings",
        "environment",
    ] {
        assert!(html.contains(&format!("<section id=\"{id}\">")), "{id}: {}", done.err);
    }
    assert!(!html.contains("<section id=\"latency\">"));
    let words = done.out.rsplit("\nverdict\n").next().unwrap();
    assert!(words.contains("The floor of every tail: core "), "{words}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the page and its records");
}
