//! Buffers that are used again from one message to the next.

use std::cell::RefCell;
use std::ops::Deref;

/// Buffers that nobody uses, for parts that have to be put together before
/// they can go into a message: key attributes, bytes that come in base64.
#[derive(Debug, Default)]
pub(super) struct Spare {
    buffers: RefCell<Vec<Vec<u8>>>,
}

/// How many buffers are kept at most, and how long they may be to be kept.
const MOST_BUFFERS: usize = 8;
const MOST_BYTES: usize = 1 << 16;

/// An empty buffer on loan; goes back by itself.
#[derive(Debug)]
pub(super) struct Lent<'p> {
    bytes: Vec<u8>,
    owner: &'p Spare,
}

impl Spare {
    pub(super) fn lend(&self) -> Lent<'_> {
        Lent { bytes: self.buffers.borrow_mut().pop().unwrap_or_default(), owner: self }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut buffers = self.owner.buffers.borrow_mut();
        if buffers.len() < MOST_BUFFERS && self.bytes.capacity() <= MOST_BYTES {
            self.bytes.clear();
            buffers.push(std::mem::take(&mut self.bytes));
        }
    }
}

impl Lent<'_> {
    /// What it is filled through.
    pub(super) fn vec(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl Deref for Lent<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_empty_and_with_its_room() {
        let spare = Spare::default();
        let mut first = spare.lend();
        let second = spare.lend();
        first.vec().extend_from_slice(&[7; 100]);
        drop(second);
        drop(first);
        let mut again = spare.lend();
        assert!(again.is_empty() && again.vec().capacity() >= 100);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let spare = Spare::default();
        let lent: Vec<Lent<'_>> = (0..2 * MOST_BUFFERS).map(|_| spare.lend()).collect();
        drop(lent);
        assert_eq!(spare.buffers.borrow().len(), MOST_BUFFERS);
        spare.buffers.borrow_mut().clear();
        spare.lend().vec().reserve(2 * MOST_BYTES);
        assert!(spare.buffers.borrow().is_empty());
    }
}
