//! Requests of JSON mounts for services that no hub has told of yet: those of
//! clients that are back sooner than the hubs when the server starts again.

use std::time::Duration;

use tapeline_server::ServerConfig;

use crate::support::*;

const REFUSED: &str = r#""State":{"Stream":"ClosedRecover","Data":"Suspect","Code":"SourceUnknown","Text":"Service not available"}"#;

/// A server that has just been started: no hub is there.
fn started() -> World {
    World::with_policy(config(None), Box::new(tapeline_server::AcceptAll))
}

fn config(default_service: Option<&str>) -> ServerConfig {
    let mut config = ServerConfig::default();
    config.json.default_service = default_service.map(str::to_owned);
    config
}

fn feed_appears(world: &mut World) {
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
}

#[test]
fn a_request_before_the_first_directory_is_sent_when_the_service_is_there() {
    let mut world = started();
    let consumer = world.mount_json();
    for (id, service) in [(5, r#","Service":"FEED""#), (6, r#","Service":1"#), (7, "")] {
        let text = format!(r#"{{"ID":{id},"Key":{{"Name":"ITEM{id}"{service}}}}}"#);
        world.text(consumer, &text);
    }
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.pass(Duration::from_secs(14));
    feed_appears(&mut world);
    let opened: Vec<_> =
        world.published().into_iter().filter(|line| line.starts_with("Open")).collect();
    assert_eq!(opened.len(), 3, "{opened:?}");
    for (line, item) in opened.iter().zip(["ITEM5@1", "ITEM6@1", "ITEM7@1"]) {
        assert!(line.contains(item), "{line}");
    }
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 100)]));
    let heard = world.heard_json(consumer);
    assert!(heard.len() == 1 && heard[0].starts_with(r#"{"ID":5,"Type":"Refresh""#), "{heard:?}");
    // What was held is not answered a second time.
    world.settle();
    assert_eq!(world.heard_json(consumer), [""; 0]);
}

#[test]
fn a_service_that_comes_after_others_is_waited_for_as_well() {
    let mut world = started();
    let consumer = world.mount_json();
    feed_appears(&mut world);
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"A","Service":"LATE"},"View":["BID"]}"#);
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.published();
    world.hub_directory(HUB, vec![service(1, "FEED", true), service(2, "LATE", true)]);
    assert!(world.published().iter().any(|line| line.contains("A@2")));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 100), (25, 101)]));
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""Fields":{"BID":100}"#), "{heard:?}");
}

#[test]
fn a_service_that_does_not_come_is_refused_after_the_time_of_a_request() {
    let mut world = started();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"A","Service":"NONE"}}"#);
    world.pass(Duration::from_secs(1));
    feed_appears(&mut world);
    world
        .text(consumer, r#"{"ID":6,"Domain":"MarketByPrice","Key":{"Name":"B","Service":"NONE"}}"#);
    world.pass(Duration::from_millis(13_999));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.pass(Duration::from_millis(1));
    let heard = world.heard_json(consumer);
    assert_eq!(heard, [format!(r#"{{"ID":5,"Type":"Status","Key":{{"Name":"A"}},{REFUSED}}}"#)]);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.heard_json(consumer).len(), 1);
    // By now all are known that there are.
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"A","Service":"NONE"}}"#);
    assert_eq!(world.heard_json(consumer), heard);
    world.settle();
    assert_eq!(world.heard_json(consumer), [""; 0]);
}

#[test]
fn what_is_held_may_be_closed_changed_and_left_behind() {
    let mut world = started();
    let (consumer, gone) = (world.mount_json(), world.mount_json());
    for id in 5..8 {
        let text = format!(r#"{{"ID":{id},"Key":{{"Name":"OLD{id}","Service":"FEED"}}}}"#);
        world.text(consumer, &text);
        world.text(gone, &text);
    }
    world.text(consumer, r#"{"ID":5,"Type":"Close"}"#);
    world.text(consumer, r#"{"ID":6,"Key":{"Name":"NEW6","Service":"FEED"}}"#);
    world.disconnect(gone);
    feed_appears(&mut world);
    let opened = world.published().join("\n");
    assert_eq!(opened.matches("Open 100").count(), 2, "{opened}");
    assert!(opened.contains("OLD7@1") && opened.contains("NEW6@1"), "{opened}");
    world.settle();
    assert_eq!(world.heard_json(consumer), [""; 0]);
}

#[test]
fn a_batch_and_the_default_service_are_waited_for_too() {
    let mut world = World::with(config(Some("FEED")));
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":["A","B"]}}"#);
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains("Processed 2 total items"), "{heard:?}");
    feed_appears(&mut world);
    let opened = world.published().join("\n");
    assert!(opened.contains("A@1") && opened.contains("B@1"), "{opened}");
}

#[test]
fn no_more_is_held_than_a_mount_may_have_open() {
    let mut config = config(None);
    config.limits.item_limit_per_mount = 2;
    let mut world = World::with(config);
    let consumer = world.mount_json();
    for id in 5..8 {
        let text = format!(r#"{{"ID":{id},"Key":{{"Name":"A","Service":"FEED"}}}}"#);
        world.text(consumer, &text);
    }
    let heard = world.heard_json(consumer);
    assert!(heard.len() == 1 && heard[0].contains(r#""Code":"TooManyItems""#), "{heard:?}");
}

#[test]
fn a_request_that_waits_for_its_service_may_become_one_for_another() {
    let mut world = World::with_feed();
    world.hub_directory(HUB, vec![service(1, "FEED", false)]);
    world.settle();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"A","Service":"FEED"}}"#);
    assert_eq!(world.heard_json(consumer).len(), 1);
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"A","Service":"NONE"}}"#);
    let heard = world.heard_json(consumer);
    assert!(heard.len() == 1 && heard[0].contains(REFUSED), "{heard:?}");
    world.published();
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    assert!(!world.published().iter().any(|line| line.starts_with("Open")));
}

#[test]
fn without_any_service_nothing_is_missed() {
    let mut world = started();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"A","Service":"FEED"}}"#);
    for _ in 0..40 {
        world.pass(Duration::from_secs(1));
        // The server's pings are answered.
        world.text(consumer, r#"{"Type":"Pong"}"#);
    }
    let heard = world.heard_json(consumer);
    assert!(heard.iter().all(|text| !text.contains("State")), "{heard:?}");
    feed_appears(&mut world);
    assert!(world.published().iter().any(|line| line.contains("A@1")));
}

#[test]
fn the_items_of_a_batch_wait_and_are_closed_each_by_itself() {
    let mut world = started();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":["A","B"],"Service":"FEED"}}"#);
    let heard = world.heard_json(consumer);
    assert!(heard.len() == 1 && heard[0].contains("Processed 2 total items"), "{heard:?}");
    world.text(consumer, r#"{"ID":6,"Type":"Close"}"#);
    feed_appears(&mut world);
    let opened = world.published().join("\n");
    assert!(opened.contains("B@1") && !opened.contains("A@1"), "{opened}");
}

#[test]
fn what_the_server_has_itself_needs_no_service() {
    let mut world = started();
    let consumer = world.mount_json();
    for service in ["", r#","Service":"NONE""#, r#","Service":7"#] {
        let text = format!(
            r#"{{"ID":5,"Domain":"Dictionary","Key":{{"Name":"RWFEnum","Filter":0{service}}},"Streaming":false}}"#
        );
        world.text(consumer, &text);
        let heard = world.heard_json(consumer);
        assert!(heard[0].contains(r#""Type":"Refresh""#), "{service}: {}", heard[0]);
        assert!(!heard[0].contains("65535"), "{service}: {}", heard[0]);
    }
    world.text(consumer, r#"{"ID":6,"Domain":"Source","Key":{"Service":7,"Filter":3}}"#);
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""Domain":"Source""#), "{heard:?}");
    assert!(heard[0].contains(r#""Type":"Refresh""#), "{heard:?}");
}

#[test]
fn the_number_that_stands_for_a_name_is_nobodys() {
    let mut world = started();
    let (first, second) = (world.mount_json(), world.mount_json());
    world.text(first, r#"{"ID":5,"Key":{"Name":"A","Service":"FEED"}}"#);
    world.text(second, r#"{"ID":5,"Key":{"Name":"B","Service":65535}}"#);
    feed_appears(&mut world);
    let opened = world.published().join("\n");
    assert!(opened.contains("A@1") && !opened.contains("B@1"), "{opened}");
}
