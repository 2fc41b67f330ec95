//! Sources that publish the same: one thread, which numbers each update once and
//! sends it through every door that is open.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tapeline_api::{
    Provider, ProviderConfig, ProviderEvent, RefreshHead, Responses, ServiceSpec, StreamHandle,
    UpdateHead,
};
use tapeline_rwf::StateCode;

use crate::lan::Host;
use crate::market::{SERVICE, content, item_of};

/// Most updates between two looks at what is asked.
const BURST: u32 = 500;

/// What the thread and its owner share.
#[derive(Debug)]
struct Shared {
    /// The last number of each item.
    numbers: Vec<AtomicU32>,
    updates_per_s: AtomicU64,
    requests: AtomicU64,
    /// Streams, by door.
    streams: Vec<AtomicUsize>,
    is_open: Vec<AtomicBool>,
    is_over: AtomicBool,
}

/// Sources on a thread, each at a port of its own. Gone when dropped.
#[derive(Debug)]
pub struct Doors {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Doors {
    /// One at each of these addresses of a host, all of them open.
    pub fn start(host: &Host, addresses: &[SocketAddr], items: usize) -> Self {
        let shared = Arc::new(Shared {
            numbers: (0..items).map(|_| AtomicU32::new(1)).collect(),
            updates_per_s: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            streams: addresses.iter().map(|_| AtomicUsize::new(0)).collect(),
            is_open: addresses.iter().map(|_| AtomicBool::new(true)).collect(),
            is_over: AtomicBool::new(false),
        });
        let (theirs, addresses) = (Arc::clone(&shared), addresses.to_vec());
        let thread = host.spawn(move || Publisher::new(theirs, addresses).run());
        Self { shared, thread: Some(thread) }
    }

    /// Publishes so many updates a second from now on, over all items.
    pub fn set_rate(&self, updates_per_s: u64) {
        self.shared.updates_per_s.store(updates_per_s, Ordering::Relaxed);
    }

    /// The last number of each item.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.shared.numbers.iter().map(|number| number.load(Ordering::Relaxed))
    }

    /// Images that were asked for so far, by requests and reissues, at all doors.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// Streams that are open at a door.
    pub fn streams(&self, door: usize) -> usize {
        self.shared.streams[door].load(Ordering::Relaxed)
    }

    /// Closes a door with all that came through it, as the death of its process does.
    pub fn kill(&self, door: usize) {
        self.shared.is_open[door].store(false, Ordering::Relaxed);
    }

    /// Opens it again.
    pub fn revive(&self, door: usize) {
        self.shared.is_open[door].store(true, Ordering::Relaxed);
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Publisher {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    doors: Vec<Option<Door>>,
    next: usize,
    due: Instant,
}

/// One source, and the streams of each item at it.
struct Door {
    provider: Provider,
    items: Vec<Vec<StreamHandle>>,
    streams: HashMap<StreamHandle, usize>,
}

impl Door {
    fn open(address: SocketAddr, items: usize) -> Self {
        let service = ServiceSpec::new(1, SERVICE);
        let mut provider =
            Provider::new(ProviderConfig::new([service.entry()])).expect("a reactor");
        provider.listen(address).expect("a free port");
        Self { provider, items: vec![Vec::new(); items], streams: HashMap::new() }
    }

    fn serve(&mut self, shared: &Shared) {
        let Self { provider, items, streams } = self;
        provider.poll(
            Some(Duration::from_micros(500)),
            &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
                let stream = match event {
                    ProviderEvent::Request { stream, request, .. } => {
                        let Some(item) = item_of(request.key.name, items.len()) else {
                            let _ = responses.close(stream, StateCode::NOT_FOUND, "no such item");
                            return;
                        };
                        items[item].push(stream);
                        streams.insert(stream, item);
                        stream
                    }
                    ProviderEvent::Reissue { stream, wants_image: true, .. } => stream,
                    ProviderEvent::Close { stream } => {
                        if let Some(item) = streams.remove(&stream) {
                            items[item].retain(|other| *other != stream);
                        }
                        return;
                    }
                    _ => return,
                };
                let Some(item) = streams.get(&stream) else { return };
                shared.requests.fetch_add(1, Ordering::Relaxed);
                let number = shared.numbers[*item].load(Ordering::Relaxed);
                let head = RefreshHead { seq_num: Some(number), ..RefreshHead::default() };
                let _ = responses.refresh(stream, &head, &content(number));
            },
        );
    }

    fn update(&mut self, item: usize, number: u32) {
        let streams = &self.items[item];
        let head = UpdateHead { seq_num: Some(number), ..UpdateHead::QUOTE };
        self.provider.with(|responses| {
            for stream in streams {
                let _ = responses.update(*stream, &head, &content(number));
            }
        });
    }
}

impl Publisher {
    fn new(shared: Arc<Shared>, addresses: Vec<SocketAddr>) -> Self {
        let doors = addresses.iter().map(|_| None).collect();
        Self { shared, addresses, doors, next: 0, due: Instant::now() }
    }

    fn run(mut self) {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            self.look_at_doors();
            for door in self.doors.iter_mut().flatten() {
                door.serve(&self.shared);
            }
            self.publish();
        }
    }

    fn look_at_doors(&mut self) {
        for (number, door) in self.doors.iter_mut().enumerate() {
            let is_open = self.shared.is_open[number].load(Ordering::Relaxed);
            if is_open && door.is_none() {
                *door = Some(Door::open(self.addresses[number], self.shared.numbers.len()));
            } else if !is_open {
                *door = None;
            }
            let streams = door.as_ref().map_or(0, |door| door.streams.len());
            self.shared.streams[number].store(streams, Ordering::Relaxed);
        }
    }

    fn publish(&mut self) {
        let rate = self.shared.updates_per_s.load(Ordering::Relaxed);
        if rate == 0 {
            self.due = Instant::now();
            return;
        }
        let interval = Duration::from_nanos(1_000_000_000 / rate);
        for _ in 0..BURST {
            if self.due > Instant::now() {
                break;
            }
            self.due += interval;
            let item = self.next % self.shared.numbers.len();
            self.next += 1;
            let number = self.shared.numbers[item].fetch_add(1, Ordering::Relaxed) + 1;
            for door in self.doors.iter_mut().flatten() {
                door.update(item, number);
            }
        }
        self.doors.iter_mut().flatten().for_each(|door| door.provider.flush());
    }
}
