//! The exchange's end: numbers messages, packs them into units, and answers who
//! missed some.

use std::collections::BTreeMap;

use tapeline_instrument::Side;

use crate::book::{Books, MARKET, Quoted};
use crate::message::{
    AddAttributedOrder, AddOrder, Message, OrderBookClear, SignedPrice, SnapshotComplete,
    SnapshotResponse, SymbolStatus, Time, TopOfBook,
};
use crate::unit::{self, HEAD};

/// How many messages can be had again.
pub const REPLAY_MESSAGES: usize = 65_000;

/// The longest unit: what a datagram on Ethernet carries.
const MAX_UNIT: usize = 1_400;

/// The status of an instrument of which the best prices are published and no orders.
const LEVEL_1_AUCTION: u8 = b'G';

/// Why messages, or orders, cannot be had again; the code of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Refused {
    /// Of another group.
    Group = b'I',
    /// Not all of them are there, or there is no such instrument.
    OutOfRange = b'O',
}

/// A message that is kept.
#[derive(Clone, Copy, Debug)]
struct Kept {
    bytes: [u8; Message::LONGEST],
    len: u8,
}

/// The messages of one group.
#[derive(Debug)]
pub struct Publisher {
    group: u8,
    /// The number of the next message.
    next: u32,
    /// The unit that is being filled.
    unit: Vec<u8>,
    count: u8,
    /// The second that was told last.
    second: Option<u32>,
    /// The last messages, by number.
    ring: Vec<Kept>,
    books: Books,
    /// The last status of each instrument, in the order in which the first ones came.
    statuses: Vec<SymbolStatus>,
    /// The best prices of instruments that have nothing else published now.
    tops: BTreeMap<u32, TopOfBook>,
    scratch: Vec<u8>,
}

impl Publisher {
    /// A publisher of a group, whose messages begin at 1.
    pub fn new(group: u8) -> Self {
        Self::with_room(group, 0)
    }

    /// The same with room for so many orders, and for all messages that it keeps,
    /// from the start: nothing is allocated for a message.
    pub fn with_room(group: u8, orders: usize) -> Self {
        Self {
            group,
            next: 1,
            unit: Vec::with_capacity(MAX_UNIT),
            count: 0,
            second: None,
            ring: Vec::with_capacity(if orders > 0 { REPLAY_MESSAGES } else { 0 }),
            books: Books::with_room(orders),
            statuses: Vec::new(),
            tops: BTreeMap::new(),
            scratch: Vec::with_capacity(Message::LONGEST),
        }
    }

    /// The number of the next message.
    pub const fn next(&self) -> u32 {
        self.next
    }

    /// The number of the oldest message that can be had again, once there is one.
    pub fn oldest(&self) -> u32 {
        self.next.saturating_sub(REPLAY_MESSAGES as u32).max(1)
    }

    /// The books as they are behind the last message.
    pub const fn books(&self) -> &Books {
        &self.books
    }

    /// Publishes a message of a second since midnight; `send` gets units that are
    /// full. Returns its number.
    pub fn publish(&mut self, second: u32, message: &Message, send: &mut impl FnMut(&[u8])) -> u32 {
        if self.second != Some(second) {
            self.second = Some(second);
            self.put(&Time { seconds: second }.into(), send);
        }
        self.books.apply(message);
        match message {
            Message::SymbolStatus(status) => self.note_status(*status),
            Message::TopOfBook(top) => {
                self.tops.insert(top.instrument, *top);
            }
            _ => {}
        }
        self.put(message, send)
    }

    fn note_status(&mut self, status: SymbolStatus) {
        let is_it = |known: &&mut SymbolStatus| known.instrument == status.instrument;
        match self.statuses.iter_mut().find(is_it) {
            Some(known) => *known = status,
            None => self.statuses.push(status),
        }
        if status.status != LEVEL_1_AUCTION {
            self.tops.remove(&status.instrument);
        }
    }

    /// The last status of an instrument.
    pub fn status(&self, instrument: u32) -> Option<&SymbolStatus> {
        self.statuses.iter().find(|status| status.instrument == instrument)
    }

    /// The best prices of an instrument that has nothing else published now.
    pub fn top(&self, instrument: u32) -> Option<&TopOfBook> {
        self.tops.get(&instrument)
    }

    pub(crate) fn tops(&self) -> impl Iterator<Item = TopOfBook> {
        self.tops.values().copied()
    }

    /// The next number, and the second that was told last.
    pub(crate) fn numbers(&self) -> (u32, Option<u32>) {
        debug_assert!(self.count == 0, "what is not sent is not kept");
        (self.next, self.second)
    }

    pub(crate) fn statuses(&self) -> &[SymbolStatus] {
        &self.statuses
    }

    pub(crate) fn books_mut(&mut self) -> &mut Books {
        &mut self.books
    }

    /// The messages that can be had again, the oldest first.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &[u8]> {
        (self.oldest()..self.next).map(|number| {
            let kept = &self.ring[number as usize % REPLAY_MESSAGES];
            &kept.bytes[..usize::from(kept.len)]
        })
    }

    /// Takes up numbers, the last messages and what is known of instruments. `None`
    /// if there are more messages than numbers.
    pub(crate) fn resume(
        &mut self,
        next: u32,
        second: Option<u32>,
        (statuses, tops): (Vec<SymbolStatus>, Vec<TopOfBook>),
        kept: &[&[u8]],
    ) -> Option<()> {
        let oldest = next.checked_sub(kept.len() as u32).filter(|oldest| *oldest > 0)?;
        if kept.len() > REPLAY_MESSAGES {
            return None;
        }
        for (number, bytes) in (oldest..).zip(kept) {
            if bytes.len() > Message::LONGEST {
                return None;
            }
            self.scratch.clear();
            self.scratch.extend_from_slice(bytes);
            self.keep(number);
        }
        (self.next, self.second, self.statuses) = (next, second, statuses);
        self.tops = tops.into_iter().map(|top| (top.instrument, top)).collect();
        Some(())
    }

    fn put(&mut self, message: &Message, send: &mut impl FnMut(&[u8])) -> u32 {
        self.scratch.clear();
        message.append(&mut self.scratch);
        if self.unit.len() + self.scratch.len() > MAX_UNIT || self.count == u8::MAX {
            self.flush(send);
        }
        if self.count == 0 {
            self.unit.clear();
            unit::begin(&mut self.unit);
        }
        self.unit.extend_from_slice(&self.scratch);
        self.count += 1;
        let number = self.next;
        self.keep(number);
        self.next = self.next.wrapping_add(1);
        number
    }

    fn keep(&mut self, number: u32) {
        let mut kept = Kept { bytes: [0; Message::LONGEST], len: self.scratch.len() as u8 };
        kept.bytes[..self.scratch.len()].copy_from_slice(&self.scratch);
        let at = number as usize % REPLAY_MESSAGES;
        // Numbers begin at 1, so place 0 is filled by number 65,000.
        while self.ring.len() <= at {
            self.ring.push(kept);
        }
        self.ring[at] = kept;
    }

    /// Sends what has not been sent.
    pub fn flush(&mut self, send: &mut impl FnMut(&[u8])) {
        if self.count == 0 {
            return;
        }
        let first = self.next.wrapping_sub(u32::from(self.count));
        unit::end(&mut self.unit, 0, self.count, self.group, first);
        send(&self.unit);
        self.count = 0;
        self.unit.clear();
    }

    /// Says that nothing is new: a unit without messages, with the next number.
    pub fn heartbeat(&mut self, send: &mut impl FnMut(&[u8])) {
        self.flush(send);
        let mut unit = Vec::with_capacity(HEAD);
        unit::begin(&mut unit);
        unit::end(&mut unit, 0, 0, self.group, self.next);
        send(&unit);
    }

    /// Whether messages can be had again.
    ///
    /// # Errors
    /// They are of another group, or not all of them are there.
    pub fn can_replay(&self, group: u8, first: u32, count: u16) -> Result<(), Refused> {
        if group != self.group {
            return Err(Refused::Group);
        }
        // What is in the unit that is being filled has not gone out.
        let sent = self.next.wrapping_sub(u32::from(self.count));
        let end = first.checked_add(u32::from(count)).filter(|end| *end <= sent);
        end.filter(|_| first >= self.oldest() && count > 0).map(drop).ok_or(Refused::OutOfRange)
    }

    /// Sends messages again, from a number on, with their numbers.
    ///
    /// # Errors
    /// They are of another group, or not all of them are there.
    pub fn replay(
        &self,
        group: u8,
        first: u32,
        count: u16,
        send: &mut impl FnMut(&[u8]),
    ) -> Result<(), Refused> {
        self.can_replay(group, first, count)?;
        let end = first + u32::from(count);
        let (mut unit, mut from) = (Vec::with_capacity(MAX_UNIT), first);
        unit::begin(&mut unit);
        for number in first..end {
            let kept = &self.ring[number as usize % REPLAY_MESSAGES];
            let bytes = &kept.bytes[..usize::from(kept.len)];
            let count = number - from;
            if unit.len() + bytes.len() > MAX_UNIT || count == u32::from(u8::MAX) {
                unit::end(&mut unit, 0, count as u8, self.group, from);
                send(&unit);
                unit.clear();
                unit::begin(&mut unit);
                from = number;
            }
            unit.extend_from_slice(bytes);
        }
        unit::end(&mut unit, 0, (end - from) as u8, self.group, from);
        send(&unit);
        Ok(())
    }

    /// Sends the orders of all instruments as they are, without numbers: for each its
    /// orders, or its best prices where these are all there is, its status and a
    /// [`SnapshotComplete`], and one of these with the segment and number 0 at the end.
    pub fn snapshot(&self, second: u32, segment: &str, send: &mut impl FnMut(&[u8])) {
        self.begin_snapshot(second, send);
        for at in 0..self.statuses.len() {
            let _ = self.snapshot_part(at, send);
        }
        self.end_snapshot(segment, send);
    }

    /// Begins a snapshot, whose parts need not go out at one moment: each says
    /// which message it is in step with.
    pub fn begin_snapshot(&self, second: u32, send: &mut impl FnMut(&[u8])) {
        let response = SnapshotResponse { status: b'A', ..SnapshotResponse::default() };
        self.say(response, send);
        self.say(Time { seconds: second }, send);
    }

    /// The instruments of which something is known, in the order of the parts of a
    /// snapshot.
    pub fn instruments(&self) -> impl ExactSizeIterator<Item = u32> {
        self.statuses.iter().map(|status| status.instrument)
    }

    /// Sends one instrument of a snapshot.
    ///
    /// # Errors
    /// There are not so many.
    pub fn snapshot_part(&self, at: usize, send: &mut impl FnMut(&[u8])) -> Result<(), Refused> {
        let status = *self.statuses.get(at).ok_or(Refused::OutOfRange)?;
        let instrument = status.instrument;
        for side in Side::BOTH {
            for (order, quoted) in self.books.side(instrument, side) {
                self.say(self.added(order, &quoted), send);
            }
        }
        if let Some(top) = self.tops.get(&instrument) {
            self.say(*top, send);
        }
        self.say(status, send);
        let sequence = self.next.wrapping_sub(1);
        let complete = SnapshotComplete { sequence, instrument, ..SnapshotComplete::default() };
        self.say(complete, send);
        Ok(())
    }

    /// Ends a snapshot of a segment.
    pub fn end_snapshot(&self, segment: &str, send: &mut impl FnMut(&[u8])) {
        let segment = tapeline_layout::Text::new(segment);
        self.say(SnapshotComplete { segment, ..SnapshotComplete::default() }, send);
    }

    /// The message by which an order was added, as it is now.
    fn added(&self, order: u64, quoted: &Quoted) -> Message {
        let Quoted { instrument, quantity, .. } = *quoted;
        let (ns, price) = (0, SignedPrice(quoted.price));
        let flags = if quoted.is_market { MARKET } else { 0 };
        let side = if quoted.side == Side::Buy { b'B' } else { b'S' };
        match self.books.attribution(order) {
            Some(attribution) => AddAttributedOrder {
                ns,
                order,
                side,
                quantity,
                instrument,
                price,
                attribution,
                flags,
            }
            .into(),
            None => {
                AddOrder { order, side, quantity, instrument, price, flags, ..AddOrder::default() }
                    .into()
            }
        }
    }

    fn say(&self, message: impl Into<Message>, send: &mut impl FnMut(&[u8])) {
        let mut unit = Vec::new();
        unit::append_unnumbered(&mut unit, self.group, &[message.into()]);
        send(&unit);
    }

    /// Begins anew: all that was published is void, and said again by whoever
    /// calls this.
    pub fn clear_all(&mut self, second: u32, send: &mut impl FnMut(&[u8])) {
        let instruments: Vec<u32> = self.statuses.iter().map(|status| status.instrument).collect();
        for instrument in instruments {
            let clear = OrderBookClear { instrument, ..OrderBookClear::default() };
            self.publish(second, &clear.into(), send);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Unit;

    /// The messages of a snapshot but the first two and the last, by their types.
    fn snapshot(publisher: &Publisher) -> String {
        let mut types = String::new();
        publisher.snapshot(5, "SETS", &mut |unit| {
            let unit = Unit::read(unit).expect("a unit");
            types.extend(unit.messages().map(|(_, bytes)| char::from(bytes[1])));
        });
        types.chars().skip(2).take_while(|kind| *kind != '\u{83}').collect()
    }

    #[test]
    fn who_comes_late_has_the_best_prices_where_these_are_all_there_is() {
        let mut publisher = Publisher::new(b'A');
        let mut publish = |message: Message| {
            publisher.publish(1, &message, &mut |_| {});
            snapshot(&publisher)
        };
        let status = |status| SymbolStatus { instrument: 7, status, ..SymbolStatus::default() };
        publish(status(b'T').into());
        let order =
            AddOrder { order: 1, side: b'B', quantity: 5, instrument: 7, ..AddOrder::default() };
        assert_eq!(publish(order.into()), "AH");
        publish(status(b'G').into());
        assert_eq!(publish(OrderBookClear { instrument: 7, ..Default::default() }.into()), "H");
        let top = TopOfBook { instrument: 7, bid_size: 5, ..TopOfBook::default() };
        assert_eq!(publish(top.into()), "qH");
        assert_eq!(publish(status(b'G').into()), "qH", "it goes on");
        publish(status(b'T').into());
        assert_eq!(publish(order.into()), "AH");
    }
}
