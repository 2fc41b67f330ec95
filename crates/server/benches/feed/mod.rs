//! A server's core between a hub and clients that are bytes: what benchmarks of
//! fan-out begin with.

use std::hint::black_box;
use std::net::SocketAddr;

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryRefresh, FilterContent, FilterEntry, ServiceEntry, ServiceInfo,
    ServiceState,
};
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, FieldListHead, Msg, MsgKey, Real, State,
};
use tapeline_server::{Event, Interpreter, Outputs};
use tapeline_time::Time;

/// The hub.
pub(crate) const HUB: Incarnation = Incarnation(100);

/// Takes everything and looks at it as much as a copy would.
#[derive(Default)]
pub(crate) struct Sink {
    bytes: u64,
    /// Items that were asked for.
    pub(crate) opened: Vec<(u32, u32)>,
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
            self.opened.push((header.item, header.item_seq));
        }
        Published::Sent
    }
}

/// A message.
pub(crate) fn built(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 12];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("room");
    let len = encoder.finish().expect("room");
    buffer.truncate(len);
    buffer
}

/// A level 1 quote of eight fields.
pub(crate) fn quote(head: &Msg<'_>) -> Vec<u8> {
    built(|encoder| {
        let mut list =
            encoder.begin(head, DataType::FIELD_LIST)?.field_list(&FieldListHead::STANDARD)?;
        for field_id in [22, 25, 30, 31, 6, 32, 11, 1025] {
            list.put(field_id, Real::decimal(451_200 + i64::from(field_id), 2))?;
        }
        list.finish()
    })
}

/// One service, which is up.
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

/// The hub is there, and has the service.
pub(crate) fn begin(core: &mut Interpreter, out: &mut Sink) {
    let up = BusEvent::PeerUp { peer: HUB, name: "hub" };
    core.handle(Time::ZERO, Event::Bus(up), out);
    frame(core, out, Kind::Directory, 1, 0, &directory());
}

/// A frame of the hub.
pub(crate) fn frame(
    core: &mut Interpreter,
    out: &mut Sink,
    kind: Kind,
    item: u32,
    seq: u32,
    body: &[u8],
) {
    let mut header = FrameHeader::new(kind, Incarnation::ALL, item);
    (header.sender, header.item_seq) = (HUB, seq);
    core.handle(Time::ZERO, Event::Bus(BusEvent::Frame { header, body }), out);
}

/// A client says something.
pub(crate) fn say(core: &mut Interpreter, out: &mut Sink, session: SessionId, bytes: &[u8]) {
    core.handle(Time::ZERO, Event::Message { session, bytes }, out);
}

/// A client connects and logs in.
pub(crate) fn mount(core: &mut Interpreter, out: &mut Sink, index: u32, user: &str) -> SessionId {
    let session = SessionId { index, generation: 1 };
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    core.handle(Time::ZERO, Event::Opened { session, peer }, out);
    let login = built(|encoder| LoginRequest::new(1, user).encode(encoder));
    say(core, out, session, &login);
    session
}

/// A request for an item.
pub(crate) fn request(stream_id: i32, name: &str) -> Vec<u8> {
    let request = ItemRequest::new(Domain::MARKET_PRICE, stream_id, MsgKey::item(1, name));
    built(|encoder| request.encode(encoder, &RequestPayload::NONE))
}
