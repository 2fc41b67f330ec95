//! Several hubs without multicast, several networks that carry the same, and services
//! that are divided over several.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tapeline_chaos::lan::{Host, Lan};
use tapeline_chaos::market::{Source, Tape, Watcher};
use tapeline_chaos::program::{Program, report, wait_until};

use super::program::{TAPELINE, tapeline_on};

const RSSL_PORT: u16 = 14_002;
const ADMIN_PORT: u16 = 14_400;
const SOURCE_PORT: u16 = 14_100;

/// A hub that keeps images, so that it has what another server asked for.
const HUB: &str = "[hub]\ncache = true\n";

/// A site whose network carries no multicast: hubs on hosts 1 and 2, servers on 3, 4
/// and 5, source and consumers on 6.
struct Cloud {
    lan: Lan,
    config: tempfile::NamedTempFile,
}

impl Cloud {
    fn start() -> Option<Self> {
        let lan = Lan::new(6)?;
        lan.hosts().iter().for_each(Host::lose_multicast);
        let config = tempfile::NamedTempFile::with_suffix(".toml").expect("room");
        std::fs::write(config.path(), HUB).expect("room");
        Some(Self { lan, config })
    }

    fn hub(&self, number: usize) -> Program {
        let host = self.lan.host(number);
        let channel = format!("aeron:udp?control={0}:40456|interface={0}", host.address);
        let source = format!("{}:{SOURCE_PORT}", self.lan.host(6).address);
        let config = self.config.path().to_str().expect("a plain path");
        let hub = ["hub", "--config", config, "--backbone", &channel, "--source", &source];
        tapeline_on(host, &hub)
    }

    fn server(&self, number: usize) -> Program {
        let (host, rssl) = (self.lan.host(number), RSSL_PORT.to_string());
        let hubs = [1, 2].map(|hub| format!("{}:40456", self.lan.host(hub).address)).join(",");
        let channel = format!("aeron:udp?control={hubs}|interface={}", host.address);
        let admin = ADMIN_PORT.to_string();
        let ports = ["--rssl-port", &rssl, "--admin-port", &admin];
        tapeline_on(host, &[&["server", "--backbone", &channel][..], &ports].concat())
    }

    /// At how many hubs a server can ask for the items of its one service.
    fn hubs_of(&self, server: usize) -> u64 {
        let admin = format!("127.0.0.1:{ADMIN_PORT}");
        let mut get = self.lan.host(server).command(TAPELINE);
        get.args(["admin", "--admin", &admin, "get", "services", "--json"]);
        let said = get.output().expect("it runs").stdout;
        let said: serde_json::Value = serde_json::from_slice(&said).unwrap_or_default();
        said["rows"][0]["hubs"].as_u64().unwrap_or(0)
    }

    fn watcher(&self, tape: &Tape, server: usize) -> Watcher {
        let server: SocketAddr = (self.lan.host(server).address, RSSL_PORT).into();
        Watcher::start_on_host(tape, self.lan.host(6), &[server])
    }
}

#[test]
fn without_multicast_a_hub_that_is_killed_is_healed_by_the_other_one() {
    const ITEMS: usize = 100;
    let Some(cloud) = Cloud::start() else { return };
    let tape = Tape::new(ITEMS);
    let _source = Source::start_on_host(&tape, cloud.lan.host(6), SOURCE_PORT);
    // Server 3 has all of its items at hub 2, the others at both.
    let second = cloud.hub(2);
    let third = cloud.server(5);
    let others = cloud.watcher(&tape, 5);
    others.wait_fresh();
    let first = cloud.hub(1);
    let servers = [cloud.server(3), cloud.server(4)];
    wait_until("both hubs to have the service", || [3, 4].map(|it| cloud.hubs_of(it)) == [2, 2]);
    let watchers = [3, 4].map(|server| cloud.watcher(&tape, server));
    for watcher in &watchers {
        let _ = watcher.wait_fresh();
    }
    // Each of the two servers has half of its items at each hub, not always the same
    // half: it begins with the hub that it met first.
    let streams = tape.streams();
    assert!((ITEMS + ITEMS / 2..=2 * ITEMS).contains(&streams), "{streams} streams");
    tape.publish(5_000, 5_000);
    for watcher in watchers.iter().chain([&others]) {
        let _ = watcher.wait_all_of(&tape);
    }
    let asked = tape.requests();

    let killed = Instant::now();
    first.kill();
    let stale = |watcher: &Watcher| watcher.seen.stale.load(Ordering::Relaxed);
    let half = ITEMS as u64 / 2;
    wait_until("what was at the hub to be stale", || watchers.iter().all(|it| stale(it) >= half));
    let told = killed.elapsed();
    for watcher in &watchers {
        let _ = watcher.wait_fresh();
    }
    let healed = killed.elapsed();
    tape.publish(5_000, 5_000);
    for watcher in watchers.iter().chain([&others]) {
        let _ = watcher.wait_all_of(&tape);
    }
    report(format_args!(
        "hub killed without multicast: stale after {} ms, fresh after {} ms",
        told.as_millis(),
        healed.as_millis()
    ));
    assert_eq!(tape.requests(), asked, "the other hub has what was asked for");
    assert_eq!(tape.streams(), ITEMS);
    for watcher in &watchers {
        assert_eq!(stale(watcher), half, "what was at the other hub was well");
        assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0);
        assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0);
    }
    assert_eq!(stale(&others), 0);
    assert_eq!(others.holes(), 0);

    // A hub that comes back is there for everybody.
    let first = cloud.hub(1);
    for server in &servers {
        wait_until("the hub to be back", || server.log().matches("a hub is there").count() > 2);
    }
    for program in [first, second, third].into_iter().chain(servers) {
        assert!(program.end().success());
    }
}

/// Two networks: each its own group and ports.
const NETWORKS: &str = "aeron:udp?endpoint=239.77.0.1:40456|interface=10.77.0.0/24 \
                        aeron:udp?endpoint=239.77.0.3:40466|interface=10.77.0.0/24";

#[test]
fn the_loss_of_one_of_two_networks_is_seen_by_no_consumer() {
    const ITEMS: usize = 50;
    let Some(lan) = Lan::new(4) else { return };
    let tape = Tape::new(ITEMS);
    let _source = Source::start_on_host(&tape, lan.host(1), SOURCE_PORT);
    let source = format!("{}:{SOURCE_PORT}", lan.host(1).address);
    let hub = tapeline_on(lan.host(1), &["hub", "--backbone", NETWORKS, "--source", &source]);
    let port = RSSL_PORT.to_string();
    let servers = [2, 3].map(|number| {
        tapeline_on(lan.host(number), &["server", "--backbone", NETWORKS, "--rssl-port", &port])
    });
    let watchers = [2, 3].map(|number| {
        let server: SocketAddr = (lan.host(number).address, RSSL_PORT).into();
        Watcher::start_on_host(&tape, lan.host(4), &[server])
    });
    for watcher in &watchers {
        let _ = watcher.wait_fresh();
    }
    assert_eq!(tape.streams(), ITEMS, "each item is asked for once");
    tape.set_rate(5_000);
    let go_on = |updates: u64| {
        let before = watchers.each_ref().map(Watcher::updates);
        wait_until("updates to go on", || {
            watchers.iter().zip(before).all(|(it, before)| it.updates() >= before + updates)
        });
    };
    go_on(5_000);
    let said = |word: &str, count: usize| {
        wait_until(word, || servers.iter().all(|it| it.log().matches(word).count() >= count));
    };
    for watcher in &watchers {
        let _ = watcher.seen.take_longest_gap();
    }
    let mut gaps = Vec::new();
    for (turn, ports) in [40_456..=40_457, 40_466..=40_467, 40_456..=40_457].iter().enumerate() {
        lan.hosts()[..3].iter().for_each(|host| host.lose(100, ports.clone()));
        said("a network of the backbone is silent", turn + 1);
        go_on(5_000);
        gaps.extend(watchers.iter().map(|it| it.seen.take_longest_gap().as_millis()));
        lan.hosts()[..3].iter().for_each(Host::lose_nothing);
        said("a network of the backbone is back", turn + 1);
        go_on(5_000);
    }
    tape.set_rate(0);
    for watcher in &watchers {
        let _ = watcher.wait_all_of(&tape);
    }
    report(format_args!(
        "a network of two cut: the longest time without an update, in ms: {gaps:?}"
    ));
    for watcher in &watchers {
        assert_eq!(watcher.holes(), 0, "lost or out of order");
        assert_eq!(watcher.images(), ITEMS as u64, "no image but the first");
        assert_eq!(watcher.seen.stale.load(Ordering::Relaxed), 0);
        assert_eq!(watcher.updates(), tape.published());
    }
    assert!(servers.iter().all(|server| !server.log().contains("frames of a hub were lost")));
    assert!(hub.is_running());
}

/// Two channels, each with a hub and services of its own.
const CHANNELS: [&str; 2] = [
    "aeron:udp?endpoint=239.77.0.1:40456|interface=10.77.0.0/24",
    "aeron:udp?endpoint=239.77.0.3:40466|interface=10.77.0.0/24",
];

#[test]
fn services_are_divided_over_channels_and_what_one_loses_is_that_of_its_services_alone() {
    const ITEMS: usize = 50;
    let Some(lan) = Lan::new(4) else { return };
    let services = ["FEED", "RATES"];
    let tapes = [(); 2].map(|()| Tape::new(ITEMS));
    let hubs = [0, 1].map(|at| {
        let host = lan.host(at + 1);
        let source = Source::start_on_host_of(services[at], &tapes[at], host, SOURCE_PORT);
        let address = source.address.to_string();
        let hub = ["hub", "--backbone", CHANNELS[at], "--source", &address];
        (tapeline_on(host, &hub), source)
    });
    let (port, channels) = (RSSL_PORT.to_string(), CHANNELS.join(" + "));
    let both = ["server", "--backbone", &channels, "--rssl-port", &port];
    let server = tapeline_on(lan.host(3), &both);
    let at: SocketAddr = (lan.host(3).address, RSSL_PORT).into();
    let watch = |number: usize| {
        Watcher::start_on_host_of(services[number], &tapes[number], lan.host(4), &[at])
    };
    let watchers = [0, 1].map(watch);
    for (watcher, tape) in watchers.iter().zip(&tapes) {
        let _ = watcher.wait_fresh();
        assert_eq!(tape.streams(), ITEMS);
        tape.set_rate(2_000);
    }
    let go_on = |watcher: &Watcher| {
        let before = watcher.updates();
        wait_until("updates to go on", || watcher.updates() >= before + 2_000);
    };
    watchers.iter().for_each(&go_on);

    let [feed, rates] = &watchers;
    let ends = [lan.host(2), lan.host(3)];
    for host in ends {
        host.lose(100, 40_466..=40_467);
    }
    let told = rates.wait_stale();
    go_on(feed);
    for host in ends {
        host.lose_nothing();
    }
    let healed = rates.wait_fresh();
    watchers.iter().for_each(&go_on);
    for (watcher, tape) in watchers.iter().zip(&tapes) {
        tape.set_rate(0);
        let _ = watcher.wait_all_of(tape);
    }
    report(format_args!(
        "one of two channels cut: its service stale after {} ms, fresh {} ms behind its return",
        told.as_millis(),
        healed.as_millis()
    ));
    assert_eq!(feed.seen.stale.load(Ordering::Relaxed), 0);
    assert_eq!(feed.holes(), 0);
    assert_eq!(feed.images(), ITEMS as u64, "no image but the first");
    assert_eq!(rates.seen.stale.load(Ordering::Relaxed), ITEMS as u64);
    for watcher in &watchers {
        assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0);
        assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0);
    }
    assert!(server.is_running() && hubs.iter().all(|(hub, _)| hub.is_running()));
}
