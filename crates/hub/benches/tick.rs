//! The tick path of the core: from an update of a provider to its frame, one
//! at a time and over many items.

#[allow(dead_code, reason = "what the scenarios use besides")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use support::{A, World, config, provider};
use tapeline_backbone::{FrameHeader, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_hub::{Event, HubConfig, Outputs};

/// Takes everything and keeps nothing.
struct Sink(u64);

impl Outputs for Sink {
    fn send(&mut self, _: SessionId, _: &[u8]) -> Sent {
        Sent::Queued
    }

    fn connect(&mut self, _: usize) {}

    fn close(&mut self, _: SessionId, _: &str) {}

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        self.0 += u64::from(header.item_seq) + parts.len() as u64;
        Published::Sent
    }
}

fn updates(criterion: &mut Criterion, name: &str, config: HubConfig, items: u32) {
    let (mut world, sources) = World::with_sources(config);
    let mut updates = Vec::new();
    for request in 0..items {
        let name = format!("ITEM{request}");
        world.open(A, request, &name);
        let stream_id = 3 + request as i32;
        world.says(sources[0], &provider::refresh(stream_id, &name));
        updates.push(provider::update(stream_id, 4513));
    }
    // Not in the order of the table, but one behind the other, as in a buffer.
    updates.sort_by_key(|bytes| (bytes[7] ^ 0x5A, bytes[6]));
    let len = updates[0].len();
    let buffer = updates.concat();
    let mut group = criterion.benchmark_group("update to frame");
    group.throughput(Throughput::Elements(u64::from(items)));
    group.bench_function(name, |bencher| {
        let mut sink = Sink(0);
        bencher.iter(|| {
            for bytes in buffer.chunks_exact(len) {
                let event = Event::Message { session: sources[0], bytes };
                world.core.handle(world.now, event, &mut sink);
            }
            sink.0
        });
    });
}

fn tick(criterion: &mut Criterion) {
    updates(criterion, "of 1 item", config(1), 1);
    updates(criterion, "of 100,000 items", config(1), 100_000);
    let cached = HubConfig { cache_interactive: true, ..config(1) };
    updates(criterion, "of 1,000 items, image kept", cached, 1_000);
}

criterion_group!(benches, tick);
criterion_main!(benches);
