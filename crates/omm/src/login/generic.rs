//! Generic messages on the login stream: warm standby and round trips.

use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, GenericFlags, GenericMsg, MapAction, MapHead, MsgKey,
    Primitive,
};

use crate::ModelError;
use crate::element::element_model;
use crate::error::expect_type;

/// Which part a server or a service plays in a warm standby group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarmStandbyMode {
    /// It sends updates.
    Active,
    /// It holds updates back.
    Standby,
    /// A value that the model does not know.
    Other(u64),
}

impl From<u64> for WarmStandbyMode {
    fn from(code: u64) -> Self {
        match code {
            0 => Self::Active,
            1 => Self::Standby,
            other => Self::Other(other),
        }
    }
}

impl From<WarmStandbyMode> for u64 {
    fn from(mode: WarmStandbyMode) -> Self {
        match mode {
            WarmStandbyMode::Active => 0,
            WarmStandbyMode::Standby => 1,
            WarmStandbyMode::Other(code) => code,
        }
    }
}

element_model! {
    pub(super) StandbyInfo of "consumer connection status" {
        warm_standby_mode: u64 = "WarmStandbyMode",
    }
}

/// A consumer tells a server of a login-based warm standby group whether it is
/// the active one.
///
/// ```text
/// key name ConsumerConnectionStatus
/// MAP of ASCII_STRING { WarmStandbyInfo → ELEMENT_LIST { WarmStandbyMode UINT } }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerConnectionStatus {
    /// Stream of the login.
    pub stream_id: i32,
    /// What to do with the information. Nothing at all when the message has no
    /// entry for warm standby.
    pub action: Option<MapAction>,
    /// The part the server plays; there unless the action is `DELETE`.
    pub mode: Option<WarmStandbyMode>,
}

impl ConsumerConnectionStatus {
    const MODEL: &'static str = "consumer connection status";
    const KEY_NAME: &'static str = "ConsumerConnectionStatus";
    const ENTRY: &'static str = "WarmStandbyInfo";

    /// Whether a generic message is one of these, by the name in its key.
    pub(super) fn is(msg: &GenericMsg<'_>) -> bool {
        msg.key.and_then(|key| key.name) == Some(Self::KEY_NAME.as_bytes())
    }

    /// Reads the message.
    ///
    /// Errors: another key name; keys that are neither `ASCII_STRING` nor
    /// `BUFFER`; entries that are no element lists; no `WarmStandbyMode` in an
    /// entry that is not deleted.
    pub fn decode(msg: &GenericMsg<'_>) -> Result<Self, ModelError> {
        let malformed = ModelError::in_part(Self::MODEL, "map");
        if !Self::is(msg) {
            return Err(ModelError::rule(
                Self::MODEL,
                "key name",
                "is not ConsumerConnectionStatus",
            ));
        }
        expect_type(Self::MODEL, "payload", DataType::MAP, msg.payload.data_type())?;
        let map = msg.payload.map().map_err(malformed)?;
        let key_type = map.key_type();
        if !msg.payload.is_empty() && key_type != DataType::BUFFER {
            expect_type(Self::MODEL, "map key", DataType::ASCII_STRING, key_type)?;
        }
        let mut status = Self { stream_id: msg.stream_id, action: None, mode: None };
        for entry in &map {
            let entry = entry.map_err(malformed)?;
            if entry.key.bytes() != Self::ENTRY.as_bytes() {
                continue;
            }
            status.action = Some(entry.action);
            if entry.action != MapAction::DELETE {
                let mode = StandbyInfo::read(&entry.data)?.warm_standby_mode;
                let mode = mode.ok_or(ModelError::missing(Self::MODEL, "WarmStandbyMode"))?;
                status.mode = Some(mode.into());
            }
        }
        Ok(status)
    }

    /// Writes the message.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let msg = GenericMsg {
            flags: GenericFlags::MESSAGE_COMPLETE,
            key: Some(MsgKey { name: Some(Self::KEY_NAME.as_bytes()), ..MsgKey::EMPTY }),
            ..GenericMsg::new(Domain::LOGIN, self.stream_id)
        };
        let head = MapHead::new(DataType::ASCII_STRING, DataType::ELEMENT_LIST);
        let mut map = encoder.begin(&msg.into(), DataType::MAP)?.map(&head)?;
        let key = Primitive::ascii(Self::ENTRY);
        match self.action {
            None => {}
            Some(MapAction::DELETE) => map.bare_entry(MapAction::DELETE, key, None)?,
            Some(action) => {
                let info = StandbyInfo { warm_standby_mode: self.mode.map(u64::from) };
                info.write(map.entry(action, key, None)?)?;
            }
        }
        map.finish()
    }
}

element_model! {
    RttElements of "round trip" {
        ticks: u64 = "Ticks",
        round_trip_latency: u64 = "RoundTripLatency",
        tcp_retrans: u64 = "TcpRetrans",
    }
}

/// A provider measures the round trip to a consumer, which returns the message
/// at once and unchanged. Only clients that announced it get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginRtt {
    /// Stream of the login.
    pub stream_id: i32,
    /// The sender's clock, in a unit of its own: opaque to the other end.
    pub ticks: u64,
    /// The last measurement, in microseconds.
    pub round_trip_latency: Option<u64>,
    /// Retransmissions by TCP on this connection.
    pub tcp_retrans: Option<u64>,
}

impl LoginRtt {
    const MODEL: &'static str = "round trip";

    /// Reads the message. Errors: no ticks, an element of another wire type.
    pub fn decode(msg: &GenericMsg<'_>) -> Result<Self, ModelError> {
        let read = RttElements::read(&msg.payload)?;
        Ok(Self {
            stream_id: msg.stream_id,
            ticks: read.ticks.ok_or(ModelError::missing(Self::MODEL, "Ticks"))?,
            round_trip_latency: read.round_trip_latency,
            tcp_retrans: read.tcp_retrans,
        })
    }

    /// Writes the message, as the provider sends it and as the consumer
    /// returns it.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), EncodeError> {
        let msg = GenericMsg {
            flags: GenericFlags::PROVIDER_DRIVEN,
            ..GenericMsg::new(Domain::LOGIN, self.stream_id)
        };
        let elements = RttElements {
            ticks: Some(self.ticks),
            round_trip_latency: self.round_trip_latency,
            tcp_retrans: self.tcp_retrans,
        };
        elements.write(encoder.begin(&msg.into(), DataType::ELEMENT_LIST)?)
    }

    /// How long the round trip took, by a clock of the sender that shows
    /// `now_ticks`; 0 when the clock went back.
    pub const fn elapsed_ticks(&self, now_ticks: u64) -> u64 {
        now_ticks.saturating_sub(self.ticks)
    }
}
