//! The host's clock steps: set by hand, by NTP at boot, by a resumed virtual
//! machine.
//!
//! To set the clock of the machine is not a test's business, so programs get
//! another one from libfaketime, which reads how far it is off from a file.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::faults::{backbone, hub_arguments, run_arguments, server_arguments};
use super::market::{Source, Tape, Watcher, loopback};
use super::program::{Program, wait_until};
use super::stacked::Stack;

/// Where distributions put the library.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];

/// In front of a line of the log: `time=2026-11-23`.
const DATE_BYTES: usize = 15;

/// A clock for some programs, which the test sets.
struct Clock {
    library: &'static str,
    folder: tempfile::TempDir,
}

impl Clock {
    /// `None`, with a line that says why, without the library; with `CI` set
    /// that is a failure.
    fn new() -> Option<Self> {
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
    fn step_to(&self, offset: &str) {
        let new = self.folder.path().join("new");
        fs::write(&new, offset).expect("room");
        fs::rename(new, self.file()).expect("the same folder");
    }

    fn start(&self, arguments: &[String]) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapeline"));
        command
            .env("LD_PRELOAD", self.library)
            .env("FAKETIME_TIMESTAMP_FILE", self.file())
            .env("FAKETIME_NO_CACHE", "1")
            // Steps are of the host's clock; the monotonic one has none.
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        Program::start_with(command, arguments)
    }
}

/// What the library leaves of a program that is killed.
fn clear(program: &Program) {
    for name in ["faketime_shm_", "sem.faketime_sem_"] {
        let _ = fs::remove_file(format!("/dev/shm/{name}{}", program.id()));
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.programs.iter().for_each(clear);
    }
}

struct Site {
    name: &'static str,
    programs: Vec<Program>,
    tape: Arc<Tape>,
    watcher: Watcher,
    _source: Source,
}

impl Site {
    fn new(name: &'static str, start: impl FnOnce(SocketAddr) -> Vec<Program>) -> Self {
        let tape = Tape::new(20);
        let source = Source::start(&tape, loopback());
        let programs = start(source.address);
        let server = programs.last().expect("a server").address("rssl");
        let watcher = Watcher::start(&tape, &[server]);
        watcher.wait_fresh();
        Self { name, programs, tape, watcher, _source: source }
    }

    /// Updates flow to the consumer, who keeps connection and streams.
    fn works(&self, after: &str) {
        let Self { name, tape, watcher, .. } = self;
        let seen = watcher.updates();
        tape.set_rate(2_000);
        wait_until("updates after the step", || watcher.updates() > seen + 1_500);
        watcher.wait_fresh();
        tape.set_rate(0);
        watcher.wait_all_of(tape);
        assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0, "{name}, {after}: connections");
        assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0, "{name}, {after}: streams");
        for program in &self.programs {
            assert!(program.is_running(), "{name}, {after}: {}", program.log());
        }
    }

    fn log(&self) -> String {
        self.programs.iter().map(Program::log).collect()
    }
}

#[test]
fn steps_of_the_clock_end_nothing() {
    let Some(clock) = Clock::new() else { return };
    let stack = Stack::new();
    let channel = backbone();
    let sites = [
        Site::new("one process", |source| vec![clock.start(&run_arguments(source, "local"))]),
        Site::new("one driver", |source| vec![clock.start(&run_arguments(source, "aeron:ipc"))]),
        Site::new("a network", |source| {
            let hub = clock.start(&hub_arguments(&channel, source));
            vec![hub, clock.start(&server_arguments(&channel, 0))]
        }),
        Site::new("a shared driver", |source| {
            let hub = clock.start(&stack.hub_arguments(source));
            vec![hub, clock.start(&stack.server_arguments(0, 1))]
        }),
    ];
    for offset in ["+10", "+0", "-10", "+1d"] {
        clock.step_to(offset);
        for site in &sites {
            site.works(offset);
        }
    }
    for site in &sites[..3] {
        let log = site.log();
        assert!(!log.contains("backbone is away"), "{}: {log}", site.name);
    }
    for mut site in sites {
        site.watcher.stop();
        let (name, programs) = (site.name, &site.programs);
        let log = || programs.last().expect("a server").log();
        let dates = || log().lines().map(|line| line[..DATE_BYTES].to_owned()).collect::<Vec<_>>();
        wait_until(&format!("a line of tomorrow in the log of {name}"), || {
            let dates = dates();
            dates.first() != dates.last()
        });
    }
}
