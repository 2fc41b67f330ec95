//! What is wrong with an input or its surroundings costs itself only, and is told.

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tapeline_golden::vectors;
use tapeline_omm::dictionary::FieldDictionary;

use super::support::{Run, decode, file, packets, pcap, start};

const UPDATE: &str = "00090406000000050004080800010016030c11a0";
const CLOSE: &str = "0008050600000005 0000";
const EMPTY: &str = "tapeline: standard input is empty; give hexadecimal text, a message, frames or \
                     a capture\n";

fn objects(run: &Run) -> Vec<Value> {
    run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The bytes of hexadecimal text.
fn bytes(text: &str) -> Vec<u8> {
    tapeline_golden::unhex(&text.replace(' ', ""))
}

#[test]
fn a_bad_line_among_many_is_told_and_the_others_are_shown() {
    for (bad, told) in [
        ("0009", "message header needs 9 bytes"),
        ("0g", "line 1000, column 2: 'g' is no hexadecimal digit"),
        ("000", "line 1000: an odd number of hexadecimal digits"),
    ] {
        let mut lines = vec![UPDATE; 1500];
        lines[999] = bad;
        let run = decode(&["--json"], lines.join("\n").as_bytes());
        let objects = objects(&run);
        assert_eq!((objects.len(), run.status), (1500, 1), "{bad}");
        for (number, object) in (1..).zip(&objects) {
            assert_eq!(object["message"], number);
            assert_eq!(object.get("error").is_some(), number == 1000, "{object}");
        }
        let error = objects[999]["error"].as_str().expect("an error");
        assert!(error.starts_with(told), "{error}");
        let run = decode(&[], lines.join("\n").as_bytes());
        assert_eq!(run.out.matches("UPDATE MARKET_PRICE").count(), 1499, "{bad}");
        let told = format!("#1000\nfault: {told}");
        assert!(run.out.contains(&told), "{bad}");
        assert_eq!(run.status, 1);
    }
}

#[test]
fn bytes_behind_the_end_are_a_fault_beside_the_value() {
    let whole = decode(&[], UPDATE.as_bytes());
    let run = decode(&[], format!("{UPDATE}aabb").as_bytes());
    let told = "fault: 2 bytes behind the end of the FIELD_LIST (byte 20)\nbytes: aabb\n";
    assert_eq!((run.out, run.status), (whole.out + told, 1));
    let run = decode(&["--json"], format!("{UPDATE}aabb").as_bytes());
    let whole = objects(&decode(&["--json"], UPDATE.as_bytes()));
    let fault = "2 bytes behind the end of the FIELD_LIST (byte 20)";
    let want = json!({"message": 1, "value": whole[0]["value"], "error": fault});
    assert_eq!((objects(&run), run.status), (vec![want], 1));
    let run = decode(&["--type", "field_list"], UPDATE.as_bytes());
    assert!(run.out.contains("19 bytes behind the end of the FIELD_LIST (byte 1)"), "{}", run.out);
    assert_eq!(run.status, 1);
}

#[test]
fn vectors_leave_bytes_behind_the_end_alone() {
    let line = r#"{"name":"a","type":"FIELD_LIST","hex":"00aabb"}"#;
    let run = decode(&["--vectors", "-", "--json"], line.as_bytes());
    assert_eq!(run.out, "{\"name\":\"a\",\"value\":{\"type\":\"FIELD_LIST\",\"flags\":0}}\n");
    assert_eq!(run.status, 0);
}

#[test]
fn faults_of_vectors_are_output_and_the_help_says_so() {
    let line = b"{\"name\":\"a\",\"type\":\"QOS\",\"hex\":\"62\"}";
    for args in [&["--vectors", "-", "--json"][..], &["--vectors", "-"]] {
        let run = decode(args, line);
        assert!(run.out.contains("time info needs 2 bytes"), "{}", run.out);
        assert_eq!(run.status, 0);
    }
    assert_eq!(decode(&["--vectors", "-", "--check"], line).status, 1);
    let help = decode(&["--help"], b"").out.split_whitespace().collect::<Vec<_>>().join(" ");
    let want = "With --vectors and without --check, what is wrong with a vector is part of the \
                output, and the status is 0.";
    assert!(help.contains(want), "{help}");
}

#[test]
fn to_have_checked_nothing_is_no_success() {
    let run = decode(&["--vectors", "-", "--check"], b" \n");
    let want = "standard input holds no codec vector to check\n0 passed, 0 failed\n";
    assert_eq!((run.out.as_str(), run.status), (want, 1));
    let run =
        decode(&["--vectors", "-", "--check"], b"{\"kind\":\"transport\",\"hex\":\"000302\"}");
    assert!(run.out.ends_with(want), "{}", run.out);
    assert_eq!(run.status, 1);
}

#[test]
fn nobody_need_read_the_standard_error() {
    let mut child = start(&[]);
    drop(child.stderr.take());
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("the program ends").code(), Some(2));
    let records = vectors("transport_ema-socket-none");
    let whole = pcap(&packets(&records, 1460));
    let cut = file("cut.pcap", &whole[..whole.len() - 10]);
    let mut child = start(&["--input", "capture", "-"]);
    drop(child.stderr.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = std::fs::read(cut).expect("the file");
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the program ends");
    feeder.join().expect("the feeder ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stdout.is_empty());
}

/// A session that goes on with pings.
fn pings(count: usize) -> Vec<u8> {
    let mut records = vectors("transport_ema-socket-none");
    records.truncate(4);
    let ping = json!({"direction": "server->client", "hex": "000302"});
    records.extend(std::iter::repeat_n(ping, count));
    pcap(&packets(&records, 1460))
}

#[test]
fn a_live_capture_is_shown_frame_by_frame() {
    let mut child = start(&[]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&pings(0)).expect("the program reads");
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let (sender, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        stdout.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    // The capture is still open.
    let line = lines.recv_timeout(Duration::from_secs(60)).expect("a line in time");
    assert!(line.starts_with("connection 1: "), "{line}");
    drop(stdin);
    reader.join().expect("the reader ends");
    assert_eq!(child.wait().expect("the program ends").code(), Some(0));
}

#[test]
fn a_capture_is_not_read_on_when_nobody_reads_the_output() {
    let mut child = start(&[]);
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let all = pings(60_000);
    let (start, rest) = all.split_at(all.len() / 100);
    stdin.write_all(start).expect("the program reads");
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    drop(stdout);
    // Far more than the pipe holds: someone who reads on takes it all.
    let error = stdin.write_all(rest).expect_err("the program is gone");
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    assert_eq!(child.wait().expect("the program ends").code(), Some(0));
}

#[test]
fn a_given_type_rules_out_frames() {
    // A ping frame, and the bytes of a text.
    let run = decode(&["--type", "buffer"], &[0, 3, 2]);
    assert!(run.out.contains("000302"), "{}", run.out);
    assert!(!run.out.contains("ping"), "{}", run.out);
    let run = decode(&["--type", "buffer"], b"000302");
    assert!(run.out.contains("000302"), "{}", run.out);
    assert!(decode(&[], b"000302").out.contains("ping"));
    for (form, input) in [("frames", vec![0, 3, 2]), ("capture", pings(1))] {
        let run = decode(&["--type", "map", "--input", form], &input);
        let want = "tapeline: --type is for hexadecimal and binary data, but standard input is \
                    taken as ";
        assert_eq!(run.status, 2);
        assert!(run.err.starts_with(want) && run.err.contains(form), "{}", run.err);
    }
    assert_eq!(decode(&["--type", "map"], &pings(1)).status, 2);
}

#[test]
fn a_dictionary_without_fields_is_refused_and_one_without_tables_is_told() {
    let nothing = file("nothing.def", b"");
    let nothing = nothing.to_str().expect("UTF-8");
    let run = decode(&["--dictionary", nothing, "--enums", nothing], UPDATE.as_bytes());
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("tapeline: no field in "), "{}", run.err);
    let fields = file("full.fields", FieldDictionary::builtin().print_fields().as_bytes());
    let fields = fields.to_str().expect("UTF-8");
    let run = decode(&["--dictionary", fields, "--enums", nothing], UPDATE.as_bytes());
    assert_eq!(run.status, 0);
    assert!(run.err.contains("enumerations are shown as numbers"), "{}", run.err);
}

#[test]
fn an_input_of_blanks_is_empty() {
    for input in ["", " ", "\n\t\r\n", "\u{FEFF}\n"] {
        let run = decode(&[], input.as_bytes());
        assert_eq!((run.status, run.err.as_str()), (2, EMPTY), "{input:?}");
    }
}

#[test]
fn a_byte_order_mark_before_hexadecimal_means_nothing() {
    let run = decode(&[], format!("\u{FEFF}{CLOSE}\r\n").as_bytes());
    assert_eq!((run.out.as_str(), run.status), ("CLOSE MARKET_PRICE stream 5\n", 0));
}

#[test]
fn no_line_stays_blank_before_a_fault() {
    let mut frame = vec![0, 5, 2];
    frame.extend([0, 9]);
    frame.extend([&[0, 13, 2][..], &bytes(CLOSE)].concat());
    let run = decode(&[], &frame);
    assert!(run.out.starts_with("#1 data, 5 bytes\n  fault: message header needs"), "{}", run.out);
    assert!(run.out.contains("CLOSE MARKET_PRICE stream 5\n"), "{}", run.out);
    let line = br#"{"name":"a","type":"QOS","hex":"62"}"#;
    let run = decode(&["--vectors", "-"], line);
    assert!(run.out.starts_with("a\n  fault: "), "{:?}", run.out);
}
