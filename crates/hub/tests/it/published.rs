//! Non-interactive providers: they connect, say what they have, and send it.

use crate::support::{self, A, B, World, config, item_request, lines, provider};
use tapeline_channel::SessionId;
use tapeline_hub::{HubConfig, ServiceKind, Unpublished};
use tapeline_omm::directory::{DirectoryUpdate, ServiceEntry};
use tapeline_omm::login::LoginRequest;
use tapeline_rwf::{
    DataState, DataType, Domain, Encoded, RefreshFlags, RequestFlags, RequestMsg, State, StateCode,
    StreamState, UpdateMsg,
};

pub(super) const IMAGE: &str = "Refresh Open / Ok / None / 'All is well' clear complete";

/// A refresh as a provider publishes it: unsolicited, with key.
pub(super) fn publish(stream_id: i32, name: &str) -> Vec<u8> {
    provider::refresh_with(stream_id, name, |msg| {
        msg.flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    })
}

/// The same of one that does not know whether it is good.
pub(super) fn publish_suspect(stream_id: i32, name: &str) -> Vec<u8> {
    provider::refresh_with(stream_id, name, |msg| {
        msg.flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
        msg.state.data = DataState::SUSPECT;
    })
}

pub(super) fn connected(world: &mut World) -> SessionId {
    let session = world.session();
    world.event(provider::opened(session));
    world.says(session, &provider::provider_login());
    world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
    session
}

pub(super) fn publishing(config: HubConfig) -> (World, SessionId) {
    let mut world = World::new(config);
    world.server_up(A);
    world.server_up(B);
    let session = connected(&mut world);
    world.says(session, &publish(-1, "TRI.N"));
    world.heard_by(session);
    world.forget();
    (world, session)
}

#[test]
fn its_login_is_accepted_and_its_directory_taken_without_being_asked_for() {
    let mut world = World::new(config(0));
    world.server_up(A);
    let session = world.session();
    world.event(provider::opened(session));
    world.says(session, &provider::provider_login());
    assert_eq!(
        world.heard_by(session),
        ["Refresh publisher Open / Ok / None / 'Login accepted by host hub.' complete"]
    );
    world.forget();
    world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
    assert_eq!(world.heard_by(session), [""; 0]);
    assert_eq!(world.frames(), ["all directory change: 1 FEED up"]);
}

#[test]
fn a_consumer_is_refused_and_so_is_whoever_publishes_before_the_login() {
    let mut world = World::new(config(0));
    let session = world.session();
    world.event(provider::opened(session));
    world.says(session, &publish(-1, "TRI.N"));
    assert_eq!(world.core.counters().stray, 1);
    let login = LoginRequest::new(1, "user");
    world.says(session, &provider::written(|encoder| login.encode(encoder)));
    assert_eq!(
        world.heard_by(session),
        ["Status user Closed / Suspect / UsageError / 'Only providers (Role 1) log in here.'"]
    );
}

#[test]
fn directories_on_several_streams_are_merged() {
    let mut world = World::new(config(0));
    let session = connected(&mut world);
    world.says(session, &provider::directory_on(-7, &[provider::service(2, "MORE", true)]));
    world.server_up(A);
    assert_eq!(world.frames().last().expect("a frame"), "A directory all: 1 FEED up; 2 MORE up");
    // Replacing what one stream brought leaves the other alone.
    world.says(session, &provider::directory_on(-7, &[]));
    assert_eq!(world.frames(), ["all directory change: 2 down"]);
}

#[test]
fn what_was_published_is_kept_and_given_to_whoever_asks() {
    let (mut world, session) = publishing(config(0));
    world.says(session, &provider::update(-1, 4600));
    assert_eq!(world.frames(), [""; 0], "nobody wants it yet");
    world.open(A, 7, "TRI.N");
    let (_, image) = world.out.frames[1].clone();
    assert_eq!(world.frames(), ["A accept 7 as item 0".to_owned(), format!("A #0 image {IMAGE}")]);
    let updated = provider::update(-1, 4600);
    assert_eq!(image[image.len() - 6..], updated[updated.len() - 6..]);
    world.says(session, &provider::update(-1, 4601));
    assert_eq!(world.frames(), [format!("all #1 Update 0 {} bytes", updated.len())]);
    assert_eq!(world.heard_by(session), [""; 0], "providers are never asked");
}

#[test]
fn a_server_that_was_given_up_and_does_not_know_it_yet_sees_a_hole() {
    let (mut world, session) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    world.says(session, &provider::update(-1, 4600));
    world.server_down(A);
    // Nobody is sent this one.
    world.says(session, &provider::update(-1, 4601));
    world.open(B, 8, "TRI.N");
    world.forget();
    world.says(session, &provider::update(-1, 4602));
    let (header, _) = &world.out.frames[0];
    assert_eq!(header.item_seq, 3, "A had #1");
}

#[test]
fn a_snapshot_is_answered_from_what_is_kept() {
    let (mut world, _) = publishing(config(0));
    world.snapshot(A, 7, "TRI.N");
    assert_eq!(
        world.frames(),
        [
            "A accept 7 as item 0",
            "A #0 image snapshot Refresh NonStreaming / Ok / None / 'All is well' clear complete",
        ]
    );
}

#[test]
fn a_request_for_what_is_not_published_waits_or_is_refused_as_configured() {
    let (mut world, session) = publishing(config(0));
    world.open(A, 7, "IBM.N");
    assert_eq!(
        world.frames(),
        [
            "A accept 7 as item 1",
            "all #1 Status Open / Suspect / None / 'Item is not published yet.'"
        ]
    );
    world.says(session, &publish(-2, "IBM.N"));
    assert_eq!(world.frames(), [format!("all #2 image {IMAGE}")]);

    let config = HubConfig { unpublished: Unpublished::NotFound, ..config(0) };
    let (mut world, _) = publishing(config);
    world.open(A, 7, "IBM.N");
    assert_eq!(
        world.frames(),
        ["A refuse 7 Status Closed / Suspect / NotFound / 'The record could not be found'"]
    );
}

#[test]
fn the_last_close_leaves_the_item_published() {
    let (mut world, session) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    world.close(A, 7);
    world.forget();
    world.says(session, &provider::update(-1, 4601));
    world.open(B, 0, "TRI.N");
    assert_eq!(world.frames().len(), 2);
}

#[test]
fn closing_the_item_closes_it_for_all_and_frees_its_stream() {
    let (mut world, session) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    world.forget();
    let gone = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "delisted");
    world.says(session, &provider::status(-1, gone));
    assert_eq!(world.frames(), ["all #1 last Status Closed / Suspect / None / 'delisted'"]);
    assert_eq!(world.core.counters().items, 0);
    world.says(session, &publish(-1, "IBM.N"));
    assert_eq!(world.core.counters().items, 1);
}

#[test]
fn a_lost_provider_leaves_its_items_suspect_until_it_is_back() {
    let (mut world, session) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    world.forget();
    world.closed(session);
    assert_eq!(
        world.frames(),
        ["all #1 Status Open / Suspect / None / 'channel down.'", "all directory change: 1 down",]
    );
    // Newcomers get what there is.
    world.open(B, 2, "TRI.N");
    assert_eq!(
        world.frames()[1],
        "B #1 image Refresh Open / Suspect / None / 'channel down.' clear complete"
    );
    let back = connected(&mut world);
    world.forget();
    world.says(back, &publish(-3, "TRI.N"));
    assert_eq!(world.frames(), [format!("all #2 image {IMAGE}")]);
    world.pass(120_000);
    assert_eq!(world.frames(), [""; 0], "it is not closed later");
}

#[test]
fn items_of_a_provider_that_does_not_come_back_are_closed() {
    let (mut world, session) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    world.closed(session);
    world.forget();
    world.pass(60_000);
    assert_eq!(
        world.frames(),
        ["all #2 last Status ClosedRecover / Suspect / None / 'channel down.'"]
    );
    assert_eq!(world.core.counters().items, 0);
}

#[test]
fn a_second_provider_of_an_item_takes_over_with_what_it_has() {
    let (mut world, first) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    let second = connected(&mut world);
    world.forget();
    world.says(second, &publish(-9, "TRI.N"));
    world.says(second, &provider::update(-9, 1));
    assert_eq!(world.frames(), [""; 0], "the first one has it");
    world.closed(first);
    assert_eq!(
        world.frames(),
        [format!("all #1 image {}", IMAGE.replace("None", "FailoverCompleted"))]
    );
    world.says(second, &publish(-9, "TRI.N"));
    assert_eq!(world.frames(), [format!("all #2 image {IMAGE}")]);
}

#[test]
fn ids_far_from_zero_and_above_it_are_as_good_as_others() {
    let (mut world, session) = publishing(config(0));
    for (place, stream_id) in [i32::MIN, 2_000_000, 17].into_iter().enumerate() {
        let name = format!("ITEM{place}");
        world.says(session, &publish(stream_id, &name));
        world.open(A, place as u32, &name);
        world.forget();
        world.says(session, &provider::update(stream_id, 1));
        assert_eq!(world.frames().len(), 1, "{stream_id}");
    }
}

#[test]
fn a_change_of_the_directory_comes_as_an_update() {
    let (mut world, session) = publishing(config(0));
    let more = DirectoryUpdate::new(0, vec![provider::service(4, "LATE", true)]);
    world.says(session, &provider::written(|encoder| more.encode(encoder)));
    let gone = DirectoryUpdate::new(0, vec![ServiceEntry::delete(4)]);
    world.says(session, &provider::written(|encoder| gone.encode(encoder)));
    assert_eq!(world.frames(), ["all directory change: 4 LATE up", "all directory change: 4 down"]);
}

#[test]
fn limits_on_items_and_providers_hold() {
    let mut config = config(0);
    config.limits.max_items = 1;
    config.limits.max_providers = 1;
    let (mut world, session) = publishing(config);
    world.says(session, &publish(-2, "IBM.N"));
    assert_eq!(world.core.counters().items, 1);
    let another = world.session();
    world.event(provider::opened(another));
    assert_eq!(world.out.closed, [(another, "too many providers".to_owned())]);
    assert_eq!(world.core.counters().limited, 2);
}

/// A hub with an interactive source of FEED, and server A.
fn interactive() -> (World, SessionId) {
    let (world, sources) = World::with_sources(config(1));
    (world, sources[0])
}

#[test]
fn a_service_of_an_interactive_provider_takes_nothing_that_is_published() {
    let (mut world, source) = interactive();
    world.open(A, 7, "TRI.N");
    world.says(source, &provider::refresh(3, "TRI.N"));
    let forger = connected(&mut world);
    world.heard_by(forger);
    world.forget();
    for number in 1..=100 {
        world.says(forger, &publish(-number, &format!("ITEM{number}")));
        world.says(forger, &provider::update(-number, 666));
    }
    assert_eq!(world.core.counters().publications_refused, 100);
    assert_eq!(world.core.counters().items, 1);
    let heard = world.heard_by(forger);
    assert_eq!(heard.len(), 100);
    assert_eq!(
        heard[0],
        "Status Closed / Suspect / NotAuthorized / \
         'Service is not open to non-interactive providers.'"
    );
    for number in 1..=100 {
        world.open(A, 100 + number, &format!("ITEM{number}"));
    }
    assert_eq!(world.heard_by(source).len(), 100, "the true source is asked");
    // Nor while the true source is away.
    world.closed(source);
    let again = connected(&mut world);
    world.forget();
    world.says(again, &publish(-1, "TRI.N"));
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!(world.core.counters().publications_refused, 101);
}

#[test]
fn a_service_that_is_refused_is_told_to_the_operator_once() {
    let (mut world, _) = interactive();
    let forger = connected(&mut world);
    world.says(forger, &provider::directory_on(0, &[provider::feed(1)]));
    let told = "service FEED: it is an interactive provider's".to_owned();
    assert_eq!(world.out.warned, [(forger, told)]);
}

#[test]
fn whoever_was_first_a_service_is_the_interactive_providers() {
    let mut world = World::new(config(1));
    world.server_up(A);
    let forger = connected(&mut world);
    let gone = connected(&mut world);
    for (number, name) in ["WATCHED", "UNWATCHED"].into_iter().enumerate() {
        world.says(forger, &publish(-1 - number as i32, name));
    }
    world.says(gone, &publish(-1, "STALE"));
    world.closed(gone);
    world.open(A, 1, "WATCHED");
    world.open(A, 2, "STALE");
    world.forget();
    let source = world.source_up(0);
    assert_eq!(
        world.heard_by(source)[2..],
        ["Request 3 1:WATCHED streaming", "Request 4 1:STALE streaming"]
    );
    let lost = "Status Open / Suspect / None / 'Service for this item was lost.'";
    let frames = world.frames();
    assert_eq!(frames.iter().filter(|line| line.ends_with(lost)).count(), 2, "{frames:?}");
    assert_eq!(world.out.warned.len(), 1);
    assert_eq!(world.core.counters().items, 2, "what nobody watches is forgotten");
    world.says(forger, &provider::update(-1, 666));
    world.says(forger, &publish(-1, "WATCHED"));
    assert_eq!(world.frames(), [""; 0]);
    world.says(source, &provider::refresh(3, "WATCHED"));
    assert_eq!(world.frames(), [format!("all #2 image {IMAGE}")]);
    world.closed(forger);
    world.pass(120_000);
    assert!(!world.frames().iter().any(|line| line.contains("last")));
}

#[test]
fn a_service_that_a_route_names_is_taken_before_the_route_is_up() {
    let mut config = config(1);
    config.routes[0].services = Some(vec!["FEED".to_owned()]);
    let mut world = World::new(config);
    let forger = connected(&mut world);
    world.says(forger, &publish(-1, "TRI.N"));
    assert_eq!(world.core.counters().publications_refused, 1);
}

#[test]
fn services_for_publishers_can_be_named_also_one_of_an_interactive_provider() {
    let (mut world, _) =
        World::with_sources(HubConfig { ni_services: Some(vec!["FEED".to_owned()]), ..config(1) });
    let session = connected(&mut world);
    world.says(session, &publish(-1, "TRI.N"));
    assert_eq!(world.core.counters().items, 1);
    world.says(session, &provider::directory_on(-5, &[provider::service(2, "OTHER", true)]));
    let why = "service OTHER: it is not among those for non-interactive providers".to_owned();
    assert_eq!(world.out.warned, [(session, why)]);
}

#[test]
fn a_service_is_for_the_providers_that_the_configuration_says() {
    let of = |kind| {
        let service_kinds = [("FEED".to_owned(), kind)].into();
        // A word of its own goes before that of all.
        let ni_services = Some(vec!["OTHER".to_owned()]);
        let config = HubConfig { service_kinds, ni_services, ..config(1) };
        let (mut world, sources) = World::with_sources(config);
        let session = connected(&mut world);
        world.says(session, &publish(-1, "TRI.N"));
        let published = world.core.counters().items;
        world.open(A, 7, "OTHER.N");
        let asked = world.heard_by(sources[0]).len();
        let warned = world.out.warned.iter().map(|(_, why)| why.clone());
        (asked, published, warned.collect::<Vec<_>>())
    };
    let why = "service FEED: it is an interactive provider's".to_owned();
    assert_eq!(of(ServiceKind::Interactive), (1, 0, vec![why]));
    assert_eq!(of(ServiceKind::NonInteractive), (0, 1, Vec::new()));
}

#[test]
fn one_provider_does_not_use_up_what_all_share() {
    let mut config = config(0);
    config.limits.max_items_per_provider = 2;
    let (mut world, greedy) = publishing(config);
    let modest = connected(&mut world);
    world.heard_by(modest);
    world.says(greedy, &publish(-2, "B"));
    world.says(greedy, &publish(-3, "C"));
    world.says(greedy, &publish(-4, "D"));
    assert_eq!(
        world.heard_by(greedy),
        ["Status Closed / Suspect / TooManyItems / 'Item limit reached'"; 2]
    );
    let told = "more than 2 items, the most of one provider".to_owned();
    assert_eq!(world.out.warned, [(greedy, told)]);
    assert_eq!(world.core.counters().limited, 2);
    world.says(modest, &publish(-1, "C"));
    let counters = world.core.counters();
    assert_eq!((counters.items, counters.providers, counters.provider_items), (3, 2, 2));
    // What it has goes on, and one that ends makes room for another.
    let gone = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "delisted");
    world.says(greedy, &provider::status(-2, gone));
    world.says(greedy, &publish(-4, "D"));
    assert_eq!(world.core.counters().items, 3);
}

#[test]
fn items_that_nobody_publishes_and_nobody_wants_make_room() {
    let mut config = config(0);
    config.limits.max_items = 3;
    let (mut world, first) = publishing(config);
    world.says(first, &publish(-2, "UNWATCHED"));
    world.open(A, 7, "TRI.N");
    world.closed(first);
    let second = connected(&mut world);
    world.says(second, &publish(-1, "X"));
    world.says(second, &publish(-2, "Y"));
    world.says(second, &publish(-3, "Z"));
    assert_eq!(world.core.counters().items, 3);
    assert_eq!(world.core.counters().limited, 1);
    // What is watched stays.
    world.forget();
    world.says(second, &publish(-9, "TRI.N"));
    assert_eq!(world.frames().len(), 1);
}

#[test]
fn who_has_not_logged_in_takes_no_place_of_a_provider() {
    let mut config = config(0);
    config.limits.max_providers = 1;
    let mut world = World::new(config);
    let idle = world.session();
    world.event(provider::opened(idle));
    let session = connected(&mut world);
    assert_eq!(world.out.admitted, [session]);
    assert_eq!(world.out.closed, []);
    world.says(idle, &provider::provider_login());
    assert_eq!(world.out.closed, [(idle, "too many providers".to_owned())]);
    assert_eq!(world.out.admitted, [session]);
}

#[test]
fn a_request_of_a_provider_is_answered_with_a_refusal() {
    let (mut world, session) = publishing(config(0));
    let request = RequestMsg { flags: RequestFlags::STREAMING, ..item_request(1, "TRI.N") };
    world.says(session, &support::encode(&request.into()));
    let (_, answer) = world.out.sent.pop().expect("an answer");
    assert_eq!(
        lines::message(&answer),
        "Status Closed / Suspect / UsageError / 'Requests of providers are not answered.'"
    );
}

/// An update whose content is of this type.
fn update_of(container_type: DataType, content: &[u8]) -> Vec<u8> {
    let payload = Encoded::new(container_type, content);
    let msg = UpdateMsg { payload, ..UpdateMsg::new(Domain::MARKET_PRICE, -1) };
    support::encode(&msg.into())
}

#[test]
fn an_update_that_cannot_be_applied_is_dropped_and_the_image_stays() {
    let (mut world, session) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    let (_, image) = world.out.frames[1].clone();
    world.forget();
    world.says(session, &update_of(DataType::ELEMENT_LIST, &[0x08, 0, 0]));
    // One field that is right, and one that is cut off.
    let cut_off = [0x08, 0, 2, 0, 22, 3, 12, 0x11, 0xFF, 0, 25, 9, 12];
    world.says(session, &update_of(DataType::FIELD_LIST, &cut_off));
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!(world.core.counters().uncached, 2);
    world.open(B, 1, "TRI.N");
    let (_, same) = world.out.frames[1].clone();
    assert_eq!(same, image);
}

#[test]
fn who_asks_for_an_item_without_an_image_is_told() {
    let (mut world, session) = publishing(config(0));
    let too_much = provider::refresh_with(-1, "TRI.N", |msg| {
        msg.flags =
            RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE | RefreshFlags::DO_NOT_CACHE;
    });
    world.says(session, &too_much);
    world.open(A, 7, "TRI.N");
    assert_eq!(
        world.frames(),
        [
            "A accept 7 as item 0",
            "A #0 Status Open / Suspect / None / 'No image is kept until the next is published.'",
        ]
    );
    world.says(session, &publish(-1, "TRI.N"));
    assert_eq!(world.frames(), [format!("all #1 image {IMAGE}")]);
}
