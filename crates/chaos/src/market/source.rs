//! An interactive provider on a thread.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapeline_api::{
    Provider, ProviderConfig, ProviderEvent, RefreshHead, Responses, ServiceSpec, StreamHandle,
    UpdateHead,
};
use tapeline_time::host_now;

use super::{SERVICE, Watcher, content, item_of};
use crate::lan::Host;
use crate::program::wait_until;

/// How a source publishes, shared with its thread.
#[derive(Debug)]
pub struct Tape {
    /// The last sequence number published of each item, over all runs of the
    /// source.
    last: Vec<AtomicU32>,
    /// Updates a second, over all items.
    rate: AtomicU64,
    published: AtomicU64,
    /// Updates that may be published in all.
    most: AtomicU64,
    streams: AtomicUsize,
    /// Images that were asked for.
    requests: AtomicU64,
    /// Whether an item has a stream at the source.
    is_open: Vec<AtomicBool>,
    /// Whether an item goes on from the clock when it is opened.
    is_by_clock: bool,
}

impl Tape {
    /// One of so many items, all of which are at 1.
    pub fn new(items: usize) -> Arc<Self> {
        Self::with(items, false)
    }

    /// One whose items, whenever they are opened anew, go on from the
    /// milliseconds since the host's start. An item that has fewer than 1,000
    /// updates a second never goes back then, whichever source it is opened at
    /// and however often these are killed, though they know nothing of each
    /// other.
    pub fn by_clock(items: usize) -> Arc<Self> {
        Self::with(items, true)
    }

    fn with(items: usize, is_by_clock: bool) -> Arc<Self> {
        Arc::new(Self {
            last: (0..items).map(|_| AtomicU32::new(1)).collect(),
            rate: AtomicU64::new(0),
            published: AtomicU64::new(0),
            most: AtomicU64::new(u64::MAX),
            streams: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            is_open: (0..items).map(|_| AtomicBool::new(false)).collect(),
            is_by_clock,
        })
    }

    /// How many items there are.
    pub fn items(&self) -> usize {
        self.last.len()
    }

    /// The last number of each item.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.last.iter().map(|last| last.load(Ordering::Relaxed))
    }

    /// The last number of each item; `None` for those that are not open here.
    pub fn open_numbers(&self) -> impl Iterator<Item = Option<u32>> {
        let is_open = self.is_open.iter().map(|is_open| is_open.load(Ordering::Relaxed));
        self.numbers().zip(is_open).map(|(number, is_open)| is_open.then_some(number))
    }

    /// An item is opened that was not open.
    fn begin(&self, item: usize) {
        if self.is_by_clock {
            let now_ms = host_now().as_nanos() / 1_000_000;
            self.last[item].fetch_max(now_ms as u32, Ordering::Relaxed);
        }
        self.is_open[item].store(true, Ordering::Relaxed);
    }

    /// Publishes so many updates a second from now on, over all open items.
    pub fn set_rate(&self, updates_per_second: u64) {
        self.rate.store(updates_per_second, Ordering::Relaxed);
    }

    /// Forgets to send one update of an item: a loss for consumers to find.
    pub fn skip(&self, item: usize) {
        self.last[item].fetch_add(1, Ordering::Relaxed);
    }

    /// Updates published so far.
    pub fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    /// Streams that are open at the source now.
    pub fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Images that were asked for so far, by requests and reissues.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Publishes at a rate until this many more updates are out, then stops.
    pub fn publish(&self, updates: u64, updates_per_second: u64) {
        let goal = self.published() + updates;
        self.set_rate(updates_per_second);
        wait_until("updates to be published", || self.published() >= goal);
        self.set_rate(0);
    }

    /// The same as fast as these consumers keep up: none of them is ever more
    /// than 2,000 updates behind. So nothing on the way needs to hold
    /// more than that, however busy the machine is.
    pub fn publish_to(&self, consumers: &[Watcher], updates: u64, updates_per_second: u64) {
        let goal = self.published() + updates;
        let behind = || consumers.iter().map(|it| it.updates_behind(self)).max().unwrap_or(0);
        self.most.store(self.published(), Ordering::Relaxed);
        self.set_rate(updates_per_second);
        while self.published() < goal {
            let room = MOST_AHEAD.saturating_sub(behind());
            let most = goal.min(self.published() + room);
            self.most.store(most, Ordering::Relaxed);
            // Each time something has to come: it may take long, but not stand still.
            wait_until("consumers to have what is published", || {
                self.published() >= goal || self.published() == most && behind() < MOST_AHEAD / 2
            });
        }
        self.set_rate(0);
        self.most.store(u64::MAX, Ordering::Relaxed);
    }
}

/// How far a source that is paced by consumers may be ahead of the slowest, in
/// updates: some 400 kB of them.
const MOST_AHEAD: u64 = 2_000;

/// An interactive provider on a thread. Gone, with its connections, when
/// dropped.
pub struct Source {
    /// Where it listens.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Source {
    /// Starts one; port 0 for one that is free.
    pub fn start(tape: &Arc<Tape>, address: SocketAddr) -> Self {
        Self::start_of(SERVICE, tape, address)
    }

    /// The same of another service.
    pub fn start_of(service: &'static str, tape: &Arc<Tape>, address: SocketAddr) -> Self {
        Self::start_on(service, tape, address, thread::spawn)
    }

    /// The same on a host, at a port.
    pub fn start_on_host(tape: &Arc<Tape>, host: &Host, port: u16) -> Self {
        Self::start_on_host_of(SERVICE, tape, host, port)
    }

    /// The same of another service.
    pub fn start_on_host_of(
        service: &'static str,
        tape: &Arc<Tape>,
        host: &Host,
        port: u16,
    ) -> Self {
        Self::start_on(service, tape, (host.address, port).into(), |work| host.spawn(work))
    }

    fn start_on(
        service: &'static str,
        tape: &Arc<Tape>,
        address: SocketAddr,
        spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> JoinHandle<()>,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (listening, listens) = std::sync::mpsc::channel();
        let (thread_tape, thread_stop) = (Arc::clone(tape), Arc::clone(&stop));
        let work = Box::new(move || {
            let service = ServiceSpec::new(1, service);
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

/// The items that are open at the source, each with its streams: one for each
/// hub that asked.
#[derive(Default)]
struct Open {
    items: Vec<(usize, Vec<StreamHandle>)>,
    /// Where an item is among them.
    places: HashMap<usize, usize>,
    streams: HashMap<StreamHandle, usize>,
}

impl Open {
    fn add(&mut self, stream: StreamHandle, item: usize) {
        self.streams.insert(stream, item);
        let place = *self.places.entry(item).or_insert(self.items.len());
        if place == self.items.len() {
            self.items.push((item, Vec::new()));
        }
        self.items[place].1.push(stream);
    }

    fn item(&self, stream: StreamHandle) -> Option<usize> {
        self.streams.get(&stream).copied()
    }

    fn has(&self, item: usize) -> bool {
        self.places.contains_key(&item)
    }

    fn remove(&mut self, stream: StreamHandle) {
        let Some(item) = self.streams.remove(&stream) else { return };
        let place = self.places[&item];
        self.items[place].1.retain(|other| *other != stream);
        if !self.items[place].1.is_empty() {
            return;
        }
        self.places.remove(&item);
        self.items.swap_remove(place);
        if let Some((moved, _)) = self.items.get(place) {
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
        let most = tape.most.load(Ordering::Relaxed);
        if rate == 0 || open.items.is_empty() || tape.published() >= most {
            due = Instant::now();
            continue;
        }
        let interval = Duration::from_nanos(1_000_000_000 / rate);
        provider.with(|responses| {
            // A bounded burst, so that requests are answered in between.
            for _ in 0..1000 {
                if due > Instant::now() || tape.published() >= most {
                    break;
                }
                due += interval;
                let (item, streams) = &open.items[next % open.items.len()];
                next += 1;
                let seq = tape.last[*item].fetch_add(1, Ordering::Relaxed) + 1;
                let head = UpdateHead { seq_num: Some(seq), ..UpdateHead::QUOTE };
                for stream in streams {
                    let _ = responses.update(*stream, &head, &content(seq));
                }
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
            let Some(item) = item_of(request.key.name, tape.last.len()) else {
                let _ =
                    responses.close(*stream, tapeline_rwf::StateCode::NOT_FOUND, "no such item");
                return;
            };
            if !open.has(item) {
                tape.begin(item);
            }
            open.add(*stream, item);
            (*stream, item)
        }
        ProviderEvent::Reissue { stream, wants_image: true, .. } => {
            let Some(item) = open.item(*stream) else { return };
            (*stream, item)
        }
        ProviderEvent::Close { stream } => {
            if let Some(item) = open.item(*stream) {
                open.remove(*stream);
                tape.is_open[item].store(open.has(item), Ordering::Relaxed);
            }
            return;
        }
        _ => return,
    };
    tape.requests.fetch_add(1, Ordering::Relaxed);
    let seq = tape.last[item].load(Ordering::Relaxed);
    let head = RefreshHead { seq_num: Some(seq), ..RefreshHead::default() };
    let _ = responses.refresh(stream, &head, &content(seq));
}
