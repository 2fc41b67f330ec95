//! What is said to options, known and unknown.

use std::time::{Duration, Instant};

use super::support::{arg, client, file, folder, node, run, run_typing, source};

#[test]
fn an_unknown_option_is_refused_with_the_nearest_one() {
    let done = run(&["source", "-S", "FEED", "-tspn", "A"]);
    let text = "tapeline: unknown option `-tspn`; did you mean `-tsn`?; --help lists all\n";
    assert_eq!((done.status, done.err.as_str()), (Some(2), text));
    let done = run(&["client", "-lmfle", "out", "A.X"]);
    let text = "tapeline: unknown option `-lmfle`; did you mean `-lmfile`?; --help lists all\n";
    assert_eq!((done.status, done.err.as_str()), (Some(2), text));
}

#[test]
fn help_lists_modern_and_classic_options() {
    for (args, classic, modern) in [
        (["source", "-h"], "-tps N", "--stamp-on <ITEM|FIELD>"),
        (["source", "--help"], "-UL RATE", "--tps <N>"),
        (["client", "--help"], "-lmfile FILE", "--open-window <N>"),
    ] {
        let done = run(&args);
        assert_eq!(done.status, Some(0), "{}", done.err);
        let (before, table) = done.out.split_once("\nClassic options:").expect("a table of them");
        assert!(before.contains(modern), "{modern} is not in\n{before}");
        assert!(table.contains(classic), "{classic} is not in\n{table}");
    }
}

#[test]
fn a_classic_option_without_its_value_is_told() {
    let done = run(&["client", "A.X", "-h"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("--host <HOST>"), "{}", done.err);
}

#[test]
fn what_an_option_cannot_mean_is_a_warning_and_the_rest_works() {
    let source = source(&["-U", "100", "-c", "-K", "-tcpnodelay", "0"]);
    let node = node(&source);
    let args = ["-ct", "plugin", "-tss", "A.X", "-X", "--exit-after-image"];
    let done = client(&node, &args);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(done.out.starts_with("A.X RDFD refresh"), "{}", done.out);
    let warnings: Vec<&str> = done
        .err
        .lines()
        .filter_map(|line| line.split_once(" has no effect: "))
        .map(|(o, _)| o)
        .collect();
    let expected = ["tapeline: `-ct plugin`", "tapeline: `-tss`"];
    assert_eq!(warnings, expected);
}

#[test]
fn what_asks_for_encryption_never_goes_on_in_clear() {
    let source = source(&["-U", "100"]);
    let node = node(&source);
    // The port speaks no TLS: nothing is sent to it that it could understand.
    let args = ["-tunnel", "ssl", "A.X", "-X", "--exit-after-image", "--seconds", "2"];
    let done = client(&node, &args);
    assert_ne!(done.status, Some(0), "{}{}", done.out, done.err);
    assert!(!done.out.contains("refresh"), "{}", done.out);
    for odd in ["http", "proxy"] {
        let done = client(&node, &["-tunnel", odd, "A.X", "--exit-after-image"]);
        assert_eq!(done.status, Some(2), "{}", done.err);
        assert!(done.err.contains("invalid value") && done.out.is_empty(), "{}", done.err);
    }
}

#[test]
fn a_source_says_that_it_speaks_no_ssl() {
    let folder = folder();
    let path =
        file(&folder, "a.toml", "[image]\nBID = \"1\"\n[[update]]\n[update.fields]\nBID = \"2\"\n");
    let done = run(&["source", "-E", "sslauto", "-N", "0", "-Q", arg(&path), "--seconds", "0"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(done.err.starts_with("tapeline: `-E sslauto` has no effect: "), "{}", done.err);
}

#[test]
fn quit_ends_a_source_and_nonsense_does_not() {
    let began = Instant::now();
    let done = run_typing(&["source", "-N", "0", "--seconds", "30"], "rate 5\nhelp\nquit\n");
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(began.elapsed() < Duration::from_secs(20), "it went on:\n{}", done.err);
    assert!(done.err.contains("`rate 5` is no command; type `ur RATE`"), "{}", done.err);
}

#[test]
fn a_stamp_goes_into_no_field_of_another_type() {
    let done = run(&["source", "-N", "0", "-tsn", "BID"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("field BID is REAL, but a time stamp is UINT"), "{}", done.err);
}

#[test]
fn a_latency_file_that_cannot_be_written_is_told_at_the_start() {
    let done = run(&["client", "-lmfile", "/nowhere/out", "A.X"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.starts_with("tapeline: cannot write the latency file /nowhere/out: "));
}
