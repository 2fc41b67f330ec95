//! What is open goes to sources that have less to do (`rebalance`).

use crate::support::{A, World, config, provider};
use tapeline_channel::SessionId;
use tapeline_hub::{HubConfig, ItemNames, Rebalance};
use tapeline_omm::directory::{FilterContent, ServiceLoad};
use tapeline_rwf::{DataState, State, StateCode, StreamState};

const SLOW: Rebalance = Rebalance::Slow { per_s: 4 };

/// A hub of so many routes, of which the first source is there with as many items as it
/// was asked for.
fn with_items(config: HubConfig, count: u32) -> (World, SessionId) {
    let mut world = World::new(config);
    world.server_up(A);
    let first = world.source_up(0);
    for request in 0..count {
        world.open(A, request, &format!("ITEM{request}"));
    }
    assert_eq!(answer(&mut world, first), count as usize);
    world.forget();
    (world, first)
}

fn balanced(rebalance: Rebalance) -> HubConfig {
    let rebalance = [("FEED".to_owned(), rebalance)].into();
    HubConfig { rebalance, ..config(2) }
}

/// The requests that a source has heard: stream and item.
fn requests(world: &mut World, source: SessionId) -> Vec<(i32, String)> {
    let read = |line: &String| {
        let mut words = line.strip_prefix("Request ")?.split(' ');
        let stream = words.next()?.parse().expect("a stream");
        let (_, item) = words.next()?.split_once(':').expect("service and item");
        Some((stream, item.to_owned()))
    };
    world.heard_by(source).iter().filter_map(read).collect()
}

/// A source answers what it was asked for. How much that was.
fn answer(world: &mut World, source: SessionId) -> usize {
    let asked = requests(world, source);
    for (stream, item) in &asked {
        world.says(source, &provider::refresh(*stream, item));
    }
    world.core.check();
    asked.len()
}

/// Seconds pass in which a source answers; how much it was asked for in each.
fn asked_in_seconds(world: &mut World, source: SessionId, seconds: usize) -> Vec<usize> {
    let mut asked = Vec::new();
    for _ in 0..seconds {
        world.pass(1_000);
        asked.push(answer(world, source));
    }
    asked
}

/// Two items at the first source, of which one was asked for at the second.
fn with_one_on_its_way() -> (World, SessionId, SessionId) {
    let (mut world, first) = with_items(balanced(SLOW), 2);
    let second = world.source_up(1);
    world.heard_by(second);
    world.heard_by(first);
    world.pass(1_000);
    assert_eq!(requests(&mut world, second).len(), 1);
    (world, first, second)
}

fn says_load(world: &mut World, source: SessionId, factor: u64) {
    let load = ServiceLoad { load_factor: Some(factor), ..ServiceLoad::default() };
    world.says(source, &provider::change(FilterContent::Load(load)));
}

#[test]
fn a_source_that_comes_later_gets_its_share_some_items_a_second() {
    let (mut world, first) = with_items(balanced(SLOW), 20);
    let second = world.source_up(1);
    world.heard_by(second);
    world.heard_by(first);
    world.forget();
    assert_eq!(asked_in_seconds(&mut world, second, 5), [4, 4, 1, 0, 0]);
    let closed = world.heard_by(first);
    assert_eq!(closed.iter().filter(|line| line.starts_with("Close")).count(), 9, "{closed:?}");
    let frames = world.frames();
    let is_image = |line: &String| {
        ["Refresh", "Ok", "FailoverCompleted"].iter().all(|word| line.contains(word))
    };
    assert!(frames.len() == 9 && frames.iter().all(is_image), "{frames:?}");
    let counters = world.core.counters();
    assert_eq!((counters.items_balanced, counters.items_moved, counters.mirrors), (9, 9, 0));
}

#[test]
fn without_a_word_of_it_what_is_open_stays() {
    for rebalance in [Rebalance::New, Rebalance::Off] {
        let (mut world, _) = with_items(balanced(rebalance), 20);
        let second = world.source_up(1);
        assert_eq!(asked_in_seconds(&mut world, second, 3), [0, 0, 0]);
    }
}

#[test]
fn much_less_load_is_better_than_as_many_items_and_a_little_less_is_not() {
    let (mut world, first) = with_items(balanced(SLOW), 6);
    let second = world.source_up(1);
    world.heard_by(second);
    assert_eq!(asked_in_seconds(&mut world, second, 3), [3, 0, 0]);
    says_load(&mut world, first, 40);
    says_load(&mut world, second, 30);
    assert_eq!(asked_in_seconds(&mut world, second, 2), [0, 0]);
    says_load(&mut world, second, 29);
    assert_eq!(asked_in_seconds(&mut world, second, 3), [3, 0, 0]);
    assert_eq!(world.core.counters().items_balanced, 6);
    // And back, where it is the other way round.
    says_load(&mut world, first, 0);
    world.heard_by(first);
    assert_eq!(asked_in_seconds(&mut world, first, 3), [4, 2, 0]);
}

#[test]
fn the_load_is_not_looked_at_where_nothing_is_to_be_balanced() {
    let mut world = World::new(balanced(Rebalance::Off));
    world.server_up(A);
    let sources = [world.source_up(0), world.source_up(1)];
    says_load(&mut world, sources[0], 90);
    for request in 0..10 {
        world.open(A, request, &format!("ITEM{request}"));
    }
    let asked = sources.map(|source| requests(&mut world, source).len());
    assert_eq!(asked, [5, 5]);
}

#[test]
fn an_item_goes_to_no_source_that_is_asked_after_its_own_and_back_to_one_before() {
    let mut config = balanced(SLOW);
    config.routes[1].order = 1;
    let (mut world, first) = with_items(config, 3);
    let second = world.source_up(1);
    assert_eq!(asked_in_seconds(&mut world, second, 2), [0, 0]);
    world.closed(first);
    world.pass(0);
    assert_eq!(answer(&mut world, second), 3);
    // Until it is connected again.
    world.pass(5_000);
    let again = world.source_up(0);
    world.heard_by(again);
    assert_eq!(asked_in_seconds(&mut world, again, 2), [3, 0]);
}

#[test]
fn items_that_are_for_one_source_alone_stay_and_are_not_in_the_way_of_others() {
    let mut config = balanced(SLOW);
    config.routes[1].items = Some(ItemNames::of(["ITEM1*".to_owned()]).expect("a pattern"));
    let (mut world, _) = with_items(config, 12);
    let second = world.source_up(1);
    world.pass(1_000);
    let mut items: Vec<_> = requests(&mut world, second).into_iter().map(|(_, it)| it).collect();
    items.sort();
    assert_eq!(items, ["ITEM1", "ITEM10", "ITEM11"]);
}

#[test]
fn what_a_source_refuses_stays_and_others_have_their_turn() {
    let (mut world, first) = with_items(balanced(Rebalance::Slow { per_s: 1 }), 4);
    let second = world.source_up(1);
    world.heard_by(second);
    world.pass(1_000);
    let asked = requests(&mut world, second);
    let [(stream, item)] = &asked[..] else { panic!("one: {asked:?}") };
    let closed = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_FOUND, "");
    world.forget();
    world.says(second, &provider::status_of(*stream, item, closed));
    assert_eq!((world.frames(), world.core.counters().mirrors), (vec![], 0));
    world.pass(1_000);
    let next = requests(&mut world, second);
    assert!(next.len() == 1 && next[0].1 != *item, "{next:?}");
    world.says(first, &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1, "it is where it was");
}

#[test]
fn what_a_source_does_not_answer_is_closed_there_after_a_while() {
    let (mut world, _, second) = with_one_on_its_way();
    world.pass(19_000);
    assert_eq!(world.heard_by(second), [""; 0]);
    world.pass(2_000);
    let heard = world.heard_by(second);
    assert!(heard.iter().any(|line| line.starts_with("Close")), "{heard:?}");
    assert_eq!(world.core.counters().items_balanced, 0);
}

#[test]
fn an_item_whose_source_is_lost_on_the_way_is_asked_for_once() {
    let (mut world, first, second) = with_one_on_its_way();
    world.closed(first);
    world.pass(0);
    world.core.check();
    let heard = world.heard_by(second);
    let of = |kind: &str| heard.iter().filter(|line| line.starts_with(kind)).count();
    assert_eq!((of("Request"), of("Close")), (2, 1), "{heard:?}");
    assert_eq!(world.core.counters().mirrors, 0);
}

#[test]
fn an_item_that_nobody_wants_any_more_is_closed_at_both() {
    let (mut world, first, second) = with_one_on_its_way();
    world.close(A, 0);
    world.close(A, 1);
    world.pass(60_000);
    world.core.check();
    let of = |heard: Vec<String>| heard.iter().filter(|line| line.starts_with("Close")).count();
    assert_eq!((of(world.heard_by(first)), of(world.heard_by(second))), (2, 1));
}
