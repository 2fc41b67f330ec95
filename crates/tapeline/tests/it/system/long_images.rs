//! Images of many megabytes from a provider to consumers, and images that are
//! longer than one place on the way takes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Provider, ProviderConfig,
    ProviderEvent, RefreshHead, Requests, Responses, Server, ServiceSpec,
};
use tapeline_chaos::market::{SERVICE, loopback};
use tapeline_chaos::program::{PATIENCE, Program, report};
use tapeline_rwf::{DataType, Encoded, StreamState};

use super::program::tapeline;

/// What the image of an item of this length says.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n ^ n >> 8 ^ n >> 16) as u8).collect()
}

/// An interactive provider whose items are named by the lengths of their
/// images, in bytes.
struct Source {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Source {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (listening, listens) = channel();
        let thread = thread::spawn(move || {
            let service = ServiceSpec::new(1, SERVICE);
            let mut provider =
                Provider::new(ProviderConfig::new([service.entry()])).expect("a reactor");
            listening.send(provider.listen(loopback()).expect("a free port")).expect("it waits");
            while !stopped.load(Ordering::Relaxed) {
                provider.poll(Some(Duration::from_millis(5)), &mut on_request);
            }
        });
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

fn on_request(event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
    let ProviderEvent::Request { stream, request, .. } = event else { return };
    let name = request.key.name.and_then(|name| std::str::from_utf8(name).ok());
    let length = name.and_then(|name| name.parse().ok()).expect("a length");
    let body = content(length);
    let payload = Encoded::new(DataType::OPAQUE, &body);
    responses.refresh(stream, &RefreshHead::default(), &payload).expect("it is sent");
}

/// What a consumer heard of an item.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// Its image, as it should be or not.
    Image {
        length: usize,
        is_right: bool,
    },
    /// It is closed, and why.
    Closed(usize, String),
    Down,
}

/// A consumer on a thread, which asks for items as it is told.
struct Mount {
    ask: Sender<usize>,
    heard: Receiver<Heard>,
    log: Arc<Mutex<Vec<usize>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Mount {
    fn start(server: SocketAddr) -> Self {
        let (ask, asked) = channel();
        let (says, heard) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (stopped, opened) = (Arc::clone(&stop), Arc::clone(&log));
        let thread = thread::spawn(move || consume(server, &asked, &says, &stopped, &opened));
        Self { ask, heard, log, stop, thread: Some(thread) }
    }

    fn ask(&self, length: usize) {
        self.ask.send(length).expect("it runs");
    }

    fn hear(&self) -> Heard {
        let asked = self.log.lock().expect("not poisoned").clone();
        self.heard.recv_timeout(2 * PATIENCE).unwrap_or_else(|_| panic!("nothing of {asked:?}"))
    }

    fn gets(&self, length: usize) {
        self.ask(length);
        assert_eq!(self.hear(), Heard::Image { length, is_right: true });
    }

    fn is_refused(&self, length: usize, why: &str) {
        self.ask(length);
        match self.hear() {
            Heard::Closed(item, text) => {
                assert!(item == length && text.contains(why), "{item}: {text}");
            }
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn consume(
    server: SocketAddr,
    asked: &Receiver<usize>,
    says: &Sender<Heard>,
    stop: &AtomicBool,
    log: &Mutex<Vec<usize>>,
) {
    let server = Server::new(server.ip().to_string(), server.port());
    let mut consumer =
        Consumer::new(ConsumerConfig::new([server], Login::new("long"))).expect("a reactor");
    let mut items = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        for length in asked.try_iter() {
            let name = length.to_string();
            items.push((consumer.open(&ItemSpec::new(SERVICE, &name)).expect("a stream"), length));
            log.lock().expect("not poisoned").push(length);
        }
        let turn = &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            let item = |handle| items.iter().find(|(known, _)| *known == handle).map(|it| it.1);
            let heard = match &event {
                ConsumerEvent::Refresh { handle, msg } => {
                    let length = item(*handle).expect("an open item");
                    let is_right = msg.payload.bytes() == content(length);
                    Heard::Image { length, is_right }
                }
                ConsumerEvent::Status { handle, msg }
                    if msg.state.is_some_and(|state| state.stream == StreamState::CLOSED) =>
                {
                    let text = msg.state.map(|state| state.text).unwrap_or_default();
                    let text = String::from_utf8_lossy(text).into_owned();
                    Heard::Closed(item(*handle).expect("an open item"), text)
                }
                ConsumerEvent::Down { .. } => Heard::Down,
                _ => return,
            };
            let _ = says.send(heard);
        };
        consumer.poll(Some(Duration::from_millis(5)), turn);
    }
}

fn run(source: &Source, more: &[&str]) -> Program {
    let source = source.address.to_string();
    let fixed = ["run", "--source", &source, "--rssl-port", "0", "--ni-port", "0"];
    tapeline(&[&fixed[..], &["--backbone", "aeron:ipc"], more].concat())
}

#[test]
fn an_image_of_20_mib_reaches_all_who_watch() {
    let source = Source::start();
    let program = run(&source, &[]);
    let mounts = [(); 2].map(|()| Mount::start(program.address("rssl")));
    mounts[0].gets(1000);
    let start = Instant::now();
    mounts[0].gets(20 << 20);
    report(format_args!("image of 20 MiB after {} ms", start.elapsed().as_millis()));
    // Out of the cache, and while others are there.
    mounts[1].gets(20 << 20);
    mounts[1].gets(3 << 20);
    mounts[0].gets(9 << 20);
    mounts[0].gets(1001);
}

#[test]
fn the_longest_image_reaches_its_consumer() {
    let source = Source::start();
    let program = run(&source, &[]);
    let mount = Mount::start(program.address("rssl"));
    let start = Instant::now();
    mount.gets(64 << 20);
    report(format_args!("image of 64 MiB after {} ms", start.elapsed().as_millis()));
    mount.gets(1000);
}

#[test]
fn an_image_beyond_a_limit_ends_that_item_only() {
    let source = Source::start();
    for (key, why) in [("[hub]", "that a hub takes"), ("[server]", "that a server takes")] {
        let limit = if key == "[hub]" { "max-message-bytes" } else { "max-image-bytes" };
        let name = format!("tapeline-long-{}-{}.toml", std::process::id(), &key[1..4]);
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, format!("{key}\n{limit} = 1000000\n")).expect("a file");
        let program = run(&source, &["--config", &path.to_string_lossy()]);
        let mounts = [(); 2].map(|()| Mount::start(program.address("rssl")));
        for mount in &mounts {
            mount.gets(900_000);
            mount.is_refused(3_000_000, why);
            // The session of the source and that of the mount go on.
            mount.gets(1000);
        }
        let _ = std::fs::remove_file(path);
    }
}
