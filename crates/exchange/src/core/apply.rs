//! What entries do, command by command: the only place where the state of a market
//! changes. Whoever applies the same entries is in the same state and has said the
//! same, whatever its clock shows.

use tapeline_instrument::OrderId;
use tapeline_layout::Text;
use tapeline_matching::{BookId, Command, Event, Refusal};
use tapeline_ntg::Message;
use tapeline_ntg::client::{Cancel, CancelReplace, MassCancel, NewOrder};
use tapeline_sequence::{Command as Sequenced, Entry, EventHash, Kind};
use tapeline_time::Time;

use super::floor::{Differs, Floor, Moment, is_of_instrument};
use super::gate::{Checked, Turned};
use super::gateways;
use super::ledger::Kept;
use super::reports::Asked;
use super::requests;
use super::sending::Sending;
use super::users::User;
use super::{Outputs, Stage};
use crate::market::Telling;

/// After so many entries, what all events come to is noted and compared.
const CHECK_EVERY: u64 = 10_000;

impl Floor {
    /// Does what an entry asks for. `now` is for what this process notes by itself.
    pub(super) fn apply(&mut self, now: Time, entry: &Entry<'_>, out: &mut impl Outputs) {
        let at = Moment { now, ns: entry.head().time_ns };
        out.reached(Stage::Kept);
        for command in entry.commands() {
            self.perform(at, &command, out);
        }
        self.applied = entry.head().index;
        self.gateways.note(entry);
        if self.applied.is_multiple_of(CHECK_EVERY) {
            self.checkpoint = Checked { index: self.applied, hash: self.hash.0 };
        }
    }

    fn perform(&mut self, at: Moment, command: &Sequenced<'_>, out: &mut impl Outputs) {
        let user = command.user;
        if self.is_astray(command) {
            return;
        }
        if let Some(gateway) = gateways::moves_to(command) {
            self.users.set_gateway(user, gateway);
        }
        match command.kind {
            Kind::NEW | Kind::QUOTE | Kind::REPLACE | Kind::CANCEL | Kind::MASS_CANCEL => {
                match Message::read(command.payload) {
                    Some(Message::NewOrder(order)) => self.new_order(at, user, &order, out),
                    Some(Message::NewQuote(quote)) => self.quote(at, user, &quote, out),
                    Some(Message::CancelReplace(replace)) => self.replace(at, user, &replace, out),
                    Some(Message::Cancel(cancel)) => self.cancel(at, user, &cancel, out),
                    Some(Message::MassCancel(cancel)) => self.mass_cancel(at, user, &cancel, out),
                    _ => debug_assert!(false, "gateways sequence nothing else"),
                }
            }
            Kind::OPERATE => self.operate(at, command.payload, out),
            Kind::SPONSOR => self.sponsor(at, user, command.payload, out),
            Kind::CANCEL_TRADE => self.cancel_trade(at, user, command.payload, out),
            Kind::DISCONNECT => self.disconnect(at, user, out),
            Kind::GATEWAY => {}
            Kind::NUMBERS => self.desks.note(user, command.payload),
            Kind::SESSION => self.turn(at, command.payload, out),
            Kind::TICK => self.run(at, &Command::Tick, Asked::Nothing, out),
            Kind::OPEN => self.open(at, out),
            Kind::USER => self.users.introduce(user, Text::from_bytes(command.payload)),
            Kind::CHECK => self.compare(command.payload),
            Kind::LEAD => self.succeed(at, out),
            _ => debug_assert!(false, "this version makes no others"),
        }
    }

    /// What the same entries led to before, or elsewhere.
    fn compare(&mut self, payload: &[u8]) {
        let Some(there) = Checked::read(payload) else { return };
        let here = self.checkpoint;
        if there.index == here.index && there.hash != here.hash {
            let [here, there_hash] = [here.hash, there.hash].map(EventHash);
            self.differs = Some(Differs { index: there.index, here, there: there_hash });
        }
    }

    /// Publishes what is traded.
    fn open(&mut self, at: Moment, out: &mut impl Outputs) {
        for instrument in std::mem::take(&mut self.config.instruments) {
            let (id, segment) = (instrument.id.0, Text::new(&instrument.segment));
            let (mut units, mut messages) = (0, 0);
            let (hash, goes_out) = (&mut self.hash, self.sending == Sending::Live);
            let book = self.market.add(at.ns, instrument, &mut |unit| {
                units += 1;
                messages += u64::from(unit.get(2).copied().unwrap_or(0));
                hash.add(unit);
                if goes_out {
                    out.publish(unit);
                }
            });
            self.counts.units += units;
            self.counts.messages += messages;
            self.note_instrument(id, segment, book);
        }
        self.published = at.now;
    }

    /// An instrument is traded from now on.
    pub(super) fn note_instrument(&mut self, id: u32, segment: Text<6, b' '>, book: BookId) {
        self.instruments.push(id);
        self.segments.push(segment);
        self.books.insert(id, book);
    }

    fn turn(&mut self, at: Moment, payload: &[u8], out: &mut impl Outputs) {
        let begins = Turned::read(payload).and_then(|turned| turned.begins());
        let Some((session, cause)) = begins else { return };
        tracing::info!(session = session.name(), "a session begins");
        for book in 0..self.instruments.len() {
            let command = Command::Session { book: BookId(book as u16), session, cause };
            self.run(at, &command, Asked::Nothing, out);
        }
    }

    /// Does one command of the engine.
    pub(super) fn run(
        &mut self,
        at: Moment,
        command: &Command,
        asked: Asked,
        out: &mut impl Outputs,
    ) {
        self.commands += 1;
        self.tell(at, asked, out, |market, reporter| {
            market.handle_telling(at.ns, command, reporter);
        });
    }

    /// Another one leads: no session of before is there any more, but those that gateways
    /// in processes of their own have.
    fn succeed(&mut self, at: Moment, out: &mut impl Outputs) {
        for user in 0..self.users.len() as u16 {
            if self.users.gateway_of(user) == 0 && self.ledger.goes_with(user, 0).is_some() {
                self.disconnect(at, user, out);
            }
        }
    }

    /// The session of a user has ended: its orders go where they ask for it.
    fn disconnect(&mut self, at: Moment, number: u16, out: &mut impl Outputs) {
        let Some(User { name, owner, auto_cancel, .. }) = self.users.get(number).cloned() else {
            return;
        };
        let before = self.counts.reports;
        let mut from = 0;
        while auto_cancel && let Some((place, id)) = self.ledger.goes_with(number, from) {
            self.run(at, &Command::Cancel { id, owner }, Asked::Disconnect, out);
            from = place + 1;
        }
        let cancelled = self.counts.reports - before;
        self.counts.disconnect_cancels += cancelled;
        tracing::info!(user = name.as_str(), cancelled, "logged out");
    }

    fn new_order(&mut self, at: Moment, number: u16, order: &NewOrder, out: &mut impl Outputs) {
        let (Some(book), Some(user)) = (self.book(order.instrument_id), self.users.get(number))
        else {
            return;
        };
        let kept = Kept::of(order, number, book);
        let new = match self.is_stopped(number) {
            true => Err(Refusal::Stopped),
            false => requests::new_order(order, user, book),
        };
        match new {
            Ok(new) => {
                self.ledger.expect(self.market.engine().next_slot(), kept);
                self.run(at, &Command::New(new), Asked::New(kept), out);
            }
            Err(refusal) => self.tell(at, Asked::Nothing, out, |_, reporter| {
                reporter.reject(&kept, refusal.code());
            }),
        }
    }

    /// The order that is meant: by its id, else by its name. One that is not known
    /// has id 0, which no order has. Both sides of a quote have one name.
    fn meant(&self, user: u16, id: Text<12>, name: Text<20>, instrument: i32) -> OrderId {
        let found = match id.is_empty() {
            true => {
                let order = self.ledger.named(user, name);
                order.or_else(|| self.quoted_as(user, name, self.book(instrument)?))
            }
            false => OrderId::from_digits(id.as_bytes()),
        };
        found.unwrap_or_default()
    }

    fn replace(
        &mut self,
        at: Moment,
        number: u16,
        replace: &CancelReplace,
        out: &mut impl Outputs,
    ) {
        let (order_id, name) = (replace.order_id, replace.orig_cl_ord_id);
        let id = self.meant(number, order_id, name, replace.instrument_id);
        let Some(user) = self.users.get(number) else { return };
        let command = Command::Replace(requests::replace(replace, id, user));
        let slot = self.market.engine().slot_of(id);
        let refusal = match self.is_stopped(number) {
            true => Some(Refusal::Stopped),
            // A quote changes by another quote.
            false => self.quote_of(id).map(|_| Refusal::Amendment),
        };
        if let Some(refusal) = refusal {
            let owner = user.owner;
            let asked = Asked::Replace { user: number, by: *replace, slot };
            let refused = Event::Refused { owner, id, refusal };
            return self.tell(at, asked, out, |_, reporter| reporter.event(&refused));
        }
        self.run(at, &command, Asked::Replace { user: number, by: *replace, slot }, out);
    }

    fn cancel(&mut self, at: Moment, number: u16, cancel: &Cancel, out: &mut impl Outputs) {
        let (order_id, name) = (cancel.order_id, cancel.orig_cl_ord_id);
        let id = self.meant(number, order_id, name, cancel.instrument_id);
        let Some(owner) = self.users.get(number).map(|user| user.owner) else { return };
        let command = Command::Cancel { id, owner };
        let slot = self.market.engine().slot_of(id);
        let asked = Asked::Cancel { user: number, by: *cancel, slot };
        let other = self.quote_of(id).filter(|(_, of)| *of == number);
        self.run(at, &command, asked, out);
        // A cancel of one side takes the other one, too.
        if let Some((other, _)) = other.filter(|(other, _)| *other != OrderId(0)) {
            let command = Command::Cancel { id: other, owner };
            let slot = self.market.engine().slot_of(other);
            self.run(at, &command, Asked::Cancel { user: number, by: *cancel, slot }, out);
        }
    }

    fn mass_cancel(
        &mut self,
        at: Moment,
        number: u16,
        cancel: &MassCancel,
        out: &mut impl Outputs,
    ) {
        let (name, book) = (cancel.cl_ord_id, self.book(cancel.instrument_id));
        let taken = (name, cancel.kind);
        self.tell(at, Asked::Nothing, out, |_, reporter| reporter.taken(number, taken));
        let Some(user) = self.users.get(number).cloned() else { return };
        let asked = Asked::MassCancel { name };
        if !matches!(cancel.kind, 4 | 15) {
            let book = book.filter(|_| is_of_instrument(cancel));
            let command = Command::MassCancel(requests::mass_cancel(cancel, &user, book));
            return self.run(at, &command, asked, out);
        }
        for place in 0..self.segments.len() {
            if self.segments[place].as_bytes() == cancel.segment.as_bytes() {
                let book = Some(BookId(place as u16));
                let command = Command::MassCancel(requests::mass_cancel(cancel, &user, book));
                self.run(at, &command, asked, out);
            }
        }
    }

    /// Users whose orders should have gone with a session that nobody closed: the
    /// process ended before it could.
    pub(super) fn forsaken(&self) -> Vec<u16> {
        let is_it = |number: &u16| {
            let user = self.users.get(*number);
            let goes = self.ledger.goes_with(*number, 0).is_some();
            goes && user
                .is_some_and(|user| user.auto_cancel && user.session.is_none() && user.gateway == 0)
        };
        (0..self.users.len() as u16).filter(is_it).collect()
    }
}
