//! Mounts that do not read as fast as the items change.

use tapeline_channel::Sent;
use tapeline_rwf::{DataState, Domain, StreamState, UpdateFlags, UpdateMsg};
use tapeline_server::{Limits, ServerConfig};

use crate::support::*;

/// A server with a consumer that has just become slow.
fn slow() -> (World, tapeline_channel::SessionId) {
    slow_with(ServerConfig::default())
}

fn slow_with(config: ServerConfig) -> (World, tapeline_channel::SessionId) {
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.open_item(consumer, 6, "IBM.N", 18);
    world.answer(consumer, Sent::Slow);
    world.item(HUB, 17, 2, &update(&[(22, 1)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=1}"]);
    (world, consumer)
}

const STARTED: &str = "STATUS 5 MARKET_PRICE Open / NoChange / JustInTimeConflationStarted / ''";
const RESUMED: &str = "STATUS 5 MARKET_PRICE Open / NoChange / TickByTickResumed / ''";

#[test]
fn updates_of_a_slow_mount_are_merged_until_it_has_caught_up() {
    let (mut world, consumer) = slow();
    let quick = world.mount();
    world.say(quick, &request(9, "TRI.N"));
    world.heard(quick);
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.item(HUB, 17, 4, &update(&[(22, 3), (25, 8)]));
    world.item(HUB, 17, 5, &update(&[(22, 4)]));
    world.item(HUB, 18, 2, &update(&[(22, 9)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    assert_eq!(world.heard(quick).len(), 3, "others do not notice");
    world.drain(consumer);
    assert_eq!(
        world.heard(consumer),
        [
            STARTED,
            "UPDATE 5 MARKET_PRICE QUOTE {22=4 25=8}",
            "UPDATE 6 MARKET_PRICE QUOTE {22=9}",
            RESUMED,
        ]
    );
    world.item(HUB, 17, 6, &update(&[(22, 5)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=5}"]);
    assert_eq!(world.core.statistics().updates_merged, 4);
    // Three of one item came as one; that of the other came alone.
    let merged = (0..2).map(|place| world.core.core().updates_merged_at(place));
    assert_eq!(merged.collect::<Vec<_>>(), [Some(3), Some(0)]);
}

#[test]
fn an_update_that_must_not_be_merged_goes_out_behind_what_waits() {
    let (mut world, consumer) = slow();
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    let head = UpdateMsg {
        flags: UpdateFlags::DO_NOT_CONFLATE,
        ..UpdateMsg::new(Domain::MARKET_PRICE, 0)
    };
    world.item(HUB, 17, 4, &update_msg(head, &[(22, 3)]));
    assert_eq!(
        world.heard(consumer),
        ["UPDATE 5 MARKET_PRICE QUOTE {22=2}", "UPDATE 5 MARKET_PRICE UNSPECIFIED {22=3}"]
    );
}

#[test]
fn what_was_merged_is_dropped_for_an_image_when_updates_were_lost() {
    // The one with 4 is missing, and what is merged begins before it, or after.
    for before in [&[(22, 2)][..], &[]] {
        let (mut world, consumer) = slow();
        if !before.is_empty() {
            world.item(HUB, 17, 3, &update(before));
        }
        world.item(HUB, 17, 5, &update(&[(22, 4)]));
        world.item(HUB, 17, 6, &image(&[(22, 4), (25, 3)]));
        assert_eq!(world.heard(consumer), [""; 0]);
        world.drain(consumer);
        assert_eq!(
            world.heard(consumer),
            ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=4 25=3}"]
        );
    }
}

#[test]
fn a_status_does_not_overtake_what_was_merged() {
    let (mut world, consumer) = slow();
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    world.item(HUB, 17, 4, &status(StreamState::OPEN, DataState::SUSPECT, "stale"));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.drain(consumer);
    assert_eq!(
        world.heard(consumer),
        [
            "UPDATE 5 MARKET_PRICE QUOTE {22=2}",
            "STATUS 5 MARKET_PRICE Open / Suspect / None / 'stale'",
        ]
    );
}

#[test]
fn a_mount_that_becomes_slow_again_gets_the_rest_later() {
    let (mut world, consumer) = slow();
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    world.item(HUB, 18, 2, &update(&[(22, 3)]));
    // Still slow after the first of them.
    world.drained(consumer);
    world.work_off();
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=2}"]);
    world.item(HUB, 18, 3, &update(&[(22, 4)]));
    world.drain(consumer);
    let heard = world.heard(consumer);
    assert_eq!(
        heard[1..],
        [
            "UPDATE 6 MARKET_PRICE QUOTE {22=4}",
            "STATUS 6 MARKET_PRICE Open / NoChange / TickByTickResumed / ''"
        ]
    );
}

#[test]
fn a_mount_is_not_cut_for_want_of_room_to_say_that_it_is_conflated() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB, 17, 2, &image_part(0, false, &[(22, 1)]));
    world.bound(consumer, 1, 1);
    for seq in 3..6 {
        world.item(HUB, 17, seq, &update(&[(22, i64::from(seq))]));
    }
    // What was merged goes out before the part of an image that has begun.
    world.item(HUB, 17, 6, &image_part(1, true, &[(30, 1)]));
    assert_eq!(world.core.statistics().mounts_cut, 0);
    assert_eq!(world.heard(consumer).len(), 2);
    assert_eq!(
        world.read(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / '' {22=5 30=1}"]
    );
}

#[test]
fn the_image_of_a_slow_mount_comes_when_it_has_caught_up() {
    let (mut world, consumer) = slow();
    let quick = world.mount();
    world.say(quick, &request(5, "MSFT.O"));
    let open = world.out.published.pop().expect("an open").0.item;
    world.accept(HUB, 19, open);
    world.item(HUB, 19, 1, &image(&[(22, 1)]));
    world.heard(quick);
    world.say(consumer, &request(7, "MSFT.O"));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.item(HUB, 19, 2, &update(&[(22, 2)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.drain(consumer);
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 7 MARKET_PRICE MSFT.O@1 solicited clear Open / Ok / None / 'All is well' \
             {22=2}"]
    );
    world.item(HUB, 19, 3, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer), ["UPDATE 7 MARKET_PRICE QUOTE {22=3}"]);
}

#[test]
fn a_stream_that_is_closed_while_it_is_conflated_is_silent() {
    let (mut world, consumer) = slow();
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    world.item(HUB, 17, 4, &update(&[(22, 3)]));
    world.heard(consumer);
    world.say(consumer, &close(5));
    world.drain(consumer);
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn what_was_merged_is_counted_for_those_who_asked() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", |it| it.conflation_info = true));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    world.answer(consumer, Sent::Slow);
    for seq in 2..6 {
        world.item(HUB, 17, seq, &update(&[(22, i64::from(seq))]));
    }
    world.heard(consumer);
    world.drain(consumer);
    assert_eq!(world.heard(consumer)[1], "UPDATE 5 MARKET_PRICE QUOTE merged3 {22=5}");
}

#[test]
fn where_nothing_is_conflated_updates_go_on() {
    let (mut world, consumer) =
        slow_with(ServerConfig { conflation: false, ..ServerConfig::default() });
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    world.item(HUB, 17, 4, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer).len(), 2);
}

#[test]
fn an_image_in_parts_that_has_begun_goes_on_when_the_mount_becomes_slow() {
    let (mut world, consumer) = slow();
    world.drain(consumer);
    world.heard(consumer);
    world.answer(consumer, Sent::Slow);
    world.item(HUB, 17, 3, &image_part(0, false, &[(22, 1)]));
    world.item(HUB, 17, 4, &image_part(1, true, &[(25, 2)]));
    let heard = world.heard(consumer);
    assert_eq!(heard.len(), 2);
    assert!(heard[1].ends_with("{25=2}"));
}

#[test]
fn an_image_does_not_begin_behind_what_there_was_no_room_for() {
    // Without a cache images are asked for.
    let (mut world, consumer) = slow_with(ServerConfig { cache: false, ..ServerConfig::default() });
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    world.published();
    world.answer(consumer, Sent::Full);
    world.item(HUB, 17, 4, &image_part(0, false, &[(22, 3)]));
    world.item(HUB, 17, 5, &image_part(1, true, &[(25, 3)]));
    assert_eq!(world.core.statistics().mounts_cut, 0);
    // What there was no room for.
    world.heard(consumer);
    world.drain(consumer);
    let published = world.published();
    assert!(published.iter().any(|line| line.starts_with("Reissue 100 0 ")), "{published:?}");
    world.item_to_us(HUB, 17, 5, &image(&[(22, 3), (25, 3)]));
    let heard = world.heard(consumer);
    let images: Vec<_> = heard.iter().filter(|line| line.starts_with("REFRESH 5 ")).collect();
    assert!(images.len() == 1 && images[0].ends_with("{22=3 25=3}"), "{heard:?}");
}

#[test]
fn nothing_opens_a_stream_for_updates_whose_image_was_put_off() {
    let status = status(StreamState::OPEN, DataState::OK, "a word");
    let reissue = item_request(5, "TRI.N", |it| it.no_refresh = true);
    for by_status in [true, false] {
        let (mut world, consumer) = slow();
        // Another image, which the mount has no room for now.
        world.item(HUB, 17, 3, &image(&[(22, 10), (25, 10)]));
        match by_status {
            true => world.item(HUB, 17, 4, &status),
            false => world.say(consumer, &reissue),
        }
        let seq = 4 + u32::from(by_status);
        world.item(HUB, 17, seq, &update(&[(22, 11)]));
        world.item(HUB, 17, seq + 1, &update(&[(22, 12)]));
        assert_eq!(world.heard(consumer), [""; 0], "its state comes with its image");
        world.drain(consumer);
        let heard = world.heard(consumer);
        assert!(heard[0].starts_with("REFRESH 5 "), "{heard:?}");
        assert!(heard[0].ends_with("{22=12 25=10}"), "{heard:?}");
        world.item(HUB, 17, seq + 2, &update(&[(22, 13)]));
        assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=13}"]);
    }
}

#[test]
fn an_image_that_is_put_off_in_the_middle_comes_whole_when_the_mount_has_caught_up() {
    // Nothing may be merged for it: it gets images.
    let limits = Limits { max_merged_bytes_per_mount: 0, ..Limits::default() };
    let mut world = World::feed_with(ServerConfig { limits, ..ServerConfig::default() });
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.answer(consumer, Sent::Slow);
    world.item(HUB, 17, 2, &image_part(0, false, &[(22, 1)]));
    world.item(HUB, 17, 3, &update(&[(22, 2)]));
    world.item(HUB, 17, 4, &image_part(1, true, &[(25, 2)]));
    assert_eq!(world.heard(consumer).len(), 1, "the first part alone");
    world.drain(consumer);
    let heard = world.heard(consumer);
    assert!(heard.iter().any(|line| line.ends_with("{22=2 25=2}")), "{heard:?}");
}

#[test]
fn what_misses_updates_is_not_called_ok_before_all_of_its_image_is_there() {
    let (mut world, consumer) = slow();
    // The update before this one is lost, and the image in its place begins.
    world.item(HUB, 17, 4, &update(&[(22, 4)]));
    world.item(HUB, 17, 5, &image_part(0, false, &[(22, 5)]));
    world.drain(consumer);
    let heard = world.heard(consumer);
    assert!(!heard.iter().any(|line| line.contains("Open / Ok")), "{heard:?}");
    world.item(HUB, 17, 6, &image_part(1, true, &[(25, 5)]));
    let heard = world.heard(consumer);
    assert!(heard.iter().any(|line| line.ends_with("{22=5 25=5}")), "{heard:?}");
}

#[test]
fn why_a_request_waits_is_told_when_the_mount_has_caught_up() {
    let (mut world, consumer) = slow();
    world.hub_update(HUB, vec![service_state(1, false)]);
    world.heard(consumer);
    for stream_id in 7..10 {
        world.say(consumer, &request(stream_id, &format!("NEW{stream_id}.N")));
    }
    assert_eq!(world.heard(consumer), [""; 0]);
    world.say(consumer, &close(8));
    world.drain(consumer);
    let told: Vec<_> = world.heard(consumer).into_iter().filter(|it| it.contains("NEW")).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("STATUS 7 ") && told[0].contains("Open / Suspect"), "{told:?}");
    assert!(told[1].starts_with("STATUS 9 "), "{told:?}");
    // One whose service is there again when it is drained is served instead.
    world.answer(consumer, Sent::Slow);
    world.say(consumer, &request(11, "NEW11.N"));
    world.say(consumer, &request(12, "NEW12.N"));
    world.heard(consumer);
    world.published();
    world.hub_update(HUB, vec![service_state(1, true)]);
    world.drain(consumer);
    assert!(world.published().iter().any(|it| it.contains("NEW12.N")));
    assert!(!world.heard(consumer).iter().any(|it| it.contains("Service not up")));
}
