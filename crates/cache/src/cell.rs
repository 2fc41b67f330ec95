//! One entry of a map, a filter list or a vector.

use crate::lengths::{MAX_U15, resize_within};

/// One entry: key, permission data and data in one buffer, so that a small
/// entry costs one allocation, and a later entry in its place none.
///
/// ```text
/// ┌─────┬───────────┬──────┐
/// │ key │ perm data │ data │   data: a container as it goes on the wire
/// └─────┴───────────┴──────┘
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) bytes: Vec<u8>,
    /// At most 32,767.
    key_len: u16,
    /// At most 32,767; [`NO_PERM`] if there is none.
    perm_len: u16,
}

/// The length that says that there is no permission data.
const NO_PERM: u16 = u16::MAX;

impl Cell {
    /// Begins anew with a key, without permission data and data. The wire
    /// keeps keys and permission data below 32,768 bytes.
    pub(crate) fn begin(&mut self, key: &[u8]) {
        let key = &key[..key.len().min(MAX_U15)];
        self.bytes.clear();
        self.bytes.extend_from_slice(key);
        self.key_len = key.len() as u16;
        self.perm_len = NO_PERM;
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_len.into()]
    }

    pub(crate) fn perm_data(&self) -> Option<&[u8]> {
        (self.perm_len != NO_PERM).then(|| &self.bytes[self.key_len.into()..self.data_at()])
    }

    /// Where the data begins in [`bytes`](Self::bytes).
    pub(crate) fn data_at(&self) -> usize {
        let perm_len = if self.perm_len == NO_PERM { 0 } else { self.perm_len };
        usize::from(self.key_len) + usize::from(perm_len)
    }

    pub(crate) fn data(&self) -> &[u8] {
        &self.bytes[self.data_at()..]
    }

    /// Sets or removes the permission data.
    pub(crate) fn set_perm_data(&mut self, perm_data: Option<&[u8]>) {
        let new = perm_data.unwrap_or_default();
        let new = &new[..new.len().min(MAX_U15)];
        let at = usize::from(self.key_len);
        let old_len = self.data_at() - at;
        resize_within(&mut self.bytes, at, old_len, new.len());
        self.bytes[at..at + new.len()].copy_from_slice(new);
        self.perm_len = if perm_data.is_some() { new.len() as u16 } else { NO_PERM };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_entry_do_not_disturb_each_other() {
        let mut cell = Cell::default();
        cell.begin(b"key");
        cell.bytes.extend_from_slice(b"data");
        assert_eq!((cell.key(), cell.perm_data(), cell.data()), (&b"key"[..], None, &b"data"[..]));
        for perm_data in [&b"long perm"[..], b"p", b""] {
            cell.set_perm_data(Some(perm_data));
            assert_eq!(cell.perm_data(), Some(perm_data));
            assert_eq!((cell.key(), cell.data()), (&b"key"[..], &b"data"[..]));
        }
        cell.set_perm_data(None);
        assert_eq!((cell.perm_data(), cell.data()), (None, &b"data"[..]));
    }
}
