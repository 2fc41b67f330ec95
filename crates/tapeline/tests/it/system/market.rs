//! A source that numbers its updates, and consumers that check the numbers.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemSpec, Login, Protocol, Provider,
    ProviderConfig, ProviderEvent, RefreshHead, Requests, Responses, Server, ServiceSpec,
    StreamHandle, UpdateHead,
};
use tapeline_rwf::{DataState, Primitive};

use super::lan::Host;
use super::program::wait_until;

/// Name of the source's service.
pub(crate) const SERVICE: &str = "FEED";

/// Field that repeats the sequence number, so that an image says where it is.
const ACVOL_1: i16 = 32;

/// A text that gives updates the size that real ones have.
const DSPLY_NAME: i16 = 3;
const TEXT: &str =
    "An instrument with a name that is about as long as the rest of an update of a quote";

/// What an image or an update with this number says.
fn content(seq: u32) -> [(i16, Primitive<'static>); 2] {
    [(ACVOL_1, Primitive::Uint(seq.into())), (DSPLY_NAME, Primitive::Rmtes(TEXT.as_bytes()))]
}

/// The name of an item by its number.
fn name(item: usize) -> String {
    format!("ITEM{item}")
}

/// How a source publishes, shared with its thread.
#[derive(Debug)]
pub(crate) struct Tape {
    /// The last sequence number published of each item, over all runs of the
    /// source.
    last: Vec<AtomicU32>,
    /// Updates a second, over all items.
    rate: AtomicU64,
    published: AtomicU64,
    streams: AtomicUsize,
}

impl Tape {
    pub(crate) fn new(items: usize) -> Arc<Self> {
        Arc::new(Self {
            last: (0..items).map(|_| AtomicU32::new(1)).collect(),
            rate: AtomicU64::new(0),
            published: AtomicU64::new(0),
            streams: AtomicUsize::new(0),
        })
    }

    pub(crate) fn set_rate(&self, updates_per_second: u64) {
        self.rate.store(updates_per_second, Ordering::Relaxed);
    }

    /// Updates published so far.
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    /// Streams that are open at the source now.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Publishes at a rate until this many more updates are out, then stops.
    pub(crate) fn publish(&self, updates: u64, updates_per_second: u64) {
        let goal = self.published() + updates;
        self.set_rate(updates_per_second);
        wait_until("updates to be published", || self.published() >= goal);
        self.set_rate(0);
    }
}

/// An interactive provider on a thread. Gone, with its connections, when
/// dropped.
pub(crate) struct Source {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Source {
    /// Starts one; port 0 for one that is free.
    pub(crate) fn start(tape: &Arc<Tape>, address: SocketAddr) -> Self {
        Self::start_on(tape, address, thread::spawn)
    }

    /// The same on a host, at a port.
    pub(crate) fn start_on_host(tape: &Arc<Tape>, host: &Host, port: u16) -> Self {
        Self::start_on(tape, (host.address, port).into(), |work| host.spawn(work))
    }

    fn start_on(
        tape: &Arc<Tape>,
        address: SocketAddr,
        spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> JoinHandle<()>,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (listening, listens) = std::sync::mpsc::channel();
        let (thread_tape, thread_stop) = (Arc::clone(tape), Arc::clone(&stop));
        let work = Box::new(move || {
            let service = ServiceSpec::new(1, SERVICE);
            let mut provider =
                Provider::new(ProviderConfig::new([service.entry()])).expect("a reactor");
            let address = provider.listen(address).expect("a free port");
            listening.send(address).expect("the test waits");
            run_source(&mut provider, &thread_tape, &thread_stop);
        });
        let thread = spawn(work);
        let address = listens.recv().expect("the source listens");
        Self { address, stop, thread: Some(thread) }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The streams that are open at the source, each with its item's number.
#[derive(Default)]
struct Open {
    streams: Vec<(StreamHandle, usize)>,
    places: HashMap<StreamHandle, usize>,
}

impl Open {
    fn add(&mut self, stream: StreamHandle, item: usize) {
        self.places.insert(stream, self.streams.len());
        self.streams.push((stream, item));
    }

    fn item(&self, stream: StreamHandle) -> Option<usize> {
        self.places.get(&stream).map(|place| self.streams[*place].1)
    }

    fn remove(&mut self, stream: StreamHandle) {
        let Some(place) = self.places.remove(&stream) else { return };
        self.streams.swap_remove(place);
        if let Some((moved, _)) = self.streams.get(place) {
            self.places.insert(*moved, place);
        }
    }
}

fn run_source(provider: &mut Provider, tape: &Tape, stop: &AtomicBool) {
    let mut open = Open::default();
    let mut next = 0;
    let mut due = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        provider.poll(
            Some(Duration::from_millis(1)),
            &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
                on_request(&event, responses, tape, &mut open);
            },
        );
        tape.streams.store(open.streams.len(), Ordering::Relaxed);
        let rate = tape.rate.load(Ordering::Relaxed);
        if rate == 0 || open.streams.is_empty() {
            due = Instant::now();
            continue;
        }
        let interval = Duration::from_nanos(1_000_000_000 / rate);
        provider.with(|responses| {
            // A bounded burst, so that requests are answered in between.
            for _ in 0..1000 {
                if due > Instant::now() {
                    break;
                }
                due += interval;
                let (stream, item) = open.streams[next % open.streams.len()];
                next += 1;
                let seq = tape.last[item].fetch_add(1, Ordering::Relaxed) + 1;
                let head = UpdateHead { seq_num: Some(seq), ..UpdateHead::QUOTE };
                let _ = responses.update(stream, &head, &content(seq));
                tape.published.fetch_add(1, Ordering::Relaxed);
            }
        });
        provider.flush();
    }
    tape.streams.store(0, Ordering::Relaxed);
}

fn on_request(
    event: &ProviderEvent<'_>,
    responses: &mut Responses<'_>,
    tape: &Tape,
    open: &mut Open,
) {
    let (stream, item) = match event {
        ProviderEvent::Request { stream, request, .. } => {
            let name = request.key.name.and_then(|name| std::str::from_utf8(name).ok());
            let item = name.and_then(|name| name.strip_prefix("ITEM")?.parse().ok());
            let Some(item) = item.filter(|item| *item < tape.last.len()) else {
                let _ =
                    responses.close(*stream, tapeline_rwf::StateCode::NOT_FOUND, "no such item");
                return;
            };
            open.add(*stream, item);
            (*stream, item)
        }
        ProviderEvent::Reissue { stream, wants_image: true, .. } => {
            let Some(item) = open.item(*stream) else { return };
            (*stream, item)
        }
        ProviderEvent::Close { stream } => {
            open.remove(*stream);
            return;
        }
        _ => return,
    };
    let seq = tape.last[item].load(Ordering::Relaxed);
    let head = RefreshHead { seq_num: Some(seq), ..RefreshHead::default() };
    let _ = responses.refresh(stream, &head, &content(seq));
}

/// What a consumer saw.
#[derive(Debug)]
pub(crate) struct Seen {
    last: Vec<AtomicU32>,
    suspect: Vec<AtomicBool>,
    /// Images, the first ones included.
    pub(crate) images: AtomicU64,
    /// Updates.
    pub(crate) updates: AtomicU64,
    /// Updates whose number was not the next one.
    pub(crate) holes: AtomicU64,
    /// Updates that are merged ones.
    pub(crate) merged: AtomicU64,
    /// The longest time between two updates, in microseconds.
    pub(crate) longest_gap_us: AtomicU64,
    /// When the last update came, in microseconds since the start.
    last_update_us: AtomicU64,
    started: Instant,
    /// Items that became stale after they had been fresh, as often as they did.
    pub(crate) stale: AtomicU64,
    /// Streams that ended.
    pub(crate) closed: AtomicU64,
    /// Connections lost.
    pub(crate) downs: AtomicU64,
    /// A consumer that is told so reads nothing.
    pub(crate) asleep: AtomicBool,
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
    pub(crate) fn take_longest_gap(&self) -> Duration {
        Duration::from_micros(self.longest_gap_us.swap(0, Ordering::Relaxed))
    }

    fn on_event(&self, event: &ConsumerEvent<'_>, items: &HashMap<Handle, usize>) {
        match event {
            ConsumerEvent::Refresh { handle, msg } => {
                let item = items[handle];
                self.images.fetch_add(1, Ordering::Relaxed);
                self.last[item].store(msg.seq_num.unwrap_or(0), Ordering::Relaxed);
                self.suspect[item].store(msg.state.data != DataState::OK, Ordering::Relaxed);
            }
            ConsumerEvent::Update { handle, msg } => {
                let item = items[handle];
                let seq = msg.seq_num.unwrap_or(0);
                let before = self.last[item].swap(seq, Ordering::Relaxed);
                self.updates.fetch_add(1, Ordering::Relaxed);
                let now_us = self.started.elapsed().as_micros() as u64;
                let before_us = self.last_update_us.swap(now_us, Ordering::Relaxed);
                self.longest_gap_us.fetch_max(now_us - before_us, Ordering::Relaxed);
                if msg.conflation.is_some() {
                    self.merged.fetch_add(1, Ordering::Relaxed);
                }
                if seq != before.wrapping_add(1) {
                    self.holes.fetch_add(1, Ordering::Relaxed);
                }
            }
            ConsumerEvent::Status { handle, msg } => {
                let Some(state) = &msg.state else { return };
                if let Some(item) = items.get(handle) {
                    if state.data != DataState::NO_CHANGE {
                        let is_suspect = state.data != DataState::OK;
                        let was = self.suspect[*item].swap(is_suspect, Ordering::Relaxed);
                        self.stale.fetch_add(u64::from(is_suspect && !was), Ordering::Relaxed);
                    }
                    if tapeline_omm::state::is_final(state.stream) {
                        self.closed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            ConsumerEvent::Down { .. } => {
                self.downs.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// A consumer on a thread, of all items of a tape.
pub(crate) struct Watcher {
    pub(crate) seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// One that connects to these servers in turn.
    pub(crate) fn start(tape: &Tape, servers: &[SocketAddr]) -> Self {
        Self::start_of(SERVICE, tape, servers)
    }

    /// The same, of items of these names in another service.
    pub(crate) fn start_of(service: &'static str, tape: &Tape, servers: &[SocketAddr]) -> Self {
        Self::start_on(service, Protocol::default(), tape, servers, thread::spawn)
    }

    /// The same on a host.
    pub(crate) fn start_on_host(tape: &Tape, host: &Host, servers: &[SocketAddr]) -> Self {
        Self::start_on(SERVICE, Protocol::default(), tape, servers, |work| host.spawn(work))
    }

    /// One that speaks JSON over WebSocket.
    pub(crate) fn start_json(tape: &Tape, servers: &[SocketAddr]) -> Self {
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
        let count = tape.last.len();
        let seen = Arc::new(Seen::new(count));
        let servers: Vec<Server> =
            servers.iter().map(|at| Server::new(at.ip().to_string(), at.port())).collect();
        let shared = Arc::clone(&seen);
        let thread = spawn(Box::new(move || {
            let config =
                ConsumerConfig { protocol, ..ConsumerConfig::new(servers, Login::new("tester")) };
            let mut consumer = Consumer::new(config).expect("a reactor");
            let mut items = HashMap::new();
            for item in 0..count {
                let name = name(item);
                let handle = consumer.open(&ItemSpec::new(service, &name)).expect("room");
                items.insert(handle, item);
            }
            while !shared.stop.load(Ordering::Relaxed) {
                if shared.asleep.load(Ordering::Relaxed) {
                    thread::park_timeout(Duration::from_millis(1));
                    continue;
                }
                consumer.poll(
                    Some(Duration::from_millis(5)),
                    &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
                        shared.on_event(&event, &items);
                    },
                );
            }
        }));
        Self { seen, thread: Some(thread) }
    }

    /// Whether every item has an image and is not stale.
    pub(crate) fn is_fresh(&self) -> bool {
        let seen = &self.seen;
        seen.suspect.iter().all(|suspect| !suspect.load(Ordering::Relaxed))
    }

    /// Whether every item is stale.
    pub(crate) fn is_stale(&self) -> bool {
        self.seen.suspect.iter().all(|suspect| suspect.load(Ordering::Relaxed))
    }

    /// Whether the last number seen of every item is the last one published.
    pub(crate) fn has_all_of(&self, tape: &Tape) -> bool {
        self.seen.last.iter().zip(&tape.last).all(|(seen, published)| {
            seen.load(Ordering::Relaxed) == published.load(Ordering::Relaxed)
        })
    }

    /// Waits until every item is fresh; says how long it took.
    pub(crate) fn wait_fresh(&self) -> Duration {
        wait_until("every item to be fresh", || self.is_fresh())
    }

    /// Waits until every item is stale; says how long it took.
    pub(crate) fn wait_stale(&self) -> Duration {
        wait_until("every item to be stale", || self.is_stale())
    }

    /// Waits until nothing of what was published is missing.
    pub(crate) fn wait_all_of(&self, tape: &Tape) -> Duration {
        wait_until("everything that was published", || self.has_all_of(tape))
    }

    pub(crate) fn holes(&self) -> u64 {
        self.seen.holes.load(Ordering::Relaxed)
    }

    pub(crate) fn updates(&self) -> u64 {
        self.seen.updates.load(Ordering::Relaxed)
    }

    /// How often its connection was lost.
    pub(crate) fn downs(&self) -> u64 {
        self.seen.downs.load(Ordering::Relaxed)
    }

    pub(crate) fn images(&self) -> u64 {
        self.seen.images.load(Ordering::Relaxed)
    }
}

impl Watcher {
    /// Ends it; its connection is gone.
    pub(crate) fn stop(&mut self) {
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

/// Loopback, at a port of the system's choice.
pub(crate) fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}
