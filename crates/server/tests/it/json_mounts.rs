//! What JSON mounts have beside items: login, directory, dictionary, posts.

use std::time::Duration;

use serde_json::{Value, json};
use tapeline_backbone::Kind;
use tapeline_channel::SessionId;
use tapeline_rwf::{AckMsg, DataState, Domain, Msg, NakCode, State, StateCode, StreamState};
use tapeline_server::{LoginContext, LoginPolicy, LoginVerdict, ServerConfig};

use crate::support::*;

fn parsed(world: &mut World, session: SessionId) -> Vec<Value> {
    let heard = world.heard_json(session);
    heard.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

#[test]
fn a_login_is_answered_with_what_the_server_does_and_alone_in_its_frame() {
    let mut world = World::with_feed();
    let consumer = world.connect_json();
    world.text(
        consumer,
        r#"{"Domain":"Login","ID":2,"Key":{"Elements":{"ApplicationId":"256","Position":"127.0.0.1/net"},"Name":"jo"}}"#,
    );
    assert_eq!(world.out.texts.iter().map(|text| text.2).collect::<Vec<_>>(), [true]);
    let answer = parsed(&mut world, consumer).remove(0);
    assert_eq!(answer["ID"], 2);
    assert_eq!(answer["Type"], "Refresh");
    assert_eq!(answer["State"]["Stream"], "Open");
    assert_eq!(answer["State"]["Data"], "Ok");
    assert_eq!(answer["Elements"], json!({"PingTimeout": 30, "MaxMsgSize": 61440}));
    assert_eq!(answer["Key"]["Name"], "jo");
    let told = &answer["Key"]["Elements"];
    for (name, value) in [
        ("SupportBatchRequests", json!(7)),
        ("SupportViewRequests", json!(1)),
        ("SupportOMMPost", json!(1)),
        ("SupportOptimizedPauseResume", json!(1)),
        ("SingleOpen", json!(1)),
        ("ApplicationId", json!("256")),
        ("Position", json!("127.0.0.1/net")),
    ] {
        assert_eq!(told[name], value, "{name}");
    }
}

#[test]
fn a_login_by_token_is_renewed_on_its_stream() {
    let mut world = World::with_feed();
    let consumer = world.connect_json();
    let login = |token: &str, more: &str| {
        format!(
            r#"{{"ID":1,"Domain":"Login",{more}"Key":{{"NameType":"AuthnToken","Elements":{{"ApplicationId":"256","AuthenticationToken":"{token}"}}}}}}"#
        )
    };
    world.text(consumer, &login("abc", ""));
    let answer = parsed(&mut world, consumer).remove(0);
    assert_eq!(answer["State"]["Stream"], "Open");
    assert_eq!(answer["Key"]["Elements"]["AuthenticationErrorCode"], 0);
    assert_eq!(answer["Key"]["Elements"]["AuthenticationErrorText"], "Success");
    world.text(consumer, &login("def", r#""Refresh":false,"#));
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.text(consumer, &login("ghi", ""));
    assert_eq!(parsed(&mut world, consumer)[0]["Type"], "Refresh");
}

#[test]
fn a_login_of_another_user_on_an_open_one_ends_it() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    world.accept(HUB, 17, 0);
    world.published();
    world.text(consumer, r#"{"ID":1,"Domain":"Login","Key":{"Name":"other"}}"#);
    assert_eq!(
        world.heard_json(consumer),
        [
            r#"{"ID":1,"Type":"Status","Domain":"Login","Key":{"Name":"other"},"State":{"Stream":"Closed","Data":"Suspect","Code":"UsageError","Text":"Login Rejected. login reissue: user name must not change"}}"#
        ]
    );
    assert!(world.published()[0].starts_with("Close 100 0"));
    world.text(consumer, r#"{"ID":1,"Domain":"Login","Key":{"Name":"other"}}"#);
    assert_eq!(parsed(&mut world, consumer)[0]["State"]["Stream"], "Open");
}

struct Nobody;

impl LoginPolicy for Nobody {
    fn decide(&mut self, _: &tapeline_omm::login::LoginRequest, _: &LoginContext) -> LoginVerdict {
        let (stream, code) = (StreamState::CLOSED_RECOVER, StateCode::NOT_ENTITLED);
        LoginVerdict::Refuse(State::new(stream, DataState::SUSPECT, code, "Go away").into())
    }
}

#[test]
fn a_refused_login_says_so_in_the_words_that_clients_look_for() {
    let mut world = World::with_policy(ServerConfig::default(), Box::new(Nobody));
    let consumer = world.connect_json();
    world.text(consumer, r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#);
    assert_eq!(
        world.heard_json(consumer),
        [
            r#"{"ID":1,"Type":"Status","Domain":"Login","Key":{"Name":"user"},"State":{"Stream":"Closed","Data":"Suspect","Code":"NotEntitled","Text":"Login Rejected. Go away"}}"#
        ]
    );
    assert_eq!(world.out.closed, [], "it may try again");
    world.pass(Duration::from_secs(30));
    assert_eq!(world.out.closed.len(), 1);
}

#[test]
fn before_a_login_everything_is_refused() {
    let mut world = World::with_feed();
    let consumer = world.connect_json();
    world.text(
        consumer,
        r#"[{"ID":5,"Key":{"Name":"A","Service":"FEED"}},{"ID":6,"Key":{"Name":"A","Service":"NONE"}}]"#,
    );
    let heard = parsed(&mut world, consumer);
    for (answer, id) in heard.iter().zip([5, 6]) {
        assert_eq!((&answer["ID"], &answer["Type"]), (&json!(id), &json!("Status")));
        assert_eq!(answer["State"]["Stream"], "Closed");
        assert_eq!(answer["State"]["Data"], "Suspect");
    }
    assert_eq!(heard.len(), 2);
}

#[test]
fn closing_the_login_ends_every_stream_without_a_word() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    world.accept(HUB, 17, 0);
    world.published();
    world.text(consumer, r#"{"ID":1,"Domain":"Login","Type":"Close"}"#);
    assert_eq!(world.heard_json(consumer), [""; 0]);
    assert!(world.published()[0].starts_with("Close 100 0"));
}

#[test]
fn the_directory_is_the_one_of_rssl_in_json() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    world.text(
        consumer,
        r#"[{"ID":2,"Type":"Request","Domain":"Source","KeyInUpdates":false,"Key":{"Filter":63}}]"#,
    );
    let answer = parsed(&mut world, consumer).remove(0);
    assert_eq!(answer["Domain"], "Source");
    assert_eq!(answer["State"]["Stream"], "Open");
    assert_eq!(answer["Map"]["KeyType"], "UInt");
    let entry = &answer["Map"]["Entries"][0];
    assert_eq!((&entry["Action"], &entry["Key"]), (&json!("Add"), &json!(1)));
    let filters = entry["FilterList"]["Entries"].as_array().expect("filters");
    assert_eq!(filters[0]["Elements"]["Name"], "FEED");
    let used = &filters[0]["Elements"]["DictionariesUsed"]["Data"]["Data"];
    assert_eq!(*used, json!(["RWFFld", "RWFEnum"]));
    assert_eq!(filters[1]["Elements"]["ServiceState"], 1);
    world.hub_down(HUB);
    let update = parsed(&mut world, consumer).remove(0);
    assert_eq!((&update["ID"], &update["Type"]), (&json!(2), &json!("Update")));
    let entry = &update["Map"]["Entries"][0];
    assert_eq!(entry["FilterList"]["Entries"][0]["Elements"]["ServiceState"], 0);
}

#[test]
fn a_dictionary_is_one_message() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    for (id, name) in [(3, "RWFFld"), (4, "RWFEnum")] {
        world.text(
            consumer,
            &format!(
                r#"{{"ID":{id},"Domain":"Dictionary","Streaming":false,"Key":{{"Name":"{name}","Service":"FEED","Filter":7}}}}"#
            ),
        );
        let heard = parsed(&mut world, consumer);
        assert_eq!(heard.len(), 1, "{name}");
        let answer = &heard[0];
        assert_eq!(answer["Key"]["Name"], name);
        assert_eq!(answer["Key"]["Service"], "FEED");
        assert_eq!(answer["Complete"], Value::Null, "complete");
        assert_eq!(answer["State"]["Data"], "Ok");
        let version = answer["Series"]["Summary"]["Elements"]["Version"].as_str();
        let version = version.expect("a version");
        assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{version}");
        let entries = answer["Series"]["Entries"].as_array().expect("entries");
        assert!(entries.len() > 10, "{name}");
        if id == 3 {
            let bid = entries.iter().find(|entry| entry["Elements"]["NAME"] == "BID").expect("BID");
            assert_eq!(bid["Elements"]["FID"], json!({"Type": "Int", "Data": 22}));
        } else {
            assert!(entries[0]["Elements"]["DISPLAY"]["Data"]["Data"].is_array());
        }
    }
}

#[test]
fn posts_reach_the_hub_and_acks_come_back() {
    let mut world = World::with_feed();
    let consumer = world.mount_json();
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 100)]));
    world.published();
    world.heard_json(consumer);
    // On its stream as lseg-data says it, off it as EMA does.
    world.text(
        consumer,
        r#"{"Ack":true,"ID":5,"Message":{"Fields":{"BID":45.55},"ID":5,"Type":"Update","Domain":"MarketPrice"},"PostID":9,"Type":"Post","Domain":"MarketPrice"}"#,
    );
    world.text(
        consumer,
        r#"[{"ID":1,"Type":"Post","PostUserInfo":{"Address":"0.0.0.0","UserID":0},"PostID":7,"Key":{"Service":1,"Name":"NEW.N"},"Ack":true,"Message":{"ID":0,"Type":"Update","UpdateType":"Unspecified","Fields":{"BID":45.55}}}]"#,
    );
    let published = world.published();
    assert!(published[0].starts_with("Post 100 1 0 POST"), "{published:?}");
    assert!(published[1].starts_with("Post 100 2 -1 POST"), "{published:?}");
    assert!(published[1].contains("NEW.N@1"), "{published:?}");

    let ack = |code| AckMsg { nak_code: code, ..AckMsg::new(Domain::MARKET_PRICE, 0) };
    let told = |ack: AckMsg<'static>| encoded(&Msg::from(ack));
    world.frame_to_us(HUB, Kind::Ack, 1, &told(ack(Some(NakCode::NONE))));
    assert_eq!(world.heard_json(consumer), [r#"{"ID":5,"Type":"Ack","AckID":9}"#]);
    let denied = AckMsg { text: Some(b"No"), ..ack(Some(NakCode::ACCESS_DENIED)) };
    world.frame_to_us(HUB, Kind::Ack, 2, &told(denied));
    assert_eq!(
        world.heard_json(consumer),
        [r#"{"ID":1,"Type":"Ack","AckID":7,"NakCode":"AccessDenied","Text":"No"}"#]
    );
    // To a service that nobody knows.
    world.text(
        consumer,
        r#"{"ID":1,"Type":"Post","PostID":8,"Ack":true,"Key":{"Service":"NONE","Name":"A"},"Fields":{}}"#,
    );
    let heard = world.heard_json(consumer);
    assert!(heard[0].contains(r#""AckID":8,"NakCode":"SourceUnknown""#), "{heard:?}");
}

#[test]
fn a_token_in_a_cookie_of_the_handshake_is_a_login() {
    let mut world = World::with_feed();
    let consumer = world.connect_json();
    world.cookies(consumer, "session=7");
    assert_eq!(world.heard_json(consumer), [""; 0]);
    world.cookies(consumer, "session=7; AuthToken=eyJ; position=127.0.0.1/net; applicationId=256");
    assert_eq!(world.out.texts.iter().map(|text| text.2).collect::<Vec<_>>(), [true]);
    let answer = parsed(&mut world, consumer).remove(0);
    assert_eq!((&answer["ID"], &answer["Domain"]), (&json!(-1), &json!("Login")));
    assert_eq!(answer["State"]["Stream"], "Open");
    assert_eq!(answer["Elements"]["PingTimeout"], 30);
    assert_eq!(answer["Key"]["Elements"]["Position"], "127.0.0.1/net");
    // The cookie may be another application's: the client's own login goes before.
    world.text(consumer, r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#);
    let own = parsed(&mut world, consumer).remove(0);
    assert_eq!((&own["ID"], &own["State"]["Stream"]), (&json!(1), &json!("Open")));
}

#[test]
fn a_login_by_cookies_that_is_used_has_to_end_before_another() {
    let mut world = World::with_feed();
    let consumer = world.connect_json();
    world.cookies(consumer, "AuthToken=eyJ");
    world.heard_json(consumer);
    world.text(consumer, r#"{"ID":5,"Key":{"Name":"TRI.N","Service":"FEED"}}"#);
    assert_eq!(world.published().len(), 1);
    world.text(consumer, r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#);
    assert_eq!(parsed(&mut world, consumer)[0]["State"]["Code"], "AlreadyOpen");
    world.text(consumer, r#"{"ID":-1,"Domain":"Login","Type":"Close"}"#);
    assert!(world.published()[0].starts_with("Close 100 0"));
    world.text(consumer, r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#);
    assert_eq!(parsed(&mut world, consumer)[0]["State"]["Stream"], "Open");
}

#[test]
fn a_token_in_a_cookie_that_is_no_good_is_refused() {
    let mut world = World::with_policy(ServerConfig::default(), Box::new(Nobody));
    let consumer = world.connect_json();
    world.cookies(consumer, "AuthToken=eyJ");
    let answer = parsed(&mut world, consumer).remove(0);
    assert_eq!((&answer["ID"], &answer["Type"]), (&json!(-1), &json!("Status")));
    assert_eq!(answer["State"]["Stream"], "Closed");
    assert_eq!(world.out.closed, [], "it may log in by itself");
}

#[test]
fn the_end_of_a_session_changes_no_words_of_the_one_that_has_its_index() {
    let mut world = World::with_feed();
    let old = world.mount_json();
    let new = world.connect_json_as(old.index, old.generation + 1);
    world.disconnect(old);
    assert_eq!(world.core.statistics().json_mounts, 1);
    world.text(new, r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#);
    assert_eq!(world.heard_json(new).len(), 1, "in JSON");
    // The other way round.
    let third = world.mount_as(new.index, new.generation + 1);
    world.disconnect(new);
    assert_eq!(world.core.statistics().json_mounts, 0);
    world.say(third, &request(5, "TRI.N"));
    world.disconnect(third);
    assert_eq!(world.core.statistics().mounts, 0);
}
