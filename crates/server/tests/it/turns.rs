//! Mounts that ask faster than they may wait for their turn, and nobody else does.

use std::time::Duration;

use tapeline_channel::SessionId;
use tapeline_server::{Event, Limits, ServerConfig};

use crate::support::*;

fn limited(limits: Limits) -> World {
    World::feed_with(ServerConfig { limits, ..ServerConfig::default() })
}

const SECOND: Duration = Duration::from_secs(1);

/// Asks for items of which nobody knows yet.
fn ask(world: &mut World, session: SessionId, streams: std::ops::Range<i32>) {
    for stream_id in streams {
        world.say(session, &request(stream_id, &format!("S{stream_id}.N")));
    }
}

fn snapshot(stream_id: i32, name: &str) -> Vec<u8> {
    item_request(stream_id, name, |request| request.streaming = false)
}

/// How many items were asked for at hubs since the last time.
fn opened(world: &mut World) -> usize {
    let published = world.published();
    published.iter().filter(|line| line.starts_with("Open")).count()
}

fn waiting(world: &World) -> (u64, usize) {
    let statistics = world.core.statistics();
    (statistics.opens_paced, statistics.opens_waiting)
}

#[test]
fn opens_beyond_the_rate_of_a_mount_wait_and_those_of_others_do_not() {
    let mut world = limited(Limits { opens_per_s: 10, ..Limits::default() });
    let (greedy, other) = (world.mount(), world.mount());
    ask(&mut world, greedy, 100..125);
    assert_eq!((opened(&mut world), waiting(&world)), (10, (15, 15)));
    ask(&mut world, other, 200..210);
    assert_eq!(opened(&mut world), 10);
    let mut each = Vec::new();
    for _ in 0..5 {
        world.pass(Duration::from_millis(100));
        each.push(opened(&mut world));
    }
    assert_eq!((each, waiting(&world)), (vec![1; 5], (15, 10)));
    for _ in 0..10 {
        world.pass(Duration::from_millis(100));
    }
    assert_eq!((opened(&mut world), waiting(&world)), (10, (15, 0)));
    assert_eq!(world.heard(greedy), [""; 0]);
    assert_eq!(world.core.next_deadline().filter(|at| *at <= world.now), None);
}

#[test]
fn what_waits_can_be_closed_and_asked_for_anew() {
    let mut world = limited(Limits { opens_per_s: 1, ..Limits::default() });
    let consumer = world.mount();
    ask(&mut world, consumer, 100..104);
    assert_eq!((opened(&mut world), waiting(&world)), (1, (3, 3)));
    world.say(consumer, &close(101));
    world.say(consumer, &request(102, "OTHER.N"));
    assert_eq!(waiting(&world).1, 2);
    world.pass(SECOND);
    assert_eq!(
        world.published(),
        ["Open 100 1 REQUEST 0 MARKET_PRICE S103.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    world.pass(SECOND);
    assert_eq!(
        world.published(),
        ["Open 100 2 REQUEST 0 MARKET_PRICE OTHER.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    // What waits goes with its mount.
    ask(&mut world, consumer, 110..114);
    world.disconnect(consumer);
    assert_eq!(waiting(&world).1, 0);
    world.pass(10 * SECOND);
    assert_eq!(opened(&mut world), 0);
}

#[test]
fn who_waits_for_long_is_told() {
    let mut world = limited(Limits { opens_per_s: 2, ..Limits::default() });
    let consumer = world.mount();
    ask(&mut world, consumer, 100..108);
    let told = "MARKET_PRICE S107.N@1 Open / Suspect / None / 'The request waits for its turn'";
    assert_eq!(world.heard(consumer), [format!("STATUS 107 {told}")]);
    // It counts among the items of its mount meanwhile.
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(waiting(&world).1, 7);
}

#[test]
fn snapshots_beyond_the_window_wait_for_those_before_and_streams_do_not() {
    let mut world = limited(Limits { snapshot_window: 2, ..Limits::default() });
    let consumer = world.mount();
    for stream_id in 100..104 {
        world.say(consumer, &snapshot(stream_id, &format!("S{stream_id}.N")));
    }
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!((opened(&mut world), waiting(&world)), (3, (2, 2)));
    // An image comes: the next one is asked for.
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    assert!(world.heard(consumer)[0].starts_with("REFRESH 100"));
    world.pass(Duration::ZERO);
    assert_eq!((opened(&mut world), waiting(&world).1), (1, 1));
    // One that is given up makes room as well.
    world.say(consumer, &close(101));
    world.pass(Duration::ZERO);
    assert_eq!((opened(&mut world), waiting(&world).1), (1, 0));
}

#[test]
fn more_snapshots_than_may_wait_are_refused() {
    let limits = Limits { snapshot_window: 1, snapshot_queue: 1, ..Limits::default() };
    let mut world = limited(limits);
    let consumer = world.mount();
    for stream_id in 100..103 {
        world.say(consumer, &snapshot(stream_id, &format!("S{stream_id}.N")));
    }
    let told = "MARKET_PRICE S102.N@1 Closed / Suspect / NoResources / 'Too many snapshots wait'";
    assert_eq!(world.heard(consumer), [format!("STATUS 102 {told}")]);
    let statistics = world.core.statistics();
    assert_eq!((statistics.opens_limited, statistics.snapshots_waiting_most), (1, 1));
}

#[test]
fn snapshots_beyond_the_rate_of_a_user_wait_at_all_its_mounts() {
    let mut world = limited(Limits { snapshots_per_s: 3, ..Limits::default() });
    let (first, second) = (world.mount(), world.mount());
    let other = world.log_in("other");
    for (session, stream_id) in [(first, 100), (first, 101), (second, 102), (second, 103)] {
        world.say(session, &snapshot(stream_id, &format!("S{stream_id}.N")));
    }
    assert_eq!((opened(&mut world), waiting(&world).1), (3, 1));
    world.say(other, &snapshot(5, "TRI.N"));
    assert_eq!(opened(&mut world), 1);
    world.pass(Duration::from_millis(334));
    assert_eq!((opened(&mut world), waiting(&world).1), (1, 0));
}

#[test]
fn images_beyond_the_rate_of_a_mount_come_later_and_none_is_lost() {
    let mut world = limited(Limits { images_per_s: 2, ..Limits::default() });
    let (owner, newcomer) = (world.mount(), world.mount());
    world.open_item(owner, 5, "A.N", 17);
    world.open_item(owner, 6, "B.N", 18);
    world.pass(SECOND);
    world.open_item(owner, 7, "C.N", 19);
    for (stream_id, name) in [(5, "A.N"), (6, "B.N"), (7, "C.N")] {
        world.say(newcomer, &request(stream_id, name));
    }
    let heard = world.heard(newcomer);
    assert_eq!(heard.len(), 2, "{heard:?}");
    // Those that have their image get updates; the other one's is in its image.
    world.item(HUB, 17, 2, &update(&[(22, 1)]));
    world.item(HUB, 19, 2, &update(&[(22, 3)]));
    assert_eq!(world.heard(newcomer), ["UPDATE 5 MARKET_PRICE QUOTE {22=1}"]);
    world.pass(Duration::from_millis(499));
    assert_eq!(world.heard(newcomer), [""; 0]);
    world.pass(Duration::from_millis(1));
    let heard = world.heard(newcomer);
    assert!(heard.len() == 1 && heard[0].starts_with("REFRESH 7"), "{heard:?}");
    assert!(heard[0].contains("22=3"), "{heard:?}");
    world.item(HUB, 19, 3, &update(&[(22, 4)]));
    assert_eq!(world.heard(newcomer), ["UPDATE 7 MARKET_PRICE QUOTE {22=4}"]);
    assert_eq!(world.core.statistics().images_put_off, 1);
}

#[test]
fn nothing_is_opened_while_memory_is_short() {
    let mut world = limited(Limits { memory_max_bytes: 1_000, ..Limits::default() });
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.handle(Event::Memory { resident_bytes: 900 });
    assert_eq!(world.core.statistics().memory_bytes, 900);
    world.say(consumer, &request(6, "IBM.N"));
    let told =
        "MARKET_PRICE IBM.N@1 Closed / Suspect / NoResources / 'The server is short of memory'";
    assert_eq!(world.heard(consumer), [format!("STATUS 6 {told}")]);
    world.item(HUB, 17, 2, &update(&[(22, 1)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=1}"]);
    assert_eq!(world.core.statistics().images_let_go, 0);
    world.handle(Event::Memory { resident_bytes: 899 });
    world.open_item(consumer, 6, "IBM.N", 18);
}

#[test]
fn images_go_while_memory_is_scarce_and_newcomers_have_theirs_from_the_hub() {
    let mut world = limited(Limits { memory_max_bytes: 1_000, ..Limits::default() });
    let (owner, newcomer) = (world.mount(), world.mount());
    for item in 17..27 {
        world.open_item(owner, item, &format!("S{item}.N"), item as u32);
    }
    for _ in 0..8 {
        world.handle(Event::Memory { resident_bytes: 950 });
    }
    assert_eq!(world.core.statistics().images_let_go, 10);
    world.handle(Event::Memory { resident_bytes: 500 });
    world.published();
    world.say(newcomer, &request(5, "S17.N"));
    let published = world.published();
    assert!(published.len() == 1 && published[0].starts_with("Reissue 100 0"), "{published:?}");
    world.item_to_us(HUB, 17, 1, &image(&[(22, 7)]));
    let heard = world.heard(newcomer);
    assert!(heard.len() == 1 && heard[0].starts_with("REFRESH 5"), "{heard:?}");
    assert_eq!(world.heard(owner), [""; 0]);
    // It is in the cache again.
    world.say(newcomer, &close(5));
    world.say(newcomer, &request(6, "S17.N"));
    assert!(world.heard(newcomer)[0].starts_with("REFRESH 6"));
}
