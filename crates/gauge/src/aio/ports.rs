//! Ends of links in a thread, and what waits at them.

use std::collections::VecDeque;
use std::io;

use serde::{Deserialize, Serialize};
use tapeline_measure::clock::now_ns;

use super::modules::{Came, Outlet};
use super::tracked;
use crate::link::{Link, Links};
use crate::message::{HEAD_BYTES, Head};

/// What went through an end of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traffic {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// Had to wait for room.
    pub(super) waited: u64,
}

impl Traffic {
    pub(super) const fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }

    /// What was added since an earlier moment.
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            messages: self.messages - before.messages,
            bytes: self.bytes - before.bytes,
            waited: self.waited - before.waited,
        }
    }
}

/// A link that has ended: its descriptor is closed, so that it wakes nobody.
pub(super) struct Gone;

impl Link for Gone {
    fn offer(&mut self, _message: &[u8]) -> io::Result<bool> {
        Ok(true)
    }

    fn poll(&mut self, _each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        Ok(())
    }
}

/// Messages that had no room, in their order.
#[derive(Default)]
struct Waiting {
    lengths: VecDeque<(usize, usize)>,
    bytes: Vec<u8>,
    /// What of the bytes has gone.
    gone: usize,
}

impl Waiting {
    fn push(&mut self, connection: usize, message: &[u8]) {
        self.lengths.push_back((connection, message.len()));
        self.bytes.extend_from_slice(message);
    }
}

/// An end of a link.
pub(super) struct Port {
    /// The link's number in the flow.
    pub(super) link: usize,
    /// The module of this thread that it is at.
    pub(super) module: usize,
    /// Which of the module's inputs or outputs.
    pub(super) number: usize,
    pub(super) is_input: bool,
    /// The port at the other end of a call.
    pub(super) callee: Option<usize>,
    /// Empty of a call, and while they are polled.
    pub(super) links: Links,
    /// Connections whose other end has gone.
    ended: Vec<bool>,
    waiting: Waiting,
    /// Ports that have to be free before a message is taken in here.
    pub(super) behind: Vec<usize>,
    pub(super) came: Traffic,
    pub(super) went: Traffic,
}

impl Port {
    pub(super) fn new(link: usize, module: usize, number: usize, is_input: bool) -> Self {
        Self {
            link,
            module,
            number,
            is_input,
            callee: None,
            links: Vec::new(),
            ended: Vec::new(),
            waiting: Waiting::default(),
            behind: Vec::new(),
            came: Traffic::default(),
            went: Traffic::default(),
        }
    }

    /// Takes the links, with room for so many bytes that wait.
    pub(super) fn opened(&mut self, links: Links, room: usize) {
        self.ended = vec![false; links.len()];
        self.waiting.bytes.reserve(room);
        self.waiting.lengths.reserve(1024);
        self.links = links;
    }

    pub(super) fn is_free(&self) -> bool {
        self.waiting.lengths.is_empty()
    }

    pub(super) const fn connections(&self) -> usize {
        self.ended.len()
    }

    pub(super) fn has_ended(&self, connection: usize) -> bool {
        self.ended.get(connection).copied().unwrap_or(true)
    }

    /// Its other end has gone: nothing comes or goes by it any more.
    pub(super) fn end(&mut self, connection: usize) {
        if let Some(ended) = self.ended.get_mut(connection) {
            *ended = true;
        }
        if let Some(link) = self.links.get_mut(connection) {
            *link = Box::new(Gone);
        }
    }

    /// Whether all connections have ended.
    pub(super) fn is_over(&self) -> bool {
        !self.ended.is_empty() && self.ended.iter().all(|ended| *ended)
    }

    fn put(&mut self, connection: usize, message: &[u8]) -> io::Result<()> {
        self.went.add(message.len());
        if self.has_ended(connection) {
            return Ok(());
        }
        let is_taken = match self.is_free() {
            true => self.links.get_mut(connection).map_or(Ok(false), |link| link.offer(message)),
            false => Ok(false),
        };
        match is_taken {
            Ok(true) => Ok(()),
            Ok(false) => {
                // While its links are polled an answer waits in any case.
                self.went.waited += u64::from(!self.links.is_empty());
                self.waiting.push(connection, message);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.end(connection);
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Moves on what waits, as far as there is room.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        for link in &mut self.links {
            link.flush()?;
        }
        while let Some((connection, length)) = self.waiting.lengths.front().copied() {
            let Some(link) = self.links.get_mut(connection) else { return Ok(()) };
            let message = &self.waiting.bytes[self.waiting.gone..self.waiting.gone + length];
            if !link.offer(message)? {
                return Ok(());
            }
            self.waiting.lengths.pop_front();
            self.waiting.gone += length;
        }
        self.waiting.bytes.clear();
        self.waiting.gone = 0;
        Ok(())
    }
}

/// Messages of calls that were not made yet.
#[derive(Default)]
pub(super) struct Calls {
    ports: VecDeque<(usize, usize)>,
    bytes: Vec<u8>,
    gone: usize,
}

impl Calls {
    pub(super) fn reserve(&mut self, room: usize) {
        self.ports.reserve(1024);
        self.bytes.reserve(room);
    }

    fn push(&mut self, port: usize, message: &[u8]) {
        self.ports.push_back((port, message.len()));
        self.bytes.extend_from_slice(message);
    }

    /// Copies the next one out: the port that it comes in by, and its length.
    pub(super) fn take(&mut self, into: &mut [u8]) -> Option<(usize, usize)> {
        let Some((port, length)) = self.ports.pop_front() else {
            self.bytes.clear();
            self.gone = 0;
            return None;
        };
        into[..length].copy_from_slice(&self.bytes[self.gone..self.gone + length]);
        self.gone += length;
        Some((port, length))
    }
}

/// The ports of a module.
pub(super) struct OfModule {
    /// Its number in the flow.
    pub(super) number: usize,
    pub(super) inputs: Vec<usize>,
    pub(super) outputs: Vec<usize>,
    /// It is neither the first nor the last on a way.
    pub(super) is_between: bool,
}

/// Where a module's messages go while it has its turn.
pub(super) struct Out<'a> {
    pub(super) ports: &'a mut [Port],
    pub(super) calls: &'a mut Calls,
    pub(super) module: &'a OfModule,
    /// The first end that failed, and how.
    pub(super) failed: &'a mut Option<(usize, io::Error)>,
}

impl Out<'_> {
    fn leave(&self, message: &mut [u8]) {
        if self.module.is_between {
            tracked::stamp(message, self.module.number as u8, true, now_ns());
        }
    }

    fn put(&mut self, port: usize, connection: usize, message: &[u8]) {
        if let Some(callee) = self.ports[port].callee {
            self.ports[port].went.add(message.len());
            return self.calls.push(callee, message);
        }
        if let Err(error) = self.ports[port].put(connection, message) {
            self.failed.get_or_insert((port, error));
        }
    }
}

impl Outlet for Out<'_> {
    fn send(&mut self, output: usize, message: &mut [u8]) {
        let Some(port) = self.module.outputs.get(output).copied() else { return };
        self.leave(message);
        let connections = self.ports[port].connections();
        let connection = match connections {
            0 | 1 => 0,
            count => Head::read(message).map_or(0, |head| (head.seq % count as u64) as usize),
        };
        self.put(port, connection, message);
    }

    fn send_to_all(&mut self, output: usize, message: &mut [u8]) {
        let Some(port) = self.module.outputs.get(output).copied() else { return };
        self.leave(message);
        for connection in 0..self.ports[port].connections().max(1) {
            self.put(port, connection, message);
        }
    }

    fn send_over(&mut self, output: usize, connection: usize, message: &mut [u8]) {
        let Some(port) = self.module.outputs.get(output).copied() else { return };
        self.leave(message);
        let connection = connection.min(self.ports[port].connections().saturating_sub(1));
        self.put(port, connection, message);
    }

    fn answer(&mut self, to: Came, message: &mut [u8]) {
        let Some(port) = self.module.inputs.get(to.port).copied() else { return };
        // An answer of 32 bytes has no room for stamps.
        if message.len() > HEAD_BYTES {
            self.leave(message);
        }
        self.put(port, to.connection, message);
    }

    fn has_room(&self, output: usize) -> bool {
        let Some(port) = self.module.outputs.get(output) else { return true };
        let behind = self.ports[*port].callee.map_or(&[][..], |callee| &self.ports[callee].behind);
        self.ports[*port].is_free() && behind.iter().all(|port| self.ports[*port].is_free())
    }
}
