//! The books that messages make.

use std::collections::{BTreeMap, HashMap};

use tapeline_instrument::{Price, Side};
use tapeline_layout::Text;

use crate::message::Message;

/// One order that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Buy or sell.
    pub side: Side,
    /// Its limit; 0 without one.
    pub price: Price,
    /// It has no limit.
    pub is_market: bool,
    /// How much is shown.
    pub quantity: u32,
    /// Of which instrument.
    pub instrument: u32,
}

/// Where an order stands: the better price first, then the older one.
type Place = (bool, i64, u64);

/// No slot.
const NONE: u32 = u32::MAX;

type Name = Text<11, b' '>;

#[derive(Clone, Debug)]
struct Entry {
    id: u64,
    quoted: Quoted,
    place: Place,
    attribution: Option<Name>,
    /// Its neighbours among the orders of its side, in the order in which they came.
    before: u32,
    behind: u32,
}

/// The orders of a group of instruments.
///
/// A change costs a look into a table and two links, and allocates nothing once the
/// tables have grown; who wants a side in the order of its prices has it sorted.
#[derive(Clone, Debug, Default)]
pub struct Books {
    slots: HashMap<u64, u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The last order of each side of each instrument.
    sides: BTreeMap<u32, [u32; 2]>,
    /// Counts arrivals, which is time as far as priority goes.
    arrivals: u64,
}

/// Bit 4 of an added order: it has no limit.
pub(crate) const MARKET: u8 = 1 << 4;

/// Bit 0 of a modified order: it stays where it stood.
pub(crate) const KEPT: u8 = 1;

impl Books {
    /// Books with room for so many orders from the start.
    pub fn with_room(orders: usize) -> Self {
        Self {
            // What was taken out of a table still takes a place until it is swept: with
            // twice the places it is swept and never grows.
            slots: HashMap::with_capacity(2 * orders),
            entries: Vec::with_capacity(orders),
            free: Vec::with_capacity(orders),
            ..Self::default()
        }
    }

    /// Applies a message; those that are no change of a book do nothing.
    pub fn apply(&mut self, message: &Message) {
        match message {
            Message::AddOrder(add) => {
                let quoted = quoted(add.side, add.price.0, add.flags, add.quantity, add.instrument);
                self.add(add.order, quoted, None);
            }
            Message::AddAttributedOrder(add) => {
                let quoted = quoted(add.side, add.price.0, add.flags, add.quantity, add.instrument);
                self.add(add.order, quoted, Some(add.attribution));
            }
            Message::OrderDeleted(deleted) => {
                self.remove(deleted.order);
            }
            Message::OrderModified(modified) => {
                let Some(entry) = self.entry_mut(modified.order) else { return };
                let is_kept = modified.flags & KEPT != 0 && entry.quoted.price == modified.price.0;
                if is_kept {
                    entry.quoted.quantity = modified.quantity;
                    return;
                }
                let Some((quoted, name)) = self.remove(modified.order) else { return };
                let (price, quantity) = (modified.price.0, modified.quantity);
                self.add(modified.order, Quoted { price, quantity, ..quoted }, name);
            }
            Message::Executed(executed) => self.reduce(executed.order, executed.quantity),
            Message::ExecutedAtPrice(executed) => match executed.display {
                0 => {
                    self.remove(executed.order);
                }
                display => {
                    if let Some(entry) = self.entry_mut(executed.order) {
                        entry.quoted.quantity = display;
                    }
                }
            },
            Message::OrderBookClear(clear) => self.clear(clear.instrument),
            _ => {}
        }
    }

    fn add(&mut self, id: u64, quoted: Quoted, attribution: Option<Name>) {
        self.remove(id);
        self.put_back(id, quoted, self.arrivals + 1, attribution);
    }

    /// All orders, each with when it came among them, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, Quoted, u64, Option<Name>)> {
        self.slots.values().filter_map(|slot| {
            let Entry { id, quoted, place, attribution, .. } = self.entries.get(*slot as usize)?;
            Some((*id, *quoted, place.2, *attribution))
        })
    }

    /// Adds an order that is not there, behind all that came before it.
    pub(crate) fn put_back(
        &mut self,
        id: u64,
        quoted: Quoted,
        arrival: u64,
        attribution: Option<Name>,
    ) {
        self.arrivals = arrival;
        let rank = match quoted.side {
            Side::Buy => -quoted.price.0,
            Side::Sell => quoted.price.0,
        };
        let place = (!quoted.is_market, rank, self.arrivals);
        let last =
            &mut self.sides.entry(quoted.instrument).or_insert([NONE; 2])[quoted.side as usize];
        let entry = Entry { id, quoted, place, attribution, before: *last, behind: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        if let Some(before) = self.entries.get_mut(*last as usize) {
            before.behind = slot;
        }
        *last = slot;
        self.slots.insert(id, slot);
    }

    fn remove(&mut self, id: u64) -> Option<(Quoted, Option<Name>)> {
        let slot = self.slots.remove(&id)?;
        let Entry { quoted, attribution, before, behind, .. } = self.entries[slot as usize];
        if let Some(before) = self.entries.get_mut(before as usize) {
            before.behind = behind;
        }
        match self.entries.get_mut(behind as usize) {
            Some(behind) => behind.before = before,
            None => self.sides.get_mut(&quoted.instrument)?[quoted.side as usize] = before,
        }
        self.free.push(slot);
        Some((quoted, attribution))
    }

    fn entry_mut(&mut self, id: u64) -> Option<&mut Entry> {
        let slot = *self.slots.get(&id)?;
        self.entries.get_mut(slot as usize)
    }

    fn reduce(&mut self, id: u64, quantity: u32) {
        let Some(entry) = self.entry_mut(id) else { return };
        entry.quoted.quantity = entry.quoted.quantity.saturating_sub(quantity);
        if entry.quoted.quantity == 0 {
            self.remove(id);
        }
    }

    /// The orders of a side, the last one first.
    fn entries(&self, instrument: u32, side: Side) -> impl Iterator<Item = &Entry> {
        let mut slot = self.sides.get(&instrument).map_or(NONE, |sides| sides[side as usize]);
        std::iter::from_fn(move || {
            let entry = self.entries.get(slot as usize)?;
            slot = entry.before;
            Some(entry)
        })
    }

    /// Forgets the orders of an instrument.
    pub fn clear(&mut self, instrument: u32) {
        for side in Side::BOTH {
            let last = |books: &Self| books.entries(instrument, side).next().map(|entry| entry.id);
            while let Some(id) = last(self) {
                self.remove(id);
            }
        }
    }

    /// An order by its id.
    pub fn order(&self, id: u64) -> Option<&Quoted> {
        let slot = *self.slots.get(&id)?;
        self.entries.get(slot as usize).map(|entry| &entry.quoted)
    }

    /// The orders of one side, the best first, at each price the oldest first.
    pub fn side(&self, instrument: u32, side: Side) -> impl Iterator<Item = (u64, Quoted)> + use<> {
        let mut found: Vec<(Place, u64, Quoted)> = self
            .entries(instrument, side)
            .map(|entry| (entry.place, entry.id, entry.quoted))
            .collect();
        found.sort_unstable_by_key(|(place, ..)| *place);
        found.into_iter().map(|(_, id, quoted)| (id, quoted))
    }

    /// Who is named with an order, if anybody is.
    pub(crate) fn attribution(&self, id: u64) -> Option<Name> {
        let slot = *self.slots.get(&id)?;
        self.entries.get(slot as usize)?.attribution
    }

    /// How many orders there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

fn quoted(side: u8, price: Price, flags: u8, quantity: u32, instrument: u32) -> Quoted {
    let side = if side == b'B' { Side::Buy } else { Side::Sell };
    Quoted { side, price, is_market: flags & MARKET != 0, quantity, instrument }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{
        AddOrder, Executed, ExecutedAtPrice, OrderBookClear, OrderDeleted, OrderModified,
        SignedPrice,
    };

    fn add(order: u64, side: u8, price: i64, quantity: u32) -> Message {
        let price = SignedPrice(Price(price));
        AddOrder { order, side, price, quantity, instrument: 7, ..AddOrder::default() }.into()
    }

    fn bids(books: &Books) -> Vec<(u64, u32)> {
        books.side(7, Side::Buy).map(|(id, quoted)| (id, quoted.quantity)).collect()
    }

    #[test]
    fn orders_stand_by_price_and_time() {
        let mut books = Books::default();
        for message in [add(1, b'B', 10, 5), add(2, b'B', 11, 6), add(3, b'B', 10, 7)] {
            books.apply(&message);
        }
        assert_eq!(bids(&books), [(2, 6), (1, 5), (3, 7)]);
        let modified = |order, quantity, price, flags| {
            let price = SignedPrice(Price(price));
            Message::from(OrderModified { order, quantity, price, flags, ns: 0 })
        };
        books.apply(&modified(1, 4, 10, KEPT));
        assert_eq!(bids(&books), [(2, 6), (1, 4), (3, 7)]);
        books.apply(&modified(1, 9, 10, 0));
        assert_eq!(bids(&books), [(2, 6), (3, 7), (1, 9)]);
        books.apply(&Executed { order: 2, quantity: 6, ..Executed::default() }.into());
        books.apply(&ExecutedAtPrice { order: 3, display: 2, ..Default::default() }.into());
        books.apply(&OrderDeleted { order: 1, ..OrderDeleted::default() }.into());
        assert_eq!(bids(&books), [(3, 2)]);
        books.apply(&add(4, b'S', 12, 1));
        books.apply(&OrderBookClear { instrument: 7, ..OrderBookClear::default() }.into());
        assert!(books.is_empty());
    }

    #[test]
    fn what_is_not_known_changes_nothing() {
        let mut books = Books::default();
        books.apply(&Executed { order: 2, quantity: 6, ..Executed::default() }.into());
        books.apply(&OrderDeleted { order: 1, ..OrderDeleted::default() }.into());
        books.apply(&OrderModified { order: 1, ..OrderModified::default() }.into());
        assert_eq!(books.len(), 0);
    }
}
