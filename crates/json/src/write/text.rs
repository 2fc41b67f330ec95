//! Strings and bytes as JSON.

use tapeline_rwf::rmtes;

const HEX: &[u8; 16] = b"0123456789ABCDEF";
/// Behind this, RMTES is UTF-8.
pub(crate) const UTF8_FOLLOWS: &[u8] = b"\x1b%0";
pub(crate) const BASE64: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes that are copied at once where a text may be that long.
pub(crate) const BLOCK: usize = 32;

/// Appends the first `len` bytes of a block: a few moves, where a length that
/// only the processor knows takes a call.
#[inline]
pub(crate) fn push_block<const N: usize>(out: &mut Vec<u8>, block: &[u8; N], len: usize) {
    let end = out.len() + len;
    out.extend_from_slice(block);
    out.truncate(end);
}

/// Appends the first `len` bytes of a text, as a block if the text goes on
/// behind them for long enough.
#[inline]
pub(crate) fn push_start(out: &mut Vec<u8>, text: &[u8], len: usize) {
    match text.first_chunk::<BLOCK>() {
        Some(block) if len <= BLOCK => push_block(out, block, len),
        _ => out.extend_from_slice(&text[..len]),
    }
}

/// Whether a byte of UTF-8 stands for itself in a JSON string.
#[inline]
const fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\' && byte != 0x7F
}

/// Whether a text is ASCII of which nothing has to be escaped.
#[inline]
pub(crate) fn is_plain_ascii(text: &[u8]) -> bool {
    let (words, _) = text.as_chunks();
    let marks = words.iter().fold(0, |marks, word| marks | marks_of_others(*word));
    let last = match (text.last_chunk(), text) {
        (Some(last), _) => *last,
        (None, [a, b, c, d, ..]) => {
            let [.., e, f, g, h] = text else { return false };
            [*a, *b, *c, *d, *e, *f, *g, *h]
        }
        _ => return text.iter().all(|byte| byte.is_ascii() && is_plain(*byte)),
    };
    marks | marks_of_others(last) == 0
}

/// 0 if all eight bytes are ASCII that stands for itself. A borrow or a carry
/// into a neighbour comes only from a byte that has its own mark.
#[inline]
const fn marks_of_others(word: [u8; 8]) -> u64 {
    const fn each(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    let word = u64::from_le_bytes(word);
    let control = word.wrapping_sub(each(0x20));
    let quote = (word ^ each(b'"')).wrapping_sub(each(1));
    let backslash = (word ^ each(b'\\')).wrapping_sub(each(1));
    let delete = word.wrapping_add(each(1));
    (word | control | quote | backslash | delete) & each(0x80)
}

/// Appends the inside of a string: UTF-8 with everything escaped that has to
/// be, control characters and 7F included.
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
#[inline]
pub(crate) fn push_latin1(out: &mut Vec<u8>, text: &[u8]) {
    match is_plain_ascii(text) {
        true => out.extend_from_slice(text),
        false => push_unusual_latin1(out, text),
    }
}

fn push_unusual_latin1(out: &mut Vec<u8>, text: &[u8]) {
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
#[inline]
pub(crate) fn push_header(out: &mut Vec<u8>, text: &[u8]) {
    match is_plain_ascii(text) {
        true => out.extend_from_slice(text),
        false => push_unusual_header(out, text),
    }
}

fn push_unusual_header(out: &mut Vec<u8>, text: &[u8]) {
    match std::str::from_utf8(text) {
        Ok(text) => push_str(out, text),
        Err(_) => push_latin1(out, text),
    }
}

/// Appends the inside of a string of RMTES. Cursor commands stay in the text,
/// since it is the receiver who applies them.
#[inline]
pub(crate) fn push_rmtes(out: &mut Vec<u8>, text: &[u8]) {
    match is_plain_ascii(text) {
        true => out.extend_from_slice(text),
        false => push_unusual_rmtes(out, text),
    }
}

fn push_unusual_rmtes(out: &mut Vec<u8>, text: &[u8]) {
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
    let (groups, rest) = bytes.as_chunks();
    for group in groups {
        out.extend_from_slice(&base64_digits(*group));
    }
    match *rest {
        [a] => {
            let [first, second, ..] = base64_digits([a, 0, 0]);
            out.extend_from_slice(&[first, second, b'=', b'=']);
        }
        [a, b] => {
            let [first, second, third, _] = base64_digits([a, b, 0]);
            out.extend_from_slice(&[first, second, third, b'=']);
        }
        _ => {}
    }
    out.push(b'"');
}

#[inline]
fn base64_digits([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    [18, 12, 6, 0].map(|shift| BASE64[(bits >> shift & 0x3F) as usize])
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
    fn a_byte_that_is_not_plain_is_seen_wherever_it_is() {
        for byte in 0..=255 {
            let is_plain = (0x20..0x7F).contains(&byte) && !b"\"\\".contains(&byte);
            // Beside bytes that a carry or a borrow would come from or go to.
            for (len, filler) in (1..20).flat_map(|len| b" ~!#[]".map(|filler| (len, filler))) {
                for at in 0..len {
                    let mut text = vec![filler; len];
                    text[at] = byte;
                    assert_eq!(is_plain_ascii(&text), is_plain, "{text:?}");
                }
            }
        }
        assert!(is_plain_ascii(b""));
    }

    #[test]
    fn the_start_of_a_text_is_copied_with_and_without_more_behind_it() {
        let text: Vec<u8> = (b' '..=b'~').collect();
        for len in 0..=text.len() {
            for behind in [0, 7, BLOCK] {
                let text = &text[..text.len().min(len + behind)];
                let mut out = b"before".to_vec();
                push_start(&mut out, text, len);
                assert_eq!(out, [b"before", &text[..len]].concat());
            }
        }
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
        for (bytes, text) in [
            (&b""[..], ""),
            (b"\0", "AA=="),
            (b"Web", "V2Vi"),
            (b"ab", "YWI="),
            (b"abcd\xFF\xFE", "YWJjZP/+"),
        ] {
            assert_eq!(written(|out| push_base64(out, bytes)), format!("\"{text}\""));
        }
    }
}
