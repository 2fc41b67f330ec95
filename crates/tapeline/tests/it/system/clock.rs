//! The host's clock steps: set by hand, by NTP at boot, by a resumed virtual
//! machine.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tapeline_chaos::clock::{Clock, clear};
use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{Program, wait_until};

use super::faults::{backbone, hub_arguments, run_arguments, server_arguments};
use super::program::TAPELINE;
use super::stacked::Stack;

/// In front of a line of the log: `time=2026-11-23`.
const DATE_BYTES: usize = 15;

fn start(clock: &Clock, arguments: &[String]) -> Program {
    let mut command = Command::new(TAPELINE);
    clock.set(&mut command);
    Program::start(command, arguments)
}

struct Site {
    name: &'static str,
    programs: Vec<Program>,
    tape: Arc<Tape>,
    watcher: Watcher,
    _source: Source,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.programs.iter().for_each(clear);
    }
}

impl Site {
    fn new(name: &'static str, start: impl FnOnce(SocketAddr) -> Vec<Program>) -> Self {
        let tape = Tape::new(20);
        let source = Source::start(&tape, loopback());
        let programs = start(source.address);
        let server = programs.last().expect("a server").address("rssl");
        let watcher = Watcher::start(&tape, &[server]);
        watcher.wait_fresh();
        Self { name, programs, tape, watcher, _source: source }
    }

    /// Updates flow to the consumer, who keeps connection and streams.
    fn works(&self, after: &str) {
        let Self { name, tape, watcher, .. } = self;
        let seen = watcher.updates();
        tape.set_rate(2_000);
        wait_until("updates after the step", || watcher.updates() > seen + 1_500);
        watcher.wait_fresh();
        tape.set_rate(0);
        watcher.wait_all_of(tape);
        assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0, "{name}, {after}: connections");
        assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0, "{name}, {after}: streams");
        for program in &self.programs {
            assert!(program.is_running(), "{name}, {after}: {}", program.log());
        }
    }

    fn log(&self) -> String {
        self.programs.iter().map(Program::log).collect()
    }
}

#[test]
fn steps_of_the_clock_end_nothing() {
    let Some(clock) = Clock::new() else { return };
    let stack = Stack::new();
    let channel = backbone();
    let sites = [
        Site::new("one process", |source| vec![start(&clock, &run_arguments(source, "local"))]),
        Site::new("one driver", |source| vec![start(&clock, &run_arguments(source, "aeron:ipc"))]),
        Site::new("a network", |source| {
            let hub = start(&clock, &hub_arguments(&channel, source));
            vec![hub, start(&clock, &server_arguments(&channel, 0))]
        }),
        Site::new("a shared driver", |source| {
            let hub = start(&clock, &stack.hub_arguments(source));
            vec![hub, start(&clock, &stack.server_arguments(0, 1))]
        }),
    ];
    for offset in ["+10", "+0", "-10", "+1d"] {
        clock.step_to(offset);
        for site in &sites {
            site.works(offset);
        }
    }
    for site in &sites[..3] {
        let log = site.log();
        assert!(!log.contains("backbone is away"), "{}: {log}", site.name);
    }
    for mut site in sites {
        site.watcher.stop();
        let (name, programs) = (site.name, &site.programs);
        let log = || programs.last().expect("a server").log();
        let dates = || log().lines().map(|line| line[..DATE_BYTES].to_owned()).collect::<Vec<_>>();
        wait_until(&format!("a line of tomorrow in the log of {name}"), || {
            let dates = dates();
            dates.first() != dates.last()
        });
    }
}
