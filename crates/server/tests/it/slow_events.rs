//! Events that owe one mount more than its output takes: it gets the rest as it
//! reads, and is not cut.

use std::collections::BTreeMap;

use tapeline_channel::SessionId;
use tapeline_omm::login::{LoginRequest, WarmStandbyMode};
use tapeline_omm::market::RequestPayload;
use tapeline_rwf::{DataState, StreamState, UpdateType};
use tapeline_server::{Limits, ServerConfig};

use crate::support::*;

const ITEMS: u32 = 500;
/// A mount is slow with so many messages that wait, and cut beyond so many.
const BOUNDS: (usize, usize) = (20, 60);

fn name(item: u32) -> String {
    format!("ITEM{item}")
}

/// The hub answers what it was asked for, with its own numbers from 0 on.
fn answer_opens(world: &mut World) {
    for (open, _) in std::mem::take(&mut world.out.published) {
        world.accept(HUB, open.item, open.item);
        world.item(HUB, open.item, 1, &image(&[(22, 1), (25, open.item.into())]));
    }
}

/// A mount that has all items open, and an output with bounds.
fn watching(world: &mut World) -> SessionId {
    let consumer = world.mount();
    for item in 0..ITEMS {
        world.say(consumer, &request(10 + item as i32, &name(item)));
    }
    answer_opens(world);
    assert_eq!(world.heard(consumer).len(), ITEMS as usize);
    world.bound(consumer, BOUNDS.0, BOUNDS.1);
    consumer
}

/// What came on each stream, in order.
fn by_stream(heard: Vec<String>) -> BTreeMap<i32, Vec<String>> {
    let mut streams = BTreeMap::<i32, Vec<String>>::new();
    for line in heard {
        let stream_id = line.split(' ').nth(1).expect("a stream").parse().expect("a number");
        streams.entry(stream_id).or_default().push(line);
    }
    streams
}

/// Every item came, each with one image that has this in field 22.
fn check_images(world: &World, heard: Vec<String>, bid: i64) {
    assert_eq!(world.out.closed, []);
    let streams = by_stream(heard);
    for item in 0..ITEMS {
        let lines = &streams[&(10 + item as i32)];
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("REFRESH"), "{lines:?}");
        assert!(lines[0].ends_with(&format!("{{22={bid} 25={item}}}")), "{lines:?}");
    }
    let statistics = world.core.statistics();
    assert_eq!((statistics.mounts_draining, statistics.merged_bytes), (0, 0));
}

#[test]
fn a_standby_server_that_turns_active_brings_all_images() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    world.say(consumer, &login_role(WarmStandbyMode::Standby));
    for item in 0..ITEMS {
        world.item(HUB, item, 2, &update(&[(22, 2)]));
    }
    assert_eq!(world.heard(consumer), [""; 0]);
    world.say(consumer, &login_role(WarmStandbyMode::Active));
    let heard = world.read_all(consumer);
    check_images(&world, heard, 2);
}

#[test]
fn a_login_that_is_resumed_brings_all_images() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    let pause = |pause| LoginRequest { pause, no_refresh: true, ..LoginRequest::new(1, "user") };
    world.say(consumer, &login_of(&pause(true)));
    world.item(HUB, 7, 2, &update(&[(22, 2)]));
    world.say(consumer, &login_of(&pause(false)));
    let mut first = world.heard(consumer);
    // In the midst of it updates come for those that have theirs, and those
    // that have not.
    for item in 0..ITEMS {
        world.item(HUB, item, if item == 7 { 3 } else { 2 }, &update(&[(22, 3)]));
    }
    first.extend(world.read_all(consumer));
    assert_eq!(world.out.closed, []);
    for (stream_id, lines) in by_stream(first) {
        assert!(lines[0].starts_with("REFRESH"), "{stream_id}: {lines:?}");
        let last = lines.last().expect("one");
        assert!(last.contains("{22=3"), "{stream_id}: {lines:?}");
        assert!(lines.iter().skip(1).all(|line| line.starts_with("UPDATE")), "{lines:?}");
    }
}

#[test]
fn a_batch_of_items_in_the_cache_brings_all_images() {
    let mut world = World::with_feed();
    watching(&mut world);
    let consumer = world.mount();
    world.bound(consumer, BOUNDS.0, BOUNDS.1);
    let names: Vec<_> = (0..ITEMS).map(name).collect();
    let names: Vec<_> = names.iter().map(String::as_bytes).collect();
    let payload = RequestPayload { items: Some(&names), ..RequestPayload::NONE };
    world.say(consumer, &request_with(9, "", &payload, |it| it.key.name = None));
    let mut heard = world.read_all(consumer);
    assert!(heard.remove(0).contains("Stream closed for batch"));
    check_images(&world, heard, 1);
}

#[test]
fn a_slow_mount_that_joins_an_item_without_an_image_is_told_of_it_later() {
    let mut world = World::with_feed();
    let other = world.mount();
    world.open_item(other, 5, "TRI.N", 17);
    world.say(other, &request(6, "IBM.N"));
    world.accept(HUB, 18, 1);
    world.item(HUB, 18, 1, &status(StreamState::OPEN, DataState::SUSPECT, "line down"));
    let consumer = world.mount();
    world.bound(consumer, 1, 1);
    world.say(consumer, &request(7, "TRI.N"));
    world.say(consumer, &request(8, "IBM.N"));
    assert_eq!(world.out.closed, []);
    assert_eq!(world.heard(consumer).len(), 1, "the image fills its output");
    assert_eq!(
        world.read(consumer),
        ["STATUS 8 MARKET_PRICE IBM.N@1 Open / Suspect / None / 'line down'"]
    );
}

#[test]
fn a_batch_of_reissues_brings_all_images() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    let ids: Vec<_> = (10..10 + ITEMS as i32).collect();
    let payload = RequestPayload { stream_ids: Some(&ids), ..RequestPayload::NONE };
    world.say(consumer, &request_with(9, "", &payload, |it| it.key.name = None));
    let mut heard = world.read_all(consumer);
    assert!(heard.remove(0).contains("Stream closed for batch"));
    check_images(&world, heard, 1);
}

#[test]
fn a_mount_that_asks_for_batch_after_batch_and_reads_nothing_is_answered_when_it_does() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    world.bound(consumer, 1, 2);
    for item in 0..ITEMS {
        world.item(HUB, item, 2, &update(&[(22, 2)]));
    }
    let id = [10];
    let payload = RequestPayload { stream_ids: Some(&id), ..RequestPayload::NONE };
    for stream_id in 1000..1020 {
        world.say(consumer, &request_with(stream_id, "", &payload, |it| it.key.name = None));
    }
    assert_eq!(world.out.closed, []);
    let heard = world.read_all(consumer);
    let answers = heard.iter().filter(|line| line.contains("Stream closed for batch"));
    assert_eq!(answers.count(), 20);
    assert_eq!(world.out.closed, []);
}

#[test]
fn a_hub_that_goes_and_comes_back_leaves_the_last_state_of_each_item() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    world.hub_down(HUB);
    let first = world.heard(consumer);
    assert_eq!(first.len(), BOUNDS.0, "the rest waits");
    let told = first.len() + world.read_all(consumer).len();
    assert_eq!((told, world.out.closed.len()), (ITEMS as usize, 0));
    // It goes and comes in one breath: most hear of the end of it only.
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "FEED", true)]);
    world.hub_down(HUB_2);
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    let opens: Vec<_> = std::mem::take(&mut world.out.published)
        .into_iter()
        .filter(|(header, _)| header.kind == tapeline_backbone::Kind::Open && header.target == HUB)
        .collect();
    for (open, _) in opens {
        world.accept(HUB, open.item, open.item);
        world.item(HUB, open.item, 1, &image(&[(22, 5), (25, open.item.into())]));
    }
    let streams = by_stream(world.read_all(consumer));
    assert_eq!(world.out.closed, []);
    for item in 0..ITEMS {
        let lines = &streams[&(10 + item as i32)];
        let last = lines.last().expect("one");
        assert!(last.starts_with("REFRESH") && last.contains("Open / Ok"), "{lines:?}");
        assert!(last.ends_with(&format!("{{22=5 25={item}}}")), "{lines:?}");
    }
    assert!(world.core.statistics().states_put_off > 0);
}

#[test]
fn states_that_are_put_off_are_told_as_the_last_one() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    world.bound(consumer, 1, BOUNDS.1);
    world.item(HUB, 0, 2, &update(&[(22, 2)]));
    world.heard(consumer);
    world.item(HUB, 1, 2, &update(&[(22, 2)]));
    for (at, text) in (3..).zip(["one", "two", "three"]) {
        world.item(HUB, 1, at, &status(StreamState::OPEN, DataState::SUSPECT, text));
        world.item(HUB, 2, at - 1, &status(StreamState::OPEN, DataState::SUSPECT, text));
    }
    world.item(HUB, 2, 5, &status(StreamState::CLOSED, DataState::SUSPECT, "over"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 12 MARKET_PRICE Closed / Suspect / None / 'over'"],
        "the end of a stream does not wait"
    );
    assert_eq!(
        world.read_all(consumer),
        [
            "UPDATE 11 MARKET_PRICE QUOTE {22=2}",
            "STATUS 11 MARKET_PRICE Open / Suspect / None / 'three'",
        ]
    );
}

#[test]
fn a_mount_that_stays_slow_gets_of_everything_in_each_window() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    // Two messages of room each time it has read, and all its items change
    // each time: there is always something merged for it.
    world.bound(consumer, 2, BOUNDS.1);
    world.say(consumer, &dictionary_request(4, "RWFFld", 7));
    for stream_id in [10, 11, 12] {
        world.say(consumer, &item_request(stream_id, &name(stream_id as u32 - 10), |_| {}));
    }
    let mut seqs = vec![1; ITEMS as usize];
    let mut came = BTreeMap::<String, usize>::new();
    for round in 0..100 {
        for item in 0..ITEMS {
            seqs[item as usize] += 1;
            world.item(HUB, item, seqs[item as usize], &update(&[(22, round)]));
        }
        for line in world.read(consumer) {
            let kind = line.split(' ').take(3).collect::<Vec<_>>();
            *came.entry(format!("{} {}", kind[0], kind[2])).or_default() += 1;
        }
    }
    assert_eq!(world.out.closed, []);
    assert_eq!(came["REFRESH MARKET_PRICE"], 3, "{came:?}");
    assert!(came["UPDATE MARKET_PRICE"] > 50, "{came:?}");
    let quick = world.mount();
    world.say(quick, &dictionary_request(4, "RWFFld", 7));
    assert_eq!(came["REFRESH DICTIONARY"], world.heard(quick).len(), "{came:?}");
}

#[test]
fn many_mounts_that_catch_up_are_worked_off_in_turns_and_in_slices() {
    const MOUNTS: usize = 40;
    const WATCHED: u32 = 200;
    let mut world = World::with_feed();
    watching(&mut world);
    world.out.bounds.clear();
    let mounts: Vec<_> = (0..MOUNTS).map(|_| world.mount()).collect();
    for mount in &mounts {
        for item in 0..WATCHED {
            world.say(*mount, &request(10 + item as i32, &name(item)));
        }
        world.answer(*mount, tapeline_channel::Sent::Slow);
    }
    for seq in 2..4 {
        for item in 0..WATCHED {
            world.item(HUB, item, seq, &update(&[(22, seq.into())]));
        }
    }
    world.out.sent.clear();
    world.is_late = true;
    for mount in &mounts {
        world.out.answers.remove(mount);
        world.drained(*mount);
    }
    let in_events = world.out.sent.len();
    assert!(in_events <= MOUNTS * 70, "{in_events}");
    assert_eq!(world.core.statistics().mounts_draining, MOUNTS);
    let mut slices = 0;
    while world.core.next_deadline().is_some_and(|deadline| deadline <= world.now) {
        let before = world.out.sent.len();
        world.handle_timeout();
        let count = world.out.sent.len() - before;
        // Each merged update comes with the words that it is one.
        assert!(count <= 400, "{count} in one slice");
        slices += 1;
        if slices == 5 {
            // Somebody else's update is not merged, nor kept waiting.
            let last = world.out.sent.len();
            world.item(HUB, ITEMS - 1, 2, &update(&[(22, 9)]));
            assert_eq!(world.out.sent.len(), last + 1);
        }
    }
    assert!(slices > 20, "{slices}");
    for mount in mounts {
        let streams = by_stream(world.heard(mount));
        assert_eq!(streams.len(), WATCHED as usize);
        for (stream_id, lines) in streams {
            let shown: Vec<_> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
            // By the first update of the first it turned slow.
            let expected: &[&str] =
                if stream_id == 10 { &["UPDATE"] } else { &["STATUS", "UPDATE", "STATUS"] };
            assert_eq!(shown, expected, "{stream_id} {lines:?}");
            assert!(lines.iter().any(|line| line.ends_with("{22=3}")), "{lines:?}");
        }
    }
    assert_eq!(world.core.statistics().merged_bytes, 0);
}

#[test]
fn beyond_the_bytes_for_merging_there_are_images_instead() {
    let limits = Limits { max_merged_bytes: 4_000, ..Limits::default() };
    let mut world = World::feed_with(ServerConfig { limits, ..ServerConfig::default() });
    let consumer = watching(&mut world);
    world.bound(consumer, 1, BOUNDS.1);
    world.item(HUB, 0, 2, &update(&[(22, 7)]));
    for item in 1..ITEMS {
        world.item(HUB, item, 2, &update(&[(22, 7)]));
        let bytes = world.core.statistics().merged_bytes;
        assert!(bytes <= 4_000, "{bytes}");
    }
    let statistics = world.core.statistics();
    assert!(statistics.merges_dropped > 400, "{statistics:?}");
    assert!(statistics.merged_bytes_most > 3_000, "{statistics:?}");
    let streams = by_stream(world.read_all(consumer));
    for item in 0..ITEMS {
        let lines = &streams[&(10 + item as i32)];
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("{22=7"), "{lines:?}");
    }
    assert_eq!(world.out.closed, []);
}

#[test]
fn a_mount_with_too_much_merged_for_it_gets_images_and_no_other_does() {
    let limits = Limits { max_merged_bytes_per_mount: 20_000, ..Limits::default() };
    let mut world = World::feed_with(ServerConfig { limits, ..ServerConfig::default() });
    let consumer = watching(&mut world);
    let other = world.mount();
    for item in 0..10 {
        world.say(other, &request(10 + item, &name(item as u32)));
    }
    world.heard(other);
    for mount in [consumer, other] {
        world.bound(mount, 1, BOUNDS.1);
    }
    for seq in 2..5 {
        for item in 0..ITEMS {
            world.item(HUB, item, seq, &update(&[(22, i64::from(seq))]));
        }
    }
    let statistics = world.core.statistics();
    assert_eq!(statistics.merges_dropped, 0);
    assert!(statistics.merges_dropped_of_mounts > 400, "{statistics:?}");
    // What others wait for counts for each of them.
    assert!((10_000..30_000).contains(&statistics.merged_bytes), "{statistics:?}");
    let streams = by_stream(world.read_all(consumer));
    for (stream_id, lines) in &streams {
        let last = lines.last().expect("one");
        assert!(lines.iter().any(|line| line.contains("{22=4")), "{stream_id}: {lines:?}");
        assert!(last.starts_with("REFRESH") || last.starts_with("STATUS"), "{last}");
    }
    assert_eq!(streams.len(), ITEMS as usize);
    let images = |lines: &[String]| lines.iter().filter(|it| it.starts_with("REFRESH")).count();
    assert_eq!(images(&world.read_all(other)), 0);
    let statistics = world.core.statistics();
    assert_eq!((statistics.merged_bytes, world.out.closed.len()), (0, 0));
    // There is room again.
    world.item(HUB, 3, 5, &update(&[(22, 5)]));
    assert_eq!(images(&world.read_all(consumer)), 0);
}

#[test]
fn a_slow_mount_that_wants_some_types_of_updates_gets_images_instead() {
    let mut world = World::with_feed();
    watching(&mut world);
    let consumer = world.connect();
    let mut login = LoginRequest::new(1, "user");
    login.attributes.update_type_filter = Some(1 << UpdateType::TRADE.0);
    world.say(consumer, &login_of(&login));
    world.say(consumer, &request(10, &name(0)));
    world.heard(consumer);
    world.bound(consumer, 1, BOUNDS.1);
    world.item(HUB, 0, 2, &update_of(UpdateType::TRADE, &[(22, 2)]));
    world.item(HUB, 0, 3, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer).len(), 1);
    world.item(HUB, 0, 4, &update_of(UpdateType::TRADE, &[(22, 4)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    let heard = world.read_all(consumer);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with("REFRESH 10") && heard[0].ends_with("{22=4 25=0}"), "{heard:?}");
}

#[test]
fn mounts_that_turned_slow_at_different_times_get_what_came_since() {
    let mut world = World::with_feed();
    let first = watching(&mut world);
    let second = world.mount();
    world.say(second, &request(5, &name(3)));
    world.heard(second);
    world.bound(first, 1, BOUNDS.1);
    world.item(HUB, 3, 2, &update(&[(22, 2)]));
    world.item(HUB, 3, 3, &update(&[(22, 3)]));
    world.bound(second, 1, BOUNDS.1);
    world.item(HUB, 3, 4, &update(&[(25, 4)]));
    world.item(HUB, 3, 5, &update(&[(30, 5)]));
    assert_eq!(world.heard(second)[2..], ["UPDATE 5 MARKET_PRICE QUOTE {25=4}"]);
    assert_eq!(world.read_all(second), ["UPDATE 5 MARKET_PRICE QUOTE {30=5}"]);
    world.item(HUB, 3, 6, &update(&[(25, 6)]));
    assert_eq!(world.heard(second), ["UPDATE 5 MARKET_PRICE QUOTE {25=6}"]);
    let heard = world.read_all(first);
    assert_eq!(heard[0], "UPDATE 13 MARKET_PRICE QUOTE {22=2}");
    assert_eq!(heard[2], "UPDATE 13 MARKET_PRICE QUOTE {22=3 25=6 30=5}");
    assert!(heard[1].contains("JustInTimeConflationStarted"), "{heard:?}");
}

#[test]
fn the_mount_with_the_most_output_is_cut_when_all_have_too_much() {
    let mut world = World::with_feed();
    let (consumer, other) = (world.mount(), world.mount());
    world.core.handle(
        world.now,
        tapeline_server::Event::OutputBeyondPool { session: consumer },
        &mut world.out,
    );
    assert_eq!(world.out.closed.len(), 1);
    assert!(world.out.closed[0].1.starts_with("the outputs of all mounts are full together"));
    let statistics = world.core.statistics();
    assert_eq!((statistics.mounts_cut, statistics.mounts_cut_for_pool), (1, 1));
    world.open_item(other, 5, "TRI.N", 17);
}

#[test]
fn a_state_that_waits_is_told_though_its_stream_is_paused_meanwhile() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    world.hub_down(HUB);
    let first = world.heard(consumer);
    assert_eq!(first.len(), BOUNDS.0, "the rest waits");
    for item in 0..ITEMS {
        let pause = item_request(10 + item as i32, &name(item), |it| it.pause = true);
        world.say(consumer, &pause);
    }
    let told = by_stream([first, world.read_all(consumer)].concat());
    assert_eq!((told.len(), world.out.closed.len()), (ITEMS as usize, 0));
}
