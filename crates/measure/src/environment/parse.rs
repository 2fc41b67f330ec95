//! Texts of `/proc` and `/sys`, without reading them.

use std::collections::BTreeMap;
use std::time::Duration;

use time::UtcDateTime;

use super::Ticks;

/// More cores or nodes than this are not listed.
const MAX_LISTED: usize = 1024;

/// The value of the first line `key : value`.
pub(super) fn after_colon(text: &str, key: &str) -> Option<String> {
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    };
    text.lines().find_map(value).filter(|value| !value.is_empty())
}

/// The value of the line `key=value`.
pub(super) fn assigned(text: &str, key: &str) -> Option<String> {
    let value = |line: &str| Some(line.strip_prefix(key)?.strip_prefix('=')?.to_owned());
    text.lines().find_map(value)
}

/// The number that a text begins with.
pub(super) fn number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// The word in brackets: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> String {
    let inner = || Some(text.split_once('[')?.1.split_once(']')?.0);
    inner().unwrap_or(text).to_owned()
}

/// The words whose part before `=` or `.` is one of some names.
pub(super) fn only_named(text: &str, names: &[&str]) -> Vec<String> {
    let is_named = |word: &&str| {
        let name = word.split(['=', '.']).next().unwrap_or_default();
        names.contains(&name)
    };
    text.split_whitespace().filter(is_named).map(str::to_owned).collect()
}

/// The numbers of `0-2,5`.
pub(super) fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().take(MAX_LISTED).collect()
}

/// The names of interfaces in `/proc/net/dev`.
pub(super) fn interfaces(text: &str) -> Vec<String> {
    let name = |line: &str| Some(line.split_once(':')?.0.trim().to_owned());
    // A name that is no name would become a path.
    let is_name = |name: &String| !name.is_empty() && !name.contains(['/', ' ', '\0']);
    text.lines().skip(2).filter_map(name).filter(is_name).collect()
}

/// Files of `LD_PRELOAD`, without their folders.
pub(super) fn libraries(text: &str) -> Vec<String> {
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    text.split([':', ' ']).filter(|path| !path.is_empty()).map(file).collect()
}

/// Limits of `/proc/self/limits`: `20000 of 30000 files`, the present one and
/// the one that it may be raised to.
pub(super) fn limits(text: &str, names: &[&str]) -> BTreeMap<String, String> {
    let limit = |name: &&str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(*name))?;
        let mut words = rest.split_whitespace();
        let (soft, hard, unit) = (words.next()?, words.next()?, words.next().unwrap_or_default());
        Some(((*name).to_owned(), format!("{soft} of {hard} {unit}").trim_end().to_owned()))
    };
    names.iter().filter_map(limit).collect()
}

/// The first three numbers of `/proc/loadavg`.
pub(super) fn load_average(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace().map_while(|word| word.parse().ok());
    Some([words.next()?, words.next()?, words.next()?])
}

impl Ticks {
    /// Reads the first line of `/proc/stat`:
    ///
    /// ```text
    /// cpu  user nice system idle iowait irq softirq steal guest guest_nice
    /// ```
    ///
    /// Time of guests is in `user` and `nice` too.
    pub(super) fn of(stat: &str) -> Option<Self> {
        let fields = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> = fields.split_whitespace().map_while(|f| f.parse().ok()).collect();
        let [_, _, _, idle, io_wait, _, _, stolen, ..] = fields[..] else { return None };
        let all = fields[..8].iter().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
        Some(Self { all, idle: idle.saturating_add(io_wait), stolen })
    }

    pub(super) fn since(self, before: Self) -> Self {
        Self {
            all: self.all.saturating_sub(before.all),
            idle: self.idle.saturating_sub(before.idle),
            stolen: self.stolen.saturating_sub(before.stolen),
        }
    }

    pub(super) fn stolen_percent(self) -> Option<f64> {
        self.percent(self.stolen)
    }

    pub(super) fn busy_percent(self) -> Option<f64> {
        self.percent(self.all.saturating_sub(self.idle).saturating_sub(self.stolen))
    }

    /// To two digits after the point.
    fn percent(self, of: u64) -> Option<f64> {
        (self.all > 0).then(|| (of as f64 * 10_000.0 / self.all as f64).round() / 100.0)
    }
}

/// A moment as `2026-11-22T04:15:02Z`; one beyond 9999 as the last that there is.
pub(super) fn utc(since_epoch: Duration) -> String {
    let since_epoch = time::Duration::try_from(since_epoch).unwrap_or(time::Duration::MAX);
    let at = UtcDateTime::UNIX_EPOCH.saturating_add(since_epoch);
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second) = at.as_hms();
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_key() {
        let text = "model\t\t: 17\nmodel name\t: AMD EPYC: fast\nempty:\n";
        assert_eq!(after_colon(text, "model name").as_deref(), Some("AMD EPYC: fast"));
        assert_eq!(after_colon(text, "model").as_deref(), Some("17"));
        assert_eq!(after_colon(text, "mode"), None);
        assert_eq!(after_colon(text, "empty"), None);
        assert_eq!(assigned("DRIVERS=no\nDRIVER=sfc", "DRIVER").as_deref(), Some("sfc"));
    }

    #[test]
    fn only_named_words_remain() {
        let text = "isolcpus=1 processor.max_cstate=1 isolcpus2=3 root=/dev/sda nosmt";
        let kept = only_named(text, &["isolcpus", "processor", "nosmt"]);
        assert_eq!(kept, ["isolcpus=1", "processor.max_cstate=1", "nosmt"]);
    }

    #[test]
    fn lists_of_cores_are_read() {
        assert_eq!(list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(list(""), [0; 0]);
        assert_eq!(list("2-1,x,7-"), [0; 0]);
        assert_eq!(list("0-4294967295").len(), MAX_LISTED);
    }

    #[test]
    fn a_brackets_word_is_the_chosen_one() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("always"), "always");
    }

    #[test]
    fn interfaces_are_named() {
        let text = "Inter-|\n face |\n  eth0: 1 2\n  ../x: 3\nlo:4\n";
        assert_eq!(interfaces(text), ["eth0", "lo"]);
    }

    #[test]
    fn libraries_have_no_folders() {
        assert_eq!(libraries("/usr/lib/libonload.so:libvma.so "), ["libonload.so", "libvma.so"]);
    }

    #[test]
    fn limits_without_a_unit_are_read() {
        let text = "Max nice priority         0                    5                    \n";
        assert_eq!(limits(text, &["Max nice priority"])["Max nice priority"], "0 of 5");
        assert!(limits("Max nice priority", &["Max nice priority"]).is_empty());
    }

    #[test]
    fn stolen_time_is_a_share_of_all() {
        let before = Ticks::of("cpu  100 0 0 100 0 0 0 0 0 0\n").unwrap();
        let after = Ticks::of("cpu  150 0 0 120 10 0 0 20 9 9\n").unwrap();
        let spent = after.since(before);
        assert_eq!(spent.stolen_percent(), Some(20.0));
        assert_eq!(spent.busy_percent(), Some(50.0));
        assert_eq!(before.since(before).stolen_percent(), None);
        assert_eq!(Ticks::of("cpu  1 2 3\n"), None);
        assert_eq!(Ticks::of("cpu0 1 2 3 4 5 6 7 8\n"), None);
    }

    #[test]
    fn load_is_of_three_times() {
        assert_eq!(load_average("0.5 1.25 2 2/91 1"), Some([0.5, 1.25, 2.0]));
        assert_eq!(load_average("0.5 x 2"), None);
    }

    #[test]
    fn moments_are_dates() {
        let at = |seconds| utc(Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(at(1_795_320_902), "2026-11-22T04:15:02Z");
        assert_eq!(at(4_133_980_799), "2100-12-31T23:59:59Z");
        assert_eq!(at(u64::MAX), "9999-12-31T23:59:59Z");
    }
}
