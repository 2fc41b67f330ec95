//! Market data of CME: bytes as packets, and as bodies of messages.

use tapeline_mdp::{Definition, DefinitionGroups, DefinitionKind, Message, Packer, Packet};

/// Bytes as they are, and as what follows the head of a message: its template, the length
/// of its block, the rest.
pub fn codec(data: &[u8]) {
    whole(data);
    let [template, block, body @ ..] = data else { return };
    let size = (10 + body.len()).min(usize::from(u16::MAX));
    let mut packet = vec![0; 12];
    packet.extend((size as u16).to_le_bytes());
    for number in [u16::from(*block), u16::from(*template), 1, 12] {
        packet.extend(number.to_le_bytes());
    }
    packet.extend(&body[..size - 10]);
    whole(&packet);
}

/// What can be written of what is read does not change when it is read and written again.
fn whole(bytes: &[u8]) {
    let Ok(packet) = Packet::read(bytes) else { return };
    for message in packet.messages().flatten() {
        let Some(once) = write(&message) else { continue };
        let again = Packet::read(&once).expect("it was written");
        let messages: Vec<_> = again.messages().collect();
        assert_eq!(messages.len(), 1);
        let twice = write(messages[0].as_ref().expect("it was written"));
        assert_eq!(twice.as_ref(), Some(&once), "{message:?}");
    }
}

/// A packet with a message, if it can be written and fits; all of it is read in any case.
fn write(message: &Message<'_>) -> Option<Vec<u8>> {
    let mut packer = Packer::new(1);
    let is_taken = match message {
        Message::ChannelReset(of) => {
            let channels: Vec<_> = of.channels().collect();
            packer.channel_reset(of.transact_time_ns, of.event, &channels)
        }
        Message::Heartbeat => packer.heartbeat(),
        Message::SecurityStatus(of) => packer.security_status(of),
        Message::Book(of) => {
            let (entries, orders) = (of.entries().collect::<Vec<_>>(), of.orders());
            packer.book(of.transact_time_ns, of.event, &entries, &orders.collect::<Vec<_>>())
        }
        Message::OrderBook(of) => {
            let entries: Vec<_> = of.entries().collect();
            packer.order_book(of.transact_time_ns, of.event, &entries)
        }
        Message::TradeSummary(of) => {
            let (entries, orders) = (of.entries().collect::<Vec<_>>(), of.orders());
            let orders: Vec<_> = orders.collect();
            packer.trade_summary(of.transact_time_ns, of.event, &entries, &orders)
        }
        Message::Volume(of) => {
            let entries: Vec<_> = of.entries().collect();
            packer.volume(of.transact_time_ns, of.event, &entries)
        }
        Message::Snapshot(of) => packer.snapshot(of, &of.entries().collect::<Vec<_>>()),
        Message::SnapshotOrderBook(of) => {
            packer.snapshot_order_book(of, &of.entries().collect::<Vec<_>>())
        }
        Message::Definition(of) => definition(&mut packer, of),
        other => {
            count(other);
            false
        }
    };
    let mut written = None;
    if is_taken {
        packer.send(1, &mut |bytes| written = Some(bytes.to_vec()));
    }
    written
}

fn definition(packer: &mut Packer, of: &Definition<'_>) -> bool {
    let (events, feeds) = (of.events().collect::<Vec<_>>(), of.feeds().collect::<Vec<_>>());
    let attributes: Vec<_> = of.attributes().collect();
    let rest = of.legs().count() + of.underlyings().count();
    assert!(of.kind != DefinitionKind::Future || rest == 0, "a future has neither");
    let groups = DefinitionGroups { events: &events, feeds: &feeds, attributes: &attributes };
    of.kind == DefinitionKind::Future && packer.definition_future(of, &groups)
}

/// Reads the entries of what cannot be written.
fn count(message: &Message<'_>) -> usize {
    match message {
        Message::QuoteRequest(of) => of.entries().count(),
        Message::DailyStatistics(of) => of.entries().count(),
        Message::LimitsBanding(of) => of.entries().count(),
        Message::SessionStatistics(of) => of.entries().count(),
        _ => 0,
    }
}
