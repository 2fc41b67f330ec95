//! The directory as consumers see it.

use tapeline_omm::directory::{
    DirectoryFilter, DirectoryMsg, DirectoryRequest, FilterContent, FilterEntry, ServiceEntry,
    ServiceLoad,
};
use tapeline_rwf::{MapAction, Msg};

use crate::support::*;

/// The services of a directory message: action, number, name and whether up,
/// as far as they are given.
fn services(bytes: &[u8]) -> Vec<String> {
    let msg = Msg::decode(bytes).expect("a message");
    let services = match DirectoryMsg::decode(&msg).expect("a directory message") {
        DirectoryMsg::Refresh(refresh) => refresh.services,
        DirectoryMsg::Update(update) => update.services,
        other => panic!("{other:?}"),
    };
    services.iter().map(service_text).collect()
}

fn service_text(service: &ServiceEntry) -> String {
    let action = match service.action {
        MapAction::ADD => "add",
        MapAction::UPDATE => "update",
        _ => "delete",
    };
    let filters: Vec<_> = service.filters.iter().map(filter_text).collect();
    format!("{action} {} {}", service.service_id, filters.join(" "))
}

fn filter_text(entry: &FilterEntry) -> String {
    match entry {
        FilterEntry::Content { content: FilterContent::Info(info), .. } => {
            format!("info:{}", info.name.as_ref().expect("a name"))
        }
        FilterEntry::Content { content: FilterContent::State(state), .. } => {
            format!("up:{:?}", state.is_up.expect("a state"))
        }
        FilterEntry::Content { content: FilterContent::Load(load), .. } => {
            format!("window:{:?}", load.open_window)
        }
        FilterEntry::Clear { id } => format!("clear:{id}"),
        FilterEntry::Content { content, .. } => format!("filter:{}", content.id()),
    }
}

fn heard(world: &mut World, session: tapeline_channel::SessionId) -> Vec<Vec<String>> {
    world.heard_bytes(session).iter().map(|bytes| services(bytes)).collect()
}

fn request_of(filter: DirectoryFilter, service_id: Option<u16>, streaming: bool) -> Vec<u8> {
    let request = DirectoryRequest { service_id, streaming, ..DirectoryRequest::new(2, filter) };
    built(|encoder| request.encode(encoder).expect("room"))
}

#[test]
fn services_come_and_go_while_the_directory_is_open() {
    let mut world = World::new();
    let consumer = world.mount();
    world.say(consumer, &directory_request(2));
    assert_eq!(heard(&mut world, consumer), [[""; 0]]);
    world.hub_up(HUB);
    assert_eq!(world.published(), ["DirectoryRequest 100 0"]);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    assert_eq!(heard(&mut world, consumer), [["add 1 info:FEED up:true"]]);
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(heard(&mut world, consumer), [["update 1 up:false"]]);
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(heard(&mut world, consumer), Vec::<Vec<String>>::new(), "nothing changed");
    world.hub_update(HUB, vec![service_state(1, true)]);
    assert_eq!(heard(&mut world, consumer), [["update 1 up:true"]]);
    world.hub_down(HUB);
    assert_eq!(heard(&mut world, consumer), [["update 1 up:false"]]);
    world.say(consumer, &directory_request(2));
    assert_eq!(heard(&mut world, consumer), [["add 1 info:FEED up:false"]]);
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(9, "FEED", true)]);
    assert_eq!(heard(&mut world, consumer), [["update 1 up:true"]], "the number stays");
    world.hub_update(HUB_2, vec![ServiceEntry::delete(9)]);
    assert_eq!(heard(&mut world, consumer), [["delete 1 "]]);
}

#[test]
fn a_window_goes_with_the_hub_that_had_it() {
    let mut world = World::new();
    let consumer = world.mount();
    world.say(consumer, &directory_request(2));
    world.hub_up(HUB);
    let mut feed = service(1, "FEED", true);
    let load = ServiceLoad { open_window: Some(1), ..ServiceLoad::default() };
    feed.filters.push(FilterEntry::set(FilterContent::Load(load)));
    world.hub_directory(HUB, vec![feed.clone()]);
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "FEED", true)]);
    heard(&mut world, consumer);
    world.hub_down(HUB);
    assert_eq!(heard(&mut world, consumer), [["update 1 clear:4"]]);
    world.say(consumer, &directory_request(2));
    assert_eq!(heard(&mut world, consumer), [["add 1 info:FEED up:true"]]);
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![feed]);
    world.hub_down(HUB_2);
    assert_eq!(heard(&mut world, consumer), [["update 1 window:Some(1)"]]);
}

#[test]
fn a_requester_gets_the_service_and_the_filters_that_it_asked_for() {
    let mut world = World::with_feed();
    world.hub_update(HUB, vec![service(2, "OTHER", true)]);
    let consumer = world.mount();
    world.say(consumer, &request_of(DirectoryFilter::STATE, Some(2), true));
    assert_eq!(heard(&mut world, consumer), [["add 2 up:true"]]);
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(heard(&mut world, consumer), Vec::<Vec<String>>::new());
    world.hub_update(HUB, vec![service_state(2, false)]);
    assert_eq!(heard(&mut world, consumer), [["update 2 up:false"]]);
    world.say(consumer, &request_of(DirectoryFilter::INFO, Some(2), true));
    assert_eq!(heard(&mut world, consumer), [["add 2 info:OTHER"]], "a reissue");
}

#[test]
fn a_snapshot_of_the_directory_is_over_at_once() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &request_of(DirectoryFilter::USUAL, None, false));
    let heard_bytes = world.heard_bytes(consumer);
    assert_eq!(services(&heard_bytes[0]), ["add 1 info:FEED up:true"]);
    assert!(show(&heard_bytes[0]).contains("NonStreaming / Ok"));
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn a_closed_directory_stays_silent() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &directory_request(2));
    world.say(consumer, &close(2));
    world.heard(consumer);
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn hubs_with_one_service_are_one_service_and_with_one_number_are_two() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "OTHER", true), service(2, "FEED", false)]);
    world.say(consumer, &directory_request(2));
    assert_eq!(
        heard(&mut world, consumer),
        [["add 1 info:FEED up:true", "add 2 info:OTHER up:true"]]
    );
    // The one that is up describes the service.
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(heard(&mut world, consumer), [["update 1 up:false"]]);
    world.hub_update(HUB_2, vec![service_state(2, true)]);
    assert_eq!(heard(&mut world, consumer), [["update 1 up:true"]]);
    // Requests go to it, by its own number.
    world.published();
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(
        world.published(),
        ["Open 200 0 REQUEST 0 MARKET_PRICE TRI.N@2 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
}

#[test]
fn a_service_offers_the_dictionaries_of_the_server() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &directory_request(2));
    let bytes = &world.heard_bytes(consumer)[0];
    let msg = Msg::decode(bytes).expect("a message");
    let Ok(DirectoryMsg::Refresh(refresh)) = DirectoryMsg::decode(&msg) else { panic!() };
    let FilterEntry::Content { content: FilterContent::Info(info), .. } =
        &refresh.services[0].filters[0]
    else {
        panic!("info comes first")
    };
    for list in [&info.dictionaries_provided, &info.dictionaries_used] {
        assert_eq!(list.as_deref(), Some(["RWFFld".into(), "RWFEnum".into()].as_slice()));
    }
    assert!(info.offers(tapeline_rwf::Domain::DICTIONARY));
}

#[test]
fn a_slow_mount_is_told_how_the_services_are_when_it_has_caught_up() {
    let mut world = World::with_feed();
    world.hub_update(HUB, vec![service(2, "OTHER", true)]);
    let consumer = world.mount();
    world.say(consumer, &directory_request(2));
    world.heard(consumer);
    world.bound(consumer, 1, 2);
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(heard(&mut world, consumer), [["update 1 up:false"]], "it is slow from here on");
    for _ in 0..20 {
        world.hub_update(HUB, vec![service_state(1, true)]);
        world.hub_update(HUB, vec![service_state(1, false)]);
    }
    world.hub_update(HUB, vec![ServiceEntry::delete(2), service(3, "NEW", true)]);
    assert_eq!((heard(&mut world, consumer), world.out.closed.len()), (vec![], 0));
    world.read_into(consumer);
    let told = heard(&mut world, consumer);
    assert_eq!(told, [["add 1 info:FEED up:false", "delete 2 ", "add 3 info:NEW up:true"]]);
}
