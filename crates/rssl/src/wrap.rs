//! From a finished RIPC frame to wire bytes: what is put around it.

use crate::queue::Queue;
use crate::random::Random;
use crate::websocket::{BINARY, FrameHeader, apply_mask};

/// What lies around sent frames.
pub(crate) enum Wrap {
    Nothing,
    /// One WebSocket frame around each; a client's are masked.
    WebSocket {
        masks: Option<Random>,
    },
    /// One chunk around each, for the tunnel's downward direction. The
    /// vendor's server pads the sizes of all but handshake frames.
    Chunks {
        padded: bool,
    },
}

/// `4;;;` and a line end.
const CHUNK_PREFIX_BYTES: usize = 6;
const LINE_END: [u8; 2] = *b"\r\n";

impl Wrap {
    /// Room to leave before a frame.
    pub(crate) const fn prefix_bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::WebSocket { masks: None } => 4,
            Self::WebSocket { masks: Some(_) } => 8,
            Self::Chunks { .. } => CHUNK_PREFIX_BYTES,
        }
    }

    /// Room to have behind a frame.
    pub(crate) const fn suffix_bytes(&self) -> usize {
        match self {
            Self::Chunks { .. } => LINE_END.len(),
            _ => 0,
        }
    }

    /// Wraps the open frame of `queue`, which begins with the prefix room, and
    /// seals it.
    pub(crate) fn seal(&mut self, queue: &mut Queue) {
        let payload = queue.open_bytes() - self.prefix_bytes();
        match self {
            Self::Nothing => {}
            Self::WebSocket { masks } => {
                let mask = masks.as_mut().map(Random::next_bytes4);
                close_gap(queue, websocket_header(BINARY, mask, payload), payload);
                if let Some(mask) = mask {
                    let open = queue.open();
                    let start = open.len() - payload;
                    apply_mask(&mut open[start..], mask);
                }
            }
            Self::Chunks { padded } => {
                close_gap(queue, chunk_size(payload, *padded), payload);
                queue.extend(LINE_END.len()).copy_from_slice(&LINE_END);
            }
        }
        queue.seal();
    }
}

/// A header of up to 14 bytes.
type Header = ([u8; 14], usize);

pub(crate) fn websocket_header(opcode: u8, mask: Option<[u8; 4]>, payload: usize) -> Header {
    FrameHeader { fin: true, reserved: 0, opcode, mask, payload: payload as u64 }.encode()
}

fn chunk_size(payload: usize, padded: bool) -> Header {
    let mut out = [b';'; 14];
    let digits = [12, 8, 4, 0].map(|shift| (payload >> shift & 0xf) as u32);
    let first = digits.iter().position(|digit| *digit != 0).unwrap_or(3);
    let mut length = 0;
    for digit in &digits[first..] {
        out[length] = char::from_digit(*digit, 16).unwrap_or('0') as u8;
        length += 1;
    }
    if padded {
        length = 4;
    }
    out[length..length + 2].copy_from_slice(&LINE_END);
    (out, length + 2)
}

/// Puts `header` before the payload. A short frame's header is shorter than
/// the room left for it; its payload, then under 126 bytes in a WebSocket
/// frame, moves up.
fn close_gap(queue: &mut Queue, (header, length): Header, payload: usize) {
    let open = queue.open();
    let start = open.len() - payload;
    if start > length {
        open.copy_within(start.., length);
    }
    open[..length].copy_from_slice(&header[..length]);
    queue.truncate_open(length + payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(wrap: &mut Wrap, frame: &[u8]) -> Vec<u8> {
        let mut queue = Queue::new(0);
        queue.reserve(wrap.prefix_bytes() + frame.len() + wrap.suffix_bytes());
        queue.extend(wrap.prefix_bytes());
        queue.extend(frame.len()).copy_from_slice(frame);
        wrap.seal(&mut queue);
        queue.sealed().to_vec()
    }

    #[test]
    fn chunks_are_padded_with_semicolons() {
        let padded = &mut Wrap::Chunks { padded: true };
        assert_eq!(wrapped(padded, b"\x00\x04\x02T"), b"4;;;\r\n\x00\x04\x02T\r\n");
        assert!(wrapped(padded, &[7; 0x4ab]).starts_with(b"4ab;\r\n\x07"));
        assert!(wrapped(padded, &[7; 0x1803]).starts_with(b"1803\r\n\x07"));
        let bare = &mut Wrap::Chunks { padded: false };
        assert!(wrapped(bare, &[7; 0x44]).starts_with(b"44\r\n\x07"));
    }

    #[test]
    fn websocket_headers_are_as_short_as_can_be() {
        let server = &mut Wrap::WebSocket { masks: None };
        assert_eq!(wrapped(server, &[0, 3, 2]), [0x82, 3, 0, 3, 2]);
        assert_eq!(wrapped(server, &[7; 126])[..5], [0x82, 0x7e, 0, 126, 7]);
        let client = &mut Wrap::WebSocket { masks: Some(Random::new(1)) };
        for length in [3, 125, 126, 5000] {
            let frame: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let mut wire = wrapped(client, &frame);
            let (header, start) = FrameHeader::parse(&wire).unwrap();
            assert_eq!(header.payload, length);
            apply_mask(&mut wire[start..], header.mask.unwrap());
            assert_eq!(wire[start..], frame);
        }
    }
}
