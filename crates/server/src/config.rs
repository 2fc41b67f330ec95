//! What a server is told at its start.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tapeline_channel::{Pages, Tls};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::login::StandbyServer;
use tapeline_rssl::{Compression, CompressionThresholds, Origins, Pings};
use thiserror::Error;

use crate::core::MAX_MOUNTS;
use crate::warm_standby::{StandbyImage, StandbyPosts, WarmStandby};

/// The settings of a server. Names follow those of the P2PS where there is one.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct ServerConfig {
    /// Host name in the text of an accepted login. Default `localhost`.
    pub host_name: String,
    /// `ApplicationName` that consumers see. Default `tapeline`.
    pub application_name: String,
    /// Where RSSL clients mount (`portList`, `sslPort`). Default
    /// `0.0.0.0:14002`; port 0 takes any free one.
    pub listen: Vec<SocketAddr>,
    /// Where WebSocket clients mount, with JSON or RWF messages; plain RSSL
    /// clients are taken here too. The vendor's usual port is 15000. Default:
    /// nowhere.
    pub listen_websocket: Vec<SocketAddr>,
    /// Where RSSL clients mount over TLS, as the vendor's encrypted connections
    /// do; needs `tls`. Default: nowhere.
    pub listen_tls: Vec<SocketAddr>,
    /// Where WebSocket clients mount over TLS (`wss`); needs `tls`. Default:
    /// nowhere.
    pub listen_websocket_tls: Vec<SocketAddr>,
    /// Ports whose clients get something else. Default: none.
    pub ports: Vec<PortConfig>,
    /// The certificate that is shown over TLS. Default: none.
    pub tls: Option<Tls>,
    /// Pages that a WebSocket port shows to browsers, as [`pages`](crate::pages).
    /// Default: none.
    pub pages: Option<Arc<Pages>>,
    /// Pages of other hosts that may mount over WebSocket. Default: none.
    pub origins: Origins,
    /// What mounts that speak JSON get.
    pub json: JsonConfig,
    /// Field dictionary that is served for every service under the names
    /// `RWFFld` and `RWFEnum`, and by which the cache ripples. Default: the one
    /// of the program.
    pub dictionary: Arc<FieldDictionary>,
    /// Whether the last value of every item is kept (`enableCache`), so that
    /// later mounts get their image without asking the hub. Default true.
    pub cache: bool,
    /// The same of services for which it is otherwise, by their names. Default none.
    pub service_cache: BTreeMap<String, bool>,
    /// Whether updates for a mount that reads too slowly are merged, item by
    /// item, until it has caught up. Otherwise it is cut when its output is
    /// full. Applies to all its streams, whatever quality they asked for.
    /// Default true.
    pub conflation: bool,
    /// Whether a conflated stream is told so, by a status with code
    /// `JIT_CONFLATION_STARTED` and later one with `REALTIME_RESUMED`. Default
    /// true.
    pub announce_conflation: bool,
    /// Whether posts are accepted. Default true.
    pub accept_posts: bool,
    /// Whether a post says who posted as its client says it. Otherwise the
    /// source gets the address of the mount and its number on this server,
    /// whatever the client says. Default false.
    pub trust_post_user_info: bool,
    /// Which kinds of warm standby a login is offered. Default both.
    pub warm_standby: WarmStandby,
    /// What a client is sent on request for which the server stands by. Default
    /// nothing but the state.
    pub standby_image: StandbyImage,
    /// What becomes of posts of such a client. Default an ack.
    pub standby_posts: StandbyPosts,
    /// The servers that a client is told of that asks for them in its login
    /// (`DownloadConnectionConfig`). Default none.
    pub standby_hosts: Vec<StandbyServer>,
    /// How often mounts that know how to answer are asked how long that takes, in
    /// milliseconds. Default 0: never.
    pub rtt_interval_ms: u32,
    /// The numbers by which consumers know services. Others get the number of
    /// the hub, or the next that is free. Servers that stand in for each other
    /// have the same. Default none.
    pub service_ids: BTreeMap<String, u16>,
    /// Items that services may have open at a time, by their names. At the bound, one
    /// that is wanted less gives way, or more are refused with `TOO_MANY_ITEMS`.
    /// Default none: a service may have as many as the server.
    pub service_items: BTreeMap<String, usize>,
    /// Whether one mount may have the same item open on two streams. Default
    /// false: the second request is refused.
    pub allow_same_item_twice: bool,
    /// Bounds on what mounts and hubs may take.
    pub limits: Limits,
    /// When a mount counts as slow, and when it is cut.
    pub output: OutputThresholds,
    /// Smallest ping time-out granted to a client, in seconds (`pingTimeout`).
    /// Default 20.
    pub min_ping_timeout_s: u8,
    /// Largest ping time-out granted to a client, in seconds. Default 60.
    pub max_ping_timeout_s: u8,
    /// How server and clients show that they are there (`pingInterval`,
    /// `clientToServerPings`).
    pub pings: Pings,
    /// zlib level, 0 to 9. Default 6.
    pub compression_level: u8,
    /// From which size messages are compressed.
    pub compression_thresholds: CompressionThresholds,
    /// Compression that clients may choose (`allowCompMode`,
    /// `compressionType`). Default none.
    pub compression: Compression,
    /// Most bytes of messages in one frame: longer messages go out in fragments
    /// of this size (`maxFragmentSize`). Default 6,144.
    pub fragment_bytes: u16,
    /// How long output may wait to be packed, in milliseconds
    /// (`flushInterval`). Default 0: it goes out at the end of each cycle.
    pub flush_interval_ms: u32,
    /// Whether small segments go out at once (`tcpNoDelay`). Default true.
    pub tcp_no_delay: bool,
    /// Whether several servers may listen on the same port, the kernel sharing
    /// out the clients: for the shards of a process. Default false.
    pub reuse_port: bool,
    /// Size of the socket's send buffer in bytes (`tcpSendBufSize`). Default:
    /// the system's.
    pub tcp_send_buffer_bytes: Option<u32>,
    /// Mounts have file descriptors below this number, so that those above are
    /// left for hubs and sources of the process. Default: no such number.
    pub max_accepted_descriptor: Option<u32>,
    /// Whether hubs are on this host, or in this process, so that their stamps are of
    /// its clock. Default true.
    pub has_clock_of_hubs: bool,
    /// Seed for what has to be unforeseeable in handshakes. Default 0, which
    /// makes runs repeatable; a program gives `tapeline_channel::random_seed()`.
    pub seed: u64,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            host_name: "localhost".to_owned(),
            application_name: "tapeline".to_owned(),
            listen: vec![SocketAddr::from(([0, 0, 0, 0], 14002))],
            listen_websocket: Vec::new(),
            listen_tls: Vec::new(),
            listen_websocket_tls: Vec::new(),
            ports: Vec::new(),
            tls: None,
            pages: None,
            origins: Origins::default(),
            json: JsonConfig::default(),
            dictionary: Arc::new(FieldDictionary::builtin().clone()),
            cache: true,
            service_cache: BTreeMap::new(),
            conflation: true,
            announce_conflation: true,
            accept_posts: true,
            trust_post_user_info: false,
            warm_standby: WarmStandby::default(),
            standby_image: StandbyImage::default(),
            standby_posts: StandbyPosts::default(),
            standby_hosts: Vec::new(),
            rtt_interval_ms: 0,
            service_ids: BTreeMap::new(),
            service_items: BTreeMap::new(),
            allow_same_item_twice: false,
            limits: Limits::default(),
            output: OutputThresholds::default(),
            min_ping_timeout_s: 20,
            max_ping_timeout_s: 60,
            pings: Pings::default(),
            compression_level: 6,
            compression_thresholds: CompressionThresholds::default(),
            compression: Compression::None,
            fragment_bytes: 6_144,
            flush_interval_ms: 0,
            tcp_no_delay: true,
            reuse_port: false,
            tcp_send_buffer_bytes: None,
            max_accepted_descriptor: None,
            has_clock_of_hubs: true,
            seed: 0,
        }
    }
}

/// What mounts that speak JSON get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonConfig {
    /// Enumerations as their display text, as the vendor's servers write them
    /// and as the Python libraries expect them (`jsonExpandedEnumFields`).
    /// Default true.
    pub expand_enums: bool,
    /// Whether a key that nothing is known of is an error
    /// (`catchUnknownJsonKeys`). Default false.
    pub catch_unknown_keys: bool,
    /// Whether a field that the dictionary lacks is an error in what mounts
    /// send (`catchUnknownJsonFids`). Default true.
    pub catch_unknown_fields: bool,
    /// The service of requests that name none. Default: the only service,
    /// while there is just one.
    pub default_service: Option<String>,
    /// Seconds of silence after which a mount is given up, 1 to 255: the
    /// `PingTimeout` of the login answer. Default 30.
    pub ping_timeout_s: u8,
    /// Most bytes of a frame that a mount may send: the `MaxMsgSize` of the
    /// login answer. Default 61,440.
    pub max_message_bytes: usize,
    /// Most bytes of an image in JSON; a mount gets a status for a longer one.
    /// Default 16 MiB, which is what this project's own client reads.
    pub max_image_bytes: usize,
    /// Messages in a row that are no good, after which a mount is cut. Default
    /// 100.
    pub max_faults: u32,
}

impl Default for JsonConfig {
    fn default() -> Self {
        Self {
            expand_enums: true,
            catch_unknown_keys: false,
            catch_unknown_fields: true,
            default_service: None,
            ping_timeout_s: 30,
            max_message_bytes: 61_440,
            max_image_bytes: 16 << 20,
            max_faults: 100,
        }
    }
}

/// What those get who connect to one port, where it differs from what the others
/// have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortConfig {
    /// The port.
    pub port: u16,
    /// [`ServerConfig::min_ping_timeout_s`].
    pub min_ping_timeout_s: Option<u8>,
    /// [`ServerConfig::max_ping_timeout_s`].
    pub max_ping_timeout_s: Option<u8>,
    /// [`ServerConfig::pings`].
    pub pings: Option<Pings>,
    /// [`ServerConfig::compression`].
    pub compression: Option<Compression>,
    /// [`ServerConfig::compression_level`].
    pub compression_level: Option<u8>,
    /// [`ServerConfig::tcp_no_delay`].
    pub tcp_no_delay: Option<bool>,
    /// [`ServerConfig::tcp_send_buffer_bytes`].
    pub tcp_send_buffer_bytes: Option<u32>,
    /// [`OutputThresholds::max_bytes`].
    pub output_max_bytes: Option<usize>,
}

/// The bounds of one user, where they differ from those of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserLimits {
    /// [`Limits::item_limit`].
    pub item_limit: Option<usize>,
    /// [`Limits::item_limit_per_mount`].
    pub item_limit_per_mount: Option<usize>,
    /// [`Limits::max_mounts_per_user`].
    pub max_mounts: Option<usize>,
    /// The highest class of priority; a request of a higher one has this one
    /// (`maxPriorityClass`).
    pub max_priority_class: Option<u8>,
}

/// Bounds on what mounts and hubs may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Users with bounds of their own, by the name that they log in with.
    pub users: Arc<BTreeMap<String, UserLimits>>,
    /// Mounts at a time that have logged in (`maxMounts`). Default 100.
    pub max_mounts: usize,
    /// Connections at a time, at each port, that have not logged in yet. Where
    /// there are more, the oldest of the address with most is closed for each
    /// that comes. Default 2,048.
    pub max_without_login: usize,
    /// The same of one address (of IPv6: of one network of 64 bits). Default 512.
    pub max_without_login_per_address: usize,
    /// Before its login, bytes of one message of a connection, and of output that
    /// may wait for it. Default 65,536.
    pub before_login_bytes: usize,
    /// How long a handshake may take, in milliseconds. Default 10,000.
    pub handshake_timeout_ms: u32,
    /// Mounts of one user name at a time. Default: no bound.
    pub max_mounts_per_user: Option<usize>,
    /// Items that one user may have open over all mounts (`itemLimit`).
    /// Default 500,000.
    pub item_limit: usize,
    /// Items that one mount may have open (`itemLimitPerMount`). Default
    /// 500,000.
    pub item_limit_per_mount: usize,
    /// Items that one mount may open in a second; the requests of more wait for
    /// their turn. Default 0: any number.
    pub opens_per_s: u32,
    /// Snapshots that may be on their way to one mount; more wait. Default 1,000.
    pub snapshot_window: usize,
    /// Snapshots that one user may ask for in a second, over all mounts; more wait.
    /// Default 0: any number.
    pub snapshots_per_s: u32,
    /// Snapshots of one mount that may wait; more are refused. Default 100,000.
    pub snapshot_queue: usize,
    /// Images out of the cache that one mount may get in a second; more come later.
    /// Default 0: any number.
    pub images_per_s: u32,
    /// Memory that the process may have. From 90 % of it no items are opened, from 95 %
    /// images in the cache go. Default 0: no bound.
    pub memory_max_bytes: usize,
    /// Items that the server has open at hubs, private ones included. Default
    /// 1,000,000.
    pub max_items: usize,
    /// Directory and dictionary streams of one mount. Default 64.
    pub max_admin_streams: usize,
    /// Messages of one mount that are handled in one turn while others wait, so
    /// that one that asks without end does not keep them waiting; the rest comes
    /// with the next turn. One that is alone has all of
    /// [`messages_per_turn`](Self::messages_per_turn). A message counts for one
    /// in each 512 bytes, one in JSON in each 128. Default 32.
    pub mount_messages_per_turn: usize,
    /// The same of all mounts; fewer, when they take longer than half a
    /// millisecond. To read a mount counts for four. Default 128.
    pub messages_per_turn: usize,
    /// Names in one batch. Default 100,000.
    pub max_batch: usize,
    /// Largest message that a mount may send, in bytes. A longer post is
    /// refused; what else is longer is passed over. Default 6 MiB.
    pub max_message_bytes: usize,
    /// Largest message of an item, in bytes. The item of a larger one is closed
    /// with a status that says so. The output of a mount may exceed its bound
    /// by as much while it gets an image. Default 64 MiB and 64 KiB.
    pub max_image_bytes: usize,
    /// Requests to one hub that are not accepted or refused yet, and those that are,
    /// of which no part of an image and no state has come; more wait their turn
    /// (`minimumOpenWindow`). Default 5,000.
    pub open_window: usize,
    /// How long a hub may take to accept or refuse a request before it is asked
    /// again, in milliseconds; and how long after the first service is known
    /// a JSON mount's request for one that is not is held rather than refused.
    /// Default 15,000.
    pub open_timeout_ms: u32,
    /// How long a hub of which frames were lost is not asked again what they
    /// were of, in milliseconds. Default 100.
    pub resync_interval_ms: u32,
    /// How long a mount may be without a login, in milliseconds. Default
    /// 30,000.
    pub login_timeout_ms: u32,
    /// Posts of all mounts that wait for an ack. Default 100,000.
    pub max_posts: usize,
    /// The same of one mount. Default 10,000.
    pub max_posts_per_mount: usize,
    /// How long a post waits for its ack, in milliseconds. The vendor's client
    /// library gives up after 15,000. Default 14,000.
    pub post_timeout_ms: u32,
    /// Bytes of updates that are merged for slow mounts, of all items: those of
    /// an item that goes beyond it are dropped, and an image takes their place.
    /// Default 256 MiB.
    pub max_merged_bytes: usize,
    /// The same for one mount, each stream of which counts with all that is
    /// merged for it, also for others at the same time. Beyond it the mount gets
    /// images. Default 64 MiB.
    pub max_merged_bytes_per_mount: usize,
    /// Output that waits for all mounts together, in bytes. Above half of it
    /// whoever has more than a fair share is slow; beyond it the mount with the
    /// most is cut. Default 1 GiB.
    pub max_output_bytes: usize,
    /// Bytes of images in one turn, after which images that can wait do: those
    /// of a take-over, after a pause, and of mounts that have caught up. One
    /// image may exceed it. Default 1 MiB.
    pub take_over_bytes_per_turn: usize,
    /// Hubs on the backbone. Default 64.
    pub max_hubs: usize,
    /// Largest hub item id that is taken. Default 16,777,215.
    pub max_hub_item: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            users: Arc::default(),
            max_mounts: 100,
            max_without_login: 2_048,
            max_without_login_per_address: 512,
            before_login_bytes: 64 << 10,
            handshake_timeout_ms: 10_000,
            max_mounts_per_user: None,
            item_limit: 500_000,
            item_limit_per_mount: 500_000,
            opens_per_s: 0,
            snapshot_window: 1_000,
            snapshots_per_s: 0,
            snapshot_queue: 100_000,
            images_per_s: 0,
            memory_max_bytes: 0,
            max_items: 1_000_000,
            max_admin_streams: 64,
            mount_messages_per_turn: 32,
            messages_per_turn: 128,
            max_batch: 100_000,
            max_message_bytes: 6 << 20,
            max_image_bytes: (64 << 20) + (64 << 10),
            open_window: 5_000,
            open_timeout_ms: 15_000,
            resync_interval_ms: 100,
            login_timeout_ms: 30_000,
            max_posts: 100_000,
            max_posts_per_mount: 10_000,
            post_timeout_ms: 14_000,
            max_merged_bytes: 256 << 20,
            max_merged_bytes_per_mount: 64 << 20,
            max_output_bytes: 1 << 30,
            take_over_bytes_per_turn: 1 << 20,
            max_hubs: 64,
            max_hub_item: 0x00FF_FFFF,
        }
    }
}

impl Limits {
    /// Those of a user, with what is the user's own.
    pub(crate) fn of_user(&self, user: &[u8]) -> UserLimits {
        let known = str::from_utf8(user).ok().and_then(|user| self.users.get(user));
        let own = known.copied().unwrap_or_default();
        UserLimits {
            item_limit: own.item_limit.or(Some(self.item_limit)),
            item_limit_per_mount: own.item_limit_per_mount.or(Some(self.item_limit_per_mount)),
            max_mounts: own.max_mounts.or(self.max_mounts_per_user),
            max_priority_class: own.max_priority_class,
        }
    }

    /// The longest message that is built: an image with what is added to its
    /// header, or a post.
    pub(crate) fn longest_message_bytes(&self) -> usize {
        self.max_image_bytes.max(self.max_message_bytes).saturating_add(64 << 10)
    }
}

/// How much output may wait for one mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputThresholds {
    /// The most that waits; beyond it the mount is cut. In bytes:
    /// `maxOutputBuffers` of 6 KiB each. Default 5,000 buffers, 30,720,000.
    pub max_bytes: usize,
    /// Above this the mount is slow, in percent of `max_bytes`
    /// (`outputThresholdBreach`). Default 30.
    pub breach_percent: u8,
    /// Below this it is not slow any more, in percent of `max_bytes`
    /// (`outputThresholdOK`). Default 10.
    pub ok_percent: u8,
}

impl Default for OutputThresholds {
    fn default() -> Self {
        Self { max_bytes: 5_000 * 6_144, breach_percent: 30, ok_percent: 10 }
    }
}

impl OutputThresholds {
    /// Where a mount becomes slow, in bytes.
    pub const fn breach_bytes(&self) -> usize {
        self.max_bytes / 100 * self.breach_percent as usize
    }

    /// Where it stops to be slow, in bytes.
    pub const fn ok_bytes(&self) -> usize {
        self.max_bytes / 100 * self.ok_percent as usize
    }
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The thresholds are not in order.
    #[error("output thresholds: ok {ok}% must be below breach {breach}%, and breach at most 100%")]
    Thresholds {
        /// `ok_percent`.
        ok: u8,
        /// `breach_percent`.
        breach: u8,
    },
    /// The ping time-outs are not in order.
    #[error("ping time-outs: {min} s to {max} s is no range; give 1 to 255, the smaller first")]
    PingTimeout {
        /// `min_ping_timeout_s`.
        min: u8,
        /// `max_ping_timeout_s`.
        max: u8,
    },
    /// Something is to go over TLS, and there is no certificate to show.
    #[error("TLS needs a certificate and its private key; give both, or no port for TLS")]
    NoCertificate,
    /// Sessions have no numbers for so many mounts.
    #[error("max_mounts is {0}; give at most 262144")]
    Mounts(usize),
    /// Two services are to have one number.
    #[error("services {0} and {1} both have the id {2}; give each its own")]
    ServiceIds(String, String, u16),
    /// A bound without which nothing can be done.
    #[error("{0} must be above 0")]
    Zero(&'static str),
}

impl ServerConfig {
    /// Checks what has to fit together.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (ok, breach) = (self.output.ok_percent, self.output.breach_percent);
        if ok >= breach || breach > 100 {
            return Err(ConfigError::Thresholds { ok, breach });
        }
        let (min, max) = (self.min_ping_timeout_s, self.max_ping_timeout_s);
        if min == 0 || min > max {
            return Err(ConfigError::PingTimeout { min, max });
        }
        let needs_tls = !(self.listen_tls.is_empty() && self.listen_websocket_tls.is_empty());
        if needs_tls && self.tls.is_none() {
            return Err(ConfigError::NoCertificate);
        }
        let mut names: BTreeMap<u16, &String> = BTreeMap::new();
        for (name, id) in &self.service_ids {
            if let Some(other) = names.insert(*id, name) {
                return Err(ConfigError::ServiceIds(other.clone(), name.clone(), *id));
            }
        }
        if self.limits.max_mounts > MAX_MOUNTS {
            return Err(ConfigError::Mounts(self.limits.max_mounts));
        }
        for (name, value) in [
            ("max_mounts", self.limits.max_mounts),
            ("max_without_login", self.limits.max_without_login),
            ("max_without_login_per_address", self.limits.max_without_login_per_address),
            ("before_login_bytes", self.limits.before_login_bytes),
            ("max_message_bytes", self.limits.max_message_bytes),
            ("max_image_bytes", self.limits.max_image_bytes),
            ("open_window", self.limits.open_window),
            ("snapshot_window", self.limits.snapshot_window),
            ("take_over_bytes_per_turn", self.limits.take_over_bytes_per_turn),
            ("mount_messages_per_turn", self.limits.mount_messages_per_turn),
            ("messages_per_turn", self.limits.messages_per_turn),
            ("max_hubs", self.limits.max_hubs),
            ("output max_bytes", self.output.max_bytes),
            ("json max_message_bytes", self.json.max_message_bytes),
            ("json ping_timeout_s", self.json.ping_timeout_s.into()),
        ] {
            if value == 0 {
                return Err(ConfigError::Zero(name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_fit_together() {
        assert_eq!(ServerConfig::default().check(), Ok(()));
        let output = OutputThresholds::default();
        assert!(output.ok_bytes() < output.breach_bytes());
    }

    #[test]
    fn thresholds_must_be_in_order() {
        let mut config = ServerConfig::default();
        config.output.ok_percent = 30;
        assert_eq!(
            config.check().map_err(|error| error.to_string()),
            Err("output thresholds: ok 30% must be below breach 30%, and breach at most 100%"
                .to_owned())
        );
        let listen_tls = vec![([0, 0, 0, 0], 14443).into()];
        let config = ServerConfig { listen_tls, ..ServerConfig::default() };
        assert_eq!(config.check(), Err(ConfigError::NoCertificate));
        let mut config = ServerConfig::default();
        config.limits.max_mounts = MAX_MOUNTS + 1;
        assert_eq!(config.check(), Err(ConfigError::Mounts(262_145)));
        let config = ServerConfig { min_ping_timeout_s: 61, ..ServerConfig::default() };
        assert_eq!(
            config.check().map_err(|error| error.to_string()),
            Err("ping time-outs: 61 s to 60 s is no range; give 1 to 255, the smaller first"
                .to_owned())
        );
    }
}
