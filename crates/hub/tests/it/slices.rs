//! What happens to many items at once is done bit by bit, and what comes
//! meanwhile finds every item in order.

use crate::support::{A, B, World, config, encode, item_request, provider};
use tapeline_backbone::{FrameFlags, Kind};
use tapeline_channel::{Sent, SessionId};
use tapeline_hub::{Event, HubConfig};
use tapeline_omm::StateBuf;
use tapeline_omm::directory::{FilterContent, ServiceEntry, ServiceLoad, ServiceState};
use tapeline_rwf::{
    DataState, Domain, PostFlags, PostMsg, RequestFlags, RequestMsg, StateCode, StreamState,
};

const COUNT: u32 = 5_000;
/// Frames and messages that one turn may cause, however many items there are.
const PER_TURN: usize = 600;

fn name(number: u32) -> String {
    format!("ITEM{number}")
}

/// A hub with so many items that have their image.
fn with_items(config: HubConfig) -> (World, Vec<SessionId>) {
    let (mut world, sources) = World::with_sources(config);
    for request in 0..COUNT {
        world.open(A, request, &name(request));
        answer_all(&mut world, sources[0]);
    }
    world.forget();
    (world, sources)
}

/// A source answers all requests.
fn answer_all(world: &mut World, source: SessionId) {
    for line in world.heard_by(source) {
        let words: Vec<_> = line.split([' ', ':']).collect();
        if let ["Request", stream, _, name, ..] = words[..] {
            world.says(source, &provider::refresh(stream.parse().expect("a stream"), name));
        }
    }
}

/// Goes on until nothing is left to do now. Returns in how many turns.
fn work_off(world: &mut World) -> usize {
    let mut turns = 0;
    let mut before = 0;
    while world.core.next_deadline().is_some_and(|at| at <= world.now) {
        world.core.handle_timeout(world.now, &mut world.out);
        let all = world.out.frames.len() + world.out.sent.len();
        assert!(all - before <= PER_TURN, "{} in one turn", all - before);
        before = all;
        turns += 1;
    }
    assert_eq!(world.core.counters().backlog, 0);
    turns
}

fn count(frames: &[String], what: &str) -> usize {
    frames.iter().filter(|line| line.contains(what)).count()
}

#[test]
fn the_items_of_a_lost_source_are_told_bit_by_bit() {
    let (mut world, sources) = with_items(config(1));
    world.closed(sources[0]);
    let at_once = world.frames().len();
    assert!(at_once <= PER_TURN, "{at_once}");
    assert!(world.core.counters().backlog > 1_000);
    // One is closed, and one asked for by another server, before their turn.
    world.server_up(B);
    world.close(A, COUNT - 1);
    world.open(B, 0, &name(COUNT - 2));
    world.forget();
    world.out.frames.clear();
    work_off(&mut world);
    let frames = world.frames();
    assert_eq!(count(&frames, "channel down") + at_once, COUNT as usize - 1);
    assert_eq!(frames.last().map(String::as_str), Some("all directory change: 1 down"));
    assert_eq!(world.out.connects, [0; 0], "not before all is told");
    world.pass(250);
    assert_eq!(world.out.connects, [0]);
    // All come back.
    let back = world.route_opened(0);
    world.says(back, &provider::login_accepted());
    world.says(back, &provider::directory(&[provider::feed(1)]));
    let mut images = 0;
    while world.core.next_deadline().is_some_and(|at| at <= world.now) {
        world.core.handle_timeout(world.now, &mut world.out);
        answer_all(&mut world, back);
        let frames = world.frames();
        assert!(frames.len() <= PER_TURN, "{}", frames.len());
        images += count(&frames, "image");
    }
    answer_all(&mut world, back);
    images += count(&world.frames(), "image");
    assert_eq!(images, COUNT as usize - 1);
    assert_eq!(world.core.counters().items, u64::from(COUNT) - 1);
}

#[test]
fn what_a_source_says_of_an_item_comes_after_what_it_said_of_all() {
    let (mut world, sources) = with_items(config(1));
    let mut state = ServiceState::new(true, true);
    state.status =
        Some(StateBuf::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "stale"));
    world.says(sources[0], &provider::change(FilterContent::State(state)));
    assert!(world.frames().len() <= PER_TURN);
    // The streams of the first and the last one, which are not told yet, or
    // just now.
    for (stream, number) in [(3, 0), (COUNT as i32 + 2, COUNT - 1)] {
        world.says(sources[0], &provider::refresh(stream, &name(number)));
    }
    work_off(&mut world);
    let frames = world.frames();
    world.server_up(B);
    world.forget();
    for (request, number) in [(0, 0), (1, COUNT - 1), (2, 7)] {
        world.open(B, request, &name(number));
    }
    let told = world.frames();
    assert_eq!(count(&told, "stale"), 1, "{told:?}");
    assert_eq!(count(&frames, "Refresh Open / Ok"), 2, "to all, as it changes the state");
}

#[test]
fn a_load_that_changes_does_not_have_all_that_wait_look_for_room() {
    let load = |factor| ServiceLoad {
        open_limit: Some(2),
        load_factor: Some(factor),
        ..ServiceLoad::default()
    };
    let mut world = World::new(config(1));
    world.server_up(A);
    let source = world.route_opened(0);
    world.says(source, &provider::login_accepted());
    world.says(source, &provider::directory(&[provider::loaded_feed(load(1))]));
    for request in 0..COUNT {
        world.open(A, request, &name(request));
    }
    work_off(&mut world);
    world.forget();
    for factor in 2..10 {
        world.says(source, &provider::change(FilterContent::Load(load(factor))));
        assert!(world.core.counters().backlog < 10);
        assert!(work_off(&mut world) <= 1);
    }
    // Room for one more is taken by one.
    let more = ServiceLoad { open_limit: Some(3), ..load(10) };
    world.says(source, &provider::change(FilterContent::Load(more)));
    work_off(&mut world);
    assert_eq!(world.heard_by(source).len(), 1);
    // One that is wanted more takes the place of the newest of the others.
    let urgent = RequestMsg {
        priority: Some(tapeline_rwf::Priority { class: 2, count: 1 }),
        ..item_request(1, "URGENT")
    };
    world.open_with(A, COUNT, &urgent);
    let heard = world.heard_by(source);
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[0].starts_with("Close") && heard[1].contains("URGENT"), "{heard:?}");
    assert_eq!(world.core.counters().preempted, 1);
}

#[test]
fn a_service_that_is_withdrawn_and_offered_again_at_once_keeps_its_items() {
    let (mut world, sources) = with_items(config(1));
    world.says(sources[0], &provider::directory_update(&[ServiceEntry::delete(1)]));
    world.says(sources[0], &provider::directory_update(&[provider::feed(1)]));
    let mut open = i64::from(COUNT);
    let mut turns = 0;
    loop {
        for line in world.heard_by(sources[0]) {
            let words: Vec<_> = line.split([' ', ':']).collect();
            match words[..] {
                ["Request", stream, _, name, ..] => {
                    open += 1;
                    let stream = stream.parse().expect("a stream");
                    world.says(sources[0], &provider::refresh(stream, name));
                }
                ["Close", _] => open -= 1,
                _ => panic!("{line}"),
            }
        }
        if world.core.next_deadline().is_none_or(|at| at > world.now) {
            break;
        }
        world.core.handle_timeout(world.now, &mut world.out);
        turns += 1;
    }
    assert!(turns > 10, "{turns}");
    assert_eq!(open, i64::from(COUNT), "one stream for each");
    world.server_up(B);
    world.forget();
    let snapshot = RequestMsg { flags: RequestFlags::STREAMING, ..item_request(1, "ITEM7") };
    world.open_with(B, 0, &snapshot);
    assert_eq!(count(&world.frames(), "Suspect"), 0, "it is well again");
}

#[test]
fn a_provider_that_is_back_before_its_loss_is_told_publishes_its_items() {
    let mut world = World::new(config(0));
    world.server_up(A);
    let connect = |world: &mut World| {
        let session = world.session();
        world.event(provider::opened(session));
        world.says(session, &provider::provider_login());
        world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
        session
    };
    let first = connect(&mut world);
    for number in 0..COUNT {
        world.says(first, &provider::refresh(-1 - number as i32, &name(number)));
    }
    world.open(A, 0, &name(COUNT - 1));
    world.closed(first);
    let stray = world.core.counters().stray;
    let second = connect(&mut world);
    for number in 0..COUNT {
        world.says(second, &provider::refresh(-1 - number as i32, &name(number)));
    }
    assert_eq!(world.core.counters().stray, stray, "each is taken");
    world.forget();
    work_off(&mut world);
    assert_eq!(count(&world.frames(), "channel down"), 0, "they are the new one's");
    world.pass(70_000);
    assert_eq!(world.core.counters().items, u64::from(COUNT));
}

#[test]
fn a_source_that_is_taken_out_while_its_items_are_told_of_its_loss_goes_behind_them() {
    let (mut world, sources) = with_items(config(1));
    world.closed(sources[0]);
    let changes = world.core.adopt_routes(world.now, &[], &mut world.out);
    assert_eq!(changes.left.len(), 1);
    world.core.check();
    work_off(&mut world);
    assert_eq!(count(&world.frames(), "channel down"), COUNT as usize);
    world.pass(60_000);
    assert_eq!(world.out.connects, [0; 0]);
    let again = world.core.adopt_routes(world.now, &config(1).routes, &mut world.out);
    assert_eq!(again.added, [0], "its place is free");
}

/// One turn. Returns how many frames and messages it caused.
fn turn(world: &mut World) -> usize {
    let before = world.out.frames.len() + world.out.sent.len();
    world.core.handle_timeout(world.now, &mut world.out);
    world.out.frames.len() + world.out.sent.len() - before
}

#[test]
fn a_source_that_reads_again_is_sent_a_slice_a_turn_however_many_services_it_has() {
    const SERVICES: u16 = 20;
    let mut world = World::new(config(1));
    world.server_up(A);
    let source = world.route_opened(0);
    world.says(source, &provider::login_accepted());
    let names: Vec<_> = (1..=SERVICES).map(|id| (id, format!("FEED{id}"))).collect();
    let feeds: Vec<_> = names.iter().map(|(id, name)| provider::service(*id, name, true)).collect();
    world.says(source, &provider::directory(&feeds));
    work_off(&mut world);
    world.out.answer = Some(Sent::Slow);
    for request in 0..COUNT {
        let service = 1 + (request % u32::from(SERVICES)) as u16;
        world.open_with(A, request, &item_request(service, &name(request)));
    }
    world.out.answer = None;
    world.forget();
    world.event(Event::Drained { session: source });
    let mut sent = world.out.sent.len();
    assert!(sent <= 150, "{sent} at once");
    let mut last = Vec::new();
    while world.core.next_deadline().is_some_and(|at| at <= world.now) {
        let count = turn(&mut world);
        assert!(count <= 150, "{count} in one turn");
        sent += count;
        if last.is_empty() && sent > COUNT as usize / 2 {
            last = world.heard_by(source);
        }
    }
    assert_eq!(sent, COUNT as usize - 1, "one was taken before");
    // None waits until another service has had all of its own.
    for (id, _) in &names {
        let of_service = format!(" {id}:");
        assert!(last.iter().any(|line| line.contains(&of_service)), "{id}");
    }
}

#[test]
fn an_image_makes_room_for_few_requests_at_once() {
    let (mut world, sources) = World::with_sources(config(1));
    world.out.answer = Some(Sent::Slow);
    for request in 0..COUNT {
        world.open(A, request, &name(request));
    }
    world.out.answer = None;
    world.event(Event::Drained { session: sources[0] });
    for line in world.heard_by(sources[0]) {
        let words: Vec<_> = line.split([' ', ':']).collect();
        let ["Request", stream, _, name, ..] = words[..] else { panic!("{line}") };
        world.says(sources[0], &provider::refresh(stream.parse().expect("a stream"), name));
        let sent = world.out.sent.len();
        assert!(sent <= 8, "{sent} after one image");
        world.out.sent.clear();
    }
}

#[test]
fn requests_without_an_answer_end_bit_by_bit() {
    let (mut world, _) = World::with_sources(config(1));
    for request in 0..COUNT {
        world.open(A, request, &name(request));
    }
    world.forget();
    // All of them are due at the same moment.
    let first = world.core.next_deadline().expect("requests have a time");
    world.now = first.max(world.now);
    let mut turns = 0;
    while world.core.next_deadline().is_some_and(|at| at <= world.now) {
        let count = turn(&mut world);
        assert!(count <= PER_TURN, "{count} in one turn");
        turns += 1;
    }
    assert!(turns > 10, "{turns}");
    assert_eq!(world.core.counters().request_timeouts, u64::from(COUNT));
}

/// Server A posts so many times on an item.
fn post_often(world: &mut World) {
    for number in 0..COUNT {
        let msg = PostMsg {
            flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
            post_id: Some(number),
            ..PostMsg::new(Domain::MARKET_PRICE, 0)
        };
        let mut body = 0_u32.to_le_bytes().to_vec();
        body.extend(encode(&msg.into()));
        world.frame(A, Kind::Post, number, FrameFlags::empty(), &body);
    }
    world.forget();
}

fn with_posts() -> (World, SessionId) {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 0, "ITEM");
    world.says(sources[0], &provider::refresh(3, "ITEM"));
    post_often(&mut world);
    (world, sources[0])
}

#[test]
fn the_posts_of_a_lost_source_are_refused_bit_by_bit_and_before_it_is_back() {
    let (mut world, source) = with_posts();
    world.closed(source);
    let at_once = world.out.frames.len();
    assert!(at_once <= PER_TURN, "{at_once}");
    work_off(&mut world);
    assert_eq!(count(&world.frames(), "SOURCE_DOWN"), COUNT as usize);
    assert_eq!(world.out.connects, [0; 0], "not before all are told");
    world.pass(250);
    assert_eq!(world.out.connects, [0]);
}

#[test]
fn posts_without_an_ack_end_bit_by_bit() {
    let (mut world, _) = with_posts();
    world.now = world.core.next_deadline().expect("posts have a time").max(world.now);
    work_off(&mut world);
    assert_eq!(count(&world.frames(), "NO_RESPONSE"), COUNT as usize);
}
