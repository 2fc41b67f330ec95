//! Instructions of an update with entitlements and without, by callgrind.
//!
//! ```text
//! cargo build --release -p tapeline-server --example entitled_fan_out
//! for n in 1000 2000; do for how in open locked; do
//!   valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!     target/release/examples/entitled_fan_out $how $n 2>&1 | grep Collected; done; done
//! ```
//!
//! The difference of the two counts is what 1,000 updates cost. `locked`: a policy of
//! 10,000 users of 50 roles, and a lock on the item that all of them open.

use std::fmt::Write as _;
use std::hint::black_box;
use std::net::SocketAddr;
use std::sync::Arc;

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::{Policy, PolicyChange};
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryRefresh, FilterContent, FilterEntry, ServiceEntry, ServiceInfo,
    ServiceState,
};
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, FieldListHead, Msg, MsgKey, Real, RefreshFlags,
    RefreshMsg, State, UpdateMsg,
};
use tapeline_server::{AcceptAll, Event, Interpreter, Outputs, ServerConfig};
use tapeline_time::Time;

const HUB: Incarnation = Incarnation(100);
const MOUNTS: u32 = 100;
const USERS: u32 = 10_000;
const ROLES: u32 = 50;
/// PE 62 of service 1.
const LOCK: &[u8] = &[3, 0, 1, 0x62, 0xC0];

#[derive(Default)]
struct Sink {
    bytes: u64,
    opened: Vec<u32>,
}

impl Outputs for Sink {
    fn send(&mut self, _: SessionId, message: &[u8]) -> Sent {
        self.bytes += message.len() as u64;
        Sent::Queued
    }

    fn send_on(&mut self, session: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        black_box((session, stream_id));
        self.send(session, message)
    }

    fn close(&mut self, _: SessionId, _: &str) {}

    fn publish(&mut self, header: FrameHeader, _: &[&[u8]]) -> Published {
        if header.kind == Kind::Open {
            self.opened.push(header.item);
        }
        Published::Sent
    }
}

fn built(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 12];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("room");
    let len = encoder.finish().expect("room");
    buffer.truncate(len);
    buffer
}

fn quote(head: &Msg<'_>) -> Vec<u8> {
    built(|encoder| {
        let mut list =
            encoder.begin(head, DataType::FIELD_LIST)?.field_list(&FieldListHead::STANDARD)?;
        for field_id in [22, 25, 30, 31, 6, 32, 11, 1025] {
            list.put(field_id, Real::decimal(451_200 + i64::from(field_id), 2))?;
        }
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

fn policy() -> Policy {
    let mut text = String::from("version = 1\n[[lock-service]]\nid = 1\nservice = \"FEED\"\n");
    for role in 0..ROLES {
        let _ = write!(
            text,
            "[[product]]\nname = \"P{role}\"\nservice = \"FEED\"\npe = [62, {}]\n\
             [[role]]\nname = \"R{role}\"\nproducts = [\"P{role}\"]\n",
            1_000 + role
        );
    }
    let roles: Vec<_> = (0..ROLES).map(|role| format!("\"R{role}\"")).collect();
    let roles = roles.join(",");
    for user in 0..USERS {
        let _ = write!(text, "[[user]]\nname = \"u{user}\"\nroles = [{roles}]\n");
    }
    Policy::parse("policy.toml", &text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn frame(core: &mut Interpreter, out: &mut Sink, kind: Kind, item: u32, seq: u32, body: &[u8]) {
    let mut header = FrameHeader::new(kind, Incarnation::ALL, item);
    (header.sender, header.item_seq) = (HUB, seq);
    core.handle(Time::ZERO, Event::Bus(BusEvent::Frame { header, body }), out);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let is_locked = arguments.next().as_deref() == Some("locked");
    let updates: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let mut out = Sink::default();
    let mut config = ServerConfig::default();
    config.limits.max_mounts = MOUNTS as usize;
    let mut core = Interpreter::new(config, Box::new(AcceptAll));
    if is_locked {
        let change = PolicyChange { policy: Arc::new(policy()), changed: None, unix_ms: 0 };
        core.handle(Time::ZERO, Event::Policy(&change), &mut out);
    }
    core.handle(Time::ZERO, Event::Bus(BusEvent::PeerUp { peer: HUB, name: "hub" }), &mut out);
    frame(&mut core, &mut out, Kind::Directory, 1, 0, &directory());
    let request = ItemRequest::new(Domain::MARKET_PRICE, 5, MsgKey::item(1, "ITEM"));
    let request = built(|encoder| request.encode(encoder, &RequestPayload::NONE));
    for index in 0..MOUNTS {
        let session = SessionId { index, generation: 1 };
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        core.handle(Time::ZERO, Event::Opened { session, peer }, &mut out);
        let login = LoginRequest::new(1, format!("u{}", index * 7));
        for bytes in [&built(|encoder| login.encode(encoder)), &request] {
            core.handle(Time::ZERO, Event::Message { session, bytes }, &mut out);
        }
    }
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let perm_data = is_locked.then_some(LOCK);
    let state = State::open_ok("");
    let head = RefreshMsg { flags, state, perm_data, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    let item = out.opened.pop().expect("it is asked for");
    frame(&mut core, &mut out, Kind::Accept, item, 0, &item.to_le_bytes());
    frame(&mut core, &mut out, Kind::Item, item, 1, &quote(&head.into()));
    // A crowd is looked at in slices when its item's lock becomes known.
    while core.statistics().backlog > 0 {
        core.handle_timeout(Time::ZERO, &mut out);
    }
    let update = quote(&UpdateMsg::new(Domain::MARKET_PRICE, 0).into());
    let before = core.statistics().updates_out;
    for seq in 0..updates {
        frame(&mut core, &mut out, Kind::Item, item, seq + 2, &update);
    }
    let sent = core.statistics().updates_out - before;
    assert_eq!(sent, u64::from(updates * MOUNTS), "each of them has each update");
    println!("{sent} copies");
}
