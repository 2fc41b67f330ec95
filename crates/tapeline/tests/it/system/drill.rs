//! An operator's drill: from `tapeline top` alone, one screen each, who is slow,
//! what is stale, which source flaps, who has too much open.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Provider, ProviderConfig,
    ProviderEvent, RefreshHead, Requests, Responses, Server, ServiceSpec, StreamHandle, UpdateHead,
};
use tapeline_chaos::market::loopback;
use tapeline_chaos::program::{report, wait_until};
use tapeline_rwf::Primitive;

use super::program::{TAPELINE, tapeline};

/// Mounts beside the one that stands still.
const MOUNTS: usize = 199;
const ITEMS: usize = 10;
/// Items that one user opens.
const GREEDY_ITEMS: usize = 100_000;

/// The screen that is looked at.
const WIDTH: &str = "150";
const HEIGHT: &str = "24";

/// A thread that works until it is dropped.
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
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Names of items that are updated all the time begin so.
const BIG: &[u8] = b"BIG";

/// A source of one service that has whatever is asked for, and updates its large
/// items all the time.
fn source(service: &'static str, address: SocketAddr) -> (SocketAddr, Worker) {
    let (listening, listens) = std::sync::mpsc::channel();
    let worker = Worker::start(move |stop| {
        let spec = ServiceSpec::new(1, service);
        let mut provider = Provider::new(ProviderConfig::new([spec.entry()])).expect("a reactor");
        listening.send(provider.listen(address).expect("a port")).expect("the test waits");
        let mut big: Vec<StreamHandle> = Vec::new();
        let text = [b'x'; 4_000];
        let fields = [(3, Primitive::Rmtes(&text[..200]))];
        let big_fields = [(3, Primitive::Rmtes(&text[..]))];
        while !stop.load(Ordering::Relaxed) {
            provider.poll(
                Some(Duration::from_millis(1)),
                &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
                    if let ProviderEvent::Request { stream, request, .. } = event {
                        let _ = responses.refresh(stream, &RefreshHead::default(), &fields);
                        let is_big = request.key.name.is_some_and(|name| name.starts_with(BIG));
                        big.extend(is_big.then_some(stream));
                    }
                },
            );
            provider.with(|responses| {
                for stream in &big {
                    let _ = responses.update(*stream, &UpdateHead::QUOTE, &big_fields);
                }
            });
            provider.flush();
        }
    });
    (listens.recv().expect("it listens"), worker)
}

/// Consumers of one user on a thread, each with some items. They read until they
/// are told to stand still.
fn consumers(
    server: SocketAddr,
    user: &'static str,
    (count, service, prefix, items): (usize, &'static str, &'static str, usize),
    images: &Arc<AtomicU64>,
    is_still: &Arc<AtomicBool>,
) -> Worker {
    let (images, is_still) = (Arc::clone(images), Arc::clone(is_still));
    Worker::start(move |stop| {
        let servers = || vec![Server::new(server.ip().to_string(), server.port())];
        let config = || ConsumerConfig::new(servers(), Login::new(user));
        let mut all: Vec<_> =
            (0..count).map(|_| Consumer::new(config()).expect("a reactor")).collect();
        for consumer in &mut all {
            for item in 0..items {
                consumer.open(&ItemSpec::new(service, &format!("{prefix}{item}"))).expect("room");
            }
        }
        while !stop.load(Ordering::Relaxed) {
            thread::park_timeout(Duration::from_millis(1));
            if is_still.load(Ordering::Relaxed) {
                continue;
            }
            for consumer in &mut all {
                let mut count = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
                    let is_image = matches!(event, ConsumerEvent::Refresh { .. });
                    images.fetch_add(u64::from(is_image), Ordering::Relaxed);
                };
                consumer.poll(Some(Duration::ZERO), &mut count);
            }
        }
    })
}

/// `tapeline top` in a terminal of its own, as an operator has it over SSH.
struct Terminal {
    socket: String,
}

impl Terminal {
    fn open(admin: SocketAddr, view: &str) -> Self {
        let socket = format!("tapeline-drill-{}-{view}", std::process::id());
        let top = format!("{TAPELINE} top --admin {admin} --view {view}");
        let terminal = Self { socket };
        terminal.tmux(&["new-session", "-d", "-x", WIDTH, "-y", HEIGHT, &top]);
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket, "-f", "/dev/null"]).args(arguments);
        let done = command.env("LC_ALL", "C.UTF-8").output().expect("tmux");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// What is on the screen.
    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// One screen, as scripts have it.
fn once(admin: SocketAddr, view: &str, more: &[&str]) -> String {
    let mut command = Command::new(TAPELINE);
    command.args(["top", "--once", "--admin", &admin.to_string(), "--view", view]).args(more);
    String::from_utf8_lossy(&command.output().expect("it runs").stdout).into_owned()
}

/// The first row on a screen.
fn first_row(screen: &str) -> &str {
    screen.lines().nth(4).unwrap_or_default().trim_matches('│')
}

/// The first row of a view, when it says what it should.
fn await_first_row(admin: SocketAddr, view: &str, is_it: impl Fn(&[&str]) -> bool) {
    let said = |screen: &str| is_it(&first_row(screen).split_whitespace().collect::<Vec<_>>());
    let mut screen = String::new();
    if Command::new("tmux").arg("-V").output().is_ok() {
        let terminal = Terminal::open(admin, view);
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(view, || {
                screen = terminal.screen();
                said(&screen)
            });
        }));
        assert!(found.is_ok(), "the screen:\n{}", terminal.screen());
    } else {
        assert!(std::env::var_os("CI").is_none(), "no tmux: the screen of `top` is not tested");
        report(format_args!("no tmux here: the screen is that of --once"));
        wait_until(view, || {
            screen = once(admin, view, &[]);
            said(&screen)
        });
    }
    if let Some(folder) = std::env::var_os("TAPELINE_SCREENS") {
        let path = std::path::Path::new(&folder).join(format!("top-{view}.txt"));
        std::fs::write(path, &screen).expect("a folder");
    }
}

#[test]
fn an_operator_finds_who_is_slow_what_is_stale_what_flaps_and_who_is_greedy() {
    let (feed, _feed) = source("FEED", loopback());
    let (rates, rates_source) = source("RATES", loopback());
    let (flap, flapping) = source("FLAP", loopback());
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("drill.toml");
    let text = format!(
        "[server]\nmax-mounts = 1000\noutput-max-bytes = 4_000_000\n\
         tcp-send-buffer-bytes = 65_536\n[hub]\nreconnect-min-ms = 50\nreconnect-max-ms = 100\n\
         [[hub.source]]\nname = \"feed\"\nhosts = [\"{feed}\"]\n\
         [[hub.source]]\nname = \"rates\"\nhosts = [\"{rates}\"]\n\
         [[hub.source]]\nname = \"flap\"\nhosts = [\"{flap}\"]\n"
    );
    std::fs::write(&config, text).expect("room on the disk");
    let config = config.to_str().expect("a plain path");
    let program = tapeline(&[
        "run",
        "--config",
        config,
        "--rssl-port",
        "0",
        "--ni-port",
        "0",
        "--admin-port",
        "0",
    ]);
    let (server, admin) = (program.address("rssl"), program.address("admin"));

    let images = Arc::new(AtomicU64::new(0));
    let (never, stalled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let _crowd = consumers(server, "desk", (MOUNTS, "FEED", "ITEM", ITEMS), &images, &never);
    let _stalled = consumers(server, "sleeper", (1, "FEED", "BIG", ITEMS), &images, &stalled);
    let _rates = consumers(server, "rates-desk", (1, "RATES", "ITEM", 10), &images, &never);
    let _greedy = consumers(server, "greedy", (1, "FEED", "ITEM", GREEDY_ITEMS), &images, &never);
    let all = ((MOUNTS + 1) * ITEMS + 10 + GREEDY_ITEMS) as u64;
    wait_until("all images", || images.load(Ordering::Relaxed) >= all);

    stalled.store(true, Ordering::Relaxed);
    drop(rates_source);
    let mut flapping = Some(flapping);
    for _ in 0..3 {
        drop(flapping.take());
        wait_until("the source is lost", || sources(admin, "flap")["up"] == false);
        flapping = Some(source("FLAP", flap).1);
        wait_until("the source is back", || sources(admin, "flap")["up"] == true);
    }

    // Each screen is of its moment, and there is one a second: the first one behind the
    // mount's slowness names it.
    wait_until("the mount is slow", || {
        let log = program.log();
        let mut lines = log.lines();
        lines.any(|line| line.contains("a mount is slow") && line.contains("user=sleeper"))
    });
    let screen = once(admin, "mounts", &["--by", "backlog"]);
    assert!(first_row(&screen).contains("sleeper"), "the screen:\n{screen}");
    await_first_row(admin, "mounts", |row| {
        row.get(2) == Some(&"sleeper") && row.get(4) == Some(&"yes")
    });
    await_first_row(admin, "services", |row| row.starts_with(&["RATES", "Down"]) && row[3] == "10");
    await_first_row(admin, "sources", |row| row.starts_with(&["flap", "up", "3"]));
    let greedy = GREEDY_ITEMS.to_string();
    await_first_row(admin, "users", |row| row.starts_with(&["greedy", &greedy]));

    let log = program.log();
    for line in ["a mount is slow", "user=sleeper", "a service is down", "service=RATES"] {
        assert!(log.contains(line), "{line} is in the log");
    }
}

/// What the admin port says of a source.
fn sources(admin: SocketAddr, name: &str) -> serde_json::Value {
    let done = Command::new(TAPELINE)
        .args(["admin", "--admin", &admin.to_string(), "get", "sources", "--json"])
        .output()
        .expect("it runs");
    let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
    let rows = said["rows"].as_array().cloned().unwrap_or_default();
    rows.into_iter().find(|row| row["name"] == name).unwrap_or_default()
}
