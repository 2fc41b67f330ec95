//! What a media driver takes of its folder's file system, which is memory.

use std::fmt;
use std::path::Path;

/// The driver's own files: commands, counters, errors, losses.
const DRIVER_BYTES: u64 = 10 << 20;

/// Behind the terms of a log.
const LOG_HEAD_BYTES: u64 = 4096;

/// What a log takes.
pub(super) const fn log_bytes(term_bytes: u32) -> u64 {
    3 * term_bytes as u64 + LOG_HEAD_BYTES
}

/// What is needed in all, and how much there was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    free_bytes: u64,
    needed_bytes: u64,
}

impl Memory {
    /// In front of a driver's start: of its own, or one that is there already.
    pub(super) fn of(directory: &Path, is_own: bool) -> Self {
        let needed_bytes = if is_own { DRIVER_BYTES } else { 0 };
        Self { free_bytes: free_bytes(directory), needed_bytes }
    }

    /// Needs so much more.
    pub(super) const fn add(&mut self, bytes: u64) {
        self.needed_bytes += bytes;
    }

    /// Whether it is there.
    pub(super) fn check(self) -> Result<(), Shortage> {
        if self.needed_bytes <= self.free_bytes { Ok(()) } else { Err(Shortage(self)) }
    }
}

/// Too little memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shortage(Memory);

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { free_bytes, needed_bytes } = self.0;
        let needed_mib = needed_bytes.div_ceil(1 << 20);
        let free_mib = free_bytes >> 20;
        write!(
            f,
            "{needed_mib} MiB of memory are needed there, and {free_mib} MiB are free: make the \
             file system larger (/dev/shm; in a container, --shm-size), or set a smaller \
             data-term-bytes or request-term-bytes, of which each stream takes three"
        )
    }
}

/// What is free on the file system of a directory that need not be there yet;
/// no limit where the system does not tell.
fn free_bytes(directory: &Path) -> u64 {
    let there = directory.ancestors().find(|ancestor| ancestor.exists());
    let told = there.and_then(|there| rustix::fs::statvfs(there).ok());
    told.map_or(u64::MAX, |told| told.f_bavail.saturating_mul(told.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_adds_up() {
        let mut memory = Memory { free_bytes: 40 << 20, needed_bytes: DRIVER_BYTES };
        assert_eq!(memory.check(), Ok(()));
        memory.add(log_bytes(8 << 20));
        assert_eq!(memory.check(), Ok(()));
        memory.add(log_bytes(16 << 20));
        let text = memory.check().unwrap_err().to_string();
        assert!(text.contains("83 MiB of memory are needed"), "{text}");
        assert!(text.contains("40 MiB are free"), "{text}");
    }

    #[test]
    fn a_directory_that_is_to_be_made_is_measured_by_its_parent() {
        assert!(free_bytes(Path::new("/dev/shm/not/there/yet")) > 0);
    }
}
