//! By what a hub logs in at sources.

use crate::support::{World, config};
use tapeline_channel::SessionId;
use tapeline_hub::RouteSecret;
use tapeline_omm::login::{LoginRequest, user_name_type};
use tapeline_rwf::Msg;

/// The login that a source is sent when it is there.
fn login_at(world: &mut World, route: usize) -> (SessionId, LoginRequest) {
    let session = world.route_opened(route);
    let mut to_it = world.out.sent.drain(..).filter(|(to, _)| *to == session);
    let (_, bytes) = to_it.next().expect("a login");
    let Ok(Msg::Request(request)) = Msg::decode(&bytes) else { panic!("a request: {bytes:?}") };
    (session, LoginRequest::decode(&request).expect("a login"))
}

#[test]
fn a_source_is_logged_in_to_with_the_password_that_its_file_has_then() {
    let (mut config, password) = (config(1), RouteSecret::new("one"));
    config.routes[0].login.user = "hub".to_owned();
    config.routes[0].login.password = Some(password.clone());
    let mut world = World::new(config);
    let (session, login) = login_at(&mut world, 0);
    let sent = |login: &LoginRequest| login.attributes.password.clone().expect("one");
    assert_eq!((&login.user_name[..], sent(&login).as_bytes()), (&b"hub"[..], &b"one"[..]));
    password.set("two");
    assert!(world.out.closed.is_empty() && world.out.sent.is_empty(), "what stands, stays");
    world.closed(session);
    world.pass(60_000);
    assert_eq!(world.out.connects, [0, 0], "it is connected anew");
    let (_, login) = login_at(&mut world, 0);
    assert_eq!(sent(&login).as_bytes(), b"two");
}

#[test]
fn a_source_is_logged_in_to_with_a_token_in_place_of_a_name() {
    let mut config = config(1);
    config.routes[0].login.user = "hub".to_owned();
    config.routes[0].login.token = Some(RouteSecret::new("eyJ"));
    let mut world = World::new(config);
    let (_, login) = login_at(&mut world, 0);
    assert_eq!(login.name_type, Some(user_name_type::AUTHN_TOKEN));
    let token = login.attributes.authentication_token.as_ref().expect("one");
    assert_eq!(token.as_bytes(), b"eyJ");
    assert_ne!(&login.user_name[..], b"hub");
}
