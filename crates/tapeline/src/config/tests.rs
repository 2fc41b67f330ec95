use std::path::Path;

use super::*;

fn faults(text: &str) -> Vec<String> {
    match Settings::parse(Path::new("t.toml"), text, INSTANCE) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

fn parsed(text: &str) -> Settings {
    Settings::parse(Path::new("t.toml"), text, INSTANCE).expect("good text")
}

#[test]
fn an_empty_file_says_what_no_file_says() {
    assert_eq!(parsed(""), Settings::default());
}

#[test]
fn keys_are_set() {
    let settings = parsed(
        "[server]\nrssl-port = 0\ndictionary = \"d\"\n[hub]\nni-port = \"off\"\n\
         [[hub.source]]\nhosts = [\"a\", \"b:7\"]\n[[hub.source]]\nhosts = [\"c\"]\nport = 9\n",
    );
    assert_eq!(settings.server.rssl_port, Port::At(0));
    assert_eq!(settings.server.dictionary.as_deref(), Some(Path::new("d")));
    assert_eq!(settings.hub.ni_port, Port::Off);
    assert_eq!(settings.sources.len(), 2);
    assert_eq!(settings.sources[0].hosts, ["a", "b:7"]);
    assert_eq!(settings.sources[1].port, 9);
}

#[test]
fn unknown_keys_name_their_place_and_the_nearest() {
    assert_eq!(
        faults("[server]\n  flush-intervall-ms = 3\n"),
        ["t.toml:2:3: unknown key `flush-intervall-ms` in [server]; did you mean \
          `flush-interval-ms`?"]
    );
    assert_eq!(
        faults("[servr]\n"),
        ["t.toml:1:2: unknown section [servr]; did you mean `server`?"]
    );
    assert_eq!(faults("[hub]\nqqqq = 1\n"), ["t.toml:2:1: unknown key `qqqq` in [hub]"]);
    assert_eq!(
        faults("[[hub.source]]\nhosts = [\"a\"]\nprot = 1\n"),
        ["t.toml:3:1: unknown key `prot` in [hub.source]; did you mean `port`?"]
    );
    assert_eq!(
        faults("[hub]\nsuorce = 1\n"),
        ["t.toml:2:1: unknown key `suorce` in [hub]; did you mean `source`?"]
    );
}

#[test]
fn services_are_named_once_and_have_numbers_of_their_own() {
    let settings =
        parsed("[[service]]\nname = \"FEED\"\nid = 257\n[[service]]\nname = \"RATES\"\n");
    let told: Vec<_> = settings.services.iter().map(|it| (it.name.as_str(), it.id)).collect();
    assert_eq!(told, [("FEED", Some(257)), ("RATES", None)]);
    assert_eq!(parsed(&show(&settings)), settings);
    let one = "[[service]]\nname = \"A\"\nid = 1\n";
    for (text, fault) in [
        ("[[service]]\nid = 1\n", "1:1: a service needs `name`"),
        ("service = 1\n", "1:1: `service` is a list of tables; write [[service]]"),
        (
            &format!("{one}[[service]]\nname = \"B\"\nid = 1\n"),
            "4:1: services `A` and `B` have the same `id`; give each its own",
        ),
        (&format!("{one}{one}"), "4:1: service `A` is there already; give each once"),
        ("[servic]\n", "1:2: unknown section [servic]; did you mean `service`?"),
    ] {
        assert_eq!(faults(text), [format!("t.toml:{fault}")]);
    }
}

#[test]
fn a_service_is_in_one_group_and_not_seen_beside_it() {
    let group = "[[service]]\nname = \"G\"\nmembers = [\"A\", \"B\"]\n";
    let settings = parsed(&format!("{group}pick = \"items\"\n"));
    assert_eq!(settings.services[0].members, ["A", "B"]);
    assert_eq!(parsed(&show(&settings)), settings);
    for (text, fault) in [
        (
            format!("{group}mirror = \"image\"\n"),
            "1:1: service `G` has `members` and `mirror`; sources mirror each other in one \
             service only: leave one of the keys out",
        ),
        (
            format!("{group}[[service]]\nname = \"H\"\nmembers = [\"B\"]\n"),
            "4:1: `B` is a member of `G` and of `H`; leave it out of one",
        ),
        (
            format!("{group}[[service]]\nname = \"A\"\nid = 3\n"),
            "4:1: service `A` is a member of `G`, so that consumers do not see it; leave its \
             [[service]] out",
        ),
    ] {
        assert_eq!(faults(&text), [format!("t.toml:{fault}")]);
    }
}

#[test]
fn how_what_is_open_is_balanced_is_read_back_as_it_is_shown() {
    for rebalance in ["off", "new", "slow 50/s"] {
        let text = format!("[[service]]\nname = \"S\"\nrebalance = \"{rebalance}\"\n");
        let settings = parsed(&text);
        assert_eq!(parsed(&show(&settings)), settings);
    }
}

#[test]
fn how_sources_mirror_each_other_is_read_back_as_it_is_shown() {
    let head = "[[service]]\nname = \"S\"\n";
    for failback in ["never", "idle", "after 60s"] {
        let settings = parsed(&format!(
            "{head}mirror = \"image\"\nmirror-seq = \"shared\"\nfailover-after-ms = 500\n\
             failback = \"{failback}\"\n"
        ));
        assert_eq!(parsed(&show(&settings)), settings);
    }
    for (text, fault) in [
        (
            "mirror = \"image\"\nfailback = \"after a while\"\n",
            "4:12: `failback` is `after a while`; give one of never, idle, or seconds as in \
             \"after 60s\"",
        ),
        (
            "mirror = \"stream\"\nmirror-seq = \"shared\"\n",
            "1:1: service `S` has `mirror-seq = \"shared\"`, which compares with the image of the \
             source that stands by, and `mirror = \"stream\"`, which keeps none: give it \
             `mirror = \"image\"`, or leave `mirror-seq` out",
        ),
        (
            "rebalance = \"slow\"\n",
            "3:13: `rebalance` is `slow`; give one of off, new, or items a second as in \
             \"slow 50/s\"",
        ),
        (
            "mirror = \"image\"\nrebalance = \"off\"\n",
            "1:1: service `S` has `rebalance` and `mirror`, by which all its sources have all \
             items open: leave one of the keys out",
        ),
        (
            "failover-after-ms = 500\n",
            "1:1: service `S` has `failover-after-ms` and is not mirrored: give it \
             `mirror = \"image\"`, or leave the key out",
        ),
    ] {
        assert_eq!(faults(&format!("{head}{text}")), [format!("t.toml:{fault}")]);
    }
}

#[test]
fn wrong_values_say_what_would_be_right() {
    let cases = [
        ("[server]\ncache = 1\n", "2:9: `cache` is an integer; give true or false"),
        (
            "[server]\nflush-interval-ms = \"x\"\n",
            "2:21: `flush-interval-ms` is a string; give an integer",
        ),
        (
            "[server]\nflush-interval-ms = 10001\n",
            "2:21: `flush-interval-ms` is 10001; give 0 to 10000",
        ),
        (
            "[server]\nmax-ping-timeout-s = 256\n",
            "2:22: `max-ping-timeout-s` is 256; give 0 to 255",
        ),
        ("[server]\nrssl-port = 70000\n", "2:13: `rssl-port` is 70000; give 0 to 65535"),
        (
            "[server]\nrssl-port = \"on\"\n",
            "2:13: `rssl-port` is `on`; give a port from 0 to 65535, or `off`",
        ),
        ("[profile]\nidle = \"nap\"\n", "2:8: `idle` is `nap`; give one of spin, yield, park"),
        ("[[hub.source]]\nport = 1\n", "1:1: a source needs `hosts`"),
        ("[hub]\nsource = 1\n", "2:1: `source` is a list of tables; write [[hub.source]]"),
        ("rssl-port = 1\n", "1:1: `rssl-port` is in no section"),
    ];
    for (text, fault) in cases {
        assert_eq!(faults(text), [format!("t.toml:{fault}")], "{text}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    assert_eq!(faults("[hub]\nxyz = 1\n[server]\ncache = 1\n").len(), 2);
}

#[test]
fn a_file_that_is_no_toml_says_where() {
    let faults = faults("[hub]\nname = \n");
    assert!(faults[0].starts_with("t.toml:2:"), "{faults:?}");
}

#[test]
fn the_profile_decides_only_what_the_file_does_not() {
    let throughput = parsed("[profile]\nname = \"throughput\"\n").server;
    assert_eq!((throughput.flush_interval_ms, throughput.tcp_no_delay), (20, false));
    let own = parsed("[server]\nflush-interval-ms = 3\n[profile]\nname = \"throughput\"\n").server;
    assert_eq!((own.flush_interval_ms, own.tcp_no_delay), (3, false));
}

#[test]
fn the_published_sets_are_there_as_they_were() {
    let of = |name: &str| parsed(&format!("[profile]\nname = \"{name}\"\n"));
    let shown = |name: &str| {
        let Settings { server, backbone, hub, .. } = of(name);
        let buffers = [server.output_max_bytes, server.output_pool_bytes].map(|it| it / 6_144);
        let sockets = (server.tcp_send_buffer_bytes, backbone.socket_buffer_bytes >> 20);
        let flush_ms = [server.flush_interval_ms, backbone.flush_interval_ms];
        (flush_ms, server.tcp_no_delay, [server.cache, hub.cache], buffers, sockets)
    };
    let throughput = ([20, 20], false, [false, false], [5_000, 112_000], (None, 4));
    assert_eq!(shown("rmds-throughput"), throughput);
    let latency = ([0, 0], true, [false, false], [400, 36_000], (Some(64_240), 4));
    assert_eq!(shown("rmds-latency"), latency);
    let earlier = ([0, 0], true, [true, false], [1_600, 162_000], (Some(64_240), 2));
    assert_eq!(shown("rmds-latency-1600"), earlier);
}

#[test]
fn what_is_shown_reads_back_the_same() {
    let settings = parsed(
        "[profile]\nname = \"throughput\"\n[server]\nname = \"a \\\"b\\\" \\\\c\"\n\
         [[hub.source]]\nhosts = [\"a\"]\nname = \"x\"\n",
    );
    assert_eq!(parsed(&show(&settings)), settings);
}

#[test]
fn the_reference_in_the_docs_is_the_one_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == reference(),
        "docs/configuration.md is behind the code: tapeline config reference > docs/configuration.md"
    );
}

#[test]
fn the_examples_are_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if let Err(failure) = Settings::load(Some(&path), INSTANCE) {
            panic!("{failure}");
        }
        count += 1;
    }
    assert!(count >= 6, "{count} examples");
}

#[test]
fn a_peer_is_not_given_up_before_it_could_speak() {
    let what = "`silence-ms` is 150 where `presence-ms` is 100; give at least twice as much";
    assert_eq!(faults("[backbone]\nsilence-ms = 150\n"), [format!("t.toml:2:14: {what}")]);
    let what = "`silence-ms` is 500 where `presence-ms` is 251; give at least twice as much";
    assert_eq!(faults("[backbone]\n\npresence-ms = 251\n"), [format!("t.toml:3:15: {what}")]);
    assert!(faults("[backbone]\npresence-ms = 250\nsilence-ms = 500\n").is_empty());
}

#[test]
fn pressure_ends_below_where_it_begins() {
    let what = "`pressure-low` is 50 where `pressure-high` is 50; give less, half of it or so";
    assert_eq!(faults("[hub]\npressure-low = 50\n"), [format!("t.toml:2:16: {what}")]);
    let what = "`pressure-low` is 60 where `pressure-high` is 45; give less, half of it or so";
    let both = "[hub]\npressure-high = 45\npressure-low = 60\n";
    assert_eq!(faults(both), [format!("t.toml:3:16: {what}")]);
    assert!(faults("[hub]\npressure-high = 70\npressure-low = 60\n").is_empty());
}

#[test]
fn what_the_backbone_cannot_carry_is_refused() {
    let cases = [
        ("[hub]\nmax-servers = 256\n", "2:15: `max-servers` is 256; give 1 to 255"),
        ("[backbone]\nqueue-bytes = 65535\n", "2:15: `queue-bytes` is 65535; give 65536 to"),
    ];
    for (text, expected) in cases {
        let faults = faults(text);
        assert!(faults[0].starts_with(&format!("t.toml:{expected}")), "{faults:?}");
    }
    let long = "x".repeat(65);
    assert_eq!(
        faults(&format!("[backbone]\nsystem = \"{long}\"\n")),
        ["t.toml:2:10: `system` has 65 bytes; give at most 64"]
    );
}
