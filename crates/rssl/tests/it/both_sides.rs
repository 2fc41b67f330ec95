//! Client and server of this crate against each other: every version,
//! compression, fragment size and carrier.

use crate::support::Dice;
use crate::support::frames::{Around, Reading, after_head, unwrap};
use crate::support::pair::{Pair, Side, numbered};
use tapeline_rssl::{
    Carrier, ClientConfig, Compression, KeyExchange, Opening, Priority, SendError, ServerConfig,
    Version,
};

fn openings() -> [Opening; 3] {
    let host = "server:14002".to_owned();
    [
        Opening::Socket,
        Opening::WebSocket { host: host.clone(), path: "/WebSocket".to_owned() },
        Opening::HttpTunnel { host, path: "/".to_owned(), process_id: 7, address: [127, 0, 0, 1] },
    ]
}

/// Writes `count` messages in every way there is.
fn write_some(side: &mut Side, count: u32, longest: usize, dice: &mut Dice) -> Vec<Vec<u8>> {
    let mut written = Vec::new();
    for number in 0..count {
        let priority = Priority::ALL[dice.up_to(2)];
        let length = if dice.up_to(5) == 0 { dice.up_to(longest) } else { dice.up_to(300) };
        let message = numbered(priority, number, length, dice);
        let connection = &mut side.connection;
        if dice.up_to(1) == 0 && message.len() <= connection.pack_limit() {
            if dice.up_to(1) == 0 {
                let copy = connection.pack(priority, &message).unwrap();
                assert_eq!(copy, message);
            } else {
                let most = (message.len() + dice.up_to(20)).min(connection.pack_limit());
                let mut room = connection.pack_room(priority, most).unwrap();
                room[..message.len()].copy_from_slice(&message);
                room.commit(message.len());
            }
        } else {
            let (first, rest) = message.split_at(dice.up_to(message.len()));
            connection.send_parts(priority, &[first, &[], rest]).unwrap();
        }
        written.push(message);
        if dice.up_to(20) == 0 {
            connection.flush();
        }
    }
    side.connection.flush();
    written
}

#[track_caller]
fn check_order(written: &[Vec<u8>], got: &[Vec<u8>], context: &str) {
    assert_eq!(got.len(), written.len(), "{context}");
    for priority in [b'H', b'M', b'L'] {
        let of = |all: &[Vec<u8>]| -> Vec<Vec<u8>> {
            all.iter().filter(|message| message[0] == priority).cloned().collect()
        };
        assert!(of(written) == of(got), "{context}: order of {}", char::from(priority));
    }
}

/// Reads what a side sent a second time, by the documentation alone.
fn check_wire(side: &Side, is_server: bool, written: usize, context: &str) {
    let agreed = side.connected.as_ref().unwrap();
    let mut wire = &side.wire[..];
    let around = match agreed.carrier {
        Carrier::WebSocket => Around::WebSocket,
        Carrier::HttpTunnel if is_server => Around::Chunks,
        Carrier::Socket | Carrier::HttpTunnel => Around::Nothing,
    };
    if agreed.carrier != Carrier::Socket {
        wire = &wire[after_head(wire)..];
    }
    let (mut frames, controls) = unwrap(around, wire);
    assert!(controls.is_empty());
    // Request and key, or tunnel acknowledgement and ack.
    frames.retain(|frame| !matches!(frame[2], 0 | 8 | 0x80 | 0x81) && frame[2..4] != [1, 1]);
    let reading = Reading {
        m: usize::from(agreed.fragment_bytes),
        tunnel_down: around == Around::Chunks,
        one_byte_ids: agreed.version <= Version::V12,
        compression: match agreed.compression {
            Compression::None => 0,
            Compression::Zlib => 1,
            Compression::Lz4 => 2,
        },
    };
    let told = reading.read(&frames);
    assert_eq!(told.messages.len(), written, "{context}");
    assert!(told.fragments > 1, "{context}");
    assert!(told.packed_frames > 1 || agreed.fragment_bytes == 16, "{context}");
    if agreed.compression != Compression::None && agreed.fragment_bytes >= 600 {
        assert!(told.compressed_frames > 0 && told.plain_frames > 0, "{context}");
    }
}

#[test]
fn all_messages_arrive_in_order_in_every_combination() {
    let mut combinations = 0;
    for opening in openings() {
        for version in Version::NEWEST_FIRST {
            for compression in [Compression::None, Compression::Zlib, Compression::Lz4] {
                for (fragment_bytes, longest) in
                    [(16, 300), (100, 3_000), (600, 20_000), (6144, 100_000), (65_532, 200_000)]
                {
                    combinations += 1;
                    exchange(&opening, version, compression, fragment_bytes, longest, combinations);
                }
            }
        }
    }
    assert_eq!(combinations, 180);
}

fn exchange(
    opening: &Opening,
    version: Version,
    compression: Compression,
    fragment_bytes: u16,
    longest: usize,
    seed: u64,
) {
    let context = format!("{opening:?} {version:?} {compression:?} M={fragment_bytes}");
    let client = ClientConfig {
        version,
        opening: opening.clone(),
        compression,
        key_exchange: KeyExchange::Always,
        ..ClientConfig::default()
    };
    let server = ServerConfig {
        fragment_bytes,
        compression,
        force_compression: seed.is_multiple_of(2),
        compression_level: (seed % 10) as u8,
        ..ServerConfig::default()
    };
    let mut pair = Pair::connected(&client, &server, seed);
    let agreed = pair.client.connected.clone().unwrap();
    assert_eq!(agreed.version, version);
    assert_eq!(agreed.fragment_bytes, fragment_bytes);
    let compresses = version >= Version::V13 || server.force_compression;
    let expected = if compresses { compression } else { Compression::None };
    assert_eq!(agreed.compression, expected, "{context}");
    let shared = pair.server.connected.as_ref().unwrap().shared_key;
    assert_eq!(agreed.shared_key, shared, "{context}");
    assert_eq!(shared.is_some(), version == Version::V14, "{context}");

    let mut dice = Dice(seed);
    pair.piece = 1 + dice.up_to(20_000);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        up.extend(write_some(&mut pair.client, 40, longest, &mut dice));
        down.extend(write_some(&mut pair.server, 40, longest, &mut dice));
        pair.run();
    }
    check_order(&up, &pair.server.messages, &context);
    check_order(&down, &pair.client.messages, &context);
    check_wire(&pair.client, false, up.len(), &context);
    check_wire(&pair.server, true, down.len(), &context);
}

#[test]
fn fragments_are_cut_at_the_documented_sizes() {
    for (version, first, next) in [(Version::V14, 93, 97), (Version::V12, 94, 98)] {
        let client = ClientConfig { version, ..ClientConfig::default() };
        let server = ServerConfig { fragment_bytes: 100, ..ServerConfig::default() };
        let mut pair = Pair::connected(&client, &server, 1);
        let start = pair.client.wire.len();
        pair.client.connection.send(Priority::High, &[1; 100]).unwrap();
        pair.client.connection.send(Priority::High, &[2; 101]).unwrap();
        pair.client.connection.send(Priority::High, &[3; 300]).unwrap();
        pair.run();
        let (frames, _) = unwrap(Around::Nothing, &pair.client.wire[start..]);
        let payload = |value: u8| -> Vec<usize> {
            let of = frames.iter().filter(|frame| frame.last() == Some(&value));
            of.map(|frame| frame.iter().rev().take_while(|byte| **byte == value).count()).collect()
        };
        assert_eq!(payload(1), [100]);
        assert_eq!(payload(2), [first, 101 - first]);
        assert_eq!(payload(3)[..3], [first, next, next]);
        assert_eq!(payload(3).iter().sum::<usize>(), 300);
        assert!(frames.iter().all(|frame| frame.len() <= 103));
        assert_eq!(pair.server.messages.len(), 3);
    }
}

#[test]
fn fragment_ids_are_apart_by_priority_and_never_zero() {
    for (version, id_bytes, highest) in [(Version::V14, 2, 65_535), (Version::V12, 1, 255_u16)] {
        let client = ClientConfig { version, ..ClientConfig::default() };
        let server = ServerConfig { fragment_bytes: 16, ..ServerConfig::default() };
        let mut pair = Pair::connected(&client, &server, 1);
        let mut ids: [Vec<u16>; 3] = Default::default();
        for _ in 0..=u32::from(highest / 3) {
            for (of_one, priority) in ids.iter_mut().zip(Priority::ALL) {
                let connection = &mut pair.client.connection;
                connection.send(priority, &[7; 17]).unwrap();
                let transmit = connection.poll_transmit().unwrap();
                let id = &transmit[0][8..8 + id_bytes];
                of_one.push(id.iter().fold(0, |id, byte| id << 8 | u16::from(*byte)));
                let count = transmit.total_bytes();
                connection.sent(count, pair.now);
            }
        }
        for (of_one, first) in ids.iter().zip(1..) {
            let wrapped = (first..=highest).step_by(3).chain([first]);
            assert!(of_one.iter().copied().eq(wrapped), "{version:?} from {first}");
        }
    }
}

#[test]
fn a_packed_body_is_filled_to_the_last_byte() {
    let server = ServerConfig { fragment_bytes: 600, ..ServerConfig::default() };
    let mut pair = Pair::connected(&ClientConfig::default(), &server, 1);
    let connection = &mut pair.client.connection;
    assert_eq!(connection.pack_limit(), 598);
    let start = pair.client.wire.len();
    connection.pack(Priority::High, &[1; 298]).unwrap();
    connection.pack(Priority::High, &[2; 298]).unwrap();
    connection.pack(Priority::High, &[3; 1]).unwrap();
    assert_eq!(
        connection.pack(Priority::High, &[4; 599]),
        Err(SendError::TooLong { length: 599, max: 598 })
    );
    connection.flush();
    pair.run();
    let (frames, _) = unwrap(Around::Nothing, &pair.client.wire[start..]);
    assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [603, 6]);
    assert_eq!(pair.server.messages.len(), 3);
}

#[test]
fn as_much_as_is_granted_is_packed_with_no_other_look() {
    let server = ServerConfig { fragment_bytes: 600, ..ServerConfig::default() };
    let mut pair = Pair::connected(&ClientConfig::default(), &server, 1);
    let connection = &mut pair.server.connection;
    let high = Priority::High;
    connection.grant(high, 100);
    assert!(connection.pack_granted(high, &[1]).is_none(), "there is no frame");
    connection.pack(high, &[1; 100]).unwrap();
    assert!(connection.pack_granted(high, &[1]).is_none(), "nothing is granted");
    connection.grant(high, 50);
    assert!(connection.pack_granted(Priority::Low, &[1]).is_none(), "nothing there");
    assert!(connection.pack_granted(high, &[]).is_none(), "an empty message");
    connection.pack_granted(high, &[2; 20]).expect("22 of 50 bytes");
    assert!(connection.pack_granted(high, &[3; 27]).is_none(), "29 of 28 bytes");
    connection.pack_granted(high, &[3; 26]).expect("28 of 28 bytes");
    assert!(connection.pack_granted(high, &[4]).is_none(), "it is used up");
    // No more than the frame has room for.
    connection.grant(high, usize::MAX);
    assert!(connection.pack_granted(high, &[5; 447]).is_none(), "449 of 448 bytes");
    connection.pack_granted(high, &[5; 445]).expect("447 of 448 bytes");
    connection.revoke(high);
    assert!(connection.pack_granted(high, &[]).is_none());
    connection.flush();
    connection.pack(high, &[6; 10]).unwrap();
    connection.grant(high, 100);
    connection.pack_granted(high, &[7; 10]).expect("granted");
    connection.revoke(high);
    assert!(connection.pack_granted(high, &[8]).is_none(), "it is taken back");
    connection.grant(high, 100);
    connection.flush();
    assert!(connection.pack_granted(high, &[9]).is_none(), "its frame has ended");
    pair.run();
    let lengths: Vec<_> = pair.client.messages.iter().map(Vec::len).collect();
    assert_eq!(lengths, [100, 20, 26, 445, 10, 10]);
}

#[test]
fn one_update_fans_out_with_a_patched_stream_id() {
    let update = b"\x00\x09\x04\x06\x00\x00\x00\x00\x00\x04payload";
    let mut pairs: Vec<Pair> = (0..5)
        .map(|seed| Pair::connected(&ClientConfig::default(), &ServerConfig::default(), seed))
        .collect();
    for (mount, pair) in pairs.iter_mut().enumerate() {
        for item in 0..3_u32 {
            let copy = pair.server.connection.pack(Priority::High, update).unwrap();
            copy[4..8].copy_from_slice(&(mount as u32 * 10 + item).to_be_bytes());
        }
        assert_eq!(pair.server.connection.sendable_bytes(), 0);
        assert_eq!(pair.server.connection.queued_bytes(), 3 + 3 * (2 + update.len()));
        pair.server.connection.flush();
        pair.run();
        let ids: Vec<u8> = pair.client.messages.iter().map(|message| message[7]).collect();
        let base = mount as u8 * 10;
        assert_eq!(ids, [base, base + 1, base + 2]);
        assert_eq!(pair.client.connection.counters().messages_received, 3);
    }
}

#[test]
fn room_that_is_not_committed_leaves_no_trace() {
    let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
    let connection = &mut pair.server.connection;
    connection.pack_room(Priority::High, 100).unwrap().fill(1);
    connection.pack_room(Priority::Low, 100).unwrap().commit(0);
    connection.flush();
    assert_eq!(connection.queued_bytes(), 0);
    connection.pack_room(Priority::High, 100).unwrap().fill(9);
    connection.pack_room(Priority::High, 100).unwrap().commit(0);
    let mut room = connection.pack_room(Priority::High, 100).unwrap();
    room[..3].copy_from_slice(b"abc");
    room.commit(3);
    connection.flush();
    pair.run();
    assert_eq!(pair.client.messages, [b"abc"]);
}

#[test]
fn a_message_in_its_own_frame_keeps_its_place_behind_packed_ones() {
    let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
    let connection = &mut pair.server.connection;
    connection.pack(Priority::High, b"first").unwrap();
    connection.send(Priority::High, b"second").unwrap();
    connection.pack(Priority::High, b"third").unwrap();
    connection.flush();
    pair.run();
    assert_eq!(pair.client.messages, [&b"first"[..], b"second", b"third"]);
}

#[test]
fn messages_are_refused_where_they_cannot_go() {
    let mut pair = Pair::new(&ClientConfig::default(), &ServerConfig::default(), 1);
    let connection = &mut pair.client.connection;
    assert_eq!(connection.send(Priority::High, b"early"), Err(SendError::NotActive));
    assert_eq!(connection.pack(Priority::High, b"early"), Err(SendError::NotActive));
    pair.run();
    let connection = &mut pair.client.connection;
    assert_eq!(connection.send(Priority::High, b""), Err(SendError::Empty));
    assert_eq!(connection.pack(Priority::High, b""), Err(SendError::Empty));
    connection.close();
    assert_eq!(connection.send(Priority::High, b"late"), Err(SendError::NotActive));
}
