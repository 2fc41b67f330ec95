//! Keys of the configuration: of all but the server, tables and rights.

use std::path::PathBuf;

use tapeline_backbone::{MAX_NAME_BYTES, MAX_PEERS};

use super::section::section;
use super::value::{Port, choice};

choice! {
    /// What a deployment is tuned for.
    ProfileName {
        /// Each update leaves at once.
        "latency" => Latency,
        /// Updates are gathered, so that each write carries many.
        "throughput" => Throughput,
        /// The published throughput tuning of RMDS 6.
        "rmds-throughput" => RmdsThroughput,
        /// The published latency tuning of RMDS 6.
        "rmds-latency" => RmdsLatency,
        /// An earlier one, with large buffers.
        "rmds-latency-1600" => RmdsLatency1600,
    }
}

choice! {
    /// What a thread does that found nothing to do.
    IdleWhen {
        /// Looks again at once; needs a core of its own.
        "spin" => Spin,
        /// Lets others run first.
        "yield" => Yield,
        /// Sleeps for some 50 microseconds at a time once there was nothing to
        /// do for 200.
        "park" => Park,
    }
}

choice! {
    /// How much is logged.
    Level {
        /// Nothing.
        "off" => Off,
        /// What needs a person.
        "error" => Error,
        /// What is out of order and may need a person.
        "warn" => Warn,
        /// What happens to sources, servers and services.
        "info" => Info,
        /// What happens to each session and request.
        "debug" => Debug,
        /// Everything.
        "trace" => Trace,
    }
}

choice! {
    /// What becomes of a request for an item that nobody has published.
    Unpublished {
        /// It waits.
        "pending" => Pending,
        /// It is refused.
        "not-found" => NotFound,
    }
}

choice! {
    /// Compression of a connection.
    CompressionKind {
        /// None.
        "none" => Off,
        /// Zlib.
        "zlib" => Zlib,
        /// LZ4.
        "lz4" => Lz4,
    }
}

choice! {
    /// Where the media driver of the backbone runs.
    Driver {
        /// In the process itself, on its one thread.
        "embedded" => Embedded,
        /// In a process of its own that several programs share.
        "external" => External,
    }
}

section! {
    /// What the deployment is tuned for. The profile decides what other keys
    /// are that the file does not have; a key in the file always wins.
    Profile = "profile" {
        /// `latency`: each update leaves at once. `throughput`: output is
        /// gathered for 20 ms (`flush-interval-ms`), and the kernel may gather
        /// more (`tcp-no-delay = false`). The others are sets of `rmds.cnf` as the tests
        /// of RMDS 6 were published with: `rmds-throughput` as `throughput`, with a
        /// `flush-interval-ms` of 20 on the backbone, too; `rmds-latency` and
        /// `rmds-latency-1600` as `latency`, with a `tcp-send-buffer-bytes` of 64,240.
        /// Their `output-max-bytes` are 5,000, 400 and 1,600 buffers of 6 KiB, their
        /// `output-pool-bytes` 32,000, 16,000 and 2,000 with 800, 200 and 1,600 more for
        /// each of 100 mounts; the first two have a `socket-buffer-bytes` of 4 MiB, and
        /// neither hub nor server keeps items (`cache`), as sources do.
        "name" => name: ProfileName = ProfileName::Latency => Live;
        /// What a thread does that found nothing to do: `spin` needs a core of its
        /// own, `yield` lets others run after every turn, `park` sleeps until
        /// something comes or is due. Where other processes or shards write to the media
        /// driver's memory, which wakes nobody, it sleeps for 50 microseconds at
        /// a time instead, once there was nothing to do for 200.
        "idle" => idle: IdleWhen = IdleWhen::Park;
        /// The core of each thread: that of hub and first server, then of each further
        /// shard; from the beginning again if there are more threads. None: the kernel
        /// decides.
        "cores" => cores: Vec<u16> = Vec::new();
        /// The real-time priority of these threads (`SCHED_FIFO`), 1 to 99, in which
        /// they go before all else; without it, the usual class. The process needs the
        /// right to it, and `idle = "spin"` a core for each thread.
        "fifo-priority" => fifo_priority: Option<u8> = None;
        /// The file that `tapeline bench knee --write` wrote on this machine. A thread
        /// whose busiest 10 ms of a second take 70 % of what was found says so in the
        /// log, and again at 90 %.
        "knee" => knee: Option<PathBuf> = None;
        /// Whether there may be a core dump of a process that holds secrets: a key, a
        /// password or a token of its own, or those by which others log in.
        "core-dumps" => core_dumps: bool = false;
    }
}

section! {
    /// The admin port: metrics, views, events and a page for operators over HTTP.
    Admin = "admin" {
        /// The address on which it listens. Beyond the loopback interface it is to have
        /// `tls-certificate`, `tls-key` and `token-file`.
        "listen" => listen: String = "127.0.0.1".to_owned();
        /// The port. The usual one is 9400.
        "port" => port: Port = Port::Off;
        /// A file with a token that whoever asks has to show, as a bearer token or as
        /// the password of any user. Without it, whoever is on this host may ask, close
        /// mounts and change the configuration.
        "token-file" => token_file: Option<PathBuf> = None;
        /// The PEM file with the certificate that it shows, and those that vouch for it;
        /// then it speaks HTTPS. Read again when it has changed.
        "tls-certificate" => tls_certificate: Option<PathBuf> = None;
        /// The PEM file with the private key of `tls-certificate`.
        "tls-key" => tls_key: Option<PathBuf> = None;
        /// Pages of other hosts that may ask, each as `scheme://host` or
        /// `scheme://host:port`.
        "allowed-origins" => allowed_origins: Vec<String> = Vec::new();
        /// Mounts and users of which `/metrics` has series of their own: those for
        /// whom most waits, and who have most items open.
        "top" => top: usize = 20, in 0..=1_000;
    }
}

choice! {
    /// How lines of the log look.
    LogFormat {
        /// `key=value`.
        "logfmt" => Logfmt,
        /// A JSON object.
        "json" => Json,
    }
}

section! {
    /// The log, a line for each event on standard error.
    Log = "log" {
        /// How much is logged.
        "level" => level: Level = Level::Info => Live;
        /// How lines look.
        "format" => format: LogFormat = LogFormat::Logfmt;
        /// Other levels for single components, as in `"hub=debug,server=warn"`.
        /// The components are the crates: hub, server, backbone, channel, api,
        /// feed, and tapeline for the program itself.
        "components" => components: String = String::new() => Live;
        /// How often hub and server log what they have and what they did so far,
        /// if that changed; 0 for at their end alone.
        "counters-interval-s" => counters_interval_s: u32 = 60, in 0..=86_400 => Live;
    }
}

section! {
    /// The stretch between hubs and servers. The time-outs and buffers are those
    /// of the embedded driver; an external one has its own.
    Backbone = "backbone" {
        /// Where hubs and servers meet. `local`: in this one process, without a
        /// media driver. `aeron:ipc`: shared memory of one host.
        /// `aeron:udp?endpoint=GROUP:PORT|interface=ADDRESS`: multicast, the last
        /// byte of the group odd. `aeron:udp?control=HUBHOST:PORT`: unicast; servers name
        /// several hubs, separated by commas, and a hub itself alone. Several channels
        /// of networks, separated by blanks: each frame goes over all of them, and the
        /// first copy is used. Several of all that, with a ` + ` between them: services
        /// are divided over them, a server meets the hubs of each, and a hub is on the
        /// first.
        /// Further parameters: `ttl`, `mtu`, `term-length`, `fc`, `stream-id`.
        /// Without it, `local` where hub and server are one process and neither
        /// `driver` nor `dir` is set, else `aeron:ipc`.
        "channel" => channel: Option<String> = None;
        /// `embedded`: the media driver runs in this process, on its one thread.
        /// `external`: the one of folder `dir` is used, an `aeronmd` or the
        /// embedded one of another process of this host.
        "driver" => driver: Driver = Driver::Embedded;
        /// The folder of the media driver, best in /dev/shm. An embedded driver
        /// empties it at the start and takes a new one if there is none here.
        "dir" => dir: Option<PathBuf> = None;
        /// The system of which this process is a member, at most 64 bytes. Hubs and
        /// servers of other systems on the same channel are not heard, and the
        /// log says so.
        "system" => system: String = String::new();
        /// A file with a key of at least 16 bytes that all members of the system
        /// have: who has another one, or none, is no member. It guards presence
        /// against those who do not belong, not the data against those who listen.
        "key-file" => key_file: Option<PathBuf> = None;
        /// How often a process says that it is there.
        "presence-ms" => presence_ms: u64 = 100, in 10..=10_000;
        /// A peer that was silent for so long is taken for gone, and its stream
        /// with it; at least twice `presence-ms`, better several times. So much
        /// may a host stand still without anybody having to recover.
        "silence-ms" => silence_ms: u64 = 500, in 50..=60_000;
        /// What is kept while the network does not take more. What does not fit
        /// is dropped, noticed by the receivers and recovered from images.
        "queue-bytes" => queue_bytes: usize = 4_194_304, in 65_536..=1_073_741_824;
        /// The longest datagram; the same at all members. 8192 where jumbo
        /// frames pass.
        "mtu-bytes" => mtu_bytes: u32 = 1408, in 1024..=65_504;
        /// A third of the log of a hub's stream: a power of two from 65536 to 1073741824.
        /// Without it 16777216; where several networks carry the same, twice
        /// `receiver-window-bytes`, and 4194304 at least, so that the log of a network that
        /// is cut is given back in a moment.
        "data-term-bytes" => data_term_bytes: Option<u32> = None;
        /// The same for what servers ask of hubs.
        "request-term-bytes" => request_term_bytes: u32 = 4_194_304, in 65_536..=1_073_741_824;
        /// How far a hub may be ahead of a receiver: the longest stall without
        /// loss times the rate.
        "receiver-window-bytes" => receiver_window_bytes: u32 = 2_097_152, in 65_536..=536_870_912;
        /// The kernel's buffers of each socket; `net.core.rmem_max` bounds them.
        "socket-buffer-bytes" => socket_buffer_bytes: u32 = 2_097_152, in 65_536..=1_073_741_824;
        /// Those of sockets that send, if they are others; `net.core.wmem_max` bounds
        /// them. Without it, as `socket-buffer-bytes`.
        "socket-send-buffer-bytes" => socket_send_buffer_bytes: Option<u32> = None;
        /// How many networks multicast may cross, where `channel` says no `ttl`; 0 keeps
        /// it on this host. Without it, 1.
        "ttl" => ttl: Option<u8> = None;
        /// How long a hub on a network may hold back what it sends, so that datagrams
        /// carry more; what is held back leaves sooner when it is 64 KiB. 0: each message
        /// leaves at once. In memory it always does.
        "flush-interval-ms" => flush_interval_ms: u32 = 0, in 0..=1_000;
        /// The longest wait before a receiver of multicast asks again for what
        /// it missed: one or two round trips.
        "nak-backoff-us" => nak_backoff_us: u64 = 20, in 1..=1_000_000;
        /// How long a sender ignores further requests for what it has just sent
        /// again: one or two round trips.
        "retransmit-linger-us" => retransmit_linger_us: u64 = 200, in 1..=10_000_000;
    }
}

impl Backbone {
    /// A peer that says on time that it is there is not to be taken for gone.
    pub(super) fn check_silence(&self) -> Result<(), String> {
        let (silence_ms, presence_ms) = (self.silence_ms, self.presence_ms);
        if silence_ms >= 2 * presence_ms {
            return Ok(());
        }
        Err(format!(
            "`silence-ms` is {silence_ms} where `presence-ms` is {presence_ms}; give at least \
             twice as much"
        ))
    }

    /// Two systems whose names begin alike are not to be one.
    pub(super) fn check_system(&self) -> Result<(), String> {
        match self.system.len() {
            0..=MAX_NAME_BYTES => Ok(()),
            bytes => Err(format!("`system` has {bytes} bytes; give at most {MAX_NAME_BYTES}")),
        }
    }
}

section! {
    /// The hub: where sources are.
    Hub = "hub" {
        /// What others call it.
        "name" => name: String = "hub".to_owned();
        /// The address on which non-interactive providers are accepted.
        "listen" => listen: String = "0.0.0.0".to_owned() => Reconnect;
        /// The port on which non-interactive providers are accepted.
        "ni-port" => ni_port: Port = Port::At(14003) => Reconnect;
        /// The port on which non-interactive providers are accepted over TLS, as of the
        /// vendor's encrypted connections.
        "ni-tls-port" => ni_tls_port: Port = Port::Off => Reconnect;
        /// The PEM file with the certificate that they are shown there, and those that
        /// vouch for it. Read again when it has changed.
        "tls-certificate" => tls_certificate: Option<PathBuf> = None => Reconnect;
        /// The PEM file with the private key of `tls-certificate`.
        "tls-key" => tls_key: Option<PathBuf> = None => Reconnect;
        /// The services that non-interactive providers may publish into; none
        /// for all that no interactive provider has: those that no source is
        /// configured for and none has offered since the start.
        "ni-services" => ni_services: Vec<String> = Vec::new();
        /// What becomes of a request for an item that no non-interactive
        /// provider of its service has published: it waits for the item
        /// (`pending`), or is refused (`not-found`).
        "unpublished" => unpublished: Unpublished = Unpublished::Pending => Live;
        /// Whether non-interactive providers may choose to compress, zlib or LZ4.
        "compression" => compression: bool = true => Reconnect;
        /// How long items stay, suspect, after their non-interactive provider
        /// was lost; then they are closed.
        "ni-stale-ms" => ni_stale_ms: u64 = 60_000, in 100..=86_400_000 => Live;
        /// Whether the last value of each item of an interactive provider is
        /// kept, so that a second server that wants it needs no answer of the
        /// provider. Items of non-interactive providers always are.
        "cache" => cache: bool = false;
        /// Whether a provider that obeys pauses is told when every server has
        /// paused an item.
        "pause-upstream" => pause_upstream: bool = false;
        /// How long the connection to a provider, its login and its directory
        /// may take, each of the three.
        "source-timeout-ms" => source_timeout_ms: u64 = 15_000, in 100..=600_000 => Live;
        /// How long a provider may leave a request without an answer, and a
        /// part of an image without the next one. It doubles with each request for
        /// an item that had none, up to eight times, until there is an image.
        "request-timeout-ms" => request_timeout_ms: u64 = 15_000, in 100..=600_000 => Live;
        /// How long an image may take from its first part to its last. Then it
        /// is given up: asked for anew, or suspect where nobody can be asked.
        "image-timeout-ms" => image_timeout_ms: u64 = 60_000, in 100..=3_600_000 => Live;
        /// How long a provider may leave a post without the ack it asked for.
        "post-timeout-ms" => post_timeout_ms: u64 = 15_000, in 100..=600_000 => Live;
        /// The wait before an item is asked for again that its provider closed
        /// for the time being, if nobody else has the service.
        "retry-delay-ms" => retry_delay_ms: u64 = 15_000, in 10..=600_000 => Live;
        /// The first wait before a lost provider is called again; it doubles
        /// with every failure.
        "reconnect-min-ms" => reconnect_min_ms: u64 = 250, in 10..=60_000 => Live;
        /// The longest wait before a lost provider is called again.
        "reconnect-max-ms" => reconnect_max_ms: u64 = 2_000, in 10..=600_000 => Live;
        /// One message of an item in so many carries stamps, by which servers tell how
        /// long each hop takes (view `hops`); 0: none does.
        "stamp-every" => stamp_every: u32 = 1_024, in 0..=1_000_000_000 => Live;
        /// Above so much of the backbone's `queue-bytes`, in percent, updates are merged for
        /// each item, and servers are told that no service takes requests.
        "pressure-high" => pressure_high: u8 = 50, in 30..=75 => Live;
        /// Below so much of it that ends.
        "pressure-low" => pressure_low: u8 = 20, in 1..=75 => Live;
        /// Whether non-interactive providers are read no faster meanwhile than the backbone
        /// takes what they sent.
        "read-pressure" => read_pressure: bool = true => Live;
        /// Most bytes of updates that are merged. What comes beyond them goes to the
        /// backbone as it is, and is lost if there is no room.
        "pressure-merged-bytes" => pressure_merged_bytes: usize = 64 << 20, in 1024..=(1 << 40) => Live;
        /// Most items at a time, over all services.
        "max-items" => max_items: usize = 1_000_000, in 1..=100_000_000 => Live;
        /// Most services at a time, over all sources.
        "max-services" => max_services: usize = 4096, in 1..=65_536;
        /// Most servers at a time. One more is not heard, and the log says so.
        "max-servers" => max_servers: usize = MAX_PEERS, in 1..=MAX_PEERS;
        /// Most non-interactive providers at a time that have logged in.
        "max-providers" => max_providers: usize = 64, in 1..=65_536 => Live;
        /// Most connections at a time to the port of non-interactive providers
        /// that have not logged in; one more closes the oldest of the address
        /// that has most of them.
        "max-without-login" => max_without_login: usize = 256, in 1..=1_000_000 => Reconnect;
        /// The same of one address; of IPv6, of one network of 64 bits.
        "max-without-login-per-address" => max_without_login_per_address: usize = 64, in 1..=1_000_000 => Reconnect;
        /// How long the handshake of a non-interactive provider may take.
        "handshake-timeout-ms" => handshake_timeout_ms: u32 = 10_000, in 100..=600_000 => Reconnect;
        /// Most items that one non-interactive provider has published.
        "max-items-per-provider" => max_items_per_provider: usize = 250_000, in 1..=100_000_000 => Live;
        /// Most posts that wait for an ack.
        "max-posts" => max_posts: usize = 100_000, in 1..=100_000_000 => Live;
        /// A larger image is passed on and not kept.
        "max-image-bytes" => max_image_bytes: usize = 64 << 20, in 1024..=(1 << 30) => Live;
        /// The longest message of a provider. The item of a longer one is closed
        /// with a status that says so; the session goes on.
        "max-message-bytes" => max_message_bytes: usize = 67_141_632, in 65_536..=67_141_632;
    }
}

impl Hub {
    /// Pressure that begins is not to be over at once.
    pub(super) fn check_pressure(&self) -> Result<(), String> {
        let (low, high) = (self.pressure_low, self.pressure_high);
        if low < high {
            return Ok(());
        }
        Err(format!(
            "`pressure-low` is {low} where `pressure-high` is {high}; give less, half of it or so"
        ))
    }
}

section! {
    /// An interactive provider that the hub calls. There may be any number of
    /// these; services come from the providers' own directories, and two
    /// sources with the same service stand in for each other.
    Source = "hub.source" {
        /// What the log calls it; without it, its first host.
        "name" => name: Option<String> = None => Reconnect;
        /// Its hosts, as `host` or `host:port`, in the order in which they are
        /// tried.
        "hosts" => hosts: Vec<String> = Vec::new() => Reconnect;
        /// The port of hosts that name none.
        "port" => port: u16 = 14002, in 1..=65535 => Reconnect;
        /// The services taken from it; none for all that it has.
        "services" => services: Vec<String> = Vec::new() => Reconnect;
        /// The items that it is asked for; none for all. `*` is any text, `?` one
        /// character, `re:` begins an expression. An item that no source is for
        /// waits.
        "items" => items: Vec<String> = Vec::new() => Live;
        /// Which sources of a service are asked first: those with a lower number,
        /// others for what these do not take.
        "order" => order: u16 = 0 => Live;
        /// How many items it has beside those of the same order and load: with 3 of
        /// one and 1 of another, three of four.
        "weight" => weight: u32 = 1, in 1..=1_000_000 => Live;
        /// Whether it is asked for no new items, while it keeps what it has.
        "drain" => drain: bool = false => Live;
        /// Most requests at a time that it has not answered; without it, as many as it
        /// says itself (`OpenWindow`), which it is never above. 0 counts as 1.
        "open-window" => open_window: Option<u32> = None => Live;
        /// Most items that it may have open; without it, as many as it says itself
        /// (`OpenLimit`), which it is never above.
        "open-limit" => open_limit: Option<u32> = None => Live;
        /// Most requests for items in a second, a tenth of them at once; others wait. 0
        /// counts as 1.
        "max-requests-per-s" => max_requests_per_s: Option<u32> = None => Live;
        /// The user that the hub logs in as.
        "user" => user: String = "tapeline".to_owned() => Reconnect;
        /// The application id that the hub logs in with, a decimal number.
        "application-id" => application_id: String = "256".to_owned() => Reconnect;
        /// The position that the hub logs in from, `a.b.c.d/host`.
        "position" => position: String = "127.0.0.1/net".to_owned() => Reconnect;
        /// Whether the provider is asked to recover items too.
        "single-open" => single_open: bool = true => Reconnect;
        /// The compression to ask for.
        "compression" => compression: CompressionKind = CompressionKind::Off => Reconnect;
        /// The ping time-out to ask for.
        "ping-timeout-s" => ping_timeout_s: u8 = 60, in 1..=255 => Reconnect;
        /// The file with the password of `user`, on its first line. What it becomes
        /// holds for the next login.
        "password-file" => password_file: Option<PathBuf> = None => Reconnect;
        /// The file with an authentication token to log in with in place of `user`, on its
        /// first line. What it becomes holds for the next login.
        "token-file" => token_file: Option<PathBuf> = None => Reconnect;
        /// Whether the connection goes through TLS. Where it does not come about, nothing
        /// is sent in clear.
        "tls" => tls: bool = false => Reconnect;
        /// The PEM file with the authorities that the source is believed by over TLS;
        /// without it, those of the host, `/etc/ssl/certs/ca-certificates.crt`.
        "tls-ca" => tls_ca: Option<PathBuf> = None => Reconnect;
        /// The name in the certificate of the source, if it is another than that of the
        /// host; it is sent to the source as well (SNI).
        "tls-name" => tls_name: Option<String> = None => Reconnect;
        /// The PEM file with the certificate that is shown to the source, and those that
        /// vouch for it.
        "tls-certificate" => tls_certificate: Option<PathBuf> = None => Reconnect;
        /// The PEM file with the private key of `tls-certificate`.
        "tls-key" => tls_key: Option<PathBuf> = None => Reconnect;
    }
}
