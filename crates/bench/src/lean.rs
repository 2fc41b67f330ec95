//! Clients that cost little: what is measured with them is the server, not them.
//!
//! They log in and open their items as any consumer does. From then on each is a
//! socket that is read from rarely and much at once, and updates are counted where
//! the kernel has put them:
//!
//! ```text
//!   socket ──▶ room, 256 KiB for all clients ──▶ frame by frame:
//!                | length | 0x12 | n | message | n | message | ...   taken in place
//!                | length | other flags | ...                        to the connection
//! ```
//!
//! What is no plain or packed frame (pings, parts of large messages) goes to the
//! connection's state machine, and so does one frame in each second, from which it
//! knows that the server is there.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tapeline_api::{ConsumerCore, ConsumerInput, ConsumerOutputs};
use tapeline_channel::{Sent, random_seed};
use tapeline_rssl::{ClientConfig, Connection, Event, Priority};
use tapeline_time::{MonotonicClock, Time};

use crate::BenchError;
use crate::consumers::{Reader, core_of};

/// Bytes of a read.
const READ_BYTES: usize = 256 << 10;

/// Sockets are gone round no more often than this when all images are there: what
/// has gathered by then is read at once.
pub(crate) const ROUND: Duration = Duration::from_millis(1);

/// So often a frame goes to the connection whatever it is.
const SHOWN: Duration = Duration::from_secs(1);

/// Consumers that share a loop; clients are counted from 0.
pub(crate) struct LeanConsumers {
    clock: MonotonicClock,
    /// Of each server; clients take them in turn.
    addresses: Vec<SocketAddr>,
    all: Vec<Client>,
    room: Room,
    next_round: Time,
}

struct Client {
    core: ConsumerCore,
    link: Link,
    /// The first bytes of a frame whose other ones have not come.
    begun: Vec<u8>,
    /// When a frame goes to the connection again.
    shown_next: Time,
}

#[derive(Default)]
struct Link {
    pair: Option<(TcpStream, Connection)>,
    wants_session: bool,
    /// Why there is no connection any more.
    lost: Option<String>,
}

impl ConsumerOutputs for Link {
    fn connect(&mut self, _: usize) {
        self.wants_session = true;
    }

    fn send(&mut self, message: &[u8]) -> Sent {
        let Some((_, connection)) = &mut self.pair else { return Sent::Gone };
        match connection.send(Priority::High, message) {
            Ok(()) => Sent::Queued,
            Err(_) => Sent::TooLarge,
        }
    }

    fn disconnect(&mut self, _: &str) {
        self.pair = None;
    }
}

impl Link {
    fn connect(&mut self, address: SocketAddr, now: Time) -> Result<(), String> {
        let socket = TcpStream::connect(address).map_err(|error| error.to_string())?;
        let tuned = socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true));
        tuned.map_err(|error| error.to_string())?;
        let connection = Connection::client(&ClientConfig::default(), random_seed(), now)
            .map_err(|error| error.to_string())?;
        self.pair = Some((socket, connection));
        Ok(())
    }

    fn write(&mut self, now: Time) {
        let Some((socket, connection)) = &mut self.pair else { return };
        connection.flush();
        while let Some(transmit) = connection.poll_transmit() {
            match socket.write_vectored(&transmit) {
                Ok(count) => connection.sent(count, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.lost = Some(error.to_string());
                    return;
                }
            }
        }
    }
}

impl LeanConsumers {
    /// None yet; those to come are spread over these servers.
    pub(crate) fn of(addresses: &[SocketAddr]) -> Self {
        Self {
            clock: MonotonicClock::start(),
            addresses: addresses.to_vec(),
            all: Vec::new(),
            room: Room::default(),
            next_round: Time::ZERO,
        }
    }

    /// One more client, which opens these items when it is connected.
    pub(crate) fn add(
        &mut self,
        service: &str,
        items: impl Iterator<Item = String>,
    ) -> Result<(), BenchError> {
        let number = self.all.len();
        let mut link = Link::default();
        let now = self.clock.now();
        let core = core_of(number, self.address(number), (service, items), (now, &mut link))?;
        self.all.push(Client { core, link, begun: Vec::new(), shown_next: Time::ZERO });
        Ok(())
    }

    fn address(&self, client: usize) -> SocketAddr {
        self.addresses[client % self.addresses.len()]
    }

    /// Reads and writes what there is: in every call as long as somebody waits for
    /// something, then once in each round. Returns how many reads brought bytes.
    pub(crate) fn poll<R: Reader>(&mut self, is_waiting: bool, reader: &mut R) -> usize {
        let now = self.clock.now();
        if !is_waiting && now < self.next_round {
            return 0;
        }
        self.next_round = now.after(ROUND);
        let mut reads = 0;
        for number in 0..self.all.len() {
            let address = self.address(number);
            let client = &mut self.all[number];
            client.run_timers(address, now, reader);
            reads += usize::from(client.read((number, now), &mut self.room, reader));
            client.settle(now, reader);
        }
        reads
    }
}

impl Client {
    fn run_timers<R: Reader>(&mut self, address: SocketAddr, now: Time, reader: &mut R) {
        let Self { core, link, begun, .. } = self;
        if core.next_deadline().is_some_and(|deadline| deadline <= now) {
            core.handle_timeout(now, link, reader);
        }
        if std::mem::take(&mut link.wants_session) {
            begun.clear();
            let failed = link.connect(address, now).err();
            link.lost = failed;
        }
        if let Some((_, connection)) = &mut link.pair
            && connection.next_deadline().is_some_and(|deadline| deadline <= now)
        {
            connection.handle_timeout(now);
        }
    }

    /// One read. Returns whether it brought anything.
    fn read<R: Reader>(&mut self, whose: (usize, Time), room: &mut Room, reader: &mut R) -> bool {
        let Some((socket, _)) = &mut self.link.pair else { return false };
        match room.read(socket, &mut self.begun) {
            Ok(Some(bytes)) => {
                self.take(whose, bytes, reader);
                true
            }
            Ok(None) => false,
            Err(error) => {
                self.link.lost = Some(error.to_string());
                false
            }
        }
    }

    /// Takes bytes of the stream, which begin with a frame.
    fn take<R: Reader>(&mut self, whose: (usize, Time), bytes: &[u8], reader: &mut R) {
        let mut rest = bytes;
        while let Some((_, connection)) = &mut self.link.pair {
            if !connection.is_active() || !connection.unread().is_empty() {
                // The handshake is no frames; and what it has begun it ends.
                return self.show(whose, rest, reader);
            }
            let Some(frame) = Frame::first(rest) else {
                self.begun.extend_from_slice(rest);
                return;
            };
            let (whole, behind) = rest.split_at(frame.bytes);
            rest = behind;
            let is_due = whose.1 >= self.shown_next;
            let is_taken = !is_due
                && frame.messages(whole, |message| {
                    if !reader.takes(whose.0, message) {
                        let input = ConsumerInput::Message(message);
                        self.core.handle(whose.1, input, &mut self.link, reader);
                    }
                });
            if !is_taken {
                self.show(whose, whole, reader);
                self.shown_next = whose.1.after(SHOWN);
            }
        }
    }

    /// Has the connection itself take these bytes.
    fn show<R: Reader>(&mut self, whose: (usize, Time), mut bytes: &[u8], reader: &mut R) {
        let Self { core, link, .. } = self;
        let (number, now) = whose;
        loop {
            let Some((_, connection)) = &mut link.pair else { return };
            let spare = connection.recv_buffer();
            let count = spare.len().min(bytes.len());
            spare[..count].copy_from_slice(&bytes[..count]);
            connection.received(count, now);
            bytes = &bytes[count..];
            // What is sent in answer needs the connection that the event is of.
            let mut messages: Vec<Vec<u8>> = Vec::new();
            let mut is_new = false;
            while let Some(event) = connection.poll_event() {
                match event {
                    Event::Connected(_) => is_new = true,
                    Event::Message(message) if reader.takes(number, message) => {}
                    Event::Message(message) => messages.push(message.to_vec()),
                    Event::Closed(reason) => link.lost = Some(reason.to_string()),
                    Event::TooLong { .. } | Event::OtherSubprotocol(_) => {}
                }
            }
            if is_new {
                core.handle(now, ConsumerInput::Opened, link, reader);
            }
            for message in messages {
                core.handle(now, ConsumerInput::Message(&message), link, reader);
            }
            if bytes.is_empty() || link.lost.is_some() {
                return;
            }
        }
    }

    /// Tells of a connection that is lost, and writes what waits.
    fn settle<R: Reader>(&mut self, now: Time, reader: &mut R) {
        self.link.write(now);
        if let Some(reason) = self.link.lost.take() {
            self.link.pair = None;
            let input = ConsumerInput::Closed { reason: &reason };
            self.core.handle(now, input, &mut self.link, reader);
        }
    }
}

/// Where the kernel puts what is read, for one client after the other.
#[derive(Debug, Default)]
pub(crate) struct Room(Vec<u8>);

impl Room {
    /// One read, behind what had begun before. `None`: nothing came.
    pub(crate) fn read(
        &mut self,
        socket: &mut TcpStream,
        begun: &mut Vec<u8>,
    ) -> io::Result<Option<&[u8]>> {
        let (start, end) = (begun.len(), begun.len() + READ_BYTES);
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        let count = match socket.read(&mut self.0[start..end]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        self.0[..start].copy_from_slice(begun);
        begun.clear();
        Ok(Some(&self.0[..start + count]))
    }
}

/// A frame as its first three bytes tell of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) bytes: usize,
    flags: u8,
}

impl Frame {
    pub(crate) const HEAD_BYTES: usize = 3;
    const PLAIN: u8 = 0x02;
    pub(crate) const PACKED: u8 = 0x12;

    /// The first one of these bytes, if all of it is there.
    #[inline]
    pub(crate) fn first(bytes: &[u8]) -> Option<Self> {
        let [high, low, flags, ..] = *bytes else { return None };
        let length = usize::from(u16::from_be_bytes([high, low])).max(Self::HEAD_BYTES);
        (length <= bytes.len()).then_some(Self { bytes: length, flags })
    }

    /// The messages of a plain or packed frame, one after the other. False of any
    /// other, and of one that does not end with its last message.
    #[inline]
    pub(crate) fn messages(self, frame: &[u8], mut each: impl FnMut(&[u8])) -> bool {
        let body = &frame[Self::HEAD_BYTES..];
        match self.flags {
            Self::PLAIN if !body.is_empty() => {
                each(body);
                true
            }
            Self::PACKED => {
                let mut rest = body;
                while let Some((length, behind)) = rest.split_first_chunk() {
                    let length = usize::from(u16::from_be_bytes(*length));
                    let Some((message, behind)) = behind.split_at_checked(length) else {
                        return false;
                    };
                    each(message);
                    rest = behind;
                }
                rest.is_empty()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(frame: &[u8]) -> (bool, Vec<Vec<u8>>) {
        let mut all = Vec::new();
        let first = Frame::first(frame).unwrap();
        let is_taken = first.messages(frame, |message| all.push(message.to_vec()));
        (is_taken, all)
    }

    #[test]
    fn plain_and_packed_frames_are_taken_in_place() {
        let packed = b"\x00\x0D\x12\x00\x03abc\x00\x03def";
        assert_eq!(messages(packed), (true, vec![b"abc".to_vec(), b"def".to_vec()]));
        assert_eq!(messages(b"\x00\x05\x02ab"), (true, vec![b"ab".to_vec()]));
        assert_eq!(messages(b"\x00\x03\x02"), (false, vec![]), "a ping");
        assert_eq!(messages(b"\x00\x05\x03ab"), (false, vec![]), "a part of a message");
        assert!(!messages(b"\x00\x06\x12\x00\x03a").0, "a message that ends behind its frame");
    }

    #[test]
    fn a_frame_is_one_when_all_of_it_is_there() {
        let frame = b"\x00\x05\x02ab";
        for there in 0..frame.len() {
            assert_eq!(Frame::first(&frame[..there]), None);
        }
        assert_eq!(Frame::first(frame), Some(Frame { bytes: 5, flags: 0x02 }));
        // No length is so short that nothing would be passed over.
        assert_eq!(Frame::first(&[0, 0, 0, 9]), Some(Frame { bytes: 3, flags: 0 }));
    }
}
