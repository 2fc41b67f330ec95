//! Non-interactive providers and an entitlement policy: who may log in, and
//! publish into which services.

use std::sync::Arc;

use tapeline_entitle::{Policy, PolicyChange};
use tapeline_hub::Event;

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
