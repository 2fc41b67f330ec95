//! An image in pieces that fit messages.

use crate::content::Content;

/// The payloads of a refresh of several parts, one after the other.
///
/// ```
/// # let image = tapeline_cache::Image::new(tapeline_cache::Limits::default());
/// let mut payload = Vec::new();
/// let mut parts = image.parts(6_000);
/// while let Some(part) = parts.next_part(&mut payload) {
///     // A refresh with part.number, and REFRESH_COMPLETE if part.is_last.
///     payload.clear();
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    content: &'a Content,
    max_bytes: usize,
    number: u16,
    /// Where the next part begins; `None` behind the last.
    position: Option<usize>,
}

/// Which part of a refresh a payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshPart {
    /// Its number, from 0.
    pub number: u16,
    /// Whether it is the last one.
    pub is_last: bool,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(content: &'a Content, max_bytes: usize) -> Self {
        Self { content, max_bytes, number: 0, position: Some(0) }
    }

    /// Appends the payload of the next part to `out`; `None` when there are no
    /// more. There is always a first one.
    pub fn next_part(&mut self, out: &mut Vec<u8>) -> Option<RefreshPart> {
        let position = self.position?;
        self.position = self.content.write_part(position, self.max_bytes, out);
        let part = RefreshPart { number: self.number, is_last: self.position.is_none() };
        self.number = (self.number + 1) & 0x7FFF;
        Some(part)
    }
}
