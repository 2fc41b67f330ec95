//! One hub, servers on other hosts, a network that loses datagrams.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use tapeline_chaos::lan::{Host, Lan};
use tapeline_chaos::market::{Source, Tape, Watcher};
use tapeline_chaos::program::{Program, report, wait_until};

use super::program::tapeline_on;

const DATA_PORT: u16 = 40_456;
const RSSL_PORT: u16 = 14_002;
const SOURCE_PORT: u16 = 14_100;
/// Multicast of a hub to all servers; the interface is that of each host.
const BACKBONE: &str = "aeron:udp?endpoint=239.77.0.1:40456|interface=10.77.0.0/24";

/// How long the backbone is cut.
const CUT: Duration = Duration::from_secs(10);

/// A hub on host 1 beside its source, servers on hosts 2 and 3.
struct Site {
    lan: Lan,
    tape: std::sync::Arc<Tape>,
    _source: Source,
    hub: Program,
    servers: Vec<Program>,
}

fn hub(host: &Host) -> Program {
    let source = format!("{}:{SOURCE_PORT}", host.address);
    tapeline_on(host, &["hub", "--backbone", BACKBONE, "--source", &source])
}

fn server(host: &Host) -> Program {
    let port = RSSL_PORT.to_string();
    tapeline_on(host, &["server", "--backbone", BACKBONE, "--rssl-port", &port])
}

impl Site {
    fn start(items: usize) -> Option<Self> {
        let lan = Lan::new(4)?;
        let tape = Tape::new(items);
        let source = Source::start_on_host(&tape, lan.host(1), SOURCE_PORT);
        let hub = hub(lan.host(1));
        let servers = vec![server(lan.host(2)), server(lan.host(3))];
        Some(Self { lan, tape, _source: source, hub, servers })
    }

    fn rssl(&self, host: usize) -> SocketAddr {
        (self.lan.host(host).address, RSSL_PORT).into()
    }

    /// One consumer of each server, on a host of their own.
    fn watchers(&self) -> Vec<Watcher> {
        let host = self.lan.host(4);
        [2, 3].map(|server| Watcher::start_on_host(&self.tape, host, &[self.rssl(server)])).into()
    }
}

/// How often it is tried: a server that has no core for a while falls behind by
/// more than its hub keeps for it and is healed by images, which says nothing of
/// datagrams.
const TRIES: usize = 3;

fn nothing_is_lost(percent: u8, updates: u64, updates_per_second: u64) {
    let is_repaired = (0..TRIES).any(|_| is_repaired(percent, updates, updates_per_second));
    assert!(is_repaired, "updates were recovered from images, {TRIES} times");
}

/// Whether all that datagrams lost came by others, and nothing by images.
fn is_repaired(percent: u8, updates: u64, updates_per_second: u64) -> bool {
    let Some(site) = Site::start(100) else { return true };
    let watchers = site.watchers();
    for watcher in &watchers {
        watcher.wait_fresh();
    }
    assert_eq!(site.tape.streams(), 100, "each item is requested once for both servers");
    if percent > 0 {
        for host in &site.lan.hosts()[..3] {
            host.lose(percent, DATA_PORT..=DATA_PORT + 1);
        }
    }
    site.tape.publish_to(&watchers, updates, updates_per_second);
    for watcher in &watchers {
        let lag = watcher.wait_all_of(&site.tape);
        report(format_args!(
            "{percent} % loss: {} updates, {} images, the last {} ms after the end",
            watcher.updates(),
            watcher.images(),
            lag.as_millis()
        ));
        assert_eq!(watcher.holes(), 0, "lost or out of order");
    }
    let has_all = |it: &Watcher| it.images() == 100 && it.updates() == site.tape.published();
    watchers.iter().all(has_all)
}

#[test]
fn two_servers_get_the_same_stream_over_multicast() {
    nothing_is_lost(0, 40_000, 20_000);
}

#[test]
fn one_percent_of_loss_loses_no_update() {
    nothing_is_lost(1, 100_000, 20_000);
}

#[test]
fn five_percent_of_loss_loses_no_update() {
    nothing_is_lost(5, 60_000, 10_000);
}

#[test]
fn a_cut_of_ten_seconds_makes_items_stale_and_heals() {
    let Some(site) = Site::start(50) else { return };
    // Beside its server, so that only the backbone is cut.
    let cut_off = Watcher::start_on_host(&site.tape, site.lan.host(2), &[site.rssl(2)]);
    let other = Watcher::start_on_host(&site.tape, site.lan.host(3), &[site.rssl(3)]);
    cut_off.wait_fresh();
    other.wait_fresh();
    site.tape.set_rate(2_000);
    site.lan.unplug(2);
    let noticed = cut_off.wait_stale();
    let before = Instant::now();
    let heard_before = other.updates();
    while before.elapsed() + noticed < CUT {
        thread::park_timeout(Duration::from_millis(10));
    }
    assert!(cut_off.is_stale(), "nothing reaches the server that is cut off");
    wait_until("the other server to go on", || {
        other.is_fresh() && other.updates() > heard_before + 5_000
    });
    assert!(cut_off.is_stale(), "nothing reaches it still");
    site.lan.plug(2);
    let healed = cut_off.wait_fresh();
    site.tape.set_rate(0);
    cut_off.wait_all_of(&site.tape);
    other.wait_all_of(&site.tape);
    assert_eq!(other.holes(), 0);
    assert_eq!(cut_off.seen.downs.load(Ordering::Relaxed), 0);
    report(format_args!(
        "backbone cut: stale after {} ms, fresh {} ms after the cable was back",
        noticed.as_millis(),
        healed.as_millis()
    ));
    assert!(site.servers.iter().all(|server| !server.log().contains("panicked")));
    assert!(!site.hub.log().contains("panicked"));
}
