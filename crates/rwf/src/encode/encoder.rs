//! The buffer that all writers write into.

use crate::encode::Slot;
use crate::error::EncodeError;
use crate::primitive::int;
use crate::{DataType, Encoded, MAX_DEPTH, Msg};

/// The longest content of a `u15_rb` length.
pub(crate) const MAX_U15: usize = 0x7FFF;
/// The longest content of a `u16_ob` length.
pub(crate) const MAX_U16: usize = 0xFFFF;

/// Writes RWF into a buffer of the caller, front to back, without allocating.
///
/// When the buffer is too small, writing goes on without touching memory until
/// [`finish`](Self::finish), which then says exactly how many bytes were
/// missing: encoding again into a buffer larger by that succeeds.
///
/// Lengths are written in their shortest form. A container that outgrows the
/// one-byte form of its length while it is written is moved back by one or two
/// bytes; entries below 128 or 254 bytes never move.
#[derive(Debug)]
pub struct Encoder<'b> {
    buffer: &'b mut [u8],
    position: usize,
    /// How many slots and containers are begun and not finished.
    open: u32,
    /// How many containers and messages are around the next byte.
    depth: usize,
}

impl<'b> Encoder<'b> {
    /// Begins at the front of a buffer.
    #[inline]
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, position: 0, open: 0, depth: 0 }
    }

    /// Writes a complete message: header and payload as they are in `msg`. A
    /// second one begins where the first ends. An error leaves nothing behind.
    pub fn message(&mut self, msg: &Msg<'_>) -> Result<(), EncodeError> {
        let before = self.position;
        let payload = msg.payload();
        let written = self.begin(msg, payload.data_type())?.encoded(&payload);
        if written.is_err() {
            self.position = before;
        }
        written
    }

    /// Writes the header of a message and gives the place for its payload, a
    /// container of `container_type`. The payload in `msg` does not count.
    #[inline]
    pub fn begin<'e>(
        &'e mut self,
        msg: &Msg<'_>,
        container_type: DataType,
    ) -> Result<Slot<'e, 'b>, EncodeError> {
        self.begin_top_level()?;
        self.depth = 1;
        self.begin_inside(msg, container_type)
    }

    /// The same inside of a container.
    #[inline]
    pub(crate) fn begin_inside<'e>(
        &'e mut self,
        msg: &Msg<'_>,
        container_type: DataType,
    ) -> Result<Slot<'e, 'b>, EncodeError> {
        self.attempt(|encoder| crate::msg::write_header(encoder, msg, container_type, None))?;
        Ok(Slot::unbounded(self, container_type))
    }

    /// Outermost data may begin: nothing is open.
    #[inline]
    fn begin_top_level(&mut self) -> Result<(), EncodeError> {
        self.check(0)?;
        self.depth = 0;
        Ok(())
    }

    /// The same, with the attributes of the key written in place: `write` gets
    /// the place for them, a container of `attrib_type`. Attributes in `msg`
    /// do not count; classes without a key are an error.
    pub fn begin_with_attrib<'e>(
        &'e mut self,
        msg: &Msg<'_>,
        container_type: DataType,
        attrib_type: DataType,
        mut write: impl FnMut(Slot<'_, 'b>) -> Result<(), EncodeError>,
    ) -> Result<Slot<'e, 'b>, EncodeError> {
        self.begin_top_level()?;
        self.depth = 1;
        let before = self.position;
        let written =
            crate::msg::write_header(self, msg, container_type, Some((attrib_type, &mut write)));
        if let Err(error) = written {
            self.position = before;
            return Err(error);
        }
        Ok(Slot::unbounded(self, container_type))
    }

    /// The place for one container without a message around it.
    #[inline]
    pub fn container<'e>(&'e mut self, container_type: DataType) -> Slot<'e, 'b> {
        Slot::unbounded(self, container_type)
    }

    /// Bytes that were written so far, or would have been in a buffer that is
    /// large enough.
    #[inline]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// How many bytes were written.
    ///
    /// Errors: [`EncodeError::BufferTooSmall`] with what was missing;
    /// [`EncodeError::Unfinished`] when a container was begun and dropped.
    #[inline]
    pub const fn finish(self) -> Result<usize, EncodeError> {
        if self.open != 0 {
            return Err(EncodeError::Unfinished);
        }
        if self.position > self.buffer.len() {
            return Err(EncodeError::BufferTooSmall { missing: self.position - self.buffer.len() });
        }
        Ok(self.position)
    }

    /// The bytes that were written; errors as for [`finish`](Self::finish).
    #[inline]
    pub fn finish_bytes(self) -> Result<&'b [u8], EncodeError> {
        if self.open != 0 {
            return Err(EncodeError::Unfinished);
        }
        let (position, len) = (self.position, self.buffer.len());
        match self.buffer.get(..position) {
            Some(written) => Ok(written),
            None => Err(EncodeError::BufferTooSmall { missing: position - len }),
        }
    }

    /// One more container or message is around what follows.
    #[inline]
    pub(crate) fn enter(&mut self) -> Result<(), EncodeError> {
        if self.depth >= MAX_DEPTH {
            return Err(EncodeError::Depth);
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    pub(crate) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// A container begins, one level deeper.
    #[inline]
    pub(crate) fn open_container(&mut self) -> Result<u32, EncodeError> {
        self.enter()?;
        Ok(self.open())
    }

    #[inline]
    pub(crate) fn close_container(&mut self) {
        self.leave();
        self.close();
    }

    /// A slot or container begins; the level is asked for again with
    /// [`check`](Self::check).
    #[inline]
    pub(crate) fn open(&mut self) -> u32 {
        self.open += 1;
        self.open
    }

    #[inline]
    pub(crate) const fn level(&self) -> u32 {
        self.open
    }

    #[inline]
    pub(crate) fn close(&mut self) {
        self.open -= 1;
    }

    /// Whether the container of this level is the innermost open one.
    #[inline]
    pub(crate) fn check(&self, level: u32) -> Result<(), EncodeError> {
        if self.open == level { Ok(()) } else { Err(EncodeError::Unfinished) }
    }

    /// Writes something in several steps; when one of them fails, nothing of it
    /// stays.
    #[inline]
    pub(crate) fn attempt(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let before = self.position;
        let result = write(self);
        if result.is_err() {
            self.position = before;
        }
        result
    }

    #[inline]
    pub(crate) fn chunk<const N: usize>(&mut self, bytes: [u8; N]) {
        if let Some(place) = self.buffer.get_mut(self.position..self.position + N) {
            place.copy_from_slice(&bytes);
        }
        self.position += N;
    }

    /// The first `len` of 8 bytes. All are stored if there is room, since one
    /// store of a fixed size is faster; what follows overwrites the rest.
    #[inline]
    pub(crate) fn chunk_prefix(&mut self, bytes: [u8; 8], len: usize) {
        if let Some(place) = self.buffer.get_mut(self.position..self.position + 8) {
            place.copy_from_slice(&bytes);
            self.position += len;
        } else {
            self.slice(&bytes[..len]);
        }
    }

    /// A prefix and the first `len` of 8 bytes, with one check for both: what a
    /// number costs is mostly checks.
    #[inline]
    pub(crate) fn prefixed<const P: usize>(&mut self, prefix: [u8; P], bytes: [u8; 8], len: usize) {
        if let Some(place) = self.buffer.get_mut(self.position..self.position + P + 8) {
            let (head, tail) = place.split_at_mut(P);
            head.copy_from_slice(&prefix);
            tail.copy_from_slice(&bytes);
            self.position += P + len;
        } else {
            self.prefixed_at_the_end(&prefix, &bytes[..len]);
        }
    }

    #[cold]
    fn prefixed_at_the_end(&mut self, prefix: &[u8], bytes: &[u8]) {
        self.slice(prefix);
        self.slice(bytes);
    }

    #[inline]
    pub(crate) fn slice(&mut self, bytes: &[u8]) {
        let end = self.position + bytes.len();
        if let Some(place) = self.buffer.get_mut(self.position..end) {
            place.copy_from_slice(bytes);
        }
        self.position = end;
    }

    /// `len` zero bytes.
    #[inline]
    pub(crate) fn zeros(&mut self, len: usize) {
        let end = self.position + len;
        if let Some(place) = self.buffer.get_mut(self.position..end) {
            place.fill(0);
        }
        self.position = end;
    }

    #[inline]
    pub(crate) fn u8(&mut self, value: u8) {
        self.chunk([value]);
    }

    #[inline]
    pub(crate) fn u16(&mut self, value: u16) {
        self.chunk(value.to_be_bytes());
    }

    #[inline]
    pub(crate) fn u32(&mut self, value: u32) {
        self.chunk(value.to_be_bytes());
    }

    /// The shortest two's complement form.
    #[inline]
    pub(crate) fn signed(&mut self, value: i64) {
        let (bytes, len) = int::signed_bytes(value);
        self.chunk_prefix(bytes, len);
    }

    /// The shortest unsigned form.
    #[inline]
    pub(crate) fn unsigned(&mut self, value: u64) {
        let (bytes, len) = int::unsigned_bytes(value);
        self.chunk_prefix(bytes, len);
    }

    #[inline]
    pub(crate) fn u15_rb(&mut self, value: u16, what: &'static str) -> Result<(), EncodeError> {
        match value {
            0..0x80 => self.u8(value as u8),
            0x80..=0x7FFF => self.u16(value | 0x8000),
            _ => return Err(EncodeError::OutOfRange { what }),
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn u16_ob(&mut self, value: u16) {
        if value < 0xFE {
            self.u8(value as u8);
        } else {
            let [high, low] = value.to_be_bytes();
            self.chunk([0xFE, high, low]);
        }
    }

    #[inline]
    pub(crate) fn u30_rb(&mut self, value: u32, what: &'static str) -> Result<(), EncodeError> {
        match value {
            0..0x40 => self.u8(value as u8),
            0x40..0x4000 => self.u16(value as u16 | 0x8000),
            0x4000..0x40_0000 => {
                let [_, high, mid, low] = (value | 0x40_0000).to_be_bytes();
                self.chunk([high, mid, low]);
            }
            0x40_0000..0x4000_0000 => self.u32(value | 0xC000_0000),
            _ => return Err(EncodeError::OutOfRange { what }),
        }
        Ok(())
    }

    /// Bytes behind a length of one byte.
    pub(crate) fn buf8(&mut self, bytes: &[u8], what: &'static str) -> Result<(), EncodeError> {
        const MAX: usize = 0xFF;
        if bytes.len() > MAX {
            return Err(EncodeError::TooLong { what, len: bytes.len(), max: MAX });
        }
        self.u8(bytes.len() as u8);
        self.slice(bytes);
        Ok(())
    }

    /// Bytes behind a `u15_rb` length.
    #[inline]
    pub(crate) fn buf15(&mut self, bytes: &[u8], what: &'static str) -> Result<(), EncodeError> {
        if bytes.len() > MAX_U15 {
            return Err(EncodeError::TooLong { what, len: bytes.len(), max: MAX_U15 });
        }
        self.u15_rb(bytes.len() as u16, what)?;
        self.slice(bytes);
        Ok(())
    }

    /// Bytes behind a `u16_ob` length.
    #[inline]
    pub(crate) fn buf16(&mut self, bytes: &[u8], what: &'static str) -> Result<(), EncodeError> {
        if bytes.len() > MAX_U16 {
            return Err(EncodeError::TooLong { what, len: bytes.len(), max: MAX_U16 });
        }
        self.u16_ob(bytes.len() as u16);
        self.slice(bytes);
        Ok(())
    }

    /// Room for a length of one byte that [`close_u8`](Self::close_u8),
    /// [`close_u15`](Self::close_u15) or [`close_u16`](Self::close_u16) fills
    /// in when the content behind it is written.
    #[inline]
    pub(crate) fn reserve_len(&mut self) -> usize {
        let at = self.position;
        self.u8(0);
        at
    }

    #[inline]
    pub(crate) fn patch_u8(&mut self, at: usize, value: u8) {
        if let Some(place) = self.buffer.get_mut(at) {
            *place = value;
        }
    }

    #[inline]
    pub(crate) fn or_u8(&mut self, at: usize, bits: u8) {
        if let Some(place) = self.buffer.get_mut(at) {
            *place |= bits;
        }
    }

    #[inline]
    pub(crate) fn patch_u16(&mut self, at: usize, value: u16) {
        if let Some(place) = self.buffer.get_mut(at..at + 2) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }

    /// Fills in a reserved length of one byte.
    #[inline]
    pub(crate) fn close_u8(&mut self, at: usize, what: &'static str) -> Result<(), EncodeError> {
        let len = self.position - at - 1;
        if len > 0xFF {
            return Err(EncodeError::TooLong { what, len, max: 0xFF });
        }
        self.patch_u8(at, len as u8);
        Ok(())
    }

    /// Fills in a reserved length as `u15_rb`.
    #[inline]
    pub(crate) fn close_u15(&mut self, at: usize, what: &'static str) -> Result<(), EncodeError> {
        let len = self.position - at - 1;
        if len < 0x80 {
            self.patch_u8(at, len as u8);
            return Ok(());
        }
        if len > MAX_U15 {
            return Err(EncodeError::TooLong { what, len, max: MAX_U15 });
        }
        self.shift(at + 1, 1);
        self.patch_u16(at, len as u16 | 0x8000);
        Ok(())
    }

    /// Fills in a reserved length as `u16_ob`.
    #[inline]
    pub(crate) fn close_u16(&mut self, at: usize, what: &'static str) -> Result<(), EncodeError> {
        let len = self.position - at - 1;
        if len < 0xFE {
            self.patch_u8(at, len as u8);
            return Ok(());
        }
        if len > MAX_U16 {
            return Err(EncodeError::TooLong { what, len, max: MAX_U16 });
        }
        self.shift(at + 1, 2);
        self.patch_u8(at, 0xFE);
        self.patch_u16(at + 1, len as u16);
        Ok(())
    }

    /// Moves what was written from `from` on by `by` bytes.
    #[cold]
    fn shift(&mut self, from: usize, by: usize) {
        if self.position + by <= self.buffer.len() {
            self.buffer.copy_within(from..self.position, from + by);
        }
        self.position += by;
    }

    /// Bytes of data as they are, the caller having written their length.
    #[inline]
    pub(crate) fn raw(&mut self, data: &Encoded<'_>) {
        self.slice(data.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(size: usize, write: impl FnOnce(&mut Encoder<'_>)) -> Result<Vec<u8>, EncodeError> {
        let mut buffer = vec![0; size];
        let mut encoder = Encoder::new(&mut buffer);
        write(&mut encoder);
        encoder.finish_bytes().map(<[u8]>::to_vec)
    }

    #[test]
    fn integers_take_their_shortest_form_at_the_very_end_too() {
        for (value, bytes) in
            [(0_i64, &[0][..]), (127, &[127]), (128, &[0, 128]), (-129, &[0xFF, 0x7F])]
        {
            for size in [bytes.len(), 20] {
                assert_eq!(written(size, |e| e.signed(value)).as_deref(), Ok(bytes));
            }
        }
        assert_eq!(written(8, |e| e.unsigned(255)).as_deref(), Ok(&[255][..]));
        assert_eq!(written(9, |e| e.unsigned(u64::MAX)).as_deref(), Ok(&[255; 8][..]));
    }

    #[test]
    fn what_is_missing_is_exact() {
        let write = |e: &mut Encoder<'_>| {
            let at = e.reserve_len();
            e.slice(&[7; 300]);
            e.close_u16(at, "test").expect("300 bytes fit a u16_ob length");
        };
        for size in 0..303 {
            let missing = 303 - size;
            assert_eq!(written(size, write), Err(EncodeError::BufferTooSmall { missing }));
        }
        let bytes = written(303, write).expect("enough room");
        assert_eq!(bytes[..4], [0xFE, 1, 44, 7]);
        assert_eq!(bytes.len(), 303);
    }

    #[test]
    fn lengths_take_the_long_form_only_when_they_must() {
        for (content, head) in [(0x7F, 1), (0x80, 2), (MAX_U15, 2)] {
            let bytes = written(content + 2, |e| {
                let at = e.reserve_len();
                e.zeros(content);
                e.close_u15(at, "test").expect("fits");
            });
            assert_eq!(bytes.map(|b| b.len()), Ok(content + head));
        }
        let mut buffer = [0; 1];
        let mut encoder = Encoder::new(&mut buffer);
        let at = encoder.reserve_len();
        encoder.zeros(MAX_U15 + 1);
        assert!(encoder.close_u15(at, "test").is_err());
    }
}
