//! The byte streams under sessions.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

/// What began since readiness was last asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readiness {
    /// There is something to read, be it the end.
    pub(crate) readable: bool,
    /// The peer's end, or a failure, is behind what there is to read.
    pub(crate) ends: bool,
    /// There is room to write.
    pub(crate) writable: bool,
}

impl From<&Event> for Readiness {
    fn from(event: &Event) -> Self {
        let ends = event.is_read_closed() || event.is_error();
        Self { readable: event.is_readable() || ends, ends, writable: event.is_writable() }
    }
}

/// A connected, non-blocking byte stream. Other kinds (TLS) have their place
/// here; nothing else in this crate knows what it reads from.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
}

impl Stream {
    /// Reports readiness of both directions, each time it begins.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(socket) => registry.register(socket, token, both),
        }
    }

    /// Reads what there is; 0 bytes are the peer's end.
    pub(crate) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => retry(|| socket.read(room)),
        }
    }

    /// Writes what fits of all slices.
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let Self::Tcp(socket) = self;
        let written = retry(|| match slices {
            [one] => socket.write(one),
            _ => socket.write_vectored(slices),
        });
        match written {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            other => other,
        }
    }

    /// Tells the peer that nothing more comes. One that is gone need not know.
    pub(crate) fn end(&mut self) {
        let Self::Tcp(socket) = self;
        let _ = socket.shutdown(Shutdown::Write);
    }

    /// Whether a connection in the making is made: the peer's address, `None`
    /// as long as it is not decided.
    pub(crate) fn connected(&mut self) -> io::Result<Option<SocketAddr>> {
        let Self::Tcp(socket) = self;
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        match socket.peer_addr() {
            Ok(peer) => Ok(Some(peer)),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
