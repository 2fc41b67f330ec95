//! Random payloads of every container type, and a naive model of what an item
//! should be: decoded values in ordinary maps.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tapeline_rwf::{
    DataType, Domain, ElementListHead, Encoded, Encoder, FieldListHead, FilterAction,
    FilterListHead, LocalSetDefsBuf, MapAction, MapHead, Msg, Primitive, Real, RefreshFlags,
    RefreshMsg, SeriesHead, SetDefs, Slot, UpdateFlags, UpdateMsg, UpdateType, VectorAction,
    VectorHead,
};

/// One field of a random list: its id decides the type, the seed the value.
pub(crate) type Field = (i16, u64);

/// A random list: fields, or elements named after them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List {
    pub(crate) fields: Vec<Field>,
    /// Seeds of the values of the row set, if the list has set-defined data.
    pub(crate) set: Option<[u64; 3]>,
}

/// A random entry of a map, vector or filter list.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) action: u8,
    pub(crate) key: u8,
    pub(crate) perm_data: Option<u8>,
    pub(crate) list: List,
}

/// A random payload.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    Fields(List),
    Elements(List),
    Map { summary: Option<List>, entries: Vec<Entry> },
    Vector { summary: Option<List>, entries: Vec<Entry> },
    Series { summary: Option<List>, entries: Vec<List> },
    Filter { entries: Vec<Entry> },
}

const KINDS: usize = 6;

fn list(has_sets: bool) -> impl Strategy<Value = List> {
    let set = option::of(any::<[u64; 3]>()).prop_map(move |set| set.filter(|_| has_sets));
    (vec((1_i16..40, any::<u64>()), 0..24), set).prop_map(|(fields, set)| List { fields, set })
}

fn entry(actions: u8) -> impl Strategy<Value = Entry> {
    (1..=actions, 0_u8..8, option::weighted(0.2, any::<u8>()), list(true))
        .prop_map(|(action, key, perm_data, list)| Entry { action, key, perm_data, list })
}

fn payload(kind: usize) -> BoxedStrategy<Payload> {
    let summary = option::of(list(true));
    match kind {
        0 => list(false).prop_map(Payload::Fields).boxed(),
        1 => list(false).prop_map(Payload::Elements).boxed(),
        2 => (summary, vec(entry(3), 0..6))
            .prop_map(|(summary, entries)| Payload::Map { summary, entries })
            .boxed(),
        3 => (summary, vec(entry(5), 0..6))
            .prop_map(|(summary, entries)| Payload::Vector { summary, entries })
            .boxed(),
        4 => (summary, vec(list(true), 0..4))
            .prop_map(|(summary, entries)| Payload::Series { summary, entries })
            .boxed(),
        _ => vec(entry(3), 0..6).prop_map(|entries| Payload::Filter { entries }).boxed(),
    }
}

/// An image and updates of the same kind.
pub(crate) fn story() -> impl Strategy<Value = (Payload, Vec<Payload>)> {
    (0..KINDS).prop_flat_map(|kind| (payload(kind), vec(payload(kind), 0..12)))
}

impl Payload {
    pub(crate) fn container_type(&self) -> DataType {
        match self {
            Self::Fields(_) => DataType::FIELD_LIST,
            Self::Elements(_) => DataType::ELEMENT_LIST,
            Self::Map { .. } => DataType::MAP,
            Self::Vector { .. } => DataType::VECTOR,
            Self::Series { .. } => DataType::SERIES,
            Self::Filter { .. } => DataType::FILTER_LIST,
        }
    }

    fn write(&self, slot: Slot<'_, '_>) {
        match self {
            Self::Fields(list) | Self::Elements(list) => write_list(list, slot),
            Self::Map { summary, entries } => write_map(summary.as_ref(), entries, slot),
            Self::Vector { summary, entries } => write_vector(summary.as_ref(), entries, slot),
            Self::Series { summary, entries } => write_series(summary.as_ref(), entries, slot),
            Self::Filter { entries } => write_filter(entries, slot),
        }
    }

    /// The payload in an encoded message.
    pub(crate) fn message(&self, head: &Msg<'_>) -> Vec<u8> {
        let mut buffer = vec![0; 1 << 16];
        let mut encoder = Encoder::new(&mut buffer);
        self.write(encoder.begin(head, self.container_type()).expect("a head"));
        let len = encoder.finish().expect("room");
        buffer.truncate(len);
        buffer
    }

    pub(crate) fn refresh(&self, extra: RefreshFlags) -> Vec<u8> {
        let mut head = RefreshMsg::new(Domain::MARKET_PRICE, 5);
        head.flags = extra | RefreshFlags::REFRESH_COMPLETE;
        self.message(&head.into())
    }

    pub(crate) fn update(&self) -> Vec<u8> {
        let mut head = UpdateMsg::new(Domain::MARKET_PRICE, 5);
        head.flags = UpdateFlags::DO_NOT_RIPPLE;
        head.update_type = UpdateType::QUOTE;
        self.message(&head.into())
    }
}

fn rows() -> LocalSetDefsBuf {
    let set = [(1, DataType::REAL_8RB), (2, DataType::UINT_2), (3, DataType::RMTES_STRING)];
    LocalSetDefsBuf::fields(&[(0, &set)]).expect("valid definitions")
}

fn field_type(field_id: i16) -> DataType {
    match field_id % 4 {
        1 => DataType::REAL,
        2 => DataType::UINT,
        3 => DataType::RMTES_STRING,
        _ => DataType::BUFFER,
    }
}

const TEXT: &[u8; 300] = &[b'x'; 300];

fn value(field_id: i16, seed: u64) -> Primitive<'static> {
    if seed.is_multiple_of(11) {
        return Primitive::Blank(field_type(field_id));
    }
    match field_type(field_id) {
        DataType::REAL => Real::decimal(seed as i64 >> (seed % 60), 2).into(),
        DataType::UINT => Primitive::Uint(seed >> (seed % 60)),
        DataType::RMTES_STRING => Primitive::Rmtes(&TEXT[..seed as usize % TEXT.len()]),
        _ => Primitive::Buffer(&TEXT[..seed as usize % 9]),
    }
}

fn write_list(list: &List, slot: Slot<'_, '_>) {
    if slot.data_type() == DataType::ELEMENT_LIST {
        let mut elements = slot.element_list(&ElementListHead::STANDARD).expect("begins");
        for (field_id, seed) in &list.fields {
            elements.put(format!("E{field_id}"), value(*field_id, *seed)).expect("an element");
        }
        return elements.finish().expect("ends");
    }
    let definitions = rows();
    let Some([a, b, c]) = list.set else {
        let mut fields = slot.field_list(&FieldListHead::STANDARD).expect("begins");
        for (field_id, seed) in &list.fields {
            fields.put(*field_id, value(*field_id, *seed)).expect("a field");
        }
        return fields.finish().expect("ends");
    };
    let set = tapeline_rwf::SetHead { id: None, def: definitions.defs().field_set(0) };
    let head = FieldListHead { info: None, set: Some(set), standard: true };
    let mut fields = slot.field_list(&head).expect("begins");
    fields.put(1, Real::decimal(a as i64 >> 8, 2)).expect("the first of the set");
    fields.put(2, b % 65536).expect("the second of the set");
    fields.put(3, value(3, c | 1)).expect("the third of the set");
    for (field_id, seed) in &list.fields {
        fields.put(*field_id, value(*field_id, *seed)).expect("a field");
    }
    fields.finish().expect("ends");
}

fn write_map(summary: Option<&List>, entries: &[Entry], slot: Slot<'_, '_>) {
    let definitions = rows();
    let mut head = MapHead::new(DataType::BUFFER, DataType::FIELD_LIST);
    head.set_defs = Some(definitions.defs());
    head.key_field_id = Some(3426);
    let mut map = slot.map(&head).expect("begins");
    if let Some(summary) = summary {
        write_list(summary, map.summary().expect("a summary"));
    }
    for entry in entries {
        let (action, key) = (MapAction(entry.action), [entry.key]);
        let perm_data = entry.perm_data.as_ref().map(std::slice::from_ref);
        if action == MapAction::DELETE {
            map.bare_entry(action, Primitive::Buffer(&key), perm_data).expect("an entry");
        } else {
            let slot = map.entry(action, Primitive::Buffer(&key), perm_data);
            write_list(&entry.list, slot.expect("an entry"));
        }
    }
    map.finish().expect("ends");
}

fn write_vector(summary: Option<&List>, entries: &[Entry], slot: Slot<'_, '_>) {
    let definitions = rows();
    let mut head = VectorHead::new(DataType::FIELD_LIST);
    head.set_defs = Some(definitions.defs());
    head.supports_sorting = true;
    let mut vector = slot.vector(&head).expect("begins");
    if let Some(summary) = summary {
        write_list(summary, vector.summary().expect("a summary"));
    }
    for entry in entries {
        let (action, index) = (VectorAction(entry.action), entry.key.into());
        let perm_data = entry.perm_data.as_ref().map(std::slice::from_ref);
        if matches!(action, VectorAction::DELETE | VectorAction::CLEAR) {
            vector.bare_entry(action, index, perm_data).expect("an entry");
        } else {
            write_list(&entry.list, vector.entry(action, index, perm_data).expect("an entry"));
        }
    }
    vector.finish().expect("ends");
}

fn write_series(summary: Option<&List>, entries: &[List], slot: Slot<'_, '_>) {
    let definitions = rows();
    let mut head = SeriesHead::new(DataType::FIELD_LIST);
    head.set_defs = Some(definitions.defs());
    let mut series = slot.series(&head).expect("begins");
    if let Some(summary) = summary {
        write_list(summary, series.summary().expect("a summary"));
    }
    for list in entries {
        write_list(list, series.entry().expect("an entry"));
    }
    series.finish().expect("ends");
}

fn write_filter(entries: &[Entry], slot: Slot<'_, '_>) {
    let mut filter =
        slot.filter_list(&FilterListHead::new(DataType::ELEMENT_LIST)).expect("begins");
    for entry in entries {
        let action = FilterAction(entry.action);
        let perm_data = entry.perm_data.as_ref().map(std::slice::from_ref);
        if action == FilterAction::CLEAR {
            filter.bare_entry(action, entry.key, None, perm_data).expect("an entry");
        } else {
            let list = List { set: None, ..entry.list.clone() };
            let slot = filter.entry(action, entry.key, None, perm_data).expect("an entry");
            write_list(&list, slot);
        }
    }
    filter.finish().expect("ends");
}

/// Decoded values of a list by name.
pub(crate) type Values = BTreeMap<String, String>;
/// Permission data and values of an entry.
pub(crate) type Row = (Option<Vec<u8>>, Values);

/// What an item should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) summary: Values,
    pub(crate) rows: BTreeMap<u32, Row>,
    pub(crate) series: Vec<Values>,
}

impl Model {
    /// Applies an encoded payload by the rules, entry by entry.
    pub(crate) fn apply(&mut self, data: &Encoded<'_>) {
        match data.data_type() {
            DataType::FIELD_LIST | DataType::ELEMENT_LIST => {
                self.summary.extend(values(data, &SetDefs::NONE));
            }
            DataType::MAP => {
                let map = data.map().expect("well-formed");
                let defs = map.set_defs();
                self.summary.extend(map.summary().map(|s| values(&s, &defs)).unwrap_or_default());
                for entry in map.iter().map(|entry| entry.expect("well-formed")) {
                    let key = u32::from(entry.key.bytes()[0]);
                    let perm_data = entry.perm_data.map(<[u8]>::to_vec);
                    self.keyed(entry.action.0, key, perm_data, values(&entry.data, &defs));
                }
            }
            DataType::FILTER_LIST => {
                let list = data.filter_list().expect("well-formed");
                for entry in list.iter().map(|entry| entry.expect("well-formed")) {
                    let perm_data = entry.perm_data.map(<[u8]>::to_vec);
                    let values = values(&entry.data, &SetDefs::NONE);
                    self.keyed(entry.action.0, entry.id.into(), perm_data, values);
                }
            }
            DataType::VECTOR => self.vector(data),
            DataType::SERIES => {
                let series = data.series().expect("well-formed");
                let defs = series.set_defs();
                let summary = series.summary().map(|s| values(&s, &defs)).unwrap_or_default();
                self.summary.extend(summary);
                for entry in series.iter().map(|entry| entry.expect("well-formed")) {
                    self.series.push(values(&entry, &defs));
                }
            }
            other => panic!("no model of {other}"),
        }
    }

    fn keyed(&mut self, action: u8, key: u32, perm_data: Option<Vec<u8>>, values: Values) {
        match MapAction(action) {
            MapAction::DELETE => drop(self.rows.remove(&key)),
            MapAction::ADD => drop(self.rows.insert(key, (perm_data, values))),
            _ => {
                let row = self.rows.entry(key).or_default();
                row.0 = perm_data.or(row.0.take());
                row.1.extend(values);
            }
        }
    }

    fn vector(&mut self, data: &Encoded<'_>) {
        let vector = data.vector().expect("well-formed");
        let defs = vector.set_defs();
        self.summary.extend(vector.summary().map(|s| values(&s, &defs)).unwrap_or_default());
        for entry in vector.iter().map(|entry| entry.expect("well-formed")) {
            let perm_data = entry.perm_data.map(<[u8]>::to_vec);
            let row = (perm_data, values(&entry.data, &defs));
            let at = entry.index;
            match entry.action {
                VectorAction::SET => drop(self.rows.insert(at, row)),
                VectorAction::UPDATE => self.keyed(MapAction::UPDATE.0, at, row.0, row.1),
                VectorAction::CLEAR => drop(self.rows.insert(at, (row.0, Values::new()))),
                VectorAction::INSERT => {
                    self.shift(|index| if index >= at { index + 1 } else { index });
                    self.rows.insert(at, row);
                }
                VectorAction::DELETE => {
                    self.rows.remove(&at);
                    self.shift(|index| if index > at { index - 1 } else { index });
                }
                other => panic!("no model of {other}"),
            }
        }
    }

    fn shift(&mut self, to: impl Fn(u32) -> u32) {
        self.rows = std::mem::take(&mut self.rows).into_iter().map(|(i, r)| (to(i), r)).collect();
    }

    /// The item that an encoded payload alone gives.
    pub(crate) fn of(container_type: DataType, payload: &[u8]) -> Self {
        let mut model = Self::default();
        model.apply(&Encoded::new(container_type, payload));
        model
    }
}

fn values(data: &Encoded<'_>, defs: &SetDefs<'_>) -> Values {
    if data.is_empty() {
        return Values::new();
    }
    if data.data_type() == DataType::ELEMENT_LIST {
        let list = data.element_list_with(defs).expect("well-formed");
        return list
            .iter()
            .map(|entry| entry.expect("well-formed"))
            .map(|entry| {
                let name = String::from_utf8_lossy(entry.name).into_owned();
                (name, format!("{:?}", entry.value.primitive()))
            })
            .collect();
    }
    let list = data.field_list_with(defs).expect("well-formed");
    list.iter()
        .map(|entry| entry.expect("well-formed"))
        .map(|entry| {
            let value = entry.primitive(field_type(entry.field_id));
            (entry.field_id.to_string(), format!("{value:?}"))
        })
        .collect()
}
