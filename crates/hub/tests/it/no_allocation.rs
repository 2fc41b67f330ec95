//! From an update to its frame without a single allocation.

use crate::support::{self, A, B, World, config, provider};
use tapeline_backbone::{FrameHeader, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_hub::{Event, Outputs};

/// Counts what would be written, without keeping it.
#[derive(Default)]
struct Counter {
    frames: usize,
    bytes: usize,
    parts: usize,
}

impl Outputs for Counter {
    fn send(&mut self, _: SessionId, _: &[u8]) -> Sent {
        Sent::Queued
    }

    fn connect(&mut self, _: usize) {}

    fn close(&mut self, _: SessionId, _: &str) {}

    fn publish(&mut self, _: FrameHeader, parts: &[&[u8]]) -> Published {
        self.frames += 1;
        self.parts += parts.len();
        self.bytes += parts.iter().map(|part| part.len()).sum::<usize>();
        Published::Sent
    }
}

fn run(config: tapeline_hub::HubConfig, update: impl Fn(i32, i64) -> Vec<u8>) {
    const ITEMS: u32 = 50;
    let (mut world, sources) = World::with_sources(config);
    world.server_up(B);
    let mut updates = Vec::new();
    for request in 0..ITEMS {
        let name = format!("ITEM{request}");
        world.open(A, request, &name);
        world.open(B, request, &name);
        let stream_id = 3 + request as i32;
        world.says(sources[0], &provider::refresh(stream_id, &name));
        updates.push(update(stream_id, 4513));
    }
    let mut counter = Counter::default();
    let mut round = || {
        for bytes in &updates {
            let event = Event::Message { session: sources[0], bytes };
            world.core.handle(world.now, event, &mut counter);
        }
    };
    round();
    let allocations = allocation_counter::measure(|| {
        for _ in 0..100 {
            round();
        }
    });
    assert_eq!(allocations.count_total, 0);
    assert_eq!(counter.frames, 101 * ITEMS as usize, "each update is one frame for all servers");
    assert_eq!(counter.parts, 3 * counter.frames);
    assert!(counter.bytes > 0);
}

#[test]
fn an_update_is_passed_on_without_allocating() {
    run(config(1), provider::update);
}

#[test]
fn losing_a_key_or_keeping_an_image_does_not_allocate_either_when_warm() {
    run(config(1), |stream_id, _| {
        let msg = tapeline_rwf::UpdateMsg {
            key: Some(tapeline_rwf::MsgKey::item(1, "ITEM")),
            ..tapeline_rwf::UpdateMsg::new(tapeline_rwf::Domain::MARKET_PRICE, stream_id)
        };
        support::encode(&msg.into())
    });
    let cached = tapeline_hub::HubConfig { cache_interactive: true, ..config(1) };
    run(cached, provider::update);
}
