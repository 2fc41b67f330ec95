//! Messages to send through JSON: the trees of `tapeline-rwf`, made possible
//! and joined by what JSON has rules of its own for.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Date, DateTime, DecodeError, Encoded, Encoder, Time};

use super::model::{element_list, field_list, header_text, int_array, possible};
use super::tree::{self, Header, Item, Key, Node, Value};

/// Types of fields, by the low byte of the field id, and what the dictionary
/// calls them.
const FIELD_TYPES: [(DataType, &str); 27] = [
    (DataType::INT, "INT64"),
    (DataType::UINT, "UINT64"),
    (DataType::FLOAT, "FLOAT"),
    (DataType::DOUBLE, "DOUBLE"),
    (DataType::REAL, "REAL64"),
    (DataType::DATE, "DATE"),
    (DataType::TIME, "TIME"),
    (DataType::DATETIME, "DATETIME"),
    (DataType::QOS, "QOS"),
    (DataType::STATE, "STATE"),
    (DataType::ENUM, "ENUM"),
    (DataType::ARRAY, "ARRAY"),
    (DataType::BUFFER, "BUFFER"),
    (DataType::ASCII_STRING, "ASCII_STRING"),
    (DataType::UTF8_STRING, "UTF8_STRING"),
    (DataType::RMTES_STRING, "RMTES_STRING"),
    (DataType::OPAQUE, "OPAQUE"),
    (DataType::XML, "XML"),
    (DataType::FIELD_LIST, "FIELD_LIST"),
    (DataType::ELEMENT_LIST, "ELEMENT_LIST"),
    (DataType::ANSI_PAGE, "ANSI_PAGE"),
    (DataType::FILTER_LIST, "FILTER_LIST"),
    (DataType::VECTOR, "VECTOR"),
    (DataType::MAP, "MAP"),
    (DataType::SERIES, "SERIES"),
    (DataType::MSG, "MSG"),
    (DataType::JSON, "JSON"),
];

/// What the numbers of enumerated fields are displayed as.
pub(crate) const DISPLAYS: [(u16, &str); 5] =
    [(0, "   "), (1, "up"), (2, ""), (5, "\u{21E7}"), (7, "up")];

/// Whether the dictionary has a field: those whose high byte is 7F are missing.
pub(crate) fn is_known(field_id: i16) -> bool {
    let data_type = DataType((field_id & 0xFF) as u8);
    field_id >> 8 != 0x7F && FIELD_TYPES.iter().any(|(known, _)| *known == data_type)
}

pub(crate) fn dictionary() -> FieldDictionary {
    let (mut fields, mut enums) = (String::new(), String::new());
    for high in i8::MIN..i8::MAX {
        for (data_type, name) in FIELD_TYPES {
            let fid = i16::from(high) << 8 | i16::from(data_type.0);
            let kind = if data_type == DataType::ENUM { "ENUMERATED 5 ( 3 )" } else { "NONE 0" };
            let _ = writeln!(fields, "F{fid} \"F {fid}\" {fid} NULL {kind} {name} 0");
            if data_type == DataType::ENUM {
                let _ = writeln!(enums, "F{fid} {fid}");
            }
        }
    }
    for (number, display) in DISPLAYS {
        let display = display.replace('\u{21E7}', "#DE#");
        let quoted = if display.starts_with('#') { display } else { format!("\"{display}\"") };
        let _ = writeln!(enums, " {number} {quoted} meaning");
    }
    FieldDictionary::parse(fields.as_bytes(), enums.as_bytes()).expect("a dictionary")
}

pub(crate) fn encode(node: &Node) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 20];
    let mut encoder = Encoder::new(&mut buffer);
    node.write(encoder.container(node.data_type())).expect("a valid tree");
    encoder.finish_bytes().expect("room").to_vec()
}

pub(crate) fn read(data_type: DataType, bytes: &[u8]) -> Result<Node, DecodeError> {
    Node::read(&Encoded::new(data_type, bytes))
}

/// Any message.
pub(crate) fn message() -> impl Strategy<Value = Node> {
    let special = (tree::message(), special_payload()).prop_map(|(message, payload)| {
        let Node::Msg { header, .. } = message else { unreachable!("it is a message") };
        Node::Msg { header, payload: Box::new(payload) }
    });
    let message = prop_oneof![2 => tree::message().boxed(), 1 => special.boxed()];
    (message.boxed(), vec(attributes(), 3)).prop_map(|(message, mut attributes)| {
        Possible { attributes: &mut attributes, is_in_attributes: false }.node(message)
    })
}

fn strings(item_type: DataType) -> impl Strategy<Value = Item> {
    vec("[ -~é]{1,9}", 0..4).prop_map(move |texts| {
        let item = |text: String| match item_type {
            DataType::ASCII_STRING => text.chars().map(|c| c as u8).collect(),
            _ => text.into_bytes(),
        };
        let items = texts.into_iter().map(|text| Value::Bytes(item_type, item(text)));
        Item::Value(Value::Array { item_type, item_len: 0, items: items.collect() })
    })
}

fn attributes() -> impl Strategy<Value = Node> {
    let value = tree::primitive().prop_map(Item::Value);
    let item = prop_oneof![
        3 => value,
        1 => tree::node().prop_map(Item::Node),
        1 => strings(DataType::ASCII_STRING),
    ];
    vec(("[A-Za-z:é]{0,9}", item), 0..3).prop_map(element_list)
}

/// Text that somebody may have put into RMTES.
fn rmtes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[ -~]{1,6}".prop_map(String::into_bytes),
        1 => "[\\x00-\\x1F]{1,2}".prop_map(String::into_bytes),
        2 => select(vec![&b"\x1b[5`"[..], b"\x9b12`", b"\x1b[3b", b"\x9bb", b"\x1b[x", b"\xDE", b"Caf\xE9"])
            .prop_map(<[u8]>::to_vec),
    ];
    let utf8 = ".{0,6}[ÛĚ\u{9B}]?[0-9]?[b`]?(\\x1B\\[4`)?.{0,3}".prop_map(String::into_bytes);
    (vec(piece, 0..4), proptest::option::of(utf8)).prop_map(|(pieces, utf8)| {
        let mut bytes = pieces.concat();
        if let Some(utf8) = utf8 {
            bytes.extend_from_slice(b"\x1b%0");
            bytes.extend(utf8);
        }
        bytes
    })
}

/// Payloads that a random tree does not come upon.
fn special_payload() -> impl Strategy<Value = Node> {
    let json = select(vec![
        "{\"a\":[1,{}]}",
        " [1, 2.50] ",
        "[]",
        "5",
        "\"x\"",
        "null",
        "{\"a\":01}",
        "{\"a\":",
        "\u{1}",
    ])
    .prop_map(|text| Node::Opaque(DataType::JSON, text.as_bytes().to_vec()));
    let names = strings(DataType::ASCII_STRING);
    let view = prop_oneof![
        vec(any::<i16>(), 0..5)
            .prop_map(|fids| { (1, int_array(fids.into_iter().map(i32::from).collect())) }),
        strings(DataType::ASCII_STRING).prop_map(|names| (2, names)),
    ];
    let request = (proptest::option::of(names), proptest::option::of(view), tree::primitive())
        .prop_map(|(names, view, other)| {
            let mut elements = vec![("Other".to_owned(), Item::Value(other))];
            elements.extend(names.map(|names| (":ItemList".to_owned(), names)));
            if let Some((view_type, view)) = view {
                elements.push((":ViewData".to_owned(), view));
                elements.push((":ViewType".to_owned(), Item::Value(Value::Uint(view_type))));
            }
            element_list(elements)
        });
    let close = (vec(any::<i32>(), 0..4), tree::primitive()).prop_map(|(ids, other)| {
        let other = ("Other".to_owned(), Item::Value(other));
        element_list(vec![other, (":StreamIdList".to_owned(), int_array(ids))])
    });
    let texts = (rmtes(), rmtes()).prop_map(|texts| {
        let value = |bytes: Vec<u8>| match bytes.is_empty() {
            true => Item::Value(Value::Blank(DataType::RMTES_STRING)),
            false => Item::Value(Value::Bytes(DataType::RMTES_STRING, bytes)),
        };
        let list = vec![(0x0113, value(texts.0)), (0x0213, value(texts.1))];
        field_list(list)
    });
    let enums = vec((0_u16..9, 0_i16..4), 0..4).prop_map(|numbers| {
        let field =
            |(number, high): (u16, i16)| (high << 8 | 0x0E, Item::Value(Value::Enum(number)));
        field_list(numbers.into_iter().map(field).collect())
    });
    let rows = vec(json.clone(), 0..4).prop_map(|rows| Node::Series {
        container_type: DataType::JSON,
        hint: None,
        entries: rows.into_iter().map(Some).collect(),
    });
    let lists = strings(DataType::RMTES_STRING).prop_map(|list| field_list(vec![(0x000F, list)]));
    let nothing = select(vec![DataType::NO_DATA, DataType::JSON]).prop_map(Node::Empty);
    prop_oneof![
        1 => json, 2 => request, 1 => close, 3 => texts, 1 => enums, 1 => rows, 1 => lists, 1 => nothing
    ]
}

/// Makes what can be encoded into what can be meant: times of a clock, dates
/// of the calendar, fields of the type that the dictionary says.
struct Possible<'p> {
    /// Attributes for keys, which in random trees are any bytes.
    attributes: &'p mut Vec<Node>,
    is_in_attributes: bool,
}

impl Possible<'_> {
    fn node(&mut self, node: Node) -> Node {
        match node {
            Node::FieldList { info, set, standard } => Node::FieldList {
                info,
                set: set.map(|set| {
                    let named = set.into_iter().enumerate();
                    named.map(|(at, (_, t, given))| (set_fid(at, t), t, value(given))).collect()
                }),
                standard: standard.map(|fields| {
                    fields.into_iter().map(|(fid, item)| (fid, self.item(item))).collect()
                }),
            },
            Node::ElementList { info, elements } => Node::ElementList {
                info,
                elements: elements
                    .into_iter()
                    .map(|(name, item)| (name, self.item(item)))
                    .collect(),
            },
            Node::FilterList { container_type, hint, entries } => Node::FilterList {
                container_type,
                hint,
                entries: entries
                    .into_iter()
                    .map(|(a, id, own, perm, node)| (a, id, own, perm, node.map(|n| self.node(n))))
                    .collect(),
            },
            Node::Vector { container_type, sorting, hint, summary, entries } => Node::Vector {
                container_type,
                sorting,
                hint,
                summary: summary.map(|summary| Box::new(self.node(*summary))),
                entries: entries
                    .into_iter()
                    .map(|(a, index, perm, node)| (a, index, perm, node.map(|n| self.node(n))))
                    .collect(),
            },
            Node::Series { container_type, hint, entries } => Node::Series {
                container_type,
                hint,
                entries: entries.into_iter().map(|node| node.map(|n| self.node(n))).collect(),
            },
            Node::Map { key_type, container_type, key_field_id, hint, defs, summary, entries } => {
                Node::Map {
                    key_type,
                    container_type,
                    key_field_id,
                    hint,
                    defs: defs.map(|defs| defs.into_iter().map(named_set).collect()),
                    summary: summary.map(|summary| Box::new(self.node(*summary))),
                    entries: entries
                        .into_iter()
                        .map(|(action, key, perm, node)| {
                            (action, value(key), perm, node.map(|n| self.node(n)))
                        })
                        .collect(),
                }
            }
            Node::Msg { header, payload } => Node::Msg {
                header: Box::new(self.header(*header)),
                payload: Box::new(self.node(*payload)),
            },
            other => other,
        }
    }

    fn item(&mut self, item: Item) -> Item {
        match item {
            Item::Value(given) => Item::Value(value(given)),
            Item::Node(node) => Item::Node(self.node(node)),
        }
    }

    fn header(&mut self, header: Header) -> Header {
        let key = header.key.map(|key| self.key(key));
        Header { domain: header.domain.max(1), key, ..header }
    }

    fn key(&mut self, mut key: Key) -> Key {
        if let Some((name, _)) = &mut key.name
            && header_text(name.clone()).len() > 255
        {
            name.truncate(100);
        }
        let wants_attributes =
            matches!(&key.attrib, Some((data_type, _)) if *data_type == DataType::ELEMENT_LIST);
        if wants_attributes {
            let node = self.attributes.pop().filter(|_| !self.is_in_attributes);
            key.attrib = node.map(|node| {
                let mut inside = Possible { attributes: &mut Vec::new(), is_in_attributes: true };
                (DataType::ELEMENT_LIST, encode(&inside.node(node)))
            });
        }
        key
    }
}

fn value(given: Value) -> Value {
    match given {
        Value::Date(value) => Value::Date(date(value)),
        Value::Time(value) => Value::Time(time(value)),
        // A half may be blank.
        Value::DateTime(value) => Value::DateTime(match value.date.year % 5 {
            0 => DateTime { date: Date::default(), time: time(value.time) },
            1 => DateTime { date: date(value.date), time: Time::BLANK },
            _ => DateTime { date: date(value.date), time: time(value.time) },
        }),
        Value::Array { item_type, item_len, items } => {
            Value::Array { item_type, item_len, items: items.into_iter().map(value).collect() }
        }
        other => other,
    }
}

/// A field id of a set's type, and one that the dictionary lacks.
fn set_fid(at: usize, data_type: DataType) -> i16 {
    let high = if at == 4 { 0x7F } else { at as i16 };
    high << 8 | i16::from(data_type.base().0)
}

fn named_set((id, entries): (u16, Vec<(i16, DataType)>)) -> (u16, Vec<(i16, DataType)>) {
    let named = entries.into_iter().enumerate();
    (id, named.map(|(at, (_, data_type))| (set_fid(at, data_type), data_type)).collect())
}

fn date(date: Date) -> Date {
    possible(date)
}

fn time(time: Time) -> Time {
    let below = |value: u8, most: u8| if value == 255 { value } else { value % most };
    let (hour, minute) = (below(time.hour, 24), below(time.minute, 60));
    // A time that is all blank is a blank, which is another value.
    let hour = if hour == 255 && minute == 255 { 0 } else { hour };
    Time { hour, minute, second: below(time.second, 60), ..time }
}
