//! The thread.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use signal_hook::consts::SIGHUP;
use tapeline_entitle::{EdgePort, PolicyChange};

use crate::EdgeError;
use crate::journal::JournalFile;
use crate::policy_file::PolicyFile;

/// So many policies may wait for a hub or server that stands still.
const POLICIES: usize = 4;

/// So many pieces of records may wait to be written.
const PIECES: usize = 1024;

/// How often it looks whether it is asked for something.
const LOOK: Duration = Duration::from_millis(20);

/// What the edge does.
#[derive(Clone, Debug)]
pub struct EdgeConfig {
    /// The file of the policy.
    pub policy: PathBuf,
    /// How often it is looked at for changes; zero for on SIGHUP alone.
    pub check_interval: Duration,
    /// The folder of the usage journal, and the name that its files begin with.
    pub journal: Option<(PathBuf, String)>,
}

/// The thread for files, and who it works for.
#[derive(Debug)]
pub struct Edge {
    shared: Arc<Shared>,
    usage: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    file: Mutex<PolicyFile>,
    ports: Mutex<Vec<Waiting>>,
    is_over: AtomicBool,
    reload: Arc<AtomicBool>,
}

/// Policies on their way to a port.
#[derive(Debug)]
struct Waiting {
    port: SyncSender<Arc<PolicyChange>>,
    changes: VecDeque<Arc<PolicyChange>>,
}

impl Edge {
    /// Reads the policy, opens the journal and starts the thread.
    ///
    /// Errors: a file cannot be used; the policy is faulty or fails its tests.
    pub fn start(config: EdgeConfig) -> Result<Self, EdgeError> {
        let file = PolicyFile::open(config.policy)?;
        let journal = config.journal.map(|(folder, name)| JournalFile::open(folder, name));
        let journal = journal.transpose()?;
        let reload = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGHUP, Arc::clone(&reload)).map_err(EdgeError::Thread)?;
        let shared = Arc::new(Shared {
            file: Mutex::new(file),
            ports: Mutex::default(),
            is_over: AtomicBool::new(false),
            reload,
        });
        let (sender, records) = sync_channel(PIECES);
        let usage = journal.is_some().then_some(sender);
        let work = {
            let shared = Arc::clone(&shared);
            move || run(&shared, config.check_interval, journal, &records)
        };
        let thread = thread::Builder::new().name("edge".to_owned()).spawn(work);
        Ok(Self { shared, usage, thread: Some(thread.map_err(EdgeError::Thread)?) })
    }

    /// A port for a hub or server, in which the policy is already.
    pub fn port(&self) -> EdgePort {
        let (sender, policies) = sync_channel(POLICIES);
        // With the file held, so that no later policy is missed.
        let file = lock(&self.shared.file);
        let changes = VecDeque::from([Arc::new(file.first())]);
        let mut waiting = Waiting { port: sender, changes };
        waiting.hand_over();
        lock(&self.shared.ports).push(waiting);
        EdgePort::new(policies, self.usage.clone())
    }

    /// Has the policy be read again.
    pub fn reload(&self) {
        self.shared.reload.store(true, Ordering::Relaxed);
    }
}

impl Drop for Edge {
    /// Writes what was recorded.
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.usage = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Waiting {
    /// Whether the port is still there.
    fn hand_over(&mut self) -> bool {
        while let Some(change) = self.changes.pop_front() {
            match self.port.try_send(change) {
                Ok(()) => {}
                Err(TrySendError::Full(change)) => {
                    self.changes.push_front(change);
                    return true;
                }
                Err(TrySendError::Disconnected(_)) => return false,
            }
        }
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics half-way: what is behind a poisoned lock is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(
    shared: &Shared,
    check_interval: Duration,
    mut journal: Option<JournalFile>,
    records: &Receiver<Vec<u8>>,
) {
    let mut checked_at = Instant::now();
    loop {
        let is_over = shared.is_over.load(Ordering::Relaxed);
        match records.recv_timeout(LOOK) {
            Ok(piece) => write(journal.as_mut(), &piece),
            Err(_) if is_over => return,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
        }
        let mut is_due = shared.reload.swap(false, Ordering::Relaxed);
        if !check_interval.is_zero() && checked_at.elapsed() >= check_interval {
            checked_at = Instant::now();
            is_due |= lock(&shared.file).is_another();
        }
        if is_due {
            read_again(shared);
        }
        lock(&shared.ports).retain_mut(Waiting::hand_over);
    }
}

fn write(journal: Option<&mut JournalFile>, piece: &[u8]) {
    if let Some(journal) = journal
        && let Err(error) = journal.append(piece)
    {
        tracing::error!(%error, bytes = piece.len(), "records of usage are lost");
    }
}

fn read_again(shared: &Shared) {
    let began = Instant::now();
    let mut file = lock(&shared.file);
    match file.read_again() {
        Ok(change) => {
            let users = change.changed.as_ref().map_or(0, |users| users.len());
            let took_ms = began.elapsed().as_millis() as u64;
            tracing::info!(users, took_ms, "another policy; users whose rights may differ");
            let change = Arc::new(change);
            for waiting in lock(&shared.ports).iter_mut() {
                waiting.changes.push_back(Arc::clone(&change));
            }
        }
        Err(error) => tracing::error!(%error, "the policy stays as it was"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tapeline_entitle::{Journal, Kind, Usage};

    use super::*;

    const POLICY: &str = "version = 1\n[[user]]\nname = \"ann\"\n";

    fn next(port: &EdgePort) -> Arc<PolicyChange> {
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if let Some(change) = port.policy() {
                return change;
            }
            thread::yield_now();
        }
        panic!("no policy came")
    }

    #[test]
    fn a_policy_that_is_edited_comes_to_all_and_a_bad_one_to_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let policy = folder.path().join("policy.toml");
        fs::write(&policy, POLICY).expect("room");
        let check_interval = Duration::from_millis(5);
        let config = EdgeConfig { policy: policy.clone(), check_interval, journal: None };
        let edge = Edge::start(config).expect("it is good");
        let ports = [edge.port(), edge.port()];
        for port in &ports {
            let first = next(port);
            assert!(first.changed.is_none() && first.policy.profile_of("ann").is_some());
        }
        fs::write(&policy, "version = 2").expect("room");
        fs::write(&policy, format!("{POLICY}[[user]]\nname = \"bob\"\n")).expect("room");
        for port in &ports {
            let change = next(port);
            let changed = change.changed.as_ref().expect("they are named");
            assert!(changed.contains("bob") && changed.len() == 1, "{changed:?}");
        }
        let wrong = "[[test]]\nuser = \"ann\"\nitem = \"S/A\"\nexpect = \"allow\"\n";
        fs::write(&policy, format!("{POLICY}{wrong}")).expect("room");
        edge.reload();
        fs::write(&policy, POLICY).expect("room");
        edge.reload();
        let change = next(&ports[0]);
        assert!(change.policy.profile_of("bob").is_none() && change.policy.tests() == 0);
    }

    #[test]
    fn what_is_recorded_is_written_before_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let policy = folder.path().join("policy.toml");
        fs::write(&policy, POLICY).expect("room");
        let journal = Some((folder.path().join("usage"), "server".to_owned()));
        let config = EdgeConfig { policy, check_interval: Duration::ZERO, journal };
        let edge = Edge::start(config).expect("it is good");
        let mut port = edge.port();
        port.record(&Usage {
            kind: Kind::Login,
            time_ms: 1,
            user: "ann",
            position: "",
            application: "",
            service: "",
            item: "",
            lock: &[],
        });
        port.flush();
        drop(port);
        drop(edge);
        let files: Vec<_> =
            fs::read_dir(folder.path().join("usage")).expect("it is there").collect();
        let [Ok(file)] = &files[..] else { panic!("one file: {files:?}") };
        let bytes = fs::read(file.path()).expect("it is there");
        assert_eq!(Journal::new(&bytes).count(), 1);
    }

    #[test]
    fn a_policy_that_is_not_good_is_told_at_the_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let policy = folder.path().join("policy.toml");
        let config =
            EdgeConfig { policy: policy.clone(), check_interval: Duration::ZERO, journal: None };
        let error = Edge::start(config.clone()).expect_err("there is none").to_string();
        assert!(error.starts_with(&policy.display().to_string()), "{error}");
        fs::write(&policy, "version = 1\nusers = 3\n").expect("room");
        let error = Edge::start(config).expect_err("it is faulty").to_string();
        assert!(error.contains("policy.toml:2: unknown"), "{error}");
    }
}
