//! Strings and bytes.

use std::borrow::Cow;

use super::Refusal;
use super::code::wrong_kind;
use super::object::{Member, Object};
use super::spare::{Lent, Spare};
use crate::error::TokenKind;
use crate::tape::Value;
use crate::write::text::{BASE64, UTF8_FOLLOWS};

/// A string, its escapes resolved.
pub(super) fn string<'t>(value: Value<'t>, key: &str) -> Result<Cow<'t, str>, Refusal> {
    value.string().ok_or_else(|| wrong_kind(&value, key, TokenKind::String))
}

/// The bytes of a string, its escapes resolved.
#[inline]
pub(super) fn string_bytes<'t>(value: Value<'t>, key: &str) -> Result<Cow<'t, [u8]>, Refusal> {
    match value.plain() {
        Some(plain) => Ok(Cow::Borrowed(plain)),
        None => Ok(Cow::Owned(string(value, key)?.into_owned().into_bytes())),
    }
}

/// The bytes of a string in base64.
pub(super) fn base64<'p>(
    value: Value<'_>,
    key: &str,
    spare: &'p Spare,
) -> Result<Lent<'p>, Refusal> {
    let mut bytes = spare.lend();
    match decode_base64(&string_bytes(value, key)?, bytes.vec()) {
        Some(()) => Ok(bytes),
        None => Err(Refusal::unexpected(&value, key)),
    }
}

/// The bytes of a member in base64, if it is there.
#[inline]
pub(super) fn base64_member<'p>(
    object: &Object<'_>,
    member: Member,
    spare: &'p Spare,
) -> Result<Option<Lent<'p>>, Refusal> {
    object.get(member).map(|value| base64(value, member.name(), spare)).transpose()
}

/// Appends bytes in the standard alphabet; padding may be missing.
fn decode_base64(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let digits = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    if text.len() != digits.len() && !text.len().is_multiple_of(4) {
        return None;
    }
    let (groups, rest) = digits.as_chunks();
    bytes.reserve(groups.len() * 3 + 2);
    for group in groups {
        bytes.extend_from_slice(&base64_bits(*group)?.to_be_bytes()[1..]);
    }
    match *rest {
        [] => {}
        [a, b] => bytes.push((base64_bits([a, b, b'A', b'A'])? >> 16) as u8),
        [a, b, c] => {
            bytes.extend_from_slice(&base64_bits([a, b, c, b'A'])?.to_be_bytes()[1..3]);
        }
        _ => return None,
    }
    Some(())
}

/// The 24 bits of four digits.
#[inline]
fn base64_bits(digits: [u8; 4]) -> Option<u32> {
    let [a, b, c, d] = digits.map(|digit| BASE64_VALUES[usize::from(digit)]);
    let bits = u32::from(a) << 18 | u32::from(b) << 12 | u32::from(c) << 6 | u32::from(d);
    ((a | b | c | d) < 0x40).then_some(bits)
}

/// The value of each byte as a digit; one that is none has a value too large.
static BASE64_VALUES: [u8; 256] = {
    let mut values = [0xFF; 256];
    let mut value = 0;
    while value < BASE64.len() {
        values[BASE64[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// The bytes of text in a field that is ASCII: Latin-1, which is what bytes
/// over 127 are read as; UTF-8 where that cannot say it.
pub(super) fn ascii_bytes(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    latin.map_or(Cow::Borrowed(text.as_bytes()), Cow::Owned)
}

/// The bytes of text in RMTES: behind a switch to UTF-8 unless each character
/// stands for itself. Cursor commands at the start stay in front of the switch.
pub(super) fn rmtes_bytes(text: &str) -> Cow<'_, [u8]> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() + UTF8_FOLLOWS.len());
    let mut rest = text;
    while let Some(len) = push_cursor_command(rest, &mut bytes) {
        rest = &rest[len..];
    }
    let switch_at = bytes.len();
    let start = rest;
    while let Some(character) = rest.chars().next() {
        if let Some(len) = push_cursor_command(rest, &mut bytes) {
            rest = &rest[len..];
        } else if stands_for_itself(character) {
            bytes.push(character as u8);
            rest = &rest[1..];
        } else {
            bytes.truncate(switch_at);
            bytes.extend_from_slice(UTF8_FOLLOWS);
            bytes.extend_from_slice(start.as_bytes());
            break;
        }
    }
    Cow::Owned(bytes)
}

/// Whether RMTES has the character as the byte that ASCII has for it. ESC,
/// shifts and the like are obeyed.
const fn stands_for_itself(character: char) -> bool {
    matches!(character, ' '..='~' | '\u{1}'..='\u{D}' | '\u{10}'..='\u{18}' | '\u{1A}' | '\u{1E}' | '\u{1F}')
}

/// Takes the cursor command that the text begins with, and returns its length.
/// CSI is ESC `[`, or one character that is one byte outside of UTF-8.
fn push_cursor_command(text: &str, bytes: &mut Vec<u8>) -> Option<usize> {
    let (introducer, behind) = match text.strip_prefix("\x1b[") {
        Some(behind) => (&b"\x1b["[..], behind),
        None => (&b"\x9b"[..], text.strip_prefix('\u{9B}')?),
    };
    let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
    matches!(behind.as_bytes().get(digits), Some(b'`' | b'b')).then(|| {
        bytes.extend_from_slice(introducer);
        bytes.extend_from_slice(&behind.as_bytes()[..=digits]);
        text.len() - behind.len() + digits + 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_taken_with_and_without_padding() {
        for (text, bytes) in [
            ("", Some(&b""[..])),
            ("AA==", Some(b"\0")),
            ("AA", Some(b"\0")),
            ("YWI=", Some(b"ab")),
            ("V2Vi", Some(b"Web")),
            ("V2Vi+/8", Some(b"Web\xFB\xFF")),
            ("V2Vi+/8=", Some(b"Web\xFB\xFF")),
            ("V2ViAAA=AAAA", None),
            ("V2V\u{e9}", None),
            ("***", None),
            ("A", None),
            ("AAA==", None),
            ("A===", None),
        ] {
            let mut decoded = Vec::new();
            let is_base64 = decode_base64(text.as_bytes(), &mut decoded).is_some();
            assert_eq!(is_base64.then_some(&decoded[..]), bytes, "{text}");
        }
    }

    #[test]
    fn text_that_is_not_ascii_says_how_it_is_written() {
        assert_eq!(*rmtes_bytes("plain"), *b"plain");
        assert_eq!(*rmtes_bytes("ż"), *b"\x1b%0\xc5\xbc");
        assert_eq!(*rmtes_bytes("\u{9B}5`AB\n\u{9B}1b"), *b"\x9b5`AB\n\x9b1b");
        assert_eq!(*rmtes_bytes("\u{9B}5`\x1b[2bż"), *b"\x9b5`\x1b[2b\x1b%0\xc5\xbc");
        assert_eq!(*rmtes_bytes("\x1b-a"), *b"\x1b%0\x1b-a");
        assert_eq!(*rmtes_bytes("A\u{9B}5"), *b"\x1b%0A\xc2\x9b5");
        assert_eq!(*ascii_bytes("é"), *b"\xE9");
        assert_eq!(*ascii_bytes("ż"), *"ż".as_bytes());
    }
}
