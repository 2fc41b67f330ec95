//! What a frame costs on its way through a port: published and read by the
//! same thread, over shared memory.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tapeline_backbone::{
    AeronPort, Bus, BusEvent, Channels, Engine, EngineSettings, FrameHeader, Incarnation, Kind,
    PortSettings, Published, Role,
};
use tapeline_time::Time;

/// Frames that are published before they are read.
const BATCH: usize = 64;

struct Line {
    begin: Instant,
    engine: Engine,
    hub: AeronPort,
    server: AeronPort,
}

impl Line {
    fn new() -> Self {
        let channels = Channels::parse("aeron:ipc").expect("a channel");
        let mut engine = Engine::new(EngineSettings::default()).expect("an engine");
        let mut port =
            |role, name| engine.port(PortSettings::new(role, name), &channels).expect("a port");
        let (hub, server) = (port(Role::Hub, "hub"), port(Role::Server, "edge"));
        let mut line = Self { begin: Instant::now(), engine, hub, server };
        while line.hub.counters().peers + line.server.counters().peers < 2 {
            line.turn();
        }
        line
    }

    /// Returns the number of bytes that the server read.
    fn turn(&mut self) -> usize {
        let now = Time::from_nanos(self.begin.elapsed().as_nanos() as u64);
        self.engine.work(now);
        self.hub.poll(now, BATCH, |_, _| {});
        self.hub.work(now);
        let mut bytes = 0;
        self.server.poll(now, BATCH, |event, _| {
            if let BusEvent::Frame { body, .. } = event {
                bytes += black_box(body).len();
            }
        });
        self.server.work(now);
        bytes
    }

    fn carry(&mut self, body: &[u8]) {
        let mut missing = BATCH * body.len();
        for number in 0..BATCH {
            let header = FrameHeader::new(Kind::Item, Incarnation::ALL, number as u32);
            assert_eq!(self.hub.publish(header, &[body]), Published::Sent);
        }
        while missing > 0 {
            missing -= self.turn();
        }
    }
}

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("shared memory");
    group.throughput(Throughput::Elements(BATCH as u64));
    let mut line = Line::new();
    for size in [120, 1_000, 20_000] {
        let body = vec![7; size];
        group.bench_function(format!("{size} bytes"), |bencher| {
            bencher.iter(|| line.carry(&body));
        });
    }
    group.bench_function("an idle turn", |bencher| bencher.iter(|| line.turn()));
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
