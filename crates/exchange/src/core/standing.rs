//! A market among replicas: it follows, or it leads.
//!
//! A follower does what its leader's entries ask for, once they are committed, and
//! tells nobody; so it is where the leader is, with books, reports that can be had
//! again and market data that can be replayed. Nobody trades with it. Who is elected
//! begins its term with an entry, and lets clients in when that is done: then all that
//! was before it is decided.

use tapeline_sequence::Entry;
use tapeline_time::Time;

use super::{Differs, Exchange, Outputs, SessionId};

/// What a market is to its replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// There are none.
    #[default]
    Alone,
    /// Another one leads.
    Following,
    /// It was elected; what was before is decided with this entry.
    Elected(u64),
    /// It leads.
    Leading,
}

impl Exchange {
    /// There are replicas: nobody is let in before this one leads.
    pub fn stand_by(&mut self) {
        self.standing = Standing::Following;
        self.floor.is_open = false;
    }

    /// Entries of the leader wait to be committed; see [`committed`](Self::committed).
    pub fn follow(&mut self, entries: &[u8]) {
        self.gate.follow(entries);
    }

    /// Entries of a leader behind this one were never committed.
    pub fn forget_behind(&mut self, last: u64) {
        self.gate.forget_behind(last);
    }

    /// This one was elected.
    pub fn lead(&mut self, now: Time, term: u32, out: &mut impl Outputs) {
        debug_assert_eq!(self.standing, Standing::Following, "it is elected once");
        self.gate.lead(now, term);
        self.floor.expect_distributors(now);
        self.standing = Standing::Elected(u64::MAX);
        self.cycle(now, out);
        if self.standing == Standing::Elected(u64::MAX) {
            self.standing = Standing::Elected(self.gate.index());
        }
    }

    /// Whether it leads and lets clients in.
    pub fn is_open(&self) -> bool {
        self.floor.is_open
    }

    /// Another replica had other events of the same entries.
    pub fn take_differs(&mut self) -> Option<Differs> {
        self.floor.differs.take()
    }

    /// Whether what happens is this one's to tell.
    pub(super) fn tells(&self) -> bool {
        self.standing != Standing::Following
    }

    /// Whether the market goes on by this one's clock.
    pub(super) fn has_clock(&self) -> bool {
        matches!(self.standing, Standing::Alone | Standing::Leading)
    }

    /// Whose first entry is done leads.
    pub(super) fn open_if_decided(&mut self, now: Time) {
        let Standing::Elected(first) = self.standing else { return };
        if self.floor.applied < first {
            return;
        }
        self.standing = Standing::Leading;
        self.floor.is_open = true;
        self.floor.published = now;
        self.floor.expect_gateways(now);
        self.gate.turn(now, self.floor.ns(now));
    }

    /// Does an entry and tells nobody.
    pub(super) fn apply_quietly(&mut self, now: Time, upto: u64) -> bool {
        let Some(entry) = self.gate.next(upto) else { return false };
        self.floor.apply(now, &entry, &mut Nobody);
        true
    }
}

/// Does again what an entry of a journal asks for; nobody is told.
impl Exchange {
    /// Entries come in their order, before [`open`](Self::open).
    pub fn replay(&mut self, entry: &Entry<'_>, out: &mut impl Outputs) -> Result<(), Differs> {
        self.relay(Time::ZERO, entry, out)
    }

    /// The same for an entry that has just been committed elsewhere: market data goes out,
    /// if it does from here.
    pub(crate) fn relay(
        &mut self,
        now: Time,
        entry: &Entry<'_>,
        out: &mut impl Outputs,
    ) -> Result<(), Differs> {
        self.gate.resume(entry);
        self.gate.commit(entry.head().index);
        self.floor.apply(now, entry, out);
        self.floor.differs.take().map_or(Ok(()), Err)
    }
}

/// Market data goes out from here, or not: for a distribution in a process of its own.
impl Exchange {
    /// Nothing goes out, and nobody is let in who asks for it.
    pub(crate) fn stand_aside(&mut self) {
        self.stand_by();
        self.floor.hold();
        self.floor.has_books = false;
    }

    /// Whether readers are let in.
    pub(crate) fn set_has_books(&mut self, has_books: bool) {
        self.floor.has_books = has_books;
    }

    /// Market data goes out from here, from the message behind this one on.
    pub(crate) fn publish_from(&mut self, sent: u32) {
        self.floor.send_from(sent);
    }

    /// It does not any more. Returns the last message that went out.
    pub(crate) fn hold(&mut self) -> u32 {
        self.floor.hold()
    }

    /// The last message that went out from here, or that went out before another one began.
    pub(crate) fn sent(&mut self) -> u32 {
        self.floor.sent()
    }

    /// What is said again goes on, and what says that nothing is new. Returns whether there
    /// is more.
    pub(crate) fn go_on_publishing(&mut self, now: Time, out: &mut impl Outputs) -> bool {
        self.floor.beat(now, out);
        self.floor.has_more_to_send = self.floor.send_again(out);
        self.floor.has_more_to_send
    }

    /// Everybody who is connected has to go.
    pub(crate) fn send_away(&mut self, now: Time, out: &mut impl Outputs) {
        for place in 0..self.seats.len() {
            self.leave(now, SessionId(place as u32), out);
        }
    }
}

/// Nobody hears what happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nobody;

impl Outputs for Nobody {
    fn send(&mut self, _: SessionId, _: &[u8]) {}

    fn close(&mut self, _: SessionId) {}

    fn publish(&mut self, _: &[u8]) {}

    fn queued(&self, _: SessionId) -> usize {
        0
    }
}
