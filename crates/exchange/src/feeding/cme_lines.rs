//! Which addresses of a capture are lines of a channel.

use std::net::SocketAddr;

use tapeline_mdp::{Message, Packet};

use super::cme::CmeOrigin;

/// The addresses that packets of a channel are sent to: those that are given, or those
/// that a look at a capture finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CmeLines {
    lines: Vec<SocketAddr>,
    loops: Vec<SocketAddr>,
    has_snapshots: bool,
    has_definitions: bool,
}

impl CmeLines {
    /// None are known.
    pub fn new() -> Self {
        Self::default()
    }

    /// A packet of a capture that is looked at. Whoever is sent changes is a line: the
    /// first one is A, the second one B; a third one is another channel's.
    pub fn look(&mut self, to: SocketAddr, bytes: &[u8]) {
        let Ok(packet) = Packet::read(bytes) else { return };
        for message in packet.messages().flatten() {
            match message {
                Message::Snapshot(_) | Message::SnapshotOrderBook(_) => {
                    self.has_snapshots = true;
                    add(&mut self.loops, to);
                }
                Message::Definition(_) => {
                    self.has_definitions = true;
                    if !self.lines.contains(&to) {
                        add(&mut self.loops, to);
                    }
                }
                Message::Book(_)
                | Message::OrderBook(_)
                | Message::TradeSummary(_)
                | Message::Volume(_)
                | Message::SecurityStatus(_)
                | Message::SessionStatistics(_)
                | Message::DailyStatistics(_)
                | Message::LimitsBanding(_)
                | Message::ChannelReset(_) => {
                    // An instrument may be new in the course of the day.
                    self.loops.retain(|known| *known != to);
                    add(&mut self.lines, to);
                }
                _ => {}
            }
        }
    }

    /// Only packets to these addresses are of the channel's lines.
    pub fn keep_lines(&mut self, lines: &[SocketAddr]) {
        self.lines = lines.to_vec();
        self.loops.retain(|known| !lines.contains(known));
    }

    /// Whether there is anything to read.
    pub const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Addresses that changes are sent to.
    pub fn lines(&self) -> &[SocketAddr] {
        &self.lines
    }

    /// Whether snapshots have been seen.
    pub const fn has_snapshots(&self) -> bool {
        self.has_snapshots
    }

    /// Whether definitions have been seen.
    pub const fn has_definitions(&self) -> bool {
        self.has_definitions
    }

    /// Where a packet to this address comes from; none if it is another channel's.
    pub fn origin(&self, to: SocketAddr) -> Option<CmeOrigin> {
        match self.lines.iter().position(|line| *line == to) {
            Some(0) => Some(CmeOrigin::LineA),
            Some(1) => Some(CmeOrigin::LineB),
            Some(_) => None,
            None => self.loops.contains(&to).then_some(CmeOrigin::Loop),
        }
    }
}

fn add(known: &mut Vec<SocketAddr>, to: SocketAddr) {
    if !known.contains(&to) {
        known.push(to);
    }
}

#[cfg(test)]
mod tests {
    use tapeline_mdp::{
        Definition, DefinitionGroups, DefinitionKind, MatchEvent, Packer, Snapshot,
    };

    use super::*;

    fn packet(write: impl FnOnce(&mut Packer) -> bool) -> Vec<u8> {
        let (mut packer, mut bytes) = (Packer::new(1), Vec::new());
        assert!(write(&mut packer));
        packer.send(1, &mut |packet| bytes.extend_from_slice(packet));
        bytes
    }

    fn at(port: u16) -> SocketAddr {
        ([224, 0, 31, 1], port).into()
    }

    #[test]
    fn lines_are_told_apart_by_what_they_carry() {
        let change = packet(|packer| packer.book(1, MatchEvent::END_OF_EVENT, &[], &[]));
        let life = packet(Packer::heartbeat);
        let snapshot = packet(|packer| packer.snapshot(&Snapshot::new(7), &[]));
        let future = Definition::new(DefinitionKind::Future, 7, "ESZ6");
        let definition =
            packet(|packer| packer.definition_future(&future, &DefinitionGroups::default()));
        let mut lines = CmeLines::new();
        for (port, bytes) in [
            (1, &definition),
            (1, &change),
            (5, &life),
            (3, &snapshot),
            (2, &change),
            (4, &definition),
            (6, &change),
            (2, &definition),
        ] {
            lines.look(at(port), bytes);
        }
        let origins = [1, 2, 3, 4, 5, 6].map(|port| lines.origin(at(port)));
        let [a, b, of_loop] = [CmeOrigin::LineA, CmeOrigin::LineB, CmeOrigin::Loop].map(Some);
        assert_eq!(origins, [a, b, of_loop, of_loop, None, None]);
        assert!(lines.has_snapshots() && lines.has_definitions());
        lines.keep_lines(&[at(6)]);
        assert_eq!([1, 3, 6].map(|port| lines.origin(at(port))), [None, of_loop, a]);
        assert!(CmeLines::new().is_empty());
    }
}
