//! Symbol lists: the names of other items.

use tapeline_rwf::{
    DataType, ElementListHead, ElementListWriter, EncodeError, Encoded, Map, MapAction, MapHead,
    Primitive, RequestMsg, Slot,
};

use crate::ModelError;
use crate::error::{ModelErrorKind, expect_type};

const MODEL: &str = "symbol list";
const BEHAVIORS: &str = ":SymbolListBehaviors";
const DATA_STREAMS: &str = ":DataStreams";

/// The payload of an image or update of a symbol list: a map by name, with or
/// without data for each name.
#[derive(Clone, Copy, Debug)]
pub struct SymbolList<'a> {
    map: Map<'a>,
}

impl<'a> SymbolList<'a> {
    /// Reads a payload.
    ///
    /// Errors: it is no map; its keys are no names (`ASCII_STRING`, `BUFFER`,
    /// `UTF8_STRING` or `RMTES_STRING`).
    pub fn decode(payload: &Encoded<'a>) -> Result<Self, ModelError> {
        expect_type(MODEL, "payload", DataType::MAP, payload.data_type())?;
        let map = payload.map().map_err(ModelError::in_part(MODEL, "payload"))?;
        match map.key_type() {
            DataType::ASCII_STRING
            | DataType::BUFFER
            | DataType::UTF8_STRING
            | DataType::RMTES_STRING => {}
            // An empty payload has no key type.
            DataType::UNKNOWN if payload.is_empty() => {}
            found => expect_type(MODEL, "map key", DataType::ASCII_STRING, found)?,
        }
        Ok(Self { map })
    }

    /// How many names the list says it has.
    pub const fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The entries in order. After an error there are no more.
    pub fn entries(&self) -> impl Iterator<Item = Result<SymbolEntry<'a>, ModelError>> + use<'a> {
        self.map.iter().map(|entry| {
            let entry = entry.map_err(ModelError::in_part(MODEL, "entry"))?;
            let (action, name) = (entry.action, entry.key.bytes());
            Ok(SymbolEntry { action, name, data: entry.data })
        })
    }
}

/// One name of a symbol list.
#[derive(Clone, Copy, Debug)]
pub struct SymbolEntry<'a> {
    /// What happens to it.
    pub action: MapAction,
    /// The name, which can be used in a request.
    pub name: &'a [u8],
    /// More about it: fields, elements or nothing.
    pub data: Encoded<'a>,
}

impl SymbolEntry<'_> {
    /// Whether the item is in the list from now on, so that a requester of
    /// data streams opens it unless it is open.
    pub fn is_listed(&self) -> bool {
        self.action != MapAction::DELETE
    }
}

/// Writes a symbol list of names without data.
pub fn write_symbol_names<'n>(
    slot: Slot<'_, '_>,
    total_count_hint: Option<u32>,
    names: impl IntoIterator<Item = (MapAction, &'n [u8])>,
) -> Result<(), EncodeError> {
    let head = MapHead::new(DataType::ASCII_STRING, DataType::NO_DATA);
    let mut map = slot.map(&MapHead { total_count_hint, ..head })?;
    for (action, name) in names {
        map.bare_entry(action, Primitive::Ascii(name), None)?;
    }
    map.finish()
}

/// Whether a requester of a symbol list wants the items too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum DataStreams {
    /// Names only.
    #[default]
    NamesOnly,
    /// A stream for each item.
    Streams,
    /// A snapshot of each item.
    Snapshots,
}

/// How a requester wants a symbol list to behave, in the payload of its
/// request:
///
/// ```text
/// :SymbolListBehaviors  ELEMENT_LIST { :DataStreams UINT 0 names, 1 streams, 2 snapshots }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SymbolListBehaviors {
    /// Whether the items are wanted; names only when absent.
    pub data_streams: Option<DataStreams>,
}

impl SymbolListBehaviors {
    /// The behaviours of a request; `None` when it has none.
    ///
    /// Errors: another wire type; a value above 2.
    pub fn of(request: &RequestMsg<'_>) -> Result<Option<Self>, ModelError> {
        const MODEL: &str = "symbol list request";
        let malformed = ModelError::in_part(MODEL, BEHAVIORS);
        if request.payload.data_type() != DataType::ELEMENT_LIST {
            return Ok(None);
        }
        let list = request.payload.element_list().map_err(malformed)?;
        let Some(element) = list.element(BEHAVIORS).map_err(malformed)? else { return Ok(None) };
        let found = element.value.data_type();
        expect_type(MODEL, BEHAVIORS, DataType::ELEMENT_LIST, found)?;
        let list = element.value.element_list().map_err(malformed)?;
        let Some(element) = list.element(DATA_STREAMS).map_err(malformed)? else {
            return Ok(Some(Self::default()));
        };
        let found = element.value.data_type().base();
        expect_type(MODEL, DATA_STREAMS, DataType::UINT, found)?;
        let data_streams = match element.value.uint().map_err(malformed)? {
            None => None,
            Some(0) => Some(DataStreams::NamesOnly),
            Some(1) => Some(DataStreams::Streams),
            Some(2) => Some(DataStreams::Snapshots),
            Some(value) => {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                let kind = ModelErrorKind::OutOfRange { value };
                return Err(ModelError::new(MODEL, DATA_STREAMS, kind));
            }
        };
        Ok(Some(Self { data_streams }))
    }

    /// Writes the element into the payload of a request.
    pub fn write(&self, list: &mut ElementListWriter<'_, '_>) -> Result<(), EncodeError> {
        let slot = list.slot(BEHAVIORS, DataType::ELEMENT_LIST)?;
        let mut behaviors = slot.element_list(&ElementListHead::STANDARD)?;
        if let Some(data_streams) = self.data_streams {
            let value: u64 = match data_streams {
                DataStreams::NamesOnly => 0,
                DataStreams::Streams => 1,
                DataStreams::Snapshots => 2,
            };
            behaviors.put(DATA_STREAMS, value)?;
        }
        behaviors.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{Domain, Encoder};

    /// The behaviours of a request with one element, which `write` fills.
    fn read(
        write: impl FnOnce(&mut ElementListWriter<'_, '_>) -> Result<(), EncodeError>,
    ) -> Result<Option<SymbolListBehaviors>, String> {
        let mut buffer = [0; 128];
        let mut encoder = Encoder::new(&mut buffer);
        let slot = encoder.container(DataType::ELEMENT_LIST);
        let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
        write(&mut list).expect("room");
        list.finish().expect("room");
        let payload = Encoded::new(DataType::ELEMENT_LIST, encoder.finish_bytes().expect("room"));
        let request = RequestMsg { payload, ..RequestMsg::new(Domain::SYMBOL_LIST, 5) };
        SymbolListBehaviors::of(&request).map_err(|error| error.to_string())
    }

    fn read_data_streams(value: u64) -> Result<Option<SymbolListBehaviors>, String> {
        read(|list| {
            let slot = list.slot(BEHAVIORS, DataType::ELEMENT_LIST)?;
            let mut behaviors = slot.element_list(&ElementListHead::STANDARD)?;
            behaviors.put(DATA_STREAMS, value)?;
            behaviors.finish()
        })
    }

    #[test]
    fn data_streams_are_none_streams_or_snapshots() {
        for (value, data_streams) in
            [(0, DataStreams::NamesOnly), (1, DataStreams::Streams), (2, DataStreams::Snapshots)]
        {
            let behaviors = SymbolListBehaviors { data_streams: Some(data_streams) };
            assert_eq!(read_data_streams(value), Ok(Some(behaviors)));
        }
        let text = "symbol list request: :DataStreams is 3, which is out of range";
        assert_eq!(read_data_streams(3), Err(text.to_owned()));
    }

    #[test]
    fn requests_without_behaviours_want_names_and_others_are_refused() {
        assert_eq!(read(|list| list.put("Other", 1_u64)), Ok(None));
        let text = "symbol list request: :SymbolListBehaviors is UINT, ELEMENT_LIST is needed";
        assert_eq!(read(|list| list.put(BEHAVIORS, 1_u64)), Err(text.to_owned()));
    }

    #[test]
    fn names_are_written_and_read() {
        let mut buffer = [0; 64];
        let mut encoder = Encoder::new(&mut buffer);
        let names = [(MapAction::ADD, &b"TRI.N"[..]), (MapAction::DELETE, b"IBM.N")];
        write_symbol_names(encoder.container(DataType::MAP), Some(2), names).expect("room");
        let payload = Encoded::new(DataType::MAP, encoder.finish_bytes().expect("room"));
        let list = SymbolList::decode(&payload).expect("a symbol list");
        assert_eq!(list.len(), 2);
        let read: Vec<_> = list.entries().map(|entry| entry.expect("well-formed")).collect();
        assert_eq!(read.iter().map(|e| (e.action, e.name)).collect::<Vec<_>>(), names);
        assert!(read[0].is_listed() && !read[1].is_listed());
    }

    #[test]
    fn a_map_by_number_is_no_symbol_list() {
        let payload = Encoded::new(DataType::MAP, &[0, 4, 0, 0, 0]);
        assert_eq!(
            SymbolList::decode(&payload).map(drop).unwrap_err().to_string(),
            "symbol list: map key is UINT, ASCII_STRING is needed"
        );
    }
}
