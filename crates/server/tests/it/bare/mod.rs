//! A server without a hub and mounts: what these would say is said for them.

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryRefresh, FilterContent, FilterEntry, ServiceEntry, ServiceInfo,
    ServiceState,
};
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, FieldListHead, Msg, Real, RefreshFlags, RefreshMsg,
    State,
};
use tapeline_server::{Event, Interpreter, Outputs};
use tapeline_time::Time;

pub(crate) const HUB: Incarnation = Incarnation(100);

/// Counts what is sent; one session is slow for as long as it is told to be.
#[derive(Default)]
pub(crate) struct Counter {
    pub(crate) sent: usize,
    pub(crate) slow: Option<SessionId>,
    /// References of the items that the hub was asked for, or for an image of.
    pub(crate) asked: Vec<(Kind, u32)>,
    /// Of the last request.
    pub(crate) serial: u32,
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

    fn publish(&mut self, header: FrameHeader, _: &[&[u8]]) -> Published {
        if let Kind::Open | Kind::Reissue = header.kind {
            self.asked.push((header.kind, header.item));
        }
        if header.kind == Kind::Open {
            self.serial = header.item_seq;
        }
        Published::Sent
    }
}

pub(crate) fn built(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 12];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("room");
    let len = encoder.finish().expect("room");
    buffer.truncate(len);
    buffer
}

pub(crate) fn quote(head: &Msg<'_>, bid: i64) -> Vec<u8> {
    built(|encoder| {
        let mut list =
            encoder.begin(head, DataType::FIELD_LIST)?.field_list(&FieldListHead::STANDARD)?;
        list.put(22, Real::decimal(bid, 2))?;
        list.put(25, Real::decimal(bid + 1, 2))?;
        list.finish()
    })
}

pub(crate) fn directory() -> Vec<u8> {
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

pub(crate) fn session(index: u32) -> SessionId {
    SessionId { index, generation: 1 }
}

/// Frames of the hub.
pub(crate) fn frame(
    core: &mut Interpreter,
    out: &mut Counter,
    kind: Kind,
    item: u32,
    seq: u32,
    body: &[u8],
) {
    let mut header = FrameHeader::new(kind, Incarnation::ALL, item);
    (header.sender, header.item_seq) = (HUB, seq);
    core.handle(Time::ZERO, Event::Bus(BusEvent::Frame { header, body }), out);
}

/// The hub is there, with its service.
pub(crate) fn start(core: &mut Interpreter, out: &mut Counter) {
    let up = BusEvent::PeerUp { peer: HUB, name: "hub" };
    core.handle(Time::ZERO, Event::Bus(up), out);
    frame(core, out, Kind::Directory, 1, 0, &directory());
}

/// The hub accepts the item of the last request, and has an image of it.
pub(crate) fn accept(core: &mut Interpreter, out: &mut Counter, item: u32, reference: u32) {
    let serial = out.serial;
    frame(core, out, Kind::Accept, item, serial, &reference.to_le_bytes());
    image(core, out, item);
}

/// The hub accepts the first item that was asked for, and has an image of it with this
/// lock.
pub(crate) fn accept_locked(
    core: &mut Interpreter,
    out: &mut Counter,
    item: u32,
    lock: Option<&[u8]>,
) {
    frame(core, out, Kind::Accept, item, out.serial, &0_u32.to_le_bytes());
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let perm_data = lock;
    let head = RefreshMsg { flags, perm_data, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    frame(core, out, Kind::Item, item, 1, &quote(&head.into(), 4500));
}

/// An image comes from the hub.
pub(crate) fn image(core: &mut Interpreter, out: &mut Counter, item: u32) {
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let head = RefreshMsg { flags, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    frame(core, out, Kind::Item, item, 1, &quote(&head.into(), 4500));
}

/// Does what is left to do of all that came.
pub(crate) fn work_off(core: &mut Interpreter, out: &mut Counter) {
    while core.statistics().backlog > 0 {
        core.handle_timeout(Time::ZERO, out);
    }
}
