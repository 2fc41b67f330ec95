//! A publisher and a reader with two lines between them that lose and reorder, and a
//! server that has messages again, if it answers.

use std::time::Duration;

use proptest::prelude::*;
use tapeline_itch::{Limits, Outputs, Packer, Packet, PacketHead, Reader, SessionName, State};
use tapeline_time::Time;

const SESSION: &str = "20261129A";

const LIMITS: Limits = Limits {
    hold: Duration::from_millis(2),
    patience: Duration::from_millis(100),
    attempts: 3,
    request_messages: 20,
    max_hole_messages: 1_000,
    max_early_packets: 500,
    session_silence: Duration::from_secs(10),
};

/// Whoever reads, as lines of what it was told; messages are their numbers.
#[derive(Default)]
struct Consumer {
    numbers: Vec<u64>,
    told: Vec<String>,
    requests: Vec<(u64, u16)>,
    is_stale: bool,
}

impl Outputs for Consumer {
    fn message(&mut self, number: u64, bytes: &[u8]) {
        assert_eq!(bytes, number.to_be_bytes(), "the message of another number");
        self.numbers.push(number);
    }

    fn request(&mut self, request: &PacketHead) {
        assert_eq!(request.session, SessionName::new(SESSION));
        self.requests.push((request.first, request.count));
    }

    fn set_stale(&mut self, is_stale: bool) {
        assert_ne!(is_stale, self.is_stale, "told twice");
        self.is_stale = is_stale;
        self.told.push(if is_stale { "stale".into() } else { "good".into() });
    }

    fn begin(&mut self, session: SessionName) {
        self.numbers.clear();
        self.told.push(format!("begin {session}"));
    }

    fn lose(&mut self, until: u64) {
        self.told.push(format!("lost before {until}"));
    }

    fn end(&mut self) {
        self.told.push("end".into());
    }
}

struct World {
    now: Time,
    reader: Reader,
    consumer: Consumer,
}

/// A packet of messages by number; each is its number.
fn packet(first: u64, count: u64) -> Vec<u8> {
    packet_of(SESSION, first, count)
}

fn packet_of(session: &str, first: u64, count: u64) -> Vec<u8> {
    let mut packer = Packer::new(session, first);
    let mut sent = Vec::new();
    for number in first..first + count {
        packer.push(&number.to_be_bytes(), &mut |_| unreachable!("it fits"));
    }
    match count {
        0 => packer.heartbeat(&mut |packet| sent = packet.to_vec()),
        _ => packer.flush(&mut |packet| sent = packet.to_vec()),
    }
    sent
}

fn end(at: u64) -> Vec<u8> {
    let mut sent = Vec::new();
    Packer::new(SESSION, at).end_of_session(&mut |packet| sent = packet.to_vec());
    sent
}

impl World {
    fn new(limits: Limits) -> Self {
        let consumer = Consumer::default();
        Self { now: Time::ZERO, reader: Reader::new(limits), consumer }
    }

    fn reads(&mut self, packet: &[u8]) {
        self.reader.packet(self.now, packet, &mut self.consumer).expect("a whole packet");
    }

    fn passes(&mut self, ms: u64) {
        self.now = self.now.after(Duration::from_millis(ms));
        self.reader.timeout(self.now, &mut self.consumer);
    }

    fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.consumer.told)
    }

    fn requests(&mut self) -> Vec<(u64, u16)> {
        std::mem::take(&mut self.consumer.requests)
    }

    /// The reader has read all messages before this one.
    fn has_read_to(&self, next: u64) {
        assert_eq!(self.consumer.numbers, (1..next).collect::<Vec<_>>());
        assert_eq!(self.reader.next(), next);
    }
}

#[test]
fn the_first_of_two_lines_is_taken_and_the_other_fills_its_holes() {
    let mut world = World::new(LIMITS);
    world.reads(&packet(1, 3));
    world.reads(&packet(1, 3));
    world.reads(&packet(7, 2));
    assert_eq!(world.reader.state(), State::Asking);
    world.passes(1);
    world.reads(&packet(4, 3));
    world.passes(1_000);
    world.has_read_to(9);
    assert_eq!((world.told(), world.requests()), (vec![format!("begin {SESSION}")], vec![]));
    // The lines need not pack alike.
    world.reads(&packet(5, 10));
    world.has_read_to(15);
    assert_eq!(world.reader.state(), State::Live);
}

#[test]
fn a_hole_is_asked_for_in_pieces_and_again_until_it_is_filled() {
    let mut world = World::new(LIMITS);
    world.reads(&packet(1, 1));
    world.reads(&packet(50, 1));
    assert_eq!(world.requests(), []);
    world.passes(2);
    assert_eq!(world.told()[1..], ["stale"]);
    assert_eq!(world.requests(), [(2, 20)]);
    world.passes(99);
    assert_eq!(world.requests(), []);
    world.passes(1);
    assert_eq!(world.requests(), [(2, 20)], "again: nothing has come");
    // The server sends what fits one packet; the rest is asked for when no more comes.
    world.reads(&packet(2, 15));
    assert_eq!(world.requests(), []);
    world.passes(2);
    assert_eq!(world.requests(), [(17, 20)]);
    world.reads(&packet(17, 20));
    assert_eq!(world.requests(), [(37, 13)], "the next piece follows an answer at once");
    world.reads(&packet(37, 13));
    world.has_read_to(51);
    assert_eq!((world.told(), world.reader.deadline()), (vec!["good".to_owned()], None));
    let counts = world.reader.counts();
    assert_eq!((counts.holes, counts.requests, counts.losses), (1, 4, 0));
}

#[test]
fn heartbeats_and_the_end_show_what_is_missing_last() {
    let mut world = World::new(LIMITS);
    world.reads(&packet(1, 0));
    world.reads(&packet(1, 2));
    world.reads(&packet(4, 0));
    world.passes(2);
    assert_eq!(world.requests(), [(3, 1)]);
    world.reads(&packet(3, 1));
    world.reads(&end(6));
    assert_eq!(world.reader.state(), State::Asking);
    world.passes(2);
    assert_eq!(world.requests(), [(4, 2)]);
    world.reads(&packet(4, 2));
    world.reads(&end(6));
    world.has_read_to(6);
    assert_eq!(world.reader.state(), State::Ended);
    assert_eq!(world.told()[1..], ["stale", "good", "stale", "good", "end"]);
}

#[test]
fn what_nobody_answers_is_lost_after_some_requests_and_a_snapshot_heals_it() {
    let mut world = World::new(LIMITS);
    world.reads(&packet(1, 1));
    world.reads(&packet(5, 1));
    world.passes(2);
    for _ in 0..3 {
        world.passes(100);
    }
    assert_eq!(world.requests().len(), 3);
    assert_eq!(world.told()[1..], ["stale", "lost before 5"]);
    assert_eq!((world.reader.state(), world.reader.deadline()), (State::Lost, None));
    world.reads(&packet(6, 2));
    world.passes(1_000);
    assert_eq!(world.consumer.numbers, [1], "nothing is read meanwhile");
    let now = world.now;
    world.reader.resume(now, 7, &mut world.consumer);
    assert_eq!(world.consumer.numbers, [1, 7], "the snapshot has the others");
    assert_eq!(world.told(), ["good"]);
}

#[test]
fn without_a_snapshot_it_goes_on_and_stays_stale_until_another_session() {
    let mut world = World::new(LIMITS);
    world.reads(&packet(5_000, 2));
    assert_eq!(world.requests(), []);
    world.passes(2);
    assert_eq!(world.told()[1..], ["stale", "lost before 5000"]);
    assert_eq!(world.requests(), [], "it is too far");
    let now = world.now;
    world.reader.go_on(now, &mut world.consumer);
    world.reads(&packet(5_002, 1));
    assert_eq!(world.consumer.numbers, [5_000, 5_001, 5_002]);
    assert_eq!((world.told(), world.reader.state()), (vec![], State::Live));
    world.reads(&end(5_003));
    world.reads(&packet_of("NEXT", 1, 2));
    assert_eq!(world.told(), ["end", "begin NEXT", "good"]);
    world.has_read_to(3);
}

#[test]
fn another_session_waits_for_the_end_or_the_silence_of_the_one_that_is_read() {
    let mut world = World::new(LIMITS);
    world.reads(&packet(1, 2));
    world.reads(&packet_of("NEXT", 1, 1));
    world.passes(9_999);
    world.reads(&packet_of("NEXT", 1, 1));
    assert_eq!(world.reader.counts().ignored, 2);
    world.passes(1);
    world.reads(&packet_of("NEXT", 1, 1));
    assert_eq!(world.told()[1..], ["begin NEXT"]);
    world.has_read_to(2);
    world.reads(&packet(3, 1));
    assert_eq!(world.reader.counts().ignored, 3);
}

#[test]
fn what_may_not_be_kept_is_lost() {
    let mut world = World::new(Limits { max_early_packets: 10, ..LIMITS });
    world.reads(&packet(1, 1));
    for number in 3..30 {
        world.reads(&packet(number, 1));
    }
    assert_eq!(world.told()[1..], ["stale", "lost before 3"]);
    let now = world.now;
    world.reader.go_on(now, &mut world.consumer);
    assert_eq!(world.consumer.numbers[1..], (20..30).collect::<Vec<_>>(), "the last ten");
}

#[test]
fn what_is_damaged_is_refused_and_counted() {
    let mut world = World::new(LIMITS);
    let whole = packet(1, 2);
    let (now, damaged) = (world.now, &whole[..whole.len() - 1]);
    assert!(world.reader.packet(now, damaged, &mut world.consumer).is_err());
    assert_eq!((world.reader.counts().ignored, world.reader.state()), (1, State::Cold));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Two lines, each with losses and an order of its own, and a server that does not
    /// always answer: all messages are read once and in order, unless it was told that
    /// they are lost.
    #[test]
    fn messages_are_read_once_and_in_order_whatever_is_lost(
        packets in prop::collection::vec((1..6_u64, 0..10_u8, 0..10_u8, 0..8_u64), 1..200),
        loss in 0..10_u8,
        answers in prop::collection::vec(any::<(bool, u8)>(), 1..20),
    ) {
        let mut world = World::new(LIMITS);
        let mut under_way: Vec<(u64, Vec<u8>)> = Vec::new();
        let (mut next, mut asked) = (1, 0);
        // Long enough for every hole to be filled or given up.
        let turns = packets.len() as u64 + 5_000;
        for turn in 0..turns {
            if let Some((count, a, b, delay)) = packets.get(turn as usize) {
                let bytes = packet(next, *count);
                next += count;
                if *a >= loss {
                    under_way.push((turn + delay, bytes.clone()));
                }
                if *b >= loss {
                    under_way.push((turn + 7 - delay, bytes));
                }
            } else {
                under_way.push((turn, packet(next, 0)));
            }
            let (come, later): (Vec<_>, Vec<_>) =
                under_way.into_iter().partition(|(due, _)| *due <= turn);
            under_way = later;
            for (_, bytes) in &come {
                world.reads(bytes);
            }
            for (first, count) in world.requests() {
                let (is_answered, part) = answers[asked % answers.len()];
                asked += 1;
                // What fits a packet, or less.
                let count = u64::from(count).min(1 + u64::from(part % 16));
                if is_answered {
                    under_way.push((turn + 1, packet(first, count)));
                }
            }
            if world.reader.state() == State::Lost {
                let now = world.now;
                world.reader.go_on(now, &mut world.consumer);
            }
            world.passes(if turn < packets.len() as u64 { 1 } else { 50 });
        }
        prop_assert_eq!(world.reader.state(), State::Live);
        prop_assert_eq!(world.reader.next(), next);
        prop_assert!(world.consumer.numbers.is_sorted_by(|one, other| one < other));
        let is_whole = world.reader.counts().losses == 0;
        prop_assert_eq!(world.consumer.is_stale, !is_whole);
        if is_whole {
            world.has_read_to(next);
        }
    }

    /// Whatever comes, it is survived, and no number is read twice within a session.
    #[test]
    fn any_packets_are_survived(
        packets in prop::collection::vec(
            (any::<u16>(), prop_oneof![1..40_u64, any::<u64>()], prop_oneof![0..4_u16, Just(0xFFFF)]),
            1..60,
        ),
    ) {
        let mut world = World::new(Limits { max_early_packets: 5, ..LIMITS });
        for (ms, first, count) in packets {
            let mut bytes = packet(1, 0);
            bytes[10..18].copy_from_slice(&first.to_be_bytes());
            bytes[18..20].copy_from_slice(&count.to_be_bytes());
            for number in (first..).take(usize::from(count % 0xFFFF)) {
                bytes.extend_from_slice(&8_u16.to_be_bytes());
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            let is_whole = Packet::read(&bytes).is_ok();
            let now = world.now;
            prop_assert_eq!(
                world.reader.packet(now, &bytes, &mut world.consumer).is_ok(),
                is_whole
            );
            world.passes(u64::from(ms % 300));
            if world.reader.state() == State::Lost && ms % 2 == 0 {
                let now = world.now;
                world.reader.go_on(now, &mut world.consumer);
            }
            prop_assert!(world.consumer.numbers.is_sorted_by(|one, other| one < other));
        }
    }
}
