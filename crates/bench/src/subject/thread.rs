//! Hub and server in one thread of this process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tapeline_measure::processor;
use tapeline_node::Node;

use super::{Counts, Written, node};
use crate::BenchError;
use crate::setup::Setup;

/// Counts are told once in so many turns.
const TURNS_PER_COUNT: u32 = 64;

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    merged: AtomicU64,
    cut: AtomicU64,
    gaps: AtomicU64,
    busy_ns: AtomicU64,
    bytes_written: AtomicU64,
    writes: AtomicU64,
}

impl Shared {
    fn set_written(&self, written: Written) {
        self.bytes_written.store(written.bytes, Ordering::Relaxed);
        self.writes.store(written.writes, Ordering::Relaxed);
    }

    fn set(&self, counts: Counts) {
        let store = |place: &AtomicU64, count: Option<u64>| {
            place.store(count.unwrap_or(0), Ordering::Relaxed);
        };
        store(&self.merged, counts.merged);
        store(&self.cut, counts.cut);
        store(&self.gaps, counts.gaps);
    }
}

/// A node on a thread of its own. It ends when this is dropped.
pub(crate) struct NodeThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    thread_id: i32,
    address: [SocketAddr; 1],
}

impl NodeThread {
    pub(super) fn start(provider: SocketAddr, setup: &Setup) -> Result<Self, BenchError> {
        let shared = Arc::new(Shared::default());
        let (its, setup) = (Arc::clone(&shared), setup.clone());
        let (tell, told) = mpsc::channel();
        // The engine stays on the thread that made it.
        let thread = std::thread::spawn(move || {
            processor::pin(setup.their_cores());
            match start(provider, &setup) {
                Ok(node) => {
                    let _ = tell.send(Ok((node::address(&node), processor::thread_id())));
                    run(node, &its);
                }
                Err(error) => {
                    let _ = tell.send(Err(error));
                }
            }
        });
        let gone = || BenchError::Ended("its thread is gone".to_owned());
        let (address, thread_id) = told.recv().map_err(|_| gone())??;
        let address = [address.ok_or_else(gone)?];
        Ok(Self { shared, thread: Some(thread), thread_id, address })
    }

    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.address
    }

    pub(super) fn counts(&self) -> Counts {
        let of = |place: &AtomicU64| Some(place.load(Ordering::Relaxed));
        Counts {
            merged: of(&self.shared.merged),
            cut: of(&self.shared.cut),
            gaps: of(&self.shared.gaps),
        }
    }

    pub(super) fn busy(&self) -> Duration {
        Duration::from_nanos(self.shared.busy_ns.load(Ordering::Relaxed))
    }

    pub(super) fn written(&self) -> Written {
        let of = |place: &AtomicU64| place.load(Ordering::Relaxed);
        Written { bytes: of(&self.shared.bytes_written), writes: of(&self.shared.writes) }
    }

    pub(super) fn cpu_seconds(&self) -> Option<f64> {
        processor::thread_seconds(self.thread_id)
    }
}

impl Drop for NodeThread {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A node that is on its backbone. The engine makes and touches the memory of
/// the log buffers first, which is no part of what a client waits for.
fn start(provider: SocketAddr, setup: &Setup) -> Result<Node, BenchError> {
    let mut node = node::start(provider, setup)?;
    node.await_backbone(|| true)?;
    Ok(node)
}

fn run(mut node: Node, shared: &Shared) {
    let mut turns = 0_u32;
    node.run_while(|node| {
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(TURNS_PER_COUNT) {
            shared.set(node::counts(node));
            shared.set_written(node::written(node));
        }
        // Of every turn: some take as long as a hundredth of what is measured.
        shared.busy_ns.store(node.busy().as_nanos() as u64, Ordering::Relaxed);
        !shared.is_over.load(Ordering::Relaxed) && node.failure().is_none()
    });
}
