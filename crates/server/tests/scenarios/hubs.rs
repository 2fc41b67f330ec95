//! Several hubs, and frames that are lost on the way from them.

use crate::support::*;

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
    assert_eq!(
        world.published(),
        [
            "DirectoryRequest 100 0".to_owned(),
            "Resync 100 0 [17, 1, 18, 2]".to_owned(),
            "Close 100 2".to_owned(),
            open[0].clone(),
        ]
    );
    // The hub sends the one that was hit, which reaches everybody.
    world.item_to_us(HUB, 17, 3, &image(&[(22, 3)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=3}"]
    );
    world.item(HUB, 17, 4, &update(&[(22, 4)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=4}"]);
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
