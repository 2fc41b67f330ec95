//! A consumer, message by message.

use std::time::Duration;

use crate::sim::{Sim, encoded};
use tapeline_api::{
    ApiError, ConsumerEvent, ConsumerInput, ItemChange, ItemSpec, Login, PostHead, Requests,
    ServiceSpec,
};
use tapeline_omm::batch::Batch;
use tapeline_omm::directory::{
    DirectoryUpdate, FilterContent, FilterEntry, ServiceEntry, ServiceGroupInfo, ServiceState,
};
use tapeline_omm::login::{LoginRefresh, LoginRtt};
use tapeline_omm::market::{Part, image, status};
use tapeline_omm::{GroupId, StateBuf};
use tapeline_rwf::{
    AckMsg, DataState, DataType, Domain, Encoded, Msg, RefreshMsg, RequestFlags, State, StateCode,
    StreamState, UpdateMsg,
};

const SUSPECT: &str = "Open / Suspect / None";

#[test]
fn login_directory_and_items_follow_each_other_and_items_are_asked_for_in_order() {
    let mut sim = Sim::new();
    for name in ["B", "A", "C"] {
        sim.open(name);
    }
    assert!(sim.sent().is_empty());
    sim.ready();
    assert_eq!(sim.told(), ["up 0", "1 directory changes", "ready"]);
    assert_eq!(sim.sent(), ["REQUEST 5 B", "REQUEST 6 A", "REQUEST 7 C"]);
}

#[test]
fn a_request_names_service_quality_and_priority() {
    let mut sim = Sim::new();
    sim.ready();
    let spec = ItemSpec::new("FEED", "A").priority(3, 9);
    sim.ask(|requests| requests.open(&spec)).expect("room");
    let bytes = sim.wire.sent.pop().expect("a request");
    let Ok(Msg::Request(request)) = Msg::decode(&bytes) else { panic!("a request") };
    assert_eq!(request.key.service_id, Some(1));
    assert_eq!(request.qos, Some(tapeline_rwf::Qos::REALTIME_TICK_BY_TICK));
    assert_eq!(request.worst_qos, None);
    assert_eq!(request.priority, Some(tapeline_rwf::Priority { class: 3, count: 9 }));
    assert_eq!(request.flags & RequestFlags::STREAMING, RequestFlags::STREAMING);
}

#[test]
fn a_lost_connection_is_told_in_the_order_of_the_vendors_library() {
    let mut sim = Sim::new();
    sim.ready();
    sim.open("A");
    sim.open("B");
    sim.image(5);
    sim.told();
    sim.input(ConsumerInput::Closed { reason: "gone" });
    let down = format!("{SUSPECT} / 'channel down.'");
    assert_eq!(
        sim.told(),
        [
            "down 0: gone".to_owned(),
            "1 directory changes".into(),
            format!("0: {down}"),
            format!("1: {down}")
        ]
    );
    sim.sent();
    sim.ready();
    assert_eq!(sim.wire.dialled, [0, 1]);
    assert_eq!(sim.sent(), ["REQUEST 5 A", "REQUEST 6 B"]);
}

#[test]
fn states_of_a_service_and_of_groups_reach_the_items_they_are_for() {
    let mut sim = Sim::new();
    sim.ready();
    for (stream_id, group) in [(5, 1), (6, 2), (7, 2)] {
        sim.open("ITEM");
        let group_id = &[0, group];
        let refresh = image(Domain::MARKET_PRICE, stream_id, None, true, Part::ONLY);
        sim.msg(RefreshMsg { group_id, ..refresh });
    }
    sim.told();
    let state =
        |text: &str| StateBuf::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, text);
    let id = |group: u8| GroupId::try_from(&[0, group][..]).expect("short");
    let group = |group, merged: Option<u8>, status: Option<StateBuf>| {
        FilterEntry::update(FilterContent::Group(ServiceGroupInfo {
            group: Some(id(group)),
            merged_to_group: merged.map(id),
            status,
        }))
    };
    sim.service(group(2, None, Some(state("two"))));
    let told = |item, text| format!("{item}: {SUSPECT} / '{text}'");
    assert_eq!(sim.told()[1..], [told(1, "two"), told(2, "two")]);
    sim.service(group(2, Some(1), None));
    sim.told();
    sim.service(group(2, None, Some(state("nobody"))));
    sim.service(group(1, None, Some(state("all"))));
    let all = [told(0, "all"), told(1, "all"), told(2, "all")];
    assert_eq!(sim.told()[2..], all);
    let with_status =
        ServiceState { status: Some(state("service")), ..ServiceState::new(true, true) };
    sim.service(FilterEntry::update(FilterContent::State(with_status)));
    assert_eq!(sim.told()[1..], [0, 1, 2].map(|item| told(item, "service")));
}

#[test]
fn a_service_that_is_deleted_takes_its_items_along_until_it_comes_back() {
    let mut sim = Sim::new();
    sim.ready();
    sim.open("A");
    sim.image(5);
    sim.told();
    sim.sent();
    let gone = DirectoryUpdate::new(2, vec![ServiceEntry::delete(1)]);
    let bytes = encoded(|encoder| gone.encode(encoder));
    sim.message(&bytes);
    assert_eq!(
        sim.told(),
        [
            "1 directory changes".to_owned(),
            format!("0: {SUSPECT} / 'Service for this item was lost.'"),
            format!("0: {SUSPECT} / 'Service not available'"),
        ]
    );
    assert_eq!(sim.sent(), ["CLOSE 5"]);
    let back = DirectoryUpdate::new(2, vec![ServiceSpec::new(9, "FEED").entry()]);
    let bytes = encoded(|encoder| back.encode(encoder));
    sim.message(&bytes);
    assert_eq!(sim.sent(), ["REQUEST 6 A"], "what still comes on stream 5 is of the past");
}

#[test]
fn an_item_that_is_closed_with_recovery_again_and_again_is_asked_for_ever_slower() {
    let mut sim = Sim::new();
    sim.ready();
    sim.open("A");
    sim.sent();
    let state =
        State::new(StreamState::CLOSED_RECOVER, DataState::SUSPECT, StateCode::NONE, "later");
    sim.msg(status(Domain::MARKET_PRICE, 5, state));
    assert_eq!(sim.sent(), ["REQUEST 6 A"], "at once");
    sim.msg(status(Domain::MARKET_PRICE, 6, state));
    assert!(sim.sent().is_empty(), "not at once");
    sim.after(Duration::from_millis(999));
    assert!(sim.sent().is_empty());
    sim.after(Duration::from_millis(1));
    assert_eq!(sim.sent(), ["REQUEST 7 A"]);
    sim.image(7);
    sim.msg(status(Domain::MARKET_PRICE, 7, state));
    sim.after(Duration::from_secs(1));
    assert_eq!(sim.sent(), ["REQUEST 8 A"]);
    sim.image(8);
    sim.msg(status(Domain::MARKET_PRICE, 8, state));
    assert_eq!(sim.sent(), ["REQUEST 9 A"], "the last request had its image");
}

#[test]
fn a_request_without_an_answer_is_closed_and_made_again() {
    let mut sim = Sim::new();
    sim.ready();
    sim.open("A");
    sim.sent();
    sim.told();
    sim.after(Duration::from_millis(14_999));
    assert!(sim.told().is_empty());
    sim.after(Duration::from_millis(1));
    assert_eq!(sim.told(), ["0: Open / Suspect / Timeout / 'Request timeout'"]);
    assert_eq!(sim.sent(), ["CLOSE 5", "REQUEST 6 A"]);
}

#[test]
fn items_that_are_never_answered_keep_no_others_out_of_the_window() {
    let mut sim = Sim::new();
    sim.window = Some(1);
    sim.ready();
    for name in ["A", "B", "C"] {
        sim.open(name);
    }
    assert_eq!(sim.sent(), ["REQUEST 5 A"]);
    sim.after(Duration::from_secs(15));
    assert_eq!(sim.sent(), ["CLOSE 5", "REQUEST 6 B"]);
    sim.after(Duration::from_secs(15));
    assert_eq!(sim.sent(), ["CLOSE 6", "REQUEST 7 C"]);
    sim.after(Duration::from_secs(15));
    assert_eq!(sim.sent(), ["CLOSE 7", "REQUEST 8 A"]);
}

#[test]
fn the_stream_of_a_closed_item_rests_before_it_is_used_again() {
    let mut sim = Sim::new();
    sim.ready();
    let first = sim.open("A");
    sim.ask(|requests| requests.close(first));
    sim.open("B");
    sim.image(5);
    assert_eq!(sim.sent(), ["REQUEST 5 A", "CLOSE 5", "REQUEST 6 B", "CLOSE 5"]);
    assert!(!sim.told().iter().any(|told| told.contains("refresh")), "the image was for A");
    sim.now = sim.now.after(Duration::from_secs(10));
    sim.image(6);
    sim.time();
    sim.open("C");
    assert_eq!(sim.sent(), ["REQUEST 5 C"]);
}

#[test]
fn a_batch_is_one_message_and_its_items_have_the_streams_behind_it() {
    let mut sim = Sim::new();
    sim.ready_with(|refresh| refresh.features.support_batch_requests = Some(1));
    let spec = ItemSpec::new("FEED", "");
    let items = sim.ask(|requests| requests.open_batch(&spec, &["A", "B"])).expect("room");
    assert_eq!(items.iter().map(|item| item.index()).collect::<Vec<_>>(), [0, 1]);
    let bytes = sim.wire.sent.pop().expect("a request");
    assert!(sim.wire.sent.is_empty());
    let Ok(Msg::Request(request)) = Msg::decode(&bytes) else { panic!("a request") };
    let Ok(Some(Batch::Items(names))) = Batch::of_request(&request) else { panic!("a batch") };
    assert_eq!(names.iter().collect::<Vec<_>>(), [b"A", b"B"]);
    assert_eq!((request.stream_id, request.key.service_id), (5, Some(1)));
    sim.told();
    sim.msg(status(Domain::MARKET_PRICE, 5, tapeline_omm::batch::BATCH_DONE));
    sim.image(6);
    sim.image(7);
    assert_eq!(
        sim.told(),
        ["0: refresh Open / Ok / None / ''", "1: refresh Open / Ok / None / ''"]
    );
    assert_eq!(sim.ask(|requests| requests.open_items()), 2);
}

#[test]
fn a_batch_that_is_refused_is_asked_for_one_by_one() {
    let mut sim = Sim::new();
    let batches = |refresh: &mut LoginRefresh| refresh.features.support_batch_requests = Some(1);
    sim.ready_with(batches);
    let spec = ItemSpec::new("FEED", "");
    sim.ask(|requests| requests.open_batch(&spec, &["A", "B"])).expect("room");
    assert_eq!(sim.sent(), ["REQUEST 5 batch"]);
    let refused = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::USAGE_ERROR, "no");
    sim.msg(status(Domain::MARKET_PRICE, 5, refused));
    assert_eq!(sim.sent(), ["REQUEST 8 A", "REQUEST 9 B"]);
    sim.ask(|requests| requests.open_batch(&spec, &["C", "D"])).expect("room");
    assert_eq!(sim.sent(), ["REQUEST 10 batch"]);
    sim.input(ConsumerInput::Closed { reason: "gone" });
    sim.sent();
    // Another server may take it.
    sim.ready_with(batches);
    assert_eq!(sim.sent(), ["REQUEST 5 batch"]);
    sim.msg(status(Domain::MARKET_PRICE, 5, refused));
    assert_eq!(sim.sent(), ["REQUEST 10 A", "REQUEST 11 B", "REQUEST 12 C", "REQUEST 13 D"]);
    assert_eq!(sim.ask(|requests| requests.open_items()), 4);
}

#[test]
fn a_change_waits_for_the_image_that_is_on_its_way() {
    let mut sim = Sim::new();
    sim.ready_with(|refresh| {
        refresh.features.support_view_requests = Some(true);
        refresh.features.support_optimized_pause_resume = Some(true);
    });
    let item = sim.open("A");
    assert_eq!(sim.sent(), ["REQUEST 5 A"]);
    let view = tapeline_omm::view::View::of_fields([22]);
    let change = ItemChange { view: Some(Some(view)), ..ItemChange::default() };
    sim.ask(|requests| requests.change(item, change)).expect("open");
    assert!(sim.sent().is_empty());
    sim.image(5);
    assert_eq!(sim.sent(), ["REQUEST 5 A view"]);
    sim.image(5);
    sim.ask(|requests| requests.pause(item)).expect("open");
    assert_eq!(sim.sent(), ["REQUEST 5 A pause no-refresh view"]);
    let priority = Some(tapeline_rwf::Priority { class: 2, count: 1 });
    let change = ItemChange { priority, ..ItemChange::default() };
    sim.ask(|requests| requests.change(item, change)).expect("open");
    assert_eq!(sim.sent(), ["REQUEST 5 A pause no-refresh view"]);
}

#[test]
fn a_change_that_may_have_crossed_the_end_of_its_stream_is_followed_by_a_close() {
    let closed = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "ended");
    let mut sim = Sim::new();
    sim.ready_with(|refresh| refresh.features.support_optimized_pause_resume = Some(true));
    let (paused, resumed) = (sim.open("A"), sim.open("B"));
    sim.image(5);
    sim.image(6);
    sim.sent();
    sim.ask(|requests| requests.pause(paused)).expect("open");
    sim.ask(|requests| requests.pause(resumed)).expect("open");
    assert_eq!(sim.sent(), ["REQUEST 5 A pause no-refresh", "REQUEST 6 B pause no-refresh"]);
    sim.msg(status(Domain::MARKET_PRICE, 5, closed));
    assert_eq!(sim.sent(), ["CLOSE 5"], "the server may take the pause for a request");
    sim.ask(|requests| requests.close(resumed));
    assert_eq!(sim.sent(), ["CLOSE 6"], "once");
    sim.open("C");
    sim.image(7);
    sim.sent();
    sim.msg(status(Domain::MARKET_PRICE, 7, closed));
    assert!(sim.sent().is_empty(), "nothing crossed the end of this one");
}

#[test]
fn an_image_asked_for_that_may_have_crossed_the_end_of_its_stream_is_closed() {
    let closed = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "ended");
    let mut sim = Sim::new();
    sim.ready();
    let item = sim.open("A");
    sim.image(5);
    sim.sent();
    let change = ItemChange { refresh: true, ..ItemChange::default() };
    sim.ask(|requests| requests.change(item, change)).expect("open");
    assert_eq!(sim.sent().len(), 1);
    sim.msg(status(Domain::MARKET_PRICE, 5, closed));
    assert_eq!(sim.sent(), ["CLOSE 5"], "the server may take the change for a request");
    sim.open("A");
    assert!(!sim.sent()[0].contains("REQUEST 5 "), "the stream rests");
}

#[test]
fn a_view_stays_here_where_the_provider_honours_none() {
    let mut sim = Sim::new();
    sim.ready();
    let spec = ItemSpec::new("FEED", "A").fields([22]);
    sim.ask(|requests| requests.open(&spec)).expect("room");
    assert_eq!(sim.sent(), ["REQUEST 5 A"]);
}

#[test]
fn updates_of_a_paused_item_are_held_here_where_the_provider_obeys_no_pause() {
    let mut sim = Sim::new();
    sim.ready();
    let item = sim.open("A");
    sim.image(5);
    sim.told();
    sim.sent();
    sim.ask(|requests| requests.pause(item)).expect("open");
    sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 5));
    assert!(sim.told().is_empty() && sim.sent().is_empty());
    sim.ask(|requests| requests.resume(item)).expect("open");
    // One is missing until there is another image, which is asked for.
    assert_eq!(sim.sent().len(), 1);
    sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 5));
    assert_eq!(sim.told(), [""; 0]);
    sim.image(5);
    assert_eq!(sim.told().len(), 1);
    sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 5));
    assert_eq!(sim.told(), ["0: update"]);
    // A pause in which nothing came leaves nothing out.
    sim.ask(|requests| requests.pause(item)).expect("open");
    sim.ask(|requests| requests.resume(item)).expect("open");
    sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 5));
    assert_eq!((sim.told(), sim.sent().len()), (vec!["0: update".to_owned()], 0));
}

#[test]
fn what_was_left_out_in_the_middle_of_an_image_comes_with_another_one() {
    let mut sim = Sim::new();
    sim.ready();
    let item = sim.open("A");
    let part = |number: u16| {
        let part = Part { number: Some(number), is_last: number == 2 };
        image(Domain::MARKET_PRICE, 5, None, true, part)
    };
    sim.msg(part(0));
    sim.ask(|requests| requests.pause(item)).expect("open");
    sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 5));
    sim.msg(part(1));
    sim.ask(|requests| requests.resume(item)).expect("open");
    sim.told();
    sim.sent();
    sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 5));
    assert_eq!(sim.told(), [""; 0], "the image does not fit to it");
    sim.msg(part(2));
    assert_eq!(sim.sent(), ["REQUEST 5 A"], "an image is asked for");
}

#[test]
fn what_was_left_out_is_in_an_image_that_takes_the_place_of_one_never_completed() {
    let numbered = Part::numbered(0, false);
    let unnumbered = Part { number: None, is_last: false };
    // The rest of an image without numbers looks like a whole one that was asked for.
    for (begun, solicited, fits) in
        [(numbered, true, true), (unnumbered, false, true), (unnumbered, true, false)]
    {
        let mut sim = Sim::new();
        sim.ready();
        let item = sim.open("A");
        sim.msg(image(Domain::MARKET_PRICE, 5, None, true, begun));
        sim.ask(|requests| requests.pause(item)).expect("open");
        sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 5));
        sim.ask(|requests| requests.resume(item)).expect("open");
        sim.msg(image(Domain::MARKET_PRICE, 5, None, solicited, Part::ONLY));
        sim.told();
        sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 5));
        assert_eq!(sim.told().len(), usize::from(fits), "{begun:?}, {solicited}");
    }
}

#[test]
fn a_post_without_an_ack_is_refused_here_in_the_end() {
    let mut sim = Sim::with(|config| config.max_outstanding_posts = 1);
    sim.ready_with(|refresh| refresh.features.support_post = Some(true));
    let item = sim.open("A");
    sim.image(5);
    sim.told();
    let payload = Encoded::new(DataType::OPAQUE, b"x");
    let post =
        |sim: &mut Sim| sim.ask(|requests| requests.post(item, &PostHead::default(), &payload));
    assert_eq!(post(&mut sim).expect("sent"), 1);
    sim.sent();
    assert!(matches!(post(&mut sim), Err(ApiError::TooManyPosts(_))));
    assert!(sim.sent().is_empty());
    sim.after(Duration::from_secs(15));
    assert_eq!(sim.told(), ["0: ack 1 No Ack received for PostMsg with postId = 1"]);
}

#[test]
fn a_token_is_renewed_on_the_open_login_and_for_later_ones() {
    let token = |name: &str| Login {
        name_type: Some(tapeline_omm::login::user_name_type::TOKEN),
        ..Login::new(name)
    };
    let mut sim = Sim::with(|config| config.login = token("t1"));
    sim.ready();
    sim.ask(|requests| requests.change_login(token("t2"))).expect("a token may change");
    assert_eq!(sim.sent(), ["REQUEST 1 t2"]);
    let named = sim.ask(|requests| requests.change_login(Login::new("user")));
    assert!(matches!(named, Err(ApiError::Login(_))));
    sim.input(ConsumerInput::Closed { reason: "gone" });
    sim.time();
    sim.input(ConsumerInput::Opened);
    assert_eq!(sim.sent(), ["REQUEST 1 t2"]);
}

#[test]
fn the_answer_to_a_post_is_about_the_item_that_it_was_on() {
    let mut sim = Sim::new();
    sim.ready_with(|refresh| refresh.features.support_post = Some(true));
    let item = sim.open("A");
    sim.image(5);
    let payload = Encoded::new(DataType::OPAQUE, b"x");
    let post = |requests: &mut Requests<'_>| requests.post(item, &PostHead::default(), &payload);
    assert_eq!(sim.ask(post).expect("sent"), 1);
    sim.ask(|requests| requests.close(item));
    // After a while the number of the stream is another's.
    sim.open("B");
    sim.image(6);
    sim.after(Duration::from_secs(12));
    sim.sent();
    let later = sim.open("C");
    assert_eq!(sim.sent(), ["REQUEST 5 C"]);
    let ack = AckMsg { ack_id: 1, ..AckMsg::new(Domain::MARKET_PRICE, 5) };
    let bytes = encoded(|encoder| encoder.message(&ack.into()));
    let mut answered = None;
    let mut note = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
        if let ConsumerEvent::Ack { handle, .. } = event {
            answered = handle;
        }
    };
    sim.core.handle(sim.now, ConsumerInput::Message(&bytes), &mut sim.wire, &mut note);
    assert!(answered == Some(item) && answered != Some(later), "{answered:?}");
}

#[test]
fn round_trips_are_measured_by_sending_the_message_back() {
    let mut sim = Sim::new();
    sim.ready();
    let rtt = LoginRtt { stream_id: 1, ticks: 77, round_trip_latency: None, tcp_retrans: None };
    let bytes = encoded(|encoder| rtt.encode(encoder));
    sim.message(&bytes);
    assert_eq!(sim.wire.sent, [bytes]);
}

#[test]
fn what_is_no_message_is_counted_and_nothing_else_suffers() {
    let mut sim = Sim::new();
    sim.ready();
    sim.open("A");
    for junk in [&b""[..], b"\x00", &[0xFF; 40]] {
        sim.message(junk);
    }
    sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, 99));
    sim.msg(UpdateMsg::new(Domain::MARKET_PRICE, -1));
    sim.image(5);
    assert_eq!(sim.core.malformed_messages(), 3);
    assert_eq!(sim.told().last().map(String::as_str), Some("0: refresh Open / Ok / None / ''"));
}

#[test]
fn a_login_that_cannot_be_sent_ends_the_connection() {
    let mut sim = Sim::new();
    sim.time();
    sim.wire.is_full = true;
    sim.input(ConsumerInput::Opened);
    assert_eq!(sim.wire.disconnected.len(), 1);
    assert!(sim.told()[1].starts_with("down 0: the server reads too slowly"));
    sim.wire.is_full = false;
    sim.ready();
    sim.open("A");
    assert_eq!(sim.sent(), ["REQUEST 5 A"]);
}

#[test]
fn a_directory_that_is_closed_is_asked_for_again_once() {
    let mut sim = Sim::new();
    sim.ready();
    sim.sent();
    let closed = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "");
    sim.msg(status(Domain::SOURCE, 2, closed));
    assert_eq!(sim.sent(), ["REQUEST 2"]);
    assert!(sim.wire.disconnected.is_empty());
    sim.msg(status(Domain::SOURCE, 2, closed));
    assert_eq!(sim.wire.disconnected, ["the directory was closed"]);
}

#[test]
fn a_login_without_an_answer_goes_to_the_next_server() {
    let mut sim = Sim::new();
    sim.time();
    sim.input(ConsumerInput::Opened);
    sim.after(Duration::from_secs(45));
    assert_eq!(sim.wire.disconnected, ["the login got no answer in time"]);
    sim.time();
    assert_eq!(sim.wire.dialled, [0, 1]);
}

#[test]
fn items_can_be_opened_and_closed_while_events_are_told() {
    let mut sim = Sim::new();
    sim.ready();
    sim.open("A");
    let bytes = encoded(|encoder| {
        encoder.message(&image(Domain::MARKET_PRICE, 5, None, true, Part::ONLY).into())
    });
    let mut opened = None;
    let mut chain = |event: ConsumerEvent<'_>, requests: &mut Requests<'_>| {
        if let ConsumerEvent::Refresh { handle, .. } = event {
            requests.close(handle);
            opened = requests.open(&ItemSpec::new("FEED", "B")).ok();
        }
    };
    sim.core.handle(sim.now, ConsumerInput::Message(&bytes), &mut sim.wire, &mut chain);
    assert!(opened.is_some());
    assert_eq!(sim.sent(), ["REQUEST 5 A", "CLOSE 5", "REQUEST 6 B"]);
}

#[test]
fn there_are_no_more_items_than_the_limit() {
    let mut sim = Sim::with(|config| config.max_items = 2);
    sim.open("A");
    let spec = ItemSpec::new("FEED", "");
    let two = sim.ask(|requests| requests.open_batch(&spec, &["B", "C"]));
    assert!(matches!(two, Err(ApiError::TooManyItems { limit: 2 })));
    sim.open("B");
}
