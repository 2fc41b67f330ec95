//! Market data of CME Group as items: what the packets of an MDP 3.0 channel say becomes
//! market by order, market by price and market price.
//!
//! ```text
//!            packets lost                a snapshot of behind them, and the packets
//!  good ────────────────────▶ lost ───── behind that                         ──▶ good
//!   ▲                          │
//!   └── the next report has the next number: none was about this one (levels)
//! ```

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use tapeline_mdp::{
    Book as LevelUpdates, BookEntryKind, Definition, DefinitionAction, MatchEvent, Message,
    OrderBook, Packet, SecurityStatus, Snapshot, SnapshotOrderBook, TradingStatus, UpdateAction,
};
use tapeline_rwf::{DataType, Domain};

use self::listed::{Listed, OrderState, Standing};
use self::recent::Recent;
use crate::FeedError;
use crate::book::Book;
use crate::published::Payloads;
use crate::update::Update;

mod levels;
mod listed;
mod recent;

/// Instruments of a channel; the largest have some 100,000.
const MOST_INSTRUMENTS: usize = 1 << 20;

/// Which books are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// The best levels of each side, as they are told: market by price, and market price.
    #[default]
    Levels,
    /// All orders: market by order too.
    Orders,
}

/// What is known of a channel besides what it says.
#[derive(Clone, Debug, Default)]
pub struct CmeSettings {
    /// What follows the symbol in the names of items.
    pub suffix: String,
    /// Which books are kept.
    pub depth: Depth,
    /// Instruments are named by their symbols, once a definition has come. Without, by
    /// their numbers.
    pub has_definitions: bool,
    /// What was lost comes with snapshots. Without, books begin anew, and are not to be
    /// trusted.
    pub has_snapshots: bool,
}

/// The instruments of a channel, as items of the three domains that
/// [`Recording`](crate::Recording) has, under their symbols and a suffix.
///
/// Messages change books at once; [`publish`](Self::publish) gives what all of them
/// since the last call have changed, one update for each item. The quote says whether
/// the instrument trades (`MKT_STATUS`), what the opening would bring (`IND_AUC`,
/// `IND_AUCVOL`) and the last settlement price (`HST_CLOSE`). Prices are multiplied with
/// the display factor of the definition.
#[derive(Debug)]
pub struct CmeFeed {
    settings: CmeSettings,
    instruments: Vec<Listed>,
    by_security: HashMap<i32, usize, FxBuildHasher>,
    by_name: HashMap<String, usize>,
    /// Of an instrument that is seen for the first time.
    born: Standing,
    /// How many are not to be trusted.
    unsure: usize,
    /// Those that have come to be so, or to be good, since it was told.
    turned: Vec<usize>,
    /// The number of the packet that comes next.
    next: u32,
    recent: Recent,
    /// Whether messages of an event are still to come.
    is_amid_event: bool,
    changed: Vec<usize>,
    unknown: u64,
    unreadable: u64,
    snapshots: u64,
    payloads: Payloads,
}

impl CmeFeed {
    /// No instruments yet.
    pub fn new(settings: CmeSettings) -> Self {
        Self {
            settings,
            instruments: Vec::new(),
            by_security: HashMap::default(),
            by_name: HashMap::new(),
            born: Standing::Lost,
            unsure: 0,
            turned: Vec::new(),
            next: 0,
            recent: Recent::default(),
            is_amid_event: false,
            changed: Vec::new(),
            unknown: 0,
            unreadable: 0,
            snapshots: 0,
            payloads: Payloads::default(),
        }
    }

    /// The names of the items there are.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The book of an item.
    pub fn book(&self, name: &str) -> Option<&Book> {
        self.by_name.get(name).map(|at| &self.instruments[*at].instrument.book)
    }

    /// Books that are not to be trusted.
    pub const fn unsure(&self) -> usize {
        self.unsure
    }

    /// Whether the book of an item is not to be trusted.
    pub fn is_unsure(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|at| !self.instruments[*at].is_good())
    }

    /// Gives the items whose books have come to be trusted, or not to be, since the last
    /// call, to `each` with whether they are not.
    pub fn turned(&mut self, mut each: impl FnMut(&str, bool)) {
        for at in self.turned.drain(..) {
            let listed = &self.instruments[at];
            if listed.is_named {
                each(&listed.instrument.name, !listed.is_good());
            }
        }
    }

    /// Messages about a level or an instrument that is not there: none while nothing was
    /// missed.
    pub const fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Messages that are damaged.
    pub const fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Snapshots that made a book good.
    pub const fn snapshots(&self) -> u64 {
        self.snapshots
    }

    /// Numbers begin, with `first`: all books are void, and empty if it is 1.
    pub fn begin(&mut self, first: u32) {
        self.born = if first == 1 { Standing::Good } else { Standing::Lost };
        self.next = first;
        self.recent.clear();
        self.is_amid_event = false;
        self.stand_all(self.born);
    }

    /// The packets before `next` that have not come are lost.
    pub fn lose(&mut self, next: u32) {
        self.born = Standing::Lost;
        self.next = next;
        self.recent.clear();
        self.is_amid_event = false;
        for at in 0..self.instruments.len() {
            self.stand(at, self.born);
        }
        if !self.settings.has_snapshots {
            self.clear_all();
        }
    }

    /// A packet of changes, in order.
    pub fn packet(&mut self, packet: &Packet<'_>, bytes: &[u8]) {
        self.next = packet.sequence.wrapping_add(1);
        for message in packet.messages() {
            match message {
                Ok(message) => self.change(&message, None),
                Err(_) => self.unreadable += 1,
            }
        }
        // It may be the first one about an instrument, which is not good either.
        if self.unsure > 0 && self.settings.has_snapshots {
            self.recent.keep(packet.sequence, bytes);
        }
    }

    /// A packet of the loop of snapshots, or of definitions.
    pub fn loop_packet(&mut self, packet: &Packet<'_>) {
        for message in packet.messages() {
            match message {
                Ok(Message::Snapshot(said)) => self.snapshot(&said),
                Ok(Message::SnapshotOrderBook(said)) => self.snapshot_orders(&said),
                Ok(said @ Message::Definition(_)) => self.change(&said, None),
                Ok(_) => {}
                Err(_) => self.unreadable += 1,
            }
        }
    }

    /// The place of an instrument; the first message about it makes it. One too many has
    /// none.
    fn place(&mut self, security: i32) -> Option<usize> {
        if let Some(at) = self.by_security.get(&security) {
            return Some(*at);
        }
        let at = self.instruments.len();
        if at >= MOST_INSTRUMENTS {
            self.unknown += 1;
            return None;
        }
        let has_number = !self.settings.has_definitions;
        let name = has_number.then(|| format!("{security}{}", self.settings.suffix));
        if let Some(name) = &name {
            self.by_name.insert(name.clone(), at);
        }
        let listed = Listed::new(security, name, self.born);
        self.unsure += usize::from(!listed.is_good());
        self.instruments.push(listed);
        self.by_security.insert(security, at);
        Some(at)
    }

    /// Something is to be published of an instrument.
    fn note(&mut self, at: usize, time_ns: u64) {
        let listed = &mut self.instruments[at];
        listed.instrument.time_ns = time_ns;
        if listed.is_named && !listed.is_noted && !listed.instrument.touched.is_empty() {
            listed.is_noted = true;
            self.changed.push(at);
        }
    }

    fn stand(&mut self, at: usize, standing: Standing) {
        let listed = &mut self.instruments[at];
        let was_good = listed.is_good();
        listed.standing = standing;
        if was_good != listed.is_good() {
            self.unsure = if was_good { self.unsure + 1 } else { self.unsure - 1 };
            self.turned.push(at);
        }
        if self.unsure == 0 {
            self.recent.clear();
        }
    }

    /// All books begin anew.
    fn stand_all(&mut self, standing: Standing) {
        for at in 0..self.instruments.len() {
            self.stand(at, standing);
            self.instruments[at].report = 0;
        }
        self.clear_all();
    }

    fn clear_all(&mut self) {
        for at in 0..self.instruments.len() {
            self.instruments[at].clear();
            let time_ns = self.instruments[at].instrument.time_ns;
            self.note(at, time_ns);
        }
    }

    /// Whether a report about an instrument changes it: one whose book is not good waits
    /// for a snapshot, unless this is the report that follows the last one.
    fn takes(&mut self, at: usize, report: Option<u32>) -> bool {
        let listed = &mut self.instruments[at];
        let follows = report == Some(listed.report.wrapping_add(1));
        if let Some(report) = report {
            let is_new = report > listed.report || listed.report == 0;
            if !is_new && listed.is_good() {
                // The snapshot has it.
                return false;
            }
        }
        // Without snapshots books have begun anew: what follows a report does not tell what
        // was before that.
        let CmeSettings { depth, has_snapshots, .. } = self.settings;
        let heals = follows && depth == Depth::Levels && has_snapshots && !listed.is_good();
        if !listed.is_good() && !heals && has_snapshots {
            return false;
        }
        listed.report = report.unwrap_or(listed.report);
        if heals {
            self.stand(at, Standing::Good);
        }
        true
    }

    /// A message of a packet of changes, for one instrument alone if `only` says so.
    fn change(&mut self, message: &Message<'_>, only: Option<i32>) {
        match message {
            Message::Book(said) => self.levels(said, only),
            Message::OrderBook(said) => self.orders(said, only),
            Message::TradeSummary(said) => {
                let at_ns = said.transact_time_ns;
                let reports = said.entries().map(|it| (it.security, it.report_sequence, it));
                self.reports((at_ns, said.event), reports, only, |of, it| of.trade(at_ns, it));
            }
            Message::Volume(said) => {
                let of = (said.transact_time_ns, said.event);
                let reports = said.entries().map(|it| (it.security, it.report_sequence, it));
                self.reports(of, reports, only, |of, it| of.volume(it.quantity));
            }
            Message::SessionStatistics(said) => {
                let of = (said.transact_time_ns, said.event);
                let reports = said.entries().map(|it| (it.security, it.report_sequence, it));
                self.reports(of, reports, only, Listed::session_statistic);
            }
            Message::DailyStatistics(said) => {
                let of = (said.transact_time_ns, said.event);
                let reports = said.entries().map(|it| (it.security, it.report_sequence, it));
                self.reports(of, reports, only, Listed::daily_statistic);
            }
            Message::LimitsBanding(said) => {
                let of = (said.transact_time_ns, said.event);
                let reports = said.entries().map(|it| (it.security, it.report_sequence, it));
                self.reports(of, reports, only, |_, _| {});
            }
            // What is said to all has been heard.
            _ if only.is_some() => {}
            Message::SecurityStatus(said) => self.status(said),
            Message::Definition(said) => self.define(said),
            Message::ChannelReset(_) => {
                self.born = Standing::Good;
                self.stand_all(Standing::Good);
            }
            _ => {}
        }
    }

    /// Reports about instruments, each with its number.
    fn reports<E>(
        &mut self,
        (time_ns, event): (u64, MatchEvent),
        reports: impl Iterator<Item = (i32, u32, E)>,
        only: Option<i32>,
        change: impl Fn(&mut Listed, &E),
    ) {
        for (security, report, said) in reports {
            if only.is_some_and(|only| only != security) {
                continue;
            }
            let Some(at) = self.place(security) else { continue };
            if self.takes(at, Some(report)) {
                change(&mut self.instruments[at], &said);
                self.note(at, time_ns);
            }
        }
        self.turn(event, only);
    }

    /// A message of an event has been read.
    fn turn(&mut self, event: MatchEvent, only: Option<i32>) {
        if only.is_none() {
            self.is_amid_event = !event.is_end_of_event();
        }
    }

    /// Levels change, and orders beside them.
    fn levels(&mut self, said: &LevelUpdates<'_>, only: Option<i32>) {
        let (time_ns, depth) = (said.transact_time_ns, self.settings.depth);
        for entry in said.entries() {
            if only.is_some_and(|only| only != entry.security) {
                continue;
            }
            let Some(at) = self.place(entry.security) else { continue };
            if !self.takes(at, Some(entry.report_sequence)) {
                continue;
            }
            if depth == Depth::Levels || entry.kind == BookEntryKind::BookReset {
                let is_unknown = self.instruments[at].level(time_ns, &entry);
                self.unknown += u64::from(is_unknown && self.instruments[at].is_good());
            }
            self.note(at, time_ns);
        }
        if depth == Depth::Orders {
            for order in said.orders() {
                match listed::beside(said, &order) {
                    Some((security, of)) => self.order(time_ns, security, (order.order, of), only),
                    None => self.unknown += u64::from(only.is_none()),
                }
            }
        }
        self.turn(said.event, only);
    }

    /// Orders change that are of no level that is told of.
    fn orders(&mut self, said: &OrderBook<'_>, only: Option<i32>) {
        if self.settings.depth == Depth::Orders {
            let time_ns = said.transact_time_ns;
            for entry in said.entries() {
                let Some(id) = entry.order else {
                    self.reset_orders(time_ns, entry.security, only);
                    continue;
                };
                let of = match entry.action {
                    UpdateAction::Delete => None,
                    _ => entry.price.zip(entry.side).zip(entry.quantity),
                };
                let of = of.map(|((price, side), quantity)| (price, side, quantity));
                self.order(time_ns, entry.security, (id, of), only);
            }
        }
        self.turn(said.event, only);
    }

    fn order(
        &mut self,
        time_ns: u64,
        security: i32,
        (id, of): (u64, OrderState),
        only: Option<i32>,
    ) {
        if only.is_some_and(|only| only != security) {
            return;
        }
        let Some(at) = self.place(security) else { return };
        if !self.takes(at, None) {
            return;
        }
        let listed = &mut self.instruments[at];
        let is_unknown = of.is_none() && listed.instrument.book.order(id).is_none();
        self.unknown += u64::from(is_unknown && listed.is_good());
        listed.order(time_ns, id, of);
        self.note(at, time_ns);
    }

    /// The orders of an instrument are gone.
    fn reset_orders(&mut self, time_ns: u64, security: i32, only: Option<i32>) {
        if only.is_none_or(|only| only == security) {
            let Some(at) = self.place(security) else { return };
            if self.takes(at, None) {
                self.instruments[at].clear();
                self.note(at, time_ns);
            }
        }
    }

    /// Whether an instrument trades, or all those of a group.
    fn status(&mut self, said: &SecurityStatus) {
        let (group, asset) = (said.group.as_str(), said.asset.as_str());
        let is_of =
            |listed: &Listed| listed.group == group && (asset.is_empty() || listed.asset == asset);
        let all = match said.security {
            Some(security) => {
                let Some(at) = self.place(security) else { return };
                at..at + 1
            }
            None => 0..self.instruments.len(),
        };
        for at in all {
            let listed = &mut self.instruments[at];
            if said.security.is_some() || is_of(listed) {
                listed.trades_as(said.status);
                listed.happens(said.trading_event);
                self.note(at, said.transact_time_ns);
            }
        }
    }

    /// What an instrument is.
    fn define(&mut self, said: &Definition<'_>) {
        let Some(at) = self.place(said.security) else { return };
        let listed = &mut self.instruments[at];
        listed.define(said, &self.settings.suffix);
        if said.update_action == DefinitionAction::Delete {
            listed.clear();
            listed.trades_as(TradingStatus::Close);
        }
        self.by_name.insert(listed.instrument.name.clone(), at);
        self.note(at, said.last_update_time_ns);
    }

    /// Levels of an instrument, and what was traded of it.
    fn snapshot(&mut self, said: &Snapshot<'_>) {
        let Some(at) = self.place(said.security) else { return };
        let has_levels = self.settings.depth == Depth::Levels;
        if self.instruments[at].is_good() || !self.is_enough(said.last_sequence) {
            return;
        }
        self.instruments[at].snapshot(said, has_levels);
        self.note(at, said.last_update_time_ns);
        if has_levels {
            self.catch_up(at, said.security, said.last_sequence);
        }
    }

    /// Whether a snapshot has all that was lost: what came since then is here.
    fn is_enough(&self, last_sequence: u32) -> bool {
        self.recent.after(last_sequence, self.next).is_some()
    }

    /// A part of the orders of an instrument.
    fn snapshot_orders(&mut self, said: &SnapshotOrderBook<'_>) {
        let Some(at) = self.place(said.security) else { return };
        let last_sequence = said.last_sequence;
        if self.settings.depth != Depth::Orders || self.instruments[at].is_good() {
            return;
        }
        let part = said.current_chunk.max(1);
        let is_next = self.instruments[at].standing == Standing::Coming { last_sequence, part };
        if !is_next && (part > 1 || !self.is_enough(last_sequence)) {
            return;
        }
        let listed = &mut self.instruments[at];
        if part == 1 {
            listed.clear();
        }
        listed.orders(said.transact_time_ns, said.entries());
        self.note(at, said.transact_time_ns);
        match part >= said.chunk_count {
            true => self.catch_up(at, said.security, last_sequence),
            false => self.stand(at, Standing::Coming { last_sequence, part: part + 1 }),
        }
    }

    /// A book is that of a snapshot: with the packets behind that it is good.
    fn catch_up(&mut self, at: usize, security: i32, last_sequence: u32) {
        let recent = std::mem::take(&mut self.recent);
        self.stand(at, Standing::Good);
        self.snapshots += 1;
        for bytes in recent.after(last_sequence, self.next).into_iter().flatten() {
            let messages = Packet::read(bytes).map(|packet| packet.messages());
            for message in messages.into_iter().flatten().flatten() {
                self.change(&message, Some(security));
            }
        }
        if self.unsure > 0 {
            self.recent = recent;
        }
    }

    /// Gives what has changed since the last call, item by item, to `each` with the
    /// item's name: nothing amid an event, and nothing of a snapshot that is not whole.
    ///
    /// # Errors
    /// An event does not fit a message.
    pub fn publish(&mut self, mut each: impl FnMut(&str, &Update<'_>)) -> Result<(), FeedError> {
        if self.is_amid_event {
            return Ok(());
        }
        let has_orders = self.has(Domain::MARKET_BY_ORDER);
        let Self { instruments, changed, payloads, .. } = self;
        let mut each = |name: &str, update: &Update<'_>| {
            if has_orders || update.domain != Domain::MARKET_BY_ORDER {
                each(name, update);
            }
        };
        let mut failure = Ok(());
        changed.retain(|at| {
            let listed = &mut instruments[*at];
            if matches!(listed.standing, Standing::Coming { .. }) {
                return true;
            }
            listed.is_noted = false;
            if let Err(error) = payloads.publish(&mut listed.instrument, &mut each) {
                failure = Err(error);
            }
            false
        });
        failure
    }

    /// Appends the item as it is now to `out`, as
    /// [`Recording::image`](crate::Recording::image) does. There is no market by order of
    /// books of levels.
    ///
    /// # Errors
    /// The book has more than 65,535 orders.
    pub fn image(
        &self,
        domain: Domain,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<DataType>, FeedError> {
        let Some(at) = self.by_name.get(name).filter(|_| self.has(domain)) else { return Ok(None) };
        self.instruments[*at].instrument.image(domain, out)
    }

    /// Whether there are items of a domain.
    pub fn has(&self, domain: Domain) -> bool {
        domain != Domain::MARKET_BY_ORDER || self.settings.depth == Depth::Orders
    }
}

#[cfg(test)]
mod tests;
