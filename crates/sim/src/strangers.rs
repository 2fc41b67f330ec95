//! Who is on the backbone and no member of the system.

use std::time::Duration;

use tapeline_backbone::sim::{Network as Backbone, SimPort};
use tapeline_backbone::{Bus, BusEvent, FrameHeader, Incarnation, Kind, PortSettings, Role};
use tapeline_channel::sim::Network;
use tapeline_time::Time;

use crate::item::{Item, Truth};
use crate::log::Log;
use crate::plan::Shape;
use crate::publisher::Publisher;

/// Ports of another system, and such without the key of this one; and somebody
/// who publishes what is others'.
pub(crate) struct Strangers {
    ports: Vec<SimPort>,
    forger: Option<Forger>,
}

/// It publishes the items of interactive providers, with numbers that these
/// never have.
struct Forger {
    publisher: Publisher,
    truth: Truth,
}

/// Where the numbers of a forger begin.
const FORGED: u64 = 1_000_000;

impl Strangers {
    /// With a forger, unless it is none.
    pub(crate) fn new(
        shape: &Shape,
        (network, backbone): (&Network, &Backbone),
        forger: Option<Publisher>,
    ) -> Self {
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
        let forger = forger.map(|mut publisher| {
            let mut truth = Truth::default();
            let items = (0..shape.services).flat_map(|service| shape.items_of(service));
            items.for_each(|item| truth.begin_at(item, FORGED));
            publisher.start(Time::ZERO, network, FORGED, &truth);
            Forger { publisher, truth }
        });
        Self { ports: (0..count).map(port).collect(), forger }
    }

    /// An item has changed, of which a forger says so, too.
    pub(crate) fn change(&mut self, item: Item) {
        if let Some(Forger { publisher, truth }) = &mut self.forger {
            publisher.change(item, truth.change(item));
        }
    }

    /// They say that they are there, and something to whomever they know.
    pub(crate) fn turn(&mut self, now: Time, log: &mut Log) {
        for port in &mut self.ports {
            port.poll(now, 64, |event, out| {
                if let BusEvent::PeerUp { peer, .. } = event {
                    use tapeline_backbone::Publish as _;
                    out.publish(FrameHeader::new(Kind::Close, peer, 0), &[]);
                }
            });
            port.work(now);
        }
        if let Some(Forger { publisher, truth }) = &mut self.forger {
            publisher.turn(now, truth, log);
        }
    }
}
