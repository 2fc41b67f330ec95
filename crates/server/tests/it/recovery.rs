//! Hubs and services that are lost and come back.

use std::time::Duration;

use tapeline_backbone::{FrameFlags, Kind};
use tapeline_rwf::{DataState, StreamState};

use crate::support::*;

const LOST: &str = "Suspect / None / 'Connection to hub lost'";

#[test]
fn the_items_of_a_lost_hub_come_back_with_it() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.hub_down(HUB);
    assert_eq!(world.heard(consumer), [format!("STATUS 5 MARKET_PRICE Open / {LOST}")]);
    // A newcomer waits too.
    let newcomer = world.mount();
    world.say(newcomer, &request(6, "TRI.N"));
    assert_eq!(
        world.heard(newcomer),
        ["STATUS 6 MARKET_PRICE TRI.N@1 Open / Suspect / None / 'Service not up'"]
    );
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "FEED", true)]);
    assert_eq!(
        world.published(),
        [
            "DirectoryRequest 200 0",
            "Open 200 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK",
        ]
    );
    assert_eq!(
        world.heard(newcomer),
        ["STATUS 6 MARKET_PRICE TRI.N@1 Open / Suspect / None / 'Connection to hub lost'"]
    );
    // What the old one had does not count any more.
    world.item(HUB, 17, 2, &update(&[(22, 1)]));
    world.accept(HUB_2, 3, 0);
    world.item(HUB_2, 3, 8, &update(&[(22, 1)]));
    assert_eq!(world.heard(consumer), [""; 0], "no update before the image");
    world.item_to_us(HUB_2, 3, 8, &image(&[(22, 2)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=2}"]
    );
    assert_eq!(
        world.heard(newcomer),
        ["REFRESH 6 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=2}"]
    );
    world.item(HUB_2, 3, 9, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=3}"]);
    assert_eq!(world.heard(newcomer), ["UPDATE 6 MARKET_PRICE QUOTE {22=3}"]);
}

#[test]
fn another_hub_takes_over_at_once() {
    let mut world = World::with_feed();
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(4, "FEED", true)]);
    world.published();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.hub_down(HUB);
    assert_eq!(world.heard(consumer), [format!("STATUS 5 MARKET_PRICE Open / {LOST}")]);
    assert_eq!(
        world.published(),
        ["Open 200 0 REQUEST 0 MARKET_PRICE TRI.N@4 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
}

#[test]
fn clients_that_recover_by_themselves_are_told_so() {
    for (single_open, allow_suspect_data, told, stays) in [
        (true, false, "Open", true),
        (false, true, "Open", true),
        (false, false, "ClosedRecover", false),
    ] {
        let mut world = World::with_feed();
        let consumer = world.connect();
        world.say(consumer, &login_with(single_open, allow_suspect_data));
        world.heard(consumer);
        world.open_item(consumer, 5, "TRI.N", 17);
        world.hub_down(HUB);
        assert_eq!(world.heard(consumer), [format!("STATUS 5 MARKET_PRICE {told} / {LOST}")]);
        assert_eq!(world.core.statistics().items, usize::from(stays));
    }
}

#[test]
fn a_provider_that_closes_an_item_for_now_is_asked_again_later() {
    let mut world = World::with_feed();
    let (patient, other) = (world.mount(), world.connect());
    world.say(other, &login_with(false, true));
    world.heard(other);
    world.open_item(patient, 5, "TRI.N", 17);
    world.say(other, &request(6, "TRI.N"));
    world.heard(other);
    let closed = status(StreamState::CLOSED_RECOVER, DataState::SUSPECT, "later");
    world.item_with(HUB, 17, 2, FrameFlags::LAST, &closed);
    assert_eq!(world.heard(patient), ["STATUS 5 MARKET_PRICE Open / Suspect / None / 'later'"]);
    assert_eq!(
        world.heard(other),
        ["STATUS 6 MARKET_PRICE ClosedRecover / Suspect / None / 'later'"]
    );
    assert_eq!(world.published(), [""; 0]);
    world.pass(Duration::from_secs(15));
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    world.accept(HUB, 18, 0);
    world.item(HUB, 18, 1, &image(&[(22, 1)]));
    assert_eq!(
        world.heard(patient),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=1}"]
    );
    assert_eq!(world.heard(other), [""; 0]);
}

#[test]
fn a_request_that_a_hub_refuses_is_over_or_tried_again() {
    for (stream, told, items) in
        [(StreamState::CLOSED, "Closed", 0), (StreamState::CLOSED_RECOVER, "Open", 1)]
    {
        let mut world = World::with_feed();
        let consumer = world.mount();
        world.say(consumer, &request(5, "TRI.N"));
        world.published();
        let refusal = status(stream, DataState::SUSPECT, "no");
        world.frame_to_us(HUB, Kind::Refuse, 0, &refusal);
        assert_eq!(
            world.heard(consumer),
            [format!("STATUS 5 MARKET_PRICE TRI.N@1 {told} / Suspect / None / 'no'")]
        );
        assert_eq!(world.core.statistics().items, items);
        world.pass(Duration::from_secs(15));
        assert_eq!(world.published().len(), items);
    }
}

#[test]
fn the_items_of_a_deleted_service_wait_for_its_return() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.hub_update(HUB, vec![tapeline_omm::directory::ServiceEntry::delete(1)]);
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE Open / Suspect / None / 'Service for this item was lost.'"]
    );
    assert_eq!(world.published(), ["Close 100 0"]);
    world.hub_update(HUB, vec![service(1, "FEED", true)]);
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
}

#[test]
fn a_state_of_the_provider_is_passed_on() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB, 17, 2, &status(StreamState::OPEN, DataState::SUSPECT, "stale"));
    assert_eq!(world.heard(consumer), ["STATUS 5 MARKET_PRICE Open / Suspect / None / 'stale'"]);
    // A newcomer is told, and gets the image when there is one.
    let newcomer = world.mount();
    world.say(newcomer, &request(6, "TRI.N"));
    let told = world.heard(newcomer);
    assert_eq!(world.published().len(), 1, "{told:?}");
    world.item_to_us(HUB, 17, 2, &image(&[(22, 1)]));
    assert_eq!(world.heard(newcomer).len(), 1);
}

/// The hub has lost its mind: it has one number for two items, and each takes
/// the other's. The server must not answer at the pace of the network.
#[test]
fn items_that_take_each_others_number_are_asked_for_again_in_bounds() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    for (stream_id, name) in [(5, "TRI.N"), (6, "IBM.N")] {
        world.say(consumer, &request(stream_id, name));
    }
    let mut opens = 0;
    let opened = |world: &mut World| -> Vec<u32> {
        let published = std::mem::take(&mut world.out.published);
        let opens = published.iter().filter(|(header, _)| header.kind == Kind::Open);
        opens.map(|(header, _)| header.item).collect()
    };
    for _ in 0..1_000 {
        for slot in opened(&mut world) {
            opens += 1;
            world.accept(HUB, 17, slot);
        }
    }
    // The two requests, and those of a second.
    assert_eq!((opens, world.core.statistics().orphans), (2 + 64, 65));
    // The last one is asked for again when its time has come, and so on.
    world.pass(Duration::from_secs(15));
    world.pass(Duration::ZERO);
    let again = opened(&mut world);
    assert_eq!(again.len(), 1);
    world.accept(HUB, 18, again[0]);
    assert_eq!(opened(&mut world), [0; 0]);
}
