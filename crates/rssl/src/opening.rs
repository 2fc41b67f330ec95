//! What both openings share: where they stand, and how they read frames.

use std::ops::Range;

use crate::error::CloseReason;
use crate::input::Input;
use crate::limits::Limits;
use crate::negotiated::Negotiated;
use crate::open_client::ClientOpening;
use crate::open_server::ServerOpening;
use crate::random::Random;
use crate::sender::Sender;
use crate::unwrap::{FrameBound, Unwrap, Unwrapped};
use crate::{Limit, chunked::ChunkLimits};

/// A handshake in progress.
pub(crate) enum Opening {
    Client(ClientOpening),
    Server(ServerOpening),
}

/// What the opening works on.
pub(crate) struct Context<'a> {
    pub(crate) input: &'a mut Input,
    pub(crate) sender: &'a mut Sender,
    pub(crate) random: &'a mut Random,
}

/// What a step of the opening came to.
pub(crate) enum Progress {
    /// More bytes are needed.
    Waiting,
    /// One step was made, try the next.
    Stepped,
    /// The handshake is over.
    Done(Box<Agreed>),
    /// The client wants a subprotocol that another machine speaks.
    OtherSubprotocol(String),
}

pub(crate) struct Agreed {
    pub(crate) negotiated: Negotiated,
    pub(crate) unwrap: Unwrap,
}

impl Opening {
    pub(crate) fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        match self {
            Self::Client(opening) => opening.step(context),
            Self::Server(opening) => opening.step(context),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        match self {
            Self::Client(opening) => &opening.config.limits,
            Self::Server(opening) => &opening.config.limits,
        }
    }

    /// Why the connection ended when the peer hangs up now.
    pub(crate) fn cut(&self) -> CloseReason {
        match self {
            Self::Client(opening) => opening.cut(),
            Self::Server(_) => CloseReason::HandshakeCut,
        }
    }
}

pub(crate) fn bare(limits: &Limits) -> Unwrap {
    Unwrap::Nothing(ChunkLimits { line_bytes: limits.chunk_line_bytes })
}

impl Context<'_> {
    /// Takes the next whole handshake frame.
    pub(crate) fn take_frame(
        &mut self,
        unwrap: Unwrap,
        limits: &Limits,
    ) -> Result<Option<Range<usize>>, CloseReason> {
        let bound =
            FrameBound { bytes: limits.handshake_frame_bytes, limit: Limit::HandshakeFrame };
        loop {
            match unwrap.next(self.input, bound)? {
                None => return Ok(None),
                Some(Unwrapped::Frame(length)) => return Ok(Some(self.input.take(length))),
                Some(Unwrapped::Ping { payload, length }) => {
                    self.sender.answer_ping(&payload[..length]);
                }
                Some(Unwrapped::Pong) => {}
                Some(Unwrapped::Close) => return Err(CloseReason::HandshakeCut),
            }
        }
    }
}
