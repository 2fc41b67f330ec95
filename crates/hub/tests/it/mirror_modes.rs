//! Mirrored services in other ways: streams alone, numbers from one origin, a source that
//! is waited for, a return when nothing changes.

use crate::support::{A, World, config, provider};
use tapeline_channel::SessionId;
use tapeline_hub::{Failback, Mirroring, StandbyKeeps};
use tapeline_omm::directory::{FilterContent, ServiceState};
use tapeline_rwf::{DataState, State, StateCode, StreamState, UpdateMsg};

const RECOVER: State<'static> =
    State::new(StreamState::CLOSED_RECOVER, DataState::SUSPECT, StateCode::NO_RESOURCES, "later");

/// A hub whose service FEED is mirrored in this way, with two sources that have TRI.N.
fn mirrored(mirroring: Mirroring) -> (World, Vec<SessionId>) {
    let mut config = config(2);
    config.mirrored = [("FEED".to_owned(), mirroring)].into();
    let (mut world, sources) = World::with_sources(config);
    world.open(A, 7, "TRI.N");
    for source in &sources {
        world.heard_by(*source);
        world.says(*source, &provider::refresh(3, "TRI.N"));
    }
    world.forget();
    (world, sources)
}

fn of_streams(failback: Failback) -> (World, Vec<SessionId>) {
    mirrored(Mirroring { keeps: StandbyKeeps::Stream, failback, ..Mirroring::default() })
}

/// What a source was asked, without what it was told that it is.
fn asked(world: &mut World, source: SessionId) -> Vec<String> {
    let mut heard = world.heard_by(source);
    heard.retain(|line| !line.starts_with("ConsumerStatus"));
    heard
}

/// An update with a number.
fn numbered(number: u32, bid: i64) -> Vec<u8> {
    let domain = tapeline_rwf::Domain::MARKET_PRICE;
    provider::update_of(UpdateMsg { seq_num: Some(number), ..UpdateMsg::new(domain, 3) }, bid)
}

#[test]
fn of_streams_alone_an_image_is_asked_for_on_the_stream_that_is_open() {
    let (mut world, sources) = of_streams(Failback::Never);
    world.says(sources[1], &provider::update(3, 1));
    assert_eq!(world.frames(), [""; 0]);
    world.closed(sources[0]);
    let frames = world.frames();
    assert!(frames[0].contains("FailoverStarted"), "{frames:?}");
    assert_eq!(asked(&mut world, sources[1]), ["Request 3 1:TRI.N streaming"], "no close");
    // What comes before the image is of no use to anybody.
    world.forget();
    world.says(sources[1], &provider::update(3, 2));
    assert_eq!(world.frames(), [""; 0]);
    world.says(sources[1], &provider::refresh(3, "TRI.N"));
    let frames = world.frames();
    assert!(frames[0].contains("FailoverCompleted"), "{frames:?}");
    world.says(sources[1], &provider::update(3, 3));
    assert_eq!(world.frames().len(), 1);
    let counters = world.core.counters();
    assert_eq!((counters.mirror_switches, counters.mirror_images), (1, 1));
    assert_eq!((counters.mirror_switches_unseen, counters.mirrors), (0, 0));
}

#[test]
fn of_streams_alone_one_in_the_middle_of_an_image_is_not_gone_on_with() {
    let (mut world, sources) = of_streams(Failback::Never);
    world.says(sources[1], &provider::part(3, 0, false));
    world.closed(sources[0]);
    world.pass(0);
    let heard = asked(&mut world, sources[1]);
    assert_eq!(heard[0], "Close 3", "what is left of it is no image: {heard:?}");
    assert_eq!(heard.len(), 2, "{heard:?}");
}

#[test]
fn of_streams_alone_images_are_asked_for_within_the_window() {
    let mut config = config(2);
    config.limits.max_window = 1;
    let mirroring = Mirroring { keeps: StandbyKeeps::Stream, ..Mirroring::default() };
    config.mirrored = [("FEED".to_owned(), mirroring)].into();
    let (mut world, sources) = World::with_sources(config);
    for (request, name) in [(7, "TRI.N"), (8, "IBM.N")] {
        world.open(A, request, name);
        for source in &sources {
            world.says(*source, &provider::refresh(request as i32 - 4, name));
        }
    }
    assert_eq!(world.core.counters().mirrors, 2);
    world.forget();
    world.closed(sources[0]);
    world.pass(0);
    assert_eq!(asked(&mut world, sources[1]), ["Request 3 1:TRI.N streaming"]);
    world.says(sources[1], &provider::refresh(3, "TRI.N"));
    assert_eq!(asked(&mut world, sources[1]), ["Request 4 1:IBM.N streaming"]);
}

#[test]
fn of_streams_alone_items_come_over_with_an_image_when_the_first_source_is_back() {
    let (mut world, sources) = of_streams(Failback::After(10_000));
    world.closed(sources[0]);
    world.says(sources[1], &provider::refresh(3, "TRI.N"));
    world.pass(250);
    let back = world.source_up(0);
    world.says(back, &provider::refresh(3, "TRI.N"));
    world.forget();
    asked(&mut world, back);
    world.pass(10_000);
    assert_eq!(asked(&mut world, back), ["Request 3 1:TRI.N streaming"], "for its image");
    // The other one is heard for as long as it takes.
    world.says(sources[1], &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1);
    world.forget();
    world.says(back, &provider::update(3, 2));
    assert_eq!(world.frames(), [""; 0]);
    world.says(back, &provider::refresh(3, "TRI.N"));
    let frames = world.frames();
    assert!(frames[0].contains("image"), "{frames:?}");
    assert!(!frames.iter().any(|line| line.contains("Suspect")), "{frames:?}");
    let heard = asked(&mut world, sources[1]);
    assert_eq!(heard[0], "Close 3", "{heard:?}");
    assert!(heard[1].contains("TRI.N"), "it stands by again: {heard:?}");
    world.forget();
    world.says(back, &provider::update(3, 3));
    assert_eq!(world.frames().len(), 1, "its updates count");
}

#[test]
fn of_streams_alone_an_item_stays_where_it_is_while_no_good_image_comes() {
    let (mut world, sources) = of_streams(Failback::After(1_000));
    world.closed(sources[0]);
    world.says(sources[1], &provider::refresh(3, "TRI.N"));
    world.pass(250);
    let back = world.source_up(0);
    world.says(back, &provider::refresh(3, "TRI.N"));
    world.pass(1_000);
    assert_eq!(world.core.counters().mirror_images, 2);
    world.forget();
    world.says(back, &provider::status(3, RECOVER));
    assert_eq!(world.frames(), [""; 0]);
    world.says(sources[1], &provider::update(3, 1));
    assert_eq!(world.frames().len(), 1);
}

#[test]
fn a_standby_that_is_level_or_behind_by_the_numbers_goes_on_without_a_word() {
    for standby in [5, 4] {
        let (mut world, sources) =
            mirrored(Mirroring { has_shared_numbers: true, ..Mirroring::default() });
        world.says(sources[0], &numbered(5, 1));
        // What it says is not the same, and is not looked at.
        world.says(sources[1], &numbered(standby, 2));
        world.forget();
        world.closed(sources[0]);
        assert_eq!(world.frames(), [""; 0]);
        assert_eq!(asked(&mut world, sources[1]), [""; 0]);
        for number in standby + 1..=5 {
            world.says(sources[1], &numbered(number, 1));
        }
        assert_eq!(world.frames(), [""; 0], "servers had those");
        world.says(sources[1], &numbered(6, 3));
        assert_eq!(world.frames().len(), 1);
        let counters = world.core.counters();
        assert_eq!(counters.mirror_switches_unseen, 1);
        assert_eq!(counters.mirror_repeats, u64::from(5 - standby));
    }
}

#[test]
fn a_standby_that_is_ahead_by_the_numbers_goes_on_with_its_image() {
    let (mut world, sources) =
        mirrored(Mirroring { has_shared_numbers: true, ..Mirroring::default() });
    world.says(sources[0], &numbered(5, 1));
    world.says(sources[1], &numbered(5, 1));
    world.says(sources[1], &numbered(6, 1));
    world.forget();
    world.closed(sources[0]);
    let frames = world.frames();
    assert!(frames[0].starts_with("all #3 image"), "{frames:?}");
    world.forget();
    world.says(sources[1], &numbered(7, 2));
    assert_eq!(world.frames().len(), 1);
}

#[test]
fn without_numbers_images_are_compared_all_the_same() {
    let (mut world, sources) =
        mirrored(Mirroring { has_shared_numbers: true, ..Mirroring::default() });
    world.says(sources[0], &provider::update(3, 1));
    world.forget();
    world.closed(sources[0]);
    assert!(world.frames()[0].starts_with("all #3 image"));
}

fn waiting_for(ms: u64) -> (World, Vec<SessionId>) {
    mirrored(Mirroring { failover_after_ms: ms, ..Mirroring::default() })
}

fn service_state(is_up: bool) -> Vec<u8> {
    provider::change(FilterContent::State(ServiceState::new(is_up, true)))
}

#[test]
fn a_source_that_is_down_for_a_moment_stays_the_one_that_is_used() {
    let (mut world, sources) = waiting_for(1_000);
    world.modes_heard_by(sources[1]);
    world.says(sources[0], &service_state(false));
    world.pass(900);
    world.says(sources[0], &service_state(true));
    world.pass(5_000);
    assert_eq!(world.core.counters().mirror_switches, 0);
    assert!(world.modes_heard_by(sources[1]).is_empty());
    world.says(sources[0], &provider::update(3, 1));
    world.forget();
    world.says(sources[1], &provider::update(3, 1));
    assert_eq!(world.frames(), [""; 0]);
}

#[test]
fn a_source_that_is_down_for_longer_is_not_used_any_more() {
    let (mut world, sources) = waiting_for(1_000);
    world.says(sources[0], &service_state(false));
    world.pass(900);
    assert_eq!(world.core.counters().mirror_switches, 0);
    world.pass(200);
    assert_eq!(world.core.counters().mirror_switches, 1);
    assert_eq!(world.modes_heard_by(sources[1]).last(), Some(&1));
    // And that is that, although it is back.
    world.says(sources[0], &service_state(true));
    world.pass(0);
    assert_eq!(world.core.counters().mirror_switches, 1);
}

#[test]
fn a_source_that_is_lost_while_it_is_waited_for_is_replaced_at_once() {
    let (mut world, sources) = waiting_for(60_000);
    world.says(sources[0], &service_state(false));
    world.pass(100);
    world.closed(sources[0]);
    assert_eq!(world.core.counters().mirror_switches, 1);
    assert_eq!(world.modes_heard_by(sources[1]).last(), Some(&0));
}

#[test]
fn a_service_goes_back_to_its_first_source_when_nothing_changes() {
    let (mut world, sources) =
        mirrored(Mirroring { failback: Failback::Idle, ..Mirroring::default() });
    world.closed(sources[0]);
    world.pass(250);
    let back = world.source_up(0);
    world.says(back, &provider::refresh(3, "TRI.N"));
    for bid in 1..8 {
        for source in [sources[1], back] {
            world.says(source, &provider::update(3, bid));
        }
        world.pass(900);
        assert_eq!(world.core.counters().mirror_failbacks, 0, "it changes");
    }
    world.forget();
    world.pass(200);
    assert_eq!(world.core.counters().mirror_failbacks, 1);
    assert_eq!(world.frames(), [""; 0]);
}
