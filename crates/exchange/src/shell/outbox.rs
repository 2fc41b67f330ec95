//! What goes out to a connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use mio::net::TcpStream;
use tapeline_time::Time;

use crate::core::SessionId;
use crate::gateway::Word;

/// How long the last bytes may take, and the other side to close.
const FAREWELL: Duration = Duration::from_secs(1);

/// One connection and the bytes that wait for it.
#[derive(Debug)]
pub(super) struct Connection {
    /// `None`: somebody of this process, who takes the bytes.
    stream: Option<TcpStream>,
    queue: Vec<u8>,
    /// So many of them are out.
    written: usize,
    /// It is known to have something to write.
    is_listed: bool,
    /// The link by which it is here, and its number there.
    via: Option<(SessionId, u32)>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        let queue = Vec::with_capacity(4 << 10);
        Self { stream: Some(stream), queue, written: 0, is_listed: false, via: None }
    }

    pub(super) fn here() -> Self {
        let queue = Vec::with_capacity(64 << 10);
        Self { stream: None, queue, written: 0, is_listed: false, via: None }
    }

    /// A client of a gateway: what goes to it goes by the gateway's link.
    pub(super) fn of_gateway(link: SessionId, client: u32) -> Self {
        Self {
            stream: None,
            queue: Vec::new(),
            written: 0,
            is_listed: false,
            via: Some((link, client)),
        }
    }

    pub(super) const fn via(&self) -> Option<(SessionId, u32)> {
        self.via
    }

    /// Something for a client of the gateway whose link this is.
    pub(super) fn queue_report(&mut self, client: u32, bytes: &[u8]) {
        Word::Report { client, bytes }.append(&mut self.queue);
    }

    /// Whether the other side, which was dialled, is there.
    pub(super) fn is_connected(&self) -> io::Result<bool> {
        let Some(stream) = &self.stream else { return Ok(true) };
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        match stream.peer_addr() {
            Ok(_) => stream.set_nodelay(true).map(|()| true),
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Nothing more is said in either direction.
    pub(super) fn break_off(&mut self) {
        if let Some(stream) = &self.stream {
            // It may be broken already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.queue.clear();
        self.written = 0;
    }

    /// Reads what has come; who is of this process has nothing to read here.
    pub(super) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.stream {
            Some(stream) => stream.read(room),
            None => Err(ErrorKind::WouldBlock.into()),
        }
    }

    pub(super) fn queue(&mut self, bytes: &[u8]) {
        self.queue.extend_from_slice(bytes);
    }

    /// Notes that it has something to write. Returns whether that was not known.
    pub(super) const fn list(&mut self) -> bool {
        !std::mem::replace(&mut self.is_listed, true)
    }

    /// It is not known to have something to write any more.
    pub(super) const fn strike(&mut self) {
        self.is_listed = false;
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len() - self.written
    }

    /// Moves what waits to somebody of this process.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.queue);
        self.queue.clear();
    }

    /// Writes what the socket takes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        while self.written < self.queue.len() {
            match stream.write(&self.queue[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(len) => self.written += len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.written == self.queue.len() {
            self.queue.clear();
            self.written = 0;
        } else if self.written > self.queue.len() / 2 {
            self.queue.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    /// The market is done with it: what waits still goes out.
    pub(super) fn leave(self, now: Time) -> Option<Leaving> {
        self.stream.is_some().then(|| Leaving {
            connection: self,
            until: now.after(FAREWELL),
            is_ended: false,
        })
    }
}

/// A connection that ends: its last bytes go out, then our end, then the other
/// side's is awaited, since a socket that is closed with unread bytes takes the last
/// ones from the other side.
#[derive(Debug)]
pub(super) struct Leaving {
    connection: Connection,
    until: Time,
    is_ended: bool,
}

impl Leaving {
    /// Whether it is not over yet.
    pub(super) fn stays(&mut self, now: Time) -> bool {
        if now >= self.until || self.connection.flush().is_err() {
            return false;
        }
        if self.connection.queued() > 0 {
            return true;
        }
        if !std::mem::replace(&mut self.is_ended, true)
            && let Some(stream) = &self.connection.stream
            && stream.shutdown(Shutdown::Write).is_err()
        {
            return false;
        }
        let mut unread = [0; 1024];
        match self.connection.read(&mut unread) {
            Ok(0) => false,
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }
}
