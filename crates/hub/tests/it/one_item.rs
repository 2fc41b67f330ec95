//! From the first login to the last close: one item, one source, one server.

use crate::support::{self, A, World, config, provider};
use tapeline_rwf::{DataState, State, StateCode, StreamState};

#[test]
fn a_route_logs_in_asks_for_the_directory_and_tells_servers_of_it() {
    let mut world = World::new(config(1));
    assert_eq!(world.out.connects, [0]);
    world.server_up(A);
    assert_eq!(world.frames(), ["A directory all: "]);
    let source = world.route_opened(0);
    assert_eq!(world.heard_by(source), ["Login 1 tapeline"]);
    world.says(source, &provider::login_accepted());
    assert_eq!(world.heard_by(source), ["DirectoryRequest 2 0x3f"]);
    world.says(source, &provider::directory(&[provider::feed(1)]));
    assert_eq!(world.frames(), ["all directory change: 1 FEED up"]);
    assert_eq!(world.core.counters().sources_up, 1);
}

#[test]
fn a_request_is_accepted_and_answered_and_updates_follow_on_stream_zero() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming"]);
    assert_eq!(world.frames(), ["A accept 7 as item 0"]);
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.says(sources[0], &provider::update(3, 4513));
    world.says(sources[0], &provider::update(3, 4514));
    let len = provider::update(3, 4513).len();
    assert_eq!(
        world.frames(),
        [
            "all #1 image Refresh Open / Ok / None / 'All is well' complete".to_owned(),
            format!("all #2 Update 0 {len} bytes"),
            format!("all #3 Update 0 {len} bytes"),
        ]
    );
}

#[test]
fn updates_before_the_image_and_on_streams_that_are_not_open_go_nowhere() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.forget();
    world.says(sources[0], &provider::update(3, 4513));
    world.says(sources[0], &provider::update(4, 4513));
    world.says(sources[0], &provider::update(-4, 4513));
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!(world.core.counters().stray, 3);
}

#[test]
fn an_image_of_another_item_than_the_streams_is_not_taken() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.forget();
    world.says(sources[0], &provider::refresh(3, "IBM.N"));
    assert_eq!(world.frames(), [""; 0]);
}

#[test]
fn the_last_close_closes_the_stream_and_what_was_in_flight_is_dropped() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.forget();
    world.close(A, 7);
    assert_eq!(world.heard_by(sources[0]), ["Close 3"]);
    world.says(sources[0], &provider::update(3, 4513));
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!(world.core.counters().items, 0);
    world.close(A, 7);
    world.open(A, 7, "TRI.N");
    assert_eq!(world.heard_by(sources[0]), ["Request 4 1:TRI.N streaming"]);
}

#[test]
fn closed_and_not_found_end_the_item_for_all_and_it_can_be_asked_for_again() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "NO.SUCH");
    world.forget();
    let not_found =
        State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_FOUND, "none");
    world.says(sources[0], &provider::status(3, not_found));
    assert_eq!(world.frames(), ["all #1 last Status Closed / Suspect / NotFound / 'none'"]);
    assert_eq!(world.core.counters().items, 0);
    world.open(A, 7, "NO.SUCH");
    assert_eq!(world.heard_by(sources[0]), ["Request 4 1:NO.SUCH streaming"]);
}

#[test]
fn an_image_of_several_parts_passes_part_by_part() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.forget();
    for number in 0..3 {
        world.says(sources[0], &provider::part(3, number, number == 2));
    }
    assert_eq!(
        world.frames(),
        [
            "all #1 image Refresh Open / Ok / None / 'All is well'",
            "all #2 image Refresh Open / Ok / None / 'All is well'",
            "all #3 image Refresh Open / Ok / None / 'All is well' complete",
        ]
    );
}

#[test]
fn a_service_nobody_has_and_a_domain_nobody_offers_are_refused() {
    let (mut world, _) = World::with_sources(config(1));
    world.open_with(A, 1, &support::item_request(9, "TRI.N"));
    let mut book = support::item_request(1, "TRI.N");
    book.domain = tapeline_rwf::Domain::MARKET_BY_ORDER;
    world.open_with(A, 2, &book);
    assert_eq!(
        world.frames(),
        [
            "A refuse 1 Status ClosedRecover / Suspect / None / 'Service not available'",
            "A refuse 2 Status ClosedRecover / Suspect / None / 'Capability not supported'",
        ]
    );
}

#[test]
fn a_server_that_goes_takes_its_requests_with_it() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 0, "TRI.N");
    world.open(A, 1, "IBM.N");
    world.forget();
    world.server_down(A);
    assert_eq!(world.heard_by(sources[0]), ["Close 3", "Close 4"]);
    assert_eq!(world.core.counters().servers, 0);
}
