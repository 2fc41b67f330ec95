//! What a hub is told: plain values with units and defaults.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tapeline_channel::{ReactorConfig, SessionOptions, Tls, TlsClient};
use tapeline_rssl::{Compression, ServerConfig};

use crate::{ItemNames, RouteSecret};

/// Everything that a hub is told at its start.
///
/// ```
/// use tapeline_hub::{HubConfig, Route};
///
/// let mut config = HubConfig::named("hub-1");
/// config.routes.push(Route::to("feed-handler", 14002));
/// assert_eq!(config.limits.max_items, 1_000_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubConfig {
    /// Name of the hub on the backbone and in logs.
    pub name: String,
    /// Interactive providers to connect to. Default none.
    pub routes: Vec<Route>,
    /// Where non-interactive providers connect; port 14003 by custom. Default:
    /// nowhere.
    pub ni_listen: Option<SocketAddr>,
    /// Where they connect over TLS. Default `None`: nowhere.
    pub ni_listen_tls: Option<SocketAddr>,
    /// What they are shown there. Default `None`.
    pub ni_tls: Option<Tls>,
    /// The services that non-interactive providers may publish into, by name.
    /// Default `None`: all that are no interactive provider's, which are those
    /// that no route names and that none has offered since the hub started.
    pub ni_services: Option<Vec<String>>,
    /// Services whose interactive providers mirror each other, by name: all have
    /// every item open, the first by order is used, and another goes on where it
    /// was when it is lost. Default none.
    pub mirrored: BTreeMap<String, Mirroring>,
    /// What the load of its interactive providers means for a service, by the names that
    /// consumers know, where that is not [`Rebalance::New`]. Default none.
    pub rebalance: BTreeMap<String, Rebalance>,
    /// Services that consumers know by the name of a group alone. Default none.
    pub service_groups: Vec<ServiceGroup>,
    /// Items that services may have at a time, by the names that consumers know. At the
    /// bound, one that is wanted less gives way, or more are refused with
    /// `TOO_MANY_ITEMS`. Default none: a service may have as many as the hub.
    pub service_items: BTreeMap<String, usize>,
    /// Which providers services are for, by the names that consumers know. Default none:
    /// what [`ni_services`](Self::ni_services) says holds for all.
    pub service_kinds: BTreeMap<String, ServiceKind>,
    /// Whether images of a service's items from interactive providers are kept, where
    /// that is not as [`cache_interactive`](Self::cache_interactive) says; by the names
    /// that consumers know. Default none.
    pub service_cache: BTreeMap<String, bool>,
    /// What a request for an item gets that no non-interactive provider has
    /// published. Default: it waits.
    pub unpublished: Unpublished,
    /// How long an item stays, suspect, after its non-interactive provider was
    /// lost, in milliseconds; then it is closed. Default 60 000.
    pub ni_stale_ms: u64,
    /// Whether images of items from interactive providers are kept, so that
    /// the second server that wants an item needs no answer of the provider.
    /// Default false: the provider is the cache. Items of non-interactive
    /// providers are always kept.
    pub cache_interactive: bool,
    /// Whether a provider that obeys pauses is told when every server has
    /// paused an item. Default false.
    pub pause_upstream: bool,
    /// How long a connection attempt with its login and directory may take,
    /// each of the three, in milliseconds. Default 15 000.
    pub source_timeout_ms: u64,
    /// How long a provider may leave a request without an answer, and a part
    /// of an image without the next one, in milliseconds. It doubles with each
    /// request for an item that had none, up to eight times, until there is an
    /// image. Default 15 000.
    pub request_timeout_ms: u64,
    /// How long an image may take from its first part to its last, in
    /// milliseconds. Then it is given up: asked for anew, or suspect where
    /// nobody can be asked. It doubles with each image of an item in a row that was given
    /// up, up to eight times. Default 60 000.
    pub image_timeout_ms: u64,
    /// How long to wait before an item is asked for again that its provider
    /// closed with recovery, when there is no other source, in milliseconds.
    /// Default 15 000.
    pub retry_delay_ms: u64,
    /// How long a provider may leave a post without the ack that it asked for,
    /// in milliseconds. Default 15 000.
    pub post_timeout_ms: u64,
    /// First wait before a lost route is tried again, in milliseconds; it
    /// doubles with every failure. Default 250.
    pub reconnect_min_ms: u64,
    /// Longest wait before a lost route is tried again, in milliseconds.
    /// Default 2000.
    pub reconnect_max_ms: u64,
    /// Bounds on what providers and servers can make the hub hold.
    pub limits: HubLimits,
    /// How sockets are polled and flushed.
    pub reactor: ReactorConfig,
    /// Sockets and output queues of the sessions with providers.
    pub sessions: SessionOptions,
    /// What RSSL connections of non-interactive providers agree to.
    pub ni_rssl: ServerConfig,
    /// One message of an item in so many carries stamps, by which servers tell how
    /// long the ways are; 0: none does. Default 1024.
    pub stamp_every: u32,
    /// What is done where the backbone takes no more.
    pub pressure: PressureConfig,
}

/// What a hub does where the backbone takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PressureConfig {
    /// Above so much of the queue to the backbone, in percent, updates are merged and
    /// servers are told to ask for nothing new. Default 50.
    pub high_percent: u8,
    /// Below so much that ends. Default 20.
    pub low_percent: u8,
    /// Whether non-interactive providers are read no faster meanwhile than the backbone
    /// takes frames. Default true.
    pub read: bool,
    /// Most bytes of merged updates. What comes beyond them goes to the queue, and is
    /// lost if that is full. Default 64 MiB.
    pub merged_bytes: usize,
}

impl Default for PressureConfig {
    fn default() -> Self {
        Self { high_percent: 50, low_percent: 20, read: true, merged_bytes: 64 << 20 }
    }
}

impl HubConfig {
    /// A hub with every default and no sources.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            routes: Vec::new(),
            ni_listen: None,
            ni_listen_tls: None,
            ni_tls: None,
            ni_services: None,
            mirrored: BTreeMap::new(),
            rebalance: BTreeMap::new(),
            service_groups: Vec::new(),
            service_items: BTreeMap::new(),
            service_kinds: BTreeMap::new(),
            service_cache: BTreeMap::new(),
            unpublished: Unpublished::default(),
            ni_stale_ms: 60_000,
            cache_interactive: false,
            pause_upstream: false,
            source_timeout_ms: 15_000,
            request_timeout_ms: 15_000,
            image_timeout_ms: 60_000,
            retry_delay_ms: 15_000,
            post_timeout_ms: 15_000,
            reconnect_min_ms: 250,
            reconnect_max_ms: 2_000,
            limits: HubLimits::default(),
            reactor: ReactorConfig::default(),
            sessions: SessionOptions::default(),
            ni_rssl: ServerConfig::default(),
            stamp_every: 1_024,
            pressure: PressureConfig::default(),
        }
    }
}

impl HubConfig {
    /// Takes from another configuration what can change while a hub runs. What
    /// remains is of its beginning: its name, its routes, where it listens, the
    /// services of non-interactive providers, whether items are kept and pauses
    /// passed on, what tables are made for, the sockets.
    pub fn adopt(&mut self, new: &Self) {
        let (own, new) = (self.clone(), new.clone());
        // Every setting is named, so that a new one cannot be forgotten.
        let Self {
            name: _,
            routes,
            ni_listen: _,
            ni_listen_tls: _,
            ni_tls,
            ni_services: _,
            mirrored: _,
            rebalance: _,
            service_groups: _,
            service_items: _,
            service_kinds: _,
            service_cache: _,
            unpublished,
            ni_stale_ms,
            cache_interactive: _,
            pause_upstream: _,
            source_timeout_ms,
            request_timeout_ms,
            image_timeout_ms,
            retry_delay_ms,
            post_timeout_ms,
            reconnect_min_ms,
            reconnect_max_ms,
            limits,
            reactor: _,
            sessions: _,
            ni_rssl,
            stamp_every,
            pressure,
        } = new;
        let HubLimits { max_services, max_servers, max_message_bytes, .. } = own.limits;
        *self = Self {
            routes,
            ni_tls,
            unpublished,
            ni_stale_ms,
            source_timeout_ms,
            request_timeout_ms,
            image_timeout_ms,
            retry_delay_ms,
            post_timeout_ms,
            reconnect_min_ms,
            reconnect_max_ms,
            limits: HubLimits { max_services, max_servers, max_message_bytes, ..limits },
            ni_rssl,
            stamp_every,
            pressure,
            ..own
        };
    }
}

/// How the providers of a service mirror each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirroring {
    /// What is kept of the items with which a source stands by.
    pub keeps: StandbyKeeps,
    /// Whether they number what they send from one origin, so that what two of them have
    /// of an item is told apart by the numbers alone. Default false: images are compared.
    pub has_shared_numbers: bool,
    /// How long the one that is used may be down, or take no requests, until another one
    /// is used, in milliseconds. One that is lost is replaced at once. Default 0.
    pub failover_after_ms: u64,
    /// When the first of them, by order, is used again.
    pub failback: Failback,
    /// Whether an item that the one that is used closes goes on at another one that has
    /// it. Default false: it is closed for all.
    pub outlives_close: bool,
}

/// What a hub keeps of the items with which a source stands by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StandbyKeeps {
    /// Their images: an item goes on without a request.
    #[default]
    Image,
    /// Their streams alone, which cost no memory for content: an item goes on with the image
    /// that is asked for then, on the stream that is open.
    Stream,
}

/// When the first source of a mirrored service, by order, is used again after it was away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failback {
    /// When the one that is used is lost.
    #[default]
    Never,
    /// When it has been there for so long, in milliseconds.
    After(u64),
    /// When nothing has changed for a second.
    Idle,
}

/// What is made of how loaded the providers of a service say that they are, and of how many
/// items they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rebalance {
    /// Their load is not looked at: an item is asked for at the one with the fewest for its
    /// weight.
    Off,
    /// An item is asked for at the least loaded, and stays there.
    #[default]
    New,
    /// The same, and items that are open move to one that is much better placed by then.
    Slow {
        /// So many a second at most; 0 counts as 1.
        per_s: u32,
    },
}

/// Services of sources that are one to consumers, under another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceGroup {
    /// The name that consumers know.
    pub name: String,
    /// The names that sources give to the services in it, which consumers do not
    /// see. A service is in one group at most: in the first that names it.
    pub members: Vec<String>,
    /// At which of them an item is asked for.
    pub pick: Pick,
}

/// At which member of a group an item is asked for, of those that take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The first, in the order in which the group names them.
    #[default]
    Order,
    /// The one at which the fewest items are open, as if they were one service.
    Items,
}

/// The providers that a service is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceKind {
    /// Those that are asked: nobody publishes into it.
    Interactive,
    /// Those that publish: it is not taken from who offers to be asked.
    NonInteractive,
}

/// What a request for an item gets that no non-interactive provider has
/// published, where the service has no interactive one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unpublished {
    /// It waits, open and suspect, until the item is published.
    #[default]
    Pending,
    /// It is refused: closed, not found.
    NotFound,
}

/// The way to an interactive provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Name of the route in logs. Default the first host.
    pub name: String,
    /// Where the provider is; the next one is tried when one fails.
    pub endpoints: Vec<Endpoint>,
    /// The services to take from it, by name. Default: all.
    pub services: Option<Vec<String>>,
    /// The items to ask it for. Default: all. One that no source is for waits.
    pub items: Option<ItemNames>,
    /// Which sources of a service are asked first: those with a lower number,
    /// and others only for what these do not take. Default 0.
    pub order: u16,
    /// How many items it has beside others of the same order and load: with 3 of
    /// one and 1 of another, three of four. Default 1; 0 counts as 1.
    pub weight: u32,
    /// Whether it is asked for no new items; it keeps what it has. Default
    /// false.
    pub drains: bool,
    /// Most requests at a time that it has not answered, whatever more it takes by its
    /// own word. Default none. 0 counts as 1.
    pub open_window: Option<u64>,
    /// Most items that it may have open, whatever more it takes by its own word.
    /// Default none.
    pub open_limit: Option<u64>,
    /// Most requests a second; others wait. Default none. 0 counts as 1.
    pub max_requests_per_s: Option<u32>,
    /// As whom to log in.
    pub login: RouteLogin,
    /// Compression to ask for. Default none.
    pub compression: Compression,
    /// Ping timeout to ask for, in seconds, 1..=255. Default 60.
    pub ping_timeout_s: u8,
    /// The connection goes through TLS, or is not made. Default `None`: it does not.
    pub tls: Option<TlsClient>,
}

impl Route {
    /// A route to one endpoint with every default.
    pub fn to(host: impl Into<String>, port: u16) -> Self {
        let host = host.into();
        Self {
            name: host.clone(),
            endpoints: vec![Endpoint { host, port }],
            services: None,
            items: None,
            order: 0,
            weight: 1,
            drains: false,
            open_window: None,
            open_limit: None,
            max_requests_per_s: None,
            login: RouteLogin::default(),
            compression: Compression::None,
            ping_timeout_s: 60,
            tls: None,
        }
    }

    /// In the place of one that is not configured any more.
    pub(crate) fn none() -> Self {
        Self { endpoints: Vec::new(), services: Some(Vec::new()), ..Self::to("", 0) }
    }

    /// Whether another one leads to the same provider, by the same login and for the same
    /// services: what else they say can change while it is connected.
    pub(crate) fn is_same_way(&self, other: &Self) -> bool {
        // Every setting is named, so that a new one cannot be forgotten.
        let Self {
            name,
            endpoints,
            services,
            items: _,
            order: _,
            weight: _,
            drains: _,
            open_window: _,
            open_limit: _,
            max_requests_per_s: _,
            login,
            compression,
            ping_timeout_s,
            tls,
        } = self;
        (name, endpoints, services, login, compression, ping_timeout_s, tls)
            == (
                &other.name,
                &other.endpoints,
                &other.services,
                &other.login,
                &other.compression,
                &other.ping_timeout_s,
                &other.tls,
            )
    }
}

/// Where a provider listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    /// TCP port; 14002 by custom.
    pub port: u16,
}

/// As whom a hub logs in to an interactive provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteLogin {
    /// User name. Default `tapeline`.
    pub user: String,
    /// Its password. Default none.
    pub password: Option<RouteSecret>,
    /// A token in place of the user name. Default none.
    pub token: Option<RouteSecret>,
    /// Application id, a decimal number. Default `256`, the generic one.
    pub application_id: String,
    /// Application name. Default `tapeline-hub`.
    pub application_name: String,
    /// Position, `a.b.c.d/host`. Default `127.0.0.1/net`.
    pub position: String,
    /// Whether the provider is asked to recover items too. Default true.
    pub single_open: bool,
}

impl Default for RouteLogin {
    fn default() -> Self {
        Self {
            user: "tapeline".to_owned(),
            password: None,
            token: None,
            application_id: "256".to_owned(),
            application_name: "tapeline-hub".to_owned(),
            position: "127.0.0.1/net".to_owned(),
            single_open: true,
        }
    }
}

/// Bounds on what providers and servers can make a hub hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubLimits {
    /// Items at a time, requested and published. More are refused with
    /// `TOO_MANY_ITEMS`, or not taken from a non-interactive provider.
    /// Default 1 000 000.
    pub max_items: usize,
    /// Services at a time, over all sources. Default 4096.
    pub max_services: usize,
    /// Servers at a time; a port keeps apart no more than
    /// [`MAX_PEERS`](tapeline_backbone::MAX_PEERS), the default.
    pub max_servers: usize,
    /// Requests of one server at a time. Default 1 000 000.
    pub max_requests_per_server: usize,
    /// Requests to one service of one provider that may be without an image at
    /// a time; fewer, if the provider gives a smaller open window. A provider
    /// that is asked for everything at once has no time to answer the last one
    /// within [`request_timeout_ms`](HubConfig::request_timeout_ms). Default
    /// 10 000.
    pub max_window: u64,
    /// Posts that wait for an ack at a time, and posts of several parts that
    /// are not complete. More are refused with `NO_RESOURCES`. Default 100 000.
    pub max_posts: usize,
    /// Items that are dealt with in one turn when something happens to many: a
    /// source is lost, a service or group has a state. Each takes a few
    /// microseconds. Default 128.
    pub items_per_slice: usize,
    /// How often at most a server is asked what it wants while frames of it are
    /// lost, in milliseconds. Default 100.
    pub resync_interval_ms: u64,
    /// Non-interactive providers that are logged in at a time. Default 64.
    pub max_providers: usize,
    /// Connections at a time to the port of non-interactive providers that have
    /// not logged in yet. Where there are more, the oldest of the address with
    /// most is closed for each that comes. Default 256.
    pub max_without_login: usize,
    /// The same of one address (of IPv6: of one network of 64 bits). Default 64.
    pub max_without_login_per_address: usize,
    /// Before its login, bytes of one message of a connection, and of output that
    /// may wait for it. Default 65,536.
    pub before_login_bytes: usize,
    /// How long the handshake of a non-interactive provider may take, in
    /// milliseconds. Default 10,000.
    pub handshake_timeout_ms: u32,
    /// Items that one non-interactive provider may have published at a time.
    /// More are refused. Default 250 000.
    pub max_items_per_provider: usize,
    /// Content of one kept image, in bytes; a larger image is passed on and
    /// not kept. Default 64 MiB.
    pub max_image_bytes: usize,
    /// One message of a provider, in bytes. The item of a longer one is closed
    /// with a status that says so. Default 64 MiB and 32 KiB: an image of
    /// 64 MiB with its header, the longest that the backbone carries.
    pub max_message_bytes: usize,
}

impl Default for HubLimits {
    fn default() -> Self {
        Self {
            max_items: 1_000_000,
            max_services: 4096,
            max_servers: tapeline_backbone::MAX_PEERS,
            max_requests_per_server: 1_000_000,
            max_window: 10_000,
            max_posts: 100_000,
            items_per_slice: 128,
            resync_interval_ms: 100,
            max_providers: 64,
            max_without_login: 256,
            max_without_login_per_address: 64,
            before_login_bytes: 64 << 10,
            handshake_timeout_ms: 10_000,
            max_items_per_provider: 250_000,
            max_image_bytes: 64 << 20,
            max_message_bytes: (64 << 20) + (32 << 10),
        }
    }
}
