use super::*;
use proptest::prelude::*;

fn at(ms: u64) -> Time {
    // Nothing is heard at the very beginning.
    Time::from_nanos((ms + 10_000) * 1_000_000)
}

fn frame(sender: u32, number: u32, kind: Kind, flags: FrameFlags) -> Vec<u8> {
    let mut header = FrameHeader::new(kind, Incarnation::ALL, 0);
    (header.sender, header.stream_seq, header.flags) = (Incarnation(sender), number, flags);
    header.encode().to_vec()
}

/// What is read, as numbers; presence as the negative of its own.
struct Reading {
    merge: Merge,
    read: Vec<i64>,
}

impl Reading {
    fn new() -> Self {
        Self { merge: Merge::new([0, 0]), read: Vec::new() }
    }

    fn put(&mut self, ms: u64, path: usize, bytes: &[u8]) {
        let Self { merge, read } = self;
        merge.take(at(ms), path, bytes, &mut |frame| read.push(number_of(frame)));
    }

    fn item(&mut self, ms: u64, path: usize, number: u32) {
        self.put(ms, path, &frame(7, number, Kind::Item, FrameFlags::empty()));
    }

    fn presence(&mut self, ms: u64, path: usize, number: u32) {
        self.put(ms, path, &frame(7, number, Kind::Presence, FrameFlags::empty()));
    }

    fn wait(&mut self, ms: u64) -> Vec<i64> {
        let Self { merge, read } = self;
        merge.release(at(ms), &mut |frame| read.push(number_of(frame)));
        core::mem::take(read)
    }
}

fn number_of(frame: &[u8]) -> i64 {
    let (header, _) = FrameHeader::decode(frame).expect("a frame");
    let number = i64::from(header.stream_seq);
    if header.kind == Kind::Presence { -number } else { number }
}

#[test]
fn the_first_copy_is_used() {
    let mut it = Reading::new();
    for number in 5..9 {
        it.item(0, 0, number);
    }
    for number in 5..11 {
        it.item(1, 1, number);
    }
    it.item(2, 0, 9);
    assert_eq!(it.wait(2), [5, 6, 7, 8, 9, 10]);
    assert_eq!(it.merge.counts().duplicates, 5);
}

#[test]
fn what_is_missing_on_one_path_comes_by_the_other() {
    let mut it = Reading::new();
    it.item(0, 0, 5);
    it.item(0, 1, 5);
    it.item(1, 1, 8);
    it.item(1, 1, 9);
    assert_eq!(it.wait(40), [5], "path 0 may bring 6");
    it.item(41, 0, 6);
    it.item(41, 0, 7);
    it.item(41, 0, 8);
    assert_eq!(it.wait(41), [5, 6, 7, 8, 9][1..]);
}

#[test]
fn what_is_missing_on_all_paths_is_not_waited_for() {
    let mut it = Reading::new();
    it.item(0, 0, 5);
    it.item(0, 1, 5);
    it.item(1, 0, 8);
    assert_eq!(it.wait(1), [5]);
    // The other path is past it as well.
    it.item(2, 1, 9);
    assert_eq!(it.wait(2), [8, 9]);
}

#[test]
fn behind_one_hole_another_one_is_waited_for() {
    let mut it = Reading::new();
    it.item(0, 0, 5);
    it.item(0, 1, 5);
    // Both lost 6, and only one of them 8.
    it.item(1, 0, 7);
    it.item(1, 0, 9);
    assert_eq!(it.wait(1), [5]);
    it.item(2, 1, 7);
    assert_eq!(it.wait(2), [7]);
    it.item(3, 1, 8);
    assert_eq!(it.wait(3), [8, 9]);
}

#[test]
fn a_path_that_brings_nothing_is_waited_for_a_little() {
    let mut it = Reading::new();
    it.item(0, 0, 5);
    it.item(0, 1, 5);
    it.item(1, 0, 7);
    assert_eq!(it.wait(50), [5]);
    assert_eq!(it.wait(51), [7]);
    // One that is not heard any more is not waited for at all.
    it.item(600, 0, 9);
    assert_eq!(it.wait(600), [9]);
}

#[test]
fn presence_that_is_late_or_early_is_not_read() {
    let mut it = Reading::new();
    it.item(0, 0, 5);
    it.presence(0, 1, 5);
    it.presence(1, 1, 8);
    it.presence(1, 0, 6);
    it.presence(2, 1, 6);
    assert_eq!(it.wait(2), [5, -6, -6]);
}

#[test]
fn after_a_goodbye_nothing_is_read() {
    let mut it = Reading::new();
    it.item(0, 0, 5);
    it.put(1, 0, &frame(7, 6, Kind::Presence, FrameFlags::BYE));
    it.presence(2, 1, 6);
    it.put(3, 1, &frame(7, 6, Kind::Presence, FrameFlags::BYE));
    assert_eq!(it.wait(3), [5, -6]);
}

#[test]
fn a_path_that_is_silent_is_counted_until_it_is_back() {
    let mut it = Reading::new();
    for ms in (0..3_000).step_by(100) {
        it.presence(ms, 0, 5);
        if !(500..=2_500).contains(&ms) {
            it.presence(ms, 1, 5);
        }
        it.wait(ms);
        let silent = it.merge.counts().silent;
        match ms {
            0..1_400 | 2_900.. => assert_eq!(silent, 0, "after {ms} ms"),
            1_800..2_600 => assert_eq!(silent, 1, "after {ms} ms"),
            _ => {}
        }
    }
    assert_eq!(it.merge.counts().losses, 1);
}

proptest! {
    /// Two paths with losses of their own, one behind the other by some: what is
    /// read is in order, without repeats, and lacks no more than what both lost.
    #[test]
    fn nothing_is_lost_that_one_path_brings(
        first in 0..u32::MAX,
        lost in prop::collection::vec((any::<bool>(), any::<bool>()), 1..60),
        behind in 0..30_usize,
        turns in prop::collection::vec(any::<bool>(), 0..60),
    ) {
        let mut it = Reading::new();
        it.item(0, 0, first);
        it.item(0, 1, first);
        let number = |index: usize| first.wrapping_add(index as u32).wrapping_add(1);
        let path = |is_lost: fn(&(bool, bool)) -> bool| -> Vec<u32> {
            let all = lost.iter().enumerate().filter(|(_, entry)| !is_lost(entry));
            all.map(|(index, _)| number(index)).collect()
        };
        let (mut one, mut other) = (path(|it| it.0).into_iter(), path(|it| it.1).into_iter());
        let mut ms = 1;
        for is_first in turns.iter().copied().chain(core::iter::repeat_n(true, behind)) {
            ms += 1;
            let (from, path) = if is_first { (&mut one, 0) } else { (&mut other, 1) };
            if let Some(number) = from.next() {
                it.item(ms.min(40), path, number);
            }
        }
        one.for_each(|number| it.item(41, 0, number));
        other.for_each(|number| it.item(42, 1, number));
        let mut read = it.wait(1_000);
        prop_assert_eq!(read.remove(0), i64::from(first));
        let came = lost.iter().enumerate().filter(|(_, it)| !(it.0 && it.1));
        let expected: Vec<_> = came.map(|(index, _)| i64::from(number(index))).collect();
        prop_assert_eq!(read, expected);
    }
}

#[test]
fn a_network_is_silent_beside_those_of_its_channel_alone() {
    let mut reading = Reading { merge: Merge::new([0, 0, 1]), read: Vec::new() };
    let other = frame(8, 5, Kind::Presence, FrameFlags::empty());
    for ms in (0..5_000).step_by(100) {
        // Of the first channel nothing comes any more: its hub is gone.
        reading.put(ms, 2, &other);
        if ms < 1_000 {
            reading.presence(ms, 0, 3);
            reading.presence(ms, 1, 3);
        }
        let _ = reading.wait(ms);
    }
    assert_eq!((reading.merge.counts().silent, reading.merge.counts().losses), (0, 0));
    for ms in (5_000..8_000).step_by(100) {
        reading.presence(ms, 1, 3);
        let _ = reading.wait(ms);
    }
    assert_eq!((reading.merge.counts().silent, reading.merge.counts().losses), (1, 1));
}
