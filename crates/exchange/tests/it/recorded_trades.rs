//! What a recorded session traded is what the engine trades: each order that came and
//! met others, once more, into the book as it was then.
//!
//! Some of what decides about trades is in no recording, and is learned from the event
//! that the trade is in:
//!
//! * who prevents trades with itself: orders that were passed over and are cancelled in
//!   the same event are of the firm whose order came;
//! * what icebergs hide: an order that traded more than it showed.
//!
//! And some fills are told out of sequence: one order's behind those of all others, with
//! the quantities that its place in the queue gives. That it traded in its place can be
//! seen where the order before it in the recording is filled in part only: it cannot have
//! been next.

use std::collections::{BTreeMap, HashMap, HashSet};

use dbn::MboMsg;
use tapeline_instrument::{Cause as Why, Instrument, OrderId, Price, Session, Side, TickTable};
use tapeline_matching::{
    BookId, Command, Config, Engine, Event, MassCancel, NewOrder, Owner, SelfMatch, TimeInForce,
};

use crate::recording::records;

/// Units of the recording's prices, 10⁻⁹, in one of ours.
const NANO_PER_UNIT: i64 = 10;

/// Whoever came, and those it does not trade with.
const OWN: Owner = Owner { firm: 1, user: 1 };
const OTHERS: Owner = Owner { firm: 2, user: 1 };

/// An order, and how much of it traded.
type Fills = Vec<(u64, u32)>;

/// What has to be known so that the engine trades as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    /// What the book showed.
    Shown,
    /// Which orders are of the same firm.
    Firms,
    /// What icebergs hide.
    Hidden,
    /// Both.
    FirmsAndHidden,
    /// And that one of the fills is told last.
    ToldLast,
}

impl Known {
    const ALL: [Self; 4] = [Self::Shown, Self::Firms, Self::Hidden, Self::FirmsAndHidden];

    fn has_firms(self) -> bool {
        !matches!(self, Self::Shown | Self::Hidden)
    }

    fn has_all(self) -> bool {
        self.has_firms() && self.has_hidden()
    }

    fn has_hidden(self) -> bool {
        !matches!(self, Self::Shown | Self::Firms)
    }
}

#[derive(Clone, Copy)]
struct Resting {
    side: Side,
    price: i64,
    size: u32,
}

/// The book of the recording, in the order of time at each price.
#[derive(Default)]
struct Recorded {
    orders: HashMap<u64, Resting>,
    levels: [BTreeMap<i64, Vec<u64>>; 2],
}

impl Recorded {
    fn add(&mut self, number: u64, order: Resting) {
        self.remove(number);
        self.levels[order.side as usize].entry(order.price).or_default().push(number);
        self.orders.insert(number, order);
    }

    fn remove(&mut self, number: u64) {
        let Some(order) = self.orders.remove(&number) else { return };
        let levels = &mut self.levels[order.side as usize];
        let level = levels.get_mut(&order.price).expect("its level");
        level.retain(|other| *other != number);
        if level.is_empty() {
            levels.remove(&order.price);
        }
    }

    fn apply(&mut self, record: &MboMsg) {
        let side = side_of(record);
        let (number, price, size) = (record.order_id, record.price, record.size);
        let known = self.orders.get_mut(&number);
        match (record.action as u8, known) {
            (b'C', Some(order)) if size < order.size => order.size -= size,
            (b'C', Some(_)) => self.remove(number),
            (b'M', Some(order))
                if (order.side, order.price) == (side, price) && size <= order.size =>
            {
                order.size = size;
            }
            (b'A' | b'M', _) => self.add(number, Resting { side, price, size }),
            _ => {}
        }
    }

    /// Puts an order behind all others at its price.
    fn goes_last(&mut self, number: u64) {
        if let Some(order) = self.orders.get(&number).copied() {
            self.add(number, order);
        }
    }

    /// What rests on a side up to a price, as it trades.
    fn within(&self, side: Side, reach: i64) -> Vec<u64> {
        let levels = &self.levels[side as usize];
        match side {
            Side::Sell => levels.range(..=reach).flat_map(|(_, level)| level).copied().collect(),
            Side::Buy => {
                levels.range(reach..).rev().flat_map(|(_, level)| level).copied().collect()
            }
        }
    }
}

fn side_of(record: &MboMsg) -> Side {
    if record.side as u8 == b'B' { Side::Buy } else { Side::Sell }
}

/// The same order's fills as one, where the last of them is: so an iceberg is recorded
/// that trades again when its turn comes again.
fn at_their_last(fills: impl Iterator<Item = (u64, u32)>) -> Fills {
    let mut folded: Fills = Vec::new();
    for (number, quantity) in fills {
        let before = folded.iter().position(|(known, _)| *known == number);
        let before = before.map_or(0, |at| folded.remove(at).1);
        folded.push((number, before + quantity));
    }
    folded
}

/// Whether fills are those that should be, but for the last one, which comes too late.
fn is_told_last(fills: &Fills, should: &Fills) -> bool {
    let Some((last, others)) = fills.split_last() else { return false };
    let before = should.iter().filter(|fill| *fill != last);
    should.contains(last) && before.eq(others)
}

/// The records between two states of the book, with trades among them.
struct Trading<'a> {
    /// Each order that came, and what it traded with.
    takers: Vec<(&'a MboMsg, Fills)>,
    /// What each order traded.
    traded: HashMap<u64, u32>,
    /// What became of orders.
    changes: HashMap<u64, &'a MboMsg>,
}

impl<'a> Trading<'a> {
    fn new(records: &'a [MboMsg]) -> Self {
        let (mut takers, mut traded, mut changes) = (Vec::new(), HashMap::new(), HashMap::new());
        for (at, record) in records.iter().enumerate() {
            match record.action as u8 {
                b'T' => {
                    let fills =
                        records[at + 1..].iter().take_while(|fill| fill.action as u8 == b'F');
                    // An order that rested and was amended into the other side is told, too.
                    let of_others = fills.filter(|fill| fill.order_id != record.order_id);
                    let fills = at_their_last(of_others.map(|fill| (fill.order_id, fill.size)));
                    for (number, quantity) in &fills {
                        *traded.entry(*number).or_insert(0) += quantity;
                    }
                    takers.push((record, fills));
                }
                b'C' | b'M' => drop(changes.entry(record.order_id).or_insert(record)),
                _ => {}
            }
        }
        Self { takers, traded, changes }
    }

    /// The orders that went without a trade.
    fn passed_over(&self) -> HashSet<u64> {
        let gone = self.changes.iter().filter(|(_, change)| change.action as u8 == b'C');
        gone.map(|(number, _)| *number).filter(|number| !self.traded.contains_key(number)).collect()
    }

    /// What an order has beyond what it shows.
    fn hidden(&self, number: u64, shown: u32) -> u32 {
        let Some(traded) = self.traded.get(&number) else { return 0 };
        let change = self.changes.get(&number).filter(|change| change.action as u8 == b'M');
        (traded + change.map_or(0, |change| change.size)).saturating_sub(shown)
    }
}

/// An engine that trades each time from an empty book on.
struct Again {
    engine: Engine,
    book: BookId,
    events: Vec<Event>,
}

impl Again {
    fn new() -> Self {
        let mut engine = Engine::new(&Config { max_orders: 20_000, ..Config::default() });
        let ticks = TickTable::flat(Price(Price::UNIT / 4)).expect("a table");
        let book = engine.add(Instrument::new(17_077, "ESH4", ticks));
        for session in [Session::OpeningCall, Session::Regular] {
            engine.handle(0, &Command::Session { book, session, cause: Why::Scheduled }, &mut ());
        }
        Self { engine, book, events: Vec::new() }
    }

    fn order(&mut self, order: NewOrder) {
        self.events.clear();
        self.engine.handle(0, &Command::New(order), &mut self.events);
    }

    fn rests(&mut self, order: NewOrder) -> OrderId {
        self.order(order);
        match self.events[..] {
            [Event::Rested { order, .. }] => order.id,
            _ => panic!("{:?}", self.events),
        }
    }

    /// What each order that came would have traded with, by what is known.
    fn trades(&mut self, recorded: &Recorded, trading: &Trading<'_>, known: Known) -> Vec<Fills> {
        let own = if known.has_firms() { trading.passed_over() } else { HashSet::new() };
        let mut numbers = HashMap::new();
        for side in Side::BOTH {
            let against = trading.takers.iter().filter(|(taker, _)| side_of(taker) != side);
            let reaches = against.map(|(taker, _)| taker.price);
            let reach = if side == Side::Sell { reaches.max() } else { reaches.min() };
            let Some(reach) = reach else { continue };
            for number in recorded.within(side, reach) {
                let Resting { price, size, .. } = recorded.orders[&number];
                let hidden = if known.has_hidden() { trading.hidden(number, size) } else { 0 };
                let owner = if own.contains(&number) { OWN } else { OTHERS };
                let price = Price(price / NANO_PER_UNIT);
                let limit = NewOrder::limit(self.book, owner, side, size + hidden, price);
                numbers.insert(self.rests(NewOrder { display: size, ..limit }), number);
            }
        }
        let taken = trading.takers.iter().map(|(taker, _)| self.takes(taker, &numbers)).collect();
        for firm in [OWN.firm, OTHERS.firm] {
            let all = MassCancel { firm, ..MassCancel::default() };
            self.engine.handle(0, &Command::MassCancel(all), &mut ());
        }
        assert_eq!(self.engine.alive(), 0);
        taken
    }

    fn takes(&mut self, taker: &MboMsg, numbers: &HashMap<OrderId, u64>) -> Fills {
        let price = Price(taker.price / NANO_PER_UNIT);
        let limit = NewOrder::limit(self.book, OWN, side_of(taker), taker.size, price);
        self.order(NewOrder {
            time_in_force: TimeInForce::ImmediateOrCancel,
            self_match: SelfMatch::CancelResting,
            ..limit
        });
        let fills = self.events.iter().filter_map(|event| match event {
            Event::Traded { maker, quantity, .. } => Some((numbers[&maker.id], *quantity)),
            _ => None,
        });
        at_their_last(fills)
    }

    /// For each order that came, the least that has to be known so that it trades as it
    /// did; `None` where nothing explains it.
    fn explain(&mut self, recorded: &Recorded, trading: &Trading<'_>) -> Vec<Option<Known>> {
        let mut found = vec![None; trading.takers.len()];
        for known in Known::ALL {
            if !found.contains(&None) {
                break;
            }
            let trades = self.trades(recorded, trading, known);
            for (at, (_, fills)) in trading.takers.iter().enumerate() {
                let is_told_last = known.has_all() && is_told_last(fills, &trades[at]);
                let fits = match trades[at] == *fills {
                    true => Some(known),
                    false => is_told_last.then_some(Known::ToldLast),
                };
                found[at] = found[at].or(fits);
            }
        }
        found
    }
}

#[test]
fn every_trade_of_a_recorded_session_is_the_engines() {
    let Some(records) = records() else { return };
    let (mut recorded, mut again) = (Recorded::default(), Again::new());
    let mut causes: BTreeMap<Option<Known>, usize> = BTreeMap::new();
    for event in records.split_inclusive(|record| record.flags.is_last()) {
        let trading = Trading::new(event);
        // The opening has no side: it is an auction.
        let is_auction = trading.takers.iter().any(|(taker, _)| taker.side as u8 == b'N');
        let mut refilled = Vec::new();
        if !is_auction && !trading.takers.is_empty() {
            for (at, cause) in again.explain(&recorded, &trading).into_iter().enumerate() {
                *causes.entry(cause).or_default() += 1;
                let (taker, fills) = &trading.takers[at];
                if cause.is_none_or(|known| known > Known::Shown) {
                    println!("{}: {} by {fills:?}: {cause:?}", taker.sequence, taker.size);
                }
            }
            let orders = &recorded.orders;
            let is_refilled = |number: &u64| {
                orders.get(number).is_some_and(|order| trading.hidden(*number, order.size) > 0)
            };
            refilled.extend(trading.traded.keys().copied().filter(is_refilled));
        }
        for record in event {
            recorded.apply(record);
        }
        // Another part of an iceberg has another time.
        refilled.sort_unstable();
        for number in refilled {
            recorded.goes_last(number);
        }
    }
    let explained = [
        (Known::Shown, 2_820),
        (Known::Firms, 94),
        (Known::Hidden, 25),
        (Known::FirmsAndHidden, 2),
        (Known::ToldLast, 31),
    ];
    assert_eq!(causes, explained.map(|(known, trades)| (Some(known), trades)).into());
}
