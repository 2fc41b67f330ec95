//! Connected datagram sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::Link;
use crate::message::{Head, Kind};
use crate::sizes::MAX_DATAGRAM_BYTES;

/// Datagrams that are read in one poll.
const AT_ONCE: usize = 64;

/// One end.
pub(super) struct DatagramLink {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl DatagramLink {
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
        Ok(Self { fd, buffer: vec![0; MAX_DATAGRAM_BYTES] })
    }
}

impl Link for DatagramLink {
    fn offer(&mut self, message: &[u8]) -> io::Result<bool> {
        match send(&self.fd, message, SendFlags::NOSIGNAL) {
            // If nobody listens there any more, the control connection tells why.
            Ok(_) | Err(Errno::CONNREFUSED) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn poll(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            match recv(&self.fd, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((_, bytes)) => {
                    let message = &self.buffer[..bytes];
                    // Whoever sends something else to this port is not heard.
                    if Head::read(message).is_some_and(|head| head.kind != Kind::Hello) {
                        each(message);
                    }
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNREFUSED) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }

    fn twin(&self) -> io::Result<Box<dyn Link + Send>> {
        Ok(Box::new(Self::new(self.fd.try_clone()?)?))
    }
}
