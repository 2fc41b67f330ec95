//! An admin port as those who ask it see it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tapeline_admin::{Admin, AdminConfig, EventFeed};
use tapeline_counters::{Act, Answer, Ask, Registry, Row, Rowed, Scan, View, Viewed, counts, rows};
use tapeline_edge::Edge;
use tapeline_time::host_now;

const PATIENCE: Duration = Duration::from_secs(30);

counts! {
    /// A thread.
    pub struct ThreadCounters = "thread" {
        /// When.
        published_ns: u64 = now(ns);
        /// Whether.
        on_backbone: u64 = now;
    }
}

rows! {
    /// Mounts.
    pub struct MountRow = "mounts" {
        /// Session.
        "channel" => channel: String;
        /// User.
        "loginName" => login_name: String;
        /// Bytes.
        "backlogBytes" => backlog_bytes: u64, in bytes;
    }
}

/// As many mounts as it says, each with more waiting than the one before.
struct Mounts(u32);

impl Viewed for Mounts {
    fn views(&self) -> &'static [&'static View] {
        &[MountRow::VIEW]
    }

    fn places(&self, _: &View) -> u32 {
        self.0
    }

    fn row(&self, _: &View, place: u32) -> Option<Row> {
        let row = MountRow {
            channel: format!("{place}.1"),
            login_name: format!("user{place}"),
            backlog_bytes: u64::from(place) * 10,
        };
        Some(row.into_row())
    }
}

/// A process with one thread that answers, and its admin port.
struct Process {
    _edge: Edge,
    admin: Admin,
    events: EventFeed,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<Vec<Act>>>,
}

impl Process {
    fn start(mounts: u32) -> Self {
        let (registry, events) = (Registry::default(), EventFeed::default());
        let mut meter = registry.enter::<ThreadCounters>("main", &[]).expect("room");
        let queue = registry.open_queue("main").expect("room");
        let config = AdminConfig::at("127.0.0.1:0".parse().expect("good"));
        let config = AdminConfig { version: "9.9", ..config };
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let (mounts, mut acts) = (Mounts(mounts), Vec::new());
            while !told.load(Ordering::Relaxed) {
                let published_ns = host_now().as_nanos();
                meter.publish(&ThreadCounters { published_ns, on_backbone: 1 });
                let Some(query) = queue.next() else {
                    thread::park_timeout(Duration::from_millis(1));
                    continue;
                };
                let answer = match &query.ask {
                    Ask::Rows(rows) => Scan::new(rows, &mounts).map(|mut scan| {
                        while !scan.step(&mounts, 64) {}
                        scan.finish("server", &mounts)
                    }),
                    Ask::Act(act) => {
                        acts.push(act.clone());
                        Some(Answer::of_act("server", 1))
                    }
                };
                query.answer(answer.into_iter().collect());
            }
            acts
        });
        let edge = Edge::start().expect("a thread");
        let admin = Admin::start(&edge, config, registry, events.clone(), None).expect("a port");
        let process = Self { _edge: edge, admin, events, stop, thread: Some(thread) };
        await_state("the thread to turn", || process.get("/readyz").0 == 200);
        process
    }

    fn address(&self) -> SocketAddr {
        self.admin.address()
    }

    fn ask(&self, method: &str, path: &str, headers: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        let host = self.address();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), head.to_ascii_lowercase(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.ask("GET", path, "");
        (status, body)
    }

    fn json(&self, path: &str) -> Json {
        serde_json::from_str(&self.get(path).1).expect("JSON")
    }

    /// Ends the thread. What was to be done.
    fn end(mut self) -> Vec<Act> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("no panic")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Waits for a state.
fn await_state(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited for {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn rows_come_with_the_slowest_first_and_whose_they_are() {
    let process = Process::start(500);
    let said = process.json("/v1/mounts?by=backlogBytes&limit=2");
    let row = |place: u32| {
        json!({
            "at": "server",
            "channel": format!("{place}.1"),
            "loginName": format!("user{place}"),
            "backlogBytes": place * 10,
        })
    };
    assert_eq!(said["rows"], json!([row(499), row(498)]));
    let said = process.json("/v1/mounts?limit=3&from=7");
    assert_eq!(said["rows"][0], row(7));
    assert_eq!(said["next"], json!({ "server": 10 }));
    assert_eq!(process.json("/v1/mounts?filter=user123")["rows"], json!([row(123)]));
}

#[test]
fn what_there_is_not_is_named_and_what_there_is_instead() {
    let process = Process::start(1);
    let (status, text) = process.get("/v1/mountz");
    assert_eq!((status, text.contains("there is no view `mountz`")), (404, true), "{text}");
    let (status, text) = process.get("/v1/mounts?by=bytes");
    assert_eq!(status, 400);
    assert!(text.contains("it has channel, loginName, backlogBytes"), "{text}");
    assert_eq!(process.get("/v1/mounts?order=bytes").0, 400);
    assert_eq!(process.get("/nowhere").0, 404);
}

#[test]
fn metrics_have_the_counts_and_the_slowest_mounts_only() {
    let process = Process::start(1_000);
    let (status, head, text) = process.ask("GET", "/metrics", "");
    assert_eq!(status, 200);
    assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(text.contains("tapeline_build_info{version=\"9.9\"} 1"), "{text}");
    assert!(text.contains("tapeline_thread_on_backbone{name=\"main\"} 1"), "{text}");
    let mounts = text.lines().filter(|line| line.starts_with("tapeline_mount_backlog_bytes{"));
    assert_eq!(mounts.count(), 20);
    assert!(text.contains("user=\"user999\"} 9990"), "{text}");
    assert!(text.lines().count() < 5_000);
    let (_, head, plain) = process.ask("GET", "/metrics", "Accept: text/plain\r\n");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(plain.contains("# TYPE tapeline_datagrams_dropped_total counter"), "{plain}");
    assert!(!plain.contains("# EOF"), "{plain}");
}

#[test]
fn an_act_reaches_the_thread_and_pages_of_others_have_none() {
    let process = Process::start(1);
    let foreign = "Origin: https://evil.example.com\r\nContent-Length: 0\r\n";
    assert_eq!(process.ask("POST", "/v1/users/ann/logout", foreign).0, 403);
    assert_eq!(process.ask("GET", "/v1/mounts", "Origin: null\r\n").0, 403);
    assert_eq!(process.ask("GET", "/v1/users/ann/logout", "").0, 405);
    let own = format!("Origin: http://{}\r\nContent-Length: 0\r\n", process.address());
    let (status, _, text) = process.ask("POST", "/v1/mounts/server.1/3.1/close", &own);
    assert_eq!(status, 200, "{text}");
    assert_eq!(process.ask("POST", "/v1/users/a%20b/logout", "Content-Length: 0\r\n").0, 200);
    let drain = "/v1/drain?server=server.1&per_s=20";
    assert_eq!(process.ask("POST", drain, "Content-Length: 0\r\n").0, 200);
    for path in [
        "/v1/sources/feed%20a/drain",
        "/v1/sources/feed%20a/undrain",
        "/v1/items/A%2FB/trace?service=FEED&for_ms=50",
        "/v1/operate?words=halt%20%207",
    ] {
        assert_eq!(process.ask("POST", path, "Content-Length: 0\r\n").0, 200, "{path}");
    }
    let acts = process.end();
    let done = acts.iter().map(|act| match act {
        Act::CloseMount { server, channel, .. } => format!("close {server} {channel}"),
        Act::Logout { user } => format!("log out {user}"),
        Act::Drain { server, per_s } => format!("drain {server} {per_s}"),
        Act::DrainSource { name, drains } => format!("source {name} {drains}"),
        Act::Trace { item, service, for_ms } => format!("trace {item} {service} {for_ms}"),
        Act::Operate { words } => format!("operate {words:?}"),
    });
    let wanted = [
        "close server.1 3.1",
        "log out a b",
        "drain server.1 20",
        "source feed a true",
        "source feed a false",
        "trace A/B FEED 50",
        "operate [\"halt\", \"7\"]",
    ];
    assert_eq!(done.collect::<Vec<_>>(), wanted);
}

#[test]
fn a_thread_that_hangs_is_named_and_costs_nobody_else_an_answer() {
    let process = Process::start(1);
    process.stop.store(true, Ordering::Relaxed);
    await_state("the thread to be missed", || process.get("/healthz").0 == 503);
    assert!(process.get("/healthz").1.contains("thread main has not turned for"));
    assert_eq!(process.get("/v1/counters").0, 200, "counts are read, not asked for");
}

#[test]
fn events_come_as_they_happen_the_last_ones_first() {
    let process = Process::start(1);
    process.events.tell("{\"msg\":\"before\"}");
    let mut stream = TcpStream::connect(process.address()).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    write!(stream, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut next = || lines.find(|line| line.starts_with("data: ")).expect("an event");
    assert_eq!(next(), "data: {\"msg\":\"before\"}");
    process.events.tell("{\"msg\":\"after\"}");
    assert_eq!(next(), "data: {\"msg\":\"after\"}");
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let process = Process::start(1);
    for (path, kind) in
        [("/", "text/html"), ("/admin.js", "text/javascript"), ("/admin.css", "text/css")]
    {
        let (status, head, text) = process.ask("GET", path, "");
        assert_eq!(status, 200, "{path}");
        assert!(head.contains(kind) && head.contains("default-src 'none'"), "{head}");
        assert!(!text.contains("http://") && !text.contains("https://"), "{path}");
    }
}

#[test]
fn a_scrape_a_second_changes_nothing_in_memory() {
    let process = Process::start(1_000);
    let resident = || process.json("/v1/process")["residentBytes"].as_u64().expect("a size");
    for _ in 0..200 {
        process.get("/metrics");
    }
    let before = resident();
    for _ in 0..600 {
        process.get("/metrics");
    }
    let more = resident().saturating_sub(before);
    assert!(more < 2 << 20, "600 scrapes took {more} bytes");
}
