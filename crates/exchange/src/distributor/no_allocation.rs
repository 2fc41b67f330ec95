//! An entry costs no allocation on its way from a market to a distribution in a process of
//! its own, and from there to market data.

use std::time::Duration;

use tapeline_instrument::{Instrument, Price, TickTable};
use tapeline_layout::Text;
use tapeline_ntg::client::{MassCancel, NewOrder};
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Limits, Message};
use tapeline_time::Time;

use super::{Distributor, DistributorConfig, DistributorOutputs};
use crate::core::{DistributionTerms, Door, Exchange, ExchangeConfig, Outputs, SessionId};

/// Orders of a round.
const ORDERS: u64 = 5_000;

/// What the market has for its distribution.
#[derive(Default)]
struct Market {
    link: Option<SessionId>,
    down: Vec<u8>,
    units: u64,
}

impl Outputs for Market {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        if self.link == Some(session) {
            self.down.extend_from_slice(bytes);
        }
    }

    fn close(&mut self, session: SessionId) {
        panic!("{session:?} is closed");
    }

    fn publish(&mut self, _: &[u8]) {
        self.units += 1;
    }

    fn queued(&self, _: SessionId) -> usize {
        0
    }
}

/// What the distribution has for its market, and for everybody.
#[derive(Default)]
struct Lines {
    up: Vec<u8>,
    units: u64,
}

impl Outputs for Lines {
    fn send(&mut self, _: SessionId, _: &[u8]) {}

    fn close(&mut self, _: SessionId) {}

    fn publish(&mut self, _: &[u8]) {
        self.units += 1;
    }

    fn queued(&self, _: SessionId) -> usize {
        0
    }
}

impl DistributorOutputs for Lines {
    fn say(&mut self, bytes: &[u8]) {
        self.up.extend_from_slice(bytes);
    }
}

/// A market, a distribution of it, and the link between them.
struct World {
    exchange: Exchange,
    market: Market,
    link: SessionId,
    client: SessionId,
    distributor: Distributor,
    lines: Lines,
    now: Time,
    wire: Vec<u8>,
}

impl World {
    fn new() -> Self {
        let ticks = TickTable::flat(Price(1_000_000)).expect("a table");
        let config = ExchangeConfig {
            instruments: vec![Instrument::new(7, "VOD.L", ticks)],
            limits: Limits { throttle_per_s: u32::MAX, ..Limits::default() },
            distribution: Some(DistributionTerms {
                numbers: vec![1],
                silence: Duration::from_secs(1),
                grace: Duration::from_millis(100),
                history: 0,
                tail_bytes: 1 << 20,
            }),
            max_sessions: 64,
            ..ExchangeConfig::default()
        };
        let now = Time::from_nanos(1);
        let mut market = Market::default();
        let mut exchange = Exchange::new(&config, 0);
        exchange.open(now, &mut market);
        let client = exchange.accepted(now, Door::Orders).expect("room");
        let link = exchange.accepted(now, Door::Distribution).expect("room");
        market.link = Some(link);
        let distributor = Distributor::new(DistributorConfig::of(&config, 1, 1));
        let (lines, wire) = (Lines::default(), Vec::with_capacity(512));
        let mut world = Self { exchange, market, link, client, distributor, lines, now, wire };
        let (user, password) = (Text::new("ANN"), Text::new("x"));
        world.says(&Message::Logon(Logon { user, password, version: 1, ..Logon::default() }));
        world.distributor.link_up(now, &mut world.lines);
        (0..10).for_each(|_| world.carry());
        world
    }

    /// What is on the link arrives, in pieces that do not end with words, and comes back.
    fn carry(&mut self) {
        self.exchange.received(self.now, self.link, &self.lines.up, &mut self.market);
        self.lines.up.clear();
        self.exchange.timeout(self.now, &mut self.market);
        self.exchange.cycle(self.now, &mut self.market);
        let (one, other) = self.market.down.split_at(self.market.down.len() / 3);
        for bytes in [one, other] {
            assert!(self.distributor.link_received(self.now, bytes, &mut self.lines));
        }
        self.market.down.clear();
        self.distributor.timeout(self.now, &mut self.lines);
        self.distributor.cycle(self.now, &mut self.lines);
    }

    fn says(&mut self, message: &Message) {
        self.wire.clear();
        message.append(&mut self.wire);
        self.exchange.received(self.now, self.client, &self.wire, &mut self.market);
    }

    /// Orders that rest and trade, and at the end none is left.
    fn trade(&mut self) {
        for step in 0..ORDERS {
            self.now = self.now.after(Duration::from_millis(5));
            let mut name = *b"N0000";
            for (at, digit) in name.iter_mut().skip(1).enumerate() {
                *digit = b'0' + (step / 10_u64.pow(at as u32) % 10) as u8;
            }
            let order = NewOrder {
                cl_ord_id: Text::from_bytes(&name),
                clearing_account: 1,
                instrument_id: 7,
                order_type: 2,
                side: 1 + (step / 3 % 2) as u8,
                quantity: 10 + (step % 7) as i32,
                display: 10,
                limit: 1_000_000_000 + (step % 50 / 10) as i64 * 1_000_000,
                capacity: 2,
                ..NewOrder::default()
            };
            self.says(&Message::NewOrder(order));
            self.carry();
        }
        let (cl_ord_id, kind) = (Text::new("M"), 8);
        let mass = MassCancel { cl_ord_id, kind, ..MassCancel::default() };
        self.says(&Message::MassCancel(mass));
        self.carry();
    }
}

#[test]
fn an_entry_costs_no_allocation_from_the_market_to_market_data() {
    let mut world = World::new();
    assert!(world.distributor.publishes());
    (0..4).for_each(|_| world.trade());
    let before = (world.lines.units, world.market.units);
    let counted = allocation_counter::measure(|| world.trade());
    assert!(world.lines.units - before.0 >= ORDERS, "it publishes");
    assert_eq!(world.market.units, before.1, "and the market does not");
    let here = world.distributor.exchange().position();
    assert_eq!((here, here.1), (world.exchange.position(), world.exchange.position().1));
    assert_eq!(counted.count_total, 0, "allocations for {ORDERS} orders");
}
