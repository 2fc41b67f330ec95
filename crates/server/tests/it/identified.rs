//! Logins of which somebody outside is asked who it is.

use std::time::Duration;

use tapeline_channel::SessionId;
use tapeline_entitle::{
    AuthenticationError, Credential, Denial, Hidden, LoginEnd, Person, Unidentified,
};
use tapeline_omm::Credential as Told;
use tapeline_omm::login::{AUTHN_TOKEN_NAME, LoginMsg, LoginRequest, user_name_type};
use tapeline_rwf::{Msg, StateCode};
use tapeline_server::{Limits, ServerConfig};

use crate::support::*;

const POLICY: &str = r#"
version = 1
[[role]]
name = "fx"
grants = [{ service = "FEED" }]
[[user]]
name = "jdoe"
roles = ["fx"]
positions = 1
"#;

fn world_with(config: ServerConfig) -> World {
    let mut world = World::with(config);
    world.identify();
    world.enforce(POLICY);
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.published();
    world
}

fn world() -> World {
    world_with(ServerConfig::default())
}

fn by_token(token: &str) -> LoginRequest {
    let mut request = LoginRequest::new(1, AUTHN_TOKEN_NAME);
    request.name_type = Some(user_name_type::AUTHN_TOKEN);
    request.attributes.authentication_token = Some(Told::Ascii(token.into()));
    request
}

fn person(user: &str) -> Person {
    Person::of(user)
}

fn with_roles(user: &str, roles: &[&str]) -> Person {
    let roles = roles.iter().map(|role| (*role).to_owned()).collect();
    Person { roles: Some(roles), ..person(user) }
}

fn no(text: &str, is_for_now: bool) -> Unidentified {
    Unidentified {
        denial: Denial { code: StateCode::NOT_ENTITLED, text: text.to_owned() },
        is_for_now,
        authentication: Some(AuthenticationError { code: 1, text: text.to_owned() }),
        decision: None,
    }
}

/// A mount that has asked to log in with a token; the question's number.
fn asking(world: &mut World, token: &str) -> (SessionId, u64) {
    let session = world.connect();
    world.say(session, &login_of(&by_token(token)));
    (session, only_question(world))
}

#[track_caller]
fn only_question(world: &mut World) -> u64 {
    let asked = world.asked();
    let [question] = &asked[..] else { panic!("one question: {asked:?}") };
    question.number
}

#[test]
fn a_login_waits_for_the_answer_and_so_does_what_follows_it() {
    let mut world = world();
    let session = world.connect();
    world.say(session, &login_of(&by_token("eyJ")));
    let asked = world.asked();
    let token = Credential::Token { token: Hidden::new("eyJ"), extended: None };
    assert_eq!((&asked[0].credential, asked.len()), (&token, 1));
    assert!(!asked[0].is_provider && !asked[0].is_reissue);
    assert_eq!(asked[0].peer.to_string(), "10.0.0.1");
    assert!(world.out.held.contains(&session), "it is not read meanwhile");
    // What was read already.
    world.say(session, &directory_request(2));
    world.say(session, &request(5, "EUR="));
    assert_eq!(world.heard(session), [""; 0]);
    world.answer_login(asked[0].number, Ok(person("jdoe")));
    let heard = world.heard(session);
    assert!(heard[0].starts_with("REFRESH 1 LOGIN") && heard[1].starts_with("REFRESH 2"));
    assert_eq!(world.published().len(), 1, "the item is asked for");
    assert!(!world.out.held.contains(&session));
}

/// Of a login that is refused too, and of one whose token nobody reads.
#[test]
fn no_token_is_in_a_record() {
    let mut world = world();
    let (_, number) = asking(&mut world, "eyJsecret");
    world.answer_login(number, Err(no("Login denied: keys of tokens cannot be had", true)));
    let (_, number) = asking(&mut world, "eyJsecret");
    world.answer_login(number, Ok(person("stranger")));
    let mut unread = World::with(ServerConfig::default());
    unread.enforce(POLICY);
    let session = unread.connect();
    unread.say(session, &login_of(&by_token("eyJsecret")));
    for world in [&mut world, &mut unread] {
        let records = world.records();
        assert!(records.iter().any(|record| record.starts_with("LoginDenied")), "{records:?}");
        assert!(records.iter().all(|record| !record.contains("eyJ")), "{records:?}");
    }
}

#[test]
fn who_it_is_counts_and_not_what_the_token_is() {
    let limits = Limits { max_mounts_per_user: Some(2), ..Limits::default() };
    let mut world = world_with(ServerConfig { limits, ..ServerConfig::default() });
    for (token, is_in) in [("a", true), ("b", true), ("c", false)] {
        let (session, number) = asking(&mut world, token);
        world.answer_login(number, Ok(person("jdoe")));
        let heard = world.heard(session);
        assert_eq!(heard[0].starts_with("REFRESH"), is_in, "{heard:?}");
    }
    let records = world.records();
    assert!(records.contains(&"Login jdoe /".to_owned()), "{records:?}");
}

#[test]
fn a_user_whom_the_policy_does_not_know_is_refused_unless_the_roles_are_said() {
    let mut world = world();
    let (session, number) = asking(&mut world, "a");
    world.answer_login(number, Ok(person("ann")));
    let heard = world.heard(session);
    assert!(heard[0].contains("'User ann is unknown.'"), "{heard:?}");
    for (roles, may) in [(&["fx"][..], true), (&[], false), (&["later"], false)] {
        let (session, number) = asking(&mut world, "a");
        world.answer_login(number, Ok(with_roles("ann", roles)));
        assert!(world.heard(session)[0].starts_with("REFRESH"));
        world.say(session, &request(5, "EUR="));
        let is_asked_for = !world.published().is_empty();
        assert_eq!(is_asked_for, may, "{roles:?}");
        world.disconnect(session);
        world.published();
    }
}

#[test]
fn a_refusal_says_why_in_its_state_and_in_its_attributes() {
    let mut world = world();
    let (session, number) = asking(&mut world, "bad");
    world.answer_login(number, Err(no("Login denied: the token has expired", false)));
    let heard = world.heard_bytes(session);
    let msg = Msg::decode(&heard[0]).expect("a message");
    assert!(show(&heard[0]).contains("Closed / Suspect / NotAuthorized"), "{}", show(&heard[0]));
    let Ok(LoginMsg::Status(status)) = LoginMsg::decode(&msg) else { panic!("a status") };
    assert_eq!(status.error.authentication_error_code, Some(1));
    assert_eq!(
        status.error.authentication_error_text,
        Some("Login denied: the token has expired".into())
    );
    assert_eq!(world.core.statistics().logins_refused, 1);
    // Nothing is in the way of another try.
    world.say(session, &login_of(&by_token("good")));
    let number = only_question(&mut world);
    world.answer_login(number, Ok(person("jdoe")));
    assert!(world.heard(session)[0].starts_with("REFRESH"));
}

#[test]
fn where_nobody_can_be_asked_a_client_is_to_come_again() {
    let mut world = world();
    world.out.is_nobody_there = true;
    let session = world.connect();
    world.say(session, &login_of(&by_token("a")));
    let heard = world.heard(session);
    assert!(heard[0].contains("ClosedRecover / Suspect / DacsDown"), "{heard:?}");
    assert!(!world.out.held.contains(&session));
}

#[test]
fn an_answer_for_who_is_gone_or_has_asked_again_is_for_nobody() {
    let mut world = world();
    let (session, first) = asking(&mut world, "a");
    world.disconnect(session);
    world.answer_login(first, Ok(person("jdoe")));
    assert_eq!(world.heard(session), [""; 0]);
    assert_eq!(world.core.statistics().mounts, 0);
    let (session, number) = asking(&mut world, "a");
    world.answer_login(number + 7, Ok(person("jdoe")));
    world.answer_login(first, Ok(person("jdoe")));
    assert_eq!(world.heard(session), [""; 0]);
    world.answer_login(number, Ok(person("jdoe")));
    assert_eq!(world.heard(session).len(), 1);
    world.answer_login(number, Ok(person("jdoe")));
    assert_eq!(world.heard(session), [""; 0], "once");
}

fn ending(after_s: u64) -> Person {
    let ends = LoginEnd { after: Duration::from_secs(after_s), renew_at_s: 1_795_565_000 };
    Person { ends: Some(ends), ..person("jdoe") }
}

#[test]
fn a_login_ends_with_its_token_unless_that_is_renewed() {
    let mut world = world();
    let (session, number) = asking(&mut world, "first");
    world.answer_login(number, Ok(ending(100)));
    let heard = world.heard_bytes(session);
    let msg = Msg::decode(&heard[0]).expect("a message");
    let Ok(LoginMsg::Refresh(refresh)) = LoginMsg::decode(&msg) else { panic!("a refresh") };
    assert_eq!(refresh.features.authentication_tt_reissue, Some(1_795_565_000));
    world.say(session, &request(5, "EUR="));
    world.pass(Duration::from_secs(90));
    world.heard(session);
    // The same token again is no renewal, and nobody is asked.
    world.say(session, &login_of(&by_token("first")));
    assert_eq!(world.asked(), []);
    assert!(world.heard(session)[0].starts_with("REFRESH 1"));
    world.say(session, &login_of(&by_token("second")));
    let number = only_question(&mut world);
    world.answer_login(number, Ok(ending(100)));
    assert!(world.heard(session)[0].starts_with("REFRESH 1"));
    world.pass(Duration::from_secs(99));
    assert_eq!(world.core.statistics().users_logged_out, 0);
    world.heard(session);
    world.pass(Duration::from_secs(1));
    let heard = world.heard(session);
    let is_told = |it: &String| it.contains("The token has expired, and was not renewed.");
    assert!(heard.iter().any(is_told), "{heard:?}");
    assert_eq!(world.core.statistics().users_logged_out, 1);
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn a_renewal_that_is_refused_or_of_another_user_ends_the_login() {
    for who in [Err(no("Login denied: the token's signature is wrong", false)), Ok(person("boss"))]
    {
        let mut world = world();
        let (session, number) = asking(&mut world, "first");
        world.answer_login(number, Ok(person("jdoe")));
        world.say(session, &request(5, "EUR="));
        world.heard(session);
        world.say(session, &login_of(&by_token("second")));
        let number = only_question(&mut world);
        world.answer_login(number, who);
        let heard = world.heard(session);
        assert!(heard[0].contains("Closed / Suspect / NotAuthorized"), "{heard:?}");
        assert_eq!(world.core.statistics().items, 0);
    }
}

#[test]
fn positions_are_those_of_the_user_and_a_replayed_login_has_none_more() {
    let mut world = world();
    let (first, number) = asking(&mut world, "a");
    world.answer_login(number, Ok(person("jdoe")));
    world.heard(first);
    // The login of the one as it was on the wire, from another address.
    let thief = world.connect_from([10, 0, 0, 66]);
    world.say(thief, &login_of(&by_token("a")));
    let number = only_question(&mut world);
    world.answer_login(number, Ok(person("jdoe")));
    let heard = world.heard(thief);
    assert!(heard[0].contains("User jdoe has 1 of 1 logins"), "{heard:?}");
}
