//! Streams of bytes that are cut into messages as they come.

/// The beginning of a message whose end has not come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread {
    part: Vec<u8>,
}

impl Unread {
    /// Takes bytes; `cut` takes whole messages off the front of what it is given, and says
    /// how many bytes are left, or `None` if they are no message. Returns whether all that
    /// came was understood.
    pub(crate) fn read(&mut self, bytes: &[u8], cut: impl FnOnce(&[u8]) -> Option<usize>) -> bool {
        if self.part.is_empty() {
            let Some(left) = cut(bytes) else { return false };
            self.part.extend_from_slice(&bytes[bytes.len() - left..]);
            return true;
        }
        self.part.extend_from_slice(bytes);
        let Some(left) = cut(&self.part) else { return false };
        self.part.drain(..self.part.len() - left);
        true
    }

    /// Bytes that wait for more.
    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.part.len()
    }
}
