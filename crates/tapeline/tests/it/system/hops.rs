//! The hops of a message between two hosts whose clocks are not the same, beside how
//! long it took from the source to the consumer.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Provider, ProviderConfig,
    ProviderEvent, RefreshHead, Requests, Responses, Server, ServiceSpec, UpdateHead,
};
use tapeline_chaos::lan::{Host, Lan};
use tapeline_chaos::program::{Program, report, wait_until};
use tapeline_rwf::Primitive;

use super::program::{TAPELINE, tapeline_on};

const BACKBONE: &str = "aeron:udp?endpoint=239.77.0.1:40456|interface=10.77.0.0/24";
const RSSL_PORT: u16 = 14_002;
const SOURCE_PORT: u16 = 14_100;
/// Field 32 has the number of the update.
const ACVOL_1: i16 = 32;
/// How long a thread of the test waits before it looks whether it is to end.
const TURN: Duration = Duration::from_millis(1);

/// So much the clock of the hub's host is ahead of the server's.
const AHEAD_S: u64 = 1_000;
/// How many updates are sent, each when the one before has come.
const UPDATES: u64 = 20;
/// How long the server stands still behind each of them: what is told of the backbone
/// must have it.
const STANDSTILL: Duration = Duration::from_millis(100);
/// What the ends of the way may take in the mean, which no hop has: the connections
/// of source and consumer, on a machine with other things to do.
const ENDS_NS: i64 = 20_000_000;
/// The hops of an interval of 10 s are told together. Updates that are of two of them
/// are sent again.
const TRIES: usize = 5;

/// What source and consumer know of each other.
#[derive(Default)]
struct Way {
    is_over: AtomicBool,
    /// Updates that are to be sent, that were, and that came.
    wanted: AtomicU64,
    sent: AtomicU64,
    came: AtomicU64,
    images: AtomicU64,
    /// When the last one was sent.
    sent_at: Mutex<Option<Instant>>,
    /// How long all of them took, in ns.
    taken_ns: AtomicU64,
}

/// A thread on a host, which ends when it is dropped.
struct End {
    way: Arc<Way>,
    thread: Option<JoinHandle<()>>,
}

impl End {
    fn start(way: &Arc<Way>, host: &Host, work: impl FnOnce(&Way) + Send + 'static) -> Self {
        let (way, of_thread) = (Arc::clone(way), Arc::clone(way));
        Self { way, thread: Some(host.spawn(move || work(&of_thread))) }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.way.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A provider that sends an update whenever one is wanted.
fn provide(way: &Way, address: SocketAddr) {
    let service = ServiceSpec::new(1, "FEED");
    let mut provider = Provider::new(ProviderConfig::new([service.entry()])).expect("a reactor");
    provider.listen(address).expect("a free port");
    let content = |number: u64| [(ACVOL_1, Primitive::Uint(number))];
    let mut streams = Vec::new();
    while !way.is_over.load(Ordering::Relaxed) {
        let mut answer = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
            if let ProviderEvent::Request { stream, .. } = event {
                let head = RefreshHead::default();
                responses.refresh(stream, &head, &content(0)).expect("connected");
                streams.push(stream);
            }
        };
        provider.poll(Some(TURN), &mut answer);
        let number = way.sent.load(Ordering::Relaxed) + 1;
        if number > way.wanted.load(Ordering::Relaxed) {
            continue;
        }
        *way.sent_at.lock().expect("not poisoned") = Some(Instant::now());
        provider.with(|responses| {
            for stream in &streams {
                responses.update(*stream, &UpdateHead::QUOTE, &content(number)).expect("an image");
            }
        });
        provider.flush();
        way.sent.store(number, Ordering::Relaxed);
    }
}

/// A consumer of one item, which notes how long updates took.
fn consume(way: &Way, server: SocketAddr) {
    let server = Server::new(server.ip().to_string(), server.port());
    let config = ConsumerConfig::new([server], Login::new("tester"));
    let mut consumer = Consumer::new(config).expect("a reactor");
    consumer.open(&ItemSpec::new("FEED", "ITEM")).expect("room");
    let mut hear = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| match event {
        ConsumerEvent::Refresh { .. } => {
            way.images.fetch_add(1, Ordering::Relaxed);
        }
        ConsumerEvent::Update { .. } => {
            let sent_at = way.sent_at.lock().expect("not poisoned").expect("it was sent");
            way.taken_ns.fetch_add(sent_at.elapsed().as_nanos() as u64, Ordering::Relaxed);
            way.came.fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    };
    while !way.is_over.load(Ordering::Relaxed) {
        consumer.poll(Some(TURN), &mut hear);
    }
}

/// A hub on host 1, whose clock is ahead, a server on host 2.
struct Site {
    lan: Lan,
    _hub: Program,
    server: Program,
    way: Arc<Way>,
    _ends: [End; 2],
}

impl Site {
    fn start(folder: &Path) -> Option<Self> {
        let lan = Lan::new(2)?;
        let [first, second] = [lan.host(1), lan.host(2)];
        let source = SocketAddr::from((first.address, SOURCE_PORT));
        let config = folder.join("hub.toml");
        std::fs::write(&config, "[hub]\nstamp-every = 1\n").expect("room");
        // A namespace with a clock of its own.
        let ahead = AHEAD_S.to_string();
        let clock = ["-T", "--monotonic", &ahead, TAPELINE, "hub", "--backbone", BACKBONE];
        let source_at = source.to_string();
        let hub = ["--config", config.to_str().expect("a plain path"), "--source", &source_at];
        let hub = Program::start(first.command("unshare"), &[&clock[..], &hub[..]].concat());
        let ports = ["--rssl-port", &RSSL_PORT.to_string(), "--admin-port", "9400"];
        let server = ["server", "--backbone", BACKBONE];
        let server = tapeline_on(second, &[&server[..], &ports[..]].concat());
        let way = Arc::new(Way::default());
        let rssl = SocketAddr::from((second.address, RSSL_PORT));
        let ends = [
            End::start(&way, first, move |way| provide(way, source)),
            End::start(&way, second, move |way| consume(way, rssl)),
        ];
        Some(Self { lan, _hub: hub, server, way, _ends: ends })
    }

    fn rows(&self, view: &str) -> Vec<serde_json::Value> {
        let mut command = self.lan.host(2).command(TAPELINE);
        let done = command.args(["admin", "get", view, "--json"]).output().expect("it runs");
        let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        said["rows"].as_array().cloned().unwrap_or_default()
    }

    /// Sends an update while the server stands still, and waits until it has come.
    fn send_one(&self) {
        let way = &self.way;
        self.server.freeze();
        let number = way.wanted.fetch_add(1, Ordering::Relaxed) + 1;
        wait_until("the update to be sent", || way.sent.load(Ordering::Relaxed) == number);
        let stood = Instant::now();
        while stood.elapsed() < STANDSTILL {
            thread::park_timeout(STANDSTILL.saturating_sub(stood.elapsed()));
        }
        self.server.resume();
        wait_until("the update to come", || way.came.load(Ordering::Relaxed) == number);
    }

    /// Sends many, and adds up what all hops say of them. `None` if what is told is not
    /// of these alone.
    fn send_many(&self) -> Option<Sums> {
        let before = self.told();
        let taken_before_ns = self.way.taken_ns.load(Ordering::Relaxed);
        for _ in 0..UPDATES {
            self.send_one();
        }
        let taken_ns = self.way.taken_ns.load(Ordering::Relaxed) - taken_before_ns;
        let mut after = self.told();
        if !after.is_of_these(&before) {
            // The last one may be counted a turn later than it came.
            after = self.told();
        }
        after.is_of_these(&before).then(|| Sums {
            hops_ns: (after.ns - before.ns) / UPDATES as i64,
            taken_ns: (taken_ns / UPDATES) as i64,
            may_be_wrong_ns: after.may_be_wrong_ns,
        })
    }

    fn told(&self) -> Told {
        let number = |row: &serde_json::Value, key: &str| row[key].as_i64().unwrap_or_default();
        let mut told = Told::default();
        for row in self.rows("hops") {
            let samples = number(&row, "samples");
            told.samples.push(samples);
            told.ns += number(&row, "meanNs") * samples;
            told.may_be_wrong_ns += number(&row, "clockErrorNs");
        }
        told
    }
}

/// What all hops say together.
#[derive(Clone, Default)]
struct Told {
    /// Of each hop: that of one may be counted before that of another.
    samples: Vec<i64>,
    ns: i64,
    may_be_wrong_ns: i64,
}

impl Told {
    /// Whether since then there is one sample more of each hop for each update.
    fn is_of_these(&self, before: &Self) -> bool {
        let mut hops = self.samples.iter().zip(&before.samples);
        self.samples.len() == before.samples.len()
            && hops.all(|(after, before)| after - before == UPDATES as i64)
    }
}

/// The means of one update.
#[derive(Clone, Copy)]
#[allow(clippy::struct_field_names, reason = "units are in names")]
struct Sums {
    hops_ns: i64,
    taken_ns: i64,
    may_be_wrong_ns: i64,
}

#[test]
fn the_hops_between_hosts_add_up_to_the_whole_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(site) = Site::start(folder.path()) else { return };
    let mut peer = serde_json::Value::Null;
    wait_until("an image, three hops, and what is known of the clock", || {
        peer = site.rows("peers").into_iter().next().unwrap_or_default();
        let knows_clock = peer["clockErrorNs"].as_u64().is_some_and(|it| it < 100_000_000);
        let has_image = site.way.images.load(Ordering::Relaxed) > 0;
        has_image && knows_clock && site.rows("hops").len() == 3
    });
    let number = |key: &str| peer[key].as_i64().expect("a number");
    let wrong_ns = (number("clockOffsetNs") - AHEAD_S as i64 * 1_000_000_000).abs();
    assert!(wrong_ns <= number("clockErrorNs"), "{peer}");

    let sums = (0..TRIES).find_map(|_| site.send_many()).expect("updates of one interval");
    let Sums { hops_ns, taken_ns, may_be_wrong_ns } = sums;
    report(format_args!(
        "clock {:.3} ms off, {:.3} ms may be wrong; hops {:.3} ms of {:.3} ms",
        wrong_ns as f64 / 1e6,
        may_be_wrong_ns as f64 / 1e6,
        hops_ns as f64 / 1e6,
        taken_ns as f64 / 1e6
    ));
    assert!(may_be_wrong_ns > 0, "between two hosts something is not known");
    assert!(hops_ns <= taken_ns + may_be_wrong_ns, "the hops are longer than the whole way");
    let missing_ns = taken_ns - hops_ns;
    assert!(missing_ns <= ENDS_NS + may_be_wrong_ns, "{missing_ns} ns of the way are in no hop");
    assert!(taken_ns >= STANDSTILL.as_nanos() as i64, "the server stood still");
}
