//! What is found in a journal after a crash, and after damage.

use tapeline_sequence::{
    Command, Identity, Journal, JournalConfig, JournalError, Kind, Limits, Memory, Recovered,
    SEGMENT_HEAD, Sequencer, Source, Storage,
};

const OURS: Identity = Identity([7; 32]);

const CONFIG: JournalConfig = JournalConfig { segment_bytes: 1_100_000, max_segments: 3 };

/// Makes entries of commands with a payload of so many bytes.
struct Maker {
    sequencer: Sequencer,
    number: u64,
}

impl Maker {
    fn new() -> Self {
        Self { sequencer: Sequencer::new(Limits::default()), number: 0 }
    }

    fn entry(&mut self, commands: usize) -> Vec<u8> {
        for _ in 0..commands {
            self.number += 1;
            let payload = [self.number as u8; 61];
            let (kind, source, number) = (Kind::NEW, Source(1), self.number);
            let command = Command { kind, source, number, payload: &payload, ..Command::default() };
            self.sequencer.offer(&command).expect("room");
        }
        let mut bytes = Vec::new();
        self.sequencer.sequence(self.number * 10, &mut bytes).expect("commands");
        bytes
    }
}

type Opened = Result<(Journal<Memory>, Recovered, Vec<u64>), JournalError>;

/// Opens a journal. Returns the numbers of all commands in it, too.
fn open(storage: Memory) -> Opened {
    open_as(storage, OURS)
}

fn open_as(storage: Memory, identity: Identity) -> Opened {
    let mut numbers = Vec::new();
    let (journal, found) = Journal::open(storage, CONFIG, identity, 0, |entry| {
        numbers.extend(entry.commands().map(|command| command.number));
        Ok::<_, JournalError>(())
    })?;
    Ok((journal, found, numbers))
}

/// A journal of entries that were committed one by one, but for the last one; with
/// the offset of each.
fn five() -> (Memory, Vec<usize>) {
    let (mut journal, _, _) = open(Memory::default()).expect("an empty journal");
    let (mut maker, mut offsets, mut offset) = (Maker::new(), Vec::new(), SEGMENT_HEAD);
    for _ in 0..5 {
        let entry = maker.entry(2);
        offsets.push(offset);
        offset += entry.len();
        let synced = journal.append(&entry).expect("room");
        maker.sequencer.commit(synced);
    }
    offsets.push(offset);
    (journal.into_storage(), offsets)
}

#[test]
fn what_was_kept_is_found_and_goes_on() {
    let (storage, _) = five();
    let (mut journal, found, numbers) = open(storage).expect("good");
    assert_eq!(found, Recovered { entries: 5, last: 5, torn_bytes: 0 });
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    let mut maker = Maker::new();
    for _ in 0..5 {
        maker.entry(2);
    }
    assert_eq!(journal.append(&maker.entry(1)).expect("room"), 6);
    let (_, found, numbers) = open(journal.into_storage()).expect("good");
    assert_eq!((found.last, numbers.len()), (6, 11));
}

#[test]
fn cut_at_every_byte_of_the_last_entry_all_before_it_is_there() {
    let (whole, offsets) = five();
    let [start, end] = [offsets[4], offsets[5]];
    for at in start..end {
        // As a file that ends there, and as one with zeros behind.
        for is_short in [false, true] {
            let mut storage = whole.clone();
            let segment = storage.segment_mut(1).expect("a segment");
            match is_short {
                true => segment.truncate(at),
                false => segment[at..].fill(0),
            }
            let (mut journal, found, numbers) = open(storage).expect("a torn tail is no damage");
            // The last bytes of an entry may be zeros: then nothing is lost.
            if numbers.len() == 10 {
                assert!(whole.read(1).expect("a segment")[at..end].iter().all(|byte| *byte == 0));
                continue;
            }
            assert_eq!((found.last, numbers), (4, (1..=8).collect()), "cut at {at}");
            // Nothing of the torn entry is left, and another one takes its place.
            let mut maker = Maker::new();
            for _ in 0..4 {
                maker.entry(2);
            }
            assert_eq!(journal.append(&maker.entry(1)).expect("room"), 5);
            let (_, found, numbers) = open(journal.into_storage()).expect("good");
            assert_eq!((found.torn_bytes, numbers.len()), (0, 9));
        }
    }
}

#[test]
fn any_byte_flipped_in_the_middle_is_refused_with_its_place() {
    let (whole, offsets) = five();
    // The fifth entry says that the fourth was committed.
    for entry in 0..4 {
        for at in offsets[entry]..offsets[entry + 1] {
            let mut storage = whole.clone();
            storage.segment_mut(1).expect("a segment")[at] ^= 0x10;
            let refused = open(storage).expect_err("damage");
            let JournalError::Damaged { file, offset, index, .. } = &refused else {
                panic!("{refused}")
            };
            let place = (offsets[entry] as u64, entry as u64 + 1);
            assert_eq!((*offset, *index), place, "byte {at}");
            assert_eq!(file, "segment 1");
            assert!(
                refused.to_string().contains(&format!("segment 1 is damaged at byte {offset}"))
            );
        }
    }
}

#[test]
fn a_mark_says_that_the_last_entry_was_committed() {
    let (whole, offsets) = five();
    let (mut journal, _, _) = open(whole).expect("good");
    journal.mark(5).expect("room");
    let marked = journal.into_storage();
    assert!(open(marked.clone()).is_ok());
    for at in [offsets[4], offsets[5] - 70] {
        let mut storage = marked.clone();
        storage.segment_mut(1).expect("a segment")[at] ^= 1;
        assert!(matches!(open(storage), Err(JournalError::Damaged { index: 5, .. })), "{at}");
    }
    let mut gone = marked;
    gone.segment_mut(1).expect("a segment")[offsets[4]..].fill(0);
    assert!(matches!(open(gone), Err(JournalError::Damaged { index: 5, .. })));
}

#[test]
fn pages_of_one_batch_may_be_lost_in_any_order() {
    let (mut journal, _, _) = open(Memory::default()).expect("an empty journal");
    let mut maker = Maker::new();
    let first = maker.entry(2);
    journal.append(&first).expect("room");
    // Three entries in one batch: none was committed when they were written.
    let batch: Vec<Vec<u8>> = (0..3).map(|_| maker.entry(2)).collect();
    journal.append(&batch.concat()).expect("room");
    let mut storage = journal.into_storage();
    let at = SEGMENT_HEAD + first.len();
    storage.segment_mut(1).expect("a segment")[at..at + batch[0].len()].fill(0);
    let (_, found, numbers) = open(storage).expect("nobody was told of them");
    assert_eq!((found.last, numbers.len()), (1, 2));
    assert!(found.torn_bytes > 0);
}

#[test]
fn entries_go_on_in_the_next_segment_until_all_are_full() {
    let (mut journal, _, _) = open(Memory::default()).expect("an empty journal");
    let mut maker = Maker::new();
    let mut last = 0;
    let failed = loop {
        let entry = maker.entry(5_000);
        match journal.append(&entry) {
            Ok(synced) => last = synced,
            Err(failed) => break failed,
        }
        maker.sequencer.commit(last);
    };
    assert_eq!(failed.maybe, last, "nothing of it is on the disk");
    assert!(failed.to_string().contains("all 3 segments of the journal are full"), "{failed}");
    assert_eq!(journal.segments(), 3);
    let storage = journal.into_storage();
    let (_, found, numbers) = open(storage.clone()).expect("good");
    assert_eq!((found.last, numbers.len() as u64), (last, last * 5_000));
    // A segment in the middle that is missing, or ends before the next one begins.
    let segments = storage.segments().expect("segments");
    let mut missing = storage.clone();
    missing.remove(segments[1]).expect("it is there");
    assert!(matches!(open(missing), Err(JournalError::Damaged { .. })));
    let mut shorter = storage;
    let middle = shorter.segment_mut(segments[1]).expect("a segment");
    middle[SEGMENT_HEAD..].fill(0);
    assert!(matches!(open(shorter), Err(JournalError::Damaged { .. })));
}

#[test]
fn of_a_batch_what_there_is_room_for_is_kept() {
    let (mut journal, _, _) = open(Memory::default()).expect("an empty journal");
    let mut maker = Maker::new();
    let batch: Vec<Vec<u8>> = (0..10).map(|_| maker.entry(5_000)).collect();
    // Two of these fit into each of the three segments.
    let failed = journal.append(&batch.concat()).expect_err("it is full");
    assert_eq!((failed.maybe, journal.synced()), (6, 6), "nobody has to wonder");
    assert_eq!(open(journal.into_storage()).expect("good").1.last, 6);
}

#[test]
fn a_full_disk_and_one_that_fails_keep_nothing_new() {
    let mut storage = Memory::default();
    storage.room = Some(3 << 20);
    let (mut journal, _, _) = open(storage.clone()).expect("an empty journal");
    let mut maker = Maker::new();
    let (mut last, mut failed) = (0, None);
    while failed.is_none() {
        match journal.append(&maker.entry(5_000)) {
            Ok(synced) => last = synced,
            Err(error) => failed = Some(error),
        }
    }
    let failed = failed.expect("it ends");
    assert!(failed.maybe == last && failed.to_string().contains("cannot make segment"), "{failed}");
    storage = journal.into_storage();
    assert_eq!(open(storage.clone()).expect("good").1.last, last);
    // A disk that does not say whether it kept something: it may have.
    storage.fails_to_sync = true;
    let mut maker = Maker::new();
    for _ in 0..last {
        maker.entry(5_000);
    }
    let (mut journal, _, _) = open(storage).expect("good");
    let failed = journal.append(&maker.entry(1)).expect_err("it fails");
    assert_eq!((failed.maybe, journal.synced()), (last + 1, last));
}

#[test]
fn the_journal_of_another_market_is_refused() {
    let (storage, _) = five();
    let refused = open_as(storage.clone(), Identity([8; 32])).expect_err("another");
    assert!(refused.to_string().contains("other instruments, users or limits"), "{refused}");
    let mut other = storage;
    other.segment_mut(1).expect("a segment")[3] ^= 1;
    assert!(matches!(open(other), Err(JournalError::NoSegment { .. })));
    let small = JournalConfig { segment_bytes: 4096, ..CONFIG };
    let none = |_: &tapeline_sequence::Entry<'_>| Ok::<_, JournalError>(());
    let refused = Journal::open(Memory::default(), small, OURS, 0, none).expect_err("too small");
    assert!(refused.to_string().contains("give at least 1048640"), "{refused}");
}

#[test]
fn a_segment_that_was_made_and_never_used_is_taken_away() {
    let (mut storage, _) = five();
    storage.create(6, CONFIG.segment_bytes).expect("room");
    let (journal, found, _) = open(storage).expect("good");
    assert_eq!((found.last, journal.segments()), (5, 1));
    assert_eq!(journal.storage().segments().expect("segments"), [1]);
}

#[test]
fn behind_a_snapshot_old_segments_are_not_needed() {
    let (mut journal, _, _) = open(Memory::default()).expect("an empty journal");
    let (mut maker, mut last) = (Maker::new(), 0);
    while journal.segments() < 3 {
        last = journal.append(&maker.entry(5_000)).expect("room");
        maker.sequencer.commit(last);
    }
    let firsts = journal.storage().segments().expect("segments");
    assert_eq!(journal.trim(firsts[2] - 2).expect("segments"), 1);
    assert_eq!(journal.storage().segments().expect("segments"), firsts[1..]);
    let storage = journal.into_storage();
    let behind = |after: u64| {
        let mut indexes = Vec::new();
        let opened = Journal::open(storage.clone(), CONFIG, OURS, after, |entry| {
            indexes.push(entry.head().index);
            Ok::<_, JournalError>(())
        });
        opened.map(|_| indexes)
    };
    assert_eq!(behind(firsts[2]).expect("good"), (firsts[2] + 1..=last).collect::<Vec<_>>());
    assert_eq!(behind(last).expect("good"), [0; 0]);
    assert!(matches!(behind(firsts[1] - 2), Err(JournalError::Missing { .. })));
    assert!(matches!(behind(last + 1), Err(JournalError::Damaged { .. })), "the end is missing");
}

#[test]
fn entries_that_were_never_committed_are_cut_off_and_others_take_their_place() {
    let (mut journal, _, _) = open(Memory::default()).expect("an empty journal");
    let mut maker = Maker::new();
    while journal.segments() < 3 {
        journal.append(&maker.entry(5_000)).expect("room");
    }
    let whole = journal.into_storage();
    let firsts = whole.segments().expect("segments");
    let last = open(whole.clone()).expect("good").1.last;
    for cut in (0..=last).chain([last + 5]) {
        let (mut journal, _, _) = open(whole.clone()).expect("good");
        journal.cut(cut).expect("segments");
        let kept = cut.min(last);
        assert_eq!(journal.synced(), kept);
        let segments = firsts.iter().filter(|first| **first <= kept + 1).count();
        assert_eq!(journal.segments(), segments, "behind {kept}");
        let mut maker = Maker::new();
        for _ in 0..kept {
            maker.entry(5_000);
        }
        let synced = journal.append(&maker.entry(3)).expect("room");
        assert_eq!(synced, kept + 1);
        let (_, found, numbers) = open(journal.into_storage()).expect("good");
        assert_eq!((found.last, found.torn_bytes), (kept + 1, 0));
        assert_eq!(numbers.len() as u64, kept * 5_000 + 3);
    }
}
