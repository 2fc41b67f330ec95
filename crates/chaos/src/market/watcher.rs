//! Consumers on threads, and what they saw.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapeline_api::Protocol;

use super::{Heard, Listener, SERVICE, Tape};
use crate::lan::Host;
use crate::program::wait_until;

/// What a consumer saw.
#[derive(Debug)]
pub struct Seen {
    last: Vec<AtomicU32>,
    suspect: Vec<AtomicBool>,
    /// Images, the first ones included.
    pub images: AtomicU64,
    /// Updates.
    pub updates: AtomicU64,
    /// Updates whose number was not the next one.
    pub holes: AtomicU64,
    /// Updates that are merged ones.
    pub merged: AtomicU64,
    /// Updates, each as many as it says to be.
    pub counted: AtomicU64,
    /// The longest time between two updates, in microseconds.
    pub longest_gap_us: AtomicU64,
    /// When the last update came, in microseconds since the start.
    last_update_us: AtomicU64,
    started: Instant,
    /// Items that became stale after they had been fresh, as often as they did.
    pub stale: AtomicU64,
    /// Streams that ended.
    pub closed: AtomicU64,
    /// Connections lost.
    pub downs: AtomicU64,
    /// A consumer that is told so reads nothing.
    pub asleep: AtomicBool,
    stop: AtomicBool,
}

impl Seen {
    fn new(items: usize) -> Self {
        Self {
            last: (0..items).map(|_| AtomicU32::new(0)).collect(),
            suspect: (0..items).map(|_| AtomicBool::new(true)).collect(),
            images: AtomicU64::new(0),
            updates: AtomicU64::new(0),
            holes: AtomicU64::new(0),
            merged: AtomicU64::new(0),
            counted: AtomicU64::new(0),
            longest_gap_us: AtomicU64::new(0),
            last_update_us: AtomicU64::new(0),
            started: Instant::now(),
            stale: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            downs: AtomicU64::new(0),
            asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        }
    }

    /// The longest time between two updates so far; it begins anew.
    pub fn take_longest_gap(&self) -> Duration {
        Duration::from_micros(self.longest_gap_us.swap(0, Ordering::Relaxed))
    }

    fn hear(&self, heard: Heard) {
        match heard {
            Heard::Image { item, number, is_ok } => {
                self.images.fetch_add(1, Ordering::Relaxed);
                self.last[item].store(number, Ordering::Relaxed);
                self.suspect[item].store(!is_ok, Ordering::Relaxed);
            }
            Heard::Update { item, number, is_merged, count } => {
                self.counted.fetch_add(count, Ordering::Relaxed);
                let before = self.last[item].swap(number, Ordering::Relaxed);
                self.updates.fetch_add(1, Ordering::Relaxed);
                let now_us = self.started.elapsed().as_micros() as u64;
                let before_us = self.last_update_us.swap(now_us, Ordering::Relaxed);
                self.longest_gap_us.fetch_max(now_us - before_us, Ordering::Relaxed);
                self.merged.fetch_add(u64::from(is_merged), Ordering::Relaxed);
                let is_next = number == before.wrapping_add(1);
                self.holes.fetch_add(u64::from(!is_next), Ordering::Relaxed);
            }
            Heard::State { item, is_ok, is_final } => {
                if let Some(is_ok) = is_ok {
                    let was_suspect = self.suspect[item].swap(!is_ok, Ordering::Relaxed);
                    self.stale.fetch_add(u64::from(!is_ok && !was_suspect), Ordering::Relaxed);
                }
                self.closed.fetch_add(u64::from(is_final), Ordering::Relaxed);
            }
            Heard::Down => {
                self.downs.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// A consumer on a thread, of all items of a tape.
pub struct Watcher {
    /// What it saw.
    pub seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// One that connects to these servers in turn.
    pub fn start(tape: &Tape, servers: &[SocketAddr]) -> Self {
        Self::start_of(SERVICE, tape, servers)
    }

    /// The same, of items of these names in another service.
    pub fn start_of(service: &'static str, tape: &Tape, servers: &[SocketAddr]) -> Self {
        Self::start_on(service, Protocol::default(), tape, servers, thread::spawn)
    }

    /// The same on a host.
    pub fn start_on_host(tape: &Tape, host: &Host, servers: &[SocketAddr]) -> Self {
        Self::start_on_host_of(SERVICE, tape, host, servers)
    }

    /// The same of another service.
    pub fn start_on_host_of(
        service: &'static str,
        tape: &Tape,
        host: &Host,
        servers: &[SocketAddr],
    ) -> Self {
        Self::start_on(service, Protocol::default(), tape, servers, |work| host.spawn(work))
    }

    /// One that speaks JSON over WebSocket.
    pub fn start_json(tape: &Tape, servers: &[SocketAddr]) -> Self {
        let protocol = Protocol::Json;
        Self::start_on(SERVICE, protocol, tape, servers, thread::spawn)
    }

    fn start_on(
        service: &'static str,
        protocol: Protocol,
        tape: &Tape,
        servers: &[SocketAddr],
        spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> JoinHandle<()>,
    ) -> Self {
        let count = tape.items();
        let seen = Arc::new(Seen::new(count));
        let servers = servers.to_vec();
        let shared = Arc::clone(&seen);
        let thread = spawn(Box::new(move || {
            let mut listener = Listener::open(service, protocol, &servers, count);
            while !shared.stop.load(Ordering::Relaxed) {
                if shared.asleep.load(Ordering::Relaxed) {
                    thread::park_timeout(Duration::from_millis(1));
                    continue;
                }
                listener.poll(&mut |heard| shared.hear(heard));
            }
        }));
        Self { seen, thread: Some(thread) }
    }

    /// Whether every item has an image and is not stale.
    pub fn is_fresh(&self) -> bool {
        let seen = &self.seen;
        seen.suspect.iter().all(|suspect| !suspect.load(Ordering::Relaxed))
    }

    /// Whether every item is stale.
    pub fn is_stale(&self) -> bool {
        self.seen.suspect.iter().all(|suspect| suspect.load(Ordering::Relaxed))
    }

    /// Whether the last number seen of every item is the last one published.
    pub fn has_all_of(&self, tape: &Tape) -> bool {
        let seen = self.seen.last.iter().map(|seen| seen.load(Ordering::Relaxed));
        seen.eq(tape.numbers())
    }

    /// How many updates of a tape it has yet to see.
    pub fn updates_behind(&self, tape: &Tape) -> u64 {
        let seen = self.seen.last.iter().map(|seen| seen.load(Ordering::Relaxed));
        tape.numbers().zip(seen).map(|(last, seen)| u64::from(last.saturating_sub(seen))).sum()
    }

    /// Waits until every item is fresh; says how long it took.
    pub fn wait_fresh(&self) -> Duration {
        wait_until("every item to be fresh", || self.is_fresh())
    }

    /// Waits until every item is stale; says how long it took.
    pub fn wait_stale(&self) -> Duration {
        wait_until("every item to be stale", || self.is_stale())
    }

    /// Waits until nothing of what was published is missing.
    pub fn wait_all_of(&self, tape: &Tape) -> Duration {
        wait_until("everything that was published", || self.has_all_of(tape))
    }

    /// How many updates were not the next one.
    pub fn holes(&self) -> u64 {
        self.seen.holes.load(Ordering::Relaxed)
    }

    /// How many updates it got.
    pub fn updates(&self) -> u64 {
        self.seen.updates.load(Ordering::Relaxed)
    }

    /// How many updates it got, each as many as it says to be.
    pub fn counted(&self) -> u64 {
        self.seen.counted.load(Ordering::Relaxed)
    }

    /// How often its connection was lost.
    pub fn downs(&self) -> u64 {
        self.seen.downs.load(Ordering::Relaxed)
    }

    /// How many images it got.
    pub fn images(&self) -> u64 {
        self.seen.images.load(Ordering::Relaxed)
    }
}

impl Watcher {
    /// Ends it; its connection is gone.
    pub fn stop(&mut self) {
        self.seen.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop();
    }
}
