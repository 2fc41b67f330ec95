//! A recorded session of a future, order by order, through the engine: at its end
//! the engine's book is the recording's.
//!
//! The engine is in a call all the time, where it matches nothing: what traded is
//! in the recording already, as cancels and amendments. The files are not in the
//! repository; see `flows`.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;

use dbn::MboMsg;
use dbn::decode::{DbnDecoder, DynReader};
use tapeline_feed::{Action, Book, Order, Side as BookSide};
use tapeline_instrument::{Cause, Instrument, OrderId, Price, Session, Side, TickTable};
use tapeline_matching::{
    BookId, Command, Config, Engine, Event, Kind, MassCancel, NewOrder, Owner, Part, Passive,
    Replace,
};

use crate::flows::data;

const OWNER: Owner = Owner { firm: 1, user: 1 };

/// Units of the recording's prices, 10⁻⁹, in one of ours.
const NANO_PER_UNIT: i64 = 10;

#[derive(Clone, Copy)]
struct Known {
    id: OrderId,
    quantity: u32,
}

struct Pair {
    engine: Engine,
    book: BookId,
    plain: Book,
    known: HashMap<u64, Known>,
    events: Vec<Event>,
    kept: u32,
    lost: u32,
}

impl Pair {
    fn new() -> Self {
        let mut engine = Engine::new(&Config::default());
        let ticks = TickTable::flat(Price(Price::UNIT / 4)).expect("a table");
        let book = engine.add(Instrument::new(17_077, "ESH4", ticks));
        let session = Session::OpeningCall;
        engine.handle(0, &Command::Session { book, session, cause: Cause::Scheduled }, &mut ());
        Self {
            engine,
            book,
            plain: Book::new(),
            known: HashMap::new(),
            events: Vec::new(),
            kept: 0,
            lost: 0,
        }
    }

    fn does(&mut self, command: &Command) {
        self.events.clear();
        self.engine.handle(0, command, &mut self.events);
        let is_refused = self.events.iter().any(|event| matches!(event, Event::Refused { .. }));
        assert!(!is_refused, "{command:?}: {:?}", self.events);
    }

    fn record(&mut self, record: &MboMsg) {
        let side = match record.side as u8 {
            b'B' => Side::Buy,
            _ => Side::Sell,
        };
        let (number, size) = (record.order_id, record.size);
        let plain_side = if side == Side::Buy { BookSide::Bid } else { BookSide::Ask };
        let order = Order { side: plain_side, price_nano: record.price, size, time_ns: 0 };
        let price = Price(record.price / NANO_PER_UNIT);
        match record.action as u8 {
            b'A' => {
                self.plain.apply(&Action::Add(number, order));
                // The second file begins with the book that the first one leaves.
                self.cancel(number, u32::MAX);
                self.add(number, side, size, price);
            }
            b'C' => {
                self.plain.apply(&Action::Cancel { id: number, size, time_ns: 0 });
                self.cancel(number, size);
            }
            b'M' => {
                self.plain.apply(&Action::Modify(number, order));
                self.modify(number, side, size, price);
            }
            b'R' => {
                self.plain.apply(&Action::Clear);
                let all = MassCancel { firm: OWNER.firm, ..MassCancel::default() };
                self.does(&Command::MassCancel(all));
                self.known.clear();
            }
            _ => {}
        }
    }

    fn add(&mut self, number: u64, side: Side, size: u32, price: Price) {
        self.does(&Command::New(NewOrder::limit(self.book, OWNER, side, size, price)));
        let Some(Event::Rested { order, .. }) = self.events.first() else {
            panic!("{:?}", self.events)
        };
        self.known.insert(number, Known { id: order.id, quantity: size });
    }

    fn cancel(&mut self, number: u64, size: u32) {
        let Some(known) = self.known.get(&number).copied() else { return };
        if size >= known.quantity {
            self.known.remove(&number);
            return self.does(&Command::Cancel { id: known.id, owner: OWNER });
        }
        let left = known.quantity - size;
        self.does(&Command::Replace(replace(known.id, left, None)));
        self.known.insert(number, Known { quantity: left, ..known });
    }

    fn modify(&mut self, number: u64, side: Side, size: u32, price: Price) {
        let Some(known) = self.known.get(&number).copied() else {
            return self.add(number, side, size, price);
        };
        self.does(&Command::Replace(replace(known.id, size, Some(price))));
        match self.events.first() {
            Some(Event::Amended { keeps_priority: true, .. }) => self.kept += 1,
            Some(Event::Amended { .. }) => self.lost += 1,
            other => panic!("{other:?}"),
        }
        self.known.insert(number, Known { quantity: size, ..known });
    }

    /// An order that takes whatever price there is; the recording does not show it.
    fn market(&mut self, number: u64, side: Side, quantity: u32) {
        let mut order = NewOrder::limit(self.book, OWNER, side, quantity, Price(0));
        order.kind = Kind::Market;
        self.does(&Command::New(order));
        let Some(Event::Rested { order, .. }) = self.events.first() else {
            panic!("{:?}", self.events)
        };
        self.known.insert(number, Known { id: order.id, quantity });
    }

    /// How much would trade at a price.
    fn volume_at(&self, price: Price) -> u64 {
        let wanted: [u64; 2] = Side::BOTH.map(|side| {
            let takes = |limit: Option<Price>| match (limit, side) {
                (None, _) => true,
                (Some(limit), Side::Buy) => limit >= price,
                (Some(limit), Side::Sell) => limit <= price,
            };
            let depth = self.engine.depth(self.book, side);
            depth.filter(|order| takes(order.price)).map(|order| u64::from(order.quantity)).sum()
        });
        wanted[0].min(wanted[1])
    }
}

/// The records of both days, or a line that says that they are left out.
pub(crate) fn records() -> Option<Vec<MboMsg>> {
    let mut records = Vec::new();
    for day in ["24", "25"] {
        let file = format!("esh4-glbx-mdp3-202312{day}.mbo.dbn.zst");
        let Some(path) = data(&file) else {
            eprintln!("left out: no {file}; set TAPELINE_DATA to its folder");
            return None;
        };
        let source = File::open(path).expect("it is there");
        let reader = DynReader::new_inferred(source).expect("a recording");
        let mut decoder = DbnDecoder::new(reader).expect("a recording");
        while let Some(record) = decoder.decode_ref().expect("whole records") {
            records.extend(record.get::<MboMsg>().cloned());
        }
    }
    Some(records)
}

fn replace(id: OrderId, quantity: u32, limit: Option<Price>) -> Replace {
    Replace {
        id,
        owner: OWNER,
        quantity,
        display: quantity,
        limit,
        stop: None,
        expire_s: None,
        passive: Passive::No,
    }
}

#[test]
fn the_book_of_a_recorded_session_is_the_engines() {
    let Some(records) = records() else { return };
    let mut pair = Pair::new();
    for record in &records {
        pair.record(record);
    }
    assert_eq!(pair.engine.alive(), 11_217);
    let best = |side| pair.engine.best(pair.book, side).and_then(|best| best.price);
    let best = Side::BOTH.map(|side| best(side).map(|price| price.to_string()));
    assert_eq!(best, [Some("4810.00".to_owned()), Some("4810.25".to_owned())]);
    assert_eq!((pair.kept, pair.lost), (2_314, 9_919));
    let numbers: HashMap<u64, u64> =
        pair.known.iter().map(|(number, known)| (known.id.0, *number)).collect();
    for side in Side::BOTH {
        for depth in pair.engine.depth(pair.book, side) {
            let order = pair.plain.order(numbers[&depth.id.0]).expect("it rests there, too");
            let price = depth.price.expect("a limit").0 * NANO_PER_UNIT;
            assert_eq!((order.price_nano, order.size), (price, depth.quantity));
        }
    }
    assert_eq!(pair.plain.orders().len(), 11_217);
}

/// The opening: one trade without a side, and a fill for each order in it. Seven of the
/// orders are nowhere else in the recording, since orders without a limit are not shown.
#[test]
fn the_opening_auction_of_a_recorded_session_is_the_engines() {
    let Some(records) = records() else { return };
    let is_opening = |record: &MboMsg| record.action as u8 == b'T' && record.side as u8 == b'N';
    let at = records.iter().position(is_opening).expect("an opening");
    let (price, quantity) = (Price(records[at].price / NANO_PER_UNIT), records[at].size);
    assert_eq!((price.to_string().as_str(), quantity), ("4800.25", 44));
    let mut pair = Pair::new();
    for record in &records[..at] {
        pair.record(record);
    }
    let fills = records[at + 1..].iter().take_while(|record| record.action as u8 == b'F');
    let recorded: BTreeMap<u64, u32> = fills.map(|fill| (fill.order_id, fill.size)).collect();
    assert_eq!(recorded.len(), 35);

    let unknown = recorded.iter().filter(|(number, _)| !pair.known.contains_key(number));
    let mut unknown: Vec<(u64, u32)> = unknown.map(|(number, size)| (*number, *size)).collect();
    unknown.sort_by_key(|(_, size)| *size);
    assert_eq!(unknown.iter().map(|(_, size)| *size).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 4, 5]);
    // 13 that buy and one that sells, so that both sides come to 44.
    for (at, (number, size)) in unknown.into_iter().enumerate() {
        pair.market(number, if at == 0 { Side::Sell } else { Side::Buy }, size);
    }
    let volumes: Vec<(u64, Price)> = (-200..=200)
        .map(|ticks| Price(price.0 + ticks * Price::UNIT / 4))
        .map(|price| (pair.volume_at(price), price))
        .collect();
    let most = volumes.iter().map(|(volume, _)| *volume).max();
    let best: Vec<_> = volumes.iter().filter(|(volume, _)| Some(*volume) == most).collect();
    assert_eq!(best, [&(44, price)], "one price has the largest volume");

    let (book, session) = (pair.book, Session::Regular);
    pair.does(&Command::Session { book, session, cause: Cause::Scheduled });
    let numbers: HashMap<u64, u64> =
        pair.known.iter().map(|(number, known)| (known.id.0, *number)).collect();
    let (mut traded, mut auctions) = (BTreeMap::new(), Vec::new());
    for event in &pair.events {
        match *event {
            Event::Traded { price: at, quantity, taker, maker, part, .. } => {
                assert_eq!((at, part), (price, Part::Auction(Session::OpeningCall)));
                for order in [taker, maker] {
                    *traded.entry(numbers[&order.id.0]).or_insert(0) += quantity;
                }
            }
            Event::Auctioned { price, quantity, .. } => auctions.push((price, quantity)),
            _ => {}
        }
    }
    assert_eq!(auctions, [(price, quantity)]);
    assert_eq!(traded, recorded, "each order has what it had");
}
