//! After warm-up an update costs no allocation, whoever gets it and however.

use std::net::SocketAddr;

use crate::bare::{Counter, accept, built, frame, quote, session, start};
use tapeline_backbone::Kind;
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::view::View;
use tapeline_rwf::{Domain, MsgKey, UpdateMsg};
use tapeline_server::{AcceptAll, Event, Interpreter, JsonEvent, ServerConfig};
use tapeline_time::Time;

const MOUNTS: u32 = 8;

/// A server where one item is watched: by most as it is, by some with a view
/// or with the key in every message.
fn watched(out: &mut Counter) -> Interpreter {
    let mut core = Interpreter::new(ServerConfig::default(), Box::new(AcceptAll));
    start(&mut core, out);
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    let view = View::of_fields([22]);
    for index in 0..MOUNTS {
        let session = session(index);
        core.handle(Time::ZERO, Event::Opened { session, peer }, out);
        let login = LoginRequest::new(1, "user");
        let bytes = built(|encoder| login.encode(encoder));
        core.handle(Time::ZERO, Event::Message { session, bytes: &bytes }, out);
        let mut request = ItemRequest::new(Domain::MARKET_PRICE, 5, MsgKey::item(1, "TRI.N"));
        request.key_in_updates = index == 1;
        let payload =
            RequestPayload { view: (index == 2).then_some(&view), ..RequestPayload::NONE };
        let bytes = built(|encoder| request.encode(encoder, &payload));
        core.handle(Time::ZERO, Event::Message { session, bytes: &bytes }, out);
    }
    accept(&mut core, out, 17, 0);
    core
}

#[test]
fn updates_allocate_nothing() {
    let mut out = Counter::default();
    let mut core = watched(&mut out);
    let head = UpdateMsg::new(Domain::MARKET_PRICE, 0);
    let update = quote(&head.into(), 4512);
    let mut seq = 1;
    let mut send = |core: &mut Interpreter, out: &mut Counter| {
        seq += 1;
        frame(core, out, Kind::Item, 17, seq, &update);
    };
    send(&mut core, &mut out);
    out.sent = 0;
    let measured = allocation_counter::measure(|| {
        for _ in 0..1000 {
            send(&mut core, &mut out);
        }
    });
    assert_eq!(out.sent, 1000 * MOUNTS as usize);
    assert_eq!(measured.count_total, 0);
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
