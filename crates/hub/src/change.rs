//! Another configuration while a hub runs: [`prepare`](Hub::prepare) does what can
//! fail, [`adopt`](Hub::adopt) has all of it hold between two turns, or
//! [`abandon`](Hub::abandon) has nothing have happened.

use tapeline_backbone::Bus;
use tapeline_channel::{ListenerId, System};

use crate::sampler::Sampler;
use crate::shell::{Dialled, Hub, HubError, Shell, listen_config};
use crate::{HubConfig, RouteChanges};

/// The port of a configuration for non-interactive providers.
#[derive(Debug)]
pub(crate) struct Prepared {
    listener: Option<ListenerId>,
    is_new: bool,
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
        let is_new = before.ni_listen != after.ni_listen;
        let listener = match after.ni_listen {
            Some(address) if is_new => {
                let mut config = self.core.config().clone();
                config.adopt(after);
                Some(self.reactor.listen(address, &listen_config(&config))?)
            }
            Some(_) => self.listener,
            None => None,
        };
        self.prepared = Some(Prepared { listener, is_new });
        Ok(())
    }

    /// Has the configuration hold that was prepared. Providers that are there keep
    /// what their connection was granted, also those of a port that is closed. A source
    /// that is not in it any more leaves when what is open there has gone elsewhere.
    pub fn adopt(&mut self, after: &HubConfig) {
        let Some(Prepared { listener, is_new }) = self.prepared.take() else {
            debug_assert!(false, "it was prepared");
            return;
        };
        self.core.adopt(after);
        self.adopt_routes(after);
        self.sampler = Sampler::new(after.stamp_every);
        if is_new && let Some(old) = std::mem::replace(&mut self.listener, listener) {
            self.reactor.stop_listening(old);
        }
        if let Some(listener) = self.listener {
            let granted = self.reactor.grant(listener, &listen_config(self.core.config()));
            debug_assert!(
                granted.is_ok(),
                "the same kind of settings was good before: {granted:?}"
            );
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

    /// Gives up what was prepared.
    pub fn abandon(&mut self) {
        if let Some(Prepared { listener: Some(listener), is_new: true }) = self.prepared.take() {
            self.reactor.stop_listening(listener);
        }
    }
}
