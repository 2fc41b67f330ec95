//! Another configuration for the threads of a process while they turn: for all of
//! them, or for none.
//!
//! ```text
//!  edge thread        prepare         each tick thread
//!  ┌────────┐ ── Change, reply ─────▶ ┌──────────────┐
//!  │        │ ◀── good, or why not ── │ opens ports  │
//!  │        │                         │              │
//!  │ commit, if all are good; else    │ looks at the fate of the change
//!  │ abandon: one atomic of the change│ each millisecond, between two turns
//!  └────────┘                         └──────────────┘
//! ```
//!
//! What can fail is done by [`prepare`](Changes::prepare). Behind it there is one
//! store that all threads look at, so that no thread can have the new configuration
//! where another one keeps the old.

mod fate;

use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tapeline_hub::HubConfig;
use tapeline_server::ServerConfig;

use crate::NodeConfig;
use fate::{Fate, Verdict};

/// What is shared between threads in a fate.
mod sync {
    pub(super) use std::sync::atomic::{AtomicU8, Ordering};
}

/// Changes that wait for one thread. There is one at a time, and one that was given
/// up as the thread stood still.
const WAITING: usize = 4;

/// What of a configuration hubs and servers can be given while they run.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Of each hub.
    pub hubs: Vec<HubConfig>,
    /// Of each server. Shards have that of the first.
    pub servers: Vec<ServerConfig>,
    /// How often what is counted is told in the log.
    pub counters_interval: Option<Duration>,
}

impl From<&NodeConfig> for Parts {
    fn from(config: &NodeConfig) -> Self {
        Self {
            hubs: config.hubs.iter().map(|part| part.config.clone()).collect(),
            servers: config.servers.iter().map(|part| part.config.clone()).collect(),
            counters_interval: config.counters_interval,
        }
    }
}

/// A configuration that may follow the present one.
#[derive(Debug)]
pub struct Change {
    /// Counts configurations from the start on, which has 0.
    pub epoch: u64,
    /// The present one.
    pub before: Parts,
    /// The one that follows.
    pub after: Parts,
    fate: Fate,
}

impl Change {
    /// One of which is not known yet whether it will hold.
    pub fn new(epoch: u64, before: Parts, after: Parts) -> Self {
        Self { epoch, before, after, fate: Fate::default() }
    }

    /// Has it hold, from the next turn of each thread on.
    pub fn commit(&self) {
        self.fate.commit();
    }

    /// Has nothing have happened.
    pub fn abandon(&self) {
        self.fate.abandon();
    }
}

type Reply = Box<dyn FnOnce(Result<(), String>) + Send>;

/// A change to be prepared by a thread, and where it says how that went.
pub(crate) struct Request {
    pub(crate) change: Arc<Change>,
    reply: Reply,
}

impl Request {
    /// Says how it went.
    pub(crate) fn answer(self, result: Result<(), String>) {
        (self.reply)(result);
    }
}

struct Way {
    thread: String,
    requests: SyncSender<Request>,
}

/// The ways by which the threads of a process are given another configuration.
/// Clones are the same ways.
#[derive(Clone, Default)]
pub struct Changes(Arc<Mutex<Vec<Way>>>);

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

impl Changes {
    /// Has every thread prepare a change. Each calls, soon, what `reply` makes for
    /// it, which must not wait; one that has ended does not count.
    pub fn prepare<R>(&self, change: &Arc<Change>, mut reply: impl FnMut(&str) -> R)
    where
        R: FnOnce(Result<(), String>) + Send + 'static,
    {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ways.retain(|way| {
            let reply: Reply = Box::new(reply(&way.thread));
            let request = Request { change: Arc::clone(change), reply };
            match way.requests.try_send(request) {
                Ok(()) => true,
                Err(TrySendError::Full(request)) => {
                    request.answer(Err("it stands still".to_owned()));
                    true
                }
                Err(TrySendError::Disconnected(request)) => {
                    request.answer(Ok(()));
                    false
                }
            }
        });
    }

    /// The end of a thread.
    pub(crate) fn enter(&self, thread: &str) -> Helm {
        let (requests, queue) = sync_channel(WAITING);
        let way = Way { thread: thread.to_owned(), requests };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(way);
        Helm { queue, prepared: None }
    }
}

/// What a thread has to do about changes now.
pub(crate) enum Step {
    /// Prepare one, and answer.
    Prepare(Request),
    /// Have the one hold that was prepared.
    Adopt(Arc<Change>),
    /// Give up the one that was prepared.
    Abandon,
}

/// The end of a thread.
#[derive(Debug)]
pub(crate) struct Helm {
    queue: Receiver<Request>,
    prepared: Option<Arc<Change>>,
}

impl Helm {
    /// What is to be done now, if anything.
    pub(crate) fn look(&mut self) -> Option<Step> {
        if let Some(change) = self.prepared.take() {
            match change.fate.verdict() {
                Verdict::Open => self.prepared = Some(change),
                Verdict::Committed => return Some(Step::Adopt(change)),
                Verdict::Abandoned => return Some(Step::Abandon),
            }
        }
        self.queue.try_recv().ok().map(Step::Prepare)
    }

    /// A change was prepared, and waits for its fate.
    pub(crate) fn is_prepared(&mut self, change: Arc<Change>) {
        self.prepared = Some(change);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn change(epoch: u64) -> Arc<Change> {
        Arc::new(Change::new(epoch, Parts::default(), Parts::default()))
    }

    /// Has threads prepare; what each said.
    fn prepare(changes: &Changes, change: &Arc<Change>, helms: &mut [&mut Helm]) -> Vec<String> {
        let (sender, said) = channel();
        changes.prepare(change, |thread| {
            let (sender, thread) = (sender.clone(), thread.to_owned());
            move |result: Result<(), String>| {
                sender.send(format!("{thread}: {result:?}")).expect("somebody listens");
            }
        });
        for helm in helms {
            if let Some(Step::Prepare(request)) = helm.look() {
                helm.is_prepared(Arc::clone(&request.change));
                request.answer(Ok(()));
            }
        }
        drop(sender);
        said.iter().collect()
    }

    fn adopts(helm: &mut Helm) -> Option<u64> {
        match helm.look() {
            Some(Step::Adopt(change)) => Some(change.epoch),
            _ => None,
        }
    }

    #[test]
    fn threads_take_a_change_when_it_is_committed_and_not_before() {
        let changes = Changes::default();
        let (mut main, mut shard) = (changes.enter("main"), changes.enter("shard-1"));
        let change = change(1);
        let said = prepare(&changes, &change, &mut [&mut main, &mut shard]);
        assert_eq!(said, ["main: Ok(())", "shard-1: Ok(())"]);
        assert!(main.look().is_none() && shard.look().is_none());
        change.commit();
        assert_eq!((adopts(&mut main), adopts(&mut shard)), (Some(1), Some(1)));
        assert!(main.look().is_none());
    }

    #[test]
    fn a_thread_that_comes_to_it_late_takes_no_change_that_was_given_up() {
        let changes = Changes::default();
        let mut helm = changes.enter("main");
        let given_up = change(1);
        changes.prepare(&given_up, |_| |_| {});
        given_up.abandon();
        let Some(Step::Prepare(request)) = helm.look() else { panic!("it waits") };
        helm.is_prepared(Arc::clone(&request.change));
        request.answer(Ok(()));
        assert!(matches!(helm.look(), Some(Step::Abandon)));
        let next = change(2);
        assert_eq!(prepare(&changes, &next, &mut [&mut helm]), ["main: Ok(())"]);
    }

    #[test]
    fn a_thread_that_ended_is_not_waited_for_and_one_that_stands_still_is_named() {
        let changes = Changes::default();
        drop(changes.enter("gone"));
        let mut main = changes.enter("main");
        for epoch in 0..WAITING {
            changes.prepare(&change(epoch as u64), |_| |_| {});
        }
        let said = prepare(&changes, &change(9), &mut []);
        assert_eq!(said, ["main: Err(\"it stands still\")"]);
        assert!(matches!(main.look(), Some(Step::Prepare(_))));
    }
}
