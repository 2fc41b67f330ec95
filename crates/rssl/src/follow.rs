//! Frames, for who follows a connection without being an end of it: a reader
//! of captures, a proxy that looks on.
//!
//! A [`Connection`](crate::Connection) is made of the same pieces. A follower
//! finds the frames itself, out of WebSocket frames
//! ([`websocket`](crate::websocket)) or chunks ([`Dechunker`]) if need be,
//! tells what each is, and gives those of each direction to a
//! [`FrameReceiver`] of its own:
//!
//! ```
//! use tapeline_rssl::follow::{Body, FrameHeader, FrameReceiver, frame_length};
//! use tapeline_rssl::{Compression, Limits, Version};
//!
//! let bytes = [0, 9, 0x12, 0, 1, b'a', 0, 1, b'b'];
//! assert_eq!(frame_length(&bytes), Ok(Some(9)));
//! assert_eq!(FrameHeader::parse(&bytes, Version::V14)?.body, Body::Packed);
//!
//! let mut receiver = FrameReceiver::new(Version::V14, Compression::None, &Limits::default());
//! let mut messages = Vec::new();
//! receiver.frame(&bytes, |message| messages.push(message.to_vec()))?;
//! assert_eq!(messages, [b"a", b"b"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::error::{CloseReason, ProtocolError};
use crate::handshake::{
    CLIENT_KEY, CONNECT_ACK, CONNECT_NAK, EXTENDED, FORCED, parse_client_key, parse_nak,
};
use crate::input::Input;
use crate::limits::MAX_FRAGMENT_BYTES;
use crate::receiver::{Received, Receiver};
use crate::unwrap::Unwrap;
use crate::{Compression, Limits, Version};

pub use crate::chunked::{ChunkLimits, Dechunker, Step};
pub use crate::frame::{Body, FrameHeader, frame_length};
pub use crate::handshake::{ConnectAck, ConnectRequest, KeyBlock};

/// A frame of the handshake, told without the frames before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Opens an HTTP tunnel (13 bytes, flags 0x80), or acknowledges that (7
    /// bytes, flags 0).
    Tunnel,
    /// A client's first frame, flags 0.
    Request(ConnectRequest),
    /// A server's agreement, flags 0x01 or 0x81, extended flags 0x01.
    Ack(ConnectAck),
    /// A server's refusal in its words, extended flags 0x02.
    Nak(String),
    /// The client's half of the key exchange, flags 0x08; `None` from a client
    /// that does not know the encryption type.
    ClientKey(Option<u64>),
}

impl Handshake {
    /// Reads a whole frame that may belong to the handshake; `None` when its
    /// flags say that it does not.
    pub fn parse(frame: &[u8]) -> Result<Option<Self>, ProtocolError> {
        let Some(&flags) = frame.get(2) else { return Ok(None) };
        let extended = frame.get(3).copied().unwrap_or(0);
        Ok(Some(match (flags, extended) {
            (0, _) if frame.len() == TUNNEL_ACK_BYTES => Self::Tunnel,
            (TUNNEL_OPEN, _) if frame.len() == TUNNEL_OPEN_BYTES => Self::Tunnel,
            (0, _) => Self::Request(ConnectRequest::parse(frame)?),
            (CLIENT_KEY, _) => Self::ClientKey(parse_client_key(frame)?),
            _ if flags & !FORCED != EXTENDED => return Ok(None),
            (_, CONNECT_ACK) => Self::Ack(ConnectAck::parse_alone(frame)?),
            (_, CONNECT_NAK) => Self::Nak(parse_nak(frame)?),
            _ => return Ok(None),
        }))
    }
}

const TUNNEL_OPEN: u8 = 0x80;
const TUNNEL_OPEN_BYTES: usize = 13;
const TUNNEL_ACK_BYTES: usize = 7;

/// From the frames of one direction to its messages: the receiving half of a
/// connection, with split bodies, decompression, reassembly and unpacking.
///
/// Frames and bodies may have any length that the protocol can say, whatever
/// the ends agreed on.
pub struct FrameReceiver {
    /// Holds one frame at a time, and grows with the longest.
    input: Input,
    receiver: Receiver,
}

impl FrameReceiver {
    /// A direction of which no data frame has been seen.
    pub fn new(version: Version, compression: Compression, limits: &Limits) -> Self {
        let unwrap = Unwrap::Nothing(ChunkLimits { line_bytes: limits.chunk_line_bytes });
        let receiver = Receiver::new(unwrap, version, MAX_FRAGMENT_BYTES, compression, limits);
        Self { input: Input::new(0), receiver }
    }

    /// Compressed bodies are of this type from here on: for a follower that
    /// learns it late. A zlib stream begins anew.
    pub fn expect(&mut self, compression: Compression) {
        self.receiver.expect(compression);
    }

    /// Whether the first fragment of a message with this id has come, and not
    /// yet the last. A later fragment of another id is dropped.
    pub fn is_reassembling(&self, id: u16) -> bool {
        self.receiver.is_reassembling(id)
    }

    /// Takes one whole data frame; gives the messages that it completes.
    ///
    /// A connection ends with the first error. Here the next frame can be
    /// given; without the body of this one a zlib stream will not go on,
    /// however.
    pub fn frame(
        &mut self,
        frame: &[u8],
        mut on_message: impl FnMut(&[u8]),
    ) -> Result<(), CloseReason> {
        self.input.grow(frame.len());
        self.input.spare()[..frame.len()].copy_from_slice(frame);
        self.input.filled(frame.len());
        let result = loop {
            match self.receiver.next(&mut self.input) {
                Ok(Some(Received::Message(place))) => {
                    on_message(self.receiver.message(&self.input, place));
                }
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(reason) => break Err(reason),
            }
        };
        self.input.take(self.input.ready().len());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> FrameReceiver {
        FrameReceiver::new(Version::V14, Compression::None, &Limits::default())
    }

    fn messages(receiver: &mut FrameReceiver, frame: &[u8]) -> Result<Vec<Vec<u8>>, CloseReason> {
        let mut messages = Vec::new();
        receiver.frame(frame, |message| messages.push(message.to_vec())).map(|()| messages)
    }

    #[test]
    fn a_bad_frame_loses_nothing_but_itself() {
        let mut all = receiver();
        let first = [0, 12, 3, 8, 0, 0, 0, 4, 0, 1, b'a', b'b'];
        assert_eq!(messages(&mut all, &first), Ok(vec![]));
        assert!(all.is_reassembling(1) && !all.is_reassembling(2));
        assert!(messages(&mut all, &[0, 7, 0x12, 0, 9, b'a', b'b']).is_err());
        assert!(messages(&mut all, &[0, 4, 0x40, 1]).is_err());
        assert!(messages(&mut all, &[0, 4, 4, 1]).is_err());
        let next = [0, 8, 3, 4, 0, 1, b'c', b'd'];
        assert_eq!(messages(&mut all, &next), Ok(vec![b"abcd".to_vec()]));
        assert!(!all.is_reassembling(1));
        assert_eq!(messages(&mut all, &next), Ok(vec![]));
    }

    #[test]
    fn what_is_no_whole_frame_is_dropped() {
        let mut all = receiver();
        assert_eq!(messages(&mut all, &[0, 9, 2, b'x']), Ok(vec![]));
        assert_eq!(messages(&mut all, &[]), Ok(vec![]));
        assert_eq!(messages(&mut all, &[0, 4, 2, b'x']), Ok(vec![b"x".to_vec()]));
    }

    #[test]
    fn the_longest_frame_is_taken() {
        let mut frame = vec![7; 0xffff];
        frame[..3].copy_from_slice(&[0xff, 0xff, 2]);
        assert_eq!(messages(&mut receiver(), &frame), Ok(vec![vec![7; 0xfffc]]));
    }

    #[test]
    fn compression_can_be_learnt_late() {
        let mut all = receiver();
        let frame = [0, 6, 4, 0x20, b'h', b'i'];
        assert_eq!(messages(&mut all, &frame), Err(ProtocolError::NotCompressed.into()));
        all.expect(Compression::Lz4);
        assert_eq!(messages(&mut all, &frame), Ok(vec![b"hi".to_vec()]));
    }

    #[test]
    fn handshake_frames_are_told_apart_and_data_is_none() {
        let parse = |frame: &[u8]| Handshake::parse(frame);
        assert_eq!(parse(&[0, 7, 0, 0, 0, 0, 1]), Ok(Some(Handshake::Tunnel)));
        assert_eq!(parse(&[0, 4, 8, 0]), Ok(Some(Handshake::ClientKey(None))));
        let nak = [0, 10, 1, 2, 8, 0, 0, 2, b'n', b'o'];
        assert_eq!(parse(&nak), Ok(Some(Handshake::Nak("no".to_owned()))));
        assert!(matches!(parse(&[0, 4, 0, 0]), Err(ProtocolError::Request(_))));
        assert!(matches!(parse(&[0, 4, 1, 1]), Err(ProtocolError::Ack(_))));
        for frame in [&[0, 3, 2][..], &[0, 3, 0x12], &[0, 6, 3, 4, 0, 1], &[0, 4, 1, 9], &[0]] {
            assert_eq!(parse(frame), Ok(None), "{frame:?}");
        }
    }
}
