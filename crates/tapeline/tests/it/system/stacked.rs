//! Several servers of one host on the media driver of a hub, as in
//! docs/examples/stacked-hub.toml and stacked-server.toml.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{Program, report, wait_until};

use super::program::tapeline;

/// The folder of a driver that hub and servers share; gone when dropped.
pub(crate) struct Stack {
    folder: tempfile::TempDir,
}

impl Stack {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("tl-stack-").tempdir_in("/dev/shm");
        Self { folder: folder.expect("room in memory") }
    }

    fn driver(&self) -> PathBuf {
        self.folder.path().join("driver")
    }

    pub(crate) fn hub_arguments(&self, source: SocketAddr) -> Vec<String> {
        let driver = self.driver();
        let folder = driver.to_str().expect("a plain path");
        let source = source.to_string();
        let shared = ["hub", "--backbone", "aeron:ipc", "--backbone-driver", "embedded"];
        let own = ["--backbone-dir", folder, "--ni-port", "0", "--source", &source];
        shared.iter().chain(&own).map(ToString::to_string).collect()
    }

    /// A configuration of a server with so many shards.
    pub(crate) fn config(&self, shards: u16) -> String {
        let path = self.folder.path().join(format!("shards-{shards}.toml"));
        std::fs::write(&path, format!("[server]\nshards = {shards}\n")).expect("room");
        path.to_str().expect("a plain path").to_owned()
    }

    pub(crate) fn server_arguments(&self, port: u16, shards: u16) -> Vec<String> {
        let (config, driver) = (self.config(shards), self.driver());
        let paths = [&config, driver.to_str().expect("a plain path")];
        let shared = ["server", "--backbone", "aeron:ipc", "--backbone-driver", "external"];
        let own = ["--config", paths[0], "--backbone-dir", paths[1], "--rssl-port"];
        let port = [&port.to_string()[..]];
        shared.iter().chain(&own).chain(&port).map(ToString::to_string).collect()
    }

    pub(crate) fn hub(&self, source: SocketAddr) -> Program {
        tapeline(&self.hub_arguments(source))
    }

    pub(crate) fn server(&self, port: u16, shards: u16) -> Program {
        tapeline(&self.server_arguments(port, shards))
    }
}

/// Servers stay when the hub that has their driver ends, and its successor
/// heals their items.
fn servers_outlive_their_hub(how: &str, end: impl Fn(Program)) {
    let tape = Tape::new(50);
    let source = Source::start(&tape, loopback());
    let stack = Stack::new();
    let first = stack.hub(source.address);
    let servers = [stack.server(0, 1), stack.server(0, 2)];
    // Of the shards of the second server, some get the one, some the other.
    let watched = [0, 1, 1, 1].map(|server| servers[server].address("rssl"));
    let watchers = watched.map(|server| Watcher::start(&tape, &[server]));
    for watcher in &watchers {
        watcher.wait_fresh();
    }
    end(first);
    for watcher in &watchers {
        watcher.wait_stale();
    }
    let second = stack.hub(source.address);
    for watcher in &watchers {
        let healed = watcher.wait_fresh();
        report(format_args!("hub and driver {how}: fresh {} ms later", healed.as_millis()));
    }
    tape.publish(5_000, 10_000);
    for watcher in &watchers {
        watcher.wait_all_of(&tape);
        assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0, "connections stay");
        assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0, "streams stay");
    }
    for program in servers.iter().chain([&second]) {
        assert!(program.is_running(), "{}", program.log());
    }
    for server in &servers {
        assert!(server.log().contains("the backbone is away"), "{}", server.log());
        wait_until("word that the backbone is back", || {
            server.log().contains("the backbone is back")
        });
    }
}

#[test]
fn servers_outlive_a_hub_that_is_restarted() {
    servers_outlive_their_hub("ended", |hub| assert!(hub.end().success()));
}

#[test]
fn servers_outlive_a_hub_that_is_killed() {
    servers_outlive_their_hub("killed", Program::kill);
}
