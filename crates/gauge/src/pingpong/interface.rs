//! Interfaces by their name.

use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use socket2::SockRef;

/// The kernel's number of an interface.
pub(crate) fn index(interface: &str) -> io::Result<u32> {
    let path = format!("/sys/class/net/{interface}/ifindex");
    let text = std::fs::read_to_string(path);
    let number = text.ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| io::Error::other(format!("there is no interface {interface}")))
}

/// An IPv4 address of an interface: what a socket bound to it connects from.
pub(crate) fn address_of(interface: &str) -> io::Result<Ipv4Addr> {
    if let Ok(address) = interface.parse() {
        return Ok(address);
    }
    if interface == "lo" {
        return Ok(Ipv4Addr::LOCALHOST);
    }
    let probe = UdpSocket::bind("0.0.0.0:0")?;
    SockRef::from(&probe).bind_device(Some(interface.as_bytes()))?;
    probe.connect("224.0.0.1:9")?;
    match probe.local_addr()?.ip() {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(_) => Err(io::Error::other(format!("{interface} has no IPv4 address"))),
    }
}
