//! Eight bytes of a text at once, the first one lowest.

const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

const HIGHS: u64 = each(0x80);

/// The eight bytes from a place on; zeros behind the end of the text.
#[inline]
pub(super) fn word_at(text: &[u8], at: usize) -> u64 {
    match text.get(at..at + 8).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => last_word(text, at),
    }
}

#[cold]
#[inline(never)]
fn last_word(text: &[u8], at: usize) -> u64 {
    text.get(at..)
        .unwrap_or_default()
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Marks the high bit of the first byte that does not stand for itself in a
/// string: a quote, a backslash or a control character. Higher marks may be
/// wrong.
#[inline]
pub(super) const fn specials(word: u64) -> u64 {
    // A byte that is less than what is subtracted borrows, which sets its high
    // bit and may falsify those above it. With one bit flipped a quote is a
    // space, control characters stay below that and all others above it, so
    // that one subtraction finds quotes and control characters.
    let quote_or_control = (word ^ each(b'"' ^ b' ')).wrapping_sub(each(b' ' + 1));
    let backslash = (word ^ each(b'\\')).wrapping_sub(each(1));
    (quote_or_control | backslash) & !word & HIGHS
}

/// How many bytes are below the lowest mark, 8 if there is none.
#[inline]
pub(super) const fn len_below(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// All bits of the bytes below the lowest mark.
#[inline]
const fn below(marks: u64) -> u64 {
    ((marks & marks.wrapping_neg()) >> 7).wrapping_sub(1)
}

/// The bytes below the lowest mark, zeros for the others.
#[inline]
pub(super) const fn first_bytes(word: u64, marks: u64) -> u64 {
    word & below(marks)
}

/// A number without its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Magnitude {
    /// Its digits as an integer.
    pub(super) digits: u64,
    /// How many characters it has.
    pub(super) len: usize,
    /// How many of its digits are in front of the point, and how many behind.
    pub(super) whole: usize,
    pub(super) decimals: usize,
}

/// The number that a word begins with, if it ends inside of the word and has no
/// exponent, as nearly all do.
#[inline]
pub(super) fn short_magnitude(word: u64) -> Option<Magnitude> {
    let values = word ^ each(b'0');
    // High bits are put aside first: a sum cannot reach its neighbour then.
    let others = (((values & !HIGHS) + each(0x80 - 10)) | values) & HIGHS;
    let whole = len_below(others);
    let is_at = |at: usize, byte: u8| word >> (8 * at) & 0xFF == u64::from(byte);
    if !(1..8).contains(&whole) {
        return None;
    }
    let has_exponent = |len| is_at(len, b'e') || is_at(len, b'E');
    // The digit that comes first is the highest, and is to have zeros before it.
    if !is_at(whole, b'.') {
        let digits = eight_digits(values << (64 - 8 * whole));
        return (!has_exponent(whole)).then_some(Magnitude {
            digits,
            len: whole,
            whole,
            decimals: 0,
        });
    }
    let len = len_below(others & (others - 1));
    let decimals = len - whole - 1;
    if len == 8 || decimals == 0 || has_exponent(len) {
        return None;
    }
    // The decimals move one byte down, to where the point is.
    let in_front = below(others);
    let without_point = values & in_front | values >> 8 & !in_front;
    let digits = eight_digits(without_point << (64 - 8 * (len - 1)));
    Some(Magnitude { digits, len, whole, decimals })
}

/// The integer of eight digits, which are given by their values.
#[inline]
const fn eight_digits(values: u64) -> u64 {
    // Neighbours are put together to lanes of twice the width, three times.
    // A lane holds what it gets, so that nothing is carried into the next one;
    // every other lane is of no use then.
    let twos = values.wrapping_mul(10).wrapping_add(values >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_of_a_word_is_found_whatever_is_around_it() {
        for special in 0..=u8::MAX {
            let is_special = special < b' ' || special == b'"' || special == b'\\';
            for at in 0..8 {
                for behind in [b'"', b'a', b' ', b'!', b'#', b'[', b']', 0, 0x7F, 0x80, 0xFF] {
                    let mut bytes = *b"a !#[]\x7F\x80";
                    bytes[at..].fill(behind);
                    bytes[at] = special;
                    let word = u64::from_le_bytes(bytes);
                    let position = bytes.iter().position(|b| *b < b' ' || b"\"\\".contains(b));
                    assert_eq!(len_below(specials(word)), position.unwrap_or(8), "{bytes:x?}");
                    if is_special {
                        let mut kept = [0; 8];
                        kept[..at].copy_from_slice(&bytes[..at]);
                        let first = first_bytes(word, specials(word)).to_le_bytes();
                        assert_eq!(first, kept, "{bytes:x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_word_ends_with_zeros_where_the_text_ends() {
        let text = b"0123456789";
        assert_eq!(word_at(text, 1).to_le_bytes(), *b"12345678");
        assert_eq!(word_at(text, 2).to_le_bytes(), *b"23456789");
        assert_eq!(word_at(text, 3).to_le_bytes(), *b"3456789\0");
        assert_eq!(word_at(text, 10), 0);
        assert_eq!(word_at(text, 11), 0);
    }

    #[test]
    fn short_numbers_are_what_the_standard_library_makes_of_them() {
        for (number, point, behind) in (0..10_000_000_u32)
            .step_by(6173)
            .chain([0, 7, 99, 9_999_999])
            .flat_map(|number| (0..8).map(move |point| (number, point)))
            .flat_map(|(number, point)| b",}] /:.\xB1\xFF".map(|behind| (number, point, behind)))
        {
            let mut text = number.to_string();
            let decimals = text.len().saturating_sub(point).min(text.len() - 1);
            if decimals > 0 {
                text.insert(point.max(1), '.');
            }
            let len = text.len();
            let mut bytes = text.into_bytes();
            bytes.push(behind);
            bytes.extend_from_slice(b"90.\xB1\xFF\0,123");
            let found = short_magnitude(word_at(&bytes, 0));
            if len >= 8 || (decimals == 0 && behind == b'.') {
                continue;
            }
            let whole = len - decimals - usize::from(decimals > 0);
            let expected = Magnitude { digits: number.into(), len, whole, decimals };
            assert_eq!(found, Some(expected), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn numbers_that_do_not_end_in_the_word_are_left_to_others() {
        for text in [
            &b"12345678"[..],
            b"1234567.",
            b"123456.7",
            b"1e5,",
            b"1.5E5,",
            b"1.,",
            b".5,",
            b"x",
            b"",
        ] {
            assert_eq!(short_magnitude(word_at(text, 0)), None, "{}", text.escape_ascii());
        }
    }
}
