//! How many requests a hub may have that it has not answered.

use std::time::Duration;

use tapeline_backbone::repair::{Held, HeldFlags};
use tapeline_backbone::{FrameHeader, Kind};
use tapeline_channel::SessionId;
use tapeline_rwf::{DataState, StreamState};
use tapeline_server::ServerConfig;

use crate::support::*;

/// A server with the hub's service, a window of so many requests, and a mount
/// that has asked for as many items as there are names.
fn asking(open_window: usize, names: &[&str]) -> (World, SessionId) {
    let mut config = ServerConfig::default();
    config.limits.open_window = open_window;
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    for (place, name) in names.iter().enumerate() {
        world.say(consumer, &request(5 + place as i32, name));
    }
    assert_eq!(world.published().len(), open_window);
    assert_eq!(world.core.statistics().requests_open, open_window);
    (world, consumer)
}

/// A request that a hub has wait.
const fn deferred(request: u32, serial: u32, item: u32) -> Held {
    Held { flags: HeldFlags::empty(), ..live(request, serial, item, 3) }
}

#[test]
fn a_hub_is_asked_for_more_when_images_come_and_not_when_it_has_taken_requests() {
    let (mut world, consumer) = asking(2, &["A", "B", "C", "D", "E", "F"]);
    world.accept(HUB, 17, 0);
    world.accept(HUB, 18, 1);
    assert_eq!(world.published(), [""; 0], "two images are on their way");
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    let published = world.published();
    assert!(published.len() == 1 && published[0].contains(" C@1 "), "{published:?}");
    // A state in place of an image does as well, and the first part of one of several:
    // its last may never come.
    world.item(HUB, 18, 1, &status(StreamState::OPEN, DataState::SUSPECT, "later"));
    let published = world.published();
    assert!(published.len() == 1 && published[0].contains(" D@1 "), "{published:?}");
    world.accept(HUB, 19, 2);
    world.item(HUB, 19, 1, &image_part(0, false, &[(22, 1)]));
    let published = world.published();
    assert!(published.len() == 1 && published[0].contains(" E@1 "), "{published:?}");
    world.item(HUB, 19, 2, &image_part(1, true, &[(25, 1)]));
    assert_eq!(world.published(), [""; 0]);
    // Who closes an item that has no image yet makes room.
    world.accept(HUB, 20, 3);
    world.say(consumer, &close(8));
    world.pass(Duration::ZERO);
    let published = world.published();
    assert!(published.len() == 2 && published[1].contains(" F@1 "), "{published:?}");
}

#[test]
fn an_image_that_does_not_come_holds_a_place_no_longer_than_a_request() {
    let (mut world, _) = asking(1, &["A", "B"]);
    world.accept(HUB, 17, 0);
    world.pass(Duration::from_secs(14));
    assert_eq!(world.published(), [""; 0]);
    world.pass(Duration::from_secs(1));
    let published = world.published();
    assert!(
        published.iter().any(|it| it.contains("Open") && it.contains(" B@1 ")),
        "{published:?}"
    );
}

#[test]
fn a_list_says_of_a_request_that_it_waits_at_the_hub_and_holds_up_no_others() {
    let (mut world, _) = asking(1, &["A", "B", "C"]);
    // The frame that said so was lost.
    world.held(HUB, 0, 1, &[deferred(0, 1, 17)]);
    let published = world.published();
    assert_eq!(published.len(), 1, "{published:?}");
    assert!(published[0].contains(" B@1 "), "{published:?}");
    world.held(HUB, 0, 1, &[deferred(0, 1, 17)]);
    world.frame_to_us(HUB, Kind::Defer, 0, &[]);
    assert_eq!(world.published(), [""; 0], "one place");
    world.accept(HUB, 17, 0);
    assert_eq!(world.published(), [""; 0], "it had none any more");
}

#[test]
fn a_request_that_waited_at_its_hub_and_is_lost_there_frees_no_place_that_it_had_not() {
    let (mut world, _) = asking(2, &["A", "B", "C", "D"]);
    world.frame_to_us(HUB, Kind::Defer, 0, &[]);
    assert_eq!(world.published().len(), 1, "C in its place");
    world.held(HUB, 0, 1, &[]);
    assert_eq!(world.core.statistics().requests_lost, 1);
    assert_eq!(world.published(), [""; 0], "B and C are under way");
    world.accept(HUB, 18, 1);
    world.item(HUB, 18, 1, &image(&[(22, 1)]));
    assert_eq!(world.published().len(), 1);
}

#[test]
fn an_answer_that_was_lost_holds_no_place_for_an_item_that_is_closed() {
    let (mut world, consumer) = asking(1, &["A", "B"]);
    world.say(consumer, &close(5));
    assert_eq!(world.published(), ["Close 100 0"]);
    world.held(HUB, 0, 0, &[]);
    assert_eq!(world.published(), [""; 0], "the request is still under way");
    world.held(HUB, 0, 1, &[]);
    let published = world.published();
    assert_eq!(published.len(), 1, "{published:?}");
    assert!(published[0].contains(" B@1 "), "{published:?}");
    // Its number is another's now.
    world.say(consumer, &request(7, "C"));
    world.accept(HUB, 17, 1);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE C@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
}

#[test]
fn a_request_that_is_not_answered_and_moves_leaves_its_place_to_others() {
    let mut config = ServerConfig::default();
    config.limits.open_window = 1;
    let mut world = World::feed_with(config);
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "FEED", true)]);
    let consumer = world.mount();
    world.published();
    world.say(consumer, &request(5, "A"));
    assert!(world.published()[0].starts_with("Open 100 0 "));
    // The answer is lost, and the service goes down there.
    world.hub_directory(HUB, vec![service(1, "FEED", false)]);
    let published = world.published();
    assert_eq!(published[0], "Close 100 0");
    assert!(published[1].starts_with("Open 200 0 "), "{published:?}");
    world.accept(HUB_2, 3, 0);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.hub_directory(HUB_2, vec![service(1, "FEED", false)]);
    let published = world.published();
    assert!(published.iter().any(|it| it.starts_with("Open 100 0 ")), "{published:?}");
}

#[test]
fn a_request_that_was_lost_and_is_closed_holds_its_place_no_longer_than_its_hub_needs_to_say_so() {
    let (mut world, consumer) = asking(1, &["A", "B"]);
    world.say(consumer, &close(5));
    assert_eq!(world.published(), ["Close 100 0"]);
    // The hub has had neither of the two, and notices.
    let mut header = FrameHeader::new(Kind::WantedRequest, SERVER, 1);
    (header.sender, header.item_seq) = (HUB, 2);
    world.frame(header, &[]);
    world.pass(Duration::ZERO);
    let published = world.published();
    assert_eq!(published, ["Wanted 100 1 0.. ", "DirectoryRequest 100 0", "HeldRequest 100 1"]);
    world.held(HUB, 1, 1, &[]);
    assert_eq!(
        world.published(),
        ["Open 100 1 REQUEST 0 MARKET_PRICE B@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
}

#[test]
fn a_request_that_its_hub_does_not_answer_is_sent_again() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    let first = world.published();
    world.pass(Duration::from_secs(15));
    assert_eq!(world.published(), ["Close 100 0".to_owned(), first[0].clone()]);
    // The first answer comes late, then the second.
    world.accept(HUB, 17, 0);
    world.accept(HUB, 18, 0);
    world.item(HUB, 18, 1, &image(&[(22, 1)]));
    assert_eq!(world.heard(consumer).len(), 1);
    world.pass(Duration::from_secs(15));
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn a_reference_is_not_used_again_before_its_request_was_answered() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.say(consumer, &close(5));
    world.say(consumer, &request(6, "IBM.N"));
    let published = world.published();
    assert_eq!(published[1], "Close 100 0");
    assert!(published[2].starts_with("Open 100 1 REQUEST 0 MARKET_PRICE IBM.N@1"));
    // What comes for the closed request reaches nobody.
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.accept(HUB, 18, 1);
    world.say(consumer, &request(7, "MSFT.O"));
    assert!(world.published()[0].starts_with("Open 100 0 REQUEST 0 MARKET_PRICE MSFT.O@1"));
}

#[test]
fn a_closed_request_that_is_never_answered_does_not_hold_up_others() {
    let mut config = ServerConfig::default();
    config.limits.open_window = 1;
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.say(consumer, &close(5));
    world.say(consumer, &request(6, "IBM.N"));
    assert_eq!(world.published().len(), 2, "an open and its close");
    world.pass(Duration::from_secs(15));
    let published = world.published();
    assert_eq!(published.len(), 1);
    assert!(published[0].contains(" IBM.N@1 "), "{published:?}");
}

#[test]
fn a_hub_is_asked_only_so_much_at_a_time() {
    let mut config = ServerConfig::default();
    config.limits.open_window = 2;
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    for (stream_id, name) in [(5, "A"), (6, "B"), (7, "C"), (8, "D")] {
        world.say(consumer, &request(stream_id, name));
    }
    assert_eq!(world.published().len(), 2);
    // One that is closed before its turn is not asked for at all.
    world.say(consumer, &close(7));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    let published = world.published();
    assert_eq!(published.len(), 1);
    assert!(published[0].contains(" D@1 "), "{published:?}");
}

#[test]
fn a_request_that_its_hub_defers_holds_up_no_others() {
    let mut config = ServerConfig::default();
    config.limits.open_window = 1;
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    for (stream_id, name) in [(5, "A"), (6, "B"), (7, "C")] {
        world.say(consumer, &request(stream_id, name));
    }
    assert_eq!(world.published().len(), 1);
    world.frame_to_us(HUB, Kind::Defer, 0, &[]);
    world.frame_to_us(HUB, Kind::Defer, 0, &[]);
    let published = world.published();
    assert_eq!(published.len(), 1, "once: {published:?}");
    assert!(published[0].contains(" B@1 "), "{published:?}");
    // It is accepted in the end, which makes room for nobody.
    world.accept(HUB, 17, 0);
    assert_eq!(world.published(), [""; 0]);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    assert_eq!(world.heard(consumer).len(), 1);
    // One that is closed before its item begins frees the place that it has.
    world.say(consumer, &close(6));
    assert_eq!(world.published().len(), 1);
    world.frame_to_us(HUB, Kind::Defer, 1, &[]);
    let published = world.published();
    assert_eq!(published.len(), 1, "{published:?}");
    assert!(published[0].contains(" C@1 "), "{published:?}");
}

#[test]
fn a_deferred_request_that_is_never_accepted_is_made_again() {
    let mut config = ServerConfig::default();
    config.limits.open_window = 1;
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    world.say(consumer, &request(5, "A"));
    world.published();
    world.frame_to_us(HUB, Kind::Defer, 0, &[]);
    world.pass(Duration::from_secs(15));
    let published = world.published();
    assert_eq!(published.len(), 2, "{published:?}");
    // The window is as wide as before.
    world.say(consumer, &request(6, "B"));
    assert_eq!(world.published(), [""; 0]);
    world.frame_to_us(HUB, Kind::Defer, 0, &[]);
    assert_eq!(world.published().len(), 1);
}
