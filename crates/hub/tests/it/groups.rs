//! States for many items at once: by service, by group.

use crate::support::{self, A, World, config, provider};
use tapeline_channel::SessionId;
use tapeline_omm::directory::{FilterContent, ServiceGroupInfo, ServiceState};
use tapeline_omm::{GroupId, StateBuf};
use tapeline_rwf::{DataState, RefreshFlags, StateCode, StreamState};

fn group(bytes: &[u8]) -> GroupId {
    GroupId::try_from(bytes).expect("short")
}

fn suspect(text: &str) -> StateBuf {
    StateBuf::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, text)
}

fn closed(text: &str) -> StateBuf {
    StateBuf::new(StreamState::CLOSED_RECOVER, DataState::SUSPECT, StateCode::NONE, text)
}

fn group_says(id: &[u8], merged: Option<&[u8]>, status: Option<StateBuf>) -> Vec<u8> {
    provider::change(FilterContent::Group(ServiceGroupInfo {
        group: Some(group(id)),
        merged_to_group: merged.map(group),
        status,
    }))
}

/// Three items: TRI.N of group 1, IBM.N of group 2, one without an answer.
fn grouped() -> (World, SessionId) {
    let (mut world, sources) = World::with_sources(config(1));
    for (request, name, id) in [(0, "TRI.N", [0, 1]), (1, "IBM.N", [0, 2])] {
        world.open(A, request, name);
        let stream_id = 3 + request as i32;
        let refresh = provider::refresh_with(stream_id, name, |msg| {
            msg.group_id = if id[1] == 1 { &[0, 1] } else { &[0, 2] };
        });
        world.says(sources[0], &refresh);
    }
    world.open(A, 2, "MSFT.O");
    world.heard_by(sources[0]);
    world.forget();
    (world, sources[0])
}

#[test]
fn a_state_of_a_group_is_one_of_each_of_its_items_and_the_group_is_not_passed_on() {
    let (mut world, source) = grouped();
    world.says(source, &group_says(&[0, 2], None, Some(suspect("line down"))));
    assert_eq!(
        world.out.frames.iter().map(|(header, _)| header.item).collect::<Vec<_>>(),
        [1],
        "IBM.N alone, and no directory"
    );
    assert_eq!(world.frames(), ["all #2 Status Open / Suspect / None / 'line down'"]);
}

#[test]
fn groups_merge_after_their_state_was_applied() {
    let (mut world, source) = grouped();
    world.says(source, &group_says(&[0, 1], Some(&[0, 2]), None));
    world.says(source, &group_says(&[0, 1], None, Some(suspect("nobody is left"))));
    assert_eq!(world.frames(), [""; 0]);
    world.says(source, &group_says(&[0, 2], None, Some(suspect("both"))));
    assert_eq!(world.frames().len(), 2);
}

#[test]
fn a_status_may_move_an_item_to_another_group() {
    let (mut world, source) = grouped();
    let moved = tapeline_rwf::StatusMsg {
        group_id: Some(&[0, 2]),
        ..tapeline_rwf::StatusMsg::new(tapeline_rwf::Domain::MARKET_PRICE, 3)
    };
    world.says(source, &support::encode(&moved.into()));
    world.forget();
    world.says(source, &group_says(&[0, 2], None, Some(suspect("both"))));
    assert_eq!(world.frames().len(), 2);
}

#[test]
fn a_state_of_the_service_is_for_all_items_that_had_an_answer() {
    let (mut world, source) = grouped();
    let state =
        ServiceState { status: Some(suspect("maintenance")), ..ServiceState::new(true, true) };
    world.says(source, &provider::change(FilterContent::State(state)));
    assert_eq!(
        world.frames(),
        [
            "all #2 Status Open / Suspect / None / 'maintenance'",
            "all #2 Status Open / Suspect / None / 'maintenance'",
        ],
        "the state is for once: the directory has not changed"
    );
}

#[test]
fn a_service_that_closes_its_items_and_goes_down_is_asked_again_when_it_is_up() {
    let (mut world, source) = grouped();
    let state = ServiceState { status: Some(closed("restart")), ..ServiceState::new(false, true) };
    world.says(source, &provider::change(FilterContent::State(state)));
    assert_eq!(
        world.frames(),
        [
            "all #2 Status Open / Suspect / None / 'restart'",
            "all #2 Status Open / Suspect / None / 'restart'",
            "all directory change: 1 down",
        ]
    );
    assert_eq!(world.heard_by(source), [""; 0]);
    world.says(source, &provider::change(FilterContent::State(ServiceState::new(true, true))));
    assert_eq!(
        world.heard_by(source),
        ["Request 6 1:TRI.N streaming", "Request 7 1:IBM.N streaming"]
    );
}

#[test]
fn a_stream_that_ended_with_its_service_is_closed_there_if_a_change_was_on_its_way() {
    let (mut world, source) = grouped();
    // The next image is asked for, and the source has ended the stream with all
    // others: to it that is a new request, and one on another stream is refused.
    world.reissue(A, 0, &support::item_request(1, "TRI.N"));
    world.heard_by(source);
    world.says(source, &group_says(&[0, 1], None, Some(closed("moved"))));
    assert_eq!(world.heard_by(source), ["Close 3", "Request 6 1:TRI.N streaming"]);
}

#[test]
fn a_service_that_closes_its_items_and_stays_up_is_asked_again_at_once() {
    let (mut world, source) = grouped();
    world.says(source, &group_says(&[0, 1], None, Some(closed("moved"))));
    assert_eq!(world.frames(), ["all #2 Status Open / Suspect / None / 'moved'"]);
    assert_eq!(world.heard_by(source), ["Request 6 1:TRI.N streaming"]);
}

#[test]
fn a_group_is_known_with_the_first_part_of_an_image() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 0, "TRI.N");
    let part = |number, id: &'static [u8]| {
        provider::refresh_with(3, "TRI.N", |msg| {
            msg.part_num = Some(number);
            msg.flags.set(RefreshFlags::REFRESH_COMPLETE, number == 1);
            msg.group_id = id;
        })
    };
    world.says(sources[0], &part(0, &[0, 1]));
    world.heard_by(sources[0]);
    world.forget();
    world.says(sources[0], &group_says(&[0, 1], None, Some(closed("moved"))));
    assert_eq!(world.frames(), ["all #2 Status Open / Suspect / None / 'moved'"]);
    assert_eq!(world.heard_by(sources[0]), ["Request 4 1:TRI.N streaming"]);
}

#[test]
fn the_rest_of_an_image_need_not_name_the_group_again() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 0, "TRI.N");
    for number in 0..2 {
        let part = provider::refresh_with(3, "TRI.N", |msg| {
            msg.part_num = Some(number);
            msg.flags.set(RefreshFlags::REFRESH_COMPLETE, number == 1);
            msg.group_id = if number == 0 { &[0, 1] } else { &[] };
        });
        world.says(sources[0], &part);
    }
    world.forget();
    world.says(sources[0], &group_says(&[0, 1], None, Some(suspect("line down"))));
    assert_eq!(world.frames(), ["all #3 Status Open / Suspect / None / 'line down'"]);
}

#[test]
fn a_group_is_that_of_the_source_that_has_the_item_now() {
    let (mut world, sources) = World::with_sources(config(2));
    world.open(A, 0, "TRI.N");
    let (first, second) = match world.heard_by(sources[0]).is_empty() {
        true => (sources[1], sources[0]),
        false => (sources[0], sources[1]),
    };
    world.heard_by(second);
    let refresh = provider::refresh_with(3, "TRI.N", |msg| msg.group_id = &[0, 1]);
    world.says(first, &refresh);
    world.closed(first);
    assert_eq!(world.heard_by(second), ["Request 3 1:TRI.N streaming"]);
    let part = provider::refresh_with(3, "TRI.N", |msg| {
        msg.part_num = Some(0);
        msg.flags.remove(RefreshFlags::REFRESH_COMPLETE);
        msg.group_id = &[0, 2];
    });
    world.says(second, &part);
    world.forget();
    world.says(second, &group_says(&[0, 1], None, Some(closed("moved"))));
    assert_eq!((world.frames(), world.heard_by(second)), (vec![], vec![]));
}
