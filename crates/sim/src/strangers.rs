//! Who is on the backbone and no member of the system.

use std::time::Duration;

use tapeline_backbone::sim::{Network, SimPort};
use tapeline_backbone::{Bus, BusEvent, FrameHeader, Incarnation, Kind, PortSettings, Role};
use tapeline_time::Time;

use crate::plan::Shape;

/// Ports of another system, and such without the key of this one.
pub(crate) struct Strangers(Vec<SimPort>);

impl Strangers {
    pub(crate) fn new(shape: &Shape, backbone: &Network) -> Self {
        let count = if shape.strangers { 4 } else { 0 };
        let port = |number: u32| {
            let role = if number.is_multiple_of(2) { Role::Hub } else { Role::Server };
            let system = if number < 2 { "another" } else { "" };
            backbone.port(PortSettings {
                incarnation: Incarnation(2 * number + 2),
                system: system.to_owned(),
                presence_interval: Duration::from_millis(300),
                ..PortSettings::new(role, "stranger")
            })
        };
        Self((0..count).map(port).collect())
    }

    /// They say that they are there, and something to whomever they know.
    pub(crate) fn turn(&mut self, now: Time) {
        for port in &mut self.0 {
            port.poll(now, 64, |event, out| {
                if let BusEvent::PeerUp { peer, .. } = event {
                    use tapeline_backbone::Publish as _;
                    out.publish(FrameHeader::new(Kind::Close, peer, 0), &[]);
                }
            });
            port.work(now);
        }
    }
}
