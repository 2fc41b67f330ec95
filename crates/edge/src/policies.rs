//! Policies to hubs and servers, and their records into the journal.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tapeline_entitle::{EdgePort, PolicyChange, UsagePiece, UsagePort};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

use crate::journal::{JournalConfig, JournalFile, new_run};
use crate::policy_file::PolicyFile;
use crate::{Edge, EdgeError, Ending};

/// So many policies may wait for a hub or server that stands still.
const POLICIES: usize = 4;

/// So many pieces of records may wait to be written.
const PIECES: usize = 1024;

/// How often it looks whether there are records, and room for policies.
const LOOK: Duration = Duration::from_millis(20);

/// Where policies come from and records go.
#[derive(Clone, Debug)]
pub struct PolicyConfig {
    /// The file of the policy.
    pub policy: PathBuf,
    /// How often it is looked at for changes; zero for on SIGHUP alone.
    pub check_interval: Duration,
    /// Where the usage journal is, if one is written.
    pub journal: Option<JournalConfig>,
}

/// The policy of a process, for each of its hubs and servers.
#[derive(Debug)]
pub struct Policies {
    shared: Arc<Shared>,
    usage: Option<Recording>,
}

/// What ports have of the journal.
#[derive(Debug)]
struct Recording {
    pieces: SyncSender<UsagePiece>,
    /// This life of the process, and the one before it.
    run: u64,
    run_before: u64,
    ports: AtomicU32,
}

impl Recording {
    fn port(&self) -> UsagePort {
        UsagePort {
            pieces: self.pieces.clone(),
            run: self.run,
            run_before: self.run_before,
            number: self.ports.fetch_add(1, Ordering::Relaxed),
            lost: Arc::default(),
        }
    }
}

#[derive(Debug)]
struct Shared {
    file: Mutex<PolicyFile>,
    ports: Mutex<Vec<Waiting>>,
    reload: Notify,
}

/// Policies on their way to a port.
#[derive(Debug)]
struct Waiting {
    port: SyncSender<Arc<PolicyChange>>,
    changes: VecDeque<Arc<PolicyChange>>,
}

impl Policies {
    /// Reads the policy, opens the journal and has the edge look after both.
    ///
    /// Errors: a file cannot be used; the policy is faulty or fails its tests.
    pub fn start(edge: &Edge, config: PolicyConfig) -> Result<Self, EdgeError> {
        let file = PolicyFile::open(config.policy)?;
        let journal = config.journal.map(JournalFile::open);
        let journal = journal.transpose()?;
        let hangups = {
            let _inside = edge.handle().enter();
            signal(SignalKind::hangup()).map_err(EdgeError::Thread)?
        };
        let shared = Arc::new(Shared {
            file: Mutex::new(file),
            ports: Mutex::default(),
            reload: Notify::new(),
        });
        let (pieces, records) = sync_channel(PIECES);
        let usage = journal.as_ref().map(|journal| Recording {
            pieces,
            run: new_run(),
            run_before: journal.run_before(),
            ports: AtomicU32::new(0),
        });
        let work = Work { shared: Arc::clone(&shared), journal, records, lost: 0 };
        edge.spawn(|ending| work.run(config.check_interval, hangups, ending));
        Ok(Self { shared, usage })
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
        EdgePort::new(policies, self.usage.as_ref().map(Recording::port))
    }

    /// Has the policy be read again.
    pub fn reload(&self) {
        self.shared.reload.notify_one();
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

/// The task.
struct Work {
    shared: Arc<Shared>,
    journal: Option<JournalFile>,
    records: Receiver<UsagePiece>,
    /// Records that could not be written since one could.
    lost: u64,
}

impl Work {
    async fn run(mut self, check_interval: Duration, mut hangups: Signal, mut ending: Ending) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut checked_at = Instant::now();
        loop {
            let mut is_due = false;
            let is_over = tokio::select! {
                () = ending.wait() => true,
                _ = looks.tick() => false,
                // Where the signal comes no more, nothing is awaited of it.
                Some(()) = hangups.recv() => { is_due = true; false }
                () = self.shared.reload.notified() => { is_due = true; false }
            };
            self.write();
            if is_over {
                return;
            }
            if !check_interval.is_zero() && checked_at.elapsed() >= check_interval {
                checked_at = Instant::now();
                is_due |= lock(&self.shared.file).is_another();
            }
            if is_due {
                self.read_again();
            }
            lock(&self.shared.ports).retain_mut(Waiting::hand_over);
            lock(&self.shared.file).free();
        }
    }

    /// Writes what was recorded. What cannot be is lost, and told once.
    fn write(&mut self) {
        while let Ok(piece) = self.records.try_recv() {
            let Some(journal) = &mut self.journal else { continue };
            match journal.append(&piece.records) {
                Ok(()) if self.lost == 0 => {}
                Ok(()) => {
                    let lost = std::mem::take(&mut self.lost);
                    tracing::warn!(lost, "records of usage are written again");
                }
                Err(error) => {
                    if self.lost == 0 {
                        tracing::error!(%error, "records of usage cannot be written; they are lost");
                    }
                    self.lost += piece.count;
                    piece.lose();
                }
            }
        }
    }

    fn read_again(&self) {
        let began = Instant::now();
        let mut file = lock(&self.shared.file);
        match file.read_again() {
            Ok(change) => {
                let users = change.changed.as_ref().map_or(0, |users| users.len());
                let took_ms = began.elapsed().as_millis() as u64;
                tracing::info!(users, took_ms, "another policy; users whose rights may differ");
                let change = Arc::new(change);
                for waiting in lock(&self.shared.ports).iter_mut() {
                    waiting.changes.push_back(Arc::clone(&change));
                }
            }
            Err(error) => tracing::error!(%error, "the policy stays as it was"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

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
        let config = PolicyConfig { policy: policy.clone(), check_interval, journal: None };
        let edge = Edge::start().expect("a thread");
        let policies = Policies::start(&edge, config).expect("it is good");
        let ports = [policies.port(), policies.port()];
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
        policies.reload();
        fs::write(&policy, POLICY).expect("room");
        policies.reload();
        let change = next(&ports[0]);
        assert!(change.policy.profile_of("bob").is_none() && change.policy.tests() == 0);
    }

    #[test]
    fn a_policy_that_was_in_force_is_freed_by_the_edge_once_nobody_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("policy.toml");
        fs::write(&path, POLICY).expect("room");
        let config = PolicyConfig { policy: path.clone(), check_interval: LOOK, journal: None };
        let edge = Edge::start().expect("a thread");
        let policies = Policies::start(&edge, config).expect("it is good");
        let port = policies.port();
        let first = Arc::clone(&next(&port).policy);
        fs::write(&path, format!("{POLICY}[[user]]\nname = \"bob\"\n")).expect("room");
        let changed = next(&port).changed.clone().expect("they are named");
        // As long as somebody has them, so has the edge: it is the last.
        for _ in 0..10 {
            lock(&policies.shared.file).free();
        }
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&changed)), (2, 2));
        let left = (Arc::downgrade(&first), Arc::downgrade(&changed));
        drop((first, changed));
        let until = Instant::now() + Duration::from_secs(20);
        while left.0.strong_count() + left.1.strong_count() > 0 {
            assert!(Instant::now() < until, "they are kept");
            thread::yield_now();
        }
    }

    #[test]
    fn what_is_recorded_is_written_before_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let policy = folder.path().join("policy.toml");
        fs::write(&policy, POLICY).expect("room");
        let (usage, name) = (folder.path().join("usage"), "server".to_owned());
        let journal =
            Some(JournalConfig { folder: usage, name, max_bytes: 0, is_compressed: false });
        let config = PolicyConfig { policy, check_interval: Duration::ZERO, journal };
        let edge = Edge::start().expect("a thread");
        let policies = Policies::start(&edge, config).expect("it is good");
        let mut port = policies.port();
        port.record(&Usage { user: "ann", ..Usage::of(Kind::Login, 1) });
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
            PolicyConfig { policy: policy.clone(), check_interval: Duration::ZERO, journal: None };
        let edge = Edge::start().expect("a thread");
        let error = Policies::start(&edge, config.clone()).expect_err("there is none").to_string();
        assert!(error.starts_with(&policy.display().to_string()), "{error}");
        fs::write(&policy, "version = 1\nusers = 3\n").expect("room");
        let error = Policies::start(&edge, config).expect_err("it is faulty").to_string();
        assert!(error.contains("policy.toml:2: unknown"), "{error}");
    }
}
