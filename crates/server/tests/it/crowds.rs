//! Items that very many watch.

use tapeline_channel::SessionId;
use tapeline_omm::market::RequestPayload;
use tapeline_omm::view::View;
use tapeline_rwf::{DataState, StreamState};
use tapeline_server::{Limits, ServerConfig};

use crate::support::*;

const MOUNTS: usize = 1_500;

fn crowd() -> (World, Vec<SessionId>) {
    let limits = Limits { max_mounts: 2 * MOUNTS, ..Limits::default() };
    let mut world = World::feed_with(ServerConfig { limits, ..ServerConfig::default() });
    let mounts = (0..MOUNTS).map(|_| world.mount()).collect();
    (world, mounts)
}

/// Every third one wants a field only.
fn is_viewer(mount: SessionId) -> bool {
    mount.index.is_multiple_of(3)
}

fn open(world: &mut World, mount: SessionId) {
    let view = View::of_fields([25]);
    let view = Some(&view).filter(|_| is_viewer(mount));
    let payload = RequestPayload { view, ..RequestPayload::NONE };
    world.say(mount, &request_with(5, "TRI.N", &payload, |_| {}));
}

/// Who got something since the last time, and what, in order.
fn heard(world: &mut World) -> Vec<(SessionId, String)> {
    let sent = std::mem::take(&mut world.out.sent);
    sent.iter().map(|(session, bytes)| (*session, show(bytes))).collect()
}

fn update_for(mount: SessionId) -> String {
    let fields = if is_viewer(mount) { "{25=2}" } else { "{22=1 25=2}" };
    format!("UPDATE 5 MARKET_PRICE QUOTE {fields}")
}

/// Everybody who is there gets what comes, once.
fn check(world: &mut World, there: &[SessionId], seq: &mut u32) {
    let mut there = there.to_vec();
    there.sort_unstable();
    *seq += 1;
    world.item(HUB, 17, *seq, &update(&[(22, 1), (25, 2)]));
    let mut got = heard(world);
    got.sort_unstable();
    let wanted: Vec<_> = there.iter().map(|mount| (*mount, update_for(*mount))).collect();
    assert_eq!(got, wanted);
    *seq += 1;
    world.item(HUB, 17, *seq, &status(StreamState::OPEN, DataState::SUSPECT, "slow"));
    let told: Vec<_> = heard(world).into_iter().map(|(mount, _)| mount).collect();
    assert_eq!(told, there, "a status");
    *seq += 1;
    world.item(HUB, 17, *seq, &image(&[(22, 1), (25, 2)]));
    let told: Vec<_> = heard(world).into_iter().map(|(mount, _)| mount).collect();
    assert_eq!(told, there, "an image");
}

#[test]
fn mounts_that_come_and_go_in_a_crowd_leave_the_others_as_they_are() {
    let (mut world, mut mounts) = crowd();
    world.open_item(mounts[700], 5, "TRI.N", 17);
    let mut there = vec![mounts.swap_remove(700)];
    let mut seq = 1;
    // In no order.
    let mixed: Vec<_> = (0..mounts.len()).map(|at| mounts[at * 7_919 % mounts.len()]).collect();
    for mount in &mixed {
        open(&mut world, *mount);
    }
    there.extend(mixed);
    assert_eq!(heard(&mut world).len(), MOUNTS - 1);
    check(&mut world, &there, &mut seq);
    while there.len() > 3 {
        // Two of three leave, half of them without a word.
        let (rest, leaving) = there.split_at(there.len() / 3);
        for (at, mount) in leaving.iter().enumerate() {
            match at % 2 {
                0 => world.disconnect(*mount),
                _ => world.say(*mount, &close(5)),
            }
        }
        there = rest.to_vec();
        check(&mut world, &there, &mut seq);
    }
    for mount in there {
        world.disconnect(mount);
    }
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn a_mount_with_very_many_streams_on_an_item_closes_them_in_any_order() {
    const STREAMS: i32 = 1_000;
    let config = ServerConfig { allow_same_item_twice: true, ..ServerConfig::default() };
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    for stream_id in 6..5 + STREAMS {
        world.say(consumer, &request(stream_id, "TRI.N"));
    }
    world.heard(consumer);
    let mut open: Vec<_> = (5..5 + STREAMS).collect();
    for step in 0..STREAMS as u32 {
        let at = step as usize * 7_919 % open.len();
        world.say(consumer, &close(open.remove(at)));
        if step % 50 == 0 {
            world.item(HUB, 17, 2 + step / 50, &update(&[(22, 1)]));
            let wanted: Vec<_> =
                open.iter().map(|id| format!("UPDATE {id} MARKET_PRICE QUOTE {{22=1}}")).collect();
            assert_eq!(world.heard(consumer), wanted);
        }
    }
    assert_eq!(world.core.statistics().items, 0);
}
