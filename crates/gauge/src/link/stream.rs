//! Stream sockets and pipes, with messages that tell their own length.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::Link;
use crate::message::Framing;

/// Bytes that are read at once where they are no messages.
const RAW_BYTES: usize = 64 << 10;

/// One end of a TCP connection, a pair of Unix sockets, or two pipes.
pub(super) struct StreamLink {
    fd: OwnedFd,
    /// A pipe's other direction.
    write: Option<OwnedFd>,
    /// `None`: what comes is handed over as it came.
    framing: Option<Framing>,
    bytes: Vec<u8>,
    /// The rest of a message of which the kernel took the front.
    rest: Vec<u8>,
    /// How much of it has left.
    gone: usize,
}

impl StreamLink {
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        Self::with(fd, Some(Framing::new()), Vec::new())
    }

    /// One that reads from one pipe and writes to another.
    pub(super) fn pipes(read: OwnedFd, write: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&write, fcntl_getfl(&write)? | OFlags::NONBLOCK)?;
        Ok(Self { write: Some(write), ..Self::new(read)? })
    }

    /// One whose bytes are of somebody who does not write our messages.
    pub(super) fn raw(fd: OwnedFd) -> io::Result<Self> {
        Self::with(fd, None, vec![0; RAW_BYTES])
    }

    fn with(fd: OwnedFd, framing: Option<Framing>, bytes: Vec<u8>) -> io::Result<Self> {
        fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
        Ok(Self { fd, write: None, framing, bytes, rest: Vec::with_capacity(4096), gone: 0 })
    }

    /// How much of it the kernel took.
    fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // Who writes to an end that is gone is to be told, not killed.
            let written = match &self.write {
                Some(pipe) => rustix::io::write(pipe, bytes),
                None => send(&self.fd, bytes, SendFlags::NOSIGNAL),
            };
            match written {
                Ok(sent) => return Ok(sent),
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Link for StreamLink {
    fn offer(&mut self, message: &[u8]) -> io::Result<bool> {
        if !self.flush()? {
            return Ok(false);
        }
        let sent = self.push(message)?;
        if sent == 0 {
            return Ok(false);
        }
        self.rest.extend_from_slice(&message[sent..]);
        Ok(true)
    }

    fn poll(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let room = match &mut self.framing {
            Some(framing) => framing.room(),
            None => &mut self.bytes[..],
        };
        let read = match self.write {
            Some(_) => rustix::io::read(&self.fd, room),
            None => recv(&self.fd, room, RecvFlags::empty()).map(|(_, bytes)| bytes),
        };
        match read {
            Ok(0) | Err(Errno::CONNRESET | Errno::PIPE) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => match &mut self.framing {
                Some(framing) => framing.came(bytes, each),
                None => {
                    each(&self.bytes[..bytes]);
                    Ok(())
                }
            },
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        while self.gone < self.rest.len() {
            match self.push(&self.rest[self.gone..])? {
                0 => return Ok(false),
                sent => self.gone += sent,
            }
        }
        self.rest.clear();
        self.gone = 0;
        Ok(true)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }

    fn twin(&self) -> io::Result<Box<dyn Link + Send>> {
        let fd = self.fd.try_clone()?;
        Ok(Box::new(match &self.write {
            Some(pipe) => Self::pipes(fd, pipe.try_clone()?)?,
            None => Self::new(fd)?,
        }))
    }
}
