//! Orders that come in: what is admitted, and what becomes of it.

use std::cmp::Reverse;

use tapeline_instrument::{OrderId, Price, Session};

use crate::book::{Book, stop_key};
use crate::command::{Kind, NewOrder, OwnerType, Passive, SelfMatch, TimeInForce};
use crate::engine::Engine;
use crate::event::{Ending, Entry, Event, Events, Shown};
use crate::ladder::{MARKET, NONE, key_of, reach_of};
use crate::orders::{Resting, Special, Traits};
use crate::queues::Node;
use crate::refusal::Refusal;
use crate::wait;

/// The longest that an order may stay: 90 days.
const MAX_STAY_S: u64 = 90 * 86_400;

/// Where an order that is admitted stands.
#[derive(Clone, Copy)]
struct Place {
    key: u32,
    /// Where it waits for its stop, 0 if it has none.
    stop_key: u32,
    /// Its kind says more than this.
    has_more: bool,
}

/// What few kinds of orders have.
#[derive(Clone, Copy)]
struct More {
    meets_pegged: bool,
    min_quantity: u32,
    offset_bp: Option<i32>,
}

impl More {
    /// Of a kind, if it has anything.
    #[inline]
    const fn of(kind: Kind) -> Self {
        let none = Self { meets_pegged: false, min_quantity: 0, offset_bp: None };
        match kind {
            Kind::Market | Kind::Limit(_) | Kind::Stop(_) | Kind::StopLimit { .. } => none,
            Kind::Pegged { min_quantity, .. } => Self { min_quantity, ..none },
            Kind::OrPegged { .. } => Self { meets_pegged: true, ..none },
            Kind::Offset { bp, .. } => Self { offset_bp: Some(bp), ..none },
        }
    }
}

impl Engine {
    /// An order comes in.
    #[inline]
    pub fn enter<E: Events>(&mut self, now_ns: u64, new: &NewOrder, out: &mut E) {
        match plain_limit(new) {
            Some(limit) => self.enter_plain(now_ns, new, limit, out),
            None => self.enter_any(now_ns, new, out),
        }
    }

    /// A plain order with a limit, as most are. What it is stays in registers on its way
    /// into the book: nothing of it is read back.
    #[inline]
    fn enter_plain<E: Events>(&mut self, now_ns: u64, new: &NewOrder, limit: Price, out: &mut E) {
        let Some(book) = self.books.get_mut(usize::from(new.book.0)) else {
            return refuse(new, Refusal::UnknownBook, out);
        };
        let key = match admit_plain(book, new, limit) {
            Ok(key) => key,
            Err(refusal) => return refuse(new, refusal, out),
        };
        self.running = self.running.wrapping_add(1);
        let id = self.config.ids.order(now_ns, self.running);
        let traits = Traits::plain(new.side).named(new.is_named).quoted(new.is_quote);
        let order = Resting { id, ..resting(new, key).with(traits) };
        let slot = self.orders.take(order);
        self.index.insert(id, slot);
        let is_met =
            book.session == Session::Regular && book.best(new.side.opposite()) <= reach_of(key);
        if is_met || self.orders.alive() > self.config.max_orders {
            self.run_plain(now_ns, slot, out);
            return self.elect(now_ns, new.book, out);
        }
        self.shown.push(&mut book.shown[new.side as usize], key, slot);
        book.is_dirty = true;
        let has_stops = book.has_stops();
        let NewOrder { side, quantity, is_named, .. } = *new;
        let shown = Shown { id, side, quantity, price: limit, is_market: false, is_named };
        let (book, entry) = (new.book, Entry::New);
        out.event(Event::Rested { book, order: order.at(slot), shown, entry });
        if has_stops {
            self.elect_all(now_ns, book, out);
        }
    }

    fn enter_any<E: Events>(&mut self, now_ns: u64, new: &NewOrder, out: &mut E) {
        match self.admit(now_ns, new) {
            Ok(place) => self.take(now_ns, new, place, out),
            Err(refusal) => refuse(new, refusal, out),
        }
    }

    /// Whether an order would be taken now.
    ///
    /// # Errors
    /// Why it would be refused.
    pub fn would_take(&self, now_ns: u64, new: &NewOrder) -> Result<(), Refusal> {
        self.admit(now_ns, new).map(|_| ())
    }

    #[inline]
    fn admit(&self, now_ns: u64, new: &NewOrder) -> Result<Place, Refusal> {
        let book = self.books.get(usize::from(new.book.0)).ok_or(Refusal::UnknownBook)?;
        may_take(book, new)?;
        self.conditions(now_ns, new, book)?;
        place_of(book, new)
    }

    /// What goes together, and what is over.
    #[inline]
    fn conditions(&self, now_ns: u64, new: &NewOrder, book: &Book) -> Result<(), Refusal> {
        let is_simple = new.time_in_force == TimeInForce::Day
            && new.passive == Passive::No
            && new.owner_type == OwnerType::Any
            && matches!(new.kind, Kind::Limit(_));
        if is_simple { Ok(()) } else { self.special_conditions(now_ns, new, book) }
    }

    fn special_conditions(&self, now_ns: u64, new: &NewOrder, book: &Book) -> Result<(), Refusal> {
        use TimeInForce as Time;
        let is_at_once = matches!(new.time_in_force, Time::ImmediateOrCancel | Time::FillOrKill);
        let is_for_auctions = wait::class_of(new.time_in_force).is_some();
        let is_limit = matches!(new.kind, Kind::Limit(_));
        let is_stop = matches!(new.kind, Kind::Stop(_) | Kind::StopLimit { .. });
        let is_market =
            matches!(new.kind, Kind::Market | Kind::Stop(_) | Kind::OrPegged { limit: None });
        let is_passive = new.passive != Passive::No;
        let is_well_passive =
            is_limit && !is_at_once && (new.display > 0 || new.passive == Passive::NoVisibleMatch);
        let is_fine = (!is_passive || is_well_passive)
            && !(is_stop && (is_for_auctions || is_at_once))
            && !(is_market && new.display < new.quantity)
            && (new.time_in_force != Time::UntilCancelled || self.config.takes_until_cancelled);
        let is_fine = is_fine && (new.owner_type != OwnerType::RetailProvider || may_provide(new));
        if !is_fine || !goes_together(new) {
            return Err(Refusal::Conditions);
        }
        if is_at_once && book.session != Session::Regular {
            return Err(Refusal::Session);
        }
        let now_s = now_ns / 1_000_000_000;
        match new.time_in_force {
            Time::UntilDay(at_s) | Time::UntilTime(at_s)
                if u64::from(at_s) <= now_s || u64::from(at_s) > now_s + MAX_STAY_S =>
            {
                Err(Refusal::Expiry)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn take<E: Events>(&mut self, now_ns: u64, new: &NewOrder, place: Place, out: &mut E) {
        let id = self.new_id(now_ns);
        let mut traits = Traits::plain(new.side).named(new.is_named).quoted(new.is_quote);
        let is_special = new.display < new.quantity
            || new.time_in_force != TimeInForce::Day
            || place.stop_key != 0
            || place.has_more
            || new.self_match != SelfMatch::Allowed
            || new.owner_type != OwnerType::Any;
        if is_special {
            traits = traits.displaying(new.display, new.quantity).special();
            traits = traits.pegged(matches!(new.kind, Kind::Pegged { .. }));
        }
        let slot = self.orders.take(Resting { id, ..resting(new, place.key).with(traits) });
        self.index.insert(id, slot);
        if is_special {
            self.note_special(slot, id, new, place.stop_key);
        }
        let is_plain = !is_special && new.passive == Passive::No;
        if is_plain {
            self.run_plain(now_ns, slot, out);
        } else {
            self.run_special(now_ns, slot, new.passive, out);
        }
        self.elect(now_ns, new.book, out);
    }

    fn note_special(&mut self, slot: Node, id: OrderId, new: &NewOrder, stop_key: u32) {
        let more = More::of(new.kind);
        *self.orders.special_mut(slot) = Special {
            shown_id: id,
            time_in_force: new.time_in_force,
            peak: new.display,
            is_random_peak: new.is_random_peak,
            stop_key,
            self_match: new.self_match,
            min_quantity: more.min_quantity,
            meets_pegged: more.meets_pegged,
            offset_bp: more.offset_bp,
            owner_type: new.owner_type,
        };
        if let TimeInForce::UntilTime(at_s) = new.time_in_force {
            self.timed.push(Reverse((at_s, id)));
        }
    }

    /// An order of the day that is shown in full: trades what it can and rests,
    /// unless it has no limit.
    #[inline]
    fn run_plain<E: Events>(&mut self, now_ns: u64, slot: Node, out: &mut E) {
        let order = self.orders.get(slot);
        let (key, side) = (order.key, order.side());
        let book = &self.books[usize::from(order.book.0)];
        let is_regular = book.session == Session::Regular;
        if is_regular && book.best(side.opposite()) <= reach_of(key) {
            self.aggress(now_ns, slot, out);
            let order = self.orders.get(slot);
            if order.leaves == 0 {
                return self.forget(slot, order.id);
            }
        }
        if key == MARKET && is_regular {
            return self.end(slot, Ending::Expired, out);
        }
        self.rest(slot, Entry::New, out);
    }

    fn run_special<E: Events>(&mut self, now_ns: u64, slot: Node, passive: Passive, out: &mut E) {
        if self.orders.get(slot).is_pegged() {
            return self.join_pegged(now_ns, slot, out);
        }
        if self.parks(slot) {
            return self.park(slot, out);
        }
        if !self.offset_limit(slot) {
            return self.end(slot, Ending::Expired, out);
        }
        self.run(now_ns, slot, passive, Entry::New, out);
    }

    /// An order that is in no queue trades what it can; what is left rests or
    /// ends.
    pub(crate) fn run<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        passive: Passive,
        entry: Entry,
        out: &mut E,
    ) {
        let order = *self.orders.get(slot);
        let book = &self.books[usize::from(order.book.0)];
        if book.session == Session::ClosingPrice {
            return self.run_at_closing_price(now_ns, slot, entry, out);
        }
        if book.session != Session::Regular {
            return self.rest(slot, entry, out);
        }
        if !self.may_rest_at(book, &order, passive) {
            return self.end(slot, Ending::Passive, out);
        }
        let special = match order.is_special() {
            true => *self.orders.special(slot),
            false => Special::default(),
        };
        let time_in_force = special.time_in_force;
        if time_in_force == TimeInForce::FillOrKill && !self.is_fillable(slot) {
            return self.end(slot, Ending::Expired, out);
        }
        let own = if special.meets_pegged { self.meet_pegged(now_ns, slot, out) } else { None };
        let ending = own.or_else(|| match special.owner_type {
            OwnerType::Any => self.aggress(now_ns, slot, out),
            _ => self.aggress_by_owner(now_ns, slot, out),
        });
        let is_at_once = order.key == MARKET
            || matches!(time_in_force, TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill);
        if self.orders.get(slot).leaves == 0 {
            self.forget(slot, order.id);
        } else if let Some(ending) = ending {
            self.end(slot, ending, out);
        } else if is_at_once {
            self.end(slot, Ending::Expired, out);
        } else {
            self.rest(slot, entry, out);
        }
    }

    /// Puts an order into the book, if there is room.
    #[inline]
    pub(crate) fn rest<E: Events>(&mut self, slot: Node, entry: Entry, out: &mut E) {
        if self.orders.alive() > self.config.max_orders {
            return self.end(slot, Ending::Full, out);
        }
        let order = self.orders.get_mut(slot);
        let book = order.book;
        order.shown = match order.is_iceberg() {
            false if order.is_hidden() => 0,
            false => order.leaves,
            true => order.shown.min(order.leaves),
        };
        let order = *order;
        self.link(slot);
        self.books[usize::from(book.0)].is_dirty = true;
        let (order, shown) = (order.at(slot), self.shown_of(slot, &order));
        out.event(Event::Rested { book, order, shown, entry });
    }

    /// Whether a passive order may stand where it would.
    fn may_rest_at(&self, book: &Book, order: &Resting, passive: Passive) -> bool {
        let side = order.side();
        let is_matched = book.shown[side.opposite() as usize].best() <= reach_of(order.key);
        let better = || self.better_levels(book, order);
        match passive {
            Passive::No => true,
            Passive::NoVisibleMatch => !is_matched,
            Passive::NewBest => !is_matched && order.key < book.shown[side as usize].best(),
            Passive::Best => !is_matched && better() == 0,
            Passive::Within(levels) => !is_matched && better() <= u32::from(levels),
        }
    }

    /// How many better prices its own side has, up to 256.
    fn better_levels(&self, book: &Book, order: &Resting) -> u32 {
        let ladder = &book.shown[order.side() as usize];
        let (mut key, mut count) = (ladder.best(), 0);
        while key < order.key && count < 256 {
            count += 1;
            key = ladder.next(&self.shown, key);
        }
        count
    }
}

/// The limit of a plain order: one of the day that is shown in full, and about which
/// nothing else is said.
#[inline]
fn plain_limit(new: &NewOrder) -> Option<Price> {
    let is_plain = new.time_in_force == TimeInForce::Day
        && new.passive == Passive::No
        && new.display == new.quantity
        && new.self_match == SelfMatch::Allowed
        && new.owner_type == OwnerType::Any;
    match new.kind {
        Kind::Limit(limit) if is_plain => Some(limit),
        _ => None,
    }
}

/// An order as it is kept, but for its id and its traits.
#[inline]
fn resting(new: &NewOrder, key: u32) -> Resting {
    Resting {
        owner: new.owner,
        key,
        shown: new.display.min(new.quantity),
        leaves: new.quantity,
        book: new.book,
        group: new.group,
        ..Resting::default()
    }
}

/// Whether a book takes orders now, and of this size.
#[inline]
fn may_take(book: &Book, new: &NewOrder) -> Result<(), Refusal> {
    if !book.session.takes_orders() && !is_new_for_session(book.session, new) {
        return Err(Refusal::Session);
    }
    if new.quantity == 0 {
        return Err(Refusal::NoQuantity);
    }
    let lots = &book.instrument.lots;
    if !lots.has(new.quantity) {
        return Err(Refusal::Size);
    }
    let is_hidden = new.display == 0;
    if new.display > new.quantity || is_hidden && new.quantity < lots.min_hidden {
        return Err(Refusal::Display);
    }
    Ok(())
}

/// The key of a plain order with a limit, if it is taken.
#[inline]
fn admit_plain(book: &Book, new: &NewOrder, limit: Price) -> Result<u32, Refusal> {
    may_take(book, new)?;
    let tick = book.instrument.ticks.tick(limit).map_err(|_| Refusal::Tick)?;
    Ok(key_of(new.side, tick))
}

#[cold]
fn refuse<E: Events>(new: &NewOrder, refusal: Refusal, out: &mut E) {
    out.event(Event::Refused { owner: new.owner, id: OrderId(0), refusal });
}

/// What goes with the kinds that few orders have.
fn goes_together(new: &NewOrder) -> bool {
    use TimeInForce as Time;
    let is_plain = new.passive == Passive::No && !new.is_random_peak && !new.is_named;
    match new.kind {
        Kind::Pegged { min_quantity, .. } => {
            let is_for_day = matches!(new.time_in_force, Time::Day | Time::UntilTime(_));
            let may_last = is_for_day || matches!(new.time_in_force, Time::UntilDay(_));
            let is_good_minimum = min_quantity == 0 || is_for_day && min_quantity <= new.quantity;
            is_plain && new.display == 0 && may_last && is_good_minimum
        }
        // What trades all at once or not at all would have to know what is pegged.
        Kind::OrPegged { .. } => {
            let is_all = new.time_in_force == Time::FillOrKill;
            wait::class_of(new.time_in_force).is_none() && !is_all && new.passive == Passive::No
        }
        Kind::Offset { .. } => new.time_in_force == Time::AtClosing && is_plain,
        _ => true,
    }
}

/// What somebody who provides liquidity to retail investors may ask for: a pegged order, a
/// hidden one with a limit, or one that trades at once.
fn may_provide(new: &NewOrder) -> bool {
    use TimeInForce as Time;
    let is_plain = new.passive == Passive::No && !new.is_random_peak && !new.is_named;
    let is_at_once = matches!(new.time_in_force, Time::ImmediateOrCancel | Time::FillOrKill);
    let is_hidden = new.display == 0 && wait::class_of(new.time_in_force).is_none();
    is_plain
        && match new.kind {
            Kind::Pegged { .. } => true,
            Kind::Limit(_) | Kind::OrPegged { limit: Some(_) } => is_at_once || is_hidden,
            Kind::Market | Kind::OrPegged { limit: None } => is_at_once,
            Kind::Stop(_) | Kind::StopLimit { .. } | Kind::Offset { .. } => false,
        }
}

/// Whether a session that takes few orders takes this one.
#[cold]
fn is_new_for_session(session: Session, new: &NewOrder) -> bool {
    let is_plain = matches!(new.kind, Kind::Market | Kind::Limit(_) | Kind::OrPegged { .. });
    is_for_session(session, new.time_in_force, is_plain)
}

/// Whether a session that takes few orders takes those of a time in force; a plain order is
/// a limit or market order.
pub(crate) const fn is_for_session(
    session: Session,
    time_in_force: TimeInForce,
    is_plain: bool,
) -> bool {
    match (session, wait::class_of(time_in_force)) {
        (Session::ClosingPrice | Session::EdspCall | Session::PeriodicCall, Some(class)) => {
            wait::is_for(class, session)
        }
        (Session::IntradayCall, Some(class)) => is_plain && wait::is_for(class, session),
        (Session::IntradayCall, None) => is_plain,
        _ => false,
    }
}

/// The keys of an order's prices.
#[inline]
fn place_of(book: &Book, new: &NewOrder) -> Result<Place, Refusal> {
    let tick = |price| book.instrument.ticks.tick(price).map_err(|_| Refusal::Tick);
    let (limit, stop) = match new.kind {
        Kind::Limit(limit) => (Some(limit), None),
        Kind::Market => (None, None),
        Kind::Stop(stop) => (None, Some(stop)),
        Kind::StopLimit { stop, limit } => (Some(limit), Some(stop)),
        Kind::Pegged { limit, .. } | Kind::OrPegged { limit } | Kind::Offset { limit, .. } => {
            (limit, None)
        }
    };
    let has_more = !matches!(new.kind, Kind::Limit(_) | Kind::Market);
    let key = match limit {
        Some(limit) => key_of(new.side, tick(limit)?),
        None => MARKET,
    };
    let stop_key = match stop {
        Some(stop) => stop_key(new.side, tick(stop)?),
        None => 0,
    };
    debug_assert!(key < NONE, "a price has a key");
    Ok(Place { key, stop_key, has_more })
}
