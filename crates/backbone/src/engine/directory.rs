//! Directories of embedded drivers: whose they are, and what the dead left
//! behind.
//!
//! Beside the directory of each embedded driver is a file that its process has
//! locked for as long as it lives:
//!
//! ```text
//!   /dev/shm/tapeline-4711-0/        the driver's
//!   /dev/shm/tapeline-4711-0.lock    locked by process 4711
//! ```
//!
//! The kernel lets go of the lock when the process ends, however it ends, and
//! also where the process is in a container and not to be seen. So who gets the
//! lock may do with the directory what it wants.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rusteron_media_driver::AeronCnc;
use rustix::fs::{FlockOperation, Mode, OFlags};

use super::words::c_string;
use crate::error::BackboneError;

const PREFIX: &str = "tapeline-";
const SUFFIX: &str = ".lock";

static SERIAL: AtomicU32 = AtomicU32::new(0);

/// The right to a directory, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// The right to `directory`, which need not exist.
    pub(super) fn of(directory: &Path) -> Result<Self, BackboneError> {
        let failed = |text: String| BackboneError::Directory { path: directory.to_owned(), text };
        let path = lock_path(directory);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| failed(error.to_string()))?;
        }
        match Self::try_at(&path, OFlags::CREATE) {
            Ok(Some(lock)) => Ok(lock),
            Ok(None) => Err(failed(
                "the media driver of another process is there; give each process a folder of its \
                 own, or this one driver = \"external\" to use the driver that is there"
                    .to_owned(),
            )),
            Err(error) => Err(failed(format!("{}: {error}", path.display()))),
        }
    }

    /// `None` if another one has it.
    fn try_at(path: &Path, flags: OFlags) -> io::Result<Option<Self>> {
        // Others can write to /dev/shm too: a link there is not followed.
        let flags = flags | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        // Who had it before may have deleted the file since it was opened.
        let data = file.metadata()?;
        let is_the_one = path.symlink_metadata().is_ok_and(|now| now.ino() == data.ino());
        Ok(is_the_one.then(|| Self { path: path.to_owned(), _file: file }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked: closing the file comes after this.
        let _ = fs::remove_file(&self.path);
    }
}

fn lock_path(directory: &Path) -> PathBuf {
    let mut path = directory.as_os_str().to_owned();
    path.push(SUFFIX);
    path.into()
}

/// A directory that no other driver has; removes those of the dead.
pub(super) fn fresh() -> Result<(PathBuf, Option<Lock>), BackboneError> {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    remove_dead(&parent);
    loop {
        let process = std::process::id();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let directory = parent.join(format!("{PREFIX}{process}-{serial}"));
        // A process of another container may have the same number.
        if let Some(lock) =
            Lock::try_at(&lock_path(&directory), OFlags::CREATE).map_err(|error| {
                BackboneError::Directory { path: parent.clone(), text: error.to_string() }
            })?
        {
            return Ok((directory, Some(lock)));
        }
    }
}

/// A driver deletes its directory when it ends, but not when it is killed, and
/// what it leaves is memory.
fn remove_dead(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(directory_of) else { continue };
        let directory = parent.join(name);
        if is_ours(&entry.path())
            && let Ok(Some(_lock)) = Lock::try_at(&entry.path(), OFlags::empty())
            && (is_ours(&directory) || !directory.exists())
        {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// The directory that a lock's name is for.
fn directory_of(lock: &str) -> Option<&str> {
    let directory = lock.strip_suffix(SUFFIX)?;
    let (process, serial) = directory.strip_prefix(PREFIX)?.split_once('-')?;
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    (is_number(process) && is_number(serial)).then_some(directory)
}

/// Whether it belongs to the user that runs this. What others put there is not
/// ours to delete.
fn is_ours(path: &Path) -> bool {
    let owner = |path: &Path| path.symlink_metadata().map(|data| data.uid());
    match (owner(path), owner(Path::new("/proc/self"))) {
        (Ok(theirs), Ok(ours)) => theirs == ours,
        _ => false,
    }
}

/// The file of a driver by which it is known.
pub(super) fn counters(directory: &Path) -> PathBuf {
    directory.join("cnc.dat")
}

/// Whether a driver works in `directory`, without waiting for it.
pub(super) fn check_beating(directory: &Path, timeout: Duration) -> Result<(), BackboneError> {
    let silent = |text: String| BackboneError::Directory { path: directory.to_owned(), text };
    let absent = || silent("no media driver is there".to_owned());
    if !counters(directory).exists() {
        return Err(absent());
    }
    let beat = AeronCnc::open(&c_string(&directory.to_string_lossy()))
        .and_then(|counters| counters.get_to_driver_heartbeat_ms());
    let beat = beat.ok().and_then(|ms| u64::try_from(ms).ok()).ok_or_else(absent)?;
    let beat = SystemTime::UNIX_EPOCH + Duration::from_millis(beat);
    match beat.elapsed() {
        Ok(age) if age >= timeout => {
            Err(silent(format!("the media driver has been silent for {} s", age.as_secs())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for one test.
    struct Parent(PathBuf);

    impl Parent {
        fn new() -> Self {
            let name = std::thread::current().name().unwrap_or_default().replace("::", "-");
            let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        /// The directory of a driver, with something in it.
        fn directory(&self) -> PathBuf {
            let directory = self.0.join(format!("{PREFIX}4711-0"));
            fs::create_dir_all(directory.join("images")).unwrap();
            fs::write(counters(&directory), [0; 64]).unwrap();
            directory
        }
    }

    impl Drop for Parent {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn no_two_are_the_same() {
        let ((one, _), (other, _)) = (fresh().unwrap(), fresh().unwrap());
        assert_ne!(one, other);
        let lock = lock_path(&one);
        let name = lock.file_name().unwrap().to_str().unwrap();
        assert_eq!(directory_of(name), one.file_name().unwrap().to_str());
    }

    #[test]
    fn other_names_are_nobodys() {
        let names = ["tapeline-.lock", "tapeline-12.lock", "tapeline-1-0", "tapeline-x-1.lock"];
        for name in names {
            assert_eq!(directory_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_directory_has_one_owner_at_a_time() {
        let parent = Parent::new();
        let directory = parent.0.join("deep").join("driver");
        let lock = Lock::of(&directory).unwrap();
        let text = Lock::of(&directory).unwrap_err().to_string();
        assert!(text.contains("deep/driver: the media driver of another process"), "{text}");
        drop(lock);
        drop(Lock::of(&directory).unwrap());
        assert!(!lock_path(&directory).exists());
    }

    #[test]
    fn what_a_dead_process_left_is_removed_at_once() {
        let parent = Parent::new();
        let directory = parent.directory();
        fs::write(lock_path(&directory), "").unwrap();
        remove_dead(&parent.0);
        assert!(!directory.exists() && !lock_path(&directory).exists());
    }

    #[test]
    fn what_a_living_process_has_stays() {
        let parent = Parent::new();
        let directory = parent.directory();
        let _lock = Lock::of(&directory).unwrap();
        remove_dead(&parent.0);
        assert!(counters(&directory).exists() && lock_path(&directory).exists());
    }

    #[test]
    fn what_has_no_lock_stays() {
        let parent = Parent::new();
        let directory = parent.directory();
        remove_dead(&parent.0);
        assert!(directory.exists());
    }

    #[test]
    fn a_lock_that_is_a_link_is_not_followed() {
        let parent = Parent::new();
        let directory = parent.directory();
        let elsewhere = parent.0.join("elsewhere");
        fs::write(&elsewhere, "").unwrap();
        std::os::unix::fs::symlink(&elsewhere, lock_path(&directory)).unwrap();
        assert!(Lock::of(&directory).is_err());
        remove_dead(&parent.0);
        assert!(directory.exists() && elsewhere.exists());
    }

    #[test]
    fn who_is_not_there_does_not_beat() {
        let parent = Parent::new();
        let timeout = Duration::from_secs(5);
        let text = check_beating(&parent.0, timeout).unwrap_err().to_string();
        assert!(text.contains("no media driver"), "{text}");
        let half_made = parent.directory();
        assert!(check_beating(&half_made, timeout).is_err());
    }
}
