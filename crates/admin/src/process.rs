//! The process as the kernel sees it.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of a page of memory, and ticks of the kernel's clock a second, as all
/// kernels that this runs on have them in `/proc`.
const PAGE_BYTES: u64 = 4096;
const TICKS_PER_S: f64 = 100.0;

/// What `/proc` says of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Process {
    /// Bytes of memory that it has.
    pub(crate) resident_bytes: u64,
    /// Time that it had of processors, in seconds.
    pub(crate) cpu_s: f64,
    /// Files and sockets that it has open.
    pub(crate) descriptors: u64,
    /// The most that it may have.
    pub(crate) max_descriptors: u64,
    /// Datagrams that the kernel dropped at its UDP sockets, as nobody read them.
    pub(crate) datagrams_dropped: u64,
}

impl Process {
    /// Looks; what cannot be read is 0.
    pub(crate) fn look() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        Self {
            resident_bytes: number_at(&statm, 1) * PAGE_BYTES,
            cpu_s: cpu_s(&stat),
            descriptors: fs::read_dir("/proc/self/fd").map_or(0, |all| all.count() as u64),
            max_descriptors: max_descriptors(&limits),
            datagrams_dropped: datagrams_dropped(),
        }
    }
}

/// The kernel and its release.
pub(crate) fn system_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}

/// The time of day, in seconds since 1970.
pub(crate) fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn number_at(text: &str, place: usize) -> u64 {
    text.split_whitespace().nth(place).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// User and system time of a line of `stat`, whose second word may have blanks.
fn cpu_s(stat: &str) -> f64 {
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    (number_at(behind_name, 11) + number_at(behind_name, 12)) as f64 / TICKS_PER_S
}

fn max_descriptors(limits: &str) -> u64 {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.map_or(0, |line| number_at(line, 0))
}

/// The drops of this process' sockets: those of `/proc/net/udp` that it has open.
fn datagrams_dropped() -> u64 {
    let table = ["/proc/self/net/udp", "/proc/self/net/udp6"].map(fs::read_to_string);
    let lines: Vec<(u64, u64)> =
        table.iter().flatten().flat_map(|text| text.lines().skip(1)).map(inode_and_drops).collect();
    if lines.iter().all(|(_, drops)| *drops == 0) {
        return 0;
    }
    let own: Vec<u64> = own_sockets();
    lines.iter().filter(|(inode, _)| own.contains(inode)).map(|(_, drops)| drops).sum()
}

/// Of a line of `/proc/net/udp`.
fn inode_and_drops(line: &str) -> (u64, u64) {
    (number_at(line, 9), number_at(line, 12))
}

fn own_sockets() -> Vec<u64> {
    let links = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let targets = links.filter_map(|link| fs::read_link(link.path()).ok());
    let inode = |target: std::path::PathBuf| {
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    targets.filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read() {
        let stat = "7 (a b) S) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0";
        assert!((cpu_s(stat) - 3.0).abs() < 1e-9);
        assert_eq!(max_descriptors("Max open files            1024      4096   files\n"), 1024);
        let udp =
            "  9: 0100007F:1 00000000:0 07 00000000:00000000 00:00000000 00000000 0 0 4711 2 00 12";
        assert_eq!(inode_and_drops(udp), (4711, 12));
    }

    #[test]
    fn this_process_is_there() {
        let process = Process::look();
        assert!(process.resident_bytes > 0 && process.descriptors > 0, "{process:?}");
        assert!(process.max_descriptors >= process.descriptors, "{process:?}");
    }
}
