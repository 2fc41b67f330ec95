//! The stream ids of one connection: who has each, and when it may be used
//! again.

use std::collections::VecDeque;

use super::spec::Handle;

/// Stream ids of what is not an item; items follow.
pub(super) const LOGIN_STREAM: i32 = 1;
pub(super) const DIRECTORY_STREAM: i32 = 2;
pub(super) const FIELDS_STREAM: i32 = 3;
pub(super) const ENUMS_STREAM: i32 = 4;
const FIRST_ITEM_STREAM: i32 = 5;

/// How long a stream id that was given back is not used again, in
/// milliseconds: messages for the old stream may be on their way. After this
/// time too it rests until a later request was answered: what the provider
/// sent before it knew of the close has come by then.
const REST_MS: u64 = 10_000;

/// All stream ids of a connection. Every request has one of its own, also when
/// an item is requested again, so that no answer is taken for another.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Who has the stream ids from the first one on.
    owners: Vec<Option<Handle>>,
    /// Places that may be used again, the longest free first.
    free: VecDeque<u32>,
    /// Places that rest, in the order of their release.
    resting: VecDeque<Resting>,
    /// Requests that were sent.
    requests: u64,
    /// The latest of them that is known to be answered.
    answered: u64,
}

#[derive(Debug)]
struct Resting {
    index: u32,
    until_ms: u64,
    /// Requests that were sent before it was given back.
    requests: u64,
}

const fn id_of(index: u32) -> i32 {
    index as i32 + FIRST_ITEM_STREAM
}

fn index_of(stream_id: i32) -> Option<usize> {
    usize::try_from(stream_id.checked_sub(FIRST_ITEM_STREAM)?).ok()
}

impl Streams {
    /// Who has a stream.
    #[inline]
    pub(super) fn owner(&self, stream_id: i32) -> Option<Handle> {
        self.owners.get(index_of(stream_id)?).copied().flatten()
    }

    /// A stream for a request of an item, and the number of the request.
    pub(super) fn take(&mut self, now_ms: u64, owner: Handle) -> (i32, u64) {
        self.release_rested(now_ms);
        let index = self.free.pop_front().unwrap_or_else(|| {
            self.owners.push(None);
            self.owners.len() as u32 - 1
        });
        self.assign(id_of(index), owner)
    }

    /// Streams in a row for a batch: its own, which nobody has, and those of
    /// its items behind it, to be [assigned](Self::assign). Returns the first.
    pub(super) fn take_run(&mut self, now_ms: u64, items: u32) -> i32 {
        self.release_rested(now_ms);
        let len = items + 1;
        let first = self.free_run(len).unwrap_or_else(|| {
            let first = self.owners.len();
            self.owners.resize(first + len as usize, None);
            first as u32
        });
        self.free.retain(|index| !(first..first + len).contains(index));
        id_of(first)
    }

    fn free_run(&self, len: u32) -> Option<u32> {
        if self.free.len() < len as usize {
            return None;
        }
        let mut free: Vec<u32> = self.free.iter().copied().collect();
        free.sort_unstable();
        let is_run = |run: &&[u32]| run[run.len() - 1] - run[0] == len - 1;
        free.windows(len as usize).find(is_run).map(|run| run[0])
    }

    /// Gives a stream that was taken to the item that is requested on it.
    pub(super) fn assign(&mut self, stream_id: i32, owner: Handle) -> (i32, u64) {
        if let Some(place) = index_of(stream_id).and_then(|index| self.owners.get_mut(index)) {
            *place = Some(owner);
        }
        self.requests += 1;
        (stream_id, self.requests)
    }

    /// A stream is not used any more; `rests`: messages for it may follow.
    pub(super) fn give_back(&mut self, now_ms: u64, stream_id: i32, rests: bool) {
        let Some(index) = index_of(stream_id).filter(|index| *index < self.owners.len()) else {
            return;
        };
        self.owners[index] = None;
        let index = index as u32;
        match rests {
            true => self.resting.push_back(Resting {
                index,
                until_ms: now_ms.saturating_add(REST_MS),
                requests: self.requests,
            }),
            false => self.free.push_back(index),
        }
    }

    /// A request got its image.
    pub(super) fn answered(&mut self, request: u64) {
        self.answered = self.answered.max(request);
    }

    fn release_rested(&mut self, now_ms: u64) {
        let answered = self.answered;
        let has_rested = |place: &Resting| place.until_ms <= now_ms && place.requests < answered;
        while let Some(place) = self.resting.front().filter(|place| has_rested(place)) {
            self.free.push_back(place.index);
            self.resting.pop_front();
        }
    }

    /// The connection is lost, and with it all that was on its way.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::Key;

    fn owner(index: u32) -> Handle {
        Handle(Key { index, generation: 0 })
    }

    #[test]
    fn a_stream_rests_for_a_time_and_until_a_later_request_is_answered() {
        let mut streams = Streams::default();
        let (first, _) = streams.take(0, owner(0));
        streams.give_back(0, first, true);
        assert_eq!(streams.owner(first), None);
        let (second, request) = streams.take(REST_MS, owner(1));
        assert_eq!((first, second), (5, 6), "no answer yet");
        streams.answered(request);
        assert_eq!(streams.take(REST_MS - 1, owner(2)).0, 7, "not long enough");
        assert_eq!(streams.take(REST_MS, owner(3)).0, 5);
        assert_eq!(streams.owner(5), Some(owner(3)));
    }

    #[test]
    fn a_stream_that_the_provider_ended_is_free_at_once() {
        let mut streams = Streams::default();
        let (first, _) = streams.take(0, owner(0));
        streams.give_back(0, first, false);
        assert_eq!(streams.take(0, owner(1)).0, first);
    }

    #[test]
    fn batches_take_streams_in_a_row_and_use_them_again() {
        let mut streams = Streams::default();
        let single = streams.take(0, owner(0)).0;
        let base = streams.take_run(0, 2);
        assert_eq!((single, base), (5, 6));
        streams.assign(base + 1, owner(1));
        streams.assign(base + 2, owner(2));
        for stream_id in [base + 2, base, base + 1] {
            streams.give_back(0, stream_id, false);
        }
        assert_eq!(streams.take_run(0, 2), base);
        assert_eq!(streams.take_run(0, 2), 9);
    }

    #[test]
    fn streams_that_are_not_of_items_belong_to_nobody() {
        let mut streams = Streams::default();
        for stream_id in [i32::MIN, -1, 0, 1, 4, 5, 77, i32::MAX] {
            assert_eq!(streams.owner(stream_id), None);
            streams.give_back(0, stream_id, true);
        }
    }
}
