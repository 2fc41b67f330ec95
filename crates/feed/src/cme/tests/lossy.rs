//! Two lossy lines and late snapshots of a market that is made up: whatever is lost, a
//! book that is good is the market's.

use std::collections::BTreeMap;

use tapeline_mdp::{
    BookEntry, BookEntryKind, Channel, ChannelLimits, ChannelOutputs, EntryKind, MatchEvent,
    OrderBookEntry, Packer, Packet, Price9, SettlementType, Side as MdpSide, Snapshot,
    SnapshotEntry, SnapshotOrder, SnapshotOrderBook, UpdateAction,
};
use tapeline_time::Time;

use super::super::{CmeFeed, CmeSettings, Depth};
use crate::book::Side;

const SECURITIES: [i32; 3] = [7, 8, 9];
const DEPTH: usize = 10;
const END: MatchEvent = MatchEvent::END_OF_EVENT;

/// Bids alone: price, and how much is wanted there.
type Bids = BTreeMap<i64, i64>;

/// The same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

impl ChannelOutputs for CmeFeed {
    fn begin(&mut self, first: u32) {
        CmeFeed::begin(self, first);
    }

    fn packet(&mut self, packet: &Packet<'_>, bytes: &[u8]) {
        CmeFeed::packet(self, packet, bytes);
    }

    fn lose(&mut self, next: u32) {
        CmeFeed::lose(self, next);
    }
}

/// An instrument whose orders have one price each: the price is their id.
#[derive(Default)]
struct Market {
    bids: Bids,
    report: u32,
}

impl Market {
    /// The place of a price, from 1.
    fn place(&self, price: i64) -> usize {
        1 + self.bids.range(price + 1..).count()
    }

    /// A price comes, changes or goes; what levels say of it.
    fn change(&mut self, security: i32, dice: &mut Dice) -> (Vec<BookEntry>, OrderBookEntry) {
        let (price, size) = (dice.below(24) as i64 + 1, dice.below(4) as i64);
        let action = match (self.bids.contains_key(&price), size) {
            (false, _) => UpdateAction::New,
            (true, 0) => UpdateAction::Delete,
            (true, _) => UpdateAction::Change,
        };
        let size = size + i64::from(action == UpdateAction::New);
        let place = self.place(price);
        match action {
            UpdateAction::Delete => drop(self.bids.remove(&price)),
            _ => drop(self.bids.insert(price, size)),
        }
        let mut told = Vec::new();
        if place <= DEPTH {
            told.push((action, place, price, size));
            let moves_in = self.bids.iter().rev().nth(DEPTH - 1);
            if let (UpdateAction::Delete, Some((price, size))) = (action, moves_in) {
                told.push((UpdateAction::New, DEPTH, *price, *size));
            }
        }
        let entries = told.into_iter().map(|(action, place, price, size)| {
            self.report += 1;
            BookEntry {
                price: Some(Price9::from_nano(price)),
                quantity: Some(size),
                security,
                report_sequence: self.report,
                orders: Some(1),
                level: place as u8,
                action,
                kind: BookEntryKind::Bid,
            }
        });
        let order = OrderBookEntry {
            order: Some(price as u64),
            priority: Some(1),
            price: Some(Price9::from_nano(price)),
            quantity: Some(size as i32),
            security,
            action,
            side: Some(MdpSide::Buy),
        };
        (entries.collect(), order)
    }

    /// Its packets of the loop of snapshots, in parts of four orders.
    fn snapshots(&self, security: i32, last_sequence: u32, depth: Depth) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        let mut send = |packer: &mut Packer| {
            packer.send(0, &mut |packet| packets.push(packet.to_vec()));
        };
        let mut packer = Packer::new(1);
        let entry = |((price, size), place): ((&i64, &i64), i8)| SnapshotEntry {
            price: Some(Price9::from_nano(*price)),
            quantity: Some(*size),
            orders: Some(1),
            level: Some(place),
            reference_date: None,
            open_flag: None,
            settlement: SettlementType::default(),
            kind: EntryKind::Bid,
        };
        let levels: Vec<_> = self.bids.iter().rev().zip(1..).take(DEPTH).map(entry).collect();
        let mut head = Snapshot::new(security);
        (head.last_sequence, head.report_sequence) = (last_sequence, self.report);
        assert!(packer.snapshot(&head, &levels));
        send(&mut packer);
        let orders = |(price, size): (&i64, &i64)| SnapshotOrder {
            order: *price as u64,
            priority: None,
            price: Price9::from_nano(*price),
            quantity: *size as i32,
            side: Some(MdpSide::Buy),
        };
        let orders: Vec<_> = self.bids.iter().map(orders).collect();
        let parts: Vec<_> = orders.chunks(4).chain(orders.is_empty().then_some(&[][..])).collect();
        for (part, current_chunk) in parts.iter().zip(1..) {
            let mut head = SnapshotOrderBook::new(security);
            (head.last_sequence, head.current_chunk) = (last_sequence, current_chunk);
            head.chunk_count = parts.len() as u32;
            assert!(depth == Depth::Levels || packer.snapshot_order_book(&head, part));
            send(&mut packer);
        }
        packets
    }
}

struct Exchange {
    dice: Dice,
    depth: Depth,
    markets: [Market; SECURITIES.len()],
    packer: Packer,
}

impl Exchange {
    /// The next packet of changes.
    fn packet(&mut self) -> Vec<u8> {
        let Self { dice, depth, markets, packer } = self;
        for _ in 0..=dice.below(3) {
            let at = dice.below(SECURITIES.len() as u64) as usize;
            let (entries, order) = markets[at].change(SECURITIES[at], dice);
            assert!(packer.book(1, END, &entries, &[]));
            assert!(*depth == Depth::Levels || packer.order_book(1, END, &[order]));
        }
        let (sent_ns, mut bytes) = (u64::from(packer.sequence()), Vec::new());
        packer.send(sent_ns, &mut |packet| bytes.extend_from_slice(packet));
        bytes
    }
}

/// Whether each good book is the market's; how many are.
fn good_books(feed: &CmeFeed, exchange: &Exchange) -> usize {
    let mut good = 0;
    for (security, market) in SECURITIES.iter().zip(&exchange.markets) {
        let Some(listed) = feed.by_security.get(security).map(|at| &feed.instruments[*at]) else {
            continue;
        };
        if !listed.is_good() {
            continue;
        }
        let levels = listed.instrument.book.levels(Side::Bid).rev();
        let found: Vec<_> = levels.map(|(price, level)| (price, level.size as i64)).collect();
        let most = if exchange.depth == Depth::Levels { DEPTH } else { usize::MAX };
        let told = market.bids.iter().rev().take(most).map(|(price, size)| (*price, *size));
        assert_eq!(found, told.collect::<Vec<_>>(), "{security}");
        good += 1;
    }
    good
}

/// Plays a market of so many packets with losses; how many books a snapshot made good.
fn play(seed: u64, depth: Depth) -> u64 {
    let markets = Default::default();
    let mut exchange = Exchange { dice: Dice(seed), depth, markets, packer: Packer::new(1) };
    let mut feed = CmeFeed::new(CmeSettings { depth, has_snapshots: true, ..<_>::default() });
    let mut channel = Channel::new(ChannelLimits::default());
    let (mut now, mut late) = (Time::ZERO, Vec::<Vec<Vec<u8>>>::new());
    let is_late = exchange.dice.below(2) == 0;
    for round in 0..300 {
        let bytes = exchange.packet();
        // Both lines may lose it; a tenth joins in the middle.
        let is_heard = round >= 20 || !is_late;
        for _line in 0..2 {
            if is_heard && exchange.dice.below(100) < 80 {
                channel.packet(now, &bytes, &mut feed).expect("a packet");
            }
        }
        if exchange.dice.below(3) == 0 {
            now = channel.deadline().unwrap_or(now);
            channel.timeout(now, &mut feed);
        }
        // The loop of snapshots is some packets behind, and loses some of its own.
        let at = exchange.dice.below(SECURITIES.len() as u64) as usize;
        let sequence = exchange.packer.sequence() - 1;
        late.push(exchange.markets[at].snapshots(SECURITIES[at], sequence, depth));
        if late.len() as u64 > exchange.dice.below(6) {
            for bytes in late.remove(0) {
                if exchange.dice.below(100) < 90 {
                    feed.loop_packet(&Packet::read(&bytes).expect("a packet"));
                }
            }
        }
        if channel.deadline().is_none() && is_heard && feed.next == sequence + 1 {
            good_books(&feed, &exchange);
        }
    }
    // Nothing is lost any more: all books are good in the end.
    for at in (0..SECURITIES.len()).chain(0..SECURITIES.len()) {
        let bytes = exchange.packet();
        channel.packet(now, &bytes, &mut feed).expect("a packet");
        now = channel.deadline().unwrap_or(now);
        channel.timeout(now, &mut feed);
        let sequence = exchange.packer.sequence() - 1;
        for bytes in exchange.markets[at].snapshots(SECURITIES[at], sequence, depth) {
            feed.loop_packet(&Packet::read(&bytes).expect("a packet"));
        }
    }
    assert_eq!((feed.unsure(), good_books(&feed, &exchange)), (0, 3));
    assert_eq!((feed.unknown(), feed.unreadable()), (0, 0));
    feed.snapshots()
}

#[test]
fn a_book_of_levels_that_is_good_is_the_markets() {
    let snapshots: u64 = (0..300).map(|seed| play(seed, Depth::Levels)).sum();
    assert!(snapshots > 1_000, "{snapshots}");
}

#[test]
fn a_book_of_orders_that_is_good_is_the_markets() {
    let snapshots: u64 = (0..300).map(|seed| play(seed, Depth::Orders)).sum();
    assert!(snapshots > 1_000, "{snapshots}");
}

#[test]
fn damaged_packets_are_survived() {
    for (seed, depth) in (0..200).zip([Depth::Levels, Depth::Orders].into_iter().cycle()) {
        let markets = Default::default();
        let mut exchange = Exchange { dice: Dice(seed), depth, markets, packer: Packer::new(1) };
        let mut feed = CmeFeed::new(CmeSettings { depth, has_snapshots: true, ..<_>::default() });
        let mut channel = Channel::new(ChannelLimits::default());
        let mut now = Time::ZERO;
        for _round in 0..100 {
            let changes = exchange.packet();
            let at = exchange.dice.below(SECURITIES.len() as u64) as usize;
            let sequence = exchange.packer.sequence() - 1;
            let loops = exchange.markets[at].snapshots(SECURITIES[at], sequence, depth);
            for (mut bytes, is_change) in
                [(changes, true)].into_iter().chain(loops.into_iter().map(|it| (it, false)))
            {
                for _ in 0..exchange.dice.below(3) {
                    let place = exchange.dice.below(bytes.len() as u64) as usize;
                    bytes[place] = exchange.dice.below(256) as u8;
                }
                bytes.truncate(bytes.len() - exchange.dice.below(2) as usize);
                match Packet::read(&bytes) {
                    Ok(packet) if !is_change => feed.loop_packet(&packet),
                    _ => drop(channel.packet(now, &bytes, &mut feed)),
                }
            }
            now = channel.deadline().unwrap_or(now);
            channel.timeout(now, &mut feed);
            feed.publish(|_, _| {}).expect("it fits");
        }
    }
}
