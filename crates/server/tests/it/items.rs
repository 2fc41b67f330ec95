//! Requests for items, and what becomes of their streams.

use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_omm::qos::QosWish;
use tapeline_rwf::{
    CloseFlags, CloseMsg, DataState, Domain, GenericMsg, Msg, MsgKey, Qos, Rate, RefreshFlags,
    RefreshMsg, State, StateCode, StatusMsg, StreamState, UpdateMsg,
};
use tapeline_server::ServerConfig;

use crate::support::*;

type Change = fn(&mut tapeline_omm::market::ItemRequest<'_>);

const SNAPSHOT: Change = |it| it.streaming = false;

#[test]
fn a_request_without_a_service_is_closed() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", |it| it.key.service_id = None));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE TRI.N Closed / Suspect / None / 'Passed in request message \
             does not identify any service.'"]
    );
}

#[test]
fn requests_that_cannot_be_served_now_wait_if_the_server_recovers() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    let cases: [(&str, Change); 3] = [
        ("Service not available", |it| it.key.service_id = Some(99)),
        ("Capability not supported", |it| it.domain = Domain::HISTORY),
        ("Service does not provide a matching QoS", |it| {
            it.qos =
                QosWish::Exact(Qos { rate: Rate::JIT_CONFLATED, ..Qos::REALTIME_TICK_BY_TICK });
        }),
    ];
    for (stream_id, (text, change)) in (5..).zip(cases) {
        world.say(consumer, &item_request(stream_id, "TRI.N", change));
        let heard = world.heard(consumer);
        assert!(heard[0].ends_with(&format!("Open / Suspect / None / '{text}'")), "{heard:?}");
    }
    assert_eq!(world.published(), [""; 0]);
    // Service 99 comes.
    world.hub_update(HUB, vec![service(99, "NEW", true)]);
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@99 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    world.accept(HUB, 3, 0);
    world.item(HUB, 3, 1, &image(&[(22, 1)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@99 solicited clear Open / Ok / None / 'All is well' \
             {22=1}"]
    );
}

#[test]
fn requests_for_a_service_that_is_down_are_told_by_who_recovers() {
    for (single_open, allow_suspect_data, told) in [
        (true, true, "Open"),
        (true, false, "Open"),
        (false, true, "ClosedRecover"),
        (false, false, "ClosedRecover"),
    ] {
        let mut world = World::with_feed();
        world.hub_update(HUB, vec![service_state(1, false)]);
        let consumer = world.connect();
        world.say(consumer, &login_with(single_open, allow_suspect_data));
        world.heard(consumer);
        world.say(consumer, &request(5, "TRI.N"));
        assert_eq!(
            world.heard(consumer),
            [format!("STATUS 5 MARKET_PRICE TRI.N@1 {told} / Suspect / None / 'Service not up'")]
        );
        world.hub_update(HUB, vec![service_state(1, true)]);
        let is_asked = world.published().len() == 1;
        assert_eq!(is_asked, single_open);
    }
}

#[test]
fn a_pending_request_may_be_closed_and_its_stream_used_again() {
    let mut world = World::with_feed();
    world.hub_update(HUB, vec![service_state(1, false)]);
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.say(consumer, &close(5));
    world.heard(consumer);
    world.hub_update(HUB, vec![service_state(1, true)]);
    assert_eq!(world.published(), [""; 0]);
    world.open_item(consumer, 5, "IBM.N", 1);
}

#[test]
fn an_item_that_is_not_found_is_closed_for_everybody() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.say(first, &request(5, "NO.SUCH"));
    world.say(second, &request(6, "NO.SUCH"));
    assert_eq!(world.published().len(), 1);
    world.accept(HUB, 17, 0);
    let state = State::new(
        StreamState::CLOSED,
        DataState::SUSPECT,
        StateCode::NOT_FOUND,
        "The record could not be found",
    );
    let msg = StatusMsg { state: Some(state), ..StatusMsg::new(Domain::MARKET_PRICE, 0) };
    world.item_with(HUB, 17, 1, FrameFlags::LAST, &encoded(&msg.into()));
    for (consumer, stream_id) in [(first, 5), (second, 6)] {
        assert_eq!(
            world.heard(consumer),
            [format!(
                "STATUS {stream_id} MARKET_PRICE NO.SUCH@1 Closed / Suspect / NotFound / 'The \
                 record could not be found'"
            )]
        );
    }
    assert_eq!(world.published(), [""; 0], "the hub knows");
    assert_eq!(world.core.statistics().items, 0);
    world.open_item(first, 5, "TRI.N", 18);
}

#[test]
fn a_snapshot_is_one_image_and_over() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", SNAPSHOT));
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 1/1 REALTIME/TICK_BY_TICK"]
    );
    world.accept(HUB, 17, 0);
    let state = State::new(StreamState::NON_STREAMING, DataState::OK, StateCode::NONE, "");
    world.item_to_us(HUB, 17, 0, &image_of(state, &[(22, 1)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear NonStreaming / Ok / None / '' {22=1}"]
    );
    assert_eq!(world.core.statistics().items, 0);
    world.open_item(consumer, 5, "TRI.N", 18);
}

#[test]
fn a_snapshot_that_is_asked_for_as_a_stream_becomes_one() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.say(first, &item_request(5, "TRI.N", SNAPSHOT));
    world.published();
    world.say(second, &request(6, "TRI.N"));
    assert_eq!(
        world.published(),
        [
            "Close 100 0",
            "Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK",
        ]
    );
    // The hub has answered the snapshot already.
    world.accept(HUB, 17, 0);
    let state = State::new(StreamState::NON_STREAMING, DataState::OK, StateCode::NONE, "");
    let mut header = FrameHeader::new(Kind::Item, SERVER, 17);
    (header.sender, header.flags) = (HUB, FrameFlags::IMAGE | FrameFlags::SNAPSHOT);
    world.frame(header, &image_of(state, &[(22, 1)]));
    world.accept(HUB, 18, 0);
    world.item(HUB, 18, 1, &image(&[(22, 2)]));
    assert_eq!(
        world.heard(first),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear NonStreaming / Ok / None / \
             'All is well' {22=2}"]
    );
    assert_eq!(
        world.heard(second),
        ["REFRESH 6 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=2}"]
    );
    world.item(HUB, 18, 2, &update(&[(22, 3)]));
    assert_eq!(world.heard(first), [""; 0]);
    assert_eq!(world.heard(second).len(), 1);
}

/// The first or the last part of the image of a snapshot that is suspect.
fn suspect_part(world: &mut World, number: u16) {
    let state = State::new(StreamState::NON_STREAMING, DataState::SUSPECT, StateCode::NONE, "old");
    let flags = match number {
        0 => RefreshFlags::CLEAR_CACHE,
        _ => RefreshFlags::REFRESH_COMPLETE,
    };
    let head = RefreshMsg::new(Domain::MARKET_PRICE, 0);
    let head = RefreshMsg { flags, state, part_num: Some(number), ..head };
    let mut header = FrameHeader::new(Kind::Item, SERVER, 17);
    (header.sender, header.flags) = (HUB, FrameFlags::IMAGE | FrameFlags::SNAPSHOT);
    world.frame(header, &with_fields(&head.into(), &[(22, 1)]));
}

#[test]
fn what_becomes_a_stream_in_the_middle_of_a_suspect_snapshot_is_not_over() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.say(first, &item_request(5, "TRI.N", SNAPSHOT));
    world.accept(HUB, 17, 0);
    suspect_part(&mut world, 0);
    world.published();
    world.say(second, &request(6, "TRI.N"));
    assert_eq!(
        world.heard(second),
        ["STATUS 6 MARKET_PRICE TRI.N@1 Open / Suspect / None / 'old'"]
    );
    assert_eq!(
        world.published(),
        [
            "Close 100 0",
            "Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK",
        ]
    );
    world.accept(HUB, 18, 0);
    world.item(HUB, 18, 1, &image(&[(22, 2)]));
    world.item(HUB, 18, 2, &update(&[(22, 3)]));
    let heard = world.heard(second);
    assert!(heard.len() == 2 && heard[0].contains(" Open / Ok / None / "), "{heard:?}");
}

#[test]
fn a_snapshot_that_is_asked_for_in_the_middle_of_a_suspect_one_gets_its_image() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.say(first, &item_request(5, "TRI.N", SNAPSHOT));
    world.accept(HUB, 17, 0);
    suspect_part(&mut world, 0);
    world.say(second, &item_request(6, "TRI.N", SNAPSHOT));
    assert_eq!(
        world.heard(second),
        ["STATUS 6 MARKET_PRICE TRI.N@1 Open / Suspect / None / 'old'"]
    );
    world.published();
    suspect_part(&mut world, 1);
    assert_eq!(world.heard(second), [""; 0], "it has not had the first part");
    assert_eq!(world.published().len(), 1, "another snapshot is asked for");
    world.accept(HUB, 18, 0);
    let state = State::new(StreamState::NON_STREAMING, DataState::OK, StateCode::NONE, "");
    world.item_to_us(HUB, 18, 0, &image_of(state, &[(22, 2)]));
    let heard = world.heard(second);
    assert!(heard.len() == 1 && heard[0].contains(" NonStreaming / Ok / "), "{heard:?}");
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn a_snapshot_with_a_hole_is_asked_for_anew_when_its_hub_has_done_with_it() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", SNAPSHOT));
    world.published();
    world.accept(HUB, 17, 0);
    let part = |world: &mut World, seq: u32, number: u16, flags: FrameFlags| {
        let mut header = FrameHeader::new(Kind::Item, SERVER, 17);
        (header.sender, header.target, header.item_seq) = (HUB, Incarnation::ALL, seq);
        header.flags = FrameFlags::IMAGE | FrameFlags::SNAPSHOT | flags;
        world.frame(header, &image_part(number, !flags.is_empty(), &[(22, 1)]));
    };
    part(&mut world, 1, 0, FrameFlags::empty());
    part(&mut world, 3, 2, FrameFlags::LAST);
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 1/1 REALTIME/TICK_BY_TICK"],
        "and no image of a request that is over"
    );
}

/// An item that others have as a stream does not end with a snapshot of it: what is
/// sent to one server is not marked as the last.
#[test]
fn a_snapshot_whose_beginning_was_lost_is_asked_for_anew() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", SNAPSHOT));
    world.published();
    world.accept(HUB, 17, 0);
    suspect_part(&mut world, 1);
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 1/1 REALTIME/TICK_BY_TICK"],
        "and no image of a request that is over"
    );
}

#[test]
fn a_snapshot_of_a_streaming_item_comes_from_the_cache() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &item_request(8, "TRI.N", SNAPSHOT));
    assert_eq!(
        world.heard(second),
        ["REFRESH 8 MARKET_PRICE TRI.N@1 solicited clear NonStreaming / Ok / None / \
             'All is well' {22=100 25=101}"]
    );
    world.item(HUB, 17, 2, &update(&[(22, 1)]));
    assert_eq!(world.heard(second), [""; 0]);
    assert_eq!(world.heard(first).len(), 1);
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn without_a_cache_a_newcomer_costs_a_reissue_that_the_others_do_not_see() {
    let mut world = World::feed_with(ServerConfig { cache: false, ..ServerConfig::default() });
    let (first, second, third) = (world.mount(), world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &request(8, "TRI.N"));
    world.say(third, &request(9, "TRI.N"));
    assert_eq!(
        world.published(),
        ["Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    // No update before the image.
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard(second), [""; 0]);
    world.item_to_us(HUB, 17, 2, &image(&[(22, 7), (25, 101)]));
    for (consumer, stream_id) in [(second, 8), (third, 9)] {
        assert_eq!(
            world.heard(consumer),
            [format!(
                "REFRESH {stream_id} MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / \
                 'All is well' {{22=7 25=101}}"
            )]
        );
    }
    assert_eq!(world.heard(first), ["UPDATE 5 MARKET_PRICE QUOTE {22=7}"]);
    world.item(HUB, 17, 3, &update(&[(22, 8)]));
    for consumer in [first, second, third] {
        assert_eq!(world.heard(consumer).len(), 1);
    }
}

#[test]
fn an_item_is_kept_as_the_word_for_its_service_is() {
    let is_asked_again = |cache, service: &str, of_service| {
        let service_cache = [(service.to_owned(), of_service)].into();
        let config = ServerConfig { cache, service_cache, ..ServerConfig::default() };
        let mut world = World::feed_with(config);
        let (first, second) = (world.mount(), world.mount());
        world.open_item(first, 5, "TRI.N", 17);
        world.published();
        world.say(second, &request(8, "TRI.N"));
        !world.published().is_empty()
    };
    assert!(is_asked_again(true, "FEED", false));
    assert!(!is_asked_again(false, "FEED", true));
    assert!(!is_asked_again(true, "OTHER", false));
}

#[test]
fn a_newcomer_in_the_middle_of_an_image_gets_its_own() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.say(first, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.published();
    world.item(HUB, 17, 1, &image_part(0, false, &[(22, 1)]));
    world.say(second, &request(6, "TRI.N"));
    world.item(HUB, 17, 2, &update(&[(22, 2)]));
    world.item(HUB, 17, 3, &image_part(1, true, &[(25, 3)]));
    assert_eq!(
        world.heard(first),
        [
            "REFRESH 5 MARKET_PRICE TRI.N@1 solicited incomplete clear part0 Open / Ok / None / \
             '' {22=1}",
            "UPDATE 5 MARKET_PRICE QUOTE {22=2}",
            "REFRESH 5 MARKET_PRICE solicited part1 Open / Ok / None / '' {25=3}",
        ]
    );
    assert_eq!(
        world.heard(second),
        ["REFRESH 6 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / '' {22=2 25=3}"]
    );
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn an_unsolicited_image_goes_to_everybody() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &request(6, "TRI.N"));
    world.heard(second);
    world.item(HUB, 17, 2, &image(&[(22, 9)]));
    for (consumer, stream_id) in [(first, 5), (second, 6)] {
        assert_eq!(
            world.heard(consumer),
            [format!(
                "REFRESH {stream_id} MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {{22=9}}"
            )]
        );
    }
}

#[test]
fn the_key_is_in_every_message_where_it_was_asked_for() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", |it| it.key_in_updates = true));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    world.heard(consumer);
    world.item(HUB, 17, 2, &update(&[(22, 2)]));
    world.item(HUB, 17, 3, &status(StreamState::OPEN, DataState::SUSPECT, "stale"));
    world.item(HUB, 17, 4, &image(&[(22, 1)]));
    assert_eq!(
        world.heard(consumer),
        [
            "UPDATE 5 MARKET_PRICE TRI.N@1 QUOTE {22=2}",
            "STATUS 5 MARKET_PRICE TRI.N@1 Open / Suspect / None / 'stale'",
            "REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=1}",
        ]
    );
}

#[test]
fn the_number_that_a_hub_gives_a_service_never_reaches_a_consumer() {
    let mut world = World::new();
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "A", true)]);
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "B", true)]);
    world.published();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", |it| it.key.service_id = Some(2)));
    assert_eq!(
        world.published(),
        ["Open 200 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    world.accept(HUB_2, 17, 0);
    world.item(HUB_2, 17, 1, &image(&[]));
    let key = MsgKey::item(1, "TRI.N");
    let head = UpdateMsg { key: Some(key), ..UpdateMsg::new(Domain::MARKET_PRICE, 0) };
    world.item(HUB_2, 17, 2, &update_msg(head, &[(22, 1)]));
    assert_eq!(
        world.heard(consumer),
        [
            "REFRESH 5 MARKET_PRICE TRI.N@2 solicited clear Open / Ok / None / 'All is well' {}",
            "UPDATE 5 MARKET_PRICE UNSPECIFIED {22=1}",
        ]
    );
}

#[test]
fn an_item_is_not_open_twice_on_one_mount() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &request(6, "TRI.N"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 6 MARKET_PRICE TRI.N@1 ClosedRecover / Suspect / UsageError / 'Request \
             Message rejected - Item already open with exact same message key on another stream.'"]
    );
    world.say(consumer, &close(5));
    world.published();
    world.open_item(consumer, 6, "TRI.N", 18);
}

#[test]
fn snapshots_that_are_waited_for_do_not_count_as_open() {
    let mut world = World::with_feed();
    let (other, consumer) = (world.mount(), world.mount());
    world.say(other, &request(5, "TRI.N"));
    let snapshot = |stream_id| item_request(stream_id, "TRI.N", |it| it.streaming = false);
    for stream_id in [10, 3, 20] {
        world.say(consumer, &snapshot(stream_id));
    }
    world.say(consumer, &request(15, "TRI.N"));
    assert_eq!(world.heard(consumer), [""; 0], "all wait for the hub");
    for stream_id in [2, 30] {
        world.say(consumer, &request(stream_id, "TRI.N"));
        assert!(world.heard(consumer)[0].contains("Item already open"), "{stream_id}");
    }
    world.say(consumer, &snapshot(12));
    world.say(consumer, &close(15));
    world.say(consumer, &request(30, "TRI.N"));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    let mut heard: Vec<_> = world.heard(consumer);
    heard.sort_unstable();
    let begins: Vec<_> = heard.iter().map(|it| it.split(" MARKET").next().unwrap()).collect();
    let all = ["REFRESH 10", "REFRESH 12", "REFRESH 20", "REFRESH 3", "REFRESH 30"];
    assert_eq!(begins, all);
    world.item(HUB, 17, 2, &update(&[(22, 2)]));
    assert_eq!(world.heard(consumer), ["UPDATE 30 MARKET_PRICE QUOTE {22=2}"]);
}

#[test]
fn where_it_is_allowed_an_item_is_open_twice() {
    let config = ServerConfig { allow_same_item_twice: true, ..ServerConfig::default() };
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &request(6, "TRI.N"));
    world.heard(consumer);
    world.item(HUB, 17, 2, &update(&[(22, 2)]));
    assert_eq!(
        world.heard(consumer),
        ["UPDATE 5 MARKET_PRICE QUOTE {22=2}", "UPDATE 6 MARKET_PRICE QUOTE {22=2}"]
    );
}

#[test]
fn a_close_is_acknowledged_where_that_is_asked_for() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    let msg = CloseMsg { flags: CloseFlags::ACK, ..CloseMsg::new(Domain::MARKET_PRICE, 5) };
    world.say(consumer, &bytes(msg));
    assert_eq!(world.heard(consumer), ["ACK 5 MARKET_PRICE id5"]);
    world.say(consumer, &close(77));
    assert_eq!(world.heard(consumer), [""; 0], "an unknown stream");
}

#[test]
fn a_snapshot_that_becomes_a_stream_is_one_request() {
    let mut config = ServerConfig::default();
    config.limits.open_window = 1;
    let mut world = World::feed_with(config);
    let (first, second) = (world.mount(), world.mount());
    world.say(first, &item_request(5, "TRI.N", SNAPSHOT));
    world.published();
    world.say(second, &request(6, "TRI.N"));
    let published = world.published();
    assert_eq!(published[0], "Close 100 0");
    assert!(published[1].contains(" TRI.N@1 streaming "), "{published:?}");
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    world.say(second, &request(7, "IBM.N"));
    assert_eq!(world.published().len(), 1);
}

#[test]
fn a_stream_that_moves_to_another_item_is_told_where() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    let state = State::new(StreamState::REDIRECTED, DataState::OK, StateCode::NONE, "moved");
    let key = MsgKey::item(40, "NEW.N");
    let msg =
        StatusMsg { state: Some(state), key: Some(key), ..StatusMsg::new(Domain::MARKET_PRICE, 0) };
    world.item_with(HUB, 17, 2, FrameFlags::LAST, &encoded(&msg.into()));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE NEW.N@1 ClosedRedirected / Ok / None / 'moved'"]
    );
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn generic_messages_go_both_ways() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &request(6, "TRI.N"));
    world.heard(second);
    world.say(first, &generic(5, "question"));
    assert_eq!(world.published(), ["Generic 100 0 GENERIC 0 MARKET_PRICE question"]);
    world.item(HUB, 17, 2, &generic(0, "answer"));
    assert_eq!(world.heard(first), ["GENERIC 5 MARKET_PRICE answer"]);
    assert_eq!(world.heard(second), ["GENERIC 6 MARKET_PRICE answer"]);
    world.say(first, &generic(99, "to nobody"));
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn a_generic_message_of_a_provider_names_the_service_as_consumers_know_it() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    let key = MsgKey { service_id: Some(40), name: Some(b"answer"), ..MsgKey::EMPTY };
    let msg = GenericMsg { key: Some(key), ..GenericMsg::new(Domain::MARKET_PRICE, 0) };
    world.item(HUB, 17, 2, &encoded(&msg.into()));
    let sent = world.heard_bytes(consumer);
    let [Ok(Msg::Generic(told))] = [Msg::decode(&sent[0])] else { panic!("a generic message") };
    let key = told.key.expect("a key");
    let expected = (5, Some(1), Some(b"answer".as_slice()));
    assert_eq!((told.stream_id, key.service_id, key.name), expected);
}
