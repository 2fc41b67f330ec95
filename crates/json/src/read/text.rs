//! Strings and bytes.

use std::borrow::Cow;

use super::Refusal;
use super::code::wrong_kind;
use crate::error::TokenKind;
use crate::tape::Value;

/// Behind this, RMTES is UTF-8.
const UTF8_FOLLOWS: &[u8] = b"\x1b%0";

/// A string, its escapes resolved.
pub(super) fn string<'t>(value: Value<'t>, key: &str) -> Result<Cow<'t, str>, Refusal> {
    value.string().ok_or_else(|| wrong_kind(&value, key, TokenKind::String))
}

/// The bytes of a string in base64.
pub(super) fn base64(value: Value<'_>, key: &str) -> Result<Vec<u8>, Refusal> {
    decode_base64(&string(value, key)?).ok_or_else(|| Refusal::unexpected(&value, key))
}

/// The bytes of a member in base64, if it is there.
pub(super) fn base64_member(object: Value<'_>, key: &str) -> Result<Option<Vec<u8>>, Refusal> {
    object.get(key).map(|value| base64(value, key)).transpose()
}

/// Bytes in the standard alphabet; padding may be missing.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    if text.len() != digits.len() && !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | u32::from(base64_digit(*digit)?);
        }
        match group.len() {
            4 => bytes.extend_from_slice(&bits.to_be_bytes()[1..]),
            3 => bytes.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
            2 => bytes.push((bits >> 4) as u8),
            _ => return None,
        }
    }
    Some(bytes)
}

fn base64_digit(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// The bytes of text in a field that is ASCII: Latin-1, which is what bytes
/// over 127 are read as; UTF-8 where that cannot say it.
pub(super) fn ascii_bytes(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    latin.map_or(Cow::Borrowed(text.as_bytes()), Cow::Owned)
}

/// The bytes of text in RMTES: behind a switch to UTF-8 unless it is ASCII. A
/// cursor command stays outside of the switch, where it is obeyed.
pub(super) fn rmtes_bytes(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() + UTF8_FOLLOWS.len());
    let rest = text.trim_start_matches('\u{9B}');
    // The one-byte introducer of a command is a character of its own in JSON.
    bytes.extend(text[..text.len() - rest.len()].chars().map(|_| 0x9B));
    if !rest.is_ascii() {
        bytes.extend_from_slice(UTF8_FOLLOWS);
    }
    bytes.extend_from_slice(rest.as_bytes());
    Cow::Owned(bytes)
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
            ("***", None),
            ("A", None),
            ("AAA==", None),
            ("A===", None),
        ] {
            assert_eq!(decode_base64(text).as_deref(), bytes, "{text}");
        }
    }

    #[test]
    fn text_that_is_not_ascii_says_how_it_is_written() {
        assert_eq!(*rmtes_bytes("plain"), *b"plain");
        assert_eq!(*rmtes_bytes("ż"), *b"\x1b%0\xc5\xbc");
        assert_eq!(*rmtes_bytes("\u{9B}5`AB"), *b"\x9b5`AB");
        assert_eq!(*ascii_bytes("é"), *b"\xE9");
        assert_eq!(*ascii_bytes("ż"), *"ż".as_bytes());
    }
}
