//! What holds in cases that chance seldom comes to.

use tapeline_sequence::{Command, Identity, Kind, Limits, Sequencer, Source};
use tapeline_time::Time;

use super::{Lines, Wires, World, config};
use crate::core::{Door, Exchange, ExchangeConfig, Outputs};
use crate::distributor::{Distributor, DistributorConfig, Greeting, Welcome, Word, Words};
use crate::error::ExchangeError;
use crate::identity;

#[test]
fn who_is_not_in_step_does_not_publish_and_the_lowest_number_takes_over() {
    let mut world = World::new(1, 1 << 20);
    world.trade(50);
    world.commit(true);
    assert_eq!(world.market.counts().publishes, 0, "it waits for who published before");
    world.pass(301);
    world.commit(true);
    world.commit(true);
    assert_eq!(world.market.counts().publishes, 1, "nobody came");
    assert_eq!(world.air.len(), world.truth().0.len(), "what had waited is out");
    world.link(1);
    world.hear(1, true);
    world.commit(true);
    assert_eq!(world.market.counts().publishes, 1, "it has nothing yet");
    for _ in 0..5 {
        world.turn(1, true, false);
        world.hear(1, true);
        world.commit(true);
    }
    assert!(world.processes[1].distributor.publishes());
    world.settle();
    let publishes = |world: &World| {
        let all = world.processes.iter().map(|it| it.distributor.publishes());
        (all.collect::<Vec<_>>(), world.market.counts().publishes)
    };
    assert_eq!(publishes(&world), (vec![true, false], 0));
    world.kill_distribution(0);
    world.trade(50);
    for _ in 0..5 {
        world.commit(true);
        world.turn(1, true, false);
        world.hear(1, true);
    }
    assert_eq!(publishes(&world), (vec![false, true], 0));
    world.kill_distribution(1);
    world.trade(50);
    world.commit(true);
    world.commit(true);
    assert_eq!(publishes(&world), (vec![false, false], 1));
    world.settle();
    world.holds(1);
}

#[test]
fn without_a_journal_who_begins_too_late_is_told_what_to_configure() {
    let mut world = World::new(1, 2_000);
    world.wires.keeps_nothing = true;
    world.settle();
    for _ in 0..50 {
        world.trade(5);
        world.commit(true);
        world.turn(0, true, false);
        world.hear(0, true);
        world.turn(1, true, false);
        world.hear(1, true);
    }
    let (_, applied, _) = world.processes[0].distributor.exchange().position();
    assert_eq!(applied, world.market.position().1, "who was there from the start has all");
    world.kill_distribution(1);
    world.link(1);
    world.hear(1, true);
    world.commit(true);
    let process = &mut world.processes[1];
    assert_eq!(process.link, None, "it is turned away");
    let trouble = process.distributor.trouble().expect("it ends").to_string();
    assert!(trouble.contains("give the market --journal DIR, or dir in [journal]"), "{trouble}");
}

#[test]
fn a_state_that_is_damaged_is_passed_over() {
    let mut world = World::new(3, 500);
    for _ in 0..3 {
        world.trade(50);
        world.keep_state();
    }
    let (newest, bytes) = world.wires.states.last_entry().map(|it| (*it.key(), it)).expect("two");
    bytes.into_mut()[100] ^= 1;
    world.settle();
    world.holds(3);
    let counts = world.processes[0].distributor.counts();
    assert_eq!((counts.states, counts.begun_anew), (1, 0), "all but entry {newest}'s");
}

#[test]
fn a_link_that_does_not_read_is_broken_off_and_goes_on_later() {
    let mut world = World::new(5, 1 << 20);
    world.config.max_output_bytes = 10_000;
    world.market = Exchange::new(&world.config, 0);
    (world.wires, world.committed) = (Wires::default(), 0);
    world.market.open(world.now, &mut world.wires);
    world.settle();
    let link = world.processes[0].link.expect("a link");
    while world.processes[0].link == Some(link) {
        world.trade(20);
        world.commit(true);
        assert!(world.wires.queued(link) < 20_000, "it grows");
        world.turn(1, true, false);
        world.hear(1, true);
    }
    world.commit(true);
    for _ in 0..3 {
        world.turn(1, true, false);
        world.hear(1, true);
        world.commit(true);
    }
    assert!(world.processes[1].distributor.publishes(), "the other one takes over");
    world.settle();
    world.holds(5);
}

#[test]
fn other_events_than_the_markets_end_it_with_both_hashes() {
    let config = config(1 << 10);
    let mut distributor = Distributor::new(DistributorConfig::of(&config, 1, 1));
    let mut lines = Lines::default();
    let mut sequencer = Sequencer::new(Limits::default());
    let mut make = |number: u64, kind, payload: &[u8]| {
        let source = Source::OWN;
        let command = Command { kind, source, number, payload, ..Command::default() };
        sequencer.offer(&command).expect("room");
        let mut entry = Vec::new();
        sequencer.sequence(number, &mut entry).expect("a command");
        entry
    };
    distributor.link_up(Time::ZERO, &mut lines);
    let mut bytes = Vec::new();
    Word::Welcome(Greeting::Welcome, Welcome::default()).append(&mut bytes);
    for number in 1..=10_000 {
        Word::Entries(&make(number, Kind::TICK, b"")).append(&mut bytes);
    }
    assert!(distributor.link_received(Time::ZERO, &bytes, &mut lines));
    // That of the market: entry 10,000, and another hash.
    let checked = [10_000_u64.to_le_bytes(), 0x77_u64.to_le_bytes()].concat();
    bytes.clear();
    Word::Entries(&make(10_001, Kind::CHECK, &checked)).append(&mut bytes);
    assert!(!distributor.link_received(Time::ZERO, &bytes, &mut lines));
    let trouble = distributor.trouble().expect("it ends");
    let is_it = |it: &ExchangeError| {
        matches!(it, ExchangeError::Diverged { index: 10_000, there: 0x77, .. })
    };
    assert!(is_it(&trouble), "{trouble}");
}

#[test]
fn a_distribution_of_another_market_or_number_is_turned_away() {
    let mut world = World::new(1, 1 << 20);
    for (number, market, wanted) in [
        (1, ExchangeConfig { seed: 99, ..world.config.clone() }, Greeting::Stranger),
        (3, world.config.clone(), Greeting::Unknown),
    ] {
        let link = world.market.accepted(world.now, Door::Distribution).expect("room");
        let mut other = Distributor::new(DistributorConfig::of(&market, number, 77));
        let mut lines = Lines::default();
        other.link_up(world.now, &mut lines);
        world.market.received(world.now, link, &lines.up, &mut world.wires);
        let said = world.wires.to.remove(&link).expect("an answer");
        let mut greeting = None;
        Words::default().read(&said, |word| {
            if let Word::Welcome(it, _) = word {
                greeting = Some(*it);
            }
            true
        });
        assert_eq!(greeting, Some(wanted));
        assert!(world.wires.closed.contains(&link));
    }
    assert_ne!(identity::of(&world.config), Identity::default());
}
