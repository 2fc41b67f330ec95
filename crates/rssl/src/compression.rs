use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};

use crate::error::{CloseReason, ProtocolError};
use crate::{CompressionThresholds, Limit};

/// A compression type, the same in both directions of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Bodies go as they are.
    #[default]
    None,
    /// One zlib stream a direction, a sync flush after each body.
    Zlib,
    /// Each body an LZ4 block of its own.
    Lz4,
}

impl Compression {
    pub(crate) const fn code(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Zlib => 1,
            Self::Lz4 => 2,
        }
    }

    pub(crate) const fn from_code(code: u16) -> Option<Self> {
        match code {
            0 => Some(Self::None),
            1 => Some(Self::Zlib),
            2 => Some(Self::Lz4),
            _ => None,
        }
    }

    /// The type's bit in the bitmap of a connect request.
    pub(crate) const fn bit(self) -> u8 {
        self.code() as u8
    }
}

/// One direction's compressing state.
pub(crate) struct Compressor {
    engine: Deflater,
    threshold: usize,
    scratch: Vec<u8>,
}

enum Deflater {
    Zlib(Compress),
    Lz4(CompressTable),
}

impl Compressor {
    /// `None` when nothing is to be compressed.
    pub(crate) fn new(
        compression: Compression,
        level: u8,
        thresholds: CompressionThresholds,
    ) -> Option<Self> {
        let (engine, threshold) = match compression {
            Compression::None => return None,
            Compression::Zlib => {
                // The library's level 1 uses fixed codes, which grow noise by an
                // eighth, far beyond the worst case of the others.
                let level = if level == 1 { 2 } else { level.min(9) };
                let level = flate2::Compression::new(u32::from(level));
                (Deflater::Zlib(Compress::new(level, true)), thresholds.zlib_bytes)
            }
            Compression::Lz4 => (Deflater::Lz4(CompressTable::default()), thresholds.lz4_bytes),
        };
        Some(Self { engine, threshold: usize::from(threshold).max(1), scratch: Vec::new() })
    }

    pub(crate) const fn is_stream(&self) -> bool {
        matches!(self.engine, Deflater::Zlib(_))
    }

    pub(crate) const fn threshold(&self) -> usize {
        self.threshold
    }

    /// The most bytes that a body of `length` bytes may become. Beyond a
    /// frame's room the body must go plain or smaller: a split body breaks the
    /// vendor's receiver, and bytes fed to a zlib stream cannot be taken back.
    pub(crate) const fn worst_case(&self, length: usize) -> usize {
        match self.engine {
            Deflater::Zlib(_) => length + 5 * (1 + length / 16_383) + 12,
            Deflater::Lz4(_) => length + length / 255 + 16,
        }
    }

    /// The longest body that surely fits into `room` bytes, 0 if none does.
    pub(crate) const fn longest_body(&self, room: usize) -> usize {
        let mut length = room.saturating_sub(self.worst_case(room) - room);
        while self.worst_case(length + 1) <= room {
            length += 1;
        }
        if self.worst_case(length) <= room { length } else { 0 }
    }

    /// Compresses one body. `None` when it came out no shorter and may go
    /// plain (LZ4 only), or an error when a zlib body outgrew its worst case.
    pub(crate) fn compress(&mut self, body: &[u8]) -> Result<Option<&[u8]>, CloseReason> {
        let room = match self.engine {
            // A byte more, so that a full buffer shows that more would come.
            Deflater::Zlib(_) => self.worst_case(body.len()) + 1,
            // More than comes out: the block encoder insists on it.
            Deflater::Lz4(_) => get_maximum_output_size(body.len()),
        };
        if self.scratch.len() < room {
            self.scratch.resize(room, 0);
        }
        let out = &mut self.scratch[..room];
        let length = match &mut self.engine {
            Deflater::Zlib(stream) => deflate(stream, body, out).ok_or(CloseReason::Compressor)?,
            Deflater::Lz4(table) => match compress_into_with_table(body, out, table) {
                Ok(length) if length < body.len() => length,
                _ => return Ok(None),
            },
        };
        Ok(Some(&self.scratch[..length]))
    }
}

/// Feeds `body` to the stream with a sync flush; `None` when `out` is too
/// small for what comes.
fn deflate(stream: &mut Compress, body: &[u8], out: &mut [u8]) -> Option<usize> {
    let (start_in, start_out) = (stream.total_in(), stream.total_out());
    loop {
        let taken = (stream.total_in() - start_in) as usize;
        let made = (stream.total_out() - start_out) as usize;
        stream.compress(&body[taken..], &mut out[made..], FlushCompress::Sync).ok()?;
        let now_taken = (stream.total_in() - start_in) as usize;
        let now_made = (stream.total_out() - start_out) as usize;
        if now_taken == body.len() && now_made < out.len() {
            return Some(now_made);
        }
        if (now_taken, now_made) == (taken, made) || now_made == out.len() {
            return None;
        }
    }
}

/// One direction's decompressing state.
pub(crate) enum Decompressor {
    None,
    Zlib(Box<Decompress>),
    Lz4,
}

impl Decompressor {
    pub(crate) fn new(compression: Compression) -> Self {
        match compression {
            Compression::None => Self::None,
            Compression::Zlib => Self::Zlib(Box::new(Decompress::new(true))),
            Compression::Lz4 => Self::Lz4,
        }
    }

    /// Expands one body into the start of `out`, which is sized for the
    /// largest body allowed plus one byte, and returns the body's length.
    pub(crate) fn decompress(&mut self, body: &[u8], out: &mut [u8]) -> Result<usize, CloseReason> {
        let max = out.len() - 1;
        match self {
            Self::None => Err(ProtocolError::NotCompressed.into()),
            Self::Zlib(stream) => {
                let length = inflate(stream, body, out)?;
                if length > max {
                    return Err(CloseReason::limit(Limit::DecompressedBody, length, max));
                }
                Ok(length)
            }
            Self::Lz4 if body.is_empty() => Ok(0),
            Self::Lz4 => match decompress_into(body, &mut out[..max]) {
                Ok(length) => Ok(length),
                Err(lz4_flex::block::DecompressError::OutputTooSmall { expected, .. }) => {
                    Err(CloseReason::limit(Limit::DecompressedBody, expected, max))
                }
                Err(_) => Err(ProtocolError::Decompress("an LZ4 block").into()),
            },
        }
    }
}

/// Expands `body` until it is used up; stops early when `out` is full, which
/// the caller takes as too long.
fn inflate(stream: &mut Decompress, body: &[u8], out: &mut [u8]) -> Result<usize, ProtocolError> {
    const WRONG: ProtocolError = ProtocolError::Decompress("a zlib stream");
    let (start_in, start_out) = (stream.total_in(), stream.total_out());
    loop {
        let taken = (stream.total_in() - start_in) as usize;
        let made = (stream.total_out() - start_out) as usize;
        let status = stream
            .decompress(&body[taken..], &mut out[made..], FlushDecompress::Sync)
            .map_err(|_| WRONG)?;
        let now_taken = (stream.total_in() - start_in) as usize;
        let now_made = (stream.total_out() - start_out) as usize;
        if now_made == out.len() || (now_taken == body.len() && status != Status::StreamEnd) {
            return Ok(now_made);
        }
        if status == Status::StreamEnd || (now_taken, now_made) == (taken, made) {
            return Err(WRONG);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn noise(length: usize, seed: u64) -> Vec<u8> {
        let mut random = Random::new(seed);
        (0..length).map(|_| random.next_u64() as u8).collect()
    }

    fn compressor(compression: Compression, level: u8) -> Compressor {
        Compressor::new(compression, level, CompressionThresholds::default()).unwrap()
    }

    #[test]
    fn longest_body_is_the_largest_that_fits() {
        for compression in [Compression::Zlib, Compression::Lz4] {
            let compressor = compressor(compression, 6);
            for room in (0..200).chain([6144, 16_400, 33_000, 65_532]) {
                let longest = compressor.longest_body(room);
                assert!(longest == 0 || compressor.worst_case(longest) <= room);
                assert!(compressor.worst_case(longest + 1) > room, "{compression:?} {room}");
            }
        }
    }

    #[test]
    fn noise_of_any_length_and_level_stays_within_the_worst_case() {
        for level in 0..=9 {
            let mut zlib = compressor(Compression::Zlib, level);
            let mut inflater = Decompressor::new(Compression::Zlib);
            let mut out = vec![0; 65_533];
            let lengths = [1, 2, 30, 500, 6000, 16_383, 16_384, 40_000, 65_500, 30, 9_999];
            for (seed, length) in lengths.into_iter().chain((6100..6144).step_by(5)).enumerate() {
                let body = noise(length, seed as u64);
                let packed = zlib
                    .compress(&body)
                    .unwrap_or_else(|e| panic!("{level} {length} {e}"))
                    .unwrap();
                assert!(packed.ends_with(&[0, 0, 0xff, 0xff]));
                let expanded = inflater.decompress(packed, &mut out).unwrap();
                assert_eq!(&out[..expanded], &body);
            }
        }
        assert!(compressor(Compression::Lz4, 0).compress(&noise(6000, 1)).unwrap().is_none());
    }

    #[test]
    fn too_long_a_body_is_a_limit() {
        let body = vec![7; 1001];
        for compression in [Compression::Zlib, Compression::Lz4] {
            let mut compressor = compressor(compression, 6);
            let packed = compressor.compress(&body).unwrap().unwrap();
            let mut exact = vec![0; 1002];
            assert_eq!(Decompressor::new(compression).decompress(packed, &mut exact), Ok(1001));
            let mut small = vec![0; 1001];
            let error = Decompressor::new(compression).decompress(packed, &mut small);
            assert!(
                matches!(error, Err(CloseReason::Limit { limit: Limit::DecompressedBody, .. })),
                "{compression:?}: {error:?}"
            );
        }
    }

    #[test]
    fn garbage_is_an_error() {
        let mut out = vec![0; 101];
        for compression in [Compression::Zlib, Compression::Lz4] {
            let result = Decompressor::new(compression).decompress(&[0xf5; 40], &mut out);
            assert!(result.is_err(), "{compression:?}");
        }
        assert_eq!(
            Decompressor::new(Compression::None).decompress(&[1], &mut out),
            Err(ProtocolError::NotCompressed.into())
        );
    }
}
