//! The end of a call: one price, and all that trades at it.

use tapeline_instrument::{OrderId, Session, Side, Tick};

use crate::auction::{AuctionBook, AuctionLevel, Uncross};
use crate::command::{BookId, TimeInForce};
use crate::engine::Engine;
use crate::event::{Ending, Event, Events, FoundBy, Order, Part};
use crate::ladder::{MARKET, NONE, tick_of};
use crate::queues::Node;
use crate::wait;

/// One order's part in a match.
pub(crate) struct Half {
    pub(crate) order: Order,
    pub(crate) shown: OrderId,
    pub(crate) displays: u32,
}

impl Engine {
    /// What the auction of a book would bring now.
    pub(crate) fn auction(&mut self, at: usize) -> Option<Uncross> {
        self.outlook(at).0
    }

    /// The same, and what buyers and sellers want without a limit.
    pub(crate) fn outlook(&mut self, at: usize) -> (Option<Uncross>, [u64; 2]) {
        let mut levels = std::mem::take(&mut self.levels);
        levels.clear();
        let market = Side::BOTH.map(|side| self.collect(at, side, &mut levels));
        levels.sort_unstable_by_key(|level| level.tick);
        levels.dedup_by(|next, kept| {
            let is_same = next.tick == kept.tick;
            if is_same {
                kept.buy += next.buy;
                kept.sell += next.sell;
            }
            is_same
        });
        let reference = self.books[at].reference();
        let [market_buy, market_sell] = market;
        let found = AuctionBook { levels: &levels, market_buy, market_sell, reference }.uncross();
        self.levels = levels;
        (found, market)
    }

    /// The limits of one side, hidden quantities included; returns what has no
    /// limit.
    fn collect(&self, at: usize, side: Side, levels: &mut Vec<AuctionLevel>) -> u64 {
        let book = &self.books[at];
        let mut market = 0;
        let ladders = [
            (&book.shown[side as usize], &self.shown, true),
            (&book.unshown[side as usize], &self.unshown, false),
        ];
        for (ladder, queues, is_shown) in ladders {
            let mut key = ladder.best();
            while key != NONE {
                let size = |slot| {
                    let order = self.orders.get(slot);
                    u64::from(if is_shown { order.shown } else { order.leaves - order.shown })
                };
                let quantity: u64 = queues.at(ladder, key).map(size).sum();
                let tick = tick_of(side, key);
                match (key, side) {
                    (MARKET, _) => market += quantity,
                    (_, Side::Buy) => levels.push(AuctionLevel { tick, buy: quantity, sell: 0 }),
                    (_, Side::Sell) => levels.push(AuctionLevel { tick, buy: 0, sell: quantity }),
                }
                key = ladder.next(queues, key);
            }
        }
        market
    }

    /// Says what an auction would bring, if that has changed and was not said
    /// just now.
    pub(crate) fn indicate<E: Events>(&mut self, now_ns: u64, at: usize, out: &mut E) {
        let interval_ns = self.config.auction_info_interval_ns;
        let book = &mut self.books[at];
        let next_ns = book.indicated_ns.saturating_add(interval_ns);
        if !book.is_dirty || now_ns < next_ns {
            return;
        }
        (book.is_dirty, book.indicated_ns) = (false, now_ns);
        let session = book.session;
        let found = self.auction(at).map(|found| (found.tick, found.volume));
        let book = &mut self.books[at];
        if found == std::mem::replace(&mut book.indicative, found) {
            return;
        }
        let price = found.map(|(tick, _)| book.instrument.ticks.price(tick));
        let quantity = quantity_of(found.map_or(0, |(_, volume)| volume));
        out.event(Event::Indicative { book: BookId(at as u16), price, quantity, session });
    }

    /// Ends the call of a book: matches what matches, and ends or puts away what
    /// was for auctions only. `session` is the call that ends.
    pub(crate) fn uncross<E: Events>(
        &mut self,
        now_ns: u64,
        id: BookId,
        session: Session,
        out: &mut E,
    ) {
        let at = usize::from(id.0);
        let found = self.auction(at);
        if let Some(found) = found.filter(|found| self.books[at].takes_place(found, session)) {
            self.match_at(now_ns, (id, session), found, out);
            self.replenish_all(now_ns, out);
            let book = &mut self.books[at];
            let is_opening = session == Session::OpeningCall;
            (book.last, book.last_auction) = (Some(found.tick), Some(found.tick));
            if is_opening {
                book.opening = Some(found.tick);
            }
            let price = book.instrument.ticks.price(found.tick);
            let mut volume = found.volume;
            if session == Session::ClosingCall {
                (book.closing, book.is_closing_said) = (Some(found.tick), true);
                volume += self.discover_volume(now_ns, id, found.tick, out);
            }
            self.trades = self.trades.wrapping_add(1);
            let trade = self.config.ids.trade(now_ns, self.trades);
            let quantity = quantity_of(volume);
            out.event(Event::Auctioned { book: id, id: trade, price, quantity, session });
            if is_opening || session == Session::ClosingCall {
                out.event(Event::Reference { book: id, is_opening, price, by: FoundBy::Auction });
            }
        } else if found.is_some() {
            self.fall_back(id, out);
        }
        if session == Session::ClosingCall {
            self.end_volume_orders(id, out);
        }
        self.books[at].indicative = None;
        self.end_auction_orders(id, out);
    }

    fn match_at<E: Events>(
        &mut self,
        now_ns: u64,
        (id, session): (BookId, Session),
        found: Uncross,
        out: &mut E,
    ) {
        let price = self.books[usize::from(id.0)].instrument.ticks.price(found.tick);
        let mut left = found.volume;
        while left > 0 {
            let (Some(buyer), Some(seller)) = (self.head(id, Side::Buy), self.head(id, Side::Sell))
            else {
                debug_assert!(false, "both sides have the volume");
                return;
            };
            let quantity = buyer.1.min(seller.1).min(quantity_of(left));
            left -= u64::from(quantity);
            let taker = self.fill(buyer.0, quantity);
            let maker = self.fill(seller.0, quantity);
            self.trades = self.trades.wrapping_add(1);
            out.event(Event::Traded {
                book: id,
                id: self.config.ids.trade(now_ns, self.trades),
                price,
                quantity,
                taker: taker.order,
                maker: maker.order,
                maker_shown: maker.shown,
                taker_shown: taker.shown,
                maker_displays: maker.displays,
                taker_displays: taker.displays,
                side: Side::Buy,
                part: Part::Auction(session),
            });
            for half in [taker, maker] {
                if half.order.leaves == 0 {
                    self.forget(half.order.slot, half.order.id);
                }
            }
        }
    }

    /// The order of a side that is first, and how much of it is: what is shown
    /// before what is not.
    pub(crate) fn head(&self, id: BookId, side: Side) -> Option<(Node, u32)> {
        let book = &self.books[usize::from(id.0)];
        let (shown, unshown) = (&book.shown[side as usize], &book.unshown[side as usize]);
        if shown.best() <= unshown.best() {
            let slot = self.shown.first(shown)?;
            return Some((slot, self.orders.get(slot).shown));
        }
        let slot = self.unshown.first(unshown)?;
        let order = self.orders.get(slot);
        Some((slot, order.leaves - order.shown))
    }

    /// Takes a quantity off an order: off what is shown if anything is.
    pub(crate) fn fill(&mut self, slot: Node, quantity: u32) -> Half {
        let order = self.orders.get_mut(slot);
        let (was_shown, side) = (order.shown > 0, order.side() as usize);
        order.leaves -= quantity;
        order.filled += quantity;
        if was_shown {
            order.shown -= quantity;
        }
        let order = *order;
        let book = &mut self.books[usize::from(order.book.0)];
        if was_shown && order.shown == 0 {
            self.shown.remove(&mut book.shown[side], slot);
            if order.leaves > 0 {
                self.replenish.push(slot);
            }
        }
        if !was_shown && order.leaves == 0 {
            let ladder = book.unshown_of(order.side(), self.orders.owner_type(slot));
            self.unshown.remove(ladder, slot);
        }
        let shown = self.orders.shown_id(slot);
        Half { order: self.order(slot), shown, displays: order.shown }
    }

    /// The closing auction did not take place: its price would be too far from the last
    /// one, and it would trade too little. The closing price is the average before its
    /// call, else the last one.
    fn fall_back<E: Events>(&mut self, id: BookId, out: &mut E) {
        let book = &mut self.books[usize::from(id.0)];
        let found = match (book.average_price, book.last) {
            (Some(average), _) => Some((average, FoundBy::Average)),
            (None, last) => last.map(|last| (last, FoundBy::LastTrade)),
        };
        if let Some((tick, by)) = found {
            book.is_closing_said = true;
            self.say_reference(id, tick, by, out);
        }
    }

    /// What was for this auction only ends; what is for every one waits again.
    fn end_auction_orders<E: Events>(&mut self, id: BookId, out: &mut E) {
        for slot in self.orders.slots() {
            let order = *self.orders.get(slot);
            if order.leaves == 0 || order.book != id || order.is_parked() {
                continue;
            }
            let time_in_force = match order.is_special() {
                true => self.orders.special(slot).time_in_force,
                false => TimeInForce::Day,
            };
            match time_in_force {
                TimeInForce::EveryAuction => self.park_again(slot, out),
                _ if order.key == MARKET || wait::class_of(time_in_force).is_some() => {
                    self.end_linked(slot, Ending::Expired, out);
                }
                _ => {}
            }
        }
    }

    fn park_again<E: Events>(&mut self, slot: Node, out: &mut E) {
        let shown = self.shown(slot);
        self.unlink(slot);
        self.link_parked(slot);
        let book = self.orders.get(slot).book;
        out.event(Event::Parked { book, order: self.order(slot), shown });
    }

    /// The closing price of a day without a closing auction.
    pub(crate) fn say_reference<E: Events>(
        &self,
        id: BookId,
        tick: Tick,
        by: FoundBy,
        out: &mut E,
    ) {
        let price = self.books[usize::from(id.0)].instrument.ticks.price(tick);
        out.event(Event::Reference { book: id, is_opening: false, price, by });
    }
}

/// Volumes beyond what messages can say are cut.
fn quantity_of(volume: u64) -> u32 {
    volume.min(u64::from(u32::MAX)) as u32
}
