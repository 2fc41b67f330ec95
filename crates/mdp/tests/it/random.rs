//! Random messages, and packets that are damaged.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::Index;
use tapeline_mdp::{
    BookEntry, BookEntryKind, Definition, EntryKind, MarketDate, MatchEvent, Message, OpenFlag,
    OrderAction, OrderBookEntry, OrderEntry, Packer, Packet, Price9, SettlementType, Side,
    Snapshot, SnapshotEntry, SnapshotOrder, SnapshotOrderBook, TradeEntry, TradeOrder,
    UpdateAction, VolumeEntry,
};

use crate::golden::all;

/// A price that does not stand for none.
fn price() -> impl Strategy<Value = Price9> {
    (i64::MIN..i64::MAX).prop_map(Price9::from_nano)
}

/// A quantity: mostly of 32 bits.
fn quantity() -> impl Strategy<Value = i64> {
    prop_oneof![9 => (i32::MIN..i32::MAX).prop_map(i64::from), 1 => 0..i64::MAX]
}

fn side() -> impl Strategy<Value = Option<Side>> {
    of(prop_oneof![Just(Side::Buy), Just(Side::Sell)])
}

fn action() -> impl Strategy<Value = UpdateAction> {
    any::<u8>().prop_map(UpdateAction::from_code)
}

fn event() -> impl Strategy<Value = MatchEvent> {
    any::<u8>().prop_map(MatchEvent::from_bits)
}

fn date() -> impl Strategy<Value = MarketDate> {
    (0..u16::MAX).prop_map(|days| MarketDate { days })
}

prop_compose! {
    fn book_entry()(
        price in of(price()),
        quantity in of(quantity()),
        (security, report_sequence) in any::<(i32, u32)>(),
        orders in of(i32::MIN..i32::MAX),
        level in any::<u8>(),
        action in action(),
        kind in any::<u8>(),
    ) -> BookEntry {
        let kind = BookEntryKind::from_code(kind);
        BookEntry { price, quantity, security, report_sequence, orders, level, action, kind }
    }
}

prop_compose! {
    fn order_entry()(
        order in any::<u64>(),
        priority in of(0..u64::MAX),
        quantity in of(i32::MIN..i32::MAX),
        reference in of(0..u8::MAX),
        action in any::<u8>(),
    ) -> OrderEntry {
        OrderEntry { order, priority, quantity, reference, action: OrderAction::from_code(action) }
    }
}

prop_compose! {
    fn order_book_entry()(
        order in of(0..u64::MAX),
        priority in of(0..u64::MAX),
        price in of(price()),
        quantity in of(i32::MIN..i32::MAX),
        security in any::<i32>(),
        action in action(),
        side in side(),
    ) -> OrderBookEntry {
        OrderBookEntry { order, priority, price, quantity, security, action, side }
    }
}

prop_compose! {
    fn trade_entry()(
        price in price(),
        quantity in quantity(),
        (security, report_sequence, orders) in any::<(i32, u32, i32)>(),
        aggressor in side(),
        action in action(),
        trade in of(0..u32::MAX),
    ) -> TradeEntry {
        TradeEntry { price, quantity, security, report_sequence, orders, aggressor, action, trade }
    }
}

prop_compose! {
    fn volume_entry()(
        quantity in quantity(),
        (security, report_sequence) in any::<(i32, u32)>(),
        action in action(),
    ) -> VolumeEntry {
        VolumeEntry { quantity, security, report_sequence, action }
    }
}

prop_compose! {
    fn snapshot_entry()(
        price in of(price()),
        quantity in of(quantity()),
        orders in of(i32::MIN..i32::MAX),
        level in of(i8::MIN..i8::MAX),
        reference_date in of(date()),
        open_flag in of(0..u8::MAX),
        (settlement, kind) in any::<(u8, u8)>(),
    ) -> SnapshotEntry {
        SnapshotEntry {
            price,
            quantity,
            orders,
            level,
            reference_date,
            open_flag: open_flag.map(OpenFlag::from_code),
            settlement: SettlementType::from_bits(settlement),
            kind: EntryKind::from_code(kind),
        }
    }
}

prop_compose! {
    fn snapshot_order()(
        order in any::<u64>(),
        priority in of(0..u64::MAX),
        price in price(),
        quantity in any::<i32>(),
        side in side(),
    ) -> SnapshotOrder {
        SnapshotOrder { order, priority, price, quantity, side }
    }
}

/// Quantities of 64 bits are not negative.
fn is_taken(quantities: impl IntoIterator<Item = i64> + Clone) -> bool {
    let is_long = quantities.clone().into_iter().any(|quantity| quantity >= i32::MAX.into());
    !is_long || quantities.into_iter().all(|quantity| quantity >= 0)
}

/// The packet of what is written, and its only message.
fn packet(write: impl FnOnce(&mut Packer) -> bool) -> Vec<u8> {
    let (mut packer, mut bytes) = (Packer::new(7), Vec::new());
    assert!(write(&mut packer));
    packer.send(1, &mut |packet| bytes.extend_from_slice(packet));
    bytes
}

fn message(packet: &[u8]) -> Message<'_> {
    let mut messages = Packet::read(packet).expect("a packet").messages();
    messages.next().expect("one").expect("whole")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn books_are_read_as_they_were_written(
        (time, event) in (any::<u64>(), event()),
        entries in vec(book_entry(), 0..10),
        orders in vec(order_entry(), 0..10),
    ) {
        prop_assume!(is_taken(entries.iter().filter_map(|entry| entry.quantity)));
        let bytes = packet(|packer| packer.book(time, event, &entries, &orders));
        let Message::Book(book) = message(&bytes) else { panic!("a book") };
        prop_assert_eq!((book.transact_time_ns, book.event), (time, event));
        prop_assert_eq!(book.entries().collect::<Vec<_>>(), entries);
        prop_assert_eq!(book.orders().collect::<Vec<_>>(), orders);
    }

    #[test]
    fn books_of_orders_are_read_as_they_were_written(
        (time, event) in (any::<u64>(), event()),
        entries in vec(order_book_entry(), 0..10),
    ) {
        let bytes = packet(|packer| packer.order_book(time, event, &entries));
        let Message::OrderBook(book) = message(&bytes) else { panic!("a book") };
        prop_assert_eq!((book.transact_time_ns, book.event), (time, event));
        prop_assert_eq!(book.entries().collect::<Vec<_>>(), entries);
    }

    #[test]
    fn trades_are_read_as_they_were_written(
        (time, event) in (any::<u64>(), event()),
        entries in vec(trade_entry(), 0..10),
        orders in vec(any::<(u64, i32)>(), 0..10),
        volumes in vec(volume_entry(), 0..10),
    ) {
        prop_assume!(is_taken(entries.iter().map(|entry| entry.quantity)));
        prop_assume!(is_taken(volumes.iter().map(|entry| entry.quantity)));
        let orders: Vec<_> =
            orders.into_iter().map(|(order, quantity)| TradeOrder { order, quantity }).collect();
        let bytes = packet(|packer| packer.trade_summary(time, event, &entries, &orders));
        let Message::TradeSummary(trades) = message(&bytes) else { panic!("trades") };
        prop_assert_eq!((trades.transact_time_ns, trades.event), (time, event));
        prop_assert_eq!(trades.entries().collect::<Vec<_>>(), entries);
        prop_assert_eq!(trades.orders().collect::<Vec<_>>(), orders);
        let bytes = packet(|packer| packer.volume(time, event, &volumes));
        let Message::Volume(volume) = message(&bytes) else { panic!("volumes") };
        prop_assert_eq!((volume.transact_time_ns, volume.event), (time, event));
        prop_assert_eq!(volume.entries().collect::<Vec<_>>(), volumes);
    }

    #[test]
    fn snapshots_are_read_as_they_were_written(
        (security, last_sequence, time) in any::<(i32, u32, u64)>(),
        limit in of(price()),
        mut entries in vec(snapshot_entry(), 0..10),
        orders in vec(snapshot_order(), 0..10),
    ) {
        let quantities = || entries.iter().filter_map(|entry| entry.quantity);
        prop_assume!(is_taken(quantities().collect::<Vec<_>>()));
        if quantities().any(|quantity| quantity >= i32::MAX.into()) {
            // What the template of long quantities does not have.
            for entry in &mut entries {
                entry.level = entry.level.map(|level| level.max(0));
                (entry.reference_date, entry.settlement) = (None, SettlementType::NULL);
            }
        }
        let mut head = Snapshot::new(security);
        (head.last_sequence, head.transact_time_ns) = (last_sequence, time);
        head.high_limit_price = limit;
        let bytes = packet(|packer| packer.snapshot(&head, &entries));
        let Message::Snapshot(read) = message(&bytes) else { panic!("a snapshot") };
        prop_assert_eq!((read.last_sequence, read.security), (last_sequence, security));
        prop_assert_eq!((read.transact_time_ns, read.high_limit_price), (time, limit));
        prop_assert_eq!(read.entries().collect::<Vec<_>>(), entries);
        let mut head = SnapshotOrderBook::new(security);
        head.current_chunk = last_sequence;
        let bytes = packet(|packer| packer.snapshot_order_book(&head, &orders));
        let Message::SnapshotOrderBook(read) = message(&bytes) else { panic!("a snapshot") };
        prop_assert_eq!((read.current_chunk, read.security), (last_sequence, security));
        prop_assert_eq!(read.entries().collect::<Vec<_>>(), orders);
    }

    /// Any of the messages that the reference implementation wrote, some bytes of which
    /// are others, and the end of which is missing.
    #[test]
    fn damaged_packets_are_survived(
        line in any::<Index>(),
        changes in vec((any::<Index>(), any::<u8>()), 0..8),
        end in any::<Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = line.get(&all()).clone();
        for (at, byte) in changes {
            *at.get_mut(&mut bytes) = byte;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
            // The size of the message may still be right.
            if let Some(size) = bytes.len().checked_sub(12).filter(|size| *size >= 2) {
                bytes[12..14].copy_from_slice(&(size as u16).to_le_bytes());
            }
        }
        read_all(&bytes);
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }
}

/// Reads all there is, and asks for everything that is read lazily.
fn read_all(bytes: &[u8]) {
    let Ok(packet) = Packet::read(bytes) else { return };
    for message in packet.messages().flatten() {
        let _ = match message {
            Message::ChannelReset(of) => of.channels().count(),
            Message::Volume(of) => of.entries().count(),
            Message::QuoteRequest(of) => of.entries().count(),
            Message::Book(of) => of.entries().count() + of.orders().count(),
            Message::OrderBook(of) => of.entries().count(),
            Message::TradeSummary(of) => of.entries().count() + of.orders().count(),
            Message::DailyStatistics(of) => of.entries().count(),
            Message::LimitsBanding(of) => of.entries().count(),
            Message::SessionStatistics(of) => of.entries().count(),
            Message::Snapshot(of) => of.entries().count(),
            Message::SnapshotOrderBook(of) => of.entries().count(),
            Message::Definition(of) => groups(&of),
            _ => 0,
        };
    }
}

fn groups(of: &Definition<'_>) -> usize {
    of.events().count()
        + of.feeds().count()
        + of.attributes().count()
        + of.underlyings().count()
        + of.legs().count()
}
