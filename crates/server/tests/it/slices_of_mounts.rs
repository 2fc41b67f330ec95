//! Work that grows with mounts, or with what one mount has, in slices.

use tapeline_channel::SessionId;
use tapeline_omm::login::LoginRequest;
use tapeline_server::{Limits, ServerConfig};

use crate::slices::{MANY, SLICE, name, open_many, slices};
use crate::support::*;

/// Mounts, more than are told something at once.
const MOUNTS: usize = 300;

/// A server for so many.
fn world_for_many() -> World {
    let limits = Limits { max_mounts: 2 * MOUNTS + 1, ..Limits::default() };
    World::feed_with(ServerConfig { limits, ..ServerConfig::default() })
}

fn pause(is_paused: bool) -> Vec<u8> {
    let request = LoginRequest { no_refresh: true, ..LoginRequest::new(1, "user") };
    login_of(&LoginRequest { pause: is_paused, ..request })
}

#[test]
fn a_login_that_is_resumed_is_refreshed_in_slices_and_no_update_comes_before_its_image() {
    let mut world = World::with_feed();
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    world.say(mount, &pause(true));
    for item in 0..MANY {
        world.item(HUB, item as u32, 2, &update(&[(22, 2)]));
    }
    world.is_late = true;
    // Another one before it has all that is done at once.
    let first = world.mount();
    world.say(first, &request(5, &name(0)));
    world.say(first, &pause(true));
    world.heard(first);
    world.say(first, &pause(false));
    assert_eq!(world.heard(first).len(), 1, "its image, before anything else can come");
    world.say(mount, &pause(false));
    assert_eq!(world.core.statistics().backlog, 1);
    world.handle_timeout();
    // The first are put down for their images, the last are not.
    for item in [0, MANY - 1] {
        world.item(HUB, item as u32, 3, &update(&[(25, 3)]));
    }
    assert_eq!(world.heard(mount), [""; 0]);
    // One that is opened in between gets what it asks for.
    world.say(mount, &request(5, "ANOTHER.N"));
    let slices = slices(&mut world);
    assert!(slices.len() > 1 && slices.iter().all(|(sent, _)| *sent <= SLICE), "{slices:?}");
    world.work_off();
    let heard = world.heard(mount);
    assert_eq!(heard.len(), MANY, "an image each");
    for item in 0..MANY {
        let more = if item == 0 || item == MANY - 1 { "25=3" } else { "" };
        let of_it = |line: &&String| line.starts_with(&format!("REFRESH {} ", 10 + item));
        let line = heard.iter().find(of_it).expect("its image");
        assert!(line.contains("{22=2") && line.contains(more), "{line}");
    }
    world.item(HUB, 0, 4, &update(&[(22, 4)]));
    assert_eq!(world.heard(mount), ["UPDATE 10 MARKET_PRICE QUOTE {22=4}"]);
}

#[test]
fn a_login_that_is_resumed_twice_is_refreshed_from_the_beginning() {
    let mut world = World::with_feed();
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    world.is_late = true;
    for bid in [2, 3] {
        world.say(mount, &pause(true));
        world.item(HUB, 0, bid, &update(&[(22, i64::from(bid))]));
        world.say(mount, &pause(false));
        world.handle_timeout();
    }
    world.work_off();
    let heard = world.heard(mount);
    let of_first = heard.iter().rfind(|line| line.starts_with("REFRESH 10 ")).expect("an image");
    assert!(of_first.contains("{22=3"), "{of_first}");
    world.say(mount, &close(1));
    world.say(mount, &login(1, "user"));
    world.work_off();
    assert_eq!(world.core.statistics().items, 0);
}

/// Mounts with a stream for the directory.
fn watching_services(world: &mut World, count: usize) -> Vec<SessionId> {
    let mounts: Vec<_> = (0..count).map(|_| world.mount()).collect();
    for mount in &mounts {
        world.say(*mount, &directory_request(2));
        assert_eq!(world.heard(*mount).len(), 1);
    }
    mounts
}

#[test]
fn mounts_are_told_of_services_in_slices_and_in_order() {
    let mut world = world_for_many();
    let mounts = watching_services(&mut world, MOUNTS);
    world.is_late = true;
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert!((1..MOUNTS).contains(&world.out.sent.len()), "{}", world.out.sent.len());
    world.handle_timeout();
    assert!(world.out.sent.len() < MOUNTS);
    // A change in the midst of it, and one who comes or asks again then.
    world.hub_update(HUB, vec![service_state(1, true)]);
    let late = world.mount();
    world.say(late, &directory_request(2));
    let asks_again = mounts[MOUNTS - 1];
    world.say(asks_again, &directory_request(2));
    let slices = slices(&mut world);
    assert!(slices.iter().all(|(sent, _)| *sent <= SLICE), "{slices:?}");
    for mount in &mounts[..MOUNTS - 1] {
        let heard = world.heard_bytes(*mount);
        assert!(heard.iter().all(|bytes| show(bytes).starts_with("UPDATE 2")), "{heard:?}");
        assert!(heard.len() == 2 && heard[0] != heard[1], "down, then up: {heard:?}");
    }
    let heard = world.heard(asks_again);
    let kinds: Vec<_> = heard.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(kinds, ["UPDATE", "UPDATE", "REFRESH"], "nothing old behind the new one");
    assert_eq!(world.heard(late).len(), 1);
}

#[test]
fn who_brings_changes_without_end_has_all_told_at_once() {
    let mut world = world_for_many();
    let mounts = watching_services(&mut world, MOUNTS);
    world.is_late = true;
    for change in 0..1_000 {
        world.hub_update(HUB, vec![service_state(1, change % 2 == 1)]);
    }
    assert!(world.out.sent.len() > 700 * MOUNTS, "{}", world.out.sent.len());
    slices(&mut world);
    for mount in mounts {
        assert_eq!(world.heard(mount).len(), 1_000);
    }
}

#[test]
fn a_server_ends_its_mounts_in_slices() {
    let mut world = world_for_many();
    let mounts: Vec<_> = (0..MOUNTS).map(|_| world.mount()).collect();
    let json: Vec<_> = (0..MOUNTS).map(|_| world.mount_json()).collect();
    world.core.shut_down(world.now, "the server shuts down", &mut world.out);
    assert!((1..=SLICE).contains(&world.out.closed.len()), "{}", world.out.closed.len());
    // Who comes now has come too late.
    world.is_late = true;
    let late = world.connect();
    assert_eq!(world.out.closed.last(), Some(&(late, "the server shuts down".to_owned())));
    slices(&mut world);
    assert_eq!(world.core.statistics().mounts, 0);
    assert_eq!(world.out.closed.len(), 2 * MOUNTS + 1);
    for session in mounts.into_iter().chain(json.iter().copied()) {
        assert!(world.out.closed.contains(&(session, "the server shuts down".to_owned())));
    }
    assert!(json.into_iter().all(|session| world.out.codes.contains(&(session, 1001))));
}

#[test]
fn mounts_that_leave_with_nothing_are_steps_as_well() {
    let mut world = World::new();
    let mounts: Vec<_> = (0..MANY).map(|_| world.connect()).collect();
    world.is_late = true;
    for mount in mounts {
        world.disconnect(mount);
    }
    assert_eq!(world.core.statistics().backlog, MANY);
    world.handle_timeout();
    assert!(world.core.statistics().backlog >= MANY - SLICE, "{:?}", world.core.statistics());
    slices(&mut world);
}

#[test]
fn requests_that_are_held_for_a_service_are_asked_for_in_slices() {
    let mut world = World::new();
    let mount = world.mount_json();
    for item in 0..MANY {
        let id = 10 + item;
        let name = name(item);
        let text = format!(r#"{{"ID":{id},"Key":{{"Name":"{name}","Service":"FEED"}}}}"#);
        world.text(mount, &text);
    }
    assert_eq!(world.heard_json(mount), [""; 0]);
    world.is_late = true;
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.out.published.clear();
    // Its time comes before its turn.
    world.now = world.now.after(std::time::Duration::from_secs(15));
    let slices = slices(&mut world);
    assert!(slices.iter().all(|(_, asked)| *asked <= SLICE), "{slices:?}");
    assert_eq!(slices.iter().map(|(_, asked)| asked).sum::<usize>(), MANY);
    assert_eq!(world.heard_json(mount), [""; 0], "none is refused");
    assert_eq!(world.core.statistics().items, MANY);
}

#[test]
fn a_slow_mount_leaves_with_all_that_waits_for_it() {
    let mut world = World::with_feed();
    let mount = world.mount();
    open_many(&mut world, mount, 10, MANY);
    world.bound(mount, 1, usize::MAX);
    for seq in 2..5 {
        for item in 0..MANY {
            world.item(HUB, item as u32, seq, &update(&[(22, i64::from(seq))]));
        }
        // It gets some, is told of the merging, and is slow again.
        world.read(mount);
    }
    assert!(world.core.statistics().merged_bytes > 0);
    world.is_late = true;
    world.disconnect(mount);
    slices(&mut world);
    let statistics = world.core.statistics();
    assert_eq!((statistics.items, statistics.merged_bytes), (0, 0));
}
