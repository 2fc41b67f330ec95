//! What a market is in, and what its gateway answers without asking the engine. The
//! state of it changes with entries only, in `apply`.

use std::collections::HashMap;
use std::time::Duration;

use tapeline_layout::Text;
use tapeline_matching::BookId;
use tapeline_ntg::client::MassCancel;
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Admission, Channel, Input, Limits};
use tapeline_sequence::EventHash;
use tapeline_time::Time;

use super::cache::Cache;
use super::distributors::Distributors;
use super::fix::Desks;
use super::gate::Checked;
use super::gateways::Gateways;
use super::ledger::Ledger;
use super::quotes::Quotes;
use super::refusals::{DOWN, instrument_of};
use super::reports::{Asked, Reporter};
use super::sending::Sending;
use super::sponsors::Sponsors;
use super::trades::Trades;
use super::users::{Readers, Users};
use super::{Door, ExchangeConfig, ExchangeCounts, Outputs, SessionId};
use crate::market::Market;

const NS_PER_S: u64 = 1_000_000_000;

/// A moment: by the clock of this process, and as the market has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) now: Time,
    pub(super) ns: u64,
}

/// Two had other events of the same entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Differs {
    /// Up to this one.
    pub index: u64,
    /// What its events come to here.
    pub here: EventHash,
    /// What they came to before, or elsewhere.
    pub there: EventHash,
}

/// Everything but the connections.
#[derive(Debug)]
pub(super) struct Floor {
    pub(super) market: Market,
    pub(super) users: Users,
    pub(super) readers: Readers,
    pub(super) cache: Cache,
    pub(super) desks: Desks,
    pub(super) trades: Trades,
    pub(super) sponsors: Sponsors,
    pub(super) counts: ExchangeCounts,
    pub(super) limits: Limits,
    pub(super) group: u8,
    /// By book.
    pub(super) instruments: Vec<u32>,
    pub(super) segments: Vec<Text<6, b' '>>,
    /// When something went to each connection last.
    pub(super) said: Vec<Time>,
    /// Connections that do not read.
    pub(super) slow: Vec<SessionId>,
    pub(super) config: ExchangeConfig,
    pub(super) epoch_ns: u64,
    pub(super) ledger: Ledger,
    pub(super) quotes: Quotes,
    pub(super) books: HashMap<u32, BookId>,
    pub(super) executions: u32,
    pub(super) commands: u64,
    /// The last entry that is done.
    pub(super) applied: u64,
    pub(super) hash: EventHash,
    /// What all events up to an entry came to, as somebody else will say it too.
    pub(super) checkpoint: Checked,
    /// Somebody else had other events of the same entries.
    pub(super) differs: Option<Differs>,
    pub(super) published: Time,
    /// Clients are let in.
    pub(super) is_open: bool,
    pub(super) gateways: Gateways,
    pub(super) distributors: Distributors,
    /// Whether market data goes out from here.
    pub(super) sending: Sending,
    /// More is to be said again at once.
    pub(super) has_more_to_send: bool,
    /// Readers are let in: what they ask for is there.
    pub(super) has_books: bool,
    quiet: Duration,
}

impl Floor {
    pub(super) fn new(config: &ExchangeConfig, epoch_ns: u64) -> Self {
        let orders = config.engine.max_orders;
        let is_settled = config.users.iter().any(|user| !user.settles.is_empty());
        let trades = if is_settled { config.trades } else { 0 };
        let mut market = Market::with_room(&config.engine, config.group);
        config.firms.iter().for_each(|firm| market.name_firm(firm.number, &firm.name));
        Self {
            market,
            users: Users::new(config),
            readers: Readers::new(config),
            cache: Cache::new(config.order_cache_messages),
            desks: Desks::new(config),
            trades: Trades::new(trades),
            sponsors: Sponsors::new(config),
            counts: ExchangeCounts::default(),
            limits: config.limits,
            group: config.group,
            instruments: Vec::new(),
            segments: Vec::new(),
            said: vec![Time::ZERO; config.max_sessions],
            slow: Vec::with_capacity(16),
            config: config.clone(),
            epoch_ns,
            ledger: Ledger::new(orders),
            quotes: Quotes::default(),
            books: HashMap::new(),
            executions: 0,
            commands: 0,
            applied: 0,
            hash: EventHash::default(),
            checkpoint: Checked::default(),
            differs: None,
            published: Time::ZERO,
            is_open: true,
            gateways: Gateways::new(config),
            distributors: Distributors::new(config),
            sending: Sending::Live,
            has_more_to_send: false,
            has_books: true,
            quiet: config.quiet,
        }
    }

    pub(super) const fn app_id(&self) -> u8 {
        self.config.engine.ids.partition
    }

    /// Nanoseconds since 1970 UTC, by the clock of this process.
    pub(super) fn ns(&self, now: Time) -> u64 {
        self.epoch_ns.saturating_add(now.as_nanos())
    }

    /// Seconds since midnight, UTC.
    pub(super) fn second(&self, now: Time) -> u32 {
        (self.ns(now) / NS_PER_S % 86_400) as u32
    }

    /// Days since 1970, by the exchange's local time.
    pub(super) fn local_day(&self, now: Time) -> u32 {
        self.day_of(self.ns(now))
    }

    fn day_of(&self, at_ns: u64) -> u32 {
        let seconds = (at_ns / NS_PER_S) as i64 + i64::from(self.config.utc_offset_s);
        (seconds / 86_400) as u32
    }

    /// Whether two moments are of one day, by the exchange's local time.
    pub(super) fn is_same_day(&self, one_ns: u64, other_ns: u64) -> bool {
        self.day_of(one_ns) == self.day_of(other_ns)
    }

    /// What is counted, with what is there now.
    pub(super) fn counts(&self) -> ExchangeCounts {
        let orders = self.market.engine().alive() as usize;
        let clients = self.users.logged_on();
        let (fix_waiting, fix_lost) = self.desks.waiting();
        let (gateways, distributions) = (self.gateways.linked(), self.distributors.linked());
        let publishes = usize::from(self.is_live());
        ExchangeCounts {
            clients,
            orders,
            fix_waiting,
            fix_lost,
            gateways,
            distributions,
            publishes,
            ..self.counts
        }
    }

    /// When an answer of the gateway's own is made.
    fn here(&self, now: Time) -> Moment {
        Moment { now, ns: self.ns(now) }
    }

    /// Something is due in the market by now.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.market.engine().is_due(self.ns(now))
    }

    /// Nothing was published for a while.
    pub(super) fn beat(&mut self, now: Time, out: &mut impl Outputs) {
        if now.since(self.published) >= self.quiet && self.is_live() {
            self.published = now;
            self.market.distribution().publisher().heartbeat(&mut |unit| out.publish(unit));
        }
    }

    /// Somebody wants in.
    pub(super) fn admit(&mut self, session: SessionId, door: Door, logon: &Logon) -> Admission {
        let channel = match door {
            Door::Recovery => Channel::Recovery,
            _ => Channel::RealTime,
        };
        // Who settles has a door, and no other one.
        if let Some(user) = self.users.named(logon.user).filter(|_| channel == Channel::RealTime) {
            self.make_room(user);
        }
        let settles = self.users.named(logon.user).is_some_and(|it| self.desks.is_settler(it));
        let admission = match self.is_open {
            true if settles != (door == Door::PostTrade) => Admission::Silent,
            true => self.users.admit(session, channel, logon),
            false => Admission::Refused(DOWN),
        };
        let user = logon.user.as_str();
        let door = door.name();
        match admission {
            Admission::Granted { .. } => {
                self.counts.logons += 1;
                tracing::info!(user, door, "logged on");
            }
            Admission::Silent => {
                self.counts.logons_refused += 1;
                tracing::warn!(user, door, "logon refused: name, password or door");
            }
            // Clients look for the replica that leads.
            Admission::Refused(DOWN) => {
                self.counts.logons_refused += 1;
                tracing::debug!(user, door, "logon refused: another replica leads, or none");
            }
            Admission::Later => {}
            Admission::Refused(code) => {
                self.counts.logons_refused += 1;
                tracing::warn!(user, door, code, "logon refused");
            }
        }
        admission
    }

    pub(super) fn book(&self, instrument: i32) -> Option<BookId> {
        self.books.get(&u32::try_from(instrument).ok()?).copied()
    }

    /// Counts a request of a client and looks whether there is such an instrument.
    /// Returns who asks, if the request goes on.
    pub(super) fn check(
        &mut self,
        now: Time,
        session: SessionId,
        input: &Input,
        out: &mut impl Outputs,
    ) -> Option<u16> {
        let user = self.users.at(session)?;
        let count = match input {
            Input::New(_) => &mut self.counts.new_orders,
            Input::Quote(_) => &mut self.counts.quotes,
            Input::Replace(_) => &mut self.counts.amendments,
            Input::Cancel(_) => &mut self.counts.cancels,
            Input::MassCancel(_) => &mut self.counts.mass_cancels,
            Input::Missed(_) => return None,
        };
        *count += 1;
        if instrument_of(input).is_none_or(|instrument| self.book(instrument).is_some()) {
            return Some(user);
        }
        let here = self.here(now);
        self.answer(here, out, |reporter| reporter.reject_unknown(user, input));
        None
    }

    /// What a client asks for cannot be kept.
    pub(super) fn refuse_down(
        &mut self,
        now: Time,
        user: u16,
        (name, request): (Text<20>, u8),
        out: &mut impl Outputs,
    ) {
        let here = self.here(now);
        self.answer(here, out, |reporter| reporter.reject_down(user, name, request));
    }

    /// Has something told that no entry says.
    fn answer<O: Outputs>(
        &mut self,
        at: Moment,
        out: &mut O,
        tell: impl FnOnce(&mut Reporter<'_, O>),
    ) {
        self.tell(at, Asked::Nothing, out, |_, reporter| {
            reporter.hash = None;
            tell(reporter);
        });
    }

    /// Has something told.
    pub(super) fn tell<O: Outputs, R>(
        &mut self,
        at: Moment,
        asked: Asked,
        out: &mut O,
        tell: impl FnOnce(&mut Market, &mut Reporter<'_, O>) -> R,
    ) -> R {
        let mut reporter = Reporter {
            ledger: &mut self.ledger,
            cache: &mut self.cache,
            users: &self.users,
            desks: &mut self.desks,
            trades: &mut self.trades,
            counts: &mut self.counts,
            said: &mut self.said,
            slow: &mut self.slow,
            instruments: &self.instruments,
            ids: self.config.engine.ids,
            executions: &mut self.executions,
            max_output_bytes: self.config.max_output_bytes,
            command: self.commands,
            asked,
            now: at.now,
            now_ns: at.ns,
            published: &mut self.published,
            goes_out: self.sending == Sending::Live,
            hash: Some(&mut self.hash),
            out,
        };
        tell(&mut self.market, &mut reporter)
    }
}

/// A mass cancel for one instrument, or a group of orders in it.
pub(super) const fn is_of_instrument(cancel: &MassCancel) -> bool {
    matches!(cancel.kind, 3 | 9 | 57)
}
