//! Who is shown what, by a policy.

use tapeline_channel::SessionId;
use tapeline_omm::login::{LoginAttributes, LoginRequest};
use tapeline_omm::market::RequestPayload;
use tapeline_omm::view::View;
use tapeline_rwf::{
    DataState, DataType, Domain, FieldListHead, MapAction, MapHead, Msg, MsgKey, Primitive, Real,
    RefreshFlags, RefreshMsg, State, StateCode, StatusMsg, StreamState, UpdateMsg,
};
use tapeline_server::ServerConfig;

use crate::support::*;

pub(super) const POLICY: &str = r#"
version = 1
[[lock-service]]
id = 257
service = "FEED"
[[product]]
name = "L1"
service = "FEED"
pe = [62]
[[product]]
name = "L2"
service = "FEED"
pe = [63]
[[role]]
name = "l1"
products = ["L1"]
posts = [{ service = "FEED", subjects = ["DESK.*"], rights = ["modify"] }]
[[role]]
name = "l2"
products = ["L2"]
[[role]]
name = "names"
grants = [{ service = "FEED", subjects = ["OPEN*", "LIST"] }]
item-limit = 2
[[user]]
name = "ann"
roles = ["l1", "names"]
[[user]]
name = "bob"
roles = ["l1", "l2"]
positions = 1
[[user]]
name = "cid"
roles = ["names"]
applications = ["256"]
[[user]]
name = "old"
until = "2026-11-24"
[[user]]
name = "poor"
"#;

/// Locks of PE 62, PE 63, and one that cannot be read.
pub(super) const L1: &[u8] = &[3, 1, 1, 0x62, 0xC0];
pub(super) const L2: &[u8] = &[3, 1, 1, 0x63, 0xC0];
const ODD: &[u8] = &[3, 1, 1];

pub(super) fn world_with(policy: &str) -> World {
    let mut world = World::with(ServerConfig::default());
    world.enforce(policy);
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    world.published();
    world
}

pub(super) fn world() -> World {
    world_with(POLICY)
}

/// A mount of a user; the answer is taken off.
pub(super) fn mount(world: &mut World, user: &str) -> SessionId {
    let session = world.log_in(user);
    let heard = world.heard(session);
    assert!(heard[0].starts_with("REFRESH 1 LOGIN"), "{heard:?}");
    session
}

pub(super) fn locked_image(lock: Option<&[u8]>, fields: &[(i16, i64)]) -> Vec<u8> {
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let state = State::open_ok("");
    let head =
        RefreshMsg { flags, state, perm_data: lock, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    let fields = fields.to_vec();
    built(|encoder| {
        let payload = encoder.begin(&head.into(), DataType::FIELD_LIST).expect("room");
        let mut list = payload.field_list(&FieldListHead::STANDARD).expect("room");
        for (id, value) in &fields {
            match id {
                1 => list.put(*id, *value as u64).expect("room"),
                _ => list.put(*id, Real::decimal(*value, 0)).expect("room"),
            }
        }
        list.finish().expect("room");
    })
}

pub(super) fn locked_update(lock: &[u8], fields: &[(i16, i64)]) -> Vec<u8> {
    let head = UpdateMsg { perm_data: Some(lock), ..UpdateMsg::new(Domain::MARKET_PRICE, 0) };
    update_msg(head, fields)
}

pub(super) fn lock_status(lock: &[u8]) -> Vec<u8> {
    encoded(&StatusMsg { perm_data: Some(lock), ..StatusMsg::new(Domain::MARKET_PRICE, 0) }.into())
}

/// The hub accepts all that was asked for, by its numbers from `first` on.
pub(super) fn accept_all(world: &mut World, first: u32) {
    let opens: Vec<_> = world.out.published.drain(..).map(|(header, _)| header).collect();
    for (item, open) in (first..).zip(opens) {
        world.accept(HUB, item, open.item);
    }
}

/// Mounts ask for an item, which the hub has as its item 1.
pub(super) fn ask(world: &mut World, sessions: &[SessionId], name: &str) {
    for session in sessions {
        world.say(*session, &request(5, name));
    }
    accept_all(world, 1);
}

fn denied_pe(codes: &str) -> String {
    format!("'Access Denied: User req to PE({codes})'")
}

#[track_caller]
fn assert_denied(heard: &[String], text: &str) {
    let [only] = heard else { panic!("one status: {heard:?}") };
    let state = "Closed / Suspect / NotAuthorized";
    assert!(only.contains(state) && only.ends_with(text), "{only}");
}

#[test]
fn a_lock_parts_those_who_wait_for_an_image() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    ask(&mut world, &[ann, bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    assert_denied(&world.heard(ann), &denied_pe("63"));
    assert!(world.heard(bob)[0].starts_with("REFRESH 5 MARKET_PRICE"));
    world.item(HUB, 1, 2, &update(&[(22, 101)]));
    assert_eq!(world.heard(ann), [""; 0]);
    assert_eq!(world.heard(bob).len(), 1);
    let records = world.records();
    assert!(records.contains(&"AccessDenied ann FEED/VOD.L 03010163C0".to_owned()), "{records:?}");
    assert!(records.contains(&"StartWatch bob FEED/VOD.L 03010163C0".to_owned()), "{records:?}");
    assert!(!records.iter().any(|it| it.starts_with("StopWatch")), "{records:?}");
}

#[test]
fn nothing_of_an_item_leaves_before_its_lock_is_known() {
    let mut world = world();
    let ann = mount(&mut world, "ann");
    ask(&mut world, &[ann], "VOD.L");
    world.item(HUB, 1, 1, &update(&[(22, 100)]));
    world.item(HUB, 1, 2, &generic(0, "secret"));
    let status = StatusMsg {
        state: Some(State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "wait")),
        ..StatusMsg::new(Domain::MARKET_PRICE, 0)
    };
    let with_payload = built(|encoder| {
        let payload = encoder.begin(&status.into(), DataType::FIELD_LIST).expect("room");
        let mut list = payload.field_list(&FieldListHead::STANDARD).expect("room");
        list.put(22, Real::decimal(100, 0)).expect("room");
        list.finish().expect("room");
    });
    world.item(HUB, 1, 3, &with_payload);
    let heard = world.heard_bytes(ann);
    for bytes in &heard {
        let Ok(Msg::Status(status)) = Msg::decode(bytes) else { panic!("a state alone") };
        assert!(status.payload.is_empty());
    }
    assert!(!heard.is_empty());
}

#[test]
fn an_item_is_closed_at_the_hub_when_nobody_may_see_it() {
    let mut world = world();
    let ann = mount(&mut world, "ann");
    ask(&mut world, &[ann], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    assert_denied(&world.heard(ann), &denied_pe("63"));
    assert_eq!(world.published(), ["Close 100 0"]);
}

#[test]
fn a_newcomer_on_a_kept_image_is_asked_for_its_lock() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    ask(&mut world, &[bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    world.heard(bob);
    world.say(ann, &request(5, "VOD.L"));
    assert_denied(&world.heard(ann), &denied_pe("63"));
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn a_newcomer_is_asked_for_the_lock_of_a_snapshot_that_becomes_a_stream() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    world.say(bob, &item_request(5, "VOD.L", |request| request.streaming = false));
    accept_all(&mut world, 1);
    let head = RefreshMsg {
        flags: RefreshFlags::CLEAR_CACHE,
        state: State::open_ok(""),
        perm_data: Some(L2),
        part_num: Some(0),
        ..RefreshMsg::new(Domain::MARKET_PRICE, 0)
    };
    world.item(HUB, 1, 1, &with_fields(&head.into(), &[(22, 100)]));
    world.heard(bob);
    world.say(ann, &request(5, "VOD.L"));
    assert_denied(&world.heard(ann), &denied_pe("63"));
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn another_lock_by_status_or_image_takes_watchers_off() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    ask(&mut world, &[ann, bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L1), &[(22, 100)]));
    assert_eq!((world.heard(ann).len(), world.heard(bob).len()), (1, 1));
    world.item(HUB, 1, 2, &lock_status(L2));
    assert_denied(&world.heard(ann), &denied_pe("63"));
    world.heard(bob);
    // An image without a lock leaves the one that there is.
    world.item(HUB, 1, 3, &locked_image(None, &[(22, 101)]));
    assert!(world.heard(bob)[0].starts_with("REFRESH 5"));
    world.say(ann, &request(6, "VOD.L"));
    assert_denied(&world.heard(ann), &denied_pe("63"));
    world.item(HUB, 1, 4, &locked_image(Some(ODD), &[(22, 102)]));
    let heard = world.heard(bob);
    assert!(heard[0].contains("Access Denied: ") && heard.len() == 1, "{heard:?}");
}

#[test]
fn no_message_strips_a_lock_with_permission_data_of_no_byte() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    ask(&mut world, &[bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    let none = [lock_status(&[]), locked_update(&[], &[(22, 1)]), locked_image(Some(&[]), &[])];
    for (seq, stripping) in (2..).zip(none) {
        world.item(HUB, 1, seq, &stripping);
        world.say(ann, &request(seq as i32 + 5, "VOD.L"));
        assert_denied(&world.heard(ann), &denied_pe("63"));
    }
}

#[test]
fn an_update_with_a_lock_of_its_own_goes_to_who_opens_that_as_well() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    ask(&mut world, &[ann, bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L1), &[(22, 100)]));
    assert_eq!((world.heard(ann).len(), world.heard(bob).len()), (1, 1));
    world.item(HUB, 1, 2, &locked_update(L2, &[(22, 101)]));
    assert_eq!((world.heard(ann).len(), world.heard(bob).len()), (0, 1));
    // The item's own lock, said again, and none: both go to all.
    world.item(HUB, 1, 3, &locked_update(L1, &[(22, 102)]));
    world.item(HUB, 1, 4, &update(&[(22, 103)]));
    assert_eq!((world.heard(ann).len(), world.heard(bob).len()), (2, 2));
    // What is kept has the secret in it: who comes gets the hub's next image.
    let another = mount(&mut world, "ann");
    world.published();
    world.say(another, &request(5, "VOD.L"));
    assert_eq!(world.heard(another), [""; 0]);
    assert!(world.published()[0].starts_with("Reissue"));
}

#[test]
fn a_slow_mount_gets_no_update_merged_that_it_may_not_see() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    ask(&mut world, &[ann, bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L1), &[(22, 100)]));
    for session in [ann, bob] {
        world.heard(session);
        world.answer(session, tapeline_channel::Sent::Slow);
    }
    world.item(HUB, 1, 2, &update(&[(22, 101)]));
    world.item(HUB, 1, 3, &update(&[(22, 102)]));
    world.item(HUB, 1, 4, &locked_update(L2, &[(25, 666)]));
    world.item(HUB, 1, 5, &update(&[(22, 103)]));
    for session in [ann, bob] {
        world.drain(session);
    }
    let heard = world.heard(ann);
    assert!(!heard.is_empty() && heard.iter().all(|it| !it.contains("666")), "{heard:?}");
}

#[test]
fn items_without_a_lock_are_judged_by_prod_perm_and_by_name() {
    let mut world = world();
    let (ann, cid) = (mount(&mut world, "ann"), world.connect());
    let mut request_of_cid = LoginRequest::new(1, "cid");
    request_of_cid.attributes =
        LoginAttributes { application_id: Some("256".into()), ..LoginAttributes::default() };
    world.say(cid, &login_of(&request_of_cid));
    world.heard(cid);
    ask(&mut world, &[ann, cid], "OPEN.A");
    world.item(HUB, 1, 1, &locked_image(None, &[(1, 62), (22, 100)]));
    let heard = world.heard_bytes(ann);
    assert!(matches!(Msg::decode(&heard[0]), Ok(Msg::Refresh(_))));
    assert_denied(&world.heard(cid), &denied_pe("62"));
    world.item(HUB, 1, 2, &locked_image(None, &[(1, 63), (22, 100)]));
    assert_denied(&world.heard(ann), &denied_pe("63"));
    world.published();
    for (stream_id, name) in [(6, "OPEN.B"), (7, "HIDDEN")] {
        world.say(ann, &request(stream_id, name));
    }
    accept_all(&mut world, 2);
    for item in [2, 3] {
        world.item(HUB, item, 1, &locked_image(None, &[(22, 100)]));
    }
    let heard = world.heard(ann);
    assert!(heard[0].starts_with("REFRESH 6"), "{heard:?}");
    assert_denied(&heard[1..], "'Access Denied: HIDDEN of service FEED'");
}

#[test]
fn a_request_for_what_has_no_way_goes_nowhere_in_a_batch_or_with_a_view_as_well() {
    let mut world = world();
    let poor = mount(&mut world, "poor");
    let view = View::of_fields([22]);
    let names: [&[u8]; 2] = [b"VOD.L", b"BP.L"];
    let batch = RequestPayload { items: Some(&names), ..RequestPayload::NONE };
    let viewed = RequestPayload { view: Some(&view), ..RequestPayload::NONE };
    let denied = "'Access Denied: service FEED'";
    world.say(poor, &request(5, "VOD.L"));
    assert_denied(&world.heard(poor), denied);
    world.say(poor, &request_with(6, "VOD.L", &viewed, |_| {}));
    assert_denied(&world.heard(poor), denied);
    world.say(poor, &request_with(7, "", &batch, |request| request.key.name = None));
    let heard = world.heard(poor);
    assert_eq!(heard.len(), 3, "{heard:?}");
    heard[1..].iter().for_each(|it| assert_denied(std::slice::from_ref(it), denied));
    assert_eq!(world.published(), [""; 0]);
    assert_eq!(world.core.statistics().opens_denied, 4);
}

#[test]
fn a_view_of_a_locked_item_is_no_way_around_its_lock() {
    let mut world = world();
    let ann = mount(&mut world, "ann");
    let view = View::of_fields([22]);
    let viewed = RequestPayload { view: Some(&view), ..RequestPayload::NONE };
    world.say(ann, &request_with(5, "VOD.L", &viewed, |_| {}));
    accept_all(&mut world, 1);
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    assert_denied(&world.heard(ann), &denied_pe("63"));
}

/// A message of a map of market by order, or of a list of names.
fn map_msg(head: impl Into<Msg<'static>>, entries: &[(MapAction, &str, Option<&[u8]>)]) -> Vec<u8> {
    built(|encoder| {
        let payload = encoder.begin(&head.into(), DataType::MAP).expect("room");
        let head = MapHead::new(DataType::ASCII_STRING, DataType::NO_DATA);
        let mut map = payload.map(&head).expect("room");
        for (action, key, lock) in entries {
            map.bare_entry(*action, Primitive::Ascii(key.as_bytes()), *lock).expect("room");
        }
        map.finish().expect("room");
    })
}

fn map_image(domain: Domain, entries: &[(MapAction, &str, Option<&[u8]>)]) -> Vec<u8> {
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let state = State::open_ok("");
    map_msg(RefreshMsg { flags, state, ..RefreshMsg::new(domain, 0) }, entries)
}

/// The keys of the entries that a mount got, message by message.
fn keys(world: &mut World, session: SessionId) -> Vec<String> {
    let heard = world.heard_bytes(session);
    let keys = heard.iter().map(|bytes| {
        let map = Msg::decode(bytes).expect("a message").payload().map().expect("a map");
        let keys = map.iter().map(|entry| {
            String::from_utf8(entry.expect("an entry").key.bytes().to_vec()).expect("ASCII")
        });
        keys.collect::<Vec<_>>().join(" ")
    });
    keys.collect()
}

#[test]
fn entries_of_a_book_go_to_who_opens_their_locks_and_keep_them() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    let book = |stream_id| {
        request_with(stream_id, "OPEN.BOOK", &RequestPayload::NONE, |request| {
            request.domain = Domain::MARKET_BY_PRICE;
        })
    };
    // Bob's roles name no item without a lock: the item has one that both open.
    for session in [ann, bob] {
        world.say(session, &book(5));
    }
    accept_all(&mut world, 1);
    let add = MapAction::ADD;
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let head = RefreshMsg {
        flags,
        state: State::open_ok(""),
        perm_data: Some(L1),
        ..RefreshMsg::new(Domain::MARKET_BY_PRICE, 0)
    };
    let image = map_msg(head, &[(add, "1", None), (add, "2", Some(L2)), (add, "3", Some(L1))]);
    world.item(HUB, 1, 1, &image);
    assert_eq!(keys(&mut world, ann), ["1 3"]);
    assert_eq!(keys(&mut world, bob), ["1 2 3"]);
    let update = |entries: &[_]| map_msg(UpdateMsg::new(Domain::MARKET_BY_PRICE, 0), entries);
    world.item(
        HUB,
        1,
        2,
        &update(&[(MapAction::UPDATE, "1", None), (MapAction::UPDATE, "2", None)]),
    );
    assert_eq!(keys(&mut world, ann), ["1"], "the entry has its lock yet");
    assert_eq!(keys(&mut world, bob), ["1 2"]);
    // Out of the kept image.
    let other = mount(&mut world, "ann");
    world.say(other, &book(5));
    assert_eq!(keys(&mut world, other), ["1 3"]);
    world.item(HUB, 1, 3, &update(&[(MapAction::DELETE, "2", None)]));
    world.item(HUB, 1, 4, &update(&[(add, "2", None)]));
    assert_eq!(keys(&mut world, ann), ["", "2"], "another entry of this key");
}

#[test]
fn a_list_of_names_leaves_out_what_could_not_be_opened() {
    let text =
        POLICY.replace("roles = [\"names\"]\napplications = [\"256\"]", "roles = [\"names\"]");
    let mut world = world_with(&text);
    let (ann, cid) = (mount(&mut world, "ann"), mount(&mut world, "cid"));
    for session in [ann, cid] {
        world.heard(session);
        let list = request_with(5, "LIST", &RequestPayload::NONE, |request| {
            request.domain = Domain::SYMBOL_LIST;
        });
        world.say(session, &list);
    }
    accept_all(&mut world, 1);
    let add = MapAction::ADD;
    let names = [(add, "OPEN.A", None), (add, "HIDDEN", None), (add, "OPEN.B", None)];
    world.item(HUB, 1, 1, &map_image(Domain::SYMBOL_LIST, &names));
    assert_eq!(keys(&mut world, cid), ["OPEN.A OPEN.B"]);
    assert_eq!(keys(&mut world, ann), ["OPEN.A HIDDEN OPEN.B"], "any name may have a code of hers");
}

#[test]
fn a_post_needs_a_rule() {
    let mut world = world();
    let ann = mount(&mut world, "ann");
    world.published();
    for (post_id, name) in [(1, "DESK.A"), (2, "VOD.L")] {
        world.say(ann, &post(1, post_id, Some(MsgKey::item(1, name))));
    }
    assert_eq!(world.published().len(), 1);
    let heard = world.heard(ann);
    assert!(heard.len() == 1 && heard[0].contains("not entitled to post"), "{heard:?}");
    let records = world.records();
    assert!(records.contains(&"InsertStart ann FEED/DESK.A".to_owned()), "{records:?}");
    assert!(records.contains(&"InsertDenied ann FEED/VOD.L".to_owned()), "{records:?}");
}

#[test]
fn logins_are_refused_with_the_codes_that_clients_know() {
    let mut world = world();
    for (user, text) in [
        ("eve", "'User eve is unknown.'"),
        ("cid", "'User cid may not use application .'"),
        ("old", "'User old may not log in any more.'"),
    ] {
        let session = world.log_in(user);
        let heard = world.heard(session);
        assert!(heard.len() == 1 && heard[0].ends_with(text), "{heard:?}");
    }
    let first = mount(&mut world, "bob");
    let elsewhere = world.connect();
    let mut request = LoginRequest::new(1, "bob");
    request.attributes.position = Some("10.9.9.9/net".into());
    world.say(elsewhere, &login_of(&request));
    let heard = world.heard(elsewhere);
    assert!(heard[0].ends_with("'User bob has 1 of 1 logins, at 10.0.0.1.'"), "{heard:?}");
    mount(&mut world, "bob");
    world.disconnect(first);
    world.say(elsewhere, &login_of(&request));
    assert!(!world.heard(elsewhere)[0].starts_with("REFRESH"), "one mount is there yet");
    // Another user works after all that.
    mount(&mut world, "ann");
}

#[test]
fn the_last_login_may_end_the_first() {
    let text = format!("{POLICY}\n[entitle]\npositions-full = \"last-wins\"\n");
    let mut world = world_with(&text);
    let first = mount(&mut world, "bob");
    let second = world.connect();
    let mut request = LoginRequest::new(1, "bob");
    request.attributes.position = Some("10.9.9.9/net".into());
    world.say(second, &login_of(&request));
    assert!(world.heard(second)[0].starts_with("REFRESH 1 LOGIN"));
    world.handle_timeout();
    let heard = world.heard(first);
    assert!(heard[0].ends_with("'User bob logged in at another position.'"), "{heard:?}");
    world.disconnect(second);
    world.say(first, &login(1, "bob"));
    assert!(world.heard(first)[0].starts_with("REFRESH 1 LOGIN"));
}

#[test]
fn a_new_policy_takes_exactly_those_off_who_lost_a_right() {
    let mut world = world();
    let (ann, bob, poor) =
        (mount(&mut world, "ann"), mount(&mut world, "bob"), mount(&mut world, "poor"));
    ask(&mut world, &[ann, bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L1), &[(22, 100)]));
    for session in [ann, bob] {
        world.heard(session);
    }
    let text = POLICY
        .replace("name = \"bob\"\nroles = [\"l1\", \"l2\"]", "name = \"bob\"\nroles = [\"l2\"]")
        .replace("name = \"poor\"", "name = \"rich\"");
    world.enforce(&text);
    assert_denied(&world.heard(bob), &denied_pe("62"));
    assert_eq!(world.heard(ann), [""; 0]);
    let heard = world.heard(poor);
    assert!(heard.len() == 1 && heard[0].ends_with("'Force Logout from DACS.'"), "{heard:?}");
    world.say(poor, &request(5, "VOD.L"));
    assert!(world.heard(poor)[0].contains("no logged in user"));
    world.item(HUB, 1, 2, &update(&[(22, 101)]));
    assert_eq!((world.heard(ann).len(), world.heard(bob).len()), (1, 0));
    let records = world.records();
    for expected in [
        "AccessDenied bob FEED/VOD.L 03010162C0",
        "StopWatch bob FEED/VOD.L 03010162C0",
        "Logout poor /",
    ] {
        assert!(records.contains(&expected.to_owned()), "{expected}: {records:?}");
    }
    assert_eq!(world.core.statistics().streams_revoked, 1);
}

#[test]
fn who_asks_while_a_policy_is_taken_over_is_answered_by_the_new_one() {
    let mut world = world();
    let bob = mount(&mut world, "bob");
    ask(&mut world, &[bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L1), &[(22, 100)]));
    world.heard(bob);
    world.is_late = true;
    world.enforce(&POLICY.replace("roles = [\"l1\", \"l2\"]", "roles = [\"l2\"]"));
    let another = mount(&mut world, "bob");
    world.say(another, &request(5, "VOD.L"));
    assert_denied(&world.heard(another), &denied_pe("62"));
    world.enforce(POLICY);
    world.say(another, &request(5, "VOD.L"));
    assert!(world.heard(another)[0].starts_with("REFRESH 5"));
    world.work_off();
    assert_eq!(world.heard(bob), [""; 0], "he has the right again before his turn came");
}

#[test]
fn the_roles_of_a_user_bound_the_items() {
    let mut world = world();
    let ann = mount(&mut world, "ann");
    for stream_id in 5..8 {
        world.say(ann, &request(stream_id, &format!("OPEN.{stream_id}")));
    }
    let heard = world.heard(ann);
    assert!(heard.len() == 1 && heard[0].contains("TooManyItems"), "{heard:?}");
}

#[test]
fn json_mounts_are_told_the_same() {
    let mut world = world();
    let json = world.connect_json();
    world.text(json, r#"{"ID":1,"Domain":"Login","Key":{"Name":"eve"}}"#);
    let answer = world.heard_json(json);
    assert!(answer[0].contains("User eve is unknown."), "{answer:?}");
    let json = world.connect_json();
    world.text(json, r#"{"ID":1,"Domain":"Login","Key":{"Name":"ann"}}"#);
    world.heard_json(json);
    world.text(json, r#"{"ID":5,"Key":{"Service":"FEED","Name":"VOD.L"}}"#);
    accept_all(&mut world, 1);
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    let answer = world.heard_json(json);
    assert!(answer.len() == 1 && answer[0].contains("NotEntitled"), "{answer:?}");
    assert!(answer[0].contains("Access Denied: User req to PE(63)"), "{answer:?}");
}
