//! Users whose roles show some fields only, and what roles say of mounts that do not
//! keep up.

use tapeline_channel::{Sent, SessionId};
use tapeline_omm::market::RequestPayload;
use tapeline_omm::view::View;
use tapeline_rwf::{
    DataType, Domain, Encoded, FieldListHead, MapAction, MapHead, Primitive, Real, RefreshFlags,
    RefreshMsg, State, UpdateMsg,
};
use tapeline_server::ServerConfig;

use crate::support::*;

/// `lev` is shown two fields, `late` all but one, `full` all.
const POLICY: &str = r#"
version = 1
[[role]]
name = "feed"
grants = [{ service = "FEED" }]
[[role]]
name = "level1"
fields = ["allow", 22, 25]
[[role]]
name = "no-volume"
fields = ["deny", 32]
[[user]]
name = "lev"
roles = ["feed", "level1"]
[[user]]
name = "late"
roles = ["feed", "no-volume"]
[[user]]
name = "full"
roles = ["feed"]
"#;

const ALL: &[(i16, i64)] = &[(22, 1), (25, 2), (30, 3), (32, 4)];

fn world_with(config: ServerConfig, policy: &str) -> World {
    let mut world = World::with(config);
    world.enforce(policy);
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.published();
    world
}

fn mounts<const N: usize>(world: &mut World, users: [&str; N]) -> [SessionId; N] {
    users.map(|user| {
        let session = world.log_in(user);
        let heard = world.heard(session);
        assert!(heard[0].starts_with("REFRESH 1 LOGIN"), "{heard:?}");
        session
    })
}

/// A world in which such mounts have an item with all fields; its image is taken off.
fn watching<const N: usize>(users: [&str; N]) -> (World, [SessionId; N]) {
    let mut world = world_with(ServerConfig::default(), POLICY);
    let sessions = mounts(&mut world, users);
    for session in sessions {
        world.say(session, &request(5, "TRI.N"));
    }
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(ALL));
    (world, sessions)
}

/// Another policy is in force, and images that it asks for have had their turn.
fn enforce(world: &mut World, before: &str, after: &str) {
    assert!(POLICY.contains(before));
    world.enforce(&POLICY.replace(before, after));
}

/// The fields of what a mount heard, message by message.
fn fields(world: &mut World, session: SessionId) -> Vec<String> {
    let heard = world.heard(session);
    heard.iter().map(|it| it[it.find('{').unwrap_or(it.len())..].to_owned()).collect()
}

#[test]
fn a_user_is_shown_the_fields_of_his_roles_and_nobody_else_misses_any() {
    let (mut world, [lev, late, full]) = watching(["lev", "late", "full"]);
    assert_eq!(fields(&mut world, lev), ["{22=1 25=2}"]);
    assert_eq!(fields(&mut world, late), ["{22=1 25=2 30=3}"]);
    assert_eq!(fields(&mut world, full), ["{22=1 25=2 30=3 32=4}"]);
    world.item(HUB, 17, 2, &update(&[(25, 5), (30, 6), (32, 7)]));
    assert_eq!(fields(&mut world, lev), ["{25=5}"]);
    assert_eq!(fields(&mut world, late), ["{25=5 30=6}"]);
    assert_eq!(fields(&mut world, full), ["{25=5 30=6 32=7}"]);
    world.item(HUB, 17, 3, &update(&[(32, 8)]));
    assert_eq!(fields(&mut world, lev), [""; 0], "nothing is left of it");
    assert_eq!(fields(&mut world, full), ["{32=8}"]);
    let [another] = mounts(&mut world, ["lev"]);
    world.say(another, &request(5, "TRI.N"));
    assert_eq!(fields(&mut world, another), ["{22=1 25=5}"], "out of the cache");
}

#[test]
fn no_view_has_what_the_roles_do_not_show() {
    let mut world = world_with(ServerConfig::default(), POLICY);
    let [lev, full] = mounts(&mut world, ["lev", "full"]);
    let view = View::of_fields([25, 30]);
    let viewed = RequestPayload { view: Some(&view), ..RequestPayload::NONE };
    for session in [lev, full] {
        world.say(session, &request_with(5, "TRI.N", &viewed, |_| {}));
    }
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(ALL));
    world.item(HUB, 17, 2, &update(&[(22, 7), (25, 8), (30, 9)]));
    assert_eq!(fields(&mut world, lev), ["{25=2}", "{25=8}"]);
    assert_eq!(fields(&mut world, full), ["{25=2 30=3}", "{25=8 30=9}"]);
    // Nor has the stream that is asked for without one.
    world.say(lev, &request(5, "TRI.N"));
    assert_eq!(fields(&mut world, lev), ["{22=7 25=8}"]);
}

#[test]
fn what_is_merged_for_a_slow_mount_has_what_its_user_is_shown() {
    let (mut world, [lev, full]) = watching(["lev", "full"]);
    for session in [lev, full] {
        world.heard(session);
        world.answer(session, Sent::Slow);
    }
    for seq in 2..6 {
        world.item(HUB, 17, seq, &update(&[(22, i64::from(seq)), (32, i64::from(seq))]));
    }
    let mut all = |session| {
        world.drain(session);
        fields(&mut world, session).concat()
    };
    let (of_lev, of_full) = (all(lev), all(full));
    assert!(of_lev.contains("22=5") && !of_lev.contains("32="), "{of_lev}");
    assert!(of_full.contains("22=5 32=5"), "{of_full}");
}

#[test]
fn other_fields_by_another_policy_come_with_an_image() {
    let (mut world, [lev, full]) = watching(["lev", "full"]);
    for session in [lev, full] {
        world.heard(session);
    }
    enforce(&mut world, "[\"allow\", 22, 25]", "[\"allow\", 22, 30]");
    assert_eq!(fields(&mut world, lev), ["{22=1 30=3}"]);
    assert_eq!(world.core.statistics().streams_masked, 1);
    world.item(HUB, 17, 2, &update(&[(25, 5), (30, 6)]));
    assert_eq!(fields(&mut world, lev), ["{30=6}"]);
    enforce(&mut world, "roles = [\"feed\", \"level1\"]", "roles = [\"feed\"]");
    assert_eq!(fields(&mut world, lev), ["{22=1 25=5 30=6 32=4}"]);
    assert_eq!(fields(&mut world, full), ["{25=5 30=6}"], "nothing but the update");
    assert_eq!(world.core.statistics().streams_masked, 2);
}

#[test]
fn an_image_in_parts_is_not_part_of_one_policy_and_part_of_another() {
    let mut world = world_with(ServerConfig::default(), POLICY);
    let [lev] = mounts(&mut world, ["lev"]);
    world.say(lev, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image_part(0, false, &[(22, 1), (30, 3)]));
    assert_eq!(fields(&mut world, lev), ["{22=1}"]);
    enforce(&mut world, "[\"allow\", 22, 25]", "[\"allow\", 30, 32]");
    world.item(HUB, 17, 2, &image_part(1, true, &[(25, 2), (32, 4)]));
    assert_eq!(fields(&mut world, lev), ["{30=3 32=4}"]);
}

#[test]
fn a_private_stream_is_no_way_around_it() {
    let mut world = world_with(ServerConfig::default(), POLICY);
    let [lev] = mounts(&mut world, ["lev"]);
    world.say(lev, &item_request(5, "TRI.N", |it| it.private = true));
    world.accept(HUB, 17, 0);
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::PRIVATE_STREAM;
    let head = RefreshMsg { flags, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    world.item_to_us(HUB, 17, 0, &with_fields(&head.into(), ALL));
    world.item_to_us(HUB, 17, 0, &update(&[(25, 5), (32, 7)]));
    assert_eq!(fields(&mut world, lev), ["{22=1 25=2}", "{25=5}"]);
    world.published();
    enforce(&mut world, "[\"allow\", 22, 25]", "[\"allow\", 32]");
    let asked = world.published();
    assert!(asked.len() == 1 && asked[0].contains("TRI.N@1 streaming private"), "{asked:?}");
    world.item_to_us(HUB, 17, 0, &update(&[(25, 6), (32, 8)]));
    assert_eq!(fields(&mut world, lev), ["{32=8}"]);
}

/// A map with a field list as its summary, and one in its only entry.
fn book(head: &tapeline_rwf::Msg<'_>) -> Vec<u8> {
    built(|encoder| {
        let payload = encoder.begin(head, DataType::MAP).expect("room");
        let map = MapHead::new(DataType::ASCII_STRING, DataType::FIELD_LIST);
        let mut map = payload.map(&map).expect("room");
        let write = |slot: tapeline_rwf::Slot<'_, '_>| {
            let mut list = slot.field_list(&FieldListHead::STANDARD).expect("room");
            for (id, value) in ALL {
                list.put(*id, Real::decimal(*value, 0)).expect("room");
            }
            list.finish().expect("room");
        };
        write(map.summary().expect("room"));
        write(map.entry(MapAction::ADD, Primitive::Ascii(b"A"), None).expect("room"));
        map.finish().expect("room");
    })
}

#[test]
fn entries_and_summaries_of_books_are_masked_alike() {
    let mut world = world_with(ServerConfig::default(), POLICY);
    let [lev] = mounts(&mut world, ["lev"]);
    world.say(lev, &request(5, "TRI.N"));
    world.accept(HUB, 17, 0);
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let state = State::open_ok("");
    let head = RefreshMsg { flags, state, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    world.item(HUB, 17, 1, &book(&head.into()));
    world.item(HUB, 17, 2, &book(&UpdateMsg::new(Domain::MARKET_PRICE, 0).into()));
    let heard = world.heard_bytes(lev);
    let shown: Vec<_> = heard.iter().map(|it| show(it)).collect();
    assert_eq!(heard.len(), 2, "{shown:?}");
    for bytes in heard {
        let map = tapeline_rwf::Msg::decode(&bytes).expect("a message").payload().map();
        let map = map.expect("a map");
        let entries = map.iter().map(|entry| entry.expect("well-formed").data);
        let lists: Vec<Encoded<'_>> = map.summary().into_iter().chain(entries).collect();
        assert_eq!(lists.len(), 2);
        for list in lists {
            let list = list.field_list().expect("fields");
            let ids: Vec<i16> = list.iter().map(|it| it.expect("well-formed").field_id).collect();
            assert_eq!(ids, [22, 25]);
        }
    }
}

#[test]
fn what_cannot_be_read_is_not_shown_to_who_sees_some_fields_only() {
    let (mut world, [lev, full]) = watching(["lev", "full"]);
    for session in [lev, full] {
        world.heard(session);
    }
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let torn = Encoded::new(DataType::FIELD_LIST, &[0x08, 0x00, 0x09, 0x00, 0x20, 0x7F]);
    let state = State::open_ok("");
    let head = RefreshMsg { flags, state, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    world.item(HUB, 17, 2, &encoded(&RefreshMsg { payload: torn, ..head }.into()));
    let head = UpdateMsg::new(Domain::MARKET_PRICE, 0);
    world.item(HUB, 17, 3, &encoded(&UpdateMsg { payload: torn, ..head }.into()));
    let of_lev = world.heard_bytes(lev);
    assert_eq!(of_lev.len(), 1, "an image without payload, and no update");
    let image = tapeline_rwf::Msg::decode(&of_lev[0]).expect("a message");
    assert!(image.payload().is_empty());
    let of_full = world.heard_bytes(full);
    assert_eq!(of_full.len(), 2);
    for bytes in of_full {
        let msg = tapeline_rwf::Msg::decode(&bytes).expect("a message");
        assert_eq!(msg.payload().bytes(), torn.bytes());
    }
}

#[test]
fn json_mounts_are_shown_the_same_fields() {
    let mut world = world_with(ServerConfig::default(), POLICY);
    let json = world.connect_json();
    world.text(json, r#"{"ID":1,"Domain":"Login","Key":{"Name":"lev"}}"#);
    world.heard_json(json);
    world.text(json, r#"{"ID":5,"Key":{"Service":"FEED","Name":"TRI.N"}}"#);
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(ALL));
    world.item(HUB, 17, 2, &update(&[(25, 5), (32, 7)]));
    let heard = world.heard_json(json).concat();
    assert!(heard.contains(r#""BID":1"#) && heard.contains(r#""ASK":5"#), "{heard}");
    assert!(!heard.contains("BIDSIZE") && !heard.contains("ACVOL"), "{heard}");
}

#[test]
fn a_role_says_whether_updates_are_merged_whatever_the_server_does_by_itself() {
    let with = |word: &str| {
        POLICY.replace("name = \"level1\"", &format!("name = \"level1\"\ncontract = \"{word}\""))
    };
    for (word, conflation, is_merged) in [("every", true, false), ("latest-when-slow", false, true)]
    {
        let config = ServerConfig { conflation, ..ServerConfig::default() };
        let mut world = world_with(config, &with(word));
        let [lev, full] = mounts(&mut world, ["lev", "full"]);
        for session in [lev, full] {
            world.say(session, &request(5, "TRI.N"));
        }
        world.accept(HUB, 17, 0);
        world.item(HUB, 17, 1, &image(ALL));
        for session in [lev, full] {
            world.heard(session);
            world.answer(session, Sent::Slow);
        }
        for seq in 2..5 {
            world.item(HUB, 17, seq, &update(&[(22, i64::from(seq))]));
        }
        // The first one made them slow.
        let of_lev = if is_merged { 1 } else { 3 };
        assert_eq!(world.heard(lev).len(), of_lev, "{word}");
        assert_eq!(world.heard(full).len(), 4 - of_lev, "{word}, and none by a role");
    }
}

#[test]
fn a_request_by_a_key_that_is_in_updates_is_masked_as_well() {
    let mut world = world_with(ServerConfig::default(), POLICY);
    let [lev] = mounts(&mut world, ["lev"]);
    world.say(lev, &item_request(5, "TRI.N", |it| it.key_in_updates = true));
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(ALL));
    world.heard(lev);
    world.item(HUB, 17, 2, &update(&[(25, 5), (32, 7)]));
    let heard = world.heard(lev);
    assert_eq!(heard, ["UPDATE 5 MARKET_PRICE TRI.N@1 QUOTE {25=5}"]);
    world.say(lev, &item_request(5, "TRI.N", |it| it.key_in_updates = false));
    world.heard(lev);
    world.item(HUB, 17, 3, &update(&[(25, 6), (32, 8)]));
    assert_eq!(fields(&mut world, lev), ["{25=6}"]);
}
