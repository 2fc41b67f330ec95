//! Directories of embedded drivers, and what crashed ones left behind.

use std::os::unix::fs::MetadataExt;
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
        let path = entry.path();
        let process = name.to_str().and_then(process_of);
        if process.is_some_and(|process| !is_running(process)) && is_ours(&path) && is_silent(&path)
        {
            let _ = std::fs::remove_dir_all(path);
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

/// Whether it belongs to the user that runs this. What others put there is not
/// ours to delete, nor to be read by Aeron, which trusts it.
fn is_ours(directory: &Path) -> bool {
    let owner = |path: &Path| path.symlink_metadata().map(|data| data.uid());
    match (owner(directory), owner(Path::new("/proc/self"))) {
        (Ok(theirs), Ok(ours)) => theirs == ours,
        _ => false,
    }
}

/// Whether the driver has not touched its heartbeat for long.
fn is_silent(directory: &Path) -> bool {
    let heartbeat = AeronCnc::open(&c_string(&directory.to_string_lossy()))
        .and_then(|counters| counters.get_to_driver_heartbeat_ms());
    let last = match heartbeat.ok().and_then(|ms| u64::try_from(ms).ok()) {
        Some(ms) => Some(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)),
        // Killed before its first turn, or while it ended, or about to begin.
        None => directory.metadata().and_then(|data| data.modified()).ok(),
    };
    last.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > DEAD_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Driver, Engine, EngineSettings};

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

    /// The largest process id of Linux is 2^22, so this one never runs.
    const NOBODY: u32 = u32::MAX;

    fn is_removed(process: u32, age: Duration, fill: impl FnOnce(&Path)) -> bool {
        let name = std::thread::current().name().unwrap_or_default().replace("::", "-");
        let parent = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let directory = parent.join(format!("{PREFIX}{process}-0"));
        std::fs::create_dir_all(&directory).unwrap();
        fill(&directory);
        let handle = std::fs::File::open(&directory).unwrap();
        handle.set_modified(SystemTime::now() - age).unwrap();
        remove_dead(&parent);
        let removed = !directory.exists();
        std::fs::remove_dir_all(&parent).unwrap();
        removed
    }

    const OLD: Duration = Duration::from_secs(61);
    const YOUNG: Duration = Duration::from_secs(30);

    #[test]
    fn what_a_killed_process_left_is_removed() {
        assert!(is_removed(NOBODY, OLD, |directory| {
            std::fs::write(directory.join("cnc.dat"), [0; 64]).unwrap();
        }));
    }

    #[test]
    fn what_is_young_stays() {
        assert!(!is_removed(NOBODY, YOUNG, |_| {}));
    }

    #[test]
    fn what_a_running_process_has_stays() {
        assert!(!is_removed(std::process::id(), OLD, |_| {}));
    }

    #[test]
    fn what_beats_stays_though_its_process_is_not_to_be_seen() {
        let settings = EngineSettings {
            driver: Driver::Embedded { directory: None },
            ..EngineSettings::default()
        };
        let engine = Engine::new(settings).unwrap();
        assert!(!is_removed(NOBODY, OLD, |directory| {
            let beating = engine.directory().join("cnc.dat");
            std::fs::copy(beating, directory.join("cnc.dat")).unwrap();
        }));
    }
}
