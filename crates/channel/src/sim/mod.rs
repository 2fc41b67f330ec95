//! A network in memory, with the faults that a test asks for.
//!
//! A reactor whose system is a [`Host`] of a [`Network`] has its sockets there.
//! All above them is what it is on the operating system's: sessions, their
//! limits and timers, the bytes. Nothing waits: a poll that finds nothing to do
//! returns at once, whatever it was told. Time goes on when the test
//! [says so](Network::advance); chance is the seed's. Two runs that do the same
//! see the same, but for TLS, which draws its keys from the system.
//!
//! ```
//! use std::time::Duration;
//! use tapeline_channel::sim::Network;
//! use tapeline_channel::{ConnectConfig, ListenConfig, Reactor, ReactorConfig, SessionEvent};
//!
//! let network = Network::new(1);
//! network.set_delay(Duration::from_millis(20));
//! let [mut server, mut client] = [[10, 0, 0, 1], [10, 0, 0, 2]]
//!     .map(|ip| Reactor::with_system(ReactorConfig::default(), network.host(ip)));
//! server.listen("10.0.0.1:14002".parse()?, &ListenConfig::default())?;
//! client.connect("10.0.0.1", 14002, &ConnectConfig::default());
//!
//! let mut is_open = false;
//! while !is_open {
//!     server.poll(network.now(), None, |_, _| {});
//!     client.poll(network.now(), None, |event, _| {
//!         is_open |= matches!(event, SessionEvent::Opened { .. });
//!     });
//!     network.advance(Duration::from_millis(1));
//! }
//! // There and back for the connection, and for the handshake.
//! assert_eq!(network.now().as_nanos() / 1_000_000, 81);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it is like
//!
//! ```text
//!   write ─▶ room for so many bytes ─▶ segments, each arrives at its time ─▶ read
//!             set_window                set_segment_bytes, set_bandwidth,
//!                                       set_delay, set_jitter, cut, heal
//! ```
//!
//! A direction of a connection holds a window of bytes, under way or unread;
//! one that is full takes no more, and what does not fit of a write is left. A
//! socket that is dropped with bytes that nobody read resets its connection,
//! as does one that is written to after its peer's was dropped. A connection is
//! refused where nobody listens, and is not decided while the way is cut.
//!
//! Faults are those of an address that is listened on, or was or will be: of
//! all connections to it.

mod host;
mod pipe;
mod world;

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use tapeline_time::Time;

pub use host::{Host, SimClock, SimListener, SimSocket};
use world::{InTurn, World};

/// Everything between the hosts. Clones are handles to the same network.
#[derive(Clone, Debug)]
pub struct Network(Rc<RefCell<World>>);

/// What went over a connection so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tape {
    /// The address that was connected from,
    pub client: SocketAddr,
    /// and the one that was connected to.
    pub server: SocketAddr,
    /// The bytes that the client wrote,
    pub to_server: Vec<u8>,
    /// and the bytes that the server did.
    pub to_client: Vec<u8>,
}

impl Network {
    /// A network that carries every byte within no time, until told otherwise.
    pub fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(World::new(seed))))
    }

    /// Sockets for one reactor, at an address that others may share.
    pub fn host(&self, ip: impl Into<IpAddr>) -> Host {
        Host::new(self.clone(), ip.into())
    }

    /// The time of the network, which is that of all its hosts.
    pub fn now(&self) -> Time {
        self.0.borrow().now
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let mut world = self.0.borrow_mut();
        world.now = world.now.after(by);
    }

    /// How long it takes whoever works between two looks at a clock. Default:
    /// no time at all, so that no turn of anybody is ever too long.
    pub fn set_look_at_clock(&self, passes: Duration) {
        self.0.borrow_mut().look_at_clock = passes;
    }

    /// How far whoever works is in its turn: a look at a clock is later by what
    /// this says. For who measures what turns take of a real processor, and has
    /// them end by that. Default: no time at all.
    pub fn set_time_in_turn(&self, so_far: impl Fn() -> Duration + 'static) {
        self.0.borrow_mut().time_in_turn = InTurn(Some(Rc::new(so_far)));
    }

    /// Gives a name addresses; without any it is not known.
    pub fn name(&self, host: &str, addresses: impl IntoIterator<Item = IpAddr>) {
        self.0.borrow_mut().names.insert(host.to_owned(), addresses.into_iter().collect());
    }

    /// How long bytes take to every address that has no delay of its own, and
    /// from it.
    pub fn set_delay(&self, delay: Duration) {
        self.0.borrow_mut().usual.delay = Some(delay);
    }

    /// How long bytes take to an address, and from it.
    pub fn set_path_delay(&self, to: SocketAddr, delay: Duration) {
        self.0.borrow_mut().path(to).delay = Some(delay);
    }

    /// Each segment takes up to so much longer. None overtakes another.
    pub fn set_jitter(&self, most: Duration) {
        self.0.borrow_mut().jitter = most;
    }

    /// Cuts what is written into segments of 1 to `most` bytes.
    pub fn set_segment_bytes(&self, most: usize) {
        self.0.borrow_mut().segment_bytes = most.max(1);
    }

    /// Bytes a second to an address, and as many from it.
    pub fn set_bandwidth(&self, to: SocketAddr, bytes_per_s: u64) {
        self.0.borrow_mut().path(to).bytes_per_s = Some(bytes_per_s.max(1));
    }

    /// Bytes that each direction of a connection to an address holds.
    pub fn set_window(&self, to: SocketAddr, bytes: usize) {
        self.0.borrow_mut().path(to).window_bytes = Some(bytes.max(1));
    }

    /// Whether connections to an address are refused although somebody listens.
    pub fn set_refusing(&self, to: SocketAddr, is_refusing: bool) {
        self.0.borrow_mut().path(to).is_refusing = is_refusing;
    }

    /// Carries nothing to an address, nor from it, until [`Self::heal`]. What
    /// is under way arrives.
    pub fn cut(&self, to: SocketAddr) {
        self.0.borrow_mut().path(to).is_cut = true;
    }

    /// Carries bytes again, first of all those that were written meanwhile.
    pub fn heal(&self, to: SocketAddr) {
        self.0.borrow_mut().heal(to);
    }

    /// Resets all connections to an address, for both sides at once, with all
    /// that is under way or unread; their number.
    pub fn reset(&self, to: SocketAddr) -> usize {
        self.0.borrow_mut().reset(to)
    }

    /// Keeps what is written to connections that are made from here on.
    pub fn record(&self) {
        self.0.borrow_mut().is_recording = true;
    }

    /// What was recorded, in the order in which connections were asked for.
    pub fn tapes(&self) -> Vec<Tape> {
        self.0.borrow().tapes.clone()
    }

    /// When the next thing that is under way arrives.
    pub fn next_arrival(&self) -> Option<Time> {
        self.0.borrow().next_arrival()
    }
}
