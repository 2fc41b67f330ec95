//! Kept images, and updates that demand more of who sees them than the item does.

use tapeline_channel::SessionId;
use tapeline_entitle::{Demand, Lock, Sources};
use tapeline_hub::HubConfig;
use tapeline_rwf::{Domain, Msg, RefreshFlags, RefreshMsg, StatusMsg, UpdateMsg};

use crate::support::{self, A, B, World, config, provider};

const SERVICE: u16 = 257;

fn lock(service: u16, code: u32) -> Vec<u8> {
    Lock::new([Demand::any(service, &[code])]).encode(Sources::Aligned)
}

/// An update of a field, with permission data.
fn update(stream_id: i32, lock: &[u8]) -> Vec<u8> {
    let bytes = provider::update(stream_id, 4600);
    let Ok(Msg::Update(plain)) = Msg::decode(&bytes) else { unreachable!("an update") };
    support::encode(&UpdateMsg { perm_data: Some(lock), ..plain }.into())
}

fn image(stream_id: i32, is_answer: bool, lock: Option<&[u8]>) -> Vec<u8> {
    provider::refresh_with(stream_id, "TRI.N", |msg| {
        msg.flags.set(RefreshFlags::SOLICITED, is_answer);
        msg.flags.set(RefreshFlags::CLEAR_CACHE, !is_answer);
        msg.perm_data = lock;
    })
}

/// A non-interactive provider has published an item with this lock.
fn published(lock: Option<&[u8]>) -> (World, SessionId) {
    let mut world = World::new(config(0));
    world.server_up(A);
    world.server_up(B);
    let session = crate::published::connected(&mut world);
    world.says(session, &image(-1, false, lock));
    world.heard_by(session);
    world.forget();
    (world, session)
}

/// What the last image says of who may see it; `None`: there was no image.
fn last_lock(world: &World) -> Option<String> {
    let (_, bytes) = world.out.frames.last()?;
    let Ok(Msg::Refresh(RefreshMsg { perm_data, .. })) = Msg::decode(bytes) else { return None };
    let Some(perm_data) = perm_data else { return Some("nothing".to_owned()) };
    Some(Lock::decode(perm_data, Sources::Unambiguous).expect("a lock").to_string())
}

#[test]
fn a_published_image_demands_what_its_item_and_its_updates_demand() {
    let (mut world, session) = published(Some(&lock(SERVICE, 62)));
    world.open(A, 7, "TRI.N");
    assert_eq!(last_lock(&world).as_deref(), Some("62"));
    world.says(session, &update(-1, &lock(SERVICE, 63)));
    world.says(session, &provider::update(-1, 4601));
    world.says(session, &update(-1, &lock(SERVICE, 64)));
    world.says(session, &update(-1, &lock(SERVICE, 62)));
    world.open(B, 0, "TRI.N");
    assert_eq!(last_lock(&world).as_deref(), Some("62&63&64"));
}

#[test]
fn an_image_that_begins_anew_demands_what_the_item_demands() {
    let (mut world, session) = published(Some(&lock(SERVICE, 62)));
    world.says(session, &update(-1, &lock(SERVICE, 63)));
    world.open(A, 7, "TRI.N");
    assert_eq!(last_lock(&world).as_deref(), Some("62&63"));
    // It leaves out the lock, and servers know the stricter one.
    world.says(session, &image(-1, false, None));
    assert_eq!(last_lock(&world).as_deref(), Some("62"), "to all");
    world.open(B, 0, "TRI.N");
    assert_eq!(last_lock(&world).as_deref(), Some("62"));
}

/// Also an update that names the lock that the item has, and also where the item gets
/// another one by a status later.
#[test]
fn content_keeps_the_lock_that_its_updates_named_when_the_item_gets_another() {
    for (own, expected) in [(62, "61&62"), (63, "61&62&63")] {
        let (mut world, session) = published(Some(&lock(SERVICE, 62)));
        world.says(session, &update(-1, &lock(SERVICE, own)));
        let looser = lock(SERVICE, 61);
        let status = StatusMsg::new(Domain::MARKET_PRICE, -1);
        let status = StatusMsg { perm_data: Some(&looser), ..status };
        world.says(session, &support::encode(&status.into()));
        world.open(A, 7, "TRI.N");
        assert_eq!(last_lock(&world).as_deref(), Some(expected));
        world.says(session, &image(-1, false, Some(&looser)));
        world.open(B, 0, "TRI.N");
        assert_eq!(last_lock(&world).as_deref(), Some("61"), "it began anew");
    }
}

#[test]
fn an_image_is_dropped_whose_demands_cannot_be_joined() {
    for (held, other) in [
        (Some(lock(SERVICE, 62)), lock(258, 63)),
        (Some(lock(SERVICE, 62)), vec![2, 1, 1, 0x62, 0xC0]),
        (None, lock(SERVICE, 63)),
    ] {
        let (mut world, session) = published(held.as_deref());
        world.says(session, &update(-1, &other));
        world.says(session, &provider::update(-1, 4601));
        world.open(A, 7, "TRI.N");
        let frames = world.frames();
        assert!(
            frames.last().is_some_and(|frame| frame.contains("No image is kept until")),
            "{held:?} {other:?}: {frames:?}"
        );
        world.says(session, &image(-1, false, held.as_deref()));
        let expected = if held.is_some() { "62" } else { "nothing" };
        assert_eq!(last_lock(&world).as_deref(), Some(expected));
    }
}

#[test]
fn permission_data_without_a_byte_take_no_lock_off() {
    let (mut world, session) = published(Some(&lock(SERVICE, 62)));
    world.says(session, &update(-1, &[]));
    world.says(session, &image(-1, false, Some(&[])));
    let status = StatusMsg { perm_data: Some(&[]), ..StatusMsg::new(Domain::MARKET_PRICE, -1) };
    world.says(session, &support::encode(&status.into()));
    world.open(A, 7, "TRI.N");
    assert_eq!(last_lock(&world).as_deref(), Some("62"));
}

#[test]
fn a_source_is_asked_again_where_it_can_be() {
    let (mut world, sources) =
        World::with_sources(HubConfig { cache_interactive: true, ..config(1) });
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &image(3, true, Some(&lock(SERVICE, 62))));
    world.says(sources[0], &update(3, &lock(SERVICE, 63)));
    world.heard_by(sources[0]);
    world.open(B, 2, "TRI.N");
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming priority 1/2"]);
    world.says(sources[0], &image(3, true, Some(&lock(SERVICE, 62))));
    assert_eq!(last_lock(&world).as_deref(), Some("62"));
}

#[test]
fn an_update_that_changes_nothing_that_is_kept_leaves_it_as_it_is() {
    let (mut world, session) = published(Some(&lock(SERVICE, 62)));
    let empty = UpdateMsg {
        perm_data: Some(&[3, 1, 1, 0x63, 0xC0]),
        ..UpdateMsg::new(Domain::MARKET_PRICE, -1)
    };
    world.says(session, &support::encode(&empty.into()));
    world.open(A, 7, "TRI.N");
    assert_eq!(last_lock(&world).as_deref(), Some("62"));
}
