//! Strings and bytes as JSON.

use tapeline_rwf::rmtes;

const HEX: &[u8; 16] = b"0123456789ABCDEF";
/// Behind this, RMTES is UTF-8.
pub(crate) const UTF8_FOLLOWS: &[u8] = b"\x1b%0";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Whether a byte of UTF-8 stands for itself in a JSON string.
#[inline]
const fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\' && byte != 0x7F
}

/// Appends the inside of a string: UTF-8 with everything escaped that has to
/// be, control characters and 7F included.
#[inline]
pub(crate) fn push_str(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    // Without a way out in the middle, so that many bytes are looked at at once.
    if bytes.iter().fold(true, |plain, byte| plain & is_plain(*byte)) {
        out.extend_from_slice(bytes);
        return;
    }
    for byte in bytes {
        push_byte(out, *byte);
    }
}

/// Appends one byte of UTF-8, escaped if it has to be.
fn push_byte(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        byte if is_plain(byte) => out.push(byte),
        byte => push_escape(out, byte),
    }
}

/// Appends `\u00XX`.
fn push_escape(out: &mut Vec<u8>, byte: u8) {
    let [high, low] = [byte >> 4, byte & 0x0F].map(|digit| HEX[usize::from(digit)]);
    out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
}

fn push_char(out: &mut Vec<u8>, character: char) {
    let mut buffer = [0; 4];
    for byte in character.encode_utf8(&mut buffer).bytes() {
        push_byte(out, byte);
    }
}

/// Appends the inside of a string of 7-bit text; bytes above are Latin-1.
pub(crate) fn push_latin1(out: &mut Vec<u8>, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(ascii) if ascii.is_ascii() => push_str(out, ascii),
        _ => text.iter().for_each(|byte| push_char(out, char::from(*byte))),
    }
}

/// Appends the inside of a string of UTF-8, what is none replaced by U+FFFD.
pub(crate) fn push_utf8(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        push_str(out, chunk.valid());
        if !chunk.invalid().is_empty() {
            push_char(out, char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Appends the inside of a string of header text, whose encoding nothing
/// tells: UTF-8 if it is that, else Latin-1.
pub(crate) fn push_header(out: &mut Vec<u8>, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(text) => push_str(out, text),
        Err(_) => push_latin1(out, text),
    }
}

/// Appends the inside of a string of RMTES. Cursor commands stay in the text,
/// since it is the receiver who applies them.
#[inline]
pub(crate) fn push_rmtes(out: &mut Vec<u8>, text: &[u8]) {
    match rmtes::plain_text(text) {
        Some(plain) => push_str(out, plain),
        None => push_rmtes_runs(out, text),
    }
}

/// Once a value has become UTF-8 it stays that, across commands too.
fn push_rmtes_runs(out: &mut Vec<u8>, text: &[u8]) {
    let (mut run_start, mut run_is_utf8) = (0, false);
    let (mut at, mut is_utf8) = (0, false);
    while at < text.len() {
        if text[at..].starts_with(UTF8_FOLLOWS) {
            is_utf8 = true;
            at += UTF8_FOLLOWS.len();
            continue;
        }
        let Some(len) = cursor_command_len(&text[at..], is_utf8) else {
            at += 1;
            continue;
        };
        push_rmtes_chars(out, &text[run_start..at], run_is_utf8);
        for byte in &text[at..at + len] {
            match byte {
                0x9B => push_escape(out, *byte),
                byte => push_byte(out, *byte),
            }
        }
        at += len;
        (run_start, run_is_utf8) = (at, is_utf8);
    }
    push_rmtes_chars(out, &text[run_start..], run_is_utf8);
}

fn push_rmtes_chars(out: &mut Vec<u8>, run: &[u8], is_utf8: bool) {
    if is_utf8 {
        return push_utf8(out, run);
    }
    for character in rmtes::chars(run) {
        // After an error nothing is certain; the mark shows that there was more.
        push_char(out, character.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
}

/// Length of the cursor command at the start: CSI, digits, a backquote or a b.
/// In UTF-8 a byte 9B is the end of a character.
fn cursor_command_len(text: &[u8], is_utf8: bool) -> Option<usize> {
    let introducer = match text {
        [0x1B, b'[', ..] => 2,
        [0x9B, ..] if !is_utf8 => 1,
        _ => return None,
    };
    let digits = text[introducer..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = introducer + digits;
    matches!(text.get(end), Some(b'`' | b'b')).then_some(end + 1)
}

/// Appends bytes in base64, quotes included.
pub(crate) fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for group in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| group.get(at).copied().unwrap_or(0));
        let bits = u32::from_be_bytes([0, a, b, c]);
        let digit = |shift: u32| BASE64[(bits >> shift & 0x3F) as usize];
        let third = if group.len() > 1 { digit(6) } else { b'=' };
        let fourth = if group.len() > 2 { digit(0) } else { b'=' };
        out.extend_from_slice(&[digit(18), digit(12), third, fourth]);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn what_json_cannot_hold_is_escaped() {
        let text = written(|out| push_str(out, "q\" b\\ \n\t\u{1}\u{7f} ż"));
        assert_eq!(text, r#"q\" b\\ \n\t\u0001\u007F ż"#);
    }

    #[test]
    fn bytes_of_no_known_encoding_still_give_utf8() {
        assert_eq!(written(|out| push_latin1(out, b"A\xE9\xFF")), "Aéÿ");
        assert_eq!(written(|out| push_utf8(out, b"A\xFFB")), "A\u{FFFD}B");
        assert_eq!(written(|out| push_header(out, "ż".as_bytes())), "ż");
        assert_eq!(written(|out| push_header(out, b"\xE9")), "é");
    }

    #[test]
    fn cursor_commands_stay_and_the_text_around_them_is_converted() {
        assert_eq!(written(|out| push_rmtes(out, b"\x1b[5`A\xDE")), "\\u001B[5`A⇧");
        assert_eq!(written(|out| push_rmtes(out, b"\x9b5`AB")), "\\u009B5`AB");
        assert_eq!(written(|out| push_rmtes(out, b"A\x1b[3bZ")), "A\\u001B[3bZ");
        assert_eq!(written(|out| push_rmtes(out, b"\x1b%0\xc5\xbc")), "ż");
        assert_eq!(written(|out| push_rmtes(out, b"A\x1b[x")), "A\u{FFFD}");
    }

    #[test]
    fn a_value_that_became_utf8_stays_that() {
        // In the first two a character ends with the byte 9B.
        assert_eq!(written(|out| push_rmtes(out, "\x1b%0sněbr".as_bytes())), "sněbr");
        assert_eq!(written(|out| push_rmtes(out, "\x1b%0Û5`".as_bytes())), "Û5`");
        let moved = "\x1b%0é\x1b[5`ż".as_bytes();
        assert_eq!(written(|out| push_rmtes(out, moved)), "é\\u001B[5`ż");
    }

    #[test]
    fn base64_is_padded() {
        for (bytes, text) in [(&b""[..], ""), (b"\0", "AA=="), (b"Web", "V2Vi"), (b"ab", "YWI=")] {
            assert_eq!(written(|out| push_base64(out, bytes)), format!("\"{text}\""));
        }
    }
}
