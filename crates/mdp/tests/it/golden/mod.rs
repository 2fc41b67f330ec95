//! Messages that SBE's reference implementation wrote (`golden/README.md`), field by
//! field; and that the packer writes the same bytes.

mod changes;
mod definitions;
mod snapshots;
mod statistics;

use tapeline_mdp::{MatchEvent, Message, Packer, Packet, Price9};

const TRANSACT_TIME_NS: u64 = 1_659_367_870_041_633_809;
const SENDING_TIME_NS: u64 = 1_659_367_870_041_719_045;

const fn nano(nano: i64) -> Price9 {
    Price9::from_nano(nano)
}

/// The name of a template, and a packet of it, in hexadecimal digits.
fn lines() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../../../golden/messages.hex").lines();
    lines.map(|line| line.split_once(' ').expect("a name"))
}

/// All packets.
pub(crate) fn all() -> Vec<Vec<u8>> {
    lines().map(|(_, hex)| bytes(hex)).collect()
}

/// The packets of a template, in order.
fn packets(template: &str) -> Vec<Vec<u8>> {
    lines().filter(|(name, _)| *name == template).map(|(_, hex)| bytes(hex)).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).expect("ASCII"), 16);
    pairs.map(|digits| pair(digits).expect("two digits")).collect()
}

/// The only packet of a template.
fn packet(template: &str) -> Vec<u8> {
    let [packet] = packets(template).try_into().expect("one packet");
    packet
}

/// The only message of a packet.
fn message(packet: &[u8]) -> Message<'_> {
    let packet = Packet::read(packet).expect("a packet");
    assert_eq!(packet.sending_time_ns, SENDING_TIME_NS);
    let mut messages = packet.messages();
    let message = messages.next().expect("a message").expect("a whole one");
    assert_eq!(messages.next(), None);
    message
}

/// What the packer makes of the same message is the same packet.
fn is_written_as(packet: &[u8], write: impl FnOnce(&mut Packer) -> bool) {
    let mut packer = Packer::new(Packet::read(packet).expect("a packet").sequence);
    assert!(packer.is_empty() && write(&mut packer) && !packer.is_empty());
    let mut sent = Vec::new();
    packer.send(SENDING_TIME_NS, &mut |bytes| sent.push(bytes.to_vec()));
    assert_eq!(sent, [packet]);
    assert!(packer.is_empty());
}

macro_rules! read_as {
    ($packet:expr, $kind:ident) => {
        match $crate::golden::message($packet) {
            tapeline_mdp::Message::$kind(of) => of,
            other => panic!("another message: {other:?}"),
        }
    };
}

use read_as;

#[test]
fn all_lines_are_packets() {
    let packets = all();
    assert_eq!(packets.len(), 28);
    for (packet, sequence) in packets.iter().zip(1..) {
        assert_eq!(Packet::read(packet).map(|packet| packet.sequence), Ok(sequence));
        assert!(!matches!(message(packet), Message::Other { .. }), "{sequence}");
    }
}

#[test]
fn resets() {
    let packet = packet("ChannelReset4");
    let reset = read_as!(&packet, ChannelReset);
    assert_eq!(reset.transact_time_ns, TRANSACT_TIME_NS);
    assert_eq!(reset.event, MatchEvent::END_OF_EVENT);
    assert_eq!(reset.channels().collect::<Vec<_>>(), [310, -2]);
    is_written_as(&packet, |packer| {
        packer.channel_reset(reset.transact_time_ns, reset.event, &[310, -2])
    });
}

#[test]
fn connections() {
    let heartbeat = packet("AdminHeartbeat12");
    assert_eq!(message(&heartbeat), Message::Heartbeat);
    is_written_as(&heartbeat, Packer::heartbeat);
    assert_eq!(message(&packet("AdminLogin15")), Message::Login { heartbeat_s: 30 });
    assert_eq!(message(&packet("AdminLogout16")), Message::Logout { text: "Good night, all" });
}
