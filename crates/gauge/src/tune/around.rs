//! Interrupts, the network card, limits, services and firmware.

use super::settings::Place::{
    Card, Cores, CpuFlag, File, Interface, KernelParameter, Limit, Nowhere, Queues, Service,
};
use super::settings::Reach::{Boot, Host, Namespace};
use super::settings::Want::{AtLeast, Is, Nothing};
use super::settings::{Reach, Setting, Want, apart, same};

/// Rows, in the order in which they are told.
pub(super) const ROWS: [Setting; 31] = [
    apart(
        "workqueue cpumask",
        Cores("sys/devices/virtual/workqueue/cpumask"),
        (Is("off the cores"), Nothing),
        Host,
        "tuned realtime",
    ),
    apart(
        "writeback cpumask",
        Cores("sys/bus/workqueue/devices/writeback/cpumask"),
        (Is("off the cores"), Nothing),
        Host,
        "tuned realtime",
    ),
    apart("rps_cpus", Queues("rx-", "rps_cpus"), (Is("0"), Nothing), Namespace, "ours"),
    apart("xps_cpus", Queues("tx-", "xps_cpus"), (Is("0"), Nothing), Namespace, "ours"),
    apart("napi threaded", Interface("threaded"), (Is("0"), Nothing), Namespace, "ours"),
    apart(
        "napi_defer_hard_irqs",
        Interface("napi_defer_hard_irqs"),
        (Is("0"), Nothing),
        Namespace,
        "ours",
    ),
    apart(
        "gro_flush_timeout",
        Interface("gro_flush_timeout"),
        (Is("0"), Nothing),
        Namespace,
        "ours",
    ),
    same("tx_queue_len", Interface("tx_queue_len"), AtLeast(5000), Namespace, "S0, S1"),
    apart("tso", Card("tso"), (Want::Told, Is("on")), Namespace, "S1 3.12: no difference").advice(),
    apart("gso", Card("gso"), (Want::Told, Is("on")), Namespace, "S1 3.12: no difference").advice(),
    apart("gro", Card("gro"), (Is("off"), Is("on")), Namespace, "S1 3.12: no difference").advice(),
    apart("lro", Card("lro"), (Is("off"), Is("on")), Namespace, "S1 3.12: no difference").advice(),
    apart("rx-usecs", Card("rx-usecs"), (Is("0"), Nothing), Namespace, "interrupt coalescing"),
    apart(
        "adaptive-rx",
        Card("adaptive-rx"),
        (Is("off"), Nothing),
        Namespace,
        "interrupt coalescing",
    ),
    same(
        "NIC numa_node",
        Interface("device/numa_node"),
        Want::Told,
        Reach::Told,
        "S2: cores next to the NIC",
    ),
    apart(
        "NIC firmware",
        Nowhere,
        (Want::Told, Nothing),
        Boot,
        "S2: 1.7 against 2.2 µs; guests need full-feature",
    )
    .advice(),
    same("RLIMIT_MEMLOCK", Limit("Max locked memory"), Is("unlimited"), Reach::Told, "S0"),
    same(
        "RLIMIT_RTPRIO",
        Limit("Max realtime priority"),
        AtLeast(55),
        Reach::Told,
        "S0 chrt -f 55, clients 49",
    ),
    same("RLIMIT_NOFILE", Limit("Max open files"), AtLeast(65_536), Reach::Told, "S0"),
    same("selinux", File("sys/fs/selinux/enforce", 0), Want::Told, Reach::Told, "S0, S1 4.5"),
    same("cron", Service("cron"), Is("not running"), Reach::Told, "S1 4.5; during a test"),
    same("crond", Service("crond"), Is("not running"), Reach::Told, "S1 4.5; during a test"),
    same("ntpd", Service("ntpd"), Is("not running"), Reach::Told, "S1 4.5, S3; during a test"),
    same(
        "chronyd",
        Service("chronyd"),
        Is("not running"),
        Reach::Told,
        "S1 4.5, S3; during a test",
    ),
    same("auditd", Service("auditd"), Is("not running"), Reach::Told, "S0; during a test"),
    same("tuned", Service("tuned"), Is("not running"), Reach::Told, "it sets its own values back"),
    same(
        "SMI count",
        Nowhere,
        Want::Told,
        Reach::Told,
        "S0: a kernel module against SMIs; see tapeline jitter",
    ),
    same("hypervisor", CpuFlag("hypervisor"), Is("no"), Reach::Told, "S2"),
    same(
        "CPU quota",
        File("sys/fs/cgroup/cpu.max", 0),
        Want::Told,
        Reach::Told,
        "S2: a quota stops threads",
    ),
    same("iommu", KernelParameter("intel_iommu=on"), Want::Told, Boot, "S2: on the host of guests"),
    same(
        "board firmware",
        Nowhere,
        Want::Told,
        Boot,
        "S3 4: performance mode; EIST, C-states, C1E, SMT, VMX off; prefetchers on; NUMA",
    )
    .advice(),
];
