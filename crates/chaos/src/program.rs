//! The program under test, as a process.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

/// How long anything may take before a test gives up on it.
pub const PATIENCE: Duration = Duration::from_secs(30);

static STARTED: AtomicU32 = AtomicU32::new(0);

/// A running `tapeline`. Killed when dropped; what it logged is printed when
/// the test failed.
#[derive(Debug)]
pub struct Program {
    child: Child,
    ready_file: PathBuf,
    log: Arc<Mutex<String>>,
    name: String,
}

impl Program {
    /// Starts `command` with these arguments and one for a ready file, and waits
    /// until it says that it listens.
    pub fn start(mut command: Command, arguments: &[impl AsRef<OsStr>]) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let ready_file =
            std::env::temp_dir().join(format!("tapeline-{}-{number}.ready", std::process::id()));
        let _ = fs::remove_file(&ready_file);
        let mut child = command
            .args(arguments)
            .arg("--ready-file")
            .arg(&ready_file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let log = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let sink = Arc::clone(&log);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut log = sink.lock().expect("not poisoned");
                log.push_str(&line);
                log.push('\n');
            }
        });
        let name = arguments
            .first()
            .map_or_else(String::new, |name| name.as_ref().to_string_lossy().into_owned());
        let mut program = Self { child, ready_file, log, name };
        wait_until("the program to be ready", || {
            if let Ok(Some(status)) = program.child.try_wait() {
                panic!("{} ended at once: {status}\n{}", program.name, program.log());
            }
            program.ready_file.exists()
        });
        program
    }

    /// The address behind a name of the ready file: `rssl`, `ni`.
    pub fn address(&self, name: &str) -> SocketAddr {
        let text = fs::read_to_string(&self.ready_file).expect("a ready file");
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let value = value.unwrap_or_else(|| panic!("no {name} in: {text}"));
        value.parse().unwrap_or_else(|_| panic!("no address: {value}"))
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("not poisoned").clone()
    }

    /// Ends it the hard way, as a power cut does.
    pub fn kill(mut self) {
        self.child.kill().expect("a running process");
        self.child.wait().expect("a child");
    }

    /// Ends it in order; says with which status.
    pub fn end(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.child.wait().expect("a child")
    }

    /// Its subcommand.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        // What has ended and was not waited for is a zombie.
        status.is_ok_and(|status| !status.rsplit(')').next().unwrap_or("").starts_with(" Z"))
    }

    /// Stops it where it stands; [`resume`](Self::resume) lets it go on.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// How often its main thread gave up the processor so far, to sleep.
    pub fn sleeps(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("a running process");
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.and_then(|count| count.trim().parse().ok()).expect("a count of the kernel")
    }

    /// Bytes of memory that are its own now.
    pub fn memory_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("a running process");
        let kib = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = kib.and_then(|kib| kib.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.expect("a size of the kernel") * 1024
    }

    /// For how long its main thread was on a processor so far.
    pub fn processor_time(&self) -> Duration {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.child.id()));
        let text = text.expect("a running process");
        let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
        Duration::from_nanos(nanos.expect("a time of the kernel"))
    }

    /// Its descriptors that are open now.
    pub fn descriptors(&self) -> usize {
        let folder = fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        folder.expect("a running process").count()
    }

    /// Lets it have at most so many descriptors; `None` for as many as it may.
    pub fn limit_descriptors(&self, count: Option<u64>) {
        let pid = Some(Pid::from_child(&self.child));
        let most = getrlimit(Resource::Nofile).maximum;
        let limit = Rlimit { current: count.or(most), maximum: most };
        prlimit(pid, Resource::Nofile, limit).expect("a running process");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a running process");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.ready_file);
        if thread::panicking() {
            eprintln!("---- {} ----\n{}", self.name, self.log());
        }
    }
}

/// Says what a test measured. Past the capture of the test harness, so that a
/// run of all tests shows how long things took.
pub fn report(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "  {line}");
}

/// Waits for a state. Returns how long it took.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        thread::park_timeout(Duration::from_millis(1));
    }
    start.elapsed()
}
