//! Many consumers that come, ask and die at once, and one that has nothing to
//! do with them.

use std::fmt;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapeline_api::{Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Requests, Server};
use tapeline_chaos::market::{SERVICE, Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{PATIENCE, Program, report, wait_until};

use super::faults::{backbone, hub, server_arguments};
use super::program::{TAPELINE, tapeline};

/// How large a crowd is. Larger ones are for figures, of a release build:
///
/// ```text
/// CROWD_MOUNTS=400 CROWD_ITEMS=5000 CROWD_LOOPING=10 \
///     cargo test --release -p tapeline --test it -- crowds --nocapture
/// ```
fn size(variable: &str, usual: usize) -> usize {
    let set = std::env::var(variable).ok();
    set.map_or(usual, |set| set.parse().unwrap_or_else(|_| panic!("{variable}={set}: no number")))
}

fn crowd_mounts() -> usize {
    size("CROWD_MOUNTS", 100)
}

fn crowd_items() -> usize {
    size("CROWD_ITEMS", 2_000)
}

fn crowd_server(backbone: &str) -> Program {
    server_for(backbone, crowd_mounts() * crowd_items())
}

/// A server for a crowd that has so many items open.
fn server_for(backbone: &str, wanted: usize) -> Program {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("crowd.toml");
    // All of a crowd is one user.
    let wanted = wanted.max(500_000);
    let text = format!("[server]\nmax-mounts = 1000\nitem-limit = {wanted}\n");
    std::fs::write(&config, text).expect("room on the disk");
    let mut arguments = server_arguments(backbone, 0);
    arguments.extend(["--config".to_owned(), config.to_str().expect("a plain path").to_owned()]);
    arguments.extend(["--admin-port".to_owned(), "0".to_owned()]);
    tapeline(&arguments)
}

fn consumer(server: SocketAddr) -> Consumer {
    let servers = vec![Server::new(server.ip().to_string(), server.port())];
    Consumer::new(ConsumerConfig::new(servers, Login::new("crowd"))).expect("a reactor")
}

/// A thread that does something until it is told to stop.
struct Worker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        Self { stop, thread: Some(thread::spawn(move || work(&told))) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Many consumers, each with all items of a tape, whose connections end
/// together when it is dropped.
fn crowd(server: SocketAddr, (mounts, items): (usize, usize), images: &Arc<AtomicU64>) -> Worker {
    let images = Arc::clone(images);
    Worker::start(move |stop| {
        let mut consumers: Vec<_> = (0..mounts).map(|_| consumer(server)).collect();
        for consumer in &mut consumers {
            for item in 0..items {
                let name = format!("ITEM{item}");
                consumer.open(&ItemSpec::new(SERVICE, &name)).expect("room");
            }
        }
        while !stop.load(Ordering::Relaxed) {
            for consumer in &mut consumers {
                let count = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
                    let is_image = matches!(event, ConsumerEvent::Refresh { .. });
                    images.fetch_add(u64::from(is_image), Ordering::Relaxed);
                };
                let mut count = count;
                consumer.poll(Some(Duration::ZERO), &mut count);
            }
            thread::park_timeout(Duration::from_millis(1));
        }
    })
}

/// What a server counts.
fn admin(server: &Program, words: &[&str]) -> Command {
    let mut command = Command::new(TAPELINE);
    command.args(["admin", "--admin", &server.address("admin").to_string()]).args(words);
    command
}

/// A view of a program's admin port.
pub(crate) fn get(server: &Program, view: &str) -> serde_json::Value {
    let done = admin(server, &["get", view, "--json"]).output().expect("the program");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

fn counter(server: &Program, name: &str) -> u64 {
    let all = get(server, "counters");
    all["server"]["server"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {all}"))
}

/// Closes the mounts of a user, all at once.
fn close_mounts(server: &Program, user: &str) {
    let mounts = get(server, "mounts");
    let rows = mounts["rows"].as_array().expect("rows");
    let closing: Vec<_> = rows
        .iter()
        .filter(|row| row["loginName"] == user)
        .map(|row| {
            let words = [&row["at"], &row["channel"]].map(|it| it.as_str().expect("a text"));
            admin(server, &["close", words[0], words[1]]).spawn().expect("the program")
        })
        .collect();
    assert!(!closing.is_empty(), "{mounts}");
    for mut closing in closing {
        assert!(closing.wait().expect("it ends").success());
    }
}

/// How long updates took, each published when the one before had come.
struct Taken {
    /// Of half of them, at most.
    median: Duration,
    /// Of all.
    slowest: Duration,
}

impl Taken {
    fn by(tape: &Tape, quiet: &Watcher, during: Duration) -> Self {
        let start = Instant::now();
        Self::until(tape, quiet, || start.elapsed() >= during)
    }

    fn until(tape: &Tape, quiet: &Watcher, is_over: impl Fn() -> bool) -> Self {
        let mut taken = Vec::new();
        while !is_over() || taken.is_empty() {
            let from = Instant::now();
            tape.publish(1, 1_000);
            quiet.wait_all_of(tape);
            taken.push(from.elapsed());
        }
        taken.sort_unstable();
        Self { median: taken[taken.len() / 2], slowest: taken[taken.len() - 1] }
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, slowest] = [self.median, self.slowest].map(|taken| taken.as_secs_f64() * 1e3);
        write!(f, "{median:.2} ms, the slowest {slowest:.1}")
    }
}

#[test]
fn consumers_that_come_and_die_together_are_not_felt_by_another_one() {
    let (mounts, items) = (crowd_mounts(), crowd_items());
    let tape = Tape::new(items);
    let source = Source::start(&tape, loopback());
    let backbone = backbone();
    let _hub = hub(&backbone, source.address);
    let server = crowd_server(&backbone);
    let address = server.address("rssl");
    let quiet = Watcher::start(&tape, &[address]);
    quiet.wait_fresh();
    let images = quiet.images();
    let alone = Taken::by(&tape, &quiet, Duration::from_millis(200));

    let seen = Arc::new(AtomicU64::new(0));
    let crowd = crowd(address, (mounts, items), &seen);
    wait_until("images for all of them", || {
        seen.load(Ordering::Relaxed) >= (mounts * items) as u64
    });
    tape.publish(100, 1_000);
    quiet.wait_all_of(&tape);
    drop(crowd);
    let dying = Taken::by(&tape, &quiet, Duration::from_secs(1));

    assert!(!server.log().contains("a hub is gone"), "the server took its hub for gone");
    assert_eq!(quiet.images(), images, "nothing had to be healed");
    assert_eq!(quiet.holes(), 0);
    assert_eq!(quiet.seen.stale.load(Ordering::Relaxed), 0, "no item was stale");
    report(format_args!(
        "{mounts} mounts of {items} items came and died: updates took {alone} before, {dying} then"
    ));
}

/// Its size by `STORM_MOUNTS` and `STORM_ITEMS`: 50 of 20,000 are for figures.
#[test]
fn consumers_that_reconnect_at_once_all_have_their_images_and_another_one_its_updates() {
    let (mounts, items) = (size("STORM_MOUNTS", 20), size("STORM_ITEMS", 2_000));
    let tape = Tape::new(items);
    let source = Source::start(&tape, loopback());
    let backbone = backbone();
    let _hub = hub(&backbone, source.address);
    let server = server_for(&backbone, mounts * items);
    let address = server.address("rssl");
    let quiet = Watcher::start(&tape, &[address]);
    quiet.wait_fresh();
    let (images, updates) = (quiet.images(), quiet.updates());
    let alone = Taken::by(&tape, &quiet, Duration::from_millis(200));

    let seen = Arc::new(AtomicU64::new(0));
    let _crowd = crowd(address, (mounts, items), &seen);
    let wanted = (mounts * items) as u64;
    wait_until("images for all of them", || seen.load(Ordering::Relaxed) >= wanted);
    let before = (seen.load(Ordering::Relaxed), counter(&server, "requests_lost"));
    close_mounts(&server, "crowd");
    let start = Instant::now();
    let loaded = Taken::until(&tape, &quiet, || {
        assert!(start.elapsed() < PATIENCE, "images for all of them again");
        seen.load(Ordering::Relaxed) >= before.0 + wanted
    });
    let took = start.elapsed();

    assert_eq!(counter(&server, "mounts_cut"), 0, "{}", server.log());
    assert_eq!(counter(&server, "requests_lost"), before.1, "no request was given up");
    assert_eq!(tape.streams(), items, "the source has each item open once");
    assert!(!server.log().contains("a hub is gone"), "the server took its hub for gone");
    assert_eq!((quiet.images(), quiet.holes()), (images, 0), "nothing had to be healed");
    assert!(quiet.updates() > updates, "the other one has its updates");
    report(format_args!(
        "{mounts} mounts of {items} items reconnected at once: all images after {took:.1?}; updates \
         of another mount took {alone} before, {loaded} then"
    ));
}

#[test]
fn consumers_that_ask_without_end_leave_the_others_their_share() {
    let looping = size("CROWD_LOOPING", 3);
    let tape = Tape::new(100);
    let source = Source::start(&tape, loopback());
    let backbone = backbone();
    let _hub = hub(&backbone, source.address);
    let server = crowd_server(&backbone);
    let address = server.address("rssl");
    let quiet = Watcher::start(&tape, &[address]);
    quiet.wait_fresh();
    let alone = Taken::by(&tape, &quiet, Duration::from_millis(200));

    let asked = Arc::new(AtomicU64::new(0));
    let crowd: Vec<_> = (0..looping)
        .map(|_| {
            let asked = Arc::clone(&asked);
            Worker::start(move |stop| {
                let mut consumer = consumer(address);
                let name = |item: u64| format!("ITEM{}", item % 100);
                for item in 0..1_000 {
                    let name = name(item);
                    consumer.open(&ItemSpec::new(SERVICE, &name).snapshot()).expect("room");
                }
                while !stop.load(Ordering::Relaxed) {
                    // One more for each that came.
                    let mut again = |event: ConsumerEvent<'_>, requests: &mut Requests<'_>| {
                        if matches!(event, ConsumerEvent::Refresh { .. }) {
                            let count = asked.fetch_add(1, Ordering::Relaxed);
                            let name = name(count);
                            let _ = requests.open(&ItemSpec::new(SERVICE, &name).snapshot());
                        }
                    };
                    consumer.poll(Some(Duration::from_millis(1)), &mut again);
                }
            })
        })
        .collect();
    wait_until("many answers", || asked.load(Ordering::Relaxed) > 10_000);
    let before = asked.load(Ordering::Relaxed);
    let loaded = Taken::by(&tape, &quiet, Duration::from_secs(1));
    let answers = asked.load(Ordering::Relaxed) - before;
    drop(crowd);
    assert_eq!(quiet.holes(), 0);
    assert!(!server.log().contains("a hub is gone"), "the server took its hub for gone");
    assert!(answers > 0, "those who ask are answered meanwhile");
    report(format_args!(
        "{looping} consumers that ask without end got {answers} images in a second: updates took \
         {alone} before, {loaded} then"
    ));
}
