//! Distributions in processes of their own: which entries they get, and who of them
//! publishes.
//!
//! ```text
//!  sequencer ─▶ entry ─▶ committed ═══ link ═══▶ distribution 1: engine, ring ─▶ lines A, B
//!                 │         ╚═════════ link ═══▶ distribution 2: engine, ring
//!                 ▼                                              └─▶ replay, snapshot
//!              the market's own engine, ring ─▶ lines, while none of them publishes
//! ```
//!
//! | the market promises | a distribution promises |
//! |---|---|
//! | entries that are committed, in their order, from the one that is asked for, or the newest state and what follows it | it does each once, in that order, and nothing else; other events than the market's, by the hash of every 10,000th entry, end it |
//! | of those that have caught up it names one to publish, the lowest number, and says behind which message | it publishes when it is named, from there on, and stops when it is told to, or has no link |
//! | it names another one when the link of the one before is gone or that one has stopped; with none left, it publishes itself | it says what is out once that is given to the kernel, never before |
//!
//! So what readers can be given twice are messages that were out and not told of, under
//! the same numbers and with the same bytes, which they drop; and what they may lack is
//! what a process had not given to the kernel, which the next one says again.
//!
//! The market touches nothing for it but its links, the last entries in memory, and, for
//! who begins late, the files of its journal, to read them. Without `[distribution]` an
//! entry costs one comparison; with it, a copy into memory and one for each link.

mod links;

use std::time::Duration;

use tapeline_sequence::{Entry, Identity};
use tapeline_time::Time;

use super::config::DistributionTerms;
use super::floor::Floor;
use super::{ExchangeConfig, Outputs, SessionId, Tail};
use crate::distributor::{Sent, Word, Words};
use crate::identity;

/// Bytes of entries, or of a state, in one word.
const SLICE_BYTES: usize = 64 << 10;

/// The connection of a distribution.
#[derive(Debug)]
pub(super) struct Uplink {
    words: Words,
    heard: Time,
}

impl Uplink {
    pub(super) fn new(now: Time) -> Self {
        Self { words: Words::default(), heard: now }
    }
}

/// A distribution that is linked.
#[derive(Debug)]
struct Link {
    session: SessionId,
    number: u16,
    /// Its process.
    instance: u64,
    said: Time,
    /// The state that it gets first, and how much of it has gone.
    state: Option<(u64, u64)>,
    /// The entry that it gets next.
    next: u64,
    /// It has caught up when it has done this one, the last there was when its queue was
    /// empty. From then on it gets entries as they are committed.
    target: Option<u64>,
    /// It has caught up.
    is_in_step: bool,
}

/// Who publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Publishing {
    /// The market itself.
    Own,
    /// Nobody: the market has just begun, and waits for who published before.
    Awaited(Time),
    /// This one.
    Named(u16),
    /// This one, until it says that it has stopped.
    Stopping(u16),
}

/// All distributions in processes of their own.
#[derive(Debug)]
pub(super) struct Distributors {
    terms: Option<DistributionTerms>,
    identity: Identity,
    tail: Tail,
    links: Vec<Link>,
    publishing: Publishing,
    /// The last message that is known to be out, while another one publishes; 0: of none.
    sent: u32,
    scratch: Vec<u8>,
    entries: Vec<u8>,
}

impl Distributors {
    pub(super) fn new(config: &ExchangeConfig) -> Self {
        let terms = config.distribution.clone();
        let identity = terms.as_ref().map(|_| identity::of(config)).unwrap_or_default();
        let tail = terms.as_ref().map_or_else(Tail::default, |it| Tail::with_room(it.tail_bytes));
        let (scratch, entries) = (Vec::new(), Vec::new());
        let (links, publishing) = (Vec::new(), Publishing::Own);
        Self { terms, identity, tail, links, publishing, sent: 0, scratch, entries }
    }

    /// Whether there may be any.
    pub(super) fn are_there(&self) -> bool {
        self.terms.is_some()
    }

    /// How many are linked.
    pub(super) fn linked(&self) -> usize {
        self.links.len()
    }

    /// An entry is committed.
    pub(super) fn note(&mut self, entry: &Entry<'_>) {
        if self.are_there() {
            self.tail.push(entry.bytes());
        }
    }

    /// The lowest of those that have caught up.
    fn best(&self) -> Option<u16> {
        self.links.iter().filter(|link| link.is_in_step).map(|link| link.number).min()
    }

    fn is_in_step(&self, number: u16) -> bool {
        self.links.iter().any(|link| link.number == number && link.is_in_step)
    }

    fn silence(&self) -> Duration {
        self.terms.as_ref().map_or(Duration::ZERO, |terms| terms.silence)
    }

    /// Something is said to one of them.
    fn say(&mut self, now: Time, number: u16, word: &Word<'_>, out: &mut impl Outputs) {
        if let Some(link) = self.links.iter_mut().find(|link| link.number == number) {
            link.said = now;
            self.scratch.clear();
            word.append(&mut self.scratch);
            out.send(link.session, &self.scratch);
        }
    }
}

impl Floor {
    /// A market has begun, or leads: who published before goes on, if it is soon there.
    pub(super) fn expect_distributors(&mut self, now: Time) {
        if self.distributors.are_there() {
            self.hold();
            self.distributors.publishing = Publishing::Awaited(now);
        }
    }

    /// Sees who is to publish.
    pub(super) fn choose_publisher(&mut self, now: Time, out: &mut impl Outputs) {
        if !self.is_open {
            return;
        }
        let best = self.distributors.best();
        match self.distributors.publishing {
            Publishing::Own => {
                if best.is_some() {
                    self.distributors.sent = self.hold();
                    self.pass_on(now, best, out);
                }
            }
            Publishing::Awaited(since) => self.choose_first(now, since, best, out),
            Publishing::Named(number) if self.distributors.is_in_step(number) => {
                if best.is_some_and(|best| best < number) {
                    self.distributors.say(now, number, &Word::Hold, out);
                    self.distributors.publishing = Publishing::Stopping(number);
                }
            }
            Publishing::Stopping(number) if self.distributors.is_in_step(number) => {}
            Publishing::Named(_) | Publishing::Stopping(_) => self.pass_on(now, best, out),
        }
    }

    /// A market that has just begun waits until one is there that knows what is out, or
    /// all are, or for so long.
    fn choose_first(&mut self, now: Time, since: Time, best: Option<u16>, out: &mut impl Outputs) {
        let Some(terms) = &self.distributors.terms else { return };
        let is_over = now.since(since) >= terms.grace;
        let is_known = self.distributors.sent > 0;
        let are_all_there = self.distributors.links.len() >= terms.numbers.len();
        if is_over || best.is_some() && (is_known || are_all_there) {
            if !is_known {
                self.distributors.sent = self.sent();
            }
            self.pass_on(now, best, out);
        }
    }

    /// Somebody publishes behind what is known to be out: one of them, or the market.
    fn pass_on(&mut self, now: Time, best: Option<u16>, out: &mut impl Outputs) {
        let sent = self.distributors.sent;
        if let Some(number) = best {
            tracing::info!(number, sent, "a distribution publishes");
            self.distributors.publishing = Publishing::Named(number);
            return self.distributors.say(now, number, &Word::Publish(Sent { sent }), out);
        }
        tracing::warn!(sent, "the market publishes by itself: no distribution has caught up");
        self.distributors.publishing = Publishing::Own;
        self.send_from(sent);
    }

    /// The last message that is known to be out.
    fn known_sent(&mut self) -> u32 {
        match self.distributors.publishing {
            Publishing::Own => self.sent(),
            _ => self.distributors.sent,
        }
    }
}
