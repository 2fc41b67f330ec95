//! Another configuration while a hub runs: [`prepare`](Hub::prepare) does what can
//! fail, [`adopt`](Hub::adopt) has all of it hold between two turns, or
//! [`abandon`](Hub::abandon) has nothing have happened.

use tapeline_backbone::Bus;
use tapeline_channel::{ListenerId, System};
use tapeline_time::Time;

use crate::dialled::Dialled;
use crate::door::{Door, listen_config};
use crate::sampler::Sampler;
use crate::shell::{Hub, HubError, Shell};
use crate::{HubConfig, RouteChanges};

/// The ports of a configuration for non-interactive providers, in the order of
/// [`Door::ALL`].
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    ports: [PreparedPort; 2],
}

/// What becomes of a port.
#[derive(Debug, Default)]
enum PreparedPort {
    /// It is the same as before.
    #[default]
    Kept,
    /// It is closed.
    Closed,
    /// Another one is open in its place.
    Opened(ListenerId),
}

impl<B: Bus, S: System> Hub<B, S> {
    /// Readies what another configuration needs and what can fail: the port that it
    /// has and `before`, the present one, has not.
    ///
    /// # Errors
    /// The address cannot be listened on, or a source has no host. Nothing has happened
    /// then.
    pub fn prepare(&mut self, before: &HubConfig, after: &HubConfig) -> Result<(), HubError> {
        self.abandon();
        if let Some(route) = after.routes.iter().find(|route| route.endpoints.is_empty()) {
            return Err(HubError::NoEndpoint { route: route.name.clone() });
        }
        let mut config = self.core.config().clone();
        config.adopt(after);
        self.prepared = Some(Prepared::default());
        let opened = self.open_ports(before, after, &config);
        if opened.is_err() {
            self.abandon();
        }
        opened
    }

    fn open_ports(
        &mut self,
        before: &HubConfig,
        after: &HubConfig,
        effective: &HubConfig,
    ) -> Result<(), HubError> {
        for door in Door::ALL {
            let address = door.address(after);
            if address.is_some() {
                // A certificate that is gone is no reason for clear text.
                listen_config(effective, door)?;
            }
            if address == door.address(before) {
                continue;
            }
            let port = match address {
                Some(address) => {
                    let config = listen_config(effective, door)?;
                    PreparedPort::Opened(self.reactor.listen(address, &config)?)
                }
                None => PreparedPort::Closed,
            };
            if let Some(prepared) = &mut self.prepared {
                prepared.ports[door as usize] = port;
            }
        }
        Ok(())
    }

    /// Has the configuration hold that was prepared. Providers that are there keep
    /// what their connection was granted, also those of a port that is closed. A source
    /// that is not in it any more leaves when what is open there has gone elsewhere.
    pub fn adopt(&mut self, after: &HubConfig) {
        let Some(Prepared { ports }) = self.prepared.take() else {
            debug_assert!(false, "it was prepared");
            return;
        };
        self.core.adopt(after);
        self.adopt_routes(after);
        self.sampler = Sampler::new(after.stamp_every);
        for (door, port) in Door::ALL.into_iter().zip(ports) {
            let listener = &mut self.listeners[door as usize];
            let old = match port {
                PreparedPort::Kept => None,
                PreparedPort::Closed => listener.take(),
                PreparedPort::Opened(opened) => listener.replace(opened),
            };
            if let Some(old) = old {
                self.reactor.stop_listening(old);
            }
            if let Some(listener) = *listener
                && let Ok(config) = listen_config(self.core.config(), door)
            {
                let granted = self.reactor.grant(listener, &config);
                debug_assert!(
                    granted.is_ok(),
                    "the same kind of settings was good before: {granted:?}"
                );
            }
        }
    }

    fn adopt_routes(&mut self, after: &HubConfig) {
        let now = self.last_turn;
        let Self { core, bus, reactor, wanted, edge, sampler, clock, .. } = self;
        let (outbox, edge, port) = (&mut reactor.outbox(), edge.as_ref(), bus.outbound());
        let mut shell = Shell { outbox, port, wanted, edge, sampler, clock };
        let RouteChanges { added, left } = core.adopt_routes(now, &after.routes, &mut shell);
        for number in left {
            let route = self.routes.get(number).map(|route| route.name.as_str());
            tracing::info!(route, "a source leaves; what is open there goes to others");
        }
        for number in added {
            let config = self.core.config();
            let route = &config.routes[number];
            let Ok(dialled) = Dialled::new(route, config) else {
                debug_assert!(false, "that it has a host was looked at: {route:?}");
                continue;
            };
            tracing::info!(route = route.name, host = dialled.last_host(), "a source is added");
            // Those that left keep their places until these are needed.
            match self.routes.get_mut(number) {
                Some(place) => *place = dialled,
                None => self.routes.push(dialled),
            }
        }
    }

    /// Has a source be asked for nothing new, and what is open there go to others, because
    /// an operator wants it; or be asked again. Whether there is such a source.
    pub fn drain_source(&mut self, now: Time, name: &str, drains: bool) -> bool {
        let Self { core, bus, reactor, wanted, edge, sampler, clock, .. } = self;
        let (outbox, edge, port) = (&mut reactor.outbox(), edge.as_ref(), bus.outbound());
        let mut shell = Shell { outbox, port, wanted, edge, sampler, clock };
        let is_there = core.drain_source(now, name, drains, &mut shell);
        match (is_there, drains) {
            (true, true) => {
                tracing::info!(
                    source = name,
                    "a source is drained; what is open there goes to others"
                );
            }
            (true, false) => tracing::info!(source = name, "a source is asked again"),
            (false, _) => {}
        }
        is_there
    }

    /// Gives up what was prepared.
    pub fn abandon(&mut self) {
        let Some(Prepared { ports }) = self.prepared.take() else { return };
        for port in ports {
            if let PreparedPort::Opened(listener) = port {
                self.reactor.stop_listening(listener);
            }
        }
    }
}
