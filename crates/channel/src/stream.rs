//! The byte streams under sessions.

use std::io::{self, IoSlice, Write};
use std::net::{Shutdown, SocketAddr};

use mio::event::Event;
use mio::{Interest, Registry, Token};

use crate::tcp::TcpSocket;
use crate::tls::TlsStream;

/// A read that left room took all there was, and the next byte is a new edge.
/// Where readiness is not the kernel's own edge, only "would block" says so.
const SHORT_READ_EMPTIES: bool = cfg!(any(target_os = "linux", target_os = "android"));

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

/// A connected, non-blocking byte stream. Nothing else in this crate knows what
/// it reads from.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpSocket),
    Tls(TlsStream),
}

impl Stream {
    /// Reports readiness of both directions, each time it begins.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(tcp) => registry.register(&mut tcp.socket, token, both),
            Self::Tls(stream) => registry.register(&mut stream.socket, token, both),
        }
    }

    /// Reads what there is; 0 bytes are the peer's end. A late read has the
    /// peer wait for its acknowledgement, if that is of use.
    pub(crate) fn read(&mut self, room: &mut [u8], is_late: bool) -> io::Result<usize> {
        match self {
            Self::Tcp(tcp) => retry(|| tcp.read(room, is_late)),
            Self::Tls(stream) => retry(|| stream.read(room)),
        }
    }

    /// Acknowledges what was read late. Should that fail, a read tells why.
    pub(crate) fn acknowledge(&mut self) {
        if let Self::Tcp(tcp) = self {
            let _ = tcp.acknowledge();
        }
    }

    /// Whether a read that leaves room took all that the socket has.
    pub(crate) const fn short_read_empties(&self) -> bool {
        match self {
            Self::Tcp(tcp) => SHORT_READ_EMPTIES && tcp.short_read_empties(),
            Self::Tls(_) => false,
        }
    }

    /// Writes what fits of all slices.
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = match self {
            Self::Tcp(tcp) => retry(|| match slices {
                [one] => tcp.socket.write(one),
                _ => tcp.socket.write_vectored(slices),
            }),
            Self::Tls(stream) => retry(|| stream.write(slices)),
        };
        match written {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            other => other,
        }
    }

    /// Writes what was taken and not written yet. An error also says that some
    /// of it is left.
    #[inline]
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(_) => Ok(()),
            Self::Tls(stream) => stream.push(),
        }
    }

    /// Bytes that were taken and are not written yet, about.
    #[inline]
    pub(crate) fn pending_bytes(&self) -> usize {
        match self {
            Self::Tcp(_) => 0,
            Self::Tls(stream) => stream.pending_bytes(),
        }
    }

    /// Whether something was taken that is not written yet.
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        match self {
            Self::Tcp(_) => false,
            Self::Tls(stream) => stream.is_pending(),
        }
    }

    /// Tells the peer that nothing more comes. One that is gone need not know.
    pub(crate) fn end(&mut self) {
        match self {
            Self::Tcp(tcp) => {
                let _ = tcp.socket.shutdown(Shutdown::Write);
            }
            Self::Tls(stream) => stream.end(),
        }
    }

    /// Whether a connection in the making is made: the peer's address, `None`
    /// as long as it is not decided.
    pub(crate) fn connected(&mut self) -> io::Result<Option<SocketAddr>> {
        let socket = match self {
            Self::Tcp(tcp) => &mut tcp.socket,
            Self::Tls(stream) => &mut stream.socket,
        };
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
