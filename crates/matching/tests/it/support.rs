//! A conversation with an engine: commands as calls, events as lines.

use std::collections::HashMap;
use std::fmt::Write as _;

use tapeline_instrument::{
    Cause, Instrument, OrderId, Price, Session, Side, TickTable, Tolerances,
};
use tapeline_matching::{
    BookId, Command, Config, Ending, Engine, Entry, Event, FoundBy, MassCancel, NewOrder, Order,
    Owner, Part, Replace, Shown, TradeCancel, Undone,
};

/// An engine with one book, and names for its orders.
pub(crate) struct Market {
    pub(crate) engine: Engine,
    pub(crate) book: BookId,
    pub(crate) now_ns: u64,
    names: HashMap<OrderId, String>,
    ids: HashMap<String, OrderId>,
    events: Vec<Event>,
    /// What cancels the trades there were.
    pub(crate) trades: Vec<TradeCancel>,
}

/// A price that is written out.
pub(crate) fn price(text: &str) -> Price {
    text.parse().expect("a price")
}

/// A user of a firm of its own, by number.
pub(crate) const fn firm(firm: u16) -> Owner {
    Owner { firm, user: 1 }
}

pub(crate) const HOUR_NS: u64 = 3_600_000_000_000;

impl Market {
    /// A market in a session, with ticks of 0.01 and no price before.
    pub(crate) fn new(session: Session) -> Self {
        Self::with(Config::default(), session, None)
    }

    pub(crate) fn with(config: Config, session: Session, previous: Option<&str>) -> Self {
        let mut engine = Engine::new(&config);
        let ticks = TickTable::flat(price("0.01")).expect("a table");
        let mut instrument = Instrument::new(7, "TEST.L", ticks);
        instrument.previous_close = previous.map(price);
        let book = engine.add(instrument);
        // 8:00 on a day in 2026.
        let now_ns = 20_000 * 24 * HOUR_NS + 8 * HOUR_NS;
        let mut market = Self {
            engine,
            book,
            now_ns,
            names: HashMap::new(),
            ids: HashMap::new(),
            events: Vec::new(),
            trades: Vec::new(),
        };
        for step in [Session::OpeningCall, Session::Regular, Session::ClosingCall] {
            if session == Session::Closed || market.session() == session {
                break;
            }
            market.begin(step);
        }
        market
    }

    /// In regular trading behind a close at 10, with prices so far from others; the call
    /// of a circuit breaker lasts 60 s.
    pub(crate) fn tolerating(tolerances: Tolerances) -> Self {
        let config =
            Config { breaker_call_ns: 60_000_000_000, breaker_random_ns: 0, ..Config::default() };
        let mut market = Self::trading(config, |instrument| instrument.tolerances = tolerances);
        market.begin(Session::OpeningCall);
        market.begin(Session::Regular);
        market
    }

    /// Closed, behind a close at 10, with an instrument as `with` makes it.
    pub(crate) fn trading(config: Config, with: impl FnOnce(&mut Instrument)) -> Self {
        let mut market = Self::with(config, Session::Closed, Some("10"));
        let mut instrument = market.engine.instrument(market.book).expect("a book").clone();
        with(&mut instrument);
        market.engine = Engine::new(&config);
        market.book = market.engine.add(instrument);
        market
    }

    pub(crate) fn session(&self) -> Session {
        self.engine.session_of(self.book).expect("a book")
    }

    pub(crate) fn command(&mut self, command: &Command) -> Vec<String> {
        self.events.clear();
        self.engine.handle(self.now_ns, command, &mut self.events);
        let events = std::mem::take(&mut self.events);
        let lines = events.iter().map(|event| self.line(event)).collect();
        self.trades.extend(events.iter().filter_map(cancel_of));
        self.events = events;
        lines
    }

    /// A limit order, `size@price`, of firm 1 or of what `with` makes of it.
    pub(crate) fn order(
        &mut self,
        name: &str,
        side: Side,
        size_at_price: &str,
        with: impl FnOnce(&mut NewOrder),
    ) -> Vec<String> {
        let (size, limit) = size_at_price.split_once('@').unwrap_or((size_at_price, ""));
        let size = size.parse().expect("a size");
        let mut order = NewOrder::limit(self.book, firm(1), side, size, Price(0));
        match limit {
            "" => order.kind = tapeline_matching::Kind::Market,
            limit => order.kind = tapeline_matching::Kind::Limit(price(limit)),
        }
        with(&mut order);
        self.names.insert(OrderId(0), name.to_owned());
        self.command(&Command::New(order))
    }

    pub(crate) fn buy(&mut self, name: &str, size_at_price: &str) -> Vec<String> {
        self.order(name, Side::Buy, size_at_price, |order| order.owner = firm(2))
    }

    pub(crate) fn sell(&mut self, name: &str, size_at_price: &str) -> Vec<String> {
        self.order(name, Side::Sell, size_at_price, |_| {})
    }

    pub(crate) fn id(&self, name: &str) -> OrderId {
        *self.ids.get(name).unwrap_or_else(|| panic!("no order {name}"))
    }

    pub(crate) fn cancel(&mut self, name: &str, owner: Owner) -> Vec<String> {
        let id = self.id(name);
        self.command(&Command::Cancel { id, owner })
    }

    pub(crate) fn mass_cancel(&mut self, which: MassCancel) -> Vec<String> {
        self.command(&Command::MassCancel(which))
    }

    /// An amendment to `size@price`, all of it shown, or what `with` makes of it.
    pub(crate) fn amend(
        &mut self,
        name: &str,
        owner: Owner,
        size_at_price: &str,
        with: impl FnOnce(&mut Replace),
    ) -> Vec<String> {
        let (size, limit) = size_at_price.split_once('@').unwrap_or((size_at_price, ""));
        let quantity = size.parse().expect("a size");
        let mut replace = Replace {
            id: self.id(name),
            owner,
            quantity,
            display: quantity,
            limit: (!limit.is_empty()).then(|| price(limit)),
            stop: None,
            expire_s: None,
            passive: tapeline_matching::Passive::No,
        };
        with(&mut replace);
        self.command(&Command::Replace(replace))
    }

    pub(crate) fn begin(&mut self, session: Session) -> Vec<String> {
        self.by(session, Cause::Scheduled)
    }

    pub(crate) fn by(&mut self, session: Session, cause: Cause) -> Vec<String> {
        self.command(&Command::Session { book: self.book, session, cause })
    }

    pub(crate) fn tick(&mut self, after_ns: u64) -> Vec<String> {
        self.now_ns += after_ns;
        self.command(&Command::Tick)
    }

    /// What is shown of both sides, as `100@10.00 200@10.01`.
    pub(crate) fn book(&self) -> [String; 2] {
        Side::BOTH.map(|side| {
            let depth = self.engine.depth(self.book, side);
            let lines = depth.map(|depth| match depth.price {
                Some(price) => format!("{}@{price}", depth.quantity),
                None => format!("{}@market", depth.quantity),
            });
            lines.collect::<Vec<_>>().join(" ")
        })
    }

    /// The name of an order; one that is new gets the name it was sent with.
    fn name(&mut self, order: &Order) -> String {
        self.name_of(order.id)
    }

    fn name_of(&mut self, id: OrderId) -> String {
        if let Some(name) = self.names.get(&id) {
            return name.clone();
        }
        let name = self.names.get(&OrderId(0)).cloned().unwrap_or_default();
        self.names.insert(id, name.clone());
        self.ids.insert(name.clone(), id);
        name
    }

    fn shown(shown: &Shown) -> String {
        let price = if shown.is_market { "market".to_owned() } else { shown.price.to_string() };
        format!("{}@{price}", shown.quantity)
    }

    fn line(&mut self, event: &Event) -> String {
        match event {
            Event::Rested { order, shown, entry, .. } => {
                let name = self.name(order);
                let why = match entry {
                    Entry::New => "rests",
                    Entry::Awake => "wakes",
                    Entry::Amended => "comes back",
                };
                format!("{name} {why} {} leaves {}", Self::shown(shown), order.leaves)
            }
            Event::Traded { price, quantity, taker, maker, part, .. } => {
                let (taker_name, maker_name) = (self.name(taker), self.name(maker));
                let part = match part {
                    Part::Shown => "",
                    Part::Hidden => " hidden",
                    Part::Auction(_) => " auction",
                    Part::ClosingPrice => " at the close",
                    Part::Pegged => " pegged",
                    Part::HiddenAtClosingPrice => " hidden at the close",
                };
                format!(
                    "{taker_name} {quantity}@{price} {maker_name}{part} leaves {} {}",
                    taker.leaves, maker.leaves
                )
            }
            Event::Parked { order, shown, .. } => {
                let name = self.name(order);
                match shown.quantity {
                    0 => format!("{name} parked"),
                    _ => format!("{name} parked again, was {}", Self::shown(shown)),
                }
            }
            Event::Amended { order, shown, keeps_priority, leaves_book, .. } => {
                let name = self.name(order);
                let how = match (keeps_priority, leaves_book) {
                    (true, _) => "kept",
                    (false, false) => "lost",
                    (false, true) => "out",
                };
                format!("{name} amended {} leaves {} {how}", Self::shown(shown), order.leaves)
            }
            Event::Replenished { order, shown, .. } => {
                let name = self.name(order);
                let is_new = self.names.insert(shown.id, format!("{name}'")).is_none();
                assert!(is_new, "each part has a new id");
                format!("{name} shows {} leaves {}", Self::shown(shown), order.leaves)
            }
            Event::ShownAgain { order, shown, .. } => {
                format!("{} shown again {}", self.name(order), Self::shown(shown))
            }
            Event::Repriced { order, shown, .. } => {
                format!("{} repriced {}", self.name(order), Self::shown(shown))
            }
            Event::Extended { session, cause, until_ns, .. } => {
                let seconds = (until_ns - self.now_ns) / 1_000_000_000;
                format!("{} goes on {seconds} s: {cause:?}", session.name())
            }
            Event::Ended { order, quantity, cause, .. } => {
                let name = self.name(order);
                let cause = match cause {
                    Ending::Cancelled => "cancelled",
                    Ending::MassCancelled => "mass cancelled",
                    Ending::Expired => "expired",
                    Ending::SelfMatch => "own",
                    Ending::Passive => "passive",
                    Ending::Full => "full",
                };
                format!("{name} {cause} {quantity}, {} done", order.filled)
            }
            Event::TradeCancelled { price, quantity, orders, .. } => {
                let mut line = format!("cancelled {quantity}@{price}");
                for Undone { order, displays } in orders {
                    match order.leaves {
                        0 => line += " gone",
                        leaves => {
                            let (name, filled) = (self.name(order), order.filled);
                            let _ = write!(line, " {name} {filled}+{leaves} shows {displays}");
                        }
                    }
                }
                line
            }
            Event::Refused { refusal, .. } => format!("refused {}", refusal.code()),
            Event::MassCancelled { count, .. } => format!("{count} cancelled"),
            Event::Session { session, .. } => session.name().to_owned(),
            Event::Auctioned { price, quantity, .. } => format!("auction {quantity}@{price}"),
            Event::Indicative { price: None, .. } => "indicative none".to_owned(),
            Event::Indicative { price: Some(price), quantity, .. } => {
                format!("indicative {quantity}@{price}")
            }
            Event::Reference { is_opening, price, by, .. } => {
                let which = if *is_opening { "opening" } else { "closing" };
                let how = match by {
                    FoundBy::Auction => "auction",
                    FoundBy::Average => "average",
                    FoundBy::LastTrade => "last",
                };
                format!("{which} {price} by {how}")
            }
        }
    }
}

/// What cancels the trade of an event.
pub(crate) fn cancel_of(event: &Event) -> Option<TradeCancel> {
    let Event::Traded { book, id, price, quantity, taker, maker, side, part, .. } = *event else {
        return None;
    };
    let orders = match side {
        Side::Buy => [taker.id, maker.id],
        Side::Sell => [maker.id, taker.id],
    };
    let auction = if let Part::Auction(call) = part { Some(call) } else { None };
    Some(TradeCancel { book, id, price, quantity, orders, auction })
}
