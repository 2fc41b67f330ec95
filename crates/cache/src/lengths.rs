//! Lengths and numbers of the wire, appended to or changed inside of buffers
//! that grow.
//!
//! The encoder of the wire format writes into buffers of a fixed size, front to
//! back; images are changed in the middle and grow.

/// The longest content of a `u15_rb` length.
pub(crate) const MAX_U15: usize = 0x7FFF;
/// The longest content of a `u16_ob` length.
pub(crate) const MAX_U16: usize = 0xFFFF;
/// The most entries that the count of a map, vector or series can say.
pub(crate) const MAX_COUNT: u32 = 0xFFFF;

/// One byte below 0x80, else two with the top bit set. `value` has 15 bits.
pub(crate) fn push_u15(out: &mut Vec<u8>, value: usize) {
    if value < 0x80 {
        out.push(value as u8);
    } else {
        out.extend_from_slice(&(value as u16 | 0x8000).to_be_bytes());
    }
}

/// One byte below 0xFE, else `FE` and two bytes. `value` has 16 bits.
pub(crate) fn push_u16_ob(out: &mut Vec<u8>, value: usize) {
    let (head, len) = u16_ob(value);
    out.extend_from_slice(&head[..len]);
}

/// The bytes of a `u16_ob` length, and how many of them count.
#[inline]
pub(crate) fn u16_ob(value: usize) -> ([u8; 3], usize) {
    let [high, low] = (value as u16).to_be_bytes();
    if value < 0xFE { ([low, 0, 0], 1) } else { ([0xFE, high, low], 3) }
}

/// One to four bytes, the two top bits telling how many. `value` has 30 bits.
pub(crate) fn push_u30(out: &mut Vec<u8>, value: u32) {
    let [a, b, c, d] = value.to_be_bytes();
    match value {
        0..0x40 => out.push(d),
        0x40..0x4000 => out.extend_from_slice(&[0x80 | c, d]),
        0x4000..0x40_0000 => out.extend_from_slice(&[0x40 | b, c, d]),
        _ => out.extend_from_slice(&[0xC0 | a, b, c, d]),
    }
}

/// Bytes behind a `u15_rb` length.
pub(crate) fn push_bytes15(out: &mut Vec<u8>, bytes: &[u8]) {
    push_u15(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Bytes behind a `u16_ob` length.
pub(crate) fn push_bytes16(out: &mut Vec<u8>, bytes: &[u8]) {
    push_u16_ob(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Makes `new` bytes of `old` ones at `at`, moving what is behind. What the new
/// bytes are is left to the caller.
pub(crate) fn resize_within(buffer: &mut Vec<u8>, at: usize, old: usize, new: usize) {
    let end = buffer.len();
    if new > old {
        buffer.resize(end + new - old, 0);
        buffer.copy_within(at + old..end, at + new);
    } else if new < old {
        buffer.copy_within(at + old.., at + new);
        buffer.truncate(end - (old - new));
    }
}

/// A `u16` count at `at`; 0 where the buffer has no such place.
pub(crate) fn count_at(buffer: &[u8], at: usize) -> u16 {
    match buffer.get(at..at + 2) {
        Some(bytes) => u16::from_be_bytes([bytes[0], bytes[1]]),
        None => 0,
    }
}

/// Writes a `u16` count at `at`.
pub(crate) fn set_count(buffer: &mut [u8], at: usize, count: u16) {
    if let Some(place) = buffer.get_mut(at..at + 2) {
        place.copy_from_slice(&count.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_in_their_shortest_form() {
        let mut out = Vec::new();
        for value in [0, 0x7F, 0x80, 0x7FFF] {
            push_u15(&mut out, value);
        }
        assert_eq!(out, [0, 0x7F, 0x80, 0x80, 0xFF, 0xFF]);
        out.clear();
        for value in [0, 0xFD, 0xFE, 0xFFFF] {
            push_u16_ob(&mut out, value);
        }
        assert_eq!(out, [0, 0xFD, 0xFE, 0, 0xFE, 0xFE, 0xFF, 0xFF]);
        out.clear();
        for value in [0x3F, 0x40, 0x3FFF, 0x4000, 0x3F_FFFF, 0x40_0000, 0x3FFF_FFFF] {
            push_u30(&mut out, value);
        }
        let expected = [
            &[0x3F][..],
            &[0x80, 0x40],
            &[0xBF, 0xFF],
            &[0x40, 0x40, 0x00],
            &[0x7F, 0xFF, 0xFF],
            &[0xC0, 0x40, 0x00, 0x00],
            &[0xFF, 0xFF, 0xFF, 0xFF],
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn what_is_behind_a_changed_length_moves() {
        let mut buffer = vec![1, 2, 3, 4, 5];
        resize_within(&mut buffer, 1, 2, 4);
        assert_eq!((buffer.len(), &buffer[5..]), (7, &[4, 5][..]));
        resize_within(&mut buffer, 1, 4, 0);
        assert_eq!(buffer, [1, 4, 5]);
        resize_within(&mut buffer, 3, 0, 1);
        assert_eq!(buffer, [1, 4, 5, 0]);
    }
}
