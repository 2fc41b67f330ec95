//! What a reactor has of the system under it: sockets, readiness, names, time.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_time::{MonotonicClock, Time};

use crate::{ListenConfig, SessionId, SocketOptions};

/// What a reactor, and with it every shell, needs of the system.
///
/// There are two: the operating system's [`Kernel`](crate::Kernel), which is
/// the default wherever a type has one as a parameter, and a
/// [`sim::Host`](crate::sim::Host) of a simulated network. All that is above
/// byte streams, from handshakes to output limits, is the same on either.
pub trait System: Sized {
    /// A connected byte stream, or one on its way there.
    type Socket: Socket;
    /// A listening socket; its port is free again when it is dropped.
    type Listener;
    /// Reads the time.
    type Clock: Clock;

    /// A clock of the time by which this system goes, for a program that has
    /// none yet.
    fn clock(&self) -> Self::Clock;

    /// Looks what has become ready, and waits up to `most` if nothing has
    /// (`None`: as long as it takes). What is found is kept until it is
    /// [taken](Self::take_ready).
    fn wait(&mut self, most: Option<Duration>) -> io::Result<()>;

    /// Whether something was found that is not taken yet.
    fn has_ready(&self) -> bool;

    /// Tells what has become ready, by the token of its socket, once each time
    /// that it begins. Returns the number of things, those without a token
    /// among them.
    fn take_ready(&mut self, tell: impl FnMut(usize, &Readiness)) -> usize;

    /// Listens. Connections that wait are told of with `token`.
    fn listen(
        &mut self,
        address: SocketAddr,
        config: &ListenConfig,
        token: usize,
    ) -> io::Result<(Self::Listener, SocketAddr)>;

    /// Accepts a connection that waits.
    fn accept(&mut self, listener: &mut Self::Listener) -> io::Result<(Self::Socket, SocketAddr)>;

    /// Has readiness of an accepted socket told with `token`.
    fn register(
        &mut self,
        socket: &mut Self::Socket,
        options: &SocketOptions,
        token: usize,
    ) -> io::Result<()>;

    /// Starts to connect. That it is decided is told with `token`.
    fn connect(
        &mut self,
        address: SocketAddr,
        options: &SocketOptions,
        token: usize,
    ) -> io::Result<Self::Socket>;

    /// Starts to look up a name, for one [`answer`](Self::next_answer).
    fn look_up(&mut self, session: SessionId, host: &str, port: u16) -> io::Result<()>;

    /// The next answer to a lookup, in whatever order they come.
    fn next_answer(&mut self) -> Option<Answer>;
}

/// A non-blocking byte stream of a [`System`].
pub trait Socket: io::Read + io::Write + fmt::Debug + Sized {
    /// Reads what there is, and leaves its acknowledgement for later if that is
    /// of use.
    fn read_late(&mut self, room: &mut [u8]) -> io::Result<usize>;

    /// Sends the delayed ACK of what was read.
    fn acknowledge(&mut self) -> io::Result<()>;

    /// Whether the last read took all there was, if it left room.
    fn short_read_empties(&self) -> bool;

    /// Sends the end of this side.
    fn end(&mut self) -> io::Result<()>;

    /// Whether a connection in the making is made: the peer's address, `None`
    /// as long as it is not decided.
    fn connected(&mut self) -> io::Result<Option<SocketAddr>>;

    /// Whether its number among the descriptors of the process is below `max`.
    fn is_below(&self, max: u32) -> bool;

    /// The same socket with the lowest number that is free.
    fn renumbered(self) -> io::Result<Self>;
}

/// What began since readiness was last asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// There is something to read, be it the end.
    pub readable: bool,
    /// The peer's end, or a failure, is behind what there is to read.
    pub ends: bool,
    /// There is room to write.
    pub writable: bool,
}

/// What became of the lookup of a name.
#[derive(Debug)]
pub struct Answer {
    /// Whose lookup it was.
    pub session: SessionId,
    /// The addresses, or why there are none.
    pub addresses: Result<Vec<SocketAddr>, String>,
}

/// A clock that never goes back.
pub trait Clock: fmt::Debug {
    /// The time now.
    fn now(&self) -> Time;

    /// The time that all processes of the host share: for what one of them stamps and
    /// another reads. In a simulated network there is one time.
    fn host_now(&self) -> Time {
        self.now()
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Time {
        Self::now(self)
    }

    fn host_now(&self) -> Time {
        tapeline_time::host_now()
    }
}
