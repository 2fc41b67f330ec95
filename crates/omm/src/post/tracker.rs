//! Posts that wait for their acks, on the side of the poster.

use std::collections::{BTreeMap, VecDeque};

use tapeline_rwf::{AckMsg, PostFlags, PostMsg};
use thiserror::Error;

/// The parts of posts that wait for an ack. One that does not get it in time
/// is refused locally, with
/// [`PostRefusal::NoResponse`](super::PostRefusal::NoResponse).
///
/// Time is given as milliseconds of any clock that does not go back.
#[derive(Clone, Debug)]
pub struct PostTracker {
    timeout_ms: u64,
    max_outstanding: usize,
    /// Each with its deadline.
    waiting: BTreeMap<Part, u64>,
    /// In the order of their deadlines, since all wait equally long. Entries
    /// that are not in `waiting` any more, with this deadline, are passed over.
    deadlines: VecDeque<(u64, Part)>,
}

/// What an ack is matched by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    stream_id: i32,
    post_id: u32,
    seq_num: Option<u32>,
}

/// A post was not taken: too many wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{limit} posts wait for an ack, no more are sent")]
pub struct TooManyPosts {
    /// The most that may wait.
    pub limit: usize,
}

impl Default for PostTracker {
    fn default() -> Self {
        Self::new(Self::DEFAULT_TIMEOUT_MS, Self::DEFAULT_MAX_OUTSTANDING)
    }
}

impl PostTracker {
    /// How long the vendor's library waits for an ack, in milliseconds.
    pub const DEFAULT_TIMEOUT_MS: u64 = 15_000;
    /// How many posts may wait in the vendor's library.
    pub const DEFAULT_MAX_OUTSTANDING: usize = 100_000;

    /// Nothing waits.
    pub const fn new(timeout_ms: u64, max_outstanding: usize) -> Self {
        Self { timeout_ms, max_outstanding, waiting: BTreeMap::new(), deadlines: VecDeque::new() }
    }

    /// How many parts wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A part of a post is about to be sent. Parts that want no ack are not
    /// counted.
    pub fn sent(&mut self, now_ms: u64, post: &PostMsg<'_>) -> Result<(), TooManyPosts> {
        let Some(post_id) = post.post_id.filter(|_| post.flags.contains(PostFlags::ACK)) else {
            return Ok(());
        };
        if self.waiting.len() >= self.max_outstanding {
            return Err(TooManyPosts { limit: self.max_outstanding });
        }
        let part = Part { stream_id: post.stream_id, post_id, seq_num: post.seq_num };
        let deadline_ms = now_ms.saturating_add(self.timeout_ms);
        self.waiting.insert(part, deadline_ms);
        self.deadlines.push_back((deadline_ms, part));
        self.forget_void();
        Ok(())
    }

    /// An ack came. Whether something waited for it.
    pub fn acked(&mut self, ack: &AckMsg<'_>) -> bool {
        let part = Part { stream_id: ack.stream_id, post_id: ack.ack_id, seq_num: ack.seq_num };
        self.waiting.remove(&part).is_some()
    }

    /// The stream closed: acks for it will not come.
    pub fn stream_closed(&mut self, stream_id: i32) {
        self.waiting.retain(|part, _| part.stream_id != stream_id);
    }

    /// When [`expired`](Self::expired) has something to do.
    pub fn deadline_ms(&mut self) -> Option<u64> {
        self.forget_void();
        self.deadlines.front().map(|(deadline_ms, _)| *deadline_ms)
    }

    /// The next part whose time is up: stream, post id and sequence number.
    /// To be asked until there is none.
    pub fn expired(&mut self, now_ms: u64) -> Option<(i32, u32, Option<u32>)> {
        self.forget_void();
        let (deadline_ms, part) = *self.deadlines.front()?;
        if deadline_ms > now_ms {
            return None;
        }
        self.deadlines.pop_front();
        self.waiting.remove(&part);
        Some((part.stream_id, part.post_id, part.seq_num))
    }

    /// Drops what no longer waits from the front, and everywhere when acks came
    /// out of order for so long that most of the queue is void.
    fn forget_void(&mut self) {
        let waiting = &self.waiting;
        let waits = |(deadline_ms, part): &(u64, Part)| waiting.get(part) == Some(deadline_ms);
        while self.deadlines.front().is_some_and(|entry| !waits(entry)) {
            self.deadlines.pop_front();
        }
        if self.deadlines.len() > 2 * waiting.len() + 16 {
            self.deadlines.retain(waits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::Domain;

    fn post(post_id: u32, seq_num: Option<u32>) -> PostMsg<'static> {
        PostMsg {
            flags: PostFlags::ACK,
            post_id: Some(post_id),
            seq_num,
            ..PostMsg::new(Domain::MARKET_PRICE, 5)
        }
    }

    fn ack(ack_id: u32, seq_num: Option<u32>) -> AckMsg<'static> {
        AckMsg { ack_id, seq_num, ..AckMsg::new(Domain::MARKET_PRICE, 5) }
    }

    #[test]
    fn acks_are_matched_by_part() {
        let mut tracker = PostTracker::default();
        tracker.sent(0, &post(1, Some(1))).expect("room");
        tracker.sent(0, &post(1, Some(2))).expect("room");
        assert!(!tracker.acked(&ack(1, None)));
        assert!(tracker.acked(&ack(1, Some(2))));
        assert!(!tracker.acked(&ack(1, Some(2))));
        assert_eq!(tracker.len(), 1);
    }

    #[test]
    fn what_is_not_acked_in_time_expires_in_order() {
        let mut tracker = PostTracker::new(100, 10);
        for (now_ms, id) in [(0, 1), (10, 2), (20, 3)] {
            tracker.sent(now_ms, &post(id, None)).expect("room");
        }
        assert_eq!(tracker.deadline_ms(), Some(100));
        assert!(tracker.acked(&ack(1, None)));
        assert_eq!(tracker.deadline_ms(), Some(110));
        assert_eq!(tracker.expired(109), None);
        assert_eq!(tracker.expired(120), Some((5, 2, None)));
        assert_eq!(tracker.expired(120), Some((5, 3, None)));
        assert_eq!(tracker.expired(120), None);
        assert_eq!(tracker.deadline_ms(), None);
    }

    #[test]
    fn the_limit_holds_and_posts_without_ack_do_not_count() {
        let mut tracker = PostTracker::new(100, 1);
        tracker.sent(0, &post(1, None)).expect("room");
        let error = tracker.sent(0, &post(2, None)).unwrap_err();
        assert_eq!(error.to_string(), "1 posts wait for an ack, no more are sent");
        let silent = PostMsg { flags: PostFlags::empty(), ..post(2, None) };
        assert_eq!(tracker.sent(0, &silent), Ok(()));
        tracker.stream_closed(5);
        assert!(tracker.is_empty());
        assert_eq!(tracker.deadline_ms(), None);
    }

    #[test]
    fn an_id_that_is_used_again_has_its_full_time() {
        let mut tracker = PostTracker::new(100, 10);
        tracker.sent(0, &post(0, None)).expect("room");
        tracker.sent(0, &post(1, None)).expect("room");
        assert!(tracker.acked(&ack(1, None)));
        tracker.sent(50, &post(1, None)).expect("room");
        assert_eq!(tracker.expired(100), Some((5, 0, None)));
        assert_eq!(tracker.expired(100), None);
        assert_eq!(tracker.expired(150), Some((5, 1, None)));
    }

    #[test]
    fn the_queue_stays_in_proportion_to_what_waits() {
        let mut tracker = PostTracker::new(100, 1000);
        tracker.sent(0, &post(0, None)).expect("room");
        for id in 1..10_000 {
            tracker.sent(0, &post(id, None)).expect("room");
            assert!(tracker.acked(&ack(id, None)));
        }
        assert!(tracker.deadlines.len() < 32, "{}", tracker.deadlines.len());
    }
}
