//! What every update carries: when it was due, and which one it is.
//!
//! ```text
//! RSSL      ... | fid 3902 | 8 | due | fid 3903 | 8 | number |      85 bytes
//!                    u16    u8   u64      u16    u8    u64           big endian
//! others    topic, 8 bytes | due | number | zeros                    85 bytes
//!                            u64   u64                               big endian
//! ```
//!
//! Within RSSL, the top bit of both is set: an encoder that leaves zeros in
//! front away makes updates of the same length.

use crate::update::Update;

/// Bytes of an update: an RWF message with 74 bytes of payload, or as many
/// bytes for those who do not look into it.
pub(crate) const UPDATE_BYTES: usize = 85;

/// Bytes in front that name the topic for those who have no subject of their
/// own beside the message.
pub(crate) const TOPIC_BYTES: usize = 8;

const TOP: u64 = 1 << 63;
const DUE_FIELD: [u8; 3] = [0x0F, 0x3E, 8];
/// The two fields at the end of an RSSL update.
const TAIL_BYTES: usize = 22;

/// When an update was due, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) due_ns: u64,
    /// Counts all updates of a run of a system, from 0.
    pub(crate) number: u64,
}

impl Stamp {
    /// The RSSL update that carries it.
    #[inline]
    pub(crate) fn write_rssl(self, update: &mut Update) -> &[u8] {
        update.stamped(self.due_ns | TOP, self.number | TOP)
    }

    /// From an RSSL update. `None` when it is another message.
    #[inline]
    pub(crate) fn read_rssl(message: &[u8]) -> Option<Self> {
        let start = message.len().checked_sub(TAIL_BYTES)?;
        let tail: &[u8; TAIL_BYTES] = message[start..].try_into().ok()?;
        let (due, number) = (u64_at(tail, 3), u64_at(tail, 14));
        (message.len() == UPDATE_BYTES && tail[..3] == DUE_FIELD && due & number & TOP != 0)
            .then_some(Self { due_ns: due ^ TOP, number: number ^ TOP })
    }

    /// Into the front of an update for those who do not look into it.
    #[inline]
    pub(crate) fn write_plain(self, update: &mut [u8]) {
        update[TOPIC_BYTES..TOPIC_BYTES + 8].copy_from_slice(&self.due_ns.to_be_bytes());
        update[TOPIC_BYTES + 8..TOPIC_BYTES + 16].copy_from_slice(&self.number.to_be_bytes());
    }

    /// From such an update. `None` when it has another length.
    #[inline]
    pub(crate) fn read_plain(update: &[u8]) -> Option<Self> {
        let update: &[u8; UPDATE_BYTES] = update.try_into().ok()?;
        let (due_ns, number) = (u64_at(update, TOPIC_BYTES), u64_at(update, TOPIC_BYTES + 8));
        Some(Self { due_ns, number })
    }
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { due_ns: 15_000_000_000_123, number: 7 };

    #[test]
    fn an_rssl_update_carries_it_at_its_end() {
        let mut update = Update::new();
        let bytes = STAMP.write_rssl(&mut update);
        assert_eq!(bytes.len(), UPDATE_BYTES);
        assert_eq!(Stamp::read_rssl(bytes), Some(STAMP));
        assert_eq!(Stamp::read_rssl(&bytes[1..]), None);
        let mut other = bytes.to_vec();
        other[UPDATE_BYTES - TAIL_BYTES] ^= 1;
        assert_eq!(Stamp::read_rssl(&other), None, "another field is there");
        assert_eq!(Stamp::read_rssl(&[]), None);
    }

    #[test]
    fn a_plain_update_carries_it_behind_the_topic() {
        let mut update = [0; UPDATE_BYTES];
        STAMP.write_plain(&mut update);
        assert_eq!(update[..TOPIC_BYTES], [0; TOPIC_BYTES]);
        assert_eq!(Stamp::read_plain(&update), Some(STAMP));
        assert_eq!(Stamp::read_plain(&update[..UPDATE_BYTES - 1]), None);
    }
}
