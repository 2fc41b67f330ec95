//! The whole loop in one thread: orders, engine, market data over two lossy lines,
//! reader, items.

use std::collections::VecDeque;

use tapeline_exchange::Market;
use tapeline_feed::{ExchangeFeed, Side as ItemSide};
use tapeline_instrument::{Cause, Instrument, OrderId, Price, Session, Side, TickTable};
use tapeline_matching::{
    BookId, Command, Config, Event, Kind, NewOrder, Owner, Passive, Replace, TimeInForce,
};
use tapeline_mitch::{Message, Outputs, Reader, State};

const GROUP: u8 = b'A';
const ITEM: &str = "VOD.L";
const MIDNIGHT_NS: u64 = 20_000 * 86_400_000_000_000;
const HOUR_NS: u64 = 3_600_000_000_000;

/// What the reader delivers becomes items.
struct Handler {
    feed: ExchangeFeed,
    replays: VecDeque<(u32, u16)>,
    wants_snapshot: bool,
    is_stale: bool,
    staled: u32,
}

impl Outputs for Handler {
    fn message(&mut self, _: u32, message: &Message) {
        self.feed.message(message);
    }

    fn ask_replay(&mut self, first: u32, count: u16) {
        self.replays.push_back((first, count));
    }

    fn ask_snapshot(&mut self) {
        self.wants_snapshot = true;
    }

    fn set_stale(&mut self, is_stale: bool) {
        self.staled += u32::from(is_stale && !self.is_stale);
        self.is_stale = is_stale;
    }

    fn restart(&mut self) {
        self.feed.restart();
    }
}

/// A number generator, the same each run (splitmix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % bound
    }
}

struct World {
    market: Market,
    book: BookId,
    reader: Reader,
    handler: Handler,
    draws: Draws,
    now_ns: u64,
    /// Orders that rest, with whose they are.
    resting: Vec<(OrderId, Owner)>,
    /// Of a hundred units, so many are lost on each line.
    loss_percent: u64,
    /// Every byte that was sent, mixed.
    sent: u64,
}

impl World {
    fn new(seed: u64, loss_percent: u64) -> Self {
        let config = Config { max_orders: 10_000, seed, ..Config::default() };
        let mut market = Market::new(&config, GROUP);
        let ticks = TickTable::flat(Price(1_000_000)).expect("a table");
        let mut instrument = Instrument::new(7, ITEM, ticks);
        instrument.previous_close = Some(Price(10 * Price::UNIT));
        let now_ns = MIDNIGHT_NS + 7 * HOUR_NS;
        let mut units = Vec::new();
        let book = market.add(now_ns, instrument, &mut |unit| units.push(unit.to_vec()));
        let mut feed = ExchangeFeed::new(MIDNIGHT_NS);
        feed.name(7, ITEM);
        let handler = Handler {
            feed,
            replays: VecDeque::new(),
            wants_snapshot: false,
            is_stale: false,
            staled: 0,
        };
        let mut world = Self {
            market,
            book,
            reader: Reader::new(GROUP, 500),
            handler,
            draws: Draws(seed),
            now_ns,
            resting: Vec::new(),
            loss_percent,
            sent: 0,
        };
        world.carry(&units);
        world
    }

    fn does(&mut self, command: &Command) {
        self.now_ns += 1_000_000;
        let mut units = Vec::new();
        let events =
            self.market.handle(self.now_ns, command, &mut |unit| units.push(unit.to_vec()));
        for event in events {
            match event {
                Event::Rested { order, .. } => self.resting.push((order.id, order.owner)),
                Event::Traded { price, .. } => assert!(price.0 > 0),
                _ => {}
            }
        }
        self.carry(&units);
    }

    /// Both lines, each with its own losses.
    fn carry(&mut self, units: &[Vec<u8>]) {
        for unit in units {
            for byte in unit {
                self.sent = (self.sent ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            for _ in 0..2 {
                if self.draws.below(100) >= self.loss_percent {
                    self.reader.unit(unit, &mut self.handler).expect("a whole unit");
                }
            }
        }
    }

    /// Answers what the reader asks for, over connections that lose nothing.
    fn answer(&mut self) {
        let publisher = self.market.distribution().publisher();
        while let Some((first, count)) = self.handler.replays.pop_front() {
            let mut units = Vec::new();
            let answer =
                publisher.replay(GROUP, first, count, &mut |unit| units.push(unit.to_vec()));
            match answer {
                Ok(()) => {
                    for unit in &units {
                        self.reader.unit(unit, &mut self.handler).expect("a whole unit");
                    }
                }
                Err(_) => self.reader.replay_failed(&mut self.handler),
            }
        }
        if std::mem::take(&mut self.handler.wants_snapshot) {
            let mut units = Vec::new();
            publisher.snapshot(25_200, "SETS", &mut |unit| units.push(unit.to_vec()));
            for unit in units {
                self.reader.snapshot_unit(&unit, &mut self.handler).expect("a whole unit");
            }
        }
    }

    fn settle(&mut self) {
        for _ in 0..10 {
            let mut beat = Vec::new();
            let publisher = self.market.distribution().publisher();
            publisher.heartbeat(&mut |unit| beat = unit.to_vec());
            self.reader.unit(&beat, &mut self.handler).expect("a whole unit");
            self.answer();
        }
        assert_eq!(self.reader.state(), State::Live);
        self.is_as_the_engine();
    }

    /// The book of the item, which the publisher's too, is the engine's.
    fn is_as_the_engine(&mut self) {
        let engine = self.market.engine();
        let is_shown = engine.session_of(self.book) != Some(Session::IntradayCall);
        for (side, item_side) in [(Side::Buy, ItemSide::Bid), (Side::Sell, ItemSide::Ask)] {
            let book = self.handler.feed.book(ITEM).expect("the item");
            if !is_shown {
                let best = engine.best_limit(self.book, side);
                let best = best.and_then(|best| Some((best.price?.0 * 10, best.quantity)));
                let levels: Vec<(i64, u64)> =
                    book.levels(item_side).map(|(price, level)| (price, level.size)).collect();
                assert_eq!((levels, book.order_count()), (Vec::from_iter(best), 0), "{side:?}");
                continue;
            }
            let mut depth: Vec<(u64, i64, u32)> = engine
                .depth(self.book, side)
                .filter_map(|depth| Some((depth.id.0, depth.price?.0 * 10, depth.quantity)))
                .collect();
            depth.sort_unstable();
            let orders: Vec<(u64, i64, u32)> = book
                .orders()
                .filter(|(_, order)| order.side == item_side)
                .map(|(id, order)| (id, order.price_nano, order.size))
                .collect();
            assert_eq!(orders, depth, "{side:?}");
        }
        let mut items = 0;
        self.handler
            .feed
            .publish(|name, _| {
                assert_eq!(name, ITEM);
                items += 1;
            })
            .expect("it fits");
        assert!(items <= 3, "one update for each item");
    }

    fn begins(&mut self, session: Session) {
        let command = Command::Session { book: self.book, session, cause: Cause::Scheduled };
        self.does(&command);
    }

    /// Something that a trader does.
    fn trade(&mut self) {
        let owner = Owner { firm: 1 + self.draws.below(5) as u16, user: 1 };
        let price = Price((980 + self.draws.below(40) as i64) * 1_000_000);
        let size = 1 + self.draws.below(300) as u32;
        if self.draws.below(10) >= 7 && !self.resting.is_empty() {
            let at = self.draws.below(self.resting.len() as u64) as usize;
            let (id, owner) = self.resting.swap_remove(at);
            let replace = Replace {
                id,
                owner,
                quantity: size,
                display: size,
                limit: Some(price),
                stop: None,
                expire_s: None,
                passive: Passive::No,
            };
            let command = match self.draws.below(2) {
                0 => Command::Cancel { id, owner },
                _ => Command::Replace(replace),
            };
            return self.does(&command);
        }
        let side = if self.draws.below(2) == 0 { Side::Buy } else { Side::Sell };
        let mut order = NewOrder::limit(self.book, owner, side, size, price);
        match self.draws.below(12) {
            0 => order.display = 0,
            1 => order.display = 1 + size / 3,
            2 => order.kind = Kind::Market,
            3 => order.kind = Kind::Stop(price),
            4 => order.time_in_force = TimeInForce::ImmediateOrCancel,
            5 => order.time_in_force = TimeInForce::NextAuction,
            _ => {}
        }
        self.does(&Command::New(order));
    }

    fn day(&mut self, orders: usize, check: impl FnMut(&mut Self)) {
        let sessions =
            [Session::OpeningCall, Session::Regular, Session::ClosingCall, Session::MarketClose];
        self.day_of(&sessions, orders, check);
    }

    fn day_of(&mut self, sessions: &[Session], orders: usize, mut check: impl FnMut(&mut Self)) {
        for session in sessions.iter().copied() {
            self.begins(session);
            for _ in 0..if session == Session::MarketClose { 0 } else { orders } {
                self.trade();
                self.does(&Command::Tick);
                check(self);
            }
        }
    }
}

/// A day with an auction within it, of which the best prices are told and no orders.
const WITH_AUCTION: [Session; 6] = [
    Session::OpeningCall,
    Session::Regular,
    Session::IntradayCall,
    Session::Regular,
    Session::ClosingCall,
    Session::MarketClose,
];

#[test]
fn at_every_moment_the_items_are_the_engines_book() {
    for seed in 1..=5 {
        let mut world = World::new(seed, 0);
        world.day_of(&WITH_AUCTION, 400, World::is_as_the_engine);
        assert_eq!(world.handler.staled, 0);
        world.settle();
        let trades = world.handler.feed.book(ITEM).expect("the item").trades().count;
        assert!(trades > 100, "{trades} trades");
    }
}

#[test]
fn what_two_lines_lose_is_healed() {
    for seed in 1..=10 {
        let mut world = World::new(seed, 10 * (seed % 5));
        let mut turn = 0;
        world.day_of(&WITH_AUCTION, 300, |world| {
            turn += 1;
            if turn % 7 == 0 {
                world.answer();
            }
        });
        world.settle();
        assert_eq!(world.handler.staled > 0, seed % 5 > 0);
    }
}

#[test]
fn the_same_orders_give_the_same_bytes() {
    let sent = |seed| {
        let mut world = World::new(seed, 0);
        world.day(200, |_| {});
        world.sent
    };
    assert_eq!(sent(3), sent(3));
    // The same in every build: icebergs, stops, amendments and auctions are among them.
    assert_eq!(sent(3), 0xfb4a_6e5a_97b3_4725);
    assert_ne!(sent(3), sent(4));
}
