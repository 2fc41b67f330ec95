//! What a file holds, told from its bytes; and hexadecimal text.

use thiserror::Error;

use tapeline_rwf::{DataType, Encoded, SetDefs, check};

use crate::capture::{is_capture, is_frame_stream};
use crate::surplus::surplus;

/// What some editors begin a text with.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A pcap or pcapng file.
    Capture,
    /// Hexadecimal text.
    Hex,
    /// RSSL frames, one behind the other, as one side sends them.
    Frames,
    /// One message or container.
    Message,
}

impl Form {
    /// The form of a file that begins, or consists of, these bytes.
    ///
    /// Plain text is taken for hexadecimal, so that a character that is none
    /// can be named; no message begins with two printable characters.
    ///
    /// A file of one side's frames is taken as such only if its frames end
    /// exactly where the file ends; a message cannot do that, since its first
    /// two bytes count only its header.
    pub fn detect(bytes: &[u8]) -> Self {
        if is_capture(bytes) {
            Self::Capture
        } else if is_frame_stream(bytes) {
            Self::Frames
        } else {
            Self::detect_data(bytes)
        }
    }

    /// The form of a file that is known to hold data, and no frames or packets:
    /// [`Hex`](Self::Hex) or [`Message`](Self::Message).
    pub fn detect_data(bytes: &[u8]) -> Self {
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        let mut mark = [0; 3];
        let mark = BYTE_ORDER_MARK.encode_utf8(&mut mark).as_bytes();
        let text = bytes.strip_prefix(mark).unwrap_or(bytes);
        if !bytes.is_empty() && text.iter().all(is_text) { Self::Hex } else { Self::Message }
    }
}

/// Text that is not hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HexError {
    /// A character that is no digit and no blank.
    #[error("line {line}, column {column}: {found:?} is no hexadecimal digit")]
    Digit {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The character.
        found: char,
    },
    /// Half a byte is left over.
    #[error("line {line}: an odd number of hexadecimal digits, half a byte is missing")]
    Odd {
        /// Line, from 1; the last one if all lines are one text.
        line: usize,
    },
}

/// The pieces of data in hexadecimal text; blanks and line ends mean nothing
/// within one. Text without any digit has no pieces.
///
/// A line that decodes alone, to its last byte, makes each line a piece, and
/// one that is no hexadecimal costs itself only. All lines together are one
/// piece if they decode together and are not several that decode alone, or if
/// nothing decodes.
pub fn read_hex(text: &str, data_type: DataType) -> Vec<Result<Vec<u8>, HexError>> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let lines: Vec<Line> = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(number, line)| Line { number, digits: digits(number, line) })
        .collect();
    if lines.len() < 2 {
        return lines.into_iter().map(Line::into_bytes).collect();
    }
    let all = together(&lines);
    let is_whole = |bytes: &[u8]| {
        let data = Encoded::new(data_type, bytes);
        check(&data, |_| DataType::UNKNOWN).is_ok() && surplus(&data, &SetDefs::NONE).is_none()
    };
    let mut alone = lines.iter().map(|line| line.bytes().is_ok_and(|bytes| is_whole(&bytes)));
    let is_first_alone = alone.next().unwrap_or(false);
    let is_several = if all.as_ref().is_ok_and(|bytes| is_whole(bytes)) {
        is_first_alone && alone.any(|is_alone| is_alone)
    } else {
        is_first_alone || alone.any(|is_alone| is_alone)
    };
    if is_several { lines.into_iter().map(Line::into_bytes).collect() } else { vec![all] }
}

/// A line of hexadecimal text that is not blank.
struct Line {
    number: usize,
    digits: Result<Vec<u8>, HexError>,
}

impl Line {
    fn bytes(&self) -> Result<Vec<u8>, HexError> {
        let digits = self.digits.as_ref().map_err(|error| *error)?;
        if digits.len().is_multiple_of(2) {
            Ok(joined(digits))
        } else {
            Err(HexError::Odd { line: self.number })
        }
    }

    fn into_bytes(self) -> Result<Vec<u8>, HexError> {
        self.bytes()
    }
}

/// The digits of a line.
fn digits(number: usize, line: &str) -> Result<Vec<u8>, HexError> {
    let digit = |(column, c): (usize, char)| {
        let wrong = HexError::Digit { line: number, column: column + 1, found: c };
        c.to_digit(16).map(|digit| digit as u8).ok_or(wrong)
    };
    line.chars().enumerate().filter(|(_, c)| !c.is_ascii_whitespace()).map(digit).collect()
}

/// All lines as one piece.
fn together(lines: &[Line]) -> Result<Vec<u8>, HexError> {
    let mut all = Vec::new();
    for line in lines {
        all.extend_from_slice(line.digits.as_ref().map_err(|error| *error)?);
    }
    match lines.last() {
        Some(last) if !all.len().is_multiple_of(2) => Err(HexError::Odd { line: last.number }),
        _ => Ok(joined(&all)),
    }
}

fn joined(digits: &[u8]) -> Vec<u8> {
    digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPDATE: &str = "0009040600000005 000408 00";

    fn read(text: &str, data_type: DataType) -> Vec<Result<Vec<u8>, String>> {
        let told = |piece: Result<_, HexError>| piece.map_err(|error| error.to_string());
        read_hex(text, data_type).into_iter().map(told).collect()
    }

    #[test]
    fn a_line_that_is_a_message_makes_every_line_one() {
        let two = read(&format!("{UPDATE}\n\n{UPDATE}\n"), DataType::MSG);
        assert_eq!(two.len(), 2);
        assert_eq!(two[0], two[1]);
        let blob = UPDATE.replace(' ', "\n");
        assert_eq!(read(&blob, DataType::MSG), [two[0].clone()]);
        let reals = "0c11a0\n0C 11 A1";
        assert_eq!(
            read(reals, DataType::REAL),
            [Ok(vec![0x0C, 0x11, 0xA0]), Ok(vec![0x0C, 0x11, 0xA1])]
        );
    }

    #[test]
    fn a_bad_line_costs_itself_only() {
        let good = read(UPDATE, DataType::MSG);
        for (bad, want) in [
            ("0009", Ok(vec![0, 9])),
            ("000", Err("line 2: an odd number of hexadecimal digits, half a byte is missing")),
            ("0x", Err("line 2, column 2: 'x' is no hexadecimal digit")),
        ] {
            let want = [good[0].clone(), want.map_err(str::to_owned), good[0].clone()];
            assert_eq!(read(&format!("{UPDATE}\n{bad}\n{UPDATE}"), DataType::MSG), want, "{bad}");
        }
        let first = read(&format!("0009\n{UPDATE}"), DataType::MSG);
        assert_eq!(first, [Ok(vec![0, 9]), good[0].clone()]);
    }

    #[test]
    fn a_payload_over_several_lines_belongs_to_its_message() {
        // A message with an opaque payload decodes wherever it is cut.
        let text = "0009040600000005000200\n0102\n0304";
        assert_eq!(read(text, DataType::MSG).len(), 1);
        let cut = "0009040600000005000408\n0800010016030c\n11a0";
        assert_eq!(read(cut, DataType::MSG).len(), 1);
    }

    #[test]
    fn text_may_begin_with_a_byte_order_mark_and_hold_nothing() {
        let marked = format!("\u{FEFF}{UPDATE}");
        assert_eq!(read(&marked, DataType::MSG), read(UPDATE, DataType::MSG));
        assert_eq!(Form::detect(marked.as_bytes()), Form::Hex);
        assert_eq!(read("\u{FEFF} \n\t\r\n", DataType::MSG), []);
    }

    #[test]
    fn what_is_no_hexadecimal_is_told_with_its_place() {
        let digit = "line 2, column 2: 'x' is no hexadecimal digit";
        assert_eq!(read("00\n0x", DataType::MSG), [Err(digit.to_owned())]);
        let odd = "line 2: an odd number of hexadecimal digits, half a byte is missing";
        assert_eq!(read("00\n0", DataType::MSG), [Err(odd.to_owned())]);
    }

    #[test]
    fn forms_are_told_apart() {
        let update = [0, 9, 4, 6, 0, 0, 0, 5, 0, 4, 8];
        assert_eq!(Form::detect(&update), Form::Message);
        assert_eq!(Form::detect(UPDATE.as_bytes()), Form::Hex);
        let mut frame = vec![0, 14, 2];
        frame.extend(update);
        assert_eq!(Form::detect(&frame), Form::Frames);
        assert_eq!(Form::detect(&frame[..13]), Form::Message);
        assert_eq!(Form::detect(&[0, 3, 2, 0, 3, 2]), Form::Frames);
        assert_eq!(Form::detect(&[0xD4, 0xC3, 0xB2, 0xA1, 0, 0]), Form::Capture);
        assert_eq!(Form::detect(b"GET / HTTP/1.1"), Form::Frames);
        assert_eq!(Form::detect(b"0x00 0x09"), Form::Hex);
        assert_eq!(Form::detect(&[]), Form::Message);
    }
}
