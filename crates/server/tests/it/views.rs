//! Views: only some of the fields.

use tapeline_channel::SessionId;
use tapeline_omm::market::RequestPayload;
use tapeline_omm::view::View;
use tapeline_rwf::{DataType, Domain, Encoder, MsgKey, RequestFlags, RequestMsg};
use tapeline_server::ServerConfig;

use crate::support::*;

fn viewed(stream_id: i32, name: &str, fields: &[i16]) -> Vec<u8> {
    let view = View::of_fields(fields.iter().copied());
    request_with(
        stream_id,
        name,
        &RequestPayload { view: Some(&view), ..RequestPayload::NONE },
        |_| {},
    )
}

#[test]
fn each_consumer_gets_its_own_view_of_a_shared_item() {
    let mut world = World::with_feed();
    let (all, some, other) = (world.mount(), world.mount(), world.mount());
    world.open_item(all, 5, "TRI.N", 17);
    world.say(some, &viewed(6, "TRI.N", &[22]));
    world.say(other, &viewed(7, "TRI.N", &[25, 6]));
    assert_eq!(world.published(), [""; 0]);
    assert_eq!(
        world.heard(some),
        [
            "REFRESH 6 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' {22=100}"
        ]
    );
    assert_eq!(
        world.heard(other),
        [
            "REFRESH 7 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' {25=101}"
        ]
    );
    world.item(HUB, 17, 2, &update(&[(22, 1), (6, 2)]));
    assert_eq!(world.heard(all), ["UPDATE 5 MARKET_PRICE QUOTE {22=1 6=2}"]);
    assert_eq!(world.heard(some), ["UPDATE 6 MARKET_PRICE QUOTE {22=1}"]);
    assert_eq!(world.heard(other), ["UPDATE 7 MARKET_PRICE QUOTE {6=2}"]);
    world.item(HUB, 17, 3, &update(&[(6, 3)]));
    assert_eq!(world.heard(some), [""; 0], "nothing is left of it");
    assert_eq!(world.heard(other), ["UPDATE 7 MARKET_PRICE QUOTE {6=3}"]);
}

#[test]
fn a_view_is_replaced_kept_and_dropped_by_reissues() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &viewed(5, "TRI.N", &[22]));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1), (25, 2)]));
    let seen = |world: &mut World, reissue: &[u8]| {
        world.heard(consumer);
        world.say(consumer, reissue);
        let heard = world.heard(consumer);
        assert_eq!(heard.len(), 1);
        heard[0].split('{').nth(1).expect("fields").to_owned()
    };
    assert_eq!(seen(&mut world, &viewed(5, "TRI.N", &[25])), "25=2}");
    let keep = request_with(
        5,
        "TRI.N",
        &RequestPayload { keep_view: true, ..RequestPayload::NONE },
        |_| {},
    );
    assert_eq!(seen(&mut world, &keep), "25=2}");
    assert_eq!(seen(&mut world, &request(5, "TRI.N")), "22=1 25=2}");
    world.item(HUB, 17, 2, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=3}"]);
}

/// A request with a view that lacks its data.
fn malformed(stream_id: i32) -> Vec<u8> {
    let key = MsgKey::item(1, "TRI.N");
    let flags = RequestFlags::STREAMING | RequestFlags::HAS_VIEW;
    let msg = RequestMsg { flags, key, ..RequestMsg::new(Domain::MARKET_PRICE, stream_id) };
    built(|encoder: &mut Encoder<'_>| {
        let payload = encoder.begin(&msg.into(), DataType::ELEMENT_LIST).expect("room");
        let mut list =
            payload.element_list(&tapeline_rwf::ElementListHead::STANDARD).expect("room");
        list.put(":ViewType", 1_u64).expect("room");
        list.finish().expect("room");
    })
}

#[test]
fn a_malformed_view_closes_a_new_stream_and_leaves_an_open_one() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &malformed(5));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE TRI.N@1 Closed / Suspect / InvalidView / 'view has no :ViewData'"]
    );
    world.open_item(consumer, 5, "TRI.N", 17);
    world.say(consumer, &malformed(5));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 5 MARKET_PRICE TRI.N@1 Open / NoChange / InvalidView / 'view has no :ViewData'"]
    );
    world.item(HUB, 17, 2, &update(&[(22, 3)]));
    assert_eq!(world.heard(consumer).len(), 1);
}

/// Distinct views that an item has at a time.
const VIEWS: i32 = 1_024;

/// Streams of a mount on an item with which it may bring views of its own.
const VIEWS_OF_MOUNT: i32 = 64;

/// State and fields of the image that a stream with a view on these gets.
fn ask_for_fields(world: &mut World, mount: SessionId, stream_id: i32, fields: &[i16]) -> String {
    world.say(mount, &viewed(stream_id, "TRI.N", fields));
    let heard = world.heard(mount);
    assert_eq!(heard.len(), 1, "{heard:?}");
    heard[0].split_once("Ok / ").expect("a state").1.to_owned()
}

#[test]
fn a_mount_with_many_streams_on_an_item_brings_no_more_views_and_others_do() {
    let config = ServerConfig { allow_same_item_twice: true, ..ServerConfig::default() };
    let mut world = World::feed_with(config);
    let (greedy, modest) = (world.mount(), world.mount());
    world.open_item(modest, 1_000_000, "TRI.N", 17);
    let mut ask =
        |mount, view: i32| ask_for_fields(&mut world, mount, 5 + view, &[22, 100 + view as i16]);
    let own = "None / 'All is well' {22=100}";
    let full = "FullViewProvided / 'All is well' {22=100 25=101}";
    for view in 0..VIEWS_OF_MOUNT {
        assert_eq!(ask(greedy, view), own, "{view}");
    }
    for view in VIEWS_OF_MOUNT..2 * VIEWS_OF_MOUNT {
        assert_eq!(ask(greedy, view), full, "{view}");
    }
    assert_eq!(ask(modest, 2 * VIEWS_OF_MOUNT), own);
    let known = ask_for_fields(&mut world, greedy, 10_000, &[22, 100 + 2 * VIEWS_OF_MOUNT as i16]);
    assert_eq!(known, own, "what another brought");
    (0..=2 * VIEWS_OF_MOUNT).for_each(|view| world.say(greedy, &close(5 + view)));
    assert_eq!(ask_for_fields(&mut world, greedy, 10_001, &[22, 7]), own, "there is room again");
}

#[test]
fn an_item_with_too_many_views_gives_all_fields_until_one_of_them_is_not_used() {
    let config = ServerConfig { allow_same_item_twice: true, ..ServerConfig::default() };
    let mut world = World::feed_with(config);
    let consumer = world.mount();
    world.open_item(consumer, 1_000_000, "TRI.N", 17);
    let crowd: Vec<_> = (0..VIEWS / VIEWS_OF_MOUNT).map(|_| world.mount()).collect();
    for view in 0..VIEWS {
        let mount = crowd[(view / VIEWS_OF_MOUNT) as usize];
        assert_eq!(
            ask_for_fields(&mut world, mount, 5 + view, &[22, 100 + view as i16]),
            "None / 'All is well' {22=100}"
        );
    }
    let ask = |world: &mut World, stream_id: i32, fields: &[i16]| {
        ask_for_fields(world, consumer, stream_id, fields)
    };
    let full = "FullViewProvided / 'All is well' {22=100 25=101}";
    assert_eq!(ask(&mut world, 5_000, &[22]), full);
    assert_eq!(ask(&mut world, 5_001, &[22, 107]), "None / 'All is well' {22=100}", "known");
    world.item(HUB, 17, 2, &update(&[(22, 1), (25, 2)]));
    let whole: Vec<_> =
        world.heard(consumer).into_iter().filter(|it| it.ends_with("{22=1 25=2}")).collect();
    assert_eq!(
        whole,
        [1_000_000, 5_000].map(|id| format!("UPDATE {id} MARKET_PRICE QUOTE {{22=1 25=2}}"))
    );
    let keep = RequestPayload { keep_view: true, ..RequestPayload::NONE };
    world.say(consumer, &request_with(5_000, "TRI.N", &keep, |_| {}));
    assert!(world.heard(consumer)[0].contains("FullViewProvided"), "that view is not known");
    world.say(crowd[0], &close(5 + 8));
    let own = "None / 'All is well' {22=1}";
    assert_eq!(ask(&mut world, 5_000, &[22]), own, "there is room again");
    assert_eq!(ask(&mut world, 5_000, &[22, 107]), own, "and again");
    assert_eq!(ask(&mut world, 5_002, &[22, 7]), own);
}

#[test]
fn a_mount_with_too_many_bytes_of_views_gets_all_fields_until_it_closes_some() {
    let mut world = World::with_feed();
    let (greedy, modest) = (world.mount(), world.mount());
    // As many fields as a request can name; there is room for 64 MiB.
    let fields: Vec<i16> = (0..32_000).collect();
    let room = (64 << 20) / (2 * fields.len() as i32);
    let ask = |world: &mut World, mount: SessionId, stream_id: i32| {
        let name = format!("ITEM{stream_id}");
        world.say(mount, &viewed(stream_id, &name, &fields));
        let [open] = &world.out.published[..] else { panic!("one request") };
        let reference = open.0.item;
        world.out.published.clear();
        world.accept(HUB, stream_id as u32, reference);
        world.item(HUB, stream_id as u32, 1, &image(&[(22, 1), (-1, 2)]));
        let heard = world.heard(mount);
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard[0].contains("FullViewProvided")
    };
    for stream_id in 5..5 + room {
        assert!(!ask(&mut world, greedy, stream_id), "{stream_id}");
    }
    assert!(ask(&mut world, greedy, 10_000));
    assert!(!ask(&mut world, modest, 10_001), "others have room of their own");
    world.say(greedy, &close(100));
    world.published();
    assert!(!ask(&mut world, greedy, 10_002));
    assert!(ask(&mut world, greedy, 10_003));
}
