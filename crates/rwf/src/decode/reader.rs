//! The cursor that all decoders read through.
//!
//! A reader must stay in registers: then reading is a comparison and a load. It
//! does as long as its address goes nowhere, so everything here is inlined, and
//! what is rare (long forms, errors) is a function that gets and gives values.

#![allow(clippy::inline_always, reason = "measured: outlined, a field costs three times as much")]

use crate::error::{DecodeError, DecodeErrorKind, Level, Path};
use crate::{DataType, Encoded};

/// Bytes in front of a value whose length has the long form: id, `FE`, length.
const LONG_FIELD_HEAD: usize = 5;

/// Reads big-endian values and length-coded integers from a slice.
///
/// It remembers where its slice *ends* in the outermost data: the position of
/// the next byte is then always `end - rest.len()`, so that moving on costs
/// nothing but the slice itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    end: u32,
    path: Path,
}

impl<'a> Reader<'a> {
    /// A reader at the end of nothing.
    pub(crate) const EMPTY: Self = Self { rest: &[], end: 0, path: Path::ROOT };

    /// A reader over `data`, which is inside one more `level`.
    #[inline(always)]
    pub(crate) fn enter(data: &Encoded<'a>, level: Level) -> Result<Self, DecodeError> {
        match data.path.enter(level) {
            Some(path) => Ok(Self::new(data.bytes, data.offset, path)),
            None => Err(data.error(DecodeErrorKind::Depth)),
        }
    }

    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], offset: u32, path: Path) -> Self {
        Self { rest: bytes, end: offset.wrapping_add(bytes.len() as u32), path }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    /// The bytes that are left.
    #[inline(always)]
    pub(crate) fn remaining(&self) -> &'a [u8] {
        self.rest
    }

    #[inline(always)]
    pub(crate) fn offset(&self) -> u32 {
        self.end.wrapping_sub(self.rest.len() as u32)
    }

    #[inline(always)]
    pub(crate) fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(kind, self.offset(), self.path)
    }

    /// An error in what was read `back` bytes ago.
    #[inline(always)]
    pub(crate) fn error_back(&self, back: u32, kind: DecodeErrorKind) -> DecodeError {
        DecodeError::new(kind, self.offset().wrapping_sub(back), self.path)
    }

    /// By value all the way: a reader whose address goes to a function that is
    /// not inlined would have to live in memory instead of registers.
    #[inline(always)]
    fn truncated(&self, what: &'static str, needed: usize) -> DecodeError {
        truncated(self.rest.len() as u32, self.end, self.path, what, needed as u32)
    }

    #[inline(always)]
    pub(crate) fn chunk<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], DecodeError> {
        match self.rest.split_first_chunk::<N>() {
            Some((chunk, rest)) => {
                self.rest = rest;
                Ok(*chunk)
            }
            None => Err(self.truncated(what, N)),
        }
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        Ok(self.chunk::<1>(what)?[0])
    }

    /// The next byte, which stays unread.
    #[inline(always)]
    pub(crate) fn peek_u8(&self, what: &'static str) -> Result<u8, DecodeError> {
        self.rest.first().copied().ok_or_else(|| self.truncated(what, 1))
    }

    #[inline(always)]
    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.chunk(what)?))
    }

    #[inline(always)]
    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.chunk(what)?))
    }

    /// `0xxxxxxx`, or the low 15 bits of `1xxxxxxx xxxxxxxx`.
    #[inline(always)]
    pub(crate) fn u15_rb(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        let first = self.u8(what)?;
        if first < 0x80 {
            return Ok(first as u16);
        }
        Ok((first as u16 & 0x7F) << 8 | self.u8(what)? as u16)
    }

    /// A byte up to FD, or `FE` and two bytes. `FF` has no meaning.
    #[inline(always)]
    pub(crate) fn u16_ob(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        let first = self.u8(what)?;
        if first < 0xFE {
            return Ok(first as u16);
        }
        if first == 0xFF {
            return Err(self.error_back(1, DecodeErrorKind::LengthByte { what }));
        }
        self.u16(what)
    }

    /// The two top bits tell the size: `00` one, `10` two, `01` three and `11`
    /// four bytes.
    #[inline(always)]
    pub(crate) fn u30_rb(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        let first = self.u8(what)?;
        let high = first as u32 & 0x3F;
        Ok(match first >> 6 {
            0b00 => high,
            0b10 => high << 8 | self.u8(what)? as u32,
            0b01 => high << 16 | self.u16(what)? as u32,
            _ => {
                let [a, b, c] = self.chunk::<3>(what)?;
                u32::from_be_bytes([high as u8, a, b, c])
            }
        })
    }

    #[inline(always)]
    pub(crate) fn bytes(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(self.truncated(what, len)),
        }
    }

    /// Bytes behind a length of one byte.
    #[inline(always)]
    pub(crate) fn buf8(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.u8(what)?;
        self.bytes(len as usize, what)
    }

    /// Bytes behind a [`u15_rb`](Self::u15_rb) length.
    #[inline(always)]
    pub(crate) fn buf15(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.u15_rb(what)?;
        self.bytes(len as usize, what)
    }

    /// Bytes behind a [`u16_ob`](Self::u16_ob) length.
    #[inline(always)]
    pub(crate) fn buf16(&mut self, what: &'static str) -> Result<&'a [u8], DecodeError> {
        let len = self.u16_ob(what)?;
        self.bytes(len as usize, what)
    }

    /// The next `len` bytes as data of a type, to be decoded by the caller.
    #[inline(always)]
    pub(crate) fn data(
        &mut self,
        len: usize,
        data_type: DataType,
        what: &'static str,
    ) -> Result<Encoded<'a>, DecodeError> {
        let offset = self.offset();
        let bytes = self.bytes(len, what)?;
        Ok(Encoded::inside(bytes, data_type, offset, self.path))
    }

    /// A field: its id, and its value behind a [`u16_ob`](Self::u16_ob) length.
    /// Id and a length of one byte are looked at once.
    #[inline(always)]
    pub(crate) fn field(&mut self) -> Result<(i16, &'a [u8]), DecodeError> {
        let (field_id, len) = match self.rest.split_first_chunk::<3>() {
            Some((&[high, low, len], rest)) if len < 0xFE => {
                self.rest = rest;
                (u16::from_be_bytes([high, low]), len as usize)
            }
            _ => {
                let head = unusual_field_head(self.rest, self.end, self.path)?;
                self.rest = self.rest.get(LONG_FIELD_HEAD..).unwrap_or(&[]);
                head
            }
        };
        Ok((field_id as i16, self.bytes(len, "field value")?))
    }

    /// Bytes that were read last, as data of a type.
    #[inline(always)]
    pub(crate) fn just_read(&self, bytes: &'a [u8], data_type: DataType) -> Encoded<'a> {
        let offset = self.offset().wrapping_sub(bytes.len() as u32);
        Encoded::inside(bytes, data_type, offset, self.path)
    }

    /// Data behind a [`u15_rb`](Self::u15_rb) length.
    #[inline(always)]
    pub(crate) fn data15(
        &mut self,
        data_type: DataType,
        what: &'static str,
    ) -> Result<Encoded<'a>, DecodeError> {
        let len = self.u15_rb(what)?;
        self.data(len as usize, data_type, what)
    }

    /// Data behind a [`u16_ob`](Self::u16_ob) length.
    #[inline(always)]
    pub(crate) fn data16(
        &mut self,
        data_type: DataType,
        what: &'static str,
    ) -> Result<Encoded<'a>, DecodeError> {
        let len = self.u16_ob(what)?;
        self.data(len as usize, data_type, what)
    }

    /// All that is left, as data of a type.
    #[inline(always)]
    pub(crate) fn rest(&mut self, data_type: DataType) -> Encoded<'a> {
        let data = Encoded::inside(self.rest, data_type, self.offset(), self.path);
        self.rest = &[];
        data
    }

    /// A reader over the next `len` bytes alone.
    #[inline(always)]
    pub(crate) fn split(&mut self, len: usize, what: &'static str) -> Result<Self, DecodeError> {
        let offset = self.offset();
        Ok(Self::new(self.bytes(len, what)?, offset, self.path))
    }
}

/// Id and length of a field whose length has the long form, or that is damaged.
#[cold]
#[inline(never)]
fn unusual_field_head(rest: &[u8], end: u32, path: Path) -> Result<(u16, usize), DecodeError> {
    let mut reader = Reader { rest, end, path };
    let field_id = reader.u16("field id")?;
    Ok((field_id, reader.u16_ob("field value")?.into()))
}

#[cold]
#[inline(never)]
fn truncated(left: u32, end: u32, path: Path, what: &'static str, needed: u32) -> DecodeError {
    let kind = DecodeErrorKind::Truncated { what, needed, left };
    DecodeError { kind, offset: end.wrapping_sub(left), path }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> Reader<'_> {
        Reader::new(bytes, 0, Path::ROOT)
    }

    #[test]
    fn length_coded_integers_read_every_form() {
        for (bytes, value) in [
            (&[0x00][..], 0),
            (&[0x7F], 0x7F),
            (&[0x80, 0x80], 0x80),
            (&[0x80, 0x05], 5),
            (&[0xFF, 0xFF], 0x7FFF),
        ] {
            assert_eq!(reader(bytes).u15_rb("n"), Ok(value));
        }
        for (bytes, value) in [
            (&[0xFD][..], 0xFD),
            (&[0xFE, 0x00, 0xFF], 0xFF),
            (&[0xFE, 0x00, 0x01], 1),
            (&[0xFE, 0xFF, 0xFF], 0xFFFF),
        ] {
            assert_eq!(reader(bytes).u16_ob("n"), Ok(value));
        }
        for (bytes, value) in [
            (&[0x3F][..], 0x3F),
            (&[0x80, 0x40], 0x40),
            (&[0x40, 0x40, 0x00], 0x4000),
            (&[0x7F, 0xFF, 0xFF], 0x3F_FFFF),
            (&[0xC0, 0x40, 0x00, 0x00], 0x40_0000),
            (&[0xFF, 0xFF, 0xFF, 0xFF], 0x3FFF_FFFF),
        ] {
            assert_eq!(reader(bytes).u30_rb("n"), Ok(value));
        }
    }

    #[test]
    fn length_byte_ff_is_refused() {
        let error = reader(&[0xFF, 0, 0]).u16_ob("field value").unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::LengthByte { what: "field value" });
        assert_eq!(error.offset, 0);
    }

    #[test]
    fn offsets_count_from_the_outermost_data() {
        let mut outer = reader(&[1, 2, 3, 4, 5]);
        outer.u8("first").expect("one byte");
        let mut inner = outer.split(3, "inner").expect("three bytes");
        inner.u16("pair").expect("two bytes");
        let error = inner.u16("pair").unwrap_err();
        assert_eq!(error.offset, 3);
        assert_eq!(error.kind, DecodeErrorKind::Truncated { what: "pair", needed: 2, left: 1 });
        assert_eq!(outer.offset(), 4);
    }
}
