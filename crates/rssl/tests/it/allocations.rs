//! No allocation for a message, received or sent, once a connection is warm.

use crate::support::Dice;
use crate::support::pair::Pair;
use allocation_counter::measure;
use tapeline_rssl::{
    ClientConfig, Compression, Connection, Event, KeyExchange, Limits, Opening, Priority,
    ServerConfig,
};
use tapeline_time::Time;

/// One side writes, the other reads, over one buffer that stands for the
/// socket.
struct Link {
    from: Connection,
    to: Connection,
    socket: Vec<u8>,
}

/// Messages in one round. All of them together stay below what a queue keeps
/// when it is empty.
const MESSAGES: usize = 12;

#[derive(Clone, Copy, Debug)]
enum Way {
    Packed,
    PackedInPlace,
    OwnFrame,
    Fragments,
}

impl Link {
    fn new(opening: &Opening, compression: Compression) -> Self {
        let client = ClientConfig {
            opening: opening.clone(),
            compression,
            key_exchange: KeyExchange::Never,
            ..ClientConfig::default()
        };
        let server = ServerConfig { compression, ..ServerConfig::default() };
        let pair = Pair::connected(&client, &server, 1);
        Self {
            from: pair.server.connection,
            to: pair.client.connection,
            socket: Vec::with_capacity(1 << 20),
        }
    }

    fn write(&mut self, way: Way, message: &[u8]) {
        match way {
            Way::Packed => {
                let copy = self.from.pack(Priority::High, message).unwrap();
                copy[4..8].copy_from_slice(&7_u32.to_be_bytes());
            }
            Way::PackedInPlace => {
                let mut room = self.from.pack_room(Priority::High, message.len()).unwrap();
                room.copy_from_slice(message);
                room.commit(message.len());
            }
            Way::OwnFrame | Way::Fragments => {
                self.from.send_parts(Priority::High, &[&message[..4], &message[4..]]).unwrap();
            }
        }
    }

    /// Moves all that waits, and returns the number of messages that came.
    fn carry(&mut self) -> usize {
        self.from.flush();
        while let Some(transmit) = self.from.poll_transmit() {
            for slice in transmit.iter() {
                self.socket.extend_from_slice(slice);
            }
            let count = transmit.total_bytes();
            self.from.sent(count, Time::ZERO);
        }
        let mut messages = 0;
        let mut rest = &self.socket[..];
        while !rest.is_empty() {
            let room = self.to.recv_buffer();
            let count = room.len().min(rest.len());
            room[..count].copy_from_slice(&rest[..count]);
            rest = &rest[count..];
            self.to.received(count, Time::ZERO);
            while let Some(event) = self.to.poll_event() {
                match event {
                    Event::Message(_) => messages += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
        self.socket.clear();
        messages
    }

    #[track_caller]
    fn round(&mut self, way: Way, message: &[u8]) {
        for _ in 0..MESSAGES {
            self.write(way, message);
        }
        assert_eq!(self.carry(), MESSAGES);
    }
}

#[test]
fn a_warm_connection_does_not_allocate() {
    let host = "h:1".to_owned();
    let openings = [
        Opening::Socket,
        Opening::WebSocket { host: host.clone(), path: "/WebSocket".to_owned() },
        Opening::HttpTunnel { host, path: "/".to_owned(), process_id: 1, address: [0; 4] },
    ];
    let update = b"\x00\x09\x04\x06\x00\x00\x00\x00TRI.N BID 45.12 ASK 45.15 ".repeat(4);
    let long = update.repeat(60);
    for opening in &openings {
        for compression in [Compression::None, Compression::Zlib, Compression::Lz4] {
            for way in [Way::Packed, Way::PackedInPlace, Way::OwnFrame, Way::Fragments] {
                let message = if matches!(way, Way::Fragments) { &long } else { &update };
                let mut link = Link::new(opening, compression);
                for _ in 0..3 {
                    link.round(way, message);
                }
                let counted = measure(|| {
                    for _ in 0..5 {
                        link.round(way, message);
                    }
                });
                assert_eq!(counted.count_total, 0, "{opening:?} {compression:?} {way:?}");
            }
        }
    }
}

#[test]
fn hostile_input_costs_no_more_memory_than_stated() {
    let limits = Limits {
        message_bytes: 100_000,
        reassembly_bytes: 300_000,
        reassembly_count: 8,
        ..Limits::default()
    };
    for (seed, compression) in
        [Compression::None, Compression::Zlib, Compression::Lz4].into_iter().enumerate()
    {
        let client = ClientConfig { compression, ..ClientConfig::default() };
        let server =
            ServerConfig { compression, limits: limits.clone(), ..ServerConfig::default() };
        let mut pair = Pair::connected(&client, &server, 1);
        let mut dice = Dice(seed as u64);
        let counted = measure(|| {
            // Eight messages at once, each now and then started anew with
            // another size.
            for _ in 0..3000 {
                let id = dice.up_to(7) as u8;
                let is_first = dice.up_to(30) == 0;
                let total = 590 + 594 * (30 + dice.up_to(30) as u32);
                let mut frame = if is_first { vec![0, 0, 3, 8] } else { vec![0, 0, 3, 4] };
                if is_first {
                    frame.extend(total.to_be_bytes());
                }
                frame.extend([0, id]);
                frame.resize(600, 7);
                frame[..2].copy_from_slice(&600_u16.to_be_bytes());
                feed(&mut pair.server.connection, &frame);
            }
        });
        assert_eq!(pair.server.connection.close_reason(), None);
        let bound = limits.receive_memory_bytes(6144) as u64;
        assert!(counted.bytes_max <= bound, "{} of {bound}", counted.bytes_max);
        assert!(counted.bytes_max > 100_000, "{} is no load", counted.bytes_max);
    }
}

fn feed(connection: &mut Connection, frame: &[u8]) {
    connection.recv_buffer()[..frame.len()].copy_from_slice(frame);
    connection.received(frame.len(), Time::ZERO);
    while let Some(event) = connection.poll_event() {
        assert!(matches!(event, Event::Message(_)), "{event:?}");
    }
}

#[test]
fn the_counter_counts() {
    let counted = measure(|| drop(std::hint::black_box(vec![1_u8; 10])));
    assert_eq!(counted.count_total, 1);
}
