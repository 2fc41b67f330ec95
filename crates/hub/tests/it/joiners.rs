//! Several servers want one item: one stream upstream, an image for each.

use crate::support::{A, B, World, config, item_request, provider};
use tapeline_channel::{Sent, SessionId};
use tapeline_hub::Event;
use tapeline_rwf::{
    DataState, Priority, RefreshFlags, RequestFlags, RequestMsg, State, StateCode, StreamState,
};

const IMAGE: &str = "Refresh Open / Ok / None / 'All is well' complete";
const SNAPSHOT: &str = "Refresh NonStreaming / Ok / None / 'All is well' complete";

/// Server A has TRI.N, live; B is there.
fn live(config: tapeline_hub::HubConfig) -> (World, SessionId) {
    let (mut world, sources) = World::with_sources(config);
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.heard_by(sources[0]);
    world.forget();
    (world, sources[0])
}

#[test]
fn the_second_server_is_given_an_image_that_is_asked_for_and_the_first_is_not() {
    let (mut world, source) = live(config(1));
    world.open(B, 2, "TRI.N");
    assert_eq!(world.heard_by(source), ["Request 3 1:TRI.N streaming priority 1/2"]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    let lines = world.frames();
    assert_eq!(lines, ["B accept 2 as item 0".to_owned(), format!("B #1 image {IMAGE}")]);
}

#[test]
fn servers_that_wait_for_the_first_image_get_the_same_one() {
    let (mut world, sources) = World::with_sources(config(1));
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.open(B, 2, "TRI.N");
    world.forget();
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    assert_eq!(world.frames(), [format!("all #1 image {IMAGE}")]);
    // The interest that grew meanwhile is told when the image is complete.
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming no-refresh priority 1/2"]);
}

#[test]
fn who_comes_in_the_middle_of_an_image_waits_for_one_of_its_own() {
    let (mut world, sources) = World::with_sources(config(1));
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::part(3, 0, false));
    world.heard_by(sources[0]);
    world.forget();
    world.open(B, 2, "TRI.N");
    assert_eq!(world.frames(), ["B defer 2"]);
    world.says(sources[0], &provider::part(3, 1, true));
    let lines = world.frames();
    assert_eq!(lines[1], "B accept 2 as item 0");
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming priority 1/2"]);
    world.says(sources[0], &provider::part(3, 0, false));
    world.says(sources[0], &provider::part(3, 1, true));
    let to: Vec<_> = world.frames().iter().map(|line| line[..1].to_owned()).collect();
    assert_eq!(to, ["B", "B"]);
}

#[test]
fn a_kept_image_serves_the_second_server_without_the_provider() {
    let mut config = config(1);
    config.cache_interactive = true;
    let (mut world, source) = live(config);
    world.says(source, &provider::update(3, 4600));
    world.forget();
    world.open(B, 2, "TRI.N");
    assert_eq!(
        world.heard_by(source),
        ["Request 3 1:TRI.N streaming no-refresh priority 1/2"],
        "only the priority changed"
    );
    let (_, image) = world.out.frames.last().expect("an image").clone();
    assert_eq!(
        world.frames(),
        [
            "B accept 2 as item 0".to_owned(),
            "B #2 image Refresh Open / Ok / None / 'All is well' clear complete".to_owned(),
        ]
    );
    let updated = provider::update(3, 4600);
    assert_eq!(image[image.len() - 6..], updated[updated.len() - 6..], "with the update in it");
}

#[test]
fn an_image_of_a_service_is_kept_as_its_own_word_is() {
    let asked = |of_all, of_service| {
        let mut config = config(1);
        config.cache_interactive = of_all;
        config.service_cache = [("FEED".to_owned(), of_service)].into();
        let (mut world, source) = live(config);
        world.open(B, 2, "TRI.N");
        let is_kept = world.heard_by(source)[0].contains("no-refresh");
        assert_eq!(is_kept, of_service);
    };
    asked(false, true);
    asked(true, false);
}

#[test]
fn an_image_nobody_asked_for_goes_to_all() {
    let (mut world, source) = live(config(1));
    let refresh = provider::refresh_with(3, "TRI.N", |msg| {
        msg.flags.remove(RefreshFlags::SOLICITED);
    });
    world.says(source, &refresh);
    assert_eq!(world.frames(), [format!("all #2 image {IMAGE}")]);
}

#[test]
fn a_snapshot_of_a_streaming_item_is_an_image_for_one_that_does_not_stream() {
    let (mut world, source) = live(config(1));
    world.snapshot(B, 2, "TRI.N");
    assert_eq!(world.heard_by(source), ["Request 3 1:TRI.N streaming priority 1/2"]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    assert_eq!(
        world.frames(),
        ["B accept 2 as item 0".to_owned(), format!("B #1 image snapshot {SNAPSHOT}")]
    );
    // It is over for B with that, and goes on for A.
    world.close(B, 2);
    world.close(A, 7);
    assert_eq!(world.heard_by(source).last().expect("a close"), "Close 3");
}

#[test]
fn a_snapshot_alone_is_asked_for_as_one_and_over_with_its_image() {
    let (mut world, sources) = World::with_sources(config(1));
    world.snapshot(A, 7, "TRI.N");
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N"]);
    world.forget();
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    assert_eq!(world.frames(), [format!("all #1 image last snapshot {SNAPSHOT}")]);
    assert_eq!(world.heard_by(sources[0]), [""; 0], "no close is sent");
    assert_eq!(world.core.counters().items, 0);
}

#[test]
fn a_streaming_request_waits_for_the_end_of_a_snapshot_of_the_same_item() {
    let (mut world, sources) = World::with_sources(config(1));
    world.server_up(B);
    world.snapshot(A, 7, "TRI.N");
    world.open(B, 2, "TRI.N");
    assert_eq!(world.heard_by(sources[0]).len(), 1, "never two streams with one key");
    world.forget();
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    let item = world.accepted();
    assert_eq!(world.heard_by(sources[0]), ["Request 4 1:TRI.N streaming"]);
    world.says(sources[0], &provider::refresh(4, "TRI.N"));
    assert_eq!(
        world.frames(),
        [
            format!("all #1 image last snapshot {SNAPSHOT}"),
            format!("B accept 2 as item {item}"),
            format!("all #1 image {IMAGE}"),
        ]
    );
}

#[test]
fn who_wants_updates_does_not_wait_for_a_snapshot_that_has_to_be_asked_for_again() {
    let (mut world, sources) = World::with_sources(config(1));
    world.server_up(B);
    world.snapshot(A, 7, "TRI.N");
    world.open(B, 2, "TRI.N");
    world.says(
        sources[0],
        &provider::refresh_with(3, "TRI.N", |msg| {
            msg.part_num = Some(0);
            msg.flags.set(RefreshFlags::REFRESH_COMPLETE, false);
        }),
    );
    world.heard_by(sources[0]);
    world.forget();
    // Its end does not come.
    world.pass(15_000);
    let heard = world.heard_by(sources[0]);
    assert_eq!(heard.last().expect("a request"), "Request 4 1:TRI.N streaming priority 1/2");
    world.says(sources[0], &provider::refresh(4, "TRI.N"));
    let frames = world.frames();
    assert!(frames.contains(&"B accept 2 as item 0".to_owned()), "{frames:?}");
    assert!(frames.iter().any(|frame| frame.starts_with("A #3 image snapshot")), "{frames:?}");
    // The snapshot is over with its image, and the stream goes on.
    world.close(B, 2);
    assert_eq!(world.heard_by(sources[0]), ["Close 4"]);
}

#[test]
fn a_private_stream_is_its_requesters_alone_and_never_shared() {
    let (mut world, source) = live(config(1));
    let private = RequestMsg {
        flags: RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM,
        ..item_request(1, "TRI.N")
    };
    world.open_with(B, 2, &private);
    world.open_with(B, 3, &private);
    assert_eq!(
        world.heard_by(source),
        ["Request 4 1:TRI.N streaming private", "Request 5 1:TRI.N streaming private"]
    );
    let answer = provider::refresh_with(4, "TRI.N", |msg| {
        msg.flags.insert(RefreshFlags::PRIVATE_STREAM);
    });
    world.forget();
    world.says(source, &answer);
    assert_eq!(world.frames(), [format!("all #1 image private {IMAGE}")]);
    // An answer that is not private refuses the request.
    world.says(source, &provider::refresh(5, "TRI.N"));
    assert_eq!(
        world.frames(),
        ["all #1 last private Status Closed / Suspect / None / \
          'Provider does not give a private stream.'"]
    );
    assert_eq!(world.heard_by(source), ["Close 5"]);
}

#[test]
fn the_provider_is_told_the_highest_class_and_the_sum_of_counts() {
    let (mut world, source) = live(config(1));
    let priority = Some(Priority { class: 5, count: 10 });
    world.open_with(B, 2, &RequestMsg { priority, ..item_request(1, "TRI.N") });
    assert_eq!(world.heard_by(source), ["Request 3 1:TRI.N streaming priority 5/11"]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    world.close(A, 7);
    assert_eq!(world.heard_by(source), ["Request 3 1:TRI.N streaming no-refresh priority 5/10"]);
}

#[test]
fn the_provider_is_paused_only_when_all_have_paused() {
    let mut config = config(1);
    config.pause_upstream = true;
    let (mut world, source) = live(config);
    world.open(B, 2, "TRI.N");
    world.says(source, &provider::refresh(3, "TRI.N"));
    world.heard_by(source);
    let pause = RequestMsg {
        flags: RequestFlags::STREAMING | RequestFlags::PAUSE,
        ..item_request(1, "TRI.N")
    };
    world.reissue(A, 7, &pause);
    assert_eq!(world.heard_by(source), [""; 0]);
    world.reissue(B, 2, &pause);
    assert_eq!(
        world.heard_by(source),
        ["Request 3 1:TRI.N streaming no-refresh pause priority 1/2"]
    );
    world.forget();
    world.reissue(B, 2, &item_request(1, "TRI.N"));
    assert_eq!(world.heard_by(source), ["Request 3 1:TRI.N streaming priority 1/2"]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    assert_eq!(world.frames(), [format!("B #1 image {IMAGE}")]);
}

#[test]
fn a_private_stream_is_changed_by_its_requester_as_it_likes() {
    let (mut world, source) = live(config(1));
    let private = RequestMsg {
        flags: RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM,
        ..item_request(1, "TRI.N")
    };
    world.open_with(B, 2, &private);
    let answer = provider::refresh_with(4, "TRI.N", |msg| {
        msg.flags.insert(RefreshFlags::PRIVATE_STREAM);
    });
    world.says(source, &answer);
    world.heard_by(source);
    world.forget();
    let flags = private.flags | RequestFlags::PAUSE;
    world.reissue(B, 2, &RequestMsg { flags, ..private });
    assert_eq!(world.heard_by(source), ["Request 4 1:TRI.N streaming no-refresh pause private"]);
    world.reissue(B, 2, &private);
    assert_eq!(world.heard_by(source), ["Request 4 1:TRI.N streaming private"]);
    world.says(source, &answer);
    assert_eq!(world.frames(), [format!("B #1 image private {IMAGE}")]);
}

#[test]
fn every_image_of_a_private_stream_is_for_its_requester() {
    let (mut world, source) = live(config(1));
    let private = RequestMsg {
        flags: RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM,
        ..item_request(1, "TRI.N")
    };
    world.open_with(B, 2, &private);
    // Before the first image is there.
    world.reissue(B, 2, &private);
    let answer = provider::refresh_with(4, "TRI.N", |msg| {
        msg.flags.insert(RefreshFlags::PRIVATE_STREAM);
    });
    world.says(source, &answer);
    world.heard_by(source);
    world.forget();
    world.says(source, &answer);
    assert_eq!(world.frames(), [format!("B #1 image private {IMAGE}")]);
}

#[test]
fn an_answer_that_changes_the_state_is_for_all() {
    let (mut world, source) = live(config(1));
    let state = State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "hm");
    world.says(source, &provider::status(3, state));
    world.reissue(A, 0, &item_request(1, "TRI.N"));
    world.forget();
    world.says(source, &provider::refresh(3, "TRI.N"));
    assert_eq!(world.frames(), [format!("all #3 image {IMAGE}")]);
}

#[test]
fn an_image_that_is_given_up_in_the_middle_does_not_take_the_next_one_along() {
    let (mut world, sources) = World::with_sources(config(1));
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    let unasked = |number| {
        provider::refresh_with(3, "TRI.N", |msg| {
            msg.part_num = Some(number);
            msg.flags = RefreshFlags::empty();
        })
    };
    world.open(B, 1, "TRI.N");
    world.forget();
    // An image for all begins, and the answer to B comes in place of its rest.
    world.says(sources[0], &unasked(0));
    assert!(world.frames()[0].starts_with("all #"));
    world.says(sources[0], &provider::part(3, 0, false));
    world.says(sources[0], &provider::part(3, 1, true));
    let frames = world.frames();
    assert_eq!(frames.len(), 2);
    assert!(frames.iter().all(|line| line.starts_with("B #")), "{frames:?}");
}

#[test]
fn a_change_of_priority_waits_while_the_provider_does_not_keep_up() {
    let (mut world, sources) = World::with_sources(config(1));
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.open(B, 1, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.out.answer = Some(Sent::Slow);
    world.open(A, 8, "OTHER");
    world.heard_by(sources[0]);
    world.server_down(B);
    assert_eq!(world.heard_by(sources[0]), [""; 0]);
    world.out.answer = None;
    world.event(Event::Drained { session: sources[0] });
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming no-refresh"]);
    world.event(Event::Drained { session: sources[0] });
    assert_eq!(world.heard_by(sources[0]), [""; 0], "once");
}

#[test]
fn a_snapshot_that_is_served_when_nobody_else_is_left_ends_the_item_once() {
    let mut config = config(1);
    config.cache_interactive = true;
    let (mut world, sources) = World::with_sources(config);
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::part(3, 0, false));
    world.snapshot(B, 2, "TRI.N");
    world.close(A, 7);
    world.heard_by(sources[0]);
    world.forget();
    world.says(sources[0], &provider::part(3, 1, true));
    assert_eq!(world.frames().len(), 3, "to all, its acceptance, its own");
    assert_eq!(world.heard_by(sources[0]), ["Close 3"]);
    assert_eq!(world.core.counters().items, 0);
}

#[test]
fn a_private_stream_that_is_opened_paused_is_resumed_at_a_provider_that_pauses() {
    let mut config = config(1);
    config.pause_upstream = true;
    let (mut world, source) = live(config);
    let paused = RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM | RequestFlags::PAUSE;
    let private = RequestMsg { flags: paused, ..item_request(1, "TRI.N") };
    world.open_with(B, 2, &private);
    assert_eq!(world.heard_by(source), ["Request 4 1:TRI.N streaming pause private"]);
    let flags = paused - RequestFlags::PAUSE;
    world.reissue(B, 2, &RequestMsg { flags, ..private });
    assert_eq!(world.heard_by(source), [""; 0], "not before the image");
    let answer = provider::refresh_with(4, "TRI.N", |msg| {
        msg.flags.insert(RefreshFlags::PRIVATE_STREAM);
    });
    world.says(source, &answer);
    assert_eq!(world.heard_by(source), ["Request 4 1:TRI.N streaming private"]);
}
