//! Sizes of buffers and what the network stack does.

use super::settings::Place::File;
use super::settings::Reach::{Host, Namespace};
use super::settings::Want::{AtLeast, Is, Nothing, Ports};
use super::settings::{Setting, Want, apart, same};

/// Rows, in the order in which they are told.
pub(super) const ROWS: [Setting; 22] = [
    same(
        "net.core.rmem_max",
        File("proc/sys/net/core/rmem_max", 0),
        AtLeast(16_777_216),
        Host,
        "S0 2.2.5, S1",
    ),
    same(
        "net.core.wmem_max",
        File("proc/sys/net/core/wmem_max", 0),
        AtLeast(16_777_216),
        Host,
        "S0 2.2.5, S1",
    ),
    same(
        "net.core.rmem_default",
        File("proc/sys/net/core/rmem_default", 0),
        AtLeast(8_388_608),
        Host,
        "S0, S1, S3",
    ),
    same(
        "net.core.wmem_default",
        File("proc/sys/net/core/wmem_default", 0),
        AtLeast(8_388_608),
        Host,
        "S0, S1, S3",
    ),
    same(
        "net.core.optmem_max",
        File("proc/sys/net/core/optmem_max", 0),
        AtLeast(1_677_216),
        Host,
        "S3, as printed",
    ),
    same(
        "net.ipv4.tcp_rmem",
        File("proc/sys/net/ipv4/tcp_rmem", 2),
        AtLeast(16_777_216),
        Namespace,
        "S0, S1, S3",
    ),
    same(
        "net.ipv4.tcp_wmem",
        File("proc/sys/net/ipv4/tcp_wmem", 2),
        AtLeast(16_777_216),
        Namespace,
        "S0, S1, S3",
    ),
    same(
        "net.ipv4.tcp_mem",
        File("proc/sys/net/ipv4/tcp_mem", 2),
        Want::Told,
        Host,
        "S0, S3: never below the present",
    ),
    same(
        "net.ipv4.udp_mem",
        File("proc/sys/net/ipv4/udp_mem", 2),
        Want::Told,
        Host,
        "S0, S3: never below the present",
    ),
    same(
        "net.ipv4.udp_rmem_min",
        File("proc/sys/net/ipv4/udp_rmem_min", 0),
        AtLeast(16_384),
        Namespace,
        "S3",
    ),
    same(
        "net.ipv4.udp_wmem_min",
        File("proc/sys/net/ipv4/udp_wmem_min", 0),
        AtLeast(16_384),
        Namespace,
        "S3",
    ),
    apart(
        "net.ipv4.tcp_timestamps",
        File("proc/sys/net/ipv4/tcp_timestamps", 0),
        (Is("0"), Nothing),
        Namespace,
        "S3; without loss, never over a WAN",
    )
    .advice(),
    apart(
        "net.ipv4.tcp_sack",
        File("proc/sys/net/ipv4/tcp_sack", 0),
        (Is("0"), Nothing),
        Namespace,
        "S3; without loss, never over a WAN",
    )
    .advice(),
    same(
        "net.ipv4.tcp_low_latency",
        File("proc/sys/net/ipv4/tcp_low_latency", 0),
        Want::Told,
        Namespace,
        "S3; no effect since 4.14",
    ),
    same(
        "net.ipv4.tcp_dma_copybreak",
        File("proc/sys/net/ipv4/tcp_dma_copybreak", 0),
        Want::Told,
        Namespace,
        "S3; no effect since 4.14",
    ),
    same(
        "net.ipv4.ip_local_port_range",
        File("proc/sys/net/ipv4/ip_local_port_range", 0),
        Ports(28_000),
        Namespace,
        "S0, S1",
    ),
    same(
        "net.ipv4.tcp_slow_start_after_idle",
        File("proc/sys/net/ipv4/tcp_slow_start_after_idle", 0),
        Is("0"),
        Namespace,
        "tuned network-throughput",
    ),
    apart(
        "net.ipv4.tcp_notsent_lowat",
        File("proc/sys/net/ipv4/tcp_notsent_lowat", 0),
        (Nothing, Is("131072")),
        Namespace,
        "tuned",
    ),
    same(
        "net.core.somaxconn",
        File("proc/sys/net/core/somaxconn", 0),
        AtLeast(2048),
        Namespace,
        "tuned",
    ),
    same(
        "net.core.netdev_max_backlog",
        File("proc/sys/net/core/netdev_max_backlog", 0),
        AtLeast(10_000),
        Host,
        "ours: loopback and veth go through it",
    ),
    apart(
        "net.core.busy_poll",
        File("proc/sys/net/core/busy_poll", 0),
        (Is("50"), Is("0")),
        Host,
        "tuned network-latency; not for lo, veth",
    ),
    apart(
        "net.core.busy_read",
        File("proc/sys/net/core/busy_read", 0),
        (Is("50"), Is("0")),
        Host,
        "tuned network-latency; not for lo, veth",
    ),
];
