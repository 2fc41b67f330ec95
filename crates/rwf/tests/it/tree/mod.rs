//! Owned trees of everything that can be encoded, with strategies that make
//! them: the other side of the round trip tests.

mod header;
mod strategy;

use tapeline_rwf::{
    Array, DataType, Date, DateTime, DecodeError, ElementListHead, ElementListInfo, EncodeError,
    Encoded, Encoder, FieldListHead, FieldListInfo, FieldSetDef, FilterAction, FilterListHead,
    LocalSetDefsBuf, MapAction, MapHead, MsgKey, Primitive, Qos, Real, SeriesHead, SetDefs,
    SetHead, Slot, State, Time, VectorAction, VectorHead,
};

pub(crate) use strategy::{message, node, primitive};

/// A primitive value that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Blank(DataType),
    Int(i64),
    Uint(u64),
    /// Bits, so that values that are no number compare too.
    Float(u32),
    Double(u64),
    Real(Real),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Qos(Qos),
    State {
        stream: u8,
        data: u8,
        code: u8,
        text: Vec<u8>,
    },
    Enum(u16),
    Array {
        item_type: DataType,
        item_len: u16,
        items: Vec<Value>,
    },
    Bytes(DataType, Vec<u8>),
}

impl Value {
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Array { .. } => DataType::ARRAY,
            Self::Bytes(data_type, _) => *data_type,
            other => other.primitive().data_type(),
        }
    }

    /// The value for the encoder; arrays have a builder of their own.
    pub(crate) fn primitive(&self) -> Primitive<'_> {
        match self {
            Self::Blank(data_type) => Primitive::Blank(*data_type),
            Self::Int(value) => Primitive::Int(*value),
            Self::Uint(value) => Primitive::Uint(*value),
            Self::Float(bits) => Primitive::Float(f32::from_bits(*bits)),
            Self::Double(bits) => Primitive::Double(f64::from_bits(*bits)),
            Self::Real(value) => Primitive::Real(*value),
            Self::Date(value) => Primitive::Date(*value),
            Self::Time(value) => Primitive::Time(*value),
            Self::DateTime(value) => Primitive::DateTime(*value),
            Self::Qos(value) => Primitive::Qos(*value),
            Self::State { stream, data, code, text } => Primitive::State(State {
                stream: (*stream).into(),
                data: (*data).into(),
                code: (*code).into(),
                text,
            }),
            Self::Enum(value) => Primitive::Enum(*value),
            Self::Bytes(DataType::BUFFER, bytes) => Primitive::Buffer(bytes),
            Self::Bytes(DataType::ASCII_STRING, bytes) => Primitive::Ascii(bytes),
            Self::Bytes(DataType::UTF8_STRING, bytes) => Primitive::Utf8(bytes),
            Self::Bytes(DataType::RMTES_STRING, bytes) => Primitive::Rmtes(bytes),
            Self::Bytes(data_type, bytes) => Primitive::Other(*data_type, bytes),
            Self::Array { .. } => panic!("arrays are written item by item"),
        }
    }

    pub(crate) fn read(data: &Encoded<'_>) -> Result<Self, DecodeError> {
        Ok(match data.primitive()? {
            Primitive::Blank(data_type) => Self::Blank(data_type),
            Primitive::Int(value) => Self::Int(value),
            Primitive::Uint(value) => Self::Uint(value),
            Primitive::Float(value) => Self::Float(value.to_bits()),
            Primitive::Double(value) => Self::Double(value.to_bits()),
            Primitive::Real(value) => Self::Real(value),
            Primitive::Date(value) => Self::Date(value),
            Primitive::Time(value) => Self::Time(value),
            Primitive::DateTime(value) => Self::DateTime(value),
            Primitive::Qos(value) => Self::Qos(value),
            Primitive::State(state) => Self::State {
                stream: state.stream.0,
                data: state.data.0,
                code: state.code.0,
                text: state.text.to_vec(),
            },
            Primitive::Enum(value) => Self::Enum(value),
            Primitive::Array(array) => Self::read_array(&array)?,
            Primitive::Buffer(bytes) => Self::Bytes(DataType::BUFFER, bytes.to_vec()),
            Primitive::Ascii(bytes) => Self::Bytes(DataType::ASCII_STRING, bytes.to_vec()),
            Primitive::Utf8(bytes) => Self::Bytes(DataType::UTF8_STRING, bytes.to_vec()),
            Primitive::Rmtes(bytes) => Self::Bytes(DataType::RMTES_STRING, bytes.to_vec()),
            Primitive::Other(data_type, bytes) => Self::Bytes(data_type, bytes.to_vec()),
        })
    }

    fn read_array(array: &Array<'_>) -> Result<Self, DecodeError> {
        let items = array.iter().map(|item| Self::read(&item?)).collect::<Result<_, _>>()?;
        Ok(Self::Array { item_type: array.item_type(), item_len: array.item_len(), items })
    }

    fn write_array(&self, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
        let Self::Array { item_type, item_len, items } = self else { unreachable!() };
        let mut array = slot.array(*item_type, *item_len)?;
        for item in items {
            array.put(item.primitive())?;
        }
        array.finish()
    }

    /// The bytes of the value alone, without a length.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut buffer = vec![0; 1 << 18];
        let mut encoder = Encoder::new(&mut buffer);
        let slot = encoder.container(DataType::FIELD_LIST);
        let mut list = slot.field_list(&FieldListHead::STANDARD).expect("a list begins");
        match self {
            Self::Array { .. } => {
                let slot = list.slot(0, DataType::ARRAY).expect("an array begins");
                self.write_array(slot).expect("a valid array");
            }
            other => list.put(0, other.primitive()).expect("a valid value"),
        }
        list.finish().expect("a list ends");
        let bytes = encoder.finish_bytes().expect("enough room");
        let list = Encoded::new(DataType::FIELD_LIST, bytes);
        let entry = list.field_list().expect("its own encoding").iter().next();
        entry.expect("one entry").expect("well-formed").value.bytes().to_vec()
    }
}

/// A value in a list, a container or a primitive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Value(Value),
    Node(Node),
}

impl Item {
    fn data_type(&self) -> DataType {
        match self {
            Self::Value(value) => value.data_type(),
            Self::Node(node) => node.data_type(),
        }
    }

    fn read(data: &Encoded<'_>) -> Result<Self, DecodeError> {
        if data.data_type().is_container() {
            return Node::read(data).map(Self::Node);
        }
        Value::read(data).map(Self::Value)
    }
}

/// Set definitions and what they are for.
pub(crate) type Defs = Vec<(u16, Vec<(i16, DataType)>)>;

/// Action, filter id, container type of its own, permission data, data.
pub(crate) type FilterEntry = (u8, u8, Option<DataType>, Option<Vec<u8>>, Option<Node>);

/// Action, index or key, permission data, data.
pub(crate) type Entry<K> = (u8, K, Option<Vec<u8>>, Option<Node>);

/// A container that owns its content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// Zero bytes of a container type.
    Empty(DataType),
    Opaque(DataType, Vec<u8>),
    FieldList {
        info: Option<(u16, u16)>,
        /// Values by the definition of set 0 around the list.
        set: Option<Vec<(i16, DataType, Value)>>,
        standard: Option<Vec<(i16, Item)>>,
    },
    ElementList {
        info: Option<u16>,
        elements: Vec<(String, Item)>,
    },
    FilterList {
        container_type: DataType,
        hint: Option<u8>,
        entries: Vec<FilterEntry>,
    },
    Vector {
        container_type: DataType,
        sorting: bool,
        hint: Option<u32>,
        summary: Option<Box<Node>>,
        entries: Vec<Entry<u32>>,
    },
    Series {
        container_type: DataType,
        hint: Option<u32>,
        entries: Vec<Option<Node>>,
    },
    Map {
        key_type: DataType,
        container_type: DataType,
        key_field_id: Option<i16>,
        hint: Option<u32>,
        defs: Option<Defs>,
        summary: Option<Box<Node>>,
        entries: Vec<Entry<Value>>,
    },
    /// Header as bytes that the decoder accepts, and the payload.
    Msg {
        header: Box<Header>,
        payload: Box<Node>,
    },
}

/// The parts of message headers, drawn from by each class as it needs them.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Header {
    pub(crate) class: u8,
    pub(crate) domain: u8,
    pub(crate) stream_id: i32,
    pub(crate) flags: u16,
    pub(crate) seq_num: Option<u32>,
    pub(crate) second_num: Option<u32>,
    pub(crate) state: Option<(u8, u8, u8, Vec<u8>)>,
    pub(crate) group_id: Option<Vec<u8>>,
    pub(crate) perm_data: Option<Vec<u8>>,
    pub(crate) qos: Option<Qos>,
    pub(crate) worst_qos: Option<Qos>,
    pub(crate) key: Option<Key>,
    pub(crate) extension: Option<Vec<u8>>,
    pub(crate) post_user: Option<(u32, u32)>,
    pub(crate) part_num: Option<u16>,
    pub(crate) pair: Option<(u16, u16)>,
    pub(crate) code: u8,
    pub(crate) text: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Key {
    pub(crate) service_id: Option<u16>,
    pub(crate) name: Option<(Vec<u8>, Option<u8>)>,
    pub(crate) filter: Option<u32>,
    pub(crate) identifier: Option<i32>,
    pub(crate) attrib: Option<(DataType, Vec<u8>)>,
}

impl Node {
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Empty(data_type) | Self::Opaque(data_type, _) => *data_type,
            Self::FieldList { .. } => DataType::FIELD_LIST,
            Self::ElementList { .. } => DataType::ELEMENT_LIST,
            Self::FilterList { .. } => DataType::FILTER_LIST,
            Self::Vector { .. } => DataType::VECTOR,
            Self::Series { .. } => DataType::SERIES,
            Self::Map { .. } => DataType::MAP,
            Self::Msg { .. } => DataType::MSG,
        }
    }

    pub(crate) fn write(&self, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
        self.write_with(slot, None)
    }

    /// Writes the node; `set` is the definition of set 0 around it.
    fn write_with<'e>(
        &self,
        slot: Slot<'e, '_>,
        set: Option<FieldSetDef<'e>>,
    ) -> Result<(), EncodeError> {
        match self {
            Self::Empty(_) => slot.empty(),
            Self::Opaque(_, bytes) => slot.bytes(bytes),
            Self::FieldList { .. } => self.write_field_list(slot, set),
            Self::ElementList { info, elements } => {
                let info = info.map(|list_number| ElementListInfo { list_number });
                let mut list =
                    slot.element_list(&ElementListHead { info, ..ElementListHead::STANDARD })?;
                for (name, item) in elements {
                    match item {
                        Item::Value(value @ Value::Array { .. }) => {
                            value.write_array(list.slot(name, DataType::ARRAY)?)?;
                        }
                        Item::Value(value) => list.put(name, value.primitive())?,
                        Item::Node(node) => node.write(list.slot(name, node.data_type())?)?,
                    }
                }
                list.finish()
            }
            Self::FilterList { container_type, hint, entries } => {
                let head =
                    FilterListHead { container_type: *container_type, total_count_hint: *hint };
                let mut list = slot.filter_list(&head)?;
                for (action, id, own_type, perm_data, node) in entries {
                    let (action, perm_data) = (FilterAction(*action), perm_data.as_deref());
                    match node {
                        Some(node) => node.write(list.entry(action, *id, *own_type, perm_data)?)?,
                        None => list.bare_entry(action, *id, *own_type, perm_data)?,
                    }
                }
                list.finish()
            }
            Self::Vector { container_type, sorting, hint, summary, entries } => {
                let mut vector = slot.vector(&VectorHead {
                    container_type: *container_type,
                    supports_sorting: *sorting,
                    set_defs: None,
                    total_count_hint: *hint,
                })?;
                if let Some(summary) = summary {
                    summary.write(vector.summary()?)?;
                }
                for (action, index, perm_data, node) in entries {
                    let (action, perm_data) = (VectorAction(*action), perm_data.as_deref());
                    match node {
                        Some(node) => node.write(vector.entry(action, *index, perm_data)?)?,
                        None => vector.bare_entry(action, *index, perm_data)?,
                    }
                }
                vector.finish()
            }
            Self::Series { container_type, hint, entries } => {
                let mut series = slot.series(&SeriesHead {
                    container_type: *container_type,
                    set_defs: None,
                    total_count_hint: *hint,
                })?;
                for node in entries {
                    match node {
                        Some(node) => node.write(series.entry()?)?,
                        None => series.bare_entry()?,
                    }
                }
                series.finish()
            }
            Self::Map { .. } => self.write_map(slot),
            Self::Msg { header, payload } => header.with_msg(|msg| {
                slot.message_with(msg, payload.data_type(), |slot| payload.write(slot))
            }),
        }
    }

    fn write_field_list<'e>(
        &self,
        slot: Slot<'e, '_>,
        def: Option<FieldSetDef<'e>>,
    ) -> Result<(), EncodeError> {
        let Self::FieldList { info, set, standard } = self else { unreachable!() };
        let info =
            info.map(|(dictionary_id, list_number)| FieldListInfo { dictionary_id, list_number });
        let set_head = set.as_ref().map(|_| SetHead { id: Some(0), def });
        let head = FieldListHead { info, set: set_head, standard: standard.is_some() };
        let mut list = slot.field_list(&head)?;
        for (field_id, _, value) in set.iter().flatten() {
            list.put(*field_id, value.primitive())?;
        }
        for (field_id, item) in standard.iter().flatten() {
            match item {
                Item::Value(value @ Value::Array { .. }) => {
                    value.write_array(list.slot(*field_id, DataType::ARRAY)?)?;
                }
                Item::Value(value) => list.put(*field_id, value.primitive())?,
                Item::Node(node) => node.write(list.slot(*field_id, node.data_type())?)?,
            }
        }
        list.finish()
    }

    fn write_map(&self, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
        let Self::Map { key_type, container_type, key_field_id, hint, defs, summary, entries } =
            self
        else {
            unreachable!()
        };
        let built = defs.as_ref().map(|defs| {
            let slices: Vec<(u16, &[(i16, DataType)])> =
                defs.iter().map(|(id, entries)| (*id, entries.as_slice())).collect();
            LocalSetDefsBuf::fields(&slices).expect("valid definitions")
        });
        let set_defs = built.as_ref().map(LocalSetDefsBuf::defs);
        let set = set_defs.as_ref().and_then(|defs| defs.field_set(0));
        let mut map = slot.map(&MapHead {
            key_type: *key_type,
            container_type: *container_type,
            key_field_id: *key_field_id,
            set_defs,
            total_count_hint: *hint,
        })?;
        if let Some(summary) = summary {
            summary.write_with(map.summary()?, set)?;
        }
        for (action, key, perm_data, node) in entries {
            let (action, perm_data) = (MapAction(*action), perm_data.as_deref());
            match node {
                Some(node) => {
                    node.write_with(map.entry(action, key.primitive(), perm_data)?, set)?;
                }
                None => map.bare_entry(action, key.primitive(), perm_data)?,
            }
        }
        map.finish()
    }

    pub(crate) fn read(data: &Encoded<'_>) -> Result<Self, DecodeError> {
        Self::read_with(data, &SetDefs::NONE)
    }

    fn read_with(data: &Encoded<'_>, defs: &SetDefs<'_>) -> Result<Self, DecodeError> {
        if data.is_empty() {
            return Ok(Self::Empty(data.data_type()));
        }
        Ok(match data.data_type() {
            DataType::FIELD_LIST => Self::read_field_list(data, defs)?,
            DataType::ELEMENT_LIST => {
                let list = data.element_list_with(defs)?;
                let elements = list.iter().map(|entry| {
                    let entry = entry?;
                    let name = String::from_utf8_lossy(entry.name).into_owned();
                    Ok((name, Item::read(&entry.value)?))
                });
                let elements = elements.collect::<Result<_, DecodeError>>()?;
                Self::ElementList { info: list.info().map(|info| info.list_number), elements }
            }
            DataType::FILTER_LIST => {
                let list = data.filter_list()?;
                let entries = list.iter().map(|entry| {
                    let e = entry?;
                    let own = e.flags.bits() & 2 != 0;
                    let own_type = own.then_some(e.data.data_type());
                    let bare = e.action.0 == 3 || e.data.data_type() == DataType::NO_DATA;
                    let node = if bare { None } else { Some(Self::read(&e.data)?) };
                    Ok((e.action.0, e.id, own_type, e.perm_data.map(<[u8]>::to_vec), node))
                });
                Self::FilterList {
                    container_type: list.container_type(),
                    hint: list.total_count_hint(),
                    entries: entries.collect::<Result<_, DecodeError>>()?,
                }
            }
            DataType::VECTOR => Self::read_vector(data)?,
            DataType::SERIES => {
                let series = data.series()?;
                let container_type = series.container_type();
                let entries = series.iter().map(|entry| {
                    let entry = entry?;
                    let bare = container_type == DataType::NO_DATA;
                    if bare { Ok(None) } else { Self::read(&entry).map(Some) }
                });
                let entries = entries.collect::<Result<_, DecodeError>>()?;
                Self::Series { container_type, hint: series.total_count_hint(), entries }
            }
            DataType::MAP => Self::read_map(data)?,
            DataType::MSG => {
                let msg = data.msg()?;
                let payload = Box::new(Self::read(&msg.payload())?);
                Self::Msg { header: Box::new(Header::of(&msg)), payload }
            }
            data_type => Self::Opaque(data_type, data.bytes().to_vec()),
        })
    }

    fn read_field_list(data: &Encoded<'_>, defs: &SetDefs<'_>) -> Result<Self, DecodeError> {
        let list = data.field_list_with(defs)?;
        let mut set = list.set_id().map(|_| Vec::new());
        let mut standard = (list.flags().bits() & 8 != 0).then(Vec::new);
        for entry in &list {
            let entry = entry?;
            if entry.is_set_defined() {
                let value = Value::read(&entry.value)?;
                set.as_mut().expect("set data").push((
                    entry.field_id,
                    entry.value.data_type(),
                    value,
                ));
            } else {
                let item = Item::read(&entry.typed(strategy::field_type(entry.field_id)))?;
                standard.as_mut().expect("standard data").push((entry.field_id, item));
            }
        }
        let info = list.info().map(|info| (info.dictionary_id, info.list_number));
        Ok(Self::FieldList { info, set, standard })
    }

    fn read_vector(data: &Encoded<'_>) -> Result<Self, DecodeError> {
        let vector = data.vector()?;
        let entries = vector.iter().map(|entry| {
            let e = entry?;
            let bare = matches!(e.action, VectorAction::CLEAR | VectorAction::DELETE)
                || vector.container_type() == DataType::NO_DATA;
            let node = if bare { None } else { Some(Self::read(&e.data)?) };
            Ok((e.action.0, e.index, e.perm_data.map(<[u8]>::to_vec), node))
        });
        Ok(Self::Vector {
            container_type: vector.container_type(),
            sorting: vector.flags().bits() & 0x10 != 0,
            hint: vector.total_count_hint(),
            summary: vector.summary().map(|s| Self::read(&s).map(Box::new)).transpose()?,
            entries: entries.collect::<Result<_, DecodeError>>()?,
        })
    }

    fn read_map(data: &Encoded<'_>) -> Result<Self, DecodeError> {
        let map = data.map()?;
        let defs = map.set_defs();
        let entries = map.iter().map(|entry| {
            let e = entry?;
            let bare = e.action == MapAction::DELETE || map.container_type() == DataType::NO_DATA;
            let node = if bare { None } else { Some(Self::read_with(&e.data, &defs)?) };
            Ok((e.action.0, Value::read(&e.key)?, e.perm_data.map(<[u8]>::to_vec), node))
        });
        let entries = entries.collect::<Result<_, DecodeError>>()?;
        let summary =
            map.summary().map(|s| Self::read_with(&s, &defs).map(Box::new)).transpose()?;
        let local = map.local_set_defs().map(|local| {
            let set = |id| local.field_set(id).expect("a listed id").entries().collect();
            local.ids().map(|id| (id, set(id))).collect()
        });
        Ok(Self::Map {
            key_type: map.key_type(),
            container_type: map.container_type(),
            key_field_id: map.key_field_id(),
            hint: map.total_count_hint(),
            defs: local,
            summary,
            entries,
        })
    }
}

impl Key {
    fn of(key: &MsgKey<'_>) -> Self {
        Self {
            service_id: key.service_id,
            name: key.name.map(|name| (name.to_vec(), key.name_type)),
            filter: key.filter,
            identifier: key.identifier,
            attrib: key.attrib.map(|data| (data.data_type(), data.bytes().to_vec())),
        }
    }

    fn borrowed(&self) -> MsgKey<'_> {
        MsgKey {
            service_id: self.service_id,
            name: self.name.as_ref().map(|(name, _)| name.as_slice()),
            name_type: self.name.as_ref().and_then(|(_, name_type)| *name_type),
            filter: self.filter,
            identifier: self.identifier,
            attrib: self.attrib.as_ref().map(|(t, bytes)| Encoded::new(*t, bytes)),
            ..MsgKey::EMPTY
        }
    }
}
