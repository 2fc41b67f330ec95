//! From frames to messages: join split bodies, decompress, reassemble,
//! unpack.

use std::ops::Range;

use crate::compression::Decompressor;
use crate::error::{CloseReason, ProtocolError};
use crate::frame::{Body, COMPRESSED, FrameHeader, HEADER_BYTES};
use crate::input::Input;
use crate::packed::Packed;
use crate::reassembly::Reassembly;
use crate::unwrap::{FrameBound, Unwrap, Unwrapped};
use crate::websocket::CONTROL_PAYLOAD_BYTES;
use crate::{Compression, Limit, Limits, Version};

/// Where a message lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the receive buffer.
    Input(Range<usize>),
    /// In the decompressed body.
    Expanded(Range<usize>),
    /// In this slot of the reassembly.
    Assembled(usize),
}

/// What a frame brought.
enum Content {
    Message(Place),
    /// The first fragment of a message that is passed over.
    TooLong(TooLong),
}

/// A message that breaks a bound.
pub(crate) struct TooLong {
    pub(crate) head: Place,
    pub(crate) length: usize,
    pub(crate) max: usize,
}

/// What a peer sent.
pub(crate) enum Received {
    Message(Place),
    TooLong(TooLong),
    /// A frame without a message for the application: ping, a fragment.
    Frame {
        is_ping: bool,
    },
    /// A WebSocket ping and the payload to answer it with.
    WebSocketPing {
        payload: [u8; CONTROL_PAYLOAD_BYTES],
        length: usize,
    },
    Close,
}

/// The packed body being unpacked. Messages are taken from its front.
enum Unpacking {
    Nothing,
    /// The body is at the head of the receive buffer.
    Input {
        left: usize,
    },
    Expanded(Range<usize>),
}

/// The receiving half of an active connection.
pub(crate) struct Receiver {
    unwrap: Unwrap,
    bound: FrameBound,
    version: Version,
    decompressor: Decompressor,
    /// Room for the largest body and one byte more, so that a longer one shows.
    expanded: Vec<u8>,
    /// A split body's first part, with the kind of the whole.
    split: Option<Body>,
    split_bytes: Vec<u8>,
    reassembly: Reassembly,
    unpacking: Unpacking,
}

impl Receiver {
    pub(crate) fn new(
        unwrap: Unwrap,
        version: Version,
        fragment_bytes: u16,
        compression: Compression,
        limits: &Limits,
    ) -> Self {
        let body_bytes = usize::from(fragment_bytes);
        let mut receiver = Self {
            unwrap,
            bound: FrameBound { bytes: body_bytes + HEADER_BYTES, limit: Limit::Frame },
            version,
            decompressor: Decompressor::None,
            expanded: Vec::new(),
            split: None,
            split_bytes: Vec::new(),
            reassembly: Reassembly::new(limits),
            unpacking: Unpacking::Nothing,
        };
        receiver.expect(compression);
        receiver
    }

    /// Compressed bodies are of this type from here on.
    pub(crate) fn expect(&mut self, compression: Compression) {
        let body_bytes = self.bound.bytes - HEADER_BYTES;
        let is_compressed = compression != Compression::None;
        self.decompressor = Decompressor::new(compression);
        self.expanded = vec![0; if is_compressed { body_bytes + 1 } else { 0 }];
    }

    /// Has other bounds hold for messages that begin from here on.
    pub(crate) fn set_limits(&mut self, limits: &Limits) {
        self.reassembly.set_limits(limits);
    }

    /// Whether the start of the message with this fragment id has come, and
    /// not yet its end.
    pub(crate) fn is_reassembling(&self, id: u16) -> bool {
        self.reassembly.is_in_progress(id)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.expanded.capacity() + self.split_bytes.capacity() + self.reassembly.memory_bytes()
    }

    /// The bytes of a message until the next call of [`Self::next`].
    pub(crate) fn message<'a>(&'a self, input: &'a Input, place: Place) -> &'a [u8] {
        match place {
            Place::Input(range) => input.slice(range),
            Place::Expanded(range) => self.expanded.get(range).unwrap_or_default(),
            Place::Assembled(slot) => self.reassembly.bytes(slot),
        }
    }

    /// The next thing that is completely there.
    pub(crate) fn next(&mut self, input: &mut Input) -> Result<Option<Received>, CloseReason> {
        self.reassembly.release();
        if let Some(place) = self.unpack(input)? {
            return Ok(Some(Received::Message(place)));
        }
        match self.unwrap.next(input, self.bound)? {
            None => Ok(None),
            Some(Unwrapped::Frame(length)) => self.frame(input, length).map(Some),
            Some(Unwrapped::Ping { payload, length }) => {
                Ok(Some(Received::WebSocketPing { payload, length }))
            }
            Some(Unwrapped::Pong) => Ok(Some(Received::Frame { is_ping: false })),
            Some(Unwrapped::Close) => Ok(Some(Received::Close)),
        }
    }

    /// The messages of the packed body at the head of the receive buffer.
    #[inline]
    pub(crate) fn packed<'a>(&self, input: &'a Input) -> Packed<'a> {
        match self.unpacking {
            Unpacking::Input { left } => Packed::new(input.ready().get(..left).unwrap_or_default()),
            _ => Packed::new(&[]),
        }
    }

    /// Takes messages of so many bytes out of that body.
    pub(crate) fn take_packed(&mut self, input: &mut Input, bytes: usize) {
        if let Unpacking::Input { left } = self.unpacking {
            self.reassembly.release();
            self.unpacking = Unpacking::Input { left: left.saturating_sub(bytes) };
            input.take(bytes);
        }
    }

    fn frame(&mut self, input: &mut Input, length: usize) -> Result<Received, CloseReason> {
        let header = FrameHeader::parse(&input.ready()[..length], self.version)?;
        let is_ping = header.is_ping(length);
        input.take(header.length);
        let body_length = length - header.length;
        let content = if header.is_compressed() {
            let body = input.take(body_length);
            self.compressed(header, input.slice(body))?
        } else if header.body == Body::Packed {
            self.unpacking = Unpacking::Input { left: body_length };
            self.unpack(input)?.map(Content::Message)
        } else {
            let body = input.take(body_length);
            self.content(header.body, input.slice(body.clone()), Place::Input(body))?
        };
        Ok(match content {
            Some(Content::Message(place)) => Received::Message(place),
            Some(Content::TooLong(message)) => Received::TooLong(message),
            None => Received::Frame { is_ping },
        })
    }

    fn compressed(
        &mut self,
        header: FrameHeader,
        part: &[u8],
    ) -> Result<Option<Content>, CloseReason> {
        if matches!(self.decompressor, Decompressor::None) {
            return Err(ProtocolError::NotCompressed.into());
        }
        let (kind, length) = match self.split.take() {
            Some(_) if header.flags != COMPRESSED => {
                return Err(ProtocolError::BrokenSplit { flags: header.flags }.into());
            }
            Some(kind) => {
                self.split_bytes.extend_from_slice(part);
                (kind, self.decompressor.decompress(&self.split_bytes, &mut self.expanded)?)
            }
            None if header.is_split() => {
                self.split = Some(header.body);
                self.split_bytes.clear();
                self.split_bytes.reserve_exact(2 * self.bound.bytes);
                self.split_bytes.extend_from_slice(part);
                return Ok(None);
            }
            None => (header.body, self.decompressor.decompress(part, &mut self.expanded)?),
        };
        if kind == Body::Packed {
            self.unpacking = Unpacking::Expanded(0..length);
            return Ok(self.unpack_expanded(0..length)?.map(Content::Message));
        }
        let expanded = std::mem::take(&mut self.expanded);
        let content = self.content(kind, &expanded[..length], Place::Expanded(0..length));
        self.expanded = expanded;
        content
    }

    /// One message, or a part of one, that lies at `place`.
    fn content(
        &mut self,
        kind: Body,
        bytes: &[u8],
        place: Place,
    ) -> Result<Option<Content>, CloseReason> {
        let slot = match kind {
            Body::First { id, total } if total != bytes.len() => {
                self.reassembly.abandon(id);
                if let Some(max) = self.reassembly.exceeded(total) {
                    // Its other fragments belong to nothing then.
                    return Ok(Some(Content::TooLong(TooLong { head: place, length: total, max })));
                }
                self.reassembly.first(id, total, bytes)?
            }
            Body::First { id, .. } => {
                self.reassembly.abandon(id);
                return Ok((!bytes.is_empty()).then_some(Content::Message(place)));
            }
            Body::Next { id } => self.reassembly.next(id, bytes)?,
            // A message without bytes means nothing; a ping is such a frame.
            Body::Message | Body::Packed => {
                return Ok((!bytes.is_empty()).then_some(Content::Message(place)));
            }
        };
        Ok(slot.map(|slot| Content::Message(Place::Assembled(slot))))
    }

    fn unpack(&mut self, input: &mut Input) -> Result<Option<Place>, CloseReason> {
        match std::mem::replace(&mut self.unpacking, Unpacking::Nothing) {
            Unpacking::Nothing | Unpacking::Input { left: 0 } => Ok(None),
            Unpacking::Expanded(left) => self.unpack_expanded(left),
            Unpacking::Input { left } => {
                let length = packed_length(&input.ready()[..left])?;
                if length == 0 {
                    input.take(left);
                    return Ok(None);
                }
                input.take(2);
                let message = input.take(length);
                self.unpacking = Unpacking::Input { left: left - 2 - length };
                Ok(Some(Place::Input(message)))
            }
        }
    }

    fn unpack_expanded(&mut self, left: Range<usize>) -> Result<Option<Place>, CloseReason> {
        self.unpacking = Unpacking::Nothing;
        if left.is_empty() {
            return Ok(None);
        }
        let length = packed_length(&self.expanded[left.clone()])?;
        if length == 0 {
            return Ok(None);
        }
        let message = left.start + 2..left.start + 2 + length;
        self.unpacking = Unpacking::Expanded(message.end..left.end);
        Ok(Some(Place::Expanded(message)))
    }
}

/// Length of the message at the front of the rest of a packed body; 0 ends
/// the body early.
fn packed_length(left: &[u8]) -> Result<usize, ProtocolError> {
    let Some(prefix) = left.first_chunk::<2>() else {
        return Err(ProtocolError::PackedOverrun { length: 0, left: left.len() });
    };
    let length = usize::from(u16::from_be_bytes(*prefix));
    if length > left.len() - 2 {
        return Err(ProtocolError::PackedOverrun { length, left: left.len() - 2 });
    }
    Ok(length)
}
