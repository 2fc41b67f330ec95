//! Groups of items that share their fate.

use core::fmt;

use thiserror::Error;

/// A group of items of one service, by bytes of the provider's choosing; empty
/// for none. At most 255 bytes.
///
/// A group id means something only within its service: see [`ServiceGroup`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GroupId(Box<[u8]>);

/// A group with the service that it belongs to: what can be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceGroup {
    /// Service, by the number of one connection's directory.
    pub service_id: u16,
    /// Group within it.
    pub group: GroupId,
}

impl GroupId {
    /// The longest id in bytes.
    pub const MAX_LEN: usize = 255;

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The group id to use downstream for a group of the source with this
    /// index, so that the groups of several sources of one service stay apart.
    ///
    /// ```text
    /// ┌──────────────────┬────────────────────────┐
    /// │ u16 source index │ the source's own id    │
    /// └──────────────────┴────────────────────────┘
    /// ```
    ///
    /// `None` when the source's own id is above 253 bytes: there is no room.
    pub fn of_source(source_index: u16, own: &[u8]) -> Option<Self> {
        let mut id = source_index.to_be_bytes().to_vec();
        id.extend_from_slice(own);
        (id.len() <= Self::MAX_LEN).then(|| Self(id.into()))
    }

    /// The source index and the source's own id, the inverse of
    /// [`of_source`](Self::of_source). `None` when there is no index.
    pub fn source(&self) -> Option<(u16, &[u8])> {
        let (index, own) = self.0.split_first_chunk()?;
        Some((u16::from_be_bytes(*index), own))
    }
}

/// Bytes that are too many for a group id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("group id has {len} bytes, {max} are the most", max = GroupId::MAX_LEN)]
pub struct GroupIdTooLong {
    /// How many bytes there are.
    pub len: usize,
}

impl TryFrom<&[u8]> for GroupId {
    type Error = GroupIdTooLong;

    fn try_from(bytes: &[u8]) -> Result<Self, GroupIdTooLong> {
        match bytes.len() {
            0..=Self::MAX_LEN => Ok(Self(bytes.into())),
            len => Err(GroupIdTooLong { len }),
        }
    }
}

impl fmt::Debug for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupId({self})")
    }
}

/// Two hexadecimal digits a byte.
impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart_and_found_again() {
        let first = GroupId::of_source(1, &[0, 7]).expect("short");
        let second = GroupId::of_source(2, &[0, 7]).expect("short");
        assert_ne!(first, second);
        assert_eq!(first.to_string(), "00010007");
        assert_eq!(second.source(), Some((2, &[0, 7][..])));
        assert_eq!(GroupId::of_source(3, &[]).expect("short").source(), Some((3, &[][..])));
        assert_eq!(GroupId::try_from(&[1][..]).map(|id| id.source().is_none()), Ok(true));
    }

    #[test]
    fn an_id_of_more_than_255_bytes_is_refused() {
        assert!(GroupId::try_from(&[7; 255][..]).is_ok());
        let refused = GroupId::try_from(&[7; 256][..]).unwrap_err();
        assert_eq!(refused.to_string(), "group id has 256 bytes, 255 are the most");
    }

    #[test]
    fn an_id_without_room_for_the_index_is_refused() {
        assert!(GroupId::of_source(1, &[0; 253]).is_some());
        assert!(GroupId::of_source(1, &[0; 254]).is_none());
    }
}
