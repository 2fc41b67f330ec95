//! Amendments.
//!
//! More quantity, more shown, or another price: the order goes behind all others.
//! Less of either, or another expiry: it stays where it stands.

use std::cmp::Reverse;

use crate::book::{Book, stop_key};
use crate::command::{OwnerType, Passive, Replace, TimeInForce};
use crate::engine::Engine;
use crate::enter::is_for_session;
use crate::event::{Entry, Event, Events};
use crate::ladder::{MARKET, key_of, reach_of};
use crate::orders::{Resting, Special};
use crate::queues::Node;
use crate::refusal::Refusal;
use tapeline_instrument::Session;

/// What an order becomes.
struct Change {
    key: u32,
    stop_key: u32,
    leaves: u32,
    display: u32,
    time_in_force: TimeInForce,
    owner_type: OwnerType,
}

impl Engine {
    /// Changes an order of a user.
    pub fn replace<E: Events>(&mut self, now_ns: u64, replace: &Replace, out: &mut E) {
        let found = self.find(replace.id, replace.owner);
        let change = found.and_then(|slot| Ok((slot, self.change(now_ns, slot, replace)?)));
        match change {
            Ok((slot, change)) if self.orders.get(slot).is_pegged() => {
                self.apply_to_pegged(now_ns, slot, &change, out);
            }
            Ok((slot, change)) => self.apply(now_ns, slot, &change, replace, out),
            Err(refusal) => {
                let (owner, id) = (replace.owner, replace.id);
                out.event(Event::Refused { owner, id, refusal });
            }
        }
    }

    fn change(&self, now_ns: u64, slot: Node, replace: &Replace) -> Result<Change, Refusal> {
        let order = self.orders.get(slot);
        let special = match order.is_special() {
            true => *self.orders.special(slot),
            false => Special::default(),
        };
        let book = &self.books[usize::from(order.book.0)];
        let is_for_it = || {
            let is_plain =
                special.stop_key == 0 && !order.is_pegged() && special.offset_bp.is_none();
            is_for_session(book.session, special.time_in_force, is_plain)
        };
        if !book.session.takes_orders() && !is_for_it() {
            return Err(Refusal::Session);
        }
        let is_at_closing_price = book.session == Session::ClosingPrice;
        let leaves = leaves_of(book, order, replace)?;
        let (mut key, stop_key) = keys_of(book, order, &special, replace)?;
        if is_at_closing_price {
            // It has the closing price, which its new limit must reach.
            if key > order.key {
                return Err(Refusal::Session);
            }
            key = order.key;
        }
        let now_s = now_ns / 1_000_000_000;
        let time_in_force = match (special.time_in_force, replace.expire_s) {
            (kept, None) => kept,
            (_, Some(at_s)) if u64::from(at_s) <= now_s => return Err(Refusal::Expiry),
            (TimeInForce::UntilDay(_), Some(at_s)) => TimeInForce::UntilDay(at_s),
            (TimeInForce::UntilTime(_), Some(at_s)) => TimeInForce::UntilTime(at_s),
            _ => return Err(Refusal::Amendment),
        };
        let is_time_changed = time_in_force != special.time_in_force;
        let display = replace.display.min(leaves);
        debug_assert!(!is_time_changed || order.is_special(), "only special orders have a time");
        let owner_type = special.owner_type;
        Ok(Change { key, stop_key, leaves, display, time_in_force, owner_type })
    }

    fn apply<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        change: &Change,
        replace: &Replace,
        out: &mut E,
    ) {
        let before = *self.orders.get(slot);
        let displayed = if before.is_parked() { 0 } else { before.shown };
        let keeps_priority = self.keeps_priority(slot, change);
        self.unlink_if(slot, !keeps_priority);
        self.write(slot, change);
        if before.is_parked() {
            if !keeps_priority {
                self.link_parked(slot);
            }
            self.say_amended(slot, 0, keeps_priority, false, out);
            return self.elect(now_ns, before.book, out);
        }
        if keeps_priority {
            self.shrink(slot, &before);
            return self.say_amended(slot, displayed, true, false, out);
        }
        let book = &self.books[usize::from(before.book.0)];
        let is_regular = book.session == Session::Regular;
        let is_crossing = match change.owner_type {
            OwnerType::Any => book.best(before.side().opposite()) <= reach_of(change.key),
            _ => self.best_for(slot) <= reach_of(change.key),
        };
        let is_conditional = change.key != before.key && replace.passive != Passive::No;
        if is_regular && (is_crossing || is_conditional) {
            self.say_amended(slot, displayed, false, true, out);
            let passive = if is_conditional { replace.passive } else { Passive::No };
            self.run(now_ns, slot, passive, Entry::Amended, out);
            return self.elect(now_ns, before.book, out);
        }
        self.link(slot);
        self.say_amended(slot, displayed, false, false, out);
    }

    /// A pegged order is in no queue at a price; it may trade now.
    fn apply_to_pegged<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        change: &Change,
        out: &mut E,
    ) {
        let order = *self.orders.get(slot);
        let keeps_priority = change.key == order.key && change.leaves <= order.leaves;
        self.unlink_if(slot, !keeps_priority);
        self.write(slot, change);
        if !keeps_priority {
            self.link_pegged(slot);
        }
        self.say_amended(slot, 0, keeps_priority, false, out);
        if let Some(middle) = self.books[usize::from(order.book.0)].middle {
            self.match_pegged(now_ns, order.book, middle, out);
        }
    }

    fn keeps_priority(&self, slot: Node, change: &Change) -> bool {
        let order = self.orders.get(slot);
        let (peak, stop_key) = match order.is_special() {
            true => (self.orders.special(slot).peak, self.orders.special(slot).stop_key),
            false => (order.shown, 0),
        };
        change.key == order.key
            && change.stop_key == stop_key
            && change.leaves <= order.leaves
            && change.display <= peak
    }

    fn unlink_if(&mut self, slot: Node, is_moved: bool) {
        if is_moved {
            self.unlink(slot);
        }
    }

    /// Writes what an order has become. What is shown of one that stays where it
    /// is is left to `shrink`.
    fn write(&mut self, slot: Node, change: &Change) {
        let order = self.orders.get_mut(slot);
        let is_moved =
            change.key != order.key || change.leaves > order.leaves || change.display > order.shown;
        order.key = change.key;
        order.leaves = change.leaves;
        if is_moved {
            order.shown = change.display;
        }
        let (id, is_iceberg) = (order.id, change.display > 0 && change.display < change.leaves);
        if !order.is_special() && !is_iceberg {
            order.shown = order.shown.min(change.leaves);
            return;
        }
        if !order.is_special() {
            order.become_special();
            *self.orders.special_mut(slot) = Special { shown_id: id, ..Special::default() };
        }
        let order = self.orders.get_mut(slot);
        let was_iceberg = order.is_iceberg();
        if is_iceberg && !was_iceberg {
            order.become_iceberg();
            self.orders.special_mut(slot).shown_id = id;
        }
        let special = self.orders.special_mut(slot);
        special.peak = change.display;
        special.stop_key = change.stop_key;
        special.time_in_force = change.time_in_force;
        if let TimeInForce::UntilTime(at_s) = change.time_in_force {
            self.timed.push(Reverse((at_s, id)));
        }
    }

    /// Less is shown of an order that stays where it stands, and its hidden part
    /// comes, goes or stays.
    fn shrink(&mut self, slot: Node, before: &Resting) {
        let order = self.orders.get_mut(slot);
        let peak = match order.is_iceberg() {
            true => self.orders.special(slot).peak,
            false if order.is_hidden() => 0,
            false => order.leaves,
        };
        let order = self.orders.get_mut(slot);
        order.shown = before.shown.min(peak).min(order.leaves);
        let order = *order;
        let had_part = before.has_unshown() && before.leaves > before.shown;
        let has_part = order.has_unshown() && order.leaves > order.shown;
        let ladder = &mut self.books[usize::from(order.book.0)].unshown[order.side() as usize];
        match (had_part, has_part) {
            (true, false) => self.unshown.remove(ladder, slot),
            (false, true) => self.unshown.push(ladder, order.key, slot),
            _ => {}
        }
    }

    fn say_amended<E: Events>(
        &mut self,
        slot: Node,
        displayed: u32,
        keeps_priority: bool,
        leaves_book: bool,
        out: &mut E,
    ) {
        let mut shown = self.shown(slot);
        let resting = self.orders.get(slot);
        let book = resting.book;
        if resting.is_parked() {
            shown.quantity = 0;
        }
        self.books[usize::from(book.0)].is_dirty = true;
        let order = self.order(slot);
        out.event(Event::Amended { book, order, shown, displayed, keeps_priority, leaves_book });
    }
}

fn leaves_of(book: &Book, order: &Resting, replace: &Replace) -> Result<u32, Refusal> {
    if replace.quantity == 0 {
        return Err(Refusal::NoQuantity);
    }
    if !book.instrument.lots.has(replace.quantity) {
        return Err(Refusal::Size);
    }
    if replace.display > replace.quantity {
        return Err(Refusal::Display);
    }
    if (replace.display == 0) != order.is_hidden() {
        return Err(Refusal::Amendment);
    }
    let leaves = replace.quantity.checked_sub(order.filled).filter(|leaves| *leaves > 0);
    leaves.ok_or(Refusal::BelowFilled)
}

fn keys_of(
    book: &Book,
    order: &Resting,
    special: &Special,
    replace: &Replace,
) -> Result<(u32, u32), Refusal> {
    let tick = |price| book.instrument.ticks.tick(price).map_err(|_| Refusal::Tick);
    let key = match replace.limit {
        None => order.key,
        Some(_) if order.key == MARKET => return Err(Refusal::Amendment),
        Some(limit) => key_of(order.side(), tick(limit)?),
    };
    let stop = match replace.stop {
        None => special.stop_key,
        Some(_) if special.stop_key == 0 => return Err(Refusal::Amendment),
        Some(stop) => stop_key(order.side(), tick(stop)?),
    };
    Ok((key, stop))
}
