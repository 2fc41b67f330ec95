//! Each message, with other values in each field.

use tapeline_instrument::Price;
use tapeline_mitch::{HEAD, Message as Mitch, SignedPrice, Statistics, UnitHead};
use tapeline_ntg::Message;
use tapeline_ntg::exchange::CancelReject;

use super::fields::{Named, mitch, native};
use super::{GATEWAY, LINES, RECOVERY, REPLAY, Recording, SNAPSHOT, head, of_gateway, of_units};

/// Where the values begin. With several, each bit is once set and once not.
const FIRST: [u8; 4] = [b'!', b'7', b'R', b'n'];

/// The types of messages that go over the connections of the native gateway, both ways.
const OF_GATEWAY: &[u8] = b"AB503nDSGFq89rj";
const OF_RECOVERY: &[u8] = b"AB50MNP3n8r";

/// Those of market data; and those about the connections for what was missed.
const OF_LINES: &[u8] = b"TSRHAFDUyECPQIwq";
const OF_REPLAY: &[u8] = &[1, 2, 3, 4, 5];
const OF_SNAPSHOT: &[u8] = &[1, 2, 5, 0x81, 0x82, 0x83, b'H', b'A', b'F'];

/// A unit of some messages, and what is in it.
fn unit(messages: &[Mitch], group: u8, sequence: u32) -> (Vec<u8>, Vec<Named>) {
    let mut bytes = vec![0; HEAD];
    for message in messages {
        message.append(&mut bytes);
    }
    let (length, count) = (bytes.len() as u16, messages.len() as u8);
    let unit_head = UnitHead { length, count, group, sequence };
    bytes[..HEAD].copy_from_slice(&unit_head.to_bytes());
    let mut named = vec![head(&unit_head)];
    named.extend(messages.iter().map(mitch::named));
    (bytes, named)
}

fn add_gateway(recording: &mut Recording, messages: &[Message]) {
    for (protocol, kinds) in [(GATEWAY, OF_GATEWAY), (RECOVERY, OF_RECOVERY)] {
        let (mut bytes, mut named) = (Vec::new(), Vec::new());
        for message in messages.iter().filter(|message| kinds.contains(&message.kind())) {
            message.append(&mut bytes);
            named.push(native::named(message));
        }
        assert_eq!(of_gateway(&bytes), named);
        recording.add(protocol, "samples", &bytes, &named);
    }
}

fn add_units(recording: &mut Recording, messages: &[Mitch], sequence: u32) {
    let of = |kinds: &[u8]| -> Vec<Mitch> {
        messages.iter().filter(|message| kinds.contains(&message.kind())).copied().collect()
    };
    let (published, administrative) = (of(OF_LINES), of(OF_REPLAY));
    let (bytes, named) = unit(&published, b'A', sequence);
    assert_eq!(of_units(&bytes), named);
    recording.add(LINES, "samples", &bytes, &named);
    recording.add(REPLAY, "samples", &bytes, &named);
    for (protocol, messages) in [(REPLAY, administrative), (SNAPSHOT, of(OF_SNAPSHOT))] {
        for message in messages {
            let (bytes, named) = unit(&[message], b'A', 0);
            assert_eq!(of_units(&bytes), named);
            recording.add(protocol, "samples", &bytes, &named);
        }
    }
}

#[test]
fn every_message_is_written_with_its_values_beside_it() {
    let mut recording = Recording::default();
    for (at, first) in (1..).zip(FIRST) {
        add_gateway(&mut recording, &native::samples(first));
        add_units(&mut recording, &mitch::samples(first), at << 24 | 0x31_3233);
    }
    // Prices below zero, and times behind 2038, which the document and the definitions
    // do not read alike.
    let below = SignedPrice(Price(-Price::UNIT));
    let statistics = Mitch::from(Statistics {
        kind: b'C',
        price: below,
        indicator: b'F',
        ..Statistics::default()
    });
    let (bytes, named) = unit(&[statistics], b'A', 1);
    recording.add(LINES, "a price below zero", &bytes, &named);
    let late =
        Message::CancelReject(CancelReject { transact_s: u32::MAX, ..CancelReject::default() });
    let mut bytes = Vec::new();
    late.append(&mut bytes);
    recording.add(GATEWAY, "a time behind 2038", &bytes, &[native::named(&late)]);

    let of = |protocol| recording.kinds.iter().filter(|(of, _)| *of == protocol).count();
    let heads = 1;
    assert_eq!((of(GATEWAY), of(RECOVERY)), (OF_GATEWAY.len(), OF_RECOVERY.len()));
    assert_eq!(of(LINES), OF_LINES.len() + heads);
    assert_eq!(of(REPLAY), OF_LINES.len() + OF_REPLAY.len() + heads);
    assert_eq!(of(SNAPSHOT), OF_SNAPSHOT.len() + heads);
    recording.keep("samples.jsonl");
}
