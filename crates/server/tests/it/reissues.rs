//! Changes of streams that are open: paused, resumed, asked for an image.

use tapeline_rwf::{DataState, StreamState};
use tapeline_server::ServerConfig;

use crate::support::*;

#[test]
fn an_image_whose_parts_have_an_update_between_them_comes_whole_to_a_paused_stream() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &item_request(5, "TRI.N", |it| it.pause = true));
    world.heard(consumer);
    world.item(HUB, 17, 2, &image_part(0, false, &[(22, 1)]));
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    world.item(HUB, 17, 4, &image_part(1, true, &[(25, 2)]));
    let heard = world.heard(consumer);
    assert!(heard[0].ends_with("{22=1}"), "{heard:?}");
    assert!(heard[1].starts_with("REFRESH 5 ") && heard[1].ends_with("{22=2 25=2}"), "{heard:?}");
    assert_eq!(heard.len(), 2, "{heard:?}");
}

#[test]
fn a_paused_stream_gets_states_and_images_and_resumes_with_an_image() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &item_request(5, "TRI.N", |it| it.pause = true));
    world.item(HUB, 17, 2, &update(&[(22, 2)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.item(HUB, 17, 3, &status(StreamState::OPEN, DataState::OK, "a word"));
    assert_eq!(world.heard(consumer), ["STATUS 5 MARKET_PRICE Open / Ok / None / 'a word'"]);
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'a word' \
             {22=2 25=101}"]
    );
    world.item(HUB, 17, 4, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=3}"]);
}

#[test]
fn a_stream_that_is_resumed_in_the_middle_of_an_image_gets_a_whole_one() {
    let mut world = World::feed_with(ServerConfig { cache: false, ..ServerConfig::default() });
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &item_request(5, "TRI.N", |it| it.pause = true));
    world.item(HUB, 17, 2, &image_part(0, false, &[(22, 1)]));
    assert_eq!(world.heard(consumer).len(), 1);
    // The image that began has not what the pause leaves out.
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    world.say(consumer, &request(5, "TRI.N"));
    world.item(HUB, 17, 4, &update(&[(22, 3)]));
    world.item(HUB, 17, 5, &image_part(1, true, &[(25, 1)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    assert_eq!(world.published().len(), 1, "another image is asked for");
    world.item_to_us(HUB, 17, 5, &image(&[(22, 3), (25, 1)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=3 25=1}"]
    );
    world.item(HUB, 17, 6, &update(&[(22, 4)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=4}"]);
}

#[test]
fn a_resumed_stream_gets_no_update_before_its_image() {
    let mut world = World::feed_with(ServerConfig { cache: false, ..ServerConfig::default() });
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &item_request(5, "TRI.N", |it| it.pause = true));
    world.item(HUB, 17, 2, &update(&[(22, 2)]));
    world.say(consumer, &request(5, "TRI.N"));
    // The one of the pause is missing, and the image is still to come.
    world.item(HUB, 17, 3, &update(&[(25, 3)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.item(HUB, 17, 4, &image(&[(22, 2), (25, 3)]));
    world.item(HUB, 17, 5, &update(&[(22, 4)]));
    assert_eq!(
        world.heard(consumer),
        [
            "REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=2 25=3}",
            "UPDATE 5 MARKET_PRICE QUOTE {22=4}",
        ]
    );
    // Who wants no image takes the updates as they come.
    world.say(consumer, &item_request(5, "TRI.N", |it| it.pause = true));
    world.say(consumer, &item_request(5, "TRI.N", |it| it.no_refresh = true));
    world.item(HUB, 17, 6, &update(&[(22, 5)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=5}"]);
}

#[test]
fn a_reissue_gives_an_image_unless_none_is_wanted() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &item_request(5, "TRI.N", |it| it.no_refresh = true));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.say(consumer, &request(5, "TRI.N"));
    assert!(world.heard(consumer)[0].starts_with("REFRESH 5 MARKET_PRICE TRI.N@1 solicited"));
    assert_eq!(world.published(), [""; 0]);
    world.say(
        consumer,
        &item_request(5, "TRI.N", |it| {
            it.priority = Some(with_priority(3, 2));
            it.no_refresh = true;
        }),
    );
    assert_eq!(
        world.published(),
        ["Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming no-refresh 3/2 \
             REALTIME/TICK_BY_TICK"]
    );
}

#[test]
fn a_reissue_must_not_be_for_another_item() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &request(5, "IBM.N"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE IBM.N@1 ClosedRecover / Suspect / UsageError / 'Request \
             Message rejected - Attempt to change the name of an open stream.'"]
    );
    assert_eq!(world.published(), ["Close 100 0"]);
}
