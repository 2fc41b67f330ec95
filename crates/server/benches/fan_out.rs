//! What one update costs per watcher, without sockets: the core and an output
//! that counts.

mod feed;

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tapeline_backbone::Kind;
use tapeline_channel::SessionId;
use tapeline_rwf::{CloseMsg, Domain, RefreshFlags, RefreshMsg, UpdateMsg};
use tapeline_server::{AcceptAll, Event, Interpreter, ServerConfig};
use tapeline_time::Time;

use feed::{Sink, begin, built, frame, mount, quote, request, say};

const USER: &str = "user";

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
    begin(&mut core, &mut out);
    let flags = RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE;
    let head = RefreshMsg { flags, ..RefreshMsg::new(Domain::MARKET_PRICE, 0) };
    let image = quote(&head.into());
    let sessions: Vec<_> = (0..mounts).map(|it| mount(&mut core, &mut out, it, USER)).collect();
    for item in 0..items {
        let bytes = request(5 + item as i32, &format!("ITEM{item}"));
        for session in &sessions {
            say(&mut core, &mut out, *session, &bytes);
        }
        for (opened, serial) in std::mem::take(&mut out.opened) {
            frame(&mut core, &mut out, Kind::Accept, opened, serial, &opened.to_le_bytes());
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
    let session = mount(&mut core, &mut out, 1, USER);
    assert_eq!(core.statistics().mounts, 2);
    let bytes = request(5, "ITEM0");
    let close = built(|encoder| encoder.message(&CloseMsg::new(Domain::MARKET_PRICE, 5).into()));
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
                    mount(&mut core, &mut out, session.index, USER);
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
                    let close = CloseMsg::new(Domain::MARKET_PRICE, stream_id);
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
    begin(&mut core, &mut out);
    let session = mount(&mut core, &mut out, 0, USER);
    for stream in 0..streams {
        say(&mut core, &mut out, session, &request(5 + stream as i32, "ITEM0"));
    }
    (core, out, session)
}

criterion_group!(benches, updates, opens, leaves);
criterion_main!(benches);
