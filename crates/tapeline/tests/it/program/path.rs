//! From a source to a client, through hub and server.

use std::collections::BTreeSet;

use serde_json::Value;

use super::support::{Run, Running, arg, file, folder, run};

/// A source and a hub with server that is connected to it.
fn source_and_node(source_args: &[&str]) -> (Running, Running) {
    let mut args = vec!["source", "--listen", "127.0.0.1:0", "-I", "0"];
    args.extend(source_args);
    let source = Running::start(&args);
    let address = source.address("rssl").to_string();
    let node = node(&["--source", &address]);
    (source, node)
}

/// A hub with server.
fn node(args: &[&str]) -> Running {
    let mut all = vec!["run", "--rssl-port", "0", "--ni-port", "0"];
    all.extend(args);
    Running::start(&all)
}

fn client(node: &Running, args: &[&str]) -> Run {
    let server = node.address("rssl").to_string();
    let mut all = vec!["client", "--server", &server, "--seconds", "20"];
    all.extend(args);
    run(&all)
}

fn objects(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_client_gets_the_fields_that_the_source_published() {
    let (_source, node) = source_and_node(&["-S", "FEED", "-U", "0"]);
    let args = ["-S", "FEED", "TAPE1.X", "XXA=", "--json", "--exit-after-image"];
    let done = client(&node, &args);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let mut objects = objects(&done.out);
    objects.sort_by_key(|object| object["item"].to_string());
    assert_eq!(objects.len(), 2, "{}", done.out);
    let [tape, spot] = [&objects[0], &objects[1]];
    assert_eq!((&tape["item"], &tape["event"]), (&"TAPE1.X".into(), &"refresh".into()));
    assert_eq!(tape["service"], "FEED");
    assert_eq!(tape["state"]["stream"], "OPEN");
    assert_eq!(tape["state"]["data"], "OK");
    assert_eq!(tape["fields"]["DSPLY_NAME"], "TAPELINE ONE");
    assert_eq!(tape["fields"]["BID"], "101.25");
    assert_eq!(spot["fields"]["TRDPRC_1"], "1.0853");
}

#[test]
fn text_output_names_item_service_and_fields() {
    let (_source, node) = source_and_node(&["-S", "FEED", "-U", "0"]);
    let done = client(&node, &["TAPE1.X", "--exit-after-image"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(lines[0], "TAPE1.X FEED refresh OPEN OK NONE \"\"");
    let has_bid = lines
        .iter()
        .any(|line| line.split_whitespace().collect::<Vec<_>>() == ["BID", "22", "101.25"]);
    assert!(has_bid, "{}", done.out);
}

#[test]
fn updates_flow_for_any_name_and_carry_the_template() {
    let (_source, node) = source_and_node(&["-q", "TAPE2.X", "-U", "200"]);
    let done = client(&node, &["ANY.NAME", "--json", "--updates", "100"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let objects = objects(&done.out);
    assert_eq!(objects[0]["event"], "refresh");
    assert_eq!(objects[0]["fields"]["DSPLY_NAME"], "TAPELINE TWO");
    let updates: Vec<&Value> =
        objects.iter().filter(|object| object["event"] == "update").collect();
    assert_eq!(updates.len(), 100);
    let bids: BTreeSet<String> =
        updates.iter().map(|update| update["fields"]["BID"].to_string()).collect();
    assert!(bids.len() > 1, "prices move: {bids:?}");
}

#[test]
fn the_rate_is_what_was_typed_last() {
    let (mut source, node) = source_and_node(&["-U", "0"]);
    source.say("ur 500");
    source.log_until("rate changed");
    let done = client(&node, &["TAPE1.X", "--updates", "50", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
}

#[test]
fn a_snapshot_is_an_image_and_no_more() {
    let (_source, node) = source_and_node(&["-U", "1000"]);
    let done = client(&node, &["TAPE1.X", "--snapshot", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let objects = objects(&done.out);
    assert_eq!(objects.len(), 1, "{}", done.out);
    assert_eq!(objects[0]["state"]["stream"], "NON_STREAMING");
}

#[test]
fn a_view_has_only_the_fields_that_were_asked_for() {
    let (_source, node) = source_and_node(&["-U", "0"]);
    let done = client(&node, &["TAPE1.X", "--fields", "22,25", "--json", "--exit-after-image"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let objects = objects(&done.out);
    let fields = objects[0]["fields"].as_object().expect("fields");
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["BID", "ASK"]);
}

#[test]
fn an_item_of_a_domain_that_nobody_has_stays_without_an_image() {
    let (_source, node) = source_and_node(&["-S", "FEED", "-U", "0"]);
    let server = node.address("rssl").to_string();
    let args =
        ["client", "--server", &server, "-S", "FEED", "TAPE1.X", "-md", "9", "--seconds", "1"];
    let done = run(&args);
    assert_eq!(done.status, Some(1), "{}", done.out);
    assert_eq!(done.out, "TAPE1.X FEED status OPEN SUSPECT NONE \"Capability not supported\"\n");
    assert_eq!(done.err, "tapeline: 1 of 1 items got no image\n");
}

#[test]
fn a_non_interactive_provider_publishes_into_the_hub() {
    let node = node(&[]);
    let hub = node.address("ni").to_string();
    let mut source = Running::start(&[
        "source",
        "--connect",
        &hub,
        "-S",
        "NI",
        "-U",
        "300",
        "-I",
        "0",
        "TAPE1.X",
        "OWN.X",
    ]);
    source.log_until("connected");
    let done = client(&node, &["-S", "NI", "TAPE1.X", "OWN.X", "--updates", "60", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let images: BTreeSet<String> = objects(&done.out)
        .iter()
        .filter(|object| object["event"] == "refresh" && object["state"]["data"] == "OK")
        .map(|object| object["item"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(images, BTreeSet::from(["OWN.X".to_owned(), "TAPE1.X".to_owned()]));
}

#[test]
fn statistics_count_updates_and_latency() {
    let (_source, node) = source_and_node(&["-U", "1000", "-UL", "100"]);
    let done = client(&node, &["TAPE1.X", "XXB=", "--statistics", "--json", "--updates", "2500"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let objects = objects(&done.out);
    assert!(!objects.is_empty(), "{}", done.err);
    let last = objects.last().expect("some");
    assert_eq!(last["images"], 2);
    assert!(last["updatesPerSecond"].as_u64().expect("a rate") > 0);
    assert!(last["latencyUs"]["count"].as_u64().expect("a count") > 0);
}

#[test]
fn a_hub_and_a_server_of_their_own_meet_over_a_shared_driver() {
    let source = Running::start(&["source", "--listen", "127.0.0.1:0", "-I", "0", "-U", "200"]);
    let shared = tempfile::Builder::new().prefix("tapeline-test").tempdir_in("/dev/shm");
    let shared = shared.expect("shared memory");
    let driver = shared.path().join("driver");
    let driver = arg(&driver);
    let address = source.address("rssl").to_string();
    let _hub = Running::start(&[
        "hub",
        "--source",
        &address,
        "--backbone-dir",
        driver,
        "--ni-port",
        "off",
    ]);
    let server = Running::start(&[
        "server",
        "--rssl-port",
        "0",
        "--backbone-driver",
        "external",
        "--backbone-dir",
        driver,
    ]);
    let done = client(&server, &["TAPE1.X", "--updates", "20", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
}

#[test]
fn shards_share_a_port_and_serve_alike() {
    let source = Running::start(&["source", "--listen", "127.0.0.1:0", "-I", "0", "-U", "200"]);
    let folder = folder();
    let path = file(&folder, "shards.toml", "[server]\nshards = 3\n");
    let address = source.address("rssl").to_string();
    for backbone in ["local", "aeron:ipc"] {
        let own = ["--source", &address, "--config", arg(&path), "--backbone", backbone];
        let node = node(&own);
        for _ in 0..6 {
            let done = client(&node, &["TAPE1.X", "--updates", "5", "--json"]);
            assert_eq!(done.status, Some(0), "{backbone}: {}", done.err);
        }
        let (status, log) = node.terminate();
        assert_eq!(status, Some(0), "{log}");
    }
}

#[test]
fn a_data_file_is_what_every_item_gets() {
    let folder = folder();
    let text = "[image]\nDSPLY_NAME = \"OWN\"\nBID = \"45.10\"\n\n\
                [[update]]\ntype = \"QUOTE\"\n[update.fields]\nBID = \"45.12\"\n";
    let path = file(&folder, "own.toml", text);
    let (_source, node) = source_and_node(&["-Q", arg(&path), "-U", "100"]);
    let done = client(&node, &["ANY.X", "--updates", "1", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let objects = objects(&done.out);
    assert_eq!(objects[0]["fields"], serde_json::json!({ "DSPLY_NAME": "OWN", "BID": "45.10" }));
    assert_eq!(objects[1]["fields"], serde_json::json!({ "BID": "45.12" }));
    assert_eq!(objects[1]["detail"], "QUOTE");
}

#[test]
fn a_recording_is_played_from_the_first_request_on() {
    let folder = folder();
    let path = folder.path().join("market.dbn");
    std::fs::write(&path, recording()).expect("a file can be written");
    let (_source, node) = source_and_node(&["--recording", arg(&path), "--speed", "1000"]);
    let done = client(&node, &["ESH4", "--updates", "3", "--json"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let objects = objects(&done.out);
    let last = &objects.last().expect("updates")["fields"];
    assert_eq!((&last["BID"], &last["BIDSIZE"]), (&"4799.25".into(), &"1".into()), "{last}");
    // Who comes later gets the book as it is then.
    let done = client(&node, &["ESH4", "-md", "MARKET_BY_PRICE", "--exit-after-image"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    for level in ["4799.00B", "4799.25B", "4799.50A"] {
        assert!(done.out.contains(level), "{level} is not in\n{}", done.out);
    }
}

/// A recording of three orders.
fn recording() -> Vec<u8> {
    use dbn::encode::EncodeRecord;
    use dbn::encode::dbn::Encoder;
    use dbn::{FlagSet, MboMsg, Metadata, RecordHeader, SType, Schema, SymbolMapping};
    const NANO: i64 = 1_000_000_000;
    let date =
        |day| time::Date::from_calendar_date(2023, time::Month::December, day).expect("a day");
    let interval = dbn::MappingInterval {
        start_date: date(24),
        end_date: date(26),
        symbol: "17077".to_owned(),
    };
    let mapping = SymbolMapping { raw_symbol: "ESH4".to_owned(), intervals: vec![interval] };
    let metadata = Metadata::builder()
        .dataset("GLBX.MDP3".to_owned())
        .schema(Some(Schema::Mbo))
        .start(0)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .mappings(vec![mapping])
        .build();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, &metadata).expect("metadata");
    let orders = [
        (b'B', 4799 * NANO, 3),
        (b'A', 4799 * NANO + NANO / 2, 2),
        (b'B', 4799 * NANO + NANO / 4, 1),
    ];
    for (order_id, (side, price, size)) in (1..).zip(orders) {
        let ts_event = 1_703_462_400_000_000_000 + order_id;
        let mut flags = FlagSet::empty();
        flags.set_last();
        let record = MboMsg {
            hd: RecordHeader::new::<MboMsg>(dbn::enums::rtype::MBO, 1, 17077, ts_event),
            order_id,
            price,
            size,
            flags,
            channel_id: 0,
            action: b'A' as _,
            side: side as _,
            ts_recv: ts_event,
            ts_in_delta: 0,
            sequence: 0,
        };
        encoder.encode_record(&record).expect("a record");
    }
    bytes
}

#[test]
fn the_demonstration_shows_quotes_and_ends_well() {
    let done = run(&["demo", "--seconds", "2"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(done.out.lines().any(|line| line.starts_with("TAPE1.X")), "{}", done.out);
    assert!(done.out.contains("updates/s"), "{}", done.out);
    let (_, summary) = done.out.split_once("\nSeen in ").expect(&done.out);
    for told in ["  items ", "  updates ", "  latency   p50 ", "client --service FEED"] {
        assert!(summary.contains(told), "{told}: {summary}");
    }
}
