//! What a feed handler of CME Group decides.

use std::time::Duration;

use tapeline_counters::counts;
use tapeline_feed::{CmeFeed, CmeSettings, FeedError, Update};
use tapeline_mdp::{Channel, ChannelCounts, ChannelLimits, ChannelOutputs, Packet};
use tapeline_rwf::{DataType, Domain};
use tapeline_time::Time;

use super::items::{Handler, Published};

/// What a feed handler of CME Group reads.
#[derive(Clone, Debug)]
pub struct CmeConfig {
    /// What is known of the channel.
    pub settings: CmeSettings,
    /// How it goes about what is missing.
    pub limits: ChannelLimits,
    /// After so long without a packet of changes, nothing is known any more.
    pub silence: Duration,
}

counts! {
    /// What a feed handler of CME Group counts.
    pub struct CmeCounts = "cme" {
        /// Packets of line A.
        packets_a: u64 = total;
        /// Packets of line B.
        packets_b: u64 = total;
        /// Packets of the loops: snapshots and definitions.
        packets_loop: u64 = total;
        /// Packets that were for nobody: damaged, or of other channels.
        packets_ignored: u64 = total;
        /// Packets of changes that were read, in order.
        packets: u64 = total;
        /// Holes that the other line did not fill in time.
        losses: u64 = total;
        /// Packets in them.
        packets_lost: u64 = total;
        /// Times that numbers began: once, and with each week.
        beginnings: u64 = total;
        /// Messages that are damaged.
        messages_unreadable: u64 = total;
        /// Messages about levels or orders that are not there.
        messages_unknown: u64 = total;
        /// Snapshots that made a book good again.
        snapshots: u64 = total;
        /// Instruments whose books are not to be trusted now.
        unsure: usize = now;
        /// Times that an instrument's items became suspect, as its book may lack something.
        item_stales: u64 = total;
        /// Times that all items became suspect, as nothing came any more.
        stales: u64 = total;
        /// Whether all items are suspect: 1, or 0.
        stale: u64 = now;
        /// Items.
        items: usize = now;
        /// Images sent to the hub.
        images: u64 = total;
        /// Updates sent to the hub.
        updates: u64 = total;
    }
}

/// Where a packet came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmeOrigin {
    /// The first line of changes.
    LineA,
    /// The second one.
    LineB,
    /// A loop of snapshots, or of definitions.
    Loop,
}

/// What the channel delivers to.
#[derive(Debug)]
struct Desk(CmeFeed);

impl ChannelOutputs for Desk {
    fn begin(&mut self, first: u32) {
        tracing::info!(first, "numbers begin");
        self.0.begin(first);
    }

    fn packet(&mut self, packet: &Packet<'_>, bytes: &[u8]) {
        self.0.packet(packet, bytes);
    }

    fn lose(&mut self, next: u32) {
        tracing::warn!(next, "packets are lost");
        self.0.lose(next);
    }
}

/// Reads a channel of CME Group, and knows whether its books are good.
#[derive(Debug)]
pub struct CmeHandler {
    channel: Channel,
    desk: Desk,
    silence: Duration,
    heard: Option<Time>,
    counts: CmeCounts,
}

impl CmeHandler {
    /// Nothing has come yet.
    pub fn new(config: &CmeConfig) -> Self {
        Self {
            channel: Channel::new(config.limits),
            desk: Desk(CmeFeed::new(config.settings.clone())),
            silence: config.silence,
            heard: None,
            counts: CmeCounts::default(),
        }
    }

    /// A packet has come.
    pub fn packet(&mut self, now: Time, origin: CmeOrigin, bytes: &[u8]) {
        match origin {
            CmeOrigin::LineA => self.counts.packets_a += 1,
            CmeOrigin::LineB => self.counts.packets_b += 1,
            CmeOrigin::Loop => {
                self.counts.packets_loop += 1;
                return match Packet::read(bytes) {
                    Ok(packet) => self.desk.0.loop_packet(&packet),
                    Err(_) => self.counts.packets_ignored += 1,
                };
            }
        }
        self.heard = Some(now);
        // What is damaged is counted.
        let _ = self.channel.packet(now, bytes, &mut self.desk);
    }

    /// A packet has come that is of no line.
    pub fn ignore(&mut self) {
        self.counts.packets_ignored += 1;
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time) {
        self.channel.timeout(now, &mut self.desk);
    }

    /// When [`timeout`](Self::timeout) is to be called, if nothing comes before.
    pub const fn deadline(&self) -> Option<Time> {
        self.channel.deadline()
    }

    /// The books, for whoever compares them.
    pub const fn feed(&self) -> &CmeFeed {
        &self.desk.0
    }
}

impl Handler for CmeHandler {
    type Counts = CmeCounts;

    fn is_stale(&self, now: Time) -> bool {
        self.heard.is_none_or(|heard| now.since(heard) > self.silence)
    }

    fn is_item_stale(&self, name: &str) -> bool {
        self.desk.0.is_unsure(name)
    }

    fn turned(&mut self, each: impl FnMut(&str, bool)) {
        self.desk.0.turned(each);
    }

    fn counts(&self, now: Time, published: &Published) -> CmeCounts {
        let feed = &self.desk.0;
        let ChannelCounts { packets, damaged, losses, lost, beginnings, .. } =
            self.channel.counts();
        let Published { items, stales, item_stales, images, updates } = *published;
        CmeCounts {
            packets_ignored: self.counts.packets_ignored + damaged,
            packets,
            losses,
            packets_lost: lost,
            beginnings,
            messages_unreadable: feed.unreadable(),
            messages_unknown: feed.unknown(),
            snapshots: feed.snapshots(),
            unsure: feed.unsure(),
            item_stales,
            stales,
            stale: u64::from(self.is_stale(now)),
            items,
            images,
            updates,
            ..self.counts
        }
    }

    fn publish(&mut self, each: impl FnMut(&str, &Update<'_>)) -> Result<(), FeedError> {
        self.desk.0.publish(each)
    }

    fn image(
        &self,
        domain: Domain,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<DataType>, FeedError> {
        self.desk.0.image(domain, name, out)
    }

    fn has(&self, domain: Domain) -> bool {
        self.desk.0.has(domain)
    }
}

#[cfg(test)]
mod tests {
    use tapeline_mdp::{BookEntry, BookEntryKind, MatchEvent, Packer, Price9, UpdateAction};

    use super::*;

    fn packet(sequence: u32, place: u8) -> Vec<u8> {
        let entry = BookEntry {
            price: Some(Price9::from_nano(100 - i64::from(place))),
            quantity: Some(1),
            security: 7,
            report_sequence: sequence,
            orders: Some(1),
            level: place,
            action: UpdateAction::New,
            kind: BookEntryKind::Bid,
        };
        let (mut packer, mut bytes) = (Packer::new(sequence), Vec::new());
        assert!(packer.book(1, MatchEvent::END_OF_EVENT, &[entry], &[]));
        packer.send(sequence.into(), &mut |packet| bytes.extend_from_slice(packet));
        bytes
    }

    #[test]
    fn items_are_suspect_while_packets_may_be_missing_and_when_none_come() {
        let (limits, silence) = (ChannelLimits::default(), Duration::from_secs(40));
        let settings = CmeSettings { has_snapshots: true, ..CmeSettings::default() };
        let mut handler = CmeHandler::new(&CmeConfig { settings, limits, silence });
        let mut now = Time::ZERO;
        assert!(handler.is_stale(now), "nothing has come");
        handler.packet(now, CmeOrigin::LineA, &packet(1, 1));
        handler.packet(now, CmeOrigin::LineB, &packet(1, 1));
        handler.packet(now, CmeOrigin::LineA, &packet(3, 2));
        assert!(!handler.is_item_stale("7"), "the other line may have it");
        now = handler.deadline().expect("something is missing");
        handler.timeout(now);
        assert!(handler.is_item_stale("7") && !handler.is_stale(now));
        let counts = handler.counts(now, &Published::default());
        assert_eq!((counts.packets_a, counts.packets_b, counts.packets), (2, 1, 2));
        assert_eq!((counts.losses, counts.packets_lost, counts.unsure), (1, 1, 1));
        handler.packet(now, CmeOrigin::Loop, &[0]);
        handler.ignore();
        let counts = handler.counts(now, &Published::default());
        assert_eq!((counts.packets_loop, counts.packets_ignored), (1, 2));
        now = now.after(silence + Duration::from_nanos(1));
        assert!(handler.is_stale(now), "nothing comes any more");
    }
}
