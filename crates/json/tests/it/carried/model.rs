//! What a message has left when it comes back from JSON: every loss that there
//! is, and no other.

use std::collections::HashMap;

use tapeline_rwf::{DataType, Date, DateTime, Real, RealHint, Time, rmtes};

use super::generate::{DISPLAYS, is_known};
use super::tree::{Entry, Header, Item, Key, Node, Value};

const MAP_DELETE: u8 = 3;
const VECTOR_CLEAR: u8 = 3;
const VECTOR_DELETE: u8 = 5;
const FILTER_CLEAR: u8 = 3;

const BATCH: u16 = 0x0800;
const VIEW: u16 = 0x0400;
const STREAMING: u16 = 0x0004;
const KEY_IN_UPDATES: u16 = 0x0008;

/// How the message is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) expand_enums: bool,
}

impl Model {
    /// A container, or a message, in a place that says what it is.
    pub(crate) fn node(self, node: Node) -> Node {
        match node {
            Node::Empty(data_type) => without_entries(data_type),
            Node::Opaque(data_type, bytes) => opaque(data_type, bytes),
            Node::FieldList { set, standard, .. } => self.fields(set, standard),
            Node::ElementList { elements, .. } => {
                element_list(elements.into_iter().map(|(n, item)| (n, self.item(item))).collect())
            }
            Node::FilterList { hint, entries, .. } => {
                let entries = entries.into_iter().map(|(action, id, _, perm_data, node)| {
                    let node = node.filter(|_| action != FILTER_CLEAR);
                    (action, id, None, perm_data, self.keyed(node))
                });
                filter_list(hint, entries.collect())
            }
            Node::Vector { sorting, hint, summary, entries, .. } => {
                let summary = self.keyed(summary.map(|summary| *summary));
                let entries = entries.into_iter().map(|(action, index, perm_data, node)| {
                    let is_bare = matches!(action, VECTOR_CLEAR | VECTOR_DELETE);
                    (is_bare, (action, index, perm_data, self.keyed(node)))
                });
                let (container_type, entries) = of_one_type(summary.as_ref(), entries.collect());
                let summary = summary.map(Box::new);
                Node::Vector { container_type, sorting, hint, summary, entries }
            }
            Node::Series { hint, entries, .. } => {
                let entries =
                    entries.into_iter().map(|node| (false, (0, (), None, self.keyed(node))));
                let (container_type, entries) = of_one_type(None, entries.collect());
                let entries = entries.into_iter().map(|(_, (), _, node)| node).collect();
                Node::Series { container_type, hint, entries }
            }
            Node::Map { key_type, key_field_id, hint, summary, entries, .. } => {
                let summary = self.keyed(summary.map(|summary| *summary));
                let entries = entries.into_iter().map(|(action, key, perm_data, node)| {
                    let entry = (action, self.value(key, None), perm_data, self.keyed(node));
                    (action == MAP_DELETE, entry)
                });
                let (container_type, entries) = of_one_type(summary.as_ref(), entries.collect());
                Node::Map {
                    key_type,
                    container_type,
                    key_field_id,
                    hint,
                    // What was set-defined comes back as standard data.
                    defs: None,
                    summary: summary.map(Box::new),
                    entries,
                }
            }
            Node::Msg { header, payload } => self.msg(*header, *payload),
        }
    }

    /// A container that stands under a key of its own, which is left out where
    /// it says nothing.
    fn keyed(self, node: Option<Node>) -> Option<Node> {
        match node? {
            Node::Empty(DataType::NO_DATA | DataType::JSON) => None,
            Node::Opaque(DataType::JSON, bytes) if !is_json(&bytes) => None,
            node => Some(self.node(node)),
        }
    }

    fn item(self, item: Item) -> Item {
        match item {
            Item::Value(value) => Item::Value(self.value(value, None)),
            Item::Node(node) => Item::Node(self.node(node)),
        }
    }

    /// The fields that the dictionary has, of each the last.
    fn fields(
        self,
        set: Option<Vec<(i16, DataType, Value)>>,
        standard: Option<Vec<(i16, Item)>>,
    ) -> Node {
        let set = set.into_iter().flatten().map(|(fid, _, value)| (fid, Item::Value(value)));
        let all: Vec<_> = set.chain(standard.into_iter().flatten()).collect();
        let last: HashMap<i16, usize> = all.iter().enumerate().map(|(at, f)| (f.0, at)).collect();
        let kept = all.into_iter().enumerate().filter(|(at, (fid, _))| last[fid] == *at);
        let known = kept.map(|(_, field)| field).filter(|(fid, _)| is_known(*fid));
        let carried = known.map(|(fid, item)| match item {
            Item::Value(value) => (fid, Item::Value(self.value(value, Some(fid)))),
            Item::Node(node) => (fid, Item::Node(self.node(node))),
        });
        field_list(carried.collect())
    }

    /// A value; enumerations have a table where they are fields.
    pub(crate) fn value(self, value: Value, field_id: Option<i16>) -> Value {
        match value {
            Value::Float(bits) if f32::from_bits(bits).is_nan() => Value::Float(f32::NAN.to_bits()),
            Value::Double(bits) if f64::from_bits(bits).is_nan() => {
                Value::Double(f64::NAN.to_bits())
            }
            Value::Real(real) => Value::Real(decimal(real)),
            Value::Time(value) => Value::Time(time(value)),
            Value::DateTime(DateTime { date, time: clock }) => Value::DateTime(DateTime {
                date,
                time: if clock.is_blank() { clock } else { time(clock) },
            }),
            Value::State { stream, data, code, text } => {
                Value::State { stream, data, code, text: header_text(text) }
            }
            Value::Enum(number) if self.expand_enums && field_id.is_some() => {
                first_of_display(number)
            }
            Value::Array { item_type, items, .. } => Value::Array {
                item_type,
                item_len: 0,
                items: items.into_iter().map(|item| self.value(item, None)).collect(),
            },
            Value::Bytes(DataType::UTF8_STRING, bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Value::Bytes(DataType::UTF8_STRING, text.into_bytes())
            }
            Value::Bytes(DataType::RMTES_STRING, bytes) => rmtes_value(&bytes),
            other => other,
        }
    }

    fn msg(self, header: Header, payload: Node) -> Node {
        let (mut header, mut payload) = (self.header(header), payload);
        match header.class {
            1 => (header, payload) = Self::request(header, payload),
            5 => {
                if let Some(ids) = stream_ids(&payload) {
                    header.stream_id = ids.first().copied().unwrap_or(0);
                    payload = element_list(vec![(":StreamIdList".into(), int_array(ids))]);
                }
            }
            _ => {}
        }
        let payload = self.keyed(Some(payload)).unwrap_or(Node::Empty(DataType::NO_DATA));
        Node::Msg { header: Box::new(header), payload: Box::new(payload) }
    }

    /// The payload of a batch or a view is the elements of the batch and the
    /// view, and without those it is neither.
    fn request(mut header: Header, payload: Node) -> (Header, Node) {
        // Without updates JSON does not say whether the key is in them.
        if header.flags & STREAMING == 0 {
            header.flags |= KEY_IN_UPDATES;
        }
        let element = |name: &str| match &payload {
            Node::ElementList { elements, .. } => {
                elements.iter().find(|(found, _)| found == name).map(|(_, item)| item.clone())
            }
            _ => None,
        };
        let names = element(":ItemList").filter(|_| header.flags & BATCH != 0).map(name_texts);
        let view = element(":ViewData").filter(|_| header.flags & VIEW != 0).map(name_texts);
        let is_view = header.flags & VIEW != 0;
        header.flags &= !(BATCH | VIEW);
        if names.is_none() && view.is_none() {
            return (header, if is_view { Node::Empty(DataType::NO_DATA) } else { payload });
        }
        let mut elements = Vec::new();
        if let Some(names) = names {
            header.flags |= BATCH;
            if let Some(key) = &mut header.key {
                key.name = None;
            }
            elements.push((":ItemList".to_owned(), names));
        }
        if let Some(view) = view {
            header.flags |= VIEW;
            let view_type = element(":ViewType").unwrap_or(Item::Value(Value::Uint(1)));
            elements.extend([(":ViewType".to_owned(), view_type), (":ViewData".to_owned(), view)]);
        }
        (header, element_list(elements))
    }

    fn header(self, header: Header) -> Header {
        let class = header.class;
        Header {
            state: header.state.map(|(s, d, code, text)| (s, d, code, header_text(text))),
            // The group of an item has no place; a refresh has to have one.
            group_id: (class == 2).then(|| vec![0, 0]),
            key: header.key.map(|key| self.key(key)),
            // A code that says that nothing is wrong is none.
            pair: header.pair.filter(|pair| class != 6 || pair.0 != 0),
            text: header.text.map(header_text),
            ..header
        }
    }

    fn key(self, key: Key) -> Key {
        let name = key.name.map(|(name, name_type)| {
            let name_type = name_type.unwrap_or(1);
            // A cookie or a token is in the attributes. An empty name is null.
            let is_empty = matches!(name_type, 4 | 5) || name.is_empty();
            (if is_empty { vec![0] } else { header_text(name) }, Some(name_type))
        });
        let attrib = key.attrib.filter(|(data_type, _)| *data_type == DataType::ELEMENT_LIST);
        let attrib = attrib.map(|(data_type, bytes)| {
            let read = super::generate::read(data_type, &bytes).expect("attributes are sound");
            (data_type, super::generate::encode(&self.node(read)))
        });
        Key { name, attrib, ..key }
    }
}

/// A container of no bytes is written as one without entries.
fn without_entries(data_type: DataType) -> Node {
    let container_type = DataType::NO_DATA;
    let (hint, summary, entries) = (None, None, Vec::new());
    match data_type {
        DataType::FIELD_LIST => field_list(Vec::new()),
        DataType::ELEMENT_LIST => element_list(Vec::new()),
        DataType::FILTER_LIST => filter_list(None, Vec::new()),
        DataType::VECTOR => Node::Vector { container_type, sorting: false, hint, summary, entries },
        DataType::SERIES => Node::Series { container_type, hint, entries: Vec::new() },
        DataType::MAP => Node::Map {
            // JSON has to name a type of keys.
            key_type: DataType::BUFFER,
            container_type,
            key_field_id: None,
            hint,
            defs: None,
            summary,
            entries: Vec::new(),
        },
        other => Node::Empty(other),
    }
}

pub(crate) fn field_list(fields: Vec<(i16, Item)>) -> Node {
    Node::FieldList { info: None, set: None, standard: Some(fields) }
}

pub(crate) fn element_list(elements: Vec<(String, Item)>) -> Node {
    Node::ElementList { info: None, elements }
}

pub(crate) fn int_array(numbers: Vec<i32>) -> Item {
    Item::Value(Value::Array {
        item_type: DataType::INT,
        item_len: 0,
        items: numbers.into_iter().map(|number| Value::Int(number.into())).collect(),
    })
}

fn stream_ids(payload: &Node) -> Option<Vec<i32>> {
    let Node::ElementList { elements, .. } = payload else { return None };
    let (_, item) = elements.iter().find(|(name, _)| name == ":StreamIdList")?;
    let Item::Value(Value::Array { items, .. }) = item else { return None };
    let id = |item: &Value| match item {
        Value::Int(id) => i32::try_from(*id).ok(),
        _ => None,
    };
    items.iter().map(id).collect()
}

/// The type of a container is that of the first thing in it; a container with
/// nothing in it has none. What has no bytes where the others have is empty.
fn of_one_type<K>(
    summary: Option<&Node>,
    entries: Vec<(bool, Entry<K>)>,
) -> (DataType, Vec<Entry<K>>) {
    let mut with_data = entries.iter().filter(|(is_bare, _)| !is_bare);
    let first = summary.or_else(|| with_data.find_map(|(_, entry)| entry.3.as_ref()));
    let container_type = first.map_or(DataType::NO_DATA, Node::data_type);
    let entries = entries.into_iter().map(|(is_bare, (action, key, perm_data, node))| {
        let node = match is_bare || container_type == DataType::NO_DATA {
            true => None,
            false => Some(node.unwrap_or(Node::Empty(container_type))),
        };
        (action, key, perm_data, node)
    });
    (container_type, entries.collect())
}

/// The type of the list is that of its first entry with data, element lists
/// without; an entry says its own only where it differs.
fn filter_list(hint: Option<u8>, mut entries: Vec<super::tree::FilterEntry>) -> Node {
    let first = entries.iter().find_map(|entry| entry.4.as_ref());
    let container_type = first.map_or(DataType::ELEMENT_LIST, Node::data_type);
    for (action, _, own_type, _, node) in &mut entries {
        let found = node.as_ref().map_or(DataType::NO_DATA, Node::data_type);
        *own_type = Some(found).filter(|own| *action != FILTER_CLEAR && *own != container_type);
    }
    Node::FilterList { container_type, hint, entries }
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(bytes)
        .is_ok_and(|value| value.is_object() || value.is_array())
}

fn opaque(data_type: DataType, bytes: Vec<u8>) -> Node {
    match data_type {
        DataType::XML => {
            Node::Opaque(data_type, String::from_utf8_lossy(&bytes).into_owned().into_bytes())
        }
        // Where there has to be a value, JSON that is none is null.
        DataType::JSON if !is_json(&bytes) => Node::Empty(data_type),
        DataType::JSON => Node::Opaque(data_type, bytes.trim_ascii().to_vec()),
        _ => Node::Opaque(data_type, bytes),
    }
}

/// Text whose encoding nothing tells is UTF-8 if it can be, else Latin-1; it
/// comes back as UTF-8.
pub(crate) fn header_text(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => text.into_bytes(),
        Err(error) => error.as_bytes().iter().map(|b| char::from(*b)).collect::<String>().into(),
    }
}

/// Names in an array are texts as the name of a key is.
fn name_texts(mut item: Item) -> Item {
    if let Item::Value(Value::Array { items, .. }) = &mut item {
        for item in items {
            if let Value::Bytes(DataType::ASCII_STRING, bytes) = item {
                *bytes = header_text(std::mem::take(bytes));
            }
        }
    }
    item
}

/// Blank parts of a time are zeros, and from blank seconds on nothing is said.
fn time(time: Time) -> Time {
    let or_zero = |value: u8| if value == 255 { 0 } else { value };
    let clock = Time::new(or_zero(time.hour), or_zero(time.minute), or_zero(time.second));
    if time.second == 255 {
        return clock;
    }
    let [ms, us, ns] = [time.millisecond, time.microsecond, time.nanosecond]
        .map(|part| if part > 999 { 0 } else { part });
    clock.with_subseconds(ms, us, ns)
}

/// The number, with as many decimals as it needs: fractions and zeros behind
/// the point are digits, unless there are too many of them for 64 bits.
fn decimal(real: Real) -> Real {
    let new = |mantissa: i128, code: i32| {
        let hint = RealHint::new(u8::try_from(code).ok()?)?;
        Some(Real::new(i64::try_from(mantissa).ok()?, hint))
    };
    let (mantissa, code) = (i128::from(real.mantissa()), i32::from(real.hint().code()));
    let found = match code {
        _ if !real.hint().is_finite() => return real,
        _ if mantissa == 0 => new(0, 14),
        0..=14 => return real,
        15..=21 => {
            (14..=code).find_map(|less| new(mantissa * 10_i128.pow((code - less) as u32), less))
        }
        _ => {
            let halvings = mantissa.trailing_zeros().min(code as u32 - 22);
            let (mantissa, power) = (mantissa >> halvings, code as u32 - 22 - halvings);
            new(mantissa * 5_i128.pow(power), 14 - power as i32)
                .or_else(|| new(mantissa, 22 + power as i32))
        }
    };
    found.expect("every real can be said")
}

/// Numbers that are displayed alike become the lowest, and what is displayed as
/// nothing is blank.
fn first_of_display(number: u16) -> Value {
    let display = DISPLAYS.iter().find(|(known, _)| *known == number).map(|(_, display)| *display);
    match display {
        None => Value::Enum(number),
        Some("") => Value::Blank(DataType::ENUM),
        Some(display) => {
            let first = DISPLAYS.iter().find(|(_, other)| *other == display);
            Value::Enum(first.expect("itself at least").0)
        }
    }
}

/// RMTES comes back in other bytes: they are compared as the text they are.
pub(crate) fn rmtes_value(bytes: &[u8]) -> Value {
    match rmtes_text(bytes).into_bytes() {
        text if text.is_empty() => Value::Blank(DataType::RMTES_STRING),
        text => Value::Bytes(DataType::RMTES_STRING, text),
    }
}

/// The characters, with cursor commands as they are: CSI is ESC `[`, and the
/// byte 9B before the value becomes UTF-8.
fn rmtes_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    let mut is_utf8 = false;
    loop {
        let command = (0..rest.len()).find_map(|at| {
            let became_utf8 = is_utf8 || rest[..at].windows(3).any(|w| w == b"\x1b%0");
            Some((at, command_len(&rest[at..], became_utf8)?))
        });
        let (at, len) = command.unwrap_or((rest.len(), 0));
        push_run(&rest[..at], &mut is_utf8, &mut text);
        if len == 0 {
            return text;
        }
        text.extend(rest[at..at + len].iter().map(|byte| char::from(*byte)));
        rest = &rest[at + len..];
    }
}

fn push_run(run: &[u8], is_utf8: &mut bool, text: &mut String) {
    if *is_utf8 {
        text.push_str(&String::from_utf8_lossy(run));
        return;
    }
    *is_utf8 = run.windows(3).any(|w| w == b"\x1b%0");
    if rmtes::decode_into(run, text).is_err() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
}

fn command_len(bytes: &[u8], is_utf8: bool) -> Option<usize> {
    let (digits, introducer) = match bytes {
        [0x1B, b'[', digits @ ..] => (digits, 2),
        [0x9B, digits @ ..] if !is_utf8 => (digits, 1),
        _ => return None,
    };
    let count = digits.iter().take_while(|digit| digit.is_ascii_digit()).count();
    matches!(digits.get(count), Some(b'`' | b'b')).then_some(introducer + count + 1)
}

/// A date that the calendar has, or parts of one.
pub(crate) fn possible(date: Date) -> Date {
    let is_leap = date.year.is_multiple_of(4) && !date.year.is_multiple_of(100)
        || date.year.is_multiple_of(400);
    let days = match date.month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 31,
    };
    Date { day: date.day.min(days), ..date }
}
