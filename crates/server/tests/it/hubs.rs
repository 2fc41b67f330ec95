//! Several hubs, and frames that are lost on the way from them.

use std::time::Duration;

use tapeline_backbone::repair::{Held, HeldFlags};
use tapeline_backbone::{FrameHeader, Kind};
use tapeline_rwf::{DataState, StreamState};
use tapeline_server::ServerConfig;

use crate::support::*;

const GAP: &str = "Suspect / GapDetected / 'Messages were lost between hub and server'";

#[test]
fn a_hole_in_an_item_makes_it_suspect_until_it_is_repaired() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB, 17, 4, &update(&[(22, 4)]));
    assert_eq!(
        world.heard(consumer),
        [
            "STATUS 5 MARKET_PRICE Open / Suspect / GapDetected / 'Messages were lost between \
             hub and server'",
            "UPDATE 5 MARKET_PRICE QUOTE {22=4}",
        ]
    );
    assert_eq!(
        world.published(),
        ["Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    let newcomer = world.mount();
    world.say(newcomer, &request(6, "TRI.N"));
    assert_eq!(world.heard(newcomer), [""; 0], "not from a cache with a hole");
    world.item_to_us(HUB, 17, 4, &image(&[(22, 4), (25, 9)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=4 25=9}"]
    );
    assert_eq!(
        world.heard(newcomer),
        ["REFRESH 6 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=4 25=9}"]
    );
    assert_eq!(world.core.statistics().gaps, 1);
}

#[test]
fn a_newcomer_on_what_its_hub_calls_suspect_is_told_at_once() {
    let mut world = World::feed_with(ServerConfig { cache: false, ..ServerConfig::default() });
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB, 17, 2, &status(StreamState::OPEN, DataState::SUSPECT, "gave way"));
    // An image is asked for already, and does not come.
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(world.published().len(), 1);
    world.heard(consumer);
    let newcomer = world.mount();
    world.say(newcomer, &request(6, "TRI.N"));
    assert_eq!(
        world.heard(newcomer),
        ["STATUS 6 MARKET_PRICE TRI.N@1 Open / Suspect / None / 'gave way'"]
    );
}

#[test]
fn the_first_state_of_an_item_that_was_lost_is_asked_for() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.published();
    let held = Held { flags: HeldFlags::ACCEPTED | HeldFlags::SUSPECT, ..live(0, 1, 17, 1) };
    world.held(HUB, 0, 1, &[held]);
    assert_eq!(
        world.published(),
        ["Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    // What is known is not asked for again.
    world.item_to_us(HUB, 17, 1, &status(StreamState::OPEN, DataState::SUSPECT, "no room"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE TRI.N@1 Open / Suspect / None / 'no room'"]
    );
    world.held(HUB, 0, 1, &[held]);
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn a_hole_in_the_stream_of_a_hub_has_the_server_ask_what_was_hit() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.open_item(consumer, 6, "IBM.N", 18);
    world.item(HUB, 18, 2, &update(&[(22, 4)]));
    world.heard(consumer);
    world.say(consumer, &request(7, "MSFT.O"));
    let open = world.published();
    world.gap(HUB);
    assert_eq!(world.published(), ["DirectoryRequest 100 0", "HeldRequest 100 1"]);
    // TRI.N was hit, IBM.N was not, and the last request never came.
    world.held(HUB, 1, 3, &[live(0, 1, 17, 3), live(1, 2, 18, 2)]);
    assert_eq!(world.heard(consumer), [format!("STATUS 5 MARKET_PRICE Open / {GAP}")]);
    let reissue =
        "Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK";
    assert_eq!(world.published(), [reissue.to_owned(), open[0].clone()]);
    assert_eq!(world.core.statistics().requests_lost, 1);
    world.item_to_us(HUB, 17, 3, &image(&[(22, 3)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=3}"]
    );
    world.item(HUB, 17, 4, &update(&[(22, 4)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=4}"]);
}

#[test]
fn an_image_for_this_server_alone_that_is_lost_is_asked_for_again() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    // Another server has it too: updates come before the image, which is lost.
    world.item(HUB, 17, 8, &update(&[(22, 8)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.published();
    world.gap(HUB);
    assert_eq!(world.published(), ["DirectoryRequest 100 0", "HeldRequest 100 1"]);
    world.held(HUB, 1, 1, &[live(0, 1, 17, 8)]);
    assert_eq!(
        world.published(),
        ["Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    world.item_to_us(HUB, 17, 8, &image(&[(22, 8)]));
    assert_eq!(world.heard(consumer).len(), 1);
    world.held(HUB, 0, 1, &[live(0, 1, 17, 8)]);
    assert_eq!(world.published(), [""; 0], "nothing is amiss");
}

#[test]
fn an_item_whose_end_was_lost_is_asked_for_again_and_its_hub_says_why() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.held(HUB, 0, 1, &[]);
    assert_eq!(world.heard(consumer), [format!("STATUS 5 MARKET_PRICE Open / {GAP}")]);
    let open = "Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK";
    assert_eq!(world.published(), [open]);
    let refusal = status(StreamState::CLOSED, DataState::SUSPECT, "no such item");
    world.frame_to_us(HUB, Kind::Refuse, 0, &refusal);
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE Closed / Suspect / None / 'no such item'"]
    );
}

#[test]
fn an_answer_that_was_lost_is_made_up_for() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.published();
    // The request is still under way to the hub.
    world.held(HUB, 0, 0, &[]);
    assert_eq!(world.published(), [""; 0]);
    world.held(HUB, 0, 1, &[live(0, 1, 17, 4)]);
    let reissue =
        "Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK";
    assert_eq!(world.published(), [reissue]);
    world.item_to_us(HUB, 17, 4, &image(&[(22, 4)]));
    world.item(HUB, 17, 5, &update(&[(22, 5)]));
    assert_eq!(
        world.heard(consumer),
        [
            "REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=4}",
            "UPDATE 5 MARKET_PRICE QUOTE {22=5}",
        ]
    );
}

#[test]
fn a_hub_that_lost_frames_is_told_what_is_wanted() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.open_item(consumer, 6, "IBM.N", 18);
    world.say(consumer, &request(7, "MSFT.O"));
    world.say(consumer, &close(5));
    world.published();
    let asked = |round| {
        let mut header = FrameHeader::new(Kind::WantedRequest, SERVER, round);
        (header.sender, header.item_seq) = (HUB, 3);
        header
    };
    world.frame(asked(1), &[]);
    world.pass(Duration::ZERO);
    assert_eq!(world.published(), ["Wanted 100 1 0.. 1#2 2#3"]);
    // The same once more: the answer is under way.
    world.frame(asked(1), &[]);
    world.pass(Duration::ZERO);
    assert_eq!(world.published(), [""; 0]);
    // While the backbone takes no more, lists and closes wait.
    world.out.is_congested = true;
    world.say(consumer, &close(6));
    world.frame(asked(2), &[]);
    world.pass(Duration::from_millis(1));
    assert_eq!(world.published(), [""; 0]);
    assert_eq!(world.core.statistics().closes_waiting, 1);
    world.out.is_congested = false;
    world.pass(Duration::from_millis(1));
    assert_eq!(world.published(), ["Close 100 1", "Wanted 100 2 0.. 2#3"]);
}

#[test]
fn closes_that_a_network_does_not_take_are_not_tried_again_at_once() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.open_item(consumer, 6, "IBM.N", 18);
    world.out.is_away = true;
    world.say(consumer, &close(5));
    world.say(consumer, &close(6));
    assert_eq!(world.core.statistics().closes_waiting, 2);
    for _ in 0..3 {
        let due = world.core.next_deadline().expect("closes wait");
        assert!(due > world.now, "nothing is due at once");
        world.pass(due.since(world.now));
    }
    world.out.is_away = false;
    world.pass(Duration::from_millis(1));
    assert_eq!(world.published(), ["Close 100 0", "Close 100 1"]);
}

#[test]
fn an_image_that_repairs_replaces_what_was_kept() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.gap(HUB);
    world.item_to_us(HUB, 17, 3, &image_unclear(&[(22, 3)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=3}"]
    );
    let newcomer = world.mount();
    world.say(newcomer, &request(6, "TRI.N"));
    assert_eq!(
        world.heard(newcomer),
        ["REFRESH 6 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=3}"]
    );
}

#[test]
fn a_hub_that_has_no_image_to_repair_with_is_not_asked_at_every_gap() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.gap(HUB);
    let stale = status(StreamState::OPEN, DataState::SUSPECT, "stale");
    world.item_to_us(HUB, 17, 3, &stale);
    assert_eq!(world.heard(consumer), ["STATUS 5 MARKET_PRICE Open / Suspect / None / 'stale'"]);
    world.published();
    let suspect = Held { flags: HeldFlags::ACCEPTED | HeldFlags::SUSPECT, ..live(0, 1, 17, 3) };
    world.held(HUB, 1, 1, &[suspect]);
    assert_eq!(world.published(), [""; 0], "it is known");
    world.pass(Duration::from_millis(100));
    world.gap(HUB);
    assert_eq!(world.published(), ["DirectoryRequest 100 0", "HeldRequest 100 2"]);
    world.held(HUB, 2, 1, &[suspect]);
    assert_eq!(world.published(), [""; 0], "it is known");
    world.item(HUB, 17, 4, &update(&[(22, 4)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=4}"], "no hole again");
    world.item_to_us(HUB, 17, 4, &image_unclear(&[(22, 4)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=4}"]
    );
    assert_eq!(world.core.statistics().gaps, 1);
}

#[test]
fn half_an_image_is_given_up_when_its_item_gets_another_number() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.pass(Duration::from_secs(15));
    // The answer to the first request was late.
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image_part(0, false, &[(22, 1)]));
    assert_eq!(world.heard(consumer).len(), 1);
    world.accept(HUB, 18, 0);
    world.item(HUB, 18, 1, &image(&[(22, 2)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' {22=2}"]
    );
    world.item(HUB, 18, 2, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=3}"]);
}

#[test]
fn an_image_whose_part_for_this_server_alone_was_lost_does_not_keep_the_next_one_out() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.item_to_us(HUB, 17, 0, &image_part(0, false, &[(22, 1)]));
    // Part 1 is lost, of which the sequence of the item says nothing.
    world.item_to_us(HUB, 17, 0, &image_part(2, true, &[(25, 1)]));
    world.heard(consumer);
    world.item_to_us(HUB, 17, 0, &image(&[(22, 2)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' {22=2}"]
    );
    world.item(HUB, 17, 1, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=3}"]);
}

#[test]
fn parts_of_two_images_are_not_joined_where_frames_were_lost_between_them() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.published();
    world.item_to_us(HUB, 17, 0, &image_part(0, false, &[(22, 1)]));
    world.heard(consumer);
    // The rest of this image is lost, and the beginning of the next one.
    world.gap(HUB);
    world.published();
    world.item_to_us(HUB, 17, 0, &image_part(1, true, &[(25, 2)]));
    let heard = world.heard(consumer);
    assert!(heard.len() == 1 && heard[0].contains("GapDetected"), "{heard:?}");
    let asked = world.published();
    assert!(asked.len() == 1 && asked[0].starts_with("Reissue"), "{asked:?}");
    world.item_to_us(HUB, 17, 0, &image(&[(22, 3)]));
    let heard = world.heard(consumer);
    assert!(heard.len() == 1 && heard[0].ends_with("{22=3}"), "{heard:?}");
}

#[test]
fn an_item_that_misses_something_is_not_ok_because_its_provider_says_so() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB, 17, 3, &update(&[(22, 3)]));
    world.heard(consumer);
    world.item(HUB, 17, 4, &status(StreamState::OPEN, DataState::OK, "good again"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE Open / Suspect / None / 'good again'"]
    );
    world.item_to_us(HUB, 17, 4, &image(&[(22, 4)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=4}"]
    );
    world.item(HUB, 17, 5, &status(StreamState::OPEN, DataState::OK, "good again"));
    assert_eq!(world.heard(consumer), ["STATUS 5 MARKET_PRICE Open / Ok / None / 'good again'"]);
}

#[test]
fn a_hub_that_loses_frames_all_the_time_is_asked_every_now_and_then() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    for _ in 0..10 {
        world.gap(HUB);
    }
    assert_eq!(world.published(), ["DirectoryRequest 100 0", "HeldRequest 100 1"]);
    world.pass(Duration::from_millis(99));
    assert_eq!(world.published(), [""; 0]);
    world.pass(Duration::from_millis(1));
    assert_eq!(world.published(), ["DirectoryRequest 100 0", "HeldRequest 100 10"]);
    world.pass(Duration::from_millis(100));
    let again = ["DirectoryRequest 100 0", "HeldRequest 100 10"];
    assert_eq!(world.published(), again, "until there is an answer");
    world.held(HUB, 10, 1, &[live(0, 1, 17, 1)]);
    world.pass(Duration::from_secs(5));
    assert_eq!(world.published(), [""; 0], "nothing was lost since");
    world.gap(HUB);
    assert_eq!(world.published().len(), 2);
}

#[test]
fn frames_of_strangers_and_of_items_that_are_closed_are_ignored() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB_2, 17, 2, &update(&[(22, 4)]));
    world.item(HUB, 99, 2, &update(&[(22, 4)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.item(HUB, 17, 2, &update(&[(22, 5)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=5}"]);
}

#[test]
fn requests_are_shared_among_hubs_that_have_the_service() {
    let mut world = World::with_feed();
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "FEED", true)]);
    world.published();
    let consumer = world.mount();
    for (stream_id, name) in [(5, "A"), (6, "B"), (7, "C"), (8, "D")] {
        world.say(consumer, &request(stream_id, name));
    }
    let targets: Vec<_> = world
        .published()
        .iter()
        .map(|it| it.split(' ').nth(1).expect("a target").to_owned())
        .collect();
    assert_eq!(targets, ["100", "200", "100", "200"]);
}

#[test]
fn an_item_whose_end_was_lost_is_asked_for_anew_when_its_number_is_used_again() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &request(6, "IBM.N"));
    world.published();
    world.accept(HUB, 17, 1);
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE Open / Suspect / GapDetected / 'Messages were lost between \
             hub and server'"]
    );
    assert_eq!(
        world.published(),
        [
            "Close 100 0",
            "Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK",
        ]
    );
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 6 MARKET_PRICE IBM.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=1}"]
    );
}

#[test]
fn items_go_on_at_a_hub_where_their_service_is_up() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "FEED", true)]);
    world.published();
    assert_eq!(world.heard(consumer), [""; 0], "no need to move");
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE Open / Suspect / FailoverStarted / 'Service is down at this \
             hub, asking another one'"]
    );
    assert_eq!(
        world.published(),
        [
            "Close 100 0",
            "Open 200 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK",
        ]
    );
    world.accept(HUB_2, 3, 0);
    world.item(HUB_2, 3, 1, &image(&[(22, 7)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=7}"]
    );
}

#[test]
fn an_image_that_is_cut_off_in_the_middle_is_followed_by_a_whole_one() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.published();
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image_part(0, false, &[(22, 1)]));
    world.heard(consumer);
    // Part 1 is lost.
    world.item(HUB, 17, 3, &image_part(2, true, &[(25, 3)]));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE Open / Suspect / GapDetected / 'Messages were lost between \
             hub and server'"]
    );
    assert_eq!(world.published().len(), 1);
    world.item_to_us(HUB, 17, 3, &image(&[(22, 1), (25, 3)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=1 25=3}"]
    );
}

#[test]
fn a_hub_that_dies_in_the_middle_of_an_image_is_followed_by_another() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image_part(0, false, &[(22, 1)]));
    world.hub_down(HUB);
    world.heard(consumer);
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "FEED", true)]);
    world.accept(HUB_2, 3, 0);
    world.item(HUB_2, 3, 1, &image(&[(22, 7)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=7}"]
    );
}

#[test]
fn an_answer_to_an_earlier_request_with_the_number_is_not_taken_for_the_last_one() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    let first = world.out.serials[&0];
    // It is not there for a while, and what it answers is on its way all the time.
    world.hub_down(HUB);
    world.say(consumer, &close(5));
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.heard(consumer);
    world.say(consumer, &request(6, "IBM.N"));
    assert_ne!(world.out.serials[&0], first, "the number is used again");
    world.answer_to(HUB, Kind::Accept, 17, (first, &0_u32.to_le_bytes()));
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    world.answer_to(HUB, Kind::Refuse, 0, (first, &[]));
    assert_eq!(world.heard(consumer), [""; 0], "nothing of TRI.N");
    world.accept(HUB, 18, 0);
    world.item(HUB, 18, 1, &image(&[(22, 2)]));
    let heard = world.heard(consumer);
    assert!(heard.len() == 1 && heard[0].ends_with("{22=2}"), "{heard:?}");
}
