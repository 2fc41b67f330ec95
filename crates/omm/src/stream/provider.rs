//! What a provider may send to one requester next.

use tapeline_rwf::{DataState, State, StreamState};
use thiserror::Error;

use super::policy::{RecoveryPolicy, convert};
use super::reject::{Reject, check_reissue};
use crate::ItemKeyRef;
use crate::market::{ItemRequest, Part};
use crate::state::is_final;

/// One stream of one requester, at the provider.
///
/// Before every message the stream is asked; it says whether the message may
/// go out now, and with which state and flags. The rules: an image first, no
/// update before its first part; the parts of two images do not mix; a snapshot
/// is over with its last part; a paused stream gets no updates, but status and
/// images; nothing after a final state or a close.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the stream")]
pub struct ProviderStream {
    streaming: bool,
    private: bool,
    paused: bool,
    key_in_updates: bool,
    /// Something was sent: the requester knows what the stream is about.
    has_response: bool,
    /// What the requester is told of states that are not final; `None` to tell
    /// it everything as it is.
    policy: Option<RecoveryPolicy>,
    /// A request waits for the first part of its image.
    owes_image: bool,
    /// The first part of an image was sent: updates may follow.
    has_image: bool,
    /// The image that is being sent in parts.
    in_parts: Option<InParts>,
    is_over: bool,
}

/// How far an image of several parts is.
#[derive(Clone, Copy, Debug)]
struct InParts {
    /// The number of the next part.
    next: u16,
    /// Its parts have numbers.
    numbered: bool,
    /// It answers a request. One that comes meanwhile waits for the next image.
    solicited: bool,
}

/// A message may be sent, like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The stream state to send, where the message has a state.
    pub stream: StreamState,
    /// The data state to send, where the message has a state.
    pub data: DataState,
    /// Whether an image answers a request, to be marked as solicited.
    pub solicited: bool,
    /// Whether to mark the message as one of a private stream.
    pub private: bool,
    /// Whether the message needs its key: the first part of an image, a status
    /// that answers a request, and everything where the request asked for it.
    pub with_key: bool,
}

/// Why a message may not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Held {
    /// The requester has no part of an image yet.
    #[error("no image was sent yet")]
    NoImage,
    /// Another image is being sent in parts: this one may follow it.
    #[error("another image is not complete")]
    InParts,
    /// A part that is not the next one of its image.
    #[error("part {found} of an image is not the next, which is {expected}")]
    PartOrder {
        /// The number that would be right.
        expected: u16,
        /// The number of the part.
        found: u16,
    },
    /// The requester wants no updates for now.
    #[error("the stream is paused")]
    Paused,
    /// The stream is over.
    #[error("the stream is over")]
    Over,
}

/// What a reissue asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReissueEffect {
    /// An image is to be sent.
    pub image: bool,
    /// The stream was paused or resumed.
    pub flow_changed: bool,
}

impl ProviderStream {
    /// The stream that a request opens. A request that wants no image gets
    /// updates at once.
    pub fn new(request: &ItemRequest<'_>, policy: Option<RecoveryPolicy>) -> Self {
        Self {
            streaming: request.streaming,
            private: request.private,
            paused: request.pause,
            key_in_updates: request.key_in_updates,
            has_response: false,
            policy: policy.filter(|_| !request.private),
            owes_image: !request.no_refresh,
            has_image: request.no_refresh,
            in_parts: None,
            is_over: false,
        }
    }

    /// Whether a request waits for its image, or for the rest of it.
    pub fn owes_image(&self) -> bool {
        let is_answering = self.in_parts.is_some_and(|image| image.solicited);
        (self.owes_image || is_answering) && !self.is_over
    }

    /// Whether updates go out now: the requester has an image and no pause.
    pub const fn takes_updates(&self) -> bool {
        self.has_image && !self.paused && !self.is_over
    }

    /// Whether the stream is over, its id free.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// A request came on the open stream, which is the one of `item`.
    ///
    /// Errors: it changes what cannot change. The stream is over then, and is
    /// answered with the state of the rejection.
    pub fn reissue(
        &mut self,
        item: &ItemKeyRef<'_>,
        reissue: &ItemRequest<'_>,
    ) -> Result<ReissueEffect, Reject> {
        if let Err(reject) = self.check_reissue(item, reissue) {
            self.is_over = true;
            return Err(reject);
        }
        let flow_changed = self.paused != reissue.pause;
        self.paused = reissue.pause;
        // Pausing gives no image; resuming does, as any other reissue.
        let image = !reissue.no_refresh && !reissue.pause;
        self.owes_image |= image;
        Ok(ReissueEffect { image, flow_changed })
    }

    fn check_reissue(
        &self,
        item: &ItemKeyRef<'_>,
        reissue: &ItemRequest<'_>,
    ) -> Result<(), Reject> {
        check_reissue(item, reissue)?;
        if reissue.streaming != self.streaming {
            return Err(Reject::Changed("streaming flag"));
        }
        if reissue.private != self.private {
            return Err(Reject::Changed("private flag"));
        }
        Ok(())
    }

    /// The requester closed the stream, or its connection is gone.
    pub fn close(&mut self) {
        self.is_over = true;
    }

    fn allowed(&self, stream: StreamState, data: DataState) -> Allowed {
        let with_key = self.key_in_updates || !self.has_response;
        Allowed { stream, data, solicited: false, private: self.private, with_key }
    }

    fn check_over(&self) -> Result<(), Held> {
        if self.is_over { Err(Held::Over) } else { Ok(()) }
    }

    /// A part of an image is to be sent. It answers a request if one waits for
    /// it. Parts without numbers are taken to come in order; either all parts of
    /// an image have numbers or none.
    pub fn image(&mut self, part: Part, state: &State<'_>) -> Result<Allowed, Held> {
        self.check_over()?;
        let expected = self.in_parts.map_or(0, |image| image.next);
        let numbered = part.number.is_some();
        let is_other = self.in_parts.is_some_and(|image| image.numbered != numbered);
        match part.number {
            _ if is_other => return Err(Held::InParts),
            Some(0) if self.in_parts.is_some() => return Err(Held::InParts),
            Some(found) if found != expected => return Err(Held::PartOrder { expected, found }),
            _ => {}
        }
        let mut allowed = self.told(state);
        allowed.with_key |= self.in_parts.is_none();
        allowed.solicited = match self.in_parts {
            Some(image) => image.solicited,
            None => core::mem::take(&mut self.owes_image),
        };
        self.has_response = true;
        // A state that is final by itself says more than that of a snapshot.
        let is_open = allowed.stream == StreamState::OPEN && !is_final(state.stream);
        if !self.streaming && is_open {
            allowed.stream = StreamState::NON_STREAMING;
        }
        self.has_image = true;
        self.in_parts = (!part.is_last).then(|| InParts {
            next: expected.saturating_add(1),
            numbered,
            solicited: allowed.solicited,
        });
        let is_image_end = allowed.stream == StreamState::NON_STREAMING;
        if part.is_last || !is_image_end {
            self.settle(state, &allowed);
        }
        Ok(allowed)
    }

    /// What a state that is sent does to the stream: it ends it, or, where it
    /// is told as open, ends what the requester has of the item.
    fn settle(&mut self, state: &State<'_>, allowed: &Allowed) {
        if is_final(allowed.stream) {
            self.is_over = true;
        } else if is_final(state.stream) {
            // Updates of whatever comes next make no sense before its image.
            self.has_image = false;
            let cut_off = self.in_parts.take();
            self.owes_image |= cut_off.is_some_and(|image| image.solicited);
        }
    }

    /// The image that is being sent in parts will not be completed, as when its
    /// source is lost. A request that it answers waits for the next one.
    pub fn abandon_image(&mut self) {
        if let Some(image) = self.in_parts.take() {
            self.owes_image |= image.solicited;
        }
    }

    /// An update is to be sent. One that may not goes to nobody: the image
    /// that comes has its content.
    pub fn update(&mut self) -> Result<Allowed, Held> {
        self.check_over()?;
        if !self.has_image {
            return Err(Held::NoImage);
        }
        if self.paused {
            return Err(Held::Paused);
        }
        let allowed = self.allowed(StreamState::OPEN, DataState::NO_CHANGE);
        self.has_response = true;
        Ok(allowed)
    }

    /// A status is to be sent. One without a state changes nothing.
    ///
    /// Where this side recovers items, a stream that is closed with recovery
    /// stays open to the requester, suspect, until there is an image again.
    pub fn status(&mut self, state: Option<&State<'_>>) -> Result<Allowed, Held> {
        self.check_over()?;
        let allowed = match state {
            Some(state) => self.told(state),
            None => self.allowed(StreamState::OPEN, DataState::NO_CHANGE),
        };
        self.has_response = true;
        if let Some(state) = state {
            self.settle(state, &allowed);
        }
        Ok(allowed)
    }

    /// A generic message or an ack is to be sent: any time while the stream is
    /// there.
    pub fn other(&self) -> Result<Allowed, Held> {
        self.check_over()?;
        let allowed = self.allowed(StreamState::OPEN, DataState::NO_CHANGE);
        // The key of a generic message is a matter of its sender.
        Ok(Allowed { with_key: false, ..allowed })
    }

    /// What the requester is told for a state.
    fn told(&self, state: &State<'_>) -> Allowed {
        let stream = self.policy.map_or(state.stream, |policy| convert(state, policy));
        let data = match stream == state.stream {
            true => state.data,
            false => DataState::SUSPECT,
        };
        self.allowed(stream, data)
    }
}
