//! The engine: its state, and what is asked of it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tapeline_instrument::{IdSpace, Instrument, InstrumentId, OrderId, Session, Side};

use crate::auction::AuctionLevel;
use crate::book::{Best, Book, Depth};
use crate::command::{BookId, Command, Owner};
use crate::event::{Events, Order, Shown};
use crate::index::Index;
use crate::ladder::{MARKET, NONE};
use crate::orders::{Orders, Resting};
use crate::queues::{Node, Queues};
use crate::refusal::Refusal;

/// How an engine is made.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// What all ids of this partition have in common.
    pub ids: IdSpace,
    /// Orders that are alive at once, in all books; one more expires when it
    /// would rest. About 130 bytes each.
    pub max_orders: u32,
    /// The first state of the generator that draws the sizes of random peaks.
    pub seed: u64,
    /// A random peak is up to so many per cent above the first one.
    pub random_peak_percent: u32,
    /// Orders that stay until they are cancelled are taken.
    pub takes_until_cancelled: bool,
    /// Between two indicative prices of an auction, in nanoseconds.
    pub auction_info_interval_ns: u64,
    /// How long the call of a circuit breaker lasts, in nanoseconds.
    pub breaker_call_ns: u64,
    /// It ends up to so many nanoseconds later.
    pub breaker_random_ns: u64,
    /// How long a call goes on, once, if orders without a limit would be left over, in
    /// nanoseconds; 0 if it does not.
    pub market_extension_ns: u64,
    /// How long a call goes on, up to twice, if the price is too far from the last one,
    /// in nanoseconds.
    pub price_extension_ns: u64,
    /// Either ends up to so many nanoseconds later.
    pub extension_random_ns: u64,
}

impl Default for Config {
    /// A hundred thousand orders, an indicative price each second, calls of circuit
    /// breakers and extensions of five minutes and up to half a minute; orders without a
    /// limit extend no call.
    fn default() -> Self {
        Self {
            ids: IdSpace { id: 0, partition: 1, thread: 0 },
            max_orders: 100_000,
            seed: 1,
            random_peak_percent: 20,
            takes_until_cancelled: false,
            auction_info_interval_ns: 1_000_000_000,
            breaker_call_ns: 300_000_000_000,
            breaker_random_ns: 30_000_000_000,
            market_extension_ns: 0,
            price_extension_ns: 300_000_000_000,
            extension_random_ns: 30_000_000_000,
        }
    }
}

/// The books of one partition.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) orders: Orders,
    /// Queues of what is shown.
    pub(crate) shown: Queues,
    /// Queues of what is not, and of what waits.
    pub(crate) unshown: Queues,
    pub(crate) books: Vec<Book>,
    pub(crate) index: Index,
    pub(crate) running: u32,
    pub(crate) trades: u32,
    pub(crate) random: u64,
    /// Orders with a time at which they expire, the next one first; entries of
    /// orders that are gone stay until then.
    pub(crate) timed: BinaryHeap<Reverse<(u32, OrderId)>>,
    /// Icebergs that have shown all they had, during one aggression.
    pub(crate) replenish: Vec<Node>,
    /// Orders that wake, during one command.
    pub(crate) awake: VecDeque<Node>,
    /// Levels of an auction, while it is worked out.
    pub(crate) levels: Vec<AuctionLevel>,
    /// Orders that end together.
    pub(crate) ending: Vec<Node>,
    /// Books that have pegged orders, in their order.
    pub(crate) pegging: Vec<BookId>,
}

impl Engine {
    /// An engine without books.
    pub fn new(config: &Config) -> Self {
        // One slot more: an order that may not rest still needs a place to trade from.
        let slots = config.max_orders.saturating_add(1);
        Self {
            config: *config,
            orders: Orders::new(slots),
            shown: Queues::new(slots),
            unshown: Queues::new(slots),
            books: Vec::new(),
            index: Index::new(),
            running: 0,
            trades: 0,
            random: config.seed,
            timed: BinaryHeap::with_capacity(1024),
            replenish: Vec::with_capacity(64),
            awake: VecDeque::with_capacity(64),
            levels: Vec::with_capacity(1024),
            ending: Vec::with_capacity(1024),
            pegging: Vec::new(),
        }
    }

    /// Adds an instrument, closed; its commands name it by what comes back.
    ///
    /// # Panics
    /// There are 65,536 already.
    pub fn add(&mut self, instrument: Instrument) -> BookId {
        let id = u16::try_from(self.books.len()).expect("an engine has at most 65,536 books");
        self.books.push(Book::new(instrument));
        // Each has room in the list: a pegged order never allocates.
        self.pegging.reserve(self.books.len());
        BookId(id)
    }

    /// The book of an instrument.
    pub fn book_of(&self, id: InstrumentId) -> Option<BookId> {
        let at = self.books.iter().position(|book| book.instrument.id == id)?;
        Some(BookId(at as u16))
    }

    /// What a book trades.
    pub fn instrument(&self, book: BookId) -> Option<&Instrument> {
        self.books.get(usize::from(book.0)).map(|book| &book.instrument)
    }

    /// The session of a book.
    pub fn session_of(&self, book: BookId) -> Option<Session> {
        self.books.get(usize::from(book.0)).map(|book| book.session)
    }

    /// The slot that the next new order gets, if it is not refused.
    #[inline]
    pub fn next_slot(&self) -> u32 {
        self.orders.next_slot()
    }

    /// The slot of an order that is alive.
    #[inline]
    pub fn slot_of(&self, id: OrderId) -> Option<u32> {
        self.index.get(id)
    }

    /// How many orders are alive, those that wait included.
    pub fn alive(&self) -> u32 {
        self.orders.alive()
    }

    /// Does what one command asks for. `now_ns` is in nanoseconds since 1970 UTC
    /// and does not go back.
    #[inline]
    pub fn handle<E: Events>(&mut self, now_ns: u64, command: &Command, out: &mut E) {
        match command {
            Command::New(order) => self.enter(now_ns, order, out),
            Command::Replace(replace) => self.replace(now_ns, replace, out),
            Command::Cancel { id, owner } => self.cancel(*id, *owner, out),
            Command::MassCancel(which) => self.mass_cancel(which, out),
            Command::Session { book, session, cause } => {
                self.begin_session(now_ns, *book, *session, *cause, out);
            }
            Command::CancelTrade(which) => self.cancel_trade(which, out),
            Command::Tick => self.tick(now_ns, out),
        }
        if !self.pegging.is_empty() {
            self.move_pegged(now_ns, out);
        }
    }

    /// The best price of a side that is shown.
    pub fn best(&self, book: BookId, side: Side) -> Option<Best> {
        let book = self.books.get(usize::from(book.0))?;
        self.level(book, side, book.shown[side as usize].best())
    }

    /// The best limit of a side that is shown, whether orders without one stand before it or
    /// not.
    pub fn best_limit(&self, book: BookId, side: Side) -> Option<Best> {
        let book = self.books.get(usize::from(book.0))?;
        let ladder = &book.shown[side as usize];
        let key = match ladder.best() {
            MARKET => ladder.next(&self.shown, MARKET),
            key => key,
        };
        self.level(book, side, key)
    }

    fn level(&self, book: &Book, side: Side, key: u32) -> Option<Best> {
        if key == NONE {
            return None;
        }
        let orders = self.shown.at(&book.shown[side as usize], key);
        let quantity = orders.map(|slot| u64::from(self.orders.get(slot).shown)).sum();
        Some(Best { price: (key != MARKET).then(|| book.price(side, key)), quantity })
    }

    /// What is shown of a side, the best first, at each price the oldest first.
    pub fn depth(&self, book: BookId, side: Side) -> impl Iterator<Item = Depth> {
        self.in_view(book, side).map(|slot| {
            let Shown { id, quantity, price, is_market, is_named, .. } = self.shown(slot);
            Depth { price: (!is_market).then_some(price), quantity, id, is_named }
        })
    }

    /// The orders of a side that are shown, in the same order.
    pub(crate) fn in_view(&self, book: BookId, side: Side) -> impl Iterator<Item = Node> {
        let book = self.books.get(usize::from(book.0));
        book.into_iter().flat_map(move |book| {
            let ladder = &book.shown[side as usize];
            let mut key = ladder.best();
            let keys = std::iter::from_fn(move || {
                let found = (key != NONE).then_some(key)?;
                key = ladder.next(&self.shown, key);
                Some(found)
            });
            keys.flat_map(move |key| self.shown.at(ladder, key))
        })
    }

    /// The order that is alive in a slot, and how much of it is shown.
    pub fn order_in(&self, slot: u32) -> Option<(Order, u32)> {
        if slot > self.config.max_orders {
            return None;
        }
        let order = self.orders.get(slot);
        let shown = if order.is_parked() { 0 } else { order.shown };
        let is_alive = order.leaves > 0 && order.id != OrderId(0);
        is_alive.then(|| (self.order(slot), shown))
    }

    /// The order of an id, if this user has one that is alive.
    #[inline]
    pub(crate) fn find(&self, id: OrderId, owner: Owner) -> Result<Node, Refusal> {
        let slot = self.index.get(id).filter(|slot| {
            let order = self.orders.get(*slot);
            // A slot without an order has id 0, which anybody can ask for.
            order.leaves > 0 && order.id == id && order.owner == owner
        });
        slot.ok_or(Refusal::UnknownOrder)
    }

    /// An order for an event.
    #[inline]
    pub(crate) fn order(&self, slot: Node) -> Order {
        self.orders.get(slot).at(slot)
    }

    /// An order as others see it, for an event.
    #[inline]
    pub(crate) fn shown(&self, slot: Node) -> Shown {
        self.shown_of(slot, self.orders.get(slot))
    }

    /// The same of an order that was read before.
    #[inline]
    pub(crate) fn shown_of(&self, slot: Node, order: &Resting) -> Shown {
        let id = if order.is_iceberg() { self.orders.special(slot).shown_id } else { order.id };
        self.books[usize::from(order.book.0)].shown_as(id, order)
    }

    /// Puts an order, or what is left of it, behind all others at its price.
    #[inline]
    pub(crate) fn link(&mut self, slot: Node) {
        let order = self.orders.get(slot);
        let (key, side) = (order.key, order.side() as usize);
        let is_partly_hidden = order.has_unshown() && order.leaves > order.shown;
        let book = &mut self.books[usize::from(order.book.0)];
        if order.shown > 0 {
            self.shown.push(&mut book.shown[side], key, slot);
        }
        if is_partly_hidden {
            let ladder = book.unshown_of(order.side(), self.orders.special(slot).owner_type);
            self.unshown.push(ladder, key, slot);
        }
    }

    /// Takes an order out of the queues that it is in.
    #[inline]
    pub(crate) fn unlink(&mut self, slot: Node) {
        let order = *self.orders.get(slot);
        let side = order.side() as usize;
        let book = &mut self.books[usize::from(order.book.0)];
        if order.is_apart() {
            let ladder = match self.orders.special(slot).stop_key {
                _ if order.is_pegged() => &mut book.pegged[side],
                0 => &mut book.waiting,
                _ => &mut book.stops[side],
            };
            return self.unshown.remove(ladder, slot);
        }
        if order.shown > 0 {
            self.shown.remove(&mut book.shown[side], slot);
        }
        if order.has_unshown() && order.leaves > order.shown {
            let ladder = book.unshown_of(order.side(), self.orders.special(slot).owner_type);
            self.unshown.remove(ladder, slot);
        }
    }

    /// Lets go of an order that is in no queue any more.
    #[inline]
    pub(crate) fn forget(&mut self, slot: Node, id: OrderId) {
        self.index.remove(id);
        self.orders.give(slot);
    }

    /// The next of the running numbers that ids of orders have.
    #[inline]
    pub(crate) fn new_id(&mut self, now_ns: u64) -> OrderId {
        self.running = self.running.wrapping_add(1);
        self.config.ids.order(now_ns, self.running)
    }

    /// The peak of an iceberg that is shown next.
    pub(crate) fn next_peak(&mut self, peak: u32, is_random: bool) -> u32 {
        if !is_random {
            return peak;
        }
        let drawn = self.draw();
        let room = u64::from(peak) * u64::from(self.config.random_peak_percent) / 100;
        (u64::from(peak) + drawn % (room + 1)).min(u64::from(u32::MAX)) as u32
    }

    /// A number of the engine's own (splitmix64).
    pub(crate) fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.random;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^ (drawn >> 31)
    }
}
