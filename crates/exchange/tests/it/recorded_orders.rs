//! The orders of a recorded session as those of 200 users of the native gateway: behind
//! each of them the book that a reader of the market data has is the recording's.
//!
//! The market is in a call all the time, where it matches nothing: what traded is in the
//! recording already, as cancels and amendments.

use std::collections::HashMap;

use dbn::MboMsg;
use tapeline_exchange::{Door, ExchangeConfig, Plan, SessionId};
use tapeline_feed::{Action, Book, ExchangeFeed, Order, Side as BookSide};
use tapeline_instrument::{Instrument, Price, Schedule, Session, TickTable, Turn};
use tapeline_layout::Text;
use tapeline_matching::BookId;
use tapeline_mitch::{Message as Mitch, Outputs, Reader};
use tapeline_ntg::Message;
use tapeline_ntg::client::{Cancel, CancelReplace, NewOrder};

use crate::recording::records;
use crate::support::{EPOCH_NS, VOD, Venue, config, logon};

const USERS: u64 = 200;

/// The instrument's name, which is that of the other scenarios.
const ITEM: &str = "VOD.L";

/// Units of the recording's prices, 10⁻⁹, in one of ours.
const NANO_PER_UNIT: i64 = 10;

/// Behind so many states both books are compared as a whole, and what a state changed
/// and the best prices behind each.
const WHOLE: usize = 499;

/// A market for the recording: a call from its second second on, and room.
pub(crate) fn market() -> ExchangeConfig {
    let turn = |at_s, session| Turn { at_s, session, random_s: 0 };
    let turns = vec![turn(2, Session::OpeningCall), turn(86_000, Session::Regular)];
    let ticks = TickTable::flat(Price(Price::UNIT / 4)).expect("a table");
    let open = config();
    ExchangeConfig {
        instruments: vec![Instrument::new(VOD as u32, ITEM, ticks)],
        users: Vec::new(),
        max_sessions: USERS as usize + 20,
        engine: tapeline_matching::Config { max_orders: 20_000, ..open.engine },
        plan: Plan::daily(Schedule::new(turns).expect("in order")),
        ..open
    }
}

/// An order as its user knows it.
struct Known {
    user: usize,
    name: Text<20>,
    quantity: u32,
}

/// Makes requests of users of records.
#[derive(Default)]
pub(crate) struct Asking {
    known: HashMap<u64, Known>,
    requests: u64,
}

impl Asking {
    fn name(&mut self) -> Text<20> {
        self.requests += 1;
        Text::new(&format!("R{}", self.requests))
    }

    /// Who asks for what, so that the book does what a record says.
    pub(crate) fn record(&mut self, record: &MboMsg) -> Vec<(usize, Message)> {
        let (number, size) = (record.order_id, record.size);
        let is_known = self.known.contains_key(&number);
        match record.action as u8 {
            // The second day begins with the book that the first one leaves.
            b'A' if is_known => vec![self.cancel(number), self.add(record)],
            b'A' => vec![self.add(record)],
            b'M' if !is_known => vec![self.add(record)],
            b'M' => vec![self.replace(number, size, record)],
            b'C' if is_known => match self.known[&number].quantity.checked_sub(size) {
                None | Some(0) => vec![self.cancel(number)],
                Some(left) => vec![self.replace(number, left, record)],
            },
            _ => Vec::new(),
        }
    }

    fn add(&mut self, record: &MboMsg) -> (usize, Message) {
        let (name, user) = (self.name(), (record.order_id % USERS) as usize);
        let known = Known { user, name, quantity: record.size };
        self.known.insert(record.order_id, known);
        let order = NewOrder {
            cl_ord_id: name,
            clearing_account: 1,
            instrument_id: VOD,
            order_type: 2,
            side: side_of(record),
            quantity: record.size as i32,
            display: record.size as i32,
            limit: record.price / NANO_PER_UNIT,
            capacity: 2,
            ..NewOrder::default()
        };
        (user, Message::NewOrder(order))
    }

    fn cancel(&mut self, number: u64) -> (usize, Message) {
        let known = self.known.remove(&number).expect("an order");
        let cancel = Cancel {
            cl_ord_id: self.name(),
            orig_cl_ord_id: known.name,
            instrument_id: VOD,
            side: 1,
            ..Cancel::default()
        };
        (known.user, Message::Cancel(cancel))
    }

    /// A cancel of a part says the order's own price.
    fn replace(&mut self, number: u64, size: u32, record: &MboMsg) -> (usize, Message) {
        let name = self.name();
        let known = self.known.get_mut(&number).expect("an order");
        known.quantity = size;
        let replace = CancelReplace {
            cl_ord_id: name,
            orig_cl_ord_id: std::mem::replace(&mut known.name, name),
            instrument_id: VOD,
            side: side_of(record),
            quantity: size as i32,
            display: size as i32,
            limit: record.price / NANO_PER_UNIT,
            stop: -1,
            ..CancelReplace::default()
        };
        (known.user, Message::CancelReplace(replace))
    }
}

fn side_of(record: &MboMsg) -> u8 {
    if record.side as u8 == b'B' { 1 } else { 2 }
}

/// The book that the recording itself comes to.
pub(crate) fn apply(book: &mut Book, record: &MboMsg) {
    let (id, size) = (record.order_id, record.size);
    let side = if side_of(record) == 1 { BookSide::Bid } else { BookSide::Ask };
    let order = Order { side, price_nano: record.price, size, time_ns: 0 };
    match record.action as u8 {
        b'A' => book.apply(&Action::Add(id, order)),
        b'C' => book.apply(&Action::Cancel { id, size, time_ns: 0 }),
        b'M' => book.apply(&Action::Modify(id, order)),
        _ => {}
    }
}

/// Reads the market data, and notes which order came last.
struct Items {
    feed: ExchangeFeed,
    added: Option<u64>,
}

impl Outputs for Items {
    fn message(&mut self, _: u32, message: &Mitch) {
        if let Mitch::AddOrder(add) = message {
            self.added = Some(add.order);
        }
        self.feed.message(message);
    }

    fn ask_replay(&mut self, first: u32, _: u16) {
        panic!("{first} is missing");
    }

    fn ask_snapshot(&mut self) {
        panic!("nothing is lost");
    }

    fn set_stale(&mut self, _: bool) {}

    fn restart(&mut self) {
        panic!("numbers begin again");
    }
}

struct World {
    venue: Venue,
    users: Vec<SessionId>,
    reader: Reader,
    items: Items,
    asking: Asking,
    recorded: Book,
    /// Orders of the recording in market data.
    ids: HashMap<u64, u64>,
    states: usize,
}

impl World {
    fn new() -> Self {
        let mut venue = Venue::new(&market());
        let mut feed = ExchangeFeed::new(EPOCH_NS);
        feed.name(VOD as u32, ITEM);
        venue.after(2_000);
        assert_eq!(venue.exchange.engine().session_of(BookId(0)), Some(Session::OpeningCall));
        let users = (1..=USERS).map(|user| {
            let session = venue.connect(Door::Orders, "user");
            venue.says(session, &logon(&format!("USER{user}")));
            session
        });
        Self {
            users: users.collect(),
            venue,
            reader: Reader::new(b'A', 500),
            items: Items { feed, added: None },
            asking: Asking::default(),
            recorded: Book::new(),
            ids: HashMap::new(),
            states: 0,
        }
    }

    fn record(&mut self, record: &MboMsg) {
        let asked = self.asking.record(record);
        if asked.is_empty() {
            return;
        }
        for (user, message) in &asked {
            self.items.added = None;
            self.venue.says(self.users[*user], message);
            for unit in std::mem::take(&mut self.venue.wires.units) {
                self.reader.unit(&unit, &mut self.items).expect("a whole unit");
            }
            if matches!(message, Message::NewOrder(_)) {
                let id = self.items.added.unwrap_or_else(|| panic!("{:?}", self.venue.lines()));
                self.ids.insert(record.order_id, id);
            }
        }
        self.venue.wires.lines.clear();
        self.venue.wires.to.clear();
        apply(&mut self.recorded, record);
        self.states += 1;
        self.is_the_same(record);
        if self.states.is_multiple_of(WHOLE) {
            self.is_all_the_same();
        }
    }

    fn shown(&self) -> &Book {
        self.items.feed.book(ITEM).expect("the item")
    }

    /// What a record touched, and the best prices.
    fn is_the_same(&self, record: &MboMsg) {
        let (shown, recorded) = (self.shown(), &self.recorded);
        let of = |order: &Order| (order.side, order.price_nano, order.size);
        let number = record.order_id;
        let order = shown.order(self.ids[&number]).map(of);
        assert_eq!(order, recorded.order(number).map(of), "state {}: {record:?}", self.states);
        assert_eq!(shown.orders().len(), recorded.orders().len(), "{record:?}");
        for side in [BookSide::Bid, BookSide::Ask] {
            let at = record.price;
            for [level, should] in [
                [
                    shown.level(side, at).map(|level| (at, *level)),
                    recorded.level(side, at).map(|level| (at, *level)),
                ],
                [shown.best(side), recorded.best(side)],
            ] {
                let of =
                    |(price, level): (i64, tapeline_feed::Level)| (price, level.size, level.orders);
                assert_eq!(level.map(of), should.map(of), "state {}: {record:?}", self.states);
            }
        }
    }

    /// All orders.
    fn is_all_the_same(&self) {
        let of = |order: &Order| (order.side, order.price_nano, order.size);
        let shown: HashMap<u64, _> =
            self.shown().orders().map(|(id, order)| (id, of(order))).collect();
        let recorded: HashMap<u64, _> =
            self.recorded.orders().map(|(number, order)| (self.ids[&number], of(order))).collect();
        assert!(shown == recorded, "state {}: another book", self.states);
    }
}

#[test]
fn at_every_state_of_a_recorded_session_the_readers_book_is_the_recordings() {
    let Some(records) = records() else { return };
    let mut world = World::new();
    for record in &records {
        world.record(record);
    }
    world.is_all_the_same();
    assert_eq!(world.recorded.orders().len(), 11_217);
    let counts = world.venue.exchange.counts();
    assert_eq!((counts.trades, counts.rejected), (0, 0));
    assert_eq!(world.states, 8_725 + 59_448, "of both days");
}
