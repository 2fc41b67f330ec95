//! Nothing is allocated for an order once the tables have grown.

use tapeline_instrument::{Cause, Instrument, OrderId, Price, Session, Side, TickTable};
use tapeline_matching::{
    BookId, Command, Config, Engine, Event, Events, Kind, MassCancel, NewOrder, Owner, Passive,
    Replace,
};

const OWNER: Owner = Owner { firm: 1, user: 1 };

/// Keeps the ids of orders that rest.
#[derive(Default)]
struct Resting {
    ids: Vec<OrderId>,
    trades: u64,
    parts: u64,
}

impl Events for Resting {
    fn event(&mut self, event: Event) {
        match event {
            Event::Rested { order, .. } if self.ids.len() < self.ids.capacity() => {
                self.ids.push(order.id);
            }
            Event::Traded { .. } => self.trades += 1,
            Event::Replenished { .. } => self.parts += 1,
            _ => {}
        }
    }
}

/// One after another: orders of all kinds around a price that moves, amendments
/// and cancels.
fn trade(engine: &mut Engine, book: BookId, from: u64, out: &mut Resting) {
    let mut random = from;
    for step in from..from + 20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step | 1);
        let draw = |bits: u32, below: u64| (random >> bits) % below;
        let side = if draw(20, 2) == 0 { Side::Buy } else { Side::Sell };
        // Up and down, so that no order stays for ever.
        let wave = (step / 40 % 400).abs_diff(200);
        let price = Price((20_000 + wave + draw(24, 40)) as i64);
        let mut order = NewOrder::limit(book, OWNER, side, 1 + draw(32, 500) as u32, price);
        match draw(40, 10) {
            0 => order.display = 0,
            1 => order.display = 1 + order.quantity / 4,
            2 => {
                order.kind = Kind::Pegged { limit: None, min_quantity: 0 };
                order.display = 0;
            }
            3 => order.kind = Kind::OrPegged { limit: Some(price) },
            _ => {}
        }
        engine.handle(step, &Command::New(order), out);
        if out.ids.len() > 300 {
            let id = out.ids.swap_remove(draw(44, 300) as usize);
            let command = match draw(52, 3) {
                0 => Command::Replace(Replace {
                    id,
                    owner: OWNER,
                    quantity: 400,
                    display: 400,
                    limit: Some(price),
                    stop: None,
                    expire_s: None,
                    passive: Passive::No,
                }),
                _ => Command::Cancel { id, owner: OWNER },
            };
            engine.handle(step, &command, out);
        }
    }
    // What is left would keep its page of the index.
    engine.handle(0, &Command::MassCancel(MassCancel { firm: 1, ..Default::default() }), out);
    out.ids.clear();
}

#[test]
fn orders_allocate_nothing() {
    let mut engine = Engine::new(&Config { max_orders: 50_000, ..Config::default() });
    let ticks = TickTable::flat(Price(1)).expect("a table");
    let book = engine.add(Instrument::new(1, "N", ticks));
    for session in [Session::OpeningCall, Session::Regular] {
        let command = Command::Session { book, session, cause: Cause::Scheduled };
        engine.handle(0, &command, &mut ());
    }
    let mut out = Resting { ids: Vec::with_capacity(1000), ..Resting::default() };
    for round in 0..2 {
        trade(&mut engine, book, round * 20_000, &mut out);
    }
    let before = (out.trades, out.parts);
    let counted = allocation_counter::measure(|| trade(&mut engine, book, 40_000, &mut out));
    assert!(out.trades > before.0 + 1000 && out.parts > before.1 + 100, "nothing happened");
    assert_eq!(counted.count_total, 0, "allocations for 20,000 orders");
}
