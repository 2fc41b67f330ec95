//! Steps of the wall clock.
//!
//! To set the clock of the machine is not a test's business, so programs get
//! another one from libfaketime, which reads how far it is off from a file.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::Program;

/// Where distributions put the library.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];

/// A clock for some programs, which the test sets.
#[derive(Debug)]
pub struct Clock {
    library: &'static str,
    folder: tempfile::TempDir,
}

impl Clock {
    /// `None`, with a line that says why, without the library; with `CI` set
    /// that is a failure.
    pub fn new() -> Option<Self> {
        let library = LIBRARIES.into_iter().find(|library| Path::new(library).exists());
        let Some(library) = library else {
            assert!(std::env::var_os("CI").is_none(), "no libfaketime");
            eprintln!("skipped: steps of the clock need libfaketime (package faketime)");
            return None;
        };
        let clock = Self { library, folder: tempfile::tempdir().expect("a folder") };
        clock.step_to("+0");
        Some(clock)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("offset")
    }

    /// Sets the clock this far off, as in `+10`, `-10`, `+1d`, from one reading
    /// to the next.
    pub fn step_to(&self, offset: &str) {
        let new = self.folder.path().join("new");
        fs::write(&new, offset).expect("room");
        fs::rename(new, self.file()).expect("the same folder");
    }

    /// Has a command, and what it starts, go by this clock.
    pub fn set(&self, command: &mut Command) {
        command.envs(self.environment());
    }

    /// Variables of the environment that have a program go by this clock.
    pub fn environment(&self) -> [(&'static str, OsString); 4] {
        [
            ("LD_PRELOAD", self.library.into()),
            ("FAKETIME_TIMESTAMP_FILE", self.file().into()),
            ("FAKETIME_NO_CACHE", "1".into()),
            // Steps are of the host's clock; the monotonic one has none.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ]
    }
}

/// What the library leaves of a program that is killed.
pub fn clear(program: &Program) {
    for name in ["faketime_shm_", "sem.faketime_sem_"] {
        let _ = fs::remove_file(format!("/dev/shm/{name}{}", program.id()));
    }
}
