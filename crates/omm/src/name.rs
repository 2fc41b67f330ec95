//! Names of items.

use core::fmt;
use core::ops::Deref;

/// Names up to this length are kept in place: instrument codes are hardly ever longer.
const SHORT: usize = 22;

/// The bytes of a name. Each item has one: what is kept in place is found without
/// another look at memory, and leaves no small piece of it behind when the item is
/// over, of which a million take the allocator long to put in order.
#[derive(Clone)]
pub(crate) enum Name {
    /// In place, so many of the bytes.
    Short { len: u8, bytes: [u8; SHORT] },
    /// Any other.
    Long(Box<[u8]>),
}

impl From<&[u8]> for Name {
    fn from(name: &[u8]) -> Self {
        if name.len() > SHORT {
            return Self::Long(name.into());
        }
        let mut bytes = [0; SHORT];
        bytes[..name.len()].copy_from_slice(name);
        Self::Short { len: name.len() as u8, bytes }
    }
}

impl Deref for Name {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Short { len, bytes } => &bytes[..usize::from(*len)],
            Self::Long(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_are_their_bytes() {
        assert_eq!(size_of::<Name>(), 24);
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        for len in 0..=bytes.len() {
            let name = Name::from(&bytes[..len]);
            assert_eq!(&*name, &bytes[..len]);
            assert_eq!(matches!(name, Name::Short { .. }), len <= SHORT, "{len}");
        }
        assert_eq!(format!("{:?}", Name::from(&b"TRI.N"[..])), "\"TRI.N\"");
    }
}
