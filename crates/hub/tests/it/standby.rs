//! Non-interactive providers that publish an item which another one has, and no good
//! image of it: they stand by for it. What those do that have one is in
//! `standby_images`.

use super::published::{IMAGE, connected, publish, publish_suspect, publishing};
use crate::support::{A, World, config, provider};
use tapeline_channel::SessionId;
use tapeline_hub::HubConfig;
use tapeline_rwf::{DataState, State, StateCode, StreamState};

/// A hub with server A, a provider that has TRI.N, and one that stands by with
/// the same item on stream -9.
fn with_standby(config: HubConfig) -> (World, SessionId, SessionId) {
    let (mut world, first) = publishing(config);
    world.open(A, 7, "TRI.N");
    let standby = connected(&mut world);
    world.says(standby, &publish_suspect(-9, "TRI.N"));
    world.heard_by(standby);
    world.forget();
    assert_eq!(world.core.counters().claims, 1);
    (world, first, standby)
}

const EXPIRED: &str = "all #2 last Status ClosedRecover / Suspect / None / 'channel down.'";

#[test]
fn an_item_stays_for_as_long_as_a_provider_stands_by_for_it() {
    let (mut world, first, standby) = with_standby(config(0));
    world.closed(first);
    assert_eq!(world.frames(), ["all #1 Status Open / Suspect / None / 'channel down.'"]);
    world.pass(600_000);
    assert_eq!(world.frames(), [""; 0], "one lives that has it");
    assert_eq!(world.core.counters().items, 1);
    world.says(standby, &publish(-9, "TRI.N"));
    assert_eq!(world.frames(), [format!("all #2 image {IMAGE}")]);
    assert_eq!(world.core.counters().claims, 0, "it has the item itself now");
    world.closed(standby);
    world.forget();
    world.pass(60_000);
    assert_eq!(world.frames().len(), 1);
    assert_eq!(world.core.counters().items, 0);
}

#[test]
fn an_item_expires_when_the_last_that_stood_by_for_it_is_gone_too() {
    let (mut world, first, standby) = with_standby(config(0));
    world.closed(first);
    world.pass(600_000);
    world.closed(standby);
    world.forget();
    world.pass(59_999);
    assert_eq!(world.frames(), [""; 0]);
    world.pass(1);
    assert_eq!(world.frames(), [EXPIRED]);
    assert_eq!((world.core.counters().items, world.core.counters().claims), (0, 0));
}

#[test]
fn one_that_stood_by_and_left_first_keeps_nothing() {
    let (mut world, first, standby) = with_standby(config(0));
    world.closed(standby);
    assert_eq!(world.core.counters().claims, 0);
    world.closed(first);
    world.forget();
    world.pass(60_000);
    assert_eq!(world.frames(), [EXPIRED]);
}

#[test]
fn one_that_stands_by_and_closes_the_stream_gives_the_item_up_for_itself_alone() {
    let gone = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "no more");
    let (mut world, first, standby) = with_standby(config(0));
    world.says(standby, &provider::status(-9, State::open_ok("")));
    assert_eq!(world.core.counters().claims, 1);
    world.says(standby, &provider::status(-9, gone));
    assert_eq!(world.frames(), [""; 0], "the item is the other one's");
    assert_eq!(world.core.counters().claims, 0);
    world.closed(first);
    world.forget();
    world.pass(60_000);
    assert_eq!(world.frames(), [EXPIRED]);

    // The same, when the other one is gone already.
    let (mut world, first, standby) = with_standby(config(0));
    world.closed(first);
    world.pass(600_000);
    world.says(standby, &provider::status(-9, gone));
    world.forget();
    world.pass(60_000);
    assert_eq!(world.frames(), [EXPIRED]);
}

#[test]
fn one_that_stands_by_and_withdraws_the_service_keeps_nothing() {
    let (mut world, first, standby) = with_standby(config(0));
    world.closed(first);
    world.says(standby, &provider::directory_on(0, &[]));
    assert_eq!(world.core.counters().claims, 0);
    world.forget();
    world.pass(60_000);
    assert_eq!(world.frames(), [EXPIRED]);
}

#[test]
fn a_stream_of_one_that_stands_by_is_for_one_item() {
    let (mut world, first, standby) = with_standby(config(0));
    world.says(standby, &publish(-9, "IBM.N"));
    assert_eq!((world.core.counters().items, world.core.counters().claims), (2, 0));
    world.says(first, &publish(-2, "C"));
    world.says(first, &publish(-3, "D"));
    world.says(standby, &publish_suspect(-5, "C"));
    world.says(standby, &publish_suspect(-5, "D"));
    assert_eq!(world.core.counters().claims, 1);
    world.closed(first);
    world.pass(60_000);
    // D, for which it stands by, and IBM.N.
    assert_eq!(world.core.counters().items, 2);
}

#[test]
fn an_item_that_its_provider_closes_is_over_whoever_stands_by() {
    let (mut world, first, standby) = with_standby(config(0));
    let gone = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "delisted");
    world.says(first, &provider::status(-1, gone));
    assert_eq!((world.core.counters().items, world.core.counters().claims), (0, 0));
    world.says(standby, &publish(-9, "TRI.N"));
    assert_eq!(world.core.counters().items, 1, "published anew");
    world.closed(first);
    world.pass(60_000);
    assert_eq!(world.core.counters().items, 1);
}

#[test]
fn standing_by_counts_among_the_items_of_a_provider() {
    let mut config = config(0);
    config.limits.max_items_per_provider = 2;
    let (mut world, first, standby) = with_standby(config);
    world.says(standby, &publish(-2, "OWN"));
    world.says(first, &publish(-2, "SECOND"));
    world.heard_by(first);
    world.says(standby, &publish(-3, "SECOND"));
    assert_eq!(
        world.heard_by(standby),
        ["Status Closed / Suspect / TooManyItems / 'Item limit reached'"]
    );
    assert_eq!(world.core.counters().claims, 1);
    // Taking over what it stands by for needs no more room.
    world.closed(first);
    world.forget();
    world.says(standby, &publish(-9, "TRI.N"));
    assert_eq!(world.frames(), [format!("all #2 image {IMAGE}")]);
    world.pass(60_000);
    assert_eq!(world.core.counters().items, 2, "the one that it was refused expires");
}

#[test]
fn an_item_that_is_over_leaves_room_for_another_at_who_stood_by() {
    let mut config = config(0);
    config.limits.max_items_per_provider = 1;
    let (mut world, first, standby) = with_standby(config);
    world.says(standby, &publish(-2, "OWN"));
    assert_eq!(world.core.counters().items, 1, "it has no room");
    let gone = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "delisted");
    world.says(first, &provider::status(-1, gone));
    world.says(standby, &publish(-2, "OWN"));
    assert_eq!((world.core.counters().items, world.core.counters().claims), (1, 0));
}

#[test]
fn items_that_are_stood_by_for_go_to_an_interactive_provider_that_comes() {
    let mut world = World::new(config(1));
    world.server_up(A);
    let first = connected(&mut world);
    world.says(first, &publish(-1, "WATCHED"));
    world.says(first, &publish(-2, "UNWATCHED"));
    let standby = connected(&mut world);
    world.says(standby, &publish_suspect(-1, "WATCHED"));
    world.says(standby, &publish_suspect(-2, "UNWATCHED"));
    world.open(A, 1, "WATCHED");
    world.closed(first);
    world.pass(600_000);
    assert_eq!((world.core.counters().items, world.core.counters().claims), (2, 2));
    let source = world.source_up(0);
    assert_eq!(world.heard_by(source)[2..], ["Request 3 1:WATCHED streaming"]);
    assert_eq!((world.core.counters().items, world.core.counters().claims), (1, 0));
}

#[test]
fn what_many_items_are_stood_by_for_ends_bit_by_bit() {
    let mut config = config(0);
    config.limits.items_per_slice = 10;
    let (mut world, first, standby) = with_standby(config);
    for number in 0..100 {
        world.says(first, &publish(-100 - number, &format!("ITEM{number}")));
        world.says(standby, &publish_suspect(-100 - number, &format!("ITEM{number}")));
    }
    assert_eq!(world.core.counters().claims, 101);
    // Both at once: the first one's items are told first, and nobody is there
    // that would keep them.
    world.closed(first);
    world.closed(standby);
    let left = world.core.counters();
    assert!(left.claims > 0 && left.backlog > 100, "{left:?}");
    // Somebody comes meanwhile, and has one of them.
    let third = connected(&mut world);
    world.says(third, &publish(-1, "ITEM7"));
    world.pass(59_999);
    assert_eq!((world.core.counters().claims, world.core.counters().backlog), (0, 0));
    assert_eq!(world.core.counters().items, 101);
    world.pass(1);
    assert_eq!(world.core.counters().items, 1);
}
