//! The table: which settings there are, what is wanted of each, and who says
//! so.

use super::around::ROWS as AROUND;
use super::kernel::ROWS as KERNEL;
use super::sysctls::ROWS as SYSCTLS;

/// What is tuned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    Latency,
    Throughput,
    /// Latency, and what a real-time kernel adds.
    RealTime,
}

impl Profile {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Throughput => "throughput",
            Self::RealTime => "realtime",
        }
    }
}

/// How far a change reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The network namespace.
    Namespace,
    /// The whole host.
    Host,
    /// It needs a boot, or the firmware's menu.
    Boot,
    /// The process and its limits, or it is only told.
    Told,
}

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Want {
    /// Nothing in this profile.
    Nothing,
    /// Never less; what is more stays.
    AtLeast(u64),
    /// This very text.
    Is(&'static str),
    /// So many ports between both numbers.
    Ports(u64),
    /// It is looked at and told.
    Told,
}

/// Where a setting stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A file, and which of its numbers.
    File(&'static str, usize),
    /// A file of which one of several words is in brackets.
    Chosen(&'static str),
    /// A file in each folder of a folder.
    Each(&'static str, &'static str),
    /// A file in the folder of the network interface.
    Interface(&'static str),
    /// A setting of the interface's card, which only the program ethtool tells.
    Card(&'static str),
    /// A file in each queue of the interface, whose name begins so.
    Queues(&'static str, &'static str),
    /// A mask or list of cores in a file: none of the kept cores may be in it.
    Cores(&'static str),
    /// The affinity of each interrupt.
    Interrupts,
    /// States of idle cores that take longer than 3 µs to leave.
    IdleStates,
    /// A word of the kernel's command line.
    KernelParameter(&'static str),
    /// A program that runs, by its name.
    Service(&'static str),
    /// A limit of this process.
    Limit(&'static str),
    /// A flag of the processor.
    CpuFlag(&'static str),
    /// Of no file that could be read: the row says what to look for.
    Nowhere,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) id: &'static str,
    pub(super) place: Place,
    pub(super) latency: Want,
    pub(super) throughput: Want,
    /// In addition to latency; `Nothing` is as latency has it.
    pub(super) real_time: Want,
    pub(super) reach: Reach,
    /// It helps some and hurts others: set only when asked for.
    pub(super) is_advice: bool,
    pub(super) source: &'static str,
}

pub(super) const fn same(
    id: &'static str,
    place: Place,
    want: Want,
    reach: Reach,
    source: &'static str,
) -> Setting {
    Setting {
        id,
        place,
        latency: want,
        throughput: want,
        real_time: Want::Nothing,
        reach,
        is_advice: false,
        source,
    }
}

pub(super) const fn apart(
    id: &'static str,
    place: Place,
    (latency, throughput): (Want, Want),
    reach: Reach,
    source: &'static str,
) -> Setting {
    Setting {
        id,
        place,
        latency,
        throughput,
        real_time: Want::Nothing,
        reach,
        is_advice: false,
        source,
    }
}

impl Setting {
    pub(super) const fn advice(self) -> Self {
        Self { is_advice: true, ..self }
    }

    pub(super) const fn real_time(self, want: Want) -> Self {
        Self { real_time: want, ..self }
    }

    pub(super) const fn want(&self, profile: Profile) -> Want {
        match (profile, self.real_time) {
            (Profile::Throughput, _) => self.throughput,
            (Profile::Latency, _) | (Profile::RealTime, Want::Nothing) => self.latency,
            (Profile::RealTime, want) => want,
        }
    }
}

/// All rows, in the order in which they are told.
pub(super) fn all() -> impl Iterator<Item = &'static Setting> {
    SYSCTLS.iter().chain(&KERNEL).chain(&AROUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_there_once_and_says_who_wants_it() {
        let mut seen = std::collections::BTreeSet::new();
        for setting in all() {
            assert!(!setting.source.is_empty(), "{}", setting.id);
            assert!(seen.insert(setting.id), "{}", setting.id);
        }
    }

    #[test]
    fn published_sysctls_are_rows() {
        let text = include_str!("../../published/tuning.csv");
        for line in text.lines().filter(|line| line.split(',').nth(1) == Some("sysctl")) {
            let id = line.split(',').nth(2).unwrap();
            assert!(all().any(|setting| setting.id == id), "{id}");
        }
    }

    #[test]
    fn real_time_is_latency_and_more() {
        let of = |id: &str| all().find(|setting| setting.id == id).unwrap();
        let runtime = of("kernel.sched_rt_runtime_us");
        assert_eq!(runtime.want(Profile::Latency), Want::Nothing);
        assert_eq!(runtime.want(Profile::RealTime), Want::Is("-1"));
        assert_eq!(of("vm.stat_interval").want(Profile::RealTime), Want::Is("10"));
        assert_eq!(of("vm.stat_interval").want(Profile::Throughput), Want::Nothing);
    }
}
