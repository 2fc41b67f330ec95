//! How mounts are taken, as the configuration says it.

use tapeline_channel::{
    Admission, ListenConfig, OutputLimits, SessionOptions, SocketOptions, StrangerLimits,
    TextConfig,
};

use crate::ServerConfig;

pub(crate) fn text_config(config: &ServerConfig) -> TextConfig {
    TextConfig {
        ping_timeout_s: config.json.ping_timeout_s,
        max_message_bytes: config.json.max_message_bytes,
        ..TextConfig::default()
    }
}

pub(crate) fn listen_config(config: &ServerConfig) -> ListenConfig {
    let mut listen = ListenConfig {
        max_sessions: config.limits.max_mounts,
        admission: Admission::Program,
        strangers: StrangerLimits {
            max_connections: config.limits.max_without_login,
            max_per_address: config.limits.max_without_login_per_address,
            message_bytes: config.limits.before_login_bytes,
            output_bytes: config.limits.before_login_bytes,
            ..StrangerLimits::default()
        },
        reuse_port: config.reuse_port,
        ..Default::default()
    };
    let rssl = &mut listen.rssl;
    rssl.min_ping_timeout_s = config.min_ping_timeout_s;
    rssl.max_ping_timeout_s = config.max_ping_timeout_s;
    rssl.pings = config.pings;
    rssl.compression = config.compression;
    rssl.compression_level = config.compression_level;
    rssl.compression_thresholds = config.compression_thresholds;
    rssl.fragment_bytes = config.fragment_bytes;
    rssl.limits.message_bytes = config.limits.max_message_bytes;
    rssl.limits.handshake_ms = config.limits.handshake_timeout_ms;
    rssl.origins = config.origins.clone();
    rssl.limits.reassembly_bytes = config.limits.max_message_bytes.saturating_mul(3);
    listen.session = SessionOptions {
        messages_per_poll: config.limits.mount_messages_per_turn,
        socket: SocketOptions {
            nodelay: config.tcp_no_delay,
            send_buffer_bytes: config.tcp_send_buffer_bytes.map(|bytes| bytes as usize),
            ..SocketOptions::default()
        },
        output: OutputLimits {
            breach_bytes: config.output.breach_bytes(),
            ok_bytes: config.output.ok_bytes(),
            max_bytes: config.output.max_bytes,
        },
        ..SessionOptions::default()
    };
    listen
}
