//! Items: who wants them, where they come from, how they are.

use tapeline_cache::{Conflation, Image};
use tapeline_omm::stream::{ConsumerStream, Reissue, StreamOptions};
use tapeline_omm::{GroupId, ItemKey, StateBuf};
use tapeline_rwf::{DataState, Priority, RequestFlags, State, StateCode, StreamState};

use super::interests::Interests;
use super::relay::Payload;

/// No timer is set. A number of its own takes half of what an `Option` does.
pub(crate) const NEVER_MS: u64 = u64::MAX;

/// One item: a stream of one source, and the servers that want it.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the item")]
pub(crate) struct Item {
    /// Who wants it.
    pub(crate) interests: Interests,
    /// Its last value, if it is kept.
    pub(crate) image: Option<Box<Image>>,
    /// Updates that were merged, as the backbone takes no more.
    pub(crate) merges: Option<Box<Conflation>>,
    /// How many frames went to all servers.
    pub(crate) seq: u32,
    /// A part of an image has come on the present binding: updates make sense.
    pub(crate) live: bool,
    /// One requester's alone.
    pub(crate) private: bool,
    /// Updates are wanted, not only an image.
    pub(crate) streaming: bool,
    /// A non-interactive provider published it: no requests are made for it.
    pub(crate) published: bool,
    /// The image that is coming lacks parts.
    pub(crate) in_parts: bool,
    /// How many images of it in a row were given up before their end.
    pub(crate) given_up: u8,
    /// The number of the next part of the image that is coming.
    pub(crate) next_part: u16,
    /// The image that is coming is the answer to a request.
    pub(crate) is_answer: bool,
    /// Parts that may still come of an image that is over all the same.
    pub(crate) void: Option<Void>,
    /// The image that is coming goes to all, not only to those who wait.
    pub(crate) to_all: bool,
    /// It was lost: the next image replaces what servers have.
    pub(crate) recovering: bool,
    /// It moved to another source, and the image of that is due.
    pub(crate) failing_over: bool,
    /// Another image of it is to be asked for when there is room.
    pub(crate) wants_image: bool,
    /// It counts against the open window of its source.
    pub(crate) in_window: bool,
    /// The service, by the hub's id.
    pub(crate) service: u16,
    /// Where it comes from.
    pub(crate) binding: Option<Binding>,
    /// Its stream at an interactive provider.
    pub(crate) stream: ConsumerStream,
    /// What it is; the service id is the hub's.
    pub(crate) key: ItemKey,
    /// How it is, as servers were told.
    pub(crate) state: StateBuf,
    /// Its group at its source.
    pub(crate) group: GroupId,
    /// Its place among those of the group that are bound where it is.
    pub(crate) place: u32,
    /// Its number in the queue of requests that wait where it is bound.
    pub(crate) ticket: u64,
    /// Its rank among those that can give way where it is bound.
    pub(crate) ranked: Option<Priority>,
    /// The last of what its source said of many items that it was told.
    pub(crate) heard: u32,
    /// The source, and its service, that closed it or did not answer: another is tried
    /// first.
    pub(crate) avoid: Avoided,
    /// What the provider was last told of the interest.
    pub(crate) told_priority: Priority,
    /// The provider was told of a change on the present stream.
    pub(crate) is_reissued: bool,
    /// A change that the provider is to be told of when it has read.
    pub(crate) untold: Option<Reissue>,
    /// Flags of the request beside those of the stream.
    pub(crate) request_flags: RequestFlags,
    /// Payload of the request.
    pub(crate) payload: Option<Box<Payload>>,
    /// When it is closed unless its lost non-interactive provider is back, in
    /// milliseconds.
    pub(crate) stale_at_ms: Option<u64>,
    /// When the image that is coming is given up at the latest, in milliseconds.
    pub(crate) image_end_ms: u64,
    /// When the next part of the image that is coming is due, in milliseconds.
    pub(crate) part_due_ms: Option<u64>,
    /// When the timer goes off that is set for it, or [`NEVER_MS`].
    pub(crate) armed_ms: u64,
}

/// Which parts of images are not to be taken, until one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Void {
    /// Those of the answer: another image took its place.
    Answer,
    /// Those of an image that nobody asked for: it was given up.
    Unasked,
}

/// Where an item comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binding {
    /// Index of the source.
    pub(crate) source: u32,
    /// The service, by the source's id.
    pub(crate) service_id: u16,
    /// Which offer of that service: one that is withdrawn and made again is
    /// another.
    pub(crate) generation: u32,
    /// The stream; `None` while the request waits for room.
    pub(crate) stream_id: Option<i32>,
}

/// A source and its service, or none: an `Option` of both takes half as much again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Avoided {
    source: u32,
    service_id: u16,
    is_any: bool,
}

impl Avoided {
    pub(crate) const fn of(binding: &Binding) -> Self {
        Self { source: binding.source, service_id: binding.service_id, is_any: true }
    }

    pub(crate) fn is(&self, offer: (u32, u16)) -> bool {
        self.is_any && (self.source, self.service_id) == offer
    }
}

impl Binding {
    /// The source, and its service.
    pub(crate) const fn offer(&self) -> (u32, u16) {
        (self.source, self.service_id)
    }

    /// Whether it is a request that waits for room at a source.
    pub(crate) fn waits_at(&self, source: u32, service_id: u16) -> bool {
        (self.source, self.service_id, self.stream_id) == (source, service_id, None)
    }
}

/// A server's wish for an item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interest {
    /// Index of the server.
    pub(crate) server: u32,
    /// The server's number for the request.
    pub(crate) request: u32,
    /// An image is all that is wanted.
    pub(crate) snapshot: bool,
    /// No updates are wanted for now.
    pub(crate) paused: bool,
    /// How much it is wanted.
    pub(crate) priority: Priority,
    /// The server was told which item it is for.
    pub(crate) accepted: bool,
    /// How far it is.
    pub(crate) stage: Stage,
}

/// How far a server's wish for an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It came in the middle of an image, or while others wait for a snapshot:
    /// its turn is when that is complete.
    Late,
    /// The next image that was asked for is for it.
    Waiting,
    /// The image that is coming is for it.
    Receiving,
    /// It has an image.
    Live,
}

impl Item {
    pub(crate) fn new(key: ItemKey, service: u16, options: StreamOptions) -> Self {
        Self {
            key,
            service,
            private: options.private,
            streaming: options.streaming,
            published: false,
            binding: None,
            stream: ConsumerStream::new(options),
            live: false,
            in_parts: false,
            next_part: 0,
            is_answer: false,
            void: None,
            to_all: false,
            interests: Interests::default(),
            state: StateBuf::new(StreamState::OPEN, DataState::NO_CHANGE, StateCode::NONE, ""),
            group: GroupId::default(),
            place: 0,
            ticket: 0,
            ranked: None,
            heard: 0,
            seq: 0,
            image: None,
            merges: None,
            recovering: false,
            failing_over: false,
            avoid: Avoided::default(),
            wants_image: false,
            in_window: false,
            is_reissued: false,
            untold: None,
            told_priority: Priority::default(),
            request_flags: RequestFlags::empty(),
            payload: None,
            stale_at_ms: None,
            image_end_ms: 0,
            part_due_ms: None,
            given_up: 0,
            armed_ms: NEVER_MS,
        }
    }

    /// Adds a server's wish.
    pub(crate) fn add_interest(&mut self, interest: Interest) {
        self.interests.push(interest);
    }

    /// How much all servers together want it: the highest class, the sum of
    /// the counts.
    pub(crate) fn priority(&self) -> Priority {
        let class = self.interests.iter().map(|interest| interest.priority.class).max();
        let counts = self.interests.iter().map(|interest| interest.priority.count);
        Priority { class: class.unwrap_or(1), count: counts.fold(0, u16::saturating_add).max(1) }
    }

    /// Whether a kept image can be given to whoever asks.
    pub(crate) fn has_good_image(&self) -> bool {
        self.image.as_ref().is_some_and(|image| image.is_complete())
            && self.live
            && !self.in_parts
            && self.state.data == DataState::OK
            && self.state.stream == StreamState::OPEN
    }

    /// When it wants to be looked at.
    pub(crate) fn deadline_ms(&self) -> Option<u64> {
        let stream = self.stream.deadline_ms().filter(|_| !self.published);
        [stream, self.stale_at_ms, self.part_due_ms].into_iter().flatten().min()
    }

    /// Remembers how the item is.
    pub(crate) fn set_state(&mut self, state: &State<'_>) {
        self.state.apply(state);
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_small() {
        assert!(size_of::<Item>() <= 312, "{}", size_of::<Item>());
    }
}
