//! Reads `messages/messages.jsonl`; its README describes the lines.
//!
//! Strings and byte strings live as long as the process, so that the values
//! can be what an application holds: primitives that borrow.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tapeline_rwf::{
    DataType, Date, FieldListInfo, LocalSetDefsBuf, MsgKey, Primitive, Real, RealHint, Time,
};

/// One message: the bytes to decode and the values to encode.
pub(super) struct Message {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// The sum over header, payload position and payload length.
    pub(super) header_checksum: i64,
    /// The sum over everything that is in the message.
    pub(super) checksum: i64,
    pub(super) header: Header,
    pub(super) payload: Payload,
}

/// What the header is made of.
pub(super) struct Header {
    pub(super) domain: u8,
    pub(super) stream_id: i32,
    pub(super) seq_num: u32,
    pub(super) key: Option<MsgKey<'static>>,
    pub(super) class: Class,
}

/// What only one class has.
pub(super) enum Class {
    Update { update_type: u8 },
    Refresh { state_text: &'static str, group_id: &'static [u8], perm_data: &'static [u8] },
}

/// The content.
pub(super) enum Payload {
    FieldList { info: Option<FieldListInfo>, fields: Fields },
    Book(Book),
}

/// Field ids and values, in their order on the wire.
pub(super) type Fields = Vec<(i16, Primitive<'static>)>;

/// An order book: a map by order id.
pub(super) struct Book {
    pub(super) key_field_id: i16,
    pub(super) summary: Fields,
    pub(super) rows: Vec<(Primitive<'static>, Fields)>,
    /// Definition 0, if the rows are set-defined.
    pub(super) set_defs: Option<LocalSetDefsBuf>,
}

/// All messages of the file.
///
/// # Panics
///
/// When the file is missing or not as its README says.
pub(super) fn messages() -> Vec<Message> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/messages/messages.jsonl");
    let text = fs::read_to_string(path).expect("the messages are part of the crate");
    text.lines().map(|line| message(&serde_json::from_str(line).expect("JSON"))).collect()
}

fn message(json: &Value) -> Message {
    Message {
        name: text(&json["name"]).to_owned(),
        bytes: hex(&json["hex"]).to_vec(),
        header_checksum: integer(&json["header_checksum"]),
        checksum: integer(&json["checksum"]),
        header: header(&json["header"]),
        payload: payload(&json["payload"]),
    }
}

fn header(json: &Value) -> Header {
    let class = match text(&json["class"]) {
        "UPDATE" => Class::Update { update_type: number(&json["update_type"]) },
        "REFRESH" => Class::Refresh {
            state_text: text(&json["state_text"]),
            group_id: hex(&json["group_id"]),
            perm_data: hex(&json["perm_data"]),
        },
        other => panic!("message class {other}"),
    };
    Header {
        domain: number(&json["domain"]),
        stream_id: number(&json["stream_id"]),
        seq_num: number(&json["seq_num"]),
        key: json.get("key").map(key),
        class,
    }
}

fn key(json: &Value) -> MsgKey<'static> {
    let name_type = Some(number(&json["name_type"]));
    MsgKey { name_type, ..MsgKey::item(number(&json["service_id"]), text(&json["name"])) }
}

fn payload(json: &Value) -> Payload {
    if text(&json["type"]) == "FIELD_LIST" {
        let info = json.get("info").map(|info| FieldListInfo {
            dictionary_id: number(&info[0]),
            list_number: number(&info[1]),
        });
        return Payload::FieldList { info, fields: fields(&json["fields"]) };
    }
    let row = |row: &Value| (Primitive::rmtes(text(&row[0])), fields(&row[1]));
    Payload::Book(Book {
        key_field_id: number(&json["key_field_id"]),
        summary: fields(&json["summary"]),
        rows: list(&json["rows"]).iter().map(row).collect(),
        set_defs: json.get("set_definition").map(set_defs),
    })
}

fn set_defs(json: &Value) -> LocalSetDefsBuf {
    let entry = |entry: &Value| (number(&entry[0]), data_type(&entry[1]));
    let entries: Vec<(i16, DataType)> = list(json).iter().map(entry).collect();
    LocalSetDefsBuf::fields(&[(0, &entries)]).expect("a definition of few entries")
}

fn fields(json: &Value) -> Fields {
    let field = |field: &Value| (number(&field[0]), value(data_type(&field[1]), &field[2]));
    list(json).iter().map(field).collect()
}

fn value(data_type: DataType, json: &Value) -> Primitive<'static> {
    if json.is_null() {
        return Primitive::Blank(data_type);
    }
    match data_type {
        DataType::UINT => Primitive::Uint(number(json)),
        DataType::ENUM => Primitive::Enum(number(json)),
        DataType::REAL => {
            let hint = RealHint::new(number(&json[1])).expect("a hint");
            Primitive::Real(Real::new(integer(&json[0]), hint))
        }
        DataType::DATE => {
            Primitive::Date(Date::new(number(&json[2]), number(&json[1]), number(&json[0])))
        }
        DataType::TIME => {
            let time = Time::new(number(&json[0]), number(&json[1]), number(&json[2]));
            Primitive::Time(time.with_subseconds(
                number(&json[3]),
                number(&json[4]),
                number(&json[5]),
            ))
        }
        DataType::RMTES_STRING => Primitive::rmtes(text(json)),
        other => panic!("no value of type {other}"),
    }
}

fn data_type(json: &Value) -> DataType {
    DataType::from_name(text(json)).expect("a data type")
}

fn list(json: &Value) -> &[Value] {
    json.as_array().expect("a list")
}

fn integer(json: &Value) -> i64 {
    json.as_i64().expect("an integer")
}

fn number<N: TryFrom<i64>>(json: &Value) -> N {
    N::try_from(integer(json)).ok().expect("an integer that fits its field")
}

fn text(json: &Value) -> &'static str {
    json.as_str().expect("a string").to_owned().leak()
}

fn hex(json: &Value) -> &'static [u8] {
    let (pairs, odd) = text(json).as_bytes().as_chunks::<2>();
    assert!(odd.is_empty(), "hex digits come in pairs");
    let byte = |pair: &[u8; 2]| {
        let digits = str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(digits, 16).expect("hex digits")
    };
    pairs.iter().map(byte).collect::<Vec<_>>().leak()
}
