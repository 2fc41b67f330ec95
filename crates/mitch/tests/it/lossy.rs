//! A publisher and a reader with two lines between them that lose and reorder.

use std::collections::VecDeque;

use proptest::prelude::*;
use tapeline_instrument::{Price, Side};
use tapeline_mitch::{
    AddOrder, Books, Executed, Message, OrderDeleted, OrderModified, Outputs, Publisher, Quoted,
    REPLAY_MESSAGES, Reader, SignedPrice, State, SymbolStatus,
};

const GROUP: u8 = 65;

/// Whoever reads: books, and what is asked for.
#[derive(Default)]
struct Consumer {
    books: Books,
    numbers: Vec<u32>,
    replays: VecDeque<(u32, u16)>,
    snapshots: u32,
    is_stale: bool,
    staled: u32,
}

impl Outputs for Consumer {
    fn message(&mut self, number: u32, message: &Message) {
        if number > 0 {
            self.numbers.push(number);
        }
        self.books.apply(message);
    }

    fn ask_replay(&mut self, first: u32, count: u16) {
        self.replays.push_back((first, count));
    }

    fn ask_snapshot(&mut self) {
        self.snapshots += 1;
    }

    fn set_stale(&mut self, is_stale: bool) {
        self.staled += u32::from(is_stale && !self.is_stale);
        self.is_stale = is_stale;
    }

    fn restart(&mut self) {
        self.books = Books::default();
    }
}

struct World {
    publisher: Publisher,
    reader: Reader,
    consumer: Consumer,
    orders: u64,
}

fn orders(books: &Books) -> Vec<(u64, Quoted)> {
    [1, 2]
        .into_iter()
        .flat_map(|at| Side::BOTH.map(|side| (at, side)))
        .flat_map(|(at, side)| books.side(at, side).collect::<Vec<_>>())
        .collect()
}

impl World {
    fn new(max_buffered: usize) -> Self {
        Self {
            publisher: Publisher::new(GROUP),
            reader: Reader::new(GROUP, max_buffered),
            consumer: Consumer::default(),
            orders: 0,
        }
    }

    /// Publishes some messages; returns the units.
    fn publish(&mut self, messages: &[Message]) -> Vec<Vec<u8>> {
        let mut units = Vec::new();
        let mut send = |unit: &[u8]| units.push(unit.to_vec());
        for message in messages {
            self.publisher.publish(28_800, message, &mut send);
        }
        self.publisher.flush(&mut send);
        units
    }

    /// Something happens to the books: a seed gives what.
    fn something(&mut self, seed: u64) -> Message {
        let order = 1 + seed / 7 % self.orders.max(1);
        let (instrument, quantity) = (1 + (seed % 2) as u32, 1 + (seed / 5 % 50) as u32);
        let price = SignedPrice(Price(100 + (seed / 11 % 9) as i64));
        match seed % 10 {
            _ if self.orders == 0 => {
                let status = SymbolStatus { instrument: 1, status: b'T', ..Default::default() };
                self.orders = 1;
                status.into()
            }
            _ if self.orders == 1 => {
                let status = SymbolStatus { instrument: 2, status: b'T', ..Default::default() };
                self.orders = 2;
                status.into()
            }
            0..=4 => {
                self.orders += 1;
                let side = if (seed / 3).is_multiple_of(2) { b'B' } else { b'S' };
                let order = self.orders;
                AddOrder { order, side, quantity, instrument, price, ..Default::default() }.into()
            }
            5 | 6 => Executed { order, quantity, ..Default::default() }.into(),
            7 => {
                OrderModified { order, quantity, price, flags: (seed / 13 % 2) as u8, ns: 0 }.into()
            }
            _ => {
                let known = self.publisher.books().order(order);
                let instrument = known.map_or(instrument, |quoted| quoted.instrument);
                OrderDeleted { order, instrument, ..Default::default() }.into()
            }
        }
    }

    fn reads(&mut self, unit: &[u8]) {
        self.reader.unit(unit, &mut self.consumer).expect("a whole unit");
    }

    /// Answers what the reader has asked for.
    fn answer(&mut self) {
        while let Some((first, count)) = self.consumer.replays.pop_front() {
            let mut units = Vec::new();
            let answer =
                self.publisher.replay(GROUP, first, count, &mut |unit| units.push(unit.to_vec()));
            match answer {
                Ok(()) => {
                    for unit in &units {
                        self.reads(unit);
                    }
                }
                Err(_) => self.reader.replay_failed(&mut self.consumer),
            }
        }
        if std::mem::take(&mut self.consumer.snapshots) > 0 {
            let mut units = Vec::new();
            self.publisher.snapshot(28_800, "SETS", &mut |unit| units.push(unit.to_vec()));
            for unit in units {
                self.reader.snapshot_unit(&unit, &mut self.consumer).expect("a whole unit");
            }
        }
    }

    /// Lets everything come to rest: heartbeats show what is missing at the end.
    fn settle(&mut self) {
        for _ in 0..20 {
            let mut beat = Vec::new();
            self.publisher.heartbeat(&mut |unit| beat = unit.to_vec());
            self.reads(&beat);
            self.answer();
        }
        assert_eq!(self.reader.state(), State::Live);
        assert!(!self.consumer.is_stale);
        assert_eq!(self.reader.next(), self.publisher.next());
        assert_eq!(orders(&self.consumer.books), orders(self.publisher.books()));
    }
}

#[test]
fn the_first_of_two_lines_is_taken() {
    let mut world = World::new(100);
    for seed in 0..200 {
        let message = world.something(seed * 7919);
        let units = world.publish(&[message]);
        for unit in &units {
            world.reads(unit);
            world.reads(unit);
        }
    }
    let expected: Vec<u32> = (1..world.publisher.next()).collect();
    assert_eq!(world.consumer.numbers, expected);
    assert_eq!(world.consumer.staled, 0);
    world.settle();
}

#[test]
fn a_hole_is_asked_for_and_what_is_behind_it_waits() {
    let mut world = World::new(100);
    let mut units = Vec::new();
    for seed in 0..10 {
        let message = world.something(seed * 7919);
        units.extend(world.publish(&[message]));
    }
    for (at, unit) in units.iter().enumerate().filter(|(at, _)| !(3..6).contains(at)) {
        world.reads(unit);
        assert_eq!(world.consumer.is_stale, at > 5);
    }
    // The unit at place 3 begins with message 5: the first unit has the time, too.
    assert_eq!(world.consumer.replays, [(5, 3)]);
    assert_eq!(world.reader.state(), State::Replaying { until: 8 });
    world.answer();
    assert_eq!(world.consumer.numbers, (1..=11).collect::<Vec<u32>>());
    world.settle();
}

#[test]
fn a_late_joiner_begins_with_a_snapshot() {
    let mut world = World::new(100);
    for seed in 0..500 {
        let message = world.something(seed * 7919);
        let units = world.publish(&[message]);
        if seed > 400 {
            for unit in &units {
                world.reads(unit);
            }
        }
        if seed == 450 {
            world.answer();
        }
    }
    assert_eq!(world.consumer.staled, 1);
    world.settle();
}

#[test]
fn seventy_thousand_behind_is_too_far_for_a_replay() {
    let mut world = World::new(1000);
    for seed in 0..70_010 {
        let message = world.something(seed * 7919);
        let units = world.publish(&[message]);
        if !(5..=70_000).contains(&seed) {
            for unit in &units {
                world.reads(unit);
            }
        }
    }
    assert!(world.consumer.replays.is_empty() && world.consumer.snapshots == 1);
    world.settle();
}

#[test]
fn more_than_may_be_kept_begins_anew() {
    let mut world = World::new(10);
    for seed in 0..60 {
        let message = world.something(seed * 7919);
        let units = world.publish(&[message]);
        if seed != 5 {
            for unit in &units {
                world.reads(unit);
            }
        }
    }
    assert!(world.consumer.snapshots > 0);
    world.consumer.replays.clear();
    world.settle();
}

#[test]
fn a_replay_has_all_or_nothing() {
    let mut world = World::new(10);
    for seed in 0..REPLAY_MESSAGES as u64 + 100 {
        let message = world.something(seed * 7919);
        world.publish(&[message]);
    }
    let next = world.publisher.next();
    let oldest = next - REPLAY_MESSAGES as u32;
    let ask = |group, first, count| {
        let mut messages = 0;
        let answer = world.publisher.replay(group, first, count, &mut |unit| {
            messages += u32::from(unit[2]);
        });
        answer.map(|()| messages).map_err(|refused| refused as u8)
    };
    assert_eq!(ask(GROUP, oldest, 65_000), Ok(65_000));
    assert_eq!(ask(GROUP, oldest - 1, 10), Err(b'O'));
    assert_eq!(ask(GROUP, next - 1, 2), Err(b'O'));
    assert_eq!(ask(GROUP, next - 1, 0), Err(b'O'));
    assert_eq!(ask(GROUP + 1, oldest, 1), Err(b'I'));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Two lines, each with losses and changes of order of its own.
    #[test]
    fn books_are_those_of_the_publisher_whatever_is_lost(
        seeds in prop::collection::vec((any::<u32>(), 0..10_u8, 0..10_u8, 0..4_usize), 1..300),
        loss in 0..10_u8,
        max_buffered in 5..200_usize,
        begin in 0..50_usize,
    ) {
        let mut world = World::new(max_buffered);
        // Units that are still under way, by the turn in which they come.
        let mut under_way: Vec<(usize, Vec<u8>)> = Vec::new();
        for (turn, (seed, a, b, delay)) in seeds.iter().enumerate() {
            let message = world.something(u64::from(*seed));
            for unit in world.publish(&[message]) {
                if turn >= begin && *a >= loss {
                    under_way.push((turn + delay, unit.clone()));
                }
                if turn >= begin && *b >= loss {
                    under_way.push((turn + 3 - delay.min(&3), unit));
                }
            }
            let (come, later): (Vec<_>, Vec<_>) =
                under_way.into_iter().partition(|(due, _)| *due <= turn);
            under_way = later;
            for (_, unit) in &come {
                world.reads(unit);
            }
            if seed % 3 == 0 {
                world.answer();
            }
        }
        for (_, unit) in &under_way {
            world.reads(unit);
        }
        world.settle();
        let rising = world.consumer.numbers.windows(2).all(|pair| pair[0] < pair[1]);
        prop_assert!(rising || world.consumer.staled > 0);
    }
}
