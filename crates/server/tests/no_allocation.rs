//! After warm-up an update costs no allocation, whoever gets it and however.

use std::net::SocketAddr;

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind};
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryRefresh, FilterContent, FilterEntry, ServiceEntry, ServiceInfo,
    ServiceState,
};
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::view::View;
use tapeline_rssl::Time;
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, FieldListHead, Msg, MsgKey, Real, RefreshFlags,
    RefreshMsg, State, UpdateMsg,
};
use tapeline_server::{AcceptAll, Core, Event, Outputs, ServerConfig};

const HUB: Incarnation = Incarnation(100);
const MOUNTS: u32 = 8;

/// Counts what is sent; one session is slow for as long as it is told to be.
#[derive(Default)]
struct Counter {
    sent: usize,
    slow: Option<SessionId>,
}

impl Outputs for Counter {
    fn send(&mut self, session: SessionId, _: &[u8]) -> Sent {
        self.sent += 1;
        if self.slow == Some(session) { Sent::Slow } else { Sent::Queued }
    }

    fn send_on(&mut self, session: SessionId, _: i32, message: &[u8]) -> Sent {
        self.send(session, message)
    }

    fn send_json(&mut self, session: SessionId, pieces: &[&[u8]], _: bool) -> Sent {
        self.send(session, pieces[0])
    }

    fn close(&mut self, _: SessionId, _: &str) {}

    fn publish(&mut self, _: FrameHeader, _: &[&[u8]]) {}
}

fn built(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 12];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("room");
    let len = encoder.finish().expect("room");
    buffer.truncate(len);
    buffer
}

fn quote(head: &Msg<'_>, bid: i64) -> Vec<u8> {
    built(|encoder| {
        let mut list =
            encoder.begin(head, DataType::FIELD_LIST)?.field_list(&FieldListHead::STANDARD)?;
        list.put(22, Real::decimal(bid, 2))?;
        list.put(25, Real::decimal(bid + 1, 2))?;
        list.finish()
    })
}

fn directory() -> Vec<u8> {
    let info = ServiceInfo {
        name: Some("FEED".into()),
        capabilities: Some(vec![Domain::MARKET_PRICE]),
        ..ServiceInfo::default()
    };
    let filters = [FilterContent::Info(info), FilterContent::State(ServiceState::new(true, true))];
    let refresh = DirectoryRefresh {
        stream_id: 0,
        solicited: true,
        clear_cache: true,
        state: State::open_ok("").into(),
        filter: DirectoryFilter::USUAL,
        service_id: None,
        services: vec![ServiceEntry::add(1, filters.map(FilterEntry::set).into())],
    };
    built(|encoder| refresh.encode(encoder))
}

fn session(index: u32) -> SessionId {
    SessionId { index, generation: 1 }
}

/// Frames of the hub.
fn frame(core: &mut Core, out: &mut Counter, kind: Kind, item: u32, seq: u32, body: &[u8]) {
    let mut header = FrameHeader::new(kind, Incarnation::ALL, item);
    (header.sender, header.item_seq) = (HUB, seq);
    core.handle(Time::ZERO, Event::Bus(BusEvent::Frame { header, body }), out);
}

/// A server where one item is watched: by most as it is, by some with a view
/// or with the key in every message.
fn watched(out: &mut Counter) -> Core {
    let mut core = Core::new(ServerConfig::default(), Box::new(AcceptAll));
    let up = BusEvent::PeerUp { peer: HUB, name: "hub" };
    core.handle(Time::ZERO, Event::Bus(up), out);
    frame(&mut core, out, Kind::Directory, 1, 0, &directory());
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
    frame(&mut core, out, Kind::Accept, 17, 0, &0_u32.to_le_bytes());
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let head = RefreshMsg { flags, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    frame(&mut core, out, Kind::Item, 17, 1, &quote(&head.into(), 4500));
    core
}

#[test]
fn updates_allocate_nothing() {
    let mut out = Counter::default();
    let mut core = watched(&mut out);
    let head = UpdateMsg::new(Domain::MARKET_PRICE, 0);
    let update = quote(&head.into(), 4512);
    let mut seq = 1;
    let mut send = |core: &mut Core, out: &mut Counter| {
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
    let mut send = |core: &mut Core, out: &mut Counter| {
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
        core.handle(Time::ZERO, Event::OpenedJson { session, peer }, &mut out);
        let view = ["", r#","View":["BID"]"#, r#","View":["ASK"]"#][index as usize % 3];
        let text = format!(
            r#"[{{"ID":1,"Domain":"Login","Key":{{"Name":"user"}}}},{{"ID":{index}5,"Key":{{"Name":"TRI.N","Service":"FEED"}}{view}}}]"#
        );
        core.handle(Time::ZERO, Event::Text { session, text: &text }, &mut out);
    }
    let head = UpdateMsg::new(Domain::MARKET_PRICE, 0);
    // Two updates in turn, so that each is converted again.
    let updates = [quote(&head.into(), 4512), quote(&head.into(), 4513)];
    let mut seq = 1;
    let mut send = |core: &mut Core, out: &mut Counter| {
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
