//! Warm standby: how a client takes over that has many items.

use tapeline_omm::login::WarmStandbyMode;
use tapeline_server::{Limits, ServerConfig};

use crate::slices::{name, open_many, slices};
use crate::standby::standby_mount;
use crate::support::*;

const ACTIVE: WarmStandbyMode = WarmStandbyMode::Active;
const STANDBY: WarmStandbyMode = WarmStandbyMode::Standby;

#[test]
fn higher_priorities_are_taken_over_first() {
    let mut world = World::with_feed();
    let consumer = standby_mount(&mut world);
    for (stream_id, class) in [(5, 1), (6, 3), (7, 2), (8, 3)] {
        world.say(
            consumer,
            &item_request(stream_id, &name(stream_id as usize), |request| {
                request.priority = Some(with_priority(class, 1));
            }),
        );
        let asked = std::mem::take(&mut world.out.published);
        world.accept(HUB, stream_id as u32, asked[0].0.item);
        world.item(HUB, stream_id as u32, 1, &image(&[(22, 1)]));
    }
    world.heard(consumer);
    world.say(consumer, &login_role(ACTIVE));
    let order: Vec<_> = world
        .heard(consumer)
        .iter()
        .map(|line| line.split(' ').nth(1).expect("a stream").to_owned())
        .collect();
    assert_eq!(order, ["6", "8", "7", "5"]);
}

/// The streams that got an image, each as often as it did, and no update before.
fn images(heard: &[String]) -> Vec<&str> {
    heard.iter().filter(|line| line.starts_with("REFRESH")).map(String::as_str).collect()
}

#[test]
fn a_take_over_goes_in_slices_and_others_come_in_between() {
    const ITEMS: usize = 1_000;
    let mut world = World::with_feed();
    let consumer = world.mount();
    open_many(&mut world, consumer, 10, ITEMS);
    world.say(consumer, &login_role(STANDBY));
    world.is_late = true;
    world.say(consumer, &login_role(ACTIVE));
    // The first have it, the others not: what comes is in their image.
    for item in [0, ITEMS as u32 - 1] {
        world.item(HUB, item, 2, &update(&[(22, 2)]));
    }
    let steps = slices(&mut world);
    assert!(steps.len() > 5, "{}", steps.len());
    assert!(steps.iter().all(|(sent, _)| *sent <= 130), "{steps:?}");
    world.work_off();
    let heard = world.heard(consumer);
    assert_eq!(images(&heard).len(), ITEMS);
    let last = format!("REFRESH {} ", 10 + ITEMS - 1);
    let of_last: Vec<_> =
        heard.iter().filter(|line| line.contains(&format!(" {} ", 9 + ITEMS))).collect();
    assert_eq!(of_last.len(), 1, "{of_last:?}");
    assert!(of_last[0].starts_with(&last) && of_last[0].ends_with("{22=2}"), "{of_last:?}");
}

#[test]
fn images_that_are_due_are_dropped_when_another_server_takes_over() {
    const ITEMS: usize = 1_000;
    let mut world = World::with_feed();
    let consumer = world.mount();
    open_many(&mut world, consumer, 10, ITEMS);
    world.say(consumer, &login_role(STANDBY));
    world.is_late = true;
    world.say(consumer, &login_role(ACTIVE));
    world.handle_timeout();
    world.say(consumer, &login_role(STANDBY));
    world.work_off();
    let first = images(&world.heard(consumer)).len();
    assert!(first < ITEMS / 2, "{first}");
    world.item(HUB, 0, 2, &update(&[(22, 2)]));
    world.item(HUB, 999, 2, &update(&[(22, 2)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.say(consumer, &login_role(ACTIVE));
    world.work_off();
    assert_eq!(images(&world.heard(consumer)).len(), ITEMS);
}

#[test]
fn who_changes_its_mind_at_once_gets_all_images() {
    const ITEMS: usize = 1_000;
    let mut world = World::with_feed();
    let consumer = world.mount();
    open_many(&mut world, consumer, 10, ITEMS);
    world.is_late = true;
    world.say(consumer, &login_role(STANDBY));
    // The turn of this one has not come, and it gets nothing all the same.
    world.item(HUB, 999, 2, &update(&[(22, 2)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.say(consumer, &login_role(ACTIVE));
    world.item(HUB, 998, 2, &update(&[(22, 2)]));
    world.work_off();
    let heard = world.heard(consumer);
    assert_eq!(images(&heard).len(), ITEMS);
    assert_eq!(heard.len(), ITEMS, "what it gives up meanwhile is in the images");
}

#[test]
fn a_turn_has_so_many_bytes_of_images() {
    const ITEMS: usize = 100;
    let limits = Limits { take_over_bytes_per_turn: 200, ..Limits::default() };
    let mut world = World::feed_with(ServerConfig { limits, ..ServerConfig::default() });
    let consumer = world.mount();
    open_many(&mut world, consumer, 10, ITEMS);
    world.say(consumer, &login_role(STANDBY));
    world.is_late = true;
    world.say(consumer, &login_role(ACTIVE));
    let mut turns = 0;
    while world.core.statistics().backlog + world.core.statistics().mounts_draining > 0 {
        let before: usize = world.out.sent.iter().map(|(_, bytes)| bytes.len()).sum();
        world.handle_timeout();
        let after: usize = world.out.sent.iter().map(|(_, bytes)| bytes.len()).sum();
        // One image may go beyond it.
        assert!(after - before < 300, "{}", after - before);
        turns += 1;
    }
    assert!(turns > 10, "{turns}");
    assert_eq!(images(&world.heard(consumer)).len(), ITEMS);
}

#[test]
fn a_slow_mount_is_taken_over_when_it_has_caught_up() {
    const ITEMS: usize = 50;
    let mut world = World::with_feed();
    let consumer = world.mount();
    open_many(&mut world, consumer, 10, ITEMS);
    world.bound(consumer, 5, 12);
    world.say(consumer, &login_role(STANDBY));
    for item in 0..ITEMS as u32 {
        world.item(HUB, item, 2, &update(&[(22, 2)]));
    }
    world.say(consumer, &login_role(ACTIVE));
    let heard = world.read_all(consumer);
    assert_eq!(images(&heard).len(), ITEMS);
    assert!(heard.iter().all(|line| line.ends_with("{22=2}")), "{heard:?}");
    assert_eq!(world.core.statistics().take_overs, 1);
}
