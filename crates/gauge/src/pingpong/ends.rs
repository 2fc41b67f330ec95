//! Both sides' ends of a transport, with the options of that side.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockRef, Type};
use tapeline_measure::stop;

use super::interface;
use crate::GaugeError;
use crate::control::Hello;
use crate::mux::{Waiter, timespec};
use crate::wire::{IterationEnd, Socket, SocketKind, Transport, Turns, Wire};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn wait_readable<Fd: AsFd>(fd: Fd, wait: Duration) {
    let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timespec(wait)));
}

/// What became of a transport.
pub(super) fn failed(error: io::Error) -> GaugeError {
    match error.kind() {
        io::ErrorKind::Interrupted if stop::is_asked() => stop::Interrupted.into(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            GaugeError::Peer("ended".to_owned())
        }
        io::ErrorKind::TimedOut => GaugeError::Peer("sent nothing for --timeout".to_owned()),
        _ => GaugeError::io("a message")(error),
    }
}

fn options_of(hello: &Hello, socket: &SockRef<'_>) -> io::Result<()> {
    if hello.busy_poll_us > 0 {
        socket.set_busy_poll(hello.busy_poll_us)?;
    }
    if hello.device.is_some() {
        socket.bind_device(hello.device.as_deref().map(str::as_bytes))?;
    }
    Ok(())
}

fn socket(hello: &Hello, address: SocketAddr, kind: Type) -> io::Result<socket2::Socket> {
    let protocol = if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP };
    let socket = socket2::Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    if address.is_ipv6() {
        socket.set_only_v6(hello.ipv6_only)?;
    }
    options_of(hello, &SockRef::from(&socket))?;
    socket.bind(&address.into())?;
    Ok(socket)
}

pub(super) fn listener(hello: &Hello, bind: IpAddr) -> Result<TcpListener, GaugeError> {
    let address = SocketAddr::new(bind, 0);
    let what = format!("listening on {bind}");
    let socket = socket(hello, address, Type::STREAM).map_err(GaugeError::io(what.clone()))?;
    let waiting = i32::try_from(hello.sessions).unwrap_or(i32::MAX).max(8);
    socket.listen(waiting).map_err(GaugeError::io(what))?;
    Ok(socket.into())
}

pub(super) fn accept(listener: &TcpListener) -> Result<TcpStream, GaugeError> {
    let taking = GaugeError::io::<io::Error>;
    listener.set_nonblocking(true).map_err(taking("taking a connection"))?;
    let until = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(taking("taking a connection"))?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                stop::check()?;
                if Instant::now() >= until {
                    return Err(GaugeError::Peer("did not connect within 10 s".to_owned()));
                }
                wait_readable(listener, Duration::from_millis(100));
            }
            Err(error) => return Err(taking("taking a connection")(error)),
        }
    }
}

pub(super) fn connect(hello: &Hello, to: SocketAddr) -> Result<TcpStream, GaugeError> {
    let any = if to.is_ipv6() { "::" } else { "0.0.0.0" };
    let bind = hello.bind.or_else(|| any.parse().ok()).unwrap_or(to.ip());
    let connected = socket(hello, SocketAddr::new(bind, 0), Type::STREAM)
        .and_then(|socket| socket.connect_timeout(&to.into(), PATIENCE).map(|()| socket));
    let socket = connected.map_err(GaugeError::io(format!("connecting to {to}")))?;
    Ok(socket.into())
}

fn waiter(hello: &Hello) -> Result<Waiter, GaugeError> {
    let idle = hello.idle.open().map_err(GaugeError::io("idle descriptors"))?;
    Waiter::new(hello.muxer, hello.is_spinning, idle).map_err(GaugeError::io(hello.muxer.name()))
}

fn patience(hello: &Hello) -> Option<Duration> {
    (hello.timeout_s > 0).then(|| Duration::from_secs(u64::from(hello.timeout_s)))
}

/// A TCP end.
pub(super) fn stream(hello: &Hello, fd: OwnedFd) -> Result<Socket, GaugeError> {
    let made = || {
        let socket = SockRef::from(&fd);
        socket.set_tcp_nodelay(hello.nodelay)?;
        options_of(hello, &socket)
    };
    made().map_err(GaugeError::io("a connection"))?;
    let waiter = waiter(hello)?;
    Socket::new(SocketKind::Stream, (fd, None), waiter, hello.is_spinning, patience(hello))
        .map_err(GaugeError::io("a connection"))
}

/// As many connections as there are sessions, each made by `one`. One alone has
/// nothing around it.
pub(super) fn taking_turns(
    hello: &Hello,
    mut one: impl FnMut() -> Result<Socket, GaugeError>,
    end: IterationEnd,
) -> Result<Box<dyn Wire>, GaugeError> {
    if hello.sessions <= 1 {
        return Ok(Box::new(one()?));
    }
    let wires: Vec<_> = (0..hello.sessions).map(|_| one()).collect::<Result<_, _>>()?;
    Ok(Box::new(Turns::new(wires, end)))
}

/// A bound UDP socket, in its group.
pub(super) fn udp(hello: &Hello, bind: IpAddr) -> Result<UdpSocket, GaugeError> {
    let bound = || {
        // A group's messages come to all addresses.
        let address = match hello.group {
            Some(IpAddr::V6(_)) => "[::]:0".parse().map_err(io::Error::other)?,
            Some(IpAddr::V4(_)) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
            None => SocketAddr::new(bind, 0),
        };
        let socket = socket(hello, address, Type::DGRAM)?;
        join(hello, &socket)?;
        Ok(socket)
    };
    let named = hello.group.map_or(bind, |group| group);
    Ok(bound().map_err(GaugeError::io::<io::Error>(format!("UDP on {named}")))?.into())
}

fn join(hello: &Hello, socket: &socket2::Socket) -> io::Result<()> {
    match hello.group {
        None => Ok(()),
        Some(IpAddr::V4(group)) => {
            let interface = match hello.interface.as_deref() {
                None => InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED),
                Some(named) => match named.parse() {
                    Ok(address) => InterfaceIndexOrAddress::Address(address),
                    Err(_) => InterfaceIndexOrAddress::Index(interface::index(named)?),
                },
            };
            socket.join_multicast_v4_n(&group, &interface)?;
            match interface {
                InterfaceIndexOrAddress::Address(address) => {
                    socket.set_multicast_if_v4(&address)?;
                }
                InterfaceIndexOrAddress::Index(_) => {
                    let named = hello.interface.as_deref().unwrap_or_default();
                    socket.set_multicast_if_v4(&interface::address_of(named)?)?;
                }
            }
            socket.set_multicast_loop_v4(hello.loops_back)?;
            socket.set_multicast_ttl_v4(hello.ttl)
        }
        Some(IpAddr::V6(group)) => {
            let interface = hello.interface.as_deref().map_or(Ok(0), interface::index)?;
            socket.join_multicast_v6(&group, interface)?;
            socket.set_multicast_if_v6(interface)?;
            socket.set_multicast_loop_v6(hello.loops_back)?;
            socket.set_multicast_hops_v6(hello.ttl)
        }
    }
}

/// A UDP end that sends to `to`, and waits for `look` unless told otherwise.
pub(super) fn datagrams(
    hello: &Hello,
    bound: UdpSocket,
    to: SocketAddr,
    look: Duration,
) -> Result<Socket, GaugeError> {
    // The other's port in a group is not where its messages come from.
    let connects = hello.connects && hello.group.is_none();
    if connects {
        bound.connect(to).map_err(GaugeError::io(format!("connecting to {to}")))?;
    }
    let waiter = waiter(hello)?;
    let fd = (OwnedFd::from(bound), None);
    let socket = Socket::new(SocketKind::Datagram, fd, waiter, hello.is_spinning, Some(look))
        .map_err(GaugeError::io("a UDP socket"))?;
    Ok(if connects { socket } else { socket.to(to) })
}

/// An end of a pair within the host.
pub(super) fn local(
    hello: &Hello,
    descriptors: (OwnedFd, Option<OwnedFd>),
    look: Duration,
) -> Result<Socket, GaugeError> {
    let (kind, patience) = match hello.transport {
        Transport::Pipe => (SocketKind::Pipe, patience(hello)),
        Transport::UnixDatagram => (SocketKind::Datagram, Some(look)),
        _ => (SocketKind::Stream, patience(hello)),
    };
    let waiter = waiter(hello)?;
    Socket::new(kind, descriptors, waiter, hello.is_spinning, patience)
        .map_err(GaugeError::io("a pair of descriptors"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mux::{Idle, Muxer};

    fn hello(transport: Transport) -> Hello {
        Hello {
            transport,
            is_spinning: false,
            muxer: Muxer::None,
            sessions: 1,
            idle: Idle::default(),
            timeout_s: 0,
            nodelay: false,
            busy_poll_us: 0,
            connects: false,
            more: false,
            pings: 1,
            pongs: 1,
            cores: None,
            bind: None,
            device: None,
            ipv6_only: false,
            ttl: 1,
            group: None,
            interface: None,
            loops_back: false,
            channels: None,
            udp_port: 0,
            locks_memory: false,
        }
    }

    /// A TCP end of that side's making, and the other one.
    fn tcp(hello: &Hello) -> (Socket, TcpStream) {
        let near = listener(hello, Ipv4Addr::LOCALHOST.into()).unwrap();
        let far = TcpStream::connect(near.local_addr().unwrap()).unwrap();
        (stream(hello, accept(&near).unwrap().into()).unwrap(), far)
    }

    #[test]
    fn sockets_have_the_options_of_their_side() {
        let usual = hello(Transport::Tcp);
        let (end, _far) = tcp(&usual);
        let of = SockRef::from(end.descriptor());
        assert!(!of.tcp_nodelay().unwrap() && of.busy_poll().unwrap_or(0) == 0);
        assert_eq!(of.device().unwrap(), None);

        let set = Hello { nodelay: true, device: Some("lo".to_owned()), ..usual.clone() };
        let (end, _far) = tcp(&set);
        let of = SockRef::from(end.descriptor());
        assert!(of.tcp_nodelay().unwrap());
        assert_eq!(of.device().unwrap().as_deref(), Some(&b"lo"[..]));

        // More than the system's value needs a right.
        let polls = Hello { busy_poll_us: 40, ..usual.clone() };
        match listener(&polls, Ipv4Addr::LOCALHOST.into()) {
            Ok(_) => {
                let (end, _far) = tcp(&polls);
                assert_eq!(SockRef::from(end.descriptor()).busy_poll().unwrap(), 40);
            }
            Err(error) => assert!(error.to_string().contains("not permitted"), "{error}"),
        }

        let udp_of = |hello: &Hello, bind: &str| {
            let bound = udp(hello, bind.parse().unwrap()).unwrap();
            let own = bound.local_addr().unwrap();
            (datagrams(hello, bound, own, Duration::from_secs(1)).unwrap(), own)
        };
        let (end, own) = udp_of(&hello(Transport::Udp), "127.0.0.3");
        assert_eq!(own.ip().to_string(), "127.0.0.3");
        assert!(SockRef::from(end.descriptor()).peer_addr().is_err());
        let connected = Hello { connects: true, ..hello(Transport::Udp) };
        let (end, own) = udp_of(&connected, "127.0.0.1");
        let peer = SockRef::from(end.descriptor()).peer_addr().unwrap();
        assert_eq!(peer.as_socket(), Some(own));

        for ipv6_only in [false, true] {
            let hello = Hello { ipv6_only, ..usual.clone() };
            let address = SocketAddr::new("::".parse().unwrap(), 0);
            let Ok(made) = socket(&hello, address, Type::STREAM) else {
                eprintln!("left out: there is no IPv6 here");
                return;
            };
            assert_eq!(made.only_v6().unwrap(), ipv6_only);
        }
    }

    #[test]
    fn a_socket_of_a_group_has_its_options() {
        let group = Some(IpAddr::V4(Ipv4Addr::new(239, 1, 2, 48)));
        let interface = Some("lo".to_owned());
        let of = |ttl, loops_back| {
            let hello = Hello {
                group,
                interface: interface.clone(),
                ttl,
                loops_back,
                ..hello(Transport::Udp)
            };
            let bound = udp(&hello, Ipv4Addr::LOCALHOST.into()).unwrap();
            let of = SockRef::from(&bound);
            (
                of.multicast_ttl_v4().unwrap(),
                of.multicast_loop_v4().unwrap(),
                of.multicast_if_v4().unwrap(),
            )
        };
        assert_eq!(of(7, true), (7, true, Ipv4Addr::LOCALHOST));
        assert_eq!(of(1, false), (1, false, Ipv4Addr::LOCALHOST));
        let named = Hello { group, interface: Some("none-0".to_owned()), ..hello(Transport::Udp) };
        assert!(udp(&named, Ipv4Addr::LOCALHOST.into()).is_err());
    }
}
