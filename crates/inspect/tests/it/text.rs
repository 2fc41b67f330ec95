//! The text for people.

use tapeline_inspect::{Inspector, Limits, Palette, to_bytes};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Encoded};

fn printed(data_type: DataType, bytes: &[u8]) -> (String, Option<String>) {
    let mut text = String::new();
    let data = Encoded::new(data_type, bytes);
    let inspector = Inspector::new(FieldDictionary::builtin());
    let error = inspector.print(&data, None, (Palette::Plain, 0), &mut text).err();
    (text, error.map(|error| error.to_string()))
}

fn text_of(value: &serde_json::Value) -> String {
    let bytes = to_bytes(value).expect("a well-formed value");
    let name = value["type"].as_str().and_then(DataType::from_name);
    let (text, error) = printed(name.expect("a type"), &bytes);
    assert_eq!(error, None);
    text
}

#[test]
fn primitives_read_as_people_write_them() {
    for (data_type, bytes, text) in [
        (DataType::INT, &[0xFF][..], "-1"),
        (DataType::REAL, &[0x0C, 0x11, 0xA0], "45.12"),
        (DataType::REAL, &[0x19, 0x03, 0x1B], "99 3/8"),
        (DataType::REAL, &[0x21], "inf"),
        (DataType::DATE, &[17, 3, 0x07, 0xE9], "2025-03-17"),
        (DataType::TIME, &[12, 34, 56], "12:34:56"),
        (DataType::DATETIME, &[17, 3, 0x07, 0xE9, 12, 34], "2025-03-17T12:34"),
        (DataType::DATETIME, &[0, 0, 0, 0, 12, 34], "12:34"),
        (
            DataType::QOS,
            &[0x67, 0x00, 0x0F, 0x01, 0x00],
            "DELAYED TIME_CONFLATED delay 15 s every 256 ms dynamic",
        ),
        (DataType::STATE, &[0x22, 0x01, 0x02, b'n', b'o'], "CLOSED SUSPECT NOT_FOUND \"no\""),
        (DataType::ARRAY, &[4, 1, 0, 2, 7, 8], "[7, 8]"),
        (DataType::BUFFER, &[0, 1], "0001"),
        (DataType::BUFFER, b"text", "\"text\""),
        (DataType::RMTES_STRING, b"Caf\xE9", "\"Café\""),
        (DataType::RMTES_STRING, b"\x1b[3`x", "\"\\u{1b}[3`x\""),
        (DataType::ASCII_STRING, b"say \"hi\"", "\"say \\\"hi\\\"\""),
        (DataType::UINT, &[], "(blank)"),
    ] {
        assert_eq!(printed(data_type, bytes), (format!("{text}\n"), None), "{bytes:?}");
    }
}

#[test]
fn a_fault_ends_the_text_where_it_is() {
    let list = [8, 0, 3, 0, 22, 3, 0x0C, 0x11, 0xA0, 0, 25, 3, 0x0C];
    let (text, error) = printed(DataType::FIELD_LIST, &list);
    assert_eq!(text, "FIELD_LIST\n  BID  22  45.12\n");
    let want = "field value needs 3 bytes, 1 are left (byte 12, in FIELD_LIST)";
    assert_eq!(error.as_deref(), Some(want));
}

#[test]
fn all_that_is_in_an_entry_is_shown() {
    let value = serde_json::json!({
        "type": "VECTOR", "flags": 31, "containerType": "ELEMENT_LIST",
        "setDefs": {"kind": "ELEMENT", "defs": [
            {"id": 2, "entries": [{"name": "A", "type": "UINT_1"}]}]},
        "summary": {"type": "ELEMENT_LIST", "empty": true},
        "hint": 9,
        "entries": [
            {"action": 2, "index": 0, "permHex": "0301",
             "data": {"type": "ELEMENT_LIST", "listNum": 4, "setId": 2,
                      "set": [{"name": "A", "st": "UINT_1", "data": {"type": "UINT", "v": "7"}}],
                      "std": [{"name": "Long name", "data": {"type": "NO_DATA"}}]}},
            {"action": 3, "index": 1},
            {"action": 9, "index": 2, "data": {"type": "ELEMENT_LIST", "setId": 5, "setHex": "aa"}},
        ],
    });
    let want = "\
VECTOR of ELEMENT_LIST about 9 in all sortable
  set definition 2 A UINT_1
  summary ELEMENT_LIST (empty)
  SET [0] permission data 0301 ELEMENT_LIST template 4 set 2
    A          UINT_1  7
    Long name  NO_DATA
  CLEAR [1]
  9 [2] ELEMENT_LIST set 5
    set data without definition aa
";
    assert_eq!(text_of(&value), want);
}

#[test]
fn requests_posts_and_acks_show_their_parts() {
    let request = serde_json::json!({
        "type": "MSG", "class": "REQUEST", "domain": 6, "streamId": 5, "flags": 0x0AC6,
        "containerType": "OPAQUE",
        "priority": {"class": 1, "count": 2},
        "qos": {"type": "QOS", "timeliness": 1, "rate": 1, "dynamic": false},
        "worstQos": {"type": "QOS", "timeliness": 2, "rate": 2, "dynamic": false},
        "key": {"serviceId": 1, "name": "TRI.N", "nameType": 1, "identifier": -3},
        "payload": {"type": "OPAQUE", "hex": "00ff"},
    });
    let want = "\
REQUEST MARKET_PRICE stream 5 STREAMING PAUSE HAS_BATCH
  priority class 1 count 2
  qos REALTIME TICK_BY_TICK
  worst qos DELAYED_UNKNOWN JIT_CONFLATED
  key service 1 name \"TRI.N\" name type 1 identifier -3
  OPAQUE 00ff
";
    assert_eq!(text_of(&request), want);
    let post = serde_json::json!({
        "type": "MSG", "class": "POST", "domain": 200, "streamId": 1, "flags": 0x0860 | 0x02 | 0x0200,
        "containerType": "MSG",
        "postUserInfo": {"addr": 0x7F00_0001, "id": 12}, "postId": 3, "postUserRights": 5,
        "payload": {
            "type": "MSG", "class": "ACK", "domain": 200, "streamId": 1, "containerType": "NO_DATA",
            "ackId": 3, "nakCode": 10, "text": "no such item", "seqNum": 8,
        },
    });
    let want = "\
POST 200 stream 1 POST_COMPLETE ACK 0x0800
  posted by 127.0.0.1 id 12
  post id 3
  user rights CREATE MODIFY_PERM
  ACK 200 stream 1
    sequence 8
    ack id 3
    nak SYMBOL_UNKNOWN
    text \"no such item\"
";
    assert_eq!(text_of(&post), want);
}

#[test]
fn errors_of_values_name_their_place() {
    let error = |value: serde_json::Value| to_bytes(&value).expect_err("an error").to_string();
    let list = |entry: serde_json::Value| {
        serde_json::json!({"type": "MAP", "keyType": "UINT", "containerType": "FIELD_LIST", "entries": [
            {"action": 2, "key": {"type": "UINT", "v": "1"}, "data": {"type": "FIELD_LIST", "std": [entry]}}]})
    };
    let at = "value.entries[0].data.std[0]";
    for (entry, text) in [
        (serde_json::json!({"fid": 70000, "data": {}}), ".fid: 70000 is outside -32768 to 32767"),
        (serde_json::json!({"fid": 1}), ": the key \"data\" is missing"),
        (
            serde_json::json!({"fid": 1, "data": {"type": "INTEGER"}}),
            ".data.type: \"INTEGER\" is the name of no data type",
        ),
        (
            serde_json::json!({"fid": 1, "data": {"type": "INT", "v": true}}),
            ".data.v: an integer must be here, found true",
        ),
        (
            serde_json::json!({"fid": 1, "data": {"type": "BUFFER", "hex": "0"}}),
            ".data.hex: pairs of hexadecimal digits must be here, found \"0\"",
        ),
        (
            serde_json::json!({"fid": 1, "data": {"type": "TIME", "len": 2, "hour": 1, "minute": 1, "second": 1, "ms": 0, "us": 0, "ns": 0}}),
            ".data: a TIME of 2 bytes cannot hold this value",
        ),
        (
            serde_json::json!({"fid": 1, "data": {"type": "ARRAY", "primitive": "INT", "itemLength": 1, "items": [{"type": "INT", "v": "400"}]}}),
            ".data.items[0]: a value of a fixed size is out of range",
        ),
        (
            serde_json::json!({"fid": 1, "data": {"type": "FIELD_LIST", "flags": 1, "std": []}}),
            ".data.flags: the flags are 1, but the parts that are there make 8",
        ),
    ] {
        assert_eq!(error(list(entry)), format!("{at}{text}"));
    }
    let mut deep = serde_json::json!({"type": "SERIES", "containerType": "NO_DATA", "entries": []});
    for _ in 0..20 {
        deep = serde_json::json!({"type": "SERIES", "containerType": "SERIES", "entries": [{"data": deep}]});
    }
    let text = error(deep);
    assert!(text.ends_with("more than 16 containers inside each other"), "{text}");
}

#[test]
fn limits_hold_for_the_text_too() {
    let list = [8, 0, 2, 0, 1, 1, 1, 0, 2, 1, 2];
    let data = Encoded::new(DataType::FIELD_LIST, &list);
    let inspector = Inspector::new(FieldDictionary::builtin()).with_limits(Limits { max_nodes: 2 });
    let mut text = String::new();
    let error = inspector.print(&data, None, (Palette::Plain, 1), &mut text).expect_err("a limit");
    assert!(error.to_string().contains("more than 2 entries and values"));
    assert_eq!(text, "  FIELD_LIST\n    PROD_PERM   1  1\n");
}
