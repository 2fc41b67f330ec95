//! Nothing is allocated by reading, and nothing by writing once there was a packet.

use allocation_counter::measure;
use tapeline_mdp::{
    BookEntry, BookEntryKind, MatchEvent, Message, OrderAction, OrderEntry, Packer, Packet, Price9,
    UpdateAction,
};

use crate::golden::all;

/// Everything that a message says in numbers, so that all of it is read.
fn sum(message: &Message<'_>) -> i64 {
    match message {
        Message::ChannelReset(of) => of.channels().map(i64::from).sum(),
        Message::Volume(of) => of.entries().map(|entry| entry.quantity).sum(),
        Message::QuoteRequest(of) => of.entries().map(|entry| i64::from(entry.security)).sum(),
        Message::Book(of) => {
            let prices = of.entries().filter_map(|entry| entry.price).map(Price9::nano);
            prices.sum::<i64>() + of.orders().filter_map(|order| order.reference).count() as i64
        }
        Message::OrderBook(of) => of.entries().map(|entry| i64::from(entry.security)).sum(),
        Message::TradeSummary(of) => {
            let orders = of.orders().map(|order| i64::from(order.quantity));
            of.entries().map(|entry| entry.quantity).sum::<i64>() + orders.sum::<i64>()
        }
        Message::DailyStatistics(of) => of.entries().filter_map(|entry| entry.price).count() as i64,
        Message::LimitsBanding(of) => of.entries().filter_map(|entry| entry.high).count() as i64,
        Message::SessionStatistics(of) => of.entries().map(|entry| entry.price.nano()).sum(),
        Message::Snapshot(of) => of.entries().filter_map(|entry| entry.quantity).sum(),
        Message::SnapshotOrderBook(of) => of.entries().map(|entry| entry.price.nano()).sum(),
        Message::Definition(of) => {
            let depths = of.feeds().map(|feed| i64::from(feed.depth)).sum::<i64>();
            let legs = of.legs().map(|leg| i64::from(leg.ratio)).sum::<i64>();
            depths + legs + of.events().count() as i64 + of.symbol.len() as i64
        }
        _ => 1,
    }
}

#[test]
fn nothing_is_allocated_for_a_packet() {
    let packets = all();
    let mut total = 0;
    let allocations = measure(|| {
        for bytes in &packets {
            let packet = Packet::read(bytes).expect("a packet");
            total += packet.messages().map(|message| sum(&message.expect("whole"))).sum::<i64>();
        }
    });
    assert_eq!(allocations.count_total, 0);
    assert!(total > 0);
}

#[test]
fn nothing_is_allocated_to_write_one() {
    let entry = BookEntry {
        price: Some(Price9::from_nano(1)),
        quantity: Some(1),
        security: 4711,
        report_sequence: 1,
        orders: Some(1),
        level: 1,
        action: UpdateAction::New,
        kind: BookEntryKind::Bid,
    };
    let order = OrderEntry {
        order: 1,
        priority: Some(1),
        quantity: Some(1),
        reference: Some(1),
        action: OrderAction::New,
    };
    let (mut packer, mut sent_bytes) = (Packer::new(1), 0);
    // The buffer of the first packet grows by the message that turns out not to fit.
    let mut turn = || {
        while packer.book(1, MatchEvent::default(), &[entry; 3], &[order; 3]) {}
        packer.send(1, &mut |bytes| sent_bytes += bytes.len());
    };
    turn();
    let allocations = measure(|| (0..100).for_each(|_| turn()));
    assert_eq!((allocations.count_total, sent_bytes % 101), (0, 0));
}
