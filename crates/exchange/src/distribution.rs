//! From events of the engine to market data.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_instrument::{Instrument, Price, Session, Side};
use tapeline_layout::{Sections, Text};
use tapeline_matching::{Best, BookId, Engine, Event, FoundBy, Owner, Part, Shown};
use tapeline_mitch::{
    AddAttributedOrder, AddOrder, AuctionInfo, AuctionTrade, Executed, ExecutedAtPrice, Message,
    OrderBookClear, OrderDeleted, OrderModified, Publisher, SignedPrice, Statistics,
    SymbolDirectory, SymbolStatus, TopOfBook, Trade,
};

const NS_PER_S: u64 = 1_000_000_000;
const S_PER_DAY: u64 = 86_400;

/// Bit 4 of an added order: it has no limit.
const MARKET: u8 = 1 << 4;

/// Bit 0 of a trade: it is cancelled.
const CANCELLED: u8 = 1;

/// Publishes what the engine says.
#[derive(Debug)]
pub struct Distribution {
    publisher: Publisher,
    /// The instruments' numbers, by book.
    instruments: Vec<u32>,
    names: BTreeMap<u16, Text<11, b' '>>,
    /// Books of which others see the best prices and no orders.
    best_only: BTreeSet<BookId>,
    /// Those of them that the command that is done has changed.
    changed: Vec<BookId>,
}

impl Distribution {
    /// Market data of one group.
    pub fn new(group: u8) -> Self {
        Self {
            publisher: Publisher::new(group),
            instruments: Vec::new(),
            names: BTreeMap::new(),
            best_only: BTreeSet::new(),
            changed: Vec::with_capacity(64),
        }
    }

    /// The same with room for so many orders from the start.
    pub fn with_room(group: u8, orders: usize) -> Self {
        Self { publisher: Publisher::with_room(group, orders), ..Self::new(group) }
    }

    /// Says who a firm is, for orders that are named.
    pub fn name_firm(&mut self, firm: u16, name: &str) {
        self.names.insert(firm, Text::new(name));
    }

    /// Publishes an instrument; in the order in which the engine has its books.
    pub fn add(&mut self, now_ns: u64, of: &Instrument, send: &mut impl FnMut(&[u8])) {
        self.instruments.push(of.id.0);
        let directory = SymbolDirectory {
            ns: ns(now_ns),
            instrument: of.id.0,
            status: b' ',
            isin: Text::new(&of.isin),
            segment: Text::new(&of.segment),
            currency: Text::new(&of.currency),
            previous_close: SignedPrice(of.previous_close.unwrap_or_default()),
            ..SymbolDirectory::default()
        };
        self.publish(now_ns, directory, send);
        // So that who comes late finds it in a snapshot, too.
        let status = SymbolStatus {
            ns: ns(now_ns),
            instrument: of.id.0,
            status: Session::Closed.status(),
            book_type: 1,
            ..SymbolStatus::default()
        };
        self.publish(now_ns, status, send);
    }

    /// An instrument that was published before.
    pub(crate) fn add_known(&mut self, instrument: u32) {
        self.instruments.push(instrument);
    }

    /// What answers questions for messages and orders.
    pub fn publisher(&mut self) -> &mut Publisher {
        &mut self.publisher
    }

    /// Takes up the state of the publisher, with all instruments added. `None` if there is
    /// none.
    pub(crate) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        self.publisher.restore(sections)?;
        let books = (0..).zip(&self.instruments);
        let is_best_only = |(_, instrument): &(u16, &u32)| {
            let status = self.publisher.status(**instrument);
            let session = status.and_then(|of| Session::from_status(of.status));
            session.is_some_and(Session::shows_best_only)
        };
        self.best_only = books.filter(is_best_only).map(|(book, _)| BookId(book)).collect();
        Some(())
    }

    /// Sends what is not sent yet: the engine has done a command.
    pub fn flush(&mut self, now_ns: u64, engine: &Engine, send: &mut impl FnMut(&[u8])) {
        if !self.changed.is_empty() {
            self.say_best(now_ns, engine, send);
        }
        self.publisher.flush(send);
    }

    /// Says the best prices of books that others see nothing else of, where they are others
    /// than before.
    #[cold]
    fn say_best(&mut self, now_ns: u64, engine: &Engine, send: &mut impl FnMut(&[u8])) {
        let mut changed = std::mem::take(&mut self.changed);
        for book in changed.drain(..) {
            if !self.best_only.contains(&book) {
                continue;
            }
            let [bid, ask] = Side::BOTH.map(|side| engine.best_limit(book, side));
            let price = |of: Option<Best>| of.and_then(|of| of.price).unwrap_or_default();
            let size = |of: Option<Best>| {
                of.map_or(0, |of| u32::try_from(of.quantity).unwrap_or(u32::MAX))
            };
            let top = TopOfBook {
                ns: ns(now_ns),
                instrument: self.instrument(book),
                bid: SignedPrice(price(bid)),
                bid_size: size(bid),
                ask: SignedPrice(price(ask)),
                ask_size: size(ask),
            };
            let said = self.publisher.top(top.instrument);
            let is_said = said.is_some_and(|said| TopOfBook { ns: top.ns, ..*said } == top);
            if !is_said {
                self.publish(now_ns, top, send);
            }
        }
        self.changed = changed;
    }

    fn publish(&mut self, now_ns: u64, message: impl Into<Message>, send: &mut impl FnMut(&[u8])) {
        let second = (now_ns / NS_PER_S % S_PER_DAY) as u32;
        self.publisher.publish(second, &message.into(), send);
    }

    fn instrument(&self, book: BookId) -> u32 {
        self.instruments.get(usize::from(book.0)).copied().unwrap_or(0)
    }

    /// Publishes what an event means for others; `send` gets units that are full.
    pub fn event(&mut self, now_ns: u64, event: &Event, send: &mut impl FnMut(&[u8])) {
        if !self.best_only.is_empty() && self.is_out_of_view(event) {
            return;
        }
        match event {
            Event::Rested { book, order, shown, .. }
            | Event::ShownAgain { book, order, shown }
            | Event::Replenished { book, order, shown } => {
                self.add_order(now_ns, *book, order.owner, shown, send);
            }
            Event::Traded { .. } => self.traded(now_ns, event, send),
            Event::Parked { book, shown, .. } | Event::Ended { book, shown, .. } => {
                self.delete(now_ns, *book, shown, shown.quantity, send);
            }
            Event::Amended { book, shown, displayed, leaves_book: true, .. } => {
                self.delete(now_ns, *book, shown, *displayed, send);
            }
            Event::Amended { shown, displayed, keeps_priority, .. } if *displayed > 0 => {
                let modified = OrderModified {
                    ns: ns(now_ns),
                    order: shown.id.0,
                    quantity: shown.quantity,
                    price: SignedPrice(shown.price),
                    flags: u8::from(*keeps_priority),
                };
                self.publish(now_ns, modified, send);
            }
            // It stands at its new price already.
            Event::Amended { .. }
            | Event::Repriced { .. }
            | Event::Refused { .. }
            | Event::MassCancelled { .. } => {}
            Event::TradeCancelled { .. } => self.trade_cancelled(now_ns, event, send),
            _ => self.of_session(now_ns, event, send),
        }
    }

    /// An order came, changed or went in a book of which others see the best prices only;
    /// these may be others now.
    #[cold]
    fn is_out_of_view(&mut self, event: &Event) -> bool {
        let (Event::Rested { book, .. }
        | Event::Replenished { book, .. }
        | Event::Parked { book, .. }
        | Event::Ended { book, .. }
        | Event::Amended { book, .. }) = event
        else {
            return false;
        };
        let is_out = self.best_only.contains(book);
        if is_out && self.changed.last() != Some(book) {
            self.changed.push(*book);
        }
        is_out
    }

    /// A trade is told again, as one that is not.
    fn trade_cancelled(&mut self, now_ns: u64, event: &Event, send: &mut impl FnMut(&[u8])) {
        let Event::TradeCancelled { book, id, price, quantity, auction, .. } = *event else {
            return;
        };
        let (ns, trade, instrument) = (ns(now_ns), id.0, self.instrument(book));
        let (price, flags) = (SignedPrice(price), CANCELLED);
        let Some(call) = auction else {
            let told = Trade { ns, quantity, instrument, price, trade, flags, ..Trade::default() };
            return self.publish(now_ns, told, send);
        };
        let auction_type = auction_type(call);
        let told = AuctionTrade { ns, quantity, instrument, price, trade, auction_type, flags };
        self.publish(now_ns, told, send);
    }

    fn add_order(
        &mut self,
        now_ns: u64,
        book: BookId,
        owner: Owner,
        shown: &Shown,
        send: &mut impl FnMut(&[u8]),
    ) {
        if shown.quantity == 0 {
            return;
        }
        let add = AddOrder {
            ns: ns(now_ns),
            order: shown.id.0,
            side: if shown.side == Side::Buy { b'B' } else { b'S' },
            quantity: shown.quantity,
            instrument: self.instrument(book),
            price: SignedPrice(shown.price),
            flags: if shown.is_market { MARKET } else { 0 },
            ..AddOrder::default()
        };
        let name = self.names.get(&owner.firm).filter(|_| shown.is_named);
        let Some(attribution) = name.copied() else { return self.publish(now_ns, add, send) };
        let AddOrder { ns, order, side, quantity, instrument, price, flags, .. } = add;
        let named =
            AddAttributedOrder { ns, order, side, quantity, instrument, price, attribution, flags };
        self.publish(now_ns, named, send);
    }

    fn delete(
        &mut self,
        now_ns: u64,
        book: BookId,
        shown: &Shown,
        displayed: u32,
        send: &mut impl FnMut(&[u8]),
    ) {
        if displayed > 0 {
            let (order, instrument) = (shown.id.0, self.instrument(book));
            let deleted = OrderDeleted { ns: ns(now_ns), order, flags: 0, instrument };
            self.publish(now_ns, deleted, send);
        }
    }

    fn traded(&mut self, now_ns: u64, event: &Event, send: &mut impl FnMut(&[u8])) {
        let Event::Traded { book, id, price, quantity, part, .. } = *event else { return };
        let Event::Traded { maker_shown, taker_shown, maker_displays, taker_displays, .. } = *event
        else {
            return;
        };
        let (ns, trade, instrument) = (ns(now_ns), id.0, self.instrument(book));
        match part {
            // Whoever is shown in closing price trading is shown at that price.
            Part::Shown | Part::ClosingPrice => {
                let executed = Executed { ns, order: maker_shown.0, quantity, trade };
                self.publish(now_ns, executed, send);
            }
            Part::Hidden | Part::HiddenAtClosingPrice | Part::Pegged => {
                let price = SignedPrice(price);
                let trade = Trade { ns, quantity, instrument, price, trade, ..Trade::default() };
                self.publish(now_ns, trade, send);
            }
            Part::Auction(_) => {
                for (shown, display) in
                    [(taker_shown, taker_displays), (maker_shown, maker_displays)]
                {
                    // What is not shown trades without a word; the whole is told at the end.
                    if self.publisher.books().order(shown.0).is_none() {
                        continue;
                    }
                    let executed = ExecutedAtPrice {
                        ns,
                        order: shown.0,
                        quantity,
                        display,
                        trade,
                        printable: b'N',
                        price: SignedPrice(price),
                    };
                    self.publish(now_ns, executed, send);
                }
            }
        }
    }

    /// In some sessions orders go out of view.
    fn show_best_only(
        &mut self,
        now_ns: u64,
        book: BookId,
        session: Session,
        send: &mut impl FnMut(&[u8]),
    ) {
        if !session.shows_best_only() {
            self.best_only.remove(&book);
            return;
        }
        let instrument = self.instrument(book);
        let clear = OrderBookClear { ns: ns(now_ns), instrument, ..OrderBookClear::default() };
        self.publish(now_ns, clear, send);
        self.best_only.insert(book);
        self.changed.push(book);
    }

    fn of_session(&mut self, now_ns: u64, event: &Event, send: &mut impl FnMut(&[u8])) {
        let ns = ns(now_ns);
        match *event {
            Event::Session { book, session, cause, .. } => {
                let status = SymbolStatus {
                    ns,
                    instrument: self.instrument(book),
                    status: session.status(),
                    change_reason: cause as u8,
                    book_type: 1,
                    ..SymbolStatus::default()
                };
                self.publish(now_ns, status, send);
                self.show_best_only(now_ns, book, session, send);
            }
            Event::Extended { book, session, cause, until_ns } => {
                let status = SymbolStatus {
                    ns,
                    instrument: self.instrument(book),
                    status: session.status(),
                    change_reason: cause as u8,
                    end_time: Text::from_bytes(&time_of_day(until_ns)),
                    book_type: 1,
                    ..SymbolStatus::default()
                };
                self.publish(now_ns, status, send);
            }
            Event::Auctioned { book, id, price, quantity, session } => {
                let auction = AuctionTrade {
                    ns,
                    quantity,
                    instrument: self.instrument(book),
                    price: SignedPrice(price),
                    trade: id.0,
                    auction_type: auction_type(session),
                    ..AuctionTrade::default()
                };
                self.publish(now_ns, auction, send);
            }
            Event::Indicative { book, price, quantity, session } => {
                let info = AuctionInfo {
                    ns,
                    paired: quantity,
                    instrument: self.instrument(book),
                    price: SignedPrice(price.unwrap_or(Price(0))),
                    auction_type: auction_type(session),
                };
                self.publish(now_ns, info, send);
            }
            Event::Reference { book, is_opening, price, by } => {
                let statistics = Statistics {
                    ns,
                    instrument: self.instrument(book),
                    kind: if is_opening { b'O' } else { b'C' },
                    price: SignedPrice(price),
                    indicator: match by {
                        FoundBy::Auction => b'A',
                        FoundBy::Average => b'B',
                        FoundBy::LastTrade => b'D',
                    },
                };
                self.publish(now_ns, statistics, send);
            }
            _ => {}
        }
    }
}

fn ns(now_ns: u64) -> u32 {
    (now_ns % NS_PER_S) as u32
}

/// `HH:MM:SS`, of the clock that messages have.
fn time_of_day(at_ns: u64) -> [u8; 8] {
    let second = (at_ns / NS_PER_S % S_PER_DAY) as u32;
    let mut text = *b"00:00:00";
    for (at, value) in [(0, second / 3600), (3, second / 60 % 60), (6, second % 60)] {
        text[at] += (value / 10) as u8;
        text[at + 1] += (value % 10) as u8;
    }
    text
}

const fn auction_type(session: Session) -> u8 {
    match session {
        Session::ClosingCall => b'C',
        Session::BreakerCall => b'A',
        Session::Halt | Session::Pause | Session::ResumeCall => b'E',
        Session::IntradayCall => b'G',
        Session::EdspCall => b'B',
        Session::PeriodicCall => b'F',
        _ => b'O',
    }
}
