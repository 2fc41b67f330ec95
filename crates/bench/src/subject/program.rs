//! A `tapeline` that serves, as a process.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_measure::processor;
use tapeline_measure::stop;

use crate::BenchError;
use crate::child::{Child, LOOK};

/// How long a program may take to listen.
const START: Duration = Duration::from_secs(60);

/// The program `tapeline`: beside the one that runs now, or else from the path.
pub(crate) fn beside() -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| own.parent().map(|folder| folder.join("tapeline")));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| "tapeline".into())
}

/// A running `tapeline hub`, `server` or `run`. Ended when dropped.
pub(crate) struct Program {
    name: String,
    child: Child,
    ready: PathBuf,
    log: PathBuf,
}

impl Program {
    /// Starts it with its files in `folder`, in the network of the calling
    /// thread, on these cores or those of the calling thread, and waits until
    /// it listens.
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        name: &str,
        arguments: &[String],
        cores: Option<&[usize]>,
    ) -> Result<Self, BenchError> {
        let (ready, log) =
            (folder.join(format!("{name}.ready")), folder.join(format!("{name}.log")));
        // Of one before, which was in the same folder.
        let _ = fs::remove_file(&ready);
        let failed = |text: String| BenchError::Program { name: name.to_owned(), text };
        let mut command = Command::new(program);
        command.args(arguments).arg("--ready-file").arg(&ready);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
        let child = Child::start(&mut command, cores).map_err(|error| {
            failed(format!("cannot start {}: {error}; build tapeline too", program.display()))
        })?;
        let mut program = Self { name: name.to_owned(), child, ready, log };
        let began = Instant::now();
        while !program.ready.exists() {
            stop::check()?;
            if program.child.is_over() || began.elapsed() > START {
                return Err(failed(program.last_words()));
            }
            thread::park_timeout(LOOK);
        }
        Ok(program)
    }

    /// The last line of its log.
    fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().last().unwrap_or("it said nothing").to_owned()
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Seconds that its threads were on a processor so far; `None` where the
    /// kernel does not tell.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.child.seconds()
    }

    /// Bytes of memory of its own.
    pub(crate) fn own_memory_bytes(&self) -> Option<u64> {
        processor::own_memory_bytes(self.child.id())
    }

    /// The address behind a name of its ready file.
    pub(crate) fn address(&self, name: &str) -> Result<SocketAddr, BenchError> {
        let text = fs::read_to_string(&self.ready)?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse().ok()).ok_or_else(|| BenchError::Program {
            name: self.name.clone(),
            text: format!("its ready file has no {name}"),
        })
    }
}
