//! What waits until the output of a mount has drained.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tapeline_cache::Since;

use super::dictionary::Download;
use super::map::Set;
use super::mount::Mount;
use super::streams::Streams;

/// How many entries for streams that are closed meanwhile are let be.
const SPARE: usize = 64;

/// Most answers that wait for a mount. Who asks for more without reading any is
/// told at once, and cut where there is no room for that.
const MAX_ANSWERS: usize = 256;

/// What of a stream waits, but for its image.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    /// Where its updates begin among those that are merged for the item.
    pub(super) since: Option<Since>,
    /// Whether the client has yet to be told of the item's last state.
    pub(super) owes_state: bool,
    /// Whether it was taken over from another server and had no image by then.
    pub(super) is_taken_over: bool,
    /// Its updates are merged until it is their time, whether or not the output has
    /// drained: it is not in the order.
    is_paced: bool,
    /// Bytes of the updates that are merged.
    bytes: u32,
}

/// What waits until the output of a mount has drained: of streams that are
/// behind no more than where to go on, as the item has the rest.
#[derive(Debug, Default)]
pub(super) struct Owed {
    /// No hash table: where many mounts turn slow together, all of theirs would
    /// grow at the same time.
    streams: BTreeMap<i32, Waiting>,
    /// The streams of `streams`, first to wait first. Some may not wait any
    /// more.
    order: VecDeque<i32>,
    /// Streams whose image waits. Some may not wait any more.
    images: VecDeque<i32>,
    /// Services that changed: those who watch the directory are told how they
    /// are by then.
    services: BTreeSet<u16>,
    /// Answers to batches, as messages.
    answers: VecDeque<Box<[u8]>>,
    /// Dictionaries that are being sent.
    pub(super) downloads: VecDeque<Download>,
    /// Streams whose clients were told that updates are merged.
    announced: BTreeSet<i32>,
    /// Whether the mount is among those that are worked off.
    pub(super) is_draining: bool,
    /// What the last steps were for: see [`next`](Self::next).
    turn: usize,
    /// Bytes of the updates that are merged for all streams. What others wait
    /// for as well counts for each.
    merged_bytes: usize,
}

/// A step of giving a mount what it is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// What changed of the services.
    Services,
    /// An answer to a batch.
    Answer,
    /// The image of a stream.
    Image(i32),
    /// The updates of a stream, and its state.
    Stream(i32),
    /// The next part of a dictionary.
    Part,
    /// To tell a client that updates are not merged any more.
    Resumed(i32),
}

/// Images come first, but leave room for others: a mount that is slow again
/// after a few steps has more of everything all the same.
const TURNS: [Turn; 7] = [
    Turn::Images,
    Turn::Images,
    Turn::Images,
    Turn::Streams,
    Turn::Streams,
    Turn::Streams,
    Turn::Downloads,
];

#[derive(Clone, Copy)]
enum Turn {
    Images,
    Streams,
    Downloads,
}

impl Owed {
    /// Whether images wait, or did.
    pub(super) fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.images.is_empty()
            && self.services.is_empty()
            && self.answers.is_empty()
            && self.order.is_empty()
            && self.downloads.is_empty()
            && self.announced.is_empty()
    }

    /// Panics where what waits of streams, and the order in which they are seen
    /// to, contradict each other or the streams that there are.
    pub(super) fn check(&self, streams: &Streams) {
        for (stream_id, waiting) in &self.streams {
            let has_turn = waiting.is_paced || self.order.contains(stream_id);
            assert!(has_turn, "stream {stream_id} waits and has no turn");
            assert!(streams.contains(*stream_id), "stream {stream_id} waits and is not there");
            assert!(waiting.since.is_some() || waiting.bytes == 0, "of {stream_id}: {waiting:?}");
        }
        let bytes: usize = self.streams.values().map(|waiting| waiting.bytes as usize).sum();
        assert_eq!(self.merged_bytes, bytes, "bytes that are merged for a mount");
        for stream_id in &self.announced {
            assert!(streams.slot(*stream_id).is_some(), "no item on stream {stream_id} is told of");
        }
    }

    /// Whether the updates of a stream wait.
    pub(super) fn has_merged(&self, stream_id: i32) -> bool {
        self.streams.get(&stream_id).is_some_and(|waiting| waiting.since.is_some())
    }

    /// Whether the image of a stream has its turn.
    pub(super) fn has_image(&self, stream_id: i32) -> bool {
        self.images.contains(&stream_id)
    }

    /// Whether to drop it is a few steps, however much was in it.
    pub(super) fn is_flat(&self) -> bool {
        self.announced.is_empty() && self.streams.is_empty()
    }

    /// Takes the next step out: the services first, as the states of items
    /// follow from theirs. Images only `with_images`.
    pub(super) fn next(&mut self, with_images: bool) -> Option<Step> {
        if !self.services.is_empty() {
            return Some(Step::Services);
        }
        if !self.answers.is_empty() {
            return Some(Step::Answer);
        }
        let first = self.turn % TURNS.len();
        self.turn = first + 1;
        let in_turn = match TURNS[first] {
            Turn::Images if !with_images => None,
            Turn::Images => self.images.pop_front().map(Step::Image),
            Turn::Streams => self.order.pop_front().map(Step::Stream),
            Turn::Downloads => self.next_part(),
        };
        let image = |it: &mut Self| match with_images {
            true => it.images.pop_front().map(Step::Image),
            false => None,
        };
        let stream = |it: &mut Self| it.order.pop_front().map(Step::Stream);
        in_turn
            .or_else(|| image(self))
            .or_else(|| stream(self))
            .or_else(|| self.announced.pop_first().map(Step::Resumed))
            .or_else(|| self.next_part())
    }

    fn next_part(&self) -> Option<Step> {
        (!self.downloads.is_empty()).then_some(Step::Part)
    }

    /// Gives back the room of what was there.
    pub(super) fn give_back(&mut self) {
        debug_assert!(self.is_empty(), "what waits is worked off");
        debug_assert!(self.streams.values().all(|it| it.is_paced), "what waits is in the order");
        let Self { merged_bytes, .. } = *self;
        *self =
            Self { streams: core::mem::take(&mut self.streams), merged_bytes, ..Self::default() };
    }

    /// All streams are closed.
    pub(super) fn forget_all(&mut self) {
        let Self { is_draining, .. } = *self;
        *self = Self { is_draining, ..Self::default() };
    }

    /// What of a stream waits.
    pub(super) fn of(&mut self, stream_id: i32) -> Option<&mut Waiting> {
        match self.streams.is_empty() {
            true => None,
            false => self.streams.get_mut(&stream_id),
        }
    }

    /// Takes out what of a stream waits. It may still be in the order.
    pub(super) fn take(&mut self, stream_id: i32) -> Waiting {
        match self.streams.is_empty() {
            true => Waiting::default(),
            false => {
                let waiting = self.streams.remove(&stream_id).unwrap_or_default();
                self.merged_bytes -= waiting.bytes as usize;
                waiting
            }
        }
    }

    /// Takes out where the merged updates of a stream begin.
    pub(super) fn take_merged(&mut self, stream_id: i32) -> Option<Since> {
        let waiting = self.of(stream_id)?;
        let bytes = core::mem::take(&mut waiting.bytes) as usize;
        let since = waiting.since.take();
        if waiting.is_paced {
            self.streams.remove(&stream_id);
        }
        self.merged_bytes -= bytes;
        since
    }

    /// So much more is merged for a stream that waits. Returns how much it is
    /// for all of them.
    pub(super) fn grow(&mut self, stream_id: i32, bytes: usize) -> usize {
        if let Some(waiting) = self.of(stream_id) {
            let before = waiting.bytes;
            waiting.bytes = before.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
            let more = waiting.bytes - before;
            self.merged_bytes += more as usize;
        }
        self.merged_bytes
    }

    /// Bytes of the updates that are merged for all streams.
    pub(super) const fn merged_bytes(&self) -> usize {
        self.merged_bytes
    }

    /// What of a stream is to wait, which is put in the order.
    pub(super) fn owe(&mut self, stream_id: i32) -> &mut Waiting {
        let Self { streams, order, .. } = self;
        let known = streams.get_mut(&stream_id);
        let has_turn = known.is_some_and(|waiting| !core::mem::take(&mut waiting.is_paced));
        if !has_turn {
            if order.len() > 2 * streams.len() + SPARE {
                let mut seen = Set::default();
                order.retain(|it| streams.contains_key(it) && seen.insert(*it));
            }
            order.push_back(stream_id);
        }
        streams.entry(stream_id).or_default()
    }

    /// The same of one that waits until it is its time.
    pub(super) fn pace(&mut self, stream_id: i32) -> &mut Waiting {
        self.streams.entry(stream_id).or_insert(Waiting { is_paced: true, ..Waiting::default() })
    }

    /// The client of a stream is being told of the last state.
    pub(super) fn state_is_told(&mut self, stream_id: i32) {
        if let Some(waiting) = self.of(stream_id) {
            waiting.owes_state = false;
        }
    }

    /// Services changed.
    pub(super) fn services_changed(&mut self, services: impl Iterator<Item = u16>) {
        self.services.extend(services);
    }

    /// Has an answer wait. Whether there is room for it.
    pub(super) fn answer_later(&mut self, message: &[u8]) -> bool {
        let has_room = self.answers.len() < MAX_ANSWERS;
        if has_room {
            self.answers.push_back(message.into());
        }
        has_room
    }

    /// Takes out the answer that has waited longest.
    pub(super) fn take_answer(&mut self) -> Option<Box<[u8]>> {
        self.answers.pop_front()
    }

    /// Takes out the services that changed.
    pub(super) fn take_services(&mut self) -> BTreeSet<u16> {
        core::mem::take(&mut self.services)
    }

    /// Takes note that a client was told that updates of a stream are merged.
    /// False: it knows.
    pub(super) fn announce(&mut self, stream_id: i32) -> bool {
        self.announced.insert(stream_id)
    }

    /// A stream is closed, and what of it waits is taken out.
    pub(super) fn forget(&mut self, stream_id: i32) {
        self.announced.remove(&stream_id);
    }

    pub(super) fn cancel_download(&mut self, stream_id: i32) {
        self.downloads.retain(|download| download.stream_id() != stream_id);
    }
}

impl Mount {
    /// Has the image of a stream wait.
    pub(super) fn put_image_off(&mut self, stream_id: i32) {
        let Self { owed: Owed { images, .. }, streams, .. } = self;
        if images.len() > 2 * streams.len() + SPARE {
            let mut seen = Set::default();
            images.retain(|late| streams.contains(*late) && seen.insert(*late));
        }
        images.push_back(stream_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_turn_and_images_are_first() {
        let mut owed = Owed::default();
        owed.images.extend(100..104);
        for stream_id in 0..6 {
            owed.owe(stream_id).owes_state = true;
        }
        assert!(owed.announce(7) && !owed.announce(7));
        owed.services_changed([3, 3, 2].into_iter());
        assert_eq!(owed.next(true), Some(Step::Services));
        assert!(owed.take_services().into_iter().eq([2, 3]));
        let steps: Vec<_> = std::iter::from_fn(|| owed.next(true)).collect();
        let images = |of: std::ops::Range<i32>| of.map(Step::Image);
        let streams = |of: std::ops::Range<i32>| of.map(Step::Stream);
        let expected: Vec<_> = images(100..103)
            .chain(streams(0..3))
            .chain(images(103..104))
            .chain(streams(3..6))
            .chain([Step::Resumed(7)])
            .collect();
        assert_eq!(steps, expected);
    }

    #[test]
    fn answers_wait_in_order_and_no_more_than_so_many() {
        let mut owed = Owed::default();
        let taken = (0..1000u16).filter(|number| owed.answer_later(&number.to_be_bytes())).count();
        assert_eq!(taken, MAX_ANSWERS);
        assert_eq!(owed.next(true), Some(Step::Answer));
        assert_eq!(owed.take_answer().as_deref(), Some(&[0, 0][..]));
        assert_eq!(owed.take_answer().as_deref(), Some(&[0, 1][..]));
        assert!(!owed.is_empty());
    }

    #[test]
    fn a_stream_that_waits_again_and_again_leaves_a_bounded_order() {
        let mut owed = Owed::default();
        for _ in 0..10_000 {
            owed.owe(5).owes_state = true;
            assert!(owed.take(5).owes_state);
        }
        assert!(owed.order.len() <= SPARE + 1, "{}", owed.order.len());
    }
}
