//! Non-interactive providers and an entitlement policy: who may log in, and
//! publish into which services.

use std::sync::Arc;
use std::time::Duration;

use tapeline_channel::SessionId;
use tapeline_entitle::{
    AuthenticationError, Denial, LoginAnswer, LoginEnd, Person, Policy, PolicyChange, Unidentified,
};
use tapeline_hub::Event;
use tapeline_rwf::StateCode;

use crate::published::{connected, publish};
use crate::support::{A, World, config, provider};

const POLICY: &str = r#"
version = 1
[[role]]
name = "feeder"
publishes = ["FEED"]
[[user]]
name = "publisher"
roles = ["feeder"]
"#;

fn enforce(world: &mut World, policy: &str) {
    let policy = Policy::parse("policy.toml", policy).expect("it is good");
    let unix_ms = 1_795_564_800_000;
    let change = PolicyChange { policy: Arc::new(policy), changed: None, unix_ms };
    world.event(Event::Policy(&change));
}

fn world(policy: &str) -> World {
    let mut world = World::new(config(0));
    enforce(&mut world, policy);
    world.server_up(A);
    world
}

#[test]
fn a_provider_publishes_into_the_services_that_it_is_given() {
    let mut world = world(POLICY);
    let session = connected(&mut world);
    world.says(session, &publish(-1, "TRI.N"));
    assert!(world.frames().iter().any(|frame| frame.contains("FEED up")));
    assert_eq!(world.core.counters().publications_refused, 0);
}

#[test]
fn a_provider_gets_no_service_that_it_is_not_given() {
    let mut world = world(&POLICY.replace("[\"FEED\"]", "[\"OTHER\"]"));
    let session = connected(&mut world);
    let frames = world.frames();
    assert!(!frames.iter().any(|frame| frame.contains("FEED")), "{frames:?}");
    world.heard_by(session);
    world.says(session, &publish(-1, "TRI.N"));
    let heard = world.heard_by(session);
    assert!(heard[0].contains("not open to non-interactive providers"), "{heard:?}");
    assert_eq!(world.core.counters().publications_refused, 1);
}

#[test]
fn a_provider_that_the_policy_does_not_know_is_refused() {
    let mut world = world(&POLICY.replace("name = \"publisher\"", "name = \"other\""));
    let session = world.session();
    world.event(provider::opened(session));
    world.says(session, &provider::provider_login());
    let heard = world.heard_by(session);
    assert!(heard.len() == 1 && heard[0].contains("User publisher is unknown."), "{heard:?}");
    world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
    let frames = world.frames();
    assert!(!frames.iter().any(|frame| frame.contains("FEED")), "{frames:?}");
    assert_eq!(world.core.counters().logins_refused, 1);
}

#[test]
fn a_provider_that_loses_its_service_is_logged_out_and_others_are_not() {
    let mut world = world(POLICY);
    let session = connected(&mut world);
    world.heard_by(session);
    enforce(&mut world, POLICY);
    assert!(world.heard_by(session).is_empty(), "nothing changed");
    enforce(&mut world, &POLICY.replace("[\"FEED\"]", "[]"));
    let heard = world.heard_by(session);
    assert!(heard.len() == 1 && heard[0].contains("Force Logout from DACS."), "{heard:?}");
    let frames = world.frames();
    assert!(frames.iter().any(|frame| frame.contains("FEED")), "{frames:?}");
}

/// A provider that has asked to log in, and of whom it is asked who it is.
fn asking(world: &mut World) -> (SessionId, u64) {
    let session = world.session();
    world.event(provider::opened(session));
    world.says(session, &provider::provider_login());
    let asked = std::mem::take(&mut world.out.asked);
    assert!(asked.len() == 1 && asked[0].is_provider && !asked[0].is_reissue, "{asked:?}");
    (session, asked[0].number)
}

fn answer(world: &mut World, number: u64, who: Result<Person, Unidentified>) {
    world.event(Event::Identified(&LoginAnswer { number, who }));
}

fn person(user: &str) -> Person {
    Person::of(user)
}

#[test]
fn who_a_provider_is_decides_what_it_may_publish() {
    let mut world = world(&POLICY.replace("name = \"publisher\"", "name = \"desk\""));
    world.core.identify_logins();
    let (session, number) = asking(&mut world);
    assert_eq!(world.heard_by(session), [""; 0], "it is not logged in yet");
    answer(&mut world, number, Ok(person("desk")));
    assert!(world.heard_by(session)[0].starts_with("Refresh publisher Open / Ok"));
    world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
    world.says(session, &publish(-1, "TRI.N"));
    assert_eq!(world.core.counters().publications_refused, 0);
    // Roles that are said are those that count.
    let (session, number) = asking(&mut world);
    let nobody = Person { roles: Some(Arc::from(["none".to_owned()])), ..person("desk") };
    answer(&mut world, number, Ok(nobody));
    world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
    world.says(session, &publish(-1, "IBM.N"));
    assert_eq!(world.core.counters().publications_refused, 1);
}

#[test]
fn a_provider_that_is_nobody_is_refused_and_offers_nothing() {
    let mut world = world(POLICY);
    world.core.identify_logins();
    let (session, number) = asking(&mut world);
    let denial = Denial { code: StateCode::NOT_ENTITLED, text: "Login denied: it".to_owned() };
    let authentication = Some(AuthenticationError { code: 1, text: "it".to_owned() });
    let why = Unidentified { denial, is_for_now: false, authentication, decision: None };
    world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
    answer(&mut world, number, Err(why));
    let heard = world.heard_by(session);
    assert!(heard.len() == 1 && heard[0].contains("'Login denied: it'"), "{heard:?}");
    let frames = world.frames();
    assert!(!frames.iter().any(|frame| frame.contains("FEED")), "{frames:?}");
    assert_eq!(world.core.counters().logins_refused, 1);
    answer(&mut world, number, Ok(person("publisher")));
    assert_eq!(world.heard_by(session), [""; 0], "there is one answer");
}

#[test]
fn a_provider_whose_token_expires_is_logged_out() {
    let mut world = world(POLICY);
    world.core.identify_logins();
    let (session, number) = asking(&mut world);
    let ends = Some(LoginEnd { after: Duration::from_secs(60), renew_at_s: 1 });
    answer(&mut world, number, Ok(Person { ends, ..person("publisher") }));
    world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
    world.heard_by(session);
    world.pass(59_000);
    assert_eq!(world.heard_by(session), [""; 0]);
    world.pass(1_000);
    let heard = world.heard_by(session);
    assert!(heard.len() == 1 && heard[0].contains("The token has expired"), "{heard:?}");
    assert!(world.out.closed.iter().any(|(closed, _)| *closed == session));
}
