//! A hub or a server as a process.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::BenchError;

/// How long a program may take to listen.
const START: Duration = Duration::from_secs(20);

/// How long a program may take to end before it is killed.
const END: Duration = Duration::from_secs(3);

/// How often is looked whether something has become so.
const LOOK: Duration = Duration::from_millis(1);

/// A running `tapeline hub` or `tapeline server`. Ended when dropped.
pub(super) struct Program {
    name: String,
    child: Child,
    ready: PathBuf,
    log: PathBuf,
}

impl Program {
    /// Starts it with its files in `folder`, on the cores and in the network
    /// of the calling thread, and waits until it listens.
    pub(super) fn start(
        program: &Path,
        folder: &Path,
        name: &str,
        arguments: &[String],
    ) -> Result<Self, BenchError> {
        let (ready, log) =
            (folder.join(format!("{name}.ready")), folder.join(format!("{name}.log")));
        let failed = |text: String| BenchError::Program { name: name.to_owned(), text };
        let child = Command::new(program)
            .args(arguments)
            .arg("--ready-file")
            .arg(&ready)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let mut program = Self { name: name.to_owned(), child, ready, log };
        let began = Instant::now();
        while !program.ready.exists() {
            if program.has_ended() || began.elapsed() > START {
                return Err(failed(program.last_words()));
            }
            thread::park_timeout(LOOK);
        }
        Ok(program)
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The last line of its log.
    fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().last().unwrap_or("it said nothing").to_owned()
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The address behind a name of its ready file.
    pub(super) fn address(&self, name: &str) -> Result<SocketAddr, BenchError> {
        let text = fs::read_to_string(&self.ready)?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse().ok()).ok_or_else(|| BenchError::Program {
            name: self.name.clone(),
            text: format!("its ready file has no {name}"),
        })
    }

    fn end(&mut self) -> io::Result<()> {
        // A process that is killed leaves its shared memory behind.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let began = Instant::now();
        while self.child.try_wait()?.is_none() {
            if began.elapsed() > END {
                self.child.kill()?;
            }
            thread::park_timeout(LOOK);
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
