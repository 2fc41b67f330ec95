//! Another list of routes while the hub works: sources that are added, drained, moved
//! and removed, and what servers hear of it.

use crate::support::{A, World, config, provider};
use tapeline_channel::SessionId;
use tapeline_hub::{Endpoint, Route, RouteChanges};

/// A hub with one source, at which TRI.N is open on stream 3, and its configuration.
fn with_item() -> (World, SessionId, Vec<Route>) {
    let config = config(1);
    let routes = config.routes.clone();
    let (mut world, sources) = World::with_sources(config);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.heard_by(sources[0]);
    world.forget();
    (world, sources[0], routes)
}

fn adopt(world: &mut World, routes: &[Route]) -> RouteChanges {
    let changes = world.core.adopt_routes(world.now, routes, &mut world.out);
    world.core.check();
    changes
}

/// The same source at another host.
fn elsewhere(route: &Route) -> Route {
    let endpoints = vec![Endpoint { host: "elsewhere".to_owned(), port: 14_002 }];
    Route { endpoints, ..route.clone() }
}

fn requests(heard: &[String]) -> Vec<&String> {
    heard.iter().filter(|line| line.starts_with("Request")).collect()
}

#[test]
fn a_source_that_is_added_is_connected_and_asked() {
    let (mut world, first, mut routes) = with_item();
    routes.push(Route { order: 0, ..Route::to("source-1", 14_002) });
    assert_eq!(adopt(&mut world, &routes), RouteChanges { added: vec![1], left: vec![] });
    world.pass(0);
    assert_eq!(world.out.connects, [1]);
    let second = world.source_up(1);
    assert!(!world.frames().iter().any(|frame| frame.contains("TRI.N")), "nobody hears of it");
    world.heard_by(second);
    world.open(A, 8, "IBM.N");
    assert_eq!(world.heard_by(second), ["Request 3 1:IBM.N streaming"], "it has fewer");
    assert_eq!(world.heard_by(first), [""; 0]);
}

#[test]
fn the_same_routes_again_change_nothing() {
    let (mut world, first, routes) = with_item();
    assert_eq!(adopt(&mut world, &routes), RouteChanges::default());
    world.pass(60_000);
    assert_eq!((world.heard_by(first), world.frames()), (vec![], vec![]));
    assert_eq!((&world.out.closed[..], &world.out.connects[..]), (&[][..], &[][..]));
}

#[test]
fn a_source_that_is_drained_keeps_what_it_has_and_gets_nothing_new() {
    let (mut world, first, mut routes) = with_item();
    routes.push(Route::to("source-1", 14_002));
    adopt(&mut world, &routes);
    world.pass(0);
    let second = world.source_up(1);
    routes[0].drains = true;
    routes[1].order = 5;
    assert_eq!(adopt(&mut world, &routes), RouteChanges::default());
    world.pass(0);
    world.forget();
    for request in 10..14 {
        world.open(A, request, &format!("X{request}"));
    }
    assert_eq!(requests(&world.heard_by(second)).len(), 4);
    assert_eq!(world.heard_by(first), [""; 0]);
    world.forget();
    world.says(first, &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1);
    // And back: the first by order again.
    routes[0].drains = false;
    adopt(&mut world, &routes);
    world.pass(0);
    world.open(A, 20, "NEW");
    assert_eq!(requests(&world.heard_by(first)).len(), 1);
}

#[test]
fn a_source_that_moves_is_heard_until_the_other_one_has_its_items() {
    let (mut world, old, routes) = with_item();
    let moved = [elsewhere(&routes[0])];
    assert_eq!(adopt(&mut world, &moved), RouteChanges { added: vec![1], left: vec![0] });
    world.pass(0);
    assert_eq!(world.out.connects, [1]);
    let new = world.source_up(1);
    world.pass(0);
    let heard = world.heard_by(new);
    assert!(heard.iter().any(|line| line == "Request 3 1:TRI.N streaming"), "{heard:?}");
    world.forget();
    // Until its image is there, the old one is heard.
    world.says(old, &provider::update(3, 1));
    world.says(new, &provider::refresh(3, "TRI.N"));
    let frames = world.frames();
    assert_eq!(frames.len(), 2, "an update and an image: {frames:?}");
    assert!(frames[1].starts_with("all #3 image"), "{frames:?}");
    assert!(!frames[1].contains("Failover") && !frames[1].contains("Suspect"), "{frames:?}");
    assert_eq!(world.heard_by(old), ["Close 3"]);
    assert_eq!(world.out.closed, [(old, "the source is not configured any more".to_owned())]);
    assert_eq!(world.core.counters().items_moved, 1);
    world.closed(old);
    world.pass(60_000);
    assert_eq!(world.out.connects, [1; 0], "it is not connected again");
    world.forget();
    world.says(new, &provider::update(3, 2));
    assert_eq!(world.frames().len(), 1);
    assert_eq!(world.core.counters().mirrors, 0);
}

#[test]
fn what_a_new_source_says_before_it_is_used_is_in_its_image() {
    let (mut world, _, routes) = with_item();
    adopt(&mut world, &[elsewhere(&routes[0])]);
    world.pass(0);
    let new = world.source_up(1);
    world.pass(0);
    // Suspect at first: it is not gone on with.
    world.says(new, &provider::refresh(3, "TRI.N"));
    assert_eq!(world.core.counters().items_moved, 1);
    world.close(A, 7);
    world.pass(0);
    assert!(world.heard_by(new).contains(&"Close 3".to_owned()));
    assert_eq!(world.core.counters().mirrors, 0);
}

#[test]
fn a_source_that_nobody_stands_in_for_is_given_20_seconds_and_then_lost() {
    let (mut world, old, routes) = with_item();
    assert_eq!(adopt(&mut world, &[]), RouteChanges { added: vec![], left: vec![0] });
    world.pass(19_000);
    world.says(old, &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1, "it is heard");
    world.pass(2_000);
    assert_eq!(world.out.closed.len(), 1);
    let frames = world.frames();
    assert!(frames.iter().any(|frame| frame.contains("Suspect")), "{frames:?}");
    world.closed(old);
    world.pass(60_000);
    assert_eq!(world.out.connects, [0; 0]);
    // It comes back under its old number, and is asked again.
    assert_eq!(adopt(&mut world, &routes), RouteChanges { added: vec![0], left: vec![] });
    world.pass(0);
    assert_eq!(world.out.connects, [0]);
    let back = world.source_up(0);
    world.pass(0);
    assert_eq!(requests(&world.heard_by(back)).len(), 1);
}

#[test]
fn one_that_is_not_connected_leaves_at_once() {
    let mut world = World::new(config(2));
    assert_eq!(world.out.connects, [0, 1]);
    world.event(tapeline_hub::Event::RouteFailed { route: 0 });
    // The one is down, the other on its way.
    adopt(&mut world, &[]);
    let late = world.route_opened(1);
    assert_eq!(world.out.closed, [(late, "the source is not configured any more".to_owned())]);
    world.forget();
    world.pass(600_000);
    assert_eq!(world.out.connects, [0; 0]);
    let changes = adopt(&mut world, &config(1).routes);
    assert_eq!(changes, RouteChanges { added: vec![0], left: vec![] });
}

#[test]
fn a_new_source_that_dies_leaves_the_old_one_in_its_place() {
    let (mut world, old, routes) = with_item();
    adopt(&mut world, &[elsewhere(&routes[0])]);
    world.pass(0);
    let new = world.source_up(1);
    world.pass(0);
    world.forget();
    world.closed(new);
    world.pass(0);
    world.says(old, &provider::update(3, 1));
    assert_eq!(world.frames().iter().filter(|frame| frame.contains("Suspect")).count(), 0);
    world.pass(1_000);
    let again = world.source_up(1);
    world.pass(0);
    assert_eq!(requests(&world.heard_by(again)).len(), 1, "it is asked anew");
    world.forget();
    world.says(again, &provider::refresh(3, "TRI.N"));
    assert_eq!(world.core.counters().items_moved, 1);
}

#[test]
fn of_two_sources_that_stay_one_is_asked_for_each_item() {
    let mut all = config(3);
    all.routes[0].order = 0;
    all.routes[1].order = 1;
    all.routes[2].order = 1;
    let routes = all.routes.clone();
    let (mut world, sources) = World::with_sources(all);
    for request in 0..10 {
        world.open(A, request, &format!("X{request}"));
        world.says(sources[0], &provider::refresh(3 + request as i32, &format!("X{request}")));
    }
    for source in &sources {
        world.heard_by(*source);
    }
    adopt(&mut world, &routes[1..]);
    world.pass(0);
    let asked: Vec<_> =
        sources[1..].iter().map(|source| requests(&world.heard_by(*source)).len()).collect();
    assert_eq!(asked.iter().sum::<usize>(), 10, "{asked:?}");
    assert_eq!(world.core.counters().mirror_requests, 10);
}

#[test]
fn the_active_source_of_a_mirrored_service_leaves_at_once() {
    let mut config = config(2);
    config.mirrored.entry("FEED".to_owned()).or_default();
    let routes = config.routes.clone();
    let (mut world, sources) = World::with_sources(config);
    world.open(A, 7, "TRI.N");
    for source in &sources {
        world.says(*source, &provider::refresh(3, "TRI.N"));
        world.heard_by(*source);
    }
    world.forget();
    adopt(&mut world, &routes[1..]);
    world.pass(0);
    assert_eq!(world.frames(), [""; 0], "both have the same");
    assert_eq!(world.out.closed.len(), 1, "nothing is left there");
    world.says(sources[1], &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1);
}
