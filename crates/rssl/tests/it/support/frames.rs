//! A second reading of the wire, written apart from the crate's: it takes a
//! whole recorded direction and checks every size on the way.

use std::collections::BTreeMap;

use flate2::{Decompress, FlushDecompress};

/// What is around the frames of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    Nothing,
    WebSocket,
    Chunks,
}

/// The end of an HTTP head at the start of `wire`.
pub(crate) fn after_head(wire: &[u8]) -> usize {
    wire.windows(4).position(|w| w == b"\r\n\r\n").expect("an HTTP head") + 4
}

/// Opcode and payload of a WebSocket control frame.
pub(crate) type Control = (u8, Vec<u8>);

/// All whole RIPC frames of a direction, and WebSocket control frames apart.
pub(crate) fn unwrap(around: Around, wire: &[u8]) -> (Vec<Vec<u8>>, Vec<Control>) {
    let (mut frames, mut controls) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < wire.len() {
        let rest = &wire[at..];
        let (frame, used) = match around {
            Around::Nothing => {
                let length = u16::from_be_bytes([rest[0], rest[1]]) as usize;
                (rest[..length].to_vec(), length)
            }
            Around::Chunks => {
                let line = rest.windows(2).position(|w| w == b"\r\n").expect("a size line");
                let text = std::str::from_utf8(&rest[..line]).unwrap();
                let size = usize::from_str_radix(text.trim_end_matches(';'), 16).unwrap();
                assert_eq!(&rest[line + 2 + size..line + 4 + size], b"\r\n");
                (rest[line + 2..line + 2 + size].to_vec(), line + 4 + size)
            }
            Around::WebSocket => {
                let (opcode, payload, used) = websocket(rest);
                if opcode != 2 {
                    controls.push((opcode, payload));
                    at += used;
                    continue;
                }
                (payload, used)
            }
        };
        assert_eq!(u16::from_be_bytes([frame[0], frame[1]]) as usize, frame.len());
        frames.push(frame);
        at += used;
    }
    (frames, controls)
}

fn websocket(rest: &[u8]) -> (u8, Vec<u8>, usize) {
    assert_eq!(rest[0] & 0xf0, 0x80, "FIN and no reserved bit");
    let (length, mut at) = match rest[1] & 0x7f {
        126 => {
            let length = u16::from_be_bytes([rest[2], rest[3]]) as usize;
            assert!(length >= 126, "the shortest form is used");
            (length, 4)
        }
        127 => panic!("no RSSL frame is that long"),
        short => (short as usize, 2),
    };
    let mut mask = [0; 4];
    if rest[1] & 0x80 != 0 {
        mask.copy_from_slice(&rest[at..at + 4]);
        at += 4;
    }
    let payload = rest[at..at + length].iter().enumerate().map(|(i, b)| b ^ mask[i % 4]).collect();
    (rest[0] & 0x0f, payload, at + length)
}

/// What the size table allows, and how bodies are compressed.
pub(crate) struct Reading {
    /// M of the ack.
    pub(crate) m: usize,
    /// The tunnel's downward direction has 8 bytes less.
    pub(crate) tunnel_down: bool,
    pub(crate) one_byte_ids: bool,
    /// 0 none, 1 zlib, 2 LZ4.
    pub(crate) compression: u16,
}

/// What was read.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) messages: Vec<Vec<u8>>,
    pub(crate) pings: usize,
    pub(crate) compressed_frames: usize,
    pub(crate) plain_frames: usize,
    pub(crate) fragments: usize,
    pub(crate) packed_frames: usize,
}

impl Reading {
    /// Reads data frames to messages, in the order of their completion.
    pub(crate) fn read(&self, frames: &[Vec<u8>]) -> Told {
        let mut told = Told::default();
        let mut inflater = Decompress::new(true);
        let mut partial: BTreeMap<u16, (usize, Vec<u8>)> = BTreeMap::new();
        let frame_limit = if self.tunnel_down { self.m - 5 } else { self.m + 3 };
        let id_bytes = if self.one_byte_ids { 1 } else { 2 };
        for frame in frames {
            assert!(frame.len() <= frame_limit, "{} > {frame_limit}", frame.len());
            let flags = frame[2];
            if frame[..] == [0, 3, 2] {
                told.pings += 1;
                continue;
            }
            assert_eq!(flags & 0x08, 0, "split bodies are never sent");
            assert!((flags & 2 != 0) != (flags & 4 != 0), "DATA or COMPRESSED");
            let header = match (flags & 1, frame[3]) {
                (0, _) => 3,
                (_, 8) => 8 + id_bytes,
                (_, 4) => 4 + id_bytes,
                other => panic!("{other:?}"),
            };
            let body = if flags & 4 == 0 {
                told.plain_frames += 1;
                frame[header..].to_vec()
            } else {
                told.compressed_frames += 1;
                self.expand(&mut inflater, &frame[header..])
            };
            assert!(body.len() <= self.m && !body.is_empty());
            if flags & 1 != 0 {
                told.fragments += 1;
                let id = match id_bytes {
                    1 => u16::from(frame[header - 1]),
                    _ => u16::from_be_bytes([frame[header - 2], frame[header - 1]]),
                };
                assert_ne!(id, 0, "id 0 is skipped");
                if frame[3] == 8 {
                    let total = u32::from_be_bytes([frame[4], frame[5], frame[6], frame[7]]);
                    assert!(total as usize > frame_limit - 3, "would fit one frame");
                    let old = partial.insert(id, (total as usize, Vec::new()));
                    assert!(old.is_none(), "id {id} was in use");
                }
                let (total, bytes) = partial.get_mut(&id).expect("a known id");
                bytes.extend(body);
                if bytes.len() == *total {
                    told.messages.push(partial.remove(&id).unwrap().1);
                }
            } else if flags & 0x10 != 0 {
                told.packed_frames += 1;
                let mut rest = &body[..];
                while !rest.is_empty() {
                    let n = u16::from_be_bytes([rest[0], rest[1]]) as usize;
                    assert_ne!(n, 0);
                    told.messages.push(rest[2..2 + n].to_vec());
                    rest = &rest[2 + n..];
                }
            } else {
                told.messages.push(body);
            }
        }
        assert!(partial.is_empty(), "every message was completed");
        told
    }

    fn expand(&self, inflater: &mut Decompress, body: &[u8]) -> Vec<u8> {
        let mut out = vec![0; self.m];
        if self.compression == 2 {
            let n = lz4_flex::block::decompress_into(body, &mut out).unwrap();
            out.truncate(n);
        } else {
            assert_eq!(self.compression, 1);
            assert!(body.ends_with(&[0, 0, 0xff, 0xff]));
            let before = inflater.total_out();
            out.push(0);
            inflater.decompress(body, &mut out, FlushDecompress::Sync).unwrap();
            out.truncate((inflater.total_out() - before) as usize);
        }
        out
    }
}
