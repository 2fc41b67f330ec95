//! `tapeline decode`, run as users run it.

mod captures;
mod faults;
mod support;

use serde_json::{Value, json};
use tapeline_golden::{text, vectors};
use tapeline_omm::dictionary::FieldDictionary;

use self::support::{decode, file};

/// The bytes of a vector, in hexadecimal.
fn hex_of(file: &str, name: &str) -> String {
    let vector = vectors(file).into_iter().find(|vector| vector["name"] == name);
    let vector = vector.unwrap_or_else(|| panic!("no vector {name}"));
    vector["hex"].as_str().expect("bytes").to_owned()
}

#[test]
fn every_golden_vector_passes_its_check() {
    let files = ["primitives", "containers", "messages", "rdm_messages", "malformed", "rmtes"];
    let mut lines: String = files.iter().map(|file| text(file)).collect();
    lines.push_str(&text("transport_eta-nak"));
    let run = decode(&["--vectors", "-", "--check"], lines.as_bytes());
    assert_eq!(
        run.out,
        "4 skipped: transport frames are no codec vectors\n1593 passed, 0 failed\n"
    );
    assert_eq!((run.status, run.err.as_str()), (0, ""));
}

#[test]
fn a_check_tells_each_difference_and_fails() {
    let lines = [
        r#"{"name":"good","type":"INT","hex":"05","value":{"type":"INT","v":"5"}}"#,
        r#"{"name":"value","type":"INT","hex":"05","value":{"type":"INT","v":"6"}}"#,
        r#"{"name":"bytes","type":"INT","hex":"0005","value":{"type":"INT","v":"5"}}"#,
        r#"{"name":"canonical","type":"INT","hex":"0005","canonical_hex":"05","value":{"type":"INT","v":"5"}}"#,
        "{",
    ];
    let run = decode(&["--vectors", "-", "--check"], lines.join("\n").as_bytes());
    assert_eq!(
        run.out,
        "value: value.v is \"5\" instead of \"6\"\n\
         bytes: written bytes differ from hex at byte 0: 05 instead of 0005\n\
         line 5: the line is not a JSON object: EOF while parsing an object at line 1 column 1\n\
         2 passed, 3 failed\n"
    );
    assert_eq!(run.status, 1);
}

#[test]
fn vectors_become_json_line_by_line_whatever_is_wrong_with_some() {
    let lines = [
        r#"{"name":"a","kind":"primitive","type":"REAL","hex":"0c11a0","more":"ignored"}"#,
        "no json",
        r#"{"name":"b","kind":"primitive","type":"INT","hex":"0x"}"#,
        "",
        r#"{"name":"c","kind":"primitive","type":"ENUM","hex":"000001"}"#,
        r#"{"name":"d","kind":"container","type":"FIELD_LIST","hex":"020100","context":{"setDefs":{"kind":"FIELD","defs":[{"id":0,"entries":[{"fid":1,"type":"UINT_2"}]}]}}}"#,
        r#"{"name":"e","kind":"transport","hex":"000302"}"#,
    ];
    let run = decode(&["--vectors", "-", "--json"], lines.join("\n").as_bytes());
    assert_eq!(
        run.out.lines().collect::<Vec<_>>(),
        [
            r#"{"name":"a","value":{"type":"REAL","hint":12,"v":"4512"}}"#,
            r#"{"name":null,"error":"line 2: the line is not a JSON object: expected ident at line 1 column 2"}"#,
            r#"{"name":"b","error":"the key \"hex\" is not a string of pairs of hexadecimal digits"}"#,
            r#"{"name":"c","error":"ENUM cannot have 3 bytes (byte 0, in the outermost data)"}"#,
            r#"{"name":"d","value":{"type":"FIELD_LIST","flags":2,"set":[{"fid":1,"st":"UINT_2","data":{"type":"UINT","v":"256"}}]}}"#,
            r#"{"name":"e","error":"transport frames are no codec vectors; decode them as a capture"}"#,
        ]
    );
    assert_eq!(run.status, 0);
}

#[test]
fn golden_vectors_become_their_values() {
    let path = file("rdm_messages.jsonl", text("rdm_messages").as_bytes());
    let run = decode(&["--json", "--vectors", path.to_str().expect("UTF-8")], b"");
    let lines: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let want = vectors("rdm_messages");
    assert_eq!(lines.len(), want.len());
    for (line, want) in lines.iter().zip(&want) {
        assert_eq!(*line, json!({"name": want["name"], "value": want["value"]}));
    }
}

#[test]
fn a_message_reads_like_a_page() {
    let run = decode(&[], hex_of("rdm_messages", "rdm/marketprice/refresh/pre").as_bytes());
    assert_eq!(run.out, include_str!("market_price.txt"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let run = decode(&[], hex_of("rdm_messages", "rdm/mbo/refresh-setdefs/pre").as_bytes());
    assert_eq!(run.out, include_str!("market_by_order.txt"));
}

#[test]
fn several_lines_are_several_messages() {
    let close = "00080506000000050004";
    let input = format!("{close}\n00 08 05 06 00 00 00 06 00 04\n");
    let run = decode(&[], input.as_bytes());
    let want = "#1\nCLOSE MARKET_PRICE stream 5\n  FIELD_LIST (empty)\n\
                #2\nCLOSE MARKET_PRICE stream 6\n  FIELD_LIST (empty)\n";
    assert_eq!(run.out, want);
    let run = decode(&["--json", "--input", "hex"], input.as_bytes());
    let lines: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[1]["message"], 2);
    assert_eq!(lines[1]["value"]["streamId"], 6);
}

#[test]
fn binary_input_is_told_from_its_bytes() {
    let close = [0, 8, 5, 6, 0, 0, 0, 5, 0, 0];
    let run = decode(&[], &close);
    assert_eq!(run.out, "CLOSE MARKET_PRICE stream 5\n");
    let mut frames = vec![0, 13, 2];
    frames.extend(close);
    frames.extend([0, 3, 2, 0, 15, 0x12, 0, 10]);
    frames.extend(close);
    let run = decode(&[], &frames);
    let want = "#1 data, 13 bytes\n  CLOSE MARKET_PRICE stream 5\n#2 ping, 3 bytes\n\
                #3 packed data, 15 bytes\n  CLOSE MARKET_PRICE stream 5\n";
    assert_eq!(run.out, want);
    let run = decode(&["--type", "real"], b"0c11a0");
    assert_eq!(run.out, "45.12\n");
}

#[test]
fn what_comes_before_a_fault_is_shown() {
    let quote = hex_of("rdm_messages", "rdm/marketprice/update-quote/pre");
    let cut = &quote[..quote.len() - 2];
    let run = decode(&[], cut.as_bytes());
    let fault = run.out.lines().find(|line| line.starts_with("fault: ")).expect("a fault");
    assert!(fault.starts_with("fault: field value needs "), "{fault}");
    assert!(fault.ends_with(", in MSG/FIELD_LIST)"), "{fault}");
    let before = "UPDATE MARKET_PRICE stream 5\n  type QUOTE\n  FIELD_LIST\n    BID      22  42.13\n\
                  \x20   BIDSIZE  30  10\n    ASK      25  42.15\n    ASKSIZE  31  3\nfault: ";
    assert!(run.out.starts_with(before), "{}", run.out);
    assert!(run.out.contains(&format!("\nbytes: {}\n", &cut)), "{}", run.out);
    assert_eq!(run.status, 1);
    let run = decode(&["--json"], b"0009ff");
    assert_eq!(
        run.out,
        "{\"message\":1,\"error\":\"message header needs 9 bytes, 1 are left (byte 2, in MSG)\"}\n"
    );
    assert_eq!(run.status, 1);
}

#[test]
fn what_cannot_be_done_is_told_with_a_way_out() {
    let run = decode(&["/nonexistent/file"], b"");
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("tapeline: cannot read /nonexistent/file: "), "{}", run.err);
    let run = decode(&[], b"");
    assert_eq!(
        (run.status, run.err.as_str()),
        (
            2,
            "tapeline: standard input is empty; give hexadecimal text, a message, frames or a \
             capture\n"
        )
    );
    let run = decode(&["--input", "hex"], b"00\n0g");
    assert_eq!(
        (run.status, run.err.as_str()),
        (2, "tapeline: standard input: line 2, column 2: 'g' is no hexadecimal digit\n")
    );
    let run = decode(&[], b"0x0009");
    assert!(run.err.ends_with("line 1, column 2: 'x' is no hexadecimal digit\n"), "{}", run.err);
    let run = decode(&[], text("messages").as_bytes());
    assert_eq!(
        (run.status, run.err.as_str()),
        (2, "tapeline: standard input holds JSON; vectors are decoded with --vectors FILE\n")
    );
    let run = decode(&["--type", "PRICE"], b"");
    assert!(run.err.contains("use a name like MSG, FIELD_LIST, MAP or REAL"), "{}", run.err);
    let run = decode(&["--check"], b"");
    assert!(run.err.contains("--vectors <FILE>"), "{}", run.err);
}

#[test]
fn another_dictionary_gives_other_names() {
    let builtin = FieldDictionary::builtin();
    let fields = builtin.print_fields().replace("\nBID ", "\nBIETE ");
    assert_ne!(fields, builtin.print_fields());
    let fields = file("own.fields", fields.as_bytes());
    let enums = file("own.enums", builtin.print_enums().as_bytes());
    let [fields, enums] = [&fields, &enums].map(|path| path.to_str().expect("UTF-8"));
    let update = b"0009040600000005000401 08 0001 0016 03 0c11a0";
    let input = update.split(|byte| *byte == b' ').collect::<Vec<_>>().concat();
    let own = decode(&["--dictionary", fields, "--enums", enums], &input);
    let plain = decode(&[], &input);
    assert_eq!(own.err, "");
    assert!(plain.out.contains("BID  22  45.12"), "{}", plain.out);
    assert!(own.out.contains("BIETE"), "{}", own.out);
    let run = decode(&["--dictionary", fields], b"00");
    assert!(run.err.contains("--enums <FILE>"), "{}", run.err);
    let broken = file("broken.fields", b"BID \"bid\" 22 NULL PRICES 17 REAL 7\n");
    let broken = broken.to_str().expect("UTF-8");
    let run = decode(&["--dictionary", broken, "--enums", enums], b"00");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("broken.fields: field dictionary line 1, column"), "{}", run.err);
}

#[test]
fn a_pipe_has_no_colours() {
    let run = decode(&[], b"0008050600000005 0000");
    assert!(!run.out.contains('\x1b'), "{:?}", run.out);
}
