//! What a drop copy asks: which orders there are (`AF`), and whether a user is logged
//! on (`BE`). It is told about the firms whose reports it gets, and about nobody else.
//!
//! Answers are made of what is done by now, and change nothing. They take numbers and
//! are not kept: a client that missed some asks again.

use tapeline_fix::{Message, Writer, tag};
use tapeline_layout::Text;
use tapeline_ntg::exchange::ExecutionReport;
use tapeline_time::Time;

use super::decode::{Fault, Fields, TRADER_GROUP};
use super::encode::{self, About};
use crate::core::floor::Floor;
use crate::core::{Outputs, SessionId};

const NS_PER_S: u64 = 1_000_000_000;

/// A party of an answer: a member.
const MEMBER: i64 = 1;

/// 924: whether a user is logged on.
const STATUS_OF_A_USER: i64 = 4;

/// Slots that are looked at, and orders that are told, at one go.
const LOOK: u32 = 10_000;
const SLICE: u32 = 200;

/// An answer goes on when fewer bytes than this have not gone out yet.
const SLICE_BYTES: usize = 64 << 10;

/// What somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// Which orders are alive.
    Orders(OrdersAsked),
    /// Whether a user is logged on.
    User { id: Text<20>, name: Text<25>, kind: i64 },
}

/// A question about orders, and how far its answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrdersAsked {
    id: Text<20>,
    scope: Scope,
    /// The slot that is looked at next.
    next: u32,
    /// The last one that was found. It goes out when it is known whether it is the last
    /// of all.
    held: Option<u32>,
}

/// Which orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Instrument(i32),
    /// Of this user, or with this group of traders.
    Traders(Text<25>),
    Firm(u16),
}

impl Question {
    /// Reads a question.
    pub(crate) fn read(message: &Message<'_>) -> Result<Self, Fault> {
        let fields = Fields::of(message);
        match message.msg_type() {
            b"AF" => {
                let id = fields.given_text(tag::MASS_STATUS_REQ_ID)?;
                let scope = match fields.given(tag::MASS_STATUS_REQ_TYPE)? {
                    b"1" => Scope::Instrument(fields.instrument()?),
                    b"7" => Scope::All,
                    b"8" => fields.party()?,
                    _ => return Err(Fault::Value(tag::MASS_STATUS_REQ_TYPE)),
                };
                Ok(Self::Orders(OrdersAsked { id, scope, next: 0, held: None }))
            }
            b"BE" => Ok(Self::User {
                id: fields.given_text(tag::USER_REQUEST_ID)?,
                name: fields.given_text(tag::USERNAME)?,
                kind: fields
                    .number(tag::USER_REQUEST_TYPE)?
                    .ok_or(Fault::Missing(tag::USER_REQUEST_TYPE))?,
            }),
            _ => Err(Fault::Kind),
        }
    }
}

impl Fields<'_> {
    fn party(&self) -> Result<Scope, Fault> {
        self.given(tag::NO_PARTY_IDS)?;
        match self.number(tag::PARTY_ROLE)? {
            Some(MEMBER) => {
                Ok(Scope::Firm(self.number(tag::PARTY_ID)?.ok_or(Fault::Missing(tag::PARTY_ID))?))
            }
            Some(TRADER_GROUP) => Ok(Scope::Traders(self.given_text(tag::PARTY_ID)?)),
            _ => Err(Fault::Value(tag::PARTY_ROLE)),
        }
    }
}

impl Floor {
    /// Goes on with an answer about orders. Returns how far it is, if it is not over.
    pub(crate) fn tell_orders(
        &mut self,
        now: Time,
        to: (u16, SessionId),
        mut asked: OrdersAsked,
        out: &mut impl Outputs,
    ) -> Option<OrdersAsked> {
        let end = asked.next.saturating_add(LOOK).min(self.ledger.end());
        let mut told = 0;
        for slot in asked.next..end {
            if !self.concerns(to.0, &asked.scope, slot) {
                continue;
            }
            let is_full = out.queued(to.1) >= SLICE_BYTES || told == SLICE;
            if is_full || !self.desks.may_answer(to.0) {
                asked.next = slot;
                return Some(asked);
            }
            // What ended meanwhile is told by a copy of its last report.
            let held = asked.held.replace(slot);
            if let Some(held) = held.filter(|held| self.concerns(to.0, &asked.scope, *held)) {
                self.tell_order(now, to, (asked.id, Some(held), false), out);
                told += 1;
            }
        }
        asked.next = end;
        if end < self.ledger.end() {
            return Some(asked);
        }
        let last = asked.held.filter(|held| self.concerns(to.0, &asked.scope, *held));
        self.tell_order(now, to, (asked.id, last, true), out);
        None
    }

    fn concerns(&self, copier: u16, scope: &Scope, slot: u32) -> bool {
        let Some(kept) = self.ledger.at(slot).filter(|kept| kept.is_alive) else { return false };
        let Some(owner) = self.users.get(kept.user) else { return false };
        let is_of = match scope {
            Scope::All => true,
            Scope::Instrument(instrument) => self.book(*instrument) == Some(kept.book),
            Scope::Traders(name) => {
                owner.name == *name || kept.terms.parties.trader.as_bytes() == name.as_bytes()
            }
            Scope::Firm(firm) => owner.owner.firm == *firm,
        };
        is_of && self.desks.is_copier_of(copier, owner.owner.firm)
    }

    /// Tells about the order in a slot; `None`: there is none.
    fn tell_order(
        &mut self,
        now: Time,
        to: (u16, SessionId),
        (id, slot, is_last): (Text<20>, Option<u32>, bool),
        out: &mut impl Outputs,
    ) {
        let found = slot.and_then(|slot| {
            let kept = *self.ledger.at(slot)?;
            Some((kept, self.market.engine().order_in(slot)?))
        });
        let question = Some((id, is_last));
        let Some((kept, (order, shows))) = found else {
            let about = About { question, ..About::default() };
            return self.reply(now, to, b"8", |fields| encode::no_order(&about, fields), out);
        };
        let now_ns = self.ns(now);
        let report = ExecutionReport {
            transact_s: (now_ns / NS_PER_S) as u32,
            transact_ns: (now_ns % NS_PER_S) as u32,
            exec_id: Text::new("0"),
            cl_ord_id: kept.name,
            order_id: Text::from_bytes(&order.id.digits()),
            exec_type: b'I',
            order_status: kept.status,
            leaves: order.leaves as i32,
            display: shows as i32,
            instrument_id: self.instruments.get(usize::from(kept.book.0)).copied().unwrap_or(0)
                as i32,
            side: crate::core::requests::side_code(kept.side),
            capacity: kept.capacity,
            public_order_id: Text::from_bytes(&kept.shown.digits()),
            ..ExecutionReport::default()
        };
        let about = About {
            kept: Some(&kept),
            owner: self.users.get(kept.user).map(|owner| owner.name),
            filled: order.filled,
            question,
            ..About::default()
        };
        self.counts.orders_told += 1;
        let message = tapeline_ntg::Message::ExecutionReport(report);
        self.reply(now, to, b"8", |fields| encode::write(&message, &about, fields), out);
    }

    /// Whether a user is logged on, by whichever door.
    pub(crate) fn tell_user(
        &mut self,
        now: Time,
        to: (u16, SessionId),
        (id, name, kind): (Text<20>, Text<25>, i64),
        out: &mut impl Outputs,
    ) {
        let user = self.users.named(name).and_then(|number| self.users.get(number));
        let user = user.filter(|user| self.desks.is_copier_of(to.0, user.owner.firm));
        let (status, text) = match (kind, user) {
            (STATUS_OF_A_USER, Some(user)) if user.session.is_some() => (b'1', "logged on"),
            (STATUS_OF_A_USER, Some(_)) => (b'2', "not logged on"),
            (STATUS_OF_A_USER, None) => (b'3', "no such user, or of a firm without copies"),
            _ => (b'6', "of a user, only its status (924=4) is told"),
        };
        let body = |fields: &mut Writer<'_>| {
            fields.text(tag::USER_REQUEST_ID, id.as_bytes()).text(tag::USERNAME, name.as_bytes());
            fields.byte(tag::USER_STATUS, status).text(tag::USER_STATUS_TEXT, text.as_bytes());
        };
        self.reply(now, to, b"BF", body, out);
    }

    /// An answer goes out.
    pub(crate) fn reply(
        &mut self,
        now: Time,
        (user, session): (u16, SessionId),
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
        out: &mut impl Outputs,
    ) {
        let now_ns = self.ns(now);
        out.send(session, self.desks.reply(user, now_ns, msg_type, body));
        self.said[session.0 as usize] = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fix::testing::wire;

    fn read(text: &str) -> Result<Question, Fault> {
        Question::read(&Message::read(&wire(text)).expect("a whole message"))
    }

    #[test]
    fn questions_are_read_by_what_they_are_about() {
        let scope = |text: &str| match read(&format!("35=AF|584=Q|{text}|")) {
            Ok(Question::Orders(asked)) => Ok(asked.scope),
            Err(fault) => Err(fault),
            Ok(other) => panic!("{other:?}"),
        };
        assert_eq!(scope("585=7"), Ok(Scope::All));
        assert_eq!(scope("585=1|48=7|22=8"), Ok(Scope::Instrument(7)));
        let party = |role: &str| scope(&format!("585=8|453=1|448=12|447=D|452={role}"));
        assert_eq!(party("1"), Ok(Scope::Firm(12)));
        assert_eq!(party("76"), Ok(Scope::Traders(Text::new("12"))));
        assert_eq!(party("3"), Err(Fault::Value(tag::PARTY_ROLE)));
        assert_eq!(scope("585=8"), Err(Fault::Missing(tag::NO_PARTY_IDS)));
        assert_eq!(scope("585=1"), Err(Fault::Missing(tag::SECURITY_ID)));
        assert_eq!(scope("585=3"), Err(Fault::Value(tag::MASS_STATUS_REQ_TYPE)));
        assert_eq!(read("35=D|11=A|"), Err(Fault::Kind));
    }
}
