//! Another configuration while a hub runs: [`prepare`](Hub::prepare) does what can
//! fail, [`adopt`](Hub::adopt) has all of it hold between two turns, or
//! [`abandon`](Hub::abandon) has nothing have happened.

use tapeline_backbone::Bus;
use tapeline_channel::{ListenerId, System};

use crate::HubConfig;
use crate::sampler::Sampler;
use crate::shell::{Hub, HubError, listen_config};

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
    /// The address cannot be listened on. Nothing has happened then.
    pub fn prepare(&mut self, before: &HubConfig, after: &HubConfig) -> Result<(), HubError> {
        self.abandon();
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
    /// what their connection was granted, also those of a port that is closed.
    pub fn adopt(&mut self, after: &HubConfig) {
        let Some(Prepared { listener, is_new }) = self.prepared.take() else {
            debug_assert!(false, "it was prepared");
            return;
        };
        self.core.adopt(after);
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

    /// Gives up what was prepared.
    pub fn abandon(&mut self) {
        if let Some(Prepared { listener: Some(listener), is_new: true }) = self.prepared.take() {
            self.reactor.stop_listening(listener);
        }
    }
}
