//! Decompression of frame bodies.

use flate2::{Decompress, FlushDecompress};

use tapeline_rssl::Compression;

/// The longest body that is expanded, in bytes: a frame's content is bounded
/// by its 16-bit length before compression.
const MAX_BODY_BYTES: usize = 1 << 16;

/// One direction's decompressing state.
pub(super) struct Inflate {
    zlib: Option<Box<Decompress>>,
}

impl Inflate {
    pub(super) const fn new() -> Self {
        Self { zlib: None }
    }

    /// Expands one body. Without an agreed compression, as in a capture that
    /// begins in the middle, the body itself tells.
    pub(super) fn expand(
        &mut self,
        body: &[u8],
        agreed: Option<Compression>,
    ) -> Result<Vec<u8>, &'static str> {
        let looks_like_zlib = self.zlib.is_some() || body.first() == Some(&0x78);
        match agreed {
            Some(Compression::None) => Err("compressed frame, but no compression was agreed"),
            Some(Compression::Zlib) => self.inflate(body),
            None if looks_like_zlib => self.inflate(body),
            Some(Compression::Lz4) | None => expand_lz4(body),
        }
    }

    fn inflate(&mut self, body: &[u8]) -> Result<Vec<u8>, &'static str> {
        let stream = self.zlib.get_or_insert_with(|| Box::new(Decompress::new(true)));
        let mut out = vec![0; MAX_BODY_BYTES + 1];
        let (start_in, start_out) = (stream.total_in(), stream.total_out());
        loop {
            let taken = (stream.total_in() - start_in) as usize;
            let made = (stream.total_out() - start_out) as usize;
            let fault = "zlib cannot expand the body; the capture may begin after its stream";
            stream
                .decompress(&body[taken..], &mut out[made..], FlushDecompress::Sync)
                .map_err(|_| fault)?;
            let now_taken = (stream.total_in() - start_in) as usize;
            let now_made = (stream.total_out() - start_out) as usize;
            if now_made > MAX_BODY_BYTES {
                return Err("the compressed body expands to more than 65536 bytes");
            }
            if now_taken == body.len() || (now_taken, now_made) == (taken, made) {
                out.truncate(now_made);
                return Ok(out);
            }
        }
    }
}

fn expand_lz4(body: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut out = vec![0; MAX_BODY_BYTES];
    let fault = "LZ4 cannot expand the body";
    let len = lz4_flex::block::decompress_into(body, &mut out).map_err(|_| fault)?;
    out.truncate(len);
    Ok(out)
}
