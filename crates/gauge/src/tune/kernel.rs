//! What the kernel and its processors do.

use super::settings::Place::{
    Chosen, Cores, CpuFlag, Each, File, IdleStates, Interrupts, KernelParameter, Nowhere, Service,
};
use super::settings::Reach::{Boot, Host};
use super::settings::Want::{Is, Nothing};
use super::settings::{Setting, Want, apart, same};

const CPUS: &str = "sys/devices/system/cpu";

/// Rows, in the order in which they are told.
pub(super) const ROWS: [Setting; 31] = [
    apart(
        "kernel.numa_balancing",
        File("proc/sys/kernel/numa_balancing", 0),
        (Is("0"), Nothing),
        Host,
        "tuned",
    ),
    apart(
        "kernel.nmi_watchdog",
        File("proc/sys/kernel/nmi_watchdog", 0),
        (Is("0"), Nothing),
        Host,
        "tuned",
    ),
    apart(
        "kernel.timer_migration",
        File("proc/sys/kernel/timer_migration", 0),
        (Is("0"), Nothing),
        Host,
        "tuned",
    ),
    apart(
        "kernel.sched_rt_runtime_us",
        File("proc/sys/kernel/sched_rt_runtime_us", 0),
        (Nothing, Nothing),
        Host,
        "tuned realtime; with --cores that leave one out",
    )
    .real_time(Is("-1")),
    apart(
        "vm.stat_interval",
        File("proc/sys/vm/stat_interval", 0),
        (Is("10"), Nothing),
        Host,
        "tuned",
    ),
    same("vm.swappiness", File("proc/sys/vm/swappiness", 0), Is("10"), Host, "tuned"),
    apart(
        "transparent_hugepage",
        Chosen("sys/kernel/mm/transparent_hugepage/enabled"),
        (Is("never"), Is("madvise")),
        Host,
        "tuned; khugepaged stalls",
    ),
    apart("ksm", File("sys/kernel/mm/ksm/run", 0), (Is("0"), Nothing), Host, "tuned"),
    same(
        "scaling_governor",
        Each(CPUS, "cpufreq/scaling_governor"),
        Is("performance"),
        Host,
        "S1 cpuspeed off, S3 EIST off",
    ),
    same(
        "energy_performance_preference",
        Each(CPUS, "cpufreq/energy_performance_preference"),
        Is("performance"),
        Host,
        "tuned",
    ),
    same("energy_perf_bias", Each(CPUS, "power/energy_perf_bias"), Is("0"), Host, "tuned"),
    same(
        "min_perf_pct",
        File("sys/devices/system/cpu/intel_pstate/min_perf_pct", 0),
        Is("100"),
        Host,
        "tuned",
    ),
    same(
        "no_turbo",
        File("sys/devices/system/cpu/intel_pstate/no_turbo", 0),
        Is("0"),
        Host,
        "S3 max performance; a real-time system is steadier without",
    ),
    same(
        "boost",
        File("sys/devices/system/cpu/cpufreq/boost", 0),
        Is("1"),
        Host,
        "S3 max performance; a real-time system is steadier without",
    ),
    apart("cpu idle states", IdleStates, (Is("≤ 3 µs"), Nothing), Host, "S3 4, tuned"),
    apart("smt", File("sys/devices/system/cpu/smt/control", 0), (Is("off"), Nothing), Host, "S3")
        .advice(),
    apart(
        "isolcpus",
        KernelParameter("isolcpus"),
        (Want::Told, Nothing),
        Boot,
        "S0 shielded cores 0 to 6",
    ),
    apart("nohz_full", KernelParameter("nohz_full"), (Want::Told, Nothing), Boot, "tuned"),
    apart("rcu_nocbs", KernelParameter("rcu_nocbs"), (Want::Told, Nothing), Boot, "tuned"),
    apart("irqaffinity", KernelParameter("irqaffinity"), (Want::Told, Nothing), Boot, "tuned"),
    apart("skew_tick", KernelParameter("skew_tick=1"), (Want::Told, Nothing), Boot, "tuned"),
    apart("nosoftlockup", KernelParameter("nosoftlockup"), (Want::Told, Nothing), Boot, "tuned"),
    apart("tsc=reliable", KernelParameter("tsc=reliable"), (Want::Told, Nothing), Boot, "tuned"),
    apart(
        "kernel real-time",
        File("sys/kernel/realtime", 0),
        (Nothing, Nothing),
        Boot,
        "S0, S1 8.5",
    )
    .real_time(Is("1")),
    same("CONFIG_HZ", Nowhere, Want::Told, Boot, "S0, S1 8.5"),
    same(
        "clock source",
        File("sys/devices/system/clocksource/clocksource0/current_clocksource", 0),
        Is("tsc"),
        Boot,
        "ours",
    ),
    same("constant_tsc", CpuFlag("constant_tsc"), Is("yes"), Boot, "ours"),
    same("nonstop_tsc", CpuFlag("nonstop_tsc"), Is("yes"), Boot, "ours"),
    same(
        "default_smp_affinity",
        Cores("proc/irq/default_smp_affinity"),
        Is("off the cores"),
        Host,
        "S0: system interrupts on core 7",
    ),
    same("irq affinity", Interrupts, Is("off the cores"), Host, "S0, S1, S3 (core 1)"),
    same("irqbalance", Service("irqbalance"), Is("not running"), Host, "S1 3.11"),
];
