//! Logins: accepted, refused, changed, ended.

use std::time::Duration;

use tapeline_omm::StateBuf;
use tapeline_omm::login::{LoginAttributes, LoginMsg, LoginRequest};
use tapeline_rwf::{DataState, Msg, StateCode, StreamState, UpdateType};
use tapeline_server::{Limits, LoginContext, LoginPolicy, LoginVerdict, ServerConfig};

use crate::support::*;

#[test]
fn an_accepted_login_repeats_what_was_said_and_lists_what_the_server_does() {
    let mut world = World::new();
    let consumer = world.connect();
    let mut request = LoginRequest::new(1, "user");
    request.attributes = LoginAttributes {
        application_id: Some("256".into()),
        position: Some("127.0.0.1/net".into()),
        single_open: Some(false),
        ..LoginAttributes::default()
    };
    world.say(consumer, &login_of(&request));
    let heard = world.heard_bytes(consumer);
    let msg = Msg::decode(&heard[0]).expect("a message");
    let Ok(LoginMsg::Refresh(refresh)) = LoginMsg::decode(&msg) else { panic!("a refresh") };
    let features = refresh.features;
    assert_eq!(features.application_id, Some("256".into()));
    assert_eq!(features.application_name, Some("tapeline".into()));
    assert_eq!(features.position, Some("127.0.0.1/net".into()));
    assert_eq!(features.single_open, Some(false));
    assert_eq!(features.support_batch_requests, Some(7));
    assert!(features.accepts_posts() && features.honours_views() && features.obeys_pause());
    assert!(!features.opens_symbol_list_streams());
}

struct Guard;

impl LoginPolicy for Guard {
    fn decide(&mut self, request: &LoginRequest, context: &LoginContext) -> LoginVerdict {
        let is_known = request.user_name == "user" && context.mounts_of_user < 2;
        let has_bad_token = context.is_reissue
            && request
                .attributes
                .authentication_token
                .as_ref()
                .is_some_and(|token| token.as_bytes() == b"bad");
        match is_known && !has_bad_token {
            true => LoginVerdict::Accept,
            false => LoginVerdict::Refuse(StateBuf::new(
                StreamState::CLOSED,
                DataState::SUSPECT,
                StateCode::NOT_ENTITLED,
                "Who is it?",
            )),
        }
    }
}

#[test]
fn a_policy_refuses_logins() {
    let mut world = World::with_policy(ServerConfig::default(), Box::new(Guard));
    let stranger = world.connect();
    world.say(stranger, &login(1, "stranger"));
    let refusal = ["STATUS 1 LOGIN stranger Closed / Suspect / NotAuthorized / 'Who is it?'"];
    assert_eq!(world.heard(stranger), refusal);
    world.say(stranger, &directory_request(2));
    assert_eq!(
        world.heard(stranger),
        ["STATUS 2 SOURCE ClosedRecover / Suspect / UsageError / 'Message rejected - there is \
             no logged in user for this session.'"]
    );
    world.say(stranger, &login(1, "user"));
    assert!(world.heard(stranger)[0].starts_with("REFRESH 1 LOGIN user"));
}

#[test]
fn a_bad_token_ends_the_login_and_all_items() {
    let mut world = World::with_policy(ServerConfig::default(), Box::new(Guard));
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.published();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    let mut request = LoginRequest::new(1, "user");
    request.attributes.authentication_token = Some(tapeline_omm::Credential::Ascii("bad".into()));
    world.say(consumer, &login_of(&request));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 1 LOGIN user Closed / Suspect / NotAuthorized / 'Who is it?'"]
    );
    assert_eq!(world.published(), ["Close 100 0"]);
}

#[test]
fn an_invalid_login_is_refused_and_the_next_one_accepted() {
    let mut world = World::new();
    let consumer = world.connect();
    let mut bytes = login(1, "user");
    // Not streaming.
    bytes[8] &= !4;
    world.say(consumer, &bytes);
    assert_eq!(
        world.heard(consumer),
        ["STATUS 1 LOGIN user ClosedRecover / Suspect / UsageError / 'Login message rejected - \
             Invalid login domain message.'"]
    );
    world.say(consumer, &login(1, "user"));
    assert!(world.heard(consumer)[0].starts_with("REFRESH 1 LOGIN user"));
}

#[test]
fn a_second_login_on_another_stream_is_refused() {
    let mut world = World::new();
    let consumer = world.mount();
    world.say(consumer, &login(3, "user"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 3 LOGIN user Closed / Suspect / AlreadyOpen / 'The login is open on another \
             stream'"]
    );
}

#[test]
fn a_provider_is_sent_away() {
    let mut world = World::new();
    let provider = world.connect();
    let mut request = LoginRequest::new(1, "user");
    request.attributes.role = Some(LoginAttributes::PROVIDER);
    world.say(provider, &login_of(&request));
    assert_eq!(
        world.heard(provider),
        ["STATUS 1 LOGIN user Closed / Suspect / NotAuthorized / 'Providers log in at a hub, \
             not at a server'"]
    );
}

#[test]
fn a_user_has_no_more_mounts_than_allowed() {
    let limits = Limits { max_mounts_per_user: Some(1), ..Limits::default() };
    let mut world = World::with(ServerConfig { limits, ..ServerConfig::default() });
    let first = world.mount();
    let second = world.connect();
    world.say(second, &login(1, "user"));
    assert_eq!(
        world.heard(second),
        ["STATUS 1 LOGIN user Closed / Suspect / ExceededMaxMountsPerUser / 'The user has all \
             the mounts it may have'"]
    );
    world.disconnect(first);
    world.say(second, &login(1, "user"));
    assert!(world.heard(second)[0].starts_with("REFRESH 1 LOGIN user"));
}

#[test]
fn a_mount_without_a_login_is_cut_in_time() {
    let mut world = World::new();
    let (silent, quick) = (world.connect(), world.mount());
    world.pass(Duration::from_secs(29));
    assert_eq!(world.out.closed, []);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.out.closed, [(silent, "no login in time".to_owned())]);
    world.pass(Duration::from_secs(3600));
    assert_eq!(world.out.closed.len(), 1);
    world.say(quick, &directory_request(2));
    assert_eq!(world.heard(quick).len(), 1);
}

#[test]
fn a_pause_of_the_login_holds_all_updates_back_until_it_is_resumed() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    let mut request = LoginRequest { pause: true, ..LoginRequest::new(1, "user") };
    world.say(consumer, &login_of(&request));
    assert!(world.heard(consumer)[0].starts_with("REFRESH 1 LOGIN user solicited"));
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    (request.pause, request.no_refresh) = (false, true);
    world.say(consumer, &login_of(&request));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 clear Open / Ok / None / 'All is well' {22=7 25=101}"]
    );
    world.item(HUB, 17, 3, &update(&[(22, 8)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=8}"]);
}

#[test]
fn a_reissue_that_changes_the_user_leaves_the_login_as_it_was() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &login(1, "other"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 1 LOGIN other Open / NoChange / UsageError / 'login reissue: user name must \
             not change'"]
    );
    world.open_item(consumer, 5, "TRI.N", 17);
}

#[test]
fn the_close_of_the_login_ends_everything_and_another_login_may_follow() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &close(1));
    assert_eq!(world.published(), ["Close 100 0"]);
    world.say(consumer, &request(6, "TRI.N"));
    assert!(world.heard(consumer)[0].contains("no logged in user"));
    world.say(consumer, &login(1, "other"));
    assert!(world.heard(consumer)[0].starts_with("REFRESH 1 LOGIN other"));
    world.open_item(consumer, 5, "TRI.N", 18);
}

#[test]
fn only_the_update_types_that_the_login_wants_are_sent() {
    let mut world = World::with_feed();
    let consumer = world.connect();
    let mut request = LoginRequest::new(1, "user");
    request.attributes.update_type_filter = Some(1 << UpdateType::TRADE.0);
    world.say(consumer, &login_of(&request));
    world.heard(consumer);
    world.open_item(consumer, 5, "TRI.N", 17);
    world.item(HUB, 17, 2, &update_of(UpdateType::QUOTE, &[(22, 1)]));
    world.item(HUB, 17, 3, &update_of(UpdateType::TRADE, &[(6, 1)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE TRADE {6=1}"]);
}

#[test]
fn in_a_busy_turn_too_only_the_update_types_that_the_login_wants_are_sent() {
    let mut world = World::with_feed();
    let [others, consumer] = [(); 2].map(|()| world.connect());
    let mut wanted = LoginRequest::new(1, "user");
    world.say(others, &login_of(&wanted));
    wanted.attributes.update_type_filter = Some(1 << UpdateType::TRADE.0);
    world.say(consumer, &login_of(&wanted));
    for session in [others, consumer] {
        world.heard(session);
    }
    world.open_item(others, 5, "TRI.N", 17);
    world.say(consumer, &request(6, "TRI.N"));
    world.item_to_us(HUB, 17, 1, &image(&[(22, 100)]));
    for session in [others, consumer] {
        world.heard(session);
    }
    let [quote, trade] = [UpdateType::QUOTE, UpdateType::TRADE].map(|it| update_of(it, &[(6, 1)]));
    let updates = [&quote, &trade, &quote, &trade];
    let updates = [2, 3, 4, 5].into_iter().zip(updates).map(|(seq, body)| (17, seq, &body[..]));
    world.in_a_busy_turn(HUB, &updates.collect::<Vec<_>>());
    assert_eq!(world.heard(others).len(), 4);
    assert_eq!(world.heard(consumer), ["UPDATE 6 MARKET_PRICE TRADE {6=1}"; 2]);
}
