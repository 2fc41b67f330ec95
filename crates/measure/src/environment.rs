//! The machine and the program, for the record.

mod parse;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs};

use serde::{Deserialize, Serialize};

use parse::after_colon;

/// Readings of the clock whose cost is measured at once.
const CLOCK_READINGS: u32 = 10_000;

/// Flags of a processor that timing, copying and parsing depend on.
const CPU_FLAGS: [&str; 21] = [
    "constant_tsc",
    "nonstop_tsc",
    "tsc_known_freq",
    "tsc_reliable",
    "rdtscp",
    "hypervisor",
    "sse4_2",
    "avx",
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "bmi1",
    "bmi2",
    "erms",
    "fsrm",
    "pcid",
    "invpcid",
    "aes",
    "vaes",
    "waitpkg",
];

/// Kernel parameters that latency and throughput depend on, up to `=` or `.`.
/// Others may name hosts and disks and are nobody's business.
const KERNEL_PARAMETERS: [&str; 41] = [
    "amd_pstate",
    "audit",
    "clocksource",
    "cpufreq",
    "cpuidle",
    "cpuidle_haltpoll",
    "hugepages",
    "default_hugepagesz",
    "hugepagesz",
    "haltpoll",
    "idle",
    "intel_idle",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "lapic",
    "maxcpus",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "nr_cpus",
    "numa_balancing",
    "pcie_aspm",
    "preempt",
    "processor",
    "pti",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "workqueue",
];

/// What a tuning guide sets (parameters of `sysctl`).
const SYSCTLS: [&str; 24] = [
    "kernel.numa_balancing",
    "kernel.nmi_watchdog",
    "kernel.sched_rt_runtime_us",
    "kernel.timer_migration",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_low_latency",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "net.ipv4.tcp_congestion_control",
    "vm.swappiness",
];

/// Limits of the process, as `/proc/self/limits` names them.
const LIMITS: [&str; 5] = [
    "Max open files",
    "Max locked memory",
    "Max realtime priority",
    "Max nice priority",
    "Max processes",
];

/// The machine and the program. What the system does not tell is absent.
///
/// No name of a host and no path is in here, but for what stands in the
/// command line of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Version of the program.
    pub version: String,
    /// The commit of the tree that it was built in; with `-dirty` if the tree
    /// has changes. From `TAPELINE_COMMIT` at build time, or from `git` now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Whether the program was built with debug assertions: no figure of such
    /// a program means anything.
    pub is_debug_build: bool,
    /// What was typed.
    pub command_line: Vec<String>,
    /// When it was started: `2026-11-22T04:15:02Z`.
    pub started_utc: String,
    /// Release and build of the kernel: `6.18.44 #1 SMP PREEMPT_DYNAMIC`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Kernel parameters that figures depend on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel_parameters: Vec<String>,
    /// The processor.
    pub cpu: Cpu,
    /// The hypervisor, if the machine is virtual: its name if it tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// Memory of the machine, in KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_kib: Option<u64>,
    /// When the kernel makes huge pages of small ones: `madvise`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transparent_hugepages: Option<String>,
    /// Network interfaces, the loopback one included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// Parameters of the kernel that tuning guides set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
    /// What the kernel takes the time from: `tsc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// What reading the clock costs, in nanoseconds, measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_read_ns: Option<f64>,
    /// Libraries of `LD_PRELOAD`, without their folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preload: Vec<String>,
    /// Limits of the process.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, String>,
    /// What the machine did when the program started; its share of stolen time
    /// is since boot.
    pub before: Load,
    /// What it did from then to the end of the last measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub during: Option<Load>,
    /// What the cores had done when the program started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticks: Option<Ticks>,
}

/// The processor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// Model name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Revision of the microcode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// Flags that figures depend on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Cores that the system has in use, as the kernel numbers them: `0-7`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<String>,
    /// Cores that this process may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    /// Cores that are kept free of other work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated: Option<String>,
    /// Whether cores are shared by two threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_smt: Option<bool>,
    /// The cores of each NUMA node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numa_nodes: Vec<String>,
    /// What sets the frequency: `performance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// What puts idle cores to sleep: `intel_idle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_driver: Option<String>,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its driver; absent if it is not a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Its place on the bus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// Its speed, in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbit_per_s: Option<u64>,
    /// Largest packet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u64>,
    /// Packets that wait to be sent at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_queue_packets: Option<u64>,
    /// How long received packets are held back to be merged, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro_flush_ns: Option<u64>,
}

/// What a machine did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Threads that ran or waited to, in the mean of 1, 5 and 15 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<[f64; 3]>,
    /// Share of the time that the host gave to others, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stolen_percent: Option<f64>,
    /// Share of the time in which cores worked, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_percent: Option<f64>,
}

/// Ticks of all cores together since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ticks {
    /// All.
    pub all: u64,
    /// With nothing to do, or waiting for a disk.
    pub idle: u64,
    /// That the host gave to others.
    pub stolen: u64,
}

impl Environment {
    /// This machine now. Takes some milliseconds.
    pub fn read() -> Self {
        let file = |path: &str| fs::read_to_string(path).ok();
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            git_commit: git_commit(),
            is_debug_build: cfg!(debug_assertions),
            command_line: env::args().collect(),
            started_utc: parse::utc(since_epoch.unwrap_or_default()),
            clock_read_ns: Some(clock_read_ns()),
            preload: env::var("LD_PRELOAD").map_or(Vec::new(), |text| parse::libraries(&text)),
            ..Self::of_files(&file)
        }
    }

    /// The same after a run, with what the machine did since [`Self::read`].
    #[must_use]
    pub fn after(self) -> Self {
        let file = |path: &str| fs::read_to_string(path).ok();
        let during = load(&file, self.ticks);
        Self { during: Some(during), ..self }
    }

    /// What files of `/proc` and `/sys` tell.
    fn of_files(file: &dyn Fn(&str) -> Option<String>) -> Self {
        let word = |path: &str| {
            file(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let release = word("/proc/sys/kernel/osrelease");
        let build = word("/proc/sys/kernel/version");
        let parameters = word("/proc/cmdline").unwrap_or_default();
        let cpu_info = file("/proc/cpuinfo").unwrap_or_default();
        let memory = file("/proc/meminfo").unwrap_or_default();
        let limits = file("/proc/self/limits").unwrap_or_default();
        let huge_pages = word("/sys/kernel/mm/transparent_hugepage/enabled");
        let sysctl = |name: &&str| {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            word(&path).map(|value| ((*name).to_owned(), value.replace('\t', " ")))
        };
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: release.map(|release| match build {
                Some(build) => format!("{release} {build}"),
                None => release,
            }),
            kernel_parameters: parse::only_named(&parameters, &KERNEL_PARAMETERS),
            cpu: cpu(&word, &cpu_info, file("/proc/self/status").as_deref()),
            hypervisor: hypervisor(&word, &cpu_info),
            memory_kib: after_colon(&memory, "MemTotal").and_then(|kib| parse::number(&kib)),
            transparent_hugepages: huge_pages.map(|text| parse::chosen(&text)),
            interfaces: interfaces(&word, &file("/proc/net/dev").unwrap_or_default()),
            sysctls: SYSCTLS.iter().filter_map(sysctl).collect(),
            clock_source: word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            limits: parse::limits(&limits, &LIMITS),
            before: load(file, None),
            ticks: ticks(file),
            ..Self::default()
        }
    }
}

fn cpu(word: &dyn Fn(&str) -> Option<String>, info: &str, status: Option<&str>) -> Cpu {
    let flags = after_colon(info, "flags").unwrap_or_default();
    let system = "/sys/devices/system";
    let nodes = parse::list(&word(&format!("{system}/node/online")).unwrap_or_default());
    let cores_of = |node: u32| word(&format!("{system}/node/node{node}/cpulist"));
    Cpu {
        model: after_colon(info, "model name"),
        microcode: after_colon(info, "microcode"),
        flags: parse::only_named(&flags, &CPU_FLAGS),
        online: word(&format!("{system}/cpu/online")),
        allowed: status.and_then(|status| after_colon(status, "Cpus_allowed_list")),
        isolated: word(&format!("{system}/cpu/isolated")),
        has_smt: word(&format!("{system}/cpu/smt/active")).map(|active| active == "1"),
        numa_nodes: nodes.into_iter().filter_map(cores_of).collect(),
        governor: word(&format!("{system}/cpu/cpu0/cpufreq/scaling_governor")),
        idle_driver: word(&format!("{system}/cpu/cpuidle/current_driver")),
    }
}

/// A machine without the flag of guests is no guest.
fn hypervisor(word: &dyn Fn(&str) -> Option<String>, cpu_info: &str) -> Option<String> {
    let flags = after_colon(cpu_info, "flags")?;
    flags.split_whitespace().find(|flag| *flag == "hypervisor")?;
    let product = word("/sys/class/dmi/id/product_name");
    let vendor = word("/sys/class/dmi/id/sys_vendor");
    let by_product = || Some([vendor?, product?].join(" "));
    let name = word("/sys/hypervisor/type").or_else(by_product);
    Some(name.unwrap_or_else(|| "unnamed".to_owned()))
}

fn interfaces(word: &dyn Fn(&str) -> Option<String>, net_dev: &str) -> Vec<Interface> {
    let interface = |name: String| {
        let of = |what: &str| word(&format!("/sys/class/net/{name}/{what}"));
        let number = |what: &str| of(what).and_then(|text| parse::number(&text));
        let device = of("device/uevent").unwrap_or_default();
        Interface {
            driver: parse::assigned(&device, "DRIVER"),
            pci: parse::assigned(&device, "PCI_SLOT_NAME"),
            speed_mbit_per_s: number("speed"),
            mtu_bytes: number("mtu"),
            tx_queue_packets: number("tx_queue_len"),
            gro_flush_ns: number("gro_flush_timeout"),
            name,
        }
    };
    parse::interfaces(net_dev).into_iter().map(interface).collect()
}

fn ticks(file: &dyn Fn(&str) -> Option<String>) -> Option<Ticks> {
    Ticks::of(&file("/proc/stat")?)
}

/// What the machine did since it had those ticks, or since it was started.
fn load(file: &dyn Fn(&str) -> Option<String>, since: Option<Ticks>) -> Load {
    let spent = ticks(file).map(|now| now.since(since.unwrap_or_default()));
    Load {
        average: file("/proc/loadavg").and_then(|text| parse::load_average(&text)),
        stolen_percent: spent.and_then(Ticks::stolen_percent),
        busy_percent: spent.and_then(Ticks::busy_percent),
    }
}

/// The commit that the tree is at in which this program was built, if the tree
/// is still there.
fn git_commit() -> Option<String> {
    if let Some(commit) = option_env!("TAPELINE_COMMIT") {
        return Some(commit.to_owned());
    }
    let output = Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty", "--abbrev=12"])
        .args(["--exclude=*"])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}

/// What reading the clock costs: the least of several trials, since a trial may
/// be interrupted.
fn clock_read_ns() -> f64 {
    let trial = || {
        let start = Instant::now();
        for _ in 0..CLOCK_READINGS {
            black_box(Instant::now());
        }
        start.elapsed()
    };
    let least = (0..5).map(|_| trial()).min().unwrap_or(Duration::ZERO);
    (least.as_secs_f64() * 1e10 / f64::from(CLOCK_READINGS)).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small machine.
    fn sample(path: &str) -> Option<String> {
        let text = match path {
            "/proc/sys/kernel/osrelease" => "6.1.0-rt\n",
            "/proc/sys/kernel/version" => "#1 SMP PREEMPT_RT Debian\n",
            "/proc/cmdline" => "root=LABEL=secret isolcpus=2-3 ip=host.example.com mitigations=off",
            "/proc/cpuinfo" => {
                "processor\t: 0\nmodel name\t: Old Iron 7\nmicrocode\t: 0x2a\n\
                 flags\t\t: fpu avx2 hypervisor constant_tsc\n\nprocessor\t: 1\n"
            }
            "/proc/meminfo" => "MemTotal:       24684096 kB\nMemFree: 1 kB\n",
            "/proc/self/status" => "Name:\tx\nCpus_allowed_list:\t0-1\n",
            "/proc/self/limits" => {
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max open files            20000                30000                files\n"
            }
            "/proc/loadavg" => "0.84 1.20 1.32 2/91 13552\n",
            "/proc/stat" => "cpu  60 0 20 100 0 0 0 20 0 0\ncpu0 1 2 3\n",
            "/proc/net/dev" => "Inter-| Receive\n face |bytes\n  eth0: 1 2 3\n    lo: 4 5 6\n",
            "/proc/sys/net/ipv4/tcp_rmem" => "4096\t131072\t6291456\n",
            "/sys/class/net/eth0/device/uevent" => "DRIVER=sfc\nPCI_SLOT_NAME=0000:3b:00.0\n",
            "/sys/class/net/eth0/speed" => "10000\n",
            "/sys/class/net/lo/mtu" => "65536\n",
            "/sys/class/net/lo/speed" => "-1\n",
            "/sys/devices/system/node/online" | "/sys/devices/system/node/node0/cpulist" => "0-1\n",
            "/sys/devices/system/node/node1/cpulist" => "2-3\n",
            "/sys/devices/system/cpu/smt/active" => "0\n",
            "/sys/devices/system/cpu/isolated" => "\n",
            "/sys/kernel/mm/transparent_hugepage/enabled" => "always [madvise] never\n",
            "/sys/hypervisor/type" => "xen\n",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn the_files_of_a_machine_are_read() {
        let machine = Environment::of_files(&sample);
        assert_eq!(machine.kernel.as_deref(), Some("6.1.0-rt #1 SMP PREEMPT_RT Debian"));
        assert_eq!(machine.kernel_parameters, ["isolcpus=2-3", "mitigations=off"]);
        assert_eq!(machine.cpu.model.as_deref(), Some("Old Iron 7"));
        assert_eq!(machine.cpu.flags, ["avx2", "hypervisor", "constant_tsc"]);
        assert_eq!(machine.cpu.allowed.as_deref(), Some("0-1"));
        assert_eq!(machine.cpu.numa_nodes, ["0-1", "2-3"]);
        assert_eq!((machine.cpu.has_smt, machine.cpu.isolated), (Some(false), None));
        assert_eq!(machine.hypervisor.as_deref(), Some("xen"));
        assert_eq!(machine.memory_kib, Some(24_684_096));
        assert_eq!(machine.transparent_hugepages.as_deref(), Some("madvise"));
        let [eth, lo] = &machine.interfaces[..] else { panic!("{:?}", machine.interfaces) };
        assert_eq!((eth.name.as_str(), eth.speed_mbit_per_s), ("eth0", Some(10_000)));
        assert_eq!(
            (eth.driver.as_deref(), eth.pci.as_deref()),
            (Some("sfc"), Some("0000:3b:00.0"))
        );
        assert_eq!((lo.mtu_bytes, lo.speed_mbit_per_s, &lo.driver), (Some(65_536), None, &None));
        assert_eq!(machine.sysctls["net.ipv4.tcp_rmem"], "4096 131072 6291456");
        assert_eq!(machine.limits["Max open files"], "20000 of 30000 files");
        assert_eq!(machine.before.average, Some([0.84, 1.20, 1.32]));
        assert_eq!(machine.before.stolen_percent, Some(10.0));
    }

    #[test]
    fn what_a_machine_does_not_tell_is_absent() {
        let silent = Environment::of_files(&|_| None);
        let nothing =
            Environment { version: env!("CARGO_PKG_VERSION").to_owned(), ..Environment::default() };
        assert_eq!(silent, nothing);
        let garbage = Environment::of_files(&|_| Some("\0:: =\n\u{fffd}[".to_owned()));
        assert_eq!((garbage.memory_kib, garbage.before.average), (None, None));
    }

    #[test]
    fn this_machine_can_be_read_and_kept() {
        let machine = Environment::read().after();
        assert!(machine.started_utc.starts_with("20"), "{machine:?}");
        assert!(machine.during.is_some());
        assert!(machine.clock_read_ns.is_some_and(|ns| ns > 0.0 && ns < 1e6), "{machine:?}");
        let text = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), machine);
    }
}
