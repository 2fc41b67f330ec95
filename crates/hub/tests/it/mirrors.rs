//! Mirrored services: what sources are told and asked, and what servers hear
//! when the active one is lost.

use crate::support::{A, World, config, provider};
use tapeline_channel::SessionId;
use tapeline_hub::{Failback, HubConfig, Mirroring};
use tapeline_omm::directory::{FilterContent, ServiceEntry, ServiceState};
use tapeline_rwf::{DataState, State, StateCode, StreamState};

/// A hub whose service FEED is mirrored, with as many sources.
fn mirrored(count: usize) -> (World, Vec<SessionId>) {
    mirrored_with(config(count))
}

fn mirrored_with(mut config: HubConfig) -> (World, Vec<SessionId>) {
    config.mirrored.entry("FEED".to_owned()).or_default();
    World::with_sources(config)
}

/// TRI.N is open at both sources, with the same image.
fn with_item() -> (World, Vec<SessionId>) {
    let (mut world, sources) = mirrored(2);
    world.open(A, 7, "TRI.N");
    for source in &sources {
        world.heard_by(*source);
        world.says(*source, &provider::refresh(3, "TRI.N"));
    }
    world.forget();
    (world, sources)
}

#[test]
fn all_sources_are_asked_and_one_is_heard() {
    let (mut world, sources) = mirrored(3);
    world.open(A, 7, "TRI.N");
    for source in &sources {
        assert_eq!(world.heard_by(*source), ["Request 3 1:TRI.N streaming"]);
    }
    world.forget();
    for source in &sources[1..] {
        world.says(*source, &provider::refresh(3, "TRI.N"));
        world.says(*source, &provider::update(3, 1));
    }
    assert_eq!(world.frames(), [""; 0]);
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    assert_eq!(world.frames().len(), 1);
    assert_eq!(world.core.counters().mirrors, 2);
    world.close(A, 7);
    for source in &sources {
        world.pass(0);
        assert_eq!(world.heard_by(*source), ["Close 3"]);
    }
    assert_eq!(world.core.counters().mirrors, 0);
}

#[test]
fn what_is_the_same_goes_on_without_a_word() {
    let (mut world, sources) = with_item();
    for source in &sources {
        world.says(*source, &provider::update(3, 1));
    }
    world.forget();
    world.closed(sources[0]);
    assert_eq!(world.frames(), [""; 0], "servers have what the standby has");
    assert_eq!(world.heard_by(sources[1]).iter().filter(|it| it.contains("Request")).count(), 0);
    world.says(sources[1], &provider::update(3, 2));
    assert_eq!(world.frames().len(), 1, "its updates go on");
    let counters = world.core.counters();
    assert_eq!((counters.mirror_switches, counters.mirror_switches_unseen), (1, 1));
}

#[test]
fn what_differs_goes_on_with_an_image() {
    let (mut world, sources) = with_item();
    world.says(sources[0], &provider::update(3, 1));
    world.says(sources[1], &provider::update(3, 1));
    world.says(sources[1], &provider::update(3, 2));
    world.forget();
    world.closed(sources[0]);
    let frames = world.frames();
    assert_eq!(frames.len(), 1, "{frames:?}");
    assert!(frames[0].starts_with("all #3 image"), "{frames:?}");
    assert!(frames[0].contains("FailoverCompleted"), "{frames:?}");
    world.says(sources[1], &provider::update(3, 3));
    assert_eq!(world.frames().len(), 1);
}

#[test]
fn an_item_that_the_standby_has_not_is_asked_for() {
    let (mut world, sources) = mirrored(2);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.heard_by(sources[1]);
    world.forget();
    // It was asked and has not answered.
    world.closed(sources[0]);
    world.pass(0);
    let mut heard = world.heard_by(sources[1]);
    heard.retain(|line| !line.starts_with("ConsumerStatus"));
    assert_eq!(heard[..1], ["Close 3"], "no stream is open twice");
    assert!(heard[1].contains("TRI.N"), "{heard:?}");
    let frames = world.frames();
    assert!(frames[0].contains("FailoverStarted"), "{frames:?}");
}

#[test]
fn sources_are_told_what_they_are() {
    let mut config = config(2);
    config.mirrored = [("FEED".to_owned(), Mirroring::default())].into();
    let mut world = World::new(config);
    world.server_up(A);
    let sources: Vec<_> = (0..2).map(|route| world.source_up(route)).collect();
    assert_eq!(world.modes_heard_by(sources[0]), [0, 1], "alone at first");
    assert_eq!(world.modes_heard_by(sources[1]), [2]);
    world.closed(sources[0]);
    assert_eq!(world.modes_heard_by(sources[1]), [0]);
    world.pass(250);
    let back = world.source_up(0);
    assert_eq!(world.modes_heard_by(back), [2], "the other stays");
    assert_eq!(world.modes_heard_by(sources[1]), [1]);
}

#[test]
fn a_source_that_comes_back_stands_by_with_all_that_is_open() {
    let (mut world, sources) = with_item();
    world.closed(sources[0]);
    world.pass(250);
    let back = world.source_up(0);
    world.pass(0);
    let heard = world.heard_by(back);
    assert!(heard.iter().any(|line| line.contains("TRI.N")), "{heard:?}");
    world.says(back, &provider::refresh(3, "TRI.N"));
    world.forget();
    world.closed(sources[1]);
    assert_eq!(world.frames(), [""; 0]);
}

#[test]
fn a_service_that_goes_down_moves_to_the_other() {
    let (mut world, sources) = with_item();
    let down = FilterContent::State(ServiceState::new(false, true));
    world.says(sources[0], &provider::change(down));
    world.pass(0);
    let frames = world.frames();
    assert!(!frames.iter().any(|line| line.contains("Suspect")), "{frames:?}");
    assert_eq!(world.core.counters().mirror_switches, 1);
    world.forget();
    world.says(sources[1], &provider::update(3, 5));
    assert_eq!(world.frames().len(), 1);
}

#[test]
fn a_standby_that_takes_its_service_back_keeps_no_stream() {
    let (mut world, sources) = with_item();
    world.says(sources[1], &provider::directory_update(&[ServiceEntry::delete(1)]));
    world.pass(0);
    let heard = world.heard_by(sources[1]);
    assert!(heard.iter().any(|line| line == "Close 3"), "{heard:?}");
    assert_eq!(world.core.counters().mirrors, 0);
    assert_eq!(world.frames(), [""; 0], "it is no matter to servers");
}

#[test]
fn what_a_standby_closes_is_no_matter() {
    let (mut world, sources) = with_item();
    let gone = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_FOUND, "gone");
    world.says(sources[1], &provider::status(3, gone));
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!((world.core.counters().mirrors, world.core.counters().mirrors_closed), (0, 1));
    world.says(sources[0], &provider::update(3, 5));
    assert_eq!(world.frames().len(), 1);
}

/// A hub whose service FEED goes back to its first source after ten seconds.
fn failing_back() -> (World, Vec<SessionId>) {
    let mut config = config(2);
    let mirroring = Mirroring { failback: Failback::After(10_000), ..Mirroring::default() };
    config.mirrored = [("FEED".to_owned(), mirroring)].into();
    let (mut world, sources) = mirrored_with(config);
    world.open(A, 7, "TRI.N");
    for source in &sources {
        world.says(*source, &provider::refresh(3, "TRI.N"));
    }
    world.forget();
    (world, sources)
}

#[test]
fn the_first_source_is_used_again_when_it_was_there_for_long_enough() {
    let (mut world, sources) = failing_back();
    world.closed(sources[0]);
    world.pass(250);
    let back = world.source_up(0);
    world.says(back, &provider::refresh(3, "TRI.N"));
    world.forget();
    world.pass(9_500);
    assert!(world.modes_heard_by(back).is_empty(), "it stands by");
    world.says(back, &provider::update(3, 1));
    assert_eq!(world.frames(), [""; 0]);
    world.says(sources[1], &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1);
    world.forget();

    world.pass(600);
    assert_eq!(world.modes_heard_by(back), [1]);
    assert_eq!(world.modes_heard_by(sources[1]), [2]);
    assert_eq!(world.frames(), [""; 0], "servers have what it has");
    world.says(back, &provider::update(3, 2));
    assert_eq!(world.frames().len(), 1, "its updates count");
    assert_eq!(world.core.counters().mirror_failbacks, 1);
    // The other stands by again.
    world.says(sources[1], &provider::refresh(4, "TRI.N"));
    assert_eq!(world.core.counters().mirrors, 1);
}

#[test]
fn a_first_source_that_has_not_all_or_goes_again_is_not_used() {
    let (mut world, sources) = failing_back();
    world.closed(sources[0]);
    world.pass(250);
    let back = world.source_up(0);
    world.pass(11_000);
    assert_eq!(world.core.counters().mirror_failbacks, 0, "it has not answered");
    world.closed(back);
    world.pass(500);
    let again = world.source_up(0);
    world.says(again, &provider::refresh(3, "TRI.N"));
    world.pass(9_000);
    assert_eq!(world.core.counters().mirror_failbacks, 0, "its time began anew");
    world.pass(1_500);
    assert_eq!(world.core.counters().mirror_failbacks, 1);
}

const RECOVER: State<'static> =
    State::new(StreamState::CLOSED_RECOVER, DataState::SUSPECT, StateCode::NO_RESOURCES, "later");
const NOT_FOUND: State<'static> =
    State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_FOUND, "gone");

#[test]
fn what_a_standby_closes_it_is_asked_for_again_after_a_while() {
    for (state, wait_ms) in [(RECOVER, 15_000), (NOT_FOUND, 120_000)] {
        let (mut world, sources) = with_item();
        world.says(sources[1], &provider::status(3, state));
        world.pass(wait_ms - 100);
        world.heard_by(sources[1]);
        world.pass(100);
        let heard = world.heard_by(sources[1]);
        assert!(heard.iter().any(|line| line.contains("TRI.N")), "{heard:?}");
        assert_eq!(world.core.counters().mirrors, 1);
        assert_eq!(world.frames(), [""; 0]);
    }
}

#[test]
fn what_nobody_wants_any_more_a_standby_is_not_asked_for_again() {
    let (mut world, sources) = with_item();
    world.says(sources[1], &provider::status(3, RECOVER));
    world.close(A, 7);
    world.pass(20_000);
    let heard = world.heard_by(sources[1]);
    assert!(!heard.iter().any(|line| line.contains("TRI.N")), "{heard:?}");
    assert_eq!(world.core.counters().mirrors, 0);
}

/// What becomes of an item that the active source closes.
fn closed_by_the_active(state: State<'_>, mirroring: Mirroring) -> (World, Vec<SessionId>) {
    let mut config = config(2);
    config.mirrored = [("FEED".to_owned(), mirroring)].into();
    let (mut world, sources) = World::with_sources(config);
    world.open(A, 7, "TRI.N");
    for source in &sources {
        world.says(*source, &provider::refresh(3, "TRI.N"));
        world.heard_by(*source);
    }
    world.forget();
    world.says(sources[0], &provider::status(3, state));
    (world, sources)
}

#[test]
fn what_the_active_source_closes_is_closed_unless_others_are_to_go_on_with_it() {
    let (mut world, _) = closed_by_the_active(NOT_FOUND, Mirroring::default());
    let frames = world.frames();
    assert!(frames[0].contains("Closed / Suspect / NotFound"), "{frames:?}");

    let quorum = Mirroring { outlives_close: true, ..Mirroring::default() };
    let (mut world, sources) = closed_by_the_active(NOT_FOUND, quorum);
    assert_eq!(world.frames(), [""; 0], "both have the same");
    assert_eq!(world.core.counters().mirror_closes_outlived, 1);
    world.says(sources[1], &provider::update(3, 5));
    assert_eq!(world.frames().len(), 1);
    world.forget();
    // The last one that has it decides.
    world.says(sources[1], &provider::status(3, NOT_FOUND));
    let frames = world.frames();
    assert!(frames[0].contains("Closed / Suspect / NotFound"), "{frames:?}");
}

#[test]
fn what_the_active_source_wants_to_be_asked_for_again_goes_on_at_a_standby() {
    let (mut world, sources) = closed_by_the_active(RECOVER, Mirroring::default());
    assert_eq!(world.frames(), [""; 0], "both have the same");
    assert!(world.heard_by(sources[1]).is_empty(), "nothing is asked for");
    world.pass(14_900);
    world.heard_by(sources[0]);
    world.pass(100);
    let heard = world.heard_by(sources[0]);
    assert!(heard.iter().any(|line| line.contains("TRI.N")), "it is to stand by: {heard:?}");
}

#[test]
fn an_image_that_ends_its_stream_is_a_close_and_one_of_another_item_is_none() {
    let (mut world, sources) = with_item();
    let of_another = provider::status_of(3, "OTHER.N", RECOVER);
    world.says(sources[0], &of_another);
    assert_eq!(world.core.counters().mirror_closes_outlived, 0);
    world.says(sources[0], &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1, "it is used as before");
    world.says(sources[1], &provider::update(3, 1));
    world.forget();
    let ends = provider::refresh_with(3, "TRI.N", |msg| msg.state = RECOVER);
    world.says(sources[0], &ends);
    assert_eq!(world.core.counters().mirror_closes_outlived, 1);
    assert_eq!(world.frames(), [""; 0], "both have the same");
}
