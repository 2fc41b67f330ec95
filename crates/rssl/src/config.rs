use crate::error::ConfigError;
use crate::limits::{MAX_FRAGMENT_BYTES, MIN_FRAGMENT_BYTES};
use crate::{Compression, FlushOrder, Limits, Origins, Version};

/// The longest component version that a container takes.
const COMPONENT_VERSION_BYTES: usize = 253;

/// How a client wraps its RIPC frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// Straight on the byte stream (TCP or TLS).
    #[default]
    Socket,
    /// In binary WebSocket frames, subprotocol `rssl.rwf`.
    WebSocket {
        /// Value of the `Host` header, `name:port`.
        host: String,
        /// Path of the request; the vendor's servers want `websocket` in it.
        path: String,
    },
    /// In the HTTP tunnel: one endless POST up, a chunked answer down.
    HttpTunnel {
        /// Value of the `Host` header, `name:port`.
        host: String,
        /// Path of the request, `/` and an object name.
        path: String,
        /// Process id for the server's logs.
        process_id: u16,
        /// IPv4 address for the server's logs, in the usual byte order.
        address: [u8; 4],
    },
}

/// Whether a client offers the key exchange of RIPC 14. The key protects
/// nothing on the wire; it only costs a third leg of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyExchange {
    /// Offered as the vendor's clients do, but not over WebSocket, where the
    /// vendor's server stalls when anything follows the key closely.
    #[default]
    WhereSafe,
    /// Offered over WebSocket too.
    Always,
    /// Never offered: connected after one round trip.
    Never,
}

/// Smallest body, in bytes, that a sender compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionThresholds {
    /// For zlib. Default 30.
    pub zlib_bytes: u16,
    /// For LZ4. Default 300.
    pub lz4_bytes: u16,
}

/// How each side of a connection shows that it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pings {
    /// Seconds without a byte sent after which a ping is. Longer than half of the
    /// agreed timeout counts as that half. Default `None`: a third of it, so that two
    /// pings may be lost in delay.
    pub interval_s: Option<u8>,
    /// Whether pings are sent at all. A peer that looks for them gives up a connection
    /// on which nothing else comes for the agreed timeout. Default true.
    pub are_sent: bool,
    /// Whether a peer is given up that is silent for the agreed timeout. Otherwise
    /// only the end of its connection is noticed. Default true.
    pub are_expected: bool,
}

impl Default for Pings {
    fn default() -> Self {
        Self { interval_s: None, are_sent: true, are_expected: true }
    }
}

impl Default for CompressionThresholds {
    fn default() -> Self {
        Self { zlib_bytes: 30, lz4_bytes: 300 }
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Generation of the request. Default RIPC 14; see
    /// [`CloseReason::fallback`](crate::CloseReason::fallback).
    pub version: Version,
    /// How frames are wrapped. Default: not at all.
    pub opening: Opening,
    /// Compression offered. Default none.
    pub compression: Compression,
    /// From which size bodies are compressed.
    pub compression_thresholds: CompressionThresholds,
    /// Ping timeout asked for, in seconds, 1..=255. Default 60.
    pub ping_timeout_s: u8,
    /// Whether to offer the key exchange of RIPC 14.
    pub key_exchange: KeyExchange,
    /// Protocol of the messages; 0 is RWF.
    pub protocol_type: u8,
    /// Major version of that protocol. Default 14.
    pub major: u8,
    /// Minor version of that protocol. Default 1.
    pub minor: u8,
    /// This machine's host name, for the server's logs.
    pub host_name: String,
    /// Text form of this machine's address, for the server's logs.
    pub address: String,
    /// Name and version of this software, for the server's logs.
    pub component_version: String,
    /// Order in which the priorities are flushed.
    pub flush_order: FlushOrder,
    /// Bounds on what the server may do.
    pub limits: Limits,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            version: Version::V14,
            opening: Opening::Socket,
            compression: Compression::None,
            compression_thresholds: CompressionThresholds::default(),
            ping_timeout_s: 60,
            key_exchange: KeyExchange::WhereSafe,
            protocol_type: 0,
            major: 14,
            minor: 1,
            host_name: "localhost".to_owned(),
            address: "127.0.0.1".to_owned(),
            component_version: COMPONENT_VERSION.to_owned(),
            flush_order: FlushOrder::default(),
            limits: Limits::default(),
        }
    }
}

const COMPONENT_VERSION: &str = concat!("tapeline", env!("CARGO_PKG_VERSION"));

impl ClientConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let request = 20 + self.host_name.len() + self.address.len() + self.component_version.len();
        if request >= 256 {
            return Err(ConfigError::RequestTooLong(request));
        }
        if self.ping_timeout_s == 0 {
            return Err(ConfigError::PingTimeout { min: 0, max: 0 });
        }
        if self.limits.fragment_bytes < MIN_FRAGMENT_BYTES {
            return Err(ConfigError::FragmentSize(self.limits.fragment_bytes));
        }
        match &self.opening {
            Opening::Socket => Ok(()),
            Opening::WebSocket { host, path } | Opening::HttpTunnel { host, path, .. } => {
                check_http_text(host)?;
                check_http_text(path)
            }
        }
    }
}

pub(crate) fn check_http_text(text: &str) -> Result<(), ConfigError> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(())
    } else {
        Err(ConfigError::HttpText(text.to_owned()))
    }
}

/// What a server grants. One configuration serves many connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The fragment size M in bytes, told to the client: 16..=65,532.
    /// Default 6,144.
    pub fragment_bytes: u16,
    /// Anything but `None` lets the client choose: the first of zlib, LZ4 in
    /// its bitmap is taken, whatever is named here. Default none.
    pub compression: Compression,
    /// Compress with `compression` even if the client did not ask for any.
    /// Default false; without effect when `compression` is none.
    pub force_compression: bool,
    /// zlib level for both directions, 0..=9. Default 6.
    pub compression_level: u8,
    /// From which size bodies are compressed.
    pub compression_thresholds: CompressionThresholds,
    /// Smallest ping timeout granted, in seconds. Default 20.
    pub min_ping_timeout_s: u8,
    /// Largest ping timeout granted, in seconds. Default 60.
    pub max_ping_timeout_s: u8,
    /// How each side shows that it is there.
    pub pings: Pings,
    /// Protocol of the messages; 0 is RWF. A request for another is refused.
    pub protocol_type: u8,
    /// Newest major version of that protocol. Default 14.
    pub major: u8,
    /// Newest minor version of that protocol. Default 1.
    pub minor: u8,
    /// Name and version of this software, told to the client.
    pub component_version: String,
    /// Refuse the client with these words, for example when the server has
    /// all the sessions it may have. Default: do not.
    pub refusal: Option<String>,
    /// WebSocket subprotocols (beside `rssl.rwf`) that another machine of the
    /// program speaks on the same port. A client that chooses one of them gets
    /// no answer from this machine but
    /// [`Event::OtherSubprotocol`](crate::Event::OtherSubprotocol).
    /// Default: none, they are refused.
    pub other_subprotocols: Vec<String>,
    /// Web pages that may connect by WebSocket, beside those of this host.
    /// Others are answered 403. Default: none.
    pub origins: Origins,
    /// Order in which the priorities are flushed.
    pub flush_order: FlushOrder,
    /// Bounds on what the client may do.
    pub limits: Limits,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            fragment_bytes: 6144,
            compression: Compression::None,
            force_compression: false,
            compression_level: 6,
            compression_thresholds: CompressionThresholds::default(),
            min_ping_timeout_s: 20,
            max_ping_timeout_s: 60,
            pings: Pings::default(),
            protocol_type: 0,
            major: 14,
            minor: 1,
            component_version: COMPONENT_VERSION.to_owned(),
            refusal: None,
            other_subprotocols: Vec::new(),
            origins: Origins::default(),
            flush_order: FlushOrder::default(),
            limits: Limits::default(),
        }
    }
}

impl ServerConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if !(MIN_FRAGMENT_BYTES..=MAX_FRAGMENT_BYTES).contains(&self.fragment_bytes) {
            return Err(ConfigError::FragmentSize(self.fragment_bytes));
        }
        if self.component_version.len() > COMPONENT_VERSION_BYTES {
            return Err(ConfigError::ComponentVersion(self.component_version.len()));
        }
        if self.compression_level > 9 {
            return Err(ConfigError::CompressionLevel(self.compression_level));
        }
        let (min, max) = (self.min_ping_timeout_s, self.max_ping_timeout_s);
        if min == 0 || min > max {
            return Err(ConfigError::PingTimeout { min, max });
        }
        Ok(())
    }
}
