//! How much memory the process has, for members that have a bound of it.

use std::time::Duration;

use tapeline_time::Time;

/// How often it is looked at. To look takes some 10 µs.
const INTERVAL: Duration = Duration::from_millis(250);

/// Bytes of a page, as all kernels that this runs on have them in `/proc`.
const PAGE_BYTES: usize = 4096;

/// When memory was looked at.
#[derive(Debug, Default)]
pub(super) struct MemoryWatch {
    next: Time,
}

impl MemoryWatch {
    /// The memory of the process in bytes, if it is time to look and the system
    /// tells.
    pub(super) fn look(&mut self, now: Time) -> Option<usize> {
        if now < self.next {
            return None;
        }
        self.next = now.after(INTERVAL);
        resident_bytes(&std::fs::read_to_string("/proc/self/statm").ok()?)
    }
}

/// Of `/proc/self/statm`.
fn resident_bytes(statm: &str) -> Option<usize> {
    let pages: usize = statm.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_looked_at_four_times_a_second() {
        let mut watch = MemoryWatch::default();
        let at = |ms| Time::ZERO.after(Duration::from_millis(ms));
        assert!(watch.look(at(10)).is_some_and(|bytes| bytes > 100_000));
        assert_eq!(watch.look(at(259)), None);
        assert!(watch.look(at(260)).is_some());
    }

    #[test]
    fn resident_pages_are_the_second_word() {
        assert_eq!(resident_bytes("900 12 5 1 0 7 0\n"), Some(12 * 4096));
        assert_eq!(resident_bytes(""), None);
    }
}
