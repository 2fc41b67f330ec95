//! What was counted on a core: interrupts, softirqs, switches, stolen time, SMIs.
//!
//! Counts, not causes: a gap beyond them is the hypervisor's, the firmware's or
//! nobody's that tells.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Ticks of `/proc/stat` are hundredths of a second.
const MS_PER_TICK: u64 = 10;

/// The register in which processors that have it count system management
/// interrupts since they were reset.
const MSR_SMI_COUNT: u64 = 0x34;

/// What was counted since boot, or between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Interrupts by the name of their line.
    pub interrupts: BTreeMap<String, u64>,
    /// Softirqs by their name.
    pub softirqs: BTreeMap<String, u64>,
    /// Times that the thread had to give the core up.
    pub switches: u64,
    /// How long the thread waited for the core, in nanoseconds.
    pub waited_ns: u64,
    /// Time that the host gave to others, in ms.
    pub steal_ms: u64,
    /// Times that the firmware had the core; `None` where the processor does not
    /// tell, or not to this process.
    pub smis: Option<u64>,
}

impl Counts {
    /// Now, of a core and of the calling thread.
    pub fn read(core: usize) -> Self {
        let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let thread = "/proc/thread-self";
        Self {
            interrupts: interrupts(&file("/proc/interrupts"), core),
            softirqs: interrupts(&file("/proc/softirqs"), core),
            switches: involuntary(&file(&format!("{thread}/status"))),
            waited_ns: waited_ns(&file(&format!("{thread}/schedstat"))),
            steal_ms: steal_ms(&file("/proc/stat"), core),
            smis: smis(&format!("/dev/cpu/{core}/msr")),
        }
    }

    /// What came since `before`, lines without any left out.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            interrupts: grown(&self.interrupts, &before.interrupts),
            softirqs: grown(&self.softirqs, &before.softirqs),
            switches: self.switches.saturating_sub(before.switches),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            steal_ms: self.steal_ms.saturating_sub(before.steal_ms),
            smis: self.smis.zip(before.smis).map(|(now, then)| now.wrapping_sub(then)),
        }
    }

    /// All interrupts together.
    pub fn interrupt_count(&self) -> u64 {
        self.interrupts.values().sum()
    }
}

/// What was counted since, lines without any left out.
fn grown(now: &BTreeMap<String, u64>, then: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let since = |(name, count): (&String, &u64)| {
        let before = then.get(name).copied().unwrap_or_default();
        (name.clone(), count.saturating_sub(before))
    };
    now.iter().map(since).filter(|(_, count)| *count > 0).collect()
}

fn smis(path: &str) -> Option<u64> {
    let mut bytes = [0; 8];
    File::open(path).ok()?.read_exact_at(&mut bytes, MSR_SMI_COUNT).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// The column of a core in `/proc/interrupts` or `/proc/softirqs`, by the name
/// of the line.
fn interrupts(text: &str, core: usize) -> BTreeMap<String, u64> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let wanted = format!("CPU{core}");
    let Some(column) = head.iter().position(|name| *name == wanted) else { return BTreeMap::new() };
    let mut all = BTreeMap::new();
    for line in lines {
        let Some((number, rest)) = line.split_once(':') else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let Some(Ok(count)) = words.get(column).map(|word| word.parse::<u64>()) else { continue };
        let is_number = number.trim().bytes().all(|byte| byte.is_ascii_digit());
        let name = match (is_number, words.last()) {
            (true, Some(device)) => format!("{} {device}", number.trim()),
            _ => number.trim().to_owned(),
        };
        all.insert(name, count);
    }
    all
}

fn involuntary(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

fn waited_ns(schedstat: &str) -> u64 {
    schedstat.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or_default()
}

fn steal_ms(stat: &str, core: usize) -> u64 {
    let name = format!("cpu{core} ");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name));
    let ticks = line.and_then(|line| line.split_whitespace().nth(7)?.parse::<u64>().ok());
    ticks.unwrap_or_default() * MS_PER_TICK
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "            CPU0       CPU1
   1:         12          0   IO-APIC   1-edge      i8042
  24:          0        345  PCI-MSI 524288-edge      eth0-rx-0
 LOC:       1000       2000   Local timer interrupts
 ERR:          0
";

    #[test]
    fn a_core_has_its_column() {
        let of = interrupts(INTERRUPTS, 1);
        let expected = [("1 i8042", 0), ("24 eth0-rx-0", 345), ("LOC", 2000)];
        assert_eq!(of, expected.map(|(name, count)| (name.to_owned(), count)).into());
        assert_eq!(interrupts(INTERRUPTS, 2).len(), 0);
        let softirqs = "   CPU0 CPU1\n  TIMER:  7  9\n NET_RX: 1 2\n";
        let expected = [("NET_RX", 2), ("TIMER", 9)];
        let of = interrupts(softirqs, 1);
        assert_eq!(of, expected.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn what_grew_is_told() {
        let interrupts = |loc| [("LOC".to_owned(), loc), ("1 i8042".to_owned(), 12)].into();
        let softirqs = |timer| [("TIMER".to_owned(), timer), ("HI".to_owned(), 1)].into();
        let before = Counts {
            interrupts: interrupts(5),
            softirqs: softirqs(2),
            switches: 3,
            waited_ns: 10,
            steal_ms: 20,
            smis: Some(70),
        };
        let after = Counts {
            interrupts: interrupts(9),
            softirqs: softirqs(5),
            switches: 4,
            waited_ns: 15,
            steal_ms: 30,
            smis: Some(72),
        };
        let grown = after.since(&before);
        assert_eq!(grown.interrupts, [("LOC".to_owned(), 4)].into());
        assert_eq!((grown.interrupt_count(), grown.switches, grown.steal_ms), (4, 1, 10));
        assert_eq!(grown.softirqs, [("TIMER".to_owned(), 3)].into());
        assert_eq!((grown.waited_ns, grown.smis), (5, Some(2)));
        assert_eq!(after.since(&Counts { smis: None, ..before }).smis, None);
    }

    #[test]
    fn files_of_the_kernel_are_read() {
        assert_eq!(involuntary("Name:\tx\nnonvoluntary_ctxt_switches:\t17\n"), 17);
        assert_eq!(waited_ns("100 42 7\n"), 42);
        let stat = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 80 9 10\n";
        assert_eq!((steal_ms(stat, 1), steal_ms(stat, 0)), (800, 0));
        let folder = tempfile::tempdir().unwrap();
        let registers = folder.path().join("msr");
        let path = registers.to_str().unwrap();
        assert_eq!(smis(path), None);
        fs::write(&registers, [&[0; 0x34][..], &[9, 1], &[0; 6]].concat()).unwrap();
        assert_eq!(smis(path), Some(0x109));
    }
}
