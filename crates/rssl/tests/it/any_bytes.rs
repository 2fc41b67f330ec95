//! Whatever bytes come, in whatever state: no panic, no more memory than
//! stated, and the same outcome however the bytes are cut.

use crate::support::pair::Pair;
use crate::support::{self, Dice, Heard, Split};
use proptest::collection::vec;
use proptest::prelude::*;
use tapeline_rssl::follow::{FrameReceiver, Handshake};
use tapeline_rssl::{
    ClientConfig, CloseReason, Compression, Connection, Limit, Limits, Opening, ServerConfig,
    Version,
};
use tapeline_time::Time;

const FRAGMENT_BYTES: u16 = 600;

fn limits() -> Limits {
    Limits {
        receive_buffer_bytes: 1500,
        http_head_bytes: 1000,
        handshake_frame_bytes: 400,
        message_bytes: 20_000,
        reassembly_bytes: 50_000,
        reassembly_count: 4,
        output_bytes: 30_000,
        ..Limits::default()
    }
}

/// Where a connection stands when the bytes come.
#[derive(Clone, Copy, Debug)]
struct Place {
    is_client: bool,
    is_active: bool,
    carrier: usize,
    compression: usize,
    version: usize,
}

fn place() -> impl Strategy<Value = Place> {
    (any::<bool>(), any::<bool>(), 0..3_usize, 0..3_usize, 0..4_usize).prop_map(
        |(is_client, is_active, carrier, compression, version)| Place {
            is_client,
            is_active,
            carrier,
            compression,
            version,
        },
    )
}

impl Place {
    fn connection(self) -> Connection {
        let host = "h:1".to_owned();
        let opening = [
            Opening::Socket,
            Opening::WebSocket { host: host.clone(), path: "/WebSocket".to_owned() },
            Opening::HttpTunnel { host, path: "/".to_owned(), process_id: 1, address: [0; 4] },
        ][self.carrier]
            .clone();
        let compression =
            [Compression::None, Compression::Zlib, Compression::Lz4][self.compression];
        let client = ClientConfig {
            opening,
            compression,
            version: Version::NEWEST_FIRST[self.version],
            limits: limits(),
            ..ClientConfig::default()
        };
        let server = ServerConfig {
            compression,
            fragment_bytes: FRAGMENT_BYTES,
            limits: limits(),
            ..ServerConfig::default()
        };
        match (self.is_active, self.is_client) {
            (false, true) => Connection::client(&client, 1, Time::ZERO).unwrap(),
            (false, false) => Connection::server(&server, 1, Time::ZERO).unwrap(),
            (true, is_client) => {
                let pair = Pair::connected(&client, &server, 1);
                if is_client { pair.client.connection } else { pair.server.connection }
            }
        }
    }
}

/// Bytes that get further than noise does: frames with likely headers.
#[derive(Clone, Debug)]
enum Piece {
    Noise(Vec<u8>),
    Frame { flags: u8, extended: u8, body: Vec<u8> },
    First { id: u8, total: u32, body: Vec<u8> },
    WebSocket { opcode: u8, masked: bool, body: Vec<u8> },
    Chunk { body: Vec<u8> },
    Text(&'static str),
}

fn piece() -> impl Strategy<Value = Piece> {
    let flags = prop::sample::select(vec![0, 1, 2, 3, 4, 5, 8, 0x0c, 0x0d, 0x12, 0x14, 0x1c, 0x81]);
    let body = || vec(any::<u8>(), 0..80);
    prop_oneof![
        1 => vec(any::<u8>(), 0..40).prop_map(Piece::Noise),
        4 => (flags, prop::sample::select(vec![0, 1, 2, 4, 8]), body())
            .prop_map(|(flags, extended, body)| Piece::Frame { flags, extended, body }),
        4 => (0..6_u8, 0..25_000_u32, body())
            .prop_map(|(id, total, body)| Piece::First { id, total, body }),
        2 => (prop::sample::select(vec![0, 1, 2, 8, 9, 10, 15]), any::<bool>(), body())
            .prop_map(|(opcode, masked, body)| Piece::WebSocket { opcode, masked, body }),
        1 => body().prop_map(|body| Piece::Chunk { body }),
        1 => prop::sample::select(vec![
            "GET /WebSocket HTTP/1.1\r\n",
            "POST / HTTP/1.1\r\n",
            "HTTP/1.1 101 X\r\n",
            "Upgrade: websocket\r\nConnection: Upgrade\r\n",
            "Sec-WebSocket-Key: k\r\nSec-WebSocket-Version: 13\r\n",
            "Sec-WebSocket-Protocol: rssl.rwf\r\n",
            "\r\n",
        ])
        .prop_map(Piece::Text),
    ]
}

fn frame(flags: u8, rest: &[u8]) -> Vec<u8> {
    let mut out = (rest.len() as u16 + 3).to_be_bytes().to_vec();
    out.push(flags);
    out.extend_from_slice(rest);
    out
}

impl Piece {
    const fn is_frame(&self) -> bool {
        matches!(self, Self::Frame { .. } | Self::First { .. })
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Noise(bytes) => bytes.clone(),
            Self::Frame { flags, extended, body } if flags & 1 == 1 => {
                frame(*flags, &[&[*extended][..], body].concat())
            }
            Self::Frame { flags, body, .. } => frame(*flags, body),
            Self::First { id, total, body } => {
                frame(3, &[&[8][..], &total.to_be_bytes(), &[0, *id], body].concat())
            }
            Self::WebSocket { opcode, masked, body } => {
                let inner = if *opcode == 2 { frame(2, body) } else { body.clone() };
                let mut out = vec![0x80 | opcode, inner.len() as u8];
                if *masked {
                    out[1] |= 0x80;
                    out.extend([0; 4]);
                }
                out.extend(inner);
                out
            }
            Self::Chunk { body } => {
                let inner = frame(2, body);
                [format!("{:x};\r\n", inner.len()).as_bytes(), &inner, b"\r\n"].concat()
            }
            Self::Text(text) => text.as_bytes().to_vec(),
        }
    }
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..30).prop_map(|pieces| pieces.iter().flat_map(Piece::bytes).collect())
}

fn listen(place: Place, bytes: &[u8], split: Split) -> Heard {
    let mut connection = place.connection();
    let bound = limits().receive_memory_bytes(FRAGMENT_BYTES);
    let mut heard = Heard::default();
    for piece in split.pieces(bytes) {
        heard.feed(&mut connection, piece);
        let held = connection.receive_memory_bytes();
        assert!(held <= bound, "{held} bytes held, {bound} stated");
        if heard.closed.is_some() {
            break;
        }
    }
    heard.hang_up(&mut connection);
    assert!(heard.closed.is_some() || heard.other_subprotocol.is_some());
    heard
}

/// What was said over WebSocket but for pongs: of the pings that come before one
/// is answered, only the last is.
fn without_pongs(mut sent: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let [head, length, rest @ ..] = sent {
        let (length, rest) = match (length & 0x7f, rest) {
            (126, [high, low, rest @ ..]) => (u16::from_be_bytes([*high, *low]).into(), rest),
            (length, rest) => (usize::from(length), rest),
        };
        let (mask, rest) = rest.split_at(if sent[1] & 0x80 == 0 { 0 } else { 4 });
        let (body, rest) = rest.split_at(length);
        let mask = mask.iter().copied().cycle().chain(std::iter::repeat(0));
        if *head != 0x8a {
            frames.push((*head, body.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()));
        }
        sent = rest;
    }
    frames
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_in_any_state_end_the_same_however_cut(
        place in place(),
        bytes in stream(),
        seed in any::<u64>(),
    ) {
        let splits = [Split::Whole, Split::Random(seed), Split::Bytewise];
        let mut heard = splits.map(|split| listen(place, &bytes, split));
        if place.is_active && place.carrier == 1 {
            let frames = heard.each_mut().map(|one| without_pongs(&std::mem::take(&mut one.sent)));
            prop_assert_eq!(&frames[0], &frames[1]);
            prop_assert_eq!(&frames[0], &frames[2]);
        }
        prop_assert_eq!(&heard[0], &heard[1]);
        prop_assert_eq!(&heard[0], &heard[2]);
    }

    #[test]
    fn a_follower_gets_what_a_connection_gets(place in place(), pieces in vec(piece(), 0..30)) {
        let place = Place { is_client: false, is_active: true, carrier: 0, ..place };
        let mut connection = place.connection();
        let agreed = connection.negotiated().expect("active").clone();
        let mut follower = FrameReceiver::new(agreed.version, agreed.compression, &limits());
        for frame in pieces.iter().filter(|piece| piece.is_frame()).map(Piece::bytes) {
            let mut heard = Heard::default();
            heard.feed(&mut connection, &frame);
            // A follower takes bodies beyond the agreed fragment size.
            if let Some(CloseReason::Limit { limit: Limit::DecompressedBody, .. }) = heard.closed {
                break;
            }
            let mut followed = Vec::new();
            let result = follower.frame(&frame, |message| followed.push(message.to_vec()));
            prop_assert_eq!(&heard.messages, &followed);
            prop_assert_eq!(heard.closed.as_ref(), result.as_ref().err());
            if result.is_err() {
                break;
            }
        }
    }

    #[test]
    fn any_frame_is_followed_without_harm(
        compression in 0..3_usize,
        pieces in vec(piece(), 0..30),
    ) {
        let compression = [Compression::None, Compression::Zlib, Compression::Lz4][compression];
        let mut follower = FrameReceiver::new(Version::V14, compression, &limits());
        for bytes in pieces.iter().map(Piece::bytes) {
            let _ = Handshake::parse(&bytes);
            let _ = follower.frame(&bytes, |message| assert!(!message.is_empty()));
        }
    }

    #[test]
    fn captured_sessions_with_flipped_bytes_do_no_harm(
        capture in any::<prop::sample::Index>(),
        to_server in any::<bool>(),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        seed in any::<u64>(),
    ) {
        let captures = CAPTURES.with(Clone::clone);
        let mut bytes = capture.get(&captures).stream(to_server);
        for (at, value) in flips {
            let at = at.index(bytes.len().max(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let place = Place {
            is_client: !to_server,
            is_active: false,
            carrier: 0,
            compression: (seed % 3) as usize,
            version: 0,
        };
        listen(place, &bytes, Split::Random(seed));
    }
}

thread_local! {
    static CAPTURES: std::rc::Rc<Vec<support::Capture>> =
        std::rc::Rc::new(support::Capture::all());
}

#[test]
fn hostile_fragments_are_held_within_the_bound() {
    let place = Place { is_client: false, is_active: true, carrier: 0, compression: 1, version: 0 };
    let mut dice = Dice(1);
    let mut most = 0;
    for _ in 0..200 {
        let mut connection = place.connection();
        let mut heard = Heard::default();
        while heard.closed.is_none() {
            let id = dice.up_to(4) as u8;
            let total = 1 + dice.up_to(12_500) as u32;
            let body = vec![0; dice.up_to(590)];
            let first = Piece::First { id, total, body: body.clone() }.bytes();
            heard.feed(&mut connection, &first);
            let next = frame(3, &[&[4, 0, id][..], &body].concat());
            heard.feed(&mut connection, &next);
            most = most.max(connection.receive_memory_bytes());
        }
    }
    let bound = limits().receive_memory_bytes(FRAGMENT_BYTES);
    assert!(most <= bound && most > 8_000, "{most} of {bound}");
}
