//! Makes packets of messages.

use crate::definition::{Definition, DefinitionGroups, FUTURE_BYTES, append_future, append_groups};
use crate::field::MatchEvent;
use crate::incremental::{
    BookEntry, BookEntry46, BookEntry64, Head, IncrementalHead, OrderBookEntry, OrderBookEntry47,
    OrderEntry, OrderEntry46, TradeEntry, TradeEntry48, TradeEntry65, TradeOrder, TradeOrder48,
    VolumeEntry, VolumeEntry37, VolumeEntry66,
};
use crate::message::{MESSAGE_HEAD_BYTES, PACKET_HEAD_BYTES, SCHEMA};
use crate::snapshot::{
    Snapshot, Snapshot52, SnapshotEntry, SnapshotEntry52, SnapshotEntry69, SnapshotOrder,
    SnapshotOrder53, SnapshotOrderBook, SnapshotOrderBook53,
};
use crate::status::{ResetEntry, ResetEntry4, SecurityStatus, SecurityStatus30};
use crate::wire::{Block, Dimension};

/// Bytes that a datagram carries over an Ethernet of the usual frames, without the
/// heads of IPv4 and UDP.
pub const PACKET_BYTES: usize = 1472;

/// The version of the schema that is written.
pub const VERSION: u16 = 12;

/// Makes packets of messages. A message that does not fit any more is not taken: the
/// packet is to be sent, and the message to be given again.
///
/// Quantities that need it come in templates of long quantities. Who reads a value
/// that stands for null reads none.
#[derive(Clone, Debug)]
pub struct Packer {
    sequence: u32,
    bytes: Vec<u8>,
}

impl Packer {
    /// The next packet has this number.
    pub fn new(sequence: u32) -> Self {
        let mut bytes = Vec::with_capacity(PACKET_BYTES);
        bytes.resize(PACKET_HEAD_BYTES, 0);
        Self { sequence, bytes }
    }

    /// The number of the packet that is being made.
    pub const fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Whether there is no message in it.
    pub const fn is_empty(&self) -> bool {
        self.bytes.len() == PACKET_HEAD_BYTES
    }

    /// Sends the packet, with or without messages, and begins the next.
    pub fn send(&mut self, sending_time_ns: u64, send: &mut impl FnMut(&[u8])) {
        self.bytes[..4].copy_from_slice(&self.sequence.to_le_bytes());
        self.bytes[4..PACKET_HEAD_BYTES].copy_from_slice(&sending_time_ns.to_le_bytes());
        send(&self.bytes);
        self.bytes.truncate(PACKET_HEAD_BYTES);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// A message of a template, which `body` writes. `false`, and no message, if there
    /// is no room for it.
    fn message(&mut self, template: u16, block: usize, body: impl FnOnce(&mut Vec<u8>)) -> bool {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        for number in [block as u16, template, SCHEMA, VERSION] {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        debug_assert_eq!(self.bytes.len() - start, MESSAGE_HEAD_BYTES, "size and four numbers");
        body(&mut self.bytes);
        let size = self.bytes.len() - start;
        if self.bytes.len() > PACKET_BYTES {
            self.bytes.truncate(start);
            return false;
        }
        self.bytes[start..start + 2].copy_from_slice(&(size as u16).to_le_bytes());
        true
    }

    /// A message of changes: its head, then `groups`.
    fn incremental(
        &mut self,
        template: u16,
        head: Head,
        groups: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        // The reset of a channel alone has no reserved bytes.
        let block = if template == 4 { RESET_BYTES } else { <IncrementalHead as Block<_>>::LEN };
        self.message(template, block, |out| {
            let end = out.len() + block;
            IncrementalHead::append(&head, out);
            out.truncate(end);
            groups(out);
        })
    }

    /// [`ChannelReset`](crate::ChannelReset) of these channels.
    #[must_use = "what is not taken is to be given again"]
    pub fn channel_reset(
        &mut self,
        transact_time_ns: u64,
        event: MatchEvent,
        channels: &[i16],
    ) -> bool {
        if channels.len() > MAX_ENTRIES {
            return false;
        }
        self.incremental(4, Head { transact_time_ns, event }, |out| {
            Dimension::Packed.append(<ResetEntry4 as Block<_>>::LEN, channels.len(), out);
            for appl_id in channels {
                ResetEntry4::append(&ResetEntry { appl_id: *appl_id }, out);
            }
        })
    }

    /// [`Heartbeat`](crate::Message::Heartbeat).
    #[must_use = "what is not taken is to be given again"]
    pub fn heartbeat(&mut self) -> bool {
        self.message(12, 0, |_| {})
    }

    /// [`SecurityStatus`].
    #[must_use = "what is not taken is to be given again"]
    pub fn security_status(&mut self, status: &SecurityStatus) -> bool {
        let block = <SecurityStatus30 as Block<SecurityStatus>>::LEN;
        self.message(30, block, |out| SecurityStatus30::append(status, out))
    }

    /// [`Book`](crate::Book).
    #[must_use = "what is not taken is to be given again"]
    pub fn book(
        &mut self,
        transact_time_ns: u64,
        event: MatchEvent,
        entries: &[BookEntry],
        orders: &[OrderEntry],
    ) -> bool {
        let is_long = entries.iter().filter_map(|entry| entry.quantity).any(is_long);
        let template = if is_long { 64 } else { 46 };
        self.incremental(template, Head { transact_time_ns, event }, |out| {
            either::<_, BookEntry46, BookEntry64>(is_long, entries, out);
            group::<_, OrderEntry46>(Dimension::Aligned, orders, out);
        })
    }

    /// [`OrderBook`](crate::OrderBook).
    #[must_use = "what is not taken is to be given again"]
    pub fn order_book(
        &mut self,
        transact_time_ns: u64,
        event: MatchEvent,
        entries: &[OrderBookEntry],
    ) -> bool {
        self.incremental(47, Head { transact_time_ns, event }, |out| {
            group::<_, OrderBookEntry47>(Dimension::Packed, entries, out);
        })
    }

    /// [`TradeSummary`](crate::TradeSummary): the orders of the first trade, then of the
    /// next, as many of each as it says.
    #[must_use = "what is not taken is to be given again"]
    pub fn trade_summary(
        &mut self,
        transact_time_ns: u64,
        event: MatchEvent,
        entries: &[TradeEntry],
        orders: &[TradeOrder],
    ) -> bool {
        let is_long = entries.iter().any(|entry| is_long(entry.quantity));
        let template = if is_long { 65 } else { 48 };
        self.incremental(template, Head { transact_time_ns, event }, |out| {
            either::<_, TradeEntry48, TradeEntry65>(is_long, entries, out);
            group::<_, TradeOrder48>(Dimension::Aligned, orders, out);
        })
    }

    /// [`Volume`](crate::Volume).
    #[must_use = "what is not taken is to be given again"]
    pub fn volume(
        &mut self,
        transact_time_ns: u64,
        event: MatchEvent,
        entries: &[VolumeEntry],
    ) -> bool {
        let is_long = entries.iter().any(|entry| is_long(entry.quantity));
        let template = if is_long { 66 } else { 37 };
        self.incremental(template, Head { transact_time_ns, event }, |out| {
            either::<_, VolumeEntry37, VolumeEntry66>(is_long, entries, out);
        })
    }

    /// [`Snapshot`], with these entries.
    #[must_use = "what is not taken is to be given again"]
    pub fn snapshot(&mut self, snapshot: &Snapshot<'_>, entries: &[SnapshotEntry]) -> bool {
        let is_long = entries.iter().filter_map(|entry| entry.quantity).any(is_long);
        let block = <Snapshot52 as Block<Snapshot<'_>>>::LEN;
        self.message(if is_long { 69 } else { 52 }, block, |out| {
            Snapshot52::append(snapshot, out);
            either::<_, SnapshotEntry52, SnapshotEntry69>(is_long, entries, out);
        })
    }

    /// [`SnapshotOrderBook`], with these orders.
    #[must_use = "what is not taken is to be given again"]
    pub fn snapshot_order_book(
        &mut self,
        snapshot: &SnapshotOrderBook<'_>,
        entries: &[SnapshotOrder],
    ) -> bool {
        let block = <SnapshotOrderBook53 as Block<SnapshotOrderBook<'_>>>::LEN;
        self.message(53, block, |out| {
            SnapshotOrderBook53::append(snapshot, out);
            group::<_, SnapshotOrder53>(Dimension::Packed, entries, out);
        })
    }

    /// [`Definition`] of a future, whatever its kind says, with these groups. Texts are
    /// cut where they are too long.
    #[must_use = "what is not taken is to be given again"]
    pub fn definition_future(
        &mut self,
        definition: &Definition<'_>,
        groups: &DefinitionGroups<'_>,
    ) -> bool {
        if groups.events.len().max(groups.feeds.len()).max(groups.attributes.len()) > MAX_ENTRIES {
            return false;
        }
        self.message(54, FUTURE_BYTES, |out| {
            append_future(definition, out);
            append_groups(groups, out);
        })
    }
}

/// A group counts its entries in a byte. Those of other groups are so long that a packet
/// does not hold as many.
const MAX_ENTRIES: usize = u8::MAX as usize;

/// How long template 4 is.
const RESET_BYTES: usize = 9;

/// Whether a quantity, not null, needs more than 32 bits.
const fn is_long(quantity: i64) -> bool {
    quantity >= i32::MAX as i64
}

/// A group of entries.
fn group<T, B: Block<T>>(size: Dimension, entries: &[T], out: &mut Vec<u8>) {
    size.append(B::LEN, entries.len(), out);
    for entry in entries {
        B::append(entry, out);
    }
}

/// A group of entries of one of two templates.
fn either<T, Short: Block<T>, Long: Block<T>>(is_long: bool, entries: &[T], out: &mut Vec<u8>) {
    match is_long {
        true => group::<T, Long>(Dimension::Packed, entries, out),
        false => group::<T, Short>(Dimension::Packed, entries, out),
    }
}
