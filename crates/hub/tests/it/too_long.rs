//! Messages of providers that are longer than a hub takes.

use crate::support::{A, World, config, provider};
use tapeline_channel::SessionId;
use tapeline_hub::Event;
use tapeline_rwf::RefreshFlags;

const TOLD: &str = "'a message of 99999999 bytes is longer than the 67141632 that a hub takes'";

/// All but the beginning of this message is passed over.
fn says_too_much(world: &mut World, session: SessionId, bytes: &[u8]) {
    let head = &bytes[..bytes.len() - 1];
    world.event(Event::TooLong { session, head, length: 99_999_999, max: 67_141_632 });
}

#[test]
fn an_image_that_is_too_long_ends_its_item_and_no_other() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.open(A, 8, "IBM.N");
    world.says(sources[0], &provider::refresh(4, "IBM.N"));
    world.forget();
    says_too_much(&mut world, sources[0], &provider::refresh(3, "TRI.N"));
    assert_eq!(
        world.frames(),
        [format!("all #1 last Status Closed / Suspect / NoResources / {TOLD}")]
    );
    assert_eq!(world.heard_by(sources[0]), ["Close 3"]);
    assert!(world.out.closed.is_empty(), "the session goes on");
    assert_eq!((world.core.counters().items, world.core.counters().too_long), (1, 1));
    let update = provider::update(4, 4513);
    world.says(sources[0], &update);
    assert_eq!(world.frames(), [format!("all #2 Update 0 {} bytes", update.len())]);
    // It can be asked for again, in vain or not.
    world.open(A, 7, "TRI.N");
    assert_eq!(world.heard_by(sources[0]), ["Request 5 1:TRI.N streaming"]);
}

#[test]
fn an_update_that_is_too_long_ends_its_item() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.forget();
    says_too_much(&mut world, sources[0], &provider::update(3, 4513));
    assert_eq!(
        world.frames(),
        [format!("all #2 last Status Closed / Suspect / NoResources / {TOLD}")]
    );
    assert_eq!(world.heard_by(sources[0]), ["Close 3"]);
}

#[test]
fn the_window_of_a_source_has_room_again_after_an_image_that_was_too_long() {
    let mut config = config(1);
    config.limits.max_window = 1;
    let (mut world, sources) = World::with_sources(config);
    world.open(A, 7, "TRI.N");
    world.open(A, 8, "IBM.N");
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming"]);
    says_too_much(&mut world, sources[0], &provider::refresh(3, "TRI.N"));
    assert_eq!(world.heard_by(sources[0]), ["Close 3", "Request 4 1:IBM.N streaming"]);
}

#[test]
fn what_is_too_long_and_about_nothing_known_is_counted() {
    let (mut world, sources) = World::with_sources(config(1));
    world.forget();
    let unknown = SessionId { index: 999, generation: 1 };
    says_too_much(&mut world, unknown, &provider::refresh(3, "TRI.N"));
    says_too_much(&mut world, sources[0], &provider::refresh(3, "TRI.N"));
    world.event(Event::TooLong { session: sources[0], head: b"x", length: 9, max: 8 });
    assert!(world.frames().is_empty() && world.heard_by(sources[0]).is_empty());
    assert_eq!(world.core.counters().too_long, 3);
}

/// A directory that the hub could only guess at is worse than none: the
/// services of the source are down until a session brings one that can be read.
#[test]
fn a_directory_that_is_too_long_ends_the_session_and_not_the_hub() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.forget();
    says_too_much(&mut world, sources[0], &provider::directory(&[provider::feed(1)]));
    let told = "its login or directory is longer than a hub takes".to_owned();
    assert_eq!(world.out.closed, [(sources[0], told)]);
    assert_eq!(world.core.counters().sources_up, 0);
    assert!(world.frames().iter().any(|frame| frame.contains("Suspect")), "consumers are told");
}

/// What a provider that stands by sends is not what consumers have.
#[test]
fn an_image_that_is_too_long_ends_no_item_of_another_provider() {
    let mut world = World::new(config(0));
    world.server_up(A);
    let connected = |world: &mut World| {
        let session = world.session();
        world.event(provider::opened(session));
        world.says(session, &provider::provider_login());
        world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
        session
    };
    let image = |stream_id| {
        provider::refresh_with(stream_id, "TRI.N", |msg| {
            msg.flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
        })
    };
    let (first, standby) = (connected(&mut world), connected(&mut world));
    world.says(first, &image(-1));
    world.open(A, 7, "TRI.N");
    world.forget();
    says_too_much(&mut world, standby, &image(-9));
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!(world.core.counters().items, 1);
    says_too_much(&mut world, first, &image(-1));
    assert_eq!(world.core.counters().items, 0);
}
