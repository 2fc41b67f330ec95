//! What can go wrong, with a reactor and with a session.

use std::io;
use std::net::SocketAddr;

use tapeline_rssl::{ConfigError, Version};
use thiserror::Error;

/// Why a reactor or a listener could not be made.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// The operating system gives no readiness queue.
    #[error("cannot wait for sockets: {0}; check the limit of open files")]
    Poll(#[source] io::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        error: io::Error,
    },
    /// What TLS is to show is no good.
    #[error("TLS: {what}: {text}; give PEM files of a certificate chain and its private key")]
    Tls {
        /// The file, or what it is for.
        what: String,
        /// What is wrong with it.
        text: String,
    },
    /// The RSSL part of a configuration.
    #[error(transparent)]
    Rssl(#[from] ConfigError),
    /// Output thresholds out of order.
    #[error(
        "output thresholds ok {ok_bytes}, breach {breach_bytes}, max {max_bytes} bytes; \
         use ok < breach <= max"
    )]
    OutputLimits {
        /// [`OutputLimits::breach_bytes`](crate::OutputLimits).
        breach_bytes: usize,
        /// [`OutputLimits::ok_bytes`](crate::OutputLimits).
        ok_bytes: usize,
        /// [`OutputLimits::max_bytes`](crate::OutputLimits).
        max_bytes: usize,
    },
}

/// Why a session ended. Its text says what happened and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CloseReason {
    /// The program closed it, with these words.
    #[error("closed by this side: {0}")]
    Application(String),
    /// The RSSL connection ended.
    #[error(transparent)]
    Rssl(#[from] tapeline_rssl::CloseReason),
    /// The socket failed.
    #[error("{doing} the socket failed: {text}")]
    Socket {
        /// What was tried: "reading from", "writing to", ...
        doing: &'static str,
        /// What the operating system says.
        text: String,
    },
    /// The name has no address.
    #[error("no address for host {host:?}: {text}; check the name and the name service")]
    Lookup {
        /// The name.
        host: String,
        /// What the resolver says.
        text: String,
    },
    /// The name was not resolved in time.
    #[error("host {host:?} not resolved after {limit_ms} ms; check the name service")]
    LookupTimeout {
        /// The name.
        host: String,
        /// [`ConnectConfig::connect_ms`](crate::ConnectConfig).
        limit_ms: u32,
    },
    /// More names to resolve than allowed at one time.
    #[error("{max} host names are being resolved already (max_lookups); try again later")]
    TooManyLookups {
        /// [`ReactorConfig::max_lookups`](crate::ReactorConfig).
        max: usize,
    },
    /// No address of the host could be connected to; this is about the last.
    #[error("cannot connect to {address}: {text}")]
    Connect {
        /// The last address tried.
        address: SocketAddr,
        /// What the operating system says.
        text: String,
    },
    /// No address of the host answered in time; this is about the last.
    #[error("no answer from {address} after {limit_ms} ms; check host, port and firewall")]
    ConnectTimeout {
        /// The last address tried.
        address: SocketAddr,
        /// [`ConnectConfig::connect_ms`](crate::ConnectConfig).
        limit_ms: u32,
    },
    /// The configuration of the connection cannot be used.
    #[error("{0}")]
    Config(String),
    /// The listener has all the sessions it may have, and as many clients to
    /// be refused.
    #[error("dropped: all {max_sessions} sessions of the listener (max_sessions) are taken")]
    TooManySessions {
        /// [`ListenConfig::max_sessions`](crate::ListenConfig).
        max_sessions: usize,
    },
    /// It was the oldest of the address that had most connections which were not
    /// admitted, and there were too many.
    #[error(
        "closed for others: {count} connections, {of_address} of its address, were waiting for a \
         handshake or a login"
    )]
    MadeRoom {
        /// Connections that were not admitted.
        count: usize,
        /// Those of its address.
        of_address: usize,
    },
    /// The descriptors that are left are for connections to others.
    #[error(
        "dropped: no file descriptor below {max} is free; raise the limit of open files \
         (ulimit -n, LimitNOFILE=)"
    )]
    NoDescriptors {
        /// [`ReactorConfig::max_accepted_descriptor`](crate::ReactorConfig).
        max: u32,
    },
    /// A WebSocket subprotocol that the configuration allows and nobody here
    /// speaks.
    #[error("no session for WebSocket subprotocol {0:?}; remove it from other_subprotocols")]
    Subprotocol(String),
    /// It was a request for one of [`ListenConfig::pages`](crate::ListenConfig),
    /// which is answered.
    #[error("answered a plain HTTP request")]
    Page,
}

impl CloseReason {
    pub(crate) fn socket(doing: &'static str, error: &io::Error) -> Self {
        Self::Socket { doing, text: error.to_string() }
    }

    /// Whether it was a web page that may not connect.
    pub(crate) const fn is_origin(&self) -> bool {
        use tapeline_rssl::{CloseReason as Rssl, ProtocolError};
        matches!(self, Self::Rssl(Rssl::Protocol(ProtocolError::Origin { .. })))
    }

    /// The generation to try next, when that is the remedy.
    pub(crate) const fn fallback(&self) -> Option<Version> {
        match self {
            Self::Rssl(reason) => reason.fallback(),
            _ => None,
        }
    }
}
