//! Further servers of a process behind the ports of its first one, a thread
//! each.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread::{self, JoinHandle};

use tapeline_backbone::{Incarnation, PortSettings};
use tapeline_channel::random_seed;
use tapeline_server::{Server, ServerConfig, Transport};

use crate::{Node, NodeConfig, NodeError, ServerPart};

/// The shards beside the first server of a node, which is one itself. The
/// kernel shares out who connects. They use the node's media driver, so that
/// what comes from hubs is in memory once, or its rings.
pub struct Shards {
    threads: Vec<JoinHandle<Result<(), NodeError>>>,
    started: Receiver<()>,
}

impl Shards {
    /// Starts those that `config` wants beside the first server of `node`, which
    /// was started with it. They work until `go_on` says no; one after another
    /// leaves its mounts, while the node works for their last bytes.
    ///
    /// Errors: a thread cannot be started.
    pub fn start(
        config: &NodeConfig,
        node: &Node,
        go_on: impl Fn() -> bool + Clone + Send + 'static,
    ) -> Result<Self, NodeError> {
        let (sender, started) = mpsc::channel();
        let mut threads = Vec::new();
        let (first, point) =
            (config.servers.first().zip(node.servers().next()), node.meeting_point());
        if let (Some((part, server)), Some(point)) = (first, point) {
            for number in 1..config.shards {
                let own = NodeConfig {
                    hubs: Vec::new(),
                    servers: vec![shard(part, server, number)],
                    ..config.clone()
                };
                let (point, go_on, sender) = (point.clone(), go_on.clone(), sender.clone());
                let run = move || {
                    let mut node = Node::start_at(&point, number, own)?;
                    node.await_backbone(&go_on)?;
                    let _ = sender.send(());
                    node.run(go_on)
                };
                let thread = thread::Builder::new().name(format!("shard-{number}"));
                threads.push(thread.spawn(run).map_err(NodeError::Thread)?);
            }
        }
        Ok(Self { threads, started })
    }

    /// Works the node, whose backbone they need, until all listen or one of them
    /// cannot.
    pub fn await_start(&self, node: &mut Node) {
        let mut missing = self.threads.len();
        node.run_while(|_| {
            match self.started.try_recv() {
                Ok(()) => missing -= 1,
                // All threads have ended, and say why when they are joined.
                Err(TryRecvError::Disconnected) => missing = 0,
                Err(TryRecvError::Empty) => {}
            }
            missing > 0 && !self.has_ended()
        });
    }

    /// Works the node until all have ended, so that their last words leave.
    pub fn await_end(&self, node: &mut Node) {
        node.run_while(|_| !self.threads.iter().all(JoinHandle::is_finished));
    }

    /// Whether one of them has ended.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits for all to end.
    ///
    /// Errors: the first failure among them.
    pub fn join(self) -> Result<(), NodeError> {
        let mut result = Ok(());
        for thread in self.threads {
            let name = thread.thread().name().unwrap_or("shard").to_owned();
            let ended = thread.join().unwrap_or(Err(NodeError::Panicked(name)));
            result = result.and(ended);
        }
        result
    }
}

/// The server that listens where `first` does, whose part this is.
fn shard<B: tapeline_backbone::Bus>(
    part: &ServerPart,
    first: &Server<B>,
    number: usize,
) -> ServerPart {
    let at = |transport: Transport| -> Vec<SocketAddr> { first.listening_at(transport) };
    ServerPart {
        config: ServerConfig {
            listen: at(Transport::Rssl),
            listen_tls: at(Transport::RsslTls),
            listen_websocket: at(Transport::WebSocket),
            listen_websocket_tls: at(Transport::WebSocketTls),
            seed: random_seed(),
            ..part.config.clone()
        },
        port: PortSettings {
            name: format!("{}.{number}", part.port.name),
            incarnation: Incarnation::random(),
            ..part.port.clone()
        },
        policy: part.policy.clone(),
        siblings: part.siblings.clone(),
        edge: part.edge.clone(),
    }
}
