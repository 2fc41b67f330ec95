//! Groups of items that share their fate.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use thiserror::Error;

/// A group of items of one service, by bytes of the provider's choosing; empty
/// for none. At most 255 bytes.
///
/// A group id means something only within its service: see [`ServiceGroup`].
#[derive(Clone)]
pub struct GroupId(Bytes);

/// Ids up to this length are kept in place: each item has one, and most have a
/// few bytes.
const SHORT: usize = 14;

/// The bytes of an id, in as many bytes as a box of them.
#[derive(Clone)]
enum Bytes {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Box<Box<[u8]>>),
}

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
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short { len, bytes } => &bytes[..usize::from(*len)],
            Bytes::Long(bytes) => bytes,
        }
    }

    /// The id of these bytes, which are not too many.
    fn of_parts(parts: [&[u8]; 2]) -> Self {
        let [first, second] = parts;
        let len = first.len() + second.len();
        if len > SHORT {
            return Self(Bytes::Long(Box::new(parts.concat().into())));
        }
        let mut bytes = [0; SHORT];
        bytes[..first.len()].copy_from_slice(first);
        bytes[first.len()..len].copy_from_slice(second);
        Self(Bytes::Short { len: len as u8, bytes })
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
        let index = source_index.to_be_bytes();
        (index.len() + own.len() <= Self::MAX_LEN).then(|| Self::of_parts([&index, own]))
    }

    /// The source index and the source's own id, the inverse of
    /// [`of_source`](Self::of_source). `None` when there is no index.
    pub fn source(&self) -> Option<(u16, &[u8])> {
        let (index, own) = self.as_bytes().split_first_chunk()?;
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
            0..=Self::MAX_LEN => Ok(Self::of_parts([bytes, &[]])),
            len => Err(GroupIdTooLong { len }),
        }
    }
}

impl Default for GroupId {
    fn default() -> Self {
        Self::of_parts([&[], &[]])
    }
}

impl PartialEq for GroupId {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for GroupId {}

impl PartialOrd for GroupId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GroupId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for GroupId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
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
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
    fn ids_of_any_length_are_their_bytes_and_are_small() {
        assert!(size_of::<GroupId>() <= 16, "{}", size_of::<GroupId>());
        assert_eq!(GroupId::default().as_bytes(), b"");
        let all: Vec<u8> = (0..=254).collect();
        let ids: Vec<_> = (0..=all.len())
            .map(|len| GroupId::try_from(&all[..len]).expect("short enough"))
            .collect();
        for (len, id) in ids.iter().enumerate() {
            assert_eq!((id.as_bytes(), id), (&all[..len], &id.clone()));
        }
        assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]));
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
