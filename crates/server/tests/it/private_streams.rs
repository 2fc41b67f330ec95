//! Private streams: one to one, never shared, never recovered.

use std::time::Duration;

use tapeline_backbone::{FrameHeader, Kind};
use tapeline_channel::Sent;
use tapeline_omm::market::RequestPayload;
use tapeline_omm::view::{View, ViewChange};
use tapeline_rwf::{
    DataState, Domain, Msg, MsgKey, RefreshFlags, RefreshMsg, RequestFlags, RequestMsg, StreamState,
};
use tapeline_server::{Limits, ServerConfig};

use crate::support::*;

fn private(stream_id: i32, name: &str) -> Vec<u8> {
    item_request(stream_id, name, |it| it.private = true)
}

fn open(world: &mut World, session: tapeline_channel::SessionId, item: u32, reference: u32) {
    world.say(session, &private(5, "TRI.N"));
    assert_eq!(
        world.published(),
        [format!("Open 100 {reference} REQUEST 0 MARKET_PRICE TRI.N@1 streaming private")]
    );
    world.accept(HUB, item, reference);
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::PRIVATE_STREAM;
    let msg = RefreshMsg { flags, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    world.item_to_us(HUB, item, 0, &bytes(msg));
    assert_eq!(
        world.heard(session),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited private Open / Ok / None / ''"]
    );
}

#[test]
fn private_streams_of_one_item_are_not_shared() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    open(&mut world, first, 17, 0);
    open(&mut world, second, 18, 1);
    world.item_to_us(HUB, 18, 0, &update(&[(22, 1)]));
    assert_eq!(world.heard(first), [""; 0]);
    assert_eq!(world.heard(second), ["UPDATE 5 MARKET_PRICE QUOTE {22=1}"]);
    world.item_to_us(HUB, 17, 0, &generic(0, "for the first"));
    assert_eq!(world.heard(first), ["GENERIC 5 MARKET_PRICE for the first"]);
    world.say(first, &generic(5, "back"));
    assert_eq!(world.published(), ["Generic 100 0 GENERIC 0 MARKET_PRICE back"]);
}

#[test]
fn a_private_stream_ends_with_its_hub() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    open(&mut world, consumer, 17, 0);
    world.hub_down(HUB);
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE private ClosedRecover / Suspect / None / 'Connection to hub lost'"]
    );
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn a_private_request_does_not_wait_for_a_service() {
    let mut world = World::with_feed();
    world.hub_update(HUB, vec![service_state(1, false)]);
    let consumer = world.mount();
    world.say(consumer, &private(5, "TRI.N"));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE TRI.N@1 private ClosedRecover / Suspect / None / 'Service not \
             up'"]
    );
    world.hub_update(HUB, vec![service_state(1, true)]);
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn an_image_in_place_of_updates_is_asked_for_whatever_the_client_asked_for_last() {
    let limits = Limits { max_merged_bytes_per_mount: 0, ..Limits::default() };
    let mut world = World::feed_with(ServerConfig { limits, ..ServerConfig::default() });
    let consumer = world.mount();
    open(&mut world, consumer, 17, 0);
    world.say(
        consumer,
        &item_request(5, "TRI.N", |it| {
            it.private = true;
            it.no_refresh = true;
        }),
    );
    world.published();
    world.answer(consumer, Sent::Slow);
    for bid in [1, 2] {
        world.item_to_us(HUB, 17, 0, &update(&[(22, bid)]));
    }
    world.heard(consumer);
    world.drain(consumer);
    let published = world.published();
    assert!(published.iter().any(|line| line.starts_with("Reissue")), "{published:?}");
    assert!(!published.iter().any(|line| line.contains("no-refresh")), "{published:?}");
}

#[test]
fn each_image_of_a_private_stream_is_passed_on() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    open(&mut world, consumer, 17, 0);
    for pauses in [true, false] {
        let request = item_request(5, "TRI.N", |it| {
            it.private = true;
            it.pause = pauses;
        });
        world.say(consumer, &request);
    }
    // One that was on its way, and the one that was asked for.
    for bid in [1, 2] {
        world.item_to_us(HUB, 17, 0, &image(&[(22, bid)]));
        let heard = world.heard(consumer);
        assert!(heard[0].ends_with(&format!("{{22={bid}}}")), "{heard:?}");
    }
}

#[test]
fn a_paused_private_stream_that_lost_its_image_is_over() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", |it| (it.private, it.pause) = (true, true)));
    world.accept(HUB, 17, 0);
    world.published();
    // The first part is lost.
    world.item(HUB, 17, 2, &image_part(1, true, &[(22, 1)]));
    assert_eq!(world.published(), ["Close 100 0"], "no image comes for who has paused");
    let heard = world.heard(consumer);
    assert!(heard.last().is_some_and(|last| last.contains("ClosedRecover")), "{heard:?}");
    assert_eq!(world.core.statistics().items, 0);
}

#[test]
fn a_paused_private_stream_is_over_with_the_message_that_shows_a_hole() {
    let suspect = status(StreamState::OPEN, DataState::SUSPECT, "stale");
    for message in [update(&[(22, 1)]), generic(0, "late"), suspect] {
        let mut world = World::with_feed();
        let consumer = world.mount();
        open(&mut world, consumer, 17, 0);
        world.say(consumer, &item_request(5, "TRI.N", |it| (it.private, it.pause) = (true, true)));
        world.published();
        world.item(HUB, 17, 3, &message);
        assert_eq!(world.published(), ["Close 100 0"], "no image comes for who has paused");
        let heard = world.heard(consumer);
        assert!(heard.last().is_some_and(|last| last.contains("ClosedRecover")), "{heard:?}");
        assert_eq!(world.core.statistics().items, 0);
    }
}

#[test]
fn what_a_private_stream_asks_for_before_its_hub_has_answered_is_passed_on_after_it() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &item_request(5, "TRI.N", |it| (it.private, it.pause) = (true, true)));
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming private pause"]
    );
    world.say(consumer, &private(5, "TRI.N"));
    assert_eq!(world.published(), [""; 0], "its hub has no item yet");
    world.accept(HUB, 17, 0);
    assert_eq!(
        world.published(),
        ["Reissue 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming private"]
    );
    world.accept(HUB, 17, 0);
    assert_eq!(world.published(), [""; 0], "once");
}

#[test]
fn a_request_that_keeps_the_view_of_a_private_stream_is_passed_on_with_it() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    open(&mut world, consumer, 17, 0);
    let view = View::of_fields([22]);
    let payload = RequestPayload { view: Some(&view), ..RequestPayload::NONE };
    let pause = request_with(5, "TRI.N", &payload, |it| (it.private, it.pause) = (true, true));
    world.say(consumer, &pause);
    // The request before may be lost on its way: only the last one is sent again.
    let flags = RequestFlags::STREAMING | RequestFlags::PRIVATE_STREAM | RequestFlags::HAS_VIEW;
    let resume = RequestMsg {
        flags,
        key: MsgKey::item(1, "TRI.N"),
        ..RequestMsg::new(Domain::MARKET_PRICE, 5)
    };
    world.say(consumer, &built(|encoder| encoder.message(&resume.into()).expect("room")));
    let passed_on = world.out.published.iter().filter(|(header, _)| header.kind == Kind::Reissue);
    let views = passed_on.map(|(_, body)| {
        let Ok(Msg::Request(msg)) = Msg::decode(body) else { panic!("a request") };
        ViewChange::of(&msg, true)
    });
    let replaced = || Ok(ViewChange::Replace(view.clone()));
    assert_eq!(views.collect::<Vec<_>>(), [replaced(), replaced()]);
}

#[test]
fn what_a_private_stream_asked_for_last_is_said_again_to_a_hub_that_lost_frames() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    open(&mut world, consumer, 17, 0);
    let pause =
        |is_paused| item_request(5, "TRI.N", |it| (it.private, it.pause) = (true, is_paused));
    world.say(consumer, &pause(true));
    world.say(consumer, &pause(false));
    // The source sends one by itself: no sign that it heard of the resume.
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::PRIVATE_STREAM;
    let msg = RefreshMsg { flags, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    world.item_to_us(HUB, 17, 0, &bytes(msg));
    world.published();
    let mut header = FrameHeader::new(Kind::WantedRequest, SERVER, 1);
    (header.sender, header.item_seq) = (HUB, 1);
    world.frame(header, &[]);
    world.pass(Duration::ZERO);
    let said = world.published();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("Wanted"), "{said:?}");
    let resume = "REQUEST 0 MARKET_PRICE TRI.N@1 streaming private";
    assert!(said[1].starts_with("Reissue") && said[1].ends_with(resume), "{said:?}");
}
