//! A client and a server joined by a wire in memory, under a clock that only
//! the test moves.

use std::time::Duration;

use tapeline_rssl::{
    ClientConfig, CloseReason, Connection, Event, Negotiated, Priority, ServerConfig,
};
use tapeline_time::Time;

use super::Dice;

/// One end and all that it saw.
pub(crate) struct Side {
    pub(crate) connection: Connection,
    pub(crate) connected: Option<Negotiated>,
    pub(crate) messages: Vec<Vec<u8>>,
    /// Beginning, length and bound of messages that were passed over.
    pub(crate) too_long: Vec<(Vec<u8>, usize, usize)>,
    pub(crate) closed: Option<CloseReason>,
    /// All bytes it sent.
    pub(crate) wire: Vec<u8>,
    /// Bytes sent and not yet delivered to the other end.
    in_flight: Vec<u8>,
}

impl Side {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            connected: None,
            messages: Vec::new(),
            too_long: Vec::new(),
            closed: None,
            wire: Vec::new(),
            in_flight: Vec::new(),
        }
    }

    fn poll(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected(negotiated) => self.connected = Some(negotiated.clone()),
                Event::Message(bytes) => self.messages.push(bytes.to_vec()),
                Event::TooLong { head, length, max } => {
                    self.too_long.push((head.to_vec(), length, max));
                }
                Event::OtherSubprotocol(name) => panic!("{name}"),
                Event::Closed(reason) => self.closed = Some(reason),
            }
        }
    }

    /// Writes up to `most` bytes to the wire; true when there were any.
    fn transmit(&mut self, most: usize, now: Time) -> bool {
        let Some(transmit) = self.connection.poll_transmit() else { return false };
        let mut left = most;
        for slice in transmit.iter() {
            let part = &slice[..slice.len().min(left)];
            left -= part.len();
            self.wire.extend_from_slice(part);
            self.in_flight.extend_from_slice(part);
        }
        self.connection.sent(most - left, now);
        most > left
    }

    /// Reads up to `most` bytes from the other end; true when there were any.
    fn receive(&mut self, from: &mut Vec<u8>, most: usize, now: Time) -> bool {
        let room = self.connection.recv_buffer();
        let count = room.len().min(most).min(from.len());
        room[..count].copy_from_slice(&from[..count]);
        self.connection.received(count, now);
        from.drain(..count);
        self.poll();
        count > 0
    }
}

/// Both ends.
pub(crate) struct Pair {
    pub(crate) client: Side,
    pub(crate) server: Side,
    pub(crate) now: Time,
    dice: Dice,
    /// Most bytes in one read or write.
    pub(crate) piece: usize,
}

impl Pair {
    pub(crate) fn new(client: &ClientConfig, server: &ServerConfig, seed: u64) -> Self {
        let now = Time::from_nanos(1_000_000_000);
        Self {
            client: Side::new(Connection::client(client, seed, now).unwrap()),
            server: Side::new(Connection::server(server, !seed, now).unwrap()),
            now,
            dice: Dice(seed),
            piece: 5000,
        }
    }

    /// A pair that has shaken hands.
    #[track_caller]
    pub(crate) fn connected(client: &ClientConfig, server: &ServerConfig, seed: u64) -> Self {
        let mut pair = Self::new(client, server, seed);
        pair.run();
        assert!(pair.client.connected.is_some(), "{:?}", pair.client.closed);
        assert!(pair.server.connected.is_some(), "{:?}", pair.server.closed);
        pair
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.client.connection.handle_timeout(self.now);
        self.server.connection.handle_timeout(self.now);
    }

    /// The same for a server that hears nothing, and that nobody hears.
    pub(crate) fn pass_at_server(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.server.connection.handle_timeout(self.now);
        self.server.transmit(usize::MAX, self.now);
        self.server.in_flight.clear();
        self.server.poll();
    }

    /// Moves bytes in pieces of random size until both ends are quiet.
    pub(crate) fn run(&mut self) {
        self.client.poll();
        self.server.poll();
        loop {
            let mut most = || 1 + self.dice.up_to(self.piece - 1);
            let sizes = [most(), most(), most(), most()];
            let now = self.now;
            let mut moved = self.client.transmit(sizes[0], now);
            moved |= self.server.transmit(sizes[1], now);
            moved |= self.server.receive(&mut self.client.in_flight, sizes[2], now);
            moved |= self.client.receive(&mut self.server.in_flight, sizes[3], now);
            if !moved {
                return;
            }
        }
    }

    /// Gives bytes to the server as if the client had sent them.
    pub(crate) fn inject_to_server(&mut self, bytes: &[u8]) {
        self.client.in_flight.extend_from_slice(bytes);
        self.run();
    }

    /// Gives bytes to a server that cannot send: nobody reads what it says.
    pub(crate) fn give_to_server(&mut self, bytes: &[u8]) {
        let mut bytes = bytes.to_vec();
        while self.server.receive(&mut bytes, usize::MAX, self.now) {}
    }

    /// Gives bytes to the client as if the server had sent them.
    pub(crate) fn inject_to_client(&mut self, bytes: &[u8]) {
        self.server.in_flight.extend_from_slice(bytes);
        self.run();
    }

    /// Loses what is on the way.
    pub(crate) fn drop_in_flight(&mut self) {
        self.client.transmit(usize::MAX, self.now);
        self.server.transmit(usize::MAX, self.now);
        self.client.in_flight.clear();
        self.server.in_flight.clear();
    }
}

/// A message that tells its priority and number, of any length from 8 bytes.
pub(crate) fn numbered(priority: Priority, number: u32, length: usize, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = match priority {
        Priority::High => b"H---",
        Priority::Medium => b"M---",
        Priority::Low => b"L---",
    }
    .to_vec();
    bytes.extend(number.to_be_bytes());
    let rest = length.max(8) - 8;
    if dice.up_to(1) == 0 {
        bytes.extend(dice.bytes(rest));
    } else {
        bytes.extend(b"TRI.N BID 45.12 ASK 45.15 ".iter().cycle().take(rest));
    }
    bytes
}
