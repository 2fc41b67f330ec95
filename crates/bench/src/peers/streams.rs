//! Plain sockets for the protocols that need no more: one thread reads many,
//! as the RSSL clients do.

use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::net::TcpStream;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};

use super::error::PeerError;
use super::process::Process;
use super::tally::Tally;
use super::way::Way;
use super::workload::Workload;
use crate::source::item_name;
use crate::stamp::{Stamp, UPDATE_BYTES};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// A publisher whose server leaves so many bytes behind holds back.
const BACKLOG_BYTES: usize = 4 << 20;

/// A protocol of messages.
pub(super) trait Wire {
    /// Bytes behind the update in a message.
    const TAIL_BYTES: usize;

    /// What publishes an update of an item, which is all zeros for now.
    fn message(item: &str) -> Vec<u8>;

    /// Hands on what each whole message at the front carries. Returns the
    /// bytes that are done with.
    fn take(bytes: &[u8], each: impl FnMut(Option<Stamp>)) -> Result<usize, PeerError>;
}

/// A server with plain sockets: a publisher and clients that only read.
pub(super) struct Broker<W> {
    readers: Readers,
    writer: Writer,
    workload: Workload,
    /// What is published of each item, with room for a stamp.
    messages: Vec<Vec<u8>>,
    process: Process,
    wire: PhantomData<W>,
}

impl<W: Wire> Broker<W> {
    /// Of sockets on which all has been asked for; the clients' with what came
    /// early.
    pub(super) fn new(
        process: Process,
        publisher: TcpStream,
        clients: Vec<(TcpStream, Vec<u8>)>,
        workload: Workload,
    ) -> Result<Self, PeerError> {
        Ok(Self {
            readers: Readers::new(clients)?,
            writer: Writer::new(publisher)?,
            workload,
            messages: (0..workload.items).map(|item| W::message(&item_name(item))).collect(),
            process,
            wire: PhantomData,
        })
    }
}

impl<W: Wire> Way for Broker<W> {
    fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        self.readers.poll::<W>(tally)
    }

    #[inline]
    fn send(&mut self, stamp: Stamp) -> Result<(), PeerError> {
        let message = &mut self.messages[self.workload.item_of(stamp.number)];
        let start = message.len() - W::TAIL_BYTES - UPDATE_BYTES;
        stamp.write_plain(&mut message[start..]);
        self.writer.send(message);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.writer.flush()
    }

    fn is_behind(&self) -> bool {
        self.writer.is_behind()
    }

    fn server_seconds(&self) -> Option<f64> {
        self.process.seconds()
    }

    fn tidy(&mut self) -> Result<(), PeerError> {
        self.writer.drain();
        Ok(())
    }
}

struct Socket {
    stream: mio::net::TcpStream,
    room: Vec<u8>,
    filled: usize,
}

/// Clients that only read.
pub(super) struct Readers {
    poll: Poll,
    events: Events,
    sockets: Vec<Socket>,
}

impl Readers {
    /// Of sockets that are connected and have all they asked for. `early` is
    /// what came behind the answer.
    pub(super) fn new(streams: Vec<(TcpStream, Vec<u8>)>) -> Result<Self, PeerError> {
        let failed = PeerError::socket("watch a client's socket");
        let poll = Poll::new().map_err(&failed)?;
        let mut sockets = Vec::with_capacity(streams.len());
        for (number, (stream, early)) in streams.into_iter().enumerate() {
            stream.set_nonblocking(true).map_err(&failed)?;
            let mut stream = mio::net::TcpStream::from_std(stream);
            poll.registry()
                .register(&mut stream, Token(number), Interest::READABLE)
                .map_err(&failed)?;
            let mut room = vec![0; READ_BYTES.max(early.len() * 2)];
            room[..early.len()].copy_from_slice(&early);
            sockets.push(Socket { stream, room, filled: early.len() });
        }
        let events = Events::with_capacity(sockets.len().max(1));
        Ok(Self { poll, events, sockets })
    }

    /// Reads what there is.
    pub(super) fn poll<W: Wire>(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        match self.poll.poll(&mut self.events, Some(Duration::ZERO)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
            polled => polled.map_err(PeerError::socket("wait for the clients"))?,
        }
        let mut count = 0;
        for event in &self.events {
            let client = event.token().0;
            if let Some(socket) = self.sockets.get_mut(client) {
                count += 1;
                socket.read::<W>(client, tally)?;
            }
        }
        Ok(count)
    }
}

impl Socket {
    /// Reads until there is no more: a read that does not fill the room has
    /// emptied the socket.
    fn read<W: Wire>(&mut self, client: usize, tally: &mut Tally) -> Result<(), PeerError> {
        loop {
            let count = match self.stream.read(&mut self.room[self.filled..]) {
                Ok(0) => {
                    let error = io::ErrorKind::UnexpectedEof.into();
                    return Err(PeerError::Socket {
                        what: "the server hung up on a client",
                        error,
                    });
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(PeerError::socket("read at a client")(error)),
            };
            self.filled += count;
            let is_full = self.filled == self.room.len();
            let done = W::take(&self.room[..self.filled], |stamp| tally.update(client, stamp))?;
            self.room.copy_within(done..self.filled, 0);
            self.filled -= done;
            if !is_full {
                return Ok(());
            }
        }
    }
}

/// A publisher's socket: what is sent leaves with the next flush.
pub(super) struct Writer {
    stream: TcpStream,
    room: Vec<u8>,
    written: usize,
}

impl Writer {
    pub(super) fn new(stream: TcpStream) -> Result<Self, PeerError> {
        stream.set_nonblocking(true).map_err(PeerError::socket("start to publish"))?;
        Ok(Self { stream, room: Vec::with_capacity(READ_BYTES), written: 0 })
    }

    #[inline]
    pub(super) fn send(&mut self, message: &[u8]) {
        self.room.extend_from_slice(message);
    }

    /// Whether the server leaves so much behind that the publisher should hold
    /// back.
    pub(super) fn is_behind(&self) -> bool {
        self.room.len() - self.written > BACKLOG_BYTES
    }

    /// Writes what the socket takes.
    pub(super) fn flush(&mut self) -> Result<(), PeerError> {
        while self.written < self.room.len() {
            match self.stream.write(&self.room[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.written > BACKLOG_BYTES {
                        self.room.drain(..self.written);
                        self.written = 0;
                    }
                    return Ok(());
                }
                Err(error) => return Err(PeerError::socket("publish")(error)),
            }
        }
        self.room.clear();
        self.written = 0;
        Ok(())
    }

    /// Reads away what the server says.
    pub(super) fn drain(&mut self) {
        let mut room = [0; 4096];
        while matches!(self.stream.read(&mut room), Ok(1..)) {}
    }
}

/// A connection whose calls wait, for the opening.
pub(super) fn connect(address: std::net::SocketAddr) -> Result<TcpStream, PeerError> {
    let failed = PeerError::socket("connect");
    let stream = TcpStream::connect(address).map_err(&failed)?;
    stream.set_nodelay(true).map_err(&failed)?;
    stream.set_read_timeout(Some(super::process::PATIENCE)).map_err(&failed)?;
    Ok(stream)
}

/// Reads until `is_there` finds what is awaited and says where it ends. Returns
/// what came behind it.
pub(super) fn read_until(
    stream: &mut TcpStream,
    mut early: Vec<u8>,
    is_there: impl Fn(&[u8]) -> Option<usize>,
) -> Result<Vec<u8>, PeerError> {
    let mut room = [0; 4096];
    loop {
        if let Some(end) = is_there(&early) {
            return Ok(early.split_off(end));
        }
        match stream.read(&mut room).map_err(PeerError::socket("open a connection"))? {
            0 => {
                let error = io::ErrorKind::UnexpectedEof.into();
                return Err(PeerError::Socket { what: "the server hung up in the opening", error });
            }
            count => early.extend_from_slice(&room[..count]),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Has a protocol take these bytes, split in two at every place: each time
    /// it must find these updates.
    pub(in crate::peers) fn assert_takes_from_any_split<W: Wire>(bytes: &[u8], stamps: &[Stamp]) {
        for split in 0..=bytes.len() {
            let mut taken = Vec::new();
            let first = W::take(&bytes[..split], |stamp| taken.extend(stamp)).unwrap();
            let rest = W::take(&bytes[first..], |stamp| taken.extend(stamp)).unwrap();
            assert_eq!(first + rest, bytes.len(), "split at {split}");
            assert_eq!(taken, stamps, "split at {split}");
        }
    }

    /// Updates and nothing around them.
    struct Bare;

    impl Wire for Bare {
        const TAIL_BYTES: usize = 0;

        fn message(_: &str) -> Vec<u8> {
            vec![0; UPDATE_BYTES]
        }

        fn take(bytes: &[u8], mut each: impl FnMut(Option<Stamp>)) -> Result<usize, PeerError> {
            let whole = bytes.chunks_exact(UPDATE_BYTES);
            let rest = whole.remainder().len();
            whole.for_each(|update| each(Stamp::read_plain(update)));
            Ok(bytes.len() - rest)
        }
    }

    #[test]
    fn what_is_published_is_read_whole_and_in_order() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = connect(listener.local_addr().unwrap()).unwrap();
        let mut writer = Writer::new(listener.accept().unwrap().0).unwrap();
        let mut tally = Tally::new(Workload { clients: 1, items: 1, watchers: 1 });
        let mut readers = Readers::new(vec![(client, Vec::new())]).unwrap();
        let mut update = [0; UPDATE_BYTES];
        // More than the sockets take at once: parts of updates are met.
        for number in 0..100_000 {
            Stamp { due_ns: 1, number }.write_plain(&mut update);
            writer.send(&update);
        }
        assert!(writer.is_behind());
        while tally.received < 100_000 {
            writer.flush().unwrap();
            readers.poll::<Bare>(&mut tally).unwrap();
        }
        assert!(!writer.is_behind());
        assert_eq!((tally.received, tally.bad), (100_000, 0));
        drop(writer);
        let error = loop {
            match readers.poll::<Bare>(&mut tally) {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(error.to_string().starts_with("the server hung up"), "{error}");
    }
}
