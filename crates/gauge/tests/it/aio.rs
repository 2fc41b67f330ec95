//! Flows of one part, in threads of this process.

use std::fs;

use tapeline_gauge::{GaugeError, aio};

use crate::support::{Told, words};

fn run(line: &str) -> (Result<bool, GaugeError>, String) {
    let typed = words(line);
    let mut out = Told::default();
    let nobody = |_| Err(std::io::Error::other("no process is started here"));
    let done = aio::run(&typed, false, &nobody, &mut out);
    (done, out.text)
}

/// Runs a flow for a moment: its text, and its records.
fn ran(line: &str) -> (String, Vec<serde_json::Value>) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.jsonl");
    let (done, text) =
        run(&format!("run {line} --seconds=0.5 --warm-up=0.1 --noise=0 --json={}", json.display()));
    done.unwrap_or_else(|error| panic!("{line}: {error}\n{text}"));
    let lines = fs::read_to_string(&json).unwrap();
    let tools = lines.lines().filter(|line| line.contains(r#""bench":"tool""#));
    (text, tools.map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[track_caller]
fn assert_whole(tools: &[serde_json::Value]) {
    assert!(!tools.is_empty());
    for tool in tools {
        let count = |name: &str| tool["counts"][name].as_u64().unwrap();
        assert_eq!(
            (count("lost"), count("duplicated"), count("clock_errors")),
            (0, 0, 0),
            "{tool}"
        );
        assert!(count("received") > 0, "{tool}");
    }
}

#[test]
fn an_order_passes_every_part_of_its_way_over_every_link() {
    for hop in ["ring", "tcp", "pipe", "unix_stream", "unix_datagram", "udp", "rssl"] {
        let (text, tools) = ran(&format!("order-native @rate=100 @hop={hop}"));
        assert_whole(&tools);
        let names: Vec<&str> = tools[0]["hops"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| of["name"].as_str().unwrap())
            .collect();
        let expected = [
            "client→gateway",
            "gateway",
            "gateway→sequencer",
            "sequencer",
            "sequencer→matching",
            "matching",
            "matching→distribution",
            "distribution",
            "distribution→executions",
        ];
        assert_eq!(names, expected, "{hop}");
        let hops = tools[0]["hops"].as_array().unwrap();
        let predicted: f64 = hops.iter().map(|of| of["predicted_ns"].as_f64().unwrap()).sum();
        // 101 µs of work, and four hops.
        assert!(predicted > 101_000.0, "{hop}: {predicted}");
        let work = |name: &str| {
            let of = hops.iter().find(|of| of["name"] == name).unwrap();
            of["p50_ns"].as_u64().unwrap()
        };
        assert!(work("gateway") >= 20_000 && work("matching") >= 60_000, "{hop}");
        assert!(text.contains("predicted µs") && text.contains("++++++ Thread ++++++"), "{text}");
    }
}

#[test]
fn a_fix_order_has_five_hops_and_two_gateways() {
    let (_, tools) = ran("order-fix @rate=50 @hop=unix_stream");
    assert_whole(&tools);
    let hops = tools[0]["hops"].as_array().unwrap();
    let of_kind = |kind: &str| hops.iter().filter(|of| of["kind"] == kind).count();
    assert_eq!((of_kind("unix_stream"), of_kind("work"), of_kind("call")), (5, 5, 1));
    assert!(hops.iter().any(|of| of["name"] == "FIX") && hops.iter().any(|of| of["name"] == "OC"));
}

#[test]
fn a_journal_and_a_drop_copy_each_have_every_order() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let (_, tools) =
        ran(&format!("order-journal @rate=100 @hop=ring @journal={}", journal.display()));
    assert_whole(&tools);
    let received: Vec<u64> =
        tools.iter().map(|of| of["counts"]["received"].as_u64().unwrap()).collect();
    assert!(received.len() == 2 && received[0] == received[1], "{received:?}");
    assert!(!journal.exists(), "it goes with the run");
}

#[test]
fn an_update_reaches_each_mount_over_the_backbone() {
    let (_, tools) = ran("rmds-path @rate=200 @mounts=3");
    assert_whole(&tools);
    let count = |name: &str| tools[0]["counts"][name].as_u64().unwrap();
    let sent_in_all = count("received") / 3;
    assert!(count("received").is_multiple_of(3) && sent_in_all >= count("sent"), "{}", tools[0]);
}

/// A flow of two threads with one link between them.
fn two_threads(link: &str, from: &str, to: &str) -> String {
    format!(
        "name = \"two\"\nlink = [{{ name = \"a\", {link} }}]\n[[part]]\nname = \"all\"\n\
         [[part.thread]]\nname = \"from\"\nmodule = [{{ name = \"from\", out = [\"a\"], {from} }}]\n\
         [[part.thread]]\nname = \"to\"\nmodule = [{{ name = \"to\", in = [\"a\"], {to} }}]\n"
    )
}

#[test]
fn a_group_is_a_link_that_has_no_way_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("group.toml");
    let link = "via = \"mcast\", group = \"239.77.5.6\", interface = \"lo\"";
    let source = "type = \"source\", rate = 500";
    fs::write(&file, two_threads(link, source, "type = \"sink\"")).unwrap();
    let (_, tools) = ran(&file.display().to_string());
    assert_whole(&tools);
    for (from, to, told) in [
        ("type = \"client\"", "type = \"server\", reply = \"none\"", "would wait for answers"),
        (source, "type = \"server\"", "would answer; give reply = \"none\""),
    ] {
        fs::write(&file, two_threads(link, from, to)).unwrap();
        let error = run(&format!("check {}", file.display())).0.unwrap_err().to_string();
        assert!(error.contains("link `a` is multicast and has no way back"), "{error}");
        assert!(error.contains(told), "{error}");
    }
    let wrong = two_threads("via = \"mcast\", group = \"10.0.0.1\"", source, "type = \"sink\"");
    fs::write(&file, wrong).unwrap();
    let error = run(&format!("check {}", file.display())).0.unwrap_err().to_string();
    assert!(error.contains("`10.0.0.1` is no address of a group"), "{error}");
}

#[test]
fn known_delays_of_an_empty_path_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("delays.toml");
    let flow = r#"
name = "two delays"
link = [{ name = "a" }, { name = "b", via = "tcp" }, { name = "c" }]
[[part]]
name = "all"
[[part.thread]]
name = "from"
module = [{ type = "source", name = "source", out = ["a"], rate = 100 }]
[[part.thread]]
name = "first"
module = [{ type = "delay", name = "first", in = ["a"], out = ["b"], us = 1000 }]
[[part.thread]]
name = "second"
module = [{ type = "delay", name = "second", in = ["b"], out = ["c"], us = 1000 }]
[[part.thread]]
name = "to"
module = [{ type = "sink", name = "sink", in = ["c"] }]
"#;
    fs::write(&file, flow).unwrap();
    let (text, tools) = ran(&file.display().to_string());
    assert_whole(&tools);
    let least = tools[0]["from_send"]["min_ns"].as_u64().unwrap();
    // Other work can only add.
    assert!(least >= 2_000_000, "{text}");
    assert!(
        least < 3_000_000 || tools[0]["from_send"]["p50_ns"].as_u64() > Some(3_000_000),
        "{text}"
    );
    let hops = tools[0]["hops"].as_array().unwrap();
    let first = hops.iter().find(|of| of["name"] == "first").unwrap();
    assert!(first["predicted_ns"] == 1_000_000.0 && first["p50_ns"].as_u64() >= Some(1_000_000));
}

#[test]
fn a_rate_is_that_of_its_variable_and_a_wrong_key_is_told_by_its_line() {
    let (_, tools) = ran("order-native @rate=400 @hop=ring @matching=1000");
    assert_eq!(tools[0]["rate_per_s"], 400);
    // 0.1 s of warm-up and 0.5 s.
    let received = tools[0]["counts"]["received"].as_u64().unwrap();
    assert!((200..=240).contains(&received), "{received}");
    let (done, _) = run("run order-native @rte=400");
    let error = done.unwrap_err().to_string();
    assert_eq!(error, "order-native: there is no variable @rte; did you mean `rate`?");
}

#[test]
fn every_scenario_is_listed_shown_and_checked_with_its_tree() {
    let (_, list) = run("list");
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.len(), 8);
    for name in names {
        let (shown, text) = run(&format!("show {name}"));
        assert!(shown.unwrap() && text.contains("[[part]]"), "{name}");
        let (checked, tree) = run(&format!("check {name}"));
        assert!(checked.unwrap(), "{name}");
        assert!(tree.starts_with("++++++ Thread ++++++\nThread :1\n"), "{tree}");
        assert!(tree.contains("| +--> Wrapper 1\n|   | +--> Module 1\n|   |   Type: "), "{tree}");
    }
}
