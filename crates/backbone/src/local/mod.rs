//! A backbone between the ports of one process: a ring of bytes for each
//! direction between a hub and a server, on one thread or on several.
//!
//! There is nothing beside the ports: no driver, no folder, no time-out. What
//! is true of ports over Aeron is true here: a sender whose reader is behind is
//! held back, and a reader that is behind while others are not misses frames
//! after a while, of which it is told like of any other hole.

mod handover;
mod lane;
mod ring;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::frame::Role;
use crate::port::{Port, PortSettings};
use handover::{Handover, lock};
use ring::{Reader, Writer, ring};

/// What is shared between threads here.
mod sync {
    pub(super) use std::sync::atomic::{AtomicBool, Ordering};
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError};
}

pub use lane::{LocalSink, LocalSource};

/// A member of the backbone of one process.
pub type LocalPort = Port<LocalSink, LocalSource>;

/// From a hub to a server, in bytes. Nothing of it is memory before it is
/// written to.
const DATA_RING_BYTES: usize = 4 << 20;

/// From a server to a hub, in bytes.
const REQUEST_RING_BYTES: usize = 1 << 20;

/// How much the rings of a role hold.
const fn ring_bytes(sender: Role) -> usize {
    match sender {
        Role::Hub => DATA_RING_BYTES,
        Role::Server => REQUEST_RING_BYTES,
    }
}

/// Where the ports of one process meet. Clones are handles to the same place,
/// for other threads.
#[derive(Clone, Debug, Default)]
pub struct Network(Arc<Place>);

#[derive(Debug, Default)]
struct Place {
    members: Mutex<Vec<Member>>,
    last_number: AtomicU64,
}

#[derive(Debug)]
struct Member {
    number: u64,
    role: Role,
    to_sink: Arc<Handover<Writer>>,
    to_source: Arc<Handover<Reader>>,
}

impl Network {
    /// A place where nobody is yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new member. It leaves the place when it is dropped.
    pub fn port(&self, settings: PortSettings) -> LocalPort {
        let (sink, source) = self.ends(settings.role);
        Port::new(settings, sink, source)
    }

    /// The two directions of a port of `role`.
    pub(crate) fn ends(&self, role: Role) -> (LocalSink, LocalSource) {
        let member = Member {
            number: self.0.last_number.fetch_add(1, Ordering::Relaxed),
            role,
            to_sink: Arc::default(),
            to_source: Arc::default(),
        };
        let sink = LocalSink::new(ring_bytes(role), Arc::clone(&member.to_sink));
        let membership = Membership { network: self.clone(), number: member.number };
        let source = LocalSource::new(Arc::clone(&member.to_source), membership);
        let mut members = lock(&self.0.members);
        for other in members.iter().filter(|other| other.role == role.other()) {
            connect(&member, other);
            connect(other, &member);
        }
        members.push(member);
        drop(members);
        (sink, source)
    }
}

/// A ring from one member to another.
fn connect(from: &Member, to: &Member) {
    let (writer, reader) = ring(ring_bytes(from.role));
    from.to_sink.hand_over(writer);
    to.to_source.hand_over(reader);
}

/// Ends when it is dropped.
#[derive(Debug)]
struct Membership {
    network: Network,
    number: u64,
}

impl Drop for Membership {
    fn drop(&mut self) {
        lock(&self.network.0.members).retain(|member| member.number != self.number);
    }
}
