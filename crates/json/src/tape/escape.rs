//! Escapes of strings.

/// Resolves the escapes of a string that has been checked.
#[cold]
pub(super) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut after = escape.chars();
        let character = match after.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (character, used) = unicode(escape);
                after = escape[used..].chars();
                character
            }
            Some(other) => other,
            None => break,
        };
        text.push(character);
        rest = after.as_str();
    }
    text.push_str(rest);
    text
}

/// The character of `uXXXX`, or of two of them that are a surrogate pair, and
/// how many bytes it takes.
fn unicode(escape: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(1) else { return (char::REPLACEMENT_CHARACTER, escape.len()) };
    let second = match escape.get(5..7) {
        Some("\\u") => unit(7),
        _ => None,
    };
    let pair = [first, second.unwrap_or(0)];
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) => (character, if character.len_utf16() == 2 { 11 } else { 5 }),
        _ => (char::REPLACEMENT_CHARACTER, 5),
    }
}
