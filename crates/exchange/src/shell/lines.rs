//! Market data by UDP: to groups, or to one receiver where there is no multicast.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use crate::error::ExchangeError;

/// What the kernel is asked to keep for a receiver that is busy.
const RECEIVE_BYTES: usize = 8 << 20;

/// One line of market data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// A multicast group, or one receiver, with a port.
    pub to: SocketAddrV4,
    /// The address of the interface; unspecified for where the kernel sends it.
    pub interface: Ipv4Addr,
    /// How many routers multicast passes.
    pub ttl: u32,
}

/// The sending end.
#[derive(Debug)]
pub(super) struct Sender {
    socket: UdpSocket,
    to: SocketAddr,
    /// Units that the kernel did not take; a replay has them.
    lost: u64,
}

impl Sender {
    pub(super) fn new(line: &Line) -> Result<Self, ExchangeError> {
        let to = SocketAddr::V4(line.to);
        let failed = |error| ExchangeError::Line { at: to, error };
        let socket = UdpSocket::bind((line.interface, 0)).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        if line.to.ip().is_multicast() {
            let options = socket2::SockRef::from(&socket);
            options.set_multicast_ttl_v4(line.ttl).map_err(failed)?;
            options.set_multicast_loop_v4(true).map_err(failed)?;
            if !line.interface.is_unspecified() {
                options.set_multicast_if_v4(&line.interface).map_err(failed)?;
            }
        }
        Ok(Self { socket, to, lost: 0 })
    }

    pub(super) fn to(&self) -> SocketAddr {
        self.to
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn send(&mut self, unit: &[u8]) {
        self.lost += u64::from(self.socket.send_to(unit, self.to).is_err());
    }
}

/// Bytes of units that wait for the end of a turn; with more, they go out at once.
const MOST_WAITING: usize = 256 << 10;

/// All lines, and what goes out on each when a turn ends: owners have their reports
/// before others hear of them.
#[derive(Debug)]
pub(super) struct Lines {
    all: Vec<Sender>,
    units: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Lines {
    pub(super) fn new(lines: &[Line]) -> Result<Self, ExchangeError> {
        let all = lines.iter().map(Sender::new).collect::<Result<_, _>>()?;
        let (units, ends) = (Vec::with_capacity(MOST_WAITING), Vec::with_capacity(1 << 10));
        Ok(Self { all, units, ends })
    }

    pub(super) fn to(&self) -> impl Iterator<Item = SocketAddr> {
        self.all.iter().map(Sender::to)
    }

    pub(super) fn lost(&self) -> u64 {
        self.all.iter().map(Sender::lost).sum()
    }

    /// Takes a unit.
    pub(super) fn publish(&mut self, unit: &[u8]) {
        if self.units.len() + unit.len() > MOST_WAITING {
            self.flush();
        }
        self.units.extend_from_slice(unit);
        self.ends.push(self.units.len());
    }

    /// Sends what waits.
    pub(super) fn flush(&mut self) {
        let mut start = 0;
        for end in self.ends.drain(..) {
            self.all.iter_mut().for_each(|line| line.send(&self.units[start..end]));
            start = end;
        }
        self.units.clear();
    }
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    socket: mio::net::UdpSocket,
}

impl Receiver {
    /// Listens on a line; several programs of a host may do so on the same group.
    pub fn new(line: &Line) -> Result<Self, ExchangeError> {
        let at = SocketAddr::V4(line.to);
        let failed = |error| ExchangeError::Line { at, error };
        let open = || {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            if line.to.ip().is_multicast() {
                socket.set_reuse_address(true)?;
            }
            // As much as the kernel allows is as much as can be had.
            let _ = socket.set_recv_buffer_size(RECEIVE_BYTES);
            // Bound to the group, so that other groups' messages to this port do not
            // come.
            socket.bind(&at.into())?;
            if line.to.ip().is_multicast() {
                socket.join_multicast_v4(line.to.ip(), &line.interface)?;
            }
            socket.set_nonblocking(true)?;
            Ok(mio::net::UdpSocket::from_std(socket.into()))
        };
        Ok(Self { socket: open().map_err(failed)? })
    }

    /// Its socket, to be told of.
    pub fn source(&mut self) -> &mut impl mio::event::Source {
        &mut self.socket
    }

    /// The address at which it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next unit, if one has come. What the kernel has against the socket is not
    /// a unit either.
    pub fn receive<'b>(&self, room: &'b mut [u8]) -> Option<&'b [u8]> {
        loop {
            match self.socket.recv(room) {
                Ok(len) => return Some(&room[..len]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// What a receiver gets, however busy the machine is.
    fn received(receiver: &Receiver) -> Vec<u8> {
        let (began, mut room) = (Instant::now(), [0; 2048]);
        loop {
            if let Some(unit) = receiver.receive(&mut room) {
                return unit.to_vec();
            }
            assert!(began.elapsed() < Duration::from_secs(30), "nothing comes");
            std::thread::yield_now();
        }
    }

    #[test]
    fn all_receivers_of_a_group_get_what_is_sent_to_it() {
        let line = |port| Line {
            to: SocketAddrV4::new(Ipv4Addr::new(239, 255, 90, 71), port),
            interface: Ipv4Addr::LOCALHOST,
            ttl: 0,
        };
        let first = Receiver::new(&line(0)).expect("a port");
        let port = first.address().expect("bound").port();
        let second = Receiver::new(&line(port)).expect("the same port");
        let mut sender = Sender::new(&line(port)).expect("a socket");
        for unit in [&b"one"[..], b"two"] {
            sender.send(unit);
            assert_eq!((received(&first), received(&second)), (unit.to_vec(), unit.to_vec()));
        }
        assert_eq!(sender.lost(), 0);
    }

    #[test]
    fn units_go_out_in_their_order_when_a_turn_ends_or_there_are_many() {
        let here = |port| Line {
            to: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            interface: Ipv4Addr::UNSPECIFIED,
            ttl: 1,
        };
        let receiver = Receiver::new(&here(0)).expect("a port");
        let port = receiver.address().expect("bound").port();
        let mut lines = Lines::new(&[here(port)]).expect("a socket");
        lines.publish(b"one");
        lines.publish(b"two");
        assert_eq!(receiver.receive(&mut [0; 2048]), None, "the turn goes on");
        lines.flush();
        lines.flush();
        assert_eq!((received(&receiver), received(&receiver)), (b"one".to_vec(), b"two".to_vec()));
        let unit = [7; 1024];
        (0..=MOST_WAITING / unit.len()).for_each(|_| lines.publish(&unit));
        assert_eq!(received(&receiver), unit, "there were too many to wait");
    }

    #[test]
    fn one_receiver_gets_it_where_there_is_no_multicast() {
        let here = |port| Line {
            to: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
            interface: Ipv4Addr::UNSPECIFIED,
            ttl: 1,
        };
        let receiver = Receiver::new(&here(0)).expect("a port");
        let port = receiver.address().expect("bound").port();
        let mut sender = Sender::new(&here(port)).expect("a socket");
        sender.send(b"one");
        assert_eq!(received(&receiver), b"one");
    }
}
