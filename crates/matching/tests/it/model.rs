//! The engine beside the plainest book there is: a list of orders that is looked
//! through for each match.

use proptest::prelude::*;
use tapeline_instrument::{Cause, Instrument, OrderId, Price, Session, Side, TickTable};
use tapeline_matching::{
    BookId, Command, Config, Engine, Event, NewOrder, Owner, OwnerType, Passive, Replace,
    TimeInForce, TradeCancel,
};

use crate::support::cancel_of;

/// One order of the model; `since` is its time, and moves when it loses priority.
#[derive(Clone, Debug)]
struct Plain {
    id: OrderId,
    side: Side,
    price: i64,
    shown: u32,
    leaves: u32,
    filled: u32,
    peak: u32,
    since: u64,
    owner_type: OwnerType,
}

impl Plain {
    /// Auctions pass it over.
    fn is_provider(&self) -> bool {
        self.owner_type == OwnerType::RetailProvider
    }
}

/// The engine's events that the model has an opinion on.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Trade {
        maker: OrderId,
        taker: OrderId,
        price: i64,
        quantity: u32,
    },
    Rests {
        id: OrderId,
        shown: u32,
        leaves: u32,
    },
    Gone {
        id: OrderId,
        left: u32,
    },
    Amended {
        id: OrderId,
        leaves: u32,
        is_kept: bool,
    },
    /// What its orders have traded now, the buyer's and the seller's; none of one that is gone.
    Untraded {
        filled: [Option<u32>; 2],
    },
    Shows {
        id: OrderId,
        shown: u32,
    },
    /// Others see it again behind an auction.
    Again {
        id: OrderId,
        shown: u32,
    },
    Refused,
}

#[derive(Default)]
struct Model {
    orders: Vec<Plain>,
    time: u64,
    /// Orders are collected.
    is_call: bool,
    /// The price of the last trade.
    last: Option<i64>,
}

impl Model {
    /// A call begins, or ends with an auction.
    fn turn(&mut self) -> Vec<Told> {
        self.is_call = !self.is_call;
        if self.is_call {
            return Vec::new();
        }
        let mut told = Vec::new();
        if let Some((price, volume)) = self.auction() {
            self.trade_all(price, volume, &mut told);
            self.last = Some(price);
        }
        for side in Side::BOTH {
            let again = self.shown(side).into_iter();
            told.extend(again.map(|order| Told::Again { id: order.id, shown: order.shown }));
        }
        self.meet_providers(&mut told);
        told
    }

    /// Who provides liquidity trades with who came meanwhile, and stays where it stood.
    fn meet_providers(&mut self, told: &mut Vec<Told>) {
        let mut providers: Vec<Plain> =
            self.orders.iter().filter(|order| order.is_provider()).cloned().collect();
        providers.sort_by_key(|order| match order.side {
            Side::Buy => (0, -order.price, order.since),
            Side::Sell => (1, order.price, order.since),
        });
        for mut order in providers {
            self.orders.retain(|other| other.id != order.id);
            self.aggress(&mut order, told);
            self.orders.extend((order.leaves > 0).then_some(order));
        }
    }

    /// What buyers want and sellers give at a price.
    fn wanted(&self, price: i64) -> [u32; 2] {
        let at = |side, is_within: &dyn Fn(i64) -> bool| {
            let orders = self.orders.iter().filter(|order| order.side == side);
            let orders = orders.filter(|order| !order.is_provider());
            orders.filter(|order| is_within(order.price)).map(|order| order.leaves).sum()
        };
        [at(Side::Buy, &|limit| limit >= price), at(Side::Sell, &|limit| limit <= price)]
    }

    /// The price of an auction, by the four rules one after another, and what trades.
    fn auction(&self) -> Option<(i64, u32)> {
        let volume = |price: i64| self.wanted(price).into_iter().min().unwrap_or(0);
        let surplus = |price: i64| {
            let [bought, sold] = self.wanted(price);
            i64::from(bought) - i64::from(sold)
        };
        let orders = self.orders.iter().filter(|order| !order.is_provider());
        let mut prices: Vec<i64> = orders.map(|order| order.price).collect();
        prices.sort_unstable();
        let most = prices.iter().map(|price| volume(*price)).max().filter(|most| *most > 0)?;
        prices.retain(|price| volume(*price) == most);
        let least = prices.iter().map(|price| surplus(*price).abs()).min()?;
        prices.retain(|price| surplus(*price).abs() == least);
        let (lowest, highest) = (*prices.first()?, *prices.last()?);
        let last_bought = prices.iter().rfind(|price| surplus(**price) > 0).copied();
        let first_sold = prices.iter().find(|price| surplus(**price) < 0).copied();
        let price = match (last_bought, first_sold) {
            (Some(_), None) => highest,
            (None, Some(_)) => lowest,
            _ => {
                let (from, to) = (last_bought.unwrap_or(lowest), first_sold.unwrap_or(highest));
                self.last.map_or(from, |last| last.clamp(from, to))
            }
        };
        Some((price, most))
    }

    /// Both sides by price, what is shown before what is not, and time.
    fn trade_all(&mut self, price: i64, volume: u32, told: &mut Vec<Told>) {
        let (mut left, mut empty) = (volume, Vec::new());
        while left > 0 {
            let heads = Side::BOTH.map(|side| {
                let orders = self.orders.iter().enumerate();
                let of_side =
                    orders.filter(|(_, order)| order.side == side && !order.is_provider());
                let rank = |order: &Plain| {
                    let price = if side == Side::Sell { order.price } else { -order.price };
                    (price, order.shown == 0, order.since)
                };
                let first = of_side.min_by_key(|(_, order)| rank(order));
                first.map(|(at, _)| at).expect("both sides have the volume")
            });
            let part = |at: usize| {
                let order = &self.orders[at];
                if order.shown > 0 { order.shown } else { order.leaves }
            };
            let quantity = left.min(part(heads[0])).min(part(heads[1]));
            left -= quantity;
            for at in heads {
                let order = &mut self.orders[at];
                order.leaves -= quantity;
                order.filled += quantity;
                if order.shown > 0 {
                    order.shown -= quantity;
                    if order.shown == 0 && order.leaves > 0 {
                        empty.push(order.id);
                    }
                }
            }
            let [taker, maker] = heads.map(|at| self.orders[at].id);
            told.push(Told::Trade { maker, taker, price, quantity });
            self.orders.retain(|order| order.leaves > 0);
        }
        self.show_next(empty, told);
    }

    /// Icebergs show another part.
    fn show_next(&mut self, empty: Vec<OrderId>, told: &mut Vec<Told>) {
        for id in empty {
            let Some(order) = self.orders.iter_mut().find(|order| order.id == id) else { continue };
            order.shown = order.peak.min(order.leaves);
            self.time += 1;
            order.since = self.time;
            told.push(Told::Shows { id, shown: order.shown });
        }
    }

    /// Where the order stands that a taker meets next: by price, what is shown
    /// before what is not, and time.
    fn next_maker(&self, taker: &Plain) -> Option<usize> {
        let crosses = |order: &Plain| match taker.side {
            Side::Buy => order.price <= taker.price,
            Side::Sell => order.price >= taker.price,
        };
        let makers = self.orders.iter().enumerate();
        let makers = makers.filter(|(_, order)| order.side != taker.side && crosses(order));
        let makers = makers.filter(|(_, order)| order.owner_type.may_meet(taker.owner_type));
        let rank = |order: &Plain| {
            let price = if taker.side == Side::Buy { order.price } else { -order.price };
            (price, order.shown == 0, order.is_provider(), order.since)
        };
        makers.min_by_key(|(_, order)| rank(order)).map(|(at, _)| at)
    }

    fn aggress(&mut self, taker: &mut Plain, told: &mut Vec<Told>) {
        let mut empty = Vec::new();
        while taker.leaves > 0 {
            let Some(at) = self.next_maker(taker) else { break };
            let maker = &mut self.orders[at];
            let part = if maker.shown > 0 { maker.shown } else { maker.leaves };
            let quantity = part.min(taker.leaves);
            let (maker_id, price) = (maker.id, maker.price);
            if maker.shown > 0 {
                maker.shown -= quantity;
                if maker.shown == 0 && maker.leaves > quantity {
                    empty.push(maker_id);
                }
            }
            maker.leaves -= quantity;
            maker.filled += quantity;
            taker.leaves -= quantity;
            taker.filled += quantity;
            self.last = Some(price);
            told.push(Told::Trade { maker: maker_id, taker: taker.id, price, quantity });
            self.orders.retain(|order| order.leaves > 0);
        }
        self.show_next(empty, told);
    }

    fn run(&mut self, mut order: Plain, is_at_once: bool, told: &mut Vec<Told>) {
        if self.is_call && is_at_once {
            return told.push(Told::Refused);
        }
        if !self.is_call {
            self.aggress(&mut order, told);
        }
        if order.leaves == 0 {
            return;
        }
        if is_at_once {
            return told.push(Told::Gone { id: order.id, left: order.leaves });
        }
        order.shown = order.peak.min(order.leaves);
        self.time += 1;
        order.since = self.time;
        told.push(Told::Rests { id: order.id, shown: order.shown, leaves: order.leaves });
        self.orders.push(order);
    }

    fn cancel(&mut self, id: OrderId) -> Vec<Told> {
        let Some(at) = self.orders.iter().position(|order| order.id == id) else {
            return vec![Told::Refused];
        };
        vec![Told::Gone { id, left: self.orders.remove(at).leaves }]
    }

    fn amend(&mut self, id: OrderId, quantity: u32, price: i64) -> Vec<Told> {
        let Some(at) = self.orders.iter().position(|order| order.id == id) else {
            return vec![Told::Refused];
        };
        let order = &self.orders[at];
        if quantity <= order.filled {
            return vec![Told::Refused];
        }
        let leaves = quantity - order.filled;
        // The test asks for what is shown in full to stay so, and keeps peaks.
        let is_whole = order.peak >= order.leaves;
        let peak = if is_whole { leaves } else { order.peak.min(leaves) };
        let is_kept = price == order.price && leaves <= order.leaves;
        if is_kept {
            let order = &mut self.orders[at];
            (order.leaves, order.peak) = (leaves, peak);
            order.shown = order.shown.min(peak).min(leaves);
            return vec![Told::Amended { id, leaves, is_kept }];
        }
        let mut told = vec![Told::Amended { id, leaves, is_kept }];
        let mut order = self.orders.remove(at);
        (order.leaves, order.price, order.peak) = (leaves, price, peak);
        order.shown = peak;
        if !self.is_call && self.next_maker(&order).is_some() {
            self.run(order, false, &mut told);
            return told;
        }
        self.time += 1;
        order.since = self.time;
        self.orders.push(order);
        told
    }

    /// A trade of two orders is taken back.
    fn untrade(&mut self, orders: [OrderId; 2], quantity: u32) -> Vec<Told> {
        let filled = orders.map(|id| {
            let order = self.orders.iter_mut().find(|order| order.id == id)?;
            order.filled -= quantity;
            Some(order.filled)
        });
        vec![Told::Untraded { filled }]
    }

    fn depth(&self, side: Side) -> Vec<(i64, u32)> {
        self.shown(side).iter().map(|order| (order.price, order.shown)).collect()
    }

    /// The orders of a side that others see, the best first.
    fn shown(&self, side: Side) -> Vec<&Plain> {
        let mut shown: Vec<&Plain> =
            self.orders.iter().filter(|order| order.side == side && order.shown > 0).collect();
        let sign = if side == Side::Buy { -1 } else { 1 };
        shown.sort_by_key(|order| (sign * order.price, order.since));
        shown
    }
}

fn told(event: &Event) -> Option<Told> {
    Some(match event {
        Event::Traded { maker, taker, price, quantity, .. } => {
            Told::Trade { maker: maker.id, taker: taker.id, price: price.0, quantity: *quantity }
        }
        Event::Rested { order, shown, .. } => {
            Told::Rests { id: order.id, shown: shown.quantity, leaves: order.leaves }
        }
        Event::Ended { order, quantity, .. } => Told::Gone { id: order.id, left: *quantity },
        Event::Amended { order, keeps_priority, .. } => {
            Told::Amended { id: order.id, leaves: order.leaves, is_kept: *keeps_priority }
        }
        Event::Replenished { order, shown, .. } => {
            Told::Shows { id: order.id, shown: shown.quantity }
        }
        Event::TradeCancelled { orders, .. } => {
            Told::Untraded { filled: orders.map(|of| of.is_alive().then_some(of.order.filled)) }
        }
        Event::ShownAgain { order, shown, .. } => {
            Told::Again { id: order.id, shown: shown.quantity }
        }
        Event::Refused { .. } => Told::Refused,
        _ => return None,
    })
}

/// What is done next; numbers of orders are places among all that came.
#[derive(Clone, Debug)]
enum Step {
    New {
        is_buy: bool,
        price: i64,
        quantity: u32,
        display: u8,
        is_at_once: bool,
        owner_type: OwnerType,
    },
    Cancel(usize),
    Amend {
        which: usize,
        quantity: u32,
        price: i64,
    },
    CancelTrade(usize),
    /// The call of an auction within the day begins, or ends.
    Turn,
}

fn step(spread: i64) -> impl Strategy<Value = Step> {
    let owner_type = prop_oneof![
        3 => Just(OwnerType::Any),
        1 => Just(OwnerType::Retail),
        1 => Just(OwnerType::RetailProvider),
    ];
    let new = (
        any::<bool>(),
        100..100 + spread,
        1..100_u32,
        0..10_u8,
        prop::bool::weighted(0.2),
        owner_type,
    );
    let new = new.prop_map(|(is_buy, price, quantity, display, is_at_once, owner_type)| {
        Step::New { is_buy, price, quantity, display, is_at_once, owner_type }
    });
    let amend = (any::<usize>(), 1..150_u32, 100..100 + spread);
    prop_oneof![
        12 => new,
        4 => any::<usize>().prop_map(Step::Cancel),
        2 => any::<usize>().prop_map(Step::CancelTrade),
        1 => Just(Step::Turn),
        4 => amend.prop_map(|(which, quantity, price)| Step::Amend { which, quantity, price }),
    ]
}

const OWNER: Owner = Owner { firm: 1, user: 1 };

/// Engine and model, the same steps.
struct Pair {
    engine: Engine,
    book: BookId,
    model: Model,
    ids: Vec<OrderId>,
    /// Trades that were not cancelled.
    trades: Vec<TradeCancel>,
    events: Vec<Event>,
    bought: [u64; 2],
}

impl Pair {
    fn new() -> Self {
        let mut engine = Engine::new(&Config { max_orders: 1000, ..Config::default() });
        let ticks = TickTable::flat(Price(1)).expect("a table");
        let book = engine.add(Instrument::new(1, "M", ticks));
        for session in [Session::OpeningCall, Session::Regular] {
            let command = Command::Session { book, session, cause: Cause::Scheduled };
            engine.handle(0, &command, &mut ());
        }
        let (model, ids, trades) = (Model::default(), Vec::new(), Vec::new());
        Self { engine, book, model, ids, trades, events: Vec::new(), bought: [0; 2] }
    }

    fn step(&mut self, step: &Step) {
        let Some(expected) = self.both(step) else { return };
        let mut found: Vec<Told> = Vec::new();
        for event in &self.events {
            if let Event::Traded { quantity, taker, maker, side, .. } = event {
                for side in [*side, side.opposite()] {
                    self.bought[side as usize] += u64::from(*quantity);
                }
                assert!(taker.id != maker.id);
                self.trades.extend(cancel_of(event));
            }
            found.extend(told(event));
        }
        assert_eq!(found, expected, "{step:?}");
        for side in Side::BOTH {
            let depth = self.engine.depth(self.book, side);
            let depth: Vec<_> =
                depth.map(|depth| (depth.price.unwrap_or_default().0, depth.quantity)).collect();
            assert_eq!(depth, self.model.depth(side), "{step:?}");
        }
        self.properties();
    }

    fn engine_does(&mut self, command: &Command) {
        self.events.clear();
        self.engine.handle(1, command, &mut self.events);
    }

    fn properties(&self) {
        let best = |side| self.engine.best(self.book, side).and_then(|best| best.price);
        if let (Some(bid), Some(ask)) = (best(Side::Buy), best(Side::Sell)) {
            assert!(bid < ask || self.model.is_call, "the book is crossed: {bid} {ask}");
        }
        assert_eq!(self.bought[0], self.bought[1], "as much is bought as sold");
        assert_eq!(self.engine.alive() as usize, self.model.orders.len());
    }

    /// Does a step with the engine, and then with the model.
    fn both(&mut self, step: &Step) -> Option<Vec<Told>> {
        match *step {
            Step::New { is_buy, price, quantity, display, is_at_once, owner_type } => {
                let side = if is_buy { Side::Buy } else { Side::Sell };
                // Most are shown in full, some in part, some not.
                let display = match display {
                    // What is there for retail investors is hidden.
                    _ if owner_type == OwnerType::RetailProvider && !is_at_once => 0,
                    0 => 0,
                    1 | 2 => (quantity / 3).max(1),
                    _ => quantity,
                };
                let mut order = NewOrder::limit(self.book, OWNER, side, quantity, Price(price));
                (order.display, order.owner_type) = (display, owner_type);
                if is_at_once {
                    order.time_in_force = TimeInForce::ImmediateOrCancel;
                }
                self.engine_does(&Command::New(order));
                let id = taker_of(self.events.first()?);
                self.ids.extend(id);
                let id = id.unwrap_or_default();
                let plain = Plain {
                    id,
                    side,
                    price,
                    shown: display,
                    leaves: quantity,
                    filled: 0,
                    peak: display,
                    since: 0,
                    owner_type,
                };
                let mut told = Vec::new();
                self.model.run(plain, is_at_once, &mut told);
                Some(told)
            }
            Step::Turn => {
                let told = self.model.turn();
                let session = match self.model.is_call {
                    true => Session::IntradayCall,
                    false => Session::Regular,
                };
                let (book, cause) = (self.book, Cause::Scheduled);
                self.engine_does(&Command::Session { book, session, cause });
                Some(told)
            }
            Step::Cancel(which) => {
                let id = *self.ids.get(which % self.ids.len().max(1))?;
                self.engine_does(&Command::Cancel { id, owner: OWNER });
                Some(self.model.cancel(id))
            }
            Step::CancelTrade(which) => {
                let at = which.checked_rem(self.trades.len())?;
                let trade = self.trades.swap_remove(at);
                self.engine_does(&Command::CancelTrade(trade));
                self.bought.iter_mut().for_each(|bought| *bought -= u64::from(trade.quantity));
                Some(self.model.untrade(trade.orders, trade.quantity))
            }
            Step::Amend { which, quantity, price } => {
                let id = *self.ids.get(which % self.ids.len().max(1))?;
                let display = match self.model.orders.iter().find(|order| order.id == id) {
                    Some(order) if order.peak < order.leaves => order.peak.min(quantity),
                    _ => quantity,
                };
                let replace = Replace {
                    id,
                    owner: OWNER,
                    quantity,
                    display,
                    limit: Some(Price(price)),
                    stop: None,
                    expire_s: None,
                    passive: Passive::No,
                };
                self.engine_does(&Command::Replace(replace));
                Some(self.model.amend(id, quantity, price))
            }
        }
    }
}

/// The order that a command brought in, by its first event, if it was taken.
fn taker_of(event: &Event) -> Option<OrderId> {
    match event {
        Event::Rested { order, .. } | Event::Ended { order, .. } => Some(order.id),
        Event::Traded { taker, .. } => Some(taker.id),
        Event::Refused { .. } => None,
        other => panic!("a new order begins with {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_engine_does_what_the_plainest_book_does(
        steps in prop::collection::vec(step(8), 1..120),
    ) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.step(step);
        }
    }

    #[test]
    fn over_many_prices_too(steps in prop::collection::vec(step(20_000), 1..120)) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.step(step);
        }
    }
}
