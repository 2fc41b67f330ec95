//! How two ends find each other: one listens and tells its address, the other
//! connects to it.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tapeline_measure::stop;

use super::aeron::{AeronLink, DRIVER_NAP, Driver};
use super::datagram::DatagramLink;
use super::group::Group;
use super::session::{SessionLink, SessionMeeting};
use super::stream::StreamLink;
use super::{LOOK, Link, Links, group, local};
use crate::Transport;
use crate::message::{HEAD_BYTES, Head, Kind};
use crate::mux::timespec;

pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A socket without connections says again where it is after this.
pub(super) const HELLO_EVERY: Duration = Duration::from_millis(50);

/// Where an end listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Address {
    /// TCP, UDP, a session.
    Ip(SocketAddr),
    /// An abstract Unix name: there is no file to be left.
    Name(String),
    /// The folder of Aeron's driver.
    Folder(String),
}

/// Options of sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LinkOptions {
    pub(crate) nodelay: bool,
    pub(crate) busy_poll_us: u32,
    /// Bytes; 0 leaves it to the kernel.
    pub(crate) send_buffer_bytes: usize,
    pub(crate) receive_buffer_bytes: usize,
    /// Of UDP: it goes to a group, and nothing comes back.
    pub(crate) group: Option<Group>,
}

impl LinkOptions {
    pub(super) fn set(&self, socket: &SockRef<'_>, is_tcp: bool) -> io::Result<()> {
        if is_tcp {
            socket.set_tcp_nodelay(self.nodelay)?;
        }
        if self.busy_poll_us > 0 {
            socket.set_busy_poll(self.busy_poll_us)?;
        }
        if self.send_buffer_bytes > 0 {
            socket.set_send_buffer_size(self.send_buffer_bytes)?;
        }
        if self.receive_buffer_bytes > 0 {
            socket.set_recv_buffer_size(self.receive_buffer_bytes)?;
        }
        Ok(())
    }
}

enum Listening {
    Tcp(TcpListener),
    /// A socket for each connection, bound one behind the other.
    Udp(Vec<UdpSocket>),
    Unix(UnixListener),
    /// Over whose connections pipes are handed.
    Pipes(UnixListener),
    /// A socket for each connection.
    UnixDatagrams(Vec<UnixDatagram>),
    Group(UdpSocket),
    Session(Vec<SessionMeeting>),
    Aeron(Arc<Driver>),
}

/// The side that listens, before the other came.
pub(crate) struct Meeting {
    listening: Listening,
    /// How long the other is waited for; `None`: until this side is to end.
    patience: Option<Duration>,
    /// One, or one for each connection where they cannot share it.
    addresses: Vec<Address>,
}

fn unsupported(transport: Transport) -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!(
            "{transport} is not carried here; use tcp, udp, pipe, unix_stream, unix_datagram, aeron or \
             rssl"
        ),
    )
}

impl Meeting {
    pub(crate) fn listen(
        transport: Transport,
        bind: IpAddr,
        options: &LinkOptions,
    ) -> io::Result<Self> {
        Self::listen_at(transport, SocketAddr::new(bind, 0), 1, options)
    }

    /// The same for several connections, at a port of one's own choice.
    pub(crate) fn listen_at(
        transport: Transport,
        at: SocketAddr,
        count: usize,
        options: &LinkOptions,
    ) -> io::Result<Self> {
        let any = SocketAddr::new(at.ip(), 0);
        let (listening, addresses) = match transport {
            Transport::Tcp => {
                let socket =
                    Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
                socket.set_reuse_address(true)?;
                // Buffers are those of the listener: they decide on the window.
                options.set(&SockRef::from(&socket), true)?;
                socket.bind(&at.into())?;
                socket.listen(1024)?;
                socket.set_nonblocking(true)?;
                let listener = TcpListener::from(socket);
                let address = Address::Ip(listener.local_addr()?);
                (Listening::Tcp(listener), vec![address])
            }
            Transport::Udp if options.group.is_some() => {
                let Some(of) = &options.group else { return Err(unsupported(transport)) };
                let socket = group::listen(of, at.port(), options)?;
                let address = Address::Ip(socket.local_addr()?);
                (Listening::Group(socket), vec![address])
            }
            Transport::Udp => {
                let mut sockets = Vec::new();
                for number in 0..count {
                    let socket = UdpSocket::bind(if number == 0 { at } else { any })?;
                    options.set(&SockRef::from(&socket), false)?;
                    sockets.push(socket);
                }
                let addresses: io::Result<Vec<Address>> =
                    sockets.iter().map(|socket| socket.local_addr().map(Address::Ip)).collect();
                (Listening::Udp(sockets), addresses?)
            }
            Transport::UnixStream => {
                let (listener, name) = local::listener()?;
                (Listening::Unix(listener), vec![Address::Name(name)])
            }
            Transport::Pipe => {
                let (listener, name) = local::listener()?;
                (Listening::Pipes(listener), vec![Address::Name(name)])
            }
            Transport::UnixDatagram => {
                let all: io::Result<Vec<_>> = (0..count).map(|_| local::datagrams()).collect();
                let (sockets, names) =
                    all?.into_iter().map(|(of, name)| (of, Address::Name(name))).unzip();
                (Listening::UnixDatagrams(sockets), names)
            }
            Transport::Rssl => {
                let all: io::Result<Vec<SessionMeeting>> = (0..count)
                    .map(|number| SessionMeeting::listen(if number == 0 { at } else { any }))
                    .collect();
                let all = all?;
                let addresses = all.iter().map(|one| Address::Ip(one.address())).collect();
                (Listening::Session(all), addresses)
            }
            Transport::Aeron => {
                let driver = Arc::new(Driver::start(Some(DRIVER_NAP))?);
                let address = Address::Folder(driver.folder.clone());
                (Listening::Aeron(driver), vec![address])
            }
            other => return Err(unsupported(other)),
        };
        Ok(Self { listening, patience: Some(PATIENCE), addresses })
    }

    /// Waits until the other side comes, however long it takes.
    pub(crate) fn without_end(self) -> Self {
        Self { patience: None, ..self }
    }

    /// Where the others connect to: one address, or as many as connections.
    pub(crate) fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// One TCP connection of somebody who speaks as he likes.
    pub(crate) fn accept_raw(self, options: &LinkOptions) -> io::Result<Box<dyn Link>> {
        let Listening::Tcp(listener) = self.listening else {
            return Err(unsupported(Transport::Null));
        };
        let (stream, _) = within(&listener, self.patience, || listener.accept())?;
        options.set(&SockRef::from(&stream), true)?;
        Ok(Box::new(StreamLink::raw(stream.into())?))
    }

    /// So many connections, within 10 s.
    pub(crate) fn accept(self, count: usize, options: &LinkOptions) -> io::Result<Links> {
        let mut all: Links = Vec::with_capacity(count);
        match self.listening {
            Listening::Tcp(listener) => {
                for _ in 0..count {
                    let (stream, _) = within(&listener, self.patience, || listener.accept())?;
                    options.set(&SockRef::from(&stream), true)?;
                    all.push(Box::new(StreamLink::new(stream.into())?));
                }
            }
            Listening::Unix(listener) => {
                for _ in 0..count {
                    let (stream, _) = within(&listener, self.patience, || listener.accept())?;
                    options.set(&SockRef::from(&stream), false)?;
                    all.push(Box::new(StreamLink::new(stream.into())?));
                }
            }
            Listening::Udp(sockets) => {
                for socket in sockets {
                    greeted(&socket, self.patience)?;
                    all.push(Box::new(DatagramLink::new(socket.into())?));
                }
            }
            Listening::Pipes(listener) => {
                for _ in 0..count {
                    let (stream, _) = within(&listener, self.patience, || listener.accept())?;
                    all.push(Box::new(local::pipes_given(stream)?));
                }
            }
            Listening::UnixDatagrams(sockets) => {
                for socket in sockets {
                    all.push(Box::new(local::datagrams_met(socket, self.patience)?));
                }
            }
            Listening::Group(socket) => all.push(Box::new(group::met(socket, self.patience)?)),
            Listening::Session(meetings) => {
                for meeting in meetings {
                    all.push(Box::new(meeting.accept()?));
                }
            }
            Listening::Aeron(driver) => return aeron(&driver.folder, count, Some(&driver)),
        }
        Ok(all)
    }
}

/// A TCP connection to whoever listens there, which speaks as it likes.
pub(crate) fn connect_raw(to: SocketAddr, options: &LinkOptions) -> io::Result<Box<dyn Link>> {
    Ok(Box::new(StreamLink::raw(connected(to, options)?)?))
}

fn connected(to: SocketAddr, options: &LinkOptions) -> io::Result<OwnedFd> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    options.set(&SockRef::from(&socket), true)?;
    socket.connect_timeout(&to.into(), PATIENCE)?;
    Ok(socket.into())
}

/// Aeron's ends after each has an other one. All are opened before the first is
/// waited for: the other side does the same.
fn aeron(folder: &str, count: usize, driver: Option<&Arc<Driver>>) -> io::Result<Links> {
    let ends: io::Result<Vec<AeronLink>> =
        (0..count).map(|number| AeronLink::open(folder, number, driver.cloned())).collect();
    let boxed = |end: AeronLink| end.met().map(|end| Box::new(end) as Box<dyn Link>);
    ends?.into_iter().map(boxed).collect()
}

/// Connects to where the other side listens.
pub(crate) fn connect(
    transport: Transport,
    addresses: &[Address],
    count: usize,
    bind: IpAddr,
    options: &LinkOptions,
) -> io::Result<Links> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "an address of another kind");
    let ip = |number: usize| match addresses.get(number).or(addresses.first()) {
        Some(Address::Ip(address)) => Ok(*address),
        _ => Err(wrong()),
    };
    let mut all: Links = Vec::with_capacity(count);
    for number in 0..count {
        all.push(match (transport, addresses.first()) {
            (Transport::Tcp, _) => Box::new(StreamLink::new(connected(ip(number)?, options)?)?),
            (Transport::Udp, _) if options.group.is_some() => {
                let Some(of) = &options.group else { return Err(wrong()) };
                Box::new(group::connect(of, ip(number)?, options)?)
            }
            (Transport::Udp, _) => {
                let to = ip(number)?;
                let from = if to.ip().is_loopback() { to.ip() } else { bind };
                let socket = UdpSocket::bind(SocketAddr::new(from, 0))?;
                options.set(&SockRef::from(&socket), false)?;
                greets(&socket, to)?;
                Box::new(DatagramLink::new(socket.into())?)
            }
            (Transport::Pipe, Some(Address::Name(name))) => {
                Box::new(local::pipes_taken(local::stream_to(name)?)?)
            }
            (Transport::UnixDatagram, Some(_)) => match addresses.get(number) {
                Some(Address::Name(name)) => Box::new(local::datagrams_to(name)?),
                _ => return Err(wrong()),
            },
            (Transport::UnixStream, Some(Address::Name(name))) => {
                let stream = local::stream_to(name)?;
                options.set(&SockRef::from(&stream), false)?;
                Box::new(StreamLink::new(stream.into())?)
            }
            (Transport::Rssl, _) => Box::new(SessionLink::connect(ip(number)?)?),
            (Transport::Aeron, Some(Address::Folder(folder))) => {
                return aeron(folder, count, None);
            }
            (other, None) => return Err(unsupported(other)),
            _ => return Err(wrong()),
        });
    }
    Ok(all)
}

/// Takes what does not wait, within so long.
pub(super) fn within<T, Fd: AsFd>(
    fd: Fd,
    patience: Option<Duration>,
    mut take: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        match take() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            taken => return taken,
        }
        if stop::is_asked() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody connected within 10 s"));
        }
        let mut one = [PollFd::new(&fd, PollFlags::IN)];
        let _ = poll(&mut one, Some(&timespec(LOOK)));
    }
}

pub(super) fn hello() -> [u8; HEAD_BYTES] {
    let mut message = [0; HEAD_BYTES];
    let length = HEAD_BYTES as u32;
    Head { kind: Kind::Hello, length, seq: 0, due_ns: 0, sent_ns: 0 }.write(&mut message);
    message
}

pub(super) fn is_hello(message: &[u8]) -> bool {
    Head::read(message).is_some_and(|head| head.kind == Kind::Hello)
}

/// Waits for a hello, and returns who said it. What else comes is not heard.
pub(super) fn hello_from<A>(
    fd: impl AsFd,
    patience: Option<Duration>,
    mut receive: impl FnMut(&mut [u8]) -> io::Result<(usize, A)>,
) -> io::Result<A> {
    let mut buffer = [0; 128];
    within(fd, patience, || {
        loop {
            let (bytes, from) = receive(&mut buffer)?;
            if is_hello(&buffer[..bytes]) {
                return Ok(from);
            }
        }
    })
}

/// Waits for the other end's hello, and answers it.
fn greeted(socket: &UdpSocket, patience: Option<Duration>) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let from = hello_from(socket, patience, |buffer| socket.recv_from(buffer))?;
    socket.connect(from)?;
    socket.send(&hello()).map(drop)
}

/// Says hello until it is answered.
fn greets(socket: &UdpSocket, to: SocketAddr) -> io::Result<()> {
    socket.connect(to)?;
    socket.set_read_timeout(Some(HELLO_EVERY))?;
    let until = Instant::now() + PATIENCE;
    let mut buffer = [0; 128];
    while Instant::now() < until {
        if stop::is_asked() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        // Refused as long as nobody listens there.
        let _ = socket.send(&hello());
        match socket.recv(&mut buffer) {
            Ok(bytes) if is_hello(&buffer[..bytes]) => return Ok(()),
            _ => {}
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "no answer over UDP within 10 s"))
}
