//! What one update costs per watcher, without sockets: the core and an output
//! that counts.

use std::hint::black_box;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

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
    RefreshMsg, State, UpdateMsg,
};
use tapeline_server::{AcceptAll, Event, Interpreter, Outputs, ServerConfig};
use tapeline_time::Time;

const HUB: Incarnation = Incarnation(100);

/// Takes everything and looks at it as much as a copy would.
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

/// A level 1 quote of eight fields.
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

fn frame(core: &mut Interpreter, out: &mut Sink, kind: Kind, item: u32, seq: u32, body: &[u8]) {
    let mut header = FrameHeader::new(kind, Incarnation::ALL, item);
    (header.sender, header.item_seq) = (HUB, seq);
    core.handle(Time::ZERO, Event::Bus(BusEvent::Frame { header, body }), out);
}

fn say(core: &mut Interpreter, out: &mut Sink, session: SessionId, bytes: &[u8]) {
    core.handle(Time::ZERO, Event::Message { session, bytes }, out);
}

fn mount(core: &mut Interpreter, out: &mut Sink, index: u32) -> SessionId {
    let session = SessionId { index, generation: 1 };
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    core.handle(Time::ZERO, Event::Opened { session, peer }, out);
    let login = built(|encoder| LoginRequest::new(1, "user").encode(encoder));
    say(core, out, session, &login);
    session
}

fn request(stream_id: i32, name: &str) -> Vec<u8> {
    let request = ItemRequest::new(Domain::MARKET_PRICE, stream_id, MsgKey::item(1, name));
    built(|encoder| request.encode(encoder, &RequestPayload::NONE))
}

/// A server on which each of `items` items is watched by each of `mounts`
/// mounts.
fn watched(items: u32, mounts: u32, cache: bool) -> (Interpreter, Sink) {
    let mut out = Sink::default();
    let mut config = ServerConfig { cache, ..ServerConfig::default() };
    // One more for a newcomer.
    config.limits.max_mounts = mounts as usize + 1;
    // All mounts are of one user.
    config.limits.item_limit = (items * (mounts + 1)) as usize;
    let mut core = Interpreter::new(config, Box::new(AcceptAll));
    let up = BusEvent::PeerUp { peer: HUB, name: "hub" };
    core.handle(Time::ZERO, Event::Bus(up), &mut out);
    frame(&mut core, &mut out, Kind::Directory, 1, 0, &directory());
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let head = RefreshMsg { flags, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    let image = quote(&head.into());
    let sessions: Vec<_> = (0..mounts).map(|it| mount(&mut core, &mut out, it)).collect();
    for item in 0..items {
        let bytes = request(5 + item as i32, &format!("ITEM{item}"));
        for session in &sessions {
            say(&mut core, &mut out, *session, &bytes);
        }
        for opened in std::mem::take(&mut out.opened) {
            frame(&mut core, &mut out, Kind::Accept, opened, 0, &opened.to_le_bytes());
            frame(&mut core, &mut out, Kind::Item, opened, 1, &image);
        }
    }
    (core, out)
}

fn updates(c: &mut Criterion) {
    let update = quote(&UpdateMsg::new(Domain::MARKET_PRICE, 0).into());
    let mut group = c.benchmark_group("update");
    for (items, mounts, cache) in
        [(1, 1, false), (1, 100, false), (100_000, 10, false), (100_000, 10, true)]
    {
        let (mut core, mut out) = watched(items, mounts, cache);
        let name = if cache { "cached" } else { "no cache" };
        let id = BenchmarkId::new(name, format!("{items} items, {mounts} mounts"));
        let mut seqs = vec![1; items as usize];
        let mut next = 0_u32;
        group.throughput(Throughput::Elements(mounts.into()));
        group.bench_function(id, |bencher| {
            bencher.iter(|| {
                // Not in the order in which the items lie in memory.
                next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let item = next % items;
                let seq = &mut seqs[item as usize];
                *seq += 1;
                frame(&mut core, &mut out, Kind::Item, item, *seq, &update);
            });
        });
    }
    group.finish();
}

fn opens(c: &mut Criterion) {
    let (mut core, mut out) = watched(1, 1, true);
    let session = mount(&mut core, &mut out, 1);
    assert_eq!(core.statistics().mounts, 2);
    let bytes = request(5, "ITEM0");
    let close = built(|encoder| {
        encoder.message(&tapeline_rwf::CloseMsg::new(Domain::MARKET_PRICE, 5).into())
    });
    c.bench_function("open and close of a cached item", |bencher| {
        bencher.iter(|| {
            say(&mut core, &mut out, session, &bytes);
            say(&mut core, &mut out, session, &close);
        });
    });
}

/// What is taken off in the midst of many watchers: for that long nobody gets
/// anything.
fn leaves(c: &mut Criterion) {
    const ITEMS: u32 = 1_000;
    let mut group = c.benchmark_group("leave");
    group.sample_size(10);
    for mounts in [100, 10_000] {
        let (mut core, mut out) = watched(ITEMS, mounts, false);
        let requests: Vec<_> =
            (0..ITEMS).map(|item| request(5 + item as i32, &format!("ITEM{item}"))).collect();
        let session = SessionId { index: mounts / 2, generation: 1 };
        let id = BenchmarkId::new("a mount with 1000 items", format!("of {mounts} mounts"));
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|times| {
                let mut spent = Duration::ZERO;
                for _ in 0..times {
                    let start = Instant::now();
                    core.handle(Time::ZERO, Event::Closed { session }, &mut out);
                    spent += start.elapsed();
                    mount(&mut core, &mut out, session.index);
                    for bytes in &requests {
                        say(&mut core, &mut out, session, bytes);
                    }
                }
                spent
            });
        });
    }
    for streams in [100, 500_000] {
        let (mut core, mut out, session) = twice_and_more(streams);
        let id = BenchmarkId::new("a stream", format!("of {streams} of one mount on an item"));
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|times| {
                let mut spent = Duration::ZERO;
                for time in 0..times as u32 {
                    let stream_id = 5 + (time.wrapping_mul(7_919) % streams) as i32;
                    let close = tapeline_rwf::CloseMsg::new(Domain::MARKET_PRICE, stream_id);
                    let close = built(|encoder| encoder.message(&close.into()));
                    let start = Instant::now();
                    say(&mut core, &mut out, session, &close);
                    spent += start.elapsed();
                    say(&mut core, &mut out, session, &request(stream_id, "ITEM0"));
                }
                spent
            });
        });
    }
    group.finish();
}

/// A mount with so many streams on one item.
fn twice_and_more(streams: u32) -> (Interpreter, Sink, SessionId) {
    let mut out = Sink::default();
    let config = ServerConfig { allow_same_item_twice: true, ..ServerConfig::default() };
    let mut core = Interpreter::new(config, Box::new(AcceptAll));
    let up = BusEvent::PeerUp { peer: HUB, name: "hub" };
    core.handle(Time::ZERO, Event::Bus(up), &mut out);
    frame(&mut core, &mut out, Kind::Directory, 1, 0, &directory());
    let session = mount(&mut core, &mut out, 0);
    for stream in 0..streams {
        say(&mut core, &mut out, session, &request(5 + stream as i32, "ITEM0"));
    }
    (core, out, session)
}

criterion_group!(benches, updates, opens, leaves);
criterion_main!(benches);
