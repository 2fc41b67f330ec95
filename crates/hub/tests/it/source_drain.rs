//! A source that an operator drains while the hub works.

use crate::support::{A, World, config, provider};
use tapeline_channel::SessionId;
use tapeline_hub::HubConfig;

/// A hub with two sources, at the first of which TRI.N is open on stream 3.
fn with_item() -> (World, [SessionId; 2]) {
    let mut config = config(2);
    config.routes[1].order = 1;
    let (mut world, sources) = World::with_sources(config);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    for source in &sources {
        world.heard_by(*source);
    }
    world.forget();
    (world, [sources[0], sources[1]])
}

fn drain(world: &mut World, name: &str, drains: bool) -> bool {
    let is_there = world.core.drain_source(world.now, name, drains, &mut world.out);
    world.core.check();
    world.pass(0);
    is_there
}

/// Whether a source hears one request, and that for this item.
fn is_asked_for(world: &mut World, source: SessionId, item: &str) -> bool {
    let heard = world.heard_by(source);
    heard.len() == 1 && heard[0].starts_with("Request") && heard[0].contains(item)
}

#[test]
fn what_is_open_goes_to_another_source_and_the_drained_one_stays() {
    let (mut world, [old, new]) = with_item();
    assert!(drain(&mut world, "source-0", true));
    assert_eq!(world.heard_by(new), ["Request 3 1:TRI.N streaming"]);
    world.forget();
    // Until its image is there, the old one is heard.
    world.says(old, &provider::update(3, 1));
    world.says(new, &provider::refresh(3, "TRI.N"));
    let frames = world.frames();
    assert_eq!(frames.len(), 2, "an update and an image: {frames:?}");
    assert!(!frames[1].contains("Failover") && !frames[1].contains("Suspect"), "{frames:?}");
    assert_eq!(world.heard_by(old), ["Close 3"]);
    assert!(world.out.closed.is_empty());
    assert_eq!(world.core.counters().items_moved, 1);
    world.pass(60_000);
    assert!(world.out.closed.is_empty());
    world.open(A, 8, "IBM.N");
    assert!(is_asked_for(&mut world, new, "IBM.N"));
    // And back: the first by order again.
    assert!(drain(&mut world, "source-0", false));
    world.open(A, 9, "NEW");
    assert!(is_asked_for(&mut world, old, "NEW"));
    assert_eq!(world.heard_by(new), [""; 0]);
}

#[test]
fn who_is_asked_again_keeps_what_has_not_moved() {
    let (mut world, [old, new]) = with_item();
    assert!(drain(&mut world, "source-0", true));
    assert_eq!(world.heard_by(new), ["Request 3 1:TRI.N streaming"]);
    assert!(drain(&mut world, "source-0", false));
    assert_eq!(world.heard_by(new), ["Close 3"]);
    assert_eq!(world.core.counters().mirrors, 0);
    world.forget();
    world.says(old, &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1);
    assert_eq!((world.heard_by(old), world.core.counters().items_moved), (vec![], 0));
}

#[test]
fn what_no_other_source_has_stays() {
    let (mut world, [old, new]) = with_item();
    world.closed(new);
    world.pass(0);
    assert!(drain(&mut world, "source-0", true));
    world.pass(60_000);
    world.forget();
    world.says(old, &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1);
    assert!(!drain(&mut world, "source-9", true), "there is none");
}

#[test]
fn the_standby_of_a_mirrored_service_takes_over() {
    let mut config = config(2);
    config.mirrored.entry("FEED".to_owned()).or_default();
    let (mut world, sources) = World::with_sources(config);
    world.open(A, 7, "TRI.N");
    for source in &sources {
        world.says(*source, &provider::refresh(3, "TRI.N"));
        world.heard_by(*source);
    }
    world.forget();
    assert!(drain(&mut world, "source-0", true));
    assert_eq!(world.frames(), [""; 0], "both have the same");
    world.says(sources[1], &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1);
    assert!(world.out.closed.is_empty());
}

/// What is asked of sources when the first of these has been drained, which had so many
/// items.
fn asked_of_others(config: HubConfig, items: u32) -> Vec<usize> {
    let (mut world, sources) = World::with_sources(config);
    for item in 0..items {
        world.open(A, item, &format!("ITEM{item}"));
        let stream_id = 3 + i32::try_from(item).expect("few");
        world.says(sources[0], &provider::refresh(stream_id, &format!("ITEM{item}")));
    }
    for source in &sources {
        world.heard_by(*source);
    }
    assert!(drain(&mut world, "source-0", true));
    let is_request = |line: &&String| line.starts_with("Request");
    let asked = sources[1..].iter().map(|source| {
        let heard = world.heard_by(*source);
        heard.iter().filter(is_request).count()
    });
    asked.collect()
}

#[test]
fn what_does_not_fit_at_the_next_source_goes_to_the_one_behind() {
    let mut config = config(3);
    (config.routes[1].order, config.routes[1].open_limit) = (1, Some(2));
    config.routes[2].order = 2;
    assert_eq!(asked_of_others(config, 5), [2, 3]);
}

#[test]
fn what_moves_is_shared_by_weight_before_any_of_it_has_arrived() {
    let mut config = config(3);
    for (route, weight) in [(1, 1), (2, 3)] {
        (config.routes[route].order, config.routes[route].weight) = (1, weight);
    }
    assert_eq!(asked_of_others(config, 8), [2, 6]);
}
