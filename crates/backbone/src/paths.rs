//! A port with several ways to its peers: to several hubs, each of which is reached
//! by unicast, over several networks that carry the same, or over several channels
//! with hubs of their own.

mod sink;

use tapeline_time::Time;

use crate::frame::Incarnation;
use crate::merge::{Merge, PathCounts};
use crate::port::FrameSource;

pub use sink::PathSink;

/// Which of the networks a way of a port crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathId {
    /// The channel, from 0: other channels have other hubs.
    pub channel: usize,
    /// The network of this channel, from 0: each of them carries the same.
    pub network: usize,
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
    use crate::frame::{FrameHeader, Kind};

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
}
