//! One instrument of CME: its book, and whether it is to be trusted.

use tapeline_mdp::{
    Book as LevelUpdates, BookEntry, BookEntryKind, DailyStatistic, Definition, EntryKind,
    OpenFlag, OrderAction, OrderEntry, Price9, SessionStatistic, Side as MdpSide, Snapshot,
    SnapshotOrder, TradeEntry, TradingEvent, TradingStatus, UpdateAction,
};

use super::levels::Levels;
use crate::book::{Action, Level, Order, Side, Trade, Trades};
use crate::market_state::MarketState;
use crate::published::Instrument;

/// Levels that are told of, unless the definition says how many.
const USUAL_DEPTH: usize = 10;

const NANO: i128 = 1_000_000_000;

/// Whether a book is to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing is missing.
    Good,
    /// Packets that may have been about it were lost.
    Lost,
    /// A snapshot of its orders is under way.
    Coming {
        /// The last packet whose messages are in it.
        last_sequence: u32,
        /// The part that comes next.
        part: u32,
    },
}

/// What an order is: its price, side and quantity; none if it is gone.
pub(super) type OrderState = Option<(Price9, MdpSide, i32)>;

/// An instrument.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) instrument: Instrument,
    pub(super) standing: Standing,
    /// Whether its name is known; what has none is not published.
    pub(super) is_named: bool,
    /// Its changes are noted as not published.
    pub(super) is_noted: bool,
    pub(super) group: String,
    pub(super) asset: String,
    /// The number of the last report about it.
    pub(super) report: u32,
    /// What prices are multiplied with.
    display_factor: Price9,
    depth: usize,
    bids: Levels,
    asks: Levels,
}

const fn side(side: MdpSide) -> Side {
    match side {
        MdpSide::Buy => Side::Bid,
        MdpSide::Sell => Side::Ask,
    }
}

fn size(quantity: impl TryInto<u32>) -> u32 {
    quantity.try_into().unwrap_or(0)
}

impl Listed {
    pub(super) fn new(security: i32, name: Option<String>, standing: Standing) -> Self {
        let is_named = name.is_some();
        let market = Some(MarketState::default());
        let instrument = Instrument::new(security.cast_unsigned(), name.unwrap_or_default());
        Self {
            instrument: Instrument { market, ..instrument },
            standing,
            is_named,
            is_noted: false,
            group: String::new(),
            asset: String::new(),
            report: 0,
            display_factor: Price9::from_nano(NANO as i64),
            depth: USUAL_DEPTH,
            bids: Levels::new(Side::Bid),
            asks: Levels::new(Side::Ask),
        }
    }

    pub(super) fn is_good(&self) -> bool {
        self.standing == Standing::Good
    }

    /// What it is. The name, once it has one, stays.
    pub(super) fn define(&mut self, said: &Definition<'_>, suffix: &str) {
        if !self.is_named {
            self.instrument.name = format!("{}{suffix}", said.symbol);
            self.is_named = true;
        }
        said.group.clone_into(&mut self.group);
        said.asset.clone_into(&mut self.asset);
        // None is no factor.
        if said.display_factor.nano() != 0 {
            self.display_factor = said.display_factor;
        }
        let told = said.feeds().find(|feed| feed.kind == "GBX").map(|feed| feed.depth);
        let told = told.and_then(|depth| usize::try_from(depth).ok()).filter(|depth| *depth > 0);
        self.depth = told.unwrap_or(USUAL_DEPTH);
        self.trades_as(said.trading_status);
    }

    /// A price as people say it, in units of 10⁻⁹.
    fn nano(&self, price: Price9) -> i64 {
        let nano = i128::from(price.nano()) * i128::from(self.display_factor.nano()) / NANO;
        i64::try_from(nano).unwrap_or(i64::MAX)
    }

    /// All orders and levels are gone.
    pub(super) fn clear(&mut self) {
        self.bids.clear();
        self.asks.clear();
        self.instrument.act(&Action::Clear);
    }

    /// A level changes; whether it is one that is not there.
    pub(super) fn level(&mut self, time_ns: u64, said: &BookEntry) -> bool {
        if said.kind == BookEntryKind::BookReset {
            self.clear();
            return false;
        }
        let size = said.quantity.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        let orders = said.orders.and_then(|orders| u32::try_from(orders).ok()).unwrap_or(0);
        let price_nano = said.price.map_or(0, |price| self.nano(price));
        let levels = match said.kind {
            BookEntryKind::Bid => &mut self.bids,
            BookEntryKind::Offer => &mut self.asks,
            // Levels that other instruments imply are a book of their own.
            _ => return false,
        };
        let (place, instrument) = ((said.level.into(), self.depth), &mut self.instrument);
        let of = (price_nano, Level { size, orders, time_ns });
        levels.update(said.action, place, of, |action| instrument.act(&action))
    }

    /// An order changes, with all that is said of it.
    pub(super) fn order(&mut self, time_ns: u64, id: u64, said: OrderState) {
        let Some((price, of, quantity)) = said else {
            self.instrument.act(&Action::Cancel { id, size: u32::MAX, time_ns });
            return;
        };
        let order =
            Order { side: side(of), price_nano: self.nano(price), size: size(quantity), time_ns };
        self.instrument.act(&Action::Modify(id, order));
    }

    /// A trade, or the end of one.
    pub(super) fn trade(&mut self, time_ns: u64, said: &TradeEntry) {
        let size = size(said.quantity);
        match said.action {
            UpdateAction::New => {
                let price_nano = self.nano(said.price);
                self.instrument.act(&Action::Trade(Trade { price_nano, size, time_ns }));
            }
            UpdateAction::Delete => {
                self.instrument.act(&Action::CancelTrade { size, is_counted: true });
            }
            // What it was before, nobody says.
            _ => {}
        }
    }

    /// How much was traded in the session.
    pub(super) fn volume(&mut self, volume: i64) {
        let before = *self.instrument.book.trades();
        let volume = u64::try_from(volume).unwrap_or(0);
        if before.last.is_some() && before.volume != volume {
            self.instrument.act(&Action::Traded(Trades { volume, ..before }));
        }
    }

    /// What the opening would bring.
    pub(super) fn session_statistic(&mut self, said: &SessionStatistic) {
        let is_indicative = said.open_flag == Some(OpenFlag::IndicativeOpen);
        if said.kind != EntryKind::OpenPrice || !is_indicative {
            return;
        }
        let quantity = said.quantity.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        let price_nano = self.nano(said.price);
        let is_there = said.action != UpdateAction::Delete;
        self.instrument.say(|market| {
            market.indicative = is_there.then_some((price_nano, quantity));
        });
    }

    /// A figure of a day.
    pub(super) fn daily_statistic(&mut self, said: &DailyStatistic) {
        if said.kind == EntryKind::SettlementPrice {
            self.settle(said.price);
        }
    }

    fn settle(&mut self, price: Option<Price9>) {
        let Some(price) = price else { return };
        let price_nano = self.nano(price);
        self.instrument.say(|market| market.previous_close_nano = Some(price_nano));
    }

    /// Whether it trades.
    pub(super) fn trades_as(&mut self, status: TradingStatus) {
        let word = match status {
            TradingStatus::Halt => "HALT",
            TradingStatus::ReadyToTrade => "REG",
            TradingStatus::PreOpen => "PRE",
            TradingStatus::PreCross | TradingStatus::Cross => "CROSS",
            TradingStatus::NewPriceIndication => "PAUSE",
            TradingStatus::PostClose => "POST",
            TradingStatus::Close | TradingStatus::NotAvailable => "CLSD",
            TradingStatus::NoChange | TradingStatus::Absent => return,
            _ => "OTHER",
        };
        self.instrument.say(|market| {
            market.session = word;
            if status == TradingStatus::ReadyToTrade {
                market.indicative = None;
            }
        });
    }

    /// What comes with a status.
    pub(super) fn happens(&mut self, event: TradingEvent) {
        if event == TradingEvent::ResetStatistics {
            let last = self.instrument.book.trades().last;
            self.instrument.act(&Action::Traded(Trades { last, ..Trades::default() }));
        }
    }

    /// A snapshot of its levels, or of what was traded where orders are kept.
    pub(super) fn snapshot(&mut self, said: &Snapshot<'_>, has_levels: bool) {
        let time_ns = said.last_update_time_ns;
        if has_levels {
            self.clear();
        }
        let mut trades = Trades::default();
        for entry in said.entries() {
            let price_nano = entry.price.map_or(0, |price| self.nano(price));
            match entry.kind {
                EntryKind::Bid | EntryKind::Offer if has_levels => {
                    let bid = entry.kind == EntryKind::Bid;
                    let kind = if bid { BookEntryKind::Bid } else { BookEntryKind::Offer };
                    self.level(
                        time_ns,
                        &BookEntry {
                            price: entry.price,
                            quantity: entry.quantity,
                            security: said.security,
                            report_sequence: said.report_sequence,
                            orders: entry.orders,
                            level: entry.level.and_then(|level| level.try_into().ok()).unwrap_or(0),
                            action: UpdateAction::New,
                            kind,
                        },
                    );
                }
                EntryKind::Trade => {
                    let size = size(entry.quantity.unwrap_or(0));
                    trades.last = Some(Trade { price_nano, size, time_ns });
                }
                EntryKind::OpenPrice if entry.open_flag == Some(OpenFlag::DailyOpen) => {
                    trades.open_nano = price_nano;
                }
                EntryKind::SessionHigh => trades.high_nano = price_nano,
                EntryKind::SessionLow => trades.low_nano = price_nano,
                EntryKind::ElectronicVolume => {
                    let volume = entry.quantity.and_then(|volume| u64::try_from(volume).ok());
                    trades.volume = volume.unwrap_or(0);
                }
                EntryKind::SettlementPrice => self.settle(entry.price),
                _ => {}
            }
        }
        // How many there were it does not say: the last one at least.
        trades.count = trades.last.is_some().into();
        self.instrument.act(&Action::Traded(trades));
        self.instrument.time_ns = time_ns;
        self.report = said.report_sequence;
        self.trades_as(said.trading_status);
    }

    /// Orders of a snapshot.
    pub(super) fn orders(&mut self, time_ns: u64, orders: impl Iterator<Item = SnapshotOrder>) {
        for said in orders {
            let of = said.side.map(|side| (said.price, side, said.quantity));
            self.order(time_ns, said.order, of);
        }
    }
}

/// What an order beside levels is: that has the price of one of them, and its side.
pub(super) fn beside(said: &LevelUpdates<'_>, order: &OrderEntry) -> Option<(i32, OrderState)> {
    let at = usize::from(order.reference?).checked_sub(1)?;
    let level = said.entries().nth(at)?;
    if order.action == OrderAction::Delete {
        return Some((level.security, None));
    }
    let of = (level.price?, level.kind.side()?, order.quantity?);
    Some((level.security, Some(of)))
}
