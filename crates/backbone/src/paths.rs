//! A port with several ways to its peers: to several hubs, each of which is reached
//! by unicast, over several networks that carry the same, or over several channels
//! with hubs of their own.

use std::time::Duration;

use tapeline_time::Time;

use crate::frame::{FrameHeader, Incarnation};
use crate::merge::{Merge, PathCounts};
use crate::outbound::{FrameSink, Offer};
use crate::port::FrameSource;

/// A way that takes nothing for so long while another does is left behind, so that it
/// does not hold up the other.
const PATIENCE: Duration = Duration::from_millis(20);

/// Of the time between two looks, no more than this counts: if it was longer, then
/// the sender stood still.
const LONGEST_STEP: Duration = Duration::from_millis(2);

/// Which of the networks a way of a port crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathId {
    /// The channel, from 0: other channels have other hubs.
    pub channel: usize,
    /// The network of this channel, from 0: each of them carries the same.
    pub network: usize,
}

/// Sends each frame on all ways.
#[derive(Debug)]
pub struct PathSink<K> {
    ways: Vec<Way<K>>,
    /// The frame that some have taken, and others have yet to.
    begun: Option<[u8; FrameHeader::BYTES]>,
    last_work: Option<Time>,
}

#[derive(Debug)]
struct Way<K> {
    sink: K,
    /// How it took the frame that is begun.
    took: Option<Offer>,
    /// It did not take a frame,
    is_full: bool,
    full_for: Duration,
    /// and frames pass it by until it takes one.
    is_left_behind: bool,
}

impl<K: FrameSink> PathSink<K> {
    /// Sends on all of these.
    pub fn new(sinks: impl IntoIterator<Item = K>) -> Self {
        let way = |sink| Way {
            sink,
            took: None,
            is_full: false,
            full_for: Duration::ZERO,
            is_left_behind: false,
        };
        Self { ways: sinks.into_iter().map(way).collect(), begun: None, last_work: None }
    }

    /// Leaves behind what holds up others for too long.
    fn watch(&mut self, step: Duration) {
        let can_go_on = self.ways.iter().any(|way| !way.is_full && !way.is_left_behind);
        for way in self.ways.iter_mut().filter(|way| !way.is_left_behind) {
            way.full_for = if way.is_full { way.full_for + step } else { Duration::ZERO };
            way.is_left_behind = can_go_on && way.full_for >= PATIENCE;
            // Until the next frame is not taken.
            way.is_full = false;
        }
    }
}

impl<K: FrameSink> FrameSink for PathSink<K> {
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        let name = head.first_chunk::<{ FrameHeader::BYTES }>().copied();
        if self.begun.is_none() || self.begun != name {
            self.ways.iter_mut().for_each(|way| way.took = None);
        }
        let (mut best, mut is_busy) = (Offer::Failed, false);
        for way in &mut self.ways {
            let offer = match way.took {
                Some(took) => took,
                None => way.sink.offer(head, parts),
            };
            match offer {
                Offer::Busy if way.is_left_behind => {}
                Offer::Busy => (way.is_full, is_busy) = (true, true),
                took => {
                    way.took = Some(took);
                    (way.is_left_behind, way.full_for) = (false, Duration::ZERO);
                    best = match (best, took) {
                        (Offer::Taken, _) | (_, Offer::Taken) => Offer::Taken,
                        (Offer::Unheard, _) | (_, Offer::Unheard) => Offer::Unheard,
                        _ => Offer::Failed,
                    };
                }
            }
        }
        self.begun = name.filter(|_| is_busy);
        if is_busy { Offer::Busy } else { best }
    }

    fn max_frame_bytes(&self) -> usize {
        self.ways.iter().map(|way| way.sink.max_frame_bytes()).min().unwrap_or(0)
    }

    fn work(&mut self, now: Time) {
        let step = now.since(self.last_work.replace(now).unwrap_or(now)).min(LONGEST_STEP);
        self.ways.iter_mut().for_each(|way| way.sink.work(now));
        self.watch(step);
    }

    fn is_ready(&self) -> bool {
        self.ways.iter().any(|way| way.sink.is_ready())
    }

    fn failure(&self) -> Option<&str> {
        self.ways.iter().find_map(|way| way.sink.failure())
    }
}

/// Receives over all ways.
#[derive(Debug)]
pub struct PathSource<R> {
    /// Each with the number of its path.
    ways: Vec<(usize, R)>,
    /// Where the same comes over more than one path.
    merge: Option<Merge>,
    /// Which is read first: another one each time.
    first: usize,
}

impl<R: FrameSource> PathSource<R> {
    /// Receives over these; over each network of a channel the same comes.
    pub fn new(sources: impl IntoIterator<Item = (PathId, R)>) -> Self {
        let mut paths: Vec<PathId> = Vec::new();
        let mut ways = Vec::new();
        for (path, source) in sources {
            let known = paths.iter().position(|other| *other == path);
            ways.push((known.unwrap_or(paths.len()), source));
            if known.is_none() {
                paths.push(path);
            }
        }
        let is_redundant = paths.iter().any(|path| path.network > 0);
        let merge = is_redundant.then(|| Merge::new(paths.iter().map(|path| path.channel)));
        Self { ways, merge, first: 0 }
    }
}

impl<R: FrameSource> FrameSource for PathSource<R> {
    fn poll(&mut self, now: Time, limit: usize, mut on_frame: impl FnMut(&[u8])) -> usize {
        let Self { ways, merge, first } = self;
        *first = if *first + 1 < ways.len() { *first + 1 } else { 0 };
        let each = limit.div_ceil(ways.len().max(1));
        let (later, sooner) = ways.split_at_mut(*first);
        let mut count = 0;
        for (path, source) in sooner.iter_mut().chain(later) {
            count += source.poll(now, each, |frame| match merge {
                Some(merge) => merge.take(now, *path, frame, &mut on_frame),
                None => on_frame(frame),
            });
        }
        if let Some(merge) = merge {
            merge.release(now, &mut on_frame);
        }
        count
    }

    fn work(&mut self, now: Time) {
        self.ways.iter_mut().for_each(|(_, source)| source.work(now));
    }

    fn is_ready(&self) -> bool {
        self.ways.iter().any(|(_, source)| source.is_ready())
    }

    fn failure(&self) -> Option<&str> {
        self.ways.iter().find_map(|(_, source)| source.failure())
    }

    fn sessions_of(&self, peer: Incarnation) -> Vec<i32> {
        self.ways.iter().flat_map(|(_, source)| source.sessions_of(peer)).collect()
    }

    fn path_counts(&self) -> PathCounts {
        self.merge.as_ref().map_or_else(PathCounts::default, Merge::counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Kind;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Takes what it is told to take, and keeps it.
    #[derive(Debug, Default)]
    struct Said {
        offers: Vec<Offer>,
        frames: Vec<u8>,
    }

    #[derive(Debug)]
    struct Mouth(Rc<RefCell<Said>>);

    impl FrameSink for Mouth {
        fn offer(&mut self, head: &[u8], _: &[&[u8]]) -> Offer {
            let mut said = self.0.borrow_mut();
            let offer = said.offers.pop().unwrap_or(Offer::Taken);
            if offer == Offer::Taken {
                said.frames.push(head[0]);
            }
            offer
        }

        fn max_frame_bytes(&self) -> usize {
            1_000
        }

        fn work(&mut self, _: Time) {}

        fn is_ready(&self) -> bool {
            true
        }

        fn failure(&self) -> Option<&str> {
            None
        }
    }

    fn two() -> (PathSink<Mouth>, [Rc<RefCell<Said>>; 2]) {
        let said = [Rc::<RefCell<Said>>::default(), Rc::default()];
        (PathSink::new(said.iter().map(|said| Mouth(Rc::clone(said)))), said)
    }

    fn head(number: u8) -> [u8; FrameHeader::BYTES] {
        [number; FrameHeader::BYTES]
    }

    #[test]
    fn a_frame_goes_once_on_each_way_however_often_it_is_tried() {
        let (mut sink, said) = two();
        said[1].borrow_mut().offers = vec![Offer::Taken, Offer::Busy, Offer::Busy];
        assert_eq!(sink.offer(&head(1), &[]), Offer::Busy);
        assert_eq!(sink.offer(&head(1), &[]), Offer::Busy);
        assert_eq!(sink.offer(&head(1), &[]), Offer::Taken);
        assert_eq!(sink.offer(&head(2), &[]), Offer::Taken);
        assert!(said.iter().all(|said| said.borrow().frames == [1, 2]));
    }

    /// A way on which frames of a sender, with these numbers, have come.
    struct Ear(Vec<Vec<u8>>);

    impl Ear {
        fn of(sender: u32, numbers: impl IntoIterator<Item = u32>) -> Self {
            let frame = |number| {
                let mut header = FrameHeader::new(Kind::Item, Incarnation::ALL, 0);
                (header.sender, header.stream_seq) = (Incarnation(sender), number);
                header.encode().to_vec()
            };
            Self(numbers.into_iter().map(frame).collect())
        }
    }

    impl FrameSource for Ear {
        fn poll(&mut self, _: Time, _: usize, on_frame: impl FnMut(&[u8])) -> usize {
            let frames = std::mem::take(&mut self.0);
            frames.iter().map(Vec::as_slice).for_each(on_frame);
            frames.len()
        }

        fn work(&mut self, _: Time) {}

        fn is_ready(&self) -> bool {
            true
        }

        fn failure(&self) -> Option<&str> {
            None
        }
    }

    /// Sender and number of what is read.
    fn read(mut source: PathSource<Ear>) -> Vec<(u32, u32)> {
        let mut read = Vec::new();
        source.poll(Time::from_nanos(1), 100, |frame| {
            let (header, _) = FrameHeader::decode(frame).expect("a frame");
            read.push((header.sender.0, header.stream_seq));
        });
        read.sort_unstable();
        read
    }

    #[test]
    fn channels_have_hubs_of_their_own_and_networks_of_a_channel_carry_the_same() {
        let path = |channel, network| PathId { channel, network };
        let alone = [(path(0, 0), Ear::of(7, 1..3)), (path(1, 0), Ear::of(8, 1..3))];
        let source = PathSource::new(alone);
        assert!(source.merge.is_none(), "nothing comes twice");
        assert_eq!(read(source), [(7, 1), (7, 2), (8, 1), (8, 2)]);
        let both = [
            (path(0, 0), Ear::of(7, 1..3)),
            (path(0, 1), Ear::of(7, 1..3)),
            (path(1, 0), Ear::of(8, 1..3)),
        ];
        assert_eq!(read(PathSource::new(both)), [(7, 1), (7, 2), (8, 1), (8, 2)]);
    }

    #[test]
    fn a_way_that_takes_nothing_is_left_behind_until_it_takes_something() {
        let (mut sink, said) = two();
        said[0].borrow_mut().offers = vec![Offer::Busy; 13];
        let mut turns = 0;
        while sink.offer(&head(1), &[]) == Offer::Busy {
            turns += 1;
            sink.work(Time::from_nanos(turns * 2_000_000));
        }
        assert_eq!(turns, 11, "20 ms, the first look has nothing to compare with");
        assert_eq!(sink.offer(&head(2), &[]), Offer::Taken);
        assert_eq!(sink.offer(&head(3), &[]), Offer::Taken);
        assert_eq!(said[0].borrow().frames, [3]);
        assert_eq!(said[1].borrow().frames, [1, 2, 3]);
        // It is waited for again.
        said[0].borrow_mut().offers = vec![Offer::Busy];
        assert_eq!(sink.offer(&head(4), &[]), Offer::Busy);
        assert_eq!(sink.offer(&head(4), &[]), Offer::Taken);
        assert_eq!(said[0].borrow().frames, [3, 4]);
    }

    #[test]
    fn a_way_that_nobody_hears_or_that_fails_holds_up_nothing() {
        let (mut sink, said) = two();
        said[0].borrow_mut().offers = vec![Offer::Failed, Offer::Unheard];
        assert_eq!(sink.offer(&head(1), &[]), Offer::Taken);
        assert_eq!(sink.offer(&head(2), &[]), Offer::Taken);
        said[0].borrow_mut().offers = vec![Offer::Unheard];
        said[1].borrow_mut().offers = vec![Offer::Failed];
        assert_eq!(sink.offer(&head(3), &[]), Offer::Unheard);
        assert_eq!(said[1].borrow().frames, [1, 2]);
    }
}
