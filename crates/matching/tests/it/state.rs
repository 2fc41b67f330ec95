//! An engine that is saved and restored goes on as if nothing had been.

use tapeline_instrument::{
    Cause, Instrument, OrderId, Price, Session, Side, TickTable, Tolerances,
};
use tapeline_layout::Sections;
use tapeline_matching::{
    BookId, Command, Config, Engine, Event, Kind, NewOrder, Owner, OwnerType, Part, Passive,
    Replace, SelfMatch, TimeInForce, TradeCancel,
};

use crate::support::cancel_of;

const SECOND_NS: u64 = 1_000_000_000;

/// Noon of a day in 2024.
const NOON_S: u64 = 19_800 * 86_400 + 43_200;

fn engine() -> Engine {
    let mut engine = Engine::new(&Config {
        max_orders: 2_000,
        breaker_call_ns: 2 * SECOND_NS,
        breaker_random_ns: SECOND_NS,
        market_extension_ns: SECOND_NS,
        price_extension_ns: SECOND_NS,
        extension_random_ns: SECOND_NS,
        ..Config::default()
    });
    for id in 1..=2 {
        let ticks = TickTable::flat(Price(1)).expect("a table");
        let mut instrument = Instrument::new(id, "X", ticks);
        if id == 2 {
            // Prices are drawn from 0.3 per cent.
            instrument.tolerances = Tolerances { dynamic_bp: 15, static_bp: 0 };
            instrument.auctions.tolerance_bp = 2;
            instrument.auctions.min_closing_volume = 100_000;
        }
        engine.add(instrument);
    }
    engine
}

/// Commands of all kinds, drawn from a state.
struct Flow {
    random: u64,
    step: u64,
    ids: Vec<(OrderId, Owner)>,
    trades: Vec<TradeCancel>,
}

impl Flow {
    fn new(random: u64) -> Self {
        Self { random, step: 0, ids: Vec::new(), trades: Vec::new() }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % below
    }

    fn order(&mut self) -> NewOrder {
        let book = BookId(self.draw(2) as u16);
        let owner = Owner { firm: 1 + self.draw(3) as u16, user: self.draw(4) as u16 };
        let side = if self.draw(2) == 0 { Side::Buy } else { Side::Sell };
        let price = Price(10_000 + self.draw(30) as i64);
        let mut order = NewOrder::limit(book, owner, side, 1 + self.draw(500) as u32, price);
        match self.draw(16) {
            0 => order.display = 0,
            1 | 2 => order.display = 1 + order.quantity / 4,
            3 => {
                order.display = 1 + order.quantity / 5;
                order.is_random_peak = true;
            }
            4 => order.kind = Kind::Stop(price),
            5 => order.kind = Kind::StopLimit { stop: price, limit: price },
            6 | 7 => {
                let min_quantity = self.draw(2) as u32 * order.quantity / 2;
                order.kind = Kind::Pegged { limit: Some(price), min_quantity };
                order.display = 0;
            }
            8 => order.kind = Kind::OrPegged { limit: Some(price) },
            9 => order.kind = Kind::Offset { bp: 1, limit: None },
            _ => {}
        }
        let now_s = (NOON_S + self.step / 50) as u32;
        order.time_in_force = match self.draw(16) {
            0 => TimeInForce::UntilTime(now_s + self.draw(20) as u32),
            1 => TimeInForce::UntilDay(now_s + 86_400),
            2 => TimeInForce::AtClosing,
            3 => TimeInForce::EveryAuction,
            4 => TimeInForce::NextAuction,
            5 => TimeInForce::ImmediateOrCancel,
            6 => TimeInForce::AtClosingVolume,
            7 => TimeInForce::FromClosingVolume,
            8 => TimeInForce::AtClosingPrice,
            9 => TimeInForce::NextIntraday,
            _ => TimeInForce::Day,
        };
        order.self_match = match self.draw(6) {
            0 => SelfMatch::CancelIncoming,
            1 => SelfMatch::CancelResting,
            _ => SelfMatch::Allowed,
        };
        order.owner_type = match self.draw(12) {
            0 | 1 => OwnerType::Retail,
            2 => OwnerType::RetailProvider,
            _ => OwnerType::Any,
        };
        if order.owner_type == OwnerType::RetailProvider {
            order.display = 0;
        }
        order.group = self.draw(3) as u8;
        order.is_named = self.draw(5) == 0;
        order
    }

    fn next(&mut self) -> (u64, Command) {
        self.step += 1;
        let now_ns = NOON_S * SECOND_NS + self.step * SECOND_NS / 50;
        let session = match self.step % 4_000 {
            1 | 2 => Some(Session::OpeningCall),
            500 | 501 | 1_800 | 1_801 | 2_200 | 2_201 | 2_600 | 2_601 => Some(Session::Regular),
            1_500 | 1_501 => Some(Session::IntradayCall),
            2_000 | 2_001 => Some(Session::EdspCall),
            2_400 | 2_401 => Some(Session::PeriodicCall),
            3_000 | 3_001 => Some(Session::ClosingCall),
            3_300 | 3_301 => Some(Session::ClosingPrice),
            3_800 | 3_801 => Some(Session::PostClose),
            3_850 | 3_851 => Some(Session::MarketClose),
            3_900 | 3_901 => Some(Session::Closed),
            _ => None,
        };
        if let Some(session) = session {
            let book = BookId((self.step % 2) as u16);
            return (now_ns, Command::Session { book, session, cause: Cause::Scheduled });
        }
        let known = self.ids.len() as u64;
        let command = match self.draw(10) {
            0 if self.draw(2) == 0 && !self.trades.is_empty() => {
                let at = self.draw(self.trades.len() as u64) as usize;
                Command::CancelTrade(self.trades.swap_remove(at))
            }
            0 => Command::Tick,
            1 | 2 if known > 0 => {
                let at = self.draw(known) as usize;
                let (id, owner) = self.ids.swap_remove(at);
                Command::Cancel { id, owner }
            }
            3 if known > 0 => {
                let at = self.draw(known) as usize;
                let (id, owner) = self.ids[at];
                let quantity = 1 + self.draw(600) as u32;
                let limit = Some(Price(10_000 + self.draw(30) as i64));
                let (stop, expire_s, passive) = (None, None, Passive::No);
                let display = quantity;
                Command::Replace(Replace {
                    id,
                    owner,
                    quantity,
                    display,
                    limit,
                    stop,
                    expire_s,
                    passive,
                })
            }
            _ => Command::New(self.order()),
        };
        (now_ns, command)
    }

    fn note(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Rested { order, .. } | Event::Parked { order, .. } = event {
                self.ids.push((order.id, order.owner));
            }
            self.trades.extend(cancel_of(event));
        }
    }
}

fn saved(engine: &Engine) -> Vec<u8> {
    let mut bytes = Vec::new();
    engine.save(&mut bytes);
    bytes
}

fn restored(bytes: &[u8]) -> Option<Engine> {
    let mut engine = engine();
    let mut sections = Sections::new(bytes);
    engine.restore(&mut sections)?;
    sections.is_over().then_some(engine)
}

#[test]
fn an_engine_that_is_restored_goes_on_with_the_same_events() {
    let (mut first, mut flow) = (engine(), Flow::new(7));
    let mut second = engine();
    let (mut events, mut same) = (Vec::new(), Vec::new());
    let (mut trades, mut most, mut saves, mut cancelled) = (0, 0, 0, 0);
    let (mut breaks, mut extensions, mut at_close, mut pegged, mut again) = (0, 0, 0, 0, 0);
    for step in 0..80_000 {
        // In every session, and in the middle of everything.
        if step % 157 == 0 {
            let bytes = saved(&first);
            second = restored(&bytes).expect("a state");
            assert!(saved(&second) == bytes, "the state of the state differs at {step}");
            saves += 1;
        }
        let (now_ns, command) = flow.next();
        events.clear();
        same.clear();
        first.handle(now_ns, &command, &mut events);
        second.handle(now_ns, &command, &mut same);
        assert_eq!(same, events, "step {step}, {command:?}");
        trades += events.iter().filter(|event| matches!(event, Event::Traded { .. })).count();
        let is_cancelled = |event: &Event| matches!(event, Event::TradeCancelled { .. });
        cancelled += usize::from(events.first().is_some_and(is_cancelled));
        let is_break =
            |event: &&Event| matches!(event, Event::Session { session: Session::BreakerCall, .. });
        breaks += events.iter().filter(is_break).count();
        let is_extension = |event: &&Event| matches!(event, Event::Extended { .. });
        extensions += events.iter().filter(is_extension).count();
        let is_at_close =
            |event: &&Event| matches!(event, Event::Traded { part: Part::ClosingPrice, .. });
        at_close += events.iter().filter(is_at_close).count();
        let is_pegged = |event: &&Event| matches!(event, Event::Traded { part: Part::Pegged, .. });
        pegged += events.iter().filter(is_pegged).count();
        let is_again = |event: &&Event| matches!(event, Event::ShownAgain { .. });
        again += events.iter().filter(is_again).count();
        most = most.max(first.alive());
        flow.note(&events);
    }
    assert!(trades > 5_000 && most > 300 && saves > 200, "{trades} trades, {most} orders");
    assert!(breaks > 10, "{breaks} circuit breaks");
    assert!(again > 100, "{again} orders shown again behind auctions");
    assert!(extensions > 10 && at_close > 100, "{extensions} extensions, {at_close} at the close");
    assert!(pegged > 50, "{pegged} trades with pegged orders");
    assert!(cancelled > 500, "{cancelled} trades were cancelled");
}

#[test]
fn what_is_no_state_of_this_engine_is_none() {
    let (mut engine, mut flow) = (engine(), Flow::new(3));
    let mut events = Vec::new();
    for _ in 0..2_000 {
        let (now_ns, command) = flow.next();
        engine.handle(now_ns, &command, &mut events);
        flow.note(&events);
        events.clear();
    }
    let bytes = saved(&engine);
    assert!(restored(&bytes).is_some());
    for len in (0..bytes.len()).step_by(37) {
        assert!(restored(&bytes[..len]).is_none(), "{len} bytes");
    }
    let mut other = Engine::new(&Config { max_orders: 2_000, ..Config::default() });
    assert!(other.restore(&mut Sections::new(&bytes)).is_none(), "it has no books");
    let mut small = Engine::new(&Config { max_orders: 3, ..Config::default() });
    for id in 1..=2 {
        let ticks = TickTable::flat(Price(1)).expect("a table");
        small.add(Instrument::new(id, "X", ticks));
    }
    assert!(small.restore(&mut Sections::new(&bytes)).is_none(), "it has no room");
}
