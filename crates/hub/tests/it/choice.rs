//! Which source is asked, and how many requests it gets at a time.

use crate::support::{self, A, B, World, config, item_request, provider};
use tapeline_channel::SessionId;
use tapeline_hub::{HubConfig, ItemNames};
use tapeline_omm::directory::{
    FilterContent, FilterEntry, ServiceEntry, ServiceInfo, ServiceLoad, ServiceState,
};
use tapeline_rwf::{
    DataState, Domain, Priority, Qos, Rate, RequestFlags, RequestMsg, State, StateCode, StreamState,
};

fn load(factor: Option<u64>, limit: Option<u64>, window: Option<u64>) -> ServiceLoad {
    ServiceLoad { open_limit: limit, open_window: window, load_factor: factor }
}

/// Sources that each offer FEED with a load.
fn loaded(loads: &[ServiceLoad]) -> (World, Vec<SessionId>) {
    let mut world = World::new(config(loads.len()));
    world.server_up(A);
    let sources = loads
        .iter()
        .enumerate()
        .map(|(route, load)| {
            let session = world.route_opened(route);
            world.says(session, &provider::login_accepted());
            let feed = provider::loaded_feed(load.clone());
            world.says(session, &provider::directory(&[feed]));
            session
        })
        .collect();
    world.forget();
    (world, sources)
}

fn requests(world: &mut World, sources: &[SessionId]) -> Vec<usize> {
    let is_request = |line: &&String| line.starts_with("Request");
    sources.iter().map(|s| world.heard_by(*s).iter().filter(is_request).count()).collect()
}

fn open_many(world: &mut World, count: u32) {
    for request in 0..count {
        world.open(A, request, &format!("ITEM{request}"));
    }
}

/// A source with FEED, which may have two items, and OTHER.
fn bounded() -> (World, SessionId) {
    let service_items = [("FEED".to_owned(), 2)].into();
    let mut world = World::new(HubConfig { service_items, ..config(1) });
    world.server_up(A);
    let session = world.route_opened(0);
    world.says(session, &provider::login_accepted());
    let services = [provider::feed(1), provider::service(2, "OTHER", true)];
    world.says(session, &provider::directory(&services));
    world.forget();
    (world, session)
}

#[test]
fn a_service_at_its_bound_takes_no_more_and_others_do() {
    let (mut world, source) = bounded();
    open_many(&mut world, 3);
    assert_eq!(requests(&mut world, &[source]), [2]);
    let frames = world.frames();
    let refused = "A refuse 2 Status ClosedRecover / Suspect / TooManyItems / 'Item limit reached'";
    assert_eq!(frames.last().map(String::as_str), Some(refused), "{frames:?}");
    assert_eq!(world.core.counters().limited, 1);
    world.open_with(A, 3, &item_request(2, "ITEM3"));
    assert_eq!(requests(&mut world, &[source]), [1]);
    // Who wants what is there has it.
    world.server_up(B);
    world.open(B, 0, "ITEM1");
    assert!(world.frames().iter().any(|line| line.starts_with("B accept 0")));
    world.close(A, 0);
    world.open(A, 2, "ITEM2");
    assert_eq!(requests(&mut world, &[source]), [1], "there is room again");
}

#[test]
fn the_most_items_that_a_service_had_stand_beside_its_bound() {
    let (mut world, _) = bounded();
    let of = |world: &World, id| {
        let row = world.core.service_row(id).expect("the service");
        (row.name, row.items, row.max_items, row.most_items, row.sources)
    };
    assert_eq!(of(&world, 1), ("FEED".to_owned(), 0, Some(2), 0, 1));
    open_many(&mut world, 3);
    assert_eq!(of(&world, 1), ("FEED".to_owned(), 2, Some(2), 2, 1));
    world.close(A, 0);
    assert_eq!(of(&world, 1), ("FEED".to_owned(), 1, Some(2), 2, 1));
    assert_eq!(of(&world, 2), ("OTHER".to_owned(), 0, None, 0, 1));
}

#[test]
fn at_the_bound_of_a_service_what_is_wanted_less_is_over_for_what_is_wanted_more() {
    let (mut world, source) = bounded();
    open_many(&mut world, 2);
    world.heard_by(source);
    world.forget();
    let priority = Some(Priority { class: 2, count: 1 });
    let msg = RequestMsg { priority, ..item_request(1, "ITEM2") };
    world.open_with(A, 2, &msg);
    let frames = world.frames();
    let [over, accepted] = &frames[..] else { panic!("two frames: {frames:?}") };
    assert!(over.contains("last Status ClosedRecover / Suspect / Preempted"), "{over}");
    assert!(accepted.starts_with("A accept 2"), "{accepted}");
    let heard = world.heard_by(source);
    assert!(
        heard[0].starts_with("Close 4"),
        "the newest of those that are wanted alike: {heard:?}"
    );
    assert_eq!((world.core.counters().preempted, world.core.counters().items), (1, 2));
    // And the same once more, as all are wanted alike now.
    world.open(A, 3, "ITEM3");
    assert!(world.frames()[0].starts_with("A refuse 3"));
}

#[test]
fn the_least_loaded_source_is_asked_first() {
    let (mut world, sources) = loaded(&[
        load(Some(50), None, None),
        load(Some(10), None, None),
        load(Some(90), None, None),
    ]);
    open_many(&mut world, 3);
    assert_eq!(requests(&mut world, &sources), [0, 3, 0]);
}

#[test]
fn sources_of_one_load_share_the_items() {
    let (mut world, sources) = loaded(&[load(None, None, None), load(None, None, None)]);
    open_many(&mut world, 10);
    assert_eq!(requests(&mut world, &sources), [5, 5]);
}

/// Sources that each offer FEED, set up like this.
fn preferred(set_up: impl FnOnce(&mut HubConfig), count: usize) -> (World, Vec<SessionId>) {
    let mut config = config(count);
    set_up(&mut config);
    World::with_sources(config)
}

#[test]
fn sources_are_asked_in_their_order() {
    let (mut world, sources) = preferred(|config| config.routes[0].order = 2, 3);
    open_many(&mut world, 4);
    assert_eq!(requests(&mut world, &sources), [0, 2, 2]);
    world.closed(sources[1]);
    assert_eq!(requests(&mut world, &sources), [0, 0, 2], "the other of its order");
    world.closed(sources[2]);
    assert_eq!(requests(&mut world, &sources), [4, 0, 0], "the others take no requests");
}

#[test]
fn sources_share_the_items_by_their_weight() {
    let set_up = |config: &mut HubConfig| {
        config.routes[1].weight = 3;
        config.routes[2].weight = 6;
    };
    let (mut world, sources) = preferred(set_up, 3);
    open_many(&mut world, 100);
    assert_eq!(requests(&mut world, &sources), [10, 30, 60]);
}

#[test]
fn items_go_to_the_sources_that_are_for_their_names() {
    let set_up = |config: &mut HubConfig| {
        let names = ItemNames::of(["EUR*".to_owned()]).expect("a pattern");
        config.routes[0].items = Some(names);
        config.routes[1].items = Some(ItemNames::of(["re:=$".to_owned()]).expect("an expression"));
    };
    let (mut world, sources) = preferred(set_up, 2);
    world.open(A, 1, "EURX");
    world.open(A, 2, "GBP=");
    assert_eq!(requests(&mut world, &sources), [1, 1]);
    world.forget();
    world.open(A, 3, "VOD.L");
    assert_eq!(requests(&mut world, &sources), [0, 0]);
    assert!(world.frames().last().expect("a status").contains("No source takes the request now."));
    // What only one source is for does not go to the other.
    world.closed(sources[0]);
    assert_eq!(requests(&mut world, &sources), [0, 0]);
}

#[test]
fn a_source_that_drains_gets_no_new_items_and_keeps_what_it_has() {
    let (mut world, sources) = preferred(|config| config.routes[0].drains = true, 2);
    open_many(&mut world, 4);
    assert_eq!(requests(&mut world, &sources), [0, 4]);
    world.closed(sources[1]);
    assert_eq!(requests(&mut world, &sources), [0, 0]);
}

#[test]
fn what_a_service_is_does_not_depend_on_which_sources_are_up() {
    let (mut world, sources) = preferred(|_| {}, 2);
    let more = ServiceInfo {
        name: Some("FEED".into()),
        capabilities: Some(vec![Domain::MARKET_PRICE, Domain::MARKET_BY_ORDER]),
        ..ServiceInfo::default()
    };
    world.forget();
    world.says(sources[0], &provider::change(FilterContent::Info(more)));
    // A line has the name where it has what the service is.
    let is_info = |line: &String| line.contains("FEED");
    assert!(world.frames().iter().any(is_info));
    for source in sources {
        world.closed(source);
        let frames = world.frames();
        assert!(!frames.iter().any(is_info), "{frames:?}");
    }
}

#[test]
fn an_item_stays_with_its_source_when_another_becomes_better() {
    let (mut world, sources) = loaded(&[load(Some(1), None, None), load(Some(9), None, None)]);
    open_many(&mut world, 1);
    assert_eq!(requests(&mut world, &sources), [1, 0]);
    world.says(sources[0], &provider::change(FilterContent::Load(load(Some(99), None, None))));
    assert_eq!(requests(&mut world, &sources), [0, 0]);
    world.open(A, 5, "NEW");
    assert_eq!(requests(&mut world, &sources), [0, 1]);
}

#[test]
fn the_open_window_holds_requests_back_until_an_image_or_a_status_makes_room() {
    let (mut world, sources) = loaded(&[load(None, None, Some(2))]);
    open_many(&mut world, 5);
    assert_eq!(requests(&mut world, &sources), [2]);
    world.says(sources[0], &provider::refresh(3, "ITEM0"));
    assert_eq!(world.heard_by(sources[0]), ["Request 5 1:ITEM2 streaming"]);
    let none = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_FOUND, "none");
    world.says(sources[0], &provider::status(4, none));
    assert_eq!(world.heard_by(sources[0]), ["Request 6 1:ITEM3 streaming"]);
    world.close(A, 2);
    assert_eq!(world.heard_by(sources[0]), ["Close 5", "Request 7 1:ITEM4 streaming"]);
}

#[test]
fn parts_of_an_image_keep_their_place_in_the_window() {
    let (mut world, sources) = loaded(&[load(None, None, Some(1))]);
    world.open(A, 0, "TRI.N");
    world.open(A, 1, "IBM.N");
    world.heard_by(sources[0]);
    world.says(sources[0], &provider::part(3, 0, false));
    assert_eq!(world.heard_by(sources[0]), [""; 0]);
    world.says(sources[0], &provider::part(3, 1, true));
    assert_eq!(world.heard_by(sources[0]), ["Request 4 1:IBM.N streaming"]);
}

#[test]
fn a_window_that_opens_lets_requests_through() {
    let (mut world, sources) = loaded(&[load(None, None, Some(0))]);
    open_many(&mut world, 2);
    assert_eq!(requests(&mut world, &sources), [0]);
    world.says(sources[0], &provider::change(FilterContent::Load(load(None, None, Some(9)))));
    assert_eq!(requests(&mut world, &sources), [2]);
}

#[test]
fn a_limit_goes_with_the_source_that_had_it() {
    let (mut world, sources) = loaded(&[load(None, Some(1), None), load(None, None, None)]);
    world.closed(sources[1]);
    assert_eq!(world.frames(), ["all directory change: 1 load None/Some(1)"]);
    world.closed(sources[0]);
    world.pass(1_000);
    assert_eq!(world.frames(), ["all directory change: 1 clear 4 down"]);
    let back = world.route_opened(1);
    world.says(back, &provider::login_accepted());
    world.says(back, &provider::directory(&[provider::feed(1)]));
    assert_eq!(world.frames(), ["all directory change: 1 up"]);
}

#[test]
fn the_open_limit_sends_items_elsewhere_and_then_has_them_wait() {
    let (mut world, sources) =
        loaded(&[load(Some(1), Some(2), None), load(Some(2), Some(1), None)]);
    open_many(&mut world, 4);
    assert_eq!(requests(&mut world, &sources), [2, 1]);
    assert_eq!(
        world.frames().last().expect("a status"),
        "all #1 Status Open / Suspect / NoResources / 'No source takes the request now.'"
    );
    world.close(A, 0);
    assert_eq!(world.heard_by(sources[0])[1], "Request 5 1:ITEM3 streaming");
}

#[test]
fn a_source_that_accepts_no_requests_gets_none_and_keeps_what_it_has() {
    let (mut world, sources) = loaded(&[load(None, None, None)]);
    open_many(&mut world, 1);
    world.heard_by(sources[0]);
    world.forget();
    world.says(sources[0], &provider::change(FilterContent::State(ServiceState::new(true, false))));
    assert_eq!(world.frames(), ["all directory change: 1 up closed"]);
    world.open(A, 9, "NEW");
    assert_eq!(requests(&mut world, &sources), [0]);
    world.says(sources[0], &provider::refresh(3, "ITEM0"));
    world.says(sources[0], &provider::change(FilterContent::State(ServiceState::new(true, true))));
    assert_eq!(world.heard_by(sources[0]), ["Request 4 1:NEW streaming"]);
}

#[test]
fn one_source_may_have_several_services_and_ids_are_the_hubs_own() {
    let mut world = World::new(config(2));
    world.server_up(A);
    let first = world.source_up(0);
    let second = world.route_opened(1);
    world.says(second, &provider::login_accepted());
    world.forget();
    let services = [provider::service(1, "OTHER", true), provider::service(7, "FEED", true)];
    world.says(second, &provider::directory(&services));
    assert_eq!(world.frames(), ["all directory change: 2 OTHER up"], "FEED is as it was");
    world.open_with(A, 0, &item_request(2, "TRI.N"));
    world.heard_by(first);
    assert_eq!(world.heard_by(second)[0], "Request 3 1:TRI.N streaming", "by the source's id");
}

#[test]
fn a_route_that_names_services_takes_no_others() {
    let mut config = config(1);
    config.routes[0].services = Some(vec!["FEED".to_owned()]);
    let mut world = World::new(config);
    let source = world.route_opened(0);
    world.says(source, &provider::login_accepted());
    let services = [provider::feed(1), provider::service(2, "OTHER", true)];
    world.says(source, &provider::directory(&services));
    assert_eq!(world.frames(), ["all directory change: 1 FEED up"]);
}

#[test]
fn a_quality_nobody_offers_is_refused_and_one_is_asked_for_exactly() {
    let (mut world, _) = World::with_sources(config(1));
    let slow = Qos { rate: Rate::JIT_CONFLATED, ..Qos::REALTIME_TICK_BY_TICK };
    world.open_with(A, 0, &RequestMsg { qos: Some(slow), ..item_request(1, "TRI.N") });
    assert_eq!(
        world.frames(),
        ["A refuse 0 Status ClosedRecover / Suspect / None / \
          'Service does not provide a matching QoS'"]
    );
    let range = RequestMsg {
        qos: Some(Qos::REALTIME_TICK_BY_TICK),
        worst_qos: Some(slow),
        ..item_request(1, "TRI.N")
    };
    world.open_with(A, 0, &range);
    let (_, sent) = world.out.sent.pop().expect("a request");
    let Ok(tapeline_rwf::Msg::Request(sent)) = tapeline_rwf::Msg::decode(&sent) else {
        panic!("a request");
    };
    assert_eq!((sent.qos, sent.worst_qos), (Some(Qos::REALTIME_TICK_BY_TICK), None));
    assert!(sent.priority.is_some());
}

#[test]
fn only_filters_that_changed_are_told() {
    let (mut world, sources) = loaded(&[load(Some(1), None, None)]);
    world.says(sources[0], &provider::change(FilterContent::Load(load(Some(1), None, None))));
    assert_eq!(world.frames(), [""; 0]);
    let both = vec![
        FilterEntry::update(FilterContent::Load(load(Some(5), None, None))),
        FilterEntry::update(FilterContent::State(ServiceState::new(true, true))),
    ];
    world.says(sources[0], &provider::directory_update(&[ServiceEntry::update(1, both)]));
    assert_eq!(world.frames(), ["all directory change: 1 load Some(5)/None"]);
}

#[test]
fn items_and_requests_above_the_limits_are_refused() {
    let config = HubConfig::named("hub");
    let mut config = HubConfig { routes: support::config(1).routes, ..config };
    config.limits.max_items = 1;
    config.limits.max_requests_per_server = 2;
    let (mut world, _) = World::with_sources(config);
    world.open(A, 0, "TRI.N");
    world.open(A, 1, "IBM.N");
    world.open(A, 2, "TRI.N");
    let refused = "Status ClosedRecover / Suspect / TooManyItems / 'Item limit reached'";
    assert_eq!(
        world.frames(),
        [
            "A accept 0 as item 0".to_owned(),
            format!("A refuse 1 {refused}"),
            format!("A refuse 2 {refused}"),
        ]
    );
}

#[test]
fn what_is_wanted_more_takes_the_place_of_what_is_wanted_least() {
    let (mut world, sources) = loaded(&[load(None, Some(2), None)]);
    let wanted = |class, name| RequestMsg {
        priority: Some(Priority { class, count: 1 }),
        ..item_request(1, name)
    };
    world.open_with(A, 0, &wanted(3, "MUCH"));
    world.open_with(A, 1, &wanted(2, "LITTLE"));
    for (stream_id, name) in [(3, "MUCH"), (4, "LITTLE")] {
        world.says(sources[0], &provider::refresh(stream_id, name));
    }
    world.heard_by(sources[0]);
    world.forget();
    world.open_with(A, 2, &wanted(2, "SAME"));
    assert_eq!(world.heard_by(sources[0]), [""; 0], "no more than itself");
    world.forget();
    world.open_with(A, 3, &wanted(9, "MOST"));
    assert_eq!(world.heard_by(sources[0]), ["Close 4", "Request 5 1:MOST streaming"]);
    assert_eq!(
        world.frames(),
        [
            "A accept 3 as item 3",
            "all #2 Status Open / Suspect / Preempted / 'Gave way to an item of higher priority.'",
        ]
    );
    // The one that gave way is first in the row when there is room.
    world.close(A, 0);
    assert_eq!(world.heard_by(sources[0]), ["Close 3", "Request 6 1:LITTLE streaming"]);
}

#[test]
fn a_provider_without_a_window_is_not_asked_for_everything_at_once() {
    let mut config = config(1);
    config.limits.max_window = 3;
    let (mut world, sources) = World::with_sources(config);
    open_many(&mut world, 5);
    assert_eq!(requests(&mut world, &sources), [3]);
    world.says(sources[0], &provider::refresh(3, "ITEM0"));
    assert_eq!(requests(&mut world, &sources), [1]);
}

#[test]
fn room_that_requests_without_answer_leave_is_used_by_those_that_wait() {
    let (mut world, sources) = loaded(&[load(None, None, Some(2))]);
    for (request, name) in [(0, "P0"), (1, "P1")] {
        let flags = RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM;
        world.open_with(A, request, &RequestMsg { flags, ..item_request(1, name) });
    }
    world.open(A, 2, "X");
    world.open(A, 3, "Y");
    assert_eq!(requests(&mut world, &sources), [2]);
    world.pass(15_000);
    let heard = world.heard_by(sources[0]);
    let asked: Vec<_> = heard.iter().filter(|line| line.starts_with("Request")).collect();
    assert_eq!(asked.len(), 2, "{heard:?}");
}

#[test]
fn an_item_that_no_room_is_for_does_not_block_those_that_wait_for_it() {
    let (mut world, sources) = loaded(&[load(None, Some(1), None), load(None, Some(1), None)]);
    let mut feed = provider::loaded_feed(load(None, Some(1), None));
    feed.filters[0] = FilterEntry::set(FilterContent::Info(ServiceInfo {
        capabilities: Some(vec![Domain::MARKET_BY_ORDER]),
        ..provider::info("FEED")
    }));
    world.says(sources[1], &provider::directory(&[feed]));
    let order = |name| RequestMsg { domain: Domain::MARKET_BY_ORDER, ..item_request(1, name) };
    world.open(A, 0, "PRICE");
    world.open_with(A, 1, &order("ORDER"));
    world.open_with(A, 2, &order("STUCK"));
    world.open(A, 3, "NEXT");
    assert_eq!(requests(&mut world, &sources), [1, 1]);
    world.close(A, 0);
    let heard = world.heard_by(sources[0]);
    assert!(heard.iter().any(|line| line.contains("1:NEXT")), "{heard:?}");
}

#[test]
fn each_place_that_a_lost_server_leaves_is_used_by_one_that_waits() {
    const ITEMS: u32 = 400;
    let mut config = config(1);
    config.limits.items_per_slice = ITEMS as usize;
    config.limits.max_window = u64::from(ITEMS) * 2;
    let (mut world, sources) = World::with_sources(config);
    let feed = provider::loaded_feed(load(None, Some(ITEMS.into()), None));
    world.says(sources[0], &provider::directory(&[feed]));
    world.server_up(B);
    for server in [A, B] {
        for number in 0..ITEMS {
            world.open(server, number, &format!("{server:?}-{number}"));
        }
    }
    assert_eq!(requests(&mut world, &sources), [ITEMS as usize]);
    world.server_down(A);
    world.pass(1);
    let heard = world.heard_by(sources[0]);
    let asked = heard.iter().filter(|line| line.starts_with("Request")).count();
    assert_eq!(asked, ITEMS as usize, "of those that waited");
}

#[test]
fn those_for_whom_there_is_no_room_are_tried_in_the_turns_that_follow() {
    const PLACES: u32 = 20;
    const STUCK: u32 = 1_000;
    let limited = load(None, Some(PLACES.into()), None);
    let (mut world, sources) = loaded(&[limited.clone(), limited]);
    let mut feed = provider::loaded_feed(load(None, Some(0), None));
    feed.filters[0] = FilterEntry::set(FilterContent::Info(ServiceInfo {
        capabilities: Some(vec![Domain::MARKET_BY_ORDER]),
        ..provider::info("FEED")
    }));
    world.says(sources[1], &provider::directory(&[feed]));
    world.server_up(B);
    for number in 0..PLACES {
        world.open(A, number, &format!("A{number}"));
    }
    for number in 0..STUCK {
        let name = format!("STUCK{number}");
        let order = RequestMsg { domain: Domain::MARKET_BY_ORDER, ..item_request(1, &name) };
        world.open_with(B, number, &order);
    }
    for number in STUCK..STUCK + PLACES {
        world.open(B, number, &format!("B{number}"));
    }
    assert_eq!(requests(&mut world, &sources), [PLACES as usize, 0]);
    world.server_down(A);
    world.pass(1);
    // For each place 64 are tried: those of the first 15 lead nowhere.
    assert_eq!(requests(&mut world, &sources), [5, 0]);
}
