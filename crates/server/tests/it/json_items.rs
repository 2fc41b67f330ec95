//! Items of JSON mounts: images, updates, views, batches, pauses, closes.

use std::time::Duration;

use tapeline_channel::Sent;
use tapeline_rwf::{DataState, Domain, GenericMsg, Msg, State, StateCode, StatusMsg, StreamState};

use crate::support::*;

/// A JSON mount with TRI.N open on stream 5 as the hub's item 17.
fn watching(world: &mut World) -> tapeline_channel::SessionId {
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    assert_eq!(world.published().len(), 1);
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 100), (25, 101)]));
    world.heard_json(consumer);
    consumer
}

#[test]
fn an_item_is_an_image_and_then_updates() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    let published = world.published();
    assert!(published[0].starts_with("Open 100 0 REQUEST"), "{published:?}");
    assert!(published[0].contains("TRI.N@1"), "{published:?}");
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 100), (25, 101)]));
    assert_eq!(
        world.heard_json(consumer),
        [
            r#"{"ID":5,"Type":"Refresh","Key":{"Service":"FEED","Name":"TRI.N"},"State":{"Stream":"Open","Data":"Ok","Text":"All is well"},"Qos":{"Timeliness":"Realtime","Rate":"TickByTick"},"Fields":{"BID":100,"ASK":101}}"#
        ]
    );
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    // The key is in updates unless a client says otherwise.
    assert_eq!(
        world.heard_json(consumer),
        [
            r#"{"ID":5,"Type":"Update","UpdateType":"Quote","Key":{"Service":"FEED","Name":"TRI.N"},"Fields":{"BID":7}}"#
        ]
    );
    let bare = world.mount_json();
    world.text(bare, r#"[{"ID":9,"KeyInUpdates":false,"Key":{"Name":"TRI.N","Service":1}}]"#);
    assert!(world.heard_json(bare)[0].contains(r#""Fields":{"BID":7,"ASK":101}"#));
    world.item(HUB, 17, 3, &update(&[(22, 8)]));
    assert_eq!(
        world.heard_json(bare),
        [r#"{"ID":9,"Type":"Update","UpdateType":"Quote","Fields":{"BID":8}}"#]
    );
}

#[test]
fn an_update_is_converted_once_for_each_view_however_many_watch() {
    const MOUNTS: usize = 30;
    let mut world = World::with_feed();
    let first = watching(&mut world);
    let mut mounts = vec![(first, "5".to_owned(), 0)];
    for id in 0..MOUNTS {
        let mount = world.mount_json();
        let view = ["", r#","View":["BID"]"#, r#","View":[25,"NO_SUCH_FIELD"]"#][id % 3];
        let id_text = (100 + id).to_string();
        let key = r#""Key":{"Name":"TRI.N","Service":"FEED"}"#;
        world.text(mount, &format!(r#"{{"ID":{id_text},{key}{view}}}"#));
        assert_eq!(world.heard_json(mount).len(), 1);
        mounts.push((mount, id_text, id % 3));
    }
    let rssl = world.mount();
    world.say(rssl, &request(5, "TRI.N"));
    world.heard(rssl);
    let before = world.core.statistics();
    world.item(HUB, 17, 2, &update(&[(22, 7), (25, 8)]));
    let after = world.core.statistics();
    assert_eq!(after.json_converted - before.json_converted, 3);
    assert_eq!(after.json_shared - before.json_shared, MOUNTS as u64 + 1 - 3);
    assert_eq!(after.updates_out - before.updates_out, MOUNTS as u64 + 2);
    for (mount, id, view) in mounts {
        let fields = [r#"{"BID":7,"ASK":8}"#, r#"{"BID":7}"#, r#"{"ASK":8}"#][view];
        let expected = format!(
            r#"{{"ID":{id},"Type":"Update","UpdateType":"Quote","Key":{{"Service":"FEED","Name":"TRI.N"}},"Fields":{fields}}}"#
        );
        assert_eq!(world.heard_json(mount), [expected]);
    }
    assert_eq!(world.heard(rssl), ["UPDATE 5 MARKET_PRICE QUOTE {22=7 25=8}"]);
    // The same bytes again are the same text.
    world.item(HUB, 17, 3, &update(&[(22, 9), (25, 8)]));
    assert!(world.heard_json(first)[0].contains(r#"{"BID":9,"ASK":8}"#));
}

#[test]
fn a_view_of_nothing_still_has_fields_and_no_updates() {
    let mut world = World::with_feed();
    watching(&mut world);
    let consumer = world.mount_json();
    let view = r#"{"ID":6,"Key":{"Name":"TRI.N","Service":"FEED"},"View":["TRDPRC_1"]}"#;
    world.text(consumer, view);
    let heard = world.heard_json(consumer);
    assert!(heard[0].ends_with(r#","Fields":{}}"#), "{heard:?}");
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    // Another view for the updates to come, and no image.
    let other = r#"{"ID":6,"Refresh":false,"Key":{"Name":"TRI.N","Service":"FEED"},"View":[22]}"#;
    world.text(consumer, other);
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.item(HUB, 17, 3, &update(&[(22, 8)]));
    assert!(world.heard_json(consumer)[0].ends_with(r#""Fields":{"BID":8}}"#));
}

#[test]
fn a_snapshot_is_one_image_and_the_stream_is_free() {
    let mut world = World::with_feed();
    watching(&mut world);
    let consumer = world.mount_json();
    for _ in 0..2 {
        let snapshot = r#"{"ID":6,"Streaming":false,"Key":{"Name":"TRI.N","Service":"FEED"}}"#;
        world.text(consumer, snapshot);
        let heard = world.heard_json(consumer);
        assert!(heard[0].contains(r#""State":{"Stream":"NonStreaming","Data":"Ok""#), "{heard:?}");
    }
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    // Clients close it all the same.
    world.text(consumer, r#"{"ID":6,"Type":"Close"}"#);
    assert_eq!(world.heard_json(consumer), [""; 0]);
}

#[test]
fn a_batch_is_answered_with_its_count_and_opens_the_ids_behind_its_own() {
    let mut world = World::with_feed();
    watching(&mut world);
    let consumer = world.mount_json();
    world.text(
        consumer,
        r#"{"ID":20,"Key":{"Name":["TRI.N","IBM.N"],"Service":"FEED"},"View":["BID"]}"#,
    );
    let heard = world.heard_json(consumer);
    assert_eq!(
        heard[0],
        r#"{"ID":20,"Type":"Status","State":{"Stream":"Closed","Data":"Ok","Text":"Processed 2 total items from Batch Request. 2 Ok."}}"#
    );
    assert!(
        heard[1]
            .starts_with(r#"{"ID":21,"Type":"Refresh","Key":{"Service":"FEED","Name":"TRI.N"}"#)
    );
    assert!(heard[1].ends_with(r#""Fields":{"BID":100}}"#), "{heard:?}");
    assert_eq!(heard.len(), 2);
    let published = world.published();
    assert!(published[0].contains("IBM.N"), "{published:?}");

    world.text(consumer, r#"{"ID":[21,22,99],"Type":"Close"}"#);
    assert_eq!(
        world.heard_json(consumer),
        [
            r#"{"ID":21,"Type":"Status","State":{"Stream":"Closed","Data":"Ok","Text":"Processed 3 total stream ids from Batch Close Request. 3 Ok. "}}"#
        ]
    );
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    let published = world.published();
    assert!(published[0].starts_with("Close 100 "), "{published:?}");
}

#[test]
fn a_pause_holds_updates_and_a_resumption_brings_an_image() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    let key = r#""Key":{"Name":"TRI.N","Service":"FEED"}"#;
    world.text(consumer, &format!(r#"{{"ID":5,"Pause":true,"Refresh":false,{key}}}"#));
    world.item(HUB, 17, 2, &update(&[(22, 7)]));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.text(consumer, &format!(r#"{{"ID":5,{key}}}"#));
    let heard = world.heard_json(consumer);
    assert!(heard[0].ends_with(r#""Fields":{"BID":7,"ASK":101}}"#), "{heard:?}");
    world.item(HUB, 17, 3, &update(&[(22, 8)]));
    assert_eq!(world.heard_json(consumer).len(), 1);
    // All items at once, on the login stream.
    let login = r#""Domain":"Login","Refresh":false,"Key":{"Name":"user"}"#;
    world.text(consumer, &format!(r#"{{"ID":1,"Pause":true,{login}}}"#));
    world.item(HUB, 17, 4, &update(&[(22, 9)]));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.text(consumer, &format!(r#"{{"ID":1,{login}}}"#));
    assert!(world.heard_json(consumer)[0].contains(r#""Solicited":false"#));
}

#[test]
fn states_of_items_are_statuses() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    let state =
        State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NOT_FOUND, "Not \"here\"");
    let msg = StatusMsg { state: Some(state), ..StatusMsg::new(Domain::MARKET_PRICE, 0) };
    world.item(HUB, 17, 2, &encoded(&msg.into()));
    assert_eq!(
        world.heard_json(consumer),
        [
            r#"{"ID":5,"Type":"Status","Key":{"Service":"FEED","Name":"TRI.N"},"State":{"Stream":"Closed","Data":"Suspect","Code":"NotFound","Text":"Not \"here\""}}"#
        ]
    );
    let consumer = watching_again(&mut world);
    world.hub_down(HUB);
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""State":{"Stream":"Open","Data":"Suspect""#), "{heard:?}");
}

fn watching_again(world: &mut World) -> tapeline_channel::SessionId {
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"IBM.N","Service":"FEED"}}"#);
    let published = world.published();
    assert!(published.iter().any(|line| line.contains("IBM.N")), "{published:?}");
    consumer
}

#[test]
fn updates_for_a_slow_mount_are_merged() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    world.answer(consumer, Sent::Slow);
    for seq in 2..6 {
        world.item(HUB, 17, seq, &update(&[(22, i64::from(seq)), (25, 1)]));
    }
    // That it is slow is told by the first one.
    assert_eq!(world.heard_json(consumer).len(), 1);
    world.drain(consumer);
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""Code":"JitConflationStarted""#), "{heard:?}");
    assert!(heard[1].ends_with(r#""Fields":{"BID":5,"ASK":1}}"#), "{heard:?}");
    assert!(heard[2].contains(r#""Code":"RealtimeResumed""#), "{heard:?}");
    world.answer(consumer, Sent::Full);
    world.item(HUB, 17, 6, &update(&[(22, 6)]));
    assert_eq!(world.out.codes, [(consumer, 1000)], "the channel makes it 1013");
    assert_eq!(world.core.statistics().json_mounts, 1, "until its end is told");
    world.disconnect(consumer);
    assert_eq!(world.core.statistics().json_mounts, 0);
}

#[test]
fn generic_messages_go_both_ways_but_not_to_those_who_send_none() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    let domain = Domain::MARKET_PRICE;
    let generic = encoded(&Msg::from(GenericMsg::new(domain, 0)));
    world.item(HUB, 17, 2, &generic);
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.text(consumer, r#"{"ID":5,"Type":"Generic","Fields":{"BID":1}}"#);
    let published = world.published();
    assert!(published[0].starts_with("Generic 100 0 GENERIC"), "{published:?}");
    world.item(HUB, 17, 3, &generic);
    let heard = world.heard_json(consumer);
    assert!(heard[0].starts_with(r#"{"ID":5,"Type":"Generic""#), "{heard:?}");
}

#[test]
fn the_service_may_be_left_out_while_there_is_one() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N"}}"#);
    assert!(world.published()[0].contains("TRI.N@1"));
    world.hub_directory(HUB, vec![service(1, "FEED", true), service(2, "OTHER", true)]);
    world.text(consumer, r#"{"ID":6,"Key":{"Name":"IBM.N"}}"#);
    let heard = world.heard_json(consumer);
    assert!(heard[0].starts_with(r#"{"ID":6,"Type":"Status""#), "{heard:?}");
    assert!(heard[0].contains("does not identify any service"), "{heard:?}");

    let mut config = tapeline_server::ServerConfig::default();
    config.json.default_service = Some("OTHER".to_owned());
    let mut world = World::feed_with(config);
    world.settle();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":6,"Key":{"Name":"IBM.N"}}"#);
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""Code":"SourceUnknown""#), "{heard:?}");
    world.hub_directory(HUB, vec![service(1, "FEED", true), service(2, "OTHER", true)]);
    world.published();
    world.text(consumer, r#"{"ID":6,"Key":{"Name":"IBM.N"}}"#);
    assert!(world.published()[0].contains("IBM.N@2"));
    world.pass(Duration::from_secs(1));
}

#[test]
fn an_item_may_be_open_on_several_streams_of_a_mount() {
    let mut world = World::with_feed();
    let consumer = watching(&mut world);
    let again = r#"{"ID":6,"Key":{"Name":"TRI.N","Service":"FEED"},"View":["BID"]}"#;
    world.text(consumer, again);
    let image = &world.heard_json(consumer)[0];
    assert!(image.contains(r#""Fields":{"BID":100}"#), "{image}");
    // The first one ends, the second goes on.
    world.text(consumer, r#"{"ID":5,"Type":"Close"}"#);
    world.item(HUB, 17, 2, &update(&[(22, 7), (25, 8)]));
    let heard = world.heard_json(consumer);
    assert!(heard.len() == 1 && heard[0].starts_with(r#"{"ID":6,"#), "{heard:?}");
    assert!(heard[0].contains(r#""Fields":{"BID":7}"#), "{heard:?}");
}
