//! What an operator sees and does of a running process beside its configuration:
//! hops, the knee, mounts that are given away.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value as Json;
use tapeline_api::{Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Requests, Server};

use super::support::{Run, Running, arg, await_state, file, folder, run};

/// A process with a source of some updates a second, and this in its file.
pub(super) fn site(text: &str) -> (Running, Running) {
    let folder = folder();
    let config = file(&folder, "site.toml", text);
    let args = ["source", "--listen", "127.0.0.1:0", "-I", "0", "-S", "FEED", "-U", "200"];
    let source = Running::start(&args);
    let address = source.address("rssl").to_string();
    let own = ["--ni-port", "off", "--rssl-port", "0", "--admin-port", "0"];
    let args = ["run", "--config", arg(&config), "--source", &address];
    let node = Running::start(&[&args[..], &own].concat());
    (source, node)
}

fn admin(node: &Running, args: &[&str]) -> Run {
    let address = node.address("admin").to_string();
    run(&[&["admin", "--admin", &address], args].concat())
}

/// The counts of a group at an admin port.
fn counts(node: &Running, group: &str) -> Json {
    let done = admin(node, &["get", "counters", "--json"]);
    let json: Json = serde_json::from_str(&done.out).unwrap_or_default();
    json[group].as_object().and_then(|all| all.values().next()).cloned().unwrap_or_default()
}

fn rows(node: &Running, view: &str) -> Vec<Json> {
    let done = admin(node, &["get", view, "--json"]);
    let json: Json = serde_json::from_str(&done.out).expect("JSON");
    json["rows"].as_array().expect("rows").clone()
}

/// A consumer that has its image.
pub(super) fn consumer(node: &Running) -> Consumer {
    let server = node.address("rssl");
    let server = Server::new(server.ip().to_string(), server.port());
    let config = ConsumerConfig::new([server], Login::new("ann"));
    let mut consumer = Consumer::new(config).expect("a reactor");
    consumer.open(&ItemSpec::new("FEED", "TAPE1.X")).expect("room");
    let mut has_image = false;
    await_state("an image", || {
        let mut hear = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            has_image |= matches!(event, ConsumerEvent::Refresh { .. });
        };
        consumer.poll(Some(Duration::from_millis(20)), &mut hear);
        has_image
    });
    consumer
}

#[test]
fn sources_and_clients_show_what_they_count_at_ports_of_their_own() {
    let own = ["--admin-port", "0", "-I", "0", "-U", "200"];
    let source = ["source", "--listen", "127.0.0.1:0", "-S", "FEED"];
    let provider = Running::start(&[&source[..], &own].concat());
    let at = provider.address("rssl").to_string();
    let ports = ["--ni-port", "0", "--rssl-port", "0"];
    let node = Running::start(&[&["run", "--source", &at][..], &ports].concat());
    let (ni, rssl) = (node.address("ni").to_string(), node.address("rssl").to_string());
    let source = ["source", "--connect", &ni, "-S", "NI_FEED", "--service-id", "7", "A.X", "B.X"];
    let publisher = Running::start(&[&source[..], &own].concat());
    let mut publishes = Json::Null;
    await_state("two images at the hub, and updates", || {
        publishes = counts(&publisher, "publisher");
        publishes["refreshes"] == 2 && publishes["updates"].as_u64() > Some(0)
    });
    assert_eq!((&publishes["items"], &publishes["connected"]), (&2.into(), &1.into()));
    let client = ["client", "--server", &rssl, "-S", "FEED", "C.X", "D.X", "--admin-port", "0"];
    let client = Running::start(&[&client[..], &["--log", "info", "--statistics"]].concat());
    let mut consumes = Json::Null;
    await_state("two images at the client, and updates", || {
        consumes = counts(&client, "consumer");
        consumes["refreshes"] == 2 && consumes["updates"].as_u64() > Some(0)
    });
    assert_eq!((&consumes["items"], &consumes["requests"]), (&2.into(), &2.into()));
    // The hub has them open once, for whoever has them at its servers.
    let mut provides = Json::Null;
    await_state("as many updates at the source, which publishes its counts later", || {
        provides = counts(&provider, "provider");
        provides["updates"].as_u64() >= consumes["updates"].as_u64()
    });
    let streams = ["clients", "streams", "refreshes"].map(|key| provides[key].as_u64());
    assert_eq!(streams, [1, 2, 2].map(Some), "{provides}");
    let port = counts(&client, "channel");
    assert!(port["bytes_received"].as_u64() > Some(0), "{port}");
}

#[test]
fn each_hop_tells_its_times_and_its_worst_item() {
    let (_source, node) = site("[hub]\nstamp-every = 1\n");
    let _consumer = consumer(&node);
    let mut hops = Vec::new();
    await_state("three hops", || {
        hops = rows(&node, "hops");
        hops.len() == 3
    });
    for (row, hop) in hops.iter().zip(["hub", "backbone", "server"]) {
        assert_eq!((&row["service"], &row["hop"]), (&"FEED".into(), &hop.into()), "{row}");
        assert_eq!(row["worstItem"], "TAPE1.X", "{row}");
        let times = ["p50Ns", "p99Ns", "worstNs"].map(|key| row[key].as_u64().expect("a number"));
        assert!(times.is_sorted() && times[2] < 10_000_000_000, "{row}");
    }
    // The worst item is an exemplar: as a label it would be a new series each time.
    let text = got(&node, "/metrics");
    let of_hop = |name: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with(name));
        lines.next().unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    let total = of_hop("tapeline_hop_seconds_total{");
    assert!(total.contains("# {item=\"TAPE1.X\"} "), "{total}");
    assert!(!of_hop("tapeline_hop_worst_seconds{").contains("item="));
}

#[test]
fn what_is_busy_now_is_told_and_where_it_comes_from() {
    let (_source, node) = site("");
    let _consumer = consumer(&node);
    let (mut item, mut service, mut at_hub) = (Json::Null, Json::Null, Json::Null);
    await_state("rates between two looks", || {
        let first = |view: &str, by: &str| {
            let done = admin(&node, &["get", view, "--by", by, "--json"]);
            let json: Json = serde_json::from_str(&done.out).expect("JSON");
            json["rows"][0].clone()
        };
        item = first("items", "messagesPerS");
        service = first("services", "updatesPerS");
        at_hub = first("hub-items", "messagesPerS");
        let rates = [&item["messagesPerS"], &service["updatesPerS"], &at_hub["messagesPerS"]];
        rates.iter().all(|rate| rate.as_u64() > Some(0))
    });
    assert_eq!(item["name"], "TAPE1.X", "{item}");
    assert!(service["updates"].as_u64() > Some(0), "{service}");
    let source = &rows(&node, "sources")[0];
    assert_eq!((&at_hub["name"], &at_hub["source"]), (&item["name"], &source["name"]), "{at_hub}");
    let from = format!("{} 0 1: 1", source["name"].as_str().expect("a name"));
    assert_eq!(rows(&node, "hub-services")[0]["from"], *from);
    // A thread says how long its turns take, once there was a whole second of them.
    await_state("turns", || counts(&node, "thread")["turn_ns_p99"].as_u64() > Some(0));
}

#[test]
fn a_source_that_measures_the_round_trip_to_the_hub_tells_it() {
    let (_source, upper) = site("[server]\nrtt-interval-ms = 50\n");
    let upper_port = upper.address("rssl").to_string();
    let own = ["--ni-port", "off", "--rssl-port", "0", "--admin-port", "0"];
    let lower = Running::start(&[&["run", "--source", &upper_port][..], &own].concat());
    let _consumer = consumer(&lower);
    let mut row = Json::Null;
    await_state("a round trip", || {
        row = rows(&lower, "sources")[0].clone();
        row["roundTripUs"].as_u64() > Some(0)
    });
    assert!(row["roundTripUs"].as_u64() < Some(60_000_000), "{row}");
}

#[test]
fn a_thread_that_comes_near_its_knee_says_so() {
    let folder = folder();
    let knee = r#"{ "updatesInPerS": 100, "updatesOutPerS": 100 }"#;
    let knee = file(&folder, "knee.json", knee);
    let (_source, mut node) = site(&format!("[profile]\nknee = {:?}\n", arg(&knee)));
    let _consumer = consumer(&node);
    let began = Instant::now();
    let line = node.log_until("updates come late soon");
    assert!(line.contains("level=error") && line.contains("thread=main"), "{line}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_server_is_drained_of_its_mounts_and_takes_them_again() {
    let (_source, node) = site("");
    let _consumers = [consumer(&node), consumer(&node), consumer(&node)];
    assert_eq!(rows(&node, "mounts").len(), 3);
    let done = admin(&node, &["drain", "--per-s", "50"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    await_state("the last mount to be gone", || rows(&node, "mounts").is_empty());
    assert!(TcpStream::connect(node.address("rssl")).is_err(), "the port is closed");
    await_state("word that it is drained", || {
        let done = admin(&node, &["ready"]);
        (done.status, done.out.as_str()) == (Some(1), "server is drained of its mounts\n")
    });
    assert_eq!(admin(&node, &["undrain"]).status, Some(0));
    consumer(&node);
    await_state("the server to be ready", || admin(&node, &["ready"]).status == Some(0));
    let done = admin(&node, &["drain", "nobody"]);
    assert_eq!(done.status, Some(1), "{}{}", done.out, done.err);
}

#[test]
fn an_item_is_seen_message_by_message() {
    let (_source, mut node) = site("[hub]\nstamp-every = 1\n");
    let _consumer = consumer(&node);
    let done = admin(&node, &["trace", "TAPE1.X", "-S", "FEED", "--for", "500ms"]);
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
    let lines: Vec<_> = done.out.lines().collect();
    let (last, messages) = lines.split_last().expect("a line");
    assert!(last.contains("messages, "), "{last}");
    for line in messages {
        assert!(line.contains("server  FEED  update  seq "), "{line}");
        assert!(line.contains("to 1 mounts  hub ") && line.contains("  backbone "), "{line}");
    }
    assert!(messages.len() > 1, "{}", done.out);
    let line = node.log_until("an operator traces an item");
    assert!(line.contains(" at 127.0.0.1:"), "{line}");
    let done = admin(&node, &["trace", "NOTHING.X", "--for", "50ms"]);
    assert_eq!(done.status, Some(1), "{}{}", done.out, done.err);
    assert!(done.out.starts_with("nothing came of NOTHING.X in 50 ms"), "{}", done.out);
}

#[test]
fn a_source_is_drained_and_asked_again_by_its_name() {
    let (_source, mut node) = site("");
    let _consumer = consumer(&node);
    let name = rows(&node, "sources")[0]["name"].as_str().expect("a name").to_owned();
    let drains = |node: &Running| {
        let row = &rows(node, "sources")[0];
        row["preference"].as_str().is_some_and(|it| it.ends_with(" drains"))
    };
    for (act, is_drained) in [("drain", true), ("undrain", false)] {
        let done = admin(&node, &["source", act, &name]);
        assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
        assert_eq!(drains(&node), is_drained);
    }
    let line = node.log_until("an operator drains a source");
    assert!(line.contains("who=") && line.contains("127.0.0.1:"), "{line}");
    let done = admin(&node, &["source", "drain", "nobody"]);
    assert_eq!(done.status, Some(1), "{}{}", done.out, done.err);
}

#[test]
fn what_a_drained_source_had_goes_on_at_the_other_without_a_word_to_consumers() {
    const ITEMS: usize = 20;
    let source = ["source", "--listen", "127.0.0.1:0", "-I", "0", "-S", "FEED", "-U", "200"];
    let sources = [0; 2].map(|_| Running::start(&[&source[..], &["--admin-port", "0"]].concat()));
    let [one, two] = sources.each_ref().map(|source| source.address("rssl"));
    let folder = folder();
    let config = file(
        &folder,
        "site.toml",
        &format!(
            "[[hub.source]]\nname = \"one\"\nhosts = [\"{one}\"]\n\
             [[hub.source]]\nname = \"two\"\nhosts = [\"{two}\"]\n"
        ),
    );
    let own = ["--ni-port", "off", "--rssl-port", "0", "--admin-port", "0"];
    let node = Running::start(&[&["run", "--config", arg(&config)][..], &own].concat());
    await_state("both sources", || {
        rows(&node, "sources").iter().filter(|row| row["up"] == true).count() == 2
    });
    let server = node.address("rssl");
    let server = Server::new(server.ip().to_string(), server.port());
    let mut consumer =
        Consumer::new(ConsumerConfig::new([server], Login::new("ann"))).expect("a reactor");
    let names: Vec<String> = (0..ITEMS).map(|number| format!("TAPE{number}.X")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let spec = ItemSpec::new("FEED", "");
    consumer.with(|requests| requests.open_batch(&spec, &names)).expect("room");
    let streams = || sources.each_ref().map(|it| counts(it, "provider")["streams"].as_u64());
    let poll = |consumer: &mut Consumer| {
        let mut hear = |_: ConsumerEvent<'_>, _: &mut Requests<'_>| {};
        consumer.poll(Some(Duration::from_millis(5)), &mut hear);
    };
    let mut shares = [None; 2];
    await_state("all images, each asked for once", || {
        poll(&mut consumer);
        shares = streams();
        let asked: u64 = shares.iter().flatten().sum();
        (consumer.counters().refreshes, asked) == (ITEMS as u64, ITEMS as u64)
    });
    let drained = usize::from(shares[1] > shares[0]);
    assert_eq!(admin(&node, &["source", "drain", ["one", "two"][drained]]).status, Some(0));
    await_state("the other source to have all", || {
        poll(&mut consumer);
        let shares = streams();
        (shares[drained], shares[1 - drained]) == (Some(0), Some(ITEMS as u64))
    });
    let before = consumer.counters().updates;
    await_state("updates to go on", || {
        poll(&mut consumer);
        consumer.counters().updates > before
    });
    let heard = consumer.counters();
    assert_eq!((heard.items, heard.statuses, heard.requests), (ITEMS, 0, ITEMS as u64));
}

#[test]
fn the_items_of_a_mount_are_those_that_it_watches() {
    let (_source, node) = site("");
    let _first = consumer(&node);
    let _second = consumer(&node);
    let channel = rows(&node, "mounts")[0]["channel"].as_str().expect("a session").to_owned();
    let of = |channel: &str| -> Json {
        serde_json::from_str(&got(&node, &format!("/v1/items?of={channel}"))).expect("JSON")
    };
    let said = of(&channel);
    assert_eq!(said["rows"][0]["name"], "TAPE1.X", "{said}");
    assert_eq!(said["rows"].as_array().map(Vec::len), Some(1), "{said}");
    assert_eq!(of("99.1")["rows"], Json::Array(Vec::new()));
}

#[test]
fn who_does_not_show_the_token_is_told_nothing() {
    let folder = folder();
    let token = file(&folder, "token", "s3cret\n");
    let (_source, node) = site(&format!("[admin]\ntoken-file = {:?}\n", arg(&token)));
    let done = admin(&node, &["ready"]);
    assert!(done.out.contains("give the token"), "{}{}", done.out, done.err);
    assert_eq!(done.status, Some(1));
    await_state("the node to be ready", || {
        let done = admin(&node, &["--token-file", arg(&token), "ready"]);
        (done.status, done.out.as_str()) == (Some(0), "good\n")
    });
}

/// Writes a certificate for this host, of an authority of its own, and its key.
fn renew(certificate: &Path, key: &Path) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("made");
    fs::write(certificate, made.cert.pem()).expect("room");
    fs::write(key, made.signing_key.serialize_pem()).expect("room");
}

#[test]
fn certificates_are_renewed_while_the_process_runs() {
    let folder = folder();
    let [certificate, key, ca] = ["own.pem", "own.key", "ca.pem"].map(|it| folder.path().join(it));
    renew(&certificate, &key);
    fs::copy(&certificate, &ca).expect("room");
    let files = format!("tls-certificate = {:?}\ntls-key = {:?}\n", arg(&certificate), arg(&key));
    let text = format!("[admin]\n{files}[server]\nrssl-tls-port = 0\n{files}");
    let (_source, mut node) = site(&text);
    let address = format!("https://{}", node.address("admin"));
    let ready = || run(&["admin", "--admin", &address, "--admin-ca", arg(&ca), "ready"]);
    await_state("the node to be ready", || ready().out == "good\n");
    let in_clear = admin(&node, &["ready"]);
    assert_ne!(in_clear.status, Some(0), "{}", in_clear.out);
    let snapshot = || {
        let server = node.address("rssl-tls").to_string();
        let it = ["client", "--server", &server, "--tls-ca", arg(&ca), "-S", "FEED"];
        run(&[&it[..], &["--snapshot", "TAPE1.X"]].concat())
    };
    let done = snapshot();
    assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);

    // The one who renews says nothing to anybody.
    renew(&certificate, &key);
    let line = node.log_until("certificates are read again");
    assert!(line.contains("own.pem"), "{line}");
    let done = ready();
    assert!(done.status != Some(0) && done.err.contains("certificate"), "{}{}", done.out, done.err);
    fs::copy(&certificate, &ca).expect("room");
    assert_eq!(ready().out, "good\n");

    // What is no pair changes nothing, at SIGHUP as well.
    renew(&folder.path().join("other.pem"), &key);
    node.signal(Signal::HUP);
    let line = node.log_until("the certificates before stay in use");
    assert!(line.contains("level=error") && line.contains("own.pem"), "{line}");
    assert_eq!(ready().out, "good\n");
}

/// What an admin port answers at a path.
fn got(node: &Running, path: &str) -> String {
    admin_get(node, path, "")
}

/// The same, with more lines in the head of the request.
pub(super) fn admin_get(node: &Running, path: &str, more: &str) -> String {
    let address = node.address("admin");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
}

#[test]
fn alert_rules_and_dashboard_use_series_that_there_are() {
    // With a media driver, whose counts are there, too.
    let (_source, node) = site("[hub]\nstamp-every = 1\n[backbone]\nchannel = \"aeron:ipc\"\n");
    let _consumer = consumer(&node);
    let mut text = String::new();
    await_state("a message with stamps", || {
        text = got(&node, "/metrics");
        text.contains("tapeline_hop_samples_total{")
    });
    let series = text.lines().filter_map(name_of_series).map(ToOwned::to_owned);
    // What has no value yet, like times of mounts that nobody asked, is announced.
    let series: BTreeSet<_> = series.chain(text.lines().filter_map(announced)).collect();
    let used = [
        include_str!("../../../../../docs/monitoring/alerts.yml"),
        include_str!("../../../../../docs/monitoring/grafana.json"),
    ];
    let names = used.iter().flat_map(|text| {
        text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_')
            .filter(|word| word.starts_with("tapeline_"))
    });
    let names: BTreeSet<_> = names.collect();
    assert!(names.len() > 20, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !series.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The name of a series whose type is said, which may have no value yet.
fn announced(line: &str) -> Option<String> {
    let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
    let total = if kind == "counter" { "_total" } else { "" };
    Some(format!("{name}{total}"))
}

/// The name of a series in a line of metrics.
fn name_of_series(line: &str) -> Option<&str> {
    line.split(['{', ' ']).next().filter(|name| name.starts_with("tapeline_"))
}

#[test]
fn as_many_scrapes_as_in_ten_minutes_leave_memory_as_it_was() {
    let (_source, node) = site("");
    let _consumer = consumer(&node);
    let resident = || {
        let process: Json = serde_json::from_str(&got(&node, "/v1/process")).expect("JSON");
        process["residentBytes"].as_u64().expect("a number")
    };
    let scrape = |count: usize| {
        for _ in 0..count {
            assert!(got(&node, "/metrics").ends_with("# EOF\n"));
        }
    };
    scrape(100);
    let before = resident();
    scrape(600);
    let after = resident();
    assert!(after < before + (1 << 20), "{before} bytes before, {after} after");
}
