//! The books that messages make.

use std::collections::{BTreeMap, HashMap};

use tapeline_instrument::{Price, Side};

use crate::message::{AddAttributedOrder, Message};

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

#[derive(Clone, Debug)]
struct Entry {
    quoted: Quoted,
    place: Place,
    attribution: Option<AddAttributedOrder>,
}

/// The orders of a group of instruments.
#[derive(Clone, Debug, Default)]
pub struct Books {
    orders: HashMap<u64, Entry>,
    /// By instrument, then by place; of buyers and of sellers.
    sides: BTreeMap<u32, [BTreeMap<Place, u64>; 2]>,
    /// Counts arrivals, which is time as far as priority goes.
    arrivals: u64,
}

/// Bit 4 of an added order: it has no limit.
pub(crate) const MARKET: u8 = 1 << 4;

/// Bit 0 of a modified order: it stays where it stood.
pub(crate) const KEPT: u8 = 1;

impl Books {
    /// Applies a message; those that are no change of a book do nothing.
    pub fn apply(&mut self, message: &Message) {
        match message {
            Message::AddOrder(add) => {
                let quoted = quoted(add.side, add.price.0, add.flags, add.quantity, add.instrument);
                self.add(add.order, quoted, None);
            }
            Message::AddAttributedOrder(add) => {
                let quoted = quoted(add.side, add.price.0, add.flags, add.quantity, add.instrument);
                self.add(add.order, quoted, Some(*add));
            }
            Message::OrderDeleted(deleted) => {
                self.remove(deleted.order);
            }
            Message::OrderModified(modified) => {
                let Some(entry) = self.orders.get_mut(&modified.order) else { return };
                let is_kept = modified.flags & KEPT != 0 && entry.quoted.price == modified.price.0;
                if is_kept {
                    entry.quoted.quantity = modified.quantity;
                    return;
                }
                let Some(entry) = self.remove(modified.order) else { return };
                let (price, quantity) = (modified.price.0, modified.quantity);
                let quoted = Quoted { price, quantity, ..entry.quoted };
                self.add(modified.order, quoted, entry.attribution);
            }
            Message::Executed(executed) => self.reduce(executed.order, executed.quantity),
            Message::ExecutedAtPrice(executed) => match executed.display {
                0 => {
                    self.remove(executed.order);
                }
                display => {
                    if let Some(entry) = self.orders.get_mut(&executed.order) {
                        entry.quoted.quantity = display;
                    }
                }
            },
            Message::OrderBookClear(clear) => self.clear(clear.instrument),
            _ => {}
        }
    }

    fn add(&mut self, id: u64, quoted: Quoted, attribution: Option<AddAttributedOrder>) {
        self.remove(id);
        self.arrivals += 1;
        let rank = match quoted.side {
            Side::Buy => -quoted.price.0,
            Side::Sell => quoted.price.0,
        };
        let place = (!quoted.is_market, rank, self.arrivals);
        self.sides.entry(quoted.instrument).or_default()[quoted.side as usize].insert(place, id);
        self.orders.insert(id, Entry { quoted, place, attribution });
    }

    fn remove(&mut self, id: u64) -> Option<Entry> {
        let entry = self.orders.remove(&id)?;
        let sides = self.sides.get_mut(&entry.quoted.instrument)?;
        sides[entry.quoted.side as usize].remove(&entry.place);
        Some(entry)
    }

    fn reduce(&mut self, id: u64, quantity: u32) {
        let Some(entry) = self.orders.get_mut(&id) else { return };
        entry.quoted.quantity = entry.quoted.quantity.saturating_sub(quantity);
        if entry.quoted.quantity == 0 {
            self.remove(id);
        }
    }

    /// Forgets the orders of an instrument.
    pub fn clear(&mut self, instrument: u32) {
        let sides = self.sides.remove(&instrument).unwrap_or_default();
        for id in sides.iter().flat_map(BTreeMap::values) {
            self.orders.remove(id);
        }
    }

    /// An order by its id.
    pub fn order(&self, id: u64) -> Option<&Quoted> {
        self.orders.get(&id).map(|entry| &entry.quoted)
    }

    /// The orders of one side, the best first, at each price the oldest first.
    pub fn side(&self, instrument: u32, side: Side) -> impl Iterator<Item = (u64, Quoted)> {
        let sides = self.sides.get(&instrument);
        let ids = sides.into_iter().flat_map(move |sides| sides[side as usize].values());
        ids.filter_map(|id| Some((*id, self.orders.get(id)?.quoted)))
    }

    /// Who is named with an order, if anybody is.
    pub(crate) fn attribution(&self, id: u64) -> Option<&AddAttributedOrder> {
        self.orders.get(&id)?.attribution.as_ref()
    }

    /// How many orders there are.
    pub fn len(&self) -> usize {
        self.orders.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.orders.is_empty()
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
