//! After warm-up an update costs no allocation, whoever gets it and however.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::bare::{Counter, accept_locked, built, frame, quote, session, start};
use tapeline_backbone::Kind;
use tapeline_entitle::{Policy, PolicyChange};
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::view::View;
use tapeline_rwf::{Domain, MsgKey, UpdateMsg};
use tapeline_server::{AcceptAll, Event, Interpreter, JsonEvent, ServerConfig};
use tapeline_time::Time;

const MOUNTS: u32 = 8;

/// 2026-11-25.
const UNIX_MS: u64 = 1_795_564_800_000;

/// Everybody may see what has the lock of this item, each by another role.
const POLICY_HEAD: &str = r#"
version = 1
[[lock-service]]
id = 257
service = "FEED"
[[product]]
name = "L1"
service = "FEED"
pe = [62]
"#;
const LOCK: &[u8] = &[3, 1, 1, 0x62, 0xC0];

/// The policy of so many users of as many roles.
fn policy(users: u32) -> Event<'static> {
    let mut text = POLICY_HEAD.to_owned();
    for index in 0..users {
        let grants = format!(r#"grants = [{{ service = "FEED", subjects = ["OWN{index}.*"] }}]"#);
        let role = format!("[[role]]\nname = \"r{index}\"\nproducts = [\"L1\"]\n{grants}\n");
        let user = format!("[[user]]\nname = \"user{index}\"\nroles = [\"r{index}\"]\n");
        text.push_str(&role);
        text.push_str(&user);
    }
    let policy = Policy::parse("policy.toml", &text).expect("it is in order");
    let change = PolicyChange { policy: Arc::new(policy), changed: None, unix_ms: UNIX_MS };
    Event::Policy(Box::leak(Box::new(change)))
}

/// A server where one item is watched: by most as it is, by some with a view
/// or with the key in every message.
fn watched(out: &mut Counter) -> Interpreter {
    let mut core = Interpreter::new(ServerConfig::default(), Box::new(AcceptAll));
    watch(&mut core, out, None);
    core
}

/// The same with a lock on the item and a policy in force.
fn watched_by_right(out: &mut Counter) -> Interpreter {
    let mut core = Interpreter::new(ServerConfig::default(), Box::new(AcceptAll));
    core.handle(Time::ZERO, policy(MOUNTS), out);
    watch(&mut core, out, Some(LOCK));
    assert_eq!(core.statistics().locks, 1);
    core
}

fn watch(core: &mut Interpreter, out: &mut Counter, lock: Option<&[u8]>) {
    start(core, out);
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    let view = View::of_fields([22]);
    for index in 0..MOUNTS {
        let session = session(index);
        core.handle(Time::ZERO, Event::Opened { session, peer }, out);
        let login = LoginRequest::new(1, &*format!("user{index}"));
        let bytes = built(|encoder| login.encode(encoder));
        core.handle(Time::ZERO, Event::Message { session, bytes: &bytes }, out);
        let mut request = ItemRequest::new(Domain::MARKET_PRICE, 5, MsgKey::item(1, "TRI.N"));
        request.key_in_updates = index == 1;
        let payload =
            RequestPayload { view: (index == 2).then_some(&view), ..RequestPayload::NONE };
        let bytes = built(|encoder| request.encode(encoder, &payload));
        core.handle(Time::ZERO, Event::Message { session, bytes: &bytes }, out);
    }
    accept_locked(core, out, 17, lock);
}

/// A thousand updates to all who watch: the allocations that they took.
fn thousand_updates(core: &mut Interpreter, out: &mut Counter) -> u64 {
    let head = UpdateMsg::new(Domain::MARKET_PRICE, 0);
    let update = quote(&head.into(), 4512);
    frame(core, out, Kind::Item, 17, 2, &update);
    out.sent = 0;
    allocation_counter::measure(|| pass_on(core, out, &update)).count_total
}

// By its name callgrind knows what is to be counted (docs/measuring.md).
#[inline(never)]
fn pass_on(core: &mut Interpreter, out: &mut Counter, update: &[u8]) {
    for seq in 3..1003 {
        frame(core, out, Kind::Item, 17, seq, update);
    }
}

#[test]
fn updates_allocate_nothing() {
    let mut out = Counter::default();
    let mut core = watched(&mut out);
    assert_eq!(thousand_updates(&mut core, &mut out), 0);
    assert_eq!(out.sent, 1000 * MOUNTS as usize);
}

#[test]
fn updates_of_locked_items_allocate_nothing() {
    let mut out = Counter::default();
    let mut core = watched_by_right(&mut out);
    assert_eq!(thousand_updates(&mut core, &mut out), 0);
    assert_eq!(out.sent, 1000 * MOUNTS as usize, "everybody has the code");
}

#[test]
fn merging_updates_for_a_slow_mount_allocates_nothing() {
    let mut out = Counter::default();
    let mut core = watched(&mut out);
    let head = UpdateMsg::new(Domain::MARKET_PRICE, 0);
    let update = quote(&head.into(), 4512);
    let mut seq = 1;
    let mut send = |core: &mut Interpreter, out: &mut Counter| {
        seq += 1;
        frame(core, out, Kind::Item, 17, seq, &update);
    };
    out.slow = Some(session(0));
    for _ in 0..10 {
        send(&mut core, &mut out);
    }
    out.sent = 0;
    let measured = allocation_counter::measure(|| {
        for _ in 0..1000 {
            send(&mut core, &mut out);
        }
    });
    assert_eq!(out.sent, 1000 * (MOUNTS as usize - 1));
    assert_eq!(measured.count_total, 0);
}

/// The same item, watched by mounts that speak JSON: whole and in views.
#[test]
fn updates_in_json_allocate_nothing() {
    let mut out = Counter::default();
    let mut core = watched(&mut out);
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    for index in 0..MOUNTS {
        let session = session(MOUNTS + index);
        core.handle_json(Time::ZERO, JsonEvent::Opened { session, peer }, &mut out);
        let view = ["", r#","View":["BID"]"#, r#","View":["ASK"]"#][index as usize % 3];
        let text = format!(
            r#"[{{"ID":1,"Domain":"Login","Key":{{"Name":"user"}}}},{{"ID":{index}5,"Key":{{"Name":"TRI.N","Service":"FEED"}}{view}}}]"#
        );
        core.handle_json(Time::ZERO, JsonEvent::Frame { session, text: &text }, &mut out);
    }
    let head = UpdateMsg::new(Domain::MARKET_PRICE, 0);
    // Two updates in turn, so that each is converted again.
    let updates = [quote(&head.into(), 4512), quote(&head.into(), 4513)];
    let mut seq = 1;
    let mut send = |core: &mut Interpreter, out: &mut Counter| {
        seq += 1;
        frame(core, out, Kind::Item, 17, seq, &updates[seq as usize % 2]);
    };
    for _ in 0..4 {
        send(&mut core, &mut out);
    }
    let before = core.statistics();
    out.sent = 0;
    let measured = allocation_counter::measure(|| {
        for _ in 0..1000 {
            send(&mut core, &mut out);
        }
    });
    let after = core.statistics();
    assert_eq!(out.sent, 1000 * 2 * MOUNTS as usize);
    assert_eq!(measured.count_total, 0);
    let converted = after.json_converted - before.json_converted;
    let shared = after.json_shared - before.json_shared;
    assert_eq!(converted + shared, 1000 * u64::from(MOUNTS));
    assert!(converted <= 3 * 1000, "once for each view: {converted}");
}
