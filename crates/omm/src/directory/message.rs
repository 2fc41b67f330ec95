//! The messages of a directory stream.

use tapeline_rwf::{
    CloseMsg, DataType, Domain, EncodeError, Encoder, Msg, MsgKey, RefreshFlags, RefreshMsg,
    RequestFlags, RequestMsg, State, StatusFlags, StatusMsg, UpdateMsg,
};

use super::{ConsumerStatus, DirectoryFilter, ServiceEntry, payload};
use crate::{ModelError, OtherGeneric, StateBuf};

/// Any message of a directory stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryMsg {
    /// Asks for the directory.
    Request(DirectoryRequest),
    /// All services.
    Refresh(DirectoryRefresh),
    /// Changes.
    Update(DirectoryUpdate),
    /// The stream ended or has something to say.
    Status(DirectoryStatus),
    /// The requester wants no more.
    Close {
        /// Stream of the directory.
        stream_id: i32,
    },
    /// A consumer says which part a provider plays for a service.
    ConsumerStatus(ConsumerStatus),
    /// Any other generic message.
    Other(OtherGeneric),
}

/// Asks for the directory, or on an open stream for other filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryRequest {
    /// Stream, chosen by the requester.
    pub stream_id: i32,
    /// Which filters are wanted.
    pub filter: DirectoryFilter,
    /// One service, or all when absent.
    pub service_id: Option<u16>,
    /// Whether changes are wanted.
    pub streaming: bool,
    /// No answer is wanted, only the filter changes.
    pub no_refresh: bool,
}

/// All services, or all of what a requester asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryRefresh {
    /// Stream: above 0 as requested, at most 0 from non-interactive providers.
    pub stream_id: i32,
    /// Whether it answers a request.
    pub solicited: bool,
    /// Whether services that are not in it are gone.
    pub clear_cache: bool,
    /// State of the stream.
    pub state: StateBuf,
    /// Which filters are given.
    pub filter: DirectoryFilter,
    /// The service that was asked for, if one was.
    pub service_id: Option<u16>,
    /// The services.
    pub services: Vec<ServiceEntry>,
}

/// Changes of services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryUpdate {
    /// Stream of the directory.
    pub stream_id: i32,
    /// Which filters are given, if said.
    pub filter: Option<DirectoryFilter>,
    /// The service that was asked for, if said.
    pub service_id: Option<u16>,
    /// The services that change, with the filters that change.
    pub services: Vec<ServiceEntry>,
}

/// A change of the state of a directory stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryStatus {
    /// Stream of the directory.
    pub stream_id: i32,
    /// Whether all services are gone.
    pub clear_cache: bool,
    /// New state.
    pub state: Option<StateBuf>,
    /// Filter of the key, if there is a key.
    pub filter: Option<DirectoryFilter>,
    /// Service of the key.
    pub service_id: Option<u16>,
}

impl DirectoryRequest {
    const MODEL: &'static str = "directory request";

    /// A streaming request for all services.
    pub const fn new(stream_id: i32, filter: DirectoryFilter) -> Self {
        Self { stream_id, filter, service_id: None, streaming: true, no_refresh: false }
    }

    /// Reads a request. Errors: it has no filter.
    pub fn decode(msg: &RequestMsg<'_>) -> Result<Self, ModelError> {
        let filter = msg.key.filter.ok_or(ModelError::missing(Self::MODEL, "filter"))?;
        Ok(Self {
            stream_id: msg.stream_id,
            filter: DirectoryFilter::from_bits_retain(filter),
            service_id: msg.key.service_id,
            streaming: msg.flags.contains(RequestFlags::STREAMING),
            no_refresh: msg.flags.contains(RequestFlags::NO_REFRESH),
        })
    }

    /// Writes the request.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let mut flags = RequestFlags::empty();
        flags.set(RequestFlags::STREAMING, self.streaming);
        flags.set(RequestFlags::NO_REFRESH, self.no_refresh);
        let key = key(Some(self.filter), self.service_id);
        let msg = RequestMsg { flags, key, ..RequestMsg::new(Domain::SOURCE, self.stream_id) };
        encoder.message(&msg.into())
    }
}

fn key(filter: Option<DirectoryFilter>, service_id: Option<u16>) -> MsgKey<'static> {
    MsgKey { filter: filter.map(|filter| filter.bits()), service_id, ..MsgKey::EMPTY }
}

impl DirectoryRefresh {
    const MODEL: &'static str = "directory refresh";

    /// Reads a refresh.
    ///
    /// Errors: it is one of several parts, which no client takes; its map is
    /// not by `UINT`; a service lacks what it must have.
    pub fn decode(msg: &RefreshMsg<'_>) -> Result<Self, ModelError> {
        if !msg.flags.contains(RefreshFlags::REFRESH_COMPLETE) {
            return Err(ModelError::rule(Self::MODEL, "message", "must be of one part"));
        }
        let key = msg.key.unwrap_or(MsgKey::EMPTY);
        Ok(Self {
            stream_id: msg.stream_id,
            solicited: msg.flags.contains(RefreshFlags::SOLICITED),
            clear_cache: msg.flags.contains(RefreshFlags::CLEAR_CACHE),
            state: msg.state.into(),
            filter: DirectoryFilter::from_bits_retain(key.filter.unwrap_or_default()),
            service_id: key.service_id,
            services: match msg.payload.data_type() {
                DataType::NO_DATA => Vec::new(),
                _ => payload::read(Self::MODEL, &msg.payload)?,
            },
        })
    }

    /// Writes the refresh.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let mut flags = RefreshFlags::REFRESH_COMPLETE;
        flags.set(RefreshFlags::SOLICITED, self.solicited);
        flags.set(RefreshFlags::CLEAR_CACHE, self.clear_cache);
        let msg = RefreshMsg {
            flags,
            state: self.state.as_state(),
            key: Some(key(Some(self.filter), self.service_id)),
            ..RefreshMsg::new(Domain::SOURCE, self.stream_id)
        };
        payload::write(encoder.begin(&msg.into(), DataType::MAP)?, &self.services)
    }
}

impl DirectoryUpdate {
    const MODEL: &'static str = "directory update";

    /// An update of these services, without a key.
    pub const fn new(stream_id: i32, services: Vec<ServiceEntry>) -> Self {
        Self { stream_id, filter: None, service_id: None, services }
    }

    /// Reads an update. Errors: its map is not by `UINT`; a filter lacks what
    /// it must have.
    pub fn decode(msg: &UpdateMsg<'_>) -> Result<Self, ModelError> {
        let key = msg.key.unwrap_or(MsgKey::EMPTY);
        Ok(Self {
            stream_id: msg.stream_id,
            filter: key.filter.map(DirectoryFilter::from_bits_retain),
            service_id: key.service_id,
            services: match msg.payload.data_type() {
                DataType::NO_DATA => Vec::new(),
                _ => payload::read(Self::MODEL, &msg.payload)?,
            },
        })
    }

    /// Writes the update.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let has_key = self.filter.is_some() || self.service_id.is_some();
        let msg = UpdateMsg {
            key: has_key.then(|| key(self.filter, self.service_id)),
            ..UpdateMsg::new(Domain::SOURCE, self.stream_id)
        };
        payload::write(encoder.begin(&msg.into(), DataType::MAP)?, &self.services)
    }

    /// What of the update a requester gets, by its filters and its service, on
    /// its own stream; nothing when nothing is left.
    pub fn restricted(&self, request: &DirectoryRequest) -> Option<Self> {
        let is_wanted = |service: &&ServiceEntry| {
            request.service_id.is_none_or(|wanted| wanted == service.service_id)
        };
        let services: Vec<_> = self
            .services
            .iter()
            .filter(is_wanted)
            .filter_map(|service| service.restricted(request.filter))
            .collect();
        let has_some = !services.is_empty();
        has_some.then(|| Self { stream_id: request.stream_id, services, ..self.clone() })
    }
}

impl DirectoryStatus {
    /// A status of this state, without a key.
    pub fn new(stream_id: i32, state: &State<'_>) -> Self {
        let state = Some((*state).into());
        Self { stream_id, clear_cache: false, state, filter: None, service_id: None }
    }

    /// Reads a status.
    pub fn decode(msg: &StatusMsg<'_>) -> Self {
        let key = msg.key.unwrap_or(MsgKey::EMPTY);
        Self {
            stream_id: msg.stream_id,
            clear_cache: msg.flags.contains(StatusFlags::CLEAR_CACHE),
            state: msg.state.map(StateBuf::from),
            filter: key.filter.map(DirectoryFilter::from_bits_retain),
            service_id: key.service_id,
        }
    }

    /// Writes the status.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let mut flags = StatusFlags::empty();
        flags.set(StatusFlags::CLEAR_CACHE, self.clear_cache);
        let has_key = self.filter.is_some() || self.service_id.is_some();
        let msg = StatusMsg {
            flags,
            state: self.state.as_ref().map(StateBuf::as_state),
            key: has_key.then(|| key(self.filter, self.service_id)),
            ..StatusMsg::new(Domain::SOURCE, self.stream_id)
        };
        encoder.message(&msg.into())
    }
}

impl DirectoryMsg {
    const MODEL: &'static str = "directory message";

    /// Reads a message of the directory domain.
    ///
    /// Errors: another domain, a class that the domain does not have, or what
    /// the model of the class finds.
    pub fn decode(msg: &Msg<'_>) -> Result<Self, ModelError> {
        if msg.domain() != Domain::SOURCE {
            return Err(ModelError::rule(Self::MODEL, "domain", "is not SOURCE"));
        }
        match msg {
            Msg::Request(request) => DirectoryRequest::decode(request).map(Self::Request),
            Msg::Refresh(refresh) => DirectoryRefresh::decode(refresh).map(Self::Refresh),
            Msg::Update(update) => DirectoryUpdate::decode(update).map(Self::Update),
            Msg::Status(status) => Ok(Self::Status(DirectoryStatus::decode(status))),
            Msg::Close(close) => Ok(Self::Close { stream_id: close.stream_id }),
            Msg::Generic(generic) if ConsumerStatus::is(generic) => {
                ConsumerStatus::decode(generic).map(Self::ConsumerStatus)
            }
            Msg::Generic(generic) => Ok(Self::Other(OtherGeneric::decode(generic))),
            Msg::Ack(_) | Msg::Post(_) => Err(ModelError::class(Self::MODEL, msg.class())),
        }
    }

    /// Writes the message.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        match self {
            Self::Request(request) => request.encode(encoder),
            Self::Refresh(refresh) => refresh.encode(encoder),
            Self::Update(update) => update.encode(encoder),
            Self::Status(status) => status.encode(encoder),
            Self::Close { stream_id } => {
                encoder.message(&CloseMsg::new(Domain::SOURCE, *stream_id).into())
            }
            Self::ConsumerStatus(status) => status.encode(encoder),
            Self::Other(other) => other.encode(Domain::SOURCE, encoder),
        }
    }
}
