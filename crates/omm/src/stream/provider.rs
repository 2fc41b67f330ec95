//! What a provider may send to one requester next.

use tapeline_planted::planted;
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
/// images; one that stands by gets the answer to its request and, of all states,
/// only the one that ends it for good; nothing after a final state or a close.
///
/// It takes four bytes, and as numbers two: a server has one for each stream of
/// each mount.
#[derive(Clone, Debug)]
pub struct ProviderStream {
    bits: u16,
    /// The number of the next part of the image that is being sent.
    next_part: u16,
}

/// Independent facts about a stream.
mod bit {
    pub(super) const STREAMING: u16 = 0x0001;
    pub(super) const PRIVATE: u16 = 0x0002;
    pub(super) const PAUSED: u16 = 0x0004;
    pub(super) const KEY_IN_UPDATES: u16 = 0x0008;
    /// Something was sent: the requester knows what the stream is about.
    pub(super) const HAS_RESPONSE: u16 = 0x0010;
    /// A request waits for the first part of its image.
    pub(super) const OWES_IMAGE: u16 = 0x0020;
    /// The first part of an image was sent: updates may follow.
    pub(super) const HAS_IMAGE: u16 = 0x0040;
    pub(super) const OVER: u16 = 0x0080;
    /// An image is being sent in parts.
    pub(super) const IN_PARTS: u16 = 0x0100;
    /// Its parts have numbers.
    pub(super) const NUMBERED: u16 = 0x0200;
    /// It answers a request. One that comes meanwhile waits for the next image.
    pub(super) const SOLICITED: u16 = 0x0400;
    /// The requester is told of states that are not final by this policy;
    /// without it everything as it is.
    pub(super) const HAS_POLICY: u16 = 0x0800;
    pub(super) const SINGLE_OPEN: u16 = 0x1000;
    pub(super) const ALLOW_SUSPECT_DATA: u16 = 0x2000;
    /// The requester has the item from another provider, for which this one stands by.
    pub(super) const STANDBY: u16 = 0x4000;
}

/// How far an image of several parts is.
#[derive(Clone, Copy, Debug)]
struct InParts {
    /// The number of the next part.
    next: u16,
    numbered: bool,
    solicited: bool,
}

/// A message may be sent, like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about a message")]
pub struct Allowed {
    /// The stream state to send, where the message has a state.
    pub stream: StreamState,
    /// The data state to send, where the message has a state.
    pub data: DataState,
    /// Whether an image answers a request, to be marked as solicited.
    pub solicited: bool,
    /// Whether it is the first part of an image, or the only one.
    pub begins: bool,
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
    /// The requester has the item from another provider for now.
    #[error("the stream stands by")]
    StandsBy,
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

impl ReissueEffect {
    /// Whether a pause ends, with an image that has what the pause left out.
    pub const fn resumes(&self) -> bool {
        self.flow_changed && self.image
    }
}

impl ProviderStream {
    /// The stream that a request opens. A request that wants no image gets
    /// updates at once.
    pub fn new(request: &ItemRequest<'_>, policy: Option<RecoveryPolicy>) -> Self {
        let policy = policy.filter(|_| !request.private);
        let mut stream = Self { bits: 0, next_part: 0 };
        stream.set(bit::STREAMING, request.streaming);
        stream.set(bit::PRIVATE, request.private);
        stream.set(bit::PAUSED, request.pause);
        stream.set(bit::KEY_IN_UPDATES, request.key_in_updates);
        stream.set(bit::OWES_IMAGE, !request.no_refresh);
        stream.set(bit::HAS_IMAGE, request.no_refresh);
        stream.set(bit::HAS_POLICY, policy.is_some());
        stream.set(bit::SINGLE_OPEN, policy.is_some_and(|it| it.single_open));
        stream.set(bit::ALLOW_SUSPECT_DATA, policy.is_some_and(|it| it.allow_suspect_data));
        stream
    }

    /// The requester had an image on this stream before, and a state since then: the
    /// next one is no answer. The vendor's consumers drop an answer that they do not
    /// wait for.
    pub const fn was_served(&mut self) {
        self.set(bit::OWES_IMAGE, false);
    }

    /// The stream as numbers, for a table of many: its facts, and the number of
    /// the next part of the image that is being sent, 0 when there is none.
    pub const fn to_numbers(&self) -> (u16, u16) {
        (self.bits, self.next_part)
    }

    /// The stream of what [`to_numbers`](Self::to_numbers) gave.
    pub const fn from_numbers(bits: u16, next_part: u16) -> Self {
        Self { bits, next_part }
    }

    const fn has(&self, bit: u16) -> bool {
        self.bits & bit != 0
    }

    const fn set(&mut self, bit: u16, is_set: bool) {
        self.bits = if is_set { self.bits | bit } else { self.bits & !bit };
    }

    fn in_parts(&self) -> Option<InParts> {
        self.has(bit::IN_PARTS).then(|| InParts {
            next: self.next_part,
            numbered: self.has(bit::NUMBERED),
            solicited: self.has(bit::SOLICITED),
        })
    }

    fn set_in_parts(&mut self, image: Option<InParts>) {
        self.set(bit::IN_PARTS, image.is_some());
        self.set(bit::NUMBERED, image.is_some_and(|image| image.numbered));
        self.set(bit::SOLICITED, image.is_some_and(|image| image.solicited));
        self.next_part = image.map_or(0, |image| image.next);
    }

    fn policy(&self) -> Option<RecoveryPolicy> {
        self.has(bit::HAS_POLICY).then(|| RecoveryPolicy {
            single_open: self.has(bit::SINGLE_OPEN),
            allow_suspect_data: self.has(bit::ALLOW_SUSPECT_DATA),
        })
    }

    /// Whether a request waits for its image, or for the rest of it.
    pub fn owes_image(&self) -> bool {
        let is_answering = self.has(bit::SOLICITED);
        (self.has(bit::OWES_IMAGE) || is_answering) && !self.is_over()
    }

    /// Whether updates go out now: the requester has an image and no pause, and
    /// nobody else serves it.
    pub const fn takes_updates(&self) -> bool {
        let held_back = bit::PAUSED | bit::STANDBY | bit::OVER;
        self.bits & (bit::HAS_IMAGE | held_back) == bit::HAS_IMAGE
    }

    /// Whether the stream stands by for another provider's.
    pub const fn stands_by(&self) -> bool {
        self.has(bit::STANDBY)
    }

    /// The requester has the item from another provider from here on. An image
    /// that is being sent in parts does not go on: what it answers is answered
    /// by the next one.
    pub fn stand_by(&mut self) {
        self.abandon_image();
        self.set(bit::STANDBY, true);
    }

    /// The requester has the item from this provider again: what it knows is of
    /// another one, so that an image comes before the next update.
    pub fn take_over(&mut self) {
        self.set(bit::STANDBY, false);
        self.put_image_off();
    }

    /// Whether a state is told: to a stream that stands by only one that ends
    /// it for good, whatever it may be told as the answer to its request.
    pub fn hears(&self, state: &State<'_>) -> bool {
        !self.stands_by() || is_final(self.told(state).stream)
    }

    /// Whether an image with this state is sent: to a stream that stands by only
    /// as the answer to its request, or with a state that ends it for good.
    pub fn hears_image(&self, state: &State<'_>) -> bool {
        self.hears(state) || self.owes_image()
    }

    /// Whether updates were asked for.
    pub const fn is_streaming(&self) -> bool {
        self.has(bit::STREAMING)
    }

    /// Whether the requester has paused it.
    pub const fn is_paused(&self) -> bool {
        self.has(bit::PAUSED)
    }

    /// Whether the stream is a private one.
    pub const fn is_private(&self) -> bool {
        self.has(bit::PRIVATE)
    }

    /// Whether the stream is over, its id free.
    pub const fn is_over(&self) -> bool {
        self.has(bit::OVER)
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
            self.close();
            return Err(reject);
        }
        let flow_changed = self.has(bit::PAUSED) != reissue.pause;
        self.set(bit::PAUSED, reissue.pause);
        // Pausing gives no image; resuming does, as any other reissue.
        let image = !reissue.no_refresh && !reissue.pause;
        let effect = ReissueEffect { image, flow_changed };
        if effect.resumes() && !planted!(ResumedEarly) {
            // The updates of the pause are missing: the next ones are for who
            // has the image of the resume.
            self.set(bit::HAS_IMAGE, false);
        }
        self.set(bit::OWES_IMAGE, image || self.has(bit::OWES_IMAGE));
        Ok(effect)
    }

    fn check_reissue(
        &self,
        item: &ItemKeyRef<'_>,
        reissue: &ItemRequest<'_>,
    ) -> Result<(), Reject> {
        check_reissue(item, reissue)?;
        if reissue.streaming != self.has(bit::STREAMING) {
            return Err(Reject::Changed("streaming flag"));
        }
        if reissue.private != self.has(bit::PRIVATE) {
            return Err(Reject::Changed("private flag"));
        }
        Ok(())
    }

    /// The requester closed the stream, or its connection is gone.
    pub const fn close(&mut self) {
        self.set(bit::OVER, true);
    }

    fn allowed(&self, stream: StreamState, data: DataState) -> Allowed {
        let with_key = self.has(bit::KEY_IN_UPDATES) || !self.has(bit::HAS_RESPONSE);
        let private = self.has(bit::PRIVATE);
        Allowed { stream, data, solicited: false, begins: false, private, with_key }
    }

    fn check_over(&self) -> Result<(), Held> {
        if self.is_over() { Err(Held::Over) } else { Ok(()) }
    }

    /// A part of an image is to be sent. It answers a request if one waits for
    /// it. Parts without numbers are taken to come in order; either all parts of
    /// an image have numbers or none.
    pub fn image(&mut self, part: Part, state: &State<'_>) -> Result<Allowed, Held> {
        self.check_over()?;
        let begun = self.in_parts();
        let expected = begun.map_or(0, |image| image.next);
        let numbered = part.number.is_some();
        let is_other = begun.is_some_and(|image| image.numbered != numbered);
        match part.number {
            _ if is_other => return Err(Held::InParts),
            Some(0) if begun.is_some() => return Err(Held::InParts),
            Some(found) if found != expected => return Err(Held::PartOrder { expected, found }),
            _ => {}
        }
        let mut allowed = self.told(state);
        allowed.begins = begun.is_none();
        allowed.with_key |= allowed.begins;
        allowed.solicited = match begun {
            Some(image) => image.solicited,
            None => self.has(bit::OWES_IMAGE),
        };
        if begun.is_none() {
            self.set(bit::OWES_IMAGE, false);
        }
        self.set(bit::HAS_RESPONSE, true);
        // A state that is final by itself says more than that of a snapshot.
        let is_open = allowed.stream == StreamState::OPEN && !is_final(state.stream);
        if !self.has(bit::STREAMING) && is_open {
            allowed.stream = StreamState::NON_STREAMING;
        }
        self.set(bit::HAS_IMAGE, true);
        self.set_in_parts((!part.is_last).then(|| InParts {
            next: expected.saturating_add(1),
            numbered,
            solicited: allowed.solicited,
        }));
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
            self.close();
        } else if is_final(state.stream) {
            // Updates of whatever comes next make no sense before its image.
            self.set(bit::HAS_IMAGE, false);
            self.abandon_image();
        }
    }

    /// The image that is being sent in parts will not be completed, as when its
    /// source is lost. A request that it answers waits for the next one.
    pub fn abandon_image(&mut self) {
        if planted!(KeptParts) {
            return;
        }
        if self.has(bit::SOLICITED) {
            self.set(bit::OWES_IMAGE, true);
        }
        self.set_in_parts(None);
    }

    /// The image that is to be sent next is put off: what the requester has is
    /// of another one, which updates from here on are not for.
    /// A part of it that was sent does not count.
    pub fn put_image_off(&mut self) {
        self.set(bit::HAS_IMAGE, false);
        self.abandon_image();
    }

    /// An update is to be sent. One that may not goes to nobody: the image
    /// that comes has its content.
    pub fn update(&mut self) -> Result<Allowed, Held> {
        self.check_over()?;
        if !self.has(bit::HAS_IMAGE) {
            return Err(Held::NoImage);
        }
        if self.has(bit::PAUSED) {
            return Err(Held::Paused);
        }
        if self.stands_by() {
            return Err(Held::StandsBy);
        }
        let allowed = self.allowed(StreamState::OPEN, DataState::NO_CHANGE);
        self.set(bit::HAS_RESPONSE, true);
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
        self.set(bit::HAS_RESPONSE, true);
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
        let stream = match self.policy() {
            // Its client would give the item up at all providers: it is to
            // hear of what can be recovered from the one that it has it from.
            _ if self.stands_by() => match state.stream {
                StreamState::CLOSED_RECOVER | StreamState::REDIRECTED => StreamState::OPEN,
                stream => stream,
            },
            Some(policy) => convert(state, policy),
            None => state.stream,
        };
        let data = match stream == state.stream {
            true => state.data,
            false => DataState::SUSPECT,
        };
        self.allowed(stream, data)
    }
}
