//! Directories of embedded drivers, and what crashed ones left behind.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rusteron_media_driver::AeronCnc;

use super::c_string;

const PREFIX: &str = "tapeline-";
/// A driver that was silent for so long is dead, if its process is too.
const DEAD_AFTER: Duration = Duration::from_secs(60);

static SERIAL: AtomicU32 = AtomicU32::new(0);

/// A directory that no other driver has; removes those of the dead.
pub(super) fn fresh() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    remove_dead(&parent);
    let process = std::process::id();
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    parent.join(format!("{PREFIX}{process}-{serial}"))
}

/// A driver deletes its directory when it ends, but not when it is killed, and
/// what it leaves is memory.
fn remove_dead(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(process_of);
        if process.is_some_and(|process| !is_running(process)) && is_silent(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The process in a directory's name.
fn process_of(name: &str) -> Option<u32> {
    let (process, serial) = name.strip_prefix(PREFIX)?.split_once('-')?;
    serial.parse::<u32>().ok()?;
    process.parse().ok()
}

/// In containers that share `/dev/shm`, a process may run and not be visible:
/// so this alone says nothing.
fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// Whether the driver has not touched its heartbeat for long.
fn is_silent(directory: &Path) -> bool {
    let old = |time: SystemTime| time.elapsed().is_ok_and(|age| age > DEAD_AFTER);
    let counters = directory.join("cnc.dat");
    if !counters.exists() {
        // Killed before its first turn, or just about to begin.
        return directory.metadata().and_then(|data| data.modified()).is_ok_and(old);
    }
    let heartbeat = AeronCnc::open(&c_string(&directory.to_string_lossy()))
        .and_then(|cnc| cnc.get_to_driver_heartbeat_ms());
    match heartbeat.ok().and_then(|ms| u64::try_from(ms).ok()) {
        Some(ms) => old(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_the_same() {
        let (one, other) = (fresh(), fresh());
        assert_ne!(one, other);
        let name = one.file_name().unwrap().to_str().unwrap();
        assert_eq!(process_of(name), Some(std::process::id()));
    }

    #[test]
    fn other_names_are_nobodys() {
        for name in ["tapeline-", "tapeline-12", "tapeline-12-x", "aeron-root", "tapeline-x-1"] {
            assert_eq!(process_of(name), None, "{name}");
        }
    }

    #[test]
    fn what_lives_or_is_young_stays() {
        let parent = std::env::temp_dir().join(format!("tapeline-sweep-{}", std::process::id()));
        let living = parent.join(format!("{PREFIX}{}-0", std::process::id()));
        // The largest process id of Linux is 2^22.
        let young = parent.join(format!("{PREFIX}{}-0", u32::MAX));
        for directory in [&living, &young] {
            std::fs::create_dir_all(directory).unwrap();
        }
        remove_dead(&parent);
        assert!(living.exists() && young.exists());
        std::fs::remove_dir_all(&parent).unwrap();
    }
}
