//! What is wrong with what JSON mounts send, and how they are told.

use serde_json::{Value, json};

use crate::support::*;

#[test]
fn what_is_no_good_is_answered_with_an_error_and_the_mount_lives() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    for (text, id, words) in [
        ("hello", 0, "JSON parser error: -2"),
        (r#"{"ID":"#, 0, "JSON parser error: -3"),
        (
            r#"{"ID":2,"Type":"ExtraInfo","Key":{"Name":"A"}}"#,
            2,
            "JSON Unexpected Value. Received 'ExtraInfo' for key 'Type'",
        ),
        (r#"{"Key":{"Name":"A"}}"#, 0, "JSON Missing required key 'ID'"),
        (r#"{"ID":2}"#, 2, "JSON Missing required key 'Key'"),
    ] {
        world.text(consumer, text);
        let heard = world.heard_json(consumer);
        assert_eq!(heard.len(), 1, "{heard:?}");
        let error: Value = serde_json::from_str(&heard[0]).expect("JSON");
        assert_eq!((&error["ID"], &error["Type"]), (&json!(id), &json!("Error")));
        assert_eq!(error["Text"], words);
        assert_eq!(error["Debug"]["Message"], text);
    }
    assert_eq!(world.core.statistics().json_faults, 5);
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    assert_eq!(world.published().len(), 1);
    assert_eq!(world.out.closed, []);
}

#[test]
fn one_bad_message_of_a_frame_takes_none_of_the_others_with_it() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    world.text(
        consumer,
        r#"[{"Type":"Ping"},{"ID":6,"Type":"Nope"},{"ID":7,"Key":{"Name":"A","Service":"FEED"}},7,[{"Type":"Pong"}]]"#,
    );
    let heard = world.heard_json(consumer);
    assert_eq!(heard[0], r#"{"Type":"Pong"}"#);
    assert!(heard[1].starts_with(r#"{"ID":6,"Type":"Error""#));
    assert!(heard[2].starts_with(r#"{"ID":0,"Type":"Error""#));
    assert_eq!(heard.len(), 3);
    assert_eq!(world.published().len(), 1);
}

#[test]
fn an_unknown_service_is_a_status_on_the_stream() {
    let mut world = World::with_feed();
    world.settle();
    let consumer = world.mount_json();
    world
        .text(consumer, r#"{"ID":5,"Domain":"MarketByPrice","Key":{"Name":"A","Service":"NONE"}}"#);
    assert_eq!(
        world.heard_json(consumer),
        [
            r#"{"ID":5,"Type":"Status","Domain":"MarketByPrice","Key":{"Name":"A"},"State":{"Stream":"ClosedRecover","Data":"Suspect","Code":"SourceUnknown","Text":"Service not available"}}"#
        ]
    );
    // A number that no service has is no better.
    world.text(consumer, r#"{"ID":6,"Key":{"Name":"A","Service":9}}"#);
    assert_eq!(
        world.heard_json(consumer),
        [
            r#"{"ID":6,"Type":"Status","Key":{"Service":9,"Name":"A"},"State":{"Stream":"ClosedRecover","Data":"Suspect","Code":"SourceUnknown","Text":"Service not available"}}"#
        ]
    );
    // The id is free, and the name may be known by now.
    world.hub_directory(HUB, vec![service(1, "FEED", true), service(2, "NONE", true)]);
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"A","Service":"NONE"}}"#);
    assert!(world.published().iter().any(|line| line.contains("A@2")));
}

#[test]
fn a_service_that_is_down_is_waited_for_unless_the_client_recovers_items_itself() {
    let mut world = World::with_feed();
    world.hub_directory(HUB, vec![service(1, "FEED", false)]);
    let (patient, other) = (world.mount_json(), world.connect_json());
    let login = r#"{"ID":1,"Domain":"Login","Key":{"Name":"user","Elements":{"SingleOpen":0}}}"#;
    world.text(other, login);
    world.heard_json(other);
    for consumer in [patient, other] {
        world.text(consumer, r#"{"ID":5,"Key":{"Name":"A","Service":"FEED"}}"#);
    }
    assert_eq!(
        world.heard_json(patient),
        [
            r#"{"ID":5,"Type":"Status","Key":{"Service":"FEED","Name":"A"},"State":{"Stream":"Open","Data":"Suspect","Text":"Service not up"}}"#
        ]
    );
    assert_eq!(
        world.heard_json(other),
        [
            r#"{"ID":5,"Type":"Status","Key":{"Service":"FEED","Name":"A"},"State":{"Stream":"ClosedRecover","Data":"Suspect","Code":"SourceUnknown","Text":"Service not up"}}"#
        ]
    );
}

#[test]
fn another_key_on_a_stream_closes_it_for_wrong_use() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    for (id, key, what) in [
        (5, r#"{"Name":"B","Service":"FEED"}"#, "name"),
        (6, r#"{"Name":"A","Service":"NONE"}"#, "service"),
    ] {
        world.text(consumer, &format!(r#"{{"ID":{id},"Key":{{"Name":"A","Service":"FEED"}}}}"#));
        world.text(consumer, &format!(r#"{{"ID":{id},"Key":{key}}}"#));
        let heard = world.heard_json(consumer);
        let state = r#""State":{"Stream":"Closed","Data":"Suspect","Code":"UsageError""#;
        assert!(heard.len() == 1 && heard[0].contains(state), "{heard:?}");
        assert!(heard[0].contains(&format!("Attempt to change the {what} ")), "{heard:?}");
        assert!(world.published().iter().any(|line| line.starts_with("Close 100")));
    }
}

#[test]
fn who_sends_nothing_good_for_long_is_cut() {
    let mut world = World::with_feed();
    let (patient, consumer) = (world.mount_json(), world.mount_json());
    for _ in 0..99 {
        world.text(consumer, "{}");
    }
    world.text(consumer, r#"{"ID":9,"Type":"Close"}"#);
    for _ in 0..99 {
        world.text(consumer, "{}");
    }
    assert_eq!(world.out.closed, []);
    let rest = format!("[{}]", ["{}"; 50].join(","));
    world.heard_json(consumer);
    world.text(consumer, &rest);
    assert_eq!(world.out.codes, [(consumer, 1008)]);
    assert_eq!(world.heard_json(consumer).len(), 1, "nothing after the end");
    world.text(patient, r#"{"Type":"Ping"}"#);
    assert_eq!(world.heard_json(patient), [r#"{"Type":"Pong"}"#]);
}

#[test]
fn a_server_that_ends_is_going_away() {
    let mut world = World::with_feed();
    let (json, rssl) = (world.mount_json(), world.mount());
    let World { core, out, now, .. } = &mut world;
    core.shut_down(*now, "the server shuts down", out);
    assert_eq!(world.out.codes, [(json, 1001)]);
    assert_eq!(world.out.closed.len(), 2);
    assert!(world.out.closed.iter().any(|(session, _)| *session == rssl));
}

#[test]
fn a_place_that_a_json_mount_had_may_be_an_rssl_mounts_next() {
    let mut world = World::with_feed();
    let first = world.mount_json();
    world.disconnect(first);
    let next = tapeline_channel::SessionId { generation: 2, ..first };
    let peer = ([10, 0, 0, 1], 1).into();
    let event = tapeline_server::Event::Opened { session: next, peer };
    world.core.handle(world.now, event, &mut world.out);
    world.say(next, &login(1, "user"));
    assert_eq!(world.heard(next).len(), 1);
    assert!(world.out.texts.is_empty());
}
