//! Sockets and pipes, through plain calls of the C library, so that stacks that
//! take those over (Onload, VMA, XLIO) are what is measured.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send, sendto};
use tapeline_measure::stop;

use super::stamps::Stamps;
use super::{Stamped, Wire};
use crate::mux::{Waiter, timespec};

/// How its bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// A stream socket.
    Stream,
    /// A datagram socket.
    Datagram,
    /// A pipe for each direction.
    Pipe,
}

/// Turns between two looks at the time.
const TURNS: u32 = 1 << 12;

/// One end of a connection.
pub(crate) struct Socket {
    kind: SocketKind,
    fd: OwnedFd,
    /// A pipe's other direction.
    write: Option<OwnedFd>,
    /// Where datagrams go, if the socket is not connected.
    peer: Option<SocketAddr>,
    waiter: Waiter,
    is_spinning: bool,
    /// How long it waits for a message.
    patience: Option<Duration>,
    stamps: Option<Box<Stamps>>,
}

impl Socket {
    pub(crate) fn new(
        kind: SocketKind,
        (fd, write): (OwnedFd, Option<OwnedFd>),
        waiter: Waiter,
        is_spinning: bool,
        patience: Option<Duration>,
    ) -> io::Result<Self> {
        if is_spinning || waiter.asks() {
            for fd in [Some(&fd), write.as_ref()].into_iter().flatten() {
                fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?;
            }
        } else if kind != SocketKind::Pipe {
            set_socket_timeout(&fd, Timeout::Recv, patience)?;
        }
        Ok(Self { kind, fd, write, peer: None, waiter, is_spinning, patience, stamps: None })
    }

    /// Sends to `peer`, since the socket is not connected.
    pub(crate) fn to(mut self, peer: SocketAddr) -> Self {
        self.peer = Some(peer);
        self
    }

    /// Asks the kernel when it has what is sent and what comes.
    pub(crate) fn with_stamps(mut self) -> io::Result<Self> {
        self.stamps = Some(Box::new(Stamps::of(&self.fd, self.kind)?));
        Ok(self)
    }

    #[cfg(test)]
    pub(crate) const fn descriptor(&self) -> &OwnedFd {
        &self.fd
    }

    #[inline]
    fn write_once(&self, bytes: &[u8], more: bool) -> Result<usize, Errno> {
        // Who writes to an end that is gone is to be told, not killed.
        let mut flags = SendFlags::NOSIGNAL;
        if more {
            flags |= SendFlags::MORE;
        }
        match (&self.write, self.peer) {
            (Some(pipe), _) => rustix::io::write(pipe, bytes),
            (None, Some(peer)) => sendto(&self.fd, bytes, flags, &peer),
            (None, None) => send(&self.fd, bytes, flags),
        }
    }

    #[inline]
    fn read_once(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        if let Some(stamps) = &mut self.stamps {
            return stamps.receive(&self.fd, buffer);
        }
        match self.kind {
            SocketKind::Pipe => rustix::io::read(&self.fd, buffer),
            _ => recv(&self.fd, buffer, RecvFlags::empty()).map(|(_, bytes)| bytes),
        }
    }

    /// Reads what is there, and waits for it as this side does.
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (mut turns, mut until) = (0_u32, None);
        loop {
            let may_read = match self.waiter.asks() {
                true => match self.waiter.wait(&self.fd, self.patience) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
                    asked => asked?,
                },
                false => true,
            };
            if may_read {
                match self.read_once(buffer) {
                    Ok(bytes) => return Ok(bytes),
                    // What woke it was the stamp of what it has sent.
                    Err(Errno::AGAIN) if self.takes_sent() => continue,
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            turns = turns.wrapping_add(1);
            if !self.is_spinning {
                // It has slept for as long as it waits, or was woken by a signal.
                self.check(&mut until, true)?;
            } else if turns.is_multiple_of(TURNS) {
                self.check(&mut until, false)?;
            }
        }
    }

    /// Takes the stamps of what was sent; false if there are none.
    fn takes_sent(&mut self) -> bool {
        self.stamps.as_mut().is_some_and(|stamps| stamps.take_sent(&self.fd))
    }

    /// Errors: it has waited long enough, or somebody wants the program to end.
    #[cold]
    fn check(&self, until: &mut Option<Instant>, has_slept: bool) -> io::Result<()> {
        if stop::is_asked() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let Some(patience) = self.patience else { return Ok(()) };
        let until = *until.get_or_insert_with(|| Instant::now() + patience);
        if has_slept || Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }

    fn wait_for_room(&self) -> io::Result<()> {
        if self.is_spinning {
            return Ok(());
        }
        let to = self.write.as_ref().unwrap_or(&self.fd);
        poll(&mut [PollFd::new(to, PollFlags::OUT)], Some(&timespec(Duration::from_millis(100))))?;
        Ok(())
    }
}

impl Wire for Socket {
    fn send(&mut self, message: &[u8], more: bool) -> io::Result<()> {
        let mut sent = 0;
        if let Some(stamps) = &mut self.stamps {
            stamps.called();
        }
        loop {
            match self.write_once(&message[sent..], more) {
                Ok(bytes) => {
                    sent += bytes;
                    if let Some(stamps) = &mut self.stamps {
                        stamps.sent(bytes);
                    }
                }
                Err(Errno::AGAIN) => self.wait_for_room()?,
                Err(Errno::INTR) => {}
                // The other side's socket was closed: its end is told of on the
                // control connection.
                Err(Errno::CONNREFUSED) if self.kind == SocketKind::Datagram => return Ok(()),
                Err(Errno::PIPE) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => return Err(error.into()),
            }
            if sent == message.len() {
                return Ok(());
            }
            if stop::is_asked() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.kind == SocketKind::Datagram {
            return self.read(buffer);
        }
        let mut got = 0;
        while got < buffer.len() {
            match self.read(&mut buffer[got..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                bytes => got += bytes,
            }
        }
        Ok(got)
    }

    fn stamped(&mut self) -> Option<Stamped> {
        self.takes_sent();
        self.stamps.as_ref().map(|stamps| stamps.last())
    }

    fn is_ready(&self) -> bool {
        let mut one = [PollFd::new(&self.fd, PollFlags::IN)];
        poll(&mut one, Some(&timespec(Duration::ZERO))).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;
    use crate::mux::{Idle, Muxer};

    #[test]
    fn a_message_waits_for_the_one_that_follows() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        near.set_nodelay(true).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let waiter = Waiter::new(Muxer::None, false, Idle::default().open().unwrap()).unwrap();
        let fd = (OwnedFd::from(near), None);
        let mut end = Socket::new(SocketKind::Stream, fd, waiter, false, None).unwrap();
        far.set_nonblocking(true).unwrap();
        let mut buffer = [0; 16];
        // Without it the message is there with the call that sends it.
        end.send(b"alone", false).unwrap();
        assert_eq!(far.read(&mut buffer).unwrap(), 5);
        end.send(b"first", true).unwrap();
        let held = far.read(&mut buffer).unwrap_err().kind();
        assert_eq!(held, io::ErrorKind::WouldBlock);
        end.send(b"second", false).unwrap();
        assert_eq!(far.read(&mut buffer).unwrap(), 11);
    }

    /// Two sockets that are connected to each other over the loopback device.
    fn over_loopback(kind: SocketKind) -> [OwnedFd; 2] {
        if kind == SocketKind::Stream {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            near.set_nodelay(true).unwrap();
            return [near.into(), listener.accept().unwrap().0.into()];
        }
        let [near, far] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        near.connect(far.local_addr().unwrap()).unwrap();
        far.connect(near.local_addr().unwrap()).unwrap();
        [near.into(), far.into()]
    }

    #[test]
    fn the_kernel_tells_when_it_had_a_message() {
        const PATIENCE: Duration = Duration::from_millis(300);
        for kind in [SocketKind::Stream, SocketKind::Datagram] {
            for (muxer, is_spinning) in
                [(Muxer::None, false), (Muxer::Poll, false), (Muxer::Epoll, true)]
            {
                let [near, far] = over_loopback(kind).map(|fd| {
                    let idle = Idle::default().open().unwrap();
                    let waiter = Waiter::new(muxer, is_spinning, idle).unwrap();
                    let patience = Some(PATIENCE);
                    Socket::new(kind, (fd, None), waiter, is_spinning, patience).unwrap()
                });
                let (mut near, mut far) = (near.with_stamps().unwrap(), far);
                let (message, mut buffer) = ([7; 64], [0; 64]);
                let mut last: Option<Stamped> = None;
                // The kernel begins with them a little after it was asked.
                let is_told = |of: &Stamped| of.left_ns.is_some() && of.came_ns.is_some();
                let until = Instant::now() + Duration::from_secs(10);
                while !last.as_ref().is_some_and(is_told) && Instant::now() < until {
                    near.send(&message, false).unwrap();
                    far.receive(&mut buffer).unwrap();
                    far.send(&buffer, false).unwrap();
                    near.receive(&mut buffer).unwrap();
                    last = near.stamped();
                }
                let at = last.unwrap();
                let in_order = [Some(at.called_ns), at.left_ns, at.came_ns, Some(at.taken_ns)];
                assert!(in_order.iter().all(Option::is_some), "{kind:?} {muxer}: {at:?}");
                assert!(in_order.is_sorted(), "{kind:?} {muxer}: {at:?}");
                // There is no card.
                assert_eq!((at.left_card_ns, at.came_card_ns), (None, None));
                assert_eq!(far.stamped(), None);
                // A message that nobody answers has no moments of an earlier one.
                near.send(&message, false).unwrap();
                let again = near.stamped().unwrap();
                assert!(again.called_ns > at.taken_ns && again.left_ns > at.left_ns, "{again:?}");
                // The moment at which one was sent wakes who waits, and is no answer.
                near.send(&message, false).unwrap();
                let began = Instant::now();
                let nothing = near.receive(&mut buffer).unwrap_err().kind();
                assert_eq!(nothing, io::ErrorKind::TimedOut, "{kind:?} {muxer}");
                assert!(began.elapsed() >= PATIENCE, "{kind:?} {muxer}");
                let counted = allocation_counter::measure(|| {
                    for _ in 0..50 {
                        near.send(&message, false).unwrap();
                        far.receive(&mut buffer).unwrap();
                        far.send(&buffer, false).unwrap();
                        near.receive(&mut buffer).unwrap();
                        near.stamped().unwrap();
                    }
                });
                assert_eq!(counted.count_total, 0, "{kind:?} {muxer}");
            }
        }
    }

    #[test]
    fn a_round_trip_allocates_nothing_whatever_waits_for_it() {
        for muxer in Muxer::ALL {
            let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
            let waiter = || Waiter::new(muxer, false, Idle::default().open().unwrap()).unwrap();
            let end = |fd: OwnedFd| {
                Socket::new(SocketKind::Stream, (fd, None), waiter(), false, None).unwrap()
            };
            let (mut near, mut far) = (end(near.into()), end(far.into()));
            let (message, mut buffer) = ([7; 64], [0; 64]);
            let counted = allocation_counter::measure(|| {
                for _ in 0..50 {
                    near.send(&message, false).unwrap();
                    far.receive(&mut buffer).unwrap();
                    far.send(&buffer, false).unwrap();
                    near.receive(&mut buffer).unwrap();
                }
            });
            assert_eq!(counted.count_total, 0, "{muxer}");
        }
    }
}
