//! Strategies: random trees of everything that can be encoded.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tapeline_rwf::{DataType, Date, DateTime, Qos, Rate, Real, RealHint, Time, Timeliness};

use super::header::FREE_FLAGS;
use super::{Header, Item, Key, Node, Value};

/// The type of each field id in these trees: one id per type.
pub(crate) fn field_type(field_id: i16) -> DataType {
    DataType((field_id & 0xFF) as u8)
}

const PRIMITIVES: [DataType; 16] = [
    DataType::INT,
    DataType::UINT,
    DataType::FLOAT,
    DataType::DOUBLE,
    DataType::REAL,
    DataType::DATE,
    DataType::TIME,
    DataType::DATETIME,
    DataType::QOS,
    DataType::STATE,
    DataType::ENUM,
    DataType::ARRAY,
    DataType::BUFFER,
    DataType::ASCII_STRING,
    DataType::UTF8_STRING,
    DataType::RMTES_STRING,
];

/// Numbers of every size, not mostly large ones.
fn sized_u64() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift)
}

fn sized_i64() -> impl Strategy<Value = i64> {
    (any::<i64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift)
}

/// Byte strings around the borders of the length forms.
fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => vec(any::<u8>(), 0..20),
        1 => vec(any::<u8>(), 120..140),
        1 => vec(any::<u8>(), 250..260),
    ]
    .prop_map(move |mut bytes| {
        bytes.truncate(max);
        bytes
    })
}

fn real() -> impl Strategy<Value = Real> {
    (sized_i64(), 0_u8..36).prop_map(|(mantissa, code)| {
        Real::new(mantissa, RealHint::new(code).unwrap_or(RealHint::NAN))
    })
}

fn date() -> impl Strategy<Value = Date> {
    (1_u8..=31, 0_u8..=12, any::<u16>()).prop_map(|(day, month, year)| Date { day, month, year })
}

fn time() -> impl Strategy<Value = Time> {
    let small = prop_oneof![Just(0_u16), 0_u16..1000, Just(2047)];
    let byte = || prop_oneof![3 => any::<u8>(), 1 => Just(0_u8), 1 => Just(255)];
    (byte(), byte(), byte(), any::<u16>(), small.clone(), small)
        .prop_map(|(hour, minute, second, ms, us, ns)| {
            let ms = if ms % 3 == 0 { 0 } else { ms };
            Time::new(hour, minute, second).with_subseconds(ms, us, ns)
        })
        .prop_filter("a blank time is a blank", |time| !time.is_blank())
}

fn qos() -> impl Strategy<Value = Qos> {
    (0_u8..8, 0_u8..16, any::<bool>(), any::<u16>(), any::<u16>()).prop_map(
        |(timeliness, rate, dynamic, time_info_s, rate_info_ms)| Qos {
            timeliness: Timeliness(timeliness),
            rate: Rate(rate),
            dynamic,
            time_info_s: if timeliness > 2 { time_info_s } else { 0 },
            rate_info_ms: if rate > 2 { rate_info_ms } else { 0 },
        },
    )
}

fn state() -> impl Strategy<Value = (u8, u8, u8, Vec<u8>)> {
    (0_u8..32, 0_u8..8, any::<u8>(), bytes(300))
}

/// A value of this type, possibly blank.
fn value_of(data_type: DataType) -> BoxedStrategy<Value> {
    let filled: BoxedStrategy<Value> = match data_type {
        DataType::INT => sized_i64().prop_map(Value::Int).boxed(),
        DataType::UINT => sized_u64().prop_map(Value::Uint).boxed(),
        DataType::FLOAT => any::<u32>().prop_map(Value::Float).boxed(),
        DataType::DOUBLE => any::<u64>().prop_map(Value::Double).boxed(),
        DataType::REAL => real().prop_map(Value::Real).boxed(),
        DataType::DATE => date().prop_map(Value::Date).boxed(),
        DataType::TIME => time().prop_map(Value::Time).boxed(),
        DataType::DATETIME => (date(), time())
            .prop_map(|(date, time)| Value::DateTime(DateTime { date, time }))
            .boxed(),
        DataType::QOS => qos().prop_map(Value::Qos).boxed(),
        DataType::STATE => state()
            .prop_map(|(stream, data, code, text)| Value::State { stream, data, code, text })
            .boxed(),
        DataType::ENUM => any::<u16>().prop_map(Value::Enum).boxed(),
        DataType::ARRAY => array().boxed(),
        other => bytes(300)
            .prop_map(move |bytes| match bytes.is_empty() {
                true => Value::Blank(other),
                false => Value::Bytes(other, bytes),
            })
            .boxed(),
    };
    prop_oneof![9 => filled, 1 => Just(Value::Blank(data_type))].boxed()
}

/// Arrays of items with lengths of their own, and of numbers of a fixed length.
fn array() -> impl Strategy<Value = Value> {
    let items = prop::sample::select(&PRIMITIVES[..11]).prop_flat_map(|item_type| {
        vec(value_of(item_type), 0..6).prop_map(move |items| Value::Array {
            item_type,
            item_len: 0,
            items,
        })
    });
    let numbers = vec(any::<i16>(), 0..6).prop_map(|numbers| Value::Array {
        item_type: DataType::INT,
        item_len: 2,
        items: numbers.into_iter().map(|number| Value::Int(number.into())).collect(),
    });
    prop_oneof![items, numbers]
}

/// Any primitive value.
pub(crate) fn primitive() -> impl Strategy<Value = Value> {
    prop::sample::select(&PRIMITIVES[..]).prop_flat_map(value_of)
}

fn leaf() -> impl Strategy<Value = Node> {
    let containers = [
        DataType::FIELD_LIST,
        DataType::ELEMENT_LIST,
        DataType::FILTER_LIST,
        DataType::VECTOR,
        DataType::SERIES,
        DataType::MAP,
    ];
    let opaque = [DataType::OPAQUE, DataType::XML, DataType::ANSI_PAGE, DataType::JSON];
    prop_oneof![
        prop::sample::select(containers.to_vec()).prop_map(Node::Empty),
        (prop::sample::select(opaque.to_vec()), bytes(300)).prop_map(|(data_type, bytes)| {
            if bytes.is_empty() { Node::Empty(data_type) } else { Node::Opaque(data_type, bytes) }
        }),
        field_list(primitive().prop_map(Item::Value)),
    ]
}

fn perm_data() -> impl Strategy<Value = Option<Vec<u8>>> {
    option::weighted(0.2, bytes(200))
}

fn field_list(item: impl Strategy<Value = Item>) -> impl Strategy<Value = Node> {
    let field = (item, any::<i8>())
        .prop_map(|(item, high)| (i16::from(high) << 8 | i16::from(item.data_type().0), item));
    (option::of((0_u16..0x8000, any::<u16>())), option::weighted(0.9, vec(field, 0..6)))
        .prop_map(|(info, standard)| Node::FieldList { info, set: None, standard })
}

/// Containers whose entries are all like one of `inner`.
fn container(inner: impl Strategy<Value = Node> + Clone + 'static) -> impl Strategy<Value = Node> {
    let item = prop_oneof![primitive().prop_map(Item::Value), inner.clone().prop_map(Item::Node),];
    let hint = || option::of(0_u32..1 << 30);
    let nodes = || vec(inner.clone(), 0..4);
    prop_oneof![
        field_list(item.clone()),
        (option::of(any::<u16>()), vec(("[A-Za-z:]{0,9}", item), 0..5))
            .prop_map(|(info, elements)| Node::ElementList { info, elements }),
        (option::of(any::<u8>()), vec((inner.clone(), 0_u8..5, any::<u8>(), perm_data()), 0..4))
            .prop_map(|(hint, entries)| filter_list(hint, entries)),
        (any::<bool>(), hint(), vec((inner.clone(), 0_u8..7, 0_u32..1 << 30, perm_data()), 0..4))
            .prop_map(|(sorting, hint, entries)| vector(sorting, hint, entries)),
        (hint(), nodes()).prop_map(|(hint, nodes)| series(hint, nodes)),
        (hint(), 0_u16..9).prop_map(|(hint, count)| Node::Series {
            container_type: DataType::NO_DATA,
            hint,
            entries: vec![None; count.into()],
        }),
        map(inner.clone()),
        set_defined_map(),
        (header(), inner).prop_map(|(header, payload)| Node::Msg {
            header: Box::new(header),
            payload: Box::new(payload),
        }),
    ]
}

/// The type of the first node, and only the nodes of that type.
fn of_one_type<T>(entries: Vec<T>, node: impl Fn(&T) -> &Node) -> (DataType, Vec<T>) {
    let container_type = entries.first().map_or(DataType::FIELD_LIST, |e| node(e).data_type());
    let kept = entries.into_iter().filter(|e| node(e).data_type() == container_type).collect();
    (container_type, kept)
}

fn filter_list(hint: Option<u8>, entries: Vec<(Node, u8, u8, Option<Vec<u8>>)>) -> Node {
    let container_type = entries.first().map_or(DataType::NO_DATA, |e| e.0.data_type());
    let entries = entries.into_iter().map(|(node, action, id, perm_data)| {
        let own_type = (node.data_type() != container_type).then_some(node.data_type());
        let node = (action != 3).then_some(node);
        (action, id, own_type, perm_data, node)
    });
    Node::FilterList { container_type, hint, entries: entries.collect() }
}

fn vector(
    sorting: bool,
    hint: Option<u32>,
    entries: Vec<(Node, u8, u32, Option<Vec<u8>>)>,
) -> Node {
    let (container_type, mut entries) = of_one_type(entries, |e| &e.0);
    let summary = (sorting && !entries.is_empty()).then(|| Box::new(entries.remove(0).0));
    let entries = entries.into_iter().map(|(node, action, index, perm_data)| {
        (action, index, perm_data, (action != 3 && action != 5).then_some(node))
    });
    Node::Vector { container_type, sorting, hint, summary, entries: entries.collect() }
}

fn series(hint: Option<u32>, nodes: Vec<Node>) -> Node {
    let (container_type, nodes) = of_one_type(nodes, |node| node);
    Node::Series { container_type, hint, entries: nodes.into_iter().map(Some).collect() }
}

fn map(inner: impl Strategy<Value = Node> + Clone + 'static) -> impl Strategy<Value = Node> {
    let keys = prop::sample::select(PRIMITIVES.to_vec())
        .prop_filter("arrays are no keys", |key_type| *key_type != DataType::ARRAY);
    (keys, option::of(any::<i16>()), option::of(0_u32..1 << 30)).prop_flat_map(
        move |(key_type, key_field_id, hint)| {
            vec((inner.clone(), 0_u8..5, value_of(key_type), perm_data()), 0..4).prop_map(
                move |entries| {
                    let (container_type, entries) = of_one_type(entries, |e| &e.0);
                    let entries = entries.into_iter().map(|(node, action, key, perm_data)| {
                        (action, key, perm_data, (action != 3).then_some(node))
                    });
                    Node::Map {
                        key_type,
                        container_type,
                        key_field_id,
                        hint,
                        defs: None,
                        summary: None,
                        entries: entries.collect(),
                    }
                },
            )
        },
    )
}

/// A type that can be set-defined, with a value of it.
fn set_value() -> impl Strategy<Value = (DataType, Value)> {
    let open = prop::sample::select(PRIMITIVES.to_vec())
        .prop_filter("states and arrays apart", |t| {
            !matches!(*t, DataType::STATE | DataType::ARRAY)
        })
        .prop_flat_map(|data_type| value_of(data_type).prop_map(move |value| (data_type, value)));
    let int = |data_type, bits: u32| {
        any::<i64>().prop_map(move |v| (data_type, Value::Int(v >> (64 - bits))))
    };
    let uint = |data_type, bits: u32| {
        any::<u64>().prop_map(move |v| (data_type, Value::Uint(v >> (64 - bits))))
    };
    let finite = |data_type, bits: u32| {
        (any::<i64>(), 0_u32..bits, 0_u8..=30).prop_map(move |(v, shift, code)| {
            let hint = RealHint::new(code).unwrap_or(RealHint::INTEGER);
            (data_type, Value::Real(Real::new(v >> (64 - bits + shift).min(63), hint)))
        })
    };
    prop_oneof![
        6 => open,
        1 => int(DataType::INT_1, 8), 1 => int(DataType::INT_2, 16),
        1 => int(DataType::INT_4, 32), 1 => int(DataType::INT_8, 64),
        1 => uint(DataType::UINT_1, 8), 1 => uint(DataType::UINT_2, 16),
        1 => uint(DataType::UINT_4, 32), 1 => uint(DataType::UINT_8, 64),
        1 => finite(DataType::REAL_4RB, 32), 1 => finite(DataType::REAL_8RB, 64),
        1 => Just((DataType::REAL_4RB, Value::Blank(DataType::REAL))),
        1 => any::<u32>().prop_map(|bits| (DataType::FLOAT_4, Value::Float(bits))),
        1 => any::<u64>().prop_map(|bits| (DataType::DOUBLE_8, Value::Double(bits))),
        1 => date().prop_map(|date| (DataType::DATE_4, Value::Date(date))),
        1 => Just((DataType::DATE_4, Value::Blank(DataType::DATE))),
        1 => time().prop_map(|time| (DataType::TIME_8, Value::Time(time))),
        1 => Just((DataType::TIME_5, Value::Blank(DataType::TIME))),
        1 => (0_u8..24, 0_u8..60, 0_u8..60).prop_map(|(hour, minute, second)| {
            (DataType::TIME_3, Value::Time(Time::new(hour, minute, second)))
        }),
        1 => (date(), time()).prop_map(|(date, time)| {
            (DataType::DATETIME_12, Value::DateTime(DateTime { date, time }))
        }),
        1 => Just((DataType::DATETIME_9, Value::Blank(DataType::DATETIME))),
    ]
}

/// A map of field lists by local set definitions, with standard data beside.
fn set_defined_map() -> impl Strategy<Value = Node> {
    let row = vec(set_value(), 0..6);
    let standard = option::of(vec(primitive(), 0..3));
    (row, standard, any::<bool>(), 0_u16..3).prop_map(|(row, standard, summary, others)| {
        let set: Vec<(i16, DataType, Value)> = row
            .into_iter()
            .enumerate()
            .map(|(at, (data_type, value))| (at as i16 - 2, data_type, value))
            .collect();
        let entries = set.iter().map(|(field_id, data_type, _)| (*field_id, *data_type)).collect();
        let mut defs = vec![(0, entries)];
        defs.extend((1..=others).map(|id| (id, vec![(22, DataType::REAL_8RB)])));
        let standard = standard.map(|values| {
            values.into_iter().map(|v| (i16::from(v.data_type().0), Item::Value(v))).collect()
        });
        let list = Node::FieldList { info: None, set: Some(set), standard };
        Node::Map {
            key_type: DataType::UINT,
            container_type: DataType::FIELD_LIST,
            key_field_id: None,
            hint: None,
            defs: Some(defs),
            summary: summary.then(|| Box::new(list.clone())),
            entries: vec![
                (2, Value::Uint(1), None, Some(list.clone())),
                (3, Value::Uint(2), None, None),
                (1, Value::Uint(300), Some(vec![1]), Some(list)),
            ],
        }
    })
}

fn key() -> impl Strategy<Value = Key> {
    let attrib_types = vec![DataType::ELEMENT_LIST, DataType::NO_DATA, DataType::OPAQUE];
    (
        option::of(any::<u16>()),
        option::of((bytes(255), option::of(any::<u8>()))),
        option::of(any::<u32>()),
        option::of(any::<i32>()),
        option::of((prop::sample::select(attrib_types), bytes(300))),
    )
        .prop_map(|(service_id, name, filter, identifier, attrib)| Key {
            service_id,
            name,
            filter,
            identifier,
            attrib: attrib.map(|(data_type, mut bytes)| {
                if data_type == DataType::NO_DATA {
                    bytes.clear();
                }
                (data_type, bytes)
            }),
        })
}

fn header() -> impl Strategy<Value = Header> {
    let numbers = (option::of(any::<u32>()), option::of(any::<u32>()));
    let buffers = (
        option::of(bytes(255)),
        option::of(bytes(300)),
        option::of(bytes(255)),
        option::of(bytes(300)),
    );
    let pairs = (
        option::of((any::<u32>(), any::<u32>())),
        option::of(0_u16..0x8000),
        option::of((0_u16..0x8000, any::<u16>())),
    );
    let fixed = (1_u8..=8, any::<u8>(), any::<i32>(), any::<u16>(), any::<u8>());
    let states = (option::of(state()), option::of(qos()), option::of(qos()), option::of(key()));
    (fixed, numbers, buffers, pairs, states).prop_map(|(fixed, numbers, buffers, pairs, states)| {
        let (class, domain, stream_id, flags, code) = fixed;
        let has = |classes: &[u8]| classes.contains(&class);
        let (state, qos, worst_qos, key) = states;
        let (group_id, perm_data, extension, text) = buffers;
        let (post_user, part_num, pair) = pairs;
        // Each class keeps the parts it has, and gets those it must have.
        Header {
            class,
            domain,
            stream_id,
            flags: flags & FREE_FLAGS[class as usize],
            seq_num: numbers.0.filter(|_| has(&[2, 4, 6, 7, 8])),
            second_num: match class {
                6 => Some(numbers.1.unwrap_or(7)),
                _ => numbers.1.filter(|_| has(&[7, 8])),
            },
            state: match class {
                2 => Some(state.unwrap_or((1, 1, 0, Vec::new()))),
                _ => state.filter(|_| class == 3),
            },
            group_id: match class {
                2 => Some(group_id.unwrap_or_default()),
                _ => group_id.filter(|_| class == 3),
            },
            perm_data: perm_data.filter(|_| has(&[2, 3, 4, 7, 8])),
            qos: qos.filter(|_| has(&[1, 2])),
            worst_qos: worst_qos.filter(|_| class == 1),
            key: match class {
                1 => Some(key.unwrap_or_default()),
                _ => key.filter(|_| class != 5),
            },
            extension,
            post_user: match class {
                8 => Some(post_user.unwrap_or((1, 2))),
                _ => post_user.filter(|_| has(&[2, 3, 4])),
            },
            part_num: part_num.filter(|_| has(&[2, 7, 8])),
            pair: match class {
                1 => pair.map(|(class, count)| (class & 0xFF, count)),
                4 => pair,
                6 => pair.map(|(code, _)| (code & 0xFF, 0)),
                8 => pair.map(|(rights, _)| (rights, 0)),
                _ => None,
            },
            code: if class == 4 { code } else { 0 },
            text: text.filter(|_| class == 6),
        }
    })
}

/// Any container or message, a few levels deep.
pub(crate) fn node() -> impl Strategy<Value = Node> {
    leaf().boxed().prop_recursive(4, 40, 4, |inner| container(inner).boxed())
}

/// Any message.
pub(crate) fn message() -> impl Strategy<Value = Node> {
    (header(), node()).prop_map(|(header, payload)| Node::Msg {
        header: Box::new(header),
        payload: Box::new(payload),
    })
}
