//! Where commands are done, one after another: what each means for owners of orders
//! and for everybody.

use std::collections::HashMap;
use std::time::Duration;

use tapeline_instrument::OrderId;
use tapeline_layout::Text;
use tapeline_matching::{BookId, Command};
use tapeline_ntg::client::{Cancel, CancelReplace, MassCancel, NewOrder};
use tapeline_ntg::session::Logon;
use tapeline_ntg::{Admission, Channel, Input, Limits};
use tapeline_time::Time;

use super::cache::Cache;
use super::day::Day;
use super::ledger::{Kept, Ledger};
use super::reports::{Asked, Reporter};
use super::requests;
use super::users::{Readers, User, Users};
use super::{ExchangeConfig, ExchangeCounts, Outputs, SessionId};
use crate::market::Market;

const NS_PER_S: u64 = 1_000_000_000;

/// Everything but the connections.
#[derive(Debug)]
pub(super) struct Floor {
    pub(super) market: Market,
    pub(super) users: Users,
    pub(super) readers: Readers,
    pub(super) cache: Cache,
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
    config: ExchangeConfig,
    epoch_ns: u64,
    ledger: Ledger,
    books: HashMap<u32, BookId>,
    day: Day,
    executions: u32,
    commands: u64,
    published: Time,
    quiet: Duration,
}

impl Floor {
    pub(super) fn new(config: &ExchangeConfig, epoch_ns: u64) -> Self {
        let orders = config.engine.max_orders;
        Self {
            market: Market::with_room(&config.engine, config.group),
            users: Users::new(config),
            readers: Readers::new(config),
            cache: Cache::new(config.order_cache_messages),
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
            books: HashMap::new(),
            day: Day::new(&config.plan, epoch_ns, config.utc_offset_s, config.seed),
            executions: 0,
            commands: 0,
            published: Time::ZERO,
            quiet: config.quiet,
        }
    }

    pub(super) const fn app_id(&self) -> u8 {
        self.config.engine.ids.partition
    }

    fn ns(&self, now: Time) -> u64 {
        self.epoch_ns.saturating_add(now.as_nanos())
    }

    /// Seconds since midnight, UTC.
    pub(super) fn second(&self, now: Time) -> u32 {
        (self.ns(now) / NS_PER_S % 86_400) as u32
    }

    /// What is counted, with what is there now.
    pub(super) fn counts(&self) -> ExchangeCounts {
        let orders = self.market.engine().alive() as usize;
        ExchangeCounts { clients: self.users.logged_on(), orders, ..self.counts }
    }

    /// Publishes what is traded, and begins the day.
    pub(super) fn open(&mut self, now: Time, out: &mut impl Outputs) {
        if self.users.is_open() {
            tracing::warn!("no user is configured: everybody is let in, each as a firm of its own");
        }
        let now_ns = self.ns(now);
        for instrument in std::mem::take(&mut self.config.instruments) {
            let (id, segment) = (instrument.id.0, Text::new(&instrument.segment));
            let (mut units, mut messages) = (0, 0);
            let book = self.market.add(now_ns, instrument, &mut |unit| {
                units += 1;
                messages += u64::from(unit.get(2).copied().unwrap_or(0));
                out.publish(unit);
            });
            self.counts.units += units;
            self.counts.messages += messages;
            self.instruments.push(id);
            self.segments.push(segment);
            self.books.insert(id, book);
        }
        self.published = now;
        self.tick(now, out);
    }

    /// The time has passed.
    pub(super) fn tick(&mut self, now: Time, out: &mut impl Outputs) {
        while let Some((session, cause)) = self.day.due(self.ns(now)) {
            tracing::info!(session = session.name(), "a session begins");
            for book in 0..self.instruments.len() {
                let command = Command::Session { book: BookId(book as u16), session, cause };
                self.run(now, &command, Asked::Nothing, out);
            }
        }
        self.run(now, &Command::Tick, Asked::Nothing, out);
        if now.since(self.published) >= self.quiet {
            self.published = now;
            self.market.distribution().publisher().heartbeat(&mut |unit| out.publish(unit));
        }
    }

    /// Does one command.
    fn run(&mut self, now: Time, command: &Command, asked: Asked, out: &mut impl Outputs) {
        let now_ns = self.ns(now);
        self.commands += 1;
        self.tell(now, asked, out, |market, reporter| {
            market.handle_telling(now_ns, command, reporter);
        });
    }

    /// Has something told.
    fn tell<O: Outputs, R>(
        &mut self,
        now: Time,
        asked: Asked,
        out: &mut O,
        tell: impl FnOnce(&mut Market, &mut Reporter<'_, O>) -> R,
    ) -> R {
        let now_ns = self.ns(now);
        let mut reporter = Reporter {
            ledger: &mut self.ledger,
            cache: &mut self.cache,
            users: &self.users,
            counts: &mut self.counts,
            said: &mut self.said,
            slow: &mut self.slow,
            instruments: &self.instruments,
            ids: self.config.engine.ids,
            executions: &mut self.executions,
            max_output_bytes: self.config.max_output_bytes,
            command: self.commands,
            asked,
            now,
            now_ns,
            published: &mut self.published,
            out,
        };
        tell(&mut self.market, &mut reporter)
    }

    /// Somebody wants in.
    pub(super) fn admit(
        &mut self,
        session: SessionId,
        channel: Channel,
        logon: &Logon,
    ) -> Admission {
        let admission = self.users.admit(session, channel, logon);
        let user = logon.user.as_str();
        let channel = if channel == Channel::RealTime { "orders" } else { "recovery" };
        match admission {
            Admission::Granted { .. } => {
                self.counts.logons += 1;
                tracing::info!(user, channel, "logged on");
            }
            Admission::Silent => {
                self.counts.logons_refused += 1;
                tracing::warn!(user, channel, "logon refused: name or password");
            }
            Admission::Refused(code) => {
                self.counts.logons_refused += 1;
                tracing::warn!(user, channel, code, "logon refused");
            }
        }
        admission
    }

    /// A client has gone: its orders go where they ask for it.
    pub(super) fn client_left(&mut self, now: Time, session: SessionId, out: &mut impl Outputs) {
        let Some(number) = self.users.left(session) else { return };
        let Some(User { name, owner, auto_cancel, .. }) = self.users.get(number).cloned() else {
            return;
        };
        let before = self.counts.reports;
        let mut from = 0;
        while auto_cancel && let Some((at, id)) = self.ledger.goes_with(number, from) {
            self.run(now, &Command::Cancel { id, owner }, Asked::Disconnect, out);
            from = at + 1;
        }
        let cancelled = self.counts.reports - before;
        self.counts.disconnect_cancels += cancelled;
        tracing::info!(user = name.as_str(), cancelled, "logged out");
    }

    /// A client asks for something.
    pub(super) fn request(
        &mut self,
        now: Time,
        session: SessionId,
        input: &Input,
        out: &mut impl Outputs,
    ) {
        let Some(number) = self.users.at(session) else { return };
        match input {
            Input::New(order) => self.new_order(now, number, order, out),
            Input::Replace(replace) => self.replace(now, number, replace, out),
            Input::Cancel(cancel) => self.cancel(now, number, cancel, out),
            Input::MassCancel(cancel) => self.mass_cancel(now, number, cancel, out),
            Input::Missed(_) => {}
        }
    }

    fn book(&self, instrument: i32) -> Option<BookId> {
        self.books.get(&u32::try_from(instrument).ok()?).copied()
    }

    fn new_order(&mut self, now: Time, number: u16, order: &NewOrder, out: &mut impl Outputs) {
        self.counts.new_orders += 1;
        let Some(book) = self.book(order.instrument_id) else {
            let name = order.cl_ord_id;
            return self.tell(now, Asked::Nothing, out, |_, reporter| {
                reporter.reject_unknown(number, name, true);
            });
        };
        let Some(user) = self.users.get(number) else { return };
        let kept = Kept {
            name: order.cl_ord_id,
            user: number,
            book,
            side: requests::side(order.side),
            display: order.display as u32,
            auto_cancel: order.auto_cancel == 1,
            capacity: order.capacity,
            ..Kept::default()
        };
        match requests::new_order(order, user, book) {
            Ok(new) => {
                self.ledger.expect(self.market.engine().next_slot(), kept);
                self.run(now, &Command::New(new), Asked::New(kept), out);
            }
            Err(refusal) => self.tell(now, Asked::Nothing, out, |_, reporter| {
                reporter.reject(&kept, refusal.code());
            }),
        }
    }

    /// The order that is meant: by its id, else by its name. One that is not known
    /// has id 0, which no order has.
    fn meant(&self, user: u16, id: Text<12>, name: Text<20>) -> OrderId {
        let found = match id.is_empty() {
            true => self.ledger.named(user, name),
            false => OrderId::from_digits(id.as_bytes()),
        };
        found.unwrap_or_default()
    }

    fn replace(&mut self, now: Time, number: u16, replace: &CancelReplace, out: &mut impl Outputs) {
        self.counts.amendments += 1;
        let name = replace.cl_ord_id;
        if self.book(replace.instrument_id).is_none() {
            return self.tell(now, Asked::Nothing, out, |_, reporter| {
                reporter.reject_unknown(number, name, false);
            });
        }
        let id = self.meant(number, replace.order_id, replace.orig_cl_ord_id);
        let Some(user) = self.users.get(number) else { return };
        let command = Command::Replace(requests::replace(replace, id, user));
        let display = replace.display as u32;
        self.run(now, &command, Asked::Replace { user: number, name, display }, out);
    }

    fn cancel(&mut self, now: Time, number: u16, cancel: &Cancel, out: &mut impl Outputs) {
        self.counts.cancels += 1;
        let name = cancel.cl_ord_id;
        if self.book(cancel.instrument_id).is_none() {
            return self.tell(now, Asked::Nothing, out, |_, reporter| {
                reporter.reject_unknown(number, name, false);
            });
        }
        let id = self.meant(number, cancel.order_id, cancel.orig_cl_ord_id);
        let Some(user) = self.users.get(number) else { return };
        let command = Command::Cancel { id, owner: user.owner };
        self.run(now, &command, Asked::Cancel { user: number, name }, out);
    }

    fn mass_cancel(&mut self, now: Time, number: u16, cancel: &MassCancel, out: &mut impl Outputs) {
        self.counts.mass_cancels += 1;
        let (name, book) = (cancel.cl_ord_id, self.book(cancel.instrument_id));
        let is_of_instrument = matches!(cancel.kind, 3 | 9 | 57);
        if is_of_instrument && book.is_none() {
            return self.tell(now, Asked::Nothing, out, |_, reporter| {
                reporter.reject_unknown(number, name, false);
            });
        }
        self.tell(now, Asked::Nothing, out, |_, reporter| reporter.taken(number, name));
        // There are no quotes.
        if cancel.sub_type == 3 {
            return;
        }
        let Some(user) = self.users.get(number).cloned() else { return };
        let asked = Asked::MassCancel { name };
        if !matches!(cancel.kind, 4 | 15) {
            let book = book.filter(|_| is_of_instrument);
            let command = Command::MassCancel(requests::mass_cancel(cancel, &user, book));
            return self.run(now, &command, asked, out);
        }
        for at in 0..self.segments.len() {
            if self.segments[at].as_bytes() == cancel.segment.as_bytes() {
                let book = Some(BookId(at as u16));
                let command = Command::MassCancel(requests::mass_cancel(cancel, &user, book));
                self.run(now, &command, asked, out);
            }
        }
    }
}
