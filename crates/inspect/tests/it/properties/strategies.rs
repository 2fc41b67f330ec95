//! Values of every type, without what follows from the rest (flags, texts
//! beside bytes).

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use tapeline_rwf::DataType;

/// Fields of one type each, as in the dictionary of the golden vectors.
pub(crate) const FIELDS: [(i16, &str); 27] = [
    (-1, "INT"),
    (-2, "UINT"),
    (-3, "FLOAT"),
    (-4, "DOUBLE"),
    (-5, "REAL"),
    (-6, "DATE"),
    (-7, "TIME"),
    (-8, "DATETIME"),
    (-9, "QOS"),
    (-10, "STATE"),
    (-11, "ENUM"),
    (-12, "ARRAY"),
    (-13, "BUFFER"),
    (-14, "ASCII_STRING"),
    (-15, "UTF8_STRING"),
    (-16, "RMTES_STRING"),
    (-20, "FIELD_LIST"),
    (-21, "ELEMENT_LIST"),
    (-22, "FILTER_LIST"),
    (-23, "VECTOR"),
    (-24, "MAP"),
    (-25, "SERIES"),
    (-26, "OPAQUE"),
    (-27, "XML"),
    (-28, "ANSI_PAGE"),
    (-29, "MSG"),
    (-30, "JSON"),
];

const PRIMITIVES: [&str; 16] = [
    "INT",
    "UINT",
    "FLOAT",
    "DOUBLE",
    "REAL",
    "DATE",
    "TIME",
    "DATETIME",
    "QOS",
    "STATE",
    "ENUM",
    "ARRAY",
    "BUFFER",
    "ASCII_STRING",
    "UTF8_STRING",
    "RMTES_STRING",
];

/// The forms of set-defined values, by name.
fn forms() -> impl Strategy<Value = String> {
    let fixed = (64..=84_u8).prop_map(|code| DataType(code).to_string());
    let own = select(&PRIMITIVES[..]).prop_filter("cannot be set-defined", |name| *name != "STATE");
    prop_oneof![2 => fixed, 1 => own.prop_map(str::to_owned)]
}

fn hex_text(most: usize) -> impl Strategy<Value = String> {
    vec(any::<u8>(), 0..most).prop_map(|bytes| tapeline_golden::hex(&bytes))
}

/// A text of the characters U+0000 to U+00FF.
fn latin_text(most: usize) -> impl Strategy<Value = String> {
    vec(any::<u8>(), 0..most).prop_map(|bytes| bytes.into_iter().map(char::from).collect())
}

fn typed(name: &str, rest: Value) -> Value {
    let mut node = Map::from_iter([("type".to_owned(), json!(name))]);
    if let Value::Object(rest) = rest {
        node.extend(rest);
    }
    node.into()
}

fn with(node: &Value, entries: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let mut node = node.as_object().cloned().unwrap_or_default();
    for (key, value) in entries {
        node.extend(value.map(|value| (key.to_owned(), value)));
    }
    node.into()
}

fn date() -> impl Strategy<Value = Value> {
    (1..=31_u8, 0..=12_u8, any::<u16>())
        .prop_map(|(day, month, year)| json!({"day": day, "month": month, "year": year}))
}

/// A time of day of an encoding of `len` bytes.
fn time_of(len: usize) -> impl Strategy<Value = Value> {
    (0..24_u8, 0..60_u8, 0..60_u8, 0..1000_u16, 0..1000_u16, 0..1000_u16).prop_map(
        move |(hour, minute, second, ms, us, ns)| {
            let from = |least: usize, value: u16| if len >= least { value } else { 0 };
            json!({
                "len": len, "hour": hour, "minute": minute, "second": from(3, second.into()),
                "ms": from(5, ms), "us": from(7, us), "ns": from(8, ns),
            })
        },
    )
}

fn date_time_of(len: usize) -> impl Strategy<Value = Value> {
    (date(), time_of(len - 4)).prop_map(move |(date, time)| {
        let merged = time.as_object().cloned().unwrap_or_default();
        let mut node = date.as_object().cloned().unwrap_or_default();
        node.extend(merged);
        node.insert("len".to_owned(), json!(len));
        node.into()
    })
}

fn real(mantissa: impl Strategy<Value = i64>) -> impl Strategy<Value = Value> {
    (0..=30_u8, mantissa).prop_map(|(hint, v)| json!({"hint": hint, "v": v.to_string()}))
}

pub(crate) fn qos() -> impl Strategy<Value = Value> {
    (0..8_u8, 0..16_u8, any::<bool>(), any::<u16>(), any::<u16>()).prop_map(
        |(timeliness, rate, dynamic, time, interval)| {
            json!({
                "type": "QOS", "timeliness": timeliness, "rate": rate, "dynamic": dynamic,
                "timeInfo": if timeliness > 2 { time } else { 0 },
                "rateInfo": if rate > 2 { interval } else { 0 },
            })
        },
    )
}

pub(crate) fn state() -> impl Strategy<Value = Value> {
    (0..32_u8, 0..8_u8, any::<u8>(), latin_text(200)).prop_map(|(stream, data, code, text)| {
        json!({"type": "STATE", "stream": stream, "data": data, "code": code, "text": text})
    })
}

fn scalar(name: &'static str) -> BoxedStrategy<Value> {
    let value = match name {
        "INT" => any::<i64>().prop_map(|v| json!({"v": v.to_string()})).boxed(),
        "UINT" => any::<u64>().prop_map(|v| json!({"v": v.to_string()})).boxed(),
        "ENUM" => any::<u16>().prop_map(|v| json!({"v": v})).boxed(),
        "FLOAT" => any::<u32>().prop_map(|bits| json!({"bits": format!("{bits:08x}")})).boxed(),
        "DOUBLE" => any::<u64>().prop_map(|bits| json!({"bits": format!("{bits:016x}")})).boxed(),
        "REAL" => prop_oneof![
            9 => real(any::<i64>()),
            1 => (33..=35_u8).prop_map(|hint| json!({"hint": hint})),
        ]
        .boxed(),
        "DATE" => date().boxed(),
        "TIME" => select(&[2, 3, 5, 7, 8][..]).prop_flat_map(time_of).boxed(),
        "DATETIME" => select(&[6, 7, 9, 11, 12][..]).prop_flat_map(date_time_of).boxed(),
        "QOS" => qos().boxed(),
        "STATE" => state().boxed(),
        _ => vec(any::<u8>(), 1..300)
            .prop_map(|bytes| json!({"hex": tapeline_golden::hex(&bytes)}))
            .boxed(),
    };
    let blank = Just(json!({"blank": true}));
    prop_oneof![9 => value, 1 => blank].prop_map(move |value| typed(name, value)).boxed()
}

fn array() -> impl Strategy<Value = Value> {
    let item = select(&PRIMITIVES[..]).prop_filter("no arrays in arrays", |name| *name != "ARRAY");
    let own_length = item.prop_flat_map(|name| {
        vec(scalar(name), 0..5).prop_map(move |items| {
            json!({"type": "ARRAY", "primitive": name, "itemLength": 0, "items": items})
        })
    });
    let fixed = prop_oneof![
        vec(any::<i16>(), 0..5).prop_map(|items| {
            let items: Vec<_> =
                items.iter().map(|v| json!({"type": "INT", "v": v.to_string()})).collect();
            json!({"type": "ARRAY", "primitive": "INT", "itemLength": 2, "items": items})
        }),
        vec(time_of(5), 0..5).prop_map(|items| {
            let items: Vec<_> = items.into_iter().map(|item| typed("TIME", item)).collect();
            json!({"type": "ARRAY", "primitive": "TIME", "itemLength": 5, "items": items})
        }),
    ];
    prop_oneof![3 => own_length, 1 => fixed]
}

pub(crate) fn primitive(name: &'static str) -> BoxedStrategy<Value> {
    if name == "ARRAY" { array().boxed() } else { scalar(name) }
}

pub(crate) fn any_primitive() -> impl Strategy<Value = Value> {
    select(&PRIMITIVES[..]).prop_flat_map(primitive)
}

/// A set-defined value of a form.
fn form_value(form: &str) -> BoxedStrategy<Value> {
    let of = |name: &'static str, value: BoxedStrategy<Value>| {
        value.prop_map(move |value| typed(name, value)).boxed()
    };
    let int = |range: core::ops::RangeInclusive<i64>| {
        of("INT", range.prop_map(|v| json!({"v": v.to_string()})).boxed())
    };
    let uint = |most: u64| of("UINT", (0..=most).prop_map(|v| json!({"v": v.to_string()})).boxed());
    match form {
        "INT_1" => int(-128..=127),
        "INT_2" => int(-32768..=32767),
        "INT_4" => int(i32::MIN.into()..=i32::MAX.into()),
        "INT_8" => int(i64::MIN..=i64::MAX),
        "UINT_1" => uint(0xFF),
        "UINT_2" => uint(0xFFFF),
        "UINT_4" => uint(u32::MAX.into()),
        "UINT_8" => uint(u64::MAX),
        "FLOAT_4" => {
            of("FLOAT", any::<u32>().prop_map(|b| json!({"bits": format!("{b:08x}")})).boxed())
        }
        "DOUBLE_8" => {
            of("DOUBLE", any::<u64>().prop_map(|b| json!({"bits": format!("{b:016x}")})).boxed())
        }
        "REAL_4RB" => of("REAL", real(any::<i32>().prop_map(i64::from)).boxed()),
        "REAL_8RB" => of("REAL", real(any::<i64>()).boxed()),
        "DATE_4" => of("DATE", date().boxed()),
        "TIME_3" => of("TIME", time_of(3).boxed()),
        "TIME_5" => of("TIME", time_of(5).boxed()),
        "TIME_7" => of("TIME", time_of(7).boxed()),
        "TIME_8" => of("TIME", time_of(8).boxed()),
        "DATETIME_7" => of("DATETIME", date_time_of(7).boxed()),
        "DATETIME_9" => of("DATETIME", date_time_of(9).boxed()),
        "DATETIME_11" => of("DATETIME", date_time_of(11).boxed()),
        "DATETIME_12" => of("DATETIME", date_time_of(12).boxed()),
        other => {
            let known = PRIMITIVES.iter().find(|name| **name == other);
            primitive(known.expect("a primitive or a set-only form"))
        }
    }
}

/// A field list with standard data, perhaps with info and unknown set data.
fn field_list(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let field = inner.prop_map(|data| {
        let known = FIELDS.iter().find(|(_, name)| data["type"] == *name);
        json!({"fid": known.map_or(-13, |(fid, _)| *fid), "data": data})
    });
    let info = proptest::option::of((0..0x8000_u16, any::<u16>()));
    let set = proptest::option::of((proptest::option::of(0..0x8000_u16), hex_text(40)));
    (vec(field, 0..5), info, set).prop_map(|(std, info, set)| {
        let (set_id, set_hex) = set.map_or((None, None), |(id, hex)| (id, Some(hex)));
        with(
            &json!({"type": "FIELD_LIST"}),
            [
                ("dictId", info.map(|(id, _)| json!(id))),
                ("listNum", info.map(|(_, number)| json!(number))),
                ("setId", set_id.map(|id| json!(id))),
                ("setHex", set_hex.map(|hex| json!(hex))),
                ("std", Some(json!(std))),
            ],
        )
    })
}

fn element_list(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let no_data = Just(json!({"type": "NO_DATA"}));
    let value = prop_oneof![9 => inner, 1 => no_data];
    let element =
        (latin_text(160), value).prop_map(|(name, data)| json!({"name": name, "data": data}));
    (vec(element, 0..5), proptest::option::of(any::<u16>())).prop_map(|(std, number)| {
        with(
            &json!({"type": "ELEMENT_LIST"}),
            [("listNum", number.map(|number| json!(number))), ("std", Some(json!(std)))],
        )
    })
}

/// The parts of an entry that are common to all containers; `bare` actions
/// have no data.
fn entry(
    actions: &'static [u8],
    bare: &'static [u8],
    data: BoxedStrategy<Option<Value>>,
) -> impl Strategy<Value = Value> {
    (select(actions), proptest::option::of(hex_text(40)), data).prop_map(
        move |(action, perm, data)| {
            let data = data.filter(|_| !bare.contains(&action));
            with(
                &json!({"action": action}),
                [("permHex", perm.map(|hex| json!(hex))), ("data", data)],
            )
        },
    )
}

fn filter_list(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let own = entry(&[1, 2, 3, 9], &[3], inner.prop_map(Some).boxed()).prop_map(|entry| {
        let own_type = entry.get("data").map_or(json!("MAP"), |data| data["type"].clone());
        with(&entry, [("containerType", Some(own_type))])
    });
    let entry = (own, any::<u8>()).prop_map(|(entry, id)| with(&entry, [("id", Some(json!(id)))]));
    let entries = vec(entry, 0..4);
    (entries, proptest::option::of(any::<u8>())).prop_map(|(entries, hint)| {
        with(
            &json!({"type": "FILTER_LIST", "containerType": "NO_DATA", "entries": entries}),
            [("hint", hint.map(|hint| json!(hint)))],
        )
    })
}

/// Set definitions of a container, and the data of its entries: lists that
/// use them.
#[derive(Clone, Debug)]
struct Rows {
    kind: &'static str,
    defs: Value,
    forms: Vec<String>,
}

fn rows() -> impl Strategy<Value = Rows> {
    (vec(forms(), 1..6), any::<bool>(), 0..16_u8).prop_map(|(forms, is_field, id)| {
        let entry = |(at, form): (usize, &String)| match is_field {
            true => json!({"fid": -100 - at as i32, "type": form}),
            false => json!({"name": format!("e{at}"), "type": form}),
        };
        let entries: Vec<_> = forms.iter().enumerate().map(entry).collect();
        let kind = if is_field { "FIELD" } else { "ELEMENT" };
        Rows { kind, defs: json!({"kind": kind, "defs": [{"id": id, "entries": entries}]}), forms }
    })
}

fn row(rows: &Rows) -> BoxedStrategy<Value> {
    let rows = rows.clone();
    let values: Vec<_> = rows.forms.iter().map(|form| form_value(form)).collect();
    values
        .prop_map(move |values| {
            let entries = &rows.defs["defs"][0]["entries"];
            let entry = |(at, data): (usize, Value)| {
                let definition = entries[at].clone();
                let form = definition["type"].clone();
                let mut entry = definition;
                entry["st"] = form;
                entry["data"] = data;
                entry.as_object_mut().map(|entry| entry.remove("type"));
                entry
            };
            let set: Vec<_> = values.into_iter().enumerate().map(entry).collect();
            let id = rows.defs["defs"][0]["id"].clone();
            json!({"type": format!("{}_LIST", rows.kind), "setId": id, "set": set})
        })
        .boxed()
}

/// The type, definitions and a strategy for the data of a keyed container.
fn keyed(
    inner: BoxedStrategy<Value>,
) -> impl Strategy<Value = (Value, Option<Value>, BoxedStrategy<Option<Value>>)> {
    let with_rows = rows().prop_map(|rows| {
        let container_type = json!(format!("{}_LIST", rows.kind));
        (container_type, Some(rows.defs.clone()), row(&rows).prop_map(Some).boxed())
    });
    let plain = inner.prop_map(|sample| {
        let data = sample.clone();
        (sample["type"].clone(), None, Just(Some(data)).boxed())
    });
    let none = Just(()).prop_map(|()| (json!("NO_DATA"), None, Just(None).boxed()));
    prop_oneof![4 => with_rows, 4 => plain, 1 => none]
}

fn map(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let keys = select(&PRIMITIVES[..]).prop_filter("no array keys", |name| *name != "ARRAY");
    (
        keyed(inner),
        keys,
        proptest::option::of(any::<i16>()),
        proptest::option::of(0..0x4000_0000_u32),
    )
        .prop_flat_map(|((container_type, defs, data), key_type, key_field, hint)| {
            let entry = (entry(&[1, 2, 3, 7], &[3], data.clone()), primitive(key_type))
                .prop_map(|(entry, key)| with(&entry, [("key", Some(key))]));
            (vec(entry, 0..4), proptest::option::of(data)).prop_map(move |(entries, summary)| {
                with(
                    &json!({"type": "MAP", "keyType": key_type, "containerType": container_type}),
                    [
                        ("keyFieldId", key_field.map(|fid| json!(fid))),
                        ("setDefs", defs.clone()),
                        ("summary", summary.flatten()),
                        ("hint", hint.map(|hint| json!(hint))),
                        ("entries", Some(json!(entries))),
                    ],
                )
            })
        })
}

fn vector_or_series(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    (keyed(inner), any::<bool>()).prop_flat_map(|((container_type, defs, data), is_vector)| {
        let vector_entry = (entry(&[1, 2, 3, 4, 5, 8], &[3, 5], data.clone()), 0..0x4000_0000_u32)
            .prop_map(|(entry, index)| with(&entry, [("index", Some(json!(index)))]));
        let series_entry = data.clone().prop_map(|data| with(&json!({}), [("data", data)]));
        let entry = if is_vector { vector_entry.boxed() } else { series_entry.boxed() };
        let name = if is_vector { "VECTOR" } else { "SERIES" };
        (vec(entry, 0..4), proptest::option::of(data)).prop_map(move |(entries, summary)| {
            with(
                &json!({"type": name, "containerType": container_type}),
                [
                    ("setDefs", defs.clone()),
                    ("summary", summary.flatten()),
                    ("entries", Some(json!(entries))),
                ],
            )
        })
    })
}

fn key(attrib: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    use proptest::option::of;
    let name = of((latin_text(100), of(any::<u8>())));
    let attrib =
        of(attrib.prop_filter("attributes are short", |value| value.to_string().len() < 4000));
    (of(any::<u16>()), name, of(any::<u32>()), of(any::<i32>()), attrib).prop_map(
        |(service, name, filter, identifier, attrib)| {
            let name_type = name.as_ref().and_then(|(_, name_type)| *name_type);
            with(
                &json!({}),
                [
                    ("serviceId", service.map(|id| json!(id))),
                    ("name", name.map(|(name, _)| json!(name))),
                    ("nameType", name_type.map(|name_type| json!(name_type))),
                    ("filter", filter.map(|filter| json!(filter))),
                    ("identifier", identifier.map(|identifier| json!(identifier))),
                    ("attrib", attrib),
                ],
            )
        },
    )
}

/// The parts that a class has, each optional unless it must be there.
fn parts(class: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match class {
        "REQUEST" => (&["key"], &["priority", "qos", "worstQos"]),
        "REFRESH" => (
            &["state", "groupIdHex"],
            &["seqNum", "permHex", "qos", "key", "postUserInfo", "partNum"],
        ),
        "STATUS" => (&[], &["state", "groupIdHex", "permHex", "key", "postUserInfo"]),
        "UPDATE" => (&["updateType"], &["seqNum", "conf", "permHex", "key", "postUserInfo"]),
        "ACK" => (&["ackId"], &["nakCode", "text", "seqNum", "key"]),
        "GENERIC" => (&[], &["seqNum", "secondarySeqNum", "permHex", "key", "partNum"]),
        "POST" => (
            &["postUserInfo"],
            &["seqNum", "postId", "permHex", "key", "partNum", "postUserRights"],
        ),
        _ => (&[], &[]),
    }
}

fn part(name: &str, inner: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    match name {
        "key" => key(inner).boxed(),
        "qos" | "worstQos" => qos().boxed(),
        "state" => state().boxed(),
        "groupIdHex" | "permHex" | "extHdrHex" => hex_text(200).prop_map(Value::from).boxed(),
        "text" => latin_text(300).prop_map(Value::from).boxed(),
        "partNum" | "postUserRights" => (0..0x8000_u16).prop_map(Value::from).boxed(),
        "updateType" | "nakCode" => any::<u8>().prop_map(Value::from).boxed(),
        "priority" => (any::<u8>(), any::<u16>())
            .prop_map(|(class, count)| json!({"class": class, "count": count}))
            .boxed(),
        "postUserInfo" => (any::<u32>(), any::<u32>())
            .prop_map(|(addr, id)| json!({"addr": addr, "id": id}))
            .boxed(),
        "conf" => (0..0x8000_u16, any::<u16>())
            .prop_map(|(count, time)| json!({"confCount": count, "confTime": time}))
            .boxed(),
        _ => any::<u32>().prop_map(Value::from).boxed(),
    }
}

fn msg(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    const CLASSES: [&str; 8] =
        ["REQUEST", "REFRESH", "STATUS", "UPDATE", "CLOSE", "ACK", "GENERIC", "POST"];
    (select(&CLASSES[..]), proptest::option::of(inner.clone())).prop_flat_map(
        move |(class, payload)| {
            let (always, sometimes) = parts(class);
            let always: Vec<_> = always
                .iter()
                .map(|name| part(name, inner.clone()).prop_map(Some).boxed())
                .collect();
            let optional: Vec<_> = sometimes
                .iter()
                .chain(&["extHdrHex"])
                .map(|name| proptest::option::of(part(name, inner.clone())).boxed())
                .collect();
            let container_type = payload.as_ref().map_or(json!("NO_DATA"), |p| p["type"].clone());
            (any::<u8>(), any::<i32>(), always, optional).prop_map(
                move |(domain, stream, always, optional)| {
                    let (names, more) = parts(class);
                    let names = names.iter().chain(more).chain(&["extHdrHex"]);
                    let head = json!({
                        "type": "MSG", "class": class, "domain": domain, "streamId": stream,
                        "containerType": container_type,
                    });
                    let mut node =
                        with(&head, names.copied().zip(always.into_iter().chain(optional)));
                    let conflation = node.as_object_mut().and_then(|node| node.remove("conf"));
                    if let (Some(Value::Object(conf)), Some(node)) =
                        (conflation, node.as_object_mut())
                    {
                        node.extend(conf);
                    }
                    with(&node, [("payload", payload.clone())])
                },
            )
        },
    )
}

/// A container of any type with anything inside.
pub(crate) fn any_container() -> impl Strategy<Value = Value> {
    let raw = (select(&["OPAQUE", "XML", "ANSI_PAGE", "JSON"][..]), vec(any::<u8>(), 1..300))
        .prop_map(|(name, bytes)| json!({"type": name, "hex": tapeline_golden::hex(&bytes)}));
    let empty = select(&["FIELD_LIST", "ELEMENT_LIST", "MAP", "MSG", "OPAQUE"][..])
        .prop_map(|name| json!({"type": name, "empty": true}));
    let leaf = prop_oneof![
        1 => raw,
        1 => empty,
        3 => field_list(any_primitive().boxed()),
        3 => element_list(any_primitive().boxed()),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            field_list(inner.clone()),
            element_list(inner.clone()),
            filter_list(inner.clone()),
            map(inner.clone()),
            vector_or_series(inner.clone()),
            msg(inner),
        ]
    })
}

/// A message that is no container's content.
pub(crate) fn any_msg() -> impl Strategy<Value = Value> {
    msg(any_container().boxed())
}
