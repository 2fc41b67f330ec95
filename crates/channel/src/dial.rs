//! An outgoing connection until its socket is connected.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_rssl::{Connection, Version};
use tapeline_time::Time;
use tapeline_websocket::TextConnection;

use crate::link::Link;
use crate::stream::Stream;
use crate::system::System;
use crate::timers::NEVER;
use crate::{ChannelError, CloseReason, ConnectConfig};

/// ```text
///   New -> Lookup -> Connecting to the 1st address -> 2nd ... -> a session
///     '---- an address ---^                                          |
///                         ^------ with an older generation ----------'
/// ```
pub(crate) struct Dial<S: System> {
    pub(crate) config: ConnectConfig,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) step: Step<S>,
    /// When the step has lasted too long.
    pub(crate) deadline: Time,
    /// See [`Timers`](crate::timers::Timers).
    pub(crate) armed: Time,
    addresses: VecDeque<SocketAddr>,
}

pub(crate) enum Step<S: System> {
    New,
    Lookup,
    Connecting { address: SocketAddr, stream: Stream<S::Socket> },
}

impl<S: System> Dial<S> {
    pub(crate) fn new(host: &str, port: u16, config: &ConnectConfig) -> Self {
        let mut config = config.clone();
        let limits = &mut config.rssl.limits;
        limits.output_bytes = config.session.output.connection_bytes(limits.send_bytes);
        Self {
            config,
            host: host.to_owned(),
            port,
            step: Step::New,
            deadline: NEVER,
            armed: NEVER,
            // A host that is an address already needs no lookup.
            addresses: host
                .parse()
                .map(|ip: IpAddr| SocketAddr::new(ip, port))
                .into_iter()
                .collect(),
        }
    }

    /// Whether this can come to anything.
    pub(crate) fn check(&self) -> Result<(), CloseReason> {
        let unusable = |error: ChannelError| CloseReason::Config(error.to_string());
        self.config.session.output.check().map_err(unusable)?;
        self.protocol(0, Time::ZERO).map(drop)
    }

    /// The protocol machine for its socket.
    pub(crate) fn protocol(&self, seed: u64, now: Time) -> Result<Link, CloseReason> {
        let made = match &self.config.text {
            None => Connection::client(&self.config.rssl, seed, now).map(Link::Rssl),
            Some(text) => {
                TextConnection::client(text, &self.authority(), seed, now).map(Link::Text)
            }
        };
        made.map_err(|error| CloseReason::Config(ChannelError::from(error).to_string()))
    }

    /// Most bytes of a message that is sent, but for what may wait.
    pub(crate) const fn send_bytes(&self) -> usize {
        match self.config.text {
            None => self.config.rssl.limits.send_bytes,
            Some(_) => usize::MAX,
        }
    }

    /// `name:port`, for the head of an opening.
    fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// Whether it is known where to connect to.
    pub(crate) fn has_addresses(&self) -> bool {
        !self.addresses.is_empty()
    }

    pub(crate) fn resolved(&mut self, addresses: Vec<SocketAddr>) {
        self.addresses = addresses.into();
    }

    /// Tries `peer` again, with another generation.
    pub(crate) fn fall_back(&mut self, peer: SocketAddr, version: Version) {
        self.addresses.push_front(peer);
        self.config.rssl.version = version;
        self.armed = NEVER;
    }

    pub(crate) fn await_lookup(&mut self, now: Time) {
        self.step = Step::Lookup;
        self.set_deadline(now);
    }

    /// Starts to connect to the next address that can be tried. When there is
    /// none, the reason is about the last one, or `failure`.
    pub(crate) fn connect_next(
        &mut self,
        system: &mut S,
        token: usize,
        now: Time,
        mut failure: Option<CloseReason>,
    ) -> Result<(), CloseReason> {
        self.step = Step::New;
        while let Some(address) = self.addresses.pop_front() {
            match system.connect(address, &self.config.session.socket, token) {
                Ok(socket) => {
                    let stream = Stream::Tcp(socket);
                    self.step = Step::Connecting { address, stream };
                    self.set_deadline(now);
                    return Ok(());
                }
                Err(error) => {
                    failure = Some(CloseReason::Connect { address, text: error.to_string() });
                }
            }
        }
        Err(failure.unwrap_or_else(|| CloseReason::Lookup {
            host: self.host.clone(),
            text: "the name has no address".to_owned(),
        }))
    }

    /// What to say when the deadline has passed.
    pub(crate) fn timed_out(&self) -> CloseReason {
        let limit_ms = self.config.connect_ms;
        match &self.step {
            Step::Connecting { address, .. } => {
                CloseReason::ConnectTimeout { address: *address, limit_ms }
            }
            _ => CloseReason::LookupTimeout { host: self.host.clone(), limit_ms },
        }
    }

    fn set_deadline(&mut self, now: Time) {
        self.deadline = now.after(Duration::from_millis(u64::from(self.config.connect_ms)));
    }
}
