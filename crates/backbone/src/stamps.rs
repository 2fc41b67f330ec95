//! Moments on the way of a message, which a few messages carry.

/// The moments of a message at its hub, in front of it in a frame of
/// [`Kind::Stamped`](crate::Kind::Stamped).
///
/// ```text
///  0          8         16         24
///  | source   | hub in  | hub out  | RWF message
///    u64        u64       u64        little endian
/// ```
///
/// Nanoseconds of the monotonic clock of the hub's host; 0 for what is not known. The
/// message itself is as it would be without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// When the source sent it.
    pub source_ns: u64,
    /// When the turn of the hub began that read it.
    pub hub_in_ns: u64,
    /// When the hub gave it to the backbone.
    pub hub_out_ns: u64,
}

impl Stamps {
    /// Their length, in bytes.
    pub const BYTES: usize = 24;

    /// As they stand in a frame.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let all = [self.source_ns, self.hub_in_ns, self.hub_out_ns];
        for (place, moment) in bytes.chunks_exact_mut(8).zip(all) {
            place.copy_from_slice(&moment.to_le_bytes());
        }
        bytes
    }

    /// What stands in front of a message, and the message; `None` if it is too short.
    pub fn decode(body: &[u8]) -> Option<(Self, &[u8])> {
        let (bytes, message) = body.split_first_chunk::<{ Self::BYTES }>()?;
        let at = |place: usize| {
            bytes[place..].first_chunk().map_or(0, |moment| u64::from_le_bytes(*moment))
        };
        Some((Self { source_ns: at(0), hub_in_ns: at(8), hub_out_ns: at(16) }, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_read_back_in_front_of_their_message() {
        let stamps = Stamps { source_ns: 1, hub_in_ns: 2 << 40, hub_out_ns: u64::MAX };
        let mut body = stamps.encode().to_vec();
        body.extend_from_slice(b"message");
        assert_eq!(Stamps::decode(&body), Some((stamps, &b"message"[..])));
        assert_eq!(Stamps::decode(&body[..Stamps::BYTES - 1]), None);
    }
}
