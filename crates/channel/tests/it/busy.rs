//! A loop that polls all the time: who talks is read without asking, and
//! acknowledged later.

use std::time::{Duration, Instant};

use crate::support::World;
use tapeline_channel::{ConnectConfig, ListenConfig, ReactorConfig, Sent, SessionId};
use tapeline_time::Time;

/// Time between two polls of a busy loop.
const TURN: Duration = Duration::from_nanos(500);

/// A test that takes longer is one that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server's loop, turned by hand.
struct Busy {
    world: World,
    client: SessionId,
    now: Time,
}

impl Busy {
    /// A client is connected and has talked, so that it is read in a busy loop.
    fn new(config: &ReactorConfig) -> Self {
        let mut world = World::with(config, &ListenConfig::default());
        let (client, _) = world.open(&ConnectConfig::default());
        let now = world.now();
        let mut busy = Self { world, client, now };
        for count in 1..4 {
            busy.say(b"hello");
            busy.turn_until_heard(count);
        }
        busy.world.server.told.clear();
        busy
    }

    fn say(&mut self, message: &[u8]) {
        let sent = self.world.client.reactor.outbox().send(self.client, message);
        assert_eq!(sent, Sent::Queued);
        self.world.client.reactor.flush(self.now);
    }

    fn turns(&mut self, count: usize) {
        for _ in 0..count {
            self.now = self.now.after(TURN);
            self.world.server.poll(self.now);
        }
    }

    /// What is sent may need a moment through the kernel.
    #[track_caller]
    fn turn_until_heard(&mut self, count: usize) {
        self.turn_until(|world| world.server.messages().len() >= count);
        assert_eq!(self.world.server.messages().len(), count);
    }

    #[track_caller]
    fn turn_until(&mut self, done: impl Fn(&World) -> bool) {
        let started = Instant::now();
        while !done(&self.world) {
            self.turns(1);
            assert!(started.elapsed() < PATIENCE, "told were {:?}", self.world.server.told);
        }
    }

    fn pause(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.turns(1);
    }
}

#[test]
fn what_a_talker_says_comes_once_and_in_order() {
    let mut busy = Busy::new(&ReactorConfig::default());
    let said: Vec<Vec<u8>> =
        (0..600_usize).map(|number| vec![number as u8; 1 + number * number % 5_000]).collect();
    for (number, message) in said.iter().enumerate() {
        busy.say(message);
        match number % 50 {
            49 => busy.pause(Duration::from_millis(1)),
            turns => busy.turns(turns % 4),
        }
    }
    busy.turn_until_heard(said.len());
    assert!(busy.world.server.messages() == said);
}

#[test]
fn who_fell_silent_is_heard_when_the_kernel_is_asked() {
    let mut busy = Busy::new(&ReactorConfig::default());
    for _ in 0..200_000 {
        busy.turns(1);
    }
    busy.say(b"once more");
    busy.turn_until_heard(1);
}

#[test]
fn the_end_of_a_talker_is_seen_behind_what_it_said_last() {
    // However many of its words wait for their acknowledgement.
    for words in 1..6 {
        let mut busy = Busy::new(&ReactorConfig::default());
        for count in 1..=words {
            busy.say(b"last words");
            busy.turn_until_heard(count);
        }
        busy.world.client.reactor.close_all("enough");
        let closed = busy.now;
        busy.turn_until(|world| world.server.closed().len() == 1);
        assert!(busy.now.since(closed) < Duration::from_secs(1), "it was not a time-out");
    }
}

#[test]
fn the_end_of_a_talker_is_seen_by_a_loop_that_goes_to_sleep() {
    // However many of its words wait for their acknowledgement, and however
    // long ago the kernel was asked.
    for (words, turns) in (0..4).flat_map(|words| (0..8).map(move |turns| (words, turns))) {
        let mut busy = Busy::new(&ReactorConfig::default());
        for count in 1..=words {
            busy.say(b"words");
            busy.turn_until_heard(count);
        }
        busy.world.server.told.clear();
        busy.turns(turns);
        busy.say(b"last words");
        busy.world.client.reactor.close_all("enough");
        busy.now = busy.now.after(Duration::from_micros(25));
        busy.turns(1);
        let started = Instant::now();
        while busy.world.server.closed().is_empty() {
            busy.now = busy.now.after(Duration::from_millis(1));
            busy.world.server.wait(busy.now, Duration::from_millis(5));
            assert!(started.elapsed() < PATIENCE, "told were {:?}", busy.world.server.told);
        }
        assert_eq!(busy.world.server.messages(), [b"last words"]);
    }
}

#[test]
fn more_talkers_than_may_be_read_directly_are_all_heard() {
    let config = ReactorConfig { max_direct_reads: 2, ..ReactorConfig::default() };
    let mut busy = Busy::new(&config);
    let others: Vec<_> = (0..4).map(|_| busy.world.open(&ConnectConfig::default()).0).collect();
    busy.now = busy.world.now().max(busy.now);
    for round in 1..50 {
        for client in others.iter().chain([&busy.client]) {
            let sent = busy.world.client.reactor.outbox().send(*client, b"I too");
            assert_eq!(sent, Sent::Queued);
        }
        busy.world.client.reactor.flush(busy.now);
        busy.turn_until_heard(5 * round);
    }
}
