//! No allocation for a frame, published or read, once the port is warm.

use std::time::Instant;

use allocation_counter::measure;
use tapeline_backbone::{
    Backbone, BackbonePort, Bus, Carrier, EngineSettings, FrameHeader, Incarnation, Kind,
    PortSettings, Published, Role,
};
use tapeline_time::Time;

struct Line {
    begin: Instant,
    hub: BackbonePort,
    server: BackbonePort,
    backbone: Backbone,
}

impl Line {
    fn new(carrier: &str) -> Self {
        let carrier = Carrier::parse(carrier).unwrap();
        let settings = EngineSettings {
            data_term_bytes: Some(1 << 20),
            request_term_bytes: 1 << 20,
            ..EngineSettings::default()
        };
        let mut backbone = Backbone::start(&carrier, settings).unwrap();
        let hub = backbone.port(PortSettings::new(Role::Hub, "hub")).unwrap();
        let server = backbone.port(PortSettings::new(Role::Server, "edge")).unwrap();
        let mut line = Self { begin: Instant::now(), hub, server, backbone };
        while line.hub.counters().peers + line.server.counters().peers < 2 {
            line.turn();
            assert!(line.begin.elapsed().as_secs() < 30, "they do not meet");
        }
        line
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.begin.elapsed().as_nanos() as u64)
    }

    /// Returns the number of frames that the server read.
    fn turn(&mut self) -> usize {
        let now = self.now();
        self.backbone.work(now);
        self.hub.poll(now, 64, |_, _| {});
        self.hub.work(now);
        let mut frames = 0;
        self.server.poll(now, 64, |_, _| frames += 1);
        self.server.work(now);
        frames
    }

    /// Sends `count` frames of `bytes` and reads them.
    fn carry(&mut self, count: usize, bytes: &[u8]) {
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let mut read = 0;
        for number in 0..count {
            let header = FrameHeader::new(Kind::Item, Incarnation::ALL, number as u32);
            assert_eq!(self.hub.publish(header, &[first, second]), Published::Sent);
            read += self.turn();
        }
        while read < count {
            read += self.turn();
        }
    }
}

fn frames_of_every_size_cost_no_allocation(carrier: &str) {
    let sizes = [0, 120, 8_000, 100_000];
    let mut line = Line::new(carrier);
    for bytes in sizes.map(|size| vec![7; size]) {
        line.carry(200, &bytes);
        let allocations = measure(|| line.carry(2_000, &bytes)).count_total;
        assert_eq!(allocations, 0, "{} bytes", bytes.len());
    }
}

#[test]
fn frames_in_one_process_cost_no_allocation() {
    frames_of_every_size_cost_no_allocation("local");
}

#[cfg(feature = "aeron")]
#[test]
fn frames_over_shared_memory_cost_no_allocation() {
    frames_of_every_size_cost_no_allocation("aeron:ipc");
}
