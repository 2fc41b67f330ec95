//! The keys of the server.

use std::path::PathBuf;

use tapeline_backbone::MAX_PEERS;

use super::section::section;
use super::services::{StandbyAnswer, StandbyPost, WarmStandbyKind};
use super::value::Port;

section! {
    /// The server: where consumers are.
    Server = "server" {
        /// What others call it.
        "name" => name: String = "server".to_owned();
        /// The address on which consumers are accepted.
        "listen" => listen: String = "0.0.0.0".to_owned() => Reconnect;
        /// The port on which consumers are accepted.
        "rssl-port" => rssl_port: Port = Port::At(14002) => Reconnect;
        /// The port on which WebSocket consumers are accepted, with JSON
        /// (`tr_json2`, `rssl.json.v2`) or RWF (`rssl.rwf`). The usual one is
        /// 15000.
        "ws-port" => ws_port: Port = Port::Off => Reconnect;
        /// Whether a browser that is sent to a WebSocket port gets a page at `/` on
        /// which items can be watched.
        "ws-page" => ws_page: bool = true => Reconnect;
        /// The port on which RSSL consumers are accepted over TLS, as of the
        /// vendor's encrypted connections.
        "rssl-tls-port" => rssl_tls_port: Port = Port::Off => Reconnect;
        /// The port on which WebSocket consumers are accepted over TLS (`wss`).
        "wss-port" => wss_port: Port = Port::Off => Reconnect;
        /// The PEM file with the certificate that is shown over TLS, and those
        /// that vouch for it. Read again when it has changed.
        "tls-certificate" => tls_certificate: Option<PathBuf> = None => Reconnect;
        /// The PEM file with the private key of `tls-certificate`.
        "tls-key" => tls_key: Option<PathBuf> = None => Reconnect;
        /// Whether enumerations are written as their display text in JSON, as
        /// the vendor's servers do; otherwise as numbers.
        "json-expand-enums" => json_expand_enums: bool = true;
        /// Whether a key that nothing is known of makes a JSON message an error.
        "json-catch-unknown-keys" => json_catch_unknown_keys: bool = false;
        /// Whether a field that the dictionary lacks makes a JSON message an
        /// error.
        "json-catch-unknown-fields" => json_catch_unknown_fields: bool = true;
        /// The service of JSON requests that name none; without it, the only
        /// one while there is just one.
        "json-default-service" => json_default_service: Option<String> = None;
        /// How long a JSON mount may be silent; it is pinged after a third of
        /// it.
        "json-ping-timeout-s" => json_ping_timeout_s: u8 = 30, in 1..=255;
        /// Most bytes of a frame that a JSON mount may send.
        "json-max-message-bytes" => json_max_message_bytes: usize = 61_440, in 1024..=16_777_216;
        /// Most bytes of an image in JSON; a mount gets a status for a longer
        /// one.
        "json-max-image-bytes" => json_max_image_bytes: usize = 16_777_216, in 65_536..=1_073_741_824;
        /// Messages in JSON in a row that are no good, after which a mount is cut.
        "json-max-faults" => json_max_faults: u32 = 100, in 1..=1_000_000;
        /// Threads that share the port and the mounts; each is a server of its own
        /// towards the hub, and wants a core of its own. Limits are those of all of
        /// them together.
        "shards" => shards: usize = 1, in 1..=64;
        /// The name of the host that an accepted login tells the consumer.
        "host-name" => host_name: String = "localhost".to_owned() => Live;
        /// Whether the last value of each open item is kept, so that who joins
        /// gets it without a request to the source.
        "cache" => cache: bool = true;
        /// Whether updates for a slow mount are merged item by item until it
        /// has caught up; otherwise it is cut when its output is full.
        "conflation" => conflation: bool = true => Live;
        /// Whether a stream is told when its updates begin and end to be merged.
        "announce-conflation" => announce_conflation: bool = true => Live;
        /// Most bytes of updates that are merged for slow mounts, of all items
        /// together; beyond it they get images instead.
        "merge-max-bytes" => merge_max_bytes: usize = 268_435_456, in 65_536..=4_294_967_296 => Live;
        /// The same for one mount: beyond it that mount gets images instead, and
        /// nobody else notices.
        "merge-max-bytes-per-mount" => merge_max_bytes_per_mount: usize = 67_108_864,
            in 65_536..=4_294_967_296 => Live;
        /// Whether posts are accepted.
        "posts" => posts: bool = true => Live;
        /// Whether a post says who posted as its client says it (`true`), or by
        /// the address and the number of the mount.
        "trust-post-user-info" => trust_post_user_info: bool = false => Live;
        /// Which kinds of warm standby a login is offered: `both`, `login`,
        /// `service`, `off`.
        "warm-standby" => warm_standby: WarmStandbyKind = WarmStandbyKind::Both;
        /// What a client is sent on request while the server stands by for it: a
        /// refresh without content (`empty`), or the image (`full`).
        "standby-image" => standby_image: StandbyAnswer = StandbyAnswer::Empty;
        /// What becomes of its posts meanwhile: `ack`, as the active server passes
        /// them on; `forward`; `nak`.
        "standby-posts" => standby_posts: StandbyPost = StandbyPost::Ack;
        /// The servers that a client is told of that asks for them in its login,
        /// each as `host:port` or `host:port load type`: how busy it is, 0 to
        /// 65,535, and `active` or `standby`.
        "standby-hosts" => standby_hosts: Vec<String> = Vec::new();
        /// How often mounts are asked how long they take to answer, where their client
        /// knows how to; 0: never.
        "rtt-interval-ms" => rtt_interval_ms: u32 = 0, in 0..=600_000 => Live;
        /// Most bytes of images in one turn that can wait: those of a take-over,
        /// after a pause, and of mounts that have caught up. Updates go first.
        "takeover-bytes-per-turn" => takeover_bytes_per_turn: usize = 1_048_576,
            in 1_024..=1_073_741_824 => Live;
        /// Whether one mount may have the same item open on two streams.
        "same-item-twice" => same_item_twice: bool = false => Live;
        /// Pages of other hosts that may mount over WebSocket from a browser, each
        /// as `scheme://host` or `scheme://host:port`. Pages of this host may;
        /// clients that are no browsers need not be here.
        "allowed-origins" => allowed_origins: Vec<String> = Vec::new() => Reconnect;
        /// Most mounts at a time that have logged in.
        "max-mounts" => max_mounts: usize = 100, in 1..=262_144 => Live;
        /// Most connections at a time, at each port, that have not logged in; one
        /// more closes the oldest of the address that has most of them.
        "max-without-login" => max_without_login: usize = 2_048, in 1..=1_000_000 => Reconnect;
        /// The same of one address; of IPv6, of one network of 64 bits.
        "max-without-login-per-address" => max_without_login_per_address: usize = 512, in 1..=1_000_000 => Reconnect;
        /// Before its login, most bytes of a message of a connection and of output
        /// that waits for it.
        "before-login-bytes" => before_login_bytes: usize = 65_536, in 4_096..=16_777_216 => Reconnect;
        /// How long a handshake may take.
        "handshake-timeout-ms" => handshake_timeout_ms: u32 = 10_000, in 100..=600_000 => Reconnect;
        /// Most mounts at a time with the same user; none for no bound.
        "max-mounts-per-user" => max_mounts_per_user: Option<usize> = None => Live;
        /// Most items that one user may have open over all mounts.
        "item-limit" => item_limit: usize = 500_000, in 1..=100_000_000 => Live;
        /// Most items that one mount may have open.
        "item-limit-per-mount" => item_limit_per_mount: usize = 500_000, in 1..=100_000_000 => Live;
        /// Items that one mount may open in a second; the requests of more wait for
        /// their turn. 0: any number.
        "opens-per-s" => opens_per_s: u32 = 0, in 0..=10_000_000 => Live;
        /// Snapshots that may be on their way to one mount; more wait for these.
        "snapshot-window" => snapshot_window: usize = 1_000, in 1..=10_000_000 => Live;
        /// Snapshots that one user may ask for in a second, over all mounts; more wait
        /// for their turn. 0: any number.
        "snapshots-per-s" => snapshots_per_s: u32 = 0, in 0..=10_000_000 => Live;
        /// Most snapshots of one mount that wait; more are refused.
        "snapshot-queue" => snapshot_queue: usize = 100_000, in 1..=100_000_000 => Live;
        /// Images out of the cache that one mount may get in a second; more come later,
        /// updates of other items before them. 0: any number.
        "images-per-s" => images_per_s: u32 = 0, in 0..=10_000_000 => Live;
        /// Memory that the process may have. From 90 % of it no items are opened, from
        /// 95 % images in the cache go; who asks for them then has them from the hub.
        /// 0: no bound.
        "memory-max-bytes" => memory_max_bytes: usize = 0, in 0..=1_099_511_627_776 => Live;
        /// Most items that the server has open at hubs.
        "max-items" => max_items: usize = 1_000_000, in 1..=16_000_000 => Live;
        /// Most directory and dictionary streams of one mount.
        "max-admin-streams" => max_admin_streams: usize = 64, in 1..=1_000_000 => Live;
        /// Messages of one mount that are handled in one turn while many others
        /// wait; the rest comes with the next ones, so that one that asks without
        /// end does not keep the others waiting. Where its equal share of
        /// `messages-per-turn` is more, it has that. A message counts for one in
        /// each 512 bytes, one in JSON in each 128.
        "mount-messages-per-turn" => mount_messages_per_turn: usize = 32, in 1..=1_000_000 => Reconnect;
        /// The same of all mounts together. A turn that has taken half a millisecond
        /// leaves what is left of them to the next.
        "messages-per-turn" => messages_per_turn: usize = 128, in 1..=1_000_000 => Live;
        /// Most names in one batch.
        "max-batch" => max_batch: usize = 100_000, in 1..=10_000_000 => Live;
        /// Most posts that wait for an ack.
        "max-posts" => max_posts: usize = 100_000, in 1..=100_000_000 => Live;
        /// The same of one mount.
        "max-posts-per-mount" => max_posts_per_mount: usize = 10_000, in 1..=100_000_000 => Live;
        /// The longest message that a mount may send. A longer post is refused.
        "max-message-bytes" => max_message_bytes: usize = 6_291_456, in 65_536..=67_108_864;
        /// The longest message of an item. The item of a longer one is closed
        /// with a status that says so. The output of a mount may exceed its bound
        /// by as much while it gets an image.
        "max-image-bytes" => max_image_bytes: usize = 67_174_400, in 65_536..=67_174_400;
        /// Requests to one hub that it has not accepted or refused yet, and those of which
        /// no part of an image and no state has come; more wait their turn. What has
        /// neither after `open-timeout-ms` makes room as well.
        "open-window" => open_window: usize = 5_000, in 1..=1_000_000 => Live;
        /// How long a hub may leave a request without an answer.
        "open-timeout-ms" => open_timeout_ms: u32 = 15_000, in 100..=600_000 => Live;
        /// How long a hub of which frames were lost is not asked again what they
        /// were of.
        "resync-interval-ms" => resync_interval_ms: u32 = 100, in 10..=60_000 => Live;
        /// Most hubs at a time. What one more says is ignored.
        "max-hubs" => max_hubs: usize = 64, in 1..=MAX_PEERS => Live;
        /// How long a mount may be there without a login.
        "login-timeout-ms" => login_timeout_ms: u32 = 30_000, in 100..=600_000 => Live;
        /// How long a post waits for its ack. The vendor's clients give up
        /// after 15 s.
        "post-timeout-ms" => post_timeout_ms: u32 = 14_000, in 100..=600_000 => Live;
        /// How long output may wait to be gathered; 0 sends it at the end of
        /// each turn.
        "flush-interval-ms" => flush_interval_ms: u32 = 0, in 0..=10_000 => Live;
        /// Whether the kernel sends at once (`true`) or gathers small writes.
        "tcp-no-delay" => tcp_no_delay: bool = true => Reconnect;
        /// The kernel's send buffer of each mount; without it, the kernel
        /// decides.
        "tcp-send-buffer-bytes" => tcp_send_buffer_bytes: Option<u32> = None => Reconnect;
        /// Most output that may wait for one mount; beyond it the mount is cut.
        "output-max-bytes" => output_max_bytes: usize = 30_720_000, in 65_536..=4_294_967_296 => Reconnect;
        /// Most output that may wait for all mounts together: above half of it
        /// mounts are slow with a fair share of a quarter, beyond it the mount
        /// with the most is cut.
        "output-pool-bytes" => output_pool_bytes: usize = 1_073_741_824,
            in 1_048_576..=1_099_511_627_776 => Live;
        /// A mount for which this part of `output-max-bytes` waits is slow.
        "output-threshold-breach" => output_threshold_breach: u8 = 30, in 1..=100 => Reconnect;
        /// A slow mount for which less than this part waits is well again.
        "output-threshold-ok" => output_threshold_ok: u8 = 10, in 0..=99 => Reconnect;
        /// Whether consumers may choose to compress, zlib or LZ4.
        "compression" => compression: bool = true => Reconnect;
        /// The level of zlib, 0 (none) to 9 (smallest).
        "compression-level" => compression_level: u8 = 6, in 0..=9 => Reconnect;
        /// From which size messages are compressed with zlib.
        "compression-threshold-bytes" => compression_threshold_bytes: u16 = 30 => Reconnect;
        /// The same with LZ4.
        "compression-threshold-lz4-bytes" => compression_threshold_lz4_bytes: u16 = 300 => Reconnect;
        /// Most bytes of messages in one frame; longer messages go out in
        /// fragments of this size.
        "fragment-bytes" => fragment_bytes: u16 = 6144, in 16..=65_532 => Reconnect;
        /// The shortest ping time-out granted to a consumer.
        "min-ping-timeout-s" => min_ping_timeout_s: u8 = 20, in 1..=255 => Reconnect;
        /// The longest ping time-out granted to a consumer.
        "max-ping-timeout-s" => max_ping_timeout_s: u8 = 60, in 1..=255 => Reconnect;
        /// How long nothing is sent to a consumer before it is pinged; at most half of
        /// its ping time-out. Without it, a third of that.
        "ping-interval-s" => ping_interval_s: Option<u8> = None => Reconnect;
        /// Whether a consumer is pinged. The vendor's clients give up a connection on
        /// which nothing comes for its ping time-out.
        "server-to-client-pings" => pings_to_clients: bool = true => Reconnect;
        /// Whether a consumer is cut that is silent for its ping time-out. Otherwise
        /// only the end of its connection is noticed.
        "client-to-server-pings" => client_to_server_pings: bool = true => Reconnect;
        /// The field dictionary (`RDMFieldDictionary`) that consumers get; without
        /// it, a small one of well-known fields.
        "dictionary" => dictionary: Option<PathBuf> = None;
        /// The enumeration tables (`enumtype.def`) that go with `dictionary`.
        "enums" => enums: Option<PathBuf> = None;
    }
}
