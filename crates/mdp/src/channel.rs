//! One order of packets out of two lossy lines.
//!
//! ```text
//!            first packet          a hole, not filled by the other line
//!  nothing ─────────────▶ in order ────────────────────────────────────▶ lose, go on
//!                            ▲ numbers begin anew: what was sent later has a lower one
//!                            └───────────────────────────────────────── begin
//! ```
//!
//! Whichever line brings a packet first is taken. What comes behind a hole waits for a
//! while, in which the other line may fill it; then its packets are lost, and the
//! books that they were about are to be had by the loop of snapshots. Those loops need
//! no order: each of their messages is whole, or a numbered part of what is.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_time::Time;

use crate::error::MdpError;
use crate::message::{Message, Packet};

/// What a channel does.
pub trait ChannelOutputs {
    /// Numbers begin, with `first`: what was said before is void. From 1 on nothing is
    /// missing.
    fn begin(&mut self, first: u32);

    /// The next packet, in order.
    fn packet(&mut self, packet: &Packet<'_>, bytes: &[u8]);

    /// The packets before `next` that have not come cannot be had.
    fn lose(&mut self, next: u32);
}

/// How a channel goes about what is missing.
#[derive(Clone, Copy, Debug)]
pub struct ChannelLimits {
    /// How long the other line has to fill a hole.
    pub hold: Duration,
    /// Packets that wait for what is before them.
    pub max_early_packets: usize,
}

impl Default for ChannelLimits {
    fn default() -> Self {
        Self { hold: Duration::from_millis(2), max_early_packets: 65_536 }
    }
}

/// What a channel has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Packets read, in order.
    pub packets: u64,
    /// Packets that the other line had brought.
    pub again: u64,
    /// Packets that were too short to have a number.
    pub damaged: u64,
    /// Holes that no line filled in time.
    pub losses: u64,
    /// Packets in them.
    pub lost: u64,
    /// Times that numbers began.
    pub beginnings: u64,
}

/// The packets of one channel.
#[derive(Debug)]
pub struct Channel {
    limits: ChannelLimits,
    /// The number of the next packet.
    next: Option<u32>,
    /// When the newest packet was sent.
    newest_ns: u64,
    /// Packets that came too early, by their numbers.
    early: BTreeMap<u32, Vec<u8>>,
    /// When the packets before them are lost.
    due: Option<Time>,
    counts: ChannelCounts,
}

impl Channel {
    /// Nothing has come yet.
    pub fn new(limits: ChannelLimits) -> Self {
        let (early, counts) = (BTreeMap::new(), ChannelCounts::default());
        Self { limits, next: None, newest_ns: 0, early, due: None, counts }
    }

    /// A packet has come, by whichever line.
    ///
    /// # Errors
    /// It is too short for a number; it is counted.
    pub fn packet(
        &mut self,
        now: Time,
        bytes: &[u8],
        out: &mut impl ChannelOutputs,
    ) -> Result<(), MdpError> {
        let read = Packet::read(bytes);
        self.counts.damaged += u64::from(read.is_err());
        let packet = read?;
        let sequence = packet.sequence;
        let is_newer = packet.sending_time_ns > self.newest_ns;
        match self.next {
            None => self.begin(sequence, out),
            // A sign of life may have the number of the last packet.
            Some(next) if sequence < next && is_newer && !is_sign_of_life(&packet) => {
                self.begin(sequence, out);
            }
            Some(next) if sequence < next => {
                self.counts.again += 1;
                return Ok(());
            }
            Some(next) if sequence > next => {
                self.newest_ns = self.newest_ns.max(packet.sending_time_ns);
                self.wait(now, sequence, bytes, out);
                return Ok(());
            }
            Some(_) => {}
        }
        self.deliver(&packet, bytes, out);
        self.go_on(now, out);
        Ok(())
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, out: &mut impl ChannelOutputs) {
        if self.due.is_some_and(|due| due <= now) {
            self.lose(now, out);
        }
    }

    /// When [`timeout`](Self::timeout) is to be called, if nothing comes before.
    pub const fn deadline(&self) -> Option<Time> {
        self.due
    }

    /// What it has counted.
    pub const fn counts(&self) -> ChannelCounts {
        self.counts
    }

    fn begin(&mut self, first: u32, out: &mut impl ChannelOutputs) {
        self.early.clear();
        self.due = None;
        self.next = Some(first);
        self.counts.beginnings += 1;
        out.begin(first);
    }

    fn deliver(&mut self, packet: &Packet<'_>, bytes: &[u8], out: &mut impl ChannelOutputs) {
        self.newest_ns = self.newest_ns.max(packet.sending_time_ns);
        self.next = Some(packet.sequence.wrapping_add(1));
        self.counts.packets += 1;
        out.packet(packet, bytes);
    }

    /// A packet comes behind a hole.
    fn wait(&mut self, now: Time, sequence: u32, bytes: &[u8], out: &mut impl ChannelOutputs) {
        match self.early.entry(sequence) {
            std::collections::btree_map::Entry::Occupied(_) => self.counts.again += 1,
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(bytes.to_vec());
            }
        }
        self.due.get_or_insert(now.after(self.limits.hold));
        if self.early.len() > self.limits.max_early_packets {
            self.lose(now, out);
        }
    }

    /// What is before the packets that wait is lost.
    fn lose(&mut self, now: Time, out: &mut impl ChannelOutputs) {
        let (Some(next), Some((&first, _))) = (self.next, self.early.first_key_value()) else {
            debug_assert!(false, "a hole has something before it and something behind it");
            return;
        };
        self.counts.losses += 1;
        self.counts.lost += u64::from(first - next);
        self.next = Some(first);
        out.lose(first);
        self.go_on(now, out);
    }

    /// Delivers what has waited for the packet before it.
    fn go_on(&mut self, now: Time, out: &mut impl ChannelOutputs) {
        let was_waiting = !self.early.is_empty();
        while let Some(entry) = self.early.first_entry()
            && Some(*entry.key()) == self.next
        {
            let bytes = entry.remove();
            if let Ok(packet) = Packet::read(&bytes) {
                self.deliver(&packet, &bytes, out);
            }
        }
        if was_waiting {
            // The next hole is another one.
            self.due = (!self.early.is_empty()).then(|| now.after(self.limits.hold));
        }
    }
}

/// Whether a packet says no more than that the line is there.
fn is_sign_of_life(packet: &Packet<'_>) -> bool {
    packet.messages().all(|message| matches!(message, Ok(Message::Heartbeat)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Told {
        Begin(u32),
        Packet(u32),
        Lose(u32),
    }

    impl ChannelOutputs for Vec<Told> {
        fn begin(&mut self, first: u32) {
            self.push(Told::Begin(first));
        }

        fn packet(&mut self, packet: &Packet<'_>, bytes: &[u8]) {
            assert_eq!(Packet::read(bytes), Ok(*packet));
            self.push(Told::Packet(packet.sequence));
        }

        fn lose(&mut self, next: u32) {
            self.push(Told::Lose(next));
        }
    }

    const HEARTBEAT: [u8; 10] = [10, 0, 0, 0, 12, 0, 1, 0, 9, 0];
    const OTHER: [u8; 10] = [10, 0, 0, 0, 99, 0, 1, 0, 9, 0];

    fn packet(sequence: u32, sent_ns: u64, message: &[u8]) -> Vec<u8> {
        [&sequence.to_le_bytes()[..], &sent_ns.to_le_bytes(), message].concat()
    }

    struct Line {
        channel: Channel,
        now: Time,
        told: Vec<Told>,
    }

    impl Line {
        fn new() -> Self {
            let channel = Channel::new(ChannelLimits::default());
            Self { channel, now: Time::ZERO, told: Vec::new() }
        }

        /// Packets that were sent when their number says.
        fn brings(&mut self, sequences: &[u32]) -> &mut Self {
            for sequence in sequences {
                self.brings_at(*sequence, (*sequence).into(), &OTHER);
            }
            self
        }

        fn brings_at(&mut self, sequence: u32, sent_ns: u64, message: &[u8]) {
            let bytes = packet(sequence, sent_ns, message);
            self.channel.packet(self.now, &bytes, &mut self.told).expect("a packet");
        }

        fn waits(&mut self) -> &mut Self {
            self.now = self.channel.deadline().expect("something is missing");
            self.channel.timeout(self.now, &mut self.told);
            self
        }

        fn has_told(&mut self, expected: &[Told]) {
            assert_eq!(std::mem::take(&mut self.told), expected);
        }
    }

    #[test]
    fn whichever_line_is_first_is_taken_and_the_other_one_fills_its_holes() {
        let mut line = Line::new();
        line.brings(&[7, 7, 9, 10, 8, 9, 11]);
        let packets = [7, 8, 9, 10, 11].map(Told::Packet);
        line.has_told(&[&[Told::Begin(7)][..], &packets].concat());
        assert_eq!(line.channel.deadline(), None);
        let counts = line.channel.counts();
        assert_eq!((counts.packets, counts.again, counts.losses), (5, 2, 0));
    }

    #[test]
    fn what_no_line_brings_in_time_is_lost() {
        let mut line = Line::new();
        line.brings(&[1, 2, 5, 8]);
        line.channel.timeout(line.now, &mut line.told);
        line.has_told(&[Told::Begin(1), Told::Packet(1), Told::Packet(2)]);
        line.waits().has_told(&[Told::Lose(5), Told::Packet(5)]);
        line.waits().brings(&[9]).has_told(&[Told::Lose(8), Told::Packet(8), Told::Packet(9)]);
        // Too late.
        line.brings(&[3]).has_told(&[]);
        let counts = line.channel.counts();
        assert_eq!((counts.losses, counts.lost, counts.again), (2, 4, 1));
    }

    #[test]
    fn too_much_behind_a_hole_is_not_waited_for() {
        let mut line = Line::new();
        line.channel.limits.max_early_packets = 2;
        line.brings(&[1, 3, 4]).has_told(&[Told::Begin(1), Told::Packet(1)]);
        line.brings(&[5]);
        line.has_told(&[Told::Lose(3), Told::Packet(3), Told::Packet(4), Told::Packet(5)]);
    }

    #[test]
    fn what_was_sent_later_and_has_a_lower_number_begins_anew() {
        let mut line = Line::new();
        line.brings(&[500, 502]).has_told(&[Told::Begin(500), Told::Packet(500)]);
        // Signs of life repeat a number.
        line.brings_at(500, 900, &HEARTBEAT);
        line.has_told(&[]);
        line.brings_at(1, 901, &OTHER);
        line.has_told(&[Told::Begin(1), Told::Packet(1)]);
        // A line that is behind is still in the week before.
        line.brings(&[502]);
        line.has_told(&[]);
        line.brings_at(2, 902, &OTHER);
        line.has_told(&[Told::Packet(2)]);
    }

    #[test]
    fn what_is_too_short_is_counted() {
        let mut line = Line::new();
        assert!(line.channel.packet(line.now, &[1, 0, 0, 0], &mut line.told).is_err());
        assert_eq!((line.channel.counts().damaged, line.told.len()), (1, 0));
    }
}
