//! Whether market data goes out from here, as it is made: where distributions are
//! processes of their own, one process at a time does, and who takes over says again what
//! may not have gone out.
//!
//! The numbers of messages follow from the entries, so whoever has the same entries has
//! the same messages under the same numbers, published or not.

use super::Outputs;
use super::floor::Floor;

/// Messages that are said again in one turn.
const SLICE: u32 = 2_000;

/// Whether market data goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// As it is made.
    Live,
    /// It is said again from this message on, and then goes out as it is made.
    Again(u32),
    /// It does not; the last message that did, from here or from elsewhere.
    Held(u32),
}

impl Floor {
    /// The last message that is out from here, or was when another one began.
    pub(super) fn sent(&mut self) -> u32 {
        match self.sending {
            Sending::Live => self.market.distribution().publisher().next().wrapping_sub(1),
            Sending::Again(next) => next.saturating_sub(1),
            Sending::Held(sent) => sent,
        }
    }

    /// Nothing goes out any more. Returns the last message that did.
    pub(super) fn hold(&mut self) -> u32 {
        let sent = self.sent();
        (self.sending, self.has_more_to_send) = (Sending::Held(sent), false);
        sent
    }

    /// Market data goes out from here, from the message behind this one on.
    pub(super) fn send_from(&mut self, sent: u32) {
        let publisher = self.market.distribution().publisher();
        let from = sent.saturating_add(1).max(publisher.oldest());
        self.sending = match from == publisher.next() {
            true => Sending::Live,
            false => Sending::Again(from),
        };
    }

    /// Goes on with what is said again. Returns whether there is more of it.
    pub(super) fn send_again(&mut self, out: &mut impl Outputs) -> bool {
        let Sending::Again(from) = self.sending else { return false };
        let group = self.group;
        let publisher = self.market.distribution().publisher();
        let from = from.max(publisher.oldest());
        let count = publisher.next().saturating_sub(from).min(SLICE);
        if count > 0 {
            // They are in the ring, since it is not older.
            let _ = publisher.replay(group, from, count as u16, &mut |unit| out.publish(unit));
        }
        let next = from + count;
        let is_over = next == publisher.next();
        self.counts.messages_again += u64::from(count);
        self.sending = if is_over { Sending::Live } else { Sending::Again(next) };
        // Who is behind what others have said waits for entries, not for another turn.
        !is_over && count > 0
    }

    /// Whether what is made goes out at once.
    pub(super) fn is_live(&self) -> bool {
        self.sending == Sending::Live
    }
}
