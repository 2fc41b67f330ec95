//! What mounts may not have, and what bad input loses.

use tapeline_backbone::Kind;
use tapeline_channel::Sent;
use tapeline_server::{Limits, ServerConfig};

use crate::support::*;

fn limited(limits: Limits) -> World {
    World::feed_with(ServerConfig { limits, ..ServerConfig::default() })
}

const TOO_MANY: &str = "Closed / Suspect / TooManyItems / 'Item limit reached'";

#[test]
fn a_mount_has_no_more_items_than_allowed() {
    let mut world = limited(Limits { item_limit_per_mount: 1, ..Limits::default() });
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &request(6, "IBM.N"));
    assert_eq!(world.heard(consumer), [format!("STATUS 6 MARKET_PRICE IBM.N@1 {TOO_MANY}")]);
    assert_eq!(world.core.statistics().opens_limited, 1);
    world.say(consumer, &close(5));
    world.published();
    world.open_item(consumer, 6, "IBM.N", 18);
}

#[test]
fn a_user_has_no_more_items_over_all_mounts_than_allowed() {
    let mut world = limited(Limits { item_limit: 1, ..Limits::default() });
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &request(5, "IBM.N"));
    assert_eq!(world.heard(second), [format!("STATUS 5 MARKET_PRICE IBM.N@1 {TOO_MANY}")]);
    world.disconnect(first);
    assert_eq!(world.published(), ["Close 100 0"]);
    world.open_item(second, 5, "IBM.N", 18);
}

#[test]
fn the_server_has_no_more_items_than_allowed_but_shares_them() {
    let mut world = limited(Limits { max_items: 1, ..Limits::default() });
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &request(5, "IBM.N"));
    assert_eq!(world.heard(second), [format!("STATUS 5 MARKET_PRICE IBM.N@1 {TOO_MANY}")]);
    world.say(second, &request(5, "TRI.N"));
    assert!(world.heard(second)[0].starts_with("REFRESH 5"));
}

#[test]
fn the_server_has_no_more_mounts_than_allowed() {
    let mut world = limited(Limits { max_mounts: 1, ..Limits::default() });
    let first = world.mount();
    let second = world.connect();
    let reason = "the server has all the mounts it may have".to_owned();
    assert_eq!(world.out.closed, [(second, reason)]);
    world.say(second, &login(1, "user"));
    assert_eq!(world.heard(second), [""; 0]);
    world.disconnect(first);
    world.mount();
}

#[test]
fn who_has_not_logged_in_takes_no_mount_from_others() {
    let mut world = limited(Limits { max_mounts: 2, ..Limits::default() });
    let idle: Vec<_> = (0..5).map(|_| world.connect()).collect();
    assert_eq!(world.out.closed, []);
    let (first, second) = (world.mount(), world.mount());
    assert_eq!(world.out.admitted, [first, second]);
    // Who comes late is hung up on, so that it tries another server.
    world.say(idle[0], &login(1, "user"));
    let reason = "the server has all the mounts it may have".to_owned();
    assert_eq!(world.out.closed, [(idle[0], reason)]);
    assert_eq!(world.heard(idle[0]), [""; 0]);
    // A place that is free again is for the next login; a mount that logs out
    // and in again keeps its own.
    world.say(second, &close(1));
    world.say(second, &login(1, "user"));
    assert_eq!(world.out.admitted, [first, second]);
    world.disconnect(first);
    world.say(idle[1], &login(1, "user"));
    assert_eq!(world.out.admitted, [first, second, idle[1]]);
    assert_eq!(world.out.closed.len(), 1);
}

#[test]
fn a_session_in_the_place_of_another_has_nothing_of_it() {
    // Whether the server was told of the end or not, and with no room but one.
    for is_told in [true, false] {
        let mut world = limited(Limits { max_mounts: 2, ..Limits::default() });
        let other = world.mount();
        let first = world.mount_as(7, 1);
        world.open_item(first, 5, "TRI.N", 17);
        world.say(other, &request(6, "TRI.N"));
        world.heard(other);
        if is_told {
            world.disconnect(first);
        }
        let second = world.mount_as(7, 2);
        assert_eq!(world.out.closed, []);
        world.item(HUB, 17, 2, &update(&[(22, 1)]));
        assert_eq!(world.heard(first), [""; 0]);
        assert_eq!(world.heard(second), [""; 0]);
        assert_eq!(world.heard(other), ["UPDATE 6 MARKET_PRICE QUOTE {22=1}"]);
        world.say(second, &request(5, "TRI.N"));
        assert!(world.heard(second)[0].starts_with("REFRESH 5"));
        world.item(HUB, 17, 3, &update(&[(22, 2)]));
        assert_eq!(world.heard(second), ["UPDATE 5 MARKET_PRICE QUOTE {22=2}"]);
        assert_eq!(world.heard(first), [""; 0]);
    }
}

#[test]
fn a_session_beyond_all_places_is_closed() {
    let mut world = World::with_feed();
    let session = world.mount_as(1 << 18, 1);
    assert_eq!(world.out.closed[0].0, session);
    world.mount_as((1 << 18) - 1, 1);
    assert_eq!(world.out.closed.len(), 1);
}

#[test]
fn garbage_costs_its_sender_the_session_and_nobody_else_anything() {
    let mut world = World::with_feed();
    let (bad, good) = (world.mount(), world.mount());
    world.open_item(bad, 5, "TRI.N", 17);
    world.say(good, &request(6, "TRI.N"));
    world.heard(good);
    world.say(bad, &[0xFF; 40]);
    assert_eq!(world.out.closed.len(), 1);
    assert_eq!(world.out.closed[0].0, bad);
    assert!(world.out.closed[0].1.starts_with("a message cannot be read: "));
    world.item(HUB, 17, 2, &update(&[(22, 1)]));
    assert_eq!(world.heard(bad), [""; 0]);
    assert_eq!(world.heard(good), ["UPDATE 6 MARKET_PRICE QUOTE {22=1}"]);
    // The reactor tells the end too.
    world.disconnect(bad);
    assert_eq!(world.core.statistics().mounts, 1);
}

#[test]
fn answers_from_a_consumer_are_ignored() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    for bytes in [image(&[(22, 1)]), update(&[(22, 1)])] {
        world.say(consumer, &bytes);
    }
    assert_eq!(world.heard(consumer), [""; 0]);
    assert_eq!(world.out.closed, []);
}

#[test]
fn a_mount_whose_output_is_full_is_cut() {
    let mut world = World::with_feed();
    let (stuck, good) = (world.mount(), world.mount());
    world.open_item(stuck, 5, "TRI.N", 17);
    world.say(good, &request(6, "TRI.N"));
    world.heard(good);
    world.answer(stuck, Sent::Full);
    world.item(HUB, 17, 2, &update(&[(22, 1)]));
    let reason = "the mount does not read: its output is full".to_owned();
    assert_eq!(world.out.closed, [(stuck, reason)]);
    assert_eq!(world.heard(good), ["UPDATE 6 MARKET_PRICE QUOTE {22=1}"]);
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    assert_eq!(world.heard(good), ["UPDATE 6 MARKET_PRICE QUOTE {22=2}"]);
}

#[test]
fn bytes_from_a_hub_that_are_no_message_are_ignored() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB, 17, 2, &[1, 2, 3]);
    assert_eq!(world.heard(consumer), [""; 0]);
    assert_eq!(world.core.statistics().frames_ignored, 1);
    world.accept(HUB, u32::MAX - 1, 0);
    assert_eq!(world.core.statistics().frames_ignored, 2);
}

#[test]
fn answers_of_a_hub_to_what_nobody_asked_are_ignored() {
    const NOBODYS: u32 = 99;
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.accept(HUB, 18, NOBODYS);
    for kind in [Kind::Refuse, Kind::Defer, Kind::Ack] {
        world.frame_to_us(HUB, kind, NOBODYS, &[]);
    }
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard(consumer).len(), 1, "and nothing else suffers");
}

#[test]
fn a_hundred_thousand_items_open_on_one_mount() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    for number in 0..100_000_u32 {
        world.say(consumer, &request(5 + number as i32, &format!("ITEM{number}")));
        let opens = std::mem::take(&mut world.out.published);
        for (open, _) in opens {
            world.accept(HUB, open.item, open.item);
            world.item(HUB, open.item, 1, &image(&[(22, 1)]));
        }
        world.out.sent.clear();
    }
    assert_eq!(world.core.statistics().items, 100_000);
    world.disconnect(consumer);
    assert_eq!(world.core.statistics().items, 0);
}
