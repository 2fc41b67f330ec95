//! The byte streams under sessions.

use std::io::{self, IoSlice};

use crate::ChannelError;
use crate::system::Socket;
use crate::tls::{TlsClient, TlsStream};

/// A connected, non-blocking byte stream. Nothing else in this crate knows what
/// it reads from.
#[derive(Debug)]
pub(crate) enum Stream<S> {
    Tcp(S),
    Tls(TlsStream<S>),
}

impl<S: Socket> Stream<S> {
    /// The same with TLS on it towards a host.
    pub(crate) fn secured(self, tls: &TlsClient, host: &str) -> Result<Self, ChannelError> {
        match self {
            Self::Tcp(socket) => TlsStream::client(socket, tls, host).map(Self::Tls),
            Self::Tls(_) => Ok(self),
        }
    }

    /// What it goes over.
    pub(crate) fn socket(&mut self) -> &mut S {
        match self {
            Self::Tcp(socket) => socket,
            Self::Tls(stream) => &mut stream.socket,
        }
    }

    /// Reads what there is; 0 bytes are the peer's end. A read with a delayed ACK has the
    /// peer wait for its acknowledgement, if that is of use.
    pub(crate) fn read(&mut self, room: &mut [u8], is_late: bool) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => retry(|| match is_late {
                true => socket.read_late(room),
                false => socket.read(room),
            }),
            Self::Tls(stream) => retry(|| stream.read(room)),
        }
    }

    /// Sends the delayed ACK of what was read. Should that fail, a read tells why.
    pub(crate) fn acknowledge(&mut self) {
        if let Self::Tcp(socket) = self {
            let _ = socket.acknowledge();
        }
    }

    /// Whether a read that leaves room took all that the socket has.
    pub(crate) fn short_read_empties(&self) -> bool {
        match self {
            Self::Tcp(socket) => socket.short_read_empties(),
            Self::Tls(_) => false,
        }
    }

    /// Writes what fits of all slices.
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = match self {
            Self::Tcp(socket) => retry(|| match slices {
                [one] => socket.write(one),
                _ => socket.write_vectored(slices),
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
            Self::Tcp(socket) => {
                let _ = socket.end();
            }
            Self::Tls(stream) => stream.end(),
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
