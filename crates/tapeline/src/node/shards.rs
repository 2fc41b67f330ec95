//! Further servers of this process that share its port, a thread each.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread::{self, JoinHandle};

use tapeline_server::Door;

use super::Node;
use crate::config::{Port, Settings};
use crate::failure::Failure;
use tapeline_ending::Stop;

/// The shards beside the one of the main thread. They use its media driver, so
/// that what comes from the hubs is in memory once, or its rings.
pub(crate) struct Shards {
    threads: Vec<JoinHandle<Result<(), Failure>>>,
    started: Receiver<()>,
}

impl Shards {
    /// Starts those that the settings want beside the server of `node`.
    pub(crate) fn start(settings: &Settings, node: &Node, stop: &Stop) -> Result<Self, Failure> {
        let (sender, started) = mpsc::channel();
        let mut threads = Vec::new();
        let (address, place) = (node.rssl_address(), node.place());
        for number in (1..settings.server.shards).take_while(|_| address.is_some()) {
            let mut own = settings.clone();
            own.server.name = format!("{}.{number}", settings.server.name);
            own.server.rssl_port = Port::At(address.map_or(0, |address| address.port()));
            for (door, port) in [
                (Door::RsslTls, &mut own.server.rssl_tls_port),
                (Door::WebSocket, &mut own.server.ws_port),
                (Door::WebSocketTls, &mut own.server.wss_port),
            ] {
                if let Some(address) = node.address_at(door) {
                    *port = Port::At(address.port());
                }
            }
            let Some(place) = place.clone() else { break };
            let (stop, sender) = (stop.clone(), sender.clone());
            let thread = thread::Builder::new().name(format!("shard-{number}"));
            let run = move || {
                let mut node = Node::start_shard(&own, &place)?;
                node.await_backbone(|| !stop.is_asked())?;
                let _ = sender.send(());
                node.run(&stop)
            };
            threads.push(thread.spawn(run).map_err(Failure::Thread)?);
        }
        Ok(Self { threads, started })
    }

    /// Works the main thread's node, whose backbone they need, until all listen
    /// or one of them cannot.
    pub(crate) fn await_start(&self, node: &mut Node) {
        let mut missing = self.threads.len();
        node.run_while(|| {
            match self.started.try_recv() {
                Ok(()) => missing -= 1,
                // All threads have ended, and say why when they are joined.
                Err(TryRecvError::Disconnected) => missing = 0,
                Err(TryRecvError::Empty) => {}
            }
            missing > 0 && !self.has_ended()
        });
    }

    /// Works the main thread's node until all have ended, so that their last
    /// words leave.
    pub(crate) fn await_end(&self, node: &mut Node) {
        node.run_while(|| !self.threads.iter().all(JoinHandle::is_finished));
    }

    /// Whether one of them has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits for all to end; the first failure is that of all.
    pub(crate) fn join(self) -> Result<(), Failure> {
        let mut result = Ok(());
        for thread in self.threads {
            let ended = match thread.join() {
                Ok(ended) => ended,
                Err(_) => Err(Failure::Backbone("a shard's thread panicked".to_owned())),
            };
            result = result.and(ended);
        }
        result
    }
}
