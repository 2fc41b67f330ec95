//! Providers that read more slowly than they are talked to: what consumers
//! have sent waits, is refused or is dropped, and nobody's stream is lost for it.

use crate::support::{A, B, World, config, encode, item_request, provider};
use tapeline_backbone::{FrameFlags, Kind};
use tapeline_channel::{Sent, SessionId};
use tapeline_hub::Event;
use tapeline_omm::directory::{FilterContent, ServiceLoad};
use tapeline_rwf::{Domain, GenericMsg, PostFlags, PostMsg, RequestFlags, RequestMsg};

/// Server A has these items, live, on streams 3, 4 and so on; B is there.
fn live(items: u32) -> (World, SessionId) {
    let (mut world, sources) = World::with_sources(config(1));
    world.server_up(B);
    for number in 0..items {
        let name = format!("ITEM{number}");
        world.open(A, number, &name);
        world.says(sources[0], &provider::refresh(number as i32 + 3, &name));
    }
    world.heard_by(sources[0]);
    world.forget();
    (world, sources[0])
}

/// The same, and the provider has just been sent more than it took.
fn slow(items: u32) -> (World, SessionId) {
    let (mut world, source) = live(items);
    world.out.answer = Some(Sent::Slow);
    world.open(A, 1000, "STRAW");
    world.out.answer = None;
    world.heard_by(source);
    world.forget();
    (world, source)
}

fn post(world: &mut World, number: u32, request: u32) {
    let msg = PostMsg {
        flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
        post_id: Some(9),
        ..PostMsg::new(Domain::MARKET_PRICE, 0)
    };
    let mut body = request.to_le_bytes().to_vec();
    body.extend(encode(&msg.into()));
    world.frame(A, Kind::Post, number, FrameFlags::empty(), &body);
}

fn generic(world: &mut World, request: u32) {
    let msg = GenericMsg::new(Domain::MARKET_PRICE, 0);
    world.frame(A, Kind::Generic, request, FrameFlags::empty(), &encode(&msg.into()));
}

fn drained(world: &mut World, source: SessionId) -> Vec<String> {
    world.event(Event::Drained { session: source });
    world.pass(0);
    world.heard_by(source)
}

#[test]
fn posts_are_refused_until_it_has_read() {
    let (mut world, source) = slow(1);
    post(&mut world, 5, 0);
    assert_eq!(world.heard_by(source), [""; 0]);
    assert_eq!(
        world.frames(),
        ["A ack of 5 Ack 9 NO_RESOURCES source does not keep up; post again later"]
    );
    drained(&mut world, source);
    post(&mut world, 6, 0);
    assert_eq!(world.heard_by(source).len(), 1);
}

#[test]
fn generic_messages_are_dropped_and_counted() {
    let (mut world, source) = slow(1);
    generic(&mut world, 0);
    assert_eq!(world.heard_by(source), [""; 0]);
    assert_eq!(world.core.counters().generics_dropped, 1);
    drained(&mut world, source);
    generic(&mut world, 0);
    assert_eq!(world.heard_by(source).len(), 1);
}

#[test]
fn what_does_not_fit_at_all_costs_its_sender_and_not_the_source() {
    let (mut world, source) = live(1);
    world.out.answer = Some(Sent::Full);
    post(&mut world, 5, 0);
    assert_eq!(
        world.frames(),
        ["A ack of 5 Ack 9 NO_RESOURCES source does not keep up; post again later"]
    );
    for (number, answer) in [(0, Sent::Full), (1, Sent::TooLarge)] {
        drained(&mut world, source);
        world.out.answer = Some(answer);
        generic(&mut world, 0);
        assert_eq!(world.core.counters().generics_dropped, number + 1);
    }
    drained(&mut world, source);
    world.out.answer = Some(Sent::Full);
    world.open(A, 1, "NEW");
    world.close(A, 1);
    assert_eq!(world.out.closed, []);
    // What has to be said all the same comes later.
    world.forget();
    world.out.answer = None;
    assert_eq!(drained(&mut world, source), ["Close 4"]);
    assert_eq!(world.core.counters().sources_up, 1);
}

#[test]
fn a_request_that_did_not_fit_is_made_again_when_its_time_is_up() {
    let (mut world, source) = live(0);
    world.out.answer = Some(Sent::Full);
    world.open(A, 1, "NEW");
    world.out.answer = None;
    world.forget();
    drained(&mut world, source);
    world.pass(15_000);
    assert_eq!(world.heard_by(source), ["Close 3", "Request 4 1:NEW streaming"]);
}

#[test]
fn closes_wait_and_go_first() {
    let (mut world, source) = slow(3);
    world.close(A, 0);
    world.open(A, 7, "LATER");
    world.close(A, 2);
    assert_eq!(world.heard_by(source), [""; 0]);
    assert_eq!(world.core.counters().unsent_upstream, 3);
    assert_eq!(drained(&mut world, source), ["Close 3", "Close 5", "Request 7 1:LATER streaming"]);
    assert_eq!(world.core.counters().unsent_upstream, 0);
}

#[test]
fn a_server_with_many_items_that_leaves_is_told_of_in_slices() {
    let (mut world, source) = slow(1000);
    world.server_down(A);
    assert_eq!(world.heard_by(source), [""; 0]);
    world.event(Event::Drained { session: source });
    let first = world.heard_by(source).len();
    assert!((1..=300).contains(&first), "{first} closes in one turn");
    assert_eq!(world.core.next_deadline().map(|at| at <= world.now), Some(true));
    world.pass(0);
    assert_eq!(first + world.heard_by(source).len(), 1001);
    assert_eq!(world.core.next_deadline().filter(|at| *at <= world.now), None);
}

#[test]
fn the_image_of_a_second_server_waits() {
    let (mut world, source) = slow(1);
    world.open(B, 0, "ITEM0");
    assert_eq!(world.frames(), ["B accept 0 as item 0"]);
    assert_eq!(world.heard_by(source), [""; 0]);
    assert_eq!(drained(&mut world, source), ["Request 3 1:ITEM0 streaming priority 1/2"]);
    assert_eq!(drained(&mut world, source), [""; 0], "once");
}

#[test]
fn whoever_left_meanwhile_needs_no_image() {
    let (mut world, source) = slow(2);
    world.open(B, 0, "ITEM0");
    world.close(B, 0);
    world.open(B, 1, "ITEM1");
    world.close(A, 1);
    world.close(B, 1);
    assert_eq!(drained(&mut world, source), ["Close 4"]);
}

#[test]
fn images_for_second_servers_keep_to_the_open_window() {
    let (mut world, source) = live(6);
    let load = |window| {
        let load = ServiceLoad { open_window: Some(window), ..ServiceLoad::default() };
        provider::change(FilterContent::Load(load))
    };
    world.says(source, &load(2));
    for number in 0..6 {
        world.open(B, number, &format!("ITEM{number}"));
    }
    let heard = world.heard_by(source);
    assert_eq!(heard.len(), 2, "{heard:?}");
    world.says(source, &provider::refresh(3, "ITEM0"));
    assert_eq!(world.heard_by(source), ["Request 5 1:ITEM2 streaming priority 1/2"]);
    // Requests and images in turn.
    world.open(A, 100, "NEW");
    world.says(source, &provider::refresh(4, "ITEM1"));
    world.says(source, &provider::refresh(5, "ITEM2"));
    let heard = world.heard_by(source);
    assert!(heard.iter().any(|line| line.contains("NEW")), "{heard:?}");
    assert_eq!(heard.len(), 2, "{heard:?}");
    // A provider that takes no new requests still owes images of what it has.
    world.says(source, &load(0));
    for number in 3..6 {
        world.says(source, &provider::refresh(number + 3, &format!("ITEM{number}")));
    }
    world.says(source, &provider::refresh(9, "NEW"));
    for number in 3..6 {
        world.says(source, &provider::refresh(number + 3, &format!("ITEM{number}")));
    }
    let frames = world.frames();
    let served = frames.iter().filter(|line| line.starts_with("B #")).count();
    assert_eq!(served, 6, "{frames:?}");
}

#[test]
fn one_image_that_is_on_its_way_is_enough_for_all_who_wait() {
    let (mut world, source) = live(1);
    world.open(B, 0, "ITEM0");
    world.snapshot(B, 1, "ITEM0");
    world.heard_by(source);
    world.says(source, &provider::refresh(3, "ITEM0"));
    let frames = world.frames();
    assert_eq!(frames.iter().filter(|line| line.contains("image")).count(), 2, "{frames:?}");
    let heard = world.heard_by(source);
    assert!(heard.iter().all(|line| line.contains("no-refresh")), "{heard:?}");
}

#[test]
fn changes_of_a_private_stream_wait_and_the_last_one_counts() {
    let (mut world, source) = live(0);
    let private = RequestMsg {
        flags: RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM,
        ..item_request(1, "MINE")
    };
    world.open_with(A, 0, &private);
    let answer = provider::refresh_with(3, "MINE", |msg| {
        msg.flags.insert(tapeline_rwf::RefreshFlags::PRIVATE_STREAM);
    });
    world.says(source, &answer);
    world.out.answer = Some(Sent::Slow);
    world.open(A, 1, "STRAW");
    world.out.answer = None;
    world.heard_by(source);
    let flags = private.flags | RequestFlags::PAUSE;
    world.reissue(A, 0, &private);
    world.reissue(A, 0, &RequestMsg { flags, ..private });
    assert_eq!(world.heard_by(source), [""; 0]);
    assert_eq!(drained(&mut world, source).len(), 1);
}

#[test]
fn requests_that_come_and_go_leave_nothing_behind() {
    let (mut world, _) = slow(1);
    for _ in 0..5_000 {
        world.open(B, 0, "ITEM0");
        world.close(B, 0);
        world.open(B, 1, "OTHER");
        world.close(B, 1);
    }
    let waiting = world.core.counters().unsent_upstream;
    assert!(waiting < 10, "{waiting}");
}

#[test]
fn requests_that_wait_for_a_window_that_closes_are_told_so() {
    let (mut world, source) = live(0);
    let load = |window| {
        let load = ServiceLoad { open_window: Some(window), ..ServiceLoad::default() };
        provider::change(FilterContent::Load(load))
    };
    world.says(source, &load(1));
    world.open(A, 0, "FIRST");
    world.open(A, 1, "SECOND");
    world.heard_by(source);
    world.forget();
    world.says(source, &load(0));
    assert_eq!(
        world.frames(),
        [
            "all directory change: 1 load None/None window 0",
            "all #1 Status Open / Suspect / NoResources / 'No source takes the request now.'",
        ]
    );
    world.says(source, &load(9));
    assert_eq!(world.heard_by(source), ["Request 4 1:SECOND streaming"]);
}

#[test]
fn a_source_has_no_more_than_the_configuration_says_whatever_it_says_itself() {
    let mut config = config(1);
    (config.routes[0].open_window, config.routes[0].open_limit) = (Some(2), Some(3));
    let (mut world, sources) = World::with_sources(config);
    let source = sources[0];
    let load =
        ServiceLoad { open_window: Some(100), open_limit: Some(1_000), ..ServiceLoad::default() };
    world.says(source, &provider::change(FilterContent::Load(load)));
    world.heard_by(source);
    for number in 0..4 {
        world.open(A, number, &format!("ITEM{number}"));
    }
    assert_eq!(world.heard_by(source).len(), 2, "the window");
    world.says(source, &provider::refresh(3, "ITEM0"));
    assert_eq!(world.heard_by(source), ["Request 5 1:ITEM2 streaming"]);
    world.says(source, &provider::refresh(4, "ITEM1"));
    world.says(source, &provider::refresh(5, "ITEM2"));
    assert!(world.heard_by(source).is_empty(), "the limit");
    world.close(A, 0);
    let heard = world.heard_by(source);
    assert!(heard.iter().any(|line| line.contains("ITEM3")), "{heard:?}");
    // By its own word it may take less.
    let none = ServiceLoad { open_window: Some(0), ..ServiceLoad::default() };
    world.says(source, &provider::change(FilterContent::Load(none)));
    world.close(A, 1);
    world.open(A, 9, "ITEM9");
    let heard = world.heard_by(source);
    assert!(!heard.iter().any(|line| line.contains("ITEM9")), "{heard:?}");
}

#[test]
fn a_source_has_no_more_requests_in_a_second_than_the_configuration_says() {
    let mut config = config(1);
    config.routes[0].max_requests_per_s = Some(20);
    let (mut world, sources) = World::with_sources(config);
    world.heard_by(sources[0]);
    for number in 0..50 {
        world.open(A, number, &format!("ITEM{number}"));
    }
    assert_eq!(world.heard_by(sources[0]).len(), 2, "a tenth of a second's at once");
    for _ in 0..2 {
        let mut count = 0;
        for _ in 0..10 {
            world.pass(100);
            count += world.heard_by(sources[0]).len();
        }
        assert_eq!(count, 20);
    }
    assert!(world.core.counters().requests_paced > 10);
    world.pass(1_000);
    assert_eq!(world.heard_by(sources[0]).len(), 8, "the rest");
    // What was not used is not saved.
    world.pass(9_000);
    for number in 100..110 {
        world.open(A, number, &format!("ITEM{number}"));
    }
    assert_eq!(world.heard_by(sources[0]).len(), 2);
}

#[test]
fn a_source_that_stands_by_has_no_more_requests_in_a_second_either() {
    let mut config = config(2);
    config.mirrored.entry("FEED".to_owned()).or_default();
    config.routes[1].max_requests_per_s = Some(10);
    let (mut world, sources) = World::with_sources(config);
    for source in &sources {
        world.heard_by(*source);
    }
    for number in 0..5 {
        world.open(A, number, &format!("ITEM{number}"));
    }
    assert_eq!(world.heard_by(sources[0]).len(), 5);
    assert_eq!(world.heard_by(sources[1]).len(), 1);
    world.pass(400);
    assert_eq!(world.heard_by(sources[1]).len(), 4);
}
