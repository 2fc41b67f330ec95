//! Requests that wait for their service, of all mounts.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::time::Duration;

use tapeline_time::Time;

use super::stream::Stream;

/// A request for a service that nobody knows: until when it waits, the number of
/// its mount, its stream.
pub(super) type Unplaced = (Time, u32, i32);

/// Which requests wait, and for what. The requests themselves are on their
/// streams.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// For a service that cannot serve them now: service, number of the mount,
    /// stream.
    pending: BTreeSet<(u16, u32, i32)>,
    /// For a service that no hub has told of yet.
    unplaced: BTreeSet<Unplaced>,
    /// How many wait for their turn.
    pub(super) paced: usize,
    /// When a hub first told of a service.
    first_service_at: Option<Time>,
}

impl Waiting {
    /// A request waits for its service to be usable.
    pub(super) fn add_pending(&mut self, service_id: u16, number: u32, stream_id: i32) {
        self.pending.insert((service_id, number, stream_id));
    }

    /// A request waits for its service to become known, until then.
    pub(super) fn add_unplaced(&mut self, unplaced: Unplaced) {
        self.unplaced.insert(unplaced);
    }

    /// What is on a stream of a mount waits no longer, if it did.
    pub(super) fn remove(&mut self, number: u32, stream_id: i32, stream: &Stream) {
        match stream {
            Stream::Pending(of) => {
                let was_there = self.pending.remove(&(of.service_id, number, stream_id));
                debug_assert!(was_there, "stream {stream_id} of mount {number} waits");
            }
            // One whose time is up was taken out.
            Stream::Unplaced(of) => _ = self.unplaced.remove(&(of.until, number, stream_id)),
            Stream::Paced(_) => self.paced -= 1,
            Stream::Login | Stream::Directory(_) | Stream::Dictionary(_) => {}
        }
    }

    /// The first request that waits for a service, from this mount's stream on.
    pub(super) fn next_pending(&self, service_id: u16, first: (u32, i32)) -> Option<(u32, i32)> {
        let first = (service_id, first.0, first.1);
        let last = (service_id, u32::MAX, i32::MAX);
        self.pending.range(first..=last).next().map(|(_, number, stream_id)| (*number, *stream_id))
    }

    /// The request for an unknown service that is behind `after`, or the first.
    pub(super) fn next_unplaced(&self, after: Option<Unplaced>) -> Option<Unplaced> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.unplaced.range((after, Bound::Unbounded)).next().copied()
    }

    /// Takes out a request for an unknown service whose time is up.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<Unplaced> {
        let is_due = self.deadline().is_some_and(|until| until <= now);
        if is_due { self.unplaced.pop_first() } else { None }
    }

    /// When the first of those is refused.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.unplaced.first().map(|(until, ..)| *until)
    }

    /// Whether any request waits for a service that nobody knows.
    pub(super) fn has_unplaced(&self) -> bool {
        !self.unplaced.is_empty()
    }

    /// A hub told of services.
    pub(super) fn note_services(&mut self, now: Time) {
        self.first_service_at.get_or_insert(now);
    }

    /// Whether a service is known at all.
    pub(super) const fn knows_any(&self) -> bool {
        self.first_service_at.is_some()
    }

    /// Whether services have been known for so long that one which is not will
    /// not come.
    pub(super) fn is_settled(&self, now: Time, patience: Duration) -> bool {
        self.first_service_at.is_some_and(|at| at.after(patience) <= now)
    }

    /// Panics if others wait than those on streams.
    pub(super) fn check(&self, pending: &BTreeSet<(u16, u32, i32)>, unplaced: &BTreeSet<Unplaced>) {
        assert_eq!(&self.pending, pending, "requests that wait for a service");
        assert_eq!(&self.unplaced, unplaced, "requests for services that nobody knows");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    #[test]
    fn requests_of_a_service_are_walked_from_a_stream_on() {
        let mut waiting = Waiting::default();
        for (service_id, number, stream_id) in [(1, 0, 5), (1, 0, 7), (1, 2, 5), (2, 0, 6)] {
            waiting.add_pending(service_id, number, stream_id);
        }
        assert_eq!(waiting.next_pending(1, (0, i32::MIN)), Some((0, 5)));
        assert_eq!(waiting.next_pending(1, (0, 6)), Some((0, 7)));
        assert_eq!(waiting.next_pending(1, (0, 8)), Some((2, 5)));
        assert_eq!(waiting.next_pending(1, (2, 6)), None);
        assert_eq!(waiting.next_pending(3, (0, i32::MIN)), None);
    }

    #[test]
    fn those_for_unknown_services_are_due_in_their_order() {
        let mut waiting = Waiting::default();
        assert!(!waiting.has_unplaced());
        waiting.add_unplaced((at(20), 1, 5));
        waiting.add_unplaced((at(10), 2, 5));
        assert_eq!(waiting.deadline(), Some(at(10)));
        assert_eq!(waiting.next_unplaced(None), Some((at(10), 2, 5)));
        assert_eq!(waiting.next_unplaced(Some((at(10), 2, 5))), Some((at(20), 1, 5)));
        assert_eq!(waiting.pop_due(at(9)), None);
        assert_eq!(waiting.pop_due(at(20)), Some((at(10), 2, 5)));
        assert_eq!(waiting.pop_due(at(20)), Some((at(20), 1, 5)));
        assert_eq!(waiting.pop_due(at(99)), None);
    }

    #[test]
    fn services_are_settled_so_long_after_the_first() {
        let mut waiting = Waiting::default();
        let patience = Duration::from_millis(15);
        assert!(!waiting.is_settled(at(100), patience) && !waiting.knows_any());
        waiting.note_services(at(100));
        waiting.note_services(at(110));
        assert!(!waiting.is_settled(at(114), patience) && waiting.knows_any());
        assert!(waiting.is_settled(at(115), patience));
    }
}
