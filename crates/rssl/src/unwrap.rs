//! From the receive buffer to one RIPC frame, whatever is wrapped around it.

use crate::Limit;
use crate::chunked::ChunkLimits;
use crate::error::{CloseReason, ProtocolError};
use crate::frame::frame_length;
use crate::input::Input;
use crate::websocket::{BINARY, CLOSE, CONTROL_PAYLOAD_BYTES, FrameHeader, PING, PONG, apply_mask};

/// What lies around received frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwrap {
    /// Nothing, or chunks that the input cuts out.
    Nothing(ChunkLimits),
    /// One WebSocket frame around each.
    WebSocket {
        /// The peer is a client and masks.
        from_client: bool,
    },
}

/// The longest frame that may come, and what that bound is called.
#[derive(Clone, Copy)]
pub(crate) struct FrameBound {
    pub(crate) bytes: usize,
    pub(crate) limit: Limit,
}

/// The next thing in the receive buffer.
pub(crate) enum Unwrapped {
    /// A RIPC frame of this length is at the head of the buffer.
    Frame(usize),
    /// A WebSocket ping, to be answered with its payload.
    Ping { payload: [u8; CONTROL_PAYLOAD_BYTES], length: usize },
    /// A WebSocket pong, which means nothing.
    Pong,
    /// The peer's goodbye.
    Close,
}

impl Unwrap {
    /// Finds the next whole frame; `None` while bytes are missing.
    pub(crate) fn next(
        self,
        input: &mut Input,
        bound: FrameBound,
    ) -> Result<Option<Unwrapped>, CloseReason> {
        match self {
            Self::Nothing(limits) => {
                // What is wrong with a chunk concerns only what follows it: it
                // is found again when the frames before it are taken.
                let dechunked = input.dechunk(limits);
                match bare_frame(input.ready(), bound)? {
                    Some(length) => Ok(Some(Unwrapped::Frame(length))),
                    None => {
                        dechunked?;
                        Ok(input.is_ended().then_some(Unwrapped::Close))
                    }
                }
            }
            Self::WebSocket { from_client } => websocket_frame(input, from_client, bound),
        }
    }
}

fn bare_frame(ready: &[u8], bound: FrameBound) -> Result<Option<usize>, CloseReason> {
    let Some(length) = frame_length(ready)? else { return Ok(None) };
    if length > bound.bytes {
        return Err(CloseReason::limit(bound.limit, length, bound.bytes));
    }
    Ok((ready.len() >= length).then_some(length))
}

fn websocket_frame(
    input: &mut Input,
    from_client: bool,
    bound: FrameBound,
) -> Result<Option<Unwrapped>, CloseReason> {
    let Some((header, header_length)) = FrameHeader::parse(input.ready()) else { return Ok(None) };
    header.check(from_client)?;
    let length = usize::try_from(header.payload).unwrap_or(usize::MAX);
    if header.opcode == BINARY && length > bound.bytes {
        return Err(CloseReason::limit(bound.limit, length, bound.bytes));
    }
    if input.ready().len() - header_length < length {
        return Ok(None);
    }
    input.take(header_length);
    let payload = &mut input.ready_mut()[..length];
    if let Some(mask) = header.mask {
        apply_mask(payload, mask);
    }
    if header.opcode == BINARY {
        return match bare_frame(payload, bound)? {
            Some(inner) if inner == length => Ok(Some(Unwrapped::Frame(length))),
            _ => Err(ProtocolError::WebSocket("not exactly one RIPC frame in a frame").into()),
        };
    }
    let mut copy = [0; CONTROL_PAYLOAD_BYTES];
    copy[..length].copy_from_slice(payload);
    input.take(length);
    Ok(Some(match header.opcode {
        PING => Unwrapped::Ping { payload: copy, length },
        PONG => Unwrapped::Pong,
        _ => {
            debug_assert_eq!(header.opcode, CLOSE);
            Unwrapped::Close
        }
    }))
}
