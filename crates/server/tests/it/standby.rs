//! Warm standby: what a client hears of the server that it does not take its
//! data from, and when it does.

use std::time::Duration;

use tapeline_channel::SessionId;
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryRequest, FilterContent, FilterEntry, ServiceEntry, ServiceInfo,
    ServiceState,
};
use tapeline_omm::login::{
    ConsumerConnectionStatus, LoginMsg, LoginRequest, StandbyServer, WarmStandbyMode,
};
use tapeline_omm::market::RequestPayload;
use tapeline_rwf::{
    DataState, Domain, MapAction, Msg, MsgKey, Qos, State, StateCode, StreamState, Timeliness,
};
use tapeline_server::{ServerConfig, StandbyImage, StandbyPosts, WarmStandby};

use crate::slices::name;
use crate::support::*;

const ACTIVE: WarmStandbyMode = WarmStandbyMode::Active;
const STANDBY: WarmStandbyMode = WarmStandbyMode::Standby;

/// A mount for which the server stands by.
pub(crate) fn standby_mount(world: &mut World) -> SessionId {
    let consumer = world.mount();
    world.say(consumer, &login_role(STANDBY));
    consumer
}

/// An item that another mount has open, with its image, as the hub's item.
fn with_item(config: ServerConfig, item: u32) -> (World, SessionId) {
    let mut world = World::feed_with(config);
    let other = world.mount();
    world.open_item(other, 5, "TRI.N", item);
    (world, other)
}

const BLANK: &str =
    "REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well'";

#[test]
fn a_standby_answers_with_blanks_and_brings_images_when_it_takes_over() {
    let mut world = World::with_feed();
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(world.published().len(), 1, "it is opened like any other");
    world.accept(HUB, 17, 0);
    assert_eq!(world.heard(consumer), [""; 0]);
    world.item(HUB, 17, 1, &image(&[(22, 100), (25, 101)]));
    assert_eq!(world.heard(consumer), [BLANK]);
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    world.item(HUB, 17, 3, &image(&[(22, 8), (25, 101)]));
    world.item(HUB, 17, 4, &update(&[(22, 9)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    world.say(consumer, &login_role(ACTIVE));
    world.item(HUB, 17, 5, &update(&[(22, 10)]));
    assert_eq!(
        world.heard(consumer),
        [
            "REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=9 25=101}",
            "UPDATE 5 MARKET_PRICE QUOTE {22=10}",
        ]
    );
    assert_eq!(world.published(), [""; 0], "nothing is asked of anybody");
    let statistics = world.core.statistics();
    assert_eq!((statistics.take_overs, statistics.streams_taken_over), (1, 1));
    assert_eq!((statistics.answers_on_standby, statistics.updates_out), (1, 1));
}

#[test]
fn what_others_have_open_is_answered_at_once() {
    let (mut world, other) = with_item(ServerConfig::default(), 17);
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(world.heard(consumer), [BLANK]);
    assert_eq!(world.core.statistics().answers_on_standby, 1, "the other's image is none");
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard(other), ["UPDATE 5 MARKET_PRICE QUOTE {22=7}"]);
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn what_is_asked_for_in_the_instant_of_the_take_over_is_answered_with_content() {
    for config in [ServerConfig::default(), ServerConfig { cache: false, ..Default::default() }] {
        let with_cache = config.cache;
        let (mut world, _) = with_item(config, 17);
        let (first, consumer) = (world.mount(), world.mount());
        world.open_item(consumer, 9, "IBM.N", 18);
        world.is_late = true;
        // Streams of the first mount of a turn are held at once, those of others
        // when there is time.
        world.say(first, &login_role(STANDBY));
        world.say(consumer, &login_role(STANDBY));
        world.say(consumer, &login_role(ACTIVE));
        world.say(consumer, &request(5, "TRI.N"));
        if !with_cache {
            world.item_to_us(HUB, 17, 1, &image(&[(22, 100), (25, 101)]));
        }
        let heard = world.heard(consumer);
        let image = format!("{BLANK} {{22=100 25=101}}");
        assert!(heard.contains(&image), "cache {with_cache}: {heard:?}");
        assert!(!heard.contains(&BLANK.to_owned()), "cache {with_cache}: {heard:?}");
    }
}

#[test]
fn without_a_cache_the_hub_is_asked_for_nothing_before_the_take_over() {
    let config = ServerConfig { cache: false, ..ServerConfig::default() };
    let (mut world, _) = with_item(config, 17);
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(world.published(), [""; 0]);
    assert_eq!(world.heard(consumer), [BLANK]);
    world.say(consumer, &login_role(ACTIVE));
    assert_eq!(
        world.heard(consumer),
        [
            "STATUS 5 MARKET_PRICE Open / Suspect / None / 'Taken over without an image; it has been \
          asked for'"
        ]
    );
    assert_eq!(world.published().len(), 1, "its image");
    world.item_to_us(HUB, 17, 1, &image(&[(22, 3)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=3}"]
    );
}

#[test]
fn whole_images_are_for_who_wants_them_early() {
    let config = ServerConfig { standby_image: StandbyImage::Full, ..ServerConfig::default() };
    let (mut world, _) = with_item(config, 17);
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(world.heard(consumer), [format!("{BLANK} {{22=100 25=101}}")]);
    world.item(HUB, 17, 2, &image(&[(22, 1)]));
    world.item(HUB, 17, 3, &update(&[(22, 7)]));
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn what_is_said_after_items_are_open_stops_their_updates() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    for (role, fields) in [(Some(ACTIVE), 2), (None, 4)] {
        world.say(consumer, &login_role(STANDBY));
        world.item(HUB, 17, fields, &update(&[(22, i64::from(fields))]));
        assert_eq!(world.heard(consumer), [""; 0]);
        let status = ConsumerConnectionStatus {
            stream_id: 1,
            action: Some(if role.is_some() { MapAction::UPDATE } else { MapAction::DELETE }),
            mode: role,
        };
        world.say(consumer, &built(|encoder| status.encode(encoder).expect("room")));
        world.item(HUB, 17, fields + 1, &update(&[(22, 50)]));
        let heard = world.heard(consumer);
        assert!(heard[0].starts_with("REFRESH 5 MARKET_PRICE TRI.N@1 clear"), "{heard:?}");
        assert!(heard[0].ends_with(&format!("{{22={fields} 25=101}}")), "{heard:?}");
        assert_eq!(heard[1..], ["UPDATE 5 MARKET_PRICE QUOTE {22=50}"]);
    }
}

#[test]
fn each_service_has_a_role_of_its_own() {
    let mut world = World::with_feed();
    world.hub_update(HUB, vec![service(2, "RATES", true)]);
    let consumer = world.mount();
    world.say(consumer, &directory_request(2));
    world.heard(consumer);
    world.published();
    world.say(consumer, &service_role(2, 2, Some(STANDBY)));
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &item_request(6, "EUR=", |request| request.key.service_id = Some(2)));
    world.published();
    world.accept(HUB, 18, 1);
    world.item(HUB, 18, 1, &image(&[(22, 1)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 6 MARKET_PRICE EUR=@2 solicited clear Open / Ok / None / 'All is well'"]
    );
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    world.item(HUB, 18, 2, &update(&[(22, 2)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=7}"]);
    // They change places.
    world.say(consumer, &service_role(2, 1, Some(STANDBY)));
    world.say(consumer, &service_role(2, 2, Some(ACTIVE)));
    world.item(HUB, 17, 3, &update(&[(22, 8)]));
    world.item(HUB, 18, 3, &update(&[(22, 3)]));
    assert_eq!(
        world.heard(consumer),
        [
            "REFRESH 6 MARKET_PRICE EUR=@2 clear Open / Ok / None / 'All is well' {22=2}",
            "UPDATE 6 MARKET_PRICE QUOTE {22=3}",
        ]
    );
    // What is said of all services is said of each.
    world.say(consumer, &login_role(ACTIVE));
    assert_eq!(world.heard(consumer).len(), 1, "the image of the other");
}

#[test]
fn a_role_for_a_service_that_is_not_there_yet_is_kept() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &directory_request(2));
    world.say(consumer, &service_role(2, 9, Some(STANDBY)));
    world.hub_update(HUB, vec![service(9, "LATE", true)]);
    world.heard(consumer);
    world.published();
    world.say(consumer, &item_request(5, "TRI.N", |request| request.key.service_id = Some(9)));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    let heard = world.heard(consumer);
    assert!(heard[0].ends_with("'All is well'"), "{heard:?}");
}

#[test]
fn what_can_be_recovered_is_not_told_and_what_is_over_is() {
    let mut world = World::with_feed();
    let consumer = world.connect();
    // As a client that would be told of anything.
    world.say(consumer, &login_with(false, false));
    world.say(consumer, &login_role(STANDBY));
    world.heard(consumer);
    for (stream_id, item, stream) in [
        (5, 17, StreamState::OPEN),
        (6, 18, StreamState::CLOSED_RECOVER),
        (7, 19, StreamState::REDIRECTED),
        (8, 20, StreamState::CLOSED),
    ] {
        world.say(consumer, &request(stream_id, &name(item as usize)));
        let asked = std::mem::take(&mut world.out.published);
        world.accept(HUB, item, asked[0].0.item);
        world.item(HUB, item, 1, &image(&[(22, 1)]));
        assert_eq!(world.heard(consumer).len(), 1);
        world.item(HUB, item, 2, &status(stream, DataState::SUSPECT, "why"));
        world.out.published.clear();
    }
    assert_eq!(world.heard(consumer), ["STATUS 8 MARKET_PRICE Closed / Suspect / None / 'why'"]);
    world.published();
    // The two that were closed for the time being are asked for again.
    world.pass(Duration::from_secs(15));
    assert_eq!(world.published().iter().filter(|line| line.starts_with("Open")).count(), 2);
    // What it is like is told when it matters.
    world.say(consumer, &login_role(ACTIVE));
    let heard = world.heard(consumer);
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(heard.iter().all(|line| line.contains("Suspect")), "{heard:?}");
}

#[test]
fn a_request_that_waits_is_answered_by_a_state_too() {
    let mut world = World::with_feed();
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.hub_down(HUB);
    let heard = world.heard(consumer);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with("REFRESH 5 MARKET_PRICE TRI.N@1 solicited"), "{heard:?}");
    assert!(heard[0].contains("Open / Suspect"), "{heard:?}");
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn a_request_for_a_service_that_is_down_is_not_closed() {
    let mut world = World::with_feed();
    let consumer = world.connect();
    world.say(consumer, &login_with(false, false));
    world.say(consumer, &login_role(STANDBY));
    world.hub_update(HUB, vec![service_state(1, false)]);
    world.heard(consumer);
    world.say(consumer, &request(5, "TRI.N"));
    let heard = world.heard(consumer);
    assert!(heard[0].contains("Open / Suspect"), "{heard:?}");
    world.hub_update(HUB, vec![service_state(1, true)]);
    assert!(world.published()[0].starts_with("Open"));
}

#[test]
fn a_take_over_with_a_source_that_is_down_tells_so() {
    let (mut world, other) = with_item(ServerConfig::default(), 17);
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    world.heard(consumer);
    world.item(HUB, 17, 2, &status(StreamState::OPEN, DataState::SUSPECT, "Source lost"));
    world.heard(other);
    assert_eq!(world.heard(consumer), [""; 0]);
    world.say(consumer, &login_role(ACTIVE));
    let heard = world.heard(consumer);
    assert_eq!(heard.len(), 1);
    assert!(heard[0].contains("Open / Suspect / None / 'Source lost'"), "{heard:?}");
}

#[test]
fn snapshots_views_batches_and_lists_are_served() {
    let (mut world, _) = with_item(ServerConfig::default(), 17);
    let consumer = standby_mount(&mut world);
    world.say(consumer, &item_request(5, "TRI.N", |request| request.streaming = false));
    let heard = world.heard(consumer);
    assert!(heard[0].ends_with("NonStreaming / Ok / None / 'All is well'"), "{heard:?}");
    let payload = RequestPayload { items: Some(&[b"TRI.N"]), ..RequestPayload::NONE };
    world.say(consumer, &request_with(9, "", &payload, |it| it.key.name = None));
    let heard = world.heard(consumer);
    assert!(heard[0].contains("Stream closed for batch"), "{heard:?}");
    assert!(heard[1].ends_with("solicited clear Open / Ok / None / 'All is well'"), "{heard:?}");
    let view = tapeline_omm::view::View::of_fields([22]);
    let payload = RequestPayload { view: Some(&view), ..RequestPayload::NONE };
    world.say(consumer, &request_with(11, "TRI.N", &payload, |_| {}));
    // The item is open already on this mount.
    assert!(world.heard(consumer)[0].contains("already open"));
}

#[test]
fn private_streams_are_not_held() {
    let mut world = World::with_feed();
    let consumer = standby_mount(&mut world);
    world.say(consumer, &item_request(5, "TRI.N", |request| request.private = true));
    world.published();
    world.accept(HUB, 17, 0);
    world.item_to_us(HUB, 17, 0, &image(&[(22, 1)]));
    assert!(world.heard(consumer)[0].ends_with("{22=1}"));
    world.item(HUB, 17, 1, &update(&[(22, 2)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=2}"]);
}

#[test]
fn generic_messages_are_for_who_is_served() {
    let (mut world, other) = with_item(ServerConfig::default(), 17);
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    world.heard(consumer);
    world.item(HUB, 17, 2, &generic(0, "word"));
    assert_eq!(world.heard(other).len(), 1);
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn posts_are_for_the_active_server_to_pass_on() {
    for (posts, nak, forwarded) in [
        (StandbyPosts::Ack, "", 0),
        (StandbyPosts::Nak, " NO_RESOURCES", 0),
        (StandbyPosts::Forward, "", 2),
    ] {
        let config = ServerConfig { standby_posts: posts, ..ServerConfig::default() };
        let (mut world, _) = with_item(config, 17);
        let consumer = standby_mount(&mut world);
        world.say(consumer, &request(5, "TRI.N"));
        world.heard(consumer);
        world.say(consumer, &post(5, 42, None));
        world.say(consumer, &post(1, 43, Some(MsgKey::item(1, "IBM.N"))));
        assert_eq!(world.published().len(), forwarded);
        let heard = world.heard(consumer);
        if posts == StandbyPosts::Forward {
            assert_eq!(heard, [""; 0]);
            continue;
        }
        assert_eq!(heard.len(), 2);
        assert!(heard[0].starts_with(&format!("ACK 5 MARKET_PRICE id42 seq43{nak}")), "{heard:?}");
        assert!(heard[1].starts_with(&format!("ACK 1 MARKET_PRICE id43 seq44{nak}")), "{heard:?}");
        world.say(consumer, &login_role(ACTIVE));
        world.heard(consumer);
        world.say(consumer, &post(5, 44, None));
        assert_eq!(world.published().len(), 1);
    }
}

#[test]
fn the_role_is_over_with_the_login() {
    let mut world = World::with_feed();
    let consumer = standby_mount(&mut world);
    assert_eq!(world.core.statistics().mounts_on_standby, 1);
    world.say(consumer, &close(1));
    assert_eq!(world.core.statistics().mounts_on_standby, 0);
    world.say(consumer, &login(1, "user"));
    world.heard(consumer);
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=7}"]);
    world.say(consumer, &login_role(STANDBY));
    world.disconnect(consumer);
    assert_eq!(world.core.statistics().mounts_on_standby, 0);
}

#[test]
fn a_role_is_understood_whatever_stream_it_comes_on() {
    let mut world = World::with_feed();
    let consumer = world.connect();
    world.say(consumer, &login(77, "user"));
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    world.heard(consumer);
    // As the vendor's library does when it changes its mind.
    world.say(consumer, &login_role(STANDBY));
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn roles_that_there_are_not_are_ignored() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &directory_request(2));
    world.heard(consumer);
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &login_role(WarmStandbyMode::Other(2)));
    world.say(consumer, &service_role(2, 1, Some(WarmStandbyMode::Other(7))));
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard(consumer).len(), 1);
    assert_eq!(world.core.statistics().roles_ignored, 2);
    // Before a login there is nobody to have a role.
    let stranger = world.connect();
    world.say(stranger, &login_role(STANDBY));
    assert_eq!(world.core.statistics().mounts_on_standby, 0);
}

#[test]
fn a_pause_of_the_login_and_a_role_are_independent() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    let pause = |pause| LoginRequest { pause, no_refresh: true, ..LoginRequest::new(1, "user") };
    world.say(consumer, &login_role(STANDBY));
    world.say(consumer, &login_of(&pause(true)));
    world.say(consumer, &login_of(&pause(false)));
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard(consumer), [""; 0], "it stands by");
    world.say(consumer, &login_role(ACTIVE));
    assert_eq!(world.heard(consumer).len(), 1);
}

#[test]
fn json_mounts_say_the_same_in_json() {
    let (mut world, _) = with_item(ServerConfig::default(), 17);
    let consumer = world.mount_json();
    let role = |mode: u8| {
        format!(
            r#"{{"ID":1,"Type":"Generic","Domain":"Login","Key":{{"Name":"ConsumerConnectionStatus"}},"Map":{{"KeyType":"AsciiString","Entries":[{{"Action":"Add","Key":"WarmStandbyInfo","Elements":{{"WarmStandbyMode":{{"Type":"UInt","Data":{mode}}}}}}}]}}}}"#
        )
    };
    world.text(consumer, &role(1));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    assert_eq!(world.core.statistics().mounts_on_standby, 1);
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""Type":"Refresh""#), "{heard:?}");
    assert!(!heard[0].contains("Fields"), "{heard:?}");
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.text(consumer, &role(0));
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""Fields":{"BID":7,"ASK":101}"#), "{heard:?}");
}

/// What a login is told.
fn features(config: ServerConfig, request: &LoginRequest) -> tapeline_omm::login::LoginRefresh {
    let mut world = World::feed_with(config);
    let consumer = world.connect();
    world.say(consumer, &login_of(request));
    let heard = world.heard_bytes(consumer);
    let msg = Msg::decode(&heard[0]).expect("a message");
    let Ok(LoginMsg::Refresh(refresh)) = LoginMsg::decode(&msg) else { panic!("a refresh") };
    refresh
}

#[test]
fn a_login_says_which_kinds_there_are() {
    for (warm_standby, told) in [
        (WarmStandby::Both, (Some(true), Some(3))),
        (WarmStandby::Login, (Some(true), Some(1))),
        (WarmStandby::Service, (Some(true), Some(2))),
        (WarmStandby::Off, (Some(false), None)),
    ] {
        let config = ServerConfig { warm_standby, ..ServerConfig::default() };
        let features = features(config, &LoginRequest::new(1, "user")).features;
        assert_eq!((features.support_standby, features.support_standby_mode), told);
    }
}

#[test]
fn who_asks_is_told_of_other_servers() {
    let other = StandbyServer {
        hostname: Some("server2".into()),
        port: Some(14002),
        load_factor: Some(50),
        server_type: Some(1),
    };
    let config = || ServerConfig { standby_hosts: vec![other.clone()], ..ServerConfig::default() };
    let mut request = LoginRequest::new(1, "user");
    assert_eq!(features(config(), &request).connection_config, None);
    request.attributes.download_connection_config = Some(true);
    let told = features(config(), &request).connection_config.expect("it asks");
    assert_eq!((told.num_standby_servers, told.servers), (Some(1), vec![other.clone()]));
    assert_eq!(features(ServerConfig::default(), &request).connection_config, None);
}

/// A service whose lists are in this order.
fn described(id: u16, order: [usize; 2]) -> ServiceEntry {
    let names: [tapeline_omm::Text; 2] = ["A".into(), "B".into()];
    let domains = [Domain::MARKET_PRICE, Domain::MARKET_BY_ORDER];
    let best = Qos::REALTIME_TICK_BY_TICK;
    let all_qos = [best, Qos { time_info_s: 5, timeliness: Timeliness::DELAYED, ..best }];
    let info = ServiceInfo {
        name: Some("FEED".into()),
        capabilities: Some(order.map(|at| domains[at]).to_vec()),
        qos: Some(order.map(|at| all_qos[at]).to_vec()),
        dictionaries_used: Some(order.map(|at| names[at].clone()).to_vec()),
        ..ServiceInfo::default()
    };
    let state = FilterContent::State(ServiceState::new(true, true));
    ServiceEntry::add(
        id,
        vec![FilterEntry::set(FilterContent::Info(info)), FilterEntry::set(state)],
    )
}

#[test]
fn two_servers_say_the_same_of_a_service() {
    let directory = |hub_id, order| {
        let config = ServerConfig {
            service_ids: [("FEED".to_owned(), 257)].into(),
            ..ServerConfig::default()
        };
        let mut world = World::with(config);
        world.hub_up(HUB);
        world.hub_directory(HUB, vec![service(257, "OTHER", true), described(hub_id, order)]);
        let consumer = world.mount();
        let mut request = DirectoryRequest::new(2, DirectoryFilter::USUAL);
        request.service_id = Some(257);
        world.say(consumer, &built(|encoder| request.encode(encoder).expect("room")));
        world.heard_bytes(consumer)
    };
    let first = directory(1, [0, 1]);
    assert_eq!(first, directory(300, [1, 0]));
    assert_eq!(first.len(), 1);
}

#[test]
fn one_number_is_for_one_service() {
    let config = ServerConfig {
        service_ids: [("FEED".to_owned(), 257), ("RATES".to_owned(), 257)].into(),
        ..ServerConfig::default()
    };
    assert_eq!(
        config.check().map_err(|error| error.to_string()),
        Err("services FEED and RATES both have the id 257; give each its own".to_owned())
    );
}

#[test]
fn a_deleted_service_closes_nothing_that_stands_by() {
    let (mut world, other) = with_item(ServerConfig::default(), 17);
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    world.heard(consumer);
    world.hub_update(HUB, vec![ServiceEntry::delete(1)]);
    assert!(!world.heard(other).is_empty());
    assert_eq!(world.heard(consumer), [""; 0]);
    world.published();
    world.hub_update(HUB, vec![service(1, "FEED", true)]);
    assert!(world.published()[0].starts_with("Open"));
}

#[test]
fn an_image_that_ends_an_item_is_told() {
    let mut world = World::with_feed();
    let consumer = standby_mount(&mut world);
    world.say(consumer, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1)]));
    world.heard(consumer);
    let state = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_FOUND, "gone");
    world.item(HUB, 17, 2, &image_of(state, &[]));
    assert!(world.heard(consumer)[0].contains("Closed / Suspect / NotFound / 'gone'"));
}
