//! A multicast group: one end sends, the other listens; nothing goes back.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use socket2::{InterfaceIndexOrAddress, SockRef};
use tapeline_measure::stop;

use super::datagram::DatagramLink;
use super::meet::{HELLO_EVERY, LinkOptions, PATIENCE, hello, hello_from, is_hello};
use crate::pingpong::interface;

/// The group and the interface of a link.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) address: Ipv4Addr,
    /// By name or address; `None`: as the kernel routes it.
    pub(crate) interface: Option<String>,
}

/// The end that listens, in its group.
pub(super) fn listen(group: &Group, port: u16, options: &LinkOptions) -> io::Result<UdpSocket> {
    // Bound to the group, so that other groups' messages to this port do not come.
    let socket = UdpSocket::bind((group.address, port))?;
    options.set(&SockRef::from(&socket), false)?;
    let on = match group.interface.as_deref() {
        None => InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED),
        Some(named) => match named.parse() {
            Ok(address) => InterfaceIndexOrAddress::Address(address),
            Err(_) => InterfaceIndexOrAddress::Index(interface::index(named)?),
        },
    };
    SockRef::from(&socket).join_multicast_v4_n(&group.address, &on)?;
    Ok(socket)
}

/// Waits for the sender's hello, and answers it from another socket: one that
/// is bound to a group has no address to send from.
pub(super) fn met(socket: UdpSocket, patience: Option<Duration>) -> io::Result<DatagramLink> {
    socket.set_nonblocking(true)?;
    let from = hello_from(&socket, patience, |buffer| socket.recv_from(buffer))?;
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.send_to(&hello(), from)?;
    DatagramLink::new(socket.into())
}

/// The end that sends, once somebody listens.
pub(super) fn connect(
    group: &Group,
    to: SocketAddr,
    options: &LinkOptions,
) -> io::Result<DatagramLink> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    options.set(&SockRef::from(&socket), false)?;
    let of = SockRef::from(&socket);
    of.set_multicast_loop_v4(true)?;
    if let Some(named) = group.interface.as_deref() {
        of.set_multicast_if_v4(&interface::address_of(named)?)?;
    }
    let to = SocketAddr::new(IpAddr::V4(group.address), to.port());
    socket.set_read_timeout(Some(HELLO_EVERY))?;
    let (until, mut buffer) = (Instant::now() + PATIENCE, [0; 128]);
    while Instant::now() < until {
        if stop::is_asked() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        socket.send_to(&hello(), to)?;
        if socket.recv(&mut buffer).is_ok_and(|bytes| is_hello(&buffer[..bytes])) {
            // From here on it only sends.
            socket.connect(to)?;
            return DatagramLink::new(socket.into());
        }
    }
    let what = format!("nobody in the group {} answered within 10 s", group.address);
    Err(io::Error::new(io::ErrorKind::TimedOut, what))
}
