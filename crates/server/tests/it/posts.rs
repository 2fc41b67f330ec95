//! Posts and their acks.

use std::time::Duration;

use tapeline_backbone::Kind;
use tapeline_rwf::{AckMsg, Domain, Msg, MsgKey, NakCode, PostMsg, PostUserInfo};
use tapeline_server::{Limits, ServerConfig};

use crate::support::*;

fn ack(nak: Option<(NakCode, &'static str)>) -> Vec<u8> {
    bytes(AckMsg {
        // Whatever the hub calls it: the poster's own id comes back.
        ack_id: 4711,
        nak_code: nak.map(|(code, _)| code),
        text: nak.map(|(_, text)| text.as_bytes()),
        ..AckMsg::new(Domain::MARKET_PRICE, 0)
    })
}

#[test]
fn a_post_on_the_stream_of_an_item_reaches_its_hub_and_the_ack_its_poster() {
    let mut world = World::with_feed();
    let (poster, other) = (world.mount(), world.mount());
    world.open_item(poster, 5, "TRI.N", 17);
    world.say(other, &request(5, "TRI.N"));
    world.heard(other);
    world.say(poster, &post(5, 42, None));
    assert_eq!(world.published(), ["Post 100 1 0 POST 0 MARKET_PRICE id42 {22=7}"]);
    world.frame_to_us(HUB, Kind::Ack, 1, &ack(None));
    assert_eq!(world.heard(poster), ["ACK 5 MARKET_PRICE id42 seq43"]);
    assert_eq!(world.heard(other), [""; 0]);
    world.frame_to_us(HUB, Kind::Ack, 1, &ack(None));
    assert_eq!(world.heard(poster), [""; 0], "once");
}

#[test]
fn a_post_on_the_login_stream_goes_to_the_service_in_its_key() {
    let mut world = World::with_feed();
    world.hub_up(HUB_2);
    world.hub_directory(HUB_2, vec![service(1, "OTHER", true)]);
    world.published();
    let poster = world.mount();
    world.say(poster, &post(1, 42, Some(MsgKey::item(2, "IBM.N"))));
    assert_eq!(world.published(), ["Post 200 1 -1 POST 0 MARKET_PRICE IBM.N@1 id42 {22=7}"]);
    let denied = ack(Some((NakCode::DENIED_BY_SRC, "no")));
    world.frame_to_us(HUB_2, Kind::Ack, 1, &denied);
    assert_eq!(world.heard(poster), ["ACK 1 MARKET_PRICE id42 seq43 DENIED_BY_SRC 'no'"]);
}

#[test]
fn posts_that_cannot_go_anywhere_are_refused() {
    let mut world = World::with_feed();
    let poster = world.mount();
    world.open_item(poster, 5, "TRI.N", 17);
    let item = |service_id| Some(MsgKey::item(service_id, "IBM.N"));
    let refused = |world: &mut World, bytes: &[u8]| {
        world.say(poster, bytes);
        assert_eq!(world.published(), [""; 0]);
        world.heard(poster).pop().expect("a nak")
    };
    assert_eq!(
        refused(&mut world, &post(99, 1, None)),
        "ACK 99 MARKET_PRICE id1 seq2 NOT_OPEN 'stream 99 is not open'"
    );
    assert_eq!(
        refused(&mut world, &post(1, 2, None)),
        "ACK 1 MARKET_PRICE id2 seq3 INVALID_CONTENT 'Message submitted with unspecified service \
         Name and Id'"
    );
    assert_eq!(
        refused(&mut world, &post(1, 3, item(77))),
        "ACK 1 MARKET_PRICE id3 seq4 SOURCE_UNKNOWN 'Message submitted with unknown service Id 77'"
    );
    world.hub_update(HUB, vec![service_state(1, false)]);
    assert_eq!(
        refused(&mut world, &post(1, 4, item(1))),
        "ACK 1 MARKET_PRICE id4 seq5 SOURCE_DOWN 'service Id 1 is down'"
    );
    assert_eq!(
        refused(&mut world, &post(5, 5, None)),
        "ACK 5 MARKET_PRICE id5 seq6 SOURCE_DOWN 'service Id 1 is down'"
    );
}

#[test]
fn a_server_may_take_no_posts_at_all() {
    let mut world =
        World::feed_with(ServerConfig { accept_posts: false, ..ServerConfig::default() });
    let poster = world.mount();
    world.open_item(poster, 5, "TRI.N", 17);
    world.say(poster, &post(5, 1, None));
    assert_eq!(
        world.heard(poster),
        ["ACK 5 MARKET_PRICE id1 seq2 DENIED_BY_SRC 'Posting not supported by provider'"]
    );
}

#[test]
fn a_post_that_nobody_answers_is_refused_in_time() {
    let mut world = World::with_feed();
    let poster = world.mount();
    world.open_item(poster, 5, "TRI.N", 17);
    world.say(poster, &post(5, 42, None));
    world.pass(Duration::from_secs(13));
    assert_eq!(world.heard(poster), [""; 0]);
    world.pass(Duration::from_secs(1));
    assert_eq!(
        world.heard(poster),
        ["ACK 5 MARKET_PRICE id42 seq43 NO_RESPONSE 'No Ack received for PostMsg with \
             postId = 42'"]
    );
    world.frame_to_us(HUB, Kind::Ack, 1, &ack(None));
    assert_eq!(world.heard(poster), [""; 0], "too late");
}

#[test]
fn posts_to_a_hub_that_is_lost_are_refused() {
    let mut world = World::with_feed();
    let poster = world.mount();
    world.say(poster, &post(1, 42, Some(MsgKey::item(1, "IBM.N"))));
    world.hub_down(HUB);
    assert_eq!(
        world.heard(poster),
        ["ACK 1 MARKET_PRICE id42 seq43 GATEWAY_DOWN 'no connection to the source'"]
    );
    assert_eq!(world.core.statistics().posts, 0);
}

#[test]
fn a_mount_whose_posts_are_not_acked_keeps_no_others_from_posting() {
    let limits = Limits { max_posts: 10, max_posts_per_mount: 4, ..Limits::default() };
    let mut world = World::feed_with(ServerConfig { limits, ..ServerConfig::default() });
    let (greedy, modest) = (world.mount(), world.mount());
    let item = || Some(MsgKey::item(1, "IBM.N"));
    for id in 0..20 {
        world.say(greedy, &post(1, id, item()));
    }
    assert_eq!(world.published().len(), 4);
    let naks = world.heard(greedy);
    assert_eq!(naks.len(), 16);
    assert!(naks.iter().all(|nak| nak.contains("NO_RESOURCES")), "{naks:?}");
    world.say(modest, &post(1, 1, item()));
    assert_eq!(world.published().len(), 1);
    assert_eq!(world.heard(modest), [""; 0]);
    assert_eq!(world.core.statistics().posts_refused, 16);
    // One that is acked makes room for another.
    world.frame_to_us(HUB, Kind::Ack, 2, &ack(None));
    world.heard(greedy);
    world.say(greedy, &post(1, 20, item()));
    assert_eq!(world.published().len(), 1);
    // Who leaves takes its posts with it.
    world.disconnect(greedy);
    assert_eq!(world.core.statistics().posts, 1);
}

/// Who posted, as the hub was told.
fn poster(world: &mut World) -> PostUserInfo {
    let (_, body) = world.out.published.pop().expect("a post");
    let Ok(Msg::Post(post)) = Msg::decode(&body[4..]) else { panic!("no post") };
    post.post_user_info
}

fn post_as(stream_id: i32, address: u32, user_id: u32) -> Vec<u8> {
    let bytes = post(stream_id, 42, None);
    let Ok(Msg::Post(post)) = Msg::decode(&bytes) else { panic!("no post") };
    encoded(&PostMsg { post_user_info: PostUserInfo { address, user_id }, ..post }.into())
}

const MOUNT: u32 = u32::from_be_bytes([10, 0, 0, 1]);

#[test]
fn who_posts_is_who_the_mount_is_whatever_its_client_says() {
    let mut world = World::with_feed();
    world.mount();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    for said in [(0, 0), (0x0a01_0203, 4711)] {
        world.say(consumer, &post_as(5, said.0, said.1));
        assert_eq!(poster(&mut world), PostUserInfo { address: MOUNT, user_id: 2 });
    }
}

#[test]
fn clients_may_be_trusted_to_say_who_posts() {
    let config = ServerConfig { trust_post_user_info: true, ..ServerConfig::default() };
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &post_as(5, 0x0a01_0203, 4711));
    assert_eq!(poster(&mut world), PostUserInfo { address: 0x0a01_0203, user_id: 4711 });
    world.say(consumer, &post_as(5, 0, 4711));
    assert_eq!(poster(&mut world), PostUserInfo { address: MOUNT, user_id: 4711 });
}
