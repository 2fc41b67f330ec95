//! The system that a simulated network is to one reactor.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_time::Time;

use super::Network;
use super::world::{ConnectionId, HostId, Side};
use crate::system::{Answer, Clock, Readiness, Socket, System};
use crate::{ListenConfig, SessionId, SocketOptions};

/// A [`System`] whose sockets are in a [`Network`].
///
/// It listens at any address of the network that is free. Buffer sizes and
/// other options of sockets are without effect: see [`Network::set_window`].
#[derive(Debug)]
pub struct Host {
    network: Network,
    id: HostId,
    ip: IpAddr,
    ready: Vec<(usize, Readiness)>,
}

impl Host {
    pub(super) fn new(network: Network, ip: IpAddr) -> Self {
        let id = network.0.borrow_mut().add_host();
        Self { network, id, ip, ready: Vec::new() }
    }
}

impl System for Host {
    type Socket = SimSocket;
    type Listener = SimListener;
    type Clock = SimClock;

    fn clock(&self) -> SimClock {
        SimClock(self.network.clone())
    }

    /// Waits for nothing.
    fn wait(&mut self, _: Option<Duration>) -> io::Result<()> {
        self.network.0.borrow_mut().take_news(self.id, &mut self.ready);
        Ok(())
    }

    fn has_ready(&self) -> bool {
        !self.ready.is_empty() || self.network.0.borrow().has_answer(self.id)
    }

    fn take_ready(&mut self, mut tell: impl FnMut(usize, &Readiness)) -> usize {
        let count = self.ready.len();
        for (token, readiness) in self.ready.drain(..) {
            tell(token, &readiness);
        }
        count
    }

    fn listen(
        &mut self,
        address: SocketAddr,
        config: &ListenConfig,
        token: usize,
    ) -> io::Result<(SimListener, SocketAddr)> {
        let backlog = usize::from(config.backlog).max(1);
        let mut world = self.network.0.borrow_mut();
        let address = world.listen(self.id, self.ip, address, (backlog, token))?;
        Ok((SimListener { network: self.network.clone(), address }, address))
    }

    fn accept(&mut self, listener: &mut SimListener) -> io::Result<(SimSocket, SocketAddr)> {
        let accepted = self.network.0.borrow_mut().accept(listener.address);
        let (id, peer) = accepted.ok_or(ErrorKind::WouldBlock)?;
        Ok((SimSocket { network: self.network.clone(), id, side: Side::Server }, peer))
    }

    fn register(
        &mut self,
        socket: &mut SimSocket,
        _: &SocketOptions,
        token: usize,
    ) -> io::Result<()> {
        self.network.0.borrow_mut().register(socket.id, socket.side, token);
        Ok(())
    }

    fn connect(
        &mut self,
        address: SocketAddr,
        _: &SocketOptions,
        token: usize,
    ) -> io::Result<SimSocket> {
        let id = self.network.0.borrow_mut().connect((self.id, self.ip), address, token);
        Ok(SimSocket { network: self.network.clone(), id, side: Side::Client })
    }

    fn look_up(&mut self, session: SessionId, host: &str, port: u16) -> io::Result<()> {
        let mut world = self.network.0.borrow_mut();
        let addresses = match world.names.get(host).filter(|addresses| !addresses.is_empty()) {
            Some(addresses) => Ok(addresses.iter().map(|ip| SocketAddr::new(*ip, port)).collect()),
            None => Err("the simulated network knows no such name".to_owned()),
        };
        world.look_up(self.id, Answer { session, addresses });
        Ok(())
    }

    fn next_answer(&mut self) -> Option<Answer> {
        self.network.0.borrow_mut().next_answer(self.id)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.network.0.borrow_mut().remove_host(self.id);
    }
}

/// The time of a [`Network`].
#[derive(Clone, Debug)]
pub struct SimClock(Network);

impl Clock for SimClock {
    fn now(&self) -> Time {
        let mut world = self.0.0.borrow_mut();
        let now = world.now;
        world.now = now.after(world.look_at_clock);
        let so_far = world.time_in_turn.clone();
        drop(world);
        so_far.after(now)
    }
}

/// A listening socket of a [`Host`].
#[derive(Debug)]
pub struct SimListener {
    network: Network,
    address: SocketAddr,
}

impl Drop for SimListener {
    fn drop(&mut self) {
        self.network.0.borrow_mut().stop_listening(self.address);
    }
}

/// One side of a connection in a [`Network`].
#[derive(Debug)]
pub struct SimSocket {
    network: Network,
    id: ConnectionId,
    side: Side,
}

impl Read for SimSocket {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.network.0.borrow_mut().read(self.id, self.side, room)
    }
}

impl Write for SimSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.network.0.borrow_mut().write(self.id, self.side, slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket for SimSocket {
    /// Nobody waits for an acknowledgement here.
    fn read_late(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.read(room)
    }

    fn acknowledge(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn short_read_empties(&self) -> bool {
        true
    }

    fn end(&mut self) -> io::Result<()> {
        self.network.0.borrow_mut().end(self.id, self.side);
        Ok(())
    }

    fn connected(&mut self) -> io::Result<Option<SocketAddr>> {
        self.network.0.borrow_mut().connected(self.id)
    }

    fn is_below(&self, _: u32) -> bool {
        true
    }

    fn renumbered(self) -> io::Result<Self> {
        Ok(self)
    }
}

impl Drop for SimSocket {
    fn drop(&mut self) {
        self.network.0.borrow_mut().close(self.id, self.side);
    }
}
