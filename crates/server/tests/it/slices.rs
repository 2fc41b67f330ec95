//! Long work is done in slices: how large they are, and what is found between
//! two of them.

use tapeline_backbone::Kind;
use tapeline_channel::SessionId;
use tapeline_omm::batch::write_stream_id_list;
use tapeline_omm::market::RequestPayload;
use tapeline_rwf::{CloseMsg, DataState, DataType, Domain, ElementListHead, StreamState};
use tapeline_server::{Limits, ServerConfig};

use crate::support::*;

/// More than what one slice does.
pub(crate) const MANY: usize = 1_000;
/// What a slice does at the most, whatever it is.
pub(crate) const SLICE: usize = 260;

pub(crate) fn name(item: usize) -> String {
    format!("ITEM{item}.N")
}

/// Opens so many items on streams from this one on. The hub accepts them, with
/// the server's numbers, and sends images.
pub(crate) fn open_many(world: &mut World, mount: SessionId, first: i32, count: usize) {
    for item in 0..count {
        world.say(mount, &request(first + item as i32, &name(item)));
        let asked = std::mem::take(&mut world.out.published);
        for (header, _) in asked.iter().filter(|(header, _)| header.kind == Kind::Open) {
            world.accept(header.target, header.item, header.item);
            world.item(header.target, header.item, 1, &image(&[(22, 1)]));
        }
    }
    world.out.sent.clear();
}

/// Does slices until nothing is left. Returns how many messages and frames each
/// of them sent.
pub(crate) fn slices(world: &mut World) -> Vec<(usize, usize)> {
    let mut slices = Vec::new();
    while world.core.statistics().backlog > 0 {
        assert!(world.core.next_deadline().is_some_and(|due| due <= world.now), "it is due");
        let before = (world.out.sent.len(), world.out.published.len());
        world.handle_timeout();
        let after = (world.out.sent.len(), world.out.published.len());
        slices.push((after.0 - before.0, after.1 - before.1));
    }
    slices
}

#[test]
fn a_mount_that_leaves_closes_its_items_in_slices() {
    let mut world = World::with_feed();
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    world.is_late = true;
    world.disconnect(mount);
    assert_eq!(world.published(), [""; 0]);
    assert_eq!(world.core.statistics().mounts, 0);
    assert_eq!(world.core.statistics().backlog, 1);
    let slices = slices(&mut world);
    assert!(slices.iter().all(|(sent, closed)| *sent == 0 && *closed <= SLICE), "{slices:?}");
    assert_eq!(slices.iter().map(|(_, closed)| closed).sum::<usize>(), MANY);
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn whoever_has_the_index_of_a_mount_that_leaves_has_nothing_of_its_streams() {
    let mut world = World::with_feed();
    let old = world.mount_as(0, 1);
    open_many(&mut world, old, 10, MANY);
    world.is_late = true;
    world.disconnect(old);
    let new = world.mount_as(0, 2);
    // On an id that the old one had, another item.
    world.say(new, &request(10, &name(5)));
    assert_eq!(world.heard(new).len(), 1, "the image, out of the cache");
    for (item, seq) in [(0, 2), (5, 2), (999, 2)] {
        world.item(HUB, item, seq, &update(&[(22, 7)]));
        world.item(HUB, item, seq + 1, &status(StreamState::OPEN, DataState::OK, "a word"));
        world.item(HUB, item, seq + 2, &image(&[(22, 7)]));
    }
    assert_eq!(world.out.sent.len(), 3);
    assert_eq!(world.heard(new).len(), 3, "of one item");
    slices(&mut world);
    assert_eq!(world.core.statistics().items, 1);
    world.item(HUB, 5, 5, &update(&[(22, 8)]));
    assert_eq!(world.heard(new), ["UPDATE 10 MARKET_PRICE QUOTE {22=8}"]);
}

#[test]
fn who_logs_out_may_open_the_same_streams_at_once() {
    let mut world = World::with_feed();
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    world.is_late = true;
    world.say(mount, &close(1));
    world.say(mount, &login(1, "user"));
    world.heard(mount);
    for stream_id in 10..20 {
        world.say(mount, &request(stream_id, &name(stream_id as usize)));
    }
    assert_eq!(world.heard(mount).len(), 10);
    slices(&mut world);
    assert_eq!(world.core.statistics().items, 10);
    for item in 0..20 {
        world.item(HUB, item, 2, &update(&[(22, 7)]));
    }
    let wanted: Vec<_> =
        (10..20).map(|id| format!("UPDATE {id} MARKET_PRICE QUOTE {{22=7}}")).collect();
    assert_eq!(world.heard(mount), wanted);
    world.disconnect(mount);
    slices(&mut world);
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn what_a_mount_had_is_free_for_others_at_once() {
    let limits = Limits { item_limit: MANY, max_items: MANY, ..Limits::default() };
    let mut world = World::feed_with(ServerConfig { limits, ..ServerConfig::default() });
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    let other = world.mount();
    world.say(other, &request(10, "OTHER.N"));
    assert!(world.heard(other)[0].contains("TooManyItems"));
    world.is_late = true;
    world.disconnect(mount);
    for stream_id in 10..10 + MANY as i32 {
        world.say(other, &request(stream_id, &format!("OTHER{stream_id}.N")));
    }
    assert_eq!(world.heard(other), [""; 0], "none is refused");
    slices(&mut world);
    assert_eq!(world.core.statistics().items, MANY);
}

#[test]
fn mounts_that_leave_do_not_keep_the_items_of_a_dead_hub_waiting() {
    let mut world = World::with_feed();
    let quiet = world.mount();
    open_many(&mut world, quiet, 10, 10);
    let leaving: Vec<_> = (0..10).map(|_| world.mount()).collect();
    for mount in &leaving {
        open_many(&mut world, *mount, 10, 500);
    }
    world.is_late = true;
    for mount in leaving {
        world.disconnect(mount);
    }
    world.hub_down(HUB);
    for _ in 0..2 {
        world.handle_timeout();
    }
    assert_eq!(world.core.statistics().backlog, 11, "none is done");
    assert_eq!(world.heard(quiet).len(), 10);
    slices(&mut world);
    world.disconnect(quiet);
    slices(&mut world);
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn the_items_of_a_hub_that_is_gone_are_seen_to_in_slices() {
    let mut world = World::with_feed();
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(4, "FEED", true)]);
    world.published();
    world.is_late = true;
    world.hub_down(HUB);
    // One that takes the place of the first in the table has none of its items.
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", false)]);
    world.out.published.clear();
    world.handle_timeout();
    let told = world.heard(mount);
    assert!((1..=SLICE).contains(&told.len()), "{}", told.len());
    assert!(told.iter().all(|it| it.contains("Connection to hub lost")), "{told:?}");
    // Nothing is left of the last 10: they are seen to for whoever asks.
    let newcomer = world.mount();
    let asked_before = world.out.published.len();
    for item in MANY - 10..MANY {
        world.say(newcomer, &request(item as i32, &name(item)));
    }
    assert_eq!(world.out.published.len() - asked_before, 10, "at the other hub");
    assert!(world.heard(newcomer).iter().all(|it| it.contains("Connection to hub lost")));
    world.disconnect(newcomer);
    let slices = slices(&mut world);
    assert!(slices.iter().all(|(sent, asked)| sent.max(asked) <= &SLICE), "{slices:?}");
    assert_eq!(told.len() + world.heard(mount).len(), MANY, "each is told once");
    let opens: Vec<_> = world.out.published.drain(..).map(|(header, _)| header).collect();
    assert!(opens.iter().all(|open| (open.kind, open.target) == (Kind::Open, HUB_2)));
    assert_eq!(opens.len(), MANY);
    for open in opens {
        world.accept(HUB_2, open.item, open.item);
        world.item(HUB_2, open.item, 1, &image(&[(22, 1)]));
    }
    assert_eq!(world.heard(mount).len(), MANY);
    world.disconnect(mount);
    world.work_off();
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn an_item_that_is_closed_before_its_dead_hub_is_seen_to_leaves_nothing() {
    let mut world = World::with_feed();
    let mount = world.mount();
    for item in 0..MANY {
        world.say(mount, &request(10 + item as i32, &name(item)));
    }
    world.is_late = true;
    world.hub_down(HUB);
    world.published();
    for item in 0..MANY {
        world.say(mount, &close(10 + item as i32));
    }
    assert_eq!(world.published(), [""; 0], "there is nobody to tell");
    slices(&mut world);
    assert_eq!((world.core.statistics().items, world.core.statistics().backlog), (0, 0));
    // Their numbers are free again.
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.out.published.clear();
    for item in 0..MANY {
        world.say(mount, &request(10 + item as i32, &name(item)));
    }
    let highest = world.out.published.iter().map(|(header, _)| header.item).max();
    assert_eq!(highest, Some(MANY as u32 - 1));
}

#[test]
fn a_directory_message_that_moves_nothing_leaves_nothing_to_do() {
    let mut world = World::with_feed();
    let mount = world.mount();
    open_many(&mut world, mount, 10, 100);
    world.is_late = true;
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(4, "FEED", true), service(5, "OTHER", true)]);
    assert_eq!(world.core.statistics().backlog, 0);
    world.hub_update(HUB_2, vec![service_state(5, false)]);
    world.hub_update(HUB_2, vec![service_state(4, false)]);
    world.hub_update(HUB_2, vec![service_state(4, true)]);
    assert_eq!(world.core.statistics().backlog, 0);
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(world.core.statistics().backlog, 1);
    slices(&mut world);
    assert_eq!(world.heard(mount).len(), 100);
}

#[test]
fn a_service_that_goes_down_moves_its_items_in_slices_and_no_others() {
    let mut world = World::with_feed();
    world.hub_directory(HUB, vec![service(1, "FEED", true), service(2, "OTHER", true)]);
    world.hub_up(HUB_2);
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    world.is_late = true;
    world.hub_directory(HUB_2, vec![service(1, "FEED", true), service(2, "OTHER", true)]);
    world.hub_update(HUB, vec![service_state(2, false)]);
    assert_eq!(world.core.statistics().backlog, 0, "there is no item of it");
    world.hub_update(HUB, vec![service_state(1, false)]);
    world.out.published.clear();
    world.handle_timeout();
    let moved = world.heard(mount).len();
    assert!((1..=SLICE).contains(&moved), "{moved}");
    // It is up again: the others stay.
    world.hub_update(HUB, vec![service_state(1, true)]);
    slices(&mut world);
    assert_eq!(world.heard(mount), [""; 0]);
    world.hub_update(HUB, vec![service_state(1, false)]);
    let slices = slices(&mut world);
    assert!(slices.iter().all(|(sent, _)| *sent <= SLICE), "{slices:?}");
    assert_eq!(moved + world.heard(mount).len(), MANY);
}

#[test]
fn a_service_that_comes_back_while_its_items_are_lost_has_them_all_again() {
    let mut world = World::with_feed();
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    world.is_late = true;
    world.hub_directory(HUB, vec![]);
    world.handle_timeout();
    let lost = world.heard(mount).len();
    assert!((1..MANY).contains(&lost), "{lost}");
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.out.published.clear();
    slices(&mut world);
    let told = world.heard(mount);
    assert_eq!(lost + told.len(), MANY);
    let asked = world.out.published.iter().filter(|(header, _)| header.kind == Kind::Open);
    assert_eq!(asked.count(), MANY, "all are asked for");
    assert_eq!(world.core.statistics().items, MANY);
}

#[test]
fn requests_that_wait_for_a_service_are_tried_in_slices() {
    let mut world = World::with_feed();
    world.hub_update(HUB, vec![service_state(1, false)]);
    let (mount, other) = (world.mount(), world.mount());
    for item in 0..MANY {
        world.say(mount, &request(10 + item as i32, &name(item)));
    }
    world.say(other, &request(10, "ANOTHER.N"));
    world.out.sent.clear();
    world.out.published.clear();
    world.is_late = true;
    world.hub_update(HUB, vec![service_state(1, true)]);
    world.handle_timeout();
    assert!((1..=SLICE).contains(&world.out.published.len()));
    // Who leaves takes what it waits for with it.
    world.disconnect(mount);
    slices(&mut world);
    let names: Vec<_> = world.published().into_iter().filter(|it| it.contains("ANOTHER")).collect();
    assert_eq!(names.len(), 1);
    assert_eq!(world.core.statistics().items, 1);
}

/// A batch of so many items, on the streams behind this one.
fn batch(stream_id: i32, count: usize) -> Vec<u8> {
    let names: Vec<_> = (0..count).map(name).collect();
    let names: Vec<_> = names.iter().map(String::as_bytes).collect();
    let payload = RequestPayload { items: Some(&names), ..RequestPayload::NONE };
    request_with(stream_id, "", &payload, |it| it.key.name = None)
}

/// A close of these streams, on one of its own.
fn batch_close(stream_id: i32, ids: &[i32]) -> Vec<u8> {
    built(|encoder| {
        let close = CloseMsg::new(Domain::MARKET_PRICE, stream_id);
        let slot = encoder.begin(&close.into(), DataType::ELEMENT_LIST).expect("room");
        let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
        write_stream_id_list(&mut list, ids.iter().copied()).expect("room");
        list.finish().expect("room");
    })
}

#[test]
fn a_batch_is_opened_in_slices_and_what_is_said_next_comes_after_it() {
    let mut world = World::with_feed();
    let (mount, other) = (world.mount(), world.mount());
    world.is_late = true;
    world.say(mount, &batch(10, MANY));
    let last = 10 + MANY as i32;
    world.say(mount, &close(last));
    world.say(mount, &request(last, "ANOTHER.N"));
    // Another one in between has not to wait.
    world.say(other, &request(5, "OTHER.N"));
    assert_eq!(world.published().len(), 1);
    world.say(other, &batch(20, 10));
    let slices = slices(&mut world);
    assert!(slices.iter().all(|(_, published)| *published <= SLICE), "{slices:?}");
    assert!(slices.len() >= MANY / SLICE);
    let published = world.published();
    let closed = published.iter().position(|it| it.starts_with("Close 100"));
    let another = published.iter().position(|it| it.contains("ANOTHER.N"));
    let of_last = published.iter().position(|it| it.contains(&name(MANY - 1)));
    assert!(of_last < closed && closed < another, "{of_last:?} {closed:?} {another:?}");
    assert_eq!(world.core.statistics().items, MANY + 1);
    world.say(mount, &request(last, "ANOTHER.N"));
    assert_eq!(world.core.statistics().backlog, 0, "nothing waits any more");
}

#[test]
fn batches_follow_one_another_and_are_closed_in_slices_as_well() {
    let config = ServerConfig { allow_same_item_twice: true, ..ServerConfig::default() };
    let mut world = World::feed_with(config);
    let mount = world.mount();
    world.is_late = true;
    world.say(mount, &batch(10, MANY));
    world.say(mount, &batch(10_000, MANY / 2));
    let ids: Vec<_> = (11..=10 + MANY as i32).collect();
    world.say(mount, &batch_close(1_000_000, &ids));
    slices(&mut world);
    assert_eq!(world.core.statistics().items, MANY / 2);
    let closes =
        |world: &mut World| world.published().iter().filter(|it| it.starts_with("Close")).count();
    assert_eq!(closes(&mut world), MANY / 2, "half of them are watched twice");
}

#[test]
fn a_mount_that_leaves_in_the_middle_of_its_batch_leaves_nothing() {
    let mut world = World::with_feed();
    let mount = world.mount();
    world.is_late = true;
    world.say(mount, &batch(10, MANY));
    world.handle_timeout();
    assert!((1..MANY).contains(&world.core.statistics().items));
    world.disconnect(mount);
    slices(&mut world);
    assert_eq!((world.core.statistics().items, world.core.statistics().backlog), (0, 0));
}
