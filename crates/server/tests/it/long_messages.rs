//! Messages that are longer than a server takes, and images that are long.

use tapeline_rwf::{DataType, Domain, Encoded, Encoder, Msg, MsgKey, RefreshFlags, RefreshMsg};
use tapeline_server::{JsonConfig, Limits, ServerConfig};

use crate::support::*;

fn limited() -> World {
    let limits = Limits { max_image_bytes: 5_000, ..Limits::default() };
    World::feed_with(ServerConfig { limits, ..ServerConfig::default() })
}

fn written<'a>(room: usize, msg: impl Into<Msg<'a>>) -> Vec<u8> {
    let mut buffer = vec![0; room];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.message(&msg.into()).expect("room");
    encoder.finish_bytes().expect("room").to_vec()
}

fn long_image(bytes: usize) -> Vec<u8> {
    let payload = vec![7; bytes];
    written(
        bytes + 1_000,
        RefreshMsg {
            flags: RefreshFlags::REFRESH_COMPLETE
                | RefreshFlags::CLEAR_CACHE
                | RefreshFlags::SOLICITED,
            payload: Encoded::new(DataType::OPAQUE, &payload),
            ..RefreshMsg::new(Domain::MARKET_PRICE, 0)
        },
    )
}

#[test]
fn an_image_that_is_too_long_ends_its_item_and_cuts_nobody() {
    let mut world = limited();
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.open_item(first, 6, "IBM.N", 18);
    world.say(second, &request(5, "TRI.N"));
    world.heard(second);
    let image = long_image(5_001);
    world.item(HUB, 17, 2, &image);
    let told = format!(
        "STATUS 5 MARKET_PRICE Closed / Suspect / NoResources / 'a message of {} bytes is longer \
         than the 5000 that a server takes'",
        image.len()
    );
    assert_eq!(world.heard(first), std::slice::from_ref(&told));
    assert_eq!(world.heard(second), [told]);
    assert_eq!(world.published(), ["Close 100 0"]);
    assert_eq!(world.out.closed, []);
    world.item(HUB, 18, 2, &update(&[(22, 1)]));
    assert_eq!(world.heard(first), ["UPDATE 6 MARKET_PRICE QUOTE {22=1}"]);
    assert_eq!(world.core.statistics().messages_too_long, 1);
    world.open_item(second, 5, "TRI.N", 19);
}

#[test]
fn a_first_image_that_is_too_long_is_a_refusal() {
    let mut world = limited();
    let consumer = world.mount();
    world.say(consumer, &request(5, "TRI.N"));
    world.published();
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &long_image(5_001));
    let heard = world.heard(consumer);
    assert!(heard[0].contains("Closed / Suspect / NoResources"), "{heard:?}");
    assert_eq!(world.published(), ["Close 100 0"]);
}

#[test]
fn an_image_of_64_mib_goes_to_all_who_watch_and_its_memory_is_given_back() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.say(second, &request(6, "TRI.N"));
    world.heard(second);
    let image = long_image(64 << 20);
    world.item(HUB, 17, 2, &image);
    for consumer in [first, second] {
        let heard = world.heard_bytes(consumer);
        assert!(heard.len() == 1 && heard[0].len() >= image.len());
    }
}

#[test]
fn a_post_that_is_too_long_is_refused() {
    let mut world = World::with_feed();
    let poster = world.mount();
    world.open_item(poster, 5, "TRI.N", 17);
    for (bytes, stream) in
        [(post(5, 42, None), 5), (post(1, 42, Some(MsgKey::item(1, "IBM.N"))), 1)]
    {
        let head = &bytes[..bytes.len() - 3];
        world.too_long(poster, head);
        assert_eq!(
            world.heard(poster),
            [format!(
                "ACK {stream} MARKET_PRICE id42 seq43 INVALID_CONTENT 'post of 7000000 bytes is \
                 longer than the 6291456 allowed'"
            )]
        );
    }
    assert_eq!(world.published(), [""; 0]);
    assert_eq!(world.out.closed, []);
}

#[test]
fn a_request_that_is_too_long_is_refused() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.too_long(consumer, &request(5, "TRI.N"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE TRI.N@1 Closed / Suspect / NoResources / 'a request of 7000000 \
          bytes is longer than the 6291456 allowed'"]
    );
    world.too_long(consumer, b"?");
    assert_eq!(world.out.closed, []);
}

#[test]
fn a_json_mount_is_told_of_an_image_that_is_too_long_for_it() {
    let json = JsonConfig { max_image_bytes: 3_000, ..JsonConfig::default() };
    let mut world = World::feed_with(ServerConfig { json, ..ServerConfig::default() });
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    world.accept(HUB, 17, 0);
    // More in JSON than in RWF.
    world.item(HUB, 17, 1, &long_image(2_900));
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""Type":"Status""#) && heard[0].contains("Suspect"), "{heard:?}");
    assert!(heard[0].contains("longer than the 3000 that a server sends in JSON"), "{heard:?}");
    assert_eq!(world.out.closed, []);
}
