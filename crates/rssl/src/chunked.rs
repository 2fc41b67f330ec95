//! Chunk framing of the tunnel's downward direction.

use crate::Limit;
use crate::error::{CloseReason, ProtocolError};

/// Bounds for the chunk reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Bytes of a size line with its line end.
    pub line_bytes: usize,
}

/// Where a reader of chunks is.
#[derive(Default)]
enum Expect {
    #[default]
    SizeLine,
    Payload {
        left: usize,
    },
    PayloadEnd,
    Nothing,
}

/// Tells framing from payload in a chunked byte stream.
///
/// ```text
///  size in hex [;...] CR LF | payload | CR LF | ... | 0 CR LF
/// ```
///
/// A bare ping (00 03 02) between two chunks is payload: the vendor's server
/// writes its pings so.
#[derive(Default)]
pub struct Dechunker {
    expect: Expect,
}

/// Framing to skip, then payload to keep.
pub struct Step {
    /// Bytes of framing.
    pub skip: usize,
    /// Bytes of payload behind them.
    pub payload: usize,
}

const LINE_END: &[u8] = b"\r\n";

/// The vendor's tunnel server writes its pings between chunks, without
/// framing. No size line begins with a zero byte, so they can be told apart.
const BARE_PING: &[u8] = &[0, 3, 2];

/// A chunk holds a frame or so; a larger size is no size.
const SIZE_DIGITS: usize = 7;

impl Dechunker {
    /// Whether the last chunk has come; what follows it is all framing.
    pub fn is_ended(&self) -> bool {
        matches!(self.expect, Expect::Nothing)
    }

    /// The next step through `raw`, `None` while bytes are missing for one.
    pub fn step(&mut self, raw: &[u8], limits: ChunkLimits) -> Result<Option<Step>, CloseReason> {
        match self.expect {
            Expect::Nothing => Ok(Some(Step { skip: raw.len(), payload: 0 })),
            Expect::Payload { left } => {
                let payload = left.min(raw.len());
                self.expect = if payload == left {
                    Expect::PayloadEnd
                } else {
                    Expect::Payload { left: left - payload }
                };
                Ok(Some(Step { skip: 0, payload }))
            }
            Expect::PayloadEnd => match raw.get(..2) {
                Some(LINE_END) => {
                    self.expect = Expect::SizeLine;
                    Ok(Some(Step { skip: 2, payload: 0 }))
                }
                Some(_) => Err(ProtocolError::Tunnel("a chunk does not end in CR LF").into()),
                None => Ok(None),
            },
            Expect::SizeLine if raw.first() == Some(&0) => Self::bare_ping(raw),
            Expect::SizeLine => self.size_line(raw, limits),
        }
    }

    fn bare_ping(raw: &[u8]) -> Result<Option<Step>, CloseReason> {
        let known = raw.len().min(BARE_PING.len());
        if raw[..known] != BARE_PING[..known] {
            return Err(ProtocolError::Tunnel("a chunk has no size").into());
        }
        Ok((known == BARE_PING.len()).then_some(Step { skip: 0, payload: known }))
    }

    fn size_line(&mut self, raw: &[u8], limits: ChunkLimits) -> Result<Option<Step>, CloseReason> {
        let looked_at = &raw[..raw.len().min(limits.line_bytes)];
        let Some(end) = looked_at.windows(2).position(|pair| pair == LINE_END) else {
            if raw.len() > limits.line_bytes {
                let (value, max) = (limits.line_bytes + 1, limits.line_bytes);
                return Err(CloseReason::limit(Limit::ChunkLine, value, max));
            }
            return Ok(None);
        };
        let size = parse_size(&raw[..end])?;
        self.expect = if size == 0 { Expect::Nothing } else { Expect::Payload { left: size } };
        Ok(Some(Step { skip: end + 2, payload: 0 }))
    }
}

/// Hexadecimal digits up to a `;`, which the vendor also uses as padding.
fn parse_size(line: &[u8]) -> Result<usize, ProtocolError> {
    const WRONG: ProtocolError = ProtocolError::Tunnel("a chunk size is no hexadecimal number");
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if digits.is_empty() || digits.len() > SIZE_DIGITS {
        return Err(WRONG);
    }
    digits.iter().try_fold(0, |size, digit| {
        let value = char::from(*digit).to_digit(16).ok_or(WRONG)?;
        Ok(size * 16 + value as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ChunkLimits = ChunkLimits { line_bytes: 16 };

    #[test]
    fn sizes_are_cut_at_the_semicolon() {
        assert_eq!(parse_size(b"4;;;"), Ok(4));
        assert_eq!(parse_size(b"4Ab;"), Ok(0x4ab));
        assert_eq!(parse_size(b"7"), Ok(7));
        assert_eq!(parse_size(b"0"), Ok(0));
        assert!(parse_size(b";4").is_err());
        assert!(parse_size(b"-4").is_err());
        assert!(parse_size(b"12345678").is_err());
    }

    #[test]
    fn a_bare_ping_between_chunks_is_payload() {
        let mut dechunker = Dechunker::default();
        assert!(dechunker.step(&[0, 3], LIMITS).unwrap().is_none());
        let step = dechunker.step(&[0, 3, 2, b'4'], LIMITS).unwrap().unwrap();
        assert_eq!((step.skip, step.payload), (0, 3));
        assert!(dechunker.step(&[0, 4], LIMITS).is_err());
    }

    #[test]
    fn an_endless_size_line_is_a_limit() {
        let mut dechunker = Dechunker::default();
        assert!(dechunker.step(&[b'1'; 16], LIMITS).unwrap().is_none());
        let error = dechunker.step(&[b'1'; 17], LIMITS).err().unwrap();
        assert!(matches!(error, CloseReason::Limit { limit: Limit::ChunkLine, .. }));
    }
}
