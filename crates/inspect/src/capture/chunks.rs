//! The chunk framing of the HTTP tunnel, from the server.

/// Cuts payload out of a chunked stream.
#[derive(Default)]
pub(super) struct Chunks {
    /// Payload bytes left in the chunk, and its line end.
    left: usize,
    /// Bytes left of a ping that stands between chunks.
    ping_left: usize,
}

/// The longest size line that is looked for, in bytes.
const MAX_LINE_BYTES: usize = 64;

const LINE_END: &[u8] = b"\r\n";

impl Chunks {
    /// Moves payload from `raw` to `out` as far as it goes.
    pub(super) fn cut(&mut self, raw: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let mut at = 0;
        while at < raw.len() {
            let rest = &raw[at..];
            if self.left > 0 {
                let payload = self.left.saturating_sub(LINE_END.len()).min(rest.len());
                out.extend_from_slice(&rest[..payload]);
                let taken = self.left.min(rest.len());
                self.left -= taken;
                at += taken;
            } else if self.ping_left > 0 {
                let taken = self.ping_left.min(rest.len());
                out.extend_from_slice(&rest[..taken]);
                self.ping_left -= taken;
                at += taken;
            } else if rest[0] == 0 {
                // The vendor's server writes pings bare between the chunks; no
                // size line begins with a zero byte.
                self.ping_left = 3;
            } else {
                let line = &rest[..rest.len().min(MAX_LINE_BYTES)];
                let Some(end) = line.windows(2).position(|pair| pair == LINE_END) else {
                    if rest.len() >= MAX_LINE_BYTES {
                        return Err("the chunk size line does not end");
                    }
                    break;
                };
                let digits = line[..end].split(|byte| *byte == b';').next().unwrap_or_default();
                let size = str::from_utf8(digits).ok().map(str::trim);
                let size = size.and_then(|digits| usize::from_str_radix(digits, 16).ok());
                let size = size.ok_or("the chunk size is no hexadecimal number")?;
                self.left = size.saturating_add(LINE_END.len());
                at += end + LINE_END.len();
            }
        }
        raw.drain(..at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_comes_out_whatever_the_cuts() {
        let stream = b"4;;;\r\nabcd\r\n\x00\x03\x0210\r\n0123456789abcdef\r\n0\r\n\r\n";
        for size in 1..stream.len() {
            let (mut chunks, mut raw, mut out) = (Chunks::default(), Vec::new(), Vec::new());
            for piece in stream.chunks(size) {
                raw.extend_from_slice(piece);
                chunks.cut(&mut raw, &mut out).expect("well-formed");
            }
            assert_eq!(out, b"abcd\x00\x03\x020123456789abcdef", "{size}");
        }
        let mut raw = b"xyz\r\n".to_vec();
        assert!(Chunks::default().cut(&mut raw, &mut Vec::new()).is_err());
    }
}
