//! The operating system, as a reactor uses it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use tapeline_time::MonotonicClock;

use crate::lookup::Lookups;
use crate::system::{Answer, Readiness, System};
use crate::tcp::TcpSocket;
use crate::{ChannelError, ListenConfig, SessionId, SocketOptions, socket};

/// Readiness taken from the kernel at one time; more comes with the next poll.
const EVENTS: usize = 1024;

const WAKER: Token = Token(usize::MAX);

/// The operating system: its sockets, its queue of readiness, its resolver.
pub struct Kernel {
    poll: Poll,
    /// What ended the last wait.
    events: Events,
    waker: Arc<Waker>,
    lookups: Lookups,
}

/// Ends the wait of a reactor, from any thread.
#[derive(Clone, Debug)]
pub struct Wakeup(Arc<Waker>);

impl Wakeup {
    /// Has the running or next wait end at once. A reactor that is gone needs
    /// no waking.
    pub fn wake(&self) {
        let _ = self.0.wake();
    }
}

impl Kernel {
    /// A queue of readiness for the sockets of one reactor.
    pub fn new() -> Result<Self, ChannelError> {
        let poll = Poll::new().map_err(ChannelError::Poll)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER).map_err(ChannelError::Poll)?);
        let lookups = Lookups::new(Arc::clone(&waker));
        Ok(Self { poll, events: Events::with_capacity(EVENTS), waker, lookups })
    }

    /// To end waits from other threads.
    pub(crate) fn wakeup(&self) -> Wakeup {
        Wakeup(Arc::clone(&self.waker))
    }
}

impl System for Kernel {
    type Socket = TcpSocket;
    type Listener = TcpListener;
    type Clock = MonotonicClock;

    fn clock(&self) -> MonotonicClock {
        MonotonicClock::start()
    }

    fn wait(&mut self, most: Option<Duration>) -> io::Result<()> {
        self.poll.poll(&mut self.events, most).inspect_err(|_| self.events.clear())
    }

    fn has_ready(&self) -> bool {
        !self.events.is_empty()
    }

    fn take_ready(&mut self, mut tell: impl FnMut(usize, &Readiness)) -> usize {
        let mut count = 0;
        for event in &self.events {
            count += 1;
            if event.token() != WAKER {
                tell(event.token().0, &Readiness::from(event));
            }
        }
        self.events.clear();
        count
    }

    fn listen(
        &mut self,
        address: SocketAddr,
        config: &ListenConfig,
        token: usize,
    ) -> io::Result<(TcpListener, SocketAddr)> {
        let mut listener = socket::listen(address, config)?;
        let address = listener.local_addr()?;
        self.poll.registry().register(&mut listener, Token(token), Interest::READABLE)?;
        Ok((listener, address))
    }

    fn accept(&mut self, listener: &mut TcpListener) -> io::Result<(TcpSocket, SocketAddr)> {
        listener.accept().map(|(socket, peer)| (TcpSocket::new(socket), peer))
    }

    fn register(
        &mut self,
        socket: &mut TcpSocket,
        options: &SocketOptions,
        token: usize,
    ) -> io::Result<()> {
        socket::set_accepted(&socket.socket, options)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut socket.socket, Token(token), both)
    }

    fn connect(
        &mut self,
        address: SocketAddr,
        options: &SocketOptions,
        token: usize,
    ) -> io::Result<TcpSocket> {
        let mut socket = socket::connect(address, options)?;
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut socket, Token(token), both)?;
        Ok(TcpSocket::new(socket))
    }

    fn look_up(&mut self, session: SessionId, host: &str, port: u16) -> io::Result<()> {
        self.lookups.start(session, host, port)
    }

    fn next_answer(&mut self) -> Option<Answer> {
        self.lookups.next()
    }
}

impl From<&Event> for Readiness {
    fn from(event: &Event) -> Self {
        let ends = event.is_read_closed() || event.is_error();
        Self { readable: event.is_readable() || ends, ends, writable: event.is_writable() }
    }
}

impl AsRawFd for Kernel {
    fn as_raw_fd(&self) -> RawFd {
        self.poll.as_raw_fd()
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}
