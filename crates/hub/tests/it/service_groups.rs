//! Services of sources that are one to consumers, under another name.

use tapeline_backbone::Kind;
use tapeline_channel::SessionId;
use tapeline_hub::{HubConfig, Pick, ServiceGroup};
use tapeline_omm::directory::{
    DirectoryMsg, FilterContent, FilterEntry, ServiceEntry, ServiceLoad, ServiceState,
};
use tapeline_rwf::{Domain, Msg};

use crate::support::{A, World, config, provider};

const STARTED: &str = "Status Open / Suspect / FailoverStarted / 'Source lost, another is asked.'";

/// A hub with FEED, which is EAST and WEST, and sources that offer these services.
fn grouped(pick: Pick, offered: &[&[(u16, &str)]]) -> (World, Vec<SessionId>) {
    let members = ["EAST", "WEST"].map(str::to_owned).to_vec();
    let group = ServiceGroup { name: "FEED".to_owned(), members, pick };
    let mut world = World::new(HubConfig { service_groups: vec![group], ..config(offered.len()) });
    world.server_up(A);
    let sources = offered.iter().enumerate().map(|(route, services)| {
        let session = world.route_opened(route);
        world.says(session, &provider::login_accepted());
        let services = services.iter().map(|(id, name)| provider::service(*id, name, true));
        world.says(session, &provider::directory(&services.collect::<Vec<_>>()));
        session
    });
    let sources = sources.collect();
    (world, sources)
}

/// A source says that a service is up or down.
fn says_state(world: &mut World, source: SessionId, service_id: u16, is_up: bool) {
    let state = FilterContent::State(ServiceState::new(is_up, true));
    let entry = ServiceEntry::update(service_id, vec![FilterEntry::update(state)]);
    world.says(source, &provider::directory_update(&[entry]));
}

#[test]
fn servers_know_the_group_and_not_its_members() {
    let (mut world, sources) = grouped(Pick::Order, &[&[(1, "EAST")], &[(9, "WEST")]]);
    let told = world.frames();
    assert_eq!(told.last().map(String::as_str), Some("all directory change: 1 FEED up"));
    assert!(told.iter().all(|line| !line.contains("EAST") && !line.contains("WEST")), "{told:?}");
    world.forget();
    says_state(&mut world, sources[0], 1, false);
    assert_eq!(world.frames(), [""; 0], "it is up as long as a member is");
    says_state(&mut world, sources[1], 9, false);
    assert_eq!(world.frames(), ["all directory change: 1 down"]);
}

#[test]
fn an_item_is_asked_for_at_the_first_member_and_goes_on_at_the_next() {
    // The second source is the one for the first member.
    let (mut world, sources) = grouped(Pick::Order, &[&[(1, "WEST")], &[(7, "EAST")]]);
    world.forget();
    world.open(A, 1, "TRI.N");
    assert_eq!(world.heard_by(sources[0]), [""; 0]);
    assert_eq!(world.heard_by(sources[1]), ["Request 3 7:TRI.N streaming"]);
    world.says(sources[1], &provider::refresh(3, "TRI.N"));
    world.forget();
    says_state(&mut world, sources[1], 7, false);
    assert_eq!(world.frames(), [format!("all #2 {STARTED}")]);
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming"]);
    assert_eq!(world.core.counters().failovers, 1);
}

#[test]
fn an_item_stays_at_a_member_that_is_down_until_another_one_takes_it() {
    let (mut world, sources) = grouped(Pick::Order, &[&[(1, "EAST"), (9, "WEST")]]);
    says_state(&mut world, sources[0], 9, false);
    world.forget();
    world.open(A, 1, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.forget();
    says_state(&mut world, sources[0], 1, false);
    assert_eq!(world.frames(), ["all directory change: 1 down"], "its source says more, or not");
    assert_eq!(world.heard_by(sources[0]), [""; 0]);
    says_state(&mut world, sources[0], 9, true);
    assert_eq!(world.heard_by(sources[0]), ["Close 3", "Request 4 9:TRI.N streaming"]);
}

#[test]
fn what_no_other_member_takes_stays_where_it_is() {
    let (mut world, sources) = grouped(Pick::Order, &[&[(1, "EAST"), (9, "WEST")]]);
    world.forget();
    world.open(A, 1, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    // WEST is up, and takes no more than it has.
    let load = ServiceLoad { open_limit: Some(0), ..ServiceLoad::default() };
    let load = FilterEntry::set(FilterContent::Load(load));
    let full = ServiceEntry::update(9, vec![load]);
    world.says(sources[0], &provider::directory_update(&[full]));
    world.forget();
    says_state(&mut world, sources[0], 1, false);
    assert_eq!((world.frames(), world.heard_by(sources[0])), (vec![], vec![]));
}

#[test]
fn nobody_publishes_into_a_group_with_a_member_that_a_route_names() {
    let members = ["EAST", "WEST"].map(str::to_owned).to_vec();
    let group = ServiceGroup { name: "FEED".to_owned(), members, pick: Pick::Order };
    let mut config = HubConfig { service_groups: vec![group], ..config(1) };
    config.routes[0].services = Some(vec!["EAST".to_owned()]);
    let mut world = World::new(config);
    world.server_up(A);
    let session = world.session();
    world.event(provider::opened(session));
    world.says(session, &provider::provider_login());
    world.forget();
    let offered = ["FEED", "WEST"].map(|name| provider::service(1, name, true));
    for service in offered {
        world.says(session, &provider::directory_on(0, &[service]));
    }
    assert_eq!(world.frames(), [""; 0]);
}

#[test]
fn members_of_one_source_stand_in_for_each_other_too() {
    let (mut world, sources) = grouped(Pick::Order, &[&[(1, "EAST"), (9, "WEST")]]);
    world.forget();
    world.open(A, 1, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:TRI.N streaming"]);
    world.forget();
    says_state(&mut world, sources[0], 1, false);
    assert_eq!(world.frames(), [format!("all #2 {STARTED}")]);
    assert_eq!(world.heard_by(sources[0]), ["Close 3", "Request 4 9:TRI.N streaming"]);
}

#[test]
fn items_are_spread_over_members_where_that_is_wanted() {
    for (pick, spread) in [(Pick::Order, [10, 0]), (Pick::Items, [5, 5])] {
        let (mut world, sources) = grouped(pick, &[&[(1, "EAST")], &[(9, "WEST")]]);
        world.forget();
        for request in 0..10 {
            world.open(A, request, &format!("ITEM{request}"));
        }
        let asked = [0, 1].map(|at: usize| world.heard_by(sources[at]).len());
        assert_eq!(asked, spread, "{pick:?}");
    }
}

#[test]
fn what_a_member_was_under_another_number_counts_no_more() {
    let (mut world, sources) = grouped(Pick::Order, &[&[(1, "EAST")]]);
    world.forget();
    world.says(sources[0], &provider::directory(&[]));
    let mut info = provider::info("EAST");
    info.capabilities = Some(vec![Domain::MARKET_BY_ORDER]);
    let filters = vec![
        FilterEntry::set(FilterContent::Info(info)),
        FilterEntry::set(FilterContent::State(ServiceState::new(true, true))),
    ];
    world.says(sources[0], &provider::directory(&[ServiceEntry::add(2, filters)]));
    let told = world.out.frames.iter().filter(|(header, _)| header.kind == Kind::Directory);
    let mut domains = told.filter_map(|(_, body)| {
        let msg = Msg::decode(body).expect("a message");
        let DirectoryMsg::Update(update) = DirectoryMsg::decode(&msg).ok()? else { return None };
        update.services.into_iter().flat_map(|it| it.filters).find_map(|filter| match filter {
            FilterEntry::Content { content: FilterContent::Info(info), .. } => info.capabilities,
            _ => None,
        })
    });
    assert_eq!(domains.next_back(), Some(vec![Domain::MARKET_BY_ORDER]));
}

#[test]
fn what_a_group_is_does_not_depend_on_which_member_is_up() {
    let (mut world, sources) = grouped(Pick::Order, &[&[(1, "EAST"), (9, "WEST")]]);
    world.forget();
    world.says(sources[0], &provider::directory(&[provider::service(1, "EAST", true)]));
    assert_eq!(world.frames(), [""; 0]);
}
