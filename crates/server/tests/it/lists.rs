//! What a hub holds, by its lists, beside images that are on their way.

use std::time::Duration;

use tapeline_backbone::repair::{Held, HeldFlags};

use crate::support::*;

const GAP: &str = "Suspect / GapDetected / 'Messages were lost between hub and server'";
const REISSUE: &str =
    "Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK";

/// Frames of the hub are lost, and it is asked for a list.
fn lose_frames(world: &mut World, round: u32) {
    world.gap(HUB);
    world.pass(Duration::from_millis(100));
    let published = world.published();
    assert!(published.contains(&format!("HeldRequest 100 {round}")), "{published:?}");
}

/// An item of which the hub has an image to send, or the rest of one.
const fn unsent(request: u32, serial: u32, item: u32, item_seq: u32) -> Held {
    Held { flags: HeldFlags::ACCEPTED, ..live(request, serial, item, item_seq) }
}

#[test]
fn a_list_says_nothing_of_an_image_that_was_asked_for_after_it() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    (1..=3).for_each(|round| lose_frames(&mut world, round));
    world.held(HUB, 1, 1, &[live(0, 1, 17, 3)]);
    assert_eq!(world.published(), [REISSUE]);
    // To a server that is far behind they come late, all of them of before.
    for round in [2, 3] {
        world.held(HUB, round, 1, &[live(0, 1, 17, 3)]);
        assert_eq!(world.published(), [""; 0], "its image is on its way");
    }
    // It is lost as well.
    lose_frames(&mut world, 4);
    world.held(HUB, 4, 1, &[live(0, 1, 17, 3)]);
    assert_eq!(world.published(), [REISSUE]);
    // So is the request: the hub compares what is wanted with what it has.
    world.held(HUB, 0, 1, &[live(0, 1, 17, 3)]);
    assert_eq!(world.published(), [REISSUE]);
}

#[test]
fn a_first_image_that_was_lost_is_missed_by_the_first_list_behind_its_acceptance() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.published();
    lose_frames(&mut world, 1);
    world.accept(HUB, 17, 0);
    world.held(HUB, 1, 1, &[live(0, 1, 17, 0)]);
    assert_eq!(world.published(), [REISSUE]);
}

#[test]
fn an_image_that_comes_in_parts_is_not_given_up_while_nothing_of_it_was_lost() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.published();
    lose_frames(&mut world, 1);
    world.item_to_us(HUB, 17, 0, &image_part(0, false, &[(22, 1)]));
    world.held(HUB, 1, 1, &[unsent(0, 1, 17, 0)]);
    assert_eq!(world.published(), [""; 0], "the hub sends the rest");
    world.item_to_us(HUB, 17, 0, &image_part(1, true, &[(25, 1)]));
    let heard = world.heard(consumer);
    assert!(heard.len() == 2 && !heard[1].contains("Suspect"), "{heard:?}");
}

#[test]
fn an_image_in_parts_is_asked_for_again_when_frames_were_lost_or_its_last_part() {
    for is_sent in [false, true] {
        let mut world = World::with_feed();
        let consumer = world.mount();
        world.say(consumer, &request(5, "TRI.N"));
        world.accept(HUB, 17, 0);
        world.published();
        if is_sent {
            lose_frames(&mut world, 1);
        }
        world.item_to_us(HUB, 17, 0, &image_part(0, false, &[(22, 1)]));
        if !is_sent {
            lose_frames(&mut world, 1);
        }
        world.heard(consumer);
        let held = if is_sent { live(0, 1, 17, 0) } else { unsent(0, 1, 17, 0) };
        world.held(HUB, 1, 1, &[held]);
        assert_eq!(world.heard(consumer), [format!("STATUS 5 MARKET_PRICE Open / {GAP}")]);
        assert_eq!(world.published(), [REISSUE], "{is_sent}");
    }
}
