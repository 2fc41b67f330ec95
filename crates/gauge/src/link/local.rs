//! Pipes and Unix datagrams: within a host, each end in a process of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::datagram::DatagramLink;
use super::meet::{PATIENCE, hello, hello_from, is_hello, within};
use super::stream::StreamLink;
use crate::GaugeError;
use crate::control::Control;

static NAMES: AtomicU32 = AtomicU32::new(0);

/// An abstract name that no other end has: there is no file to be left.
fn new_name() -> String {
    let serial = NAMES.fetch_add(1, Ordering::Relaxed);
    format!("tapeline-gauge-{}-{serial}", std::process::id())
}

/// A listener, and its name.
pub(super) fn listener() -> io::Result<(UnixListener, String)> {
    let name = new_name();
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    listener.set_nonblocking(true)?;
    Ok((listener, name))
}

/// A connection to the listener of that name.
pub(super) fn stream_to(name: &str) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)
}

fn failed(error: GaugeError) -> io::Error {
    match error {
        GaugeError::Io { error, .. } => error,
        other => io::Error::other(other),
    }
}

/// Makes two pipes and hands their other ends over a connection, which has no
/// other use.
pub(super) fn pipes_given(over: UnixStream) -> io::Result<StreamLink> {
    let (own_read, far_write) = io::pipe()?;
    let (far_read, own_write) = io::pipe()?;
    let far: [OwnedFd; 2] = [far_read.into(), far_write.into()];
    Control::over_unix(over).send_descriptors(&far).map_err(failed)?;
    StreamLink::pipes(own_read.into(), own_write.into())
}

/// Takes the ends that the other side has made.
pub(super) fn pipes_taken(over: UnixStream) -> io::Result<StreamLink> {
    let taken = Control::over_unix(over).receive_descriptors().map_err(failed)?;
    match <[OwnedFd; 2]>::try_from(taken) {
        Ok([read, write]) => StreamLink::pipes(read, write),
        Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "two pipes were to come")),
    }
}

/// A datagram socket with a name.
pub(super) fn datagrams() -> io::Result<(UnixDatagram, String)> {
    let name = new_name();
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    Ok((socket, name))
}

/// Waits for the other end's hello, and answers it.
pub(super) fn datagrams_met(
    socket: UnixDatagram,
    patience: Option<Duration>,
) -> io::Result<DatagramLink> {
    socket.set_nonblocking(true)?;
    let from = hello_from(&socket, patience, |buffer| socket.recv_from(buffer))?;
    socket.connect_addr(&from)?;
    socket.send(&hello())?;
    DatagramLink::new(socket.into())
}

/// Says hello to the socket of that name, and waits for its answer.
pub(super) fn datagrams_to(name: &str) -> io::Result<DatagramLink> {
    let (socket, _) = datagrams()?;
    socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    socket.send(&hello())?;
    socket.set_nonblocking(true)?;
    let mut buffer = [0; 128];
    let bytes = within(&socket, Some(PATIENCE), || socket.recv(&mut buffer))?;
    match is_hello(&buffer[..bytes]) {
        true => DatagramLink::new(socket.into()),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "no hello came back")),
    }
}
