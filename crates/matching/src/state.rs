//! The whole state of an engine as bytes, and an engine from them: what orders there
//! are and how they stand, not where they lie in memory.

use std::cmp::Reverse;

use tapeline_instrument::{OrderId, Price, Session};
use tapeline_layout::{Sections, append_section, message};

use crate::average::Minute;
use crate::command::{BookId, Owner, OwnerType, SelfMatch, TimeInForce};
use crate::engine::Engine;
use crate::extend::Extension;
use crate::ladder::{Ladder, NONE};
use crate::orders::{Resting, Special};
use crate::queues::Queues;

message! {
    /// What is of the whole engine.
    Numbers: 24, fill 0 {
        0 => running: u32,
        4 => trades: u32,
        8 => random: u64,
        16 => fresh: u32,
    }
}

message! {
    /// One book, without its orders.
    BookState: 72, fill 0 {
        0 => session: u8,
        1 => is_dirty: u8,
        /// Which of the next ones there are: a bit for each.
        2 => has: u8,
        4 => last: u32,
        8 => opening: u32,
        12 => indicative_tick: u32,
        16 => indicative_volume: u64,
        24 => previous_close: i64,
        32 => indicated_ns: u64,
        40 => call_ends_ns: u64,
        48 => last_auction: u32,
        52 => closing: u32,
        /// How the call that is goes on: whether by orders without a limit, how often by
        /// its price, and what follows it.
        56 => is_by_market: u8,
        57 => by_price: u8,
        58 => then: u8,
        59 => is_closing_said: u8,
        60 => average_price: u32,
        /// Of pegged orders.
        64 => middle: i64,
    }
}

const HAS_LAST: u8 = 1;
const HAS_OPENING: u8 = 2;
const HAS_INDICATIVE: u8 = 4;
const HAS_PREVIOUS_CLOSE: u8 = 8;
const HAS_AUCTION: u8 = 16;
const HAS_CLOSING: u8 = 32;
const HAS_MIDDLE: u8 = 64;
const HAS_AVERAGE: u8 = 128;

message! {
    /// What traded in a minute of a book that keeps an average.
    MinuteState: 40, fill 0 {
        0 => book: u16,
        8 => number: u64,
        16 => quantity: u64,
        24 => value_low: u64,
        32 => value_high: u64,
    }
}

message! {
    /// One order that is alive.
    OrderState: 80, fill 0 {
        0 => slot: u32,
        4 => key: u32,
        8 => id: u64,
        16 => firm: u16,
        18 => user: u16,
        20 => shown: u32,
        24 => leaves: u32,
        28 => filled: u32,
        32 => book: u16,
        34 => flags: u8,
        35 => group: u8,
        36 => time_in_force: u8,
        37 => self_match: u8,
        38 => is_random_peak: u8,
        40 => expire_s: u32,
        44 => peak: u32,
        48 => shown_id: u64,
        56 => stop_key: u32,
        60 => min_quantity: u32,
        64 => offset_bp: i32,
        68 => has_offset: u8,
        69 => meets_pegged: u8,
        70 => owner_type: u8,
    }
}

message! {
    /// A place that was used and is free.
    Free: 4, fill 0 {
        0 => slot: u32,
    }
}

message! {
    /// Where an order stands: behind the one before it.
    Standing: 12, fill 0 {
        0 => slot: u32,
        4 => key: u32,
        8 => book: u16,
        10 => ladder: u8,
    }
}

message! {
    /// When an order is to be looked at.
    Timed: 12, fill 0 {
        0 => at_s: u32,
        4 => id: u64,
    }
}

/// The ladders of a book, in an order that stays.
const LADDERS: u8 = 11;

/// The codes of times in force; another version may add some.
const fn code_of(time_in_force: TimeInForce) -> (u8, u32) {
    match time_in_force {
        TimeInForce::Day => (0, 0),
        TimeInForce::ImmediateOrCancel => (1, 0),
        TimeInForce::FillOrKill => (2, 0),
        TimeInForce::UntilCancelled => (3, 0),
        TimeInForce::UntilDay(at_s) => (4, at_s),
        TimeInForce::UntilTime(at_s) => (5, at_s),
        TimeInForce::AtOpening => (6, 0),
        TimeInForce::AtClosing => (7, 0),
        TimeInForce::NextAuction => (8, 0),
        TimeInForce::EveryAuction => (9, 0),
        TimeInForce::AtClosingVolume => (10, 0),
        TimeInForce::FromClosingVolume => (11, 0),
        TimeInForce::AtClosingPrice => (12, 0),
        TimeInForce::NextIntraday => (13, 0),
    }
}

fn time_in_force_of(code: u8, at_s: u32) -> Option<TimeInForce> {
    Some(match code {
        0 => TimeInForce::Day,
        1 => TimeInForce::ImmediateOrCancel,
        2 => TimeInForce::FillOrKill,
        3 => TimeInForce::UntilCancelled,
        4 => TimeInForce::UntilDay(at_s),
        5 => TimeInForce::UntilTime(at_s),
        6 => TimeInForce::AtOpening,
        7 => TimeInForce::AtClosing,
        8 => TimeInForce::NextAuction,
        9 => TimeInForce::EveryAuction,
        10 => TimeInForce::AtClosingVolume,
        11 => TimeInForce::FromClosingVolume,
        12 => TimeInForce::AtClosingPrice,
        13 => TimeInForce::NextIntraday,
        _ => return None,
    })
}

fn owner_type_of(code: u8) -> Option<OwnerType> {
    let all = [OwnerType::Any, OwnerType::Retail, OwnerType::RetailProvider];
    all.into_iter().find(|known| *known as u8 == code)
}

fn self_match_of(code: u8) -> Option<SelfMatch> {
    let all = [SelfMatch::Allowed, SelfMatch::CancelIncoming, SelfMatch::CancelResting];
    all.into_iter().find(|known| *known as u8 == code)
}

impl Engine {
    /// Appends its whole state, between two commands.
    pub fn save(&self, out: &mut Vec<u8>) {
        let (free, fresh) = self.orders.places();
        let numbers =
            Numbers { running: self.running, trades: self.trades, random: self.random, fresh };
        append_section(out, [numbers]);
        append_section(
            out,
            self.books.iter().map(|book| {
                let bit = |is_there, bit| if is_there { bit } else { 0 };
                let close = book.instrument.previous_close;
                BookState {
                    session: book.session.status(),
                    is_dirty: u8::from(book.is_dirty),
                    has: bit(book.last.is_some(), HAS_LAST)
                        | bit(book.opening.is_some(), HAS_OPENING)
                        | bit(book.indicative.is_some(), HAS_INDICATIVE)
                        | bit(close.is_some(), HAS_PREVIOUS_CLOSE)
                        | bit(book.last_auction.is_some(), HAS_AUCTION)
                        | bit(book.closing.is_some(), HAS_CLOSING)
                        | bit(book.middle.is_some(), HAS_MIDDLE)
                        | bit(book.average_price.is_some(), HAS_AVERAGE),
                    last: book.last.unwrap_or_default(),
                    opening: book.opening.unwrap_or_default(),
                    indicative_tick: book.indicative.unwrap_or_default().0,
                    indicative_volume: book.indicative.unwrap_or_default().1,
                    previous_close: close.unwrap_or_default().0,
                    indicated_ns: book.indicated_ns,
                    call_ends_ns: book.call_ends_ns,
                    last_auction: book.last_auction.unwrap_or_default(),
                    closing: book.closing.unwrap_or_default(),
                    middle: book.middle.unwrap_or_default().0,
                    average_price: book.average_price.unwrap_or_default(),
                    is_by_market: u8::from(book.extension.is_by_market),
                    by_price: book.extension.by_price,
                    then: book.extension.then.map_or(0, Session::status),
                    is_closing_said: u8::from(book.is_closing_said),
                }
            }),
        );
        let alive = self.orders.slots().filter(|slot| self.orders.get(*slot).leaves > 0);
        append_section(out, alive.map(|slot| self.order_state(slot)));
        append_section(out, free.iter().map(|slot| Free { slot: *slot }));
        let standing = (0..self.books.len() as u16)
            .flat_map(|book| (0..LADDERS).map(move |ladder| (book, ladder)))
            .flat_map(|(book, ladder)| self.standing(book, ladder));
        append_section(out, standing);
        append_section(out, self.minutes());
        let mut timed: Vec<_> = self.timed.iter().map(|Reverse(timed)| *timed).collect();
        timed.sort_unstable();
        append_section(out, timed.into_iter().map(|(at_s, id)| Timed { at_s, id: id.0 }));
    }

    fn order_state(&self, slot: u32) -> OrderState {
        let order = self.orders.get(slot);
        // Of a plain order nothing is special; what stands there is another's.
        let special = match order.is_special() || order.has_unshown() {
            true => *self.orders.special(slot),
            false => Special::default(),
        };
        let (time_in_force, expire_s) = code_of(special.time_in_force);
        OrderState {
            slot,
            key: order.key,
            id: order.id.0,
            firm: order.owner.firm,
            user: order.owner.user,
            shown: order.shown,
            leaves: order.leaves,
            filled: order.filled,
            book: order.book.0,
            flags: order.flags,
            group: order.group,
            time_in_force,
            self_match: special.self_match as u8,
            is_random_peak: u8::from(special.is_random_peak),
            expire_s,
            peak: special.peak,
            shown_id: special.shown_id.0,
            stop_key: special.stop_key,
            min_quantity: special.min_quantity,
            offset_bp: special.offset_bp.unwrap_or_default(),
            has_offset: u8::from(special.offset_bp.is_some()),
            meets_pegged: u8::from(special.meets_pegged),
            owner_type: special.owner_type as u8,
        }
    }

    fn ladder(&self, book: u16, ladder: u8) -> (&Queues, &Ladder) {
        let book = &self.books[usize::from(book)];
        let side = usize::from(ladder % 2);
        match ladder {
            0 | 1 => (&self.shown, &book.shown[side]),
            2 | 3 => (&self.unshown, &book.unshown[side]),
            4 | 5 => (&self.unshown, &book.stops[side]),
            7 | 8 => (&self.unshown, &book.pegged[usize::from(ladder - 7)]),
            9 | 10 => (&self.unshown, &book.provided[usize::from(ladder - 9)]),
            _ => (&self.unshown, &book.waiting),
        }
    }

    /// The orders of a ladder, the best price first, at each the oldest first.
    fn standing(&self, book: u16, number: u8) -> impl Iterator<Item = Standing> {
        let (queues, ladder) = self.ladder(book, number);
        let mut key = ladder.best();
        let keys = std::iter::from_fn(move || {
            let found = (key != NONE).then_some(key)?;
            key = ladder.next(queues, key);
            Some(found)
        });
        keys.flat_map(move |key| {
            queues.at(ladder, key).map(move |slot| Standing { slot, key, book, ladder: number })
        })
    }

    /// Takes up the state that [`save`](Self::save) wrote, in an engine of the same
    /// configuration with the same instruments, before its first command. `None` if
    /// the bytes are not such a state; then the engine is of no use.
    pub fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let numbers: Numbers = sections.record()?;
        (self.running, self.trades, self.random) =
            (numbers.running, numbers.trades, numbers.random);
        let books: Vec<BookState> = sections.records()?;
        if books.len() != self.books.len() {
            return None;
        }
        for (book, state) in self.books.iter_mut().zip(&books) {
            let has = |bit| state.has & bit != 0;
            book.session = Session::from_status(state.session)?;
            book.is_dirty = state.is_dirty != 0;
            book.last = has(HAS_LAST).then_some(state.last);
            book.opening = has(HAS_OPENING).then_some(state.opening);
            book.last_auction = has(HAS_AUCTION).then_some(state.last_auction);
            book.call_ends_ns = state.call_ends_ns;
            book.average_price = has(HAS_AVERAGE).then_some(state.average_price);
            book.middle = has(HAS_MIDDLE).then_some(Price(state.middle));
            book.closing = has(HAS_CLOSING).then_some(state.closing);
            book.is_closing_said = state.is_closing_said != 0;
            book.extension = Extension {
                is_by_market: state.is_by_market != 0,
                by_price: state.by_price,
                then: match state.then {
                    0 => None,
                    status => Some(Session::from_status(status)?),
                },
            };
            let indicative = (state.indicative_tick, state.indicative_volume);
            book.indicative = has(HAS_INDICATIVE).then_some(indicative);
            book.indicated_ns = state.indicated_ns;
            book.instrument.previous_close =
                has(HAS_PREVIOUS_CLOSE).then_some(Price(state.previous_close));
        }
        let orders: Vec<OrderState> = sections.records()?;
        let free: Vec<Free> = sections.records()?;
        let free = free.into_iter().map(|free| free.slot).collect();
        self.orders.restore_places(free, numbers.fresh, orders.len() as u32)?;
        for order in &orders {
            self.restore_order(order)?;
        }
        let standing: Vec<Standing> = sections.records()?;
        for at in &standing {
            self.restore_standing(at)?;
        }
        let is_pegged = |at: &&Standing| matches!(at.ladder, 7 | 8);
        for book in standing.iter().filter(is_pegged).map(|at| BookId(at.book)) {
            if self.pegging.last() != Some(&book) {
                self.pegging.push(book);
            }
        }
        let minutes: Vec<MinuteState> = sections.records()?;
        for minute in &minutes {
            self.restore_minute(minute)?;
        }
        let timed: Vec<Timed> = sections.records()?;
        self.timed.extend(timed.iter().map(|timed| Reverse((timed.at_s, OrderId(timed.id)))));
        Some(())
    }

    /// What books that keep an average have of it.
    fn minutes(&self) -> impl Iterator<Item = MinuteState> {
        let books = (0..).zip(&self.books);
        books.flat_map(|(number, book)| {
            book.average.minutes().map(move |minute| MinuteState {
                book: number,
                number: minute.number,
                quantity: minute.quantity,
                value_low: minute.value as u64,
                value_high: (minute.value >> 64) as u64,
            })
        })
    }

    fn restore_minute(&mut self, state: &MinuteState) -> Option<()> {
        let book = self.books.get_mut(usize::from(state.book))?;
        let value = u128::from(state.value_high) << 64 | u128::from(state.value_low);
        let MinuteState { number, quantity, .. } = *state;
        book.average.put_back(Minute { number, quantity, value });
        Some(())
    }

    fn restore_order(&mut self, state: &OrderState) -> Option<()> {
        if usize::from(state.book) >= self.books.len() || state.slot >= self.orders.slots().end {
            return None;
        }
        let id = OrderId(state.id);
        let (firm, user) = (state.firm, state.user);
        *self.orders.get_mut(state.slot) = Resting {
            id,
            owner: Owner { firm, user },
            key: state.key,
            shown: state.shown,
            leaves: state.leaves,
            filled: state.filled,
            book: BookId(state.book),
            flags: state.flags,
            group: state.group,
        };
        *self.orders.special_mut(state.slot) = Special {
            shown_id: OrderId(state.shown_id),
            time_in_force: time_in_force_of(state.time_in_force, state.expire_s)?,
            peak: state.peak,
            is_random_peak: state.is_random_peak != 0,
            stop_key: state.stop_key,
            self_match: self_match_of(state.self_match)?,
            min_quantity: state.min_quantity,
            meets_pegged: state.meets_pegged != 0,
            offset_bp: (state.has_offset != 0).then_some(state.offset_bp),
            owner_type: owner_type_of(state.owner_type)?,
        };
        self.index.insert(id, state.slot);
        Some(())
    }

    fn restore_standing(&mut self, at: &Standing) -> Option<()> {
        let book = self.books.get_mut(usize::from(at.book))?;
        if at.slot >= self.orders.slots().end || self.orders.get(at.slot).leaves == 0 {
            return None;
        }
        let side = usize::from(at.ladder % 2);
        let (queues, ladder) = match at.ladder {
            0 | 1 => (&mut self.shown, &mut book.shown[side]),
            2 | 3 => (&mut self.unshown, &mut book.unshown[side]),
            4 | 5 => (&mut self.unshown, &mut book.stops[side]),
            6 => (&mut self.unshown, &mut book.waiting),
            7 | 8 => (&mut self.unshown, &mut book.pegged[usize::from(at.ladder - 7)]),
            9 | 10 => (&mut self.unshown, &mut book.provided[usize::from(at.ladder - 9)]),
            _ => return None,
        };
        (at.key <= crate::ladder::WORST).then(|| queues.push(ladder, at.key, at.slot))
    }
}
