//! Partial updates: cursor commands that change parts of a cached value.
//!
//! ```text
//! 1B 5B <decimal digits> 60     move: write from byte n of the cached value on
//! 1B 5B <decimal digits> 62     repeat the byte before the position n times
//! ```
//!
//! Positions count cached bytes from 0, escape sequences included. An ESC that
//! begins neither command is text.

use super::{ESCAPE, RmtesError};

/// The limit of a cached value's length in bytes that suits every field of a
/// record: what a 16-bit length can say.
pub const DEFAULT_MAX_CACHE_LEN: usize = 65_535;

const OPEN_BRACKET: u8 = b'[';
const MOVE: u8 = b'`';
const REPEAT: u8 = b'b';

/// Applies a received `value` to the `cache`d bytes of the same field.
///
/// A value without a cursor command replaces the cached bytes. With a command
/// anywhere, all text of the value overwrites the cached bytes, from byte 0
/// until the first command moves the position; the cached value only grows. A
/// position beyond the end fills the gap with zero bytes, which conversion
/// skips. Repeating at position 0 repeats a zero byte.
///
/// Neither the cached length nor the bytes written by repeats may exceed
/// `max_len`, so that a few bytes of input cannot ask for unlimited work.
///
/// # Errors
/// [`RmtesError::CommandCutOff`] and [`RmtesError::TooLong`]; `cache` is then
/// unchanged.
pub fn apply(cache: &mut Vec<u8>, value: &[u8], max_len: usize) -> Result<(), RmtesError> {
    if has_cursor_command_checked(value, max_len)? {
        write_segments(cache, value);
    } else {
        cache.clear();
        cache.extend_from_slice(value);
    }
    Ok(())
}

/// Whether a value holds a complete cursor command, so that it can only be
/// understood together with the value before it.
pub fn has_cursor_command(value: &[u8]) -> bool {
    Segments::new(value)
        .any(|segment| matches!(segment, Ok(Segment::MoveTo(_) | Segment::Repeat(_))))
}

/// [`has_cursor_command`], after proof that the whole value can be applied
/// within `max_len`: nothing is written until nothing can fail.
fn has_cursor_command_checked(value: &[u8], max_len: usize) -> Result<bool, RmtesError> {
    let mut found = false;
    let mut position = 0_usize;
    let mut repeated = 0_usize;
    for segment in Segments::new(value) {
        match segment? {
            Segment::Text(text) => position = position.saturating_add(text.len()),
            Segment::MoveTo(target) => {
                found = true;
                position = target;
            }
            Segment::Repeat(count) => {
                found = true;
                position = position.saturating_add(count);
                repeated = repeated.saturating_add(count);
            }
        }
        let len = position.max(repeated);
        if len > max_len {
            return Err(RmtesError::TooLong { len, limit: max_len });
        }
    }
    Ok(found)
}

fn write_segments(cache: &mut Vec<u8>, value: &[u8]) {
    let mut position = 0;
    for segment in Segments::new(value).flatten() {
        match segment {
            Segment::Text(text) => {
                room(cache, position, text.len()).copy_from_slice(text);
                position += text.len();
            }
            Segment::MoveTo(target) => position = target,
            Segment::Repeat(count) => {
                let before = position.checked_sub(1).and_then(|at| cache.get(at));
                let byte = before.copied().unwrap_or_default();
                room(cache, position, count).fill(byte);
                position += count;
            }
        }
    }
}

/// `len` bytes of the cached value from `position` on, grown with zeros as far
/// as needed.
fn room(cache: &mut Vec<u8>, position: usize, len: usize) -> &mut [u8] {
    let end = position + len;
    if cache.len() < end {
        cache.resize(end, 0);
    }
    &mut cache[position..end]
}

#[derive(Debug, PartialEq, Eq)]
enum Segment<'a> {
    Text(&'a [u8]),
    MoveTo(usize),
    Repeat(usize),
}

/// Splits a value into text and commands; ends after the first error.
struct Segments<'a> {
    value: &'a [u8],
    position: usize,
}

impl<'a> Segments<'a> {
    fn new(value: &'a [u8]) -> Self {
        Self { value, position: 0 }
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Result<Segment<'a>, RmtesError>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.position;
        let mut end = start;
        while end < self.value.len() {
            if self.value[end] != ESCAPE {
                end += 1;
                continue;
            }
            match parse_command(&self.value[end..]) {
                Parsed::Text => end += 1,
                // Text in front of a command goes first; the command is then
                // parsed again, at the start.
                _ if end > start => break,
                Parsed::CutOff => {
                    self.position = self.value.len();
                    return Some(Err(RmtesError::CommandCutOff { at: end }));
                }
                Parsed::Command(command, len) => {
                    self.position = end + len;
                    return Some(Ok(command));
                }
            }
        }
        self.position = end;
        (end > start).then(|| Ok(Segment::Text(&self.value[start..end])))
    }
}

enum Parsed<'a> {
    Text,
    CutOff,
    /// A command and its length in bytes.
    Command(Segment<'a>, usize),
}

/// What the ESC at the start of `bytes` begins.
fn parse_command(bytes: &[u8]) -> Parsed<'static> {
    match bytes {
        [ESCAPE] => return Parsed::CutOff,
        [ESCAPE, OPEN_BRACKET, ..] => {}
        _ => return Parsed::Text,
    }
    let mut number = 0_usize;
    for (digits, &byte) in bytes[2..].iter().enumerate() {
        let len = 2 + digits + 1;
        match byte {
            b'0'..=b'9' => {
                number = number.saturating_mul(10).saturating_add(usize::from(byte - b'0'));
            }
            MOVE if digits > 0 => return Parsed::Command(Segment::MoveTo(number), len),
            REPEAT if digits > 0 => return Parsed::Command(Segment::Repeat(number), len),
            _ => return Parsed::Text,
        }
    }
    Parsed::CutOff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(cache: &[u8], value: &[u8]) -> Result<Vec<u8>, RmtesError> {
        let mut bytes = cache.to_vec();
        apply(&mut bytes, value, 16).map(|()| bytes)
    }

    #[test]
    fn text_before_the_first_command_starts_at_byte_zero() {
        assert_eq!(applied(b"ABCDEFGH", b"x\x1b[4`y").unwrap(), b"xBCDyFGH");
    }

    #[test]
    fn an_escape_that_is_no_command_is_text() {
        for value in [&b"\x1b%0ab"[..], b"\x1b[3x", b"\x1b[`", b"\x1b[b", b"\x1b[-1`"] {
            assert!(!has_cursor_command(value), "{value:?}");
            assert_eq!(applied(b"ABCDEFGH", value).unwrap(), value, "{value:?}");
        }
    }

    #[test]
    fn repeating_takes_the_byte_before_the_position() {
        assert_eq!(applied(b"ABCD", b"\x1b[2`\x1b[3b").unwrap(), b"ABBBB");
        assert_eq!(applied(b"ABCD", b"\x1b[2b").unwrap(), b"\0\0CD");
        assert_eq!(applied(b"AB", b"\x1b[4`\x1b[1b").unwrap(), b"AB\0\0\0");
    }

    #[test]
    fn a_position_without_text_changes_nothing() {
        assert_eq!(applied(b"AB", b"\x1b[9`").unwrap(), b"AB");
    }

    #[test]
    fn a_cut_command_keeps_the_cache_and_says_where() {
        for value in [&b"x\x1b"[..], b"x\x1b[", b"x\x1b[12"] {
            let mut cache = b"ABCD".to_vec();
            let error = apply(&mut cache, value, 16).unwrap_err();
            assert_eq!(error, RmtesError::CommandCutOff { at: 1 });
            assert_eq!(cache, b"ABCD");
        }
        let mut cache = b"ABCD".to_vec();
        let error = apply(&mut cache, b"\x1b[1`x\x1b[2", 16).unwrap_err();
        assert_eq!(error, RmtesError::CommandCutOff { at: 5 });
        assert_eq!(cache, b"ABCD");
    }

    #[test]
    fn the_limit_holds_for_every_way_to_grow() {
        let limit = 16;
        for value in
            [&b"12345678901234567"[..], b"\x1b[16`x", b"\x1b[17`", b"a\x1b[16b", b"\x1b[9`12345678"]
        {
            let mut cache = b"ABCD".to_vec();
            let error = apply(&mut cache, value, limit).unwrap_err();
            assert_eq!(error, RmtesError::TooLong { len: 17, limit }, "{value:?}");
            assert_eq!(cache, b"ABCD");
        }
        assert_eq!(applied(b"", b"\x1b[15`x").unwrap().len(), limit);
    }

    #[test]
    fn a_huge_number_neither_overflows_nor_allocates() {
        let mut cache = Vec::new();
        for command in ['`', 'b'] {
            let value = format!("\x1b[{}{command}x", "9".repeat(400));
            let error = apply(&mut cache, value.as_bytes(), DEFAULT_MAX_CACHE_LEN).unwrap_err();
            assert_eq!(error, RmtesError::TooLong { len: usize::MAX, limit: 65_535 });
            assert_eq!(cache.capacity(), 0);
        }
    }

    #[test]
    fn repeats_over_the_same_bytes_count_against_the_limit() {
        let error = applied(b"A", b"\x1b[1`\x1b[9b\x1b[1`\x1b[9b").unwrap_err();
        assert_eq!(error, RmtesError::TooLong { len: 18, limit: 16 });
    }
}
