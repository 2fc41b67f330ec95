//! Who publishes from the non-interactive port, without having been asked for:
//! nobody's prices are forged from there, and nobody's place is taken.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tapeline_api::{
    ItemHandle, Login, PublishSpec, Publisher, PublisherConfig, RefreshHead, Server, ServiceSpec,
    Submissions, UpdateHead,
};
use tapeline_channel::{ConnectConfig, ReactorConfig, TlsClient, TlsClientFiles};
use tapeline_chaos::market::{SERVICE, Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{Program, wait_until};
use tapeline_rwf::Primitive;

use super::faults::{free_port, run, run_arguments};
use super::program::tapeline;

/// The number of what is published: none that a source of these tests comes to.
const FORGED: u32 = 900_000_000;

const CONTENT: [(i16, Primitive<'static>); 1] = [(32, Primitive::Uint(FORGED as u64))];

/// A non-interactive provider on a thread: an image of each item, and updates of
/// all of them again and again. Gone when dropped.
struct Uninvited {
    updates: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Uninvited {
    /// One that publishes the first items of a service.
    fn start(hub: SocketAddr, service: &'static str, items: usize) -> Self {
        Self::start_over(ConnectConfig::default(), hub, service, items)
    }

    /// The same over a connection of its own kind.
    fn start_over(
        connect: ConnectConfig,
        hub: SocketAddr,
        service: &'static str,
        items: usize,
    ) -> Self {
        let (updates, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (shared_updates, shared_stop) = (Arc::clone(&updates), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let server = Server::new(hub.ip().to_string(), hub.port());
            let services = [ServiceSpec::new(1, service).entry()];
            let config = PublisherConfig::new([server], Login::new("uninvited"), services);
            let sockets = ReactorConfig::default();
            let publisher = Publisher::with_channel(config, sockets, connect);
            let mut publisher = publisher.expect("a reactor");
            // Images are kept, and submitted when it is connected.
            let handles = publisher.with(|submissions| publish(submissions, service, items));
            while !shared_stop.load(Ordering::Relaxed) {
                publisher.poll(
                    Some(Duration::from_millis(5)),
                    &mut |_: tapeline_api::PublisherEvent<'_>, _: &mut Submissions<'_>| {},
                );
                let sent = publisher.with(|submissions| update(submissions, &handles));
                shared_updates.fetch_add(sent, Ordering::Relaxed);
                publisher.flush();
            }
        });
        Self { updates, stop, thread: Some(thread) }
    }

    /// Waits until it has said of each of so many items ten times what it is.
    fn wait_heard(&self, items: usize) {
        let goal = self.updates.load(Ordering::Relaxed) + 10 * items as u64;
        wait_until("updates to be sent", || self.updates.load(Ordering::Relaxed) >= goal);
    }
}

impl Drop for Uninvited {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn publish(submissions: &mut Submissions<'_>, service: &str, items: usize) -> Vec<ItemHandle> {
    let head = RefreshHead { seq_num: Some(FORGED), ..RefreshHead::default() };
    let mut handles = Vec::new();
    for item in 0..items {
        let name = format!("ITEM{item}");
        let handle = submissions.open(&PublishSpec::new(service, &name)).expect("room");
        submissions.refresh(handle, &head, &CONTENT).expect("an image that is kept");
        handles.push(handle);
    }
    handles
}

/// How many updates were sent: none before the images, which would be old ones
/// by that.
fn update(submissions: &mut Submissions<'_>, handles: &[ItemHandle]) -> u64 {
    if !submissions.is_ready() {
        return 0;
    }
    let head = UpdateHead { seq_num: Some(FORGED), ..UpdateHead::QUOTE };
    let sent = handles.iter().map(|handle| submissions.update(*handle, &head, &CONTENT));
    sent.flatten().count() as u64
}

fn is_refused(program: &Program) -> bool {
    program.log().contains("a provider is refused something")
}

/// How a hub is reached over TLS by who believes this certificate.
fn over_tls(ca: &std::path::Path) -> ConnectConfig {
    let files = TlsClientFiles { ca: ca.to_owned(), identity: None };
    let tls = TlsClient::from_files(files).expect("a certificate");
    ConnectConfig { tls: Some(tls), ..ConnectConfig::default() }
}

#[test]
fn a_provider_publishes_over_tls_and_in_clear_nobody_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key, other] =
        ["own.pem", "own.key", "other.pem"].map(|it| folder.path().join(it));
    let made = || rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("made");
    let own = made();
    std::fs::write(&certificate, own.cert.pem()).expect("room");
    std::fs::write(&key, own.signing_key.serialize_pem()).expect("room");
    std::fs::write(&other, made().cert.pem()).expect("room");
    let config = folder.path().join("tls.toml");
    let text = format!(
        "[hub]\nni-port = \"off\"\nni-tls-port = 0\ntls-certificate = {certificate:?}\ntls-key = {key:?}\n"
    );
    std::fs::write(&config, text).expect("room");
    let config = config.to_str().expect("a plain path");
    let program = tapeline(&["run", "--config", config, "--rssl-port", "0"]);
    let hub = program.address("ni-tls");
    // Neither who speaks in clear nor who expects somebody else gets anywhere.
    let clear = Uninvited::start(hub, SERVICE, 5);
    wait_until("clear text to be rejected", || program.log().contains("InvalidContentType"));
    let deceived = Uninvited::start_over(over_tls(&other), hub, SERVICE, 5);
    wait_until("another certificate to be rejected", || {
        program.log().contains("received fatal alert")
    });
    assert_eq!(clear.updates.load(Ordering::Relaxed), 0);
    assert_eq!(deceived.updates.load(Ordering::Relaxed), 0);
    drop((clear, deceived));

    let tape = Tape::new(5);
    let watcher = Watcher::start(&tape, &[program.address("rssl")]);
    let provider = Uninvited::start_over(over_tls(&certificate), hub, SERVICE, 5);
    provider.wait_heard(5);
    watcher.wait_fresh();
    wait_until("updates to come", || watcher.updates() > 5);
}

#[test]
fn prices_of_an_interactive_service_are_not_forged() {
    let tape = Tape::new(100);
    let source = Source::start(&tape, loopback());
    let program = run(source.address);
    let before = Watcher::start(&tape, &[program.address("rssl")]);
    before.wait_fresh();

    let forger = Uninvited::start(program.address("ni"), SERVICE, 100);
    wait_until("the forger to be refused", || is_refused(&program));
    forger.wait_heard(100);
    let after = Watcher::start(&tape, &[program.address("rssl")]);
    after.wait_fresh();
    tape.publish(5_000, 10_000);
    forger.wait_heard(100);
    drop(forger);
    wait_until("the forger to be gone", || program.log().contains("a provider is gone"));
    tape.publish(1_000, 10_000);
    for watcher in [before, after] {
        watcher.wait_all_of(&tape);
        assert_eq!(watcher.holes(), 0, "nothing but what the source said");
        assert_eq!(watcher.images(), 100);
        assert_eq!(watcher.seen.stale.load(Ordering::Relaxed), 0);
    }
    assert_eq!(tape.streams(), 100, "the source was asked for each");
}

#[test]
fn who_forges_before_the_source_is_there_loses_all_of_it_when_it_comes() {
    let tape = Tape::new(100);
    let address = SocketAddr::new(loopback().ip(), free_port());
    let program = run(address);
    let forger = Uninvited::start(program.address("ni"), SERVICE, 100);
    forger.wait_heard(100);
    let watcher = Watcher::start(&tape, &[program.address("rssl")]);
    watcher.wait_fresh();
    let _source = Source::start(&tape, address);
    wait_until("the forger to be refused", || is_refused(&program));
    wait_until("the source to be asked for each", || tape.streams() == 100);
    watcher.wait_fresh();
    // A number that is not the next one would be one more hole, from here on.
    wait_until("nothing of the forger to be left", || watcher.has_all_of(&tape));
    let holes = watcher.holes();
    tape.publish(5_000, 10_000);
    forger.wait_heard(100);
    watcher.wait_all_of(&tape);
    assert_eq!(watcher.holes(), holes);
    assert!(watcher.is_fresh());
}

#[test]
fn one_provider_takes_no_room_of_others() {
    const GREEDY: &str = "GREEDY";
    const MODEST: &str = "MODEST";
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("few-items.toml");
    std::fs::write(&config, "[hub]\nmax-items = 400\nmax-items-per-provider = 100\n")
        .expect("room on the disk");
    let tape = Tape::new(100);
    let source = Source::start(&tape, loopback());
    let source_at = source.address.to_string();
    let config = config.to_str().expect("a plain path");
    let start = ["run", "--config", config, "--backbone", "aeron:ipc", "--source", &source_at];
    let program = tapeline(&[&start[..], &["--rssl-port", "0", "--ni-port", "0"]].concat());
    let greedy = Uninvited::start(program.address("ni"), GREEDY, 2_000);
    wait_until("the greedy one to be refused", || is_refused(&program));
    assert!(program.log().contains("more than 100 items"), "{}", program.log());
    greedy.wait_heard(2_000);

    let modest = Uninvited::start(program.address("ni"), MODEST, 100);
    modest.wait_heard(100);
    let servers = [program.address("rssl")];
    let of_source = Watcher::start(&tape, &servers);
    let of_modest = Watcher::start_of(MODEST, &tape, &servers);
    let of_greedy = Watcher::start_of(GREEDY, &tape, &servers);
    for watcher in [&of_source, &of_modest, &of_greedy] {
        watcher.wait_fresh();
    }
    tape.publish(1_000, 10_000);
    of_source.wait_all_of(&tape);
    assert_eq!(of_source.holes(), 0);
    assert_eq!(program.log().matches("a provider is refused something").count(), 1);
}

#[test]
fn what_is_counted_is_in_the_log() {
    let tape = Tape::new(10);
    let source = Source::start(&tape, loopback());
    let mut arguments = run_arguments(source.address, "aeron:ipc");
    arguments.extend(["--counters-interval-s", "1"].map(str::to_owned));
    let program = tapeline(&arguments);
    let watcher = Watcher::start(&tape, &[program.address("rssl")]);
    watcher.wait_fresh();
    let forger = Uninvited::start(program.address("ni"), SERVICE, 10);
    forger.wait_heard(10);
    for part in ["hub", "server"] {
        wait_until("the counters of both", || {
            let log = program.log();
            let mut lines =
                log.lines().filter(|line| line.contains(&format!("msg=counters {part}=")));
            lines.any(|line| line.contains("items=10 "))
        });
    }
    wait_until("what was refused", || program.log().contains("publications_refused=10 "));
}
