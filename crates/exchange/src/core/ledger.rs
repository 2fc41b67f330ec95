//! What the engine does not know of orders: their owners' names for them, and what
//! reports say besides.

use std::collections::HashMap;

use tapeline_instrument::{OrderId, Side};
use tapeline_layout::Text;
use tapeline_matching::{BookId, Order};
use tapeline_ntg::client::{CancelReplace, NewOrder};

use super::requests::side;

/// What an order was asked for with, which reports by FIX say again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    /// How much in all, what is traded included.
    pub(super) quantity: u32,
    /// 1 market, 2 limit, 3 stop, 4 stop limit, as in the native gateway's orders; so
    /// are those that follow.
    pub(super) order_type: u8,
    pub(super) time_in_force: u8,
    pub(super) sub_type: u8,
    pub(super) anonymity: u8,
    pub(super) passive_only: u8,
    pub(super) clearing_account: u8,
    pub(super) expire_s: u32,
    /// With 8 decimals; 0 without one.
    pub(super) limit: i64,
    pub(super) stop: i64,
    pub(super) account: Text<10>,
    pub(super) parties: Parties,
    /// By regulation: bit 0 direct electronic access, 1 liquidity provision, 2 algorithm.
    pub(super) mifid: u8,
    /// For mass cancels; 0 is none.
    pub(super) group: u8,
    pub(super) min_quantity: u32,
    pub(super) offset_bp: i32,
    pub(super) pegged: u8,
    pub(super) owner_type: u8,
}

/// Who takes part in an order, by the short codes of the native gateway; 0 is nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parties {
    /// The group of traders.
    pub(super) trader: Text<11>,
    pub(super) client: u32,
    pub(super) investment: u32,
    pub(super) executing: u32,
    /// What the three are, two bits each from the lowest: 1 firm, 2 algorithm, 3 person.
    pub(super) roles: u8,
}

impl Parties {
    pub(super) fn of(order: &NewOrder) -> Self {
        Self {
            trader: order.trader_id,
            client: order.client_id,
            investment: order.investment_decision,
            executing: order.executing_trader,
            roles: order.party_roles,
        }
    }
}

impl Terms {
    pub(super) fn of(order: &NewOrder) -> Self {
        Self {
            quantity: order.quantity as u32,
            order_type: order.order_type,
            time_in_force: order.time_in_force,
            sub_type: order.sub_type,
            anonymity: order.anonymity,
            passive_only: order.passive_only,
            clearing_account: order.clearing_account,
            expire_s: order.expire_s,
            limit: order.limit,
            stop: order.stop,
            account: order.account,
            parties: Parties::of(order),
            mifid: order.mifid_flags,
            group: order.group_id,
            min_quantity: order.min_quantity as u32,
            offset_bp: order.offset,
            pegged: order.pegged_instruction,
            owner_type: order.owner_type,
        }
    }

    /// What they are behind an amendment.
    pub(super) fn amended(self, by: &CancelReplace) -> Self {
        let Self { expire_s, limit, stop, account, passive_only, .. } = self;
        let moves = by.limit > 0 && by.limit != limit;
        Self {
            quantity: by.quantity as u32,
            expire_s: if by.expire_s > 0 { by.expire_s } else { expire_s },
            limit: if by.limit > 0 { by.limit } else { limit },
            stop: if by.stop > 0 { by.stop } else { stop },
            account: if by.account.is_empty() { account } else { by.account },
            passive_only: if moves { by.passive_only } else { passive_only },
            ..self
        }
    }
}

/// One order, by the slot that the engine has it in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// 0 before the engine has said it.
    pub(super) id: OrderId,
    /// Its owner's name for it.
    pub(super) name: Text<20>,
    pub(super) user: u16,
    pub(super) book: BookId,
    pub(super) side: Side,
    /// How much of it is shown at a time.
    pub(super) display: u32,
    /// Its id in market data.
    pub(super) shown: OrderId,
    /// It goes when the session of its owner ends.
    pub(super) auto_cancel: bool,
    pub(super) capacity: u8,
    pub(super) terms: Terms,
    /// What the last report said that it is.
    pub(super) status: u8,
    pub(super) is_alive: bool,
    /// The last command in which it traded.
    pub(super) traded_in: u64,
    /// The number of its last side of a trade that is kept, and 1; 0 for none.
    pub(super) last_trade: u64,
}

impl Kept {
    /// What is known of an order before the engine has it.
    pub(super) fn of(order: &NewOrder, user: u16, book: BookId) -> Self {
        Self {
            name: order.cl_ord_id,
            user,
            book,
            side: side(order.side),
            display: order.display as u32,
            auto_cancel: order.auto_cancel == 1,
            capacity: order.capacity,
            terms: Terms::of(order),
            ..Self::default()
        }
    }

    /// The same asking for less in all.
    pub(super) fn asking_less(mut self, quantity: u32) -> Self {
        self.terms.quantity = self.terms.quantity.saturating_sub(quantity);
        self
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            id: OrderId(0),
            name: Text::default(),
            user: 0,
            book: BookId(0),
            side: Side::Buy,
            display: 0,
            shown: OrderId(0),
            auto_cancel: false,
            capacity: 0,
            terms: Terms::default(),
            status: 0,
            is_alive: false,
            traded_in: 0,
            last_trade: 0,
        }
    }
}

/// All orders that are alive.
#[derive(Debug)]
pub(super) struct Ledger {
    kept: Vec<Kept>,
    /// Slots from this one on have never had an order.
    end: u32,
    /// The latest order of each name.
    names: HashMap<(u16, Text<20>), OrderId>,
}

impl Ledger {
    /// With room for so many orders.
    pub(super) fn new(orders: u32) -> Self {
        let slots = orders as usize + 1;
        Self {
            kept: vec![Kept::default(); slots],
            end: 0,
            // What was taken out still takes a place until the table is swept; with
            // twice the places it never grows.
            names: HashMap::with_capacity(2 * slots),
        }
    }

    /// Slots from this one on have never had an order.
    pub(super) const fn end(&self) -> u32 {
        self.end
    }

    /// All slots.
    pub(super) fn slots(&self) -> impl Iterator<Item = (u32, &Kept)> {
        (0..).zip(&self.kept)
    }

    /// The latest order of each name.
    pub(super) fn names(&self) -> impl Iterator<Item = (u16, Text<20>, OrderId)> {
        self.names.iter().map(|((user, name), id)| (*user, *name, *id))
    }

    /// An order is there again. `None` if there is no such slot.
    pub(super) fn put_back(&mut self, slot: u32, kept: Kept) -> Option<()> {
        *self.kept.get_mut(slot as usize)? = kept;
        self.end = self.end.max(slot + 1);
        Some(())
    }

    /// A name means an order again.
    pub(super) fn put_name(&mut self, user: u16, name: Text<20>, id: OrderId) {
        self.names.insert((user, name), id);
    }

    /// An order is on its way into this slot.
    pub(super) fn expect(&mut self, slot: u32, kept: Kept) {
        self.kept[slot as usize] = kept;
        self.end = self.end.max(slot + 1);
    }

    /// The order of an event.
    pub(super) fn meet(&mut self, order: &Order) -> &mut Kept {
        let kept = &mut self.kept[order.slot as usize];
        if kept.id != order.id {
            (kept.id, kept.shown, kept.is_alive) = (order.id, order.id, true);
            self.names.insert((kept.user, kept.name), order.id);
        }
        kept
    }

    /// An order has another name from now on.
    pub(super) fn rename(&mut self, order: &Order, name: Text<20>) {
        self.forget_name(order);
        let kept = &mut self.kept[order.slot as usize];
        kept.name = name;
        self.names.insert((kept.user, name), order.id);
    }

    /// An order has ended.
    pub(super) fn ended(&mut self, order: &Order) {
        self.forget_name(order);
        self.kept[order.slot as usize].is_alive = false;
    }

    /// The name may mean a later order by now.
    fn forget_name(&mut self, order: &Order) {
        let kept = &self.kept[order.slot as usize];
        let key = (kept.user, kept.name);
        if self.names.get(&key) == Some(&order.id) {
            self.names.remove(&key);
        }
    }

    /// The order that a user means by a name.
    pub(super) fn named(&self, user: u16, name: Text<20>) -> Option<OrderId> {
        self.names.get(&(user, name)).copied()
    }

    /// What is in a slot.
    pub(super) fn at(&self, slot: u32) -> Option<&Kept> {
        self.kept.get(slot as usize)
    }

    /// An order that is alive, and its slot.
    pub(super) fn order(&self, id: OrderId) -> Option<(u32, &Kept)> {
        self.slots().find(|(_, kept)| kept.is_alive && kept.id == id)
    }

    /// The first order from a slot on that is alive, and what is known of it.
    pub(super) fn alive(&self, from: usize) -> Option<(usize, &Kept)> {
        let at = self.kept.get(from..)?.iter().position(|kept| kept.is_alive)?;
        Some((from + at, &self.kept[from + at]))
    }

    /// The first order from a slot on that goes with the session of a user.
    pub(super) fn goes_with(&self, user: u16, from: usize) -> Option<(usize, OrderId)> {
        let is_it = |kept: &Kept| kept.is_alive && kept.auto_cancel && kept.user == user;
        let at = self.kept.get(from..)?.iter().position(is_it)?;
        Some((from + at, self.kept[from + at].id))
    }
}
