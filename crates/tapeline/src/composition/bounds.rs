//! What mounts may take, of all, at a port, and of a user.

use std::sync::Arc;

use tapeline_rssl::{Compression, Pings};
use tapeline_server::{Limits, PortConfig, UserLimits};

use crate::config::{self, ServerPort, ServerUser, Settings};

/// What mounts and hubs may take.
pub(super) fn limits(settings: &Settings) -> Limits {
    let server = &settings.server;
    Limits {
        users: Arc::new(settings.users.iter().map(user_limits).collect()),
        max_mounts: server.max_mounts,
        max_without_login: server.max_without_login,
        max_without_login_per_address: server.max_without_login_per_address,
        before_login_bytes: server.before_login_bytes,
        handshake_timeout_ms: server.handshake_timeout_ms,
        max_mounts_per_user: server.max_mounts_per_user,
        item_limit: server.item_limit,
        item_limit_per_mount: server.item_limit_per_mount,
        max_items: server.max_items,
        opens_per_s: server.opens_per_s,
        snapshot_window: server.snapshot_window,
        snapshots_per_s: server.snapshots_per_s,
        snapshot_queue: server.snapshot_queue,
        images_per_s: server.images_per_s,
        memory_max_bytes: server.memory_max_bytes,
        max_admin_streams: server.max_admin_streams,
        mount_messages_per_turn: server.mount_messages_per_turn,
        messages_per_turn: server.messages_per_turn,
        max_batch: server.max_batch,
        max_message_bytes: server.max_message_bytes,
        max_image_bytes: server.max_image_bytes,
        open_window: server.open_window,
        open_timeout_ms: server.open_timeout_ms,
        resync_interval_ms: server.resync_interval_ms,
        take_over_bytes_per_turn: server.takeover_bytes_per_turn,
        max_hubs: server.max_hubs,
        login_timeout_ms: server.login_timeout_ms,
        max_posts: server.max_posts,
        max_posts_per_mount: server.max_posts_per_mount,
        post_timeout_ms: server.post_timeout_ms,
        max_merged_bytes: server.merge_max_bytes,
        max_merged_bytes_per_mount: server.merge_max_bytes_per_mount,
        max_output_bytes: server.output_pool_bytes,
        ..Limits::default()
    }
}

/// What those get who connect to a port.
pub(super) fn port_config(port: &ServerPort, of_all: &config::Server) -> PortConfig {
    let (interval_s, are_expected) = (port.ping_interval_s, port.client_to_server_pings);
    let are_sent = port.pings_to_clients;
    let has_pings = interval_s.is_some() || are_sent.is_some() || are_expected.is_some();
    let compression = |is_on| if is_on { Compression::Zlib } else { Compression::None };
    PortConfig {
        port: port.port,
        min_ping_timeout_s: port.min_ping_timeout_s,
        max_ping_timeout_s: port.max_ping_timeout_s,
        pings: has_pings.then(|| Pings {
            interval_s: interval_s.or(of_all.ping_interval_s),
            are_sent: are_sent.unwrap_or(of_all.pings_to_clients),
            are_expected: are_expected.unwrap_or(of_all.client_to_server_pings),
        }),
        compression: port.compression.map(compression),
        compression_level: port.compression_level,
        tcp_no_delay: port.tcp_no_delay,
        tcp_send_buffer_bytes: port.tcp_send_buffer_bytes,
        output_max_bytes: port.output_max_bytes,
    }
}

/// The bounds of a user.
fn user_limits(user: &ServerUser) -> (String, UserLimits) {
    let ServerUser { name, item_limit, item_limit_per_mount, max_mounts, max_priority_class } =
        user.clone();
    (name, UserLimits { item_limit, item_limit_per_mount, max_mounts, max_priority_class })
}
