//! Where orders are kept.

use tapeline_instrument::{OrderId, Side};

use crate::command::{BookId, Owner, OwnerType, TimeInForce};
use crate::event::Order;
use crate::queues::Node;

/// What matching reads and writes of each order: half a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resting {
    /// 0 where there is no order.
    pub(crate) id: OrderId,
    pub(crate) owner: Owner,
    /// Its place in the ladder of its side.
    pub(crate) key: u32,
    /// How much of it is shown now.
    pub(crate) shown: u32,
    pub(crate) leaves: u32,
    pub(crate) filled: u32,
    pub(crate) book: BookId,
    pub(crate) flags: u8,
    /// The owner's group of orders; 0 is none.
    pub(crate) group: u8,
}

const SELL: u8 = 1;
const NAMED: u8 = 2;
/// Its [`Special`] counts.
const SPECIAL: u8 = 4;
const PARKED: u8 = 8;
const HIDDEN: u8 = 16;
const ICEBERG: u8 = 32;
const PEGGED: u8 = 64;
const QUOTE: u8 = 128;

impl Resting {
    #[inline]
    pub(crate) const fn side(&self) -> Side {
        if self.flags & SELL == 0 { Side::Buy } else { Side::Sell }
    }

    #[inline]
    const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(crate) const fn is_named(&self) -> bool {
        self.has(NAMED)
    }

    /// Anything but an order of the day that is shown in full.
    #[inline]
    pub(crate) const fn is_special(&self) -> bool {
        self.has(SPECIAL)
    }

    /// All of it stands in the one queue of what is shown at its price.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        !self.has(SPECIAL | PARKED | HIDDEN | ICEBERG | PEGGED)
    }

    /// It waits for a trade or an auction and is not in the book.
    #[inline]
    pub(crate) const fn is_parked(&self) -> bool {
        self.has(PARKED)
    }

    /// It is one side of a quote.
    pub(crate) const fn is_quote(&self) -> bool {
        self.has(QUOTE)
    }

    /// It is in none of the queues at prices.
    #[inline]
    pub(crate) const fn is_apart(&self) -> bool {
        self.has(PARKED | PEGGED)
    }

    /// It is at the middle of the best prices.
    pub(crate) const fn is_pegged(&self) -> bool {
        self.has(PEGGED)
    }

    pub(crate) const fn is_hidden(&self) -> bool {
        self.has(HIDDEN)
    }

    #[inline]
    pub(crate) const fn is_iceberg(&self) -> bool {
        self.has(ICEBERG)
    }

    /// Some of it is, or may be, in the queue of what is not shown.
    #[inline]
    pub(crate) const fn has_unshown(&self) -> bool {
        self.has(HIDDEN | ICEBERG)
    }

    pub(crate) fn set_parked(&mut self, is_parked: bool) {
        self.flags = if is_parked { self.flags | PARKED } else { self.flags & !PARKED };
    }

    pub(crate) fn become_special(&mut self) {
        self.flags |= SPECIAL;
    }

    pub(crate) fn become_iceberg(&mut self) {
        self.flags |= ICEBERG;
    }

    /// For an event: the order, which is kept in a slot.
    #[inline]
    pub(crate) const fn at(&self, slot: Node) -> Order {
        let Self { id, owner, leaves, filled, .. } = *self;
        Order { id, slot, owner, leaves, filled }
    }

    #[inline]
    pub(crate) const fn with(mut self, traits: Traits) -> Self {
        self.flags = traits.0;
        self
    }
}

/// What an order is, and does not stop being.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits(u8);

impl Traits {
    #[inline]
    pub(crate) const fn plain(side: Side) -> Self {
        Self(match side {
            Side::Buy => 0,
            Side::Sell => SELL,
        })
    }

    pub(crate) const fn named(self, is_named: bool) -> Self {
        Self(if is_named { self.0 | NAMED } else { self.0 })
    }

    pub(crate) const fn special(self) -> Self {
        Self(self.0 | SPECIAL)
    }

    pub(crate) const fn quoted(self, is_quote: bool) -> Self {
        Self(if is_quote { self.0 | QUOTE } else { self.0 })
    }

    pub(crate) const fn pegged(self, is_pegged: bool) -> Self {
        Self(if is_pegged { self.0 | PEGGED } else { self.0 })
    }

    pub(crate) const fn displaying(self, display: u32, quantity: u32) -> Self {
        match display {
            0 => Self(self.0 | HIDDEN),
            _ if display < quantity => Self(self.0 | ICEBERG),
            _ => self,
        }
    }
}

/// What only some orders have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Special {
    /// The id of what is shown of an iceberg.
    pub(crate) shown_id: OrderId,
    pub(crate) time_in_force: TimeInForce,
    /// How much an iceberg shows.
    pub(crate) peak: u32,
    pub(crate) is_random_peak: bool,
    /// What trades must reach, as a key of the waiting ladder; 0 for none.
    pub(crate) stop_key: u32,
    pub(crate) self_match: crate::command::SelfMatch,
    /// Of a pegged order, the smallest part that it trades.
    pub(crate) min_quantity: u32,
    /// It trades with pegged orders, and is none.
    pub(crate) meets_pegged: bool,
    /// How far its limit is from the last price, in hundredths of a per cent.
    pub(crate) offset_bp: Option<i32>,
    pub(crate) owner_type: OwnerType,
}

/// All orders that are alive, by slot.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    resting: Vec<Resting>,
    special: Vec<Special>,
    free: Vec<Node>,
    /// Slots from here on were never used.
    fresh: Node,
    alive: u32,
}

impl Orders {
    /// Room for so many orders.
    pub(crate) fn new(count: u32) -> Self {
        let len = count as usize;
        Self {
            resting: vec![Resting::default(); len],
            special: vec![Special::default(); len],
            free: Vec::with_capacity(len),
            fresh: 0,
            alive: 0,
        }
    }

    /// The slot that the next order gets; the caller looks first whether there
    /// is room.
    #[inline]
    pub(crate) fn next_slot(&self) -> Node {
        self.free.last().copied().unwrap_or(self.fresh)
    }

    #[inline]
    pub(crate) fn take(&mut self, order: Resting) -> Node {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.fresh += 1;
            self.fresh - 1
        });
        self.resting[slot as usize] = order;
        self.alive += 1;
        slot
    }

    /// An order is gone.
    #[inline]
    pub(crate) fn give(&mut self, slot: Node) {
        let order = &mut self.resting[slot as usize];
        order.id = OrderId(0);
        order.leaves = 0;
        self.alive -= 1;
        self.free.push(slot);
    }

    #[inline]
    pub(crate) fn get(&self, slot: Node) -> &Resting {
        &self.resting[slot as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: Node) -> &mut Resting {
        &mut self.resting[slot as usize]
    }

    pub(crate) fn special(&self, slot: Node) -> &Special {
        &self.special[slot as usize]
    }

    pub(crate) fn special_mut(&mut self, slot: Node) -> &mut Special {
        &mut self.special[slot as usize]
    }

    /// For whom an order is.
    #[inline]
    pub(crate) fn owner_type(&self, slot: Node) -> OwnerType {
        let is_special = self.get(slot).is_special();
        if is_special { self.special(slot).owner_type } else { OwnerType::Any }
    }

    #[inline]
    pub(crate) fn alive(&self) -> u32 {
        self.alive
    }

    /// Slots that are or were in use.
    pub(crate) fn slots(&self) -> std::ops::Range<Node> {
        0..self.fresh
    }

    /// Slots that were used and are free, and the first that was never used.
    pub(crate) fn places(&self) -> (&[Node], Node) {
        (&self.free, self.fresh)
    }

    /// Takes up which slots are free. `None` if there is no room for so many.
    pub(crate) fn restore_places(
        &mut self,
        free: Vec<Node>,
        fresh: Node,
        alive: u32,
    ) -> Option<()> {
        let is_possible = fresh as usize <= self.resting.len()
            && free.len() + alive as usize == fresh as usize
            && free.iter().all(|slot| *slot < fresh);
        // Room for all stays: giving a slot back never allocates.
        self.free.clear();
        self.free.extend(free);
        (self.fresh, self.alive) = (fresh, alive);
        is_possible.then_some(())
    }

    /// The id that market data has for what is shown of an order.
    #[inline]
    pub(crate) fn shown_id(&self, slot: Node) -> OrderId {
        let order = self.get(slot);
        if order.is_iceberg() { self.special(slot).shown_id } else { order.id }
    }
}
