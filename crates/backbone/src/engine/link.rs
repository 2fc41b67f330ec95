//! A publication and a subscription as the two directions of a port.

use std::rc::Rc;

use rusteron_media_driver::{
    AeronAsyncAddExclusivePublication, AeronAsyncAddSubscription, AeronCError,
    AeronExclusivePublication, AeronFragmentClosureAssembler, AeronHeader, AeronOfferError,
    AeronSubscription, Handlers,
};
use tapeline_rssl::Time;

use super::{Shared, c_string, words};
use crate::channel::Stream;
use crate::outbound::{Offer, Sink};
use crate::port::Source;

/// Aeron asks for another try at once when a term ends; the second one
/// succeeds, and more are for the improbable.
const TRIES: usize = 4;

/// How many parts Aeron gathers; more go through a buffer.
const MAX_PARTS: usize = 8;

/// Sends into an Aeron publication.
pub struct AeronSink {
    publication: Publication,
    /// The longest message that goes without being cut, in bytes.
    payload_bytes: usize,
    max_message_bytes: usize,
    scratch: Vec<u8>,
    /// Declared last: the publication goes before the client.
    shared: Rc<Shared>,
}

enum Publication {
    Adding(AeronAsyncAddExclusivePublication),
    Ready(AeronExclusivePublication),
    Failed(String),
}

impl AeronSink {
    pub(super) fn add(
        shared: &Rc<Shared>,
        stream: &Stream,
        max_message_bytes: usize,
    ) -> Result<Self, AeronCError> {
        let uri = c_string(&stream.uri);
        let adding = shared.client.async_add_exclusive_publication(&uri, stream.id)?;
        Ok(Self {
            publication: Publication::Adding(adding),
            payload_bytes: 0,
            max_message_bytes,
            scratch: Vec::new(),
            shared: Rc::clone(shared),
        })
    }

    fn become_ready(&mut self, publication: AeronExclusivePublication) {
        match publication.get_constants() {
            Ok(constants) => {
                self.payload_bytes = constants.max_payload_length();
                self.max_message_bytes = constants.max_message_length();
                self.publication = Publication::Ready(publication);
            }
            Err(error) => self.publication = Publication::Failed(failed("publication", &error)),
        }
    }
}

fn failed(what: &str, error: &AeronCError) -> String {
    format!("{what}: {}", words(error))
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

impl Sink for AeronSink {
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        let publication = match &self.publication {
            Publication::Ready(publication) => publication,
            Publication::Adding(_) => return Offer::Unheard,
            Publication::Failed(_) => return Offer::Failed,
        };
        for _ in 0..TRIES {
            match send(publication, self.payload_bytes, &mut self.scratch, head, parts) {
                Ok(()) => return Offer::Taken,
                Err(AeronOfferError::NotConnected) => return Offer::Unheard,
                Err(AeronOfferError::BackPressured) => {
                    self.shared.is_waited_for.set(true);
                    return Offer::Busy;
                }
                Err(AeronOfferError::AdminAction) => {}
                Err(error) => {
                    self.publication = Publication::Failed(format!("publication: {error}"));
                    return Offer::Failed;
                }
            }
        }
        Offer::Busy
    }

    fn max_frame_bytes(&self) -> usize {
        self.max_message_bytes
    }

    fn work(&mut self, _now: Time) {
        let Publication::Adding(adding) = &self.publication else { return };
        match adding.poll() {
            Ok(None) => {}
            Ok(Some(publication)) => self.become_ready(publication),
            Err(error) => self.publication = Publication::Failed(failed("publication", &error)),
        }
    }

    fn failure(&self) -> Option<&str> {
        match &self.publication {
            Publication::Failed(reason) => Some(reason),
            _ => None,
        }
    }
}

/// Receives from an Aeron subscription.
pub struct AeronSource {
    subscription: Subscription,
    assembler: AeronFragmentClosureAssembler,
    /// Declared last: the subscription goes before the client.
    _shared: Rc<Shared>,
}

enum Subscription {
    Adding(AeronAsyncAddSubscription),
    Ready(AeronSubscription),
    Failed(String),
}

impl AeronSource {
    pub(super) fn add(shared: &Rc<Shared>, stream: &Stream) -> Result<Self, AeronCError> {
        let adding = shared.client.async_add_subscription(
            &c_string(&stream.uri),
            stream.id,
            Handlers::NONE,
            Handlers::NONE,
        )?;
        Ok(Self {
            subscription: Subscription::Adding(adding),
            assembler: AeronFragmentClosureAssembler::new()?,
            _shared: Rc::clone(shared),
        })
    }
}

fn pass_on<F: FnMut(&[u8])>(on_frame: &mut F, frame: &[u8], _header: AeronHeader) {
    on_frame(frame);
}

impl Source for AeronSource {
    fn poll(&mut self, _now: Time, limit: usize, mut on_frame: impl FnMut(&[u8])) -> usize {
        let Subscription::Ready(subscription) = &self.subscription else { return 0 };
        match self.assembler.poll(subscription, &mut on_frame, pass_on, limit) {
            Ok(read) => usize::try_from(read).unwrap_or(0),
            Err(error) => {
                self.subscription = Subscription::Failed(failed("subscription", &error));
                0
            }
        }
    }

    fn work(&mut self, _now: Time) {
        let Subscription::Adding(adding) = &self.subscription else { return };
        match adding.poll() {
            Ok(None) => {}
            Ok(Some(subscription)) => self.subscription = Subscription::Ready(subscription),
            Err(error) => {
                self.subscription = Subscription::Failed(failed("subscription", &error));
            }
        }
    }

    fn failure(&self) -> Option<&str> {
        match &self.subscription {
            Subscription::Failed(reason) => Some(reason),
            _ => None,
        }
    }
}
