/// A generation of the RIPC handshake and framing.
///
/// | | number in a request | number in an ack | adds |
/// |---|---|---|---|
/// | `V11` | 0x14 | 6 | 1-byte fragment ids |
/// | `V12` | 0x15 | 7 | protocol type byte |
/// | `V13` | 0x16 | 8 | component version, 2-byte fragment ids |
/// | `V14` | 0x17 | 9 | optional key exchange |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// RIPC 11.
    V11,
    /// RIPC 12.
    V12,
    /// RIPC 13.
    V13,
    /// RIPC 14, where every current SDK starts.
    V14,
}

impl Version {
    /// All generations, newest first: the order in which a client tries them.
    pub const NEWEST_FIRST: [Self; 4] = [Self::V14, Self::V13, Self::V12, Self::V11];

    /// The generation's common number, 11 to 14.
    pub const fn number(self) -> u8 {
        match self {
            Self::V11 => 11,
            Self::V12 => 12,
            Self::V13 => 13,
            Self::V14 => 14,
        }
    }

    /// The "connection version" of a connect request.
    pub const fn request_code(self) -> u32 {
        self.number() as u32 + 9
    }

    /// The "RIPC version" of a connect ack.
    pub const fn ack_code(self) -> u32 {
        self.number() as u32 - 5
    }

    /// The generation with this connection version, if there is one.
    pub fn from_request_code(code: u32) -> Option<Self> {
        Self::NEWEST_FIRST.into_iter().find(|version| version.request_code() == code)
    }

    /// The generation with this RIPC version, if there is one.
    pub fn from_ack_code(code: u32) -> Option<Self> {
        Self::NEWEST_FIRST.into_iter().find(|version| version.ack_code() == code)
    }

    /// The next older generation: what a client tries on a new connection when
    /// the server hung up instead of answering this one.
    pub const fn older(self) -> Option<Self> {
        match self {
            Self::V14 => Some(Self::V13),
            Self::V13 => Some(Self::V12),
            Self::V12 => Some(Self::V11),
            Self::V11 => None,
        }
    }

    pub(crate) const fn has_protocol_type(self) -> bool {
        !matches!(self, Self::V11)
    }

    pub(crate) const fn has_component_version(self) -> bool {
        matches!(self, Self::V13 | Self::V14)
    }

    pub(crate) const fn has_key_exchange(self) -> bool {
        matches!(self, Self::V14)
    }

    /// Bytes of a fragment id on the wire.
    pub(crate) const fn fragment_id_bytes(self) -> usize {
        if self.has_component_version() { 2 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_documented_pairs() {
        let pairs: Vec<_> =
            Version::NEWEST_FIRST.iter().map(|v| (v.request_code(), v.ack_code())).collect();
        assert_eq!(pairs, [(0x17, 9), (0x16, 8), (0x15, 7), (0x14, 6)]);
        assert_eq!(Version::from_request_code(0x15), Some(Version::V12));
        assert_eq!(Version::from_ack_code(8), Some(Version::V13));
        assert_eq!(Version::from_ack_code(10), None);
        assert_eq!(Version::from_request_code(0x18), None);
        assert_eq!(Version::from_request_code(0x13), None);
    }

    #[test]
    fn fallback_ends_at_eleven() {
        let tried: Vec<_> =
            std::iter::successors(Some(Version::V14), |v| v.older()).map(Version::number).collect();
        assert_eq!(tried, [14, 13, 12, 11]);
    }
}
