//! Another configuration while a server runs.
//!
//! ```text
//!   prepare ─── what can fail: ports are opened, settings are looked at
//!      │
//!      ├── adopt ──── between two turns: all of it holds
//!      └── abandon ── the ports are closed, nothing has happened
//! ```
//!
//! Whoever has several servers prepares all of them, and has them adopt when none
//! has failed. Between the two, who connects to a new port is served already.

use std::net::SocketAddr;

use tapeline_backbone::Bus;
use tapeline_channel::{ListenConfig, ListenerId, Reactor, ReactorConfig, System};

use crate::shell::{Server, ServerError, Transport};
use crate::sockets::{listen_config, text_config};
use crate::{Limits, ServerConfig};

/// Ports that a configuration has in addition, open and not yet its own.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// Every port of the configuration, in its order: one that was there before, or
    /// a new one.
    ports: Vec<(Transport, ListenerId)>,
    opened: Vec<ListenerId>,
}

/// The ports of a configuration, in the order in which they are opened.
pub(crate) fn addresses(config: &ServerConfig) -> impl Iterator<Item = (Transport, SocketAddr)> {
    let all = [
        (Transport::Rssl, &config.listen),
        (Transport::WebSocket, &config.listen_websocket),
        (Transport::RsslTls, &config.listen_tls),
        (Transport::WebSocketTls, &config.listen_websocket_tls),
    ];
    all.into_iter().flat_map(|(transport, addresses)| {
        addresses.iter().map(move |address| (transport, *address))
    })
}

/// What those get who connect to a port.
pub(crate) fn grants(config: &ServerConfig, transport: Transport, port: u16) -> ListenConfig {
    let config = &config.at_port(port);
    let plain = listen_config(config);
    let tls = match transport {
        Transport::Rssl | Transport::WebSocket => None,
        Transport::RsslTls | Transport::WebSocketTls => config.tls.clone(),
    };
    match transport {
        Transport::Rssl | Transport::RsslTls => ListenConfig { tls, ..plain },
        Transport::WebSocket | Transport::WebSocketTls => {
            let (text, pages) = (Some(text_config(config)), config.pages.clone());
            ListenConfig { text, pages, tls, ..plain }
        }
    }
}

/// How the sockets of a server are polled and flushed.
pub(crate) fn sockets(config: &ServerConfig) -> ReactorConfig {
    ReactorConfig {
        output_pool_bytes: config.limits.max_output_bytes,
        flush_interval_ms: config.flush_interval_ms,
        messages_per_poll: config.limits.messages_per_turn,
        max_accepted_descriptor: config.max_accepted_descriptor,
        ..ReactorConfig::default()
    }
}

impl ServerConfig {
    /// The configuration as it is for those who connect to a port.
    pub(crate) fn at_port(&self, port: u16) -> Self {
        let mut config = self.clone();
        let Some(own) = self.ports.iter().find(|own| own.port == port) else { return config };
        let set = |value: &mut u8, own: Option<u8>| *value = own.unwrap_or(*value);
        set(&mut config.max_ping_timeout_s, own.max_ping_timeout_s);
        set(&mut config.min_ping_timeout_s, own.min_ping_timeout_s);
        set(&mut config.compression_level, own.compression_level);
        config.min_ping_timeout_s = config.min_ping_timeout_s.min(config.max_ping_timeout_s);
        config.pings = own.pings.unwrap_or(config.pings);
        config.compression = own.compression.unwrap_or(config.compression);
        config.tcp_no_delay = own.tcp_no_delay.unwrap_or(config.tcp_no_delay);
        config.tcp_send_buffer_bytes = own.tcp_send_buffer_bytes.or(config.tcp_send_buffer_bytes);
        config.output.max_bytes = own.output_max_bytes.unwrap_or(config.output.max_bytes);
        config
    }

    /// Takes from another configuration what can change while a server runs. What
    /// remains is of its beginning: where it listens, the dictionary, JSON, warm standby,
    /// the numbers and bounds of services, whether items are kept, the longest messages,
    /// the seed.
    pub fn adopt(&mut self, new: &Self) {
        let (own, new) = (self.clone(), new.clone());
        // Every setting is named, so that a new one cannot be forgotten.
        let Self {
            host_name,
            application_name,
            listen: _,
            listen_websocket: _,
            listen_tls: _,
            listen_websocket_tls: _,
            ports,
            tls,
            pages,
            origins,
            json: _,
            dictionary: _,
            cache: _,
            service_cache: _,
            conflation,
            announce_conflation,
            accept_posts,
            trust_post_user_info,
            warm_standby: _,
            standby_image: _,
            standby_posts: _,
            standby_hosts: _,
            rtt_interval_ms,
            service_ids: _,
            service_items: _,
            allow_same_item_twice,
            limits,
            output,
            min_ping_timeout_s,
            max_ping_timeout_s,
            pings,
            compression_level,
            compression_thresholds,
            compression,
            fragment_bytes,
            flush_interval_ms,
            tcp_no_delay,
            reuse_port: _,
            tcp_send_buffer_bytes,
            max_accepted_descriptor,
            has_clock_of_hubs: _,
            seed: _,
        } = new;
        let Limits { max_message_bytes, max_image_bytes, .. } = own.limits;
        *self = Self {
            host_name,
            application_name,
            ports,
            tls,
            pages,
            origins,
            conflation,
            announce_conflation,
            accept_posts,
            trust_post_user_info,
            rtt_interval_ms,
            allow_same_item_twice,
            limits: Limits { max_message_bytes, max_image_bytes, ..limits },
            output,
            min_ping_timeout_s,
            max_ping_timeout_s,
            pings,
            compression_level,
            compression_thresholds,
            compression,
            fragment_bytes,
            flush_interval_ms,
            tcp_no_delay,
            tcp_send_buffer_bytes,
            max_accepted_descriptor,
            ..own
        };
    }
}

impl<B: Bus, S: System> Server<B, S> {
    /// Readies what another configuration needs and what can fail: ports that it has
    /// and `before`, the present one, has not.
    ///
    /// Errors: a setting that cannot be; an address that cannot be listened on.
    /// Nothing has happened then.
    pub fn prepare(
        &mut self,
        before: &ServerConfig,
        after: &ServerConfig,
    ) -> Result<(), ServerError> {
        after.check()?;
        self.abandon();
        let mut effective = self.core().config().clone();
        effective.adopt(after);
        let known: Vec<_> = addresses(before).zip(&self.listeners).collect();
        let mut prepared = Prepared::default();
        for (transport, address) in addresses(after) {
            let is_it = |port: &&((Transport, SocketAddr), &(Transport, ListenerId))| {
                port.0 == (transport, address)
            };
            if let Some((_, port)) = known.iter().find(is_it) {
                prepared.ports.push(**port);
                continue;
            }
            match self.reactor.listen(address, &grants(&effective, transport, address.port())) {
                Ok(listener) => {
                    prepared.ports.push((transport, listener));
                    prepared.opened.push(listener);
                }
                Err(error) => {
                    close(&mut self.reactor, &prepared.opened);
                    return Err(error.into());
                }
            }
        }
        self.prepared = Some(prepared);
        Ok(())
    }

    /// Has the configuration hold that was prepared. Mounts that are there keep what
    /// their connection was granted; a port that is no longer wanted is closed, and
    /// its mounts stay.
    pub fn adopt(&mut self, after: &ServerConfig) {
        let Some(prepared) = self.prepared.take() else {
            debug_assert!(false, "it was prepared");
            return;
        };
        self.interpreter.adopt(after);
        let config = self.interpreter.core().config();
        self.is_eager = config.flush_interval_ms == 0;
        self.reactor.adopt(&sockets(config));
        for (_, listener) in &self.listeners {
            if !prepared.ports.iter().any(|(_, kept)| kept == listener) {
                self.reactor.stop_listening(*listener);
            }
        }
        self.listeners = prepared.ports;
        for (transport, listener) in &self.listeners {
            let port = self.reactor.local_addr(*listener).map_or(0, |address| address.port());
            let granted = self.reactor.grant(*listener, &grants(config, *transport, port));
            debug_assert!(granted.is_ok(), "it was looked at when it was prepared: {granted:?}");
        }
        // One that is drained takes no mounts, whatever its ports are.
        self.close_ports();
    }

    /// Gives up what was prepared.
    pub fn abandon(&mut self) {
        if let Some(prepared) = self.prepared.take() {
            close(&mut self.reactor, &prepared.opened);
        }
    }
}

fn close<S: System>(reactor: &mut Reactor<S>, listeners: &[ListenerId]) {
    for listener in listeners {
        reactor.stop_listening(*listener);
    }
}
