//! Streams that give way to others that are wanted more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tapeline_channel::SessionId;
use tapeline_server::{Limits, ServerConfig, UserLimits};

use crate::support::*;

fn limited(limits: Limits) -> World {
    World::feed_with(ServerConfig { limits, ..ServerConfig::default() })
}

fn wanted(stream_id: i32, name: &str, class: u8, count: u16) -> Vec<u8> {
    item_request(stream_id, name, |it| it.priority = Some(with_priority(class, count)))
}

const GAVE_WAY: &str = "Suspect / Preempted / 'Gave way to an item of higher priority.'";
const TOO_MANY: &str = "Closed / Suspect / TooManyItems / 'Item limit reached'";

/// A mount whose client recovers by itself.
fn recovering(world: &mut World) -> SessionId {
    let session = world.connect();
    world.say(session, &login_with(false, true));
    world.heard(session);
    session
}

#[test]
fn at_the_bound_of_a_mount_the_least_wanted_stream_gives_way() {
    let mut world = limited(Limits { item_limit_per_mount: 2, ..Limits::default() });
    let consumer = recovering(&mut world);
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &wanted(6, "IBM.N", 3, 5));
    world.published();
    // What is wanted no more than the others is refused.
    world.say(consumer, &request(7, "GE.N"));
    assert_eq!(world.heard(consumer), [format!("STATUS 7 MARKET_PRICE GE.N@1 {TOO_MANY}")]);
    world.say(consumer, &wanted(7, "GE.N", 3, 5));
    let closed = format!("STATUS 5 MARKET_PRICE TRI.N@1 ClosedRecover / {GAVE_WAY}");
    assert_eq!(world.heard(consumer), [closed]);
    let published = world.published();
    assert_eq!(published.len(), 2, "{published:?}");
    assert_eq!(published[0], "Close 100 0");
    assert!(published[1].starts_with("Open 100") && published[1].contains("GE.N"), "{published:?}");
    // Now both are wanted alike, and what is wanted more has one of them go.
    world.say(consumer, &wanted(8, "MSFT.O", 3, 5));
    assert_eq!(world.heard(consumer), [format!("STATUS 8 MARKET_PRICE MSFT.O@1 {TOO_MANY}")]);
    world.say(consumer, &wanted(8, "MSFT.O", 3, 6));
    let closed = format!("STATUS 6 MARKET_PRICE IBM.N@1 ClosedRecover / {GAVE_WAY}");
    assert_eq!(world.heard(consumer), [closed]);
    assert_eq!(world.core.statistics().streams_preempted, 2);
}

#[test]
fn nothing_is_wanted_more_than_the_class_that_its_user_may_have() {
    let own = UserLimits { max_priority_class: Some(3), ..UserLimits::default() };
    let users = Arc::new(BTreeMap::from([("user".to_owned(), own)]));
    let mut world = limited(Limits { item_limit_per_mount: 1, users, ..Limits::default() });
    let consumer = recovering(&mut world);
    world.say(consumer, &wanted(5, "TRI.N", 3, 2));
    assert_eq!(world.heard(consumer), [""; 0]);
    // Of class 7, which is 3 here: it is wanted less.
    world.say(consumer, &wanted(6, "IBM.N", 7, 1));
    assert_eq!(world.heard(consumer), [format!("STATUS 6 MARKET_PRICE IBM.N@1 {TOO_MANY}")]);
    world.say(consumer, &wanted(6, "IBM.N", 7, 3));
    let closed = format!("STATUS 5 MARKET_PRICE TRI.N@1 ClosedRecover / {GAVE_WAY}");
    assert_eq!(world.heard(consumer), [closed]);
}

#[test]
fn who_leaves_recovery_to_the_server_has_it_back_when_there_is_room() {
    let mut world = limited(Limits { item_limit: 1, ..Limits::default() });
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &wanted(6, "IBM.N", 3, 5));
    let waits = format!("STATUS 5 MARKET_PRICE TRI.N@1 Open / {GAVE_WAY}");
    assert_eq!(world.heard(first), [waits]);
    assert_eq!(world.core.statistics().opens_waiting, 1);
    world.published();
    world.pass(Duration::from_secs(5));
    assert_eq!(world.published(), [""; 0], "there is no room yet");
    world.say(second, &close(6));
    world.published();
    world.pass(Duration::from_secs(1));
    let published = world.published();
    assert!(published.len() == 1 && published[0].contains("TRI.N"), "{published:?}");
    world.accept(HUB, 18, 1);
    world.item(HUB, 18, 1, &image(&[(22, 7)]));
    let heard = world.heard(first);
    assert!(heard.len() == 1 && heard[0].starts_with("REFRESH 5"), "{heard:?}");
    assert!(!heard[0].contains("solicited"), "nobody waits for an answer: {heard:?}");
    world.item(HUB, 18, 2, &update(&[(22, 8)]));
    assert_eq!(world.heard(first), ["UPDATE 5 MARKET_PRICE QUOTE {22=8}"]);
}

/// One service, which may have so many items.
fn bounded(items: usize) -> World {
    let service_items = [("FEED".to_owned(), items)].into();
    World::feed_with(ServerConfig { service_items, ..ServerConfig::default() })
}

#[test]
fn at_the_bound_of_a_service_what_is_wanted_less_gives_way_and_more_is_refused() {
    let mut world = bounded(2);
    let (first, second) = (recovering(&mut world), recovering(&mut world));
    world.open_item(first, 5, "TRI.N", 17);
    world.open_item(first, 6, "IBM.N", 18);
    world.say(second, &request(7, "GE.N"));
    assert_eq!(world.heard(second), [format!("STATUS 7 MARKET_PRICE GE.N@1 {TOO_MANY}")]);
    assert_eq!(world.core.statistics().opens_limited, 1);
    // What is there can be had by as many as like.
    world.say(second, &request(8, "IBM.N"));
    assert!(world.heard(second)[0].starts_with("REFRESH 8"));
    world.say(second, &wanted(7, "GE.N", 3, 5));
    let closed = format!("STATUS 5 MARKET_PRICE TRI.N@1 ClosedRecover / {GAVE_WAY}");
    assert_eq!(world.heard(first), [closed]);
    assert_eq!(world.core.statistics().items, 2);
    // And what goes makes room.
    world.say(first, &close(6));
    world.say(second, &close(8));
    world.say(first, &request(9, "MSFT.O"));
    assert_eq!(world.heard(first), [""; 0]);
    assert_eq!(world.core.statistics().items, 2);
}

#[test]
fn what_gave_way_at_the_bound_of_a_service_is_back_when_that_has_room() {
    let mut world = bounded(1);
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &wanted(6, "IBM.N", 3, 5));
    assert_eq!(world.heard(first), [format!("STATUS 5 MARKET_PRICE TRI.N@1 Open / {GAVE_WAY}")]);
    world.published();
    world.pass(Duration::from_secs(5));
    assert_eq!(world.published(), [""; 0], "there is no room yet");
    assert_eq!(world.core.statistics().opens_waiting, 1);
    world.say(second, &close(6));
    world.published();
    world.pass(Duration::from_secs(1));
    let published = world.published();
    assert!(published.len() == 1 && published[0].contains("TRI.N"), "{published:?}");
}

#[test]
fn what_waits_for_room_can_be_closed_and_goes_with_its_mount() {
    let mut world = limited(Limits { item_limit_per_mount: 1, ..Limits::default() });
    let (one, other) = (world.mount(), world.mount());
    for session in [one, other] {
        world.say(session, &request(5, "TRI.N"));
        world.say(session, &wanted(6, "IBM.N", 3, 5));
    }
    assert_eq!(world.core.statistics().opens_waiting, 2);
    world.say(one, &close(5));
    world.disconnect(other);
    assert_eq!(world.core.statistics().opens_waiting, 0);
    world.say(one, &close(6));
    world.published();
    world.pass(Duration::from_secs(3));
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn at_the_bound_of_the_server_the_item_goes_that_all_together_want_least() {
    let mut world = limited(Limits { max_items: 2, ..Limits::default() });
    let (first, second) = (recovering(&mut world), recovering(&mut world));
    // Two want this one.
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &request(5, "TRI.N"));
    world.heard(second);
    world.open_item(first, 6, "IBM.N", 18);
    // What counts for one goes for what counts for two, and not the other.
    world.say(second, &wanted(7, "GE.N", 1, 2));
    let closed = format!("STATUS 6 MARKET_PRICE IBM.N@1 ClosedRecover / {GAVE_WAY}");
    assert_eq!(world.heard(first), [closed]);
    assert_eq!(world.heard(second), [""; 0]);
    world.say(second, &wanted(8, "MSFT.O", 1, 2));
    assert_eq!(world.heard(second), [format!("STATUS 8 MARKET_PRICE MSFT.O@1 {TOO_MANY}")]);
    // What nobody wants as much has all of its watchers go.
    world.published();
    world.say(second, &close(7));
    world.say(second, &wanted(9, "CSCO.O", 9, 9));
    world.published();
    world.say(second, &wanted(8, "MSFT.O", 2, 1));
    let closed = format!("STATUS 5 MARKET_PRICE TRI.N@1 ClosedRecover / {GAVE_WAY}");
    assert_eq!((world.heard(first), world.heard(second)), (vec![closed.clone()], vec![closed]));
}

#[test]
fn an_item_that_many_watch_gives_way_to_none_and_one_that_fewer_watch_does_with_all() {
    for (watchers, gives_way) in [(64, true), (65, false)] {
        let limits = Limits { max_items: 1, max_mounts: 100, ..Limits::default() };
        let mut world = limited(limits);
        let mounts: Vec<_> = (0..watchers).map(|_| recovering(&mut world)).collect();
        world.open_item(mounts[0], 5, "TRI.N", 17);
        for mount in &mounts[1..] {
            world.say(*mount, &request(5, "TRI.N"));
            world.heard(*mount);
        }
        let newcomer = recovering(&mut world);
        world.say(newcomer, &wanted(7, "GE.N", 9, 9));
        let closed = format!("STATUS 5 MARKET_PRICE TRI.N@1 ClosedRecover / {GAVE_WAY}");
        let told = mounts.iter().filter(|mount| world.heard(**mount) == [closed.clone()]).count();
        assert_eq!(told, if gives_way { watchers } else { 0 });
        let refused = format!("STATUS 7 MARKET_PRICE GE.N@1 {TOO_MANY}");
        assert_eq!(world.heard(newcomer) == [refused], !gives_way);
    }
}

#[test]
fn a_hub_is_told_that_an_item_is_wanted_less() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &wanted(6, "TRI.N", 4, 2));
    let told = |class: &str| {
        let key = "REQUEST 0 MARKET_PRICE TRI.N@1 streaming no-refresh";
        format!("Reissue 100 0 {key} {class} REALTIME/TICK_BY_TICK")
    };
    assert_eq!(world.published(), [told("4/2")]);
    world.say(second, &close(6));
    assert_eq!(world.published(), [told("1/1")]);
    // The same when it is its mount that goes, or it wants it less.
    world.say(second, &wanted(6, "TRI.N", 4, 2));
    world.say(second, &wanted(6, "TRI.N", 2, 1));
    assert_eq!(world.published(), [told("4/2"), told("2/1")]);
    world.disconnect(second);
    assert_eq!(world.published(), [told("1/1")]);
}
