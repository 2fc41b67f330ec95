//! What a frame costs on its way through a port: published and read by the
//! same thread, in rings and over shared memory.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tapeline_backbone::{
    Backbone, BackbonePort, Bus, BusEvent, Carrier, EngineSettings, FrameHeader, Incarnation, Kind,
    PortSettings, Published, Role,
};
use tapeline_time::Time;

/// Frames that are published before they are read.
const BATCH: usize = 64;

struct Line {
    begin: Instant,
    hub: BackbonePort,
    server: BackbonePort,
    backbone: Backbone,
}

impl Line {
    fn new(carrier: &Carrier) -> Self {
        let settings = EngineSettings::default();
        let mut backbone = Backbone::start(carrier, settings).expect("a backbone");
        let mut port = |role, name| backbone.port(PortSettings::new(role, name)).expect("a port");
        let (hub, server) = (port(Role::Hub, "hub"), port(Role::Server, "edge"));
        let mut line = Self { begin: Instant::now(), hub, server, backbone };
        while line.hub.counters().peers + line.server.counters().peers < 2 {
            line.turn();
        }
        line
    }

    /// Returns the number of bytes that the server read.
    fn turn(&mut self) -> usize {
        let now = Time::from_nanos(self.begin.elapsed().as_nanos() as u64);
        self.backbone.work(now);
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
    for carrier in ["local", "aeron:ipc"] {
        // Without Aeron, there is one of them.
        if let Ok(carrier) = Carrier::parse(carrier) {
            frames_over(&carrier, criterion);
        }
    }
}

fn frames_over(carrier: &Carrier, criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group(carrier.to_string());
    group.throughput(Throughput::Elements(BATCH as u64));
    let mut line = Line::new(carrier);
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
