//! A publication and a subscription as the two directions of a port.

use std::rc::Rc;

use rusteron_media_driver::{
    AeronAsyncAddExclusivePublication, AeronAsyncAddSubscription, AeronCError,
    AeronExclusivePublication, AeronFragmentClosureAssembler, AeronHeader, AeronHeaderValues,
    AeronOfferError, AeronSubscription, Handlers,
};
use tapeline_time::Time;

use super::Place;
use super::backoff::Backoff;
use super::sessions::{Sessions, is_presence};
use super::shared::Shared;
use super::words::{c_string, words};
use crate::channel::Stream;
use crate::frame::Incarnation;
use crate::outbound::{FrameSink, Offer};
use crate::port::FrameSource;

/// Aeron asks for another try at once when a term ends; the second one
/// succeeds, and more are for the improbable.
const TRIES: usize = 4;

/// How many parts Aeron gathers; more go through a buffer.
const MAX_PARTS: usize = 8;

/// A publication or a subscription: what a client adds.
trait Resource: Sized {
    const NAME: &'static str;
    type Adding;
    fn add(shared: &Shared, stream: &Stream) -> Result<Self::Adding, AeronCError>;
    fn poll(adding: &Self::Adding) -> Result<Option<Self>, AeronCError>;
}

impl Resource for AeronExclusivePublication {
    const NAME: &'static str = "publication";
    type Adding = AeronAsyncAddExclusivePublication;

    fn add(shared: &Shared, stream: &Stream) -> Result<Self::Adding, AeronCError> {
        shared.client.async_add_exclusive_publication(&c_string(&stream.uri), stream.id)
    }

    fn poll(adding: &Self::Adding) -> Result<Option<Self>, AeronCError> {
        adding.poll()
    }
}

impl Resource for AeronSubscription {
    const NAME: &'static str = "subscription";
    type Adding = AeronAsyncAddSubscription;

    fn add(shared: &Shared, stream: &Stream) -> Result<Self::Adding, AeronCError> {
        let (uri, none) = (c_string(&stream.uri), Handlers::NONE);
        shared.client.async_add_subscription(&uri, stream.id, none, Handlers::NONE)
    }

    fn poll(adding: &Self::Adding) -> Result<Option<Self>, AeronCError> {
        adding.poll()
    }
}

/// One direction of a port. It is added anew when it failed, or when the engine
/// was built anew.
struct Half<R: Resource> {
    state: State<R>,
    stream: Stream,
    place: Rc<Place>,
    backoff: Backoff,
    /// Why it is not there; kept until it is.
    failure: Option<String>,
}

/// What is added goes before the client, in the order of the fields.
enum State<R: Resource> {
    Apart,
    Adding(R::Adding, Rc<Shared>),
    Ready(R, Rc<Shared>),
}

impl<R: Resource> Half<R> {
    fn new(place: &Rc<Place>, stream: &Stream) -> Self {
        Self {
            state: State::Apart,
            stream: stream.clone(),
            place: Rc::clone(place),
            backoff: Backoff::new(),
            failure: None,
        }
    }

    const fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready(..))
    }

    fn fail(&mut self, reason: String) {
        self.state = State::Apart;
        self.failure = Some(reason);
        self.backoff.failed();
    }

    fn fail_with(&mut self, error: &AeronCError) {
        self.fail(format!("{}: {}", R::NAME, words(error)));
    }

    /// Adds it where that is due. Returns whether it is there since this call.
    fn work(&mut self, now: Time) -> bool {
        if let State::Adding(_, shared) | State::Ready(_, shared) = &self.state
            && let Some(reason) = shared.failure()
        {
            let reason = reason.to_owned();
            self.fail(reason);
        }
        match &self.state {
            State::Ready(..) => return false,
            State::Apart => {
                if let Some(shared) = self.place.current()
                    && self.backoff.is_due(now)
                {
                    match R::add(&shared, &self.stream) {
                        Ok(adding) => self.state = State::Adding(adding, shared),
                        Err(error) => self.fail_with(&error),
                    }
                }
            }
            State::Adding(adding, shared) => match R::poll(adding) {
                Ok(None) => {}
                Ok(Some(resource)) => {
                    self.state = State::Ready(resource, Rc::clone(shared));
                    self.failure = None;
                    self.backoff.succeeded();
                    return true;
                }
                Err(error) => self.fail_with(&error),
            },
        }
        false
    }
}

/// Sends into an Aeron publication.
pub struct AeronSink {
    half: Half<AeronExclusivePublication>,
    /// The longest message that goes without being cut, in bytes.
    payload_bytes: usize,
    max_message_bytes: usize,
    scratch: Vec<u8>,
}

impl AeronSink {
    pub(super) fn new(place: &Rc<Place>, stream: &Stream, max_message_bytes: usize) -> Self {
        let half = Half::new(place, stream);
        Self { half, payload_bytes: 0, max_message_bytes, scratch: Vec::new() }
    }

    fn measure(&mut self) {
        let State::Ready(publication, _) = &self.half.state else { return };
        match publication.get_constants() {
            Ok(constants) => {
                self.payload_bytes = constants.max_payload_length();
                self.max_message_bytes = constants.max_message_length();
            }
            Err(error) => self.half.fail_with(&error),
        }
    }
}

/// One attempt: in place for a message that fits into one fragment, gathered
/// by Aeron for a longer one.
fn send(
    publication: &AeronExclusivePublication,
    payload_bytes: usize,
    scratch: &mut Vec<u8>,
    head: &[u8],
    parts: &[&[u8]],
) -> Result<(), AeronOfferError> {
    let length = head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
    if length <= payload_bytes {
        let mut claim = publication.try_claim_owned(length)?;
        let (start, mut rest) = claim.data().split_at_mut(head.len());
        start.copy_from_slice(head);
        for part in parts {
            let (place, behind) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        }
        return claim.commit().map(drop).map_err(AeronOfferError::Error);
    }
    if parts.len() < MAX_PARTS {
        let mut gathered: [&[u8]; MAX_PARTS] = [&[]; MAX_PARTS];
        gathered[0] = head;
        gathered[1..=parts.len()].copy_from_slice(parts);
        return publication.offer_parts(&gathered[..=parts.len()]).map(drop);
    }
    scratch.clear();
    scratch.extend_from_slice(head);
    for part in parts {
        scratch.extend_from_slice(part);
    }
    publication.offer_parts(&[scratch]).map(drop)
}

impl FrameSink for AeronSink {
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        let (publication, shared) = match &self.half.state {
            State::Ready(publication, shared) => (publication, shared),
            State::Adding(..) => return Offer::Unheard,
            State::Apart => return Offer::Failed,
        };
        for _ in 0..TRIES {
            match send(publication, self.payload_bytes, &mut self.scratch, head, parts) {
                Ok(()) => return Offer::Taken,
                Err(AeronOfferError::NotConnected) => return Offer::Unheard,
                Err(AeronOfferError::BackPressured) => {
                    shared.is_waited_for.set(true);
                    return Offer::Busy;
                }
                Err(AeronOfferError::AdminAction) => {}
                Err(error) => {
                    self.half.fail(format!("publication: {error}"));
                    return Offer::Failed;
                }
            }
        }
        Offer::Busy
    }

    fn max_frame_bytes(&self) -> usize {
        self.max_message_bytes
    }

    fn work(&mut self, now: Time) {
        if self.half.work(now) {
            self.measure();
        }
    }

    fn is_ready(&self) -> bool {
        self.half.is_ready()
    }

    fn failure(&self) -> Option<&str> {
        self.half.failure.as_deref()
    }
}

/// Receives from an Aeron subscription.
pub struct AeronSource {
    half: Half<AeronSubscription>,
    assembler: AeronFragmentClosureAssembler,
    sessions: Sessions,
}

impl AeronSource {
    pub(super) fn new(place: &Rc<Place>, stream: &Stream) -> Result<Self, AeronCError> {
        let assembler = AeronFragmentClosureAssembler::new()?;
        Ok(Self { half: Half::new(place, stream), assembler, sessions: Sessions::default() })
    }
}

/// A frame goes to whoever reads it; the presence of a peer says what its session is.
#[allow(clippy::needless_pass_by_value, reason = "Aeron hands it over so")]
fn pass_on<F: FnMut(&[u8])>(
    (on_frame, sessions): &mut (&mut F, &mut Sessions),
    frame: &[u8],
    header: AeronHeader,
) {
    if is_presence(frame) {
        sessions.note(frame, || {
            let values = AeronHeaderValues::new_zeroed_on_stack();
            header.values(&values).ok().map(|_| values.frame().session_id())
        });
    }
    on_frame(frame);
}

impl FrameSource for AeronSource {
    fn poll(&mut self, _now: Time, limit: usize, mut on_frame: impl FnMut(&[u8])) -> usize {
        let State::Ready(subscription, _) = &self.half.state else { return 0 };
        let mut reader = (&mut on_frame, &mut self.sessions);
        match self.assembler.poll(subscription, &mut reader, pass_on, limit) {
            Ok(read) => usize::try_from(read).unwrap_or(0),
            Err(error) => {
                self.half.fail_with(&error);
                0
            }
        }
    }

    fn work(&mut self, now: Time) {
        self.half.work(now);
    }

    fn is_ready(&self) -> bool {
        self.half.is_ready()
    }

    fn sessions_of(&self, peer: Incarnation) -> Vec<i32> {
        self.sessions.of(peer).into_iter().collect()
    }

    fn failure(&self) -> Option<&str> {
        self.half.failure.as_deref()
    }
}
