//! The program as users run it: started, watched, ended.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long something may take before it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so.
pub(crate) fn await_state(what: &str, mut is_it: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_it() {
        assert!(Instant::now() < until, "it never came: {what}");
    }
}

/// `tapeline` with arguments.
pub(crate) fn tapeline(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapeline"));
    command.args(args).env("NO_COLOR", "1");
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Run {
    Run::of(&tapeline(args).stdin(Stdio::null()).output().expect("the program starts"))
}

/// How a command ended.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            status: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A folder of the test's own.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A file of the test's own.
pub(crate) fn file(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path
}

/// A process that goes on until it is ended, at the latest when it is dropped.
pub(crate) struct Running {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    stdin: Option<ChildStdin>,
    folder: TempDir,
}

impl Running {
    /// Starts a command with a ready file, and waits until it is ready.
    pub(crate) fn start(args: &[&str]) -> Self {
        let folder = folder();
        let ready = folder.path().join("ready");
        let mut command = tapeline(args);
        command.arg("--ready-file").arg(&ready);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let stdin = child.stdin.take();
        let mut running = Self { child, stderr, stdin, folder };
        running.log_until("msg=ready");
        running
    }

    /// Reads the log up to a line that has a text in it.
    pub(crate) fn log_until(&mut self, text: &str) -> String {
        let mut log = String::new();
        loop {
            let from = log.len();
            let len = self.stderr.read_line(&mut log).expect("the log is text");
            assert!(len > 0, "the program ended before it logged `{text}`:\n{log}");
            if log[from..].contains(text) {
                return log[from..].to_owned();
            }
        }
    }

    /// Writes a line to the program.
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("piped");
        writeln!(stdin, "{line}").expect("the program reads");
    }

    /// The ready file.
    pub(crate) fn ready_path(&self) -> PathBuf {
        self.folder.path().join("ready")
    }

    /// The address behind a name in the ready file.
    pub(crate) fn address(&self, name: &str) -> SocketAddr {
        let text = std::fs::read_to_string(self.ready_path()).expect("the ready file is there");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("an address")
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Sends SIGKILL and waits for the end.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("the program ends");
    }

    /// Sends SIGTERM and waits for the end: its exit status, the rest of the log.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
        let status = self.child.wait().expect("the program ends");
        let mut log = String::new();
        let _ = std::io::Read::read_to_string(&mut self.stderr, &mut log);
        (status.code(), log)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // A process that is killed leaves its shared memory behind.
        let signal = if std::thread::panicking() { Signal::KILL } else { Signal::TERM };
        let _ = kill_process(Pid::from_child(&self.child), signal);
        let _ = self.child.wait();
    }
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}
