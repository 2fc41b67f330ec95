//! Quality of service.

use crate::decode::Reader;
use crate::error::DecodeError;
use crate::{DataType, Encoded, Rate, Timeliness};

/// Quality of service: how old and how complete the data may be.
///
/// ```text
///   7   5 4      1  0
/// ┌──────┬────────┬───┐┌───────────────┐┌───────────────┐
/// │timel.│  rate  │dyn││ u16 time info ││ u16 rate info │
/// └──────┴────────┴───┘└───────────────┘└───────────────┘
///                        if timel. > 2     if rate > 2
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Qos {
    /// How old the data may be.
    pub timeliness: Timeliness,
    /// How complete a run of updates is.
    pub rate: Rate,
    /// Whether the quality may change over the life of the stream.
    pub dynamic: bool,
    /// Delay in seconds, on the wire only with a timeliness above 2.
    pub time_info_s: u16,
    /// Conflation interval in milliseconds, on the wire only with a rate above 2.
    pub rate_info_ms: u16,
}

impl Qos {
    /// Real time, tick by tick, for the life of the stream: what counts where
    /// no quality is given.
    pub const REALTIME_TICK_BY_TICK: Self = Self {
        timeliness: Timeliness::REALTIME,
        rate: Rate::TICK_BY_TICK,
        dynamic: false,
        time_info_s: 0,
        rate_info_ms: 0,
    };

    #[inline]
    pub(crate) fn decode(data: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        if data.bytes.is_empty() {
            return Ok(None);
        }
        let mut reader = data.reader();
        let qos = Self::read(&mut reader)?;
        if !reader.is_empty() {
            return Err(data.length_error(DataType::QOS));
        }
        Ok(Some(qos))
    }

    #[inline]
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bits = reader.u8("quality of service")?;
        let timeliness = Timeliness(bits >> 5);
        let rate = Rate(bits >> 1 & 0x0F);
        let time_info_s = if timeliness.0 > 2 { reader.u16("time info")? } else { 0 };
        let rate_info_ms = if rate.0 > 2 { reader.u16("rate info")? } else { 0 };
        Ok(Self { timeliness, rate, dynamic: bits & 1 != 0, time_info_s, rate_info_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infos_are_read_only_where_the_codes_ask_for_them() {
        let data = |bytes| Encoded::new(DataType::QOS, bytes);
        assert_eq!(data(&[0x22]).qos(), Ok(Some(Qos::REALTIME_TICK_BY_TICK)));
        let both =
            data(&[0x67, 0x00, 0x0F, 0x01, 0x00]).qos().expect("five bytes").expect("a value");
        assert_eq!((both.time_info_s, both.rate_info_ms, both.dynamic), (15, 256, true));
        assert!(data(&[0x62]).qos().is_err());
        assert!(data(&[0x22, 0xFF]).qos().is_err());
        assert_eq!(data(&[]).qos(), Ok(None));
    }
}
