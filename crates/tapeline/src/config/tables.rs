//! Keys of what there may be any number of at a server: ports and users.

use super::section::section;
use super::value::choice;

choice! {
    /// How consumers connect to a port.
    PortTransport {
        /// RSSL.
        "rssl" => Rssl,
        /// WebSocket.
        "ws" => WebSocket,
        /// RSSL over TLS.
        "rssl-tls" => RsslTls,
        /// WebSocket over TLS.
        "wss" => WebSocketTls,
    }
}

section! {
    /// A further port for consumers, or one of `[server]` whose consumers get
    /// something else; there may be any number of these. A key that is not here is as
    /// in `[server]`.
    ServerPort = "server.port" {
        /// The port.
        "port" => port: u16 = 0, in 1..=65535 => Reconnect;
        /// How consumers connect to it.
        "transport" => transport: PortTransport = PortTransport::Rssl => Reconnect;
        /// The shortest ping time-out that is granted.
        "min-ping-timeout-s" => min_ping_timeout_s: Option<u8> = None => Reconnect;
        /// The longest ping time-out that is granted.
        "max-ping-timeout-s" => max_ping_timeout_s: Option<u8> = None => Reconnect;
        /// How long nothing is sent to a consumer before it is pinged.
        "ping-interval-s" => ping_interval_s: Option<u8> = None => Reconnect;
        /// Whether a consumer is pinged.
        "server-to-client-pings" => pings_to_clients: Option<bool> = None => Reconnect;
        /// Whether a consumer is cut that is silent for its ping time-out.
        "client-to-server-pings" => client_to_server_pings: Option<bool> = None => Reconnect;
        /// Whether consumers may choose to compress.
        "compression" => compression: Option<bool> = None => Reconnect;
        /// The level of zlib, 0 to 9.
        "compression-level" => compression_level: Option<u8> = None => Reconnect;
        /// Whether the kernel sends at once or gathers small writes.
        "tcp-no-delay" => tcp_no_delay: Option<bool> = None => Reconnect;
        /// The kernel's send buffer of each mount.
        "tcp-send-buffer-bytes" => tcp_send_buffer_bytes: Option<u32> = None => Reconnect;
        /// Most output that may wait for one mount.
        "output-max-bytes" => output_max_bytes: Option<usize> = None => Reconnect;
    }
}

section! {
    /// A user with bounds of its own; there may be any number of these. A key that is
    /// not here is as in `[server]`.
    ServerUser = "server.user" {
        /// The name that the user logs in with.
        "name" => name: String = String::new() => Live;
        /// Most items that the user may have open over all mounts.
        "item-limit" => item_limit: Option<usize> = None => Live;
        /// Most items that one mount of the user may have open.
        "item-limit-per-mount" => item_limit_per_mount: Option<usize> = None => Live;
        /// Most mounts at a time of the user.
        "max-mounts" => max_mounts: Option<usize> = None => Live;
        /// The highest class of priority of the user; what asks for a higher one gets
        /// this one.
        "max-priority-class" => max_priority_class: Option<u8> = None => Live;
    }
}
