//! Processes that stand still for longer than a media driver waits for its
//! clients, as under SIGSTOP, or while a virtual machine is suspended or moved.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{Program, report, wait_until};

use super::crowds;
use super::faults::{backbone, hub, run, run_arguments, server};
use super::program::tapeline;
use super::stacked::Stack;

/// More than the five seconds after which a driver that is shared gives up a
/// client, and a client its driver.
const STANDSTILL: Duration = Duration::from_millis(6_500);

/// Some programs, one of which stands still, and a consumer of them.
struct Site {
    name: &'static str,
    programs: Vec<Program>,
    /// The one that stands still.
    still: usize,
    tape: Arc<Tape>,
    watcher: Watcher,
    _source: Source,
    _stack: Option<Stack>,
}

impl Site {
    fn new(
        name: &'static str,
        still: usize,
        start: impl FnOnce(SocketAddr) -> (Vec<Program>, Option<Stack>),
    ) -> Self {
        let tape = Tape::new(20);
        let source = Source::start(&tape, loopback());
        let (programs, stack) = start(source.address);
        let last = programs.last().expect("a server");
        let watcher = Watcher::start(&tape, &[last.address("rssl")]);
        watcher.wait_fresh();
        tape.set_rate(1_000);
        Self { name, programs, still, tape, watcher, _source: source, _stack: stack }
    }

    fn heals(&self) {
        let Self { name, tape, watcher, .. } = self;
        let healed = watcher.wait_fresh();
        tape.set_rate(0);
        watcher.wait_all_of(tape);
        report(format_args!(
            "{name} stood still: fresh {} ms after it went on",
            healed.as_millis()
        ));
        assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0, "{name}: connections stay");
        assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0, "{name}: streams stay");
        for program in &self.programs {
            assert!(program.is_running(), "{name}: {}", program.log());
        }
    }
}

fn stacked(source: SocketAddr) -> (Vec<Program>, Option<Stack>) {
    let stack = Stack::new();
    let hub = stack.hub(source);
    let server = stack.server(0, 1);
    (vec![hub, server], Some(stack))
}

/// Hub and two servers in one process, the second on the driver of the first, or
/// with rings between them.
fn shards(source: SocketAddr, backbone: &str) -> (Vec<Program>, Option<Stack>) {
    let stack = Stack::new();
    let mut arguments = run_arguments(source, backbone);
    arguments.extend(["--config".to_owned(), stack.config(2)]);
    (vec![tapeline(&arguments)], Some(stack))
}

#[test]
fn who_stands_still_goes_on_afterwards() {
    let pair = |source| {
        let channel = backbone();
        (vec![hub(&channel, source), server(&channel, 0)], None)
    };
    let sites = [
        Site::new("hub and server in one process", 0, |source| {
            (vec![tapeline(&run_arguments(source, "local"))], None)
        }),
        Site::new("hub and server on one driver", 0, |source| (vec![run(source)], None)),
        Site::new("hub and shards in one process", 0, |source| shards(source, "local")),
        Site::new("hub and shards on one driver", 0, |source| shards(source, "aeron:ipc")),
        Site::new("a hub on a network", 0, pair),
        Site::new("a server on a network", 1, pair),
        Site::new("a hub whose driver is shared", 0, stacked),
        Site::new("a server beside its hub", 1, stacked),
    ];
    for site in &sites {
        site.programs[site.still].freeze();
    }
    let frozen = Instant::now();
    while frozen.elapsed() < STANDSTILL {
        thread::park_timeout(STANDSTILL);
    }
    for site in &sites {
        site.programs[site.still].resume();
    }
    for site in &sites {
        site.heals();
    }
}

/// What goes on while nobody takes it, for two seconds.
const FLOOD_PER_S: u64 = 300_000;
const FLOODED_S: u64 = 2;

/// What a hub may take more for it: its queue to the backbone, twice, as memory comes in
/// pieces, what it merges, and what reading at such a rate takes.
const MORE_BYTES: u64 = 24 << 20;

/// What is merged is sent, and the backbone then has a quiet moment.
const HEALED_WITHIN: Duration = Duration::from_secs(10);

/// What a hub has counted.
fn counter(hub: &Program, name: &str) -> u64 {
    let all = crowds::get(hub, "counters");
    all["hub"]["hub"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {all}"))
}

#[test]
fn a_backbone_that_nobody_reads_costs_a_hub_bounded_memory_and_no_last_value() {
    let tape = Tape::new(1_000);
    let source = Source::start(&tape, loopback());
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("patient.toml");
    // The server is not taken for gone meanwhile.
    let text = "[backbone]\nsilence-ms = 60000\nqueue-bytes = 4194304\n";
    std::fs::write(&config, text).expect("room on the disk");
    let patient = ["--config".to_owned(), config.to_str().expect("a plain path").to_owned()];
    // Who reads shared memory holds its writer up: nothing is lost on the way.
    let stack = Stack::new();
    let admin = ["--admin-port".to_owned(), "0".to_owned()];
    let hub = tapeline(&[&stack.hub_arguments(source.address)[..], &patient, &admin].concat());
    let mut server = stack.server_arguments(0, 1);
    let own = server.iter().position(|it| *it == patient[0]).expect("it has a configuration");
    server[own + 1].clone_from(&patient[1]);
    let server = tapeline(&server);
    let watcher = Watcher::start(&tape, &[server.address("rssl")]);
    watcher.wait_fresh();
    tape.publish(FLOOD_PER_S / 2, FLOOD_PER_S);
    watcher.wait_all_of(&tape);
    assert_eq!(counter(&hub, "pressures"), 0, "that is no more than usual");

    let (before, counted, published) = (hub.memory_bytes(), watcher.counted(), tape.published());
    server.freeze();
    tape.publish(FLOODED_S * FLOOD_PER_S, FLOOD_PER_S);
    let more = hub.memory_bytes().saturating_sub(before);
    assert_eq!(counter(&hub, "pressed"), 1, "{}", hub.log());
    server.resume();
    let healed = watcher.wait_all_of(&tape);
    report(format_args!(
        "{FLOODED_S} s without a reader: {more} bytes more in the hub, all last values {} ms after",
        healed.as_millis()
    ));
    assert!(more < MORE_BYTES, "{more} bytes more");
    assert!(healed < HEALED_WITHIN, "{healed:?}");
    assert!(watcher.updates() < tape.published(), "some were merged, or nothing was shown");
    let images = watcher.images();
    assert_eq!(images, tape.items() as u64, "nothing was lost, so nobody needed an image");
    let counted = watcher.counted() - counted;
    assert_eq!(counted, tape.published() - published, "what was merged says how many it is");
    wait_until("the hub to say that it is over", || counter(&hub, "pressed") == 0);
    for name in ["holds", "pressures", "pressure_ms", "updates_merged"] {
        assert!(counter(&hub, name) > 0, "{name}: {}", hub.log());
    }
    for name in ["merges", "merged_bytes"] {
        assert_eq!(counter(&hub, name), 0, "{name}");
    }
    for line in ["the queue to the backbone is too full", "the backbone takes what comes again"] {
        assert!(hub.log().contains(line), "no `{line}` in {}", hub.log());
    }
    let lost = (watcher.downs(), watcher.seen.closed.load(Ordering::Relaxed));
    assert_eq!(lost, (0, 0), "connections and streams");
}
