//! What a site of any size needs.

use serde_json::Value;

use crate::support::{arg, file, folder, run};

/// Round figures, with which a reader can reckon.
const COSTS: &str = r#"{
    "processor": "abacus", "conditions": "By hand", "update_wire_bytes": 100,
    "hub": {"item_bytes": 500, "item_open_ns": 4000, "image_ns": 1000, "update_ns": 300},
    "backbone_update_ns": 100,
    "server": {"mount_bytes": 10000, "item_bytes": 200, "watcher_bytes": 20, "login_ns": 50000,
        "item_open_ns": 5000, "watcher_open_ns": 2000, "update_ns": 200, "copy_ns": 50,
        "json_ns": 900, "json_copy_ns": 90, "view_ns": 400, "view_copy_ns": 70}
}"#;

#[test]
fn a_site_needs_what_its_parts_cost() {
    let folder = folder();
    let costs = file(&folder, "costs.json", COSTS);
    let json = folder.path().join("needs.json");
    let mut args = vec!["size", "--costs", arg(&costs), "--json", arg(&json)];
    args.extend("--mounts 100 --items 1000 --rate 200000 --knee-out 5000000".split(' '));
    let done = run(&args);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(
        done.out.contains("measured on abacus") && done.out.contains("3 in all"),
        "{}",
        done.out
    );
    assert!(done.out.contains("by the knee that was measured: 4 servers"), "{}", done.out);
    let needs: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    // 100 mounts with all 1,000 items: each update goes to 100. One server would be busy for
    // 1.04 of a second, two for 0.54 each.
    assert_eq!((&needs["servers"], &needs["fanOut"]), (&2.into(), &100.0.into()), "{needs}");
    let near = |figure: &Value, expected: f64| {
        assert!((figure.as_f64().unwrap() / expected - 1.0).abs() < 1e-9, "{needs}");
    };
    near(&needs["hub"]["cores"], 0.08);
    near(&needs["hub"]["memoryBytes"], 500_000.0);
    near(&needs["server"]["cores"], 0.54);
    near(&needs["server"]["memoryBytes"], 50.0 * 10_000.0 + 200_000.0 + 49_000.0 * 20.0);
    near(&needs["server"]["outBytesPerS"], 1e9);
    near(&needs["updatesOutPerS"], 2e7);
}

#[test]
fn what_cannot_be_carried_or_read_is_explained() {
    let folder = folder();
    let costs = file(&folder, "costs.json", COSTS);
    let done = run(&["size", "--costs", arg(&costs), "--rate", "5000000"]);
    assert_eq!(done.status, Some(1), "{}", done.err);
    assert!(done.out.contains("spread the services over several hubs"), "{}", done.out);
    let broken = file(&folder, "broken.json", "{}");
    let cases = [
        (vec!["--costs", arg(&broken)], "`size --measure --json FILE` writes one"),
        (vec!["--mounts", "0"], "above 0"),
        (vec!["--rate", "0"], "above 0"),
        (vec!["--busy", "2"], "up to 1"),
    ];
    for (args, text) in cases {
        let done = run(&[vec!["size"], args].concat());
        assert_eq!(done.status, Some(2), "{}", done.out);
        assert!(done.err.contains(text), "{}", done.err);
    }
}

#[test]
fn what_things_cost_here_is_measured_and_reckoned_with() {
    let folder = folder();
    let (costs, page) = (folder.path().join("costs.json"), folder.path().join("sizing.md"));
    let measure = ["size", "--measure", "--sample", "2000", "--rounds", "1"];
    let done = run(&[&measure[..], &["--json", arg(&costs), "--page", arg(&page)]].concat());
    assert_eq!(done.status, Some(0), "{}", done.err);
    let measured: Value = serde_json::from_str(&std::fs::read_to_string(&costs).unwrap()).unwrap();
    let of = |part: &str, what: &str| measured[part][what].as_f64().unwrap_or_default();
    for (part, what) in [
        ("hub", "item_open_ns"),
        ("hub", "update_ns"),
        ("server", "login_ns"),
        ("server", "item_open_ns"),
        ("server", "watcher_open_ns"),
        ("server", "copy_ns"),
        ("server", "json_copy_ns"),
        ("server", "view_copy_ns"),
    ] {
        assert!(of(part, what) > 0.0, "{what} of the {part}: {measured}");
    }
    // Less is written to a mount than is found and opened for it.
    assert!(of("server", "copy_ns") < of("server", "item_open_ns"), "{measured}");
    assert!(of("hub", "item_bytes") > 100.0, "{measured}");
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("| a copy that goes out | - |"), "{page}");
    let done = run(&["size", "--costs", arg(&costs), "--rate", "1000"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
}
