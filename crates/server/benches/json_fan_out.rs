//! What an update costs for a thousand mounts that watch the same items, in
//! RSSL and in JSON: the core, and the copy into each mount's output.
//!
//! `cargo bench -p tapeline-server --bench json_fan_out`

use std::net::SocketAddr;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Kind, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryRefresh, FilterContent, FilterEntry, ServiceEntry, ServiceInfo,
    ServiceState,
};
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoder, FieldListHead, Msg, MsgKey, Real, RefreshFlags,
    RefreshMsg, State, UpdateMsg, patch_stream_id,
};
use tapeline_server::{AcceptAll, Event, Interpreter, JsonEvent, Outputs, ServerConfig};
use tapeline_time::Time;

const HUB: Incarnation = Incarnation(100);
const MOUNTS: u32 = 1000;
const ITEMS: u32 = 100;

/// A buffer that is sent when it holds this much.
const OUTPUT_BYTES: usize = 6144;

/// The outputs of all mounts, without sockets.
#[derive(Default)]
struct Queues {
    bytes: Vec<Vec<u8>>,
    sent_bytes: u64,
    opened: Vec<(u32, u32)>,
}

impl Queues {
    fn room(&mut self, session: SessionId) -> &mut Vec<u8> {
        let index = session.index as usize;
        if index >= self.bytes.len() {
            self.bytes.resize_with(index + 1, || Vec::with_capacity(2 * OUTPUT_BYTES));
        }
        let queue = &mut self.bytes[index];
        if queue.len() > OUTPUT_BYTES {
            self.sent_bytes += queue.len() as u64;
            queue.clear();
        }
        queue
    }
}

impl Outputs for Queues {
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        self.room(session).extend_from_slice(message);
        Sent::Queued
    }

    fn send_on(&mut self, session: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        let queue = self.room(session);
        queue.extend_from_slice(&(message.len() as u16).to_be_bytes());
        let start = queue.len();
        queue.extend_from_slice(message);
        let _ = patch_stream_id(&mut queue[start..], stream_id);
        Sent::Queued
    }

    fn send_json(&mut self, session: SessionId, pieces: &[&[u8]], _: bool) -> Sent {
        let queue = self.room(session);
        queue.push(b',');
        for piece in pieces {
            queue.extend_from_slice(piece);
        }
        Sent::Queued
    }

    fn close(&mut self, _: SessionId, _: &str) {}

    fn publish(&mut self, header: FrameHeader, _: &[&[u8]]) -> Published {
        if header.kind == Kind::Open {
            self.opened.push((header.item, header.item_seq));
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

/// A level 1 quote of eight fields.
fn quote(head: &Msg<'_>, price: i64) -> Vec<u8> {
    built(|encoder| {
        let mut list =
            encoder.begin(head, DataType::FIELD_LIST)?.field_list(&FieldListHead::STANDARD)?;
        for field_id in [22, 25, 30, 31, 6, 32, 11, 1025] {
            list.put(field_id, Real::decimal(price + i64::from(field_id), 2))?;
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

fn frame(core: &mut Interpreter, out: &mut Queues, kind: Kind, item: u32, seq: u32, body: &[u8]) {
    let mut header = FrameHeader::new(kind, Incarnation::ALL, item);
    (header.sender, header.item_seq) = (HUB, seq);
    core.handle(Time::ZERO, Event::Bus(BusEvent::Frame { header, body }), out);
}

/// How mounts speak, and whether updates have the key.
#[derive(Clone, Copy, PartialEq)]
enum Words {
    Rssl,
    /// With a JSON mount beside them, so that outputs are interpreted.
    RsslBesideJson,
    Json,
    JsonWithKey,
}

fn open(core: &mut Interpreter, out: &mut Queues, index: u32, words: Words) {
    let session = SessionId { index, generation: 1 };
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    if matches!(words, Words::Json | Words::JsonWithKey) {
        core.handle_json(Time::ZERO, JsonEvent::Opened { session, peer }, out);
        let login = r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#;
        core.handle_json(Time::ZERO, JsonEvent::Frame { session, text: login }, out);
        for item in 0..ITEMS {
            let key = if words == Words::Json { r#","KeyInUpdates":false"# } else { "" };
            let id = 5 + item;
            let text =
                format!(r#"{{"ID":{id}{key},"Key":{{"Name":"ITEM{item}","Service":"FEED"}}}}"#);
            core.handle_json(Time::ZERO, JsonEvent::Frame { session, text: &text }, out);
        }
        return;
    }
    core.handle(Time::ZERO, Event::Opened { session, peer }, out);
    let login = built(|encoder| LoginRequest::new(1, "user").encode(encoder));
    core.handle(Time::ZERO, Event::Message { session, bytes: &login }, out);
    for item in 0..ITEMS {
        let name = format!("ITEM{item}");
        let key = MsgKey::item(1, &name);
        let request = ItemRequest::new(Domain::MARKET_PRICE, 5 + item as i32, key);
        let bytes = built(|encoder| request.encode(encoder, &RequestPayload::NONE));
        core.handle(Time::ZERO, Event::Message { session, bytes: &bytes }, out);
    }
}

fn watched(words: Words) -> (Interpreter, Queues) {
    let mut out = Queues::default();
    let mut config = ServerConfig::default();
    config.limits.max_mounts = MOUNTS as usize + 1;
    let mut core = Interpreter::new(config, Box::new(AcceptAll));
    let up = BusEvent::PeerUp { peer: HUB, name: "hub" };
    core.handle(Time::ZERO, Event::Bus(up), &mut out);
    frame(&mut core, &mut out, Kind::Directory, 1, 0, &directory());
    for index in 0..MOUNTS {
        open(&mut core, &mut out, index, words);
    }
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let head = RefreshMsg { flags, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    let image = quote(&head.into(), 451_200);
    for (opened, serial) in std::mem::take(&mut out.opened) {
        frame(&mut core, &mut out, Kind::Accept, opened, serial, &opened.to_le_bytes());
        frame(&mut core, &mut out, Kind::Item, opened, 1, &image);
    }
    if words == Words::RsslBesideJson {
        let session = SessionId { index: MOUNTS, generation: 1 };
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        core.handle_json(Time::ZERO, JsonEvent::Opened { session, peer }, &mut out);
    }
    (core, out)
}

fn updates(c: &mut Criterion) {
    let head = UpdateMsg::new(Domain::MARKET_PRICE, 0);
    let updates = [quote(&head.into(), 451_200), quote(&head.into(), 451_300)];
    let mut group = c.benchmark_group("update for 1,000 mounts");
    group.throughput(Throughput::Elements(MOUNTS.into()));
    for (name, words) in [
        ("RSSL", Words::Rssl),
        ("RSSL beside JSON", Words::RsslBesideJson),
        ("JSON", Words::Json),
        ("JSON with key", Words::JsonWithKey),
    ] {
        let (mut core, mut out) = watched(words);
        let mut seqs = vec![1; ITEMS as usize];
        let mut turn = 0_u32;
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                turn = turn.wrapping_add(1);
                let item = turn % ITEMS;
                let seq = &mut seqs[item as usize];
                *seq += 1;
                let update = &updates[(turn / ITEMS) as usize % 2];
                frame(&mut core, &mut out, Kind::Item, item, *seq, update);
            });
        });
        assert!(out.sent_bytes > 0);
    }
    group.finish();
}

criterion_group!(benches, updates);
criterion_main!(benches);
