//! The thread that keeps entries: it takes all that waits at once, writes it, has it
//! made safe, and says so.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::Waker;
use tapeline_sequence::{AppendError, Entry, Identity, Journal, JournalConfig, Recovered};

use super::files::Files;
use crate::core::{Exchange, Outputs, SessionId};
use crate::error::ExchangeError;

/// After so long without an entry, the mark says what was committed.
const QUIET: Duration = Duration::from_millis(50);

/// Where a journal is, and how large it gets.
#[derive(Clone, Debug)]
pub struct JournalSettings {
    /// Its folder, which is made if there is none.
    pub dir: PathBuf,
    /// Its segments.
    pub config: JournalConfig,
}

/// What the two threads have in common.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    synced: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    is_over: bool,
    failed: Option<AppendError>,
    batches: u64,
    bytes: u64,
    segments: usize,
}

/// What a journal did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalCounts {
    pub(crate) batches: u64,
    pub(crate) bytes: u64,
    pub(crate) segments: usize,
}

/// The market's end.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread; `waker` is woken when more is safe, or nothing can be any
    /// more.
    pub(super) fn start(journal: Journal<Files>, waker: Waker) -> Result<Self, ExchangeError> {
        let shared = Arc::new(Shared::default());
        shared.synced.store(journal.synced(), Ordering::Release);
        shared.lock().segments = journal.segments();
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || own.keep(journal, &waker))
            .map_err(ExchangeError::JournalThread)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// An entry waits to be kept.
    pub(super) fn push(&self, entry: &[u8]) {
        self.shared.lock().waiting.extend_from_slice(entry);
        self.shared.changed.notify_one();
    }

    /// The last entry that is safe.
    pub(super) fn synced(&self) -> u64 {
        self.shared.synced.load(Ordering::Acquire)
    }

    /// Why nothing can be kept any more; said once.
    pub(super) fn failure(&self) -> Option<AppendError> {
        self.shared.lock().failed.take()
    }

    pub(super) fn counts(&self) -> JournalCounts {
        let state = self.shared.lock();
        let State { batches, bytes, segments, .. } = *state;
        JournalCounts { batches, bytes, segments }
    }

    /// Has all that waits kept, and ends the thread.
    pub(super) fn close(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the journal panicked");
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nobody leaves it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for entries and moves them to `batch`. Returns whether there is more to
    /// come.
    fn take(&self, batch: &mut Vec<u8>, most: Duration) -> bool {
        let idle = |state: &mut State| state.waiting.is_empty() && !state.is_over;
        let (mut state, _) = self
            .changed
            .wait_timeout_while(self.lock(), most, idle)
            .unwrap_or_else(PoisonError::into_inner);
        batch.clear();
        std::mem::swap(batch, &mut state.waiting);
        !state.is_over || !batch.is_empty()
    }

    fn keep(&self, mut journal: Journal<Files>, waker: &Waker) {
        let mut batch = Vec::with_capacity(64 << 10);
        let mut marked = journal.synced();
        while self.take(&mut batch, QUIET) {
            if batch.is_empty() {
                if marked < journal.synced() {
                    marked = journal.synced();
                    mark(&mut journal);
                }
                continue;
            }
            let kept = journal.append(&batch);
            let mut state = self.lock();
            state.segments = journal.segments();
            let is_kept = kept.is_ok();
            match kept {
                Ok(synced) => {
                    state.batches += 1;
                    state.bytes += batch.len() as u64;
                    self.synced.store(synced, Ordering::Release);
                }
                Err(error) => state.failed = Some(error),
            }
            drop(state);
            if let Err(error) = waker.wake() {
                tracing::error!(%error, "the journal cannot wake the market");
            }
            if !is_kept {
                return;
            }
        }
        mark(&mut journal);
    }
}

fn mark(journal: &mut Journal<Files>) {
    let synced = journal.synced();
    if let Err(error) = journal.mark(synced) {
        tracing::warn!(%error, "the journal cannot note what was committed");
    }
}

/// Opens a journal and has an exchange do again what it says.
pub(crate) fn recover(
    settings: &JournalSettings,
    identity: Identity,
    exchange: &mut Exchange,
    mut each: impl FnMut(&Entry<'_>),
) -> Result<(Journal<Files>, Recovered), ExchangeError> {
    let files = Files::open(&settings.dir)?;
    Journal::open(files, settings.config, identity, |entry| {
        each(entry);
        exchange.replay(entry, &mut Nobody).map_err(|differs| ExchangeError::Differs {
            dir: settings.dir.clone(),
            index: differs.index,
            here: differs.here.0,
            there: differs.there.0,
        })
    })
}

/// Nobody hears what happens again.
struct Nobody;

impl Outputs for Nobody {
    fn send(&mut self, _: SessionId, _: &[u8]) {}

    fn close(&mut self, _: SessionId) {}

    fn publish(&mut self, _: &[u8]) {}

    fn queued(&self, _: SessionId) -> usize {
        0
    }
}
