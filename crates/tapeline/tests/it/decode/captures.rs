//! Captured sessions, made of the recorded ones.

use serde_json::Value;
use tapeline_golden::{transport_captures, vectors};

use super::support::{Run, decode, file, packets, pcap, pcapng};

/// The values of a recorded session by direction.
fn recorded(records: &[Value], direction: &str) -> Vec<Value> {
    let records = records.iter().filter(|record| record["direction"] == direction);
    let messages = records.filter_map(|record| record["messages"].as_array().cloned());
    messages.flatten().filter_map(|message| message.get("value").cloned()).collect()
}

/// The values that the program shows, by direction.
fn shown(run: &Run, direction: &str) -> Vec<Value> {
    let lines = run.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines
        .filter(|line| line["direction"] == direction)
        .map(|mut line| line["value"].take())
        .collect()
}

fn assert_all_shown(run: &Run, records: &[Value], about: &str) {
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{about}");
    for direction in ["client->server", "server->client"] {
        let want = recorded(records, direction);
        assert!(!want.is_empty(), "{about}");
        assert_eq!(shown(run, direction), want, "{about} {direction}");
    }
}

#[test]
fn sessions_of_the_vendors_sdk_are_decoded_from_a_pcap() {
    for name in transport_captures() {
        if name.contains("ema") && !name.contains("json") {
            let records = vectors(&name);
            let file = pcap(&packets(&records, 500));
            assert_all_shown(&decode(&["--json"], &file), &records, &name);
            let file = pcapng(&packets(&records, 1460));
            assert_all_shown(&decode(&["--json"], &file), &records, &name);
        }
    }
}

#[test]
fn order_and_repetition_of_packets_do_not_matter() {
    let name = "transport_ema-socket-zlib";
    let records = vectors(name);
    let mut mixed = packets(&records, 40);
    let repeated: Vec<_> = mixed.iter().step_by(3).cloned().collect();
    // Neighbours of one direction change places; every third comes again.
    for at in (4..mixed.len() - 1).step_by(2) {
        if mixed[at].from_client == mixed[at + 1].from_client {
            mixed.swap(at, at + 1);
        }
    }
    for (at, packet) in repeated.into_iter().enumerate() {
        mixed.insert(at * 4 + 1, packet);
    }
    assert_all_shown(&decode(&["--json", "-"], &pcap(&mixed)), &records, name);
}

#[test]
fn a_session_reads_frame_by_frame() {
    let records = vectors("transport_ema-socket-none");
    let path = file("session.pcap", &pcap(&packets(&records[..6], 1460)));
    let run = decode(&[path.to_str().expect("UTF-8")], b"");
    assert_eq!(run.out, include_str!("session.txt"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
}

#[test]
fn missing_packets_are_told_and_cost_one_direction() {
    let records = vectors("transport_ema-socket-none");
    let mut packets = packets(&records, 1460);
    let lost = packets.iter().skip(8).position(|packet| !packet.from_client);
    packets.remove(8 + lost.expect("a packet of the server"));
    let run = decode(&["--json"], &pcap(&packets));
    assert_eq!(run.status, 1);
    assert!(run.out.contains("bytes are missing in the capture"), "{}", run.out);
    let direction = "client->server";
    assert_eq!(shown(&run, direction), recorded(&records, direction));
}

#[test]
fn a_capture_without_a_session_says_what_it_holds() {
    let mut records = vectors("transport_ema-socket-none");
    records.truncate(1);
    records[0]["hex"] = Value::from("0123456789abcdef0123");
    let run = decode(&[], &pcap(&packets(&records, 100)));
    assert_eq!(run.status, 2);
    let want = "tapeline: standard input: no RSSL session in the capture (1 TCP connections of \
                other kinds, 0 packets without readable TCP)";
    assert!(run.err.starts_with(want), "{}", run.err);
    let run = decode(&["--input", "capture"], b"nothing of the kind");
    assert_eq!(
        (run.status, run.err.as_str()),
        (2, "tapeline: standard input: this is no pcap or pcapng file\n")
    );
}

#[test]
fn a_capture_that_is_cut_off_is_shown_as_far_as_it_goes() {
    let records = vectors("transport_ema-socket-lz4");
    let whole = pcap(&packets(&records, 1460));
    let run = decode(&["--json"], &whole[..whole.len() - 10]);
    assert_eq!(run.status, 1);
    assert!(run.err.contains("ends in the middle of a packet"), "{}", run.err);
    assert!(!shown(&run, "server->client").is_empty());
}
