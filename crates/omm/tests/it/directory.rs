//! The directory: what messages do to it, what a requester gets of it, and
//! what the model refuses.

use tapeline_omm::directory::{
    Directory, DirectoryChange, DirectoryFilter, DirectoryMsg, DirectoryRefresh, DirectoryRefusal,
    DirectoryRequest, DirectoryStatus, DirectoryUpdate, FilterContent, FilterEntry, Link,
    LinkEntry, LinkInfo, ServiceEntry, ServiceGroupInfo, ServiceInfo, ServiceLinks, ServiceLoad,
    ServiceState,
};
use tapeline_omm::{GroupId, ServiceGroup, StateBuf};
use tapeline_rwf::{
    DataState, DataType, Domain, ElementListHead, Encoder, FilterAction, FilterListHead, MapAction,
    MapHead, Msg, Primitive, RefreshFlags, RefreshMsg, State, StateCode, StreamState, UpdateMsg,
};

fn info(name: &str) -> FilterEntry {
    FilterEntry::set(FilterContent::Info(ServiceInfo {
        name: Some(name.into()),
        capabilities: Some(vec![Domain::MARKET_PRICE]),
        ..ServiceInfo::default()
    }))
}

fn up() -> FilterEntry {
    FilterEntry::set(FilterContent::State(ServiceState::new(true, true)))
}

fn load(limit: u64) -> FilterEntry {
    let load = ServiceLoad { open_limit: Some(limit), ..ServiceLoad::default() };
    FilterEntry::set(FilterContent::Load(load))
}

fn service(id: u16, name: &str) -> ServiceEntry {
    ServiceEntry::add(id, vec![info(name), up()])
}

fn refresh(clear_cache: bool, services: Vec<ServiceEntry>) -> DirectoryRefresh {
    DirectoryRefresh {
        stream_id: 2,
        solicited: true,
        clear_cache,
        state: State::open_ok("").into(),
        filter: DirectoryFilter::USUAL,
        service_id: None,
        services,
    }
}

fn two_services() -> Directory {
    let mut directory = Directory::default();
    let all = refresh(true, vec![service(1, "ONE"), service(2, "TWO")]);
    assert_eq!(
        directory.apply_refresh(&all),
        [DirectoryChange::Added { service_id: 1 }, DirectoryChange::Added { service_id: 2 }]
    );
    directory
}

fn update(directory: &mut Directory, entry: ServiceEntry) -> Vec<DirectoryChange> {
    directory.apply_update(&DirectoryUpdate::new(2, vec![entry]))
}

fn deleted(changes: &[DirectoryChange]) -> Vec<u16> {
    changes
        .iter()
        .filter_map(|change| match change {
            DirectoryChange::Deleted { service_id, .. } => Some(*service_id),
            _ => None,
        })
        .collect()
}

fn suspect() -> StateBuf {
    StateBuf::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "stale")
}

#[test]
fn a_refresh_that_clears_deletes_what_it_lacks() {
    let mut directory = two_services();
    let changes = directory.apply_refresh(&refresh(true, vec![service(2, "TWO")]));
    assert_eq!(deleted(&changes), [1]);
    assert_eq!(
        changes.last(),
        Some(&DirectoryChange::Updated {
            service_id: 2,
            filters: DirectoryFilter::INFO | DirectoryFilter::STATE
        })
    );
    assert_eq!((directory.service_id(b"ONE"), directory.service_id(b"TWO")), (None, Some(2)));
    // What was known of a service that stays is not kept beside the new.
    assert!(update(&mut directory, ServiceEntry::update(2, vec![load(9)])).len() == 1);
    let _ = directory.apply_refresh(&refresh(true, vec![service(2, "TWO")]));
    assert_eq!(directory.service(2).and_then(|service| service.load.clone()), None);
}

#[test]
fn a_refresh_that_does_not_clear_is_an_update() {
    let mut directory = two_services();
    let changes = directory.apply_refresh(&refresh(false, vec![service(3, "THREE")]));
    assert_eq!(changes, [DirectoryChange::Added { service_id: 3 }]);
    assert_eq!(directory.services().len(), 3);
}

#[test]
fn an_update_changes_adds_and_deletes() {
    let mut directory = two_services();
    let down = FilterEntry::update(FilterContent::State(ServiceState::new(false, true)));
    assert_eq!(
        update(&mut directory, ServiceEntry::update(1, vec![down])),
        [DirectoryChange::Updated { service_id: 1, filters: DirectoryFilter::STATE }]
    );
    assert!(directory.service(1).is_some_and(|service| !service.is_usable()));
    assert!(directory.service(1).is_some_and(|service| service.name().is_some()));
    // An update for a service that is not known adds it.
    let added = ServiceEntry { action: MapAction::UPDATE, ..service(7, "SEVEN") };
    assert_eq!(update(&mut directory, added), [DirectoryChange::Added { service_id: 7 }]);
    assert_eq!(deleted(&update(&mut directory, ServiceEntry::delete(7))), [7]);
    assert_eq!(update(&mut directory, ServiceEntry::delete(7)), []);
}

#[test]
fn update_merges_set_replaces_clear_empties() {
    let mut directory = two_services();
    let entry = |action, limit: Option<u64>, window: Option<u64>| {
        let load = ServiceLoad { open_limit: limit, open_window: window, load_factor: None };
        let content = FilterContent::Load(load);
        ServiceEntry::update(1, vec![FilterEntry::Content { action, content }])
    };
    let known = |directory: &Directory| {
        let load = directory.service(1).and_then(|service| service.load.clone())?;
        Some((load.open_limit, load.open_window))
    };
    let _ = update(&mut directory, entry(FilterAction::SET, Some(10), Some(5)));
    let _ = update(&mut directory, entry(FilterAction::UPDATE, None, Some(6)));
    assert_eq!(known(&directory), Some((Some(10), Some(6))));
    let _ = update(&mut directory, entry(FilterAction::SET, None, Some(7)));
    assert_eq!(known(&directory), Some((None, Some(7))));
    let clear = ServiceEntry::update(1, vec![FilterEntry::Clear { id: 4 }]);
    assert_eq!(
        update(&mut directory, clear),
        [DirectoryChange::Updated { service_id: 1, filters: DirectoryFilter::LOAD }]
    );
    assert_eq!(known(&directory), None);
}

#[test]
fn the_status_of_a_state_is_passed_on_once_after_the_state_itself() {
    let mut directory = two_services();
    let state = ServiceState { status: Some(suspect()), ..ServiceState::new(false, true) };
    let entry = ServiceEntry::update(1, vec![FilterEntry::update(FilterContent::State(state))]);
    assert_eq!(
        update(&mut directory, entry),
        [
            DirectoryChange::Updated { service_id: 1, filters: DirectoryFilter::STATE },
            DirectoryChange::ServiceStatus { service_id: 1, state: suspect() },
        ]
    );
    let kept = directory.service(1).and_then(|service| service.state.clone());
    assert_eq!(kept.and_then(|state| state.status), None);
}

#[test]
fn groups_get_their_status_before_they_move_and_are_not_kept() {
    let mut directory = two_services();
    let group = |id: &[u8]| GroupId::try_from(id).expect("short");
    let content = |status, merged: Option<&[u8]>| {
        FilterEntry::update(FilterContent::Group(ServiceGroupInfo {
            group: Some(group(&[0, 1])),
            merged_to_group: merged.map(group),
            status,
        }))
    };
    let entry = ServiceEntry::update(
        1,
        vec![content(Some(suspect()), Some(&[0, 2])), content(Some(suspect()), None)],
    );
    let moved = ServiceGroup { service_id: 1, group: group(&[0, 1]) };
    let told = DirectoryChange::GroupStatus { group: moved.clone(), state: suspect() };
    assert_eq!(
        update(&mut directory, entry),
        [told.clone(), DirectoryChange::GroupMerged { group: moved, into: group(&[0, 2]) }, told]
    );
    let request = DirectoryRequest::new(2, DirectoryFilter::all());
    let refresh = directory.refresh(&request, &State::open_ok(""));
    let has_group = refresh
        .services
        .iter()
        .flat_map(|service| &service.filters)
        .any(|entry| entry.filter() == DirectoryFilter::GROUP);
    assert!(!has_group);
}

#[test]
fn names_do_not_change_and_are_not_shared() {
    let mut directory = two_services();
    let refused = |service_id, reason| [DirectoryChange::Refused { service_id, reason }];
    assert_eq!(
        update(&mut directory, service(1, "OTHER")),
        refused(1, DirectoryRefusal::NameChanged)
    );
    assert_eq!(update(&mut directory, service(3, "TWO")), refused(3, DirectoryRefusal::NameTaken));
    // Nor in the second description of one entry.
    let mut twice = service(3, "THREE");
    twice.filters.extend(service(3, "TWO").filters);
    assert_eq!(update(&mut directory, twice), refused(3, DirectoryRefusal::NameChanged));
    assert_eq!(directory.services().len(), 2);
    assert_eq!(directory.service_id(b"ONE"), Some(1));
    // A name is free again when its service is gone.
    let _ = update(&mut directory, ServiceEntry::delete(2));
    assert_eq!(
        update(&mut directory, service(3, "TWO")),
        [DirectoryChange::Added { service_id: 3 }]
    );
    assert_eq!(directory.service_id(b"TWO"), Some(3));
}

fn links(action: FilterAction, entries: Vec<(&str, Link)>) -> ServiceEntry {
    let entry = |(name, change): (&str, Link)| LinkEntry { name: name.into(), change };
    let content = FilterContent::Links(ServiceLinks(entries.into_iter().map(entry).collect()));
    ServiceEntry::update(1, vec![FilterEntry::Content { action, content }])
}

fn link(is_up: bool) -> Link {
    let info = LinkInfo { is_up: Some(is_up), ..LinkInfo::default() };
    Link::Set { action: MapAction::ADD, info }
}

#[test]
fn links_come_and_go_up_to_a_limit() {
    let mut directory = two_services();
    directory.max_links = 2;
    let names = |directory: &Directory| -> Vec<String> {
        let service = directory.service(1).expect("known");
        service.links.keys().map(ToString::to_string).collect()
    };
    let set = links(FilterAction::SET, vec![("a", link(true)), ("b", link(true))]);
    let _ = update(&mut directory, set);
    assert_eq!(names(&directory), ["a", "b"]);
    let more = links(FilterAction::UPDATE, vec![("a", link(false)), ("c", link(true))]);
    assert!(update(&mut directory, more).contains(&DirectoryChange::Refused {
        service_id: 1,
        reason: DirectoryRefusal::TooManyLinks
    }));
    assert_eq!(names(&directory), ["a", "b"]);
    let swap = links(FilterAction::UPDATE, vec![("a", Link::Delete), ("c", link(true))]);
    let _ = update(&mut directory, swap);
    assert_eq!(names(&directory), ["b", "c"]);
}

#[test]
fn the_end_of_the_stream_or_a_clearing_status_ends_all_services() {
    let closed = |stream| State { stream, ..State::open_ok("") };
    for status in [
        DirectoryStatus::new(2, &closed(StreamState::CLOSED)),
        DirectoryStatus::new(2, &closed(StreamState::CLOSED_RECOVER)),
        DirectoryStatus { clear_cache: true, ..DirectoryStatus::new(2, &State::open_ok("")) },
    ] {
        let mut directory = two_services();
        assert_eq!(deleted(&directory.apply_status(&status)), [1, 2]);
        assert_eq!(directory.services().len(), 0);
        assert_eq!(directory.service_id(b"ONE"), None);
    }
    let mut directory = two_services();
    let open = DirectoryStatus::new(2, &State::open_ok(""));
    assert_eq!(directory.apply_status(&open), []);
    assert_eq!(deleted(&directory.clear()), [1, 2]);
}

#[test]
fn a_requester_gets_its_filters_and_its_service() {
    let mut directory = two_services();
    let _ = update(&mut directory, ServiceEntry::update(1, vec![load(9)]));
    let ids = |refresh: &DirectoryRefresh| -> Vec<Vec<u8>> {
        let id = |entry: &FilterEntry| entry.filter().bits().trailing_zeros() as u8 + 1;
        refresh.services.iter().map(|s| s.filters.iter().map(id).collect()).collect()
    };
    let all = DirectoryRequest::new(9, DirectoryFilter::USUAL);
    let refresh = directory.refresh(&all, &State::open_ok("all"));
    assert_eq!(ids(&refresh), [vec![1, 4, 2], vec![1, 2]]);
    assert!(refresh.solicited && refresh.clear_cache && refresh.stream_id == 9);
    let one = DirectoryRequest { service_id: Some(1), filter: DirectoryFilter::STATE, ..all };
    assert_eq!(ids(&directory.refresh(&one, &State::open_ok(""))), [vec![2]]);
    let none = DirectoryRequest { service_id: Some(99), ..all };
    assert_eq!(directory.refresh(&none, &State::open_ok("")).services, []);

    let change = DirectoryUpdate::new(
        2,
        vec![
            ServiceEntry::update(1, vec![load(9), up()]),
            ServiceEntry::update(2, vec![load(9)]),
            ServiceEntry::delete(3),
            ServiceEntry::add(4, vec![info("FOUR")]),
        ],
    );
    let restricted = change
        .restricted(&DirectoryRequest { filter: DirectoryFilter::STATE, ..all })
        .expect("something is left");
    assert_eq!(restricted.stream_id, 9);
    assert_eq!(
        restricted.services,
        [
            ServiceEntry::update(1, vec![up()]),
            ServiceEntry::delete(3),
            ServiceEntry::add(4, vec![]),
        ]
    );
    let other = DirectoryRequest { service_id: Some(2), filter: DirectoryFilter::STATE, ..all };
    assert_eq!(change.restricted(&other), None);
}

#[test]
fn what_a_directory_serves_another_one_takes() {
    let mut directory = two_services();
    let _ = update(&mut directory, ServiceEntry::update(1, vec![load(9)]));
    let set = links(FilterAction::SET, vec![("a", link(true)), ("b", link(false))]);
    let _ = update(&mut directory, set);
    let request = DirectoryRequest::new(2, DirectoryFilter::all());
    let served = directory.refresh(&request, &State::open_ok(""));
    let mut buffer = [0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    served.encode(&mut encoder).expect("room");
    let bytes = encoder.finish_bytes().expect("room");
    let read = DirectoryMsg::decode(&Msg::decode(bytes).expect("well-formed"));
    let Ok(DirectoryMsg::Refresh(read)) = read else { panic!("{read:?}") };
    assert_eq!(read, served);
    let mut other = Directory::default();
    let _ = other.apply_refresh(&read);
    assert_eq!(other.services().collect::<Vec<_>>(), directory.services().collect::<Vec<_>>());
}

#[test]
fn directories_of_another_shape_are_refused() {
    let text = |msg: Msg<'_>| DirectoryMsg::decode(&msg).unwrap_err().to_string();
    let mut part = RefreshMsg::new(Domain::SOURCE, 2);
    assert_eq!(text(part.into()), "directory refresh: message must be of one part");
    part.flags = RefreshFlags::REFRESH_COMPLETE;
    part.payload = tapeline_rwf::Encoded::new(DataType::FIELD_LIST, &[]);
    assert_eq!(text(part.into()), "directory refresh: payload is FIELD_LIST, MAP is needed");
    let login = UpdateMsg::new(Domain::LOGIN, 2);
    assert_eq!(text(login.into()), "directory message: domain is not SOURCE");

    let mut buffer = [0; 256];
    let mut encoder = Encoder::new(&mut buffer);
    let msg = UpdateMsg::new(Domain::SOURCE, 2).into();
    let slot = encoder.begin(&msg, DataType::MAP).expect("room");
    let head = MapHead::new(DataType::ASCII_STRING, DataType::FILTER_LIST);
    slot.map(&head).and_then(tapeline_rwf::MapWriter::finish).expect("room");
    let bytes = encoder.finish_bytes().expect("room");
    assert_eq!(
        text(Msg::decode(bytes).expect("well-formed")),
        "directory update: map key is ASCII_STRING, UINT is needed"
    );
}

#[test]
fn a_state_needs_its_service_state_and_an_id_its_range() {
    let with_service = |id: u64, name: &str| {
        let mut buffer = [0; 256];
        let mut encoder = Encoder::new(&mut buffer);
        let msg = UpdateMsg::new(Domain::SOURCE, 2).into();
        let slot = encoder.begin(&msg, DataType::MAP).expect("room");
        let mut map = slot.map(&MapHead::new(DataType::UINT, DataType::FILTER_LIST)).expect("room");
        let slot = map.entry(MapAction::ADD, Primitive::Uint(id), None).expect("room");
        let head = FilterListHead::new(DataType::ELEMENT_LIST);
        let mut filters = slot.filter_list(&head).expect("room");
        let slot = filters.entry(FilterAction::SET, 2, None, None).expect("room");
        let mut list = slot.element_list(&ElementListHead::STANDARD).expect("room");
        list.put(name, 1_u64).expect("room");
        list.finish().and_then(|()| filters.finish()).and_then(|()| map.finish()).expect("room");
        let bytes = encoder.finish_bytes().expect("room");
        let read = DirectoryMsg::decode(&Msg::decode(bytes).expect("well-formed"));
        read.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with_service(1, "ServiceState"), Ok(()));
    let missing = "service state: ServiceState is missing";
    assert_eq!(with_service(1, "AcceptingRequests"), Err(missing.to_owned()));
    let range = "directory update: service id is 65536, which is out of range";
    assert_eq!(with_service(65_536, "ServiceState"), Err(range.to_owned()));
}

/// What a requester of all filters is told of each service.
fn served(directory: &Directory) -> Vec<(u16, DirectoryFilter)> {
    let request = DirectoryRequest::new(2, DirectoryFilter::all());
    let served = directory.refresh(&request, &State::open_ok(""));
    let mut buffer = [0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    served.encode(&mut encoder).expect("room");
    let bytes = encoder.finish_bytes().expect("room");
    let read = DirectoryMsg::decode(&Msg::decode(bytes).expect("well-formed"));
    let Ok(DirectoryMsg::Refresh(read)) = read else { panic!("{read:?}") };
    let filters = |service: &ServiceEntry| {
        service.filters.iter().map(FilterEntry::filter).collect::<DirectoryFilter>()
    };
    read.services.iter().map(|service| (service.service_id, filters(service))).collect()
}

#[test]
fn a_service_that_lost_its_info_is_served_without_and_keeps_its_name() {
    let mut directory = two_services();
    let states = [1, 2].map(|id| ServiceEntry::add(id, vec![up()]));
    let _ = directory.apply_refresh(&refresh(true, states.to_vec()));
    assert_eq!(served(&directory), [(1, DirectoryFilter::STATE), (2, DirectoryFilter::STATE)]);
    assert_eq!(directory.service_id(b"ONE"), Some(1));
    for (entry, reason) in [
        (service(1, "OTHER"), DirectoryRefusal::NameChanged),
        (service(3, "ONE"), DirectoryRefusal::NameTaken),
    ] {
        let service_id = entry.service_id;
        let refused = DirectoryChange::Refused { service_id, reason };
        assert_eq!(update(&mut directory, entry), [refused]);
    }
    let _ = update(&mut directory, service(1, "ONE"));
    assert_eq!(served(&directory)[0], (1, DirectoryFilter::MINIMUM));
    let _ = directory.clear();
    assert_eq!(directory.service_id(b"ONE"), None);
}

#[test]
fn a_service_whose_new_description_is_refused_stays_as_it_was() {
    let mut directory = two_services();
    let _ = update(&mut directory, ServiceEntry::update(1, vec![load(9)]));
    let before = directory.service(1).cloned();
    let changes = directory.apply_refresh(&refresh(true, vec![service(1, "OTHER")]));
    assert_eq!(deleted(&changes), [2]);
    let reason = DirectoryRefusal::NameChanged;
    assert_eq!(changes.last(), Some(&DirectoryChange::Refused { service_id: 1, reason }));
    assert_eq!(directory.service(1).cloned(), before);
}

#[test]
fn filters_that_a_clearing_refresh_wipes_are_told() {
    let mut directory = two_services();
    let _ = update(&mut directory, ServiceEntry::update(1, vec![load(9)]));
    let all = vec![service(1, "ONE"), ServiceEntry::add(2, vec![])];
    let filters = DirectoryFilter::MINIMUM | DirectoryFilter::LOAD;
    assert_eq!(
        directory.apply_refresh(&refresh(true, all)),
        [
            DirectoryChange::Updated { service_id: 1, filters },
            DirectoryChange::Updated { service_id: 2, filters: DirectoryFilter::MINIMUM },
        ]
    );
}

#[test]
fn services_come_and_go_up_to_a_limit() {
    let mut directory = two_services();
    directory.max_services = 2;
    let reason = DirectoryRefusal::TooManyServices;
    let refused = DirectoryChange::Refused { service_id: 3, reason };
    assert_eq!(update(&mut directory, service(3, "THREE")), [refused]);
    assert_eq!(update(&mut directory, ServiceEntry::update(2, vec![load(9)])).len(), 1);
    // What a clearing refresh lacks makes room for what it brings.
    let changes =
        directory.apply_refresh(&refresh(true, vec![service(3, "THREE"), service(2, "TWO")]));
    assert_eq!(changes[1], DirectoryChange::Added { service_id: 3 });
}

#[test]
fn a_refresh_names_the_filters_that_it_can_give() {
    let directory = two_services();
    let filter = DirectoryFilter::all() | DirectoryFilter::from_bits_retain(1 << 20);
    let refresh = directory.refresh(&DirectoryRequest::new(2, filter), &State::open_ok(""));
    assert_eq!(refresh.filter.bits(), 0x7B);
    let request = DirectoryRequest::new(2, DirectoryFilter::MINIMUM);
    let refresh = directory.refresh(&request, &State::open_ok(""));
    assert_eq!(refresh.filter, DirectoryFilter::MINIMUM);
}

#[test]
fn a_service_is_taken_over_as_another_directory_has_it() {
    let other = two_services();
    let mut directory = Directory::default();
    for id in [1, 2] {
        assert_eq!(directory.adopt(id, &other), [DirectoryChange::Added { service_id: id }]);
        assert_eq!(directory.adopt(id, &other), [], "it is the same");
    }
    let mut busier = other.clone();
    update(&mut busier, ServiceEntry::update(1, vec![load(7)]));
    let changes = directory.adopt(1, &busier);
    let [DirectoryChange::Updated { service_id: 1, filters }] = changes[..] else {
        panic!("{changes:?}")
    };
    assert!(filters.contains(DirectoryFilter::LOAD));
    assert_eq!(deleted(&directory.adopt(2, &Directory::default())), [2]);
    assert_eq!(directory.adopt(2, &Directory::default()), []);
    assert_eq!((directory.service_id(b"ONE"), directory.service_id(b"TWO")), (Some(1), None));
    // A name has one number, a number one name.
    let mut renumbered = Directory::default();
    update(&mut renumbered, service(5, "ONE"));
    let changes = directory.adopt(5, &renumbered);
    assert_eq!((deleted(&changes), directory.service_id(b"ONE")), (vec![1], Some(5)));
    let mut renamed = Directory::default();
    update(&mut renamed, service(5, "FIVE"));
    let changes = directory.adopt(5, &renamed);
    assert_eq!(
        (deleted(&changes), changes.last()),
        (vec![5], Some(&DirectoryChange::Added { service_id: 5 }))
    );
    assert_eq!((directory.service_id(b"ONE"), directory.service_id(b"FIVE")), (None, Some(5)));
}
