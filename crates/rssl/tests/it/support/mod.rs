//! What the scenarios share: the captures as bytes, a random source, and ways
//! to feed bytes in pieces.

use serde_json::Value;
use tapeline_golden::{transport_captures, unhex, vectors};
use tapeline_rssl::{CloseReason, Connection, Event};
use tapeline_time::Time;

pub(crate) mod frames;
pub(crate) mod pair;

/// `SplitMix64`, so that a failing test fails again.
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `most`.
    pub(crate) fn up_to(&mut self, most: usize) -> usize {
        (self.next() % (most as u64 + 1)) as usize
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// A message of a capture: its bytes, or what is known of a long one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Bytes(Vec<u8>),
    Long { length: usize, crc32: u32, head: Vec<u8> },
}

impl Expected {
    fn new(value: &Value) -> Self {
        if let Some(hex) = value["hex"].as_str() {
            return Self::Bytes(unhex(hex));
        }
        Self::Long {
            length: value["length"].as_u64().expect("length") as usize,
            crc32: u32::from_str_radix(value["crc32"].as_str().expect("crc32"), 16).expect("hex"),
            head: unhex(value["head"].as_str().expect("head")),
        }
    }

    #[track_caller]
    pub(crate) fn check(&self, got: &[u8], context: &str) {
        match self {
            Self::Bytes(bytes) => assert_eq!(got, bytes, "{context}"),
            Self::Long { length, crc32, head } => {
                let mut crc = flate2::Crc::new();
                crc.update(got);
                assert_eq!((got.len(), crc.sum()), (*length, *crc32), "{context}");
                assert!(got.starts_with(head), "{context}");
            }
        }
    }
}

/// One direction's record of a capture.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) to_server: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) note: String,
    pub(crate) messages: Vec<Expected>,
}

/// One TCP connection of a captured session.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(crate) name: String,
    pub(crate) records: Vec<Record>,
}

impl Capture {
    /// All of them; a session of several connections gives several.
    pub(crate) fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for file in transport_captures() {
            let session = file.strip_prefix("transport_").expect("a capture").to_owned();
            for value in vectors(&file) {
                let connection = value["connection"].as_u64().unwrap_or(0);
                let name = format!("{session}#{connection}");
                let record = Record {
                    to_server: value["direction"] == "client->server",
                    bytes: unhex(value["hex"].as_str().expect("hex")),
                    note: value["note"].as_str().unwrap_or_default().to_owned(),
                    messages: value["messages"]
                        .as_array()
                        .map(|all| all.iter().map(Expected::new).collect())
                        .unwrap_or_default(),
                };
                match all.iter_mut().find(|capture| capture.name == name) {
                    Some(capture) => capture.records.push(record),
                    None => all.push(Self { name, records: vec![record] }),
                }
            }
        }
        assert!(all.len() >= 34, "captures are missing");
        all
    }

    pub(crate) fn named(session: &str) -> Self {
        let name = format!("{session}#0");
        Self::all().into_iter().find(|capture| capture.name == name).expect("a known capture")
    }

    pub(crate) fn session(&self) -> &str {
        self.name.split('#').next().unwrap_or_default()
    }

    pub(crate) fn is_json(&self) -> bool {
        self.name.starts_with("ema-ws-json")
    }

    pub(crate) fn direction(&self, to_server: bool) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.to_server == to_server)
    }

    pub(crate) fn stream(&self, to_server: bool) -> Vec<u8> {
        self.direction(to_server).flat_map(|record| record.bytes.clone()).collect()
    }

    pub(crate) fn messages(&self, to_server: bool) -> Vec<Expected> {
        self.direction(to_server).flat_map(|record| record.messages.clone()).collect()
    }

    /// The first record of a direction whose note begins so.
    pub(crate) fn record(&self, to_server: bool, note: &str) -> Option<&Record> {
        self.direction(to_server).find(|record| record.note.starts_with(note))
    }
}

/// How to cut a byte stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Split {
    Whole,
    Bytewise,
    Random(u64),
}

impl Split {
    pub(crate) const SOME: [Self; 6] = [
        Self::Whole,
        Self::Bytewise,
        Self::Random(1),
        Self::Random(2),
        Self::Random(3),
        Self::Random(4),
    ];

    pub(crate) fn pieces(self, bytes: &[u8]) -> Vec<&[u8]> {
        let mut dice = Dice(match self {
            Self::Random(seed) => seed,
            _ => 0,
        });
        let mut rest = bytes;
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let count = match self {
                Self::Whole => rest.len(),
                Self::Bytewise => 1,
                // Mostly small pieces, now and then a large one.
                Self::Random(_) if dice.up_to(9) == 0 => 1 + dice.up_to(9000),
                Self::Random(_) => 1 + dice.up_to(40),
            };
            let (piece, later) = rest.split_at(count.min(rest.len()));
            pieces.push(piece);
            rest = later;
        }
        pieces
    }
}

/// Everything that one side saw and said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) connected: bool,
    pub(crate) messages: Vec<Vec<u8>>,
    pub(crate) too_long: usize,
    pub(crate) other_subprotocol: Option<String>,
    pub(crate) closed: Option<CloseReason>,
    pub(crate) sent: Vec<u8>,
}

impl Heard {
    /// Feeds one piece and takes all events.
    pub(crate) fn feed(&mut self, connection: &mut Connection, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() {
            let room = connection.recv_buffer();
            let count = room.len().min(rest.len());
            if count == 0 {
                assert!(connection.close_reason().is_some(), "an open connection has room");
                return;
            }
            room[..count].copy_from_slice(&rest[..count]);
            connection.received(count, Time::ZERO);
            rest = &rest[count..];
            self.poll(connection);
        }
    }

    pub(crate) fn poll(&mut self, connection: &mut Connection) {
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Connected(_) => self.connected = true,
                Event::Message(bytes) => self.messages.push(bytes.to_vec()),
                Event::TooLong { .. } => self.too_long += 1,
                Event::OtherSubprotocol(name) => self.other_subprotocol = Some(name.to_owned()),
                Event::Closed(reason) => self.closed = Some(reason),
            }
        }
        self.take_output(connection);
    }

    pub(crate) fn take_output(&mut self, connection: &mut Connection) {
        while let Some(transmit) = connection.poll_transmit() {
            let before = self.sent.len();
            for slice in transmit.iter() {
                self.sent.extend_from_slice(slice);
            }
            let count = self.sent.len() - before;
            connection.sent(count, Time::ZERO);
        }
    }

    pub(crate) fn hang_up(&mut self, connection: &mut Connection) {
        connection.peer_closed();
        self.poll(connection);
    }
}
