//! The thread that keeps entries: it takes all that waits at once, writes it, has it
//! made safe, and says so.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::Waker;
use tapeline_sequence::{
    AppendError, AppendFault, Entry, Journal, JournalConfig, LogState, Recovered, Storage as _,
};
use tapeline_time::Time;

use super::files::Files;
use super::snapshot::{list, read, write};
use crate::core::{Differs, Exchange, ExchangeConfig, Nobody};
use crate::error::ExchangeError;
use crate::identity;

/// What is on this disk is committed.
const ALONE: u64 = u64::MAX;

/// After so long without an entry, the mark says what was committed.
const QUIET: Duration = Duration::from_millis(50);

/// Where a journal is, and how large it gets.
#[derive(Clone, Debug)]
pub struct JournalSettings {
    /// Its folder, which is made if there is none.
    pub dir: PathBuf,
    /// Its segments.
    pub config: JournalConfig,
    /// A start that did so many entries again keeps the state that they led to; 0 for
    /// never.
    pub snapshot_entries: u64,
}

/// What the two threads have in common.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// What was cut off is.
    done: Condvar,
    synced: AtomicU64,
    /// Everything up to this entry is committed.
    committed: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    /// Entries behind this one are to go, before anything else is written.
    cut: Option<u64>,
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
    /// Starts the thread. With replicas, it does not decide alone what is committed:
    /// `agreed` is up to where they have agreed. `waker` is woken when more is safe, or nothing can be any
    /// more.
    pub(super) fn start(
        journal: Journal<Files>,
        agreed: Option<u64>,
        waker: Waker,
    ) -> Result<Self, ExchangeError> {
        let shared = Arc::new(Shared::default());
        shared.synced.store(journal.synced(), Ordering::Release);
        shared.committed.store(agreed.unwrap_or(ALONE), Ordering::Release);
        shared.lock().segments = journal.segments();
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || own.keep(journal, &waker))
            .map_err(ExchangeError::JournalThread)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Everything up to an entry is committed, so it must not be missing later.
    pub(super) fn note_committed(&self, index: u64) {
        self.shared.committed.store(index, Ordering::Release);
    }

    /// Has all that waits kept, and then what is behind an entry taken away: another
    /// leader's entries take its place. It waits for it, which is seldom: once for a
    /// leader that was replaced.
    pub(super) fn cut(&self, last: u64) {
        let mut state = self.shared.lock();
        state.cut = Some(last);
        self.shared.changed.notify_all();
        let is_at_it = |state: &mut State| state.cut.is_some() && state.failed.is_none();
        drop(self.shared.done.wait_while(state, is_at_it).unwrap_or_else(PoisonError::into_inner));
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
        let idle =
            |state: &mut State| state.waiting.is_empty() && !state.is_over && state.cut.is_none();
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
                if self.cut_off(&mut journal).is_err() {
                    return;
                }
                let committed = self.committed.load(Ordering::Acquire).min(journal.synced());
                if marked < committed {
                    marked = committed;
                    mark(&mut journal, committed);
                }
                continue;
            }
            let kept = journal.append(&batch);
            let mut state = self.lock();
            state.segments = journal.segments();
            let is_kept = kept.is_ok();
            match kept {
                Ok(_) => {
                    state.batches += 1;
                    state.bytes += batch.len() as u64;
                }
                Err(error) => state.failed = Some(error),
            }
            // Also of a batch that was not kept as a whole.
            self.synced.store(journal.synced(), Ordering::Release);
            drop(state);
            if let Err(error) = waker.wake() {
                tracing::error!(%error, "the journal cannot wake the market");
            }
            if !is_kept {
                self.done.notify_all();
                return;
            }
        }
        mark(&mut journal, self.committed.load(Ordering::Acquire));
    }

    /// Takes away what is to go, if something is.
    fn cut_off(&self, journal: &mut Journal<Files>) -> Result<(), ()> {
        let Some(last) = self.lock().cut else { return Ok(()) };
        let cut = journal.cut(last);
        let mut state = self.lock();
        state.cut = None;
        state.segments = journal.segments();
        self.synced.store(journal.synced(), Ordering::Release);
        let is_cut = cut.map_err(|error| {
            let error = AppendFault::Cut(error.to_string());
            state.failed = Some(AppendError { error, maybe: u64::MAX });
        });
        self.done.notify_all();
        is_cut
    }
}

fn mark(journal: &mut Journal<Files>, committed: u64) {
    if let Err(error) = journal.mark(committed) {
        tracing::warn!(%error, "the journal cannot note what was committed");
    }
}

/// What a market took up.
#[derive(Debug)]
pub(super) struct TakenUp {
    pub(super) journal: Journal<Files>,
    pub(super) found: Recovered,
    /// The entry whose state was in a snapshot; 0 for none.
    pub(super) snapshot: u64,
}

/// Has an exchange take up the newest snapshot, if one is needed or wanted, and do
/// again what the journal has behind it.
pub(super) fn recover(
    settings: &JournalSettings,
    config: &ExchangeConfig,
    exchange: &mut Exchange,
    wants_snapshot: bool,
    mut each: impl FnMut(&Exchange, &Entry<'_>),
) -> Result<TakenUp, ExchangeError> {
    let (dir, identity) = (&settings.dir, identity::of(config));
    let files = Files::open(dir)?;
    let failed = |error| ExchangeError::JournalDir { dir: dir.clone(), error };
    let is_whole = files.segments().map_err(failed)?.first().is_none_or(|first| *first == 1);
    let mut snapshot = 0;
    let indexes =
        if is_whole && !wants_snapshot { Vec::new() } else { list(dir).map_err(failed)? };
    for index in indexes {
        let state = read(dir, identity, index).map_err(failed)?;
        let mut restored = Exchange::new(config, 0);
        if state.and_then(|state| restored.restore(&state)).is_some() {
            exchange.take_up(restored);
            snapshot = index;
            break;
        }
        tracing::warn!(dir = %dir.display(), index, "a snapshot cannot be read");
    }
    let (journal, found) = Journal::open(files, settings.config, identity, snapshot, |entry| {
        each(exchange, entry);
        exchange.replay(entry, &mut Nobody).map_err(|differs| differ(dir, differs))
    })?;
    Ok(TakenUp { journal, found, snapshot })
}

pub(super) fn differ(dir: &Path, differs: Differs) -> ExchangeError {
    let Differs { index, here, there } = differs;
    ExchangeError::Differs { dir: dir.to_owned(), index, here: here.0, there: there.0 }
}

/// Has a market that stands by follow what its journal has: what is known to be
/// committed is done, what is behind it waits. Returns the log, too.
pub(super) fn follow(
    settings: &JournalSettings,
    config: &ExchangeConfig,
    exchange: &mut Exchange,
    now: Time,
) -> Result<(TakenUp, LogState), ExchangeError> {
    let files = Files::open(&settings.dir)?;
    let mark = files.mark();
    let mut log = LogState::default();
    exchange.stand_by();
    let commit = |exchange: &mut Exchange, committed: u64| {
        exchange.committed(now, committed, &mut Nobody);
        exchange.take_differs().map_or(Ok(()), |differs| Err(differ(&settings.dir, differs)))
    };
    let (journal, found) =
        Journal::open(files, settings.config, identity::of(config), 0, |entry| {
            log.terms.push(entry.head().term);
            log.committed = log.committed.max(entry.head().committed);
            exchange.follow(entry.bytes());
            commit(exchange, entry.head().committed)
        })?;
    log.committed = log.committed.max(mark);
    commit(exchange, log.committed)?;
    Ok((TakenUp { journal, found, snapshot: 0 }, log))
}

/// Keeps the state of a market behind its last entry, if all of them are done.
/// Returns up to which entry no journal is needed.
pub(super) fn keep_state(
    dir: &Path,
    config: &ExchangeConfig,
    exchange: &mut Exchange,
) -> Result<u64, ExchangeError> {
    let mut state = Vec::new();
    let Some(index) = exchange.save(&mut state) else { return Ok(0) };
    let written = write(dir, identity::of(config), index, &state);
    tracing::info!(dir = %dir.display(), index, bytes = state.len(), "the state is kept");
    written.map_err(|error| ExchangeError::JournalDir { dir: dir.to_owned(), error })
}
