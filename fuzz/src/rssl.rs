//! Sessions for the targets of `tapeline-rssl`.
//!
//! Every input of those targets begins with one byte that chooses the
//! session; the rest is what the peer sends:
//!
//! ```text
//!  bit 7       6         5..4         3..2           1..0
//! +-----------+---------+------------+--------------+----------------------------
//! | 1: client | active  | RIPC       | 0 none       | 0 socket, 1 WebSocket,
//! | 0: server |         | 14 minus n | 1 zlib 2 LZ4 | 2 tunnel
//! +-----------+---------+------------+--------------+----------------------------
//! ```

use tapeline_rssl::{
    ClientConfig, CloseReason, Compression, Connection, Event, KeyExchange, Limits, Opening,
    ServerConfig, Version,
};
use tapeline_time::Time;

/// The bits of the first byte.
pub const CLIENT: u8 = 0x80;
pub const ACTIVE: u8 = 0x40;
pub const ZLIB: u8 = 0x04;
pub const LZ4: u8 = 0x08;
pub const WEBSOCKET: u8 = 0x01;
pub const TUNNEL: u8 = 0x02;

/// The fragment size of all sessions, in bytes: that of most captures.
pub const FRAGMENT_BYTES: u16 = 1200;

/// Limits small enough to be reached by a short input; a message of each
/// priority may be in reassembly at once.
pub fn limits() -> Limits {
    Limits {
        receive_buffer_bytes: 3000,
        http_head_bytes: 1500,
        handshake_frame_bytes: 400,
        message_bytes: 20_000,
        reassembly_bytes: 60_000,
        reassembly_count: 4,
        output_bytes: 60_000,
        ..Limits::default()
    }
}

fn configurations(choice: u8) -> (ClientConfig, ServerConfig) {
    let host = "h:1".to_owned();
    let opening = match choice & 3 {
        WEBSOCKET => Opening::WebSocket { host, path: "/WebSocket".to_owned() },
        TUNNEL => {
            Opening::HttpTunnel { host, path: "/".to_owned(), process_id: 1, address: [0; 4] }
        }
        _ => Opening::Socket,
    };
    let compression = match choice & 0x0c {
        ZLIB => Compression::Zlib,
        LZ4 => Compression::Lz4,
        _ => Compression::None,
    };
    let client = ClientConfig {
        opening,
        compression,
        version: Version::NEWEST_FIRST[usize::from(choice >> 4 & 3)],
        key_exchange: KeyExchange::Always,
        limits: limits(),
        ..ClientConfig::default()
    };
    let server = ServerConfig {
        compression,
        // The only way to compression before RIPC 13.
        force_compression: choice & 0x20 != 0,
        fragment_bytes: FRAGMENT_BYTES,
        limits: limits(),
        ..ServerConfig::default()
    };
    (client, server)
}

/// The two ends of a session, nothing exchanged.
pub fn ends(choice: u8) -> (Connection, Connection) {
    let (client, server) = configurations(choice);
    (
        Connection::client(&client, 1, Time::ZERO).expect("the configuration is sound"),
        Connection::server(&server, 2, Time::ZERO).expect("the configuration is sound"),
    )
}

/// The end that `choice` names, in the state that it names.
pub fn connection(choice: u8) -> Connection {
    let (mut client, mut server) = ends(choice);
    if choice & ACTIVE != 0 {
        while carry(&mut client, &mut server, &mut |_| ())
            | carry(&mut server, &mut client, &mut |_| ())
        {}
        assert!(client.negotiated().is_some() && server.negotiated().is_some());
    }
    if choice & CLIENT == 0 { server } else { client }
}

/// Moves everything that waits from one end to the other; true if anything
/// did.
pub fn carry(from: &mut Connection, to: &mut Connection, on: &mut impl FnMut(Event<'_>)) -> bool {
    let mut moved = false;
    while let Some(transmit) = from.poll_transmit() {
        let bytes: Vec<u8> = transmit.iter().flat_map(|slice| slice.to_vec()).collect();
        from.sent(bytes.len(), Time::ZERO);
        feed(to, &bytes, on);
        moved = true;
    }
    moved
}

/// Gives bytes to a connection and takes all its events.
pub fn feed(connection: &mut Connection, bytes: &[u8], on: &mut impl FnMut(Event<'_>)) {
    let mut rest = bytes;
    loop {
        let room = connection.recv_buffer();
        let count = room.len().min(rest.len());
        room[..count].copy_from_slice(&rest[..count]);
        rest = &rest[count..];
        connection.received(count, Time::ZERO);
        while let Some(event) = connection.poll_event() {
            on(event);
        }
        if rest.is_empty() || connection.close_reason().is_some() || count == 0 {
            return;
        }
    }
}

/// What a session came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub connected: bool,
    pub messages: Vec<Vec<u8>>,
    pub other_subprotocol: Option<String>,
    pub closed: Option<CloseReason>,
    pub sent: Vec<u8>,
}

/// Runs one session over `bytes`, cut into pieces by `next_length`, and checks
/// the bounds on the way.
pub fn run(choice: u8, bytes: &[u8], mut next_length: impl FnMut() -> usize) -> Outcome {
    let mut connection = connection(choice);
    let bound = limits().receive_memory_bytes(FRAGMENT_BYTES);
    let mut outcome = Outcome::default();
    let mut rest = bytes;
    while !rest.is_empty() && outcome.closed.is_none() {
        let (piece, later) = rest.split_at(next_length().clamp(1, rest.len()));
        rest = later;
        listen(&mut connection, piece, &mut outcome);
        // A server of another fragment size is a server of the peer's choice.
        if connection.negotiated().is_none_or(|agreed| agreed.fragment_bytes <= FRAGMENT_BYTES) {
            assert!(connection.receive_memory_bytes() <= bound);
        }
        assert!(connection.queued_bytes() == 0, "all output was taken");
    }
    connection.peer_closed();
    listen(&mut connection, &[], &mut outcome);
    assert!(outcome.closed.is_some() || outcome.other_subprotocol.is_some());
    outcome
}

fn listen(connection: &mut Connection, piece: &[u8], outcome: &mut Outcome) {
    feed(connection, piece, &mut |event| match event {
        Event::Connected(_) => outcome.connected = true,
        Event::Message(bytes) => {
            assert!(!bytes.is_empty());
            outcome.messages.push(bytes.to_vec());
        }
        Event::OtherSubprotocol(name) => outcome.other_subprotocol = Some(name.to_owned()),
        Event::TooLong { head, length, max } => {
            assert!(head.len() != length && max > 0);
        }
        Event::Closed(reason) => {
            assert!(!reason.to_string().is_empty());
            assert!(outcome.closed.is_none(), "closed once");
            outcome.closed = Some(reason);
        }
    });
    while let Some(transmit) = connection.poll_transmit() {
        let before = outcome.sent.len();
        transmit.iter().for_each(|slice| outcome.sent.extend_from_slice(slice));
        connection.sent(outcome.sent.len() - before, Time::ZERO);
    }
}

/// The usual target: the first byte chooses within `mask`, `fixed` is added.
pub fn target(data: &[u8], mask: u8, fixed: u8) {
    if let Some((choice, bytes)) = data.split_first() {
        run(choice & mask | fixed, bytes, || usize::MAX);
    }
}
