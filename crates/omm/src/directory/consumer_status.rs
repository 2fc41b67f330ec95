//! The generic message that tells providers which part they play.

use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, GenericFlags, GenericMsg, MapAction, MapHead, MsgKey,
};

use super::payload;
use crate::ModelError;
use crate::element::element_model;
use crate::error::expect_type;
use crate::login::WarmStandbyMode;

/// Which part a provider plays among those that offer a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceMirroringMode {
    /// Its data is used and there is no other provider.
    ActiveNoStandby,
    /// Its data is used and another provider stands by.
    ActiveWithStandby,
    /// It stands by.
    Standby,
    /// A value that the model does not know.
    Other(u64),
}

impl From<u64> for SourceMirroringMode {
    fn from(code: u64) -> Self {
        match code {
            0 => Self::ActiveNoStandby,
            1 => Self::ActiveWithStandby,
            2 => Self::Standby,
            other => Self::Other(other),
        }
    }
}

impl From<SourceMirroringMode> for u64 {
    fn from(mode: SourceMirroringMode) -> Self {
        match mode {
            SourceMirroringMode::ActiveNoStandby => 0,
            SourceMirroringMode::ActiveWithStandby => 1,
            SourceMirroringMode::Standby => 2,
            SourceMirroringMode::Other(code) => code,
        }
    }
}

element_model! {
    Modes of "consumer status" {
        source_mirroring_mode: u64 = "SourceMirroringMode",
        warm_standby_mode: u64 = "WarmStandbyMode",
    }
}

/// A consumer tells a provider which part it plays, service by service: a hub
/// to mirrored sources, a client library to servers of a service-based warm
/// standby group.
///
/// ```text
/// key name ConsumerStatus
/// MAP key UINT (service id) { ELEMENT_LIST { SourceMirroringMode, WarmStandbyMode } }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerStatus {
    /// Stream of the directory.
    pub stream_id: i32,
    /// The services.
    pub entries: Vec<ConsumerStatusEntry>,
}

/// Which part a provider plays for one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerStatusEntry {
    /// `ADD`, `UPDATE` or `DELETE`, which has no modes.
    pub action: MapAction,
    /// Service.
    pub service_id: u16,
    /// Its part among mirrored sources.
    pub source_mirroring: Option<SourceMirroringMode>,
    /// Its part in a warm standby group.
    pub warm_standby: Option<WarmStandbyMode>,
}

impl ConsumerStatus {
    const MODEL: &'static str = "consumer status";
    const KEY_NAME: &'static str = "ConsumerStatus";

    /// Whether a generic message is one of these, by the name in its key.
    pub(super) fn is(msg: &GenericMsg<'_>) -> bool {
        msg.key.and_then(|key| key.name) == Some(Self::KEY_NAME.as_bytes())
    }

    /// Reads the message.
    ///
    /// Errors: another key name; a map that is not by `UINT`; an element of
    /// another wire type.
    pub fn decode(msg: &GenericMsg<'_>) -> Result<Self, ModelError> {
        let malformed = ModelError::in_part(Self::MODEL, "map");
        if !Self::is(msg) {
            return Err(ModelError::rule(Self::MODEL, "key name", "is not ConsumerStatus"));
        }
        expect_type(Self::MODEL, "payload", DataType::MAP, msg.payload.data_type())?;
        let map = msg.payload.map().map_err(malformed)?;
        let mut entries = Vec::new();
        if !msg.payload.is_empty() {
            expect_type(Self::MODEL, "map key", DataType::UINT, map.key_type())?;
        }
        for entry in &map {
            let entry = entry.map_err(malformed)?;
            let modes = match entry.action {
                MapAction::DELETE => Modes::default(),
                _ => Modes::read(&entry.data)?,
            };
            entries.push(ConsumerStatusEntry {
                action: entry.action,
                service_id: payload::service_id(Self::MODEL, &entry.key)?,
                source_mirroring: modes.source_mirroring_mode.map(SourceMirroringMode::from),
                warm_standby: modes.warm_standby_mode.map(WarmStandbyMode::from),
            });
        }
        Ok(Self { stream_id: msg.stream_id, entries })
    }

    /// Writes the message.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let msg = GenericMsg {
            flags: GenericFlags::MESSAGE_COMPLETE,
            key: Some(MsgKey { name: Some(Self::KEY_NAME.as_bytes()), ..MsgKey::EMPTY }),
            ..GenericMsg::new(Domain::SOURCE, self.stream_id)
        };
        let head = MapHead::new(DataType::UINT, DataType::ELEMENT_LIST);
        let mut map = encoder.begin(&msg.into(), DataType::MAP)?.map(&head)?;
        for entry in &self.entries {
            let key = u64::from(entry.service_id);
            if entry.action == MapAction::DELETE {
                map.bare_entry(MapAction::DELETE, key, None)?;
                continue;
            }
            let modes = Modes {
                source_mirroring_mode: entry.source_mirroring.map(u64::from),
                warm_standby_mode: entry.warm_standby.map(u64::from),
            };
            modes.write(map.entry(entry.action, key, None)?)?;
        }
        map.finish()
    }
}
