//! The messages of dictionary streams. What is in their payloads is read and
//! written by [`dictionary`](crate::dictionary).
//!
//! A dictionary is requested like an item, by service and name, the filter of
//! the key saying how much of it is wanted. Quality of service and open window
//! do not apply. Names are whatever the services list; which dictionary it is
//! is told by the summary data, not by the name.

use tapeline_rwf::{
    CloseMsg, DataType, Domain, EncodeError, Encoded, Encoder, Msg, MsgKey, Priority, RefreshFlags,
    RefreshMsg, RequestFlags, RequestMsg, State, StatusMsg,
};

use crate::dictionary::DictionaryType;
use crate::error::expect_type;
use crate::{ModelError, StateBuf, Text};

/// Any message of a dictionary stream.
#[derive(Clone, Debug, PartialEq)]
pub enum DictionaryMsg<'a> {
    /// Asks for a dictionary.
    Request(DictionaryRequest),
    /// A part of it.
    Refresh(DictionaryRefresh<'a>),
    /// The stream ended or has something to say.
    Status(DictionaryStatus),
    /// The requester wants no more.
    Close {
        /// Stream of the dictionary.
        stream_id: i32,
    },
}

/// Asks for a dictionary, or on an open stream for more of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryRequest {
    /// Stream, chosen by the requester.
    pub stream_id: i32,
    /// Service that provides it, by the connection's directory.
    pub service_id: Option<u16>,
    /// Name, as in the service's `DictionariesProvided`.
    pub name: Text,
    /// How much is wanted: the filter of the key, 0 to 15.
    pub verbosity: u32,
    /// Whether changes of version are to be told.
    pub streaming: bool,
    /// No answer is wanted.
    pub no_refresh: bool,
    /// Priority; of no effect, but sent by the vendor's libraries.
    pub priority: Option<Priority>,
}

/// A part of a dictionary.
#[derive(Clone, Debug, PartialEq)]
pub struct DictionaryRefresh<'a> {
    /// Stream of the dictionary.
    pub stream_id: i32,
    /// Whether it answers a request.
    pub solicited: bool,
    /// Whether what was known of the dictionary before is void.
    pub clear_cache: bool,
    /// Whether this is the last part.
    pub complete: bool,
    /// Number of the part, from 0.
    pub part_num: Option<u16>,
    /// State of the stream.
    pub state: StateBuf,
    /// Service that provides it.
    pub service_id: Option<u16>,
    /// Name as in the request.
    pub name: Option<Text>,
    /// How much is given.
    pub verbosity: Option<u32>,
    /// The part itself.
    pub payload: Encoded<'a>,
}

/// A change of the state of a dictionary stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryStatus {
    /// Stream of the dictionary.
    pub stream_id: i32,
    /// New state.
    pub state: Option<StateBuf>,
}

/// What a part says about its dictionary, in its summary data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionarySummary {
    /// Which dictionary, 1 to 8; see [`known_type`](Self::known_type).
    pub dictionary_type: i64,
    /// Number that field lists name their dictionary by.
    pub dictionary_id: Option<i64>,
    /// Version of a field dictionary, or of the display templates.
    pub version: Option<Text>,
    /// Version of the record templates, for enumerations.
    pub rt_version: Option<Text>,
    /// Version of the display templates, for enumerations.
    pub dt_version: Option<Text>,
}

impl DictionaryRequest {
    const MODEL: &'static str = "dictionary request";

    /// A streaming request for the normal amount of a dictionary.
    pub fn new(stream_id: i32, service_id: u16, name: impl Into<Text>) -> Self {
        Self {
            stream_id,
            service_id: Some(service_id),
            name: name.into(),
            verbosity: 0x7,
            streaming: true,
            no_refresh: false,
            priority: None,
        }
    }

    /// Reads a request. Errors: it has no name or no filter.
    pub fn decode(msg: &RequestMsg<'_>) -> Result<Self, ModelError> {
        let name = msg.key.name.ok_or(ModelError::missing(Self::MODEL, "name"))?;
        let verbosity = msg.key.filter.ok_or(ModelError::missing(Self::MODEL, "filter"))?;
        Ok(Self {
            stream_id: msg.stream_id,
            service_id: msg.key.service_id,
            name: name.into(),
            verbosity,
            streaming: msg.flags.contains(RequestFlags::STREAMING),
            no_refresh: msg.flags.contains(RequestFlags::NO_REFRESH),
            priority: msg.priority,
        })
    }

    /// Writes the request.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let mut flags = RequestFlags::empty();
        flags.set(RequestFlags::STREAMING, self.streaming);
        flags.set(RequestFlags::NO_REFRESH, self.no_refresh);
        let key = MsgKey {
            service_id: self.service_id,
            name: Some(&self.name),
            filter: Some(self.verbosity),
            ..MsgKey::EMPTY
        };
        let msg = RequestMsg {
            flags,
            key,
            priority: self.priority,
            ..RequestMsg::new(Domain::DICTIONARY, self.stream_id)
        };
        encoder.message(&msg.into())
    }
}

impl<'a> DictionaryRefresh<'a> {
    const MODEL: &'static str = "dictionary refresh";

    /// Reads the head of a part. Errors: its payload is neither a series nor a
    /// vector, which global set definitions are.
    pub fn decode(msg: &RefreshMsg<'a>) -> Result<Self, ModelError> {
        let found = msg.payload.data_type();
        if !matches!(found, DataType::NO_DATA | DataType::VECTOR) {
            expect_type(Self::MODEL, "payload", DataType::SERIES, found)?;
        }
        let key = msg.key.unwrap_or(MsgKey::EMPTY);
        Ok(Self {
            stream_id: msg.stream_id,
            solicited: msg.flags.contains(RefreshFlags::SOLICITED),
            clear_cache: msg.flags.contains(RefreshFlags::CLEAR_CACHE),
            complete: msg.flags.contains(RefreshFlags::REFRESH_COMPLETE),
            part_num: msg.part_num,
            state: msg.state.into(),
            service_id: key.service_id,
            name: key.name.map(Text::from),
            verbosity: key.filter,
            payload: msg.payload,
        })
    }

    /// The header of the part; the payload in it is this one's.
    pub fn as_msg(&self) -> RefreshMsg<'_> {
        let mut flags = RefreshFlags::empty();
        flags.set(RefreshFlags::SOLICITED, self.solicited);
        flags.set(RefreshFlags::CLEAR_CACHE, self.clear_cache);
        flags.set(RefreshFlags::REFRESH_COMPLETE, self.complete);
        let has_key = self.service_id.is_some() || self.name.is_some() || self.verbosity.is_some();
        let key = MsgKey {
            service_id: self.service_id,
            name: self.name.as_deref(),
            filter: self.verbosity,
            ..MsgKey::EMPTY
        };
        RefreshMsg {
            flags,
            state: self.state.as_state(),
            key: has_key.then_some(key),
            part_num: self.part_num,
            payload: self.payload,
            ..RefreshMsg::new(Domain::DICTIONARY, self.stream_id)
        }
    }

    /// Writes the part.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        encoder.message(&self.as_msg().into())
    }

    /// What the part says about its dictionary; parts after the first one of a
    /// field dictionary say nothing.
    pub fn summary(&self) -> Result<Option<DictionarySummary>, ModelError> {
        let malformed = ModelError::in_part(Self::MODEL, "payload");
        let summary = match self.payload.data_type() {
            DataType::SERIES => self.payload.series().map_err(malformed)?.summary(),
            DataType::VECTOR => self.payload.vector().map_err(malformed)?.summary(),
            _ => None,
        };
        summary.map(|data| DictionarySummary::read(&data)).transpose()
    }
}

impl DictionaryStatus {
    /// A status of this state.
    pub fn new(stream_id: i32, state: &State<'_>) -> Self {
        Self { stream_id, state: Some((*state).into()) }
    }

    /// Reads a status.
    pub fn decode(msg: &StatusMsg<'_>) -> Self {
        Self { stream_id: msg.stream_id, state: msg.state.map(StateBuf::from) }
    }

    /// Writes the status.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let msg = StatusMsg {
            state: self.state.as_ref().map(StateBuf::as_state),
            ..StatusMsg::new(Domain::DICTIONARY, self.stream_id)
        };
        encoder.message(&msg.into())
    }
}

impl DictionarySummary {
    const MODEL: &'static str = "dictionary summary";

    /// The type and the id are `INT` from the vendor's library and `UINT` from
    /// others; versions are texts of any kind.
    fn read(data: &Encoded<'_>) -> Result<Self, ModelError> {
        let malformed = ModelError::in_part(Self::MODEL, "element list");
        let list = data.element_list().map_err(malformed)?;
        let number = |name: &'static str| {
            let Some(element) = list.element(name).map_err(malformed)? else { return Ok(None) };
            let malformed = ModelError::in_part(Self::MODEL, name);
            match element.value.data_type().base() {
                DataType::UINT => {
                    let value = element.value.uint().map_err(malformed)?;
                    Ok(value.and_then(|value| i64::try_from(value).ok()))
                }
                _ => element.value.int().map_err(malformed),
            }
        };
        let text = |name| {
            let element = list.element(name).map_err(malformed)?;
            Ok(element.map(|element| Text::from(element.value.bytes())))
        };
        Ok(Self {
            dictionary_type: number("Type")?.ok_or(ModelError::missing(Self::MODEL, "Type"))?,
            dictionary_id: number("DictionaryId")?,
            version: text("Version")?,
            rt_version: text("RT_Version")?,
            dt_version: text("DT_Version")?,
        })
    }

    /// Which half of a field dictionary it is, if it is one.
    pub const fn known_type(&self) -> Option<DictionaryType> {
        DictionaryType::from_code(self.dictionary_type)
    }
}

impl<'a> DictionaryMsg<'a> {
    const MODEL: &'static str = "dictionary message";

    /// Reads a message of the dictionary domain.
    ///
    /// Errors: another domain, a class that the domain does not have, or what
    /// the model of the class finds.
    pub fn decode(msg: &Msg<'a>) -> Result<Self, ModelError> {
        if msg.domain() != Domain::DICTIONARY {
            return Err(ModelError::rule(Self::MODEL, "domain", "is not DICTIONARY"));
        }
        match msg {
            Msg::Request(request) => DictionaryRequest::decode(request).map(Self::Request),
            Msg::Refresh(refresh) => DictionaryRefresh::decode(refresh).map(Self::Refresh),
            Msg::Status(status) => Ok(Self::Status(DictionaryStatus::decode(status))),
            Msg::Close(close) => Ok(Self::Close { stream_id: close.stream_id }),
            Msg::Update(_) | Msg::Generic(_) | Msg::Ack(_) | Msg::Post(_) => {
                Err(ModelError::class(Self::MODEL, msg.class()))
            }
        }
    }

    /// Writes the message.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        match self {
            Self::Request(request) => request.encode(encoder),
            Self::Refresh(refresh) => refresh.encode(encoder),
            Self::Status(status) => status.encode(encoder),
            Self::Close { stream_id } => {
                encoder.message(&CloseMsg::new(Domain::DICTIONARY, *stream_id).into())
            }
        }
    }
}
