//! Market data of Nasdaq as items: what an ITCH reader delivers becomes market by
//! order, market by price and market price.

use std::collections::{HashMap, VecDeque};

use tapeline_itch::{
    AddOrder, Body, CrossTrade, ExecutedAtPrice, Imbalance, Message, OrderReplaced, Price4,
};
use tapeline_rwf::{DataType, Domain};

use crate::FeedError;
use crate::book::{Action, Book, Order, Side, Trade};
use crate::market_state::MarketState;
use crate::published::{Instrument, Payloads};
use crate::update::Update;

/// Trades that may still be cancelled; of older ones nobody knows any more what they
/// were. So many have 16 MiB.
const KEPT_TRADES: usize = 1 << 20;

/// The instruments of Nasdaq, as items of the three domains that
/// [`Recording`](crate::Recording) has, under their symbols and a suffix.
///
/// Messages change books at once; [`publish`](Self::publish) gives what all of them
/// since the last call have changed, one update for each item. The quote says whether
/// the instrument trades (`MKT_STATUS`), what an auction would bring (`IND_AUC`,
/// `IND_AUCVOL`) and what the opening and the closing one brought.
#[derive(Debug)]
pub struct NasdaqFeed {
    suffix: String,
    /// Midnight of the exchange's day, in nanoseconds since 1970 UTC.
    midnight_ns: u64,
    hours: Hours,
    /// By the number that they have for the day.
    instruments: Vec<Option<Box<Listed>>>,
    by_name: HashMap<String, u16>,
    /// Instruments with changes that are not published.
    changed: Vec<u16>,
    trades: VecDeque<Told>,
    /// At most so many of them are kept.
    kept_trades: usize,
    unknown: u64,
    payloads: Payloads,
}

/// Which hours it is, by the last system event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Hours {
    #[default]
    Closed,
    Before,
    Market,
    After,
}

/// An instrument, and whether it trades.
#[derive(Debug)]
struct Listed {
    instrument: Instrument,
    /// The state of the last trading action.
    state: u8,
    /// Halted at Nasdaq alone.
    is_halted: bool,
}

/// A trade that was told of.
#[derive(Clone, Copy, Debug)]
struct Told {
    trade: u64,
    /// How much of it counts: nothing once it is cancelled, or if an auction counts it.
    size: u32,
    locate: u16,
}

impl Listed {
    fn new(locate: u16, name: String) -> Self {
        let market = Some(MarketState::default());
        let instrument = Instrument { market, ..Instrument::new(locate.into(), name) };
        Self { instrument, state: 0, is_halted: false }
    }

    /// Says its session, of at most five letters.
    fn say_session(&mut self, hours: Hours) {
        let word = match (self.state, hours) {
            // Nothing is known of it: no trading action has come.
            (0, _) => return,
            (b'H', _) => "HALT",
            (b'P', _) => "PAUSE",
            _ if self.is_halted => "HALT",
            (b'Q', _) => "QUOTE",
            (b'T', Hours::Market) => "REG",
            (b'T', Hours::Before) => "PRE",
            (b'T', Hours::After) => "POST",
            (b'T', Hours::Closed) => "CLSD",
            _ => "OTHER",
        };
        self.instrument.say(|market| market.session = word);
    }
}

const fn side(letter: u8) -> Side {
    if letter == b'B' { Side::Bid } else { Side::Ask }
}

impl NasdaqFeed {
    /// No instruments yet; their names will be the symbols and `suffix`, as `.O`. Times
    /// are those since 1970 once [`begin_day`](Self::begin_day) has said which day it is.
    pub fn new(suffix: &str) -> Self {
        Self::keeping(suffix, KEPT_TRADES)
    }

    fn keeping(suffix: &str, kept_trades: usize) -> Self {
        Self {
            suffix: suffix.to_owned(),
            midnight_ns: 0,
            hours: Hours::default(),
            instruments: Vec::new(),
            by_name: HashMap::new(),
            changed: Vec::new(),
            // In full at once, of which the system gives what is used: it would be moved
            // as a whole when it grows.
            trades: VecDeque::with_capacity(kept_trades),
            kept_trades,
            unknown: 0,
            payloads: Payloads::default(),
        }
    }

    /// The names of the items there are.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.instruments.iter().flatten().map(|listed| listed.instrument.name.as_str())
    }

    /// The book of an item.
    pub fn book(&self, name: &str) -> Option<&Book> {
        self.instrument(name).map(|instrument| &instrument.book)
    }

    /// Messages about an order, or a trade, that is not known: none while nothing was
    /// missed.
    pub const fn unknown(&self) -> u64 {
        self.unknown
    }

    fn instrument(&self, name: &str) -> Option<&Instrument> {
        let locate = *self.by_name.get(name)?;
        Some(&self.instruments.get(usize::from(locate))?.as_ref()?.instrument)
    }

    /// The instrument of a message; the first one that names it makes it.
    fn listed(&mut self, message: &Message) -> Option<&mut Listed> {
        let locate = message.head.locate;
        let at = usize::from(locate);
        let known = self.instruments.get(at).and_then(Option::as_deref);
        let is_directory = matches!(message.body, Body::StockDirectory(_));
        if known.is_none() || is_directory {
            let name = format!("{}{}", message.stock()?, self.suffix);
            if known.is_none_or(|known| known.instrument.name != name) {
                self.list(locate, name);
            }
        }
        self.instruments[at].as_deref_mut()
    }

    /// A number is an instrument's from now on: numbers are given anew each day.
    fn list(&mut self, locate: u16, name: String) {
        let at = usize::from(locate);
        if self.instruments.len() <= at {
            self.instruments.resize_with(at + 1, || None);
        }
        let before = self.by_name.insert(name.clone(), locate);
        let moved = before.and_then(|before| self.instruments[usize::from(before)].take());
        let mut listed = moved.unwrap_or_else(|| Box::new(Listed::new(locate, name)));
        listed.instrument.id = locate.into();
        // Changes of before are still to be told.
        self.changed.push(locate);
        let other = self.instruments[at].replace(listed);
        // Whose number this was gets the one that is free, until the directory gives it
        // its own; without one it is no more.
        let Some(mut other) = other else { return };
        match before {
            Some(free) => {
                other.instrument.id = free.into();
                self.by_name.insert(other.instrument.name.clone(), free);
                self.changed.push(free);
                self.instruments[usize::from(free)] = Some(other);
            }
            None => drop(self.by_name.remove(&other.instrument.name)),
        }
    }

    /// A message, in order.
    pub fn message(&mut self, message: &Message) {
        match &message.body {
            Body::SystemEvent(said) => return self.turn(said.event),
            Body::BrokenTrade(said) => return self.broken(said.trade),
            _ => {}
        }
        let (hours, time_ns) = (self.hours, self.midnight_ns + message.head.timestamp.ns());
        let Some(listed) = self.listed(message) else {
            self.unknown += u64::from(is_about_order(&message.body));
            return;
        };
        let was_changed = !listed.instrument.touched.is_empty();
        listed.instrument.time_ns = time_ns;
        let outcome = match &message.body {
            Body::TradingAction(said) => {
                listed.state = said.state;
                listed.say_session(hours);
                Outcome::NONE
            }
            Body::OperationalHalt(said) if said.market == b'Q' => {
                listed.is_halted = said.action == b'H';
                listed.say_session(hours);
                Outcome::NONE
            }
            body => apply(&mut listed.instrument, body, time_ns),
        };
        let is_changed = !listed.instrument.touched.is_empty();
        let locate = message.head.locate;
        if is_changed && !was_changed {
            self.changed.push(locate);
        }
        self.unknown += u64::from(outcome.is_unknown);
        if let Some((trade, size)) = outcome.told {
            if self.trades.len() >= self.kept_trades {
                self.trades.pop_front();
            }
            self.trades.push_back(Told { trade, size, locate });
        }
    }

    /// The day goes on.
    fn turn(&mut self, event: u8) {
        self.hours = match event {
            b'S' => Hours::Before,
            b'Q' => Hours::Market,
            b'M' => Hours::After,
            b'E' | b'C' | b'O' => Hours::Closed,
            _ => return,
        };
        let hours = self.hours;
        self.for_all(|listed| listed.say_session(hours));
    }

    /// Does something to all instruments, and notes which have changed by it.
    fn for_all(&mut self, mut change: impl FnMut(&mut Listed)) {
        for (locate, listed) in (0..).zip(&mut self.instruments) {
            let Some(listed) = listed else { continue };
            let was_changed = !listed.instrument.touched.is_empty();
            change(listed);
            if !was_changed && !listed.instrument.touched.is_empty() {
                self.changed.push(locate);
            }
        }
    }

    /// A trade is cancelled; it is most likely one of the last.
    fn broken(&mut self, trade: u64) {
        let Some(told) = self.trades.iter_mut().rev().find(|told| told.trade == trade) else {
            self.unknown += 1;
            return;
        };
        let size = std::mem::take(&mut told.size);
        if size == 0 {
            return;
        }
        let locate = told.locate;
        let Some(Some(listed)) = self.instruments.get_mut(usize::from(locate)) else { return };
        let was_changed = !listed.instrument.touched.is_empty();
        listed.instrument.act(&Action::CancelTrade { size, is_counted: true });
        if !was_changed {
            self.changed.push(locate);
        }
    }

    /// Another day of the exchange begins, at `midnight_ns`: what was traded counts no
    /// more, and all orders are void.
    pub fn begin_day(&mut self, midnight_ns: u64) {
        self.midnight_ns = midnight_ns;
        self.hours = Hours::default();
        self.restart();
        self.for_all(|listed| {
            (listed.state, listed.is_halted) = (0, false);
            listed.instrument.book = Book::new();
            listed.instrument.say(|market| *market = MarketState::default());
        });
    }

    /// All orders are void: what messages say of them begins anew, with a snapshot or
    /// in the middle of the day.
    pub fn restart(&mut self) {
        self.trades.clear();
        self.for_all(|listed| {
            listed.instrument.act(&Action::Clear);
            listed.instrument.say(|market| market.indicative = None);
        });
    }

    /// Gives what has changed since the last call, item by item, to `each` with the
    /// item's name.
    ///
    /// # Errors
    /// An event does not fit a message.
    pub fn publish(&mut self, mut each: impl FnMut(&str, &Update<'_>)) -> Result<(), FeedError> {
        let Self { instruments, changed, payloads, .. } = self;
        for locate in changed.drain(..) {
            if let Some(listed) = &mut instruments[usize::from(locate)] {
                payloads.publish(&mut listed.instrument, &mut each)?;
            }
        }
        Ok(())
    }

    /// Appends the item as it is now to `out`, as
    /// [`Recording::image`](crate::Recording::image) does.
    ///
    /// # Errors
    /// The book has more than 65,535 orders.
    pub fn image(
        &self,
        domain: Domain,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<DataType>, FeedError> {
        self.instrument(name).map_or(Ok(None), |of| of.image(domain, out))
    }
}

/// What came of a message, besides what it changed.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    /// A trade, and how much of it counts.
    told: Option<(u64, u32)>,
    /// It was about an order that is not there.
    is_unknown: bool,
}

impl Outcome {
    const NONE: Self = Self { told: None, is_unknown: false };
    const UNKNOWN: Self = Self { told: None, is_unknown: true };

    const fn told(trade: u64, size: u32) -> Self {
        Self { told: Some((trade, size)), is_unknown: false }
    }
}

const fn is_about_order(body: &Body) -> bool {
    matches!(
        body,
        Body::Executed(_)
            | Body::ExecutedAtPrice(_)
            | Body::OrderCancelled(_)
            | Body::OrderDeleted(_)
            | Body::OrderReplaced(_)
    )
}

/// What a message does to its instrument.
fn apply(of: &mut Instrument, body: &Body, time_ns: u64) -> Outcome {
    match body {
        Body::AddOrder(said) => add(of, said, time_ns),
        Body::AddAttributedOrder(said) => {
            let (order, side, shares, price) = (said.order, said.side, said.shares, said.price);
            add(of, &AddOrder { order, side, shares, stock: said.stock, price }, time_ns)
        }
        Body::Executed(said) => {
            let Some(order) = of.book.order(said.order).copied() else { return Outcome::UNKNOWN };
            of.act(&Action::Cancel { id: said.order, size: said.shares, time_ns });
            trade(of, order.price_nano, said.shares, time_ns);
            Outcome::told(said.trade, said.shares)
        }
        Body::ExecutedAtPrice(said) => executed_at_price(of, said, time_ns),
        Body::OrderCancelled(said) => reduce(of, said.order, said.shares, time_ns),
        Body::OrderDeleted(said) => reduce(of, said.order, u32::MAX, time_ns),
        Body::OrderReplaced(said) => replace(of, said, time_ns),
        Body::Trade(said) => {
            trade(of, said.price.nano(), said.shares, time_ns);
            Outcome::told(said.trade, said.shares)
        }
        Body::CrossTrade(said) => cross(of, said, time_ns),
        Body::Imbalance(said) => {
            note_imbalance(of, said);
            Outcome::NONE
        }
        _ => Outcome::NONE,
    }
}

fn add(of: &mut Instrument, said: &AddOrder, time_ns: u64) -> Outcome {
    let (side, price_nano) = (side(said.side), said.price.nano());
    let order = Order { side, price_nano, size: said.shares, time_ns };
    of.act(&Action::Add(said.order, order));
    Outcome::NONE
}

fn reduce(of: &mut Instrument, id: u64, size: u32, time_ns: u64) -> Outcome {
    if of.book.order(id).is_none() {
        return Outcome::UNKNOWN;
    }
    of.act(&Action::Cancel { id, size, time_ns });
    Outcome::NONE
}

/// The new order has the side of the old one, and stands behind all others.
fn replace(of: &mut Instrument, said: &OrderReplaced, time_ns: u64) -> Outcome {
    let Some(old) = of.book.order(said.order).copied() else { return Outcome::UNKNOWN };
    of.act(&Action::Cancel { id: said.order, size: u32::MAX, time_ns });
    let new = Order { price_nano: said.price.nano(), size: said.shares, time_ns, ..old };
    of.act(&Action::Add(said.new_order, new));
    Outcome::NONE
}

fn trade(of: &mut Instrument, price_nano: i64, size: u32, time_ns: u64) {
    of.act(&Action::Trade(Trade { price_nano, size, time_ns }));
}

/// What is not printable is a part of an auction, which is one trade of its own.
fn executed_at_price(of: &mut Instrument, said: &ExecutedAtPrice, time_ns: u64) -> Outcome {
    let reduced = reduce(of, said.order, said.shares, time_ns);
    if reduced.is_unknown {
        return reduced;
    }
    if said.printable != b'Y' {
        return Outcome::told(said.trade, 0);
    }
    trade(of, said.price.nano(), said.shares, time_ns);
    Outcome::told(said.trade, said.shares)
}

fn cross(of: &mut Instrument, said: &CrossTrade, time_ns: u64) -> Outcome {
    let price_nano = said.price.nano();
    let brought = (said.shares > 0).then_some((price_nano, said.shares));
    of.say(|market| {
        market.indicative = None;
        match said.cross_type {
            b'O' => market.opening = brought,
            b'C' => market.closing = brought,
            // After a halt, in the course of the day, or after the close.
            _ => {}
        }
    });
    if brought.is_none() {
        return Outcome::NONE;
    }
    // A trade of more than four thousand million shares has not been seen.
    let size = u32::try_from(said.shares).unwrap_or(u32::MAX);
    trade(of, price_nano, size, time_ns);
    Outcome::told(said.trade, size)
}

/// Where the auction would trade with the book; before that is worked out, the price
/// that the figures are for.
fn note_imbalance(of: &mut Instrument, said: &Imbalance) {
    let near = Some(said.near).filter(|near| *near > Price4(0)).unwrap_or(said.reference);
    let is_any = said.paired > 0 && near > Price4(0);
    of.say(|market| market.indicative = is_any.then_some((near.nano(), said.paired)));
}

#[cfg(test)]
mod tests;
