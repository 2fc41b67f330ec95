//! Conversion of RMTES bytes to Unicode.
//!
//! As in ISO 2022, four slots G0..G3 hold a character set each; two selections
//! say which slot the bytes 21..7E (*left*) and A1..FE (*right*) are looked up
//! in. A new designation of a slot in use takes effect at once. Every value
//! starts from the same state.

use std::str::{self, Utf8Chunks};

use super::tables::{Glyph, Set, TwoByteTable};
use super::{ESCAPE, RmtesError};

/// After this escape sequence the rest of the value is UTF-8.
const UTF8_FOLLOWS: &[u8] = b"\x1b%0";

/// The characters of an RMTES value, one by one and without allocation.
///
/// Ends after the first error. See [`chars`].
#[derive(Debug, Clone)]
pub struct Chars<'a> {
    rest: &'a [u8],
    /// Length of the whole value, from which offsets in errors are counted.
    len: usize,
    /// G0..G3.
    slots: [Set; 4],
    /// Slot of the bytes 21..7E.
    left: usize,
    /// Slot of the bytes A1..FE.
    right: usize,
    /// Slot of the next graphic character only.
    single_shift: Option<usize>,
    /// The second half of a glyph that is two characters.
    second: Option<char>,
    utf8: Option<Utf8Text<'a>>,
}

/// The characters of an RMTES value: `Ok(char)` each, and at most one error,
/// which is the last item.
///
/// Zero bytes are skipped, 1C ends the text, other control characters below
/// 20 are copied. Bytes 7F..9F, invalid UTF-8, an unpaired half and an unknown
/// character of a two-byte set give U+FFFD and cost nothing but themselves.
///
/// The error is [`RmtesError::UnknownEscape`] or [`RmtesError::InvalidByte`]:
/// what follows it has no certain meaning.
pub fn chars(value: &[u8]) -> Chars<'_> {
    chars_from(value, 0)
}

/// The characters of `value` from `start` on, where only plain text precedes.
fn chars_from(value: &[u8], start: usize) -> Chars<'_> {
    Chars {
        rest: &value[start..],
        len: value.len(),
        slots: [Set::Ascii, Set::Latin, Set::Katakana, Set::Kanji],
        left: 0,
        right: 1,
        single_shift: None,
        second: None,
        utf8: None,
    }
}

/// The value itself, if it is printable ASCII and needs no conversion: the
/// usual case.
pub fn plain_text(value: &[u8]) -> Option<&str> {
    if plain_len(value) == value.len() { str::from_utf8(value).ok() } else { None }
}

/// Appends a value, converted to UTF-8, to `text`.
///
/// # Errors
/// Those of [`chars`]. `text` then holds what came before the error.
pub fn decode_into(value: &[u8], text: &mut String) -> Result<(), RmtesError> {
    let start = plain_len(value);
    let (plain, rest) = value.split_at(start);
    text.push_str(str::from_utf8(plain).unwrap_or_default());
    if let Some(utf8) = rest.strip_prefix(UTF8_FOLLOWS) {
        push_utf8(utf8, text);
        return Ok(());
    }
    for character in chars_from(value, start) {
        text.push(character?);
    }
    Ok(())
}

/// Length of the printable ASCII at the start of a value.
fn plain_len(value: &[u8]) -> usize {
    value.iter().position(|byte| !matches!(byte, b' '..=b'~')).unwrap_or(value.len())
}

fn push_utf8(bytes: &[u8], text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

impl Iterator for Chars<'_> {
    type Item = Result<char, RmtesError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(second) = self.second.take() {
            return Some(Ok(second));
        }
        while let Some((&byte, rest)) = self.rest.split_first() {
            let at = self.len - self.rest.len();
            self.rest = rest;
            match byte {
                ESCAPE => match self.escape(rest) {
                    Some(used) => self.rest = rest.get(used..).unwrap_or_default(),
                    None => return Some(Err(self.fail(RmtesError::UnknownEscape { at }))),
                },
                0x00 => {}
                0x0E => self.left = 1,
                0x0F => self.left = 0,
                0x1C => self.rest = &[],
                0x01..=0x20 => return Some(Ok(char::from(byte))),
                0x21..=0x7E => return Some(Ok(self.graphic(byte, self.left))),
                0x8E => self.single_shift = Some(2),
                0x8F => self.single_shift = Some(3),
                0x7F..=0x9F => return Some(Ok(char::REPLACEMENT_CHARACTER)),
                0xA0 | 0xFF => return Some(Err(self.fail(RmtesError::InvalidByte { at, byte }))),
                0xA1..=0xFE => return Some(Ok(self.graphic(byte, self.right))),
            }
        }
        self.utf8.as_mut()?.next().map(Ok)
    }
}

impl std::iter::FusedIterator for Chars<'_> {}

impl<'a> Chars<'a> {
    fn fail(&mut self, error: RmtesError) -> RmtesError {
        self.rest = &[];
        error
    }

    /// The character that begins with a byte already taken from the rest.
    fn graphic(&mut self, byte: u8, slot: usize) -> char {
        let set = self.slots[self.single_shift.take().unwrap_or(slot)];
        match set.glyph(byte & 0x7F) {
            Glyph::One(character) => character,
            Glyph::Underscored(second) => {
                self.second = Some(second);
                '_'
            }
            Glyph::Lead(table) => self.pair(table, byte),
        }
    }

    /// Takes the second byte of a two-byte character. It must be of the same
    /// half as the first; another byte stays for itself.
    fn pair(&mut self, table: TwoByteTable, lead: u8) -> char {
        match self.rest {
            [trail, rest @ ..]
                if (trail ^ lead) & 0x80 == 0 && matches!(trail & 0x7F, 0x21..=0x7E) =>
            {
                self.rest = rest;
                table.character(lead & 0x7F, trail & 0x7F)
            }
            _ => char::REPLACEMENT_CHARACTER,
        }
    }

    /// Obeys the escape sequence whose ESC was just taken; returns the number
    /// of bytes after the ESC that belong to it, `None` if it is unknown.
    fn escape(&mut self, after: &'a [u8]) -> Option<usize> {
        match *after {
            [b'%', b'0', ref utf8 @ ..] => {
                self.utf8 = Some(Utf8Text::new(utf8));
                return Some(after.len());
            }
            [b'!', b'@', ..] | [b'"', b'0', ..] => return Some(2),
            [b'n', ..] => self.left = 2,
            [b'o', ..] => self.left = 3,
            [b'~', ..] => self.right = 1,
            [b'}', ..] => self.right = 2,
            [b'|', ..] => self.right = 3,
            _ => {
                let (slot, set, used) = designation(after)?;
                self.slots[slot] = set;
                return Some(used);
            }
        }
        Some(1)
    }
}

/// The slot, the set and the length of a designation, ESC not included.
fn designation(after: &[u8]) -> Option<(usize, Set, usize)> {
    Some(match *after {
        [b'(', last, ..] => (0, single_byte_set(last)?, 2),
        [b')', b'1', ..] => (1, Set::Latin, 2),
        [b')', last, ..] => (1, single_byte_set(last)?, 2),
        [b'*', b'2', ..] => (2, Set::Katakana, 2),
        [b'+', b'3', ..] => (3, Set::JapaneseLatin, 2),
        [b'$', b'(', last, ..] => (0, chinese_set(last)?, 3),
        [b'$', b')', last, ..] => (1, chinese_set(last)?, 3),
        [b'$', b'*', b'5', ..] => (2, Set::Chinese1, 3),
        [b'$', b'*', last, ..] => (2, chinese_set(last)?, 3),
        [b'$', b'+', b'6', ..] => (3, Set::Chinese2, 3),
        [b'$', b'+', b'4', ..] => (3, Set::Kanji, 3),
        [b'$', b'+', last, ..] => (3, chinese_set(last)?, 3),
        [b'&', b'@', ESCAPE, b'$', b'B', ..] => (0, Set::Kanji, 5),
        [b'&', b'@', ESCAPE, b'$', b')', b'B', ..] => (1, Set::Kanji, 6),
        [b'&', b'@', ESCAPE, b'$', b'*', b'B', ..] => (2, Set::Kanji, 6),
        [b'&', b'@', ESCAPE, b'$', b'+', b'B', ..] => (3, Set::Kanji, 6),
        _ => return None,
    })
}

fn single_byte_set(last: u8) -> Option<Set> {
    match last {
        b'B' => Some(Set::Ascii),
        b'I' => Some(Set::Katakana),
        b'J' => Some(Set::JapaneseLatin),
        _ => None,
    }
}

fn chinese_set(last: u8) -> Option<Set> {
    match last {
        b'G' => Some(Set::Chinese1),
        b'H' => Some(Set::Chinese2),
        _ => None,
    }
}

/// UTF-8 with each invalid part replaced by U+FFFD.
#[derive(Debug, Clone)]
struct Utf8Text<'a> {
    chunks: Utf8Chunks<'a>,
    valid: str::Chars<'a>,
    replacement: Option<char>,
}

impl<'a> Utf8Text<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { chunks: bytes.utf8_chunks(), valid: "".chars(), replacement: None }
    }
}

impl Iterator for Utf8Text<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            if let Some(character) = self.valid.next().or_else(|| self.replacement.take()) {
                return Some(character);
            }
            let chunk = self.chunks.next()?;
            self.valid = chunk.valid().chars();
            self.replacement = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &[u8]) -> Result<String, RmtesError> {
        let collected: Result<String, _> = chars(value).collect();
        let mut pushed = String::new();
        assert_eq!(decode_into(value, &mut pushed), collected.clone().map(drop));
        if let Ok(collected) = &collected {
            assert_eq!(&pushed, collected);
        }
        collected
    }

    #[test]
    fn plain_text_is_borrowed_and_anything_else_is_not_plain() {
        assert_eq!(plain_text(b"IBM ~ "), Some("IBM ~ "));
        assert_eq!(plain_text(b""), Some(""));
        for value in [&b"a\0"[..], b"a\x1c", b"\x7f", b"\xe9", b"\x1b%0a", b"a\nb"] {
            assert_eq!(plain_text(value), None, "{value:?}");
        }
    }

    #[test]
    fn a_single_shift_serves_one_character_in_either_half() {
        assert_eq!(text(b"\x8e1A").unwrap(), "ｱA");
        assert_eq!(text(b"\x8e\xb1A").unwrap(), "ｱA");
        assert_eq!(text(b"\x8f\xc6\xfcA").unwrap(), "日A");
    }

    #[test]
    fn a_shift_at_the_end_says_nothing() {
        assert_eq!(text(b"A\x8e").unwrap(), "A");
    }

    #[test]
    fn a_torn_two_byte_character_costs_only_itself() {
        let kanji = b"\x1b&@\x1b$)B";
        for (tail, want) in [
            (&b"\xc6"[..], "\u{fffd}"),
            (b"\xc6A", "\u{fffd}A"),
            (b"\xc6 \xc6\xfc", "\u{fffd} 日"),
            (b"\xc6\x1b(B\xc6\xfc", "\u{fffd}日"),
        ] {
            assert_eq!(text(&[kanji, tail].concat()).unwrap(), want, "{tail:?}");
        }
    }

    #[test]
    fn invalid_utf8_costs_only_itself() {
        assert_eq!(text(b"A\x1b%0\xc3\xa9\xff\xe2\x82B\0").unwrap(), "Aé\u{fffd}\u{fffd}B\0");
        assert_eq!(text(b"\xe9\x1b%0\xe9").unwrap(), "é\u{fffd}");
    }

    #[test]
    fn errors_say_where_and_are_the_last_item() {
        assert_eq!(text(b"AB\xa0C"), Err(RmtesError::InvalidByte { at: 2, byte: 0xA0 }));
        assert_eq!(text(b"\xe9\xffC"), Err(RmtesError::InvalidByte { at: 1, byte: 0xFF }));
        for escape in [&b"\x1b"[..], b"\x1b[3`x", b"\x1b(", b"\x1b$*4", b"\x1b&@\x1b$"] {
            let value = [&b"AB"[..], escape].concat();
            assert_eq!(text(&value), Err(RmtesError::UnknownEscape { at: 2 }), "{escape:?}");
            let mut items = chars(&value).skip_while(Result::is_ok);
            assert!(items.next().is_some());
            assert!(items.next().is_none());
        }
    }

    #[test]
    fn what_came_before_an_error_is_in_the_text() {
        let mut text = "> ".to_owned();
        decode_into(b"A\xe9\xa0B", &mut text).unwrap_err();
        assert_eq!(text, "> Aé");
    }
}
