//! Sources that go, come back, or leave requests without an answer.

use crate::support::{A, B, World, config, item_request, provider};
use tapeline_backbone::BusEvent;
use tapeline_channel::Sent;
use tapeline_hub::Event;
use tapeline_omm::directory::{FilterContent, ServiceEntry, ServiceState};
use tapeline_rwf::{DataState, RequestFlags, RequestMsg, State, StateCode, StreamState};

const IMAGE: &str = "Refresh Open / Ok / None / 'All is well' complete";

#[test]
fn a_request_for_a_service_that_is_down_waits_until_it_is_up() {
    let mut world = World::new(config(1));
    world.server_up(A);
    let source = world.route_opened(0);
    world.says(source, &provider::login_accepted());
    world.says(source, &provider::directory(&[provider::service(1, "FEED", false)]));
    world.forget();
    world.open(A, 7, "TRI.N");
    assert_eq!(
        world.frames(),
        ["A accept 7 as item 0", "all #1 Status Open / Suspect / None / 'Service not up'"]
    );
    world.says(source, &provider::change(FilterContent::State(ServiceState::new(true, true))));
    assert_eq!(world.heard_by(source), ["Request 3 1:TRI.N streaming"]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    assert_eq!(
        world.frames(),
        ["all directory change: 1 up".to_owned(), format!("all #2 image {IMAGE}")]
    );
}

#[test]
fn a_lost_source_makes_its_items_suspect_and_they_are_asked_for_on_its_return() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.open(A, 8, "IBM.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.forget();
    world.closed(sources[0]);
    assert_eq!(
        world.frames(),
        [
            "all #2 Status Open / Suspect / None / 'channel down.'",
            "all #1 Status Open / Suspect / None / 'channel down.'",
            "all directory change: 1 down",
        ]
    );
    world.pass(250);
    assert_eq!(world.out.connects, [0]);
    let back = world.source_up(0);
    assert_eq!(
        world.heard_by(back)[2..],
        ["Request 3 1:TRI.N streaming", "Request 4 1:IBM.N streaming"]
    );
    world.forget();
    world.says(back, &provider::refresh(3, "TRI.N"));
    assert_eq!(
        world.frames(),
        ["all #3 image Refresh Open / Ok / None / 'All is well' clear complete"]
    );
}

#[test]
fn another_source_of_the_service_takes_over_and_servers_are_told_when_and_how() {
    let (mut world, sources) = World::with_sources(config(2));
    world.open(A, 7, "TRI.N");
    let (first, second) = match world.heard_by(sources[0]).is_empty() {
        true => (sources[1], sources[0]),
        false => (sources[0], sources[1]),
    };
    world.heard_by(sources[1]);
    world.says(first, &provider::refresh(3, "TRI.N"));
    world.forget();
    world.closed(first);
    assert_eq!(world.heard_by(second), ["Request 3 1:TRI.N streaming"]);
    assert_eq!(
        world.frames(),
        ["all #2 Status Open / Suspect / FailoverStarted / 'Source lost, another is asked.'"],
        "the service stays up"
    );
    world.says(second, &provider::refresh(3, "TRI.N"));
    assert_eq!(
        world.frames(),
        ["all #3 image Refresh Open / Ok / FailoverCompleted / 'All is well' clear complete"]
    );
    assert_eq!(world.core.counters().failovers, 1);
}

#[test]
fn a_private_stream_dies_with_its_source() {
    let (mut world, sources) = World::with_sources(config(2));
    let private = RequestMsg {
        flags: RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM,
        ..item_request(1, "TRI.N")
    };
    world.open_with(A, 7, &private);
    world.forget();
    for source in sources {
        world.closed(source);
    }
    assert_eq!(
        world.frames()[0],
        "all #1 last private Status ClosedRecover / Suspect / None / 'channel down.'"
    );
    assert_eq!(world.core.counters().items, 0);
}

#[test]
fn reconnecting_waits_longer_each_time_but_never_above_two_seconds() {
    let mut world = World::new(config(1));
    let mut waits = Vec::new();
    for _ in 0..6 {
        world.out.connects.clear();
        world.event(Event::RouteFailed { route: 0 });
        let due = world.core.next_deadline().expect("a next attempt");
        waits.push(due.since(world.now).as_millis());
        world.pass(2_000);
        assert_eq!(world.out.connects, [0]);
    }
    assert_eq!(waits, [250, 500, 1_000, 2_000, 2_000, 2_000]);
}

#[test]
fn a_source_that_answers_no_login_or_directory_is_given_up() {
    let mut world = World::new(config(1));
    let source = world.route_opened(0);
    world.pass(15_000);
    assert_eq!(world.out.closed, [(source, "no login in time".to_owned())]);
    world.pass(250);
    let source = world.route_opened(0);
    world.says(source, &provider::login_accepted());
    world.pass(15_000);
    assert_eq!(world.out.closed[1], (source, "no directory in time".to_owned()));
}

#[test]
fn a_request_without_an_answer_is_closed_and_made_again() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.heard_by(sources[0]);
    world.forget();
    world.pass(15_000);
    assert_eq!(world.heard_by(sources[0]), ["Close 3", "Request 4 1:TRI.N streaming"]);
    assert_eq!(world.frames(), ["all #1 Status Open / Suspect / Timeout / 'Request timeout'"]);
    world.says(sources[0], &provider::refresh(4, "TRI.N"));
    assert_eq!(world.frames().len(), 1);
    world.pass(60_000);
    assert_eq!(world.core.counters().request_timeouts, 1);
}

#[test]
fn a_request_without_an_answer_goes_to_another_source_if_there_is_one() {
    let (mut world, sources) = World::with_sources(config(2));
    world.open(A, 7, "TRI.N");
    let counts = [world.heard_by(sources[0]).len(), world.heard_by(sources[1]).len()];
    world.pass(15_000);
    let other = sources[counts[0]];
    assert_eq!(world.heard_by(other), ["Request 3 1:TRI.N streaming"]);
}

#[test]
fn closed_with_recovery_is_open_and_suspect_to_servers_and_tried_again_later() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.heard_by(sources[0]);
    world.forget();
    let busy = State::new(
        StreamState::CLOSED_RECOVER,
        DataState::SUSPECT,
        StateCode::NO_RESOURCES,
        "busy",
    );
    world.says(sources[0], &provider::status(3, busy));
    assert_eq!(world.frames(), ["all #2 Status Open / Suspect / NoResources / 'busy'"]);
    world.pass(14_999);
    assert_eq!(world.heard_by(sources[0]), [""; 0]);
    world.pass(1);
    assert_eq!(world.heard_by(sources[0]), ["Request 4 1:TRI.N streaming"]);
}

#[test]
fn a_stream_that_its_source_ended_is_closed_there_if_a_change_was_on_its_way() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    // The next image is asked for, and the source has ended the stream: to it
    // that is a new request.
    world.reissue(A, 7, &item_request(1, "TRI.N"));
    world.heard_by(sources[0]);
    let ended = State::new(StreamState::CLOSED_RECOVER, DataState::SUSPECT, StateCode::NONE, "");
    world.says(sources[0], &provider::status(3, ended));
    assert_eq!(world.heard_by(sources[0]), ["Close 3"]);
}

#[test]
fn a_service_that_is_withdrawn_makes_its_items_suspect() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.forget();
    world.says(sources[0], &provider::directory_update(&[ServiceEntry::delete(1)]));
    assert_eq!(
        world.frames(),
        [
            "all #2 Status Open / Suspect / None / 'Service for this item was lost.'",
            "all directory change: 1 down",
        ]
    );
}

#[test]
fn streams_of_a_withdrawn_service_are_closed_and_asked_for_anew_on_its_return() {
    // Under the id that it had, and under another one.
    for id in [1, 9] {
        let (mut world, sources) = World::with_sources(config(1));
        world.open(A, 7, "TRI.N");
        world.open(A, 8, "IBM.N");
        world.says(sources[0], &provider::refresh(3, "TRI.N"));
        world.heard_by(sources[0]);
        world.says(sources[0], &provider::directory_update(&[ServiceEntry::delete(1)]));
        // A provider refuses an item that it still has open on another stream.
        assert_eq!(world.heard_by(sources[0]), ["Close 3", "Close 4"]);
        world.says(sources[0], &provider::directory_update(&[provider::feed(id)]));
        assert_eq!(
            world.heard_by(sources[0]),
            [format!("Request 5 {id}:TRI.N streaming"), format!("Request 6 {id}:IBM.N streaming")]
        );
        world.forget();
        world.says(sources[0], &provider::refresh(5, "TRI.N"));
        assert_eq!(
            world.frames(),
            ["all #3 image Refresh Open / Ok / None / 'All is well' clear complete"]
        );
    }
}

#[test]
fn a_directory_that_comes_anew_without_a_service_withdraws_it() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.heard_by(sources[0]);
    world.says(sources[0], &provider::directory(&[provider::feed(2)]));
    assert_eq!(world.heard_by(sources[0]), ["Close 3", "Request 4 2:TRI.N streaming"]);
}

#[test]
fn a_private_stream_of_a_withdrawn_service_is_closed_on_both_sides() {
    let (mut world, sources) = World::with_sources(config(1));
    let private = RequestMsg {
        flags: RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM,
        ..item_request(1, "TRI.N")
    };
    world.open_with(A, 7, &private);
    world.heard_by(sources[0]);
    world.forget();
    world.says(sources[0], &provider::directory_update(&[ServiceEntry::delete(1)]));
    assert_eq!(world.heard_by(sources[0]), ["Close 3"]);
    assert_eq!(
        world.frames()[0],
        "all #1 last private Status ClosedRecover / Suspect / None / \
         'Service for this item was lost.'"
    );
}

#[test]
fn a_refused_login_is_tried_again() {
    let mut world = World::new(config(1));
    let source = world.route_opened(0);
    let refused =
        State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_ENTITLED, "no");
    let status = tapeline_omm::login::LoginStatus::new(1, &refused);
    world.says(source, &provider::written(|encoder| status.encode(encoder)));
    assert_eq!(world.out.closed.len(), 1);
    world.out.connects.clear();
    world.pass(250);
    assert_eq!(world.out.connects, [0]);
}

#[test]
fn a_provider_that_does_not_read_gets_no_more_requests_until_it_does() {
    let (mut world, sources) = World::with_sources(config(1));
    world.out.answer = Some(Sent::Slow);
    world.open(A, 0, "TRI.N");
    world.open(A, 1, "IBM.N");
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming"]);
    world.out.answer = None;
    world.event(Event::Drained { session: sources[0] });
    assert_eq!(world.heard_by(sources[0]), ["Request 4 1:IBM.N streaming"]);
}

#[test]
fn a_provider_that_does_not_even_read_what_it_waits_for_is_cut() {
    let mut world = World::new(config(1));
    world.out.answer = Some(Sent::Full);
    world.route_opened(0);
    assert_eq!(world.out.closed.len(), 1);
}

#[test]
fn a_server_that_lost_frames_of_its_own_to_the_hub_gets_the_directory() {
    let (mut world, _) = World::with_sources(config(1));
    world.event(Event::Bus(BusEvent::Gap { peer: A, name: "", lost: 1 }));
    assert_eq!(world.frames(), ["A directory all: 1 FEED up", "A asked what it wants: 1"]);
    world.event(Event::Bus(BusEvent::Gap { peer: B, name: "", lost: 1 }));
    assert_eq!(world.frames(), [""; 0], "it is not known");
}
