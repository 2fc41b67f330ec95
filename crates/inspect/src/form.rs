//! What a file holds, told from its bytes; and hexadecimal text.

use thiserror::Error;

use tapeline_rwf::{DataType, MsgHeader};

use crate::capture::{is_capture, is_frame_stream};

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
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        if is_capture(bytes) {
            Self::Capture
        } else if is_frame_stream(bytes) {
            Self::Frames
        } else if !bytes.is_empty() && bytes.iter().all(is_text) {
            Self::Hex
        } else {
            Self::Message
        }
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
/// within one.
///
/// Each line is a piece if each has whole bytes and, of messages, all that
/// belongs to a message's header; otherwise all lines together are one piece.
pub fn read_hex(text: &str, data_type: DataType) -> Result<Vec<Vec<u8>>, HexError> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut all: Vec<u8> = Vec::new();
    let mut last_line = 1;
    for (index, line) in text.lines().enumerate() {
        let mut digits = Vec::new();
        for (column, c) in line.chars().enumerate() {
            if c.is_ascii_whitespace() {
                continue;
            }
            let wrong = HexError::Digit { line: index + 1, column: column + 1, found: c };
            digits.push(c.to_digit(16).ok_or(wrong)? as u8);
        }
        if !digits.is_empty() {
            last_line = index + 1;
            all.extend_from_slice(&digits);
            lines.push(digits);
        }
    }
    let stands_alone = |digits: &Vec<u8>| {
        let bytes = joined(digits);
        digits.len().is_multiple_of(2)
            && (data_type != DataType::MSG || MsgHeader::decode(&bytes).is_ok())
    };
    if lines.len() > 1 && lines.iter().all(stands_alone) {
        return Ok(lines.iter().map(|digits| joined(digits)).collect());
    }
    if !all.len().is_multiple_of(2) {
        return Err(HexError::Odd { line: last_line });
    }
    Ok(vec![joined(&all)])
}

fn joined(digits: &[u8]) -> Vec<u8> {
    digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPDATE: &str = "0009040600000005 000408 00";

    #[test]
    fn a_line_is_a_message_if_every_line_is_one() {
        let two = format!("{UPDATE}\n\n{UPDATE}\n");
        let read = read_hex(&two, DataType::MSG).expect("hexadecimal");
        assert_eq!(read.len(), 2);
        assert_eq!(read[0], read[1]);
        let blob = UPDATE.replace(' ', "\n");
        assert_eq!(read_hex(&blob, DataType::MSG), Ok(vec![read[0].clone()]));
        let reals = "0c11a0\n0C 11 A1";
        assert_eq!(
            read_hex(reals, DataType::REAL),
            Ok(vec![vec![0x0C, 0x11, 0xA0], vec![0x0C, 0x11, 0xA1]])
        );
    }

    #[test]
    fn what_is_no_hexadecimal_is_told_with_its_place() {
        assert_eq!(
            read_hex("00\n0x", DataType::MSG).unwrap_err().to_string(),
            "line 2, column 2: 'x' is no hexadecimal digit"
        );
        assert_eq!(
            read_hex("00\n0", DataType::MSG).unwrap_err().to_string(),
            "line 2: an odd number of hexadecimal digits, half a byte is missing"
        );
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
