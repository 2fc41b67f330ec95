//! An order costs no allocation on its way through a gateway in a process of its own and
//! its market, and its reports none on their way back.

use std::time::Duration;

use tapeline_fix::{CompIds, Store, Writer, tag};
use tapeline_instrument::{Instrument, Price, TickTable};
use tapeline_layout::Text;
use tapeline_ntg::client::{Cancel, MassCancel, NewOrder};
use tapeline_ntg::session::{Logon, LogonReply};
use tapeline_ntg::{Limits, Message};
use tapeline_time::Time;

use super::{Gateway, GatewayConfig, GatewayOutputs, Word};
use crate::core::{Door, Exchange, ExchangeConfig, GatewayTerms, Outputs, SessionId};

/// Orders of a round.
const ORDERS: u64 = 5_000;

/// What the market has for its gateway.
#[derive(Default)]
struct Market {
    down: Vec<u8>,
    /// The clients, by their places.
    clients: Vec<Option<u32>>,
}

impl Outputs for Market {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        match self.clients.get(session.0 as usize).copied().flatten() {
            Some(client) => Word::Report { client, bytes }.append(&mut self.down),
            None => self.down.extend_from_slice(bytes),
        }
    }

    fn close(&mut self, session: SessionId) {
        panic!("{session:?} is closed");
    }

    fn publish(&mut self, _: &[u8]) {}

    fn queued(&self, _: SessionId) -> usize {
        0
    }

    fn route(&mut self, session: SessionId, _: SessionId, client: u32) {
        self.clients.resize(session.0 as usize + 1, None);
        self.clients[session.0 as usize] = Some(client);
    }
}

/// What the gateway has for its market, and for its clients.
#[derive(Default)]
struct Lines {
    up: Vec<u8>,
    reports: u64,
    last: Vec<u8>,
}

impl GatewayOutputs for Lines {
    fn send(&mut self, _: SessionId, bytes: &[u8]) {
        self.reports += 1;
        self.last.clear();
        self.last.extend_from_slice(bytes);
    }

    fn close(&mut self, session: SessionId) {
        panic!("{session:?} is closed");
    }

    fn queued(&self, _: SessionId) -> usize {
        0
    }

    fn say(&mut self, bytes: &[u8]) {
        self.up.extend_from_slice(bytes);
    }
}

/// A market, a gateway of it, and the link between them.
struct World {
    exchange: Exchange,
    market: Market,
    link: SessionId,
    gateway: Gateway,
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
            gateways: Some(GatewayTerms {
                numbers: vec![1],
                silence: Duration::from_secs(2),
                grace: Duration::from_secs(2),
                history: 0,
            }),
            max_sessions: 64,
            ..ExchangeConfig::default()
        };
        let now = Time::from_nanos(1);
        let mut market = Market::default();
        let mut exchange = Exchange::new(&config, 0);
        exchange.open(now, &mut market);
        let link = exchange.accepted(now, Door::Gateways).expect("room");
        let gateway = Gateway::new(GatewayConfig::of(&config, 1, 1));
        let (lines, wire) = (Lines::default(), Vec::with_capacity(512));
        let mut world = Self { exchange, market, link, gateway, lines, now, wire };
        world.gateway.link_up(now, &mut world.lines);
        world.carry();
        world
    }

    /// What is on the link arrives, is done, and comes back.
    fn carry(&mut self) {
        self.exchange.received(self.now, self.link, &self.lines.up, &mut self.market);
        self.lines.up.clear();
        self.exchange.timeout(self.now, &mut self.market);
        self.exchange.cycle(self.now, &mut self.market);
        assert!(self.gateway.link_received(self.now, &self.market.down, &mut self.lines));
        self.market.down.clear();
        self.gateway.timeout(self.now, &mut self.lines);
        self.gateway.cycle(self.now, &mut self.lines);
    }

    /// A client says something, in pieces that do not end with messages.
    fn says(&mut self, client: SessionId, message: &Message, cut: usize) {
        self.wire.clear();
        message.append(&mut self.wire);
        let (one, other) = self.wire.split_at(cut % self.wire.len());
        self.gateway.received(self.now, client, one, &mut self.lines);
        self.gateway.received(self.now, client, other, &mut self.lines);
    }

    fn log_on(&mut self, name: &str) -> SessionId {
        let client = self.gateway.accepted(self.now, Door::Orders).expect("room");
        let (user, password) = (Text::new(name), Text::new("x"));
        let logon = Logon { user, password, version: 1, ..Logon::default() };
        self.says(client, &Message::Logon(logon), 0);
        self.carry();
        self.carry();
        let is_in = |reply: &LogonReply| reply.reject_code == 0;
        let reply = Message::read(&self.lines.last);
        assert!(matches!(&reply, Some(Message::LogonReply(it)) if is_in(it)), "{reply:?}");
        client
    }

    /// Orders that rest, trade and are cancelled, and at the end none is left.
    fn trade(&mut self, clients: [SessionId; 2]) {
        for step in 0..ORDERS {
            self.now = self.now.after(Duration::from_millis(5));
            let client = clients[(step % 2) as usize];
            let mut name = *b"N0000";
            for (at, digit) in name.iter_mut().skip(1).enumerate() {
                *digit = b'0' + (step / 10_u64.pow(at as u32) % 10) as u8;
            }
            let cl_ord_id = Text::from_bytes(&name);
            let order = NewOrder {
                cl_ord_id,
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
            self.says(client, &Message::NewOrder(order), step as usize * 7);
            if step % 3 == 0 {
                let cancel = Cancel {
                    cl_ord_id: Text::new("C"),
                    orig_cl_ord_id: cl_ord_id,
                    instrument_id: 7,
                    side: order.side,
                    ..Cancel::default()
                };
                self.says(client, &Message::Cancel(cancel), step as usize * 5);
            }
            self.carry();
        }
        for client in clients {
            let cl_ord_id = Text::new("M");
            let mass = MassCancel { cl_ord_id, kind: 8, ..MassCancel::default() };
            self.says(client, &Message::MassCancel(mass), 0);
            self.carry();
        }
    }
}

#[test]
fn orders_through_a_gateway_and_its_market_cost_no_allocation() {
    let mut world = World::new();
    let clients = ["ANN", "BOB"].map(|name| world.log_on(name));
    (0..3).for_each(|_| world.trade(clients));
    let before = (world.lines.reports, world.exchange.counts().trades);
    let counted = allocation_counter::measure(|| world.trade(clients));
    let reports = world.lines.reports - before.0;
    assert!(reports > ORDERS, "{reports} reports");
    assert!(world.exchange.counts().trades > before.1 + ORDERS / 4);
    assert_eq!((world.gateway.counts().undecided, world.exchange.engine().alive()), (0, 0));
    assert_eq!(counted.count_total, 0, "allocations for {ORDERS} orders");
}

/// A client that speaks FIX. It is not measured, and hears nothing: its store has the
/// numbers.
struct FixClient {
    session: SessionId,
    ids: CompIds,
    store: Store,
}

impl World {
    fn log_on_by_fix(&mut self, name: &[u8]) -> FixClient {
        let session = self.gateway.accepted(self.now, Door::Fix).expect("room");
        let mut client =
            FixClient { session, ids: CompIds::new(name, b"FGW"), store: Store::new(1) };
        self.says_by_fix(&mut client, b"A", |fields| {
            fields.number(tag::ENCRYPT_METHOD, 0).number(tag::HEART_BT_INT, 60);
            fields.text(tag::PASSWORD, b"secret").number(tag::DEFAULT_APPL_VER_ID, 9);
        });
        (0..3).for_each(|_| self.carry());
        client
    }

    /// A client says something, in two pieces.
    fn says_by_fix(&mut self, client: &mut FixClient, kind: &[u8], body: impl Fn(&mut Writer<'_>)) {
        let FixClient { session, ids, store } = client;
        store.write(ids, self.now.as_nanos(), kind, false, body, &mut self.wire);
        let (one, other) = self.wire.split_at(self.wire.len() / 2);
        self.gateway.received(self.now, *session, one, &mut self.lines);
        self.gateway.received(self.now, *session, other, &mut self.lines);
    }

    /// Each second order meets the one before, and leaves a part of it, which is cancelled.
    fn trade_by_fix(&mut self, client: &mut FixClient) {
        for step in 0..ORDERS {
            self.now = self.now.after(Duration::from_millis(5));
            let mut name = *b"N0000";
            for (at, digit) in name.iter_mut().skip(1).enumerate() {
                *digit = b'0' + (step / 10_u64.pow(at as u32) % 10) as u8;
            }
            let quantity = if step % 2 == 0 { 100 } else { 60 };
            let at_ns = self.now.as_nanos();
            self.says_by_fix(client, b"D", |fields| {
                fields.text(tag::CL_ORD_ID, &name).number(tag::SECURITY_ID, 7);
                fields.byte(tag::SECURITY_ID_SOURCE, b'8').byte(tag::ORD_TYPE, b'2');
                fields.byte(tag::SIDE, b'1' + (step % 2) as u8);
                fields.decimal(tag::PRICE, 1_000_000_000);
                fields.number(tag::ORDER_QTY, quantity).number(tag::DISPLAY_QTY, quantity);
                fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, b"DESK");
                fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, 76);
                fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
                fields.time(tag::TRANSACT_TIME, at_ns);
            });
            if step % 2 == 1 {
                self.says_by_fix(client, b"q", |fields| {
                    fields.text(tag::CL_ORD_ID, b"M").byte(tag::MASS_CANCEL_REQUEST_TYPE, b'7');
                    fields.time(tag::TRANSACT_TIME, at_ns);
                });
            }
            self.carry();
        }
    }
}

#[test]
fn orders_by_fix_through_a_gateway_and_its_market_cost_no_allocation() {
    let mut world = World::new();
    let mut client = world.log_on_by_fix(b"ANN");
    assert_eq!(world.gateway.counts().fix_clients, 1);
    (0..3).for_each(|_| world.trade_by_fix(&mut client));
    let before = (world.lines.reports, world.exchange.counts().trades);
    let counted = allocation_counter::measure(|| world.trade_by_fix(&mut client));
    let reports = world.lines.reports - before.0;
    assert!(reports >= 2 * ORDERS, "{reports} reports");
    assert_eq!(world.exchange.counts().trades - before.1, ORDERS / 2);
    assert_eq!((world.gateway.counts().undecided, world.exchange.engine().alive()), (0, 0));
    assert_eq!(counted.count_total, 0, "allocations for {ORDERS} orders");
}
